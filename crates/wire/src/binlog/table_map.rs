//! TABLE_MAP_EVENT: the table whose rows the next events change, and how its columns are written.
//!
//! | bytes  | content                                                             |
//! |--------|---------------------------------------------------------------------|
//! | 6, 2   | number of the table, for the events behind; flags                   |
//! | 1 + n  | database with its length, then NUL; the table in the same way       |
//! | lenenc | count of columns, then a byte each: the type                        |
//! | lenenc | length of what the types say further (`meta_bytes`), then that      |
//! | n      | a bit for each column: it may be NULL                               |
//! | n      | optional metadata, see `metadata`                                   |

use super::error::{BinlogError, Result};
use super::metadata;
use crate::codec::{Bytes, put_lenenc_bytes, put_lenenc_int, put_u16};

/// Codes of column types: those of the protocol, and MariaDB's compressed ones.
pub mod column_type {
    pub use crate::caps::mysql_type::*;

    pub const MARIA_BLOB_COMPRESSED: u8 = 140;
    pub const MARIA_VARCHAR_COMPRESSED: u8 = 141;
}
use column_type as ty;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Column {
    /// ENUM and SET stand as STRING in the event, and as what they are here.
    pub column_type: u8,
    /// Bytes of the longest value, of its length, or digits, as the type has it; the first byte is the low one.
    pub meta: u16,
    pub nullable: bool,
    // From the optional metadata, `None` where it does not say.
    pub unsigned: Option<bool>,
    /// Of character types, ENUM and SET; 63 for binary strings.
    pub collation: Option<u32>,
    pub name: Option<Box<[u8]>>,
    /// Labels of ENUM and SET, in the charset of the collation.
    pub members: Option<Vec<Box<[u8]>>>,
    pub geometry_type: Option<u32>,
    pub dimensions: Option<u32>,
    pub visible: Option<bool>,
}

impl Column {
    /// Bytes of the length in front of a value.
    pub fn length_bytes(&self) -> usize {
        match self.column_type {
            ty::STRING | ty::VARCHAR | ty::VAR_STRING | ty::MARIA_VARCHAR_COMPRESSED => 1 + usize::from(self.meta > 255),
            _ => usize::from(self.meta),
        }
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TableMap {
    pub id: u64,
    pub flags: u16,
    pub database: Box<[u8]>,
    pub table: Box<[u8]>,
    pub columns: Vec<Column>,
    /// The columns of the primary key, each with the characters that count, 0 for all; empty if it is not told.
    pub primary_key: Vec<(u32, u32)>,
}

/// Columns of a table, of MySQL (4,096) and MariaDB.
const COLUMNS_MAX: u64 = 4096;
/// The number of a table in an event that only ends a statement.
pub const DUMMY_TABLE_ID: u64 = 0xff_ffff;

pub(super) fn table_id(bytes: &mut Bytes<'_>) -> Result<u64> {
    let [a, b, c, d, e, f] = bytes.array::<6>()?;
    Ok(u64::from_le_bytes([a, b, c, d, e, f, 0, 0]))
}

pub(super) fn put_table_id(out: &mut Vec<u8>, id: u64) {
    out.extend_from_slice(&id.to_le_bytes()[..6]);
}

/// What a type says further in the event.
fn meta_bytes(column_type: u8) -> usize {
    match column_type {
        ty::FLOAT | ty::DOUBLE | ty::TIMESTAMP2 | ty::DATETIME2 | ty::TIME2 => 1,
        ty::TINY_BLOB | ty::BLOB | ty::MEDIUM_BLOB | ty::LONG_BLOB | ty::GEOMETRY | ty::JSON | ty::VECTOR => 1,
        ty::MARIA_BLOB_COMPRESSED => 1,
        ty::VARCHAR | ty::VAR_STRING | ty::STRING | ty::BIT | ty::NEWDECIMAL | ty::ENUM | ty::SET => 2,
        ty::MARIA_VARCHAR_COMPRESSED => 2,
        _ => 0,
    }
}

/// In a STRING two bits of the longest length are hidden in the byte of the real type, inverted.
const LENGTH_BITS: u8 = 0x30;

fn decode_meta(column: &mut Column, meta: &mut Bytes<'_>) -> Result<()> {
    column.meta = match meta_bytes(column.column_type) {
        1 => u16::from(meta.u8()?),
        2 => meta.u16()?,
        _ => 0,
    };
    if column.column_type == ty::STRING {
        let [real, len] = column.meta.to_le_bytes();
        if matches!(real, ty::ENUM | ty::SET) {
            column.column_type = real;
            column.meta = u16::from(len);
        } else {
            column.meta = u16::from(!real & LENGTH_BITS) << 4 | u16::from(len);
        }
    }
    Ok(())
}

fn put_meta(column: &Column, out: &mut Vec<u8>) {
    match column.column_type {
        ty::ENUM | ty::SET => out.extend_from_slice(&[column.column_type, column.meta as u8]),
        ty::STRING => {
            let high = (column.meta >> 4) as u8 & LENGTH_BITS;
            out.extend_from_slice(&[ty::STRING ^ high, column.meta as u8]);
        }
        other => match meta_bytes(other) {
            1 => out.push(column.meta as u8),
            2 => put_u16(out, column.meta),
            _ => {}
        },
    }
}

/// The bit of a column in a bitmap; the first column has the lowest bit of the first byte.
pub(super) fn bit(bitmap: &[u8], i: usize) -> bool {
    bitmap.get(i / 8).is_some_and(|byte| byte >> (i % 8) & 1 != 0)
}

pub(super) fn put_bits(out: &mut Vec<u8>, bits: impl ExactSizeIterator<Item = bool>) {
    let start = out.len();
    out.resize(start + bits.len().div_ceil(8), 0);
    for (i, _) in bits.enumerate().filter(|(_, bit)| *bit) {
        out[start + i / 8] |= 1 << (i % 8);
    }
}

fn name<'a>(bytes: &mut Bytes<'a>) -> Result<&'a [u8]> {
    let len = bytes.lenenc_int()?;
    let name = bytes.take(usize::try_from(len).map_err(|_| BinlogError::Malformed("name of a table"))?)?;
    if bytes.u8()? != 0 {
        return Err(BinlogError::Malformed("name of a table"));
    }
    Ok(name)
}

fn put_name(out: &mut Vec<u8>, name: &[u8]) {
    put_lenenc_bytes(out, name);
    out.push(0);
}

impl TableMap {
    pub fn decode(data: &[u8]) -> Result<TableMap> {
        let mut bytes = Bytes::new(data);
        let id = table_id(&mut bytes)?;
        let flags = bytes.u16()?;
        let (database, table) = (name(&mut bytes)?.into(), name(&mut bytes)?.into());
        let count = bytes.lenenc_int()?;
        if count > COLUMNS_MAX {
            return Err(BinlogError::Malformed("table: too many columns"));
        }
        let types = bytes.take(count as usize)?;
        let mut meta = Bytes::new(bytes.lenenc_bytes()?);
        let nullable = bytes.take(types.len().div_ceil(8))?;
        let mut columns = Vec::with_capacity(types.len());
        for (i, column_type) in types.iter().enumerate() {
            let mut column = Column { column_type: *column_type, nullable: bit(nullable, i), ..Column::default() };
            decode_meta(&mut column, &mut meta)?;
            columns.push(column);
        }
        if !meta.is_empty() {
            return Err(BinlogError::Malformed("table: types of columns"));
        }
        let mut map = TableMap { id, flags, database, table, columns, primary_key: Vec::new() };
        metadata::decode(bytes.rest(), &mut map)?;
        Ok(map)
    }

    /// As MySQL writes it, with all optional metadata that are known.
    pub fn encode(&self, out: &mut Vec<u8>) {
        put_table_id(out, self.id);
        put_u16(out, self.flags);
        put_name(out, &self.database);
        put_name(out, &self.table);
        put_lenenc_int(out, self.columns.len() as u64);
        out.extend(self.columns.iter().map(|column| match column.column_type {
            ty::ENUM | ty::SET => ty::STRING,
            other => other,
        }));
        let mut meta = Vec::with_capacity(self.columns.len() * 2);
        self.columns.iter().for_each(|column| put_meta(column, &mut meta));
        put_lenenc_bytes(out, &meta);
        put_bits(out, self.columns.iter().map(|column| column.nullable));
        metadata::encode(self, out);
    }
}
