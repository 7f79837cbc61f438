//! What expressions need to know of character sets, in one place.

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
