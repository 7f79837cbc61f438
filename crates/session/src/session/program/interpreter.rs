//! Runs the steps of a body for a host, which is the session (`session_host`) or a running statement that calls a function (`function`).

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use vaquita_exec::catalog::are_untrue;
use vaquita_exec::context::{Assignment, SessionEnv};
use vaquita_exec::store_in_variable;
use vaquita_parser::Statement as Ast;
use vaquita_parser::ast::{Expr, Instruction, IntoTarget};
use vaquita_plan::bind::{Hinted, PlanContext, bind_scalar};
use vaquita_plan::env::Level;
use vaquita_plan::eval::print::unmarked;
use vaquita_plan::expr::Expr as BoundTree;
use vaquita_plan::params::parameters_in_patterns;
use vaquita_plan::settings::PlanSettings;
use vaquita_plan::uses::UseList;
use vaquita_plan::visit::{calls_stored, has_subquery};
use vaquita_storage::{Interrupt, SessionCatalog};
use vaquita_types::errno::{
    ER_QUERY_INTERRUPTED, ER_SP_CASE_NOT_FOUND, ER_SP_CURSOR_NOT_OPEN, ER_SP_FETCH_NO_DATA, ER_SP_WRONG_NO_OF_FETCH_ARGS,
};
use vaquita_types::error::Next;
use vaquita_types::{ColumnType, Error, Result, TypeKind, Value};

use super::super::planning::Given;
use super::conditions::{Raised, handler, is_same};
use super::frame::{ActiveHandler, Frame};
use crate::programs::BoundExpr;
use crate::state::access::SessionAccess;
use crate::state::environment::Environment;
use crate::state::prepared::{CachedPlan, PlanNotes};
use crate::state::user_variables::type_of_value;

/// What the steps of a program need of the world.
pub trait Host {
    /// Of the session: conditions, user variables.
    fn env(&self) -> &Environment;
    /// What expressions see.
    fn outside(&self) -> &dyn SessionEnv;
    fn settings(&self) -> &Arc<PlanSettings>;
    fn catalog(&self) -> &SessionCatalog;
    /// Of the account that the program runs as.
    fn access(&self) -> &SessionAccess;
    /// Accounts may have changed.
    fn refresh(&mut self);
    fn may_run(&mut self, plan: &CachedPlan) -> Result<()>;
    fn interrupt(&self) -> &Interrupt;
    /// A step begins; how many conditions have been pushed so far.
    fn begin_step(&mut self) -> u64;
    /// The session ends: no further step.
    fn closes(&self) -> bool;
    /// What runs with these values first.
    fn bound<R>(
        &self,
        values: &[Value],
        notes: &PlanNotes,
        bind: impl FnOnce(&PlanContext<'_>) -> Result<R>,
    ) -> (Result<R>, UseList);
    fn fresh_plan(&self, ast: &Ast, given: Given<'_>) -> Result<CachedPlan>;
    /// An expression that reads tables or calls functions.
    /// Its value, and how many rows were looked at for it.
    fn evaluate_in_statement(&mut self, expr: &BoundTree, uses: &UseList, values: &[Value]) -> Result<(Value, u64)>;
    /// An expression that no program has.
    fn evaluate_outside(&mut self, expr: &Expr) -> Result<(Value, ColumnType)>;
    fn run_statement(&mut self, frame: &mut Frame, at: usize, ast: &Ast) -> Result<()>;
    /// Runs with the variables of a statement's hints (`hinted::variables`).
    fn as_hinted<T>(&mut self, variables: Vec<(String, Expr)>, run: impl FnOnce(&mut Self) -> Result<T>) -> Result<T>;
    fn open_cursor(&mut self, frame: &mut Frame, cursor: usize) -> Result<()>;
    /// No handler takes it.
    fn is_final(&self, error: &Error) -> bool {
        error.is(&ER_QUERY_INTERRUPTED) || matches!(error.next(), Next::Internal | Next::Corrupt | Next::Io)
    }
}

impl<H: Host> Interpreter for H {}

/// The steps and expressions of a program.
pub trait Interpreter: Host {
    /// What RETURN of a function gives.
    fn run_steps(&mut self, frame: &mut Frame) -> Result<Option<(Value, ColumnType)>> {
        let routine = frame.routine.clone();
        let program = &routine.ast.program;
        let mut at = 0;
        while let Some(step) = program.steps.get(at) {
            let pushed = self.begin_step();
            let after = self.step(frame, at, &step.instruction);
            if self.closes() {
                return Ok(None);
            }
            let raised = match after {
                Ok(next) if self.env().diagnostics.pushed() == pushed => {
                    // Loops end with whoever has asked for it.
                    if next <= at {
                        self.interrupt().check()?;
                    }
                    at = next;
                    continue;
                }
                Ok(next) => match self.handled_warning(program, step.scope) {
                    Some(raised) => raised,
                    None => {
                        at = next;
                        continue;
                    }
                },
                Err(error) => {
                    let error = unmarked(error);
                    self.env().diagnostics.note_error(&error, self.env().settings.warnings_max);
                    if self.is_final(&error) {
                        return Err(error);
                    }
                    Raised { level: Level::Error, error }
                }
            };
            let Some(handling) = handler(&program.scopes, step.scope, &raised) else { return Err(raised.error) };
            let resume = match &step.instruction {
                Instruction::JumpUnless { after, .. } => *after,
                _ => at + 1,
            };
            self.interrupt().check()?;
            self.env().diagnostics.note_handled(&raised.error);
            let steps = handling.first..=handling.last;
            let pushed = self.env().diagnostics.pushed();
            let mut conditions = self.env().diagnostics.conditions();
            if !conditions.iter().any(|(_, error)| is_same(error, &raised.error)) {
                // More conditions came before than are kept.
                conditions.push((raised.level, raised.error.clone()));
            }
            frame.handlers.push(ActiveHandler { steps, resume, condition: raised, conditions, pushed });
            at = handling.first;
        }
        Ok(frame.returned.take())
    }

    /// The last of the step's warnings that has a handler.
    fn handled_warning(&self, program: &vaquita_parser::ast::Program, scope: usize) -> Option<Raised> {
        let conditions = self.env().diagnostics.conditions().into_iter().rev();
        conditions
            .filter(|(level, _)| *level != Level::Error)
            .map(|(level, error)| Raised { level, error })
            .find(|raised| handler(&program.scopes, scope, raised).is_some())
    }

    /// One step; the next one.
    fn step(&mut self, frame: &mut Frame, at: usize, instruction: &Instruction) -> Result<usize> {
        let first = frame.routine.expressions[at];
        match instruction {
            Instruction::Set { variable, value: None } => frame.set(*variable, Value::Null)?,
            Instruction::Set { variable, value: Some(value) } => {
                let bound = self.bound_in(frame, first, value)?;
                let evaluated = self.evaluate_bound(&bound, &frame.values);
                let ty = self.type_of_result(&bound, evaluated.as_ref().unwrap_or(&Value::Null));
                if let Err(error) = evaluated.and_then(|value| self.store(frame, *variable, value, &ty)) {
                    // As in MySQL, where a handler finds it so.
                    frame.set(*variable, Value::Null)?;
                    return Err(error);
                }
            }
            Instruction::SetUserVar { name, value } => {
                self.env().diagnostics.clear();
                let variables = Hinted::Scalar(value).variables();
                let (value, ty) = self.as_hinted(variables, |host| host.evaluate_in(frame, first, value))?;
                let ty = if ty.kind == TypeKind::Null { type_of_value(&value, self.env().connection_collation()) } else { ty };
                self.env().user_variables.set(name, value, &ty)?;
                self.env().diagnostics.set_row_count(0);
            }
            Instruction::Jump(target) => return Ok(*target),
            Instruction::JumpUnless { condition, target, .. } => {
                if !self.condition(frame, first, condition)? {
                    return Ok(*target);
                }
            }
            Instruction::CaseNotFound => return Err(Error::new(&ER_SP_CASE_NOT_FOUND, &[])),
            Instruction::Return(value) => {
                // Of what came before the caller hears nothing.
                self.env().diagnostics.clear();
                frame.returned = Some(self.evaluate_in(frame, first, value)?);
                return Ok(frame.routine.ast.program.steps.len());
            }
            Instruction::Run(statement) => self.run_statement(frame, at, statement)?,
            Instruction::Open(cursor) => self.open_cursor(frame, *cursor)?,
            Instruction::Fetch { cursor, into } => self.fetch_into(frame, *cursor, into)?,
            Instruction::Close(cursor) => {
                if frame.cursors[*cursor].take().is_none() {
                    return Err(Error::new(&ER_SP_CURSOR_NOT_OPEN, &[]));
                }
            }
            Instruction::CloseAll(cursors) => frame.cursors[cursors.clone()].fill_with(|| None),
            Instruction::EndHandler { exit } => return Ok(self.end_handler(frame, at, *exit)),
        }
        Ok(at + 1)
    }

    fn end_handler(&mut self, frame: &mut Frame, at: usize, exit: Option<usize>) -> usize {
        let Some(handler) = frame.handlers.pop() else { return exit.unwrap_or(at + 1) };
        self.env().diagnostics.keep_since(handler.pushed);
        let Some(exit) = exit else { return handler.resume };
        // EXIT may leave the statements of other handlers.
        while frame.handlers.last().is_some_and(|outer| !outer.steps.contains(&exit)) {
            frame.handlers.pop();
        }
        exit
    }

    /// `value` as the variable holds it.
    fn store(&mut self, frame: &mut Frame, variable: usize, value: Value, from: &ColumnType) -> Result<()> {
        let declared = &frame.routine.ast.program.variables[variable];
        if declared.takes_any() {
            frame.types[variable] = from.clone();
            return frame.set(variable, value);
        }
        let value = store_in_variable(value, from, &declared.name, &frame.types[variable], self.outside())?;
        frame.set(variable, value)
    }

    fn put(&mut self, frame: &mut Frame, target: &IntoTarget, value: Value, ty: &ColumnType) -> Result<()> {
        match target {
            IntoTarget::Variable(variable) => self.store(frame, *variable, value, ty),
            IntoTarget::UserVar(name) => self.env().user_variables.set(name, value, ty),
        }
    }

    fn fetch_into(&mut self, frame: &mut Frame, cursor: usize, into: &[usize]) -> Result<()> {
        let Some(open) = &mut frame.cursors[cursor] else { return Err(Error::new(&ER_SP_CURSOR_NOT_OPEN, &[])) };
        if open.columns.len() != into.len() {
            return Err(Error::new(&ER_SP_WRONG_NO_OF_FETCH_ARGS, &[]));
        }
        let Some(row) = open.rows.next() else { return Err(Error::new(&ER_SP_FETCH_NO_DATA, &[])) };
        let columns = open.columns.clone();
        for ((variable, value), ty) in into.iter().zip(row).zip(&columns) {
            self.store(frame, *variable, value, ty)?;
        }
        Ok(())
    }

    /// A plan that is current and allowed; `id` is that of its step or cursor.
    fn plan_in(&mut self, frame: &mut Frame, id: usize, ast: &Ast) -> Result<Arc<CachedPlan>> {
        self.refresh();
        self.look_again(frame);
        if let Some(plan) = &frame.plans[id]
            && (plan.variables.is_empty() || plan.is_current_under(self.catalog().version(), self.settings(), self.env()))
        {
            if plan.in_patterns.is_empty() && plan.untrue.is_empty() && !plan.guessed.is_outgrown() {
                return Ok(plan.clone());
            }
            let plan = plan.clone();
            return self.plan_for_patterns(frame, id, ast, plan);
        }
        let routine = frame.routine.clone();
        let kept = routine.plans[id].lock().clone();
        let plan = match kept.filter(|plan| plan.is_current_under(self.catalog().version(), self.settings(), self.env())) {
            Some(plan) => {
                self.may_run(&plan)?;
                plan
            }
            None => {
                let mut plan = self.fresh_plan(ast, Given::of_types(&frame.types, &frame.values))?;
                let in_patterns = parameters_in_patterns(&plan.plan, frame.types.len());
                if in_patterns.contains(&true) {
                    plan.in_patterns = in_patterns.into();
                }
                let plan = Arc::new(plan);
                // Of a temporary table, which other sessions do not have, nothing is kept for them.
                if !plan.plan.tables().iter().any(|table| table.options.temporary) {
                    *routine.plans[id].lock() = Some(plan.clone());
                }
                plan
            }
        };
        self.plan_for_patterns(frame, id, ast, plan)
    }

    /// The plan, or one that is made for the patterns of LIKE that the variables hold now.
    fn plan_for_patterns(&mut self, frame: &mut Frame, id: usize, ast: &Ast, plan: Arc<CachedPlan>) -> Result<Arc<CachedPlan>> {
        let patterns = plan.patterns_of(&frame.values, &[]);
        let is_good = patterns == plan.patterns && plan.is_for(&frame.values, self.outside()) && !plan.guessed.is_outgrown();
        let plan = match is_good {
            true => plan,
            false => {
                let again = self.fresh_plan(ast, Given { types: &frame.types, patterns: &patterns, values: &frame.values })?;
                Arc::new(CachedPlan { in_patterns: plan.in_patterns.clone(), ..again })
            }
        };
        frame.plans[id] = Some(plan.clone());
        Ok(plan)
    }

    fn allows(&self, uses: &UseList) -> Result<()> {
        self.access().allows(uses, Some(self.catalog()))
    }

    fn look_again(&self, frame: &mut Frame) {
        frame.look_again(self.catalog().version(), self.settings(), self.access().rights().serial);
    }

    /// An expression that is current and allowed.
    fn bound_in(&mut self, frame: &mut Frame, id: usize, expr: &Expr) -> Result<Arc<BoundExpr>> {
        self.refresh();
        self.look_again(frame);
        let operand = operand_of(expr, frame);
        let values = &frame.values;
        let fits = |bound: &BoundExpr, outside: &dyn SessionEnv| {
            bound.operand == operand && !bound.guessed.is_outgrown() && are_untrue(&bound.untrue, values, outside)
        };
        if let Some(bound) = &frame.bound[id]
            && fits(bound, self.outside())
            && (bound.variables.is_empty() || bound.is_current(self.catalog().version(), self.settings(), self.env()))
        {
            return Ok(bound.clone());
        }
        let routine = frame.routine.clone();
        let kept = routine.bound[id].lock().clone();
        let is_good = |bound: &Arc<BoundExpr>| {
            fits(bound, self.outside()) && bound.is_current(self.catalog().version(), self.settings(), self.env())
        };
        if let Some(bound) = kept.filter(is_good) {
            let serial = self.access().rights().serial;
            if bound.allowed_under.load(Ordering::Relaxed) != serial {
                self.allows(&bound.uses)?;
                bound.allowed_under.store(serial, Ordering::Relaxed);
            }
            frame.bound[id] = Some(bound.clone());
            return Ok(bound);
        }
        let notes = PlanNotes::default();
        let catalog_version = self.catalog().version();
        let settings = self.settings().clone();
        let types = &frame.types;
        let tell = |warning| self.env().push_warning(Level::Warning, warning);
        let (bound, uses) = self.bound(&frame.values, &notes, |context| {
            bind_scalar(expr, &PlanContext { param_types: types, hint_warning: Some(&tell), ..*context })
        });
        self.allows(&uses)?;
        let expr = bound?;
        let (guessed, untrue, variables) = notes.into_parts();
        let bound = Arc::new(BoundExpr {
            needs_statement: has_subquery(&expr) || calls_stored(&expr),
            expr,
            catalog_version,
            settings,
            guessed,
            untrue,
            variables,
            operand,
            uses,
            allowed_under: AtomicU64::new(self.access().rights().serial),
        });
        *routine.bound[id].lock() = Some(bound.clone());
        frame.bound[id] = Some(bound.clone());
        Ok(bound)
    }

    fn evaluate_in(&mut self, frame: &mut Frame, id: usize, expr: &Expr) -> Result<(Value, ColumnType)> {
        let bound = self.bound_in(frame, id, expr)?;
        let value = self.evaluate_bound(&bound, &frame.values)?;
        let ty = self.type_of_result(&bound, &value);
        Ok((value, ty))
    }

    fn type_of_result(&self, bound: &BoundExpr, value: &Value) -> ColumnType {
        match bound.expr.ty.kind {
            TypeKind::Null => type_of_value(value, self.env().connection_collation()),
            _ => bound.expr.ty.clone(),
        }
    }

    fn evaluate_bound(&mut self, bound: &BoundExpr, values: &[Value]) -> Result<Value> {
        if bound.needs_statement {
            let (value, examined) = self.evaluate_in_statement(&bound.expr, &bound.uses, values)?;
            bound.guessed.note_examined(examined);
            return Ok(value);
        }
        let env = Assignment::new(self.outside());
        let value = bound.expr.eval(&env.cx(values)).map(|value| value.into_owned());
        match env.raised() {
            Some(error) => Err(error),
            None => value,
        }
    }

    /// A condition: false for NULL.
    fn condition(&mut self, frame: &mut Frame, id: usize, expr: &Expr) -> Result<bool> {
        let bound = self.bound_in(frame, id, expr)?;
        if bound.needs_statement {
            let value = self.evaluate_bound(&bound, &frame.values)?;
            let literal = BoundTree::literal(value, bound.expr.ty.clone());
            let env = Assignment::new(self.outside());
            return Ok(literal.eval_bool(&env.cx(&[]))?.unwrap_or(false));
        }
        let env = Assignment::new(self.outside());
        let holds = bound.expr.eval_bool(&env.cx(&frame.values));
        match env.raised() {
            Some(error) => Err(error),
            None => Ok(holds?.unwrap_or(false)),
        }
    }

    /// An expression that is not kept: in a frame, or outside of programs.
    fn evaluate_with(&mut self, expr: &Expr, frame: Option<&Frame>) -> Result<(Value, ColumnType)> {
        let Some(frame) = frame else { return self.evaluate_outside(expr) };
        let types = &frame.types;
        let (bound, uses) = self.bound(&frame.values, &PlanNotes::default(), |context| {
            bind_scalar(expr, &PlanContext { param_types: types, ..*context })
        });
        self.allows(&uses)?;
        let bound = bound?;
        let (value, _) = self.evaluate_in_statement(&bound, &uses, &frame.values)?;
        let ty = match bound.ty.kind {
            TypeKind::Null => type_of_value(&value, self.env().connection_collation()),
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
    declared.takes_any().then(|| frame.types[variable].clone())
}
