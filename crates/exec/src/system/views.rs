//! information_schema's tables about views, and the rows of views in its other tables.

use vaquita_plan::catalog::View;
use vaquita_plan::env::Level;
use vaquita_types::charset::{charset, collation};
use vaquita_types::schema::{StoredObject, TableDef};
use vaquita_types::{Result, Value};

use super::row::{NULL, row};
use super::{Row, SystemContext, empty_table};

/// VIEWS.
pub fn views(cx: &SystemContext<'_>) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for view in cx.views()? {
        cx.statement.interrupt.check()?;
        rows.push(row![
            "def",
            view.database.as_str(),
            view.name.as_str(),
            view.text.as_str(),
            view.characteristic(View::CHECK_OPTION).unwrap_or("NONE"),
            view.characteristic(View::IS_UPDATABLE).unwrap_or("NO"),
            format!("{}@{}", view.definer.user, view.definer.host),
            View::security_name(&view),
            charset(view.client_collation).name,
            collation(view.connection_collation).name,
        ]);
    }
    Ok(rows)
}

/// VIEW_TABLE_USAGE.
pub fn view_table_usage(cx: &SystemContext<'_>) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for view in cx.views()? {
        for (database, table) in View::tables(&view) {
            rows.push(row!["def", view.database.as_str(), view.name.as_str(), "def", database, table]);
        }
    }
    Ok(rows)
}

/// VIEW_ROUTINE_USAGE.
pub fn view_routine_usage(cx: &SystemContext<'_>) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for view in cx.views()? {
        for (database, function) in View::functions(&view) {
            rows.push(row!["def", view.database.as_str(), view.name.as_str(), "def", database, function]);
        }
    }
    Ok(rows)
}

/// Of TABLES.
pub(super) fn table_rows(cx: &SystemContext<'_>) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for view in cx.views()? {
        cx.statement.interrupt.check()?;
        if !cx.reads(COMMENT) {
            rows.push(table_row(cx, &view, String::new()));
            continue;
        }
        let comment = match cx.statement.server.view_columns(cx.statement.catalog, &view) {
            Ok(_) => "VIEW".to_string(),
            Err(error) => {
                let comment = error.message().to_string();
                cx.statement.warn(Level::Warning, error);
                comment
            }
        };
        rows.push(table_row(cx, &view, comment));
    }
    Ok(rows)
}

/// The last column, for which the view is bound to its tables.
const COMMENT: usize = 20;

fn table_row(cx: &SystemContext<'_>, view: &StoredObject, comment: String) -> Row {
    let mut row = row!["def", view.database.as_str(), view.name.as_str(), "VIEW"];
    row.resize(COMMENT, NULL);
    row[14] = cx.time(view.created_us);
    row.push(Value::from(comment));
    row
}

/// The view as a table, for its columns. `None`: it is not valid.
pub(super) fn definition(cx: &SystemContext<'_>, view: &std::sync::Arc<StoredObject>) -> Option<TableDef> {
    match cx.statement.server.view_columns(cx.statement.catalog, view) {
        Ok(columns) => Some(TableDef { columns, ..empty_table(&view.database, &view.name) }),
        Err(error) => {
            cx.statement.warn(Level::Warning, error);
            None
        }
    }
}
