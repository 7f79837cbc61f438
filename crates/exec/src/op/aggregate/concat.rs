//! GROUP_CONCAT.
//!
//! Without ORDER BY the text grows row by row; with it the rows wait with their keys until the group ends, and those of DISTINCT wait to be
//! put in the order of their values. Of rows whose keys are equal the last comes first, as in MySQL. What is beyond `group_concat_max_len`
//! is cut at a character, with warning 1260 when the group ends. Of the rows that wait only as many are kept as may come before the cut.

use std::borrow::Cow;

use vaquita_plan::env::{Env, EvalCx};
use vaquita_plan::eval::coerce;
use vaquita_plan::node::Aggregate;
use vaquita_plan::text;
use vaquita_types::{Result, Value};

use crate::op::key;

#[derive(Default)]
pub struct Concat {
    text: Vec<u8>,
    /// Rows whose text is there, also that of which a part was cut.
    rows: u64,
    cut: bool,
    /// Rows of an ordered or DISTINCT one: sort key, text.
    waiting: Vec<(Vec<u8>, Box<[u8]>)>,
    /// Bytes of the texts that wait and of the separators between them.
    waiting_bytes: usize,
    /// With so many the rows behind the cut go.
    waiting_bytes_max: usize,
    /// Bytes that have been counted as kept, and of which the rows are gone.
    spare: usize,
}

/// Rows behind the cut are looked for when twice as many bytes as can be in the text wait, and this many.
const WAITING_BYTES_MIN: usize = 4096;

pub fn length_max(env: &dyn Env) -> usize {
    env.run_settings().group_concat_bytes_max
}

impl Concat {
    /// Takes in a row with these arguments; returns the bytes that are kept of it.
    pub fn add(&mut self, of: &Aggregate, args: &[Cow<'_, Value>], cx: &EvalCx<'_>, length_max: usize) -> Result<usize> {
        if self.cut || args.iter().any(|a| a.is_null()) {
            return Ok(0);
        }
        let before = self.text.len();
        if of.order_by.is_empty() && !of.distinct {
            self.append(of, length_max, |text| {
                for (value, arg) in args.iter().zip(&of.args) {
                    text.extend_from_slice(&coerce::text_of(value, &arg.ty));
                }
            });
            return Ok(self.text.len() - before);
        }
        let mut text = Vec::new();
        for (value, arg) in args.iter().zip(&of.args) {
            text.extend_from_slice(&coerce::text_of(value, &arg.ty));
        }
        let mut sort_key = Vec::new();
        if of.order_by.is_empty() {
            for (value, arg) in args.iter().zip(&of.args) {
                key::encode(value, &arg.ty, cx.env, &mut sort_key)?;
            }
        } else {
            key::encode_sort(&of.order_by, cx, &mut sort_key)?;
        }
        let row = (sort_key, text.into_boxed_slice());
        let bytes = bytes_of(&row);
        self.waiting_bytes += row.1.len() + separator(of).len();
        self.waiting.push(row);
        self.waiting_bytes_max = self.waiting_bytes_max.max(length_max.saturating_mul(2).saturating_add(WAITING_BYTES_MIN));
        if self.waiting_bytes > self.waiting_bytes_max {
            self.drop_cut(of, length_max);
        }
        let spare = self.spare.min(bytes);
        self.spare -= spare;
        Ok(bytes - spare)
    }

    /// Forgets rows that come so late that they are cut in any case.
    fn drop_cut(&mut self, of: &Aggregate, length_max: usize) {
        self.put_in_order();
        let separator = separator(of).len();
        // Of the texts before a row, with the separator behind them.
        let mut length = 0;
        // The row that goes beyond what is left is needed: it makes the cut.
        let kept = self.waiting.iter().take_while(|row| {
            let is_whole = length <= length_max.saturating_add(separator);
            length += row.1.len() + separator;
            is_whole
        });
        let kept = kept.count();
        self.spare += self.waiting.iter().skip(kept).map(bytes_of).sum::<usize>();
        self.waiting.truncate(kept);
        self.waiting_bytes = self.waiting.iter().map(|row| row.1.len() + separator).sum();
        self.waiting_bytes_max = self.waiting_bytes.saturating_mul(2);
        self.waiting.reverse();
    }

    /// Rows that came later are before those with an equal key.
    fn put_in_order(&mut self) {
        self.waiting.reverse();
        self.waiting.sort_by(|a, b| a.0.cmp(&b.0));
    }

    fn append(&mut self, of: &Aggregate, length_max: usize, write: impl FnOnce(&mut Vec<u8>)) {
        if self.rows > 0 {
            self.text.extend_from_slice(separator(of));
        }
        self.rows += 1;
        write(&mut self.text);
        if self.text.len() <= length_max {
            return;
        }
        let mut kept = 0;
        for char in text::chars(&self.text, of.ty.collation) {
            if kept + char.len() > length_max {
                break;
            }
            kept += char.len();
        }
        self.text.truncate(kept);
        self.cut = true;
    }

    /// Puts the waiting rows in order, before `finish`. Returns the rows whose text it has, and whether something was cut.
    pub fn settle(&mut self, of: &Aggregate, length_max: usize) -> (u64, bool) {
        self.put_in_order();
        for (_, row) in &std::mem::take(&mut self.waiting) {
            if !self.cut {
                self.append(of, length_max, |text| text.extend_from_slice(row));
            }
        }
        (self.rows, self.cut)
    }

    pub fn finish(&self) -> Value {
        if self.rows == 0 { Value::Null } else { Value::bytes(&self.text) }
    }
}

fn separator(of: &Aggregate) -> &[u8] {
    match &of.separator {
        Some(Value::Bytes(separator)) => separator,
        _ => &[],
    }
}

/// What is kept of a row that waits.
fn bytes_of(row: &(Vec<u8>, Box<[u8]>)) -> usize {
    row.0.len() + row.1.len() + size_of::<(Vec<u8>, Box<[u8]>)>()
}
