//! LOCK TABLES and FLUSH TABLES WITH READ LOCK: locks that belong to a session, not to a transaction.
//!
//! Every statement asks `admit` for the tables it reads and writes; while nobody holds such a lock that is one load
//! of a counter. A session that locks first registers, so that no new statement gets in, and then waits in the
//! storage's lock manager for the transactions that already use the tables.
//!
//! * TLOCK-1: a table has one writer, or any number of readers, and the global read lock excludes every writer.
//! * TLOCK-2: a session never waits for itself.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};
use vaquita_storage::Interrupt;
use vaquita_types::errno::ER_LOCK_WAIT_TIMEOUT;
use vaquita_types::{Error, Result};

pub type TableName = (String, String);

/// A waiting session looks at its interrupt this often.
const INTERRUPT_MS: u64 = 50;

#[derive(Default)]
struct State {
    writers: HashMap<TableName, u64>,
    readers: HashMap<TableName, HashSet<u64>>,
    /// Sessions with FLUSH TABLES WITH READ LOCK.
    global: HashSet<u64>,
}

#[derive(Default)]
pub struct TableLocks {
    state: Mutex<State>,
    changed: Condvar,
    /// Locks of all kinds that are held.
    held: AtomicUsize,
}

/// What a statement or LOCK TABLES wants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wanted {
    pub table: TableName,
    pub write: bool,
}

/// How long and under whose interrupt a session waits.
pub struct Patience<'a> {
    pub wait: Duration,
    pub interrupt: &'a Interrupt,
}

impl State {
    fn free(&self, session: u64, wanted: &Wanted) -> bool {
        let other_writer = self.writers.get(&wanted.table).is_some_and(|owner| *owner != session);
        let others = |sessions: &HashSet<u64>| sessions.iter().any(|owner| *owner != session);
        !other_writer && (!wanted.write || !(self.readers.get(&wanted.table).is_some_and(others) || others(&self.global)))
    }
}

impl TableLocks {
    /// Nobody holds a lock: the usual case, and all that most statements look at.
    #[inline]
    pub fn is_idle(&self) -> bool {
        self.held.load(Ordering::Acquire) == 0
    }

    /// Waits until the session may use the tables.
    pub fn admit(&self, session: u64, wanted: &[Wanted], patience: &Patience<'_>) -> Result<()> {
        if self.is_idle() {
            return Ok(());
        }
        self.wait_until(patience, |state| wanted.iter().all(|w| state.free(session, w)), |_| {})
    }

    /// LOCK TABLES: all of them at once.
    pub fn lock(&self, session: u64, wanted: &[Wanted], patience: &Patience<'_>) -> Result<()> {
        self.wait_until(
            patience,
            |state| wanted.iter().all(|w| state.free(session, w)),
            |state| {
                for w in wanted {
                    if w.write {
                        state.writers.insert(w.table.clone(), session);
                    } else {
                        state.readers.entry(w.table.clone()).or_default().insert(session);
                    }
                }
                self.held.fetch_add(1, Ordering::AcqRel);
            },
        )
    }

    /// FLUSH TABLES WITH READ LOCK: no writer from here on.
    pub fn lock_all_for_reading(&self, session: u64, patience: &Patience<'_>) -> Result<()> {
        self.wait_until(
            patience,
            |state| state.writers.values().all(|owner| *owner == session),
            |state| {
                state.global.insert(session);
                self.held.fetch_add(1, Ordering::AcqRel);
            },
        )
    }

    /// Gives back everything that the session holds; `holds` says how many calls of the lock functions succeeded.
    pub fn unlock(&self, session: u64, holds: usize) {
        let mut state = self.state.lock();
        state.writers.retain(|_, owner| *owner != session);
        state.readers.retain(|_, owners| {
            owners.remove(&session);
            !owners.is_empty()
        });
        state.global.remove(&session);
        self.held.fetch_sub(holds, Ordering::AcqRel);
        self.changed.notify_all();
    }

    fn wait_until(&self, patience: &Patience<'_>, ready: impl Fn(&State) -> bool, then: impl FnOnce(&mut State)) -> Result<()> {
        let start = Instant::now();
        let mut state = self.state.lock();
        while !ready(&state) {
            if start.elapsed() >= patience.wait {
                return Err(Error::new(&ER_LOCK_WAIT_TIMEOUT, &[]));
            }
            self.changed.wait_for(&mut state, Duration::from_millis(INTERRUPT_MS));
            patience.interrupt.check()?;
        }
        then(&mut state);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wanted(name: &str, write: bool) -> Wanted {
        Wanted { table: ("d".into(), name.into()), write }
    }

    #[test]
    fn one_writer_or_many_readers() {
        let locks = TableLocks::default();
        let interrupt = Interrupt::new(1);
        let now = Patience { wait: Duration::ZERO, interrupt: &interrupt };
        assert!(locks.is_idle());
        locks.lock(1, &[wanted("t", false)], &now).unwrap();
        locks.lock(2, &[wanted("t", false)], &now).unwrap();
        assert!(locks.admit(3, &[wanted("t", false)], &now).is_ok());
        assert_eq!(locks.admit(3, &[wanted("t", true)], &now).unwrap_err().code(), 1205);
        assert!(locks.admit(3, &[wanted("other", true)], &now).is_ok());
        locks.unlock(1, 1);
        locks.unlock(2, 1);
        assert!(locks.is_idle());
        locks.lock(1, &[wanted("t", true)], &now).unwrap();
        assert!(locks.admit(1, &[wanted("t", true)], &now).is_ok());
        assert!(locks.admit(2, &[wanted("t", false)], &now).is_err());
        locks.unlock(1, 1);
        locks.lock_all_for_reading(4, &now).unwrap();
        assert!(locks.admit(5, &[wanted("t", false)], &now).is_ok());
        assert!(locks.admit(5, &[wanted("t", true)], &now).is_err());
        assert!(locks.lock(5, &[wanted("t", true)], &now).is_err());
        locks.unlock(4, 1);
        assert!(locks.is_idle());
    }
}
