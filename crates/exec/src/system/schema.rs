//! information_schema's tables about databases, tables, indexes and constraints.

use std::cell::LazyCell;

use vaquita_storage::Table;
use vaquita_types::charset;
use vaquita_types::schema::{IndexDef, IndexId, IndexKind, TableDef};
use vaquita_types::{Result, Value};

use super::row::{NULL, row, yes_no};
use super::{Row, SYSTEM_DATABASES, SystemContext, SystemTable, references, views};

pub fn schemata(cx: &SystemContext<'_>) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for name in SYSTEM_DATABASES.iter().filter(|name| cx.wants_database(name) && cx.statement.server.sees(name, None)) {
        let collation = charset::collation(super::database_collation(name));
        rows.push(row!["def", *name, collation.charset.name, collation.name, NULL, "NO"]);
    }
    for database in cx.databases()? {
        let collation = charset::collation(database.collation);
        rows.push(row!["def", database.name.as_str(), collation.charset.name, collation.name, NULL, "NO"]);
    }
    Ok(rows)
}

pub fn tables(cx: &SystemContext<'_>) -> Result<Vec<Row>> {
    let mut rows: Vec<Row> = cx.system_tables().map(|table| system_table_row(table, cx)).collect();
    cx.for_each_table(|table| {
        rows.push(table_row(table, cx)?);
        Ok(())
    })?;
    rows.extend(views::table_rows(cx)?);
    Ok(rows)
}

/// What VERSION is since MySQL 5.0.
const TABLE_VERSION: u64 = 10;

fn system_table_row(table: &SystemTable, cx: &SystemContext<'_>) -> Row {
    let is_view = table.table_type == "SYSTEM VIEW";
    row![
        "def",
        table.def.database.as_str(),
        table.def.name.as_str(),
        table.table_type,
        (!is_view).then_some(if table.def.database == "mysql" { "InnoDB" } else { "PERFORMANCE_SCHEMA" }),
        TABLE_VERSION,
        (!is_view).then_some("Dynamic"),
        0u64,
        0u64,
        0u64,
        0u64,
        0u64,
        0u64,
        NULL,
        cx.time(cx.statement.session.statement_time_us().max(0) as u64),
        NULL,
        NULL,
        (!is_view).then_some("utf8mb4_0900_ai_ci"),
        NULL,
        "",
        "",
    ]
}

/// Columns of TABLES.
const TABLE_ROWS: usize = 7;
const AVG_ROW_LENGTH: usize = 8;

fn table_row(table: &Table, cx: &SystemContext<'_>) -> Result<Row> {
    let def = &table.def;
    let txn = cx.statement.txn.borrow();
    let row_count = if cx.reads(TABLE_ROWS) || cx.reads(AVG_ROW_LENGTH) { table.row_count(&txn)? } else { 0 };
    // MySQL tells nothing before the first value is used.
    let next = || -> Result<Option<u64>> {
        let next = def.auto_increment_column().map(|_| txn.peek_auto_increment(def.id)).transpose()?;
        Ok(next.filter(|n| *n > 1))
    };
    // RocksDB must estimate them.
    let bytes = |id: IndexId| {
        let range = vaquita_storage::key::index_range(id);
        cx.statement.store.data_range_bytes(&range.lower, &range.upper)
    };
    let clustered = def.clustered().id;
    let data_ids = std::iter::once(clustered).chain(def.partitions().iter().filter_map(|p| p.indexes.first().copied()));
    let data_bytes = LazyCell::new(|| data_ids.map(bytes).sum::<u64>());
    Ok(row![
        cx;
        0;
        "def",
        def.database.as_str(),
        def.name.as_str(),
        "BASE TABLE",
        engine_name(def),
        TABLE_VERSION,
        row_format(def),
        row_count,
        data_bytes.checked_div(row_count).unwrap_or(0),
        *data_bytes,
        0u64,
        secondary_ids(def).map(bytes).sum::<u64>(),
        0u64,
        next()?,
        cx.time(def.created_us),
        NULL,
        NULL,
        charset::collation(def.collation).name,
        NULL,
        create_options(def),
        def.options.comment.as_str(),
    ])
}

/// The ids of all indexes but the clustered ones.
fn secondary_ids(def: &TableDef) -> impl Iterator<Item = IndexId> {
    let own = def.indexes.iter().skip(1).map(|index| index.id);
    own.chain(def.partitions().iter().flat_map(|p| p.indexes.iter().skip(1).copied()))
}

fn engine_name(def: &TableDef) -> &str {
    if def.options.engine.is_empty() { "InnoDB" } else { &def.options.engine }
}

/// The label of the column's ENUM.
pub fn row_format(def: &TableDef) -> String {
    let format = def.options.row_format.as_deref().unwrap_or("DYNAMIC").to_ascii_lowercase();
    let mut chars = format.chars();
    chars.next().map_or(String::new(), |first| first.to_ascii_uppercase().to_string() + chars.as_str())
}

/// Options by the names that CREATE_OPTIONS gives them, in its order.
const CREATE_OPTIONS: &[&str] = &[
    "max_rows",
    "min_rows",
    "avg_row_length",
    "row_format",
    "stats_sample_pages",
    "stats_auto_recalc",
    "KEY_BLOCK_SIZE",
    "COMPRESSION",
    "stats_persistent",
    "pack_keys",
    "checksum",
    "delay_key_write",
];

/// `row_format=DYNAMIC stats_persistent=0`
fn create_options(def: &TableDef) -> String {
    let given = |name: &&str| {
        let key = name.to_ascii_uppercase();
        let value = match key.as_str() {
            "ROW_FORMAT" => def.options.row_format.clone(),
            _ => def.options.others.iter().find(|(k, _)| *k == key).map(|(_, value)| value.replace('\'', "\"")),
        };
        value.map(|value| format!("{name}={value}"))
    };
    let partitioned = def.is_partitioned().then(|| "partitioned".to_string());
    CREATE_OPTIONS.iter().filter_map(given).chain(partitioned).collect::<Vec<String>>().join(" ")
}

/// The indexes that were declared: not the one of a hidden row id.
fn declared(def: &TableDef) -> impl Iterator<Item = (usize, &IndexDef)> {
    def.indexes.iter().enumerate().filter(|(_, index)| !index.parts.is_empty())
}

pub fn statistics(cx: &SystemContext<'_>) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for table in cx.system_tables() {
        let keys = table.def.columns.iter().zip(&table.columns).filter(|(_, recorded)| recorded.key == "PRI");
        for (n, (column, _)) in keys.enumerate() {
            let (database, name) = (table.def.database.as_str(), table.def.name.as_str());
            let key = IndexPartRow {
                database,
                table: name,
                index: "PRIMARY",
                unique: true,
                number: n as u64 + 1,
                column: Some(&column.name),
                expression: None,
            };
            rows.push(key.row(Value::from("A"), NULL, NULL, column.nullable, "BTREE", "", true));
        }
    }
    cx.for_each_table(|table| {
        let row_count = table.row_count(&cx.statement.txn.borrow())?;
        for (_, index) in declared(&table.def) {
            push_index(table, index, row_count, &mut rows);
        }
        Ok(())
    })?;
    Ok(rows)
}

/// The part of a row of STATISTICS that names it.
struct IndexPartRow<'a> {
    database: &'a str,
    table: &'a str,
    index: &'a str,
    unique: bool,
    number: u64,
    /// None for an expression.
    column: Option<&'a str>,
    expression: Option<String>,
}

impl IndexPartRow<'_> {
    #[allow(clippy::too_many_arguments)]
    fn row(
        &self,
        order: Value,
        cardinality: Value,
        prefix: Value,
        nullable: bool,
        using: &str,
        comment: &str,
        visible: bool,
    ) -> Row {
        row![
            "def",
            self.database,
            self.table,
            u64::from(!self.unique),
            self.database,
            self.index,
            self.number,
            self.column.map_or(NULL, Value::from),
            order,
            cardinality,
            prefix,
            NULL,
            if nullable { "YES" } else { "" },
            using,
            "",
            comment,
            yes_no(visible),
            self.expression.as_deref().map_or(NULL, Value::from),
        ]
    }
}

const RECTANGLE_BYTES: i64 = 32;

fn push_index(table: &Table, index: &IndexDef, row_count: u64, rows: &mut Vec<Row>) {
    let def = &table.def;
    let statistics = table.statistics();
    let distinct = statistics.as_ref().and_then(|s| s.index(index.id)).map(|s| s.distinct.as_slice()).unwrap_or_default();
    for (n, part) in index.parts.iter().enumerate() {
        let Some(column) = def.position_of(part.column).and_then(|at| def.columns.get(at)) else { continue };
        // Counted by ANALYZE; before that every row is taken to be different.
        let cardinality = distinct.get(n).copied().unwrap_or(row_count).min(row_count);
        let named = IndexPartRow {
            database: &def.database,
            table: &def.name,
            index: &index.name,
            unique: index.is_unique(),
            number: n as u64 + 1,
            column: if column.is_hidden() { None } else { Some(&column.name) },
            expression: column.generated.as_ref().filter(|generated| generated.hidden).map(|g| super::text::escaped(&g.expr)),
        };
        let prefix = match part.prefix {
            // Of a rectangle, as InnoDB stores it.
            None if index.is_spatial() => Value::Int(RECTANGLE_BYTES),
            prefix => prefix.map_or(NULL, |chars| Value::Int(i64::from(chars))),
        };
        let (order, method) = match part.descending {
            _ if index.is_full_text() => (NULL, "FULLTEXT"),
            _ if index.is_spatial() => (Value::from("A"), "SPATIAL"),
            // As MySQL's MEMORY has it; rows of all engines are found alike.
            _ if def.options.engine == "MEMORY" && index.using.as_deref() != Some("BTREE") => (NULL, "HASH"),
            true => (Value::from("D"), "BTREE"),
            false => (Value::from("A"), "BTREE"),
        };
        rows.push(named.row(order, Value::UInt(cardinality), prefix, column.nullable, method, &index.comment, !index.invisible));
    }
}

pub fn table_constraints(cx: &SystemContext<'_>) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for table in cx.system_tables().filter(|t| t.columns.iter().any(|c| c.key == "PRI")) {
        let (database, name) = (table.def.database.as_str(), table.def.name.as_str());
        rows.push(row!["def", database, "PRIMARY", database, name, "PRIMARY KEY", "YES"]);
    }
    cx.for_each_table(|table| {
        let def = &table.def;
        for (_, index) in declared(def).filter(|(_, i)| i.is_unique()) {
            let kind = if index.kind == IndexKind::Primary { "PRIMARY KEY" } else { "UNIQUE" };
            rows.push(row![
                "def",
                def.database.as_str(),
                index.name.as_str(),
                def.database.as_str(),
                def.name.as_str(),
                kind,
                "YES"
            ]);
        }
        for key in &def.foreign_keys {
            let database = def.database.as_str();
            rows.push(row!["def", database, key.name.as_str(), database, def.name.as_str(), "FOREIGN KEY", "YES"]);
        }
        for check in &def.options.checks {
            let (database, enforced) = (def.database.as_str(), yes_no(check.enforced));
            rows.push(row!["def", database, check.name.as_str(), database, def.name.as_str(), "CHECK", enforced]);
        }
        Ok(())
    })?;
    Ok(rows)
}

pub fn check_constraints(cx: &SystemContext<'_>) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    cx.for_each_table(|table| {
        let database = table.def.database.as_str();
        rows.extend(
            table
                .def
                .options
                .checks
                .iter()
                .map(|check| row!["def", database, check.name.as_str(), super::text::escaped(&check.expr)]),
        );
        Ok(())
    })?;
    Ok(rows)
}

pub fn key_column_usage(cx: &SystemContext<'_>) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for table in cx.system_tables() {
        let keys = table.def.columns.iter().zip(&table.columns).filter(|(_, recorded)| recorded.key == "PRI");
        for (n, (column, _)) in keys.enumerate() {
            if cx.column_privileges(&table.def, &column.name).is_none() {
                continue;
            }
            rows.push(key_column(&table.def, "PRIMARY", &column.name, n));
        }
    }
    cx.for_each_table(|table| {
        let def = &table.def;
        for (_, index) in declared(def).filter(|(_, i)| i.is_unique()) {
            for (n, part) in index.parts.iter().enumerate() {
                if let Some(column) = def.position_of(part.column).and_then(|at| def.columns.get(at))
                    && !column.is_hidden()
                    && cx.column_privileges(def, &column.name).is_some()
                {
                    rows.push(key_column(def, &index.name, &column.name, n));
                }
            }
        }
        references::push_key_columns(cx, def, &mut rows);
        Ok(())
    })?;
    Ok(rows)
}

fn key_column(def: &TableDef, constraint: &str, column: &str, position: usize) -> Row {
    let (database, name) = (def.database.as_str(), def.name.as_str());
    row!["def", database, constraint, "def", database, name, column, position as u64 + 1, NULL, NULL, NULL, NULL]
}
