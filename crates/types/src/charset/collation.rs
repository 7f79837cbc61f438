//! `Collation`: comparing, hashing and sort keys, by one of five orders.
//!
//! Every order takes a fast way through ASCII: pairs of ASCII characters with the
//! same weight are skipped, the first pair with different weights decides. Anything
//! else falls back to comparing streams of weights from that place.

use std::cmp::Ordering;
use std::sync::LazyLock;

use super::case::CaseMap;
use super::codec::Encoding;
use super::east_asian::EastAsian;
use super::general::{GENERAL, GeneralTable};
use super::key::{self, Coder, Hash, LEVEL_SEPARATOR, Sink, Writer};
use super::special::Special;
use super::uca::{UcaTable, WEIGHTS_MAX, Weights};
use super::{Charset, CollationId};

pub(super) type UcaRef = &'static LazyLock<UcaTable>;
pub(super) type GeneralRef = &'static LazyLock<GeneralTable>;

#[derive(Clone, Copy)]
pub(super) enum Order {
    /// memcmp, trailing spaces significant.
    Bytes,
    /// Code points, padded with spaces.
    CodePoints,
    /// A weight per byte, padded with spaces.
    Table(&'static [u8; 256]),
    /// `general_ci` and its likes, padded with spaces.
    General(GeneralRef),
    /// A weight per character, padded with spaces.
    EastAsian(&'static LazyLock<EastAsian>),
    Special(Special),
    /// The Unicode Collation Algorithm with 1 to 4 levels.
    Uca(UcaRef, usize),
    /// Known by name only: statements that would use it get error 1235.
    Unsupported,
}

/// See `Collation::hashed_by`. All but `Bytes` and `Uca` leave out trailing spaces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HashedBy {
    Bytes,
    PaddedBytes,
    /// The weight of each byte.
    ByteWeights,
    /// Weights of 16 bits, the low byte first.
    GeneralWeights,
    /// Weights of 16 bits, the high byte first.
    PaddedUca,
    /// Weights of 16 bits of all levels, FNV.
    Uca,
}

pub struct Collation {
    pub id: CollationId,
    pub name: &'static str,
    pub charset: &'static Charset,
    pub is_default: bool,
    pub sort_length: u8,
    pub pad_space: bool,
    pub(super) order: Order,
    pub(super) case_map: CaseMap,
}

static BYTES_CODER: LazyLock<Coder> = LazyLock::new(Coder::bytes);
/// For tables in which space does not weigh 32: those of latin7, by that weight.
static SPACE_CODERS: [(u8, LazyLock<Coder>); 2] =
    [(0x2C, LazyLock::new(|| Coder::bytes_with_space(0x2C))), (0x30, LazyLock::new(|| Coder::bytes_with_space(0x30)))];

impl Collation {
    /// Comparing works. If not, DDL and COLLATE answer with error 1235.
    pub fn is_supported(&self) -> bool {
        !matches!(self.order, Order::Unsupported) && self.charset.is_supported()
    }

    /// What MySQL hashes a text by, where that is known.
    pub fn hashed_by(&self) -> Option<HashedBy> {
        let is_wide = matches!(self.charset.encoding, Encoding::Ucs2 | Encoding::Utf16Be | Encoding::Utf16Le | Encoding::Utf32);
        match self.order {
            _ if is_wide => None,
            Order::Bytes => Some(HashedBy::Bytes),
            Order::CodePoints => Some(HashedBy::PaddedBytes),
            Order::Table(_) => Some(HashedBy::ByteWeights),
            Order::General(_) => Some(HashedBy::GeneralWeights),
            Order::Uca(..) if self.pad_space => Some(HashedBy::PaddedUca),
            Order::Uca(..) => Some(HashedBy::Uca),
            Order::EastAsian(_) | Order::Special(_) | Order::Unsupported => None,
        }
    }

    /// A `_bin` collation or `binary`.
    pub fn is_bin(&self) -> bool {
        matches!(self.order, Order::Bytes | Order::CodePoints)
    }

    /// The sort key is the string itself, so that an index needs no other copy of it.
    pub fn sort_key_is_bytes(&self) -> bool {
        matches!(self.order, Order::Bytes)
    }

    pub fn compare(&self, a: &[u8], b: &[u8]) -> Ordering {
        if a == b {
            return Ordering::Equal;
        }
        match self.order {
            Order::Bytes => a.cmp(b),
            Order::CodePoints | Order::Unsupported => match self.charset.encoding {
                Encoding::Ucs2 | Encoding::Utf16Be | Encoding::Utf16Le | Encoding::Utf32 => self.compare_code_points(a, b),
                _ => compare_padded(a, b, |byte| byte),
            },
            Order::Table(weights) => compare_padded(a, b, |byte| weights[byte as usize]),
            Order::General(table) => self.compare_general(table, a, b),
            Order::Uca(table, levels) => self.compare_uca(table, levels, a, b),
            Order::EastAsian(table) => compare_padded(&table.order(a), &table.order(b), |byte| byte),
            Order::Special(special) if special.pads() => compare_padded(&special.weights(a), &special.weights(b), |byte| byte),
            Order::Special(special) => special.weights(without_spaces(a)).cmp(&special.weights(without_spaces(b))),
        }
    }

    /// Whether `compare` says Equal; equal bytes are seen without decoding.
    #[inline]
    pub fn equal(&self, a: &[u8], b: &[u8]) -> bool {
        self.compare(a, b) == Ordering::Equal
    }

    /// Whether `text` begins with `prefix`, character by character as `like` compares.
    pub fn starts_with(&self, text: &[u8], prefix: &[u8]) -> bool {
        let (mut text, mut prefix) = (self.charset.chars(text), self.charset.chars(prefix));
        loop {
            match (prefix.next(), text.next()) {
                (None, _) => return true,
                (Some(p), Some(t)) if self.same_char(p, t) => (),
                _ => return false,
            }
        }
    }

    /// Appends the key: memcmp of keys is `compare` of strings, equal keys are equal strings.
    ///
    /// For a prefix index pass `charset.prefix(bytes, chars)`. See `key` for the form.
    pub fn sort_key(&self, bytes: &[u8], out: &mut Vec<u8>) {
        if self.sort_key_is_bytes() {
            return out.extend_from_slice(bytes);
        }
        out.reserve(bytes.len() + 1);
        self.write_key(bytes, out);
    }

    /// The same for all strings that compare equal.
    pub fn hash(&self, bytes: &[u8]) -> u64 {
        let mut hash = Hash::new();
        self.write_key(bytes, &mut hash);
        hash.finish()
    }

    /// What WEIGHT_STRING() returns.
    pub fn weight_string(&self, bytes: &[u8]) -> Vec<u8> {
        let mut out = Vec::with_capacity(bytes.len() * 2);
        match self.order {
            Order::Bytes => out.extend_from_slice(bytes),
            Order::Table(weights) => out.extend(bytes.iter().map(|b| weights[*b as usize])),
            Order::General(_) => self.scanner(bytes, 0).for_each_weight(|w| out.extend_from_slice(&w.to_be_bytes())),
            Order::EastAsian(table) => return table.weights(bytes),
            Order::Special(special) => return special.weights(bytes),
            Order::Uca(_, levels) => {
                for level in 0..levels {
                    // Only kana have weights of the fourth level; it is left out without any.
                    if level > 0 && (level < 3 || self.scanner(bytes, level).next().is_some()) {
                        out.extend_from_slice(&[0, 0]);
                    }
                    self.scanner(bytes, level).for_each_weight(|w| out.extend_from_slice(&w.to_be_bytes()));
                }
            }
            Order::CodePoints | Order::Unsupported => match self.charset.encoding {
                Encoding::Single(_) | Encoding::Ascii(_) | Encoding::Binary | Encoding::EastAsian(..) | Encoding::Unsupported => {
                    out.extend_from_slice(bytes)
                }
                _ => {
                    // Three bytes per character, two in the charsets of the basic plane.
                    let skipped = if matches!(self.charset.encoding, Encoding::Utf8(3) | Encoding::Ucs2) { 2 } else { 1 };
                    for c in self.charset.chars(bytes) {
                        out.extend_from_slice(&c.code_point.unwrap_or(0).to_be_bytes()[skipped..]);
                    }
                }
            },
        }
        out
    }

    fn write_key(&self, bytes: &[u8], sink: &mut impl Sink) {
        match self.order {
            Order::Bytes => bytes.iter().for_each(|b| sink.byte(*b)),
            Order::CodePoints | Order::Unsupported => match self.charset.encoding {
                Encoding::Ucs2 | Encoding::Utf16Be | Encoding::Utf16Le | Encoding::Utf32 => {
                    let mut utf8 = Vec::with_capacity(bytes.len());
                    for c in self.charset.chars(bytes) {
                        Encoding::Utf8(4).encode(c.code_point.unwrap_or(0xFFFD), &mut utf8);
                    }
                    write_bytes(&utf8, None, sink);
                }
                _ => write_bytes(bytes, None, sink),
            },
            Order::Table(weights) => write_bytes(bytes, Some(weights), sink),
            Order::EastAsian(table) => write_bytes(&table.order(bytes), None, sink),
            Order::Special(special) if special.pads() => write_bytes(&special.weights(bytes), None, sink),
            Order::Special(special) => special.weights(without_spaces(bytes)).iter().for_each(|b| sink.byte(*b)),
            Order::General(table) => self.write_weights(&table.coder, bytes, sink),
            Order::Uca(table, levels) => {
                self.write_weights(&table.coder, bytes, sink);
                for level in 1..levels {
                    sink.byte(LEVEL_SEPARATOR);
                    self.scanner(bytes, level).for_each_weight(|w| key::push_lower_level(w, sink));
                }
            }
        }
    }

    fn write_weights(&self, coder: &Coder, bytes: &[u8], sink: &mut impl Sink) {
        let mut writer = Writer::new(coder, sink);
        let ascii = if self.charset.encoding.ascii_compatible() { writer.push_direct(bytes) } else { 0 };
        self.scanner(&bytes[ascii..], 0).for_each_weight(|w| writer.push(w));
        writer.finish();
    }

    fn compare_code_points(&self, a: &[u8], b: &[u8]) -> Ordering {
        let code_points = |s| self.charset.chars(s).map(|c| c.code_point.unwrap_or(0xFFFD));
        let (mut a, mut b) = (code_points(a), code_points(b));
        compare_streams(|| a.next(), || b.next(), Some(0x20))
    }

    fn compare_general(&self, table: GeneralRef, a: &[u8], b: &[u8]) -> Ordering {
        let table: &GeneralTable = table;
        let at = match skip_ascii(self.charset.encoding, a, b, |byte| table.weight(u32::from(byte)), true) {
            Ok(at) => at,
            Err(decided) => return decided,
        };
        let (mut a, mut b) = (self.scanner(&a[at..], 0), self.scanner(&b[at..], 0));
        compare_streams(|| a.next(), || b.next(), Some(0x20))
    }

    fn compare_uca(&self, table: UcaRef, levels: usize, a: &[u8], b: &[u8]) -> Ordering {
        let table: &UcaTable = table;
        let pad = self.pad_space.then_some(table.ascii[32]);
        let at = match skip_ascii(self.charset.encoding, a, b, |byte| table.ascii[byte as usize], false) {
            // An ASCII character may be part of a string that weighs as one.
            _ if !table.ascii_is_plain => 0,
            Ok(at) => at,
            Err(decided) => return decided,
        };
        let (mut x, mut y) = (self.scanner(&a[at..], 0), self.scanner(&b[at..], 0));
        let mut order = compare_streams(|| x.next(), || y.next(), pad);
        for level in 1..levels {
            if order != Ordering::Equal {
                return order;
            }
            let (mut x, mut y) = (self.scanner(a, level), self.scanner(b, level));
            order = compare_streams(|| x.next(), || y.next(), None);
        }
        order
    }

    pub(super) fn scanner<'a>(&self, bytes: &'a [u8], level: usize) -> Scanner<'a> {
        let source = match self.order {
            Order::Uca(table, _) => Source::Uca(table, level),
            Order::General(table) => Source::General(table),
            _ => Source::General(&GENERAL),
        };
        Scanner { encoding: self.charset.encoding, whole: bytes, rest: bytes, source, list: [0; WEIGHTS_MAX], at: 0, count: 0 }
    }
}

/// Strings of which each byte is a weight, or has one in `weights`.
fn write_bytes(bytes: &[u8], weights: Option<&[u8; 256]>, sink: &mut impl Sink) {
    let space = weights.map_or(b' ', |w| w[b' ' as usize]);
    let coder = SPACE_CODERS.iter().find(|c| c.0 == space).map_or(&BYTES_CODER, |c| &c.1);
    let mut writer = Writer::new(coder, sink);
    match weights {
        None => {
            let direct = writer.push_direct(bytes);
            bytes[direct..].iter().for_each(|b| writer.push(u16::from(*b)));
        }
        Some(weights) => bytes.iter().for_each(|b| writer.push(u16::from(weights[*b as usize]))),
    }
    writer.finish();
}

fn without_spaces(bytes: &[u8]) -> &[u8] {
    &bytes[..bytes.iter().rposition(|b| *b != b' ').map_or(0, |at| at + 1)]
}

#[inline]
fn compare_padded(a: &[u8], b: &[u8], weight: impl Fn(u8) -> u8) -> Ordering {
    let common = a.len().min(b.len());
    for (x, y) in a[..common].iter().zip(&b[..common]) {
        if x != y && weight(*x) != weight(*y) {
            return weight(*x).cmp(&weight(*y));
        }
    }
    let space = weight(b' ');
    let tail = |s: &[u8]| s[common..].iter().map(|x| weight(*x).cmp(&space)).find(|o| o.is_ne()).unwrap_or(Ordering::Equal);
    tail(a).then(tail(b).reverse())
}

/// The length of the prefixes that are ASCII and weigh the same, or the order if ASCII decides it.
///
/// Equal ASCII characters are skipped even if ignorable; different ones only if both
/// weigh something, since an ignorable one would shift the weights against each other.
#[inline]
fn skip_ascii(encoding: Encoding, a: &[u8], b: &[u8], weight: impl Fn(u8) -> u16, zero_counts: bool) -> Result<usize, Ordering> {
    if !matches!(encoding, Encoding::Utf8(_)) {
        return Ok(0);
    }
    let mut at = 0;
    for (x, y) in a.iter().zip(b) {
        if *x >= 0x80 || *y >= 0x80 {
            break;
        }
        if x != y {
            let (wx, wy) = (weight(*x), weight(*y));
            if !zero_counts && (wx == 0 || wy == 0) {
                break;
            }
            if wx != wy {
                return Err(wx.cmp(&wy));
            }
        }
        at += 1;
    }
    Ok(at)
}

#[inline]
fn compare_streams<T: Ord + Copy>(
    mut a: impl FnMut() -> Option<T>,
    mut b: impl FnMut() -> Option<T>,
    pad: Option<T>,
) -> Ordering {
    loop {
        let order = match (a(), b()) {
            (Some(x), Some(y)) => x.cmp(&y),
            (None, None) => return Ordering::Equal,
            (Some(x), None) => pad.map_or(Ordering::Greater, |space| x.cmp(&space)),
            (None, Some(y)) => pad.map_or(Ordering::Less, |space| space.cmp(&y)),
        };
        if order.is_ne() {
            return order;
        }
    }
}

#[derive(Clone, Copy)]
enum Source {
    Uca(&'static UcaTable, usize),
    General(&'static GeneralTable),
}

/// Pulls the weights of a string at one level, none of them 0 under the UCA.
pub(super) struct Scanner<'a> {
    encoding: Encoding,
    whole: &'a [u8],
    rest: &'a [u8],
    source: Source,
    list: [u16; WEIGHTS_MAX],
    at: usize,
    count: usize,
}

/// The weight of bytes that are no character: after everything else.
const BAD_BYTES: u16 = 0xFFFF;

impl Scanner<'_> {
    #[inline]
    pub(super) fn next(&mut self) -> Option<u16> {
        loop {
            if self.at < self.count {
                self.at += 1;
                return Some(self.list[self.at - 1]);
            }
            if self.rest.is_empty() {
                return None;
            }
            let (cp, len) = self.encoding.decode(self.rest);
            self.rest = self.rest.get(len..).unwrap_or(&[]);
            let Some(cp) = cp else { return Some(BAD_BYTES) };
            match self.source {
                Source::General(table) => return Some(table.weight(cp)),
                Source::Uca(table, level) => match table.single(cp, level) {
                    Some(0) => (),
                    Some(w) => return Some(w),
                    None => {
                        let weights = self.expand(table, level, cp, len);
                        (self.list, self.count, self.at) = (weights.list, weights.count, 0);
                    }
                },
            }
        }
    }

    /// The weights of a character, read last and `len` bytes long, that has not just one.
    fn expand(&mut self, table: &UcaTable, level: usize, cp: u32, len: usize) -> Weights {
        let before = || &self.whole[..self.whole.len() - self.rest.len() - len.min(self.whole.len() - self.rest.len())];
        let Some((lists, taken)) = table.tailored.as_ref().and_then(|t| t.in_context(self.encoding, before(), cp, self.rest))
        else {
            return table.weights(cp, level);
        };
        self.rest = self.rest.get(taken..).unwrap_or(&[]);
        Weights::of(&lists[level])
    }

    fn for_each_weight(mut self, mut f: impl FnMut(u16)) {
        while let Some(w) = self.next() {
            f(w);
        }
    }
}
