//! Whose data a damaged block held: RocksDB names the file, and this adds table and index.

use std::sync::Arc;

use vaquita_types::Error;
use vaquita_types::schema::IndexId;

use crate::encoding::KeyRange;
use crate::encoding::catalog::{keys, record};
use crate::encoding::ids::INDEX_ID_BYTES;
use crate::rocks::read_error;
use crate::rocks::{Db, Family, Iter, IterOptions, RocksError};

/// The error of a read of data at `key`.
#[cold]
pub(crate) fn data_error(db: &Arc<Db>, key: &[u8], e: RocksError) -> Error {
    match if e.is_corruption() { owner(db, key) } else { None } {
        Some(name) => Error::corrupt(format_args!("{name}: {}", e.0)),
        None => read_error(e),
    }
}

/// Reads definitions until one has the key's index. Temporary tables have none, and those may be damaged, too.
fn owner(db: &Arc<Db>, key: &[u8]) -> Option<String> {
    let id = IndexId(u32::from_be_bytes(*key.first_chunk::<INDEX_ID_BYTES>()?));
    let range = KeyRange::prefix(&[keys::TABLES]);
    let mut iter = Iter::new(db, Family::Catalog, None, IterOptions::default());
    iter.set_bounds(&range.lower, &range.upper);
    iter.seek(&range.lower);
    while iter.valid() {
        if let Some(def) = record::decode_table(iter.entry().1)
            && let Some(index) = def.index_named_by(id).and_then(|at| def.indexes.get(at))
        {
            return Some(format!("{}.{}.{}", def.database, def.name, index.name));
        }
        iter.next();
    }
    None
}
