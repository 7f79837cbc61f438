//! Layouts: which columns a row holds in which order, and which changes need no rewrite.
//!
//! `ALTER TABLE` edits a copy of the `TableDef`, calls `instant_change(old, new)`, and then either
//! `add_layout(&mut new)` (stored rows stay, and are read through their old layout) or
//! `only_layout(&mut new)` (all rows are copied into new index ids).
//!
//! A change is instant if every stored key and row stays readable under the new definition:
//! the clustered key is made of the same columns and forms, so is every index kept by its id, and
//! each column kept by its id reads as a value of its new type. This module knows only what is
//! stored: that the values of a column fit a narrower type, or are not NULL, is not checked here,
//! so such changes are never instant.

use vaquita_types::datatype::{ColumnType, TypeKind};
use vaquita_types::schema::{ColumnDef, Layout, LayoutColumn, LayoutVersion, TableDef};
use vaquita_types::{Result, Value};

use super::form::Form;
use super::key::{FullText, IndexCodec, Part};
use super::row::LAYOUT_VERSION_MAX;

/// The layout of a table's columns in their order; those that are computed when they are read are left out.
fn layout_of(columns: &[ColumnDef], version: LayoutVersion) -> Layout {
    let columns = columns.iter().filter(|c| c.is_in_row());
    let columns = columns.map(|c| LayoutColumn { id: c.id, ty: c.ty.clone(), nullable: c.nullable }).collect();
    Layout { version, columns }
}

/// Gives a table without rows its only layout.
pub fn fresh_layout(def: &mut TableDef) {
    only_layout(def);
    forget_added(def);
}

/// The layout of a table whose rows will be rewritten; until they are, `added_default` says what they get in added columns.
pub fn only_layout(def: &mut TableDef) {
    def.layouts = vec![layout_of(&def.columns, LayoutVersion(1))];
}

/// No row lacks a column any more.
pub fn forget_added(def: &mut TableDef) {
    for column in &mut def.columns {
        column.added_default = Value::Null;
    }
}

/// After an instant change: adds a layout if rows are now written differently.
pub fn add_layout(def: &mut TableDef) {
    let last = def.layouts.iter().map(|l| l.version.0).max().unwrap_or(0);
    let next = layout_of(&def.columns, LayoutVersion(last + 1));
    if def.layouts.last().is_none_or(|l| l.columns != next.columns) {
        def.layouts.push(next);
    }
}

/// True if the rows and index entries stored under `old` can stay as they are under `new`.
pub fn instant_change(old: &TableDef, new: &TableDef) -> Result<bool> {
    if old.hidden_rowid != new.hidden_rowid || old.layouts.last().is_none_or(|l| l.version.0 >= LAYOUT_VERSION_MAX) {
        return Ok(false);
    }
    let columns_kept = new.columns.iter().all(|column| match old.columns.iter().find(|c| c.id == column.id) {
        Some(before) => column_stays(before, column),
        None => column.generated.as_ref().is_none_or(|g| !g.in_row),
    });
    Ok(columns_kept && keys_stay(old, new)?)
}

fn column_stays(before: &ColumnDef, after: &ColumnDef) -> bool {
    if !before.is_in_row() && !after.is_in_row() {
        return true;
    }
    let same_values = match (&before.generated, &after.generated) {
        (Some(a), Some(b)) => a.expr == b.expr && a.in_row == b.in_row,
        // A stored column that is generated no more keeps its values.
        (Some(a), None) => a.in_row,
        (None, b) => b.is_none(),
    };
    (after.nullable || !before.nullable) && same_values && reads_as(&before.ty, &after.ty)
}

/// Every stored value of type `old` reads as the same value of type `new`.
fn reads_as(old: &ColumnType, new: &ColumnType) -> bool {
    use TypeKind::*;
    match (old.kind, new.kind) {
        _ if old == new => true,
        // Display width and ZEROFILL are not stored.
        _ if old.is_integer() && new.is_integer() => {
            old.unsigned == new.unsigned && Form::of(old).row_width() <= Form::of(new).row_width()
        }
        (Decimal, Decimal) => old.decimals == new.decimals && old.length <= new.length && old.unsigned == new.unsigned,
        (Bit, Bit) => old.length <= new.length,
        (Time, Time) | (DateTime, DateTime) | (Timestamp, Timestamp) => old.decimals <= new.decimals,
        (Enum, Enum) | (Set, Set) => match (&old.members, &new.members) {
            (Some(before), Some(after)) => old.collation == new.collation && after.starts_with(before),
            _ => false,
        },
        (Year, Year) | (Json, Json) => true,
        (Geometry, Geometry) => {
            new.geometry_kind().holds(old.geometry_kind()) && (new.srid().is_none() || new.srid() == old.srid())
        }
        (Vector, Vector) => old.length <= new.length,
        (Geometry | Vector, _) | (_, Geometry | Vector) => false,
        (_, Char | Binary) => old.kind == Char && new.kind == Char && old.collation == new.collation && old.length <= new.length,
        _ if old.is_bytes() && new.is_bytes() && old.kind != Binary => old.collation == new.collation && length_fits(old, new),
        _ => false,
    }
}

/// The longest old string fits the new type. CHAR and VARCHAR count characters, TEXT bytes.
fn length_fits(old: &ColumnType, new: &ColumnType) -> bool {
    let in_chars = |ty: &ColumnType| ty.is_text() && !ty.is_blob();
    match (in_chars(old), in_chars(new)) {
        (true, true) | (false, false) => old.length <= new.length,
        (true, false) => old.length as u64 * CHAR_BYTES_MAX <= new.length as u64,
        (false, true) => false,
    }
}

/// Bytes of the longest character of any charset.
const CHAR_BYTES_MAX: u64 = 4;

/// The clustered key, and every index that keeps its id, are written as before.
fn keys_stay(old: &TableDef, new: &TableDef) -> Result<bool> {
    for (n, index) in new.indexes.iter().enumerate() {
        match old.indexes.iter().position(|before| before.id == index.id) {
            Some(before) if !same_keys(&IndexCodec::new(old, before)?, old, &IndexCodec::new(new, n)?, new) => return Ok(false),
            None if n == 0 => return Ok(false),
            _ => {}
        }
    }
    Ok(true)
}

fn same_keys(a: &IndexCodec, a_def: &TableDef, b: &IndexCodec, b_def: &TableDef) -> bool {
    let column = |def: &TableDef, part: &Part| def.columns.get(part.position).map(|c| c.id);
    let same = |(x, y): (&Part, &Part)| column(a_def, x) == column(b_def, y) && x.writes_as(y);
    // The word of a FULLTEXT index is of no column.
    let texts = |def: &TableDef, codec: &IndexCodec| {
        let columns = codec.full_text().map_or(&[][..], FullText::columns);
        columns.iter().map(|at| def.columns.get(*at).map(|c| c.id)).collect::<Vec<_>>()
    };
    texts(a_def, a) == texts(b_def, b)
        && a.entry_parts().len() == b.entry_parts().len()
        && a.entry_parts().iter().zip(b.entry_parts()).all(same)
}
