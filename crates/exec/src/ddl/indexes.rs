//! Index definitions: names, parts, prefixes, and MySQL's checks of them.

use vaquita_parser::ast::{self, KeyPart};
use vaquita_types::errno::{
    ER_BLOB_KEY_WITHOUT_LENGTH, ER_DUP_FIELDNAME, ER_DUP_KEYNAME, ER_KEY_COLUMN_DOES_NOT_EXITS, ER_MULTIPLE_PRI_KEY, ER_PK_INDEX_CANT_BE_INVISIBLE,
    ER_TOO_LONG_INDEX_COMMENT, ER_TOO_LONG_KEY, ER_TOO_MANY_KEY_PARTS, ER_TOO_MANY_KEYS, ER_WRONG_NAME_FOR_INDEX,
    ER_WRONG_SUB_KEY,
};
use vaquita_types::charset::collation;
use vaquita_types::limits::{INDEX_COMMENT_CHARS_MAX, INDEX_KEY_BYTES_MAX, INDEX_PARTS_MAX, TABLE_INDEXES_MAX};
use vaquita_types::schema::{ColumnDef, ColumnDefault, IndexDef, IndexId, IndexKind, IndexPart};
use vaquita_types::{ColumnType, Error, Result, TypeKind, Value};

/// Adds the index to `indexes`, whose first entry is the PRIMARY KEY if there is one.
pub fn add_index(index: &ast::IndexDef, columns: &mut [ColumnDef], indexes: &mut Vec<IndexDef>) -> Result<()> {
    let kind = match index.kind {
        ast::IndexKind::Plain => IndexKind::Secondary,
        ast::IndexKind::Unique => IndexKind::Unique,
        ast::IndexKind::Primary => IndexKind::Primary,
        ast::IndexKind::FullText => return Err(Error::unsupported("FULLTEXT indexes")),
        ast::IndexKind::Spatial => return Err(Error::unsupported("SPATIAL indexes")),
    };
    if kind == IndexKind::Primary && indexes.iter().any(|i| i.kind == IndexKind::Primary) {
        return Err(Error::new(&ER_MULTIPLE_PRI_KEY, &[]));
    }
    if indexes.len() >= TABLE_INDEXES_MAX {
        return Err(Error::new(&ER_TOO_MANY_KEYS, &[&TABLE_INDEXES_MAX]));
    }
    let parts = parts(index, kind, columns)?;
    let constraint = index.constraint.clone().flatten();
    let name = match index.name.clone().or(constraint) {
        _ if kind == IndexKind::Primary => "PRIMARY".to_string(),
        Some(name) if name.eq_ignore_ascii_case("PRIMARY") => return Err(Error::new(&ER_WRONG_NAME_FOR_INDEX, &[&name])),
        Some(name) => name,
        None => generated_name(index, indexes)?,
    };
    if indexes.iter().any(|i| i.name.eq_ignore_ascii_case(&name)) {
        return Err(Error::new(&ER_DUP_KEYNAME, &[&name]));
    }
    let comment = index.options.comment.as_deref().map(|c| String::from_utf8_lossy(c).into_owned()).unwrap_or_default();
    if comment.chars().count() > INDEX_COMMENT_CHARS_MAX {
        return Err(Error::new(&ER_TOO_LONG_INDEX_COMMENT, &[&name, &INDEX_COMMENT_CHARS_MAX]));
    }
    let invisible = index.options.visible == Some(false);
    if invisible && kind == IndexKind::Primary {
        return Err(Error::new(&ER_PK_INDEX_CANT_BE_INVISIBLE, &[]));
    }
    let using = index.options.using.as_ref().map(|u| u.to_uppercase());
    let def = IndexDef { id: IndexId(0), name, kind, parts, comment, invisible, using };
    let at = position(&def, indexes, columns);
    indexes.insert(at, def);
    Ok(())
}

/// MySQL lists the PRIMARY KEY first, then unique keys without NULL, then unique keys, then the others.
fn position(def: &IndexDef, indexes: &[IndexDef], columns: &[ColumnDef]) -> usize {
    let rank = |i: &IndexDef| match i.kind {
        IndexKind::Primary => 0,
        IndexKind::Unique if i.parts.iter().all(|p| columns.get(usize::from(p.column.0)).is_none_or(|c| !c.nullable)) => 1,
        IndexKind::Unique => 2,
        IndexKind::Secondary => 3,
    };
    indexes.iter().position(|other| rank(other) > rank(def)).unwrap_or(indexes.len())
}

/// Index parts name columns by position here; the caller replaces positions by ids.
fn parts(index: &ast::IndexDef, kind: IndexKind, columns: &mut [ColumnDef]) -> Result<Vec<IndexPart>> {
    if index.parts.len() > INDEX_PARTS_MAX {
        return Err(Error::new(&ER_TOO_MANY_KEY_PARTS, &[&INDEX_PARTS_MAX]));
    }
    let mut parts: Vec<IndexPart> = Vec::with_capacity(index.parts.len());
    let mut bytes = 0;
    for part in &index.parts {
        let KeyPart::Column { name, length, desc } = part else { return Err(Error::unsupported("functional indexes")) };
        let Some(at) = columns.iter().position(|c| c.name.eq_ignore_ascii_case(name)) else {
            return Err(Error::new(&ER_KEY_COLUMN_DOES_NOT_EXITS, &[name]));
        };
        let column = &mut columns[at];
        if parts.iter().any(|p| usize::from(p.column.0) == at) {
            return Err(Error::new(&ER_DUP_FIELDNAME, &[name]));
        }
        if kind == IndexKind::Primary {
            column.nullable = false;
            if matches!(column.default, ColumnDefault::Value(Value::Null)) {
                column.default = ColumnDefault::None;
            }
        }
        let prefix = prefix(column, *length)?;
        bytes += key_bytes(&column.ty, prefix);
        parts.push(IndexPart { column: vaquita_types::schema::ColumnId(at as u16), prefix, descending: *desc });
    }
    if bytes > INDEX_KEY_BYTES_MAX {
        return Err(Error::new(&ER_TOO_LONG_KEY, &[&INDEX_KEY_BYTES_MAX]));
    }
    Ok(parts)
}

/// The prefix length to store; a prefix of the whole column is none.
fn prefix(column: &ColumnDef, length: Option<u64>) -> Result<Option<u32>> {
    let Some(length) = length else {
        if column.ty.is_blob() {
            return Err(Error::new(&ER_BLOB_KEY_WITHOUT_LENGTH, &[&column.name]));
        }
        return Ok(None);
    };
    if !column.ty.is_bytes() || length == 0 {
        return Err(Error::new(&ER_WRONG_SUB_KEY, &[]));
    }
    let fixed = !column.ty.is_blob();
    if fixed && length > u64::from(column.ty.length) {
        return Err(Error::new(&ER_WRONG_SUB_KEY, &[]));
    }
    Ok((!fixed || length < u64::from(column.ty.length)).then_some(length as u32))
}

fn key_bytes(ty: &ColumnType, prefix: Option<u32>) -> usize {
    match ty.kind {
        _ if ty.is_bytes() => {
            let char_bytes = if ty.is_text() { usize::from(collation(ty.collation).charset.mbmaxlen) } else { 1 };
            prefix.unwrap_or(ty.length) as usize * char_bytes
        }
        TypeKind::Decimal => 30,
        _ => 8,
    }
}

/// The first column's name, with `_2`, `_3` … if it is taken.
fn generated_name(index: &ast::IndexDef, indexes: &[IndexDef]) -> Result<String> {
    let Some(KeyPart::Column { name, .. }) = index.parts.first() else {
        return Err(Error::unsupported("functional indexes"));
    };
    let taken = |candidate: &str| indexes.iter().any(|i| i.name.eq_ignore_ascii_case(candidate));
    if !taken(name) && !name.eq_ignore_ascii_case("PRIMARY") {
        return Ok(name.clone());
    }
    Ok((2..).map(|n| format!("{name}_{n}")).find(|candidate| !taken(candidate)).unwrap_or_default())
}
