//! PARTITION BY as SHOW CREATE TABLE prints it.
//!
//! ```text
//! /*!50100 PARTITION BY RANGE (`a`)
//! (PARTITION p0 VALUES LESS THAN (10) COMMENT = 'x' ENGINE = InnoDB,
//!  PARTITION p1 VALUES LESS THAN MAXVALUE ENGINE = InnoDB) */
//! ```

use std::fmt::Write;

use vaquita_types::schema::{PartitionDef, PartitionKey, PartitionValues, Partitioning, TableDef};

use super::show_create::Quoting;
use crate::system::partition_text::description;
use crate::system::text::quoted;

/// What stands behind the options of a table.
pub(super) fn partitions_text(def: &TableDef, by: &Partitioning, quoting: Quoting, out: &mut String) {
    let names = quoting.where_needed();
    let list = |ids: &[vaquita_types::schema::ColumnId]| {
        let shown = ids.iter().filter_map(|id| def.columns.get(def.position_of(*id)?)).map(|column| names.name(&column.name));
        shown.collect::<Vec<String>>().join(",")
    };
    let method = by.method.name();
    let version = if by.has_columns() { 50500 } else { 50100 };
    let _ = write!(out, "\n/*!{version} PARTITION BY {method} ");
    let _ = match &by.key {
        PartitionKey::Expr(text) => write!(out, "({text})"),
        PartitionKey::Columns(ids) if by.has_columns() => write!(out, " COLUMNS({})", list(ids)),
        PartitionKey::Columns(ids) => write!(out, "({})", list(ids)),
        PartitionKey::PrimaryKey => write!(out, "()"),
    };
    if by.counted {
        let _ = write!(out, "\nPARTITIONS {}", by.partitions.len());
    }
    if by.listed {
        let engine = if def.options.engine.is_empty() { "InnoDB" } else { &def.options.engine };
        for (n, partition) in by.partitions.iter().enumerate() {
            out.push_str(if n == 0 { "\n(" } else { ",\n " });
            let _ = write!(out, "PARTITION {}", names.name(&partition.name));
            values_clause(def, by, partition, out);
            for (name, rows) in [("MAX_ROWS", partition.rows_max), ("MIN_ROWS", partition.rows_min)] {
                if let Some(rows) = rows {
                    let _ = write!(out, " {name} = {rows}");
                }
            }
            if !partition.comment.is_empty() {
                let _ = write!(out, " COMMENT = {}", quoted(&partition.comment));
            }
            let _ = write!(out, " ENGINE = {engine}");
        }
        out.push(')');
    }
    out.push_str(" */");
}

fn values_clause(def: &TableDef, by: &Partitioning, partition: &PartitionDef, out: &mut String) {
    let Some(values) = description(def, by, partition) else { return };
    let _ = match &partition.values {
        PartitionValues::None => Ok(()),
        PartitionValues::LessThan(_) if values == "MAXVALUE" && !by.has_columns() => write!(out, " VALUES LESS THAN MAXVALUE"),
        PartitionValues::LessThan(_) => write!(out, " VALUES LESS THAN ({values})"),
        PartitionValues::In(_) => write!(out, " VALUES IN ({values})"),
    };
}
