//! Events around statements: what they draw from (INTVAR, RAND, USER_VAR), files that they load, and XA transactions.

use super::error::{BinlogError, Result};
use crate::codec::{Bytes, put_u32};

/// INTVAR_EVENT: what LAST_INSERT_ID() is, or the first number that AUTO_INCREMENT gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IntVar {
    LastInsertId(u64),
    InsertId(u64),
}

impl IntVar {
    pub fn decode(data: &[u8]) -> Result<IntVar> {
        let mut bytes = Bytes::new(data);
        match (bytes.u8()?, bytes.u64()?) {
            (1, id) => Ok(IntVar::LastInsertId(id)),
            (2, id) => Ok(IntVar::InsertId(id)),
            _ => Err(BinlogError::Malformed("INTVAR")),
        }
    }
}

/// RAND_EVENT: both seeds of RAND().
pub fn decode_rand(data: &[u8]) -> Result<(u64, u64)> {
    let mut bytes = Bytes::new(data);
    Ok((bytes.u64()?, bytes.u64()?))
}

/// USER_VAR_EVENT: a variable of the user's.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct UserVar<'a> {
    pub name: &'a [u8],
    pub value: UserVarValue<'a>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum UserVarValue<'a> {
    Null,
    String {
        collation: u32,
        bytes: &'a [u8],
    },
    Real(f64),
    Int(i64),
    UInt(u64),
    /// In the form of a column, behind its digits and those of them after the point.
    Decimal {
        precision: u8,
        scale: u8,
        bytes: &'a [u8],
    },
}

impl<'a> UserVar<'a> {
    pub fn decode(data: &'a [u8]) -> Result<UserVar<'a>> {
        const UNSIGNED: u8 = 1;
        let mut bytes = Bytes::new(data);
        let len = bytes.u32()? as usize;
        let name = bytes.take(len)?;
        if bytes.u8()? != 0 {
            return Ok(UserVar { name, value: UserVarValue::Null });
        }
        let (kind, collation, len) = (bytes.u8()?, bytes.u32()?, bytes.u32()? as usize);
        let content = bytes.take(len)?;
        let flags = if bytes.is_empty() { 0 } else { bytes.u8()? };
        let mut inside = Bytes::new(content);
        let value = match kind {
            0 => UserVarValue::String { collation, bytes: content },
            1 => UserVarValue::Real(f64::from_bits(inside.u64()?)),
            2 if flags & UNSIGNED != 0 => UserVarValue::UInt(inside.u64()?),
            2 => UserVarValue::Int(inside.u64()? as i64),
            4 => UserVarValue::Decimal { precision: inside.u8()?, scale: inside.u8()?, bytes: inside.rest() },
            _ => return Err(BinlogError::Malformed("type of a user variable")),
        };
        Ok(UserVar { name, value })
    }
}

/// BEGIN_LOAD_QUERY_EVENT and APPEND_BLOCK_EVENT: a part of a file that a statement loads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LoadBlock<'a> {
    pub file: u32,
    pub block: &'a [u8],
}

impl<'a> LoadBlock<'a> {
    pub fn decode(data: &'a [u8]) -> Result<LoadBlock<'a>> {
        let mut bytes = Bytes::new(data);
        Ok(LoadBlock { file: bytes.u32()?, block: bytes.rest() })
    }
}

/// EXECUTE_LOAD_QUERY_EVENT: a statement that loads a file which events before brought. The name of the file
/// stands in the statement from `name_start` to `name_end`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExecuteLoadQuery<'a> {
    pub query: super::query::Query<'a>,
    pub file: u32,
    pub name_start: u32,
    pub name_end: u32,
    /// 0: duplicates are errors, 1: they are ignored, 2: they are replaced.
    pub duplicates: u8,
}

impl<'a> ExecuteLoadQuery<'a> {
    pub fn decode(data: &'a [u8]) -> Result<ExecuteLoadQuery<'a>> {
        /// As in a QUERY_EVENT: connection, seconds, length of the database's name, error, length of the status variables.
        const QUERY_BYTES: usize = 13;
        const OWN_BYTES: usize = 13;
        let mut bytes = Bytes::new(data);
        let mut head = Bytes::new(bytes.take(QUERY_BYTES)?);
        let (connection, seconds) = (head.u32()?, head.u32()?);
        let database_len = usize::from(head.u8()?);
        let (error, status_vars_len) = (head.u16()?, usize::from(head.u16()?));
        let mut own = Bytes::new(bytes.take(OWN_BYTES)?);
        let status_vars = bytes.take(status_vars_len)?;
        let database = bytes.take(database_len)?;
        bytes.skip(1)?;
        let query = super::query::Query { connection, seconds, error, status_vars, database, statement: bytes.rest().into() };
        Ok(ExecuteLoadQuery { query, file: own.u32()?, name_start: own.u32()?, name_end: own.u32()?, duplicates: own.u8()? })
    }
}

/// The name of an XA transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct XaId<'a> {
    pub format: u32,
    pub global: &'a [u8],
    pub branch: &'a [u8],
}

/// XA_PREPARE_LOG_EVENT: the end of a transaction that is prepared, or committed in one phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct XaPrepare<'a> {
    pub one_phase: bool,
    pub xid: XaId<'a>,
}

impl<'a> XaPrepare<'a> {
    pub fn encode(&self, out: &mut Vec<u8>) {
        out.push(u8::from(self.one_phase));
        put_u32(out, self.xid.format);
        put_u32(out, self.xid.global.len() as u32);
        put_u32(out, self.xid.branch.len() as u32);
        out.extend_from_slice(self.xid.global);
        out.extend_from_slice(self.xid.branch);
    }

    pub fn decode(data: &'a [u8]) -> Result<XaPrepare<'a>> {
        let mut bytes = Bytes::new(data);
        let one_phase = bytes.u8()? != 0;
        let (format, global, branch) = (bytes.u32()?, bytes.u32()? as usize, bytes.u32()? as usize);
        Ok(XaPrepare { one_phase, xid: XaId { format, global: bytes.take(global)?, branch: bytes.take(branch)? } })
    }
}
