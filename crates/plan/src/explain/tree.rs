//! EXPLAIN FORMAT=TREE: one line per node, its inputs indented below it.

use std::borrow::Cow;
use std::fmt::Write;

use super::text::Names;
use crate::expr::{Expr, ExprKind};
use crate::node::{
    AccessPath, InsertSource, JoinKind, Limit, Node, Plan, QueryPlan, Range, Scan, SetOpKind, Skips, SortKey, entry_parts,
};
use crate::visit;

pub fn tree(plan: &Plan) -> String {
    tree_with(plan, &|_| String::new())
}

/// The tree with what `note` tells of a node behind the line that shows the node's rows.
pub fn tree_with(plan: &Plan, note: &dyn Fn(&Node) -> String) -> String {
    let mut printer = Printer { out: String::new(), names: Names::default(), note };
    match plan {
        Plan::Query(query) => printer.plan(query, 0),
        Plan::Insert(insert) => {
            let verb = if insert.replace { "Replace" } else { "Insert" };
            printer.line(0, &format!("{verb} into {}", insert.table.name));
            match &insert.source {
                InsertSource::Values(rows) => printer.line(1, &format!("Rows: {}", rows.len())),
                InsertSource::Literals(values) => printer.line(1, &format!("Rows: {}", values.rows.len())),
                InsertSource::Query(query) => printer.plan(query, 1),
            }
        }
        Plan::Update(update) => {
            let names: Vec<&str> = update.targets.iter().map(|t| t.table.name.as_str()).collect();
            printer.line(0, &format!("Update {}", names.join(", ")));
            printer.frame(&update.source, &[], 1);
        }
        Plan::Delete(delete) => {
            let names: Vec<&str> = delete.targets.iter().map(|t| t.table.name.as_str()).collect();
            printer.line(0, &format!("Delete from {}", names.join(", ")));
            printer.frame(&delete.source, &[], 1);
        }
    }
    printer.out
}

struct Printer<'n> {
    out: String,
    names: Names,
    note: &'n dyn Fn(&Node) -> String,
}

impl Printer<'_> {
    fn line(&mut self, level: usize, text: &str) {
        let _ = writeln!(self.out, "{:indent$}-> {text}", "", indent = level * 4);
    }

    fn plan(&mut self, plan: &QueryPlan, level: usize) {
        let output: Vec<&Expr> = plan.output.iter().map(|o| &o.expr).collect();
        self.frame(&plan.root, &output, level);
    }

    fn frame(&mut self, root: &Node, output: &[&Expr], level: usize) {
        self.names.enter(root);
        self.node(root, level);
        for expr in output {
            self.subqueries(expr, level);
        }
        self.names.leave();
    }

    /// The plans of subqueries, below the node that evaluates them.
    fn subqueries(&mut self, expr: &Expr, level: usize) {
        let mut found = Vec::new();
        visit::subqueries(expr, &mut |sub| found.push(sub));
        for sub in found {
            let kind = if sub.correlated { "dependent" } else { "run only once" };
            self.line(level, &format!("Select #{} (subquery; {kind})", sub.id));
            if let Some(plan) = sub.plan() {
                self.plan(plan, level + 1);
            }
        }
    }

    fn node(&mut self, node: &Node, level: usize) {
        let text = self.describe(node);
        let filter: &[Expr] = match node {
            Node::Scan(scan) => &scan.filter,
            Node::Derived { filter, .. } | Node::RecursiveCte { filter, .. } | Node::CteRows { filter, .. } => filter,
            _ => &[],
        };
        let mut level = level;
        let mut note = (self.note)(node);
        if !filter.is_empty() {
            let condition = self.names.conjunction(filter);
            self.line(level, &format!("Filter: {condition}{}", std::mem::take(&mut note)));
            level += 1;
        }
        self.line(level, &format!("{text}{note}"));
        if let Node::Scan(scan) = node
            && let AccessPath::Union { parts } = &scan.path
        {
            for (index, ranges) in parts {
                let over: Vec<String> =
                    ranges.iter().map(|range| format!("({})", self.range(scan, (*index, 0), range))).collect();
                let (alias, index) = (&scan.alias, &scan.table.indexes[*index].name);
                self.line(level + 1, &format!("Index range scan on {alias} using {index} over {}", over.join(" OR ")));
            }
        }
        let mut below: Vec<&Node> = Vec::new();
        visit::inputs(node, &mut |input| below.push(input));
        for input in below {
            self.node(input, level + 1);
        }
        let mut plans: Vec<&QueryPlan> = Vec::new();
        visit::for_each_plan(node, &mut |plan| plans.push(plan));
        for plan in plans {
            self.plan(plan, level + 1);
        }
        let mut exprs: Vec<&Expr> = Vec::new();
        visit::for_each_expr(node, &mut |e| exprs.push(e));
        for expr in exprs {
            self.subqueries(expr, level + 1);
        }
    }

    fn describe(&self, node: &Node) -> String {
        let n = &self.names;
        match node {
            Node::One => "Rows fetched before execution".to_string(),
            Node::Empty => "Zero rows (Impossible WHERE)".to_string(),
            Node::Scan(scan) => self.scan(scan),
            Node::Derived { correlated, .. } => {
                if *correlated { "Materialize (invalidate on row from outer)" } else { "Materialize" }.to_string()
            }
            Node::Filter { predicate, .. } => format!("Filter: {}", n.conjunction(predicate)),
            Node::NestedLoop { kind, on, .. } => format!("Nested loop {}{}", join_name(*kind), self.on(on)),
            Node::HashJoin { kind, probe_keys, build_keys, on, .. } => {
                let keys: Vec<String> =
                    probe_keys.iter().zip(build_keys).map(|(p, b)| format!("({} = {})", n.print(p), n.print(b))).collect();
                let keys = if keys.is_empty() { "(no condition)".to_string() } else { keys.join(", ") };
                format!("{} hash join {keys}{}", capital(join_name(*kind)), self.on(on))
            }
            Node::Sort { keys, limit, .. } => match limit {
                Some(limit) => format!("Sort: {}, limit input to {} row(s) per chunk", self.keys(keys), self.limit(limit)),
                None => format!("Sort: {}", self.keys(keys)),
            },
            Node::Limit { limit, .. } => format!("Limit: {} row(s)", self.limit(limit)),
            Node::Append { .. } => "Append".to_string(),
            Node::Aggregate { keys, sorted_input, rollup, .. } => {
                let how = match (keys.is_empty(), sorted_input) {
                    (true, _) => "Aggregate".to_string(),
                    (false, true) => "Group aggregate".to_string(),
                    (false, false) => "Aggregate using temporary table".to_string(),
                };
                let keys: Vec<String> = keys.iter().map(|(e, _)| n.print(e)).collect();
                let by = if keys.is_empty() { String::new() } else { format!(" by {}", keys.join(", ")) };
                format!("{how}{by}{}", if *rollup { " with rollup" } else { "" })
            }
            Node::Compute { .. } => "Stream results".to_string(),
            Node::Distinct { keys, .. } => format!("Remove duplicates on {}", n.list(keys)),
            Node::SetOp { op, all, .. } => {
                let name = match op {
                    SetOpKind::Union => "Union",
                    SetOpKind::Intersect => "Intersect",
                    SetOpKind::Except => "Except",
                };
                format!("{name}{}", if *all { " all" } else { "" })
            }
            Node::Values { rows, .. } => format!("Rows: {}", rows.len()),
            Node::JsonTable { .. } => "Materialize table function".to_string(),
            Node::Window { windows, .. } => {
                format!("Window: {}", windows.iter().map(|w| w.name.to_lowercase()).collect::<Vec<_>>().join(", "))
            }
            Node::RowCount { table, .. } => format!("Count rows in {}", table.name),
            Node::RecursiveCte { distinct, .. } => {
                format!("Materialize recursive CTE{}", if *distinct { " with deduplication" } else { "" })
            }
            Node::CteRows { .. } => "Scan new records of recursive CTE".to_string(),
        }
    }

    fn on(&self, on: &[Expr]) -> String {
        if on.is_empty() { String::new() } else { format!(" on {}", self.names.conjunction(on)) }
    }

    fn keys(&self, keys: &[SortKey]) -> String {
        keys.iter().map(|k| self.names.print(&k.expr) + if k.descending { " DESC" } else { "" }).collect::<Vec<_>>().join(", ")
    }

    fn limit(&self, limit: &Limit) -> String {
        let count = limit.count.as_ref().map_or("all".to_string(), |c| self.names.print(c));
        match &limit.offset {
            Some(offset) => format!("{count} offset {}", self.names.print(offset)),
            None => count,
        }
    }

    fn scan(&self, scan: &Scan) -> String {
        let alias = &scan.alias;
        let lock = match scan.lock {
            Some(lock) if lock.exclusive => ", exclusive lock",
            Some(_) => ", shared lock",
            None => "",
        };
        let kind = access_kind(&scan.path, scan.skips.as_deref());
        let text = match &scan.path {
            AccessPath::Full { reverse } => {
                format!("{} on {alias}{}", kind, if *reverse { " (reverse)" } else { "" })
            }
            AccessPath::System => format!("{} {alias}", kind),
            AccessPath::FullText { search } => {
                let ExprKind::Match(search) = &search.kind else { return format!("Full-text index search on {alias}") };
                let index = scan.table.indexes.get(search.index);
                let column =
                    index.and_then(|i| scan.table.position_of(i.parts.first()?.column)).and_then(|at| scan.table.columns.get(at));
                let against = self.names.print(super::text::uncast(&search.against));
                let (index, column) = (index.map_or("", |i| i.name.as_str()), column.map_or("", |c| c.name.as_str()));
                format!("Full-text index search on {alias} using {index} ({column} = {against})")
            }
            AccessPath::Point { index, key } => {
                let index = &scan.table.indexes[*index];
                let parts: Vec<String> = index
                    .parts
                    .iter()
                    .zip(key)
                    .map(|(p, k)| format!("{} = {}", column(scan, p.column), self.names.print(k)))
                    .collect();
                format!("{} on {alias} using {} ({})", kind, index.name, parts.join(", "))
            }
            AccessPath::Range { index, .. } if scan.reads_cells() => {
                let def = &scan.table.indexes[*index];
                let column = def.parts.first().map_or(Cow::Borrowed(""), |part| column(scan, part.column));
                format!("Index range scan on {alias} using {} over ({column} unprintable_geometry_value)", def.name)
            }
            AccessPath::Union { .. } => kind.to_string(),
            AccessPath::Range { index, ranges, reverse, .. } => {
                let def = &scan.table.indexes[*index];
                let reverse = if *reverse { " (reverse)" } else { "" };
                let lookup = is_lookup(ranges);
                let skips = scan.skips.as_deref();
                let within =
                    skips.and_then(|skips| skips.within.as_ref().map(|range| self.range(scan, (*index, skips.parts), range)));
                let outer = ranges.iter().map(|range| self.range(scan, (*index, 0), range));
                let over: Vec<String> = outer.chain(within).filter(|r| !r.is_empty()).collect();
                let over = match (over.is_empty(), lookup) {
                    (true, _) => String::new(),
                    (false, true) => format!(" ({})", over.join(" OR ")),
                    (false, false) => format!(" over {}", over.iter().map(|o| format!("({o})")).collect::<Vec<_>>().join(" OR ")),
                };
                format!("{kind} on {alias} using {}{over}{reverse}", def.name)
            }
        };
        text + lock
    }

    /// Of parts of an index from this one on.
    fn range(&self, scan: &Scan, (index, part): (usize, usize), range: &Range) -> String {
        let parts = entry_parts(&scan.table, index).split_off(part);
        let mut terms: Vec<String> = range
            .equal
            .iter()
            .zip(&parts)
            .map(|(k, p)| {
                format!("{} {} {}", column(scan, p.column), if k.null_safe { "<=>" } else { "=" }, self.names.print(&k.expr))
            })
            .collect();
        if let Some(part) = parts.get(range.equal.len()) {
            let name = column(scan, part.column);
            let bound = |e: &Expr| self.names.print(e);
            match (&range.low, &range.high) {
                (Some((low, li)), Some((high, hi))) => {
                    terms.push(format!(
                        "{} {} {name} {} {}",
                        bound(low),
                        if *li { "<=" } else { "<" },
                        if *hi { "<=" } else { "<" },
                        bound(high)
                    ));
                }
                (Some((low, inclusive)), None) => {
                    terms.push(format!("{} {} {name}", bound(low), if *inclusive { "<=" } else { "<" }))
                }
                (None, Some((high, inclusive))) => {
                    terms.push(format!("NULL < {name} {} {}", if *inclusive { "<=" } else { "<" }, bound(high)))
                }
                (None, None) if range.not_null => terms.push(format!("NULL < {name}")),
                (None, None) => {}
            }
        }
        terms.join(", ")
    }
}

/// A column's name; of a functional index the expression.
fn column(scan: &Scan, id: vaquita_types::schema::ColumnId) -> Cow<'_, str> {
    let Some(column) = scan.table.position_of(id).map(|at| &scan.table.columns[at]) else { return "?".into() };
    match &column.generated {
        Some(generated) if generated.hidden => generated.expr.replace('`', "").into(),
        _ => column.name.as_str().into(),
    }
}

pub(super) fn join_name(kind: JoinKind) -> &'static str {
    match kind {
        JoinKind::Inner => "inner join",
        JoinKind::Left => "left join",
        JoinKind::Semi => "semijoin",
        JoinKind::Anti => "antijoin",
    }
}

fn capital(text: &str) -> String {
    let word = text.strip_suffix(" join").unwrap_or(text);
    let mut chars = word.chars();
    chars.next().map_or(String::new(), |c| c.to_uppercase().chain(chars).collect())
}

/// What a way to read a table is called.
pub fn access_kind(path: &AccessPath, skips: Option<&Skips>) -> &'static str {
    match (path, skips) {
        (_, Some(Skips { first: true, .. })) => return "Index skip scan for grouping",
        (AccessPath::Range { covering: true, .. }, Some(_)) => return "Covering index skip scan",
        (_, Some(_)) => return "Index skip scan",
        _ => {}
    }
    match path {
        AccessPath::Full { .. } => "Table scan",
        AccessPath::System => "System table",
        AccessPath::FullText { .. } => "Full-text index search",
        AccessPath::Union { .. } => "Deduplicate rows sorted by row ID",
        AccessPath::Point { .. } => "Single-row index lookup",
        AccessPath::Range { ranges, covering, .. } => match (ranges.as_slice(), covering) {
            ([range], false) if is_whole(range) => "Index scan",
            ([range], true) if is_whole(range) => "Covering index scan",
            (ranges, false) if is_lookup(ranges) => "Index lookup",
            (ranges, true) if is_lookup(ranges) => "Covering index lookup",
            (_, false) => "Index range scan",
            (_, true) => "Covering index range scan",
        },
    }
}

fn is_unbounded(range: &Range) -> bool {
    range.low.is_none() && range.high.is_none() && !range.not_null
}

fn is_whole(range: &Range) -> bool {
    range.equal.is_empty() && is_unbounded(range)
}

fn is_lookup(ranges: &[Range]) -> bool {
    matches!(ranges, [range] if !range.equal.is_empty() && is_unbounded(range))
}
