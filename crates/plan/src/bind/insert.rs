//! INSERT and REPLACE.
//!
//! The frame of an INSERT holds the row that is there already (for ON DUPLICATE KEY UPDATE), the new row,
//! and a query's output: slots `0..n`, `n..2n` and `2n..` for a table of n columns. VALUES may name earlier columns
//! of the new row; `VALUES(col)` and the row alias mean the new row; plain names in the update the old one.

use std::sync::Arc;

use vaquita_parser as ast;
use vaquita_parser::printer::{Style, print_expr};
use vaquita_types::charset::CollationId;
use vaquita_types::schema::{ColumnDefault, TableRef};
use vaquita_types::{Error, Result, TypeKind, errno};

use super::hints::Hinted;
use super::scope::{ColumnValue, Relation, RelationColumn, Scope, Source, VisibleColumn, same_name, written};
use super::through_view::Inserted;
use super::{Binder, Clause, Named};
use crate::expr::{Expr, ExprKind};
use crate::literal_values::LiteralValues;
use crate::logical::Query;
use crate::node::{Assignment, InsertPlan, InsertSource, OutputColumn, Plan};
use crate::uses::{Actions, DELETE, INSERT, NOTHING, UPDATE};
use crate::{typing, visit};

/// The relations of the old and the new row, for VALUES(): frame, old, new.
pub(super) type ValuesRow = Option<(usize, usize, usize)>;

impl Binder<'_> {
    pub(super) fn insert(&mut self, insert: &ast::Insert) -> Result<Plan> {
        let actions = INSERT
            | if insert.replace { DELETE } else { NOTHING }
            | if insert.on_duplicate.is_empty() { NOTHING } else { UPDATE };
        self.operation = "INSERT";
        if insert.hinted {
            self.read_hints(Hinted::Insert(insert));
        }
        let into = match self.cx.insert_target {
            Some(table) => {
                self.note_table(table);
                Inserted { table: table.clone(), partitions: None, through: None }
            }
            None => self.insert_target(&insert.table, actions, insert.columns.as_deref(), insert.replace)?,
        };
        let columns = self.insert_columns(&into, insert.columns.as_deref())?;
        self.insert_into(insert, &into, columns)
    }

    /// What a name means to an INSERT that names these columns.
    pub(super) fn insert_target(
        &mut self,
        name: &ast::Name,
        actions: Actions,
        columns: Option<&[ast::ColumnRef]>,
        replace: bool,
    ) -> Result<Inserted> {
        let into = match self.table_or_view(name, actions)? {
            Named::Table(table) => Inserted { table, partitions: None, through: None },
            Named::View(view) => {
                let factor =
                    ast::TableFactor { name: name.clone(), partitions: Vec::new(), alias: None, index_hints: Vec::new() };
                self.insertable(view, &factor, columns.filter(|columns| !columns.is_empty()), replace)?
            }
        };
        into.note_table(self, actions)?;
        if into.table.indexes.is_empty() && !super::update::is_setup(&into.table) {
            return Err(Error::new(&errno::ER_NON_INSERTABLE_TABLE, &[&into.table.name, &"INSERT"]));
        }
        Ok(into)
    }

    /// `columns`: positions in the table of those that get values.
    pub(super) fn insert_into(&mut self, insert: &ast::Insert, into: &Inserted, mut columns: Vec<usize>) -> Result<Plan> {
        let named = super::select_partitions(&into.table, &insert.partitions)?;
        let partitions = match (named, into.partitions.clone()) {
            (Some(named), Some(of_view)) => Some(named.iter().copied().filter(|n| of_view.contains(n)).collect()),
            (named, of_view) => named.or(of_view),
        };
        self.note_inserted(into, &columns, insert)?;
        if let ast::InsertSource::Values(rows) = &insert.source
            && rows.first().is_some_and(Vec::is_empty)
            && insert.columns.as_ref().is_none_or(Vec::is_empty)
        {
            // `VALUES ()`: no column gets a value.
            columns.clear();
        }
        self.push_frame();
        self.resolve_insert_hints(insert, into);
        let table = into.table.clone();
        let width = table.columns.len();
        self.frame().width = 2 * width;
        self.frame().slot_owner.resize(2 * width, None);
        let (source, on_duplicate) = match &insert.source {
            ast::InsertSource::Values(_) | ast::InsertSource::Literals(_) => {
                // A subquery among the values, or in what is set instead of them, may not read the table.
                self.targets.push(into.target());
                self.inserting_values = true;
                let source = match &insert.source {
                    ast::InsertSource::Literals(rows) => {
                        columns.iter().try_for_each(|column| self.refuse_generated(&table, *column))?;
                        self.literal_rows(rows, &columns)?
                    }
                    ast::InsertSource::Values(rows) => InsertSource::Values(self.insert_rows(rows, into, &columns, width)?),
                    ast::InsertSource::Query(_) => InsertSource::Values(Vec::new()),
                };
                let on_duplicate = self.on_duplicate(insert, into, &columns, None)?;
                self.inserting_values = false;
                self.targets.pop();
                (source, on_duplicate)
            }
            ast::InsertSource::Query(query) => self.insert_query(insert, query, into, &columns)?,
        };
        let default_exprs = self.default_exprs(&table, &columns)?;
        let through = self.inserted_through(into)?;
        let values = match &source {
            InsertSource::Values(rows) => rows.as_slice(),
            InsertSource::Literals(_) | InsertSource::Query(_) => &[],
        };
        let reads_row = values.iter().flatten().flatten().any(|value| !visit::slots(value).is_empty());
        Ok(Plan::Insert(Box::new(InsertPlan {
            columns: columns.clone(),
            source,
            frame_width: self.frame().width,
            default_exprs,
            reads_row,
            on_duplicate,
            ignore: insert.ignore,
            replace: insert.replace,
            through,
            tables: std::mem::take(&mut self.tables),
            early: self.take_early(),
            table,
            partitions,
        })))
    }

    /// Without a list of columns, or with an empty one, a row is inserted as a whole.
    fn note_inserted(&self, into: &Inserted, columns: &[usize], insert: &ast::Insert) -> Result<()> {
        if self.cx.insert_target.is_some() {
            return Ok(());
        }
        if into.through.is_some() {
            return columns.iter().try_for_each(|column| into.note(self, *column, INSERT));
        }
        let (uses, table) = (self.uses()?, &into.table);
        uses.of(table, |entry| columns.iter().for_each(|column| entry.note_column(*column, INSERT)));
        // LOAD DATA, which has no rows here, may fill variables alone.
        let of_file = matches!(&insert.source, ast::InsertSource::Values(rows) if rows.is_empty());
        if !of_file && insert.columns.as_ref().is_none_or(Vec::is_empty) {
            let columns = (0..table.columns.len())
                .filter(|column| !table.columns[*column].invisible && !table.columns[*column].is_hidden());
            columns.for_each(|column| uses.note_column(table, column, INSERT));
            uses.of(table, |entry| entry.whole |= INSERT);
        }
        Ok(())
    }

    /// Positions of the columns that get values; error 1054, 1110.
    pub(super) fn insert_columns(&mut self, into: &Inserted, names: Option<&[ast::ColumnRef]>) -> Result<Vec<usize>> {
        let Some(names) = names else {
            if let Some(through) = &into.through {
                return Ok(through.columns.iter().map(|(_, _, position)| *position).collect());
            }
            let table = &into.table;
            return Ok((0..table.columns.len()).filter(|n| !table.columns[*n].invisible).collect());
        };
        let mut columns = Vec::with_capacity(names.len());
        for name in names {
            let position = self.position_of(into, name)?;
            // As MySQL, a view's column may be named twice.
            if columns.contains(&position) && into.through.is_none() {
                return Err(Error::new(&errno::ER_FIELD_SPECIFIED_TWICE, &[&name.name]));
            }
            columns.push(position);
        }
        Ok(columns)
    }

    /// Position in the table of a column that the statement names; error 1054.
    pub(super) fn position_of(&self, into: &Inserted, name: &ast::ColumnRef) -> Result<usize> {
        let ours = name.table.as_deref().is_none_or(|t| t == into.name());
        let position = into.position(&name.name).filter(|_| ours);
        position.ok_or_else(|| Error::new(&errno::ER_BAD_FIELD_ERROR, &[&written(name), &"field list"]))
    }

    /// Makes a row of what is inserted into nameable, as the statement names it; returns its relation.
    pub(super) fn push_inserted_scope(&mut self, into: &Inserted, first_slot: usize) -> usize {
        self.push_row_scope(&into.table, &into.table.name, first_slot, false);
        let relation = self.frame().relations.len() - 1;
        self.name_by_view(relation, into);
        if let Some(through) = &into.through {
            let of_row = &mut self.frame().relations[relation];
            of_row.alias.clone_from(&through.def.name);
            of_row.database = Some(through.def.database.clone());
        }
        relation
    }

    fn insert_rows(
        &mut self,
        rows: &[Vec<ast::Expr>],
        into: &Inserted,
        columns: &[usize],
        first_slot: usize,
    ) -> Result<Vec<Vec<Option<Expr>>>> {
        let table = &into.table;
        let relation = self.push_inserted_scope(into, first_slot);
        let mut bound = Vec::with_capacity(rows.len());
        for (n, row) in rows.iter().enumerate() {
            if row.len() != columns.len() {
                return Err(Error::new(&errno::ER_WRONG_VALUE_COUNT_ON_ROW, &[&(n + 1)]));
            }
            let values = row.iter().zip(columns).map(|(e, c)| self.assigned(e, table, relation, *c));
            bound.push(values.collect::<Result<Vec<_>>>()?);
        }
        self.scopes.pop();
        Ok(bound)
    }

    /// Rows of literals stay what they are.
    fn literal_rows(&self, rows: &Arc<ast::LiteralRows>, columns: &[usize]) -> Result<InsertSource> {
        if rows.width() != columns.len() {
            return Err(Error::new(&errno::ER_WRONG_VALUE_COUNT_ON_ROW, &[&1]));
        }
        let collation = self.cx.settings.connection_collation;
        let values =
            LiteralValues::new(Arc::clone(rows), collation, self.string_charset(collation), self.cx.settings.client_charset);
        Ok(InsertSource::Literals(Box::new(values)))
    }

    /// The value for a column of `relation`; `None` is a DEFAULT that is the same for every row. A parameter takes the column's type.
    pub(super) fn assigned(
        &mut self,
        expr: &ast::Expr,
        table: &TableRef,
        relation: usize,
        column: usize,
    ) -> Result<Option<Expr>> {
        match expr {
            ast::Expr::Default => self.default_value(table, relation, column),
            // There is nothing to fold, and no name to be in a clause.
            ast::Expr::Literal(_) => {
                self.refuse_generated(table, column)?;
                self.scalar(expr).map(Some)
            }
            ast::Expr::Param(n) => {
                self.refuse_generated(table, column)?;
                let mut param = self.param(*n);
                if param.ty.kind == TypeKind::Null
                    && let Some(column) = table.columns.get(column)
                {
                    let collation = param.ty.collation;
                    param.ty = column.ty.clone();
                    // The value is still a text in the connection's charset.
                    if param.ty.collation != CollationId::BINARY || param.ty.kind == TypeKind::Json {
                        param.ty.collation = collation;
                    }
                }
                Ok(Some(param))
            }
            _ => {
                let mut bound = self.in_clause(Clause::FieldList, |b| b.scalar(expr))?;
                self.refuse_generated(table, column)?;
                if let Some(column) = table.columns.get(column) {
                    let is_field = matches!(bound.kind, ExprKind::Slot(_));
                    bound = typing::assigned(bound, &column.ty, is_field);
                }
                self.fold(&mut bound);
                self.plan_subqueries(self.frames.len() - 1, &mut bound)?;
                Ok(Some(bound))
            }
        }
    }

    /// DEFAULT for a column of `relation`: DEFAULT (expr) is computed where it stands, over the row as it is then.
    fn default_value(&mut self, table: &TableRef, relation: usize, column: usize) -> Result<Option<Expr>> {
        let Some(ColumnDefault::Expr(text)) = table.columns.get(column).map(|c| &c.default) else { return Ok(None) };
        let parsed = parse_default(text)?;
        let frame = self.frames.len() - 1;
        let columns = (0..table.columns.len()).map(|column| VisibleColumn { relation, column }).collect();
        self.scopes.push(Scope { frame, relations: vec![relation], columns, ..Scope::default() });
        // The table's owner wrote it: who inserts needs nothing for what it reads.
        let free = std::mem::replace(&mut self.frames[frame].relations[relation].free, true);
        let bound = self.in_clause(Clause::FieldList, |b| b.scalar(&parsed));
        self.frames[frame].relations[relation].free = free;
        self.scopes.pop();
        bound.map(Some)
    }

    fn insert_query(
        &mut self,
        insert: &ast::Insert,
        query: &ast::Query,
        into: &Inserted,
        columns: &[usize],
    ) -> Result<(InsertSource, Vec<Assignment>)> {
        self.upsert.frame = (!insert.on_duplicate.is_empty()).then_some(self.frames.len());
        self.upsert.text.clear();
        for assignment in &insert.on_duplicate {
            let style = Style { charset: None, cast_charset: None, unqualified: true };
            self.upsert.text += &print_expr(&assignment.value, style).to_lowercase();
        }
        let mut bound = self.query(query)?;
        self.upsert.frame = None;
        if bound.output().len() - self.upsert.columns.len() != columns.len() {
            return Err(Error::new(&errno::ER_WRONG_VALUE_COUNT_ON_ROW, &[&1]));
        }
        columns.iter().try_for_each(|column| self.refuse_generated(&into.table, *column))?;
        assign_output(&mut bound, &into.table, columns);
        let on_duplicate = self.on_duplicate(insert, into, columns, Some(bound.output()))?;
        let mut plan = self.plan_query(bound)?;
        plan.tables = self.tables.clone();
        plan.locking = self.locking;
        Ok((InsertSource::Query(Arc::new(plan)), on_duplicate))
    }

    fn on_duplicate(
        &mut self,
        insert: &ast::Insert,
        into: &Inserted,
        columns: &[usize],
        output: Option<&[OutputColumn]>,
    ) -> Result<Vec<Assignment>> {
        let table = &into.table;
        let width = table.columns.len();
        let frame = self.frames.len() - 1;
        if let Some(output) = output {
            let frame = self.frame();
            frame.width = 2 * width + output.len();
            frame.slot_owner.resize(frame.width, None);
        }
        if insert.on_duplicate.is_empty() {
            return Ok(Vec::new());
        }
        let old = self.push_inserted_scope(into, 0);
        let new = self.new_row_relation(insert, into, columns)?;
        if let Some(output) = output {
            self.name_source(output, 2 * width);
        }
        let before = self.set_values_row(Some((frame, old, new)));
        let mut assignments = Vec::with_capacity(insert.on_duplicate.len());
        for assignment in &insert.on_duplicate {
            let name = &assignment.column;
            let column = match self.position_of(into, name) {
                Ok(column) => column,
                Err(unknown) => {
                    let named = into.through.as_ref().map_or(table, |through| &through.def);
                    self.uses()?.of(named, |entry| entry.unknown_column = Some((name.name.clone(), UPDATE)));
                    return Err(self.of_other_table(into, name).unwrap_or(unknown));
                }
            };
            into.note(self, column, UPDATE)?;
            let value = self.assigned(&assignment.value, table, old, column)?;
            assignments.push(Assignment { column, value });
        }
        self.set_values_row(before);
        self.scopes.pop();
        Ok(assignments)
    }

    /// The new row as a relation; with `AS new(a, b)` it can be named.
    fn new_row_relation(&mut self, insert: &ast::Insert, into: &Inserted, columns: &[usize]) -> Result<usize> {
        let (table, width) = (&into.table, into.table.columns.len());
        let row: Vec<RelationColumn> = table
            .columns
            .iter()
            .enumerate()
            .map(|(n, c)| RelationColumn {
                name: c.name.clone(),
                invisible: false,
                value: ColumnValue::Slot { slot: width + n, ty: c.ty.clone(), nullable: true },
                origin: None,
            })
            .collect();
        let alias = insert.row_alias.as_ref();
        if alias.is_some_and(|a| a.name == into.name()) {
            return Err(Error::new(&errno::ER_NONUNIQ_TABLE, &[&into.name()]));
        }
        if let Some(alias) = alias
            && !alias.columns.is_empty()
        {
            if alias.columns.len() != columns.len() {
                return Err(Error::new(&errno::ER_VIEW_WRONG_LIST, &[]));
            }
            if let Some((_, name)) =
                alias.columns.iter().enumerate().find(|(n, c)| alias.columns[..*n].iter().any(|o| same_name(o, c)))
            {
                return Err(Error::new(&errno::ER_DUP_FIELDNAME, &[name]));
            }
        }
        let name = alias.map_or("", |a| a.name.as_str());
        let relation = self.add_relation(Relation::new(name, None, Source::Row(table.clone()), row));
        self.name_by_view(relation, into);
        let new = &mut self.frame().relations[relation];
        // MySQL asks nothing for what is named of a view's new row.
        new.free = alias.is_some() && into.through.is_some();
        for (name, column) in alias.iter().flat_map(|alias| &alias.columns).zip(columns) {
            new.columns[*column].name.clone_from(name);
        }
        if alias.is_some()
            && let Some(scope) = self.scopes.last_mut()
        {
            scope.relations.push(relation);
            scope.columns.extend(columns.iter().map(|column| VisibleColumn { relation, column: *column }));
        }
        Ok(relation)
    }

    /// Makes the columns of the query's tables nameable in the update, beside the table's own. They are the last ones of its output.
    fn name_source(&mut self, output: &[OutputColumn], first_slot: usize) {
        let tables = std::mem::take(&mut self.upsert.columns);
        let first = output.len().saturating_sub(tables.len());
        let mut by_table: Vec<((Option<String>, String), Vec<(RelationColumn, Option<(TableRef, usize)>)>)> = Vec::new();
        for ((n, o), from) in output.iter().enumerate().skip(first).zip(tables) {
            let column = RelationColumn {
                name: o.name.clone(),
                invisible: false,
                value: ColumnValue::Slot { slot: first_slot + n, ty: o.expr.ty.clone(), nullable: o.expr.nullable },
                origin: None,
            };
            let (table, column) = ((from.database, from.alias), (column, from.stands_for));
            match by_table.iter_mut().find(|(t, _)| *t == table) {
                Some((_, list)) => list.push(column),
                None => by_table.push((table, vec![column])),
            }
        }
        for ((database, alias), list) in by_table {
            let count = list.len();
            let (list, stands_for) = list.into_iter().unzip();
            let merged = Relation::new(&alias, database, Source::Merged, list);
            let relation = self.add_relation(Relation { stands_for, ..merged });
            if let Some(scope) = self.scopes.last_mut() {
                scope.relations.push(relation);
                scope.columns.extend((0..count).map(|column| VisibleColumn { relation, column }));
            }
        }
    }

    /// DEFAULT (expr) of the columns that the statement does not name.
    fn default_exprs(&mut self, table: &TableRef, columns: &[usize]) -> Result<Vec<(usize, Expr)>> {
        let is_expr = |n: &usize| matches!(table.columns[*n].default, ColumnDefault::Expr(_)) && !columns.contains(n);
        let missing: Vec<usize> = (0..table.columns.len()).filter(is_expr).collect();
        if missing.is_empty() {
            return Ok(Vec::new());
        }
        self.push_row_scope(table, &table.name, table.columns.len(), true);
        let relation = self.frame().relations.len() - 1;
        let mut exprs = Vec::with_capacity(missing.len());
        for column in missing {
            exprs.extend(self.default_value(table, relation, column)?.map(|expr| (column, expr)));
        }
        self.scopes.pop();
        Ok(exprs)
    }
}

/// Gives the query's output the form in which the columns take it.
fn assign_output(query: &mut Query, table: &TableRef, columns: &[usize]) {
    let assigned = |output: &OutputColumn, column: usize| {
        let column = table.columns.get(column)?;
        let is_field = matches!(output.expr.kind, ExprKind::Slot(_)) && output.origin.is_some();
        let stored = typing::assigned(output.expr.clone(), &column.ty, is_field);
        (stored.ty != output.expr.ty).then_some(stored)
    };
    let changed: Vec<(usize, Expr)> = columns
        .iter()
        .zip(query.output())
        .enumerate()
        .filter(|(_, (_, output))| output.expr.ty.is_temporal() || output.expr.ty.kind == TypeKind::Year)
        .filter_map(|(n, (column, output))| Some((n, assigned(output, *column)?)))
        .collect();
    for (n, expr) in changed {
        query.output_mut()[n].expr = expr;
    }
}

/// The stored text of DEFAULT (expr).
fn parse_default(text: &str) -> Result<ast::Expr> {
    vaquita_parser::parse_expr(text.as_bytes(), &vaquita_parser::ParserOptions::default())
        .map_err(|e| Error::internal(format_args!("stored default {text}: {e:?}")))
}
