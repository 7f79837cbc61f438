//! Estimates: rows, selectivities and the price of reading them.
//!
//! One unit is reading the next row of an open scan. Figures are rough on purpose; a wrong one makes a slow plan.
//! Small tables are counted as `ROWS_MIN`, because a cached plan outlives the moment when the table was small; but not in joins that lock
//! nothing, whose order depends on how small they are. Plans are made anew once a table has more than twice `ROWS_MIN`.

use vaquita_types::schema::IndexDef;

use crate::catalog::TableStatistics;
use crate::expr::{CompareOp, Expr, ExprKind};

/// Rows that a table is taken to have at least.
pub const ROWS_MIN: f64 = 1_000.0;
/// Positioning a scan in an index.
pub const SEEK: f64 = 3.0;
/// The next row of a scan.
pub const NEXT: f64 = 1.0;
/// Fetching a row by the primary key found in a secondary index.
pub const FETCH: f64 = 3.0;
/// Adding a row to a hash table, and looking one up.
pub const HASH_BUILD: f64 = 1.5;
pub const HASH_PROBE: f64 = 0.5;
/// A row of a sort, times the logarithm of the rows.
pub const SORT: f64 = 0.15;
/// Running a subquery for a row.
pub const SUBQUERY: f64 = 20.0;
/// Rows per key of an index without statistics.
pub const ROWS_PER_KEY: f64 = 10.0;
/// How often the rows that a join leaves are fewer than estimated, so that more has to be read for the first of them.
pub const FIRST_ROWS_DOUBT: f64 = 3.0;
/// Rows of a round of a recursive CTE.
pub const ROUND_ROWS: f64 = 10.0;
/// So many groups are made of n rows: n to this power.
pub const GROUPS_POWER: f64 = 0.8;
/// Rows that a derived table is taken to have of which nothing is known.
pub const DERIVED_ROWS: f64 = 200.0;

/// The share of a table's rows that a full-text search is taken to find.
pub const FOUND_BY_WORDS: f64 = 0.01;

/// The share of a table's rows that is taken to meet a window.
pub const MEETS_WINDOW: f64 = 0.01;

pub fn table_rows(statistics: &TableStatistics) -> f64 {
    let rows = statistics.rows as f64;
    if statistics.is_exact && rows >= 1.0 { rows } else { rows.max(ROWS_MIN) }
}

/// Rows per value of the first `parts` parts of an index.
pub fn rows_per_prefix(statistics: &TableStatistics, index: &IndexDef, parts: usize) -> f64 {
    let rows = table_rows(statistics);
    if parts == 0 {
        return rows;
    }
    if index.is_unique() && parts == index.parts.len() {
        return 1.0;
    }
    if parts > index.parts.len() {
        // Parts of the primary key leave a few.
        let own = rows_per_prefix(statistics, index, index.parts.len());
        return (own / 10f64.powi((parts - index.parts.len()) as i32)).max(1.0);
    }
    let known = statistics.distinct.iter().find(|(id, _)| *id == index.id).and_then(|(_, d)| d.get(parts - 1));
    match known {
        Some(distinct) if *distinct > 0 => (rows / *distinct as f64).max(1.0),
        // Unknown: whoever made the index made it to find a few rows.
        _ => (ROWS_PER_KEY * 10f64.powi((index.parts.len() - parts.min(index.parts.len())) as i32)).min(rows / 10.0).max(1.0),
    }
}

/// The share of rows with one value of the first part of an index, if that is known.
pub fn known_share(statistics: &TableStatistics, index: &IndexDef) -> Option<f64> {
    if index.is_unique() && index.parts.len() == 1 {
        return Some(1.0 / table_rows(statistics));
    }
    let (_, distinct) = statistics.distinct.iter().find(|(id, _)| *id == index.id)?;
    distinct.first().filter(|distinct| **distinct > 0).map(|distinct| 1.0 / *distinct as f64)
}

/// The share of rows that satisfy a condition of which nothing is known but its form.
pub fn selectivity(condition: &Expr) -> f64 {
    match &condition.kind {
        ExprKind::Compare(CompareOp::Eq | CompareOp::NullSafeEq, ..) => 0.1,
        ExprKind::Compare(CompareOp::Ne, ..) => 0.9,
        ExprKind::Compare(..) => 0.33,
        ExprKind::InList(_, list, _) => (0.1 * list.len() as f64).min(0.5),
        ExprKind::IsNull(_) => 0.1,
        ExprKind::Or(parts) => parts.iter().map(selectivity).sum::<f64>().min(1.0),
        ExprKind::And(parts) => parts.iter().map(selectivity).product(),
        ExprKind::Not(inner) => (1.0 - selectivity(inner)).max(0.1),
        ExprKind::Call(def, _) if def.name == "LIKE" => 0.11,
        _ => 0.5,
    }
}

/// Of reading so many partitions at the same time, and rows in the order of all of them.
pub fn merge_cost(partitions: usize, rows: f64) -> f64 {
    if partitions < 2 {
        return 0.0;
    }
    let partitions = partitions as f64;
    partitions * (SEEK + FETCH) + rows * SORT * partitions.log2()
}

pub fn sort_cost(rows: f64) -> f64 {
    rows * SORT * rows.max(2.0).log2()
}
