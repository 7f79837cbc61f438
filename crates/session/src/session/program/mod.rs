//! Runs stored programs: CALL, and the steps of a body (`vaquita_parser::ast::program`) one after the other.
//!
//! 1. `call` finds the routine, evaluates the arguments, takes on the definer's account and the settings that the routine was created
//!    under, runs the steps and gives OUT parameters back.
//! 2. A statement of a body runs by the same way as a client's (`run_plan`, `other_statement`). It answers into a `ProgramAnswer`, and its commit
//!    is waited for, because the steps behind it cannot be parked.
//! 3. What a step raises goes to a handler (`conditions`); without one the program ends with it.
//!
//! PROGRAM-1: plans and expressions that a frame has at hand were made for the present catalog, settings and privileges (`Frame::look_again`).

mod answer;
mod conditions;
mod frame;
mod routines;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use vaquita_exec::context::Assignment;
use vaquita_exec::store_in_variable;
use vaquita_parser::ast::{Expr, GetDiagnostics, Instruction, IntoTarget, Name, ParameterMode, Show};
use vaquita_parser::{Statement as Ast, StatementKind};
use vaquita_plan::bind::{PlanContext, bind_scalar};
use vaquita_plan::env::Level;
use vaquita_plan::expr::Expr as BoundTree;
use vaquita_plan::node::{ColumnOrigin, OutputColumn};
use vaquita_plan::visit::has_subquery;
use vaquita_storage::Reads;
use vaquita_types::charset::{CollationId, collation};
use vaquita_types::errno::{
    ER_NO_SUCH_USER, ER_QUERY_INTERRUPTED, ER_SP_BADSELECT, ER_SP_CASE_NOT_FOUND, ER_SP_CURSOR_ALREADY_OPEN,
    ER_SP_CURSOR_NOT_OPEN, ER_SP_DOES_NOT_EXIST, ER_SP_FETCH_NO_DATA, ER_SP_NOT_VAR_ARG, ER_SP_RECURSION_LIMIT,
    ER_SP_WRONG_NO_OF_ARGS, ER_SP_WRONG_NO_OF_FETCH_ARGS, ER_STACK_OVERRUN_NEED_MORE,
};
use vaquita_types::error::Next;
use vaquita_types::limits::PROGRAM_DEPTH_MAX;
use vaquita_types::schema::{ObjectKind, SqlSecurity, StoredObject};
use vaquita_types::{ColumnType, Error, Result, TypeKind, Value, stack};

use super::Session;
use super::exchange::Exchange;
use super::execute::{Done, Planned};
use crate::answer::{Answer, Completed, Flow, Status};
use crate::programs::{BoundExpr, Routine};
use crate::state::access::Worn;
use crate::state::prepared::{CachedPlan, VariableTypes};
use crate::state::user_variables::type_of_value;
use crate::variables::{Var, registry, sql_mode_value};
use answer::{CursorRows, ProgramAnswer};
use conditions::{Raised, handler};
use frame::{ActiveHandler, Frame, OpenCursor};

/// What a session knows of the programs that it runs.
#[derive(Default)]
pub(super) struct Running {
    /// Inside one another.
    calls: Vec<Arc<Routine>>,
    /// `?` of what is planned are variables of the innermost program.
    pub variables: bool,
    /// COMMIT RELEASE: the session ends when the programs have.
    closes: bool,
}

impl Running {
    pub fn is_running(&self) -> bool {
        !self.calls.is_empty()
    }
}

/// An argument of CALL.
enum Argument {
    In(Value, ColumnType),
    /// Where the value comes from for INOUT, and goes.
    Out {
        target: IntoTarget,
        value: Option<(Value, ColumnType)>,
    },
}

/// A parameter's value after the call.
type Given = (IntoTarget, String, Value, ColumnType);

impl Session {
    /// CALL of a client.
    pub(super) fn call_statement(&mut self, name: &Name, args: &[Expr], exchange: &mut Exchange<'_>) -> Flow {
        let called = self.routine_named(name).and_then(|routine| {
            if routine.gives_rows && !self.options.multi_results {
                return Err(Error::new(&ER_SP_BADSELECT, &[&routine.qualified_name()]));
            }
            let arguments = self.arguments(&routine, args, None)?;
            let given = self.call(&routine, arguments, exchange)?;
            Ok((routine, given))
        });
        let done = called.and_then(|(routine, given)| self.give_back(&routine, given, exchange));
        match done {
            Ok(()) => {
                let affected = self.env.diagnostics.row_count().max(0) as u64;
                let status = Status { more_results: exchange.more(), ..self.status() };
                let (warnings, changes) = (self.warnings(), self.take_changes());
                exchange.answer.ok(&Completed { affected, status, warnings, changes: &changes, ..Completed::default() });
            }
            Err(error) => {
                // It has been noted where it was raised, and is noted again as this statement's.
                self.env.diagnostics.forget_error(&error);
                self.fail(&error, exchange);
            }
        }
        if std::mem::take(&mut self.programs.closes) { Flow::Close } else { Flow::Next }
    }

    pub(super) fn routine_named(&self, name: &Name) -> Result<Arc<Routine>> {
        let database = self.database_of(name)?;
        match self.server.catalog.object(&database, ObjectKind::Procedure, &name.name)? {
            Some(object) => self.server.programs.routine(&object),
            None => {
                let shown = format!("{database}.{}", name.name);
                Err(Error::new(&ER_SP_DOES_NOT_EXIST, &[&"PROCEDURE", &shown]))
            }
        }
    }

    /// The arguments of a CALL in `frame`, or of a client's. `at` is the first expression of the step that has them.
    fn arguments(&mut self, routine: &Routine, args: &[Expr], mut frame: Option<(&mut Frame, usize)>) -> Result<Vec<Argument>> {
        let parameters = routine.ast.parameters;
        if parameters != args.len() {
            let name = routine.qualified_name();
            return Err(Error::new(&ER_SP_WRONG_NO_OF_ARGS, &[&"PROCEDURE", &name, &parameters, &args.len()]));
        }
        let mut arguments = Vec::with_capacity(args.len());
        for (n, (arg, parameter)) in args.iter().zip(&routine.ast.program.variables).enumerate() {
            let mode = parameter.mode.unwrap_or(ParameterMode::In);
            let target = match arg {
                Expr::UserVar(name) => Some(IntoTarget::UserVar(name.clone())),
                Expr::Param(at) => Some(IntoTarget::Variable(*at)),
                _ => None,
            };
            let value = match (mode, &mut frame) {
                (ParameterMode::Out, _) => None,
                (_, Some((frame, at))) => Some(self.evaluate_in(frame, *at + n, arg)?),
                (_, None) => Some(self.evaluate(arg)?),
            };
            arguments.push(match (mode, target, value) {
                (ParameterMode::In, _, Some((value, ty))) => Argument::In(value, ty),
                (_, Some(target), value) => Argument::Out { target, value },
                _ => return Err(Error::new(&ER_SP_NOT_VAR_ARG, &[&(n + 1), &routine.qualified_name()])),
            });
        }
        Ok(arguments)
    }

    /// Runs a routine; what its OUT and INOUT parameters are in the end.
    fn call(&mut self, routine: &Arc<Routine>, arguments: Vec<Argument>, exchange: &mut Exchange<'_>) -> Result<Vec<Given>> {
        self.admit_call(routine)?;
        let own = self.enter(&routine.object)?;
        self.programs.calls.push(routine.clone());
        let outer = std::mem::replace(&mut self.programs.variables, true);
        let ran = stack::deeper(|| self.run_routine(routine, arguments, exchange));
        self.programs.variables = outer;
        self.programs.calls.pop();
        self.leave(own);
        ran
    }

    /// Error 1456 of a routine that is inside itself too often, 1436 of too many inside one another.
    fn admit_call(&self, routine: &Routine) -> Result<()> {
        let calls = &self.programs.calls;
        let inside = calls.iter().filter(|call| call.is(routine)).count();
        let depth_max = match self.env.settings.of(Var::MaxSpRecursionDepth) {
            Value::Int(n) => n as u64,
            Value::UInt(n) => n,
            _ => 0,
        };
        if inside as u64 > depth_max {
            return Err(Error::new(&ER_SP_RECURSION_LIMIT, &[&depth_max, &routine.object.name]));
        }
        if calls.len() >= PROGRAM_DEPTH_MAX {
            return Err(Error::new(&ER_STACK_OVERRUN_NEED_MORE, &[&calls.len(), &PROGRAM_DEPTH_MAX, &1]));
        }
        Ok(())
    }

    fn run_routine(
        &mut self,
        routine: &Arc<Routine>,
        arguments: Vec<Argument>,
        exchange: &mut Exchange<'_>,
    ) -> Result<Vec<Given>> {
        let mut frame = Frame::new(routine.clone(), &self.env.settings.plan);
        let mut outs = Vec::new();
        for (n, argument) in arguments.into_iter().enumerate() {
            match argument {
                Argument::In(value, ty) => self.store(&mut frame, n, value, &ty)?,
                Argument::Out { target, value } => {
                    if let Some((value, ty)) = value {
                        self.store(&mut frame, n, value, &ty)?;
                    }
                    outs.push((n, target));
                }
            }
        }
        self.run_steps(&mut frame, exchange)?;
        let given = outs.into_iter().map(|(n, target)| {
            let name = routine.ast.program.variables[n].name.clone();
            (target, name, frame.values[n].clone(), frame.types[n].clone())
        });
        Ok(given.collect())
    }

    /// OUT and INOUT parameters of a client's CALL: user variables, and for `?` a result set of their own.
    fn give_back(&mut self, routine: &Routine, given: Vec<Given>, exchange: &mut Exchange<'_>) -> Result<()> {
        let (mut columns, mut row) = (Vec::new(), Vec::new());
        for (target, name, value, ty) in given {
            match target {
                IntoTarget::UserVar(variable) => self.env.user_variables.set(&variable, value, &ty)?,
                IntoTarget::Variable(_) => {
                    let origin = Some(ColumnOrigin {
                        database: routine.object.database.clone(),
                        table: routine.object.name.clone(),
                        org_table: routine.object.name.clone(),
                        org_name: name.clone(),
                        primary_key: false,
                        unique_key: false,
                        multiple_key: false,
                        auto_increment: false,
                        no_default: false,
                        on_update_now: false,
                    });
                    columns.push(OutputColumn { expr: BoundTree::variable(columns.len(), ty), name, origin });
                    row.push(value);
                }
            }
        }
        if columns.is_empty() || !exchange.binary || !self.options.out_parameters {
            return Ok(());
        }
        let form = self.result_form(exchange);
        let form_status = form.status;
        let status = Status { more_results: true, out_parameters: true, ..form.status };
        let rows = exchange.answer.rows(crate::answer::ResultForm { status, ..form });
        rows.columns(&columns)?;
        rows.begin_row();
        for (value, column) in row.iter().zip(&columns) {
            rows.value(value, &column.expr.ty);
        }
        rows.end_row()?;
        // Only the end that is an OK packet says so; an EOF has said it behind the columns.
        let status = if exchange.answer.rows_tell_changes() { status } else { form_status };
        exchange.answer.end_of_rows(&Completed { status, ..Completed::default() });
        Ok(())
    }

    fn run_steps(&mut self, frame: &mut Frame, exchange: &mut Exchange<'_>) -> Result<()> {
        let routine = frame.routine.clone();
        let program = &routine.ast.program;
        let mut at = 0;
        while let Some(step) = program.steps.get(at) {
            let pushed = self.env.begin_step();
            let after = self.step(frame, at, &step.instruction, exchange);
            if self.programs.closes {
                return Ok(());
            }
            let raised = match after {
                Ok(next) if self.env.diagnostics.pushed() == pushed => {
                    // Loops end with whoever has asked for it.
                    if next <= at {
                        self.client.interrupt.check()?;
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
                    self.env.diagnostics.note_error(&error, self.env.settings.warnings_max);
                    if is_final(&error) {
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
            self.client.interrupt.check()?;
            let steps = handling.first..=handling.last;
            let pushed = self.env.diagnostics.pushed();
            frame.handlers.push(ActiveHandler { steps, resume, condition: raised, pushed });
            at = handling.first;
        }
        Ok(())
    }

    /// The last of the step's warnings that has a handler.
    fn handled_warning(&self, program: &vaquita_parser::ast::Program, scope: usize) -> Option<Raised> {
        let conditions = self.env.diagnostics.conditions().into_iter().rev();
        conditions
            .filter(|(level, _)| *level != Level::Error)
            .map(|(level, error)| Raised { level, error })
            .find(|raised| handler(&program.scopes, scope, raised).is_some())
    }

    /// One step; the next one.
    fn step(&mut self, frame: &mut Frame, at: usize, instruction: &Instruction, exchange: &mut Exchange<'_>) -> Result<usize> {
        let first = frame.routine.expressions[at];
        match instruction {
            Instruction::Set { variable, value: None } => frame.values[*variable] = Value::Null,
            Instruction::Set { variable, value: Some(value) } => {
                let (value, ty) = self.evaluate_in(frame, first, value)?;
                self.store(frame, *variable, value, &ty)?;
            }
            Instruction::SetUserVar { name, value } => {
                self.env.diagnostics.clear();
                let (value, ty) = self.evaluate_in(frame, first, value)?;
                let ty = if ty.kind == TypeKind::Null { type_of_value(&value, self.env.connection_collation()) } else { ty };
                self.env.user_variables.set(name, value, &ty)?;
            }
            Instruction::Jump(target) => return Ok(*target),
            Instruction::JumpUnless { condition, target, .. } => {
                if !self.condition(frame, first, condition)? {
                    return Ok(*target);
                }
            }
            Instruction::CaseNotFound => return Err(Error::new(&ER_SP_CASE_NOT_FOUND, &[])),
            Instruction::Return(_) => return Err(Error::internal("RETURN of a procedure")),
            Instruction::Run(statement) => self.run_statement(frame, at, statement, exchange)?,
            Instruction::Open(cursor) => self.open_cursor(frame, *cursor, exchange)?,
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
        self.env.diagnostics.keep_since(handler.pushed);
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
        if declared.ty.is_none() {
            frame.types[variable] = from.clone();
            frame.values[variable] = value;
            return Ok(());
        }
        frame.values[variable] = store_in_variable(value, from, &declared.name, &frame.types[variable], &self.env)?;
        Ok(())
    }

    fn look_again(&self, frame: &mut Frame) {
        frame.look_again(self.catalog.version(), &self.env.settings.plan, self.access.rights().serial);
    }

    /// An expression that is current and allowed.
    fn bound_in(&mut self, frame: &mut Frame, id: usize, expr: &Expr) -> Result<Arc<BoundExpr>> {
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

    fn evaluate_in(&mut self, frame: &mut Frame, id: usize, expr: &Expr) -> Result<(Value, ColumnType)> {
        let bound = self.bound_in(frame, id, expr)?;
        let value = self.evaluate_bound(&bound, &frame.values)?;
        let ty = if bound.expr.ty.kind == TypeKind::Null {
            type_of_value(&value, self.env.connection_collation())
        } else {
            bound.expr.ty.clone()
        };
        Ok((value, ty))
    }

    fn evaluate_bound(&mut self, bound: &BoundExpr, values: &[Value]) -> Result<Value> {
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
    fn condition(&mut self, frame: &mut Frame, id: usize, expr: &Expr) -> Result<bool> {
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
    fn evaluate_with(&mut self, expr: &Expr, frame: Option<&Frame>) -> Result<(Value, ColumnType)> {
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

    fn run_statement(&mut self, frame: &mut Frame, at: usize, ast: &Ast, exchange: &mut Exchange<'_>) -> Result<()> {
        match ast {
            Ast::Call { name, args } => {
                self.client.counters.statement(StatementKind::Call);
                self.authorize(ast)?;
                let routine = self.routine_named(name)?;
                let first = frame.routine.expressions[at];
                let arguments = self.arguments(&routine, args, Some((frame, first)))?;
                for (target, _, value, ty) in self.call(&routine, arguments, exchange)? {
                    self.put(frame, &target, value, &ty)?;
                }
                return Ok(());
            }
            Ast::Signal(signal) => {
                self.client.counters.statement(StatementKind::of(ast));
                return self.signal(signal, Some(frame));
            }
            Ast::GetDiagnostics(get) => {
                self.client.counters.statement(StatementKind::of(ast));
                for (target, value, ty) in self.diagnostics(get, Some(frame))? {
                    self.put(frame, &target, value, &ty)?;
                }
                return Ok(());
            }
            _ => {}
        }
        self.env.ids.begin_statement();
        if !matches!(ast, Ast::Show(Show::Warnings(_) | Show::Errors(_) | Show::WarningCount | Show::ErrorCount)) {
            self.env.diagnostics.clear();
        }
        let binary = exchange.binary;
        let mut answer = ProgramAnswer::new(exchange.answer);
        let flow = {
            let mut inner = Exchange { binary, in_program: true, ..Exchange::new(&mut answer, exchange.park) };
            if StatementKind::of(ast).is_planned() {
                self.client.counters.statement(StatementKind::of(ast));
                self.run_planned(frame, at, ast, &mut inner)
            } else {
                let before = self.prepared.take_values();
                self.prepared.set_values(frame.values.clone());
                let flow = self.statement(ast, &mut inner);
                self.prepared.set_values(before);
                flow
            }
        };
        let (error, rows_open) = (answer.error.take(), answer.rows_open);
        if flow == Flow::Close {
            self.programs.closes = true;
        }
        let selected = self.env.take_program_variables();
        for (variable, value, ty) in selected {
            self.store(frame, variable, value, &ty)?;
        }
        if rows_open && !answer.take_back() {
            // Its rows have begun to leave: they end here for a handler to go on.
            answer.end_of_rows(&Completed { status: self.status(), ..Completed::default() });
        }
        error.map_or(Ok(()), Err)
    }

    fn put(&mut self, frame: &mut Frame, target: &IntoTarget, value: Value, ty: &ColumnType) -> Result<()> {
        match target {
            IntoTarget::Variable(variable) => self.store(frame, *variable, value, ty),
            IntoTarget::UserVar(name) => self.env.user_variables.set(name, value, ty),
        }
    }

    /// A plan that is current and allowed; `id` is that of its step or cursor.
    fn plan_in(&mut self, frame: &mut Frame, id: usize, ast: &Ast) -> Result<Arc<CachedPlan>> {
        self.access.refresh();
        self.look_again(frame);
        if let Some(plan) = &frame.plans[id]
            && (plan.variables.is_empty() || plan.is_current(self.catalog.version(), &self.env))
        {
            return Ok(plan.clone());
        }
        let routine = frame.routine.clone();
        let kept = routine.plans[id].lock().clone();
        let plan = match kept.filter(|plan| plan.is_current(self.catalog.version(), &self.env)) {
            Some(plan) => {
                self.access.may_run(&plan, &self.catalog)?;
                plan
            }
            None => {
                let plan = Arc::new(self.fresh_plan(ast, &frame.types)?);
                // Of a temporary table, which other sessions do not have, nothing is kept for them.
                if !plan.plan.tables().iter().any(|table| table.options.temporary) {
                    *routine.plans[id].lock() = Some(plan.clone());
                }
                plan
            }
        };
        frame.plans[id] = Some(plan.clone());
        Ok(plan)
    }

    fn run_planned(&mut self, frame: &mut Frame, id: usize, ast: &Ast, exchange: &mut Exchange<'_>) -> Flow {
        match self.plan_in(frame, id, ast) {
            Ok(plan) => {
                let planned = Planned { plan: &plan.plan, ast: Some(ast), types: &frame.types, params: &frame.values };
                self.run_plan(planned, exchange)
            }
            Err(error) => self.fail(&error, exchange),
        }
    }

    fn open_cursor(&mut self, frame: &mut Frame, cursor: usize, exchange: &mut Exchange<'_>) -> Result<()> {
        if frame.cursors[cursor].is_some() {
            return Err(Error::new(&ER_SP_CURSOR_ALREADY_OPEN, &[]));
        }
        let routine = frame.routine.clone();
        let id = routine.ast.program.steps.len() + cursor;
        let mut answer = CursorRows::new();
        {
            let mut inner = Exchange { in_program: true, ..Exchange::new(&mut answer, exchange.park) };
            self.run_planned(frame, id, &routine.ast.program.cursors[cursor], &mut inner);
        }
        if let Some(error) = answer.error.take() {
            return Err(error);
        }
        let (columns, rows, memory) = answer.into_rows();
        frame.cursors[cursor] = Some(OpenCursor { columns, rows: rows.into_iter(), _memory: memory });
        Ok(())
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
}

/// What no handler takes: the statement was ended, or the server is not well.
fn is_final(error: &Error) -> bool {
    error.is(&ER_QUERY_INTERRUPTED) || matches!(error.next(), Next::Internal | Next::Corrupt | Next::Io)
}

/// The type of the operand that a condition of CASE compares with.
fn operand_of(expr: &Expr, frame: &Frame) -> Option<ColumnType> {
    let Expr::Binary { left, .. } = expr else { return None };
    let Expr::Param(variable) = **left else { return None };
    let declared = frame.routine.ast.program.variables.get(variable)?;
    declared.ty.is_none().then(|| frame.types[variable].clone())
}

/// What a call may change in the session, as it was before.
struct Own {
    /// If it is another than the routine's.
    database: Option<Option<String>>,
    sql_mode: u64,
    connection_collation: CollationId,
    access: Option<(Worn, String)>,
}

impl Session {
    /// Takes on the routine's database, `sql_mode` and collation, and its definer's account.
    fn enter(&mut self, object: &StoredObject) -> Result<Own> {
        let account = self.access.account();
        let mut access = None;
        if object.security == SqlSecurity::Definer && (account.user != object.definer.user || account.host != object.definer.host)
        {
            let definer = self.server.accounts().get(&object.definer.user, &object.definer.host);
            let definer = definer.ok_or_else(|| Error::new(&ER_NO_SUCH_USER, &[&object.definer.user, &object.definer.host]))?;
            let name = format!("{}@{}", definer.user, definer.host);
            access = Some((self.access.wear(definer), self.env.set_account(name)));
        }
        let plan = &self.env.settings.plan;
        let (sql_mode, connection_collation) = (plan.sql_mode, plan.connection_collation);
        let is_there = plan.current_database.as_deref() == Some(&object.database);
        let database = (!is_there).then(|| plan.current_database.clone());
        if !is_there {
            self.env.settings.set_database(Some(&object.database));
        }
        self.read_under(object.sql_mode, object.connection_collation);
        Ok(Own { database, sql_mode, connection_collation, access })
    }

    fn read_under(&mut self, sql_mode: u64, connection_collation: CollationId) {
        let settings = &mut self.env.settings;
        if settings.plan.sql_mode != sql_mode {
            settings.set(registry().of(Var::SqlMode), sql_mode_value(sql_mode));
        }
        if settings.plan.connection_collation != connection_collation {
            settings.set(registry().of(Var::CollationConnection), collation(connection_collation).name.into());
        }
    }

    /// What the routine itself has changed of these goes with it, too.
    fn leave(&mut self, own: Own) {
        self.read_under(own.sql_mode, own.connection_collation);
        if let Some(database) = own.database {
            self.env.settings.set_database(database.as_deref());
        }
        if let Some((worn, name)) = own.access {
            self.access.take_off(worn);
            self.env.set_account(name);
        }
    }

    /// GET DIAGNOSTICS of a client: it is about the statement before, whose conditions stay.
    pub(super) fn get_diagnostics(&mut self, get: &GetDiagnostics, exchange: &mut Exchange<'_>) -> Flow {
        self.env.diagnostics.keep_previous();
        let pushed = self.env.diagnostics.pushed();
        let given = self.diagnostics(get, None).and_then(|given| {
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
