//! Functions that ask the session or the server around it (`env::AskSession`). One that reads a setting asks `Env::run_settings`
//! or `Env::sys_var` instead, wherever its family is. A function is one row here, with its evaluation.

use std::time::Duration;

use vaquita_types::charset::{CollationId, charset};
use vaquita_types::convert;
use vaquita_types::errno::{
    ER_USER_LOCK_OVERLONG_NAME, ER_USER_LOCK_WRONG_NAME, ER_WARN_ALLOWED_PACKET_OVERFLOWED, ER_WRONG_ARGUMENTS,
};
use vaquita_types::{ColumnType, Error, Result, TypeKind, Value, sql_mode};

use super::args::volatile;
use super::{FuncCall, FuncDef, FuncType};
use crate::env::{EvalCx, FileRead, Level};
use crate::expr::Expr;
use crate::typing::{int_of_length, is_string};

/// Characters of the name of a user lock.
const LOCK_NAME_CHARS_MAX: usize = 64;

pub(super) static FUNCTIONS: &[FuncDef] = &[
    volatile("DATABASE", 0, 0, |_| system(34, true), |_, cx| Ok(cx.env.session()?.database().map_or(Value::Null, Value::from))),
    volatile("SCHEMA", 0, 0, |_| system(34, true), |_, cx| Ok(cx.env.session()?.database().map_or(Value::Null, Value::from))),
    volatile("USER", 0, 0, |_| system(288, true), |_, cx| Ok(cx.env.session()?.user().into())),
    volatile("SESSION_USER", 0, 0, |_| system(288, true), |_, cx| Ok(cx.env.session()?.user().into())),
    volatile("SYSTEM_USER", 0, 0, |_| system(288, true), |_, cx| Ok(cx.env.session()?.user().into())),
    volatile("CURRENT_USER", 0, 0, |_| system(288, true), |_, cx| Ok(cx.env.session()?.account().into())),
    volatile("VERSION", 0, 0, |_| system(16, false), |_, cx| Ok(cx.env.session()?.server_version().into())),
    volatile("VERSION_WITH_UPDATE", 0, 0, |_| system(18, false), version_with_update),
    volatile("ICU_VERSION", 0, 0, |_| system(5, false), |_, _| Ok("77.1".into())),
    volatile("CONNECTION_ID", 0, 0, |_| unsigned(21, false), |_, cx| Ok(Value::UInt(cx.env.session()?.connection_id()))),
    volatile("LAST_INSERT_ID", 0, 1, |_| unsigned(21, false), last_insert_id),
    volatile("ROW_COUNT", 0, 0, |_| signed(21, false), |_, cx| Ok(Value::Int(cx.env.session()?.row_count()))),
    volatile("FOUND_ROWS", 0, 0, |_| signed(21, false), |_, cx| Ok(Value::Int(cx.env.session()?.found_rows() as i64))),
    volatile("UUID_SHORT", 0, 0, |_| unsigned(21, false), |_, cx| Ok(Value::UInt(cx.env.session()?.unique_number()))),
    volatile("SLEEP", 1, 1, |_| signed(21, false), sleep),
    volatile("BENCHMARK", 2, 2, |_| signed(1, false), benchmark),
    volatile("GET_LOCK", 2, 2, |_| signed(1, true), get_lock),
    volatile(
        "RELEASE_LOCK",
        1,
        1,
        |_| signed(1, true),
        |call, cx| Ok(cx.env.session()?.unlock(&lock_name(call, cx)?).map_or(Value::Null, Value::bool)),
    ),
    volatile("RELEASE_ALL_LOCKS", 0, 0, |_| unsigned(21, false), |_, cx| Ok(Value::UInt(cx.env.session()?.unlock_all()))),
    volatile(
        "IS_FREE_LOCK",
        1,
        1,
        |_| signed(1, true),
        |call, cx| Ok(Value::bool(cx.env.session()?.lock_owner(&lock_name(call, cx)?).is_none())),
    ),
    volatile(
        "IS_USED_LOCK",
        1,
        1,
        |_| unsigned(21, true),
        |call, cx| Ok(cx.env.session()?.lock_owner(&lock_name(call, cx)?).map_or(Value::Null, Value::UInt)),
    ),
    volatile("LOAD_FILE", 1, 1, |_| FuncType::binary(1 << 24), load_file),
    volatile(
        "PS_CURRENT_THREAD_ID",
        0,
        0,
        |_| unsigned(21, true),
        |_, cx| {
            let session = cx.env.session()?;
            Ok(session.thread_id(session.connection_id()).map_or(Value::Null, Value::UInt))
        },
    ),
    volatile("PS_THREAD_ID", 1, 1, |_| unsigned(21, true), thread_id),
];

/// Text about the system: utf8mb3_general_ci, stronger than literals and weaker than columns.
fn system(chars: u32, nullable: bool) -> Result<FuncType> {
    let ty = ColumnType::varchar(chars, CollationId::UTF8MB3_GENERAL_CI);
    Ok(FuncType { ty, nullable, coercibility: 3 })
}

/// The number of the update stands behind the version's numbers; it is 0.
fn version_with_update(_: &FuncCall<'_>, cx: &EvalCx<'_>) -> Result<Value> {
    let version = cx.env.session()?.server_version();
    Ok(match version.split_once('-') {
        Some((numbers, rest)) => Value::from(format!("{numbers}.0-{rest}")),
        None => Value::from(format!("{version}.0")),
    })
}

fn unsigned(length: u32, nullable: bool) -> Result<FuncType> {
    FuncType::number(ColumnType { length, unsigned: true, ..ColumnType::new(TypeKind::BigInt) }, nullable)
}

fn signed(length: u32, nullable: bool) -> Result<FuncType> {
    FuncType::number(int_of_length(length), nullable)
}

/// LAST_INSERT_ID(x) gives x, and so does the next LAST_INSERT_ID().
fn last_insert_id(call: &FuncCall<'_>, cx: &EvalCx<'_>) -> Result<Value> {
    let session = cx.env.session()?;
    if call.len() == 0 {
        return Ok(Value::UInt(session.last_insert_id()));
    }
    let id = call.value(0, cx)?;
    let number = match &*id {
        Value::Null => 0,
        Value::Int(i) => *i as u64,
        other => convert::to_u64(other, &ColumnType::null()).value,
    };
    session.give_last_insert_id(number);
    Ok(if id.is_null() { Value::Null } else { Value::UInt(number) })
}

/// SLEEP(seconds); 1 if a KILL or `max_execution_time` ends it. The statement fails where it next looks, if it does.
fn sleep(call: &FuncCall<'_>, cx: &EvalCx<'_>) -> Result<Value> {
    let seconds = call.value(0, cx)?;
    let is_null = seconds.is_null();
    let seconds = convert::to_f64(&seconds, &ColumnType::null()).value;
    let wrong = || Error::new(&ER_WRONG_ARGUMENTS, &[&"sleep."]);
    if is_null || seconds < 0.0 || seconds.is_nan() {
        if sql_mode::is_strict(cx.env.sql_mode()) {
            return Err(wrong());
        }
        cx.env.warn(Level::Warning, wrong());
        return Ok(Value::Int(0));
    }
    let duration = Duration::try_from_secs_f64(seconds).map_err(|_| wrong())?;
    Ok(Value::Int(i64::from(!cx.env.session()?.sleep(duration)?)))
}

/// GET_LOCK(name, seconds): a negative time is no limit.
fn get_lock(call: &FuncCall<'_>, cx: &EvalCx<'_>) -> Result<Value> {
    let name = lock_name(call, cx)?;
    let seconds = convert::to_i64(&*call.value(1, cx)?, &ColumnType::null()).value;
    let timeout = u64::try_from(seconds).ok().map(Duration::from_secs);
    Ok(Value::bool(cx.env.session()?.lock(&name, timeout)?))
}

/// The first argument as the name of a lock: in utf8mb3, as all names, and without case.
fn lock_name(call: &FuncCall<'_>, cx: &EvalCx<'_>) -> Result<String> {
    let Some(bytes) = call.text(0, cx)? else { return Err(Error::new(&ER_USER_LOCK_WRONG_NAME, &[&"NULL"])) };
    let ty = call.arg_type(0);
    let is_text = is_string(ty) && ty.collation != CollationId::BINARY;
    let own = charset(if is_text { ty.collation } else { CollationId::UTF8MB3_GENERAL_CI });
    let name: Option<String> = own.chars(&bytes).map(|c| c.code_point.and_then(char::from_u32)).collect();
    let Some(name) = name.filter(|name| !name.is_empty() && name.chars().all(|c| c.len_utf8() <= 3)) else {
        let shown = convert::message_text(&bytes);
        return Err(Error::new(&ER_USER_LOCK_WRONG_NAME, &[&shown]));
    };
    if name.chars().count() > LOCK_NAME_CHARS_MAX {
        return Err(Error::new(&ER_USER_LOCK_OVERLONG_NAME, &[&name, &LOCK_NAME_CHARS_MAX]));
    }
    Ok(name.to_lowercase())
}

/// LOAD_FILE(name): NULL if the file cannot be read, or is no value.
fn load_file(call: &FuncCall<'_>, cx: &EvalCx<'_>) -> Result<Value> {
    let Some(name) = call.text(0, cx)? else { return Ok(Value::Null) };
    let bytes_max = crate::eval::packet_bytes_max(cx.env);
    Ok(match cx.env.session()?.read_file(&name, bytes_max as u64)? {
        Some(FileRead::Bytes(bytes)) => Value::Bytes(bytes.into()),
        Some(FileRead::TooLong) => {
            cx.env.warn(Level::Warning, Error::new(&ER_WARN_ALLOWED_PACKET_OVERFLOWED, &[&"load_file", &bytes_max]));
            Value::Null
        }
        None => Value::Null,
    })
}

/// PS_THREAD_ID(connection)
fn thread_id(call: &FuncCall<'_>, cx: &EvalCx<'_>) -> Result<Value> {
    let id = call.value(0, cx)?;
    if id.is_null() {
        return Ok(Value::Null);
    }
    let id = convert::to_u64(&id, &ColumnType::null()).value;
    Ok(cx.env.session()?.thread_id(id).map_or(Value::Null, Value::UInt))
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
