//! Errors of a replica as its status shows them. MySQL numbers those that no client gets from 10000.

use vaquita_types::errno::ErrorDef;
use vaquita_wire::binlog::BinlogError;

pub use crate::connection::CR_SERVER_LOST;
use crate::connection::SourceError;

const SOURCE_FATAL_ERROR_READING_BINLOG: u16 = 13114;
const REPLICA_FATAL_ERROR: u16 = 13117;
const REPLICA_CORRUPT_EVENT: u16 = 13121;

macro_rules! shown_only {
    ($($rust:ident $code:literal $name:literal $format:literal)*) => {
        $(pub const $rust: ErrorDef = ErrorDef { code: $code, sqlstate: b"HY000", name: $name, format: $format };)*
    };
}

shown_only! {
    RELAY_LOG_READ_FAILURE 13121 "ER_SERVER_REPLICA_RELAY_LOG_READ_FAILURE" "Relay log read failure: %s"
    REPLICA_INCIDENT 1590 "ER_REPLICA_INCIDENT" "The incident %s occurred on the source. Message: %s"
}

/// Client errors, after which a replica tries again.
pub fn is_of_connection(number: u16) -> bool {
    (2000..3000).contains(&number)
}

pub fn fatal(what: &str) -> SourceError {
    SourceError::new(REPLICA_FATAL_ERROR, format!("Fatal error: {what}"))
}

pub fn same_server_id() -> SourceError {
    fatal(
        "The replica I/O thread stops because source and replica have equal MySQL server ids; these ids must be different for \
         replication to work (or the --replicate-same-server-id option must be used on replica but this does not always make sense; \
         please check the manual before using it).",
    )
}

pub fn same_server_uuid() -> SourceError {
    fatal(
        "The replica I/O thread stops because source and replica have equal MySQL server UUIDs; these UUIDs must be different for \
         replication to work.",
    )
}

/// What the source answers instead of its log.
pub fn from_source(error: &SourceError) -> SourceError {
    let text = format!("Got fatal error {} from source when reading data from binary log: '{}'", error.number, error.text);
    SourceError::new(SOURCE_FATAL_ERROR_READING_BINLOG, text)
}

pub fn damaged(error: &BinlogError) -> SourceError {
    SourceError::new(REPLICA_CORRUPT_EVENT, format!("Relay log read failure: the source has sent a damaged event: {error}"))
}
