//! Sans-IO codecs of the MySQL client/server protocol, server side first.
//!
//! Bytes in, bytes out: nothing here opens a socket, starts a thread, reads a clock or makes a random number.
//! A connection's life, by module:
//! 1. `handshake`: the server's greeting and the client's answer; `auth` decides who the client is, with `proof`.
//! 2. `packet` frames everything; `compress` wraps the frames when both sides agreed to.
//! 3. `commands` decodes what the client asks, `params` the values it binds.
//! 4. `result`, `metadata` and `row` encode what the server answers.
//! 5. `binlog` has the events of the binary log, which replication sends and reads, `semi_sync` how it says which have arrived; `copy` is how a backup takes the data.
//!
//! `caps` holds the protocol's numbers, `codec` its primitive encodings, `error` what a malformed message is answered with,
//! `fuzzing` the entry points of fuzzers.
//! Nothing received is trusted: every length is checked, and no allocation exceeds what has arrived or a stated bound.

#![forbid(unsafe_code)]

pub mod auth;
pub mod binlog;
pub mod caps;
pub mod codec;
pub mod commands;
pub mod compress;
pub mod copy;
pub mod error;
pub mod fuzzing;
pub mod handshake;
pub mod metadata;
pub mod packet;
pub mod params;
pub mod proof;
pub mod result;
pub mod row;
pub mod semi_sync;

pub use error::ProtocolError;
pub use packet::{PacketReader, PacketWriter, Payload};

#[cfg(test)]
mod golden;
