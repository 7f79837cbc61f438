//! The column family `catalog`: its keys, its records, and the primitives that records are made of.

pub mod keys;
pub(crate) mod object;
mod partition;
pub(crate) mod primitives;
pub(crate) mod record;
