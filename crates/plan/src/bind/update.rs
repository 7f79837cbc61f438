//! UPDATE of one or several tables.
//!
//! All columns of every changed table get slots, so that the executor can build the new row in the frame;
//! assignments are in their written order and each sees what those before it set, as in MySQL.

use vaquita_parser as ast;
use vaquita_types::{Error, Result, errno};

use super::scope::{Scope, written};
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
        if let Some(with) = &update.with {
            self.push_with(with)?;
        }
        let one = matches!(update.tables.as_slice(), [ast::TableRef::Table(_)]);
        let tree = self.dml_from(&update.tables, if one { UPDATE } else { SELECT_OR_UPDATE })?;
        let several = !matches!(tree, Some(Logical::Relation(_)));
        check_ordered(several, "UPDATE", &update.order_by, update.limit.as_ref())?;
        let targets = self.update_targets(update)?;
        self.mark_targets(&targets);
        let mut assignments: Vec<(usize, Assignment)> = Vec::with_capacity(update.assignments.len());
        for assignment in &update.assignments {
            let (relation, column) = self.assigned_column(&assignment.column)?;
            let Source::Base(table) = &self.frame().relations[relation].source else {
                return Err(Error::internal("assignment to no table"));
            };
            let table = table.clone();
            let value = self.assigned(&assignment.value, &table, relation, column)?;
            assignments.push((relation, Assignment { column, value }));
        }
        self.refuse_moving_twice(&assignments)?;
        let filter = match &update.filter {
            Some(filter) => self.in_clause(Clause::Where, |b| b.where_clause(filter))?,
            None => Vec::new(),
        };
        let source = self.dml_source(tree, filter, &update.order_by, update.limit.as_ref(), &targets)?;
        let mut plan_targets = Vec::with_capacity(targets.len());
        for relation in targets {
            let (table, key_slot, column_slots) = self.target_slots(relation)?;
            let own = assignments.iter().filter(|(r, _)| *r == relation).map(|(_, a)| a.clone()).collect();
            plan_targets.push(UpdateTarget { table, key_slot, column_slots, assignments: own });
        }
        Ok(Plan::Update(Box::new(UpdatePlan {
            source,
            frame_width: self.frame().width,
            targets: plan_targets,
            ignore: update.ignore,
            tables: std::mem::take(&mut self.tables),
            early: self.take_early(),
        })))
    }

    /// FROM of a statement that changes rows; its scope stays. `actions` are what the statement does to each table at least.
    pub(super) fn dml_from(&mut self, refs: &[ast::TableRef], actions: Actions) -> Result<Option<Logical>> {
        let frame = self.frames.len() - 1;
        let Some(part) = self.from(refs, actions)? else { return Err(Error::internal("no table to change")) };
        self.scopes.push(Scope { frame, relations: part.relations, columns: part.columns, ..Scope::default() });
        Ok(Some(part.tree))
    }

    /// The relations that SET names, in the order of FROM.
    fn update_targets(&mut self, update: &ast::Update) -> Result<Vec<usize>> {
        let mut targets = Vec::new();
        for assignment in &update.assignments {
            let (relation, _) = self.assigned_column(&assignment.column)?;
            if !targets.contains(&relation) {
                targets.push(relation);
            }
        }
        targets.sort_unstable();
        Ok(targets)
    }

    /// Error 1706: a table is changed under two names, and one of them moves its rows to other places.
    fn refuse_moving_twice(&mut self, assignments: &[(usize, Assignment)]) -> Result<()> {
        let frame = self.frame();
        let of = |relation: usize| match &frame.relations[relation].source {
            Source::Base(table) => Some((table, &frame.relations[relation].alias)),
            _ => None,
        };
        for (relation, assignment) in assignments {
            let Some((table, alias)) = of(*relation) else { continue };
            let column = table.columns[assignment.column].id;
            let other = assignments.iter().filter(|(other, _)| other != relation).find_map(|(other, _)| {
                let (other_table, other_alias) = of(*other)?;
                (other_table.id == table.id).then_some((*other, other_alias))
            });
            let Some((other, other_alias)) = other.filter(|_| table.clustered().parts.iter().any(|part| part.column == column))
            else {
                continue;
            };
            let (first, second) = if *relation < other { (alias, other_alias) } else { (other_alias, alias) };
            return Err(Error::new(&errno::ER_MULTI_UPDATE_KEY_CONFLICT, &[first, second]));
        }
        Ok(())
    }

    fn assigned_column(&mut self, column: &ast::ColumnRef) -> Result<(usize, usize)> {
        self.refuse_single_derived()?;
        let named = self.in_clause(Clause::FieldList, |b| b.look_up_here(column))?;
        let slot = named.as_ref().and_then(|(expr, _)| super::scope::plain_slot(expr));
        let relation = slot.and_then(|s| self.owner(s));
        if let Some((_, (_, found))) = named
            && matches!(self.frame().relations[found.relation].source, Source::Merged)
        {
            // MySQL names the table that the derived one was merged from.
            let frame = self.frame();
            if frame.relations[found.relation].view.is_some() {
                return Err(Error::unsupported("UPDATE of a view"));
            }
            let named = &frame.relations[relation.unwrap_or(found.relation)].alias;
            return Err(Error::new(&errno::ER_NON_UPDATABLE_TABLE, &[named, &"UPDATE"]));
        }
        let (Some(slot), Some(relation)) = (slot, relation) else {
            self.note_unknown(&column.name, UPDATE);
            return Err(Error::new(&errno::ER_BAD_FIELD_ERROR, &[&written(column), &"field list"]));
        };
        let frame = self.frames.len() - 1;
        let rel = &self.frames[frame].relations[relation];
        let position = (0..rel.columns.len()).find(|n| rel.slot(*n) == Some(slot));
        if let Some(position) = position {
            self.note_column(frame, relation, position, UPDATE);
        }
        match (&rel.source, position) {
            (Source::Base(table), Some(position)) if !table.indexes.is_empty() => Ok((relation, position)),
            _ => Err(Error::new(&errno::ER_NON_UPDATABLE_TABLE, &[&rel.alias, &"UPDATE"])),
        }
    }

    /// Error 1288 where the only table is a derived one, whatever SET names.
    fn refuse_single_derived(&mut self) -> Result<()> {
        let relations = self.scopes.last().map(|s| s.relations.clone()).unwrap_or_default();
        let [relation] = relations[..] else { return Ok(()) };
        let rel = &self.frame().relations[relation];
        match rel.source {
            _ if rel.view.is_some() => Err(Error::unsupported("UPDATE of a view")),
            Source::Base(_) => Ok(()),
            _ => Err(Error::new(&errno::ER_NON_UPDATABLE_TABLE, &[&rel.alias, &"UPDATE"])),
        }
    }

    /// Gives the changed tables their key slot, slots for all columns, and exclusive locks.
    pub(super) fn mark_targets(&mut self, targets: &[usize]) {
        let frame = self.frames.len() - 1;
        for &relation in targets {
            let slot = self.frame().new_slot_of(Some(relation));
            let columns = self.frame().relations[relation].columns.len();
            (0..columns).for_each(|c| drop(self.slot_of(frame, relation, c)));
            let rel = &mut self.frame().relations[relation];
            rel.key_slot = Some(slot);
            rel.lock = Some(EXCLUSIVE);
            if let Source::Base(table) = &rel.source {
                let name = table_key(&table.database, &table.name);
                self.targets.push(name);
            }
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
        targets: &[usize],
    ) -> Result<Node> {
        let several = !matches!(tree, Some(Logical::Relation(_)));
        let (mut tree, mut filter) = (tree, filter);
        let mut keys = self.order_keys(order_by, &[])?;
        self.name_generated(tree.as_mut(), &mut filter, &mut keys)?;
        let limit = self.limit(limit)?;
        let mut slots = Vec::new();
        for &relation in targets {
            let rel = &self.frame().relations[relation];
            slots.extend(rel.key_slot);
            slots.extend((0..rel.columns.len()).filter_map(|c| rel.slot(c)));
        }
        // Assignments may read the other tables too.
        if several {
            let frame = self.frame();
            slots.extend((0..frame.width).filter(|s| frame.slot_owner[*s].is_some()));
        }
        let root = tree.unwrap_or(Logical::One).filtered(filter).sorted(keys, limit);
        self.plan_block(LogicalBlock { root, read: Read::Slots(slots), straight: false, calc_found_rows: false })
    }
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
