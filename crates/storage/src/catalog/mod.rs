//! The catalog: databases, tables, and the DDL that changes them.

use std::sync::Arc;
use std::time::Duration;

use vaquita_types::charset::CollationId;
use vaquita_types::schema::{DatabaseDef, TableDef};
use vaquita_types::{Result, Value};

use crate::engine::Engine;
use crate::table::Table;

pub struct Catalog {}

/// What an ALTER does to the rows.
pub enum RowChange<'a> {
    /// Columns keep their values; added ones take `added_default`. Instant if the layout allows, else a copy.
    Keep,
    /// Every row (in the order of the old columns) becomes the returned one (new columns).
    Map(&'a mut dyn FnMut(Vec<Value>) -> Result<Vec<Value>>),
}

impl Catalog {
    /// Reads what must be known at start; table definitions are loaded when first used.
    pub fn open(engine: &Arc<Engine>) -> Result<Arc<Catalog>> {
        let _ = engine;
        todo!()
    }

    /// Grows with every DDL: cached plans made at an older version look their tables up again.
    pub fn version(&self) -> u64 {
        todo!()
    }

    pub fn database(&self, name: &str) -> Result<Option<Arc<DatabaseDef>>> {
        let _ = name;
        todo!()
    }

    /// By name.
    pub fn databases(&self) -> Result<Vec<Arc<DatabaseDef>>> {
        todo!()
    }

    /// The table as of now. `None` also if the database does not exist.
    pub fn table(&self, database: &str, name: &str) -> Result<Option<Arc<Table>>> {
        let _ = (database, name);
        todo!()
    }

    /// Names of a database's tables, sorted.
    pub fn tables(&self, database: &str) -> Result<Vec<String>> {
        let _ = database;
        todo!()
    }

    // DDL. Each call is one atomic, durable commit; it waits for transactions that use the table
    // up to `wait` (lock_wait_timeout), then fails with 1205. Errors are MySQL's: 1007, 1008, 1049,
    // 1050, 1051, 1146, 1813 …

    pub fn create_database(&self, name: &str, collation: CollationId) -> Result<()> {
        let _ = (name, collation);
        todo!()
    }

    pub fn alter_database(&self, name: &str, collation: CollationId) -> Result<()> {
        let _ = (name, collation);
        todo!()
    }

    /// Drops the database and its tables; returns how many tables there were.
    pub fn drop_database(&self, name: &str, wait: Duration) -> Result<usize> {
        let _ = (name, wait);
        todo!()
    }

    /// Stores a new table. Ids (table, indexes), `schema_version`, `layouts` and `created_us` are given
    /// here, as are column ids where they are 0 for all columns. If `def` has no PRIMARY KEY index first,
    /// a clustered index of hidden row ids is put in front.
    pub fn create_table(&self, def: TableDef) -> Result<Arc<Table>> {
        let _ = def;
        todo!()
    }

    /// Drops all of them or none. Missing tables are error 1051 that lists them.
    pub fn drop_tables(&self, names: &[(&str, &str)], wait: Duration) -> Result<()> {
        let _ = (names, wait);
        todo!()
    }

    /// `RENAME TABLE a TO b, c TO d`, left to right, all or none. Each name is (database, table).
    pub fn rename_tables(&self, renames: &[((&str, &str), (&str, &str))], wait: Duration) -> Result<()> {
        let _ = (renames, wait);
        todo!()
    }

    /// Empties the table: new table and index ids, AUTO_INCREMENT from 1.
    pub fn truncate_table(&self, database: &str, name: &str, wait: Duration) -> Result<()> {
        let _ = (database, name, wait);
        todo!()
    }

    /// Replaces the definition of `old`. In `new`, columns and indexes that stay keep their ids; new
    /// columns have id 0 or take them from `next_column_id`; new indexes have id 0. Rows are copied or
    /// index entries built as needed. Returns the new table and the number of rows copied (0: instant).
    pub fn alter_table(&self, old: &Arc<Table>, new: TableDef, rows: RowChange<'_>, wait: Duration) -> Result<(Arc<Table>, u64)> {
        let _ = (old, new, rows, wait);
        todo!()
    }

    // What other crates keep here: accounts, persisted variables … Keys are theirs.

    pub fn meta_get(&self, key: &[u8]) -> Result<Option<Vec<u8>>> {
        let _ = key;
        todo!()
    }

    pub fn meta_put(&self, key: &[u8], value: &[u8]) -> Result<()> {
        let _ = (key, value);
        todo!()
    }

    pub fn meta_delete(&self, key: &[u8]) -> Result<()> {
        let _ = key;
        todo!()
    }

    pub fn meta_scan(&self, prefix: &[u8]) -> Result<Vec<(Vec<u8>, Vec<u8>)>> {
        let _ = prefix;
        todo!()
    }
}
