//! `LiteralValues`: rows of plain literals as an INSERT's plan keeps them.
//!
//! They stay as the parser gives them, and a value is made when its row is written. It is the one that binding the
//! literal as an expression gives; its type says only what storing it may ask: no lengths.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use vaquita_parser::{Cell, LiteralRows};
use vaquita_types::charset::{Charset, CollationId, charset};
use vaquita_types::decimal::Decimal;
use vaquita_types::{ColumnType, TypeKind, Value};

/// None: as written.
#[derive(Clone, Copy)]
struct Target(Option<&'static Charset>);

impl fmt::Debug for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.0.map(|charset| charset.name))
    }
}

#[derive(Clone, Debug)]
pub struct LiteralValues {
    pub rows: Arc<LiteralRows>,
    /// Strings, which are in utf8mb4 as written, and `_binary` strings become these.
    string_charset: Target,
    binary_charset: Target,
    integer: ColumnType,
    unsigned: ColumnType,
    float: ColumnType,
    string: ColumnType,
    binary: ColumnType,
    hex: ColumnType,
    null: ColumnType,
}

impl LiteralValues {
    /// Strings have `collation`.
    pub fn new(
        rows: Arc<LiteralRows>,
        collation: CollationId,
        string_charset: Option<&'static Charset>,
        binary_charset: Option<&'static Charset>,
    ) -> LiteralValues {
        let binary = ColumnType::varbinary(0);
        LiteralValues {
            rows,
            string_charset: Target(string_charset),
            binary_charset: Target(binary_charset),
            integer: ColumnType::bigint(),
            unsigned: ColumnType::bigint_unsigned(),
            float: ColumnType::double(),
            string: if collation == CollationId::BINARY { binary.clone() } else { ColumnType::varchar(0, collation) },
            hex: ColumnType { unsigned: true, ..binary.clone() },
            binary,
            null: ColumnType::null(),
        }
    }

    pub fn value(&self, cell: Cell) -> (Value, Cow<'_, ColumnType>) {
        let text = |span| self.rows.text(span);
        let (value, ty) = match cell {
            Cell::Null => (Value::Null, &self.null),
            Cell::Int(n) => match i64::try_from(n) {
                Ok(n) => (Value::Int(n), &self.integer),
                Err(_) => (Value::UInt(n), &self.unsigned),
            },
            Cell::Negative(n) => (Value::Int((n as i64).wrapping_neg()), &self.integer),
            Cell::Decimal { digits, negative } => {
                let d = Decimal::parse(text(digits)).value;
                let d = if negative { d.neg() } else { d };
                let ty = ColumnType { decimals: d.scale(), ..ColumnType::new(TypeKind::Decimal) };
                return (Value::Decimal(d), Cow::Owned(ty));
            }
            Cell::Float { digits, negative } => {
                let f: f64 = String::from_utf8_lossy(text(digits)).parse().unwrap_or(f64::INFINITY);
                (Value::Float(if negative { -f } else { f }), &self.float)
            }
            Cell::String(span) => (string(text(span), self.string_charset), &self.string),
            Cell::Binary(span) => (string(text(span), self.binary_charset), &self.binary),
            Cell::Hex(span) => (Value::bytes(text(span)), &self.hex),
        };
        (value, Cow::Borrowed(ty))
    }
}

fn string(text: &[u8], target: Target) -> Value {
    match target.0 {
        Some(target) if !(text.is_ascii() && target.is_ascii_compatible()) => {
            Value::bytes(&charset(CollationId::UTF8MB4_BIN).convert(target, text).bytes)
        }
        _ => Value::bytes(text),
    }
}
