//! Replaces constant expressions by their values.

use std::cell::Cell;

use vaquita_types::temporal::TimeZone;
use vaquita_types::{Error, Result, Value, stack};

use super::eval;
use crate::env::{AskSession, Env, EvalCx, Level, SubqueryRows, VarScope};
use crate::expr::{Expr, ExprKind, Subquery};
use crate::settings::{PlanSettings, RunSettings};
use crate::visit;

/// Replaces every part of `expr` that depends on no row and no parameter, and of the session on `settings` alone, by its value. Parts
/// whose evaluation fails or warns stay, so that errors and warnings come when (and if) a row is reached.
pub fn constant_fold(expr: &mut Expr, settings: &PlanSettings) {
    stack::deeper(|| fold_any(expr, settings));
}

fn fold_any(expr: &mut Expr, settings: &PlanSettings) {
    match &mut expr.kind {
        ExprKind::And(parts) | ExprKind::Or(parts) | ExprKind::Row(parts) => {
            parts.iter_mut().for_each(|p| constant_fold(p, settings))
        }
        ExprKind::Call(_, args) => args.iter_mut().for_each(|p| constant_fold(p, settings)),
        ExprKind::Not(e) | ExprKind::IsNull(e) | ExprKind::Cast(e) | ExprKind::AssignVar(_, e) => constant_fold(e, settings),
        ExprKind::Compare(_, a, b, _) => {
            constant_fold(a, settings);
            constant_fold(b, settings);
        }
        ExprKind::InList(value, list, _) => {
            constant_fold(value, settings);
            list.iter_mut().for_each(|p| constant_fold(p, settings));
        }
        ExprKind::Case { operand, whens, otherwise } => {
            if let Some(operand) = operand {
                constant_fold(&mut operand.0, settings);
            }
            for (when, then) in whens {
                constant_fold(when, settings);
                constant_fold(then, settings);
            }
            if let Some(otherwise) = otherwise {
                constant_fold(otherwise, settings);
            }
        }
        ExprKind::Match(search) => constant_fold(&mut search.against, settings),
        _ => return,
    }
    if !is_foldable(expr) {
        return;
    }
    let env = FoldEnv::of_settings(settings);
    let cx = EvalCx { frame: &[], outer: None, params: &[], env: &env };
    if let Ok(value) = eval(expr, &cx).map(|v| v.into_owned())
        && !env.unfit.get()
    {
        expr.nullable |= value.is_null();
        expr.kind = ExprKind::Literal(value);
    }
}

/// A constant whose evaluation under `settings` neither fails nor warns nor asks for anything else.
pub fn is_silent(expr: &Expr, settings: &PlanSettings) -> bool {
    let env = FoldEnv::of_settings(settings);
    let cx = EvalCx { frame: &[], outer: None, params: &[], env: &env };
    eval(expr, &cx).is_ok() && !env.unfit.get()
}

/// MySQL's truth of a constant, whatever warnings come of it; none if it cannot be computed.
pub fn truth_of_constant(expr: &Expr, settings: &PlanSettings) -> Option<Option<bool>> {
    let env = FoldEnv::of_settings(settings);
    let cx = EvalCx { frame: &[], outer: None, params: &[], env: &env };
    expr.eval_bool(&cx).ok()
}

/// Some part of the conditions that is more than a literal or a parameter is the same for all rows of a statement.
pub fn has_steady_parts(conditions: &[Expr]) -> bool {
    let mut found = false;
    for condition in conditions {
        found |= look_for_steady(condition, &mut found) && !is_given(condition);
    }
    found
}

/// Whether the whole is the same for all rows; `found`: a part is.
fn look_for_steady(expr: &Expr, found: &mut bool) -> bool {
    let (mut whole, mut part) = (is_steady_itself(expr), false);
    visit::children(expr, &mut |child| {
        let is_steady = look_for_steady(child, found);
        whole &= is_steady;
        part |= is_steady && !is_given(child);
    });
    *found |= part && !whole;
    whole
}

/// The conditions with every part replaced by its value that depends on no row, but on parameters or on what does not change within a
/// statement, as the time at which it began. Parts whose evaluation fails or warns stay.
pub fn fold_for_statement(conditions: &[Expr], cx: &EvalCx<'_>) -> Vec<Expr> {
    let mut folded = conditions.to_vec();
    let mut bytes = 0;
    for condition in &mut folded {
        if fold_parts(condition, cx, &mut bytes) {
            fold_steady(condition, cx, &mut bytes);
        }
    }
    folded
}

/// Whether the whole is the same for all rows: then its parts stay as they are.
fn fold_parts(expr: &mut Expr, cx: &EvalCx<'_>, bytes: &mut usize) -> bool {
    let mut steady = Vec::new();
    let itself = is_steady_itself(expr);
    visit::children_mut(expr, &mut |child| steady.push(fold_parts(child, cx, bytes)));
    if itself && !steady.contains(&false) {
        return true;
    }
    let mut steady = steady.into_iter();
    visit::children_mut(expr, &mut |child| {
        if steady.next() == Some(true) {
            fold_steady(child, cx, bytes);
        }
    });
    false
}

/// Values of all conditions of a scan together; what is beyond is computed for each row.
const FOLDED_BYTES_MAX: usize = 1 << 20;

fn fold_steady(expr: &mut Expr, cx: &EvalCx<'_>, bytes: &mut usize) {
    if is_given(expr) {
        return;
    }
    let Some(value) = value_when_run(expr, cx.params, cx.env) else { return };
    let taken = bytes_of(&value);
    if *bytes + taken > FOLDED_BYTES_MAX {
        return;
    }
    *bytes += taken;
    expr.nullable |= value.is_null();
    expr.kind = ExprKind::Literal(value);
}

fn bytes_of(value: &Value) -> usize {
    match value {
        Value::Bytes(text) => text.len(),
        Value::Json(json) => json.bytes_up_to(FOLDED_BYTES_MAX + 1),
        _ => 0,
    }
}

fn is_given(expr: &Expr) -> bool {
    matches!(expr.kind, ExprKind::Literal(_) | ExprKind::Param(_))
}

/// Nothing but its operands makes it another value for another row.
fn is_steady_itself(expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Slot(_)
        | ExprKind::Outer { .. }
        | ExprKind::UserVar(_)
        | ExprKind::SysVar(..)
        | ExprKind::AssignVar(..)
        | ExprKind::Row(_)
        | ExprKind::Subquery(_)
        | ExprKind::Match(_) => false,
        ExprKind::Call(def, _) => def.is_steady(),
        _ => true,
    }
}

/// No row and no query decides about it.
pub fn is_known_when_run(expr: &Expr) -> bool {
    let is_known = |part: &Expr| matches!(part.kind, ExprKind::UserVar(_) | ExprKind::SysVar(..) | ExprKind::Row(_));
    !visit::any(expr, &|part| !is_steady_itself(part) && !is_known(part))
}

/// A condition on parameters is false or NULL for these values of them, and says nothing while that is found out.
pub fn is_untrue(condition: &Expr, params: &[Value], env: &dyn Env) -> bool {
    known_value(condition, params, env).as_ref().is_some_and(is_no_truth)
}

/// What a predicate is that is false or NULL.
pub fn is_no_truth(value: &Value) -> bool {
    matches!(value, Value::Null | Value::Int(0))
}

/// The value of what `is_known_when_run`, if its evaluation neither fails nor warns; none that is longer than any key.
pub fn known_value(constant: &Expr, params: &[Value], env: &dyn Env) -> Option<Value> {
    value_when_run(constant, params, env).filter(|value| bytes_of(value) <= KEY_BYTES_MAX)
}

const KEY_BYTES_MAX: usize = 4 << 10;

fn value_when_run(expr: &Expr, params: &[Value], env: &dyn Env) -> Option<Value> {
    let env = FoldEnv { of: Known::Statement(env), unfit: Cell::new(false), looks: Cell::new(0) };
    let value = eval(expr, &EvalCx { frame: &[], outer: None, params, env: &env }).map(|value| value.into_owned());
    value.ok().filter(|_| !env.unfit.get())
}

/// All operands are literals and the operation itself is a pure function.
fn is_foldable(expr: &Expr) -> bool {
    let literal = |e: &Expr| matches!(e.kind, ExprKind::Literal(_));
    match &expr.kind {
        ExprKind::And(parts) | ExprKind::Or(parts) => parts.iter().all(literal),
        ExprKind::Call(def, args) => def.foldable && args.iter().all(literal),
        ExprKind::Not(e) | ExprKind::IsNull(e) => literal(e),
        ExprKind::Cast(e) => literal(e) && !matches!(e.kind, ExprKind::Literal(Value::Time(_))),
        ExprKind::Compare(_, a, b, _) => literal(a) && literal(b),
        ExprKind::InList(value, list, _) => literal(value) && list.iter().all(literal),
        ExprKind::Case { operand, whens, otherwise } => {
            operand.as_ref().is_none_or(|o| literal(&o.0))
                && whens.iter().all(|(w, t)| literal(w) && literal(t))
                && otherwise.as_ref().is_none_or(|e| literal(e))
        }
        _ => false,
    }
}

/// What constants may be computed from. Whatever else is asked for, and a warning, makes the expression one that is computed when it is
/// needed.
struct FoldEnv<'a> {
    of: Known<'a>,
    unfit: Cell<bool>,
    /// How often the interrupt was looked at.
    looks: Cell<u32>,
}

enum Known<'a> {
    /// Those that are part of a plan's key.
    Settings(&'a PlanSettings),
    Statement(&'a dyn Env),
}

/// What looks at the interrupt more often takes long: it is computed when the plan runs, where KILL and time limits end it.
const LOOKS_MAX: u32 = 1000;

impl<'a> FoldEnv<'a> {
    fn of_settings(settings: &'a PlanSettings) -> FoldEnv<'a> {
        FoldEnv { of: Known::Settings(settings), unfit: Cell::new(false), looks: Cell::new(0) }
    }

    fn statement(&self) -> Option<&'a dyn Env> {
        match self.of {
            Known::Statement(env) => Some(env),
            Known::Settings(_) => {
                self.unfit.set(true);
                None
            }
        }
    }

    fn refuse<T>(&self) -> Result<T> {
        self.unfit.set(true);
        Err(Error::internal("asked for more than the settings of the plan"))
    }
}

impl Env for FoldEnv<'_> {
    fn statement_time_us(&self) -> i64 {
        self.statement().map_or(0, Env::statement_time_us)
    }
    fn clock_us(&self) -> i64 {
        self.unfit.set(true);
        0
    }
    fn time_zone(&self) -> &TimeZone {
        match self.of {
            Known::Settings(settings) => &settings.time_zone,
            Known::Statement(env) => env.time_zone(),
        }
    }
    fn sql_mode(&self) -> u64 {
        match self.of {
            Known::Settings(settings) => settings.sql_mode,
            Known::Statement(env) => env.sql_mode(),
        }
    }
    fn run_settings(&self) -> &RunSettings {
        self.statement().map_or(const { &RunSettings::DEFAULT }, Env::run_settings)
    }
    fn warn(&self, _: Level, _: Error) {
        self.unfit.set(true);
    }
    fn user_var(&self, name: &str) -> Value {
        self.statement().map_or(Value::Null, |env| env.user_var(name))
    }
    fn set_user_var(&self, _: &str, _: Value) -> Result<()> {
        self.refuse()
    }
    fn sys_var(&self, scope: VarScope, name: &str) -> Result<Value> {
        self.statement().map_or_else(|| self.refuse(), |env| env.sys_var(scope, name))
    }
    fn random(&self) -> f64 {
        self.unfit.set(true);
        0.0
    }
    fn random_bytes(&self, _: &mut [u8]) {
        self.unfit.set(true);
    }
    fn subquery(&self, _: &Subquery, _: &EvalCx<'_>) -> Result<SubqueryRows> {
        self.refuse()
    }
    fn session(&self) -> Result<&dyn AskSession> {
        self.statement().map_or_else(|| self.refuse(), Env::session)
    }
    fn check_interrupt(&self) -> Result<()> {
        if let Known::Statement(env) = self.of {
            env.check_interrupt()?;
        }
        self.looks.set(self.looks.get() + 1);
        if self.looks.get() > LOOKS_MAX { self.refuse() } else { Ok(()) }
    }
}
