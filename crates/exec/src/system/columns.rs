//! information_schema.COLUMNS.

use std::cell::LazyCell;

use vaquita_types::charset;
use vaquita_types::datatype::DECIMALS_NOT_FIXED;
use vaquita_types::geometry::srs;
use vaquita_types::schema::{ColumnDef, TableDef};
use vaquita_types::{ColumnType, Result, TypeKind};

use super::row::{NULL, row, yes_no};
use super::{Row, SystemContext, SystemTable, text, views};

pub fn columns(cx: &SystemContext<'_>) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for table in cx.system_tables() {
        push_system_columns(table, cx, &mut rows);
    }
    cx.for_each_table(|table| {
        for (n, column) in table.def.columns.iter().filter(|column| !column.is_hidden()).enumerate() {
            if let Some(may) = cx.column_privileges(&table.def, &column.name) {
                rows.push(column_row(&table.def, column, n, &may, cx));
            }
        }
        Ok(())
    })?;
    for view in cx.views()? {
        cx.statement.interrupt.check()?;
        let Some(def) = views::definition(cx, &view) else { continue };
        for (n, column) in def.columns.iter().enumerate() {
            if let Some(may) = cx.column_privileges(&def, &column.name) {
                rows.push(column_row(&def, column, n, &may, cx));
            }
        }
    }
    Ok(rows)
}

/// information_schema.ST_GEOMETRY_COLUMNS.
pub fn geometry_columns(cx: &SystemContext<'_>) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    let mut push = |def: &TableDef| {
        let spatial = def.columns.iter().filter(|column| column.ty.is_geometry() && !column.is_hidden());
        for column in spatial.filter(|column| cx.column_privileges(def, &column.name).is_some()) {
            let srid = column.ty.srid();
            rows.push(row![
                "def",
                def.database.as_str(),
                def.name.as_str(),
                column.name.as_str(),
                srid.and_then(srs::find).map(|srs| srs.name),
                srid.map(u64::from),
                text::type_name(&column.ty),
            ]);
        }
    };
    cx.for_each_table(|table| {
        push(&table.def);
        Ok(())
    })?;
    for view in cx.views()? {
        cx.statement.interrupt.check()?;
        if let Some(def) = views::definition(cx, &view) {
            push(&def);
        }
    }
    Ok(rows)
}

fn column_row(def: &TableDef, column: &ColumnDef, position: usize, privileges: &str, cx: &SystemContext<'_>) -> Row {
    let generation = column.generated.as_ref().map_or(String::new(), |g| text::escaped(&g.expr));
    let mut row = described(def, column, position, cx);
    row.extend(row![
        cx;
        row.len();
        text::type_text(&column.ty),
        text::key_text(def, column),
        text::extra_text(column),
        privileges,
        column.comment.as_str(),
        generation,
        column.ty.srid().map(u64::from),
    ]);
    if cx.reads(DEFAULT) {
        row[DEFAULT] = super::row::cell(text::default_text(column));
    }
    row
}

const DEFAULT: usize = 5;

/// The row up to COLLATION_NAME, without a default.
fn described(def: &TableDef, column: &ColumnDef, position: usize, cx: &SystemContext<'_>) -> Row {
    let ty = &column.ty;
    let lengths = LazyCell::new(|| string_lengths(ty));
    let (precision, scale) = number_precision(ty);
    let (fsp, collation) = (fraction(ty), collation_of(ty));
    row![
        cx;
        0;
        "def",
        def.database.as_str(),
        def.name.as_str(),
        column.name.as_str(),
        position as u64 + 1,
        NULL,
        yes_no(column.nullable),
        text::type_name(ty),
        lengths.0,
        lengths.1,
        precision,
        scale,
        fsp,
        collation.map(|c| c.charset.name),
        collation.map(|c| c.name),
    ]
}

/// DATA_TYPE to COLLATION_NAME of a parameter.
pub fn described_type(ty: &ColumnType) -> Row {
    let (lengths, collation) = (string_lengths(ty), collation_of(ty));
    let (precision, scale) = number_precision(ty);
    // Unlike a column's.
    let scale = if precision.is_some() { scale.or(Some(0)) } else { scale };
    row![
        text::type_name(ty),
        lengths.0,
        lengths.1,
        precision,
        scale,
        fraction(ty),
        collation.map(|c| c.charset.name),
        collation.map(|c| c.name),
    ]
}

fn fraction(ty: &ColumnType) -> Option<u64> {
    matches!(ty.kind, TypeKind::Time | TypeKind::DateTime | TypeKind::Timestamp).then_some(u64::from(ty.decimals))
}

pub fn collation_of(ty: &ColumnType) -> Option<&'static charset::Collation> {
    let has_charset = ty.is_text() || matches!(ty.kind, TypeKind::Enum | TypeKind::Set);
    has_charset.then(|| charset::collation(ty.collation))
}

/// CHARACTER_MAXIMUM_LENGTH and CHARACTER_OCTET_LENGTH.
fn string_lengths(ty: &ColumnType) -> (Option<u64>, Option<u64>) {
    let bytes_per_char = u64::from(charset::charset(ty.collation).mbmaxlen);
    let chars_of = |label: &[u8]| charset::charset(ty.collation).char_count(label) as u64;
    let members = ty.members.as_deref().unwrap_or_default();
    let chars = match ty.kind {
        TypeKind::Char | TypeKind::VarChar => u64::from(ty.length),
        TypeKind::Enum => members.iter().map(|m| chars_of(m)).max().unwrap_or(0),
        TypeKind::Set => members.iter().map(|m| chars_of(m)).sum::<u64>() + (members.len() as u64).saturating_sub(1),
        TypeKind::Binary | TypeKind::VarBinary | TypeKind::Vector => {
            return (Some(u64::from(ty.length)), Some(u64::from(ty.length)));
        }
        TypeKind::TinyText | TypeKind::TinyBlob => return of_bytes(255, ty),
        TypeKind::Text | TypeKind::Blob => return of_bytes(65_535, ty),
        TypeKind::MediumText | TypeKind::MediumBlob => return of_bytes(16_777_215, ty),
        TypeKind::LongText | TypeKind::LongBlob => return of_bytes(4_294_967_295, ty),
        _ => return (None, None),
    };
    (Some(chars), Some(chars * bytes_per_char))
}

/// Of a type whose length is counted in bytes.
fn of_bytes(bytes: u64, ty: &ColumnType) -> (Option<u64>, Option<u64>) {
    let bytes_per_char = if ty.is_text() { u64::from(charset::charset(ty.collation).mbminlen) } else { 1 };
    (Some(bytes / bytes_per_char.max(1)), Some(bytes))
}

/// NUMERIC_PRECISION and NUMERIC_SCALE.
fn number_precision(ty: &ColumnType) -> (Option<u64>, Option<u64>) {
    let scale = (ty.decimals != DECIMALS_NOT_FIXED).then_some(u64::from(ty.decimals));
    match ty.kind {
        TypeKind::TinyInt => (Some(3), Some(0)),
        TypeKind::SmallInt => (Some(5), Some(0)),
        TypeKind::MediumInt => (Some(7), Some(0)),
        TypeKind::Int => (Some(10), Some(0)),
        TypeKind::BigInt => (Some(if ty.unsigned { 20 } else { 19 }), Some(0)),
        TypeKind::Decimal => (Some(u64::from(ty.length)), scale),
        TypeKind::Float | TypeKind::Double => {
            let width = if ty.kind == TypeKind::Float { 12 } else { 22 };
            (Some(if scale.is_some() { u64::from(ty.length) } else { width }), scale)
        }
        TypeKind::Bit => (Some(u64::from(ty.length)), None),
        _ => (None, None),
    }
}

/// System tables say what MySQL's own say.
fn push_system_columns(table: &SystemTable, cx: &SystemContext<'_>, rows: &mut Vec<Row>) {
    for (n, (column, recorded)) in table.def.columns.iter().zip(&table.columns).enumerate() {
        let Some(may) = cx.column_privileges(&table.def, &column.name) else { continue };
        let mut row = described(&table.def, column, n, cx);
        row.extend(row![recorded.type_text, recorded.key, recorded.extra, may.as_ref(), "", "", NULL]);
        row[DEFAULT] = super::row::cell(recorded.default);
        rows.push(row);
    }
}
