//! The order of joins, and the nodes for it.
//!
//! Every item that may come first is tried; from there the cheapest next item is taken (greedy). The cheapest whole
//! order is built: a table with a usable index is looked up for each row (nested loop), one without is hashed on its equalities,
//! or, if it has more rows than what it is joined with, those are hashed and it is read through.

use std::sync::Arc;

use vaquita_types::limits::{BLOCK_TABLES_MAX, JOIN_TABLES_MAX};
use vaquita_types::{Error, Result, errno};

use super::flatten::{Item, Shape, distinct_sides, lateral};
use super::path::{self, Candidate, TableInput};
use super::{Planned, Want, cost, filtered, generated, other_source, partitions};
use crate::catalog::TableStatistics;
use crate::expr::{CompareAs, CompareOp, Expr, ExprKind, Slot};
use crate::logical::{Relation, Set, Source, Tables, bit, set_of};
use crate::node::{JoinKind, Node, Scan};
use crate::visit;

/// Every item is tried as the first one up to so many items.
const STARTS_MAX: usize = 12;

/// Rows that are kept at most, by their estimate, for a join that has nothing to hash them by.
const KEPT_ROWS_MAX: f64 = 100_000.0;

/// A condition and the relations it reads.
struct Condition {
    expr: Expr,
    set: Set,
    /// It holds a subquery: checked after cheaper ones.
    slow: bool,
}

pub fn join(tables: &Tables<'_>, items: Vec<Item>, pool: Vec<Expr>, want: &Want) -> Result<Planned> {
    if tables.relations.len() > BLOCK_TABLES_MAX {
        return Err(Error::new(&errno::ER_TOO_MANY_TABLES, &[&JOIN_TABLES_MAX]));
    }
    let mut planner = Planner { tables, statistics: statistics(tables) };
    let step = planner.nest(items, pool, 0, want)?;
    Ok(Planned { node: step.node, ordered: step.ordered, first_row_is_extreme: step.extreme })
}

fn statistics(tables: &Tables<'_>) -> Vec<TableStatistics> {
    let of = |relation: &Relation| match &relation.source {
        Source::Base(table) if !table.indexes.is_empty() => tables.catalog.statistics(table),
        _ => TableStatistics::default(),
    };
    tables.relations.iter().map(of).collect()
}

struct Planner<'b, 'a> {
    tables: &'b Tables<'a>,
    statistics: Vec<TableStatistics>,
}

struct Step {
    node: Node,
    ordered: bool,
    extreme: bool,
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
        let mut other_pool = pool.clone();
        let pool = self.conditions(pool);
        let order = self.best_order(&items, &pool, outside, want)?;
        if let Some(other_items) = distinct_sides(self.tables, &items, &mut other_pool) {
            let other_pool = self.conditions(other_pool);
            let other = self.best_order(&other_items, &other_pool, outside, want)?;
            let total = |order: &[Choice]| order.iter().map(|c| c.cost).sum::<f64>();
            if total(&other) < total(&order) {
                return self.build(other_items, other_pool, outside, want, &other);
            }
        }
        self.build(items, pool, outside, want, &order)
    }

    fn conditions(&self, pool: Vec<Expr>) -> Vec<Condition> {
        pool.into_iter()
            .map(|expr| {
                let set = set_of(self.tables, &expr);
                let slow = visit::any(&expr, &|e| matches!(e.kind, ExprKind::Subquery(_)));
                Condition { expr, set, slow }
            })
            .collect()
    }

    fn best_order(&mut self, items: &[Item], pool: &[Condition], outside: Set, want: &Want) -> Result<Vec<Choice>> {
        let mut best: Option<(f64, Vec<Choice>)> = None;
        let starts: Vec<usize> =
            (0..items.len()).filter(|n| items[*n].kind == JoinKind::Inner && items[*n].after & !outside == 0).collect();
        for &start in starts.iter().take(STARTS_MAX.max(1)) {
            let (total, order) = self.greedy(items, pool, outside, want, start)?;
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
                    false => self.choice(n, &items[n], pool, (placed, outside), rows)?,
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

    fn first_choice(&mut self, n: usize, item: &Item, pool: &[Condition], outside: Set, want: &Want) -> Result<Choice> {
        let (rows, cost) = self.inner(item, pool, outside, outside | item.relations, want)?;
        Ok(Choice { item: n, cost, rows: rows.max(0.001), method: Method::Nested })
    }

    /// `rows` are those of what is placed.
    fn choice(&mut self, n: usize, item: &Item, pool: &[Condition], (placed, outside): (Set, Set), rows: f64) -> Result<Choice> {
        let (mut inner_rows, inner_cost) = self.inner(item, pool, placed, placed | item.relations, &NO_WANT)?;
        let (mut cost, mut method) = (rows.max(1.0) * inner_cost, Method::Nested);
        let hash_keys = self.hash_keys(item, pool, placed);
        if hash_keys == HashKeys::None {
            // Its rows are read once and kept, instead of being read again for each row before it.
            let (item_rows, item_cost) = self.inner(item, pool, 0, item.relations, &NO_WANT)?;
            let kept_cost = item_cost + item_rows * cost::HASH_BUILD + rows * item_rows * cost::HASH_PROBE;
            if kept_cost < cost && item_rows <= KEPT_ROWS_MAX {
                (cost, method) = (kept_cost, Method::HashItem);
            }
        }
        if hash_keys == HashKeys::Some {
            let (item_rows, item_cost) = self.inner(item, pool, 0, item.relations, &NO_WANT)?;
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
            if method != Method::Nested {
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
                let candidate = self.candidate(*relation, &conditions, want);
                Ok((candidate.rows_out, candidate.cost))
            }
            Shape::Nest(items) => {
                let inner: Vec<Condition> = item
                    .on
                    .iter()
                    .map(|e| Condition { expr: e.clone(), set: set_of(self.tables, e), slow: false })
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

    fn candidate(&mut self, relation: usize, conditions: &[&Expr], want: &Want) -> Candidate {
        let statistics = &self.statistics[relation];
        let rel = &self.tables.relations[relation];
        let Source::Base(table) = &rel.source else {
            let rows = if matches!(rel.source, Source::CteRows { .. }) { cost::ROUND_ROWS } else { cost::DERIVED_ROWS };
            let out = rows * conditions.iter().map(|c| cost::selectivity(c)).product::<f64>();
            return Candidate {
                path: crate::node::AccessPath::System,
                rows_read: rows,
                rows_out: out,
                cost: rows,
                consumed: Vec::new(),
                ordered: false,
                extreme: false,
            };
        };
        let slots: Vec<Option<Slot>> = (0..rel.columns.len()).map(|c| rel.slot(c)).collect();
        let partitions = partitions::of_scan(rel, conditions);
        let may_have = partitions.as_ref().is_none_or(|partitions| partitions::may_merge(want, partitions));
        let want = if may_have { want } else { &NO_WANT };
        path::best(&TableInput {
            table,
            statistics,
            slots: &slots,
            conditions,
            hints: &rel.index_hints,
            want,
            key_slot: rel.key_slot,
            locks: rel.lock.is_some() || rel.key_slot.is_some(),
            partitions: partitions.map_or(1, |partitions| partitions.known().len()),
        })
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
        for choice in order {
            let Some(item) = items[choice.item].take() else { return Err(Error::internal("item joined twice")) };
            let known = placed | item.relations;
            step = Some(match step {
                None => self.first(item, &mut pool, known, outside, want)?,
                Some(left) if choice.method == Method::Nested => self.nested(left, item, &mut pool, placed, known)?,
                Some(left) => self.hash(left, item, &mut pool, placed, choice.method)?,
            });
            placed = known;
        }
        let mut step = step.ok_or_else(|| Error::internal("join of nothing"))?;
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
                let conditions = take(pool, known);
                let (node, candidate) = self.table(relation, conditions, want)?;
                Ok(Step { node, ordered: candidate.ordered, extreme: candidate.extreme })
            }
            Shape::Nest(items) => {
                let conditions = take(pool, known).into_iter().chain(item.on).collect();
                self.nest(items, conditions, outside, &NO_WANT)
            }
            Shape::Distinct { items, keys } => {
                let node = filtered(self.distinct(items, keys, item.on)?, take(pool, known));
                Ok(Step { node, ordered: false, extreme: false })
            }
        }
    }

    /// For each row on the left the item is opened anew, its conditions bound to that row.
    fn nested(&mut self, left: Step, item: Item, pool: &mut Vec<Condition>, placed: Set, known: Set) -> Result<Step> {
        let inner_slots = self.slots_of(item.relations);
        let mut above = Vec::new();
        let mut conditions = item.on;
        match item.kind {
            JoinKind::Inner => conditions.extend(take(pool, known)),
            // WHERE sees the row after the join.
            _ => above = take(pool, known),
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
        Ok(Step { node, ordered: left.ordered, extreme: false })
    }

    fn hash(&mut self, left: Step, item: Item, pool: &mut Vec<Condition>, placed: Set, method: Method) -> Result<Step> {
        let (mut conditions, mut above) = (item.on, Vec::new());
        match item.kind {
            JoinKind::Inner => conditions.extend(take(pool, placed | item.relations)),
            _ => above = take(pool, placed | item.relations),
        }
        let (mut own, mut on) = (Vec::new(), Vec::new());
        let (mut left_keys, mut item_keys, mut compare) = (Vec::new(), Vec::new(), Vec::new());
        for condition in conditions {
            if set_of(self.tables, &condition) & !item.relations == 0 {
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
        Ok(Step { node: filtered(node, above), ordered: false, extreme: false })
    }

    fn distinct(&mut self, items: Vec<Item>, keys: Vec<Expr>, conditions: Vec<Expr>) -> Result<Node> {
        let input = self.nest(items, conditions, 0, &NO_WANT)?.node;
        Ok(Node::Distinct { input: Box::new(input), keys })
    }

    /// The scan of a base table, or the node that makes the relation's rows.
    fn table(&mut self, relation: usize, conditions: Vec<Expr>, want: &Want) -> Result<(Node, Candidate)> {
        let refs: Vec<&Expr> = conditions.iter().collect();
        let candidate = self.candidate(relation, &refs, want);
        let mut partitions = partitions::of_scan(&self.tables.relations[relation], &refs);
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
            columns,
            computed,
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

static NO_WANT: Want = Want { order: Vec::new(), grouping: false, limit: None, extreme: None };

/// The conditions that can be checked once `known` has been read, cheap ones first.
fn take(pool: &mut Vec<Condition>, known: Set) -> Vec<Expr> {
    let (mut ready, later): (Vec<Condition>, Vec<Condition>) =
        std::mem::take(pool).into_iter().partition(|c| c.set & !known == 0);
    *pool = later;
    ready.sort_by_key(|c| c.slow);
    ready.into_iter().map(|c| c.expr).collect()
}

/// The conditions that an index of the item's table could use.
fn usable<'c>(item: &'c Item, pool: &'c [Condition], known: Set, tables: &Tables<'_>) -> Vec<&'c Expr> {
    let mut conditions: Vec<&Expr> = item.on.iter().filter(|e| set_of(tables, e) & !known == 0).collect();
    if item.kind == JoinKind::Inner {
        conditions.extend(pool.iter().filter(|c| c.set & !known == 0 && c.set & item.relations != 0).map(|c| &c.expr));
    }
    conditions
}
