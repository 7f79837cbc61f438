//! GROUP_CONCAT.
//!
//! Without ORDER BY the text grows row by row; with it the rows wait with their keys until the group ends, and those of DISTINCT wait to be
//! put in the order of their values. Of rows whose keys are equal the last comes first, as in MySQL. What is beyond `group_concat_max_len`
//! is cut at a character, with warning 1260 when the group ends.

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
}

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
        let bytes = text.len() + sort_key.len() + size_of::<(Vec<u8>, Box<[u8]>)>();
        self.waiting.push((sort_key, text.into_boxed_slice()));
        Ok(bytes)
    }

    fn append(&mut self, of: &Aggregate, length_max: usize, write: impl FnOnce(&mut Vec<u8>)) {
        if self.rows > 0
            && let Some(Value::Bytes(separator)) = &of.separator
        {
            self.text.extend_from_slice(separator);
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
        let mut waiting = std::mem::take(&mut self.waiting);
        waiting.reverse();
        waiting.sort_by(|a, b| a.0.cmp(&b.0));
        for (_, row) in &waiting {
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
