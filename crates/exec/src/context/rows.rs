//! `Rows`: rows that an operator keeps, as one flat array of values.
//!
//! Row n is the values from n * width on; a row may have no values at all and still counts. What the rows
//! take is counted against the statement's memory.

use vaquita_plan::expr::Slot;
use vaquita_types::limits::VALUE_BYTES_MAX;
use vaquita_types::{Result, Value};

use super::{Execution, Frame, Kept};

#[derive(Default)]
pub struct Rows {
    width: usize,
    count: usize,
    values: Vec<Value>,
    kept: Kept,
}

/// Bytes of a value outside of its `Value`; documents and wide decimals are guessed.
pub fn heap_bytes(value: &Value) -> usize {
    match value {
        Value::Bytes(b) => b.len() + 16,
        Value::Json(json) => json.bytes_up_to(VALUE_BYTES_MAX),
        _ => 0,
    }
}

impl Rows {
    pub fn new(width: usize) -> Rows {
        Rows { width, ..Rows::default() }
    }

    pub fn len(&self) -> usize {
        self.count
    }

    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    pub fn row(&self, n: usize) -> &[Value] {
        self.values.get(n * self.width..(n + 1) * self.width).unwrap_or(&[])
    }

    pub fn row_mut(&mut self, n: usize) -> &mut [Value] {
        self.values.get_mut(n * self.width..(n + 1) * self.width).unwrap_or(&mut [])
    }

    pub fn kept_bytes(&self) -> usize {
        self.kept.bytes()
    }

    /// They are of `statement` now, and were of a part of it.
    pub fn adopt(&mut self, statement: &Execution<'_>) -> Result<()> {
        self.kept.adopt(statement)
    }

    /// Adds row `n` of another, whose values are then gone.
    pub fn take_row(&mut self, other: &mut Rows, n: usize, statement: &Execution<'_>) -> Result<()> {
        let row = other.row_mut(n);
        let heap = row.iter().map(heap_bytes).sum();
        self.values.extend(row.iter_mut().map(std::mem::take));
        self.count_row(heap, statement)
    }

    /// Gives the memory back, to be filled again.
    pub fn clear(&mut self) {
        self.values.clear();
        self.count = 0;
        self.kept.clear();
    }

    /// Forgets the rows behind the first `rows`, which kept `kept_bytes`.
    pub fn truncate(&mut self, rows: usize, kept_bytes: usize) {
        self.values.truncate(rows * self.width);
        self.count = rows;
        self.kept.shrink(kept_bytes);
    }

    fn count_row(&mut self, heap: usize, statement: &Execution<'_>) -> Result<()> {
        self.count += 1;
        self.kept.add(heap + self.width * size_of::<Value>(), statement)
    }

    /// Adds the row in the slots. `take`: the input fills these slots anew for each row, so they can be emptied.
    pub fn push_slots(&mut self, frame: &mut Frame<'_>, slots: &[Slot], take: bool) -> Result<()> {
        let mut heap = 0;
        for &slot in slots {
            let value = &mut frame.slots[slot];
            heap += heap_bytes(value);
            self.values.push(if take { std::mem::take(value) } else { value.clone() });
        }
        self.count_row(heap, frame.statement)
    }

    /// As `push_slots`, in the place of row `n`.
    pub fn replace_by_slots(&mut self, n: usize, frame: &mut Frame<'_>, slots: &[Slot], take: bool) -> Result<()> {
        let (mut gone, mut come) = (0, 0);
        let start = n * self.width;
        for (place, &slot) in self.values[start..start + self.width].iter_mut().zip(slots) {
            let value = &mut frame.slots[slot];
            gone += heap_bytes(place);
            come += heap_bytes(value);
            if take {
                std::mem::swap(place, value);
            } else {
                place.clone_from(value);
            }
        }
        self.kept.set((self.kept.bytes() + come).saturating_sub(gone), frame.statement)
    }

    /// Adds a row of values, which are moved out of `row`.
    pub fn push(&mut self, row: &mut Vec<Value>, statement: &Execution<'_>) -> Result<()> {
        let heap = row.iter().map(heap_bytes).sum();
        self.values.append(row);
        self.count_row(heap, statement)
    }

    /// Puts row `n` back into the slots it came from.
    pub fn restore(&self, n: usize, frame: &mut Frame<'_>, slots: &[Slot]) {
        for (value, &slot) in self.row(n).iter().zip(slots) {
            frame.slots[slot] = value.clone();
        }
    }

    /// As `restore`, for rows that are given once.
    pub fn restore_taking(&mut self, n: usize, frame: &mut Frame<'_>, slots: &[Slot]) {
        for (value, &slot) in self.row_mut(n).iter_mut().zip(slots) {
            frame.slots[slot] = std::mem::take(value);
        }
    }
}
