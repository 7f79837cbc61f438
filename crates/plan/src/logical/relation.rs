//! The tables of a query block: what they are called, where their rows come from, and which slots their columns fill.

use std::ops::Range;
use std::sync::Arc;

use vaquita_parser as ast;
use vaquita_types::schema::TableRef;
use vaquita_types::{ColumnType, Result};

use super::hints::TableHints;
use super::{Inner, StatementFacts};
use crate::catalog::{Catalog, View};
use crate::expr::{Expr, Slot};
use crate::node::{ColumnOrigin, Limit, RowLock, SharedQuery};
use crate::switches::Switches;
use crate::tree::partition::ScanPartitions;
use crate::uses::Whose;
use crate::visit;

/// All that planning a query block knows beside its tree.
pub(crate) struct Tables<'a> {
    pub relations: &'a [Relation],
    /// Which relation fills each slot of the block's frame; none for results of aggregation and windows.
    pub owners: &'a [Option<usize>],
    pub switches: Switches,
    pub facts: &'a StatementFacts,
    pub catalog: &'a dyn Catalog,
}

impl Tables<'_> {
    pub fn owner(&self, slot: Slot) -> Option<usize> {
        self.owners.get(slot).copied().flatten()
    }
}

/// A table of a FROM clause.
#[derive(Debug)]
pub(crate) struct Relation {
    pub alias: String,
    /// The database it can be qualified with; none for derived tables and CTEs.
    pub database: Option<String>,
    pub source: Source,
    pub columns: Vec<RelationColumn>,
    /// It may be missing in a row: inner side of an outer join.
    pub optional: bool,
    pub index_hints: Vec<ast::IndexHint>,
    /// What optimizer hints say of it; it is there if any are in the statement or the view.
    pub hints: Option<Box<TableHints>>,
    pub lock: Option<RowLock>,
    /// For UPDATE, DELETE and MATCH.
    pub key_slot: Option<Slot>,
    /// Its columns are not the account's to be asked for: a row of SHOW, the row under a DEFAULT (expr).
    pub free: bool,
    /// The tables' columns that its columns were selected from, where naming them reads those.
    pub stands_for: Vec<Option<(TableRef, usize)>>,
    /// The generated columns of a base table, by position, over its columns' positions in place of slots.
    pub generated: Vec<(usize, Expr)>,
    /// Of a partitioned table: its function and the partitions that are named.
    pub partitions: Option<ScanPartitions>,
    pub view: Option<Box<UsedView>>,
    /// The relations of the block that a merged view brought.
    pub merged: Range<usize>,
    /// Who reads it: a view's definer, if it came with one.
    pub whose: Whose,
}

/// What a view is to the statement that names it.
#[derive(Debug)]
pub(crate) struct UsedView {
    pub view: Arc<View>,
    /// Its columns.
    pub def: TableRef,
    /// Its rows are those of tables: one of them may be changed through it.
    pub is_updatable: bool,
    pub is_insertable: bool,
    /// WITH CHECK OPTION of it or of a view in it asks something of new rows.
    pub checks: bool,
    /// Key and alias of the tables that its subqueries read, as `Binder::targets` has them.
    pub read_inside: Vec<(String, String)>,
    /// While its check is bound: what its rows and those of the views in it satisfy, and which of that new rows must.
    pub conditions: Vec<Expr>,
    pub checked: Vec<Expr>,
}

#[derive(Debug)]
pub(crate) enum Source {
    Base(TableRef),
    Derived {
        query: Inner,
        correlated: bool,
        lateral: bool,
        shared: Option<Arc<SharedQuery>>,
    },
    Recursive {
        id: usize,
        seed: Inner,
        recursive: Vec<Inner>,
        distinct: bool,
        types: Vec<ColumnType>,
        limit: Option<Box<Limit>>,
    },
    /// The working rows of the recursive CTE `id`.
    CteRows {
        id: usize,
    },
    /// A derived table whose tables are in this frame: its columns are expressions.
    Merged,
    /// The row of a statement (INSERT's new row): its slots are filled from outside.
    Row(TableRef),
}

#[derive(Debug)]
pub struct RelationColumn {
    pub name: String,
    pub invisible: bool,
    pub value: ColumnValue,
    pub origin: Option<ColumnOrigin>,
}

#[derive(Debug)]
pub enum ColumnValue {
    /// Gets a slot when it is first referred to.
    Lazy {
        ty: ColumnType,
        nullable: bool,
    },
    Slot {
        slot: Slot,
        ty: ColumnType,
        nullable: bool,
    },
    Expr(Expr),
}

impl Source {
    /// The queries whose rows it gives.
    pub fn queries_mut(&mut self, f: &mut dyn FnMut(&mut Inner) -> Result<()>) -> Result<()> {
        match self {
            Source::Derived { query, .. } => f(query),
            Source::Recursive { seed, recursive, .. } => {
                f(seed)?;
                recursive.iter_mut().try_for_each(f)
            }
            Source::Base(_) | Source::CteRows { .. } | Source::Merged | Source::Row(_) => Ok(()),
        }
    }
}

impl Relation {
    pub fn new(alias: &str, database: Option<String>, source: Source, columns: Vec<RelationColumn>) -> Relation {
        Relation {
            alias: alias.to_string(),
            database,
            source,
            columns,
            optional: false,
            index_hints: Vec::new(),
            hints: None,
            lock: None,
            key_slot: None,
            free: false,
            stands_for: Vec::new(),
            generated: Vec::new(),
            partitions: None,
            view: None,
            merged: 0..0,
            whose: Whose::Session,
        }
    }

    pub fn position(&self, name: &str) -> Option<usize> {
        self.columns.iter().position(|c| same_name(&c.name, name))
    }

    /// The qualifier `[db.]table` means this relation.
    pub fn is_called(&self, db: Option<&str>, table: &str) -> bool {
        let is_database = |own: &str, db: &str| own == db || own == "information_schema" && db.eq_ignore_ascii_case(own);
        self.alias == table && db.is_none_or(|db| self.database.as_deref().is_some_and(|own| is_database(own, db)))
    }

    /// Its tables stand in the frame in its place.
    pub fn is_merged(&self) -> bool {
        matches!(self.source, Source::Merged)
    }

    /// The column that fills a slot.
    pub fn column_of(&self, slot: Slot) -> Option<usize> {
        (0..self.columns.len()).find(|column| self.slot(*column) == Some(slot))
    }

    /// The slot of a column, if anything refers to it.
    pub fn slot(&self, column: usize) -> Option<Slot> {
        match self.columns.get(column)?.value {
            ColumnValue::Slot { slot, .. } => Some(slot),
            _ => None,
        }
    }
}

/// Column names compare without case.
pub fn same_name(a: &str, b: &str) -> bool {
    a.eq_ignore_ascii_case(b) || (!a.is_ascii() && a.to_lowercase() == b.to_lowercase())
}

/// A set of relations of one frame, by index.
pub type Set = u128;

pub fn bit(relation: usize) -> Set {
    1u128.checked_shl(relation as u32).unwrap_or(0)
}

/// The relations that an expression reads.
pub fn set_of(tables: &Tables<'_>, expr: &Expr) -> Set {
    visit::slots(expr).into_iter().filter_map(|s| tables.owner(s)).map(bit).fold(0, |a, b| a | b)
}
