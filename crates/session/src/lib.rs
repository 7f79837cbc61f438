//! Sessions: what a client's statements mean, without packets, sockets or threads.
//!
//! `Server` is what all sessions share; a `Session` belongs to one client. `Session::run` takes a statement and answers into an
//! `Answer`, which a front, a console or a test implements. What a session keeps between statements is in the parts of `state`. `accounts`
//! says who may do what, `variables` has the settings.

#![forbid(unsafe_code)]

mod account_sums;
pub mod accounts;
pub mod answer;
pub mod backup_status;
pub mod binary_log;
pub mod binary_log_commits;
pub mod clients;
mod connection_events;
pub mod counters;
pub mod data_dir;
pub mod event_end;
pub mod event_signal;
pub mod event_times;
mod known_programs;
pub mod log_lines;
pub mod log_shown;
pub mod logs;
pub mod memory;
mod nowhere;
mod programs;
pub mod replication;
pub mod server;
pub mod server_counts;
pub mod session;
pub mod state;
mod statement_events;
mod statements;
pub mod sys_schema;
mod table_locks;
mod table_sums;
pub mod tuning;
mod user_locks;
pub mod variables;

pub use answer::{Answer, Completed, Flow, MakeWaiter, Request, ResultForm, Status};
pub use server::{Server, VERSION};
pub use session::{ClientOptions, Session};
pub use state::prepared::Cursor;
pub use state::tracker::Change;
/// For who changes the text of statements that are told to others.
pub use vaquita_parser::{ParserOptions, words};
