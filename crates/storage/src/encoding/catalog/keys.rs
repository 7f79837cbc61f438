//! Keys of the `catalog` column family. The first byte says what a record is:
//!
//! | first | rest                               | record                                           |
//! |-------|------------------------------------|--------------------------------------------------|
//! | 00    |                                    | belongs to `counters`                            |
//! | 01    | database name                      | `DatabaseDef`                                    |
//! | 02    | database name, 00, table name      | `TableDef`                                       |
//! | 03    |                                    | the next ids: database, table, index, schema version |
//! | 04    | index id (u32, big-endian)         | empty: the index is dropped or being built       |
//! | 05    | table id (u32, big-endian)         | what ANALYZE found                               |
//! | 06    | a key of another crate             | its value (accounts, persisted variables …)      |
//! | 07    |                                    | belongs to `xa`                                  |
//! | 08    | database name, 00, table name      | empty: the table is being filled by its CREATE   |
//!
//! Names cannot contain a zero byte.

use vaquita_types::schema::{IndexId, TableId};

pub(crate) const DATABASES: u8 = 1;
pub(crate) const TABLES: u8 = 2;
pub(crate) const IDS: &[u8] = &[3];
pub(crate) const DROPPED: u8 = 4;
pub(crate) const STATISTICS: u8 = 5;
pub(crate) const META: u8 = 6;
pub(crate) const UNFINISHED: u8 = 8;

pub(crate) fn database(name: &str) -> Vec<u8> {
    [&[DATABASES], name.as_bytes()].concat()
}

pub(crate) fn table(database: &str, name: &str) -> Vec<u8> {
    [&[TABLES], database.as_bytes(), &[0], name.as_bytes()].concat()
}

/// Says that the table goes if the server starts and finds this.
pub(crate) fn unfinished(database: &str, name: &str) -> Vec<u8> {
    [&[UNFINISHED], database.as_bytes(), &[0], name.as_bytes()].concat()
}

/// Database and name of an unfinished table.
pub(crate) fn unfinished_name(key: &[u8]) -> Option<(&str, &str)> {
    std::str::from_utf8(key.strip_prefix(&[UNFINISHED])?).ok()?.split_once('\0')
}

/// The part of a table's key before its name.
pub(crate) fn tables_of(database: &str) -> Vec<u8> {
    table(database, "")
}

pub(crate) fn dropped(id: IndexId) -> Vec<u8> {
    [&[DROPPED], &id.0.to_be_bytes()[..]].concat()
}

pub(crate) fn dropped_id(key: &[u8]) -> Option<IndexId> {
    let bytes = key.strip_prefix(&[DROPPED])?;
    Some(IndexId(u32::from_be_bytes(bytes.try_into().ok()?)))
}

pub(crate) fn statistics(id: TableId) -> Vec<u8> {
    [&[STATISTICS], &id.0.to_be_bytes()[..]].concat()
}

pub(crate) fn meta(key: &[u8]) -> Vec<u8> {
    [&[META], key].concat()
}
