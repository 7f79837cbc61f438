//! UPDATE of one or several tables.
//!
//! All columns of every changed table get slots, so that the executor can build the new row in the frame;
//! assignments are in their written order and each sees what those before it set, as in MySQL.

use std::sync::Arc;
use vaquita_parser as ast;
use vaquita_types::schema::TableDef;
use vaquita_types::{Error, Result, errno};

use super::hints::{Hinted, HintedBlock};
use super::scope::{Scope, written};
use super::through_view::Changing;
use super::{Binder, Clause, Source};
use crate::expr::Slot;
use crate::logical::{Logical, LogicalBlock, Read};
use crate::node::{Assignment, LockWait, Node, Plan, RowLock, UpdatePlan, UpdateTarget};
use crate::uses::{Actions, SELECT_OR_UPDATE, UPDATE};

/// The lock of rows that a statement changes.
pub(super) const EXCLUSIVE: RowLock = RowLock { exclusive: true, wait: LockWait::Wait };

impl Binder<'_> {
    pub(super) fn update(&mut self, update: &ast::Update) -> Result<Plan> {
        self.push_frame();
        if update.hinted {
            self.read_hints(Hinted::Update(update));
        }
        if let Some(with) = &update.with {
            self.push_with(with)?;
        }
        self.operation = "UPDATE";
        let one = matches!(update.tables.as_slice(), [ast::TableRef::Table(_)]);
        let hinted = self.enter_hinted(update);
        let tree = self.dml_from(&update.tables, if one { UPDATE } else { SELECT_OR_UPDATE }, hinted)?;
        let several = several(tree.as_ref());
        check_ordered(several, "UPDATE", &update.order_by, update.limit.as_ref())?;
        let targets = self.update_targets(update)?;
        self.mark_targets(&targets);
        self.refuse_read_in_from()?;
        let mut assignments: Vec<(usize, Assignment)> = Vec::with_capacity(update.assignments.len());
        for assignment in &update.assignments {
            let (Changing { relation, .. }, column) = self.assigned_column(&assignment.column)?;
            let Source::Base(table) = &self.frame().relations[relation].source else {
                return Err(Error::internal("assignment to no table"));
            };
            let table = table.clone();
            let value = self.assigned(&assignment.value, &table, relation, column)?;
            assignments.push((relation, Assignment { column, value }));
        }
        self.refuse_moving_twice(&assignments, &targets)?;
        let filter = match &update.filter {
            Some(filter) => self.in_clause(Clause::Where, |b| b.where_clause(filter))?,
            None => Vec::new(),
        };
        self.end_where();
        let lacks_key = update.limit.is_some() && self.lack_key(&targets)?;
        let through = targets.iter().map(|target| self.origin_of_change(*target)).collect::<Result<Vec<_>>>()?;
        let source = self.dml_source(tree, filter, &update.order_by, update.limit.as_ref(), &targets)?;
        let mut plan_targets = Vec::with_capacity(targets.len());
        for (Changing { relation, .. }, through) in targets.into_iter().zip(through) {
            let (table, key_slot, column_slots) = self.target_slots(relation)?;
            let own = assignments.iter().filter(|(r, _)| *r == relation).map(|(_, a)| a.clone()).collect();
            let partitions = self.frame().relations[relation].partitions.as_ref().and_then(|p| p.selected.clone());
            plan_targets.push(UpdateTarget { table, partitions, key_slot, column_slots, assignments: own, through });
        }
        Ok(Plan::Update(Box::new(UpdatePlan {
            source,
            frame_width: self.frame().width,
            targets: plan_targets,
            ignore: update.ignore,
            lacks_key,
            tables: std::mem::take(&mut self.tables),
            early: self.take_early(),
        })))
    }

    /// FROM of a statement that changes rows; its scope stays. `actions` are what the statement does to each table at least.
    pub(super) fn dml_from(
        &mut self,
        refs: &[ast::TableRef],
        actions: Actions,
        hinted: Option<HintedBlock>,
    ) -> Result<Option<Logical>> {
        let frame = self.frames.len() - 1;
        self.changing = true;
        self.read_in_from = Some(Vec::new());
        let bound = self.from(refs, actions);
        self.changing = false;
        let Some(part) = bound? else { return Err(Error::internal("no table to change")) };
        if let Some(block) = hinted {
            self.resolve_hints(block, &part.relations);
        }
        self.scopes.push(Scope { frame, relations: part.relations, columns: part.columns, ..Scope::default() });
        Ok(Some(part.tree))
    }

    /// The relations that SET names, in the order of FROM. Error 1393: one view has several of them.
    fn update_targets(&mut self, update: &ast::Update) -> Result<Vec<Changing>> {
        let mut targets: Vec<Changing> = Vec::new();
        for assignment in &update.assignments {
            let (target, _) = self.assigned_column(&assignment.column)?;
            if targets.contains(&target) {
                continue;
            }
            let other = targets.iter().find(|other| other.view.is_some() && other.view == target.view);
            let view = other.and_then(|other| other.view).and_then(|view| self.frame().relations[view].view.as_ref());
            if let Some(view) = view {
                return Err(Error::new(&errno::ER_VIEW_MULTIUPDATE, &[&view.def.database, &view.def.name]));
            }
            targets.push(target);
        }
        targets.sort_unstable_by_key(|target| target.relation);
        Ok(targets)
    }

    /// Some view under LIMIT has no key of its table.
    pub(super) fn lack_key(&self, targets: &[Changing]) -> Result<bool> {
        targets.iter().try_fold(false, |lacks, target| Ok(lacks | self.lacks_key(*target)?))
    }

    /// Error 1706: a table is changed under two names, and one of them moves its rows to other places.
    fn refuse_moving_twice(&mut self, assignments: &[(usize, Assignment)], targets: &[Changing]) -> Result<()> {
        let frame = self.frame();
        let of = |relation: usize| match &frame.relations[relation].source {
            Source::Base(table) => {
                let view = targets.iter().find(|target| target.relation == relation).and_then(|target| target.view);
                Some((table, &frame.relations[view.unwrap_or(relation)].alias))
            }
            _ => None,
        };
        for (relation, assignment) in assignments {
            let Some((table, alias)) = of(*relation) else { continue };
            let column = table.columns[assignment.column].id;
            let other = assignments.iter().filter(|(other, _)| other != relation).find_map(|(other, _)| {
                let (other_table, other_alias) = of(*other)?;
                (other_table.id == table.id).then_some((*other, other_alias))
            });
            let partitions = &frame.relations[*relation].partitions;
            let divides = partitions.as_ref().is_some_and(|p| p.function.columns.contains(&assignment.column));
            let moves = divides || !table.indexes.is_empty() && table.clustered().parts.iter().any(|part| part.column == column);
            let Some((other, other_alias)) = other.filter(|_| moves) else {
                continue;
            };
            let (first, second) = if *relation < other { (alias, other_alias) } else { (other_alias, alias) };
            return Err(Error::new(&errno::ER_MULTI_UPDATE_KEY_CONFLICT, &[first, second]));
        }
        Ok(())
    }

    fn assigned_column(&mut self, column: &ast::ColumnRef) -> Result<(Changing, usize)> {
        self.refuse_single_derived()?;
        let named = self.in_clause(Clause::FieldList, |b| b.look_up_here(column))?;
        let slot = named.as_ref().and_then(|(expr, _)| super::scope::plain_slot(expr));
        let relation = slot.and_then(|s| self.owner(s));
        if let Some((_, (_, found))) = named
            && self.frame().relations[found.relation].view.is_some()
        {
            let (changing, position) = self.assigned_through_view(found.relation, found.column, &column.name)?;
            self.note_column(self.frames.len() - 1, found.relation, found.column, UPDATE);
            self.note_change(changing, position, UPDATE);
            return Ok((changing, position));
        }
        if let Some((_, (_, found))) = named
            && matches!(self.frame().relations[found.relation].source, Source::Merged)
        {
            // MySQL names the table that the derived one was merged from.
            let frame = self.frame();
            let named = &frame.relations[relation.unwrap_or(found.relation)].alias;
            return Err(Error::new(&errno::ER_NON_UPDATABLE_TABLE, &[named, &"UPDATE"]));
        }
        let (Some(slot), Some(relation)) = (slot, relation) else {
            if column.table.is_none() {
                self.note_unknown(column, UPDATE);
            }
            return Err(Error::new(&errno::ER_BAD_FIELD_ERROR, &[&written(column), &"field list"]));
        };
        let frame = self.frames.len() - 1;
        let rel = &self.frames[frame].relations[relation];
        let position = rel.column_of(slot);
        if let Some(position) = position {
            self.note_column(frame, relation, position, UPDATE);
        }
        match (&rel.source, position) {
            (Source::Base(table), Some(position)) if !table.indexes.is_empty() || is_setup(table) => {
                Ok((Changing { relation, view: None }, position))
            }
            _ => Err(Error::new(&errno::ER_NON_UPDATABLE_TABLE, &[&rel.alias, &"UPDATE"])),
        }
    }

    /// Error 1288 where the only table is a derived one, whatever SET names.
    fn refuse_single_derived(&mut self) -> Result<()> {
        let relations = self.scopes.last().map(|s| s.relations.clone()).unwrap_or_default();
        let [relation] = relations[..] else { return Ok(()) };
        let rel = &self.frame().relations[relation];
        match rel.source {
            _ if rel.view.as_ref().is_some_and(|view| view.is_updatable) => Ok(()),
            Source::Base(_) => Ok(()),
            _ => Err(Error::new(&errno::ER_NON_UPDATABLE_TABLE, &[&rel.alias, &"UPDATE"])),
        }
    }

    /// Gives the changed tables their key slot, slots for all columns, and exclusive locks.
    pub(super) fn mark_targets(&mut self, targets: &[Changing]) {
        let frame = self.frames.len() - 1;
        for &target in targets {
            let relation = target.relation;
            let slot = self.key_slot(frame, relation);
            let columns = self.frame().relations[relation].columns.len();
            (0..columns).for_each(|c| drop(self.slot_of(frame, relation, c)));
            let rel = &mut self.frame().relations[relation];
            debug_assert_eq!(rel.key_slot, Some(slot));
            rel.lock = Some(EXCLUSIVE);
            self.targets.extend(self.target_of(target));
        }
        self.locking = true;
    }

    pub(super) fn target_slots(&mut self, relation: usize) -> Result<(vaquita_types::schema::TableRef, Slot, Vec<Slot>)> {
        let rel = &self.frame().relations[relation];
        let (Source::Base(table), Some(key_slot)) = (&rel.source, rel.key_slot) else {
            return Err(Error::internal("target without a key"));
        };
        let slots = (0..rel.columns.len()).filter_map(|c| rel.slot(c)).collect();
        Ok((table.clone(), key_slot, slots))
    }

    /// The rows to change: joins, ORDER BY and LIMIT.
    pub(super) fn dml_source(
        &mut self,
        tree: Option<Logical>,
        filter: Vec<crate::expr::Expr>,
        order_by: &[ast::OrderItem],
        limit: Option<&ast::Limit>,
        targets: &[Changing],
    ) -> Result<Node> {
        let several = several(tree.as_ref());
        let (mut tree, mut filter) = (tree, filter);
        let mut keys = self.order_keys(order_by, &[])?;
        if keys.is_empty() && !several {
            keys = std::mem::take(&mut self.order_of_view);
        }
        self.name_generated(tree.as_mut(), &mut filter, &mut keys)?;
        let limit = self.limit(limit)?;
        let mut slots = Vec::new();
        for target in targets {
            let rel = &self.frame().relations[target.relation];
            slots.extend(rel.key_slot);
            slots.extend((0..rel.columns.len()).filter_map(|c| rel.slot(c)));
        }
        // Assignments may read the other tables too.
        if several {
            let frame = self.frame();
            slots.extend((0..frame.width).filter(|s| frame.slot_owner[*s].is_some()));
        }
        let root = tree.unwrap_or(Logical::One).filtered(filter).sorted(keys, limit);
        let straight = self.has_fixed_order();
        let hints = self.block_hints();
        let facts = Arc::clone(&self.facts);
        self.plan_block(LogicalBlock { root, read: Read::Slots(slots), straight, calc_found_rows: false, facts, hints })
    }
}

/// What sets up the performance schema: its rows are no table's of storage, and may be changed.
pub(super) fn is_setup(table: &TableDef) -> bool {
    table.database == "performance_schema" && (table.name.starts_with("setup_") || table.name == "threads")
}

/// There is more than one table.
pub(super) fn several(tree: Option<&Logical>) -> bool {
    let mut relations = Vec::new();
    tree.iter().for_each(|tree| tree.relations(&mut relations));
    relations.len() != 1
}

/// Error 1221: only a statement over one table may have ORDER BY and LIMIT.
pub(super) fn check_ordered(several: bool, word: &str, order_by: &[ast::OrderItem], limit: Option<&ast::Limit>) -> Result<()> {
    match (several, order_by, limit) {
        (true, [_, ..], _) => Err(Error::new(&errno::ER_WRONG_USAGE, &[&word, &"ORDER BY"])),
        (true, [], Some(_)) => Err(Error::new(&errno::ER_WRONG_USAGE, &[&word, &"LIMIT"])),
        _ => Ok(()),
    }
}

/// How `Binder::targets` names a table.
pub(super) fn table_key(database: &str, name: &str) -> String {
    format!("{database}.{name}")
}
