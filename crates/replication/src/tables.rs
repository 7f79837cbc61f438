//! Tables of the source's events as the executor takes them: what the codes of their columns mean.

use vaquita_exec::dml::images::{Image, ImageChange, ImageRow, SourceColumn, SourceTable};
use vaquita_types::charset::{Collation, CollationId};
use vaquita_types::datatype::{DECIMALS_NOT_FIXED, GeometryKind};
use vaquita_types::errno::ER_KEY_NOT_FOUND;
use vaquita_types::json::Json;
use vaquita_types::{ColumnType, Error, TypeKind};
use vaquita_wire::binlog::table_map::column_type as code;
use vaquita_wire::binlog::{Cell, Column, Row, RowChange, TableMap};

/// Collation of binary strings.
const BINARY: u32 = 63;

pub fn source_table(map: &TableMap, database: &str) -> SourceTable {
    SourceTable {
        database: database.to_string(),
        name: String::from_utf8_lossy(&map.table).into_owned(),
        columns: map.columns.iter().map(source_column).collect(),
    }
}

fn source_column(column: &Column) -> SourceColumn {
    let told = column.collation;
    let collation = match told.and_then(|id| u16::try_from(id).ok()).map(CollationId).and_then(Collation::by_id) {
        Some(collation) => collation.id,
        None => CollationId::BINARY,
    };
    let is_binary = told == Some(BINARY);
    let kind = kind_of(column, is_binary);
    let [low, high] = column.meta.to_le_bytes();
    let bytes_max = match kind {
        TypeKind::TinyText | TypeKind::TinyBlob => u64::from(u8::MAX),
        TypeKind::Text | TypeKind::Blob => u64::from(u16::MAX),
        TypeKind::MediumText | TypeKind::MediumBlob => (1 << 24) - 1,
        TypeKind::LongText | TypeKind::LongBlob => u64::from(u32::MAX),
        _ => u64::from(column.meta),
    };
    let mbmaxlen = u32::from(vaquita_types::charset::charset(collation).mbmaxlen.max(1));
    let mut ty = match kind {
        TypeKind::Decimal => ColumnType::decimal(u32::from(low), high),
        TypeKind::Time | TypeKind::DateTime | TypeKind::Timestamp => {
            ColumnType::temporal(kind, if column.meta == u16::MAX { 0 } else { low })
        }
        TypeKind::Bit => ColumnType { length: u32::from(high) * 8 + u32::from(low), ..ColumnType::new(kind) },
        TypeKind::Geometry => {
            let of = column.geometry_type.and_then(GeometryKind::from_code).unwrap_or(GeometryKind::Geometry);
            ColumnType::geometry(of, None)
        }
        TypeKind::Vector => ColumnType::vector(column.dimensions.unwrap_or(0)),
        TypeKind::Float | TypeKind::Double => ColumnType { decimals: DECIMALS_NOT_FIXED, ..ColumnType::new(kind) },
        TypeKind::Char | TypeKind::VarChar => {
            ColumnType { length: bytes_max as u32 / mbmaxlen, collation, ..ColumnType::new(kind) }
        }
        TypeKind::Binary | TypeKind::VarBinary => ColumnType { length: bytes_max as u32, ..ColumnType::new(kind) },
        _ => ColumnType { collation, ..ColumnType::new(kind) },
    };
    ty.unsigned = column.unsigned == Some(true);
    if let Some(members) = &column.members {
        ty.members = Some(members.iter().cloned().collect());
    }
    SourceColumn {
        name: column.name.clone(),
        ty,
        bytes_max,
        sign_is_told: column.unsigned.is_some(),
        charset_is_told: told.is_some(),
    }
}

fn kind_of(column: &Column, is_binary: bool) -> TypeKind {
    let text_or_bytes = |text, bytes| if is_binary { bytes } else { text };
    match column.column_type {
        code::TINY => TypeKind::TinyInt,
        code::SHORT => TypeKind::SmallInt,
        code::INT24 => TypeKind::MediumInt,
        code::LONG => TypeKind::Int,
        code::LONGLONG => TypeKind::BigInt,
        code::FLOAT => TypeKind::Float,
        code::DOUBLE => TypeKind::Double,
        code::NEWDECIMAL | code::DECIMAL => TypeKind::Decimal,
        code::YEAR => TypeKind::Year,
        code::DATE | code::NEWDATE => TypeKind::Date,
        code::TIME | code::TIME2 => TypeKind::Time,
        code::DATETIME | code::DATETIME2 => TypeKind::DateTime,
        code::TIMESTAMP | code::TIMESTAMP2 => TypeKind::Timestamp,
        code::BIT => TypeKind::Bit,
        code::ENUM => TypeKind::Enum,
        code::SET => TypeKind::Set,
        code::STRING => text_or_bytes(TypeKind::Char, TypeKind::Binary),
        code::VARCHAR | code::VAR_STRING | code::MARIA_VARCHAR_COMPRESSED => {
            text_or_bytes(TypeKind::VarChar, TypeKind::VarBinary)
        }
        code::TINY_BLOB | code::BLOB | code::MEDIUM_BLOB | code::LONG_BLOB | code::MARIA_BLOB_COMPRESSED => match column.meta {
            1 => text_or_bytes(TypeKind::TinyText, TypeKind::TinyBlob),
            2 => text_or_bytes(TypeKind::Text, TypeKind::Blob),
            3 => text_or_bytes(TypeKind::MediumText, TypeKind::MediumBlob),
            _ => text_or_bytes(TypeKind::LongText, TypeKind::LongBlob),
        },
        code::JSON => TypeKind::Json,
        code::GEOMETRY => TypeKind::Geometry,
        code::VECTOR => TypeKind::Vector,
        _ => TypeKind::Null,
    }
}

pub fn image_change(change: RowChange, table: &SourceTable) -> ImageChange {
    let row = |row: Option<Row>| row.map(|row| image_row(row, &table.name));
    ImageChange { before: row(change.before), after: row(change.after) }
}

fn image_row(row: Row, table: &str) -> ImageRow {
    row.into_iter()
        .map(|cell| {
            Some(match cell? {
                Cell::Value(value) => Image::Value(value),
                Cell::JsonDiffs(diffs) => {
                    let table = table.to_string();
                    Image::Changed(Box::new(move |mut document: Json| {
                        // A document in which a change has no place is another than the source's.
                        let apply = |document: &mut Json| diffs.iter().try_for_each(|diff| diff.apply(document));
                        apply(&mut document).map_err(|_| Error::new(&ER_KEY_NOT_FOUND, &[&table]))?;
                        Ok(document)
                    }))
                }
            })
        })
        .collect()
}
