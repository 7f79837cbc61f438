//! How often a cache had what was asked for. Nothing depends on it.

use std::iter::Sum;
use std::sync::atomic::{AtomicU64, Ordering};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CacheUses {
    pub hits: u64,
    pub misses: u64,
}

impl Sum for CacheUses {
    fn sum<I: Iterator<Item = CacheUses>>(uses: I) -> CacheUses {
        uses.fold(CacheUses::default(), |sum, one| CacheUses { hits: sum.hits + one.hits, misses: sum.misses + one.misses })
    }
}

/// Counted by several threads. These are not the atomics of `base::sync`: the models have nothing to find out about them.
#[derive(Default)]
pub struct UseCounter {
    hits: AtomicU64,
    misses: AtomicU64,
}

impl UseCounter {
    #[inline]
    pub fn count(&self, hits: bool) {
        let counter = if hits { &self.hits } else { &self.misses };
        counter.fetch_add(1, Ordering::Relaxed);
    }

    pub fn add(&self, uses: CacheUses) {
        self.hits.fetch_add(uses.hits, Ordering::Relaxed);
        self.misses.fetch_add(uses.misses, Ordering::Relaxed);
    }

    pub fn get(&self) -> CacheUses {
        CacheUses { hits: self.hits.load(Ordering::Relaxed), misses: self.misses.load(Ordering::Relaxed) }
    }
}
