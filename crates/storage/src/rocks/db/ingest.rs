//! Files of sorted writes that become part of the data in one step, and writes that no crash has to survive.

use std::collections::BTreeMap;
use std::ffi::c_char;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use librocksdb_sys as ffi;
use parking_lot::Mutex;
use rocksdb::AsRawPtr;

use super::{Db, Family, Result, RocksError, Snapshot, c_path, checked};
use crate::base::kill_points::kill_point;

/// Writes one file: keys ascend, each is given once.
struct FileWriter {
    writer: *mut ffi::rocksdb_sstfilewriter_t,
    env: *mut ffi::rocksdb_envoptions_t,
    path: PathBuf,
    /// The writer reads the database's options.
    _db: Arc<Db>,
}

// SAFETY: used through `&mut self`, and RocksDB's writer belongs to no thread.
unsafe impl Send for FileWriter {}

impl FileWriter {
    fn create(db: &Arc<Db>, path: &Path) -> Result<FileWriter> {
        let name = c_path(path)?;
        // SAFETY: the options live in `_db`; what is created is destroyed in `drop`.
        unsafe {
            let env = ffi::rocksdb_envoptions_create();
            let writer = ffi::rocksdb_sstfilewriter_create(env, db.options.data.as_raw_ptr());
            let file = FileWriter { writer, env, path: path.to_path_buf(), _db: Arc::clone(db) };
            checked(|err| ffi::rocksdb_sstfilewriter_open(writer, name.as_ptr(), err))?;
            Ok(file)
        }
    }

    /// A value, or `None` for a deleted key.
    fn add(&mut self, key: &[u8], write: Option<&[u8]>) -> Result<()> {
        let (bytes, len) = (key.as_ptr().cast(), key.len());
        // SAFETY: key and value are valid for the call.
        checked(|err| unsafe {
            match write {
                Some(v) => ffi::rocksdb_sstfilewriter_put(self.writer, bytes, len, v.as_ptr().cast(), v.len(), err),
                None => ffi::rocksdb_sstfilewriter_delete(self.writer, bytes, len, err),
            }
        })
    }

    fn bytes(&self) -> u64 {
        let mut bytes = 0;
        // SAFETY: `writer` is live.
        unsafe { ffi::rocksdb_sstfilewriter_file_size(self.writer, &mut bytes) }
        bytes
    }

    /// The file is complete and synced; at least one key was added.
    fn finish(self) -> Result<PathBuf> {
        // SAFETY: `writer` is live.
        checked(|err| unsafe { ffi::rocksdb_sstfilewriter_finish(self.writer, err) })?;
        Ok(self.path.clone())
    }
}

impl Drop for FileWriter {
    fn drop(&mut self) {
        // SAFETY: destroyed once.
        unsafe {
            ffi::rocksdb_sstfilewriter_destroy(self.writer);
            ffi::rocksdb_envoptions_destroy(self.env);
        }
    }
}

/// Sorted files in a directory of their own, to be committed together; the directory goes with them.
pub struct SortedFiles {
    db: Arc<Db>,
    dir: PathBuf,
    /// Files begun.
    begun: AtomicUsize,
    /// Files that are complete.
    paths: Mutex<Vec<PathBuf>>,
    /// Writes in them.
    writes: AtomicU64,
}

/// Writes some of the files, of keys that no other writer has; several threads may each have one.
pub struct SortedWriter<'f> {
    files: &'f SortedFiles,
    writer: Option<FileWriter>,
    /// Of the file that is begun.
    writes: u64,
}

/// Bytes of one file.
const FILE_BYTES: u64 = 64 << 20;
/// Tries to ingest beside flushes that others have begun.
const TRIES_MAX: usize = 100;

impl SortedFiles {
    /// In the new directory `dir`, on the file system of the database.
    pub fn create(db: &Arc<Db>, dir: &Path) -> Result<SortedFiles> {
        std::fs::create_dir_all(dir).map_err(|e| RocksError(format!("IO error: {e}: {}", dir.display())))?;
        Ok(SortedFiles {
            db: Arc::clone(db),
            dir: dir.to_path_buf(),
            begun: AtomicUsize::new(0),
            paths: Mutex::default(),
            writes: AtomicU64::new(0),
        })
    }

    pub fn writer(&self) -> SortedWriter<'_> {
        SortedWriter { files: self, writer: None, writes: 0 }
    }

    /// How many writes the complete files have.
    pub fn writes(&self) -> u64 {
        self.writes.load(Ordering::Relaxed)
    }

    /// Adds a file of keys below all others; they come in any order, and the last write of a key counts.
    pub fn add_first<'w>(&mut self, writes: impl Iterator<Item = (&'w [u8], Option<&'w [u8]>)>) -> Result<()> {
        let sorted: BTreeMap<_, _> = writes.collect();
        let mut writer = self.writer();
        sorted.into_iter().try_for_each(|(key, write)| writer.add(key, write))?;
        writer.finish()
    }
}

impl SortedWriter<'_> {
    /// Keys ascend.
    pub fn add(&mut self, key: &[u8], write: Option<&[u8]>) -> Result<()> {
        let writer = match &mut self.writer {
            Some(writer) => writer,
            None => {
                let number = self.files.begun.fetch_add(1, Ordering::Relaxed);
                let writer = FileWriter::create(&self.files.db, &self.files.dir.join(format!("{number}.sst")))?;
                self.writer.insert(writer)
            }
        };
        writer.add(key, write)?;
        self.writes += 1;
        if writer.bytes() >= FILE_BYTES { self.finish() } else { Ok(()) }
    }

    /// Completes the last file.
    pub fn finish(&mut self) -> Result<()> {
        if let Some(writer) = self.writer.take() {
            self.files.writes.fetch_add(std::mem::take(&mut self.writes), Ordering::Relaxed);
            self.files.paths.lock().push(writer.finish()?);
        }
        Ok(())
    }
}

impl Drop for SortedFiles {
    fn drop(&mut self) {
        // What stays is removed at the next start.
        let _ = std::fs::remove_dir_all(&self.dir);
    }
}

impl Db {
    /// Makes the files part of the data: after a crash either all of them are or none. No key may be in two files. The files are moved.
    ///
    /// They take a sequence number that no log has. Recovery goes on from a log to the next one only if the numbers do; so the
    /// memtables are written to files first, and until the files are in nobody writes: the number lies before the first record
    /// of the oldest log that is needed, or between two of one log.
    ///
    /// The last number that is taken is returned with it.
    pub fn ingest(self: &Arc<Db>, files: SortedFiles) -> (Result<()>, u64) {
        self.take_numbers(|| self.ingest_alone(files))
    }

    fn ingest_alone(self: &Arc<Db>, files: SortedFiles) -> Result<()> {
        let names = files.paths.lock().iter().map(|path| c_path(path)).collect::<Result<Vec<_>>>()?;
        if names.is_empty() {
            return Ok(());
        }
        let pointers: Vec<*const c_char> = names.iter().map(|name| name.as_ptr()).collect();
        // While a snapshot exists RocksDB gives the files a sequence number of their own, above all others. Without, it may give them
        // 0, and then nothing that compares sequence numbers (`Recent`, shared snapshots) would notice that the data changed.
        let _number = Snapshot::new(self);
        let _alone = self.writes.write();
        // ROCKS-6, for whoever begins to read while the files become part of the data.
        self.ingestions.fetch_add(1, Ordering::AcqRel);
        let done = self.flush_and_ingest(&pointers);
        self.ingestions.fetch_add(1, Ordering::AcqRel);
        done
    }

    fn flush_and_ingest(&self, names: &[*const c_char]) -> Result<()> {
        let mut tries = 1;
        loop {
            self.flush_memtables()?;
            kill_point("ingest.flushed");
            match self.try_ingest(names) {
                // Nothing was done: it met a flush that had begun before.
                Err(e) if e.is_try_again() && tries < TRIES_MAX => tries += 1,
                done => return done,
            }
        }
    }

    fn try_ingest(&self, names: &[*const c_char]) -> Result<()> {
        // SAFETY: the names are valid for the call; the options are destroyed after it.
        unsafe {
            let options = ffi::rocksdb_ingestexternalfileoptions_create();
            ffi::rocksdb_ingestexternalfileoptions_set_move_files(options, 1);
            let done = checked(|err| {
                ffi::rocksdb_ingest_external_file_cf(
                    self.db,
                    self.handle(Family::Data),
                    names.as_ptr(),
                    names.len(),
                    options,
                    err,
                )
            });
            ffi::rocksdb_ingestexternalfileoptions_destroy(options);
            done
        }
    }
}
