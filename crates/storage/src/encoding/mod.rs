//! Bytes: how keys, rows and definitions are stored, and how they come back.
//!
//! | file | for |
//! |---|---|
//! | `key` | values in, bytes out that compare as the values do; `Entry` and `IndexCodec` |
//! | `row`, `layout` | the columns of a row, also of rows that were written before an instant ALTER |
//! | `form`, `collate` | how each column type is stored, and how strings compare |
//! | `value_ref` | a value that still lies in the stored bytes |
//! | `duplicate` | an entry's values as error 1062 shows them |
//! | `ids`, `range`, `hash` | what keys begin with, ranges of them, and their hash |
//! | `catalog` | keys and records of the catalog's column family |
//!
//! It may use `vaquita-types`. It does no I/O and never knows RocksDB, a lock or a transaction.

pub mod catalog;
pub(crate) mod collate;
pub(crate) mod duplicate;
pub mod form;
mod hash;
pub(crate) mod ids;
pub mod key;
pub mod layout;
mod range;
pub mod row;
pub mod value_ref;

pub use hash::key_hash;
pub use range::{KeyRange, successor};
