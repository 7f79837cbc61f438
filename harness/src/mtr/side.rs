//! One of the two servers, as a script sees it: its connections by name, and the script's variables, whose values come from answers.

use std::collections::HashMap;
use std::path::PathBuf;
use std::time::Duration;

use super::reply::{self, Reply, chars_of};
use crate::client::Client;

pub const DEFAULT: &str = "default";
const DATABASE: &str = "test";
const COM_RESET_CONNECTION: u8 = 0x1f;

pub struct Side {
    pub host: String,
    pub port: u16,
    user: String,
    password: String,
    pub variables: HashMap<String, String>,
    /// `@@datadir`, once a script has begun.
    pub data_dir: PathBuf,
    connections: HashMap<String, Client>,
    current: String,
    timeout: Duration,
}

/// What became of a statement.
pub enum Outcome {
    Reply(Reply),
    /// No answer came: the connection is lost, or was never there.
    Lost(String),
}

impl Side {
    /// `address` is host:port:user:password.
    pub fn new(address: &str, timeout: Duration) -> Result<Side, String> {
        let parts: Vec<&str> = address.splitn(4, ':').collect();
        let [host, port, user, password] = parts[..] else { return Err(format!("{address}: not host:port:user:password")) };
        let port = port.parse().map_err(|_| format!("{address}: not a port"))?;
        Ok(Side {
            host: host.into(),
            port,
            user: user.into(),
            password: password.into(),
            variables: HashMap::new(),
            data_dir: PathBuf::new(),
            connections: HashMap::new(),
            current: DEFAULT.into(),
            timeout,
        })
    }

    /// A connection beside those of the script.
    pub fn administrator(&self) -> Result<Client, String> {
        let failed = |e| format!("{}:{}: {e}", self.host, self.port);
        let client = Client::connect_to(&self.host, self.port, &self.user, &self.password).map_err(failed)?;
        client.set_timeout(self.timeout).map_err(failed)?;
        Ok(client)
    }

    /// A script may have changed its password.
    pub fn restore_administrator(&self, admin: &mut Client) -> Result<(), String> {
        let sql = format!("ALTER USER USER() IDENTIFIED BY '{}'", self.password.replace('\'', "''"));
        reply::query(admin, &sql).map(drop).map_err(|e| e.to_string())
    }

    /// Begins a script: no variables but `variables`, one connection.
    pub fn begin(&mut self, variables: HashMap<String, String>) -> Result<(), String> {
        self.connections.clear();
        self.variables = variables;
        self.variables.insert("MASTER_MYPORT".into(), self.port.to_string());
        let mut client = self.administrator()?;
        reply::query(&mut client, "USE test").map_err(|e| e.to_string())?;
        self.connections.insert(DEFAULT.into(), client);
        self.go_to(DEFAULT);
        self.data_dir = self.value("SELECT @@datadir").into();
        for switch in ["WARNINGS", "RESULT_LOG", "QUERY_LOG", "ABORT_ON_ERROR"] {
            self.variables.insert(format!("ENABLE_{switch}"), "1".into());
        }
        Ok(())
    }

    /// The connection that what follows is sent over.
    pub fn go_to(&mut self, connection: &str) {
        self.current = connection.into();
        self.variables.insert("CURRENT_CONNECTION".into(), connection.into());
    }

    /// As after a restart of the server: no connection but a new one of the current name.
    pub fn start_over(&mut self) -> Result<(), String> {
        self.connections.clear();
        self.reconnect()
    }

    pub fn reconnect(&mut self) -> Result<(), String> {
        self.connect_as_current("", "", "")
    }

    pub fn connect_as_current(&mut self, user: &str, password: &str, database: &str) -> Result<(), String> {
        let name = self.current.clone();
        self.connect(&name, user, password, database)
    }

    /// COM_RESET_CONNECTION.
    pub fn reset(&mut self) -> Outcome {
        let sent = self.connections.get_mut(&self.current).ok_or("no such connection".to_string());
        match sent.and_then(|client| client.command(&[COM_RESET_CONNECTION]).map_err(|e| e.to_string())) {
            Ok(()) => self.receive(),
            Err(text) => Outcome::Lost(text),
        }
    }

    /// `$mysql_errno` as mysqltest sets it behind each statement.
    pub fn ended_with(&mut self, code: u16) {
        self.variables.insert("mysql_errno".into(), code.to_string());
    }

    pub fn is_connected(&mut self) -> bool {
        matches!(self.query("SELECT 1"), Outcome::Reply(reply) if reply.error().is_none())
    }

    /// Leaves the script's connections.
    pub fn end(&mut self) {
        self.connections.clear();
    }

    /// `connect (name, host, user, password, db, …)`. mysqltest's user root without a password is the administrator.
    pub fn connect(&mut self, name: &str, user: &str, password: &str, database: &str) -> Result<(), String> {
        let (user, password) = match (user, password) {
            ("" | "root", "") => (self.user.as_str(), self.password.as_str()),
            other => other,
        };
        let connected = Client::connect_to(&self.host, self.port, user, password).and_then(|mut client| {
            client.set_timeout(self.timeout)?;
            let database = if database.is_empty() { DATABASE } else { database };
            if database != "*NO-ONE*" {
                let used = reply::query(&mut client, &format!("USE `{}`", database.replace('`', "``")))?;
                if let Some((code, text)) = used.error() {
                    return Err(std::io::Error::other(format!("{code} {text}")));
                }
            }
            Ok(client)
        });
        let client = connected.map_err(|e| e.to_string())?;
        self.connections.insert(name.into(), client);
        self.go_to(name);
        Ok(())
    }

    pub fn disconnect(&mut self, name: &str) {
        self.connections.remove(name);
    }

    pub fn send(&mut self, sql: &str) -> Result<(), String> {
        let client = self.connections.get_mut(&self.current).ok_or("no such connection")?;
        reply::send(client, sql).map_err(|e| e.to_string())
    }

    pub fn receive(&mut self) -> Outcome {
        let Some(client) = self.connections.get_mut(&self.current) else { return Outcome::Lost("no such connection".into()) };
        match reply::receive(client) {
            Ok(reply) => Outcome::Reply(reply),
            Err(error) => {
                self.connections.remove(&self.current);
                Outcome::Lost(error.to_string())
            }
        }
    }

    pub fn query(&mut self, sql: &str) -> Outcome {
        match self.send(sql) {
            Ok(()) => self.receive(),
            Err(text) => Outcome::Lost(text),
        }
    }

    /// The first row's values with tabs between them, as a variable takes them.
    pub fn value(&mut self, sql: &str) -> String {
        let Outcome::Reply(reply) = self.query(sql) else { return String::new() };
        let text = |value: &Option<Vec<u8>>| value.as_deref().map_or_else(|| "NULL".to_string(), chars_of);
        reply.first_row().map(|row| row.iter().map(text).collect::<Vec<_>>().join("\t")).unwrap_or_default()
    }

    /// `query_get_value(query, column, row)`.
    pub fn value_at(&mut self, sql: &str, column: &str, row: usize) -> String {
        let Outcome::Reply(reply) = self.query(sql) else { return String::new() };
        for one in &reply.results {
            if let reply::One::Rows { columns, rows } = one {
                let at = columns.iter().position(|name| name.eq_ignore_ascii_case(column));
                let value = rows.get(row.wrapping_sub(1)).zip(at).and_then(|(row, at)| row.get(at));
                return value.map_or_else(|| "No such row".into(), |v| v.as_deref().map_or_else(|| "NULL".into(), chars_of));
            }
        }
        String::new()
    }

    /// `$name` replaced by the variable's value, `\$` by a dollar sign.
    pub fn expand(&self, text: &str) -> String {
        let mut out = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(at) = rest.find(['$', '\\']) {
            out.push_str(&rest[..at]);
            let behind = &rest[at + 1..];
            if rest[at..].starts_with('\\') {
                let escaped = behind.starts_with(['$', '`']);
                out.push_str(if escaped { &behind[..1] } else { "\\" });
                rest = if escaped { &behind[1..] } else { behind };
                continue;
            }
            let end = behind.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).unwrap_or(behind.len());
            match self.variables.get(&behind[..end]) {
                Some(value) => out.push_str(value),
                None if end == 0 => out.push('$'),
                None => {}
            }
            rest = &behind[end..];
        }
        out + rest
    }

    /// What stands behind `let $x =`, or in a condition: a query in backticks, `query_get_value`, or text with variables.
    pub fn evaluate(&mut self, text: &str) -> String {
        let text = text.trim();
        if let Some(query) = text.strip_prefix('`').and_then(|text| text.strip_suffix('`')) {
            let query = self.expand(query);
            return self.value(&query);
        }
        if let Some(arguments) = text.strip_prefix("query_get_value(").and_then(|text| text.trim_end().strip_suffix(')')) {
            let arguments = self.expand(arguments);
            let mut parts = arguments.rsplitn(3, ',');
            let row = parts.next().and_then(|row| row.trim().parse().ok()).unwrap_or(1);
            let (column, query) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
            return self.value_at(unquoted(query), unquoted(column), row);
        }
        self.expand(text)
    }
}

pub fn unquoted(text: &str) -> &str {
    let text = text.trim();
    ['\'', '"'].iter().find_map(|quote| text.strip_prefix(*quote)?.strip_suffix(*quote)).unwrap_or(text)
}
