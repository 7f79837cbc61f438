//! `cargo xtask bench insert`: millions of rows into a table with three secondary indexes, whose keys are random.
//!
//! After the insert benchmark of Callaghan: the primary key ascends, every secondary key falls anywhere, so that an engine which
//! changes pages in place reads and writes one for almost every entry once the indexes are larger than its cache.
//! Each client sends one statement after the other and notes when it was acknowledged; the rate over time, the rate at the
//! end against that at the start, and the longest pause of all clients follow from those times.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use super::chart::Line;
use super::outcome::{Better, Lines, Outcome, Table, Target};
use super::process;
use super::server::{Kind, Server, Start};
use super::settings::Options;
use super::stats::Histogram;
use crate::random::Random;

/// Points of a line of the chart, and parts of which the first and the last are compared.
const PARTS: usize = 50;
const EDGE_PARTS: usize = 5;

const RATE: &str = "rows per second, whole run";
const FIRST: &str = "rows per second, first tenth";
const LAST: &str = "rows per second, last tenth";
const SHARE: &str = "last tenth to first tenth";
const STALL: &str = "longest time without an acknowledged insert";
const SLOWEST: &str = "slowest statement";
const P999: &str = "99.9th percentile of statements";

#[derive(Clone, Copy)]
struct Plan {
    rows: u64,
    clients: u64,
    batch: u64,
}

/// An acknowledged statement.
struct Ack {
    at: Duration,
    took: Duration,
}

pub fn main(args: &[String]) -> Result<(), String> {
    let mut options = Options::new("insert", args);
    let plan = Plan {
        rows: options.number("--rows", 20_000_000, 200_000)?,
        clients: options.number("--clients", 8, 8)?.max(1),
        batch: options.number("--batch", 100, 100)?.max(1),
    };
    let settings = options.finish(1, 1)?;
    let mut outcome = Outcome::new("Insert benchmark");
    outcome.setting(format!(
        "{} rows, primary key ascending, 3 secondary indexes with random keys; {} clients, {} rows a statement, autocommit; \
         buffer pool and block cache 2 GB.",
        plan.rows, plan.clients, plan.batch
    ));
    let mut tables = tables();
    let mut lines = Vec::new();
    for run in 0..settings.runs {
        for kind in &settings.servers {
            println!("{}: run {}", kind.title(), run + 1);
            let done = one_server(*kind, plan, &mut outcome, &mut tables);
            if let Some(line) = outcome.note_failure(*kind, done).filter(|_| run == 0) {
                lines.push(line);
            }
        }
    }
    outcome.tables = tables.into();
    outcome.lines = Some(Lines {
        title: "Insert benchmark: rows per second while the table grows".into(),
        x: "thousand rows",
        y: "rows/s",
        lines,
    });
    outcome.finish(&settings)
}

fn tables() -> [Table; 4] {
    let mut rates = Table::new("Rate", "rows/s", Better::More);
    rates.row(RATE, Target::InnoDb(3.0));
    let mut share = Table::new("Rate at the end over rate at the start", "", Better::More);
    share.row(SHARE, Target::AtLeast(0.9));
    let mut times = Table::new("Stalls", "ms", Better::Less);
    times.row(STALL, Target::AtMost(1000.0));
    let cost = Table::new("Cost of a row", "", Better::Less)
        .note("Written: by the device that holds the data, until the last insert was acknowledged.");
    [rates, share, times, cost]
}

fn one_server(kind: Kind, plan: Plan, outcome: &mut Outcome, tables: &mut [Table; 4]) -> Result<Line, String> {
    let server = Server::start_empty(kind, Start::default())?;
    outcome.version(kind, server.version()?);
    let mut conn = server.connect()?;
    conn.run(
        "CREATE TABLE purchases (id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY, bought DATETIME NOT NULL, register INT NOT NULL, \
         customer INT NOT NULL, product INT NOT NULL, price DECIMAL(8,2) NOT NULL, note VARCHAR(20) NOT NULL, \
         KEY customer (customer), KEY product (product, price), KEY price (price, bought, customer))",
    )?;
    let (cpu, written) = (process::cpu_us(server.pid())?, server.written_bytes()?);
    let acks = insert(&server, plan)?;
    let cpu = process::cpu_us(server.pid())? - cpu;
    let written = server.written_bytes()? - written;
    for index in ["PRIMARY", "customer", "product", "price"] {
        conn.expect(&format!("SELECT COUNT(*) FROM purchases FORCE INDEX ({index})"), &plan.rows.to_string())?;
    }
    drop(conn);
    let found = Found::of(&acks, plan);
    let [rates, share, times, cost] = tables;
    for (row, value) in [(RATE, found.rate), (FIRST, found.first), (LAST, found.last)] {
        rates.add(row, kind, value);
        println!("{:16} {row:32} {value:10.0}", kind.title());
    }
    share.add(SHARE, kind, found.last / found.first);
    for (row, value) in
        [(STALL, found.stall_ms), (SLOWEST, found.statements.max_ms()), (P999, found.statements.percentile_ms(99.9))]
    {
        times.add(row, kind, value);
    }
    cost.add("CPU time of the server, µs a row", kind, cpu as f64 / plan.rows as f64);
    cost.add("bytes written a row", kind, written as f64 / plan.rows as f64);
    // Rows that are in a log alone are in tables after a start.
    server.stop()?;
    let server = Server::start(kind)?;
    cost.add("bytes of tables and indexes a row", kind, server.table_bytes()? as f64 / plan.rows as f64);
    server.clean_up()?;
    Ok(Line { name: kind.title(), points: found.points })
}

/// In the order in which they were acknowledged.
fn insert(server: &Server, plan: Plan) -> Result<Vec<Ack>, String> {
    let next = AtomicU64::new(0);
    let start = Instant::now();
    let client = |number: u64| -> Result<Vec<Ack>, String> {
        let mut conn = server.connect()?;
        let mut random = Random::new(number + 1);
        let mut acks = Vec::new();
        loop {
            let first = next.fetch_add(plan.batch, Ordering::Relaxed);
            if first >= plan.rows {
                return Ok(acks);
            }
            let sql = statement(&mut random, plan.batch.min(plan.rows - first));
            let sent = Instant::now();
            conn.run(&sql)?;
            acks.push(Ack { at: start.elapsed(), took: sent.elapsed() });
        }
    };
    let client = &client;
    let mut all = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..plan.clients).map(|number| scope.spawn(move || client(number))).collect();
        let mut all = Vec::new();
        for thread in threads {
            all.extend(thread.join().unwrap_or_else(|_| Err("a client panicked".into()))?);
        }
        Ok::<_, String>(all)
    })?;
    all.sort_by_key(|ack| ack.at);
    Ok(all)
}

fn statement(random: &mut Random, rows: u64) -> String {
    let mut sql = String::from("INSERT INTO purchases (bought, register, customer, product, price, note) VALUES ");
    for row in 0..rows {
        let (price, second) = (random.below(50_000), random.below(60));
        let comma = if row == 0 { "" } else { "," };
        sql.push_str(&format!(
            "{comma}('2026-{:02}-{:02} {:02}:{:02}:{second:02}',{},{},{},{}.{:02},'note {}')",
            1 + random.below(12),
            1 + random.below(28),
            random.below(24),
            random.below(60),
            random.below(1000),
            random.below(100_000_000),
            random.below(10_000_000),
            price / 100,
            price % 100,
            random.below(1_000_000_000),
        ));
    }
    sql
}

/// What the acknowledgements say.
struct Found {
    rate: f64,
    first: f64,
    last: f64,
    stall_ms: f64,
    statements: Histogram,
    /// Thousand rows, rows per second.
    points: Vec<(f64, f64)>,
}

impl Found {
    fn of(acks: &[Ack], plan: Plan) -> Found {
        let mut statements = Histogram::default();
        let mut stall = Duration::ZERO;
        let mut before = Duration::ZERO;
        for ack in acks {
            statements.add(ack.took);
            stall = stall.max(ack.at - before);
            before = ack.at;
        }
        let parts = PARTS.min(acks.len()).max(1);
        // When the rows up to this part were there.
        let end_s = |part: usize| match (acks.len() * part / parts).checked_sub(1) {
            Some(at) => acks.get(at).map_or(0.0, |ack| ack.at.as_secs_f64()),
            None => 0.0,
        };
        let rate = |from: usize, to: usize| {
            let rows = plan.rows as f64 * (to - from) as f64 / parts as f64;
            rows / (end_s(to) - end_s(from)).max(1e-9)
        };
        let edge = EDGE_PARTS.min(parts);
        let points =
            (0..parts).map(|part| (plan.rows as f64 / 1e3 * (part + 1) as f64 / parts as f64, rate(part, part + 1))).collect();
        Found {
            rate: rate(0, parts),
            first: rate(0, edge),
            last: rate(parts - edge, parts),
            stall_ms: stall.as_secs_f64() * 1e3,
            statements,
            points,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_and_stalls() {
        // A hundred statements of ten rows: one each 10 ms, with a pause of a second, then one each 20 ms.
        let mut at = 0;
        let acks: Vec<Ack> = (0..100)
            .map(|i| {
                at += if i < 50 { 10 } else { 20 } + if i == 50 { 1000 } else { 0 };
                Ack { at: Duration::from_millis(at), took: Duration::from_millis(5) }
            })
            .collect();
        let found = Found::of(&acks, Plan { rows: 1000, clients: 1, batch: 10 });
        assert!((found.rate - 1000.0 / 2.5).abs() < 1e-6);
        assert!((found.first - 1000.0).abs() < 1e-6 && (found.last - 500.0).abs() < 1e-6);
        assert!((found.stall_ms - 1020.0).abs() < 1e-6);
        assert_eq!(found.points.len(), PARTS);
        assert_eq!(found.points.last().map(|p| p.0), Some(1.0));
        assert_eq!(found.statements.count(), 100);
    }

    #[test]
    fn a_statement_has_its_rows() {
        let sql = statement(&mut Random::new(1), 3);
        assert_eq!(sql.matches("('2026-").count(), 3);
        assert!(sql.ends_with("')"));
    }
}
