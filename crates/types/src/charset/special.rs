//! 8-bit collations that no table of 256 weights describes.
//!
//! | collation           | how it weighs                                                                          |
//! |---------------------|----------------------------------------------------------------------------------------|
//! | `latin1_german2_ci` | one or two weights per character: ä weighs as ae                                       |
//! | `tis620_thai_ci`    | a vowel before its consonant goes behind it, signs above go to the end (see `thai`)    |
//! | `latin2_czech_cs`   | four levels: letters, accents, case, everything; the first two word by word            |
//! | `cp1250_czech_cs`   | two levels                                                                             |
//!
//! In Czech "ch" is a letter. LIKE and LOCATE compare byte by byte. `data/special.z`, written by
//! `tools/gen-east-asian.py`, is a deflate stream: the four tables of weights in the order above, then for each collation
//! four tables of a byte per byte: what LIKE compares, what LOCATE compares, upper case, lower case.

use std::sync::LazyLock;

use super::blob::Blob;

#[derive(Clone, Copy)]
pub(super) enum Special {
    German2 = 0,
    Thai = 1,
    Latin2Czech = 2,
    Cp1250Czech = 3,
}

/// Levels of `latin2_czech_cs` and of `cp1250_czech_cs`.
const LATIN2_LEVELS: usize = 4;
const CP1250_LEVELS: usize = 2;
/// Ends a level, and the string.
const LEVEL_END: u8 = 1;
const STRING_END: u8 = 0;
/// Stands between words, of which spaces and tabs are no part.
const WORD_END: u8 = 2;

/// The characters of a Czech charset, and its "ch" from entry `CH` on.
type Czech<const LEVELS: usize> = Vec<[u8; LEVELS]>;
const CH: [&[u8]; 3] = [b"ch", b"Ch", b"CH"];

struct Tables {
    german: Vec<Vec<u8>>,
    thai: Vec<u8>,
    latin2: Czech<LATIN2_LEVELS>,
    cp1250: Czech<CP1250_LEVELS>,
    bytes: [[Vec<u8>; 4]; 4],
}

static TABLES: LazyLock<Tables> = LazyLock::new(|| {
    let blob = Blob::inflate(include_bytes!("data/special.z"));
    let mut r = blob.reader();
    let mut weights = || {
        let len = r.varint() as usize;
        r.bytes(len).to_vec()
    };
    let german = (0..256).map(|_| weights()).collect();
    let thai = r.bytes(256).to_vec();
    let latin2 = (0..256 + CH.len()).map(|_| std::array::from_fn(|_| r.u8())).collect();
    let cp1250 = (0..256 + CH.len()).map(|_| std::array::from_fn(|_| r.u8())).collect();
    Tables { german, thai, latin2, cp1250, bytes: std::array::from_fn(|_| std::array::from_fn(|_| r.bytes(256).to_vec())) }
});

impl Special {
    pub(super) fn by_name(name: &str) -> Option<Special> {
        Some(match name {
            "latin1_german2_ci" => Special::German2,
            "tis620_thai_ci" => Special::Thai,
            "latin2_czech_cs" => Special::Latin2Czech,
            "cp1250_czech_cs" => Special::Cp1250Czech,
            _ => return None,
        })
    }

    /// Weights compare as if endless spaces followed; if not, as they are, but without trailing spaces of the string.
    pub(super) fn pads(self) -> bool {
        matches!(self, Special::German2 | Special::Thai)
    }

    /// What WEIGHT_STRING() returns.
    pub(super) fn weights(self, bytes: &[u8]) -> Vec<u8> {
        match self {
            Special::German2 => bytes.iter().flat_map(|b| TABLES.german[*b as usize].iter().copied()).collect(),
            Special::Thai => thai(bytes),
            Special::Latin2Czech => latin2_czech(bytes),
            Special::Cp1250Czech => {
                let letters: Vec<_> = letters(bytes, &TABLES.cp1250).map(|(_, weights)| weights).collect();
                letters.iter().map(|w| w[0]).chain(letters.iter().map(|w| w[1])).collect()
            }
        }
    }

    /// LIKE takes two characters for the same that have the same number.
    pub(super) fn like_class(self, byte: u8) -> u8 {
        TABLES.bytes[self as usize][0][byte as usize]
    }

    /// LOCATE does so with these.
    pub(super) fn locate_class(self, byte: u8) -> u8 {
        TABLES.bytes[self as usize][1][byte as usize]
    }

    pub(super) fn upper(self, byte: u8) -> u8 {
        TABLES.bytes[self as usize][2][byte as usize]
    }

    pub(super) fn lower(self, byte: u8) -> u8 {
        TABLES.bytes[self as usize][3][byte as usize]
    }
}

/// The letters of a Czech string: first byte and weights.
fn letters<'a, const LEVELS: usize>(
    mut bytes: &'a [u8],
    table: &'a Czech<LEVELS>,
) -> impl Iterator<Item = (u8, &'a [u8; LEVELS])> {
    std::iter::from_fn(move || {
        let first = *bytes.first()?;
        let ch = CH.iter().position(|ch| bytes.starts_with(ch));
        bytes = &bytes[if ch.is_some() { 2 } else { 1 }..];
        Some((first, table.get(ch.map_or(first as usize, |at| 256 + at))?))
    })
}

/// `a b` becomes, with the end of each part: a's letters, a's accents, b's letters, b's accents, case of all, all.
fn latin2_czech(bytes: &[u8]) -> Vec<u8> {
    let is_space = |b: u8| matches!(b, b' ' | b'\t');
    let end = bytes.iter().rposition(|b| !is_space(*b)).map_or(0, |at| at + 1);
    let letters: Vec<_> = letters(&bytes[..end], &TABLES.latin2).map(|(b, w)| (!is_space(b)).then_some(w)).collect();
    // Several spaces count as one, but on the last level.
    let mut single = letters.clone();
    single.dedup_by(|a, b| a.is_none() && b.is_none());
    let mut out = Vec::with_capacity(letters.len() * 4 + 8);
    let push = |level: usize, letters: &[Option<&[u8; LATIN2_LEVELS]>], out: &mut Vec<u8>| {
        out.extend(letters.iter().map(|l| l.map_or(WORD_END, |w| w[level])).filter(|w| *w != 0));
    };
    let words: Vec<_> = single.split(|l| l.is_none()).collect();
    for (at, word) in words.iter().enumerate() {
        let word_end = if at + 1 == words.len() { LEVEL_END } else { WORD_END };
        for level in 0..2 {
            push(level, word, &mut out);
            out.push(word_end);
        }
    }
    push(2, &single, &mut out);
    out.push(LEVEL_END);
    push(3, &letters, &mut out);
    out.push(STRING_END);
    out
}

/// A vowel that is written before its consonant is weighed after it. A sign above a letter (tone marks and such) leaves its
/// place and becomes the last byte, over a sign that went there before; it weighs 8 less for each letter before it.
fn thai(bytes: &[u8]) -> Vec<u8> {
    const LETTER_STEP: u8 = 8;
    let is_consonant = |b: u8| (0xA1..=0xCE).contains(&b);
    let mut out = bytes.to_vec();
    let (mut at, mut end, mut letters) = (0, out.len(), 0u8);
    while at < end {
        match out[at] {
            0xE0..=0xE4 if at + 1 < end && is_consonant(out[at + 1]) => {
                out.swap(at, at + 1);
                at += 2;
                continue;
            }
            sign @ 0xE7..=0xEC => {
                out.copy_within(at + 1..end, at);
                if let Some(last) = out.last_mut() {
                    *last = TABLES.thai[sign as usize].wrapping_sub(letters.wrapping_mul(LETTER_STEP));
                }
                end -= 1;
                continue;
            }
            b => {
                out[at] = TABLES.thai[b as usize];
                letters = letters.wrapping_add(u8::from(b < 0x80 || is_consonant(b)));
            }
        }
        at += 1;
    }
    // The string ends at a byte 0.
    if let Some(end) = bytes.iter().position(|b| *b == 0) {
        let signs = bytes[..end].iter().filter(|b| (0xE7..=0xEC).contains(*b)).count();
        out[end - signs..].fill(b' ');
    }
    out
}
