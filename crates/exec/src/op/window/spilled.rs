//! Window functions over more rows than memory has room for.
//!
//! All rows go to disk with what was evaluated for them, and for each window they come back sorted by its key: a partition is read
//! (`KeptRows`, in memory if it has room there), its functions' results are put into its rows, and these go to disk again for the next
//! window. The rows of the last one are the operator's.
//!
//! A row on disk is its saved slots, all functions' arguments, its keys in all windows, what frames with a RANGE have of it, the functions'
//! results so far, and its number. It is sorted by its key, the length of the key's PARTITION BY, and its number.

use vaquita_plan::expr::Slot;
use vaquita_plan::node::WindowFunction;
use vaquita_types::{Result, Value};

use std::cmp::Ordering;

use super::frame::{FrameOf, PARTS, RangePart};
use super::function::{Call, Kind};
use super::partition::Partition;
use crate::context::{Execution, Frame, KeptPlace, KeptRows};
use crate::op::Pulse;
use crate::op::overflow::Overflow;

/// Bytes of the length and the number behind a key.
const TAIL_BYTES: usize = 4 + 8;

/// Where in a row is what, and which window each function has.
pub struct Layout {
    pub windows: usize,
    pub spec_of: Vec<usize>,
    pub args: usize,
    pub first_args: Vec<usize>,
    /// The windows in the order in which they are worked on.
    pub order: Vec<usize>,
    pub saved: usize,
}

impl Layout {
    /// The key of a window, behind which is the length of its PARTITION BY.
    fn key(&self, spec: usize) -> usize {
        self.saved + self.args + spec * 2
    }

    fn range(&self, function: usize, part: RangePart) -> usize {
        self.key(self.windows) + function * PARTS + part as usize
    }

    fn result(&self, function: usize) -> usize {
        self.range(self.spec_of.len(), RangePart::Value) + function
    }

    fn number(&self) -> usize {
        self.result(self.spec_of.len())
    }
}

pub struct Spilled {
    layout: Layout,
    kinds: Vec<Kind>,
    rows: Overflow,
    count: u64,
    /// The place of the window whose rows are being given in `Layout::order`.
    pass: usize,
    partition: KeptRows,
    place: KeptPlace,
    at: usize,
    /// Each function's results for the partition, if it has that window.
    results: Vec<KeptRows>,
    places: Vec<KeptPlace>,
    row: Vec<Value>,
    key: Vec<u8>,
}

impl Spilled {
    pub fn new(layout: Layout, kinds: Vec<Kind>, statement: &Execution<'_>) -> Result<Spilled> {
        let functions = layout.spec_of.len();
        Ok(Spilled {
            rows: Overflow::new(Vec::new(), statement)?,
            partition: KeptRows::new(layout.number() + 1),
            layout,
            kinds,
            count: 0,
            pass: 0,
            place: KeptPlace::default(),
            at: 0,
            results: (0..functions).map(|_| KeptRows::new(1)).collect(),
            places: (0..functions).map(|_| KeptPlace::default()).collect(),
            row: Vec::new(),
            key: Vec::new(),
        })
    }

    /// Adds a row as it is on disk, without results and number.
    pub fn add(&mut self, row: &mut Vec<Value>) -> Result<()> {
        row.resize(self.layout.number(), Value::Null);
        row.push(Value::UInt(self.count));
        self.count += 1;
        add_for(&self.layout, self.pass, row, &mut self.key, &mut self.rows)
    }

    fn clear_partition(&mut self) {
        self.partition.clear();
        self.place = KeptPlace::default();
        for (results, place) in self.results.iter_mut().zip(&mut self.places) {
            results.clear();
            *place = KeptPlace::default();
        }
        self.at = 0;
    }

    /// That were all rows; works on all windows but the last.
    pub fn sort(&mut self, windows: &[WindowFunction], frames: &[FrameOf], pulse: &mut Pulse, frame: &Frame<'_>) -> Result<()> {
        self.rows.sort()?;
        while self.pass + 1 < self.layout.order.len() {
            let mut next = Overflow::new(Vec::new(), frame.statement)?;
            while self.load(windows, frames, pulse, frame)? {
                while self.next_row()? {
                    pulse.beat(frame)?;
                    add_for(&self.layout, self.pass + 1, &self.row, &mut self.key, &mut next)?;
                }
            }
            next.sort()?;
            self.rows = next;
            self.pass += 1;
        }
        Ok(())
    }

    /// Reads the next partition and computes its functions; false: there is none.
    fn load(&mut self, windows: &[WindowFunction], frames: &[FrameOf], pulse: &mut Pulse, frame: &Frame<'_>) -> Result<bool> {
        self.clear_partition();
        let Some(key) = self.rows.key() else { return Ok(false) };
        self.key.clear();
        self.key.extend_from_slice(partition_of(key));
        while self.rows.key().is_some_and(|key| partition_of(key) == self.key) {
            pulse.beat(frame)?;
            self.row.clear();
            self.rows.take_row(&mut self.row)?;
            self.partition.push(&mut self.row, frame.statement)?;
            self.rows.advance()?;
        }
        let spec = self.layout.order.get(self.pass).copied().unwrap_or_default();
        for (n, ((window, of), kind)) in windows.iter().zip(frames).zip(&self.kinds).enumerate() {
            if self.layout.spec_of.get(n) != Some(&spec) {
                continue;
            }
            let Some(results) = self.results.get_mut(n) else { continue };
            let mut on_disk = OnDisk::new(&self.partition, &self.layout, n, window.args.len(), spec);
            let mut row = Vec::new();
            let mut give = |value| {
                row.push(value);
                results.push(&mut row, frame.statement)
            };
            let call = Call { window, kind: *kind, frame: of };
            call.run(&mut on_disk, frame.statement, &mut || pulse.beat(frame), &mut give)?;
        }
        Ok(true)
    }

    /// The next row of the partition with its results.
    fn next_row(&mut self) -> Result<bool> {
        if self.at >= self.partition.len() {
            return Ok(false);
        }
        self.row.clear();
        self.row.extend_from_slice(self.partition.row(self.at, &mut self.place)?);
        for (n, (results, place)) in self.results.iter().zip(&mut self.places).enumerate() {
            if let (Some(result), Some(value)) = (results.row(self.at, place)?.first(), self.row.get_mut(self.layout.result(n))) {
                value.clone_from(result);
            }
        }
        self.at += 1;
        Ok(true)
    }

    /// Puts the next row of all into its slots.
    pub fn next(
        &mut self,
        (windows, frames, saved): (&[WindowFunction], &[FrameOf], &[Slot]),
        pulse: &mut Pulse,
        frame: &mut Frame<'_>,
    ) -> Result<bool> {
        pulse.beat(frame)?;
        while !self.next_row()? {
            if !self.load(windows, frames, pulse, frame)? {
                return Ok(false);
            }
        }
        let slots =
            saved.iter().copied().zip(0..).chain(windows.iter().enumerate().map(|(n, w)| (w.slot, self.layout.result(n))));
        for (slot, at) in slots {
            frame.slots[slot] = self.row.get_mut(at).map(std::mem::take).unwrap_or_default();
        }
        Ok(true)
    }
}

/// Adds a row that is to be sorted for the window that is worked on in the pass.
fn add_for(layout: &Layout, pass: usize, row: &[Value], key: &mut Vec<u8>, rows: &mut Overflow) -> Result<()> {
    let at = layout.key(layout.order.get(pass).copied().unwrap_or_default());
    let number = |at: usize| if let Some(Value::UInt(number)) = row.get(at) { *number } else { 0 };
    key.clear();
    key.extend_from_slice(bytes_of(row.get(at)));
    key.extend_from_slice(&(number(at + 1) as u32).to_be_bytes());
    key.extend_from_slice(&number(layout.number()).to_be_bytes());
    rows.add_row(key, row)
}

fn bytes_of(value: Option<&Value>) -> &[u8] {
    match value {
        Some(Value::Bytes(bytes)) => bytes,
        _ => &[],
    }
}

/// The part of a key on disk that all rows of a partition have.
fn partition_of(key: &[u8]) -> &[u8] {
    let end = key.len().saturating_sub(TAIL_BYTES);
    let len = key.get(end..).and_then(<[u8]>::first_chunk).map_or(0, |len| u32::from_be_bytes(*len));
    key.get(..len as usize).unwrap_or(&[])
}

/// A partition as one function sees it. It reads forward at several places.
struct OnDisk<'a> {
    rows: &'a KeptRows,
    of_args: KeptPlace,
    of_peers: KeptPlace,
    /// The last row whose peers were asked for.
    peer: Option<(usize, Vec<u8>)>,
    of_bounds: KeptPlace,
    of_values: KeptPlace,
}

impl<'a> OnDisk<'a> {
    fn new(rows: &'a KeptRows, layout: &Layout, function: usize, args: usize, spec: usize) -> OnDisk<'a> {
        let first_arg = layout.saved + layout.first_args.get(function).copied().unwrap_or_default();
        let key = layout.key(spec);
        let range = layout.range(function, RangePart::Value);
        OnDisk {
            rows,
            of_args: KeptPlace::of(first_arg..first_arg + args),
            of_peers: KeptPlace::of(key..key + 1),
            peer: None,
            of_bounds: KeptPlace::of(range..range + PARTS),
            of_values: KeptPlace::of(range..range + 1),
        }
    }
}

impl Partition for OnDisk<'_> {
    fn len(&self) -> usize {
        self.rows.len()
    }

    fn args(&mut self, i: usize) -> Result<&[Value]> {
        self.rows.row(i, &mut self.of_args)
    }

    fn are_peers(&mut self, i: usize, j: usize) -> Result<bool> {
        if self.peer.as_ref().is_none_or(|(row, _)| *row != i) {
            self.peer = Some((i, bytes_of(self.rows.row(i, &mut self.of_peers)?.first()).to_vec()));
        }
        let key = bytes_of(self.rows.row(j, &mut self.of_peers)?.first());
        Ok(self.peer.as_ref().is_some_and(|(_, peer)| peer == key))
    }

    fn range_key(&mut self, part: RangePart, i: usize, out: &mut Vec<u8>) -> Result<()> {
        out.clear();
        out.extend_from_slice(bytes_of(self.rows.row(i, &mut self.of_bounds)?.get(part as usize)));
        Ok(())
    }

    fn compare_value(&mut self, i: usize, bound: &[u8]) -> Result<Ordering> {
        Ok(bytes_of(self.rows.row(i, &mut self.of_values)?.first()).cmp(bound))
    }
}
