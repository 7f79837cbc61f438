//! Tables of a restored server into a running one, which may have lost them: copied once, and nothing is followed.
//!
//! The restored server is private: nobody writes there, and it is thrown away. So tables that shall have another database are renamed there first.

use std::collections::BTreeSet;

use vaquita_replication::address::Address;

use crate::Result;
use crate::client::{Client, name, quoted};
use crate::copy::{self, Copy};
use crate::definitions::{Schema, Table, make_tables};
use crate::server::Server;
use crate::state::{self, Run};

/// In the tables that note how far a copy is; no channel has this name.
const RUN: &str = "vaquita restore";

/// Which tables, and where to.
pub struct BringBack<'a> {
    /// The restored server.
    pub source: &'a Address,
    pub target: &'a Address,
    /// Whole databases.
    pub databases: &'a [String],
    /// `database.table`.
    pub tables: &'a [String],
    /// The database that they get; theirs, if it is not given.
    pub database: Option<&'a str>,
    pub workers: usize,
}

/// What was copied, a line each. A table that the target has is an error, and nothing is copied.
pub fn bring_back(what: &BringBack<'_>) -> Result<Vec<String>> {
    let mut source = Client::open(what.source).map_err(|error| format!("the restored server: {error}"))?;
    let mut target = Client::open(what.target).map_err(|error| format!("{}: {error}", what.target))?;
    source.run("SET GLOBAL super_read_only = OFF")?;
    source.run("SET GLOBAL read_only = OFF")?;
    source.run("SET SESSION foreign_key_checks = 0, sql_log_bin = 0")?;
    let mut wanted = wanted_tables(&mut source, what)?;
    if let Some(database) = what.database {
        wanted = wanted.iter().map(|place| moved(&mut source, place, database)).collect::<Result<_>>()?;
    }
    let databases: Vec<String> =
        wanted.iter().map(|(database, _)| database.clone()).collect::<BTreeSet<_>>().into_iter().collect();
    let server = Server::ask(&mut source)?;
    let mut schema = Schema::read(&mut source, &server, &databases)?;
    schema.tables.retain(|table| wanted.contains(&(table.database.clone(), table.name.clone())));
    for table in &schema.tables {
        let there = format!(
            "SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = {} AND table_name = {}",
            quoted(&table.database),
            quoted(&table.name)
        );
        if target.value(&there)? != "0" {
            return Err(format!("{} has a table {}: nothing is overwritten", what.target, table.shown()).into());
        }
    }
    for (database, charset, collation) in std::mem::take(&mut schema.databases) {
        target.run(&format!(
            "CREATE DATABASE IF NOT EXISTS {} DEFAULT CHARACTER SET {charset} COLLATE {collation}",
            name(&database)
        ))?;
    }
    copy_all(what, &mut source, &mut target, schema)
}

fn copy_all(what: &BringBack<'_>, source: &mut Client, target: &mut Client, mut schema: Schema) -> Result<Vec<String>> {
    let all: Vec<String> = schema.tables.iter().map(Table::shown).collect();
    let left_out = make_tables(target, &mut schema)?;
    if let Some((what, why)) = left_out.first() {
        return Err(format!("{what} cannot be made: {why}").into());
    }
    let run = Run { channel: RUN.into(), source: "a backup".into(), phase: "copying".into(), ..Run::default() };
    state::create(target, &run)?;
    let units = copy::divide(source, &schema.tables)?;
    state::add_units(target, RUN, &schema.tables, &units)?;
    let copy = Copy { source: what.source, target: what.target, channel: RUN, tables: &schema.tables, is_logged: true };
    let copied = copy::run(&copy, units, Vec::new(), what.workers)?;
    state::forget(target, RUN)?;
    let mut lines = vec![format!("{} rows of {} in {:.1} s", copied.rows, all.join(", "), copied.seconds)];
    lines.extend(copied.warnings.iter().map(|(what, why)| format!("{what}: {why}")));
    Ok(lines)
}

type Place = (String, String);

fn wanted_tables(source: &mut Client, what: &BringBack<'_>) -> Result<Vec<Place>> {
    let mut wanted = Vec::new();
    for database in what.databases {
        let tables = source.rows(&format!(
            "SELECT table_name FROM information_schema.tables WHERE table_schema = {} AND table_type = 'BASE TABLE'",
            quoted(database)
        ))?;
        if tables.is_empty() {
            return Err(format!("the restored server has no tables in a database {database}").into());
        }
        wanted.extend(tables.into_iter().flatten().map(|table| (database.clone(), table)));
    }
    for table in what.tables {
        let place = table.split_once('.').ok_or_else(|| format!("'{table}' is no DATABASE.TABLE"))?;
        let there = format!(
            "SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = {} AND table_name = {} AND table_type = 'BASE TABLE'",
            quoted(place.0),
            quoted(place.1)
        );
        if source.value(&there)? == "0" {
            return Err(format!("the restored server has no table {table}").into());
        }
        wanted.push((place.0.to_string(), place.1.to_string()));
    }
    Ok(wanted)
}

/// Gives a table another database, on the restored server.
fn moved(source: &mut Client, (database, table): &Place, to: &str) -> Result<Place> {
    let there = (to.to_string(), table.clone());
    if database == to {
        return Ok(there);
    }
    let full = |database: &str, table: &str| format!("{}.{}", name(database), name(table));
    source.run(&format!("CREATE DATABASE IF NOT EXISTS {}", name(to)))?;
    source.run(&format!("DROP TABLE IF EXISTS {}", full(to, table)))?;
    // A table with triggers stays in its database.
    let triggers = source.rows(&format!(
        "SELECT trigger_name FROM information_schema.triggers WHERE event_object_schema = {} AND event_object_table = {}",
        quoted(database),
        quoted(table)
    ))?;
    for trigger in triggers.iter().flatten() {
        source.run(&format!("DROP TRIGGER {}", full(database, trigger)))?;
    }
    source.run(&format!("RENAME TABLE {} TO {}", full(database, table), full(to, table)))?;
    Ok(there)
}
