//! The types of columns as InnoDB numbers them, and the bytes that its rows have for them.

use vaquita_types::charset::{self, CollationId};
use vaquita_types::schema::ColumnDef;
use vaquita_types::{ColumnType, TypeKind};

pub(super) fn is_virtual(column: &ColumnDef) -> bool {
    column.generated.as_ref().is_some_and(|generated| !generated.stored)
}

/// InnoDB's main types: INT 6, FLOAT 9, DOUBLE 10, and those of bytes and texts.
pub(super) fn main_type(ty: &ColumnType) -> u64 {
    const FIXED_BINARY: u64 = 3;
    match ty.kind {
        TypeKind::Float => 9,
        TypeKind::Double => 10,
        TypeKind::Char if ty.collation == CollationId::LATIN1_SWEDISH_CI => 2,
        TypeKind::VarChar if ty.collation == CollationId::LATIN1_SWEDISH_CI => 1,
        TypeKind::Char => 13,
        TypeKind::VarChar => 12,
        TypeKind::VarBinary => 4,
        TypeKind::Geometry => 14,
        TypeKind::Decimal | TypeKind::Binary | TypeKind::Bit => FIXED_BINARY,
        TypeKind::Time | TypeKind::DateTime | TypeKind::Timestamp => FIXED_BINARY,
        TypeKind::Json | TypeKind::Vector => 5,
        _ if is_text(ty) || is_bytes(ty) => 5,
        _ => 6,
    }
}

/// The type of MySQL's field, with InnoDB's bits and the collation above them.
pub(super) fn precise_type(column: &ColumnDef) -> u64 {
    const NOT_NULL: u64 = 256;
    const UNSIGNED: u64 = 512;
    const BINARY: u64 = 1024;
    const LONG_VARCHAR: u64 = 4096;
    const VIRTUAL: u64 = 8192;
    const LATIN1: u64 = 8;
    let ty = &column.ty;
    let field = match ty.kind {
        TypeKind::Null => 6,
        TypeKind::TinyInt => 1,
        TypeKind::SmallInt => 2,
        TypeKind::MediumInt => 9,
        TypeKind::Int => 3,
        TypeKind::BigInt => 8,
        TypeKind::Decimal => 246,
        TypeKind::Float => 4,
        TypeKind::Double => 5,
        TypeKind::Bit => 16,
        TypeKind::Year => 13,
        TypeKind::Date => 10,
        TypeKind::Time => 11,
        TypeKind::DateTime => 12,
        TypeKind::Timestamp => 7,
        TypeKind::VarChar | TypeKind::VarBinary => 15,
        TypeKind::TinyText | TypeKind::TinyBlob => 249,
        TypeKind::Text | TypeKind::Blob => 252,
        TypeKind::MediumText | TypeKind::MediumBlob => 250,
        TypeKind::LongText | TypeKind::LongBlob => 251,
        TypeKind::Char | TypeKind::Binary | TypeKind::Enum | TypeKind::Set => 254,
        TypeKind::Json => 245,
        TypeKind::Geometry => 255,
        TypeKind::Vector => 242,
    };
    let collation = match ty.kind {
        TypeKind::Decimal | TypeKind::Time | TypeKind::DateTime | TypeKind::Timestamp => LATIN1,
        TypeKind::Bit | TypeKind::Vector => CollationId::BINARY.0.into(),
        TypeKind::Json => CollationId::UTF8MB4_BIN.0.into(),
        _ if is_text(ty) || is_bytes(ty) => ty.collation.0.into(),
        _ => 0,
    };
    let is_binary = !is_text(ty) && !matches!(ty.kind, TypeKind::Enum | TypeKind::Set);
    let is_unsigned = ty.unsigned || matches!(ty.kind, TypeKind::Enum | TypeKind::Set | TypeKind::Year | TypeKind::Bit);
    let is_long = ty.kind == TypeKind::VarChar && bytes_max(ty) > 255;
    let bits = [(!column.nullable, NOT_NULL), (is_unsigned, UNSIGNED), (is_binary, BINARY), (is_long, LONG_VARCHAR)];
    let bits = bits.into_iter().chain([(is_virtual(column), VIRTUAL)]);
    field | bits.filter(|(is_set, _)| *is_set).map(|(_, bit)| bit).sum::<u64>() | collation << 16
}

fn is_text(ty: &ColumnType) -> bool {
    use TypeKind::{Char, LongText, MediumText, Text, TinyText, VarChar};
    matches!(ty.kind, Char | VarChar | TinyText | Text | MediumText | LongText)
}

fn is_bytes(ty: &ColumnType) -> bool {
    use TypeKind::{Binary, Blob, LongBlob, MediumBlob, TinyBlob, VarBinary};
    matches!(ty.kind, Binary | VarBinary | TinyBlob | Blob | MediumBlob | LongBlob)
}

/// The bytes that a value may have in a row of InnoDB.
pub(super) fn bytes_max(ty: &ColumnType) -> u64 {
    let fraction = u64::from(ty.decimals).min(6).div_ceil(2);
    match ty.kind {
        TypeKind::Null => 0,
        TypeKind::TinyInt | TypeKind::Year => 1,
        TypeKind::SmallInt => 2,
        TypeKind::MediumInt | TypeKind::Date => 3,
        TypeKind::Int | TypeKind::Float => 4,
        TypeKind::BigInt | TypeKind::Double => 8,
        TypeKind::Decimal => {
            let digits = |count: u64| count / 9 * 4 + (count % 9).div_ceil(2);
            let scale = u64::from(ty.decimals);
            digits(u64::from(ty.length).saturating_sub(scale)) + digits(scale)
        }
        TypeKind::Bit => u64::from(ty.length).div_ceil(8),
        TypeKind::Time => 3 + fraction,
        TypeKind::DateTime => 5 + fraction,
        TypeKind::Timestamp => 4 + fraction,
        TypeKind::Char | TypeKind::VarChar => u64::from(ty.length) * u64::from(charset::charset(ty.collation).mbmaxlen),
        TypeKind::Binary | TypeKind::VarBinary => u64::from(ty.length),
        // A length and a pointer.
        TypeKind::TinyText | TypeKind::TinyBlob => 9,
        TypeKind::Text | TypeKind::Blob => 10,
        TypeKind::MediumText | TypeKind::MediumBlob => 11,
        TypeKind::LongText | TypeKind::LongBlob | TypeKind::Json | TypeKind::Geometry | TypeKind::Vector => 12,
        TypeKind::Enum => {
            if ty.members.as_deref().map_or(0, <[_]>::len) < 256 {
                1
            } else {
                2
            }
        }
        TypeKind::Set => match ty.members.as_deref().map_or(0, <[_]>::len).div_ceil(8) {
            bytes @ 0..=4 => bytes as u64,
            _ => 8,
        },
    }
}
