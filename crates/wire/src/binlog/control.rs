//! Events about the log itself: its format, where it goes on, that the source is alive.

use super::error::{BinlogError, Result};
use super::header::{CHECKSUM_BYTES, HEADER_BYTES};
use crate::codec::{Bytes, put_lenenc_bytes, put_lenenc_int, put_u16, put_u32, put_u64};

/// Binary logs since MySQL 5.0 have this version.
const BINLOG_VERSION: u16 = 4;
const SERVER_VERSION_BYTES: usize = 50;
/// The first versions whose events may have checksums, and whose format descriptions say it.
const CHECKSUMS_SINCE: (u32, u32, u32) = (5, 6, 1);
const MARIADB_CHECKSUMS_SINCE: (u32, u32, u32) = (5, 3, 0);
const POSITION_BYTES: usize = 8;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChecksumAlgorithm {
    Off,
    Crc32,
}

/// FORMAT_DESCRIPTION_EVENT: how the events behind it are to be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FormatDescription<'a> {
    pub server_version: &'a [u8],
    /// When the server started, 0 in a log that a running server began.
    pub created: u32,
    /// Of each type from 1: the bytes in front of its variable part.
    pub post_header_lengths: &'a [u8],
    /// `None` from servers that know none.
    pub checksum: Option<ChecksumAlgorithm>,
}

impl<'a> FormatDescription<'a> {
    /// `data` is all behind the header, with the checksum.
    pub fn decode(data: &'a [u8]) -> Result<FormatDescription<'a>> {
        let mut bytes = Bytes::new(data);
        if bytes.u16()? != BINLOG_VERSION {
            return Err(BinlogError::Unsupported("a binary log of a server before MySQL 5.0"));
        }
        let version = bytes.take(SERVER_VERSION_BYTES)?;
        let server_version = version.split(|b| *b == 0).next().unwrap_or_default();
        let created = bytes.u32()?;
        if usize::from(bytes.u8()?) != HEADER_BYTES {
            return Err(BinlogError::Malformed("format description"));
        }
        let mut post_header_lengths = bytes.rest();
        let mut checksum = None;
        if knows_checksums(server_version) {
            let (lengths, _) =
                post_header_lengths.split_last_chunk::<CHECKSUM_BYTES>().ok_or(BinlogError::Malformed("format description"))?;
            let (algorithm, lengths) = lengths.split_last().ok_or(BinlogError::Malformed("format description"))?;
            post_header_lengths = lengths;
            checksum = Some(match algorithm {
                0 => ChecksumAlgorithm::Off,
                1 => ChecksumAlgorithm::Crc32,
                _ => return Err(BinlogError::Unsupported("an unknown checksum")),
            });
        }
        Ok(FormatDescription { server_version, created, post_header_lengths, checksum })
    }

    /// Without the checksum behind it.
    pub fn encode(&self, out: &mut Vec<u8>) {
        put_u16(out, BINLOG_VERSION);
        let start = out.len();
        out.extend_from_slice(self.server_version);
        out.resize(start + SERVER_VERSION_BYTES, 0);
        put_u32(out, self.created);
        out.push(HEADER_BYTES as u8);
        out.extend_from_slice(self.post_header_lengths);
        if let Some(algorithm) = self.checksum {
            out.push(u8::from(algorithm == ChecksumAlgorithm::Crc32));
        }
    }

    pub fn is_mariadb(&self) -> bool {
        is_mariadb(self.server_version)
    }

    /// Bytes in front of the variable part of a type that has grown between versions.
    pub fn post_header_length(&self, event_type: u8) -> Option<u8> {
        self.post_header_lengths.get(usize::from(event_type).checked_sub(1)?).copied()
    }
}

fn is_mariadb(version: &[u8]) -> bool {
    version.windows(7).any(|part| part == b"MariaDB")
}

fn knows_checksums(version: &[u8]) -> bool {
    let mut numbers = version
        .split(|b| !b.is_ascii_digit())
        .map(|digits| digits.iter().fold(0u32, |n, digit| n.saturating_mul(10).saturating_add(u32::from(digit - b'0'))));
    let mut number = || numbers.next().unwrap_or(0);
    let version_numbers = (number(), number(), number());
    version_numbers >= if is_mariadb(version) { MARIADB_CHECKSUMS_SINCE } else { CHECKSUMS_SINCE }
}

/// ROTATE_EVENT: the log goes on at a position of another file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rotate<'a> {
    pub position: u64,
    pub file: &'a [u8],
}

impl<'a> Rotate<'a> {
    pub fn decode(data: &'a [u8]) -> Result<Rotate<'a>> {
        let mut bytes = Bytes::new(data);
        Ok(Rotate { position: bytes.u64()?, file: bytes.rest() })
    }

    pub fn encode(&self, out: &mut Vec<u8>) {
        put_u64(out, self.position);
        out.extend_from_slice(self.file);
    }
}

/// HEARTBEAT_LOG_EVENT, and the second version, for positions beyond 4 GiB: the source has nothing to send, and is here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Heartbeat<'a> {
    pub file: &'a [u8],
    /// `None` in the first version, where it is the header's.
    pub position: Option<u64>,
}

/// Fields of the second version.
const HEARTBEAT_END: u64 = 0;
const HEARTBEAT_FILE: u64 = 1;
const HEARTBEAT_POSITION: u64 = 2;

impl<'a> Heartbeat<'a> {
    pub fn decode(data: &'a [u8]) -> Heartbeat<'a> {
        Heartbeat { file: data, position: None }
    }

    pub fn decode_v2(data: &'a [u8]) -> Result<Heartbeat<'a>> {
        let mut bytes = Bytes::new(data);
        let mut heartbeat = Heartbeat { file: &[], position: Some(0) };
        while !bytes.is_empty() {
            let field = bytes.lenenc_int()?;
            if field == HEARTBEAT_END {
                break;
            }
            let content = bytes.lenenc_bytes()?;
            match field {
                HEARTBEAT_FILE => heartbeat.file = content,
                HEARTBEAT_POSITION => heartbeat.position = Some(Bytes::new(content).lenenc_int()?),
                _ => {}
            }
        }
        Ok(heartbeat)
    }

    pub fn encode(&self, out: &mut Vec<u8>) {
        let Some(position) = self.position else {
            out.extend_from_slice(self.file);
            return;
        };
        put_lenenc_int(out, HEARTBEAT_FILE);
        put_lenenc_bytes(out, self.file);
        let mut content = Vec::with_capacity(POSITION_BYTES + 1);
        put_lenenc_int(&mut content, position);
        put_lenenc_int(out, HEARTBEAT_POSITION);
        put_lenenc_bytes(out, &content);
        put_lenenc_int(out, HEARTBEAT_END);
    }
}

/// INCIDENT_EVENT: the source lost events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Incident<'a> {
    pub number: u16,
    pub message: &'a [u8],
}

impl<'a> Incident<'a> {
    pub fn decode(data: &'a [u8]) -> Result<Incident<'a>> {
        let mut bytes = Bytes::new(data);
        let number = bytes.u16()?;
        let len = bytes.u8()?;
        Ok(Incident { number, message: bytes.take(usize::from(len))? })
    }

    /// As SHOW BINLOG EVENTS writes it.
    pub fn name(&self) -> &'static str {
        match self.number {
            0 => "NOTHING",
            1 => "LOST_EVENTS",
            _ => "UNKNOWN",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Which versions have checksums: MySQL since 5.6.1, MariaDB since 5.3.
    #[test]
    fn versions_with_checksums() {
        for (version, known) in [
            ("5.5.62-log", false),
            ("5.6.0", false),
            ("5.6.1-m5", true),
            ("9.7.4-2", true),
            ("10.11.19-MariaDB-log", true),
            ("5.3.0-MariaDB", true),
            ("5.2.1-MariaDB", false),
            ("", false),
        ] {
            assert_eq!(knows_checksums(version.as_bytes()), known, "{version}");
        }
    }

    #[test]
    fn heartbeats_read_back() {
        for position in [None, Some(0), Some(157), Some(1 << 40)] {
            let heartbeat = Heartbeat { file: b"binlog.000001", position };
            let mut data = Vec::new();
            heartbeat.encode(&mut data);
            let again = match position {
                None => Heartbeat::decode(&data),
                Some(_) => Heartbeat::decode_v2(&data).unwrap(),
            };
            assert_eq!(again, heartbeat);
        }
    }
}
