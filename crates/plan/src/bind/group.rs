//! GROUP BY: its keys, and the rule ONLY_FULL_GROUP_BY.
//!
//! A column outside of aggregates must be determined by the keys (`logical::dependencies`). Example:
//! `SELECT name, SUM(x) FROM t GROUP BY id` is right if id is the primary key, else error 1055.

use vaquita_parser as ast;
use vaquita_types::{Error, Result, errno, sql_mode};

use super::select::Block;
use super::{Binder, Clause, Source};
use crate::expr::{Expr, ExprKind, Slot};
use crate::logical::dependencies::Closure;
use crate::logical::{ColumnValue, Relation, RelationColumn};
use crate::node::{AggregateKind, OutputColumn, WindowFunction};
use crate::same_index::Known;
use crate::visit;

impl Binder<'_> {
    pub(super) fn group_by(&mut self, items: &[ast::Expr], output: &[OutputColumn]) -> Result<Vec<Expr>> {
        let mut keys: Vec<Expr> = Vec::with_capacity(items.len());
        for item in items {
            // Aggregates are bound only to be refused by their name.
            let allowed = std::mem::replace(&mut self.frame().aggregates_allowed, true);
            let key = self.order_expr(item, output, Clause::Group);
            self.frame().aggregates_allowed = allowed;
            let key = key?;
            let named = matches!(item, ast::Expr::Column(_) | ast::Expr::Literal(_));
            self.check_group_key(&key, output, named)?;
            keys.push(key);
        }
        self.frame().group_keys = keys.clone();
        Ok(keys)
    }

    /// Error 1056 for a key that is a selected aggregate or window function, by alias, position or as it is written; 1111 for any other that
    /// has one.
    fn check_group_key(&mut self, key: &Expr, output: &[OutputColumn], named: bool) -> Result<()> {
        let frame = self.frame();
        let made: Vec<Slot> = frame.aggregates.iter().map(|a| a.slot).chain(frame.windows.iter().map(|w| w.slot)).collect();
        if !visit::slots(key).iter().any(|s| made.contains(s)) {
            return Ok(());
        }
        let selected =
            output.iter().find(|o| visit::same(&o.expr, key)).filter(|_| named || matches!(key.kind, ExprKind::Slot(_)));
        match selected {
            Some(column) => Err(Error::new(&errno::ER_WRONG_GROUP_FIELD, &[&column.name])),
            None if named => Err(Error::new(&errno::ER_WRONG_GROUP_FIELD, &[&""])),
            None => Err(Error::new(&errno::ER_INVALID_GROUP_FUNC_USE, &[])),
        }
    }

    /// `GROUPING(x, …)`: a bit for each argument, 1 where ROLLUP made the key NULL. The aggregation fills a slot for each.
    pub(super) fn grouping(&mut self, call: &ast::FuncCall) -> Result<Expr> {
        let frame = self.frame();
        if !frame.grouped || !frame.aggregates_allowed || frame.inside_aggregate || call.args.is_empty() {
            return Err(Error::new(&errno::ER_INVALID_GROUP_FUNC_USE, &[]));
        }
        let mut bits: Option<Expr> = None;
        for arg in &call.args {
            let bit = self.grouping_bit(arg)?;
            bits = Some(match bits {
                None => bit,
                Some(before) => {
                    let two = Expr::int(2);
                    let shifted = self.call("*", vec![before, two])?;
                    self.call("+", vec![shifted, bit])?
                }
            });
        }
        bits.ok_or_else(|| Error::internal("GROUPING of nothing"))
    }

    /// The aggregates' GROUPING arguments become the positions of their keys; error 3602.
    pub(super) fn place_groupings(&mut self, keys: &[Expr]) -> Result<()> {
        for aggregate in self.frame().aggregates.iter_mut().filter(|a| a.kind == AggregateKind::Grouping) {
            let Some(position) = aggregate.args.first().and_then(|arg| keys.iter().position(|k| visit::same_as_written(k, arg)))
            else {
                return Err(Error::new(&errno::ER_FIELD_IN_GROUPING_NOT_GROUP_BY, &[&1]));
            };
            aggregate.args = vec![Expr::int(position as i64)];
        }
        Ok(())
    }

    /// Keys that change with each evaluation get a slot for the value by which a row is grouped.
    pub(super) fn values_of_keys(&mut self, keys: &mut [(Expr, Slot)]) -> Vec<(Expr, Slot)> {
        let mut values = Vec::new();
        for (key, _) in keys.iter_mut().filter(|(key, _)| visit::changes(key)) {
            let slot = self.new_slot();
            let value = Expr { kind: ExprKind::Slot(slot), ..key.clone() };
            values.push((std::mem::replace(key, value), slot));
        }
        values
    }

    /// Replaces the keys in all that comes after the aggregation by the slots that it fills.
    pub(super) fn replace_keys(&mut self, block: &mut Block, windows: &mut [WindowFunction]) -> Vec<(Expr, Slot)> {
        let mut keys: Vec<(Expr, Slot)> = Vec::with_capacity(block.group_by.len());
        for key in std::mem::take(&mut block.group_by) {
            let slot = self.new_slot();
            keys.push((key, slot));
        }
        let rollup = block.rollup;
        // What may be a sum's NULL is no table's column.
        for column in
            block.output.iter_mut().filter(|column| rollup && keys.iter().any(|(key, _)| visit::same(key, &column.expr)))
        {
            column.origin = None;
        }
        for (key, slot) in keys.iter().filter(|(key, _)| visit::changes(key)) {
            let column = block.output.iter().position(|column| visit::same_as_written(&column.expr, key));
            let value = Expr { kind: ExprKind::Slot(*slot), nullable: key.nullable || rollup, ..key.clone() };
            block.put_value(column, key, &value);
        }
        let mut known = Known::new(&keys, |(key, _)| key);
        let mut change = |e: &mut Expr| replace(e, &mut known, rollup);
        block.output.iter_mut().for_each(|o| change(&mut o.expr));
        block.having.iter_mut().for_each(&mut change);
        block.order_by.iter_mut().for_each(|k| change(&mut k.expr));
        for window in windows {
            window.args.iter_mut().for_each(&mut change);
            window.partition_by.iter_mut().for_each(&mut change);
            window.order_by.iter_mut().for_each(|k| change(&mut k.expr));
            window.bounds_mut().for_each(&mut change);
        }
        keys
    }

    pub(super) fn check_group_by(&self, block: &Block, grouped: bool) -> Result<()> {
        if !grouped || !self.mode(sql_mode::ONLY_FULL_GROUP_BY) {
            return Ok(());
        }
        let Some(frame) = self.frames.last() else { return Ok(()) };
        // What ROLLUP makes NULL decides about nothing else.
        let mut known = match block.rollup {
            true => Closure::of_added(&frame.relations),
            false => Closure::new(&frame.relations, &frame.slot_owner, block.tree.as_ref(), &block.filter),
        }
        .naming(&frame.named_output);
        let made = frame.aggregates.iter().map(|a| a.slot).chain(frame.windows.iter().map(|w| w.slot));
        known.add(made, &block.group_by);
        let error = |n: usize, clause: &str, expr: &Expr, slot: Slot| {
            group_error(n + 1, clause, &self.undetermined_name(&known, expr, slot), block.group_by.is_empty())
        };
        let refuse = |n: usize, clause: &str, expr: &Expr| {
            known.undetermined(expr).map_or(Ok(()), |slot| Err(error(n, clause, expr, slot)))
        };
        for (n, column) in block.output.iter().enumerate() {
            refuse(n, "SELECT list", &column.expr)?;
            let read = if frame.windows.is_empty() { Vec::new() } else { visit::slots(&column.expr) };
            let of_column = frame.windows.iter().filter(|window| read.contains(&window.slot));
            for arg in of_column.flat_map(|window| &window.args) {
                known.undetermined_inside(arg).map_or(Ok(()), |slot| Err(error(n, "SELECT list", arg, slot)))?;
            }
        }
        // Without GROUP BY there is one row: its order means nothing.
        for (n, key) in block.order_by.iter().enumerate().filter(|_| !block.group_by.is_empty()) {
            refuse(n, "ORDER BY clause", &key.expr)?;
        }
        for (n, having) in block.having.iter().enumerate() {
            if let Some(slot) = known.undetermined(having) {
                if known.undetermined_outside(having).is_none() {
                    return Err(group_error(n + 1, "HAVING clause", &self.column_name(slot, true), block.group_by.is_empty()));
                }
                let name = self.column_name(slot, false);
                return Err(Error::new(&errno::ER_BAD_FIELD_ERROR, &[&name, &"having clause"]));
            }
        }
        for (name, keys) in &frame.unused_windows {
            let clause = window_clause(name);
            keys.iter().enumerate().try_for_each(|(n, key)| refuse(n, &clause, key))?;
        }
        for window in &frame.windows {
            let clause = window_clause(&window.window);
            let keys = window.partition_by.iter().chain(window.order_by.iter().map(|key| &key.expr));
            keys.enumerate().try_for_each(|(n, key)| refuse(n, &clause, key))?;
        }
        Ok(())
    }

    /// Errors 3065 and 3066: ORDER BY of a DISTINCT query by a column or an aggregate that is not selected.
    pub(super) fn check_distinct_order(&self, block: &Block, grouped: bool) -> Result<()> {
        // Groups whose keys are all selected are distinct anyway.
        let is_selected = |key: &Expr| block.output.iter().any(|column| visit::same_as_written(&column.expr, key));
        let are_distinct = grouped && !block.rollup && block.group_by.iter().all(is_selected);
        if !block.distinct || are_distinct || !self.mode(sql_mode::ONLY_FULL_GROUP_BY) {
            return Ok(());
        }
        let Some(frame) = self.frames.last() else { return Ok(()) };
        let mut selected = Closure::of_added(&frame.relations).naming(&frame.named_output);
        selected.add(frame.windows.iter().map(|w| w.slot), block.output.iter().map(|o| &o.expr));
        for (n, key) in block.order_by.iter().enumerate() {
            if let Some(slot) = selected.undetermined(&key.expr) {
                if frame.aggregates.iter().any(|a| a.slot == slot) {
                    return Err(Error::new(&errno::ER_AGGREGATE_IN_ORDER_NOT_SELECT, &[&(n + 1), &"DISTINCT"]));
                }
                let name = self.undetermined_name(&selected, &key.expr, slot);
                return Err(Error::new(&errno::ER_FIELD_IN_ORDER_NOT_SELECT, &[&(n + 1), &name, &"DISTINCT"]));
            }
        }
        Ok(())
    }

    /// The name of what is not determined in `expr`: the column of a view or derived table that was merged, or that of `slot`.
    fn undetermined_name(&self, known: &Closure<'_>, expr: &Expr, slot: Slot) -> String {
        let Some(frame) = self.frames.last() else { return String::new() };
        let merged = frame.relations.iter().rev().filter(|relation| matches!(relation.source, Source::Merged));
        let is_it = |column: &RelationColumn| matches!(&column.value, ColumnValue::Expr(value) if visit::same(value, expr));
        let named = merged.flat_map(|relation| relation.columns.iter().map(move |column| (relation, column)));
        if let Some((relation, column)) = named.into_iter().find(|(_, column)| is_it(column)) {
            return qualified_name(relation, &column.name);
        }
        let mut child_of_it = None;
        visit::children(expr, &mut |child| {
            if child_of_it.is_none() {
                child_of_it = known.undetermined_inside(child).map(|slot| (child, slot));
            }
        });
        match child_of_it {
            Some((child, slot)) => self.undetermined_name(known, child, slot),
            None => self.column_name(slot, true),
        }
    }

    /// `db.table.column` of a slot.
    pub(super) fn column_name(&self, slot: Slot, qualified: bool) -> String {
        let Some(frame) = self.frames.last() else { return String::new() };
        let Some(relation) = frame.slot_owner.get(slot).copied().flatten().map(|r| &frame.relations[r]) else {
            return String::new();
        };
        let column =
            relation.column_of(slot).or_else(|| self.first_matched(slot)).map_or("", |n| relation.columns[n].name.as_str());
        if qualified { qualified_name(relation, column) } else { column.to_string() }
    }
}

fn window_clause(window: &str) -> String {
    format!("PARTITION BY or ORDER BY clause of window '{window}'")
}

fn qualified_name(relation: &Relation, column: &str) -> String {
    match &relation.database {
        Some(db) => format!("{db}.{}.{column}", relation.alias),
        None => format!("{}.{column}", relation.alias),
    }
}

fn group_error(number: usize, clause: &str, name: &str, no_group_by: bool) -> Error {
    // MySQL sends the texts of 3087 and 3088 under the older numbers.
    let (def, text) = if no_group_by {
        (&errno::ER_MIX_OF_GROUP_FUNC_AND_FIELDS, &errno::ER_MIX_OF_GROUP_FUNC_AND_FIELDS_V2)
    } else {
        (&errno::ER_WRONG_FIELD_WITH_GROUP, &errno::ER_WRONG_FIELD_WITH_GROUP_V2)
    };
    Error::with_message(def, Error::new(text, &[&number, &clause, &name]).message())
}

fn replace(expr: &mut Expr, keys: &mut Known<(Expr, Slot)>, rollup: bool) {
    if let Some((key, slot)) = keys.find(expr) {
        let nullable = key.nullable || rollup;
        *expr = Expr { kind: ExprKind::Slot(*slot), nullable, ..key.clone() };
        return;
    }
    visit::children_mut(expr, &mut |child| replace(child, keys, rollup));
}
