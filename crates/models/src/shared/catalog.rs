//! What the modelled sources take from `storage::catalog`.

pub mod temporary {
    pub const TEMPORARY_ID_MIN: u32 = 1 << 31;
}
