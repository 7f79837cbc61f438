//! CREATE and DROP TRIGGER. The columns of OLD and NEW are looked up in the table when a trigger is created; nothing else of its body is.

use std::sync::Arc;

use vaquita_parser::ast::{CreateTrigger, Name, TriggerOrder};
use vaquita_plan::env::Level;
use vaquita_storage::{Named, TriggerPlace};
use vaquita_types::errno::{
    ER_BAD_DB_ERROR, ER_BINLOG_CREATE_ROUTINE_NEED_SUPER, ER_DBACCESS_DENIED_ERROR,
    ER_IF_NOT_EXISTS_UNSUPPORTED_TRG_EXISTS_ON_DIFFERENT_TABLE, ER_NO_SUCH_TABLE, ER_NO_TRIGGERS_ON_SYSTEM_SCHEMA,
    ER_TOO_LONG_IDENT, ER_TRG_ALREADY_EXISTS, ER_TRG_DOES_NOT_EXIST, ER_TRG_IN_WRONG_SCHEMA, ER_TRG_ON_VIEW_OR_TEMP_TABLE,
    ER_WARN_TRG_ALREADY_EXISTS, ER_WRONG_OBJECT,
};
use vaquita_types::limits::IDENTIFIER_CHARS_MAX;
use vaquita_types::schema::{ObjectKind, StoredObject, Trigger};
use vaquita_types::{Error, Result};

use super::super::Session;
use super::super::execute::Done;
use super::routines::known_variables;
use crate::programs::Routine;
use crate::variables::Var;

impl Session {
    pub(in super::super) fn create_trigger(&mut self, create: &CreateTrigger) -> Result<Done> {
        let database = self.database_of(&create.name)?;
        // A table without a database is in that of the trigger.
        let of_table = create.table.db.clone().or_else(|| create.name.db.clone());
        let of_table = of_table.map_or_else(|| self.database_of(&create.table), Ok)?;
        let (name, table_name) = (&create.name.name, &create.table.name);
        if name.chars().count() > IDENTIFIER_CHARS_MAX {
            return Err(Error::new(&ER_TOO_LONG_IDENT, &[name]));
        }
        if database.eq_ignore_ascii_case("mysql") || of_table.eq_ignore_ascii_case("mysql") {
            return Err(Error::new(&ER_NO_TRIGGERS_ON_SYSTEM_SCHEMA, &[]));
        }
        if let Some(system) = [&database, &of_table].into_iter().find(|name| vaquita_exec::system::is_system_database(name)) {
            let account = self.access.account();
            return Err(Error::new(&ER_DBACCESS_DENIED_ERROR, &[&account.user, &account.host, &system.to_ascii_lowercase()]));
        }
        self.refuse_untrusted_trigger()?;
        if self.catalog.temporary(&of_table, table_name).is_none() {
            self.access.subject(None, None).may_have_triggers(&of_table, table_name)?;
        }
        let found = self.server.catalog.database(&database)?;
        let found = found.ok_or_else(|| Error::new(&ER_BAD_DB_ERROR, &[&database]))?;
        if database != of_table {
            return Err(Error::new(&ER_TRG_IN_WRONG_SCHEMA, &[]));
        }
        self.admit_ddl_of(&of_table, table_name)?;
        let definer = self.definer(create.definer.as_ref())?;
        if self.catalog.temporary(&of_table, table_name).is_some() {
            return Err(Error::new(&ER_TRG_ON_VIEW_OR_TEMP_TABLE, &[table_name]));
        }
        let Some(table) = self.server.catalog.table(&of_table, table_name)? else {
            return Err(match self.server.catalog.object(&of_table, ObjectKind::View, table_name)? {
                Some(_) => Error::new(&ER_WRONG_OBJECT, &[&of_table, table_name, &"BASE TABLE"]),
                None => Error::new(&ER_NO_SUCH_TABLE, &[&of_table, table_name]),
            });
        };
        if let Some(there) = self.server.catalog.object(&database, ObjectKind::Trigger, name)? {
            return self.trigger_exists(create, &there);
        }
        let mut object = self.new_program(ObjectKind::Trigger, &found, name, definer, &create.body);
        for (key, value) in [("table", table_name.as_str()), ("time", create.time.as_str()), ("event", create.event.as_str())] {
            object.set_characteristic(key, Some(value.to_string()));
        }
        create.program.steps.iter().try_for_each(|step| known_variables(&step.instruction))?;
        let object = Arc::new(object);
        Routine::of_trigger(&object, create.clone(), &table.def)?;
        let place = match &create.place {
            None => TriggerPlace::Last,
            Some(TriggerOrder::Follows(other)) => TriggerPlace::Follows(other),
            Some(TriggerOrder::Precedes(other)) => TriggerPlace::Precedes(other),
        };
        let context = self.ddl_context();
        self.enter_ddl(None)?;
        let at = (create.event, create.time);
        let made = self.server.catalog.create_trigger(Arc::unwrap_or_clone(object), at, place, &context);
        self.client.progress.finish();
        self.locked.end_ddl();
        match made? {
            Some(_) => Ok(Done::nothing()),
            // Another session was first.
            None => match self.server.catalog.object(&database, ObjectKind::Trigger, name)? {
                Some(there) => self.trigger_exists(create, &there),
                None => Err(Error::new(&ER_TRG_ALREADY_EXISTS, &[])),
            },
        }
    }

    /// Error 1419 for who may not make triggers, unless `log_bin_trust_function_creators` is set.
    fn refuse_untrusted_trigger(&self) -> Result<()> {
        match self.server.globals.is_on(Var::LogBinTrustFunctionCreators) || self.access.has_super() {
            true => Ok(()),
            false => Err(Error::new(&ER_BINLOG_CREATE_ROUTINE_NEED_SUPER, &[])),
        }
    }

    /// Error 1359, or with IF NOT EXISTS a note, if it is on the same table.
    fn trigger_exists(&mut self, create: &CreateTrigger, there: &StoredObject) -> Result<Done> {
        let name = &create.name.name;
        if !create.if_not_exists {
            return Err(Error::new(&ER_TRG_ALREADY_EXISTS, &[]));
        }
        if Trigger::table_of(there) != create.table.name {
            let def = &ER_IF_NOT_EXISTS_UNSUPPORTED_TRG_EXISTS_ON_DIFFERENT_TABLE;
            return Err(Error::new(def, &[&there.database, name]));
        }
        let named = [Named::Object(&there.database, ObjectKind::Trigger, name)];
        if !self.server.catalog.tell_unchanged(&named, true, &self.ddl_context())? {
            return self.create_trigger(create);
        }
        let note = Error::new(&ER_WARN_TRG_ALREADY_EXISTS, &[name, &there.database, &create.table.name]);
        self.env.push_warning(Level::Note, note);
        Ok(Done::nothing())
    }

    pub(in super::super) fn drop_trigger(&mut self, if_exists: bool, name: &Name) -> Result<Done> {
        self.locked.refuse_under_own_read_lock()?;
        let database = self.database_of(name)?;
        vaquita_exec::ddl::check_length(&name.name)?;
        if self.server.catalog.database(&database)?.is_none() && !vaquita_exec::system::is_system_database(&database) {
            let missing = Error::new(&ER_BAD_DB_ERROR, &[&database]);
            if !if_exists {
                return Err(missing);
            }
            self.env.push_warning(Level::Note, missing);
            return Ok(Done::nothing());
        }
        if let Some(there) = self.server.catalog.object(&database, ObjectKind::Trigger, &name.name)? {
            let table = Trigger::table_of(&there).to_string();
            self.access.subject(None, None).may_have_triggers(&database, &table)?;
            self.admit_ddl_of(&database, &table)?;
            let context = self.ddl_context();
            self.enter_ddl(None)?;
            let dropped = self.server.catalog.drop_trigger(&database, &name.name, &context);
            self.client.progress.finish();
            self.locked.end_ddl();
            if dropped? {
                return Ok(Done::nothing());
            }
        }
        let missing = Error::new(&ER_TRG_DOES_NOT_EXIST, &[]);
        if !if_exists {
            return Err(missing);
        }
        let named = [Named::Object(&database, ObjectKind::Trigger, &name.name)];
        if !self.server.catalog.tell_unchanged(&named, false, &self.ddl_context())? {
            return self.drop_trigger(if_exists, name);
        }
        self.env.push_warning(Level::Note, missing);
        Ok(Done::nothing())
    }
}
