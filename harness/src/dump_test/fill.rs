//! Makes the databases of `cargo harness dump-test` on MySQL.

use std::io::{self, Write};

use super::programs::{Programs, Server};
use super::values::Column;
use crate::random::Random;

const TABLES: &str = include_str!("tables.sql");
const OBJECTS: &str = include_str!("objects.sql");
/// Zero dates and id 0 are written as they are; the rest of the session is mysqldump's own.
const SESSION: &str = "SET sql_mode = 'NO_AUTO_VALUE_ON_ZERO', time_zone = '+00:00', unique_checks = 0, autocommit = 0;\n";
/// Below the least `max_allowed_packet` in use.
const STATEMENT_BYTES: usize = 512 << 10;

struct Table {
    name: String,
    columns: Vec<Column>,
}

/// Makes `database` with `rows` rows, spread evenly over the tables. An existing one is dropped.
pub fn fill(programs: &Programs, mysql: &Server, database: &str, rows: u64, seed: u64) -> Result<(), String> {
    programs.execute(
        mysql,
        &format!("{SESSION}DROP DATABASE IF EXISTS `{database}`;\nCREATE DATABASE `{database}` CHARACTER SET utf8mb4;\nUSE `{database}`;\n{TABLES}"),
    )?;
    let tables = tables(programs, mysql, database)?;
    programs.feed(mysql, |out| {
        writeln!(out, "{SESSION}USE `{database}`;")?;
        let count = tables.len() as u64;
        for (table, number) in tables.iter().zip(0..) {
            let rows = rows / count + u64::from(number < rows % count);
            put_rows(out, table, rows, &mut Random::new(seed + number))?;
        }
        Ok(())
    })
}

/// Makes `database` with one of every kind of stored object. An existing one is dropped.
pub fn fill_objects(programs: &Programs, mysql: &Server, database: &str) -> Result<(), String> {
    let anew =
        format!("DROP DATABASE IF EXISTS `{database}`;\nCREATE DATABASE `{database}` CHARACTER SET utf8mb4;\nUSE `{database}`;");
    programs.execute(mysql, &format!("{anew}\n{OBJECTS}"))
}

/// What the tables of `database` take on MySQL's disk.
pub fn bytes_on_disk(programs: &Programs, mysql: &Server, database: &str) -> Result<String, String> {
    let sql = format!("SELECT SUM(FILE_SIZE) FROM information_schema.INNODB_TABLESPACES WHERE NAME LIKE '{database}/%'");
    Ok(programs.query(mysql, &sql)?.trim().to_string())
}

fn tables(programs: &Programs, mysql: &Server, database: &str) -> Result<Vec<Table>, String> {
    let sql = format!(
        "SELECT TABLE_NAME, {} FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = '{database}' ORDER BY TABLE_NAME, ORDINAL_POSITION",
        Column::FIELDS
    );
    let mut tables: Vec<Table> = Vec::new();
    for line in programs.query(mysql, &sql)?.lines() {
        let (name, rest) = line.split_once('\t').unwrap_or((line, ""));
        let fields: Vec<&str> = rest.split('\t').collect();
        let column = Column::new(&fields).ok_or_else(|| format!("a column of {} fields: {line}", fields.len()))?;
        match tables.last_mut() {
            Some(table) if table.name == name => table.columns.push(column),
            _ => tables.push(Table { name: name.to_string(), columns: vec![column] }),
        }
    }
    Ok(tables)
}

fn put_rows(out: &mut dyn Write, table: &Table, rows: u64, random: &mut Random) -> io::Result<()> {
    let names: Vec<String> = table.columns.iter().map(|column| quoted(&column.name)).collect();
    let head = format!("INSERT INTO {} ({}) VALUES\n", quoted(&table.name), names.join(","));
    let mut statement = String::new();
    for row in 0..rows {
        statement.push_str(if statement.is_empty() { &head } else { ",\n" });
        for (at, column) in table.columns.iter().enumerate() {
            statement.push(if at == 0 { '(' } else { ',' });
            column.put(&mut statement, row, random);
        }
        statement.push(')');
        if statement.len() > STATEMENT_BYTES {
            writeln!(out, "{statement};\nCOMMIT;")?;
            statement.clear();
        }
    }
    if !statement.is_empty() {
        writeln!(out, "{statement};\nCOMMIT;")?;
    }
    Ok(())
}

fn quoted(name: &str) -> String {
    format!("`{}`", name.replace('`', "``"))
}
