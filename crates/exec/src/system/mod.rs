//! The system databases and their tables.
//!
//! `tables.txt` holds the columns of MySQL's own tables, as recorded from one; `registry` makes a
//! `SystemTable` of each and gives it the function that makes its rows, if it has any here. A SELECT finds the
//! table through `table` (a `TableDef` without indexes, which the planner reads with `AccessPath::System`) and
//! its rows through `rows`. SHOW statements (`crate::show`) are made of the same rows.
//!
//! What only the server knows (variables, connections, accounts) comes through `context::ServerInfo`. Tables of what
//! this server does not have (events, InnoDB's internals) are there and empty, because clients read
//! them and take an error for a broken server.

mod accounts;
mod columns;
pub mod events;
mod extensions;
mod fixed;
pub(crate) mod help;
mod innodb;
mod instance;
mod narrow;
pub(crate) mod partition_text;
mod partitions;
pub(crate) mod profiling;
mod references;
mod registry;
mod resources;
mod roles;
pub mod routines;
mod row;
mod schema;
pub mod setup;
mod statement_logs;
pub mod statements;
mod summaries;
mod table_uses;
pub mod text;
mod told;
mod transaction_events;
mod transactions;
pub mod triggers;
mod variables;
mod views;

use std::borrow::Cow;
use std::sync::Arc;

use vaquita_plan::env::EvalCx;
use vaquita_plan::node::Scan;
use vaquita_storage::Table;
use vaquita_types::charset::{Charset, CollationId};
use vaquita_types::schema::{DatabaseDef, ObjectKind, StoredObject, TableDef};
use vaquita_types::temporal::DateTime;
use vaquita_types::{Error, Result, Value};

pub use accounts::STATIC_PRIVILEGES;
pub use registry::{SystemTable, empty_table, parse_columns, table};
pub use transactions::{LockNames, isolation_text, mode_text};

use crate::context::{ALL_OF_COLUMN, Execution};

/// Databases that exist on every server and hold no user tables. `sys` is one like others, which a first start makes.
pub const SYSTEM_DATABASES: &[&str] = &["information_schema", "mysql", "performance_schema"];
/// One that no list of databases has: mysqldump dumps what it finds there, and no other server would take its tables.
const UNLISTED_DATABASE: &str = "vaquita";

pub fn is_system_database(name: &str) -> bool {
    SYSTEM_DATABASES.iter().chain([&UNLISTED_DATABASE]).any(|d| d.eq_ignore_ascii_case(name))
}

/// The default collation of a system database.
pub fn database_collation(name: &str) -> CollationId {
    let charset = if name.eq_ignore_ascii_case("information_schema") { "utf8mb3" } else { "utf8mb4" };
    Charset::by_name(charset).map_or(CollationId::default(), |c| c.default_collation)
}

pub type Row = Vec<Value>;

/// What the functions that make rows have at hand. `database` and `table` narrow the rows to those of one
/// database or table when the caller wants no others; a function may ignore them.
pub struct SystemContext<'a> {
    pub statement: &'a Execution<'a>,
    pub database: Option<String>,
    pub table: Option<String>,
    /// Which columns are read, if not all.
    pub columns: Option<Vec<bool>>,
    /// SHOW COLUMNS and SHOW INDEX of a temporary table, which no other rows are about.
    pub temporary: Option<Arc<Table>>,
}

impl<'a> SystemContext<'a> {
    pub fn new(statement: &'a Execution<'a>) -> SystemContext<'a> {
        SystemContext { statement, database: None, table: None, columns: None, temporary: None }
    }

    fn reads(&self, column: usize) -> bool {
        self.columns.as_ref().is_none_or(|columns| columns.get(column).copied().unwrap_or(true))
    }

    fn wants_database(&self, name: &str) -> bool {
        self.database
            .as_deref()
            .is_none_or(|wanted| wanted == name || is_system_database(name) && wanted.eq_ignore_ascii_case(name))
    }

    fn wants_table(&self, name: &str) -> bool {
        self.table.as_deref().is_none_or(|wanted| wanted == name || wanted.eq_ignore_ascii_case(name))
    }

    /// User databases that are wanted, by name.
    fn databases(&self) -> Result<Vec<Arc<DatabaseDef>>> {
        let mut databases = self.statement.catalog.databases()?;
        databases.retain(|d| {
            self.wants_database(&d.name) && self.statement.server.sees(&d.name, None) && !is_system_database(&d.name)
        });
        Ok(databases)
    }

    /// Runs `f` for the user tables that are wanted, in the order of their names.
    fn for_each_table(&self, mut f: impl FnMut(&Table) -> Result<()>) -> Result<()> {
        if let Some(table) = &self.temporary {
            return f(table);
        }
        for database in self.databases()? {
            for name in self.statement.catalog.tables(&database.name)? {
                if self.table.as_ref().is_some_and(|wanted| *wanted != name) {
                    continue;
                }
                if !self.statement.server.sees(&database.name, Some(&name)) {
                    continue;
                }
                self.statement.interrupt.check()?;
                // It may have been dropped since.
                if let Some(table) = self.statement.catalog.permanent(&database.name, &name)? {
                    f(&table)?;
                }
            }
        }
        Ok(())
    }

    /// The views that are wanted, by name.
    fn views(&self) -> Result<Vec<Arc<StoredObject>>> {
        let mut views = Vec::new();
        if self.temporary.is_some() {
            return Ok(views);
        }
        for database in self.databases()? {
            views.extend(self.statement.catalog.objects(&database.name, ObjectKind::View)?);
        }
        let server = &self.statement.server;
        views.retain(|view| {
            self.table.as_ref().is_none_or(|wanted| *wanted == view.name) && server.sees(&view.database, Some(&view.name))
        });
        Ok(views)
    }

    /// System tables that are wanted.
    fn system_tables(&self) -> impl Iterator<Item = &'static SystemTable> + '_ {
        let is_listed = |name: &str| name != UNLISTED_DATABASE || self.database.is_some();
        let wanted = move |t: &&SystemTable| {
            is_listed(&t.def.database) && self.wants_database(&t.def.database) && self.wants_table(&t.def.name)
        };
        registry::tables().iter().filter(wanted).filter(|t| self.statement.server.sees(&t.def.database, Some(&t.def.name)))
    }

    /// What the session may do with a column; `None`: it does not see it.
    fn column_privileges(&self, def: &TableDef, column: &str) -> Option<Cow<'static, str>> {
        if self.temporary.is_some() {
            return Some(ALL_OF_COLUMN.into());
        }
        Some(self.statement.server.column_privileges(&def.database, &def.name, column)).filter(|may| !may.is_empty())
    }

    /// A time of the server, in microseconds since 1970, in the session's time zone to the second.
    fn time(&self, us_since_1970: u64) -> Value {
        self.exact_time(us_since_1970 / 1_000_000 * 1_000_000)
    }

    fn exact_time(&self, us_since_1970: u64) -> Value {
        let utc = i64::try_from(us_since_1970).ok().and_then(DateTime::from_unix_micros);
        utc.map_or(Value::Null, |utc| Value::DateTime(self.statement.session.time_zone().timestamp_from_utc(utc)))
    }
}

/// The rows that a scan of a system table looks at, and perhaps others; `eval` is what its filter sees.
pub fn rows(scan: &Scan, statement: &Execution<'_>, eval: &EvalCx<'_>) -> Result<Vec<Row>> {
    let mut cx = SystemContext::new(statement);
    narrow::narrow(&mut cx, scan, eval);
    rows_of(&scan.table.database, &scan.table.name, &cx)
}

/// The names and types of a system database's tables.
pub fn names_in(database: &str) -> Vec<(String, &'static str)> {
    let within = registry::tables().iter().filter(|t| t.def.database.eq_ignore_ascii_case(database));
    within.map(|t| (t.def.name.clone(), t.table_type)).collect()
}

/// The rows of a system table that concern one database or table, and perhaps others.
pub fn rows_of(database: &str, name: &str, cx: &SystemContext<'_>) -> Result<Vec<Row>> {
    let found = registry::find(database, name);
    let system = found.ok_or_else(|| Error::internal(format_args!("no system table {database}.{name}")))?;
    let mut rows = match system.rows {
        Some(make) => make(cx)?,
        None => Vec::new(),
    };
    for row in &mut rows {
        row::fit(row, &system.def)?;
    }
    Ok(rows)
}
