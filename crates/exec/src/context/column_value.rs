//! Values as columns hold them.

use vaquita_plan::env::Level;
use vaquita_plan::eval::coerce;
use vaquita_plan::typing;
use vaquita_types::convert::{self, ProblemKind, StoreContext, StoreProblem};
use vaquita_types::temporal::{DateTime, TimeZone};
use vaquita_types::{ColumnType, Result, TypeKind, Value, sql_mode};

use super::SessionEnv;

/// What a column holds of a value that is computed when a row is read: the nearest of its type, without a word.
pub fn value_of_column(value: Value, from: &ColumnType, ty: &ColumnType, session: &dyn SessionEnv) -> Value {
    stored(value, from, ty, session).unwrap_or_else(|problem| problem.adjusted)
}

fn stored(
    value: Value,
    from: &ColumnType,
    ty: &ColumnType,
    session: &dyn SessionEnv,
) -> std::result::Result<Value, Box<StoreProblem>> {
    let value = match already_stored(value, ty) {
        Ok(stored) => return Ok(stored),
        Err(value) => value,
    };
    let (sql_mode, time_zone) = (session.sql_mode(), session.time_zone());
    let today = match stores_days(ty) {
        true => local_now(time_zone, session.statement_time_us()).date(),
        false => DateTime::ZERO.date(),
    };
    let context = StoreContext { sql_mode, time_zone, today };
    match value {
        Value::Bytes(bytes) if typing::is_hex_literal(from) && is_number(ty) => store_hex(&bytes, ty, &context),
        value => convert::store(value, from, ty, &context),
    }
}

/// Whether what a column stores depends on the day: a TIME becomes one of today.
pub fn stores_days(ty: &ColumnType) -> bool {
    ty.is_temporal() || ty.kind == TypeKind::Year
}

/// The time in the session's zone.
pub fn local_now(zone: &TimeZone, unix_us: i64) -> DateTime {
    DateTime::from_unix_micros(unix_us).and_then(|utc| zone.from_utc(utc)).unwrap_or(DateTime::ZERO)
}

/// Values that most columns hold need no conversion; an error gives back one that does. NULL stays NULL.
pub fn already_stored(value: Value, ty: &ColumnType) -> std::result::Result<Value, Value> {
    let Value::Int(n) = value else { return if value.is_null() { Ok(value) } else { Err(value) } };
    let bits = match ty.kind {
        TypeKind::TinyInt => 8,
        TypeKind::SmallInt => 16,
        TypeKind::MediumInt => 24,
        TypeKind::Int => 32,
        TypeKind::BigInt => 64,
        _ => return Err(value),
    };
    let above = 64 - bits;
    match ty.unsigned {
        false if n << above >> above == n => Ok(value),
        true if n >= 0 && (n as u64) << above >> above == n as u64 => Ok(Value::UInt(n as u64)),
        _ => Err(value),
    }
}

pub fn is_number(ty: &ColumnType) -> bool {
    ty.is_integer() || matches!(ty.kind, TypeKind::Decimal | TypeKind::Float | TypeKind::Double | TypeKind::Year)
}

/// A hexadecimal literal as the number that it is. One of more than eight bytes, whatever they are, is the greatest BIGINT, and out of
/// range.
pub fn store_hex(bytes: &[u8], ty: &ColumnType, context: &StoreContext<'_>) -> std::result::Result<Value, Box<StoreProblem>> {
    match coerce::hex_number(bytes).filter(|_| bytes.len() <= size_of::<u64>()) {
        Some(number) => convert::store(Value::UInt(number), &ColumnType::bigint_unsigned(), ty, context),
        None => {
            let greatest = if ty.unsigned { Value::UInt(u64::MAX) } else { Value::Int(i64::MAX) };
            let adjusted =
                match convert::store(greatest, &ColumnType { unsigned: ty.unsigned, ..ColumnType::bigint() }, ty, context) {
                    Ok(stored) => stored,
                    Err(problem) => problem.adjusted,
                };
            Err(Box::new(StoreProblem { kind: ProblemKind::OutOfRange, adjusted }))
        }
    }
}

/// `value` as a column of its type would hold it: what a variable of a stored program does, and a recursive common table expression.
pub fn store_in_variable(
    value: Value,
    from: &ColumnType,
    name: &str,
    ty: &ColumnType,
    session: &dyn SessionEnv,
) -> Result<Value> {
    let problem = match stored(value, from, ty, session) {
        Ok(stored) => return Ok(stored),
        Err(problem) => problem,
    };
    let strict = sql_mode::is_strict(session.sql_mode());
    let report = problem.report("", name, 1, strict);
    if problem.is_note(strict) {
        session.warn(Level::Note, report);
    } else if strict || problem.always_fails() {
        return Err(report);
    } else {
        session.warn(Level::Warning, report);
    }
    Ok(problem.adjusted)
}
