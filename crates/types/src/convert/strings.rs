//! What `store` needs of character sets: converting and checking, with what an error shows.

use crate::charset::{Charset, CollationId, charset};

/// Most bytes of a wrong string that error 1366 shows.
const SHOWN_BYTES_MAX: usize = 6;

/// Bytes from the first one that does not convert, as "Incorrect string value" shows them; of characters of several bytes all as numbers.
fn shown_from(bytes: &[u8], at: usize, source: &Charset) -> String {
    let mut out = String::new();
    let rest = bytes.get(at..).unwrap_or(&[]);
    for b in rest.iter().take(SHOWN_BYTES_MAX) {
        match b {
            0x20..0x7F if source.mbminlen == 1 => out.push(*b as char),
            _ => out.push_str(&format!("\\x{b:02X}")),
        }
    }
    if rest.len() > SHOWN_BYTES_MAX {
        out.push_str("...");
    }
    out
}

/// A string that a charset cannot hold.
pub(super) struct Incorrect {
    /// What can be kept of it.
    pub best: Box<[u8]>,
    /// What the error shows.
    pub shown: String,
}

/// `bytes` in the charset of `to`, valid in it.
pub(super) fn convert(bytes: Box<[u8]>, from: CollationId, to: CollationId) -> Result<Box<[u8]>, Incorrect> {
    let (source, target) = (charset(from), charset(to));
    if target.is_binary() || (bytes.is_ascii() && source.is_ascii_compatible() && target.is_ascii_compatible()) {
        return Ok(bytes);
    }
    let given = bytes.len();
    let bytes = match source.is_binary() {
        true => target.whole_units(&bytes).into(),
        false => bytes,
    };
    // Zero bytes that were put before the others are not shown.
    let added = bytes.len().saturating_sub(given);
    if source.is_binary() || std::ptr::eq(source, target) {
        return match target.validate(&bytes) {
            Ok(()) => Ok(bytes),
            Err(at) => Err(Incorrect { best: bytes[..at].into(), shown: shown_from(&bytes, at.max(added), source) }),
        };
    }
    let converted = source.convert(target, &bytes);
    match converted.first_replaced {
        None => Ok(converted.bytes.into()),
        Some(at) => Err(Incorrect { best: converted.bytes.as_ref().into(), shown: shown_from(&bytes, at, source) }),
    }
}
