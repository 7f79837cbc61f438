//! Sort keys: bytes whose memcmp order is the collation's order.
//!
//! A `Coder` gives each weight a code of one to three bytes so that codes are in the
//! order of weights and none begins another. Codes of a string's weights, one
//! after the other, then compare as the weights do. ASCII letters, digits and signs
//! get one byte each, half of what MySQL's weight strings take:
//!
//! ```text
//! weights of ASCII ("short")       one byte
//! the gaps between them            a leading byte, then 1 byte (gap ≤ 256 wide) or 2
//! the widest gap                   all leading bytes left over: 2 bytes for its first part, 3 for the rest
//! ```
//!
//! PAD SPACE: a string compares as if endless spaces followed, so 'a\t' < 'a' = 'a ' < 'a!'.
//! A run of k spaces is held back until what follows it is known, and becomes
//!
//! ```text
//! LESS k        followed by a weight below space's; ascending k
//! END           followed by nothing, whatever k is
//! GREATER ~k    followed by a weight above space's; descending k
//! ```
//!
//! with LESS < END < GREATER in the place of space's code. k - 1 is written in base
//! 255: 0xFF for each 255, then the rest; GREATER's bytes are inverted.
//!
//! Levels: codes of primary weights, 0, secondary weights, 0, tertiary weights. A weight
//! of the lower levels is one byte, or 0xFF and one byte from 0xFF up, or 0xFF, 0xFF and two bytes from 0x1FF up.
//!
//! Stored indexes hold these keys: neither the weights nor the codes may ever change.

/// Receives the bytes of a key: a buffer, or a hash that needs none.
pub(super) trait Sink {
    fn byte(&mut self, b: u8);

    /// Each byte replaced by its entry, up to the first byte with none or 0; returns how many.
    fn mapped(&mut self, bytes: &[u8], table: &[u8; 256]) -> usize {
        for (at, b) in bytes.iter().enumerate() {
            match table[*b as usize] {
                0 => return at,
                code => self.byte(code),
            }
        }
        bytes.len()
    }
}

impl Sink for Vec<u8> {
    #[inline]
    fn byte(&mut self, b: u8) {
        self.push(b);
    }

    /// Maps everything and then looks for the end: a fifth of the time of asking byte by byte.
    #[inline]
    fn mapped(&mut self, bytes: &[u8], table: &[u8; 256]) -> usize {
        let start = self.len();
        self.resize(start + bytes.len(), 0);
        let codes = &mut self[start..];
        for (code, byte) in codes.iter_mut().zip(bytes) {
            *code = table[*byte as usize];
        }
        let count = memchr::memchr(0, codes).unwrap_or(bytes.len());
        self.truncate(start + count);
        count
    }
}

/// FNV-1a's shape, eight bytes at a time, with a final mix.
pub(super) struct Hash {
    state: u64,
    word: u64,
    count: u64,
}

impl Hash {
    pub(super) fn new() -> Hash {
        Hash { state: 0xCBF2_9CE4_8422_2325, word: 0, count: 0 }
    }

    pub(super) fn finish(mut self) -> u64 {
        self.mix(self.word);
        self.mix(self.count);
        self.state ^ self.state >> 29
    }

    #[inline]
    fn mix(&mut self, word: u64) {
        let wide = u128::from(self.state ^ word) * 0x9E37_79B9_7F4A_7C15;
        self.state = wide as u64 ^ (wide >> 64) as u64;
    }
}

impl Sink for Hash {
    #[inline]
    fn byte(&mut self, b: u8) {
        self.word = self.word << 8 | u64::from(b);
        self.count += 1;
        if self.count.is_multiple_of(8) {
            let word = std::mem::take(&mut self.word);
            self.mix(word);
        }
    }
}

/// Weights from `first` to `last`, coded with leading bytes from `leader`.
struct Gap {
    first: u32,
    last: u32,
    leader: u8,
    /// Leading bytes that take 256 weights each; what is left of the gap has one more.
    blocks: u32,
}

pub(super) struct Coder {
    /// Weights with a code of one byte, ascending, and those codes.
    short: Vec<(u16, u8)>,
    /// `gaps[i]` lies before `short[i]`.
    gaps: Vec<Gap>,
    /// The weight of a space, under PAD SPACE; its code stands for END, the one below for LESS.
    space: Option<u16>,
    end: u8,
    /// One-byte codes by byte of the string; 0 where the general way must be taken.
    direct: [u8; 256],
    /// `direct` is by weight too: weights are bytes.
    one_byte: bool,
}

/// Separates levels; below every code.
pub(super) const LEVEL_SEPARATOR: u8 = 0;

impl Coder {
    /// For a UCA table with these primary weights of ASCII.
    pub(super) fn uca(ascii: &[u16; 128], pad_space: bool) -> Coder {
        // 0xFB40 and 0xFB41 begin the weights of the common ideographs.
        let short = ascii.iter().copied().filter(|w| *w != 0).chain([0xFB40, 0xFB41]).collect();
        let mut coder = Coder::new(short, pad_space.then_some(ascii[32]), 0xFFFF);
        coder.set_direct(0..128, |b| ascii[b]);
        coder
    }

    /// For one 16-bit weight per character (`general_ci`).
    pub(super) fn general(weight: impl Fn(u32) -> u16) -> Coder {
        let mut coder = Coder::new((32..127).map(&weight).collect(), Some(weight(32)), 0xFFFF);
        coder.set_direct(0..128, |b| weight(b as u32));
        coder
    }

    /// For weights of 0 to 255 with space at 32, as bytes and 8-bit collations have them.
    pub(super) fn bytes() -> Coder {
        Coder::bytes_with_space(32)
    }

    /// The same with space at another weight.
    pub(super) fn bytes_with_space(space: u8) -> Coder {
        let space = u16::from(space);
        let mut coder = Coder::new((space..=255).collect(), Some(space), 0xFF);
        coder.set_direct(0..256, |b| b as u16);
        coder
    }

    fn new(mut short: Vec<u16>, space: Option<u16>, weight_max: u32) -> Coder {
        short.sort_unstable();
        short.dedup();
        let mut gaps: Vec<Gap> = Vec::with_capacity(short.len() + 1);
        let mut first = 0;
        for w in short.iter().map(|w| u32::from(*w)).chain([weight_max + 1]) {
            gaps.push(Gap { first, last: w.wrapping_sub(1), leader: 0, blocks: 0 });
            first = w + 1;
        }
        let width = |g: &Gap| g.last.wrapping_add(1) - g.first;
        let widest = (0..gaps.len()).max_by_key(|i| width(&gaps[*i])).unwrap_or(0);
        let used = short.len() + gaps.iter().filter(|g| width(g) > 0).count() + if space.is_some() { 2 } else { 0 };
        let spare = 255u32.saturating_sub(used as u32);
        let mut coder = Coder { short: Vec::new(), gaps, space, end: 0, direct: [0; 256], one_byte: weight_max == 0xFF };
        let mut next = 1u8;
        for i in 0..coder.gaps.len() {
            let gap = &mut coder.gaps[i];
            let width = gap.last.wrapping_add(1) - gap.first;
            if width > 0 {
                gap.leader = next;
                gap.blocks = if i == widest { spare.min(width / 256) } else { 0 };
                next = next.saturating_add(gap.blocks as u8 + 1);
            }
            if let Some(w) = short.get(i) {
                let padded = space == Some(*w);
                let code = if padded { next + 1 } else { next };
                coder.short.push((*w, code));
                if padded {
                    coder.end = code;
                }
                next = next.saturating_add(if padded { 3 } else { 1 });
            }
        }
        coder
    }

    fn set_direct(&mut self, bytes: std::ops::Range<usize>, weight: impl Fn(usize) -> u16) {
        for b in bytes {
            let w = weight(b);
            if w != 0 && self.space != Some(w) {
                self.direct[b] = self.short.binary_search_by_key(&w, |s| s.0).map_or(0, |at| self.short[at].1);
            }
        }
    }

    #[cfg(test)]
    pub(super) fn check(&self, name: &str) {
        let mut last: Vec<u8> = Vec::new();
        for w in 1..=0xFFFF {
            let mut code = Vec::new();
            self.code(w, &mut code);
            assert!(last < code && (last.is_empty() || !code.starts_with(&last)), "{name}: {last:X?} before {code:X?} of {w:X}");
            last = code;
        }
        assert!(self.short.iter().all(|(_, code)| *code < 0xFF), "{name}: codes are used up");
    }

    fn code(&self, w: u16, sink: &mut impl Sink) {
        if self.one_byte
            && let Some(code) = self.direct.get(w as usize).filter(|code| **code != 0)
        {
            return sink.byte(*code);
        }
        let at = match self.short.binary_search_by_key(&w, |s| s.0) {
            Ok(at) => return sink.byte(self.short[at].1),
            Err(at) => at,
        };
        let gap = &self.gaps[at];
        let offset = u32::from(w) - gap.first;
        if offset >> 8 < gap.blocks {
            sink.byte(gap.leader + (offset >> 8) as u8);
            return sink.byte(offset as u8);
        }
        sink.byte(gap.leader + gap.blocks as u8);
        if gap.last - gap.first - (gap.blocks << 8) >= 256 {
            sink.byte((w >> 8) as u8);
            return sink.byte(w as u8);
        }
        sink.byte((offset - (gap.blocks << 8)) as u8);
    }
}

/// Writes the codes of one string's weights.
pub(super) struct Writer<'a, S> {
    coder: &'a Coder,
    sink: &'a mut S,
    /// Spaces held back.
    spaces: usize,
}

impl<'a, S: Sink> Writer<'a, S> {
    pub(super) fn new(coder: &'a Coder, sink: &'a mut S) -> Writer<'a, S> {
        Writer { coder, sink, spaces: 0 }
    }

    #[inline]
    pub(super) fn push(&mut self, w: u16) {
        if self.coder.space == Some(w) {
            self.spaces += 1;
            return;
        }
        if self.spaces > 0 {
            self.flush_spaces(w);
        }
        self.coder.code(w, self.sink);
    }

    /// The leading bytes with a code of one byte each; returns how many.
    #[inline]
    pub(super) fn push_direct(&mut self, bytes: &[u8]) -> usize {
        self.sink.mapped(bytes, &self.coder.direct)
    }

    pub(super) fn finish(self) {
        if self.coder.space.is_some() {
            self.sink.byte(self.coder.end);
        }
    }

    fn flush_spaces(&mut self, next: u16) {
        let less = Some(next) < self.coder.space;
        let invert = if less { 0 } else { 0xFF };
        self.sink.byte(if less { self.coder.end - 1 } else { self.coder.end + 1 });
        let mut rest = std::mem::take(&mut self.spaces) - 1;
        while rest >= 255 {
            self.sink.byte(0xFF ^ invert);
            rest -= 255;
        }
        self.sink.byte(rest as u8 ^ invert);
    }
}

/// A weight of the second or third level.
#[inline]
pub(super) fn push_lower_level(w: u16, sink: &mut impl Sink) {
    if w < 0xFF {
        sink.byte(w as u8);
    } else {
        sink.byte(0xFF);
        sink.byte((w - 0xFF).min(0xFF) as u8);
        if w > 0x1FE {
            sink.byte((w >> 8) as u8);
            sink.byte(w as u8);
        }
    }
}
