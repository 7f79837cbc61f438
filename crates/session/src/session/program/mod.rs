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
mod create_trigger;
mod frame;
mod function;
mod function_env;
mod function_statements;
mod interpreter;
mod reached_tables;
mod routines;
mod triggers;

use std::sync::Arc;

use vaquita_exec::context::SessionEnv;
use vaquita_parser::ast::{Expr, Show};
use vaquita_parser::{Statement as Ast, StatementKind};
use vaquita_plan::bind::PlanContext;
use vaquita_plan::expr::Expr as BoundTree;
use vaquita_plan::settings::PlanSettings;
use vaquita_plan::uses::UseList;
use vaquita_plan::visit::calls_stored;
use vaquita_storage::{Interrupt, SessionCatalog};
use vaquita_types::errno::ER_SP_CURSOR_ALREADY_OPEN;
use vaquita_types::{ColumnType, Error, Result, Value};

use super::exchange::Exchange;
use super::execute::Planned;
use super::planning::Given;
use super::{Session, hinted};
use crate::answer::{Answer, Completed, Flow};
use crate::programs::Routine;
use crate::state::access::SessionAccess;
use crate::state::environment::Environment;
use crate::state::prepared::{CachedPlan, PlanNotes};
use answer::{CursorRows, ProgramAnswer};
use frame::{Frame, OpenCursor};
pub use function::{Caller, InUse, Tables};
pub use function_env::FunctionSettings;
use interpreter::{Host, Interpreter};
pub(super) use routines::check_program_name;
pub use routines::routine_record;

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

/// A session that runs a program for its client.
struct SessionHost<'s, 'x, 'e> {
    session: &'s mut Session,
    exchange: &'x mut Exchange<'e>,
}

impl Host for SessionHost<'_, '_, '_> {
    fn env(&self) -> &Environment {
        &self.session.env
    }

    fn outside(&self) -> &dyn SessionEnv {
        &self.session.env
    }

    fn settings(&self) -> &Arc<PlanSettings> {
        &self.session.env.settings.plan
    }

    fn catalog(&self) -> &SessionCatalog {
        &self.session.catalog
    }

    fn access(&self) -> &SessionAccess {
        &self.session.access
    }

    fn refresh(&mut self) {
        self.session.access.refresh();
    }

    fn may_run(&mut self, plan: &CachedPlan) -> Result<()> {
        self.session.access.may_run(plan, &self.session.catalog)
    }

    fn interrupt(&self) -> &Interrupt {
        &self.session.client.interrupt
    }

    fn begin_step(&mut self) -> u64 {
        self.session.env.begin_step()
    }

    fn closes(&self) -> bool {
        self.session.programs.closes
    }

    fn bound<R>(
        &self,
        values: &[Value],
        notes: &PlanNotes,
        bind: impl FnOnce(&PlanContext<'_>) -> Result<R>,
    ) -> (Result<R>, UseList) {
        self.session.bound_for_run(values, notes, bind)
    }

    fn fresh_plan(&self, ast: &Ast, given: Given<'_>) -> Result<CachedPlan> {
        self.session.fresh_plan(ast, given)
    }

    fn evaluate_in_statement(&mut self, expr: &BoundTree, uses: &UseList, values: &[Value]) -> Result<(Value, u64)> {
        self.session.run_expression((calls_stored(expr), uses), values, |statement| {
            let value = expr.eval(&statement.cx(&[], None))?.into_owned();
            Ok((value, statement.examined()))
        })
    }

    fn evaluate_outside(&mut self, expr: &Expr) -> Result<(Value, ColumnType)> {
        self.session.evaluate(expr)
    }

    fn run_statement(&mut self, frame: &mut Frame, at: usize, ast: &Ast) -> Result<()> {
        let kind = StatementKind::of(ast);
        match ast {
            Ast::Call { name, args } => {
                self.session.client.counters.statement(kind);
                return self.as_hinted(hinted::variables(ast), |host| {
                    host.session.authorize(ast)?;
                    let routine = host.session.routine_named(name)?;
                    let first = frame.routine.expressions[at];
                    let arguments = call::arguments(host, &routine, args, Some((frame, first)))?;
                    for (target, _, value, ty) in host.session.call(&routine, arguments, host.exchange)? {
                        host.put(frame, &target, value, &ty)?;
                    }
                    Ok(())
                });
            }
            Ast::Signal(signal) => {
                self.session.client.counters.statement(kind);
                return conditions::signal(self, signal, Some(frame));
            }
            Ast::GetDiagnostics(get) => {
                self.session.client.counters.statement(kind);
                for (target, value, ty) in conditions::diagnostics(self, get, Some(frame))? {
                    self.put(frame, &target, value, &ty)?;
                }
                return Ok(());
            }
            _ => {}
        }
        self.session.env.ids.begin_statement();
        if !matches!(ast, Ast::Show(Show::Warnings(_) | Show::Errors(_) | Show::WarningCount | Show::ErrorCount)) {
            self.session.env.diagnostics.clear();
        }
        match kind.is_planned() {
            true => self.as_hinted(hinted::variables(ast), |host| host.run_one(frame, at, ast)),
            // It sets what its hints ask for itself.
            false => self.run_one(frame, at, ast),
        }
    }

    fn as_hinted<T>(&mut self, variables: Vec<(String, Expr)>, run: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        let kept = self.session.hinted();
        self.session.set_variables(variables)?;
        let ran = run(self);
        self.session.restore_hinted(kept);
        ran
    }

    fn open_cursor(&mut self, frame: &mut Frame, cursor: usize) -> Result<()> {
        if frame.cursors[cursor].is_some() {
            return Err(Error::new(&ER_SP_CURSOR_ALREADY_OPEN, &[]));
        }
        let routine = frame.routine.clone();
        let id = routine.ast.program.steps.len() + cursor;
        let ast = &routine.ast.program.cursors[cursor];
        let mut answer = CursorRows::new();
        self.as_hinted(hinted::variables(ast), |host| {
            let plan = host.plan_in(frame, id, ast)?;
            let mut inner = Exchange { in_program: true, ..Exchange::new(&mut answer, host.exchange.park) };
            let planned = Planned {
                plan: &plan.plan,
                ast: Some(ast),
                types: &frame.types,
                params: &frame.values,
                kept: Some(&plan),
                creates: None,
            };
            host.session.run_plan(planned, &mut inner);
            Ok(())
        })?;
        if let Some(error) = answer.error.take() {
            return Err(error);
        }
        let (columns, rows, memory) = answer.into_rows();
        frame.cursors[cursor] = Some(OpenCursor { columns, rows: rows.into_iter(), _memory: memory });
        Ok(())
    }
}

impl SessionHost<'_, '_, '_> {
    fn run_one(&mut self, frame: &mut Frame, at: usize, ast: &Ast) -> Result<()> {
        let binary = self.exchange.binary;
        let kind = StatementKind::of(ast);
        let plan = match kind.is_planned() {
            true => {
                self.session.client.counters.statement(kind);
                let planned = self.plan_in(frame, at, ast);
                if planned.is_err() {
                    self.session.env.diagnostics.set_row_count(-1);
                }
                Some(planned?)
            }
            false => None,
        };
        let mut answer = ProgramAnswer::new(self.exchange.answer);
        let session = &mut *self.session;
        let flow = {
            let mut inner = Exchange { binary, in_program: true, ..Exchange::new(&mut answer, self.exchange.park) };
            match &plan {
                Some(plan) => {
                    let planned = Planned {
                        plan: &plan.plan,
                        ast: Some(ast),
                        types: &frame.types,
                        params: &frame.values,
                        kept: Some(plan),
                        creates: None,
                    };
                    session.run_plan(planned, &mut inner)
                }
                None => {
                    let text = frame.routine.ast.program.steps.get(at).and_then(|step| step.text.as_deref());
                    session.note_text(text.unwrap_or_default().as_bytes(), kind);
                    let before = session.prepared.take_values();
                    session.prepared.set_values(frame.values.clone());
                    let binaries = session.prepared.set_binaries(Vec::new());
                    let flow = session.statement(ast, &mut inner);
                    session.prepared.set_values(before);
                    session.prepared.set_binaries(binaries);
                    flow
                }
            }
        };
        let (error, rows_open) = (answer.error.take(), answer.rows_open);
        if flow == Flow::Close {
            session.programs.closes = true;
        }
        let selected = session.env.take_program_variables();
        if rows_open && !answer.take_back() {
            // Its rows have begun to leave: they end here for a handler to go on.
            answer.end_of_rows(&Completed { status: session.status(), ..Completed::default() });
        }
        for (variable, value, ty) in selected {
            self.store(frame, variable, value, &ty)?;
        }
        error.map_or(Ok(()), Err)
    }
}
