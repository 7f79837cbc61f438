//! information_schema.PARTITIONS: a row for each partition, or subpartition where there are any, and one for each table without.

use vaquita_types::schema::{IndexId, TableDef};
use vaquita_types::{Result, Value};

use super::partition_text::{description, expression};
use super::row::{NULL, row};
use super::{Row, SystemContext};

/// Columns whose values cost a look at storage.
const TABLE_ROWS: usize = 13;
const AVG_ROW_LENGTH: usize = 14;

pub fn partitions(cx: &SystemContext<'_>) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    cx.for_each_table(|table| {
        let def = &table.def;
        let own: Vec<IndexId> = def.indexes.iter().map(|index| index.id).collect();
        let Some(by) = &def.partitioning else {
            rows.push(row_of(cx, def, None, def.id, &own)?);
            return Ok(());
        };
        let method = if by.has_columns() { format!("{} COLUMNS", by.method.name()) } else { by.method.name().to_string() };
        let expression_of_first = expression(def, &by.key);
        for (first, named) in by.first_level().iter().enumerate() {
            let description = description(def, by, named);
            for (n, number) in by.numbers_of(first).enumerate() {
                cx.statement.session.check_interrupt()?;
                let Some(partition) = by.partitions.get(number) else { continue };
                let subpartition = by.subpartitions.as_ref().map(|by| ShownSubpartition {
                    name: &partition.name,
                    number: n as u64 + 1,
                    method: by.method.name(),
                    expression: expression(def, &by.key),
                });
                let shown = Shown {
                    name: &named.name,
                    number: first as u64 + 1,
                    method: &method,
                    expression: expression_of_first.as_deref(),
                    description: description.as_deref(),
                    comment: &partition.comment,
                    subpartition,
                };
                rows.push(row_of(cx, def, Some(shown), partition.id, &partition.indexes)?);
            }
        }
        Ok(())
    })?;
    Ok(rows)
}

struct Shown<'a> {
    name: &'a str,
    number: u64,
    method: &'a str,
    expression: Option<&'a str>,
    description: Option<&'a str>,
    comment: &'a str,
    subpartition: Option<ShownSubpartition<'a>>,
}

struct ShownSubpartition<'a> {
    name: &'a str,
    number: u64,
    method: &'static str,
    expression: Option<String>,
}

fn row_of(
    cx: &SystemContext<'_>,
    def: &TableDef,
    shown: Option<Shown<'_>>,
    id: vaquita_types::schema::TableId,
    indexes: &[IndexId],
) -> Result<Row> {
    let wanted = cx.reads(TABLE_ROWS) || cx.reads(AVG_ROW_LENGTH);
    let row_count = if wanted { cx.statement.txn.borrow().row_count(id)? } else { 0 };
    let bytes = |id: &IndexId| {
        let range = vaquita_storage::key::index_range(*id);
        cx.statement.store.data_range_bytes(&range.lower, &range.upper)
    };
    let data_bytes = indexes.first().map_or(0, bytes);
    let text = |value: Option<&str>| value.map_or(NULL, Value::from);
    let shown = shown.as_ref();
    let below = shown.and_then(|p| p.subpartition.as_ref());
    Ok(row![
        "def",
        def.database.as_str(),
        def.name.as_str(),
        text(shown.map(|p| p.name)),
        text(below.map(|p| p.name)),
        shown.map_or(NULL, |p| Value::UInt(p.number)),
        below.map_or(NULL, |p| Value::UInt(p.number)),
        shown.map_or(NULL, |_| Value::from("0")),
        text(shown.map(|p| p.method)),
        text(below.map(|p| p.method)),
        text(shown.and_then(|p| p.expression)),
        text(below.and_then(|p| p.expression.as_deref())),
        text(shown.and_then(|p| p.description)),
        row_count,
        data_bytes.checked_div(row_count).unwrap_or(0),
        data_bytes,
        0u64,
        indexes.iter().skip(1).map(bytes).sum::<u64>(),
        0u64,
        cx.time(def.created_us),
        NULL,
        NULL,
        NULL,
        shown.map_or("", |p| p.comment),
        shown.map_or("", |_| "default"),
        NULL,
    ])
}
