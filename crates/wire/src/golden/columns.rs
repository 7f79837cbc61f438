//! Replays `columns.txt`: type name → `ColumnType`, recorded text → `Value`, and both → the recorded bytes.

use vaquita_types::charset::CollationId;
use vaquita_types::decimal::Decimal;
use vaquita_types::temporal::{Date, DateTime, Time};
use vaquita_types::{ColumnType, TypeKind, Value};

use super::{hex, lines};
use crate::caps::{charset_id, column_flag};
use crate::codec::Bytes;
use crate::metadata::{ResultCharset, column_definition};
use crate::result::put_column_definition;
use crate::row::{put_binary_row, put_text_row};

const UTF8MB4: ResultCharset = ResultCharset { collation: charset_id::UTF8MB4_0900_AI_CI, char_bytes_max: 4 };

#[test]
fn columns_are_byte_exact() {
    for line in lines(include_str!("columns.txt")) {
        let [sql, _, definition, text_row, binary_row] = line[..] else {
            panic!("bad line {line:?}");
        };
        let column_type = parse_type(sql);
        let text_row = hex(text_row);
        let value = parse_value(&text_row, &column_type);

        let mut out = Vec::new();
        put_text_row(&mut out, [(&value, &column_type)]);
        assert_eq!(out, text_row, "text row of {sql}");

        let mut out = Vec::new();
        put_binary_row(&mut out, [(&value, &column_type)]);
        assert_eq!(out, hex(binary_row), "binary row of {sql}");

        let mut column = column_definition(&column_type, Some(UTF8MB4), 4);
        if sql.contains("NOT NULL") {
            column.flags |= column_flag::NOT_NULL;
            if !sql.contains("DEFAULT") {
                column.flags |= column_flag::NO_DEFAULT_VALUE;
            }
        }
        let mut out = Vec::new();
        put_column_definition(&mut out, &column);
        // The recording begins after the names, which are empty here, and the length of the fixed part.
        assert_eq!(out[10..], hex(definition), "definition of {sql}");
    }
}

fn parse_type(sql: &str) -> ColumnType {
    let name_end = sql.find(['(', ' ']).unwrap_or(sql.len());
    let (name, rest) = sql.split_at(name_end);
    let in_parens = rest.strip_prefix('(').and_then(|r| r.split_once(')')).map_or("", |(p, _)| p);
    let numbers: Vec<u32> = in_parens.split(',').filter_map(|n| n.parse().ok()).collect();
    let first = numbers.first().copied();
    let second = numbers.get(1).map_or(0, |&n| n as u8);
    let unsigned = sql.contains("UNSIGNED") || sql.contains("ZEROFILL");
    let (kind, length) = match name {
        "TINYINT" => (TypeKind::TinyInt, if unsigned { 3 } else { 4 }),
        "SMALLINT" => (TypeKind::SmallInt, 6),
        "MEDIUMINT" => (TypeKind::MediumInt, 9),
        "INT" => (TypeKind::Int, first.unwrap_or(if unsigned { 10 } else { 11 })),
        "BIGINT" => (TypeKind::BigInt, 20),
        "DECIMAL" => (TypeKind::Decimal, 10),
        "FLOAT" => (TypeKind::Float, 12),
        "DOUBLE" => (TypeKind::Double, 22),
        "BIT" => (TypeKind::Bit, 1),
        "YEAR" => (TypeKind::Year, 4),
        "DATE" => (TypeKind::Date, 0),
        "TIME" => (TypeKind::Time, 0),
        "DATETIME" => (TypeKind::DateTime, 0),
        "TIMESTAMP" => (TypeKind::Timestamp, 0),
        "CHAR" => (TypeKind::Char, 1),
        "VARCHAR" => (TypeKind::VarChar, 1),
        "BINARY" => (TypeKind::Binary, 1),
        "VARBINARY" => (TypeKind::VarBinary, 1),
        "TINYTEXT" => (TypeKind::TinyText, 255),
        "TEXT" => (TypeKind::Text, 65_535),
        "MEDIUMTEXT" => (TypeKind::MediumText, (1 << 24) - 1),
        "LONGTEXT" => (TypeKind::LongText, u32::MAX),
        "TINYBLOB" => (TypeKind::TinyBlob, 255),
        "BLOB" => (TypeKind::Blob, 65_535),
        "MEDIUMBLOB" => (TypeKind::MediumBlob, (1 << 24) - 1),
        "LONGBLOB" => (TypeKind::LongBlob, u32::MAX),
        "ENUM" => (TypeKind::Enum, 0),
        "SET" => (TypeKind::Set, 0),
        "JSON" => (TypeKind::Json, 0),
        other => panic!("type {other}"),
    };
    // A YEAR column shows the year 0 as 0000, an expression as 0.
    let zerofill = sql.contains("ZEROFILL") || kind == TypeKind::Year;
    let mut column_type = ColumnType { unsigned, zerofill, length: first.unwrap_or(length), ..ColumnType::new(kind) };
    if column_type.is_temporal() {
        column_type.decimals = first.unwrap_or(0) as u8;
    } else if kind == TypeKind::Decimal || numbers.len() == 2 {
        column_type.decimals = second;
    } else if matches!(kind, TypeKind::Float | TypeKind::Double) {
        column_type.decimals = vaquita_types::datatype::DECIMALS_NOT_FIXED;
    }
    let is_text =
        (column_type.is_bytes() && (kind as u8) < TypeKind::Binary as u8) || matches!(kind, TypeKind::Enum | TypeKind::Set);
    if is_text {
        column_type.collation = parse_collation(sql);
        let labels = in_parens.split(',').map(|label| label.trim_matches('\'').as_bytes().into());
        column_type.members = Some(labels.collect());
    }
    column_type
}

fn parse_collation(sql: &str) -> CollationId {
    for (words, id) in [
        ("utf8mb4_bin", CollationId::UTF8MB4_BIN),
        ("latin1", CollationId::LATIN1_SWEDISH_CI),
        ("utf8mb3", CollationId::UTF8MB3_GENERAL_CI),
        ("binary", CollationId::BINARY),
    ] {
        if sql.contains(words) {
            return id;
        }
    }
    CollationId::UTF8MB4_0900_AI_CI
}

/// The value that MySQL printed.
fn parse_value(text_row: &[u8], column_type: &ColumnType) -> Value {
    if text_row == [0xfb] {
        return Value::Null;
    }
    let bytes = Bytes::new(text_row).lenenc_bytes().unwrap();
    let text = String::from_utf8_lossy(bytes);
    let kind = column_type.kind;
    match kind {
        TypeKind::Bit => Value::UInt(bytes.iter().fold(0, |n, &b| n << 8 | u64::from(b))),
        TypeKind::Year => Value::UInt(text.parse().unwrap()),
        TypeKind::Decimal => Value::Decimal(Decimal::parse(bytes).value),
        TypeKind::Float => Value::Float(f64::from(text.parse::<f32>().unwrap())),
        TypeKind::Double => Value::Float(text.parse().unwrap()),
        TypeKind::Enum | TypeKind::Set => {
            let labels = column_type.members.as_deref().unwrap();
            let index = |label: &str| labels.iter().position(|l| **l == *label.as_bytes()).unwrap();
            Value::UInt(match kind {
                TypeKind::Enum => index(&text) as u64 + 1,
                _ => text.split(',').map(|label| 1 << index(label)).sum(),
            })
        }
        TypeKind::Json => Value::Json(vaquita_types::json::Json::parse(bytes).unwrap()),
        _ if column_type.is_temporal() => parse_temporal(&text, kind),
        _ if column_type.is_integer() && column_type.unsigned => Value::UInt(text.parse().unwrap()),
        _ if column_type.is_integer() => Value::Int(text.parse().unwrap()),
        _ => Value::bytes(bytes),
    }
}

fn parse_temporal(text: &str, kind: TypeKind) -> Value {
    let fraction = text.split_once('.').map_or("", |(_, f)| f);
    let micros: u32 = format!("{fraction:0<6}").parse().unwrap();
    let whole = text.split('.').next().unwrap();
    let n: Vec<u32> = whole.split(['-', ' ', ':']).filter_map(|n| n.parse().ok()).collect();
    match kind {
        TypeKind::Date => Value::Date(Date::new(n[0], n[1], n[2]).unwrap()),
        TypeKind::Time => Value::Time(Time::new(text.starts_with('-'), n[0], n[1], n[2], micros).unwrap()),
        _ => {
            let date = Date::new(n[0], n[1], n[2]).unwrap();
            Value::DateTime(DateTime::new(date, n[3], n[4], n[5], micros).unwrap())
        }
    }
}
