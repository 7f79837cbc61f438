//! Walking over expressions and nodes: which slots they read, structural equality, moving them between frames.
//!
//! `children`, `inputs` and the like see to the stack, so that those who walk by them need not (`vaquita_types::stack`).

use std::collections::BTreeSet;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::mem::discriminant;
use std::sync::Arc;

use vaquita_types::schema::TableId;
use vaquita_types::{Value, stack};

use super::expr::{CompareAs, Expr, ExprKind, Slot, Subquery, SubqueryKind, SubqueryState};
use super::node::{AccessPath, Aggregate, Limit, Node, QueryPlan, Range, SortKey, WindowFunction};

/// Calls `f` on each direct operand (not into a subquery's plan).
pub fn children<'e>(expr: &'e Expr, f: &mut dyn FnMut(&'e Expr)) {
    stack::deeper(|| operands(expr, f));
}

fn operands<'e>(expr: &'e Expr, f: &mut dyn FnMut(&'e Expr)) {
    match &expr.kind {
        ExprKind::And(parts) | ExprKind::Or(parts) | ExprKind::Row(parts) | ExprKind::Call(_, parts) => parts.iter().for_each(f),
        ExprKind::Not(e) | ExprKind::IsNull(e) | ExprKind::Cast(e) | ExprKind::AssignVar(_, e) => f(e),
        ExprKind::Compare(_, a, b, _) => {
            f(a);
            f(b);
        }
        ExprKind::InList(value, list, _) => {
            f(value);
            list.iter().for_each(f);
        }
        ExprKind::Case { operand, whens, otherwise } => {
            if let Some(operand) = operand {
                f(&operand.0);
            }
            for (when, then) in whens {
                f(when);
                f(then);
            }
            if let Some(otherwise) = otherwise {
                f(otherwise);
            }
        }
        ExprKind::Match(search) => {
            f(&search.key);
            f(&search.against);
        }
        ExprKind::Subquery(sub) => match &sub.kind {
            SubqueryKind::In { left, .. } | SubqueryKind::Row { left, .. } | SubqueryKind::Quantified { left, .. } => f(left),
            SubqueryKind::Scalar | SubqueryKind::Column(_) | SubqueryKind::Exists { .. } => {}
        },
        ExprKind::Literal(_)
        | ExprKind::Param(_)
        | ExprKind::Slot(_)
        | ExprKind::Outer { .. }
        | ExprKind::UserVar(_)
        | ExprKind::SysVar(..) => {}
    }
}

/// As `children`, to change them.
pub fn children_mut(expr: &mut Expr, f: &mut dyn FnMut(&mut Expr)) {
    stack::deeper(|| operands_mut(expr, f));
}

fn operands_mut(expr: &mut Expr, f: &mut dyn FnMut(&mut Expr)) {
    match &mut expr.kind {
        ExprKind::And(parts) | ExprKind::Or(parts) | ExprKind::Row(parts) | ExprKind::Call(_, parts) => {
            parts.iter_mut().for_each(f)
        }
        ExprKind::Not(e) | ExprKind::IsNull(e) | ExprKind::Cast(e) | ExprKind::AssignVar(_, e) => f(e),
        ExprKind::Compare(_, a, b, _) => {
            f(a);
            f(b);
        }
        ExprKind::InList(value, list, _) => {
            f(value);
            list.iter_mut().for_each(f);
        }
        ExprKind::Case { operand, whens, otherwise } => {
            if let Some(operand) = operand {
                f(&mut operand.0);
            }
            for (when, then) in whens {
                f(when);
                f(then);
            }
            if let Some(otherwise) = otherwise {
                f(otherwise);
            }
        }
        ExprKind::Match(search) => {
            f(&mut search.key);
            f(&mut search.against);
        }
        ExprKind::Subquery(sub) => match &mut sub.kind {
            SubqueryKind::In { left, .. } | SubqueryKind::Row { left, .. } | SubqueryKind::Quantified { left, .. } => f(left),
            SubqueryKind::Scalar | SubqueryKind::Column(_) | SubqueryKind::Exists { .. } => {}
        },
        ExprKind::Literal(_)
        | ExprKind::Param(_)
        | ExprKind::Slot(_)
        | ExprKind::Outer { .. }
        | ExprKind::UserVar(_)
        | ExprKind::SysVar(..) => {}
    }
}

/// The nodes of the expression.
pub fn size(expr: &Expr) -> usize {
    let mut nodes = 1;
    children(expr, &mut |child| nodes += size(child));
    nodes
}

/// The slots of the expression's own frame that it reads, also from inside of subqueries.
pub fn slots(expr: &Expr) -> Vec<Slot> {
    let mut out = Vec::new();
    expr_slots(expr, 0, &mut out);
    out
}

/// Slots of the frame `level` plans further out than the expression.
pub fn expr_slots(expr: &Expr, level: usize, out: &mut Vec<Slot>) {
    match &expr.kind {
        ExprKind::Slot(slot) if level == 0 => out.push(*slot),
        ExprKind::Outer { depth, slot } if *depth == level && level > 0 => out.push(*slot),
        ExprKind::Subquery(sub) => subquery_slots(sub, level, out),
        _ => {}
    }
    children(expr, &mut |child| expr_slots(child, level, out));
}

/// As `expr_slots`, of what the query reads, without what stands left of IN, ANY and ALL.
pub fn subquery_slots(sub: &Subquery, level: usize, out: &mut Vec<Slot>) {
    if !sub.correlated || level < sub.depth {
        return;
    }
    match &sub.query {
        SubqueryState::Planned(plan) => plan_slots(plan, level - sub.depth + 1, out),
        SubqueryState::Bound(bound) => {
            out.extend(bound.reads.iter().filter(|(depth, _)| *depth == level - sub.depth + 1).map(|(_, slot)| *slot));
        }
    }
}

/// Slots of the frame `level` plans further out that `plan` reads.
pub fn plan_slots(plan: &QueryPlan, level: usize, out: &mut Vec<Slot>) {
    plan.output.iter().for_each(|o| expr_slots(&o.expr, level, out));
    node_slots(&plan.root, level, out);
}

pub fn node_slots(node: &Node, level: usize, out: &mut Vec<Slot>) {
    for_each_expr(node, &mut |e| expr_slots(e, level, out));
    for_each_plan(node, &mut |plan| plan_slots(plan, level + 1, out));
    inputs(node, &mut |input| node_slots(input, level, out));
}

/// The plans directly inside of a node.
pub fn for_each_plan<'n>(node: &'n Node, f: &mut dyn FnMut(&'n QueryPlan)) {
    stack::deeper(|| match node {
        Node::Derived { plan, .. } => f(plan),
        Node::SetOp { inputs, .. } => inputs.iter().for_each(|p| f(p)),
        Node::RecursiveCte { seed, recursive, .. } => {
            f(seed);
            recursive.iter().for_each(|p| f(p));
        }
        _ => {}
    });
}

/// The node, its subqueries or what is below it read the table.
pub fn reads_table(node: &Node, table: TableId) -> bool {
    let mut found = match node {
        Node::Scan(scan) => scan.table.id == table,
        Node::RowCount { table: counted, .. } => counted.id == table,
        _ => false,
    };
    for_each_expr(node, &mut |e| found = found || subqueries_read_table(e, table));
    for_each_plan(node, &mut |plan| found = found || plan_reads_table(plan, table));
    inputs(node, &mut |input| found = found || reads_table(input, table));
    found
}

pub fn plan_reads_table(plan: &QueryPlan, table: TableId) -> bool {
    let mut found = reads_table(&plan.root, table);
    for output in &plan.output {
        found = found || subqueries_read_table(&output.expr, table);
    }
    found
}

fn subqueries_read_table(expr: &Expr, table: TableId) -> bool {
    let mut found = false;
    subqueries(expr, &mut |sub| found = found || sub.plan().is_some_and(|plan| plan_reads_table(plan, table)));
    found
}

/// The nodes directly below a node.
pub fn inputs<'n>(node: &'n Node, f: &mut dyn FnMut(&'n Node)) {
    stack::deeper(|| match node {
        Node::Filter { input, .. }
        | Node::Sort { input, .. }
        | Node::Limit { input, .. }
        | Node::Aggregate { input, .. }
        | Node::Distinct { input, .. }
        | Node::Compute { input, .. }
        | Node::Window { input, .. } => f(input),
        Node::NestedLoop { outer, inner, .. } => {
            f(outer);
            f(inner);
        }
        Node::HashJoin { probe, build, .. } => {
            f(probe);
            f(build);
        }
        Node::Append { inputs } => inputs.iter().for_each(f),
        _ => {}
    });
}

/// The expressions of the node itself, but for those of generated columns, which read slots of their own scan alone.
pub fn for_each_expr<'n>(node: &'n Node, f: &mut dyn FnMut(&'n Expr)) {
    match node {
        Node::One | Node::Empty | Node::RowCount { .. } | Node::SetOp { .. } | Node::Append { .. } => {}
        Node::Scan(scan) => {
            match &scan.path {
                AccessPath::Full { .. } | AccessPath::System => {}
                AccessPath::FullText { search } => f(search),
                AccessPath::Point { key, .. } => key.iter().for_each(&mut *f),
                AccessPath::Range { ranges, .. } => ranges.iter().for_each(|r| range_exprs(r, f)),
                AccessPath::Union { parts } => parts.iter().flat_map(|(_, ranges)| ranges).for_each(|r| range_exprs(r, f)),
            }
            if let Some(within) = scan.skips.as_ref().and_then(|skips| skips.within.as_ref()) {
                range_exprs(within, f);
            }
            if let Some(partitions) = &scan.partitions {
                key_exprs(&partitions.merged_by, f);
            }
            scan.filter.iter().for_each(f);
        }
        Node::Derived { filter, .. } | Node::CteRows { filter, .. } => filter.iter().for_each(f),
        Node::RecursiveCte { filter, limit, .. } => {
            filter.iter().for_each(&mut *f);
            if let Some(limit) = limit {
                limit_exprs(limit, f);
            }
        }
        Node::Filter { predicate, .. } => predicate.iter().for_each(f),
        Node::NestedLoop { on, .. } => on.iter().for_each(f),
        Node::HashJoin { probe_keys, build_keys, on, .. } => probe_keys.iter().chain(build_keys).chain(on).for_each(f),
        Node::Sort { keys, limit, .. } => {
            key_exprs(keys, f);
            if let Some(limit) = limit {
                limit_exprs(limit, f);
            }
        }
        Node::Limit { limit, .. } => limit_exprs(limit, f),
        Node::Aggregate { keys, aggregates, .. } => {
            keys.iter().for_each(|(e, _)| f(e));
            aggregates.iter().for_each(|a: &Aggregate| {
                a.args.iter().for_each(&mut *f);
                key_exprs(&a.order_by, f);
            });
        }
        Node::Distinct { keys, .. } => keys.iter().for_each(f),
        Node::Compute { values, .. } => values.iter().for_each(|(value, _)| f(value)),
        Node::JsonTable { document, .. } => f(document),
        Node::Values { rows, .. } => rows.iter().flatten().for_each(f),
        Node::Window { windows, .. } => windows.iter().for_each(|w: &WindowFunction| {
            w.args.iter().chain(&w.partition_by).for_each(&mut *f);
            key_exprs(&w.order_by, f);
            w.bounds().for_each(&mut *f);
        }),
    }
}

fn range_exprs<'n>(range: &'n Range, f: &mut dyn FnMut(&'n Expr)) {
    range.equal.iter().for_each(|k| f(&k.expr));
    range.low.iter().for_each(|(e, _)| f(e));
    range.high.iter().for_each(|(e, _)| f(e));
}

fn key_exprs<'n>(keys: &'n [SortKey], f: &mut dyn FnMut(&'n Expr)) {
    keys.iter().for_each(|k| f(&k.expr));
}

fn limit_exprs<'n>(limit: &'n Limit, f: &mut dyn FnMut(&'n Expr)) {
    limit.offset.iter().chain(&limit.count).for_each(f);
}

/// `expr` seen from a frame `depth` levels further in: its slots become `Outer`, and its subqueries belong further out.
pub fn shifted(mut expr: Expr, depth: usize) -> Expr {
    shift(&mut expr, depth);
    expr
}

fn shift(expr: &mut Expr, by: usize) {
    match &mut expr.kind {
        ExprKind::Slot(slot) => expr.kind = ExprKind::Outer { depth: by, slot: *slot },
        ExprKind::Outer { depth, .. } => *depth += by,
        _ => {
            if let ExprKind::Subquery(sub) = &mut expr.kind {
                sub.depth += by;
            }
            children_mut(expr, &mut |child| shift(child, by));
        }
    }
}

/// `expr` seen from the frame `depth` levels further out, to which its innermost columns belong: the opposite of `shifted`.
pub fn moved_out(mut expr: Expr, depth: usize) -> Expr {
    unshift(&mut expr, depth);
    expr
}

fn unshift(expr: &mut Expr, by: usize) {
    match &mut expr.kind {
        ExprKind::Outer { depth, slot } if *depth == by => expr.kind = ExprKind::Slot(*slot),
        ExprKind::Outer { depth, .. } => *depth = depth.saturating_sub(by),
        _ => {
            if let ExprKind::Subquery(sub) = &mut expr.kind {
                sub.depth = sub.depth.saturating_sub(by);
            }
            children_mut(expr, &mut |child| unshift(child, by));
        }
    }
}

/// Puts other slots of this frame in the place of all slots; false if one has none.
pub fn map_slots(expr: &mut Expr, to: &dyn Fn(Slot) -> Option<Slot>) -> bool {
    let mut all = true;
    if let ExprKind::Slot(slot) = &mut expr.kind {
        match to(*slot) {
            Some(other) => *slot = other,
            None => all = false,
        }
    }
    children_mut(expr, &mut |child| all &= map_slots(child, to));
    all
}

/// The terms of a conjunction; NOT over OR, over comparisons and double NOT are resolved.
pub fn conjuncts(expr: Expr) -> Vec<Expr> {
    stack::deeper(|| terms(expr))
}

fn terms(expr: Expr) -> Vec<Expr> {
    match expr.kind {
        ExprKind::And(parts) => parts.into_iter().flat_map(conjuncts).collect(),
        ExprKind::Not(inner) => match inner.kind {
            ExprKind::Or(parts) => parts.into_iter().flat_map(|p| conjuncts(p.negated())).collect(),
            ExprKind::Compare(op, left, right, rule) if rule != CompareAs::Row && op.negated().is_some() => {
                let op = op.negated().unwrap_or(op);
                vec![Expr { kind: ExprKind::Compare(op, left, right, rule), ..*inner }]
            }
            _ => vec![Expr { kind: ExprKind::Not(inner), ..expr }],
        },
        _ => vec![expr],
    }
}

pub fn unique(slots: Vec<Slot>) -> Vec<Slot> {
    slots.into_iter().collect::<BTreeSet<_>>().into_iter().collect()
}

/// The two compute the same from the same row. A subquery is only the same as its own copy, a user variable never.
pub fn same(a: &Expr, b: &Expr) -> bool {
    is_same(a, b, false)
}

/// As `same`, or both are written alike and change with each evaluation: `RAND()` and `RAND()`.
pub fn same_as_written(a: &Expr, b: &Expr) -> bool {
    is_same(a, b, true)
}

fn is_same(a: &Expr, b: &Expr, as_written: bool) -> bool {
    stack::deeper(|| same_inside(a, b, as_written))
}

fn same_inside(a: &Expr, b: &Expr, as_written: bool) -> bool {
    let same = |x: &Expr, y: &Expr| is_same(x, y, as_written);
    let all = |x: &[Expr], y: &[Expr]| x.len() == y.len() && x.iter().zip(y).all(|(x, y)| same(x, y));
    match (&a.kind, &b.kind) {
        (ExprKind::Literal(x), ExprKind::Literal(y)) => x == y && a.ty.kind == b.ty.kind && a.ty.collation == b.ty.collation,
        (ExprKind::Param(x), ExprKind::Param(y)) => x == y,
        (ExprKind::Slot(x), ExprKind::Slot(y)) => x == y && a.ty.collation == b.ty.collation,
        (ExprKind::Outer { depth: d, slot: s }, ExprKind::Outer { depth: e, slot: t }) => d == e && s == t,
        (ExprKind::And(x), ExprKind::And(y)) | (ExprKind::Or(x), ExprKind::Or(y)) | (ExprKind::Row(x), ExprKind::Row(y)) => {
            all(x, y)
        }
        (ExprKind::Not(x), ExprKind::Not(y)) | (ExprKind::IsNull(x), ExprKind::IsNull(y)) => same(x, y),
        (ExprKind::Cast(x), ExprKind::Cast(y)) => a.ty == b.ty && same(x, y),
        (ExprKind::Compare(o, x, y, r), ExprKind::Compare(p, u, v, s)) => o == p && r == s && same(x, u) && same(y, v),
        (ExprKind::InList(x, l, r), ExprKind::InList(y, m, s)) => r == s && same(x, y) && all(l, m),
        (ExprKind::Call(f, x), ExprKind::Call(g, y)) => {
            std::ptr::eq(*f, *g) && (as_written || f.is_steady() || f.is_stored()) && a.ty == b.ty && all(x, y)
        }
        (ExprKind::UserVar(x), ExprKind::UserVar(y)) => as_written && x == y,
        (ExprKind::AssignVar(x, a), ExprKind::AssignVar(y, b)) => as_written && x == y && same(a, b),
        (ExprKind::Case { operand: o, whens: w, otherwise: e }, ExprKind::Case { operand: p, whens: v, otherwise: f }) => {
            let operands = match (o, p) {
                (None, None) => true,
                (Some(o), Some(p)) => o.1 == p.1 && same(&o.0, &p.0),
                _ => false,
            };
            let elses = match (e, f) {
                (None, None) => true,
                (Some(e), Some(f)) => same(e, f),
                _ => false,
            };
            operands && elses && w.len() == v.len() && w.iter().zip(v).all(|((a, b), (c, d))| same(a, c) && same(b, d))
        }
        (ExprKind::Match(x), ExprKind::Match(y)) => {
            (x.table.id, x.index, x.mode) == (y.table.id, y.index, y.mode) && same(&x.key, &y.key) && same(&x.against, &y.against)
        }
        (ExprKind::Subquery(x), ExprKind::Subquery(y)) => {
            let one = match (&x.query, &y.query) {
                (SubqueryState::Bound(x), SubqueryState::Bound(y)) => Arc::ptr_eq(x, y),
                (SubqueryState::Planned(x), SubqueryState::Planned(y)) => Arc::ptr_eq(x, y),
                _ => false,
            };
            one && x.id == y.id && x.depth == y.depth && same_use(&x.kind, &y.kind)
        }
        _ => false,
    }
}

/// The same is asked of the rows of one subquery.
fn same_use(a: &SubqueryKind, b: &SubqueryKind) -> bool {
    use SubqueryKind::{Column, Exists, In, Quantified, Row, Scalar};
    match (a, b) {
        (Scalar, Scalar) => true,
        (Column(a), Column(b)) => a == b,
        (Exists { negated: a }, Exists { negated: b }) => a == b,
        (In { left: a, compare: c, negated: m }, In { left: b, compare: d, negated: n }) => m == n && c == d && same(a, b),
        (Row { left: a, op: o, compare: c }, Row { left: b, op: p, compare: d }) => o == p && c == d && same(a, b),
        (Quantified { left: a, op: o, all: m, compare: c }, Quantified { left: b, op: p, all: n, compare: d }) => {
            o == p && m == n && c == d && same(a, b)
        }
        _ => false,
    }
}

/// Equal for expressions that are `same`.
pub fn hash(expr: &Expr) -> u64 {
    let mut hasher = DefaultHasher::new();
    discriminant(&expr.kind).hash(&mut hasher);
    match &expr.kind {
        ExprKind::Literal(Value::Int(n)) => n.hash(&mut hasher),
        ExprKind::Literal(Value::Bytes(bytes)) => bytes.hash(&mut hasher),
        ExprKind::Param(n) => n.hash(&mut hasher),
        ExprKind::Slot(slot) | ExprKind::Outer { slot, .. } => slot.hash(&mut hasher),
        ExprKind::Call(def, _) => def.name.hash(&mut hasher),
        _ => {}
    }
    children(expr, &mut |child| hash(child).hash(&mut hasher));
    hasher.finish()
}

/// Some part of `expr` satisfies `test`; subqueries' plans are not entered.
pub fn any(expr: &Expr, test: &dyn Fn(&Expr) -> bool) -> bool {
    if test(expr) {
        return true;
    }
    let mut found = false;
    children(expr, &mut |child| found = found || any(child, test));
    found
}

/// Evaluated again for the same row it may give another value, or do something again: RAND(), a stored function, `@n := @n + 1`.
pub fn changes(expr: &Expr) -> bool {
    any(expr, &|e| match &e.kind {
        ExprKind::Call(def, _) => !def.is_steady(),
        ExprKind::AssignVar(..) => true,
        _ => false,
    })
}

/// It has another value for each row, or does something for each: as `changes`, without what is the same throughout a statement in fact, such as
/// LAST_INSERT_ID() and DETERMINISTIC functions.
pub fn changes_by_row(expr: &Expr) -> bool {
    any(expr, &|e| match &e.kind {
        ExprKind::Call(def, _) => def.is_called_each_time(),
        ExprKind::AssignVar(..) => true,
        _ => false,
    })
}

/// It calls stored functions.
pub fn calls_stored(expr: &Expr) -> bool {
    any(expr, &|e| matches!(e.kind, ExprKind::Call(def, _) if def.is_stored()))
}

/// It reads more than the row at hand: a subquery, or a search of MATCH.
pub fn has_subquery(expr: &Expr) -> bool {
    any(expr, &|e| matches!(e.kind, ExprKind::Subquery(_) | ExprKind::Match(_)))
}

/// The subqueries of an expression, those of operands included.
pub fn subqueries<'e>(expr: &'e Expr, f: &mut dyn FnMut(&'e Subquery)) {
    if let ExprKind::Subquery(sub) = &expr.kind {
        f(sub);
    }
    children(expr, &mut |child| subqueries(child, f));
}
