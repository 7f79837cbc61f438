//! Values of XPath that are no nodes: those of SQL's integers, doubles and texts, and its rules for them.

use std::borrow::Cow;

use super::expr::Operator;
use crate::errno::{ER_DATA_OUT_OF_RANGE, ER_DIVISION_BY_ZERO};
use crate::{Error, Result, convert, format};

#[derive(Clone, Debug, PartialEq)]
pub enum Scalar {
    Null,
    Int(i64),
    /// With the decimals that it is written with; `None`: as many as it needs.
    Float(f64, Option<u8>),
    Text(Vec<u8>),
}

/// Whoever hears warnings.
pub(super) type Warn<'a> = &'a dyn Fn(Error);

impl Scalar {
    pub(super) fn truth(value: bool) -> Scalar {
        Scalar::Int(i64::from(value))
    }

    pub fn text(&self) -> Option<Cow<'_, [u8]>> {
        match self {
            Scalar::Null => None,
            Scalar::Int(n) => Some(Cow::Owned(n.to_string().into_bytes())),
            Scalar::Float(x, decimals) => {
                let mut out = Vec::new();
                match decimals {
                    Some(decimals) => format::write_fixed(&mut out, *x, *decimals),
                    None => format::write_double(&mut out, *x),
                }
                Some(Cow::Owned(out))
            }
            Scalar::Text(text) => Some(Cow::Borrowed(text)),
        }
    }

    /// NULL is 0.
    pub(super) fn double(&self, kind: &str, warn: Warn<'_>) -> f64 {
        match self {
            Scalar::Null => 0.0,
            Scalar::Int(n) => *n as f64,
            Scalar::Float(x, _) => *x,
            Scalar::Text(text) => {
                let read = convert::bytes_to_f64(text);
                if read.truncated {
                    warn(convert::truncated_warning(kind, text));
                }
                read.value
            }
        }
    }

    pub(super) fn integer(&self, warn: Warn<'_>) -> i64 {
        match self {
            Scalar::Null => 0,
            Scalar::Int(n) => *n,
            Scalar::Float(x, _) => x.round_ties_even() as i64,
            Scalar::Text(text) => {
                let digits = text.trim_ascii_start();
                let length = digits.iter().enumerate().take_while(|(i, b)| b.is_ascii_digit() || (*i == 0 && b"+-".contains(b)));
                let (number, rest) = digits.split_at(length.count());
                let value = std::str::from_utf8(number).ok().and_then(|number| number.parse().ok());
                if value.is_none() || !rest.trim_ascii().is_empty() {
                    warn(convert::truncated_warning("INTEGER", text));
                }
                value.unwrap_or(0)
            }
        }
    }

    /// `None` for NULL.
    pub(super) fn is_true(&self, warn: Warn<'_>) -> Option<bool> {
        match self {
            Scalar::Null => None,
            Scalar::Int(n) => Some(*n != 0),
            other => Some(other.double("DOUBLE", warn) != 0.0),
        }
    }

    fn decimals(&self) -> Option<u8> {
        match self {
            Scalar::Int(_) | Scalar::Null => Some(0),
            Scalar::Float(_, decimals) => *decimals,
            Scalar::Text(_) => None,
        }
    }

    pub(super) fn negative(&self, warn: Warn<'_>) -> Result<Scalar> {
        Ok(match self {
            Scalar::Null => Scalar::Null,
            Scalar::Int(n) => Scalar::Int(n.checked_neg().ok_or_else(|| out_of_range(format_args!("-({n})")))?),
            other => Scalar::Float(-other.double("DOUBLE", warn), other.decimals()),
        })
    }

    /// `number` of an integer leaves it, of others it is a double without decimals.
    pub(super) fn rounded(&self, number: fn(f64) -> f64, warn: Warn<'_>) -> Scalar {
        match self {
            Scalar::Null => Scalar::Null,
            Scalar::Int(n) => Scalar::Int(*n),
            other => Scalar::Float(number(other.double("DOUBLE", warn)), Some(0)),
        }
    }
}

fn out_of_range(what: impl std::fmt::Display) -> Error {
    Error::new(&ER_DATA_OUT_OF_RANGE, &[&"BIGINT", &what])
}

pub(super) fn arithmetic(operator: Operator, a: &Scalar, b: &Scalar, warn: Warn<'_>) -> Result<Scalar> {
    if matches!(a, Scalar::Null) || matches!(b, Scalar::Null) {
        return Ok(Scalar::Null);
    }
    let divides = matches!(operator, Operator::Div | Operator::Mod);
    if let (Scalar::Int(x), Scalar::Int(y)) = (a, b) {
        if divides && *y == 0 {
            warn(Error::new(&ER_DIVISION_BY_ZERO, &[]));
            return Ok(Scalar::Null);
        }
        let (value, sign) = match operator {
            Operator::Plus => (x.checked_add(*y), "+"),
            Operator::Minus => (x.checked_sub(*y), "-"),
            Operator::Times => (x.checked_mul(*y), "*"),
            Operator::Div => (x.checked_div(*y), "DIV"),
            _ => (Some(x.wrapping_rem(*y)), "%"),
        };
        return value.map(Scalar::Int).ok_or_else(|| out_of_range(format_args!("({x} {sign} {y})")));
    }
    let kind = if operator == Operator::Div { "DECIMAL" } else { "DOUBLE" };
    let (x, y) = (a.double(kind, warn), b.double(kind, warn));
    if divides && y == 0.0 {
        warn(Error::new(&ER_DIVISION_BY_ZERO, &[]));
        return Ok(Scalar::Null);
    }
    let widest = a.decimals().zip(b.decimals()).map(|(a, b)| a.max(b));
    let (value, decimals) = match operator {
        Operator::Plus => (x + y, widest),
        Operator::Minus => (x - y, widest),
        Operator::Times => (x * y, widest),
        Operator::Div => {
            let whole = (x / y).trunc();
            if whole.abs() >= i64::MAX as f64 {
                return Err(out_of_range(format_args!("({x} DIV {y})")));
            }
            return Ok(Scalar::Int(whole as i64));
        }
        _ => (x % y, widest),
    };
    if !value.is_finite() {
        return Err(Error::new(&ER_DATA_OUT_OF_RANGE, &[&"DOUBLE", &format_args!("({x} {operator:?} {y})")]));
    }
    Ok(Scalar::Float(value, decimals))
}
