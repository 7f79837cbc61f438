//! Frames: which rows of its partition a function looks at for a row.
//!
//! ROWS counts rows. RANGE with an offset looks for the rows whose ORDER BY value lies between two bounds; value and bounds
//! are encoded while the row is read, so that finding the frame is a search among bytes. For a number the
//! plan gives the offset; for a date or time it gives the bound itself (`key - INTERVAL 1 DAY`).
//! Worked example: ORDER BY x RANGE BETWEEN 2 PRECEDING AND CURRENT ROW, at x = 5: from the first x >= 3 to the last peer.

use std::cmp::Ordering;

use vaquita_plan::env::EvalCx;
use vaquita_plan::eval::coerce;
use vaquita_plan::expr::Expr;
use vaquita_plan::node::{FrameBound, WindowFunction};
use vaquita_plan::typing::{NumberClass, number_class};
use vaquita_types::errno::{ER_WINDOW_FRAME_ILLEGAL, ER_WINDOW_RANGE_FRAME_ORDER_TYPE};
use vaquita_types::{ColumnType, Error, Result, Value};

use super::partition::Partition;
use crate::context::Frame;
use crate::op::key;
use crate::op::sort::Keys;

const UNNAMED: &str = "<unnamed window>";

enum End {
    /// The start or end of the partition.
    Unbounded,
    /// The row itself (ROWS) or its peers.
    Current,
    /// So many rows back (negative) or on.
    Rows(i64),
    /// The encoded bound of each row.
    Range,
}

pub struct FrameOf {
    rows: bool,
    start: End,
    end: End,
    /// RANGE with an offset: of each row its ORDER BY value and the bounds, all encoded alike.
    keys: Option<[Keys; PARTS]>,
}

/// What a frame with a RANGE has of each row.
#[derive(Clone, Copy)]
pub enum RangePart {
    Value,
    Start,
    End,
}

pub const PARTS: usize = 3;

/// Where a function is in its partition: it asks for the frames of the rows in their order.
#[derive(Default)]
pub struct FrameState {
    /// The peers of the row that was asked for last.
    peers: (usize, usize),
    start: usize,
    end: usize,
    bound: Vec<u8>,
}

impl FrameState {
    /// Where the peers of row `i` begin and end.
    pub fn peers(&mut self, i: usize, partition: &mut impl Partition) -> Result<(usize, usize)> {
        if i >= self.peers.1 {
            let mut end = i + 1;
            while end < partition.len() && partition.are_peers(i, end)? {
                end += 1;
            }
            self.peers = (i, end);
        }
        Ok(self.peers)
    }
}

impl FrameOf {
    pub fn new(window: &WindowFunction, frame: &Frame<'_>) -> Result<FrameOf> {
        let Some(of) = &window.frame else {
            let end = if window.order_by.is_empty() { End::Unbounded } else { End::Current };
            return Ok(FrameOf { rows: false, start: End::Unbounded, end, keys: None });
        };
        let start = end_of(&of.start, of.rows, frame)?;
        let end = end_of(&of.end, of.rows, frame)?;
        let ranged = matches!(start, End::Range) || matches!(end, End::Range);
        if ranged && window.order_by.len() != 1 {
            return Err(Error::new(&ER_WINDOW_RANGE_FRAME_ORDER_TYPE, &[&UNNAMED]));
        }
        Ok(FrameOf { rows: of.rows, start, end, keys: ranged.then(Default::default) })
    }

    /// Encodes the value and the bounds of the row in `cx`; returns the bytes that they take.
    pub fn note_row(&mut self, window: &WindowFunction, cx: &EvalCx<'_>) -> Result<usize> {
        let (Some([values, starts, ends]), Some(of), [order]) = (&mut self.keys, &window.frame, window.order_by.as_slice())
        else {
            return Ok(0);
        };
        let value = order.expr.eval(cx)?;
        let of_key = RangeKey { ty: &order.expr.ty, descending: order.descending };
        of_key.encode(&value, None, cx, &mut values.bytes)?;
        let mut bytes = values.end_key();
        for (keys, bound) in [(starts, &of.start), (ends, &of.end)] {
            let offset = match bound {
                FrameBound::Preceding(expr) => Some((expr, order.descending)),
                FrameBound::Following(expr) => Some((expr, !order.descending)),
                _ => None,
            };
            if offset.is_some() {
                of_key.encode(&value, offset, cx, &mut keys.bytes)?;
            }
            bytes += keys.end_key();
        }
        Ok(bytes)
    }

    /// What `note_row` made of a row; `None`: nothing, as of all rows.
    pub fn key(&self, part: RangePart, row: u32) -> Option<&[u8]> {
        self.keys.as_ref().map(|keys| keys[part as usize].key(row))
    }

    pub fn clear(&mut self) {
        if let Some(keys) = &mut self.keys {
            *keys = Default::default();
        }
    }

    /// The frame of row `i` of the partition, as positions in it.
    pub fn bounds(&self, i: usize, state: &mut FrameState, partition: &mut impl Partition) -> Result<(usize, usize)> {
        let rows = partition.len();
        let start = match self.start {
            End::Unbounded => 0,
            End::Current if self.rows => i,
            End::Current => state.peers(i, partition)?.0,
            End::Rows(n) => moved(i, n).min(rows),
            End::Range => {
                partition.range_key(RangePart::Start, i, &mut state.bound)?;
                let FrameState { bound, start, .. } = state;
                *start = first_not(rows, *start, |j| partition.compare_value(j, bound).map(Ordering::is_lt))?;
                *start
            }
        };
        let end = match self.end {
            End::Unbounded => rows,
            End::Current if self.rows => i + 1,
            End::Current => state.peers(i, partition)?.1,
            End::Rows(n) => moved(i + 1, n).min(rows),
            End::Range => {
                partition.range_key(RangePart::End, i, &mut state.bound)?;
                let FrameState { bound, end, .. } = state;
                *end = first_not(rows, *end, |j| partition.compare_value(j, bound).map(Ordering::is_le))?;
                *end
            }
        };
        Ok((start, end.max(start)))
    }
}

/// The first position for which `holds` is false, which is so for all behind it; it is looked for from `near` on.
fn first_not(len: usize, near: usize, mut holds: impl FnMut(usize) -> Result<bool>) -> Result<usize> {
    let (mut low, mut high);
    if near == 0 || holds(near - 1)? {
        let mut step = 1;
        (low, high) = (near, near);
        while high < len && holds(high)? {
            low = high + 1;
            high = low + step;
            step *= 2;
        }
        high = high.min(len);
    } else {
        (low, high) = (0, near - 1);
    }
    while low < high {
        let middle = low + (high - low) / 2;
        if holds(middle)? { low = middle + 1 } else { high = middle }
    }
    Ok(low)
}

fn moved(i: usize, by: i64) -> usize {
    let by_rows = usize::try_from(by.unsigned_abs()).unwrap_or(usize::MAX);
    if by < 0 { i.saturating_sub(by_rows) } else { i.saturating_add(by_rows) }
}

fn end_of(bound: &FrameBound, rows: bool, frame: &Frame<'_>) -> Result<End> {
    let offset = |expr: &Expr| -> Result<i64> {
        let value = expr.eval(&frame.cx())?;
        match &*value {
            Value::Int(n) if *n >= 0 => Ok(*n),
            Value::UInt(n) => Ok(i64::try_from(*n).unwrap_or(i64::MAX)),
            _ => Err(Error::new(&ER_WINDOW_FRAME_ILLEGAL, &[&UNNAMED])),
        }
    };
    Ok(match bound {
        FrameBound::UnboundedPreceding | FrameBound::UnboundedFollowing => End::Unbounded,
        FrameBound::CurrentRow => End::Current,
        FrameBound::Preceding(expr) if rows => End::Rows(-offset(expr)?),
        FrameBound::Following(expr) if rows => End::Rows(offset(expr)?),
        FrameBound::Preceding(_) | FrameBound::Following(_) => End::Range,
    })
}

struct RangeKey<'t> {
    ty: &'t ColumnType,
    descending: bool,
}

impl RangeKey<'_> {
    /// The value itself, or the bound that lies `offset` from it (added if the flag is set).
    fn encode(&self, value: &Value, offset: Option<(&Expr, bool)>, cx: &EvalCx<'_>, out: &mut Vec<u8>) -> Result<()> {
        let start = out.len();
        if value.is_null() {
            key::encode(value, self.ty, cx.env, out)?;
        } else if self.ty.is_temporal() {
            match offset {
                Some((expr, _)) => key::encode(&*expr.eval(cx)?, &expr.ty, cx.env, out)?,
                None => key::encode(value, self.ty, cx.env, out)?,
            }
        } else {
            // By the value's own kind: the key may be an integer and its bound none.
            key::encode(&self.number(value, offset, cx)?, &ColumnType::null(), cx.env, out)?;
        }
        if self.descending {
            out[start..].iter_mut().for_each(|b| *b = !*b);
        }
        Ok(())
    }

    /// Always a decimal, or a float if the key or the offset is one.
    fn number(&self, value: &Value, offset: Option<(&Expr, bool)>, cx: &EvalCx<'_>) -> Result<Value> {
        let illegal = || Error::new(&ER_WINDOW_FRAME_ILLEGAL, &[&UNNAMED]);
        if number_class(self.ty) == NumberClass::Double {
            let number = coerce::to_f64(value, self.ty, cx.env)?;
            let Some((expr, adds)) = offset else { return Ok(Value::Float(number)) };
            let by = expr.eval(cx)?;
            let by = if by.is_null() { return Err(illegal()) } else { coerce::to_f64(&by, &expr.ty, cx.env)? };
            if by < 0.0 {
                return Err(illegal());
            }
            return Ok(Value::Float(if adds { number + by } else { number - by }));
        }
        let number = coerce::to_decimal(value, self.ty, cx.env)?;
        let Some((expr, adds)) = offset else { return Ok(Value::Decimal(number)) };
        let by = expr.eval(cx)?;
        let by = if by.is_null() { return Err(illegal()) } else { coerce::to_decimal(&by, &expr.ty, cx.env)? };
        if by.is_negative() {
            return Err(illegal());
        }
        let bound = if adds { number.add(&by) } else { number.sub(&by) };
        bound.map(Value::Decimal).ok_or_else(illegal)
    }
}
