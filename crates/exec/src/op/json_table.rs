//! JSON_TABLE: the rows that paths find in a document.
//!
//! A path and those nested in it are `Level`s, each at one of the values that it has found. A value gives a row for each row of the nested
//! paths, one path after the other, or one row if they give none.

use vaquita_plan::eval::json::document;
use vaquita_plan::expr::Expr;
use vaquita_plan::json_table::{self, JsonColumn, JsonColumnValue, JsonOn, JsonRows};
use vaquita_types::convert::{JsonMisfit, StoreContext, from_json_of_table};
use vaquita_types::errno::{
    ER_INVALID_JSON_VALUE_FOR_CAST, ER_JT_VALUE_OUT_OF_RANGE, ER_MISSING_JSON_TABLE_VALUE, ER_WRONG_JSON_TABLE_VALUE,
};
use vaquita_types::json::Json;
use vaquita_types::{Error, Result, Value};

use super::{Frame, Operator, Pulse};
use crate::context::{Kept, local_now};

pub struct JsonTable<'p> {
    document: &'p Expr,
    root: Level<'p>,
    /// What was counted for the document.
    kept: Kept,
    pulse: Pulse,
}

struct Level<'p> {
    rows: &'p JsonRows,
    found: Vec<Json>,
    /// The value after the one that rows are made of.
    next: usize,
    nested: Vec<Level<'p>>,
    /// The nested path whose rows come now.
    current: usize,
    /// The value has given a row.
    gave: bool,
}

impl<'p> JsonTable<'p> {
    pub fn new(document: &'p Expr, table: &'p json_table::JsonTable) -> JsonTable<'p> {
        JsonTable { document, root: Level::new(&table.rows), kept: Kept::default(), pulse: Pulse::default() }
    }
}

impl Operator for JsonTable<'_> {
    fn open(&mut self, frame: &mut Frame<'_>) -> Result<()> {
        self.kept.clear();
        let json = document(&*self.document.eval(&frame.cx())?, &self.document.ty, 0, "json_table")?;
        self.kept.add(json.as_ref().map_or(0, |json| json.bytes_up_to(usize::MAX)), frame.statement)?;
        check_defaults(self.root.rows, frame)?;
        match &json {
            Some(json) => self.root.seek(json),
            None => self.root.found.clear(),
        }
        Ok(())
    }

    fn next(&mut self, frame: &mut Frame<'_>) -> Result<bool> {
        self.pulse.beat(frame)?;
        self.root.next_row(frame)
    }
}

impl<'p> Level<'p> {
    fn new(rows: &'p JsonRows) -> Level<'p> {
        let nested = rows.nested.iter().map(Level::new).collect();
        Level { rows, found: Vec::new(), next: 0, nested, current: 0, gave: true }
    }

    fn seek(&mut self, json: &Json) {
        self.found.clear();
        self.found.extend(json.seek(&self.rows.path).into_iter().cloned());
        self.next = 0;
        self.current = self.nested.len();
        self.gave = true;
    }

    fn next_row(&mut self, frame: &mut Frame<'_>) -> Result<bool> {
        loop {
            while let Some(nested) = self.nested.get_mut(self.current) {
                if nested.next_row(frame)? {
                    self.gave = true;
                    return Ok(true);
                }
                nested.rows.each_column(&mut |column| frame.slots[column.slot] = Value::Null);
                self.current += 1;
                self.open_nested();
            }
            if !std::mem::replace(&mut self.gave, true) {
                return Ok(true);
            }
            let Some(json) = self.found.get(self.next) else { return Ok(false) };
            self.next += 1;
            self.gave = false;
            for column in &self.rows.columns {
                frame.slots[column.slot] = value(column, json, self.next, frame)?;
            }
            for nested in &self.nested {
                nested.rows.each_column(&mut |column| frame.slots[column.slot] = Value::Null);
            }
            self.current = 0;
            self.open_nested();
        }
    }

    fn open_nested(&mut self) {
        let json = self.next.checked_sub(1).and_then(|at| self.found.get(at));
        if let (Some(nested), Some(json)) = (self.nested.get_mut(self.current), json) {
            nested.seek(json);
        }
    }
}

/// A column of the row that `json`, the `number`th value of its path, gives.
fn value(column: &JsonColumn, json: &Json, number: usize, frame: &Frame<'_>) -> Result<Value> {
    let (path, on_empty, on_error) = match &column.value {
        JsonColumnValue::Ordinality => return Ok(Value::Int(number as i64)),
        JsonColumnValue::Exists(path) => {
            let exists = Json::Int(i64::from(!json.seek(path).is_empty()));
            return store(&exists, column, frame).map_err(|misfit| error(misfit, column));
        }
        JsonColumnValue::At { path, on_empty, on_error } => (path, on_empty, on_error),
    };
    let found = match json.seek(path)[..] {
        [] => {
            return match on_empty {
                JsonOn::Null => Ok(Value::Null),
                JsonOn::Error => Err(Error::new(&ER_MISSING_JSON_TABLE_VALUE, &[&column.name])),
                JsonOn::Default(json) => store(json, column, frame).map_err(|misfit| error(misfit, column)),
            };
        }
        [one] => one.clone(),
        ref several => Json::array(several.iter().copied().cloned().collect()),
    };
    store(&found, column, frame).or_else(|misfit| match on_error {
        JsonOn::Null => Ok(Value::Null),
        JsonOn::Error => Err(error(misfit, column)),
        JsonOn::Default(json) => store(json, column, frame).map_err(|misfit| error(misfit, column)),
    })
}

fn store(json: &Json, column: &JsonColumn, frame: &Frame<'_>) -> std::result::Result<Value, JsonMisfit> {
    let session = frame.statement.session;
    let zone = session.time_zone();
    let today = local_now(zone, session.statement_time_us()).date();
    from_json_of_table(json, &column.ty, &StoreContext { sql_mode: session.sql_mode(), time_zone: zone, today })
}

/// Defaults that do not fit are errors, used or not.
fn check_defaults(rows: &JsonRows, frame: &Frame<'_>) -> Result<()> {
    let mut done = Ok(());
    rows.each_column(&mut |column| {
        if let JsonColumnValue::At { on_empty, on_error, .. } = &column.value {
            for on in [on_empty, on_error] {
                if let (JsonOn::Default(json), Ok(())) = (on, &done) {
                    done = store(json, column, frame).map(drop).map_err(|misfit| error(misfit, column));
                }
            }
        }
    });
    done
}

fn error(misfit: JsonMisfit, column: &JsonColumn) -> Error {
    match misfit {
        JsonMisfit::NoScalar => Error::new(&ER_WRONG_JSON_TABLE_VALUE, &[&column.name]),
        JsonMisfit::NoSuch(name) => Error::new(&ER_INVALID_JSON_VALUE_FOR_CAST, &[&name, &"", &column.name, &1]),
        JsonMisfit::OutOfRange => Error::new(&ER_JT_VALUE_OUT_OF_RANGE, &[&column.name]),
    }
}
