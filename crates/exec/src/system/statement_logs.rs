//! `mysql.general_log` and `mysql.slow_log`: the last entries of the logs, if these go to their tables (`log_output`).

use vaquita_types::temporal::Time;
use vaquita_types::{Result, Value};

use super::row::row;
use super::{Row, SystemContext};
use crate::context::VariableScope;

pub fn general_log(cx: &SystemContext<'_>) -> Result<Vec<Row>> {
    let server_id = server_id(cx);
    let rows = cx.statement.server.general_log();
    let made = rows.iter().map(|log| {
        let argument = Value::bytes(&log.argument);
        row![cx.exact_time(log.at_us), &*log.user_host, log.connection_id, server_id, log.command, argument]
    });
    Ok(made.collect())
}

pub fn slow_log(cx: &SystemContext<'_>) -> Result<Vec<Row>> {
    let server_id = server_id(cx);
    let rows = cx.statement.server.slow_log();
    let made = rows.iter().map(|log| {
        row![
            cx.exact_time(log.began_us),
            &*log.user_host,
            time(log.took_us),
            time(log.lock_us),
            log.rows_sent,
            log.rows_examined,
            &*log.database,
            0u64,
            0u64,
            server_id,
            Value::bytes(&log.sql_text),
            log.connection_id
        ]
    });
    Ok(made.collect())
}

fn server_id(cx: &SystemContext<'_>) -> u64 {
    let variables = cx.statement.server.variables(VariableScope::Global);
    variables.iter().find(|(name, _)| name == "server_id").and_then(|(_, value)| value.parse().ok()).unwrap_or(0)
}

/// As much of it as TIME holds.
fn time(us: u64) -> Value {
    let time = i64::try_from(us).ok().and_then(Time::from_micros);
    Value::Time(time.unwrap_or(Time::MAX))
}
