//! The MySQL protocol: from a socket's bytes to requests of a session, and back.
//!
//! 1. `front` accepts and greets; a `connection` is a task of the pool.
//! 2. `transport` has the socket, `tls` and `compression` around it; `certificate` reads the names in a client's.
//! 3. `login` makes the session, `commands` gives it what the client sends.
//! 4. `dump` sends the binary log, `copies` a copy of the data, each in a thread of the connection's own (`own_thread`).
//! 5. `output` collects the packets of an answer, `reply` says what they look like.

mod certificate;
pub mod commands;
mod compression;
pub mod connection;
mod copies;
mod dump;
pub mod front;
pub mod login;
mod output;
mod own_thread;
mod reply;
pub mod tls;
pub mod transport;
