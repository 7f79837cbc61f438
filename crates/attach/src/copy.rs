//! Copies the rows of tables, by several workers. A worker takes a *unit*: a table, or a range of a large one whose primary key begins with an integer.
//!
//! A unit is read in pieces behind the last key, each a statement of its own that sees what is committed then, so that the source keeps no old
//! versions of rows for it. Tables of COPY-2 are read in their snapshot. What is read is put in the place of what is there: when a row has changed its
//! key between two pieces, it may come twice, or meet its own unique value.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Instant;

use vaquita_replication::connection::TextRow;

use crate::client::{Client, name};
use crate::definitions::Table;
use crate::keys::{Class, Key};
use crate::state::{Unit, noted};
use crate::table_text::Progress;
use crate::{Failure, Result};
use vaquita_replication::address::Address;

/// A piece has about so many bytes.
const PIECE_BYTES: u64 = 1 << 20;
const PIECE_ROWS_MAX: u64 = 5_000;
const PIECE_ROWS_MIN: u64 = 100;
/// A statement on the target is sent when it is so long.
const STATEMENT_BYTES: usize = 1 << 20;
/// A table with more rows is divided.
const DIVIDED_ROWS: u64 = 100_000;
const RANGES_MAX: u64 = 32;

pub struct Copy<'a> {
    pub source: &'a Address,
    pub target: &'a Address,
    pub channel: &'a str,
    pub tables: &'a [Table],
    /// Rows go to the target's log, too.
    pub is_logged: bool,
}

struct Shared<'a> {
    copy: &'a Copy<'a>,
    units: Mutex<Vec<Unit>>,
    failed: Mutex<Option<Failure>>,
    stops: AtomicBool,
    rows: AtomicU64,
    bytes: AtomicU64,
    units_done: AtomicU64,
    units_all: u64,
    warnings: Mutex<Vec<(String, String)>>,
    began: Instant,
    progress: Progress,
}

/// What a copy has done.
pub struct Copied {
    pub rows: u64,
    pub bytes: u64,
    pub seconds: f64,
    /// Tables in which the target has changed values, and how.
    pub warnings: Vec<(String, String)>,
}

/// The parts of all tables. `from` is read now, behind the place: rows beyond the greatest key that it shows are in the log.
pub fn divide(source: &mut Client, tables: &[Table]) -> Result<Vec<Unit>> {
    let mut units = Vec::new();
    for (at, table) in tables.iter().enumerate() {
        let bounds = if table.is_exact { Vec::new() } else { bounds_of(source, table)? };
        let mut lows: Vec<Option<Key>> = vec![None];
        lows.extend(bounds.iter().cloned().map(Some));
        let highs = bounds.into_iter().map(Some).chain([None]);
        for (low, high) in lows.into_iter().zip(highs) {
            let number = units.len() as u64;
            units.push(Unit { number, table: at, low, high, last: None, is_done: false });
        }
    }
    Ok(units)
}

/// Keys that divide a table whose key is one integer, evenly by value.
fn bounds_of(source: &mut Client, table: &Table) -> Result<Vec<Key>> {
    let key = table.key_columns();
    let [column] = &key[..] else { return Ok(Vec::new()) };
    if table.rows < DIVIDED_ROWS || column.class() != Class::Integer || !table.has_pieces() {
        return Ok(Vec::new());
    }
    let column = name(&column.name);
    let row = source.row(&format!("SELECT MIN({column}), MAX({column}) FROM {}", table.full_name()))?.unwrap_or_default();
    let number = |n: usize| row.get(n).and_then(|text| text.parse::<i128>().ok());
    let (Some(min), Some(max)) = (number(0), number(1)) else { return Ok(Vec::new()) };
    let count = i128::from((table.rows / (DIVIDED_ROWS / 2)).min(RANGES_MAX));
    let bounds = (1..count).map(|n| min + (max - min) / count * n).filter(|bound| *bound > min);
    let mut keys: Vec<Key> = bounds.map(|bound| vec![bound.to_string().into_bytes()]).collect();
    keys.dedup();
    Ok(keys)
}

/// Copies units: exact ones from `snapshots`, one worker each, or, without any, all others by `workers` workers.
pub fn run(copy: &Copy<'_>, mut units: Vec<Unit>, snapshots: Vec<Client>, workers: usize) -> Result<Copied> {
    let units_all = units.len() as u64;
    // Taken from the end: the first first.
    units.reverse();
    let shared = Shared {
        copy,
        units: Mutex::new(units),
        failed: Mutex::new(None),
        stops: AtomicBool::new(false),
        rows: AtomicU64::new(0),
        bytes: AtomicU64::new(0),
        units_done: AtomicU64::new(0),
        units_all,
        warnings: Mutex::new(Vec::new()),
        began: Instant::now(),
        progress: Progress::new(),
    };
    let mut readers: Vec<Option<Client>> = snapshots.into_iter().map(Some).collect();
    if readers.is_empty() {
        readers.extend((0..workers.max(1)).map(|_| None));
    }
    std::thread::scope(|scope| {
        for reader in readers {
            let shared = &shared;
            scope.spawn(move || {
                if let Err(error) = work(shared, reader) {
                    shared.stops.store(true, Ordering::SeqCst);
                    if let Ok(mut failed) = shared.failed.lock() {
                        failed.get_or_insert(error);
                    }
                }
            });
        }
    });
    shared.progress.end();
    if let Some(error) = shared.failed.into_inner().unwrap_or_default() {
        return Err(error);
    }
    Ok(Copied {
        rows: shared.rows.into_inner(),
        bytes: shared.bytes.into_inner(),
        seconds: shared.began.elapsed().as_secs_f64(),
        warnings: shared.warnings.into_inner().unwrap_or_default(),
    })
}

fn work(shared: &Shared<'_>, reader: Option<Client>) -> Result<()> {
    let mut target = writer(shared.copy.target)?;
    if shared.copy.is_logged {
        target.run("SET SESSION sql_log_bin = 1")?;
    }
    let mut source = match reader {
        Some(reader) => reader,
        None => Client::open(shared.copy.source)?,
    };
    loop {
        let taken = shared.units.lock().ok().and_then(|mut units| units.pop());
        let Some(unit) = taken.filter(|_| !shared.stops.load(Ordering::SeqCst)) else { return Ok(()) };
        if !unit.is_done {
            let table = shared.copy.tables.get(unit.table).ok_or("a unit without its table")?;
            let named = |error: Failure| Failure::from(format!("table {}: {error}", table.shown()));
            copy_unit(shared, &mut source, &mut target, table, unit).map_err(named)?;
        }
        shared.units_done.fetch_add(1, Ordering::Relaxed);
    }
}

/// A connection that writes copies: not into the log, and without looking at other tables.
pub fn writer(target: &Address) -> Result<Client> {
    let mut client = Client::open(target)?;
    client.run("SET SESSION sql_log_bin = 0")?;
    client.run("SET SESSION foreign_key_checks = 0")?;
    Ok(client)
}

/// Rows that wait to be written.
struct Batch<'a> {
    table: &'a Table,
    head: Vec<u8>,
    statement: Vec<u8>,
    warned: Option<String>,
}

impl<'a> Batch<'a> {
    fn new(table: &'a Table) -> Batch<'a> {
        let columns = table.stored().map(|column| name(&column.name)).collect::<Vec<_>>().join(", ");
        let head = format!("REPLACE INTO {} ({columns}) VALUES ", table.full_name()).into_bytes();
        Batch { table, head, statement: Vec::new(), warned: None }
    }

    fn add(&mut self, row: &TextRow) {
        let separator: &[u8] = if self.statement.is_empty() { &self.head } else { b"," };
        let separator = separator.to_vec();
        self.statement.extend_from_slice(&separator);
        self.statement.push(b'(');
        for (n, (column, value)) in self.table.stored().zip(row).enumerate() {
            if n > 0 {
                self.statement.push(b',');
            }
            column.put_value(&mut self.statement, value.as_deref());
        }
        self.statement.push(b')');
    }

    fn is_full(&self) -> bool {
        self.statement.len() >= STATEMENT_BYTES
    }

    fn send(&mut self, target: &mut Client) -> Result<()> {
        if self.statement.is_empty() {
            return Ok(());
        }
        let outcome = target.run_bytes(&self.statement)?;
        if outcome.warnings > 0 && self.warned.is_none() {
            let first = target.row("SHOW WARNINGS LIMIT 1")?.unwrap_or_default();
            self.warned = Some(first.get(2).cloned().unwrap_or_default());
        }
        self.statement.clear();
        Ok(())
    }
}

fn piece_rows(table: &Table) -> u64 {
    (PIECE_BYTES / table.row_bytes.max(1)).clamp(PIECE_ROWS_MIN, PIECE_ROWS_MAX)
}

fn copy_unit(shared: &Shared<'_>, source: &mut Client, target: &mut Client, table: &Table, mut unit: Unit) -> Result<()> {
    let columns = table.stored().map(|column| column.read()).collect::<Vec<_>>().join(", ");
    let mut batch = Batch::new(table);
    if !table.has_pieces() {
        copy_whole(shared, source, target, &format!("SELECT {columns} FROM {}", table.full_name()), &mut batch, unit.number)?;
    } else {
        let limit = piece_rows(table);
        let key = table.key_among_stored();
        let ordered = table.ordered();
        let mut low = unit.last.clone().or(unit.low.clone());
        loop {
            if shared.stops.load(Ordering::SeqCst) {
                return Ok(());
            }
            let within = table.between(low.as_ref(), unit.high.as_ref());
            let rows = source
                .raw_rows(&format!("SELECT {columns} FROM {}{within} ORDER BY {ordered} LIMIT {limit}", table.full_name()))?;
            let is_done = (rows.len() as u64) < limit;
            if let Some(row) = rows.last() {
                let value = |at: &usize| row.get(*at).cloned().flatten().ok_or("a key has no value");
                low = Some(key.iter().map(value).collect::<std::result::Result<Key, &str>>()?);
                unit.last.clone_from(&low);
            }
            target.run("BEGIN")?;
            write(shared, target, &mut batch, &rows)?;
            target.run(&noted(shared.copy.channel, unit.number, unit.last.as_ref(), is_done))?;
            target.run("COMMIT")?;
            show(shared, table);
            if is_done {
                break;
            }
        }
    }
    if let (Some(warned), Ok(mut warnings)) = (batch.warned, shared.warnings.lock()) {
        warnings.push((format!("values of table {}", table.shown()), warned));
    }
    Ok(())
}

fn write(shared: &Shared<'_>, target: &mut Client, batch: &mut Batch<'_>, rows: &[TextRow]) -> Result<()> {
    let mut bytes = 0;
    for row in rows {
        batch.add(row);
        bytes += row.iter().flatten().map(Vec::len).sum::<usize>();
        if batch.is_full() {
            batch.send(target)?;
        }
    }
    batch.send(target)?;
    shared.rows.fetch_add(rows.len() as u64, Ordering::Relaxed);
    shared.bytes.fetch_add(bytes as u64, Ordering::Relaxed);
    Ok(())
}

/// A table whose rows have no order that both servers share: in one statement. It begins empty, in case an earlier try has left rows.
fn copy_whole(
    shared: &Shared<'_>,
    source: &mut Client,
    target: &mut Client,
    select: &str,
    batch: &mut Batch<'_>,
    number: u64,
) -> Result<()> {
    target.run(&format!("TRUNCATE TABLE {}", batch.table.full_name()))?;
    let mut waiting: Vec<TextRow> = Vec::new();
    let mut bytes = 0;
    let mut written: Result<()> = Ok(());
    let table = batch.table;
    source.each(select, &mut |row| {
        bytes += row.iter().flatten().map(Vec::len).sum::<usize>();
        waiting.push(row);
        if bytes >= STATEMENT_BYTES && written.is_ok() {
            written = write(shared, target, batch, &waiting);
            show(shared, table);
            waiting.clear();
            bytes = 0;
        }
    })?;
    written?;
    write(shared, target, batch, &waiting)?;
    target.run(&noted(shared.copy.channel, number, None, true))?;
    Ok(())
}

fn show(shared: &Shared<'_>, table: &Table) {
    const MIB: f64 = 1_048_576.0;
    shared.progress.show(|| {
        let (rows, bytes) = (shared.rows.load(Ordering::Relaxed), shared.bytes.load(Ordering::Relaxed) as f64);
        let seconds = shared.began.elapsed().as_secs_f64().max(0.001);
        format!(
            "  copied {} of {} parts, {rows} rows, {:.0} MiB, {:.0} rows/s, {:.1} MiB/s; at {}",
            shared.units_done.load(Ordering::Relaxed),
            shared.units_all,
            bytes / MIB,
            rows as f64 / seconds,
            bytes / MIB / seconds,
            table.shown()
        )
    });
}
