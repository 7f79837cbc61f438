//! What is told of the optimizer's choices to whoever asks why (`choices`).

use vaquita_types::schema::ColumnId;

use super::flatten::{Item, Shape};
use super::path::{Candidate, TableInput};
use super::sarg::{Bound, Columns};
use crate::choices::{TableChoices, WantedIndex, Way};
use crate::explain::access_kind;
use crate::expr::{Expr, ExprKind, Slot};
use crate::logical::{Relation, Source, StatementFacts, Tables};
use crate::node::AccessPath;
use crate::visit;

/// Other ways than the one taken are told up to this many.
const WAYS_MAX: usize = 6;

pub fn item_name(item: &Item, tables: &Tables<'_>) -> String {
    let alias = |relation: &usize| tables.relations.get(*relation).map_or("?", |relation| relation.alias.as_str()).to_string();
    match &item.shape {
        Shape::Table(relation) => alias(relation),
        Shape::Nest(items) => format!("({})", names(items, tables)),
        Shape::Distinct { items, .. } => format!("distinct ({})", names(items, tables)),
    }
}

fn names(items: &[Item], tables: &Tables<'_>) -> String {
    items.iter().map(|item| item_name(item, tables)).collect::<Vec<_>>().join(", ")
}

pub fn table(alias: &str, input: &TableInput<'_>, taken: &Candidate, all: Vec<Candidate>) -> TableChoices {
    let way = |candidate: &Candidate| Way { name: name(input, candidate), rows: candidate.rows_read, cost: candidate.cost };
    let is_useful = |candidate: &&Candidate| candidate.ordered || !matches!(candidate.path, AccessPath::Full { reverse: true });
    let mut others: Vec<Way> = all.iter().filter(is_useful).map(way).collect();
    others.sort_by(|a, b| a.cost.total_cmp(&b.cost));
    let mut ways = vec![way(taken)];
    for other in others {
        if ways.len() <= WAYS_MAX && !ways.iter().any(|way| way.name == other.name) {
            ways.push(other);
        }
    }
    TableChoices { alias: alias.to_string(), rows_out: taken.rows_out, ways }
}

fn name(input: &TableInput<'_>, candidate: &Candidate) -> String {
    let (indexes, reverse) = match &candidate.path {
        AccessPath::Full { reverse } => (Vec::new(), *reverse),
        AccessPath::Point { index, .. } => (vec![*index], false),
        AccessPath::Range { index, reverse, .. } => (vec![*index], *reverse),
        AccessPath::Union { parts } => (parts.iter().map(|(index, _)| *index).collect(), false),
        AccessPath::FullText { .. } | AccessPath::System => (Vec::new(), false),
    };
    let names: Vec<&str> =
        indexes.iter().filter_map(|at| input.table.indexes.get(*at)).map(|index| index.name.as_str()).collect();
    let using = if names.is_empty() { String::new() } else { format!(" using {}", names.join(", ")) };
    let reverse = if reverse { " (reverse)" } else { "" };
    let order = if candidate.ordered { ", in order" } else { "" };
    format!("{}{using}{reverse}{order}", access_kind(&candidate.path, candidate.skips.as_deref()))
}

/// The indexes that the conditions on a table would use: values that are known first, then those of other tables, then a range or the order.
pub fn wanted(relation: &Relation, conditions: &[&Expr], order: &[(Expr, bool)], facts: &StatementFacts) -> Vec<WantedIndex> {
    // A table without an index is one that the server makes.
    let Source::Base(table) = &relation.source else { return Vec::new() };
    if table.indexes.is_empty() {
        return Vec::new();
    }
    let slots: Vec<Option<Slot>> = (0..relation.columns.len()).map(|column| relation.slot(column)).collect();
    let columns = Columns { table, slots: &slots, facts };
    let (mut known, mut joined, mut ranges) = (Vec::new(), Vec::new(), Vec::new());
    let add = |list: &mut Vec<usize>, column: usize| {
        if !list.contains(&column) {
            list.push(column);
        }
    };
    for term in conditions.iter().flat_map(|condition| columns.terms(condition)) {
        match &term.bound {
            Bound::Equal(values) if values.iter().all(|value| visit::slots(&value.expr).is_empty()) => {
                add(&mut known, term.column)
            }
            Bound::Equal(_) => add(&mut joined, term.column),
            Bound::Low(..) | Bound::High(..) => add(&mut ranges, term.column),
            Bound::NotNull => {}
        }
    }
    let position = |expr: &Expr| match expr.kind {
        ExprKind::Slot(slot) => slots.iter().position(|s| *s == Some(slot)),
        _ => None,
    };
    let ordered: Option<Vec<usize>> = match order.iter().all(|(_, descending)| *descending == order[0].1) {
        true => order.iter().map(|(expr, _)| position(expr)).collect(),
        false => None,
    };
    let mut lists: Vec<Vec<usize>> = vec![[known.as_slice(), &ranges[..ranges.len().min(1)]].concat()];
    lists.push([known.as_slice(), joined.as_slice()].concat());
    lists.extend(joined.iter().map(|column| [&[*column], known.as_slice()].concat()));
    lists.extend(ordered.map(|ordered| [known.as_slice(), ordered.as_slice()].concat()));
    let mut found: Vec<WantedIndex> = Vec::new();
    for list in lists {
        let is_key = |column: &usize| table.columns.get(*column).is_some_and(|c| !c.ty.is_blob() && c.generated.is_none());
        let mut ids: Vec<ColumnId> = Vec::new();
        for column in list.iter().filter_map(|column| table.columns.get(*column)) {
            if !ids.contains(&column.id) {
                ids.push(column.id);
            }
        }
        let begins_index = table.indexes.iter().any(|index| {
            index.parts.len() >= ids.len()
                && index.parts.iter().zip(&ids).all(|(part, id)| part.column == *id && part.prefix.is_none())
        });
        if !ids.is_empty() && list.iter().all(is_key) && !begins_index && !found.iter().any(|other| other.columns == ids) {
            found.push(WantedIndex { table: table.clone(), columns: ids });
        }
    }
    found
}
