//! Character sets and collations: names, conversion, comparison, sort keys, LIKE.
//!
//! A string is bytes plus a `CollationId`; the collation implies the charset:
//!
//! ```
//! use vaquita_types::charset::{CollationId, collation};
//! let c = collation(CollationId::UTF8MB4_0900_AI_CI);
//! assert!(c.equal("Straße".as_bytes(), "STRASSE".as_bytes()));
//! assert_eq!(c.charset.char_count("ß".as_bytes()), 1);
//! ```
//!
//! `codec` knows the bytes of each charset, `collation` compares, `key` describes sort
//! keys, `like` matches and searches, `case` maps case. The data behind them was
//! recorded from MySQL (`tools/gen-charset-data.py`), so that strings order here as there:
//! `uca` the Unicode Collation Algorithm's weights, `tailoring` what languages change in them,
//! `general` those of `general_ci` and its likes, `single_byte` the 8-bit charsets, `special` those of
//! their collations that are no table, `east_asian` the multi-byte charsets, `words` what full-text search takes for a word, `tables` every name of
//! SHOW COLLATION. Every table is loaded when a collation first needs it.

mod blob;
mod case;
mod codec;
mod collation;
mod east_asian;
mod general;
#[cfg(test)]
mod golden;
#[cfg(test)]
mod golden_answers;
mod id;
mod key;
mod like;
mod single_byte;
mod special;
mod tables;
mod tailoring;
mod uca;
mod words;

use std::collections::HashMap;
use std::sync::LazyLock;

pub use codec::{Char, Chars, Converted};
pub use collation::{Collation, HashedBy};
pub use id::CollationId;
pub use like::{LIKE_ESCAPE, LikePattern};
pub use words::{NGRAM_CHARS, STOP_WORDS, TextParser, Tokens, WORD_CHARS_MAX, WORD_CHARS_MIN, Word, Words};

use case::CaseMap;
use codec::Encoding;
use collation::Order;
use special::Special;

/// A row of SHOW CHARACTER SET.
pub struct Charset {
    pub name: &'static str,
    pub description: &'static str,
    pub default_collation: CollationId,
    /// Bytes of the longest character.
    pub mbmaxlen: u8,
    /// Bytes of the shortest character.
    pub mbminlen: u8,
    encoding: Encoding,
}

impl Charset {
    /// By name without regard to case; `utf8` is `utf8mb3`. `_name` of an introducer without the `_`.
    pub fn by_name(name: &str) -> Option<&'static Charset> {
        let name = if name.eq_ignore_ascii_case("utf8") { "utf8mb3" } else { name };
        CHARSETS.iter().find(|c| c.name.eq_ignore_ascii_case(name))
    }

    /// All charsets, ascending by name.
    pub fn all() -> impl Iterator<Item = &'static Charset> {
        CHARSETS.iter()
    }

    /// Strings in it can be checked and converted.
    pub fn is_supported(&self) -> bool {
        !matches!(self.encoding, Encoding::Unsupported)
    }

    /// Whether MySQL warns where `name` is written as the name of a charset (1287).
    pub fn is_deprecated(name: &str) -> bool {
        ["dec8", "hp8", "macce", "macroman", "ucs2", "utf8mb3"].iter().any(|deprecated| deprecated.eq_ignore_ascii_case(name))
    }

    pub fn is_binary(&self) -> bool {
        matches!(self.encoding, Encoding::Binary)
    }

    /// A charset of all of Unicode, or of its basic plane.
    pub fn is_unicode(&self) -> bool {
        matches!(self.encoding, Encoding::Utf8(_) | Encoding::Ucs2 | Encoding::Utf16Be | Encoding::Utf16Le | Encoding::Utf32)
    }

    /// Bytes below 0x80 are ASCII: SQL text may be in it.
    pub fn is_ascii_compatible(&self) -> bool {
        self.encoding.ascii_compatible()
    }

    /// Statements may be sent in it: their ASCII characters, if no part of others, are ASCII.
    pub fn may_be_client(&self) -> bool {
        self.is_ascii_compatible() || matches!(self.encoding, Encoding::EastAsian(..))
    }

    /// Its `_bin` collation; `binary` of the binary charset.
    pub fn bin_collation(&self) -> CollationId {
        let bin = |c: &&Collation| c.charset.name == self.name && (c.name.ends_with("_bin") && !c.name.ends_with("_0900_bin"));
        COLLATIONS.iter().find(bin).map_or(CollationId::BINARY, |c| c.id)
    }
}

/// The collation of an id; an id that MySQL does not have is taken for `binary`.
#[inline]
pub fn collation(id: CollationId) -> &'static Collation {
    let collations: &'static Vec<Collation> = &COLLATIONS;
    let at = BY_ID.get(id.0 as usize).copied().unwrap_or(NO_COLLATION);
    collations.get(at as usize).unwrap_or(&collations[BY_ID[CollationId::BINARY.0 as usize] as usize])
}

/// The charset of a collation's strings.
#[inline]
pub fn charset(id: CollationId) -> &'static Charset {
    collation(id).charset
}

impl Collation {
    pub fn by_id(id: CollationId) -> Option<&'static Collation> {
        COLLATIONS.get(*BY_ID.get(id.0 as usize)? as usize)
    }

    /// By name without regard to case; `utf8_…` is `utf8mb3_…`.
    pub fn by_name(name: &str) -> Option<&'static Collation> {
        let mut name = name.to_ascii_lowercase();
        if let Some(rest) = name.strip_prefix("utf8_") {
            name = format!("utf8mb3_{rest}");
        }
        BY_NAME.get(name.as_str()).map(|at| &COLLATIONS[*at])
    }

    /// All collations, ascending by id.
    pub fn all() -> impl Iterator<Item = &'static Collation> {
        COLLATIONS.iter()
    }
}

static CHARSETS: LazyLock<Vec<Charset>> = LazyLock::new(|| {
    let row = |&(name, default, description, mbmaxlen): &(&'static str, u16, &'static str, u8)| Charset {
        name,
        description,
        default_collation: CollationId(default),
        mbmaxlen,
        mbminlen: match name {
            "ucs2" | "utf16" | "utf16le" => 2,
            "utf32" => 4,
            _ => 1,
        },
        encoding: encoding(name),
    };
    tables::CHARSETS.iter().map(row).collect()
});

static COLLATIONS: LazyLock<Vec<Collation>> = LazyLock::new(|| {
    let row = |&(id, name, charset, is_default, sort_length, pad_space): &(u16, &'static str, &str, bool, u8, bool)| {
        let charset = CHARSETS.iter().find(|c| c.name == charset)?;
        let order = order(id, name, charset);
        Some(Collation {
            id: CollationId(id),
            name,
            charset,
            is_default,
            sort_length,
            pad_space,
            order,
            case_map: case_map(name),
        })
    };
    tables::COLLATIONS.iter().filter_map(row).collect()
});

static BY_NAME: LazyLock<HashMap<&'static str, usize>> =
    LazyLock::new(|| COLLATIONS.iter().enumerate().map(|(at, c)| (c.name, at)).collect());

const NO_COLLATION: u16 = u16::MAX;

/// Positions in `COLLATIONS` by id; the ids of MySQL stay below 324.
static BY_ID: [u16; 324] = {
    let mut by_id = [NO_COLLATION; 324];
    let mut at = 0;
    while at < tables::COLLATIONS.len() {
        by_id[tables::COLLATIONS[at].0 as usize] = at as u16;
        at += 1;
    }
    by_id
};

fn encoding(name: &str) -> Encoding {
    match name {
        "binary" => Encoding::Binary,
        "utf8mb4" => Encoding::Utf8(4),
        "utf8mb3" => Encoding::Utf8(3),
        "ucs2" => Encoding::Ucs2,
        "utf16" => Encoding::Utf16Be,
        "utf16le" => Encoding::Utf16Le,
        "utf32" => Encoding::Utf32,
        "ascii" => single_byte::charset(name).map_or(Encoding::Unsupported, Encoding::Ascii),
        _ => match (single_byte::charset(name), east_asian::charset(name)) {
            (Some(table), _) => Encoding::Single(table),
            (None, Some((table, ascii_compatible))) => Encoding::EastAsian(table, ascii_compatible),
            (None, None) => Encoding::Unsupported,
        },
    }
}

fn order(id: u16, name: &str, charset: &Charset) -> Order {
    let suffix = name.strip_prefix(charset.name).unwrap_or("");
    match suffix {
        _ if !charset.is_supported() => Order::Unsupported,
        "" | "_0900_bin" => Order::Bytes,
        "_bin" => Order::CodePoints,
        "_unicode_520_ci" => Order::Uca(&uca::UCA520, 1),
        _ if !charset.is_unicode() => match (charset.encoding, Special::by_name(name), single_byte::weights(id)) {
            (Encoding::EastAsian(table, _), ..) => Order::EastAsian(table),
            (_, Some(special), _) => Order::Special(special),
            (_, None, Some(weights)) => Order::Table(weights),
            (_, None, None) => Order::Unsupported,
        },
        "_general_ci" => Order::General(&general::GENERAL),
        "_general_mysql500_ci" => Order::General(&general::GENERAL500),
        "_tolower_ci" => Order::General(&general::TOLOWER),
        "_unicode_ci" => Order::Uca(&uca::UCA400, 1),
        "_0900_ai_ci" => Order::Uca(&uca::UCA900, 1),
        "_0900_as_ci" => Order::Uca(&uca::UCA900, 2),
        "_0900_as_cs" => Order::Uca(&uca::UCA900, 3),
        _ => tailoring::table(suffix).map_or(Order::Unsupported, |(table, levels)| Order::Uca(table, levels)),
    }
}

fn case_map(name: &str) -> CaseMap {
    if name.contains("_0900_") {
        CaseMap::Unicode900
    } else if name.contains("_520_") {
        CaseMap::Unicode520
    } else if name.ends_with("_turkish_ci") {
        CaseMap::Turkish
    } else {
        CaseMap::General
    }
}
