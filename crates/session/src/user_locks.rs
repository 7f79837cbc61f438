//! GET_LOCK() and its kind: named locks that sessions hold until they release them or end.
//!
//! ULK-1: a name has at most one owner, who holds it as often as it took it.
//! ULK-2: no session waits for one that waits, through others, for it: the request that would close the circle fails.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};
use vaquita_storage::Interrupt;
use vaquita_types::errno::ER_USER_LOCK_DEADLOCK;
use vaquita_types::{Error, Result, memory};

#[derive(Default)]
pub struct UserLocks {
    table: Mutex<Table>,
    released: Condvar,
}

#[derive(Default)]
struct Table {
    /// Owner and how often it holds the lock, by name.
    held: HashMap<String, (u64, u64)>,
    /// The name that a session waits for.
    waits: HashMap<u64, String>,
}

/// What a lock takes, about.
const LOCK_BYTES: usize = 256;
/// Between two looks at the interrupt of a session that waits.
const LOOK_MS: u64 = 50;

impl UserLocks {
    /// Takes the lock; false if it was not free within `timeout`. `None` waits for ever.
    pub fn get(&self, session: u64, name: &str, timeout: Option<Duration>, interrupt: &Interrupt) -> Result<bool> {
        let deadline = timeout.and_then(|t| Instant::now().checked_add(t));
        let mut table = self.table.lock();
        loop {
            match table.held.get_mut(name) {
                None => {
                    memory::ask(table.held.len() * LOCK_BYTES)?;
                    table.held.insert(name.to_string(), (session, 1));
                    return Ok(true);
                }
                Some((owner, count)) if *owner == session => {
                    *count += 1;
                    return Ok(true);
                }
                Some(_) => {}
            }
            let now = Instant::now();
            if deadline.is_some_and(|at| now >= at) {
                return Ok(false);
            }
            if table.would_deadlock(session, name) {
                return Err(Error::new(&ER_USER_LOCK_DEADLOCK, &[]));
            }
            let look = Duration::from_millis(LOOK_MS);
            let wait = deadline.map_or(look, |at| look.min(at - now));
            table.waits.insert(session, name.to_string());
            self.released.wait_for(&mut table, wait);
            table.waits.remove(&session);
            interrupt.check_wait()?;
        }
    }

    /// `Some(true)`: released; `Some(false)`: another session's; `None`: there is none.
    pub fn release(&self, session: u64, name: &str) -> Option<bool> {
        let mut table = self.table.lock();
        let (owner, count) = table.held.get_mut(name)?;
        if *owner != session {
            return Some(false);
        }
        *count -= 1;
        if *count == 0 {
            table.held.remove(name);
            self.released.notify_all();
        }
        Some(true)
    }

    /// How many there were, each counted as often as it was taken.
    pub fn release_all(&self, session: u64) -> u64 {
        let mut table = self.table.lock();
        let mut released = 0;
        table.held.retain(|_, (owner, count)| {
            let own = *owner == session;
            if own {
                released += *count;
            }
            !own
        });
        if released != 0 {
            self.released.notify_all();
        }
        released
    }

    /// Session, name and whether it holds the lock or waits for it.
    pub fn list(&self) -> Vec<(u64, String, bool)> {
        let table = self.table.lock();
        let held = table.held.iter().map(|(name, (owner, _))| (*owner, name.clone(), true));
        held.chain(table.waits.iter().map(|(session, name)| (*session, name.clone(), false))).collect()
    }

    pub fn owner(&self, name: &str) -> Option<u64> {
        self.table.lock().held.get(name).map(|(owner, _)| *owner)
    }
}

impl Table {
    /// Whether who holds `name` waits, through others, for `session`.
    fn would_deadlock(&self, session: u64, name: &str) -> bool {
        let mut name = name;
        for _ in 0..=self.waits.len() {
            let Some((owner, _)) = self.held.get(name) else { return false };
            if *owner == session {
                return true;
            }
            let Some(next) = self.waits.get(owner) else { return false };
            name = next;
        }
        false
    }
}
