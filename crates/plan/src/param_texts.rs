//! What a text becomes that is sent for a parameter of a prepared statement whose place asks for a number, date or time.
//!
//! MySQL converts it once, before the statement runs, with a warning if it is none: for `WHERE i = ?` the text `5x` is the integer 5,
//! and `5.4` the decimal, as the type of the whole text counts. For `WHERE d = ?` the text `abc` is NULL.
//! Decimals are not converted: a text beside one stays a text. Literals never are: what compares them says what they are.

use vaquita_types::charset::CollationId;
use vaquita_types::decimal::Decimal;
use vaquita_types::temporal::{
    DateFlags, DateTime, MICROS_PER_SECOND, ParsedDateTime, datetime_from_number, parse_datetime, parse_time,
};
use vaquita_types::{ColumnType, Error, TypeKind, Value, errno, sql_mode};

use crate::eval::coerce::{int_of_text, parse_f64, shown};
use crate::settings::PlanSettings;

/// What a place takes texts for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadAs {
    Integer,
    Double,
    Date,
    DateTime,
    Time,
    /// What an interval is added to: a DATE or a DATETIME, as the text or number has it.
    Moment,
    /// What a part is taken of: a DATETIME if the text or number is one, or as it is.
    Whole,
    /// What a function of dates reads: the same, also where something follows the date.
    WholeDate,
    /// What `<=>` compares with a date or time: a text that is none equals nothing, also not NULL.
    SafeDate,
    SafeDateTime,
    SafeTime,
}

impl ReadAs {
    pub(crate) fn of(ty: &ColumnType) -> Option<ReadAs> {
        Some(match ty.kind {
            TypeKind::Year | TypeKind::Bit => ReadAs::Integer,
            _ if ty.is_integer() => ReadAs::Integer,
            TypeKind::Float | TypeKind::Double => ReadAs::Double,
            TypeKind::Date => ReadAs::Date,
            TypeKind::DateTime | TypeKind::Timestamp => ReadAs::DateTime,
            TypeKind::Time => ReadAs::Time,
            _ => return None,
        })
    }

    /// The same beside `<=>`.
    pub(crate) fn null_safe(self) -> ReadAs {
        match self {
            ReadAs::Date => ReadAs::SafeDate,
            ReadAs::DateTime => ReadAs::SafeDateTime,
            ReadAs::Time => ReadAs::SafeTime,
            other => other,
        }
    }

    /// The value that is taken for `value`, and what is to be said of that; none if it is taken as it is.
    pub fn read(self, value: &Value, settings: &PlanSettings) -> Option<(Value, Option<Error>)> {
        let of = match self {
            ReadAs::SafeDate => ReadAs::Date,
            ReadAs::SafeDateTime => ReadAs::DateTime,
            ReadAs::SafeTime => ReadAs::Time,
            other => return other.read_value(value, settings),
        };
        let (read, complaint) = of.read_value(value, settings)?;
        Some((if read.is_null() { value.clone() } else { read }, complaint))
    }

    fn read_value(self, value: &Value, settings: &PlanSettings) -> Option<(Value, Option<Error>)> {
        let text = match (value, self) {
            (Value::Bytes(text), ReadAs::Whole | ReadAs::WholeDate) => {
                let parsed = parse_datetime(text, ANY).ok().filter(|parsed| !parsed.truncated || self == ReadAs::WholeDate)?;
                let shown = shown(text, settings.connection_collation);
                let complaint = parsed.truncated.then(|| Error::new(&errno::ER_TRUNCATED_WRONG_VALUE, &[&"date", &shown]));
                return Some((Value::DateTime(at(&parsed, settings)?), complaint));
            }
            (Value::Bytes(text), _) => text,
            (Value::Int(_) | Value::UInt(_) | Value::Decimal(_), ReadAs::Moment | ReadAs::Whole | ReadAs::WholeDate) => {
                return Some((moment_of_number(value), None));
            }
            _ => return None,
        };
        let wrong = |what: &str| {
            // What is no number is told as bytes.
            let is_number = matches!(what, "INTEGER" | "DOUBLE");
            let shown = shown(text, if is_number { CollationId::BINARY } else { settings.connection_collation });
            match what {
                "datetime" => {
                    Error::with_message(&errno::ER_TRUNCATED_WRONG_VALUE, format!("Incorrect datetime value: '{shown}'"))
                }
                _ => Error::new(&errno::ER_TRUNCATED_WRONG_VALUE, &[&what, &shown]),
            }
        };
        let (value, complaint) = match self {
            ReadAs::Integer => integer(text),
            ReadAs::Double => {
                let (number, used) = parse_f64(text);
                (Value::Float(number), (used < text.len()).then_some("DOUBLE"))
            }
            ReadAs::Time | ReadAs::SafeTime => time(text, settings),
            ReadAs::SafeDate
            | ReadAs::SafeDateTime
            | ReadAs::Date
            | ReadAs::DateTime
            | ReadAs::Moment
            | ReadAs::Whole
            | ReadAs::WholeDate => date(self, text, settings),
        };
        Some((value, complaint.map(wrong)))
    }
}

/// A text that is a number is taken for just that number.
fn integer(text: &[u8]) -> (Value, Option<&'static str>) {
    let (n, whole) = int_of_text(text);
    let decimal = if whole { None } else { Some(Decimal::parse(text)) };
    match decimal {
        Some(parsed) if parsed.used == text.len() && !parsed.overflow && !text.is_empty() => (Value::Decimal(parsed.value), None),
        _ => {
            let value = i64::try_from(n).map_or_else(|_| Value::UInt(n as u64), Value::Int);
            (value, (!whole).then_some("INTEGER"))
        }
    }
}

fn time(text: &[u8], settings: &PlanSettings) -> (Value, Option<&'static str>) {
    let Ok(parsed) = parse_time(text) else { return (Value::Null, Some("time")) };
    let truncate = settings.sql_mode & sql_mode::TIME_TRUNCATE_FRACTIONAL != 0;
    let incomplete = parsed.truncated || parsed.out_of_range;
    (Value::Time(parsed.to_fsp_in(6, truncate, &settings.time_zone)), incomplete.then_some("time"))
}

/// Any date, also zero ones.
const ANY: DateFlags = DateFlags { no_zero_date: false, no_zero_in_date: false, invalid_dates: false };

fn date(wanted: ReadAs, text: &[u8], settings: &PlanSettings) -> (Value, Option<&'static str>) {
    let found = parse_datetime(text, ANY).ok().and_then(|parsed| Some((at(&parsed, settings)?, parsed)));
    let Some((at, parsed)) = found else {
        return (Value::Null, Some(if wanted == ReadAs::DateTime { "datetime" } else { "date" }));
    };
    let value = if parsed.date_only && wanted != ReadAs::DateTime { Value::Date(at.date()) } else { Value::DateTime(at) };
    (value, parsed.truncated.then_some("date"))
}

/// The moment in the session's time zone.
fn at(parsed: &ParsedDateTime, settings: &PlanSettings) -> Option<DateTime> {
    let value = parsed.to_fsp(6, settings.sql_mode & sql_mode::TIME_TRUNCATE_FRACTIONAL != 0)?;
    match parsed.offset_seconds {
        None => Some(value),
        Some(offset) => settings.time_zone.from_utc(value.add_micros(-i64::from(offset) * MICROS_PER_SECOND)?),
    }
}

/// A number as a DATETIME; as it is if it is none.
fn moment_of_number(value: &Value) -> Value {
    let whole = match value {
        Value::Int(n) => Some(*n),
        Value::UInt(n) => i64::try_from(*n).ok(),
        Value::Decimal(d) if d.truncate(0) == *d => Some(d.to_i64().0),
        _ => None,
    };
    match whole.and_then(|n| datetime_from_number(n, ANY).ok()) {
        Some((at, _)) => Value::DateTime(at),
        None => value.clone(),
    }
}
