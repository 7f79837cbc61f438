//! Functions that build, cut, pad and change strings.
//!
//! Positions and lengths count characters of the argument's charset, from 1; negative positions count
//! from the end. The result has the collation of the arguments together.

use std::borrow::Cow;

use vaquita_types::charset::{CollationId, charset, collation};
use vaquita_types::{ColumnType, Error, Result, TypeKind, Value, errno};

use super::args::{MANY, any_nullable, common_text, def, one_text, text_like_first};
use super::{FuncCall, FuncDef, FuncType};
use crate::env::{EvalCx, Level};
use crate::eval::arg;
use crate::expr::{Expr, ExprKind};
use crate::text;
use crate::typing::{char_length, int_of_length, is_string, length_among, string_collation};

pub(super) static FUNCTIONS: &[FuncDef] = &[
    def("LENGTH", 1, 1, int_11, length),
    def("OCTET_LENGTH", 1, 1, int_11, length),
    def("BIT_LENGTH", 1, 1, int_11, |c, cx| Ok(Value::Int(arg!(c.text(0, cx)).len() as i64 * 8))),
    def("CHAR_LENGTH", 1, 1, int_11, chars),
    def("CHARACTER_LENGTH", 1, 1, int_11, chars),
    def("CONCAT", 1, MANY, resolve_concat, concat),
    def("CONCAT_WS", 2, MANY, resolve_concat_ws, concat_ws),
    def("LEFT", 2, 2, resolve_cut, left),
    def("RIGHT", 2, 2, resolve_cut, right),
    def("SUBSTRING", 2, 3, resolve_substring, substring),
    def("SUBSTR", 2, 3, resolve_substring, substring),
    def("MID", 3, 3, resolve_substring, substring),
    def("SUBSTRING_INDEX", 3, 3, resolve_pair, substring_index),
    def("LOWER", 1, 1, |a| resolve_same(a, 1, "lower"), |c, cx| map_case(c, cx, false)),
    def("LCASE", 1, 1, |a| resolve_same(a, 1, "lcase"), |c, cx| map_case(c, cx, false)),
    def("UPPER", 1, 1, |a| resolve_same(a, 1, "upper"), |c, cx| map_case(c, cx, true)),
    def("UCASE", 1, 1, |a| resolve_same(a, 1, "ucase"), |c, cx| map_case(c, cx, true)),
    def("REVERSE", 1, 1, |a| resolve_same(a, 1, "reverse"), reverse),
    def("TRIM", 1, 2, resolve_pair, |c, cx| trim(c, cx, true, true)),
    def("LTRIM", 1, 1, resolve_pair, |c, cx| trim(c, cx, true, false)),
    def("RTRIM", 1, 1, resolve_pair, |c, cx| trim(c, cx, false, true)),
    // TRIM(LEADING … FROM …), the text first.
    def("TRIM LEADING", 2, 2, resolve_pair, |c, cx| trim(c, cx, true, false)),
    def("TRIM TRAILING", 2, 2, resolve_pair, |c, cx| trim(c, cx, false, true)),
    def("LPAD", 3, 3, resolve_pad, |c, cx| pad(c, cx, true)),
    def("RPAD", 3, 3, resolve_pad, |c, cx| pad(c, cx, false)),
    def("REPEAT", 2, 2, resolve_repeat, repeat),
    def("SPACE", 1, 1, resolve_space, space),
    def("REPLACE", 3, 3, resolve_replace, replace),
    def("INSERT", 4, 4, resolve_insert, insert),
    def("ELT", 2, MANY, resolve_elt, elt),
    def("MAKE_SET", 2, MANY, resolve_make_set, make_set),
    def("EXPORT_SET", 3, 5, resolve_export_set, export_set),
];

fn int_11(args: &mut Vec<Expr>) -> Result<FuncType> {
    FuncType::number(int_of_length(11), any_nullable(args))
}

fn length(call: &FuncCall<'_>, cx: &EvalCx<'_>) -> Result<Value> {
    Ok(Value::Int(arg!(call.text(0, cx)).len() as i64))
}

fn chars(call: &FuncCall<'_>, cx: &EvalCx<'_>) -> Result<Value> {
    let text = arg!(call.text(0, cx));
    let collation = call.args.first().map_or(CollationId::BINARY, |a| string_collation(a).collation);
    Ok(Value::Int(text::char_count(&text, collation) as i64))
}

/// The value of a literal count, for the length of the result.
fn literal_count(arg: Option<&Expr>) -> Option<u64> {
    match arg.map(|a| &a.kind) {
        Some(ExprKind::Literal(Value::Int(n))) => Some((*n).max(0) as u64),
        Some(ExprKind::Literal(Value::UInt(n))) => Some(*n),
        Some(ExprKind::Literal(Value::Decimal(d))) => Some(d.to_u64().0),
        Some(ExprKind::Literal(Value::Bytes(b))) => Some(crate::eval::coerce::parse_f64(b).0.max(0.0) as u64),
        _ => None,
    }
}

fn is_null(arg: Option<&Expr>) -> bool {
    matches!(arg.map(|arg| &arg.kind), Some(ExprKind::Literal(Value::Null)))
}

/// Characters of a result whose length no literal tells: max_allowed_packet's default in utf8mb4.
const UNKNOWN_CHARS: u64 = 16_777_216;

/// As `literal_count`. A negative count tells nothing: as many bytes are announced as there are characters otherwise.
fn positive_count(arg: Option<&Expr>, collation: CollationId) -> Option<u64> {
    match arg.map(|a| &a.kind) {
        Some(ExprKind::Literal(Value::Int(n))) if *n < 0 => {
            Some(UNKNOWN_CHARS / u64::from(text::bytes_per_char_max(collation)).max(1))
        }
        _ => literal_count(arg),
    }
}

fn char_sum(args: &[Expr]) -> u64 {
    args.iter().map(|a| u64::from(char_length(&a.ty))).sum()
}

/// What argument `i` adds to the length of a result: characters, or bytes if the result is binary.
fn units_of(args: &[Expr], i: usize, collation: CollationId) -> u64 {
    args.get(i).map_or(0, |arg| u64::from(length_among(&arg.ty, collation)))
}

fn chars_of(args: &[Expr], i: usize) -> u64 {
    args.get(i).map_or(0, |a| u64::from(char_length(&a.ty)))
}

fn resolve_concat(args: &mut Vec<Expr>) -> Result<FuncType> {
    let types: Vec<ColumnType> = args.iter().map(|a| a.ty.clone()).collect();
    let collated = one_text(args, |_| true, "concat")?;
    let length = types.iter().map(|ty| u64::from(length_among(ty, collated.collation))).sum();
    FuncType::sum(length, collated)
}

fn resolve_concat_ws(args: &mut Vec<Expr>) -> Result<FuncType> {
    let types: Vec<ColumnType> = args.iter().map(|a| a.ty.clone()).collect();
    let collated = one_text(args, |_| true, "concat_ws")?;
    let length_of = |ty: &ColumnType| u64::from(length_among(ty, collated.collation));
    let separators = types.first().map_or(0, length_of) * (types.len() as u64).saturating_sub(2);
    let length = types.iter().skip(1).map(length_of).sum::<u64>() + separators;
    FuncType::sum(length, collated)
}

fn resolve_same(args: &mut Vec<Expr>, factor: u64, name: &str) -> Result<FuncType> {
    let chars = chars_of(args, 0) * factor;
    let collated = common_text(args, |i| i == 0, name, false)?;
    FuncType::string(chars, collated)
}

fn resolve_cut(args: &mut Vec<Expr>) -> Result<FuncType> {
    let limit = literal_count(args.get(1)).unwrap_or(u64::MAX);
    let chars = chars_of(args, 0).min(limit);
    let collated = common_text(args, |i| i == 0, "left", false)?;
    FuncType::string(chars, collated)
}

fn resolve_substring(args: &mut Vec<Expr>) -> Result<FuncType> {
    let mut chars = chars_of(args, 0);
    if let Some(ExprKind::Literal(Value::Int(n))) = args.get(1).map(|a| &a.kind)
        && *n < 0
    {
        chars = chars.min(n.unsigned_abs());
    } else if let Some(start) = literal_count(args.get(1)) {
        chars = if start == 0 { 0 } else { chars.saturating_sub(start - 1) };
    }
    if let Some(limit) = literal_count(args.get(2)).filter(|_| !is_null(args.get(1))) {
        chars = chars.min(limit);
    }
    let collated = common_text(args, |i| i == 0, "substr", false)?;
    FuncType::string(chars, collated)
}

fn resolve_pair(args: &mut Vec<Expr>) -> Result<FuncType> {
    let chars = chars_of(args, 0);
    // Bytes of a binary string are compared with those of a text.
    if let [first, second, ..] = args.as_mut_slice()
        && is_string(&first.ty)
        && first.ty.collation == CollationId::BINARY
        && is_string(&second.ty)
    {
        second.ty.collation = CollationId::BINARY;
    }
    let collated = text_like_first(args, |i| i < 2)?;
    FuncType::string(chars, collated)
}

fn resolve_pad(args: &mut Vec<Expr>) -> Result<FuncType> {
    let collation = args.first().map_or(CollationId::BINARY, |a| string_collation(a).collation);
    let chars = positive_count(args.get(1), collation).unwrap_or(UNKNOWN_CHARS);
    let collated = text_like_first(args, |i| i != 1)?;
    FuncType::string(chars, collated)
}

fn resolve_repeat(args: &mut Vec<Expr>) -> Result<FuncType> {
    if is_null(args.first()) && !is_null(args.get(1)) {
        return FuncType::binary(0);
    }
    let is_negative = matches!(args.get(1).map(|a| &a.kind), Some(ExprKind::Literal(Value::Int(n))) if *n < 0);
    let collation = args.first().map_or(CollationId::BINARY, |a| string_collation(a).collation);
    let count = positive_count(args.get(1), collation);
    let chars = count.map_or(UNKNOWN_CHARS, |n| if is_negative { n } else { chars_of(args, 0).saturating_mul(n) });
    let collated = common_text(args, |i| i == 0, "repeat", false)?;
    if count.is_none() {
        return FuncType::string(chars, collated);
    }
    FuncType::sum(chars, collated)
}

fn resolve_space(args: &mut Vec<Expr>) -> Result<FuncType> {
    if args.first().is_some_and(|count| count.ty.kind == TypeKind::Null) {
        return FuncType::ascii(0);
    }
    FuncType::ascii(literal_count(args.first()).unwrap_or(UNKNOWN_CHARS))
}

fn resolve_replace(args: &mut Vec<Expr>) -> Result<FuncType> {
    let (text, with) = (args.first().map(|a| a.ty.clone()), args.get(2).map(|a| a.ty.clone()));
    let collated = text_like_first(args, |_| true)?;
    let length_of = |ty: Option<&ColumnType>| ty.map_or(0, |ty| u64::from(length_among(ty, collated.collation)));
    // MySQL takes away one of what each character may become.
    let length = length_of(text.as_ref()).saturating_mul(length_of(with.as_ref()).saturating_sub(1).max(1));
    FuncType::sum(length, collated)
}

fn resolve_insert(args: &mut Vec<Expr>) -> Result<FuncType> {
    let new = args.get(3).map(|a| a.ty.clone());
    let collated = text_like_first(args, |i| i == 0 || i == 3)?;
    let new = new.map_or(0, |ty| u64::from(length_among(&ty, collated.collation)));
    FuncType::sum(units_of(args, 0, collated.collation) + new, collated)
}

fn resolve_elt(args: &mut Vec<Expr>) -> Result<FuncType> {
    let chars = (1..args.len()).map(|i| chars_of(args, i)).max().unwrap_or(0);
    let collated = one_text(args, |i| i > 0, "elt")?;
    FuncType::string(chars, collated)
}

fn resolve_make_set(args: &mut Vec<Expr>) -> Result<FuncType> {
    let strings = args.get(1..).unwrap_or_default();
    let chars = char_sum(strings) + (strings.len() as u64).saturating_sub(1);
    let nullable = any_nullable(args);
    let collated = one_text(args, |i| i > 0, "make_set")?;
    Ok(FuncType { nullable, ..FuncType::string(chars, collated)? })
}

fn resolve_export_set(args: &mut Vec<Expr>) -> Result<FuncType> {
    let types: Vec<ColumnType> = args.iter().map(|a| a.ty.clone()).collect();
    let collated = one_text(args, |i| (1..=3).contains(&i), "export_set")?;
    let length_of = |i: usize| types.get(i).map_or(0, |ty| u64::from(length_among(ty, collated.collation)));
    let separator = if args.len() > 3 { length_of(3) } else { 1 };
    FuncType::sum(length_of(1).max(length_of(2)) * 64 + separator * 63, collated)
}

fn concat(call: &FuncCall<'_>, cx: &EvalCx<'_>) -> Result<Value> {
    let mut out = arg!(call.text(0, cx)).into_owned();
    for i in 1..call.len() {
        let part = arg!(call.text(i, cx));
        if too_long(out.len() + part.len(), "concat", cx)? {
            return Ok(Value::Null);
        }
        out.extend_from_slice(&part);
    }
    Ok(Value::from(out))
}

fn concat_ws(call: &FuncCall<'_>, cx: &EvalCx<'_>) -> Result<Value> {
    let separator = arg!(call.text(0, cx));
    let mut out = Vec::new();
    let mut first = true;
    for i in 1..call.len() {
        let Some(part) = call.text(i, cx)? else { continue };
        if too_long(out.len() + separator.len() + part.len(), "concat_ws", cx)? {
            return Ok(Value::Null);
        }
        if !first {
            out.extend_from_slice(&separator);
        }
        out.extend_from_slice(&part);
        first = false;
    }
    Ok(Value::from(out))
}

/// A count of characters: negative is 0, huge is clamped.
fn count(n: i128) -> usize {
    usize::try_from(n.max(0)).unwrap_or(usize::MAX)
}

fn left(call: &FuncCall<'_>, cx: &EvalCx<'_>) -> Result<Value> {
    let (text, n) = (arg!(call.text(0, cx)), count(arg!(call.int(1, cx))));
    let end = text::byte_offset(&text, n, call.ty.collation);
    Ok(Value::bytes(&text[..end]))
}

fn right(call: &FuncCall<'_>, cx: &EvalCx<'_>) -> Result<Value> {
    let (text, n) = (arg!(call.text(0, cx)), count(arg!(call.int(1, cx))));
    let total = text::char_count(&text, call.ty.collation);
    let start = text::byte_offset(&text, total.saturating_sub(n), call.ty.collation);
    Ok(Value::bytes(&text[start..]))
}

fn substring(call: &FuncCall<'_>, cx: &EvalCx<'_>) -> Result<Value> {
    let (text, position) = (arg!(call.text(0, cx)), arg!(call.int(1, cx)));
    let length = if call.len() > 2 { count(arg!(call.int(2, cx))) } else { usize::MAX };
    let total = text::char_count(&text, call.ty.collation);
    let start = match position {
        0 => return Ok(Value::from("")),
        p if p > 0 => count(p - 1),
        p if -p > total as i128 => return Ok(Value::from("")),
        p => total - count(-p),
    };
    if start >= total || length == 0 {
        return Ok(Value::from(""));
    }
    let from = text::byte_offset(&text, start, call.ty.collation);
    let rest = &text[from..];
    Ok(Value::bytes(&rest[..text::byte_offset(rest, length, call.ty.collation)]))
}

/// Byte positions where `needle` begins, compared as bytes at character borders, without overlap.
fn occurrences(text: &[u8], needle: &[u8], id: CollationId) -> Vec<usize> {
    let mut found = Vec::new();
    let mut at = 0;
    while at < text.len() && !needle.is_empty() {
        if text[at..].starts_with(needle) {
            found.push(at);
            at += needle.len();
        } else {
            at += text::byte_offset(&text[at..], 1, id).max(1);
        }
    }
    found
}

/// Occurrences are found from the end on, as MySQL does where each character is a byte: of `aaa`, the last `aa` is the last two.
fn behind_nth_from_end<'t>(text: &'t [u8], delimiter: &[u8], mut n: u64) -> &'t [u8] {
    let mut end = text.len();
    while let Some(at) = text[..end].windows(delimiter.len()).rposition(|window| window == delimiter) {
        n -= 1;
        if n == 0 {
            return &text[at + delimiter.len()..];
        }
        end = at;
    }
    text
}

fn substring_index(call: &FuncCall<'_>, cx: &EvalCx<'_>) -> Result<Value> {
    let (text, delimiter, n) = (arg!(call.text(0, cx)), arg!(call.text(1, cx)), arg!(call.i64(2, cx)));
    if n == 0 || delimiter.is_empty() || text.is_empty() {
        return Ok(Value::from(""));
    }
    if n < 0 && charset(call.ty.collation).mbmaxlen == 1 {
        return Ok(Value::bytes(behind_nth_from_end(&text, &delimiter, n.unsigned_abs())));
    }
    let found = occurrences(&text, &delimiter, call.ty.collation);
    if n > 0 {
        let end = found.get(n as usize - 1).copied().unwrap_or(text.len());
        return Ok(Value::bytes(&text[..end]));
    }
    let back = n.unsigned_abs() as usize;
    let start = found.len().checked_sub(back).and_then(|i| found.get(i)).map_or(0, |at| at + delimiter.len());
    Ok(Value::bytes(&text[start..]))
}

fn map_case(call: &FuncCall<'_>, cx: &EvalCx<'_>, upper: bool) -> Result<Value> {
    let text = arg!(call.text(0, cx));
    let c = collation(call.ty.collation);
    Ok(Value::from(if upper { c.upper(&text) } else { c.lower(&text) }))
}

fn reverse(call: &FuncCall<'_>, cx: &EvalCx<'_>) -> Result<Value> {
    let text = arg!(call.text(0, cx));
    let parts: Vec<&[u8]> = text::chars(&text, call.ty.collation).collect();
    Ok(Value::from(parts.into_iter().rev().flatten().copied().collect::<Vec<u8>>()))
}

fn trim(call: &FuncCall<'_>, cx: &EvalCx<'_>, leading: bool, trailing: bool) -> Result<Value> {
    let text = arg!(call.text(0, cx));
    let remove = if call.len() > 1 { arg!(call.text(1, cx)) } else { Cow::Owned(text::from_utf8(" ", call.ty.collation)) };
    if remove.is_empty() {
        return Ok(Value::bytes(text));
    }
    let mut rest = &text[..];
    while leading && let Some(tail) = rest.strip_prefix(&remove[..]) {
        rest = tail;
    }
    while trailing && let Some(head) = rest.strip_suffix(&remove[..]) {
        rest = head;
    }
    Ok(Value::bytes(rest))
}

/// NULL with warning 1301 if the result would not fit a packet; error 1041 if the server has no room for it.
pub(super) fn too_long(bytes: usize, name: &str, cx: &EvalCx<'_>) -> Result<bool> {
    // Asked only for results that are long: short ones fit any limit.
    if bytes < 1 << 20 {
        return Ok(false);
    }
    let limit = crate::eval::packet_bytes_max(cx.env);
    if bytes > limit {
        cx.env.warn(Level::Warning, Error::new(&errno::ER_WARN_ALLOWED_PACKET_OVERFLOWED, &[&name, &limit]));
    }
    if bytes <= limit {
        vaquita_types::memory::ask(bytes)?;
    }
    Ok(bytes > limit)
}

fn pad(call: &FuncCall<'_>, cx: &EvalCx<'_>, left: bool) -> Result<Value> {
    let (text, wanted, fill) = (arg!(call.text(0, cx)), arg!(call.int(1, cx)), arg!(call.text(2, cx)));
    if wanted < 0 {
        return Ok(Value::Null);
    }
    let wanted = count(wanted);
    let id = call.ty.collation;
    let have = text::char_count(&text, id);
    if have >= wanted {
        return Ok(Value::bytes(&text[..text::byte_offset(&text, wanted, id)]));
    }
    let fill_chars = text::char_count(&fill, id);
    if fill_chars == 0 {
        return Ok(Value::bytes(&*text));
    }
    let missing = wanted - have;
    let bytes = missing.saturating_mul(usize::from(text::bytes_per_char_max(id)));
    if too_long(bytes.max(missing), if left { "lpad" } else { "rpad" }, cx)? {
        return Ok(Value::Null);
    }
    let mut padding = fill.repeat(missing / fill_chars);
    padding.extend_from_slice(&fill[..text::byte_offset(&fill, missing % fill_chars, id)]);
    Ok(Value::from(if left { [&padding[..], &text[..]].concat() } else { [&text[..], &padding[..]].concat() }))
}

fn repeat(call: &FuncCall<'_>, cx: &EvalCx<'_>) -> Result<Value> {
    let (text, n) = (arg!(call.text(0, cx)), count(arg!(call.int(1, cx))));
    if too_long(text.len().saturating_mul(n), "repeat", cx)? {
        return Ok(Value::Null);
    }
    Ok(Value::from(text.repeat(if text.is_empty() { 0 } else { n })))
}

fn space(call: &FuncCall<'_>, cx: &EvalCx<'_>) -> Result<Value> {
    let n = count(arg!(call.int(0, cx)));
    Ok(if too_long(n, "space", cx)? { Value::Null } else { Value::from(vec![b' '; n]) })
}

fn replace(call: &FuncCall<'_>, cx: &EvalCx<'_>) -> Result<Value> {
    let (text, from, to) = (arg!(call.text(0, cx)), arg!(call.text(1, cx)), arg!(call.text(2, cx)));
    let found = occurrences(&text, &from, call.ty.collation);
    if too_long(text.len() - found.len() * from.len() + found.len() * to.len(), "replace", cx)? {
        return Ok(Value::Null);
    }
    let mut out = Vec::with_capacity(text.len());
    let mut at = 0;
    for position in found {
        out.extend_from_slice(&text[at..position]);
        out.extend_from_slice(&to);
        at = position + from.len();
    }
    out.extend_from_slice(&text[at..]);
    Ok(Value::from(out))
}

fn insert(call: &FuncCall<'_>, cx: &EvalCx<'_>) -> Result<Value> {
    let (text, position, length, new) =
        (arg!(call.text(0, cx)), arg!(call.int(1, cx)), arg!(call.int(2, cx)), arg!(call.text(3, cx)));
    let total = text::char_count(&text, call.ty.collation) as i128;
    if position < 1 || position > total {
        return Ok(Value::bytes(text));
    }
    let length = if length < 0 || length > total - position + 1 { total - position + 1 } else { length };
    let start = text::byte_offset(&text, count(position - 1), call.ty.collation);
    let end = text::byte_offset(&text, count(position - 1 + length), call.ty.collation);
    if too_long(text.len() - (end - start) + new.len(), "insert", cx)? {
        return Ok(Value::Null);
    }
    Ok(Value::from([&text[..start], &new[..], &text[end..]].concat()))
}

fn elt(call: &FuncCall<'_>, cx: &EvalCx<'_>) -> Result<Value> {
    let n = arg!(call.int(0, cx));
    if n < 1 || n >= call.len() as i128 {
        return Ok(Value::Null);
    }
    Ok(call.value(n as usize, cx)?.into_owned())
}

fn make_set(call: &FuncCall<'_>, cx: &EvalCx<'_>) -> Result<Value> {
    let bits = arg!(call.int(0, cx)) as u64;
    let mut parts: Vec<Vec<u8>> = Vec::new();
    let mut bytes = 0;
    for i in (1..call.len()).take(64) {
        if bits >> (i - 1) & 1 == 1
            && let Some(text) = call.text(i, cx)?
        {
            bytes += text.len();
            crate::eval::check_value_bytes(bytes, cx)?;
            parts.push(text.into_owned());
        }
    }
    Ok(Value::from(parts.join(&comma(call)[..])))
}

/// `,` in the charset of the result.
fn comma(call: &FuncCall<'_>) -> Vec<u8> {
    text::from_ascii(b",", call.ty.collation)
}

fn export_set(call: &FuncCall<'_>, cx: &EvalCx<'_>) -> Result<Value> {
    let bits = arg!(call.int(0, cx)) as u64;
    let (on, off) = (arg!(call.text(1, cx)), arg!(call.text(2, cx)));
    let separator = if call.len() > 3 { arg!(call.text(3, cx)) } else { Cow::Owned(comma(call)) };
    let n = if call.len() > 4 { arg!(call.int(4, cx)) } else { 64 };
    let n = if (0..=64).contains(&n) { n as u32 } else { 64 };
    let parts: Vec<&[u8]> = (0..n).map(|i| if bits >> i & 1 == 1 { &on[..] } else { &off[..] }).collect();
    if too_long(parts.iter().map(|part| part.len() + separator.len()).sum(), "export_set", cx)? {
        return Ok(Value::Null);
    }
    Ok(Value::from(parts.join(&separator[..])))
}
