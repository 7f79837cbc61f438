//! STATEMENT_DIGEST and STATEMENT_DIGEST_TEXT: a statement without its literals. VALIDATE_PASSWORD_STRENGTH.

use sha2::{Digest, Sha256};
use vaquita_parser::{digest, parse_one, parse_prepared};
use vaquita_types::charset::CollationId;
use vaquita_types::{Error, Result, Value, errno, memory};

use super::args::volatile;
use super::encode::hex_of;
use super::{FuncCall, FuncDef, FuncType};
use crate::env::EvalCx;
use crate::eval::arg;
use crate::settings::PlanSettings;
use crate::text;
use crate::typing::{int_of_length, is_string};

pub(super) static FUNCTIONS: &[FuncDef] = &[
    // Of the text: MySQL hashes the numbers of its parser's tokens.
    volatile(
        "STATEMENT_DIGEST",
        1,
        1,
        |_| FuncType::ascii(64),
        |call, cx| {
            let text = arg!(normalized(call, cx, "statement_digest"));
            Ok(Value::from(hex_of(&Sha256::digest(text.as_bytes())).to_ascii_lowercase()))
        },
    ),
    volatile(
        "STATEMENT_DIGEST_TEXT",
        1,
        1,
        |_| FuncType::ascii(super::args::SUM_BYTES_MAX),
        |call, cx| Ok(Value::from(arg!(normalized(call, cx, "statement_digest_text")))),
    ),
    // As in MySQL without a component that validates passwords.
    volatile(
        "VALIDATE_PASSWORD_STRENGTH",
        1,
        1,
        |_| FuncType::number(int_of_length(10), true),
        |call, cx| {
            arg!(call.text(0, cx));
            Ok(Value::Int(0))
        },
    ),
];

/// What a statement of tokens of one byte becomes: its tree, and the pieces of its digest.
const BYTES_PER_TEXT_BYTE: usize = 64;

/// The statement in the argument without its literals; error 3676 if it is none.
fn normalized(call: &FuncCall<'_>, cx: &EvalCx<'_>, function: &str) -> Result<Option<String>> {
    let Some(sql) = call.text(0, cx)? else { return Ok(None) };
    let ty = call.arg_type(0);
    if is_string(ty) && ty.collation == CollationId::BINARY {
        return Err(Error::new(&errno::ER_FUNCTION_DOES_NOT_SUPPORT_CHARACTER_SET, &[&function, &"binary"]));
    }
    let sql = if is_string(ty) { text::to_utf8(&sql, ty.collation) } else { String::from_utf8_lossy(&sql).into_owned() };
    memory::ask(sql.len().saturating_mul(BYTES_PER_TEXT_BYTE))?;
    let options = PlanSettings { sql_mode: cx.env.sql_mode(), ..PlanSettings::DEFAULT }.parser_options();
    let wrong = |error| Error::new(&errno::ER_PARSE_ERROR_IN_DIGEST_FN, &[&Error::from(error).message()]);
    let (_, end) = parse_one(sql.as_bytes(), &options).map_err(wrong)?;
    // One statement, as in PREPARE, which says where the next one begins.
    if sql.as_bytes().get(end..).is_some_and(|rest| !rest.trim_ascii().is_empty()) {
        parse_prepared(sql.as_bytes(), &options).map_err(wrong)?;
    }
    Ok(Some(digest::normalize(sql.as_bytes(), &options)))
}
