//! The East Asian charsets of one to four bytes per character, and their collations.
//!
//! A character is named by its code: its bytes as a number, but for gb18030's four-byte characters `FOUR` and their
//! number in the order of their bytes. `data/east_asian.z`, written by `tools/gen-east-asian.py` from what MySQL
//! answered: a count, then for each charset its name as a section and a section that is a deflate stream:
//!
//! ```text
//! runs      count, then the distance from the end of the last run, and the length: which codes are characters
//! kinds     section, a u8 per character: 1 it has a code point, 2 its weight is not its code
//! points    section, differences of code points
//! weights   section, differences of weights
//! cases     count, then difference of codes, and of upper and lower case from the code
//! others    count, then difference of code points, and 0 or 1 + the code it becomes
//! ```
//!
//! The weight of a string is one of its characters' weights after the other, each with as many bytes as its number
//! needs; strings compare by these bytes, padded with spaces. Under a `_bin` collation they compare by their own.

use std::sync::LazyLock;

use super::blob::{Blob, Reader};

/// Four-byte codes are counted from here.
const FOUR: u32 = 0x100_0000;
/// Four-byte codes for the basic plane; the other planes follow from number `FOUR_PLANES` on.
const FOUR_BASIC: u32 = 39_420;
const FOUR_PLANES: u32 = 189_000;
const PLANES: u32 = 0x10_0000;
/// Weights of four-byte characters that have no other: from here in the order of their bytes.
const WEIGHT_FOUR: u32 = 0xFF00_0000;

/// No character has this code.
const MALFORMED: u32 = u32::MAX;
/// A character that has no code point is 1 << 31 and its code: equal to itself only, and `?` in every other charset.
const NO_CODE_POINT: u32 = 1 << 31;

#[derive(Default)]
pub(super) struct EastAsian {
    /// Code points by `slot` of the code.
    points: Vec<u32>,
    /// Weights by `slot`, 0 for those that weigh their code; empty if all do.
    weights: Vec<u32>,
    /// Weights of four-byte characters beyond `points`: (code, weight), ascending.
    plane_weights: Vec<(u32, u32)>,
    /// Characters of several bytes compare by their weights, not by their codes.
    weights_are_the_order: bool,
    /// (code, upper, lower), ascending.
    cases: Vec<(u32, u32, u32)>,
    /// (code point, code), ascending, for conversion to this charset.
    codes: Vec<(u32, u32)>,
}

impl std::fmt::Debug for EastAsian {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "EastAsian of {} code points", self.codes.len())
    }
}

/// A charset's table, and whether bytes below 0x80 are ASCII even behind others.
pub(super) fn charset(name: &str) -> Option<(&'static LazyLock<EastAsian>, bool)> {
    TABLES.iter().find(|t| t.0 == name).map(|t| (&t.2, t.1))
}

static TABLES: [(&str, bool, LazyLock<EastAsian>); 9] = [
    ("big5", false, LazyLock::new(|| load("big5"))),
    ("cp932", false, LazyLock::new(|| load("cp932"))),
    ("eucjpms", true, LazyLock::new(|| load("eucjpms"))),
    ("euckr", false, LazyLock::new(|| load("euckr"))),
    ("gb18030", false, LazyLock::new(|| load("gb18030"))),
    ("gb2312", true, LazyLock::new(|| load("gb2312"))),
    ("gbk", false, LazyLock::new(|| load("gbk"))),
    ("sjis", false, LazyLock::new(|| load("sjis"))),
    ("ujis", true, LazyLock::new(|| load("ujis"))),
];

/// Where the tables have a code: two bytes, then those of three after 0x8F, then those of four.
fn slot(code: u32) -> usize {
    match code {
        0..0x1_0000 => code as usize,
        0x1_0000..FOUR => 0x1_0000 + (code & 0xFFFF) as usize,
        _ => 0x2_0000 + (code - FOUR) as usize,
    }
}

fn push_number(n: u32, out: &mut Vec<u8>) {
    let bytes = n.to_be_bytes();
    out.extend_from_slice(&bytes[(n.leading_zeros() as usize / 8).min(3)..]);
}

fn push_code(code: u32, out: &mut Vec<u8>) {
    let Some(number) = code.checked_sub(FOUR) else { return push_number(code, out) };
    let digits = [number / 12_600 + 0x81, number / 1_260 % 10 + 0x30, number / 10 % 126 + 0x81, number % 10 + 0x30];
    out.extend(digits.map(|d| d as u8));
}

impl EastAsian {
    fn point(&self, code: u32) -> u32 {
        let number = code.wrapping_sub(FOUR);
        match self.points.get(slot(code)) {
            Some(point) => *point,
            None if code >= FOUR && !self.points.is_empty() => match number.checked_sub(FOUR_PLANES) {
                Some(point @ 0..PLANES) => 0x1_0000 + point,
                _ => NO_CODE_POINT | code,
            },
            None => MALFORMED,
        }
    }

    /// The code of the first character and its length, or `None` and the length to skip.
    fn first(&self, bytes: &[u8]) -> (Option<u32>, usize) {
        let code = |n: usize| bytes.get(..n).map(|b| b.iter().fold(0, |code, b| code << 8 | u32::from(*b)));
        let is_character = |code: &u32| self.point(*code) != MALFORMED;
        if let Some(one) = code(1).filter(is_character) {
            return (Some(one), 1);
        }
        if let Some(two) = code(2).filter(is_character) {
            return (Some(two), 2);
        }
        match *bytes {
            [0x8F, 0x80..=0xFF, 0x80..=0xFF, ..] if self.points.len() == 0x2_0000 => match code(3).filter(is_character) {
                Some(three) => (Some(three), 3),
                None => (None, 1),
            },
            [a @ 0x81..=0xFE, b @ 0x30..=0x39, c @ 0x81..=0xFE, d @ 0x30..=0x39, ..] if self.points.len() > 0x2_0000 => {
                let digit = |b: u8, first: u8| u32::from(b - first);
                let number = (digit(a, 0x81) * 10 + digit(b, 0x30)) * 1_260 + digit(c, 0x81) * 10 + digit(d, 0x30);
                (Some(FOUR + number), 4)
            }
            _ => (None, 1),
        }
    }

    pub(super) fn decode(&self, bytes: &[u8]) -> (Option<u32>, usize) {
        match bytes.first() {
            Some(b) if *b < 0x80 => (Some(self.point(u32::from(*b))), 1),
            _ => {
                let (code, len) = self.first(bytes);
                (code.map(|code| self.point(code)), len)
            }
        }
    }

    /// Appends a code point; false if the charset lacks it.
    pub(super) fn encode(&self, cp: u32, out: &mut Vec<u8>) -> bool {
        let code = match self.codes.binary_search_by_key(&cp, |e| e.0) {
            Ok(at) => self.codes[at].1,
            Err(_) if cp & NO_CODE_POINT != 0 && self.point(cp & !NO_CODE_POINT) == cp => cp & !NO_CODE_POINT,
            Err(_) if self.points.len() > 0x2_0000 && (0x1_0000..0x11_0000).contains(&cp) => FOUR + FOUR_PLANES + cp - 0x1_0000,
            Err(_) => return false,
        };
        push_code(code, out);
        true
    }

    /// Each character in upper or lower case.
    pub(super) fn map_case(&self, bytes: &[u8], to: fn(&(u32, u32, u32)) -> u32) -> Vec<u8> {
        let mut out = Vec::with_capacity(bytes.len());
        self.for_each(bytes, |code, char| match code.and_then(|code| self.cases.binary_search_by_key(&code, |c| c.0).ok()) {
            Some(at) => push_code(to(&self.cases[at]), &mut out),
            None => out.extend_from_slice(char),
        });
        out
    }

    /// What WEIGHT_STRING() returns under the charset's own collation.
    pub(super) fn weights(&self, bytes: &[u8]) -> Vec<u8> {
        let mut out = Vec::with_capacity(bytes.len() + 4);
        self.for_each(bytes, |code, char| match code {
            Some(code) => push_number(self.weight(code), &mut out),
            None => out.extend_from_slice(char),
        });
        out
    }

    /// What strings are compared by. In big5 that is the code: there WEIGHT_STRING() gives hundreds of characters one
    /// weight, which comparison tells apart. In gb18030 ı weighs as I, but is more than any character of one byte.
    pub(super) fn order(&self, bytes: &[u8]) -> Vec<u8> {
        let mut out = Vec::with_capacity(bytes.len() + 4);
        self.for_each(bytes, |code, char| match code.map(|code| (code, self.weight(code))) {
            Some((code @ 0x100.., _)) if !self.weights_are_the_order => push_code(code, &mut out),
            Some((0x100.., weight @ 0..0x80)) => out.extend_from_slice(&[0x80, weight as u8]),
            Some((_, weight)) => push_number(weight, &mut out),
            None => out.extend_from_slice(char),
        });
        out
    }

    /// Whether LIKE takes two characters for the same.
    pub(super) fn same_char(&self, a: &[u8], b: &[u8]) -> bool {
        if self.weights_are_the_order { self.weights(a) == self.weights(b) } else { self.order(a) == self.order(b) }
    }

    fn weight(&self, code: u32) -> u32 {
        if let Some(weight) = self.weights.get(slot(code)).filter(|w| **w != 0) {
            return *weight;
        }
        if let Ok(at) = self.plane_weights.binary_search_by_key(&code, |w| w.0) {
            return self.plane_weights[at].1;
        }
        match code {
            0..FOUR => code,
            _ if code >= FOUR + FOUR_PLANES + PLANES => u32::MAX,
            _ => WEIGHT_FOUR + (code - FOUR),
        }
    }

    fn for_each<'a>(&self, mut bytes: &'a [u8], mut f: impl FnMut(Option<u32>, &'a [u8])) {
        while !bytes.is_empty() {
            let (code, len) = self.first(bytes);
            let (char, rest) = bytes.split_at(len.min(bytes.len()));
            f(code, char);
            bytes = rest;
        }
    }
}

fn load(name: &str) -> EastAsian {
    let mut file = Reader::new(include_bytes!("data/east_asian.z"));
    for _ in 0..file.varint() {
        let found = file.text() == name;
        let len = file.varint() as usize;
        let packed = file.bytes(len);
        if found {
            return EastAsian { weights_are_the_order: name != "big5", ..read(&mut Blob::inflate(packed).reader()) };
        }
    }
    EastAsian::default()
}

fn read(r: &mut Reader<'_>) -> EastAsian {
    let mut codes = Vec::new();
    let mut end = 0;
    for _ in 0..r.varint() {
        let first = end + r.varint();
        end = first + r.varint();
        codes.extend(first..end);
    }
    let slots = match codes.last() {
        Some(FOUR..) => 0x2_0000 + FOUR_BASIC as usize,
        Some(0x1_0000..) => 0x2_0000,
        _ => 0x1_0000,
    };
    let (mut kinds, mut points, mut weights) = (r.section(), r.section(), r.section());
    let mut table = EastAsian { points: vec![MALFORMED; slots], ..EastAsian::default() };
    let (mut point, mut weight) = (0i32, 0i32);
    for code in codes {
        let kind = kinds.u8();
        if kind & 1 != 0 {
            point += points.signed();
        }
        if kind & 2 != 0 {
            weight = weight.wrapping_add(weights.signed());
        }
        // Of other planes only those are listed that weigh or map otherwise than their number says.
        let Some(entry) = table.points.get_mut(slot(code)) else {
            if kind & 2 != 0 {
                table.plane_weights.push((code, weight as u32));
            }
            continue;
        };
        *entry = NO_CODE_POINT | code;
        if kind & 1 != 0 {
            *entry = point as u32;
            table.codes.push((point as u32, code));
        }
        if kind & 2 != 0 {
            table.weights.resize(slots, 0);
            table.weights[slot(code)] = weight as u32;
        }
    }
    let mut code = 0;
    for _ in 0..r.varint() {
        code += r.varint();
        let (upper, lower) = (code as i32 + r.signed(), code as i32 + r.signed());
        table.cases.push((code, upper as u32, lower as u32));
    }
    // The smallest code of those with the same code point; the sort is stable.
    table.codes.sort_by_key(|c| c.0);
    table.codes.dedup_by_key(|c| c.0);
    read_other_codes(r, &mut table.codes);
    table
}

fn read_other_codes(r: &mut Reader<'_>, codes: &mut Vec<(u32, u32)>) {
    let mut cp = 0;
    for _ in 0..r.varint() {
        cp += r.varint();
        let code = r.varint().checked_sub(1);
        match (codes.binary_search_by_key(&cp, |e| e.0), code) {
            (Ok(at), Some(code)) => codes[at].1 = code,
            (Ok(at), None) => drop(codes.remove(at)),
            (Err(at), Some(code)) => codes.insert(at, (cp, code)),
            (Err(_), None) => (),
        }
    }
}
