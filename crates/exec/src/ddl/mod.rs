//! DDL: from statements to definitions in the catalog.
//!
//! `data_type` turns a declared type into a `ColumnType`; `columns` and `indexes` build the parts of a
//! `TableDef` with MySQL's checks; `create` and `alter` put them together; the catalog then makes
//! each statement one atomic commit. `show_create` prints a definition back as MySQL does.

pub mod columns;
pub mod create;
pub mod data_type;
pub mod indexes;
pub mod options;

use std::sync::Arc;

use vaquita_parser::ast::{self, Name, Statement as Ast};
use vaquita_storage::{Catalog, DdlContext};
use vaquita_types::charset::{Charset, Collation, CollationId};
use vaquita_types::errno::{ER_BAD_DB_ERROR, ER_BAD_TABLE_ERROR, ER_COLLATION_CHARSET_MISMATCH, ER_DB_CREATE_EXISTS, ER_DB_DROP_EXISTS, ER_NO_DB_ERROR, ER_UNKNOWN_CHARACTER_SET, ER_UNKNOWN_COLLATION};
use vaquita_types::{Error, Result};

use vaquita_plan::env::Level;

use crate::context::SessionEnv;

/// Statements that `Ddl::run` runs; all of them commit implicitly.
pub fn is_ddl(ast: &Ast) -> bool {
    matches!(
        ast,
        Ast::CreateDatabase { .. }
            | Ast::AlterDatabase { .. }
            | Ast::DropDatabase { .. }
            | Ast::CreateTable(_)
            | Ast::DropTable { .. }
            | Ast::Truncate(_)
            | Ast::RenameTable(_)
    )
}

/// What a DDL statement needs of its session.
pub struct Ddl<'a> {
    pub catalog: &'a Arc<Catalog>,
    pub session: &'a dyn SessionEnv,
    pub database: Option<&'a str>,
    pub context: DdlContext,
}

impl<'a> Ddl<'a> {
    /// Runs the statement; the affected rows for the OK packet. `None`: it is not DDL.
    pub fn run(&self, ast: &Ast) -> Option<Result<u64>> {
        Some(match ast {
            Ast::CreateDatabase { if_not_exists, name, options } => self.create_database(*if_not_exists, name, options),
            Ast::AlterDatabase { name, options } => self.alter_database(name.as_deref(), options),
            Ast::DropDatabase { if_exists, name } => self.drop_database(*if_exists, name),
            Ast::CreateTable(create) => self.create_table(create),
            Ast::DropTable { if_exists, names, .. } => self.drop_tables(*if_exists, names),
            Ast::Truncate(name) => self.truncate(name),
            Ast::RenameTable(pairs) => self.rename_tables(pairs),
            _ => return None,
        })
    }

    /// The database of a name: its own or the current one.
    pub fn database_of<'n>(&'n self, name: &'n Name) -> Result<&'n str> {
        name.db.as_deref().or(self.database).ok_or_else(|| Error::new(&ER_NO_DB_ERROR, &[]))
    }

    fn create_database(&self, if_not_exists: bool, name: &str, options: &[ast::DatabaseOption]) -> Result<u64> {
        let collation = self.database_collation(options, CollationId::default())?;
        check_identifier(name)?;
        match self.catalog.create_database(name, collation, &self.context) {
            Err(error) if error.is(&ER_DB_CREATE_EXISTS) && if_not_exists => {
                self.session.warn(Level::Note, error);
                Ok(1)
            }
            Err(error) => Err(error),
            Ok(()) => Ok(1),
        }
    }

    fn alter_database(&self, name: Option<&str>, options: &[ast::DatabaseOption]) -> Result<u64> {
        let name = name.or(self.database).ok_or_else(|| Error::new(&ER_NO_DB_ERROR, &[]))?;
        let old = self.catalog.database(name)?.ok_or_else(|| Error::new(&ER_BAD_DB_ERROR, &[&name]))?;
        let collation = self.database_collation(options, old.collation)?;
        self.catalog.alter_database(name, collation, &self.context)?;
        Ok(1)
    }

    fn database_collation(&self, options: &[ast::DatabaseOption], default: CollationId) -> Result<CollationId> {
        let mut charset = None;
        let mut collate = None;
        for option in options {
            match option {
                ast::DatabaseOption::Charset(name) => charset = Some(name.as_str()),
                ast::DatabaseOption::Collate(name) => collate = Some(name.as_str()),
                ast::DatabaseOption::Encryption(false) | ast::DatabaseOption::ReadOnly(Some(false) | None) => {}
                ast::DatabaseOption::Encryption(true) => return Err(Error::unsupported("ENCRYPTION")),
                ast::DatabaseOption::ReadOnly(Some(true)) => return Err(Error::unsupported("READ ONLY databases")),
            }
        }
        choose_collation(charset, collate, default)
    }

    fn drop_database(&self, if_exists: bool, name: &str) -> Result<u64> {
        match self.catalog.drop_database(name, &self.context) {
            Err(error) if error.is(&ER_DB_DROP_EXISTS) && if_exists => {
                self.session.warn(Level::Note, error);
                Ok(0)
            }
            other => other.map(|tables| tables as u64),
        }
    }

    fn drop_tables(&self, if_exists: bool, names: &[Name]) -> Result<u64> {
        let mut existing = Vec::with_capacity(names.len());
        let mut missing = Vec::new();
        for name in names {
            let database = self.database_of(name)?;
            match self.catalog.table(database, &name.name)? {
                Some(_) => existing.push((database, name.name.as_str())),
                None => missing.push(format!("{database}.{}", name.name)),
            }
        }
        if !missing.is_empty() {
            let error = Error::new(&ER_BAD_TABLE_ERROR, &[&missing.join(",")]);
            if !if_exists {
                return Err(error);
            }
            self.session.warn(Level::Note, error);
        }
        if !existing.is_empty() {
            self.catalog.drop_tables(&existing, &self.context)?;
        }
        Ok(0)
    }

    fn truncate(&self, name: &Name) -> Result<u64> {
        self.catalog.truncate_table((self.database_of(name)?, &name.name), &self.context)?;
        Ok(0)
    }

    fn rename_tables(&self, pairs: &[(Name, Name)]) -> Result<u64> {
        let mut renames = Vec::with_capacity(pairs.len());
        for (from, to) in pairs {
            check_identifier(&to.name)?;
            renames.push(((self.database_of(from)?, from.name.as_str()), (self.database_of(to)?, to.name.as_str())));
        }
        self.catalog.rename_tables(&renames, &self.context)?;
        Ok(0)
    }
}

/// CHARACTER SET and COLLATE clauses to a collation; `default` without any.
pub fn choose_collation(charset: Option<&str>, collate: Option<&str>, default: CollationId) -> Result<CollationId> {
    let charset = charset.filter(|name| !name.eq_ignore_ascii_case("default"));
    let charset = match charset {
        Some(name) => Some(Charset::by_name(name).ok_or_else(|| Error::new(&ER_UNKNOWN_CHARACTER_SET, &[&name]))?),
        None => None,
    };
    let Some(collate) = collate.filter(|name| !name.eq_ignore_ascii_case("default")) else {
        return Ok(charset.map_or(default, |c| c.default_collation));
    };
    let collation = Collation::by_name(collate).ok_or_else(|| Error::new(&ER_UNKNOWN_COLLATION, &[&collate]))?;
    if let Some(charset) = charset
        && collation.charset.name != charset.name
    {
        return Err(Error::new(&ER_COLLATION_CHARSET_MISMATCH, &[&collate, &charset.name]));
    }
    if !collation.is_supported() {
        return Err(Error::unsupported(format_args!("COLLATE {collate}")));
    }
    Ok(collation.id)
}

/// Names of objects: not empty, at most 64 characters, no space at the end.
pub fn check_identifier(name: &str) -> Result<()> {
    use vaquita_types::errno::{ER_TOO_LONG_IDENT, ER_WRONG_TABLE_NAME};
    if name.chars().count() > vaquita_types::limits::IDENTIFIER_CHARS_MAX {
        return Err(Error::new(&ER_TOO_LONG_IDENT, &[&name]));
    }
    if name.is_empty() || name.ends_with(' ') {
        return Err(Error::new(&ER_WRONG_TABLE_NAME, &[&name]));
    }
    Ok(())
}
