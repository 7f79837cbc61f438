//! SHOW about the server and the session: variables, status, connections, warnings, grants.

use vaquita_parser::ast::{Limit, UserName, VarScope};
use vaquita_plan::env::Level;
use vaquita_types::limits::PROCESSLIST_INFO_CHARS_MAX;
use vaquita_types::{Result, Value};

use super::{Listing, ShowContext, ShowResult, limited};
use crate::context::{VariableScope, WarningInfo};
use crate::system::Row;

fn scope_of(scope: VarScope) -> VariableScope {
    if scope == VarScope::Global { VariableScope::Global } else { VariableScope::Session }
}

fn pairs(pairs: Vec<(String, String)>) -> Vec<Row> {
    pairs.into_iter().map(|(name, value)| vec![Value::from(name), Value::from(value)]).collect()
}

pub(super) fn variables(scope: VarScope, cx: &ShowContext<'_>) -> Listing {
    Listing::with_rows("VARIABLES", pairs(cx.statement.server.variables(scope_of(scope))))
}

pub(super) fn status(scope: VarScope, cx: &ShowContext<'_>) -> Listing {
    Listing::with_rows("STATUS", pairs(cx.statement.server.status(scope_of(scope))))
}

pub(super) fn processlist(full: bool, cx: &ShowContext<'_>) -> Listing {
    let mut rows = Vec::new();
    for process in cx.statement.server.processes() {
        let info = process.info.map(|text| if full { text } else { text.chars().take(PROCESSLIST_INFO_CHARS_MAX).collect() });
        rows.push(vec![
            Value::Int(process.id as i64),
            process.user.into(),
            process.host.into(),
            process.database.map_or(Value::Null, Value::from),
            process.command.into(),
            Value::Int(process.time_s as i64),
            process.state.map_or("".into(), Value::from),
            info.map_or(Value::Null, Value::from),
        ]);
    }
    Listing::with_rows(if full { "FULL PROCESSLIST" } else { "PROCESSLIST" }, rows)
}

fn wanted(errors_only: bool, cx: &ShowContext<'_>) -> Vec<WarningInfo> {
    let mut warnings = cx.statement.server.warnings();
    warnings.retain(|w| !errors_only || w.level == Level::Error);
    warnings
}

pub(super) fn warnings(errors_only: bool, limit: Option<&Limit>, cx: &ShowContext<'_>) -> Result<ShowResult> {
    let row = |w: WarningInfo| {
        let level = match w.level {
            Level::Note => "Note",
            Level::Warning => "Warning",
            Level::Error => "Error",
        };
        vec![level.into(), Value::UInt(u64::from(w.code)), w.message.into()]
    };
    let rows = wanted(errors_only, cx).into_iter().map(row).collect();
    Ok(Listing::with_rows("WARNINGS", limited(rows, limit, cx)?).unfiltered())
}

pub(super) fn warning_count(errors_only: bool, cx: &ShowContext<'_>) -> Listing {
    // Also those beyond `max_error_count`, which are not kept.
    let count = if errors_only { wanted(true, cx).len() as u64 } else { cx.statement.session.warning_count() };
    Listing::with_rows(if errors_only { "COUNT ERRORS" } else { "COUNT WARNINGS" }, vec![vec![Value::UInt(count)]])
}

pub(super) fn grants(user: Option<&UserName>, using: &[UserName], cx: &ShowContext<'_>) -> Result<Listing> {
    let (account, lines) = cx.statement.server.grants(user, using)?;
    let mut listing = Listing::with_rows("GRANTS", lines.into_iter().map(|line| vec![Value::from(line)]).collect());
    listing.rename(0, format!("Grants for {account}"));
    Ok(listing)
}

/// Recorded from MySQL.
const PRIVILEGES_TEXT: &str = include_str!("privileges.txt");

pub(super) fn privileges() -> Listing {
    let row = |line: &str| {
        let mut fields: Row = line.split('\t').map(Value::from).collect();
        fields.resize(3, "".into());
        fields
    };
    Listing::with_rows("PRIVILEGES", PRIVILEGES_TEXT.lines().map(row).collect())
}
