//! What an ALTER TABLE makes of a row, where that depends on the row alone, so that several threads can do it.

use vaquita_types::convert::{StoreContext, store};
use vaquita_types::temporal::{Date, DateTime, TimeZone};
use vaquita_types::{ColumnType, Error, Result, TypeKind, Value};

/// Where a value of the new row comes from.
pub(super) enum AloneSource {
    Keep(usize),
    Convert(Box<Conversion>),
    Constant(Value),
}

pub(super) struct Conversion {
    /// The old position.
    pub at: usize,
    pub from: ColumnType,
    pub to: ColumnType,
    pub nullable: bool,
}

/// Rows from the columns before to those after.
pub(super) struct AloneRowMap {
    pub sources: Vec<AloneSource>,
    pub sql_mode: u64,
    pub time_zone: TimeZone,
    pub today: Date,
}

impl AloneRowMap {
    /// As the storage's `AloneMap`: false for a row that is refused, or that a warning is to be given for.
    pub fn map(&self, row: &mut [Value], new: &mut Vec<Value>) -> Result<bool> {
        let short = || Error::internal("short row");
        new.resize(self.sources.len(), Value::Null);
        for (source, to) in self.sources.iter().zip(new) {
            match source {
                // The other row's value stays, for its memory.
                AloneSource::Keep(at) => std::mem::swap(row.get_mut(*at).ok_or_else(short)?, to),
                AloneSource::Constant(value) => to.clone_from(value),
                AloneSource::Convert(conversion) => {
                    let value = row.get(conversion.at).cloned().ok_or_else(short)?;
                    match self.convert(value, conversion) {
                        Some(value) => *to = value,
                        None => return Ok(false),
                    }
                }
            }
        }
        Ok(true)
    }

    fn convert(&self, value: Value, Conversion { from, to, nullable, .. }: &Conversion) -> Option<Value> {
        let value = match value {
            Value::Null => return nullable.then_some(Value::Null),
            value if from == to => return Some(value),
            Value::DateTime(utc) if from.kind == TypeKind::Timestamp => Value::DateTime(self.time_zone.timestamp_from_utc(utc)),
            value => value,
        };
        let context = StoreContext { sql_mode: self.sql_mode, time_zone: &self.time_zone, today: self.today };
        Some(to_utc(store(value, from, to, &context).ok()?, to, &self.time_zone))
    }
}

/// A value as it is stored: TIMESTAMPs are UTC.
pub(super) fn to_utc(value: Value, ty: &ColumnType, zone: &TimeZone) -> Value {
    match value {
        Value::DateTime(local) if ty.kind == TypeKind::Timestamp => {
            let utc = zone.timestamp_to_utc(local);
            Value::DateTime(utc.map_or(DateTime::ZERO, |utc| utc.value))
        }
        value => value,
    }
}
