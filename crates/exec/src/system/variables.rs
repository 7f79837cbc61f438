//! System tables about variables: what they are, who has set them, and those of the session that asks.

use vaquita_types::Result;

use super::row::row;
use super::{Row, SystemContext};
use crate::context::{VariableScope, thread_id};

/// variables_info.
pub fn info(cx: &SystemContext<'_>) -> Result<Vec<Row>> {
    let line = |variable: crate::context::VariableInfo| {
        let bounds = |bound: &str| if bound.is_empty() { "0".to_string() } else { bound.to_string() };
        let (at, user, host) = variable
            .set_by
            .map_or((None, None, None), |(at_us, user, host)| (Some(cx.exact_time(at_us)), Some(user), Some(host)));
        row![variable.name, variable.source, "", bounds(&variable.min), bounds(&variable.max), at, user, host]
    };
    Ok(cx.statement.server.variable_infos().into_iter().map(line).collect())
}

/// variables_metadata.
pub fn metadata(cx: &SystemContext<'_>) -> Result<Vec<Row>> {
    let infos = cx.statement.server.variable_infos().into_iter();
    Ok(infos
        .map(|variable| row![variable.name, variable.scope, variable.data_type, variable.min, variable.max, variable.prose])
        .collect())
}

/// persisted_variables.
pub fn persisted(cx: &SystemContext<'_>) -> Result<Vec<Row>> {
    let infos = cx.statement.server.variable_infos().into_iter();
    Ok(infos.filter_map(|variable| Some(row![variable.name, variable.persisted?])).collect())
}

/// variables_by_thread: a session keeps its values to itself, so that only those of the one that asks are known.
pub fn by_thread(cx: &SystemContext<'_>) -> Result<Vec<Row>> {
    let server = cx.statement.server;
    let own = thread_id(server.connection_id());
    Ok(server.variables(VariableScope::Session).into_iter().map(|(name, value)| row![own, name, value]).collect())
}

/// user_variables_by_thread, of the same.
pub fn of_users(cx: &SystemContext<'_>) -> Result<Vec<Row>> {
    let server = cx.statement.server;
    let own = thread_id(server.connection_id());
    Ok(server.user_variables().into_iter().map(|(name, value)| row![own, name, value]).collect())
}
