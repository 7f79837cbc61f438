//! Functional dependencies: which columns of a block have one value wherever some others have.
//!
//! `Closure` begins with what is known to have one value and adds what follows from it, until nothing is new:
//!
//! - all columns of a table whose PRIMARY or UNIQUE key is known, if its columns are NOT NULL or a condition keeps them from NULL;
//! - a generated column whose base columns are known;
//! - a side of an equality that holds for all rows, if the other side is known and equal values are one value; for the table that an outer
//!   join adds, if what decides about the join is known;
//! - columns of a derived table, by a closure of its own query: `(SELECT id, a + b AS c FROM t)` gives c for id, a query with GROUP BY
//!   gives all for its keys.

use std::cell::Cell;
use std::collections::{BTreeSet, HashMap};

use vaquita_types::schema::TableDef;
use vaquita_types::stack;

use super::merge::as_optional;
use super::not_null::{columns_not_null, is_null_with};
use super::relation::{ColumnValue, Relation, RelationColumn, Source};
use super::{Logical, Query, Read};
use crate::expr::{CompareOp, Expr, ExprKind, Slot, SubqueryKind, SubqueryState};
use crate::func;
use crate::node::{OutputColumn, WindowFunction};
use crate::visit;

#[derive(Default)]
pub(crate) struct Closure<'q> {
    relations: &'q [Relation],
    equalities: Vec<Equality<'q>>,
    outer_joins: Vec<OuterJoin<'q>>,
    /// Slots of keys, and the results that these decide: of aggregates.
    groups: Vec<(Vec<Slot>, Vec<Slot>)>,
    /// MySQL takes the result of a window function for determined where its arguments are.
    windows: Vec<&'q WindowFunction>,
    /// Output columns that a clause names inside of an expression.
    named: &'q [Expr],
    /// Nothing follows from what is added.
    alone: bool,
    slots: BTreeSet<Slot>,
    /// Columns that conditions keep from NULL, but for the rows that an outer join did not find.
    not_null: BTreeSet<Slot>,
    exprs: Exprs<'q>,
    /// Of derived tables, by the position of their relation. What is known of them only grows.
    inside: HashMap<usize, Closure<'q>>,
    output: &'q [OutputColumn],
}

/// Expressions that are known as a whole.
#[derive(Default)]
struct Exprs<'q>(HashMap<u64, Vec<&'q Expr>>);

impl<'q> Exprs<'q> {
    fn contains(&self, expr: &Expr) -> bool {
        self.0.get(&visit::hash(expr)).is_some_and(|of_hash| of_hash.iter().any(|known| visit::same_as_written(known, expr)))
    }

    /// Whether it is new.
    fn insert(&mut self, expr: &'q Expr) -> bool {
        let of_hash = self.0.entry(visit::hash(expr)).or_default();
        let is_new = !of_hash.iter().any(|known| visit::same_as_written(known, expr));
        if is_new {
            of_hash.push(expr);
        }
        is_new
    }
}

/// Two sides that are equal in all rows.
struct Equality<'q> {
    sides: Sides<'q>,
    /// Both are known.
    done: Cell<bool>,
}

#[derive(Clone, Copy)]
enum Sides<'q> {
    Exprs(&'q Expr, &'q Expr),
    /// A key of GROUP BY and the slot that it fills.
    Key(Slot, &'q Expr),
}

impl<'q> Equality<'q> {
    fn new(sides: Sides<'q>) -> Equality<'q> {
        Equality { sides, done: Cell::new(false) }
    }
}

struct OuterJoin<'q> {
    /// The slots of the tables that it adds.
    optional: BTreeSet<Slot>,
    conditions: Vec<Equality<'q>>,
    /// What the conditions read of other tables.
    read: Vec<Slot>,
    /// What holds for all rows of these tables.
    inside: Vec<Equality<'q>>,
}

impl<'q> Closure<'q> {
    /// Of a block whose FROM is `tree` and whose WHERE is `filter`.
    pub fn new(
        relations: &'q [Relation],
        owners: &[Option<usize>],
        tree: Option<&'q Logical>,
        filter: &'q [Expr],
    ) -> Closure<'q> {
        let equalities = equalities(filter);
        let mut closure = Closure { relations, equalities, ..Closure::default() };
        closure.keep_from_null(filter, &|_| true);
        if let Some(tree) = tree {
            closure.add_joins(tree, owners);
        }
        closure
    }

    /// Of what is added alone, without what follows.
    pub fn of_added(relations: &'q [Relation]) -> Closure<'q> {
        Closure { relations, alone: true, ..Closure::default() }
    }

    /// Of a derived table's query; none where nothing is known of its rows.
    fn of_query(query: &'q Query) -> Option<Closure<'q>> {
        let Read::Output(output) = &query.block.read else { return None };
        let mut closure = Closure::new(&query.relations, &query.owners, None, &[]);
        closure.output = query.adapted.as_deref().unwrap_or(output);
        let mut node = &query.block.root;
        loop {
            node = match node {
                Logical::Having { input, predicate } => {
                    closure.equalities.extend(equalities(predicate));
                    input
                }
                Logical::Aggregate { input, keys, aggregates, rollup: false } => {
                    closure.equalities.extend(keys.iter().map(|(key, slot)| Equality::new(Sides::Key(*slot, key))));
                    let results = aggregates.iter().map(|aggregate| aggregate.slot).collect();
                    closure.groups.push((keys.iter().map(|(_, slot)| *slot).collect(), results));
                    input
                }
                Logical::Sort { input, .. }
                | Logical::Limit { input, .. }
                | Logical::Compute { input, .. }
                | Logical::Distinct { input } => input,
                Logical::Window { input, windows } => {
                    closure.windows.extend(windows);
                    input
                }
                Logical::Relation(_) | Logical::Filter { .. } | Logical::Join { .. } => {
                    closure.add_joins(node, &query.owners);
                    return Some(closure);
                }
                _ => return None,
            };
        }
    }

    fn add_joins(&mut self, tree: &'q Logical, owners: &[Option<usize>]) {
        let mut conditions = Vec::new();
        tree.inner_conditions(&mut conditions);
        self.keep_from_null(conditions.iter().copied(), &|_| true);
        self.equalities.extend(equalities(conditions));
        let mut joins = Vec::new();
        tree.outer_joins(&mut joins);
        for (tree, conditions) in joins {
            let (mut relations, mut inside) = (Vec::new(), Vec::new());
            tree.relations(&mut relations);
            tree.inner_conditions(&mut inside);
            let is_added = |slot: &Slot| owners.get(*slot).copied().flatten().is_some_and(|r| relations.contains(&r));
            // Rows that it does not find are NULL on both sides of what holds among the tables that it adds.
            let between = |condition: &&Expr| {
                matches!(&condition.kind, ExprKind::Compare(CompareOp::Eq, a, b, _)
                    if !visit::slots(a).is_empty() && !visit::slots(b).is_empty())
            };
            let optional: BTreeSet<Slot> = (0..owners.len()).filter(is_added).collect();
            self.keep_from_null(conditions.iter().chain(inside.iter().copied()), &|slot| optional.contains(&slot));
            let read = conditions.iter().flat_map(visit::slots).filter(|slot| !optional.contains(slot)).collect();
            self.outer_joins.push(OuterJoin {
                optional,
                conditions: equalities(conditions),
                read,
                inside: equalities(inside.into_iter().filter(between)),
            });
        }
    }

    /// `named`: output columns that a clause names inside of an expression.
    pub fn naming(self, named: &'q [Expr]) -> Closure<'q> {
        Closure { named, ..self }
    }

    fn keep_from_null<'c>(&mut self, conditions: impl IntoIterator<Item = &'c Expr>, wanted: &dyn Fn(Slot) -> bool) {
        let not_null = &mut self.not_null;
        for condition in conditions {
            columns_not_null(condition, &mut |slot| {
                if wanted(slot) {
                    not_null.insert(slot);
                }
            });
        }
    }

    /// `slots` have one value, and so do `exprs`, and what follows.
    pub fn add(&mut self, slots: impl IntoIterator<Item = Slot>, exprs: impl IntoIterator<Item = &'q Expr>) {
        self.slots.extend(slots);
        for expr in exprs {
            self.know(expr);
        }
        self.close();
    }

    /// A column in `expr` that may have several values.
    pub fn undetermined(&self, expr: &Expr) -> Option<Slot> {
        self.undetermined_at(expr, true)
    }

    /// As `undetermined`, of an operand. MySQL knows an expression by itself, but not inside of another: by the key `a + 1` there is
    /// `a + 1`, but no `ABS(a + 1)`.
    pub fn undetermined_inside(&self, expr: &Expr) -> Option<Slot> {
        self.undetermined_at(expr, false)
    }

    fn undetermined_at(&self, expr: &Expr, whole: bool) -> Option<Slot> {
        if let ExprKind::Slot(slot) = expr.kind {
            return (!self.slots.contains(&slot)).then_some(slot);
        }
        if self.exprs.contains(expr) && (whole || self.is_column(expr)) {
            return None;
        }
        // A column of a merged table or view is known by itself, if nothing follows from others.
        if self.alone && !expr.is_leaf() && self.is_merged_column(expr) {
            return visit::slots(expr).into_iter().next();
        }
        if let ExprKind::Call(def, _) = &expr.kind
            && func::lookup("ANY_VALUE").is_some_and(|any| std::ptr::eq(*def, any))
        {
            return None;
        }
        // Where an outer join found no row the column is NULL, which MySQL forgets about constants.
        if let Some((value, _)) = as_optional(expr)
            && visit::slots(value).is_empty()
        {
            return self.undetermined(value);
        }
        let mut found = None;
        visit::children(expr, &mut |child| {
            if found.is_none() {
                found = self.undetermined_inside(child);
            }
        });
        if found.is_none()
            && let ExprKind::Subquery(subquery) = &expr.kind
        {
            let mut read = Vec::new();
            visit::subquery_slots(subquery, 0, &mut read);
            found = read.into_iter().find(|slot| !self.slots.contains(slot) && !self.is_within_known(*slot));
        }
        found
    }

    /// As `undetermined`, of what is read outside of subqueries.
    pub fn undetermined_outside(&self, expr: &Expr) -> Option<Slot> {
        if !visit::has_subquery(expr) {
            return self.undetermined_inside(expr);
        }
        let mut found = None;
        visit::children(expr, &mut |child| {
            if found.is_none() {
                found = self.undetermined_outside(child);
            }
        });
        found
    }

    /// A column of a merged table or view, or an output column that is named.
    fn is_column(&self, expr: &Expr) -> bool {
        self.named.iter().any(|named| visit::same_as_written(named, expr)) || self.is_merged_column(expr)
    }

    fn is_merged_column(&self, expr: &Expr) -> bool {
        let is_it = |column: &RelationColumn| matches!(&column.value, ColumnValue::Expr(value) if visit::same(value, expr));
        self.merged().flat_map(|relation| &relation.columns).any(is_it)
    }

    fn merged(&self) -> impl Iterator<Item = &'q Relation> {
        self.relations.iter().filter(|relation| matches!(relation.source, Source::Merged))
    }

    /// A column of a merged table or view that has one value reads the slot: what a subquery reads of it is taken for that column, as MySQL does.
    fn is_within_known(&self, slot: Slot) -> bool {
        self.merged().flat_map(|relation| &relation.columns).any(|column| match &column.value {
            ColumnValue::Expr(expr) => visit::slots(expr).contains(&slot) && self.undetermined(expr).is_none(),
            _ => false,
        })
    }

    /// What an equality may tell of: a column.
    fn may_be_told(&self, expr: &Expr) -> bool {
        matches!(expr.kind, ExprKind::Slot(_)) || self.is_column(expr)
    }

    /// What may tell of a column that is equal: another column, or what reads none.
    fn may_tell(&self, expr: &Expr) -> bool {
        visit::slots(expr).is_empty() || self.may_be_told(expr)
    }

    fn is_determined(&self, expr: &Expr) -> bool {
        is_steady(expr) && self.undetermined(expr).is_none()
    }

    /// Whether it is new.
    fn know(&mut self, expr: &'q Expr) -> bool {
        match expr.kind {
            ExprKind::Slot(slot) => self.slots.insert(slot),
            _ => self.exprs.insert(expr),
        }
    }

    fn close(&mut self) {
        if self.alone {
            return;
        }
        while self.equals() | self.joins() | self.groups() | self.tables() {}
    }

    fn equals(&mut self) -> bool {
        let mut new = false;
        let equalities = std::mem::take(&mut self.equalities);
        for equality in &equalities {
            new |= self.follow(equality, &|_| true);
        }
        self.equalities = equalities;
        new
    }

    /// Whether one side is known by the other, which was not known before.
    fn follow(&mut self, equality: &Equality<'q>, wanted: &dyn Fn(&Expr) -> bool) -> bool {
        if equality.done.get() {
            return false;
        }
        let done = match equality.sides {
            Sides::Exprs(a, b) => {
                let told =
                    |(x, y): &(&Expr, &Expr)| wanted(x) && self.is_determined(y) && self.may_be_told(x) && self.may_tell(y);
                let known = [(a, b), (b, a)].into_iter().find(told);
                known.map(|(x, _)| self.know(x)).is_some()
            }
            Sides::Key(slot, key) if self.slots.contains(&slot) => {
                self.know(key);
                true
            }
            Sides::Key(slot, key) => self.is_determined(key) && self.slots.insert(slot),
        };
        equality.done.set(done);
        done
    }

    fn joins(&mut self) -> bool {
        let mut new = false;
        let joins = std::mem::take(&mut self.outer_joins);
        for OuterJoin { optional, conditions, read, inside } in &joins {
            for equality in inside {
                new |= self.follow(equality, &|_| true);
            }
            // Which rows the join adds is decided by what its conditions read of the other side.
            if read.iter().all(|slot| self.slots.contains(slot)) {
                let of_added = |expr: &Expr| {
                    let slots = visit::slots(expr);
                    !slots.is_empty() && slots.iter().all(|slot| optional.contains(slot))
                };
                for equality in conditions {
                    new |= self.follow(equality, &of_added);
                }
            }
        }
        self.outer_joins = joins;
        new
    }

    fn groups(&mut self) -> bool {
        let mut new = false;
        for window in &self.windows {
            new |= window.args.iter().all(|arg| self.is_determined(arg)) && self.slots.insert(window.slot);
        }
        for (keys, results) in &self.groups {
            if keys.iter().all(|key| self.slots.contains(key)) {
                for result in results {
                    new |= self.slots.insert(*result);
                }
            }
        }
        new
    }

    fn tables(&mut self) -> bool {
        let mut new = false;
        let relations = self.relations;
        for (at, relation) in relations.iter().enumerate() {
            match &relation.source {
                Source::Base(table) if self.has_key(relation, table) => {
                    for slot in (0..relation.columns.len()).filter_map(|column| relation.slot(column)).chain(relation.key_slot) {
                        new |= self.slots.insert(slot);
                    }
                }
                Source::Base(_) => {
                    for (column, _) in &relation.generated {
                        let slot = relation.slot(*column).filter(|_| self.is_generated_of_known(relation, *column));
                        new |= slot.is_some_and(|slot| self.slots.insert(slot));
                    }
                }
                Source::Derived { query, lateral: false, .. } => {
                    new |= query.bound().is_some_and(|query| self.derived(at, relation, query));
                }
                _ => {}
            }
        }
        new
    }

    /// All that the column is generated of is known. Where an outer join found no row it is NULL, and so must be what it is generated of.
    fn is_generated_of_known(&self, relation: &Relation, column: usize) -> bool {
        let Some((_, expr)) = relation.generated.iter().find(|(generated, _)| *generated == column) else { return false };
        let is_known = |base: Slot| {
            relation.slot(base).is_some_and(|slot| self.slots.contains(&slot)) || self.is_generated_of_known(relation, base)
        };
        (!relation.optional || is_null_with(expr, &|_| true)) && visit::slots(expr).into_iter().all(is_known)
    }

    fn has_key(&self, relation: &Relation, table: &TableDef) -> bool {
        table.indexes.iter().any(|index| {
            index.is_unique()
                && !index.parts.is_empty()
                && index.parts.iter().all(|part| {
                    table.position_of(part.column).is_some_and(|column| {
                        let nullable = table.columns[column].nullable;
                        part.prefix.is_none()
                            && relation
                                .slot(column)
                                .is_some_and(|slot| self.slots.contains(&slot) && (!nullable || self.not_null.contains(&slot)))
                    })
                })
        })
    }

    fn derived(&mut self, at: usize, relation: &'q Relation, query: &'q Query) -> bool {
        let (mut inside, first) = match self.inside.remove(&at) {
            Some(inside) => (inside, false),
            None => match Closure::of_query(query) {
                Some(inside) => (inside, true),
                None => return false,
            },
        };
        let columns = inside.output.iter().enumerate();
        let columns: Vec<(Slot, &Expr)> = columns.filter_map(|(n, column)| Some((relation.slot(n)?, &column.expr))).collect();
        let known = || columns.iter().filter(|(slot, _)| self.slots.contains(slot)).map(|(_, expr)| *expr);
        if known().fold(first, |grows, expr| inside.know(expr) | grows) {
            stack::deeper(|| inside.close());
        }
        // Where an outer join found no row, all columns are NULL: a known column that is never NULL otherwise tells these rows apart.
        // MySQL forgets this about constants.
        let told_apart = !relation.optional || known().any(|expr| !expr.nullable);
        let mut new = false;
        for (slot, expr) in columns {
            new |= (told_apart || visit::slots(expr).is_empty()) && inside.is_determined(expr) && self.slots.insert(slot);
        }
        self.inside.insert(at, inside);
        new
    }
}

/// What conditions say about the values of a row. Equal is equal to MySQL here, also between types and collations that do not tell all
/// values apart.
fn equalities<'q>(conditions: impl IntoIterator<Item = &'q Expr>) -> Vec<Equality<'q>> {
    let mut found = Vec::new();
    conditions.into_iter().for_each(|condition| add_equalities(condition, false, &mut found));
    found
}

fn add_equalities<'q>(condition: &'q Expr, negated: bool, found: &mut Vec<Equality<'q>>) {
    match (&condition.kind, negated) {
        (ExprKind::Compare(CompareOp::Eq, a, b, _), false) | (ExprKind::Compare(CompareOp::Ne, a, b, _), true) => {
            found.push(Equality::new(Sides::Exprs(constant_of(a).unwrap_or(a), constant_of(b).unwrap_or(b))));
        }
        (ExprKind::Not(inner), _) => add_equalities(inner, !negated, found),
        (ExprKind::And(terms), false) | (ExprKind::Or(terms), true) => {
            terms.iter().for_each(|term| add_equalities(term, negated, found));
        }
        (ExprKind::Subquery(sub), false) => {
            if let (SubqueryKind::In { left, negated: false, .. }, Some(constant)) = (&sub.kind, constant_of(condition)) {
                found.push(Equality::new(Sides::Exprs(left, constant)));
            }
        }
        _ => {}
    }
}

/// The constant that a query without tables selects.
fn constant_of(expr: &Expr) -> Option<&Expr> {
    let ExprKind::Subquery(sub) = &expr.kind else { return None };
    let SubqueryState::Bound(bound) = &sub.query else { return None };
    let [one] = bound.output.as_slice() else { return None };
    (bound.of_no_table && bound.reads.is_empty() && visit::slots(&one.expr).is_empty()).then_some(&one.expr)
}

/// It has one value wherever its columns have.
fn is_steady(expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Call(def, _) if !def.is_steady() => return false,
        ExprKind::Subquery(_) | ExprKind::UserVar(_) => return false,
        _ => {}
    }
    let mut steady = true;
    visit::children(expr, &mut |child| steady = steady && is_steady(child));
    steady
}
