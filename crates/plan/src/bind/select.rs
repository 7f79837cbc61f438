//! SELECT: binds the clauses in MySQL's order and stacks the nodes of the block.
//!
//! 1. FROM gives relations and a join tree, the select list output columns, WHERE conjuncts.
//! 2. GROUP BY, HAVING, windows and ORDER BY are bound; grouped expressions are replaced by the slots of the keys.
//! 3. The bound clauses become the block's logical tree.

use std::sync::Arc;
use vaquita_parser as ast;
use vaquita_types::{Error, Result, Value, errno};

use super::dictionary::is_dictionary_view;
use super::scope::Scope;
use super::{Binder, Clause, Source};
use crate::expr::{Expr, ExprKind, Slot};
use crate::logical::{Logical, LogicalBlock, Read};
use crate::node::{Limit, LockWait, OutputColumn, RowLock, SortKey};
use crate::same_index::SameIndex;
use crate::uses::SELECT;
use crate::visit;

/// The bound clauses of a block.
pub(super) struct Block {
    pub tree: Option<Logical>,
    pub filter: Vec<Expr>,
    pub output: Vec<OutputColumn>,
    pub group_by: Vec<Expr>,
    pub rollup: bool,
    pub having: Vec<Expr>,
    pub order_by: Vec<SortKey>,
    pub limit: Option<Limit>,
    pub distinct: bool,
    pub straight: bool,
    pub calc_found_rows: bool,
}

impl Block {
    /// Puts `value` into the output column that computes `expr`, and wherever HAVING and ORDER BY name that.
    pub fn put_value(&mut self, column: Option<usize>, expr: &Expr, value: &Expr) {
        if let Some(column) = column.and_then(|at| self.output.get_mut(at)) {
            column.expr = value.clone();
        }
        self.having.iter_mut().for_each(|condition| put_value(condition, expr, value));
        self.order_by.iter_mut().for_each(|key| put_value(&mut key.expr, expr, value));
    }
}

fn put_value(within: &mut Expr, expr: &Expr, value: &Expr) {
    if visit::same_as_written(within, expr) {
        *within = value.clone();
        return;
    }
    visit::children_mut(within, &mut |child| put_value(child, expr, value));
}

impl Binder<'_> {
    pub(super) fn select(&mut self, select: &ast::Select, query: &ast::Query) -> Result<LogicalBlock> {
        let mut block = self.bind_block(select, query)?;
        self.leave_out_redundant(select, &mut block);
        let mut grouped = !block.group_by.is_empty() || !self.frame().aggregates.is_empty();
        self.refuse_rolled_up(&block)?;
        self.check_group_by(&block, grouped)?;
        self.check_distinct_order(&block, grouped)?;
        self.place_groupings(&block.group_by)?;
        let keys = if grouped || block.distinct { &mut [] } else { block.order_by.as_mut_slice() };
        self.name_generated(block.tree.as_mut(), &mut block.filter, keys)?;
        grouped |= self.group_distinct_for_update(&mut block, grouped);
        Ok(self.logical(block, grouped))
    }

    /// A DISTINCT query of whose tables ON DUPLICATE KEY UPDATE names columns becomes groups, which give those of their first rows.
    fn group_distinct_for_update(&mut self, block: &mut Block, grouped: bool) -> bool {
        let is_it = self.upsert.frame == Some(self.frames.len() - 1) && block.distinct && !grouped;
        if !is_it || !self.frame().windows.is_empty() {
            return false;
        }
        let keys: Vec<Expr> = block.output.iter().map(|column| column.expr.clone()).collect();
        self.upsert.columns = self.columns_for_update(&mut block.output);
        if self.upsert.columns.is_empty() {
            return false;
        }
        block.group_by = keys;
        block.distinct = false;
        true
    }

    fn bind_block(&mut self, select: &ast::Select, query: &ast::Query) -> Result<Block> {
        self.refuse_options(select)?;
        let frame = self.frames.len() - 1;
        let hinted = self.enter_hinted(select);
        let part = self.from(&select.from, SELECT)?;
        if let Some(block) = hinted {
            self.resolve_hints(block, part.as_ref().map_or(&[], |part| &part.relations));
        }
        let (tree, relations, columns) = match part {
            Some(part) => (Some(part.tree), part.relations, part.columns),
            None => (None, Vec::new(), Vec::new()),
        };
        self.scopes.push(Scope { frame, relations, columns, ..Scope::default() });
        self.apply_locks(&query.locks)?;
        let f = self.frame();
        f.named_windows = select.windows.clone();
        f.aggregates_allowed = true;
        f.windows_allowed = true;
        f.grouped = !select.group_by.is_empty();
        let mut output = self.select_items(&select.items)?;
        let f = self.frame();
        if f.any_value_seen && f.grouped && !f.aggregates.is_empty() {
            // Now it is known that ANY_VALUE picks a row of a group.
            f.aggregates.clear();
            f.aggregate_index = SameIndex::default();
            f.windows.clear();
            output = self.select_items(&select.items)?;
        }
        self.frame().aggregates_allowed = false;
        self.frame().windows_allowed = false;
        let filter = match &select.filter {
            Some(filter) => self.in_clause(Clause::Where, |b| b.where_clause(filter))?,
            None => Vec::new(),
        };
        self.end_where();
        self.set_aliases(&output);
        let group_by = self.group_by(&select.group_by, &output)?;
        self.frame().aggregates_allowed = true;
        let having = match &select.having {
            Some(having) => self.in_clause(Clause::Having, |b| b.condition(having))?,
            None => Vec::new(),
        };
        self.frame().windows_allowed = true;
        let implicit = group_by.is_empty() && self.frame().aggregates.is_empty();
        let order_by = self.order_keys(&query.order_by, &output)?;
        if implicit {
            self.check_order_of_rows(&order_by)?;
        }
        self.unused_windows()?;
        self.frame().aggregates_allowed = false;
        self.frame().windows_allowed = false;
        let limit = self.limit(query.limit.as_ref())?;
        let grouped = !group_by.is_empty() || !self.frame().aggregates.is_empty();
        if self.upsert.frame == Some(frame) && !grouped && !select.options.distinct {
            self.upsert.columns = self.columns_for_update(&mut output);
        }
        Ok(Block {
            tree,
            filter,
            output,
            group_by,
            rollup: select.rollup,
            having,
            order_by,
            limit,
            distinct: select.options.distinct,
            straight: select.options.straight_join,
            calc_found_rows: select.options.calc_found_rows,
        })
    }

    /// As MySQL, a query of IN, ANY, ALL or EXISTS has no order without LIMIT, no DISTINCT, and no groups that nothing is computed of.
    fn leave_out_redundant(&mut self, select: &ast::Select, block: &mut Block) {
        if !self.frame().of_predicate {
            return;
        }
        block.distinct = false;
        if block.limit.is_none() {
            block.order_by.clear();
        }
        let frame = self.frame();
        if frame.aggregates.is_empty() && frame.windows.is_empty() && select.having.is_none() && !block.rollup {
            block.group_by.clear();
        }
    }

    /// Error 1234 for what only the first SELECT of a statement may say.
    fn refuse_options(&self, select: &ast::Select) -> Result<()> {
        if self.first_select.is_none_or(|first| std::ptr::eq(first, select)) {
            return Ok(());
        }
        let ast::SelectOptions { high_priority, buffer_result, calc_found_rows, .. } = &select.options;
        let options =
            [(high_priority, "HIGH_PRIORITY"), (buffer_result, "SQL_BUFFER_RESULT"), (calc_found_rows, "SQL_CALC_FOUND_ROWS")];
        match options.into_iter().find(|(given, _)| **given) {
            Some((_, name)) => Err(Error::new(&errno::ER_CANT_USE_OPTION_HERE, &[&name])),
            None => Ok(()),
        }
    }

    /// Error 3029 for ORDER BY an aggregate in a block that has no other.
    fn check_order_of_rows(&mut self, order_by: &[SortKey]) -> Result<()> {
        let made: Vec<Slot> = self.frame().aggregates.iter().map(|a| a.slot).collect();
        match order_by.iter().position(|k| visit::slots(&k.expr).iter().any(|s| made.contains(s))) {
            Some(at) => Err(Error::new(&errno::ER_AGGREGATE_ORDER_NON_AGG_QUERY, &[&(at + 1)])),
            None => Ok(()),
        }
    }

    /// The names that later clauses may use for output columns; without an alias it is the text of the expression.
    pub(super) fn set_aliases(&mut self, output: &[OutputColumn]) {
        if let Some(scope) = self.scopes.last_mut() {
            let known = scope.aliases.len();
            scope.aliases.extend(output.iter().skip(known).map(|o| (o.name.clone(), o.expr.clone())));
        }
    }

    /// A condition as conjuncts, constants folded, those that are always true left out.
    pub fn condition(&mut self, expr: &ast::Expr) -> Result<Vec<Expr>> {
        let mut bound = self.scalar(expr)?;
        if self.frame().clause == Clause::Where {
            bound = self.as_condition(bound)?;
        }
        self.fold(&mut bound);
        if !self.frame().decided {
            self.note_condition(&mut bound);
        }
        let parts = visit::conjuncts(bound).into_iter().filter(|e| !is_true(e));
        match self.frame().clause {
            Clause::Where => parts.map(|part| self.null_or_zero_date(part)).collect(),
            _ => Ok(parts.collect()),
        }
    }

    /// FOR UPDATE and FOR SHARE mark the scans.
    fn apply_locks(&mut self, locks: &[ast::LockClause]) -> Result<()> {
        // Not the tables of a derived table, even if it was merged into this block.
        let all = self.scopes.last().map(|scope| scope.relations.clone()).unwrap_or_default();
        for clause in locks {
            self.locking = true;
            let frame = self.frames.len() - 1;
            let changes = clause.strength == ast::LockStrength::Update;
            let lock = RowLock {
                exclusive: changes,
                wait: match clause.wait {
                    ast::LockWait::Wait => LockWait::Wait,
                    ast::LockWait::NoWait => LockWait::NoWait,
                    ast::LockWait::SkipLocked => LockWait::SkipLocked,
                },
            };
            let mut locked = if clause.of.is_empty() { all.clone() } else { Vec::new() };
            for name in &clause.of {
                let relations = &self.frame().relations;
                let Some(at) = relations.iter().position(|r| r.is_called(name.db.as_deref(), &name.name)) else {
                    let db = name.db.as_ref().map_or_else(String::new, |db| format!("`{db}`."));
                    return Err(Error::new(&errno::ER_UNRESOLVED_TABLE_LOCK, &[&format_args!("{db}`{}`", name.name)]));
                };
                if relations[at].lock.is_some() || locked.contains(&at) {
                    return Err(Error::new(&errno::ER_DUPLICATE_TABLE_LOCK, &[&format_args!("`{}`", name.name)]));
                }
                locked.push(at);
            }
            let twice = locked.iter().map(|at| &self.frames[frame].relations[*at]).find(|relation| relation.lock.is_some());
            if let Some(relation) = twice {
                return Err(Error::new(&errno::ER_DUPLICATE_TABLE_LOCK, &[&relation.alias]));
            }
            // The tables of a view are locked, those of a derived table not.
            let merged: Vec<usize> = locked.iter().flat_map(|at| self.frames[frame].relations[*at].merged.clone()).collect();
            locked.extend(merged.into_iter().filter(|at| matches!(self.frames[frame].relations[*at].source, Source::Base(_))));
            for relation in locked {
                let relation_of = &mut self.frame().relations[relation];
                relation_of.lock = Some(lock);
                if let Source::Base(table) = &relation_of.source
                    && !changes
                    && is_dictionary_view(&table.database, &table.name)
                {
                    return Err(Error::new(&errno::ER_IS_QUERY_INVALID_CLAUSE, &[&"LOCK IN SHARE MODE"]));
                }
                if changes && let Source::Base(table) = &relation_of.source {
                    let table = table.clone();
                    self.for_update.push(table);
                }
                // Who defines a view locks nothing yet.
                let locks = changes && self.cx.names.is_none();
                self.note_object_use(frame, relation, |entry| entry.locks |= locks);
            }
        }
        Ok(())
    }

    /// What changes with each evaluation, is selected, and is compared by DISTINCT or ORDER BY too gets a slot, so that all have one value of it.
    fn values_read_again(&mut self, block: &mut Block, distinct: bool) -> Vec<(Expr, Slot)> {
        let keys = &block.order_by;
        let orders = |expr: &Expr| keys.iter().any(|key| visit::any(&key.expr, &|part| visit::same_as_written(part, expr)));
        let is_read_again = |expr: &Expr| visit::changes(expr) && (distinct || orders(expr));
        let again: Vec<bool> = block.output.iter().map(|column| is_read_again(&column.expr)).collect();
        let mut values = Vec::new();
        for (column, _) in block.output.iter_mut().zip(again).filter(|(_, again)| *again) {
            let slot = self.new_slot();
            let value = Expr { kind: ExprKind::Slot(slot), ..column.expr.clone() };
            block.order_by.iter_mut().for_each(|key| put_value(&mut key.expr, &column.expr, &value));
            values.push((std::mem::replace(&mut column.expr, value), slot));
        }
        values
    }

    /// The block as a tree. Its aggregates and windows come from the frame.
    fn logical(&mut self, mut block: Block, grouped: bool) -> LogicalBlock {
        let mut windows = std::mem::take(&mut self.frame().windows);
        let mut aggregates = std::mem::take(&mut self.frame().aggregates);
        // Asked before the keys are taken out of the block: with them rows of different groups may be equal.
        let one_group = grouped && block.group_by.is_empty();
        let mut root = block.tree.take().unwrap_or(Logical::One).filtered(std::mem::take(&mut block.filter));
        if grouped {
            aggregates.iter_mut().for_each(|a| a.args.iter_mut().for_each(|e| self.fold(e)));
            let mut keys = self.replace_keys(&mut block, &mut windows);
            root = root.computing(self.values_of_keys(&mut keys));
            root = Logical::Aggregate { input: Box::new(root), keys, aggregates, rollup: block.rollup };
        }
        if !block.having.is_empty() {
            root = Logical::Having { input: Box::new(root), predicate: std::mem::take(&mut block.having) };
        }
        if !windows.is_empty() {
            root = Logical::Window { input: Box::new(root), windows };
        }
        let distinct = block.distinct && !one_group;
        root = root.computing(self.values_read_again(&mut block, distinct));
        if distinct {
            root = Logical::Distinct { input: Box::new(root) };
        }
        LogicalBlock {
            root: root.sorted(block.order_by, block.limit),
            read: Read::Output(block.output),
            straight: block.straight || self.has_fixed_order(),
            calc_found_rows: block.calc_found_rows,
            facts: Arc::clone(&self.facts),
            hints: self.block_hints(),
        }
    }
}

pub fn is_true(expr: &Expr) -> bool {
    matches!(&expr.kind, ExprKind::Literal(Value::Int(n)) if *n != 0)
}
