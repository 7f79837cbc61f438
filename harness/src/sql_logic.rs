//! `cargo harness sqllogictest --mysql HOST:PORT:USER:PASSWORD --files PATH,…`: scripts of SQLite's sqllogictest corpus on MySQL and
//! on Vaquita, record by record, which must answer alike.
//!
//! The corpus is fetched by whoever runs this; a path may be a folder, whose `.test` files are taken. The results that the
//! files hold are SQLite's and are not read: MySQL is asked instead. A record is some words, then lines up to an empty one:
//!
//! ```text
//! onlyif mysql                 this record is for MySQL alone, `skipif mysql` for others
//! query I rowsort              or `statement ok`, `statement error`
//! SELECT - col0 FROM tab0
//! ----                         what follows is SQLite's result
//! ```

use std::path::{Path, PathBuf};

use crate::client::Client;
use crate::diff_test::{answer, connect};
use crate::flags::Flags;
use crate::paths;
use crate::vaquita::{Vaquita, free_port};

const DATABASE: &str = "sqllogictest";

/// Records and differences of a file or of all.
#[derive(Clone, Copy, Default)]
struct Count {
    records: u64,
    differ: u64,
}

pub fn main(args: &[String]) -> Result<(), String> {
    let mut flags = Flags::new(args);
    let mysql = flags.text("--mysql")?.ok_or("--mysql host:port:user:password names the server to compare with")?;
    let given = flags.list("--files")?.ok_or("--files names scripts or folders of scripts")?;
    let shown_max = flags.number("--show", 10)?;
    flags.finish()?;
    let mut files = Vec::new();
    given.iter().try_for_each(|path| find_scripts(Path::new(path), &mut files))?;
    files.sort();
    let dir = paths::target_dir().join(format!("sqllogictest/{}", std::process::id()));
    std::fs::create_dir_all(&dir).map_err(|e| format!("{}: {e}", dir.display()))?;
    let server = Vaquita::start(&paths::vaquita()?, &dir.join("data"), free_port()?, &dir.join("server.log"))?;
    let mut clients = [connect(&mysql)?, server.connect()?];
    let mut all = Count::default();
    for file in &files {
        let script = std::fs::read_to_string(file).map_err(|e| format!("{}: {e}", file.display()))?;
        let count = run(&mut clients, &script, shown_max.saturating_sub(all.differ))?;
        println!("{}: {} records, {} differ", file.display(), count.records, count.differ);
        all = Count { records: all.records + count.records, differ: all.differ + count.differ };
    }
    both(&mut clients, &format!("DROP DATABASE IF EXISTS {DATABASE}"))?;
    drop(clients);
    server.stop()?;
    std::fs::remove_dir_all(&dir).map_err(|e| format!("{}: {e}", dir.display()))?;
    println!("sqllogictest: {} files, {} records, {} differ", files.len(), all.records, all.differ);
    if all.differ == 0 { Ok(()) } else { Err("the servers differ".into()) }
}

fn find_scripts(path: &Path, out: &mut Vec<PathBuf>) -> Result<(), String> {
    if !path.is_dir() {
        out.push(path.to_path_buf());
        return Ok(());
    }
    let failed = |e: std::io::Error| format!("{}: {e}", path.display());
    for entry in std::fs::read_dir(path).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        if path.is_dir() || path.extension().is_some_and(|e| e == "test") {
            find_scripts(&path, out)?;
        }
    }
    Ok(())
}

fn both(clients: &mut [Client; 2], sql: &str) -> Result<(), String> {
    clients.iter_mut().try_for_each(|client| client.try_query(sql).map(drop).map_err(|e| format!("{sql}: {e}")))
}

/// Runs a script in a database of its own; the first `shown_max` differences are printed.
fn run(clients: &mut [Client; 2], script: &str, shown_max: u64) -> Result<Count, String> {
    for sql in [format!("DROP DATABASE IF EXISTS {DATABASE}"), format!("CREATE DATABASE {DATABASE}"), format!("USE {DATABASE}")] {
        both(clients, &sql)?;
    }
    both(clients, "SET sql_mode = DEFAULT")?;
    let mut count = Count::default();
    for sql in script.split("\n\n").filter_map(statement_of) {
        count.records += 1;
        let sent = answer::Sent { sql: sql.clone(), params: None, counts: false };
        let [mysql, vaquita] = clients;
        let (mysql, vaquita) = (answer::run(mysql, &sent)?, answer::run(vaquita, &sent)?);
        let Some(difference) = answer::difference(&mysql, &vaquita, false, false).filter(answer::Difference::is_of_rows) else {
            continue;
        };
        count.differ += 1;
        if count.differ <= shown_max {
            println!("-- {difference:?}\n{sql};\n  MySQL: {}  Vaquita: {}", answer::print(&mysql), answer::print(&vaquita));
        }
    }
    Ok(count)
}

/// The SQL of a record that is for MySQL.
fn statement_of(record: &str) -> Option<String> {
    let mut lines = record.lines().filter(|line| !line.starts_with('#')).skip_while(|line| line.trim().is_empty());
    let mut words = lines.next()?.split_whitespace();
    let mut head = words.next()?;
    let mut database = words.next();
    while matches!(head, "onlyif" | "skipif") {
        if (head == "onlyif") != (database == Some("mysql")) {
            return None;
        }
        let line = lines.next()?;
        let mut words = line.split_whitespace();
        (head, database) = (words.next()?, words.next());
    }
    if !matches!(head, "query" | "statement") {
        return None;
    }
    let sql: Vec<&str> = lines.take_while(|line| *line != "----").collect();
    (!sql.is_empty()).then(|| sql.join("\n"))
}

#[cfg(test)]
mod tests {
    use super::statement_of;

    #[test]
    fn records_for_mysql_are_taken() {
        let of = |record: &str| statement_of(record);
        assert_eq!(of("hash-threshold 8"), None);
        assert_eq!(of("statement ok\nSELECT 1"), Some("SELECT 1".into()));
        assert_eq!(of("query I rowsort\nSELECT\n 1\n----\n1"), Some("SELECT\n 1".into()));
        assert_eq!(of("# note\nonlyif mysql # DIV\nquery I\nSELECT 1 DIV 2\n----\n0"), Some("SELECT 1 DIV 2".into()));
        assert_eq!(of("skipif mysql\nquery I\nSELECT 1 / 2\n----\n0"), None);
        assert_eq!(of("onlyif sqlite\nstatement ok\nSELECT 1"), None);
        assert_eq!(of("skipif sqlite\nskipif mysql\nstatement ok\nSELECT 1"), None);
    }
}
