//! UPPER and LOWER: one character becomes one character, as MySQL maps them.
//!
//! Unicode charsets have three sets of mappings, by the collation's age: that of
//! `general_ci` and `unicode_ci`, of Unicode 5.2 and of Unicode 9.0; `turkish_ci` has its own i. 8-bit charsets
//! have a table each. Binary strings stay as they are.

use std::sync::LazyLock;

use super::Collation;
use super::blob::Reader;
use super::codec::Encoding;
use super::collation::Order;
use super::general;

/// (code point, upper, lower), ascending; characters without another case are left out.
pub(super) type CaseTable = Vec<(u32, u32, u32)>;

static TABLES: LazyLock<[CaseTable; 4]> = LazyLock::new(|| {
    let [general, unicode520, unicode900] = general::unicode_tables().cases;
    let mut turkish = general.clone();
    for row in &mut turkish {
        match row.0 {
            DOTTED_SMALL => row.1 = DOTTED_CAPITAL,
            DOTLESS_CAPITAL => row.2 = DOTLESS_SMALL,
            _ => (),
        }
    }
    [general, unicode520, unicode900, turkish]
});

const DOTTED_SMALL: u32 = 'i' as u32;
const DOTTED_CAPITAL: u32 = 'İ' as u32;
const DOTLESS_SMALL: u32 = 'ı' as u32;
const DOTLESS_CAPITAL: u32 = 'I' as u32;

/// Which set of mappings a Unicode collation uses.
#[derive(Clone, Copy, Debug)]
pub(super) enum CaseMap {
    General = 0,
    Unicode520 = 1,
    Unicode900 = 2,
    /// As `General`, but i is the small letter of İ, and I the capital of ı.
    Turkish = 3,
}

pub(super) fn read_table(r: &mut Reader<'_>) -> CaseTable {
    let (count, mut cp) = (r.varint(), 0);
    let mut table = CaseTable::with_capacity(count as usize);
    for _ in 0..count {
        cp += r.varint();
        let (upper, lower) = (cp as i32 + r.signed(), cp as i32 + r.signed());
        table.push((cp, upper as u32, lower as u32));
    }
    table
}

impl Collation {
    pub fn upper(&self, bytes: &[u8]) -> Vec<u8> {
        match self.order {
            Order::Special(special) => bytes.iter().map(|b| special.upper(*b)).collect(),
            _ => self.map_case(bytes, u8::to_ascii_uppercase, |t| &t.upper, |e| e.1),
        }
    }

    pub fn lower(&self, bytes: &[u8]) -> Vec<u8> {
        match self.order {
            Order::Special(special) => bytes.iter().map(|b| special.lower(*b)).collect(),
            _ => self.map_case(bytes, u8::to_ascii_lowercase, |t| &t.lower, |e| e.2),
        }
    }

    fn map_case(
        &self,
        bytes: &[u8],
        ascii: fn(&u8) -> u8,
        single: fn(&super::single_byte::SingleByte) -> &[u8; 256],
        wide: fn(&(u32, u32, u32)) -> u32,
    ) -> Vec<u8> {
        let encoding = self.charset.encoding;
        match encoding {
            Encoding::Binary | Encoding::Unsupported => bytes.to_vec(),
            Encoding::Single(t) | Encoding::Ascii(t) => bytes.iter().map(|b| single(t)[*b as usize]).collect(),
            Encoding::EastAsian(t, _) if matches!(self.case_map, CaseMap::General) => t.map_case(bytes, wide),
            _ if !matches!(self.case_map, CaseMap::Turkish) && encoding.ascii_compatible() && bytes.is_ascii() => {
                bytes.iter().map(ascii).collect()
            }
            _ => {
                let table = &TABLES[self.case_map as usize];
                let mut out = Vec::with_capacity(bytes.len());
                for c in self.charset.chars(bytes) {
                    let mapped =
                        c.code_point.and_then(|cp| table.binary_search_by_key(&cp, |e| e.0).ok()).map(|at| wide(&table[at]));
                    if !mapped.is_some_and(|cp| encoding.encode(cp, &mut out)) {
                        out.extend_from_slice(c.bytes);
                    }
                }
                out
            }
        }
    }
}
