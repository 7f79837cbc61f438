//! The replica: the threads of channels, which read another server's binary log and carry it out.
//!
//! A channel has a receiver and an applier (`vaquita_session::replication` has what statements say and see of it). Between them there is a queue
//! of events in memory and no relay log: what was received and not applied is asked for again.
//!
//! | module | what it does |
//! |---|---|
//! | `connection` | a connection to a server whose log is read |
//! | `boundaries` | where transactions of a log begin and end |
//! | `queue` | what is received and not applied (QUEUE-n) |
//! | `receiver` | reads the log |
//! | `settings`, `tables` | what statements and rows of the log mean here |
//! | `applier` | carries it out (APPLIER-n) |
//! | `threads` | starts and stops both |
//!
//! It knows sessions and the codec of binary logs, no packets of our own clients and no storage but through the session.

#![forbid(unsafe_code)]

mod applier;
mod boundaries;
pub mod connection;
mod errors;
pub mod log;
mod queue;
mod receiver;
mod settings;
mod tables;
mod threads;

pub use threads::ChannelThreads;
