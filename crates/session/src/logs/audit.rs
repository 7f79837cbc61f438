//! The audit log: who connects, and what they do. An event is a line, a JSON object:
//!
//! ```text
//! {"time":"2026-11-27T08:39:22.769393Z","event":"QUERY","class":"QUERY_DDL","connection":12,"user":"app","host":"localhost","ip":"127.0.0.1",
//!  "account":"app@%","database":"shop","statement":7,"command":"Query","errno":0,"text":"drop table t"}
//! ```
//!
//! `vaquita_audit_log_events` names the classes of events that are written, by the names that MariaDB's `server_audit` has for them. What changes the
//! audit log's own settings is written whatever they say (AUDIT).

use std::io::Write as _;

use parking_lot::RwLock;
use vaquita_parser::StatementKind;
use vaquita_parser::statement_kind::Class;

use super::format::put_time;
use crate::variables::{Globals, Var};

/// A class of events: bits of `vaquita_audit_log_events`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventClass {
    Connect,
    /// A statement of any kind.
    Query,
    /// What changes definitions.
    QueryDdl,
    /// What reads and changes rows.
    QueryDml,
    /// What is about accounts and their rights.
    QueryDcl,
    /// A table that a statement uses.
    Table,
}

impl EventClass {
    const NAMES: [(&'static str, EventClass); 6] = [
        ("CONNECT", EventClass::Connect),
        ("QUERY", EventClass::Query),
        ("QUERY_DDL", EventClass::QueryDdl),
        ("QUERY_DML", EventClass::QueryDml),
        ("QUERY_DCL", EventClass::QueryDcl),
        ("TABLE", EventClass::Table),
    ];

    fn name(self) -> &'static str {
        EventClass::NAMES[self as usize].0
    }

    /// The class of a statement; of one that is not known, or is none of the others, QUERY.
    pub fn of(kind: Option<StatementKind>) -> EventClass {
        let Some(facts) = kind.map(StatementKind::facts) else { return EventClass::Query };
        match facts.class {
            Class::Planned => EventClass::QueryDml,
            Class::Ddl if facts.commits || facts.is_temporary_ddl() => EventClass::QueryDdl,
            Class::Account => EventClass::QueryDcl,
            _ if facts.changes_shared_schema => EventClass::QueryDdl,
            _ => EventClass::Query,
        }
    }
}

/// Which events are written.
#[derive(Default)]
struct Filter {
    /// Bits by `EventClass`.
    classes: u32,
    /// Names of users; if there are any, nobody else's events are written.
    include: Vec<String>,
    exclude: Vec<String>,
    refuses: bool,
}

#[derive(Default)]
pub struct Audit(RwLock<Filter>);

/// Who does something.
#[derive(Clone, Copy, Debug, Default)]
pub struct Who<'w> {
    pub connection_id: u64,
    pub user: &'w str,
    pub host: &'w str,
    pub ip: &'w str,
    /// User and host of the account, if the user has been found to have one.
    pub account: Option<(&'w str, &'w str)>,
    pub database: Option<&'w str>,
}

/// What is done.
pub enum What<'w> {
    /// `Connect`, `Disconnect`, `Change user`, and how it ended: 0, or the number of an error.
    Connection {
        command: &'w str,
        errno: u16,
    },
    Statement {
        number: u64,
        kind: Option<StatementKind>,
        command: &'w str,
        errno: u16,
        text: &'w [u8],
        took_us: u64,
    },
    /// `READ` or `WRITE`, or what DDL does.
    Table {
        number: u64,
        operation: &'w str,
        database: &'w str,
        table: &'w str,
    },
    /// A setting of the audit log is changed.
    Setting {
        name: &'w str,
        value: &'w str,
    },
}

impl What<'_> {
    fn class(&self) -> Option<EventClass> {
        match self {
            What::Connection { .. } => Some(EventClass::Connect),
            What::Statement { kind, .. } => Some(EventClass::of(*kind)),
            What::Table { .. } => Some(EventClass::Table),
            What::Setting { .. } => None,
        }
    }
}

impl Audit {
    /// Follows the global variables.
    pub fn configure(&self, globals: &Globals) {
        let users = |var: Var| {
            let list = globals.text(var);
            list.split(',').map(str::trim).filter(|user| !user.is_empty()).map(str::to_string).collect::<Vec<_>>()
        };
        let events = globals.text(Var::VaquitaAuditLogEvents);
        let is_named = |name: &str| events.split(',').any(|known| known == name);
        let classes = EventClass::NAMES.iter().filter(|(name, _)| is_named(name)).fold(0, |bits, (_, class)| bits | bit(*class));
        *self.0.write() = Filter {
            classes,
            include: users(Var::VaquitaAuditLogIncludeAccounts),
            exclude: users(Var::VaquitaAuditLogExcludeAccounts),
            refuses: globals.text(Var::VaquitaAuditLogOnFailure) == "REFUSE",
        };
    }

    pub fn wants_tables(&self) -> bool {
        self.0.read().classes & bit(EventClass::Table) != 0
    }

    pub fn refuses(&self) -> bool {
        self.0.read().refuses
    }

    /// Appends the line of an event that is to be written; false: it is none.
    pub fn put(&self, out: &mut Vec<u8>, who: &Who<'_>, what: &What<'_>, at_us: u64) -> bool {
        if let Some(class) = what.class()
            && !self.0.read().wants(class, who)
        {
            return false;
        }
        put_event(out, who, what, at_us);
        true
    }
}

impl Filter {
    fn wants(&self, class: EventClass, who: &Who<'_>) -> bool {
        let of_query = match class {
            EventClass::QueryDdl | EventClass::QueryDml | EventClass::QueryDcl => bit(EventClass::Query),
            _ => 0,
        };
        if self.classes & (bit(class) | of_query) == 0 {
            return false;
        }
        let names = |list: &[String]| list.iter().any(|name| is_named(name, who));
        if self.include.is_empty() { !names(&self.exclude) } else { names(&self.include) }
    }
}

/// A name of a list is a user, or a user and a host: `app`, `app@10.0.0.1`. The host is that of the account or that of the client.
fn is_named(name: &str, who: &Who<'_>) -> bool {
    match name.rsplit_once('@') {
        None => name == who.user,
        Some((user, host)) => {
            let of_account = who.account.is_some_and(|(known_user, known_host)| user == known_user && host == known_host);
            of_account || user == who.user && (host == who.host || host == who.ip)
        }
    }
}

fn bit(class: EventClass) -> u32 {
    1 << class as u32
}

fn put_event(out: &mut Vec<u8>, who: &Who<'_>, what: &What<'_>, at_us: u64) {
    out.extend_from_slice(b"{\"time\":\"");
    put_time(out, at_us, false);
    out.push(b'"');
    put_member(
        out,
        "event",
        match what {
            What::Connection { .. } => "CONNECT",
            What::Statement { .. } => "QUERY",
            What::Table { .. } => "TABLE",
            What::Setting { .. } => "AUDIT",
        },
    );
    if let (What::Statement { .. }, Some(class)) = (what, what.class()) {
        put_member(out, "class", class.name());
    }
    put_number(out, "connection", who.connection_id);
    put_member(out, "user", who.user);
    put_member(out, "host", who.host);
    put_member(out, "ip", who.ip);
    if let Some((user, host)) = who.account {
        put_name(out, "account");
        out.push(b'"');
        put_json_text(out, user);
        out.push(b'@');
        put_json_text(out, host);
        out.push(b'"');
    }
    if let Some(database) = who.database {
        put_member(out, "database", database);
    }
    match what {
        What::Connection { command, errno } => {
            put_member(out, "command", command);
            put_number(out, "errno", u64::from(*errno));
        }
        What::Statement { number, command, errno, text, took_us, .. } => {
            put_number(out, "statement", *number);
            put_member(out, "command", command);
            put_number(out, "errno", u64::from(*errno));
            put_number(out, "took_us", *took_us);
            put_member(out, "text", &String::from_utf8_lossy(text));
        }
        What::Table { number, operation, database, table } => {
            put_number(out, "statement", *number);
            put_member(out, "operation", operation);
            put_member(out, "table_database", database);
            put_member(out, "table", table);
        }
        What::Setting { name, value } => {
            put_member(out, "setting", name);
            put_member(out, "value", value);
        }
    }
    out.extend_from_slice(b"}\n");
}

fn put_number(out: &mut Vec<u8>, name: &str, number: u64) {
    put_name(out, name);
    let _ = write!(out, "{number}");
}

fn put_member(out: &mut Vec<u8>, name: &str, text: &str) {
    put_name(out, name);
    put_json_string(out, text);
}

fn put_name(out: &mut Vec<u8>, name: &str) {
    out.extend_from_slice(b",\"");
    out.extend_from_slice(name.as_bytes());
    out.extend_from_slice(b"\":");
}

/// A string of RFC 8259.
pub fn put_json_string(out: &mut Vec<u8>, text: &str) {
    out.push(b'"');
    put_json_text(out, text);
    out.push(b'"');
}

/// The inside of a string.
fn put_json_text(out: &mut Vec<u8>, text: &str) {
    let mut rest = text.as_bytes();
    while let Some(plain) = rest.iter().position(|byte| matches!(byte, b'"' | b'\\' | 0..0x20 | 0x7F)) {
        let (before, behind) = rest.split_at(plain);
        out.extend_from_slice(before);
        let Some((byte, behind)) = behind.split_first() else { break };
        match byte {
            b'"' | b'\\' => out.extend([b'\\', *byte]),
            b'\n' => out.extend_from_slice(b"\\n"),
            b'\r' => out.extend_from_slice(b"\\r"),
            b'\t' => out.extend_from_slice(b"\\t"),
            _ => drop(write!(out, "\\u{byte:04x}")),
        }
        rest = behind;
    }
    out.extend_from_slice(rest);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filter(classes: &[EventClass], include: &[&str], exclude: &[&str]) -> Audit {
        let names = |list: &[&str]| list.iter().map(|name| name.to_string()).collect();
        let classes = classes.iter().fold(0, |bits, class| bits | bit(*class));
        Audit(RwLock::new(Filter { classes, include: names(include), exclude: names(exclude), refuses: false }))
    }

    const WHO: Who<'static> =
        Who { connection_id: 7, user: "app", host: "localhost", ip: "127.0.0.1", account: Some(("app", "%")), database: None };

    fn statement(kind: StatementKind) -> What<'static> {
        What::Statement { number: 1, kind: Some(kind), command: "Query", errno: 0, text: b"x", took_us: 5 }
    }

    #[test]
    fn classes_and_accounts_decide() {
        let is_put = |audit: &Audit, what: &What<'_>| audit.put(&mut Vec::new(), &WHO, what, 0);
        let ddl = filter(&[EventClass::QueryDdl], &[], &[]);
        assert!(is_put(&ddl, &statement(StatementKind::DropTable)));
        assert!(!is_put(&ddl, &statement(StatementKind::Select)));
        assert!(!is_put(&ddl, &What::Connection { command: "Connect", errno: 0 }));
        let all = filter(&[EventClass::Query], &[], &["other", "app@elsewhere"]);
        assert!(is_put(&all, &statement(StatementKind::Select)) && is_put(&all, &statement(StatementKind::CreateUser)));
        for list in ["app", "app@%", "app@localhost", "app@127.0.0.1"] {
            assert!(!is_put(&filter(&[EventClass::Query], &[], &[list]), &statement(StatementKind::Select)), "{list}");
            assert!(is_put(&filter(&[EventClass::Query], &[list], &["app"]), &statement(StatementKind::Select)), "{list}");
        }
        assert!(!is_put(&filter(&[EventClass::Query], &["root"], &[]), &statement(StatementKind::Select)));
        // Whatever is written, changes of the settings are.
        assert!(is_put(&filter(&[], &["root"], &[]), &What::Setting { name: "vaquita_audit_log", value: "OFF" }));
    }

    #[test]
    fn a_line_is_json() {
        let mut out = Vec::new();
        let audit = filter(&[EventClass::Query], &[], &[]);
        let text = b"select \"a\\b\"\n\x01 \xff";
        let what = What::Statement { number: 9, kind: None, command: "Query", errno: 1064, text, took_us: 12 };
        assert!(audit.put(&mut out, &WHO, &what, 1_795_768_762_769_393));
        assert_eq!(
            String::from_utf8(out).unwrap(),
            concat!(
                r#"{"time":"2026-11-27T08:39:22.769393Z","event":"QUERY","class":"QUERY","connection":7,"user":"app","host":"localhost","#,
                r#""ip":"127.0.0.1","account":"app@%","statement":9,"command":"Query","errno":1064,"took_us":12,"#,
                "\"text\":\"select \\\"a\\\\b\\\"\\n\\u0001 \u{fffd}\"}\n"
            )
        );
    }
}
