//! ORDER BY: sorts rows by memcmp of their encoded keys, or keeps the first few of them.
//!
//! Rows with equal keys stay in the order in which they came. Keys lie in one buffer; the sort works on a row number
//! with eight or sixteen bytes of the key, taken after what all keys have in common, so that most comparisons touch no
//! other memory. With a LIMIT a heap holds the best rows so far, and a row that is not among them costs one comparison; where the
//! first key is a column of a scan, the scan leaves such rows out before it decodes them.
//! Rows that memory has no room for are sorted on disk (`overflow`).
//! A big input is sorted in parts on several threads (`parallel`), each a run; the runs are merged.

use std::collections::BinaryHeap;

use vaquita_plan::expr::{CompareOp, ExprKind, Slot};
use vaquita_plan::node::{self, Node, SortKey};
use vaquita_plan::parallel::is_pure;
use vaquita_types::{Result, Value};

use super::overflow::Overflow;
use super::slots::refills;
use super::{Builder, Frame, Operator, Pulse, key, limit};
use crate::context::{Call, Execution, Kept, Rows, heap_bytes};
use crate::op::parallel;

/// Rows up to which a LIMIT is kept in a heap; above, everything is sorted.
const TOP_ROWS_MAX: u64 = 1 << 16;

pub struct Sort<'p> {
    node: &'p Node,
    input: Box<dyn Operator + 'p>,
    keys: &'p [SortKey],
    limit: Option<&'p node::Limit>,
    saved: &'p [Slot],
    again: bool,
    /// One, or one of each thread.
    runs: Vec<Run>,
    /// Runs and rows in them, in order.
    order: Vec<(u32, u32)>,
    at: usize,
    /// All rows, if there are too many, and how many of them are still wanted.
    overflow: Option<Overflow>,
    left: u64,
    /// Rows that the OFFSET left out.
    skipped: u64,
}

impl<'p> Sort<'p> {
    pub fn new(
        node: &'p Node,
        keys: &'p [SortKey],
        limit: Option<&'p node::Limit>,
        saved: &'p [Slot],
        builder: Builder<'_>,
    ) -> Sort<'p> {
        let input = builder.build(node);
        Sort {
            node,
            input,
            keys,
            limit,
            saved,
            again: builder.is_again(),
            runs: Vec::new(),
            order: Vec::new(),
            at: 0,
            overflow: None,
            left: 0,
            skipped: 0,
        }
    }

    /// Sorts the rows on several threads; false: they are to be sorted here.
    fn sort_in_parts(&mut self, wanted: u64, frame: &mut Frame<'_>) -> Result<bool> {
        if self.again || !self.keys.iter().all(|key| is_pure(&key.expr)) {
            return Ok(false);
        }
        let (node, keys, saved) = (self.node, self.keys, self.saved);
        let part = |frame: &mut Frame<'_>| {
            let mut input = Builder::of(frame.statement).build(node);
            input.open(frame)?;
            Run::of(&mut *input, Filler::new(node, keys, saved), wanted, frame)
        };
        let Some(runs) = parallel::run(node, frame, part)? else { return Ok(false) };
        for run in runs {
            self.runs.push(run.adopted(frame.statement)?);
        }
        self.order = merged(&self.runs);
        Ok(true)
    }
}

impl Operator for Sort<'_> {
    fn open(&mut self, frame: &mut Frame<'_>) -> Result<()> {
        self.runs.clear();
        self.overflow = None;
        self.order.clear();
        self.at = 0;
        self.skipped = 0;
        let (skip, count) = match self.limit {
            Some(limit) => limit::bounds(limit, frame)?,
            None => (0, u64::MAX),
        };
        if count == 0 {
            return Ok(());
        }
        let wanted = skip.saturating_add(count);
        if !self.sort_in_parts(wanted, frame)? {
            self.input.open(frame)?;
            let mut run = Run::of(&mut *self.input, Filler::new(self.node, self.keys, self.saved), wanted, frame)?;
            run.release_keys();
            if let Some(mut overflow) = run.overflow.take() {
                overflow.sort()?;
                frame.statement.calls.add(Call::SortRows, overflow.rows().min(wanted));
                while self.skipped < skip && overflow.key().is_some() {
                    frame.statement.interrupt.check_in_turn()?;
                    overflow.advance()?;
                    self.skipped += 1;
                }
                self.left = count;
                self.overflow = Some(overflow);
            }
            self.order = run.order.drain(..).map(|row| (0, row)).collect();
            self.runs.push(run);
        }
        self.order.truncate(usize::try_from(wanted).unwrap_or(usize::MAX));
        frame.statement.calls.add(Call::SortRows, self.order.len() as u64);
        self.at = usize::try_from(skip).unwrap_or(usize::MAX);
        self.skipped += skip.min(self.order.len() as u64);
        Ok(())
    }

    fn skipped(&self) -> u64 {
        self.skipped
    }

    fn next(&mut self, frame: &mut Frame<'_>) -> Result<bool> {
        if let Some(overflow) = &mut self.overflow {
            if self.left == 0 || overflow.key().is_none() {
                return Ok(false);
            }
            self.left -= 1;
            frame.statement.interrupt.check_in_turn()?;
            overflow.restore(frame)?;
            overflow.advance()?;
            return Ok(true);
        }
        let Some(&(run, row)) = self.order.get(self.at) else { return Ok(false) };
        self.at += 1;
        if let Some(run) = self.runs.get_mut(run as usize) {
            run.rows.restore_taking(row as usize, frame, self.saved);
        }
        Ok(true)
    }
}

/// How rows get into a run.
struct Filler<'p> {
    keys: &'p [SortKey],
    saved: &'p [Slot],
    takes_slots: bool,
    key: Vec<u8>,
    pulse: Pulse,
}

impl<'p> Filler<'p> {
    fn new(node: &Node, keys: &'p [SortKey], saved: &'p [Slot]) -> Filler<'p> {
        Filler { keys, saved, takes_slots: refills(node), key: Vec::new(), pulse: Pulse::default() }
    }

    /// Moves rows to disk, those of equal keys in their order.
    fn begin_overflow<'k>(
        &self,
        rows: &mut Rows,
        numbers: impl Iterator<Item = (u32, &'k [u8])>,
        frame: &Frame<'_>,
    ) -> Result<Overflow> {
        let mut overflow = Overflow::new(self.saved.to_vec(), frame.statement)?;
        for (row, key) in numbers {
            frame.statement.interrupt.check_in_turn()?;
            overflow.add_row(key, rows.row(row as usize))?;
        }
        rows.clear();
        Ok(overflow)
    }

    /// The row in the slots goes there, too.
    fn overflow(&mut self, overflow: &mut Overflow, frame: &Frame<'_>) -> Result<()> {
        self.key.clear();
        key::encode_sort(self.keys, &frame.cx(), &mut self.key)?;
        overflow.add(&self.key, frame)
    }
}

/// Sorted rows.
struct Run {
    rows: Rows,
    /// Of each row, as long as runs are to be merged.
    keys: Keys,
    /// In a part of a scan: the morsel of each row.
    morsels: Vec<u32>,
    /// Numbers of rows, in order.
    order: Vec<u32>,
    keys_kept: Kept,
    /// All rows, and none in memory.
    overflow: Option<Overflow>,
}

impl Run {
    /// The first `wanted` of the input's rows, or more.
    fn of(input: &mut dyn Operator, filler: Filler<'_>, wanted: u64, frame: &mut Frame<'_>) -> Result<Run> {
        let mut run = Run {
            rows: Rows::new(filler.saved.len()),
            keys: Keys::default(),
            morsels: Vec::new(),
            order: Vec::new(),
            keys_kept: Kept::default(),
            overflow: None,
        };
        if wanted <= TOP_ROWS_MAX {
            run.take_top(input, filler, wanted as usize, frame)?;
        } else {
            run.take_all(input, filler, frame)?;
        }
        Ok(run)
    }

    fn take_all(&mut self, input: &mut dyn Operator, mut filler: Filler<'_>, frame: &mut Frame<'_>) -> Result<()> {
        while input.next(frame)? {
            filler.pulse.beat(frame)?;
            if let Some(overflow) = &mut self.overflow {
                filler.overflow(overflow, frame)?;
                continue;
            }
            key::encode_sort(filler.keys, &frame.cx(), &mut self.keys.bytes)?;
            self.keys_kept.add(self.keys.end_key(), frame.statement)?;
            self.rows.push_slots(frame, filler.saved, filler.takes_slots)?;
            self.morsels.extend(frame.statement.part.map(|part| part.morsel() as u32));
            if frame.statement.is_short_of_memory(|| self.kept_bytes()) {
                let rows = 0..self.rows.len() as u32;
                self.overflow = Some(filler.begin_overflow(&mut self.rows, rows.map(|n| (n, self.keys.key(n))), frame)?);
                self.release_keys();
            }
        }
        self.order = self.keys.sorted();
        Ok(())
    }

    /// Keeps the `count` first rows.
    fn take_top(&mut self, input: &mut dyn Operator, mut filler: Filler<'_>, count: usize, frame: &mut Frame<'_>) -> Result<()> {
        let mut heap: BinaryHeap<Top> = BinaryHeap::with_capacity(count.min(1024));
        let mut first = FirstKeys::new(filler.keys);
        let (mut number, mut key_bytes) = (0u64, 0);
        let mut key = Vec::new();
        while input.next(frame)? {
            filler.pulse.beat(frame)?;
            if let Some(overflow) = &mut self.overflow {
                filler.overflow(overflow, frame)?;
                continue;
            }
            key.clear();
            key::encode_sort(filler.keys, &frame.cx(), &mut key)?;
            number += 1;
            let morsel = frame.statement.part.map(|part| part.morsel() as u32);
            if heap.len() < count {
                let row = self.rows.len() as u32;
                first.keep(row, frame);
                self.rows.push_slots(frame, filler.saved, filler.takes_slots)?;
                self.morsels.extend(morsel);
                key_bytes += key.len() + size_of::<Top>();
                heap.push(Top { key: key.clone(), number, row });
            } else {
                let Some(mut worst) = heap.peek_mut() else { break };
                if key >= worst.key {
                    continue;
                }
                key_bytes = key_bytes + key.len() - worst.key.len();
                worst.key.clone_from(&key);
                worst.number = number;
                if let (Some(of_row), Some(morsel)) = (self.morsels.get_mut(worst.row as usize), morsel) {
                    *of_row = morsel;
                }
                first.keep(worst.row, frame);
                self.rows.replace_by_slots(worst.row as usize, frame, filler.saved, filler.takes_slots)?;
            }
            self.keys_kept.set(key_bytes + first.kept_bytes, frame.statement)?;
            if frame.statement.is_short_of_memory(|| self.kept_bytes()) {
                let rows = std::mem::take(&mut heap).into_sorted_vec();
                let rows = rows.iter().map(|top| (top.row, top.key.as_slice()));
                self.overflow = Some(filler.begin_overflow(&mut self.rows, rows, frame)?);
                first = FirstKeys::new(&[]);
                self.keys_kept.clear();
            } else if heap.len() == count {
                first.cut(&heap, input, frame);
            }
        }
        drop(first);
        self.keys_kept.clear();
        let mut best = heap.into_sorted_vec();
        self.order = best.iter().map(|top| top.row).collect();
        if frame.statement.part.is_some() {
            best.sort_unstable_by_key(|top| top.row);
            for top in best {
                self.keys.bytes.extend_from_slice(&top.key);
                self.keys_kept.add(self.keys.end_key(), frame.statement)?;
            }
        }
        Ok(())
    }

    fn kept_bytes(&self) -> usize {
        self.keys_kept.bytes() + self.rows.kept_bytes()
    }

    fn release_keys(&mut self) {
        self.keys = Keys::default();
        self.keys_kept.clear();
    }

    /// It is of `statement` now, and was of a part of it.
    fn adopted(mut self, statement: &Execution<'_>) -> Result<Run> {
        self.keys_kept.adopt(statement)?;
        self.rows.adopt(statement)?;
        Ok(self)
    }
}

/// The rows of all runs in order: by key, then as one thread alone would have met them.
fn merged(runs: &[Run]) -> Vec<(u32, u32)> {
    let mut at = vec![0; runs.len()];
    let mut order = Vec::with_capacity(runs.iter().map(|run| run.order.len()).sum());
    loop {
        let heads = runs.iter().zip(&at).enumerate().filter_map(|(n, (run, &at))| {
            let row = *run.order.get(at)?;
            Some((run.keys.key(row), run.morsels.get(row as usize), n, row))
        });
        let Some((_, _, n, row)) = heads.min_by(|a, b| a.0.cmp(b.0).then(a.1.cmp(&b.1))) else { return order };
        at[n] += 1;
        order.push((n as u32, row));
    }
}

/// A row among the best; the greatest is the first to go.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Top {
    key: Vec<u8>,
    number: u64,
    row: u32,
}

/// The first sort key's value of each row that is kept, if that key is a column: rows in which it comes behind the worst of
/// these need not be asked for.
struct FirstKeys<'p> {
    key: Option<(&'p SortKey, Slot)>,
    /// By the row's number in `Run::rows`.
    values: Vec<Value>,
    kept_bytes: usize,
}

impl<'p> FirstKeys<'p> {
    fn new(keys: &'p [SortKey]) -> FirstKeys<'p> {
        let key = keys.first().and_then(|key| match key.expr.kind {
            ExprKind::Slot(slot) => Some((key, slot)),
            _ => None,
        });
        FirstKeys { key, values: Vec::new(), kept_bytes: 0 }
    }

    /// Takes the row in the slots for row `row`.
    fn keep(&mut self, row: u32, frame: &Frame<'_>) {
        let Some((_, slot)) = self.key else { return };
        let row = row as usize;
        if self.values.len() <= row {
            self.kept_bytes += (row + 1 - self.values.len()) * size_of::<Value>();
            self.values.resize(row + 1, Value::Null);
        }
        let (place, value) = (&mut self.values[row], &frame.slots[slot]);
        self.kept_bytes = self.kept_bytes + heap_bytes(value) - heap_bytes(place);
        place.clone_from(value);
    }

    /// Tells the input what the worst row is now.
    fn cut(&mut self, heap: &BinaryHeap<Top>, input: &mut dyn Operator, frame: &Frame<'_>) {
        let (Some((key, _)), Some(worst)) = (self.key, heap.peek()) else { return };
        let op = if key.descending { CompareOp::Ge } else { CompareOp::Le };
        let Some(value) = self.values.get(worst.row as usize) else { return };
        if !input.cut(&key.expr, op, value, frame) {
            (self.key, self.values, self.kept_bytes) = (None, Vec::new(), 0);
        }
    }
}

/// The keys of all rows.
#[derive(Default)]
pub struct Keys {
    pub bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl Keys {
    /// What was appended to `bytes` since the last call is the next row's key; returns what it takes.
    pub fn end_key(&mut self) -> usize {
        let bytes = self.bytes.len() - self.ends.last().copied().unwrap_or(0);
        self.ends.push(self.bytes.len());
        bytes + size_of::<usize>() + size_of::<(u128, u32)>()
    }

    pub fn key(&self, row: u32) -> &[u8] {
        let row = row as usize;
        let start = if row == 0 { 0 } else { self.ends[row - 1] };
        &self.bytes[start..self.ends[row]]
    }

    /// The rows in the order of their keys.
    pub fn sorted(&self) -> Vec<u32> {
        sorted(self.ends.len(), |row| self.key(row))
    }
}

/// The numbers of `count` rows in the order of their keys, which end by themselves: none begins with another.
pub fn sorted<'k>(count: usize, key: impl Fn(u32) -> &'k [u8]) -> Vec<u32> {
    let common = common_len(count, &key);
    let longest = (0..count as u32).map(|row| key(row).len()).max().unwrap_or(0);
    let rest = |row: u32| &key(row)[common..];
    if longest - common <= size_of::<u64>() {
        return by_heads(count, rest, longest - common, |key| u64::from_be_bytes(padded(key)));
    }
    by_heads(count, rest, longest - common, |key| u128::from_be_bytes(padded(key)))
}

/// Sorts by the heads of the keys; where those are the same, by the keys, if any is longer, and then by the row's number.
fn by_heads<'k, H: Ord + Copy>(
    count: usize,
    key: impl Fn(u32) -> &'k [u8],
    longest: usize,
    head: impl Fn(&[u8]) -> H,
) -> Vec<u32> {
    let mut items: Vec<(H, u32)> = (0..count as u32).map(|row| (head(key(row)), row)).collect();
    if longest <= size_of::<H>() {
        items.sort_unstable();
    } else {
        items.sort_unstable_by(|a, b| a.0.cmp(&b.0).then_with(|| key(a.1).cmp(key(b.1))).then_with(|| a.1.cmp(&b.1)));
    }
    items.into_iter().map(|(_, row)| row).collect()
}

/// The first `N` bytes, with zeros if there are fewer.
fn padded<const N: usize>(bytes: &[u8]) -> [u8; N] {
    let mut padded = [0; N];
    let len = bytes.len().min(N);
    padded[..len].copy_from_slice(&bytes[..len]);
    padded
}

/// How many bytes all keys begin with.
fn common_len<'k>(count: usize, key: &impl Fn(u32) -> &'k [u8]) -> usize {
    let first = if count == 0 { &[][..] } else { key(0) };
    (1..count as u32).fold(first.len(), |common, row| {
        let key = key(row);
        if common <= key.len() && key[..common] == first[..common] {
            common
        } else {
            first.iter().zip(key).take_while(|(a, b)| a == b).count()
        }
    })
}
