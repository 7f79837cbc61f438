//! CREATE, ALTER and DROP of stored routines. Nothing of what a body names is looked up before it runs.

use std::sync::Arc;

use vaquita_parser::ast::{
    AlterRoutine, Characteristics, CreateRoutine, Instruction, Name, ProgramKind, SetItem, Statement, UserName,
};
use vaquita_plan::env::Level;
use vaquita_storage::{Altered, Named};
use vaquita_types::errno::{
    ER_BAD_DB_ERROR, ER_BINLOG_CREATE_ROUTINE_NEED_SUPER, ER_BINLOG_UNSAFE_ROUTINE, ER_NO_DB_ERROR, ER_NO_SUCH_USER,
    ER_SP_ALREADY_EXISTS, ER_SP_DOES_NOT_EXIST, ER_SP_NORETURN, ER_SP_WRONG_NAME, ER_SPECIFIC_ACCESS_DENIED_ERROR,
    ER_TOO_LONG_IDENT, ER_UNKNOWN_SYSTEM_VARIABLE,
};
use vaquita_types::limits::IDENTIFIER_CHARS_MAX;
use vaquita_types::schema::{DatabaseDef, Definer, ObjectKind, SqlSecurity, StoredObject};
use vaquita_types::{Error, Result};

use super::super::Session;
use super::super::execute::Done;
use super::super::other_statements::{drop_or_tell, until_told};
use crate::programs::Routine;
use crate::variables::{Var, registry};

fn object_kind(kind: ProgramKind) -> ObjectKind {
    match kind {
        ProgramKind::Procedure => ObjectKind::Procedure,
        ProgramKind::Function => ObjectKind::Function,
        ProgramKind::Trigger => ObjectKind::Trigger,
        ProgramKind::Event => ObjectKind::Event,
    }
}

impl Session {
    /// A program with the settings that the session has now, which are kept with it.
    pub(in super::super) fn new_program(
        &self,
        kind: ObjectKind,
        database: &DatabaseDef,
        name: &str,
        definer: Definer,
        body: &str,
    ) -> StoredObject {
        let plan = &self.env.settings.plan;
        let client = plan.client_charset.map_or(plan.connection_collation, |charset| charset.default_collation);
        StoredObject {
            kind,
            database: database.name.clone(),
            name: name.to_string(),
            version: 0,
            definer,
            security: SqlSecurity::Definer,
            sql_mode: plan.sql_mode,
            client_collation: client,
            connection_collation: plan.connection_collation,
            database_collation: database.collation,
            created_us: 0,
            altered_us: 0,
            comment: String::new(),
            characteristics: Vec::new(),
            text: body.to_string(),
        }
    }

    pub(in super::super) fn create_routine(&mut self, create: &CreateRoutine) -> Result<Done> {
        let database = self.database_of(&create.name)?;
        let name = &create.name.name;
        let found = self.place_of_program(&database, name)?;
        let definer = self.definer(create.definer.as_ref())?;
        let object = routine_record(self.new_program(object_kind(create.kind), &found, name, definer, &create.body), create);
        let returns = |instruction: &Instruction| matches!(instruction, Instruction::Return(_));
        if create.kind == ProgramKind::Function && !create.program.steps.iter().any(|step| returns(&step.instruction)) {
            return Err(Error::new(&ER_SP_NORETURN, &[&format!("{database}.{name}")]));
        }
        self.refuse_untrusted(create, &object)?;
        let object = Arc::new(object);
        // System variables that do not exist, and types that are wrong, are told now.
        create.program.steps.iter().try_for_each(|step| known_variables(&step.instruction))?;
        Routine::new(&object, create.clone())?;
        let kind = create.kind.as_str();
        let context = self.ddl_context();
        self.enter_ddl(None)?;
        let object = Arc::unwrap_or_clone(object);
        let catalog = &self.server.catalog;
        let key = (object.database.as_str(), object.kind, object.name.as_str());
        let there = [Named::Object(key.0, key.1, key.2)];
        let made = until_told(create.if_not_exists, (catalog, &there, true), &context, Option::is_none, || {
            match self.server.globals.is_on(Var::AutomaticSpPrivileges) {
                false => catalog.create_object(object.clone(), false, &[], &context),
                true => {
                    self.access.creates_routine(key, |changes| catalog.create_object(object.clone(), false, changes, &context))
                }
            }
        });
        self.locked.end_ddl();
        let made = made?;
        if made.is_none() {
            let error = Error::new(&ER_SP_ALREADY_EXISTS, &[&kind, name]);
            if !create.if_not_exists {
                return Err(error);
            }
            self.env.push_warning(Level::Note, error);
        }
        Ok(Done::nothing())
    }

    /// The database of a name; error 1046 without any.
    pub(in super::super) fn database_of(&self, name: &Name) -> Result<String> {
        name.db.clone().or_else(|| self.env.database()).ok_or_else(|| Error::new(&ER_NO_DB_ERROR, &[]))
    }

    /// The database of a new program, if it may have that name.
    pub(in super::super) fn place_of_program(&self, database: &str, name: &str) -> Result<Arc<DatabaseDef>> {
        check_program_name(name)?;
        let found = self.server.catalog.database(database)?;
        found.ok_or_else(|| Error::new(&ER_BAD_DB_ERROR, &[&database]))
    }

    /// Error 1418 of a function that says nothing of what it reads, 1419 for who may not make one, unless `log_bin_trust_function_creators` is set.
    fn refuse_untrusted(&self, create: &CreateRoutine, object: &StoredObject) -> Result<()> {
        let reads_only = matches!(object.characteristic("data access"), Some("NO SQL" | "READS SQL DATA"));
        let says = reads_only || object.characteristic("deterministic").is_some();
        let trusted = self.server.globals.is_on(Var::LogBinTrustFunctionCreators);
        match create.kind {
            ProgramKind::Function if says && !trusted && !self.access.has_super() => {
                Err(Error::new(&ER_BINLOG_CREATE_ROUTINE_NEED_SUPER, &[]))
            }
            ProgramKind::Function if !says && !trusted => Err(Error::new(&ER_BINLOG_UNSAFE_ROUTINE, &[])),
            _ => Ok(()),
        }
    }

    /// Who is named, or the session's account.
    pub(in super::super) fn definer(&self, named: Option<&UserName>) -> Result<Definer> {
        let definer = self.access.definer(named)?;
        if !self.access.account_exists(&definer) {
            if !self.access.may_name_missing_definer() {
                return Err(Error::new(&ER_SPECIFIC_ACCESS_DENIED_ERROR, &[&"SUPER or ALLOW_NONEXISTENT_DEFINER"]));
            }
            self.env.push_warning(Level::Note, Error::new(&ER_NO_SUCH_USER, &[&definer.user, &definer.host]));
        }
        Ok(definer)
    }

    pub(in super::super) fn alter_routine(&mut self, alter: &AlterRoutine) -> Result<Done> {
        let database = self.database_of(&alter.name)?;
        let key = (database.as_str(), object_kind(alter.kind), alter.name.name.as_str());
        self.may_change_routine(key)?;
        let change = |object: &mut StoredObject| {
            characterize(object, &alter.characteristics);
            Ok(())
        };
        let context = self.ddl_context();
        self.enter_ddl(None)?;
        let altered = self.server.catalog.alter_object(key, change, &context);
        self.locked.end_ddl();
        match altered? {
            Altered::Done => Ok(Done::nothing()),
            Altered::Missing | Altered::Taken => Err(no_such_routine(alter.kind, &database, &alter.name)),
        }
    }

    fn may_change_routine(&self, (database, kind, name): (&str, ObjectKind, &str)) -> Result<()> {
        let object = self.server.catalog.object(database, kind, name)?;
        object.map_or(Ok(()), |object| self.access.may_change_what_is_of(&object.definer))
    }

    /// DROP PROCEDURE and FUNCTION.
    pub(in super::super) fn drop_routine(&mut self, kind: ProgramKind, if_exists: bool, name: &Name) -> Result<Done> {
        let database = self.database_of(name)?;
        let key = (database.as_str(), object_kind(kind), name.name.as_str());
        self.may_change_routine(key)?;
        let context = self.ddl_context();
        self.enter_ddl(None)?;
        let catalog = &self.server.catalog;
        let drop = || match self.server.globals.is_on(Var::AutomaticSpPrivileges) {
            false => catalog.drop_object(key, &[], &context),
            true => self.server.accounts().drops_routine(key, |changes| catalog.drop_object(key, changes, &context)),
        };
        let dropped = drop_or_tell(if_exists, (catalog, key), &context, drop);
        self.locked.end_ddl();
        if !dropped? {
            let missing = no_such_routine(kind, &database, name);
            if !if_exists {
                return Err(missing);
            }
            self.env.push_warning(Level::Note, missing);
        }
        Ok(Done::nothing())
    }
}

pub(super) fn known_variables(instruction: &Instruction) -> Result<()> {
    let Instruction::Run(statement) = instruction else { return Ok(()) };
    let Statement::Set(items) = &**statement else { return Ok(()) };
    let unknown = items.iter().find_map(|item| match item {
        SetItem::SysVar { component: None, name, .. } if registry().find(name).is_none() => Some(name),
        _ => None,
    });
    unknown.map_or(Ok(()), |name| Err(Error::new(&ER_UNKNOWN_SYSTEM_VARIABLE, &[name])))
}

fn no_such_routine(kind: ProgramKind, database: &str, name: &Name) -> Error {
    Error::new(&ER_SP_DOES_NOT_EXIST, &[&kind.as_str(), &format!("{database}.{}", name.name)])
}

/// The record of a routine: `draft` with what CREATE says.
pub fn routine_record(draft: StoredObject, create: &CreateRoutine) -> StoredObject {
    let mut object = StoredObject { text: create.body.clone(), ..draft };
    object.set_characteristic("parameters", Some(create.parameters_text.clone()));
    if let Some(returns) = &create.returns {
        object.set_characteristic("returns", Some(returns.text.clone()));
    }
    characterize(&mut object, &create.characteristics);
    object
}

fn characterize(object: &mut StoredObject, said: &Characteristics) {
    if let Some(invoker) = said.invoker {
        object.security = if invoker { SqlSecurity::Invoker } else { SqlSecurity::Definer };
    }
    if let Some(comment) = &said.comment {
        object.comment.clone_from(comment);
    }
    if let Some(deterministic) = said.deterministic {
        object.set_characteristic("deterministic", deterministic.then(|| "YES".into()));
    }
    if let Some(access) = said.data_access {
        object.set_characteristic("data access", Some(access.as_str().into()));
    }
}

/// Errors 1458 and 1059 of names that no program has.
pub(in super::super) fn check_program_name(name: &str) -> Result<()> {
    if name.is_empty() || name.ends_with(' ') {
        return Err(Error::new(&ER_SP_WRONG_NAME, &[&name]));
    }
    if name.chars().count() > IDENTIFIER_CHARS_MAX {
        return Err(Error::new(&ER_TOO_LONG_IDENT, &[&name]));
    }
    Ok(())
}
