//! Index definitions: names, parts, prefixes, and MySQL's checks of them.

use vaquita_parser::ast::{self, KeyPart};
use vaquita_plan::env::Level;
use vaquita_types::charset::collation;
use vaquita_types::errno::{
    ER_BLOB_KEY_WITHOUT_LENGTH, ER_CANT_DROP_FIELD_OR_KEY, ER_DUP_FIELDNAME, ER_DUP_INDEX, ER_DUP_KEYNAME,
    ER_FUNCTIONAL_INDEX_PRIMARY_KEY, ER_JSON_USED_AS_KEY, ER_KEY_COLUMN_DOES_NOT_EXITS, ER_KEY_PART_0, ER_MULTIPLE_PRI_KEY,
    ER_NON_SCALAR_USED_AS_KEY, ER_PK_INDEX_CANT_BE_INVISIBLE, ER_PRIMARY_CANT_HAVE_NULL, ER_TOO_LONG_IDENT,
    ER_TOO_LONG_INDEX_COMMENT, ER_TOO_LONG_KEY, ER_TOO_MANY_KEY_PARTS, ER_TOO_MANY_KEYS, ER_UNSUPPORTED_INDEX_ALGORITHM,
    ER_WRONG_KEY_COLUMN, ER_WRONG_NAME_FOR_INDEX, ER_WRONG_SUB_KEY,
};
use vaquita_types::limits::{
    IDENTIFIER_CHARS_MAX, INDEX_COMMENT_CHARS_MAX, INDEX_KEY_BYTES_MAX, INDEX_PARTS_MAX, MYISAM_KEY_BYTES_MAX,
    OLD_FORMAT_PART_BYTES_MAX, TABLE_INDEXES_MAX,
};
use vaquita_types::schema::{ColumnDef, ColumnDefault, IndexDef, IndexId, IndexKind, IndexPart, TableDef, TableOptions};
use vaquita_types::{ColumnType, Error, Result, TypeKind, Value, sql_mode};

use super::create::column_bytes;
use super::functional::{UNNAMED, is_hidden_name};
use super::{full_text, options, spatial};
use crate::context::SessionEnv;

/// Adds the index to `indexes`; `sort_indexes` puts them in order when all are there.
pub fn add_index(
    index: &ast::IndexDef,
    columns: &[ColumnDef],
    indexes: &mut Vec<IndexDef>,
    options: &TableOptions,
    session: &dyn SessionEnv,
) -> Result<()> {
    let is_spatial = spatial::is_spatial(index, columns)?;
    let kind = match index.kind {
        _ if is_spatial => IndexKind::Spatial,
        ast::IndexKind::Plain => IndexKind::Secondary,
        ast::IndexKind::Unique => IndexKind::Unique,
        ast::IndexKind::Primary => IndexKind::Primary,
        ast::IndexKind::FullText => IndexKind::FullText,
        ast::IndexKind::Spatial => IndexKind::Spatial,
    };
    if kind == IndexKind::Primary && indexes.iter().any(|i| i.kind == IndexKind::Primary) {
        return Err(Error::new(&ER_MULTIPLE_PRI_KEY, &[]));
    }
    if indexes.len() >= TABLE_INDEXES_MAX {
        return Err(Error::new(&ER_TOO_MANY_KEYS, &[&TABLE_INDEXES_MAX]));
    }
    let parts = match kind {
        IndexKind::FullText => full_text::parts(index, columns)?,
        IndexKind::Spatial => spatial::parts(index, columns, session)?,
        _ => parts(index, kind, columns, &KeyLimit { options, session })?,
    };
    let constraint = index.constraint.clone().flatten();
    let name = match index.name.clone().or(constraint) {
        _ if kind == IndexKind::Primary => "PRIMARY".to_string(),
        Some(name) if name.eq_ignore_ascii_case("PRIMARY") => return Err(Error::new(&ER_WRONG_NAME_FOR_INDEX, &[&name])),
        Some(name) if name.is_empty() || name.ends_with(' ') => return Err(Error::new(&ER_WRONG_NAME_FOR_INDEX, &[&name])),
        Some(name) if name.chars().count() > IDENTIFIER_CHARS_MAX => return Err(Error::new(&ER_TOO_LONG_IDENT, &[&name])),
        Some(name) => name,
        None => generated_name(index, indexes, columns)?,
    };
    if indexes.iter().any(|i| i.name.eq_ignore_ascii_case(&name)) {
        return Err(Error::new(&ER_DUP_KEYNAME, &[&name]));
    }
    let too_long = Error::new(&ER_TOO_LONG_INDEX_COMMENT, &[&name, &INDEX_COMMENT_CHARS_MAX]);
    let comment = index.options.comment.as_deref().unwrap_or_default();
    let comment = options::comment(comment, INDEX_COMMENT_CHARS_MAX, too_long, session)?;
    let invisible = index.options.visible == Some(false);
    if invisible && kind == IndexKind::Primary {
        return Err(Error::new(&ER_PK_INDEX_CANT_BE_INVISIBLE, &[]));
    }
    // That of a SPATIAL index can only be RTREE, and is not kept.
    let mut using = index.options.using.as_ref().filter(|_| !is_spatial).map(|u| u.to_uppercase());
    if using.as_deref() == Some("HASH") && !options.engine.eq_ignore_ascii_case("MEMORY") {
        session.warn(Level::Note, Error::new(&ER_UNSUPPORTED_INDEX_ALGORITHM, &[&"HASH"]));
        using = None;
    }
    let is_array = |part: &IndexPart| columns.get(usize::from(part.column.0)).is_some_and(|c| c.element_type().is_some());
    let multi_valued = match parts.iter().filter(|part| is_array(part)).count() {
        0 => is_spatial,
        1 if kind == IndexKind::Primary => return Err(Error::new(&ER_FUNCTIONAL_INDEX_PRIMARY_KEY, &[])),
        1 => true,
        _ => return Err(Error::unsupported("more than one multi-valued key part per index")),
    };
    let parser = full_text::parser(index)?;
    let id = IndexId(0);
    indexes.push(IndexDef { id, name, kind, parts, comment, invisible, using, generated: false, multi_valued, parser });
    Ok(())
}

/// MySQL lists the PRIMARY KEY first, then unique keys without NULL, then unique keys, then the others; among
/// unique keys those without prefixes first, and behind their like those over virtual columns. Index parts are positions here.
pub fn sort_indexes(indexes: &mut [IndexDef], columns: &[ColumnDef]) {
    let any =
        |i: &IndexDef, is: fn(&ColumnDef) -> bool| i.parts.iter().any(|p| columns.get(usize::from(p.column.0)).is_some_and(is));
    let over_virtual = |i: &IndexDef| any(i, |c| c.generated.as_ref().is_some_and(|generated| !generated.stored));
    let rank = |i: &IndexDef| match i.kind {
        IndexKind::Primary => (0, false, false, false),
        IndexKind::Unique => (1, any(i, |c| c.nullable), i.parts.iter().any(|p| p.prefix.is_some()), over_virtual(i)),
        IndexKind::Secondary | IndexKind::Spatial => (2, false, false, over_virtual(i)),
        IndexKind::FullText => (3, false, false, false),
    };
    indexes.sort_by_key(rank);
}

/// Warning 1831 for each index, from the `first` on, that another one makes useless.
pub fn warn_of_duplicates(indexes: &[IndexDef], first: usize, (database, table): (&str, &str), session: &dyn SessionEnv) {
    for (n, index) in indexes.iter().enumerate().skip(first) {
        let hashed = |index: &IndexDef| index.using.as_deref() == Some("HASH");
        let same = |other: &IndexDef| other.kind == index.kind && other.parts == index.parts && hashed(other) == hashed(index);
        if indexes.iter().take(n).any(same) {
            session.warn(Level::Warning, Error::new(&ER_DUP_INDEX, &[&index.name, &database, &table]));
        }
    }
}

/// Columns of the PRIMARY KEY are NOT NULL, also if they did not say so; error 1171 if they said NULL. Index
/// parts and `null_given` are positions.
pub fn require_not_null(indexes: &[IndexDef], columns: &mut [ColumnDef], null_given: &[usize]) -> Result<()> {
    for part in indexes.iter().filter(|i| i.kind == IndexKind::Primary).flat_map(|i| &i.parts) {
        let at = usize::from(part.column.0);
        if null_given.contains(&at) {
            return Err(Error::new(&ER_PRIMARY_CANT_HAVE_NULL, &[]));
        }
        if let Some(column) = columns.get_mut(at) {
            column.nullable = false;
            if matches!(column.default, ColumnDefault::Value(Value::Null)) {
                column.default = ColumnDefault::None;
            }
        }
    }
    Ok(())
}

/// A kept index over columns that may have changed their types: prefixes that are no prefixes any more go.
pub fn check_parts(index: &mut IndexDef, columns: &[ColumnDef], limit: &KeyLimit<'_>) -> Result<()> {
    if index.is_full_text() {
        return full_text::check_parts(index, columns);
    }
    if index.is_spatial() {
        return spatial::check_parts(index, columns);
    }
    let mut bytes = 0;
    for part in &mut index.parts {
        let Some(column) = columns.get(usize::from(part.column.0)) else {
            return Err(Error::internal("an index part without its column"));
        };
        if column.ty.is_geometry() {
            return Err(Error::unsupported("an index on a column that becomes a geometry"));
        }
        if column.key_type().kind == TypeKind::Json {
            return Err(Error::new(&ER_JSON_USED_AS_KEY, &[&column.name]));
        }
        refuse_vector(column)?;
        if column.key_type().is_blob() && part.prefix.is_none() {
            return Err(Error::new(&ER_BLOB_KEY_WITHOUT_LENGTH, &[&column.name]));
        }
        let whole = |n: u32| !column.ty.is_bytes() || !column.ty.is_blob() && n >= column.ty.length;
        if part.prefix.is_some_and(whole) {
            part.prefix = None;
        }
        bytes += limit.fit(index.kind, column, &mut part.prefix)?;
    }
    limit.check(bytes)
}

/// How long the keys of a table may be.
pub struct KeyLimit<'a> {
    pub options: &'a TableOptions,
    pub session: &'a dyn SessionEnv,
}

impl KeyLimit<'_> {
    fn bytes_max(&self) -> usize {
        let old_format = |format: &String| ["COMPACT", "REDUNDANT"].contains(&format.as_str());
        match self.options.engine.as_str() {
            "MyISAM" => MYISAM_KEY_BYTES_MAX,
            "InnoDB" if self.options.row_format.as_ref().is_some_and(old_format) => OLD_FORMAT_PART_BYTES_MAX,
            _ => INDEX_KEY_BYTES_MAX,
        }
    }

    /// The bytes of a part. Outside of strict mode a part of an index that is not unique is cut to the limit.
    fn fit(&self, kind: IndexKind, column: &ColumnDef, prefix: &mut Option<u32>) -> Result<usize> {
        let (ty, max) = (column.key_type(), self.bytes_max());
        let bytes = key_bytes(ty, *prefix);
        if bytes <= max {
            return Ok(bytes);
        }
        let error = Error::new(&ER_TOO_LONG_KEY, &[&max]);
        if kind != IndexKind::Secondary || !column.ty.is_bytes() || sql_mode::is_strict(self.session.sql_mode()) {
            return Err(error);
        }
        self.session.warn(Level::Warning, error);
        let chars = max / char_bytes(ty);
        *prefix = Some(chars as u32);
        Ok(chars * char_bytes(ty))
    }

    /// Error 1071 for the parts together.
    fn check(&self, bytes: usize) -> Result<()> {
        let max = if self.options.engine == "MyISAM" { MYISAM_KEY_BYTES_MAX } else { INDEX_KEY_BYTES_MAX };
        if bytes > max { Err(Error::new(&ER_TOO_LONG_KEY, &[&max])) } else { Ok(()) }
    }
}

/// Index parts name columns by position here; the caller replaces positions by ids.
fn parts(index: &ast::IndexDef, kind: IndexKind, columns: &[ColumnDef], limit: &KeyLimit<'_>) -> Result<Vec<IndexPart>> {
    if index.parts.len() > INDEX_PARTS_MAX {
        return Err(Error::new(&ER_TOO_MANY_KEY_PARTS, &[&INDEX_PARTS_MAX]));
    }
    let mut parts: Vec<IndexPart> = Vec::with_capacity(index.parts.len());
    let mut bytes = 0;
    for part in &index.parts {
        let KeyPart::Column { name, length, desc } = part else { return Err(no_column()) };
        let Some(at) = columns.iter().position(|c| c.name.eq_ignore_ascii_case(name)) else {
            return Err(Error::new(&ER_KEY_COLUMN_DOES_NOT_EXITS, &[name]));
        };
        let column = &columns[at];
        if parts.iter().any(|p| usize::from(p.column.0) == at) {
            return Err(Error::new(&ER_DUP_FIELDNAME, &[name]));
        }
        if column.key_type().is_bytes() && !column.key_type().is_blob() && column.key_type().length == 0 {
            return Err(Error::new(&ER_WRONG_KEY_COLUMN, &[name]));
        }
        let mut prefix = prefix(column, *length)?;
        bytes += limit.fit(kind, column, &mut prefix)?;
        parts.push(IndexPart { column: vaquita_types::schema::ColumnId(at as u16), prefix, descending: *desc });
    }
    limit.check(bytes)?;
    Ok(parts)
}

/// Takes an index out of a table's new definition. One that went with its columns is no longer there.
pub fn drop_index(name: &str, old: &TableDef, new: &mut TableDef) -> Result<()> {
    let is_it = |index: &IndexDef| !index.parts.is_empty() && index.name.eq_ignore_ascii_case(name);
    if let Some(at) = new.indexes.iter().position(is_it) {
        new.indexes.remove(at);
        return Ok(());
    }
    let is_gone = |part: &IndexPart| new.columns.iter().all(|column| column.id != part.column);
    match old.indexes.iter().find(|index| is_it(index)) {
        Some(index) if index.parts.iter().all(is_gone) => Ok(()),
        _ => Err(Error::new(&ER_CANT_DROP_FIELD_OR_KEY, &[&name])),
    }
}

pub fn refuse_vector(column: &ColumnDef) -> Result<()> {
    if column.ty.is_vector() { Err(Error::new(&ER_NON_SCALAR_USED_AS_KEY, &[&column.name])) } else { Ok(()) }
}

/// The prefix length to store; a prefix of the whole column is none.
fn prefix(column: &ColumnDef, length: Option<u64>) -> Result<Option<u32>> {
    if column.key_type().kind == TypeKind::Json {
        return Err(Error::new(&ER_JSON_USED_AS_KEY, &[&column.name]));
    }
    refuse_vector(column)?;
    let Some(length) = length else {
        if column.key_type().is_blob() {
            return Err(Error::new(&ER_BLOB_KEY_WITHOUT_LENGTH, &[&column.name]));
        }
        return Ok(None);
    };
    if length == 0 {
        return Err(Error::new(&ER_KEY_PART_0, &[&column.name]));
    }
    if !column.ty.is_bytes() {
        return Err(Error::new(&ER_WRONG_SUB_KEY, &[]));
    }
    let fixed = !column.ty.is_blob();
    if fixed && length > u64::from(column.ty.length) {
        return Err(Error::new(&ER_WRONG_SUB_KEY, &[]));
    }
    Ok((!fixed || length < u64::from(column.ty.length)).then_some(length as u32))
}

/// The prefix of a part whose column gives way to another one of its name. MySQL keeps the length that the part had, and so refuses with error 1089
/// what is shorter.
pub(super) fn replaced_prefix(old: &ColumnType, prefix: Option<u32>, new: &ColumnType) -> Result<Option<u32>> {
    let whole = |ty: &ColumnType| if ty.is_bytes() { ty.length } else { column_bytes(ty) as u32 };
    let length = prefix.unwrap_or(whole(old));
    match whole(new) {
        bytes if !new.is_blob() && bytes == length => Ok(None),
        bytes if !new.is_bytes() || !new.is_blob() && bytes < length => Err(Error::new(&ER_WRONG_SUB_KEY, &[])),
        _ => Ok(Some(length)),
    }
}

pub(super) fn key_bytes(ty: &ColumnType, prefix: Option<u32>) -> usize {
    match ty.kind {
        _ if ty.is_bytes() => prefix.unwrap_or(ty.length) as usize * char_bytes(ty),
        TypeKind::Decimal => 30,
        _ => 8,
    }
}

fn char_bytes(ty: &ColumnType) -> usize {
    if ty.is_text() { usize::from(collation(ty.collation).charset.mbmaxlen) } else { 1 }
}

fn no_column() -> Error {
    Error::internal("an expression of an index without its column")
}

/// The first column's name, with `_2`, `_3` … if it is taken.
fn generated_name(index: &ast::IndexDef, indexes: &[IndexDef], columns: &[ColumnDef]) -> Result<String> {
    let Some(KeyPart::Column { name, .. }) = index.parts.first() else {
        return Err(no_column());
    };
    // As the column writes it.
    let of_column = columns.iter().find(|column| column.name.to_lowercase() == name.to_lowercase());
    let name = of_column.map_or(name.as_str(), |column| &column.name);
    let name = if is_hidden_name(name) { UNNAMED } else { name };
    let taken = |candidate: &str| indexes.iter().any(|i| i.name.eq_ignore_ascii_case(candidate));
    if !taken(name) && !name.eq_ignore_ascii_case("PRIMARY") {
        return Ok(name.to_string());
    }
    Ok((2..).map(|n| format!("{name}_{n}")).find(|candidate| !taken(candidate)).unwrap_or_default())
}
