//! Where the rows of a result go.
//!
//! The server's implementation writes packets; `Collect` keeps rows for subqueries and derived tables.

use vaquita_plan::node::{KeptHeader, OutputColumn};
use vaquita_storage::ValueRef;
use vaquita_types::{ColumnType, Result, Value};

pub trait RowSink {
    /// Before the first row; also when there will be none.
    fn columns(&mut self, columns: &[OutputColumn], header: &KeptHeader) -> Result<()>;
    fn begin_row(&mut self);
    fn value(&mut self, value: &Value, ty: &ColumnType);
    /// A stored column as it is, without a `Value` in between. TIMESTAMPs are UTC here.
    fn stored(&mut self, value: ValueRef<'_>, ty: &ColumnType) -> Result<()>;
    /// The row is complete; fails when the client is gone.
    fn end_row(&mut self) -> Result<()>;
}

/// Forgets the rows.
pub struct Discard;

impl RowSink for Discard {
    fn columns(&mut self, _: &[OutputColumn], _: &KeptHeader) -> Result<()> {
        Ok(())
    }

    fn begin_row(&mut self) {}

    fn value(&mut self, _: &Value, _: &ColumnType) {}

    fn stored(&mut self, _: ValueRef<'_>, _: &ColumnType) -> Result<()> {
        Ok(())
    }

    fn end_row(&mut self) -> Result<()> {
        Ok(())
    }
}

/// Keeps the rows in memory.
#[derive(Default)]
pub struct Collect {
    pub rows: Vec<Vec<Value>>,
    row: Vec<Value>,
}

impl RowSink for Collect {
    fn columns(&mut self, _: &[OutputColumn], _: &KeptHeader) -> Result<()> {
        Ok(())
    }

    fn begin_row(&mut self) {
        self.row = Vec::new();
    }

    fn value(&mut self, value: &Value, _: &ColumnType) {
        self.row.push(value.clone());
    }

    fn stored(&mut self, value: ValueRef<'_>, _: &ColumnType) -> Result<()> {
        self.row.push(value.to_value()?);
        Ok(())
    }

    fn end_row(&mut self) -> Result<()> {
        self.rows.push(std::mem::take(&mut self.row));
        Ok(())
    }
}
