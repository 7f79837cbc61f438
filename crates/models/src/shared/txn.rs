//! What the modelled sources take from `storage::txn`.

#[allow(dead_code)] // made, not read
pub struct KeyRange {
    pub lower: Vec<u8>,
    pub upper: Vec<u8>,
}
