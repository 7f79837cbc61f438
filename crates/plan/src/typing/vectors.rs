//! Where MySQL takes a vector: in few places. Others are error 1210, which names the function or operator.

use vaquita_types::{ColumnType, Error, Result, TypeKind, errno};

use super::geometry::{UNDER_ANOTHER_NAME, refused};
use crate::expr::{CompareOp, Expr};

/// Functions and operators that take vectors, most of them as the binary strings that they are.
const TAKING: [&str; 62] = [
    "AES_DECRYPT",
    "AES_ENCRYPT",
    "AND",
    "ANY_VALUE",
    "ASCII",
    "BENCHMARK",
    "BIT_COUNT",
    "BIT_LENGTH",
    "CHARACTER_LENGTH",
    "CHARSET",
    "CHAR_LENGTH",
    "COALESCE",
    "COERCIBILITY",
    "COLLATION",
    "COMPRESS",
    "CRC32",
    "FIELD",
    "FIND_IN_SET",
    "FORMAT_BYTES",
    "FORMAT_PICO_TIME",
    "FROM_VECTOR",
    "HEX",
    "IF",
    "IFNULL",
    "INET6_ATON",
    "INET6_NTOA",
    "INET_NTOA",
    "INSTR",
    "INTERVAL",
    "IS FALSE",
    "IS NULL",
    "IS TRUE",
    "ISNULL",
    "IS_IPV4",
    "IS_IPV4_COMPAT",
    "IS_IPV4_MAPPED",
    "IS_IPV6",
    "LAST_INSERT_ID",
    "LENGTH",
    "LOCATE",
    "MD5",
    "NULLIF",
    "OCTET_LENGTH",
    "OR",
    "ORD",
    "POSITION",
    "PS_THREAD_ID",
    "REGEXP",
    "REGEXP_INSTR",
    "REGEXP_LIKE",
    "REGEXP_REPLACE",
    "REGEXP_SUBSTR",
    "RLIKE",
    "SHA",
    "SHA1",
    "SHA2",
    "SLEEP",
    "STRCMP",
    "TO_BASE64",
    "VECTOR_DIM",
    "VECTOR_TO_STRING",
    "XOR",
];

fn is_vector(expr: &Expr) -> bool {
    expr.ty.is_vector()
}

/// Refuses vectors among `exprs`.
pub fn refuse_vectors(operation: &str, exprs: &[&Expr]) -> Result<()> {
    if exprs.iter().any(|expr| is_vector(expr)) { Err(refused(operation)) } else { Ok(()) }
}

/// Of a call of a function. Spatial functions find that it is no geometry.
pub(super) fn check_call(name: &str, args: &[Expr]) -> Result<()> {
    let takes = || TAKING.binary_search(&name).is_ok() || ["ST_", "MBR"].iter().any(|prefix| name.starts_with(prefix));
    if !args.iter().any(is_vector) || takes() {
        return Ok(());
    }
    // These say which types they cannot bring together.
    if let "GREATEST" | "LEAST" = name
        && !args.iter().all(is_vector)
    {
        return Ok(());
    }
    let other = UNDER_ANOTHER_NAME.iter().find(|(own, _)| *own == name);
    Err(refused(other.map_or(name.to_ascii_lowercase().as_str(), |(_, other)| other)))
}

/// Vectors are equal to vectors or not, and have no order.
pub(super) fn check_comparison(op: CompareOp, left: &Expr, right: &Expr) -> Result<()> {
    match (op, is_vector(left), is_vector(right)) {
        (_, false, false) | (CompareOp::Eq | CompareOp::Ne | CompareOp::NullSafeEq, true, true) => Ok(()),
        _ => Err(refused(op.token())),
    }
}

/// Error 6135 if only some of `exprs` are vectors.
pub(super) fn check_merge(exprs: &[&Expr]) -> Result<()> {
    let mut typed = exprs.iter().filter(|expr| expr.ty.kind != TypeKind::Null);
    let Some(first) = typed.next() else { return Ok(()) };
    match typed.find(|expr| is_vector(expr) != is_vector(first)) {
        Some(other) => {
            Err(Error::new(&errno::ER_INCOMPATIBLE_TYPE_AGG, &[&field_type_name(&first.ty), &field_type_name(&other.ty)]))
        }
        None => Ok(()),
    }
}

/// As MySQL calls the types of its protocol.
fn field_type_name(ty: &ColumnType) -> &'static str {
    match ty.kind {
        TypeKind::Null => "NULL",
        TypeKind::TinyInt => "TINY",
        TypeKind::SmallInt => "SHORT",
        TypeKind::MediumInt => "INT24",
        TypeKind::Int => "LONG",
        TypeKind::BigInt => "LONGLONG",
        TypeKind::Decimal => "NEWDECIMAL",
        TypeKind::Float => "FLOAT",
        TypeKind::Double => "DOUBLE",
        TypeKind::Bit => "BIT",
        TypeKind::Year => "YEAR",
        TypeKind::Date => "NEWDATE",
        TypeKind::Time => "TIME",
        TypeKind::DateTime => "DATETIME",
        TypeKind::Timestamp => "TIMESTAMP",
        TypeKind::Char | TypeKind::Binary => "STRING",
        TypeKind::VarChar | TypeKind::VarBinary => "VARCHAR",
        TypeKind::TinyText
        | TypeKind::Text
        | TypeKind::MediumText
        | TypeKind::LongText
        | TypeKind::TinyBlob
        | TypeKind::Blob
        | TypeKind::MediumBlob
        | TypeKind::LongBlob => "BLOB",
        TypeKind::Enum => "ENUM",
        TypeKind::Set => "SET",
        TypeKind::Json => "JSON",
        TypeKind::Geometry => "GEOMETRY",
        TypeKind::Vector => "VECTOR",
    }
}

#[cfg(test)]
mod tests {
    use super::TAKING;

    #[test]
    fn names_are_sorted_and_known() {
        assert!(TAKING.is_sorted());
        // Not among the functions of a table: what the binder has of its own.
        let own = ["AND", "OR", "IS NULL", "REGEXP", "RLIKE"];
        let unknown: Vec<_> = TAKING.iter().filter(|name| crate::func::lookup(name).is_none() && !own.contains(name)).collect();
        assert!(unknown.is_empty(), "{unknown:?}");
    }
}
