//! SHOW, DESCRIBE and HELP: runs `exec::show` and writes its rows.

use vaquita_exec::catalog::PlanCatalog;
use vaquita_exec::show::{self, ShowContext, ShowResult};
use vaquita_parser::ast::Show;
use vaquita_parser::statement_kind::{Class, InXa};
use vaquita_parser::{ParserOptions, Statement as Ast, StatementKind, parse_one};
use vaquita_plan::bind::{Place, PlanContext};
use vaquita_plan::expr::Expr;
use vaquita_plan::node::{KeptHeader, OutputColumn};
use vaquita_storage::Reads;
use vaquita_types::charset::{CollationId, LIKE_ESCAPE, collation};
use vaquita_types::{ColumnType, Error, Result, Value};

use super::Session;
use super::exchange::Exchange;
use super::execute::Done;
use super::server_view::ServerView;

/// Width of SHOW CREATE USER's column.
const CREATE_USER_CHARS_MAX: u32 = 1024;

impl Session {
    /// What system tables may ask of this session and its server.
    #[inline]
    pub(super) fn server_view(&self) -> ServerView<'_> {
        ServerView {
            server: &self.server,
            client: &self.client,
            env: &self.env,
            access: &self.access,
            locked: &self.locked,
            caller: None,
            over: None,
            savepoints: None,
            in_use: None,
        }
    }

    /// Runs SHOW or DESCRIBE and writes the rows.
    pub(super) fn show(&mut self, ast: &Ast, exchange: &mut Exchange<'_>) -> Result<Done> {
        if let Ast::Show(Show::Warnings(_) | Show::Errors(_) | Show::WarningCount | Show::ErrorCount) = ast {
            if !exchange.in_program {
                self.env.diagnostics.keep_previous();
            }
            let found = self.env.diagnostics.found_rows();
            let result = self.show_result(ast)?;
            let done = self.put_rows(&result.columns, &result.rows, exchange);
            self.env.diagnostics.set_found_rows(found);
            return done;
        }
        let result = self.show_result(ast)?;
        self.put_rows(&result.columns, &result.rows, exchange)
    }

    /// Runs HELP and writes the rows, which FOUND_ROWS() does not count.
    pub(super) fn help(&mut self, text: &[u8], exchange: &mut Exchange<'_>) -> Result<Done> {
        let found = self.env.diagnostics.found_rows();
        let result = show::help(text);
        let done = self.put_rows(&result.columns, &result.rows, exchange);
        self.env.diagnostics.set_found_rows(found);
        done
    }

    /// Writes a result set that is in memory.
    pub(super) fn put_rows(
        &mut self,
        columns: &[OutputColumn],
        result: &[Vec<Value>],
        exchange: &mut Exchange<'_>,
    ) -> Result<Done> {
        let form = self.result_form(exchange);
        let rows = exchange.answer.rows(form);
        rows.columns(columns, &KeptHeader::default())?;
        for row in result {
            rows.begin_row();
            for (value, column) in row.iter().zip(columns) {
                rows.value(value, &column.expr.ty);
            }
            rows.end_row()?;
        }
        self.env.diagnostics.set_found_rows(result.len() as u64);
        Ok(Done::Rows)
    }

    /// The columns of a SHOW that is being prepared; none for other statements.
    pub(super) fn show_columns(&mut self, ast: &Ast) -> Result<Vec<OutputColumn>> {
        let facts = StatementKind::of(ast).facts();
        match facts.class {
            // What names no table is looked for when it runs.
            Class::Show if facts.in_xa == InXa::Allowed => Ok(self.show_result(ast).map_or(Vec::new(), |result| result.columns)),
            Class::Show => Ok(self.show_result(ast)?.columns),
            Class::Planned | Class::Ddl | Class::Account | Class::Other => Ok(Vec::new()),
        }
    }

    /// COM_FIELD_LIST: the table's columns whose names are LIKE `wildcard`, with their defaults.
    pub fn list_fields(&mut self, table: &[u8], wildcard: &[u8]) -> Result<Vec<(OutputColumn, Option<String>)>> {
        let name = String::from_utf8_lossy(table).into_owned();
        let quoted = format!("SELECT * FROM `{}`", name.replace('`', "``"));
        let (ast, _) = parse_one(quoted.as_bytes(), &ParserOptions::default())?;
        self.authorize(&ast)?;
        let plan = self.plan(&ast, &[])?;
        let tables = plan.tables();
        let wanted = |column: &&OutputColumn| {
            wildcard.is_empty() || collation(CollationId::default()).like(column.name.as_bytes(), wildcard, Some(LIKE_ESCAPE))
        };
        let with_default = |column: &OutputColumn| {
            let stored = tables.first().and_then(|t| t.columns.get(t.column_position(&column.name)?));
            (column.clone(), stored.and_then(vaquita_exec::system::text::default_text))
        };
        Ok(plan.columns().iter().filter(wanted).map(with_default).collect())
    }

    fn show_result(&mut self, ast: &Ast) -> Result<ShowResult> {
        self.transaction.storage().begin_statement(Reads::Many);
        let result = self.run_show(ast);
        self.transaction.storage().end_statement();
        self.transaction.release_reads();
        result
    }

    fn run_show(&self, ast: &Ast) -> Result<ShowResult> {
        let server = self.server_view();
        let statement = self.executing(self.prepared.values(), &server);
        let catalog = PlanCatalog::new(&self.catalog);
        let database = self.env.database();
        // Expressions get their place where they are bound.
        let mut plan = PlanContext::new(&catalog, Place::Check(""));
        plan.settings = &self.env.settings.plan;
        let types = self.types_of_values();
        plan.param_types = &types;
        let context = ShowContext { statement: &statement, plan: &plan, database: database.as_deref() };
        match ast {
            Ast::Show(Show::CreateTable(name)) => {
                let result = self.with_ddl("", |ddl| ddl.show_create_table(name))?;
                Ok(ShowResult { columns: result.columns, rows: result.rows })
            }
            Ast::Show(Show::CreateView(name)) => {
                let result = self.with_ddl("", |ddl| ddl.show_create_view(name))?;
                Ok(ShowResult { columns: result.columns, rows: result.rows })
            }
            Ast::Show(form @ Show::CreateUser(_)) => {
                let (name, text) = self.show_create_user(form).unwrap_or_else(|| Err(Error::internal("no SHOW CREATE USER")))?;
                let ty = ColumnType::varchar(CREATE_USER_CHARS_MAX, CollationId::default());
                let columns = vec![OutputColumn { expr: Expr::slot(0, ty, false), name, origin: None }];
                Ok(ShowResult { columns, rows: vec![vec![text.into()]] })
            }
            Ast::Show(form) => show::run(form, &context).unwrap_or_else(|| Err(Error::unsupported("this form of SHOW"))),
            Ast::Describe { table, column } => show::describe(table, column.as_deref(), &context),
            _ => Err(Error::internal("no SHOW statement")),
        }
    }
}
