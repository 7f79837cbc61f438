//! PARTITION BY as SHOW CREATE TABLE prints it.
//!
//! ```text
//! /*!50100 PARTITION BY RANGE (`a`)
//! (PARTITION p0 VALUES LESS THAN (10) COMMENT = 'x' ENGINE = InnoDB,
//!  PARTITION p1 VALUES LESS THAN MAXVALUE ENGINE = InnoDB) */
//! ```
//!
//! Of subpartitions either the number is printed, or each; then the options stand behind these, and none behind their partition.

use std::fmt::Write;

use vaquita_types::schema::{PartitionDef, PartitionKey, PartitionMethod, PartitionValues, Partitioning, TableDef};

use super::show_create::Quoting;
use crate::system::partition_text::description;

/// What stands behind the options of a table.
pub(super) fn partitions_text(def: &TableDef, by: &Partitioning, quoting: Quoting, out: &mut String) {
    let names = quoting.where_needed();
    let list = |ids: &[vaquita_types::schema::ColumnId]| {
        let shown = ids.iter().filter_map(|id| def.columns.get(def.position_of(*id)?)).map(|column| names.name(&column.name));
        shown.collect::<Vec<String>>().join(",")
    };
    let key_text = |key: &PartitionKey| match key {
        PartitionKey::Expr(text) => format!("({})", requoted(text, quoting)),
        PartitionKey::Columns(ids) => format!("({})", list(ids)),
        PartitionKey::PrimaryKey => "()".to_string(),
    };
    let method = by.method.name();
    let (version, columns) = if by.has_columns() { (50500, " COLUMNS") } else { (50100, "") };
    let algorithm = |method: PartitionMethod| match method.is_of_mysql_5_1() {
        true => format!("*/ /*!50611 ALGORITHM = 1 */ /*!{version} "),
        false => String::new(),
    };
    let _ = write!(out, "\n/*!{version} PARTITION BY {method} {columns}{}{}", algorithm(by.method), key_text(&by.key));
    if by.counted {
        let _ = write!(out, "\nPARTITIONS {}", by.partitions.len());
    }
    if let Some(by) = &by.subpartitions {
        let _ = write!(out, "\nSUBPARTITION BY {} {}{}", by.method.name(), algorithm(by.method), key_text(&by.key));
        if by.counted {
            let _ = write!(out, "\nSUBPARTITIONS {}", by.count);
        }
    }
    let engine = if def.options.engine.is_empty() { "InnoDB" } else { &def.options.engine };
    if by.listed {
        for (n, partition) in by.first_level().iter().enumerate() {
            out.push_str(if n == 0 { "\n(" } else { ",\n " });
            let _ = write!(out, "PARTITION {}", names.name(&partition.name));
            values_clause(def, by, partition, out);
            if !by.subpartitions.as_ref().is_some_and(|by| by.listed) {
                options(partition, engine, out);
                continue;
            }
            for (n, subpartition) in by.partitions.get(by.numbers_of(n)).unwrap_or_default().iter().enumerate() {
                out.push_str(if n == 0 { "\n (" } else { ",\n  " });
                let _ = write!(out, "SUBPARTITION {}", names.name(&subpartition.name));
                options(subpartition, engine, out);
            }
            out.push(')');
        }
        out.push(')');
    }
    out.push_str(" */");
}

/// The text of an expression, whose names stand in backquotes, with names as SHOW CREATE writes them.
pub(super) fn requoted(text: &str, quoting: Quoting) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '`' => {
                let mut name = String::new();
                while let Some(c) = chars.next() {
                    if c == '`' && chars.next_if_eq(&'`').is_none() {
                        break;
                    }
                    name.push(c);
                }
                out.push_str(&quoting.name(&name));
            }
            '\'' => {
                out.push(c);
                let mut escaped = false;
                for c in chars.by_ref() {
                    out.push(c);
                    if c == '\'' && !escaped {
                        break;
                    }
                    escaped = c == '\\' && !escaped;
                }
            }
            c => out.push(c),
        }
    }
    out
}

fn options(partition: &PartitionDef, engine: &str, out: &mut String) {
    for (name, rows) in [("MAX_ROWS", partition.rows_max), ("MIN_ROWS", partition.rows_min)] {
        if let Some(rows) = rows {
            let _ = write!(out, " {name} = {rows}");
        }
    }
    if !partition.comment.is_empty() {
        let _ = write!(out, " COMMENT = {}", escaped(&partition.comment));
    }
    let _ = write!(out, " ENGINE = {engine}");
}

/// A comment in quotes: MySQL escapes it otherwise than other texts.
fn escaped(text: &str) -> String {
    let mut out = String::from("'");
    for c in text.chars() {
        match c {
            '\\' => out.push_str("\\\\"),
            '\'' => out.push_str("\\'"),
            '\x1a' => out.push_str("\\Z"),
            '\0' => out.push_str("\\0"),
            c => out.push(c),
        }
    }
    out + "'"
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
