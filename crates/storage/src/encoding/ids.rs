//! The ids that keys begin with, and which of them are of temporary tables (`catalog::temporary`).

use vaquita_types::schema::TableId;

/// Bytes of the index id that every key starts with.
pub const INDEX_ID_BYTES: usize = 4;

/// The lowest id of temporary tables and of their indexes.
pub const TEMPORARY_ID_MIN: u32 = 1 << 31;

/// Whether a data key belongs to a temporary table.
pub(crate) fn is_temporary_key(key: &[u8]) -> bool {
    key.first().is_some_and(|byte| byte & 0x80 != 0)
}

pub(crate) fn is_temporary_table(id: TableId) -> bool {
    id.0 >= TEMPORARY_ID_MIN
}
