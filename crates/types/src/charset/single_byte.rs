//! The 8-bit charsets and their collations: one table of 256 entries each.
//!
//! `data/single_byte.z`: count of charsets, for each its name and 256 times
//! (Unicode, upper, lower); count of collations, for each its id and 256 weights.
//! Collations with more than one level or with expansions are not among them.

use std::sync::LazyLock;

use super::blob::Blob;

/// A byte that stands for no character.
const NO_CHARACTER: u16 = 0xFFFF;

#[derive(Debug)]
pub(super) struct SingleByte {
    name: String,
    unicode: [u16; 256],
    /// (code point, byte), ascending, for conversion to this charset.
    bytes: Vec<(u16, u8)>,
    pub(super) upper: [u8; 256],
    pub(super) lower: [u8; 256],
    /// The lower 128 bytes are ASCII (not so in swe7).
    pub(super) ascii_compatible: bool,
}

impl SingleByte {
    pub(super) fn decode(&self, byte: u8) -> Option<u32> {
        let cp = self.unicode[byte as usize];
        (cp != NO_CHARACTER).then_some(u32::from(cp))
    }

    pub(super) fn encode(&self, cp: u32) -> Option<u8> {
        let cp = u16::try_from(cp).ok()?;
        self.bytes.binary_search_by_key(&cp, |e| e.0).ok().map(|at| self.bytes[at].1)
    }
}

struct Tables {
    charsets: Vec<SingleByte>,
    weights: Vec<(u16, [u8; 256])>,
}

static TABLES: LazyLock<Tables> = LazyLock::new(load);

pub(super) fn charset(name: &str) -> Option<&'static SingleByte> {
    TABLES.charsets.iter().find(|c| c.name == name)
}

pub(super) fn weights(collation: u16) -> Option<&'static [u8; 256]> {
    TABLES.weights.iter().find(|w| w.0 == collation).map(|w| &w.1)
}

fn load() -> Tables {
    let blob = Blob::inflate(include_bytes!("data/single_byte.z"));
    let mut r = blob.reader();
    let mut charsets = Vec::new();
    for _ in 0..r.varint() {
        let name = r.text().to_string();
        let (mut unicode, mut upper, mut lower) = ([0; 256], [0; 256], [0; 256]);
        for b in 0..256 {
            unicode[b] = r.u16();
            upper[b] = r.u8();
            lower[b] = r.u8();
        }
        let mut bytes: Vec<(u16, u8)> =
            unicode.iter().zip(0..=255).filter(|(u, _)| **u != NO_CHARACTER).map(|(u, b)| (*u, b)).collect();
        bytes.sort_unstable();
        bytes.dedup_by_key(|e| e.0);
        let ascii_compatible = unicode[..128].iter().zip(0..128).all(|(u, b)| *u == b);
        charsets.push(SingleByte { name, unicode, bytes, upper, lower, ascii_compatible });
    }
    let mut weights = Vec::new();
    for _ in 0..r.varint() {
        let id = r.varint() as u16;
        let mut table = [0; 256];
        table.copy_from_slice(r.bytes(256));
        weights.push((id, table));
    }
    Tables { charsets, weights }
}
