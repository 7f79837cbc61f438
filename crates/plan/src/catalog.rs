//! What the planner asks of the catalog.

use vaquita_types::Result;
use vaquita_types::schema::{IndexId, TableDef, TableRef};

pub trait Catalog {
    /// A base table or a system table (information_schema …); `None` if there is none.
    fn table(&self, database: &str, name: &str) -> Result<Option<TableRef>>;
    fn database_exists(&self, database: &str) -> Result<bool>;
    fn statistics(&self, table: &TableDef) -> TableStatistics;
}

/// Estimates only: wrong figures make a slow plan, never a wrong result.
#[derive(Clone, Debug, Default)]
pub struct TableStatistics {
    pub rows: u64,
    /// For each index, the distinct values of its first part, its first two parts, ….
    pub distinct: Vec<(IndexId, Vec<u64>)>,
}
