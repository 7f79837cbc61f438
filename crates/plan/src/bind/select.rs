//! SELECT: binds the clauses in MySQL's order and stacks the nodes of the block.
//!
//! 1. FROM gives relations and a join tree, the select list output columns, WHERE conjuncts (IN and EXISTS
//!    subqueries among them may become semijoins).
//! 2. GROUP BY, HAVING, windows and ORDER BY are bound; grouped expressions are replaced by the slots of the keys.
//! 3. `optimize` plans the joins; above them come Aggregate, HAVING's Filter, Window, Distinct, Sort, Limit.

use vaquita_parser as ast;
use vaquita_types::schema::IndexDef;
use vaquita_types::{Error, Result, TypeKind, Value, errno};

use super::expr::as_condition;
use super::query::sorted;
use super::scope::Scope;
use super::{Binder, Clause, Source};
use crate::expr::{Expr, ExprKind, Slot};
use crate::node::{AggregateKind, Limit, LockWait, Node, OutputColumn, QueryPlan, RowLock, SortKey, WindowFunction};
use crate::optimize::{self, Tree, Want, visit};
use crate::uses::SELECT;

/// The bound clauses of a block.
pub(super) struct Block {
    pub tree: Option<Tree>,
    pub filter: Vec<Expr>,
    pub output: Vec<OutputColumn>,
    pub group_by: Vec<Expr>,
    pub rollup: bool,
    pub having: Vec<Expr>,
    pub order_by: Vec<SortKey>,
    pub limit: Option<Limit>,
    pub distinct: bool,
    pub straight: bool,
}

impl Binder<'_> {
    pub(super) fn select(&mut self, select: &ast::Select, query: &ast::Query) -> Result<QueryPlan> {
        let block = self.bind_block(select, query)?;
        let mut plan = self.plan_block(block)?;
        plan.calc_found_rows = select.options.calc_found_rows;
        Ok(plan)
    }

    fn bind_block(&mut self, select: &ast::Select, query: &ast::Query) -> Result<Block> {
        let frame = self.frames.len() - 1;
        let part = self.from(&select.from, SELECT)?;
        let (mut tree, relations, columns) = match part {
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
            f.windows.clear();
            output = self.select_items(&select.items)?;
        }
        self.frame().aggregates_allowed = false;
        self.frame().windows_allowed = false;
        let filter = match &select.filter {
            Some(filter) => self.in_clause(Clause::Where, |b| b.where_clause(filter, &mut tree))?,
            None => Vec::new(),
        };
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
        self.frame().aggregates_allowed = false;
        self.frame().windows_allowed = false;
        let limit = self.limit(query.limit.as_ref())?;
        let grouped = !group_by.is_empty() || !self.frame().aggregates.is_empty();
        if self.updating_frame == Some(frame) && !grouped && !select.options.distinct {
            self.updating_columns = self.columns_for_update(&mut output);
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
        })
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
            bound = as_condition(bound)?;
        }
        self.fold(&mut bound);
        Ok(visit::conjuncts(bound).into_iter().filter(|e| !is_true(e)).collect())
    }

    /// FOR UPDATE and FOR SHARE (or SERIALIZABLE) mark the scans.
    fn apply_locks(&mut self, locks: &[ast::LockClause]) -> Result<()> {
        // Not the tables of a derived table, even if it was merged into this block.
        let all = self.scopes.last().map(|scope| scope.relations.clone()).unwrap_or_default();
        if !locks.is_empty() {
            // What the clauses say replaces the shared locks of SERIALIZABLE.
            all.iter().for_each(|r| self.frame().relations[*r].lock = None);
        }
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
                    return Err(Error::new(&errno::ER_UNRESOLVED_TABLE_LOCK, &[&format_args!("`{}`", name.name)]));
                };
                if relations[at].lock.is_some() || locked.contains(&at) {
                    return Err(Error::new(&errno::ER_DUPLICATE_TABLE_LOCK, &[&format_args!("`{}`", name.name)]));
                }
                locked.push(at);
            }
            for relation in locked {
                let relation_of = &mut self.frame().relations[relation];
                relation_of.lock = Some(lock);
                if changes && let Source::Base(table) = &relation_of.source {
                    let table = table.clone();
                    self.for_update.push(table);
                }
                self.note_table_use(frame, relation, |entry| entry.locks |= changes);
            }
        }
        Ok(())
    }

    fn plan_block(&mut self, mut block: Block) -> Result<QueryPlan> {
        let grouped = !block.group_by.is_empty() || !self.frame().aggregates.is_empty();
        self.check_group_by(&block, grouped)?;
        self.check_distinct_order(&block, grouped)?;
        if let Some(plan) = self.row_count(&block) {
            return Ok(plan);
        }
        self.place_groupings(&block.group_by)?;
        if grouped && block.group_by.is_empty() {
            block.order_by.clear();
        }
        let mut windows = std::mem::take(&mut self.frame().windows);
        let mut aggregates = std::mem::take(&mut self.frame().aggregates);
        if grouped && block.group_by.is_empty() && block.filter.is_empty() {
            self.extremes_by_member(&block, &mut aggregates);
        }
        let want = self.want(&block, grouped, &windows, &aggregates);
        let planned = optimize::plan_joins(self, block.tree.take(), std::mem::take(&mut block.filter), want, block.straight)?;
        let (mut node, mut ordered) = (planned.node, planned.ordered);
        let limit_one = planned.first_row_is_extreme;
        // Asked before the keys are taken out of the block: with them rows of different groups may be equal.
        let one_group = grouped && block.group_by.is_empty();
        if limit_one {
            node = Node::Limit { input: Box::new(node), limit: Limit { offset: None, count: Some(optimize::int_literal(1)) } };
        }
        if grouped {
            let keys = self.replace_keys(&mut block, &mut windows);
            let saved = block_slots(&block, &windows);
            let mut made: Vec<Slot> = aggregates.iter().map(|a| a.slot).collect();
            made.extend(keys.iter().map(|(_, slot)| *slot));
            let saved = saved.into_iter().filter(|s| !made.contains(s)).collect();
            let sorted_input = ordered && !keys.is_empty() && !block.rollup;
            aggregates.iter_mut().for_each(|a| a.args.iter_mut().for_each(|e| self.fold(e)));
            ordered = sorted_input && optimize::keys_follow(&block.order_by, &keys);
            node = Node::Aggregate { input: Box::new(node), keys, aggregates, saved, sorted_input, rollup: block.rollup };
        }
        if !block.having.is_empty() {
            node = Node::Filter { input: Box::new(node), predicate: std::mem::take(&mut block.having) };
        }
        if !windows.is_empty() {
            let saved = block_slots(&block, &windows);
            node = Node::Window { input: Box::new(node), windows, saved };
            ordered = false;
        }
        if block.distinct && !one_group {
            node = Node::Distinct { input: Box::new(node), keys: block.output.iter().map(|o| o.expr.clone()).collect() };
        }
        let saved = block.output.iter().flat_map(|o| visit::slots(&o.expr)).collect();
        let keys = if ordered { Vec::new() } else { block.order_by };
        let root = sorted(node, keys, block.limit, saved);
        Ok(self.finish_plan(root, block.output))
    }

    /// MIN and MAX of an ENUM or a SET compare labels, but MySQL takes the end of an ascending index where it has one, and that
    /// is in the order of the members. Its aggregates keep the column's type.
    fn extremes_by_member(&mut self, block: &Block, aggregates: &mut [crate::node::Aggregate]) {
        let Some(Tree::Leaf(relation)) = block.tree else { return };
        let relation = &self.frame().relations[relation];
        let Source::Base(table) = &relation.source else { return };
        for aggregate in aggregates {
            let [Expr { kind: ExprKind::Slot(slot), ty, .. }] = aggregate.args.as_slice() else { continue };
            let leads = |index: &IndexDef| {
                let part = index.parts.first().filter(|part| !part.descending);
                let column = part.and_then(|part| table.position_of(part.column));
                !index.invisible && column.is_some_and(|column| relation.slot(column) == Some(*slot))
            };
            let is_extreme = matches!(aggregate.kind, AggregateKind::Min | AggregateKind::Max);
            if is_extreme && matches!(ty.kind, TypeKind::Enum | TypeKind::Set) && table.indexes.iter().any(leads) {
                aggregate.ty = ty.clone();
            }
        }
    }

    /// The order of rows that would save a sort, and how many rows are needed of it.
    fn want(&self, block: &Block, grouped: bool, windows: &[WindowFunction], aggregates: &[crate::node::Aggregate]) -> Want {
        let mut want = Want::default();
        if grouped && block.group_by.is_empty() {
            want.extreme = optimize::extreme_of(aggregates);
            return want;
        }
        if !windows.is_empty() {
            return want;
        }
        if grouped {
            if !block.rollup && aggregates.iter().all(|a| a.order_by.is_empty()) {
                want.order = optimize::group_order(&block.group_by, &block.order_by);
                // With ORDER BY the directions count too.
                want.grouping = block.order_by.is_empty();
            }
            return want;
        }
        want.order = block.order_by.iter().map(|k| (k.expr.clone(), k.descending)).collect();
        if !block.distinct {
            want.limit = block.limit.as_ref().and_then(literal_rows);
        }
        want
    }

    /// `SELECT COUNT(*) FROM t`: storage knows the number.
    fn row_count(&mut self, block: &Block) -> Option<QueryPlan> {
        let Some(Tree::Leaf(relation)) = block.tree else { return None };
        let frame = self.frame();
        let [aggregate] = frame.aggregates.as_slice() else { return None };
        let countable = aggregate.kind == crate::node::AggregateKind::CountStar
            && block.filter.is_empty()
            && block.group_by.is_empty()
            && block.having.is_empty()
            && block.order_by.is_empty()
            && block.limit.is_none()
            && frame.windows.is_empty()
            && frame.relations[relation].lock.is_none();
        let slot = aggregate.slot;
        let Source::Base(table) = &frame.relations[relation].source else { return None };
        if !countable || table.indexes.is_empty() || frame.slot_owner.iter().any(Option::is_some) {
            return None;
        }
        let root = Node::RowCount { table: table.clone(), slot };
        let output = block.output.clone();
        Some(self.finish_plan(root, output))
    }
}

/// Slots that the output, ORDER BY, HAVING and windows read.
fn block_slots(block: &Block, windows: &[WindowFunction]) -> Vec<Slot> {
    let mut slots = Vec::new();
    let mut add = |e: &Expr| slots.extend(visit::slots(e));
    block.output.iter().for_each(|o| add(&o.expr));
    block.having.iter().for_each(&mut add);
    block.order_by.iter().for_each(|k| add(&k.expr));
    for window in windows {
        window.args.iter().chain(&window.partition_by).for_each(&mut add);
        window.order_by.iter().for_each(|k| add(&k.expr));
    }
    let made: Vec<Slot> = windows.iter().map(|w| w.slot).collect();
    slots.retain(|s| !made.contains(s));
    visit::unique(slots)
}

pub fn is_true(expr: &Expr) -> bool {
    matches!(&expr.kind, ExprKind::Literal(Value::Int(n)) if *n != 0)
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
