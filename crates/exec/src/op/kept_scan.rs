//! Gives rows that are kept, one after the other, for operators that keep some or read what others keep.

use vaquita_plan::expr::{Expr, Slot};
use vaquita_types::Result;

use super::Pulse;
use crate::context::{Frame, KeptPlace, KeptRows};

#[derive(Default)]
pub struct KeptScan {
    at: usize,
    place: KeptPlace,
    pulse: Pulse,
}

impl KeptScan {
    /// The next row is the one of this number.
    pub fn go_to(&mut self, at: usize) {
        self.at = at;
    }

    /// Puts the next row below `end` that meets `filter` into the slots; false: there is none.
    pub fn next(
        &mut self,
        rows: &KeptRows,
        end: usize,
        (slots, filter): (&[Slot], &[Expr]),
        frame: &mut Frame<'_>,
    ) -> Result<bool> {
        while self.at < end {
            rows.restore(self.at, &mut self.place, frame, slots)?;
            self.at += 1;
            self.pulse.beat(frame)?;
            if frame.all_true(filter)? {
                return Ok(true);
            }
        }
        Ok(false)
    }
}
