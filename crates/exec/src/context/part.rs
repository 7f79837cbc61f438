//! `Part`: the share that one thread has of a statement that several run (`op::parallel`).

use std::cell::Cell;
use std::sync::Arc;

use vaquita_plan::node::Scan;
use vaquita_storage::helpers::Queue;
use vaquita_storage::{KeyRange, Table};
use vaquita_types::{Error, Result};

/// The share of one thread.
pub struct Part<'a> {
    driving: &'a Scan,
    tables: &'a [Arc<Table>],
    /// The driving scan's ranges, in the order in which it reads them.
    morsels: &'a Queue<'a, KeyRange>,
    at: Cell<usize>,
}

impl<'a> Part<'a> {
    pub fn new(driving: &'a Scan, tables: &'a [Arc<Table>], morsels: &'a Queue<'a, KeyRange>) -> Part<'a> {
        Part { driving, tables, morsels, at: Cell::new(0) }
    }

    pub fn divides(&self, scan: &Scan) -> bool {
        std::ptr::eq(self.driving, scan)
    }

    /// The next range to read.
    pub fn take(&self) -> Option<KeyRange> {
        let (at, range) = self.morsels.take()?;
        self.at.set(at);
        Some(range.clone())
    }

    /// The number of the range that is read now.
    pub fn morsel(&self) -> usize {
        self.at.get()
    }

    /// Nobody takes another range.
    pub fn stop(&self) {
        self.morsels.stop();
    }

    /// A table that the statement has opened.
    pub fn table(&self, id: vaquita_types::schema::TableId) -> Result<Arc<Table>> {
        let table = self.tables.iter().find(|table| table.def.id == id);
        table.cloned().ok_or_else(|| Error::internal("a table that nobody has opened"))
    }
}
