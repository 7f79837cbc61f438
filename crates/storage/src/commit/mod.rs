//! How transactions become durable and visible: the group commit, and what it keeps exact.
//!
//! | file | for |
//! |---|---|
//! | `request` | what a transaction leaves with the pipeline |
//! | `log_buffer` | what it tells the binary log |
//! | `records` | its writes, as RocksDB takes them |
//! | `pipeline` | prepare → certify → log → apply → publish, in groups |
//! | `stages` | what is told to the log, *certify* and *log* as a trait, and RocksDB's own log in their place |
//! | `held` | *publish*, and commits whose clients are told later |
//! | `visible` | what readers see meanwhile |
//! | `counters` | exact row counts, AUTO_INCREMENT values and hidden row ids |
//! | `active` | the transactions that are not over |
//!
//! It may use `base`, `encoding`, `rocks`, `locks` and `cache`. It never knows a write set, a table's definition or a session: a
//! request has bytes.

pub mod active;
pub mod counters;
mod held;
pub mod log_buffer;
pub mod pipeline;
pub mod records;
mod request;
pub mod stages;
pub mod visible;

pub use request::{CommitRequest, CommitStart, CommitWaiter, Touched};
