//! DDL: from statements to definitions in the catalog.
//!
//! `data_type` turns a declared type into a `ColumnType`; `columns` and `indexes` build the parts of a
//! `TableDef` with MySQL's checks; `create` and `alter` put them together (`convert` makes new rows of old ones, `alone_map` by several threads, `conversion` a value); the catalog then makes
//! each statement one atomic commit. `checks` holds CHECK constraints, `generated` generated columns, `functional` indexes over expressions, `from_query` CREATE TABLE … SELECT,
//! `show_create` prints a definition back as MySQL does, `temporary` is what temporary tables have of their own,
//! `maintenance` is ANALYZE, CHECK, OPTIMIZE ….

mod actions;
mod algorithm;
mod alone_map;
mod alter;
mod alter_partitions;
mod branches;
pub(crate) mod checks;
mod checksum;
pub mod columns;
mod conversion;
mod convert;
pub mod create;
mod engines;
mod exchange;
pub mod foreign_keys;
pub mod from_query;
mod full_text;
mod functional;
mod generated;
pub mod indexes;
mod maintenance;
mod misplaced;
pub mod options;
mod partition_values;
mod partitions;
mod primary_key;
pub mod show_create;
mod show_partitions;
mod spatial;
mod temporary;
pub mod views;

use std::cell::RefCell;
use std::sync::Arc;

use vaquita_parser::ast::{self, Name, Statement as Ast};
use vaquita_storage::{DdlContext, Named, SessionCatalog, Table, TableName, Transaction, TxnOptions};
use vaquita_types::charset::{CollationId, charset};
use vaquita_types::errno::{
    ER_BAD_DB_ERROR, ER_BAD_TABLE_ERROR, ER_DB_CREATE_EXISTS, ER_DB_DROP_EXISTS, ER_ILLEGAL_HA, ER_NO_DB_ERROR, ER_NO_SUCH_DB,
    ER_NO_SUCH_TABLE, ER_NO_SYSTEM_SCHEMA_ACCESS, ER_NONUNIQ_TABLE, ER_TABLE_DEF_CHANGED, ER_TABLE_EXISTS_ERROR,
    ER_UNKNOWN_TABLE, ER_WRONG_DB_NAME, ER_WRONG_OBJECT, ER_WRONG_TABLE_NAME,
};
use vaquita_types::schema::{Definer, ObjectKind, TableRef};
use vaquita_types::{ColumnType, Error, Result, Value};

use vaquita_plan::bind::DefinedView;
use vaquita_plan::env::Level;
use vaquita_plan::expr::Expr;
use vaquita_plan::node::{OutputColumn, Plan};

use crate::context::{Functions, RowLogging, ServerInfo, SessionEnv};
use crate::system::{is_system_database, statements, table};
use vaquita_plan::data_type::{check_charset, choose_collation, meant_collate};

/// Times that a statement starts again because another one was faster.
const RETRIES_MAX: usize = 20;

/// How a statement ended well.
#[derive(Debug)]
pub enum Outcome {
    Ok { affected: u64, info: String },
    Rows(ResultRows),
}

/// A small result set.
#[derive(Debug)]
pub struct ResultRows {
    pub columns: Vec<OutputColumn>,
    pub rows: Vec<Vec<Value>>,
}

impl Outcome {
    fn affected(affected: u64) -> Outcome {
        Outcome::Ok { affected, info: String::new() }
    }

    /// With the text "Records: n  Duplicates: 0  Warnings: n".
    fn records(records: u64, warnings: u64) -> Outcome {
        Outcome::Ok { affected: records, info: format!("Records: {records}  Duplicates: 0  Warnings: {warnings}") }
    }
}

/// What a DDL statement needs of its session.
pub struct Ddl<'a> {
    pub catalog: &'a SessionCatalog,
    pub session: &'a dyn SessionEnv,
    pub database: Option<&'a str>,
    /// Plans a query, or an INSERT into the given table.
    pub planner: &'a dyn Fn(&Ast, Option<&TableRef>) -> Result<Plan>,
    /// Whom an object belongs to that names this account, or none, and whether there is such an account.
    pub definer: &'a dyn Fn(Option<&ast::UserName>) -> Result<(Definer, bool)>,
    /// Error 1227 where an account with SYSTEM_USER is the definer, and the session's has it not.
    pub may_change_what_is_of: &'a dyn Fn(&Definer) -> Result<()>,
    /// There is such an account.
    pub has_account: &'a dyn Fn(&Definer) -> bool,
    /// Binds the query of the view of a database and name.
    pub define_view: &'a dyn Fn((&str, &str), &ast::Query) -> Result<DefinedView>,
    /// The values of `?`.
    pub params: &'a [Value],
    /// For the query of CREATE TABLE … SELECT.
    pub server: &'a dyn ServerInfo,
    pub functions: &'a dyn Functions,
    pub lock_wait_ms_max: u64,
    pub context: DdlContext,
    /// What the binary log is told of a table that is made of a query.
    pub log: Option<&'a dyn FillLog>,
    /// The transaction that will fill the table which CREATE TABLE makes: it has it locked, and its commit ends what `FirstRows::filled_by`
    /// begins.
    pub filler: Option<&'a RefCell<Transaction>>,
}

/// The log of CREATE TABLE … SELECT: the table and its rows are one transaction.
pub trait FillLog {
    fn rows(&self) -> Option<RowLogging<'_>>;

    /// The table is made by this statement; its rows follow.
    fn begin(&self, txn: &mut Transaction, database: &str, create: &str) -> Result<()>;

    /// All rows are told.
    fn end(&self, txn: &mut Transaction) -> Result<()>;
}

impl<'a> Ddl<'a> {
    /// Runs a statement of `Class::Ddl`. `None`: it is none.
    pub fn run(&self, ast: &Ast) -> Option<Result<Outcome>> {
        let affected = match ast {
            Ast::AlterTable(alter) => return Some(self.alter_table(alter)),
            Ast::CreateIndex(create) => return Some(self.create_index(create)),
            Ast::DropIndex { name, table, algorithm, lock } => return Some(self.drop_index(name, table, algorithm, lock)),
            Ast::CreateTable(create) => return Some(self.create_table(create)),
            Ast::TableMaintenance(maintenance) => return Some(self.maintain(maintenance)),
            Ast::CreateDatabase { if_not_exists, name, options } => self.create_database(*if_not_exists, name, options),
            Ast::AlterDatabase { name, options } => self.alter_database(name.as_deref(), options),
            Ast::DropDatabase { if_exists, name } => self.drop_database(*if_exists, name),
            Ast::CreateView(create) => self.create_view(create),
            Ast::DropView { if_exists, names } => self.drop_views(*if_exists, names),
            Ast::DropTable { temporary, if_exists, names } => self.drop_tables(*temporary, *if_exists, names),
            Ast::Truncate(name) => self.truncate(name),
            Ast::RenameTable(pairs) => self.rename_tables(pairs),
            _ => return None,
        };
        Some(affected.map(Outcome::affected))
    }

    /// SHOW CREATE TABLE.
    pub fn show_create_table(&self, name: &Name) -> Result<ResultRows> {
        let database = self.database_of(name)?;
        let known = self.catalog.database(database)?.is_some() || crate::system::is_system_database(database);
        if !known && self.catalog.temporary(database, &name.name).is_none() {
            return Err(Error::new(&ER_BAD_DB_ERROR, &[&database]));
        }
        if let Some(view) = self.view(name)? {
            return self.shown_view(&view);
        }
        let (def, next) = match crate::system::table(database, &name.name) {
            Some(def) => (def, None),
            None => {
                let table = self.table(name)?;
                (table.def.clone(), Some(self.transaction().peek_auto_increment(table.def.id)?))
            }
        };
        let quoting = show_create::Quoting::new(self.session.sql_mode(), self.session.run_settings().quotes_show_create);
        let text = show_create::show_create_table(&def, next, quoting);
        let columns = vec![text_column("Table", 64, false), text_column("Create Table", 1024, false)];
        Ok(ResultRows { columns, rows: vec![vec![Value::from(def.name.as_str()), Value::from(text)]] })
    }

    /// Again, if another statement changed a table that this one had looked at.
    fn retrying<T>(&self, mut run: impl FnMut() -> Result<T>) -> Result<T> {
        let mut tries = 0;
        loop {
            match run() {
                Err(error) if error.is(&ER_TABLE_DEF_CHANGED) && tries < RETRIES_MAX => tries += 1,
                done => return done,
            }
        }
    }

    /// The table of a name; errors 1046 and 1146.
    fn table(&self, name: &Name) -> Result<Arc<Table>> {
        let database = self.database_of(name)?;
        if let Some(table) = self.catalog.table(database, &name.name)? {
            return Ok(table);
        }
        Err(match self.view(name)? {
            Some(_) => Error::new(&ER_WRONG_OBJECT, &[&database, &name.name, &"BASE TABLE"]),
            None => Error::new(&ER_NO_SUCH_TABLE, &[&database, &name.name]),
        })
    }

    /// The system table of a name; error 1109 if information_schema has none.
    fn system_table(&self, database: &str, name: &str) -> Result<Option<TableRef>> {
        let found = crate::system::table(database, name);
        match database.eq_ignore_ascii_case("information_schema") {
            true if found.is_none() => Err(Error::new(&ER_UNKNOWN_TABLE, &[&name.to_ascii_uppercase(), &"information_schema"])),
            true => Ok(found),
            false => Ok(found.filter(|table| table.name == name && table.database == database)),
        }
    }

    /// A transaction of its own, for what goes with a statement.
    fn transaction(&self) -> Transaction {
        self.catalog.store().begin(TxnOptions { interrupt: self.context.interrupt.clone(), ..TxnOptions::default() })
    }

    /// The charset of the client's literals, which expressions kept as text name.
    fn connection_charset(&self) -> &'static str {
        charset(self.session.connection_collation()).name
    }

    /// The database of a name: its own or the current one.
    pub fn database_of<'n>(&'n self, name: &'n Name) -> Result<&'n str> {
        name.db.as_deref().or(self.database).ok_or_else(|| Error::new(&ER_NO_DB_ERROR, &[]))
    }

    fn create_database(&self, if_not_exists: bool, name: &str, options: &[ast::DatabaseOption]) -> Result<u64> {
        let collation = self.database_collation(options, self.session.run_settings().server_collation)?;
        self.may_be_unencrypted(options)?;
        check_identifier(name)
            .map_err(|error| if error.is(&ER_WRONG_TABLE_NAME) { Error::new(&ER_WRONG_DB_NAME, &[&name]) } else { error })?;
        let create = || match is_system_database(name) {
            true if if_not_exists => Err(Error::new(&ER_DB_CREATE_EXISTS, &[&name])),
            true => Err(Error::new(&ER_NO_SYSTEM_SCHEMA_ACCESS, &[&name])),
            false => match self.catalog.create_database(name, collation, &self.context) {
                Err(error) if error.is(&ER_DB_CREATE_EXISTS) && if_not_exists => {
                    self.tell_unchanged(&[Named::Database(name)], true)?;
                    Err(error)
                }
                created => created,
            },
        };
        match self.retrying(create) {
            Err(error) if error.is(&ER_DB_CREATE_EXISTS) && if_not_exists => {
                self.session.warn(Level::Note, error);
                Ok(1)
            }
            Err(error) => Err(error),
            Ok(()) => Ok(1),
        }
    }

    /// A statement has found all of these, or none, and so nothing to do. Error 1412: it has to look again.
    fn tell_unchanged(&self, named: &[Named<'_>], there: bool) -> Result<()> {
        match self.catalog.tell_unchanged(named, there, &self.context)? {
            true => Ok(()),
            false => Err(Error::new(&ER_TABLE_DEF_CHANGED, &[])),
        }
    }

    fn alter_database(&self, name: Option<&str>, options: &[ast::DatabaseOption]) -> Result<u64> {
        let name = name.or(self.database).ok_or_else(|| Error::new(&ER_NO_DB_ERROR, &[]))?;
        check_length(name)?;
        if is_system_database(name) {
            return Err(Error::new(&ER_NO_SYSTEM_SCHEMA_ACCESS, &[&name]));
        }
        let old = self.catalog.database(name)?.ok_or_else(|| Error::new(&ER_NO_SUCH_DB, &[&name]))?;
        let collation = self.database_collation(options, old.collation)?;
        self.catalog.alter_database(name, collation, &self.context)?;
        Ok(1)
    }

    /// A new database is encrypted by default or on request, and none can be.
    fn may_be_unencrypted(&self, options: &[ast::DatabaseOption]) -> Result<()> {
        let is_said = options.iter().any(|option| matches!(option, ast::DatabaseOption::Encryption(_)));
        match !is_said && self.session.run_settings().encrypts_databases {
            true => Err(Error::unsupported("default_table_encryption = ON")),
            false => Ok(()),
        }
    }

    fn database_collation(&self, options: &[ast::DatabaseOption], default: CollationId) -> Result<CollationId> {
        let mut charset = None;
        let mut collate = None;
        for option in options {
            match option {
                ast::DatabaseOption::Charset(name) => {
                    check_charset(charset, collate, name)?;
                    charset = Some(name.as_str());
                }
                ast::DatabaseOption::Collate(name) => collate = Some(name.as_str()),
                ast::DatabaseOption::Encryption(false) | ast::DatabaseOption::ReadOnly(Some(false) | None) => {}
                ast::DatabaseOption::Encryption(true) => return Err(Error::unsupported("ENCRYPTION")),
                ast::DatabaseOption::ReadOnly(Some(true)) => return Err(Error::unsupported("READ ONLY databases")),
            }
        }
        choose_collation(charset, meant_collate(charset, collate, self.session.utf8mb4_collation()), default)
    }

    fn drop_database(&self, if_exists: bool, name: &str) -> Result<u64> {
        check_length(name)?;
        if is_system_database(name) {
            return Err(Error::new(&ER_NO_SYSTEM_SCHEMA_ACCESS, &[&name]));
        }
        let views = self.catalog.objects(name, ObjectKind::View)?.len();
        let drop = || match self.catalog.drop_database(name, &self.context) {
            Err(error) if error.is(&ER_DB_DROP_EXISTS) && if_exists => {
                self.tell_unchanged(&[Named::Database(name)], false)?;
                Err(error)
            }
            dropped => dropped,
        };
        match self.retrying(drop) {
            Err(error) if error.is(&ER_DB_DROP_EXISTS) && if_exists => {
                self.session.warn(Level::Note, error);
                Ok(0)
            }
            other => other.map(|tables| (tables + views) as u64),
        }
    }

    /// All or none. `temporary`: of the session's temporary tables alone.
    fn drop_tables(&self, temporary: bool, if_exists: bool, names: &[Name]) -> Result<u64> {
        self.retrying(|| self.drop_found_tables(temporary, if_exists, names))
    }

    fn drop_found_tables(&self, temporary: bool, if_exists: bool, names: &[Name]) -> Result<u64> {
        let (mut of_session, mut permanent, mut missing) = (Vec::new(), Vec::new(), Vec::new());
        for name in names {
            let full = (self.database_of(name)?, name.name.as_str());
            if full.1.is_empty() {
                return Err(Error::new(&ER_WRONG_TABLE_NAME, &[&full.1]));
            }
            if of_session.contains(&full) || permanent.contains(&full) {
                return Err(Error::new(&ER_NONUNIQ_TABLE, &[&name.name]));
            }
            if self.catalog.temporary(full.0, full.1).is_some() {
                of_session.push(full);
            } else if !temporary && self.catalog.permanent(full.0, full.1)?.is_some() {
                permanent.push(full);
            } else {
                missing.push(full);
            }
        }
        let shown = |missing: &[TableName<'_>]| missing.iter().map(|(db, name)| format!("{db}.{name}")).collect::<Vec<_>>();
        if !missing.is_empty() && !if_exists {
            return Err(Error::new(&ER_BAD_TABLE_ERROR, &[&shown(&missing).join(",")]));
        }
        let absent: &[TableName<'_>] = if temporary { &[] } else { &missing };
        if !permanent.is_empty() {
            self.catalog.drop_tables(&permanent, absent, &self.context)?;
        } else if !absent.is_empty() {
            let absent: Vec<_> = absent.iter().map(|name| Named::Table(*name)).collect();
            self.tell_unchanged(&absent, false)?;
        }
        for name in shown(&missing) {
            self.session.warn(Level::Note, Error::new(&ER_BAD_TABLE_ERROR, &[&name]));
        }
        for name in of_session {
            self.catalog.drop_temporary(name);
        }
        Ok(0)
    }

    fn truncate(&self, name: &Name) -> Result<u64> {
        let database = self.database_of(name)?;
        if database.eq_ignore_ascii_case("performance_schema") && table(database, &name.name).is_some() {
            statements::empty(&name.name, self.server);
            return Ok(0);
        }
        if database.eq_ignore_ascii_case("mysql") && self.server.empty_log_table(&name.name) {
            return Ok(0);
        }
        match self.catalog.temporary(database, &name.name) {
            Some(table) => self.catalog.truncate_temporary(&table)?,
            None if self.catalog.permanent(database, &name.name)?.is_some_and(|table| table.def.options.engine == "ARCHIVE") => {
                return Err(Error::new(&ER_ILLEGAL_HA, &[&name.name]));
            }
            None => self.retrying(|| self.catalog.truncate_table((database, &name.name), &self.context))?,
        };
        Ok(0)
    }

    /// Of permanent tables and views alone, as in MySQL.
    fn rename_tables(&self, pairs: &[(Name, Name)]) -> Result<u64> {
        let mut renames = Vec::with_capacity(pairs.len());
        for (from, to) in pairs {
            check_identifier(&to.name)?;
            let database = self.database_of(from)?;
            if database == self.database_of(to)? && from.name == to.name {
                let is_view = self.catalog.object(database, ObjectKind::View, &from.name)?.is_some();
                if !is_view && self.catalog.permanent(database, &from.name)?.is_none() {
                    return Err(Error::new(&ER_NO_SUCH_TABLE, &[&database, &from.name]));
                }
                return Err(Error::new(&ER_TABLE_EXISTS_ERROR, &[&to.name]));
            }
            renames.push(((database, from.name.as_str()), (self.database_of(to)?, to.name.as_str())));
        }
        self.retrying(|| self.catalog.rename_tables(&renames, &self.context))?;
        Ok(0)
    }
}

/// A string column of a result set.
pub fn text_column(name: &str, chars_max: u32, nullable: bool) -> OutputColumn {
    let ty = ColumnType::varchar(chars_max, CollationId::default());
    OutputColumn { expr: Expr::slot(0, ty, nullable), name: name.to_string(), origin: None }
}

/// Error 1059 for a name that nothing can have.
pub fn check_length(name: &str) -> Result<()> {
    match name.chars().count() > vaquita_types::limits::IDENTIFIER_CHARS_MAX {
        true => Err(Error::new(&vaquita_types::errno::ER_TOO_LONG_IDENT, &[&name])),
        false => Ok(()),
    }
}

/// Names of objects: not empty, at most 64 characters, no space at the end.
pub fn check_identifier(name: &str) -> Result<()> {
    check_length(name)?;
    if name.is_empty() || name.ends_with(' ') {
        return Err(Error::new(&ER_WRONG_TABLE_NAME, &[&name]));
    }
    Ok(())
}
