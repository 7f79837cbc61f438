//! Tables without a primary key: `sql_require_primary_key` refuses them, `sql_generate_invisible_primary_key` gives them one.
//!
//! A UNIQUE key whose columns are all NOT NULL is as good to both. The generated key is what MySQL generates:
//! ```text
//! CREATE TABLE t (a INT)  ->  my_row_id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT INVISIBLE PRIMARY KEY, a INT
//! ```

use vaquita_parser::ast;
use vaquita_types::errno::{
    ER_GIPK_COLUMN_ALTER_NOT_ALLOWED, ER_GIPK_COLUMN_EXISTS, ER_GIPK_FAILED_AUTOINC_COLUMN_EXISTS, ER_TABLE_WITHOUT_PK,
};
use vaquita_types::schema::{ColumnDef, ColumnDefault, ColumnId, IndexDef, IndexKind, TableDef};
use vaquita_types::{ColumnType, Error, Result, Value};

use super::Ddl;

/// The name of a generated column.
const COLUMN: &str = "my_row_id";

impl Ddl<'_> {
    /// Puts the column in front of those of a new table that has no key, and its key to the others.
    pub(super) fn generate_primary_key(
        &self,
        columns: &mut Vec<ColumnDef>,
        indexes: &mut Vec<ast::IndexDef>,
        engine: &str,
    ) -> Result<()> {
        let missing = !indexes.iter().any(|index| names_a_key(index, columns));
        if !missing || !engine.eq_ignore_ascii_case("InnoDB") || !self.session.run_settings().generates_primary_key {
            return Ok(());
        }
        if columns.iter().any(|c| c.name.eq_ignore_ascii_case(COLUMN)) {
            return Err(Error::new(&ER_GIPK_COLUMN_EXISTS, &[]));
        }
        if columns.iter().any(|c| c.auto_increment) {
            return Err(Error::new(&ER_GIPK_FAILED_AUTOINC_COLUMN_EXISTS, &[]));
        }
        columns.insert(0, generated_column());
        indexes.push(ast::IndexDef {
            kind: ast::IndexKind::Primary,
            name: None,
            constraint: None,
            parts: vec![ast::KeyPart::Column { name: COLUMN.to_string(), length: None, desc: false }],
            options: ast::IndexOptions::default(),
        });
        Ok(())
    }

    /// Error 3750 for a table that has no key and must have one.
    pub(super) fn require_primary_key(&self, def: &TableDef) -> Result<()> {
        if !has_key(def) && self.session.run_settings().requires_primary_key {
            return Err(Error::new(&ER_TABLE_WITHOUT_PK, &[]));
        }
        Ok(())
    }

    /// ALTER may take no key away while keys are generated (error 1235), nor leave a table without one that must have it.
    pub(super) fn check_key_left(&self, old: &TableDef, new: &TableDef) -> Result<()> {
        if has_key(old) && !has_key(new) && self.session.run_settings().generates_primary_key {
            return Err(Error::unsupported(
                "an operation that leaves the table without a PRIMARY KEY or a UNIQUE NOT NULL key while @@sql_generate_invisible_primary_key=ON.",
            ));
        }
        self.require_primary_key(new)
    }
}

/// Error 4110 for another name of a generated column.
pub(super) fn check_rename(def: &TableDef, column: &str, new: &str) -> Result<()> {
    if is_generated(def) && column.eq_ignore_ascii_case(COLUMN) && !new.eq_ignore_ascii_case(COLUMN) {
        return Err(Error::new(&ER_GIPK_COLUMN_ALTER_NOT_ALLOWED, &[]));
    }
    Ok(())
}

/// The table's first column and its primary key are as `generate_primary_key` makes them.
fn is_generated(def: &TableDef) -> bool {
    let Some(first) = def.columns.first() else { return false };
    let is_key = |i: &IndexDef| i.kind == IndexKind::Primary && i.parts.len() == 1 && i.parts[0].column == first.id;
    let wanted = generated_column();
    first.name == COLUMN && first.ty == wanted.ty && first.auto_increment && first.invisible && def.indexes.iter().any(is_key)
}

fn generated_column() -> ColumnDef {
    ColumnDef {
        id: ColumnId(0),
        name: COLUMN.to_string(),
        ty: ColumnType::bigint_unsigned(),
        nullable: false,
        default: ColumnDefault::None,
        on_update_now: false,
        auto_increment: true,
        comment: String::new(),
        invisible: true,
        added_default: Value::Null,
        generated: None,
    }
}

/// A PRIMARY KEY, or a UNIQUE key of whole columns that are all NOT NULL.
fn names_a_key(index: &ast::IndexDef, columns: &[ColumnDef]) -> bool {
    let whole = |part: &ast::KeyPart| match part {
        ast::KeyPart::Column { name, length: None, .. } => {
            columns.iter().any(|c| c.name.eq_ignore_ascii_case(name) && !c.nullable)
        }
        _ => false,
    };
    match index.kind {
        ast::IndexKind::Primary => true,
        ast::IndexKind::Unique => index.parts.iter().all(whole),
        _ => false,
    }
}

fn has_key(def: &TableDef) -> bool {
    let not_null = |id| def.position_of(id).is_some_and(|at| !def.columns[at].nullable);
    def.indexes.iter().any(|index| {
        index.is_unique()
            && !index.parts.is_empty()
            && index.parts.iter().all(|part| part.prefix.is_none() || index.kind == IndexKind::Primary)
            && index.parts.iter().all(|part| not_null(part.column))
    })
}
