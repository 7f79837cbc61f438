//! The tables: `big`, with `mid` a hundredth of it and `small`, which it is joined with.
//!
//! `mid` and `small` have a key (`id`) and a column without an index (`code`), both of which name a row.

use std::path::PathBuf;

use super::{Kind, Outcome, Server, Start, sql};
use crate::bench::files::{Files, put_letters};

pub const SMALL_ROWS: u64 = 1000;
/// `mid.kind` is below this: a join by key begins with one in so many rows.
const KINDS_OF_MID: u64 = 100;

const CREATE: [&str; 3] = [
    "CREATE TABLE big (id INT NOT NULL PRIMARY KEY, few INT NOT NULL, many INT NOT NULL, amount INT NOT NULL, \
     price DECIMAL(10,2) NOT NULL, mid INT NOT NULL, code INT NOT NULL, pad VARCHAR(40) NOT NULL, KEY mid (mid))",
    "CREATE TABLE mid (id INT NOT NULL PRIMARY KEY, kind INT NOT NULL, code INT NOT NULL, small INT NOT NULL, \
     small_code INT NOT NULL, name VARCHAR(20) NOT NULL)",
    "CREATE TABLE small (id INT NOT NULL PRIMARY KEY, code INT NOT NULL, name VARCHAR(20) NOT NULL)",
];

pub fn mid_rows(big_rows: u64) -> u64 {
    (big_rows / 100).max(1)
}

/// The files of the three tables, by name.
pub fn write(files: &Files, rows: u64) -> Result<Vec<(&'static str, PathBuf)>, String> {
    let mid = mid_rows(rows);
    let groups = (rows / 10).max(1);
    let big = files.write("big", rows, |random, id, out| {
        let price = random.below(10_000_000);
        let text = format!(
            "{id}\t{}\t{}\t{}\t{}.{:02}\t{}\t{}\t",
            random.below(10),
            random.below(groups),
            random.below(1000),
            price / 100,
            price % 100,
            1 + random.below(mid),
            1 + random.below(mid),
        );
        out.extend_from_slice(text.as_bytes());
        put_letters(random, 40, out);
        out.push(b'\n');
    })?;
    let mid_file = files.write("mid", mid, |random, id, out| {
        let (kind, small, small_code) = (random.below(KINDS_OF_MID), 1 + random.below(SMALL_ROWS), 1 + random.below(SMALL_ROWS));
        let text = format!("{id}\t{kind}\t{}\t{small}\t{small_code}\tname {id}\n", mid + 1 - id);
        out.extend_from_slice(text.as_bytes());
    })?;
    let small = files.write("small", SMALL_ROWS, |_, id, out| {
        out.extend_from_slice(format!("{id}\t{}\tplace {}\n", SMALL_ROWS + 1 - id, id % 50).as_bytes());
    })?;
    Ok(vec![("big", big), ("mid", mid_file), ("small", small)])
}

/// Leaves the server filled and stopped.
pub fn fill(kind: Kind, files: &[(&'static str, PathBuf)], outcome: &mut Outcome) -> Result<(), String> {
    let server = Server::start_empty(kind, Start::default())?;
    outcome.version(kind, server.version()?);
    let mut conn = server.connect()?;
    for create in CREATE {
        conn.run(create)?;
    }
    for (table, path) in files {
        sql::load_data(&server, path, table)?;
        conn.rows(&format!("ANALYZE TABLE {table}"))?;
    }
    drop(conn);
    server.settle()?;
    server.stop()
}
