//! Frames: which rows of its partition a function looks at for a row.
//!
//! ROWS counts rows. RANGE with an offset looks for the rows whose ORDER BY value lies between two bounds; value and bounds
//! are encoded while the row is read, so that finding the frame is a search among bytes. For a number the
//! plan gives the offset; for a date or time it gives the bound itself (`key - INTERVAL 1 DAY`).
//! Worked example: ORDER BY x RANGE BETWEEN 2 PRECEDING AND CURRENT ROW, at x = 5: from the first x >= 3 to the last peer.

use vaquita_plan::env::EvalCx;
use vaquita_plan::eval::coerce;
use vaquita_plan::expr::Expr;
use vaquita_plan::node::{FrameBound, WindowFunction};
use vaquita_plan::typing::{NumberClass, number_class};
use vaquita_types::errno::{ER_WINDOW_FRAME_ILLEGAL, ER_WINDOW_RANGE_FRAME_ORDER_TYPE};
use vaquita_types::{ColumnType, Error, Result, Value};

use super::function::Partition;
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
    Range(Keys),
}

pub struct FrameOf {
    rows: bool,
    start: End,
    end: End,
    /// RANGE with an offset: each row's ORDER BY value, encoded like the bounds.
    values: Option<Keys>,
}

impl FrameOf {
    pub fn new(window: &WindowFunction, frame: &Frame<'_>) -> Result<FrameOf> {
        let Some(of) = &window.frame else {
            let end = if window.order_by.is_empty() { End::Unbounded } else { End::Current };
            return Ok(FrameOf { rows: false, start: End::Unbounded, end, values: None });
        };
        let start = end_of(&of.start, of.rows, frame)?;
        let end = end_of(&of.end, of.rows, frame)?;
        let ranged = matches!(start, End::Range(_)) || matches!(end, End::Range(_));
        if ranged && window.order_by.len() != 1 {
            return Err(Error::new(&ER_WINDOW_RANGE_FRAME_ORDER_TYPE, &[&UNNAMED]));
        }
        Ok(FrameOf { rows: of.rows, start, end, values: ranged.then(Keys::default) })
    }

    /// Encodes the value and the bounds of the row in `cx`; returns the bytes that they take.
    pub fn note_row(&mut self, window: &WindowFunction, cx: &EvalCx<'_>) -> Result<usize> {
        let (Some(values), Some(of), [order]) = (&mut self.values, &window.frame, window.order_by.as_slice()) else {
            return Ok(0);
        };
        let value = order.expr.eval(cx)?;
        let of_key = RangeKey { ty: &order.expr.ty, descending: order.descending };
        of_key.encode(&value, None, cx, &mut values.bytes)?;
        let mut bytes = values.end_key();
        for (end, bound) in [(&mut self.start, &of.start), (&mut self.end, &of.end)] {
            if let End::Range(keys) = end {
                let offset = match bound {
                    FrameBound::Preceding(expr) => Some((expr, order.descending)),
                    FrameBound::Following(expr) => Some((expr, !order.descending)),
                    _ => None,
                };
                of_key.encode(&value, offset, cx, &mut keys.bytes)?;
                bytes += keys.end_key();
            }
        }
        Ok(bytes)
    }

    /// The frame of row `i` of the partition, as positions in it.
    pub fn bounds(&self, i: usize, partition: &Partition<'_>) -> (usize, usize) {
        let rows = partition.rows;
        let start = match &self.start {
            End::Unbounded => 0,
            End::Current if self.rows => i,
            End::Current => partition.peers(i).0,
            End::Rows(n) => moved(i, *n).min(rows.len()),
            End::Range(bounds) => rows.partition_point(|row| self.value(*row) < bounds.key(rows[i])),
        };
        let end = match &self.end {
            End::Unbounded => rows.len(),
            End::Current if self.rows => i + 1,
            End::Current => partition.peers(i).1,
            End::Rows(n) => moved(i + 1, *n).min(rows.len()),
            End::Range(bounds) => rows.partition_point(|row| self.value(*row) <= bounds.key(rows[i])),
        };
        (start, end.max(start))
    }

    fn value(&self, row: u32) -> &[u8] {
        self.values.as_ref().map_or(&[], |values| values.key(row))
    }
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
        FrameBound::Preceding(_) | FrameBound::Following(_) => End::Range(Keys::default()),
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
