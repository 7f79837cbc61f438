//! Expressions as the text that MySQL puts into error 1690: `(9223372036854775807 + 1)`.

use vaquita_types::Value;

use super::coerce::{printable, text_of};
use crate::env::EvalCx;
use crate::expr::{Expr, ExprKind};
use crate::typing::is_hex_literal;

/// `expr` as SQL. A column is shown by its value, as expressions do not keep names.
pub fn print(expr: &Expr, cx: &EvalCx<'_>) -> String {
    let mut out = String::new();
    write(expr, cx, &mut out);
    out
}

/// `(a op b)` or `name(a,b)` for a call that is being evaluated.
pub fn print_call(name: &str, args: &[Expr], cx: &EvalCx<'_>) -> String {
    let mut out = String::new();
    write_call(name, args, cx, &mut out);
    out
}

fn write(expr: &Expr, cx: &EvalCx<'_>, out: &mut String) {
    match &expr.kind {
        ExprKind::Call(def, args) => write_call(def.name, args, cx, out),
        ExprKind::Cast(inner) => write(inner, cx, out),
        ExprKind::UserVar(name) => out.push_str(&format!("(@`{name}`)")),
        ExprKind::Literal(_) | ExprKind::Param(_) | ExprKind::Slot(_) => match super::eval(expr, cx) {
            Ok(value) => write_value(&value, expr, out),
            Err(_) => out.push('?'),
        },
        _ => out.push_str("..."),
    }
}

fn write_value(value: &Value, expr: &Expr, out: &mut String) {
    let text = printable(&text_of(value, &expr.ty));
    let shown = match value {
        Value::Null => "NULL".to_string(),
        Value::Int(0) if expr.ty.length == 1 => "false".to_string(),
        Value::Int(1) if expr.ty.length == 1 => "true".to_string(),
        Value::Bytes(b) if is_hex_literal(&expr.ty) => format!("0x{}", b.iter().map(|b| format!("{b:02x}")).collect::<String>()),
        Value::Bytes(_) => format!("'{text}'"),
        Value::Date(_) => format!("DATE'{text}'"),
        Value::DateTime(_) => format!("TIMESTAMP'{text}'"),
        Value::Time(_) => format!("TIME'{text}'"),
        // A negative literal is a minus before a positive one.
        Value::Int(_) | Value::Decimal(_) | Value::Float(_) => match text.strip_prefix('-') {
            Some(positive) => format!("-({positive})"),
            None => text,
        },
        _ => text,
    };
    out.push_str(&shown);
}

fn write_call(name: &str, args: &[Expr], cx: &EvalCx<'_>, out: &mut String) {
    match args {
        [a, b] if !name.starts_with(|c: char| c.is_ascii_alphabetic()) || name == "DIV" => {
            out.push('(');
            write(a, cx, out);
            out.push_str(&format!(" {name} "));
            write(b, cx, out);
            out.push(')');
        }
        [a] if name == "NEG" => {
            out.push_str("-(");
            write(a, cx, out);
            out.push(')');
        }
        _ => {
            out.push_str(&name.to_ascii_lowercase());
            out.push('(');
            for (i, arg) in args.iter().enumerate() {
                if i > 0 {
                    out.push(',');
                }
                write(arg, cx, out);
            }
            out.push(')');
        }
    }
}
