//! The options of functions that read and write text and WKB: `axis-order=long-lat`.

use vaquita_types::geometry::srs::Srs;
use vaquita_types::{Error, Result, errno};

use super::{EvalCx, FuncCall};

/// Which coordinate comes first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum AxisOrder {
    #[default]
    SrsDefined,
    LongLat,
    LatLong,
}

impl AxisOrder {
    /// The coordinates of a geometry stand in the other order.
    pub fn swaps(self, srs: &Srs) -> bool {
        match self {
            AxisOrder::SrsDefined => srs.is_latitude_first(),
            AxisOrder::LongLat => false,
            AxisOrder::LatLong => srs.is_geographic(),
        }
    }
}

const AXIS_ORDER: &str = "axis-order";

fn is_delimiter(c: char) -> bool {
    matches!(c, ',' | '=')
}

/// Argument `i`, if there is one; `None` if it is NULL.
pub(super) fn axis_order(call: &FuncCall<'_>, i: usize, cx: &EvalCx<'_>, function: &str) -> Result<Option<AxisOrder>> {
    if call.len() <= i {
        return Ok(Some(AxisOrder::default()));
    }
    let Some(text) = call.text(i, cx)? else { return Ok(None) };
    parse(&String::from_utf8_lossy(&text), function).map(Some)
}

fn parse(text: &str, function: &str) -> Result<AxisOrder> {
    let text = text.trim();
    if text.is_empty() {
        return Ok(AxisOrder::default());
    }
    if let Some(c) = text.chars().next().filter(|c| is_delimiter(*c)) {
        return Err(Error::new(&errno::ER_INVALID_OPTION_START_CHARACTER, &[&function, &c]));
    }
    if let Some(c) = text.chars().last().filter(|c| is_delimiter(*c)) {
        return Err(Error::new(&errno::ER_INVALID_OPTION_END_CHARACTER, &[&function, &c]));
    }
    let mut before = None;
    for c in text.chars() {
        if let Some(first) = before.filter(|_| is_delimiter(c)) {
            return Err(Error::new(&errno::ER_INVALID_OPTION_CHARACTERS, &[&function, &format!("{first}{c}")]));
        }
        before = Some(c).filter(|c| is_delimiter(*c));
    }
    let mut order = None;
    for pair in text.split(',') {
        let pair = pair.trim();
        let Some((key, value)) = pair.split_once('=').filter(|(_, value)| !value.contains('=') && !value.trim().is_empty())
        else {
            return Err(Error::new(&errno::ER_INVALID_OPTION_KEY_VALUE_PAIR, &[&pair, &'=', &function]));
        };
        let (key, value) = (key.trim().to_lowercase(), value.trim());
        if key != AXIS_ORDER {
            return Err(Error::new(&errno::ER_INVALID_OPTION_KEY, &[&key, &function]));
        }
        if order.is_some() {
            return Err(Error::new(&errno::ER_DUPLICATE_OPTION_KEY, &[&key, &function]));
        }
        order = Some(match value.to_lowercase().as_str() {
            "srid-defined" => AxisOrder::SrsDefined,
            "long-lat" => AxisOrder::LongLat,
            "lat-long" => AxisOrder::LatLong,
            _ => return Err(Error::new(&errno::ER_INVALID_OPTION_VALUE, &[&value, &AXIS_ORDER, &function])),
        });
    }
    Ok(order.unwrap_or_default())
}
