//! A column that gets another type: what becomes of its values.
//!
//! MySQL does not store them as an INSERT does. It reads each as a text or as an integer, by the two types, and stores that: the number 2 is the
//! label '2' of an ENUM, and the label '11:00' is a TIME.

use vaquita_types::charset::{CollationId, charset};
use vaquita_types::convert::{ProblemKind, StoreContext, StoreProblem, message_text, store, to_i64, to_text};
use vaquita_types::schema::ColumnDef;
use vaquita_types::temporal::{DateTime, TimeZone};
use vaquita_types::{ColumnType, TypeKind, Value};

pub(super) type Stored = Result<Value, Box<StoreProblem>>;

pub(super) struct Conversion {
    from: ColumnType,
    to: ColumnType,
    carrier: Carrier,
    /// The column takes NULL.
    pub nullable: bool,
    /// MySQL cuts the texts.
    cuts: bool,
}

impl Conversion {
    pub fn new(before: &ColumnDef, after: &ColumnDef) -> Conversion {
        let (from, to) = (before.ty.clone(), after.ty.clone());
        Conversion { cuts: are_cut(&from, &to), carrier: Carrier::between(&from, &to), nullable: after.nullable, from, to }
    }

    /// A value that is not NULL, as it is stored then.
    pub fn stored(&self, value: Value, context: &StoreContext<'_>) -> Stored {
        if self.from == self.to {
            return Ok(value);
        }
        let value = match value {
            Value::DateTime(utc) if self.from.kind == TypeKind::Timestamp => {
                Value::DateTime(context.time_zone.timestamp_from_utc(utc))
            }
            // Spaces at the end of a BINARY are cut without a word.
            Value::Bytes(bytes) if self.cuts && self.from.kind == TypeKind::Binary => {
                match bytes.split_at_checked(self.to.length as usize) {
                    Some((kept, rest)) if rest.iter().all(|byte| *byte == b' ') => Value::bytes(kept),
                    _ => Value::Bytes(bytes),
                }
            }
            value => value,
        };
        self.carried(value, context).map_err(|mut problem| {
            // In a VARCHAR spaces at the end count.
            let counts_spaces = matches!(self.from.kind, TypeKind::VarChar | TypeKind::VarBinary);
            let is_cut = problem.kind == ProblemKind::TooLong || problem.kind == ProblemKind::Cut && counts_spaces;
            if is_cut && self.cuts {
                problem.kind = ProblemKind::Truncated;
            }
            problem
        })
    }

    fn carried(&self, value: Value, context: &StoreContext<'_>) -> Stored {
        match self.carrier {
            Carrier::Value => stored(value, &self.from, &self.to, context),
            Carrier::Text => {
                let collation = match self.from.kind {
                    TypeKind::Enum | TypeKind::Set => self.from.collation,
                    TypeKind::Bit => CollationId::BINARY,
                    _ => CollationId::UTF8MB4_BIN,
                };
                let text = to_text(&value, &self.from);
                let ty = ColumnType::varchar(text.len() as u32, collation);
                stored(Value::from(text), &ty, &self.to, context)
            }
            Carrier::Integer => {
                let (value, unread) = integer(value, &self.from, context);
                let ty = if matches!(value, Value::UInt(_)) { ColumnType::bigint_unsigned() } else { ColumnType::bigint() };
                let stored = stored(value, &ty, &self.to, context);
                match (stored, unread) {
                    (Ok(adjusted), Some(kind)) => Err(Box::new(StoreProblem { kind, adjusted })),
                    (stored, _) => stored,
                }
            }
        }
    }
}

/// What carries a value from one type to another.
enum Carrier {
    Value,
    Text,
    Integer,
}

impl Carrier {
    fn between(from: &ColumnType, to: &ColumnType) -> Carrier {
        let is_label = |ty: &ColumnType| matches!(ty.kind, TypeKind::Enum | TypeKind::Set);
        let is_json = |ty: &ColumnType| ty.kind == TypeKind::Json;
        let has_own_form = |ty: &ColumnType| ty.is_geometry() || ty.is_vector();
        if from.kind == to.kind && !is_label(from)
            || from.is_bytes() && to.kind != TypeKind::Bit
            || has_own_form(from)
            || has_own_form(to)
        {
            return Carrier::Value;
        }
        if to.is_blob() {
            return Carrier::Text;
        }
        if from.kind == TypeKind::Bit || to.kind == TypeKind::Bit {
            return Carrier::Integer;
        }
        match to.kind {
            TypeKind::Decimal => Carrier::Value,
            TypeKind::Year if from.is_temporal() => Carrier::Integer,
            _ if to.is_numeric() => {
                if is_json(from) {
                    Carrier::Text
                } else {
                    Carrier::Value
                }
            }
            // Moments are not read again, and labels know their own text.
            _ if from.is_temporal() && to.is_temporal() || is_label(from) && !to.is_temporal() => Carrier::Value,
            _ => Carrier::Text,
        }
    }
}

/// The integer that a value is, and what to say of a text that is none.
fn integer(value: Value, from: &ColumnType, context: &StoreContext<'_>) -> (Value, Option<ProblemKind>) {
    match value {
        Value::Int(_) | Value::UInt(_) => (value, None),
        Value::Float(_) | Value::Decimal(_) => {
            let stored = store(value, from, &ColumnType::bigint(), context);
            (stored.unwrap_or_else(|problem| problem.adjusted), None)
        }
        value => {
            let read = to_i64(&value, from);
            let unread = matches!(value, Value::Bytes(_)) && read.truncated;
            let kind = || ProblemKind::NoInteger { value: message_text(&to_text(&value, from)) };
            (Value::Int(read.value), unread.then(kind))
        }
    }
}

/// A value, as a column of another type stores it.
pub(super) fn stored(value: Value, from: &ColumnType, to: &ColumnType, context: &StoreContext<'_>) -> Stored {
    match store(value, from, to, context) {
        Ok(value) => Ok(to_utc(value, to, context.time_zone)),
        Err(mut problem) => {
            problem.adjusted = to_utc(std::mem::take(&mut problem.adjusted), to, context.time_zone);
            Err(problem)
        }
    }
}

/// Texts of one kind and collation are cut where they get shorter, and that is error 1265, not 1406.
fn are_cut(before: &ColumnType, after: &ColumnType) -> bool {
    use TypeKind::{Binary, Char, VarBinary, VarChar};
    before.kind == after.kind
        && before.collation == after.collation
        && match before.kind {
            VarChar | VarBinary => has_long_length(before) == has_long_length(after),
            Char | Binary => true,
            _ => false,
        }
}

/// Whether a VARCHAR's length stands in two bytes before its text.
fn has_long_length(ty: &ColumnType) -> bool {
    u64::from(ty.length) * u64::from(charset(ty.collation).mbmaxlen) > 255
}

/// InnoDB changes the type without a copy: longer VARCHARs with as many length bytes, more labels.
pub(super) fn in_place(before: &ColumnType, after: &ColumnType) -> bool {
    match (before.kind, after.kind) {
        _ if before == after => true,
        // Another display width, as BOOL has one.
        _ if before.is_integer() && before.kind == after.kind => {
            before.unsigned == after.unsigned && before.zerofill == after.zerofill
        }
        (TypeKind::VarChar, TypeKind::VarChar) | (TypeKind::VarBinary, TypeKind::VarBinary) => {
            are_cut(before, after) && before.length <= after.length
        }
        (TypeKind::Enum, TypeKind::Enum) | (TypeKind::Set, TypeKind::Set) => match (&before.members, &after.members) {
            (Some(few), Some(more)) => before.collation == after.collation && more.starts_with(few),
            _ => false,
        },
        _ => false,
    }
}

/// A value as it is stored: TIMESTAMPs are UTC.
pub(super) fn to_utc(value: Value, ty: &ColumnType, zone: &TimeZone) -> Value {
    match value {
        Value::DateTime(local) if ty.kind == TypeKind::Timestamp => {
            let utc = zone.timestamp_to_utc(local);
            Value::DateTime(utc.map_or(DateTime::ZERO, |utc| utc.value))
        }
        value => value,
    }
}
