//! What tables of other engines than InnoDB cannot have, though all are stored alike: as MySQL refuses it. An application that was
//! written for such a table meets the same errors, and a table that is made here can be made in MySQL.

use vaquita_parser::ast::MaintenanceKind;
use vaquita_types::errno::{
    ER_CHECK_NOT_IMPLEMENTED, ER_ILLEGAL_HA_CREATE_OPTION, ER_NULL_COLUMN_IN_INDEX, ER_TABLE_CANT_HANDLE_AUTO_INCREMENT,
    ER_TABLE_CANT_HANDLE_BLOB, ER_TABLE_CANT_HANDLE_FT, ER_TOO_MANY_KEYS, ER_UNSUPPORTED_ACTION_ON_GENERATED_COLUMN,
};
use vaquita_types::schema::{ColumnDef, IndexDef, IndexPart};
use vaquita_types::{Error, Result, TypeKind};

/// Refuses what `engine` has not. Index parts are positions of columns.
pub(super) fn check(engine: &str, columns: &[ColumnDef], indexes: &[IndexDef]) -> Result<()> {
    let indexes: Vec<&IndexDef> = indexes.iter().filter(|index| !index.parts.is_empty()).collect();
    match engine {
        "MEMORY" => {
            check_memory(columns, &indexes)?;
            check_generated(engine, columns)?;
            check_descending(&indexes)
        }
        "MyISAM" => {
            check_functional(engine, columns)?;
            check_descending(&indexes)
        }
        "CSV" => {
            check_generated(engine, columns)?;
            check_csv(columns, &indexes)
        }
        "ARCHIVE" => {
            check_generated(engine, columns)?;
            check_archive(columns, &indexes)
        }
        _ => Ok(()),
    }
}

/// What ANALYZE, CHECK, OPTIMIZE and REPAIR say of a table of the engine if it is in order: OK, or that they are not supported; `None` if
/// the engine says what InnoDB says.
pub(super) fn maintained(engine: &str, kind: MaintenanceKind) -> Option<std::result::Result<(), &'static str>> {
    use MaintenanceKind::{Analyze, Check, Optimize, Repair};
    let does: &[MaintenanceKind] = match engine {
        "MyISAM" => &[Analyze, Check, Optimize, Repair],
        "ARCHIVE" => &[Check, Optimize, Repair],
        "CSV" => &[Check, Repair],
        "MRG_MyISAM" => &[Check],
        "MEMORY" | "BLACKHOLE" => &[],
        _ => return None,
    };
    let word = match kind {
        Analyze => "analyze",
        Check => "check",
        Optimize => "optimize",
        Repair => "repair",
        _ => return None,
    };
    Some(if does.contains(&kind) { Ok(()) } else { Err(word) })
}

fn lacks(what: &str) -> Error {
    Error::new(&ER_CHECK_NOT_IMPLEMENTED, &[&what])
}

fn check_memory(columns: &[ColumnDef], indexes: &[&IndexDef]) -> Result<()> {
    if columns.iter().any(|column| column.ty.is_geometry()) {
        return Err(lacks("GEOMETRY"));
    }
    let is_long = |column: &&ColumnDef| column.ty.is_blob() || column.ty.kind == TypeKind::Json;
    if columns.iter().filter(|column| !column.is_hidden()).any(|column| is_long(&column)) {
        return Err(Error::new(&ER_TABLE_CANT_HANDLE_BLOB, &[]));
    }
    if indexes.iter().any(|index| index.is_full_text()) {
        return Err(Error::new(&ER_TABLE_CANT_HANDLE_FT, &[]));
    }
    Ok(())
}

fn check_csv(columns: &[ColumnDef], indexes: &[&IndexDef]) -> Result<()> {
    if columns.iter().any(|column| column.auto_increment) {
        return Err(Error::new(&ER_TABLE_CANT_HANDLE_AUTO_INCREMENT, &[]));
    }
    if !indexes.is_empty() {
        return Err(Error::new(&ER_TOO_MANY_KEYS, &[&0]));
    }
    if columns.iter().any(|column| column.nullable) { Err(lacks("nullable columns")) } else { Ok(()) }
}

fn check_archive(columns: &[ColumnDef], indexes: &[&IndexDef]) -> Result<()> {
    if indexes.len() > 1 {
        return Err(Error::new(&ER_TOO_MANY_KEYS, &[&1]));
    }
    let column_of = |part: &IndexPart| columns.get(usize::from(part.column.0));
    match indexes.iter().flat_map(|index| &index.parts).filter_map(column_of).find(|column| column.nullable) {
        Some(column) => Err(Error::new(&ER_NULL_COLUMN_IN_INDEX, &[&column.name])),
        None => Ok(()),
    }
}

fn check_generated(engine: &str, columns: &[ColumnDef]) -> Result<()> {
    check_functional(engine, columns)?;
    match columns.iter().any(|column| column.generated.is_some()) {
        true => Err(Error::new(&ER_UNSUPPORTED_ACTION_ON_GENERATED_COLUMN, &[&"Specified storage engine"])),
        false => Ok(()),
    }
}

fn check_functional(engine: &str, columns: &[ColumnDef]) -> Result<()> {
    match columns.iter().any(|column| column.generated.as_ref().is_some_and(|generated| generated.hidden)) {
        true => Err(Error::new(&ER_ILLEGAL_HA_CREATE_OPTION, &[&engine, &"Index on virtual generated column"])),
        false => Ok(()),
    }
}

fn check_descending(indexes: &[&IndexDef]) -> Result<()> {
    match indexes.iter().flat_map(|index| &index.parts).any(|part| part.descending) {
        true => Err(lacks("descending indexes")),
        false => Ok(()),
    }
}
