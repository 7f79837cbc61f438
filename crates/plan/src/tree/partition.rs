//! What a plan knows of a table's partitions: the function from rows to them, and which of them a scan reads.

use std::sync::Arc;

use vaquita_types::Value;
use vaquita_types::schema::{PartitionMethod, TableRef};
use vaquita_types::temporal::TimeZone;

use super::expr::Expr;
use super::node::{Inclusive, KeyExpr, SortKey};

/// From the values of a row to the number of its partition (`crate::partition`).
#[derive(Clone, Debug)]
pub struct PartitionFunction {
    /// PARTITION BY.
    pub first: PartitionLevel,
    /// SUBPARTITION BY.
    pub second: Option<PartitionLevel>,
    /// Positions of the columns that decide, of both levels.
    pub columns: Vec<usize>,
}

#[derive(Clone, Debug)]
pub struct PartitionLevel {
    pub table: TableRef,
    pub method: PartitionMethod,
    pub key: PartitionKey,
    pub bounds: PartitionBounds,
    /// Of partitions; of subpartitions in each partition.
    pub count: usize,
}

#[derive(Clone, Debug)]
pub enum PartitionKey {
    /// Over a row of the table, column n in slot n.
    Expr {
        expr: Expr,
        /// The columns that it reads.
        columns: Vec<usize>,
        /// How it follows its only column, where that is known.
        monotonic: Option<Monotonic>,
    },
    /// Positions of columns.
    Columns(Vec<usize>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Monotonic {
    /// It is the column.
    Same,
    /// YEAR: a greater value never has a smaller result.
    Years,
    /// TO_DAYS: so do these, and the values of one result are those of a day or a second.
    Days,
    /// TO_SECONDS.
    Seconds,
    /// UNIX_TIMESTAMP, of a TIMESTAMP as it is stored.
    UnixSeconds,
}

#[derive(Clone, Debug)]
pub enum PartitionBounds {
    /// HASH and KEY.
    None,
    /// The bounds of RANGE, ascending; `None` is MAXVALUE.
    Range(Vec<Option<i128>>),
    /// The values of LIST, ascending, with the partition of each, and that of NULL.
    List(Vec<(i128, usize)>, Option<usize>),
    RangeColumns(Vec<Vec<Option<Value>>>),
    /// In the order of the columns' values.
    ListColumns(Vec<(Vec<Value>, usize)>),
}

/// The partitions that a scan reads.
#[derive(Clone, Debug)]
pub struct ScanPartitions {
    pub function: Arc<PartitionFunction>,
    /// Those that the statement names, ascending.
    pub selected: Option<Arc<[usize]>>,
    /// What is known of columns of the partitioning function: all of it is true of every row.
    pub terms: Vec<PartitionTerm>,
    /// Each is true of every row: what is known in all of its branches.
    pub alternatives: Vec<Vec<Vec<PartitionTerm>>>,
    /// The order of each partition's rows in which those of all are given; empty: one partition after the other.
    pub merged_by: Vec<SortKey>,
    /// The zone of the session that planned, for EXPLAIN and costs.
    pub zone: TimeZone,
}

/// A condition on a column, by its position.
#[derive(Clone, Debug)]
pub struct PartitionTerm {
    pub column: usize,
    pub bound: PartitionTermBound,
}

#[derive(Clone, Debug)]
pub enum PartitionTermBound {
    Equal(Vec<KeyExpr>),
    Low(Expr, Inclusive),
    High(Expr, Inclusive),
}
