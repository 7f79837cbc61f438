//! LOCK TABLES, FLUSH TABLES WITH READ LOCK and LOCK INSTANCE FOR BACKUP: locks that belong to a session, not to a
//! transaction.
//!
//! Every statement asks `admit` for the tables it reads and writes; while nobody holds such a lock that is one load
//! of a counter. A session that locks first registers, so that no new statement gets in, and then waits in the
//! storage's lock manager for the transactions that already use the tables. DDL registers while it runs.
//!
//! * TLOCK-1: a table has one writer, or any number of readers, and the global read lock excludes every writer.
//! * TLOCK-2: a session never waits for itself.
//! * TLOCK-3: under the global read lock nothing is committed that wrote, and no DDL runs; under a backup lock no DDL runs.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex, MutexGuard};
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
    /// Sessions with LOCK INSTANCE FOR BACKUP.
    backup: HashSet<u64>,
    /// Sessions that run DDL.
    ddl: HashSet<u64>,
    /// Sessions that wait, and for what.
    waiting: Vec<(u64, Wanted)>,
}

/// A lock of a session, for performance_schema.metadata_locks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SessionLock {
    Global,
    Backup,
    Table {
        table: TableName,
        write: bool,
    },
    /// A statement waits for it.
    Wanted {
        table: TableName,
        write: bool,
    },
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
        let read = |readers: &HashSet<u64>| others(readers, session);
        !other_writer && (!wanted.write || !(self.readers.get(&wanted.table).is_some_and(read) || others(&self.global, session)))
    }
}

/// Some session other than this one.
fn others(sessions: &HashSet<u64>, session: u64) -> bool {
    sessions.iter().any(|owner| *owner != session)
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
        self.wait_until((session, wanted), patience, |state| wanted.iter().all(|w| state.free(session, w)), |_| {})
    }

    /// LOCK TABLES: all of them at once.
    pub fn lock(&self, session: u64, wanted: &[Wanted], patience: &Patience<'_>) -> Result<()> {
        self.wait_until(
            (session, wanted),
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

    /// A table that the session has locked for writing has another name, or is gone.
    pub fn rename(&self, session: u64, from: &TableName, to: Option<&TableName>) {
        let mut state = self.state.lock();
        if state.writers.get(from) == Some(&session) {
            state.writers.remove(from);
            if let Some(to) = to {
                state.writers.insert(to.clone(), session);
            }
        }
        self.changed.notify_all();
    }

    /// FLUSH TABLES WITH READ LOCK: no writer from here on.
    pub fn lock_all_for_reading(&self, session: u64, patience: &Patience<'_>) -> Result<()> {
        self.wait_until(
            (session, &[]),
            patience,
            |state| state.writers.values().all(|owner| *owner == session) && !others(&state.ddl, session),
            |state| {
                state.global.insert(session);
                self.held.fetch_add(1, Ordering::AcqRel);
            },
        )
    }

    /// Whether the session itself has the global read lock.
    pub fn holds_global(&self, session: u64) -> bool {
        !self.is_idle() && self.state.lock().global.contains(&session)
    }

    /// A transaction that wrote commits only when nobody else has the global read lock.
    pub fn admit_commit(&self, session: u64, patience: &Patience<'_>) -> Result<()> {
        self.wait_until((session, &[]), patience, |state| !others(&state.global, session), |_| {})
    }

    /// DDL starts; `end_ddl` follows.
    pub fn begin_ddl(&self, session: u64, patience: &Patience<'_>) -> Result<()> {
        self.wait_until(
            (session, &[]),
            patience,
            |state| !others(&state.global, session) && !others(&state.backup, session),
            |state| {
                state.ddl.insert(session);
            },
        )
    }

    pub fn end_ddl(&self, session: u64) {
        self.state.lock().ddl.remove(&session);
        self.changed.notify_all();
    }

    /// LOCK INSTANCE FOR BACKUP: no DDL from here on.
    pub fn lock_for_backup(&self, session: u64, patience: &Patience<'_>) -> Result<()> {
        self.wait_until(
            (session, &[]),
            patience,
            |state| !others(&state.ddl, session),
            |state| {
                state.backup.insert(session);
            },
        )
    }

    /// UNLOCK INSTANCE, and the end of a session.
    pub fn unlock_for_backup(&self, session: u64) {
        if self.state.lock().backup.remove(&session) {
            self.changed.notify_all();
        }
    }

    /// All locks with their sessions.
    pub fn list(&self) -> Vec<(u64, SessionLock)> {
        let state = self.state.lock();
        let mut out: Vec<(u64, SessionLock)> = state.global.iter().map(|session| (*session, SessionLock::Global)).collect();
        out.extend(state.backup.iter().map(|session| (*session, SessionLock::Backup)));
        let table = |table: &TableName, write| SessionLock::Table { table: table.clone(), write };
        out.extend(state.writers.iter().map(|(name, session)| (*session, table(name, true))));
        for (name, sessions) in &state.readers {
            out.extend(sessions.iter().map(|session| (*session, table(name, false))));
        }
        let wanted = |wanted: &Wanted| SessionLock::Wanted { table: wanted.table.clone(), write: wanted.write };
        out.extend(state.waiting.iter().map(|(session, lock)| (*session, wanted(lock))));
        out
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

    /// Others see the tables that the session waits for.
    fn wait_until(
        &self,
        (session, wanted): (u64, &[Wanted]),
        patience: &Patience<'_>,
        ready: impl Fn(&State) -> bool,
        then: impl FnOnce(&mut State),
    ) -> Result<()> {
        let mut state = self.state.lock();
        if !ready(&state) {
            state.waiting.extend(wanted.iter().map(|wanted| (session, wanted.clone())));
            let waited = self.wait(&mut state, patience, ready);
            state.waiting.retain(|(waiting, _)| *waiting != session);
            waited?;
        }
        then(&mut state);
        Ok(())
    }

    fn wait(&self, state: &mut MutexGuard<'_, State>, patience: &Patience<'_>, ready: impl Fn(&State) -> bool) -> Result<()> {
        let start = Instant::now();
        while !ready(state) {
            if start.elapsed() >= patience.wait {
                return Err(Error::new(&ER_LOCK_WAIT_TIMEOUT, &[]));
            }
            self.changed.wait_for(state, Duration::from_millis(INTERRUPT_MS));
            patience.interrupt.check_wait()?;
        }
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

    #[test]
    fn backup_and_ddl_exclude_each_other() {
        let locks = TableLocks::default();
        let interrupt = Interrupt::new(1);
        let now = Patience { wait: Duration::ZERO, interrupt: &interrupt };
        locks.lock_for_backup(1, &now).unwrap();
        locks.lock_for_backup(2, &now).unwrap();
        assert_eq!(locks.begin_ddl(3, &now).unwrap_err().code(), 1205);
        assert!(locks.begin_ddl(1, &now).is_err(), "the other's");
        locks.unlock_for_backup(2);
        locks.begin_ddl(1, &now).unwrap();
        assert!(locks.lock_for_backup(2, &now).is_err());
        assert!(locks.lock_all_for_reading(2, &now).is_err());
        locks.end_ddl(1);
        locks.lock_all_for_reading(2, &now).unwrap();
        assert!(locks.begin_ddl(1, &now).is_err());
        assert!(locks.admit_commit(1, &now).is_err());
        assert!(locks.admit_commit(2, &now).is_ok());
        assert_eq!(locks.list().len(), 2);
    }
}
