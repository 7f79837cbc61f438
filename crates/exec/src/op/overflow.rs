//! Rows that the statement's memory has no room for: they go to disk, and come back sorted by a key.
//!
//! Operators keep what they need in memory; when that becomes too much (`Execution::is_short_of_memory`), they give what is to come, or all, to an `Overflow`. Rows with equal keys come back in the order in which they went.
//! Example: GROUP BY goes on counting for the groups it has; rows of others overflow, and are counted group after group in the end.

use vaquita_plan::expr::Slot;
use vaquita_storage::{Sorted, Sorter};
use vaquita_types::{Result, Value};

use super::Frame;
use crate::context::{Execution, Kept, heap_bytes, row_bytes};

/// The part of an operator's memory, or of what the statement has left, in which rows are sorted before they are written.
const MEMORY_SHARE: usize = 4;
const BUFFER_BYTES_MIN: usize = 64 << 10;

pub struct Overflow {
    slots: Vec<Slot>,
    stage: Stage,
    row: Vec<u8>,
    rows: u64,
    kept: Kept,
}

enum Stage {
    Filling(Sorter),
    Reading(Sorted),
    /// All rows have been read.
    Read(Sorted),
    Ended,
}

impl Overflow {
    /// For rows in these slots.
    pub fn new(slots: Vec<Slot>, statement: &Execution<'_>) -> Result<Overflow> {
        let kept_bytes = (statement.operator_bytes_max().min(statement.bytes_left()) / MEMORY_SHARE).max(BUFFER_BYTES_MIN);
        let mut kept = Kept::default();
        kept.add(kept_bytes, statement)?;
        let sorter = statement.store.sorter(kept_bytes);
        Ok(Overflow { slots, stage: Stage::Filling(sorter), row: Vec::new(), rows: 0, kept })
    }

    /// Adds the row in the slots.
    pub fn add(&mut self, key: &[u8], frame: &Frame<'_>) -> Result<()> {
        frame.statement.check_room(self.slots.iter().map(|slot| heap_bytes(&frame.slots[*slot])).sum())?;
        self.row.clear();
        self.slots.iter().for_each(|slot| row_bytes::encode(&frame.slots[*slot], &mut self.row));
        self.add_bytes(key)
    }

    /// Adds a row with these values for the slots; they have been counted as kept.
    pub fn add_row(&mut self, key: &[u8], row: &[Value]) -> Result<()> {
        self.row.clear();
        row.iter().for_each(|value| row_bytes::encode(value, &mut self.row));
        self.add_bytes(key)
    }

    fn add_bytes(&mut self, key: &[u8]) -> Result<()> {
        self.rows += 1;
        match &mut self.stage {
            Stage::Filling(sorter) => sorter.add(key, &self.row),
            _ => Ok(()),
        }
    }

    /// That was all; it stands on the first row then.
    pub fn sort(&mut self) -> Result<()> {
        match std::mem::replace(&mut self.stage, Stage::Ended) {
            Stage::Filling(sorter) => {
                let sorted = sorter.sorted()?;
                self.kept.shrink(sorted.kept_bytes());
                self.stage = Stage::Reading(sorted);
            }
            stage => {
                self.stage = stage;
                return Ok(());
            }
        }
        self.advance()
    }

    /// How many were added.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    pub fn slots(&self) -> &[Slot] {
        &self.slots
    }

    /// After `sort`: back to the first row.
    pub fn restart(&mut self) -> Result<()> {
        let (Stage::Read(sorted) | Stage::Reading(sorted)) = std::mem::replace(&mut self.stage, Stage::Ended) else {
            return Ok(());
        };
        self.stage = Stage::Reading(sorted.restart()?);
        self.advance()
    }

    /// The key of the row that it stands on; `None` behind the last one.
    pub fn key(&self) -> Option<&[u8]> {
        match &self.stage {
            Stage::Reading(sorted) => Some(sorted.entry().0),
            _ => None,
        }
    }

    /// Puts the row that it stands on into its slots.
    pub fn restore(&self, frame: &mut Frame<'_>) -> Result<()> {
        let Stage::Reading(sorted) = &self.stage else { return Ok(()) };
        let mut bytes = sorted.entry().1;
        self.slots.iter().try_for_each(|slot| {
            frame.slots[*slot] = row_bytes::decode(&mut bytes)?;
            Ok(())
        })
    }

    /// The values of the row that it stands on, which `add_row` was given.
    pub fn take_row(&self, row: &mut Vec<Value>) -> Result<()> {
        let Stage::Reading(sorted) = &self.stage else { return Ok(()) };
        let mut bytes = sorted.entry().1;
        while !bytes.is_empty() {
            row.push(row_bytes::decode(&mut bytes)?);
        }
        Ok(())
    }

    pub fn advance(&mut self) -> Result<()> {
        let Stage::Reading(mut sorted) = std::mem::replace(&mut self.stage, Stage::Ended) else { return Ok(()) };
        self.stage = if sorted.advance()? { Stage::Reading(sorted) } else { Stage::Read(sorted) };
        Ok(())
    }
}
