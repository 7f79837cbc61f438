//! The errors that statements end with when RocksDB cannot read or write.

use std::fmt::Display;

use vaquita_types::Error;
use vaquita_types::errno::{ER_GET_ERRNO, ErrorDef};

use super::RocksError;

/// The error of a read that RocksDB failed.
pub(crate) fn read_error(e: RocksError) -> Error {
    if e.is_corruption() { Error::corrupt(e.0) } else { Error::new(&ER_GET_ERRNO, &[&5, &e.0]) }
}

/// The error of a write that RocksDB failed and that nothing depends on.
pub(crate) fn write_error(e: RocksError) -> Error {
    if e.is_no_space() { disk_full_error(&e.0) } else { read_error(e) }
}

/// Not in MySQL 9's table any more, but what a full disk has always been called.
const ER_DISK_FULL: ErrorDef = ErrorDef {
    code: 1021,
    sqlstate: b"HY000",
    name: "ER_DISK_FULL",
    format: "Disk full (%s); waiting for someone to free some space... (errno: %d - %s)",
};
/// The errno of a full disk, for the text of error 1021.
const ENOSPC: i32 = 28;

/// The error says that the disk is full.
pub fn is_disk_full(error: &Error) -> bool {
    error.is(&ER_DISK_FULL)
}

pub(crate) fn disk_full_error(file: &dyn Display) -> Error {
    Error::new(&ER_DISK_FULL, &[file, &ENOSPC, &"No space left on device"])
}
