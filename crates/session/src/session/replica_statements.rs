//! CHANGE REPLICATION SOURCE TO, CHANGE REPLICATION FILTER, START, STOP and RESET REPLICA; what they do with the binary log is
//! `log_statements`'.
//!
//! Each takes the channels that it means one after the other, under their `operation` (`crate::replication`, CHANNEL-4). Starting and ending
//! threads blocks, which the pool is told.

use std::sync::Arc;

use vaquita_parser::Statement as Ast;
use vaquita_parser::ast::{ChangeFilter, ChangeSource, ResetOption, ResetReplica, RunReplica, SourceOption, SourceValue};
use vaquita_plan::env::Level;
use vaquita_types::errno::*;
use vaquita_types::gtid::GtidSet;
use vaquita_types::limits::IDENTIFIER_CHARS_MAX;
use vaquita_types::{Error, Result, Value};

use super::Session;
use super::execute::Done;
use crate::accounts::{privilege, resolve};
use crate::replication::{
    self, Applied, Channel, ChannelConfig, Credentials, LOG_POS_MIN, ThreadError, Threads, Until, channel_name,
};
use crate::variables::registry;

/// Channels of group replication, which has its own statements.
const OF_GROUPS: [&str; 2] = ["group_replication_applier", "group_replication_recovery"];

impl Session {
    /// `None`: it is no statement of replication.
    pub(super) fn replica_statement(&mut self, ast: &Ast) -> Option<Result<Done>> {
        let done = match ast {
            Ast::ChangeSource(change) => self.change_source(change),
            Ast::ChangeFilter(change) => self.change_filter(change),
            Ast::StartReplica(run) => self.run_replica(run, true),
            Ast::StopReplica(run) => self.run_replica(run, false),
            Ast::ResetReplica(reset) => self.reset_replica(reset),
            Ast::Reset(options) => self.reset_list(options),
            Ast::PurgeLogs(purge) => self.purge_logs(purge),
            _ => return None,
        };
        Some(done.map(|()| Done::nothing()))
    }

    fn change_source(&mut self, change: &ChangeSource) -> Result<()> {
        replication::check_given(&change.options)?;
        self.access.subject(None, None).may_replicate()?;
        let channels = &self.server.replication;
        let name = change.channel.as_deref().map_or(String::new(), channel_name);
        if change.channel.is_none() && channels.list().len() > 1 {
            return Err(Error::new(&ER_REPLICA_MULTIPLE_CHANNELS_CMD, &[]));
        }
        if name.chars().count() > IDENTIFIER_CHARS_MAX || name.contains('\0') {
            return Err(Error::new(&ER_REPLICA_CHANNEL_NAME_INVALID_OR_TOO_LONG, &[]));
        }
        if OF_GROUPS.contains(&name.as_str()) {
            let what = "CHANGE REPLICATION SOURCE with the given parameters";
            return Err(Error::new(&ER_REPLICA_CHANNEL_OPERATION_NOT_ALLOWED, &[&what, &name]));
        }
        // A new channel is made only when what it is to be is found right.
        let Some(channel) = channels.get(&name) else {
            let changed = self.changed(&ChannelConfig::default(), &name, &change.options)?;
            let channel = channels.create(&self.server.catalog, &name, ChannelConfig::default())?;
            return self.alone(&channel, || self.take_change(&channel, changed));
        };
        self.alone(&channel, || {
            let changed = self.changed(&channel.config(), &name, &change.options)?;
            self.take_change(&channel, changed)
        })
    }

    /// Does something under `operation`, for which it may wait.
    fn alone(&self, channel: &Channel, act: impl FnOnce() -> Result<()>) -> Result<()> {
        let mut act = Some(act);
        let mut done = Ok(());
        self.server.blocking(&mut || {
            let _operation = channel.operation.lock();
            if let Some(act) = act.take() {
                done = act();
            }
        });
        done
    }

    /// Of one channel, or of all and of those to come.
    fn change_filter(&mut self, change: &ChangeFilter) -> Result<()> {
        replication::check_filters(&change.filters)?;
        self.access.subject(None, None).may_replicate()?;
        let server = self.server.clone();
        let mut changed = Ok(());
        server.blocking(&mut || changed = self.take_filters(change));
        changed
    }

    fn take_filters(&self, change: &ChangeFilter) -> Result<()> {
        let channels = &self.server.replication;
        let now_us = vaquita_storage::now_us();
        let is_configured = |channel: &Arc<Channel>| !channel.config().host.is_empty();
        let meant: Vec<Arc<Channel>> = match change.channel.as_deref().map(channel_name) {
            None => channels.list().into_iter().filter(is_configured).collect(),
            Some(name) if OF_GROUPS.contains(&name.as_str()) => {
                return Err(Error::new(&ER_REPLICA_CHANNEL_OPERATION_NOT_ALLOWED, &[&"CHANGE REPLICATION FILTER", &name]));
            }
            Some(name) => {
                let channel = channels.get(&name).filter(is_configured);
                vec![channel.ok_or_else(|| Error::new(&ER_REPLICA_CONFIGURATION, &[]))?]
            }
        };
        if let Some(channel) = meant.iter().find(|channel| channel.running().applier) {
            return Err(Error::new(&ER_REPLICA_CHANNEL_SQL_THREAD_MUST_STOP, &[&channel.name]));
        }
        for channel in meant {
            let _operation = channel.operation.lock();
            // It may have been started since.
            if channel.running().applier {
                return Err(Error::new(&ER_REPLICA_CHANNEL_SQL_THREAD_MUST_STOP, &[&channel.name]));
            }
            let mut filters = (*channel.filters()).clone();
            change.filters.iter().try_for_each(|filter| filters.take(filter, now_us, change.channel.is_some()))?;
            channels.change_filters(&self.server.catalog, &channel, filters)?;
        }
        if change.channel.is_none() {
            let mut filters = (*channels.global_filters()).clone();
            change.filters.iter().try_for_each(|filter| filters.take(filter, now_us, false))?;
            channels.change_global_filters(&self.server.catalog, filters)?;
        }
        Ok(())
    }

    fn changed(&self, before: &ChannelConfig, name: &str, options: &[SourceOption]) -> Result<replication::Changed> {
        let net_timeout_s = registry().find("replica_net_timeout").map(|def| self.server.globals.get(def));
        let net_timeout_s = match net_timeout_s {
            Some(Value::UInt(seconds)) => seconds,
            Some(Value::Int(seconds)) => seconds.unsigned_abs(),
            _ => u64::MAX,
        };
        replication::changed(before, name, options, net_timeout_s, &|value| self.privilege_checks_user(name, value))
    }

    /// Whoever applies with this account's privileges must exist and be allowed to apply.
    fn privilege_checks_user(&self, channel: &str, value: &SourceValue) -> Result<Option<(String, String)>> {
        let SourceValue::Account(given) = value else { return Ok(None) };
        let (user, host) = resolve(given, self.access.account());
        if user.is_empty() {
            return Err(Error::new(&ER_CLIENT_PRIVILEGE_CHECKS_USER_CANNOT_BE_ANONYMOUS, &[&channel, &host]));
        }
        let Some(account) = self.server.accounts().get(&user, &host) else {
            return Err(Error::new(&ER_CLIENT_PRIVILEGE_CHECKS_USER_DOES_NOT_EXIST, &[&channel, &user, &host]));
        };
        let may = account.grants.global & privilege::SUPER != 0
            || account.grants.dynamic.iter().any(|(name, _)| name == "REPLICATION_APPLIER");
        if !may {
            return Err(Error::new(&ER_CLIENT_PRIVILEGE_CHECKS_USER_NEEDS_RPL_APPLIER_PRIV, &[&channel, &user, &host]));
        }
        Ok(Some((user, host)))
    }

    /// The caller holds `operation`.
    fn take_change(&self, channel: &Channel, changed: replication::Changed) -> Result<()> {
        let running = channel.running();
        // The applier alone writes what it has applied.
        let moves = changed.position.is_some() && (running.receiver || running.applier);
        let refuse = |def| Err(Error::new(def, &[&channel.name]));
        if moves || changed.of_receiver && changed.of_applier && running.receiver && running.applier {
            return refuse(&ER_REPLICA_CHANNEL_MUST_STOP);
        }
        if changed.of_receiver && running.receiver {
            return refuse(&ER_REPLICA_CHANNEL_IO_THREAD_MUST_STOP);
        }
        if changed.of_applier && running.applier {
            return refuse(&ER_REPLICA_CHANNEL_SQL_THREAD_MUST_STOP);
        }
        let applied = changed.applied(channel.applied());
        if applied.is_some() {
            let mut receiver = channel.status.receiver.lock();
            (receiver.file, receiver.pos) = (changed.config.log_file.clone(), changed.config.log_pos);
        }
        self.server.replication.change(&self.server.catalog, channel, changed.config, applied)?;
        changed.notes.into_iter().for_each(|note| self.env.push_warning(Level::Note, note));
        changed.warnings.into_iter().for_each(|warning| self.env.push_warning(Level::Warning, warning));
        Ok(())
    }

    /// The channels that a statement means; error 3074 for a name that means none.
    fn named_channels(&self, name: Option<&[u8]>) -> Result<Vec<Arc<Channel>>> {
        let Some(name) = name.map(channel_name) else { return Ok(self.server.replication.list()) };
        match self.server.replication.get(&name) {
            Some(channel) => Ok(vec![channel]),
            None if name.is_empty() => Ok(Vec::new()),
            None => Err(Error::new(&ER_REPLICA_CHANNEL_DOES_NOT_EXIST, &[&name])),
        }
    }

    fn run_replica(&mut self, run: &RunReplica, starts: bool) -> Result<()> {
        // MySQL's order: what is asked for, the channel, and then the privilege.
        let until = until(&run.until)?;
        let credentials = credentials(run)?;
        let mut channels = self.named_channels(run.channel.as_deref())?;
        self.access.subject(None, None).may_replicate()?;
        if starts {
            channels.retain(|channel| !channel.config().host.is_empty());
            if channels.is_empty() {
                return Err(Error::new(&ER_BAD_REPLICA, &[]));
            }
        } else if self.locked.refuse_under_own_read_lock().is_err() {
            return Err(Error::new(&ER_LOCK_OR_ACTIVE_TRANSACTION, &[]));
        } else if channels.is_empty() {
            self.env.push_warning(Level::Note, Error::new(&ER_REPLICA_CHANNEL_WAS_NOT_RUNNING, &[&""]));
        }
        let named = Threads { receiver: run.receiver, applier: run.applier };
        let named = if named.receiver || named.applier { named } else { Threads::BOTH };
        channels.iter().try_for_each(|channel| match starts {
            true => self.start_channel(channel, named, until.clone(), credentials.clone()),
            false => self.stop_channel(channel, named),
        })
    }

    fn start_channel(&self, channel: &Arc<Channel>, named: Threads, until: Until, login: Option<Credentials>) -> Result<()> {
        let server = self.server.clone();
        let mut started = Ok(());
        let mut runs_already = false;
        server.blocking(&mut || {
            let _operation = channel.operation.lock();
            started = server.replication.still_there(channel);
            if started.is_err() {
                return;
            }
            let running = channel.running();
            let threads = Threads { receiver: named.receiver && !running.receiver, applier: named.applier && !running.applier };
            runs_already = !threads.receiver && !threads.applier;
            if runs_already {
                return;
            }
            let Some(runner) = server.replication.threads() else {
                started = Err(Error::new(&ER_REPLICA_THREAD, &[]));
                return;
            };
            if threads.receiver {
                *channel.credentials.lock() = login.clone();
            }
            if threads.applier {
                channel.status.applier.lock().until = until.clone();
            }
            started = runner.start(channel, threads, until.clone());
        });
        if runs_already {
            self.env.push_warning(Level::Note, Error::new(&ER_REPLICA_CHANNEL_WAS_RUNNING, &[&channel.name]));
        }
        started
    }

    fn stop_channel(&self, channel: &Arc<Channel>, named: Threads) -> Result<()> {
        let server = self.server.clone();
        let mut stopped = Ok(());
        let mut stands = false;
        server.blocking(&mut || {
            let _operation = channel.operation.lock();
            let running = channel.running();
            let threads = Threads { receiver: named.receiver && running.receiver, applier: named.applier && running.applier };
            stands = !threads.receiver && !threads.applier;
            if let Some(runner) = server.replication.threads().filter(|_| !stands) {
                stopped = runner.stop(channel, threads);
            }
        });
        if stands {
            self.env.push_warning(Level::Note, Error::new(&ER_REPLICA_CHANNEL_WAS_NOT_RUNNING, &[&channel.name]));
        }
        stopped
    }

    /// One after the other.
    fn reset_list(&mut self, options: &[ResetOption]) -> Result<()> {
        options.iter().try_for_each(|option| match option {
            ResetOption::Replica(reset) => self.reset_replica(reset),
            ResetOption::BinaryLogsAndGtids { first } => self.reset_logs(*first),
            ResetOption::Persist { if_exists, name } => self.reset_persisted(*if_exists, name.as_deref()),
        })
    }

    /// The next start has the defaults again. What runs stays as it is.
    fn reset_persisted(&mut self, if_exists: bool, name: Option<&str>) -> Result<()> {
        if !self.server.globals.persisted_keys(name, &self.server.catalog)?.is_empty() {
            self.access.subject(None, None).may_forget_settings()?;
            return self.server.globals.forget_persisted(name, &self.server.catalog);
        }
        if name.is_none() {
            return Ok(());
        }
        let missing = Error::new(&ER_VAR_DOES_NOT_EXIST, &[&name.unwrap_or_default()]);
        if !if_exists {
            return Err(missing);
        }
        self.env.push_warning(Level::Warning, missing);
        Ok(())
    }

    /// What was executed stays so; where to read from is forgotten, and with ALL the whole channel.
    fn reset_replica(&mut self, reset: &ResetReplica) -> Result<()> {
        let channels = self.named_channels(reset.channel.as_deref())?;
        channels.iter().try_for_each(|channel| self.alone(channel, || self.reset_channel(channel, reset.all)))
    }

    /// The caller holds `operation`.
    fn reset_channel(&self, channel: &Channel, all: bool) -> Result<()> {
        let running = channel.running();
        if running.receiver || running.applier {
            return Err(Error::new(&ER_REPLICA_CHANNEL_MUST_STOP, &[&channel.name]));
        }
        if all {
            return self.server.replication.remove(&self.server.catalog, channel);
        }
        let config = ChannelConfig { log_file: String::new(), log_pos: LOG_POS_MIN, ..(*channel.config()).clone() };
        let applied = Applied { file: String::new(), pos: 0, ..channel.applied() };
        self.server.replication.change(&self.server.catalog, channel, config, Some(applied))?;
        let mut receiver = channel.status.receiver.lock();
        (receiver.file, receiver.pos) = (String::new(), LOG_POS_MIN);
        receiver.received = GtidSet::default();
        receiver.last_error = ThreadError::default();
        drop(receiver);
        channel.status.applier.lock().last_error = ThreadError::default();
        Ok(())
    }
}

fn text(value: &SourceValue) -> String {
    match value {
        SourceValue::Text(text) => String::from_utf8_lossy(text).into_owned(),
        _ => String::new(),
    }
}

/// A file and a position, of one of the two logs, or a set.
fn until(options: &[SourceOption]) -> Result<Until> {
    let bad = || Error::new(&ER_BAD_REPLICA_UNTIL_COND, &[]);
    let find = |name: &str| options.iter().find(|option| option.name == name).map(|option| &option.value);
    let set = |value: &SourceValue| {
        let text = text(value);
        GtidSet::parse(text.as_bytes()).map_err(|_| Error::new(&ER_MALFORMED_GTID_SET_SPECIFICATION, &[&text]))
    };
    let position = |file: Option<&SourceValue>, pos: Option<&SourceValue>| match (file, pos) {
        (Some(file), Some(SourceValue::Number(pos))) => Ok((text(file), *pos)),
        _ => Err(bad()),
    };
    if options.is_empty() {
        return Ok(Until::Never);
    }
    if find("SQL_AFTER_MTS_GAPS").is_some() {
        return Ok(Until::AfterGaps);
    }
    if let Some(value) = find("SQL_BEFORE_GTIDS") {
        return Ok(Until::BeforeGtids(set(value)?));
    }
    if let Some(value) = find("SQL_AFTER_GTIDS") {
        return Ok(Until::AfterGtids(set(value)?));
    }
    let source = (find("SOURCE_LOG_FILE"), find("SOURCE_LOG_POS"));
    let relay = (find("RELAY_LOG_FILE"), find("RELAY_LOG_POS"));
    match (source, relay) {
        ((file, pos), (None, None)) => position(file, pos).map(|(file, pos)| Until::Source { file, pos }),
        ((None, None), (file, pos)) => position(file, pos).map(|(file, pos)| Until::Relay { file, pos }),
        _ => Err(bad()),
    }
}

/// USER and PASSWORD, which the receiver alone has a use for. Plugins of a client are no option here.
fn credentials(run: &RunReplica) -> Result<Option<Credentials>> {
    let find = |name: &str| run.login.iter().find(|option| option.name == name).map(|option| text(&option.value));
    if run.login.is_empty() {
        return Ok(None);
    }
    if run.applier && !run.receiver {
        return Err(Error::new(&ER_SQLTHREAD_WITH_SECURE_REPLICA, &[]));
    }
    let user = find("USER").unwrap_or_default();
    Ok(Some(Credentials { user, password: find("PASSWORD").unwrap_or_default() }))
}
