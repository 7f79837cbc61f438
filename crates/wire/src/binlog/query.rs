//! QUERY_EVENT: a statement as text, with the settings that it ran under.
//!
//! | bytes | content                                                        |
//! |-------|----------------------------------------------------------------|
//! | 4, 4  | number of the connection; seconds that the statement took      |
//! | 1, 2  | length of the database's name; the error that it ended with    |
//! | 2     | length of the status variables                                 |
//! | n     | status variables: a code each, then what the code says         |
//! | n + 1 | the current database, with NUL                                 |
//! | n     | the statement                                                  |
//!
//! Variables of a code that is not known end the list: how long they are is not known either.

use std::borrow::Cow;

use super::compression;
use super::error::{BinlogError, Result};
use crate::codec::{Bytes, put_nul_bytes, put_u16, put_u24, put_u32, put_u64};

/// More databases than this are not named (MAX_DBS_IN_EVENT_MTS).
const DATABASES_MAX: u8 = 254;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Query<'a> {
    pub connection: u32,
    pub seconds: u32,
    pub error: u16,
    pub status_vars: &'a [u8],
    pub database: &'a [u8],
    pub statement: Cow<'a, [u8]>,
}

/// What the statement ran under. Names are those of MySQL's `Query_event_status_vars`, or of MariaDB from `HrNow` on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StatusVar<'a> {
    Flags2(u32),
    SqlMode(u64),
    /// With a NUL behind it, as MySQL 5.0 wrote it.
    CatalogNul(&'a [u8]),
    AutoIncrement {
        increment: u16,
        offset: u16,
    },
    Charset {
        client: u16,
        connection: u16,
        server: u16,
    },
    TimeZone(&'a [u8]),
    Catalog(&'a [u8]),
    LcTimeNames(u16),
    CharsetDatabase(u16),
    TableMapForUpdate(u64),
    MasterDataWritten(u32),
    Invoker {
        user: &'a [u8],
        host: &'a [u8],
    },
    /// Names with NUL behind each; `None` if there were too many.
    UpdatedDatabases(Option<&'a [u8]>),
    Microseconds(u32),
    ExplicitDefaultsForTimestamp(bool),
    DdlXid(u64),
    DefaultCollationForUtf8mb4(u16),
    RequirePrimaryKey(bool),
    DefaultTableEncryption(bool),
    /// `innodb_native_foreign_keys`, since MySQL 9.6.
    NativeForeignKeys(bool),
    HrNow(u32),
    Xid(u64),
    GtidFlags {
        flags: u8,
        alter_sequence: Option<u64>,
    },
    /// Pairs of a charset and the collation that it has.
    CharsetCollations(&'a [u8]),
}

fn short<'a>(bytes: &mut Bytes<'a>) -> Result<&'a [u8]> {
    let len = bytes.u8()?;
    Ok(bytes.take(usize::from(len))?)
}

fn updated_databases<'a>(bytes: &mut Bytes<'a>) -> Result<Option<&'a [u8]>> {
    let count = bytes.u8()?;
    if count == DATABASES_MAX {
        return Ok(None);
    }
    let names = bytes.rest();
    for _ in 0..count {
        bytes.nul_bytes()?;
    }
    Ok(names.get(..names.len() - bytes.len()))
}

fn gtid_flags<'a>(bytes: &mut Bytes<'_>) -> Result<StatusVar<'a>> {
    use super::gtid::MariaGtidEvent as E;
    let flags = bytes.u8()?;
    let ends_alter = flags & (E::EXTRA_COMMIT_ALTER | E::EXTRA_ROLLBACK_ALTER) != 0;
    Ok(StatusVar::GtidFlags { flags, alter_sequence: if ends_alter { Some(bytes.u64()?) } else { None } })
}

impl<'a> StatusVar<'a> {
    /// `None` for a code that is not known.
    fn decode(bytes: &mut Bytes<'a>) -> Result<Option<StatusVar<'a>>> {
        Ok(Some(match bytes.u8()? {
            0 => StatusVar::Flags2(bytes.u32()?),
            1 => StatusVar::SqlMode(bytes.u64()?),
            2 => {
                let name = short(bytes)?;
                bytes.skip(1)?;
                StatusVar::CatalogNul(name)
            }
            3 => StatusVar::AutoIncrement { increment: bytes.u16()?, offset: bytes.u16()? },
            4 => StatusVar::Charset { client: bytes.u16()?, connection: bytes.u16()?, server: bytes.u16()? },
            5 => StatusVar::TimeZone(short(bytes)?),
            6 => StatusVar::Catalog(short(bytes)?),
            7 => StatusVar::LcTimeNames(bytes.u16()?),
            8 => StatusVar::CharsetDatabase(bytes.u16()?),
            9 => StatusVar::TableMapForUpdate(bytes.u64()?),
            10 => StatusVar::MasterDataWritten(bytes.u32()?),
            11 => StatusVar::Invoker { user: short(bytes)?, host: short(bytes)? },
            12 => StatusVar::UpdatedDatabases(updated_databases(bytes)?),
            13 => StatusVar::Microseconds(bytes.u24()?),
            16 => StatusVar::ExplicitDefaultsForTimestamp(bytes.u8()? != 0),
            17 => StatusVar::DdlXid(bytes.u64()?),
            18 => StatusVar::DefaultCollationForUtf8mb4(bytes.u16()?),
            19 => StatusVar::RequirePrimaryKey(bytes.u8()? != 0),
            20 => StatusVar::DefaultTableEncryption(bytes.u8()? != 0),
            21 => StatusVar::NativeForeignKeys(bytes.u8()? != 0),
            128 => StatusVar::HrNow(bytes.u24()?),
            129 => StatusVar::Xid(bytes.u64()?),
            130 => gtid_flags(bytes)?,
            131 => {
                let count = bytes.u8()?;
                StatusVar::CharsetCollations(bytes.take(usize::from(count) * 4)?)
            }
            _ => return Ok(None),
        }))
    }

    /// Those that a MySQL of this time writes, and MariaDB's `HrNow`.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let number = |out: &mut Vec<u8>, code: u8, n: u64, bytes: usize| {
            out.push(code);
            out.extend_from_slice(&n.to_le_bytes()[..bytes]);
        };
        let text = |out: &mut Vec<u8>, text: &[u8]| {
            let text = text.get(..usize::from(u8::MAX)).unwrap_or(text);
            out.push(text.len() as u8);
            out.extend_from_slice(text);
        };
        match *self {
            StatusVar::Flags2(n) => number(out, 0, n.into(), 4),
            StatusVar::SqlMode(n) => number(out, 1, n, 8),
            StatusVar::AutoIncrement { increment, offset } => number(out, 3, u64::from(offset) << 16 | u64::from(increment), 4),
            StatusVar::Charset { client, connection, server } => {
                out.push(4);
                [client, connection, server].iter().for_each(|id| put_u16(out, *id));
            }
            StatusVar::TimeZone(name) => {
                out.push(5);
                text(out, name);
            }
            StatusVar::Catalog(name) => {
                out.push(6);
                text(out, name);
            }
            StatusVar::LcTimeNames(n) => number(out, 7, n.into(), 2),
            StatusVar::CharsetDatabase(n) => number(out, 8, n.into(), 2),
            StatusVar::TableMapForUpdate(n) => number(out, 9, n, 8),
            StatusVar::Invoker { user, host } => {
                out.push(11);
                text(out, user);
                text(out, host);
            }
            StatusVar::UpdatedDatabases(names) => {
                out.push(12);
                let count = names.map_or(DATABASES_MAX.into(), |names| names.iter().filter(|b| **b == 0).count());
                out.push(count.min(DATABASES_MAX.into()) as u8);
                out.extend_from_slice(names.unwrap_or_default());
            }
            StatusVar::Microseconds(n) => {
                out.push(13);
                put_u24(out, n);
            }
            StatusVar::ExplicitDefaultsForTimestamp(on) => number(out, 16, on.into(), 1),
            StatusVar::DdlXid(n) => number(out, 17, n, 8),
            StatusVar::DefaultCollationForUtf8mb4(n) => number(out, 18, n.into(), 2),
            StatusVar::RequirePrimaryKey(on) => number(out, 19, on.into(), 1),
            StatusVar::DefaultTableEncryption(on) => number(out, 20, on.into(), 1),
            StatusVar::NativeForeignKeys(on) => number(out, 21, on.into(), 1),
            StatusVar::HrNow(n) => {
                out.push(128);
                put_u24(out, n);
            }
            StatusVar::CatalogNul(_)
            | StatusVar::MasterDataWritten(_)
            | StatusVar::Xid(_)
            | StatusVar::GtidFlags { .. }
            | StatusVar::CharsetCollations(_) => {}
        }
    }
}

impl<'a> Query<'a> {
    pub fn decode(data: &'a [u8]) -> Result<Query<'a>> {
        let mut bytes = Bytes::new(data);
        let (connection, seconds) = (bytes.u32()?, bytes.u32()?);
        let database_len = usize::from(bytes.u8()?);
        let error = bytes.u16()?;
        let status_vars_len = usize::from(bytes.u16()?);
        let status_vars = bytes.take(status_vars_len)?;
        let database = bytes.take(database_len)?;
        if bytes.u8()? != 0 {
            return Err(BinlogError::Malformed("statement's database"));
        }
        Ok(Query { connection, seconds, error, status_vars, database, statement: Cow::Borrowed(bytes.rest()) })
    }

    /// MariaDB's QUERY_COMPRESSED_EVENT.
    pub fn decode_compressed(data: &'a [u8]) -> Result<Query<'a>> {
        let mut query = Query::decode(data)?;
        query.statement = Cow::Owned(compression::inflate_event(&query.statement)?);
        Ok(query)
    }

    pub fn encode(&self, out: &mut Vec<u8>) {
        put_u32(out, self.connection);
        put_u32(out, self.seconds);
        out.push(self.database.len() as u8);
        put_u16(out, self.error);
        put_u16(out, self.status_vars.len() as u16);
        out.extend_from_slice(self.status_vars);
        put_nul_bytes(out, self.database);
        out.extend_from_slice(&self.statement);
    }

    /// Each status variable that is known.
    pub fn status_vars(&self) -> impl Iterator<Item = Result<StatusVar<'a>>> {
        let mut bytes = Bytes::new(self.status_vars);
        let mut ended = false;
        std::iter::from_fn(move || {
            if ended || bytes.is_empty() {
                return None;
            }
            let next = StatusVar::decode(&mut bytes).transpose();
            ended = !matches!(next, Some(Ok(_)));
            next
        })
    }
}

/// XID_EVENT: the transaction is committed.
pub fn decode_xid(data: &[u8]) -> Result<u64> {
    Ok(Bytes::new(data).u64()?)
}

pub fn encode_xid(out: &mut Vec<u8>, xid: u64) {
    put_u64(out, xid);
}

/// ROWS_QUERY_LOG_EVENT: the statement that the rows are of. The byte in front was its length when statements were short, and is not read.
pub fn decode_rows_query(data: &[u8]) -> Result<&[u8]> {
    Ok(data.split_first().ok_or(BinlogError::Malformed("statement of rows"))?.1)
}

pub fn encode_rows_query(out: &mut Vec<u8>, statement: &[u8]) {
    out.push(0);
    out.extend_from_slice(statement);
}
