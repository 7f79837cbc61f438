//! One account of what statements and sessions take, against what the server may take for them.
//!
//! The allocator counts every block of `BLOCK_BYTES_MIN` or more (`allocated`, `freed`): values, packets, rows to be sent, write sets,
//! hash tables, whoever made them. What a statement keeps in small pieces is counted by its `Reserve`, in chunks. Who is about to
//! take much asks first (`ask`, `room`). Example: with 2,900 of 3,000 MB in use REPEAT('a', 60000000) fails with error 1041, while
//! what fits into a few megabytes goes on.
//!
//! * MEM-1: who asks gets no more than a quarter of what is free, because a value is mostly copied: into a result, a packet, a row. So
//!   the biggest asker is the first to fail.
//! * MEM-2: what is small does not ask: a server that has given away its memory still serves short statements.

use std::cell::Cell;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::errno::ER_OUT_OF_RESOURCES;
use crate::{Error, Result};

/// Smaller blocks are not counted one by one, and are not asked for.
pub const BLOCK_BYTES_MIN: usize = 256 << 10;
/// MEM-1.
const PARTS_OF_FREE: usize = 4;
/// A statement's small pieces are counted in chunks of this size.
const CHUNK_BYTES: usize = 4 << 20;

static USED: AtomicUsize = AtomicUsize::new(0);
static BYTES_MAX: AtomicUsize = AtomicUsize::new(usize::MAX);

/// Of the allocator: a block of at least `BLOCK_BYTES_MIN`.
pub fn allocated(bytes: usize) {
    USED.fetch_add(bytes, Ordering::Relaxed);
}

pub fn freed(bytes: usize) {
    USED.fetch_sub(bytes, Ordering::Relaxed);
}

/// What is in the account now.
pub fn used() -> usize {
    USED.load(Ordering::Relaxed)
}

pub fn set_bytes_max(bytes: usize) {
    BYTES_MAX.store(bytes, Ordering::Relaxed);
}

/// What statements and sessions together may take.
pub fn bytes_max() -> usize {
    BYTES_MAX.load(Ordering::Relaxed)
}

/// The most that one asker gets now.
#[inline]
pub fn room() -> usize {
    (BYTES_MAX.load(Ordering::Relaxed).saturating_sub(USED.load(Ordering::Relaxed)) / PARTS_OF_FREE).max(BLOCK_BYTES_MIN)
}

/// Error 1041 if the server has no room for so much.
#[inline]
pub fn ask(bytes: usize) -> Result<()> {
    if bytes <= BLOCK_BYTES_MIN || bytes <= room() {
        return Ok(());
    }
    Err(Error::new(&ER_OUT_OF_RESOURCES, &[]))
}

/// What a statement keeps in small pieces; given back when it ends.
#[derive(Default)]
pub struct Reserve(Cell<usize>);

impl Reserve {
    /// The statement keeps so much now. Error 1041 if the server has no room for it.
    #[inline]
    pub fn cover(&self, bytes: usize) -> Result<()> {
        if bytes <= self.0.get() { Ok(()) } else { self.grow(bytes) }
    }

    /// As `cover`, for what may be kept for long and is mostly little: the first block is not counted, and what is not kept any more
    /// is given back.
    pub fn keep(&self, bytes: usize) -> Result<()> {
        if bytes <= BLOCK_BYTES_MIN {
            freed(self.0.take());
            return Ok(());
        }
        let spare = self.0.get().saturating_sub(bytes) / CHUNK_BYTES * CHUNK_BYTES;
        freed(spare);
        self.0.set(self.0.get() - spare);
        if bytes > self.0.get() {
            ask(bytes - self.0.get())?;
        }
        self.cover(bytes)
    }

    #[cold]
    fn grow(&self, bytes: usize) -> Result<()> {
        let more = (bytes - self.0.get()).next_multiple_of(CHUNK_BYTES);
        // The first chunk is everybody's.
        if self.0.get() > 0 || more > CHUNK_BYTES {
            ask(more)?;
        }
        allocated(more);
        self.0.set(self.0.get() + more);
        Ok(())
    }
}

impl Drop for Reserve {
    fn drop(&mut self) {
        freed(self.0.get());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One test, since there is one account.
    #[test]
    fn the_biggest_asker_fails_first() {
        set_bytes_max(400 << 20);
        assert!(ask(101 << 20).is_err() && ask(99 << 20).is_ok());
        allocated(380 << 20);
        assert!(ask(6 << 20).is_err() && ask(4 << 20).is_ok());
        allocated(100 << 20);
        assert!(ask(1 << 20).is_err() && ask(BLOCK_BYTES_MIN).is_ok());
        let small = Reserve::default();
        assert!(small.cover(1).is_ok() && small.cover(CHUNK_BYTES).is_ok() && small.cover(CHUNK_BYTES + 1).is_err());
        assert!(Reserve::default().cover(CHUNK_BYTES + 1).is_err());
        let kept = Reserve::default();
        assert!(kept.keep(BLOCK_BYTES_MIN).is_ok() && kept.keep(BLOCK_BYTES_MIN * 3).is_err());
        freed(480 << 20);
        assert!(kept.keep(CHUNK_BYTES * 2 + 1).is_ok() && USED.load(Ordering::Relaxed) == CHUNK_BYTES * 3 + CHUNK_BYTES);
        assert!(kept.keep(CHUNK_BYTES).is_ok() && USED.load(Ordering::Relaxed) == CHUNK_BYTES * 2);
        drop(kept);
        assert!(small.cover(CHUNK_BYTES + 1).is_ok());
        drop(small);
        assert_eq!(USED.load(Ordering::Relaxed), 0);
        set_bytes_max(usize::MAX);
    }
}
