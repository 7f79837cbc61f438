//! One DDL statement at a time per table.
//!
//! A statement that builds an index holds no lock of the table meanwhile, so that others read and write it. What keeps
//! the next DDL statement away is here: it waits without a request in the table's queue, where it would make writers
//! wait with it. All tables of a statement are taken at once, so that two statements cannot wait for each other.

use std::collections::HashSet;
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};
use vaquita_types::errno::ER_LOCK_WAIT_TIMEOUT;
use vaquita_types::schema::TableId;
use vaquita_types::{Error, Result};

use super::DdlContext;
use crate::base::hooks::Threads;

/// A waiting statement looks at its interrupt this often.
const INTERRUPT_EVERY: Duration = Duration::from_millis(50);

#[derive(Default)]
pub(super) struct DdlLocks {
    held: Mutex<HashSet<TableId>>,
    changed: Condvar,
}

/// Tables that no other DDL statement changes.
pub(super) struct DdlGuard<'c> {
    locks: &'c DdlLocks,
    tables: Vec<TableId>,
}

impl DdlLocks {
    /// Waits for other DDL on the tables: error 1205 after `context.wait`, or that of the interrupt.
    pub fn lock(&self, tables: Vec<TableId>, context: &DdlContext, threads: &dyn Threads) -> Result<DdlGuard<'_>> {
        if !self.try_lock(&tables) {
            let mut result = Ok(());
            threads.blocking(&mut || result = self.wait(&tables, context));
            result?;
        }
        Ok(DdlGuard { locks: self, tables })
    }

    fn try_lock(&self, tables: &[TableId]) -> bool {
        let mut held = self.held.lock();
        let free = !tables.iter().any(|id| held.contains(id));
        if free {
            held.extend(tables);
        }
        free
    }

    fn wait(&self, tables: &[TableId], context: &DdlContext) -> Result<()> {
        let began = Instant::now();
        let mut held = self.held.lock();
        while tables.iter().any(|id| held.contains(id)) {
            context.interrupt.check_wait()?;
            if began.elapsed() >= context.wait {
                return Err(Error::new(&ER_LOCK_WAIT_TIMEOUT, &[]));
            }
            self.changed.wait_for(&mut held, INTERRUPT_EVERY.min(context.wait));
        }
        held.extend(tables);
        Ok(())
    }
}

impl Drop for DdlGuard<'_> {
    fn drop(&mut self) {
        self.locks.held.lock().retain(|id| !self.tables.contains(id));
        self.locks.changed.notify_all();
    }
}
