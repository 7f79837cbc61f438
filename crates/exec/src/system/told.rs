//! System tables of which the server has the rows: about channels of replication, and about tuning.

use vaquita_types::temporal::DateTime;
use vaquita_types::{Result, TypeKind, Value};

use super::{Row, SystemContext, registry};

/// Times come as microseconds since 1970, 0 for none.
pub fn rows(cx: &SystemContext<'_>, database: &str, table: &str) -> Result<Vec<Row>> {
    let Some(system) = registry::find(database, table) else { return Ok(Vec::new()) };
    let mut rows = cx.statement.server.told_rows(table);
    let times: Vec<usize> =
        system.def.columns.iter().enumerate().filter(|(_, c)| c.ty.kind == TypeKind::Timestamp).map(|(at, _)| at).collect();
    for row in &mut rows {
        for at in &times {
            let Some(value) = row.get_mut(*at) else { continue };
            *value = match value {
                Value::UInt(0) => Value::DateTime(DateTime::ZERO),
                Value::UInt(us) => cx.exact_time(*us),
                _ => Value::Null,
            };
        }
    }
    Ok(rows)
}
