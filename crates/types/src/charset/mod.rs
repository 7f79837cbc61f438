//! Character sets and collations: names, conversion, comparison, sort keys, LIKE.
//!
//! A string is bytes plus a `CollationId`; the collation implies the charset.

mod id;

pub use id::CollationId;
