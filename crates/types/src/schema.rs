//! What the catalog knows of databases, tables, columns and indexes.
//!
//! A table's columns have an id that is never reused within the table, so that rows
//! written under an older `Layout` stay readable: ADD, DROP, RENAME and reorder of
//! columns only add a layout. Descriptors are immutable and shared by `Arc`; DDL
//! makes a new one with a higher `schema_version`.

mod object;
mod partition;
mod trigger;

use std::sync::Arc;

use crate::charset::{CollationId, TextParser};
use crate::datatype::ColumnType;
use crate::value::Value;
pub use object::{Definer, ObjectKind, SqlSecurity, StoredObject};
pub use partition::{PartitionDef, PartitionKey, PartitionMethod, PartitionValues, Partitioning, Subpartitioning};
pub use trigger::{Trigger, TriggerEvent, TriggerTime};

macro_rules! id {
    ($(#[$doc:meta])* $name:ident($inner:ty)) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
        pub struct $name(pub $inner);
    };
}

id!(/** Names a database for its whole life; RENAME keeps it. */ DatabaseId(u32));
id!(/** Names a table for its whole life; TRUNCATE gives a new one. */ TableId(u32));
id!(/** Prefix of every key of one index; unique in the server, never reused. */ IndexId(u32));
id!(/** Names a column within its table; never reused. */ ColumnId(u16));
id!(/** Counts the layouts of one table, from 1; stored in every row. */ LayoutVersion(u16));

#[derive(Clone, Debug, PartialEq)]
pub struct DatabaseDef {
    pub id: DatabaseId,
    pub name: String,
    pub collation: CollationId,
}

#[derive(Clone, Debug, PartialEq)]
pub struct TableDef {
    pub id: TableId,
    pub database: String,
    pub name: String,
    /// Changes with every DDL on the table; cached plans compare it.
    pub schema_version: u64,
    /// In the order of SHOW CREATE TABLE and `SELECT *`.
    pub columns: Vec<ColumnDef>,
    /// The clustered index is first: the PRIMARY KEY, or the hidden row id (see `hidden_rowid`).
    pub indexes: Vec<IndexDef>,
    /// No PRIMARY KEY: rows are keyed by a hidden 8-byte counter and `indexes[0]` has no parts.
    pub hidden_rowid: bool,
    /// Every layout that stored rows may have; the last one is written.
    pub layouts: Vec<Layout>,
    pub collation: CollationId,
    pub options: TableOptions,
    /// The next column id to give out.
    pub next_column_id: ColumnId,
    /// Microseconds since 1970, UTC.
    pub created_us: u64,
    /// By name without case, the order in which MySQL checks and prints them.
    pub foreign_keys: Vec<ForeignKeyDef>,
    /// The tables that have a foreign key to this name, the oldest first. Of the catalog, not of the table's record.
    pub referenced_by: Vec<QualifiedName>,
    /// By event and time, in the order in which they run. Of the catalog, too.
    pub triggers: Vec<Trigger>,
    pub partitioning: Option<Arc<Partitioning>>,
}

/// Database and name of a table.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct QualifiedName {
    pub database: String,
    pub name: String,
}

/// `CONSTRAINT name FOREIGN KEY (columns) REFERENCES parent (parent_columns) …`, kept with the child. The parent is named, because it
/// may not be there (`foreign_key_checks` = 0).
#[derive(Clone, Debug, PartialEq)]
pub struct ForeignKeyDef {
    pub name: String,
    pub columns: Vec<ColumnId>,
    pub parent: QualifiedName,
    pub parent_columns: Vec<String>,
    pub on_delete: ReferentialAction,
    pub on_update: ReferentialAction,
    /// MATCH as written, which changes nothing.
    pub match_option: MatchOption,
}

/// What happens to the children of a row that goes or gets another key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum ReferentialAction {
    NoAction = 0,
    Restrict = 1,
    Cascade = 2,
    SetNull = 3,
    /// Acts as NO ACTION, as InnoDB's does.
    SetDefault = 4,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum MatchOption {
    None = 0,
    Simple = 1,
    Partial = 2,
    Full = 3,
}

impl ReferentialAction {
    /// As SQL writes it.
    pub fn name(self) -> &'static str {
        match self {
            ReferentialAction::NoAction => "NO ACTION",
            ReferentialAction::Restrict => "RESTRICT",
            ReferentialAction::Cascade => "CASCADE",
            ReferentialAction::SetNull => "SET NULL",
            ReferentialAction::SetDefault => "SET DEFAULT",
        }
    }

    /// Children change instead of being in the way.
    pub fn changes_children(self) -> bool {
        matches!(self, ReferentialAction::Cascade | ReferentialAction::SetNull)
    }
}

impl MatchOption {
    /// As information_schema names it.
    pub fn name(self) -> &'static str {
        match self {
            MatchOption::None | MatchOption::Simple => "NONE",
            MatchOption::Partial => "PARTIAL",
            MatchOption::Full => "FULL",
        }
    }
}

/// Options that SHOW CREATE TABLE prints back; they change nothing in storage.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TableOptions {
    /// As SHOW CREATE TABLE prints it: `InnoDB`, `ROCKSDB`, `MyISAM`, `MEMORY` …
    pub engine: String,
    pub comment: String,
    pub row_format: Option<String>,
    /// `KEY=value` pairs kept as text, in MySQL's print order (`STATS_PERSISTENT=0` …).
    pub others: Vec<(String, String)>,
    pub temporary: bool,
    /// Columns declared with CHARACTER SET or COLLATE, which SHOW CREATE TABLE prints even if they are the table's.
    pub collations_given: Vec<ColumnId>,
    pub checks: Vec<CheckDef>,
}

/// `CONSTRAINT name CHECK (expr)`.
#[derive(Clone, Debug, PartialEq)]
pub struct CheckDef {
    pub name: String,
    /// SQL text as MySQL prints it, with its outer parentheses.
    pub expr: String,
    pub enforced: bool,
}

/// Column ids and types in the physical order of a row.
#[derive(Clone, Debug, PartialEq)]
pub struct Layout {
    pub version: LayoutVersion,
    pub columns: Vec<LayoutColumn>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct LayoutColumn {
    pub id: ColumnId,
    pub ty: ColumnType,
    pub nullable: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub struct ColumnDef {
    pub id: ColumnId,
    pub name: String,
    pub ty: ColumnType,
    pub nullable: bool,
    pub default: ColumnDefault,
    /// `ON UPDATE CURRENT_TIMESTAMP`.
    pub on_update_now: bool,
    pub auto_increment: bool,
    pub comment: String,
    pub invisible: bool,
    /// What rows of layouts without this column hold: the default when it was added.
    pub added_default: Value,
    /// `GENERATED ALWAYS AS (expr)`.
    pub generated: Option<Generated>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Generated {
    /// SQL text as MySQL prints it.
    pub expr: String,
    pub stored: bool,
    /// Rows hold the value: it is STORED, or part of an index or was. What an index holds is found again by the row, whatever
    /// settings the expression would be evaluated with.
    pub in_row: bool,
    /// Part of a functional index, and nothing else: no statement can name it.
    pub hidden: bool,
    /// The type of the elements of the arrays that it holds, in a multi-valued index; keys are of it.
    pub elements: Option<ColumnType>,
}

#[derive(Clone, Debug, PartialEq)]
pub enum ColumnDefault {
    /// No DEFAULT clause and NOT NULL: inserting without a value is error 1364.
    None,
    /// A literal, already converted to the column's type (`Value::Null` for DEFAULT NULL).
    Value(Value),
    /// `CURRENT_TIMESTAMP[(fsp)]`.
    Now,
    /// `DEFAULT (expr)`: SQL text as MySQL prints it.
    Expr(String),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum IndexKind {
    Primary = 0,
    Unique = 1,
    Secondary = 2,
    /// An entry for each word of a row. It has no order, so that nothing but MATCH … AGAINST reads it.
    FullText = 3,
    /// Entries for the cells that cover a geometry. It has no order that a statement could use: it finds what meets a window.
    Spatial = 4,
}

#[derive(Clone, Debug, PartialEq)]
pub struct IndexDef {
    pub id: IndexId,
    /// `PRIMARY` for the primary key.
    pub name: String,
    pub kind: IndexKind,
    pub parts: Vec<IndexPart>,
    pub comment: String,
    pub invisible: bool,
    /// `USING BTREE` or `USING HASH` as written, for SHOW CREATE TABLE.
    pub using: Option<String>,
    /// Made for a foreign key that had no index. It goes when another one comes that serves.
    pub generated: bool,
    /// One part has an entry for each element of an array: a row may have many entries, or none. So has that of a SPATIAL index for each cell.
    pub multi_valued: bool,
    /// Of a FULLTEXT index.
    pub parser: TextParser,
}

#[derive(Clone, Debug, PartialEq)]
pub struct IndexPart {
    pub column: ColumnId,
    /// Characters (bytes for binary types) of a prefix index.
    pub prefix: Option<u32>,
    pub descending: bool,
}

impl ColumnDef {
    /// A part of a functional index.
    pub fn is_hidden(&self) -> bool {
        self.generated.as_ref().is_some_and(|generated| generated.hidden)
    }

    /// Of a column of arrays: the type of their elements.
    pub fn element_type(&self) -> Option<&ColumnType> {
        self.generated.as_ref()?.elements.as_ref()
    }

    /// The type that keys of the column have.
    pub fn key_type(&self) -> &ColumnType {
        self.element_type().unwrap_or(&self.ty)
    }

    /// Rows hold the column; the others are computed when they are read.
    pub fn is_in_row(&self) -> bool {
        self.generated.as_ref().is_none_or(|generated| generated.in_row)
    }
}

impl TableDef {
    /// The position of a column in `columns`; names compare without case, as MySQL's do.
    pub fn column_position(&self, name: &str) -> Option<usize> {
        self.columns
            .iter()
            .position(|c| !c.is_hidden() && (c.name.eq_ignore_ascii_case(name) || c.name.to_lowercase() == name.to_lowercase()))
    }

    pub fn position_of(&self, id: ColumnId) -> Option<usize> {
        self.columns.iter().position(|c| c.id == id)
    }

    /// The clustered index.
    pub fn clustered(&self) -> &IndexDef {
        &self.indexes[0]
    }

    pub fn primary_key(&self) -> Option<&IndexDef> {
        (!self.hidden_rowid).then(|| &self.indexes[0])
    }

    pub fn index_named(&self, name: &str) -> Option<&IndexDef> {
        self.indexes.iter().find(|i| i.name.eq_ignore_ascii_case(name))
    }

    pub fn current_layout(&self) -> &Layout {
        &self.layouts[self.layouts.len() - 1]
    }

    /// Has foreign keys, or is the parent of some.
    pub fn has_foreign_keys(&self) -> bool {
        !self.foreign_keys.is_empty() || !self.referenced_by.is_empty()
    }

    /// Those of an event and time, in the order in which they run.
    pub fn triggers_at(&self, event: TriggerEvent, time: TriggerTime) -> impl Iterator<Item = &Trigger> {
        self.triggers.iter().filter(move |trigger| trigger.event == event && trigger.time == time)
    }

    pub fn qualified_name(&self) -> QualifiedName {
        QualifiedName { database: self.database.clone(), name: self.name.clone() }
    }

    /// The index in which the rows with given values of these columns are next to each other.
    pub fn index_led_by(&self, columns: &[ColumnId]) -> Option<usize> {
        self.indexes.iter().position(|index| index.is_led_by(columns))
    }

    /// The index that a foreign key to these columns uses: a unique one of these columns alone, or one that begins with them.
    pub fn referenced_index(&self, columns: &[ColumnId]) -> Option<usize> {
        let unique = self.indexes.iter().position(|index| index.is_unique_of(columns));
        unique.or_else(|| self.index_led_by(columns))
    }

    pub fn has_generated_columns(&self) -> bool {
        self.columns.iter().any(|column| column.generated.is_some())
    }

    pub fn auto_increment_column(&self) -> Option<usize> {
        self.columns.iter().position(|c| c.auto_increment)
    }
}

impl IndexDef {
    /// PRIMARY KEY or UNIQUE.
    pub fn is_unique(&self) -> bool {
        matches!(self.kind, IndexKind::Primary | IndexKind::Unique)
    }

    pub fn is_full_text(&self) -> bool {
        self.kind == IndexKind::FullText
    }

    pub fn is_spatial(&self) -> bool {
        self.kind == IndexKind::Spatial
    }

    /// The first parts are whole columns, and these.
    pub fn is_led_by(&self, columns: &[ColumnId]) -> bool {
        !self.is_full_text()
            && !self.multi_valued
            && self.parts.len() >= columns.len()
            && self.parts.iter().zip(columns).all(|(part, column)| part.column == *column && part.prefix.is_none())
    }

    /// Unique, and these columns are all of its parts.
    pub fn is_unique_of(&self, columns: &[ColumnId]) -> bool {
        self.is_unique() && self.parts.len() == columns.len() && self.is_led_by(columns)
    }
}

pub type TableRef = Arc<TableDef>;
