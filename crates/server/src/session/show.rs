//! SHOW and DESCRIBE: runs `exec::show` and writes its rows.

use vaquita_exec::catalog::PlanCatalog;
use vaquita_exec::context::Statement;
use vaquita_exec::show::{self, ShowContext, ShowResult};
use vaquita_exec::sink::RowSink;
use vaquita_parser::Statement as Ast;
use vaquita_parser::ast::Show;
use vaquita_plan::bind::PlanContext;
use vaquita_plan::node::OutputColumn;
use vaquita_storage::Reads;
use vaquita_types::{Error, Result};
use vaquita_wire::caps::status;

use super::Session;
use super::reply::Rows;
use super::run::Done;
use crate::connection::Output;
use crate::info::Info;

impl Session {
    /// What system tables may ask of this session and its server.
    pub(super) fn info(&self) -> Info<'_> {
        Info { server: &self.server, state: &self.state, client: &self.client, account: &self.account }
    }

    /// Runs SHOW or DESCRIBE and writes the rows. `more`: another statement of the packet follows.
    pub(super) fn show(&mut self, ast: &Ast, binary: bool, more: bool, out: &mut Output<'_>) -> Result<Done> {
        if let Ast::Show(Show::Warnings(_) | Show::Errors(_) | Show::WarningCount | Show::ErrorCount) = ast {
            self.state.keep_warnings();
        }
        let result = self.show_result(ast)?;
        let flags = self.status() | if more { status::MORE_RESULTS_EXISTS } else { 0 };
        let mut rows = Rows::new(out, binary, flags, self.state.result_charset());
        rows.columns(&result.columns)?;
        for row in &result.rows {
            rows.begin_row();
            for (value, column) in row.iter().zip(&result.columns) {
                rows.value(value, &column.expr.ty);
            }
            rows.end_row()?;
        }
        self.state.set_found_rows(result.rows.len() as u64);
        Ok(Done::Rows)
    }

    /// The columns of a SHOW that is being prepared; none for other statements.
    pub(super) fn show_columns(&mut self, ast: &Ast) -> Result<Vec<OutputColumn>> {
        match ast {
            Ast::Show(_) | Ast::Describe { .. } => Ok(self.show_result(ast)?.columns),
            _ => Ok(Vec::new()),
        }
    }

    fn show_result(&mut self, ast: &Ast) -> Result<ShowResult> {
        self.txn.get_mut().begin_statement(Reads::Many);
        let result = self.run_show(ast);
        self.txn.get_mut().end_statement();
        if !self.in_transaction {
            self.txn.get_mut().rollback();
        }
        result
    }

    fn run_show(&self, ast: &Ast) -> Result<ShowResult> {
        let info = self.info();
        let mut statement =
            Statement::new(&self.server.engine, &self.server.catalog, &self.txn, &[], &self.state, &self.client.interrupt);
        statement.server = &info;
        let catalog = PlanCatalog::new(&self.server.catalog);
        let database = self.state.database();
        let mut plan = PlanContext::new(&catalog);
        plan.current_database = database.as_deref();
        plan.sql_mode = self.state.sql_mode_bits();
        plan.connection_collation = self.state.connection_collation();
        let context = ShowContext { statement: &statement, plan: &plan, database: database.as_deref() };
        match ast {
            Ast::Show(form) => show::run(form, &context).unwrap_or_else(|| Err(Error::unsupported(format_args!("SHOW {form:?}")))),
            Ast::Describe { table, column } => show::describe(table, column.as_deref(), &context),
            _ => Err(Error::internal("no SHOW statement")),
        }
    }
}
