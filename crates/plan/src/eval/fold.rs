//! Replaces constant expressions by their values.

use std::cell::Cell;

use vaquita_types::temporal::TimeZone;
use vaquita_types::{Error, Result, Value};

use super::eval;
use crate::env::{Env, EvalCx, Level, SubqueryRows, VarScope};
use crate::expr::{Expr, ExprKind, Subquery};

/// Replaces every part of `expr` that depends on no row, parameter or session by its value. Parts
/// whose evaluation fails or warns stay, so that errors and warnings come when (and if) a row is reached.
pub fn constant_fold(expr: &mut Expr, env: &dyn Env) {
    match &mut expr.kind {
        ExprKind::And(parts) | ExprKind::Or(parts) | ExprKind::Row(parts) => parts.iter_mut().for_each(|p| constant_fold(p, env)),
        ExprKind::Call(_, args) => args.iter_mut().for_each(|p| constant_fold(p, env)),
        ExprKind::Not(e) | ExprKind::IsNull(e) | ExprKind::Cast(e) | ExprKind::AssignVar(_, e) => constant_fold(e, env),
        ExprKind::Compare(_, a, b, _) => {
            constant_fold(a, env);
            constant_fold(b, env);
        }
        ExprKind::InList(value, list, _) => {
            constant_fold(value, env);
            list.iter_mut().for_each(|p| constant_fold(p, env));
        }
        ExprKind::Case { operand, whens, otherwise } => {
            if let Some(operand) = operand {
                constant_fold(&mut operand.0, env);
            }
            for (when, then) in whens {
                constant_fold(when, env);
                constant_fold(then, env);
            }
            if let Some(otherwise) = otherwise {
                constant_fold(otherwise, env);
            }
        }
        _ => return,
    }
    if !is_foldable(expr) {
        return;
    }
    let quiet = Quiet { env, warned: Cell::new(false) };
    let cx = EvalCx { frame: &[], outer: None, params: &[], env: &quiet };
    if let Ok(value) = eval(expr, &cx).map(|v| v.into_owned())
        && !quiet.warned.get()
    {
        expr.nullable |= value.is_null();
        expr.kind = ExprKind::Literal(value);
    }
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

/// An `Env` that only notes that there was a warning.
struct Quiet<'a> {
    env: &'a dyn Env,
    warned: Cell<bool>,
}

impl Env for Quiet<'_> {
    fn statement_time_us(&self) -> i64 {
        self.env.statement_time_us()
    }
    fn clock_us(&self) -> i64 {
        self.env.clock_us()
    }
    fn time_zone(&self) -> &TimeZone {
        self.env.time_zone()
    }
    fn sql_mode(&self) -> u64 {
        self.env.sql_mode()
    }
    fn warn(&self, _: Level, _: Error) {
        self.warned.set(true);
    }
    fn user_var(&self, name: &str) -> Value {
        self.env.user_var(name)
    }
    fn set_user_var(&self, name: &str, value: Value) -> Result<()> {
        self.env.set_user_var(name, value)
    }
    fn sys_var(&self, scope: VarScope, name: &str) -> Result<Value> {
        self.env.sys_var(scope, name)
    }
    fn random(&self) -> f64 {
        self.env.random()
    }
    fn random_bytes(&self, out: &mut [u8]) {
        self.env.random_bytes(out);
    }
    fn subquery(&self, subquery: &Subquery, cx: &EvalCx<'_>) -> Result<SubqueryRows> {
        self.env.subquery(subquery, cx)
    }
    fn session_function(&self, name: &str, args: &[Value]) -> Result<Value> {
        self.env.session_function(name, args)
    }
}
