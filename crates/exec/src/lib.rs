//! Runs plans against storage: queries, data changes, DDL and system tables.
//!
//! A statement's life here:
//! 1. The session makes a `context::Execution`: the transaction, the parameters, the environment.
//! 2. `query::run` builds an operator (`op`) for every `plan::node::Node`, pulls rows through it and
//!    hands them to a `sink::RowSink`.
//! 3. `op::parallel` runs the operators below an aggregation on several threads, each on a share of a big table.
//! 4. `dml` changes rows, each one through `dml::change`; `handler` reads for HANDLER; `file` loads and writes files of rows; `ddl` changes the catalog; `system` holds the
//!    information_schema tables.
//!
//! Floors, each of which uses those before it only (`cargo xtask tidy`): `sink` and `context`, `system`, `catalog`, `op`, `query`, `handler`,
//! `dml`, `ddl` and `file`, `show`.
//!
//! It knows nothing of packets, sockets or sessions: what it needs of a session comes through
//! `context::SessionEnv`.

#![forbid(unsafe_code)]

pub mod catalog;
pub mod context;
pub mod ddl;
pub mod dml;
pub mod file;
mod full_text;
pub mod handler;
pub mod op;
pub mod query;
pub mod show;
pub mod sink;
pub mod system;

pub use context::store_in_variable;
