//! The ids that keys begin with, and which of them are of temporary tables (`catalog::temporary`).

use vaquita_types::schema::TableId;

/// Bytes of the index id that every key starts with.
pub const INDEX_ID_BYTES: usize = 4;

/// The index id that a key begins with. Keys in order have ids in order; a key too short for a whole one is filled up with zeros.
pub fn prefix_of(key: &[u8]) -> u32 {
    let mut bytes = [0; INDEX_ID_BYTES];
    let len = key.len().min(INDEX_ID_BYTES);
    bytes[..len].copy_from_slice(&key[..len]);
    u32::from_be_bytes(bytes)
}

/// The lowest id of temporary tables and of their indexes.
pub const TEMPORARY_ID_MIN: u32 = 1 << 31;

/// What the keys of locks on referenced keys begin with, before the key itself: an index id that is never given out.
const REFERENCE_LOCK: [u8; INDEX_ID_BYTES] = [0xFF, 0xFF, 0xFF, 0xFE];

/// The lock on which the children and the deletes of a parent's key meet, whatever else happens to the parent's row.
pub fn reference_lock(key: &[u8], out: &mut Vec<u8>) {
    out.clear();
    out.extend_from_slice(&REFERENCE_LOCK);
    out.extend_from_slice(key);
}

/// The key of the parent's index under such a lock.
pub fn referenced_key(lock: &[u8]) -> Option<&[u8]> {
    lock.strip_prefix(&REFERENCE_LOCK)
}

/// Whether a data key belongs to a temporary table.
pub(crate) fn is_temporary_key(key: &[u8]) -> bool {
    key.first().is_some_and(|byte| byte & 0x80 != 0)
}

pub(crate) fn is_temporary_table(id: TableId) -> bool {
    id.0 >= TEMPORARY_ID_MIN
}
