//! InnoDB's tables about tables, indexes and sizes, for the tools that ask them: what information_schema.INNODB_… and mysql.innodb_…_stats tell where the
//! engine is not InnoDB.
//!
//! A table is a tablespace of its own, as with `innodb_file_per_table`; sizes are those of RocksDB's files, in pages of `innodb_page_size` where InnoDB counts
//! pages. What has no meaning here (page numbers, flags) has InnoDB's usual value.

mod types;

use vaquita_storage::Table;
use vaquita_types::schema::{ColumnDef, IndexDef, IndexId, TableDef, TableId};
use vaquita_types::{Result, Value};

use self::types::{bytes_max, is_virtual, main_type, precise_type};
use super::row::{NULL, row};
use super::schema::row_format;
use super::{Row, SystemContext};
use crate::context::VariableScope;

const PAGE_BYTES: u64 = 16_384;

/// Of a table with files of its own and dynamic rows.
const TABLE_FLAGS: i64 = 33;
const SPACE_FLAGS: u64 = 16_417;
/// Columns that InnoDB adds to each table: row id, transaction and undo pointer.
const OWN_COLUMNS: i64 = 3;

/// What has indexes of its own: a table, or a partition of one.
struct Part<'a> {
    def: &'a TableDef,
    id: TableId,
    /// `db/table`, `db/table#p#partition`
    name: String,
    /// In the order of the table's indexes.
    indexes: Vec<IndexId>,
}

impl Part<'_> {
    fn number(&self) -> u64 {
        u64::from(self.id.0)
    }

    fn indexes(&self) -> impl Iterator<Item = (&IndexDef, IndexId)> {
        self.def.indexes.iter().zip(self.indexes.iter().copied())
    }

    fn path(&self) -> String {
        format!("./{}.ibd", self.name)
    }

    /// The table's name, with that of its partition.
    fn table_name(&self) -> &str {
        self.name.split_once('/').map_or(&self.name, |(_, name)| name)
    }
}

fn for_each_part(cx: &SystemContext<'_>, mut f: impl FnMut(&Part<'_>, &Table) -> Result<()>) -> Result<()> {
    cx.for_each_table(|table| {
        let def = &table.def;
        let name = format!("{}/{}", def.database, def.name);
        let Some(by) = &def.partitioning else {
            let indexes = def.indexes.iter().map(|index| index.id).collect();
            return f(&Part { def, id: def.id, name, indexes }, table);
        };
        for (first, named) in by.first_level().iter().enumerate() {
            for number in by.numbers_of(first) {
                cx.statement.session.check_interrupt()?;
                let Some(partition) = by.partitions.get(number) else { continue };
                let first_name = format!("{name}#p#{}", named.name.to_lowercase());
                let name = match by.subpartitions {
                    Some(_) => format!("{first_name}#sp#{}", partition.name.to_lowercase()),
                    None => first_name,
                };
                f(&Part { def, id: partition.id, name, indexes: partition.indexes.clone() }, table)?;
            }
        }
        Ok(())
    })
}

/// One row for each.
fn row_of_each_part(cx: &SystemContext<'_>, mut row: impl FnMut(&Part<'_>, &Table) -> Result<Row>) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for_each_part(cx, |part, table| {
        rows.push(row(part, table)?);
        Ok(())
    })?;
    Ok(rows)
}

/// RocksDB's estimate of what an index has on disk.
fn bytes(cx: &SystemContext<'_>, id: IndexId) -> u64 {
    let range = vaquita_storage::key::index_range(id);
    cx.statement.store.data_range_bytes(&range.lower, &range.upper)
}

fn pages(bytes: u64) -> u64 {
    bytes.div_ceil(PAGE_BYTES)
}

/// The pages of the clustered index and of the others.
fn sizes(cx: &SystemContext<'_>, part: &Part<'_>) -> (u64, u64) {
    let mut pages = part.indexes.iter().map(|id| pages(bytes(cx, *id)));
    (pages.next().unwrap_or(0), pages.sum())
}

fn stored_columns(def: &TableDef) -> impl Iterator<Item = &ColumnDef> {
    def.columns.iter().filter(|column| !is_virtual(column))
}

pub fn tables(cx: &SystemContext<'_>) -> Result<Vec<Row>> {
    row_of_each_part(cx, |part, _| {
        Ok(row![
            part.number(),
            &part.name,
            TABLE_FLAGS,
            stored_columns(part.def).count() as i64 + OWN_COLUMNS,
            part.number(),
            row_format(part.def),
            0u64,
            "Single",
            0u64,
            0u64,
        ])
    })
}

pub fn columns(cx: &SystemContext<'_>) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for_each_part(cx, |part, _| {
        let mut stored = 0;
        let mut computed = 0;
        for (n, column) in part.def.columns.iter().enumerate() {
            let position = if is_virtual(column) {
                computed += 1;
                (computed << 16) + n as u64
            } else {
                stored += 1;
                stored - 1
            };
            let name = if column.is_hidden() { "" } else { &column.name };
            rows.push(row![
                part.number(),
                name,
                position,
                main_type(&column.ty),
                precise_type(column),
                bytes_max(&column.ty),
                0u64,
                NULL,
            ]);
        }
        Ok(())
    })?;
    Ok(rows)
}

/// The name that InnoDB gives an index, also to the one of a table without a key.
fn index_name(index: &IndexDef) -> &str {
    if index.parts.is_empty() { "GEN_CLUST_INDEX" } else { &index.name }
}

fn is_over_virtual(def: &TableDef, index: &IndexDef) -> bool {
    index.parts.iter().any(|part| {
        let column = def.position_of(part.column).and_then(|at| def.columns.get(at));
        column.is_some_and(is_virtual)
    })
}

pub fn indexes(cx: &SystemContext<'_>) -> Result<Vec<Row>> {
    const CLUSTERED: u64 = 1;
    const UNIQUE: u64 = 2;
    const FULL_TEXT: u64 = 32;
    const SPATIAL: u64 = 64;
    const VIRTUAL: u64 = 128;
    const MERGE_THRESHOLD: u64 = 50;
    let mut rows = Vec::new();
    for_each_part(cx, |part, _| {
        for (n, (index, id)) in part.indexes().enumerate() {
            let over_virtual = if is_over_virtual(part.def, index) { VIRTUAL } else { 0 };
            let (bits, fields) = match n {
                // It has the whole row, with the transaction and the undo pointer.
                0 => {
                    let is_declared = !index.parts.is_empty();
                    let (unique, own) = if is_declared { (UNIQUE, OWN_COLUMNS - 1) } else { (0, OWN_COLUMNS) };
                    (CLUSTERED | unique, stored_columns(part.def).count() as i64 + own)
                }
                _ if index.is_full_text() => (FULL_TEXT, index.parts.len() as i64),
                _ => {
                    let key = part.def.indexes.first().map_or(0, |clustered| clustered.parts.len().max(1));
                    let kind = if index.is_spatial() {
                        SPATIAL
                    } else if index.is_unique() {
                        UNIQUE
                    } else {
                        0
                    };
                    (kind | over_virtual, (index.parts.len() + key) as i64)
                }
            };
            rows.push(row![
                u64::from(id.0),
                index_name(index),
                part.number(),
                bits,
                fields,
                n as u64 + 4,
                part.number(),
                MERGE_THRESHOLD,
            ]);
        }
        Ok(())
    })?;
    Ok(rows)
}

pub fn fields(cx: &SystemContext<'_>) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for_each_part(cx, |part, _| {
        for (index, id) in part.indexes() {
            for (n, key) in index.parts.iter().enumerate() {
                let Some(column) = part.def.position_of(key.column).and_then(|at| part.def.columns.get(at)) else { continue };
                rows.push(row![id.0.to_string(), column.name.as_str(), n as u64]);
            }
        }
        Ok(())
    })?;
    Ok(rows)
}

pub fn tablespaces(cx: &SystemContext<'_>) -> Result<Vec<Row>> {
    const BLOCK_BYTES: u64 = 4096;
    const FILE_SIZE: usize = 8;
    let version = cx.statement.server.version();
    let version = version.split('-').next().unwrap_or_default();
    row_of_each_part(cx, |part, _| {
        let wanted = cx.reads(FILE_SIZE) || cx.reads(FILE_SIZE + 1);
        let size = if wanted { part.indexes.iter().map(|id| bytes(cx, *id)).sum::<u64>() } else { 0 };
        Ok(row![
            part.number(),
            &part.name,
            SPACE_FLAGS,
            row_format(part.def),
            PAGE_BYTES,
            0u64,
            "Single",
            BLOCK_BYTES,
            size,
            size,
            0u64,
            version,
            1u64,
            "N",
            "normal",
        ])
    })
}

pub fn tablespaces_brief(cx: &SystemContext<'_>) -> Result<Vec<Row>> {
    row_of_each_part(cx, |part, _| {
        Ok(row![part.number().to_string(), &part.name, part.path(), SPACE_FLAGS.to_string(), "Single"])
    })
}

pub fn datafiles(cx: &SystemContext<'_>) -> Result<Vec<Row>> {
    row_of_each_part(cx, |part, _| Ok(row![part.number().to_string(), part.path()]))
}

pub fn tablestats(cx: &SystemContext<'_>) -> Result<Vec<Row>> {
    row_of_each_part(cx, |part, table| {
        let txn = cx.statement.txn.borrow();
        let (clustered, others) = sizes(cx, part);
        let next = part.def.auto_increment_column().map(|_| txn.peek_auto_increment(part.def.id)).transpose()?;
        Ok(row![
            part.number(),
            &part.name,
            if table.statistics().is_some() { "Initialized" } else { "Uninitialized" },
            txn.row_count(part.id)?,
            clustered,
            others,
            0u64,
            next.unwrap_or(0),
            1u64,
        ])
    })
}

/// INNODB_CMP and INNODB_CMPMEM, with and without RESET: the page sizes that tables can be compressed to; none is.
pub fn compression(_: &SystemContext<'_>) -> Result<Vec<Row>> {
    Ok((0..5).map(|n| row![1024u64 << n, 0u64, 0u64, 0u64, 0u64, 0u64]).collect())
}

/// name, subsystem, type, and the status variable that has it.
const METRICS_TEXT: &str = include_str!("metrics.txt");

/// information_schema.INNODB_METRICS: those of MySQL's that this server counts, all enabled.
pub fn metrics(cx: &SystemContext<'_>) -> Result<Vec<Row>> {
    let status = cx.statement.server.status(VariableScope::Global);
    let number =
        |variable: &str| status.iter().find(|(name, _)| name == variable).and_then(|(_, value)| value.parse::<u64>().ok());
    let elapsed = number("Uptime").unwrap_or(0);
    let now_us = u64::try_from(cx.statement.session.statement_time_us()).unwrap_or(0);
    let began = cx.time(now_us.saturating_sub(elapsed * 1_000_000));
    let mut rows = Vec::new();
    for line in METRICS_TEXT.lines().filter(|line| !line.starts_with('#')) {
        let fields: Vec<&str> = line.split('\t').collect();
        let [name, subsystem, kind, variable, comment] = fields.as_slice() else { continue };
        let count = number(variable).unwrap_or(0);
        let is_value = *kind == "value";
        let per_second = if is_value || elapsed == 0 { NULL } else { Value::Float(count as f64 / elapsed as f64) };
        rows.push(row![
            *name,
            *subsystem,
            count,
            count,
            NULL,
            per_second.clone(),
            count,
            count,
            NULL,
            if is_value { NULL } else { per_second },
            began.clone(),
            NULL,
            elapsed,
            NULL,
            "enabled",
            *kind,
            *comment,
        ]);
    }
    Ok(rows)
}

/// mysql.innodb_table_stats.
pub fn table_stats(cx: &SystemContext<'_>) -> Result<Vec<Row>> {
    row_of_each_part(cx, |part, _| {
        let (clustered, others) = sizes(cx, part);
        Ok(row![
            part.def.database.as_str(),
            part.table_name(),
            cx.time(part.def.created_us),
            cx.statement.txn.borrow().row_count(part.id)?,
            clustered,
            others,
        ])
    })
}

/// mysql.innodb_index_stats: the number of different values of each prefix of the key, and the size.
pub fn index_stats(cx: &SystemContext<'_>) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for_each_part(cx, |part, table| {
        let row_count = cx.statement.txn.borrow().row_count(part.id)?;
        let statistics = table.statistics();
        for (index, id) in part.indexes() {
            let size = pages(bytes(cx, id));
            let mut push = |stat: String, value: u64, sampled: Value, description: String| {
                rows.push(row![
                    part.def.database.as_str(),
                    part.table_name(),
                    index_name(index),
                    cx.time(part.def.created_us),
                    stat,
                    value,
                    sampled,
                    description,
                ]);
            };
            let distinct = statistics.as_ref().and_then(|s| s.index(index.id)).map(|s| s.distinct.clone()).unwrap_or_default();
            let mut names: Vec<&str> = Vec::new();
            let clustered = part.def.indexes.first().filter(|clustered| !index.is_unique() && clustered.id != index.id);
            let key = clustered.map(|clustered| clustered.parts.as_slice()).unwrap_or_default();
            // With the primary key behind them the values of an index that is not unique are.
            for (n, key) in index.parts.iter().chain(key).enumerate() {
                let Some(column) = part.def.position_of(key.column).and_then(|at| part.def.columns.get(at)) else { continue };
                if n >= index.parts.len() && names.contains(&column.name.as_str()) {
                    continue;
                }
                names.push(&column.name);
                let value = distinct.get(n).copied().unwrap_or(row_count).min(row_count);
                push(format!("n_diff_pfx{:02}", names.len()), value, Value::UInt(size.max(1)), names.join(","));
            }
            push("n_leaf_pages".to_string(), size, NULL, "Number of leaf pages in the index".to_string());
            push("size".to_string(), size, NULL, "Number of pages in the index".to_string());
        }
        Ok(())
    })?;
    Ok(rows)
}
