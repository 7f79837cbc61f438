//! Partitions: from a row to the number of its partition, and from conditions to the partitions that can have rows (`prune`).
//!
//! The function is evaluated over rows as they are stored, TIMESTAMPs in UTC, and under settings that are always the same: what a row's
//! partition is depends on nothing but the row.
//!
//! Example: `PARTITION BY RANGE (YEAR(d)) (PARTITION p0 VALUES LESS THAN (2020), PARTITION p1 VALUES LESS THAN MAXVALUE)` has the
//! expression `YEAR(slot 0)` and the bounds `[2020, MAXVALUE]`; a row of 2021 is in partition 1.
//!
//! Where there are subpartitions, each level has a function, and the number of a row's partition is that of its subpartition among all.

mod environment;
mod hash;
mod prune;

use std::cmp::Ordering;

use vaquita_types::charset::collation;
use vaquita_types::schema::{self, PartitionMethod, PartitionValues, TableRef};
use vaquita_types::{ColumnType, Error, Result, TypeKind, Value, errno};

use crate::env::EvalCx;
use crate::expr::{Expr, ExprKind};
pub use crate::tree::partition::{
    Monotonic, PartitionBounds, PartitionFunction, PartitionKey, PartitionLevel, PartitionTerm, PartitionTermBound,
    ScanPartitions,
};
pub(crate) use environment::Fixed;
pub use hash::can_hash;

impl PartitionFunction {
    /// The function of a table whose levels have these keys.
    pub fn new(table: &TableRef, first: PartitionKey, second: Option<PartitionKey>) -> Result<PartitionFunction> {
        let by = table.partitioning.as_ref().ok_or_else(|| Error::internal("a table without partitions"))?;
        let level =
            |method, key, count| PartitionLevel { table: table.clone(), method, key, bounds: PartitionBounds::None, count };
        let mut first = level(by.method, first, by.first_level().len());
        first.bounds = first.bounds_of(by)?;
        let second = match (&by.subpartitions, second) {
            (Some(by), Some(key)) => Some(level(by.method, key, by.count)),
            (None, None) => None,
            _ => return Err(Error::internal("subpartitions without a function")),
        };
        let mut columns = first.columns().to_vec();
        for column in second.iter().flat_map(PartitionLevel::columns) {
            if !columns.contains(column) {
                columns.push(*column);
            }
        }
        Ok(PartitionFunction { first, second, columns })
    }

    /// The number of the partition of a row as it is stored; error 1526 if there is none.
    pub fn partition_of(&self, row: &[Value]) -> Result<usize> {
        let first = self.first.partition_of(row)?;
        match &self.second {
            None => Ok(first),
            Some(second) => Ok(first * second.count + second.partition_of(row)?),
        }
    }

    /// How many partitions there are.
    pub fn count(&self) -> usize {
        self.first.count * self.second.as_ref().map_or(1, |second| second.count)
    }
}

impl PartitionLevel {
    fn bounds_of(&self, by: &schema::Partitioning) -> Result<PartitionBounds> {
        let columns = by.has_columns();
        let values = by.first_level().iter().map(|p| &p.values);
        let first = |bounds: &[Option<Value>]| bounds.first().cloned().flatten().as_ref().and_then(integer);
        Ok(match by.method {
            PartitionMethod::Range if columns => PartitionBounds::RangeColumns(values.map(less_than).collect::<Result<_>>()?),
            PartitionMethod::Range => {
                PartitionBounds::Range(values.map(|v| less_than(v).map(|bounds| first(&bounds))).collect::<Result<_>>()?)
            }
            PartitionMethod::List => {
                let mut rows: Vec<(Vec<Value>, usize)> = Vec::new();
                for (n, values) in values.enumerate() {
                    let PartitionValues::In(list) = values else { return Err(damaged()) };
                    rows.extend(list.iter().map(|row| (row.clone(), n)));
                }
                if columns {
                    rows.sort_by(|a, b| self.compare_rows(&a.0, &b.0));
                    return Ok(PartitionBounds::ListColumns(rows));
                }
                let null = rows.iter().find(|(row, _)| row.iter().all(Value::is_null)).map(|(_, n)| *n);
                let mut numbers: Vec<(i128, usize)> =
                    rows.iter().filter_map(|(row, n)| Some((row.first().and_then(integer)?, *n))).collect();
                numbers.sort();
                PartitionBounds::List(numbers, null)
            }
            _ => PartitionBounds::None,
        })
    }

    /// The columns that decide.
    pub fn columns(&self) -> &[usize] {
        match &self.key {
            PartitionKey::Expr { columns, .. } | PartitionKey::Columns(columns) => columns,
        }
    }

    /// The partition of a row in this level.
    fn partition_of(&self, row: &[Value]) -> Result<usize> {
        match &self.key {
            PartitionKey::Expr { expr, .. } => {
                let value = self.evaluate(expr, row)?;
                self.of_number(value).ok_or_else(|| {
                    let shown = value.map_or_else(|| "NULL".to_string(), |n| n.to_string());
                    Error::new(&errno::ER_NO_PARTITION_FOR_GIVEN_VALUE, &[&shown])
                })
            }
            PartitionKey::Columns(columns) if self.method.is_key() => {
                let values = columns.iter().map(|at| (&row[*at], &self.table.columns[*at].ty));
                let hash = hash::key_hash(values, self.method.is_of_mysql_5_1());
                Ok(self.slice_of(u64::from(hash) as i64))
            }
            PartitionKey::Columns(columns) => {
                let values: Vec<&Value> = columns.iter().map(|at| &row[*at]).collect();
                let found = match &self.bounds {
                    PartitionBounds::RangeColumns(bounds) => {
                        let at = bounds.partition_point(|bound| !self.is_less(&values, bound));
                        (at < bounds.len()).then_some(at)
                    }
                    PartitionBounds::ListColumns(rows) => {
                        let order = |row: &Vec<Value>| self.compare_to(row, &values);
                        rows.binary_search_by(|(row, _)| order(row)).ok().map(|at| rows[at].1)
                    }
                    _ => None,
                };
                found.ok_or_else(|| Error::new(&errno::ER_NO_PARTITION_FOR_GIVEN_VALUE, &[&"from column_list"]))
            }
        }
    }

    /// The value of the function; `None` is NULL.
    fn evaluate(&self, expr: &Expr, row: &[Value]) -> Result<Option<i128>> {
        if let ExprKind::Slot(slot) = expr.kind {
            return Ok(row.get(slot).and_then(integer));
        }
        let cx = EvalCx { frame: row, outer: None, params: &[], env: &Fixed };
        let value = expr.eval(&cx)?;
        Ok(integer(&value))
    }

    /// The partition of a value of the function.
    fn of_number(&self, value: Option<i128>) -> Option<usize> {
        match (&self.bounds, value) {
            (PartitionBounds::Range(_), None) => Some(0),
            (PartitionBounds::Range(bounds), Some(n)) => {
                let at = bounds.partition_point(|bound| bound.is_some_and(|bound| bound <= n));
                (at < bounds.len()).then_some(at)
            }
            (PartitionBounds::List(_, null), None) => *null,
            (PartitionBounds::List(numbers, _), Some(n)) => {
                numbers.binary_search_by_key(&n, |(n, _)| *n).ok().map(|at| numbers[at].1)
            }
            // NULL is the least number there.
            (_, value) => Some(self.slice_of(value.map_or(i64::MIN, |n| n as i64))),
        }
    }

    /// HASH and KEY: the partition of a number, which MySQL takes for signed.
    fn slice_of(&self, value: i64) -> usize {
        let count = self.count.max(1) as u64;
        if !self.method.is_linear() {
            return (value % count as i64).unsigned_abs() as usize;
        }
        let mask = count.next_power_of_two() - 1;
        let at = value as u64 & mask;
        (if at < count { at } else { value as u64 & (mask >> 1) }) as usize
    }

    fn compare_rows(&self, a: &[Value], b: &[Value]) -> Ordering {
        self.compare_to(a, &b.iter().collect::<Vec<_>>())
    }

    fn compare_to(&self, a: &[Value], b: &[&Value]) -> Ordering {
        let types = self.columns().iter().map(|at| &self.table.columns[*at].ty);
        a.iter().zip(b).zip(types).map(|((a, b), ty)| compare(a, b, ty)).find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
    }

    /// A row, or the beginning of one, is below a bound of RANGE COLUMNS.
    fn is_less(&self, values: &[&Value], bound: &[Option<Value>]) -> bool {
        for ((value, bound), at) in values.iter().zip(bound).zip(self.columns()) {
            let Some(bound) = bound else { return true };
            match compare(value, bound, &self.table.columns[*at].ty) {
                Ordering::Less => return true,
                Ordering::Greater => return false,
                Ordering::Equal => {}
            }
        }
        false
    }
}

/// The order of two values of one column, NULL first.
pub fn compare(a: &Value, b: &Value, ty: &ColumnType) -> Ordering {
    match (a, b) {
        (Value::Null, _) | (_, Value::Null) => b.is_null().cmp(&a.is_null()),
        (Value::Bytes(a), Value::Bytes(b)) => collation(ty.collation).compare(a, b),
        (Value::Date(a), Value::Date(b)) => a.cmp(b),
        (Value::DateTime(a), Value::DateTime(b)) => a.cmp(b),
        (Value::Time(a), Value::Time(b)) => a.cmp(b),
        _ => integer(a).cmp(&integer(b)),
    }
}

fn integer(value: &Value) -> Option<i128> {
    match value {
        Value::Int(n) => Some(i128::from(*n)),
        Value::UInt(n) => Some(i128::from(*n)),
        Value::Decimal(d) => d.to_string().split('.').next()?.parse().ok(),
        Value::Float(f) => Some(*f as i128),
        _ => None,
    }
}

fn less_than(values: &PartitionValues) -> Result<Vec<Option<Value>>> {
    match values {
        PartitionValues::LessThan(bounds) => Ok(bounds.clone()),
        _ => Err(damaged()),
    }
}

#[cold]
fn damaged() -> Error {
    Error::internal("partitions without values")
}

/// What is known of a function of one column: it is the column, or one of those that only grow with a date.
pub(crate) fn monotonic(expr: &Expr, table: &TableRef) -> Option<Monotonic> {
    match &expr.kind {
        ExprKind::Slot(_) => Some(Monotonic::Same),
        ExprKind::Call(def, args) => {
            let [arg] = args.as_slice() else { return None };
            let ExprKind::Slot(slot) = arg.kind else { return None };
            match (def.name, table.columns.get(slot)?.ty.kind) {
                ("YEAR", TypeKind::Date | TypeKind::DateTime) => Some(Monotonic::Years),
                ("TO_DAYS", TypeKind::Date | TypeKind::DateTime) => Some(Monotonic::Days),
                ("TO_SECONDS", TypeKind::Date | TypeKind::DateTime) => Some(Monotonic::Seconds),
                ("UNIX_TIMESTAMP", TypeKind::Timestamp) => Some(Monotonic::UnixSeconds),
                _ => None,
            }
        }
        _ => None,
    }
}
