//! A logical tree as text, one line per node, its inputs indented below it: for those who watch rewrites.

use std::collections::HashMap;
use std::fmt::Write;

use super::{Logical, LogicalBlock, Query, Source, Tables};
use crate::explain::text::{Names, aggregate_name, window_name};
use crate::expr::{Expr, Slot};
use crate::node::JoinKind;

pub(crate) fn tree(block: &LogicalBlock, tables: &Tables<'_>) -> String {
    block_at(block, tables, 0)
}

fn block_at(block: &LogicalBlock, tables: &Tables<'_>, level: usize) -> String {
    let mut names = HashMap::new();
    for relation in tables.relations {
        for (n, column) in relation.columns.iter().enumerate() {
            if let Some(slot) = relation.slot(n) {
                names.insert(slot, format!("{}.{}", relation.alias, column.name));
            }
        }
    }
    name_results(&block.root, &mut names);
    name_inputs(&block.root, &mut names);
    let mut printer = Printer { out: String::new(), names: Names::of(names), tables };
    printer.node(&block.root, level);
    printer.out
}

/// Names for the slots that aggregation and windows fill.
fn name_results(node: &Logical, names: &mut HashMap<Slot, String>) {
    if let Some(input) = node.input() {
        name_results(input, names);
    }
    let inner = Names::of(names.clone());
    match node {
        Logical::Aggregate { keys, aggregates, .. } => {
            names.extend(keys.iter().map(|(key, slot)| (*slot, inner.print(key))));
            names.extend(aggregates.iter().map(|a| (a.slot, aggregate_name(a, &inner))));
        }
        Logical::Window { windows, .. } => names.extend(windows.iter().map(|w| (w.slot, window_name(w, &inner)))),
        _ => {}
    }
}

/// Names for the slots of queries inside: those of their columns.
fn name_inputs(node: &Logical, names: &mut HashMap<Slot, String>) {
    let (query, slots) = match node {
        Logical::SetOp { inputs, slots, .. } => (inputs.first(), slots),
        Logical::Nested { query, slots, .. } => (Some(&**query), slots),
        Logical::Values { slots, .. } => {
            names.extend(slots.iter().enumerate().map(|(n, slot)| (*slot, format!("column_{n}"))));
            return;
        }
        Logical::JsonTable { table, .. } => {
            table.rows.each_column(&mut |column| drop(names.insert(column.slot, column.name.clone())));
            return;
        }
        other => return other.input().map_or((), |input| name_inputs(input, names)),
    };
    let output = query.map_or(&[][..], Query::output);
    names.extend(slots.iter().zip(output).map(|(slot, column)| (*slot, column.name.clone())));
}

struct Printer<'a> {
    out: String,
    names: Names,
    tables: &'a Tables<'a>,
}

impl Printer<'_> {
    fn node(&mut self, node: &Logical, level: usize) {
        let text = self.describe(node);
        let _ = writeln!(self.out, "{:indent$}-> {text}", "", indent = level * 4);
        match node {
            Logical::Join { left, right, .. } => {
                self.node(left, level + 1);
                self.node(right, level + 1);
            }
            Logical::SetOp { inputs, .. } => inputs.iter().for_each(|input| self.query(input, level + 1)),
            Logical::Nested { query, .. } => self.query(query, level + 1),
            _ => {
                if let Some(input) = node.input() {
                    self.node(input, level + 1);
                }
            }
        }
    }

    /// A query inside, which has names of its own.
    fn query(&mut self, query: &Query, level: usize) {
        let tables = Tables { relations: &query.relations, owners: &query.owners, ..*self.tables };
        self.out += &block_at(&query.block, &tables, level);
    }

    fn describe(&self, node: &Logical) -> String {
        let n = &self.names;
        match node {
            Logical::One => "One row".to_string(),
            Logical::Empty => "No row".to_string(),
            Logical::Relation(relation) => self.relation(*relation),
            Logical::Join { kind, straight, on, .. } => {
                let kind = match kind {
                    JoinKind::Inner => "Inner join",
                    JoinKind::Left => "Left join",
                    JoinKind::Semi => "Semijoin",
                    JoinKind::Anti => "Antijoin",
                };
                format!("{kind}{}{}", if *straight { ", straight" } else { "" }, self.on(on))
            }
            Logical::SetOp { op, all, .. } => format!("{op:?}{}", if *all { " all" } else { "" }),
            Logical::Values { rows, .. } => format!("Values: {} rows", rows.len()),
            Logical::JsonTable { document, .. } => format!("Table function: json_table({})", n.print(document)),
            Logical::Nested { .. } => "Query in parentheses".to_string(),
            Logical::Filter { predicate, .. } => format!("Filter: {}", n.conjunction(predicate)),
            Logical::RowCount { relation, .. } => format!("Row count of {}", self.tables.relations[*relation].alias),
            Logical::Aggregate { keys, aggregates, rollup, .. } => {
                let keys: Vec<String> = keys.iter().map(|(key, _)| n.print(key)).collect();
                let by = if keys.is_empty() { String::new() } else { format!(" by {}", keys.join(", ")) };
                let made: Vec<String> = aggregates.iter().map(|a| aggregate_name(a, n)).collect();
                let of = if made.is_empty() { String::new() } else { format!(": {}", made.join(", ")) };
                format!("Aggregate{by}{}{of}", if *rollup { " with rollup" } else { "" })
            }
            Logical::Having { predicate, .. } => format!("Having: {}", n.conjunction(predicate)),
            Logical::Window { windows, .. } => {
                format!("Window: {}", windows.iter().map(|w| window_name(w, n)).collect::<Vec<_>>().join(", "))
            }
            Logical::Compute { values, .. } => {
                format!("Compute: {}", values.iter().map(|(value, _)| n.print(value)).collect::<Vec<_>>().join(", "))
            }
            Logical::Distinct { .. } => "Distinct".to_string(),
            Logical::Sort { keys, .. } => {
                let key = |k: &crate::node::SortKey| n.print(&k.expr) + if k.descending { " DESC" } else { "" };
                format!("Sort: {}", keys.iter().map(key).collect::<Vec<_>>().join(", "))
            }
            Logical::Limit { limit, .. } => {
                let count = limit.count.as_ref().map_or("all".to_string(), |count| n.print(count));
                let offset = limit.offset.as_ref().map_or(String::new(), |offset| format!(" offset {}", n.print(offset)));
                format!("Limit: {count}{offset}")
            }
        }
    }

    fn on(&self, on: &[Expr]) -> String {
        if on.is_empty() { String::new() } else { format!(" on {}", self.names.conjunction(on)) }
    }

    fn relation(&self, relation: usize) -> String {
        let relation = &self.tables.relations[relation];
        let kind = match &relation.source {
            Source::Base(_) => "Table",
            Source::Derived { lateral: true, .. } => "Lateral derived table",
            Source::Derived { .. } => "Derived table",
            Source::Recursive { .. } => "Recursive CTE",
            Source::CteRows { .. } => "Rows of the last round of CTE",
            Source::Merged | Source::Row(_) => "Row of",
        };
        format!("{kind} {}", relation.alias)
    }
}
