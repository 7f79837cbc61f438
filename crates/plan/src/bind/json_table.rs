//! `JSON_TABLE(document, path COLUMNS (…)) AS t` in FROM: a derived table that may read the tables before it, whose query is the table
//! function alone.

use std::sync::Arc;

use vaquita_parser::ast;
use vaquita_types::json::{Json, JsonPath};
use vaquita_types::{ColumnType, Error, Result, TypeKind, Value, errno};

use super::Binder;
use super::from::FromPart;
use super::scope::{Clause, Scope};
use crate::data_type::column_type;
use crate::eval::json::syntax_error;
use crate::expr::{Expr, ExprKind};
use crate::json_table::{JsonColumn, JsonColumnValue, JsonOn, JsonRows, JsonTable};
use crate::logical::{BlockHints, Logical, LogicalBlock, Read};
use crate::node::OutputColumn;
use crate::{text, visit};

/// NESTED PATHs of one table function.
const NESTED_MAX: usize = 16;

/// The columns so far.
#[derive(Default)]
struct Columns {
    output: Vec<OutputColumn>,
    nested: usize,
}

impl Binder<'_> {
    pub(super) fn json_table(&mut self, table: &ast::JsonTable, left: Option<&FromPart>) -> Result<FromPart> {
        let Some(alias) = &table.alias else { return Err(Error::new(&errno::ER_TF_MUST_HAVE_ALIAS, &[])) };
        let level = self.frames.len();
        let scopes = self.scopes.len();
        if let Some(left) = left {
            let (relations, columns) = (left.relations.clone(), left.columns.clone());
            self.scopes.push(Scope { frame: level - 1, relations, columns, ..Scope::default() });
        }
        let bound = self.in_own_frame(|b| b.json_block(table, alias));
        self.scopes.truncate(scopes);
        let (query, outermost) = bound?;
        self.materialized(query, outermost < level, true, alias, &[])
    }

    fn json_block(&mut self, table: &ast::JsonTable, alias: &str) -> Result<LogicalBlock> {
        let document = self.in_clause(Clause::TableFunction, |b| b.scalar(&table.doc))?;
        if visit::has_subquery(&document) {
            return Err(Error::new(&errno::ER_WRONG_ARGUMENTS, &[&"JSON_TABLE"]));
        }
        let mut columns = Columns::default();
        let rows = self.json_rows(&table.path, &table.columns, alias, &mut columns)?;
        let slots = (0..columns.output.len()).collect();
        let root = Logical::JsonTable { document, table: Arc::new(JsonTable { rows, slots }) };
        Ok(LogicalBlock {
            root,
            read: Read::Output(columns.output),
            straight: false,
            calc_found_rows: false,
            facts: Arc::clone(&self.facts),
            hints: BlockHints::default(),
        })
    }

    fn json_rows(
        &mut self,
        path: &ast::StringLiteral,
        written: &[ast::JsonTableColumn],
        alias: &str,
        columns: &mut Columns,
    ) -> Result<JsonRows> {
        let mut rows = JsonRows { path: self.json_path(path)?, columns: Vec::new(), nested: Vec::new() };
        for column in written {
            let (name, ty, value) = match column {
                ast::JsonTableColumn::Nested { path, columns: written } => {
                    columns.nested += 1;
                    if columns.nested > NESTED_MAX {
                        return Err(Error::new(&errno::ER_JT_MAX_NESTED_PATH, &[&NESTED_MAX, &alias]));
                    }
                    rows.nested.push(self.nested(|b| b.json_rows(path, written, alias, columns))?);
                    continue;
                }
                ast::JsonTableColumn::Ordinality(name) => (name, ColumnType::new(TypeKind::BigInt), JsonColumnValue::Ordinality),
                ast::JsonTableColumn::Path { name, ty, collation, exists, path, on_empty, on_error } => {
                    let ty = column_type(name, ty, collation.as_deref(), self.cx.settings.connection_collation)?;
                    let path = self.json_path(path)?;
                    let value = match exists {
                        true => JsonColumnValue::Exists(path),
                        false => JsonColumnValue::At {
                            path,
                            on_empty: self.json_on(on_empty.as_ref())?,
                            on_error: self.json_on(on_error.as_ref())?,
                        },
                    };
                    (name, ty, value)
                }
            };
            let slot = self.new_slot();
            columns.output.push(OutputColumn { expr: Expr::slot(slot, ty.clone(), true), name: name.clone(), origin: None });
            rows.columns.push(JsonColumn { name: name.clone(), ty, slot, value });
        }
        Ok(rows)
    }

    fn json_path(&self, path: &ast::StringLiteral) -> Result<JsonPath> {
        let parsed = JsonPath::parse(&self.json_text(path)?);
        parsed.map_err(|e| Error::new(&errno::ER_INVALID_JSON_PATH, &[&e.position]))
    }

    /// A default is the text of a JSON value.
    fn json_on(&self, on: Option<&ast::JsonOn>) -> Result<JsonOn> {
        Ok(match on {
            None | Some(ast::JsonOn::Null) => JsonOn::Null,
            Some(ast::JsonOn::Error) => JsonOn::Error,
            Some(ast::JsonOn::Default(default)) => match &**default {
                ast::Expr::Literal(ast::Literal::String(text)) => {
                    let json = Json::parse(self.json_text(text)?.as_bytes());
                    JsonOn::Default(json.map_err(|e| syntax_error(e, 1, "JSON_TABLE"))?)
                }
                _ => return Err(Error::unsupported("non-string DEFAULT value for a column in a JSON_TABLE expression")),
            },
        })
    }

    fn json_text(&self, text: &ast::StringLiteral) -> Result<String> {
        let literal = self.literal(&ast::Literal::String(text.clone()))?;
        Ok(match &literal.kind {
            ExprKind::Literal(Value::Bytes(bytes)) => text::to_utf8(bytes, literal.ty.collation),
            _ => String::new(),
        })
    }
}
