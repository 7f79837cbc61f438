//! EXPLAIN: a plan as rows of the traditional table, as a tree, as JSON.
//!
//! `rows` gives one row per table in the order of reading, with MySQL's columns; `tree` one line per node. The
//! figures are the planner's estimates. Nothing is executed here.

mod shape;
pub(crate) mod text;
mod tree;

use std::fmt::Write;

pub use shape::shape;
pub(crate) use tree::access_kind;
pub use tree::{tree, tree_with};

use crate::expr::{Expr, ExprKind};
use crate::node::{AccessPath, InsertSource, Node, Plan, QueryPlan, Range, Scan, entry_parts};
use crate::visit;
use text::Names;

/// One row of EXPLAIN; `None` prints as NULL.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ExplainRow {
    pub id: Option<u64>,
    pub select_type: String,
    pub table: Option<String>,
    pub partitions: Option<String>,
    /// `const`, `eq_ref`, `ref`, `range`, `index`, `ALL`, …
    pub access: Option<String>,
    pub possible_keys: Option<String>,
    pub key: Option<String>,
    pub key_len: Option<String>,
    pub reference: Option<String>,
    pub rows: Option<u64>,
    pub filtered: Option<f64>,
    pub extra: Option<String>,
}

/// The names of the columns of EXPLAIN's table.
pub const COLUMNS: [&str; 12] =
    ["id", "select_type", "table", "partitions", "type", "possible_keys", "key", "key_len", "ref", "rows", "filtered", "Extra"];

pub fn rows(plan: &Plan) -> Vec<ExplainRow> {
    let mut lister = Lister { rows: Vec::new(), next_id: 1, names: Names::default() };
    match plan {
        Plan::Query(query) => {
            let kind = if has_more_plans(query) { "PRIMARY" } else { "SIMPLE" };
            lister.plan(query, kind);
        }
        Plan::Insert(insert) => {
            let select_type = if insert.replace { "REPLACE" } else { "INSERT" };
            lister.rows.push(ExplainRow {
                id: Some(1),
                select_type: select_type.to_string(),
                table: Some(insert.table.name.clone()),
                access: Some("ALL".to_string()),
                ..ExplainRow::default()
            });
            if let InsertSource::Query(query) = &insert.source {
                lister.plan(query, "SIMPLE");
            }
        }
        Plan::Update(update) => lister.change(&update.source, "UPDATE"),
        Plan::Delete(delete) => lister.change(&delete.source, "DELETE"),
    }
    lister.rows
}

/// Whether a query block looks at more rows than `max`, by the estimates: those of its tables multiplied.
pub fn examines_more(plan: &Plan, max: u64) -> bool {
    let mut blocks: Vec<(Option<u64>, f64)> = Vec::new();
    for row in rows(plan) {
        let examined = row.rows.unwrap_or(1) as f64 * row.filtered.unwrap_or(100.0) / 100.0;
        match blocks.iter_mut().find(|(id, _)| *id == row.id) {
            Some((_, product)) => *product *= examined,
            None => blocks.push((row.id, examined)),
        }
    }
    blocks.iter().any(|(_, product)| *product > max as f64)
}

/// The plan as a JSON document: the rows of each query block.
pub fn json(plan: &Plan) -> String {
    let mut out = "{\n  \"query_block\": {\n    \"select_id\": 1,\n    \"tables\": [".to_string();
    for (n, row) in rows(plan).iter().enumerate() {
        out.push_str(if n == 0 { "\n" } else { ",\n" });
        let mut fields = Vec::new();
        let mut text = |name: &str, value: &Option<String>| {
            if let Some(value) = value {
                fields.push(format!("        \"{name}\": {}", quoted(value)));
            }
        };
        text("table_name", &row.table);
        text("access_type", &row.access);
        text("possible_keys", &row.possible_keys);
        text("key", &row.key);
        text("key_length", &row.key_len);
        text("ref", &row.reference);
        text("extra", &row.extra);
        if let Some(rows) = row.rows {
            fields.push(format!("        \"rows_examined_per_scan\": {rows}"));
        }
        if let Some(filtered) = row.filtered {
            fields.push(format!("        \"filtered\": \"{filtered:.2}\""));
        }
        let _ = write!(out, "      {{\n{}\n      }}", fields.join(",\n"));
    }
    out.push_str("\n    ]\n  }\n}");
    out
}

fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => {
                out.push('\\');
                out.push(c);
            }
            c if c.is_control() => {
                let _ = write!(out, "\\u{:04x}", c as u32);
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

/// The plan holds subqueries, derived tables or a set operation.
fn has_more_plans(plan: &QueryPlan) -> bool {
    fn node(n: &Node) -> bool {
        let mut found = false;
        visit::for_each_plan(n, &mut |_| found = true);
        visit::for_each_expr(n, &mut |e| found |= visit::any(e, &|e| matches!(e.kind, ExprKind::Subquery(_))));
        visit::inputs(n, &mut |input| found |= node(input));
        found
    }
    node(&plan.root) || plan.output.iter().any(|o| visit::any(&o.expr, &|e| matches!(e.kind, ExprKind::Subquery(_))))
}

struct Lister {
    rows: Vec<ExplainRow>,
    next_id: u64,
    names: Names,
}

/// What the nodes above the tables add to the first table's Extra.
#[derive(Default)]
struct Above {
    temporary: bool,
    filesort: bool,
}

impl Lister {
    fn change(&mut self, source: &Node, select_type: &str) {
        self.names.enter(source);
        self.block(source, &[], select_type);
        self.names.leave();
    }

    fn plan(&mut self, plan: &QueryPlan, select_type: &str) {
        self.names.enter(&plan.root);
        let output: Vec<&Expr> = plan.output.iter().map(|o| &o.expr).collect();
        self.block(&plan.root, &output, select_type);
        self.names.leave();
    }

    fn block(&mut self, root: &Node, output: &[&Expr], select_type: &str) {
        let id = self.next_id;
        self.next_id += 1;
        let first = self.rows.len();
        let mut above = Above::default();
        let mut later: Vec<(&QueryPlan, &str)> = Vec::new();
        self.node(root, id, select_type, &mut above, &mut later);
        if self.rows.len() == first {
            self.rows.push(ExplainRow {
                id: Some(id),
                select_type: select_type.to_string(),
                extra: Some(without_tables(root).to_string()),
                ..ExplainRow::default()
            });
        } else if let Some(row) = self.rows.get_mut(first) {
            let mut extra: Vec<&str> = Vec::new();
            if above.temporary {
                extra.push("Using temporary");
            }
            if above.filesort {
                extra.push("Using filesort");
            }
            for text in extra {
                add_extra(row, text);
            }
        }
        let mut subs = Vec::new();
        expressions(root, &mut |e| visit::subqueries(e, &mut |s| subs.push(s)));
        for expr in output {
            visit::subqueries(expr, &mut |s| subs.push(s));
        }
        for sub in subs {
            if let Some(plan) = sub.plan() {
                self.plan(plan, if sub.correlated { "DEPENDENT SUBQUERY" } else { "SUBQUERY" });
            }
        }
        for (plan, kind) in later {
            self.plan(plan, kind);
        }
    }

    fn node<'n>(
        &mut self,
        node: &'n Node,
        id: u64,
        select_type: &str,
        above: &mut Above,
        later: &mut Vec<(&'n QueryPlan, &'static str)>,
    ) {
        match node {
            Node::Scan(scan) => {
                let row = self.scan(scan, id, select_type);
                self.rows.push(row);
            }
            Node::Sort { .. } => above.filesort = true,
            Node::Aggregate { keys, sorted_input: false, .. } if !keys.is_empty() => above.temporary = true,
            Node::Distinct { .. } => above.temporary = true,
            Node::RowCount { .. } => {}
            Node::HashJoin { probe, build, .. } => {
                self.node(probe, id, select_type, above, later);
                let at = self.rows.len();
                self.node(build, id, select_type, above, later);
                if let Some(row) = self.rows.get_mut(at) {
                    add_extra(row, "Using join buffer (hash join)");
                }
                return;
            }
            Node::Derived { plan, .. } => self.kept(id, select_type, &mut |later| later.push((plan, "DERIVED")), later),
            Node::RecursiveCte { seed, recursive, .. } => self.kept(
                id,
                select_type,
                &mut |later| {
                    later.push((seed, "DERIVED"));
                    later.extend(recursive.iter().map(|p| (&**p, "UNION")));
                },
                later,
            ),
            Node::SetOp { inputs, .. } => {
                self.next_id -= 1;
                for (n, input) in inputs.iter().enumerate() {
                    self.plan(input, if n == 0 { select_type } else { "UNION" });
                }
                let ids: Vec<String> = (id..self.next_id).map(|n| n.to_string()).collect();
                self.rows.push(ExplainRow {
                    select_type: "UNION RESULT".to_string(),
                    table: Some(format!("<union{}>", ids.join(","))),
                    access: Some("ALL".to_string()),
                    extra: Some("Using temporary".to_string()),
                    ..ExplainRow::default()
                });
            }
            _ => {}
        }
        visit::inputs(node, &mut |input| self.node(input, id, select_type, above, later));
    }

    fn kept<'n>(
        &mut self,
        id: u64,
        select_type: &str,
        add: &mut dyn FnMut(&mut Vec<(&'n QueryPlan, &'static str)>),
        later: &mut Vec<(&'n QueryPlan, &'static str)>,
    ) {
        let table = format!("<derived{}>", self.next_id + later.len() as u64);
        add(later);
        self.rows.push(ExplainRow {
            id: Some(id),
            select_type: select_type.to_string(),
            table: Some(table),
            access: Some("ALL".to_string()),
            rows: Some(2),
            filtered: Some(100.0),
            ..ExplainRow::default()
        });
    }

    fn scan(&self, scan: &Scan, id: u64, select_type: &str) -> ExplainRow {
        let mut row = ExplainRow {
            id: Some(id),
            select_type: select_type.to_string(),
            table: Some(scan.alias.clone()),
            rows: Some(scan.rows_estimate),
            filtered: Some(if scan.filter.is_empty() { 100.0 } else { 33.33 }),
            partitions: scan.partitions.as_ref().and_then(|partitions| partitions.names()),
            ..ExplainRow::default()
        };
        match &scan.path {
            AccessPath::Full { .. } | AccessPath::System => row.access = Some("ALL".to_string()),
            AccessPath::FullText { search } => {
                row.access = Some("fulltext".to_string());
                row.reference = Some("const".to_string());
                if let ExprKind::Match(search) = &search.kind {
                    key_columns(&mut row, scan, search.index, 0);
                }
            }
            AccessPath::Point { index, key } => {
                let given = key.iter().all(|k| visit::slots(k).is_empty());
                row.access = Some(if given { "const" } else { "eq_ref" }.to_string());
                row.reference = Some(self.references(key.iter()));
                key_columns(&mut row, scan, *index, key.len());
            }
            AccessPath::Range { index, ranges, covering, .. } => {
                let only = match ranges.as_slice() {
                    [only] => Some(only),
                    _ => None,
                };
                let parts = ranges.iter().map(bounded_parts).max().unwrap_or(0);
                match only {
                    _ if scan.reads_cells() => row.access = Some("range".to_string()),
                    Some(r) if parts == 0 && r.equal.is_empty() => row.access = Some("index".to_string()),
                    Some(r) if parts == r.equal.len() => {
                        row.access = Some("ref".to_string());
                        row.reference = Some(self.references(r.equal.iter().map(|k| &k.expr)));
                    }
                    _ => row.access = Some("range".to_string()),
                }
                let all = scan.table.indexes[*index].parts.len();
                key_columns(&mut row, scan, *index, if parts == 0 { all } else { parts });
                if parts == 0 {
                    row.possible_keys = None;
                }
                if !scan.filter.is_empty() {
                    add_extra(&mut row, "Using where");
                }
                if let Some(skips) = &scan.skips {
                    let extra = if skips.first { "Using index for group-by" } else { "Using index for skip scan" };
                    row.access = Some("range".to_string());
                    add_extra(&mut row, extra);
                } else if *covering {
                    add_extra(&mut row, "Using index");
                } else if row.access.as_deref() == Some("range") && !scan.reads_cells() {
                    add_extra(&mut row, "Using index condition");
                }
                return row;
            }
            AccessPath::Union { parts } => {
                let (mut keys, mut lengths) = (Vec::new(), Vec::new());
                for (index, ranges) in parts {
                    key_columns(&mut row, scan, *index, ranges.iter().map(bounded_parts).max().unwrap_or(0));
                    keys.extend(row.key.take());
                    lengths.extend(row.key_len.take());
                }
                row.access = Some("index_merge".to_string());
                let mut possible: Vec<usize> = parts.iter().map(|(index, _)| *index).collect();
                possible.sort_unstable();
                let names: Vec<&str> = possible.iter().map(|index| scan.table.indexes[*index].name.as_str()).collect();
                row.possible_keys = Some(names.join(","));
                row.key_len = Some(lengths.join(","));
                add_extra(&mut row, &format!("Using union({})", keys.join(",")));
                row.key = Some(keys.join(","));
            }
        }
        if !scan.filter.is_empty() {
            add_extra(&mut row, "Using where");
        }
        row
    }

    /// The `ref` column: `const` or the columns compared with.
    fn references<'e>(&self, exprs: impl Iterator<Item = &'e Expr>) -> String {
        let names = exprs.map(|e| match e.kind {
            ExprKind::Slot(_) => self.names.print(e),
            _ if visit::slots(e).is_empty() => "const".to_string(),
            _ => "func".to_string(),
        });
        names.collect::<Vec<_>>().join(",")
    }
}

/// How many parts of the index a range bounds.
fn bounded_parts(range: &Range) -> usize {
    range.equal.len() + usize::from(range.low.is_some() || range.high.is_some() || range.not_null)
}

fn key_columns(row: &mut ExplainRow, scan: &Scan, index: usize, parts: usize) {
    let def = &scan.table.indexes[index];
    row.key = Some(def.name.clone());
    row.possible_keys = Some(def.name.clone());
    let bytes: u32 = entry_parts(&scan.table, index)
        .into_iter()
        .take(parts)
        .filter_map(|p| scan.table.position_of(p.column).map(|c| (&scan.table.columns[c], p.prefix)))
        .map(|(c, prefix)| key_bytes(c.key_type(), prefix) + u32::from(c.nullable))
        .sum();
    row.key_len = Some(bytes.to_string());
}

/// Bytes of a key part as MySQL counts them.
fn key_bytes(ty: &vaquita_types::ColumnType, prefix: Option<u32>) -> u32 {
    use vaquita_types::TypeKind::*;
    let fraction = u32::from(ty.decimals.min(6)).div_ceil(2);
    match ty.kind {
        TinyInt | Year | Null => 1,
        SmallInt => 2,
        MediumInt | Date => 3,
        Int | Float => 4,
        BigInt | Double => 8,
        Time => 3 + fraction,
        Timestamp => 4 + fraction,
        DateTime => 5 + fraction,
        Decimal => vaquita_types::decimal::stored_len(ty.length, ty.decimals) as u32,
        Bit => ty.length.div_ceil(8),
        Enum => {
            if ty.members.as_ref().is_some_and(|m| m.len() > 255) {
                2
            } else {
                1
            }
        }
        Set => 8,
        Char | Binary => prefix.unwrap_or(ty.length) * u32::from(crate::text::bytes_per_char_max(ty.collation)),
        _ => prefix.unwrap_or(ty.length) * u32::from(crate::text::bytes_per_char_max(ty.collation)) + 2,
    }
}

fn add_extra(row: &mut ExplainRow, text: &str) {
    match &mut row.extra {
        Some(extra) => {
            extra.push_str("; ");
            extra.push_str(text);
        }
        None => row.extra = Some(text.to_string()),
    }
}

fn without_tables(node: &Node) -> &'static str {
    match node {
        Node::Empty => "Impossible WHERE",
        Node::RowCount { .. } => "Select tables optimized away",
        Node::Filter { input, .. }
        | Node::Sort { input, .. }
        | Node::Limit { input, .. }
        | Node::Aggregate { input, .. }
        | Node::Distinct { input, .. }
        | Node::Compute { input, .. }
        | Node::Window { input, .. } => without_tables(input),
        _ => "No tables used",
    }
}

/// Every expression of the nodes of one frame.
fn expressions<'n>(node: &'n Node, f: &mut dyn FnMut(&'n Expr)) {
    visit::for_each_expr(node, f);
    visit::inputs(node, &mut |input| expressions(input, f));
}
