//! What the engine does now and then and nobody waits for.
//!
//! Ten times a second it looks whether old versions in memtables slow scans down, and flushes them
//! (`HiddenEntries`), and watches the free disk space. Once a second it syncs the log for `innodb_flush_log_at_trx_commit`
//! 0 and 2, and drops iterators that no scan took for a second, because each keeps a version of the files
//! and memtables alive. Before its first round it warms the log (`warm_log`).

use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};
use rocksdb::Cache;

use super::space_reserve;
use crate::base::hooks::LogLevel;
use crate::base::kill_points::kill_point;
use crate::base::options::FlushMode;
use crate::commit::stages::LogError;
use crate::rocks::options::RECYCLED_LOGS;
use crate::rocks::{RocksError, log_check};
use crate::txn::Store;

const TICK: Duration = Duration::from_millis(100);
/// The block cache's size changes by no less than one part in so many.
const CACHE_STEPS: usize = 64;
/// Blocks keep one part in so many of it, whatever spans and memtables take.
const BLOCKS_SHARE_MIN: usize = 8;
/// Bytes of padding written to the log at a time.
const LOG_WARM_STEP_BYTES: usize = 1 << 20;

/// Hidden entries that scans pass in a tick before a flush is worth it: about 5% of a core.
const HIDDEN_ENTRIES_MAX: u64 = 50_000;
/// Ticks between two flushes that do not help.
const FLUSH_PAUSE_MAX: u32 = 512;

/// Decides when to flush memtables so that scans meet fewer hidden entries.
///
/// A row that is updated a thousand times has a thousand versions in the memtable, and a queue's
/// deleted rows stay at its head; a scan steps over all of them. A flush keeps only what a
/// snapshot can see. Where an old snapshot needs the versions a flush does not help, so after
/// each that did not, the next waits twice as long.
#[derive(Debug, Default)]
struct HiddenEntries {
    /// What was passed in the tick before the last flush; 0 if its effect is known.
    before_flush: u64,
    pause: u32,
    /// Ticks still to wait.
    wait: u32,
}

impl HiddenEntries {
    /// True if memtables are to be flushed, given the hidden entries passed in the last tick.
    fn flush_wanted(&mut self, passed: u64) -> bool {
        if self.before_flush > 0 {
            let helped = passed < self.before_flush / 2;
            self.pause = if helped { 0 } else { (self.pause * 2).clamp(1, FLUSH_PAUSE_MAX) };
            self.wait = self.pause;
            self.before_flush = 0;
        }
        if self.wait > 0 {
            self.wait -= 1;
            return false;
        }
        let wanted = passed > HIDDEN_ENTRIES_MAX;
        if wanted {
            self.before_flush = passed;
        }
        wanted
    }
}

pub struct Housekeeper {
    store: Arc<Store>,
    cache: Cache,
    log_bytes: usize,
    stopped: Mutex<bool>,
    wake: Condvar,
}

impl Housekeeper {
    pub fn new(store: Arc<Store>, cache: Cache) -> Housekeeper {
        let options = store.options();
        Housekeeper {
            cache,
            log_bytes: if options.warm_log { options.write_buffer() } else { 0 },
            stopped: Mutex::new(false),
            wake: Condvar::new(),
            store,
        }
    }

    pub fn start(self: &Arc<Housekeeper>) -> std::io::Result<JoinHandle<()>> {
        let house = Arc::clone(self);
        // Before the first commit.
        self.watch_disk();
        std::thread::Builder::new().name("housekeeper".into()).spawn(move || house.run())
    }

    /// The thread ends soon after.
    pub fn stop(&self) {
        *self.stopped.lock() = true;
        self.wake.notify_all();
        self.store.idle_iters().clear();
    }

    fn run(&self) {
        if let Err(e) = self.renew_logs() {
            self.store.hooks().log(LogLevel::Warning, &format!("warming the log: {}", e.0));
        }
        let mut hidden = HiddenEntries::default();
        let mut cache_bytes = self.store.cache_bytes();
        let mut last_round = Instant::now();
        loop {
            let mut stopped = self.stopped.lock();
            if !*stopped {
                self.wake.wait_for(&mut stopped, TICK.min(self.store.options().tuning.round));
            }
            if *stopped {
                return;
            }
            drop(stopped);
            self.watch_disk();
            self.share_cache(&mut cache_bytes);
            if hidden.flush_wanted(self.store.db().take_hidden_entries()) {
                self.flush_memtables();
            }
            if last_round.elapsed() < self.store.options().tuning.round {
                continue;
            }
            last_round = Instant::now();
            self.sync_and_note_log();
            self.take_space_reserve();
            self.store.pipeline().spans().forget_unused();
            self.store.idle_iters().clear();
        }
    }

    /// The block cache has what spans and memtables do not take.
    fn share_cache(&self, block_cache_bytes: &mut usize) {
        let taken = self.store.pipeline().spans().bytes() + self.store.db().memtable_bytes();
        let all = self.store.cache_bytes();
        let share = all.saturating_sub(taken).max(all / BLOCKS_SHARE_MIN);
        if share.abs_diff(*block_cache_bytes) > all / CACHE_STEPS {
            self.cache.clone().set_capacity(share);
            *block_cache_bytes = share;
        }
    }

    /// Leaves the logs of the last run behind: what they hold is in files afterwards.
    fn renew_logs(&self) -> Result<(), RocksError> {
        let unsynced_before = log_check::is_marked_not_synced(self.store.dir());
        self.warm_log()?;
        if unsynced_before && self.store.pipeline().flush_mode() == FlushMode::SyncEachCommit {
            self.store.db().switch_log()?;
            log_check::clear_mark(self.store.dir());
            kill_point("log.unmarked");
            if self.store.pipeline().flush_mode() != FlushMode::SyncEachCommit
                && let Err(e) = log_check::mark_not_synced(self.store.dir())
            {
                self.store.hooks().log(LogLevel::Warning, &format!("marking the log as not synced: {e}"));
            }
        }
        Ok(())
    }

    /// Commits that were synced are missed if they are not there at the next start.
    fn sync_and_note_log(&self) {
        let sequence = self.store.db().settled_sequence();
        if !self.sync_log() {
            return;
        }
        if let Err(e) = self.store.db().note_newest_log(sequence) {
            self.store.hooks().log(LogLevel::Error, &format!("{}. The server stops now", e.0));
            std::process::abort();
        }
    }

    /// False: an append failed earlier, and what followed it is not synced.
    fn sync_log(&self) -> bool {
        if self.store.pipeline().flush_mode() == FlushMode::SyncEachCommit {
            return true;
        }
        match self.store.pipeline().sync_log() {
            Ok(()) => {
                kill_point("log.synced");
                true
            }
            // Whoever's append failed says so, and ends the process unless the disk is full.
            Err(LogError::NoSpace(_)) => false,
            Err(LogError::Unknown(text)) => {
                self.store.hooks().log(LogLevel::Error, &format!("{text}. The server stops now"));
                std::process::abort()
            }
        }
    }

    fn flush_memtables(&self) {
        // A flush that fails for want of space or permission shows in commits; scans are only slower.
        if let Err(e) = self.store.db().flush_memtables() {
            self.store.hooks().log(LogLevel::Warning, &format!("flushing memtables: {}", e.0));
        }
    }

    /// For the next time that the disk is full.
    fn take_space_reserve(&self) {
        let Ok(free) = space_reserve::free_bytes(self.store.dir()) else { return };
        if let Err(e) = space_reserve::take(self.store.dir(), free, self.store.options().disk_reserve_bytes) {
            self.store.hooks().log(LogLevel::Warning, &format!("reserving disk space: {e}"));
        }
    }

    fn watch_disk(&self) {
        let Ok(free) = space_reserve::free_bytes(self.store.dir()) else { return };
        space_reserve::release_if_full(self.store.dir(), free);
        let full = free < self.store.options().disk_reserve_bytes;
        if self.store.set_disk_full(full) != full {
            let text =
                if full { "disk full: commits fail until space is freed" } else { "there is disk space again: commits go on" };
            self.store.hooks().log(LogLevel::Warning, text);
        }
    }

    /// Gives the log files their blocks before commits need them. A file that grows makes each
    /// fdatasync commit the file system's journal; one that is overwritten does not. RocksDB
    /// reuses old logs, but a new process has none that it may reuse: so fill one with padding,
    /// which recovery skips, and switch away from it, as often as files are kept.
    fn warm_log(&self) -> Result<(), RocksError> {
        let bytes = (self.log_bytes * RECYCLED_LOGS) as u64;
        if bytes == 0
            || !space_reserve::free_bytes(self.store.dir())
                .is_ok_and(|free| free > bytes + self.store.options().disk_reserve_bytes)
        {
            return Ok(());
        }
        for _ in 0..RECYCLED_LOGS {
            for _ in 0..self.log_bytes / LOG_WARM_STEP_BYTES {
                if *self.stopped.lock() {
                    return Ok(());
                }
                self.store.db().pad_log(LOG_WARM_STEP_BYTES)?;
                kill_point("log.padded");
            }
            self.store.db().switch_log()?;
            kill_point("log.warmed");
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flushes_that_do_not_help_become_rare() {
        let mut hidden = HiddenEntries::default();
        let flushes: Vec<u32> = (0..300).filter(|_| hidden.flush_wanted(HIDDEN_ENTRIES_MAX + 1)).collect();
        assert_eq!(flushes, [0, 2, 5, 10, 19, 36, 69, 134, 263]);
    }

    #[test]
    fn flushes_that_help_go_on() {
        let mut hidden = HiddenEntries::default();
        let rounds = [HIDDEN_ENTRIES_MAX * 3, 10, HIDDEN_ENTRIES_MAX * 3, 10, 20, HIDDEN_ENTRIES_MAX * 3];
        assert_eq!(rounds.map(|passed| hidden.flush_wanted(passed)), [true, false, true, false, false, true]);
    }
}
