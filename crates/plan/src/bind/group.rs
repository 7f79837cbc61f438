//! GROUP BY: its keys, and the rule ONLY_FULL_GROUP_BY.
//!
//! A column outside of aggregates must be determined by the keys: it is one, or it belongs to a table whose
//! PRIMARY or UNIQUE NOT NULL key is among what is determined (also by equalities in WHERE and joins). Example:
//! `SELECT name, SUM(x) FROM t GROUP BY id` is right if id is the primary key, else error 1055.

use std::collections::BTreeSet;

use vaquita_parser as ast;
use vaquita_types::{Error, Result, errno, sql_mode};

use super::select::Block;
use super::{Binder, Clause, Source};
use crate::expr::{CompareOp, Expr, ExprKind, Slot};
use crate::func;
use crate::logical::Logical;
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

    /// Error 1056 for a key that is an aggregate or window function by alias or position, 1111 for one that is written.
    fn check_group_key(&mut self, key: &Expr, output: &[OutputColumn], named: bool) -> Result<()> {
        let frame = self.frame();
        let made: Vec<Slot> = frame.aggregates.iter().map(|a| a.slot).chain(frame.windows.iter().map(|w| w.slot)).collect();
        if visit::slots(key).iter().any(|s| made.contains(s)) {
            if !named {
                return Err(Error::new(&errno::ER_INVALID_GROUP_FUNC_USE, &[]));
            }
            let name = output.iter().find(|o| visit::same(&o.expr, key)).map_or("", |o| o.name.as_str());
            return Err(Error::new(&errno::ER_WRONG_GROUP_FIELD, &[&name]));
        }
        Ok(())
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
            let Some(position) = aggregate.args.first().and_then(|arg| keys.iter().position(|k| visit::same(k, arg))) else {
                return Err(Error::new(&errno::ER_FIELD_IN_GROUPING_NOT_GROUP_BY, &[&1]));
            };
            aggregate.args = vec![Expr::int(position as i64)];
        }
        Ok(())
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
        let mut known = Known::new(&keys, |(key, _)| key);
        let mut change = |e: &mut Expr| replace(e, &mut known, rollup);
        block.output.iter_mut().for_each(|o| change(&mut o.expr));
        block.having.iter_mut().for_each(&mut change);
        block.order_by.iter_mut().for_each(|k| change(&mut k.expr));
        for window in windows {
            window.args.iter_mut().for_each(&mut change);
            window.partition_by.iter_mut().for_each(&mut change);
            window.order_by.iter_mut().for_each(|k| change(&mut k.expr));
        }
        keys
    }

    pub(super) fn check_group_by(&mut self, block: &Block, grouped: bool) -> Result<()> {
        if !grouped || !self.mode(sql_mode::ONLY_FULL_GROUP_BY) {
            return Ok(());
        }
        let frame = self.frame();
        let mut known: BTreeSet<Slot> = frame.aggregates.iter().map(|a| a.slot).collect();
        known.extend(frame.windows.iter().map(|w| w.slot));
        known.extend(block.group_by.iter().filter_map(super::scope::plain_slot));
        self.close(&mut known, block);
        let mut keys = Known::new(&block.group_by, |key| key);
        for (n, column) in block.output.iter().enumerate() {
            if let Some(slot) = undetermined(&column.expr, &mut keys, &known) {
                return Err(self.group_error(n + 1, "SELECT list", slot, block.group_by.is_empty()));
            }
        }
        // Without GROUP BY there is one row: its order means nothing.
        for (n, key) in block.order_by.iter().enumerate().filter(|_| !block.group_by.is_empty()) {
            if let Some(slot) = undetermined(&key.expr, &mut keys, &known) {
                return Err(self.group_error(n + 1, "ORDER BY clause", slot, false));
            }
        }
        for having in &block.having {
            if let Some(slot) = undetermined(having, &mut keys, &known) {
                let name = self.column_name(slot, false);
                return Err(Error::new(&errno::ER_BAD_FIELD_ERROR, &[&name, &"having clause"]));
            }
        }
        Ok(())
    }

    /// Errors 3065 and 3066: ORDER BY of a DISTINCT query by a column or an aggregate that is not selected.
    pub(super) fn check_distinct_order(&mut self, block: &Block, grouped: bool) -> Result<()> {
        let one_row = grouped && block.group_by.is_empty();
        if !block.distinct || one_row || !self.mode(sql_mode::ONLY_FULL_GROUP_BY) {
            return Ok(());
        }
        let mut selected = Known::new(&block.output, |o| &o.expr);
        let exprs = block.output.iter().map(|o| &o.expr);
        let known: BTreeSet<Slot> =
            exprs.filter_map(super::scope::plain_slot).chain(self.frame().windows.iter().map(|w| w.slot)).collect();
        for (n, key) in block.order_by.iter().enumerate() {
            if let Some(slot) = undetermined(&key.expr, &mut selected, &known) {
                if self.frame().aggregates.iter().any(|a| a.slot == slot) {
                    return Err(Error::new(&errno::ER_AGGREGATE_IN_ORDER_NOT_SELECT, &[&(n + 1), &"DISTINCT"]));
                }
                let name = self.column_name(slot, true);
                return Err(Error::new(&errno::ER_FIELD_IN_ORDER_NOT_SELECT, &[&(n + 1), &name, &"DISTINCT"]));
            }
        }
        Ok(())
    }

    fn group_error(&self, number: usize, clause: &str, slot: Slot, no_group_by: bool) -> Error {
        let name = self.column_name(slot, true);
        // MySQL sends the texts of 3087 and 3088 under the older numbers.
        let (def, text) = if no_group_by {
            (&errno::ER_MIX_OF_GROUP_FUNC_AND_FIELDS, &errno::ER_MIX_OF_GROUP_FUNC_AND_FIELDS_V2)
        } else {
            (&errno::ER_WRONG_FIELD_WITH_GROUP, &errno::ER_WRONG_FIELD_WITH_GROUP_V2)
        };
        Error::with_message(def, Error::new(text, &[&number, &clause, &name]).message())
    }

    /// `db.table.column` of a slot.
    pub(super) fn column_name(&self, slot: Slot, qualified: bool) -> String {
        let Some(frame) = self.frames.last() else { return String::new() };
        let Some(relation) = frame.slot_owner.get(slot).copied().flatten().map(|r| &frame.relations[r]) else {
            return String::new();
        };
        let column = (0..relation.columns.len())
            .find(|n| relation.slot(*n) == Some(slot))
            .or_else(|| self.first_matched(slot))
            .map_or("", |n| relation.columns[n].name.as_str());
        match (&relation.database, qualified) {
            (_, false) => column.to_string(),
            (Some(db), true) => format!("{db}.{}.{column}", relation.alias),
            (None, true) => format!("{}.{column}", relation.alias),
        }
    }

    fn outer_joins<'b>(&mut self, block: &'b Block) -> Vec<OuterJoin<'b>> {
        let mut joins = Vec::new();
        if let Some(tree) = &block.tree {
            tree.outer_joins(&mut joins);
        }
        let frame = self.frame();
        let slots_of = |tree: &Logical| {
            let mut relations = Vec::new();
            tree.relations(&mut relations);
            let owned = |slot: &Slot| frame.slot_owner.get(*slot).copied().flatten().is_some_and(|r| relations.contains(&r));
            (0..frame.width).filter(owned).collect()
        };
        let join = |(tree, conditions): (&'b Logical, &'b [Expr])| {
            let mut inside = Vec::new();
            tree.inner_conditions(&mut inside);
            OuterJoin { optional: slots_of(tree), conditions, inside }
        };
        joins.into_iter().map(join).collect()
    }

    /// Adds what keys and equalities determine, until nothing is new.
    fn close(&mut self, known: &mut BTreeSet<Slot>, block: &Block) {
        let mut equalities: Vec<&Expr> = block.filter.iter().collect();
        if let Some(tree) = &block.tree {
            tree.inner_conditions(&mut equalities);
        }
        let outer_joins = self.outer_joins(block);
        loop {
            let before = known.len();
            for condition in &equalities {
                add_equal(condition, known, |_| true);
            }
            // Which rows an outer join adds is decided by what its conditions read of the other side.
            for OuterJoin { optional, conditions, inside } in &outer_joins {
                // Rows that it does not find are NULL on both sides of what holds among the tables that it adds.
                for condition in inside.iter().filter(|condition| has_columns_on_both_sides(condition)) {
                    add_equal(condition, known, |_| true);
                }
                let read = conditions.iter().flat_map(visit::slots);
                if read.filter(|slot| !optional.contains(slot)).all(|slot| known.contains(&slot)) {
                    conditions.iter().for_each(|condition| add_equal(condition, known, |slot| optional.contains(&slot)));
                }
            }
            for relation in &self.frame().relations {
                let Source::Base(table) = &relation.source else { continue };
                let determined = table.indexes.iter().any(|index| {
                    index.is_unique()
                        && !index.parts.is_empty()
                        && index.parts.iter().all(|part| {
                            table.position_of(part.column).is_some_and(|c| {
                                !table.columns[c].nullable
                                    && part.prefix.is_none()
                                    && relation.slot(c).is_some_and(|s| known.contains(&s))
                            })
                        })
                });
                if determined {
                    known.extend((0..relation.columns.len()).filter_map(|c| relation.slot(c)).chain(relation.key_slot));
                }
            }
            if known.len() == before {
                return;
            }
        }
    }
}

struct OuterJoin<'b> {
    /// The slots of the tables that it adds.
    optional: BTreeSet<Slot>,
    conditions: &'b [Expr],
    /// What holds for all rows of these tables.
    inside: Vec<&'b Expr>,
}

fn has_columns_on_both_sides(condition: &Expr) -> bool {
    matches!(&condition.kind, ExprKind::Compare(CompareOp::Eq, a, b, _) if !visit::slots(a).is_empty() && !visit::slots(b).is_empty())
}

/// `condition` makes a column, if it is an equality, equal to something that is known.
fn add_equal(condition: &Expr, known: &mut BTreeSet<Slot>, wanted: impl Fn(Slot) -> bool) {
    let ExprKind::Compare(CompareOp::Eq, a, b, _) = &condition.kind else { return };
    for (x, y) in [(a, b), (b, a)] {
        if let ExprKind::Slot(slot) = x.kind
            && wanted(slot)
            && visit::slots(y).iter().all(|s| known.contains(s))
        {
            known.insert(slot);
        }
    }
}

/// A column in `expr` that the keys do not determine.
fn undetermined<T>(expr: &Expr, keys: &mut Known<T>, known: &BTreeSet<Slot>) -> Option<Slot> {
    if keys.find(expr).is_some() {
        return None;
    }
    if let ExprKind::Slot(slot) = expr.kind {
        return (!known.contains(&slot)).then_some(slot);
    }
    if let ExprKind::Call(def, _) = &expr.kind
        && func::lookup("ANY_VALUE").is_some_and(|any| std::ptr::eq(*def, any))
    {
        return None;
    }
    let mut found = None;
    visit::children(expr, &mut |child| {
        if found.is_none() {
            found = undetermined(child, keys, known);
        }
    });
    if found.is_none()
        && let ExprKind::Subquery(_) = expr.kind
    {
        found = visit::slots(expr).into_iter().find(|s| !known.contains(s));
    }
    found
}

fn replace(expr: &mut Expr, keys: &mut Known<(Expr, Slot)>, rollup: bool) {
    if let Some((key, slot)) = keys.find(expr) {
        let nullable = key.nullable || rollup;
        *expr = Expr { kind: ExprKind::Slot(*slot), nullable, ..key.clone() };
        return;
    }
    visit::children_mut(expr, &mut |child| replace(child, keys, rollup));
}
