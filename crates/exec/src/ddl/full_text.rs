//! FULLTEXT indexes: which columns they may have, and what MySQL asks of a column FTS_DOC_ID.
//!
//! All columns are texts of one collation, whose words are kept once each (`storage::encoding::key`). Lengths of prefixes are checked and
//! forgotten: words come from the whole text.

use vaquita_parser::ast::{self, KeyPart};
use vaquita_types::charset::{CollationId, TextParser, collation};
use vaquita_types::errno::{
    ER_BAD_FT_COLUMN, ER_DUP_FIELDNAME, ER_FUNCTION_NOT_DEFINED, ER_INNODB_FT_WRONG_DOCID_COLUMN, ER_INNODB_FT_WRONG_DOCID_INDEX,
    ER_JSON_USED_AS_KEY, ER_KEY_COLUMN_DOES_NOT_EXITS, ER_KEY_PART_0, ER_TOO_MANY_KEY_PARTS,
    ER_UNSUPPORTED_ACTION_ON_GENERATED_COLUMN,
};
use vaquita_types::limits::INDEX_PARTS_MAX;
use vaquita_types::schema::{ColumnDef, ColumnId, IndexDef, IndexPart};
use vaquita_types::{Error, Result, TypeKind};

use super::indexes::refuse_vector;

/// The column in which InnoDB numbers the rows of a table with words.
const ROW_NUMBER: &str = "FTS_DOC_ID";
const ROW_NUMBER_INDEX: &str = "FTS_DOC_ID_INDEX";

/// Index parts name columns by position, as those of other indexes do there.
pub fn parts(index: &ast::IndexDef, columns: &[ColumnDef]) -> Result<Vec<IndexPart>> {
    parser(index)?;
    if index.parts.len() > INDEX_PARTS_MAX {
        return Err(Error::new(&ER_TOO_MANY_KEY_PARTS, &[&INDEX_PARTS_MAX]));
    }
    let mut parts: Vec<IndexPart> = Vec::with_capacity(index.parts.len());
    let mut shared = None;
    for part in &index.parts {
        let KeyPart::Column { name, length, .. } = part else { return Err(Error::internal("an expression of a FULLTEXT index")) };
        let Some(at) = columns.iter().position(|c| c.name.eq_ignore_ascii_case(name)) else {
            return Err(Error::new(&ER_KEY_COLUMN_DOES_NOT_EXITS, &[name]));
        };
        if parts.iter().any(|p| usize::from(p.column.0) == at) {
            return Err(Error::new(&ER_DUP_FIELDNAME, &[name]));
        }
        check_column(&columns[at], &mut shared)?;
        if *length == Some(0) {
            return Err(Error::new(&ER_KEY_PART_0, &[name]));
        }
        parts.push(IndexPart { column: ColumnId(at as u16), prefix: None, descending: false });
    }
    Ok(parts)
}

/// That of WITH PARSER; error 1128 for one that is not known.
pub fn parser(index: &ast::IndexDef) -> Result<TextParser> {
    match &index.options.parser {
        None => Ok(TextParser::Words),
        Some(parser) if parser.eq_ignore_ascii_case("ngram") => Ok(TextParser::Ngram),
        Some(parser) => Err(Error::new(&ER_FUNCTION_NOT_DEFINED, &[parser])),
    }
}

/// A kept index over columns that may have changed. Its parts are positions.
pub fn check_parts(index: &IndexDef, columns: &[ColumnDef]) -> Result<()> {
    let mut shared = None;
    for part in &index.parts {
        let column =
            columns.get(usize::from(part.column.0)).ok_or_else(|| Error::internal("an index part without its column"))?;
        check_column(column, &mut shared)?;
    }
    Ok(())
}

/// `shared` is the collation of the columns before it.
fn check_column(column: &ColumnDef, shared: &mut Option<CollationId>) -> Result<()> {
    if column.ty.kind == TypeKind::Json {
        return Err(Error::new(&ER_JSON_USED_AS_KEY, &[&column.name]));
    }
    refuse_vector(column)?;
    let is_text = column.ty.is_text() && !matches!(column.ty.kind, TypeKind::Enum | TypeKind::Set);
    let fits = is_text
        && collation(column.ty.collation).charset.mbminlen == 1
        && shared.is_none_or(|collation| collation == column.ty.collation);
    if !fits {
        return Err(Error::new(&ER_BAD_FT_COLUMN, &[&column.name]));
    }
    *shared = Some(column.ty.collation);
    if column.generated.as_ref().is_some_and(|generated| !generated.stored) {
        return Err(Error::new(&ER_UNSUPPORTED_ACTION_ON_GENERATED_COLUMN, &[&"Fulltext index on virtual generated column"]));
    }
    Ok(())
}

/// Errors 1797 and 1798: a column or an index has a name of InnoDB's and is not what that is. Index parts are positions.
pub fn check_row_number(columns: &[ColumnDef], indexes: &[IndexDef]) -> Result<()> {
    if !indexes.iter().any(IndexDef::is_full_text) {
        return Ok(());
    }
    let is_number = |column: &ColumnDef| {
        column.name == ROW_NUMBER && column.ty.kind == TypeKind::BigInt && column.ty.unsigned && !column.nullable
    };
    if let Some(column) = columns.iter().find(|c| c.name.eq_ignore_ascii_case(ROW_NUMBER) && !is_number(c)) {
        return Err(Error::new(&ER_INNODB_FT_WRONG_DOCID_COLUMN, &[&column.name]));
    }
    let is_of_number = |index: &IndexDef| {
        let only = if let [only] = index.parts.as_slice() { columns.get(usize::from(only.column.0)) } else { None };
        index.is_unique() && only.is_some_and(is_number)
    };
    if let Some(index) = indexes.iter().find(|i| i.name.eq_ignore_ascii_case(ROW_NUMBER_INDEX) && !is_of_number(i)) {
        return Err(Error::new(&ER_INNODB_FT_WRONG_DOCID_INDEX, &[&index.name]));
    }
    Ok(())
}
