//! REGEXP and the REGEXP_ functions, on `fancy-regex` with ICU's defaults: `.` and `$` know lines,
//! case follows the collation unless the match type says otherwise.
//!
//! Compiled expressions are kept per thread, as a statement matches the same one for every row.

use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use fancy_regex::{CompileError, Regex};
use vaquita_types::charset::{CollationId, collation};
use vaquita_types::limits::{REGEXP_BYTES_MAX, REGEXP_PARTS_MAX};
use vaquita_types::{ColumnType, Error, Result, TypeKind, Value, errno};

use super::args::{any_nullable, common_text, def};
use super::{FuncCall, FuncDef, FuncType};
use crate::env::EvalCx;
use crate::eval::arg;
use crate::expr::{Expr, ExprKind};
use crate::text;
use crate::typing::{char_length, int_of_length, text_in_charset};

pub(super) static FUNCTIONS: &[FuncDef] = &[
    def("REGEXP", 2, 2, resolve_match, |c, cx| like(c, cx, 2)),
    def("RLIKE", 2, 2, resolve_match, |c, cx| like(c, cx, 2)),
    def("REGEXP_LIKE", 2, 3, resolve_match, |c, cx| like(c, cx, 2)),
    def("REGEXP_INSTR", 2, 6, resolve_instr, instr),
    def("REGEXP_SUBSTR", 2, 5, resolve_substr, substr),
    def("REGEXP_REPLACE", 3, 6, resolve_replace, replace),
];

/// Compiled expressions that a thread keeps; all are dropped when it has more, and when one comes that may be large.
const KEPT_MAX: usize = 16;

/// Of their patterns: what is compiled takes some hundred times as much.
const KEPT_BYTES_MAX: usize = 64 << 10;

thread_local! {
    static COMPILED: RefCell<HashMap<(String, String), Rc<Regex>>> = RefCell::new(HashMap::new());
}

/// Binary strings beside texts are refused (3995); what is sent for a parameter is a text.
fn refuse_binary(args: &mut [Expr], name: &str, count: usize) -> Result<()> {
    let text = args.iter().take(count).find(|a| a.ty.is_bytes() && a.ty.collation != CollationId::BINARY);
    let Some(collation) = text.map(|text| text.ty.collation) else { return Ok(()) };
    // A column of BLOB or BINARY is taken for text.
    for arg in args.iter_mut().take(count).filter(|arg| arg.ty.kind == TypeKind::VarBinary) {
        if !matches!(arg.kind, ExprKind::Param(_)) || arg.is_variable() {
            let names = [arg.ty.collation, collation].map(text::collation_name);
            return Err(Error::new(&errno::ER_CHARACTER_SET_MISMATCH, &[&names[0], &names[1], &name]));
        }
        let taken = std::mem::replace(arg, Expr::literal(Value::Null, ColumnType::null()));
        *arg = text_in_charset(taken, collation)?;
    }
    Ok(())
}

fn resolve_match(args: &mut Vec<Expr>) -> Result<FuncType> {
    refuse_binary(args, "regexp_like", 2)?;
    let nullable = any_nullable(args);
    common_text(args, |i| i < 2, "regexp_like", true)?;
    FuncType::number(ColumnType::boolean(), nullable)
}

fn resolve_instr(args: &mut Vec<Expr>) -> Result<FuncType> {
    refuse_binary(args, "regexp_instr", 2)?;
    let nullable = any_nullable(args);
    common_text(args, |i| i < 2, "regexp_instr", true)?;
    FuncType::number(int_of_length(21), nullable)
}

fn resolve_substr(args: &mut Vec<Expr>) -> Result<FuncType> {
    refuse_binary(args, "regexp_substr", 2)?;
    let chars = args.first().map_or(0, |a| u64::from(char_length(&a.ty)));
    let collated = common_text(args, |i| i < 2, "regexp_substr", true)?;
    FuncType::string(chars, collated)
}

fn resolve_replace(args: &mut Vec<Expr>) -> Result<FuncType> {
    refuse_binary(args, "regexp_replace", 3)?;
    let collated = common_text(args, |i| i < 3, "regexp_replace", true)?;
    let ty =
        ColumnType { length: 67_108_864, collation: collated.collation, ..ColumnType::new(vaquita_types::TypeKind::LongText) };
    Ok(FuncType { ty, nullable: true, coercibility: collated.coercibility })
}

/// The expression for a pattern and match type; error 3685 for the empty pattern.
fn compile(pattern: &str, match_type: &str, id: CollationId) -> Result<Rc<Regex>> {
    let mut ignore_case = collation(id).name.ends_with("_ci");
    let (mut multi_line, mut dot_all) = (false, false);
    for c in match_type.chars() {
        match c {
            'c' => ignore_case = false,
            'i' => ignore_case = true,
            'm' => multi_line = true,
            'n' => dot_all = true,
            'u' => {}
            _ => return Err(Error::new(&errno::ER_WRONG_ARGUMENTS, &[&"regexp_like"])),
        }
    }
    if pattern.is_empty() {
        return Err(Error::new(&errno::ER_REGEXP_ILLEGAL_ARGUMENT, &[]));
    }
    let parts = parts(pattern);
    if pattern.len() > REGEXP_BYTES_MAX || parts > REGEXP_PARTS_MAX {
        return Err(Error::new(&errno::ER_REGEXP_PATTERN_TOO_BIG, &[]));
    }
    let mut flags = String::new();
    flags.extend([(ignore_case, 'i'), (multi_line, 'm'), (dot_all, 's')].iter().filter(|f| f.0).map(|f| f.1));
    let key = (pattern.to_string(), flags.clone());
    COMPILED.with(|kept| {
        let mut kept = kept.borrow_mut();
        if let Some(found) = kept.get(&key) {
            return Ok(found.clone());
        }
        let prefix = if flags.is_empty() { String::new() } else { format!("(?{flags})") };
        let regex = Regex::new(&format!("{prefix}{}", of_unicode(pattern))).map_err(|e| syntax_error(&e, pattern))?;
        let bytes: usize = kept.keys().map(|(pattern, _)| pattern.len()).sum();
        if kept.len() >= KEPT_MAX || bytes + pattern.len() > KEPT_BYTES_MAX || parts > 0 {
            kept.clear();
        }
        let regex = Rc::new(regex);
        kept.insert(key, regex.clone());
        Ok(regex)
    })
}

/// Whether `pattern` is found in `text`, case counting. A pattern that is none is found everywhere; one that is too big is an error.
pub(super) fn found_in(text: &str, pattern: &str) -> Result<bool> {
    if pattern.is_empty() {
        return Ok(true);
    }
    match compile(pattern, "c", CollationId::UTF8MB4_BIN) {
        Ok(regex) => regex.is_match(text).map_err(run_error),
        Err(error) if error.is(&errno::ER_REGEXP_PATTERN_TOO_BIG) => Err(error),
        Err(_) => Ok(true),
    }
}

/// Named classes hold characters of all scripts, as ICU's do.
fn of_unicode(pattern: &str) -> Cow<'_, str> {
    const CLASSES: &[(&str, &str)] = &[
        ("[:alpha:]", r"\p{Alphabetic}"),
        ("[:alnum:]", r"\p{Alphabetic}\p{Nd}"),
        ("[:digit:]", r"\p{Nd}"),
        ("[:lower:]", r"\p{Lowercase}"),
        ("[:upper:]", r"\p{Uppercase}"),
        ("[:punct:]", r"\p{P}"),
        ("[:space:]", r"\s"),
        ("[:^alpha:]", r"\P{Alphabetic}"),
        ("[:^digit:]", r"\P{Nd}"),
        ("[:^lower:]", r"\P{Lowercase}"),
        ("[:^upper:]", r"\P{Uppercase}"),
        ("[:^punct:]", r"\P{P}"),
        ("[:^space:]", r"\S"),
    ];
    if !pattern.contains("[:") {
        return Cow::Borrowed(pattern);
    }
    Cow::Owned(CLASSES.iter().fold(pattern.to_string(), |text, (name, class)| text.replace(name, class)))
}

/// How many looks around, atomic groups and references there may be.
fn parts(pattern: &str) -> usize {
    let begins = |three: &&[u8]| match three {
        [b'(', b'?', next] => b"=!<>(".contains(next),
        [b'\\', next, _] => next.is_ascii_digit() || *next == b'k',
        _ => false,
    };
    pattern.as_bytes().windows(3).filter(begins).count()
}

/// ICU's errors by what is wrong with the pattern.
fn syntax_error(error: &fancy_regex::Error, pattern: &str) -> Error {
    let count = |c: char| {
        let mut escaped = false;
        pattern
            .chars()
            .filter(|x| {
                let hit = *x == c && !escaped;
                escaped = *x == '\\' && !escaped;
                hit
            })
            .count()
    };
    let too_big = match error {
        fancy_regex::Error::CompileError(CompileError::InnerError(error)) => error.size_limit().is_some(),
        _ => false,
    };
    if too_big {
        Error::new(&errno::ER_REGEXP_PATTERN_TOO_BIG, &[])
    } else if count('(') != count(')') {
        Error::new(&errno::ER_REGEXP_MISMATCHED_PAREN, &[])
    } else if count('[') > count(']') {
        Error::new(&errno::ER_REGEXP_MISSING_CLOSE_BRACKET, &[])
    } else {
        Error::new(&errno::ER_REGEXP_RULE_SYNTAX, &[&1, &pattern.chars().count()])
    }
}

fn run_error<E>(_: E) -> Error {
    Error::new(&errno::ER_REGEXP_TIME_OUT, &[])
}

/// The subject, the compiled pattern; `None` if one is NULL.
struct Match<'s> {
    subject: Cow<'s, str>,
    regex: Rc<Regex>,
}

fn prepare<'s>(call: &'s FuncCall<'_>, cx: &EvalCx<'s>, match_type: usize) -> Result<Option<Match<'s>>> {
    let Some(pattern) = call.text(1, cx)? else { return Ok(None) };
    let id = call.arg_type(0).collation;
    let flags = if call.len() > match_type {
        let Some(flags) = call.text(match_type, cx)? else { return Ok(None) };
        String::from_utf8_lossy(&flags).into_owned()
    } else {
        String::new()
    };
    let regex = compile(&text::to_utf8(&pattern, call.arg_type(1).collation), &flags, id)?;
    // A wrong pattern is an error even if there is nothing to match it with.
    let Some(subject) = call.text(0, cx)? else { return Ok(None) };
    let subject = match subject {
        Cow::Borrowed(b) if text::charset_name(id).starts_with("utf8") => match std::str::from_utf8(b) {
            Ok(s) => Cow::Borrowed(s),
            Err(_) => Cow::Owned(text::to_utf8(b, id)),
        },
        other => Cow::Owned(text::to_utf8(&other, id)),
    };
    Ok(Some(Match { subject, regex }))
}

fn like(call: &FuncCall<'_>, cx: &EvalCx<'_>, match_type: usize) -> Result<Value> {
    let m = arg!(prepare(call, cx, match_type));
    m.regex.is_match(&m.subject).map(Value::bool).map_err(run_error)
}

/// The byte offset of character position `n` (from 1); error 3686 beyond the end.
fn offset_of(subject: &str, n: i64) -> Result<usize> {
    let out = || Error::new(&errno::ER_REGEXP_INDEX_OUTOFBOUNDS_ERROR, &[]);
    let n = usize::try_from(n - 1).map_err(|_| out())?;
    match subject.char_indices().nth(n) {
        Some((at, _)) => Ok(at),
        None if subject.chars().count() == n => Ok(subject.len()),
        None => Err(out()),
    }
}

/// The byte range of the `occurrence`-th match from `start` on.
fn occurrence(m: &Match<'_>, start: usize, occurrence: i64) -> Result<Option<(usize, usize)>> {
    let wanted = usize::try_from(occurrence.max(1) - 1).unwrap_or(usize::MAX);
    let mut at = start;
    let mut seen = 0;
    while let Some(found) = m.regex.find_from_pos(&m.subject, at).map_err(run_error)? {
        if seen == wanted {
            return Ok(Some((found.start(), found.end())));
        }
        seen += 1;
        at = if found.end() > found.start() { found.end() } else { next_char(&m.subject, found.end()) };
        if at > m.subject.len() {
            break;
        }
    }
    Ok(None)
}

fn next_char(subject: &str, at: usize) -> usize {
    at + subject[at..].chars().next().map_or(1, char::len_utf8)
}

fn instr(call: &FuncCall<'_>, cx: &EvalCx<'_>) -> Result<Value> {
    let m = arg!(prepare(call, cx, 5));
    let position = if call.len() > 2 { arg!(call.i64(2, cx)) } else { 1 };
    let nth = if call.len() > 3 { arg!(call.i64(3, cx)) } else { 1 };
    let after = if call.len() > 4 { arg!(call.i64(4, cx)) } else { 0 };
    if !(0..=1).contains(&after) {
        return Err(Error::new(&errno::ER_WRONG_ARGUMENTS, &[&"regexp_instr: return_option must be 1 or 0."]));
    }
    let found = occurrence(&m, offset_of(&m.subject, position)?, nth)?;
    Ok(Value::Int(found.map_or(0, |(start, end)| m.subject[..if after == 1 { end } else { start }].chars().count() as i64 + 1)))
}

fn substr(call: &FuncCall<'_>, cx: &EvalCx<'_>) -> Result<Value> {
    let m = arg!(prepare(call, cx, 4));
    let position = if call.len() > 2 { arg!(call.i64(2, cx)) } else { 1 };
    let nth = if call.len() > 3 { arg!(call.i64(3, cx)) } else { 1 };
    let found = occurrence(&m, offset_of(&m.subject, position)?, nth)?;
    Ok(found.map_or(Value::Null, |(start, end)| Value::from(text::from_utf8(&m.subject[start..end], call.ty.collation))))
}

/// `$1` is a group, a backslash makes the next character literal.
fn expand(template: &str, captures: &fancy_regex::Captures<'_>, out: &mut String) -> Result<()> {
    let mut chars = template.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\\' => out.extend(chars.next()),
            '$' => {
                let mut group = None;
                while let Some(d) = chars.peek().and_then(|c| c.to_digit(10)) {
                    let next = group.unwrap_or(0) * 10 + d as usize;
                    if group.is_some() && next >= captures.len() {
                        break;
                    }
                    group = Some(next);
                    chars.next();
                }
                let group = group.ok_or_else(|| Error::new(&errno::ER_REGEXP_INVALID_CAPTURE_GROUP_NAME, &[]))?;
                if group >= captures.len() {
                    return Err(Error::new(&errno::ER_REGEXP_INDEX_OUTOFBOUNDS_ERROR, &[]));
                }
                out.push_str(captures.get(group).map_or("", |g| g.as_str()));
            }
            other => out.push(other),
        }
    }
    Ok(())
}

fn replace(call: &FuncCall<'_>, cx: &EvalCx<'_>) -> Result<Value> {
    let m = arg!(prepare(call, cx, 5));
    let template = text::to_utf8(&arg!(call.text(2, cx)), call.arg_type(2).collation);
    let position = if call.len() > 3 { arg!(call.i64(3, cx)) } else { 1 };
    let only = if call.len() > 4 { arg!(call.i64(4, cx)) } else { 0 };
    let mut at = offset_of(&m.subject, position)?;
    if m.subject.is_empty() {
        return Ok(Value::from(""));
    }
    let bytes_max = crate::eval::packet_bytes_max(cx.env);
    let mut out = m.subject[..at].to_string();
    let mut nth = 0;
    while at <= m.subject.len() {
        let Some(captures) = m.regex.captures_from_pos(&m.subject, at).map_err(run_error)? else { break };
        let Some(found) = captures.get(0) else { break };
        nth += 1;
        out.push_str(&m.subject[at..found.start()]);
        if only <= 0 || nth == only {
            expand(&template, &captures, &mut out)?;
        } else {
            out.push_str(found.as_str());
        }
        if out.len() > bytes_max {
            return Err(Error::new(&errno::ER_REGEXP_BUFFER_OVERFLOW, &[]));
        }
        at = found.end();
        if only > 0 && nth == only {
            break;
        }
        if found.start() == found.end() {
            let next = next_char(&m.subject, at);
            out.push_str(m.subject.get(at..next).unwrap_or(""));
            at = next;
        }
    }
    out.push_str(m.subject.get(at..).unwrap_or(""));
    Ok(Value::from(text::from_utf8(&out, call.ty.collation)))
}
