//! What an interrupted `vaquita attach` goes on from: the database `vaquita_attach` on the target, which goes when all is done.
//!
//! A piece of rows and how far its table has got are one transaction there, so whatever ends attach (Ctrl-C, a crash of either server) leaves a
//! state that is right. None of it is in the target's binary log.
//!
//! `run`: one row a channel, with what was found out once. `unit`: the parts of tables that workers take.
//!
//! | phase | what `--resume` does |
//! |---|---|
//! | making | removes the databases that were made, and begins again |
//! | copying | goes on behind the last key of each unit; begins again if an exact unit is not done, since its snapshot is gone |
//! | copied | configures the channel, or goes on with it |

use crate::Result;
use crate::client::{Client, name, quoted};
use crate::definitions::{STATE_DATABASE, Table};
use crate::keys::{Key, decode, encode};
use crate::server::LogEnd;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Run {
    pub channel: String,
    pub source: String,
    pub phase: String,
    pub databases: Vec<String>,
    /// Those that were asked for by name; none for all.
    pub wanted: Vec<String>,
    /// Accounts come along.
    pub users: bool,
    pub begin: LogEnd,
    pub end: LogEnd,
    /// Definitions that could not be made; their tables are not followed either.
    pub ignored: Vec<String>,
    /// Objects and reasons, for the last table.
    pub left_out: Vec<(String, String)>,
}

/// Part of a table.
#[derive(Clone, Debug)]
pub struct Unit {
    pub number: u64,
    pub table: usize,
    pub low: Option<Key>,
    pub high: Option<Key>,
    /// The last key that is copied.
    pub last: Option<Key>,
    pub is_done: bool,
}

const FIELD: char = '\u{1f}';
const RECORD: char = '\u{1e}';

fn joined(parts: &[String]) -> String {
    parts.join(&FIELD.to_string())
}

fn parts(text: &str) -> Vec<String> {
    if text.is_empty() { Vec::new() } else { text.split(FIELD).map(str::to_string).collect() }
}

/// Whether anything can be noted: a copy may have been killed behind its first statement.
pub fn exists(target: &mut Client) -> Result<bool> {
    let found = format!(
        "SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = {} AND table_name = 'run'",
        quoted(STATE_DATABASE)
    );
    Ok(target.value(&found)? != "0")
}

pub fn create(target: &mut Client, run: &Run) -> Result<()> {
    target.run(&format!("CREATE DATABASE IF NOT EXISTS {STATE_DATABASE} DEFAULT CHARACTER SET utf8mb4"))?;
    target.run(&format!(
        "CREATE TABLE IF NOT EXISTS {STATE_DATABASE}.run (channel VARCHAR(64) COLLATE utf8mb4_bin PRIMARY KEY, source TEXT, phase VARCHAR(20), named LONGTEXT, \
         begin_file TEXT, begin_pos BIGINT UNSIGNED, begin_gtids LONGTEXT, end_file TEXT, end_pos BIGINT UNSIGNED, end_gtids LONGTEXT, \
         ignored LONGTEXT, left_out LONGTEXT, wanted LONGTEXT, users TEXT)"
    ))?;
    target.run(&format!(
        "CREATE TABLE IF NOT EXISTS {STATE_DATABASE}.unit (channel VARCHAR(64) COLLATE utf8mb4_bin, number BIGINT UNSIGNED, database_name TEXT, table_name TEXT, \
         low LONGTEXT, high LONGTEXT, last LONGTEXT, is_done BOOLEAN, PRIMARY KEY (channel, number))"
    ))?;
    save(target, run)
}

pub fn save(target: &mut Client, run: &Run) -> Result<()> {
    let left_out: Vec<String> = run.left_out.iter().map(|(what, why)| format!("{what}{FIELD}{why}")).collect();
    let texts = [
        &run.channel,
        &run.source,
        &run.phase,
        &joined(&run.databases),
        &run.begin.file,
        &run.begin.pos.to_string(),
        &run.begin.executed,
        &run.end.file,
        &run.end.pos.to_string(),
        &run.end.executed,
        &joined(&run.ignored),
        &left_out.join(&RECORD.to_string()),
        &joined(&run.wanted),
        &u8::from(run.users).to_string(),
    ];
    let values = texts.iter().map(|text| quoted(text)).collect::<Vec<_>>().join(", ");
    target.run(&format!("REPLACE INTO {STATE_DATABASE}.run VALUES ({values})"))?;
    Ok(())
}

pub fn load(target: &mut Client, channel: &str) -> Result<Option<Run>> {
    if !exists(target)? {
        return Ok(None);
    }
    let row = target.row(&format!(
        "SELECT channel, source, phase, named, begin_file, begin_pos, begin_gtids, end_file, end_pos, end_gtids, ignored, left_out, wanted, users \
         FROM {STATE_DATABASE}.run WHERE channel = {}",
        quoted(channel)
    ))?;
    let Some(row) = row else { return Ok(None) };
    let at = |n: usize| row.get(n).cloned().unwrap_or_default();
    let end = |n: usize| LogEnd { file: at(n), pos: at(n + 1).parse().unwrap_or(0), executed: at(n + 2) };
    let left_out = at(11);
    let pair = |text: &str| text.split_once(FIELD).map(|(what, why)| (what.to_string(), why.to_string()));
    Ok(Some(Run {
        channel: at(0),
        source: at(1),
        phase: at(2),
        databases: parts(&at(3)),
        wanted: parts(&at(12)),
        users: at(13) == "1",
        begin: end(4),
        end: end(7),
        ignored: parts(&at(10)),
        left_out: left_out.split(RECORD).filter_map(pair).collect(),
    }))
}

pub fn add_units(target: &mut Client, channel: &str, tables: &[Table], units: &[Unit]) -> Result<()> {
    let key = |key: &Option<Key>| quoted(&key.as_ref().map_or(String::new(), encode));
    for unit in units {
        let Some(table) = tables.get(unit.table) else { continue };
        target.run(&format!(
            "INSERT INTO {STATE_DATABASE}.unit VALUES ({}, {}, {}, {}, {}, {}, '', 0)",
            quoted(channel),
            unit.number,
            quoted(&table.database),
            quoted(&table.name),
            key(&unit.low),
            key(&unit.high)
        ))?;
    }
    Ok(())
}

pub fn units(target: &mut Client, channel: &str, tables: &[Table]) -> Result<Vec<Unit>> {
    let rows = target.rows(&format!(
        "SELECT number, database_name, table_name, low, high, last, is_done FROM {STATE_DATABASE}.unit WHERE channel = {} ORDER BY number",
        quoted(channel)
    ))?;
    let mut units = Vec::new();
    for row in rows {
        let [number, database, table, low, high, last, is_done] = &row[..] else { continue };
        let Some(at) = tables.iter().position(|known| known.database == *database && known.name == *table) else {
            return Err(format!(
                "table {database}.{table} has gone on the source since the copy began: begin again without --resume"
            )
            .into());
        };
        units.push(Unit {
            number: number.parse().unwrap_or(0),
            table: at,
            low: decode(low),
            high: decode(high),
            last: decode(last),
            is_done: is_done == "1",
        });
    }
    Ok(units)
}

/// The statement that notes how far a unit has got.
pub fn noted(channel: &str, number: u64, last: Option<&Key>, is_done: bool) -> String {
    format!(
        "UPDATE {STATE_DATABASE}.unit SET last = {}, is_done = {} WHERE channel = {} AND number = {number}",
        quoted(&last.map_or(String::new(), encode)),
        u8::from(is_done),
        quoted(channel)
    )
}

/// Removes what a copy has made, and that it was begun.
pub fn undo(target: &mut Client, run: &Run) -> Result<()> {
    target.run("SET foreign_key_checks = 0")?;
    for database in &run.databases {
        target.run(&format!("DROP DATABASE IF EXISTS {}", name(database)))?;
    }
    forget(target, &run.channel)
}

pub fn forget(target: &mut Client, channel: &str) -> Result<()> {
    target.run(&format!("DELETE FROM {STATE_DATABASE}.unit WHERE channel = {}", quoted(channel)))?;
    target.run(&format!("DELETE FROM {STATE_DATABASE}.run WHERE channel = {}", quoted(channel)))?;
    if target.value(&format!("SELECT COUNT(*) FROM {STATE_DATABASE}.run"))? == "0" {
        target.run(&format!("DROP DATABASE {STATE_DATABASE}"))?;
    }
    Ok(())
}
