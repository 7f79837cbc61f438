//! The weights of the Unicode Collation Algorithm, as MySQL's WEIGHT_STRING gives them.
//!
//! A code point has up to three lists of weights: primary (the letter), secondary
//! (accents), tertiary (case). Most have one of each, packed in 32 bits:
//!
//! ```text
//! 0 | primary 16 | secondary 9 | tertiary 5        one weight per level at most (0: none)
//! 1 | offset 31                                    lists at `lists[offset]`: four counts, then the weights
//! 0xFFFF_FFFF                                      computed: Hangul syllables, ideographs, unassigned
//! ```
//!
//! Tables of languages are copies with changed entries and with strings that weigh as one (see `tailoring`); the
//! characters that such strings begin with have lists, so that a packed entry is always the whole answer.
//!
//! `data/uca*.z`: levels; shapes (the counts of each level); page numbers; a section
//! of shape numbers, 256 per page, 0 for computed; per level a section of weights, each
//! as the difference from the one before.

use std::sync::LazyLock;

use super::blob::{Blob, Reader};
use super::key::Coder;
use super::tailoring::Tailored;

const COMPUTED: u32 = u32::MAX;
const LISTS: u32 = 1 << 31;
/// More weights of one level than any character has.
pub(super) const WEIGHTS_MAX: usize = 32;
/// Letters, accents, case, and the kind of kana in one collation.
pub(super) const LEVELS_MAX: usize = 4;
/// The weights of a character or string, level by level.
pub(super) type Lists = [Vec<u16>; LEVELS_MAX];

/// The version of the UCA, which decides what characters without an entry weigh.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Version {
    /// Knows the basic plane only, in MySQL.
    V400,
    V520,
    V900,
}

pub(super) struct UcaTable {
    /// By code point / 256: the page's number + 1, or 0 when all of it is computed.
    pages: Vec<u16>,
    entries: Vec<u32>,
    lists: Vec<u16>,
    version: Version,
    /// Primary weights of ASCII; 0 for ignorable control characters and for those that have not just one.
    pub(super) ascii: [u16; 128],
    /// Every ASCII character weighs what `ascii` says, whatever is beside it.
    pub(super) ascii_is_plain: bool,
    pub(super) coder: Coder,
    pub(super) tailored: Option<Box<Tailored>>,
}

pub(super) static UCA900: LazyLock<UcaTable> = LazyLock::new(|| load(include_bytes!("data/uca900.z"), Version::V900));
pub(super) static UCA520: LazyLock<UcaTable> = LazyLock::new(|| load(include_bytes!("data/uca520.z"), Version::V520));
pub(super) static UCA400: LazyLock<UcaTable> = LazyLock::new(|| load(include_bytes!("data/uca400.z"), Version::V400));

/// The weights of one character at one level.
pub(super) struct Weights {
    pub(super) list: [u16; WEIGHTS_MAX],
    pub(super) count: usize,
}

impl Weights {
    pub(super) fn as_slice(&self) -> &[u16] {
        &self.list[..self.count]
    }

    fn new() -> Weights {
        Weights { list: [0; WEIGHTS_MAX], count: 0 }
    }

    /// These weights, 0 among them: two accents of Lithuanian have a primary weight of 0, which counts.
    pub(super) fn of(weights: &[u16]) -> Weights {
        let mut out = Weights::new();
        for (to, from) in out.list.iter_mut().zip(weights) {
            *to = *from;
            out.count += 1;
        }
        out
    }

    fn push(&mut self, w: u16) {
        if w != 0 && self.count < WEIGHTS_MAX {
            self.list[self.count] = w;
            self.count += 1;
        }
    }
}

impl UcaTable {
    #[inline]
    fn entry(&self, cp: u32) -> u32 {
        match self.pages.get((cp >> 8) as usize) {
            None | Some(0) => COMPUTED,
            Some(page) => self.entries[(*page as usize - 1) << 8 | (cp & 0xFF) as usize],
        }
    }

    /// The only weight of a character at a level (0: none), if its entry is a packed one.
    #[inline]
    pub(super) fn single(&self, cp: u32, level: usize) -> Option<u16> {
        let entry = self.entry(cp);
        (entry & LISTS == 0).then(|| unpack(entry, level))
    }

    /// All weights of a character at a level.
    pub(super) fn weights(&self, cp: u32, level: usize) -> Weights {
        let mut out = Weights::new();
        self.add_weights(cp, level, &mut out);
        out
    }

    fn add_weights(&self, cp: u32, level: usize, out: &mut Weights) {
        let entry = self.entry(cp);
        if entry == COMPUTED {
            self.compute(cp, level, out);
        } else if entry & LISTS == 0 {
            out.push(unpack(entry, level));
        } else {
            let at = (entry & !LISTS) as usize;
            let counts = &self.lists[at..at + LEVELS_MAX];
            let skip: usize = counts[..level].iter().map(|n| *n as usize).sum();
            for w in &self.lists[at + LEVELS_MAX + skip..][..counts[level] as usize] {
                out.push(*w);
            }
        }
    }

    /// Since 9.0.0 Hangul syllables weigh what their letters do; the rest is UCA's implicit weight.
    fn compute(&self, cp: u32, level: usize, out: &mut Weights) {
        if self.version == Version::V900 && (0xAC00..=0xD7A3).contains(&cp) {
            let at = cp - 0xAC00;
            self.add_weights(0x1100 + at / 588, level, out);
            self.add_weights(0x1161 + at % 588 / 28, level, out);
            if !at.is_multiple_of(28) {
                self.add_weights(0x11A7 + at % 28, level, out);
            }
        } else if self.version == Version::V400 && cp > 0xFFFF {
            out.push(0xFFFD);
        } else {
            let first = (self.implicit_base(cp) + (cp >> 15)) as u16;
            match (level, &self.tailored) {
                (0, tailored) => {
                    match tailored {
                        Some(tailored) => tailored.move_primary(first, |w| out.push(w)),
                        None => out.push(first),
                    }
                    out.push((cp & 0x7FFF | 0x8000) as u16);
                }
                (1, _) => out.push(0x20),
                (2, tailored) => out.push(tailored.as_ref().map_or(0x02, |t| t.tertiary(0x02))),
                _ => (),
            }
        }
    }

    /// Unihan characters sort before unassigned ones (UCA, "Implicit Weights"); MySQL's
    /// 5.2.0 does not count those beyond the basic plane among them.
    fn implicit_base(&self, cp: u32) -> u32 {
        match cp {
            0x4E00..=0x9FA5 => 0xFB40,
            0x3400..=0x4DB5 => 0xFB80,
            0x2_0000..=0x2_A6D6 | 0x2_A700..=0x2_B734 | 0x2_B740..=0x2_B81D if self.version == Version::V900 => 0xFB80,
            _ => 0xFBC0,
        }
    }

    /// Two characters weigh the same on the first `levels` levels, as LIKE compares them.
    /// Characters that the version does not know are the same only as themselves there.
    pub(super) fn same_char(&self, a: u32, b: u32, levels: usize) -> bool {
        if self.version == Version::V400 && a.max(b) > 0xFFFF {
            return a == b;
        }
        a == b || (0..levels).all(|level| self.weights(a, level).as_slice() == self.weights(b, level).as_slice())
    }
}

#[inline]
fn unpack(entry: u32, level: usize) -> u16 {
    match level {
        0 => (entry >> 14) as u16,
        1 => (entry >> 5 & 0x1FF) as u16,
        2 => (entry & 0x1F) as u16,
        _ => 0,
    }
}

/// How tables of languages are made.
impl UcaTable {
    pub(super) fn copy(&self, tailored: Tailored) -> UcaTable {
        UcaTable {
            pages: self.pages.clone(),
            entries: self.entries.clone(),
            lists: self.lists.clone(),
            version: self.version,
            ascii: self.ascii,
            ascii_is_plain: self.ascii_is_plain,
            coder: Coder::bytes(),
            tailored: Some(Box::new(tailored)),
        }
    }

    /// All weights of a character.
    pub(super) fn lists(&self, cp: u32) -> Lists {
        std::array::from_fn(|level| self.weights(cp, level).as_slice().to_vec())
    }

    /// Replaces every entry that is not computed.
    pub(super) fn change_entries(&mut self, change: impl Fn(Lists) -> Lists) {
        for page in 0..self.pages.len() as u32 {
            for cp in page << 8..(page + 1) << 8 {
                if self.entry(cp) != COMPUTED {
                    self.set(cp, &change(self.lists(cp)));
                }
            }
        }
    }

    pub(super) fn set(&mut self, cp: u32, lists: &Lists) {
        let one = |level: usize| u32::from(lists[level].first().copied().unwrap_or(0));
        let entry = one(0) << 14 | one(1) << 5 | one(2);
        let fits = one(1) <= 0x1FF && one(2) <= 0x1F && lists[3].is_empty() && lists.iter().all(|l| l.len() <= 1);
        if fits { self.set_entry(cp, entry) } else { self.set_lists(cp, lists) }
    }

    /// Like `set`, but never as a packed entry: what the character weighs depends on those beside it.
    pub(super) fn set_lists(&mut self, cp: u32, lists: &Lists) {
        let at = self.lists.len() as u32;
        self.lists.extend(lists.iter().map(|l| l.len() as u16));
        self.lists.extend(lists.iter().flatten());
        self.set_entry(cp, LISTS | at);
    }

    fn set_entry(&mut self, cp: u32, entry: u32) {
        let Some(page) = self.pages.get_mut((cp >> 8) as usize) else { return };
        if *page == 0 {
            *page = (self.entries.len() >> 8) as u16 + 1;
            self.entries.resize(self.entries.len() + 256, COMPUTED);
        }
        self.entries[(*page as usize - 1) << 8 | (cp & 0xFF) as usize] = entry;
    }

    /// To be called when all entries are there.
    pub(super) fn finish(mut self) -> UcaTable {
        let single: [Option<u16>; 128] = std::array::from_fn(|cp| self.single(cp as u32, 0));
        self.ascii = single.map(|w| w.unwrap_or(0));
        self.ascii_is_plain = single.iter().all(|w| w.is_some());
        self.coder = Coder::uca(&self.ascii, self.version != Version::V900);
        self
    }
}

fn load(packed: &[u8], version: Version) -> UcaTable {
    let blob = Blob::inflate(packed);
    let mut r = blob.reader();
    let levels = r.u8().clamp(1, 3) as usize;
    let shapes: Vec<[usize; 3]> = (0..r.varint())
        .map(|_| {
            let mut shape = [0; 3];
            shape[..levels].fill_with(|| r.u8() as usize);
            shape
        })
        .collect();
    let mut pages = vec![0u16; 0x1100];
    let mut page = 0;
    let count = r.varint() as u16;
    for number in 1..=count {
        page += r.varint() as usize;
        if let Some(p) = pages.get_mut(page) {
            *p = number;
        }
    }
    let mut table = UcaTable {
        pages,
        entries: Vec::with_capacity(count as usize * 256),
        lists: Vec::new(),
        version,
        ascii: [0; 128],
        ascii_is_plain: true,
        coder: Coder::bytes(),
        tailored: None,
    };
    let mut kinds = r.section();
    let mut streams: Vec<Stream> = (0..levels).map(|_| Stream { reader: r.section(), last: 0 }).collect();
    for _ in 0..count as usize * 256 {
        let entry = match kinds.u8() {
            0 => COMPUTED,
            kind => table.read_entry(shapes.get(kind as usize - 1).unwrap_or(&[0; 3]), &mut streams),
        };
        table.entries.push(entry);
    }
    table.finish()
}

/// Weights of one level, each as the difference from the one before.
pub(super) struct Stream<'a> {
    pub(super) reader: Reader<'a>,
    pub(super) last: i32,
}

impl Stream<'_> {
    pub(super) fn next(&mut self) -> u16 {
        self.last += self.reader.signed();
        self.last as u16
    }
}

impl UcaTable {
    fn read_entry(&mut self, shape: &[usize; 3], streams: &mut [Stream<'_>]) -> u32 {
        if shape.iter().all(|n| *n <= 1) {
            let mut w = [0u32; 3];
            for (level, stream) in streams.iter_mut().enumerate() {
                if shape[level] == 1 {
                    w[level] = u32::from(stream.next());
                }
            }
            return w[0] << 14 | (w[1] & 0x1FF) << 5 | w[2] & 0x1F;
        }
        let at = self.lists.len() as u32;
        self.lists.extend(shape.iter().chain(&[0]).map(|n| *n as u16));
        for (level, stream) in streams.iter_mut().enumerate() {
            for _ in 0..shape[level] {
                self.lists.push(stream.next());
            }
        }
        LISTS | at
    }
}
