//! A database in memory in the place of RocksDB: versions by sequence number, and batches applied one by one.
//!
//! It checks what the pipeline promises it: never two writes at once (COMMIT-1), each synced. Like RocksDB it shows the number of
//! ingested files before the files (ROCKS-5), and others than the pipeline take numbers, too (ROCKS-4).

use std::collections::BTreeMap;
use std::fmt::Display;
use std::sync::Arc;

use vaquita_types::Error;

use crate::base::sync::Mutex;
use crate::base::sync::atomic::{AtomicBool, Ordering};

#[derive(Debug)]
pub struct RocksError(pub String);

impl RocksError {
    /// The stand-in has space.
    pub fn file_without_space(&self) -> Option<&str> {
        None
    }

    pub fn is_earlier_failure(&self) -> bool {
        false
    }
}

pub fn read_error(e: RocksError) -> Error {
    Error::internal(e.0)
}

pub fn disk_full_error(file: &dyn Display) -> Error {
    Error::internal(format!("disk full: {file}"))
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u32)]
pub enum Family {
    Data = 0,
    Catalog = 1,
    Log = 2,
}

/// Sequence number and count, see `commit::records`.
const HEADER_BYTES: usize = 12;

type Versions = Vec<(u64, Option<Vec<u8>>)>;

#[derive(Default)]
struct State {
    sequence: u64,
    settled: u64,
    versions: BTreeMap<(Family, Vec<u8>), Versions>,
}

#[derive(Default)]
pub struct Db {
    state: Mutex<State>,
    writing: AtomicBool,
    numbers: Mutex<()>,
    /// RocksDB's: held while files become part of the data, and by who takes a snapshot.
    installing: Mutex<()>,
}

/// A sequence number up to which changes are seen.
pub struct Snapshot(u64);

impl Snapshot {
    pub fn new(db: &Arc<Db>) -> Snapshot {
        let _installed = db.installing.lock();
        Snapshot(db.latest_sequence())
    }

    pub fn sequence(&self) -> u64 {
        self.0
    }
}

/// What a commit by files writes.
#[derive(Default)]
pub struct SortedFiles {
    writes: Vec<(Vec<u8>, Option<Vec<u8>>)>,
}

impl SortedFiles {
    pub fn add_first<'w>(&mut self, writes: impl Iterator<Item = (&'w [u8], Option<&'w [u8]>)>) -> Result<(), RocksError> {
        self.writes.extend(writes.map(|(key, value)| (key.to_vec(), value.map(<[u8]>::to_vec))));
        Ok(())
    }
}

impl Db {
    pub fn ingest(&self, files: SortedFiles) -> (Result<(), RocksError>, u64) {
        assert!(!self.writing.swap(true, Ordering::SeqCst), "COMMIT-1: two leaders write");
        let _alone = self.numbers.lock();
        let installing = self.installing.lock();
        let sequence = {
            let mut state = self.state.lock();
            state.sequence += 1;
            state.sequence
        };
        let mut state = self.state.lock();
        for (key, value) in files.writes {
            state.versions.entry((Family::Data, key)).or_default().push((sequence, value));
        }
        drop(state);
        drop(installing);
        self.state.lock().settled = sequence;
        self.writing.store(false, Ordering::SeqCst);
        (Ok(()), sequence)
    }

    /// What the housekeeper does when it starts a new log: a write that the pipeline knows nothing of.
    pub fn take_number(&self) {
        let _alone = self.numbers.lock();
        let mut state = self.state.lock();
        state.sequence += 1;
        state.settled = state.sequence;
    }

    pub fn settled_sequence(&self) -> u64 {
        self.state.lock().settled
    }

    pub fn flush_log(&self, _sync: bool) -> Result<(), RocksError> {
        Ok(())
    }

    pub fn latest_sequence(&self) -> u64 {
        self.state.lock().sequence
    }

    pub fn get(&self, family: Family, key: &[u8], at: Option<&Snapshot>, buf: &mut Vec<u8>) -> Result<bool, RocksError> {
        let state = self.state.lock();
        let last = at.map_or(state.sequence, |snapshot| snapshot.0);
        let versions = state.versions.get(&(family, key.to_vec()));
        let version = versions.and_then(|v| v.iter().rev().find(|(sequence, _)| *sequence <= last));
        buf.clear();
        match version {
            Some((_, Some(value))) => {
                buf.extend_from_slice(value);
                Ok(true)
            }
            _ => Ok(false),
        }
    }

    pub fn write(&self, batch: &[u8], sync: bool) -> (Result<(), RocksError>, u64) {
        assert!(!self.writing.swap(true, Ordering::SeqCst), "COMMIT-1: two leaders write");
        let _alone = self.numbers.lock();
        let mut rest = Rest(&batch[HEADER_BYTES..]);
        let mut state = self.state.lock();
        while let Some(tag) = rest.byte() {
            let family = if tag >= 4 { Family::Catalog } else { Family::Data };
            if tag >= 4 {
                assert_eq!(rest.varint(), Family::Catalog as u32);
            }
            let key = rest.slice();
            assert!(sync, "not synced");
            let value = (tag & 1 == 1).then(|| rest.slice());
            state.sequence += 1;
            let sequence = state.sequence;
            state.versions.entry((family, key)).or_default().push((sequence, value));
        }
        let sequence = state.sequence;
        drop(state);
        self.state.lock().settled = sequence;
        self.writing.store(false, Ordering::SeqCst);
        (Ok(()), sequence)
    }
}

/// What of a batch is not applied yet.
struct Rest<'a>(&'a [u8]);

impl Rest<'_> {
    fn byte(&mut self) -> Option<u8> {
        let (first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(*first)
    }

    fn varint(&mut self) -> u32 {
        let (mut n, mut shift) = (0, 0);
        loop {
            let byte = self.byte().expect("a whole varint");
            n |= u32::from(byte & 0x7F) << shift;
            shift += 7;
            if byte < 0x80 {
                return n;
            }
        }
    }

    fn slice(&mut self) -> Vec<u8> {
        let bytes = self.varint() as usize;
        let (slice, rest) = self.0.split_at(bytes);
        self.0 = rest;
        slice.to_vec()
    }
}
