//! `store`: a value as a column holds it, or what is wrong with it.
//!
//! `StoreProblem` says what MySQL would say and what a column gets if the statement
//! goes on. The caller knows sql_mode and the statement (IGNORE), so it decides: an
//! `is_note` is only a note; `always_fails` fails in every mode; all others fail in strict mode and
//! are warnings otherwise. NULL passes unchanged: NOT NULL is the caller's.

use super::number::{Converted, bytes_to_f64, to_decimal, to_f64};
use super::text::{message_text, to_text};
use crate::charset::charset;
use crate::datatype::{ColumnType, DECIMALS_NOT_FIXED, TypeKind};
use crate::decimal::Decimal;
use crate::errno;
use crate::error::Error;
use crate::geometry::Geometry;
use crate::json::Json;
use crate::sql_mode;
use crate::temporal::{Date, DateFlags, TimeZone};
use crate::value::Value;
use crate::vector::{self, Problem as VectorProblem};

/// What storing depends on besides the value and the types.
#[derive(Clone, Debug)]
pub struct StoreContext<'a> {
    /// Bits of `sql_mode`.
    pub sql_mode: u64,
    /// The session's time zone.
    pub time_zone: &'a TimeZone,
    /// The session's current date, which a TIME becomes a DATETIME with.
    pub today: Date,
}

impl StoreContext<'_> {
    pub fn date_flags(&self) -> DateFlags {
        DateFlags {
            no_zero_date: self.sql_mode & sql_mode::NO_ZERO_DATE != 0,
            no_zero_in_date: self.sql_mode & sql_mode::NO_ZERO_IN_DATE != 0,
            invalid_dates: self.sql_mode & sql_mode::ALLOW_INVALID_DATES != 0,
        }
    }

    pub fn truncates_fractions(&self) -> bool {
        self.sql_mode & sql_mode::TIME_TRUNCATE_FRACTIONAL != 0
    }
}

#[derive(Clone, Debug, PartialEq)]
pub enum ProblemKind {
    /// 1264.
    OutOfRange,
    /// 1265.
    Truncated,
    /// 1265, and only a note: fraction digits or spaces at the end were cut.
    Cut,
    /// 1406 in strict mode, 1265 otherwise.
    TooLong,
    /// A BIT that is too wide: 1406 in strict mode, 1264 otherwise.
    TooManyBits,
    /// 1366: "Incorrect integer value: 'abc'"; the strings name the type and the value.
    Incorrect {
        type_name: &'static str,
        value: String,
    },
    /// A DECIMAL with junk behind it: 1366 in strict mode, else note 1265, or 1264 for one that does not fit.
    DecimalJunk {
        value: String,
        clamped: bool,
    },
    /// 1292 in strict mode ("Incorrect date value: 'x'"), otherwise 1264 or 1265.
    Temporal {
        type_name: &'static str,
        value: String,
        out_of_range: bool,
    },
    /// 1292 in strict mode, otherwise 1265, and only a note: a part of the value has no place.
    TemporalCut {
        type_name: &'static str,
        value: String,
    },
    /// 1292 without a column: "Truncated incorrect INTEGER value: 'abc'".
    NoInteger {
        value: String,
    },
    /// 3140.
    JsonSyntax {
        message: &'static str,
        position: usize,
    },
    /// 3144; the name of the charset.
    JsonCharset(&'static str),
    /// 3157.
    JsonTooDeep,
    JsonKeyTooLong,
    /// 3156: "Invalid JSON value for CAST to INTEGER".
    JsonCast(&'static str),
    /// 1416.
    NoGeometry,
    /// 6136: what the value is, and its bytes.
    NoVector {
        what: &'static str,
        bytes: usize,
    },
    /// 3643.
    OtherSrid {
        value: u32,
        column: u32,
    },
}

#[derive(Clone, Debug, PartialEq)]
pub struct StoreProblem {
    pub kind: ProblemKind,
    /// What is stored if the statement goes on.
    pub adjusted: Value,
}

pub(super) type Stored = Result<Value, Box<StoreProblem>>;

impl StoreProblem {
    pub(super) fn of(kind: ProblemKind, adjusted: Value) -> Stored {
        Err(Box::new(StoreProblem { kind, adjusted }))
    }

    /// A note in every mode: store `adjusted`.
    pub fn is_note(&self, strict: bool) -> bool {
        match self.kind {
            ProblemKind::Cut | ProblemKind::TemporalCut { .. } => true,
            ProblemKind::DecimalJunk { clamped, .. } => !strict && !clamped,
            _ => false,
        }
    }

    /// An error in every mode: nothing can be stored.
    pub fn always_fails(&self) -> bool {
        use ProblemKind::*;
        matches!(
            self.kind,
            JsonSyntax { .. } | JsonCharset(_) | JsonTooDeep | JsonKeyTooLong | NoGeometry | NoVector { .. } | OtherSrid { .. }
        )
    }

    /// MySQL's error or warning; `row` counts from 1. `strict` chooses between the two texts that
    /// some problems have.
    pub fn report(&self, table: &str, column: &str, row: u64, strict: bool) -> Error {
        let out_of_range = || Error::new(&errno::ER_WARN_DATA_OUT_OF_RANGE, &[&column, &row]);
        let truncated = || Error::new(&errno::WARN_DATA_TRUNCATED, &[&column, &row]);
        let too_long = || Error::new(&errno::ER_DATA_TOO_LONG, &[&column, &row]);
        let incorrect =
            |what: &str, value: &str| Error::new(&errno::ER_TRUNCATED_WRONG_VALUE_FOR_FIELD, &[&what, &value, &column, &row]);
        let temporal = |what: &str, value: &str| {
            let text = format!("Incorrect {what} value: '{value}' for column '{column}' at row {row}");
            Error::with_message(&errno::ER_TRUNCATED_WRONG_VALUE, text)
        };
        match &self.kind {
            ProblemKind::OutOfRange => out_of_range(),
            ProblemKind::Truncated | ProblemKind::Cut => truncated(),
            ProblemKind::TooLong if strict => too_long(),
            ProblemKind::TooLong => truncated(),
            ProblemKind::TooManyBits if strict => too_long(),
            ProblemKind::TooManyBits => out_of_range(),
            ProblemKind::Incorrect { type_name, value } => incorrect(type_name, value),
            ProblemKind::DecimalJunk { value, .. } if strict => incorrect("decimal", value),
            ProblemKind::DecimalJunk { clamped: true, .. } => out_of_range(),
            ProblemKind::DecimalJunk { .. } => truncated(),
            ProblemKind::Temporal { type_name, value, .. } | ProblemKind::TemporalCut { type_name, value } if strict => {
                temporal(type_name, value)
            }
            ProblemKind::Temporal { out_of_range: true, .. } => out_of_range(),
            ProblemKind::Temporal { .. } | ProblemKind::TemporalCut { .. } => truncated(),
            ProblemKind::NoInteger { value } => Error::new(&errno::ER_TRUNCATED_WRONG_VALUE, &[&"INTEGER", value]),
            ProblemKind::JsonSyntax { message, position } => {
                Error::new(&errno::ER_INVALID_JSON_TEXT, &[message, position, &format!("{table}.{column}")])
            }
            ProblemKind::JsonCharset(name) => Error::new(&errno::ER_INVALID_JSON_CHARSET, &[name]),
            ProblemKind::JsonKeyTooLong => Error::new(&errno::ER_JSON_KEY_TOO_BIG, &[]),
            ProblemKind::JsonTooDeep => Error::new(&errno::ER_JSON_DOCUMENT_TOO_DEEP, &[]),
            ProblemKind::NoGeometry => Error::new(&errno::ER_CANT_CREATE_GEOMETRY_OBJECT, &[]),
            ProblemKind::NoVector { what, bytes } => Error::new(&errno::ER_DATA_INCOMPATIBLE_WITH_VECTOR, &[what, bytes]),
            ProblemKind::OtherSrid { value, column: srid } => {
                Error::new(&errno::ER_WRONG_SRID_FOR_COLUMN, &[&column, value, srid])
            }
            ProblemKind::JsonCast(target) => Error::new(&errno::ER_INVALID_JSON_VALUE_FOR_CAST, &[target, &"", &column, &row]),
        }
    }
}

/// `value`, of type `from`, as a column of type `to` holds it.
pub fn store(value: Value, from: &ColumnType, to: &ColumnType, ctx: &StoreContext) -> Stored {
    if value.is_null() {
        return Ok(value);
    }
    let value = match value {
        // Digits are read in ASCII.
        Value::Bytes(text) if !charset(from.collation).is_ascii_compatible() && is_number_or_time(to.kind) => {
            Value::Bytes(super::store_text::in_ascii(&text, from.collation).into())
        }
        value => value,
    };
    match to.kind {
        TypeKind::TinyInt | TypeKind::SmallInt | TypeKind::MediumInt | TypeKind::Int | TypeKind::BigInt => {
            store_integer(value, from, to)
        }
        TypeKind::Decimal => store_decimal(value, from, to),
        TypeKind::Float | TypeKind::Double => store_float(value, from, to),
        TypeKind::Bit => store_bit(value, from, to),
        TypeKind::Year => store_year(value, from, ctx),
        TypeKind::Date | TypeKind::DateTime | TypeKind::Timestamp | TypeKind::Time => {
            super::store_temporal::store(value, from, to, ctx)
        }
        TypeKind::Enum => super::store_text::store_enum(value, from, to),
        TypeKind::Set => super::store_text::store_set(value, from, to),
        TypeKind::Json => super::store_text::store_json(value, from),
        TypeKind::Null => Ok(Value::Null),
        TypeKind::Geometry => store_geometry(value, to),
        TypeKind::Vector => store_vector(value, from, to),
        _ => super::store_text::store_string(value, from, to),
    }
}

/// Bytes of the internal form; those of another type, or with another SRID than the column's, are refused.
fn store_geometry(value: Value, to: &ColumnType) -> Stored {
    let Value::Bytes(bytes) = &value else { return StoreProblem::of(ProblemKind::NoGeometry, Value::Null) };
    let Some((srid, _)) = Geometry::header(bytes) else {
        return StoreProblem::of(ProblemKind::NoGeometry, Value::Null);
    };
    if let Some(column) = to.srid().filter(|column| *column != srid) {
        return StoreProblem::of(ProblemKind::OtherSrid { value: srid, column }, Value::Null);
    }
    match Geometry::decode(bytes) {
        Ok(geometry) if to.geometry_kind().holds(geometry.kind()) => Ok(value),
        _ => StoreProblem::of(ProblemKind::NoGeometry, Value::Null),
    }
}

/// Only binary strings are vectors, and only of numbers.
fn store_vector(value: Value, from: &ColumnType, to: &ColumnType) -> Stored {
    let refused = |what, bytes| StoreProblem::of(ProblemKind::NoVector { what, bytes }, Value::Null);
    let bytes = match &value {
        Value::Bytes(bytes) => bytes,
        Value::Decimal(_) => return refused("numeric", DECIMAL_BYTES),
        Value::Int(_) | Value::UInt(_) | Value::Float(_) => return refused("numeric", NUMBER_BYTES),
        other => return refused("string", to_text(other, from).len()),
    };
    if from.is_text() {
        return refused("string", bytes.len());
    }
    match vector::check(bytes) {
        Err(VectorProblem::Length) => refused("string", bytes.len()),
        Err(VectorProblem::NotFinite) => refused("NAN or INF", bytes.len()),
        Ok(()) if bytes.len() > to.length as usize => StoreProblem::of(ProblemKind::TooLong, Value::bytes([])),
        Ok(()) => Ok(value),
    }
}

/// As MySQL tells them: of a number in 64 bits, and of its DECIMALs in memory.
const NUMBER_BYTES: usize = 8;
const DECIMAL_BYTES: usize = 64;

fn is_number_or_time(kind: TypeKind) -> bool {
    use TypeKind::*;
    matches!(
        kind,
        TinyInt | SmallInt | MediumInt | Int | BigInt | Decimal | Float | Double | Year | Date | DateTime | Timestamp | Time
    )
}

/// The least and the greatest value of an integer type.
fn integer_range(to: &ColumnType) -> (i128, i128) {
    let bits = match to.kind {
        TypeKind::TinyInt => 8,
        TypeKind::SmallInt => 16,
        TypeKind::MediumInt => 24,
        TypeKind::Int => 32,
        _ => 64,
    };
    if to.unsigned { (0, (1 << bits) - 1) } else { (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) }
}

/// The greatest value of an integer column.
pub fn greatest_integer(ty: &ColumnType) -> Option<u64> {
    use TypeKind::{BigInt, Int, MediumInt, SmallInt, TinyInt};
    let is_integer = matches!(ty.kind, TinyInt | SmallInt | MediumInt | Int | BigInt);
    is_integer.then(|| u64::try_from(integer_range(ty).1).ok()).flatten()
}

fn integer_value(n: i128, to: &ColumnType) -> Value {
    if to.unsigned { Value::UInt(n as u64) } else { Value::Int(n as i64) }
}

fn in_range(n: i128, to: &ColumnType) -> Stored {
    let (least, greatest) = integer_range(to);
    if (least..=greatest).contains(&n) {
        return Ok(integer_value(n, to));
    }
    StoreProblem::of(ProblemKind::OutOfRange, integer_value(n.clamp(least, greatest), to))
}

fn store_integer(value: Value, from: &ColumnType, to: &ColumnType) -> Stored {
    match &value {
        Value::Int(i) => in_range(*i as i128, to),
        Value::UInt(u) => in_range(*u as i128, to),
        Value::Float(f) => in_range(f.round_ties_even() as i128, to),
        Value::Decimal(d) if to.unsigned && d.is_negative() => StoreProblem::of(ProblemKind::OutOfRange, Value::UInt(0)),
        Value::Decimal(d) => in_range(decimal_to_i128(d), to),
        Value::Bytes(text) => {
            let number = rounded_integer(text, "integer");
            match (number.problem, in_range(number.value, to)) {
                (_, Err(range)) => Err(range),
                (None, stored) => stored,
                (Some(kind), Ok(adjusted)) => StoreProblem::of(kind, adjusted),
            }
        }
        Value::Json(j) => json_number(j, "INTEGER", to.kind, |v, ty| store_integer(v, ty, to)),
        Value::Date(_) | Value::DateTime(_) | Value::Time(_) => in_range(super::to_i64(&value, from).value as i128, to),
        Value::Null => Ok(value),
    }
}

/// Clamped to a little beyond BIGINT of both signs.
fn decimal_to_i128(d: &Decimal) -> i128 {
    match (d.to_i64(), d.to_u64()) {
        ((n, false), _) => n as i128,
        (_, (n, false)) => n as i128,
        _ if d.is_negative() => i64::MIN as i128 - 1,
        _ => u64::MAX as i128 + 1,
    }
}

struct TextNumber {
    value: i128,
    problem: Option<ProblemKind>,
}

/// The integer that a text says, fractions rounded away from zero.
fn rounded_integer(text: &[u8], type_name: &'static str) -> TextNumber {
    let plain = text.strip_prefix(b"-").unwrap_or(text);
    if (1..=18).contains(&plain.len()) && plain.iter().all(u8::is_ascii_digit) {
        let n = plain.iter().fold(0i64, |n, d| n * 10 + (d - b'0') as i64) as i128;
        return TextNumber { value: if plain.len() < text.len() { -n } else { n }, problem: None };
    }
    let parsed = Decimal::parse(text);
    let problem = match parsed.used {
        0 => Some(ProblemKind::Incorrect { type_name, value: message_text(text) }),
        used if used < text.len() => Some(ProblemKind::Truncated),
        _ => None,
    };
    TextNumber { value: decimal_to_i128(&parsed.value), problem }
}

/// Stores the number that a JSON value is; `target` names the type in error 3156.
fn json_number(json: &Json, target: &'static str, kind: TypeKind, store: impl Fn(Value, &ColumnType) -> Stored) -> Stored {
    let ty = ColumnType::new(kind);
    let value = match json {
        Json::Bool(b) => Value::Int(*b as i64),
        Json::Int(i) => Value::Int(*i),
        Json::UInt(u) => Value::UInt(*u),
        Json::Double(d) => Value::Float(*d),
        Json::Decimal(d) => Value::Decimal(Decimal::clone(d)),
        Json::String(s) => Value::bytes(s.as_bytes()),
        _ => Value::bytes(b""),
    };
    store(value, &ty).or_else(|problem| match problem.kind {
        ProblemKind::Incorrect { .. } | ProblemKind::DecimalJunk { .. } => {
            StoreProblem::of(ProblemKind::JsonCast(target), problem.adjusted)
        }
        ProblemKind::Truncated if matches!(json, Json::String(_)) => {
            StoreProblem::of(ProblemKind::JsonCast(target), problem.adjusted)
        }
        _ => Err(problem),
    })
}

fn store_decimal(value: Value, from: &ColumnType, to: &ColumnType) -> Stored {
    if let Value::Json(j) = &value {
        return json_number(j, "DECIMAL", TypeKind::Decimal, |v, ty| store_decimal(v, ty, to));
    }
    let text = match &value {
        Value::Bytes(text) => Some(text),
        _ => None,
    };
    let Converted { value: d, truncated, out_of_range } = to_decimal(&value, from);
    let junk = text.filter(|_| truncated && !out_of_range);
    // What is behind the number is told before that the number does not fit.
    let clamped = |value: Decimal| {
        let kind = match junk {
            Some(text) => ProblemKind::DecimalJunk { value: message_text(text), clamped: true },
            None => ProblemKind::OutOfRange,
        };
        StoreProblem::of(kind, Value::Decimal(value))
    };
    if to.unsigned && d.is_negative() {
        return clamped(Decimal::new(0, to.decimals));
    }
    let fitted = match d.fit(to.length, to.decimals) {
        Ok(fitted) if !out_of_range => fitted,
        Ok(nearest) | Err(nearest) => return clamped(nearest),
    };
    if let Some(text) = junk {
        let none = Decimal::parse(text).used == 0;
        let value = message_text(text);
        let kind = match none {
            true => ProblemKind::Incorrect { type_name: "decimal", value },
            false => ProblemKind::DecimalJunk { value, clamped: false },
        };
        return StoreProblem::of(kind, Value::Decimal(fitted));
    }
    if d.scale() > to.decimals && fitted != d {
        return StoreProblem::of(ProblemKind::Cut, Value::Decimal(fitted));
    }
    Ok(Value::Decimal(fitted))
}

fn store_float(value: Value, from: &ColumnType, to: &ColumnType) -> Stored {
    let name = if to.kind == TypeKind::Float { "FLOAT" } else { "DOUBLE" };
    if let Value::Json(j) = &value {
        return json_number(j, name, to.kind, |v, ty| store_float(v, ty, to));
    }
    let number = match &value {
        Value::Bytes(text) => bytes_to_f64(text),
        other => to_f64(other, from),
    };
    let (stored, clamped) = clamp_float(number.value, to);
    match (&value, number.truncated) {
        // What is behind the number is told before that the number does not fit.
        (Value::Bytes(text), true) if !number.out_of_range => {
            StoreProblem::of(ProblemKind::Incorrect { type_name: name, value: message_text(text) }, Value::Float(stored))
        }
        _ if clamped || number.out_of_range => StoreProblem::of(ProblemKind::OutOfRange, Value::Float(stored)),
        _ => Ok(Value::Float(stored)),
    }
}

/// The value rounded and clamped to FLOAT or DOUBLE(M,D), and whether it was clamped.
fn clamp_float(f: f64, to: &ColumnType) -> (f64, bool) {
    if f.is_nan() || (to.unsigned && f < 0.0) {
        return (0.0, true);
    }
    let mut value = f;
    let mut max = if to.kind == TypeKind::Float { f32::MAX as f64 } else { f64::MAX };
    if to.decimals < DECIMALS_NOT_FIXED {
        let unit = 10f64.powi(to.decimals as i32);
        max = max.min(10f64.powi(to.length as i32 - to.decimals as i32) - 1.0 / unit);
        // The fraction alone is rounded, which decides 3.12345 and 9.9995 otherwise than rounding of the whole would.
        let fraction = ((value - value.floor()) * unit).round_ties_even() / unit;
        if fraction.is_finite() {
            value = value.floor() + fraction;
        }
    }
    let clamped = value.clamp(-max, max);
    let stored = if to.kind == TypeKind::Float { clamped as f32 as f64 } else { clamped };
    (stored, clamped != value)
}

fn store_bit(value: Value, from: &ColumnType, to: &ColumnType) -> Stored {
    let mask = if to.length >= 64 { u64::MAX } else { (1 << to.length) - 1 };
    let too_wide = || StoreProblem::of(ProblemKind::TooManyBits, Value::UInt(mask));
    // Dates, times and documents are stored as their text.
    let value = match value {
        Value::Date(_) | Value::DateTime(_) | Value::Time(_) | Value::Json(_) => Value::from(super::to_text(&value, from)),
        value => value,
    };
    let bits = match &value {
        Value::Bytes(bytes) => {
            let zeros = bytes.iter().take_while(|b| **b == 0).count();
            if bytes.len() - zeros > 8 {
                return too_wide();
            }
            bytes[zeros..].iter().fold(0u64, |n, b| n << 8 | *b as u64)
        }
        Value::UInt(u) => *u,
        Value::Int(i) => *i as u64,
        // Only decimals are rounded.
        Value::Float(f) => *f as i64 as u64,
        Value::Decimal(d) if d.is_negative() => return StoreProblem::of(ProblemKind::OutOfRange, Value::UInt(0)),
        other => super::to_i64(other, from).value as u64,
    };
    if bits > mask { too_wide() } else { Ok(Value::UInt(bits)) }
}

/// The last year that a YEAR holds.
const YEAR_MAX: i128 = 2155;

fn store_year(value: Value, from: &ColumnType, ctx: &StoreContext) -> Stored {
    let (number, problem, zero_is_2000) = match &value {
        Value::Date(d) => (d.year() as i128, None, false),
        Value::DateTime(dt) => (dt.year() as i128, None, false),
        Value::Time(_) => (ctx.today.year() as i128, None, false),
        Value::Bytes(text) => {
            let number = rounded_integer(text, "integer");
            (number.value, number.problem, text.len() != 4)
        }
        // A fraction is cut, not rounded.
        Value::Float(f) if !(0.0..=YEAR_MAX as f64).contains(f) => (-1, None, false),
        Value::Float(f) => (*f as i128, None, false),
        Value::Decimal(d) => (decimal_to_i128(d), None, false),
        Value::UInt(u) => (*u as i128, None, false),
        Value::Json(j) => {
            return json_number(j, "INTEGER", TypeKind::Year, |v, ty| store_year(v, ty, ctx));
        }
        other => (super::to_i64(other, from).value as i128, None, false),
    };
    if let Some(kind @ ProblemKind::Incorrect { .. }) = problem {
        return StoreProblem::of(kind, Value::UInt(0));
    }
    let year = match number {
        0 if zero_is_2000 => 2000,
        0 => 0,
        1..70 => 2000 + number,
        70..100 => 1900 + number,
        1901..=YEAR_MAX => number,
        _ => return StoreProblem::of(ProblemKind::OutOfRange, Value::UInt(0)),
    };
    match problem {
        Some(kind) => StoreProblem::of(kind, Value::UInt(year as u64)),
        None => Ok(Value::UInt(year as u64)),
    }
}

/// The text of a value for a message, as its type prints it.
pub(super) fn shown(value: &Value, from: &ColumnType) -> String {
    message_text(&to_text(value, from))
}
