//! Partitioned tables: by what rows are divided, and under which ids each partition has its keys.
//!
//! A partition is to storage a table of its own: it has an id for its counters, and an id for each index. The ids of the table itself
//! name locks, AUTO_INCREMENT and statistics, and no key is written under its index ids.
//!
//! Example: `PARTITION BY RANGE (a) (PARTITION p0 VALUES LESS THAN (10), PARTITION p1 VALUES LESS THAN MAXVALUE)` of a table with a
//! PRIMARY KEY and an index has two partitions with two index ids each.
//!
//! Where there are subpartitions, these are the partitions that storage has, and the partitions above them are names and values only:
//! `SUBPARTITION BY HASH (b) SUBPARTITIONS 2` behind that makes p0sp0, p0sp1, p1sp0 and p1sp1 the partitions 0 to 3.

use std::ops::Range;
use std::sync::Arc;

use super::{ColumnId, IndexDef, IndexId, IndexKind, IndexPart, TableDef, TableId};
use crate::value::Value;

#[derive(Clone, Debug, PartialEq)]
pub struct Partitioning {
    pub method: PartitionMethod,
    pub key: PartitionKey,
    /// The partitions were written one by one, and are printed so.
    pub listed: bool,
    /// Their number was written, or is not what is assumed: `PARTITIONS n` is printed.
    pub counted: bool,
    /// What rows are in, in the order of their numbers: the subpartitions, partition by partition, or the partitions if there are none.
    pub partitions: Vec<PartitionDef>,
    pub subpartitions: Option<Subpartitioning>,
}

/// SUBPARTITION BY: each partition has the same number of subpartitions.
#[derive(Clone, Debug, PartialEq)]
pub struct Subpartitioning {
    /// HASH or KEY.
    pub method: PartitionMethod,
    pub key: PartitionKey,
    /// The subpartitions were named, and are printed one by one.
    pub listed: bool,
    /// `SUBPARTITIONS n` is printed.
    pub counted: bool,
    /// Of each partition.
    pub count: usize,
    /// The partitions, without ids: storage does not know them.
    pub partitions: Vec<PartitionDef>,
}

/// The numbers are those of its record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum PartitionMethod {
    Range = 0,
    List = 1,
    Hash = 2,
    LinearHash = 3,
    Key = 4,
    LinearKey = 5,
    /// KEY ALGORITHM = 1.
    OldKey = 6,
    OldLinearKey = 7,
}

#[derive(Clone, Debug, PartialEq)]
pub enum PartitionKey {
    /// SQL text as MySQL prints it, with an integer for its value.
    Expr(String),
    /// COLUMNS (…) and KEY (…).
    Columns(Vec<ColumnId>),
    /// KEY (): the primary key, or the unique key that stands in for it.
    PrimaryKey,
}

#[derive(Clone, Debug, PartialEq)]
pub struct PartitionDef {
    pub name: String,
    pub values: PartitionValues,
    pub comment: String,
    pub rows_max: Option<u64>,
    pub rows_min: Option<u64>,
    /// What it is to storage.
    pub id: TableId,
    /// In the order of the table's indexes.
    pub indexes: Vec<IndexId>,
}

impl PartitionDef {
    /// Without options; storage gives the ids.
    pub fn new(name: String, values: PartitionValues) -> PartitionDef {
        PartitionDef { name, values, comment: String::new(), rows_max: None, rows_min: None, id: TableId(0), indexes: Vec::new() }
    }

    /// A subpartition, with the options of this.
    pub fn subpartition(&self, name: String) -> PartitionDef {
        let (rows_max, rows_min) = (self.rows_max, self.rows_min);
        PartitionDef { comment: self.comment.clone(), rows_max, rows_min, ..PartitionDef::new(name, PartitionValues::None) }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub enum PartitionValues {
    /// HASH and KEY.
    None,
    /// VALUES LESS THAN, a bound for each column; `None` is MAXVALUE.
    LessThan(Vec<Option<Value>>),
    /// VALUES IN, a value for each column.
    In(Vec<Vec<Value>>),
}

impl PartitionMethod {
    pub const ALL: [PartitionMethod; 8] = [
        PartitionMethod::Range,
        PartitionMethod::List,
        PartitionMethod::Hash,
        PartitionMethod::LinearHash,
        PartitionMethod::Key,
        PartitionMethod::LinearKey,
        PartitionMethod::OldKey,
        PartitionMethod::OldLinearKey,
    ];

    /// As SQL writes it, without COLUMNS.
    pub fn name(self) -> &'static str {
        match self {
            PartitionMethod::Range => "RANGE",
            PartitionMethod::List => "LIST",
            PartitionMethod::Hash => "HASH",
            PartitionMethod::LinearHash => "LINEAR HASH",
            PartitionMethod::Key | PartitionMethod::OldKey => "KEY",
            PartitionMethod::LinearKey | PartitionMethod::OldLinearKey => "LINEAR KEY",
        }
    }

    pub fn is_hash(self) -> bool {
        matches!(self, PartitionMethod::Hash | PartitionMethod::LinearHash)
    }

    pub fn is_key(self) -> bool {
        matches!(self, PartitionMethod::Key | PartitionMethod::LinearKey) || self.is_of_mysql_5_1()
    }

    pub fn is_linear(self) -> bool {
        matches!(self, PartitionMethod::LinearHash | PartitionMethod::LinearKey | PartitionMethod::OldLinearKey)
    }

    /// KEY ALGORITHM = 1, which hashes as MySQL 5.1 did.
    pub fn is_of_mysql_5_1(self) -> bool {
        matches!(self, PartitionMethod::OldKey | PartitionMethod::OldLinearKey)
    }
}

impl Partitioning {
    /// What PARTITION BY makes, which have values and may have subpartitions.
    pub fn first_level(&self) -> &[PartitionDef] {
        self.subpartitions.as_ref().map_or(&self.partitions, |by| &by.partitions)
    }

    /// How many of `partitions` one of the first level has.
    pub fn per_first_level(&self) -> usize {
        self.subpartitions.as_ref().map_or(1, |by| by.count)
    }

    /// The numbers that one of the first level has.
    pub fn numbers_of(&self, first_level: usize) -> Range<usize> {
        let each = self.per_first_level();
        first_level * each..(first_level + 1) * each
    }

    /// The position of a partition of the first level; names compare without case.
    pub fn position(&self, name: &str) -> Option<usize> {
        named(self.first_level(), name)
    }

    /// The numbers that a name means: those of a partition, or that of a subpartition.
    pub fn numbers_named(&self, name: &str) -> Option<Range<usize>> {
        let subpartition = || named(&self.partitions, name).map(|number| number..number + 1);
        self.position(name).map(|at| self.numbers_of(at)).or_else(subpartition)
    }

    /// The partition of the first level that a number is of.
    pub fn first_level_of(&self, number: usize) -> Option<&PartitionDef> {
        self.first_level().get(number / self.per_first_level().max(1))
    }

    /// RANGE COLUMNS or LIST COLUMNS.
    pub fn has_columns(&self) -> bool {
        matches!(self.key, PartitionKey::Columns(_)) && !self.method.is_key()
    }
}

fn named(partitions: &[PartitionDef], name: &str) -> Option<usize> {
    let same = |p: &PartitionDef| p.name.eq_ignore_ascii_case(name) || p.name.to_lowercase() == name.to_lowercase();
    partitions.iter().position(same)
}

impl TableDef {
    /// The definition that a partition has as a table of its own.
    pub fn of_partition(&self, partition: &PartitionDef) -> TableDef {
        let mut def = TableDef { partitioning: None, id: partition.id, ..self.clone() };
        def.indexes.iter_mut().zip(&partition.indexes).for_each(|(index, id)| index.id = *id);
        def
    }

    pub fn is_partitioned(&self) -> bool {
        self.partitioning.is_some()
    }

    pub fn partitions(&self) -> &[PartitionDef] {
        self.partitioning.as_ref().map_or(&[], |by| &by.partitions)
    }

    /// All index ids that are its own: of its indexes, and of those of its partitions.
    pub fn index_ids(&self) -> impl Iterator<Item = IndexId> {
        self.indexes.iter().map(|index| index.id).chain(self.partitions().iter().flat_map(|p| p.indexes.iter().copied()))
    }

    /// The position of the index that has the id, itself or in a partition.
    pub fn index_named_by(&self, id: IndexId) -> Option<usize> {
        let own = self.indexes.iter().position(|index| index.id == id);
        own.or_else(|| self.partitions().iter().find_map(|p| p.indexes.iter().position(|of| *of == id)))
    }

    /// The ids that row counts and row ids are kept under: its own, and those of its partitions.
    pub fn counter_ids(&self) -> impl Iterator<Item = TableId> {
        std::iter::once(self.id).chain(self.partitions().iter().map(|p| p.id))
    }

    /// The ids whose row counts make the table's.
    pub fn row_count_ids(&self) -> impl Iterator<Item = TableId> {
        let own = self.partitioning.is_none().then_some(self.id);
        own.into_iter().chain(self.partitions().iter().map(|p| p.id))
    }

    /// The columns that KEY and COLUMNS name in PARTITION BY.
    pub fn partition_columns(&self) -> Vec<ColumnId> {
        self.partitioning.as_ref().map_or_else(Vec::new, |by| self.columns_of_key(&by.key))
    }

    /// The primary key, or what MySQL takes for one: the first unique key without NULL.
    pub fn key_of_rows(&self) -> Option<&IndexDef> {
        let not_null = |part: &IndexPart| {
            part.prefix.is_none() && self.columns.iter().any(|column| column.id == part.column && !column.nullable)
        };
        let is_primary = |index: &&IndexDef| index.kind == IndexKind::Primary && !index.parts.is_empty();
        let is_candidate = |index: &&IndexDef| index.kind == IndexKind::Unique && index.parts.iter().all(not_null);
        self.indexes.iter().find(is_primary).or_else(|| self.indexes.iter().find(is_candidate))
    }

    pub fn columns_of_key(&self, key: &PartitionKey) -> Vec<ColumnId> {
        match key {
            PartitionKey::Columns(columns) => columns.clone(),
            PartitionKey::PrimaryKey => {
                self.key_of_rows().map_or_else(Vec::new, |index| index.parts.iter().map(|part| part.column).collect())
            }
            PartitionKey::Expr(_) => Vec::new(),
        }
    }

    /// Changes its partitioning.
    pub fn partitioning_mut(&mut self) -> Option<&mut Partitioning> {
        self.partitioning.as_mut().map(Arc::make_mut)
    }
}
