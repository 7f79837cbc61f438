//! The allocator: jemalloc, whose large blocks are counted in `vaquita_types::memory`.

use std::alloc::{GlobalAlloc, Layout};

use tikv_jemallocator::Jemalloc;
use vaquita_types::memory::{BLOCK_BYTES_MIN, allocated, freed};

/// What statements and sessions may take of the memory of the machine or cgroup: an eighth, beside caches and memtables.
const SHARE: u64 = 8;
const BYTES_MIN: u64 = 256 << 20;

/// `global_connection_memory_limit` as it counts: no more than the machine has for it.
pub fn bytes_max(limit: u64) -> usize {
    limit.min((vaquita_storage::memory_bytes() / SHARE).max(BYTES_MIN)) as usize
}

pub struct CountingAllocator;

// SAFETY: every call goes on to jemalloc with the caller's arguments, for which the caller has the same duties; counting touches
// two atomics and allocates nothing.
unsafe impl GlobalAlloc for CountingAllocator {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if layout.size() >= BLOCK_BYTES_MIN {
            allocated(layout.size());
        }
        // SAFETY: as for the whole.
        unsafe { Jemalloc.alloc(layout) }
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        if layout.size() >= BLOCK_BYTES_MIN {
            allocated(layout.size());
        }
        // SAFETY: as for the whole.
        unsafe { Jemalloc.alloc_zeroed(layout) }
    }

    #[inline]
    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        if layout.size() >= BLOCK_BYTES_MIN {
            freed(layout.size());
        }
        // SAFETY: as for the whole.
        unsafe { Jemalloc.dealloc(block, layout) }
    }

    #[inline]
    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        if layout.size() >= BLOCK_BYTES_MIN {
            freed(layout.size());
        }
        if size >= BLOCK_BYTES_MIN {
            allocated(size);
        }
        // SAFETY: as for the whole.
        unsafe { Jemalloc.realloc(block, layout, size) }
    }
}
