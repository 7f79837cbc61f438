//! What the columns of a source's table are in ours, and whether a value may change its type on the way ("Replication of Columns Having
//! Different Data Types").
//!
//! Columns meet by their names if the source told them and all are here, else by their places; what the source has behind our last column is
//! left out. Columns that the server keeps for functional indexes are none of either side.
//!
//! | types | `replica_type_conversions` |
//! |---|---|
//! | the same, of the same size | nothing is asked |
//! | ours holds all of the source's values | ALL_NON_LOSSY |
//! | ours is smaller | ALL_LOSSY |
//! | a text where ours is JSON: MariaDB's JSON is LONGTEXT | nothing is asked |
//! | not of one family (numbers; texts and bytes) | never |

use std::fmt::Write;

use vaquita_types::charset::{CollationId, charset};
use vaquita_types::convert::{self, StoreContext};
use vaquita_types::datatype::DECIMALS_NOT_FIXED;
use vaquita_types::errno::ErrorDef;
use vaquita_types::schema::TableDef;
use vaquita_types::temporal::TimeZone;
use vaquita_types::{ColumnType, Error, Result, TypeKind, Value};

use super::SourceTable;
use crate::context::SessionEnv;

/// MySQL shows it in the status of a replica only.
pub const REPLICA_CONVERSION_FAILED: ErrorDef = ErrorDef {
    code: 13146,
    sqlstate: b"HY000",
    name: "ER_SERVER_REPLICA_CONVERSION_FAILED",
    format: "Column %d of table '%-.192s.%-.192s' cannot be converted from type '%-.50s' to type '%-.50s'",
};

/// A column as the source's log describes it.
#[derive(Clone, Debug, PartialEq)]
pub struct SourceColumn {
    /// If the source tells it (`binlog_row_metadata=FULL`).
    pub name: Option<Box<[u8]>>,
    pub ty: ColumnType,
    /// Of texts and bytes: the longest value.
    pub bytes_max: u64,
    /// A source may keep to itself whether a number has a sign; it is decoded as signed then.
    pub sign_is_told: bool,
    /// The same of the charset.
    pub charset_is_told: bool,
}

/// `replica_type_conversions`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Conversions {
    pub lossy: bool,
    pub non_lossy: bool,
}

/// Where a column of the source goes, and how.
pub(super) struct Mapped {
    pub position: usize,
    from: ColumnType,
    how: How,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum How {
    AsItIs,
    /// The bits are a number without sign.
    Unsigned(u32),
    Store,
}

impl Mapped {
    /// The value as the column holds it; TIMESTAMPs are UTC on both sides. What does not fit becomes the nearest that does: whether that may be was
    /// asked when the table was opened.
    pub fn stored(&self, value: &Value, def: &TableDef, session: &dyn SessionEnv) -> Result<Value> {
        let column = &def.columns[self.position];
        match (self.how, value) {
            (_, Value::Null) => Ok(Value::Null),
            (How::AsItIs, value) => Ok(value.clone()),
            (How::Unsigned(bits), Value::Int(n)) => Ok(Value::UInt(*n as u64 & (u64::MAX >> (64 - bits)))),
            (_, value) => {
                let utc = TimeZone::Utc;
                let today = crate::context::local_now(&utc, session.statement_time_us()).date();
                let context = StoreContext { sql_mode: 0, time_zone: &utc, today };
                match convert::store(value.clone(), &self.from, &column.ty, &context) {
                    Ok(stored) => Ok(stored),
                    Err(problem) if problem.always_fails() => Err(problem.report(&def.name, &column.name, 1, true)),
                    Err(problem) => Ok(problem.adjusted),
                }
            }
        }
    }
}

pub(super) fn map_columns(def: &TableDef, source: &SourceTable, conversions: Conversions) -> Result<Vec<Option<Mapped>>> {
    let places: Vec<usize> = (0..def.columns.len()).filter(|at| !def.columns[*at].is_hidden()).collect();
    let by_name = |column: &SourceColumn| {
        let name = std::str::from_utf8(column.name.as_deref()?).ok()?;
        places.iter().copied().find(|at| def.columns[*at].name.to_lowercase() == name.to_lowercase())
    };
    let named: Option<Vec<usize>> = source.columns.iter().map(by_name).collect();
    let mapped = source.columns.iter().enumerate().map(|(n, column)| {
        let position = match &named {
            Some(named) => Some(named[n]),
            None => places.get(n).copied(),
        };
        position.map(|position| map_column(n, position, column, def, conversions)).transpose()
    });
    mapped.collect()
}

fn map_column(n: usize, position: usize, column: &SourceColumn, def: &TableDef, conversions: Conversions) -> Result<Mapped> {
    let to = &def.columns[position].ty;
    let mut from = column.ty.clone();
    if !column.charset_is_told && to.is_bytes() && from.is_bytes() {
        from.collation = to.collation;
        from.kind = as_text_or_bytes(from.kind, to.is_text());
    }
    let is_document = to.kind == TypeKind::Json && from.kind != TypeKind::Json && from.is_bytes() && from.is_blob();
    if is_document && (!column.charset_is_told || from.is_text()) {
        // MariaDB's JSON is LONGTEXT.
        if !from.is_text() {
            (from.kind, from.collation) = (TypeKind::LongText, CollationId::UTF8MB4_BIN);
        }
        return Ok(Mapped { position, from, how: How::Store });
    }
    let how = if !column.sign_is_told && to.unsigned && from.is_integer() && to.kind == from.kind {
        Some(How::Unsigned(integer_bytes(from.kind) * 8))
    } else {
        match size_order(&from, column.bytes_max, to) {
            Some(0) => Some(if is_alike(&from, to) { How::AsItIs } else { How::Store }),
            Some(order) if order < 0 && conversions.non_lossy => Some(How::Store),
            Some(order) if order > 0 && conversions.lossy => Some(How::Store),
            _ => None,
        }
    };
    let how = how.ok_or_else(|| {
        let (from, to) = (shown(&from, column.bytes_max), shown(to, bytes_max(to)));
        Error::new(&REPLICA_CONVERSION_FAILED, &[&n, &def.database, &def.name, &from, &to])
    })?;
    Ok(Mapped { position, from, how })
}

/// The same values are stored alike.
fn is_alike(from: &ColumnType, to: &ColumnType) -> bool {
    let is_same_text = !to.is_text() && !from.is_text() || charset(from.collation).name == charset(to.collation).name;
    from.kind == to.kind && from.unsigned == to.unsigned && is_same_text && !matches!(to.kind, TypeKind::Char | TypeKind::Binary)
}

/// Of the same width, with a charset or without.
fn as_text_or_bytes(kind: TypeKind, text: bool) -> TypeKind {
    use TypeKind::*;
    const PAIRS: [(TypeKind, TypeKind); 6] = [
        (Char, Binary),
        (VarChar, VarBinary),
        (TinyText, TinyBlob),
        (Text, Blob),
        (MediumText, MediumBlob),
        (LongText, LongBlob),
    ];
    let pair = PAIRS.into_iter().find(|(a, b)| kind == *a || kind == *b);
    pair.map_or(kind, |(of_text, of_bytes)| if text { of_text } else { of_bytes })
}

fn integer_bytes(kind: TypeKind) -> u32 {
    match kind {
        TypeKind::TinyInt => 1,
        TypeKind::SmallInt => 2,
        TypeKind::MediumInt => 3,
        TypeKind::Int => 4,
        _ => 8,
    }
}

fn bytes_max(ty: &ColumnType) -> u64 {
    match ty.kind {
        TypeKind::TinyText | TypeKind::TinyBlob => u64::from(u8::MAX),
        TypeKind::Text | TypeKind::Blob => u64::from(u16::MAX),
        TypeKind::MediumText | TypeKind::MediumBlob => (1 << 24) - 1,
        TypeKind::LongText | TypeKind::LongBlob => u64::from(u32::MAX),
        TypeKind::Char | TypeKind::VarChar => u64::from(ty.length) * u64::from(charset(ty.collation).mbmaxlen),
        _ => u64::from(ty.length),
    }
}

/// How the size of the source's type is to ours: 0 the same, negative smaller, positive larger; `None`: they have nothing in common.
fn size_order(from: &ColumnType, from_bytes_max: u64, to: &ColumnType) -> Option<i8> {
    use TypeKind::*;
    let order = |from: u64, to: u64| Some(from.cmp(&to) as i8);
    let is_float = |ty: &ColumnType| matches!(ty.kind, Float | Double);
    match (from.kind, to.kind) {
        (Decimal, Decimal) if (from.length, from.decimals) == (to.length, to.decimals) => Some(0),
        (Decimal, Decimal) => {
            let whole = |ty: &ColumnType| ty.length.saturating_sub(u32::from(ty.decimals));
            Some(if whole(to) >= whole(from) && to.decimals >= from.decimals { -1 } else { 1 })
        }
        (Time | DateTime | Timestamp, _) if from.kind == to.kind => order(u64::from(from.decimals), u64::from(to.decimals)),
        (Bit, Bit) => order(u64::from(from.length), u64::from(to.length)),
        (Enum | Set, _) if from.kind == to.kind => Some(0),
        // A text or bytes of the same kind, whatever its charset.
        _ if from.is_bytes()
            && to.is_bytes()
            && !from.is_geometry()
            && !to.is_geometry()
            && !from.is_vector()
            && !to.is_vector() =>
        {
            let is_blob = from.is_blob() && to.is_blob();
            match is_blob && as_text_or_bytes(from.kind, true) == as_text_or_bytes(to.kind, true) {
                true => Some(0),
                false => order(from_bytes_max, bytes_max(to)),
            }
        }
        _ if from.kind == to.kind => Some(0),
        _ if from.is_integer() && to.is_integer() => {
            order(u64::from(integer_bytes(from.kind)), u64::from(integer_bytes(to.kind)))
        }
        _ if from.is_integer() && (to.kind == Decimal || is_float(to)) => Some(-1),
        (Float, Double) => Some(-1),
        (Double, Float) => Some(1),
        (Decimal, _) if to.is_integer() || is_float(to) => Some(1),
        (Float | Double, _) if to.is_integer() || to.kind == Decimal => Some(1),
        _ => None,
    }
}

/// A type as the error names it.
fn shown(ty: &ColumnType, bytes_max: u64) -> String {
    use TypeKind::*;
    let mut text = match ty.kind {
        TinyInt => "tinyint".into(),
        SmallInt => "smallint".into(),
        MediumInt => "mediumint".into(),
        Int => "int".into(),
        BigInt => "bigint".into(),
        Decimal => format!("decimal({},{})", ty.length, ty.decimals),
        Float => "float".into(),
        Double => "double".into(),
        Bit => format!("bit({})", ty.length),
        Year => "year".into(),
        Date => "date".into(),
        Time => "time".into(),
        DateTime => "datetime".into(),
        Timestamp => "timestamp".into(),
        Char => format!("char({bytes_max}(bytes))"),
        VarChar => format!("varchar({bytes_max}(bytes))"),
        Binary => format!("binary({bytes_max})"),
        VarBinary => format!("varbinary({bytes_max})"),
        TinyText | TinyBlob => "tinyblob".into(),
        Text | Blob => "blob".into(),
        MediumText | MediumBlob => "mediumblob".into(),
        LongText | LongBlob => "longblob".into(),
        Enum => "enum".into(),
        Set => "set".into(),
        Json => "json".into(),
        Geometry => "geometry".into(),
        Vector => "vector".into(),
        Null => "null".to_string(),
    };
    if matches!(ty.kind, Time | DateTime | Timestamp) && ty.decimals > 0 && ty.decimals != DECIMALS_NOT_FIXED {
        let _ = write!(text, "({})", ty.decimals);
    }
    if ty.unsigned {
        text.push_str(" unsigned");
    }
    if ty.is_text() && ty.collation != CollationId::BINARY {
        let _ = write!(text, " {}", charset(ty.collation).name);
    }
    text
}
