//! Conditions: which handler takes one, SIGNAL and RESIGNAL, GET DIAGNOSTICS.

use vaquita_parser::ast::{
    Condition, ConditionItem, DiagnosticsWhat, GetDiagnostics, Handling, IntoTarget, Scope, Signal, StatementItem,
};
use vaquita_plan::env::Level;
use vaquita_types::charset::CollationId;
use vaquita_types::errno::{
    ER_COND_ITEM_TOO_LONG, ER_DA_INVALID_CONDITION_NUMBER, ER_GET_STACKED_DA_WITHOUT_ACTIVE_HANDLER,
    ER_RESIGNAL_WITHOUT_ACTIVE_HANDLER, ER_SIGNAL_EXCEPTION, ER_SIGNAL_NOT_FOUND, ER_SIGNAL_WARN, ER_WRONG_VALUE_FOR_VAR,
};
use vaquita_types::{ColumnType, Error, Result, Value, sql_mode};

use super::super::Session;
use super::super::exchange::Exchange;
use super::super::execute::Done;
use super::SessionHost;
use super::frame::Frame;
use super::interpreter::{Host, Interpreter};
use crate::answer::{Completed, Flow, Status};
use crate::state::environment::Environment;

/// What was raised, and how.
#[derive(Clone)]
pub struct Raised {
    pub level: Level,
    pub error: Error,
}

/// The handler for what was raised, looked for from the innermost block outwards. In a block an error number comes before an SQLSTATE, and
/// that before a class.
pub fn handler<'p>(scopes: &'p [Scope], scope: usize, raised: &Raised) -> Option<&'p Handling> {
    let mut next = Some(scope);
    while let Some(scope) = next.and_then(|at| scopes.get(at)) {
        let ranked = scope.handlers.iter().rev().filter_map(|handling| {
            let rank = handling.conditions.iter().filter_map(|condition| rank(condition, raised)).max()?;
            Some((rank, handling))
        });
        if let Some((_, found)) = ranked.max_by_key(|(rank, _)| *rank) {
            return Some(found);
        }
        next = scope.outer;
    }
    None
}

fn rank(condition: &Condition, raised: &Raised) -> Option<u8> {
    let state = raised.error.sqlstate();
    let (warning, not_found) = (state.starts_with("01"), state.starts_with("02"));
    match condition {
        Condition::Code(code) => (raised.error.code() == *code).then_some(3),
        Condition::SqlState(wanted) => (state.as_bytes() == wanted).then_some(2),
        Condition::SqlWarning => (warning || raised.level == Level::Warning).then_some(1),
        Condition::NotFound => not_found.then_some(1),
        Condition::SqlException => (raised.level == Level::Error && !warning && !not_found).then_some(1),
    }
}

/// SIGNAL and RESIGNAL: an error, or a warning and nothing more.
///
/// RESIGNAL gives back all conditions of the statement that the handler is for. Without an SQLSTATE it changes the one that the handler took,
/// with one it adds another.
pub fn signal(host: &mut impl Host, signal: &Signal, frame: Option<&Frame>) -> Result<()> {
    let active = frame.and_then(|frame| frame.handlers.last());
    if signal.resignal && active.is_none() {
        return Err(Error::new(&ER_RESIGNAL_WITHOUT_ACTIVE_HANDLER, &[]));
    }
    let base = active.filter(|_| signal.resignal);
    let caught = base.map(|handler| handler.condition.clone());
    let mut before = base.map(|handler| handler.conditions.clone());
    let state = signal.sqlstate.unwrap_or_else(|| {
        let state = caught.as_ref().map_or("HY000", |raised| raised.error.sqlstate());
        state.as_bytes().try_into().unwrap_or(*b"HY000")
    });
    let (default, default_level) = match &state[..2] {
        b"01" => (&ER_SIGNAL_WARN, Level::Warning),
        b"02" => (&ER_SIGNAL_NOT_FOUND, Level::Error),
        _ => (&ER_SIGNAL_EXCEPTION, Level::Error),
    };
    let level = caught.as_ref().filter(|_| signal.sqlstate.is_none()).map_or(default_level, |raised| raised.level);
    let (mut code, mut message, mut items) = match &caught {
        Some(Raised { error, .. }) => {
            let code = if signal.sqlstate.is_some() { default.code } else { error.code() };
            let mut items = error.items().to_vec();
            for origin in ORIGINS {
                if !items.iter().any(|(known, _)| *known == origin.as_str()) {
                    items.push((origin.as_str(), item_of(error, origin)));
                }
            }
            (code, error.message().to_string(), items)
        }
        None => (default.code, default.format.to_string(), ORIGINS.map(|origin| (origin.as_str(), String::new())).to_vec()),
    };
    for (item, expr) in &signal.items {
        let (value, ty) = host.evaluate_with(expr, frame)?;
        let refused = |shown: &str| Error::new(&ER_WRONG_VALUE_FOR_VAR, &[&item.as_str(), &shown]);
        if value.is_null() {
            return Err(refused("NULL"));
        }
        let text = vaquita_plan::text::to_utf8(&vaquita_types::convert::to_text(&value, &ty), ty.collation);
        match item {
            ConditionItem::MessageText => message = fitting(host.env(), *item, text, MESSAGE_CHARS_MAX)?,
            ConditionItem::MysqlErrno => {
                code = text.parse::<u16>().ok().filter(|code| *code != 0).ok_or_else(|| refused(&text))?;
            }
            _ => {
                items.retain(|(known, _)| *known != item.as_str());
                items.push((item.as_str(), fitting(host.env(), *item, text, ITEM_CHARS_MAX)?));
            }
        }
    }
    if let Some(before) = &mut before {
        if signal.sqlstate.is_none()
            && let Some(caught) = &caught
            && let Some(at) = before.iter().rposition(|(_, error)| is_same(error, &caught.error))
        {
            before.remove(at);
        }
        host.env().diagnostics.replace(before);
    }
    let error = Error::signalled(code, state, message, items);
    if before.is_some() || level != Level::Error {
        host.env().push_warning(level, error.clone());
    }
    if level == Level::Error { Err(error) } else { Ok(()) }
}

/// Whether both are one condition, of which there are copies.
pub fn is_same(one: &Error, other: &Error) -> bool {
    one.code() == other.code() && one.message() == other.message()
}

/// What a condition that SIGNAL makes does not have of itself.
const ORIGINS: [ConditionItem; 2] = [ConditionItem::ClassOrigin, ConditionItem::SubclassOrigin];

/// The text of an item; of one that is too long its beginning, and in strict mode error 1648.
fn fitting(env: &Environment, item: ConditionItem, text: String, chars_max: usize) -> Result<String> {
    if text.chars().count() <= chars_max {
        return Ok(text);
    }
    let error = Error::new(&ER_COND_ITEM_TOO_LONG, &[&item.as_str()]);
    if sql_mode::is_strict(env.settings.plan.sql_mode) {
        return Err(error);
    }
    env.push_warning(Level::Warning, error);
    Ok(text.chars().take(chars_max).collect())
}

impl Session {
    /// SIGNAL of a client.
    pub(in super::super) fn signal(&mut self, raised: &Signal, exchange: &mut Exchange<'_>) -> Result<()> {
        signal(&mut SessionHost { session: self, exchange }, raised, None)
    }

    /// GET DIAGNOSTICS of a client: it is about the statement before, whose conditions stay.
    pub(in super::super) fn get_diagnostics(&mut self, get: &GetDiagnostics, exchange: &mut Exchange<'_>) -> Flow {
        self.env.diagnostics.keep_previous();
        let pushed = self.env.diagnostics.pushed();
        let host = &mut SessionHost { session: self, exchange };
        let given = diagnostics(host, get, None).and_then(|given| {
            given.into_iter().try_for_each(|(target, value, ty)| match target {
                IntoTarget::UserVar(name) => self.env.user_variables.set(&name, value, &ty),
                IntoTarget::Variable(_) => Err(Error::internal("a variable without a program")),
            })
        });
        match given {
            Ok(()) if self.env.diagnostics.pushed() == pushed => {
                exchange
                    .answer
                    .ok(&Completed { status: Status { more_results: exchange.more(), ..self.status() }, ..Completed::default() });
                Flow::Next
            }
            given => self.conclude(given.map(|()| Done::nothing()), exchange),
        }
    }
}

/// The assignments of GET DIAGNOSTICS.
pub fn diagnostics(
    host: &mut impl Host,
    get: &GetDiagnostics,
    frame: Option<&Frame>,
) -> Result<Vec<(IntoTarget, Value, ColumnType)>> {
    let text = || ColumnType::varchar(MESSAGE_CHARS_MAX as u32, CollationId::default());
    let active = frame.and_then(|frame| frame.handlers.last());
    if get.stacked && active.is_none() {
        return Err(Error::new(&ER_GET_STACKED_DA_WITHOUT_ACTIVE_HANDLER, &[]));
    }
    let conditions = match active.filter(|_| get.stacked) {
        Some(handler) => handler.conditions.clone(),
        None => host.env().diagnostics.conditions(),
    };
    match &get.what {
        DiagnosticsWhat::Statement(items) => Ok(items
            .iter()
            .map(|(target, item)| {
                let value = match item {
                    StatementItem::Number => Value::Int(conditions.len() as i64),
                    StatementItem::RowCount => Value::Int(host.env().diagnostics.row_count()),
                };
                (target.clone(), value, ColumnType::bigint())
            })
            .collect()),
        DiagnosticsWhat::Condition(number, items) => {
            let (number, ty) = host.evaluate_with(number, frame)?;
            let number = vaquita_types::convert::to_u64(&number, &ty).value;
            let condition = usize::try_from(number).ok().and_then(|n| n.checked_sub(1)).and_then(|at| conditions.get(at));
            let Some((_, error)) = condition else {
                // It is no failure of the statement.
                host.env().diagnostics.keep();
                host.env().push_warning(Level::Error, Error::new(&ER_DA_INVALID_CONDITION_NUMBER, &[]));
                return Ok(Vec::new());
            };
            Ok(items
                .iter()
                .map(|(target, item)| match item {
                    ConditionItem::MysqlErrno => (target.clone(), Value::Int(error.code().into()), ColumnType::bigint()),
                    item => (target.clone(), Value::from(item_of(error, *item)), text()),
                })
                .collect())
        }
    }
}

/// Characters of MESSAGE_TEXT.
const MESSAGE_CHARS_MAX: usize = 128;
/// Of the other texts.
const ITEM_CHARS_MAX: usize = 64;

fn item_of(error: &Error, item: ConditionItem) -> String {
    if let Some((_, given)) = error.items().iter().find(|(name, _)| *name == item.as_str()) {
        return given.clone();
    }
    // The standard's classes begin with 0 to 4 and A to H, and so do its subclasses, to which MySQL counts ODBC's `S`.
    let standard = |at: usize| error.sqlstate().as_bytes().get(at).is_some_and(|b| matches!(b, b'0'..=b'4' | b'A'..=b'H'));
    let standard_subclass = || standard(2) || error.sqlstate().as_bytes().get(2) == Some(&b'S');
    let origin = |standard: bool| if standard { "ISO 9075" } else { "MySQL" }.to_string();
    match item {
        ConditionItem::ReturnedSqlstate => error.sqlstate().to_string(),
        ConditionItem::MessageText => error.message().to_string(),
        ConditionItem::ClassOrigin => origin(standard(0)),
        ConditionItem::SubclassOrigin => origin(standard(0) && standard_subclass()),
        _ => String::new(),
    }
}
