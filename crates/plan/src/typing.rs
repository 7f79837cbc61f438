//! How MySQL types expressions: which type a comparison, a CASE, a UNION or an addition has.
//!
//! `compare` builds typed comparisons, `merge` finds the common type of alternatives,
//! `collate` decides which collation wins. This file has what they share: in which class
//! of numbers a type calculates, how many digits and characters it may have, and `cast_to`.
//! Nothing here evaluates anything but the constants that MySQL too converts while planning.

mod assigned;
mod between;
mod build;
mod call;
mod cast;
mod collate;
mod compare;
mod conversion;
mod geometry;
mod merge;
mod stored;
mod truths;
mod vectors;

use vaquita_types::charset::CollationId;
use vaquita_types::datatype::DECIMALS_NOT_FIXED;
use vaquita_types::{ColumnType, TypeKind, Value};

pub use assigned::assigned;
pub use between::between;
pub use build::{as_string, case, convert_using, cut_behind_null, with_collation};
pub use call::{as_decimal, as_integer, as_moment, as_number, call, checked_integer, quiet_number};
pub(crate) use call::{integers_of, moments_of};
pub use cast::explicit_cast;
pub use collate::{
    Collated, aggregate_collations, check_constant, convert_charset, mix_error, parameter_chars, string_collation,
};
pub use compare::{
    adapt_constants, case_compare, compare, compare_as, compare_columns, compare_list, exact_beside_integer, is_plain_number,
    is_whole_number, make_row_compare, years_of_literals,
};
pub(crate) use compare::{is_date, text_beside_text};
pub(crate) use conversion::year_type;
pub use conversion::{stored_number, text_in_charset, text_of_binary, text_of_number};
pub use geometry::refuse_opaque;
pub use merge::{Merged, aggregate_types, merge_two, to_merged, unify};

pub use crate::expr::COERCIBILITY_NUMERIC;
use crate::expr::{Expr, ExprKind};
pub use crate::text::{is_hex_literal, is_string, is_unsigned_varbinary};
pub use truths::as_truths_or_numbers;
pub use vectors::refuse_vectors;

/// What numbers without a collation of their own become when they are used as strings.
pub const NUMBER_COLLATION: CollationId = CollationId::UTF8MB4_0900_AI_CI;
/// Characters of the longest DOUBLE as text.
const DOUBLE_CHARS: u32 = 22;
/// The width of an unbounded DOUBLE.
const DOUBLE_WIDTH: u32 = 23;

/// In which kind of number a value takes part in arithmetic.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum NumberClass {
    Int,
    Decimal,
    Double,
}

/// The class of numbers in which `ty` calculates: temporal values are integers, or
/// decimals if they have a fraction; strings are doubles, except hexadecimal literals.
pub fn number_class(ty: &ColumnType) -> NumberClass {
    match ty.kind {
        TypeKind::Decimal => NumberClass::Decimal,
        TypeKind::Float | TypeKind::Double | TypeKind::Json | TypeKind::Null => NumberClass::Double,
        TypeKind::Date | TypeKind::Time | TypeKind::DateTime | TypeKind::Timestamp => {
            if ty.decimals > 0 {
                NumberClass::Decimal
            } else {
                NumberClass::Int
            }
        }
        _ if is_hex_literal(ty) => NumberClass::Int,
        _ if ty.is_bytes() || matches!(ty.kind, TypeKind::Enum | TypeKind::Set) => NumberClass::Double,
        _ => NumberClass::Int,
    }
}

/// The class in which functions such as ROUND calculate: only numbers keep theirs.
pub fn function_class(ty: &ColumnType) -> NumberClass {
    if ty.is_temporal() || is_hex_literal(ty) { NumberClass::Double } else { number_class(ty) }
}

/// Digits before and after the point that a value of the type may have.
pub fn precision(ty: &ColumnType) -> u32 {
    let digits = match ty.kind {
        TypeKind::Decimal => ty.length,
        TypeKind::Date => 8,
        TypeKind::Time => 7 + u32::from(ty.decimals),
        TypeKind::DateTime | TypeKind::Timestamp => 14 + u32::from(ty.decimals),
        TypeKind::Year => 4,
        // MySQL counts its bits.
        TypeKind::Bit => ty.length,
        // So many digits has the greatest number of these bytes.
        TypeKind::VarBinary if is_hex_literal(ty) => (ty.length.min(8) * 8 * 30_103 / 100_000 + 1).min(20),
        // A display width, as of BOOLEAN, says nothing about the values.
        TypeKind::TinyInt => 3,
        TypeKind::SmallInt => 5,
        TypeKind::MediumInt => 7 + u32::from(ty.unsigned),
        TypeKind::Int => 10,
        _ if ty.is_integer() => ty.length.saturating_sub(u32::from(!ty.unsigned)),
        _ => 65,
    };
    digits.clamp(1, 81)
}

/// Digits after the point; 0 for types without a fixed number of them.
pub fn scale(ty: &ColumnType) -> u8 {
    match ty.kind {
        TypeKind::Decimal => ty.decimals,
        TypeKind::Time | TypeKind::DateTime | TypeKind::Timestamp => ty.decimals,
        _ => 0,
    }
}

/// `decimals` as the metadata of arithmetic counts them: 31 for strings and floating point.
pub fn decimals_meta(ty: &ColumnType) -> u8 {
    match ty.kind {
        TypeKind::Float | TypeKind::Double => ty.decimals,
        TypeKind::Null => 0,
        _ if is_unsigned_varbinary(ty) => 0,
        _ if number_class(ty) == NumberClass::Double => DECIMALS_NOT_FIXED,
        _ => scale(ty),
    }
}

/// Most characters of a value of this type as text.
pub fn char_length(ty: &ColumnType) -> u32 {
    let fraction = if ty.decimals > 0 { u32::from(ty.decimals) + 1 } else { 0 };
    match ty.kind {
        TypeKind::Null => 0,
        TypeKind::Decimal => ty.length + u32::from(ty.decimals > 0) + u32::from(!ty.unsigned),
        TypeKind::Date => 10,
        TypeKind::Time => 10 + fraction,
        TypeKind::DateTime | TypeKind::Timestamp => 19 + fraction,
        TypeKind::Year => 4,
        TypeKind::Bit => ty.length,
        TypeKind::Float if ty.decimals < DECIMALS_NOT_FIXED && ty.length > 0 => ty.length,
        TypeKind::Float => 12,
        TypeKind::Double => DOUBLE_CHARS,
        TypeKind::Enum => member_chars(ty).max().unwrap_or(0),
        TypeKind::Set => member_chars(ty).sum::<u32>() + (member_chars(ty).count() as u32).saturating_sub(1),
        // BOOLEAN is no narrower than its numbers.
        TypeKind::TinyInt => ty.length.max(3 + u32::from(!ty.unsigned)),
        TypeKind::Json => u32::MAX / 4,
        TypeKind::Geometry => u32::MAX,
        TypeKind::TinyText | TypeKind::TinyBlob => blob_chars(ty, 255),
        TypeKind::Text | TypeKind::Blob => blob_chars(ty, 65_535),
        TypeKind::MediumText | TypeKind::MediumBlob => blob_chars(ty, 16_777_215),
        TypeKind::LongText | TypeKind::LongBlob => blob_chars(ty, u32::MAX),
        _ => ty.length,
    }
}

/// Most characters of a number, that of a DOUBLE with as many digits as it is declared to have.
pub fn number_width(ty: &ColumnType) -> u32 {
    let is_declared = ty.kind == TypeKind::Double && ty.decimals < DECIMALS_NOT_FIXED && ty.length > 0;
    if is_declared { ty.length } else { char_length(ty) }
}

/// How long a value of this type is in a string under `collation`: in characters, or in bytes if that is binary.
pub fn length_among(ty: &ColumnType, collation: CollationId) -> u32 {
    // Only in bytes a floating point number is as long as it is declared or written.
    let is_declared = ty.kind == TypeKind::Double && (1..DOUBLE_CHARS).contains(&ty.length);
    if is_declared && collation == CollationId::BINARY {
        return ty.length;
    }
    let chars = char_length(ty);
    let is_text = is_string(ty) && ty.collation != CollationId::BINARY;
    if collation == CollationId::BINARY && is_text {
        return chars.saturating_mul(u32::from(crate::text::bytes_per_char_max(ty.collation)));
    }
    chars
}

/// The TEXT and BLOB families count bytes; but as many characters are taken to be in a column as it has bytes.
fn blob_chars(ty: &ColumnType, bytes_max: u32) -> u32 {
    if ty.length == 0 || ty.length == bytes_max {
        return bytes_max;
    }
    ty.length / u32::from(crate::text::bytes_per_char_max(ty.collation)).max(1)
}

fn member_chars(ty: &ColumnType) -> impl Iterator<Item = u32> {
    ty.members.iter().flat_map(|m| m.iter()).map(|m| String::from_utf8_lossy(m).chars().count() as u32)
}

/// Digits of a DECIMAL, and that an integer is announced with.
const PRECISION_MAX: u32 = 65;

/// BIGINT with room for `digits`, more of which are announced than it holds.
pub fn int_type(digits: u32, unsigned: bool) -> ColumnType {
    let length = digits.min(PRECISION_MAX) + u32::from(!unsigned);
    ColumnType { length, unsigned, ..ColumnType::new(TypeKind::BigInt) }
}

/// A plain BIGINT result of the given metadata length.
pub fn int_of_length(length: u32) -> ColumnType {
    ColumnType { length, ..ColumnType::new(TypeKind::BigInt) }
}

/// DECIMAL of at most 65 digits; digits before the point give way last.
pub fn decimal_type(precision: u32, scale: u8, unsigned: bool) -> ColumnType {
    let scale = scale.min(30);
    ColumnType { unsigned, ..ColumnType::decimal(precision.clamp(1, PRECISION_MAX).max(u32::from(scale)), scale) }
}

/// DOUBLE with `decimals` digits after the point, 31 for as many as needed.
pub fn double_type(decimals: u8) -> ColumnType {
    let length = if decimals >= DECIMALS_NOT_FIXED { DOUBLE_WIDTH } else { 17 + u32::from(decimals) };
    ColumnType { length, decimals: decimals.min(DECIMALS_NOT_FIXED), ..ColumnType::new(TypeKind::Double) }
}

/// Bytes of VARCHAR and VARBINARY.
const VARCHAR_BYTES_MAX: u32 = 65_535;
/// Bytes of MEDIUMTEXT and MEDIUMBLOB.
const MEDIUM_BYTES_MAX: u32 = (1 << 24) - 1;

/// A string of at most `chars` characters as MySQL's expressions have them: VARCHAR, or
/// MEDIUMTEXT or LONGTEXT if it is longer than a VARCHAR can be; VARBINARY and the BLOBs if binary.
pub fn string_type(chars: u64, collation: CollationId) -> ColumnType {
    let binary = collation == CollationId::BINARY;
    let chars = u32::try_from(chars).unwrap_or(u32::MAX);
    let bytes = chars.saturating_mul(u32::from(crate::text::bytes_per_char_max(collation)));
    match (bytes <= VARCHAR_BYTES_MAX, binary) {
        (true, false) => ColumnType::varchar(chars, collation),
        (true, true) => ColumnType::varbinary(chars),
        (false, false) => ColumnType {
            length: bytes,
            collation,
            ..ColumnType::new(if bytes <= MEDIUM_BYTES_MAX { TypeKind::MediumText } else { TypeKind::LongText })
        },
        (false, true) => ColumnType {
            length: chars,
            ..ColumnType::new(if chars <= MEDIUM_BYTES_MAX { TypeKind::MediumBlob } else { TypeKind::LongBlob })
        },
    }
}

/// `expr` converted to `ty`; the expression itself if it already has that type.
pub fn cast_to(expr: Expr, ty: ColumnType) -> Expr {
    if same_representation(&expr.ty, &ty) {
        return expr;
    }
    if let ExprKind::Literal(Value::Null) = expr.kind {
        return Expr { ty, ..expr };
    }
    // A conversion may fail and then gives NULL: dates from strings, JSON.
    let fails = ty.is_temporal() && !expr.ty.is_temporal();
    let nullable = expr.nullable || fails;
    let coercibility = if is_string(&ty) && is_string(&expr.ty) { expr.coercibility } else { COERCIBILITY_NUMERIC };
    Expr { kind: ExprKind::Cast(Box::new(expr)), ty, nullable, coercibility }
}

/// A value of `from` can be read as a value of `to` without any work.
fn same_representation(from: &ColumnType, to: &ColumnType) -> bool {
    if from == to {
        return true;
    }
    match to.kind {
        TypeKind::BigInt => from.is_integer() && from.unsigned == to.unsigned,
        TypeKind::Double => from.kind == TypeKind::Double && to.decimals >= DECIMALS_NOT_FIXED,
        TypeKind::Geometry => from.is_geometry(),
        TypeKind::Vector => from.is_vector(),
        _ => false,
    }
}
