//! Sessions: what a client's statements mean, without packets, sockets or threads.
//!
//! `Server` is what all sessions share; a `Session` belongs to one client. `Session::run` takes a statement and answers into an
//! `Answer`, which a front, a console or a test implements. `accounts` says who may do what, `variables` has the settings, `info` is what
//! system tables and SHOW read of a server.

#![forbid(unsafe_code)]

pub mod accounts;
pub mod clients;
pub mod counters;
pub mod memory;
pub mod server;
pub mod session;
mod statements;
mod table_locks;
mod user_locks;
pub mod variables;

pub use server::{Server, VERSION};
pub use session::answer::{Answer, Change, Completed, Flow, MakeWaiter, Request, ResultForm, Status};
pub use session::{ClientOptions, Session};
