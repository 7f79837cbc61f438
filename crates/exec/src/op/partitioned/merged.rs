//! Reads the partitions of a table at the same time, each in the order of an index, and gives the rows of all in that order.
//!
//! Each scan has gone to its next row, whose slots are saved; the row with the smallest key is given, and its scan goes on when the next one
//! is wanted. Example: `ORDER BY id LIMIT 10` over 100 partitions reads the first row of each, and nine more. Equal keys come in the order of
//! the partitions. A scan that locks has locked the rows that it stands at, as in MySQL.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;

use vaquita_plan::expr::Slot;
use vaquita_plan::node::Scan;
use vaquita_plan::partition::ScanPartitions;
use vaquita_storage::Table;
use vaquita_types::Result;

use crate::context::{Kept, Rows};
use crate::op::key::encode_sort;
use crate::op::scan::{TableScan, open_scanned};
use crate::op::{Frame, Operator};

/// What an open scan keeps: its cursor and the blocks under it.
const SCAN_BYTES: usize = 32 << 10;

pub struct MergedScan<'p> {
    scan: &'p Scan,
    partitions: &'p ScanPartitions,
    table: Option<Arc<Table>>,
    /// The slots of a row.
    slots: Vec<Slot>,
    /// Those that were opened once, by their numbers: they stay for when this is opened again.
    sources: Vec<Source<'p>>,
    /// Those that are to be read, and whether that has begun.
    numbers: Vec<usize>,
    begun: bool,
    kept: Kept,
    /// Keys of the rows that the sources stand at, with the partition's number.
    heap: BinaryHeap<Reverse<(Vec<u8>, usize)>>,
    /// The partition whose row was given last, and a buffer.
    given: Option<(usize, Vec<u8>)>,
}

struct Source<'p> {
    number: usize,
    scan: TableScan<'p>,
    /// The row that it stands at.
    row: Rows,
}

impl<'p> MergedScan<'p> {
    pub fn new(scan: &'p Scan, partitions: &'p ScanPartitions) -> MergedScan<'p> {
        let computed = scan.computed.iter().map(|computed| computed.slot);
        let slots = scan.columns.iter().map(|(_, slot)| *slot).chain(computed).chain(scan.key_slot).collect();
        MergedScan {
            scan,
            partitions,
            table: None,
            slots,
            sources: Vec::new(),
            numbers: Vec::new(),
            begun: false,
            kept: Kept::default(),
            heap: BinaryHeap::new(),
            given: None,
        }
    }

    /// Opens all scans and goes to the first row of each.
    fn begin(&mut self, frame: &mut Frame<'_>) -> Result<()> {
        self.begun = true;
        let Some(table) = self.table.clone() else { return Ok(()) };
        for number in std::mem::take(&mut self.numbers) {
            frame.statement.interrupt.check()?;
            let place = match self.sources.binary_search_by_key(&number, |source| source.number) {
                Ok(place) => place,
                Err(place) => {
                    self.kept.add(SCAN_BYTES, frame.statement)?;
                    let scan = TableScan::of_partition(self.scan, Arc::clone(table.partition(number)?));
                    self.sources.insert(place, Source { number, scan, row: Rows::new(self.slots.len()) });
                    place
                }
            };
            if let Some(source) = self.sources.get_mut(place) {
                source.scan.open(frame)?;
            }
            self.go_on(number, Vec::new(), frame)?;
        }
        Ok(())
    }

    /// To the next row of a source. `key`: a buffer.
    fn go_on(&mut self, number: usize, mut key: Vec<u8>, frame: &mut Frame<'_>) -> Result<()> {
        let Some(source) = self.source(number) else { return Ok(()) };
        if !source.scan.next(frame)? {
            return Ok(());
        }
        key.clear();
        encode_sort(&self.partitions.merged_by, &frame.cx(), &mut key)?;
        let slots = std::mem::take(&mut self.slots);
        if let Some(source) = self.source(number) {
            source.row.clear();
            source.row.push_slots(frame, &slots, true)?;
        }
        self.slots = slots;
        self.heap.push(Reverse((key, number)));
        Ok(())
    }

    fn source(&mut self, number: usize) -> Option<&mut Source<'p>> {
        let place = self.sources.binary_search_by_key(&number, |source| source.number).ok()?;
        self.sources.get_mut(place)
    }
}

impl Operator for MergedScan<'_> {
    fn open(&mut self, frame: &mut Frame<'_>) -> Result<()> {
        if self.table.is_none() {
            self.table = Some(open_scanned(self.scan, frame.statement)?);
        }
        self.numbers = self
            .partitions
            .read(frame.statement.session.time_zone(), &mut |expr| Ok(Some(expr.eval(&frame.cx())?.into_owned())))?;
        self.heap.clear();
        self.given = None;
        self.begun = false;
        Ok(())
    }

    fn next(&mut self, frame: &mut Frame<'_>) -> Result<bool> {
        if !self.begun {
            self.begin(frame)?;
        }
        if let Some((number, key)) = self.given.take() {
            self.go_on(number, key, frame)?;
        }
        let Some(Reverse((key, number))) = self.heap.pop() else { return Ok(false) };
        let slots = std::mem::take(&mut self.slots);
        if let Some(source) = self.source(number) {
            source.row.restore_taking(0, frame, &slots);
        }
        self.slots = slots;
        self.given = Some((number, key));
        Ok(true)
    }
}
