//! Functions that wait for what the channels of replication apply.
//!
//! SOURCE_POS_WAIT and its old name are NULL where nobody applies the channel. WAIT_FOR_EXECUTED_GTID_SET is 0 for what has been executed,
//! as the empty set always is.

use std::time::Duration;

use vaquita_types::errno::{ER_MALFORMED_GTID_SET_SPECIFICATION, ER_WARN_DEPRECATED_SYNTAX, ER_WRONG_ARGUMENTS};
use vaquita_types::gtid::GtidSet;
use vaquita_types::{ColumnType, Error, Result, TypeKind, Value};

use super::args::{as_utf8, volatile};
use super::{FuncCall, FuncDef, FuncType};
use crate::env::{EvalCx, Level};
use crate::expr::Expr;

pub(super) static FUNCTIONS: &[FuncDef] = &[
    volatile("SOURCE_POS_WAIT", 2, 4, bigint, wait_for_position),
    volatile("MASTER_POS_WAIT", 2, 4, bigint, |call, cx| {
        let names: [&dyn std::fmt::Display; 2] = [&"MASTER_POS_WAIT", &"SOURCE_POS_WAIT"];
        cx.env.warn(Level::Warning, Error::new(&ER_WARN_DEPRECATED_SYNTAX, &names));
        wait_for_position(call, cx)
    }),
    volatile("WAIT_FOR_EXECUTED_GTID_SET", 1, 2, bigint, wait_for_gtids),
];

fn bigint(_: &mut Vec<Expr>) -> Result<FuncType> {
    FuncType::number(ColumnType { length: 21, ..ColumnType::new(TypeKind::BigInt) }, true)
}

/// The seconds that the last argument gives; an error for what is negative.
fn seconds(call: &FuncCall<'_>, i: usize, name: &str, cx: &EvalCx<'_>) -> Result<Option<f64>> {
    let seconds = call.f64(i, cx)?;
    if seconds.is_some_and(|seconds| seconds < 0.0) {
        return Err(Error::new(&ER_WRONG_ARGUMENTS, &[&name]));
    }
    Ok(seconds)
}

/// How long is waited: for what is not told, and for 0, as good as for ever.
fn waits(seconds: Option<f64>) -> Duration {
    let forever = Duration::from_secs(365 * 24 * 3600);
    let time = seconds.filter(|seconds| *seconds > 0.0).and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    time.unwrap_or(forever).min(forever)
}

fn wait_for_position(call: &FuncCall<'_>, cx: &EvalCx<'_>) -> Result<Value> {
    let log = as_utf8(call, 0, cx)?;
    let position = call.int(1, cx)?;
    let (Some(log), Some(position)) = (log, position) else { return Ok(Value::Null) };
    let time = if call.len() > 2 { seconds(call, 2, "SOURCE_POS_WAIT.", cx)? } else { None };
    let channel = if call.len() > 3 { as_utf8(call, 3, cx)? } else { None };
    let Ok(position) = u64::try_from(position) else { return Ok(Value::Null) };
    let reached = cx.env.session()?.wait_for_position(channel.as_deref(), (&log, position), waits(time))?;
    cx.env.check_interrupt()?;
    Ok(reached.map_or(Value::Null, Value::Int))
}

fn wait_for_gtids(call: &FuncCall<'_>, cx: &EvalCx<'_>) -> Result<Value> {
    let malformed = |text: &str| Error::new(&ER_MALFORMED_GTID_SET_SPECIFICATION, &[&text]);
    let name = "WAIT_FOR_EXECUTED_GTID_SET.";
    let Some(text) = as_utf8(call, 0, cx)? else { return Err(malformed("NULL")) };
    let time = match call.len() {
        ..2 => None,
        _ => Some(seconds(call, 1, name, cx)?.ok_or_else(|| Error::new(&ER_WRONG_ARGUMENTS, &[&name]))?),
    };
    let set = GtidSet::parse(text.as_bytes()).map_err(|_| malformed(&text))?;
    if set.is_empty() {
        return Ok(Value::Int(0));
    }
    let are_executed = cx.env.session()?.wait_for_gtids(&set, waits(time))?;
    cx.env.check_interrupt()?;
    Ok(Value::Int(i64::from(!are_executed)))
}
