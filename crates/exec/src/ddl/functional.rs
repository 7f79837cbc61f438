//! Functional indexes: an index over an expression is one over a hidden generated column, which goes with it.
//!
//! Before indexes are made, each expression of `key ((a + 1))` becomes a column at the end of the table and a part that names it. Its name cannot be
//! written (`HIDDEN`), and whoever looks names up leaves hidden columns out. Queries find the index as that of any generated column
//! (`plan::bind::generated`).

use std::sync::Arc;

use vaquita_parser::ast::{self, KeyPart};
use vaquita_plan::bind::{self, Place, PlanContext};
use vaquita_plan::expr::{Expr, ExprKind};
use vaquita_plan::func::CAST_ARRAY;
use vaquita_plan::visit;
use vaquita_types::errno::{
    ER_BAD_FIELD_ERROR, ER_DEPENDENT_BY_FUNCTIONAL_INDEX, ER_FULLTEXT_FUNCTIONAL_INDEX, ER_FUNCTIONAL_INDEX_ON_FIELD,
    ER_FUNCTIONAL_INDEX_ON_JSON_OR_GEOMETRY_FUNCTION, ER_FUNCTIONAL_INDEX_ON_LOB, ER_FUNCTIONAL_INDEX_PRIMARY_KEY,
    ER_FUNCTIONAL_INDEX_REF_AUTO_INCREMENT, ER_FUNCTIONAL_INDEX_ROW_VALUE_IS_NOT_ALLOWED, ER_SPATIAL_FUNCTIONAL_INDEX,
    ER_TOO_MANY_FIELDS, ER_WRONG_USAGE,
};
use vaquita_types::schema::{ColumnDef, ColumnDefault, ColumnId, Generated, TableDef};
use vaquita_types::{ColumnType, Error, Result, TypeKind, Value};

use super::Ddl;
use super::checks::unknown_column;
use super::from_query::{EXPRESSION_CHARS_MAX, expression_type};
use super::generated::names;
use crate::dml::stored_exprs::parse_stored;

/// Begins the names of hidden columns; no client's name has it.
const HIDDEN: char = '\0';
/// What an index over an expression is called that has no name.
pub(super) const UNNAMED: &str = "functional_index";

/// Whether a part's name is that of a hidden column.
pub(super) fn is_hidden_name(name: &str) -> bool {
    name.starts_with(HIDDEN)
}

impl Ddl<'_> {
    /// Makes columns of the expressions of indexes. `def` has the other columns.
    pub(super) fn add_functional_columns(&self, indexes: &mut [ast::IndexDef], def: &mut TableDef) -> Result<()> {
        for index in indexes.iter_mut() {
            let constraint = index.constraint.clone().flatten();
            let name = index.name.clone().or(constraint).unwrap_or_else(|| UNNAMED.to_string());
            let kind = index.kind;
            for part in &mut index.parts {
                let KeyPart::Expr { expr, desc } = part else { continue };
                self.session.check_interrupt()?;
                match kind {
                    ast::IndexKind::Primary => return Err(Error::new(&ER_FUNCTIONAL_INDEX_PRIMARY_KEY, &[])),
                    ast::IndexKind::FullText => return Err(Error::new(&ER_FULLTEXT_FUNCTIONAL_INDEX, &[])),
                    ast::IndexKind::Spatial => return Err(Error::new(&ER_SPATIAL_FUNCTIONAL_INDEX, &[])),
                    ast::IndexKind::Plain | ast::IndexKind::Unique => {}
                }
                let text = self.expression_text(expr);
                let bound = self.bind_functional(&text, &name, def)?;
                let elements = element_type(&bound);
                if elements.is_some() && *desc {
                    return Err(Error::new(&ER_WRONG_USAGE, &[&"multi-valued index", &"explicit index order"]));
                }
                let id = def.next_column_id;
                def.next_column_id = ColumnId(id.0.checked_add(1).ok_or_else(|| Error::new(&ER_TOO_MANY_FIELDS, &[]))?);
                let mut column = hidden_column(id, text, column_type(&bound)?);
                if let Some(generated) = &mut column.generated {
                    generated.elements = elements;
                }
                *part = KeyPart::Column { name: column.name.clone(), length: None, desc: *desc };
                def.columns.push(column);
            }
        }
        Ok(())
    }

    /// Hidden columns whose indexes have gone go too; the others stand behind all columns and have the types of their expressions. Error 3837 if
    /// one needs a column that goes or gets another name.
    pub(super) fn settle_hidden(&self, old: &TableDef, def: &mut TableDef) -> Result<()> {
        let (shown, mut hidden): (Vec<ColumnDef>, Vec<ColumnDef>) =
            std::mem::take(&mut def.columns).into_iter().partition(|column| !column.is_hidden());
        hidden.retain(|column| def.indexes.iter().any(|index| index.parts.iter().any(|part| part.column == column.id)));
        def.columns = shown;
        let text = |column: &ColumnDef| column.generated.as_ref().map_or(String::new(), |generated| generated.expr.clone());
        let stays = |column: &ColumnDef| def.columns.iter().any(|other| other.id == column.id && other.name == column.name);
        for gone in old.columns.iter().filter(|column| !column.is_hidden() && !stays(column)) {
            if hidden.iter().any(|column| names(&text(column), &gone.name)) {
                return Err(Error::new(&ER_DEPENDENT_BY_FUNCTIONAL_INDEX, &[&gone.name]));
            }
        }
        let retyped = |column: &ColumnDef| old.columns.iter().any(|before| before.id == column.id && before.ty != column.ty);
        if def.columns.iter().any(retyped) {
            for column in &mut hidden {
                column.ty = column_type(&self.bind_functional(&text(column), UNNAMED, def)?)?;
            }
        }
        def.columns.append(&mut hidden);
        Ok(())
    }

    fn bind_functional(&self, text: &str, index: &str, def: &TableDef) -> Result<Expr> {
        let catalog = crate::catalog::PlanCatalog::new(self.catalog);
        let context = PlanContext::new(&catalog, Place::Functional(index));
        let parsed = parse_stored(text)?;
        let bound = bind::bind_functional(&parsed, &Arc::new(def.clone()), index, &context);
        let bound = bound.map_err(|error| match unknown_column(&error) {
            Some(name) => Error::new(&ER_BAD_FIELD_ERROR, &[&name, &"functional index"]),
            None => error,
        })?;
        match bound.kind {
            ExprKind::Row(_) => return Err(Error::new(&ER_FUNCTIONAL_INDEX_ROW_VALUE_IS_NOT_ALLOWED, &[&index])),
            // With COLLATE it is still the column's slot.
            ExprKind::Slot(_) if !matches!(parsed, ast::Expr::Collate { .. }) => {
                return Err(Error::new(&ER_FUNCTIONAL_INDEX_ON_FIELD, &[]));
            }
            _ => {}
        }
        if visit::slots(&bound).iter().any(|read| def.columns.get(*read).is_some_and(|column| column.auto_increment)) {
            return Err(Error::new(&ER_FUNCTIONAL_INDEX_REF_AUTO_INCREMENT, &[&index]));
        }
        Ok(bound)
    }
}

/// The type of the column for an expression; errors 3753 and 3757.
fn column_type(expr: &Expr) -> Result<ColumnType> {
    let ty = expression_type(&expr.ty);
    if element_type(expr).is_some() {
        return Ok(ty);
    }
    match ty.kind {
        TypeKind::Json | TypeKind::Geometry => Err(Error::new(&ER_FUNCTIONAL_INDEX_ON_JSON_OR_GEOMETRY_FUNCTION, &[])),
        _ if ty.is_blob() || ty.is_bytes() && ty.length > EXPRESSION_CHARS_MAX => {
            Err(Error::new(&ER_FUNCTIONAL_INDEX_ON_LOB, &[]))
        }
        _ => Ok(ty),
    }
}

/// What the expression is an array of.
fn element_type(expr: &Expr) -> Option<ColumnType> {
    match &expr.kind {
        ExprKind::Call(def, args) if def.name == CAST_ARRAY => args.get(1).map(|elements| elements.ty.clone()),
        _ => None,
    }
}

fn hidden_column(id: ColumnId, expr: String, ty: ColumnType) -> ColumnDef {
    ColumnDef {
        id,
        name: format!("{HIDDEN}{}", id.0),
        ty,
        nullable: true,
        default: ColumnDefault::Value(Value::Null),
        on_update_now: false,
        auto_increment: false,
        comment: String::new(),
        invisible: true,
        added_default: Value::Null,
        generated: Some(Generated { expr, stored: false, in_row: true, hidden: true, elements: None }),
    }
}
