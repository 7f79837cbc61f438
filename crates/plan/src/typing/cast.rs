//! The types of CAST and CONVERT.

use vaquita_parser::CastType;
use vaquita_types::charset::CollationId;
use vaquita_types::{ColumnType, Error, Result, TypeKind, errno};

use super::{char_length, decimal_type, string_type};
use crate::expr::{Expr, ExprKind};
use crate::text;

/// `CAST(expr AS target)`; `connection` is the session's collation, that of CAST AS CHAR.
pub fn explicit_cast(expr: Expr, target: &CastType, connection: CollationId) -> Result<Expr> {
    match target {
        CastType::Signed => super::refuse_opaque("cast_as_signed", &[&expr])?,
        CastType::Unsigned => super::refuse_opaque("cast_as_unsigned", &[&expr])?,
        CastType::Year => super::refuse_opaque("cast_as_year", &[&expr])?,
        CastType::Char { charset: Some(name), .. } if name.eq_ignore_ascii_case("binary") => {}
        CastType::Char { .. } => super::refuse_vectors("cast_as_char", &[&expr])?,
        CastType::Date => super::refuse_vectors("cast_as_date", &[&expr])?,
        CastType::Time(_) => super::refuse_vectors("cast_as_time", &[&expr])?,
        CastType::DateTime(_) => super::refuse_vectors("cast_as_datetime", &[&expr])?,
        CastType::Decimal { .. } => super::refuse_vectors("cast_as_decimal", &[&expr])?,
        CastType::Json => super::refuse_vectors("cast_as_json", &[&expr])?,
        CastType::Double | CastType::Real | CastType::Float(_) => super::refuse_vectors("cast_as_real", &[&expr])?,
        _ => {}
    }
    let ty = cast_type(&expr, target, connection)?;
    let expr = match target {
        CastType::Signed | CastType::Unsigned => super::checked_integer(expr)?,
        CastType::Decimal { .. } => super::as_decimal(expr)?,
        CastType::Date | CastType::Time(_) | CastType::DateTime(_) => super::as_moment(expr)?,
        CastType::Double | CastType::Real | CastType::Float(_) => super::as_number(expr)?,
        CastType::Json => {
            let mut expr = expr;
            super::as_truths_or_numbers(std::slice::from_mut(&mut expr));
            expr
        }
        _ => expr,
    };
    // A label is a text from here on, also where a number is asked for later.
    let is_label = matches!(expr.ty.kind, TypeKind::Enum | TypeKind::Set) && super::is_string(&ty);
    let collation = expr.ty.collation;
    let expr = if is_label { super::as_string(expr, collation) } else { expr };
    // Only a length that was asked for cuts the text of an integer: one of a display width, as of TINYINT(1), does not.
    let cut = matches!(target, CastType::Char { length: Some(_), .. } | CastType::Binary(Some(_)));
    let expr = if cut && expr.ty.is_integer() { super::as_string(expr, CollationId::ASCII_BIN) } else { expr };
    let expr = of_length(expr, target, &ty);
    let coercibility = if super::is_string(&ty) { 2 } else { super::COERCIBILITY_NUMERIC };
    let nullable = expr.nullable
        || !matches!(
            target,
            CastType::Signed
                | CastType::Unsigned
                | CastType::Double
                | CastType::Real
                | CastType::Float(_)
                | CastType::Decimal { .. }
        );
    Ok(Expr { kind: ExprKind::Cast(Box::new(expr)), ty, nullable, coercibility })
}

/// `expr` with the length that is asked for, where the type that it gets, a TEXT or BLOB, holds any.
fn of_length(expr: Expr, target: &CastType, ty: &ColumnType) -> Expr {
    let (kind, length) = match target {
        CastType::Char { length: Some(length), .. } if ty.is_blob() && ty.collation != CollationId::BINARY => {
            (TypeKind::VarChar, *length)
        }
        CastType::Char { length: Some(length), .. } if ty.is_blob() => (TypeKind::VarBinary, *length),
        // Shorter values are filled up with zero bytes, as in a BINARY(n) column.
        CastType::Binary(Some(length)) if ty.is_blob() => (TypeKind::Binary, *length),
        _ => return expr,
    };
    let length = u32::try_from(length).unwrap_or(u32::MAX);
    let of_length = ColumnType { length, collation: ty.collation, ..ColumnType::new(kind) };
    Expr { nullable: true, coercibility: 2, ty: of_length, kind: ExprKind::Cast(Box::new(expr)) }
}

/// Errors 1439 and 1690 of lengths in bytes that have no room in 32 bits.
fn check_length(length: Option<u64>, char_bytes: u64) -> Result<()> {
    let bytes_max = u64::from(u32::MAX);
    match length {
        Some(n) if n > bytes_max => Err(Error::new(&errno::ER_TOO_BIG_DISPLAYWIDTH, &[&"cast as char", &bytes_max])),
        Some(n) if n * char_bytes > bytes_max => Err(Error::new(&errno::ER_DATA_OUT_OF_RANGE, &[&"char(n)", &"cast_as_char"])),
        _ => Ok(()),
    }
}

fn cast_type(expr: &Expr, target: &CastType, connection: CollationId) -> Result<ColumnType> {
    Ok(match target {
        CastType::Signed => ColumnType::bigint(),
        CastType::Unsigned => ColumnType::bigint_unsigned(),
        CastType::Char { length, charset, binary } => {
            let collation = match charset {
                Some(name) => {
                    text::default_collation(name).ok_or_else(|| Error::new(&errno::ER_UNKNOWN_CHARACTER_SET, &[name]))?
                }
                None => connection,
            };
            let collation = if *binary { text::binary_collation_of(collation) } else { collation };
            check_length(*length, u64::from(text::bytes_per_char_max(collation)))?;
            if length.is_none() && matches!(expr.kind, ExprKind::Param(_)) {
                return Ok(any_text(collation));
            }
            string_type(length.unwrap_or(u64::from(char_length(&expr.ty))), collation)
        }
        CastType::Binary(length) => {
            check_length(*length, 1)?;
            if length.is_none() && matches!(expr.kind, ExprKind::Param(_)) {
                return Ok(any_text(CollationId::BINARY));
            }
            let bytes = u64::from(char_length(&expr.ty)) * u64::from(text::bytes_per_char_max(expr.ty.collation));
            match length {
                // Shorter values are filled up with zero bytes, as in a BINARY(n) column.
                Some(n) if *n <= 65_535 => ColumnType { length: *n as u32, ..ColumnType::new(TypeKind::Binary) },
                _ => string_type(length.unwrap_or(bytes), CollationId::BINARY),
            }
        }
        CastType::Decimal { precision, scale } => {
            let (p, s) = (precision.unwrap_or(10), scale.unwrap_or(0));
            if p > 65 {
                return Err(Error::new(&errno::ER_TOO_BIG_PRECISION, &[&p, &"CAST", &65]));
            }
            if s > 30 {
                return Err(Error::new(&errno::ER_TOO_BIG_SCALE, &[&s, &"CAST", &30]));
            }
            if s > p {
                return Err(Error::new(&errno::ER_M_BIGGER_THAN_D, &[&""]));
            }
            let p = if p == 0 { 10 } else { p };
            decimal_type(p as u32, s as u8, false)
        }
        CastType::Float(Some(p)) if *p > 53 => return Err(Error::new(&errno::ER_TOO_BIG_PRECISION, &[p, &"CAST", &53])),
        CastType::Float(p) if p.unwrap_or(0) <= 24 => ColumnType { length: 23, decimals: 31, ..ColumnType::new(TypeKind::Float) },
        CastType::Float(_) | CastType::Double | CastType::Real => ColumnType::double(),
        CastType::Date => ColumnType::new(TypeKind::Date),
        CastType::Time(fsp) => temporal(TypeKind::Time, *fsp)?,
        CastType::DateTime(fsp) => temporal(TypeKind::DateTime, *fsp)?,
        CastType::Year => ColumnType { length: 4, unsigned: true, ..ColumnType::new(TypeKind::Year) },
        CastType::Json => ColumnType { collation: CollationId::BINARY, ..ColumnType::new(TypeKind::Json) },
        CastType::Spatial(name) => return Err(Error::unsupported(format_args!("CAST AS {name}"))),
    })
}

/// What a parameter is cast to where no length is asked for: nothing is cut, whatever is sent.
fn any_text(collation: CollationId) -> ColumnType {
    let kind = if collation == CollationId::BINARY { TypeKind::Blob } else { TypeKind::Text };
    ColumnType { length: 65_535, collation, ..ColumnType::new(kind) }
}

fn temporal(kind: TypeKind, fsp: Option<u64>) -> Result<ColumnType> {
    let fsp = fsp.unwrap_or(0);
    if fsp > 6 {
        return Err(Error::new(&errno::ER_TOO_BIG_PRECISION, &[&fsp, &"CAST", &6]));
    }
    Ok(ColumnType::temporal(kind, fsp as u8))
}
