//! `Choices`: what the optimizer chose between, for whoever asks why (`why`). Planning notes them only where the catalog has a place for them
//! (`Catalog::choices`).

use std::cell::RefCell;

use vaquita_types::schema::{ColumnId, TableRef};

#[derive(Default)]
pub struct Choices {
    blocks: RefCell<Vec<BlockChoices>>,
}

/// Of the tables of a query block.
#[derive(Clone, Debug, Default)]
pub struct BlockChoices {
    /// The one that was taken, then others, the cheapest first.
    pub orders: Vec<OrderChoice>,
    pub tables: Vec<TableChoices>,
    pub wanted: Vec<WantedIndex>,
}

#[derive(Clone, Debug)]
pub struct OrderChoice {
    /// The tables in their order, each with how it is joined.
    pub steps: Vec<String>,
    pub cost: f64,
    pub rows: f64,
}

#[derive(Clone, Debug)]
pub struct TableChoices {
    pub alias: String,
    /// What is left of the rows that are read in one opening.
    pub rows_out: f64,
    /// The one that was taken, then others, the cheapest first.
    pub ways: Vec<Way>,
}

/// A way to read a table: its name, the rows that are read in one opening, and what that costs.
#[derive(Clone, Debug, PartialEq)]
pub struct Way {
    pub name: String,
    pub rows: f64,
    pub cost: f64,
}

/// Columns of which conditions say something, in an order that an index could have.
#[derive(Clone, Debug)]
pub struct WantedIndex {
    pub table: TableRef,
    pub columns: Vec<ColumnId>,
}

impl Choices {
    pub fn note(&self, block: BlockChoices) {
        self.blocks.borrow_mut().push(block);
    }

    /// Blocks that have been noted.
    pub fn count(&self) -> usize {
        self.blocks.borrow().len()
    }

    /// Takes notes of plans back that were not taken.
    pub fn truncate(&self, count: usize) {
        self.blocks.borrow_mut().truncate(count);
    }

    pub fn take(&self) -> Vec<BlockChoices> {
        self.blocks.take()
    }
}
