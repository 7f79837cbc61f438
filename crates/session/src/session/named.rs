//! PREPARE, EXECUTE and DEALLOCATE PREPARE as statements of SQL text.
//!
//! Statements have names, which belong to the session. `EXECUTE s USING @a` takes the values of user variables for the
//! `?` of the text. Statements of the binary protocol are in `prepared`.

use std::borrow::Cow;
use std::sync::Arc;

use vaquita_parser::ast::PrepareSource;
use vaquita_parser::statement_kind::Prepares;
use vaquita_parser::{Statement as Ast, StatementKind};
use vaquita_plan::text::is_string;
use vaquita_types::charset::{CollationId, charset};
use vaquita_types::errno::{ER_UNKNOWN_STMT_HANDLER, ER_WRONG_ARGUMENTS};
use vaquita_types::{Error, Result, Value};

use super::Session;
use super::exchange::Exchange;
use super::execute::{Done, Planned};
use crate::answer::Flow;
use crate::counters::Counter;
use crate::state::prepared::{CachedPlan, Prepared};

impl Session {
    pub(super) fn prepare_named(&mut self, name: &str, source: &PrepareSource) -> Result<Done> {
        // Its `?` are no variables of the program that prepares it.
        let outer = std::mem::replace(&mut self.programs.variables, false);
        let done = self.prepare_source(name, source);
        self.programs.variables = outer;
        done
    }

    fn prepare_source(&mut self, name: &str, source: &PrepareSource) -> Result<Done> {
        self.prepared.refuse_running(name)?;
        // A PREPARE that fails leaves no statement of that name.
        self.prepared.close_named(name);
        let text = match source {
            PrepareSource::Text(text) => text.clone(),
            PrepareSource::UserVar(variable) => self.text_of(variable),
        };
        let (prepared, _) = self.prepared_from(&text, Prepares::ProtocolOnly)?;
        self.env.tracker.state_changed(&self.env.settings.track);
        self.prepared.set_named(name, prepared);
        Ok(Done::Ok { affected: 0, last_insert_id: 0, info: "Statement prepared".into() })
    }

    pub(super) fn deallocate(&mut self, name: &str) -> Result<Done> {
        self.prepared.refuse_running(name)?;
        if !self.prepared.close_named(name) {
            return Err(unknown(name, "DEALLOCATE PREPARE"));
        }
        self.client.counters.add(Counter::StmtClose, 1);
        self.env.tracker.state_changed(&self.env.settings.track);
        Ok(Done::nothing())
    }

    pub(super) fn execute_named(&mut self, name: &str, using: &[String], exchange: &mut Exchange<'_>) -> Flow {
        let database = self.prepared.named(name).and_then(|named| named.database.clone());
        let outer = std::mem::replace(&mut self.programs.variables, false);
        let binaries = self.binaries_of(using);
        let outer_binaries = self.prepared.set_binaries(binaries);
        let flow = self.in_database(database.as_deref(), |session| match session.ready_to_execute(name, using) {
            Err(error) => session.fail(&error, exchange),
            Ok((ast, values, Some(plan))) => {
                session.client.counters.add(Counter::StmtExecute, 1);
                session.client.counters.statement(StatementKind::of(&ast));
                let planned = Planned {
                    plan: &plan.plan,
                    ast: Some(&ast),
                    types: &plan.types,
                    params: &values,
                    kept: Some(&plan),
                    creates: None,
                };
                session.run_plan(planned, exchange)
            }
            Ok((ast, values, None)) => {
                if let Err(error) = session.prepared.enter_named(name) {
                    return session.fail(&error, exchange);
                }
                session.client.counters.add(Counter::StmtExecute, 1);
                session.prepared.set_values(values);
                let flow = session.statement(&ast, exchange);
                session.prepared.take_values();
                session.prepared.leave_named();
                flow
            }
        });
        self.programs.variables = outer;
        self.prepared.set_binaries(outer_binaries);
        flow
    }

    /// The statement that a variable holds. A text of another charset is brought to the client's if its characters are not bytes of
    /// ASCII, so that it can be read at all.
    fn text_of(&self, variable: &str) -> Vec<u8> {
        let variables = &self.env.user_variables;
        let text = user_variable_text(&variables.get(variable));
        match variables.type_of(variable) {
            Some(ty) if !charset(ty.collation).is_ascii_compatible() => {
                let client = self.env.settings.plan.client_charset.unwrap_or(charset(CollationId::UTF8MB4_BIN));
                charset(ty.collation).convert(client, &text).bytes.into_owned()
            }
            _ => text,
        }
    }

    /// The value of a variable; a text in the connection's charset, as parameters are.
    fn parameter_of(&self, variable: &str) -> Value {
        let variables = &self.env.user_variables;
        let value = variables.get(variable);
        let to = charset(self.env.connection_collation());
        match (&value, variables.type_of(variable)) {
            (Value::Bytes(bytes), Some(ty)) if !to.is_binary() && !charset(ty.collation).is_binary() => {
                Value::bytes(&charset(ty.collation).convert(to, bytes).bytes)
            }
            _ => value,
        }
    }

    /// Which of the variables are binary strings; empty if none is.
    fn binaries_of(&self, variables: &[String]) -> Vec<bool> {
        let is_binary = |name: &String| {
            let ty = self.env.user_variables.type_of(name);
            ty.is_some_and(|ty| is_string(&ty) && ty.collation == CollationId::BINARY)
        };
        match variables.iter().any(is_binary) {
            true => variables.iter().map(is_binary).collect(),
            false => Vec::new(),
        }
    }

    fn ready_to_execute(&mut self, name: &str, using: &[String]) -> Result<(Arc<Ast>, Vec<Value>, Option<Arc<CachedPlan>>)> {
        let Some(mut named) = self.prepared.take_named(name) else { return Err(unknown(name, "EXECUTE")) };
        let ast = named.ast.clone();
        // They are restored when EXECUTE has ended.
        let ready = self.set_hinted(&ast).and_then(|()| self.ready(&mut named, using));
        let text = named.text.clone();
        if !self.programs.is_running() {
            self.client.show_instead(named.shown.clone());
        }
        self.note_text(text.as_bytes(), named.kind);
        self.prepared.set_named(name, named);
        let (values, plan) = ready?;
        self.log_execution(&ast, text.as_bytes(), &values)?;
        Ok((ast, values, plan))
    }

    fn ready(&mut self, named: &mut Prepared, using: &[String]) -> Result<(Vec<Value>, Option<Arc<CachedPlan>>)> {
        if named.parameters != using.len() {
            return Err(Error::new(&ER_WRONG_ARGUMENTS, &[&"EXECUTE"]));
        }
        let mut values: Vec<Value> = using.iter().map(|variable| self.parameter_of(variable)).collect();
        if named.plan.is_some() {
            let (plan, read) = self.plan_to_run(named, &values)?;
            if let Cow::Owned(read) = read {
                values = read;
            }
            named.plan = Some(plan);
        }
        Ok((values, named.plan.clone()))
    }
}

fn unknown(name: &str, whose: &str) -> Error {
    Error::new(&ER_UNKNOWN_STMT_HANDLER, &[&name, &whose])
}

/// The text of a statement in a user variable; NULL is the text `NULL`, which is no statement.
fn user_variable_text(value: &Value) -> Vec<u8> {
    match value {
        Value::Bytes(bytes) => bytes.to_vec(),
        Value::Null => b"NULL".to_vec(),
        other => vaquita_types::convert::to_text(other, &vaquita_types::ColumnType::null()),
    }
}
