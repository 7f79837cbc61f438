//! What a statement keeps in memory, counted.
//!
//! A `Kept` lives in what it counts: whoever drops that gives the memory back. An operator that is made anew for each row outside, as under
//! LATERAL, has nothing to remember.

use std::cell::OnceCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use vaquita_types::Result;

use super::Execution;

/// The bytes that one statement keeps. One thread changes it at a time: a part of a statement has its own.
#[derive(Default)]
pub(crate) struct Memory(OnceCell<Arc<AtomicUsize>>);

impl Memory {
    pub fn bytes(&self) -> usize {
        self.0.get().map_or(0, |bytes| bytes.load(Ordering::Relaxed))
    }

    /// Returns what it is then.
    pub fn add(&self, bytes: usize) -> usize {
        let count = self.count();
        let total = count.load(Ordering::Relaxed) + bytes;
        count.store(total, Ordering::Relaxed);
        total
    }

    fn count(&self) -> &Arc<AtomicUsize> {
        self.0.get_or_init(Arc::default)
    }
}

/// Bytes that something keeps of a statement's memory.
#[derive(Default)]
pub struct Kept {
    bytes: usize,
    of: Option<Arc<AtomicUsize>>,
}

impl Kept {
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Error 1041 when the statement has too much, or all together.
    pub fn add(&mut self, bytes: usize, statement: &Execution<'_>) -> Result<()> {
        if self.of.is_none() {
            self.of = Some(Arc::clone(statement.memory.count()));
        }
        self.bytes += bytes;
        statement.keep_bytes(bytes)
    }

    /// So many bytes are kept now.
    pub fn set(&mut self, bytes: usize, statement: &Execution<'_>) -> Result<()> {
        match bytes.checked_sub(self.bytes) {
            Some(more) => self.add(more, statement),
            None => {
                self.shrink(bytes);
                Ok(())
            }
        }
    }

    /// Gives back all but `bytes`.
    pub fn shrink(&mut self, bytes: usize) {
        let free = self.bytes.saturating_sub(bytes);
        self.bytes -= free;
        if let Some(of) = &self.of {
            of.store(of.load(Ordering::Relaxed).saturating_sub(free), Ordering::Relaxed);
        }
    }

    pub fn clear(&mut self) {
        self.shrink(0);
    }

    /// Counts for `statement` what a part of it has kept.
    pub fn adopt(&mut self, statement: &Execution<'_>) -> Result<()> {
        let bytes = self.bytes;
        self.clear();
        self.of = None;
        self.add(bytes, statement)
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        self.clear();
    }
}
