//! Everything that a server answers to a text: it may hold several statements, and a CALL may give several results.

use std::io::{Error, ErrorKind, Result};

use vaquita_wire::codec::Bytes;

use crate::client::{Client, Row, text_row};

const MORE_RESULTS: u16 = 8;
const COM_QUERY: u8 = 3;

#[derive(Debug, PartialEq)]
pub enum One {
    Ok { affected: u64, info: String },
    Rows { columns: Vec<String>, rows: Vec<Row> },
    Err { code: u16, text: String },
}

#[derive(Default, Debug)]
pub struct Reply {
    pub results: Vec<One>,
    /// As the last result says.
    pub warnings: u16,
}

impl Reply {
    pub fn error(&self) -> Option<(u16, &str)> {
        match self.results.last() {
            Some(One::Err { code, text }) => Some((*code, text)),
            _ => None,
        }
    }

    /// The first row of the first result.
    pub fn first_row(&self) -> Option<&Row> {
        self.results.iter().find_map(|one| match one {
            One::Rows { rows, .. } => rows.first(),
            _ => None,
        })
    }
}

fn broken() -> Error {
    Error::new(ErrorKind::InvalidData, "an answer that breaks the protocol")
}

/// The bytes of a script's text.
fn bytes_of(text: &str) -> Vec<u8> {
    text.chars().map(|c| u8::try_from(c).unwrap_or(b'?')).collect()
}

/// The text whose chars are these bytes.
pub fn chars_of(bytes: &[u8]) -> String {
    bytes.iter().copied().map(char::from).collect()
}

pub fn send(client: &mut Client, sql: &str) -> Result<()> {
    client.command(&[&[COM_QUERY], &bytes_of(sql)[..]].concat())
}

pub fn query(client: &mut Client, sql: &str) -> Result<Reply> {
    send(client, sql)?;
    receive(client)
}

pub fn receive(client: &mut Client) -> Result<Reply> {
    let mut reply = Reply::default();
    loop {
        let first = client.receive()?;
        let mut bytes = Bytes::new(first.get(1..).unwrap_or_default());
        let (one, status) = match first.first() {
            Some(0) => ok_of(&mut bytes, &mut reply.warnings).ok_or_else(broken)?,
            Some(0xff) => (error_of(&mut bytes).ok_or_else(broken)?, 0),
            Some(0xfb) => {
                send_file(client, bytes.rest())?;
                continue;
            }
            _ => result_set(client, &first, &mut reply.warnings)?,
        };
        reply.results.push(one);
        if status & MORE_RESULTS == 0 {
            return Ok(reply);
        }
    }
}

/// LOAD DATA LOCAL: the file that the server names; one that is not there is empty.
fn send_file(client: &mut Client, name: &[u8]) -> Result<()> {
    client.local_file = std::fs::read(String::from_utf8_lossy(name).as_ref()).unwrap_or_default();
    client.send_file()
}

fn ok_of(bytes: &mut Bytes<'_>, warnings: &mut u16) -> Option<(One, u16)> {
    let affected = bytes.lenenc_int().ok()?;
    bytes.lenenc_int().ok()?;
    let status = bytes.u16().ok()?;
    *warnings = bytes.u16().ok()?;
    let info = if bytes.is_empty() { &[][..] } else { bytes.lenenc_bytes().ok()? };
    Some((One::Ok { affected, info: chars_of(info) }, status))
}

fn error_of(bytes: &mut Bytes<'_>) -> Option<One> {
    let code = bytes.u16().ok()?;
    let rest = bytes.rest();
    // `#` and five characters of SQLSTATE stand before the text.
    let text = if rest.first() == Some(&b'#') { rest.get(6..)? } else { rest };
    Some(One::Err { code, text: chars_of(text) })
}

fn result_set(client: &mut Client, first: &[u8], warnings: &mut u16) -> Result<(One, u16)> {
    let count = Bytes::new(first).lenenc_int().map_err(|_| broken())?;
    let mut columns = Vec::new();
    for _ in 0..count {
        columns.push(column_name(&client.receive()?).ok_or_else(broken)?);
    }
    let mut rows = Vec::new();
    loop {
        let packet = client.receive()?;
        let mut bytes = Bytes::new(packet.get(1..).unwrap_or_default());
        match packet.first() {
            Some(0xfe) if packet.len() < 0xff_ffff => {
                let (_, status) = ok_of(&mut bytes, warnings).ok_or_else(broken)?;
                return Ok((One::Rows { columns, rows }, status));
            }
            Some(0xff) => return Ok((error_of(&mut bytes).ok_or_else(broken)?, 0)),
            _ => rows.push(text_row(&packet, columns.len()).ok_or_else(broken)?),
        }
    }
}

fn column_name(packet: &[u8]) -> Option<String> {
    let mut bytes = Bytes::new(packet);
    for _ in 0..4 {
        bytes.lenenc_bytes().ok()?;
    }
    Some(chars_of(bytes.lenenc_bytes().ok()?))
}
