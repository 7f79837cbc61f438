//! The nodes of a block from the logical tree: what is above the joins, and what that wants of them.

use vaquita_types::{Error, Result, Value, stack};

use std::sync::Arc;

use super::{
    Block, Planned, Want, WantedGroups, cost, extremes_of, filtered, flatten, group_order, keys_follow, order, plan_query,
};
use crate::expr::{Expr, ExprKind, Slot};
use crate::logical::hints::JoinOrder;
use crate::logical::{Logical, LogicalBlock, Read, Source, Tables};
use crate::node::{Aggregate, AggregateKind, Limit, Node, QueryPlan, SetOpKind, SortKey, WindowFunction};
use crate::visit;

/// The nodes above the joins, taken off a logical tree.
#[derive(Default)]
struct Above {
    limit: Option<Limit>,
    order_by: Vec<SortKey>,
    distinct: bool,
    /// Values that are computed once for each row of the groups or, without any, of the joins.
    values: Vec<(Expr, Slot)>,
    windows: Vec<WindowFunction>,
    having: Vec<Expr>,
    groups: Option<Groups>,
}

struct Groups {
    keys: Vec<(Expr, Slot)>,
    aggregates: Vec<Aggregate>,
    rollup: bool,
    /// Values that are computed once for each row that is grouped.
    values: Vec<(Expr, Slot)>,
}

/// The plan of a block's tree, which has been rewritten, and the block's output.
pub(crate) fn plan(block: LogicalBlock, tables: &Tables<'_>) -> Result<Block> {
    let LogicalBlock { root, read, straight, hints, .. } = block;
    let (mut above, rows) = Above::take(root);
    let planned = match plan_ends(&rows, tables, above.wanted_ends())? {
        Some(planned) => planned,
        None => plan_rows(rows, tables, &above.want(&read, tables.relations.len() == 1), straight, &hints.orders)?,
    };
    let (mut node, mut ordered) = (planned.node, planned.ordered);
    let rows = above.rows(planned.rows);
    if planned.first_row_is_extreme {
        node = first_row(node);
    }
    if let Some(Groups { keys, aggregates, rollup, values }) = above.groups.take() {
        node = computed(node, values);
        let mut saved = above.slots(&read);
        saved.retain(|slot| !aggregates.iter().any(|a| a.slot == *slot) && !keys.iter().any(|(_, s)| s == slot));
        let sorted_input = ordered && !keys.is_empty() && !rollup;
        ordered = sorted_input && keys_follow(&above.order_by, &keys);
        node = Node::Aggregate { input: Box::new(node), keys, aggregates, saved, sorted_input, rollup };
    }
    node = filtered(node, std::mem::take(&mut above.having));
    if !above.windows.is_empty() {
        let saved = above.slots(&read);
        node = Node::Window { input: Box::new(node), windows: above.windows, saved };
        ordered = false;
    }
    node = computed(node, std::mem::take(&mut above.values));
    if let (true, Read::Output(output)) = (above.distinct, &read) {
        node = Node::Distinct { input: Box::new(node), keys: output.iter().map(|o| o.expr.clone()).collect() };
    }
    let keys = if ordered { Vec::new() } else { above.order_by };
    node = sorted(node, keys, above.limit, || read.slots());
    match read {
        Read::Output(output) => Ok(Block { root: node, output, rows }),
        Read::Slots(_) => Ok(Block { root: node, output: Vec::new(), rows }),
    }
}

impl Above {
    /// The tree's nodes down to its rows, and those.
    fn take(root: Logical) -> (Above, Logical) {
        let mut above = Above::default();
        let mut node = root;
        loop {
            let input = match node {
                Logical::Limit { input, limit } => {
                    above.limit = Some(limit);
                    input
                }
                Logical::Sort { input, keys } => {
                    above.order_by = keys;
                    input
                }
                Logical::Distinct { input } => {
                    above.distinct = true;
                    input
                }
                Logical::Compute { input, values } => {
                    match &mut above.groups {
                        Some(groups) => groups.values = values,
                        None => above.values = values,
                    }
                    input
                }
                Logical::Window { input, windows } => {
                    above.windows = windows;
                    input
                }
                Logical::Having { input, predicate } => {
                    above.having = predicate;
                    input
                }
                Logical::Aggregate { input, keys, aggregates, rollup } => {
                    above.groups = Some(Groups { keys, aggregates, rollup, values: Vec::new() });
                    input
                }
                rows => return (above, rows),
            };
            node = *input;
        }
    }

    /// How many rows are made of so many, about.
    fn rows(&self, rows: f64) -> f64 {
        let mut rows = match &self.groups {
            Some(groups) if groups.keys.is_empty() => 1.0,
            Some(_) => rows.max(1.0).powf(cost::GROUPS_POWER),
            None => rows,
        };
        rows *= self.having.iter().map(cost::selectivity).product::<f64>();
        match self.limit.as_ref().and_then(literal_rows) {
            Some(limit) => rows.min(limit as f64),
            None => rows,
        }
    }

    /// The order of rows that would save a sort, and how many rows are needed of it. `alone`: there is one table.
    fn want(&self, read: &Read, alone: bool) -> Want {
        let mut want = Want { groups: if alone { self.wanted_groups(read) } else { None }, ..Want::default() };
        match &self.groups {
            Some(groups) if groups.keys.is_empty() => {
                if let Some([extreme]) = extremes_of(&groups.aggregates).as_deref() {
                    want.extreme = Some(extreme.clone());
                }
            }
            _ if !self.windows.is_empty() => {}
            Some(groups) => {
                if !groups.rollup && groups.aggregates.iter().all(|a| a.order_by.is_empty()) {
                    want.order = group_order(&groups.keys, &self.order_by);
                    // With ORDER BY the directions count too.
                    want.grouping = self.order_by.is_empty();
                    let is_plain = self.having.is_empty() && self.windows.is_empty() && !self.distinct;
                    if is_plain && keys_follow(&self.order_by, &groups.keys) {
                        let groups = self.limit.as_ref().and_then(literal_rows);
                        want.limit = groups.map(|groups| groups.saturating_mul(cost::ROWS_PER_KEY as u64));
                    }
                }
            }
            None => {
                want.order = self.order_by.iter().map(|k| (k.expr.clone(), k.descending)).collect();
                // Of equal rows one is given.
                let rows = if self.distinct { cost::ROWS_PER_KEY as u64 } else { 1 };
                want.limit = self.limit.as_ref().and_then(literal_rows).map(|limit| limit.saturating_mul(rows));
            }
        }
        want
    }

    /// Several MIN and MAX of columns, of all rows or of groups, as what is wanted for each; nothing if more is read of the rows.
    fn wanted_ends(&self) -> Vec<Want> {
        let Some(groups) = self.groups.as_ref().filter(|groups| !groups.rollup) else { return Vec::new() };
        let extremes = extremes_of(&groups.aggregates).filter(|extremes| extremes.len() > 1).unwrap_or_default();
        let is_slot = |(key, _): &(Expr, Slot)| matches!(key.kind, ExprKind::Slot(_));
        if !groups.values.is_empty() || !groups.keys.iter().all(is_slot) {
            return Vec::new();
        }
        let columns: Vec<Expr> = groups.keys.iter().map(|(key, _)| key.clone()).collect();
        let want = |extreme| match columns.is_empty() {
            true => Want { extreme: Some(extreme), ..Want::default() },
            false => {
                let groups = WantedGroups { columns: columns.clone(), extreme: Some(extreme) };
                Want { groups: Some(groups), ..Want::default() }
            }
        };
        extremes.into_iter().map(want).collect()
    }

    fn wanted_groups(&self, read: &Read) -> Option<WantedGroups> {
        let is_slot = |expr: &Expr| matches!(expr.kind, ExprKind::Slot(_));
        if !self.windows.is_empty() || !self.values.is_empty() {
            return None;
        }
        let (columns, extreme) = match (&self.groups, read) {
            (None, Read::Output(output)) if self.distinct => (output.iter().map(|output| output.expr.clone()).collect(), None),
            (None, _) => return None,
            (Some(Groups { rollup: true, .. }), _) => return None,
            (Some(groups), _) if !groups.values.is_empty() => return None,
            // One group: of equal values its functions read one.
            (Some(Groups { keys, aggregates, .. }), _) if keys.is_empty() => {
                let (first, others) = aggregates.split_first()?;
                let same = |other: &Aggregate| {
                    other.args.len() == first.args.len() && other.args.iter().zip(&first.args).all(|(a, b)| visit::same(a, b))
                };
                let is_of_values = |one: &Aggregate| {
                    one.distinct && matches!(one.kind, AggregateKind::Count | AggregateKind::Sum | AggregateKind::Avg)
                };
                (is_of_values(first) && others.iter().all(|other| is_of_values(other) && same(other)))
                    .then(|| (first.args.clone(), None))?
            }
            (Some(Groups { keys, aggregates, .. }), _) => {
                let columns = keys.iter().map(|(key, _)| key.clone()).collect();
                match aggregates.split_first() {
                    None => (columns, None),
                    Some((first, others)) => {
                        let max = match first.kind {
                            AggregateKind::Min => false,
                            AggregateKind::Max => true,
                            _ => return None,
                        };
                        let of = first.args.first().filter(|of| is_slot(of))?;
                        let same =
                            |other: &Aggregate| other.kind == first.kind && visit::same(other.args.first().unwrap_or(of), of);
                        others.iter().all(same).then(|| (columns, Some((of.clone(), max))))?
                    }
                }
            }
        };
        (!columns.is_empty() && columns.iter().all(is_slot)).then_some(WantedGroups { columns, extreme })
    }

    /// The slots that the output, ORDER BY, HAVING and windows read, and windows and computed values do not fill.
    fn slots(&self, read: &Read) -> Vec<Slot> {
        let mut slots = read.slots();
        let mut add = |e: &Expr| slots.extend(visit::slots(e));
        self.having.iter().for_each(&mut add);
        self.order_by.iter().for_each(|k| add(&k.expr));
        for window in &self.windows {
            window.args.iter().chain(&window.partition_by).for_each(&mut add);
            window.order_by.iter().for_each(|k| add(&k.expr));
        }
        self.values.iter().for_each(|(value, _)| slots.extend(visit::slots(value)));
        let made = |slot| self.windows.iter().any(|w| w.slot == slot) || self.values.iter().any(|(_, value)| *value == slot);
        slots.retain(|slot| !made(*slot));
        visit::unique(slots)
    }
}

/// MIN and MAX of a table's columns where indexes have each of them first: one row of each, or one of each in each group, is enough.
fn plan_ends(rows: &Logical, tables: &Tables<'_>, ends: Vec<Want>) -> Result<Option<Planned>> {
    if ends.is_empty() || tables.relations.len() != 1 {
        return Ok(None);
    }
    let (from, pool) = match rows {
        Logical::Filter { input, predicate } => (&**input, predicate.as_slice()),
        rows => (rows, [].as_slice()),
    };
    let Logical::Relation(relation) = *from else { return Ok(None) };
    let noted = tables.catalog.choices().map(|choices| (choices, choices.count()));
    let (mut inputs, mut found) = (Vec::with_capacity(ends.len()), 0.0);
    for want in ends {
        let items = flatten::flatten(tables, Logical::Relation(relation), false)?;
        let planned = order::join(tables, items, pool.to_vec(), &want, &[])?;
        let is_end = match &planned.node {
            Node::Scan(scan) => planned.first_row_is_extreme || scan.skips.as_ref().is_some_and(|skips| skips.first),
            _ => planned.first_row_is_extreme,
        };
        if !is_end {
            if let Some((choices, count)) = noted {
                choices.truncate(count);
            }
            return Ok(None);
        }
        found += planned.rows;
        inputs.push(if planned.first_row_is_extreme { first_row(planned.node) } else { planned.node });
    }
    Ok(Some(unordered(Node::Append { inputs }, found)))
}

fn first_row(node: Node) -> Node {
    Node::Limit { input: Box::new(node), limit: Limit { offset: None, count: Some(Expr::int(1)) } }
}

/// WHERE and what is below it.
fn plan_rows(rows: Logical, tables: &Tables<'_>, want: &Want, straight: bool, orders: &[JoinOrder]) -> Result<Planned> {
    let (joins, pool) = match rows {
        Logical::Filter { input, predicate } => (*input, predicate),
        rows => (rows, Vec::new()),
    };
    let node = match joins {
        Logical::One => filtered(Node::One, pool),
        Logical::Empty => Node::Empty,
        Logical::RowCount { relation, slot } => match &tables.relations[relation].source {
            Source::Base(table) => Node::RowCount { table: table.clone(), slot },
            _ => return Err(Error::internal("rows of no table are counted")),
        },
        Logical::SetOp { op, all, inputs, slots, types } => {
            let plan = |query| stack::deeper(|| plan_query(query, tables.catalog)).map(Arc::new);
            let inputs: Vec<Arc<QueryPlan>> = inputs.into_iter().map(plan).collect::<Result<_>>()?;
            let first = inputs.first().map_or(0.0, |plan| plan.rows_estimate);
            let rows = if op == SetOpKind::Union { inputs.iter().map(|plan| plan.rows_estimate).sum() } else { first };
            return Ok(unordered(Node::SetOp { op, all, inputs, slots, types }, rows));
        }
        Logical::Values { rows, slots } => {
            let count = rows.len() as f64;
            return Ok(unordered(Node::Values { rows, slots }, count));
        }
        Logical::JsonTable { document, table } => return Ok(unordered(Node::JsonTable { document, table }, cost::ROUND_ROWS)),
        Logical::Nested { query, slots, correlated } => {
            let plan = Arc::new(stack::deeper(|| plan_query(*query, tables.catalog))?);
            let rows = plan.rows_estimate;
            return Ok(unordered(Node::Derived { plan, slots, filter: Vec::new(), correlated, shared: None }, rows));
        }
        joins => return order::join(tables, flatten::flatten(tables, joins, straight)?, pool, want, orders),
    };
    Ok(Planned { node, ordered: true, first_row_is_extreme: false, rows: 1.0 })
}

fn unordered(node: Node, rows: f64) -> Planned {
    Planned { node, ordered: false, first_row_is_extreme: false, rows }
}

fn computed(node: Node, values: Vec<(Expr, Slot)>) -> Node {
    if values.is_empty() { node } else { Node::Compute { input: Box::new(node), values } }
}

/// Sort and limit on top of a node; `saved` are the slots that are read of its rows.
fn sorted(node: Node, keys: Vec<SortKey>, limit: Option<Limit>, saved: impl FnOnce() -> Vec<Slot>) -> Node {
    match (keys.is_empty(), limit) {
        (true, None) => node,
        (true, Some(limit)) => Node::Limit { input: Box::new(node), limit },
        (false, limit) => Node::Sort { input: Box::new(node), keys, limit, saved: visit::unique(saved()) },
    }
}

/// LIMIT as a number, offset included, if it is written as literals.
fn literal_rows(limit: &Limit) -> Option<u64> {
    let number = |e: &Option<Expr>| match e.as_ref().map(|e| &e.kind) {
        None => Some(0),
        Some(ExprKind::Literal(Value::Int(n))) => u64::try_from(*n).ok(),
        Some(ExprKind::Literal(Value::UInt(n))) => Some(*n),
        // A parameter: most often a page.
        Some(_) => Some(100),
    };
    Some(number(&limit.count)?.saturating_add(number(&limit.offset)?))
}
