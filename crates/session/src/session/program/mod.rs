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
mod call;
mod conditions;
mod expressions;
mod frame;
mod routines;

use std::sync::Arc;

use vaquita_exec::store_in_variable;
use vaquita_parser::ast::{Instruction, IntoTarget, Show};
use vaquita_parser::{Statement as Ast, StatementKind};
use vaquita_plan::env::Level;
use vaquita_types::errno::{
    ER_QUERY_INTERRUPTED, ER_SP_CASE_NOT_FOUND, ER_SP_CURSOR_ALREADY_OPEN, ER_SP_CURSOR_NOT_OPEN, ER_SP_FETCH_NO_DATA,
    ER_SP_WRONG_NO_OF_FETCH_ARGS,
};
use vaquita_types::error::Next;
use vaquita_types::{ColumnType, Error, Result, TypeKind, Value};

use super::Session;
use super::exchange::Exchange;
use super::execute::Planned;
use crate::answer::{Answer, Completed, Flow};
use crate::programs::Routine;
use crate::state::prepared::CachedPlan;
use crate::state::user_variables::type_of_value;
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

impl Session {
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
            return frame.set(variable, value);
        }
        let value = store_in_variable(value, from, &declared.name, &frame.types[variable], &self.env)?;
        frame.set(variable, value)
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
