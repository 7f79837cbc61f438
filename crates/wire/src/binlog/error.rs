//! What can be wrong with a binary log.

use std::fmt;

use crate::error::ProtocolError;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BinlogError {
    /// The file does not begin as a binary log does.
    NoBinaryLog,
    /// An event, or the part of it that is named, ends too early or holds what it cannot.
    Malformed(&'static str),
    /// The checksum that an event carries, and that of its bytes.
    Checksum { stored: u32, computed: u32 },
    /// Longer than any event may be.
    TooLong(u64),
    /// The file ends inside an event.
    Truncated,
    /// What only servers with a key, or older ones than are known here, write.
    Unsupported(&'static str),
    /// An event of this type, which is not known and must not be ignored.
    UnknownEvent(u8),
    /// Rows of a table that no event before describes.
    UnknownTable(u64),
}

pub type Result<T> = std::result::Result<T, BinlogError>;

impl fmt::Display for BinlogError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoBinaryLog => f.write_str("this is no binary log"),
            Self::Malformed(what) => write!(f, "malformed {what}"),
            Self::Checksum { stored, computed } => {
                write!(f, "the checksum is {stored:08x}, that of the event's bytes {computed:08x}")
            }
            Self::TooLong(bytes) => write!(f, "an event of {bytes} bytes"),
            Self::Truncated => f.write_str("the log ends inside an event"),
            Self::Unsupported(what) => write!(f, "{what} cannot be read"),
            Self::UnknownEvent(code) => write!(f, "unknown type of event {code}"),
            Self::UnknownTable(id) => write!(f, "rows of table {id}, which no event describes"),
        }
    }
}

impl std::error::Error for BinlogError {}

/// The primitive decodings have one thing to say: the bytes do not suffice.
impl From<ProtocolError> for BinlogError {
    fn from(_: ProtocolError) -> Self {
        BinlogError::Malformed("event")
    }
}
