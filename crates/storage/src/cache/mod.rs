//! What is kept in memory of what was read: single rows, and spans of indexes.
//!
//! | file | for |
//! |---|---|
//! | `recent` | since which commit a key has certainly not changed: decides whether a kept row is good, and first committer wins |
//! | `row_cache` | rows by key |
//! | `uses` | how often they had what was asked for |
//! | `span`, `span_index`, `span_cache` | all entries of an index between two keys, kept with the changes since |
//!
//! It may use `base` and `encoding`. It never reads or writes RocksDB, and never knows who commits: the pipeline announces keys
//! and notes numbers, a reader brings what it has read.

pub mod recent;
pub mod row_cache;
pub mod span;
pub mod span_cache;
pub mod span_index;
pub mod uses;
