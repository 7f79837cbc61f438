//! The order of joins, and the nodes for it.
//!
//! Of up to `ALL_ORDERS_ITEMS_MAX` items all left-deep orders are compared, by the cheapest way to join each set of them. Of more, every item that
//! may come first is tried, and from there the cheapest next item taken (greedy). The cheapest whole order is built: a table with a usable index is looked up for each row (nested loop), one without is hashed on its equalities,
//! or, if it has more rows than what it is joined with, those are hashed and it is read through.

use std::cell::RefCell;
use std::cmp::Ordering;
use std::sync::Arc;

use vaquita_types::limits::{BLOCK_TABLES_MAX, JOIN_TABLES_MAX};
use vaquita_types::schema::IndexDef;
use vaquita_types::{Error, Result, errno};

use super::equal::{self, InClass};
use super::flatten::{Item, Shape, distinct_sides, lateral};
use super::hints::{self, Order};
use super::measure::{self, Measured};
use super::path::{self, Candidate, Shares, TableInput};
use super::told;
use super::{Planned, Want, cost, filtered, generated, other_source, partitions};
use crate::catalog::TableStatistics;
use crate::choices::{BlockChoices, OrderChoice, WantedIndex};
use crate::eval::has_steady_parts;
use crate::expr::{CompareAs, CompareOp, Expr, ExprKind, Slot};
use crate::logical::hints::{HashJoin, JoinOrder};
use crate::logical::{Relation, Set, Source, Tables, bit, set_of};
use crate::node::{JoinKind, Node, Scan};
use crate::visit;

/// All orders of up to so many items are compared: some thousand sets and items, a millisecond.
const ALL_ORDERS_ITEMS_MAX: usize = 10;

/// A plan that costs more is made anew with samples of its tables, about a millisecond of CPU each: it will take some five or more.
const MEASURED_COST_MIN: f64 = 30_000.0;

/// Orders that were not taken are told up to this many.
const ORDERS_TOLD_MAX: usize = 4;

/// A subquery that is run for each row waits for joins that leave one row in so many, or less.
const DELAY_MIN: f64 = 2.0;

/// Rows that are kept at most, by their estimate, for a join that has nothing to hash them by.
const KEPT_ROWS_MAX: f64 = 100_000.0;

/// A condition and the relations it reads.
pub(super) struct Condition {
    pub expr: Expr,
    pub set: Set,
    /// It holds a subquery: checked after cheaper ones.
    pub slow: bool,
    pub class: Option<InClass>,
}

pub fn join(tables: &Tables<'_>, items: Vec<Item>, pool: Vec<Expr>, want: &Want, orders: &[JoinOrder]) -> Result<Planned> {
    if tables.relations.len() > BLOCK_TABLES_MAX {
        return Err(Error::new(&errno::ER_TOO_MANY_TABLES, &[&JOIN_TABLES_MAX]));
    }
    // Statements that change or lock rows shall find them by keys, however few there are.
    let locks = tables.relations.iter().any(|relation| relation.lock.is_some() || relation.key_slot.is_some());
    let is_large = tables.relations.len() > 1 && !locks;
    let shares = Shares { catalog: tables.catalog, joins: is_large, known: RefCell::default(), values: RefCell::default() };
    let mut planner = Planner {
        tables,
        statistics: statistics(tables, is_large),
        shares: &shares,
        measured: Vec::new(),
        asks: false,
        told: tables.catalog.choices().map(|_| BlockChoices::default()),
        orders: hints::resolved(tables, orders),
        pipelined: false,
    };
    let step = planner.nest(items, pool, 0, want)?;
    if let (Some(choices), Some(told)) = (tables.catalog.choices(), planner.told) {
        choices.note(told);
    }
    Ok(Planned { node: step.node, ordered: step.ordered, first_row_is_extreme: step.extreme, rows: step.rows })
}

fn statistics(tables: &Tables<'_>, is_exact: bool) -> Vec<TableStatistics> {
    let of = |relation: &Relation| match &relation.source {
        Source::Base(table) if !table.indexes.is_empty() => TableStatistics { is_exact, ..tables.catalog.statistics(table) },
        _ => TableStatistics::default(),
    };
    tables.relations.iter().map(of).collect()
}

struct Planner<'b, 'a> {
    tables: &'b Tables<'a>,
    statistics: Vec<TableStatistics>,
    shares: &'b Shares<'b>,
    /// By relation, once a plan is so dear that samples are worth their price.
    measured: Vec<Option<Measured>>,
    /// Some condition holds a subquery.
    asks: bool,
    /// What is chosen between, if somebody wants to know.
    told: Option<BlockChoices>,
    /// Orders that hints ask for.
    orders: Vec<Order>,
    /// Only such joins are looked at that give their first rows before they have read everything.
    pipelined: bool,
}

struct Step {
    node: Node,
    ordered: bool,
    extreme: bool,
    /// An estimate.
    rows: f64,
}

/// What is known of an item once some others are placed.
#[derive(Clone, Copy)]
struct Facts {
    /// Rows and cost of one opening.
    rows: f64,
    cost: f64,
    hash_keys: HashKeys,
    /// Nothing is known of how many rows have one value of such a key.
    is_guess: bool,
    /// Rows and cost of reading it by its own conditions, where that is of interest.
    alone: (f64, f64),
}

/// What is known of an item by now.
struct Known {
    /// The relations that decide what is known of it.
    reads: Set,
    /// By what is placed of those: some few sets.
    facts: Vec<(Set, Facts)>,
    /// Rows and cost of reading it by its own conditions, once somebody has asked.
    alone: Option<(f64, f64)>,
}

/// How the next item is joined.
#[derive(Clone)]
struct Choice {
    item: usize,
    cost: f64,
    rows: f64,
    method: Method,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Method {
    Nested,
    /// A hash table of the item's rows.
    HashItem,
    /// A hash table of the rows before it.
    HashLeft,
}

/// What an item's rows could be hashed by.
#[derive(Clone, Copy, PartialEq, Eq)]
enum HashKeys {
    /// Equalities with rows before it.
    Some,
    /// Nothing: all its rows are candidates for each row before it.
    None,
    /// It has other rows for each row before it.
    Lateral,
}

impl Planner<'_, '_> {
    /// Joins `items` under `pool`; `outside` are relations of this frame that are read before.
    fn nest(&mut self, items: Vec<Item>, pool: Vec<Expr>, outside: Set, want: &Want) -> Result<Step> {
        if items.len() < 2 {
            return self.joined(items, pool, outside, want);
        }
        // A row of the join is chosen by a value of its own, as in MySQL.
        let (by_row, pool): (Vec<Expr>, Vec<Expr>) = pool.into_iter().partition(visit::changes_by_row);
        let mut step = self.joined(items, pool, outside, want)?;
        step.node = filtered(step.node, by_row);
        Ok(step)
    }

    fn joined(&mut self, items: Vec<Item>, pool: Vec<Expr>, outside: Set, want: &Want) -> Result<Step> {
        let mut other_pool = pool.clone();
        let other_items = distinct_sides(self.tables, &items, &mut other_pool);
        let (items, obeyed) = hints::ordered(items, &self.orders, outside);
        let mut pool = self.conditions(pool);
        equal::classify(self.tables, &items, &mut pool)?;
        let mut order = self.best_order(&items, &pool, outside, want)?;
        let is_dear = order.iter().map(|choice| choice.cost).sum::<f64>() > MEASURED_COST_MIN;
        if is_dear && self.shares.joins && self.measured.is_empty() && self.measure(&items, &pool)? {
            order = self.best_order(&items, &pool, outside, want)?;
        }
        let limited = self.limited(&items, &pool, outside, want, &order)?;
        let (order, own_want) = limited.as_ref().map_or((&order, want), |(order, want)| (order, want));
        if let Some((other_items, is_wanted)) = other_items {
            let (other_items, other_obeyed) = hints::ordered(other_items, &self.orders, outside);
            let mut other_pool = self.conditions(other_pool);
            equal::classify(self.tables, &other_items, &mut other_pool)?;
            let other = self.best_order(&other_items, &other_pool, outside, want)?;
            let is_better = match other_obeyed.cmp(&obeyed) {
                Ordering::Equal => total(&other) < total(order),
                more => more == Ordering::Greater,
            };
            if is_wanted || is_better {
                self.tell(&other_items, &other_pool, (outside, want), &other)?;
                return self.build(other_items, other_pool, outside, want, &other);
            }
        }
        self.tell(&items, &pool, (outside, want), order)?;
        self.build(items, pool, outside, own_want, order)
    }

    /// Where LIMIT wants a few rows of a join in the order of one of its tables: that table read in this order, as far as it has to be, and
    /// all others looked up, if that is much cheaper than `order`. With it comes what is wanted of the first table.
    fn limited(
        &mut self,
        items: &[Item],
        pool: &[Condition],
        outside: Set,
        want: &Want,
        order: &[Choice],
    ) -> Result<Option<(Vec<Choice>, Want)>> {
        let Some(limit) = want.limit.filter(|_| items.len() > 1 && !want.order.is_empty()) else { return Ok(None) };
        let of_order = want.order.iter().fold(0, |set, (expr, _)| set | set_of(self.tables, expr)) & !outside;
        let is_first = |item: &Item| {
            item.kind == JoinKind::Inner && item.after & !outside == 0 && of_order != 0 && of_order & !item.relations == 0
        };
        let Some(start) = items.iter().position(is_first) else { return Ok(None) };
        let Shape::Table(relation) = items[start].shape else { return Ok(None) };
        let of_first =
            |rows: u64| Want { order: want.order.clone(), grouping: want.grouping, limit: Some(rows), ..Want::default() };
        self.pipelined = true;
        let mut known = self.known(items, pool);
        let found = self.greedy(items, pool, outside, &of_first(limit), start, &mut known);
        self.pipelined = false;
        let (_, mut choices) = found?;
        if choices.len() < items.len() || choices.iter().any(|choice| choice.method != Method::Nested) {
            return Ok(None);
        }
        let (all_first, all) = (choices[0].rows, choices.last().map_or(0.0, |last| last.rows));
        let share = (limit as f64 / all).min(1.0);
        let want = of_first((all_first * share).ceil().max(1.0) as u64);
        let conditions = usable(&items[start], pool, outside | items[start].relations, self.tables);
        let first = self.candidate(relation, &conditions, &want, false);
        choices.iter_mut().for_each(|choice| choice.cost *= share);
        choices[0].cost = first.cost;
        let of_whole = total(order) + cost::sort_cost(order.last().map_or(0.0, |last| last.rows));
        let is_better = first.ordered && total(&choices) * cost::FIRST_ROWS_DOUBT < of_whole;
        Ok(is_better.then_some((choices, want)))
    }

    /// Tells of the order of the block's tables, of the best ones that begin with others, and of indexes that their conditions would use.
    fn tell(&mut self, items: &[Item], pool: &[Condition], (outside, want): (Set, &Want), order: &[Choice]) -> Result<()> {
        if self.told.as_ref().is_none_or(|told| !told.orders.is_empty()) {
            return Ok(());
        }
        let described = |order: &[Choice], tables: &Tables<'_>| {
            let step = |(n, choice): (usize, &Choice)| {
                let name = items.get(choice.item).map(|item| told::item_name(item, tables)).unwrap_or_default();
                match choice.method {
                    _ if n == 0 => name,
                    Method::Nested => format!("nested loop with {name}"),
                    Method::HashItem => format!("hash join with {name} hashed"),
                    Method::HashLeft => format!("hash join with {name} read through"),
                }
            };
            let rows = order.last().map_or(0.0, |choice| choice.rows);
            OrderChoice { steps: order.iter().enumerate().map(step).collect(), cost: total(order), rows }
        };
        let mut others = Vec::new();
        let mut known = self.known(items, pool);
        for start in 0..items.len() {
            if items.len() < 2 || items[start].kind != JoinKind::Inner || items[start].after & !outside != 0 {
                continue;
            }
            let (_, other) = self.greedy(items, pool, outside, want, start, &mut known)?;
            if other.len() == items.len() {
                others.push(described(&other, self.tables));
            }
        }
        others.sort_by(|a, b| a.cost.total_cmp(&b.cost));
        let taken = described(order, self.tables);
        others.retain(|other| other.steps != taken.steps);
        others.truncate(ORDERS_TOLD_MAX);
        let mut wanted = Vec::new();
        for item in items {
            let conditions = usable(item, pool, Set::MAX, self.tables);
            self.want_indexes(item, &conditions, want, &mut wanted);
        }
        if let Some(told) = &mut self.told {
            told.orders = std::iter::once(taken).chain(others).collect();
            told.wanted = wanted;
        }
        Ok(())
    }

    /// Adds the indexes that the conditions on the item's tables would use.
    fn want_indexes(&self, item: &Item, conditions: &[&Expr], want: &Want, found: &mut Vec<WantedIndex>) {
        match &item.shape {
            Shape::Table(relation) => {
                found.extend(told::wanted(&self.tables.relations[*relation], conditions, &want.order, self.tables.facts))
            }
            Shape::Nest(items) | Shape::Distinct { items, .. } => {
                for inner in items {
                    let all: Vec<&Expr> = conditions.iter().copied().chain(&inner.on).collect();
                    self.want_indexes(inner, &all, &NO_WANT, found);
                }
            }
        }
    }

    fn conditions(&mut self, pool: Vec<Expr>) -> Vec<Condition> {
        pool.into_iter()
            .map(|expr| {
                let set = set_of(self.tables, &expr);
                let slow = visit::any(&expr, &|e| matches!(e.kind, ExprKind::Subquery(_)));
                self.asks |= slow;
                Condition { expr, set, slow, class: None }
            })
            .collect()
    }

    fn best_order(&mut self, items: &[Item], pool: &[Condition], outside: Set, want: &Want) -> Result<Vec<Choice>> {
        if let [only] = items
            && only.kind == JoinKind::Inner
            && only.after & !outside == 0
        {
            return Ok(vec![self.first_choice(0, only, pool, outside, want)?]);
        }
        let mut best: Option<(f64, Vec<Choice>)> = None;
        let starts: Vec<usize> =
            (0..items.len()).filter(|n| items[*n].kind == JoinKind::Inner && items[*n].after & !outside == 0).collect();
        let mut known = self.known(items, pool);
        if (3..=ALL_ORDERS_ITEMS_MAX).contains(&items.len()) {
            return self.cheapest(items, pool, outside, want, &starts, &mut known);
        }
        for &start in &starts {
            let (total, order) = self.greedy(items, pool, outside, want, start, &mut known)?;
            if order.len() == items.len() && best.as_ref().is_none_or(|(c, _)| total < *c) {
                best = Some((total, order));
            }
        }
        best.map(|(_, order)| order).ok_or_else(|| Error::internal("no join order"))
    }

    fn greedy(
        &mut self,
        items: &[Item],
        pool: &[Condition],
        outside: Set,
        want: &Want,
        start: usize,
        known: &mut [Known],
    ) -> Result<(f64, Vec<Choice>)> {
        let mut placed = outside;
        let mut order: Vec<Choice> = Vec::with_capacity(items.len());
        let mut rows = 1.0;
        let mut total = 0.0;
        while order.len() < items.len() {
            let mut next: Option<Choice> = None;
            for n in 0..items.len() {
                let first = order.is_empty();
                if first && n != start || order.iter().any(|c| c.item == n) || items[n].after & !placed != 0 {
                    continue;
                }
                let choice = match first {
                    true => self.first_choice(n, &items[n], pool, placed, want)?,
                    false => self.choice(n, &items[n], pool, (placed, outside), rows, &mut known[n])?,
                };
                // Fewer rows make everything after cheaper.
                let weight = |c: &Choice| c.cost + c.rows;
                if next.as_ref().is_none_or(|best| weight(&choice) < weight(best)) {
                    next = Some(choice);
                }
            }
            let Some(next) = next else { break };
            placed |= items[next.item].relations;
            rows = next.rows;
            total += next.cost;
            order.push(next);
        }
        // An order that does not come from the first table costs a sort of the whole.
        if items.len() > 1 && !want.order.is_empty() {
            total += rows * 0.01;
        }
        Ok((total, order))
    }

    /// Looks at samples of the tables of which conditions say something; whether there are any.
    fn measure(&mut self, items: &[Item], pool: &[Condition]) -> Result<bool> {
        let mut own: Vec<Vec<&Expr>> = vec![Vec::new(); self.tables.relations.len()];
        let mut add = |expr, set: Set| {
            if set.is_power_of_two()
                && let Some(list) = own.get_mut(set.trailing_zeros() as usize)
            {
                list.push(expr);
            }
        };
        pool.iter().for_each(|condition| add(&condition.expr, condition.set));
        items.iter().flat_map(|item| &item.on).for_each(|e| add(e, set_of(self.tables, e)));
        let measured = own.iter().enumerate().map(|(n, conditions)| measure::of(self.tables, n, conditions));
        self.measured = measured.collect::<Result<_>>()?;
        Ok(self.measured.iter().any(Option::is_some))
    }

    /// Of all left-deep orders the cheapest: for each set of items, the cheapest way to have joined them. What costs more than a whole order that
    /// is quickly found leads nowhere. That order is taken if none is found that is cheaper: the cheapest way to a set may leave more rows than
    /// another one, and cost more in the end.
    fn cheapest(
        &mut self,
        items: &[Item],
        pool: &[Condition],
        outside: Set,
        want: &Want,
        starts: &[usize],
        known: &mut [Known],
    ) -> Result<Vec<Choice>> {
        // By the set of items: the whole cost, and the last choice.
        let mut ways: Vec<Option<(f64, Choice)>> = vec![None; 1 << items.len()];
        for &start in starts {
            let choice = self.first_choice(start, &items[start], pool, outside, want)?;
            ways[1 << start] = Some((choice.cost, choice));
        }
        let weight = |start: &&usize| ways[1 << **start].as_ref().map_or(f64::INFINITY, |(cost, choice)| cost + choice.rows);
        let quick = starts.iter().min_by(|a, b| weight(a).total_cmp(&weight(b))).copied();
        let quick = quick
            .map_or(Ok(Vec::new()), |start| self.greedy(items, pool, outside, want, start, known).map(|(_, order)| order))?;
        let weight = |order: &[Choice]| total(order) + order.last().map_or(0.0, |last| last.rows);
        let cost_max = if quick.len() == items.len() { weight(&quick) } else { f64::INFINITY };
        for set in 1..ways.len() {
            let Some((cost, last)) = &ways[set] else { continue };
            let (cost, rows) = (*cost, last.rows);
            if cost > cost_max {
                continue;
            }
            let is_in = |n: &usize| set & (1 << n) != 0;
            let placed = (0..items.len()).filter(is_in).fold(outside, |placed, n| placed | items[n].relations);
            for n in (0..items.len()).filter(|n| !is_in(n) && items[*n].after & !placed == 0) {
                let choice = self.choice(n, &items[n], pool, (placed, outside), rows, &mut known[n])?;
                let total = cost + choice.cost;
                let way = &mut ways[set | 1 << n];
                if way.as_ref().is_none_or(|(other, last)| total + choice.rows < other + last.rows) {
                    *way = Some((total, choice));
                }
            }
        }
        let mut order = Vec::with_capacity(items.len());
        let mut set = ways.len() - 1;
        while let Some((_, choice)) = ways[set].take() {
            set &= !(1 << choice.item);
            order.push(choice);
        }
        order.reverse();
        let is_better = order.len() == items.len() && weight(&order) <= cost_max;
        let order = if is_better { order } else { quick };
        if order.len() < items.len() {
            return Err(Error::internal("no join order"));
        }
        Ok(order)
    }

    /// The relations that decide what is known of the item, once they are placed.
    fn reads(&self, item: &Item, pool: &[Condition]) -> Set {
        let own = item.on.iter().map(|e| set_of(self.tables, e));
        let pooled = pool.iter().filter(|c| item.kind == JoinKind::Inner && c.set & item.relations != 0).map(|c| c.set);
        let inner = match &item.shape {
            Shape::Table(_) => &[],
            Shape::Nest(items) | Shape::Distinct { items, .. } => items.as_slice(),
        };
        let inner = inner.iter().map(|inner| inner.after | self.reads(inner, &[]));
        own.chain(pooled).chain(inner).fold(0, |all, set| all | set)
    }

    fn known(&self, items: &[Item], pool: &[Condition]) -> Vec<Known> {
        let known = |item| Known { reads: self.reads(item, pool), facts: Vec::new(), alone: None };
        items.iter().map(known).collect()
    }

    fn facts(&mut self, item: &Item, pool: &[Condition], placed: Set, known: &mut Known) -> Result<Facts> {
        let read = placed & known.reads;
        if let Some((_, facts)) = known.facts.iter().find(|(set, _)| *set == read) {
            return Ok(*facts);
        }
        let (rows, cost) = self.inner(item, pool, placed, placed | item.relations, &NO_WANT)?;
        let hash_keys = self.hash_keys(item, pool, placed);
        let alone = match (hash_keys, known.alone) {
            (HashKeys::Lateral, _) => (rows, cost),
            (_, Some(alone)) => alone,
            (_, None) => *known.alone.insert(self.inner(item, pool, 0, item.relations, &NO_WANT)?),
        };
        let is_guess = !self.knows_keys(item, pool, placed);
        let facts = Facts { rows, cost, hash_keys, is_guess, alone };
        known.facts.push((read, facts));
        Ok(facts)
    }

    fn first_choice(&mut self, n: usize, item: &Item, pool: &[Condition], outside: Set, want: &Want) -> Result<Choice> {
        let (rows, cost) = self.inner(item, pool, outside, outside | item.relations, want)?;
        Ok(Choice { item: n, cost, rows: rows.max(0.001), method: Method::Nested })
    }

    /// `rows` are those of what is placed.
    fn choice(
        &mut self,
        n: usize,
        item: &Item,
        pool: &[Condition],
        (placed, outside): (Set, Set),
        rows: f64,
        known: &mut Known,
    ) -> Result<Choice> {
        let Facts { rows: mut inner_rows, cost: inner_cost, hash_keys, is_guess, alone: (item_rows, item_cost) } =
            self.facts(item, pool, placed, known)?;
        let (mut cost, mut method) = (rows.max(1.0) * inner_cost, Method::Nested);
        let hash_join = match hints::hash_join(self.tables, item.relations) {
            HashJoin::Wanted => HashJoin::Wanted,
            _ if self.pipelined => HashJoin::Refused,
            hinted => hinted,
        };
        if hash_keys == HashKeys::None && hash_join != HashJoin::Refused {
            // Its rows are read once and kept, instead of being read again for each row before it.
            let kept_cost = item_cost + item_rows * cost::HASH_BUILD + rows * item_rows * cost::HASH_PROBE;
            if kept_cost < cost && item_rows <= KEPT_ROWS_MAX {
                (cost, method) = (kept_cost, Method::HashItem);
            }
        }
        if hash_keys == HashKeys::Some && hash_join != HashJoin::Refused {
            if hash_join == HashJoin::Wanted {
                cost = f64::INFINITY;
            }
            let mut consider = |hashed_cost: f64, by: Method| {
                if hashed_cost < cost {
                    (cost, method) = (hashed_cost, by);
                }
            };
            consider(item_cost + item_rows * cost::HASH_BUILD + rows * cost::HASH_PROBE, Method::HashItem);
            // The keys may be of rows outside, which change from one opening to the next.
            if item.kind == JoinKind::Inner && outside == 0 {
                consider(item_cost + rows * cost::HASH_BUILD + item_rows * cost::HASH_PROBE, Method::HashLeft);
            }
            if method != Method::Nested && is_guess {
                inner_rows = inner_rows.min(cost::ROWS_PER_KEY);
            }
        }
        let joined = match item.kind {
            JoinKind::Inner => rows * inner_rows,
            JoinKind::Left => (rows * inner_rows).max(rows),
            JoinKind::Semi => rows * inner_rows.min(1.0),
            JoinKind::Anti => rows * 0.5,
        };
        Ok(Choice { item: n, cost, rows: joined.max(0.001), method })
    }

    /// Rows and cost of one opening of the item when `placed` is known.
    fn inner(&mut self, item: &Item, pool: &[Condition], placed: Set, known: Set, want: &Want) -> Result<(f64, f64)> {
        match &item.shape {
            Shape::Table(relation) => {
                let conditions = usable(item, pool, known, self.tables);
                let candidate = self.candidate(*relation, &conditions, want, false);
                Ok((candidate.rows_out, candidate.cost))
            }
            Shape::Nest(items) => {
                let inner: Vec<Condition> = item
                    .on
                    .iter()
                    .map(|e| Condition { expr: e.clone(), set: set_of(self.tables, e), slow: false, class: None })
                    .filter(|c| c.set & !known == 0)
                    .collect();
                let order = self.best_order(items, &inner, placed, &NO_WANT)?;
                Ok((order.last().map_or(1.0, |c| c.rows), order.iter().map(|c| c.cost).sum()))
            }
            Shape::Distinct { items, .. } => {
                let inner = self.conditions(item.on.clone());
                let order = self.best_order(items, &inner, 0, &NO_WANT)?;
                let rows = order.last().map_or(1.0, |c| c.rows);
                Ok((rows, order.iter().map(|c| c.cost).sum::<f64>() + rows * cost::HASH_BUILD))
            }
        }
    }

    /// `builds`: it is taken.
    fn candidate(&mut self, relation: usize, conditions: &[&Expr], want: &Want, builds: bool) -> Candidate {
        let statistics = &self.statistics[relation];
        let rel = &self.tables.relations[relation];
        let Source::Base(table) = &rel.source else {
            let rows = match &rel.source {
                Source::CteRows { .. } => cost::ROUND_ROWS,
                Source::Derived { query, .. } => query.plan().map_or(cost::DERIVED_ROWS, |plan| plan.rows_estimate),
                _ => cost::DERIVED_ROWS,
            };
            let out = (rows * conditions.iter().map(|c| cost::selectivity(c)).product::<f64>()).max(rows.min(1.0));
            return Candidate {
                path: crate::node::AccessPath::System,
                rows_read: rows,
                rows_out: out,
                cost: rows,
                consumed: Vec::new(),
                ordered: false,
                extreme: false,
                skips: None,
            };
        };
        let slots: Vec<Option<Slot>> = (0..rel.columns.len()).map(|c| rel.slot(c)).collect();
        let partitions = partitions::of_scan(rel, conditions, self.tables.facts);
        let may_have = partitions.as_ref().is_none_or(|partitions| partitions::may_merge(want, partitions));
        let want = if may_have { want } else { &NO_WANT };
        let input = TableInput {
            table,
            statistics,
            slots: &slots,
            facts: self.tables.facts,
            conditions,
            rules: rel.index_rules(self.tables.switches),
            prefers_order: self.tables.switches.prefers_ordering_index(),
            want,
            key_slot: rel.key_slot,
            locks: rel.lock.is_some() || rel.key_slot.is_some(),
            partitions: partitions.map_or(1, |partitions| partitions.known().len()),
            asks: self.asks,
            measured: self.measured.get(relation).and_then(Option::as_ref),
            shares: Some(self.shares).filter(|_| rel.partitions.is_none()),
        };
        let best = path::best(&input);
        if builds && let Some(told) = &mut self.told {
            let mut all = Vec::new();
            path::each(&input, &mut |candidate| all.push(candidate));
            told.tables.push(told::table(&rel.alias, &input, &best, all));
        }
        best
    }

    fn hash_keys(&self, item: &Item, pool: &[Condition], placed: Set) -> HashKeys {
        // A LATERAL table must be run anew for each row.
        let lateral = match &item.shape {
            Shape::Table(relation) => !matches!(lateral(self.tables, *relation), Ok(0)),
            Shape::Nest(items) | Shape::Distinct { items, .. } => items.iter().any(|i| i.after & !item.relations != 0),
        };
        if lateral {
            return HashKeys::Lateral;
        }
        let conditions = item.on.iter().map(|e| (e, set_of(self.tables, e)));
        let pooled = pool.iter().filter(|_| item.kind == JoinKind::Inner).map(|c| (&c.expr, c.set));
        let mut joined = conditions.chain(pooled);
        match joined.any(|(e, set)| set & !(placed | item.relations) == 0 && self.hash_key(e, item.relations).is_some()) {
            true => HashKeys::Some,
            false => HashKeys::None,
        }
    }

    /// There are statistics of a column of the item that an equality compares with what is placed.
    fn knows_keys(&self, item: &Item, pool: &[Condition], placed: Set) -> bool {
        let Shape::Table(relation) = item.shape else { return false };
        let (Source::Base(table), statistics) = (&self.tables.relations[relation].source, &self.statistics[relation]) else {
            return false;
        };
        let conditions = item.on.iter().map(|e| (e, set_of(self.tables, e)));
        let pooled = pool.iter().filter(|_| item.kind == JoinKind::Inner).map(|c| (&c.expr, c.set));
        conditions.chain(pooled).filter(|(_, set)| set & !(placed | item.relations) == 0).any(|(e, _)| {
            let Some((_, own, _)) = self.hash_key(e, item.relations) else { return false };
            let ExprKind::Slot(slot) = own.kind else { return false };
            let rel = &self.tables.relations[relation];
            let Some(column) = rel.column_of(slot) else { return false };
            let begins = |index: &&IndexDef| index.parts.first().is_some_and(|part| part.column == table.columns[column].id);
            table.indexes.iter().filter(begins).any(|index| cost::known_share(statistics, index).is_some())
        })
    }

    /// `outer expression = inner expression`, if the condition is that: probe, build, rule.
    fn hash_key(&self, condition: &Expr, inner: Set) -> Option<(Expr, Expr, CompareAs)> {
        let ExprKind::Compare(CompareOp::Eq, a, b, rule) = &condition.kind else { return None };
        if matches!(rule, CompareAs::Json | CompareAs::Row | CompareAs::DoubleFixed(_))
            || visit::any(condition, &|e| matches!(e.kind, ExprKind::Subquery(_)))
        {
            return None;
        }
        let (a_set, b_set) = (set_of(self.tables, a), set_of(self.tables, b));
        let outer = |s: Set| s & inner == 0 && s != 0;
        let own = |s: Set| s & !inner == 0 && s != 0;
        if outer(a_set) && own(b_set) {
            return Some(((**a).clone(), (**b).clone(), *rule));
        }
        (outer(b_set) && own(a_set)).then(|| ((**b).clone(), (**a).clone(), *rule))
    }

    fn build(&mut self, items: Vec<Item>, mut pool: Vec<Condition>, outside: Set, want: &Want, order: &[Choice]) -> Result<Step> {
        let first_relations: Vec<Set> = items.iter().map(|i| i.relations).collect();
        let mut items: Vec<Option<Item>> = items.into_iter().map(Some).collect();
        let mut placed = outside;
        let mut step: Option<Step> = None;
        let mut delayed = if self.shares.joins { delayed(&first_relations, &mut pool, outside, order) } else { Vec::new() };
        for (n, choice) in order.iter().enumerate() {
            let Some(item) = items[choice.item].take() else { return Err(Error::internal("item joined twice")) };
            let known = placed | item.relations;
            step = Some(match step {
                None => self.first(item, &mut pool, known, outside, want)?,
                Some(left) if choice.method == Method::Nested => self.nested(left, item, &mut pool, placed, known)?,
                Some(left) => self.hash(left, item, &mut pool, placed, choice.method)?,
            });
            placed = known;
            let due = delayed.extract_if(.., |(at, _)| *at == n).map(|(_, condition)| condition).collect();
            if let Some(step) = &mut step {
                step.node = filtered(std::mem::replace(&mut step.node, Node::Empty), due);
            }
        }
        let mut step = step.ok_or_else(|| Error::internal("join of nothing"))?;
        step.rows = order.last().map_or(1.0, |choice| choice.rows);
        // The first table can give an order by its own columns only.
        if let Some(first) = order.first().filter(|_| order.len() > 1) {
            let own = first_relations[first.item] | outside;
            step.ordered &= want.order.iter().all(|(e, _)| set_of(self.tables, e) & !own == 0);
        }
        let rest: Vec<Expr> = pool.into_iter().map(|c| c.expr).collect();
        step.node = filtered(step.node, rest);
        Ok(step)
    }

    fn first(&mut self, item: Item, pool: &mut Vec<Condition>, known: Set, outside: Set, want: &Want) -> Result<Step> {
        match item.shape {
            Shape::Table(relation) => {
                let conditions = take(self.tables, pool, known, item.relations);
                let (node, candidate) = self.table(relation, conditions, want)?;
                Ok(Step { node, ordered: candidate.ordered, extreme: candidate.extreme, rows: candidate.rows_out })
            }
            Shape::Nest(items) => {
                let conditions = take(self.tables, pool, known, item.relations).into_iter().chain(item.on).collect();
                self.nest(items, conditions, outside, &NO_WANT)
            }
            Shape::Distinct { items, keys } => {
                let node = filtered(self.distinct(items, keys, item.on)?, take(self.tables, pool, known, item.relations));
                Ok(Step { node, ordered: false, extreme: false, rows: 0.0 })
            }
        }
    }

    /// For each row on the left the item is opened anew, its conditions bound to that row.
    fn nested(&mut self, left: Step, item: Item, pool: &mut Vec<Condition>, placed: Set, known: Set) -> Result<Step> {
        let inner_slots = self.slots_of(item.relations);
        let mut above = Vec::new();
        let mut conditions = item.on;
        match item.kind {
            JoinKind::Inner => conditions.extend(take(self.tables, pool, known, item.relations)),
            // WHERE sees the row after the join.
            _ => above = take(self.tables, pool, known, item.relations),
        }
        let inner = match item.shape {
            Shape::Table(relation) => self.table(relation, conditions, &NO_WANT)?.0,
            Shape::Nest(items) => self.nest(items, conditions, placed, &NO_WANT)?.node,
            Shape::Distinct { items, keys } => {
                let (own, across): (Vec<Expr>, Vec<Expr>) =
                    conditions.into_iter().partition(|c| set_of(self.tables, c) & !item.relations == 0);
                filtered(self.distinct(items, keys, own)?, across)
            }
        };
        let node =
            Node::NestedLoop { kind: item.kind, outer: Box::new(left.node), inner: Box::new(inner), on: Vec::new(), inner_slots };
        let node = filtered(node, above);
        Ok(Step { node, ordered: left.ordered, extreme: false, rows: left.rows })
    }

    fn hash(&mut self, left: Step, item: Item, pool: &mut Vec<Condition>, placed: Set, method: Method) -> Result<Step> {
        let (mut conditions, mut above) = (item.on, Vec::new());
        match item.kind {
            JoinKind::Inner => conditions.extend(take(self.tables, pool, placed | item.relations, item.relations)),
            _ => above = take(self.tables, pool, placed | item.relations, item.relations),
        }
        let (mut own, mut on) = (Vec::new(), Vec::new());
        let (mut left_keys, mut item_keys, mut compare) = (Vec::new(), Vec::new(), Vec::new());
        for condition in conditions {
            let of_pairs = item.kind == JoinKind::Left && visit::changes_by_row(&condition);
            if set_of(self.tables, &condition) & !item.relations == 0 && !of_pairs {
                own.push(condition);
            } else if let Some((of_left, of_item, rule)) = self.hash_key(&condition, item.relations) {
                left_keys.push(of_left);
                item_keys.push(of_item);
                compare.push(rule);
            } else {
                on.push(condition);
            }
        }
        let node = match item.shape {
            Shape::Table(relation) => self.table(relation, own, &NO_WANT)?.0,
            Shape::Nest(items) => self.nest(items, own, 0, &NO_WANT)?.node,
            Shape::Distinct { items, keys } => self.distinct(items, keys, own)?,
        };
        let (left, item_side) = ((left.node, left_keys, placed), (node, item_keys, item.relations));
        let (probe, build) = if method == Method::HashLeft { (item_side, left) } else { (left, item_side) };
        let node = Node::HashJoin {
            kind: item.kind,
            probe: Box::new(probe.0),
            probe_keys: probe.1,
            build_slots: self.slots_of(build.2),
            build: Box::new(build.0),
            build_keys: build.1,
            compare,
            on,
        };
        Ok(Step { node: filtered(node, above), ordered: false, extreme: false, rows: 0.0 })
    }

    fn distinct(&mut self, items: Vec<Item>, keys: Vec<Expr>, conditions: Vec<Expr>) -> Result<Node> {
        let input = self.nest(items, conditions, 0, &NO_WANT)?.node;
        Ok(Node::Distinct { input: Box::new(input), keys })
    }

    /// The scan of a base table, or the node that makes the relation's rows.
    fn table(&mut self, relation: usize, conditions: Vec<Expr>, want: &Want) -> Result<(Node, Candidate)> {
        let refs: Vec<&Expr> = conditions.iter().collect();
        let candidate = self.candidate(relation, &refs, want, true);
        let mut partitions = partitions::of_scan(&self.tables.relations[relation], &refs, self.tables.facts);
        if let Some(partitions) = &mut partitions {
            let is_own = |slot| self.tables.owner(slot) == Some(relation);
            partitions.merged_by = partitions::merged_by(want, &candidate, is_own);
        }
        let mut filter: Vec<Expr> =
            conditions.into_iter().enumerate().filter(|(n, _)| !candidate.consumed.contains(n)).map(|(_, c)| c).collect();
        filter.sort_by_key(|e| visit::any(e, &|e| matches!(e.kind, ExprKind::Subquery(_))));
        let rel = &self.tables.relations[relation];
        let Source::Base(table) = &rel.source else {
            return Ok((other_source(self.tables, relation, filter)?, candidate));
        };
        let columns = (0..rel.columns.len()).filter_map(|c| rel.slot(c).map(|s| (c, s)));
        let (mut columns, computed): (Vec<_>, Vec<_>) = columns.partition(|(c, _)| table.columns[*c].is_in_row());
        columns.shrink_to_fit();
        let computed = generated::computed(rel, computed)?;
        let scan = Scan {
            table: table.clone(),
            alias: rel.alias.clone(),
            path: candidate.path.clone(),
            skips: candidate.skips.clone(),
            columns,
            computed,
            folds: has_steady_parts(&filter),
            filter,
            lock: rel.lock,
            key_slot: rel.key_slot,
            rows_estimate: candidate.rows_read.max(1.0) as u64,
            partitions: partitions.map(Arc::new),
        };
        Ok((Node::Scan(Box::new(scan)), candidate))
    }

    fn slots_of(&self, relations: Set) -> Vec<Slot> {
        let owned = |slot: &Slot| self.tables.owner(*slot).is_some_and(|r| bit(r) & relations != 0);
        (0..self.tables.owners.len()).filter(owned).collect()
    }
}

/// Conditions that run a subquery for each row, and the step after which they are checked: not the first one at which they could be, where
/// joins behind it leave few rows (`DELAY_MIN`). A statement that locks rows shall lock those alone that match.
fn delayed(relations: &[Set], pool: &mut Vec<Condition>, outside: Set, order: &[Choice]) -> Vec<(usize, Expr)> {
    let mut known = outside;
    let known_after: Vec<Set> = order
        .iter()
        .map(|choice| {
            known |= relations[choice.item];
            known
        })
        .collect();
    let best_step = |condition: &Condition| {
        let first = known_after.iter().position(|known| condition.set & !known == 0)?;
        let rows = |step: &usize| order.get(*step).map_or(f64::INFINITY, |choice| choice.rows);
        let best = (first..order.len()).min_by(|a, b| rows(a).total_cmp(&rows(b)))?;
        (rows(&best) * DELAY_MIN <= rows(&first)).then_some(best)
    };
    let mut delayed = Vec::new();
    for condition in std::mem::take(pool) {
        let asks_for_each_row = |e: &Expr| matches!(&e.kind, ExprKind::Subquery(subquery) if subquery.correlated);
        match if condition.slow && visit::any(&condition.expr, &asks_for_each_row) { best_step(&condition) } else { None } {
            Some(step) => delayed.push((step, condition.expr)),
            None => pool.push(condition),
        }
    }
    delayed
}

fn total(order: &[Choice]) -> f64 {
    order.iter().map(|choice| choice.cost).sum()
}

static NO_WANT: Want = Want { order: Vec::new(), grouping: false, limit: None, extreme: None, groups: None };

/// The conditions that can be checked once `known` has been read, of which `last` came last, cheap ones first.
fn take(tables: &Tables<'_>, pool: &mut Vec<Condition>, known: Set, last: Set) -> Vec<Expr> {
    let (mut ready, later): (Vec<Condition>, Vec<Condition>) =
        std::mem::take(pool).into_iter().partition(|c| c.set & !known == 0);
    *pool = later;
    let mut said = Vec::new();
    ready.retain(|condition| !equal::is_repeated(tables, condition, last, &mut said));
    ready.sort_by_key(|c| c.slow);
    ready.into_iter().map(|c| c.expr).collect()
}

/// The conditions that an index of the item's table could use.
fn usable<'c>(item: &'c Item, pool: &'c [Condition], known: Set, tables: &Tables<'_>) -> Vec<&'c Expr> {
    let mut conditions: Vec<&Expr> = item.on.iter().filter(|e| set_of(tables, e) & !known == 0).collect();
    if item.kind == JoinKind::Inner {
        let mut said = Vec::new();
        let own = pool.iter().filter(|c| c.set & !known == 0 && c.set & item.relations != 0);
        conditions.extend(own.filter(|c| !equal::is_repeated(tables, c, item.relations, &mut said)).map(|c| &c.expr));
    }
    conditions
}
