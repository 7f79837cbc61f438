//! LOCK TABLES, FLUSH TABLES WITH READ LOCK and LOCK INSTANCE FOR BACKUP: locks that belong to a session, not to a
//! transaction.
//!
//! Every statement asks `admit` for the tables it reads and writes; while nobody holds such a lock that is one load
//! of a counter. A session that locks first registers, so that no new statement gets in, and then waits in the
//! storage's lock manager for the transactions that already use the tables. DDL registers while it runs.
//!
//! * TLOCK-1: a table has one writer, or any number of readers, and the global read lock excludes every writer.
//! * TLOCK-2: a session never waits for itself, nor for somebody who waits for its transaction, be it at another table.
//! * TLOCK-3: under the global read lock nothing is committed that wrote, and no DDL runs; under a backup lock no DDL runs. A commit says that it is on
//!   its way before it looks for the global read lock, and whoever takes that lock waits for those that are on their way.
//! * TLOCK-4: a table that is given back goes to RENAME, DROP, TRUNCATE or LOCK TABLES … WRITE, if one waits for it, before any statement: tools that
//!   change tables online rely on it. Such DDL then keeps the table until it ends.
//! * TLOCK-5: a statement asks again when it has the storage's lock of a table. So either LOCK TABLES, which registers first, is seen by the
//!   statement, or it waits for its lock.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex, MutexGuard};
use vaquita_storage::{Interrupt, LockMode};
use vaquita_types::errno::ER_LOCK_WAIT_TIMEOUT;
use vaquita_types::schema::TableId;
use vaquita_types::{Error, Result};

pub type TableName = (String, String);

/// A waiting session looks at its interrupt this often.
const INTERRUPT_MS: u64 = 50;

#[derive(Default)]
struct State {
    writers: HashMap<TableName, u64>,
    readers: HashMap<TableName, HashSet<u64>>,
    /// Tables that were given to DDL which had waited for them, until it ends.
    replacers: HashMap<TableName, u64>,
    /// Sessions with FLUSH TABLES WITH READ LOCK.
    global: HashSet<u64>,
    /// Sessions with LOCK INSTANCE FOR BACKUP.
    backup: HashSet<u64>,
    /// Sessions that run DDL.
    ddl: HashSet<u64>,
    /// The tables of whose users a session waits that has registered, with whether for all of them or for those that write.
    drains: HashMap<u64, Vec<(TableId, bool)>>,
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
    Wanted(Wanted),
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
    pub asker: Asker,
}

/// Who wants a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asker {
    /// `holds`: the lock that the transaction has of the table already, so that whoever locks the table waits for it.
    Statement {
        holds: Option<LockMode>,
    },
    LockTables,
    /// DDL that changes the table where it is.
    Ddl,
    /// RENAME, DROP and TRUNCATE, which must have the table for themselves at once.
    Replacer,
}

impl Asker {
    /// A statement of a transaction that has not used the table.
    pub const NEW: Asker = Asker::Statement { holds: None };
}

/// The locks of tables that a session's transaction has.
pub type Used = [(TableId, LockMode)];

/// How long and under whose interrupt a session waits.
pub struct Patience<'a> {
    pub wait: Duration,
    pub interrupt: &'a Interrupt,
}

impl State {
    /// The session need not wait.
    fn free(&self, session: u64, wanted: &Wanted, used: &Used) -> bool {
        let holds = if let Asker::Statement { holds } = wanted.asker { holds } else { None };
        let locked = self.is_locked(session, (&wanted.table, wanted.write), holds, used);
        !locked && (holds.is_some() || !self.gives_way(session, wanted))
    }

    /// By another session, which does not wait for what this one holds.
    fn is_locked(&self, session: u64, (table, write): (&TableName, bool), holds: Option<LockMode>, used: &Used) -> bool {
        let stops = |owner: &u64| *owner != session && !self.waits_for_user(*owner, used);
        let other = |owners: &HashMap<TableName, u64>| owners.get(table).is_some_and(stops);
        if holds.is_none() && (other(&self.writers) || other(&self.replacers)) {
            return true;
        }
        let read = self.readers.get(table).is_some_and(|readers| readers.iter().any(stops));
        write && (read && holds.is_none_or(|mode| !mode.covers(LockMode::IX)) || others(&self.global, session))
    }

    /// The session, which has registered, waits for the transaction that has these locks.
    fn waits_for_user(&self, session: u64, used: &Used) -> bool {
        let Some(drained) = self.drains.get(&session).filter(|_| !used.is_empty()) else { return false };
        let conflicts =
            |id: &TableId, all: bool| used.iter().any(|(table, mode)| table == id && (all || mode.covers(LockMode::IX)));
        drained.iter().any(|(id, all)| conflicts(id, *all))
    }

    /// Somebody waits for the table who goes first. Who holds locks goes first in any case, as others may wait for it.
    fn gives_way(&self, session: u64, wanted: &Wanted) -> bool {
        let first = |(other, theirs): &(u64, Wanted)| {
            *other != session
                && theirs.write
                && matches!(theirs.asker, Asker::LockTables | Asker::Replacer)
                && theirs.table == wanted.table
                && !others(&self.global, *other)
        };
        wanted.asker == Asker::NEW && self.waiting.iter().any(first) && !self.holds(session)
    }

    fn holds(&self, session: u64) -> bool {
        self.global.contains(&session)
            || self.backup.contains(&session)
            || self.writers.values().any(|owner| *owner == session)
            || self.readers.values().any(|owners| owners.contains(&session))
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
        // In one order with what commits say of themselves (TLOCK-3).
        self.held.load(Ordering::SeqCst) == 0
    }

    /// Waits until the session, whose transaction has the locks `used`, may use the tables.
    pub fn admit(&self, session: u64, wanted: &[Wanted], used: &Used, patience: &Patience<'_>) -> Result<()> {
        if self.is_idle() {
            return Ok(());
        }
        self.wait_until((session, wanted), patience, |state| wanted.iter().all(|w| state.free(session, w, used)), |_| {})
    }

    /// Before DDL: waits until the session may use the tables. True: those that it must have for itself are kept for it until `leave`.
    /// `ids` are those of the tables that it will lock.
    pub fn admit_ddl(&self, session: u64, wanted: &[Wanted], ids: &[TableId], patience: &Patience<'_>) -> Result<bool> {
        if self.is_idle() {
            return Ok(false);
        }
        let replaced: Vec<&Wanted> = wanted.iter().filter(|w| w.asker == Asker::Replacer).collect();
        self.wait_until(
            (session, wanted),
            patience,
            |state| wanted.iter().all(|w| state.free(session, w, &[])),
            |state| {
                if !replaced.is_empty() {
                    state.drains.insert(session, ids.iter().map(|id| (*id, true)).collect());
                }
                state.replacers.extend(replaced.iter().map(|w| (w.table.clone(), session)));
                self.held.fetch_add(usize::from(!replaced.is_empty()), Ordering::AcqRel);
            },
        )?;
        Ok(!replaced.is_empty())
    }

    /// The DDL has ended.
    pub fn leave(&self, session: u64) {
        let mut state = self.state.lock();
        state.replacers.retain(|_, owner| *owner != session);
        state.drains.remove(&session);
        drop(state);
        self.held.fetch_sub(1, Ordering::AcqRel);
        self.changed.notify_all();
    }

    /// Another session has the table so that this one may not use it.
    #[inline]
    pub fn is_locked(&self, session: u64, table: (&str, &str), write: bool, used: &Used) -> bool {
        if self.is_idle() {
            return false;
        }
        let table = (table.0.to_string(), table.1.to_string());
        self.state.lock().is_locked(session, (&table, write), None, used)
    }

    /// LOCK TABLES: all of them at once. The session then waits for who uses them, until `drained`.
    pub fn lock(&self, session: u64, wanted: &[Wanted], drains: &[(TableId, bool)], patience: &Patience<'_>) -> Result<()> {
        self.wait_until(
            (session, wanted),
            patience,
            |state| wanted.iter().all(|w| state.free(session, w, &[])),
            |state| {
                state.drains.insert(session, drains.to_vec());
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

    /// Nobody uses the session's tables any more.
    pub fn drained(&self, session: u64) {
        self.state.lock().drains.remove(&session);
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
            |state| {
                let own = |owners: &HashMap<TableName, u64>| owners.values().all(|owner| *owner == session);
                own(&state.writers) && own(&state.replacers) && !others(&state.ddl, session)
            },
            |state| {
                state.global.insert(session);
                self.held.fetch_add(1, Ordering::SeqCst);
            },
        )
    }

    /// Whether the session itself has the global read lock.
    pub fn holds_global(&self, session: u64) -> bool {
        !self.is_idle() && self.state.lock().global.contains(&session)
    }

    /// Nobody else has the global read lock.
    pub fn may_commit(&self, session: u64) -> bool {
        !others(&self.state.lock().global, session)
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
        out.extend(state.waiting.iter().map(|(session, lock)| (*session, SessionLock::Wanted(lock.clone()))));
        out
    }

    /// Gives back the tables that the session holds; `holds` says how many calls of `lock` succeeded.
    pub fn unlock_tables(&self, session: u64, holds: usize) {
        let mut state = self.state.lock();
        state.writers.retain(|_, owner| *owner != session);
        state.readers.retain(|_, owners| {
            owners.remove(&session);
            !owners.is_empty()
        });
        state.drains.remove(&session);
        self.held.fetch_sub(holds, Ordering::AcqRel);
        self.changed.notify_all();
    }

    /// Gives back the global read lock; `holds` says how many calls of `lock_all_for_reading` succeeded.
    pub fn unlock_global(&self, session: u64, holds: usize) {
        self.state.lock().global.remove(&session);
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
        Wanted { table: ("d".into(), name.into()), write, asker: Asker::NEW }
    }

    fn by(asker: Asker) -> Wanted {
        Wanted { asker, ..wanted("t", true) }
    }

    #[test]
    fn what_is_given_back_goes_to_those_who_replace_it() {
        let locks = TableLocks::default();
        let interrupt = Interrupt::new(1);
        let now = Patience { wait: Duration::ZERO, interrupt: &interrupt };
        let long = Patience { wait: Duration::from_secs(60), interrupt: &interrupt };
        locks.lock(1, &[by(Asker::LockTables)], &[], &now).unwrap();
        std::thread::scope(|scope| {
            let rename = scope.spawn(|| locks.admit_ddl(2, &[by(Asker::Replacer)], &[], &long));
            while !locks.list().iter().any(|(session, _)| *session == 2) {
                std::thread::sleep(Duration::from_millis(1));
            }
            locks.lock(4, &[Wanted { table: ("d".into(), "other".into()), ..by(Asker::LockTables) }], &[], &now).unwrap();
            locks.unlock_tables(1, 1);
            // Also before the waiter has seen it.
            assert_eq!(locks.admit(3, &[by(Asker::NEW)], &[], &now).unwrap_err().code(), 1205);
            assert!(rename.join().unwrap().unwrap());
        });
        assert!(locks.admit(3, &[by(Asker::NEW)], &[], &now).is_err(), "until it ends");
        assert!(locks.is_locked(3, ("d", "t"), false, &[]));
        locks.leave(2);
        assert!(locks.admit(3, &[by(Asker::NEW)], &[], &now).is_ok());
        locks.unlock_tables(4, 1);
        assert!(locks.is_idle());
    }

    #[test]
    fn those_who_are_waited_for_go_on() {
        let locks = TableLocks::default();
        let interrupt = Interrupt::new(1);
        let now = Patience { wait: Duration::ZERO, interrupt: &interrupt };
        let holds = |mode| Asker::Statement { holds: Some(mode) };
        locks.lock(1, &[by(Asker::LockTables)], &[], &now).unwrap();
        assert!(locks.admit(2, &[by(holds(LockMode::IS))], &[], &now).is_ok());
        locks.unlock_tables(1, 1);
        locks.lock(1, &[Wanted { write: false, ..by(Asker::LockTables) }], &[], &now).unwrap();
        assert!(locks.admit(2, &[by(holds(LockMode::IX))], &[], &now).is_ok());
        assert!(locks.admit(2, &[by(holds(LockMode::IS))], &[], &now).is_err(), "the reader does not wait for it");
        locks.unlock_tables(1, 1);
        locks.lock_all_for_reading(1, &now).unwrap();
        assert!(locks.admit(2, &[by(holds(LockMode::IX))], &[], &now).is_err());
        locks.unlock_global(1, 1);
    }

    /// LOCK TABLES of two tables waits for a transaction at one of them, which goes on to the other.
    #[test]
    fn those_who_are_waited_for_at_another_table_go_on() {
        let locks = TableLocks::default();
        let interrupt = Interrupt::new(1);
        let now = Patience { wait: Duration::ZERO, interrupt: &interrupt };
        let (used, other) = (TableId(7), TableId(8));
        for (write, goes_on) in [(true, [true, true]), (false, [false, true])] {
            locks.lock(1, &[Wanted { write, ..by(Asker::LockTables) }], &[(used, write)], &now).unwrap();
            for (mode, goes_on) in [LockMode::IS, LockMode::IX].into_iter().zip(goes_on) {
                assert_eq!(locks.admit(2, &[by(Asker::NEW)], &[(used, mode)], &now).is_ok(), goes_on, "{write} {mode:?}");
            }
            assert!(locks.admit(2, &[by(Asker::NEW)], &[(other, LockMode::IX)], &now).is_err());
            assert!(locks.is_locked(3, ("d", "t"), true, &[]) && !locks.is_locked(2, ("d", "t"), true, &[(used, LockMode::IX)]));
            locks.drained(1);
            assert!(locks.admit(2, &[by(Asker::NEW)], &[(used, LockMode::IX)], &now).is_err());
            locks.unlock_tables(1, 1);
        }
        locks.lock(4, &[Wanted { table: ("d".into(), "other".into()), ..by(Asker::LockTables) }], &[], &now).unwrap();
        assert!(locks.admit_ddl(1, &[by(Asker::Replacer)], &[used], &now).unwrap());
        assert!(locks.admit(2, &[by(Asker::NEW)], &[(used, LockMode::IS)], &now).is_ok());
        assert!(locks.admit(2, &[by(Asker::NEW)], &[(other, LockMode::IX)], &now).is_err());
        locks.leave(1);
        locks.unlock_tables(4, 1);
    }

    #[test]
    fn one_writer_or_many_readers() {
        let locks = TableLocks::default();
        let interrupt = Interrupt::new(1);
        let now = Patience { wait: Duration::ZERO, interrupt: &interrupt };
        assert!(locks.is_idle());
        locks.lock(1, &[wanted("t", false)], &[], &now).unwrap();
        locks.lock(2, &[wanted("t", false)], &[], &now).unwrap();
        assert!(locks.admit(3, &[wanted("t", false)], &[], &now).is_ok());
        assert_eq!(locks.admit(3, &[wanted("t", true)], &[], &now).unwrap_err().code(), 1205);
        assert!(locks.admit(3, &[wanted("other", true)], &[], &now).is_ok());
        locks.unlock_tables(1, 1);
        locks.unlock_tables(2, 1);
        assert!(locks.is_idle());
        locks.lock(1, &[wanted("t", true)], &[], &now).unwrap();
        assert!(locks.admit(1, &[wanted("t", true)], &[], &now).is_ok());
        assert!(locks.admit(2, &[wanted("t", false)], &[], &now).is_err());
        locks.unlock_tables(1, 1);
        locks.lock_all_for_reading(4, &now).unwrap();
        assert!(locks.admit(5, &[wanted("t", false)], &[], &now).is_ok());
        assert!(locks.admit(5, &[wanted("t", true)], &[], &now).is_err());
        assert!(locks.lock(5, &[wanted("t", true)], &[], &now).is_err());
        locks.unlock_global(4, 1);
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
