//! Triggers: bodies that run for a row that a statement changes, by the host of functions.
//!
//! OLD and NEW are variables of the body (`vaquita_parser::ast::RowColumn`): they are filled before it runs, and what a trigger BEFORE has set
//! of NEW goes back behind it. What a trigger needs is looked up once a statement (`OpenTrigger`): its steps, its definer's account and
//! privileges, its settings, and a frame with the plans that its steps have at hand.

use std::cell::RefCell;
use std::sync::Arc;

use vaquita_exec::context::{Execution, KeptTriggers, NewRow, TriggeredRow};
use vaquita_plan::uses::{Actions, NOTHING, SELECT, TableUse, UPDATE, UseList, Whose};
use vaquita_types::errno::ER_STACK_OVERRUN_NEED_MORE;
use vaquita_types::limits::PROGRAM_DEPTH_MAX;
use vaquita_types::schema::{StoredObject, TableDef, TriggerEvent, TriggerTime};
use vaquita_types::{Error, Result, stack};

use super::super::server_view::ServerView;
use super::frame::Frame;
use super::function::{Caller, FunctionHost, definer_of};
use super::function_env::{FunctionEnv, FunctionSettings};
use super::interpreter::Interpreter;
use crate::clients::ActiveRoles;
use crate::programs::{self, Routine};
use crate::state::access::SessionAccess;

/// The triggers of a table that a statement has run, by event and time.
#[derive(Default)]
struct Opened {
    lists: Vec<((TriggerEvent, TriggerTime), Vec<OpenTrigger>)>,
}

struct OpenTrigger {
    routine: Arc<Routine>,
    /// The definer's, if it is another account than the one around it.
    access: Option<SessionAccess>,
    account: String,
    roles: Arc<ActiveRoles>,
    settings: FunctionSettings,
    frame: Option<Frame>,
}

/// Runs the triggers for a row.
pub fn fire(view: &ServerView<'_>, row: &mut TriggeredRow<'_>, kept: &mut KeptTriggers, statement: &Execution<'_>) -> Result<()> {
    let opened = kept.get_or_insert_with(|| Box::new(Opened::default())).downcast_mut::<Opened>();
    let opened = opened.ok_or_else(|| Error::internal("triggers of another host"))?;
    let place = (row.event, row.time);
    let at = match opened.lists.iter().position(|(known, _)| *known == place) {
        Some(at) => at,
        None => {
            let triggers = row.table.triggers_at(row.event, row.time);
            let list = triggers.map(|trigger| OpenTrigger::open(view, &trigger.object, row.table, statement));
            opened.lists.push((place, list.collect::<Result<_>>()?));
            opened.lists.len() - 1
        }
    };
    let Some((_, list)) = opened.lists.get_mut(at) else { return Err(Error::internal("no triggers of a row")) };
    let env = view.env;
    let (kept, ids) = (env.diagnostics.begin_call(), env.ids.begin_call());
    let ran = list.iter_mut().try_for_each(|trigger| trigger.run(view, row, statement));
    // Nobody hears what they warn of.
    env.diagnostics.end_call(kept, false, env.settings.warnings_max);
    env.ids.end_call(ids);
    // They may have taken away what the statement has found.
    statement.forget_found_keys();
    ran
}

impl OpenTrigger {
    /// Errors 1449, 1142 and 1143: its definer is missing, or may not have triggers on the table or what it does with the row.
    fn open(
        view: &ServerView<'_>,
        object: &Arc<StoredObject>,
        table: &TableDef,
        statement: &Execution<'_>,
    ) -> Result<OpenTrigger> {
        let routine = programs::trigger(&view.server.programs, object, table)?;
        let access = definer_of(view, object)?;
        let definer = access.as_ref().unwrap_or(view.access);
        if !definer.is_unlimited() {
            definer.subject(None, None).may_have_triggers(&table.database, &table.name)?;
            let mut columns = vec![NOTHING; table.columns.len()];
            let mut asked: Actions = NOTHING;
            for column in &routine.row {
                let wanted = if column.is_read { SELECT } else { NOTHING } | if column.is_set { UPDATE } else { NOTHING };
                asked |= wanted;
                if let Some(known) = columns.get_mut(column.position) {
                    *known |= wanted;
                }
            }
            let found = statement.catalog.permanent(&table.database, &table.name)?.map(|table| table.def.clone());
            if asked != NOTHING {
                let of_table = TableUse {
                    database: table.database.clone(),
                    name: table.name.clone(),
                    table: found,
                    whose: Whose::Session,
                    actions: NOTHING,
                    locks: false,
                    columns,
                    whole: NOTHING,
                    unknown_column: None,
                };
                definer.allows(&UseList { tables: vec![of_table], ..UseList::default() }, None)?;
            }
        }
        let account = format!("{}@{}", definer.account().user, definer.account().host);
        let roles = definer.active_roles();
        Ok(OpenTrigger { account, roles, settings: FunctionSettings::of(object, view), routine, access, frame: None })
    }

    fn run(&mut self, view: &ServerView<'_>, row: &mut TriggeredRow<'_>, statement: &Execution<'_>) -> Result<()> {
        let depth = view.caller.map_or(0, |caller| caller.depth) + 1;
        if depth > PROGRAM_DEPTH_MAX {
            return Err(Error::new(&ER_STACK_OVERRUN_NEED_MORE, &[&depth, &PROGRAM_DEPTH_MAX, &1]));
        }
        if self.settings.is_behind(view.env) {
            self.settings = FunctionSettings::of(&self.routine.object, view);
        }
        let mut frame = match self.frame.take() {
            Some(frame) => frame.again()?,
            None => Frame::new(self.routine.clone(), &self.settings.plan)?,
        };
        for column in &self.routine.row {
            let values = if column.is_new { row.new.values() } else { row.old };
            let value = values.get(column.position).ok_or_else(|| Error::internal("a trigger without its row"))?;
            frame.set(column.variable, value.clone())?;
        }
        let caller = Caller { routine: &self.routine, outer: view.caller, depth };
        let outside = FunctionEnv {
            session: view.env,
            settings: self.settings.clone(),
            account: self.account.clone(),
            roles: self.roles.clone(),
            selected: RefCell::default(),
        };
        let access = self.access.as_ref().unwrap_or(view.access);
        let savepoints = RefCell::default();
        let inner = ServerView { access, caller: Some(&caller), savepoints: Some(&savepoints), ..*view };
        let ran = stack::deeper(|| FunctionHost { view: inner, statement, outside }.run_steps(&mut frame));
        savepoints.into_inner().end(&mut statement.txn.borrow_mut());
        ran?;
        if let NewRow::Open(new) = &mut row.new {
            for column in self.routine.row.iter().filter(|column| column.is_new) {
                if let Some(place) = new.get_mut(column.position) {
                    place.clone_from(&frame.values[column.variable]);
                }
            }
        }
        self.frame = Some(frame);
        Ok(())
    }
}
