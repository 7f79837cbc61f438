//! Reads the partitions of a table, each with a scan of its own: one after the other, or all at the same time in an order (`merged`).
//!
//! Which ones is said by the conditions as they are when the scan opens: by constants, parameters, and the rows of outer tables. Example:
//! as the inner side of a join on the partitioning column it reads one partition for each outer row, and no other is looked at.

mod merged;

use std::sync::Arc;

use vaquita_plan::node::Scan;
use vaquita_plan::partition::ScanPartitions;
use vaquita_storage::Table;
use vaquita_types::Result;

use super::scan::{TableScan, open_scanned};
use super::{Frame, Operator};
use merged::MergedScan;

pub enum PartitionedScan<'p> {
    InTurn(Box<ScanInTurn<'p>>),
    Merged(Box<MergedScan<'p>>),
}

impl<'p> PartitionedScan<'p> {
    pub fn new(scan: &'p Scan, partitions: &'p ScanPartitions) -> PartitionedScan<'p> {
        match partitions.merged_by.is_empty() {
            true => PartitionedScan::InTurn(Box::new(ScanInTurn::new(scan, partitions))),
            false => PartitionedScan::Merged(Box::new(MergedScan::new(scan, partitions))),
        }
    }
}

impl Operator for PartitionedScan<'_> {
    fn open(&mut self, frame: &mut Frame<'_>) -> Result<()> {
        match self {
            PartitionedScan::InTurn(scan) => scan.open(frame),
            PartitionedScan::Merged(scan) => scan.open(frame),
        }
    }

    fn next(&mut self, frame: &mut Frame<'_>) -> Result<bool> {
        match self {
            PartitionedScan::InTurn(scan) => scan.next(frame),
            PartitionedScan::Merged(scan) => scan.next(frame),
        }
    }

    fn count_rest(&mut self, frame: &mut Frame<'_>) -> Result<Option<u64>> {
        match self {
            PartitionedScan::InTurn(scan) => scan.count_rest(frame),
            PartitionedScan::Merged(scan) => scan.count_rest(frame),
        }
    }
}

/// One partition after the other.
pub struct ScanInTurn<'p> {
    scan: &'p Scan,
    partitions: &'p ScanPartitions,
    table: Option<Arc<Table>>,
    /// The numbers of those that are still to be read, the next one last.
    left: Vec<usize>,
    /// The one that is being read.
    current: Option<(usize, TableScan<'p>)>,
    /// Scans of partitions that were read, for when this is opened again.
    kept: Vec<(usize, TableScan<'p>)>,
}

/// Scans that are kept.
const KEPT_MAX: usize = 16;

impl<'p> ScanInTurn<'p> {
    fn new(scan: &'p Scan, partitions: &'p ScanPartitions) -> ScanInTurn<'p> {
        ScanInTurn { scan, partitions, table: None, left: Vec::new(), current: None, kept: Vec::new() }
    }

    fn leave(&mut self) {
        if let Some(current) = self.current.take()
            && self.kept.len() < KEPT_MAX
        {
            self.kept.push(current);
        }
    }

    /// Begins with the next partition; false: there is none.
    fn enter(&mut self, frame: &mut Frame<'_>) -> Result<bool> {
        self.leave();
        let (Some(number), Some(table)) = (self.left.pop(), &self.table) else { return Ok(false) };
        frame.statement.interrupt.check()?;
        let mut scan = match self.kept.iter().position(|(kept, _)| *kept == number) {
            Some(at) => self.kept.swap_remove(at).1,
            None => TableScan::of_partition(self.scan, Arc::clone(table.partition(number)?)),
        };
        scan.open(frame)?;
        self.current = Some((number, scan));
        Ok(true)
    }
}

impl Operator for ScanInTurn<'_> {
    fn open(&mut self, frame: &mut Frame<'_>) -> Result<()> {
        self.leave();
        if self.table.is_none() {
            self.table = Some(open_scanned(self.scan, frame.statement)?);
        }
        self.left = self
            .partitions
            .read(frame.statement.session.time_zone(), &mut |expr| Ok(Some(expr.eval(&frame.cx())?.into_owned())))?;
        self.left.reverse();
        Ok(())
    }

    fn next(&mut self, frame: &mut Frame<'_>) -> Result<bool> {
        loop {
            if let Some((_, scan)) = &mut self.current
                && scan.next(frame)?
            {
                return Ok(true);
            }
            if !self.enter(frame)? {
                return Ok(false);
            }
        }
    }

    fn count_rest(&mut self, frame: &mut Frame<'_>) -> Result<Option<u64>> {
        let mut rows = 0;
        loop {
            if let Some((_, scan)) = &mut self.current {
                rows += scan.count_rest(frame)?.unwrap_or(0);
            }
            if !self.enter(frame)? {
                return Ok(Some(rows));
            }
        }
    }
}
