//! The top floor: a directory is opened, kept in order, looked through and closed.
//!
//! | file | for |
//! |---|---|
//! | `open` | what is checked and made before RocksDB opens the directory |
//! | `housekeeper` | what is done now and then and nobody waits for |
//! | `space_reserve` | disk space that is given back when the disk is full |
//! | `check_table` | CHECK TABLE |
//! | `checkpoint` | a copy of the data as of one commit |
//! | `format` | which servers can read the data |
//!
//! `Engine::open` takes the directory for this process alone (RocksDB's LOCK file), recovers the log and starts two threads, the
//! committer (see `commit::pipeline`) and the housekeeper. What transactions need of it is its `Store`, to which it dereferences:
//! these may outlive the engine, which ends commits when it is dropped.
//!
//! It may use every floor below. Nobody below knows it.

pub mod check_table;
mod checkpoint;
pub mod format;
mod housekeeper;
mod open;
mod space_reserve;

use std::ops::Deref;
use std::path::Path;
use std::sync::Arc;
use std::thread::JoinHandle;

use parking_lot::Mutex;
use vaquita_types::{Error, Result};

use crate::base::hooks::{EngineHooks, LogLevel};
use crate::base::kill_points::kill_point;
use crate::base::options::{EngineOptions, FlushMode};
use crate::commit::stages::{LogError, RocksLog, Stages};
use crate::locks::count_looks;
use crate::rocks::{LogStore, disk_full_error, log_check};
use crate::txn::Store;
use housekeeper::Housekeeper;

/// Bytes of padding behind the last commit of a log when the server stops.
const LOG_END_BYTES: usize = 8;

pub struct Engine {
    store: Arc<Store>,
    housekeeper: Arc<Housekeeper>,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

impl Deref for Engine {
    type Target = Arc<Store>;

    fn deref(&self) -> &Arc<Store> {
        &self.store
    }
}

impl Engine {
    /// Opens or creates the database in `dir`. A directory that another process has open is refused.
    pub fn open(dir: &Path, options: EngineOptions, hooks: EngineHooks) -> Result<Arc<Engine>> {
        Engine::open_with(dir, options, hooks, |rocks, _| Ok(Arc::new(rocks)))
    }

    /// The same with other stages, which `stages` makes around RocksDB's log, with what the log's family has.
    pub fn open_with(
        dir: &Path,
        options: EngineOptions,
        hooks: EngineHooks,
        stages: impl FnOnce(RocksLog, LogStore) -> Result<Arc<dyn Stages>>,
    ) -> Result<Arc<Engine>> {
        if options.tuning.count_interrupt_looks {
            count_looks();
        }
        let flush_mode = options.flush_mode;
        let (store, cache) = open::open(dir, options, hooks, stages)?;
        let housekeeper = Arc::new(Housekeeper::new(Arc::clone(&store), cache));
        let engine = Arc::new(Engine { store, housekeeper, threads: Mutex::default() });
        engine.set_flush_mode(flush_mode)?;
        engine.start_threads()?;
        kill_point("start.threads");
        let prepared = engine.recover_xa()?;
        if prepared > 0 {
            let text = format!("{prepared} prepared XA transaction(s) hold their locks; see XA RECOVER");
            engine.hooks().log(LogLevel::Warning, &text);
        }
        Ok(engine)
    }

    fn start_threads(&self) -> Result<()> {
        let failed = |e: std::io::Error| Error::internal(format_args!("cannot start a thread: {e}"));
        let committer = self.pipeline().start_committer().map_err(failed)?;
        let housekeeper = self.housekeeper.start().map_err(failed)?;
        self.threads.lock().extend([committer, housekeeper]);
        Ok(())
    }

    /// What transactions and the catalog need of it.
    pub fn store(&self) -> &Arc<Store> {
        &self.store
    }

    /// `SET GLOBAL innodb_flush_log_at_trx_commit`.
    pub fn set_flush_mode(&self, mode: FlushMode) -> Result<()> {
        let before = self.flush_mode();
        // The mode first: the housekeeper, which may be clearing the mark, looks at it afterwards.
        self.pipeline().set_flush_mode(mode);
        if mode != FlushMode::SyncEachCommit
            && let Err(e) = log_check::mark_not_synced(self.dir())
        {
            self.pipeline().set_flush_mode(before);
            return Err(open::io_error(self.dir(), e));
        }
        kill_point("log.marked");
        Ok(())
    }

    /// Lets the queue of commits run empty, stops background work and syncs the log; later
    /// commits fail with error 1053. Bounded by one flush or compaction step.
    pub fn shutdown(&self) -> Result<()> {
        self.store.store_counters();
        self.pipeline().shut_down();
        kill_point("stop.queue-empty");
        self.pipeline().stages().end();
        self.housekeeper.stop();
        for thread in std::mem::take(&mut *self.threads.lock()) {
            // A panic of the thread was reported when it happened.
            let _ = thread.join();
        }
        kill_point("stop.threads-ended");
        self.db().cancel_background_work();
        self.pipeline().sync_log().map_err(|e| match e {
            LogError::NoSpace(file) => disk_full_error(&file),
            LogError::Unknown(text) => Error::internal(text),
        })?;
        // The last commit is followed by something, so that damage to it is told from a torn end. A disk that is
        // full only makes the next start less strict.
        let _ = self.db().pad_log(LOG_END_BYTES);
        kill_point("stop.log-synced");
        Ok(())
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        if let Err(e) = self.shutdown() {
            self.hooks().log(LogLevel::Error, &format!("closing: {}", e.message()));
        }
    }
}
