//! The weights of the Unicode Collation Algorithm, as MySQL's WEIGHT_STRING gives them.
//!
//! A code point has up to three lists of weights: primary (the letter), secondary
//! (accents), tertiary (case). Most have one of each, packed in 32 bits:
//!
//! ```text
//! 0 | primary 16 | secondary 9 | tertiary 5        one weight per level at most (0: none)
//! 1 | offset 31                                    lists at `lists[offset]`: three counts, then the weights
//! 0xFFFF_FFFF                                      computed: Hangul syllables, ideographs, unassigned
//! ```
//!
//! `data/uca*.z`: levels; shapes (the counts of each level); page numbers; a section
//! of shape numbers, 256 per page, 0 for computed; per level a section of weights, each
//! as the difference from the one before.

use std::sync::LazyLock;

use super::blob::{Blob, Reader};
use super::key::Coder;

const COMPUTED: u32 = u32::MAX;
const LISTS: u32 = 1 << 31;
/// More weights of one level than any character has.
pub(super) const WEIGHTS_MAX: usize = 32;

pub(super) struct UcaTable {
    /// By code point / 256: the page's number + 1, or 0 when all of it is computed.
    pages: Vec<u16>,
    entries: Vec<u32>,
    lists: Vec<u16>,
    levels: usize,
    /// UCA 4.0.0 in MySQL knows the basic plane only.
    basic_plane: bool,
    /// Primary weights of ASCII; 0 for ignorable control characters.
    pub(super) ascii: [u16; 128],
    pub(super) coder: Coder,
}

pub(super) static UCA900: LazyLock<UcaTable> = LazyLock::new(|| load(include_bytes!("data/uca900.z"), false, false));
pub(super) static UCA520: LazyLock<UcaTable> = LazyLock::new(|| load(include_bytes!("data/uca520.z"), false, true));
pub(super) static UCA400: LazyLock<UcaTable> = LazyLock::new(|| load(include_bytes!("data/uca400.z"), true, true));

/// The weights of one character at one level.
pub(super) struct Weights {
    pub(super) list: [u16; WEIGHTS_MAX],
    pub(super) count: usize,
}

impl Weights {
    pub(super) fn as_slice(&self) -> &[u16] {
        &self.list[..self.count]
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
        let mut out = Weights { list: [0; WEIGHTS_MAX], count: 0 };
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
            let counts = &self.lists[at..at + 3];
            let skip: usize = counts[..level].iter().map(|n| *n as usize).sum();
            for w in &self.lists[at + 3 + skip..][..counts[level] as usize] {
                out.push(*w);
            }
        }
    }

    /// Since 9.0.0 Hangul syllables weigh what their letters do; the rest is UCA's implicit weight.
    fn compute(&self, cp: u32, level: usize, out: &mut Weights) {
        if self.levels == 3 && (0xAC00..=0xD7A3).contains(&cp) {
            let at = cp - 0xAC00;
            self.add_weights(0x1100 + at / 588, level, out);
            self.add_weights(0x1161 + at % 588 / 28, level, out);
            if !at.is_multiple_of(28) {
                self.add_weights(0x11A7 + at % 28, level, out);
            }
        } else if self.basic_plane && cp > 0xFFFF {
            out.push(0xFFFD);
        } else {
            match level {
                0 => {
                    out.push((self.implicit_base(cp) + (cp >> 15)) as u16);
                    out.push((cp & 0x7FFF | 0x8000) as u16);
                }
                1 => out.push(0x20),
                _ => out.push(0x02),
            }
        }
    }

    /// Unihan characters sort before unassigned ones (UCA, "Implicit Weights"); MySQL's
    /// 5.2.0 does not count those beyond the basic plane among them.
    fn implicit_base(&self, cp: u32) -> u32 {
        match cp {
            0x4E00..=0x9FA5 => 0xFB40,
            0x3400..=0x4DB5 => 0xFB80,
            0x2_0000..=0x2_A6D6 | 0x2_A700..=0x2_B734 | 0x2_B740..=0x2_B81D if self.levels == 3 => 0xFB80,
            _ => 0xFBC0,
        }
    }

    /// Two characters weigh the same on the first `levels` levels, as LIKE compares them.
    /// Characters that the version does not know are the same only as themselves there.
    pub(super) fn same_char(&self, a: u32, b: u32, levels: usize) -> bool {
        if self.basic_plane && a.max(b) > 0xFFFF {
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
        _ => (entry & 0x1F) as u16,
    }
}

fn load(packed: &[u8], basic_plane: bool, pad_space: bool) -> UcaTable {
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
        levels,
        basic_plane,
        ascii: [0; 128],
        coder: Coder::bytes(),
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
    for cp in 0..128 {
        table.ascii[cp] = table.single(cp as u32, 0).unwrap_or(0);
    }
    table.coder = Coder::uca(&table.ascii, pad_space);
    table
}

struct Stream<'a> {
    reader: Reader<'a>,
    last: i32,
}

impl Stream<'_> {
    fn next(&mut self) -> u16 {
        self.last += self.reader.signed();
        self.last as u16
    }
}

impl UcaTable {
    fn read_entry(&mut self, shape: &[usize; 3], streams: &mut [Stream<'_>]) -> u32 {
        if shape.iter().all(|n| *n <= 1) {
            let mut w = [0u32; 3];
            for level in 0..self.levels {
                if shape[level] == 1 {
                    w[level] = u32::from(streams[level].next());
                }
            }
            return w[0] << 14 | (w[1] & 0x1FF) << 5 | w[2] & 0x1F;
        }
        let at = self.lists.len() as u32;
        self.lists.extend(shape.iter().map(|n| *n as u16));
        for level in 0..self.levels {
            for _ in 0..shape[level] {
                self.lists.push(streams[level].next());
            }
        }
        LISTS | at
    }
}
