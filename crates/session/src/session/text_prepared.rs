//! PREPARE, EXECUTE and DEALLOCATE PREPARE as statements of SQL text.
//!
//! Statements have names, which belong to the session. `EXECUTE s USING @a` takes the values of user variables for the
//! `?` of the text. Statements of the binary protocol are in `prepared`; both count towards `max_prepared_stmt_count`.

use std::sync::Arc;

use vaquita_exec::context::SessionEnv;
use vaquita_parser::ast::PrepareSource;
use vaquita_parser::statement_kind::Prepares;
use vaquita_parser::{Statement as Ast, StatementKind, parse_prepared_noting};
use vaquita_types::charset::charset;
use vaquita_types::errno::{ER_UNKNOWN_STMT_HANDLER, ER_UNSUPPORTED_PS, ER_WRONG_ARGUMENTS};
use vaquita_types::{Error, Result, Value};

use super::answer::Exchange;
use super::prepared::CachedPlan;
use super::run::{Done, Planned};
use super::{Flow, Session};
use crate::counters::Counter;
use crate::statements::StatementMemory;

/// A statement with a name.
pub struct Named {
    /// The current database when it was prepared.
    database: Option<String>,
    ast: Arc<Ast>,
    params: usize,
    plan: Option<Arc<CachedPlan>>,
    /// Given back when the statement goes.
    _memory: StatementMemory,
}

impl Session {
    pub(super) fn prepare_text(&mut self, name: &str, source: &PrepareSource) -> Result<Done> {
        let key = name.to_lowercase();
        // A PREPARE that fails leaves no statement of that name.
        if self.named.remove(&key).is_some() {
            self.server.statements.closed(1);
        }
        let text = match source {
            PrepareSource::Text(text) => text.clone(),
            PrepareSource::UserVar(variable) => user_var_text(&self.state.user_var(variable)),
        };
        let options = self.state.settings.plan.parser_options();
        let mut deprecated = Vec::new();
        let (ast, params) = parse_prepared_noting(&text, &options, &mut deprecated)?;
        self.warn_of_syntax(deprecated);
        let kind = StatementKind::of(&ast);
        if matches!(kind.facts().prepares, Prepares::ProtocolOnly | Prepares::Neither) {
            return Err(Error::new(&ER_UNSUPPORTED_PS, &[]));
        }
        self.authorize(&ast)?;
        let plan = if kind.is_planned() { Some(Arc::new(self.typed_plan(&ast, params, &[], None)?)) } else { None };
        self.server.counters.add(self.client.id, Counter::StmtPrepare, 1);
        let memory = self.server.statements.opened(text.len())?;
        self.state.tracker.state_changed(&self.state.settings.track);
        self.named.insert(key, Named { database: self.state.database(), ast: Arc::new(ast), params, plan, _memory: memory });
        Ok(Done::Ok { affected: 0, last_insert_id: 0, info: "Statement prepared".into() })
    }

    pub(super) fn deallocate(&mut self, name: &str) -> Result<Done> {
        match self.named.remove(&name.to_lowercase()) {
            Some(_) => {
                self.server.counters.add(self.client.id, Counter::StmtClose, 1);
                self.server.statements.closed(1);
                self.state.tracker.state_changed(&self.state.settings.track);
                Ok(Done::nothing())
            }
            None => Err(unknown(name, "DEALLOCATE PREPARE")),
        }
    }

    pub(super) fn execute_text(&mut self, name: &str, using: &[String], exchange: &mut Exchange<'_>) -> Flow {
        let database = self.named.get(&name.to_lowercase()).and_then(|named| named.database.clone());
        self.in_database(database.as_deref(), |session| session.execute_named(name, using, exchange))
    }

    fn execute_named(&mut self, name: &str, using: &[String], exchange: &mut Exchange<'_>) -> Flow {
        match self.ready_to_execute(name, using) {
            Err(error) => self.fail(&error, exchange),
            Ok((ast, values, Some(plan))) => {
                self.server.counters.add(self.client.id, Counter::StmtExecute, 1);
                self.server.counters.statement(self.client.id, StatementKind::of(&ast));
                let planned = Planned { plan: &plan.plan, ast: Some(&ast), types: &plan.types, params: &values };
                self.run_plan(planned, exchange)
            }
            Ok((ast, values, None)) => {
                self.server.counters.add(self.client.id, Counter::StmtExecute, 1);
                self.params = values;
                let flow = self.statement(&ast, exchange);
                self.params.clear();
                flow
            }
        }
    }

    /// The value of a variable; a text in the connection's charset, as parameters are.
    fn parameter_of(&self, variable: &str) -> Value {
        let value = self.state.user_var(variable);
        let to = charset(self.state.connection_collation());
        match (&value, self.state.user_var_type(variable)) {
            (Value::Bytes(bytes), Some(ty)) if !to.is_binary() && !charset(ty.collation).is_binary() => {
                Value::bytes(&charset(ty.collation).convert(to, bytes).bytes)
            }
            _ => value,
        }
    }

    fn ready_to_execute(&mut self, name: &str, using: &[String]) -> Result<(Arc<Ast>, Vec<Value>, Option<Arc<CachedPlan>>)> {
        let key = name.to_lowercase();
        let Some(named) = self.named.get(&key) else { return Err(unknown(name, "EXECUTE")) };
        if named.params != using.len() {
            return Err(Error::new(&ER_WRONG_ARGUMENTS, &[&"EXECUTE"]));
        }
        let values: Vec<Value> = using.iter().map(|variable| self.parameter_of(variable)).collect();
        let ast = named.ast.clone();
        let plan = match named.plan.clone() {
            None => None,
            kept => {
                let plan = self.plan_to_run(kept.as_ref(), &ast, using.len(), &values)?;
                if let Some(named) = self.named.get_mut(&key) {
                    named.plan = Some(plan.clone());
                }
                Some(plan)
            }
        };
        Ok((ast, values, plan))
    }
}

fn unknown(name: &str, whose: &str) -> Error {
    Error::new(&ER_UNKNOWN_STMT_HANDLER, &[&name, &whose])
}

/// The text of a statement in a user variable; NULL is the text `NULL`, which is no statement.
fn user_var_text(value: &Value) -> Vec<u8> {
    match value {
        Value::Bytes(bytes) => bytes.to_vec(),
        Value::Null => b"NULL".to_vec(),
        other => vaquita_types::convert::to_text(other, &vaquita_types::ColumnType::null()),
    }
}
