//! information_schema.PROFILING, from which SHOW PROFILE is made too.

use vaquita_plan::env::Level;
use vaquita_types::decimal::Decimal;
use vaquita_types::errno::ER_WARN_DEPRECATED_SYNTAX;
use vaquita_types::{Error, Result, Value};

use super::{Row, SystemContext};

/// Numbers and texts that are not known.
const COUNTS: usize = 15;
const COLUMNS: usize = 18;

pub fn profiling(cx: &SystemContext<'_>) -> Result<Vec<Row>> {
    cx.statement
        .session
        .warn(Level::Warning, Error::new(&ER_WARN_DEPRECATED_SYNTAX, &[&"INFORMATION_SCHEMA.PROFILING", &"Performance Schema"]));
    rows(cx)
}

pub fn rows(cx: &SystemContext<'_>) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for profile in cx.statement.server.profiles() {
        for (at, (state, ns)) in profile.stages.iter().enumerate() {
            let mut row = vec![Value::Int(profile.id as i64), Value::Int(at as i64 + 2), (*state).into(), seconds(*ns)];
            row.extend([seconds(0), seconds(0)]);
            row.resize(COUNTS, Value::Int(0));
            row.resize(COLUMNS, Value::Null);
            rows.push(row);
        }
    }
    Ok(rows)
}

/// With six digits.
fn seconds(ns: u64) -> Value {
    let us = ns / 1000;
    let text = format!("{}.{:06}", us / 1_000_000, us % 1_000_000);
    Value::Decimal(Decimal::parse(text.as_bytes()).value)
}
