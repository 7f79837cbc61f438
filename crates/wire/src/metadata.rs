//! From a `ColumnType` to the numbers of a column definition: type byte, character set, display length in
//! bytes, flags and decimals, as MySQL reports them for a column of that type.
//!
//! What is not of the type (NOT NULL, keys, AUTO_INCREMENT, NO_DEFAULT_VALUE) the caller adds to the flags. Strings
//! are announced in the character set in which they are sent, so VARCHAR(20) has length 80 for a utf8mb4 client and 20 for a latin1 one:
//! ```text
//! VARCHAR(20) latin1, SET NAMES utf8mb4   ->  253, collation 255, length 80
//! TEXT                                    ->  252 with BLOB flag, length 262140
//! ```

use vaquita_types::charset::CollationId;
use vaquita_types::{ColumnType, TypeKind};

use crate::caps::{column_flag, mysql_type};
use crate::result::ColumnDefinition;

/// `character_set_results` as far as definitions need it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ResultCharset {
    /// Default collation of the character set, or the connection's collation.
    pub collation: u16,
    /// Bytes of its longest character: 4 for utf8mb4.
    pub char_bytes_max: u32,
}

/// Numbers of a column definition. `results` is `None` for `character_set_results` NULL or binary: strings then keep the
/// character set of their column, whose longest character has `own_char_bytes_max` bytes.
pub fn column_definition(
    column_type: &ColumnType,
    results: Option<ResultCharset>,
    own_char_bytes_max: u32,
) -> ColumnDefinition<'static> {
    let has_charset = has_charset(column_type);
    let (charset, char_bytes_max) = match results {
        Some(results) if has_charset => (results.collation, results.char_bytes_max),
        _ => (column_type.collation.0, own_char_bytes_max),
    };
    ColumnDefinition {
        charset: if has_charset { charset } else { CollationId::BINARY.0 },
        length: byte_length(column_type, char_bytes_max, has_charset),
        column_type: type_code(column_type.kind),
        flags: type_flags(column_type),
        decimals: if column_type.is_geometry() { 0 } else { column_type.decimals },
        ..ColumnDefinition::default()
    }
}

fn has_charset(column_type: &ColumnType) -> bool {
    let is_text = column_type.is_bytes() || matches!(column_type.kind, TypeKind::Enum | TypeKind::Set);
    is_text && column_type.collation != CollationId::BINARY && (column_type.kind as u8) != TypeKind::Binary as u8
}

/// The type byte in a definition. VARCHAR is sent as VAR_STRING, every TEXT and BLOB as BLOB, ENUM and SET as STRING.
pub fn type_code(kind: TypeKind) -> u8 {
    match kind {
        TypeKind::Null => mysql_type::NULL,
        TypeKind::TinyInt => mysql_type::TINY,
        TypeKind::SmallInt => mysql_type::SHORT,
        TypeKind::MediumInt => mysql_type::INT24,
        TypeKind::Int => mysql_type::LONG,
        TypeKind::BigInt => mysql_type::LONGLONG,
        TypeKind::Decimal => mysql_type::NEWDECIMAL,
        TypeKind::Float => mysql_type::FLOAT,
        TypeKind::Double => mysql_type::DOUBLE,
        TypeKind::Bit => mysql_type::BIT,
        TypeKind::Year => mysql_type::YEAR,
        TypeKind::Date => mysql_type::DATE,
        TypeKind::Time => mysql_type::TIME,
        TypeKind::DateTime => mysql_type::DATETIME,
        TypeKind::Timestamp => mysql_type::TIMESTAMP,
        TypeKind::VarChar | TypeKind::VarBinary => mysql_type::VAR_STRING,
        TypeKind::Char | TypeKind::Binary | TypeKind::Enum | TypeKind::Set => mysql_type::STRING,
        TypeKind::TinyText
        | TypeKind::Text
        | TypeKind::MediumText
        | TypeKind::LongText
        | TypeKind::TinyBlob
        | TypeKind::Blob
        | TypeKind::MediumBlob
        | TypeKind::LongBlob => mysql_type::BLOB,
        TypeKind::Json => mysql_type::JSON,
        TypeKind::Geometry => mysql_type::GEOMETRY,
        TypeKind::Vector => mysql_type::VECTOR,
    }
}

/// Bytes that the longest value takes, capped at what 32 bits hold.
fn byte_length(column_type: &ColumnType, char_bytes_max: u32, has_charset: bool) -> u32 {
    let length = column_type.length;
    let fsp = u32::from(column_type.decimals);
    let fraction = if fsp > 0 { fsp + 1 } else { 0 };
    match column_type.kind {
        TypeKind::Null => 0,
        TypeKind::Decimal => length + u32::from(fsp > 0) + u32::from(!column_type.unsigned),
        TypeKind::Year => 4,
        TypeKind::Date => 10,
        TypeKind::Time => 10 + fraction,
        TypeKind::DateTime | TypeKind::Timestamp => 19 + fraction,
        TypeKind::Json | TypeKind::Geometry => u32::MAX,
        TypeKind::Enum => label_chars(column_type).max().unwrap_or(0).saturating_mul(char_bytes_max),
        TypeKind::Set => {
            let commas = label_chars(column_type).count().saturating_sub(1) as u32;
            (label_chars(column_type).sum::<u32>() + commas).saturating_mul(char_bytes_max)
        }
        _ if has_charset => length.saturating_mul(char_bytes_max),
        _ => length,
    }
}

fn label_chars(column_type: &ColumnType) -> impl Iterator<Item = u32> {
    let labels = column_type.members.as_deref().unwrap_or_default();
    labels.iter().map(|label| match std::str::from_utf8(label) {
        Ok(text) => text.chars().count() as u32,
        Err(_) => label.len() as u32,
    })
}

fn type_flags(column_type: &ColumnType) -> u16 {
    let kind = column_type.kind;
    let mut flags = 0;
    if column_type.unsigned || matches!(kind, TypeKind::Bit | TypeKind::Year) {
        flags |= column_flag::UNSIGNED;
    }
    if column_type.zerofill {
        flags |= column_flag::ZEROFILL | column_flag::UNSIGNED;
    }
    if kind == TypeKind::Year {
        flags |= column_flag::ZEROFILL;
    }
    if column_type.is_blob() {
        flags |= column_flag::BLOB;
    }
    if kind == TypeKind::Enum {
        flags |= column_flag::ENUM;
    }
    if kind == TypeKind::Set {
        flags |= column_flag::SET;
    }
    if is_binary_ordered(column_type) {
        flags |= column_flag::BINARY;
    }
    flags
}

/// Temporal types, JSON and strings that compare by their bytes.
fn is_binary_ordered(column_type: &ColumnType) -> bool {
    column_type.is_temporal()
        || matches!(column_type.kind, TypeKind::Json | TypeKind::Geometry | TypeKind::Null)
        || ((column_type.is_bytes() || matches!(column_type.kind, TypeKind::Enum | TypeKind::Set))
            && is_bin(column_type.collation))
}

fn is_bin(collation: CollationId) -> bool {
    matches!(
        collation,
        CollationId::BINARY
            | CollationId::ASCII_BIN
            | CollationId::LATIN1_BIN
            | CollationId::UTF8MB3_BIN
            | CollationId::UTF8MB4_BIN
            | CollationId::UTF8MB4_0900_BIN
    )
}
