//! Functions that ask the session or the server: their arguments are evaluated here, the answer
//! comes from `Env::session_function` under the name given here.

use vaquita_types::{ColumnType, Result, TypeKind, Value};

use super::args::volatile;
use super::{FuncCall, FuncDef, FuncType};
use crate::env::EvalCx;
use crate::expr::Expr;
use crate::typing::int_of_length;

macro_rules! ask {
    ($name:literal) => {
        |call: &FuncCall<'_>, cx: &EvalCx<'_>| ask($name, call, cx)
    };
}

pub(super) static FUNCTIONS: &[FuncDef] = &[
    volatile("DATABASE", 0, 0, |_| system(34, true), ask!("DATABASE")),
    volatile("SCHEMA", 0, 0, |_| system(34, true), ask!("DATABASE")),
    volatile("USER", 0, 0, |_| system(288, true), ask!("USER")),
    volatile("SESSION_USER", 0, 0, |_| system(288, true), ask!("USER")),
    volatile("SYSTEM_USER", 0, 0, |_| system(288, true), ask!("USER")),
    volatile("CURRENT_USER", 0, 0, |_| system(288, true), ask!("CURRENT_USER")),
    volatile("CURRENT_ROLE", 0, 0, |_| system(1 << 14, false), ask!("CURRENT_ROLE")),
    volatile("VERSION", 0, 0, |_| system(16, false), ask!("VERSION")),
    volatile("ICU_VERSION", 0, 0, |_| system(5, false), ask!("ICU_VERSION")),
    volatile("CONNECTION_ID", 0, 0, |_| unsigned(21, false), ask!("CONNECTION_ID")),
    volatile("LAST_INSERT_ID", 0, 1, |_| unsigned(21, false), ask!("LAST_INSERT_ID")),
    volatile("ROW_COUNT", 0, 0, |_| FuncType::number(int_of_length(21), false), ask!("ROW_COUNT")),
    volatile("FOUND_ROWS", 0, 0, |_| FuncType::number(int_of_length(21), false), ask!("FOUND_ROWS")),
    volatile("UUID_SHORT", 0, 0, |_| unsigned(21, false), ask!("UUID_SHORT")),
    volatile("SLEEP", 1, 1, |_| FuncType::number(int_of_length(21), false), ask!("SLEEP")),
    volatile("BENCHMARK", 2, 2, |_| FuncType::number(int_of_length(1), false), benchmark),
    volatile("GET_LOCK", 2, 2, |_| FuncType::number(int_of_length(1), true), ask!("GET_LOCK")),
    volatile("RELEASE_LOCK", 1, 1, |_| FuncType::number(int_of_length(1), true), ask!("RELEASE_LOCK")),
    volatile("RELEASE_ALL_LOCKS", 0, 0, |_| unsigned(21, false), ask!("RELEASE_ALL_LOCKS")),
    volatile("IS_FREE_LOCK", 1, 1, |_| FuncType::number(int_of_length(1), true), ask!("IS_FREE_LOCK")),
    volatile("IS_USED_LOCK", 1, 1, |_| unsigned(21, true), ask!("IS_USED_LOCK")),
    // Files of the server are out of reach, as with `secure_file_priv=NULL`.
    volatile("LOAD_FILE", 1, 1, |_| FuncType::binary(1 << 24), |_, _| Ok(Value::Null)),
    volatile("PS_CURRENT_THREAD_ID", 0, 0, |_| unsigned(21, true), ask!("PS_CURRENT_THREAD_ID")),
    volatile("PS_THREAD_ID", 1, 1, |_| unsigned(21, true), ask!("PS_THREAD_ID")),
];

/// Text about the system: utf8mb3_general_ci, stronger than literals and weaker than columns.
fn system(chars: u32, nullable: bool) -> Result<FuncType> {
    let ty = ColumnType::varchar(chars, vaquita_types::charset::CollationId::UTF8MB3_GENERAL_CI);
    Ok(FuncType { ty, nullable, coercibility: 3 })
}

fn unsigned(length: u32, nullable: bool) -> Result<FuncType> {
    FuncType::number(ColumnType { length, unsigned: true, ..ColumnType::new(TypeKind::BigInt) }, nullable)
}

fn ask(name: &str, call: &FuncCall<'_>, cx: &EvalCx<'_>) -> Result<Value> {
    let args = call.args.iter().map(|a| a.eval(cx).map(|v| v.into_owned())).collect::<Result<Vec<Value>>>()?;
    let value = cx.env.session_function(name, &args)?;
    // Counts come as either kind of integer; the type decides.
    Ok(match value {
        Value::Int(i) if call.ty.unsigned => Value::UInt(i as u64),
        Value::UInt(u) if call.ty.is_integer() && !call.ty.unsigned => Value::Int(u as i64),
        other => other,
    })
}

/// BENCHMARK(count, expr): evaluates and gives 0.
fn benchmark(call: &FuncCall<'_>, cx: &EvalCx<'_>) -> Result<Value> {
    let Some(count) = call.int(0, cx)?.filter(|n| *n >= 0) else { return Ok(Value::Null) };
    if let Some(expr) = call.args.get(1) {
        for _ in 0..count {
            cx.env.check_interrupt()?;
            run(expr, cx)?;
        }
    }
    Ok(Value::Int(0))
}

fn run(expr: &Expr, cx: &EvalCx<'_>) -> Result<()> {
    expr.eval(cx).map(drop)
}
