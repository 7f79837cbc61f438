//! The family of the binary log, for the stage of commits that writes it and for its readers.

use std::sync::Arc;

use vaquita_types::Result;

use super::{Db, Family, Iter, IterOptions, read_error, write_error};

/// A reader takes block after block.
const READAHEAD_BYTES: usize = 256 << 10;

#[derive(Clone)]
pub struct LogStore {
    db: Arc<Db>,
}

impl LogStore {
    pub(crate) fn new(db: Arc<Db>) -> LogStore {
        LogStore { db }
    }

    /// What is committed under a key of any family.
    pub fn get(&self, family: Family, key: &[u8]) -> Result<Option<Vec<u8>>> {
        let mut buf = Vec::new();
        let found = self.db.get(family, key, None, &mut buf).map_err(read_error)?;
        Ok(found.then_some(buf))
    }

    /// Writes a batch of `Records` beside commits: what has no meaning until a commit gives it one.
    pub fn write(&self, batch: &[u8], sync: bool) -> Result<()> {
        self.db.write(batch, sync).0.map_err(write_error)
    }

    /// Of what is committed now, from `lower` to before `upper`.
    pub fn cursor(&self, lower: &[u8], upper: &[u8]) -> LogCursor {
        let options = IterOptions { fill_cache: false, readahead_bytes: READAHEAD_BYTES };
        let mut iter = Iter::new(&self.db, Family::Log, None, options);
        iter.set_bounds(lower, upper);
        LogCursor { iter }
    }

    /// Removes what lies within `[lower, upper)`: whole files at once.
    pub fn delete_range(&self, lower: &[u8], upper: &[u8]) -> Result<()> {
        self.db.delete_range(Family::Log, lower, upper).map_err(write_error)
    }
}

/// Goes through entries of the log.
pub struct LogCursor {
    iter: Iter,
}

impl LogCursor {
    /// To the first key from this one on.
    pub fn seek(&mut self, key: &[u8]) -> Result<Option<(&[u8], &[u8])>> {
        self.iter.seek(key);
        self.entry()
    }

    /// To the last key.
    pub fn seek_to_last(&mut self) -> Result<Option<(&[u8], &[u8])>> {
        self.iter.seek_to_last();
        self.entry()
    }

    pub fn advance(&mut self) -> Result<Option<(&[u8], &[u8])>> {
        self.iter.next();
        self.entry()
    }

    fn entry(&mut self) -> Result<Option<(&[u8], &[u8])>> {
        if !self.iter.valid() {
            self.iter.status().map_err(read_error)?;
            return Ok(None);
        }
        Ok(Some(self.iter.entry()))
    }
}
