//! System tables about what the server takes of the machine: files, memory, its log, its clocks.

use vaquita_types::json::Json;
use vaquita_types::{Error, Result, Value, memory};

use super::row::{NULL, cell, row};
use super::{Row, SystemContext};
use crate::context::VariableScope;

/// A file of the storage engine.
struct File {
    path: String,
    event_name: &'static str,
    bytes: u64,
}

/// By their names. What goes while they are listed is left out.
fn files(cx: &SystemContext<'_>) -> Result<Vec<File>> {
    let dir = cx.statement.store.dir();
    let entries = std::fs::read_dir(dir).map_err(|error| Error::internal(format_args!("reading {}: {error}", dir.display())))?;
    let mut files = Vec::new();
    for entry in entries.flatten() {
        cx.statement.interrupt.check()?;
        let Some(about) = entry.metadata().ok().filter(|about| about.is_file()) else { continue };
        let path = entry.path();
        let name = entry.file_name().to_string_lossy().into_owned();
        let event_name = match path.extension().and_then(|extension| extension.to_str()) {
            Some("sst") => "wait/io/file/rocksdb/table",
            Some("log") => "wait/io/file/rocksdb/log",
            _ if name.starts_with("MANIFEST") => "wait/io/file/rocksdb/manifest",
            _ => "wait/io/file/rocksdb/other",
        };
        files.push(File { path: path.display().to_string(), event_name, bytes: about.len() });
    }
    files.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(files)
}

pub fn file_instances(cx: &SystemContext<'_>) -> Result<Vec<Row>> {
    Ok(files(cx)?.iter().map(|file| row![file.path.as_str(), file.event_name, 1u64]).collect())
}

/// Columns from COUNT_STAR on. Nobody counts calls of the operating system by file: each was written once, as far as is told here.
fn file_sums(row: &mut Row, files: u64, bytes: u64) {
    let none = || std::iter::repeat_n(Value::UInt(0), 4);
    row.push(cell(files));
    row.extend(none());
    row.push(cell(0u64));
    row.extend(none());
    row.extend([cell(0u64), cell(files)]);
    row.extend(none());
    row.extend([cell(bytes), cell(0u64)]);
    row.extend(none());
}

pub fn files_by_instance(cx: &SystemContext<'_>) -> Result<Vec<Row>> {
    let line = |(at, file): (usize, &File)| {
        let mut row = row![file.path.as_str(), file.event_name, at as u64 + 1];
        file_sums(&mut row, 1, file.bytes);
        row
    };
    Ok(files(cx)?.iter().enumerate().map(line).collect())
}

pub fn files_by_event_name(cx: &SystemContext<'_>) -> Result<Vec<Row>> {
    let mut sums: Vec<(&str, u64, u64)> = ["table", "log", "manifest", "other"]
        .map(|kind| match kind {
            "table" => "wait/io/file/rocksdb/table",
            "log" => "wait/io/file/rocksdb/log",
            "manifest" => "wait/io/file/rocksdb/manifest",
            _ => "wait/io/file/rocksdb/other",
        })
        .map(|name| (name, 0, 0))
        .to_vec();
    for file in files(cx)? {
        if let Some((_, files, bytes)) = sums.iter_mut().find(|(name, ..)| *name == file.event_name) {
            (*files, *bytes) = (*files + 1, *bytes + file.bytes);
        }
    }
    let line = |(name, files, bytes): &(&str, u64, u64)| {
        let mut row = row![*name];
        file_sums(&mut row, *files, *bytes);
        row
    };
    Ok(sums.iter().map(line).collect())
}

/// What statements and sessions take.
pub const STATEMENT_MEMORY: &str = "memory/vaquita/statements";

/// What takes memory, and how much.
fn memory_uses(cx: &SystemContext<'_>) -> Vec<(&'static str, u64)> {
    let store = cx.statement.store;
    let property = |name: &str| store.property(name).and_then(|text| text.parse().ok()).unwrap_or(0);
    vec![
        ("memory/rocksdb/block_cache", property("rocksdb.block-cache-usage")),
        ("memory/rocksdb/memtables", property("rocksdb.cur-size-all-mem-tables")),
        ("memory/rocksdb/table_readers", property("rocksdb.estimate-table-readers-mem")),
        ("memory/vaquita/spans", store.span_bytes() as u64),
        (STATEMENT_MEMORY, memory::used() as u64),
    ]
}

/// Columns from COUNT_ALLOC on: only what is there now is known.
pub fn memory_sums(row: &mut Row, bytes: u64) {
    let count = u64::from(bytes > 0);
    row.extend([count, 0, bytes, 0, 0, count, count, 0, bytes, bytes].map(cell));
}

pub fn memory_of_server(cx: &SystemContext<'_>) -> Result<Vec<Row>> {
    let line = |(name, bytes): (&str, u64)| {
        let mut row = row![name];
        memory_sums(&mut row, bytes);
        row
    };
    Ok(memory_uses(cx).into_iter().map(line).collect())
}

/// The last lines of the server's log.
pub fn error_log(cx: &SystemContext<'_>) -> Result<Vec<Row>> {
    let lines = cx.statement.server.log_lines();
    Ok(lines
        .into_iter()
        .map(|line| row![cx.exact_time(line.at_us), 0u64, line.priority, "MY-000000", "Server", line.text])
        .collect())
}

/// Events are timed by one clock, which counts nanoseconds.
pub fn timers(_: &SystemContext<'_>) -> Result<Vec<Row>> {
    const NANOSECOND: u64 = 1_000_000_000;
    let began = std::time::Instant::now();
    let overhead = (0..10).map(|_| std::time::Instant::now()).next_back().map_or(0, |last| (last - began).as_nanos() as u64 / 10);
    Ok(vec![
        row!["CYCLE", NULL, NULL, NULL],
        row!["NANOSECOND", NANOSECOND, 1u64, overhead],
        row!["MICROSECOND", 1_000_000u64, 1u64, overhead],
        row!["MILLISECOND", 1000u64, 1u64, overhead],
        row!["THREAD_CPU", NULL, NULL, NULL],
    ])
}

/// Where the logs are. Positions of the storage engine are numbers of its changes.
pub fn log_status(cx: &SystemContext<'_>) -> Result<Vec<Row>> {
    let variables = cx.statement.server.variables(VariableScope::Global);
    let named = |name: &str| variables.iter().find(|(known, _)| known == name).map_or("", |(_, value)| value.as_str());
    let at = cx.statement.store.latest_sequence();
    let json =
        |text: String| Json::parse(text.as_bytes()).map(Value::Json).map_err(|_| Error::internal("a document of log_status"));
    Ok(vec![row![
        named("server_uuid"),
        json(r#"{"gtid_executed": "", "binary_log_file": "", "binary_log_position": 0}"#.to_string())?,
        json(r#"{"channels": []}"#.to_string())?,
        json(format!(r#"{{"InnoDB": {{"LSN": {at}, "LSN_checkpoint": {at}}}}}"#))?,
    ]])
}
