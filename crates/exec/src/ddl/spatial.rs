//! SPATIAL indexes: which columns they may have, and what MySQL says of others.
//!
//! An index on a column of a spatial type is a SPATIAL one, written so or not. The optimizer uses it if the column has an SRID attribute,
//! so that all of its values have one reference system.

use vaquita_parser::ast::{self, KeyPart};
use vaquita_plan::env::Level;
use vaquita_types::errno::{
    ER_CANNOT_ALTER_SRID_DUE_TO_INDEX, ER_INDEX_TYPE_NOT_SUPPORTED_FOR_SPATIAL_INDEX, ER_KEY_COLUMN_DOES_NOT_EXITS,
    ER_SPATIAL_CANT_HAVE_NULL, ER_SPATIAL_MUST_HAVE_GEOM_COL, ER_SPATIAL_UNIQUE_INDEX, ER_TOO_MANY_KEY_PARTS,
    ER_UNSUPPORTED_ACTION_ON_GENERATED_COLUMN, ER_WRONG_SUB_KEY, ER_WRONG_USAGE, WARN_USELESS_SPATIAL_INDEX,
};
use vaquita_types::schema::{ColumnDef, ColumnId, IndexDef, IndexPart, TableDef};
use vaquita_types::{Error, Result};

use crate::context::SessionEnv;

fn column_of<'c>(part: &KeyPart, columns: &'c [ColumnDef]) -> Option<(usize, &'c ColumnDef)> {
    let KeyPart::Column { name, .. } = part else { return None };
    columns.iter().enumerate().find(|(_, column)| column.name.eq_ignore_ascii_case(name))
}

/// The index is written as SPATIAL, or is on a geometry. Errors for what is neither that nor another index.
pub fn is_spatial(index: &ast::IndexDef, columns: &[ColumnDef]) -> Result<bool> {
    let written = index.kind == ast::IndexKind::Spatial;
    let column = |part: &KeyPart| column_of(part, columns).map(|(_, column)| column);
    let of_geometry = |part: &KeyPart| column(part).is_some_and(|column| column.ty.is_geometry());
    if index.kind == ast::IndexKind::FullText || !written && !index.parts.iter().any(of_geometry) {
        return Ok(false);
    }
    let is_prefix = |part: &KeyPart| matches!(part, KeyPart::Column { length: Some(_), .. });
    let is_descending = |part: &KeyPart| matches!(part, KeyPart::Column { desc: true, .. });
    let using = index.options.using.as_ref().filter(|using| !using.eq_ignore_ascii_case("RTREE"));
    Err(match () {
        () if index.parts.iter().any(is_descending) => {
            Error::new(&ER_WRONG_USAGE, &[&"spatial/fulltext/hash index", &"explicit index order"])
        }
        () if index.parts.len() > 1 => Error::new(&ER_TOO_MANY_KEY_PARTS, &[&1]),
        () if !index.parts.iter().all(of_geometry) && index.parts.iter().all(|part| column(part).is_some()) => {
            Error::new(&ER_SPATIAL_MUST_HAVE_GEOM_COL, &[])
        }
        () if index.parts.iter().any(is_prefix) => Error::new(&ER_WRONG_SUB_KEY, &[]),
        () if !written && index.kind != ast::IndexKind::Plain => Error::new(&ER_SPATIAL_UNIQUE_INDEX, &[]),
        () if index.parts.iter().filter_map(column).any(|column| column.nullable) => Error::new(&ER_SPATIAL_CANT_HAVE_NULL, &[]),
        () => match using {
            Some(using) => Error::new(&ER_INDEX_TYPE_NOT_SUPPORTED_FOR_SPATIAL_INDEX, &[&using.to_uppercase()]),
            None => return Ok(true),
        },
    })
}

/// The part of an index that `is_spatial`, which names its column by position. Warning 3674 for one that no statement will use.
pub fn parts(index: &ast::IndexDef, columns: &[ColumnDef], session: &dyn SessionEnv) -> Result<Vec<IndexPart>> {
    let [part] = index.parts.as_slice() else { return Err(Error::new(&ER_TOO_MANY_KEY_PARTS, &[&1])) };
    let KeyPart::Column { name, .. } = part else { return Err(Error::new(&ER_SPATIAL_MUST_HAVE_GEOM_COL, &[])) };
    let (at, column) = column_of(part, columns).ok_or_else(|| Error::new(&ER_KEY_COLUMN_DOES_NOT_EXITS, &[name]))?;
    check_column(column)?;
    if column.ty.srid().is_none() {
        session.warn(Level::Warning, Error::new(&WARN_USELESS_SPATIAL_INDEX, &[&column.name]));
    }
    Ok(vec![IndexPart { column: ColumnId(at as u16), prefix: None, descending: false }])
}

fn check_column(column: &ColumnDef) -> Result<()> {
    if column.generated.as_ref().is_some_and(|generated| !generated.stored) {
        let what = "Spatial index on virtual generated column";
        return Err(Error::new(&ER_UNSUPPORTED_ACTION_ON_GENERATED_COLUMN, &[&what]));
    }
    Ok(())
}

/// Error 3644: the values of a kept index stay in the reference system that they have.
pub fn check_srid(index: &IndexDef, old: &TableDef, new: &TableDef) -> Result<()> {
    if !index.is_spatial() {
        return Ok(());
    }
    let column = |def: &'_ TableDef, part: &IndexPart| def.position_of(part.column).and_then(|at| def.columns.get(at)).cloned();
    for part in &index.parts {
        if let (Some(before), Some(after)) = (column(old, part), column(new, part))
            && after.ty.is_geometry()
            && before.ty.srid() != after.ty.srid()
        {
            return Err(Error::new(&ER_CANNOT_ALTER_SRID_DUE_TO_INDEX, &[&before.name]));
        }
    }
    Ok(())
}

/// A kept index over columns that may have changed. Its parts are positions.
pub fn check_parts(index: &IndexDef, columns: &[ColumnDef]) -> Result<()> {
    for part in &index.parts {
        let column =
            columns.get(usize::from(part.column.0)).ok_or_else(|| Error::internal("an index part without its column"))?;
        if !column.ty.is_geometry() {
            return Err(Error::new(&ER_SPATIAL_MUST_HAVE_GEOM_COL, &[]));
        }
        if column.nullable {
            return Err(Error::new(&ER_SPATIAL_CANT_HAVE_NULL, &[]));
        }
        check_column(column)?;
    }
    Ok(())
}
