//! How one table is read: by which index, from where to where, in which direction.
//!
//! Every index is tried with the conditions that are usable at this place; the cheapest candidate wins. A candidate
//! that gives rows in the wanted order saves the sort, and with LIMIT stops early. Example: for
//! `WHERE a = ? ORDER BY b LIMIT 10` an index on (a, b) reads ten rows.

use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use vaquita_types::charset::collation;
use vaquita_types::geometry::srs;
use vaquita_types::schema::{IndexDef, IndexKind, IndexPart, TableDef, TableId};
use vaquita_types::{TypeKind, Value};

use super::measure::Measured;
use super::sarg::{Bound, Columns, Term};
use super::{Want, cost};
use crate::bounds::{KeyValue, to_key_value};
use crate::catalog::{Catalog, TableStatistics, ValueRange};
use crate::expr::{CompareOp, Expr, ExprKind, Slot};
use crate::logical::StatementFacts;
use crate::logical::hints::{IndexRules, Purpose};
use crate::node::{AccessPath, Inclusive, KeyExpr, Range, Skips, entry_parts};
use crate::visit;

/// What is added to the cost of what hints want to be the last resort.
const REFUSED: f64 = 1e9;

/// Ranges of one scan at most; more alternatives of IN lists stay conditions.
const RANGES_MAX: usize = 10_000;

pub struct TableInput<'a> {
    pub table: &'a TableDef,
    pub statistics: &'a TableStatistics,
    /// The slot of each column that anything reads.
    pub slots: &'a [Option<Slot>],
    pub facts: &'a StatementFacts,
    /// Conditions on this table and what was read before it.
    pub conditions: &'a [&'a Expr],
    /// Which indexes may be used for what.
    pub rules: IndexRules<'a>,
    /// LIMIT makes an index cheaper that has the order.
    pub prefers_order: bool,
    pub want: &'a Want,
    /// Where a row's clustered key goes.
    pub key_slot: Option<Slot>,
    /// Locking reads and changes need the row itself.
    pub locks: bool,
    /// How many partitions are read, as far as that is known.
    pub partitions: usize,
    /// There may be subqueries among the conditions.
    pub asks: bool,
    /// What a sample of the table says of conditions.
    pub measured: Option<&'a Measured>,
    /// Where it is worth asking storage about ranges: what it answers.
    pub shares: Option<&'a Shares<'a>>,
}

/// What storage says of ranges, each asked for once.
pub struct Shares<'a> {
    pub catalog: &'a dyn Catalog,
    /// Also ranges of the primary key and without bounds: they decide about the order of joins, not about the path of one table.
    pub joins: bool,
    pub known: RefCell<HashMap<(TableId, usize, u64), Option<f64>>>,
    /// Values of constants that are no literals.
    pub values: RefCell<HashMap<u64, Option<Value>>>,
}

impl Shares<'_> {
    /// The share of the index's entries that `prefix` allows, if its bounds are known.
    fn of(&self, table: &TableDef, at: usize, index: &IndexDef, prefix: &Prefix, asks: bool) -> Option<f64> {
        let has_bounds = prefix.low.is_some() || prefix.high.is_some() || prefix.not_null || asks;
        if prefix.is_empty() || !self.joins && (at == 0 || !has_bounds) || index.is_spatial() || index.multi_valued {
            return None;
        }
        let mut hasher = DefaultHasher::new();
        for alternatives in &prefix.equal {
            alternatives.len().hash(&mut hasher);
            alternatives.iter().for_each(|key| visit::hash(&key.expr).hash(&mut hasher));
        }
        for given in [&prefix.low, &prefix.high] {
            given.as_ref().map(|(expr, inclusive)| (visit::hash(expr), *inclusive)).hash(&mut hasher);
        }
        prefix.not_null.hash(&mut hasher);
        let key = (table.id, at, hasher.finish());
        if let Some(known) = self.known.borrow().get(&key) {
            return *known;
        }
        let share = self.ask(table, at, prefix);
        self.known.borrow_mut().insert(key, share);
        share
    }

    /// Each combination of alternatives is a range.
    fn ask(&self, table: &TableDef, at: usize, prefix: &Prefix) -> Option<f64> {
        let parts = entry_parts(table, at);
        let mut ranges: Vec<Vec<Value>> = vec![Vec::with_capacity(prefix.equal.len())];
        for (alternatives, part) in prefix.equal.iter().zip(&parts) {
            if ranges.len() * alternatives.len() > RANGES_ASKED_MAX {
                return None;
            }
            let value = |key: &KeyExpr| match &key.expr.kind {
                ExprKind::Literal(Value::Null) if key.null_safe && part.prefix.is_none() => Some(Value::Null),
                _ => self.value(table, part, &key.expr),
            };
            let values = alternatives.iter().map(value).collect::<Option<Vec<_>>>()?;
            let with = |equal: &Vec<Value>, value: &Value| equal.iter().chain([value]).cloned().collect();
            ranges = ranges.iter().flat_map(|equal| values.iter().map(|value| with(equal, value)).collect::<Vec<_>>()).collect();
        }
        let bounded = parts.get(prefix.equal.len());
        let bound = |given: &Option<(Expr, Inclusive)>| match given {
            None => Some(None),
            Some((expr, inclusive)) => self.value(table, bounded?, expr).map(|value| Some((value, *inclusive))),
        };
        let (low, high) = (bound(&prefix.low)?, bound(&prefix.high)?);
        // NULL comes before all values.
        let low = low.or_else(|| prefix.not_null.then_some((Value::Null, false)));
        let low = low.as_ref().map(|(value, inclusive)| (value, *inclusive));
        let high = high.as_ref().map(|(value, inclusive)| (value, *inclusive));
        let share = |equal: &Vec<Value>| self.catalog.share_of_range(table, at, &ValueRange { equal, low, high });
        ranges.iter().map(share).sum()
    }

    /// A constant as the key of an index part has it.
    fn value(&self, table: &TableDef, part: &IndexPart, constant: &Expr) -> Option<Value> {
        let ty = table.columns.get(table.position_of(part.column)?)?.key_type();
        if part.prefix.is_some() || ty.kind == TypeKind::Timestamp {
            return None;
        }
        let value = match &constant.kind {
            ExprKind::Literal(value) => Cow::Borrowed(value),
            _ => {
                let mut values = self.values.borrow_mut();
                Cow::Owned(values.entry(visit::hash(constant)).or_insert_with(|| self.catalog.known_value(constant)).clone()?)
            }
        };
        match to_key_value(&value, ty) {
            KeyValue::Exact(value) => Some(value),
            _ => None,
        }
    }
}

impl TableInput<'_> {
    /// The share of rows that satisfy a condition, after what statistics say of columns that an index begins with.
    fn selectivity(&self, condition: &Expr) -> f64 {
        if let Some(share) = self.measured.and_then(|measured| measured.share(condition)) {
            return share;
        }
        match &condition.kind {
            ExprKind::Or(parts) => parts.iter().map(|part| self.selectivity(part)).sum::<f64>().min(1.0),
            ExprKind::And(parts) => parts.iter().map(|part| self.selectivity(part)).product(),
            ExprKind::Compare(CompareOp::Eq | CompareOp::NullSafeEq, left, right, _) => match (&left.kind, &right.kind) {
                (ExprKind::Slot(left), ExprKind::Slot(right)) if left == right => Some(1.0),
                _ => self.share_of_value(left).or_else(|| self.share_of_value(right)),
            }
            .unwrap_or_else(|| cost::selectivity(condition)),
            ExprKind::InList(value, list, _) => match self.share_of_value(value) {
                Some(share) => (share * list.len() as f64).min(1.0),
                None => cost::selectivity(condition),
            },
            _ => cost::selectivity(condition),
        }
    }

    /// The share of rows with one value of a column; `None` if nothing is known of it.
    fn share_of_value(&self, column: &Expr) -> Option<f64> {
        let ExprKind::Slot(slot) = column.kind else { return None };
        let column = self.table.columns.get(self.slots.iter().position(|s| *s == Some(slot))?)?;
        let begins =
            |index: &&IndexDef| index.parts.first().is_some_and(|part| part.column == column.id && part.prefix.is_none());
        let shares = self.table.indexes.iter().filter(begins).filter_map(|index| cost::known_share(self.statistics, index));
        shares.min_by(f64::total_cmp)
    }
}

#[derive(Clone, Debug)]
pub struct Candidate {
    pub path: AccessPath,
    /// Rows read from the table or index per opening.
    pub rows_read: f64,
    /// Rows left after all conditions.
    pub rows_out: f64,
    pub cost: f64,
    /// Conditions (positions) that the path already guarantees.
    pub consumed: Vec<usize>,
    pub ordered: bool,
    pub extreme: bool,
    /// As `Scan::skips`.
    pub skips: Option<Box<Skips>>,
}

/// The cheapest way.
pub fn best(input: &TableInput<'_>) -> Candidate {
    let mut best: Option<Candidate> = None;
    each(input, &mut |candidate| {
        let better = |best: &Candidate| {
            candidate.extreme && !best.extreme || candidate.extreme == best.extreme && candidate.cost < best.cost
        };
        if best.as_ref().is_none_or(better) {
            best = Some(candidate);
        }
    });
    best.unwrap_or_else(|| full_scan(input, false))
}

/// Gives all ways to read a table, of which a whole scan is the first.
pub fn each(input: &TableInput<'_>, give: &mut dyn FnMut(Candidate)) {
    if input.table.indexes.is_empty() {
        give(finish(input, AccessPath::System, cost::DERIVED_ROWS, cost::DERIVED_ROWS, Vec::new(), false));
        return;
    }
    let columns = Columns { table: input.table, slots: input.slots, facts: input.facts };
    let terms: Vec<Vec<Term>> = input.conditions.iter().map(|c| columns.terms(c)).collect();
    give(full_scan(input, false));
    give(full_scan(input, true));
    let begins = |index: &&IndexDef| {
        let first = index.parts.first().and_then(|part| input.table.position_of(part.column));
        first.is_some_and(|first| terms.iter().flatten().any(|term| term.column == first))
    };
    let several = input.table.indexes.iter().filter(begins).nth(1).is_some();
    for (at, index) in input.table.indexes.iter().enumerate() {
        if index.parts.is_empty() || index.is_full_text() {
            continue;
        }
        index_candidates(input, at, index, &terms, &columns, several).into_iter().for_each(&mut *give);
        first_of_groups(input, at, index, &terms).into_iter().for_each(&mut *give);
        skip_scan(input, at, index, &terms).into_iter().for_each(&mut *give);
    }
    union(input, &columns).into_iter().for_each(&mut *give);
    for condition in input.conditions {
        full_text(input, condition).into_iter().for_each(&mut *give);
        windows(input, condition, &columns).into_iter().for_each(&mut *give);
    }
}

/// The rows that a MATCH among the conditions finds, whatever hints say, as in MySQL. They come in the order of their rank.
fn full_text(input: &TableInput<'_>, condition: &Expr) -> Option<Candidate> {
    let ExprKind::Match(search) = &condition.kind else { return None };
    let is_own = matches!(search.key.kind, ExprKind::Slot(slot) if input.key_slot == Some(slot));
    let ordered = match input.want.order.as_slice() {
        [(by, descending)] => *descending && !input.want.grouping && visit::same(by, condition),
        _ => false,
    };
    let rows = (cost::table_rows(input.statistics) * cost::FOUND_BY_WORDS).max(1.0);
    let path = AccessPath::FullText { search: Box::new(condition.clone()) };
    is_own.then(|| finish(input, path, rows, cost::SEEK + rows * cost::FETCH, Vec::new(), ordered))
}

/// By the SPATIAL indexes of a column that a condition compares with a geometry known before.
fn windows(input: &TableInput<'_>, condition: &Expr, columns: &Columns<'_>) -> Vec<Candidate> {
    let ExprKind::Call(def, args) = &condition.kind else { return Vec::new() };
    let Some((column, geometry)) = spatial_operands(def.name, args, columns) else { return Vec::new() };
    let Some(of) = input.table.columns.get(column) else { return Vec::new() };
    // In a geographic reference system the rectangle of a geometry is not that of its points.
    if of.ty.srid().and_then(srs::find).is_none_or(|srs| srs.is_geographic()) {
        return Vec::new();
    }
    let usable = |index: &IndexDef| {
        index.is_spatial()
            && index.parts.first().is_some_and(|part| part.column == of.id)
            && input.rules.allows(index, Purpose::Find)
    };
    let candidate = |at: usize| {
        let equal = vec![KeyExpr { expr: geometry.clone(), null_safe: false }];
        let ranges = vec![Range { equal, not_null: false, low: None, high: None }];
        let rows = (cost::table_rows(input.statistics) * cost::MEETS_WINDOW).max(1.0);
        let price = cost::SEEK * WINDOW_SEEKS + rows * (cost::NEXT + cost::FETCH);
        let path = AccessPath::Range { index: at, ranges, reverse: false, covering: false };
        finish(input, path, rows, price, Vec::new(), false)
    };
    let indexes = input.table.indexes.iter().enumerate();
    indexes.filter(|(_, index)| usable(index)).map(|(at, _)| candidate(at)).collect()
}

/// Ranges that a window is read by, about.
const WINDOW_SEEKS: f64 = 16.0;

/// Relations that hold only for geometries whose rectangles meet.
const MEETING: [&str; 15] = [
    "MBRCONTAINS",
    "MBRWITHIN",
    "MBRCOVERS",
    "MBRCOVEREDBY",
    "MBREQUALS",
    "MBRINTERSECTS",
    "MBRTOUCHES",
    "MBROVERLAPS",
    "ST_CONTAINS",
    "ST_WITHIN",
    "ST_EQUALS",
    "ST_INTERSECTS",
    "ST_TOUCHES",
    "ST_CROSSES",
    "ST_OVERLAPS",
];

/// The column and the geometry of such a relation.
fn spatial_operands<'e>(function: &str, args: &'e [Expr], columns: &Columns<'_>) -> Option<(usize, &'e Expr)> {
    let [left, right] = args else { return None };
    let (column, geometry) = match columns.position(left) {
        Some(column) => (column, right),
        None => (columns.position(right)?, left),
    };
    (MEETING.contains(&function) && columns.is_outside(geometry)).then_some((column, geometry))
}

fn full_scan(input: &TableInput<'_>, reverse: bool) -> Candidate {
    let rows = cost::table_rows(input.statistics);
    let clustered = &input.table.indexes[0];
    let satisfied = order_of(input, clustered, &[], true).is_some_and(|r| r == reverse);
    let penalty = if input.rules.is_forced() { REFUSED } else { 0.0 };
    // Without an order to gain, backwards is only slower.
    let slower = if reverse && !satisfied { 1.0 } else { 0.0 };
    let mut candidate = finish(
        input,
        AccessPath::Full { reverse },
        rows,
        cost::SEEK + rows * cost::NEXT + penalty + slower,
        Vec::new(),
        satisfied,
    );
    candidate.extreme = extreme_of(input, 0, &[], 0).is_some_and(|(r, needs_not_null)| r == reverse && !needs_not_null)
        && input.conditions.is_empty();
    if candidate.extreme {
        candidate.cost = (cost::SEEK + cost::NEXT) * input.partitions as f64;
    }
    candidate
}

/// Adds what all candidates share: rows after conditions, the sort that is still needed, LIMIT.
fn finish(
    input: &TableInput<'_>,
    path: AccessPath,
    rows_read: f64,
    read_cost: f64,
    consumed: Vec<usize>,
    ordered: bool,
) -> Candidate {
    finish_bounded(input, path, rows_read, read_cost, (consumed, &[]), ordered)
}

/// The same; `bounding` conditions are still to be checked, but leave out no rows of which the path's range does not say it.
fn finish_bounded(
    input: &TableInput<'_>,
    path: AccessPath,
    rows_read: f64,
    read_cost: f64,
    (consumed, bounding): (Vec<usize>, &[usize]),
    ordered: bool,
) -> Candidate {
    let is_said = |n: usize| consumed.contains(&n) || bounding.contains(&n);
    let rest: f64 =
        input.conditions.iter().enumerate().filter(|(n, _)| !is_said(*n)).map(|(_, c)| input.selectivity(c)).product();
    // Of conditions that hang together, as long as no index has taken one.
    let together = input.measured.filter(|_| consumed.is_empty()).map_or(1.0, |measured| measured.together);
    let rows_out = (rows_read * rest * together).max(0.001);
    let asked = if input.asks { input.conditions.iter().filter(|condition| is_run_for_each(condition)).count() } else { 0 };
    let mut total = read_cost + rows_out.max(1.0) * asked as f64 * cost::SUBQUERY;
    if !input.want.order.is_empty() {
        match (ordered, input.want.limit) {
            (true, Some(limit)) if input.prefers_order => total *= (limit as f64 / rows_out).min(1.0),
            (true, _) => {}
            (false, _) if input.rules.forces_order(input.want.grouping) => total += REFUSED,
            (false, _) => total += cost::sort_cost(rows_out),
        }
        if ordered {
            total += cost::merge_cost(input.partitions, rows_out.min(input.want.limit.map_or(f64::MAX, |limit| limit as f64)));
        }
    }
    let ordered = ordered && !input.want.order.is_empty();
    Candidate { path, rows_read, rows_out, cost: total, consumed, ordered, extreme: false, skips: None }
}

/// It runs a subquery for each row.
fn is_run_for_each(condition: &Expr) -> bool {
    let mut found = false;
    visit::subqueries(condition, &mut |sub| found |= sub.correlated);
    found
}

/// The parts of an index that conditions fix, and the range on the part after them.
#[derive(Default)]
struct Prefix {
    /// For each part the one value or the alternatives.
    equal: Vec<Vec<KeyExpr>>,
    low: Option<(Expr, Inclusive)>,
    high: Option<(Expr, Inclusive)>,
    not_null: bool,
    consumed: Vec<usize>,
    /// Comparisons of which the range says about the same, where converting a value may change a bound.
    bounding: Vec<usize>,
    /// Other indexes are bounded, too: which is the best depends on the values.
    is_one_of_several: bool,
}

impl Prefix {
    fn single(&self) -> usize {
        self.equal.iter().take_while(|e| e.len() == 1).count()
    }

    fn is_empty(&self) -> bool {
        self.equal.is_empty() && self.low.is_none() && self.high.is_none() && !self.not_null
    }
}

fn prefix_of(table: &TableDef, at: usize, terms: &[Vec<Term>]) -> Prefix {
    prefix_behind(table, at, 0, terms)
}

/// The same of the parts behind the first `parts`.
fn prefix_behind(table: &TableDef, at: usize, parts: usize, terms: &[Vec<Term>]) -> Prefix {
    let mut prefix = Prefix::default();
    let mut alternatives = 1usize;
    for part in entry_parts(table, at).into_iter().skip(parts) {
        let Some(column) = table.position_of(part.column) else { break };
        let on_column = |t: &&Term| t.column == column;
        let equal =
            terms.iter().enumerate().flat_map(|(n, ts)| ts.iter().filter(on_column).map(move |t| (n, t))).filter_map(|(n, t)| {
                match &t.bound {
                    Bound::Equal(keys) => Some((n, t, keys)),
                    _ => None,
                }
            });
        let equal = equal.min_by_key(|(_, _, keys)| keys.len());
        if let Some((n, term, keys)) = equal
            && alternatives * keys.len() <= RANGES_MAX
            && !keys.is_empty()
        {
            alternatives *= keys.len();
            prefix.equal.push(keys.clone());
            if term.exact && part.prefix.is_none() {
                prefix.consumed.push(n);
            } else if part.prefix.is_none() {
                prefix.bounding.push(n);
            }
            continue;
        }
        range_of(&mut prefix, column, part.prefix.is_some(), terms);
        break;
    }
    prefix
}

/// The range on the part after the fixed ones.
fn range_of(prefix: &mut Prefix, column: usize, cut: bool, terms: &[Vec<Term>]) {
    for (n, list) in terms.iter().enumerate() {
        let mut taken = 0;
        for term in list.iter().filter(|t| t.column == column) {
            // A key that holds only the beginning of the value bounds it loosely.
            match &term.bound {
                Bound::Low(value, inclusive) if prefix.low.is_none() => prefix.low = Some((value.clone(), *inclusive || cut)),
                Bound::High(value, inclusive) if prefix.high.is_none() => prefix.high = Some((value.clone(), *inclusive || cut)),
                Bound::NotNull => prefix.not_null = true,
                _ => continue,
            }
            taken += 1;
        }
        if taken == 0 || taken < list.len() || cut {
            continue;
        }
        match list.iter().all(|t| t.exact) {
            true => prefix.consumed.push(n),
            false => prefix.bounding.push(n),
        }
    }
}

/// The product of the alternatives.
fn ranges_of(prefix: &Prefix) -> Vec<Range> {
    let mut equals: Vec<Vec<KeyExpr>> = vec![Vec::new()];
    for alternatives in &prefix.equal {
        equals = equals
            .into_iter()
            .flat_map(|e| {
                alternatives.iter().map(move |k| {
                    let mut e = e.clone();
                    e.push(k.clone());
                    e
                })
            })
            .collect();
    }
    equals
        .into_iter()
        .map(|equal| Range { equal, not_null: prefix.not_null, low: prefix.low.clone(), high: prefix.high.clone() })
        .collect()
}

fn index_candidates(
    input: &TableInput<'_>,
    at: usize,
    index: &IndexDef,
    terms: &[Vec<Term>],
    columns: &Columns<'_>,
    several: bool,
) -> Vec<Candidate> {
    let mut candidates = Vec::new();
    let finds = input.rules.allows(index, Purpose::Find);
    let orders = !input.want.order.is_empty() && input.rules.allows(index, input.want.purpose());
    if !finds && !orders {
        return candidates;
    }
    let ranges = input.rules.allows_ranges(index);
    let single = if ranges { Vec::new() } else { single_values(terms) };
    let terms = if ranges { terms } else { &single };
    let mut prefix = if finds { prefix_of(input.table, at, terms) } else { Prefix::default() };
    prefix.is_one_of_several = several;
    if index.multi_valued && prefix.equal.len() <= array_part(input.table, index) {
        // Rows have many entries, or none.
        return candidates;
    }
    if let Some(point) = point(input, at, index, &prefix) {
        return vec![point];
    }
    candidates.extend(range_candidate(input, at, index, &prefix).filter(|candidate| finds || candidate.ordered));
    if index.multi_valued {
        return candidates;
    }
    if finds && ranges {
        candidates.extend(disjunction(input, at, index, terms, columns));
    }
    candidates
}

/// The terms of one value each: those of NO_RANGE_OPTIMIZATION.
fn single_values(terms: &[Vec<Term>]) -> Vec<Vec<Term>> {
    let is_single = |term: &&Term| matches!(&term.bound, Bound::Equal(keys) if keys.len() == 1);
    terms.iter().map(|terms| terms.iter().filter(is_single).cloned().collect()).collect()
}

/// The part of a multi-valued index that holds elements.
fn array_part(table: &TableDef, index: &IndexDef) -> usize {
    let is_array = |column| table.position_of(column).is_some_and(|at| table.columns[at].element_type().is_some());
    index.parts.iter().position(|part| is_array(part.column)).unwrap_or(usize::MAX)
}

/// Every part of a unique index has one value that is not NULL.
fn point(input: &TableInput<'_>, at: usize, index: &IndexDef, prefix: &Prefix) -> Option<Candidate> {
    let whole = index.is_unique()
        && prefix.equal.len() == index.parts.len()
        && index.parts.iter().all(|p| p.prefix.is_none())
        && prefix.equal.iter().all(|e| e.len() == 1 && !e[0].null_safe);
    if !whole {
        return None;
    }
    let key = prefix.equal.iter().filter_map(|e| e.first().map(|k| k.expr.clone())).collect();
    let price = if at == 0 { cost::SEEK } else { cost::SEEK + cost::FETCH };
    let taken = (prefix.consumed.clone(), prefix.bounding.as_slice());
    let mut candidate = finish_bounded(input, AccessPath::Point { index: at, key }, 1.0, price, taken, true);
    candidate.extreme = input.want.extreme.is_some();
    Some(candidate)
}

fn range_candidate(input: &TableInput<'_>, at: usize, index: &IndexDef, prefix: &Prefix) -> Option<Candidate> {
    let is_plain = !index.multi_valued;
    let covering = at == 0 || is_plain && is_covering(input, index);
    let single = prefix.single();
    let order = order_of(input, index, &prefix.equal, prefix.equal.iter().all(|e| e.len() == 1)).filter(|_| is_plain);
    let extreme = extreme_of(input, at, &prefix.equal, single).filter(|_| is_plain);
    // A whole index is only of use for its order or as a smaller copy of the table.
    if prefix.is_empty() && order.is_none() && extreme.is_none() && (at == 0 || !covering) && !input.rules.is_forced() {
        return None;
    }
    if prefix.is_empty() && at == 0 {
        return None;
    }
    let rows = estimate(input, at, index, prefix);
    let mut ranges = ranges_of(prefix);
    let reverse = match (extreme, order) {
        (Some((reverse, _)), _) => reverse,
        (None, order) => order.unwrap_or(false),
    };
    if let Some((_, true)) = extreme {
        ranges.iter_mut().for_each(|r| r.not_null |= r.low.is_none());
    }
    let per_row = if covering { cost::NEXT * if at == 0 { 1.0 } else { 0.7 } } else { cost::NEXT + cost::FETCH };
    let price = cost::SEEK * ranges.len() as f64 + rows * per_row;
    let path = AccessPath::Range { index: at, ranges, reverse, covering: covering && at != 0 };
    // Of texts that are like a pattern the range is only the beginning.
    let compares = |n: &usize| matches!(input.conditions[*n].kind, ExprKind::Compare(..) | ExprKind::InList(..));
    let bounding: Vec<usize> = prefix.bounding.iter().copied().filter(compares).collect();
    let mut candidate = finish_bounded(input, path, rows, price, (prefix.consumed.clone(), &bounding), order.is_some());
    if extreme.is_some() && candidate.consumed.len() + bounding.len() == input.conditions.len() {
        candidate.extreme = true;
        candidate.cost = (cost::SEEK + cost::FETCH) * input.partitions as f64;
    }
    Some(candidate)
}

/// A disjunction whose every branch bounds this index: the union of the branches' ranges.
fn disjunction(
    input: &TableInput<'_>,
    at: usize,
    index: &IndexDef,
    terms: &[Vec<Term>],
    columns: &Columns<'_>,
) -> Option<Candidate> {
    let mut best: Option<Candidate> = None;
    for (n, condition) in input.conditions.iter().enumerate() {
        let ExprKind::Or(branches) = &condition.kind else { continue };
        let mut ranges = Vec::new();
        let mut rows = 0.0;
        let mut usable = true;
        // The ranges say all that the condition does.
        let mut exact = true;
        for branch in branches {
            let own: Vec<Vec<Term>> = visit::conjuncts(branch.clone()).iter().map(|c| columns.terms(c)).collect();
            let mut all = own.clone();
            all.extend(terms.iter().cloned());
            let prefix = prefix_of(input.table, at, &all);
            let own_prefix = prefix_of(input.table, at, &own);
            usable &= !prefix.is_empty() && (!own_prefix.is_empty() || prefix.consumed.iter().any(|c| *c < own.len()));
            exact &= (0..own.len()).all(|term| prefix.consumed.contains(&term));
            rows += estimate(input, at, index, &prefix);
            ranges.extend(ranges_of(&prefix));
        }
        if !usable || ranges.len() > RANGES_MAX {
            continue;
        }
        let covering = at == 0 || is_covering(input, index);
        let per_row = if covering { cost::NEXT } else { cost::NEXT + cost::FETCH };
        let price = cost::SEEK * ranges.len() as f64 + rows * per_row;
        let order = order_of(input, index, &[], false);
        let path = AccessPath::Range { index: at, ranges, reverse: order.unwrap_or(false), covering: covering && at != 0 };
        // The ranges have nearly nothing else, even where the condition has to be looked at again.
        let mut candidate = finish(input, path, rows, price, vec![n], order.is_some());
        if !exact {
            candidate.consumed.clear();
        }
        if best.as_ref().is_none_or(|b| candidate.cost < b.cost) {
            best = Some(candidate);
        }
    }
    best
}

/// Ranges of one index that storage is asked about.
const RANGES_ASKED_MAX: usize = 16;

/// Branches of an OR that storage is asked about.
const BRANCHES_ASKED_MAX: usize = 64;

/// The first entry of each group of rows, by an index that has the groups' columns behind those that conditions fix; loose index scan in MySQL.
fn first_of_groups(input: &TableInput<'_>, at: usize, index: &IndexDef, terms: &[Vec<Term>]) -> Option<Candidate> {
    let groups = input.want.groups.as_ref()?;
    let is_plain = !index.is_spatial() && !index.multi_valued;
    if !is_plain || input.locks || input.partitions > 1 || !input.rules.allows(index, Purpose::Group) {
        return None;
    }
    let prefix = prefix_of(input.table, at, terms);
    if prefix.equal.iter().any(|values| values.len() > 1) {
        return None;
    }
    let fixed = prefix.equal.len();
    let position = |part: &IndexPart| input.table.position_of(part.column).filter(|_| part.prefix.is_none());
    let is_fixed = |column: &usize| index.parts.iter().take(fixed).any(|part| position(part) == Some(*column));
    let mut columns = Vec::with_capacity(groups.columns.len());
    for column in &groups.columns {
        let column = column_of(input, column)?;
        if !is_fixed(&column) && !columns.contains(&column) {
            columns.push(column);
        }
    }
    let end = fixed + columns.len();
    let in_groups = |part: &IndexPart| position(part).is_some_and(|column| columns.contains(&column));
    if end == 0 || !index.parts.get(fixed..end)?.iter().all(in_groups) || index.is_unique() && end == index.parts.len() {
        return None;
    }
    let reverse = match &groups.extreme {
        None => false,
        Some((of, max)) => {
            let (part, of) = (*entry_parts(input.table, at).get(end)?, column_of(input, of)?);
            // NULL comes first, which is no minimum.
            if position(part) != Some(of) || part.descending || !max && input.table.columns[of].nullable {
                return None;
            }
            *max
        }
    };
    let within = if end > fixed { prefix_behind(input.table, at, end, terms) } else { Prefix::default() };
    // A row that a condition may refuse does not stand for its group.
    if prefix.consumed.len() + within.consumed.len() < input.conditions.len()
        || within.equal.iter().any(|values| values.len() > 1)
    {
        return None;
    }
    let found = groups_of(input, index, fixed, end)?;
    let covering = at == 0 || is_covering(input, index);
    let price = found * (cost::SEEK + cost::NEXT + if covering { 0.0 } else { cost::FETCH });
    let ordered = !reverse && order_of(input, index, &prefix.equal, false) == Some(false);
    let path = AccessPath::Range { index: at, ranges: ranges_of(&prefix), reverse, covering: covering && at != 0 };
    let candidate = finish_bounded(input, path, found, price, (prefix.consumed.clone(), &within.consumed), ordered);
    let within = ranges_of(&within).pop().filter(|_| !within.is_empty());
    Some(Candidate { skips: Some(Box::new(Skips { parts: end, within, first: true })), ..candidate })
}

/// How many different values the parts of an index have from `fixed` to `end` for one value of those before, if that is known.
fn groups_of(input: &TableInput<'_>, index: &IndexDef, fixed: usize, end: usize) -> Option<f64> {
    let (_, distinct) = input.statistics.distinct.iter().find(|(id, _)| *id == index.id)?;
    let values =
        |parts: usize| parts.checked_sub(1).map_or(Some(1.0), |at| distinct.get(at).map(|values| (*values as f64).max(1.0)));
    Some((values(end)? / values(fixed)?).max(1.0))
}

/// By conditions on parts of an index behind one of which nothing is known, but that it has few values: for each of them a range.
fn skip_scan(input: &TableInput<'_>, at: usize, index: &IndexDef, terms: &[Vec<Term>]) -> Option<Candidate> {
    let is_plain = !index.is_spatial() && !index.multi_valued;
    if !is_plain || input.locks || input.partitions > 1 || !input.rules.allows_skips(index) {
        return None;
    }
    let prefix = prefix_of(input.table, at, terms);
    let (fixed, end) = (prefix.equal.len(), prefix.equal.len() + 1);
    let has_bound = prefix.low.is_some() || prefix.high.is_some() || prefix.not_null;
    if has_bound || prefix.equal.iter().any(|values| values.len() > 1) || end >= index.parts.len() + usize::from(at > 0) {
        return None;
    }
    if index.parts.get(fixed)?.prefix.is_some() {
        return None;
    }
    let within = prefix_behind(input.table, at, end, terms);
    if within.is_empty() || within.equal.iter().any(|values| values.len() > 1) {
        return None;
    }
    let groups = groups_of(input, index, fixed, end)?;
    let rows = (estimate(input, at, index, &prefix) * share_behind(input, at, end, &within)).max(1.0);
    let covering = at == 0 || is_covering(input, index);
    // A group is found, and then its range.
    let price = groups * (2.0 * cost::SEEK + cost::NEXT) + rows * (cost::NEXT + if covering { 0.0 } else { cost::FETCH });
    let order = order_of(input, index, &prefix.equal, false);
    let bounding: Vec<usize> = prefix.bounding.iter().chain(&within.consumed).chain(&within.bounding).copied().collect();
    let reverse = order.unwrap_or(false);
    let path = AccessPath::Range { index: at, ranges: ranges_of(&prefix), reverse, covering: covering && at != 0 };
    let candidate = finish_bounded(input, path, rows, price, (prefix.consumed.clone(), &bounding), order.is_some());
    let within = ranges_of(&within).pop();
    Some(Candidate { skips: Some(Box::new(Skips { parts: end, within, first: false })), ..candidate })
}

/// The share of a group's entries that conditions on the parts behind leave.
fn share_behind(input: &TableInput<'_>, at: usize, end: usize, within: &Prefix) -> f64 {
    let parts = entry_parts(input.table, at);
    let column = |n: usize| parts.get(end + n).and_then(|part| input.table.position_of(part.column));
    let of_value = |column: usize| {
        let id = input.table.columns[column].id;
        let begins = |index: &&IndexDef| index.parts.first().is_some_and(|part| part.column == id);
        input.table.indexes.iter().filter(begins).find_map(|index| cost::known_share(input.statistics, index)).unwrap_or(0.1)
    };
    let equal: f64 = (0..within.equal.len()).filter_map(column).map(of_value).product();
    let bounded = parts.get(end + within.equal.len()).and_then(|part| share_of_bounds(input, part, within));
    let guess = match (&within.low, &within.high) {
        (Some(_), Some(_)) => 0.1,
        (Some(_), None) | (None, Some(_)) => 0.33,
        (None, None) => 1.0,
    };
    equal * bounded.unwrap_or(guess)
}

/// A disjunction whose branches bound different indexes: the rows that each leads to.
fn union(input: &TableInput<'_>, columns: &Columns<'_>) -> Vec<Candidate> {
    let usable = |index: &IndexDef| {
        let is_plain = !index.parts.is_empty() && !index.is_full_text() && !index.is_spatial() && !index.multi_valued;
        let is_allowed = input.rules.allows(index, Purpose::Find) && input.rules.allows_ranges(index);
        is_plain && is_allowed && input.rules.allows_merge(index)
    };
    let mut candidates = Vec::new();
    for (n, condition) in input.conditions.iter().enumerate() {
        let ExprKind::Or(branches) = &condition.kind else { continue };
        // Each branch and index is a question to storage.
        let asks = branches.len() <= BRANCHES_ASKED_MAX;
        let best_of = |branch: &Expr| {
            let terms: Vec<Vec<Term>> = visit::conjuncts(branch.clone()).iter().map(|c| columns.terms(c)).collect();
            let indexes = input.table.indexes.iter().enumerate().filter(|(_, index)| usable(index));
            let ways = indexes.filter_map(|(at, index)| {
                let prefix = Prefix { is_one_of_several: asks, ..prefix_of(input.table, at, &terms) };
                (!prefix.is_empty()).then(|| (at, estimate(input, at, index, &prefix), ranges_of(&prefix)))
            });
            ways.min_by(|a, b| a.1.total_cmp(&b.1))
        };
        if branches.len() > RANGES_MAX {
            continue;
        }
        let Some(ways) = branches.iter().map(best_of).collect::<Option<Vec<_>>>() else { continue };
        let mut parts: Vec<(usize, Vec<Range>)> = Vec::new();
        let mut rows = 0.0;
        for (at, found, ranges) in ways {
            rows += found;
            match parts.iter_mut().find(|(index, _)| *index == at) {
                Some((_, all)) => all.extend(ranges),
                None => parts.push((at, ranges)),
            }
        }
        let seeks = parts.iter().map(|(_, ranges)| ranges.len()).sum::<usize>();
        if parts.len() < 2 || seeks > RANGES_MAX {
            continue;
        }
        let price = cost::SEEK * seeks as f64 + rows * (cost::NEXT + cost::FETCH + cost::HASH_BUILD);
        let mut candidate = finish(input, AccessPath::Union { parts }, rows, price, vec![n], false);
        candidate.consumed.clear();
        candidates.push(candidate);
    }
    candidates
}

fn estimate(input: &TableInput<'_>, at: usize, index: &IndexDef, prefix: &Prefix) -> f64 {
    let alternatives: f64 = prefix.equal.iter().map(|e| e.len() as f64).product();
    let average = cost::rows_per_prefix(input.statistics, index, prefix.equal.len()) * alternatives;
    // Of a value that many rows have on the average it is worth a look how many have this one.
    let asks = prefix.is_one_of_several || average >= ROWS_ASKED_MIN;
    if let Some(share) = input.shares.and_then(|shares| shares.of(input.table, at, index, prefix, asks)) {
        return (share * cost::table_rows(input.statistics)).max(1.0);
    }
    let bounded = entry_parts(input.table, at).get(prefix.equal.len()).copied();
    let by_itself = bounded.filter(|_| !prefix.equal.is_empty()).and_then(|part| share_of_bounds(input, part, prefix));
    let guess = match (&prefix.low, &prefix.high) {
        (Some(_), Some(_)) => 0.005,
        (Some(_), None) | (None, Some(_)) => 0.3,
        (None, None) if prefix.not_null => 0.9,
        (None, None) => 1.0,
    };
    (average * by_itself.unwrap_or(guess)).clamp(1.0, cost::table_rows(input.statistics))
}

/// The share of all rows between the bounds of a prefix, of which an index tells that begins with the column they are of.
fn share_of_bounds(input: &TableInput<'_>, part: &IndexPart, prefix: &Prefix) -> Option<f64> {
    let begins = |index: &IndexDef| {
        let first = index.parts.first();
        first.is_some_and(|first| first.column == part.column && first.prefix.is_none()) && !index.is_full_text()
    };
    let (at, index) = input.table.indexes.iter().enumerate().find(|(_, index)| begins(index))?;
    let (low, high, not_null) = (prefix.low.clone(), prefix.high.clone(), prefix.not_null);
    input.shares?.of(input.table, at, index, &Prefix { low, high, not_null, ..Prefix::default() }, true)
}

/// Reading so many rows takes much longer than storage takes to say how many there are.
const ROWS_ASKED_MIN: f64 = 500.0;

/// Every column that anything reads can be had from the index entry.
fn is_covering(input: &TableInput<'_>, index: &IndexDef) -> bool {
    let mut read = input.slots.iter().enumerate().filter(|(_, slot)| slot.is_some());
    !input.locks && read.all(|(column, _)| restores(input.table, index, column))
}

/// An entry of the index gives the column's value back.
pub fn restores(table: &TableDef, index: &IndexDef, column: usize) -> bool {
    let clustered: &[_] = if table.hidden_rowid { &[] } else { &table.indexes[0].parts };
    let def = &table.columns[column];
    let has = index.parts.iter().chain(clustered).any(|p| p.column == def.id && p.prefix.is_none());
    has && is_reversible(&def.ty) && !index.multi_valued
}

/// The value can be read back from its key.
fn is_reversible(ty: &vaquita_types::ColumnType) -> bool {
    match ty.kind {
        TypeKind::Json | TypeKind::Geometry | TypeKind::Float | TypeKind::Double => false,
        _ if ty.is_bytes() && !ty.is_text() => true,
        _ if ty.is_bytes() => {
            let rules = collation(ty.collation);
            rules.sort_key_is_bytes() || ty.kind == TypeKind::Char && rules.is_bin() && rules.charset.is_ascii_compatible()
        }
        _ => true,
    }
}

/// Whether the index gives the wanted order, and if so whether backwards.
fn order_of(input: &TableInput<'_>, index: &IndexDef, equal: &[Vec<KeyExpr>], single: bool) -> Option<bool> {
    if input.want.order.is_empty() || index.parts.is_empty() || !input.rules.allows(index, input.want.purpose()) {
        return None;
    }
    let fixed = equal_columns(input);
    let skip = if single { equal.len() } else { equal.iter().take_while(|e| e.len() == 1).count() };
    let sequence = entry_order(input.table, index);
    let mut sequence = sequence.iter().skip(skip).copied().peekable();
    if input.want.grouping {
        return grouped_by(input, &fixed, sequence.map(|(c, _)| c).collect()).then_some(false);
    }
    let mut direction: Option<bool> = None;
    for (expr, descending) in &input.want.order {
        let column = column_of(input, expr)?;
        if fixed.contains(&column) {
            continue;
        }
        while let Some((next, _)) = sequence.peek()
            && *next != column
            && fixed.contains(next)
        {
            sequence.next();
        }
        let (next, part_descending) = match sequence.next() {
            Some(part) => part,
            // Past the primary key every row is alone.
            None => break,
        };
        if next != column {
            return None;
        }
        let reverse = part_descending != *descending;
        if direction.is_some_and(|d| d != reverse) {
            return None;
        }
        direction = Some(reverse);
    }
    Some(direction.unwrap_or(false))
}

/// Columns and directions in which entries of the index are sorted: its parts, then the primary key.
fn entry_order(table: &TableDef, index: &IndexDef) -> Vec<(usize, bool)> {
    let mut order = Vec::new();
    let clustered: &[_] = if table.hidden_rowid || index.kind == IndexKind::Primary { &[] } else { &table.indexes[0].parts };
    for part in index.parts.iter().chain(clustered) {
        match table.position_of(part.column) {
            // A prefix does not order the whole values.
            Some(column) if part.prefix.is_none() => {
                if !order.iter().any(|(c, _)| *c == column) {
                    order.push((column, part.descending));
                }
            }
            _ => {
                order.push((usize::MAX, false));
                break;
            }
        }
    }
    if table.hidden_rowid {
        order.push((usize::MAX, false));
    }
    order
}

fn grouped_by(input: &TableInput<'_>, fixed: &[usize], sequence: Vec<usize>) -> bool {
    let mut keys = Vec::new();
    for (expr, _) in &input.want.order {
        match column_of(input, expr) {
            Some(column) if !fixed.contains(&column) => keys.push(column),
            Some(_) => {}
            None => return false,
        }
    }
    let sequence: Vec<usize> = sequence.into_iter().filter(|c| !fixed.contains(c)).collect();
    sequence.len() >= keys.len() && sequence[..keys.len()].iter().all(|c| keys.contains(c))
}

fn column_of(input: &TableInput<'_>, expr: &Expr) -> Option<usize> {
    match expr.kind {
        ExprKind::Slot(slot) => input.slots.iter().position(|s| *s == Some(slot)),
        _ => None,
    }
}

/// Columns that an equality fixes to one value.
fn equal_columns(input: &TableInput<'_>) -> Vec<usize> {
    let columns = Columns { table: input.table, slots: input.slots, facts: input.facts };
    input
        .conditions
        .iter()
        .flat_map(|c| columns.terms(c))
        .filter(|t| t.exact && matches!(&t.bound, Bound::Equal(keys) if keys.len() == 1))
        .map(|t| t.column)
        .collect()
}

/// The index's first entry after the fixed parts has the wanted MIN or MAX: whether to read backwards, and whether NULLs are in the way.
fn extreme_of(input: &TableInput<'_>, at: usize, equal: &[Vec<KeyExpr>], single: usize) -> Option<(bool, bool)> {
    let index = input.table.indexes.get(at)?;
    let (expr, max) = input.want.extreme.as_ref().filter(|_| input.rules.allows(index, Purpose::Find))?;
    let column = column_of(input, expr)?;
    if single != equal.len() {
        return None;
    }
    let part = entry_parts(input.table, at).into_iter().nth(equal.len())?;
    if part.prefix.is_some() || input.table.position_of(part.column) != Some(column) {
        return None;
    }
    let reverse = part.descending != *max;
    Some((reverse, !max && input.table.columns[column].nullable))
}
