//! The files of the logs of statements (`vaquita_session::logs`), and the thread that writes them.
//!
//! A session appends to a buffer, under a lock that is held for a copy of its entry. The thread takes what has gathered and writes it with one call,
//! then lets more gather. So the most that a statement pays is the copy, and now and then the wake-up of the thread.
//!
//! ```text
//! append ──► pending (memory, at most PENDING_BYTES_MAX) ──► thread: one write a batch ──► file ──► rotation
//! ```
//!
//! * LOG-FILES-1: entries are in the file in the order in which they were appended, each whole or, if it was left out, not at all; a write that fails in
//!   the middle may leave a part of one.
//! * LOG-FILES-2: `append` waits neither for the disk nor for the thread. What finds no room is counted, and the server's log tells how much.
//! * LOG-FILES-3: what was appended is written before `close` returns, unless the disk hangs: then SET waits no longer than `SETTING_WAIT`.

use std::fs::File;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use parking_lot::{Condvar, Mutex, MutexGuard};
use vaquita_session::logs::entry::Entry;
use vaquita_session::logs::{Log, LogFiles, LogTarget};
use vaquita_types::memory;

/// Of each log, while its file takes them too slowly.
const PENDING_BYTES_MAX: usize = 16 << 20;
/// So much does not wait for more.
const BATCH_BYTES: usize = 256 << 10;
/// How long entries gather behind a batch.
const GATHER: Duration = Duration::from_millis(5);
/// How long SET GLOBAL and FLUSH LOGS wait for a file that is being written.
const SETTING_WAIT: Duration = Duration::from_secs(5);
/// Memory of a batch that is kept for the next.
const KEPT_BYTES: usize = 1 << 20;
/// As MySQL's: for its owner, and its group to read.
const MODE: u32 = 0o640;

pub struct FileWriter {
    slots: [Slot; Log::COUNT],
    /// The thread waits for `wake` and nobody has woken it.
    is_asleep: AtomicBool,
    lock: Mutex<()>,
    wake: Condvar,
}

#[derive(Default)]
struct Slot {
    pending: Mutex<Pending>,
    file: Mutex<Option<OpenFile>>,
    /// The last write has failed.
    is_failing: AtomicBool,
}

/// What has been appended and is not written.
#[derive(Default)]
struct Pending {
    is_open: bool,
    bytes: Vec<u8>,
    entries: u64,
    /// Entries that found no room.
    left_out: u64,
    /// The database of the last entry.
    database: String,
}

struct OpenFile {
    file: File,
    target: LogTarget,
    bytes: u64,
    /// The last batch, whose memory is used again.
    batch: Vec<u8>,
    /// Entries that could not be written.
    lost: u64,
}

impl FileWriter {
    /// With its thread, which lives as long as the process.
    pub fn start() -> std::io::Result<Arc<FileWriter>> {
        let writer = Arc::new(FileWriter {
            slots: Default::default(),
            is_asleep: AtomicBool::new(false),
            lock: Mutex::new(()),
            wake: Condvar::new(),
        });
        let own = writer.clone();
        std::thread::Builder::new().name("log-writer".into()).spawn(move || own.run())?;
        Ok(writer)
    }

    fn run(&self) {
        loop {
            let mut wrote = false;
            for log in Log::ALL {
                let slot = self.slot(log);
                if slot.has_pending() {
                    wrote = true;
                    slot.write_pending(log, &mut slot.file.lock());
                }
            }
            let mut guard = self.lock.lock();
            if wrote {
                // More gathers meanwhile; whoever has much wakes it before.
                self.wake.wait_for(&mut guard, GATHER);
                continue;
            }
            self.is_asleep.store(true, Ordering::SeqCst);
            if !Log::ALL.iter().any(|log| self.slot(*log).has_pending()) {
                self.wake.wait(&mut guard);
            }
            self.is_asleep.store(false, Ordering::SeqCst);
        }
    }

    fn slot(&self, log: Log) -> &Slot {
        &self.slots[log as usize]
    }

    fn wake(&self) {
        let _guard = self.lock.lock();
        self.wake.notify_one();
    }

    /// The file, when nobody writes it any more, and without what was pending.
    fn drained(&self, log: Log) -> std::io::Result<MutexGuard<'_, Option<OpenFile>>> {
        let slot = self.slot(log);
        let mut file = slot.file.try_lock_for(SETTING_WAIT).ok_or(std::io::ErrorKind::TimedOut)?;
        slot.write_pending(log, &mut file);
        Ok(file)
    }
}

impl LogFiles for FileWriter {
    fn open(&self, log: Log, target: &LogTarget) -> std::io::Result<()> {
        let mut file = self.drained(log)?;
        let same = file.as_ref().is_some_and(|open| open.target.path == target.path);
        if let (true, Some(open)) = (same, file.as_mut()) {
            open.target = target.clone();
            return Ok(());
        }
        let opened = OpenFile::open(target.clone())?;
        *file = Some(opened);
        self.slot(log).is_failing.store(false, Ordering::Relaxed);
        let mut pending = self.slot(log).pending.lock();
        pending.is_open = true;
        pending.database.clear();
        Ok(())
    }

    fn close(&self, log: Log) {
        let slot = self.slot(log);
        slot.pending.lock().is_open = false;
        match self.drained(log) {
            Ok(mut file) => *file = None,
            Err(error) => tracing::error!("the file of the {} cannot be closed: {error}", log.name()),
        }
    }

    fn reopen(&self, log: Log) -> std::io::Result<()> {
        let mut file = self.drained(log)?;
        let Some(open) = file.as_mut() else { return Ok(()) };
        *open = OpenFile::open(open.target.clone())?;
        self.slot(log).pending.lock().database.clear();
        Ok(())
    }

    fn append(&self, log: Log, entry: &Entry<'_>) -> bool {
        let mut pending = self.slot(log).pending.lock();
        if !pending.is_open {
            return false;
        }
        let (before, more) = (pending.bytes.len(), entry.bytes());
        // One that is larger than all the room is written if it is alone.
        let has_room = before == 0 || before + more <= PENDING_BYTES_MAX;
        if !has_room || more > memory::BLOCK_BYTES_MIN && memory::ask(more).is_err() {
            pending.left_out += 1;
            return false;
        }
        let Pending { bytes, database, .. } = &mut *pending;
        entry.put(bytes, database);
        pending.entries += 1;
        let is_much = before < BATCH_BYTES && before + more >= BATCH_BYTES;
        drop(pending);
        // The thread looks at `pending` behind saying that it sleeps: one of both sees the other.
        if is_much || self.is_asleep.load(Ordering::SeqCst) && self.is_asleep.swap(false, Ordering::SeqCst) {
            self.wake();
        }
        true
    }

    fn is_failing(&self, log: Log) -> bool {
        let slot = self.slot(log);
        slot.is_failing.load(Ordering::Relaxed) || slot.pending.lock().left_out > 0
    }

    fn reopen_error_log(&self) -> std::io::Result<()> {
        crate::log::reopen()
    }
}

impl Slot {
    fn has_pending(&self) -> bool {
        let pending = self.pending.lock();
        !pending.bytes.is_empty() || pending.left_out > 0
    }

    /// Writes what is pending. `file` is this slot's.
    fn write_pending(&self, log: Log, file: &mut Option<OpenFile>) {
        let (mut batch, entries, left_out) = {
            let mut pending = self.pending.lock();
            let spare = file.as_mut().map(|open| std::mem::take(&mut open.batch)).unwrap_or_default();
            let batch = std::mem::replace(&mut pending.bytes, spare);
            (batch, std::mem::take(&mut pending.entries), std::mem::take(&mut pending.left_out))
        };
        if left_out > 0 {
            tracing::warn!("{left_out} entries of the {} were left out: its file takes them too slowly", log.name());
        }
        let Some(open) = file else { return };
        if !batch.is_empty() {
            self.write(log, open, &batch, entries);
        }
        batch.clear();
        batch.shrink_to(KEPT_BYTES);
        open.batch = batch;
    }

    fn write(&self, log: Log, open: &mut OpenFile, batch: &[u8], entries: u64) {
        let path = open.target.path.display();
        match open.file.write_all(batch) {
            Ok(()) => {
                open.bytes += batch.len() as u64;
                if self.is_failing.swap(false, Ordering::Relaxed) {
                    tracing::warn!("{path} is written again: {} entries of the {} are lost", open.lost, log.name());
                    open.lost = 0;
                }
            }
            Err(error) => {
                open.lost += entries;
                if !self.is_failing.swap(true, Ordering::Relaxed) {
                    tracing::error!(
                        "Failed to write to {path}: {error}; entries of the {} are lost until this succeeds",
                        log.name()
                    );
                }
            }
        }
        if let Some((bytes_max, kept)) = open.target.rotates
            && open.bytes >= bytes_max
            && let Err(error) = open.rotate(kept)
        {
            tracing::error!("the {} cannot go on to another file: {error}", log.name());
        }
    }
}

impl OpenFile {
    /// Behind what the file has already.
    fn open(target: LogTarget) -> std::io::Result<OpenFile> {
        let mut file = std::fs::OpenOptions::new().append(true).create(true).mode(MODE).open(&target.path)?;
        let before = file.metadata()?.len();
        file.write_all(&target.head)?;
        let bytes = before + target.head.len() as u64;
        Ok(OpenFile { file, target, bytes, batch: Vec::new(), lost: 0 })
    }

    /// `log` becomes `log.1`, `log.1` becomes `log.2`, and so on; what would be more than `kept` is gone.
    fn rotate(&mut self, kept: u64) -> std::io::Result<()> {
        let path = &self.target.path;
        if kept == 0 {
            std::fs::remove_file(path)?;
        } else {
            for number in (1..kept).rev() {
                let from = numbered(path, number);
                if from.exists() {
                    std::fs::rename(from, numbered(path, number + 1))?;
                }
            }
            std::fs::rename(path, numbered(path, 1))?;
        }
        *self = OpenFile::open(self.target.clone())?;
        Ok(())
    }
}

fn numbered(path: &Path, number: u64) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".{number}"));
    name.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A directory of its own, which is removed at the end.
    struct Dir(PathBuf);

    impl Dir {
        fn new(name: &str) -> Dir {
            let dir = std::env::temp_dir().join(format!("vaquita-log-files-{name}-{}", std::process::id()));
            std::fs::create_dir_all(&dir).unwrap();
            Dir(dir)
        }

        fn target(&self, rotates: Option<(u64, u64)>) -> LogTarget {
            LogTarget { path: self.0.join("x.log"), head: b"head\n".to_vec(), rotates }
        }

        fn text(&self, name: &str) -> String {
            std::fs::read_to_string(self.0.join(name)).unwrap_or_default()
        }
    }

    impl Drop for Dir {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }

    fn entry(text: &str) -> Entry<'_> {
        Entry { first: text.as_bytes(), ..Entry::default() }
    }

    #[test]
    fn what_is_appended_is_written_before_the_log_is_closed() {
        let dir = Dir::new("order");
        let files = FileWriter::start().unwrap();
        assert!(!files.append(Log::Slow, &entry("nowhere\n")));
        files.open(Log::Slow, &dir.target(None)).unwrap();
        let mut expected = "head\n".to_string();
        for n in 0..1000 {
            let line = format!("entry {n}\n");
            assert!(files.append(Log::Slow, &entry(&line)));
            expected.push_str(&line);
        }
        files.close(Log::Slow);
        assert_eq!(dir.text("x.log"), expected);
    }

    #[test]
    fn a_database_is_named_when_it_changes_and_in_each_file() {
        let dir = Dir::new("database");
        let files = FileWriter::start().unwrap();
        files.open(Log::Slow, &dir.target(None)).unwrap();
        let put = |database| files.append(Log::Slow, &Entry { first: b"1\n", database, rest: b"2\n" });
        assert!(put(Some("a")) && put(Some("a")) && put(None) && put(Some("b")));
        std::fs::rename(dir.0.join("x.log"), dir.0.join("old.log")).unwrap();
        files.reopen(Log::Slow).unwrap();
        put(Some("b"));
        files.close(Log::Slow);
        assert_eq!(dir.text("old.log"), "head\n1\nuse a;\n2\n1\n2\n1\n2\n1\nuse b;\n2\n");
        assert_eq!(dir.text("x.log"), "head\n1\nuse b;\n2\n");
    }

    #[test]
    fn files_of_some_size_are_renamed_and_the_last_are_kept() {
        let dir = Dir::new("rotation");
        let files = FileWriter::start().unwrap();
        let target = LogTarget { head: Vec::new(), ..dir.target(Some((4, 2))) };
        for text in ["aaaa", "bbbb", "cccc", "dd"] {
            files.open(Log::Audit, &target).unwrap();
            files.append(Log::Audit, &entry(text));
            files.close(Log::Audit);
        }
        assert_eq!(
            [dir.text("x.log"), dir.text("x.log.1"), dir.text("x.log.2"), dir.text("x.log.3")],
            ["dd", "cccc", "bbbb", ""]
        );
    }

    #[test]
    fn what_finds_no_room_is_left_out() {
        let slot = FileWriter {
            slots: Default::default(),
            is_asleep: AtomicBool::new(false),
            lock: Mutex::new(()),
            wake: Condvar::new(),
        };
        // Without a thread nothing leaves.
        slot.slot(Log::General).pending.lock().is_open = true;
        let half = "x".repeat(PENDING_BYTES_MAX / 2);
        let append = || slot.append(Log::General, &entry(&half));
        assert_eq!([append(), append(), append()], [true, true, false]);
        assert!(slot.is_failing(Log::General));
    }

    #[test]
    fn a_full_disk_loses_entries_and_is_told() {
        let files = FileWriter::start().unwrap();
        let target = LogTarget { path: "/dev/full".into(), head: Vec::new(), rotates: None };
        files.open(Log::Audit, &target).unwrap();
        files.append(Log::Audit, &entry("lost"));
        drop(files.drained(Log::Audit).unwrap());
        assert!(files.is_failing(Log::Audit));
    }
}
