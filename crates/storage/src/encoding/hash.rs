//! The hash of a key, by which its lock, its cached row and its last commit are found.

use std::hash::Hasher;

pub fn key_hash(key: &[u8]) -> u64 {
    let mut hasher = rustc_hash::FxHasher::default();
    hasher.write(key);
    hasher.finish()
}
