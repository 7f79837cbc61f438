//! Values as columns hold them.

use vaquita_types::convert::{self, StoreContext};
use vaquita_types::temporal::{DateTime, TimeZone};
use vaquita_types::{ColumnType, TypeKind, Value};

use super::SessionEnv;

/// What a column holds of a value that is computed when a row is read: the nearest of its type, without a word.
pub fn value_of_column(value: Value, from: &ColumnType, ty: &ColumnType, session: &dyn SessionEnv) -> Value {
    match already_stored(value, ty) {
        Ok(value) => value,
        Err(value) => {
            let zone = session.time_zone();
            let today = local_now(zone, session.statement_time_us()).date();
            let store = StoreContext { sql_mode: session.sql_mode(), time_zone: zone, today };
            convert::store(value, from, ty, &store).unwrap_or_else(|problem| problem.adjusted)
        }
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
