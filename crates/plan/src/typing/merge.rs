//! The common type of alternatives: CASE, IF, COALESCE, GREATEST, the columns of a UNION.
//!
//! Types are merged pairwise by kind (`merge_two`), then widths are taken over all: INT with
//! DECIMAL(4,2) is DECIMAL(12,2), a number with a string is a VARCHAR, DATE with TIME a DATETIME.
//! Signed with unsigned moves to the next wider signed type, BIGINT to DECIMAL.

use vaquita_types::charset::CollationId;
use vaquita_types::datatype::DECIMALS_NOT_FIXED;
use vaquita_types::geometry::GeometryKind;
use vaquita_types::{ColumnType, Error, Result, TypeKind, Value, errno};

use super::collate::Collated;
use super::conversion::MIDNIGHT;
use super::{
    aggregate_collations, cast_to, convert_charset, decimal_type, is_string, length_among, number_width, precision, scale,
    string_type, text_beside_text,
};
use crate::expr::{Expr, ExprKind};

/// The type that all alternatives get.
#[derive(Clone, Debug, PartialEq)]
pub struct Merged {
    pub ty: ColumnType,
    /// Some alternative may be NULL.
    pub nullable: bool,
    pub coercibility: u8,
}

/// The kind that values of both kinds fit in.
pub fn merge_two(a: TypeKind, b: TypeKind) -> TypeKind {
    use TypeKind::*;
    if a == b {
        return match a {
            Enum | Set => VarChar,
            _ => a,
        };
    }
    if a == Null || b == Null {
        return match if a == Null { b } else { a } {
            k @ (Enum | Set) => k,
            k => k,
        };
    }
    match (numeric_rank(a), numeric_rank(b)) {
        (Some(x), Some(y)) => merge_numbers(a, x, b, y),
        _ => match (is_temporal(a), is_temporal(b)) {
            (true, true) => DateTime,
            _ => merge_strings(a, b),
        },
    }
}

/// The place in TINYINT < SMALLINT < MEDIUMINT < INT < BIGINT < DECIMAL < FLOAT < DOUBLE.
fn numeric_rank(kind: TypeKind) -> Option<u8> {
    use TypeKind::*;
    Some(match kind {
        Year => 0,
        TinyInt => 1,
        SmallInt => 2,
        MediumInt => 3,
        Int => 4,
        BigInt | Bit => 5,
        Decimal => 6,
        Float => 7,
        Double => 8,
        _ => return None,
    })
}

fn merge_numbers(a: TypeKind, x: u8, b: TypeKind, y: u8) -> TypeKind {
    let (low, high) = if x <= y { (a, b) } else { (b, a) };
    match high {
        // MySQL makes room for INT, but for BIGINT, which integer literals are, only if that stands first.
        TypeKind::Float if matches!(low, TypeKind::Int | TypeKind::Bit | TypeKind::Decimal) => TypeKind::Double,
        TypeKind::Float if a == TypeKind::BigInt => TypeKind::Double,
        TypeKind::Bit => TypeKind::BigInt,
        _ => high,
    }
}

fn is_temporal(kind: TypeKind) -> bool {
    ColumnType::new(kind).is_temporal()
}

fn merge_strings(a: TypeKind, b: TypeKind) -> TypeKind {
    use TypeKind::*;
    let blob = |k: TypeKind| match k {
        TinyText | TinyBlob => 1,
        Text | Blob => 2,
        MediumText | MediumBlob => 3,
        LongText | LongBlob | Json | Geometry => 4,
        _ => 0,
    };
    // A CHAR or BINARY beside what is no string of varying length stays one.
    let fixed = |k: TypeKind| matches!(k, Char | Binary);
    let varying = |k: TypeKind| matches!(k, VarChar | VarBinary);
    match blob(a).max(blob(b)) {
        0 if (fixed(a) || fixed(b)) && !varying(a) && !varying(b) => Char,
        0 => VarChar,
        1 => TinyText,
        2 => Text,
        3 => MediumText,
        _ => LongText,
    }
}

/// The common type of `exprs`; error 1267 if their collations cannot be brought together.
pub fn aggregate_types(exprs: &[&Expr], operation: &str) -> Result<Merged> {
    super::vectors::check_merge(exprs)?;
    let nullable = exprs.iter().any(|e| e.nullable);
    let typed: Vec<&&Expr> = exprs.iter().filter(|e| e.ty.kind != TypeKind::Null).collect();
    let Some(first) = typed.first() else {
        return Ok(Merged { ty: ColumnType::null(), nullable: true, coercibility: 6 });
    };
    let mut kind = typed.iter().skip(1).fold(first.ty.kind, |k, e| merge_two(k, e.ty.kind));
    if typed.len() == 1 && matches!(kind, TypeKind::Enum | TypeKind::Set) {
        kind = TypeKind::VarChar;
    }
    if kind == TypeKind::Vector {
        let length = typed.iter().map(|e| e.ty.length).max().unwrap_or(0);
        return Ok(Merged { ty: ColumnType { length, ..ColumnType::new(kind) }, nullable, coercibility: 2 });
    }
    if kind == TypeKind::Geometry {
        return Ok(Merged { ty: merge_geometries(exprs, operation), nullable, coercibility: 2 });
    }
    if is_string(&ColumnType::new(kind)) {
        return merge_to_string(exprs, kind, nullable, operation);
    }
    let mut ty = ColumnType::new(kind);
    let types = || typed.iter().map(|e| &e.ty);
    match kind {
        TypeKind::Decimal => ty = merge_decimal(types()),
        TypeKind::Float | TypeKind::Double => {
            let decimals =
                types().map(|t| if matches!(t.kind, TypeKind::Float | TypeKind::Double) { t.decimals } else { scale(t) }).max();
            ty.decimals = decimals.unwrap_or(DECIMALS_NOT_FIXED);
            ty.length = if ty.decimals >= DECIMALS_NOT_FIXED {
                23
            } else {
                let whole = |t: &ColumnType| number_width(t).saturating_sub(u32::from(t.decimals));
                types().map(whole).max().map_or(23, |whole| whole + u32::from(ty.decimals))
            };
        }
        TypeKind::Json | TypeKind::Date | TypeKind::Null => {}
        TypeKind::Time | TypeKind::DateTime | TypeKind::Timestamp => {
            ty.decimals = types().map(|t| if t.is_temporal() { t.decimals } else { 0 }).max().unwrap_or(0)
        }
        _ => ty = merge_integers(kind, &typed),
    }
    let coercibility = if kind == TypeKind::Json { 2 } else { super::COERCIBILITY_NUMERIC };
    Ok(Merged { ty, nullable, coercibility })
}

/// Only the parts of a UNION that are all of one spatial type keep it.
fn merge_geometries(exprs: &[&Expr], operation: &str) -> ColumnType {
    let kinds = || exprs.iter().map(|expr| if expr.ty.is_geometry() { expr.ty.geometry_kind() } else { GeometryKind::Geometry });
    let first = kinds().next().unwrap_or(GeometryKind::Geometry);
    let is_kept = is_of_set(operation) && kinds().all(|kind| kind == first);
    ColumnType::geometry(if is_kept { first } else { GeometryKind::Geometry }, None)
}

/// The expressions are a column of the parts of a query.
fn is_of_set(operation: &str) -> bool {
    matches!(operation, "UNION" | "INTERSECT" | "EXCEPT" | "VALUES")
}

fn merge_decimal<'a>(types: impl Iterator<Item = &'a ColumnType> + Clone) -> ColumnType {
    let whole = types.clone().map(|t| precision(t).saturating_sub(u32::from(scale(t)))).max().unwrap_or(1);
    let fraction = types.clone().map(scale).max().unwrap_or(0);
    let unsigned = types.clone().all(|t| t.unsigned);
    decimal_type(whole + u32::from(fraction), fraction, unsigned)
}

fn merge_integers(kind: TypeKind, typed: &[&&Expr]) -> ColumnType {
    use TypeKind::*;
    let unsigned = typed.iter().all(|e| e.ty.unsigned || matches!(e.ty.kind, Year | Bit));
    let mixed = !unsigned && typed.iter().any(|e| e.ty.unsigned || e.ty.kind == Bit);
    let digits = typed.iter().map(|e| precision(&e.ty)).max().unwrap_or(1);
    let widest_unsigned = mixed && typed.iter().any(|e| e.ty.kind == Bit || e.ty.unsigned && e.ty.kind == kind);
    let kind = match (widest_unsigned, kind) {
        (false, k) => k,
        (_, TinyInt) => SmallInt,
        (_, SmallInt) => MediumInt,
        (_, MediumInt) => Int,
        (_, Int) => BigInt,
        (_, BigInt) => return decimal_type(digits, 0, false),
        (_, k) => k,
    };
    // A display width, as of BOOLEAN, is none of the result.
    let chars = |ty: &ColumnType| {
        if matches!(ty.kind, Bit | BigInt) { ty.length } else { ty.length.max(precision(ty) + u32::from(!ty.unsigned)) }
    };
    let length = typed.iter().map(|e| chars(&e.ty)).max().unwrap_or(digits);
    ColumnType { length, unsigned, ..ColumnType::new(kind) }
}

/// The collation of a column of a set operation. If their charsets are one, but none of their collations is weaker, error 1271 tells of
/// UNION whatever the operation is.
fn collation_of_set(exprs: &[&Expr], operation: &str) -> Result<Collated> {
    aggregate_collations(exprs, operation, false)?;
    let no_weaker = |_| Error::new(&errno::ER_CANT_AGGREGATE_NCOLLATIONS, &[&"UNION"]);
    aggregate_collations(exprs, operation, true).map_err(no_weaker)
}

fn merge_to_string(exprs: &[&Expr], kind: TypeKind, nullable: bool, operation: &str) -> Result<Merged> {
    let collated = match operation {
        "UNION" | "INTERSECT" | "EXCEPT" => collation_of_set(exprs, operation)?,
        _ => aggregate_collations(exprs, operation, false)?,
    };
    let chars = exprs.iter().map(|e| length_among(&e.ty, collated.collation)).max().unwrap_or(0);
    let binary = collated.collation == CollationId::BINARY;
    let ty = match kind {
        TypeKind::Char | TypeKind::VarChar | TypeKind::Binary | TypeKind::VarBinary | TypeKind::Enum | TypeKind::Set => {
            let mut ty = string_type(u64::from(chars), collated.collation);
            if matches!(kind, TypeKind::Char | TypeKind::Binary) {
                ty.kind = match ty.kind {
                    TypeKind::VarChar => TypeKind::Char,
                    TypeKind::VarBinary => TypeKind::Binary,
                    long => long,
                };
            }
            ty
        }
        _ if kind == TypeKind::LongText && exprs.iter().any(|e| super::char_length(&e.ty) >= u32::MAX / 4) => ColumnType {
            length: u32::MAX,
            collation: collated.collation,
            ..ColumnType::new(if binary { blob_of(kind) } else { kind })
        },
        _ => ColumnType {
            length: chars.saturating_mul(u32::from(crate::text::bytes_per_char_max(collated.collation))),
            collation: collated.collation,
            ..ColumnType::new(if binary { blob_of(kind) } else { text_of(kind) })
        },
    };
    Ok(Merged { ty, nullable, coercibility: collated.coercibility })
}

fn blob_of(kind: TypeKind) -> TypeKind {
    match kind {
        TypeKind::TinyText => TypeKind::TinyBlob,
        TypeKind::Text => TypeKind::Blob,
        TypeKind::MediumText => TypeKind::MediumBlob,
        TypeKind::LongText => TypeKind::LongBlob,
        k => k,
    }
}

fn text_of(kind: TypeKind) -> TypeKind {
    match kind {
        TypeKind::TinyBlob => TypeKind::TinyText,
        TypeKind::Blob => TypeKind::Text,
        TypeKind::MediumBlob => TypeKind::MediumText,
        TypeKind::LongBlob => TypeKind::LongText,
        k => k,
    }
}

/// Casts each of `exprs` to their common type.
pub fn unify(exprs: &mut [Expr], operation: &str) -> Result<Merged> {
    let mut merged = aggregate_types(&exprs.iter().collect::<Vec<_>>(), operation)?;
    let in_table = is_of_set(operation);
    if merged.ty.kind == TypeKind::Year {
        merged.ty.zerofill = in_table;
    }
    // Only the column of a table fills up what is shorter.
    let ty = match merged.ty.kind {
        TypeKind::Binary if !in_table => ColumnType { kind: TypeKind::VarBinary, ..merged.ty.clone() },
        _ => merged.ty.clone(),
    };
    let of_texts = is_string(&ty) && ty.collation != CollationId::BINARY;
    for expr in exprs {
        let mut taken = std::mem::replace(expr, Expr::literal(Value::Null, ColumnType::null()));
        if of_texts {
            taken = text_beside_text(taken, ty.collation)?;
        }
        *expr = if in_table { to_column(taken, &ty) } else { to_merged(taken, &ty) };
    }
    Ok(merged)
}

/// `expr` as a value of a temporary table's column: a BINARY is filled up, a floating point number shows all of its digits.
fn to_column(expr: Expr, ty: &ColumnType) -> Expr {
    // A FLOAT in a TEXT or BLOB has its own digits.
    let is_float = expr.ty.kind == TypeKind::Double || expr.ty.kind == TypeKind::Float && !ty.is_blob();
    if is_float && ty.is_bytes() {
        let double = Expr { ty: ColumnType::double(), kind: ExprKind::Cast(Box::new(expr.clone())), ..expr };
        return to_merged(double, ty);
    }
    let is_column = matches!(expr.kind, ExprKind::Slot(_) | ExprKind::Outer { .. });
    if ty.kind == TypeKind::Binary && is_column && expr.ty.is_bytes() && expr.ty.length < ty.length {
        return cast_to(expr, ty.clone());
    }
    to_merged(expr, ty)
}

/// `expr` as a value of the merged type `ty`. Strings only change their charset.
pub fn to_merged(expr: Expr, ty: &ColumnType) -> Expr {
    if expr.ty.kind == TypeKind::Null {
        return expr;
    }
    if expr.ty.is_bytes() && is_string(ty) {
        return convert_charset(expr, ty.collation);
    }
    // A date among others stays what it is: a CAST would refuse the zero date where sql_mode does.
    let is_moment = |ty: &ColumnType| matches!(ty.kind, TypeKind::DateTime | TypeKind::Timestamp);
    if is_moment(ty) && !matches!(expr.kind, ExprKind::Param(_) | ExprKind::Literal(Value::Null)) {
        match expr.ty.kind {
            TypeKind::Date => return super::call(&MIDNIGHT, vec![expr.clone()]).unwrap_or(expr),
            _ if is_moment(&expr.ty) && expr.ty.decimals <= ty.decimals => return expr,
            _ => {}
        }
    }
    // A number may be longer than it is declared.
    if matches!(expr.ty.kind, TypeKind::Float | TypeKind::Double) && is_string(ty) && !ty.is_blob() {
        let kind = if ty.kind == TypeKind::Binary { TypeKind::VarBinary } else { ty.kind };
        let text = cast_to(expr, ColumnType { kind, length: ty.length.max(super::DOUBLE_CHARS), ..ty.clone() });
        return if ty.kind == TypeKind::Binary { cast_to(text, ty.clone()) } else { text };
    }
    cast_to(expr, ty.clone())
}
