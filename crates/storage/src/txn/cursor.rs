//! A scan over a key range: RocksDB's iterator merged with the transaction's own writes.

use vaquita_types::Result;

use super::{Transaction, Version};

/// `[lower, upper)` in key bytes. An empty `upper` has no bound.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KeyRange {
    pub lower: Vec<u8>,
    pub upper: Vec<u8>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    Forward,
    Backward,
}

#[derive(Clone, Copy, Debug)]
pub struct ScanOptions {
    pub version: Version,
    /// False for scans of whole tables, which would push everything else out of the cache.
    pub fill_cache: bool,
    /// Bytes to read ahead; 0 lets RocksDB find out that the scan is long.
    pub readahead_bytes: usize,
}

impl Default for ScanOptions {
    fn default() -> ScanOptions {
        ScanOptions { version: Version::Snapshot, fill_cache: true, readahead_bytes: 0 }
    }
}

pub struct Cursor {}

impl Cursor {
    /// The next key and value, valid until the next call. The transaction is the one that made
    /// the cursor; writes ahead of the cursor are seen.
    pub fn next<'a>(&'a mut self, txn: &'a Transaction) -> Result<Option<(&'a [u8], &'a [u8])>> {
        let _ = txn;
        todo!()
    }

    /// Starts again on another range, keeping the iterator.
    pub fn reseek(&mut self, range: KeyRange, direction: Direction) {
        let _ = (range, direction);
    }
}
