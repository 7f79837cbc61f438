//! information_schema's tables about foreign keys.

use vaquita_storage::foreign_keys::parent_columns;
use vaquita_types::schema::{ColumnDef, ForeignKeyDef, ReferentialAction, TableDef};
use vaquita_types::{Result, Value};

use super::row::{NULL, row};
use super::{Row, SystemContext};

/// The name of the unique key of the parent that a key uses.
fn unique_name(cx: &SystemContext<'_>, key: &ForeignKeyDef) -> Result<Value> {
    let Some(parent) = cx.statement.catalog.permanent(&key.parent.database, &key.parent.name)? else { return Ok(NULL) };
    let Ok(ids) = parent_columns(key, &parent.def) else { return Ok(NULL) };
    let index = parent.def.referenced_index(&ids).and_then(|at| parent.def.indexes.get(at));
    Ok(index.filter(|index| index.is_unique()).map_or(NULL, |index| Value::from(index.name.as_str())))
}

fn columns<'d>(def: &'d TableDef, key: &'d ForeignKeyDef) -> impl Iterator<Item = (&'d ColumnDef, &'d str)> {
    let own = key.columns.iter().filter_map(|id| def.columns.get(def.position_of(*id)?));
    own.zip(key.parent_columns.iter().map(String::as_str))
}

pub fn referential_constraints(cx: &SystemContext<'_>) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    cx.for_each_table(|table| {
        let def = &table.def;
        for key in &def.foreign_keys {
            rows.push(row![
                "def",
                def.database.as_str(),
                key.name.as_str(),
                "def",
                key.parent.database.as_str(),
                unique_name(cx, key)?,
                key.match_option.name(),
                key.on_update.name(),
                key.on_delete.name(),
                def.name.as_str(),
                key.parent.name.as_str(),
            ]);
        }
        Ok(())
    })?;
    Ok(rows)
}

/// The rows of KEY_COLUMN_USAGE.
pub fn push_key_columns(cx: &SystemContext<'_>, def: &TableDef, rows: &mut Vec<Row>) {
    for key in &def.foreign_keys {
        for (n, (column, parent)) in columns(def, key).enumerate() {
            if cx.column_privileges(def, &column.name).is_none() {
                continue;
            }
            let number = n as u64 + 1;
            rows.push(row![
                "def",
                def.database.as_str(),
                key.name.as_str(),
                "def",
                def.database.as_str(),
                def.name.as_str(),
                column.name.as_str(),
                number,
                number,
                key.parent.database.as_str(),
                key.parent.name.as_str(),
                parent,
            ]);
        }
    }
}

/// `db/name`
fn id(def: &TableDef, key: &ForeignKeyDef) -> String {
    format!("{}/{}", def.database, key.name)
}

/// The bits of InnoDB's TYPE; RESTRICT has none.
fn type_bits(key: &ForeignKeyDef) -> u64 {
    let bits = |action| match action {
        ReferentialAction::Cascade => 1,
        ReferentialAction::SetNull => 2,
        ReferentialAction::NoAction => 16,
        ReferentialAction::Restrict | ReferentialAction::SetDefault => 0,
    };
    // Those of updates are twice and four times as high.
    let update = match key.on_update {
        ReferentialAction::NoAction => 32,
        action => bits(action) * 4,
    };
    bits(key.on_delete) | update
}

pub fn innodb_foreign(cx: &SystemContext<'_>) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    cx.for_each_table(|table| {
        let def = &table.def;
        for key in &def.foreign_keys {
            rows.push(row![
                id(def, key),
                format!("{}/{}", def.database, def.name),
                format!("{}/{}", key.parent.database, key.parent.name),
                key.columns.len() as i64,
                type_bits(key),
            ]);
        }
        Ok(())
    })?;
    Ok(rows)
}

pub fn innodb_foreign_cols(cx: &SystemContext<'_>) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    cx.for_each_table(|table| {
        for key in &table.def.foreign_keys {
            for (n, (column, parent)) in columns(&table.def, key).enumerate() {
                rows.push(row![id(&table.def, key), column.name.as_str(), parent, n as u64 + 1]);
            }
        }
        Ok(())
    })?;
    Ok(rows)
}
