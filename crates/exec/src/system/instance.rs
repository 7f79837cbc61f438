//! System tables about the running server: connections, variables, status counters.

use vaquita_storage::{Stage, StageProgress};
use vaquita_types::Result;

use super::row::{NULL, row, yes_no};
use super::{Row, SystemContext};
use crate::context::{ProcessInfo, VariableScope};

pub fn processlist(cx: &SystemContext<'_>) -> Result<Vec<Row>> {
    Ok(cx.statement.server.processes().into_iter().map(process_row).collect())
}

/// id, user, host, db, command, time, state, info
pub fn process_row(p: ProcessInfo) -> Row {
    row![p.id, p.user, p.host, p.database, p.command, p.time_s, p.state.unwrap_or_default(), p.info]
}

pub fn performance_processlist(cx: &SystemContext<'_>) -> Result<Vec<Row>> {
    let with_engine = |p| {
        let mut row = process_row(p);
        row.push("PRIMARY".into());
        row
    };
    Ok(cx.statement.server.processes().into_iter().map(with_engine).collect())
}

pub fn threads(cx: &SystemContext<'_>) -> Result<Vec<Row>> {
    let row = |p: ProcessInfo| {
        // Without the port.
        let host = p.host.rsplit_once(':').map_or(p.host.as_str(), |(host, _)| host).to_string();
        row![
            p.thread_id(),
            "thread/sql/one_connection",
            "FOREGROUND",
            p.id,
            p.user.as_str(),
            host,
            p.database.clone(),
            p.command,
            p.time_s,
            p.state.clone(),
            p.info.clone(),
            NULL,
            NULL,
            yes_no(p.observed.0),
            yes_no(p.observed.1),
            p.connection_type,
            NULL,
            "USR_default",
            "PRIMARY",
            0u64,
            0u64,
            0u64,
            0u64,
            "NO",
        ]
    };
    Ok(cx.statement.server.processes().into_iter().map(row).collect())
}

fn attributes(processes: impl Iterator<Item = ProcessInfo>) -> Vec<Row> {
    let rows_of = |p: ProcessInfo| {
        let id = p.id;
        p.attributes.into_iter().enumerate().map(move |(n, (name, value))| row![id, name, value, n as u64])
    };
    processes.flat_map(rows_of).collect()
}

pub fn connect_attributes(cx: &SystemContext<'_>) -> Result<Vec<Row>> {
    Ok(attributes(cx.statement.server.processes().into_iter()))
}

/// Of the connections of the current user.
pub fn own_connect_attributes(cx: &SystemContext<'_>) -> Result<Vec<Row>> {
    let processes = cx.statement.server.processes();
    let own = cx.statement.server.connection_id();
    let user = processes.iter().find(|p| p.id == own).map(|p| p.user.clone());
    Ok(attributes(processes.into_iter().filter(|p| Some(&p.user) == user.as_ref())))
}

fn pairs(pairs: Vec<(String, String)>) -> Vec<Row> {
    pairs.into_iter().map(|(name, value)| row![name, value]).collect()
}

pub fn global_variables(cx: &SystemContext<'_>) -> Result<Vec<Row>> {
    Ok(pairs(cx.statement.server.variables(VariableScope::Global)))
}

pub fn session_variables(cx: &SystemContext<'_>) -> Result<Vec<Row>> {
    Ok(pairs(cx.statement.server.variables(VariableScope::Session)))
}

pub fn global_status(cx: &SystemContext<'_>) -> Result<Vec<Row>> {
    Ok(status(cx, VariableScope::Global))
}

pub fn session_status(cx: &SystemContext<'_>) -> Result<Vec<Row>> {
    Ok(status(cx, VariableScope::Session))
}

/// As MySQL's tables, without the counts of statements, which SHOW STATUS has.
fn status(cx: &SystemContext<'_>, scope: VariableScope) -> Vec<Row> {
    let values = cx.statement.server.status(scope).into_iter();
    pairs(values.filter(|(name, _)| !name.starts_with("Com_")).collect())
}

/// What DDL statements are doing. Their work is counted in rows of the old table.
pub fn stages(cx: &SystemContext<'_>) -> Result<Vec<Row>> {
    let processes = cx.statement.server.processes();
    let running = processes.iter().filter_map(|process| Some((process, process.stage?)));
    let row = |(process, stage): (&ProcessInfo, StageProgress)| {
        let counts = matches!(stage.stage, Stage::ReadingRows | Stage::CopyingRows);
        row![
            process.thread_id(),
            stage.event,
            NULL,
            stage.stage.event_name(),
            NULL,
            NULL,
            NULL,
            stage.since.elapsed().as_nanos() as u64 * 1000,
            counts.then_some(stage.rows_done),
            counts.then_some(stage.rows_expected),
            NULL,
            NULL,
        ]
    };
    Ok(running.map(row).collect())
}

/// information_schema.OPTIMIZER_TRACE.
pub fn optimizer_traces(cx: &SystemContext<'_>) -> Result<Vec<Row>> {
    let traces = cx.statement.server.optimizer_traces();
    Ok(traces.into_iter().map(|trace| row![trace.query, trace.trace, trace.missing_bytes, u64::from(trace.hidden)]).collect())
}
