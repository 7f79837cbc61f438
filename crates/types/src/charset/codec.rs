//! Characters of each charset: decoding, encoding, counting, conversion.
//!
//! Every function is total: bytes that are no character decode as `None` with the
//! length to skip. Strings from clients are checked once with `Charset::validate`.

use std::borrow::Cow;
use std::sync::LazyLock;

use super::Charset;
use super::east_asian::EastAsian;
use super::single_byte::SingleByte;

/// How a charset's bytes become code points.
#[derive(Clone, Copy, Debug)]
pub(super) enum Encoding {
    Binary,
    /// utf8mb4 (4) or utf8mb3 (3 bytes at most).
    Utf8(u8),
    Single(&'static SingleByte),
    Ascii(&'static SingleByte),
    Ucs2,
    Utf16Be,
    Utf16Le,
    Utf32,
    /// One to four bytes; whether bytes below 0x80 are ASCII even behind others.
    EastAsian(&'static LazyLock<EastAsian>, bool),
    /// A name without data: none is left.
    Unsupported,
}

/// One character: its code point, if it is one, and its bytes.
pub(super) type Decoded = (Option<u32>, usize);

impl Encoding {
    /// The first character of `bytes`, which must not be empty.
    #[inline]
    pub(super) fn decode(self, bytes: &[u8]) -> Decoded {
        match self {
            Encoding::Utf8(max) => decode_utf8(bytes, max),
            Encoding::Single(t) | Encoding::Ascii(t) => (bytes.first().and_then(|b| t.decode(*b)), 1),
            Encoding::Binary | Encoding::Unsupported => (bytes.first().map(|b| u32::from(*b)), 1),
            Encoding::Ucs2 => decode_unit16(bytes, u16::from_be_bytes, false),
            Encoding::Utf16Be => decode_unit16(bytes, u16::from_be_bytes, true),
            Encoding::Utf16Le => decode_unit16(bytes, u16::from_le_bytes, true),
            Encoding::Utf32 => match bytes.first_chunk::<4>() {
                Some(four) => (char::from_u32(u32::from_be_bytes(*four)).map(u32::from), 4),
                None => (None, bytes.len()),
            },
            Encoding::EastAsian(t, _) => t.decode(bytes),
        }
    }

    /// Appends a code point; false if the charset lacks it.
    #[inline]
    pub(super) fn encode(self, cp: u32, out: &mut Vec<u8>) -> bool {
        match self {
            Encoding::Utf8(max) => match char::from_u32(cp) {
                Some(c) if max == 4 || cp <= 0xFFFF => out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
                _ => return false,
            },
            Encoding::Single(t) | Encoding::Ascii(t) => match t.encode(cp) {
                Some(b) => out.push(b),
                None => return false,
            },
            Encoding::Binary | Encoding::Unsupported => match u8::try_from(cp) {
                Ok(b) => out.push(b),
                Err(_) => return false,
            },
            Encoding::Ucs2 | Encoding::Utf16Be | Encoding::Utf16Le => {
                let Some(c) = char::from_u32(cp).filter(|_| !matches!(self, Encoding::Ucs2) || cp <= 0xFFFF) else {
                    return false;
                };
                for unit in c.encode_utf16(&mut [0; 2]) {
                    let little = matches!(self, Encoding::Utf16Le);
                    out.extend_from_slice(&if little { unit.to_le_bytes() } else { unit.to_be_bytes() });
                }
            }
            Encoding::Utf32 if cp > 0x10_FFFF => return false,
            Encoding::Utf32 => out.extend_from_slice(&cp.to_be_bytes()),
            Encoding::EastAsian(t, _) => return t.encode(cp, out),
        }
        true
    }

    /// Bytes below 0x80 are ASCII characters and nothing else.
    pub(super) fn ascii_compatible(self) -> bool {
        match self {
            Encoding::Utf8(_) | Encoding::Ascii(_) | Encoding::Binary => true,
            Encoding::Single(t) => t.ascii_compatible,
            Encoding::EastAsian(_, ascii_compatible) => ascii_compatible,
            _ => false,
        }
    }

    fn one_byte(self) -> bool {
        matches!(self, Encoding::Single(_) | Encoding::Ascii(_) | Encoding::Binary | Encoding::Unsupported)
    }
}

#[inline]
fn decode_utf8(bytes: &[u8], max: u8) -> Decoded {
    let tail = |b: u8| (b & 0xC0 == 0x80).then_some(u32::from(b & 0x3F));
    let wide = || -> Option<(u32, usize)> {
        let first = u32::from(*bytes.first()?);
        let second = tail(*bytes.get(1)?)?;
        match first {
            0xC2..=0xDF => Some(((first & 0x1F) << 6 | second, 2)),
            0xE0..=0xEF => {
                let cp = (first & 0xF) << 12 | second << 6 | tail(*bytes.get(2)?)?;
                (cp >= 0x800 && !(0xD800..0xE000).contains(&cp)).then_some((cp, 3))
            }
            0xF0..=0xF4 if max == 4 => {
                let cp = (first & 7) << 18 | second << 12 | tail(*bytes.get(2)?)? << 6 | tail(*bytes.get(3)?)?;
                (0x1_0000..0x11_0000).contains(&cp).then_some((cp, 4))
            }
            _ => None,
        }
    };
    match bytes.first() {
        Some(b) if *b < 0x80 => (Some(u32::from(*b)), 1),
        _ => wide().map_or((None, 1), |(cp, len)| (Some(cp), len)),
    }
}

fn decode_unit16(bytes: &[u8], unit: fn([u8; 2]) -> u16, pairs: bool) -> Decoded {
    let Some(first) = bytes.first_chunk::<2>().map(|b| unit(*b)) else { return (None, bytes.len()) };
    match first {
        0xD800..=0xDBFF if pairs => match bytes.get(2..).and_then(|b| b.first_chunk::<2>()).map(|b| unit(*b)) {
            Some(low @ 0xDC00..=0xDFFF) => (Some(0x1_0000 + ((u32::from(first) & 0x3FF) << 10 | u32::from(low) & 0x3FF)), 4),
            _ => (None, 2),
        },
        0xDC00..=0xDFFF if pairs => (None, 2),
        _ => (Some(u32::from(first)), 2),
    }
}

/// The result of `Charset::convert`.
#[derive(Debug, PartialEq)]
pub struct Converted<'a> {
    pub bytes: Cow<'a, [u8]>,
    /// Characters that became `?`: not in the target charset, or no character of the source.
    pub replaced: usize,
    /// Where in the source the first of them begins.
    pub first_replaced: Option<usize>,
}

impl Charset {
    /// Whether all bytes are characters; otherwise the offset of the first bad one.
    pub fn validate(&self, bytes: &[u8]) -> Result<(), usize> {
        match self.encoding {
            Encoding::Binary | Encoding::Single(_) | Encoding::Unsupported => Ok(()),
            Encoding::Ascii(_) => bytes.iter().position(|b| *b >= 0x80).map_or(Ok(()), Err),
            Encoding::Utf8(4) => std::str::from_utf8(bytes).map(drop).map_err(|e| e.valid_up_to()),
            _ => {
                let mut at = 0;
                while at < bytes.len() {
                    let (cp, len) = self.encoding.decode(&bytes[at..]);
                    if cp.is_none() {
                        return Err(at);
                    }
                    at += len;
                }
                Ok(())
            }
        }
    }

    /// A binary string as a text of this charset: the first character of UCS-2, UTF-16 and UTF-32 may lack its leading zeros.
    pub fn whole_units<'a>(&self, bytes: &'a [u8]) -> Cow<'a, [u8]> {
        match bytes.len().next_multiple_of(usize::from(self.mbminlen.max(1))) - bytes.len() {
            0 => Cow::Borrowed(bytes),
            missing => Cow::Owned([vec![0; missing].as_slice(), bytes].concat()),
        }
    }

    /// The string without the spaces at its end.
    pub fn trim_end_spaces<'a>(&self, bytes: &'a [u8]) -> &'a [u8] {
        if self.mbminlen <= 1 {
            return &bytes[..bytes.iter().rposition(|b| *b != b' ').map_or(0, |at| at + 1)];
        }
        let mut space = Vec::with_capacity(4);
        self.encoding.encode(u32::from(b' '), &mut space);
        let mut rest = bytes;
        while let Some(shorter) = rest.strip_suffix(space.as_slice()).filter(|_| !space.is_empty()) {
            rest = shorter;
        }
        rest
    }

    /// Characters in the string; every byte that is none counts as one.
    pub fn char_count(&self, bytes: &[u8]) -> usize {
        if self.encoding.one_byte() || self.encoding.ascii_compatible() && bytes.is_ascii() {
            return bytes.len();
        }
        if let (Encoding::Utf8(4), Ok(text)) = (self.encoding, std::str::from_utf8(bytes)) {
            return text.chars().count();
        }
        self.chars(bytes).count()
    }

    /// Bytes that the first `count` characters take, or all if there are fewer.
    pub fn prefix_len(&self, bytes: &[u8], count: usize) -> usize {
        if self.encoding.one_byte() || bytes.len() <= count {
            return bytes.len().min(count);
        }
        if self.encoding.ascii_compatible() && bytes[..count].is_ascii() {
            return count;
        }
        self.chars(bytes).take(count).map(|c| c.bytes.len()).sum()
    }

    /// The first `count` characters.
    pub fn prefix<'a>(&self, bytes: &'a [u8], count: usize) -> &'a [u8] {
        &bytes[..self.prefix_len(bytes, count)]
    }

    /// The longest prefix of whole characters within `bytes_max` bytes.
    pub fn prefix_in_bytes<'a>(&self, bytes: &'a [u8], bytes_max: usize) -> &'a [u8] {
        if bytes.len() <= bytes_max {
            return bytes;
        }
        if self.encoding.one_byte() {
            return &bytes[..bytes_max];
        }
        let mut end = 0;
        for c in self.chars(bytes) {
            if end + c.bytes.len() > bytes_max {
                break;
            }
            end += c.bytes.len();
        }
        &bytes[..end]
    }

    /// The characters, one by one.
    pub fn chars<'a>(&self, bytes: &'a [u8]) -> Chars<'a> {
        Chars { encoding: self.encoding, rest: bytes }
    }

    /// Appends a code point; false, and nothing appended, if the charset lacks it.
    pub fn encode(&self, cp: u32, out: &mut Vec<u8>) -> bool {
        self.encoding.encode(cp, out)
    }

    /// The bytes in another charset, `?` for what it lacks.
    ///
    /// From and to `binary` bytes stay as they are, as in MySQL: validating them is the caller's.
    pub fn convert<'a>(&self, to: &Charset, bytes: &'a [u8]) -> Converted<'a> {
        let unchanged = Converted { bytes: Cow::Borrowed(bytes), replaced: 0, first_replaced: None };
        if std::ptr::eq(self, to) || matches!(self.encoding, Encoding::Binary) || matches!(to.encoding, Encoding::Binary) {
            return unchanged;
        }
        if self.encoding.ascii_compatible() && to.encoding.ascii_compatible() && bytes.is_ascii() {
            return unchanged;
        }
        let mut out = Vec::with_capacity(bytes.len() * 2);
        let (mut at, mut replaced, mut first_replaced) = (0, 0, None);
        for c in self.chars(bytes) {
            if !c.code_point.is_some_and(|cp| to.encoding.encode(cp, &mut out)) {
                to.encoding.encode(u32::from(b'?'), &mut out);
                replaced += 1;
                first_replaced.get_or_insert(at);
            }
            at += c.bytes.len();
        }
        Converted { bytes: Cow::Owned(out), replaced, first_replaced }
    }
}

/// One character of a string.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Char<'a> {
    /// `None` for bytes that are no character.
    pub code_point: Option<u32>,
    pub bytes: &'a [u8],
}

/// Iterates the characters of a string.
#[derive(Clone, Debug)]
pub struct Chars<'a> {
    pub(super) encoding: Encoding,
    pub(super) rest: &'a [u8],
}

impl<'a> Iterator for Chars<'a> {
    type Item = Char<'a>;

    #[inline]
    fn next(&mut self) -> Option<Char<'a>> {
        if self.rest.is_empty() {
            return None;
        }
        let (code_point, len) = self.encoding.decode(self.rest);
        let (bytes, rest) = self.rest.split_at(len.min(self.rest.len()));
        self.rest = rest;
        Some(Char { code_point, bytes })
    }
}
