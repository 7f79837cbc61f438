//! One statement over the wire, as text or prepared with parameters, and all that its answer says.
//!
//! The client of the tests drops the insert id and reads text rows only. A literal of the statement that becomes a parameter is sent
//! with the type that a driver gives it: `'a'` as VAR_STRING, `x'41'` as BLOB, 5 as LONGLONG, 1.5 as NEWDECIMAL, 1e3 as DOUBLE.

use std::io::{Error, ErrorKind, Result};

use vaquita_wire::codec::Bytes;

use super::answer::Row;
use crate::client::{Answer, Client, text_row};

const COM_QUERY: u8 = 3;
const COM_STMT_PREPARE: u8 = 0x16;
const COM_STMT_EXECUTE: u8 = 0x17;
const COM_STMT_CLOSE: u8 = 0x19;

const DOUBLE: u8 = 5;
const NULL: u8 = 6;
const LONGLONG: u8 = 8;
const NEWDECIMAL: u8 = 246;
const BLOB: u8 = 252;
const VAR_STRING: u8 = 253;

/// What the answer to a statement consists of.
pub struct Reply {
    pub answer: Answer,
    pub insert_id: u64,
    /// Definitions of the columns, as they came.
    pub columns: Vec<Vec<u8>>,
}

fn broken() -> Error {
    Error::new(ErrorKind::InvalidData, "an answer that breaks the protocol")
}

pub fn query(client: &mut Client, sql: &str) -> Result<Reply> {
    client.command(&[&[COM_QUERY], sql.as_bytes()].concat())?;
    read(client, false)
}

/// Prepares `sql`, executes it once with the literals `params`, closes it.
pub fn execute(client: &mut Client, sql: &str, params: &[String]) -> Result<Reply> {
    client.command(&[&[COM_STMT_PREPARE], sql.as_bytes()].concat())?;
    let first = client.receive()?;
    if first.first() != Some(&0) {
        let answer = error_of(&first).ok_or_else(broken)?;
        return Ok(Reply { answer, insert_id: 0, columns: Vec::new() });
    }
    let mut bytes = Bytes::new(first.get(1..).unwrap_or_default());
    let prepared = (|| Some((bytes.u32().ok()?, bytes.u16().ok()?, bytes.u16().ok()?)))();
    let (id, columns, placeholders) = prepared.ok_or_else(broken)?;
    for _ in 0..u32::from(columns) + u32::from(placeholders) {
        client.receive()?;
    }
    let mut payload = vec![COM_STMT_EXECUTE];
    payload.extend(id.to_le_bytes());
    payload.push(0);
    payload.extend(1u32.to_le_bytes());
    if !params.is_empty() {
        put_params(&mut payload, params);
    }
    client.command(&payload)?;
    let reply = read(client, true)?;
    client.command(&[&[COM_STMT_CLOSE][..], &id.to_le_bytes()].concat())?;
    Ok(reply)
}

fn put_params(payload: &mut Vec<u8>, params: &[String]) {
    let mut nulls = vec![0u8; params.len().div_ceil(8)];
    let mut types = Vec::new();
    let mut values = Vec::new();
    for (n, literal) in params.iter().enumerate() {
        let (kind, unsigned, value) = param(literal);
        if kind == NULL {
            nulls[n / 8] |= 1 << (n % 8);
        }
        types.extend([kind, if unsigned { 0x80 } else { 0 }]);
        values.extend(value);
    }
    payload.extend(nulls);
    payload.push(1);
    payload.extend(types);
    payload.extend(values);
}

/// The text can be sent as a parameter.
pub fn is_literal(text: &str) -> bool {
    let number = text.strip_prefix('-').unwrap_or(text);
    text == "NULL"
        || text.starts_with('\'') && text.ends_with('\'') && text.len() > 1
        || text.starts_with("x'")
        || number.starts_with(|c: char| c.is_ascii_digit()) && number.parse::<f64>().is_ok()
}

/// Type, whether it is unsigned, and the value as COM_STMT_EXECUTE has it.
fn param(literal: &str) -> (u8, bool, Vec<u8>) {
    let sized = |bytes: &[u8]| [&[bytes.len() as u8], bytes].concat();
    if literal == "NULL" {
        return (NULL, false, Vec::new());
    }
    if let Some(hex) = literal.strip_prefix("x'") {
        let digits = hex.trim_end_matches('\'').as_bytes();
        let bytes: Vec<u8> =
            digits.chunks(2).filter_map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()).collect();
        return (BLOB, false, sized(&bytes));
    }
    if let Some(text) = literal.strip_prefix('\'') {
        return (VAR_STRING, false, sized(text.strip_suffix('\'').unwrap_or(text).as_bytes()));
    }
    if let Ok(n) = literal.parse::<i64>() {
        return (LONGLONG, false, n.to_le_bytes().to_vec());
    }
    if let Ok(n) = literal.parse::<u64>() {
        return (LONGLONG, true, n.to_le_bytes().to_vec());
    }
    match literal.contains('e') {
        true => (DOUBLE, false, literal.parse::<f64>().unwrap_or(0.0).to_le_bytes().to_vec()),
        false => (NEWDECIMAL, false, sized(literal.as_bytes())),
    }
}

fn read(client: &mut Client, binary: bool) -> Result<Reply> {
    let first = client.receive()?;
    let mut reply = Reply { answer: Answer::Rows { columns: Vec::new(), rows: Vec::new() }, insert_id: 0, columns: Vec::new() };
    match first.first() {
        Some(0) => (reply.answer, reply.insert_id) = ok_of(&first).ok_or_else(broken)?,
        Some(0xff) => reply.answer = error_of(&first).ok_or_else(broken)?,
        _ => reply.answer = result_set(client, &first, binary, &mut reply.columns)?,
    }
    Ok(reply)
}

fn result_set(client: &mut Client, first: &[u8], binary: bool, columns: &mut Vec<Vec<u8>>) -> Result<Answer> {
    let count = Bytes::new(first).lenenc_int().map_err(|_| broken())?;
    for _ in 0..count {
        columns.push(client.receive()?);
    }
    let kinds: Vec<(u8, bool)> = columns.iter().map(|column| kind_of(column)).collect::<Option<_>>().ok_or_else(broken)?;
    let mut rows = Vec::new();
    loop {
        let packet = client.receive()?;
        match packet.first() {
            Some(0xfe) if packet.len() < 0xff_ffff => return Ok(Answer::Rows { columns: Vec::new(), rows }),
            Some(0xff) => return error_of(&packet).ok_or_else(broken),
            _ => {
                let row = if binary { binary_row(&packet, &kinds) } else { text_row(&packet, kinds.len()) };
                rows.push(row.ok_or_else(broken)?);
            }
        }
    }
}

/// Type and whether it is unsigned.
fn kind_of(definition: &[u8]) -> Option<(u8, bool)> {
    let mut bytes = Bytes::new(definition);
    for _ in 0..6 {
        bytes.lenenc_bytes().ok()?;
    }
    bytes.skip(7).ok()?;
    Some((bytes.u8().ok()?, bytes.u16().ok()? & 32 != 0))
}

fn binary_row(packet: &[u8], kinds: &[(u8, bool)]) -> Option<Row> {
    let mut bytes = Bytes::new(packet.get(1..)?);
    let nulls = packet.get(1..1 + (kinds.len() + 9) / 8)?;
    bytes.skip(nulls.len()).ok()?;
    let is_null = |n: usize| nulls.get((n + 2) / 8).is_some_and(|byte| byte >> ((n + 2) % 8) & 1 == 1);
    let value = |(n, (kind, unsigned)): (usize, &(u8, bool))| match is_null(n) {
        true => Some(None),
        false => binary_value(&mut bytes, *kind, *unsigned).map(Some),
    };
    kinds.iter().enumerate().map(value).collect()
}

/// A value of the binary protocol as text; times as the numbers that are sent.
fn binary_value(bytes: &mut Bytes<'_>, kind: u8, unsigned: bool) -> Option<Vec<u8>> {
    let text = match kind {
        1 if unsigned => bytes.u8().ok()?.to_string(),
        1 => (bytes.u8().ok()? as i8).to_string(),
        2 | 13 if unsigned => bytes.u16().ok()?.to_string(),
        2 | 13 => (bytes.u16().ok()? as i16).to_string(),
        3 | 9 if unsigned => bytes.u32().ok()?.to_string(),
        3 | 9 => (bytes.u32().ok()? as i32).to_string(),
        LONGLONG if unsigned => bytes.u64().ok()?.to_string(),
        LONGLONG => (bytes.u64().ok()? as i64).to_string(),
        4 => format!("{:e}", f32::from_bits(bytes.u32().ok()?)),
        DOUBLE => format!("{:e}", f64::from_bits(bytes.u64().ok()?)),
        7 | 10 | 11 | 12 => {
            let length = usize::from(bytes.u8().ok()?);
            let sent = bytes.rest().get(..length)?.to_vec();
            bytes.skip(length).ok()?;
            // A day alone is written as a text would be, as one server may send that.
            match (kind, &sent[..]) {
                (10, [low, high, month, day]) => {
                    format!("{:04}-{month:02}-{day:02}", u16::from_le_bytes([*low, *high]))
                }
                _ => format!("{sent:?}"),
            }
        }
        _ => return Some(bytes.lenenc_bytes().ok()?.to_vec()),
    };
    Some(text.into_bytes())
}

fn ok_of(packet: &[u8]) -> Option<(Answer, u64)> {
    let mut bytes = Bytes::new(packet.get(1..)?);
    let (affected, insert_id) = (bytes.lenenc_int().ok()?, bytes.lenenc_int().ok()?);
    bytes.u16().ok()?;
    let warnings = bytes.u16().ok()?;
    let info = if bytes.is_empty() { &[][..] } else { bytes.lenenc_bytes().ok()? };
    Some((Answer::Ok { affected, info: String::from_utf8_lossy(info).into_owned(), warnings }, insert_id))
}

fn error_of(packet: &[u8]) -> Option<Answer> {
    let mut bytes = Bytes::new(packet.get(1..)?);
    let code = bytes.u16().ok()?;
    let (state, text) = match bytes.rest().split_first() {
        Some((b'#', rest)) if rest.len() >= 5 => rest.split_at(5),
        _ => (&b"HY000"[..], bytes.rest()),
    };
    let lossy = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Some(Answer::Err { code, state: lossy(state), text: lossy(text) })
}
