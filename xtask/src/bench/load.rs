//! `cargo xtask bench load`: ten million rows by LOAD DATA, by multi-row INSERT, indexes on them, a column of another type, and a dump restored.
//!
//! One server after the other, each alone, from the same files. LOAD DATA LOCAL and the restore go through the mariadb client,
//! the inserts through four connections of this program. What is in a table afterwards is compared with what the files hold.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use super::files::{Files, bytes_of, put_letters};
use super::outcome::{Better, Outcome, Table, Target};
use super::process;
use super::server::{Kind, Server, Start};
use super::settings::Options;
use super::sql;
use crate::random::Random;

const CLIENTS: u64 = 4;
const ROWS_PER_INSERT: u64 = 1000;
/// Of the dump, as mysqldump makes them: statements of up to a megabyte.
const ROWS_PER_DUMPED_INSERT: u64 = 10_000;
const WORK: [&str; 7] = [
    "LOAD DATA LOCAL",
    "INSERT of 1,000 rows, 4 clients",
    "CREATE INDEX on an integer",
    "CREATE INDEX on a string",
    "restore of a dump, 1 secondary index",
    "CREATE UNIQUE INDEX on a string and an integer",
    "ALTER of a column to another type, 3 indexes",
];

/// What is in a table of the files' rows.
struct Sums {
    rows: u64,
    amount: u64,
}

struct Input {
    rows: PathBuf,
    dump: PathBuf,
    sums: Sums,
}

pub fn main(args: &[String]) -> Result<(), String> {
    let mut options = Options::new("load", args);
    let rows = options.number("--rows", 10_000_000, 200_000)?;
    let settings = options.finish(1, 1)?;
    let files = Files::new("load")?;
    let input = write(&files, rows)?;
    let mut outcome = Outcome::new("Loading rows");
    outcome.setting(format!(
        "{rows} rows of {} bytes in the file; buffer pool and block cache 2 GB. Each server alone, one after the other.",
        bytes_of(&input.rows) / rows.max(1)
    ));
    outcome.setting(
        "MyRocks, which refuses transactions of more than a million rows, loads and restores with `rocksdb_bulk_load=1`; \
         all others in transactions as always.",
    );
    let mut seconds = Table::new("Time", "s", Better::Less);
    let mut cpu = Table::new("CPU time of the server", "s", Better::Less);
    let mut written = Table::new("Bytes written by the device", "MB", Better::Less)
        .note("Until the statement ended: what stands in memory or in the page cache of a peer is written later.");
    for name in WORK {
        seconds.row(name, Target::Peer(3.0));
    }
    for run in 0..settings.runs {
        for kind in &settings.servers {
            println!("{}: run {}", kind.title(), run + 1);
            let mut tables = Figures { seconds: &mut seconds, cpu: &mut cpu, written: &mut written };
            let done = one_server(*kind, &input, &mut outcome, &mut tables);
            outcome.note_failure(*kind, done);
        }
    }
    outcome.tables = vec![seconds, cpu, written];
    outcome.finish(&settings)
}

struct Figures<'a> {
    seconds: &'a mut Table,
    cpu: &'a mut Table,
    written: &'a mut Table,
}

impl Figures<'_> {
    /// Does the work, and keeps what it took.
    fn measure(&mut self, server: &Server, name: &str, work: impl FnOnce() -> Result<(), String>) -> Result<(), String> {
        let (cpu, written) = (process::cpu_us(server.pid())?, server.written_bytes()?);
        let start = Instant::now();
        work()?;
        let time = start.elapsed().as_secs_f64();
        let kind = server.kind();
        self.seconds.add(name, kind, time);
        self.cpu.add(name, kind, (process::cpu_us(server.pid())? - cpu) as f64 / 1e6);
        self.written.add(name, kind, (server.written_bytes()? - written) as f64 / 1e6);
        println!("{:16} {name:40} {time:8.2} s", kind.title());
        Ok(())
    }
}

fn one_server(kind: Kind, input: &Input, outcome: &mut Outcome, figures: &mut Figures) -> Result<(), String> {
    let server = Server::start_empty(kind, Start::default())?;
    outcome.version(kind, server.version()?);
    let mut conn = server.connect()?;
    let create = |name: &str, more: &str| {
        format!(
            "CREATE TABLE {name} (id INT NOT NULL PRIMARY KEY, amount INT NOT NULL, price DECIMAL(10,2) NOT NULL, \
             name VARCHAR(24) NOT NULL, pad VARCHAR(40) NOT NULL{more})"
        )
    };
    conn.run(&create("loaded", ""))?;
    figures.measure(&server, WORK[0], || sql::load_data(&server, &input.rows, "loaded"))?;
    check(&server, "loaded", &input.sums)?;
    for (name, column, lowest) in [(WORK[2], "amount", "0"), (WORK[3], "name", "''")] {
        figures.measure(&server, name, || conn.run(&format!("CREATE INDEX {column} ON loaded ({column})")).map(drop))?;
        conn.expect(
            &format!("SELECT COUNT(*) FROM loaded FORCE INDEX ({column}) WHERE {column} >= {lowest}"),
            &input.sums.rows.to_string(),
        )?;
    }
    figures.measure(&server, WORK[5], || conn.run("CREATE UNIQUE INDEX pair ON loaded (name, id)").map(drop))?;
    figures.measure(&server, WORK[6], || conn.run("ALTER TABLE loaded MODIFY amount DECIMAL(12,0) NOT NULL").map(drop))?;
    check(&server, "loaded", &input.sums)?;
    conn.run("DROP TABLE loaded")?;

    conn.run(&create("inserted", ""))?;
    let sums = Sums { rows: input.sums.rows, amount: inserted_amount(input.sums.rows) };
    figures.measure(&server, WORK[1], || insert(&server, sums.rows))?;
    check(&server, "inserted", &sums)?;
    conn.run("DROP TABLE inserted")?;

    conn.run(&create("restored", ", KEY amount (amount)"))?;
    figures.measure(&server, WORK[4], || sql::run_file(&server, &input.dump))?;
    check(&server, "restored", &input.sums)?;
    drop(conn);
    server.clean_up()
}

fn check(server: &Server, table: &str, sums: &Sums) -> Result<(), String> {
    let mut conn = server.connect()?;
    conn.expect(&format!("SELECT COUNT(*) FROM {table}"), &sums.rows.to_string())?;
    conn.expect(&format!("SELECT SUM(amount) FROM {table}"), &sums.amount.to_string())
}

fn amount(random: &mut Random) -> u64 {
    random.below(1_000_000)
}

/// A row's columns in the order of the table, each between `quote` if it is a string, separated by `separator`.
fn put_row(random: &mut Random, id: u64, amount: u64, separator: char, quote: &str, out: &mut Vec<u8>) {
    let price = random.below(10_000_000);
    let text = format!("{id}{separator}{amount}{separator}{}.{:02}{separator}{quote}", price / 100, price % 100);
    out.extend_from_slice(text.as_bytes());
    put_letters(random, 24, out);
    out.extend_from_slice(format!("{quote}{separator}{quote}").as_bytes());
    put_letters(random, 40, out);
    out.extend_from_slice(quote.as_bytes());
}

/// The rows for LOAD DATA, and the same rows as a dump.
fn write(files: &Files, rows: u64) -> Result<Input, String> {
    let mut sum = 0;
    let path = files.write("rows", rows, |random, id, out| {
        let amount = amount(random);
        sum += amount;
        put_row(random, id, amount, '\t', "", out);
        out.push(b'\n');
    })?;
    let dump = files.write("dump.sql", rows, |random, id, out| {
        let amount = amount(random);
        let first = (id - 1).is_multiple_of(ROWS_PER_DUMPED_INSERT);
        out.extend_from_slice(if first { b"INSERT INTO `restored` VALUES (" } else { b",(" });
        put_row(random, id, amount, ',', "'", out);
        out.extend_from_slice(if id.is_multiple_of(ROWS_PER_DUMPED_INSERT) || id == rows { b");\n" } else { b")" });
    })?;
    Ok(Input { rows: path, dump, sums: Sums { rows, amount: sum } })
}

/// `rows` rows through `CLIENTS` connections, which take statements of `ROWS_PER_INSERT` ascending keys in turn.
fn insert(server: &Server, rows: u64) -> Result<(), String> {
    let next = AtomicU64::new(0);
    let client = || -> Result<(), String> {
        let mut conn = server.connect()?;
        loop {
            let first = next.fetch_add(ROWS_PER_INSERT, Ordering::Relaxed);
            if first >= rows {
                return Ok(());
            }
            conn.run(&insert_statement(first + 1, (first + ROWS_PER_INSERT).min(rows)))?;
        }
    };
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..CLIENTS).map(|_| scope.spawn(client)).collect();
        threads.into_iter().try_for_each(|thread| thread.join().unwrap_or_else(|_| Err("a client panicked".into())))
    })
}

/// Of the row with this id.
fn amount_of(id: u64) -> u64 {
    amount(&mut Random::new(id))
}

fn inserted_amount(rows: u64) -> u64 {
    (1..=rows).map(amount_of).sum()
}

fn insert_statement(from: u64, to: u64) -> String {
    let mut sql = b"INSERT INTO inserted VALUES ".to_vec();
    let mut random = Random::new(from);
    for id in from..=to {
        sql.extend_from_slice(if id == from { b"(" } else { b",(" });
        put_row(&mut random, id, amount_of(id), ',', "'", &mut sql);
        sql.push(b')');
    }
    String::from_utf8_lossy(&sql).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dump_and_rows_are_the_same() {
        let files = Files::new("load-test").unwrap();
        let input = write(&files, ROWS_PER_DUMPED_INSERT + 2).unwrap();
        let rows = std::fs::read_to_string(&input.rows).unwrap();
        let dump = std::fs::read_to_string(&input.dump).unwrap();
        assert_eq!(dump.matches("INSERT INTO").count(), 2);
        assert!(dump.ends_with(");\n"));
        let first = rows.lines().next().unwrap_or("");
        let columns: Vec<&str> = first.split('\t').collect();
        assert_eq!(columns.len(), 5);
        assert!(dump.contains(&format!("({},{},{},'{}','{}')", columns[0], columns[1], columns[2], columns[3], columns[4])));
        let sum: u64 = rows.lines().filter_map(|line| line.split('\t').nth(1)?.parse::<u64>().ok()).sum();
        assert_eq!(sum, input.sums.amount);
    }

    #[test]
    fn an_insert_statement() {
        let sql = insert_statement(5, 6);
        assert!(sql.starts_with(&format!("INSERT INTO inserted VALUES (5,{},", amount_of(5))));
        assert!(sql.contains(&format!("),(6,{},", amount_of(6))) && sql.ends_with("')"));
        assert_eq!(inserted_amount(2), amount_of(1) + amount_of(2));
    }
}
