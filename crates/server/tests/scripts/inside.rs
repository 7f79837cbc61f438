//! How statements are executed here: sections behind the answers, which no MySQL is asked for.
//!
//! `tests/golden/inside/*.test` are as SQL scripts, and ask for sections by their names:
//!
//! ```text
//! > sections plan locks                   behind each statement from here on
//! > UPDATE t SET v = 1 WHERE id = 5
//! ok 1 Rows matched: 1  Changed: 1  Warnings: 0
//! [plan]                                  what EXPLAIN FORMAT=TREE says of it before it runs
//!   -> Update t …
//! [locks]                                 what performance_schema.data_locks has afterwards, for all sessions of the script
//!   t  PRIMARY  RECORD  X,REC_NOT_GAP  GRANTED  5
//! ```

use std::fmt::Write;

use vaquita_scripts::Script;

use crate::client::{Answer, Client};
use crate::server::Server;
use crate::sql::print_answer;

/// Statements that EXPLAIN takes.
const EXPLAINED: [&str; 6] = ["SELECT", "INSERT", "UPDATE", "DELETE", "REPLACE", "WITH"];

pub fn replay(script: &Script, server: &Server) -> String {
    let database = format!("inside_{}", script.name);
    let mut observer = server.connect();
    observer.query(&format!("DROP DATABASE IF EXISTS {database}"));
    observer.query(&format!("CREATE DATABASE {database}"));
    let connect = || {
        let mut client = server.connect();
        client.query(&format!("USE {database}"));
        client
    };
    let mut connections = vec![connect()];
    let (mut current, mut sections) = (0, Vec::new());
    let mut out = String::new();
    for line in script.text.lines() {
        if line.starts_with('#') {
            let _ = writeln!(out, "{line}");
        }
        let Some(sql) = line.strip_prefix("> ") else { continue };
        let _ = writeln!(out, "{line}");
        if let Some(names) = sql.strip_prefix("sections") {
            sections = names.split_whitespace().map(str::to_string).collect();
        } else if let Some(number) = sql.strip_prefix("connection ") {
            current = number.trim().parse().expect("connection number");
            connections.resize_with(connections.len().max(current + 1), connect);
        } else {
            let wanted = |name: &str| sections.iter().any(|section| section == name);
            let client = &mut connections[current];
            let plan = if wanted("plan") { plan(client, sql) } else { String::new() };
            print_answer(&client.query(sql), &mut out);
            out.push_str(&plan);
            if wanted("locks") {
                out.push_str(&locks(&mut observer, &database));
            }
        }
    }
    drop(connections);
    observer.query(&format!("DROP DATABASE IF EXISTS {database}"));
    out
}

fn plan(client: &mut Client, sql: &str) -> String {
    if !EXPLAINED.iter().any(|verb| sql.starts_with(verb)) {
        return String::new();
    }
    match client.query(&format!("EXPLAIN FORMAT=TREE {sql}")) {
        answer @ Answer::Rows { .. } => section("plan", answer.rows().concat().iter().flat_map(|text| text.lines())),
        _ => String::new(),
    }
}

fn locks(observer: &mut Client, database: &str) -> String {
    let columns = "OBJECT_NAME, COALESCE(INDEX_NAME, ''), LOCK_TYPE, LOCK_MODE, LOCK_STATUS, COALESCE(LOCK_DATA, '')";
    let sql = format!(
        "SELECT CONCAT_WS('  ', {columns}) FROM performance_schema.data_locks WHERE OBJECT_SCHEMA = '{database}' ORDER BY 1"
    );
    let held = observer.query(&sql).rows().concat();
    section("locks", held.iter().map(|lock| lock.trim_end()))
}

fn section<'a>(name: &str, lines: impl Iterator<Item = &'a str>) -> String {
    lines.fold(format!("[{name}]\n"), |mut text, line| {
        let _ = writeln!(text, "  {line}");
        text
    })
}
