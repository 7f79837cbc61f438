//! The allocator: jemalloc, whose large blocks are counted in `vaquita_types::memory`.

use std::alloc::{GlobalAlloc, Layout};

use tikv_jemallocator::Jemalloc;
use vaquita_types::memory::{BLOCK_BYTES_MIN, allocated, freed};

pub struct CountingAllocator;

// SAFETY: every call goes on to jemalloc with the caller's arguments, for which the caller has the same duties; counting touches
// two atomics and allocates nothing.
unsafe impl GlobalAlloc for CountingAllocator {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as for the whole, here and in what follows.
        unsafe { if layout.size() < BLOCK_BYTES_MIN { Jemalloc.alloc(layout) } else { large(layout) } }
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        if layout.size() >= BLOCK_BYTES_MIN {
            allocated(layout.size());
        }
        unsafe { Jemalloc.alloc_zeroed(layout) }
    }

    #[inline]
    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        unsafe { if layout.size() < BLOCK_BYTES_MIN { Jemalloc.dealloc(block, layout) } else { free_large(block, layout) } }
    }

    #[inline]
    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        unsafe {
            match layout.size().max(size) < BLOCK_BYTES_MIN {
                true => Jemalloc.realloc(block, layout, size),
                false => realloc_large(block, layout, size),
            }
        }
    }
}

// Apart, so that small blocks cost a comparison and a jump: counted in line they cost an update 2% of its instructions.

#[cold]
#[inline(never)]
unsafe fn large(layout: Layout) -> *mut u8 {
    allocated(layout.size());
    // SAFETY: as for the caller.
    unsafe { Jemalloc.alloc(layout) }
}

#[cold]
#[inline(never)]
unsafe fn free_large(block: *mut u8, layout: Layout) {
    freed(layout.size());
    // SAFETY: as for the caller.
    unsafe { Jemalloc.dealloc(block, layout) }
}

#[cold]
#[inline(never)]
unsafe fn realloc_large(block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
    if layout.size() >= BLOCK_BYTES_MIN {
        freed(layout.size());
    }
    if size >= BLOCK_BYTES_MIN {
        allocated(size);
    }
    // SAFETY: as for the caller.
    unsafe { Jemalloc.realloc(block, layout, size) }
}
