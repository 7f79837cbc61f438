//! What `store` needs of character sets: converting, cutting and comparing strings.

use crate::charset::CollationId;

/// Most bytes of a wrong string that error 1366 shows.
const SHOWN_BYTES_MAX: usize = 6;

/// Bytes from the first one that does not convert, as "Incorrect string value" shows them.
fn shown_from(bytes: &[u8], at: usize) -> String {
    let mut out = String::new();
    let rest = bytes.get(at..).unwrap_or(&[]);
    for b in rest.iter().take(SHOWN_BYTES_MAX) {
        match b {
            0x20..0x7F => out.push(*b as char),
            _ => out.push_str(&format!("\\x{b:02X}")),
        }
    }
    if rest.len() > SHOWN_BYTES_MAX {
        out.push_str("...");
    }
    out
}

fn is_utf8mb4(c: CollationId) -> bool {
    matches!(c.0, 45 | 46 | 224..=247 | 255..=323)
}

fn is_utf8(c: CollationId) -> bool {
    is_utf8mb4(c) || matches!(c.0, 33 | 76 | 83 | 192..=223)
}

/// `bytes` in the charset of `to`, valid in it; the error has what can be kept and what to show.
pub(super) fn convert(bytes: Box<[u8]>, from: CollationId, to: CollationId) -> Result<Box<[u8]>, (Box<[u8]>, String)> {
    if to == CollationId::BINARY || bytes.is_ascii() {
        return Ok(bytes);
    }
    if is_utf8(to) && (is_utf8(from) || from == CollationId::BINARY) {
        return match std::str::from_utf8(&bytes) {
            Ok(s) if is_utf8mb4(to) => {
                let _ = s;
                Ok(bytes)
            }
            Ok(s) => match s.char_indices().find(|(_, c)| c.len_utf8() > 3) {
                None => Ok(bytes),
                Some((at, _)) => Err((bytes[..at].into(), shown_from(&bytes, at))),
            },
            Err(e) => Err((bytes[..e.valid_up_to()].into(), shown_from(&bytes, e.valid_up_to()))),
        };
    }
    Ok(bytes)
}

/// Bytes of the first `chars` characters, if there are more.
pub(super) fn prefix_len(bytes: &[u8], collation: CollationId, chars: usize) -> Option<usize> {
    if bytes.len() <= chars {
        return None;
    }
    if !is_utf8(collation) {
        return Some(chars);
    }
    let starts = bytes.iter().enumerate().filter(|(_, b)| **b & 0xC0 != 0x80);
    starts.map(|(i, _)| i).nth(chars)
}

/// The longest prefix of at most `len` bytes that ends with a whole character.
pub(super) fn boundary(bytes: &[u8], collation: CollationId, len: usize) -> usize {
    let mut end = len.min(bytes.len());
    if is_utf8(collation) {
        while end > 0 && bytes.get(end).is_some_and(|b| b & 0xC0 == 0x80) {
            end -= 1;
        }
    }
    end
}

pub(super) fn equal(collation: CollationId, a: &[u8], b: &[u8]) -> bool {
    let _ = collation;
    a.eq_ignore_ascii_case(b)
}
