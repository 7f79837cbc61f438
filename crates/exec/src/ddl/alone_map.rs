//! What an ALTER TABLE makes of a row, where that depends on the row alone, so that several threads can do it.

use std::sync::Arc;

use vaquita_storage::AloneMap;
use vaquita_types::convert::StoreContext;
use vaquita_types::temporal::{Date, TimeZone};
use vaquita_types::{Error, Result, Value};

use super::convert::Source;

/// As `RowMap`, without a session: a row is left to that one if it is refused, or if a warning is to be given for it.
pub(super) struct AloneRowMap {
    pub sources: Arc<[Source]>,
    pub sql_mode: u64,
    pub time_zone: TimeZone,
    pub today: Date,
}

impl AloneMap for AloneRowMap {
    fn map(&self, row: &mut [Value], new: &mut Vec<Value>) -> Result<bool> {
        let context = StoreContext { sql_mode: self.sql_mode, time_zone: &self.time_zone, today: self.today };
        let short = || Error::internal("short row");
        new.resize(self.sources.len(), Value::Null);
        for (source, to) in self.sources.iter().zip(new) {
            match source {
                // The other row's value stays, for its memory.
                Source::Keep(at) => std::mem::swap(row.get_mut(*at).ok_or_else(short)?, to),
                Source::Constant(value) => to.clone_from(value),
                Source::Convert(at, conversion) => {
                    let converted = match row.get_mut(*at).map(std::mem::take).ok_or_else(short)? {
                        Value::Null => conversion.nullable.then_some(Value::Null),
                        value => conversion.stored(value, &context).ok(),
                    };
                    let Some(value) = converted else { return Ok(false) };
                    *to = value;
                }
                Source::AutoIncrement | Source::Numbered(..) | Source::Expr(_) | Source::Generated(_) => return Ok(false),
            }
        }
        Ok(true)
    }
}
