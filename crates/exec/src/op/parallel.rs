//! One input read by several threads: each runs the same operators on its share of the driving scan's rows.
//!
//! The scan's ranges are cut into morsels, more of them than threads, which take one after the other until none is left; so
//! a thread that is slow, or that the system gives to somebody else, holds up nothing but its morsel. Where the scan that is read first has too
//! little to be cut, as in a join that begins with one row, all threads read up to a scan that gives some rows, and take those in turns.
//! Threads see the statement's snapshot through transactions of their own, while the statement's transaction holds the tables. What comes
//! out of a thread is whatever `work` makes of its rows; the caller puts it together again, by `Part::morsel` in the order in
//! which one thread alone would have met the rows. Subqueries that depend on no row are run before, once, and hash tables of joins are
//! made before (`hash_join::shared`), by several threads as well.
//!
//! An error or a warning in any thread ends them all, and the caller then does the work alone: it gives the same
//! errors and warnings as always, in their order.
//!
//! All statements together start no more threads than there are cores (`Helpers`).

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use vaquita_plan::env::{AskSession, Env, Level, RowsOfSubquery, SubqueryRows, VarScope};
use vaquita_plan::expr::{Expr, ExprKind, Slot, SubqueryKind};
use vaquita_plan::node::{AccessPath, Node, Range, Scan};
use vaquita_plan::parallel::{Driving, driving, lookups, scans, subqueries};
use vaquita_plan::settings::RunSettings;
use vaquita_storage::helpers::{Helpers, Queue, cores};
use vaquita_storage::{
    Catalog, Direction, Entry, IndexCodec, KeyRange, LockMode, ScanOptions, SessionCatalog, SharedView, Store, Table,
};
use vaquita_types::charset::CollationId;
use vaquita_types::temporal::TimeZone;
use vaquita_types::{Error, Result, Value};

use super::Builder;
use super::hash_join::{drop_tables, make_tables};
use super::scan::{index_codec, scan_ranges};
use crate::context::{Call, Execution, Frame, JoinTable, Measures, Part, Pieces, SessionEnv, TableUse, Turns, opened};

/// Morsels for each thread.
pub const MORSELS: u64 = 16;
/// A smaller one is not worth its seek.
const MORSEL_BYTES_MIN: u64 = 128 << 10;
/// What has fewer rows, about, is not divided, whatever they lead to.
const DRIVING_ROWS_MIN: u64 = 256;
/// Fewer rows are not taken in turns: starting threads takes as long.
const TURNS_ROWS_MIN: u64 = 64;
/// So many bytes are read in the time that one row takes that is looked up at a place of its own (3 to 5 µs).
const LOOKUP_BYTES: f64 = 2048.0;
/// Bytes that a stored row is taken to have, before anybody looks at the table.
const ROW_BYTES: u64 = 128;

/// What there is to read in parts: in ranges of keys, or where these are few, rows in turns.
pub struct Division<'p> {
    cut: Option<Cut<'p>>,
    by_rows: Option<(&'p Scan, &'p Node)>,
    tables: Vec<Arc<Table>>,
}

/// The scan whose ranges are cut.
struct Cut<'p> {
    scan: &'p Scan,
    /// What it reads, in its order.
    ranges: Vec<KeyRange>,
    bytes: u64,
    /// The same with what its rows lead to, as bytes that could be read meanwhile.
    work_bytes: u64,
    /// Rows that are alike in so many parts of their keys are of one piece.
    group_parts: usize,
}

/// Results of those that depend on no row, by `Subquery::id`.
#[derive(Default)]
struct Subqueries {
    rows: HashMap<usize, SubqueryRows>,
    members: HashMap<usize, Option<Arc<dyn RowsOfSubquery>>>,
}

impl Division<'_> {
    /// Of the scan whose ranges are cut.
    pub fn rows_estimate(&self) -> u64 {
        self.cut.as_ref().map_or(0, |cut| cut.scan.rows_estimate)
    }

    /// All morsels, about `count` of them, in the order in which one thread alone reads them.
    pub fn morsels(&self, count: u64, statement: &Execution<'_>) -> Result<Vec<KeyRange>> {
        let Some(cut) = &self.cut else { return Ok(Vec::new()) };
        let work_min = MORSEL_BYTES_MIN.min(statement.store.options().tuning.parallel_bytes_min);
        // The more its rows lead to, the smaller may the pieces of it be.
        let bytes_min = (work_min as f64 * cut.bytes as f64 / cut.work_bytes.max(1) as f64) as u64;
        let morsel_bytes = (cut.bytes / count.max(1)).max(bytes_min);
        let mut morsels = Vec::new();
        for range in &cut.ranges {
            let mut pieces = statement.store.split(range, morsel_bytes)?;
            if cut.group_parts > 0 {
                pieces = self.with_whole_groups(cut, pieces, statement)?;
            }
            if cut.scan.reads_backward() {
                pieces.reverse();
            }
            morsels.append(&mut pieces);
        }
        Ok(morsels)
    }

    /// Neighbouring pieces, cut anew where the group begins that the first row of a piece is of.
    fn with_whole_groups(&self, cut: &Cut<'_>, pieces: Vec<KeyRange>, statement: &Execution<'_>) -> Result<Vec<KeyRange>> {
        let codec = scanned_codec(cut.scan, opened(&self.tables, cut.scan.table.id)?)?;
        let mut whole: Vec<KeyRange> = Vec::with_capacity(pieces.len());
        for mut piece in pieces {
            let Some(last) = whole.last_mut() else {
                whole.push(piece);
                continue;
            };
            let txn = statement.txn.borrow();
            let mut cursor = txn.scan(piece.clone(), Direction::Forward, ScanOptions::default())?;
            let begin = match cursor.next(&txn)? {
                Some((key, value)) => codec.prefix(Entry { key, value }, cut.group_parts)?.to_vec(),
                None => Vec::new(),
            };
            txn.finish_scan(cursor);
            if begin > last.lower {
                last.upper.clone_from(&begin);
                piece.lower = begin;
                whole.push(piece);
            } else {
                last.upper = piece.upper;
            }
        }
        Ok(whole)
    }
}

/// What `work` makes of each part of `input`'s rows, in no order; `None` if they are not to be read in parts. `work` builds
/// its operators itself, and uses nothing else of the statement than what its frame has.
pub fn run<T: Send>(
    input: &Node,
    frame: &mut Frame<'_>,
    work: impl Fn(&mut Frame<'_>) -> Result<T> + Sync,
) -> Result<Option<Vec<T>>> {
    let Some(division) = divide(input, None, frame)? else { return Ok(None) };
    let threads = threads_max(frame.statement);
    let morsels = division.morsels(MORSELS * threads as u64, frame.statement)?;
    let by_rows = division.by_rows.filter(|_| morsels.len() < threads * 2);
    if by_rows.is_some_and(|(_, node)| !gives_rows(node, frame)) || !make_tables(input, frame)? {
        return Ok(None);
    }
    let results = match by_rows {
        Some((scan, _)) => run_pieces(input, &division, scan, Pieces::Rows(&Turns::default()), threads, frame, work),
        None => run_morsels(input, &division, &morsels, frame, work),
    }?;
    // This thread uses them if it does the work alone.
    if results.is_some() {
        drop_tables(input, frame);
    }
    Ok(results)
}

/// Whether a small input has rows enough to be shared: reading some of them shows it, while conditions can make any estimate wrong.
fn gives_rows(node: &Node, frame: &mut Frame<'_>) -> bool {
    let statement = frame.statement;
    let rows_min = TURNS_ROWS_MIN.min(rows_min(statement));
    let read = || {
        let mut input = Builder { again: false, measures: None }.build(node);
        let mut frame = Frame::new(statement, frame.outer, frame.slots.len());
        input.open(&mut frame)?;
        let mut rows = 0;
        while rows < rows_min && input.next(&mut frame)? {
            rows += 1;
        }
        Ok::<_, Error>(rows)
    };
    // Whoever does the work gives the same warnings and errors.
    statement.quietly(read).is_ok_and(|rows| rows >= rows_min)
}

/// As `run`, for some of the morsels.
pub fn run_morsels<T: Send>(
    input: &Node,
    division: &Division<'_>,
    ranges: &[KeyRange],
    frame: &mut Frame<'_>,
    work: impl Fn(&mut Frame<'_>) -> Result<T> + Sync,
) -> Result<Option<Vec<T>>> {
    let Some(cut) = division.cut.as_ref().filter(|_| ranges.len() >= 2) else { return Ok(None) };
    let threads = ranges.len().min(threads_max(frame.statement));
    run_pieces(input, division, cut.scan, Pieces::Ranges(&Queue::new(ranges)), threads, frame, work)
}

fn run_pieces<T: Send>(
    input: &Node,
    division: &Division<'_>,
    driving: &Scan,
    pieces: Pieces<'_>,
    threads: usize,
    frame: &mut Frame<'_>,
    work: impl Fn(&mut Frame<'_>) -> Result<T> + Sync,
) -> Result<Option<Vec<T>>> {
    let statement = frame.statement;
    let Some(subqueries) = run_subqueries(input, frame) else { return Ok(None) };
    let Some(view) = statement.txn.borrow_mut().share_view() else { return Ok(None) };
    let helpers = Helpers::take(threads - 1);
    if helpers.is_none() {
        return Ok(None);
    }
    let session = Quiet::of(statement.session);
    let shared = Shared {
        statement: Lent {
            store: statement.store,
            catalog: Arc::clone(statement.catalog),
            params: statement.params,
            interrupt: statement.interrupt,
            measures: statement.measures,
            subqueries,
            join_tables: statement.join_tables.borrow().clone(),
            memory_bytes_max: statement.memory_bytes_max.saturating_sub(statement.memory.bytes()) / (helpers.count() + 1),
        },
        view: &view,
        session: &session,
        division,
        driving,
        pieces,
        width: frame.slots.len(),
        examined: AtomicU64::new(0),
    };
    let results = helpers.run("scan", || shared.work(&work));
    // Scans of whole tables are what is divided, for the most part.
    let place = statement.calls.place(TableUse::of(&driving.table, None), Some(Call::ReadRndNext));
    statement.calls.examine(place, shared.examined.load(Ordering::Relaxed));
    statement.interrupt.check()?;
    if session.refused.load(Ordering::Relaxed) {
        return Ok(None);
    }
    Ok(results.into_iter().collect::<Result<Vec<T>>>().ok())
}

/// `innodb_parallel_read_threads`, as far as there are cores.
pub fn threads_max(statement: &Execution<'_>) -> usize {
    statement.session.run_settings().read_threads_max.min(cores())
}

/// A table is to have so many rows at least, as far as that can be told before anybody looks at it.
pub fn rows_min(statement: &Execution<'_>) -> u64 {
    statement.store.options().tuning.parallel_bytes_min / ROW_BYTES
}

/// Opens the tables, and says what the driving scan reads, if it is worth dividing: all of it or the `ranges` given.
pub fn divide<'p>(input: &'p Node, ranges: Option<Vec<KeyRange>>, frame: &mut Frame<'_>) -> Result<Option<Division<'p>>> {
    let statement = frame.statement;
    let bytes_min = statement.store.options().tuning.parallel_bytes_min;
    let alone = statement.part.is_some() || statement.own_writes_hidden.get() || statement.locks_reads();
    if alone || statement.txn.borrow().has_own_rows() || cores() < 2 {
        return Ok(None);
    }
    let rows_min = DRIVING_ROWS_MIN.min(rows_min(statement));
    let Driving { by_ranges, by_rows, groups } = driving(input, rows_min);
    let by_ranges = by_ranges.filter(|scan| scan.rows_estimate >= rows_min);
    // What is left of a scan is in ranges.
    let by_rows = by_rows.filter(|_| ranges.is_none());
    let lookup_bytes = (lookups(input) * LOOKUP_BYTES) as u64;
    let row_bytes = by_ranges.map_or(0, |scan| scan.rows_estimate.saturating_mul(ROW_BYTES));
    let is_little = row_bytes.saturating_add(lookup_bytes) < bytes_min;
    if is_little || (by_ranges.is_none() && by_rows.is_none()) || threads_max(statement) < 2 {
        return Ok(None);
    }
    let (mut tables, mut failed) = (Vec::new(), Ok(()));
    scans(input, &mut |scan| match statement.open_table(&scan.table, LockMode::IS) {
        Ok(table) => tables.push(table),
        Err(error) => failed = Err(error),
    });
    failed?;
    let mut cut = None;
    if let Some(scan) = by_ranges {
        let table = opened(&tables, scan.table.id)?;
        let ranges = match ranges {
            Some(ranges) => ranges,
            None => {
                let mut ranges = Vec::new();
                scan_ranges(scan, table, frame, &mut ranges)?;
                ranges
            }
        };
        let mut bytes = 0;
        for range in &ranges {
            bytes += statement.store.range_bytes(range)?;
        }
        let work_bytes = bytes.saturating_add(lookup_bytes);
        if work_bytes < bytes_min {
            return Ok(None);
        }
        let group_parts = match groups {
            Some(keys) => parts_of_groups(scan, scanned_codec(scan, table)?, keys),
            None => 0,
        };
        if groups.is_some() && group_parts == 0 {
            return Ok(None);
        }
        cut = Some(Cut { scan, ranges, bytes, work_bytes, group_parts });
    }
    Ok(Some(Division { cut, by_rows, tables }))
}

/// How many leading parts of the index that is read have one value in each group.
fn parts_of_groups(scan: &Scan, codec: &IndexCodec, keys: &[(Expr, Slot)]) -> usize {
    let equal = match &scan.path {
        AccessPath::Range { ranges, .. } => ranges.iter().map(|range| range.equal.len()).min().unwrap_or(0),
        _ => 0,
    };
    let is_key = |position: usize| {
        let slots = scan.columns.iter().filter(|(column, _)| *column == position).map(|(_, slot)| *slot);
        slots.into_iter().any(|slot| keys.iter().any(|(key, _)| matches!(key.kind, ExprKind::Slot(at) if at == slot)))
    };
    let parts = codec.parts().iter().enumerate();
    let known = parts.take_while(|(n, part)| *n < equal || is_key(part.position)).count();
    // Ranges that begin or end within a group may share it with another, and pieces of two ranges are never put together.
    let shares = |range: &Range| {
        let deeper = range.equal.len() > known;
        deeper || (range.equal.len() == known && (range.low.is_some() || range.high.is_some() || range.not_null))
    };
    if let AccessPath::Range { ranges, .. } = &scan.path
        && ranges.len() > 1
        && ranges.iter().any(shares)
    {
        return 0;
    }
    // In one value of all of them there is nothing to cut.
    if known > equal { known } else { 0 }
}

fn scanned_codec<'t>(scan: &Scan, table: &'t Table) -> Result<&'t IndexCodec> {
    match &scan.path {
        AccessPath::Range { index, .. } => index_codec(table, *index),
        _ => Ok(table.codec.clustered()),
    }
}

/// Runs what depends on no row. `None` if that fails: one thread alone fails at the row that asks for it, if there is one.
fn run_subqueries(input: &Node, frame: &Frame<'_>) -> Option<Subqueries> {
    let (statement, cx) = (frame.statement, frame.cx());
    let mut found = Subqueries::default();
    let mut failed = false;
    subqueries(input, &mut |subquery| {
        let compared = matches!(subquery.kind, SubqueryKind::In { .. } | SubqueryKind::Quantified { .. });
        let members = if compared { statement.rows_of_subquery(subquery, &cx) } else { Ok(None) };
        let wants_rows = matches!(members, Ok(None));
        match members {
            Ok(members) if compared => drop(found.members.insert(subquery.id, members)),
            Ok(_) => {}
            Err(_) => failed = true,
        }
        if wants_rows {
            match statement.subquery(subquery, &cx) {
                Ok(rows) => drop(found.rows.insert(subquery.id, rows)),
                Err(_) => failed = true,
            }
        }
    });
    (!failed).then_some(found)
}

/// What the threads share.
struct Shared<'a> {
    statement: Lent<'a>,
    view: &'a SharedView,
    session: &'a Quiet,
    division: &'a Division<'a>,
    driving: &'a Scan,
    pieces: Pieces<'a>,
    width: usize,
    examined: AtomicU64,
}

/// What they have of the statement.
struct Lent<'a> {
    store: &'a Arc<Store>,
    catalog: Arc<Catalog>,
    params: &'a [Value],
    interrupt: &'a vaquita_storage::Interrupt,
    measures: Option<&'a Measures>,
    subqueries: Subqueries,
    join_tables: HashMap<usize, Arc<JoinTable>>,
    memory_bytes_max: usize,
}

impl Shared<'_> {
    fn work<T>(&self, work: &impl Fn(&mut Frame<'_>) -> Result<T>) -> Result<T> {
        let catalog = SessionCatalog::new(Arc::clone(&self.statement.catalog));
        let txn = RefCell::new(self.view.transaction());
        let part = Part::new(self.driving, &self.division.tables, self.pieces);
        let lent = &self.statement;
        let mut statement = Execution::new(lent.store, &catalog, &txn, lent.params, self.session, lent.interrupt);
        statement.memory_bytes_max = lent.memory_bytes_max;
        statement.part = Some(&part);
        statement.measures = lent.measures;
        statement.subqueries = RefCell::new(lent.subqueries.rows.clone());
        statement.members = RefCell::new(lent.subqueries.members.clone());
        statement.join_tables = RefCell::new(lent.join_tables.clone());
        let result = work(&mut Frame::new(&statement, None, self.width));
        self.examined.fetch_add(statement.examined(), Ordering::Relaxed);
        if result.is_err() || self.session.refused.load(Ordering::Relaxed) {
            self.pieces.stop();
        }
        result
    }
}

/// The session as it was when the threads began. It refuses what one thread alone must do.
struct Quiet {
    statement_time_us: i64,
    clock_us: i64,
    time_zone: TimeZone,
    sql_mode: u64,
    settings: RunSettings,
    connection_collation: CollationId,
    refused: AtomicBool,
}

impl Quiet {
    fn of(session: &dyn SessionEnv) -> Quiet {
        Quiet {
            statement_time_us: session.statement_time_us(),
            clock_us: session.clock_us(),
            time_zone: session.time_zone().clone(),
            sql_mode: session.sql_mode(),
            settings: session.run_settings().clone(),
            connection_collation: session.connection_collation(),
            refused: AtomicBool::new(false),
        }
    }

    fn refuse(&self) -> Error {
        self.refused.store(true, Ordering::Relaxed);
        Error::internal("for one thread only")
    }
}

impl SessionEnv for Quiet {
    fn statement_time_us(&self) -> i64 {
        self.statement_time_us
    }

    fn clock_us(&self) -> i64 {
        self.clock_us
    }

    fn time_zone(&self) -> &TimeZone {
        &self.time_zone
    }

    fn sql_mode(&self) -> u64 {
        self.sql_mode
    }

    fn run_settings(&self) -> &RunSettings {
        &self.settings
    }

    fn connection_collation(&self) -> CollationId {
        self.connection_collation
    }

    fn warn(&self, _: Level, _: Error) {
        self.refuse();
    }

    fn user_var(&self, _: &str) -> Value {
        self.refuse();
        Value::Null
    }

    fn set_user_var(&self, _: &str, _: Value) -> Result<()> {
        Err(self.refuse())
    }

    fn sys_var(&self, _: VarScope, _: &str) -> Result<Value> {
        Err(self.refuse())
    }

    fn random(&self) -> f64 {
        self.refuse();
        0.0
    }

    fn random_bytes(&self, _: &mut [u8]) {
        self.refuse();
    }

    fn ask(&self) -> Result<&dyn AskSession> {
        Err(self.refuse())
    }

    fn check_interrupt(&self) -> Result<()> {
        // The statements of helpers have the interrupt itself.
        Ok(())
    }

    fn warning_count(&self) -> u64 {
        0
    }

    fn auto_increment(&self) -> (u64, u64) {
        (1, 1)
    }
}
