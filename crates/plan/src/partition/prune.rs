//! Which partitions a scan has to read: those that can have a row for which its conditions are true.
//!
//! What columns are equal to gives partitions by the function itself. Else bounds of a column that the function is, or grows with, give
//! neighbouring partitions of RANGE, some of LIST, and of HASH those of so few values that they can be gone through.
//!
//! Example: with `RANGE (YEAR(d))` and the bounds 2020, 2021, MAXVALUE, `d >= '2020-05-01'` leaves out partition 0.

use vaquita_types::schema::PartitionMethod;
use vaquita_types::temporal::{Time, TimeZone};
use vaquita_types::{ColumnType, Result, TypeKind, Value};

use super::{
    Monotonic, PartitionBounds, PartitionKey, PartitionLevel, PartitionTerm, PartitionTermBound, ScanPartitions, compare, integer,
};
use crate::bounds::{KeyValue, to_key_value};
use crate::expr::{Expr, ExprKind};

/// Combinations of values that are looked up; more of them mean all partitions.
const VALUES_MAX: usize = 4096;
/// Values between two bounds that HASH and KEY are always asked for; more of them are where there are this many partitions for each.
const STEPS_MAX: i128 = 32;
const PARTITIONS_PER_STEP: i128 = 4;

/// What an expression's value is, if that is known now.
type Eval<'e> = &'e mut dyn FnMut(&Expr) -> Result<Option<Value>>;

/// What conditions are known by now.
struct Known<'e> {
    zone: &'e TimeZone,
    eval: Eval<'e>,
    /// All of them are true.
    terms: Vec<&'e PartitionTerm>,
}

/// A bound in the column's own type, TIMESTAMPs in UTC, and whether it is in.
type End = Option<(Value, bool)>;

impl ScanPartitions {
    /// The partitions to be read, ascending. `zone`: the session's.
    pub fn read(&self, zone: &TimeZone, eval: Eval<'_>) -> Result<Vec<usize>> {
        let pruned = self.pruned(&mut Known { zone, eval, terms: Vec::new() })?;
        Ok(match (&self.selected, pruned) {
            (None, None) => (0..self.function.count()).collect(),
            (Some(selected), None) => selected.to_vec(),
            (None, Some(pruned)) => pruned,
            (Some(selected), Some(mut pruned)) => {
                pruned.retain(|n| selected.binary_search(n).is_ok());
                pruned
            }
        })
    }

    /// Those that it reads as far as constants say.
    pub fn known(&self) -> Vec<usize> {
        let constant = &mut |expr: &Expr| match &expr.kind {
            ExprKind::Literal(value) => Ok(Some(value.clone())),
            _ => Ok(None),
        };
        self.read(&self.zone, constant).unwrap_or_default()
    }

    /// How many it can read, whatever its conditions are.
    pub fn count_max(&self) -> usize {
        self.selected.as_ref().map_or_else(|| self.function.count(), |selected| selected.len())
    }

    /// The names of those that it reads as far as constants say, for EXPLAIN.
    pub fn names(&self) -> Option<String> {
        let by = self.function.first.table.partitioning.as_ref()?;
        let name = |number: &usize| {
            let name = &by.partitions.get(*number)?.name;
            Some(match &by.subpartitions {
                Some(_) => format!("{}_{name}", by.first_level_of(*number)?.name),
                None => name.clone(),
            })
        };
        let names: Vec<String> = self.known().iter().filter_map(name).collect();
        (!names.is_empty()).then(|| names.join(","))
    }

    /// `None`: all of them.
    fn pruned<'e>(&'e self, known: &mut Known<'e>) -> Result<Option<Vec<usize>>> {
        known.terms = self.terms.iter().collect();
        let mut pruned = self.pruned_by_terms(known)?;
        for branches in &self.alternatives {
            let mut either = Some(Vec::new());
            for terms in branches {
                known.terms.truncate(self.terms.len());
                known.terms.extend(terms);
                let of_branch = self.pruned_by_terms(known)?;
                either = either.zip(of_branch).map(|(mut either, of_branch)| {
                    either.extend(of_branch);
                    either
                });
                if either.is_none() {
                    break;
                }
            }
            let Some(either) = either.map(ascending) else { continue };
            pruned = Some(match pruned {
                None => either,
                Some(mut pruned) => {
                    pruned.retain(|n| either.binary_search(n).is_ok());
                    pruned
                }
            });
        }
        Ok(pruned)
    }

    fn pruned_by_terms(&self, known: &mut Known<'_>) -> Result<Option<Vec<usize>>> {
        if known.terms.is_empty() {
            return Ok(None);
        }
        let first = self.pruned_level(&self.function.first, known)?;
        let Some(level) = &self.function.second else { return Ok(first) };
        let second = self.pruned_level(level, known)?;
        if first.is_none() && second.is_none() {
            return Ok(None);
        }
        let first = first.unwrap_or_else(|| (0..self.function.first.count).collect());
        let second = second.unwrap_or_else(|| (0..level.count).collect());
        Ok(Some(first.iter().flat_map(|n| second.iter().map(move |m| n * level.count + m)).collect()))
    }

    /// Of one level; `None`: all of them.
    fn pruned_level(&self, function: &PartitionLevel, known: &mut Known<'_>) -> Result<Option<Vec<usize>>> {
        let mut equal: Vec<Option<Vec<Value>>> = Vec::with_capacity(function.columns().len());
        for column in function.columns() {
            equal.push(self.values_of(function, *column, known)?);
        }
        if equal.iter().flatten().any(Vec::is_empty) {
            return Ok(Some(Vec::new()));
        }
        let combinations = equal.iter().map(|values| values.as_ref().map_or(usize::MAX, Vec::len));
        if !equal.is_empty() && combinations.fold(1usize, usize::saturating_mul) <= VALUES_MAX {
            let values: Vec<Vec<Value>> = equal.into_iter().flatten().collect();
            return Ok(function.of_values(&values));
        }
        self.between(function, &equal, known)
    }

    /// The values that a column can have; `None`: any.
    fn values_of(&self, function: &PartitionLevel, column: usize, known: &mut Known<'_>) -> Result<Option<Vec<Value>>> {
        let of = &function.table.columns[column];
        let mut fewest: Option<Vec<Value>> = None;
        'terms: for term in known.terms.iter().filter(|term| term.column == column) {
            let PartitionTermBound::Equal(keys) = &term.bound else { continue };
            let mut values = Vec::with_capacity(keys.len());
            for key in keys {
                let Some(value) = (known.eval)(&key.expr)? else { continue 'terms };
                match to_key_value(&value, &of.ty) {
                    KeyValue::Exact(Value::DateTime(local)) if of.ty.kind == TypeKind::Timestamp => {
                        // A time that the zone has twice, or not at all, says nothing.
                        let utc = known.zone.timestamp_to_utc(local).filter(|utc| !utc.repeated && !utc.in_gap);
                        let Some(utc) = utc else { continue 'terms };
                        values.push(Value::DateTime(utc.value));
                    }
                    KeyValue::Exact(value) => values.push(value),
                    KeyValue::Null if key.null_safe && of.nullable => values.push(Value::Null),
                    _ => {}
                }
            }
            if fewest.as_ref().is_none_or(|before| values.len() < before.len()) {
                fewest = Some(values);
            }
        }
        Ok(fewest)
    }

    /// The tightest bounds of a column. `Err(())`: nothing can be between them.
    fn ends(
        &self,
        function: &PartitionLevel,
        column: usize,
        known: &mut Known<'_>,
    ) -> Result<std::result::Result<(End, End), ()>> {
        let ty = &function.table.columns[column].ty;
        let (mut low, mut high): (End, End) = (None, None);
        for term in known.terms.iter().filter(|term| term.column == column) {
            let (expr, inclusive, is_low) = match &term.bound {
                PartitionTermBound::Low(expr, inclusive) => (expr, *inclusive, true),
                PartitionTermBound::High(expr, inclusive) => (expr, *inclusive, false),
                PartitionTermBound::Equal(_) => continue,
            };
            let Some(value) = (known.eval)(expr)? else { continue };
            let mut end = match to_key_value(&value, ty) {
                KeyValue::Exact(value) => (value, inclusive),
                KeyValue::Gap { below, above } => match if is_low { above } else { below } {
                    Some(value) => (value, true),
                    None => return Ok(Err(())),
                },
                KeyValue::Null | KeyValue::Never => return Ok(Err(())),
            };
            if let (Value::DateTime(local), TypeKind::Timestamp) = (&end.0, ty.kind) {
                // Later times may have the same local time.
                let utc = known.zone.timestamp_to_utc(*local).filter(|utc| is_low || !utc.repeated);
                let Some(utc) = utc else { continue };
                end = (Value::DateTime(utc.value), end.1 || utc.in_gap || utc.repeated);
            }
            let place = if is_low { &mut low } else { &mut high };
            let tighter = |before: &(Value, bool)| {
                let order = compare(&end.0, &before.0, ty);
                if is_low { order.is_gt() } else { order.is_lt() }
            };
            if place.as_ref().is_none_or(tighter) {
                *place = Some(end);
            }
        }
        Ok(Ok((low, high)))
    }

    /// By bounds of one column.
    fn between(
        &self,
        function: &PartitionLevel,
        equal: &[Option<Vec<Value>>],
        known: &mut Known<'_>,
    ) -> Result<Option<Vec<usize>>> {
        match (&function.key, &function.bounds) {
            (PartitionKey::Columns(columns), PartitionBounds::RangeColumns(bounds)) => {
                let fixed: Vec<Value> = equal.iter().map_while(|values| only(values.as_deref()?)).collect();
                let Some(next) = columns.get(fixed.len()) else { return Ok(None) };
                let Ok((low, high)) = self.ends(function, *next, known)? else { return Ok(Some(Vec::new())) };
                Ok(function.columns_between(bounds, &fixed, &low, &high))
            }
            (PartitionKey::Columns(columns), PartitionBounds::ListColumns(rows)) => {
                let mut found = Vec::new();
                let mut ends = Vec::with_capacity(columns.len());
                for column in columns {
                    let Ok(between) = self.ends(function, *column, known)? else { return Ok(Some(found)) };
                    ends.push(between);
                }
                let fits = |row: &[Value]| {
                    row.iter().zip(columns).zip(equal).zip(&ends).all(|(((value, at), equal), ends)| {
                        let ty = &function.table.columns[*at].ty;
                        equal.as_ref().is_none_or(|values| values.iter().any(|v| compare(v, value, ty).is_eq()))
                            && is_between(value, ends, ty)
                    })
                };
                found.extend(rows.iter().filter(|(row, _)| fits(row)).map(|(_, n)| *n));
                Ok(Some(ascending(found)))
            }
            (PartitionKey::Expr { columns, monotonic: Some(monotonic), .. }, _) => {
                let [column] = columns.as_slice() else { return Ok(None) };
                let Ok((low, high)) = self.ends(function, *column, known)? else { return Ok(Some(Vec::new())) };
                function.numbers_between(*column, *monotonic, low, high)
            }
            (PartitionKey::Columns(columns), _) => {
                let [column] = columns.as_slice() else { return Ok(None) };
                let Ok((low, high)) = self.ends(function, *column, known)? else { return Ok(Some(Vec::new())) };
                Ok(function.walked(*column, low, high))
            }
            _ => Ok(None),
        }
    }
}

impl PartitionLevel {
    /// The partitions of all combinations of values; `None` if the function fails for one.
    fn of_values(&self, values: &[Vec<Value>]) -> Option<Vec<usize>> {
        let mut row = vec![Value::Null; self.table.columns.len()];
        let mut at = vec![0; values.len()];
        let mut found = Vec::new();
        loop {
            for ((column, values), at) in self.columns().iter().zip(values).zip(&at) {
                row[*column] = values[*at].clone();
            }
            match self.partition_of(&row) {
                Ok(n) => found.push(n),
                Err(e) if e.is(&vaquita_types::errno::ER_NO_PARTITION_FOR_GIVEN_VALUE) => {}
                Err(_) => return None,
            }
            let next = (0..at.len()).find(|n| at[*n] + 1 < values[*n].len());
            let Some(next) = next else { return Some(ascending(found)) };
            at[next] += 1;
            at[..next].fill(0);
        }
    }

    /// RANGE COLUMNS: rows that begin with `fixed`, and have the next column between two ends.
    fn columns_between(&self, bounds: &[Vec<Option<Value>>], fixed: &[Value], low: &End, high: &End) -> Option<Vec<usize>> {
        if fixed.is_empty() && low.is_none() && high.is_none() {
            return None;
        }
        let from =
            |last: &End| -> Vec<Value> { fixed.iter().cloned().chain(last.as_ref().map(|(value, _)| value.clone())).collect() };
        let is_above = low.as_ref().is_some_and(|(_, inclusive)| !inclusive);
        let (low, high_values) = (from(low), from(high));
        // The first partition whose bound is not at or below every row that begins so.
        let first = bounds.partition_point(|bound| {
            let order = self.order_to(&low, bound);
            let some_below = order.is_lt() || order.is_eq() && !is_above && low.len() < self.columns().len();
            !some_below
        });
        let is_in = high.as_ref().is_none_or(|(_, inclusive)| *inclusive);
        let last = if high_values.is_empty() {
            bounds.len()
        } else {
            bounds.partition_point(|bound| {
                let order = self.order_to(&high_values, bound);
                let ends_with_max = || matches!(bound.get(high_values.len()), Some(None));
                let all_below = order.is_lt() || order.is_eq() && (!is_in || ends_with_max());
                !all_below
            })
        };
        Some((first..bounds.len().min(last + 1)).collect())
    }

    /// The order of the beginning of a row and that of a bound.
    fn order_to(&self, values: &[Value], bound: &[Option<Value>]) -> std::cmp::Ordering {
        for ((value, bound), at) in values.iter().zip(bound).zip(self.columns()) {
            let Some(bound) = bound else { return std::cmp::Ordering::Less };
            let order = compare(value, bound, &self.table.columns[*at].ty);
            if order.is_ne() {
                return order;
            }
        }
        std::cmp::Ordering::Equal
    }

    /// A function of one column that grows with it.
    fn numbers_between(&self, column: usize, monotonic: Monotonic, low: End, high: End) -> Result<Option<Vec<usize>>> {
        if low.is_none() && high.is_none() {
            return Ok(None);
        }
        if self.method.is_hash() {
            return Ok(if monotonic == Monotonic::Same { self.walked(column, low, high) } else { None });
        }
        let PartitionKey::Expr { expr, .. } = &self.key else { return Ok(None) };
        let mut row = vec![Value::Null; self.table.columns.len()];
        let ty = &self.table.columns[column].ty;
        let mut number = |end: &End, step: i128| -> Result<Option<Option<i128>>> {
            let Some((value, inclusive)) = end else { return Ok(Some(None)) };
            row[column] = value.clone();
            // A date that the function gives NULL for says nothing.
            let Some(n) = self.evaluate(expr, &row)? else { return Ok(None) };
            Ok(Some(Some(if !inclusive && leaves_number(monotonic, value, ty, step > 0) { n + step } else { n })))
        };
        let (Some(low), Some(high)) = (number(&low, 1)?, number(&high, -1)?) else { return Ok(None) };
        // Dates of which the function gives NULL are in the first partition of RANGE.
        let nulls = matches!(monotonic, Monotonic::Years | Monotonic::Days | Monotonic::Seconds);
        let inside = |n: i128| low.is_none_or(|low| low <= n) && high.is_none_or(|high| n <= high);
        Ok(match &self.bounds {
            PartitionBounds::Range(bounds) => {
                let below = |n: i128| bounds.partition_point(|bound| bound.is_some_and(|bound| bound <= n));
                let first = low.map_or(0, below);
                let last = high.map_or(bounds.len(), |high| bounds.len().min(below(high) + 1));
                let empty = low.zip(high).is_some_and(|(low, high)| low > high);
                let found = if empty { 0..0 } else { first..last };
                let first_too = nulls && !found.contains(&0);
                Some(first_too.then_some(0).into_iter().chain(found).collect())
            }
            PartitionBounds::List(numbers, null) => {
                let found = numbers.iter().filter(|(n, _)| inside(*n)).map(|(_, p)| *p);
                Some(ascending(found.chain(null.filter(|_| nulls)).collect()))
            }
            _ => None,
        })
    }

    /// HASH and KEY of an integer column: the partitions of each value, if they are few.
    fn walked(&self, column: usize, low: End, high: End) -> Option<Vec<usize>> {
        let ty = &self.table.columns[column].ty;
        if !ty.is_integer() || self.method == PartitionMethod::Range || self.method == PartitionMethod::List {
            return None;
        }
        let end = |end: End, step: i128| {
            end.and_then(|(value, inclusive)| integer(&value).map(|n| if inclusive { n } else { n + step }))
        };
        let (low, high) = (end(low, 1)?, end(high, -1)?);
        if high - low >= STEPS_MAX.max(self.count as i128 / PARTITIONS_PER_STEP) {
            return None;
        }
        let value = |n: i128| if ty.unsigned { Value::UInt(n as u64) } else { Value::Int(n as i64) };
        let values: Vec<Value> = (low..=high).map(value).collect();
        if values.is_empty() { Some(Vec::new()) } else { self.of_values(&[values]) }
    }
}

/// No value above (or below) this one has the same number.
fn leaves_number(monotonic: Monotonic, value: &Value, ty: &ColumnType, above: bool) -> bool {
    match (monotonic, value) {
        (Monotonic::Same, _) | (Monotonic::Days | Monotonic::Seconds, Value::Date(_)) => true,
        (Monotonic::Days, Value::DateTime(at)) => !above && at.time() == Time::ZERO,
        (Monotonic::Seconds | Monotonic::UnixSeconds, Value::DateTime(at)) => {
            if above {
                ty.decimals == 0
            } else {
                at.micros() == 0
            }
        }
        _ => false,
    }
}

fn only(values: &[Value]) -> Option<Value> {
    if let [value] = values { Some(value.clone()) } else { None }
}

fn is_between(value: &Value, (low, high): &(End, End), ty: &vaquita_types::ColumnType) -> bool {
    if value.is_null() {
        return low.is_none() && high.is_none();
    }
    let above = |(end, inclusive): &(Value, bool)| {
        let order = compare(value, end, ty);
        order.is_gt() || *inclusive && order.is_eq()
    };
    let below = |(end, inclusive): &(Value, bool)| {
        let order = compare(value, end, ty);
        order.is_lt() || *inclusive && order.is_eq()
    };
    low.as_ref().is_none_or(above) && high.as_ref().is_none_or(below)
}

fn ascending(mut numbers: Vec<usize>) -> Vec<usize> {
    numbers.sort_unstable();
    numbers.dedup();
    numbers
}
