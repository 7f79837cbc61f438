//! Frees the space of dropped indexes.
//!
//! DROP and ALTER put index ids on the drop list in the commit that removes them from the table's
//! definition; nobody reads them any more then, because that commit was made under an X lock. A
//! thread deletes their key ranges and takes them off the list, in that order, so that a crash in
//! between only repeats the deletion. Ids that an ALTER is filling are on the list too, for the case
//! of a crash; `Ddl::building` keeps the thread away from them meanwhile, and `Ddl::deferred` as long as a transaction that
//! was writing when a build was given up has not ended.
//!
//! Temporary tables come and go by the thousand, so theirs are collected for a second (`temporary`).

use std::sync::{Arc, Weak};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};
use vaquita_types::schema::IndexId;
use vaquita_types::{Error, Result};

use super::Catalog;
use crate::base::hooks::LogLevel;
use crate::base::kill_points::kill_point;
use crate::encoding::KeyRange;
use crate::encoding::catalog::keys;
use crate::encoding::key::index_range;

/// How long the thread waits before it repeats what failed.
const RETRY_AFTER: Duration = Duration::from_secs(30);

/// How often it looks whether transactions have ended.
const DEFERRED_EVERY: Duration = Duration::from_secs(1);

/// Temporary tables that are dropped meanwhile are deleted together.
const TEMPORARY_EVERY: Duration = Duration::from_secs(1);

#[derive(Default)]
pub(super) struct Signal {
    state: Mutex<State>,
    wake: Condvar,
}

#[derive(Default)]
struct State {
    work: bool,
    temporary: bool,
    stop: bool,
}

impl Signal {
    /// There is something on the drop list.
    pub fn notify(&self) {
        self.state.lock().work = true;
        self.wake.notify_all();
    }

    /// Temporary tables are gone.
    pub fn notify_temporary(&self) {
        let mut state = self.state.lock();
        if !std::mem::replace(&mut state.temporary, true) {
            self.wake.notify_all();
        }
    }

    pub fn stop(&self) {
        self.state.lock().stop = true;
        self.wake.notify_all();
    }

    fn stopping(&self) -> bool {
        self.state.lock().stop
    }

    /// Blocks until there is work, or until `retry`; temporary tables wait until `temporary_at`.
    fn wait(&self, retry: Option<Instant>, temporary_at: Instant) -> Work {
        let mut state = self.state.lock();
        loop {
            let now = Instant::now();
            let temporary = state.temporary && now >= temporary_at;
            let dropped = state.work || retry.is_some_and(|at| now >= at);
            if temporary || dropped || state.stop {
                state.work = false;
                state.temporary &= !temporary;
                return Work { dropped, temporary, stop: state.stop };
            }
            match retry.into_iter().chain(state.temporary.then_some(temporary_at)).min() {
                Some(at) => drop(self.wake.wait_until(&mut state, at)),
                None => self.wake.wait(&mut state),
            }
        }
    }
}

/// What the thread has to do.
struct Work {
    dropped: bool,
    temporary: bool,
    stop: bool,
}

pub(super) fn start(catalog: &Arc<Catalog>) -> Result<JoinHandle<()>> {
    let signal = catalog.reclaim.clone();
    // What the last run of the server left behind.
    signal.notify();
    let weak = Arc::downgrade(catalog);
    let thread = std::thread::Builder::new().name("reclaim".into()).spawn(move || run(&signal, &weak));
    thread.map_err(|e| Error::internal(format_args!("cannot start a thread: {e}")))
}

fn run(signal: &Signal, catalog: &Weak<Catalog>) {
    let mut retry = None;
    let mut temporary_at = Instant::now();
    loop {
        let work = signal.wait(retry, temporary_at);
        if work.stop {
            return;
        }
        let Some(catalog) = catalog.upgrade() else { return };
        if work.dropped {
            let done = catalog.succeeds(catalog.reclaim(), "freeing dropped indexes");
            let again = if !done { Some(RETRY_AFTER) } else { catalog.has_deferred().then_some(DEFERRED_EVERY) };
            retry = again.map(|after| Instant::now() + after);
        }
        if work.temporary {
            let done = catalog.succeeds(catalog.reclaim_temporary(), "freeing temporary tables");
            if !done {
                signal.notify_temporary();
            }
            temporary_at = Instant::now() + if done { TEMPORARY_EVERY } else { RETRY_AFTER };
        }
    }
}

impl Catalog {
    /// Reports an error.
    fn succeeds(&self, done: Result<()>, what: &str) -> bool {
        if let Err(e) = &done {
            self.store.hooks().log(LogLevel::Warning, &format!("{what}: {e}"));
        }
        done.is_ok()
    }

    /// Deletes the data of all indexes on the drop list.
    pub fn reclaim(&self) -> Result<()> {
        for id in self.reclaimable()? {
            if self.reclaim.stopping() {
                break;
            }
            kill_point("reclaim.found");
            let range = index_range(id);
            self.store.delete_data_range(&range.lower, &range.upper)?;
            kill_point("reclaim.deleted");
            let mut txn = self.transaction();
            txn.meta_delete(&keys::dropped(id))?;
            kill_point("reclaim.unlisted");
            txn.commit_wait()?;
            kill_point("reclaim.committed");
        }
        Ok(())
    }

    fn reclaimable(&self) -> Result<Vec<IndexId>> {
        let mut ddl = self.ddl.lock();
        ddl.deferred.retain(|deferred| deferred.until.iter().any(|id| self.store.is_active(*id)));
        let records = self.transaction().meta_scan(KeyRange::prefix(&[keys::DROPPED]))?;
        let ids = records.iter().filter_map(|(key, _)| keys::dropped_id(key));
        let waits = |id: &IndexId| ddl.building.contains(id) || ddl.deferred.iter().any(|d| d.indexes.contains(id));
        Ok(ids.filter(|id| !waits(id)).collect())
    }

    fn has_deferred(&self) -> bool {
        !self.ddl.lock().deferred.is_empty()
    }
}
