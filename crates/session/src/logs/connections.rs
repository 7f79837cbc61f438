//! What logs have of connections: logins, and changes of the audit log's own settings.

use std::sync::Arc;

use vaquita_exec::context::GeneralLogRow;
use vaquita_storage::now_us;
use vaquita_types::Error;

use super::audit::{What, Who};
use super::entry::Entry;
use super::format::{GeneralEntry, SlowEntry};
use super::tables::cut;
use super::{Log, Logs, Wants};
use crate::clients::Client;

/// A client's name as logs show it.
pub struct Identity {
    pub user: String,
    pub host: String,
    /// Empty for a Unix socket.
    pub ip: String,
    pub account: Option<(String, String)>,
    /// `account[user] @ host [ip]`
    pub user_host: Arc<str>,
}

impl Identity {
    pub fn of(client: &Client) -> Identity {
        let state = client.snapshot();
        Identity::new(client, state.user, state.account)
    }

    /// Of a client that says that it is `user`.
    pub fn new(client: &Client, user: String, account: Option<(String, String)>) -> Identity {
        let ip = client.ip.get().cloned().unwrap_or_default();
        let named = account.as_ref().map_or("", |(name, _)| name.as_str());
        let user_host = format!("{named}[{user}] @ {} [{ip}]", client.host).into();
        Identity { user, host: client.host.clone(), ip, account, user_host }
    }

    pub fn who<'w>(&'w self, connection_id: u64, database: Option<&'w str>) -> Who<'w> {
        let account = self.account.as_ref().map(|(user, host)| (user.as_str(), host.as_str()));
        Who { connection_id, user: &self.user, host: &self.host, ip: &self.ip, account, database }
    }
}

/// A login, or COM_CHANGE_USER.
pub struct LoggedLogin<'l> {
    /// `Connect` or `Change user`.
    pub command: &'static str,
    pub user: &'l str,
    pub account: Option<(&'l str, &'l str)>,
    pub database: &'l str,
    /// `TCP/IP`, `SSL/TLS` or `Socket`.
    pub transport: &'static str,
    /// Why it is refused.
    pub error: Option<&'l Error>,
    /// What it says is wrong.
    pub is_denied: bool,
}

impl Logs {
    pub fn login(&self, client: &Client, login: &LoggedLogin<'_>) {
        let wants = self.wants();
        if wants.is_nothing() {
            return;
        }
        let account = login.account.map(|(user, host)| (user.to_string(), host.to_string()));
        let identity = Identity::new(client, login.user.to_string(), account);
        let mut entry = Vec::new();
        if wants.any(Wants::GENERAL) {
            let text = format!("{}@{} on {} using {}", login.user, client.host, login.database, login.transport);
            self.general(&mut entry, &identity.user_host, client.id, login.command, text.as_bytes());
            if let Some(error) = login.error.filter(|_| login.is_denied) {
                self.general(&mut entry, &identity.user_host, client.id, "Connect", error.message().as_bytes());
            }
        }
        if wants.any(Wants::AUDIT) {
            let database = Some(login.database).filter(|name| !name.is_empty());
            let what = What::Connection { command: login.command, errno: login.error.map_or(0, Error::code) };
            self.audit(&mut entry, &identity.who(client.id, database), &what);
        }
    }

    /// An entry of the general log, made in `buffer`.
    pub fn general(
        &self,
        buffer: &mut Vec<u8>,
        user_host: &Arc<str>,
        connection_id: u64,
        command: &'static str,
        argument: &[u8],
    ) {
        let wants = self.wants();
        let at_us = now_us();
        if wants.any(Wants::GENERAL_FILE) {
            buffer.clear();
            GeneralEntry { at_us, connection_id, command, argument }.put(buffer, wants.any(Wants::SYSTEM_TIME));
            self.append(Log::General, &Entry { first: buffer, ..Entry::default() });
        }
        if wants.any(Wants::GENERAL_TABLE) {
            let user_host = user_host.clone();
            self.tables.general.push(GeneralLogRow { at_us, user_host, connection_id, command, argument: cut(argument) });
        }
    }

    /// An entry of the slow log's file, made in `buffer`.
    pub fn slow(&self, buffer: &mut Vec<u8>, entry: &SlowEntry<'_>) {
        let wants = self.wants();
        if !wants.any(Wants::SLOW_FILE) {
            return;
        }
        buffer.clear();
        entry.put_first(buffer, wants.any(Wants::SYSTEM_TIME));
        let place = buffer.len();
        entry.put_rest(buffer);
        let (first, rest) = buffer.split_at(place);
        self.append(Log::Slow, &Entry { first, database: entry.database, rest });
    }

    /// An event of the audit log, made in `buffer`.
    pub fn audit(&self, buffer: &mut Vec<u8>, who: &Who<'_>, what: &What<'_>) {
        buffer.clear();
        if self.audit.put(buffer, who, what, now_us()) {
            self.append(Log::Audit, &Entry { first: buffer, ..Entry::default() });
        }
    }

    /// A setting of the audit log changes, which is told if the log is on, before or behind the change.
    pub fn audit_setting(&self, client: &Client, name: &str, value: &str) {
        if self.wants().any(Wants::AUDIT) {
            let identity = Identity::of(client);
            self.audit(&mut Vec::new(), &identity.who(client.id, None), &What::Setting { name, value });
        }
    }
}
