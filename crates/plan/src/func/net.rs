//! Addresses, UUIDs, GTID sets and amounts for people to read.

use std::net::{Ipv4Addr, Ipv6Addr};

use vaquita_types::gtid::{GtidProblem, GtidSet};
use vaquita_types::{ColumnType, Error, Result, Value, errno};

use super::args::{any_nullable, as_utf8, def, volatile};
use super::encode::from_hex;
use super::{FuncCall, FuncDef, FuncType};
use crate::env::EvalCx;
use crate::eval::arg;
use crate::expr::Expr;
use crate::typing::char_length;

pub(super) static FUNCTIONS: &[FuncDef] = &[
    def(
        "INET_ATON",
        1,
        1,
        |_| FuncType::number(ColumnType { length: 21, unsigned: true, ..ColumnType::bigint() }, true),
        inet_aton,
    ),
    def("INET_NTOA", 1, 1, |_| FuncType::ascii(31), inet_ntoa),
    def("INET6_ATON", 1, 1, |_| FuncType::binary(16), inet6_aton),
    def("INET6_NTOA", 1, 1, |_| FuncType::ascii(39), inet6_ntoa),
    def("IS_IPV4", 1, 1, is_address, |c, cx| test(c, cx, |b| parse_v4(b).is_some())),
    def("IS_IPV6", 1, 1, is_address, |c, cx| test(c, cx, |b| parse_v6(b).is_some())),
    def("IS_IPV4_COMPAT", 1, 1, boolean, |c, cx| {
        test(c, cx, |b| b.len() == 16 && b[..12] == [0; 12] && b[12..] > [0, 0, 0, 1][..])
    }),
    def("IS_IPV4_MAPPED", 1, 1, boolean, |c, cx| test(c, cx, |b| b.len() == 16 && b[..10] == [0; 10] && b[10..12] == [255, 255])),
    volatile("UUID", 0, 0, |_| FuncType::ascii(36), uuid),
    def(
        "IS_UUID",
        1,
        1,
        |_| FuncType::number(ColumnType::boolean(), true),
        |c, cx| Ok(Value::bool(parse_uuid(&arg!(c.text(0, cx))).is_some())),
    ),
    def("UUID_TO_BIN", 1, 2, |_| FuncType::binary(16), uuid_to_bin),
    def("BIN_TO_UUID", 1, 2, |_| FuncType::ascii(36), bin_to_uuid),
    def("FORMAT_BYTES", 1, 1, |_| FuncType::ascii(11), format_bytes),
    def("FORMAT_PICO_TIME", 1, 1, |_| FuncType::ascii(11), format_pico_time),
    def("GTID_SUBSET", 2, 2, |a| FuncType::number(crate::typing::int_of_length(21), any_nullable(a)), gtid_subset),
    def("GTID_SUBTRACT", 2, 2, |a| FuncType::ascii(a.first().map_or(0, |a| u64::from(char_length(&a.ty)))), gtid_subtract),
];

fn is_address(args: &mut Vec<Expr>) -> Result<FuncType> {
    FuncType::number(ColumnType::boolean(), any_nullable(args))
}

fn boolean(_: &mut Vec<Expr>) -> Result<FuncType> {
    FuncType::number(ColumnType::boolean(), true)
}

fn test(call: &FuncCall<'_>, cx: &EvalCx<'_>, f: fn(&[u8]) -> bool) -> Result<Value> {
    // A number is no address, not even if it is NULL.
    if call.arg_type(0).is_numeric() {
        return Ok(Value::Int(0));
    }
    Ok(Value::bool(f(&arg!(call.text(0, cx)))))
}

fn parse_v4(text: &[u8]) -> Option<Ipv4Addr> {
    let text = std::str::from_utf8(text).ok()?;
    // Leading zeros are decimal, as MySQL takes them.
    let parts: Vec<u8> = text
        .split('.')
        .map(|p| if (1..=3).contains(&p.len()) && p.bytes().all(|b| b.is_ascii_digit()) { p.parse().ok() } else { None })
        .collect::<Option<_>>()?;
    <[u8; 4]>::try_from(parts).ok().map(Ipv4Addr::from)
}

fn parse_v6(text: &[u8]) -> Option<Ipv6Addr> {
    let text = std::str::from_utf8(text).ok()?;
    // An address of version 4 at the end may have leading zeros, too.
    match text.rsplit_once(':').filter(|(_, last)| last.contains('.')) {
        Some((head, last)) => {
            let [a, b, c, d] = parse_v4(last.as_bytes())?.octets();
            format!("{head}:{a:02x}{b:02x}:{c:02x}{d:02x}").parse().ok()
        }
        None => text.parse().ok(),
    }
}

fn incorrect(name: &str, text: &[u8]) -> Error {
    Error::new(&errno::ER_WRONG_VALUE_FOR_TYPE, &[&"string", &crate::eval::coerce::printable(text), &name])
}

fn warn_null(cx: &EvalCx<'_>, name: &str, text: &[u8]) -> Value {
    let quoted = [b"'", text, b"'"].concat();
    cx.env.warn(crate::env::Level::Warning, incorrect(name, &quoted));
    Value::Null
}

/// Short forms are allowed: '127.1' is 127.0.0.1.
fn inet_aton(call: &FuncCall<'_>, cx: &EvalCx<'_>) -> Result<Value> {
    let text = arg!(call.text(0, cx));
    let parse = || -> Option<u64> {
        let parts: Vec<u64> =
            std::str::from_utf8(&text).ok()?.split('.').map(|p| p.parse::<u8>().ok().map(u64::from)).collect::<Option<_>>()?;
        let (last, head) = parts.split_last()?;
        if head.len() > 3 {
            return None;
        }
        let head = head.iter().enumerate().map(|(i, n)| n << (24 - 8 * i)).sum::<u64>();
        Some(head + last)
    };
    Ok(parse().map_or_else(|| warn_null(cx, "inet_aton", &text), Value::UInt))
}

fn inet_ntoa(call: &FuncCall<'_>, cx: &EvalCx<'_>) -> Result<Value> {
    let n = arg!(call.int(0, cx));
    Ok(match u32::try_from(n) {
        Ok(n) => Value::from(Ipv4Addr::from(n).to_string()),
        Err(_) => warn_null(cx, "inet_ntoa", n.to_string().as_bytes()),
    })
}

fn inet6_aton(call: &FuncCall<'_>, cx: &EvalCx<'_>) -> Result<Value> {
    let text = arg!(call.text(0, cx));
    if let Some(v4) = parse_v4(&text) {
        return Ok(Value::bytes(v4.octets()));
    }
    Ok(match parse_v6(&text) {
        Some(v6) => Value::bytes(v6.octets()),
        None => warn_null(cx, "inet6_aton", &text),
    })
}

fn inet6_ntoa(call: &FuncCall<'_>, cx: &EvalCx<'_>) -> Result<Value> {
    let bytes = arg!(call.text(0, cx));
    if let Ok(v4) = <[u8; 4]>::try_from(&bytes[..]) {
        return Ok(Value::from(Ipv4Addr::from(v4).to_string()));
    }
    let Ok(v6) = <[u8; 16]>::try_from(&bytes[..]) else { return Ok(warn_null(cx, "inet6_ntoa", &bytes)) };
    let addr = Ipv6Addr::from(v6);
    // Addresses compatible with version 4 end in dotted form.
    let compat = v6[..12] == [0; 12] && (v6[12] != 0 || v6[13] != 0);
    Ok(Value::from(if compat { format!("::{}", Ipv4Addr::new(v6[12], v6[13], v6[14], v6[15])) } else { addr.to_string() }))
}

/// A version 1 UUID: the clock in 100 ns since 1582, a random sequence and node.
fn uuid(_: &FuncCall<'_>, cx: &EvalCx<'_>) -> Result<Value> {
    const GREGORIAN_TO_UNIX_100NS: u64 = 0x01B2_1DD2_1381_4000;
    let mut random = [0u8; 10];
    cx.env.random_bytes(&mut random);
    let ticks =
        (cx.env.clock_us() as u64).wrapping_mul(10).wrapping_add(u64::from(random[0]) % 10).wrapping_add(GREGORIAN_TO_UNIX_100NS);
    let (low, mid, high) = (ticks as u32, (ticks >> 32) as u16, (ticks >> 48) as u16 & 0xFFF | 0x1000);
    let sequence = u16::from_be_bytes([random[1], random[2]]) & 0x3FFF | 0x8000;
    let node: String = random[4..].iter().enumerate().map(|(i, b)| format!("{:02x}", if i == 0 { b | 1 } else { *b })).collect();
    Ok(Value::from(format!("{low:08x}-{mid:04x}-{high:04x}-{sequence:04x}-{node}")))
}

/// With dashes, without, or in braces.
fn parse_uuid(text: &[u8]) -> Option<[u8; 16]> {
    let inner = match text {
        [b'{', inner @ .., b'}'] if inner.len() == 36 => inner,
        other => other,
    };
    let digits: Vec<u8> = match inner.len() {
        32 => inner.to_vec(),
        36 if [8, 13, 18, 23].iter().all(|i| inner.get(*i) == Some(&b'-')) => {
            inner.iter().copied().filter(|b| *b != b'-').collect()
        }
        _ => return None,
    };
    if digits.len() != 32 {
        return None;
    }
    from_hex(&digits)?.try_into().ok()
}

fn uuid_to_bin(call: &FuncCall<'_>, cx: &EvalCx<'_>) -> Result<Value> {
    let text = arg!(call.text(0, cx));
    let swap = call.len() > 1 && call.int(1, cx)?.unwrap_or(0) != 0;
    let u = parse_uuid(&text).ok_or_else(|| incorrect("uuid_to_bin", &text))?;
    Ok(if swap { Value::from([&u[6..8], &u[4..6], &u[0..4], &u[8..]].concat()) } else { Value::bytes(u) })
}

fn bin_to_uuid(call: &FuncCall<'_>, cx: &EvalCx<'_>) -> Result<Value> {
    let bytes = arg!(call.text(0, cx));
    let swap = call.len() > 1 && call.int(1, cx)?.unwrap_or(0) != 0;
    let u = <[u8; 16]>::try_from(&bytes[..]).map_err(|_| incorrect("bin_to_uuid", &bytes))?;
    let u = if swap { [&u[4..8], &u[2..4], &u[0..2], &u[8..]].concat() } else { u.to_vec() };
    let hex: String = u.iter().map(|b| format!("{b:02x}")).collect();
    Ok(Value::from(format!("{}-{}-{}-{}-{}", &hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..])))
}

/// `n` in the largest unit that it reaches.
/// `width`: characters of a number of the first unit.
fn in_units(n: f64, units: &[(f64, &str)], width: usize) -> Value {
    let (size, unit) = units.iter().rev().find(|(size, _)| n.abs() >= *size).or(units.first()).copied().unwrap_or((1.0, ""));
    let scaled = n / size;
    if size == 1.0 {
        return Value::from(format!("{scaled:width$.0} {unit}"));
    }
    Value::from(if scaled.abs() >= 100_000.0 { format!("{scaled:.2e} {unit}") } else { format!("{scaled:4.2} {unit}") })
}

fn format_bytes(call: &FuncCall<'_>, cx: &EvalCx<'_>) -> Result<Value> {
    const K: f64 = 1024.0;
    let units = [
        (1.0, "bytes"),
        (K, "KiB"),
        (K * K, "MiB"),
        (K * K * K, "GiB"),
        (K.powi(4), "TiB"),
        (K.powi(5), "PiB"),
        (K.powi(6), "EiB"),
    ];
    Ok(in_units(arg!(call.f64(0, cx)), &units, 4))
}

fn format_pico_time(call: &FuncCall<'_>, cx: &EvalCx<'_>) -> Result<Value> {
    let units =
        [(1.0, "ps"), (1e3, "ns"), (1e6, "us"), (1e9, "ms"), (1e12, "s"), (60e12, "min"), (3600e12, "h"), (86_400e12, "d")];
    Ok(in_units(arg!(call.f64(0, cx)), &units, 3))
}

/// Both sets; `None` if one is NULL, before the other one is looked at.
fn gtid_sets(call: &FuncCall<'_>, cx: &EvalCx<'_>) -> Result<Option<(GtidSet, GtidSet)>> {
    let (Some(a), Some(b)) = (as_utf8(call, 0, cx)?, as_utf8(call, 1, cx)?) else { return Ok(None) };
    let parsed = |text: &str| {
        GtidSet::parse(text.as_bytes()).map_err(|problem: GtidProblem| {
            let message = problem.message(text.as_bytes());
            // The position counts bytes, and so does what is shown around it.
            let shown: String = message
                .iter()
                .flat_map(|byte| match byte {
                    0x80.. => format!("\\x{byte:02x}").into_bytes(),
                    _ => vec![*byte],
                })
                .map(char::from)
                .collect();
            Error::new(&errno::ER_MALFORMED_GTID_SET_SPECIFICATION, &[&shown])
        })
    };
    Ok(Some((parsed(&a)?, parsed(&b)?)))
}

fn gtid_subset(call: &FuncCall<'_>, cx: &EvalCx<'_>) -> Result<Value> {
    let (a, b) = arg!(gtid_sets(call, cx));
    Ok(Value::bool(a.is_subset_of(&b)))
}

fn gtid_subtract(call: &FuncCall<'_>, cx: &EvalCx<'_>) -> Result<Value> {
    let (a, b) = arg!(gtid_sets(call, cx));
    Ok(Value::from(a.subtract(&b).to_string()))
}
