//! Replication both ways: the binary log of this server (`log`), and the threads of channels, which read another server's and carry it out.
//!
//! A channel has a receiver and an applier (`vaquita_session::replication` has what statements say and see of it). Between them there is a queue
//! of events in memory and no relay log: what was received and not applied is asked for again.
//!
//! | module | what it does |
//! |---|---|
//! | `address` | `mysql://user@host` and `client.cnf` |
//! | `connection` | a connection to a server whose log is read |
//! | `boundaries` | where transactions of a log begin and end |
//! | `queue` | what is received and not applied (QUEUE-n) |
//! | `acks` | what a semi-synchronous source is told (ACK-n) |
//! | `receiver` | reads the log |
//! | `settings`, `tables` | what statements and rows of the log mean here |
//! | `applier` | carries it out (APPLIER-n) |
//! | `binlog_statement` | carries out what BINLOG statements have |
//! | `replay` | carries out a log that was archived |
//! | `threads` | starts and stops both |
//! | `log` | the binary log: a stage of commits, and what its readers are sent (LOG-n) |
//!
//! It knows sessions and the codec of binary logs, no packets of our own clients. What a replica keeps goes through the session; the log is a
//! stage of the storage's commits.

#![forbid(unsafe_code)]

mod acks;
pub mod address;
mod applier;
mod binlog_statement;
mod boundaries;
pub mod connection;
mod errors;
pub mod log;
mod queue;
mod receiver;
pub mod replay;
mod settings;
mod tables;
mod threads;

pub use threads::ChannelThreads;
