//! A column that gets another type: what becomes of its values.

use vaquita_types::charset::charset;
use vaquita_types::convert::{ProblemKind, StoreContext, StoreProblem, store};
use vaquita_types::schema::ColumnDef;
use vaquita_types::temporal::{DateTime, TimeZone};
use vaquita_types::{ColumnType, TypeKind, Value};

pub(super) type Stored = Result<Value, Box<StoreProblem>>;

pub(super) struct Conversion {
    from: ColumnType,
    to: ColumnType,
    /// The column takes NULL.
    pub nullable: bool,
    /// MySQL cuts the texts.
    cuts: bool,
}

impl Conversion {
    pub fn new(before: &ColumnDef, after: &ColumnDef) -> Conversion {
        let (from, to) = (before.ty.clone(), after.ty.clone());
        Conversion { cuts: are_cut(&from, &to), nullable: after.nullable, from, to }
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
        stored(value, &self.from, &self.to, context).map_err(|mut problem| {
            // In a VARCHAR spaces at the end count.
            let counts_spaces = matches!(self.from.kind, TypeKind::VarChar | TypeKind::VarBinary);
            let is_cut = problem.kind == ProblemKind::TooLong || problem.kind == ProblemKind::Cut && counts_spaces;
            if is_cut && self.cuts {
                problem.kind = ProblemKind::Truncated;
            }
            problem
        })
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
