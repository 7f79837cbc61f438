//! Expressions of a body: bound once per version, evaluated over the variables of a frame.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use vaquita_exec::context::Assignment;
use vaquita_parser::ast::Expr;
use vaquita_plan::bind::{PlanContext, bind_scalar};
use vaquita_plan::expr::Expr as BoundTree;
use vaquita_plan::visit::has_subquery;
use vaquita_storage::Reads;
use vaquita_types::{ColumnType, Result, TypeKind, Value};

use super::super::Session;
use super::frame::Frame;
use crate::programs::BoundExpr;
use crate::state::prepared::VariableTypes;
use crate::state::user_variables::type_of_value;

impl Session {
    pub(super) fn look_again(&self, frame: &mut Frame) {
        frame.look_again(self.catalog.version(), &self.env.settings.plan, self.access.rights().serial);
    }

    /// An expression that is current and allowed.
    pub(super) fn bound_in(&mut self, frame: &mut Frame, id: usize, expr: &Expr) -> Result<Arc<BoundExpr>> {
        self.access.refresh();
        self.look_again(frame);
        let operand = operand_of(expr, frame);
        let fits = |bound: &BoundExpr| bound.operand == operand;
        if let Some(bound) = &frame.bound[id]
            && fits(bound)
            && (bound.variables.is_empty() || bound.is_current(self.catalog.version(), &self.env))
        {
            return Ok(bound.clone());
        }
        let routine = frame.routine.clone();
        let kept = routine.bound[id].lock().clone();
        if let Some(bound) = kept.filter(|bound| fits(bound) && bound.is_current(self.catalog.version(), &self.env)) {
            let serial = self.access.rights().serial;
            if bound.allowed_under.load(Ordering::Relaxed) != serial {
                self.access.allows(&bound.uses, Some(&self.catalog))?;
                bound.allowed_under.store(serial, Ordering::Relaxed);
            }
            frame.bound[id] = Some(bound.clone());
            return Ok(bound);
        }
        let variables = VariableTypes::default();
        let catalog_version = self.catalog.version();
        let settings = self.env.settings.plan.clone();
        let types = &frame.types;
        let (bound, uses) = self.bound(&variables, |context| bind_scalar(expr, &PlanContext { param_types: types, ..*context }));
        self.access.allows(&uses, Some(&self.catalog))?;
        let expr = bound?;
        let bound = Arc::new(BoundExpr {
            has_subquery: has_subquery(&expr),
            expr,
            catalog_version,
            settings,
            variables: variables.into_list(),
            operand,
            uses,
            allowed_under: AtomicU64::new(self.access.rights().serial),
        });
        *routine.bound[id].lock() = Some(bound.clone());
        frame.bound[id] = Some(bound.clone());
        Ok(bound)
    }

    pub(super) fn evaluate_in(&mut self, frame: &mut Frame, id: usize, expr: &Expr) -> Result<(Value, ColumnType)> {
        let bound = self.bound_in(frame, id, expr)?;
        let value = self.evaluate_bound(&bound, &frame.values)?;
        let ty = self.type_of_result(&bound, &value);
        Ok((value, ty))
    }

    pub(super) fn type_of_result(&self, bound: &BoundExpr, value: &Value) -> ColumnType {
        match bound.expr.ty.kind {
            TypeKind::Null => type_of_value(value, self.env.connection_collation()),
            _ => bound.expr.ty.clone(),
        }
    }

    pub(super) fn evaluate_bound(&mut self, bound: &BoundExpr, values: &[Value]) -> Result<Value> {
        if bound.has_subquery {
            return self.evaluate_with_subquery(&bound.expr, values);
        }
        let env = Assignment::new(&self.env);
        let value = bound.expr.eval(&env.cx(values)).map(|value| value.into_owned());
        match env.raised() {
            Some(error) => Err(error),
            None => value,
        }
    }

    fn evaluate_with_subquery(&mut self, expr: &BoundTree, values: &[Value]) -> Result<Value> {
        self.transaction.storage().begin_statement(Reads::Many);
        let value = {
            let server = self.server_view();
            let statement = self.executing(values, &server);
            expr.eval(&statement.cx(&[], None)).map(|value| value.into_owned())
        };
        self.transaction.storage().end_statement();
        self.transaction.release_reads();
        value
    }

    /// A condition: false for NULL.
    pub(super) fn condition(&mut self, frame: &mut Frame, id: usize, expr: &Expr) -> Result<bool> {
        let bound = self.bound_in(frame, id, expr)?;
        if bound.has_subquery {
            let value = self.evaluate_with_subquery(&bound.expr, &frame.values)?;
            let literal = BoundTree::literal(value, bound.expr.ty.clone());
            let env = Assignment::new(&self.env);
            return Ok(literal.eval_bool(&env.cx(&[]))?.unwrap_or(false));
        }
        let env = Assignment::new(&self.env);
        let holds = bound.expr.eval_bool(&env.cx(&frame.values));
        match env.raised() {
            Some(error) => Err(error),
            None => Ok(holds?.unwrap_or(false)),
        }
    }

    /// An expression that is not kept: in a frame, or outside of programs.
    pub(super) fn evaluate_with(&mut self, expr: &Expr, frame: Option<&Frame>) -> Result<(Value, ColumnType)> {
        let Some(frame) = frame else { return self.evaluate(expr) };
        let types = &frame.types;
        let bound = self.with_plan_context(|context| bind_scalar(expr, &PlanContext { param_types: types, ..*context }))?;
        let value = self.evaluate_with_subquery(&bound, &frame.values)?;
        let ty = match bound.ty.kind {
            TypeKind::Null => type_of_value(&value, self.env.connection_collation()),
            _ => bound.ty,
        };
        Ok((value, ty))
    }
}

/// The type of the operand that a condition of CASE compares with.
fn operand_of(expr: &Expr, frame: &Frame) -> Option<ColumnType> {
    let Expr::Binary { left, .. } = expr else { return None };
    let Expr::Param(variable) = **left else { return None };
    let declared = frame.routine.ast.program.variables.get(variable)?;
    declared.ty.is_none().then(|| frame.types[variable].clone())
}
