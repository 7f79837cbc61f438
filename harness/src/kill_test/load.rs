//! Writers on one server, and what must be there after it was stopped in any way; other tests of faults use it, too.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use super::writer::{DATABASE, Values, Writer, pad};
use crate::client::{Answer, Client};

#[derive(Clone)]
pub struct Load {
    writers: Vec<Writer>,
}

impl Load {
    pub fn new(writers: u64, seed: u64) -> Load {
        Load { writers: (0..writers).map(|number| Writer::new(number, seed)).collect() }
    }

    /// For a server whose disk fails: it may refuse statements and end by itself. What it refused, it must not do.
    pub fn tolerate_errors(&mut self) {
        self.writers.iter_mut().for_each(|writer| writer.tolerant = true);
    }

    pub fn create_tables(&self, client: &mut Client) -> Result<(), String> {
        create_tables(client)
    }

    /// Writes until `wait` returns; what it returns stops the server.
    pub fn run<S: FnOnce() -> Result<(), String>>(&mut self, port: u16, wait: impl FnOnce() -> S) -> Result<(), String> {
        let killed = AtomicBool::new(false);
        let results: Vec<Result<(), String>> = thread::scope(|scope| {
            let threads: Vec<_> = self.writers.iter_mut().map(|writer| scope.spawn(|| writer.run(port, &killed))).collect();
            let stop = wait();
            killed.store(true, Ordering::Release);
            let stopped = stop();
            let ends = threads.into_iter().map(|thread| thread.join().unwrap_or_else(|_| Err("a writer panicked".into())));
            ends.chain([stopped]).collect()
        });
        results.into_iter().collect()
    }

    /// Compares what a restarted server has with what was acknowledged, and goes on from there.
    pub fn verify(&mut self, client: &mut Client) -> Result<(), String> {
        verify(&mut self.writers, client)
    }

    /// The rows of `t` that must be there if no commit was under way.
    pub fn expected(&self) -> Values {
        self.writers.iter().flat_map(|writer| writer.values()).map(|(key, value)| (*key, *value)).collect()
    }

    /// Acknowledged commits.
    pub fn commits(&self) -> u64 {
        self.writers.iter().map(|writer| writer.commits).sum()
    }

    /// Errors that writers were given since the last call, and how often.
    pub fn take_refused(&mut self) -> BTreeMap<String, u64> {
        let mut all = BTreeMap::new();
        for (text, count) in self.writers.iter_mut().flat_map(|writer| std::mem::take(&mut writer.refused)) {
            *all.entry(text).or_default() += count;
        }
        all
    }
}

/// What the writers know to be there, is there, and nothing else.
pub fn verify(writers: &mut [Writer], client: &mut Client) -> Result<(), String> {
    execute(client, &format!("USE {DATABASE}"))?;
    let all = read_values(client)?;
    for writer in writers.iter_mut() {
        writer.verify(&all)?;
    }
    let total: u64 = writers.iter().map(|writer| writer.total).sum();
    let found = rows(client, "SELECT n FROM total")?;
    if found != [[total.to_string()]] {
        return Err(format!("total is {found:?}, {total} transactions are there"));
    }
    check_index(client, &all)?;
    for table in ["t", "total"] {
        let answer = rows(client, &format!("CHECK TABLE {table}"))?;
        if answer.len() != 1 || answer[0].last().is_none_or(|text| text != "OK") {
            return Err(format!("CHECK TABLE {table}: {answer:?}"));
        }
    }
    Ok(())
}

pub fn create_tables(client: &mut Client) -> Result<(), String> {
    for sql in [
        &format!("CREATE DATABASE {DATABASE}"),
        &format!("USE {DATABASE}"),
        "CREATE TABLE t (id INT NOT NULL PRIMARY KEY, v BIGINT NOT NULL, pad VARCHAR(60) NOT NULL, KEY v (v))",
        "CREATE TABLE total (id INT NOT NULL PRIMARY KEY, n BIGINT NOT NULL)",
        "INSERT INTO total VALUES (1, 0)",
    ] {
        execute(client, sql)?;
    }
    Ok(())
}

fn read_values(client: &mut Client) -> Result<Values, String> {
    let mut all = Values::new();
    for row in rows(client, "SELECT id, v, pad FROM t ORDER BY id")? {
        let (key, value) = match row.as_slice() {
            [key, value, _] => (key.parse(), value.parse()),
            _ => return Err(format!("a row of {} columns", row.len())),
        };
        let (Ok(key), Ok(value)) = (key, value) else { return Err(format!("not a row that was written: {row:?}")) };
        if row[2] != pad(key, value) {
            return Err(format!("a row of two versions: {row:?}"));
        }
        all.insert(key, value);
    }
    Ok(all)
}

/// The secondary index has an entry for each row, and no other.
fn check_index(client: &mut Client, all: &Values) -> Result<(), String> {
    let mut expected: Vec<[String; 2]> = all.iter().map(|(key, value)| [value.to_string(), key.to_string()]).collect();
    let mut found = rows(client, "SELECT v, id FROM t FORCE INDEX (v) WHERE v >= 0")?;
    expected.sort();
    found.sort();
    if found == expected {
        Ok(())
    } else {
        Err(format!("the index v has {} entries that are not those of the {} rows", found.len(), expected.len()))
    }
}

pub fn rows(client: &mut Client, sql: &str) -> Result<Vec<Vec<String>>, String> {
    match client.try_query(sql).map_err(|e| format!("{sql}: {e}"))? {
        answer @ Answer::Rows { .. } => Ok(answer.rows()),
        other => Err(format!("{sql}: {other:?}")),
    }
}

pub fn execute(client: &mut Client, sql: &str) -> Result<(), String> {
    match client.try_query(sql).map_err(|e| format!("{sql}: {e}"))? {
        Answer::Ok { .. } => Ok(()),
        other => Err(format!("{sql}: {other:?}")),
    }
}
