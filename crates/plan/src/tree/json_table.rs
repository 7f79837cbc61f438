//! JSON_TABLE: which rows and columns a document gives.

use vaquita_types::ColumnType;
use vaquita_types::json::{Json, JsonPath};

use super::expr::Slot;

#[derive(Debug)]
pub struct JsonTable {
    pub rows: JsonRows,
    /// The slots of all columns, in their order.
    pub slots: Vec<Slot>,
}

/// The rows that a path gives, relative to the row around it.
#[derive(Debug)]
pub struct JsonRows {
    pub path: JsonPath,
    pub columns: Vec<JsonColumn>,
    /// NESTED PATHs: the rows of one come after those of the other.
    pub nested: Vec<JsonRows>,
}

#[derive(Debug)]
pub struct JsonColumn {
    pub name: String,
    pub ty: ColumnType,
    pub slot: Slot,
    pub value: JsonColumnValue,
}

#[derive(Debug)]
pub enum JsonColumnValue {
    Ordinality,
    Exists(JsonPath),
    At { path: JsonPath, on_empty: JsonOn, on_error: JsonOn },
}

#[derive(Debug)]
pub enum JsonOn {
    Null,
    Error,
    Default(Json),
}

impl JsonRows {
    /// Calls `f` with each column, those of nested paths included.
    pub fn each_column<'t>(&'t self, f: &mut dyn FnMut(&'t JsonColumn)) {
        self.columns.iter().for_each(&mut *f);
        self.nested.iter().for_each(|rows| rows.each_column(f));
    }
}
