//! The words that SHOW COLUMNS and information_schema.COLUMNS have for types, defaults and keys.

use std::fmt::Write;

use vaquita_types::charset::charset;
use vaquita_types::convert;
use vaquita_types::datatype::DECIMALS_NOT_FIXED;
use vaquita_types::schema::{ColumnDef, ColumnDefault, IndexDef, IndexKind, TableDef};
use vaquita_types::{ColumnType, TypeKind, Value, vector};

/// DATA_TYPE: the bare name.
pub fn type_name(ty: &ColumnType) -> &'static str {
    match ty.kind {
        TypeKind::Null => "null",
        TypeKind::TinyInt => "tinyint",
        TypeKind::SmallInt => "smallint",
        TypeKind::MediumInt => "mediumint",
        TypeKind::Int => "int",
        TypeKind::BigInt => "bigint",
        TypeKind::Decimal => "decimal",
        TypeKind::Float => "float",
        TypeKind::Double => "double",
        TypeKind::Bit => "bit",
        TypeKind::Year => "year",
        TypeKind::Date => "date",
        TypeKind::Time => "time",
        TypeKind::DateTime => "datetime",
        TypeKind::Timestamp => "timestamp",
        TypeKind::Char => "char",
        TypeKind::VarChar => "varchar",
        TypeKind::TinyText => "tinytext",
        TypeKind::Text => "text",
        TypeKind::MediumText => "mediumtext",
        TypeKind::LongText => "longtext",
        TypeKind::Binary => "binary",
        TypeKind::VarBinary => "varbinary",
        TypeKind::TinyBlob => "tinyblob",
        TypeKind::Blob => "blob",
        TypeKind::MediumBlob => "mediumblob",
        TypeKind::LongBlob => "longblob",
        TypeKind::Enum => "enum",
        TypeKind::Set => "set",
        TypeKind::Json => "json",
        TypeKind::Geometry => ty.geometry_kind().name(),
        TypeKind::Vector => "vector",
    }
}

/// COLUMN_TYPE: the declared type, such as `decimal(10,2) unsigned zerofill`.
pub fn type_text(ty: &ColumnType) -> String {
    let mut text = type_name(ty).to_string();
    let _ = match ty.kind {
        TypeKind::TinyInt if ty.zerofill || !ty.unsigned && ty.length == 1 => write!(text, "({})", ty.length),
        kind if ty.is_integer() && kind != TypeKind::TinyInt && ty.zerofill => write!(text, "({})", ty.length),
        TypeKind::Decimal => write!(text, "({},{})", ty.length, ty.decimals),
        TypeKind::Float | TypeKind::Double if ty.decimals != DECIMALS_NOT_FIXED => {
            write!(text, "({},{})", ty.length, ty.decimals)
        }
        TypeKind::Bit | TypeKind::Char | TypeKind::VarChar | TypeKind::Binary | TypeKind::VarBinary => {
            write!(text, "({})", ty.length)
        }
        TypeKind::Time | TypeKind::DateTime | TypeKind::Timestamp if ty.decimals > 0 => write!(text, "({})", ty.decimals),
        TypeKind::Vector => write!(text, "({})", ty.length as usize / vector::ELEMENT_BYTES),
        TypeKind::Enum | TypeKind::Set => {
            text.push_str(&members_text(ty));
            Ok(())
        }
        _ => Ok(()),
    };
    if ty.unsigned && ty.kind != TypeKind::Year {
        text.push_str(" unsigned");
    }
    if ty.zerofill && ty.kind != TypeKind::Year {
        text.push_str(" zerofill");
    }
    text
}

/// `('a','b')`
fn members_text(ty: &ColumnType) -> String {
    let charset = vaquita_types::charset::charset(ty.collation);
    let labels = ty.members.as_deref().unwrap_or_default().iter().map(|label| {
        let utf8 = utf8_of(label, charset);
        format!("'{}'", utf8.replace('\'', "''"))
    });
    format!("({})", labels.collect::<Vec<_>>().join(","))
}

/// Text of any charset in that of system tables.
pub fn utf8_of(bytes: &[u8], charset: &vaquita_types::charset::Charset) -> String {
    let utf8 = vaquita_types::charset::charset(vaquita_types::charset::CollationId::default());
    String::from_utf8_lossy(&charset.convert(utf8, bytes).bytes).into_owned()
}

/// COLUMN_DEFAULT; `None` is NULL.
pub fn default_text(column: &ColumnDef) -> Option<String> {
    match &column.default {
        ColumnDefault::None | ColumnDefault::Value(Value::Null) => None,
        ColumnDefault::Now => Some(now_text(&column.ty)),
        ColumnDefault::Expr(text) => Some(escaped(text)),
        ColumnDefault::Value(value) => Some(value_text(value, &column.ty)),
    }
}

fn value_text(value: &Value, ty: &ColumnType) -> String {
    match (value, ty.kind) {
        (Value::UInt(bits), TypeKind::Bit) => format!("b'{bits:b}'"),
        (Value::Bytes(bytes), TypeKind::Binary | TypeKind::VarBinary) => {
            // BINARY(n) pads with zero bytes, which were not written.
            let end = if ty.kind == TypeKind::Binary {
                bytes.iter().rposition(|b| *b != 0).map_or(0, |at| at + 1)
            } else {
                bytes.len()
            };
            if end == 0 {
                return String::new();
            }
            bytes[..end].iter().fold(String::from("0x"), |hex, byte| format!("{hex}{byte:02X}"))
        }
        _ => {
            let text = convert::to_text(value, ty);
            let is_labelled = matches!(ty.kind, TypeKind::Enum | TypeKind::Set);
            if ty.is_text() || is_labelled {
                utf8_of(&text, vaquita_types::charset::charset(ty.collation))
            } else {
                String::from_utf8_lossy(&text).into_owned()
            }
        }
    }
}

/// `CURRENT_TIMESTAMP(3)`
fn now_text(ty: &ColumnType) -> String {
    if ty.decimals > 0 { format!("CURRENT_TIMESTAMP({})", ty.decimals) } else { "CURRENT_TIMESTAMP".to_string() }
}

/// The text of an expression as the dictionary's columns have it.
pub fn escaped(expr: &str) -> String {
    expr.replace('\\', "\\\\").replace('\'', "\\'")
}

/// EXTRA.
pub fn extra_text(column: &ColumnDef) -> String {
    let mut words = Vec::new();
    if column.auto_increment {
        words.push("auto_increment".to_string());
    }
    if matches!(column.default, ColumnDefault::Now | ColumnDefault::Expr(_)) {
        words.push("DEFAULT_GENERATED".to_string());
    }
    if column.on_update_now {
        words.push(format!("on update {}", now_text(&column.ty)));
    }
    if let Some(generated) = &column.generated {
        words.push(if generated.stored { "STORED GENERATED" } else { "VIRTUAL GENERATED" }.to_string());
    }
    if column.invisible {
        words.push("INVISIBLE".to_string());
    }
    words.join(" ")
}

/// The index whose columns are marked PRI: the primary key, else the first unique one without NULLs.
fn key_index(table: &TableDef) -> Option<&IndexDef> {
    let has_no_null = |index: &&IndexDef| {
        let whole = |c: &vaquita_types::schema::IndexPart| {
            c.prefix.is_none() && table.position_of(c.column).and_then(|at| table.columns.get(at)).is_some_and(|c| !c.nullable)
        };
        index.kind == IndexKind::Unique && index.parts.iter().all(whole)
    };
    table.primary_key().or_else(|| table.indexes.iter().find(has_no_null))
}

/// COLUMN_KEY.
pub fn key_text(table: &TableDef, column: &ColumnDef) -> &'static str {
    if key_index(table).is_some_and(|index| index.parts.iter().any(|p| p.column == column.id)) {
        return "PRI";
    }
    let mut first_in = table.indexes.iter().filter(|i| i.parts.first().is_some_and(|p| p.column == column.id)).peekable();
    let is_any = first_in.peek().is_some();
    if first_in.any(|index| index.kind == IndexKind::Unique && index.parts.len() == 1) {
        return "UNI";
    }
    if is_any { "MUL" } else { "" }
}

/// A value of a column as SHOW CREATE TABLE prints it.
pub(crate) fn written_value(value: &Value, ty: &ColumnType) -> String {
    if let (Value::UInt(bits), TypeKind::Bit) = (value, ty.kind) {
        return format!("b'{bits:b}'");
    }
    let text = convert::to_text(value, ty);
    if matches!(ty.kind, TypeKind::Enum | TypeKind::Set) {
        return quoted(&utf8_of(&text, charset(ty.collation)));
    }
    let utf8 = if ty.is_text() { Ok(utf8_of(&text, charset(ty.collation))) } else { String::from_utf8(text.to_vec()) };
    match utf8 {
        // MySQL writes in bytes what its own utf8mb3 does not hold.
        Ok(utf8) if utf8.chars().all(|c| c <= '\u{ffff}') => quoted(&utf8),
        _ => text.iter().fold(String::from("0x"), |hex, byte| format!("{hex}{byte:02X}")),
    }
}

/// A string with the escapes that MySQL uses here.
pub(crate) fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('\'');
    for c in text.chars() {
        match c {
            '\\' => out.push_str("\\\\"),
            '\0' => out.push_str("\\0"),
            '\'' => out.push_str("''"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            c => out.push(c),
        }
    }
    out.push('\'');
    out
}
