//! Functions that no statement names: what comparisons and arithmetic make of some operands.

use vaquita_types::charset::{CollationId, charset};
use vaquita_types::decimal::Decimal;
use vaquita_types::format::write_double_within;
use vaquita_types::{ColumnType, Error, Result, TypeKind, Value, errno};

use super::collate::first_bytes;
use super::{COERCIBILITY_NUMERIC, char_length, is_hex_literal, is_string, string_type};
use crate::env::{EvalCx, Level};
use crate::eval::{DateOrTime, arg, coerce, integer_of_double, is_date_text};
use crate::expr::{Expr, ExprKind};
use crate::function::{FuncCall, FuncDef, FuncType};
use crate::text::same_charset;

/// What a YEAR column takes a constant for.
pub(super) static FULL_YEAR: FuncDef = FuncDef {
    name: "FULL YEAR",
    args: (1, 1),
    resolve: |args| resolve_same(args),
    eval: |call, cx| Ok(full_year(&*call.value(0, cx)?)),
    foldable: true,
};

/// YEAR(CURDATE()).
pub(super) static THIS_YEAR: FuncDef = FuncDef {
    name: "THIS YEAR",
    args: (0, 0),
    resolve: |_| number(year_type()),
    eval: |_, cx| Ok(Value::UInt(u64::from(coerce::now(cx.env).date().year()))),
    foldable: false,
};

/// A constant text that BETWEEN compares with dates, which need not be one.
pub(super) static TEXT_OF_DATE: FuncDef = FuncDef {
    name: "TEXT OF DATE",
    args: (1, 1),
    resolve: |args| resolve_same(args),
    eval: |call, cx| Ok(call.value(0, cx)?.into_owned()),
    foldable: false,
};

/// What `as_number` makes of a date or time in a text.
pub(super) static NUMBER_OF_DATE: FuncDef = FuncDef {
    name: "NUMBER OF DATE",
    args: (1, 1),
    resolve: |_| number(ColumnType::double()),
    eval: number_of_date,
    foldable: true,
};

/// The first argument as a text under the collation of the second.
fn as_text(args: &[Expr]) -> Result<FuncType> {
    let [value, text] = args else { return Err(Error::internal("a text of nothing")) };
    let ty = string_type(u64::from(char_length(&value.ty)), text.ty.collation);
    Ok(FuncType { ty, nullable: value.nullable, coercibility: value.coercibility })
}

/// A binary string as a text in the charset of the second argument.
static TEXT_OF_BINARY: FuncDef = FuncDef {
    name: "TEXT OF BINARY",
    args: (2, 2),
    resolve: |args| as_text(args).map(|ty| FuncType { coercibility: ty.coercibility.max(4), ..ty }),
    eval: |call, cx| {
        let value = call.value(0, cx)?.into_owned();
        if let Value::Bytes(bytes) = &value {
            check_binary(bytes, call.ty.collation)?;
            return Ok(Value::bytes(charset(call.ty.collation).whole_units(bytes)));
        }
        Ok(value)
    },
    foldable: true,
};

/// `expr`, a binary string, as a text under `collation`.
pub fn text_of_binary(expr: Expr, collation: CollationId) -> Result<Expr> {
    let text = Expr::literal(Value::Null, ColumnType::varchar(0, collation));
    super::call(&TEXT_OF_BINARY, vec![expr, text])
}

/// A text in the charset of the second argument's type, with error 3854 if that has not all of its characters.
static TEXT_IN_CHARSET: FuncDef = FuncDef {
    name: "TEXT IN CHARSET",
    args: (2, 2),
    resolve: |args| as_text(args),
    eval: |call, cx| {
        let text = arg!(call.text(0, cx));
        let (from, to) = (charset(call.arg_type(0).collation), charset(call.ty.collation));
        let converted = from.convert(to, &text);
        match converted.replaced {
            0 => Ok(Value::bytes(converted.bytes)),
            _ => Err(Error::new(&errno::ER_CANNOT_CONVERT_STRING, &[&first_bytes(&text), &from.name, &to.name])),
        }
    },
    foldable: true,
};

/// `expr`, a string, as a text under `collation`, in whose charset it must be possible to write it.
pub fn text_in_charset(expr: Expr, collation: CollationId) -> Result<Expr> {
    if expr.ty.collation == CollationId::BINARY {
        return text_of_binary(expr, collation);
    }
    if same_charset(expr.ty.collation, collation) {
        return Ok(expr);
    }
    let text = Expr::literal(Value::Null, ColumnType::varchar(0, collation));
    super::call(&TEXT_IN_CHARSET, vec![expr, text])
}

/// A number as a column of texts of the second argument's type stores it: with as many digits as there is room for.
static TEXT_OF_NUMBER: FuncDef = FuncDef {
    name: "TEXT OF NUMBER",
    args: (2, 2),
    resolve: |args| match &args[..] {
        [number, text] => Ok(FuncType { ty: text.ty.clone(), nullable: number.nullable, coercibility: number.coercibility }),
        _ => Err(Error::internal("a text of no number")),
    },
    eval: |call, cx| {
        let number = arg!(call.f64(0, cx));
        let mut text = Vec::new();
        write_double_within(&mut text, number, char_length(call.ty) as usize);
        Ok(Value::from(text))
    },
    foldable: true,
};

/// `number`, a FLOAT, as a column of a UNION whose columns are texts of type `ty`.
pub fn text_of_number(number: Expr, ty: &ColumnType) -> Result<Expr> {
    super::call(&TEXT_OF_NUMBER, vec![number, Expr::literal(Value::Null, ty.clone())])
}

/// Error 3854 if `bytes` are no text in the charset of `collation`.
pub(super) fn check_binary(bytes: &[u8], collation: CollationId) -> Result<()> {
    let charset = charset(collation);
    if charset.is_binary() || charset.validate(&charset.whole_units(bytes)).is_ok() {
        return Ok(());
    }
    Err(Error::new(&errno::ER_CANNOT_CONVERT_STRING, &[&first_bytes(bytes), &"binary", &charset.name]))
}

/// A number that is read from a text without a warning.
pub(super) static QUIET_NUMBER: FuncDef = FuncDef {
    name: "QUIET NUMBER",
    args: (1, 1),
    resolve: |args| Ok(FuncType { nullable: args.iter().any(|arg| arg.nullable), ..number(ColumnType::double())? }),
    eval: |call, cx| Ok(Value::Float(coerce::parse_f64(&arg!(call.text(0, cx))).0)),
    foldable: true,
};

/// A text that is no literal as a DECIMAL: one without a number is warning 1366. Columns are named besides, if there is more to them.
pub(super) static DECIMAL_OF_TEXT: FuncDef =
    FuncDef { name: "DECIMAL OF TEXT", args: (1, 1), resolve: |args| resolve_same(args), eval: decimal_of_text, foldable: true };

/// An integer that is read from a text without a warning.
pub(super) static QUIET_INTEGER: FuncDef = FuncDef {
    name: "QUIET INTEGER",
    args: (1, 1),
    resolve: |args| resolve_same(args),
    eval: |call, cx| {
        let n = coerce::int_of_text(&arg!(call.text(0, cx))).0;
        Ok(i64::try_from(n).map_or(Value::UInt(n as u64), Value::Int))
    },
    foldable: true,
};

/// A DOUBLE that an operation has computed, where an integer is wanted.
pub(super) static INTEGER_OF_DOUBLE: FuncDef = FuncDef {
    name: "INTEGER OF DOUBLE",
    args: (1, 1),
    resolve: |args| Ok(FuncType { nullable: args.iter().any(|arg| arg.nullable), ..number(ColumnType::bigint())? }),
    eval: |call, cx| {
        let number = arg!(call.f64(0, cx));
        let [operand] = call.args else { return Ok(Value::Null) };
        integer_of_double(number, operand, cx).map(Value::Int)
    },
    foldable: true,
};

/// A date or time that a function has computed, or the text of one, where an integer is wanted: the number is rounded, without carrying
/// into the minutes as that of a column is.
pub(super) static INTEGER_OF_MOMENT: FuncDef = FuncDef {
    name: "INTEGER OF MOMENT",
    args: (1, 1),
    resolve: |args| Ok(FuncType { nullable: args.iter().any(|arg| arg.nullable), ..number(ColumnType::bigint())? }),
    eval: |call, cx| {
        let moment = match call.arg_type(0).is_bytes() {
            true => moment_of_text(call, cx)?,
            false => call.value(0, cx)?.into_owned(),
        };
        Ok(match moment {
            Value::Null => Value::Null,
            moment => Value::Int(coerce::temporal_number(&moment).to_i64().0),
        })
    },
    foldable: true,
};

/// A date or time in a text, as what it is.
pub(super) static MOMENT_OF_TEXT: FuncDef =
    FuncDef { name: "MOMENT OF TEXT", args: (1, 1), resolve: |args| resolve_same(args), eval: moment_of_text, foldable: true };

/// A DATE among values with times of day, also the zero date.
pub(super) static MIDNIGHT: FuncDef = FuncDef {
    name: "MIDNIGHT",
    args: (1, 1),
    resolve: |args| {
        let nullable = args.iter().any(|arg| arg.nullable);
        Ok(FuncType { nullable, ..number(ColumnType::temporal(TypeKind::DateTime, 0))? })
    },
    eval: |call, cx| {
        Ok(match &*call.value(0, cx)? {
            Value::Date(day) => Value::DateTime(day.to_datetime()),
            other => other.clone(),
        })
    },
    foldable: true,
};

/// BETWEEN of numbers some of which are texts: MySQL reads both bounds, whatever the first one says.
pub(super) static BETWEEN_NUMBERS: FuncDef = FuncDef {
    name: "BETWEEN",
    args: (3, 3),
    resolve: |args| {
        let nullable = args.iter().any(|arg| arg.nullable);
        Ok(FuncType { ty: ColumnType::boolean(), nullable, coercibility: COERCIBILITY_NUMERIC })
    },
    eval: |call, cx| {
        let value = arg!(call.f64(0, cx));
        let (low, high) = (call.f64(1, cx)?, call.f64(2, cx)?);
        let (above, below) = (low.map(|low| value >= low), high.map(|high| value <= high));
        Ok(match (above, below) {
            (Some(false), _) | (_, Some(false)) => Value::bool(false),
            (None, _) | (_, None) => Value::Null,
            _ => Value::bool(true),
        })
    },
    foldable: true,
};

/// BETWEEN of a value that another evaluation would change: two comparisons, of which only the first evaluates its left side.
pub(super) static BETWEEN_ONCE: FuncDef = FuncDef {
    name: FuncDef::BETWEEN_ONCE,
    args: (2, 2),
    resolve: |args| {
        let nullable = args.iter().any(|arg| arg.nullable);
        Ok(FuncType { ty: ColumnType::boolean(), nullable, coercibility: COERCIBILITY_NUMERIC })
    },
    eval: crate::eval::between_once,
    foldable: false,
};

/// A text as the DOUBLE column of a temporary table takes it.
static STORED_NUMBER: FuncDef = FuncDef {
    name: "STORED NUMBER",
    args: (1, 1),
    resolve: |_| number(ColumnType::double()),
    eval: |call, cx| {
        let text = arg!(call.text(0, cx));
        let (number, used) = coerce::parse_f64(&text);
        if used < text.len() || text.is_empty() {
            let shown = coerce::shown(&text, call.arg_type(0).collation);
            let message = format!("Incorrect DOUBLE value: '{shown}' for column '' at row 1");
            cx.env.warn(Level::Warning, Error::with_message(&errno::ER_TRUNCATED_WRONG_VALUE_FOR_FIELD, message));
        }
        Ok(Value::Float(number))
    },
    foldable: true,
};

/// `expr` as SUM and AVG of distinct values add it: in MySQL they go through a temporary table.
pub fn stored_number(expr: Expr) -> Result<Expr> {
    let is_text = is_string(&expr.ty) && !is_hex_literal(&expr.ty) && expr.ty.is_bytes();
    if is_text { super::call(&STORED_NUMBER, vec![expr]) } else { Ok(expr) }
}

fn number(ty: ColumnType) -> Result<FuncType> {
    Ok(FuncType { ty, nullable: true, coercibility: COERCIBILITY_NUMERIC })
}

fn resolve_same(args: &[Expr]) -> Result<FuncType> {
    let of = args.first().ok_or_else(|| Error::internal("a conversion of nothing"))?;
    Ok(FuncType { ty: of.ty.clone(), nullable: of.nullable, coercibility: of.coercibility })
}

/// A number or a text of two digits as a YEAR column takes it: 99 is 1999, 1 is 2001, '0' is 2000 (but 0 is year 0).
/// Other values stay.
pub fn full_year(value: &Value) -> Value {
    let full = |n: i64| match n {
        0..70 => 2000 + n,
        70..100 => 1900 + n,
        n => n,
    };
    match value {
        Value::Int(n @ 1..100) => Value::Int(full(*n)),
        Value::UInt(n @ 1..100) => Value::UInt(full(*n as i64) as u64),
        Value::Float(f) if f.fract() == 0.0 && (1.0..100.0).contains(f) => Value::Float(full(*f as i64) as f64),
        Value::Decimal(d) if d.truncate(0) == *d => match d.to_i64() {
            (n @ 1..100, false) => Value::Decimal(Decimal::from(full(n))),
            _ => value.clone(),
        },
        Value::Bytes(text) => match std::str::from_utf8(text).map(str::parse::<u8>) {
            Ok(Ok(n)) if text.len() <= 2 => Value::from(full(i64::from(n)).to_string()),
            _ => value.clone(),
        },
        _ => value.clone(),
    }
}

pub fn year_type() -> ColumnType {
    ColumnType { length: 4, unsigned: true, ..ColumnType::new(TypeKind::Year) }
}

fn decimal_of_text(call: &FuncCall<'_>, cx: &EvalCx<'_>) -> Result<Value> {
    let (value, ty) = (call.value(0, cx)?, call.arg_type(0));
    let Value::Bytes(text) = &*value else { return Ok(value.into_owned()) };
    let readable = coerce::readable(&value, ty);
    let parsed = match &readable {
        Some((Value::Bytes(text), _)) => Decimal::parse(text),
        _ => Decimal::parse(text),
    };
    if parsed.used == 0 {
        let message = "Incorrect DECIMAL value: '0' for column '' at row -1".to_string();
        cx.env.warn(Level::Warning, Error::with_message(&errno::ER_TRUNCATED_WRONG_VALUE_FOR_FIELD, message));
    }
    let is_column = call.args.first().is_some_and(|arg| matches!(arg.kind, ExprKind::Slot(_) | ExprKind::Outer { .. }));
    if is_column || parsed.overflow {
        return coerce::to_decimal(&value, ty, cx.env).map(Value::Decimal);
    }
    Ok(Value::Decimal(parsed.value))
}

fn moment_of_text(call: &FuncCall<'_>, cx: &EvalCx<'_>) -> Result<Value> {
    Ok(match arg!(call.date_or_time(0, cx)) {
        DateOrTime::DateTime(at) if is_date_text(&*call.value(0, cx)?, call.arg_type(0)) => Value::Date(at.date()),
        DateOrTime::DateTime(at) => Value::DateTime(at),
        DateOrTime::Time(time) => Value::Time(time),
    })
}

fn number_of_date(call: &FuncCall<'_>, cx: &EvalCx<'_>) -> Result<Value> {
    Ok(match moment_of_text(call, cx)? {
        Value::Null => Value::Null,
        moment => Value::Float(coerce::temporal_number(&moment).to_f64()),
    })
}
