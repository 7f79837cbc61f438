//! COM_QUERY: text to statements, one after the other.
//!
//! A packet may hold several statements if the client has MULTI_STATEMENTS; each is parsed only when the one
//! before succeeded. SELECT, INSERT, UPDATE, DELETE become plans; the rest is `admin`.

use vaquita_parser::ast::{Expr, Hint, Limit, Literal, Query, QueryBody};
use vaquita_parser::{ParserOptions, Statement as Ast, StatementKind, parse_one_noting};
use vaquita_plan::bind::{Place, PlanContext, plan_statement};
use vaquita_plan::env::Level;
use vaquita_plan::node::Plan;
use vaquita_plan::uses::{UseList, Uses};
use vaquita_types::charset::CollationId;
use vaquita_types::errno::ER_UPDATE_WITHOUT_KEY_IN_SAFE_MODE;
use vaquita_types::{ColumnType, Error, Result};

use super::answer::{Answer, Exchange};
use super::prepared::{Variable, VariableTypes};
use super::run::{Done, Planned};
use super::{Flow, MakeWaiter, Session};
use crate::variables::{Effect, registry};

impl Session {
    pub(super) fn query(&mut self, sql: &[u8], answer: &mut dyn Answer, park: MakeWaiter<'_>) -> Flow {
        let sql = without_end(sql);
        match self.state.settings.plan.client_charset {
            None => self.statements_of(sql, answer, park),
            Some(charset) => {
                let text = charset.convert(vaquita_types::charset::charset(CollationId::UTF8MB4_BIN), sql).bytes;
                self.statements_of(&text, answer, park)
            }
        }
    }

    /// Runs the statements of a text in utf8mb4.
    pub(super) fn statements_of(&mut self, sql: &[u8], answer: &mut dyn Answer, park: MakeWaiter<'_>) -> Flow {
        let mut rest = sql;
        loop {
            let mut exchange = Exchange { answer, park, rest: &[], binary: false };
            let statement_text = rest;
            self.client.interrupt.clear();
            self.client.begin_command(Session::QUERY_COMMAND, Some(String::from_utf8_lossy(statement_text).into()));
            self.state.begin_statement();
            // Statements of an account with limits are counted by kind, which only parsing tells.
            if self.limits.is_none()
                && let Some(flow) = self.run_known(statement_text, &mut exchange)
            {
                return flow;
            }
            let options = self.state.settings.plan.parser_options();
            let mut deprecated = Vec::new();
            let (ast, consumed) = match parse_one_noting(statement_text, &options, &mut deprecated) {
                Ok(parsed) => {
                    self.warn_of_syntax(deprecated);
                    parsed
                }
                // Comments alone are a statement that does nothing, as clients send those of a dump.
                Err(_) if holds_comments_only(statement_text, &options) => {
                    return self.succeed(&Done::nothing(), &mut exchange);
                }
                Err(error) => return self.fail(&error.into(), &mut exchange),
            };
            rest = &statement_text[consumed.min(statement_text.len())..];
            let more = !vaquita_parser::is_blank(rest, &options);
            if more && !self.options.multi_statements {
                let error = vaquita_parser::parse_prepared(statement_text, &options).err();
                let error = error.map_or_else(|| Error::internal("a second statement"), Error::from);
                return self.fail(&error, &mut exchange);
            }
            if !more {
                rest = &[];
            }
            if let Err(error) = self.count_statement(StatementKind::of(&ast)) {
                return self.fail(&error, &mut exchange);
            }
            exchange.rest = rest;
            let failures = self.failures;
            match self.statement(&ast, &mut exchange) {
                Flow::Next if !rest.is_empty() && self.failures == failures => {}
                flow => return flow,
            }
        }
    }

    pub(super) fn statement(&mut self, ast: &Ast, exchange: &mut Exchange<'_>) -> Flow {
        self.server.counters.statement(self.client.id, StatementKind::counted(ast));
        if let Err(error) = self.authorize(ast) {
            return self.fail(&error, exchange);
        }
        if !StatementKind::of(ast).is_planned() {
            return self.admin(ast, exchange);
        }
        match self.plan(ast, &[]) {
            Ok(plan) => self.run_plan(Planned { plan: &plan, ast: Some(ast), types: &[], params: &[] }, exchange),
            Err(error) => self.fail(&error, exchange),
        }
    }

    pub(super) fn plan(&self, ast: &Ast, param_types: &[ColumnType]) -> Result<Plan> {
        self.plan_noting(ast, param_types, &VariableTypes::default()).map(|(plan, _)| plan)
    }

    /// A plan that the session may run, and what it uses; `variables` gets the types of variables that are asked for.
    pub(super) fn plan_noting(
        &self,
        ast: &Ast,
        param_types: &[ColumnType],
        variables: &VariableTypes,
    ) -> Result<(Plan, UseList)> {
        refuse_hints(ast)?;
        let limited = self.with_select_limit(ast);
        let (plan, uses) = self.bound(variables, |context| {
            plan_statement(limited.as_ref().unwrap_or(ast), &PlanContext { param_types, ..*context })
        });
        // What it may not use comes before what is wrong with it.
        self.allows(&uses)?;
        let plan = plan?;
        if self.state.settings.plan.safe_updates && plan.changes_without_key() {
            return Err(Error::new(&ER_UPDATE_WITHOUT_KEY_IN_SAFE_MODE, &[&""]));
        }
        Ok((plan, uses))
    }

    pub(super) fn warn_of_syntax(&self, deprecated: Vec<Error>) {
        deprecated.into_iter().for_each(|error| self.state.push_warning(Level::Warning, error));
    }

    /// `sql_select_limit` is the LIMIT of a query that has none.
    fn with_select_limit(&self, ast: &Ast) -> Option<Ast> {
        let rows_max = self.state.settings.plan.select_rows_max;
        let Ast::Query(query) = ast else { return None };
        if rows_max == u64::MAX || query.limit.is_some() {
            return None;
        }
        let count = Expr::Literal(Literal::Int(rows_max));
        Some(Ast::Query(Box::new(Query { limit: Some(Limit { offset: None, count }), ..Query::clone(query) })))
    }

    /// Runs `bind` with what planning may know of this session, which must be allowed to use what was bound.
    pub(super) fn with_plan_context<R>(&self, bind: impl FnOnce(&PlanContext<'_>) -> Result<R>) -> Result<R> {
        let (bound, uses) = self.bound(&VariableTypes::default(), bind);
        self.allows(&uses)?;
        bound
    }

    /// The same without asking: what was bound, or an error, and what it uses. `variables` gets the types of variables that are asked for.
    pub(super) fn bound<R>(
        &self,
        variables: &VariableTypes,
        bind: impl FnOnce(&PlanContext<'_>) -> Result<R>,
    ) -> (Result<R>, UseList) {
        let uses = Uses::default();
        let catalog = vaquita_exec::catalog::PlanCatalog::within(&self.catalog, &self.txn);
        let mut context = PlanContext::new(&catalog, Place::Statement(&uses));
        context.settings = &self.state.settings.plan;
        let user_var_type = |name: &str| variables.note(Variable::User(name.into()), &self.state);
        let sys_var_type = |name: &str| {
            variables.note(Variable::System(name.into()), &self.state).map_or_else(|| self.state.sys_var_type(name), Ok)
        };
        context.user_var_type = Some(&user_var_type);
        context.sys_var_type = Some(&sys_var_type);
        context.fold = true;
        let check_interrupt = || self.client.interrupt.check();
        context.check_interrupt = Some(&check_interrupt);
        let bound = bind(&context);
        (bound, uses.into_list())
    }
}

/// Without the zero byte that C programs send behind a statement.
pub(super) fn without_end(mut sql: &[u8]) -> &[u8] {
    while let [before @ .., 0] = sql {
        sql = before.trim_ascii_end();
    }
    sql
}

fn holds_comments_only(sql: &[u8], options: &ParserOptions) -> bool {
    vaquita_parser::is_blank(sql, options) && sql.iter().any(|byte| !byte.is_ascii_whitespace() && *byte != b';')
}

/// Error 1235 for SET_VAR of a variable that would change what the statement does.
fn refuse_hints(ast: &Ast) -> Result<()> {
    let hints = match ast {
        Ast::Query(query) => match &query.body {
            QueryBody::Select(select) => &select.hints,
            _ => return Ok(()),
        },
        Ast::Insert(insert) => &insert.hints,
        Ast::Update(update) => &update.hints,
        Ast::Delete(delete) => &delete.hints,
        _ => return Ok(()),
    };
    for hint in hints {
        if let Hint::SetVar { name, .. } = hint
            && registry().find(name).is_some_and(|def| def.effect != Effect::None)
        {
            return Err(Error::unsupported(format_args!("SET_VAR({name})")));
        }
    }
    Ok(())
}
