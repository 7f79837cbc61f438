//! `storage::encoding` for models, which store no rows: ids, ranges and the hash of keys.

#[path = "../../../storage/src/encoding/hash.rs"]
mod hash;
#[path = "../../../storage/src/encoding/ids.rs"]
pub mod ids;
#[path = "../../../storage/src/encoding/range.rs"]
mod range;

pub use hash::key_hash;
pub use range::KeyRange;
