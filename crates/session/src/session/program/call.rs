//! CALL: arguments, what the session takes on while a routine runs, and OUT parameters.

use std::sync::Arc;

use vaquita_parser::ast::{Expr, IntoTarget, Name, ParameterMode};
use vaquita_plan::expr::Expr as BoundTree;
use vaquita_plan::node::{ColumnOrigin, KeptHeader, OutputColumn};
use vaquita_types::charset::CollationId;
use vaquita_types::errno::{
    ER_NO_SUCH_USER, ER_SP_BADSELECT, ER_SP_DOES_NOT_EXIST, ER_SP_NOT_VAR_ARG, ER_SP_RECURSION_LIMIT, ER_SP_WRONG_NO_OF_ARGS,
    ER_STACK_OVERRUN_NEED_MORE,
};
use vaquita_types::limits::PROGRAM_DEPTH_MAX;
use vaquita_types::schema::{ObjectKind, SqlSecurity, StoredObject};
use vaquita_types::{ColumnType, Error, Result, Value, stack};

use super::super::Session;
use super::super::exchange::Exchange;
use super::SessionHost;
use super::frame::Frame;
use super::interpreter::{Host, Interpreter};
use crate::answer::{Completed, Flow, Status};
use crate::programs::{self, Routine};
use crate::state::access::Worn;
use crate::variables::Var;

/// An argument of CALL.
pub(super) enum Argument {
    In(Value, ColumnType),
    /// Where the value comes from for INOUT, and goes.
    Out {
        target: IntoTarget,
        value: Option<(Value, ColumnType)>,
    },
}

/// A parameter's value after the call.
pub(super) type Given = (IntoTarget, String, Value, ColumnType);

impl Session {
    /// CALL of a client.
    pub(in super::super) fn call_statement(&mut self, name: &Name, args: &[Expr], exchange: &mut Exchange<'_>) -> Flow {
        let called = self.routine_named(name).and_then(|routine| {
            if routine.gives_rows && !self.options.multi_results {
                return Err(Error::new(&ER_SP_BADSELECT, &[&routine.qualified_name()]));
            }
            let arguments = arguments(&mut SessionHost { session: self, exchange }, &routine, args, None)?;
            let given = self.call(&routine, arguments, exchange)?;
            Ok((routine, given))
        });
        let done = called.and_then(|(routine, given)| self.give_back(&routine, given, exchange));
        match done {
            Ok(()) => {
                let affected = self.env.diagnostics.row_count().max(0);
                self.env.diagnostics.set_row_count(affected);
                let affected = affected as u64;
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

    pub(in super::super) fn routine_named(&self, name: &Name) -> Result<Arc<Routine>> {
        let database = self.database_of(name)?;
        match self.server.catalog.object(&database, ObjectKind::Procedure, &name.name)? {
            Some(object) => programs::routine(&self.server.programs, &object),
            None => {
                let shown = format!("{database}.{}", name.name);
                Err(Error::new(&ER_SP_DOES_NOT_EXIST, &[&"PROCEDURE", &shown]))
            }
        }
    }

    /// Runs a routine; what its OUT and INOUT parameters are in the end.
    pub(super) fn call(
        &mut self,
        routine: &Arc<Routine>,
        arguments: Vec<Argument>,
        exchange: &mut Exchange<'_>,
    ) -> Result<Vec<Given>> {
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

    /// Runs a program that nobody calls.
    pub(in super::super) fn run_program(&mut self, program: &Arc<Routine>, exchange: &mut Exchange<'_>) -> Result<()> {
        self.call(program, Vec::new(), exchange).map(drop)
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
        let mut frame = Frame::new(routine.clone(), &self.env.settings.plan)?;
        let host = &mut SessionHost { session: self, exchange };
        let outs = take_arguments(host, &mut frame, arguments)?;
        host.run_steps(&mut frame)?;
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
                        is_merged: false,
                        database: routine.object.database.clone(),
                        table: routine.object.name.clone(),
                        org_table: routine.object.name.clone(),
                        org_name: name.clone(),
                        primary_key: false,
                        unique_key: false,
                        multiple_key: false,
                        part_key: false,
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
        rows.columns(&columns, &KeptHeader::default())?;
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
}

/// Gives a procedure its arguments; the variables whose values go somewhere in the end.
pub(super) fn take_arguments(
    host: &mut impl Host,
    frame: &mut Frame,
    arguments: Vec<Argument>,
) -> Result<Vec<(usize, IntoTarget)>> {
    let mut outs = Vec::new();
    for (n, argument) in arguments.into_iter().enumerate() {
        match argument {
            Argument::In(value, ty) => host.store(frame, n, value, &ty)?,
            Argument::Out { target, value } => {
                if let Some((value, ty)) = value {
                    host.store(frame, n, value, &ty)?;
                }
                outs.push((n, target));
            }
        }
    }
    Ok(outs)
}

/// The arguments of a CALL in `frame`, or of a client's. `at` is the first expression of the step that has them.
pub(super) fn arguments(
    host: &mut impl Host,
    routine: &Routine,
    args: &[Expr],
    mut frame: Option<(&mut Frame, usize)>,
) -> Result<Vec<Argument>> {
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
            Expr::Param(at) => {
                // Not a column of a row that the trigger may not change.
                let takes = frame.as_ref().is_none_or(|(frame, _)| frame.routine.may_set(*at));
                takes.then_some(IntoTarget::Variable(*at))
            }
            _ => None,
        };
        let value = match (mode, &mut frame) {
            (ParameterMode::Out, _) => None,
            (_, Some((frame, at))) => Some(host.evaluate_in(frame, *at + n, arg)?),
            (_, None) => Some(host.evaluate_outside(arg)?),
        };
        arguments.push(match (mode, target, value) {
            (ParameterMode::In, _, Some((value, ty))) => Argument::In(value, ty),
            (_, Some(target), value) => Argument::Out { target, value },
            _ => return Err(Error::new(&ER_SP_NOT_VAR_ARG, &[&(n + 1), &routine.qualified_name()])),
        });
    }
    Ok(arguments)
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
            let worn = self.access.wear(definer);
            if let Err(denied) = self.access.may_execute(object) {
                self.access.take_off(worn);
                return Err(denied);
            }
            access = Some((worn, self.env.set_account(name)));
        }
        let plan = &self.env.settings.plan;
        let (sql_mode, connection_collation) = (plan.sql_mode, plan.connection_collation);
        let is_there = plan.current_database.as_deref() == Some(&object.database);
        let database = (!is_there).then(|| plan.current_database.clone());
        if !is_there {
            self.env.settings.set_database(Some(&object.database));
        }
        self.env.settings.read_under(object.sql_mode, object.connection_collation);
        Ok(Own { database, sql_mode, connection_collation, access })
    }

    /// What the routine itself has changed of these goes with it, too.
    fn leave(&mut self, own: Own) {
        self.env.settings.read_under(own.sql_mode, own.connection_collation);
        if let Some(database) = own.database {
            self.env.settings.set_database(database.as_deref());
        }
        if let Some((worn, name)) = own.access {
            self.access.take_off(worn);
            self.env.set_account(name);
        }
    }
}
