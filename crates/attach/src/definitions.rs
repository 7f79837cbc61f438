//! What the source has: databases, tables with their columns and keys, and the statements that make them; and making them on the target.
//!
//! A table is *exact* if it is right only when it is copied at one place of the log (COPY-2 of `place`): it has no primary key, the log has not all
//! of its columns, or a foreign key changes its rows without a word in the log.

use std::collections::{BTreeMap, BTreeSet};

use crate::Result;
use crate::client::{Client, name, quoted};
use crate::server::Server;

/// Of `state`; it is nobody's data.
pub const STATE_DATABASE: &str = "vaquita_attach";
const OF_SERVERS: [&str; 4] = ["mysql", "information_schema", "performance_schema", "sys"];

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    pub name: String,
    /// As `information_schema` has it, in small letters.
    pub data_type: String,
    pub is_generated: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Table {
    pub database: String,
    pub name: String,
    pub engine: String,
    pub columns: Vec<Column>,
    /// Positions of the primary key's columns; empty: there is none.
    pub key: Vec<usize>,
    /// A guess.
    pub rows: u64,
    pub row_bytes: u64,
    pub is_exact: bool,
}

impl Table {
    pub fn full_name(&self) -> String {
        format!("{}.{}", name(&self.database), name(&self.name))
    }

    pub fn shown(&self) -> String {
        format!("{}.{}", self.database, self.name)
    }

    /// Snapshots show what was committed.
    pub fn is_transactional(&self) -> bool {
        !["MYISAM", "ARIA", "MEMORY", "CSV", "ARCHIVE", "MRG_MYISAM"].contains(&self.engine.to_ascii_uppercase().as_str())
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Schema {
    /// With charset and collation.
    pub databases: Vec<(String, String, String)>,
    pub tables: Vec<Table>,
    /// What is copied as no table: database, name, kind.
    pub others: Vec<(String, String, String)>,
    /// CREATE TABLE, without the next AUTO_INCREMENT, by table.
    pub creates: BTreeMap<(String, String), String>,
}

/// What could not come along: object, why.
pub type LeftOut = Vec<(String, String)>;

pub fn list(names: &[String]) -> String {
    names.iter().map(|name| quoted(name)).collect::<Vec<_>>().join(", ")
}

/// Databases of users; all, or those that are named.
pub fn databases(client: &mut Client, wanted: &[String]) -> Result<Vec<(String, String, String)>> {
    let sql =
        "SELECT schema_name, default_character_set_name, default_collation_name FROM information_schema.schemata ORDER BY 1";
    let found: Vec<Vec<String>> = client.rows(sql)?;
    let mut databases = Vec::new();
    for row in found {
        let [database, charset, collation] = &row[..] else { continue };
        let is_of_server = OF_SERVERS.contains(&database.to_ascii_lowercase().as_str()) || database == STATE_DATABASE;
        if !is_of_server && (wanted.is_empty() || wanted.contains(database)) {
            databases.push((database.clone(), charset.clone(), collation.clone()));
        }
    }
    if let Some(missing) = wanted.iter().find(|wanted| !databases.iter().any(|(name, ..)| name == *wanted)) {
        return Err(format!("the source has no database '{missing}', or the account may not see it").into());
    }
    Ok(databases)
}

impl Schema {
    pub fn read(client: &mut Client, server: &Server, wanted: &[String]) -> Result<Schema> {
        let databases = databases(client, wanted)?;
        let names: Vec<String> = databases.iter().map(|(name, ..)| name.clone()).collect();
        if names.is_empty() {
            return Err("the source has no database to copy".into());
        }
        let within = list(&names);
        let mut schema = Schema { databases, ..Schema::default() };
        let found = client.rows(&format!(
            "SELECT table_schema, table_name, table_type, engine, table_rows, avg_row_length FROM information_schema.tables \
             WHERE table_schema IN ({within}) ORDER BY 1, 2"
        ))?;
        let mut columns = read_columns(client, &within)?;
        let keys = read_keys(client, &within)?;
        for row in found {
            let [database, table, kind, engine, rows, row_bytes] = &row[..] else { continue };
            let place = (database.clone(), table.clone());
            if kind != "BASE TABLE" {
                schema.others.push((database.clone(), table.clone(), kind.clone()));
                continue;
            }
            let columns = columns.remove(&place).unwrap_or_default();
            let key = keys.get(&place).map(|names| position_of(&columns, names)).unwrap_or_default();
            schema.tables.push(Table {
                database: database.clone(),
                name: table.clone(),
                engine: engine.clone(),
                columns,
                key,
                rows: rows.parse().unwrap_or(0),
                row_bytes: row_bytes.parse().unwrap_or(0),
                is_exact: false,
            });
        }
        for table in &schema.tables {
            let create = client.rows(&format!("SHOW CREATE TABLE {}", table.full_name()))?;
            let text = create.into_iter().next().and_then(|row| row.into_iter().nth(1)).unwrap_or_default();
            schema.creates.insert((table.database.clone(), table.name.clone()), without_number(&text));
        }
        schema.find_exact(client, server, &within)?;
        Ok(schema)
    }

    fn find_exact(&mut self, client: &mut Client, server: &Server, within: &str) -> Result<()> {
        let logs_all = logs_whole_rows(client);
        let mut exact: BTreeSet<(String, String)> = BTreeSet::new();
        for table in &self.tables {
            if table.key.is_empty() || !logs_all {
                exact.insert((table.database.clone(), table.name.clone()));
            }
        }
        if !server.logs_cascades() {
            exact.extend(cascading_tables(client, within)?);
        }
        for table in &mut self.tables {
            table.is_exact = exact.contains(&(table.database.clone(), table.name.clone()));
        }
        Ok(())
    }
}

/// Row events with all columns: whatever a row was before, it is as the source has it afterwards.
pub fn logs_whole_rows(client: &mut Client) -> bool {
    client.variable("binlog_format") == "ROW"
        && client.variable("binlog_row_image") == "FULL"
        && !client.variable("binlog_row_value_options").contains("PARTIAL_JSON")
}

/// Tables that are connected by foreign keys of which one changes rows of children.
fn cascading_tables(client: &mut Client, within: &str) -> Result<BTreeSet<(String, String)>> {
    let keys = client.rows(&format!(
        "SELECT constraint_schema, table_name, unique_constraint_schema, referenced_table_name, update_rule, delete_rule \
         FROM information_schema.referential_constraints WHERE constraint_schema IN ({within})"
    ))?;
    let ends = |row: &[String]| match row {
        [database, child, parents, parent, ..] => Some([(database.clone(), child.clone()), (parents.clone(), parent.clone())]),
        _ => None,
    };
    let acts = |row: &Vec<String>| row.iter().skip(4).any(|rule| rule == "CASCADE" || rule == "SET NULL");
    let mut found: BTreeSet<(String, String)> =
        keys.iter().filter(|row| acts(row)).filter_map(|row| ends(row)).flatten().collect();
    loop {
        let before = found.len();
        for row in &keys {
            if let Some(ends) = ends(row).filter(|ends| ends.iter().any(|end| found.contains(end))) {
                found.extend(ends);
            }
        }
        if found.len() == before {
            return Ok(found);
        }
    }
}

fn read_columns(client: &mut Client, within: &str) -> Result<BTreeMap<(String, String), Vec<Column>>> {
    let rows = client.rows(&format!(
        "SELECT table_schema, table_name, column_name, data_type, extra FROM information_schema.columns \
         WHERE table_schema IN ({within}) ORDER BY 1, 2, ordinal_position"
    ))?;
    let mut columns: BTreeMap<(String, String), Vec<Column>> = BTreeMap::new();
    for row in rows {
        let [database, table, column, data_type, extra] = &row[..] else { continue };
        let extra = extra.to_ascii_uppercase();
        let is_generated = ["VIRTUAL", "STORED", "PERSISTENT"].iter().any(|word| extra.contains(word));
        columns.entry((database.clone(), table.clone())).or_default().push(Column {
            name: column.clone(),
            data_type: data_type.to_ascii_lowercase(),
            is_generated,
        });
    }
    Ok(columns)
}

/// The columns of primary keys; a key of which only the head is indexed is none.
fn read_keys(client: &mut Client, within: &str) -> Result<BTreeMap<(String, String), Vec<String>>> {
    let rows = client.rows(&format!(
        "SELECT table_schema, table_name, column_name, sub_part FROM information_schema.statistics \
         WHERE table_schema IN ({within}) AND index_name = 'PRIMARY' ORDER BY 1, 2, seq_in_index"
    ))?;
    let mut keys: BTreeMap<(String, String), Vec<String>> = BTreeMap::new();
    let mut cut = BTreeSet::new();
    for row in rows {
        let [database, table, column, part] = &row[..] else { continue };
        let place = (database.clone(), table.clone());
        if !part.is_empty() {
            cut.insert(place.clone());
        }
        keys.entry(place).or_default().push(column.clone());
    }
    keys.retain(|place, _| !cut.contains(place));
    Ok(keys)
}

fn position_of(columns: &[Column], names: &[String]) -> Vec<usize> {
    names.iter().filter_map(|name| columns.iter().position(|column| column.name == *name)).collect()
}

/// CREATE TABLE says the next number, which changes with the rows.
fn without_number(create: &str) -> String {
    const WORD: &str = " AUTO_INCREMENT=";
    // Behind the last parenthesis, so that no comment of a column is taken for it.
    let Some(options) = create.rfind("\n)") else { return create.to_string() };
    let (head, tail) = create.split_at(options);
    match tail.find(WORD) {
        Some(at) => {
            let (before, behind) = tail.split_at(at);
            let rest = behind.get(WORD.len()..).unwrap_or_default().trim_start_matches(|c: char| c.is_ascii_digit());
            format!("{head}{before}{rest}")
        }
        None => create.to_string(),
    }
}

/// Makes databases and tables. Tables that are refused are left out, with the error.
pub fn make_tables(target: &mut Client, schema: &mut Schema) -> Result<LeftOut> {
    let mut left_out = LeftOut::new();
    target.run("SET foreign_key_checks = 0")?;
    for (database, charset, collation) in &schema.databases {
        let create = format!("CREATE DATABASE {} DEFAULT CHARACTER SET {charset} COLLATE {collation}", name(database));
        if let Err(error) = target.run(&create) {
            // A collation that only the source has is its server's default more often than somebody's wish.
            target.run(&format!("CREATE DATABASE {} DEFAULT CHARACTER SET {charset}", name(database)))?;
            left_out.push((format!("the collation of database {database}"), error.text));
        }
    }
    let creates = &schema.creates;
    schema.tables.retain(|table| {
        let made = target.run(&format!("USE {}", name(&table.database))).and_then(|_| {
            let create = creates.get(&(table.database.clone(), table.name.clone()));
            target.run(create.map_or("", |create| create.as_str()))
        });
        match made {
            Ok(_) => true,
            Err(error) => {
                left_out.push((format!("table {}", table.shown()), format!("{} {}", error.number, error.text)));
                false
            }
        }
    });
    Ok(left_out)
}

/// Views, routines, triggers and events, which the copy must not meet.
pub fn make_programs(source: &mut Client, target: &mut Client, schema: &Schema) -> Result<LeftOut> {
    let mut left_out = LeftOut::new();
    for (database, other, kind) in schema.others.iter().filter(|(.., kind)| kind != "VIEW" && kind != "SYSTEM VIEW") {
        left_out.push((format!("{} {database}.{other}", kind.to_ascii_lowercase()), "Vaquita has none".to_string()));
    }
    let names: Vec<String> = schema.databases.iter().map(|(name, ..)| name.clone()).collect();
    let within = list(&names);
    let found = |client: &mut Client, sql: &str| client.rows(sql);
    for row in found(
        source,
        &format!(
            "SELECT routine_schema, routine_name, routine_type FROM information_schema.routines WHERE routine_schema IN ({within})"
        ),
    )? {
        let [database, routine, kind] = &row[..] else { continue };
        let named = format!("{}.{}", name(database), name(routine));
        let made = make_program(source, target, database, &format!("SHOW CREATE {kind} {named}"), Shape::ROUTINE);
        note(&mut left_out, &format!("{} {database}.{routine}", kind.to_ascii_lowercase()), made);
    }
    make_views(source, target, schema, &mut left_out);
    for row in found(
        source,
        &format!(
            "SELECT trigger_schema, trigger_name FROM information_schema.triggers WHERE trigger_schema IN ({within}) \
             ORDER BY event_object_table, action_timing, event_manipulation, action_order"
        ),
    )? {
        let [database, trigger] = &row[..] else { continue };
        let show = format!("SHOW CREATE TRIGGER {}.{}", name(database), name(trigger));
        note(
            &mut left_out,
            &format!("trigger {database}.{trigger}"),
            make_program(source, target, database, &show, Shape::ROUTINE),
        );
    }
    for row in found(
        source,
        &format!("SELECT event_schema, event_name FROM information_schema.events WHERE event_schema IN ({within})"),
    )? {
        let [database, event] = &row[..] else { continue };
        let show = format!("SHOW CREATE EVENT {}.{}", name(database), name(event));
        note(&mut left_out, &format!("event {database}.{event}"), make_program(source, target, database, &show, Shape::EVENT));
    }
    target.run("SET sql_mode = 'NO_AUTO_VALUE_ON_ZERO,ALLOW_INVALID_DATES', time_zone = '+00:00'")?;
    Ok(left_out)
}

fn note(left_out: &mut LeftOut, what: &str, made: Result<()>) {
    if let Err(error) = made {
        left_out.push((what.to_string(), error.to_string()));
    }
}

/// A view may stand on others, so those that are refused are tried again as long as any could be made.
fn make_views(source: &mut Client, target: &mut Client, schema: &Schema, left_out: &mut LeftOut) {
    let mut left: Vec<(&str, &str)> =
        schema.others.iter().filter(|(.., kind)| kind == "VIEW").map(|(database, view, _)| (&database[..], &view[..])).collect();
    loop {
        let mut refused = Vec::new();
        for (database, view) in &left {
            let show = format!("SHOW CREATE VIEW {}.{}", name(database), name(view));
            if let Err(error) = make_program(source, target, database, &show, Shape::VIEW) {
                refused.push((*database, *view, error.to_string()));
            }
        }
        if refused.is_empty() || refused.len() == left.len() {
            let told = refused.into_iter().map(|(database, view, error)| (format!("view {database}.{view}"), error));
            left_out.extend(told);
            return;
        }
        left = refused.into_iter().map(|(database, view, _)| (database, view)).collect();
    }
}

/// At which columns SHOW CREATE has what.
#[derive(Clone, Copy)]
struct Shape {
    sql_mode: Option<usize>,
    time_zone: Option<usize>,
    text: usize,
    charset: usize,
}

impl Shape {
    const ROUTINE: Shape = Shape { sql_mode: Some(1), time_zone: None, text: 2, charset: 3 };
    const VIEW: Shape = Shape { sql_mode: None, time_zone: None, text: 1, charset: 2 };
    const EVENT: Shape = Shape { sql_mode: Some(1), time_zone: Some(2), text: 3, charset: 4 };
}

fn make_program(source: &mut Client, target: &mut Client, database: &str, show: &str, shape: Shape) -> Result<()> {
    let row = source.row(show)?.unwrap_or_default();
    let at = |n: usize| row.get(n).cloned().unwrap_or_default();
    let mut text = at(shape.text);
    if text.is_empty() {
        return Err("the source does not show it to this account (SHOW_ROUTINE or SELECT on mysql.*)".into());
    }
    target.run(&format!("USE {}", name(database)))?;
    if let Some(mode) = shape.sql_mode {
        let known: Vec<String> = at(mode).split(',').filter(|word| !OF_OLD.contains(word)).map(str::to_string).collect();
        target.run(&format!("SET sql_mode = {}", quoted(&known.join(","))))?;
    }
    if let Some(zone) = shape.time_zone {
        target.run(&format!("SET time_zone = {}", quoted(&at(zone))))?;
        text = not_here(&text);
    }
    let (charset, collation) = (at(shape.charset), at(shape.charset + 1));
    target.run("SET NAMES utf8mb4")?;
    // The text is in utf8mb4 here. Where that is the same in its own charset, that is kept, too.
    if text.is_ascii() && target.run(&format!("SET character_set_client = {charset}")).is_ok() {
        let _ = target.run(&format!("SET collation_connection = {collation}"));
    }
    let made = target.run(&text);
    target.run("SET NAMES utf8mb4")?;
    made?;
    Ok(())
}

/// Words of `sql_mode` that only older servers and MariaDB have.
const OF_OLD: [&str; 11] = [
    "NO_AUTO_CREATE_USER",
    "POSTGRESQL",
    "ORACLE",
    "MSSQL",
    "DB2",
    "MAXDB",
    "MYSQL323",
    "MYSQL40",
    "NO_KEY_OPTIONS",
    "NO_TABLE_OPTIONS",
    "NO_FIELD_OPTIONS",
];

/// An event runs on the source, whose rows come by the log.
fn not_here(create: &str) -> String {
    let Some(from) = create.find(" ON COMPLETION ") else { return create.to_string() };
    let (head, tail) = create.split_at(from);
    match tail.find(" ENABLE") {
        Some(at) if tail.get(..at).is_some_and(|before| before.len() < " ON COMPLETION NOT PRESERVE ".len()) => {
            let (before, behind) = tail.split_at(at);
            format!("{head}{before} DISABLE ON REPLICA{}", behind.get(" ENABLE".len()..).unwrap_or_default())
        }
        _ => create.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_changes_with_rows_is_no_definition() {
        let create = "CREATE TABLE `t` (\n  `a` int COMMENT ' AUTO_INCREMENT=5'\n) ENGINE=InnoDB AUTO_INCREMENT=17 DEFAULT CHARSET=utf8mb4";
        let without = "CREATE TABLE `t` (\n  `a` int COMMENT ' AUTO_INCREMENT=5'\n) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4";
        assert_eq!(without_number(create), without);
        assert_eq!(without_number(without), without);
    }

    #[test]
    fn events_do_not_run_on_a_replica() {
        let create = "CREATE EVENT `e` ON SCHEDULE EVERY 1 DAY ON COMPLETION NOT PRESERVE ENABLE DO SELECT ' ENABLE'";
        let here = "CREATE EVENT `e` ON SCHEDULE EVERY 1 DAY ON COMPLETION NOT PRESERVE DISABLE ON REPLICA DO SELECT ' ENABLE'";
        assert_eq!(not_here(create), here);
        let disabled = "CREATE EVENT `e` ON SCHEDULE EVERY 1 DAY ON COMPLETION PRESERVE DISABLE DO SELECT ' ENABLE'";
        assert_eq!(not_here(disabled), disabled);
    }
}
