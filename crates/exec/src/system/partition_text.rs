//! What divides a table, as information_schema.PARTITIONS has it and SHOW CREATE TABLE prints it.

use vaquita_types::schema::{ColumnDef, PartitionDef, PartitionKey, PartitionValues, Partitioning, TableDef};
use vaquita_types::{Value, convert};

use super::text::written_value;

/// PARTITION_DESCRIPTION.
pub(crate) fn description(def: &TableDef, by: &Partitioning, partition: &PartitionDef) -> Option<String> {
    let columns: Vec<Option<&ColumnDef>> =
        def.partition_columns().iter().map(|id| def.position_of(*id).and_then(|at| def.columns.get(at))).collect();
    let text = |value: &Value, at: usize| match value {
        Value::Null => "NULL".to_string(),
        Value::Int(n) => n.to_string(),
        Value::UInt(n) => n.to_string(),
        value => match columns.get(at).copied().flatten().filter(|_| by.has_columns()) {
            Some(column) => written_value(value, &column.ty),
            None => String::from_utf8_lossy(&convert::to_text(value, &vaquita_types::ColumnType::bigint())).into_owned(),
        },
    };
    let row = |values: &[Value]| values.iter().enumerate().map(|(at, value)| text(value, at)).collect::<Vec<_>>().join(",");
    match &partition.values {
        PartitionValues::None => None,
        PartitionValues::LessThan(bounds) => {
            let bound =
                |(at, bound): (usize, &Option<Value>)| bound.as_ref().map_or("MAXVALUE".to_string(), |value| text(value, at));
            Some(bounds.iter().enumerate().map(bound).collect::<Vec<_>>().join(","))
        }
        PartitionValues::In(rows) => {
            let several = by.has_columns() && columns.len() > 1;
            let shown = rows.iter().map(|values| if several { format!("({})", row(values)) } else { row(values) });
            Some(shown.collect::<Vec<_>>().join(","))
        }
    }
}

/// PARTITION_EXPRESSION and SUBPARTITION_EXPRESSION.
pub(crate) fn expression(def: &TableDef, key: &PartitionKey) -> Option<String> {
    match key {
        PartitionKey::Expr(text) => Some(text.clone()),
        PartitionKey::PrimaryKey => None,
        PartitionKey::Columns(ids) => {
            let names = ids.iter().filter_map(|id| def.columns.get(def.position_of(*id)?));
            Some(names.map(|column| format!("`{}`", column.name.replace('`', "``"))).collect::<Vec<_>>().join(","))
        }
    }
}
