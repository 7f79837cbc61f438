//! What the modelled sources take from `storage::key`.

pub const INDEX_ID_BYTES: usize = 4;
