//! Reads one table by one access path.
//!
//! Bounds are evaluated when the scan opens, over the slots that outer tables have filled. Of each row found
//! only the columns that the plan lists are decoded, and only once its condition is met, as far as that shows on the stored
//! row (`row_filter`). A scan that locks rows finds them in its snapshot, and locks those that match (`lock`); at SERIALIZABLE, with
//! snapshot isolation off, and where it looks for one row by its primary key, it locks a row before it reads the latest version.

mod computed;
mod keys;
mod lock;
mod ranked;

use std::borrow::Cow;
use std::ops::Bound;
use std::sync::Arc;

use vaquita_plan::bounds::KeyValue;
use vaquita_plan::eval::fold_for_statement;
use vaquita_plan::expr::{CompareOp, Expr, ExprKind, Slot};
use vaquita_plan::node::{AccessPath, Scan, Skips};
use vaquita_plan::visit::has_subquery;
use vaquita_storage::helpers::Pace;
use vaquita_storage::key::successor;
use vaquita_storage::{
    Cursor, Direction, Entry, IndexCodec, Keep, KeyRange, LockMode, LockPolicy, RowView, ScanOptions, Step, Table, Version,
};
use vaquita_types::temporal::TimeZone;
use vaquita_types::{Error, Result, TypeKind, Value};

use self::keys::{Within, codec_of_entry, key_value, within_groups};
pub use self::keys::{index_codec, scan_ranges};
use self::lock::Newcomers;
use super::row_filter::{RowFilter, Truth};
use super::{Frame, Operator};
use crate::context::{Call, Calls, Execution, KeyTable, Part, Ranks, TableUse};

pub struct TableScan<'p> {
    scan: &'p Scan,
    table: Option<Arc<Table>>,
    /// The partition to read in place of the table, whose caller has opened that.
    partition: Option<Arc<Table>>,
    /// The ranges still to be read, last first, and the one that is being read.
    ranges: Vec<KeyRange>,
    range: KeyRange,
    /// Candidates until a pause.
    rows_to_pause: u64,
    cursor: Option<Cursor>,
    cursor_open: bool,
    /// A point read has its key here and is done after one row.
    point: bool,
    /// The row's key and value; where the index covers, its entry's.
    key: Vec<u8>,
    value: Vec<u8>,
    entry_key: Vec<u8>,
    /// The row is where the cursor stands, not in `key` and `value`.
    at_cursor: bool,
    lock: Option<(LockMode, LockPolicy)>,
    /// Nothing is done about what the cursor finds, but to look at it.
    plain: bool,
    /// A row is locked before it is read.
    lock_first: bool,
    /// Rows that came into the ranges after the snapshot are conflicts; those of the range that is read.
    meets_newcomers: bool,
    newcomers: Option<Newcomers>,
    /// Keys and rows that a secondary index led to and that were read together, the next one last.
    fetched: Vec<(Vec<u8>, Vec<u8>)>,
    /// How many to read together next.
    batch_rows: usize,
    /// Its only range, whose rows are read one by one.
    given: Option<KeyRange>,
    /// The key of the entry that led to the row, if these are.
    place: Vec<u8>,
    /// The rows that entries have led to, where several may lead to one.
    met: Option<KeyTable>,
    /// All ranges of a union of indexes in their order, if rows themselves tell which of them lead to them.
    union: Vec<KeyRange>,
    /// What is read of each group (`Skips::within`).
    within: Option<Within>,
    /// The scan's filter, with what is the same for all rows computed.
    conditions: Cow<'p, [Expr]>,
    filter: Option<RowFilter>,
    /// The filter asks a search for the row by its clustered key.
    matches_by_key: bool,
    /// What a search has found, and how much of it was read.
    ranked: Option<(Arc<Ranks>, usize)>,
    /// Parts of a covering index's entry, and the slots that they go to.
    entry_parts: Vec<(usize, Slot)>,
    /// Slots of TIMESTAMP columns, where the session's zone is not UTC.
    local_slots: Vec<Slot>,
    keep: Keep,
    /// If it is one of several threads that divide a table.
    pace: Option<Pace>,
    /// Other threads take some of the rows.
    takes_turns: bool,
    /// The place where rows are counted.
    counted_at: usize,
}

/// A statement that wants one row must not read many.
const BATCH_ROWS_MIN: usize = 4;
const BATCH_ROWS_MAX: usize = 64;
/// Batches shrink when their rows are larger than this together.
const BATCH_BYTES_MAX: usize = 1 << 20;

impl<'p> TableScan<'p> {
    pub fn new(scan: &'p Scan) -> TableScan<'p> {
        TableScan {
            scan,
            table: None,
            partition: None,
            ranges: Vec::new(),
            range: KeyRange::default(),
            rows_to_pause: u64::MAX,
            cursor: None,
            cursor_open: false,
            point: false,
            key: Vec::new(),
            value: Vec::new(),
            entry_key: Vec::new(),
            at_cursor: false,
            lock: None,
            plain: true,
            lock_first: false,
            meets_newcomers: false,
            newcomers: None,
            fetched: Vec::new(),
            batch_rows: BATCH_ROWS_MIN,
            given: None,
            place: Vec::new(),
            met: None,
            union: Vec::new(),
            within: None,
            conditions: Cow::Borrowed(&scan.filter),
            filter: None,
            matches_by_key: false,
            ranked: None,
            entry_parts: Vec::new(),
            local_slots: Vec::new(),
            keep: Keep::All,
            pace: None,
            takes_turns: false,
            counted_at: 0,
        }
    }

    /// For who asks where it stands (`place`).
    pub fn singly(scan: &'p Scan, range: KeyRange) -> TableScan<'p> {
        TableScan { given: Some(range), ..TableScan::new(scan) }
    }

    /// The key of the row in the index that is read.
    pub fn place(&self) -> &[u8] {
        if self.place.is_empty() { self.row().0 } else { &self.place }
    }

    pub fn of_partition(scan: &'p Scan, partition: Arc<Table>) -> TableScan<'p> {
        TableScan { partition: Some(partition), ..TableScan::new(scan) }
    }
}

/// What a row of the scan is counted as.
fn row_call(path: &AccessPath) -> Option<Call> {
    match path {
        AccessPath::Full { reverse: false } => Some(Call::ReadRndNext),
        AccessPath::Range { reverse: false, .. } | AccessPath::Union { .. } => Some(Call::ReadNext),
        AccessPath::Full { reverse: true } | AccessPath::Range { reverse: true, .. } => Some(Call::ReadPrev),
        AccessPath::Point { .. } | AccessPath::FullText { .. } | AccessPath::System => None,
    }
}

/// The opening of a scan, which finds its first row by a key, in so many ranges.
fn count_opening(path: &AccessPath, ranges: usize, calls: &Calls) {
    match path {
        AccessPath::Full { reverse } => {
            calls.add(Call::ReadKey, 1);
            calls.add(if *reverse { Call::ReadLast } else { Call::ReadFirst }, 1);
        }
        AccessPath::Range { .. } | AccessPath::Union { .. } => calls.add(Call::ReadKey, ranges as u64),
        AccessPath::Point { .. } => calls.add(Call::ReadKey, 1),
        AccessPath::FullText { .. } | AccessPath::System => {}
    }
}

/// The table of a scan, opened and locked as what is done with its rows asks for.
pub fn open_scanned(scan: &Scan, statement: &Execution<'_>) -> Result<Arc<Table>> {
    let intention = match lock::lock_of(scan, statement) {
        Some((LockMode::X, _)) => LockMode::IX,
        _ => LockMode::IS,
    };
    statement.open_table(&scan.table, intention)
}

impl Operator for TableScan<'_> {
    fn open(&mut self, frame: &mut Frame<'_>) -> Result<()> {
        let statement = frame.statement;
        if self.table.is_none() {
            self.lock = lock::lock_of(self.scan, statement);
            let table = match self.partition.take() {
                Some(partition) => partition,
                None => open_scanned(self.scan, statement)?,
            };
            let index = match &self.scan.path {
                AccessPath::Point { index, .. } | AccessPath::Range { index, .. } => Some(*index),
                AccessPath::Union { parts } => {
                    parts.iter().try_for_each(|(index, _)| table.check_readable(&statement.txn.borrow(), *index))?;
                    None
                }
                AccessPath::Full { .. } | AccessPath::FullText { .. } | AccessPath::System => None,
            };
            table.check_readable(&statement.txn.borrow(), index.unwrap_or(0))?;
            self.counted_at = statement.calls.place(TableUse::of(&self.scan.table, index), row_call(&self.scan.path));
            self.prepare(&table, frame)?;
            self.table = Some(table);
        }
        let Some(table) = self.table.clone() else { return Ok(()) };
        self.cursor_open = false;
        self.ranges.clear();
        self.point = false;
        if !self.fetched.is_empty() {
            // Whoever read it wanted fewer rows: those left are of the ranges before.
            self.fetched.clear();
            self.batch_rows = BATCH_ROWS_MIN;
        }
        if self.lock.is_some() {
            // Its iterator is older than the locks that are about to be taken.
            self.cursor = None;
        }
        if let Some(filter) = &mut self.filter {
            filter.clear_cut();
        }
        match &self.scan.path {
            AccessPath::Point { index, key } => self.open_point(&table, *index, key, frame)?,
            AccessPath::FullText { search } => self.open_ranked(&table, search, frame)?,
            _ if statement.part.is_some_and(|part| part.cuts(self.scan)) => {}
            _ => {
                match &self.given {
                    Some(range) => self.ranges.push(range.clone()),
                    None => scan_ranges(self.scan, &table, frame, &mut self.ranges)?,
                }
                self.union = if self.rows_tell_ranges(&table) { self.ranges.clone() } else { Vec::new() };
                self.within = None;
                if let Some(Skips { parts, within: Some(within), .. }) = self.skips() {
                    self.within = within_groups(index_codec(&table, self.scan.path.index())?, &table, (*parts, within), frame)?;
                }
                self.ranges.reverse();
                let keeps_keys = self.union.is_empty() && self.scan.repeats_rows(self.ranges.len());
                self.met = keeps_keys.then(KeyTable::new);
            }
        }
        count_opening(&self.scan.path, self.ranges.len(), &statement.calls);
        if self.lock.is_some() {
            self.choose_order(frame);
        }
        self.lock_ranges(frame)
    }

    fn next(&mut self, frame: &mut Frame<'_>) -> Result<bool> {
        // Taken, since counting its users again for every row is what threads would wait for each other at.
        let Some(table) = self.table.take() else { return Ok(false) };
        let found = self.next_match(&table, frame);
        self.table = Some(table);
        found
    }

    fn count_rest(&mut self, frame: &mut Frame<'_>) -> Result<Option<u64>> {
        if self.takes_turns {
            return Ok(None);
        }
        let Some(table) = self.table.take() else { return Ok(None) };
        let counted = self.count_matches(&table, frame);
        self.table = Some(table);
        counted.map(Some)
    }

    fn pause_after(&mut self, rows: u64) -> bool {
        self.rows_to_pause = rows;
        true
    }

    fn rest(&mut self) -> Vec<KeyRange> {
        self.rows_to_pause = u64::MAX;
        let mut rest = Vec::with_capacity(self.ranges.len() + 1);
        if let (true, Some(cursor)) = (self.cursor_open, &self.cursor) {
            let KeyRange { mut lower, mut upper } = self.range.clone();
            let read = cursor.stored().0;
            if self.scan.reads_backward() {
                upper = read.to_vec();
            } else {
                // The smallest key behind it.
                lower = [read, &[0]].concat();
            }
            rest.push(KeyRange { lower, upper });
        }
        rest.extend(self.ranges.iter().rev().cloned());
        rest
    }

    fn restrict(&mut self, ranges: &[KeyRange]) {
        self.cursor_open = false;
        self.ranges = ranges.iter().rev().cloned().collect();
    }

    fn cut(&mut self, column: &Expr, op: CompareOp, value: &Value, frame: &Frame<'_>) -> bool {
        let Some(table) = &self.table else { return false };
        if self.covering_index().is_some()
            || frame.statement.part.is_some_and(Part::reads_alike)
            || !self.scan.columns.iter().any(|(_, slot)| matches!(column.kind, ExprKind::Slot(at) if at == *slot))
        {
            return false;
        }
        let cx = frame.cx();
        let filter = self.filter.get_or_insert_with(|| RowFilter::new(self.scan, &self.conditions, &table.def, &cx));
        filter.set_cut(self.scan, &table.def, column, op, value, &cx);
        true
    }
}

impl<'p> TableScan<'p> {
    /// What is the same for all rows of the statement.
    fn prepare(&mut self, table: &Table, frame: &Frame<'_>) -> Result<()> {
        self.pace = frame.statement.part.map(|_| Pace::begin());
        self.takes_turns = frame.statement.part.is_some_and(|part| part.takes_turns(self.scan));
        if self.scan.folds {
            self.conditions = Cow::Owned(fold_for_statement(&self.scan.filter, &frame.cx()));
        }
        if let Some(index) = self.covering_index() {
            let codec = index_codec(table, index)?;
            for &(position, slot) in &self.scan.columns {
                let part = codec.restorable_part(position);
                self.entry_parts.push((part.ok_or_else(|| Error::internal("the index does not cover the column"))?, slot));
            }
        } else if !self.scan.filter.is_empty() {
            self.filter = Some(RowFilter::new(self.scan, &self.conditions, &table.def, &frame.cx()));
            self.matches_by_key = self.scan.filter.iter().any(has_subquery);
        }
        if !matches!(frame.statement.session.time_zone(), TimeZone::Utc) {
            let is_timestamp = |position: usize| table.def.columns[position].ty.kind == TypeKind::Timestamp;
            let columns = self.scan.columns.iter();
            self.local_slots = columns.filter(|(position, _)| is_timestamp(*position)).map(|(_, slot)| *slot).collect();
        }
        if matches!(self.scan.path, AccessPath::Full { .. }) {
            let all = table.codec.clustered().all();
            self.keep = frame.statement.store.kept_of_scan(&all.lower, &all.upper);
        }
        Ok(())
    }

    /// The secondary index whose entries are read in place of rows.
    fn covering_index(&self) -> Option<usize> {
        match &self.scan.path {
            AccessPath::Range { index, covering: true, .. } if self.lock.is_none() => Some(*index),
            _ => None,
        }
    }

    /// To the next row, for a scan without filter, without decoding it.
    pub fn advance_stored(&mut self, frame: &mut Frame<'_>) -> Result<bool> {
        let Some(table) = self.table.take() else { return Ok(false) };
        let found = if self.lock.is_none() { self.advance(&table, frame) } else { self.advance_locked(&table, frame) };
        if matches!(found, Ok(true)) {
            frame.statement.calls.examine(self.counted_at, 1);
        }
        self.table = Some(table);
        found
    }

    /// The row that `advance_stored` found.
    pub fn stored_row(&self) -> Result<RowView<'_>> {
        let table = self.table.as_ref().ok_or_else(|| Error::internal("a scan that is not open"))?;
        let (key, value) = self.row();
        table.codec.view(key, value)
    }

    fn next_match(&mut self, table: &Table, frame: &mut Frame<'_>) -> Result<bool> {
        while !self.is_at_pause() && self.advance(table, frame)? {
            frame.statement.calls.examine(self.counted_at, 1);
            // One load: what is evaluated for a row may take long.
            frame.statement.interrupt.check_in_turn()?;
            if self.is_match(table, frame, true)? {
                let is_taken = self.lock.is_none() || self.lock_match(frame)?;
                if is_taken && (!self.takes_turns || frame.statement.part.is_none_or(Part::takes_row)) {
                    return Ok(true);
                }
            } else if self.lock.is_some() {
                self.pass_over(table, frame)?;
            }
        }
        Ok(false)
    }

    /// Rows that were fetched together are given before.
    fn is_at_pause(&mut self) -> bool {
        if self.rows_to_pause == 0 && self.fetched.is_empty() {
            return true;
        }
        self.rows_to_pause = self.rows_to_pause.saturating_sub(1);
        false
    }

    fn count_matches(&mut self, table: &Table, frame: &mut Frame<'_>) -> Result<u64> {
        let mut rows = 0;
        while self.advance(table, frame)? {
            frame.statement.calls.examine(self.counted_at, 1);
            frame.statement.interrupt.check_in_turn()?;
            let matches = self.is_match(table, frame, false)?;
            match self.lock {
                None => rows += u64::from(matches),
                Some(_) if matches => rows += u64::from(self.lock_match(frame)?),
                Some(_) => self.pass_over(table, frame)?,
            }
        }
        Ok(rows)
    }

    /// The key and the value that `advance` found: the row's, or the covering index's entry.
    fn row(&self) -> (&[u8], &[u8]) {
        match &self.cursor {
            Some(cursor) if self.at_cursor => cursor.stored(),
            _ => (&self.key, &self.value),
        }
    }

    fn open_point(&mut self, table: &Table, index: usize, key: &[Expr], frame: &Frame<'_>) -> Result<()> {
        let codec = index_codec(table, index)?;
        let exact = |expr: &Expr, position: usize| -> Result<Option<Value>> {
            let ty = table.def.columns[position].key_type();
            Ok(match key_value(&*expr.eval(&frame.cx())?, ty, frame) {
                KeyValue::Exact(value) => Some(value),
                _ => None,
            })
        };
        // A key of one column, which most are, needs no list.
        if let ([expr], [part], true) = (key, codec.parts(), codec.is_clustered()) {
            if let Some(value) = exact(expr, part.position)? {
                codec.encode_value(&value, &mut self.key)?;
                self.point = true;
            }
            return Ok(());
        }
        let mut values = Vec::with_capacity(key.len());
        for (expr, part) in key.iter().zip(codec.parts()) {
            let Some(value) = exact(expr, part.position)? else { return Ok(()) };
            values.push(value);
        }
        if codec.is_clustered() {
            codec.encode_values(&values, &mut self.key)?;
            self.point = true;
        } else if self.lock.is_none() {
            // The entry of a unique index without NULL is its own parts; its value leads to the row.
            codec.encode_values(&values, &mut self.entry_key)?;
            if read(frame.statement, &self.entry_key, &mut self.value)? {
                codec.clustered_key(Entry { key: &self.entry_key, value: &self.value }, &mut self.key)?;
                self.point = true;
            }
        } else {
            self.ranges.push(codec.range(&values, Bound::Unbounded, Bound::Unbounded)?);
        }
        Ok(())
    }

    /// Moves to the next candidate, which `row` gives.
    fn advance(&mut self, table: &Table, frame: &mut Frame<'_>) -> Result<bool> {
        if let Some(pace) = &mut self.pace {
            pace.step();
        }
        if self.reads_first_of_groups() && self.cursor_open {
            let key = self.row().0.to_vec();
            self.pass_group(table, &key)?;
        }
        self.at_cursor = false;
        if self.point {
            self.point = false;
            return self.read_row(table, frame);
        }
        let (index, reverse, covering) = match &self.scan.path {
            AccessPath::Range { index, reverse, covering, .. } => (*index, *reverse, *covering),
            AccessPath::Full { reverse } => (0, *reverse, false),
            AccessPath::Union { .. } => (0, false, false),
            AccessPath::FullText { .. } if self.ranked.is_some() => return self.advance_ranked(table, frame),
            AccessPath::FullText { .. } => (0, false, false),
            AccessPath::Point { index, .. } => (*index, false, false),
            AccessPath::System => return Ok(false),
        };
        let codec = index_codec(table, index)?;
        let direction = if reverse { Direction::Backward } else { Direction::Forward };
        let is_union = matches!(self.scan.path, AccessPath::Union { .. });
        if (is_union || !codec.is_clustered() && !covering) && !self.lock_first {
            return self.advance_fetched(table, codec, direction, frame);
        }
        loop {
            if !self.cursor_open && !self.open_next_range(table, frame, direction)? {
                return Ok(false);
            }
            let Some(cursor) = &mut self.cursor else { return Ok(false) };
            let step = cursor.step(&frame.statement.txn.borrow())?;
            if self.plain && step == Step::Stored {
                self.at_cursor = true;
                return Ok(true);
            }
            if self.meets_newcomers {
                let reached = match step {
                    Step::Stored => Some(cursor.stored().0.to_vec()),
                    Step::Own => Some(cursor.own().0.to_vec()),
                    Step::End => None,
                };
                self.meet_newcomers(table, reached.as_deref(), frame)?;
            }
            let Some(cursor) = &self.cursor else { return Ok(false) };
            let in_place = !self.lock_first;
            let (key, value) = match step {
                Step::Stored if in_place => {
                    self.at_cursor = true;
                    return Ok(true);
                }
                Step::Stored => cursor.stored(),
                Step::Own => cursor.own(),
                Step::End => {
                    self.cursor_open = false;
                    continue;
                }
            };
            if in_place {
                self.key.clear();
                self.key.extend_from_slice(key);
                self.value.clear();
                self.value.extend_from_slice(value);
                return Ok(true);
            }
            let codec = if is_union { codec_of_entry(table, key)? } else { codec };
            codec.clustered_key(Entry { key, value }, &mut self.key)?;
            if is_new(&mut self.met, &self.key, frame)? && self.read_row(table, frame)? {
                return Ok(true);
            }
        }
    }

    /// A scan of several indexes, of which nothing is to be kept to give each row once. What locks rows finds them as they are now, and
    /// where an index had them before is not told.
    fn rows_tell_ranges(&self, table: &Table) -> bool {
        let AccessPath::Union { parts } = &self.scan.path else { return false };
        let in_row = |position: usize| table.def.columns.get(position).is_some_and(|column| column.is_in_row());
        let codecs = parts.iter().map(|(index, _)| index_codec(table, *index));
        self.lock.is_none() && codecs.flatten().all(|codec| codec.columns().all(in_row))
    }

    /// Of rows that entries of one index led to, only those stay that no index read before leads to.
    fn keep_first_met(&mut self, table: &Table, read: &IndexCodec) -> Result<()> {
        let AccessPath::Union { parts } = &self.scan.path else { return Ok(()) };
        let mut values = vec![Value::Null; table.def.columns.len()];
        let (mut entry, mut rest) = (Vec::new(), Vec::new());
        let mut kept = Vec::with_capacity(self.fetched.len());
        for (key, row) in std::mem::take(&mut self.fetched) {
            let view = table.codec.view(&key, &row)?;
            let mut is_first = true;
            for (index, _) in parts {
                let codec = index_codec(table, *index)?;
                if !is_first || codec.id >= read.id {
                    continue;
                }
                if codec.is_clustered() {
                    entry.clone_from(&key);
                } else {
                    for position in codec.columns() {
                        view.value_into(position, &mut values[position])?;
                    }
                    // Ranges end with parts of which a row id is none.
                    codec.encode_entry(&values, 0, &mut entry, &mut rest)?;
                }
                let before = self.union.partition_point(|range| range.lower <= entry);
                is_first = !before.checked_sub(1).is_some_and(|at| self.union[at].contains(&entry));
            }
            if is_first {
                kept.push((key, row));
            }
        }
        self.fetched = kept;
        Ok(())
    }

    /// `Scan::skips`. Who locks reads everything: rows that are passed over may have changed.
    fn skips(&self) -> Option<&'p Skips> {
        self.scan.skips.as_deref().filter(|_| self.lock.is_none())
    }

    fn reads_first_of_groups(&self) -> bool {
        self.skips().is_some_and(|skips| skips.first)
    }

    /// After an entry that stands for its group: the rest of the group is not read.
    fn pass_group(&mut self, table: &Table, key: &[u8]) -> Result<()> {
        self.cursor_open = false;
        match self.skips() {
            Some(Skips { parts, within: None, .. }) => {
                let range = self.range.clone();
                self.leave_group(table, range, key, *parts).map(drop)
            }
            _ => Ok(()),
        }
    }

    /// What is left of a range behind the group of an entry is to be read. Gives what the group's entries begin with.
    fn leave_group(&mut self, table: &Table, mut range: KeyRange, key: &[u8], parts: usize) -> Result<Vec<u8>> {
        let codec = index_codec(table, self.scan.path.index())?;
        let group = codec.prefix(Entry { key, value: &[] }, parts)?.to_vec();
        if self.scan.reads_backward() {
            range.upper.clone_from(&group);
        } else {
            range.lower.clone_from(&group);
            successor(&mut range.lower);
        }
        if range.lower < range.upper {
            self.ranges.push(range);
        }
        Ok(group)
    }

    /// The range that is read of the next group, if there is one: an entry leads to the group.
    fn next_group(&mut self, table: &Table, parts: usize, frame: &Frame<'_>, direction: Direction) -> Result<Option<KeyRange>> {
        let Some(Within { equal, low, high }) = self.within.take() else { return Ok(None) };
        let mut found = None;
        while let Some(range) = self.ranges.pop() {
            // Groups may have nothing in their ranges for long.
            frame.statement.interrupt.check_in_turn()?;
            self.open_cursor(range.clone(), frame, direction)?;
            let Some(cursor) = &mut self.cursor else { break };
            let Some((key, _)) = cursor.next(&frame.statement.txn.borrow())? else { continue };
            let key = key.to_vec();
            frame.statement.calls.add(Call::ReadKey, 1);
            let group = self.leave_group(table, range, &key, parts)?;
            let codec = index_codec(table, self.scan.path.index())?;
            found = Some(codec.range_behind((&group, parts), &equal, low.as_ref(), high.as_ref())?);
            break;
        }
        self.within = Some(Within { equal, low, high });
        Ok(found)
    }

    /// As `advance`, by a secondary index: reads the rows of many entries together.
    fn advance_fetched(
        &mut self,
        table: &Table,
        codec: &IndexCodec,
        direction: Direction,
        frame: &mut Frame<'_>,
    ) -> Result<bool> {
        let is_union = matches!(self.scan.path, AccessPath::Union { .. });
        let skips = self.reads_first_of_groups();
        while self.fetched.is_empty() {
            // A newcomer behind what the statement wants is none.
            let batch_rows = if self.meets_newcomers || self.given.is_some() { 1 } else { self.batch_rows };
            let mut keys: Vec<Vec<u8>> = Vec::with_capacity(batch_rows);
            let mut read = codec;
            while keys.len() < batch_rows {
                // Entries may lead to no new row for long.
                frame.statement.interrupt.check_in_turn()?;
                // The rows of a batch are of one morsel, and of one index.
                if !self.cursor_open && !keys.is_empty() && (is_union || frame.statement.part.is_some()) {
                    break;
                }
                if !self.cursor_open && !self.open_next_range(table, frame, direction)? {
                    break;
                }
                let Some(cursor) = &mut self.cursor else { break };
                let mut reached = None;
                match cursor.next(&frame.statement.txn.borrow())? {
                    Some((key, value)) => {
                        let mut row_key = Vec::new();
                        read = if is_union { codec_of_entry(table, key)? } else { codec };
                        read.clustered_key(Entry { key, value }, &mut row_key)?;
                        if is_new(&mut self.met, &row_key, frame)? {
                            keys.push(row_key);
                        }
                        if skips {
                            let key = key.to_vec();
                            self.pass_group(table, &key)?;
                            continue;
                        }
                        if self.given.is_some() {
                            self.place.clear();
                            self.place.extend_from_slice(key);
                        }
                        reached = self.meets_newcomers.then(|| key.to_vec());
                    }
                    None => self.cursor_open = false,
                }
                if self.meets_newcomers {
                    self.meet_newcomers(table, reached.as_deref(), frame)?;
                }
            }
            if keys.is_empty() {
                return Ok(false);
            }
            self.fetch(keys, frame)?;
            if !self.union.is_empty() {
                self.keep_first_met(table, read)?;
            }
        }
        if let Some((key, row)) = self.fetched.pop() {
            (self.key, self.value) = (key, row);
        }
        Ok(true)
    }

    /// Reads the rows of these keys together.
    fn fetch(&mut self, keys: Vec<Vec<u8>>, frame: &Frame<'_>) -> Result<()> {
        let refs: Vec<&[u8]> = keys.iter().map(Vec::as_slice).collect();
        let mut rows = Vec::with_capacity(refs.len());
        let own_writes = !frame.statement.own_writes_hidden.get();
        frame.statement.txn.borrow().multi_get(&refs, Version::Snapshot, own_writes, &mut rows)?;
        let bytes: usize = rows.iter().flatten().map(Vec::len).sum();
        self.batch_rows =
            if bytes > BATCH_BYTES_MAX { (self.batch_rows / 2).max(1) } else { (self.batch_rows * 2).min(BATCH_ROWS_MAX) };
        self.fetched.extend(keys.into_iter().zip(rows).rev().filter_map(|(key, row)| Some((key, row?))));
        Ok(())
    }

    fn open_next_range(&mut self, table: &Table, frame: &Frame<'_>, direction: Direction) -> Result<bool> {
        let range = match frame.statement.part {
            Some(part) if part.cuts(self.scan) => part.take(),
            _ => self.ranges.pop(),
        };
        let range = match self.skips() {
            Some(Skips { parts, within: Some(_), .. }) => {
                self.ranges.extend(range);
                self.next_group(table, *parts, frame, direction)?
            }
            _ => range,
        };
        let Some(range) = range else { return Ok(false) };
        if self.rows_to_pause != u64::MAX || self.skips().is_some() {
            self.range.clone_from(&range);
        }
        self.look_for_newcomers(&range, direction, frame)?;
        self.open_cursor(range, frame, direction)?;
        self.cursor_open = true;
        Ok(true)
    }

    fn open_cursor(&mut self, range: KeyRange, frame: &Frame<'_>, direction: Direction) -> Result<()> {
        match &mut self.cursor {
            Some(cursor) => cursor.reseek(range, direction),
            None => {
                // Where rows are locked first, entries are what exists now.
                let version = if self.lock_first { Version::Latest } else { Version::Snapshot };
                let own_writes = !frame.statement.own_writes_hidden.get();
                let options = ScanOptions { version, keep: self.keep, own_writes, ..ScanOptions::default() };
                self.cursor = Some(frame.statement.txn.borrow().scan(range, direction, options)?);
            }
        }
        Ok(())
    }

    /// Checks the filter, and decodes the columns if they are `wanted` or it needs them.
    fn is_match(&mut self, table: &Table, frame: &mut Frame<'_>, wanted: bool) -> Result<bool> {
        if let Some(index) = self.covering_index() {
            if wanted || !self.scan.filter.is_empty() {
                self.decode_entry(index_codec(table, index)?, frame)?;
                self.compute(frame)?;
            }
            return frame.all_true(&self.conditions);
        }
        if !wanted && self.filter.is_none() {
            return Ok(true);
        }
        let (key, value) = self.row();
        let view = table.codec.view(key, value)?;
        if let (true, Some(slot)) = (self.matches_by_key, self.scan.key_slot) {
            frame.slots[slot] = Value::Bytes(key.into());
        }
        match &self.filter {
            None => {
                self.decode(&self.scan.columns, &view, frame)?;
                self.compute(frame)?;
            }
            Some(filter) => match filter.check(&view) {
                Truth::True => {
                    self.decode(&filter.early, &view, frame)?;
                    self.compute(frame)?;
                    if !frame.all_true(self.conditions.get(filter.rest..).unwrap_or(&[]))? || filter.is_cut(&view) {
                        return Ok(false);
                    }
                    if wanted {
                        self.decode(&filter.late, &view, frame)?;
                    }
                }
                Truth::Unsure => {
                    self.decode(&self.scan.columns, &view, frame)?;
                    self.compute(frame)?;
                    if !frame.all_true(&self.conditions)? {
                        return Ok(false);
                    }
                }
                Truth::False | Truth::Null => return Ok(false),
            },
        }
        if let Some(slot) = self.scan.key_slot {
            frame.slots[slot] = Value::Bytes(key.into());
        }
        Ok(true)
    }

    #[inline]
    fn decode(&self, columns: &[(usize, Slot)], view: &RowView<'_>, frame: &mut Frame<'_>) -> Result<()> {
        for &(position, slot) in columns {
            view.value_into(position, &mut frame.slots[slot])?;
        }
        self.localize(columns, frame);
        Ok(())
    }

    #[inline]
    fn compute(&self, frame: &mut Frame<'_>) -> Result<()> {
        if self.scan.computed.is_empty() { Ok(()) } else { computed::compute(self.scan, frame) }
    }

    fn decode_entry(&self, codec: &IndexCodec, frame: &mut Frame<'_>) -> Result<()> {
        let (key, value) = self.row();
        for &(part, slot) in &self.entry_parts {
            let value = codec.part_value(part, Entry { key, value })?;
            frame.slots[slot] = value.ok_or_else(|| Error::internal("the index does not cover the column"))?.to_value()?;
        }
        self.localize(&self.scan.columns, frame);
        Ok(())
    }

    /// TIMESTAMPs are stored as UTC and evaluated in the session's time zone.
    #[inline]
    fn localize(&self, columns: &[(usize, Slot)], frame: &mut Frame<'_>) {
        if self.local_slots.is_empty() {
            return;
        }
        let zone = frame.statement.session.time_zone();
        for (_, slot) in columns.iter().filter(|(_, slot)| self.local_slots.contains(slot)) {
            if let Value::DateTime(utc) = &frame.slots[*slot] {
                frame.slots[*slot] = Value::DateTime(zone.timestamp_from_utc(*utc));
            }
        }
    }
}

/// No entry has led to the row yet.
fn is_new(met: &mut Option<KeyTable>, key: &[u8], frame: &Frame<'_>) -> Result<bool> {
    match met {
        None => Ok(true),
        Some(met) => Ok(met.insert(key, frame.statement)?.1),
    }
}

pub(super) fn read(statement: &Execution<'_>, key: &[u8], value: &mut Vec<u8>) -> Result<bool> {
    let txn = statement.txn.borrow();
    if statement.own_writes_hidden.get() {
        return txn.get_stored(key, Version::Snapshot, value);
    }
    txn.get(key, Version::Snapshot, value)
}
