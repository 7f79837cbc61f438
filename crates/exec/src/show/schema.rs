//! SHOW about databases, tables, columns and indexes.

use std::sync::Arc;

use vaquita_parser::ast::Name;
use vaquita_storage::{LockTarget, Table};
use vaquita_types::errno::ER_NO_SUCH_TABLE;
use vaquita_types::schema::ObjectKind;
use vaquita_types::{Error, Result, Value};

use crate::ddl::views::columns_of_view;

use super::{Listing, ShowContext, pick};
use crate::system::{self, Row, SystemContext};

/// What SHOW COLUMNS and SHOW INDEX name.
struct Shown {
    database: String,
    name: String,
    temporary: Option<Arc<Table>>,
}

/// The rows of an information_schema table about one table, labels as text.
fn rows_about_table(system_table: &str, shown: Shown, cx: &ShowContext<'_>) -> Result<Vec<Row>> {
    let mut narrowed = SystemContext::new(cx.statement);
    (narrowed.database, narrowed.table, narrowed.temporary) = (Some(shown.database), Some(shown.name), shown.temporary);
    labelled_rows(system_table, &narrowed)
}

/// The same about the tables of a database.
fn rows_about(system_table: &str, database: &str, cx: &ShowContext<'_>) -> Result<Vec<Row>> {
    let mut narrowed = SystemContext::new(cx.statement);
    narrowed.database = Some(database.to_string());
    labelled_rows(system_table, &narrowed)
}

fn labelled_rows(system_table: &str, narrowed: &SystemContext<'_>) -> Result<Vec<Row>> {
    let mut rows = system::rows_of("information_schema", system_table, narrowed)?;
    if let Some(def) = system::table("information_schema", system_table) {
        super::labels(&mut rows, &def);
    }
    Ok(rows)
}

pub(super) fn databases(cx: &ShowContext<'_>) -> Result<Listing> {
    let mut names: Vec<String> = cx.statement.catalog.databases()?.iter().map(|d| d.name.clone()).collect();
    names.extend(system::SYSTEM_DATABASES.iter().map(|name| name.to_string()));
    names.sort();
    names.dedup();
    names.retain(|name| cx.statement.server.sees(name, None));
    let rows = names.into_iter().map(|name| vec![Value::from(name)]).collect();
    Ok(Listing { names_pattern: true, ..Listing::with_rows("DATABASES", rows) })
}

/// Names and types of a database's tables, by name.
fn table_names(database: &str, cx: &ShowContext<'_>) -> Result<Vec<(String, &'static str)>> {
    if system::is_system_database(database) {
        let mut names = system::names_in(database);
        names.retain(|(name, _)| cx.statement.server.sees(database, Some(name)));
        names.sort();
        return Ok(names);
    }
    let catalog = &cx.statement.catalog;
    let mut names: Vec<_> = catalog.tables(database)?.into_iter().map(|name| (name, "BASE TABLE")).collect();
    let views = catalog.objects(database, ObjectKind::View)?;
    names.extend(views.iter().map(|view| (view.name.clone(), "VIEW")));
    names.retain(|(name, _)| cx.statement.server.sees(database, Some(name)));
    names.sort();
    Ok(names)
}

pub(super) fn tables(full: bool, database: Option<&str>, cx: &ShowContext<'_>) -> Result<Listing> {
    let database = cx.database(database)?;
    let row = |(name, kind): (String, &str)| {
        let mut row = vec![Value::from(name)];
        if full {
            row.push(kind.into());
        }
        row
    };
    let rows = table_names(&database, cx)?.into_iter().map(row).collect();
    let mut listing = Listing::with_rows(if full { "FULL TABLES" } else { "TABLES" }, rows);
    listing.names_pattern = true;
    listing.rename(0, format!("Tables_in_{database}"));
    Ok(listing)
}

pub(super) fn table_status(database: Option<&str>, cx: &ShowContext<'_>) -> Result<Listing> {
    const PICKED: [usize; 18] = [2, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20];
    let database = cx.database(database)?;
    let rows = rows_about("tables", &database, cx)?;
    Ok(Listing::with_rows("TABLE STATUS", rows.into_iter().map(|row| pick(row, &PICKED)).collect()))
}

/// Tables of the database with the number of statements and transactions that use them now.
pub(super) fn open_tables(database: Option<&str>, cx: &ShowContext<'_>) -> Result<Listing> {
    let Some(database) = database.or(cx.database) else { return Ok(Listing::new("OPEN TABLES")) };
    let locks = cx.statement.store.locks().dump();
    let mut rows = Vec::new();
    for name in cx.statement.catalog.tables(database)? {
        if !cx.statement.server.sees(database, Some(&name)) {
            continue;
        }
        let Some(table) = cx.statement.catalog.permanent(database, &name)? else { continue };
        let users = locks.iter().filter(|lock| lock.granted && lock.target == LockTarget::Table(table.def.id)).count();
        rows.push(vec![Value::from(database), Value::from(name), Value::Int(users as i64), Value::Int(0)]);
    }
    Ok(Listing::with_rows("OPEN TABLES", rows))
}

/// A table that exists, as it is spelled in the catalog.
fn existing_table(name: &Name, cx: &ShowContext<'_>) -> Result<Shown> {
    // A temporary table outlives its database.
    let database = cx.database_unchecked(name.db.as_deref())?;
    if let Some(table) = cx.statement.catalog.temporary(&database, &name.name) {
        return Ok(Shown { database, name: name.name.clone(), temporary: Some(table) });
    }
    let database = cx.database(name.db.as_deref())?;
    if let Some(table) = system::table(&database, &name.name) {
        return Ok(Shown { database: table.database.clone(), name: table.name.clone(), temporary: None });
    }
    if let Some(view) = cx.statement.catalog.object(&database, ObjectKind::View, &name.name)? {
        // Error 1356 if it is not valid.
        columns_of_view(cx.statement.catalog, &view)?;
        return Ok(Shown { database, name: name.name.clone(), temporary: None });
    }
    match cx.statement.catalog.table(&database, &name.name)? {
        Some(_) => Ok(Shown { database, name: name.name.clone(), temporary: None }),
        None => Err(Error::new(&ER_NO_SUCH_TABLE, &[&database, &name.name])),
    }
}

/// EXTRA in information_schema.COLUMNS.
const EXTRA: usize = 17;

/// MySQL describes temporary tables without its dictionary, and says "NULL", in letters, for nothing.
fn extra_of_temporary(extra: &mut Value) {
    let Value::Bytes(text) = &*extra else { return };
    let text = String::from_utf8_lossy(text).replace("DEFAULT_GENERATED", "");
    *extra = Value::from(if text.trim().is_empty() { "NULL" } else { text.trim() });
}

pub(super) fn columns(full: bool, table: &Name, cx: &ShowContext<'_>) -> Result<Listing> {
    let shown = existing_table(table, cx)?;
    let is_temporary = shown.temporary.is_some();
    let mut rows = rows_about_table("columns", shown, cx)?;
    if is_temporary {
        rows.iter_mut().filter_map(|row| row.get_mut(EXTRA)).for_each(extra_of_temporary);
    }
    let (form, picked): (_, &[usize]) =
        if full { ("FULL COLUMNS", &[3, 15, 14, 6, 16, 5, 17, 18, 19]) } else { ("COLUMNS", &[3, 15, 6, 16, 5, 17]) };
    Ok(Listing::with_rows(form, rows.into_iter().map(|row| pick(row, picked)).collect()))
}

pub(super) fn indexes(table: &Name, cx: &ShowContext<'_>) -> Result<Listing> {
    const PICKED: [usize; 15] = [2, 3, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17];
    let rows = rows_about_table("statistics", existing_table(table, cx)?, cx)?;
    Ok(Listing::with_rows("INDEX", rows.into_iter().map(|row| pick(row, &PICKED)).collect()))
}
