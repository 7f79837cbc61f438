//! Changes through views: which table's rows a view's rows are, and what WITH CHECK OPTION asks of new ones.
//!
//! UPDATE and DELETE bind a view in their FROM as a query does (`view`); its tables are then tables of the statement, and a column of it
//! that is a column of one of them has that one's slot. In `UPDATE v SET x = 1` with `v (x) AS SELECT b FROM t WHERE b < 9` x is the slot of
//! t.b, so that t is what changes. INSERT binds the view for its names alone. What WITH CHECK OPTION asks is bound once more, in a
//! frame of its own (`ViewCheck`), because the statement's plan has taken the view's conditions apart.

use std::sync::Arc;

use vaquita_parser as ast;
use vaquita_types::schema::TableRef;
use vaquita_types::{Error, Result, errno};

use super::scope::{ColumnValue, plain_slot};
use super::update::table_key;
use super::{Binder, Relation, Source, Target};
use crate::catalog::View;
use crate::expr::Slot;
use crate::node::{ViewCheck, ViewOrigin};
use crate::uses::{Actions, Whose};

/// A table that a statement changes: its relation, and that of the view through which it does.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Changing {
    pub relation: usize,
    pub view: Option<usize>,
}

/// What an INSERT fills.
pub(super) struct Inserted {
    pub table: TableRef,
    /// The partitions that the view names.
    pub partitions: Option<Arc<[usize]>>,
    pub through: Option<InsertedView>,
}

pub(super) struct InsertedView {
    view: Arc<View>,
    pub def: TableRef,
    /// What the table is called in the view.
    pub inner_alias: String,
    /// The columns that it has of the table: its own position, its name, the table's position.
    pub columns: Vec<(usize, String, usize)>,
    /// What is inserted into with it: the views and the table, with a column of each for the table's.
    chain: Vec<(Whose, TableRef, Vec<(usize, usize)>)>,
    checks: bool,
    relation_after: usize,
}

impl Binder<'_> {
    fn used(&self, relation: usize) -> Option<&Relation> {
        self.frames.last().and_then(|frame| frame.relations.get(relation))
    }

    /// Error 1288.
    pub(super) fn not_updatable(&self, relation: usize) -> Error {
        let alias = self.used(relation).map_or("", |relation| relation.alias.as_str());
        Error::new(&errno::ER_NON_UPDATABLE_TABLE, &[&alias, &self.operation])
    }

    /// Error 1288 if the table cannot be changed through the view.
    fn is_changeable(&self, Changing { relation, view }: Changing) -> Result<()> {
        let (Some(of_table), Some(of_view)) = (self.used(relation), view.and_then(|view| self.used(view))) else { return Ok(()) };
        let read_inside = of_view.view.as_ref().map_or(&[][..], |used| &used.read_inside);
        // Under another name a new row's view may read the table.
        let inserts = self.operation == "INSERT";
        let reads =
            |key: String| read_inside.iter().any(|(other, alias)| *other == key && !(inserts && *alias != of_table.alias));
        match &of_table.source {
            Source::Base(table) if !table.indexes.is_empty() && !reads(table_key(&table.database, &table.name)) => Ok(()),
            _ => Err(self.not_updatable(view.unwrap_or(relation))),
        }
    }

    /// The table whose column a view's column is, and its position; errors 1288, 1348.
    pub(super) fn assigned_through_view(&mut self, view: usize, column: usize, name: &str) -> Result<(Changing, usize)> {
        let of_view = &self.frame().relations[view];
        let is_updatable = of_view.view.as_ref().is_some_and(|used| used.is_updatable);
        let slot = match &of_view.columns[column].value {
            _ if !is_updatable => return Err(self.not_updatable(view)),
            ColumnValue::Expr(expr) => plain_slot(expr),
            _ => None,
        };
        let owned = slot.and_then(|slot| Some((slot, self.owner(slot)?)));
        let Some((slot, relation)) = owned else {
            return Err(Error::new(&errno::ER_NONUPDATEABLE_COLUMN, &[&name]));
        };
        let changing = Changing { relation, view: Some(view) };
        self.is_changeable(changing)?;
        let columns = self.frame().relations[relation].columns.len();
        match (0..columns).find(|n| self.frame().relations[relation].slot(*n) == Some(slot)) {
            Some(position) => Ok((changing, position)),
            None => Err(self.not_updatable(view)),
        }
    }

    /// Notes what is done to a column of a table, and of the views in `view` through which it is.
    pub(super) fn note_change(&self, Changing { relation, view }: Changing, position: usize, actions: Actions) {
        let frame = self.frames.len() - 1;
        self.note_column(frame, relation, position, actions);
        let slot = self.frames[frame].relations[relation].slot(position);
        for view in self.views_above(relation, view).into_iter().filter(|above| Some(*above) != view) {
            let columns = &self.frames[frame].relations[view].columns;
            let is_it = |column: &super::scope::RelationColumn| match &column.value {
                ColumnValue::Expr(expr) => plain_slot(expr).is_some() && plain_slot(expr) == slot,
                _ => false,
            };
            if let Some(column) = columns.iter().position(is_it) {
                self.note_column(frame, view, column, actions);
            }
        }
    }

    /// The views, from within `view` to itself, that brought a relation.
    fn views_above(&self, relation: usize, view: Option<usize>) -> Vec<usize> {
        let (Some(view), Some(frame)) = (view, self.frames.last()) else { return Vec::new() };
        let has = |at: &usize| frame.relations[*at].view.is_some() && frame.relations[*at].merged.contains(&relation);
        (relation..=view).filter(has).collect()
    }

    /// What DELETE removes the rows of; errors 1288, 1395.
    pub(super) fn deleted_through_view(&mut self, view: usize) -> Result<Changing> {
        let Some((used, merged)) = self.used(view).and_then(|of| Some((of.view.as_ref()?, of.merged.clone()))) else {
            return Err(self.not_updatable(view));
        };
        if !used.is_updatable {
            return Err(self.not_updatable(view));
        }
        let tables: Vec<usize> = merged.filter(|at| self.used(*at).is_some_and(is_table)).collect();
        let &[relation] = &tables[..] else {
            return Err(Error::new(&errno::ER_VIEW_DELETE_MERGE_VIEW, &[&used.def.database, &used.def.name]));
        };
        let changing = Changing { relation, view: Some(view) };
        self.is_changeable(changing)?;
        Ok(changing)
    }

    pub(super) fn note_deletion(&self, Changing { relation, view }: Changing, actions: Actions) {
        let frame = self.frames.len() - 1;
        self.note_object_use(frame, relation, |entry| entry.actions |= actions);
        for view in self.views_above(relation, view) {
            self.note_object_use(frame, view, |entry| entry.actions |= actions);
        }
    }

    pub(super) fn target_of(&self, Changing { relation, view }: Changing) -> Option<Target> {
        let of_table = self.used(relation)?;
        let Source::Base(table) = &of_table.source else { return None };
        let of_view = view.and_then(|view| self.used(view));
        Some(Target {
            key: table_key(&table.database, &table.name),
            alias: of_view.unwrap_or(of_table).alias.clone(),
            inner_alias: of_table.alias.clone(),
            view: of_view.and_then(|of| of.view.as_ref()).map(|used| (used.def.database.clone(), used.def.name.clone())),
        })
    }

    /// With LIMIT the view should have a key of the table: true, or error 1288, if it has none.
    pub(super) fn lacks_key(&self, Changing { relation, view }: Changing) -> Result<bool> {
        let (Some(of_table), Some(of_view)) = (self.used(relation), view.and_then(|view| self.used(view))) else {
            return Ok(false);
        };
        let Source::Base(table) = &of_table.source else { return Ok(false) };
        let slots: Vec<Slot> = of_view
            .columns
            .iter()
            .filter_map(|column| match &column.value {
                ColumnValue::Expr(expr) => plain_slot(expr),
                _ => None,
            })
            .collect();
        let has = |position: usize| of_table.slot(position).is_some_and(|slot| slots.contains(&slot));
        let has_key = table.indexes.iter().filter(|index| index.is_unique()).any(|index| {
            index.parts.iter().all(|part| {
                let position = table.columns.iter().position(|column| column.id == part.column);
                position.is_some_and(|position| !table.columns[position].nullable && has(position))
            })
        });
        if has_key || (0..table.columns.len()).all(has) {
            return Ok(false);
        }
        match self.cx.settings.limits_without_key {
            true => Ok(true),
            false => Err(self.not_updatable(view.unwrap_or(relation))),
        }
    }

    /// The view through which a table is changed, if it has WITH CHECK OPTION.
    pub(super) fn origin_of_change(&mut self, Changing { relation, view }: Changing) -> Result<Option<Box<ViewOrigin>>> {
        let Some(at) = view else { return Ok(None) };
        let Some(of_view) = self.used(at) else { return Ok(None) };
        let Some(used) = of_view.view.as_ref().filter(|used| used.checks) else { return Ok(None) };
        let (view, first) = (Arc::clone(&used.view), of_view.merged.start);
        let (database, name) = (used.def.database.clone(), used.def.name.clone());
        let (mut check, read) = self.view_check(view, relation - first)?;
        let frame = self.frames.len() - 1;
        for (other, column, to) in read {
            if let Some(from) = plain_slot(&self.slot_of(frame, first + other, column)) {
                check.others.push((from, to));
            }
        }
        Ok(Some(Box::new(ViewOrigin { database, name, gives_number: false, check: Some(check) })))
    }

    /// The check of a view for rows of the `base`th of its relations, and the columns of others that it reads, with their slots in its frame.
    fn view_check(&mut self, view: Arc<View>, base: usize) -> Result<(ViewCheck, Vec<(usize, usize, Slot)>)> {
        let targets = std::mem::take(&mut self.targets);
        let (early, of_numbers) = (self.early.len(), self.early_of_numbers.len());
        let (checking, changing) = (std::mem::replace(&mut self.checking, true), std::mem::replace(&mut self.changing, true));
        self.push_frame();
        let frame = self.frames.len() - 1;
        let bound = self.view(Arc::clone(&view), &factor_of(&view));
        self.checking = checking;
        self.changing = changing;
        let checked = bound.and_then(|part| {
            let relation = part.relations.first().copied().unwrap_or_default();
            let used = self.frame().relations[relation].view.as_mut();
            let mut conditions = used.map(|used| std::mem::take(&mut used.checked)).unwrap_or_default();
            conditions.iter_mut().try_for_each(|condition| {
                self.fold(condition);
                self.plan_subqueries(frame, condition)
            })?;
            Ok(conditions)
        });
        self.early.truncate(early);
        self.early_of_numbers.truncate(of_numbers);
        self.targets = targets;
        let frame = self.pop_frame()?;
        let mut check = ViewCheck { width: frame.width, conditions: checked?, row: Vec::new(), others: Vec::new() };
        let mut others = Vec::new();
        for (at, relation) in frame.relations.iter().enumerate().filter(|(_, relation)| is_table(relation)) {
            for (column, slot) in (0..relation.columns.len()).filter_map(|column| Some((column, relation.slot(column)?))) {
                if at == base {
                    check.row.push((column, slot));
                } else {
                    others.push((at, column, slot));
                }
            }
        }
        Ok((check, others))
    }

    /// What an INSERT into a view fills. `names`: its list of columns.
    pub(super) fn insertable(
        &mut self,
        view: Arc<View>,
        factor: &ast::TableFactor,
        names: Option<&[ast::ColumnRef]>,
        replace: bool,
    ) -> Result<Inserted> {
        self.push_frame();
        let changing = std::mem::replace(&mut self.changing, true);
        let bound = self.view(Arc::clone(&view), factor);
        self.changing = changing;
        let inserted = bound.and_then(|part| {
            let relation = part.relations.first().copied().unwrap_or_default();
            self.inserted(view, relation, names, replace)
        });
        self.pop_frame()?;
        inserted
    }

    fn inserted(&mut self, view: Arc<View>, at: usize, names: Option<&[ast::ColumnRef]>, replace: bool) -> Result<Inserted> {
        let of_view = &self.frames[self.frames.len() - 1].relations[at];
        let Some(used) = &of_view.view else { return Err(Error::internal("a view without a definition")) };
        let (def, checks) = (used.def.clone(), used.checks);
        let (is_insertable, is_updatable) = (used.is_insertable, used.is_updatable);
        let loads = self.operation == "LOAD";
        let not_insertable = || match loads {
            true => Error::new(&errno::ER_NON_UPDATABLE_TABLE, &[&def.name, &"LOAD"]),
            false => Error::new(&errno::ER_NON_INSERTABLE_TABLE, &[&def.name, &"INSERT"]),
        };
        let tables = of_view.merged.clone().filter(|at| self.used(*at).is_some_and(is_table)).count();
        if !is_updatable || loads && tables != 1 {
            return Err(not_insertable());
        }
        if tables > 1 && replace {
            return Err(Error::new(&errno::ER_VIEW_DELETE_MERGE_VIEW, &[&def.database, &def.name]));
        }
        if tables > 1 && names.is_none() {
            return Err(Error::new(&errno::ER_VIEW_NO_INSERT_FIELD_LIST, &[&def.database, &def.name]));
        }
        let named = match names {
            None => (0..def.columns.len()).collect(),
            Some(names) => names.iter().map(|name| self.column_of_view(&def, name)).collect::<Result<Vec<_>>>()?,
        };
        let mut target: Option<Changing> = None;
        for column in named {
            let (changing, _) = self
                .assigned_through_view(at, column, &def.columns[column].name)
                .map_err(|error| if error.is(&errno::ER_NON_UPDATABLE_TABLE) { not_insertable() } else { error })?;
            if target.replace(changing).is_some_and(|before| before != changing) {
                return Err(Error::new(&errno::ER_VIEW_MULTIUPDATE, &[&def.database, &def.name]));
            }
        }
        // `INSERT INTO v () VALUES ()`
        let target = target.or_else(|| {
            let relation = of_view_tables(&self.frame().relations, at).next();
            relation.map(|relation| Changing { relation, view: Some(at) })
        });
        let Some(target) = target.filter(|_| is_insertable) else { return Err(not_insertable()) };
        self.is_changeable(target).map_err(|_| not_insertable())?;
        let columns = self.insertable_columns(at, target.relation).ok_or_else(not_insertable)?;
        let of_table = &self.frame().relations[target.relation];
        let Source::Base(table) = &of_table.source else { return Err(not_insertable()) };
        let (table, inner_alias) = (table.clone(), of_table.alias.clone());
        let partitions = of_table.partitions.as_ref().and_then(|partitions| partitions.selected.clone());
        let chain = self.chain(target, &table);
        let relation_after = target.relation - self.frame().relations[at].merged.start;
        Ok(Inserted {
            table,
            partitions,
            through: Some(InsertedView { view, def, inner_alias, columns, chain, checks, relation_after }),
        })
    }

    /// The columns of a view that are columns of a table. None: one is no column, or there are two of one.
    fn insertable_columns(&self, view: usize, table: usize) -> Option<Vec<(usize, String, usize)>> {
        let relations = &self.frames.last()?.relations;
        let mut columns: Vec<(usize, String, usize)> = Vec::new();
        for (n, column) in relations[view].columns.iter().enumerate() {
            let ColumnValue::Expr(expr) = &column.value else { return None };
            let slot = plain_slot(expr)?;
            if self.owner(slot) != Some(table) {
                continue;
            }
            let position = (0..relations[table].columns.len()).find(|at| relations[table].slot(*at) == Some(slot))?;
            if columns.iter().any(|(_, _, other)| *other == position) {
                return None;
            }
            columns.push((n, column.name.clone(), position));
        }
        Some(columns)
    }

    /// The table and the views through which it is filled, with their columns for the table's.
    fn chain(&self, target: Changing, table: &TableRef) -> Vec<(Whose, TableRef, Vec<(usize, usize)>)> {
        let Some(frame) = self.frames.last() else { return Vec::new() };
        let own = (0..table.columns.len()).map(|position| (position, position)).collect();
        let mut chain = vec![(frame.relations[target.relation].whose.clone(), table.clone(), own)];
        for view in self.views_above(target.relation, target.view) {
            let of_view = &frame.relations[view];
            let column = |(n, column): (usize, &super::scope::RelationColumn)| {
                let ColumnValue::Expr(expr) = &column.value else { return None };
                let slot = plain_slot(expr)?;
                let position = (0..table.columns.len()).find(|at| frame.relations[target.relation].slot(*at) == Some(slot))?;
                Some((position, n))
            };
            if let Some(used) = &of_view.view {
                chain.push((
                    of_view.whose.clone(),
                    used.def.clone(),
                    of_view.columns.iter().enumerate().filter_map(column).collect(),
                ));
            }
        }
        chain
    }

    fn column_of_view(&self, def: &TableRef, name: &ast::ColumnRef) -> Result<usize> {
        let ours = name.table.as_deref().is_none_or(|table| table == def.name);
        let column = def.column_position(&name.name).filter(|_| ours);
        column.ok_or_else(|| Error::new(&errno::ER_BAD_FIELD_ERROR, &[&super::scope::written(name), &"field list"]))
    }

    /// Error 1393 if the view's column is one of another table.
    pub(super) fn of_other_table(&self, into: &Inserted, name: &ast::ColumnRef) -> Option<Error> {
        let def = &into.through.as_ref()?.def;
        self.column_of_view(def, name).ok()?;
        Some(Error::new(&errno::ER_VIEW_MULTIUPDATE, &[&def.database, &def.name]))
    }

    /// The view of an INSERT as the executor knows it.
    pub(super) fn inserted_through(&mut self, into: &Inserted) -> Result<Option<Box<ViewOrigin>>> {
        let Some(through) = &into.through else { return Ok(None) };
        let check = match through.checks {
            true => Some(self.view_check(Arc::clone(&through.view), through.relation_after)?.0),
            false => None,
        };
        let number = into.table.auto_increment_column();
        Ok(Some(Box::new(ViewOrigin {
            database: through.def.database.clone(),
            name: through.def.name.clone(),
            gives_number: number.is_some_and(|number| through.columns.iter().any(|(_, _, position)| *position == number)),
            check,
        })))
    }

    /// Gives the row of a table, a relation of the frame, the names that a view has for it.
    pub(super) fn name_by_view(&mut self, relation: usize, into: &Inserted) {
        let Some(through) = &into.through else { return };
        let of_row = &mut self.frame().relations[relation];
        of_row.stands_for = vec![None; of_row.columns.len()];
        of_row.columns.iter_mut().for_each(|column| column.name.clear());
        for (at, name, position) in &through.columns {
            of_row.columns[*position].name.clone_from(name);
            of_row.stands_for[*position] = Some((through.def.clone(), *at));
        }
    }
}

impl Inserted {
    /// What the statement calls it.
    pub fn name(&self) -> &str {
        self.through.as_ref().map_or(&self.table.name, |through| &through.def.name)
    }

    /// The position in the table of a column that a statement names.
    pub fn position(&self, name: &str) -> Option<usize> {
        match &self.through {
            None => self.table.column_position(name),
            Some(through) => {
                let found = through.columns.iter().find(|(_, column, _)| super::scope::same_name(column, name));
                found.map(|(_, _, position)| *position)
            }
        }
    }

    pub fn target(&self) -> Target {
        Target {
            key: table_key(&self.table.database, &self.table.name),
            alias: self.name().to_string(),
            inner_alias: self.through.as_ref().map_or(&self.table.name, |through| &through.inner_alias).clone(),
            view: self.through.as_ref().map(|through| (through.def.database.clone(), through.def.name.clone())),
        }
    }

    /// Notes what is done to a column of the table.
    pub fn note(&self, binder: &Binder<'_>, position: usize, actions: Actions) -> Result<()> {
        let uses = binder.uses()?;
        let Some(through) = &self.through else {
            uses.note_column(&self.table, position, actions);
            return Ok(());
        };
        for (whose, def, columns) in &through.chain {
            if let Some((_, column)) = columns.iter().find(|(of, _)| *of == position) {
                uses.of_whose(whose, def, |entry| entry.note_column(*column, actions));
            }
        }
        Ok(())
    }

    /// Notes what is done to the table.
    pub fn note_table(&self, binder: &Binder<'_>, actions: Actions) -> Result<()> {
        let uses = binder.uses()?;
        let chain = self.through.iter().flat_map(|through| &through.chain);
        chain.for_each(|(whose, def, _)| uses.of_whose(whose, def, |entry| entry.actions |= actions));
        Ok(())
    }
}

/// It has rows of its own: no view that is merged.
fn is_table(relation: &Relation) -> bool {
    !matches!(relation.source, Source::Merged)
}

fn of_view_tables(relations: &[Relation], view: usize) -> impl Iterator<Item = usize> {
    relations[view].merged.clone().filter(|at| is_table(&relations[*at]))
}

fn factor_of(view: &View) -> ast::TableFactor {
    let name = ast::Name { db: Some(view.object.database.clone()), name: view.object.name.clone() };
    ast::TableFactor { name, partitions: Vec::new(), alias: None, index_hints: Vec::new() }
}
