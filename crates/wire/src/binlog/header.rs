//! What every event begins and ends with ("Binary Log Event Header"), little-endian:
//!
//! | bytes | content                                                                      |
//! |-------|------------------------------------------------------------------------------|
//! | 4     | when the statement began, in seconds since 1970                              |
//! | 1     | type                                                                         |
//! | 4     | `server_id` of the server where the transaction began                        |
//! | 4     | length of the event with header and checksum                                 |
//! | 4     | position in the file behind the event, modulo 2^32; 0 where there is no file |
//! | 2     | flags                                                                        |
//!
//! Then follow the data, and a CRC32 of all before it if the format description says so.

use super::error::{BinlogError, Result};
use crate::codec::{Bytes, put_u16, put_u32};

pub const HEADER_BYTES: usize = 19;
pub const CHECKSUM_BYTES: usize = 4;
/// MySQL's limit of `max_allowed_packet`, which bounds what a source sends, with room for the headers.
pub const EVENT_BYTES_MAX: u64 = (1 << 30) + (1 << 20);

/// Flags of an event.
pub mod flags {
    /// Of a format description: the log has not been closed.
    pub const IN_USE: u16 = 0x01;
    /// Made for the replica, and in no file.
    pub const ARTIFICIAL: u16 = 0x20;
    /// Who does not know the type goes on.
    pub const IGNORABLE: u16 = 0x80;
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    pub timestamp: u32,
    pub event_type: u8,
    pub server_id: u32,
    pub length: u32,
    pub end_position: u32,
    pub flags: u16,
}

impl Header {
    pub fn decode(bytes: &mut Bytes<'_>) -> Result<Header> {
        let header = Header {
            timestamp: bytes.u32()?,
            event_type: bytes.u8()?,
            server_id: bytes.u32()?,
            length: bytes.u32()?,
            end_position: bytes.u32()?,
            flags: bytes.u16()?,
        };
        match u64::from(header.length) {
            ..19 => Err(BinlogError::Malformed("header of an event")),
            length if length > EVENT_BYTES_MAX => Err(BinlogError::TooLong(length)),
            _ => Ok(header),
        }
    }

    pub fn encode(&self, out: &mut Vec<u8>) {
        put_u32(out, self.timestamp);
        out.push(self.event_type);
        put_u32(out, self.server_id);
        put_u32(out, self.length);
        put_u32(out, self.end_position);
        put_u16(out, self.flags);
    }

    pub fn is_ignorable(&self) -> bool {
        self.flags & flags::IGNORABLE != 0
    }
}

macro_rules! event_types {
    ($($constant:ident = $code:literal $name:literal,)*) => {
        /// Types of events; the names are those of SHOW BINLOG EVENTS.
        pub mod event_type {
            $(pub const $constant: u8 = $code;)*
        }

        /// As SHOW BINLOG EVENTS names a type.
        pub fn event_name(code: u8) -> Option<&'static str> {
            match code {
                $($code => Some($name),)*
                _ => None,
            }
        }
    };
}

event_types! {
    QUERY = 2 "Query",
    STOP = 3 "Stop",
    ROTATE = 4 "Rotate",
    INTVAR = 5 "Intvar",
    APPEND_BLOCK = 9 "Append_block",
    DELETE_FILE = 11 "Delete_file",
    RAND = 13 "RAND",
    USER_VAR = 14 "User var",
    FORMAT_DESCRIPTION = 15 "Format_desc",
    XID = 16 "Xid",
    BEGIN_LOAD_QUERY = 17 "Begin_load_query",
    EXECUTE_LOAD_QUERY = 18 "Execute_load_query",
    TABLE_MAP = 19 "Table_map",
    WRITE_ROWS_V1 = 23 "Write_rows_v1",
    UPDATE_ROWS_V1 = 24 "Update_rows_v1",
    DELETE_ROWS_V1 = 25 "Delete_rows_v1",
    INCIDENT = 26 "Incident",
    HEARTBEAT = 27 "Heartbeat",
    IGNORABLE = 28 "Ignorable",
    ROWS_QUERY = 29 "Rows_query",
    WRITE_ROWS = 30 "Write_rows",
    UPDATE_ROWS = 31 "Update_rows",
    DELETE_ROWS = 32 "Delete_rows",
    GTID = 33 "Gtid",
    ANONYMOUS_GTID = 34 "Anonymous_Gtid",
    PREVIOUS_GTIDS = 35 "Previous_gtids",
    TRANSACTION_CONTEXT = 36 "Transaction_context",
    VIEW_CHANGE = 37 "View_change",
    XA_PREPARE = 38 "XA_prepare",
    PARTIAL_UPDATE_ROWS = 39 "Update_rows_partial",
    TRANSACTION_PAYLOAD = 40 "Transaction_payload",
    HEARTBEAT_V2 = 41 "Heartbeat",
    GTID_TAGGED = 42 "Gtid_tagged_log_event",
    MARIA_ANNOTATE_ROWS = 160 "Annotate_rows",
    MARIA_BINLOG_CHECKPOINT = 161 "Binlog_checkpoint",
    MARIA_GTID = 162 "Gtid",
    MARIA_GTID_LIST = 163 "Gtid_list",
    MARIA_START_ENCRYPTION = 164 "Start_encryption",
    MARIA_QUERY_COMPRESSED = 165 "Query_compressed",
    MARIA_WRITE_ROWS_COMPRESSED_V1 = 166 "Write_rows_compressed_v1",
    MARIA_UPDATE_ROWS_COMPRESSED_V1 = 167 "Update_rows_compressed_v1",
    MARIA_DELETE_ROWS_COMPRESSED_V1 = 168 "Delete_rows_compressed_v1",
    MARIA_WRITE_ROWS_COMPRESSED = 169 "Write_rows_compressed",
    MARIA_UPDATE_ROWS_COMPRESSED = 170 "Update_rows_compressed",
    MARIA_DELETE_ROWS_COMPRESSED = 171 "Delete_rows_compressed",
}

/// CRC32 as zlib has it. A format description is summed up as if the log were closed: the flag changes when it is.
pub fn checksum(event: &[u8]) -> u32 {
    const FLAGS_AT: usize = HEADER_BYTES - 2;
    let mut crc = crc32fast::Hasher::new();
    match event.split_at_checked(FLAGS_AT) {
        Some((head, rest)) if head.get(4) == Some(&event_type::FORMAT_DESCRIPTION) && !rest.is_empty() => {
            crc.update(head);
            crc.update(&[rest[0] & !(flags::IN_USE as u8)]);
            crc.update(&rest[1..]);
        }
        _ => crc.update(event),
    }
    crc.finalize()
}

/// Compares the checksum that an event ends with.
pub fn verify(event: &[u8]) -> Result<()> {
    let (covered, stored) = event.split_last_chunk::<CHECKSUM_BYTES>().ok_or(BinlogError::Malformed("event"))?;
    let (stored, computed) = (u32::from_le_bytes(*stored), checksum(covered));
    if stored == computed { Ok(()) } else { Err(BinlogError::Checksum { stored, computed }) }
}
