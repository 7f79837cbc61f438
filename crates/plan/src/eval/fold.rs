//! Replaces constant expressions by their values.

use std::cell::Cell;

use vaquita_types::temporal::TimeZone;
use vaquita_types::{Error, Result, Value, stack};

use super::eval;
use crate::env::{AskSession, Env, EvalCx, Level, SubqueryRows, VarScope};
use crate::expr::{Expr, ExprKind, Subquery};
use crate::settings::{PlanSettings, RunSettings};

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
    let env = FoldEnv { settings, unfit: Cell::new(false), looks: Cell::new(0) };
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
    let env = FoldEnv { settings, unfit: Cell::new(false), looks: Cell::new(0) };
    let cx = EvalCx { frame: &[], outer: None, params: &[], env: &env };
    eval(expr, &cx).is_ok() && !env.unfit.get()
}

/// MySQL's truth of a constant, whatever warnings come of it; none if it cannot be computed.
pub fn truth_of_constant(expr: &Expr, settings: &PlanSettings) -> Option<Option<bool>> {
    let env = FoldEnv { settings, unfit: Cell::new(false), looks: Cell::new(0) };
    let cx = EvalCx { frame: &[], outer: None, params: &[], env: &env };
    expr.eval_bool(&cx).ok()
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

/// What constants may be computed from: the settings that are part of a plan's key. Whatever else is asked for, and a warning,
/// makes the expression one that is computed when the plan runs.
struct FoldEnv<'a> {
    settings: &'a PlanSettings,
    unfit: Cell<bool>,
    /// How often the interrupt was looked at.
    looks: Cell<u32>,
}

/// What looks at the interrupt more often takes long: it is computed when the plan runs, where KILL and time limits end it.
const LOOKS_MAX: u32 = 1000;

impl FoldEnv<'_> {
    fn refuse<T>(&self) -> Result<T> {
        self.unfit.set(true);
        Err(Error::internal("asked for more than the settings of the plan"))
    }
}

impl Env for FoldEnv<'_> {
    fn statement_time_us(&self) -> i64 {
        self.unfit.set(true);
        0
    }
    fn clock_us(&self) -> i64 {
        self.unfit.set(true);
        0
    }
    fn time_zone(&self) -> &TimeZone {
        &self.settings.time_zone
    }
    fn sql_mode(&self) -> u64 {
        self.settings.sql_mode
    }
    fn run_settings(&self) -> &RunSettings {
        self.unfit.set(true);
        const { &RunSettings::DEFAULT }
    }
    fn warn(&self, _: Level, _: Error) {
        self.unfit.set(true);
    }
    fn user_var(&self, _: &str) -> Value {
        self.unfit.set(true);
        Value::Null
    }
    fn set_user_var(&self, _: &str, _: Value) -> Result<()> {
        self.refuse()
    }
    fn sys_var(&self, _: VarScope, _: &str) -> Result<Value> {
        self.refuse()
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
        self.refuse()
    }
    fn check_interrupt(&self) -> Result<()> {
        self.looks.set(self.looks.get() + 1);
        if self.looks.get() > LOOKS_MAX { self.refuse() } else { Ok(()) }
    }
}
