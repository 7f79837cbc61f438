//! Generated columns in definitions: what may be generated from what, and where rows hold the value.
//!
//! The text of the expression is kept (`dml::stored_exprs`). Rows hold a column that is STORED or part of an index; all others are computed
//! by the scans that read them (`plan::optimize::generated`), so that adding, changing and dropping them changes no row.

use std::sync::Arc;

use vaquita_parser::ast::{self, ColumnAttribute};
use vaquita_plan::bind::{Place, PlanContext, bind_functional, bind_over_row};
use vaquita_plan::env::EvalCx;
use vaquita_plan::expr::{Expr, ExprKind};
use vaquita_plan::visit;
use vaquita_types::errno::{
    ER_BAD_FIELD_ERROR, ER_CANNOT_ADD_FOREIGN, ER_DEPENDENT_BY_DEFAULT_GENERATED_VALUE, ER_DEPENDENT_BY_GENERATED_COLUMN,
    ER_FK_CANNOT_USE_VIRTUAL_COLUMN, ER_GENERATED_COLUMN_NON_PRIOR, ER_GENERATED_COLUMN_REF_AUTO_INC,
    ER_GENERATED_COLUMN_ROW_VALUE, ER_INCORRECT_TYPE, ER_UNSUPPORTED_ACTION_ON_GENERATED_COLUMN,
    ER_WRONG_FK_OPTION_FOR_GENERATED_COLUMN, ER_WRONG_USAGE,
};
use vaquita_types::schema::{
    ColumnDef, ColumnDefault, ColumnId, ForeignKeyDef, Generated, IndexDef, IndexKind, ReferentialAction, TableDef,
};
use vaquita_types::temporal::TimeZone;
use vaquita_types::{Error, Result, TypeKind, Value};

use super::Ddl;
use super::checks::unknown_column;
use crate::context::{Constants, SessionEnv, value_of_column};
use crate::dml::stored_exprs::{bind_generated, parse_stored};

/// The name is in the text of an expression, where names are quoted. It may be part of a text in it.
pub(super) fn names(text: &str, column: &str) -> bool {
    text.contains(&format!("`{}`", column.replace('`', "``")))
}

fn reads(column: &ColumnDef, name: &str) -> bool {
    column.generated.as_ref().is_some_and(|generated| names(&generated.expr, name))
}

/// Error 1221 for what a generated column cannot have.
pub(super) fn check_attributes(column: &ast::ColumnDef) -> Result<()> {
    if !column.attributes.iter().any(|attribute| matches!(attribute, ColumnAttribute::Generated { .. })) {
        return Ok(());
    }
    let word = column.attributes.iter().find_map(|attribute| match attribute {
        ColumnAttribute::Default(_) => Some("DEFAULT"),
        ColumnAttribute::OnUpdateNow(_) => Some("ON UPDATE"),
        ColumnAttribute::AutoIncrement => Some("AUTO_INCREMENT"),
        ColumnAttribute::SerialDefaultValue => Some("SERIAL"),
        _ => None,
    });
    word.map_or(Ok(()), |word| Err(Error::new(&ER_WRONG_USAGE, &[&word, &"generated column"])))
}

/// Rows hold what an index has. Index parts have ids.
pub(super) fn keep_indexed(columns: &mut [ColumnDef], indexes: &[IndexDef]) -> Result<()> {
    for index in indexes {
        for part in &index.parts {
            let Some(column) = columns.iter_mut().find(|column| column.id == part.column) else { continue };
            let Some(generated) = &mut column.generated else { continue };
            if index.kind == IndexKind::Primary && !generated.stored {
                return Err(unsupported("Defining a virtual generated column as primary key"));
            }
            generated.in_row = true;
        }
    }
    Ok(())
}

fn unsupported(what: &str) -> Error {
    Error::new(&ER_UNSUPPORTED_ACTION_ON_GENERATED_COLUMN, &[&what])
}

/// Error 3106: what a column may not become.
pub(super) fn check_redefinition(before: &ColumnDef, after: &mut ColumnDef) -> Result<()> {
    let is_virtual = |generated: &Option<Generated>| generated.as_ref().is_some_and(|generated| !generated.stored);
    if is_virtual(&before.generated) != is_virtual(&after.generated) {
        return Err(unsupported("Changing the STORED status"));
    }
    if let (Some(before), Some(after)) = (&before.generated, &mut after.generated) {
        after.in_row |= before.in_row;
    }
    Ok(())
}

/// Errors 3108 and 3766: a column that others are generated from, or have their default from, goes or gets another name.
pub(super) fn check_needed(old: &TableDef, new: &TableDef) -> Result<()> {
    let stays = |column: &ColumnDef| new.columns.iter().any(|other| other.id == column.id && other.name == column.name);
    let keeps_default =
        |column: &&ColumnDef| old.columns.iter().any(|before| before.id == column.id && before.default == column.default);
    for gone in old.columns.iter().filter(|column| !column.is_hidden() && !stays(column)) {
        let reads = |column: &ColumnDef| matches!(&column.default, ColumnDefault::Expr(text) if names(text, &gone.name));
        if new.columns.iter().filter(keeps_default).any(reads) {
            return Err(Error::new(&ER_DEPENDENT_BY_DEFAULT_GENERATED_VALUE, &[&gone.name, &old.name]));
        }
    }
    if !old.has_generated_columns() {
        return Ok(());
    }
    let left =
        |column: &&ColumnDef| old.columns.iter().any(|before| before.id == column.id && before.generated == column.generated);
    for gone in old.columns.iter().filter(|column| !column.is_hidden() && !stays(column)) {
        if new.columns.iter().filter(left).any(|column| reads(column, &gone.name)) {
            return Err(Error::new(&ER_DEPENDENT_BY_GENERATED_COLUMN, &[&gone.name]));
        }
    }
    Ok(())
}

/// A key of a table that has generated columns, or whose parent has. Errors 3733, 3104, 1215.
pub(super) fn check_key(def: &TableDef, key: &ForeignKeyDef, parent: Option<(&TableDef, &[ColumnId])>) -> Result<()> {
    let of = |def: &TableDef, ids: &[ColumnId]| -> Vec<ColumnDef> {
        ids.iter().filter_map(|id| def.columns.get(def.position_of(*id)?)).filter(|c| c.generated.is_some()).cloned().collect()
    };
    let own = of(def, &key.columns);
    let of_parent = parent.map_or(Vec::new(), |(def, ids)| of(def, ids));
    let is_virtual = |column: &&ColumnDef| column.generated.as_ref().is_some_and(|generated| !generated.stored);
    if let Some(column) = own.iter().chain(&of_parent).find(is_virtual) {
        return Err(Error::new(&ER_FK_CANNOT_USE_VIRTUAL_COLUMN, &[&key.name, &column.name]));
    }
    let sets = |action: ReferentialAction| matches!(action, ReferentialAction::SetNull | ReferentialAction::SetDefault);
    let clause = match (key.on_update, key.on_delete) {
        (update, _) if sets(update) || update == ReferentialAction::Cascade => Some(("ON UPDATE", update)),
        (_, delete) if sets(delete) => Some(("ON DELETE", delete)),
        _ => None,
    };
    if let (false, Some((event, action))) = (own.is_empty(), clause) {
        let clause = format!("{event} {}", action.name());
        return Err(Error::new(&ER_WRONG_FK_OPTION_FOR_GENERATED_COLUMN, &[&clause]));
    }
    check_bases(def, key)
}

/// Error 1215: a cascade would change what a stored column is generated from.
pub(super) fn check_bases(def: &TableDef, key: &ForeignKeyDef) -> Result<()> {
    let changes = key.on_update.changes_children() || key.on_delete.changes_children();
    let is_stored = |column: &&ColumnDef| column.generated.as_ref().is_some_and(|generated| generated.stored);
    let named: Vec<&str> =
        key.columns.iter().filter_map(|id| def.columns.get(def.position_of(*id)?)).map(|column| column.name.as_str()).collect();
    let mut stored = def.columns.iter().filter(is_stored);
    match changes && stored.any(|column| named.iter().any(|name| reads(column, name))) {
        true => Err(Error::new(&ER_CANNOT_ADD_FOREIGN, &[])),
        false => Ok(()),
    }
}

impl Ddl<'_> {
    /// Binds the generated columns of a definition. Errors 1054, 3102, 3107, 3109, 3763, 3764, 3772.
    pub(super) fn check_generated(&self, def: &TableDef) -> Result<()> {
        if !def.has_generated_columns() {
            return Ok(());
        }
        let catalog = crate::catalog::PlanCatalog::new(self.catalog);
        let table = Arc::new(def.clone());
        for (position, column) in def.columns.iter().enumerate() {
            let Some(generated) = &column.generated else { continue };
            self.session.check_interrupt()?;
            let context = PlanContext::new(&catalog, Place::Generated(&column.name));
            let parsed = parse_stored(&generated.expr)?;
            let bound = match column.element_type() {
                Some(_) => bind_functional(&parsed, &table, "", &context),
                None => bind_over_row(&parsed, &table, 0, &context),
            };
            let bound = bound.map_err(|error| match unknown_column(&error) {
                Some(name) => Error::new(&ER_BAD_FIELD_ERROR, &[&name, &"generated column function"]),
                None => error,
            })?;
            if matches!(bound.kind, ExprKind::Row(_)) {
                return Err(Error::new(&ER_GENERATED_COLUMN_ROW_VALUE, &[&column.name]));
            }
            for read in visit::slots(&bound) {
                let Some(base) = def.columns.get(read) else { continue };
                if base.ty.is_vector() {
                    return Err(Error::new(&ER_INCORRECT_TYPE, &[&base.name, &"GENERATED COLUMN"]));
                }
                if base.auto_increment {
                    return Err(Error::new(&ER_GENERATED_COLUMN_REF_AUTO_INC, &[&column.name]));
                }
                if base.generated.is_some() && read >= position {
                    return Err(Error::new(&ER_GENERATED_COLUMN_NON_PRIOR, &[]));
                }
            }
        }
        Ok(())
    }

    /// What computes generated columns of stored rows.
    pub(super) fn generator(&self, def: &TableDef) -> Result<Generator<'_>> {
        Ok(Generator { session: self.session, columns: def.columns.clone(), exprs: bind_generated(def, self.catalog)? })
    }
}

pub(super) struct Generator<'a> {
    session: &'a dyn SessionEnv,
    columns: Vec<ColumnDef>,
    exprs: Vec<(usize, Expr)>,
}

impl Generator<'_> {
    /// Fills the columns that rows do not hold in a row that was read from storage. TIMESTAMPs among them are in the session's zone.
    pub fn fill(&self, row: &mut [Value]) -> Result<()> {
        if self.exprs.is_empty() {
            return Ok(());
        }
        let mut local = local_row(row, &self.columns, self.session.time_zone());
        let constants = Constants { session: self.session };
        for (position, expr) in &self.exprs {
            let Some(column) = self.columns.get(*position).filter(|column| !column.is_in_row()) else { continue };
            let value = expr.eval(&EvalCx { frame: &local, outer: None, params: &[], env: &constants })?.into_owned();
            let value = value_of_column(value, &expr.ty, &column.ty, self.session);
            if let (Some(place), Some(local)) = (row.get_mut(*position), local.get_mut(*position)) {
                place.clone_from(&value);
                *local = value;
            }
        }
        Ok(())
    }
}

/// A stored row with TIMESTAMPs in a time zone.
pub(super) fn local_row(row: &[Value], columns: &[ColumnDef], zone: &TimeZone) -> Vec<Value> {
    let local = |(value, column): (&Value, &ColumnDef)| match value {
        Value::DateTime(utc) if column.ty.kind == TypeKind::Timestamp => Value::DateTime(zone.timestamp_from_utc(*utc)),
        value => value.clone(),
    };
    row.iter().zip(columns).map(local).collect()
}

/// A generated column has no default.
pub(super) fn forget_defaults(column: &mut ColumnDef) {
    if column.generated.is_some() {
        column.default = if column.nullable { ColumnDefault::Value(Value::Null) } else { ColumnDefault::None };
        column.added_default = Value::Null;
    }
}
