//! `cargo xtask bench tables`: twenty thousand tables created, listed, opened; a start after it; and all of them dropped.
//!
//! One server after the other, each alone. Tables have a primary key and an index, and no rows.

use std::time::Instant;

use super::outcome::{Better, Outcome, Table, Target};
use super::process;
use super::server::{Kind, Server, Start};
use super::settings::Options;
use super::sql::Conn;

const CREATE: &str = "CREATE TABLE, all";
const SHOW: &str = "SHOW TABLES";
const COUNT: &str = "SELECT COUNT(*) FROM information_schema.TABLES";
const LIST: &str = "names and rows from information_schema.TABLES";
const COLUMNS: &str = "SELECT COUNT(*) FROM information_schema.COLUMNS";
const OPEN: &str = "SELECT from each table, the first time";
const AGAIN: &str = "SELECT from each table, the second time";
const DROP: &str = "DROP TABLE, all";
const START: &str = "start with all tables there";
const OPEN_AFTER_START: &str = "SELECT from each table, after the start";

pub fn main(args: &[String]) -> Result<(), String> {
    let mut options = Options::new("tables", args);
    let count = options.number("--tables", 20_000, 500)?;
    let settings = options.finish(1, 1)?;
    let mut outcome = Outcome::new("Many tables");
    outcome
        .setting(format!("{count} tables with a primary key and an index, one client, each server alone, one after the other."));
    let mut seconds = Table::new("Time", "s", Better::Less);
    for name in [CREATE, SHOW, COUNT, LIST, COLUMNS, OPEN, AGAIN, OPEN_AFTER_START, DROP] {
        seconds.row(name, Target::Peer(3.0));
    }
    let mut start =
        Table::new("Start", "s", Better::Less).note("From the spawn to the first answered query, after a clean stop.");
    start.row(START, Target::AtMost(1.0));
    let mut memory = Table::new("Resident memory", "MB", Better::Less);
    for run in 0..settings.runs {
        for kind in &settings.servers {
            println!("{}: run {}", kind.title(), run + 1);
            let done = one_server(*kind, count, &mut outcome, [&mut seconds, &mut start, &mut memory]);
            outcome.note_failure(*kind, done);
        }
    }
    outcome.tables = vec![seconds, start, memory];
    outcome.finish(&settings)
}

fn one_server(kind: Kind, count: u64, outcome: &mut Outcome, tables: [&mut Table; 3]) -> Result<(), String> {
    let [seconds, start, memory] = tables;
    let server = Server::start_empty(kind, Start::default())?;
    outcome.version(kind, server.version()?);
    let mut timer = Timer { kind, seconds };
    let database = server.login().database;
    let mut conn = server.connect()?;
    timer.measure(CREATE, || {
        each(count, |n| {
            conn.run(&format!("CREATE TABLE t{n} (id INT NOT NULL PRIMARY KEY, a INT, b VARCHAR(20), KEY a (a))")).map(drop)
        })
    })?;
    let all = count.to_string();
    timer.measure(SHOW, || expect_rows(&mut conn, "SHOW TABLES", count))?;
    let of = format!("WHERE TABLE_SCHEMA = '{database}'");
    timer.measure(COUNT, || conn.expect(&format!("SELECT COUNT(*) FROM information_schema.TABLES {of}"), &all))?;
    let list = format!("SELECT TABLE_NAME, ENGINE, TABLE_ROWS, DATA_LENGTH FROM information_schema.TABLES {of}");
    timer.measure(LIST, || expect_rows(&mut conn, &list, count))?;
    let columns = format!("SELECT COUNT(*) FROM information_schema.COLUMNS {of}");
    timer.measure(COLUMNS, || conn.expect(&columns, &(3 * count).to_string()))?;
    timer.measure(OPEN, || open_each(&mut conn, count))?;
    timer.measure(AGAIN, || open_each(&mut conn, count))?;
    memory.add("after all were opened", kind, process::memory_bytes(server.pid(), "VmRSS") as f64 / 1e6);
    drop(conn);
    server.stop()?;

    let server = Server::start(kind)?;
    start.add(START, kind, server.start_time.as_secs_f64());
    println!("{:16} {START:44} {:8.3} s", kind.title(), server.start_time.as_secs_f64());
    let mut conn = server.connect()?;
    timer.measure(OPEN_AFTER_START, || open_each(&mut conn, count))?;
    timer.measure(DROP, || each(count, |n| conn.run(&format!("DROP TABLE t{n}")).map(drop)))?;
    expect_rows(&mut conn, "SHOW TABLES", 0)?;
    drop(conn);
    server.clean_up()
}

struct Timer<'a> {
    kind: Kind,
    seconds: &'a mut Table,
}

impl Timer<'_> {
    fn measure(&mut self, name: &str, work: impl FnOnce() -> Result<(), String>) -> Result<(), String> {
        let start = Instant::now();
        work()?;
        let time = start.elapsed().as_secs_f64();
        println!("{:16} {name:48} {time:8.3} s", self.kind.title());
        self.seconds.add(name, self.kind, time);
        Ok(())
    }
}

fn each(count: u64, mut work: impl FnMut(u64) -> Result<(), String>) -> Result<(), String> {
    (1..=count).try_for_each(&mut work)
}

fn open_each(conn: &mut Conn, count: u64) -> Result<(), String> {
    each(count, |n| expect_rows(conn, &format!("SELECT id, a, b FROM t{n}"), 0))
}

fn expect_rows(conn: &mut Conn, sql: &str, count: u64) -> Result<(), String> {
    let found = conn.rows(sql)?.len() as u64;
    if found == count { Ok(()) } else { Err(format!("{sql}: {found} rows instead of {count}")) }
}
