//! Expressions as the text that MySQL puts into error 1690: ``BIGINT value is out of range in '(`d`.`t`.`a` + 1)'``.
//!
//! A running expression knows its columns by slots only. It prints each as a *mark* that holds the slot and the
//! present value; whoever runs the plan puts the column's name there (`name_columns`), and whoever answers the client puts
//! the value of a mark that is left (`unmarked`). So nothing is kept for errors that do not happen. A plan inside another
//! one leaves the marks of the outer frame to that one's run, one level less deep.

use std::collections::HashMap;

use vaquita_parser::ast::MatchMode;
use vaquita_types::{Error, TypeKind, Value, errno, stack};

use super::coerce::{printable, text_of};
use crate::env::EvalCx;
use crate::expr::{Expr, ExprKind, Slot};
use crate::function::FuncDef;
use crate::node::{AggregateKind, Node, QueryPlan};
use crate::text::is_hex_literal;
use crate::visit;

/// A mark is `START depth MIDDLE slot MIDDLE value END`.
const START: char = '\u{1}';
const MIDDLE: char = '\u{2}';
const END: char = '\u{3}';

/// `(a op b)` or `name(a,b)` for a call that is being evaluated.
pub fn print_call(name: &str, args: &[Expr], cx: &EvalCx<'_>) -> String {
    let mut out = String::new();
    write_call(name, args, &Columns::Row(cx), &mut out);
    out
}

/// An operand of a call that is being evaluated.
pub fn print_operand(operand: &Expr, cx: &EvalCx<'_>) -> String {
    let mut out = String::new();
    write(operand, &Columns::Row(cx), &mut out);
    out
}

/// `(moment + interval amount unit)` of a call that is being evaluated.
pub fn print_sum(moment: &Expr, operator: &str, amount: &Expr, unit: &str, cx: &EvalCx<'_>) -> String {
    let mut out = String::new();
    parenthesized(&mut out, |out| {
        write(moment, &Columns::Row(cx), out);
        out.push_str(&format!(" {operator} interval "));
        write(amount, &Columns::Row(cx), out);
        out.push_str(&format!(" {}", unit.to_lowercase()));
    });
    out
}

/// An expression without the names of its columns.
pub fn print_expr(expr: &Expr) -> String {
    print_named(expr, &HashMap::new())
}

/// The error of a plan's run with the names of the columns that `root` fills.
pub fn name_columns(error: Error, root: &Node) -> Error {
    if !error.is(&errno::ER_DATA_OUT_OF_RANGE) || !error.message().contains(START) {
        return error;
    }
    let mut names = HashMap::new();
    collect(root, &mut names);
    name_slots(error, &names)
}

/// As `name_columns`, for slots whose names are known.
pub fn name_slots(error: Error, names: &HashMap<Slot, String>) -> Error {
    replace_marks(error, |depth, slot, value| match depth {
        0 => names.get(&slot).cloned().unwrap_or_else(|| value.to_string()),
        _ => mark(depth - 1, slot, value),
    })
}

/// The error with values in the place of columns that got no name.
pub fn unmarked(error: Error) -> Error {
    replace_marks(error, |_, _, value| value.to_string())
}

fn replace_marks(error: Error, replacement: impl Fn(usize, Slot, &str) -> String) -> Error {
    let code = [&errno::ER_DATA_OUT_OF_RANGE, &errno::ER_TEMPORAL_FUNCTION_OVERFLOW].into_iter().find(|code| error.is(code));
    let Some(code) = code.filter(|_| error.message().contains(START)) else { return error };
    let mut out = String::new();
    let mut rest = error.message();
    while let Some((before, after)) = rest.split_once(START) {
        out.push_str(before);
        let Some((inside, after)) = after.split_once(END) else { break };
        let mut parts = inside.splitn(3, MIDDLE);
        let number = |part: Option<&str>| part.and_then(|p| p.parse().ok()).unwrap_or(0);
        let (depth, slot) = (number(parts.next()), number(parts.next()));
        out.push_str(&replacement(depth, slot, parts.next().unwrap_or_default()));
        rest = after;
    }
    out.push_str(rest);
    Error::with_message(code, out)
}

fn mark(depth: usize, slot: Slot, value: &str) -> String {
    format!("{START}{depth}{MIDDLE}{slot}{MIDDLE}{value}{END}")
}

/// `` `db`.`table`.`column` `` as the text of errors quotes it.
pub fn quoted(parts: &[&str]) -> String {
    parts.iter().map(|p| format!("`{p}`")).collect::<Vec<_>>().join(".")
}

/// The names of the slots that a node and those below it fill.
fn collect(node: &Node, names: &mut HashMap<Slot, String>) {
    visit::inputs(node, &mut |input| collect(input, names));
    match node {
        Node::Scan(scan) => {
            let computed = scan.computed.iter().map(|column| (&column.position, &column.slot));
            for (column, slot) in scan.columns.iter().map(|(column, slot)| (column, slot)).chain(computed) {
                if let Some(def) = scan.table.columns.get(*column) {
                    let name = match &def.generated {
                        Some(generated) if generated.hidden => generated.expr.clone(),
                        _ => quoted(&[&scan.table.database, &scan.alias, &def.name]),
                    };
                    names.insert(*slot, name);
                }
            }
        }
        Node::Derived { plan, slots, .. } => outputs(plan, slots, names),
        Node::RecursiveCte { seed, slots, .. } => outputs(seed, slots, names),
        Node::Aggregate { keys, aggregates, .. } => {
            for (key, slot) in keys {
                let name = print_named(key, names);
                names.insert(*slot, name);
            }
            for aggregate in aggregates {
                let args: Vec<String> = aggregate.args.iter().map(|a| print_named(a, names)).collect();
                let distinct = if aggregate.distinct { "distinct " } else { "" };
                let args = if args.is_empty() { "0".to_string() } else { args.join(",") };
                names.insert(aggregate.slot, format!("{}({distinct}{args})", aggregate_name(aggregate.kind)));
            }
        }
        Node::RowCount { slot, .. } => drop(names.insert(*slot, "count(0)".to_string())),
        _ => {}
    }
}

fn outputs(plan: &QueryPlan, slots: &[Slot], names: &mut HashMap<Slot, String>) {
    for (output, slot) in plan.output.iter().zip(slots) {
        names.insert(*slot, quoted(&[&output.name]));
    }
}

fn aggregate_name(kind: AggregateKind) -> String {
    match kind {
        AggregateKind::CountStar => "count".to_string(),
        AggregateKind::StdDevPop => "std".to_string(),
        AggregateKind::VarPop => "variance".to_string(),
        AggregateKind::GroupConcat => "group_concat".to_string(),
        AggregateKind::AnyValue => "any_value".to_string(),
        AggregateKind::BitAnd => "bit_and".to_string(),
        AggregateKind::BitOr => "bit_or".to_string(),
        AggregateKind::BitXor => "bit_xor".to_string(),
        AggregateKind::StCollect => "st_collect".to_string(),
        other => format!("{other:?}").to_lowercase(),
    }
}

fn print_named(expr: &Expr, names: &HashMap<Slot, String>) -> String {
    let mut out = String::new();
    write(expr, &Columns::Names(names), &mut out);
    out
}

/// Where columns get what is printed for them.
enum Columns<'a> {
    /// Marks with the values of the row at hand.
    Row(&'a EvalCx<'a>),
    Names(&'a HashMap<Slot, String>),
}

impl Columns<'_> {
    fn column(&self, depth: usize, slot: Slot, expr: &Expr) -> String {
        match self {
            Columns::Row(cx) => {
                let value = match super::eval(expr, cx) {
                    Ok(value) => shown(&value, expr),
                    Err(_) => "?".to_string(),
                };
                mark(depth, slot, &value)
            }
            Columns::Names(names) => names.get(&slot).cloned().unwrap_or_else(|| "?".to_string()),
        }
    }
}

fn write(expr: &Expr, columns: &Columns<'_>, out: &mut String) {
    stack::deeper(|| write_any(expr, columns, out));
}

fn write_any(expr: &Expr, columns: &Columns<'_>, out: &mut String) {
    match &expr.kind {
        ExprKind::Call(def, args) if def.name == FuncDef::BETWEEN_ONCE => write_truths(args, " and ", columns, out),
        ExprKind::Call(def, args) => match def.stored_call(args) {
            Some((name, given)) => write_function(&quoted(&[&name]), given, columns, out),
            None => write_call(def.name, args, columns, out),
        },
        ExprKind::Cast(inner) => write_cast(inner, expr, columns, out),
        ExprKind::UserVar(name) => out.push_str(&format!("(@`{name}`)")),
        ExprKind::Slot(slot) => out.push_str(&columns.column(0, *slot, expr)),
        ExprKind::Outer { depth, slot } => out.push_str(&columns.column(*depth, *slot, expr)),
        ExprKind::Literal(value) => out.push_str(&shown(value, expr)),
        ExprKind::Param(_) => match columns {
            Columns::Row(cx) => out.push_str(&super::eval(expr, cx).map_or("?".to_string(), |value| shown(&value, expr))),
            Columns::Names(_) => out.push('?'),
        },
        ExprKind::And(parts) => write_truths(parts, " and ", columns, out),
        ExprKind::Or(parts) => write_truths(parts, " or ", columns, out),
        ExprKind::IsNull(inner) => parenthesized(out, |out| {
            write(inner, columns, out);
            out.push_str(" is null");
        }),
        ExprKind::Not(inner) => write_not(inner, columns, out),
        ExprKind::Compare(op, a, b, _) => write_infix(a, op.token(), b, columns, out),
        ExprKind::InList(value, list, _) => parenthesized(out, |out| {
            write(value, columns, out);
            out.push_str(" in (");
            write_list(list, columns, out);
            out.push(')');
        }),
        ExprKind::Case { operand, whens, otherwise } => parenthesized(out, |out| {
            out.push_str("case");
            if let Some(operand) = operand {
                out.push(' ');
                write(&operand.0, columns, out);
            }
            for (when, then) in whens {
                out.push_str(" when ");
                write(when, columns, out);
                out.push_str(" then ");
                write(then, columns, out);
            }
            if let Some(otherwise) = otherwise {
                out.push_str(" else ");
                write(otherwise, columns, out);
            }
            out.push_str(" end");
        }),
        ExprKind::Match(search) => parenthesized(out, |out| {
            out.push_str(&format!("match {} against (", search.columns.join(",")));
            write(&search.against, columns, out);
            out.push_str(mode_text(search.mode));
            out.push(')');
        }),
        ExprKind::Row(_) | ExprKind::AssignVar(..) | ExprKind::SysVar(..) | ExprKind::Subquery(_) => out.push_str("..."),
    }
}

/// What stands behind the text that is searched for.
pub fn mode_text(mode: MatchMode) -> &'static str {
    match mode {
        MatchMode::NaturalLanguage => "",
        MatchMode::NaturalLanguageWithExpansion => " with query expansion",
        MatchMode::Boolean => " in boolean mode",
    }
}

fn parenthesized(out: &mut String, inside: impl FnOnce(&mut String)) {
    out.push('(');
    inside(out);
    out.push(')');
}

fn write_list(list: &[Expr], columns: &Columns<'_>, out: &mut String) {
    for (n, item) in list.iter().enumerate() {
        if n > 0 {
            out.push(',');
        }
        write(item, columns, out);
    }
}

fn write_infix(a: &Expr, op: &str, b: &Expr, columns: &Columns<'_>, out: &mut String) {
    parenthesized(out, |out| {
        write(a, columns, out);
        out.push_str(&format!(" {op} "));
        write(b, columns, out);
    });
}

/// Operands of AND, OR and XOR: what is no truth value is compared with 0.
fn write_truths(parts: &[Expr], word: &str, columns: &Columns<'_>, out: &mut String) {
    parenthesized(out, |out| {
        for (n, part) in parts.iter().enumerate() {
            if n > 0 {
                out.push_str(word);
            }
            match part.kind {
                ExprKind::Slot(_) | ExprKind::Outer { .. } | ExprKind::Literal(_) | ExprKind::Call(..) => {
                    out.push_str("(0 <> ");
                    write(part, columns, out);
                    out.push(')');
                }
                _ => write(part, columns, out),
            }
        }
    });
}

fn write_not(inner: &Expr, columns: &Columns<'_>, out: &mut String) {
    match &inner.kind {
        ExprKind::IsNull(value) => parenthesized(out, |out| {
            write(value, columns, out);
            out.push_str(" is not null");
        }),
        ExprKind::Slot(_) | ExprKind::Outer { .. } | ExprKind::Call(..) => parenthesized(out, |out| {
            out.push_str("0 = ");
            write(inner, columns, out);
        }),
        _ => {
            out.push_str("(not(");
            write(inner, columns, out);
            out.push_str("))");
        }
    }
}

/// CAST as it was written; conversions that typing put in are not shown.
fn write_cast(inner: &Expr, cast: &Expr, columns: &Columns<'_>, out: &mut String) {
    let target = match cast.ty.kind {
        TypeKind::BigInt if cast.ty.unsigned => "unsigned",
        TypeKind::BigInt if inner.ty.is_bytes() => "signed",
        _ => return write(inner, columns, out),
    };
    out.push_str("cast(");
    write(inner, columns, out);
    out.push_str(&format!(" as {target})"));
}

fn shown(value: &Value, expr: &Expr) -> String {
    let text = printable(&text_of(value, &expr.ty));
    match value {
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
    }
}

fn write_call(name: &str, args: &[Expr], columns: &Columns<'_>, out: &mut String) {
    match (name, args) {
        ("XOR", parts) => write_truths(parts, " xor ", columns, out),
        ("LIKE" | "REGEXP", [a, b]) => write_infix(a, &name.to_ascii_lowercase(), b, columns, out),
        ("EXTRACT", [Expr { kind: ExprKind::Literal(Value::Bytes(unit)), .. }, from]) => {
            out.push_str(&format!("extract({} from ", String::from_utf8_lossy(unit).to_lowercase()));
            write(from, columns, out);
            out.push(')');
        }
        ("DATEDIFF", [a, b]) => parenthesized(out, |out| {
            out.push_str("to_days(");
            write(a, columns, out);
            out.push_str(") - to_days(");
            write(b, columns, out);
            out.push(')');
        }),
        // Conversions that typing put in.
        (
            "DECIMAL OF TEXT" | "INTEGER OF DOUBLE" | "INTEGER OF MOMENT" | "MIDNIGHT" | "MOMENT OF TEXT" | "NUMBER OF DATE"
            | "QUIET INTEGER" | "QUIET NUMBER" | "STORED NUMBER",
            [a],
        ) => write(a, columns, out),
        ("NEG", [a]) => {
            out.push_str("-(");
            write(a, columns, out);
            out.push(')');
        }
        (_, [a, b]) if !name.starts_with(|c: char| c.is_ascii_alphabetic()) || name == "DIV" => {
            write_infix(a, name, b, columns, out);
        }
        _ => write_function(&name.to_ascii_lowercase(), args, columns, out),
    }
}

fn write_function(name: &str, args: &[Expr], columns: &Columns<'_>, out: &mut String) {
    out.push_str(name);
    out.push('(');
    write_list(args, columns, out);
    out.push(')');
}
