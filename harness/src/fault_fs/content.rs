//! The bytes of one file: what reads see, and what a power loss leaves.
//!
//! Pages are shared between the two and with copies of the whole file system, and copied when they are written.
//! `dirty` has the pages that were written and not synced since.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::random::Random;

pub const PAGE_BYTES: usize = 4096;
const SECTOR_BYTES: usize = 512;

type Page = Arc<[u8; PAGE_BYTES]>;

/// `None` is a hole, which reads as zeros.
#[derive(Clone, Default)]
struct Bytes {
    pages: Vec<Option<Page>>,
    size: u64,
}

#[derive(Clone, Default)]
pub struct Content {
    live: Bytes,
    durable: Bytes,
    dirty: BTreeSet<usize>,
    allocated: u64,
    /// `live` was dropped.
    unreachable: bool,
}

/// What a power loss leaves of what was not synced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tear {
    /// Nothing.
    Forget,
    /// The pages up to some place, where a page is torn between two sectors.
    Prefix,
    /// Some pages, some sectors of others.
    Scatter,
    /// The new size with none of the new bytes.
    SizeOnly,
}

impl Content {
    pub fn size(&self) -> u64 {
        self.live.size
    }

    /// Pages that take space.
    pub fn pages(&self) -> u64 {
        self.allocated
    }

    /// Pages that a write would allocate.
    pub fn pages_missing(&self, offset: u64, bytes: usize) -> u64 {
        let is_hole = |page: &usize| self.live.pages.get(*page).is_none_or(Option::is_none);
        page_range(offset, bytes).filter(is_hole).count() as u64
    }

    pub fn read(&self, offset: u64, bytes: usize) -> Vec<u8> {
        self.live.read(offset, bytes)
    }

    pub fn write(&mut self, offset: u64, data: &[u8]) {
        self.allocated += self.pages_missing(offset, data.len());
        self.live.write(offset, data);
        self.dirty.extend(page_range(offset, data.len()));
    }

    pub fn truncate(&mut self, size: u64) {
        let kept = size.div_ceil(PAGE_BYTES as u64) as usize;
        self.dirty.extend(kept..self.live.pages.len());
        if !size.is_multiple_of(PAGE_BYTES as u64) && size < self.live.size {
            self.dirty.insert(kept - 1);
        }
        self.live.resize(size);
        self.allocated = self.live.pages.iter().flatten().count() as u64;
    }

    /// What is written now survives.
    pub fn sync(&mut self) {
        for page in std::mem::take(&mut self.dirty) {
            self.durable.set(page, self.live.page(page));
        }
        self.durable.resize(self.live.size);
    }

    /// A sync that failed: Linux takes the pages for clean afterwards, so that no later sync writes them.
    pub fn fail_sync(&mut self) {
        self.dirty.clear();
    }

    /// The file has no name and nobody has it open: only what is durable may come back.
    pub fn drop_live(&mut self) {
        self.live = Bytes::default();
        self.dirty.clear();
        self.allocated = 0;
        self.unreachable = true;
    }

    pub fn lose_power(&mut self, tear: Tear, random: &mut Random) {
        let tear = if std::mem::take(&mut self.unreachable) { Tear::Forget } else { tear };
        let dirty: Vec<usize> = std::mem::take(&mut self.dirty).into_iter().collect();
        let kept = random.below(dirty.len() as u64 + 1) as usize;
        for (n, page) in dirty.into_iter().enumerate() {
            let sectors = match tear {
                Tear::Forget | Tear::SizeOnly => 0,
                Tear::Prefix if n < kept => u8::MAX,
                Tear::Prefix if n == kept => ((1u32 << random.below(8)) - 1) as u8,
                Tear::Prefix => 0,
                Tear::Scatter => match random.below(3) {
                    0 => 0,
                    1 => u8::MAX,
                    _ => random.next() as u8,
                },
            };
            self.keep_sectors(page, sectors);
        }
        let (old, new) = (self.durable.size, self.live.size);
        let size = match tear {
            Tear::Forget => old,
            Tear::SizeOnly => new,
            _ => old.min(new) + random.below(old.abs_diff(new) + 1),
        };
        self.durable.resize(size);
        self.live = self.durable.clone();
        self.allocated = self.live.pages.iter().flatten().count() as u64;
    }

    /// Makes those sectors of the page durable whose bits are set.
    fn keep_sectors(&mut self, page: usize, sectors: u8) {
        if sectors == 0 {
            return;
        }
        let new = self.live.page(page);
        let zeros = || Arc::new([0; PAGE_BYTES]);
        let mut old = self.durable.page(page).unwrap_or_else(zeros);
        let (from, to) = (new.unwrap_or_else(zeros), Arc::make_mut(&mut old));
        for (sector, bytes) in to.chunks_mut(SECTOR_BYTES).enumerate().filter(|(n, _)| sectors & (1 << n) != 0) {
            bytes.copy_from_slice(&from[sector * SECTOR_BYTES..][..SECTOR_BYTES]);
        }
        self.durable.set(page, Some(old));
    }

    /// The pages that hold anything but zeros.
    pub fn pages_in_use(&self) -> Vec<usize> {
        let in_use = |page: &Option<Page>| page.as_ref().is_some_and(|page| page.iter().any(|byte| *byte != 0));
        (0..self.live.pages.len()).filter(|n| in_use(&self.live.pages[*n])).collect()
    }

    /// Damages a byte, synced and unsynced.
    pub fn flip(&mut self, offset: u64, mask: u8) {
        let byte: Vec<u8> = self.read(offset, 1).iter().map(|byte| byte ^ mask).collect();
        self.live.write(offset, &byte);
        self.durable.write(offset, &byte);
    }
}

impl Bytes {
    fn page(&self, page: usize) -> Option<Page> {
        self.pages.get(page).cloned().flatten()
    }

    fn set(&mut self, page: usize, bytes: Option<Page>) {
        if page >= self.pages.len() {
            self.pages.resize(page + 1, None);
        }
        self.pages[page] = bytes;
    }

    fn read(&self, offset: u64, bytes: usize) -> Vec<u8> {
        let end = (offset + bytes as u64).min(self.size);
        let mut out = Vec::with_capacity(end.saturating_sub(offset) as usize);
        let mut at = offset;
        while at < end {
            let (page, within) = ((at / PAGE_BYTES as u64) as usize, (at % PAGE_BYTES as u64) as usize);
            let count = (PAGE_BYTES - within).min((end - at) as usize);
            match self.pages.get(page).and_then(Option::as_ref) {
                Some(page) => out.extend_from_slice(&page[within..within + count]),
                None => out.resize(out.len() + count, 0),
            }
            at += count as u64;
        }
        out
    }

    fn write(&mut self, offset: u64, mut data: &[u8]) {
        let mut at = offset;
        self.size = self.size.max(offset + data.len() as u64);
        while !data.is_empty() {
            let (page, within) = ((at / PAGE_BYTES as u64) as usize, (at % PAGE_BYTES as u64) as usize);
            let (now, rest) = data.split_at((PAGE_BYTES - within).min(data.len()));
            if page >= self.pages.len() {
                self.pages.resize(page + 1, None);
            }
            let bytes = self.pages[page].get_or_insert_with(|| Arc::new([0; PAGE_BYTES]));
            Arc::make_mut(bytes)[within..within + now.len()].copy_from_slice(now);
            at += now.len() as u64;
            data = rest;
        }
    }

    /// Bytes beyond the new size are gone, and read as zeros if the file grows again.
    fn resize(&mut self, size: u64) {
        let pages = size.div_ceil(PAGE_BYTES as u64) as usize;
        self.pages.truncate(pages);
        let within = (size % PAGE_BYTES as u64) as usize;
        if within > 0
            && let Some(Some(last)) = self.pages.get_mut(pages - 1)
            && last[within..].iter().any(|byte| *byte != 0)
        {
            Arc::make_mut(last)[within..].fill(0);
        }
        self.size = size;
    }
}

fn page_range(offset: u64, bytes: usize) -> std::ops::Range<usize> {
    let end = (offset + bytes as u64).div_ceil(PAGE_BYTES as u64);
    (offset / PAGE_BYTES as u64) as usize..end as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file() -> Content {
        let mut file = Content::default();
        file.write(0, &[1; 5000]);
        file.sync();
        file.write(4000, &[2; 6000]);
        file
    }

    #[test]
    fn what_was_synced_survives_and_nothing_else_must() {
        let mut forgets = file();
        forgets.lose_power(Tear::Forget, &mut Random::new(1));
        assert_eq!(forgets.read(0, 20_000), vec![1; 5000]);
        for (seed, tear) in (0..200).flat_map(|seed| [(seed, Tear::Prefix), (seed, Tear::Scatter), (seed, Tear::SizeOnly)]) {
            let mut torn = file();
            torn.lose_power(tear, &mut Random::new(seed));
            let bytes = torn.read(0, 20_000);
            assert!((5000..=10_000).contains(&bytes.len()) && bytes.len() as u64 == torn.size());
            assert_eq!(bytes[..4000], [1; 4000]);
            assert!(bytes[4000..5000].iter().all(|byte| [1, 2].contains(byte)));
            assert!(bytes[5000..].iter().all(|byte| [0, 2].contains(byte)));
        }
        let mut synced = file();
        synced.sync();
        synced.lose_power(Tear::Scatter, &mut Random::new(1));
        assert_eq!(synced.read(3999, 3), [1, 2, 2]);
        assert_eq!(synced.size(), 10_000);
    }

    #[test]
    fn a_failed_sync_loses_its_pages_even_if_the_next_succeeds() {
        let mut file = file();
        file.fail_sync();
        assert_eq!(file.read(4000, 1), [2]);
        file.sync();
        file.lose_power(Tear::Scatter, &mut Random::new(1));
        assert_eq!(file.read(4000, 1), [1]);
        assert_eq!(file.size(), 10_000);
    }

    #[test]
    fn truncation_is_lost_unless_synced() {
        let mut file = file();
        file.sync();
        file.truncate(10);
        assert_eq!((file.size(), file.pages(), file.read(0, 99).len()), (10, 1, 10));
        file.write(20, &[3]);
        assert_eq!(file.read(10, 99), [[0; 10].as_slice(), &[3]].concat());
        file.lose_power(Tear::Forget, &mut Random::new(1));
        assert_eq!(file.size(), 10_000);
        file.truncate(10);
        file.sync();
        file.lose_power(Tear::Forget, &mut Random::new(1));
        assert_eq!(file.size(), 10);
    }
}
