//! What the executor's system tables and SHOW read from the server: `system::ServerInfo` for a session.

use vaquita_exec::system::{AccountInfo, ProcessInfo, STATIC_PRIVILEGES, ServerInfo, VariableScope, WarningInfo};
use vaquita_parser::ast::UserName;
use vaquita_types::errno::ER_NONEXISTING_GRANT;
use vaquita_types::{Error, Result};

use crate::accounts::AccountRecord;
use crate::clients::Client;
use crate::server::{Server, VERSION};
use crate::session::state::SessionState;

/// The server as one session sees it.
pub struct Info<'a> {
    pub server: &'a Server,
    pub state: &'a SessionState,
    pub client: &'a Client,
    pub account: &'a AccountRecord,
}

impl ServerInfo for Info<'_> {
    fn variables(&self, scope: VariableScope) -> Vec<(String, String)> {
        self.state.variables(scope == VariableScope::Global)
    }

    fn status(&self, scope: VariableScope) -> Vec<(String, String)> {
        crate::status::values(self, scope)
    }

    fn processes(&self) -> Vec<ProcessInfo> {
        self.server.clients().list().iter().map(|client| process(client)).collect()
    }

    fn connection_id(&self) -> u64 {
        self.client.id
    }

    fn database(&self) -> Option<String> {
        self.state.database()
    }

    fn current_account(&self) -> String {
        format!("{}@{}", self.account.user, self.account.host)
    }

    fn accounts(&self) -> Vec<AccountInfo> {
        self.server.accounts().list().iter().map(|account| account_info(account)).collect()
    }

    fn grants(&self, account: Option<&UserName>, _using: &[UserName]) -> Result<(String, Vec<String>)> {
        let (user, host) = match account {
            Some(UserName::Named { user, host }) => (user.as_str(), host.as_str()),
            None | Some(UserName::CurrentUser) => (self.account.user.as_str(), self.account.host.as_str()),
        };
        let accounts = self.server.accounts().list();
        let Some(record) = accounts.iter().find(|a| a.user == user && a.host == host) else {
            return Err(Error::new(&ER_NONEXISTING_GRANT, &[&user, &host]));
        };
        Ok((format!("{user}@{host}"), grant_lines(record)))
    }

    fn warnings(&self) -> Vec<WarningInfo> {
        self.state.warnings()
    }

    fn version(&self) -> &str {
        VERSION
    }
}

/// Every account has every privilege: GRANT and REVOKE are not there yet.
fn account_info(account: &AccountRecord) -> AccountInfo {
    AccountInfo {
        user: account.user.clone(),
        host: account.host.clone(),
        plugin: account.plugin.name().to_string(),
        authentication_string: account.authentication_string.clone(),
        locked: account.locked,
        requires_tls: account.requires_tls,
        privileges: STATIC_PRIVILEGES.iter().map(|name| name.to_string()).collect(),
        grant_option: true,
    }
}

fn grant_lines(account: &AccountRecord) -> Vec<String> {
    let quoted = |name: &str| format!("`{}`", name.replace('`', "``"));
    let to = format!("{}@{}", quoted(&account.user), quoted(&account.host));
    vec![format!("GRANT {} ON *.* TO {to} WITH GRANT OPTION", STATIC_PRIVILEGES.join(", "))]
}

fn process(client: &Client) -> ProcessInfo {
    let state = client.snapshot();
    let sleeps = state.command == "Sleep";
    ProcessInfo {
        id: client.id,
        user: state.user,
        host: match client.port {
            Some(port) => format!("{}:{port}", client.host),
            None => client.host.clone(),
        },
        database: state.database,
        command: state.command,
        time_s: state.since.map_or(0, |since| since.elapsed().as_secs()),
        state: Some(match (state.state, sleeps) {
            ("", false) => "executing".to_string(),
            (text, _) => text.to_string(),
        }),
        info: state.info.map(|text| text.trim().to_string()),
        attributes: client.attributes.get().cloned().unwrap_or_default(),
        connection_type: if client.port.is_some() { "TCP/IP" } else { "Socket" },
    }
}
