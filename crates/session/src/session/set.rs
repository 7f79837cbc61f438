//! SET: user variables, system variables, NAMES, CHARACTER SET, TRANSACTION.
//!
//! 1. Every right side is evaluated and checked, in order, against the state before the statement.
//! 2. Only if all of them are good, all are applied: a SET that fails changes nothing.

use vaquita_parser::ast::{self, AccessMode, SetItem, SetValue, VarScope};
use vaquita_plan::bind::{PlanContext, bind_scalar};
use vaquita_plan::data_type::meant_collate;
use vaquita_plan::env::{Env, Level};
use vaquita_plan::params::type_of_parameter;
use vaquita_plan::uses::UseList;
use vaquita_plan::visit::calls_stored;
use vaquita_storage::Isolation;
use vaquita_types::charset::{Charset, Collation, CollationId};
use vaquita_types::errno::{
    ER_CANT_CHANGE_TX_CHARACTERISTICS, ER_CANT_SET_GTID_NEXT_TO_ANONYMOUS_WHEN_GTID_MODE_IS_ON,
    ER_CANT_SET_GTID_NEXT_TO_AUTOMATIC_TAGGED_WHEN_GTID_MODE_IS_OFF, ER_CANT_SET_GTID_NEXT_TO_GTID_WHEN_GTID_MODE_IS_OFF,
    ER_COLLATION_CHARSET_MISMATCH, ER_DA_AUTH_ID_WITH_SYSTEM_USER_PRIV_IN_MANDATORY_ROLES, ER_GLOBAL_VARIABLE,
    ER_GTID_NEXT_TAG_GTID_MODE_OFF, ER_INCORRECT_GLOBAL_LOCAL_VAR, ER_INSIDE_TRANSACTION_PREVENTS_SWITCH_SQL_LOG_BIN,
    ER_LOCAL_VARIABLE, ER_MALFORMED_GTID_SPECIFICATION, ER_NO_DEFAULT, ER_OPTION_PREVENTS_STATEMENT, ER_UNKNOWN_CHARACTER_SET,
    ER_UNKNOWN_COLLATION, ER_UNKNOWN_SYSTEM_VARIABLE, ER_VARIABLE_IS_READONLY, ER_VARIABLE_NOT_SETTABLE_IN_TRANSACTION,
    ER_WRONG_VALUE_FOR_VAR, WARN_OPTION_BELOW_LIMIT,
};
use vaquita_types::{ColumnType, Error, Result, TypeKind, Value};

use super::Session;
use super::execute::Done;
use crate::accounts::AccountSettings;
use crate::binary_log_commits::GtidNext;
use crate::clients::Client;
use crate::log_lines;
use crate::logs::{Wants, check_name, is_applied};
use crate::server::Server;
use crate::state::access::SessionAccess;
use crate::state::environment::Environment;
use crate::state::prepared::PlanNotes;
use crate::state::user_variables::type_of_value;
use crate::variables::settings::{Settings, isolation_of};
use crate::variables::{
    Change, Def, Effect, GTID_PURGED, Scope, SetBy, Var, check, deprecated_update, events_are_disabled, parse_roles,
    purged_gtids, registry,
};
use vaquita_storage::now_us;

/// What the audit log tells of itself begins so.
pub(super) const AUDIT_SETTINGS: &str = "vaquita_audit_log";

/// A checked assignment.
pub(super) enum Assignment {
    User { name: String, value: Value, ty: ColumnType },
    Session { def: &'static Def, value: Value },
    Global(Globally),
    Names(&'static Collation),
    Charset(&'static Charset),
    NextTransaction { isolation: Option<Isolation>, read_only: Option<bool> },
}

/// A checked assignment of a global value.
pub(super) struct Globally {
    def: &'static Def,
    value: Value,
    keep: Keep,
    default: bool,
}

/// Where a global value goes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Keep {
    Running,
    /// SET PERSIST: in the running server and the next.
    Both,
    /// SET PERSIST_ONLY: in the next server.
    Next,
}

impl Session {
    pub(super) fn set(&mut self, items: &[SetItem]) -> Result<Done> {
        let mut assignments = Vec::with_capacity(items.len());
        for item in items {
            self.check_item(item, &mut assignments)?;
        }
        for assignment in assignments {
            self.assign(assignment)?;
        }
        Ok(Done::nothing())
    }

    fn check_item(&mut self, item: &SetItem, out: &mut Vec<Assignment>) -> Result<()> {
        match item {
            SetItem::UserVar { name, value } => {
                let (value, ty) = self.evaluate(value)?;
                out.push(Assignment::User { name: name.clone(), value, ty });
            }
            SetItem::SysVar { scope, component, name, value } => {
                let def = settable(*scope, component.as_deref(), name)?;
                let given = match value {
                    SetValue::Default => None,
                    SetValue::Expr(expr) => Some(match bare_word(expr) {
                        Some(word) => word,
                        None => self.evaluate(expr)?.0,
                    }),
                };
                out.push(self.set_rules().check(def, *scope, given)?);
            }
            SetItem::Names { charset, collate } => out.push(Assignment::Names(names(
                charset.as_deref(),
                collate.as_deref(),
                self.env.settings.plan.utf8mb4_collation,
            )?)),
            SetItem::Charset(name) => out.push(Assignment::Charset(client_charset(name.as_deref())?)),
            SetItem::Transaction { scope, isolation, access_mode } => {
                out.extend(self.set_rules().check_transaction(*scope, *isolation, *access_mode)?)
            }
            SetItem::Password(_) => return Err(Error::unsupported("SET PASSWORD together with other assignments")),
        }
        Ok(())
    }

    pub(super) fn set_rules(&self) -> SetRules<'_> {
        SetRules {
            server: &self.server,
            env: &self.env,
            settings: &self.env.settings,
            access: &self.access,
            in_transaction: self.transaction.is_open(),
        }
    }

    fn assign(&mut self, assignment: Assignment) -> Result<()> {
        match assignment {
            Assignment::User { name, value, ty } => {
                self.env.user_variables.set(&name, value, &ty)?;
                self.env.tracker.state_changed(&self.env.settings.track);
            }
            Assignment::Session { def, value } => self.assign_session(def, value)?,
            Assignment::Global(global) => global.assign(&self.server, &self.client)?,
            Assignment::Names(collation) => {
                self.env.settings.set_names(collation);
                self.charsets_changed();
            }
            Assignment::Charset(charset) => {
                self.env.settings.set_charset(charset);
                self.charsets_changed();
            }
            Assignment::NextTransaction { isolation, read_only } => {
                self.transaction.set_next(isolation, read_only);
                let (track, next) = (&self.env.settings.track, self.transaction.next());
                self.env.tracker.next_transaction_set(track, next);
            }
        }
        Ok(())
    }

    fn charsets_changed(&mut self) {
        for var in [Var::CharacterSetClient, Var::CharacterSetConnection, Var::CharacterSetResults] {
            self.track(registry().of(var));
        }
    }

    fn track(&self, def: &Def) {
        let value = self.env.settings.get(def);
        self.env.tracker.variable_changed(&self.env.settings.track, def.name, &def.show(&value));
    }

    /// What functions of the statement that is over have set.
    pub(super) fn settle(&mut self) -> Result<()> {
        let Some(done) = self.env.deferred.take() else { return Ok(()) };
        self.transaction.note_not_rolled_back(&self.env.settings, |known| {
            known.created |= done.created;
            known.dropped |= done.dropped;
        });
        if done.created || done.dropped {
            self.env.tracker.state_changed(&self.env.settings.track);
        }
        done.settings.into_iter().try_for_each(|(def, value)| self.assign_session(def, value))
    }

    fn assign_session(&mut self, def: &'static Def, value: Value) -> Result<()> {
        if self.env.set_id(def, &value) {
            return Ok(());
        }
        match def.var {
            Some(Var::Autocommit)
                if value != Value::Int(0)
                    && !self.env.settings.autocommit
                    && (self.transaction.is_open() || self.transaction.has_savepoints()) =>
            {
                self.commit_implicitly()?
            }
            Some(Var::WaitTimeout) => {
                if let Value::UInt(seconds) = value {
                    self.client.set_wait_timeout(seconds);
                }
            }
            _ => {}
        }
        self.env.settings.set(def, value);
        if matches!(def.var, Some(Var::OptimizerTraceOffset | Var::OptimizerTraceLimit)) {
            self.env.traces.borrow_mut().clear();
        }
        if def.var.is_some_and(Var::changes_transactions) {
            self.transaction.settings_changed(def.var);
        }
        if def.var == Some(Var::SessionTrackTransactionInfo) {
            self.env.tracker.transaction_info_set(&self.env.settings.track, self.transaction.is_open());
        }
        self.track(def);
        Ok(())
    }

    /// The value of an expression that sees no table, and its type; subqueries run in the session's transaction.
    pub(super) fn evaluate(&mut self, expr: &ast::Expr) -> Result<(Value, ColumnType)> {
        self.evaluate_as(expr, |_| Ok(()), |value, ty, _| Ok((value.clone(), ty.clone())))
    }

    /// What `read` makes of an expression's value; `admits` looks at what the expression uses.
    pub(super) fn evaluate_as<T>(
        &mut self,
        expr: &ast::Expr,
        admits: impl FnOnce(&UseList) -> Result<()>,
        read: impl Fn(&Value, &ColumnType, &dyn Env) -> Result<T>,
    ) -> Result<T> {
        let type_of = |(n, value)| type_of_parameter(value, self.collation_of_parameter(n)).unwrap_or_else(ColumnType::null);
        let types: Vec<_> = self.prepared.values().iter().enumerate().map(type_of).collect();
        let tell = |warning| self.env.push_warning(Level::Warning, warning);
        let (bound, uses) = self.bound(&PlanNotes::default(), |context| {
            bind_scalar(expr, &PlanContext { param_types: &types, hint_warning: Some(&tell), ..*context })
        });
        admits(&uses)?;
        self.access.allows(&uses, Some(&self.catalog))?;
        let bound = bound?;
        let values = self.prepared.values().to_vec();
        let collation = self.env.connection_collation();
        self.run_expression((calls_stored(&bound), &uses), &values, |statement| {
            let cx = statement.cx(&[], None);
            let value = bound.eval(&cx)?;
            match bound.ty.kind {
                // The type of a `?` is that of its value.
                TypeKind::Null => read(&value, &type_of_value(&value, collation), cx.env),
                _ => read(&value, &bound.ty, cx.env),
            }
        })
    }
}

/// What the assignments of a SET are checked by.
pub(super) struct SetRules<'a> {
    pub server: &'a Server,
    pub env: &'a Environment,
    /// The session's, or those of a function that sets them.
    pub settings: &'a Settings,
    pub access: &'a SessionAccess,
    pub in_transaction: bool,
}

impl SetRules<'_> {
    /// `given` is what the right side gave; `None` for DEFAULT.
    pub fn check(&self, def: &'static Def, scope: VarScope, given: Option<Value>) -> Result<Assignment> {
        let global = is_global(scope);
        let default = given.is_none();
        let now = if global || def.scope == Scope::Global { self.server.globals.get(def) } else { self.settings.get(def) };
        if let Some(warning) = def.deprecation() {
            self.env.push_warning(Level::Warning, warning);
        }
        if default && matches!(def.var, Some(Var::CharacterSetDatabase | Var::CollationDatabase)) {
            self.env.push_warning(Level::Warning, deprecated_update(def));
        }
        let value = match given {
            None if def.name == GTID_PURGED => return Err(Error::new(&ER_NO_DEFAULT, &[&def.name])),
            None if global => def.default.clone(),
            None if def.scope == Scope::Session => def.default.clone(),
            None => self.settings.of_database(def).unwrap_or_else(|| self.server.globals.get(def)),
            Some(given) => {
                let checked = check(def, &given, &now, self.settings.plan.sql_mode)?;
                if def.effect == Effect::Refused && checked.value != def.default {
                    return Err(Error::unsupported(format_args!("{} = {}", def.name, def.show(&checked.value))));
                }
                checked.warnings.into_iter().for_each(|warning| self.env.push_warning(Level::Warning, warning));
                check_name(def, &checked.value, &self.server.globals)?;
                if def.var == Some(Var::SessionTrackSystemVariables) {
                    self.warn_of_unknown_variables(&checked.value);
                }
                self.warn_of_small_packets(def, &checked.value);
                if def.var == Some(Var::MandatoryRoles) {
                    self.check_mandatory_roles(&def.show(&checked.value))?;
                }
                checked.value
            }
        };
        if global && def.var == Some(Var::EventScheduler) && events_are_disabled(&now) {
            return Err(Error::new(&ER_OPTION_PREVENTS_STATEMENT, &[&"--event-scheduler=DISABLED or --skip-grant-tables"]));
        }
        if global {
            let keep = match scope {
                VarScope::Persist => Keep::Both,
                VarScope::PersistOnly => Keep::Next,
                _ => Keep::Running,
            };
            if def.name == GTID_PURGED && keep != Keep::Running {
                return Err(Error::new(&ER_INCORRECT_GLOBAL_LOCAL_VAR, &[&def.name, &"non persistent"]));
            }
            return Ok(Assignment::Global(Globally { def, value, keep, default }));
        }
        self.access.may_set(def, default, value != now)?;
        let value = self.for_log(def, value)?;
        match def.var.map(Var::canonical) {
            // Behind `@@` without SESSION these are for the next transaction alone.
            Some(Var::TransactionIsolation) if scope == VarScope::Default => self.next_transaction(Some(isolation(&value)), None),
            Some(Var::TransactionReadOnly) if scope == VarScope::Default => {
                self.next_transaction(None, Some(value != Value::Int(0)))
            }
            _ => Ok(Assignment::Session { def, value }),
        }
    }

    /// What the next transaction is in the binary log: `gtid_next` as it is shown, and neither it nor `sql_log_bin` within a transaction.
    fn for_log(&self, def: &'static Def, value: Value) -> Result<Value> {
        match def.var {
            Some(Var::SqlLogBin) if self.in_transaction => {
                Err(Error::new(&ER_INSIDE_TRANSACTION_PREVENTS_SWITCH_SQL_LOG_BIN, &[]))
            }
            Some(Var::GtidNext) => {
                let given = def.show(&value);
                let next = GtidNext::parse(&given).ok_or_else(|| Error::new(&ER_MALFORMED_GTID_SPECIFICATION, &[&given]))?;
                if self.in_transaction {
                    return Err(Error::new(&ER_VARIABLE_NOT_SETTABLE_IN_TRANSACTION, &[&def.name]));
                }
                let mode = registry().find("gtid_mode").map(|def| def.show(&self.server.globals.get(def)));
                match (&next, mode.as_deref()) {
                    (GtidNext::Given(gtid), Some("OFF")) if gtid.tag.is_empty() => {
                        Err(Error::new(&ER_CANT_SET_GTID_NEXT_TO_GTID_WHEN_GTID_MODE_IS_OFF, &[]))
                    }
                    (GtidNext::Given(_), Some("OFF")) => Err(Error::new(&ER_GTID_NEXT_TAG_GTID_MODE_OFF, &[])),
                    (GtidNext::Tagged(_), Some("OFF" | "OFF_PERMISSIVE")) => {
                        Err(Error::new(&ER_CANT_SET_GTID_NEXT_TO_AUTOMATIC_TAGGED_WHEN_GTID_MODE_IS_OFF, &[]))
                    }
                    (GtidNext::Anonymous, Some("ON")) => {
                        Err(Error::new(&ER_CANT_SET_GTID_NEXT_TO_ANONYMOUS_WHEN_GTID_MODE_IS_ON, &[]))
                    }
                    _ => Ok(next.to_string().into()),
                }
            }
            _ => Ok(value),
        }
    }

    /// `session_track_system_variables` may name what is none.
    fn warn_of_unknown_variables(&self, list: &Value) {
        let Value::Bytes(list) = list else { return };
        let list = String::from_utf8_lossy(list);
        for name in list.split(',').map(str::trim).filter(|name| !name.is_empty() && *name != "*") {
            if registry().find(name).is_none() {
                let text = format!("{name} is not a valid system variable and will be ignored.");
                self.env.push_warning(Level::Warning, Error::with_message(&ER_WRONG_VALUE_FOR_VAR, text));
            }
        }
    }

    /// A packet should not be smaller than the buffer that it is read into.
    fn warn_of_small_packets(&self, def: &Def, value: &Value) {
        const NAMES: [&str; 2] = ["max_allowed_packet", "net_buffer_length"];
        let Some(at) = NAMES.iter().position(|name| *name == def.name) else { return };
        let other = registry().find(NAMES[1 - at]).map(|other| self.server.globals.get(other));
        let (Value::UInt(given), Some(Value::UInt(other))) = (value, other) else { return };
        let (packet, buffer) = if at == 0 { (*given, other) } else { (other, *given) };
        if packet < buffer {
            self.env.push_warning(Level::Warning, Error::new(&WARN_OPTION_BELOW_LIMIT, &[&NAMES[0], &NAMES[1]]));
        }
    }

    /// No role that everybody has may have SYSTEM_USER.
    fn check_mandatory_roles(&self, list: &str) -> Result<()> {
        const SYSTEM_USER: &str = "SYSTEM_USER";
        let accounts = self.server.accounts();
        for (user, host) in parse_roles(list).unwrap_or_default() {
            let role = accounts.get(&user, &host);
            if role.is_some_and(|role| accounts.access(&role, &accounts.roles_of(&role)).is_system_user()) {
                return Err(Error::new(&ER_DA_AUTH_ID_WITH_SYSTEM_USER_PRIV_IN_MANDATORY_ROLES, &[&user, &host, &SYSTEM_USER]));
            }
        }
        Ok(())
    }

    fn next_transaction(&self, isolation: Option<Isolation>, read_only: Option<bool>) -> Result<Assignment> {
        if self.in_transaction {
            return Err(Error::new(&ER_CANT_CHANGE_TX_CHARACTERISTICS, &[]));
        }
        Ok(Assignment::NextTransaction { isolation, read_only })
    }

    pub fn check_transaction(
        &self,
        scope: VarScope,
        isolation: Option<ast::Isolation>,
        access_mode: Option<AccessMode>,
    ) -> Result<Vec<Assignment>> {
        let read_only = access_mode.map(|mode| mode == AccessMode::ReadOnly);
        if scope == VarScope::Default {
            let isolation = isolation.map(|level| isolation_of(isolation_name(level)));
            return Ok(vec![self.next_transaction(isolation, read_only)?]);
        }
        let level = isolation.map(|level| (Var::TransactionIsolation, isolation_name(level).into()));
        let mode = read_only.map(|read_only| (Var::TransactionReadOnly, Value::bool(read_only)));
        let assign = |(var, value): (Var, Value)| {
            let def = registry().of(var);
            match scope {
                VarScope::Session => Assignment::Session { def, value },
                _ => Assignment::Global(Globally { def, value, keep: Keep::Running, default: false }),
            }
        };
        Ok(level.into_iter().chain(mode).map(assign).collect())
    }
}

impl Globally {
    pub fn assign(self, server: &Server, client: &Client) -> Result<()> {
        let Globally { def, value, keep, default } = self;
        let audited = def.name.starts_with(AUDIT_SETTINGS).then(|| def.show(&value));
        let was_audited = server.logs.wants().any(Wants::AUDIT);
        if let Some(value) = &audited {
            server.logs.audit_setting(client, def.name, value);
        }
        if let (GTID_PURGED, Value::Bytes(given)) = (def.name, &value) {
            // `check` has parsed it.
            let (set, is_added) = purged_gtids(given).unwrap_or_default();
            server.replication.purge(&server.catalog, &set, is_added, &server.logged()?)?;
            if let Some(log) = server.open_log() {
                log.add_executed(&set)?;
            }
            return Ok(());
        }
        let by = SetBy { at_us: now_us(), user: client.snapshot().user, host: client.host.clone() };
        if keep != Keep::Running {
            let kept = if default { None } else { Some(&value) };
            for def in [Some(def), def.other_name()].into_iter().flatten() {
                server.globals.persist(def, kept, &by, &server.catalog)?;
            }
        }
        if keep != Keep::Next {
            server.globals.set(def, value, &server.engine)?;
            server.globals.note_setter(def, by);
            if def.var == Some(Var::EventScheduler) {
                server.events.changed();
            }
            if def.var == Some(Var::OfflineMode) && server.globals.is_on(Var::OfflineMode) {
                server.clients().kill_all_but_administrators();
            }
            if def.var.is_some_and(AccountSettings::depend_on) {
                server.accounts().follow(AccountSettings::of(&server.globals));
            }
            if is_applied(def) {
                let mut applied = Ok(());
                server.blocking(&mut || applied = server.logs.apply(&server.globals, &server.engine));
                applied?;
            }
            if def.var == Some(Var::LogErrorServices) {
                log_lines::follow(&server.globals.text(Var::LogErrorServices));
            }
            if let Some(value) = audited.filter(|_| !was_audited) {
                server.logs.audit_setting(client, def.name, &value);
            }
            if def.name.starts_with("rpl_semi_sync_source_")
                && let Some(log) = server.binary_log.get()
            {
                log.settings_changed();
            }
        }
        Ok(())
    }
}

fn is_global(scope: VarScope) -> bool {
    !matches!(scope, VarScope::Default | VarScope::Session)
}

/// The variable of a name, which SET may change in the scope.
pub(super) fn settable(scope: VarScope, component: Option<&str>, name: &str) -> Result<&'static Def> {
    let unknown = |name: &str| Error::new(&ER_UNKNOWN_SYSTEM_VARIABLE, &[&name]);
    if let Some(component) = component {
        return Err(unknown(&format!("{component}.{name}")));
    }
    let def = registry().find(name).ok_or_else(|| unknown(name))?;
    check_scope(def, scope, is_global(scope))?;
    Ok(def)
}

fn check_scope(def: &Def, scope: VarScope, global: bool) -> Result<()> {
    if def.change == Change::ReadOnly && scope != VarScope::PersistOnly {
        return Err(Error::new(&ER_INCORRECT_GLOBAL_LOCAL_VAR, &[&def.name, &"read only"]));
    }
    match def.scope {
        Scope::Global if !global => Err(Error::new(&ER_GLOBAL_VARIABLE, &[&def.name])),
        Scope::Session if global => Err(Error::new(&ER_LOCAL_VARIABLE, &[&def.name])),
        _ if def.change == Change::GlobalOnly && !global => {
            Err(Error::new(&ER_VARIABLE_IS_READONLY, &[&"SESSION", &def.name, &"GLOBAL"]))
        }
        _ => Ok(()),
    }
}

/// `SET x = word`: the word is the value.
pub(super) fn bare_word(expr: &ast::Expr) -> Option<Value> {
    match expr {
        ast::Expr::Column(column) if column.db.is_none() && column.table.is_none() => Some(Value::from(column.name.as_str())),
        _ => None,
    }
}

fn isolation(value: &Value) -> Isolation {
    match value {
        Value::Bytes(name) => isolation_of(&String::from_utf8_lossy(name)),
        _ => Isolation::default(),
    }
}

fn isolation_name(level: ast::Isolation) -> &'static str {
    match level {
        ast::Isolation::ReadUncommitted => "READ-UNCOMMITTED",
        ast::Isolation::ReadCommitted => "READ-COMMITTED",
        ast::Isolation::RepeatableRead => "REPEATABLE-READ",
        ast::Isolation::Serializable => "SERIALIZABLE",
    }
}

/// The collation of SET NAMES.
pub(super) fn names(charset: Option<&str>, collate: Option<&str>, utf8mb4: CollationId) -> Result<&'static Collation> {
    let charset = client_charset(charset)?;
    let collate = meant_collate(Some(charset.name), collate, utf8mb4);
    let Some(name) = collate else { return Ok(vaquita_types::charset::collation(charset.default_collation)) };
    let collation =
        Collation::by_name(name).filter(|c| c.is_supported()).ok_or_else(|| Error::new(&ER_UNKNOWN_COLLATION, &[&name]))?;
    if collation.charset.name != charset.name {
        return Err(Error::new(&ER_COLLATION_CHARSET_MISMATCH, &[&collation.name, &charset.name]));
    }
    Ok(collation)
}

/// A charset that statements can be sent in; `None` is DEFAULT.
pub(super) fn client_charset(name: Option<&str>) -> Result<&'static Charset> {
    let Some(name) = name else { return Ok(vaquita_types::charset::charset(CollationId::default())) };
    let charset =
        Charset::by_name(name).filter(|c| c.is_supported()).ok_or_else(|| Error::new(&ER_UNKNOWN_CHARACTER_SET, &[&name]))?;
    check_client_charset(charset)?;
    Ok(charset)
}

/// Statements can be sent in it.
fn check_client_charset(charset: &Charset) -> Result<()> {
    if charset.may_be_client() {
        return Ok(());
    }
    Err(Error::new(&ER_WRONG_VALUE_FOR_VAR, &[&"character_set_client", &charset.name]))
}

/// The collation that a login names: error 1231 if no statements can be sent in its charset. One that is unknown stands for the server's own.
pub fn check_login_charset(collation: u16) -> Result<()> {
    Collation::by_id(CollationId(collation)).map_or(Ok(()), |collation| check_client_charset(collation.charset))
}
