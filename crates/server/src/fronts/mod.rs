//! What clients talk to: each front decodes its protocol, runs sessions, and writes their answers. Only fronts know packets.

pub mod http;
pub mod mysql;
