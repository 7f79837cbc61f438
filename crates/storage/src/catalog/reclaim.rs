//! Frees the space of dropped indexes.
//!
//! DROP and ALTER put index ids on the drop list in the commit that removes them from the table's
//! definition; nobody reads them any more then, because that commit was made under an X lock. A
//! thread deletes their key ranges and takes them off the list, in that order, so that a crash in
//! between only repeats the deletion. Ids that an ALTER is filling are on the list too, for the case
//! of a crash; `Ddl::building` keeps the thread away from them meanwhile.

use std::sync::{Arc, Weak};
use std::thread::JoinHandle;
use std::time::Duration;

use parking_lot::{Condvar, Mutex};
use vaquita_types::schema::IndexId;
use vaquita_types::{Error, Result};

use super::{Catalog, keys};
use crate::engine::LogLevel;
use crate::key::index_range;
use crate::kill_points::kill_point;

/// How long the thread waits before it repeats what failed.
const RETRY_AFTER: Duration = Duration::from_secs(30);

#[derive(Default)]
pub(super) struct Signal {
    state: Mutex<State>,
    wake: Condvar,
}

#[derive(Default)]
struct State {
    work: bool,
    stop: bool,
}

impl Signal {
    /// There is something on the drop list.
    pub fn notify(&self) {
        self.state.lock().work = true;
        self.wake.notify_all();
    }

    pub fn stop(&self) {
        self.state.lock().stop = true;
        self.wake.notify_all();
    }

    fn stopping(&self) -> bool {
        self.state.lock().stop
    }

    /// Blocks until there is work (or `timeout` is over); false: stop.
    fn wait(&self, timeout: Option<Duration>) -> bool {
        let mut state = self.state.lock();
        while !state.work && !state.stop {
            match timeout {
                None => self.wake.wait(&mut state),
                Some(timeout) => {
                    if self.wake.wait_for(&mut state, timeout).timed_out() {
                        break;
                    }
                }
            }
        }
        state.work = false;
        !state.stop
    }
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
    while signal.wait(retry) {
        let Some(catalog) = catalog.upgrade() else { return };
        retry = match catalog.reclaim() {
            Ok(()) => None,
            Err(e) => {
                catalog.engine.hooks().log(LogLevel::Warning, &format!("freeing dropped indexes: {e}"));
                Some(RETRY_AFTER)
            }
        };
    }
}

impl Catalog {
    /// Deletes the data of all indexes on the drop list.
    pub fn reclaim(&self) -> Result<()> {
        for id in self.reclaimable()? {
            if self.reclaim.stopping() {
                break;
            }
            kill_point("reclaim.found");
            let range = index_range(id);
            self.engine.delete_data_range(&range.lower, &range.upper)?;
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
        let ddl = self.ddl.lock();
        let records = self.transaction().meta_scan(keys::starting_with(&[keys::DROPPED]))?;
        let ids = records.iter().filter_map(|(key, _)| keys::dropped_id(key));
        Ok(ids.filter(|id| !ddl.building.contains(id)).collect())
    }
}
