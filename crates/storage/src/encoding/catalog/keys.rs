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
//! | 09    | parent's database, 00, its name, 00, child's database, 00, its name | the child's table id (u32, big-endian): it has a foreign key to the parent |
//! | 0A    | database name, 00, name of a foreign key, lower case | the name of its table       |
//! | 0B    | database name, 00, kind (a byte), name, lower case if it compares so | `StoredObject` |
//!
//! Names cannot contain a zero byte.

use vaquita_types::schema::{IndexId, ObjectKind, QualifiedName, TableId};

pub(crate) const DATABASES: u8 = 1;
pub(crate) const TABLES: u8 = 2;
pub(crate) const IDS: &[u8] = &[3];
pub(crate) const DROPPED: u8 = 4;
pub(crate) const STATISTICS: u8 = 5;
pub(crate) const META: u8 = 6;
pub(crate) const UNFINISHED: u8 = 8;

const REFERENCES: u8 = 9;
const FOREIGN_KEY_NAMES: u8 = 10;
const OBJECTS: u8 = 11;

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

/// Says that the child has a foreign key to the parent's name.
pub(crate) fn reference(parent: &QualifiedName, child: &QualifiedName) -> Vec<u8> {
    [&references_of(parent)[..], child.database.as_bytes(), &[0], child.name.as_bytes()].concat()
}

/// The part of these keys before the child.
pub(crate) fn references_of(parent: &QualifiedName) -> Vec<u8> {
    [&[REFERENCES], parent.database.as_bytes(), &[0], parent.name.as_bytes(), &[0]].concat()
}

/// The child in a key that begins so.
pub(crate) fn referring_child(key: &[u8], references: &[u8]) -> Option<QualifiedName> {
    let (database, name) = std::str::from_utf8(key.strip_prefix(references)?).ok()?.split_once('\0')?;
    Some(QualifiedName { database: database.to_string(), name: name.to_string() })
}

pub(crate) fn foreign_key_name(database: &str, name: &str) -> Vec<u8> {
    [&[FOREIGN_KEY_NAMES], database.as_bytes(), &[0], name.to_lowercase().as_bytes()].concat()
}

/// The part of the keys of a database's stored objects before their kinds.
pub(crate) fn objects_of(database: &str) -> Vec<u8> {
    [&[OBJECTS], database.as_bytes(), &[0]].concat()
}

/// `key` is what `ObjectKind::key_of` makes of the name.
pub(crate) fn object(database: &str, kind: ObjectKind, key: &str) -> Vec<u8> {
    [&objects_of(database)[..], &[kind as u8], key.as_bytes()].concat()
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

/// The key in the column family of a key that another crate gives.
pub fn meta(key: &[u8]) -> Vec<u8> {
    [&[META], key].concat()
}
