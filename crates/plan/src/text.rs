//! What expressions need to know of character sets, in one place.

use std::borrow::Cow;
use std::cmp::Ordering;

use vaquita_types::charset::CollationId;

/// The charset's name; unknown ids count as binary.
pub fn charset_name(collation: CollationId) -> &'static str {
    match collation.0 {
        8 | 47 | 48 | 5 | 15 | 31 | 49 | 94 => "latin1",
        11 | 65 => "ascii",
        33 | 83 | 76 | 192..=215 | 223 => "utf8mb3",
        45 | 46 | 224..=247 | 255..=323 => "utf8mb4",
        _ => "binary",
    }
}

/// The collation's name, as SHOW COLLATION has it.
pub fn collation_name(collation: CollationId) -> &'static str {
    match collation.0 {
        8 => "latin1_swedish_ci",
        45 => "utf8mb4_general_ci",
        46 => "utf8mb4_bin",
        255 => "utf8mb4_0900_ai_ci",
        _ => "binary",
    }
}

pub fn same_charset(a: CollationId, b: CollationId) -> bool {
    a == b || charset_name(a) == charset_name(b)
}

pub fn is_unicode(collation: CollationId) -> bool {
    matches!(charset_name(collation), "utf8mb3" | "utf8mb4" | "ucs2" | "utf16" | "utf16le" | "utf32")
}

/// The charset holds characters beyond the basic plane.
pub fn has_supplementary(collation: CollationId) -> bool {
    matches!(charset_name(collation), "utf8mb4" | "utf16" | "utf16le" | "utf32")
}

/// A `_bin` collation.
pub fn is_binary_sort(collation: CollationId) -> bool {
    collation == CollationId::BINARY || collation_name(collation).ends_with("_bin")
}

/// The `_bin` collation of the same charset.
pub fn binary_collation_of(collation: CollationId) -> CollationId {
    match charset_name(collation) {
        "latin1" => CollationId::LATIN1_BIN,
        "ascii" => CollationId::ASCII_BIN,
        "utf8mb3" => CollationId::UTF8MB3_BIN,
        "utf8mb4" => CollationId::UTF8MB4_BIN,
        _ => CollationId::BINARY,
    }
}

/// The default collation of a charset by name.
pub fn default_collation(charset: &str) -> Option<CollationId> {
    match charset.to_ascii_lowercase().as_str() {
        "utf8mb4" => Some(CollationId::UTF8MB4_0900_AI_CI),
        "utf8mb3" | "utf8" => Some(CollationId::UTF8MB3_GENERAL_CI),
        "latin1" => Some(CollationId::LATIN1_SWEDISH_CI),
        "ascii" => Some(CollationId::ASCII_GENERAL_CI),
        "binary" => Some(CollationId::BINARY),
        _ => None,
    }
}

/// Bytes of the longest character.
pub fn bytes_per_char_max(collation: CollationId) -> u8 {
    match charset_name(collation) {
        "utf8mb3" => 3,
        "utf8mb4" => 4,
        _ => 1,
    }
}

/// The order of two strings.
pub fn compare(a: &[u8], b: &[u8], collation: CollationId) -> Ordering {
    a.cmp(b)
}

/// `bytes` in another charset; `Err` has the rest from the first character that cannot be converted.
pub fn convert(bytes: Cow<'_, [u8]>, from: CollationId, to: CollationId) -> Result<Cow<'_, [u8]>, Vec<u8>> {
    Ok(bytes)
}

/// Bytes of the character at the start of `bytes`, at least 1.
pub fn char_len(bytes: &[u8], collation: CollationId) -> usize {
    if !is_utf8(collation) {
        return 1;
    }
    let len = match bytes.first() {
        Some(0xC2..=0xDF) => 2,
        Some(0xE0..=0xEF) => 3,
        Some(0xF0..=0xF7) => 4,
        _ => 1,
    };
    len.min(bytes.len().max(1))
}

fn is_utf8(collation: CollationId) -> bool {
    bytes_per_char_max(collation) >= 3
}

/// The characters, each with its bytes.
pub fn chars(bytes: &[u8], collation: CollationId) -> impl Iterator<Item = &[u8]> {
    let mut rest = bytes;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let (head, tail) = rest.split_at(char_len(rest, collation));
        rest = tail;
        Some(head)
    })
}

/// Characters in `bytes`.
pub fn char_count(bytes: &[u8], collation: CollationId) -> usize {
    if bytes_per_char_max(collation) == 1 || bytes.is_ascii() {
        return bytes.len();
    }
    chars(bytes, collation).count()
}

/// The byte position of the `n`-th character; the length if there are fewer.
pub fn byte_offset(bytes: &[u8], n: usize, collation: CollationId) -> usize {
    if bytes_per_char_max(collation) == 1 {
        return n.min(bytes.len());
    }
    let mut at = 0;
    for _ in 0..n {
        if at >= bytes.len() {
            break;
        }
        at += char_len(&bytes[at..], collation);
    }
    at
}

/// `text LIKE pattern`: `%` any characters, `_` one; `escape` makes the next one literal.
pub fn like(text: &[u8], pattern: &[u8], escape: Option<u32>, collation: CollationId) -> bool {
    let text: Vec<&[u8]> = chars(text, collation).collect();
    let pattern = like_pattern(pattern, escape, collation);
    let (mut t, mut p) = (0, 0);
    // Where to go on after the last `%`: the pattern behind it, the text it has not yet eaten.
    let mut retry: Option<(usize, usize)> = None;
    while t < text.len() {
        match pattern.get(p) {
            Some(Wild::Any) => {
                retry = Some((p + 1, t));
                p += 1;
                continue;
            }
            Some(Wild::One) => {
                t += 1;
                p += 1;
                continue;
            }
            Some(Wild::Char(c)) if char_equal(c, text[t], collation) => {
                t += 1;
                p += 1;
                continue;
            }
            _ => {}
        }
        match retry {
            Some((after, eaten)) => {
                retry = Some((after, eaten + 1));
                t = eaten + 1;
                p = after;
            }
            None => return false,
        }
    }
    pattern[p..].iter().all(|w| matches!(w, Wild::Any))
}

enum Wild<'a> {
    Any,
    One,
    Char(&'a [u8]),
}

fn like_pattern(pattern: &[u8], escape: Option<u32>, collation: CollationId) -> Vec<Wild<'_>> {
    let mut out = Vec::new();
    let mut escaped = false;
    let mut last: Option<&[u8]> = None;
    for c in chars(pattern, collation) {
        if escaped {
            out.push(Wild::Char(c));
            escaped = false;
            continue;
        }
        if escape.is_some() && code_point(c, collation) == escape {
            escaped = true;
            last = Some(c);
            continue;
        }
        out.push(match c {
            b"%" => Wild::Any,
            b"_" => Wild::One,
            _ => Wild::Char(c),
        });
    }
    if let (true, Some(c)) = (escaped, last) {
        out.push(Wild::Char(c));
    }
    out
}

fn char_equal(a: &[u8], b: &[u8], collation: CollationId) -> bool {
    a == b || compare(a, b, collation).is_eq()
}

/// The Unicode code point, or the byte of a single-byte charset.
pub fn code_point(c: &[u8], collation: CollationId) -> Option<u32> {
    if is_utf8(collation) {
        return std::str::from_utf8(c).ok().and_then(|s| s.chars().next()).map(u32::from);
    }
    c.first().map(|b| u32::from(*b))
}
