//! CREATE, ALTER and DROP EVENT, and the run of an event's body. When events run is `crate::events`'.

use std::sync::Arc;

use vaquita_exec::context::SessionEnv;
use vaquita_exec::system::events::{self, Times};
use vaquita_parser::ast::{AlterEvent, CreateEvent, EventClauses, EventSchedule, EventStatus, Expr, Name, Program, ProgramKind};
use vaquita_plan::env::{Env, Level};
use vaquita_plan::eval::coerce::{self, DateNeed};
use vaquita_plan::func::interval_of;
use vaquita_plan::uses::UseList;
use vaquita_storage::{Altered, Named};
use vaquita_types::convert::to_text;
use vaquita_types::errno::{
    ER_EVENT_ALREADY_EXISTS, ER_EVENT_CANNOT_ALTER_IN_THE_PAST, ER_EVENT_CANNOT_CREATE_IN_THE_PAST, ER_EVENT_DOES_NOT_EXIST,
    ER_EVENT_ENDS_BEFORE_STARTS, ER_EVENT_EXEC_TIME_IN_THE_PAST, ER_EVENT_INTERVAL_NOT_POSITIVE_OR_TOO_BIG, ER_EVENT_SAME_NAME,
    ER_NO_SUCH_TABLE, ER_SP_DOES_NOT_EXIST, ER_WRONG_VALUE,
};
use vaquita_types::schema::{ObjectKind, StoredObject};
use vaquita_types::temporal::{Interval, IntervalUnit, MICROS_PER_SECOND, UNIX_MICROS_MAX};
use vaquita_types::{ColumnType, Error, Result, Value};

use super::Session;
use super::exchange::Exchange;
use super::execute::Done;
use super::other_statements::{drop_or_tell, until_told};
use super::program::check_program_name;
use crate::answer::Flow;
use crate::event_times::{Part, part};
use crate::nowhere::Nowhere;
use crate::programs::{self, Routine};
use crate::variables::{Var, registry};

/// The most that EVERY counts, in the smallest part of its unit.
const INTERVAL_MAX: i64 = 1_000_000_000;

impl Session {
    pub(super) fn create_event(&mut self, create: &CreateEvent) -> Result<Done> {
        let database = self.database_of(&create.name)?;
        let name = &create.name.name;
        check_program_name(name)?;
        let definer = self.definer(create.definer.as_ref())?;
        let (times, is_past) = self.event_times(&create.schedule)?;
        // Who may not is told only now, as in MySQL.
        self.access.may_have_events(&database)?;
        let found = self.place_of_program(&database, name)?;
        let mut object = self.new_program(ObjectKind::Event, &found, name, definer, &create.body);
        self.compiles(&object, &create.program)?;
        events::set_times(&mut object, times);
        object.set_characteristic("time zone", Some(self.env.settings.plan.time_zone.name()));
        events::set_status(&mut object, EventStatus::Enabled);
        let server_id = registry().find("server_id").map(|def| self.server.globals.get(def));
        object.set_characteristic("originator", server_id.map(|id| shown(&id)));
        clauses(&mut object, &create.said);
        if is_past {
            if create.said.preserve != Some(true) {
                self.env.push_warning(Level::Note, Error::new(&ER_EVENT_CANNOT_CREATE_IN_THE_PAST, &[]));
                return Ok(Done::nothing());
            }
            if matches!(create.said.status, None | Some(EventStatus::Enabled)) {
                events::set_status(&mut object, EventStatus::Disabled);
                self.env.push_warning(Level::Note, Error::new(&ER_EVENT_EXEC_TIME_IN_THE_PAST, &[]));
            }
        }
        let context = self.ddl_context();
        self.enter_ddl(None)?;
        let catalog = &self.server.catalog;
        let there = [Named::Object(&database, ObjectKind::Event, name)];
        let made = until_told(create.if_not_exists, (catalog, &there, true), &context, Option::is_none, || {
            catalog.create_object(object.clone(), false, &[], &context)
        });
        self.locked.end_ddl();
        if made?.is_none() {
            let error = Error::new(&ER_EVENT_ALREADY_EXISTS, &[name]);
            if !create.if_not_exists {
                return Err(error);
            }
            self.env.push_warning(Level::Note, error);
        }
        self.server.events.changed();
        Ok(Done::nothing())
    }

    pub(super) fn alter_event(&mut self, alter: &AlterEvent) -> Result<Done> {
        let database = self.database_of(&alter.name)?;
        let name = &alter.name.name;
        let to = match &alter.rename_to {
            Some(to) => Some((self.database_of(to)?, to.name.clone())),
            None => None,
        };
        if let Some((_, to_name)) = &to {
            check_program_name(to_name)?;
        }
        self.locked.refuse_under_own_read_lock()?;
        let definer = self.definer(alter.definer.as_ref())?;
        let times = alter.schedule.as_ref().map(|schedule| self.event_times(schedule)).transpose()?;
        self.access.may_have_events(&database)?;
        if let Some((to_database, to_name)) = &to {
            if *to_database == database && ObjectKind::Event.key_of(to_name) == ObjectKind::Event.key_of(name) {
                return Err(Error::new(&ER_EVENT_SAME_NAME, &[]));
            }
            self.access.may_have_events(to_database)?;
            if self.server.catalog.object(to_database, ObjectKind::Event, to_name)?.is_some() {
                return Err(Error::new(&ER_EVENT_ALREADY_EXISTS, &[to_name]));
            }
        }
        let missing = || Error::new(&ER_EVENT_DOES_NOT_EXIST, &[name]);
        let before = self.server.catalog.object(&database, ObjectKind::Event, name)?.ok_or_else(missing)?;
        self.access.may_change_what_is_of(&before.definer)?;
        let (new_database, new_name) = to.as_ref().map_or((&database, name), |(database, name)| (database, name));
        let found = self.place_of_program(new_database, new_name)?;
        let body = alter.body.as_ref().map_or("", |(_, body)| body);
        let fresh = self.new_program(ObjectKind::Event, &found, new_name, definer, body);
        if let Some((program, _)) = &alter.body {
            self.compiles(&fresh, program)?;
        }
        let zone = self.env.settings.plan.time_zone.name();
        let mut disabled = false;
        let change = |there: &mut StoredObject| {
            // Who alters an event is its definer from then on, as in MySQL.
            there.definer.clone_from(&fresh.definer);
            (there.client_collation, there.connection_collation) = (fresh.client_collation, fresh.connection_collation);
            there.database_collation = fresh.database_collation;
            if to.is_some() {
                (there.database, there.name) = (fresh.database.clone(), fresh.name.clone());
            }
            if alter.body.is_some() {
                there.sql_mode = fresh.sql_mode;
                there.text.clone_from(&fresh.text);
            }
            clauses(there, &alter.said);
            let Some((times, is_past)) = times else { return Ok(()) };
            events::set_times(there, times);
            there.set_characteristic("time zone", Some(zone));
            if is_past && there.characteristic("preserve").is_none() {
                return Err(Error::new(&ER_EVENT_CANNOT_ALTER_IN_THE_PAST, &[]));
            }
            if is_past && matches!(alter.said.status, None | Some(EventStatus::Enabled)) {
                disabled = true;
                events::set_status(there, EventStatus::Disabled);
            }
            Ok(())
        };
        let context = self.ddl_context();
        self.enter_ddl(None)?;
        let key = (before.database.as_str(), ObjectKind::Event, before.name.as_str());
        let altered = self.server.catalog.alter_object(key, change, &context);
        self.locked.end_ddl();
        match altered? {
            Altered::Missing => return Err(missing()),
            Altered::Taken => return Err(Error::new(&ER_EVENT_ALREADY_EXISTS, &[&fresh.name])),
            Altered::Done if disabled => {
                self.env.push_warning(Level::Note, Error::new(&ER_EVENT_EXEC_TIME_IN_THE_PAST, &[]));
            }
            Altered::Done => {}
        }
        self.server.events.changed();
        Ok(Done::nothing())
    }

    pub(super) fn drop_event(&mut self, if_exists: bool, name: &Name) -> Result<Done> {
        let database = self.database_of(name)?;
        if let Some(object) = self.server.catalog.object(&database, ObjectKind::Event, &name.name)? {
            self.access.may_change_what_is_of(&object.definer)?;
        }
        let context = self.ddl_context();
        self.enter_ddl(None)?;
        let (catalog, key) = (&self.server.catalog, (database.as_str(), ObjectKind::Event, name.name.as_str()));
        let dropped = drop_or_tell(if_exists, (catalog, key), &context, || catalog.drop_object(key, &[], &context));
        self.locked.end_ddl();
        if !dropped? {
            if !if_exists {
                return Err(Error::new(&ER_EVENT_DOES_NOT_EXIST, &[&name.name]));
            }
            self.env.push_warning(Level::Note, Error::new(&ER_SP_DOES_NOT_EXIST, &[&"Event", &name.name]));
        }
        self.server.events.changed();
        Ok(Done::nothing())
    }

    /// Types that are wrong are told now.
    fn compiles(&self, object: &StoredObject, program: &Program) -> Result<()> {
        let ast = vaquita_parser::ast::CreateRoutine {
            kind: ProgramKind::Event,
            if_not_exists: false,
            definer: None,
            name: Name { db: None, name: object.name.clone() },
            parameters: 0,
            parameters_text: String::new(),
            returns: None,
            characteristics: Default::default(),
            program: program.clone(),
            body: String::new(),
        };
        Routine::new(&Arc::new(object.clone()), ast).map(drop)
    }

    /// The times of ON SCHEDULE, and whether they have passed.
    fn event_times(&mut self, schedule: &EventSchedule) -> Result<(Times, bool)> {
        let now = self.env.statement_time_us().div_euclid(MICROS_PER_SECOND);
        let wrong = |what: &str, value: &Value| Error::new(&ER_WRONG_VALUE, &[&what, &shown(value)]);
        match schedule {
            EventSchedule::At(expr) => {
                let (at, value) = self.event_time(expr)?;
                let at = at.ok_or_else(|| wrong("AT", &value))?;
                Ok((Times::Once(at), at < now))
            }
            EventSchedule::Every { value, unit, starts, ends } => {
                let unit = IntervalUnit::from_keyword(unit.as_str())
                    .filter(|unit| part(*unit).is_some())
                    .ok_or_else(|| Error::unsupported("MICROSECOND"))?;
                let interval = self.event_value(value, |value, ty, env| interval_of(value, ty, unit, env))?;
                let interval = interval.ok_or_else(|| wrong("INTERVAL", &Value::Null))?;
                let count = interval.and_then(|interval| interval_count(interval, unit));
                let count = count.filter(|count| (1..=INTERVAL_MAX).contains(count));
                let count = count.ok_or_else(|| Error::new(&ER_EVENT_INTERVAL_NOT_POSITIVE_OR_TOO_BIG, &[]))?;
                let starts = match starts {
                    None => now,
                    Some(expr) => {
                        let (at, value) = self.event_time(expr)?;
                        at.ok_or_else(|| wrong("STARTS", &value))?
                    }
                };
                let ends = match ends {
                    None => None,
                    Some(expr) => {
                        let ends = self.event_time(expr)?.0.filter(|ends| *ends > starts);
                        Some(ends.ok_or_else(|| Error::new(&ER_EVENT_ENDS_BEFORE_STARTS, &[]))?)
                    }
                };
                Ok((Times::Every { count, unit, starts, ends }, ends.is_some_and(|ends| ends < now)))
            }
        }
    }

    /// Error 1235 of an expression that reads tables or calls stored functions, also if there are none of these names.
    fn event_value<T>(&mut self, expr: &Expr, read: impl Fn(&Value, &ColumnType, &dyn Env) -> Result<T>) -> Result<T> {
        let refused = || Error::unsupported("Event schedule expressions which contain subqueries or stored function calls");
        let admits = |uses: &UseList| match uses.tables.is_empty() && uses.functions.is_empty() {
            true => Ok(()),
            false => Err(refused()),
        };
        self.evaluate_as(expr, admits, read).map_err(|error| {
            match error.is(&ER_SP_DOES_NOT_EXIST) || error.is(&ER_NO_SUCH_TABLE) {
                true => refused(),
                false => error,
            }
        })
    }

    /// A time in seconds since 1970, and the value that it was made of.
    fn event_time(&mut self, expr: &Expr) -> Result<(Option<i64>, Value)> {
        let (local, value) =
            self.event_value(expr, |value, ty, env| Ok((coerce::to_datetime(value, ty, DateNeed::Whole, env)?, value.clone())))?;
        let utc = local.and_then(|local| self.env.settings.plan.time_zone.to_utc(local));
        let seconds = utc.map(|utc| utc.value.unix_micros().div_euclid(MICROS_PER_SECOND));
        Ok((seconds.filter(|seconds| (1..=UNIX_MICROS_MAX / MICROS_PER_SECOND).contains(seconds)), value))
    }

    /// Runs an event's body as the session's account. Rows go nowhere.
    pub fn run_event(&mut self, object: &Arc<StoredObject>) -> Result<()> {
        let mut outcome = Ok(());
        self.command(|session| {
            if session.client.must_close() {
                return Flow::Killed;
            }
            session.access.set_definers();
            let zone = events::zone_name(object).to_string();
            session.env.settings.set(registry().of(Var::TimeZone), zone.into());
            session.env.begin_statement();
            let mut nowhere = Nowhere::default();
            let mut park = || -> vaquita_storage::CommitWaiter { Box::new(|_| {}) };
            let mut exchange = Exchange { in_program: true, ..Exchange::new(&mut nowhere, &mut park) };
            outcome = programs::routine(&session.server.programs, object)
                .and_then(|routine| session.run_program(&routine, &mut exchange));
            Flow::Next
        });
        outcome
    }
}

fn clauses(object: &mut StoredObject, said: &EventClauses) {
    if let Some(preserve) = said.preserve {
        object.set_characteristic("preserve", preserve.then(|| "YES".into()));
    }
    if let Some(status) = said.status {
        events::set_status(object, status);
    }
    if let Some(comment) = &said.comment {
        object.comment.clone_from(comment);
    }
}

fn shown(value: &Value) -> String {
    match value {
        Value::Null => "NULL".to_string(),
        value => String::from_utf8_lossy(&to_text(value, &ColumnType::null())).into_owned(),
    }
}

/// EVERY as a number of the smallest part of its unit.
fn interval_count(interval: Interval, unit: IntervalUnit) -> Option<i64> {
    match part(unit)? {
        Part::Months(one) => Some(interval.months() / one),
        Part::Seconds(one) => Some(interval.micros_total()? / MICROS_PER_SECOND / one),
    }
}
