//! `cargo xtask bench scans`: statements that read a table of millions of rows, and joins.
//!
//! Each server is filled from the same files, stopped, and started with the others; then every query runs `runs` times, each
//! time on one server after the other, the others stopped. The answers must be the same on all of them.

mod tables;

use std::time::{Duration, Instant};

use super::files::Files;
use super::outcome::{Better, Outcome, Table, Target};
use super::process;
use super::server::{Kind, Server, Start};
use super::settings::{Options, Settings};
use super::sql::{self, Conn};

/// A query that takes longer has failed.
const QUERY_MAX: Duration = Duration::from_secs(300);

struct Query {
    name: &'static str,
    sql: &'static str,
}

const QUERIES: [Query; 11] = [
    Query { name: "full scan, few rows found", sql: "SELECT id, pad FROM big WHERE pad LIKE '%vaq%z' ORDER BY id LIMIT 50" },
    Query { name: "COUNT(*)", sql: "SELECT COUNT(*) FROM big" },
    Query { name: "COUNT with filter", sql: "SELECT COUNT(*) FROM big WHERE amount < 250" },
    Query { name: "SUM", sql: "SELECT SUM(amount), SUM(price) FROM big" },
    Query {
        name: "GROUP BY, 10 groups",
        sql: "SELECT few, COUNT(*), SUM(price), MIN(amount), MAX(id) FROM big GROUP BY few ORDER BY few",
    },
    Query {
        name: "GROUP BY, many groups",
        sql: "SELECT many, COUNT(*), SUM(amount) AS s FROM big GROUP BY many ORDER BY s DESC, many LIMIT 20",
    },
    Query { name: "ORDER BY LIMIT", sql: "SELECT id, price, pad FROM big ORDER BY price DESC, id LIMIT 20" },
    Query {
        name: "join of 2 by key",
        sql: "SELECT COUNT(*), SUM(big.amount) FROM mid JOIN big ON big.mid = mid.id WHERE mid.kind = 7",
    },
    Query {
        name: "join of 3 by key",
        sql: "SELECT small.name, COUNT(*) AS n, SUM(big.amount) FROM mid JOIN big ON big.mid = mid.id \
              JOIN small ON small.id = mid.small WHERE mid.kind = 7 GROUP BY small.name ORDER BY n DESC, small.name LIMIT 20",
    },
    Query {
        name: "join of 2 by hash",
        sql: "SELECT COUNT(*), SUM(mid.kind), SUM(big.amount) FROM big JOIN mid ON mid.code = big.code",
    },
    Query {
        name: "join of 3 by hash",
        sql: "SELECT small.name, COUNT(*) AS n, SUM(big.amount) FROM big JOIN mid ON mid.code = big.code \
              JOIN small ON small.code = mid.small_code GROUP BY small.name ORDER BY n DESC, small.name LIMIT 20",
    },
];

pub fn main(args: &[String]) -> Result<(), String> {
    let mut options = Options::new("scans", args);
    let rows = options.number("--rows", 10_000_000, 200_000)?;
    let settings = options.finish(3, 1)?;
    let mut outcome = Outcome::new("Scans, aggregates and joins");
    outcome.setting(format!(
        "Tables of {rows}, {} and {} rows, filled in key order and analyzed; buffer pool and block cache 2 GB.",
        tables::mid_rows(rows),
        tables::SMALL_ROWS
    ));
    outcome.setting(
        "`join_buffer_size` 64 MB on the peers, and `join_cache_level` 4 on MariaDB, without which it has no hash join. \
         The answers of all servers were compared.",
    );
    let mut seconds = Table::new("Time of a query", "s", Better::Less);
    let mut cpu = Table::new("CPU time of the server", "s", Better::Less)
        .note("All threads of the server; a statement that runs on two cores uses up to twice its time.");
    for query in &QUERIES {
        seconds.row(query.name, Target::Peer(2.0));
        cpu.row(query.name, Target::None);
    }
    let files = Files::new("scans")?;
    let paths = tables::write(&files, rows)?;
    let mut filled = Vec::new();
    for kind in &settings.servers {
        println!("{}: filling tables of {rows} rows", kind.title());
        let done = tables::fill(*kind, &paths, &mut outcome);
        if outcome.note_failure(*kind, done).is_some() {
            filled.push(*kind);
        }
    }
    drop(files);
    let servers = Server::start_paused(&filled)?;
    measure(&settings, &servers, &mut outcome, &mut seconds, &mut cpu)?;
    outcome.tables = vec![seconds, cpu];
    Server::clean_up_all(servers)?;
    outcome.finish(&settings)
}

fn measure(
    settings: &Settings,
    servers: &[Server],
    outcome: &mut Outcome,
    seconds: &mut Table,
    cpu: &mut Table,
) -> Result<(), String> {
    for query in &QUERIES {
        let mut answers: Vec<(Kind, Vec<Vec<String>>)> = Vec::new();
        let mut failed: Vec<Kind> = Vec::new();
        for _ in 0..settings.runs {
            for server in servers.iter().filter(|server| !failed.contains(&server.kind())).collect::<Vec<_>>() {
                let kind = server.kind();
                server.resume()?;
                let done = timed(server, query.sql);
                server.pause()?;
                match done {
                    Ok((rows, time, cpu_s)) => {
                        println!("{:16} {:28} {:8.3} s  {cpu_s:8.2} s of CPU", kind.title(), query.name, time.as_secs_f64());
                        seconds.add(query.name, kind, time.as_secs_f64());
                        cpu.add(query.name, kind, cpu_s);
                        answers.push((kind, rows));
                    }
                    Err(text) => {
                        outcome.fail(kind, &text);
                        seconds.clear(query.name, kind);
                        cpu.clear(query.name, kind);
                        failed.push(kind);
                    }
                }
            }
        }
        if let Some((kind, text)) = disagreement(&answers) {
            outcome.fail(kind, &format!("{}: {text}", query.name));
        }
    }
    Ok(())
}

/// The answer, the time until it was there, and the CPU time in s.
fn timed(server: &Server, sql: &str) -> Result<(Vec<Vec<String>>, Duration, f64), String> {
    let mut conn = server.connect()?;
    conn.set_timeout(QUERY_MAX)?;
    for setting in joins_by_hash(server.kind()) {
        conn.run(setting)?;
    }
    let id = conn.value("SELECT CONNECTION_ID()")?;
    let before = process::cpu_us(server.pid())?;
    let start = Instant::now();
    match conn.rows(sql) {
        Ok(rows) => Ok((rows, start.elapsed(), (process::cpu_us(server.pid())? - before) as f64 / 1e6)),
        Err(text) => {
            // It may be running still.
            let _ = server.connect().and_then(|mut conn: Conn| conn.run(&format!("KILL {id}")));
            Err(text)
        }
    }
}

fn joins_by_hash(kind: Kind) -> &'static [&'static str] {
    match kind {
        Kind::MySql => &["SET SESSION join_buffer_size = 67108864"],
        Kind::MariaDb | Kind::MyRocks => {
            &["SET SESSION join_buffer_size = 67108864, join_buffer_space_limit = 268435456, join_cache_level = 4"]
        }
        Kind::Vaquita => &[],
    }
}

/// Whose answer is not that of the most others, and both.
fn disagreement(answers: &[(Kind, Vec<Vec<String>>)]) -> Option<(Kind, String)> {
    let votes = |rows: &Vec<Vec<String>>| answers.iter().filter(|(_, other)| other == rows).count();
    let (_, most) = answers.iter().max_by_key(|(_, rows)| votes(rows))?;
    let (kind, rows) = answers.iter().find(|(_, rows)| rows != most)?;
    let at = (0..).find(|&i| rows.get(i) != most.get(i))?;
    Some((*kind, format!("answers differ in row {at}: {:?}, others {:?}", rows.get(at), most.get(at))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_odd_one_is_named() {
        let rows = |n: u64| vec![vec!["1".to_string()], vec![n.to_string()]];
        let of = |last| [(Kind::MySql, rows(5)), (Kind::Vaquita, rows(last)), (Kind::MariaDb, rows(5))];
        assert_eq!(disagreement(&of(5)), None);
        assert_eq!(disagreement(&[]), None);
        let found = disagreement(&of(6));
        assert!(found.is_some_and(|(kind, text)| kind == Kind::Vaquita && text.contains("row 1")));
        assert!(disagreement(&[(Kind::MySql, rows(1)), (Kind::Vaquita, vec![])]).is_some());
    }
}
