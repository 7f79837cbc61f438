//! Rows and bytes of the largest tables, among those that have been used since the server began.
//!
//! Bytes are RocksDB's estimates, which cost some microseconds an index, so that they are looked at once in `AGE_MAX`. Tables that nobody has used
//! since the start are not opened for it.

use std::time::{Duration, Instant};

use vaquita_session::server::Server;
use vaquita_storage::Table;
use vaquita_types::schema::IndexId;

use super::format::{Kind, Metrics};

/// Tables that have samples.
const TABLES_MAX: usize = 100;
/// Tables that are looked at.
const LOOKED_AT_MAX: usize = 10_000;
const AGE_MAX: Duration = Duration::from_secs(60);

struct TableSize {
    database: String,
    name: String,
    rows: u64,
    data_bytes: u64,
    index_bytes: u64,
}

#[derive(Default)]
pub struct TableSizes {
    at: Option<Instant>,
    largest: Vec<TableSize>,
}

impl TableSizes {
    pub fn put(&mut self, out: &mut Metrics, server: &Server) {
        if self.at.is_none_or(|at| at.elapsed() > AGE_MAX) {
            self.largest = largest(server);
            self.at = Some(Instant::now());
        }
        let help =
            ["Rows of the largest tables.", "Bytes of their rows, estimated.", "Bytes of their secondary indexes, estimated."];
        let values: [(&str, fn(&TableSize) -> u64); 3] = [
            ("vaquita_table_rows", |table| table.rows),
            ("vaquita_table_data_bytes", |table| table.data_bytes),
            ("vaquita_table_index_bytes", |table| table.index_bytes),
        ];
        for ((name, value), help) in values.into_iter().zip(help) {
            let mut family = out.family(name, Kind::Gauge, help);
            for table in &self.largest {
                family.sample(&[("schema", &table.database), ("table", &table.name)], value(table));
            }
        }
    }
}

fn largest(server: &Server) -> Vec<TableSize> {
    let tables = server.catalog.cached_tables();
    let mut sizes: Vec<TableSize> = tables.iter().take(LOOKED_AT_MAX).map(|table| size(server, table)).collect();
    sizes.sort_by_key(|table| std::cmp::Reverse(table.data_bytes + table.index_bytes));
    sizes.truncate(TABLES_MAX);
    sizes
}

fn size(server: &Server, table: &Table) -> TableSize {
    let bytes = |id: IndexId| {
        let range = vaquita_storage::key::index_range(id);
        server.engine.data_range_bytes(&range.lower, &range.upper)
    };
    let def = &table.def;
    let own = std::iter::once(def.indexes.iter().map(|index| index.id).collect::<Vec<_>>());
    let ids: Vec<Vec<IndexId>> = own.chain(def.partitions().iter().map(|partition| partition.indexes.clone())).collect();
    TableSize {
        database: def.database.clone(),
        name: def.name.clone(),
        rows: server.engine.row_count(def.id).unwrap_or(0),
        data_bytes: ids.iter().filter_map(|ids| ids.first()).map(|id| bytes(*id)).sum(),
        index_bytes: ids.iter().flat_map(|ids| ids.iter().skip(1)).map(|id| bytes(*id)).sum(),
    }
}
