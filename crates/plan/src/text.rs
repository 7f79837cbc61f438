//! What expressions need to know of character sets, over `vaquita_types::charset`.

use std::borrow::Cow;
use std::cmp::Ordering;

use vaquita_types::charset::{Charset, CollationId, charset, collation};
use vaquita_types::datatype::DECIMALS_NOT_FIXED;
use vaquita_types::{ColumnType, Error, TypeKind};

use crate::env::Env;

pub fn charset_name(id: CollationId) -> &'static str {
    charset(id).name
}

/// The collation's name, as SHOW COLLATION has it.
pub fn collation_name(id: CollationId) -> &'static str {
    collation(id).name
}

pub fn same_charset(a: CollationId, b: CollationId) -> bool {
    a == b || std::ptr::eq(charset(a), charset(b))
}

pub fn is_unicode(id: CollationId) -> bool {
    charset(id).is_unicode()
}

/// A charset of Unicode in which MySQL takes every string of Unicode to be at home; it does not think so of utf16.
pub fn holds_unicode(id: CollationId) -> bool {
    matches!(charset_name(id), "utf8mb4" | "utf32")
}

/// A `_bin` collation.
pub fn is_binary_sort(id: CollationId) -> bool {
    collation(id).is_bin()
}

/// The `_bin` collation of the same charset.
pub fn binary_collation_of(id: CollationId) -> CollationId {
    charset(id).bin_collation()
}

/// The default collation of a charset by name.
pub fn default_collation(name: &str) -> Option<CollationId> {
    Charset::by_name(name).map(|c| c.default_collation)
}

/// Bytes of the longest character.
pub fn bytes_per_char_max(id: CollationId) -> u8 {
    charset(id).mbmaxlen
}

/// Bytes of the shortest character.
pub fn bytes_per_char_min(id: CollationId) -> u8 {
    charset(id).mbminlen
}

/// The order of two strings.
pub fn compare(a: &[u8], b: &[u8], id: CollationId) -> Ordering {
    collation(id).compare(a, b)
}

/// `bytes` in another charset, `?` for characters that it lacks. Bytes that are no text of `to` when they
/// come from `binary` are `Err`, from the first bad one on.
pub fn convert(bytes: Cow<'_, [u8]>, from: CollationId, to: CollationId) -> Result<Cow<'_, [u8]>, Vec<u8>> {
    let (from, to) = (charset(from), charset(to));
    if from.is_binary() && !to.is_binary() {
        let bytes = match to.whole_units(&bytes) {
            Cow::Borrowed(_) => bytes,
            Cow::Owned(whole) => Cow::Owned(whole),
        };
        return match to.validate(&bytes) {
            Ok(()) => Ok(bytes),
            Err(at) => Err(bytes.get(at..).unwrap_or_default().to_vec()),
        };
    }
    Ok(match bytes {
        Cow::Borrowed(b) => from.convert(to, b).bytes,
        Cow::Owned(b) => match from.convert(to, &b).bytes {
            Cow::Owned(converted) => Cow::Owned(converted),
            Cow::Borrowed(_) => Cow::Owned(b),
        },
    })
}

/// ASCII in the charset of a collation.
pub fn from_ascii(ascii: &[u8], id: CollationId) -> Vec<u8> {
    let mut out = Vec::with_capacity(ascii.len() * usize::from(bytes_per_char_min(id)));
    for byte in ascii {
        charset(id).encode(u32::from(*byte), &mut out);
    }
    out
}

/// The characters, each with its bytes.
pub fn chars(bytes: &[u8], id: CollationId) -> impl Iterator<Item = &[u8]> {
    charset(id).chars(bytes).map(|c| c.bytes)
}

/// Characters in `bytes`.
pub fn char_count(bytes: &[u8], id: CollationId) -> usize {
    charset(id).char_count(bytes)
}

/// The byte position of the `n`-th character; the length if there are fewer.
pub fn byte_offset(bytes: &[u8], n: usize, id: CollationId) -> usize {
    charset(id).prefix_len(bytes, n)
}

/// So many bytes, compared with all of a pattern each, take a while.
const LONG_BYTES: usize = 4 << 10;

/// `text LIKE pattern`: `%` any characters, `_` one; `escape` makes the next one literal.
pub fn like(text: &[u8], pattern: &[u8], escape: Option<u32>, id: CollationId, env: &dyn Env) -> Result<bool, Error> {
    if text.len() < LONG_BYTES {
        return Ok(collation(id).like(text, pattern, escape));
    }
    collation(id).like_while(text, pattern, escape, &mut || env.check_interrupt())
}

/// The position, in characters from 0, of the first `needle` at or after character `from`.
pub fn find(haystack: &[u8], needle: &[u8], from: usize, id: CollationId, env: &dyn Env) -> Result<Option<usize>, Error> {
    if haystack.len() < LONG_BYTES {
        return Ok(collation(id).find(haystack, needle, from));
    }
    collation(id).find_while(haystack, needle, from, &mut || env.check_interrupt())
}

/// The code point of the first character.
pub fn code_point(bytes: &[u8], id: CollationId) -> Option<u32> {
    charset(id).chars(bytes).next().and_then(|c| c.code_point)
}

/// `text` in the charset of `id`.
pub fn from_utf8(text: &str, id: CollationId) -> Vec<u8> {
    charset(CollationId::UTF8MB4_BIN).convert(charset(id), text.as_bytes()).bytes.into_owned()
}

/// `bytes` as Unicode, with U+FFFD for what is no character.
pub fn to_utf8(bytes: &[u8], id: CollationId) -> String {
    match bytes.is_ascii() && charset(id).is_ascii_compatible() {
        true => String::from_utf8_lossy(bytes).into_owned(),
        false => charset(id).chars(bytes).map(|c| c.code_point.and_then(char::from_u32).unwrap_or('\u{FFFD}')).collect(),
    }
}

/// `x'41'` and `b'1'`: VARBINARY marked unsigned, an integer in numeric context.
pub fn is_hex_literal(ty: &ColumnType) -> bool {
    ty.kind == TypeKind::VarBinary && ty.unsigned && ty.decimals == 0
}

/// The type of a value that was a literal: a hexadecimal one is a binary string where it was stored or chosen among others.
pub fn without_hex(ty: ColumnType) -> ColumnType {
    if is_hex_literal(&ty) { ColumnType { unsigned: false, ..ty } } else { ty }
}

/// The type of what an expression makes of a value of type `ty`: only columns show the year 0 as 0000.
pub fn of_expression(ty: ColumnType) -> ColumnType {
    if ty.kind == TypeKind::Year { ColumnType { zerofill: false, ..ty } } else { ty }
}

/// VARBINARY with the flag UNSIGNED in its metadata, which is no hexadecimal literal.
pub fn unsigned_varbinary(bytes_max: u32) -> ColumnType {
    ColumnType { unsigned: true, decimals: DECIMALS_NOT_FIXED, ..ColumnType::varbinary(bytes_max) }
}

/// What BIT_AND and its like give of binary strings: a number without decimals, read without a warning.
pub fn is_unsigned_varbinary(ty: &ColumnType) -> bool {
    ty.kind == TypeKind::VarBinary && ty.unsigned && ty.decimals != 0
}

/// Values of the type are read as text: character and binary strings, ENUM and SET.
pub fn is_string(ty: &ColumnType) -> bool {
    ty.is_bytes() || matches!(ty.kind, TypeKind::Enum | TypeKind::Set)
}
