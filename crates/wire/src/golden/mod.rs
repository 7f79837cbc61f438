//! Packets recorded from MySQL 9.7, compared byte by byte with what this crate encodes.
//!
//! `columns.txt`: one column of each type: its definition, its text row and its binary row. `packets.txt`: OK, ERR, EOF,
//! prepare-OK and result-set headers under different capabilities. `handshakes.txt`: greeting and clients' answers.
//! `commands.txt`: commands that MySQL accepted.
//! `binlog`: binary logs, of MariaDB too. A test reads the file and rebuilds each packet.

mod binlog;
mod columns;
mod commands;
mod handshakes;
mod packets;

fn hex(text: &str) -> Vec<u8> {
    text.as_bytes().chunks(2).map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap()).collect()
}

/// The lines of a recording, split at tabs.
fn lines(recording: &'static str) -> impl Iterator<Item = Vec<&'static str>> {
    recording.lines().filter(|line| !line.starts_with('#')).map(|line| line.split('\t').collect())
}
