//! The select list: `*`, names of output columns, and where they come from.

use vaquita_parser as ast;
use vaquita_types::schema::{ColumnDefault, IndexDef, IndexKind, TableDef, TableRef};
use vaquita_types::{ColumnType, Error, Result, TypeKind, errno};

use super::scope::VisibleColumn;
use super::{Binder, Clause, Source};
use crate::expr::{Expr, ExprKind};
use crate::node::{ColumnOrigin, OutputColumn};
use crate::typing;
use crate::uses::SELECT;

/// The query of INSERT … SELECT … ON DUPLICATE KEY UPDATE, whose update may name any column of its tables.
#[derive(Default)]
pub struct UpsertQuery {
    pub frame: Option<usize>,
    /// The update's expressions as text, in lower case: it holds every name that they use.
    pub text: String,
    /// Where each column is from that was added to the query's output for the update.
    pub columns: Vec<SourceColumn>,
}

/// A column of the query of INSERT … SELECT … ON DUPLICATE KEY UPDATE that the update may name.
pub struct SourceColumn {
    pub database: Option<String>,
    pub alias: String,
    /// The table's column, which the update reads if it names this one.
    pub stands_for: Option<(TableRef, usize)>,
}

impl Binder<'_> {
    pub fn select_items(&mut self, items: &[ast::SelectItem]) -> Result<Vec<OutputColumn>> {
        let mut output = Vec::with_capacity(items.len());
        let bare = self.bare_stars.take_if(|list| *list == items.as_ptr()).is_some();
        if let Some(scope) = self.scopes.last_mut() {
            scope.aliases.clear();
        }
        for (n, item) in items.iter().enumerate() {
            self.name_output_so_far(&output, items, n);
            match item {
                ast::SelectItem::Wildcard if bare => {
                    self.log_bare_star(item);
                    output.push(OutputColumn { expr: Expr::int(1), name: "1".to_string(), origin: None });
                }
                ast::SelectItem::Wildcard => self.star(item, &mut output)?,
                ast::SelectItem::TableWildcard(name) => self.table_star(item, name, &mut output)?,
                ast::SelectItem::Expr { expr, alias, source_text } => {
                    self.found_column = None;
                    let mut bound = self.in_clause(Clause::FieldList, |b| b.scalar(expr))?;
                    let found = self.found_column.take().filter(|_| matches!(expr, ast::Expr::Column(_)));
                    self.fold(&mut bound);
                    if let (ExprKind::Param(_), TypeKind::Null) = (&bound.kind, bound.ty.kind) {
                        let collation = self.cx.settings.connection_collation;
                        bound.ty = ColumnType::varchar(typing::parameter_chars(collation), collation);
                    }
                    let own_name = self.name_of_merged(found);
                    let origin = self.named_origin(&bound, found);
                    let name = match (alias, &origin) {
                        (Some(alias), _) => alias.clone(),
                        // A view's columns are called as its definition has them.
                        _ if self.cx.names.is_some() => source_text.clone(),
                        _ if own_name.is_some() => own_name.unwrap_or_default(),
                        // These are views in MySQL.
                        (None, Some(origin)) if super::is_dictionary_view(&origin.database, &origin.org_table) => {
                            origin.org_name.clone()
                        }
                        (None, _) => source_text.clone(),
                    };
                    output.push(OutputColumn { expr: bound, name, origin });
                }
            }
        }
        if let Some(scope) = self.scopes.last_mut() {
            scope.items.clear();
        }
        Ok(output)
    }

    /// What queries in item `n` may name, and what they may not name yet.
    fn name_output_so_far(&mut self, output: &[OutputColumn], items: &[ast::SelectItem], n: usize) {
        let ast::SelectItem::Expr { expr, .. } = &items[n] else { return };
        if matches!(expr, ast::Expr::Column(_) | ast::Expr::Literal(_) | ast::Expr::Param(_)) {
            return;
        }
        self.set_aliases(output);
        let Some(scope) = self.scopes.last_mut() else { return };
        if scope.items.is_empty() {
            let name = |item: &ast::SelectItem| match item {
                ast::SelectItem::Expr { alias, .. } => alias.clone(),
                _ => None,
            };
            scope.items = items.iter().map(name).collect();
        }
        scope.items_bound = n;
    }

    fn star(&mut self, item: &ast::SelectItem, output: &mut Vec<OutputColumn>) -> Result<()> {
        let columns = match self.scopes.last() {
            Some(scope) if scope.frame + 1 == self.frames.len() && !scope.relations.is_empty() => scope.columns.clone(),
            _ => return Err(Error::new(&errno::ER_NO_TABLES_USED, &[])),
        };
        self.star_columns(item, columns, output);
        Ok(())
    }

    fn star_columns(&mut self, item: &ast::SelectItem, columns: Vec<VisibleColumn>, output: &mut Vec<OutputColumn>) {
        let mut made = Vec::new();
        for column in columns {
            let before = output.len();
            self.read_star_column(column, output);
            if self.cx.names.is_some() {
                made.extend(output[before..].iter().map(|output| (column, output.name.clone())));
            }
        }
        self.log_star(item, &made);
    }

    fn table_star(&mut self, item: &ast::SelectItem, name: &ast::Name, output: &mut Vec<OutputColumn>) -> Result<()> {
        let frame = self.frames.len() - 1;
        let relations = self.scopes.last().filter(|s| s.frame == frame).map(|s| s.relations.clone()).unwrap_or_default();
        let found = relations.into_iter().find(|r| self.frames[frame].relations[*r].is_called(name.db.as_deref(), &name.name));
        let Some(relation) = found else {
            let written = name.db.as_ref().map_or(name.name.clone(), |db| format!("{db}.{}", name.name));
            return Err(Error::new(&errno::ER_BAD_TABLE_ERROR, &[&written]));
        };
        let columns = self.frames[frame].relations[relation].columns.len();
        let columns = (0..columns).map(|column| VisibleColumn { relation, column }).collect();
        self.star_columns(item, columns, output);
        Ok(())
    }

    fn read_star_column(&mut self, visible: VisibleColumn, output: &mut Vec<OutputColumn>) {
        let frame = self.frames.len() - 1;
        if !self.frames[frame].relations[visible.relation].columns[visible.column].invisible {
            self.note_column(frame, visible.relation, visible.column, SELECT);
            self.note_table_use(frame, visible.relation, |entry| entry.whole |= SELECT);
        }
        self.star_column(visible, output);
    }

    fn star_column(&mut self, visible: VisibleColumn, output: &mut Vec<OutputColumn>) {
        let frame = self.frames.len() - 1;
        let column = &self.frames[frame].relations[visible.relation].columns[visible.column];
        if column.invisible {
            return;
        }
        let name = column.name.clone();
        let expr = self.slot_of(frame, visible.relation, visible.column);
        let origin = self.named_origin(&expr, Some((frame, visible)));
        output.push(OutputColumn { expr, name, origin });
    }

    /// Adds the columns of the block's tables that the update may name to the output; returns where each is from.
    pub(super) fn columns_for_update(&mut self, output: &mut Vec<OutputColumn>) -> Vec<SourceColumn> {
        let frame = self.frames.len() - 1;
        let columns = self.scopes.last().filter(|s| s.frame == frame).map(|s| s.columns.clone()).unwrap_or_default();
        let mut tables = Vec::with_capacity(columns.len());
        for column in columns {
            let name = &self.frames[frame].relations[column.relation].columns[column.column].name;
            if !self.upsert.text.contains(&format!("`{}`", name.to_lowercase().replace('`', "``"))) {
                continue;
            }
            let before = output.len();
            self.star_column(column, output);
            if output.len() > before {
                let relation = &self.frames[frame].relations[column.relation];
                let stands_for = match &relation.source {
                    Source::Base(table) => Some((table.clone(), column.column)),
                    _ => None,
                };
                tables.push(SourceColumn { database: relation.database.clone(), alias: relation.alias.clone(), stands_for });
            }
        }
        tables
    }

    /// The origin of a column that was named: one of a merged derived table goes by that table's name.
    /// The name of a column of a view, or of a derived table, that has become part of this query: its own, however the query spells it.
    fn name_of_merged(&self, found: Option<(usize, VisibleColumn)>) -> Option<String> {
        let (frame, column) = found.filter(|(frame, _)| *frame + 1 == self.frames.len())?;
        let relation = &self.frames[frame].relations[column.relation];
        matches!(relation.source, Source::Merged).then(|| relation.columns[column.column].name.clone())
    }

    fn named_origin(&self, expr: &Expr, found: Option<(usize, VisibleColumn)>) -> Option<ColumnOrigin> {
        let current = self.frames.len() - 1;
        if let Some((frame, column)) = found
            && frame == current
            && let relation = &self.frames[frame].relations[column.relation]
            && matches!(relation.source, Source::Merged)
        {
            return relation.columns[column.column].origin.clone();
        }
        self.origin(expr)
    }

    /// For a plain column: its table and flags.
    pub fn origin(&self, expr: &Expr) -> Option<ColumnOrigin> {
        let ExprKind::Slot(slot) = expr.kind else { return None };
        let frame = self.frames.last()?;
        let relation = &frame.relations[frame.slot_owner.get(slot).copied().flatten()?];
        let position = relation.column_of(slot)?;
        match &relation.source {
            Source::Base(table) => Some(base_origin(table, &relation.alias, position)),
            _ => relation.columns[position].origin.clone(),
        }
    }
}

fn base_origin(table: &TableDef, alias: &str, position: usize) -> ColumnOrigin {
    let column = &table.columns[position];
    let in_index = |kind: IndexKind, first_only: bool| {
        table
            .indexes
            .iter()
            .any(|i| i.kind == kind && i.parts.iter().enumerate().any(|(n, p)| p.column == column.id && (!first_only || n == 0)))
    };
    // Without a PRIMARY KEY the first UNIQUE one over whole columns that are NOT NULL is told as one.
    let is_required = |i: &&IndexDef| {
        let nullable = |id| table.columns.iter().any(|column| column.id == id && column.nullable);
        i.kind == IndexKind::Unique && !i.parts.iter().any(|part| nullable(part.column) || part.prefix.is_some())
    };
    let stands_in = table.indexes.iter().find(is_required).filter(|_| table.hidden_rowid);
    let primary_key = match stands_in {
        Some(index) => index.parts.iter().any(|part| part.column == column.id),
        None => !table.hidden_rowid && in_index(IndexKind::Primary, false),
    };
    let unique_key = !primary_key
        && table.indexes.iter().any(|i| i.kind == IndexKind::Unique && i.parts.len() == 1 && i.parts[0].column == column.id);
    ColumnOrigin {
        database: table.database.clone(),
        table: alias.to_string(),
        org_table: table.name.clone(),
        is_merged: false,
        org_name: column.name.clone(),
        primary_key,
        unique_key,
        multiple_key: !primary_key
            && !unique_key
            && [IndexKind::Secondary, IndexKind::Unique, IndexKind::FullText, IndexKind::Spatial]
                .iter()
                .any(|kind| in_index(*kind, true)),
        part_key: primary_key
            || table.indexes.iter().any(|i| i.kind != IndexKind::Primary && i.parts.iter().any(|p| p.column == column.id)),
        auto_increment: column.auto_increment,
        no_default: column.default == ColumnDefault::None && !column.nullable && !column.auto_increment,
        on_update_now: column.on_update_now,
    }
}
