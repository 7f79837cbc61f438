//! What keys ask of collations.

use std::borrow::Cow;

use vaquita_types::charset::{Charset, CollationId, charset, collation};
use vaquita_types::{Error, Result};

/// Strings compare by their bytes, trailing spaces included.
pub(crate) fn is_raw(id: CollationId) -> bool {
    collation(id).sort_key_is_bytes()
}

/// Strings compare by their bytes, as if they were followed by endless spaces.
pub(crate) fn is_raw_pad_space(id: CollationId) -> bool {
    let collation = collation(id);
    collation.is_bin() && collation.pad_space && collation.charset.is_ascii_compatible()
}

/// Appends the sort key.
#[inline]
pub(crate) fn sort_key(id: CollationId, bytes: &[u8], out: &mut Vec<u8>) -> Result<()> {
    let collation = collation(id);
    if !collation.is_supported() {
        return Err(Error::unsupported(format_args!("an index with collation {}", collation.name)));
    }
    collation.sort_key(bytes, out);
    Ok(())
}

/// The first `chars` characters.
pub(crate) fn char_prefix(id: CollationId, bytes: &[u8], chars: usize) -> &[u8] {
    charset(id).prefix(bytes, chars)
}

/// A string for a message.
pub(crate) fn to_utf8(id: CollationId, bytes: &[u8]) -> Cow<'_, [u8]> {
    match Charset::by_name("utf8mb4") {
        Some(utf8) => charset(id).convert(utf8, bytes).bytes,
        None => Cow::Borrowed(bytes),
    }
}
