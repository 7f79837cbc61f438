//! Reading the arguments of a function's call, each as what the function takes it for.

use std::borrow::Cow;

use vaquita_types::decimal::Decimal;
use vaquita_types::temporal::{Date, DateFlags, DateTime, Time, datetime_from_number, parse_datetime, parse_time};
use vaquita_types::{ColumnType, Error, Result, TypeKind, Value, errno};

use super::coerce::{self, DateNeed};
use super::print;
use crate::env::EvalCx;
use crate::expr::{Expr, ExprKind};
use crate::function::FuncCall;

/// Any date that can be written.
pub(crate) const ANY_DATE: DateFlags = DateFlags { no_zero_date: false, no_zero_in_date: false, invalid_dates: true };

/// The last time of day that is written as a number, and the first date with a time.
const TIME_NUMBER_MAX: i64 = 8_385_959;
const DATETIME_NUMBER_MIN: i64 = 10_000_000_000;

/// A value as either a date with time or a time.
pub enum DateOrTime {
    DateTime(DateTime),
    Time(Time),
}

/// The text or number names a day without a time.
pub(crate) fn is_date_text(value: &Value, ty: &ColumnType) -> bool {
    if let Some((text, ty)) = coerce::readable(value, ty) {
        return is_date_text(&text, &ty);
    }
    match value {
        Value::Bytes(b) => parse_datetime(b, ANY_DATE).is_ok_and(|p| p.date_only),
        Value::Time(_) | Value::DateTime(_) => false,
        // What is behind the point is no time of day.
        other => coerce::text_of(other, ty).iter().take_while(|byte| **byte != b'.').count() <= 8,
    }
}

/// `number`, which `operand` has computed, as an integer; error 1690 beyond BIGINT. (A column's or literal's is the nearest BIGINT.)
pub(crate) fn integer_of_double(number: f64, operand: &Expr, cx: &EvalCx<'_>) -> Result<i64> {
    const BEYOND: f64 = -(i64::MIN as f64);
    let rounded = number.round_ties_even();
    if (-BEYOND..BEYOND).contains(&rounded) {
        return Ok(rounded as i64);
    }
    Err(Error::new(&errno::ER_DATA_OUT_OF_RANGE, &[&"BIGINT", &print::print_operand(operand, cx)]))
}

impl FuncCall<'_> {
    pub(crate) fn len(&self) -> usize {
        self.args.len()
    }

    /// The argument's value; NULL if it is not given.
    pub(crate) fn value<'s>(&'s self, i: usize, cx: &EvalCx<'s>) -> Result<Cow<'s, Value>> {
        match self.args.get(i) {
            Some(arg) => arg.eval(cx),
            None => Ok(Cow::Owned(Value::Null)),
        }
    }

    pub(crate) fn arg_type(&self, i: usize) -> &ColumnType {
        self.args.get(i).map_or(self.ty, |a| &a.ty)
    }

    pub(crate) fn text<'s>(&'s self, i: usize, cx: &EvalCx<'s>) -> Result<Option<Cow<'s, [u8]>>> {
        Ok(match self.value(i, cx)? {
            Cow::Borrowed(Value::Null) | Cow::Owned(Value::Null) => None,
            Cow::Borrowed(Value::Bytes(b)) => Some(Cow::Borrowed(&b[..])),
            Cow::Owned(Value::Bytes(b)) => Some(Cow::Owned(b.into_vec())),
            other => {
                let ty = self.args.get(i).map_or(Cow::Borrowed(self.ty), |arg| arg.type_as_text());
                Some(Cow::Owned(coerce::text_of(&other, &ty).into_owned()))
            }
        })
    }

    pub(crate) fn int(&self, i: usize, cx: &EvalCx<'_>) -> Result<Option<i128>> {
        let value = self.value(i, cx)?;
        if value.is_null() {
            return Ok(None);
        }
        if let (Value::Float(number), Some(arg)) = (&*value, self.args.get(i))
            && arg.computes_double()
        {
            return integer_of_double(*number, arg, cx).map(|n| Some(i128::from(n)));
        }
        coerce::to_int(&value, self.arg_type(i), cx.env).map(Some)
    }

    /// As `int`, clamped to 64 bits signed.
    pub(crate) fn i64(&self, i: usize, cx: &EvalCx<'_>) -> Result<Option<i64>> {
        Ok(self.int(i, cx)?.map(|n| i64::try_from(n).unwrap_or(i64::MAX)))
    }

    pub(crate) fn f64(&self, i: usize, cx: &EvalCx<'_>) -> Result<Option<f64>> {
        let value = self.value(i, cx)?;
        if value.is_null() {
            return Ok(None);
        }
        coerce::to_f64(&value, self.arg_type(i), cx.env).map(Some)
    }

    pub(crate) fn decimal(&self, i: usize, cx: &EvalCx<'_>) -> Result<Option<Decimal>> {
        let value = self.value(i, cx)?;
        if value.is_null() {
            return Ok(None);
        }
        coerce::to_decimal(&value, self.arg_type(i), cx.env).map(Some)
    }

    fn is_parameter(&self, i: usize) -> bool {
        self.args.get(i).is_some_and(|arg| matches!(arg.kind, ExprKind::Param(_)) && !arg.is_variable())
    }

    pub(crate) fn datetime(&self, i: usize, need: DateNeed, cx: &EvalCx<'_>) -> Result<Option<DateTime>> {
        let value = self.value(i, cx)?;
        // What is sent was checked when it came, and may be the zero date.
        if let (Value::DateTime(at), true) = (&*value, self.is_parameter(i)) {
            return Ok(Some(*at));
        }
        coerce::to_datetime(&value, self.arg_type(i), need, cx.env)
    }

    pub(crate) fn date(&self, i: usize, need: DateNeed, cx: &EvalCx<'_>) -> Result<Option<Date>> {
        let value = self.value(i, cx)?;
        // The zero date is sent whatever sql_mode says, but may be no day.
        if let (Value::DateTime(at), DateNeed::Mode, true) = (&*value, need, self.is_parameter(i))
            && at.is_zero()
            && coerce::date_flags(need, cx.env).no_zero_date
        {
            coerce::warn_truncated(cx.env, "date", b"0000-00-00");
            return Ok(None);
        }
        coerce::to_date(&value, self.arg_type(i), need, cx.env)
    }

    pub(crate) fn time(&self, i: usize, cx: &EvalCx<'_>) -> Result<Option<Time>> {
        let value = self.value(i, cx)?;
        coerce::to_time(&value, self.arg_type(i), cx.env)
    }

    /// Texts with a date part are dates.
    pub(crate) fn date_or_time(&self, i: usize, cx: &EvalCx<'_>) -> Result<Option<DateOrTime>> {
        self.read_date_or_time(i, "time", cx)
    }

    /// The same; a text that is neither is called no datetime.
    pub(crate) fn moment(&self, i: usize, cx: &EvalCx<'_>) -> Result<Option<DateOrTime>> {
        self.read_date_or_time(i, "datetime", cx)
    }

    fn read_date_or_time(&self, i: usize, wanted: &str, cx: &EvalCx<'_>) -> Result<Option<DateOrTime>> {
        let (mut value, mut ty) = (self.value(i, cx)?, Cow::Borrowed(self.arg_type(i)));
        if let Some((text, of)) = coerce::readable(&value, &ty) {
            (value, ty) = (Cow::Owned(text), Cow::Owned(of));
        }
        let ty = &*ty;
        let dated = match &*value {
            Value::Date(_) | Value::DateTime(_) => true,
            Value::Bytes(b) => {
                let delimited =
                    b.iter().filter(|c| **c == b'-').count() >= 2 || b.iter().take_while(|c| c.is_ascii_digit()).count() >= 12;
                delimited && parse_datetime(b, ANY_DATE).is_ok()
            }
            Value::Int(_) | Value::UInt(_) | Value::Decimal(_) | Value::Float(_) if ty.kind != TypeKind::Year => {
                let whole = coerce::to_decimal(&value, ty, cx.env)?.truncate(0).to_i64().0;
                // So large a number is no time of day.
                whole > TIME_NUMBER_MAX && (whole >= DATETIME_NUMBER_MIN || datetime_from_number(whole, ANY_DATE).is_ok())
            }
            _ => false,
        };
        Ok(if dated {
            match &*value {
                // The zero date is a date here, and so is one that no month has.
                Value::Bytes(text) => coerce::datetime_from_text(text, ANY_DATE, cx.env).map(DateOrTime::DateTime),
                _ => coerce::to_datetime(&value, ty, DateNeed::Fuzzy, cx.env)?.map(DateOrTime::DateTime),
            }
        } else {
            if let (Value::Bytes(text), "datetime") = (&*value, wanted)
                && parse_time(text).is_err()
            {
                coerce::warn_incorrect(cx.env, wanted, text);
                return Ok(None);
            }
            coerce::to_time(&value, ty, cx.env)?.map(DateOrTime::Time)
        })
    }
}

/// Leaves the surrounding function with SQL NULL if the argument is NULL.
macro_rules! arg {
    ($e:expr) => {
        match $e? {
            Some(value) => value,
            None => return Ok(vaquita_types::Value::Null),
        }
    };
}
pub(crate) use arg;
