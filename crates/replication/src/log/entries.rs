//! What a transaction tells the log (`LogBuffer`), and what its commit brings to the leader (`CommitRequest::log`).
//!
//! A transaction tells, in order: a `STATEMENT`, its rows, the next `STATEMENT` …, and a `COMMIT` with the facts of the whole. A buffer may hold
//! several transactions, each with its `COMMIT` (an applier commits some together). DDL tells a `QUERY` and a `COMMIT`.
//!
//! `prepare` makes *units* of it, one for each transaction: its `Facts`, and its events as they are sent but for what only the leader knows: the
//! GTID in front, the position in each header, checksums.

use vaquita_types::gtid::{GTID_NUMBER_MAX, Gtid, Tag, Uuid};
use vaquita_types::{Error, Result};

/// Kinds of entries.
pub mod kind {
    /// Rows of a statement follow: `rows` has the format.
    pub const STATEMENT: u8 = 1;
    /// Rows; the object is a `rows::LoggedTable`, the content is `rows`' own.
    pub const WRITE: u8 = 2;
    pub const UPDATE: u8 = 3;
    pub const DELETE: u8 = 4;
    /// The content is the data of a QUERY_EVENT.
    pub const QUERY: u8 = 5;
    /// The content is the data of an XA_PREPARE_LOG_EVENT, which ends the transaction instead of an XID.
    pub const XA_PREPARE: u8 = 6;
    /// The transaction ends here: the content is `Facts`.
    pub const COMMIT: u8 = 7;
    /// Nothing is committed: the content is a `Control`.
    pub const CONTROL: u8 = 8;
}

/// Which GTID a transaction gets.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Naming {
    /// The next number of this server, with the tag.
    Automatic(Tag),
    Given(Gtid),
    #[default]
    Anonymous,
}

/// What is known of a transaction when it commits.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    pub naming: Naming,
    /// Seconds since 1970, in the headers of its events.
    pub timestamp: u32,
    /// Of the server where it began.
    pub server_id: u32,
    /// Statements may be in it, not rows alone (`GtidEvent::may_have_statements`).
    pub has_statements: bool,
    /// Of the server where it began, if that is another: microseconds of its commit and its version.
    pub original_commit_us: Option<u64>,
    pub original_version: Option<u32>,
    /// The data of the QUERY_EVENT that it begins with, empty for DDL.
    pub begin: Vec<u8>,
    /// The level of zstd with which its events are compressed; 0: they are not.
    pub compression: u8,
    /// The connection that is told the GTID; 0: none.
    pub report_to: u32,
}

/// What is asked of the log itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Control {
    /// FLUSH BINARY LOGS: the next file begins.
    Rotate,
    /// RESET BINARY LOGS AND GTIDS: nothing stays, and this file is the first.
    Reset { first: u32 },
}

/// A transaction that is ready for the leader.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Unit<'u> {
    pub facts: Facts,
    /// Events behind the first QUERY, with headers that lack their position, without checksums.
    pub events: &'u [u8],
    /// How many they are, and their bytes, also if they are in an extent.
    pub count: u64,
    pub bytes: u64,
    /// Where they are stored if they are many; then `events` is empty.
    pub extent: Option<u64>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ready<'u> {
    Unit(Unit<'u>),
    Control(Control),
}

const UNIT: u8 = 1;
const CONTROL: u8 = 2;

impl Facts {
    pub fn encode(&self, out: &mut Vec<u8>) {
        match &self.naming {
            Naming::Anonymous => out.push(0),
            Naming::Automatic(tag) => {
                out.push(1);
                put_bytes(out, tag.as_str().as_bytes());
            }
            Naming::Given(gtid) => {
                out.push(2);
                out.extend_from_slice(&gtid.source.0);
                put_bytes(out, gtid.tag.as_str().as_bytes());
                put(out, gtid.number);
            }
        }
        put(out, self.timestamp.into());
        put(out, self.server_id.into());
        out.push(u8::from(self.has_statements));
        put(out, self.original_commit_us.unwrap_or(0));
        put(out, self.original_version.unwrap_or(0).into());
        put_bytes(out, &self.begin);
        out.push(self.compression);
        put(out, self.report_to.into());
    }

    pub fn decode(content: &[u8]) -> Result<Facts> {
        let mut fields = Fields(content);
        Facts::take(&mut fields)
    }

    fn take(fields: &mut Fields<'_>) -> Result<Facts> {
        let naming = match fields.byte()? {
            0 => Naming::Anonymous,
            1 => Naming::Automatic(fields.tag()?),
            2 => {
                let source = Uuid(*fields.array()?);
                let tag = fields.tag()?;
                let number = fields.number()?;
                if !(1..=GTID_NUMBER_MAX).contains(&number) {
                    return Err(damaged());
                }
                Naming::Given(Gtid { source, tag, number })
            }
            _ => return Err(damaged()),
        };
        let (timestamp, server_id) = (fields.number()? as u32, fields.number()? as u32);
        let has_statements = fields.byte()? != 0;
        let original_commit_us = Some(fields.number()?).filter(|us| *us != 0);
        let original_version = Some(fields.number()? as u32).filter(|version| *version != 0);
        let begin = fields.bytes()?.to_vec();
        let (compression, report_to) = (fields.byte()?, fields.number()? as u32);
        Ok(Facts {
            naming,
            timestamp,
            server_id,
            has_statements,
            original_commit_us,
            original_version,
            begin,
            compression,
            report_to,
        })
    }
}

impl Control {
    pub fn encode(&self, out: &mut Vec<u8>) {
        let first = match self {
            Control::Rotate => 0,
            Control::Reset { first } => *first,
        };
        put(out, first.into());
    }

    pub fn decode(content: &[u8]) -> Result<Control> {
        Control::take(&mut Fields(content))
    }

    fn take(fields: &mut Fields<'_>) -> Result<Control> {
        Ok(match fields.number()? as u32 {
            0 => Control::Rotate,
            first => Control::Reset { first },
        })
    }

    pub fn encode_ready(&self, out: &mut Vec<u8>) {
        out.push(CONTROL);
        self.encode(out);
    }
}

impl Unit<'_> {
    pub fn encode(&self, out: &mut Vec<u8>) {
        out.push(UNIT);
        self.facts.encode(out);
        put(out, self.count);
        put(out, self.bytes);
        put(out, self.extent.map_or(0, |extent| extent + 1));
        put_bytes(out, self.events);
    }
}

/// The transactions of a commit, in order.
pub fn ready(log: &[u8]) -> impl Iterator<Item = Result<Ready<'_>>> {
    let mut fields = Fields(log);
    std::iter::from_fn(move || {
        if fields.0.is_empty() {
            return None;
        }
        let next = next_ready(&mut fields);
        if next.is_err() {
            fields.0 = &[];
        }
        Some(next)
    })
}

fn next_ready<'u>(fields: &mut Fields<'u>) -> Result<Ready<'u>> {
    match fields.byte()? {
        UNIT => {
            let facts = Facts::take(fields)?;
            let (count, bytes) = (fields.number()?, fields.number()?);
            let extent = fields.number()?.checked_sub(1);
            Ok(Ready::Unit(Unit { facts, count, bytes, extent, events: fields.bytes()? }))
        }
        CONTROL => Ok(Ready::Control(Control::take(fields)?)),
        _ => Err(damaged()),
    }
}

pub(super) fn put(out: &mut Vec<u8>, number: u64) {
    let mut number = number;
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

pub(super) fn put_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    put(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

/// Reads what `put` and `put_bytes` wrote.
pub(super) struct Fields<'b>(pub &'b [u8]);

impl<'b> Fields<'b> {
    pub fn byte(&mut self) -> Result<u8> {
        let (byte, rest) = self.0.split_first().ok_or_else(damaged)?;
        self.0 = rest;
        Ok(*byte)
    }

    pub fn number(&mut self) -> Result<u64> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            number |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(number);
            }
        }
        Err(damaged())
    }

    pub fn bytes(&mut self) -> Result<&'b [u8]> {
        let len = usize::try_from(self.number()?).map_err(|_| damaged())?;
        let (bytes, rest) = self.0.split_at_checked(len).ok_or_else(damaged)?;
        self.0 = rest;
        Ok(bytes)
    }

    pub fn array<const N: usize>(&mut self) -> Result<&'b [u8; N]> {
        let (array, rest) = self.0.split_first_chunk().ok_or_else(damaged)?;
        self.0 = rest;
        Ok(array)
    }

    fn tag(&mut self) -> Result<Tag> {
        Tag::new(self.bytes()?).ok_or_else(damaged)
    }
}

#[cold]
pub(super) fn damaged() -> Error {
    Error::corrupt("an entry of the binary log")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_come_back() {
        let gtid = Gtid { source: Uuid([7; 16]), tag: Tag::new(b"tag").unwrap(), number: 1 << 40 };
        let facts = [
            Facts { begin: b"BEGIN".to_vec(), timestamp: u32::MAX, server_id: 3, ..Facts::default() },
            Facts { naming: Naming::Automatic(Tag::default()), has_statements: true, ..Facts::default() },
            Facts {
                naming: Naming::Given(gtid),
                original_commit_us: Some(1 << 50),
                original_version: Some(90_700),
                ..Facts::default()
            },
        ];
        let mut log = Vec::new();
        let units = facts.iter().enumerate().map(|(n, facts)| {
            let (events, extent) = if n == 1 { (&b""[..], Some(0)) } else { (&b"events"[..], None) };
            Ready::Unit(Unit { facts: facts.clone(), events, count: 300, bytes: 1 << 33, extent })
        });
        let units: Vec<_> = units.collect();
        units.iter().for_each(|unit| {
            if let Ready::Unit(unit) = unit {
                unit.encode(&mut log)
            }
        });
        Control::Rotate.encode_ready(&mut log);
        Control::Reset { first: 9 }.encode_ready(&mut log);
        let back: Vec<_> = ready(&log).collect::<Result<_>>().unwrap();
        assert_eq!(back[..3], units);
        assert_eq!(back[3..], [Ready::Control(Control::Rotate), Ready::Control(Control::Reset { first: 9 })]);
        for cut in 1..log.len() {
            let _ = ready(&log[..cut]).collect::<Result<Vec<_>>>();
        }
    }
}
