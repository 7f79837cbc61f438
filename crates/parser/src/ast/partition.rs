//! PARTITION BY, and what ALTER TABLE does to partitions.

use super::Name;
use super::ddl::TableOption;
use super::expr::Expr;

/// `PARTITION BY RANGE (a) (PARTITION p0 VALUES LESS THAN (10), ..)`
#[derive(Clone, Debug, PartialEq)]
pub struct Partitioning {
    pub by: PartitionBy,
    /// PARTITIONS n.
    pub count: Option<u64>,
    pub subpartition: Option<SubpartitionBy>,
    /// Empty: none is written.
    pub partitions: Vec<PartitionElement>,
}

/// SUBPARTITION BY.
#[derive(Clone, Debug, PartialEq)]
pub struct SubpartitionBy {
    pub by: PartitionBy,
    /// SUBPARTITIONS n.
    pub count: Option<u64>,
}

#[derive(Clone, Debug, PartialEq)]
pub enum PartitionBy {
    Range(PartitionedBy),
    List(PartitionedBy),
    Hash {
        linear: bool,
        expr: Expr,
    },
    Key {
        linear: bool,
        /// ALGORITHM = n.
        algorithm: Option<u64>,
        columns: Vec<String>,
    },
}

#[derive(Clone, Debug, PartialEq)]
pub enum PartitionedBy {
    Expr(Expr),
    /// COLUMNS (a, b).
    Columns(Vec<String>),
}

#[derive(Clone, Debug, PartialEq)]
pub struct PartitionElement {
    pub name: String,
    pub values: PartitionValues,
    /// ENGINE, COMMENT, MAX_ROWS, ..
    pub options: Vec<TableOption>,
    pub subpartitions: Vec<PartitionElement>,
}

#[derive(Clone, Debug, PartialEq)]
pub enum PartitionValues {
    /// None are written.
    None,
    /// VALUES LESS THAN; empty for MAXVALUE without parentheses.
    LessThan(Vec<PartitionValue>),
    /// VALUES IN, and whether each stands in parentheses of its own.
    In { rows: Vec<Vec<PartitionValue>>, nested: bool },
}

#[derive(Clone, Debug, PartialEq)]
pub enum PartitionValue {
    Max,
    Expr(Expr),
}

/// Which partitions ALTER TABLE means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PartitionNames {
    All,
    Named(Vec<String>),
}

#[derive(Clone, Debug, PartialEq)]
pub enum PartitionAction {
    Add(Vec<PartitionElement>),
    /// ADD PARTITION PARTITIONS n.
    AddCount(u64),
    Drop(Vec<String>),
    Truncate(PartitionNames),
    Coalesce(u64),
    /// REORGANIZE PARTITION a, b INTO (..); without names neither has any.
    Reorganize {
        names: Vec<String>,
        into: Vec<PartitionElement>,
    },
    Exchange {
        partition: String,
        table: Name,
        /// WITHOUT VALIDATION is false.
        validation: bool,
    },
    Rebuild(PartitionNames),
    Optimize(PartitionNames),
    Analyze(PartitionNames),
    Check(PartitionNames),
    Repair(PartitionNames),
    /// DISCARD and IMPORT PARTITION .. TABLESPACE.
    Discard(PartitionNames),
    Import(PartitionNames),
    /// REMOVE PARTITIONING.
    Remove,
}
