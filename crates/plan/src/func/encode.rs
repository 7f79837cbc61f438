//! Strings and numbers in other notations: HEX, BIN, CONV, CHAR, ORD, BASE64, QUOTE, FORMAT, SOUNDEX,
//! WEIGHT_STRING, and what CHARSET, COLLATION and COERCIBILITY say of an expression.

use std::borrow::Cow;

use vaquita_types::charset::{CollationId, collation};
use vaquita_types::{ColumnType, Error, Result, TypeKind, Value, base64, errno};

use super::args::{MANY, any_nullable, common_text, def, each_read};
use super::{FuncCall, FuncDef, FuncType};
use crate::env::{EvalCx, Level};
use crate::eval::arg;
use crate::eval::coerce;
use crate::expr::Expr;
use crate::locale;
use crate::text;
use crate::typing::{
    NUMBER_COLLATION, as_integer, as_number, char_length, int_of_length, is_string, string_collation, text_of_binary,
};

pub(super) static FUNCTIONS: &[FuncDef] = &[
    def("ASCII", 1, 1, |a| FuncType::number(int_of_length(4), any_nullable(a)), ascii),
    def("ORD", 1, 1, |a| FuncType::number(int_of_length(21), any_nullable(a)), ord),
    def("BIN", 1, 1, |_| FuncType::ascii(65), |c, cx| radix(c, cx, 2)),
    def("OCT", 1, 1, |_| FuncType::ascii(65), |c, cx| radix(c, cx, 8)),
    def("HEX", 1, 1, resolve_hex, hex),
    def("UNHEX", 1, 1, |a| FuncType::binary(bytes(a, 0).div_ceil(2)), unhex),
    def("CONV", 3, 3, |_| FuncType::ascii(65), conv),
    // CHAR(… USING charset) of a charset whose characters have several bytes, which is the first argument.
    def("CHAR OF UNITS", 2, MANY, |a| FuncType::binary(a.len() as u64 * 4), char_of_units),
    def("CHAR", 1, MANY, resolve_char, char_),
    def("TO_BASE64", 1, 1, resolve_base64, to_base64),
    def("FROM_BASE64", 1, 1, |a| FuncType::binary(bytes(a, 0) / 4 * 3), from_base64),
    def("QUOTE", 1, 1, resolve_quote, quote),
    def("FORMAT", 2, 3, resolve_format, format),
    def("SOUNDEX", 1, 1, resolve_soundex, soundex),
    def("WEIGHT_STRING", 1, 4, |a| FuncType::binary(chars(a, 0) * 8), weight_string),
    def("CHARSET", 1, 1, |_| FuncType::ascii(64), |c, _| Ok(Value::from(text::charset_name(collation_of(c))))),
    def("COLLATION", 1, 1, |_| FuncType::ascii(64), |c, _| Ok(Value::from(text::collation_name(collation_of(c))))),
    def("COERCIBILITY", 1, 1, |_| FuncType::number(int_of_length(10), false), coercibility),
];

fn chars(args: &[Expr], i: usize) -> u64 {
    args.get(i).map_or(0, |a| u64::from(char_length(&a.ty)))
}

fn bytes(args: &[Expr], i: usize) -> u64 {
    args.get(i).map_or(0, |a| chars(args, i) * u64::from(text::bytes_per_char_max(string_collation(a).collation)))
}

/// Numbers say `binary` here, although they become connection text elsewhere.
fn collation_of(call: &FuncCall<'_>) -> CollationId {
    match call.args.first() {
        Some(a) if is_string(&a.ty) || a.ty.kind == TypeKind::Json => string_collation(a).collation,
        _ => CollationId::BINARY,
    }
}

fn coercibility(call: &FuncCall<'_>, _: &EvalCx<'_>) -> Result<Value> {
    Ok(Value::Int(call.args.first().map_or(6, |a| i64::from(string_collation(a).coercibility))))
}

fn ascii(call: &FuncCall<'_>, cx: &EvalCx<'_>) -> Result<Value> {
    Ok(Value::Int(arg!(call.text(0, cx)).first().map_or(0, |b| i64::from(*b))))
}

fn ord(call: &FuncCall<'_>, cx: &EvalCx<'_>) -> Result<Value> {
    let text = arg!(call.text(0, cx));
    let id = call.args.first().map_or(CollationId::BINARY, |a| string_collation(a).collation);
    let first = text::chars(&text, id).next().unwrap_or_default();
    Ok(Value::Int(first.iter().fold(0i64, |n, b| n << 8 | i64::from(*b))))
}

fn to_radix(mut n: u64, base: u64) -> String {
    let mut digits = Vec::new();
    loop {
        digits.push(char::from_digit((n % base) as u32, base as u32).unwrap_or('0').to_ascii_uppercase());
        n /= base;
        if n == 0 {
            break;
        }
    }
    digits.iter().rev().collect()
}

/// The number at the start of a text in `base`, with its sign; clamped to 64 bits.
/// The number that a text begins with, and whether it is negative; one that is none, or too large, is told.
fn read_radix(text: &[u8], base: u32, cx: &EvalCx<'_>) -> (u64, bool) {
    let digits = text.trim_ascii_start();
    let digits = digits.strip_prefix(b"-").or(digits.strip_prefix(b"+")).unwrap_or(digits);
    let is_number = digits.first().is_some_and(|b| char::from(*b).is_digit(base));
    if !is_number {
        coerce::warn_truncated(cx.env, "DECIMAL", text);
    }
    parse_radix(text, base)
}

fn parse_radix(text: &[u8], base: u32) -> (u64, bool) {
    let text = text.trim_ascii_start();
    let negative = text.first() == Some(&b'-');
    let digits = if matches!(text.first(), Some(b'-' | b'+')) { &text[1..] } else { text };
    let mut n: u64 = 0;
    for d in digits.iter().map_while(|b| char::from(*b).to_digit(base)) {
        n = match n.checked_mul(u64::from(base)).and_then(|n| n.checked_add(u64::from(d))) {
            Some(n) => n,
            None => return (u64::MAX, false),
        };
    }
    (n, negative)
}

/// BIN and OCT are CONV(n, 10, base).
/// A BIT is its number in whatever base.
fn bits(call: &FuncCall<'_>, cx: &EvalCx<'_>) -> Result<Option<i128>> {
    if call.arg_type(0).kind == TypeKind::Bit { call.int(0, cx) } else { Ok(None) }
}

fn radix(call: &FuncCall<'_>, cx: &EvalCx<'_>, base: u64) -> Result<Value> {
    if let Some(n) = bits(call, cx)? {
        return Ok(Value::from(to_radix(n as u64, base)));
    }
    let text = digits_of(arg!(call.text(0, cx)), call);
    if text.is_empty() {
        return Ok(Value::Null);
    }
    if let Some(n) = hex_literal(call, &text, cx) {
        return Ok(Value::from(to_radix(n as u64, base)));
    }
    let (n, negative) = read_radix(&text, 10, cx);
    Ok(Value::from(to_radix(if negative { n.wrapping_neg() } else { n }, base)))
}

/// The first argument's text in ASCII, where its charset is not like it.
fn digits_of<'a>(text: Cow<'a, [u8]>, call: &FuncCall<'_>) -> Cow<'a, [u8]> {
    let ty = call.arg_type(0);
    match ty.is_text() && text::bytes_per_char_min(ty.collation) > 1 {
        true => Cow::Owned(text::convert(text, ty.collation, CollationId::ASCII_BIN).map_or_else(|rest| rest, Cow::into_owned)),
        false => text,
    }
}

/// The number that the first argument is, if it is a hexadecimal literal.
fn hex_literal(call: &FuncCall<'_>, bytes: &[u8], cx: &EvalCx<'_>) -> Option<i128> {
    crate::typing::is_hex_literal(call.arg_type(0)).then(|| i128::from(coerce::hex_value(bytes, cx.env)))
}

fn conv(call: &FuncCall<'_>, cx: &EvalCx<'_>) -> Result<Value> {
    let (text, from, to) = (arg!(call.text(0, cx)), arg!(call.int(1, cx)), arg!(call.int(2, cx)));
    let text = digits_of(text, call);
    if !(2..=36).contains(&from.abs()) || !(2..=36).contains(&to.abs()) || text.is_empty() {
        return Ok(Value::Null);
    }
    let (n, negative) = match bits(call, cx)?.or_else(|| hex_literal(call, &text, cx)) {
        Some(n) => (n as u64, false),
        None => read_radix(&text, from.unsigned_abs() as u32, cx),
    };
    let n = if from < 0 && !negative { n.min(i64::MAX as u64) } else { n };
    let n = if negative { if from < 0 { n.min(1 << 63) } else { n }.wrapping_neg() } else { n };
    let base = to.unsigned_abs() as u64;
    Ok(Value::from(if to < 0 && (n as i64) < 0 {
        format!("-{}", to_radix((n as i64).unsigned_abs(), base))
    } else {
        to_radix(n, base)
    }))
}

fn resolve_hex(args: &mut Vec<Expr>) -> Result<FuncType> {
    let width = match args.first() {
        Some(a) if is_string(&a.ty) => chars(args, 0) * 2 * u64::from(text::bytes_per_char_max(a.ty.collation)),
        Some(a) if a.ty.is_temporal() => chars(args, 0) * 2,
        Some(a) if a.ty.kind == TypeKind::Json => u64::from(u32::MAX),
        Some(a) if a.ty.kind == TypeKind::Null => 0,
        _ => 16,
    };
    FuncType::ascii(width)
}

pub(super) fn hex_of(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02X}")).collect()
}

fn hex(call: &FuncCall<'_>, cx: &EvalCx<'_>) -> Result<Value> {
    let value = call.value(0, cx)?;
    let ty = call.arg_type(0);
    Ok(match &*value {
        Value::Null => Value::Null,
        Value::Float(f) if *f >= 9.3e18 => Value::from(format!("{:X}", *f as u64)),
        Value::Int(_) | Value::Float(_) | Value::Decimal(_) => {
            Value::from(format!("{:X}", coerce::to_int(&value, ty, cx.env)? as u64))
        }
        Value::UInt(u) if !matches!(ty.kind, TypeKind::Enum | TypeKind::Set | TypeKind::Bit) => Value::from(format!("{u:X}")),
        Value::UInt(u) if ty.kind == TypeKind::Bit => Value::from(format!("{u:X}")),
        other => Value::from(hex_of(&coerce::text_of(other, ty))),
    })
}

/// The bytes of hexadecimal digits; an odd first digit stands alone.
pub(super) fn from_hex(text: &[u8]) -> Option<Vec<u8>> {
    let digits: Vec<u8> = text.iter().map(|b| char::from(*b).to_digit(16).map(|d| d as u8)).collect::<Option<_>>()?;
    let (head, pairs) = digits.split_at(digits.len() % 2);
    Some(head.iter().copied().chain(pairs.chunks(2).map(|p| p[0] << 4 | p[1])).collect())
}

fn unhex(call: &FuncCall<'_>, cx: &EvalCx<'_>) -> Result<Value> {
    let text = arg!(call.text(0, cx));
    match from_hex(&text) {
        Some(bytes) => Ok(Value::from(bytes)),
        None => {
            let error =
                Error::new(&errno::ER_WRONG_VALUE_FOR_TYPE, &[&"string", &format!("'{}'", coerce::printable(&text)), &"unhex"]);
            cx.env.warn(Level::Warning, error);
            Ok(Value::Null)
        }
    }
}

fn char_(call: &FuncCall<'_>, cx: &EvalCx<'_>) -> Result<Value> {
    numbers_as_bytes(call, 0, 1, cx)
}

fn char_of_units(call: &FuncCall<'_>, cx: &EvalCx<'_>) -> Result<Value> {
    let unit = arg!(call.int(0, cx)).clamp(1, 4) as usize;
    numbers_as_bytes(call, 1, unit, cx)
}

/// The bytes of numbers without leading zeros, but a multiple of `unit` of them.
fn numbers_as_bytes(call: &FuncCall<'_>, first: usize, unit: usize, cx: &EvalCx<'_>) -> Result<Value> {
    let mut out = Vec::new();
    for i in first..call.len() {
        let Some(n) = call.int(i, cx)? else { continue };
        let bytes = (n as u32).to_be_bytes();
        let needed = bytes.len() - bytes.iter().take(3).take_while(|b| **b == 0).count();
        out.extend_from_slice(&bytes[bytes.len().saturating_sub(needed.next_multiple_of(unit))..]);
    }
    Ok(Value::from(out))
}

/// MySQL breaks lines after as many characters.
const BASE64_LINE: usize = 76;

fn resolve_base64(args: &mut Vec<Expr>) -> Result<FuncType> {
    let bytes = args.first().map_or(0, |a| chars(args, 0) * u64::from(text::bytes_per_char_max(string_collation(a).collation)));
    let plain = bytes.div_ceil(3) * 4;
    FuncType::ascii((plain + plain.saturating_sub(1) / BASE64_LINE as u64).min(super::args::SUM_CHARS_MAX))
}

fn to_base64(call: &FuncCall<'_>, cx: &EvalCx<'_>) -> Result<Value> {
    let bytes = arg!(call.text(0, cx));
    let plain = bytes.len().div_ceil(3) * 4;
    if super::string::too_long(plain + plain / BASE64_LINE, "to_base64", cx)? {
        return Ok(Value::Null);
    }
    let mut out = Vec::with_capacity(plain + plain / BASE64_LINE);
    for line in bytes.chunks(BASE64_LINE / 4 * 3) {
        if !out.is_empty() {
            out.push(b'\n');
        }
        base64::encode(line, &mut out);
    }
    Ok(Value::from(out))
}

fn from_base64(call: &FuncCall<'_>, cx: &EvalCx<'_>) -> Result<Value> {
    let text = arg!(call.text(0, cx));
    Ok(base64::decode(&text).map_or(Value::Null, Value::from))
}

fn resolve_quote(args: &mut Vec<Expr>) -> Result<FuncType> {
    // NULL is the word.
    let width = (chars(args, 0) * 2 + 2).max(4);
    if args.first().is_some_and(|arg| arg.ty.kind == TypeKind::Null) {
        return FuncType::ascii(width);
    }
    // What it quotes is text: error 3854 if it is none.
    if let Some(arg) = args.first_mut()
        && is_string(&arg.ty)
        && arg.ty.collation == CollationId::BINARY
    {
        let taken = std::mem::replace(arg, Expr::literal(Value::Null, ColumnType::null()));
        *arg = text_of_binary(taken, NUMBER_COLLATION)?;
        return FuncType::ascii(width.min(super::args::SUM_CHARS_MAX));
    }
    let collated = common_text(args, |_| true, "quote", false)?;
    FuncType::sum(width, collated)
}

fn quote(call: &FuncCall<'_>, cx: &EvalCx<'_>) -> Result<Value> {
    let id = call.ty.collation;
    let in_charset = |ascii: &[u8]| text::from_ascii(ascii, id);
    let Some(text) = call.text(0, cx)? else { return Ok(Value::from(in_charset(b"NULL"))) };
    let escaped = [(b'\'', &b"\\'"[..]), (b'\\', b"\\\\"), (0, b"\\0"), (0x1a, b"\\Z")];
    let escaped = escaped.map(|(c, instead)| (in_charset(&[c]), in_charset(instead)));
    let mut out = in_charset(b"'");
    for c in text::chars(&text, id) {
        let instead = escaped.iter().find(|(from, _)| from == c);
        out.extend_from_slice(instead.map_or(c, |(_, instead)| instead));
    }
    out.extend(in_charset(b"'"));
    Ok(if super::string::too_long(out.len(), "quote", cx)? { Value::Null } else { Value::from(out) })
}

fn resolve_char(args: &mut Vec<Expr>) -> Result<FuncType> {
    each_read(args, as_integer)?;
    FuncType::binary(args.len() as u64 * 4)
}

fn resolve_format(args: &mut Vec<Expr>) -> Result<FuncType> {
    let width = chars(args, 0);
    each_read(args.get_mut(..1).unwrap_or_default(), as_number)?;
    FuncType::ascii(width + width / 3 + 32)
}

fn format(call: &FuncCall<'_>, cx: &EvalCx<'_>) -> Result<Value> {
    let places = arg!(call.int(1, cx)).clamp(0, 30) as u8;
    let mut locale = locale::english();
    if call.len() > 2 {
        let name = call.text(2, cx)?.map_or("NULL".to_string(), |name| String::from_utf8_lossy(&name).into_owned());
        match locale::by_name(&name) {
            Some(found) => locale = found,
            None => cx.env.warn(Level::Warning, Error::new(&errno::ER_UNKNOWN_LOCALE, &[&name])),
        }
    }
    let ty = call.arg_type(0);
    let mut digits = Vec::new();
    if crate::typing::number_class(ty) == crate::typing::NumberClass::Double {
        let rounded = super::numeric::round_f64(arg!(call.f64(0, cx)), i32::from(places), false);
        vaquita_types::format::write_fixed(&mut digits, rounded, places);
    } else {
        arg!(call.decimal(0, cx)).round(i32::from(places)).write_text(&mut digits, places);
    }
    let text = String::from_utf8_lossy(&digits).into_owned();
    let (sign, text) = match text.strip_prefix('-') {
        Some(rest) => ("-", rest),
        None => ("", &text[..]),
    };
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let mut out = String::from(sign);
    for (i, digit) in whole.chars().enumerate() {
        // The first group is of three digits in every locale.
        if i > 0 && whole.len() - i >= 3 && (whole.len() - i - 3).is_multiple_of(locale.group_digits) {
            out.push_str(locale.separator);
        }
        out.push(digit);
    }
    if places > 0 {
        out.push_str(locale.point);
        out.push_str(fraction);
    }
    Ok(Value::from(out))
}

fn resolve_soundex(args: &mut Vec<Expr>) -> Result<FuncType> {
    let width = chars(args, 0).max(4);
    let collated = common_text(args, |_| true, "soundex", false)?;
    FuncType::string(width, collated)
}

/// MySQL's SOUNDEX: all letters are coded, not only four; letters beyond ASCII count as vowels. A vowel does not separate letters of
/// the same code.
fn soundex(call: &FuncCall<'_>, cx: &EvalCx<'_>) -> Result<Value> {
    let text = arg!(call.text(0, cx));
    let text = text::to_utf8(&text, call.ty.collation);
    const CODES: &[u8; 26] = b"01230120022455012623010202";
    let code = |c: char| if c.is_ascii_alphabetic() { CODES[(c.to_ascii_uppercase() as u8 - b'A') as usize] } else { b'0' };
    let is_binary = call.ty.collation == CollationId::BINARY;
    let mut letters = text.chars().filter(|c| c.is_ascii_alphabetic() || !is_binary && *c as u32 >= 0xC0);
    let Some(first) = letters.next() else { return Ok(Value::from("")) };
    let mut out = String::from(first.to_ascii_uppercase());
    let mut last = code(first);
    let mut count = 1;
    for digit in letters.map(code) {
        if digit != b'0' && digit != last {
            out.push(digit as char);
            count += 1;
            last = digit;
        }
    }
    for _ in count..4 {
        out.push('0');
    }
    Ok(Value::from(text::from_utf8(&out, call.ty.collation)))
}

/// Asks WEIGHT_STRING for spaces up to the end of the result.
const WEIGHTS_FILL: i128 = 0x80;

/// WEIGHT_STRING(x[, length, chars, flags]): what x is compared by. `chars` is how many characters count, `length` how many bytes the
/// result has; 0 stands for all.
fn weight_string(call: &FuncCall<'_>, cx: &EvalCx<'_>) -> Result<Value> {
    let Some(first) = call.args.first() else { return Ok(Value::Null) };
    let (bytes, id) = match first.ty.kind {
        TypeKind::Json => (arg!(call.text(0, cx)), CollationId::UTF8MB4_BIN),
        _ if first.ty.is_bytes() => (arg!(call.text(0, cx)), first.ty.collation),
        _ => return Ok(number_weights(call, cx)?.map_or(Value::Null, |n| Value::from(n.to_be_bytes().to_vec()))),
    };
    let size = |n: i128| usize::try_from(n.clamp(0, 1 << 24)).unwrap_or(0);
    let (mut length, mut chars, mut fill) = (0, 0, false);
    if call.len() > 3 {
        (length, chars) = (size(arg!(call.int(1, cx))), size(arg!(call.int(2, cx))));
        fill = arg!(call.int(3, cx)) & WEIGHTS_FILL != 0;
    }
    let mut bytes = bytes.into_owned();
    let (collation, counted) = (collation(id), if chars == 0 { length } else { chars });
    if counted > 0 {
        bytes.truncate(text::byte_offset(&bytes, counted, id));
        let missing = counted - text::char_count(&bytes, id).min(counted);
        if collation.pad_space {
            bytes.extend(text::from_ascii(b" ", id).repeat(missing));
        }
    }
    let mut weights = collation.weight_string(&bytes);
    if length > 0 {
        weights.truncate(length);
        let padding = if collation.pad_space { collation.weight_string(&text::from_ascii(b" ", id)) } else { vec![0] };
        if fill && !padding.is_empty() {
            let missing = length - weights.len();
            weights.extend(padding.iter().cycle().take(missing));
        }
    }
    Ok(Value::from(weights))
}

/// What an integer, a date or a time is compared by, as one number that sorts without a sign; none for NULL and for types that have no
/// such.
fn number_weights(call: &FuncCall<'_>, cx: &EvalCx<'_>) -> Result<Option<u64>> {
    const SIGN: u64 = 1 << 63;
    let ty = call.arg_type(0);
    let unsigned = ty.unsigned || matches!(ty.kind, TypeKind::Bit | TypeKind::Year);
    let is_integer = ty.is_integer() || matches!(ty.kind, TypeKind::Bit | TypeKind::Year | TypeKind::Enum | TypeKind::Set);
    if is_integer {
        let number = call.int(0, cx)?.map(|n| n as u64);
        return Ok(number.map(|n| if unsigned { n } else { n ^ SIGN }));
    }
    let day = |d: vaquita_types::temporal::Date| (u64::from(d.year()) * 13 + u64::from(d.month())) << 5 | u64::from(d.day());
    let hms = |h: u64, m: u64, s: u64, micros: u32| (h << 12 | m << 6 | s) << 24 | u64::from(micros);
    Ok(match *call.value(0, cx)? {
        Value::Date(d) => Some(SIGN | u64::from(d.packed())),
        Value::DateTime(d) => {
            let time = hms(d.hour().into(), d.minute().into(), d.second().into(), d.micros());
            Some(SIGN | day(d.date()) << 41 | time)
        }
        Value::Time(t) => {
            let time = hms(t.hour().into(), t.minute().into(), t.second().into(), t.micros());
            Some(SIGN | if t.is_negative() { (TIME_ZERO - 1) - time } else { TIME_ZERO + time })
        }
        _ => None,
    })
}

/// Where times begin that are not negative.
const TIME_ZERO: u64 = 0x80_0000 << 24;
