//! `general_ci`: one 16-bit weight per character, upper case without accents.
//!
//! `data/unicode.z`: the code points whose weight differs from themselves, then the
//! three sets of case mappings (see `case`). Beyond the basic plane every character
//! weighs the same.

use std::sync::LazyLock;

use super::blob::Blob;
use super::case::{CaseTable, read_table};
use super::key::Coder;

/// The weight of every character beyond U+FFFF.
const SUPPLEMENTARY: u16 = 0xFFFD;

pub(super) struct GeneralTable {
    /// By code point up to U+FFFF.
    weights: Box<[u16]>,
    pub(super) coder: Coder,
}

pub(super) static GENERAL: LazyLock<GeneralTable> = LazyLock::new(|| unicode_tables().general);

/// `general_mysql500_ci` and `tolower_ci`: as `general_ci`, but for the weights in `data/general.z`, two lists of
/// a count, and for each code point the difference from the one before and its weight.
pub(super) static GENERAL500: LazyLock<GeneralTable> = LazyLock::new(|| like_general(0));
pub(super) static TOLOWER: LazyLock<GeneralTable> = LazyLock::new(|| like_general(1));

fn like_general(list: usize) -> GeneralTable {
    let blob = Blob::inflate(include_bytes!("data/general.z"));
    let mut r = blob.reader();
    let mut weights = GENERAL.weights.clone();
    for at in 0..=list {
        let mut cp = 0;
        for _ in 0..r.varint() {
            cp += r.varint() as usize;
            let weight = r.varint() as u16;
            if let Some(w) = weights.get_mut(cp).filter(|_| at == list) {
                *w = weight;
            }
        }
    }
    GeneralTable::new(weights)
}

impl GeneralTable {
    fn new(weights: Box<[u16]>) -> GeneralTable {
        let coder = Coder::general(|cp| weights.get(cp as usize).copied().unwrap_or(SUPPLEMENTARY));
        GeneralTable { weights, coder }
    }

    #[inline]
    pub(super) fn weight(&self, cp: u32) -> u16 {
        self.weights.get(cp as usize).copied().unwrap_or(SUPPLEMENTARY)
    }
}

pub(super) struct UnicodeTables {
    pub(super) general: GeneralTable,
    pub(super) cases: [CaseTable; 3],
}

pub(super) fn unicode_tables() -> UnicodeTables {
    let blob = Blob::inflate(include_bytes!("data/unicode.z"));
    let mut r = blob.reader();
    let mut weights: Box<[u16]> = (0..=0xFFFF).collect();
    let mut cp = 0i32;
    for _ in 0..r.varint() {
        cp += r.varint() as i32;
        let weight = cp + r.signed();
        if let Some(w) = weights.get_mut(cp as usize) {
            *w = weight as u16;
        }
    }
    let cases = [read_table(&mut r), read_table(&mut r), read_table(&mut r)];
    UnicodeTables { general: GeneralTable::new(weights), cases }
}
