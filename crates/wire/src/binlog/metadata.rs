//! The optional metadata of a TABLE_MAP_EVENT, which `binlog_row_metadata` asks for: a list of fields, each a type, a length-encoded length and
//! its content. Which columns a field speaks of follows from their types:
//!
//! | field                              | columns                   | content                                           |
//! |------------------------------------|---------------------------|---------------------------------------------------|
//! | 1 SIGNEDNESS                       | numeric                   | a bit each, from the highest: it is unsigned      |
//! | 2 DEFAULT_CHARSET                  | character, binary strings | the commonest collation, then (index, collation) of the others |
//! | 3 COLUMN_CHARSET                   | the same                  | the collation of each                             |
//! | 4 COLUMN_NAME                      | all                       | the name of each                                  |
//! | 5 SET_STR_VALUE, 6 ENUM_STR_VALUE  | SET, ENUM                 | of each the count of labels, then these           |
//! | 7 GEOMETRY_TYPE                    | geometries                | the kind of each                                  |
//! | 8 SIMPLE_PRIMARY_KEY               |                           | columns of the key                                |
//! | 9 PRIMARY_KEY_WITH_PREFIX          |                           | columns of the key, each with its prefix          |
//! | 10, 11 …_ENUM_AND_SET_…CHARSET     | ENUM and SET              | as 2 and 3                                        |
//! | 12 COLUMN_VISIBILITY               | all                       | a bit each, from the highest                      |
//! | 13 VECTOR_DIMENSIONALITY           | vectors                   | the dimensions of each                            |
//!
//! Numbers and names are length-encoded. Fields of other types are skipped.

use super::error::{BinlogError, Result};
use super::table_map::{Column, TableMap, column_type as ty};
use crate::codec::{Bytes, put_lenenc_bytes, put_lenenc_int};

const MALFORMED: BinlogError = BinlogError::Malformed("metadata of a table");

fn is_numeric(column: &Column) -> bool {
    use ty::*;
    matches!(column.column_type, TINY | SHORT | INT24 | LONG | LONGLONG | YEAR | NEWDECIMAL | FLOAT | DOUBLE)
}

fn is_character(column: &Column) -> bool {
    use ty::*;
    let blob = matches!(column.column_type, TINY_BLOB | BLOB | MEDIUM_BLOB | LONG_BLOB | MARIA_BLOB_COMPRESSED);
    blob || matches!(column.column_type, STRING | VAR_STRING | VARCHAR | MARIA_VARCHAR_COMPRESSED | VECTOR)
}

fn is_enum_or_set(column: &Column) -> bool {
    matches!(column.column_type, ty::ENUM | ty::SET)
}

fn is_vector(column: &Column) -> bool {
    column.column_type == ty::VECTOR
}

fn is_geometry(column: &Column) -> bool {
    column.column_type == ty::GEOMETRY
}

fn number(bytes: &mut Bytes<'_>) -> Result<u32> {
    u32::try_from(bytes.lenenc_int()?).map_err(|_| MALFORMED)
}

fn high_bit(bitmap: &[u8], i: usize) -> bool {
    bitmap.get(i / 8).is_some_and(|byte| byte >> (7 - i % 8) & 1 != 0)
}

pub(super) fn decode(data: &[u8], map: &mut TableMap) -> Result<()> {
    let mut bytes = Bytes::new(data);
    while !bytes.is_empty() {
        let field = bytes.u8()?;
        let content = bytes.lenenc_bytes()?;
        decode_field(field, content, map)?;
    }
    Ok(())
}

fn decode_field(field: u8, content: &[u8], map: &mut TableMap) -> Result<()> {
    let mut bytes = Bytes::new(content);
    match field {
        1 => signedness(content, map),
        2 => default_collations(&mut bytes, map, is_character)?,
        3 => for_each(map, is_character, |column| {
            let _: () = column.collation = Some(number(&mut bytes)?);
            Ok(())
        })?,
        4 => for_each(
            map,
            |_| true,
            |column| {
                let _: () = column.name = Some(bytes.lenenc_bytes()?.into());
                Ok(())
            },
        )?,
        5 => members(&mut bytes, map, ty::SET)?,
        6 => members(&mut bytes, map, ty::ENUM)?,
        7 => for_each(map, is_geometry, |column| {
            let _: () = column.geometry_type = Some(number(&mut bytes)?);
            Ok(())
        })?,
        8 | 9 => {
            map.primary_key.clear();
            while !bytes.is_empty() {
                let column = number(&mut bytes)?;
                let prefix = if field == 9 { number(&mut bytes)? } else { 0 };
                map.primary_key.push((column, prefix));
            }
            let columns = map.columns.len();
            if map.primary_key.iter().any(|(column, _)| *column as usize >= columns) {
                return Err(MALFORMED);
            }
        }
        10 => default_collations(&mut bytes, map, is_enum_or_set)?,
        11 => for_each(map, is_enum_or_set, |column| {
            let _: () = column.collation = Some(number(&mut bytes)?);
            Ok(())
        })?,
        12 => {
            for (i, column) in map.columns.iter_mut().enumerate() {
                column.visible = Some(high_bit(content, i));
            }
        }
        13 => for_each(map, is_vector, |column| {
            let _: () = column.dimensions = Some(number(&mut bytes)?);
            Ok(())
        })?,
        _ => {}
    }
    Ok(())
}

fn for_each(map: &mut TableMap, which: fn(&Column) -> bool, set: impl FnMut(&mut Column) -> Result<()>) -> Result<()> {
    map.columns.iter_mut().filter(|column| which(column)).try_for_each(set)
}

fn signedness(content: &[u8], map: &mut TableMap) {
    for (i, column) in map.columns.iter_mut().filter(|column| is_numeric(column)).enumerate() {
        column.unsigned = Some(high_bit(content, i));
    }
}

fn default_collations(bytes: &mut Bytes<'_>, map: &mut TableMap, which: fn(&Column) -> bool) -> Result<()> {
    let common = number(bytes)?;
    for_each(map, which, |column| {
        let _: () = column.collation = Some(common);
        Ok(())
    })?;
    let mut columns: Vec<&mut Column> = map.columns.iter_mut().filter(|column| which(column)).collect();
    while !bytes.is_empty() {
        let at = number(bytes)? as usize;
        columns.get_mut(at).ok_or(MALFORMED)?.collation = Some(number(bytes)?);
    }
    Ok(())
}

fn members(bytes: &mut Bytes<'_>, map: &mut TableMap, column_type: u8) -> Result<()> {
    for column in map.columns.iter_mut().filter(|column| column.column_type == column_type) {
        let count = number(bytes)?;
        let mut labels = Vec::new();
        for _ in 0..count {
            labels.push(bytes.lenenc_bytes()?.into());
        }
        column.members = Some(labels);
    }
    Ok(())
}

pub(super) fn encode(map: &TableMap, out: &mut Vec<u8>) {
    let field = |field: u8, out: &mut Vec<u8>, content: Vec<u8>| {
        if !content.is_empty() {
            out.push(field);
            put_lenenc_bytes(out, &content);
        }
    };
    field(1, out, high_bits(map.columns.iter().filter(|column| is_numeric(column)).map(|column| column.unsigned)));
    put_collations(map, is_character, [2, 3], out);
    field(7, out, put_each(map, |column, out| column.geometry_type.map(|kind| put_lenenc_int(out, kind.into()))));
    field(13, out, put_each(map, |column, out| column.dimensions.map(|count| put_lenenc_int(out, count.into()))));
    field(4, out, put_each(map, |column, out| column.name.as_ref().map(|name| put_lenenc_bytes(out, name))));
    put_collations(map, is_enum_or_set, [10, 11], out);
    for (code, column_type) in [(5, ty::SET), (6, ty::ENUM)] {
        let labels = put_each(map, |column, out| {
            let labels = column.members.as_ref().filter(|_| column.column_type == column_type)?;
            put_lenenc_int(out, labels.len() as u64);
            labels.iter().for_each(|label| put_lenenc_bytes(out, label));
            Some(())
        });
        field(code, out, labels);
    }
    let prefixes = map.primary_key.iter().any(|(_, prefix)| *prefix > 0);
    let mut key = Vec::new();
    for (column, prefix) in &map.primary_key {
        put_lenenc_int(&mut key, u64::from(*column));
        if prefixes {
            put_lenenc_int(&mut key, u64::from(*prefix));
        }
    }
    field(if prefixes { 9 } else { 8 }, out, key);
    field(12, out, high_bits(map.columns.iter().map(|column| column.visible)));
}

fn put_each(map: &TableMap, mut put: impl FnMut(&Column, &mut Vec<u8>) -> Option<()>) -> Vec<u8> {
    let mut content = Vec::new();
    map.columns.iter().for_each(|column| _ = put(column, &mut content));
    content
}

/// Nothing if it is not known of every column.
fn high_bits(bits: impl Iterator<Item = Option<bool>>) -> Vec<u8> {
    let Some(bits) = bits.collect::<Option<Vec<bool>>>() else { return Vec::new() };
    let byte = |bits: &[bool]| bits.iter().enumerate().fold(0, |byte, (i, bit)| byte | u8::from(*bit) << (7 - i));
    bits.chunks(8).map(byte).collect()
}

/// The commonest collation and the exceptions, or each column's, whichever is shorter as MySQL reckons.
fn put_collations(map: &TableMap, which: fn(&Column) -> bool, [default, each]: [u8; 2], out: &mut Vec<u8>) {
    let collations: Option<Vec<u32>> = map.columns.iter().filter(|column| which(column)).map(|column| column.collation).collect();
    let Some(collations) = collations.filter(|collations| !collations.is_empty()) else { return };
    let count = |wanted: u32| collations.iter().filter(|collation| **collation == wanted).count();
    // Of equally common ones that with the smallest number.
    let common =
        collations.iter().copied().max_by_key(|collation| (count(*collation), std::cmp::Reverse(*collation))).unwrap_or(0);
    let exceptions = collations.len() - count(common);
    let mut content = Vec::new();
    let by_default = 2 * exceptions < collations.len();
    if by_default {
        put_lenenc_int(&mut content, u64::from(common));
        for (i, collation) in collations.iter().enumerate().filter(|(_, collation)| **collation != common) {
            put_lenenc_int(&mut content, i as u64);
            put_lenenc_int(&mut content, u64::from(*collation));
        }
    } else {
        collations.iter().for_each(|collation| put_lenenc_int(&mut content, u64::from(*collation)));
    }
    out.push(if by_default { default } else { each });
    put_lenenc_bytes(out, &content);
}
