//! The statements whose binary log was recorded from MySQL (`crates/wire/src/golden/binlog/mysql.sql`) run here: their tables and rows are in the log
//! with the bytes that MySQL wrote, but for the numbers of tables.

use std::collections::HashMap;
use std::path::Path;

use vaquita_wire::binlog::{EventReader, event_type, header};

use super::test_source::Source;

fn golden(name: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../wire/src/golden/binlog").join(name)
}

fn recorded(file: &str) -> Vec<(u8, Vec<u8>)> {
    let log = std::fs::read(golden(&format!("mysql-{file}.binlog"))).unwrap();
    let mut reader = EventReader::of_file();
    reader.feed(&log);
    let mut events = Vec::new();
    while let Some(raw) = reader.next_event().unwrap() {
        events.push((raw.header.event_type, raw.data().to_vec()));
    }
    events
}

/// Tables and rows, with numbers of tables in the order in which they come.
fn of_rows(events: Vec<(u8, Vec<u8>)>) -> Vec<(u8, Vec<u8>)> {
    use event_type::*;
    let mut numbers: HashMap<[u8; 6], u8> = HashMap::new();
    let of_rows = |(code, _): &(u8, Vec<u8>)| matches!(*code, TABLE_MAP | WRITE_ROWS | UPDATE_ROWS | DELETE_ROWS | ROWS_QUERY);
    let numbered = events.into_iter().filter(of_rows).map(|(code, mut data)| {
        if code != ROWS_QUERY {
            let id = *data.first_chunk::<6>().unwrap();
            let next = numbers.len() as u8;
            let number = *numbers.entry(id).or_insert(next);
            data[..6].copy_from_slice(&[number, 0, 0, 0, 0, 0]);
        }
        clear_beyond_columns(code, &mut data);
        (code, data)
    });
    numbered.collect()
}

/// In the bitmaps of an event with rows, MySQL has columns of functional indexes behind those that there are.
fn clear_beyond_columns(code: u8, data: &mut [u8]) {
    const COUNT_AT: usize = 10;
    let bitmaps = match code {
        event_type::UPDATE_ROWS => 2,
        event_type::WRITE_ROWS | event_type::DELETE_ROWS => 1,
        _ => 0,
    };
    let columns = usize::from(data[COUNT_AT]);
    for bitmap in (1..=bitmaps).filter(|_| columns % 8 > 0) {
        data[COUNT_AT + bitmap * columns.div_ceil(8)] &= (1 << (columns % 8)) - 1;
    }
}

/// The statements of a file of the recording.
fn statements(file: &str) -> Vec<String> {
    let sql = std::fs::read_to_string(golden("mysql.sql")).unwrap();
    let from_file = sql.lines().skip_while(|line| *line != format!("@file {file}")).skip(1);
    from_file.take_while(|line| !line.starts_with("@file")).map(String::from).collect()
}

/// Statements from which on a file is not compared: numbers above 32 bits in texts of JSON have no sign in MySQL; the partition of a row and
/// updates of parts of documents are not written here.
const ENDS: [&str; 2] = ["CREATE TABLE documents", "CREATE TABLE parted"];

/// Runs a file behind others.
fn compare(before: &[&str], file: &str, foreign_key_checks: bool) {
    let mut source = Source::start();
    source.run("CREATE DATABASE binlog_golden CHARACTER SET utf8mb4");
    source.run("USE binlog_golden");
    source.run("CREATE TABLE plain (id INT PRIMARY KEY, a VARCHAR(20))");
    source.run(&format!("SET SESSION foreign_key_checks = {foreign_key_checks}"));
    before.iter().flat_map(|file| statements(file)).for_each(|sql| source.run(&sql));
    let from = source.log.end();
    let statements = statements(file);
    let ends = |sql: &String| ENDS.iter().any(|end| sql.starts_with(end));
    statements.iter().take_while(|sql| !ends(sql)).for_each(|sql| source.run(sql));
    let ours = source.events(from).into_iter().map(|event| (event[4], event[header::HEADER_BYTES..].to_vec()));
    let (ours, theirs) = (of_rows(ours.collect()), of_rows(recorded(file)));
    let differences = ours.iter().zip(&theirs).enumerate().filter(|(_, (ours, theirs))| ours != theirs);
    let shown: Vec<String> =
        differences.map(|(n, (ours, theirs))| format!("event {n}\n{}\n{}", shown(ours), shown(theirs))).collect();
    assert!(shown.is_empty(), "{file}:\n{}", shown.join("\n"));
    assert!(ours.len() == theirs.len() || statements.iter().any(ends) && !ours.is_empty(), "{file}");
}

fn shown((code, data): &(u8, Vec<u8>)) -> String {
    let hex: String = data.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("{code} {hex}")
}

// The recording had set `foreign_key_checks` to its default, which MySQL takes for OFF.

#[test]
fn numbers_have_the_bytes_of_mysql() {
    compare(&[], "numbers", false);
}

#[test]
fn texts_have_the_bytes_of_mysql() {
    compare(&[], "texts", false);
}

#[test]
fn images_have_the_bytes_of_mysql() {
    compare(&[], "images", false);
}

#[test]
fn short_metadata_have_the_bytes_of_mysql() {
    compare(&["numbers"], "minimal", false);
}

#[test]
fn keys_have_the_bytes_of_mysql() {
    compare(&[], "keys", true);
}
