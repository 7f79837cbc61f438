//! RocksDB's C API behind safe types: with `checkpoint`, `ingest` and `listener` the only unsafe code of this server.
//!
//! The safe crate ties snapshots and iterators to a borrow of the database and allocates for
//! every read; here they hold an `Arc<Db>`, gets fill a caller's buffer, and an iterator's
//! bounds can be moved, so that it serves many ranges. Options are set through the safe crate
//! (`rocks::options`), opened here.
//!
//! Invariants:
//! * ROCKS-1: a `Snapshot` or `Iter` keeps its `Arc<Db>`, so the database closes last.
//! * ROCKS-2: the bound bytes of an `Iter` live in the `Iter` and change only together with the
//!   read options that point at them; a seek follows before the iterator is used again.
//! * ROCKS-3: batches given to `write` are well formed; they are made by `commit::records` only.
//! * ROCKS-4: whoever takes sequence numbers holds `numbers`, so that a write knows its own number for certain.
//! * ROCKS-5: `settled_sequence() <= latest_sequence()`. RocksDB shows a number before everybody sees what has it: it ingests
//!   files by `SetLastSequence` first and `InstallSuperVersion` after that (`DBImpl::CommitFileIngestionHandle`), and a get or an
//!   iterator without a snapshot does not wait for its mutex. So what was read is of `settled_sequence()` or later, and of
//!   `latest_sequence()` or earlier, both asked before; only a `Snapshot`, which takes the mutex, is exactly of its number.
//! * ROCKS-6: what one iterator or one `multi_get` shows is the state after some commit. RocksDB takes the memtables and files of an
//!   iterator without a snapshot first, and the last number after that. Between the two files can be ingested and a batch be written to
//!   the memtable that it has already: it would show the batch, and not the files before it. So such a read is made anew, with a snapshot,
//!   if files were ingested meanwhile (`ingestions`).

mod checkpoint;
#[cfg(test)]
mod delete_tests;
mod ingest;
#[cfg(test)]
mod ingest_tests;
mod listener;

use std::cell::Cell;
use std::ffi::{CStr, CString, c_char, c_int, c_uchar};
use std::path::Path;
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering, fence};

use librocksdb_sys as ffi;
use parking_lot::{Mutex, RwLock};
use rocksdb::AsRawPtr;

use crate::base::kill_points::kill_point;
use crate::rocks::newest_log::{NewestLog, Noted};
use crate::rocks::options::{CATALOG_SHARE, log_bytes_max};

/// The text of a RocksDB status.
#[derive(Clone, Debug)]
pub struct RocksError(pub String);

impl RocksError {
    pub fn is_no_space(&self) -> bool {
        self.0.contains("No space left on device") || self.0.contains("NoSpace") || self.0.contains("Disk quota exceeded")
    }

    /// The file that could not grow, if the disk was full and a refused `Db::write` left nothing of its batch: an append to
    /// the log ended short, or RocksDB has stopped writes because an earlier append to a log or an SST file did.
    ///
    /// RocksDB (11.8) never continues such a log: it stops all writes, and when there is space again (it looks every 5 s,
    /// `SstFileManagerImpl::ClearError`) it writes the memtables to files, also empty ones, on a new log, before
    /// the next write (`ResumeImpl`). The bytes that were refused are dropped from the file's buffer. So the torn record stays
    /// the last of its log, as after a crash, until the log is obsolete. A sync that fails for want of space, and the
    /// MANIFEST, are not among these: there the record is in the log.
    pub fn file_without_space(&self) -> Option<&str> {
        let file = self.0.split_once("While appending to file: ")?.1.split(": ").next()?;
        (self.is_no_space() && (file.ends_with(".log") || file.ends_with(".sst"))).then_some(file)
    }

    /// The log cannot be written or synced since an append to it failed, which whoever appended reports.
    pub fn is_earlier_failure(&self) -> bool {
        self.0.contains("Writer has previous error")
    }

    pub fn is_corruption(&self) -> bool {
        self.0.starts_with("Corruption")
    }

    pub fn is_try_again(&self) -> bool {
        self.0.starts_with("Operation failed. Try again.")
    }

    pub fn is_lock_held(&self) -> bool {
        self.0.contains("lock hold by current process") || self.0.contains("/LOCK: Resource temporarily unavailable")
    }
}

pub use ingest::SortedFiles;

type Result<T> = std::result::Result<T, RocksError>;

fn c_path(path: &Path) -> Result<CString> {
    CString::new(path.as_os_str().as_encoded_bytes()).map_err(|_| RocksError("path with a NUL byte".into()))
}

/// Runs a C call that reports by `char** errptr`.
fn checked<T>(call: impl FnOnce(*mut *mut c_char) -> T) -> Result<T> {
    let mut err: *mut c_char = ptr::null_mut();
    let out = call(&mut err);
    if err.is_null() {
        return Ok(out);
    }
    // SAFETY: RocksDB returns a NUL-terminated string from malloc that is now ours.
    let text = unsafe {
        let text = CStr::from_ptr(err).to_string_lossy().into_owned();
        ffi::rocksdb_free(err.cast());
        text
    };
    Err(RocksError(text))
}

fn newest_log_error(e: std::io::Error) -> RocksError {
    RocksError(format!("IO error: {e}: the note of the newest log"))
}

/// The column families; the numbers are those that they have in batches, in the order in which they are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Family {
    Data = 0,
    Catalog = 1,
    /// Transactions for readers of the binary log, by position: keys ascend, and nothing is written again.
    Log = 2,
}

/// Names in the order of their numbers.
const FAMILIES: [(Family, &CStr); 3] = [(Family::Data, c"default"), (Family::Catalog, c"catalog"), (Family::Log, c"binlog")];

const MEMTABLE_BYTES: &CStr = c"rocksdb.size-all-mem-tables";

/// RocksDB keeps pointers into the caches and factories of these.
pub struct FamilyOptions {
    /// They carry the database's as well.
    pub data: rocksdb::Options,
    pub catalog: rocksdb::Options,
    pub log: rocksdb::Options,
}

pub struct Db {
    db: *mut ffi::rocksdb_t,
    families: [*mut ffi::rocksdb_column_family_handle_t; FAMILIES.len()],
    read_latest: *mut ffi::rocksdb_readoptions_t,
    write_sync: *mut ffi::rocksdb_writeoptions_t,
    write_async: *mut ffi::rocksdb_writeoptions_t,
    /// Shared by writes, held alone by what must not have any beside it.
    writes: RwLock<()>,
    numbers: Mutex<()>,
    settled: AtomicU64,
    /// Ingestions that have begun and that have ended: odd while one goes on (ROCKS-6).
    ingestions: AtomicU64,
    newest_log: Mutex<NewestLog>,
    /// A memtable was sealed, and perhaps a log begun, since the newest log was noted.
    log_begun: Arc<AtomicBool>,
    /// The sequence number that was noted last.
    noted: AtomicU64,
    /// Entries of memtables that iterators passed without giving them: old versions and deletions.
    hidden_entries: AtomicU64,
    options: FamilyOptions,
}

// SAFETY: rocksdb_t and column family handles may be used from any thread; the read and write
// options are never changed after `open`.
unsafe impl Send for Db {}
// SAFETY: as above.
unsafe impl Sync for Db {}

impl Db {
    /// Opens or creates the database with its families.
    pub fn open(dir: &Path, mut options: FamilyOptions) -> Result<Arc<Db>> {
        let newest_log = NewestLog::open(dir).map_err(newest_log_error)?;
        let log_begun = listener::listen(&mut options.data);
        let path = c_path(dir)?;
        let names = FAMILIES.map(|(_, name)| name.as_ptr());
        // SAFETY: the pointers are valid for the call; RocksDB copies options and names.
        unsafe {
            let raw = [&options.data, &options.catalog, &options.log].map(|options| options.as_raw_ptr().cast_const());
            let mut families: [*mut ffi::rocksdb_column_family_handle_t; FAMILIES.len()] = [ptr::null_mut(); FAMILIES.len()];
            let db = checked(|err| {
                ffi::rocksdb_open_column_families(
                    raw[0],
                    path.as_ptr(),
                    FAMILIES.len() as c_int,
                    names.as_ptr(),
                    raw.as_ptr(),
                    families.as_mut_ptr(),
                    err,
                )
            })?;
            let write_sync = ffi::rocksdb_writeoptions_create();
            ffi::rocksdb_writeoptions_set_sync(write_sync, 1);
            let db = Db {
                db,
                families,
                read_latest: ffi::rocksdb_readoptions_create(),
                write_sync,
                write_async: ffi::rocksdb_writeoptions_create(),
                writes: RwLock::new(()),
                numbers: Mutex::new(()),
                settled: AtomicU64::new(ffi::rocksdb_get_latest_sequence_number(db)),
                ingestions: AtomicU64::new(0),
                newest_log: Mutex::new(newest_log),
                log_begun,
                noted: AtomicU64::new(0),
                hidden_entries: AtomicU64::new(0),
                options,
            };
            for (family, name) in FAMILIES {
                let id = ffi::rocksdb_column_family_handle_get_id(db.handle(family));
                if id != family as u32 {
                    return Err(RocksError(format!("Corruption: column family '{}' has id {id}", name.to_string_lossy())));
                }
            }
            Ok(Arc::new(db))
        }
    }

    fn handle(&self, family: Family) -> *mut ffi::rocksdb_column_family_handle_t {
        self.families[family as usize]
    }

    /// The value of `key` at the snapshot, or the latest one, into `buf`.
    pub fn get(&self, family: Family, key: &[u8], at: Option<&Snapshot>, buf: &mut Vec<u8>) -> Result<bool> {
        const FIRST_TRY_BYTES: usize = 512;
        let options = at.map_or(self.read_latest, |s| s.read_options);
        buf.clear();
        buf.reserve(FIRST_TRY_BYTES);
        loop {
            let (mut len, mut found): (usize, c_uchar) = (0, 0);
            // SAFETY: the buffer has `capacity` writable bytes, and RocksDB writes at most that
            // many; `len` of them are initialized when it returns 1.
            unsafe {
                let copied = checked(|err| {
                    ffi::rocksdb_get_into_buffer_cf(
                        self.db,
                        options,
                        self.handle(family),
                        key.as_ptr().cast(),
                        key.len(),
                        buf.as_mut_ptr().cast(),
                        buf.capacity(),
                        &mut len,
                        &mut found,
                        err,
                    )
                })?;
                if found == 0 {
                    return Ok(false);
                }
                if copied != 0 {
                    buf.set_len(len);
                    return Ok(true);
                }
            }
            buf.reserve(len);
        }
    }

    /// The values of many data keys, read together.
    pub fn multi_get(self: &Arc<Db>, keys: &[&[u8]], at: Option<&Snapshot>) -> Result<Vec<Option<Vec<u8>>>> {
        match at {
            Some(at) => self.multi_get_by(keys, at.read_options),
            None => {
                let latest = self.undisturbed(|| self.multi_get_by(keys, self.read_latest));
                latest.unwrap_or_else(|| self.multi_get_by(keys, Snapshot::new(self).read_options))
            }
        }
    }

    fn multi_get_by(&self, keys: &[&[u8]], options: *mut ffi::rocksdb_readoptions_t) -> Result<Vec<Option<Vec<u8>>>> {
        let pointers: Vec<*const c_char> = keys.iter().map(|k| k.as_ptr().cast()).collect();
        let lengths: Vec<usize> = keys.iter().map(|k| k.len()).collect();
        let mut values: Vec<*mut ffi::rocksdb_pinnableslice_t> = vec![ptr::null_mut(); keys.len()];
        let mut errors: Vec<*mut c_char> = vec![ptr::null_mut(); keys.len()];
        // SAFETY: all four arrays have `keys.len()` entries; RocksDB fills values and errors.
        unsafe {
            ffi::rocksdb_batched_multi_get_cf(
                self.db,
                options,
                self.handle(Family::Data),
                keys.len(),
                pointers.as_ptr(),
                lengths.as_ptr(),
                values.as_mut_ptr(),
                errors.as_mut_ptr(),
                keys.is_sorted(),
            );
        }
        let mut failure = None;
        let mut out = Vec::with_capacity(keys.len());
        for (value, error) in values.into_iter().zip(errors) {
            if let Err(e) = checked(|err| {
                // SAFETY: `err` is the out parameter of `checked`, which frees what we store.
                unsafe { *err = error }
            }) {
                failure.get_or_insert(e);
            }
            if value.is_null() {
                out.push(None);
                continue;
            }
            // SAFETY: a value that is not null is valid until it is destroyed here.
            unsafe {
                let mut len = 0;
                let data = ffi::rocksdb_pinnableslice_value(value, &mut len);
                out.push(Some(std::slice::from_raw_parts(data.cast::<u8>(), len).to_vec()));
                ffi::rocksdb_pinnableslice_destroy(value);
            }
        }
        failure.map_or(Ok(out), Err)
    }

    /// The sequence number of the last write. What is read now is of no later one (ROCKS-5).
    pub fn latest_sequence(&self) -> u64 {
        // SAFETY: `db` is open.
        unsafe { ffi::rocksdb_get_latest_sequence_number(self.db) }
    }

    /// A sequence number up to which everything is seen by what is read from now on, also without a snapshot (ROCKS-5).
    pub fn settled_sequence(&self) -> u64 {
        self.settled.load(Ordering::Acquire)
    }

    /// Begins a read without a snapshot; `None` if files were ingested meanwhile (ROCKS-6).
    fn undisturbed<T>(&self, begin: impl FnOnce() -> T) -> Option<T> {
        let before = self.ingestions.load(Ordering::Acquire);
        if !before.is_multiple_of(2) {
            return None;
        }
        let begun = begin();
        // What `begin` has loaded was loaded before this is.
        fence(Ordering::Acquire);
        (self.ingestions.load(Ordering::Acquire) == before).then_some(begun)
    }

    /// Runs what takes sequence numbers (ROCKS-4). The last number that is taken after it.
    fn take_numbers(&self, write: impl FnOnce() -> Result<()>) -> (Result<()>, u64) {
        let _alone = self.numbers.lock();
        let done = write();
        let sequence = self.latest_sequence();
        self.settled.store(sequence, Ordering::Release);
        (done, sequence)
    }

    /// Applies a batch in RocksDB's own form (see `commit::records`), atomically. Its sequence number, or the last one
    /// before it if it failed. The log in which a synced batch is has been noted (`newest_log`).
    pub fn write(&self, batch: &[u8], sync: bool) -> (Result<()>, u64) {
        let (done, sequence) = self.write_batch(batch, sync);
        if sync && self.log_begun.load(Ordering::Acquire) {
            return (done.and_then(|()| self.note_newest_log(sequence)), sequence);
        }
        (done, sequence)
    }

    fn write_batch(&self, batch: &[u8], sync: bool) -> (Result<()>, u64) {
        let options = if sync { self.write_sync } else { self.write_async };
        self.take_numbers(|| {
            let _beside_others = self.writes.read();
            // SAFETY: RocksDB copies the bytes of the batch, which is destroyed in any case.
            unsafe {
                let raw = ffi::rocksdb_writebatch_create_from(batch.as_ptr().cast(), batch.len());
                let done = checked(|err| ffi::rocksdb_write(self.db, options, raw, err));
                ffi::rocksdb_writebatch_destroy(raw);
                done
            }
        })
    }

    /// Notes that what has this sequence number is synced, unless a later one was noted.
    pub fn note_newest_log(&self, sequence: u64) -> Result<()> {
        let mut newest_log = self.newest_log.lock();
        // Before the log's number is asked: a log that is begun meanwhile is noted the next time.
        let begun = self.log_begun.swap(false, Ordering::AcqRel);
        if !begun && sequence <= self.noted.load(Ordering::Relaxed) {
            return Ok(());
        }
        // SAFETY: `db` is open; the file's description is destroyed once.
        let log = checked(|err| unsafe {
            let file = ffi::rocksdb_get_current_wal_file(self.db, err);
            let number = if file.is_null() { 0 } else { ffi::rocksdb_wal_file_log_number(file) };
            if !file.is_null() {
                ffi::rocksdb_wal_file_destroy(file);
            }
            number
        })?;
        match newest_log.write(Noted { log, sequence }) {
            Ok(()) => {
                self.noted.store(sequence, Ordering::Relaxed);
                kill_point("log.noted");
                Ok(())
            }
            // The blocks are there; only a file system that writes elsewhere can want more. The next write tries again.
            Err(e) if e.kind() == std::io::ErrorKind::StorageFull => {
                self.log_begun.store(true, Ordering::Release);
                Ok(())
            }
            Err(e) => Err(newest_log_error(e)),
        }
    }

    /// Appends bytes to the log that mean nothing: they only give the file its blocks. Synced,
    /// because `log_check` relies on nothing unsynced being followed by anything.
    pub fn pad_log(&self, bytes: usize) -> Result<()> {
        let pad = vec![0u8; bytes];
        let _beside_others = self.writes.read();
        // SAFETY: RocksDB copies the blob; the batch is destroyed in any case.
        unsafe {
            let raw = ffi::rocksdb_writebatch_create();
            ffi::rocksdb_writebatch_put_log_data(raw, pad.as_ptr().cast(), pad.len());
            let done = checked(|err| ffi::rocksdb_write(self.db, self.write_sync, raw, err));
            ffi::rocksdb_writebatch_destroy(raw);
            done
        }
    }

    /// Hands the log to the operating system and, with `sync`, to the disk.
    pub fn flush_log(&self, sync: bool) -> Result<()> {
        // SAFETY: `db` is open.
        checked(|err| unsafe { ffi::rocksdb_flush_wal(self.db, c_uchar::from(sync), err) })
    }

    /// Writes the memtables of all families to files and starts a new log.
    pub fn flush_memtables(&self) -> Result<()> {
        // SAFETY: options live for the call; the array holds live handles.
        unsafe {
            let options = ffi::rocksdb_flushoptions_create();
            ffi::rocksdb_flushoptions_set_wait(options, 1);
            ffi::rocksdb_flushoptions_set_allow_write_stall(options, 1);
            let mut families = self.families;
            let count = families.len() as c_int;
            let done = checked(|err| ffi::rocksdb_flush_cfs(self.db, options, families.as_mut_ptr(), count, err));
            ffi::rocksdb_flushoptions_destroy(options);
            done
        }
    }

    /// Starts a new log by flushing a memtable that is made not to be empty.
    pub fn switch_log(&self) -> Result<()> {
        // SAFETY: the key is valid for the call. A delete of a key that never exists, in the
        // catalog's reserved range.
        let key = b"\0";
        let (deleted, _) = self.take_numbers(|| {
            let _beside_others = self.writes.read();
            checked(|err| unsafe {
                ffi::rocksdb_delete_cf(
                    self.db,
                    self.write_sync,
                    self.handle(Family::Catalog),
                    key.as_ptr().cast(),
                    key.len(),
                    err,
                )
            })
        });
        deleted?;
        kill_point("log.switching");
        self.flush_memtables()?;
        kill_point("log.switched");
        Ok(())
    }

    /// Drops the files of a family that lie within `[lower, upper)` and hides the rest. RocksDB also drops a file that ends with the limit that it is
    /// given, which is therefore below `upper`: a file may have that key alone.
    pub fn delete_range(&self, family: Family, lower: &[u8], upper: &[u8]) -> Result<()> {
        let family = self.handle(family);
        let (from, from_len, to, to_len) = (lower.as_ptr().cast(), lower.len(), upper.as_ptr().cast(), upper.len());
        let (deleted, _) = self.take_numbers(|| {
            let _beside_others = self.writes.read();
            // SAFETY: the pointers are valid for the call.
            checked(|err| unsafe {
                ffi::rocksdb_delete_range_cf(self.db, self.write_sync, family, from, from_len, to, to_len, err)
            })
        });
        deleted?;
        let _beside_others = self.writes.read();
        let last = below(upper);
        // SAFETY: the pointers are valid for the calls.
        unsafe {
            kill_point("reclaim.tombstone");
            checked(|err| {
                ffi::rocksdb_delete_file_in_range_cf(self.db, family, from, from_len, last.as_ptr().cast(), last.len(), err)
            })?;
            kill_point("reclaim.files-deleted");
            checked(|err| ffi::rocksdb_suggest_compact_range_cf(self.db, family, from, from_len, to, to_len, err))
        }
    }

    pub fn compact_range(&self, lower: &[u8], upper: &[u8]) {
        // SAFETY: the pointers are valid for the call.
        unsafe {
            ffi::rocksdb_compact_range_cf(
                self.db,
                self.handle(Family::Data),
                lower.as_ptr().cast(),
                lower.len(),
                upper.as_ptr().cast(),
                upper.len(),
            )
        }
    }

    /// An estimate, of what is in memory and not yet written as well.
    pub fn range_bytes(&self, lower: &[u8], upper: &[u8]) -> Result<u64> {
        const FILES_AND_MEMTABLES: u8 =
            (ffi::rocksdb_size_approximation_flags_include_files | ffi::rocksdb_size_approximation_flags_include_memtable) as u8;
        let mut bytes = 0;
        let (from, to) = ([lower.as_ptr().cast::<c_char>()], [upper.as_ptr().cast::<c_char>()]);
        // SAFETY: one range; all arrays have one entry.
        checked(|err| unsafe {
            ffi::rocksdb_approximate_sizes_cf_with_flags(
                self.db,
                self.handle(Family::Data),
                1,
                from.as_ptr(),
                &lower.len(),
                to.as_ptr(),
                &upper.len(),
                FILES_AND_MEMTABLES,
                &mut bytes,
                err,
            )
        })?;
        Ok(bytes)
    }

    pub fn verify_checksums(&self) -> Result<()> {
        // SAFETY: `db` is open.
        checked(|err| unsafe { ffi::rocksdb_verify_checksum(self.db, err) })
    }

    pub fn property(&self, name: &str) -> Option<String> {
        let name = CString::new(name).ok()?;
        // SAFETY: the result is NULL or a string from malloc that is ours.
        unsafe {
            let text = ffi::rocksdb_property_value_cf(self.db, self.handle(Family::Data), name.as_ptr());
            if text.is_null() {
                return None;
            }
            let out = CStr::from_ptr(text).to_string_lossy().into_owned();
            ffi::rocksdb_free(text.cast());
            Some(out)
        }
    }

    /// Bytes of each memtable from the next on.
    pub fn set_write_buffer_bytes(&self, bytes: usize) -> Result<()> {
        for (family, _) in FAMILIES {
            let own = if family == Family::Catalog { bytes / CATALOG_SHARE } else { bytes };
            self.set_option(Some(family), c"write_buffer_size", own as u64)?;
        }
        self.set_option(None, c"max_total_wal_size", log_bytes_max(bytes))
    }

    /// Threads that flush and compact.
    pub fn set_background_jobs(&self, jobs: usize) -> Result<()> {
        self.set_option(None, c"max_background_jobs", jobs as u64)
    }

    /// Files of level 0 that start a compaction of the data.
    pub fn set_level0_files(&self, files: u64) -> Result<()> {
        self.set_option(Some(Family::Data), c"level0_file_num_compaction_trigger", files)
    }

    /// An option of a family, or of the database. RocksDB notes it in its OPTIONS file, which nobody reads: a start has our own.
    fn set_option(&self, family: Option<Family>, name: &CStr, value: u64) -> Result<()> {
        let value = CString::new(value.to_string()).map_err(|_| RocksError("a number with a NUL byte".into()))?;
        let (names, values) = ([name.as_ptr()], [value.as_ptr()]);
        // SAFETY: the texts live until the call returns, which copies them.
        checked(|err| unsafe {
            match family {
                Some(family) => {
                    ffi::rocksdb_set_options_cf(self.db, self.handle(family), 1, names.as_ptr(), values.as_ptr(), err)
                }
                None => ffi::rocksdb_set_db_options(self.db, 1, names.as_ptr(), values.as_ptr(), err),
            }
        })
    }

    /// What memtables take: those that are written, those that wait for a flush, and those that only an iterator keeps.
    pub fn memtable_bytes(&self) -> usize {
        FAMILIES
            .iter()
            .map(|(family, _)| {
                let mut bytes = 0;
                // SAFETY: handle and text are valid, `bytes` is written before the call returns.
                let failed =
                    unsafe { ffi::rocksdb_property_int_cf(self.db, self.handle(*family), MEMTABLE_BYTES.as_ptr(), &mut bytes) };
                if failed == 0 { bytes as usize } else { 0 }
            })
            .sum()
    }

    /// Entries of memtables that scans passed without giving them, since the last call.
    pub fn take_hidden_entries(&self) -> u64 {
        self.hidden_entries.swap(0, Ordering::Relaxed)
    }

    /// Tells flushes and compactions to stop, without waiting for them.
    pub fn cancel_background_work(&self) {
        // SAFETY: `db` is open.
        unsafe { ffi::rocksdb_cancel_all_background_work(self.db, 0) }
    }
}

impl Drop for Db {
    fn drop(&mut self) {
        // SAFETY: nobody else has these pointers (ROCKS-1).
        unsafe {
            ffi::rocksdb_readoptions_destroy(self.read_latest);
            ffi::rocksdb_writeoptions_destroy(self.write_sync);
            ffi::rocksdb_writeoptions_destroy(self.write_async);
            self.families.iter().for_each(|family| ffi::rocksdb_column_family_handle_destroy(*family));
            ffi::rocksdb_close(self.db);
        }
    }
}

/// A version of the whole database.
pub struct Snapshot {
    db: Arc<Db>,
    snapshot: *const ffi::rocksdb_snapshot_t,
    read_options: *mut ffi::rocksdb_readoptions_t,
    sequence: u64,
}

// SAFETY: a snapshot is immutable and its options are only read after `new`.
unsafe impl Send for Snapshot {}
// SAFETY: as above.
unsafe impl Sync for Snapshot {}

impl Snapshot {
    pub fn new(db: &Arc<Db>) -> Snapshot {
        // SAFETY: the snapshot and the options are released in `drop`.
        unsafe {
            let snapshot = ffi::rocksdb_create_snapshot(db.db);
            let read_options = ffi::rocksdb_readoptions_create();
            ffi::rocksdb_readoptions_set_snapshot(read_options, snapshot);
            let sequence = ffi::rocksdb_snapshot_get_sequence_number(snapshot);
            Snapshot { db: Arc::clone(db), snapshot, read_options, sequence }
        }
    }

    /// Everything up to this sequence number is visible.
    pub fn sequence(&self) -> u64 {
        self.sequence
    }
}

impl Drop for Snapshot {
    fn drop(&mut self) {
        // SAFETY: made in `new`, released once.
        unsafe {
            ffi::rocksdb_readoptions_destroy(self.read_options);
            ffi::rocksdb_release_snapshot(self.db.db, self.snapshot);
        }
    }
}

/// How an iterator reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IterOptions {
    pub fill_cache: bool,
    pub readahead_bytes: usize,
}

impl Default for IterOptions {
    fn default() -> IterOptions {
        IterOptions { fill_cache: true, readahead_bytes: 0 }
    }
}

/// An iterator with movable bounds, over one family at one version.
pub struct Iter {
    /// Keeps the version alive as long as the iterator.
    at: Option<Arc<Snapshot>>,
    options: IterOptions,
    db: Arc<Db>,
    iter: *mut ffi::rocksdb_iterator_t,
    read_options: *mut ffi::rocksdb_readoptions_t,
    lower: Vec<u8>,
    upper: Vec<u8>,
    /// Where the iterator stands: key and value, asked once for each step.
    entry: Option<(ffi::rocksdb_slice_t, ffi::rocksdb_slice_t)>,
    /// Seeks and steps since `account`.
    steps: u64,
}

// SAFETY: the iterator is used by one thread at a time (`&mut self` moves it), and RocksDB
// iterators may change threads between calls.
unsafe impl Send for Iter {}

impl Iter {
    /// Of what the snapshot sees, or of what is committed now, for which it may get a snapshot of its own (ROCKS-6).
    pub fn new(db: &Arc<Db>, family: Family, at: Option<&Arc<Snapshot>>, options: IterOptions) -> Iter {
        if at.is_some() {
            return Iter::begin(db, family, at, options);
        }
        let latest = db.undisturbed(|| Iter::begin(db, family, None, options));
        latest.unwrap_or_else(|| Iter::begin(db, family, Some(&Arc::new(Snapshot::new(db))), options))
    }

    fn begin(db: &Arc<Db>, family: Family, at: Option<&Arc<Snapshot>>, options: IterOptions) -> Iter {
        // SAFETY: bounds are given before the first use and point into this struct's vectors,
        // whose heap buffers do not move with the struct.
        unsafe {
            let read_options = ffi::rocksdb_readoptions_create();
            if let Some(snapshot) = at {
                ffi::rocksdb_readoptions_set_snapshot(read_options, snapshot.snapshot);
            }
            ffi::rocksdb_readoptions_set_fill_cache(read_options, c_uchar::from(options.fill_cache));
            ffi::rocksdb_readoptions_set_readahead_size(read_options, options.readahead_bytes);
            let mut iter = Iter {
                at: at.cloned(),
                options,
                db: Arc::clone(db),
                iter: ptr::null_mut(),
                read_options,
                lower: Vec::new(),
                upper: Vec::new(),
                entry: None,
                steps: 0,
            };
            iter.point_bounds();
            iter.iter = ffi::rocksdb_create_iterator_cf(db.db, read_options, db.handle(family));
            iter
        }
    }

    pub fn snapshot(&self) -> Option<&Arc<Snapshot>> {
        self.at.as_ref()
    }

    pub fn options(&self) -> IterOptions {
        self.options
    }

    /// Moves an iterator without a snapshot to what is committed now. False: that failed, or files were ingested meanwhile (ROCKS-6), and
    /// another iterator is needed.
    pub fn refresh(&mut self) -> bool {
        self.entry = None;
        let db = Arc::clone(&self.db);
        // SAFETY: `iter` is live.
        let refreshed = db.undisturbed(|| checked(|err| unsafe { ffi::rocksdb_iter_refresh(self.iter, err) }));
        matches!(refreshed, Some(Ok(())))
    }

    /// Limits the iterator to `[lower, upper)`; a seek must follow. RocksDB reads the bounds
    /// through the pointers in the read options whenever it seeks.
    pub fn set_bounds(&mut self, lower: &[u8], upper: &[u8]) {
        self.lower.clear();
        self.lower.extend_from_slice(lower);
        self.upper.clear();
        match upper {
            [] => self.upper.extend_from_slice(&[0xFF; 16]),
            upper => self.upper.extend_from_slice(upper),
        }
        self.point_bounds();
    }

    fn point_bounds(&mut self) {
        if self.upper.is_empty() {
            self.upper.extend_from_slice(&[0xFF; 16]);
        }
        // SAFETY: the vectors live as long as the options (ROCKS-2). An empty vector's pointer
        // is dangling but not null, and is never read.
        unsafe {
            ffi::rocksdb_readoptions_set_iterate_lower_bound(self.read_options, self.lower.as_ptr().cast(), self.lower.len());
            ffi::rocksdb_readoptions_set_iterate_upper_bound(self.read_options, self.upper.as_ptr().cast(), self.upper.len());
        }
    }

    /// Adds what the scan has passed in memtables to the database's count. To be called at the end
    /// of a scan by the thread that made it; RocksDB counts per thread.
    pub fn account(&mut self) {
        let steps = std::mem::take(&mut self.steps);
        let hidden = new_memtable_steps().saturating_sub(steps);
        // Most scans meet nothing hidden, and the counter is everybody's.
        if hidden > 0 {
            self.db.hidden_entries.fetch_add(hidden, Ordering::Relaxed);
        }
    }

    pub fn seek(&mut self, key: &[u8]) {
        // SAFETY: the key is valid for the call.
        unsafe { ffi::rocksdb_iter_seek(self.iter, key.as_ptr().cast(), key.len()) }
        self.arrive();
    }

    /// To the last key of the bounds.
    pub fn seek_to_last(&mut self) {
        // SAFETY: `iter` is live.
        unsafe { ffi::rocksdb_iter_seek_to_last(self.iter) }
        self.arrive();
    }

    #[inline]
    pub fn next(&mut self) {
        if !self.valid() {
            return;
        }
        // SAFETY: `iter` is live and valid.
        unsafe { ffi::rocksdb_iter_next(self.iter) }
        self.arrive();
    }

    #[inline]
    pub fn prev(&mut self) {
        if !self.valid() {
            return;
        }
        // SAFETY: `iter` is live and valid.
        unsafe { ffi::rocksdb_iter_prev(self.iter) }
        self.arrive();
    }

    #[inline]
    fn arrive(&mut self) {
        self.steps += 1;
        // SAFETY: `iter` is live; key and value are asked of a valid one.
        self.entry = unsafe {
            (ffi::rocksdb_iter_valid(self.iter) != 0)
                .then(|| (ffi::rocksdb_iter_key_slice(self.iter), ffi::rocksdb_iter_value_slice(self.iter)))
        };
    }

    #[inline]
    pub fn valid(&self) -> bool {
        self.entry.is_some()
    }

    /// What ended the iteration, if it was not the end of the range.
    pub fn status(&self) -> Result<()> {
        // SAFETY: `iter` is live.
        checked(|err| unsafe { ffi::rocksdb_iter_get_error(self.iter, err) })
    }

    /// Key and value of a valid iterator, and nothing of others.
    #[inline]
    pub fn entry(&self) -> (&[u8], &[u8]) {
        let Some((key, value)) = &self.entry else { return (&[], &[]) };
        // SAFETY: the slices stay until the iterator moves, which needs `&mut self`.
        unsafe { (bytes(key), bytes(value)) }
    }

    #[inline]
    pub fn key(&self) -> &[u8] {
        self.entry().0
    }
}

/// # Safety
/// The slice's memory must live as long as what is returned.
#[inline]
unsafe fn bytes<'a>(slice: &ffi::rocksdb_slice_t) -> &'a [u8] {
    if slice.size == 0 {
        return &[];
    }
    // SAFETY: the caller's promise.
    unsafe { std::slice::from_raw_parts(slice.data.cast(), slice.size) }
}

impl Drop for Iter {
    fn drop(&mut self) {
        self.account();
        // SAFETY: destroyed once, the iterator before its options and bounds.
        unsafe {
            ffi::rocksdb_iter_destroy(self.iter);
            ffi::rocksdb_readoptions_destroy(self.read_options);
        }
    }
}

/// Seconds before files of the lowest level are compacted for the sake of old versions alone.
const LOWEST_FILES_REST_S: u32 = 3600;
/// All blocks of a file that is gone are looked for in the cache. RocksDB stops where fewer than 0.99^(this - 1) of them are found; with the 300 that its
/// authors recommend it gave up behind some twenty blocks at the start of a file that are read through spans, and the rest stayed for good.
const UNCACHE_AGGRESSIVENESS: u32 = 100_000;

/// Sets what the safe crate does not wrap.
pub fn set_raw_options(options: &mut rocksdb::Options) {
    // SAFETY: `options` is live; the factory is copied into it and then ours to destroy.
    unsafe {
        let raw = options.as_raw_ptr();
        let factory = ffi::rocksdb_file_checksum_gen_crc32c_factory_create();
        ffi::rocksdb_options_set_file_checksum_gen_factory(raw, factory);
        ffi::rocksdb_file_checksum_gen_factory_destroy(factory);
        // A byte per entry: a flipped bit in a memtable is found with 255 of 256 chances.
        ffi::rocksdb_options_set_memtable_protection_bytes_per_key(raw, 1);
        // Every compaction under load leaves versions in the lowest level that some transaction's snapshot needed. At once, as by
        // default, RocksDB would compact the same files again as soon as that transaction ends.
        ffi::rocksdb_options_set_bottommost_file_compaction_delay(raw, LOWEST_FILES_REST_S);
        // Blocks of files that compaction has replaced leave the cache with them. Else a small table that is written all the time
        // fills the whole cache with blocks that nobody can read any more.
        ffi::rocksdb_options_set_uncache_aggressiveness(raw, UNCACHE_AGGRESSIVENESS);
        // The log holds what the memtables hold: neither stopping nor starting waits for a flush.
        ffi::rocksdb_options_set_avoid_flush_during_shutdown(raw, 1);
        ffi::rocksdb_options_set_avoid_flush_during_recovery(raw, 1);
    }
}

/// RocksDB's performance counters of one thread.
struct PerfContext(*mut ffi::rocksdb_perfcontext_t);

impl Drop for PerfContext {
    fn drop(&mut self) {
        // SAFETY: made in `new_memtable_steps`, destroyed once.
        unsafe { ffi::rocksdb_perfcontext_destroy(self.0) }
    }
}

/// Steps that iterators of this thread made in memtables since the last call on it.
fn new_memtable_steps() -> u64 {
    thread_local! {
        // SAFETY: the context is a handle to counters that live as long as the thread.
        static CONTEXT: PerfContext = PerfContext(unsafe { ffi::rocksdb_perfcontext_create() });
        static SEEN: Cell<u64> = const { Cell::new(0) };
    }
    // SAFETY: the context is live, and the numbers are those of the header it was built with.
    let metric = |n: u32| CONTEXT.try_with(|c| unsafe { ffi::rocksdb_perfcontext_metric(c.0, n as c_int) }).unwrap_or(0);
    let now = metric(ffi::rocksdb_next_on_memtable_count)
        + metric(ffi::rocksdb_prev_on_memtable_count)
        + metric(ffi::rocksdb_seek_on_memtable_count);
    now.saturating_sub(SEEN.replace(now))
}

/// A key below `key`, above almost all that are.
fn below(key: &[u8]) -> Vec<u8> {
    // More bytes than keys have behind what they share with the end of a range of theirs.
    const LAST: [u8; 16] = [0xFF; 16];
    match key.split_last() {
        Some((0, rest)) => rest.to_vec(),
        Some((last, rest)) => [rest, &[last - 1], &LAST].concat(),
        None => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::{RocksError, below};

    #[test]
    fn what_is_below_a_key() {
        assert_eq!(below(&[1, 0]), [1]);
        assert_eq!(below(&[1, 7])[..4], [1, 6, 0xFF, 0xFF]);
        assert!(below(&[1, 7])[..] > [1, 6, 0xFF, 1][..] && below(&[1, 7])[..] < [1, 7][..]);
        assert_eq!(below(&[]), []);
    }

    #[test]
    fn only_appends_to_logs_and_tables_may_be_refused() {
        let file = |text: &str| RocksError(text.into()).file_without_space().map(str::to_string);
        let full = "IO error: No space left on device: While";
        assert_eq!(file(&format!("{full} appending to file: /d/12.log: No space left on device")), Some("/d/12.log".into()));
        assert_eq!(file(&format!("{full} appending to file: /d/12.sst: No space left on device")), Some("/d/12.sst".into()));
        assert_eq!(file(&format!("{full} appending to file: /d/MANIFEST-000005: No space left on device")), None);
        assert_eq!(file(&format!("{full} fdatasync: /d/12.log: No space left on device")), None);
        assert_eq!(file("IO error: While appending to file: /d/12.log: Input/output error"), None);
    }
}
