//! What keys ask of collations: a sort key, and how many bytes a prefix of characters takes.

use std::borrow::Cow;

use vaquita_types::charset::CollationId;
use vaquita_types::{Error, Result};

/// The collation orders strings by their bytes, trailing spaces included.
pub(crate) fn is_raw(collation: CollationId) -> bool {
    matches!(collation, CollationId::BINARY | CollationId::UTF8MB4_0900_BIN)
}

/// The collation orders strings by their bytes, as if they were followed by endless spaces.
pub(crate) fn is_raw_pad_space(collation: CollationId) -> bool {
    matches!(
        collation,
        CollationId::UTF8MB4_BIN | CollationId::UTF8MB3_BIN | CollationId::LATIN1_BIN | CollationId::ASCII_BIN
    )
}

/// Appends the sort key.
pub(crate) fn sort_key(_collation: CollationId, _bytes: &[u8], _out: &mut Vec<u8>) -> Result<()> {
    Err(Error::unsupported("an index on this collation"))
}

/// The first `chars` characters.
pub(crate) fn char_prefix(_collation: CollationId, bytes: &[u8], chars: usize) -> &[u8] {
    bytes.get(..chars).unwrap_or(bytes)
}

/// A string for a message.
pub(crate) fn to_utf8(_collation: CollationId, bytes: &[u8]) -> Cow<'_, [u8]> {
    Cow::Borrowed(bytes)
}
