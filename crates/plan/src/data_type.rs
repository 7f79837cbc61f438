//! Declared types: `VARCHAR(20) CHARACTER SET latin1` to a `ColumnType`, with MySQL's limits and errors.

use std::collections::HashMap;

use vaquita_parser::ast::{DataType, TypeName};
use vaquita_types::charset::{Charset, Collation, CollationId, charset, collation};
use vaquita_types::datatype::DECIMALS_NOT_FIXED;
use vaquita_types::errno::{
    ER_COLLATION_CHARSET_MISMATCH, ER_CONFLICTING_DECLARATIONS, ER_DUPLICATED_VALUE_IN_TYPE, ER_EXCEEDS_VECTOR_MAX_DIMENSIONS,
    ER_ILLEGAL_VALUE_FOR_TYPE, ER_INVALID_FIELD_SIZE, ER_M_BIGGER_THAN_D, ER_TOO_BIG_DISPLAYWIDTH, ER_TOO_BIG_FIELDLENGTH,
    ER_TOO_BIG_PRECISION, ER_TOO_BIG_SCALE, ER_TOO_BIG_SET, ER_UNKNOWN_CHARACTER_SET, ER_UNKNOWN_COLLATION, ER_WRONG_FIELD_SPEC,
};
use vaquita_types::geometry::GeometryKind;
use vaquita_types::limits::{
    DECIMAL_DIGITS_MAX, DECIMAL_SCALE_MAX, DISPLAY_WIDTH_MAX, ENUM_MEMBERS_MAX, FSP_MAX, ROW_BYTES_MAX, SET_MEMBERS_MAX,
};
use vaquita_types::{ColumnType, Error, Result, TypeKind, vector};

/// `collate` is the column's own COLLATE attribute; `default` the table's collation.
pub fn column_type(name: &str, ty: &DataType, collate: Option<&str>, default: CollationId) -> Result<ColumnType> {
    let kind = kind_of(ty, default)?;
    let mut column = ColumnType::new(kind);
    column.unsigned = ty.unsigned || ty.zerofill;
    column.zerofill = ty.zerofill;
    match kind {
        TypeKind::TinyInt | TypeKind::SmallInt | TypeKind::MediumInt | TypeKind::Int | TypeKind::BigInt => {
            integer(name, ty, &mut column)?
        }
        TypeKind::Float | TypeKind::Double => float(name, ty, &mut column)?,
        TypeKind::Decimal => decimal(name, ty, &mut column)?,
        TypeKind::Bit => {
            column.length = ty.length.unwrap_or(1) as u32;
            if column.length == 0 {
                return Err(Error::new(&ER_INVALID_FIELD_SIZE, &[&name]));
            }
            if !(1..=64).contains(&column.length) {
                return Err(Error::new(&ER_TOO_BIG_DISPLAYWIDTH, &[&name, &64]));
            }
        }
        TypeKind::Year => {
            column.length = 4;
            column.unsigned = true;
            column.zerofill = true;
        }
        TypeKind::Date | TypeKind::Time | TypeKind::DateTime | TypeKind::Timestamp => {
            let fsp = ty.length.unwrap_or(0);
            if fsp > u64::from(FSP_MAX) {
                return Err(Error::new(&ER_TOO_BIG_PRECISION, &[&fsp, &name, &FSP_MAX]));
            }
            column.decimals = fsp as u8;
        }
        TypeKind::Enum | TypeKind::Set => members(name, ty, collate, default, &mut column)?,
        TypeKind::Geometry => column = ColumnType::geometry(geometry_kind(ty.name), None),
        TypeKind::Vector => column = vector(name, ty)?,
        TypeKind::Json | TypeKind::Null => {}
        _ => string(name, ty, collate, default, &mut column)?,
    }
    Ok(column)
}

/// VECTOR(n).
fn vector(name: &str, ty: &DataType) -> Result<ColumnType> {
    let dimensions = ty.length.unwrap_or(u64::from(vector::DIMENSIONS_DEFAULT));
    if dimensions == 0 {
        return Err(Error::new(&ER_INVALID_FIELD_SIZE, &[&name]));
    }
    let most = u64::from(vector::DIMENSIONS_MAX);
    if dimensions > most {
        let bytes = |dimensions: u64| dimensions.saturating_mul(vector::ELEMENT_BYTES as u64);
        let sizes: [&dyn std::fmt::Display; 5] = [&bytes(dimensions), &dimensions, &bytes(most), &most, &name];
        return Err(Error::new(&ER_EXCEEDS_VECTOR_MAX_DIMENSIONS, &sizes));
    }
    Ok(ColumnType::vector(dimensions as u32))
}

fn kind_of(ty: &DataType, default: CollationId) -> Result<TypeKind> {
    let binary_charset = ty.charset.as_deref().is_some_and(|c| c.eq_ignore_ascii_case("binary"))
        || (ty.charset.is_none() && default == CollationId::BINARY);
    let text = |text: TypeKind, binary: TypeKind| if binary_charset { binary } else { text };
    Ok(match ty.name {
        TypeName::TinyInt | TypeName::Bool => TypeKind::TinyInt,
        TypeName::SmallInt => TypeKind::SmallInt,
        TypeName::MediumInt => TypeKind::MediumInt,
        TypeName::Int => TypeKind::Int,
        TypeName::BigInt => TypeKind::BigInt,
        TypeName::Float => match ty.length {
            Some(25..=53) if ty.scale.is_none() => TypeKind::Double,
            _ => TypeKind::Float,
        },
        TypeName::Double => TypeKind::Double,
        TypeName::Decimal => TypeKind::Decimal,
        TypeName::Bit => TypeKind::Bit,
        TypeName::Year => TypeKind::Year,
        TypeName::Date => TypeKind::Date,
        TypeName::Time => TypeKind::Time,
        TypeName::DateTime => TypeKind::DateTime,
        TypeName::Timestamp => TypeKind::Timestamp,
        TypeName::Char => text(TypeKind::Char, TypeKind::Binary),
        TypeName::VarChar => text(TypeKind::VarChar, TypeKind::VarBinary),
        TypeName::Binary => TypeKind::Binary,
        TypeName::VarBinary => TypeKind::VarBinary,
        TypeName::TinyText => text(TypeKind::TinyText, TypeKind::TinyBlob),
        TypeName::Text => text(sized_text(ty), sized_blob(ty)),
        TypeName::MediumText => text(TypeKind::MediumText, TypeKind::MediumBlob),
        TypeName::LongText => text(TypeKind::LongText, TypeKind::LongBlob),
        TypeName::TinyBlob => TypeKind::TinyBlob,
        TypeName::Blob => sized_blob(ty),
        TypeName::MediumBlob => TypeKind::MediumBlob,
        TypeName::LongBlob => TypeKind::LongBlob,
        TypeName::Enum => TypeKind::Enum,
        TypeName::Set => TypeKind::Set,
        TypeName::Json => TypeKind::Json,
        TypeName::Vector => TypeKind::Vector,
        TypeName::Geometry
        | TypeName::Point
        | TypeName::LineString
        | TypeName::Polygon
        | TypeName::MultiPoint
        | TypeName::MultiLineString
        | TypeName::MultiPolygon
        | TypeName::GeometryCollection => TypeKind::Geometry,
    })
}

fn geometry_kind(name: TypeName) -> GeometryKind {
    match name {
        TypeName::Point => GeometryKind::Point,
        TypeName::LineString => GeometryKind::LineString,
        TypeName::Polygon => GeometryKind::Polygon,
        TypeName::MultiPoint => GeometryKind::MultiPoint,
        TypeName::MultiLineString => GeometryKind::MultiLineString,
        TypeName::MultiPolygon => GeometryKind::MultiPolygon,
        TypeName::GeometryCollection => GeometryKind::Collection,
        _ => GeometryKind::Geometry,
    }
}

/// TEXT(n) picks the smallest type that holds n characters.
fn sized_text(ty: &DataType) -> TypeKind {
    match ty.length.unwrap_or(0).saturating_mul(if ty.length.is_some() { 4 } else { 1 }) {
        0 => TypeKind::Text,
        1..=255 => TypeKind::TinyText,
        256..=65_535 => TypeKind::Text,
        65_536..=16_777_215 => TypeKind::MediumText,
        _ => TypeKind::LongText,
    }
}

fn sized_blob(ty: &DataType) -> TypeKind {
    match ty.length.unwrap_or(0) {
        0 => TypeKind::Blob,
        1..=255 => TypeKind::TinyBlob,
        256..=65_535 => TypeKind::Blob,
        65_536..=16_777_215 => TypeKind::MediumBlob,
        _ => TypeKind::LongBlob,
    }
}

/// Display widths as MySQL reports them for a type without one: digits, and one for the sign.
fn default_width(kind: TypeKind, unsigned: bool) -> u32 {
    match (kind, unsigned) {
        (TypeKind::TinyInt, true) => 3,
        (TypeKind::TinyInt, false) => 4,
        (TypeKind::SmallInt, true) => 5,
        (TypeKind::SmallInt, false) => 6,
        (TypeKind::MediumInt, true) => 8,
        (TypeKind::MediumInt, false) => 9,
        (TypeKind::Int, true) => 10,
        (TypeKind::Int, false) => 11,
        _ => 20,
    }
}

fn integer(name: &str, ty: &DataType, column: &mut ColumnType) -> Result<()> {
    let width = ty.length.unwrap_or(u64::from(default_width(column.kind, column.unsigned)));
    if width > DISPLAY_WIDTH_MAX {
        return Err(Error::new(&ER_TOO_BIG_DISPLAYWIDTH, &[&name, &DISPLAY_WIDTH_MAX]));
    }
    column.length = width as u32;
    Ok(())
}

fn float(name: &str, ty: &DataType, column: &mut ColumnType) -> Result<()> {
    column.decimals = DECIMALS_NOT_FIXED;
    column.length = if column.kind == TypeKind::Float { 12 } else { 22 };
    match (ty.length, ty.scale) {
        (Some(width), Some(scale)) => {
            if width > DISPLAY_WIDTH_MAX {
                return Err(Error::new(&ER_TOO_BIG_DISPLAYWIDTH, &[&name, &DISPLAY_WIDTH_MAX]));
            }
            if scale > u64::from(DECIMAL_SCALE_MAX) {
                return Err(Error::new(&ER_TOO_BIG_SCALE, &[&scale, &name, &DECIMAL_SCALE_MAX]));
            }
            if scale > width {
                return Err(Error::new(&ER_M_BIGGER_THAN_D, &[&name]));
            }
            column.length = width as u32;
            column.decimals = scale as u8;
        }
        (Some(precision), None) if precision > 53 => return Err(Error::new(&ER_WRONG_FIELD_SPEC, &[&name])),
        _ => {}
    }
    Ok(())
}

fn decimal(name: &str, ty: &DataType, column: &mut ColumnType) -> Result<()> {
    let scale = ty.scale.unwrap_or(0);
    if scale > u64::from(DECIMAL_SCALE_MAX) {
        return Err(Error::new(&ER_TOO_BIG_SCALE, &[&scale, &name, &DECIMAL_SCALE_MAX]));
    }
    let precision = match ty.length {
        None | Some(0) => 10,
        Some(n) if n > u64::from(DECIMAL_DIGITS_MAX) => {
            return Err(Error::new(&ER_TOO_BIG_PRECISION, &[&n, &name, &DECIMAL_DIGITS_MAX]));
        }
        Some(n) => n,
    };
    if scale > precision {
        return Err(Error::new(&ER_M_BIGGER_THAN_D, &[&name]));
    }
    column.length = precision as u32;
    column.decimals = scale as u8;
    Ok(())
}

fn text_collation(ty: &DataType, collate: Option<&str>, default: CollationId) -> Result<CollationId> {
    let chosen = choose_collation(ty.charset.as_deref(), collate, default)?;
    if ty.binary && collate.is_none() {
        return Ok(charset(chosen).bin_collation());
    }
    Ok(chosen)
}

fn string(name: &str, ty: &DataType, collate: Option<&str>, default: CollationId, column: &mut ColumnType) -> Result<()> {
    let is_text = (column.kind as u8) < TypeKind::Binary as u8;
    if is_text {
        column.collation = text_collation(ty, collate, default)?;
    } else if collate.is_some() {
        // Error 1253 for any but `binary`.
        choose_collation(Some("binary"), collate, default)?;
    }
    let char_bytes = if is_text { u64::from(collation(column.collation).charset.mbmaxlen) } else { 1 };
    let blob = |bytes: u64| (bytes / char_bytes).min(u64::from(u32::MAX)) as u32;
    column.length = match column.kind {
        TypeKind::Char | TypeKind::Binary => {
            let length = ty.length.unwrap_or(1);
            if length > 255 {
                return Err(Error::new(&ER_TOO_BIG_FIELDLENGTH, &[&name, &255]));
            }
            length as u32
        }
        TypeKind::VarChar | TypeKind::VarBinary => {
            let length = ty.length.unwrap_or(0);
            let max = ROW_BYTES_MAX as u64 / char_bytes;
            if length > max {
                return Err(Error::new(&ER_TOO_BIG_FIELDLENGTH, &[&name, &max]));
            }
            length as u32
        }
        TypeKind::TinyText | TypeKind::TinyBlob => blob(255),
        TypeKind::Text | TypeKind::Blob => blob(65_535),
        TypeKind::MediumText | TypeKind::MediumBlob => blob(16_777_215),
        _ => u32::MAX,
    };
    if is_text && column.kind as u8 >= TypeKind::TinyText as u8 {
        column.length = match column.kind {
            TypeKind::TinyText => 255,
            TypeKind::Text => 65_535,
            TypeKind::MediumText => 16_777_215,
            _ => u32::MAX,
        };
    }
    Ok(())
}

fn members(name: &str, ty: &DataType, collate: Option<&str>, default: CollationId, column: &mut ColumnType) -> Result<()> {
    column.collation = text_collation(ty, collate, default)?;
    let rule = collation(column.collation);
    let to = rule.charset;
    let utf8 = Charset::by_name("utf8mb4").ok_or_else(|| Error::internal("no utf8mb4"))?;
    let mut labels: Vec<Box<[u8]>> = Vec::with_capacity(ty.values.len());
    // By their keys: comparing each of 65,535 with all before takes minutes.
    let mut seen: HashMap<Vec<u8>, usize> = HashMap::new();
    for value in &ty.values {
        let converted = utf8.convert(to, value).bytes.into_owned();
        let label = if to.is_binary() { &converted } else { to.trim_end_spaces(&converted) };
        if column.kind == TypeKind::Set && value.contains(&b',') {
            return Err(Error::new(&ER_ILLEGAL_VALUE_FOR_TYPE, &[&"set", &String::from_utf8_lossy(label)]));
        }
        let mut key = Vec::new();
        rule.sort_key(label, &mut key);
        if let Some(first) = seen.insert(key, labels.len()).and_then(|at| labels.get(at)) {
            let kind = if column.kind == TypeKind::Enum { "ENUM" } else { "SET" };
            return Err(Error::new(&ER_DUPLICATED_VALUE_IN_TYPE, &[&name, &String::from_utf8_lossy(first), &kind]));
        }
        labels.push(label.into());
    }
    if column.kind == TypeKind::Set && labels.len() > SET_MEMBERS_MAX {
        return Err(Error::new(&ER_TOO_BIG_SET, &[&name]));
    }
    if labels.len() > ENUM_MEMBERS_MAX {
        return Err(Error::new(&vaquita_types::errno::ER_TOO_BIG_ENUM, &[&name]));
    }
    column.members = Some(labels.into());
    Ok(())
}

/// Another CHARACTER SET clause behind those that were given: error 1302 if they name another charset.
pub fn check_charset(charset: Option<&str>, collate: Option<&str>, next: &str) -> Result<()> {
    let of_collation = collate.and_then(Collation::by_name).map(|collation| collation.charset.name);
    let before = charset.and_then(Charset::by_name).map(|charset| charset.name).or(of_collation);
    match (before, Charset::by_name(next)) {
        (Some(before), Some(next)) if before != next.name => {
            let clause = "CHARACTER SET ";
            Err(Error::new(&ER_CONFLICTING_DECLARATIONS, &[&clause, &before, &clause, &next.name]))
        }
        _ => Ok(()),
    }
}

/// CHARACTER SET and COLLATE clauses to a collation; `default` without any.
pub fn choose_collation(charset: Option<&str>, collate: Option<&str>, default: CollationId) -> Result<CollationId> {
    let charset = charset.filter(|name| !name.eq_ignore_ascii_case("default"));
    let charset = match charset {
        Some(name) => Some(Charset::by_name(name).ok_or_else(|| Error::new(&ER_UNKNOWN_CHARACTER_SET, &[&name]))?),
        None => None,
    };
    let Some(collate) = collate.filter(|name| !name.eq_ignore_ascii_case("default")) else {
        return Ok(charset.map_or(default, |c| c.default_collation));
    };
    let collation = Collation::by_name(collate).ok_or_else(|| Error::new(&ER_UNKNOWN_COLLATION, &[&collate]))?;
    if let Some(charset) = charset
        && collation.charset.name != charset.name
    {
        return Err(Error::new(&ER_COLLATION_CHARSET_MISMATCH, &[&collate, &charset.name]));
    }
    if !collation.is_supported() {
        return Err(Error::unsupported(format_args!("COLLATE {collate}")));
    }
    Ok(collation.id)
}

/// The COLLATE clause that is meant where utf8mb4 is named without one, whose default collation is the session's.
pub fn meant_collate<'c>(charset: Option<&str>, collate: Option<&'c str>, utf8mb4: CollationId) -> Option<&'c str> {
    let is_utf8mb4 = || charset.is_some_and(|name| name.eq_ignore_ascii_case("utf8mb4"));
    if collate.is_none() && utf8mb4 != CollationId::default() && is_utf8mb4() { Some(collation(utf8mb4).name) } else { collate }
}
