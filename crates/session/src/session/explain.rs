//! EXPLAIN: plans a statement and sends the plan as a result set.
//!
//! FORMAT=TRADITIONAL gives MySQL's table of one row per table read, TREE and JSON one text. The format is
//! `explain_format` unless the statement says it. EXPLAIN ANALYZE, FOR CONNECTION and INTO are refused.

use vaquita_parser::StatementKind;
use vaquita_parser::ast::{Explain, ExplainTarget};
use vaquita_plan::explain::{self, ExplainRow};
use vaquita_plan::expr::Expr;
use vaquita_plan::node::OutputColumn;
use vaquita_types::charset::CollationId;
use vaquita_types::errno::ER_UNKNOWN_EXPLAIN_FORMAT;
use vaquita_types::{ColumnType, Error, Result, Value};

use super::Session;
use super::exchange::Exchange;
use super::execute::Done;

impl Session {
    pub(super) fn explain(&mut self, statement: &Explain, exchange: &mut Exchange<'_>) -> Result<Done> {
        if statement.analyze {
            return Err(Error::unsupported("EXPLAIN ANALYZE"));
        }
        if statement.into.is_some() || statement.schema.is_some() {
            return Err(Error::unsupported("EXPLAIN INTO and FOR SCHEMA"));
        }
        let ExplainTarget::Statement { statement: target, .. } = &statement.target else {
            return Err(Error::unsupported("EXPLAIN FOR CONNECTION"));
        };
        if !StatementKind::of(target).is_planned() {
            return Err(Error::unsupported("EXPLAIN of this statement"));
        }
        let plan = self.plan(target, &[])?;
        self.admit_at_once(&plan)?;
        let (columns, rows) = match self.explain_format(statement).as_str() {
            "TREE" => (vec![text("EXPLAIN")], vec![vec![Value::from(explain::tree(&plan))]]),
            "JSON" => (vec![text("EXPLAIN")], vec![vec![Value::from(explain::json(&plan))]]),
            "TRADITIONAL" | "TRADITIONAL_STRICT" => (table_columns(), explain::rows(&plan).into_iter().map(table_row).collect()),
            other => return Err(Error::new(&ER_UNKNOWN_EXPLAIN_FORMAT, &[&other])),
        };
        self.put_rows(&columns, &rows, exchange)
    }

    fn explain_format(&self, statement: &Explain) -> String {
        if let Some(format) = &statement.format {
            return format.to_ascii_uppercase();
        }
        self.env.settings.explain_format.clone()
    }
}

fn text(name: &str) -> OutputColumn {
    column(name, ColumnType::varchar(16_383, CollationId::default()))
}

fn column(name: &str, ty: ColumnType) -> OutputColumn {
    OutputColumn { expr: Expr::slot(0, ty, true), name: name.to_string(), origin: None }
}

fn table_columns() -> Vec<OutputColumn> {
    let of = |name: &&str| match *name {
        "id" | "rows" => column(name, ColumnType::bigint_unsigned()),
        "filtered" => column(name, ColumnType { decimals: 2, ..ColumnType::double() }),
        _ => text(name),
    };
    explain::COLUMNS.iter().map(of).collect()
}

fn table_row(row: ExplainRow) -> Vec<Value> {
    let text = |value: Option<String>| value.map_or(Value::Null, Value::from);
    let number = |value: Option<u64>| value.map_or(Value::Null, Value::UInt);
    vec![
        number(row.id),
        Value::from(row.select_type),
        text(row.table),
        text(row.partitions),
        text(row.access),
        text(row.possible_keys),
        text(row.key),
        text(row.key_len),
        text(row.reference),
        number(row.rows),
        row.filtered.map_or(Value::Null, Value::Float),
        text(row.extra),
    ]
}
