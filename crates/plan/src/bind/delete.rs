//! DELETE of one or several tables.

use vaquita_parser as ast;
use vaquita_types::{Error, Result, errno};

use super::hints::Hinted;
use super::through_view::Changing;
use super::update::{check_ordered, is_setup, several};
use super::{Binder, Clause, Source};
use crate::node::{DeletePlan, DeleteTarget, Plan};
use crate::uses::{DELETE, SELECT};

impl Binder<'_> {
    pub(super) fn delete(&mut self, delete: &ast::Delete) -> Result<Plan> {
        check_targets(delete, self.cx.settings.current_database.as_deref())?;
        self.push_frame();
        if delete.hinted {
            self.read_hints(Hinted::Delete(delete));
        }
        if let Some(with) = &delete.with {
            self.push_with(with)?;
        }
        self.operation = "DELETE";
        // The form for several tables reads them all, whatever it makes of it.
        let hinted = self.enter_hinted(delete);
        let tree = self.dml_from(&delete.from, if delete.targets.is_empty() { DELETE } else { SELECT }, hinted)?;
        let targets = self.delete_targets(delete)?;
        check_ordered(several(tree.as_ref()), "DELETE", &delete.order_by, delete.limit.as_ref())?;
        self.mark_targets(&targets);
        self.refuse_read_in_from()?;
        let filter = match &delete.filter {
            Some(filter) => self.in_clause(Clause::Where, |b| b.where_clause(filter))?,
            None => Vec::new(),
        };
        self.end_where();
        let lacks_key = delete.limit.is_some() && self.lack_key(&targets)?;
        let source = self.dml_source(tree, filter, &delete.order_by, delete.limit.as_ref(), &targets)?;
        let mut plan_targets = Vec::with_capacity(targets.len());
        for Changing { relation, .. } in targets {
            let (table, key_slot, column_slots) = self.target_slots(relation)?;
            plan_targets.push(DeleteTarget { table, key_slot, column_slots });
        }
        Ok(Plan::Delete(Box::new(DeletePlan {
            source,
            frame_width: self.frame().width,
            targets: plan_targets,
            ignore: delete.ignore,
            lacks_key,
            tables: std::mem::take(&mut self.tables),
            early: self.take_early(),
        })))
    }

    /// The relations of the names before (or after) FROM; the only one if none is named.
    fn delete_targets(&mut self, delete: &ast::Delete) -> Result<Vec<Changing>> {
        let relations: Vec<usize> = self.scopes.last().map(|s| s.relations.clone()).unwrap_or_default();
        let mut targets = Vec::new();
        if delete.targets.is_empty() {
            targets = relations;
        } else {
            let current = self.cx.settings.current_database.as_deref();
            let named = named_tables(&delete.from, current);
            for name in &delete.targets {
                let frame = self.frame();
                let found = relations.iter().copied().find(|r| {
                    let rel = &frame.relations[*r];
                    let database = rel.database.as_deref().or(current);
                    let has_alias = !named.contains(&(Some(database), rel.alias.as_str()));
                    rel.alias == name.name && is_target(name, if has_alias { None } else { Some(database) }, current)
                });
                let Some(relation) = found else {
                    return Err(Error::new(&errno::ER_UNKNOWN_TABLE, &[&name.name, &"MULTI DELETE"]));
                };
                if targets.contains(&relation) {
                    return Err(Error::new(&errno::ER_NONUNIQ_TABLE, &[&name.name]));
                }
                targets.push(relation);
            }
        }
        let mut changing = Vec::with_capacity(targets.len());
        for relation in targets {
            self.note_table_use(self.frames.len() - 1, relation, |entry| entry.actions |= DELETE);
            let rel = &self.frame().relations[relation];
            let target = match &rel.source {
                _ if rel.view.is_some() => self.deleted_through_view(relation)?,
                Source::Base(table) if !table.indexes.is_empty() || is_setup(table) => Changing { relation, view: None },
                _ => return Err(self.not_updatable(relation)),
            };
            self.note_deletion(target, DELETE);
            changing.push(target);
        }
        Ok(changing)
    }
}

/// A table as FROM names it: its database unless it has an alias, and the name or alias.
type Named<'a> = (Option<Option<&'a str>>, &'a str);

/// What is wrong with the names alone: errors 1046, 1066 and 1109.
fn check_targets(delete: &ast::Delete, current: Option<&str>) -> Result<()> {
    if current.is_none() && delete.targets.iter().any(|target| target.db.is_none()) {
        return Err(Error::new(&errno::ER_NO_DB_ERROR, &[]));
    }
    let named = named_tables(&delete.from, current);
    for (n, target) in delete.targets.iter().enumerate() {
        if !named.iter().any(|(database, name)| *name == target.name && is_target(target, *database, current)) {
            return Err(Error::new(&errno::ER_UNKNOWN_TABLE, &[&target.name, &"MULTI DELETE"]));
        }
        if delete.targets.iter().take(n).any(|other| other == target) {
            return Err(Error::new(&errno::ER_NONUNIQ_TABLE, &[&target.name]));
        }
    }
    Ok(())
}

/// An alias has no database; a table's own name is of the current one where none is written.
fn is_target(target: &ast::Name, database: Option<Option<&str>>, current: Option<&str>) -> bool {
    match database {
        None => target.db.is_none(),
        Some(database) => target.db.as_deref().or(current) == database,
    }
}

fn named_tables<'a>(from: &'a [ast::TableRef], current: Option<&'a str>) -> Vec<Named<'a>> {
    let mut named = Vec::new();
    let mut waiting: Vec<&ast::TableRef> = from.iter().collect();
    while let Some(table) = waiting.pop() {
        match table {
            ast::TableRef::Table(factor) => named.push(match &factor.alias {
                Some(alias) => (None, alias.as_str()),
                None => (Some(factor.name.db.as_deref().or(current)), factor.name.name.as_str()),
            }),
            ast::TableRef::Derived { alias: Some(alias), .. } => named.push((None, alias.as_str())),
            ast::TableRef::Join(join) => waiting.extend([&join.left, &join.right]),
            ast::TableRef::List(tables) => waiting.extend(tables),
            ast::TableRef::JsonTable(table) => named.extend(table.alias.as_deref().map(|alias| (None, alias))),
            ast::TableRef::Derived { .. } => {}
        }
    }
    named
}
