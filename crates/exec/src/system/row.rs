//! Making rows of system tables.

use vaquita_types::schema::TableDef;
use vaquita_types::{Error, Result, TypeKind, Value};

/// A row from anything that becomes a `Value`; with `cx; n;` before, it begins at column `n`, and what nobody reads is not evaluated.
macro_rules! row {
    ($cx:expr; $first:expr; $($value:expr),* $(,)?) => {{
        let mut position = $first;
        vec![$({
            position += 1;
            if $cx.reads(position - 1) { $crate::system::row::cell($value) } else { vaquita_types::Value::Null }
        }),*]
    }};
    ($($value:expr),* $(,)?) => {
        vec![$($crate::system::row::cell($value)),*]
    };
}
pub(crate) use row;

/// What rows are written with: text, numbers, and options of them.
pub trait Cell {
    fn into_value(self) -> Value;
}

pub fn cell(value: impl Cell) -> Value {
    value.into_value()
}

impl Cell for Value {
    fn into_value(self) -> Value {
        self
    }
}

impl Cell for &str {
    fn into_value(self) -> Value {
        self.into()
    }
}

impl Cell for &String {
    fn into_value(self) -> Value {
        self.as_str().into()
    }
}

impl Cell for String {
    fn into_value(self) -> Value {
        self.into()
    }
}

impl Cell for u64 {
    fn into_value(self) -> Value {
        Value::UInt(self)
    }
}

impl Cell for i64 {
    fn into_value(self) -> Value {
        Value::Int(self)
    }
}

impl<T: Cell> Cell for Option<T> {
    fn into_value(self) -> Value {
        self.map_or(Value::Null, T::into_value)
    }
}

pub const NULL: Value = Value::Null;

pub fn yes_no(yes: bool) -> &'static str {
    if yes { "YES" } else { "NO" }
}

/// Gives the values the form that the columns' types ask for: labels of ENUM and SET as numbers, the sign of
/// integers. A row of the wrong width is a mistake in the function that made it.
pub fn fit(row: &mut [Value], def: &TableDef) -> Result<()> {
    if row.len() != def.columns.len() {
        return Err(Error::internal(format_args!("{} values for the {} columns of {}", row.len(), def.columns.len(), def.name)));
    }
    for (value, column) in row.iter_mut().zip(&def.columns) {
        if value.is_null() {
            continue;
        }
        let ty = &column.ty;
        *value = match (std::mem::take(value), ty.kind) {
            (Value::Bytes(label), TypeKind::Enum) => {
                let members = ty.members.as_deref().unwrap_or_default();
                let position = members.iter().position(|m| m.eq_ignore_ascii_case(&label));
                Value::UInt(position.map_or(0, |at| at as u64 + 1))
            }
            (Value::Bytes(labels), TypeKind::Set) => Value::UInt(set_bits(&labels, ty.members.as_deref().unwrap_or_default())),
            (Value::UInt(n), _) if ty.is_integer() && !ty.unsigned => Value::Int(i64::try_from(n).unwrap_or(i64::MAX)),
            (Value::Int(n), _) if ty.is_integer() && ty.unsigned => Value::UInt(u64::try_from(n).unwrap_or(0)),
            (other, _) => other,
        };
    }
    Ok(())
}

fn set_bits(labels: &[u8], members: &[Box<[u8]>]) -> u64 {
    let bit = |label: &[u8]| members.iter().position(|m| m.eq_ignore_ascii_case(label)).map_or(0, |at| 1u64 << (at % 64));
    labels.split(|b| *b == b',').fold(0, |bits, label| bits | bit(label))
}
