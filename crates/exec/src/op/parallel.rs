//! One input read by several threads: each runs the same operators on its share of the driving scan's rows.
//!
//! The scan's ranges are cut into morsels, more of them than threads, which take one after the other until none is left; so
//! a thread that is slow, or that the system gives to somebody else, holds up nothing but its morsel. Threads see the
//! statement's snapshot through transactions of their own, while the statement's transaction holds the tables. What comes
//! out of a thread is whatever `work` makes of its rows; the caller puts it together again, by `Part::morsel` in the order in
//! which one thread alone would have met the rows.
//!
//! An error or a warning in any thread ends them all, and the caller then does the work alone: it gives the same
//! errors and warnings as always, in their order.
//!
//! All statements together start no more threads than there are cores (`Helpers`).

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use vaquita_plan::env::{AskSession, Level, VarScope};
use vaquita_plan::node::{Node, Scan};
use vaquita_plan::parallel::{driving_scan, lookups, scans};
use vaquita_plan::settings::RunSettings;
use vaquita_storage::helpers::{Helpers, Queue, cores};
use vaquita_storage::{Catalog, KeyRange, LockMode, SessionCatalog, SharedView, Store, Table};
use vaquita_types::charset::CollationId;
use vaquita_types::temporal::TimeZone;
use vaquita_types::{Error, Result, Value};

use super::scan::scan_ranges;
use crate::context::{Call, Execution, Frame, Measures, Part, SessionEnv, TableUse};

/// Morsels for each thread.
const MORSELS: u64 = 16;
/// A smaller one is not worth its seek.
const MORSEL_BYTES_MIN: u64 = 128 << 10;
/// Fewer rows are not cut into pieces, whatever they lead to: they are in one or two blocks.
const DRIVING_ROWS_MIN: u64 = 256;
/// So many bytes are read in the time that one row takes that is looked up at a place of its own (3 to 5 µs).
const LOOKUP_BYTES: f64 = 2048.0;
/// Bytes that a stored row is taken to have, before anybody looks at the table.
const ROW_BYTES: u64 = 128;

/// What there is to read in parts.
pub struct Division<'p> {
    driving: &'p Scan,
    /// What the driving scan reads, in its order.
    ranges: Vec<KeyRange>,
    bytes: u64,
    /// The same with what its rows lead to, as bytes that could be read meanwhile.
    work_bytes: u64,
    tables: Vec<Arc<Table>>,
}

impl Division<'_> {
    /// All morsels, about `count` of them, in the order in which one thread alone reads them.
    pub fn morsels(&self, count: u64, store: &Store) -> Result<Vec<KeyRange>> {
        let work_min = MORSEL_BYTES_MIN.min(store.options().tuning.parallel_bytes_min);
        // The more its rows lead to, the smaller may the pieces of it be.
        let bytes_min = (work_min as f64 * self.bytes as f64 / self.work_bytes.max(1) as f64) as u64;
        let morsel_bytes = (self.bytes / count.max(1)).max(bytes_min);
        let mut morsels = Vec::new();
        for range in &self.ranges {
            let mut pieces = store.split(range, morsel_bytes)?;
            if self.driving.reads_backward() {
                pieces.reverse();
            }
            morsels.append(&mut pieces);
        }
        Ok(morsels)
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
    let morsels = division.morsels(MORSELS * cores() as u64, frame.statement.store)?;
    run_morsels(&division, &morsels, frame, work)
}

/// As `run`, for some of the morsels.
pub fn run_morsels<T: Send>(
    division: &Division<'_>,
    ranges: &[KeyRange],
    frame: &mut Frame<'_>,
    work: impl Fn(&mut Frame<'_>) -> Result<T> + Sync,
) -> Result<Option<Vec<T>>> {
    let statement = frame.statement;
    if ranges.len() < 2 {
        return Ok(None);
    }
    let Some(view) = statement.txn.borrow_mut().share_view() else { return Ok(None) };
    let helpers = Helpers::take(ranges.len().min(threads_max(statement)) - 1);
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
            memory_bytes_max: statement.memory_bytes_max.saturating_sub(statement.memory.bytes()) / (helpers.count() + 1),
        },
        view: &view,
        session: &session,
        division,
        morsels: &Queue::new(ranges),
        width: frame.slots.len(),
        examined: AtomicU64::new(0),
    };
    let results = helpers.run("scan", || shared.work(&work));
    // Scans of whole tables are what is divided, for the most part.
    let place = statement.calls.place(TableUse::of(&division.driving.table, None), Some(Call::ReadRndNext));
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
    let Some(driving) = driving_scan(input) else { return Ok(None) };
    let lookup_bytes = (lookups(input) * LOOKUP_BYTES) as u64;
    let is_little = driving.rows_estimate.saturating_mul(ROW_BYTES).saturating_add(lookup_bytes) < bytes_min;
    if is_little || driving.rows_estimate < DRIVING_ROWS_MIN.min(rows_min(statement)) || threads_max(statement) < 2 {
        return Ok(None);
    }
    let (mut tables, mut failed) = (Vec::new(), Ok(()));
    scans(input, &mut |scan| match statement.open_table(&scan.table, LockMode::IS) {
        Ok(table) => tables.push(table),
        Err(error) => failed = Err(error),
    });
    failed?;
    let Some(table) = tables.iter().find(|table| table.def.id == driving.table.id) else { return Ok(None) };
    let ranges = match ranges {
        Some(ranges) => ranges,
        None => {
            let mut ranges = Vec::new();
            scan_ranges(driving, table, frame, &mut ranges)?;
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
    Ok(Some(Division { driving, ranges, bytes, work_bytes, tables }))
}

/// What the threads share.
struct Shared<'a> {
    statement: Lent<'a>,
    view: &'a SharedView,
    session: &'a Quiet,
    division: &'a Division<'a>,
    morsels: &'a Queue<'a, KeyRange>,
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
    memory_bytes_max: usize,
}

impl Shared<'_> {
    fn work<T>(&self, work: &impl Fn(&mut Frame<'_>) -> Result<T>) -> Result<T> {
        let catalog = SessionCatalog::new(Arc::clone(&self.statement.catalog));
        let txn = RefCell::new(self.view.transaction());
        let Division { driving, tables, .. } = self.division;
        let part = Part::new(driving, tables, self.morsels);
        let lent = &self.statement;
        let mut statement = Execution::new(lent.store, &catalog, &txn, lent.params, self.session, lent.interrupt);
        statement.memory_bytes_max = lent.memory_bytes_max;
        statement.part = Some(&part);
        statement.measures = lent.measures;
        let result = work(&mut Frame::new(&statement, None, self.width));
        self.examined.fetch_add(statement.examined(), Ordering::Relaxed);
        if result.is_err() || self.session.refused.load(Ordering::Relaxed) {
            self.morsels.stop();
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
