//! What accounts may do with tables and columns, statement by statement, as recorded from MySQL.
//!
//! `tests/golden/accounts/uses.txt` has lines `who> statement`, each followed by the rows or the error. `root` may do everything, every
//! other name is the account `va_name` with the password `x`, which the file itself makes. After `who! statement` only the number
//! of the error is compared, or `ok`: for texts and rows that belong to one server. Names like `nop2` are a second session of `nop`.
//! `prepared NAME statement` and `execute NAME` are COM_STMT_PREPARE and COM_STMT_EXECUTE (with 1 as every parameter).
//! To record again: `VAQUITA_RECORD=127.0.0.1:13306:sb:sb cargo test -p vaquita-server --test it uses_are_authorized`.

use std::collections::HashMap;
use std::path::Path;

use crate::client::{Answer, Client, Prepared};
use crate::server::{PASSWORD, Server};
use vaquita_scripts::{Record, Target};

struct Sessions {
    target: Target,
    open: HashMap<String, Client>,
    /// By session and name.
    prepared: HashMap<(String, String), Prepared>,
}

impl Sessions {
    fn new(target: Target) -> Sessions {
        Sessions { target, open: HashMap::new(), prepared: HashMap::new() }
    }

    fn of(&mut self, who: &str) -> &mut Client {
        let Target { port, user, password } = &self.target;
        self.open.entry(who.to_string()).or_insert_with(|| {
            let connected = match who.trim_end_matches(|c: char| c.is_ascii_digit()) {
                "root" => Client::connect(*port, user, password),
                account => Client::connect(*port, &format!("va_{account}"), "x"),
            };
            connected.unwrap_or_else(|error| panic!("{who}: {error}"))
        })
    }

    fn ask(&mut self, who: &str, sql: &str) -> Answer {
        if let Some((name, sql)) = sql.strip_prefix("prepared ").and_then(|rest| rest.split_once(' ')) {
            return match self.of(who).prepare(sql).expect("COM_STMT_PREPARE") {
                Ok(prepared) => {
                    self.prepared.insert((who.to_string(), name.to_string()), prepared);
                    Answer::Ok { affected: 0, info: String::new(), warnings: 0 }
                }
                Err(answer) => answer,
            };
        }
        if let Some(name) = sql.strip_prefix("execute ") {
            let key = (who.to_string(), name.to_string());
            let statement = self.prepared.remove(&key).expect("a prepared statement");
            let answer = self.of(who).execute(&statement, 1).expect("COM_STMT_EXECUTE");
            self.prepared.insert(key, statement);
            return answer;
        }
        self.of(who).query(sql)
    }

    /// The file with this server's answers.
    fn replay(&mut self, script: &str) -> String {
        let mut out = String::new();
        for line in script.lines() {
            let Some(at) = line.find(['>', '!']).filter(|at| *at > 0 && line[..*at].chars().all(|c| c.is_ascii_alphanumeric()))
            else {
                if line.starts_with('#') {
                    out += &format!("{line}\n");
                }
                continue;
            };
            let (who, sql) = (&line[..at], line[at + 1..].trim_start());
            out += &format!("{line}\n");
            let answer = self.ask(who, sql);
            out += &if line[at..].starts_with('!') { outcome(&answer) } else { text_of(answer) };
            out.push('\n');
        }
        out
    }
}

fn outcome(answer: &Answer) -> String {
    match answer {
        Answer::Err { code, .. } => format!("{code}\n"),
        _ => "ok\n".to_string(),
    }
}

fn text_of(answer: Answer) -> String {
    match answer {
        Answer::Ok { .. } => String::new(),
        Answer::Err { code, text, .. } => format!("error {code}: {text}\n"),
        rows => rows.rows().into_iter().map(|row| row.join("\t").replace('\n', "\\n") + "\n").collect(),
    }
}

fn check(file: &str, server_name: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/accounts").join(file);
    let expected = std::fs::read_to_string(&path).expect("read");
    if let Record::Mysql(target) = Record::from_env() {
        let recorded = Sessions::new(target).replay(&expected);
        return std::fs::write(&path, recorded).expect("write");
    }
    let server = Server::start_with(server_name, &["--local-infile"]);
    let target = Target { port: server.port, user: "root".into(), password: PASSWORD.into() };
    let actual = Sessions::new(target).replay(&expected);
    let wrong: Vec<String> = expected
        .split("\n\n")
        .zip(actual.split("\n\n"))
        .filter(|(expected, actual)| expected.trim_end() != actual.trim_end())
        .map(|(expected, actual)| format!("{expected}\n--- got\n{}", actual.split_once('\n').map_or("", |(_, got)| got)))
        .collect();
    assert!(
        wrong.is_empty() && expected.trim_end().len() == actual.trim_end().len(),
        "{} differ:\n{}",
        wrong.len(),
        wrong.join("\n\n")
    );
}

/// Findings S1, S2 and S6, and their class.
#[test]
fn uses_are_authorized_as_in_mysql() {
    check("uses.txt", "uses");
}

/// S5: PASSWORD HISTORY and PASSWORD REUSE INTERVAL.
#[test]
fn passwords_are_not_used_again_as_in_mysql() {
    check("password_history.txt", "password-history");
}

/// What was prepared before REVOKE, by text and by packets.
#[test]
fn prepared_statements_lose_what_is_revoked_as_in_mysql() {
    check("prepared.txt", "prepared");
}

/// S6: what a privilege means by its level.
#[test]
fn levels_of_privileges_are_mysqls() {
    check("levels.txt", "levels");
}

/// What is granted on one routine, where it is shown and where it goes.
#[test]
fn privileges_of_one_routine_are_mysqls() {
    check("routine_grants.txt", "routine-grants");
}

/// Which of several patterns of a database counts, without and with active roles.
#[test]
fn patterns_of_databases_are_mysqls() {
    check("patterns.txt", "patterns");
}

/// What an account with SYSTEM_USER defines.
#[test]
fn protected_definers_are_mysqls() {
    check("protected_definers.txt", "protected-definers");
}

/// Definers who could not log in.
#[test]
fn definers_need_no_login_as_in_mysql() {
    check("definers.txt", "definers");
}

/// What nobody may change.
#[test]
fn system_schemas_are_mysqls() {
    check("system_schemas.txt", "system-schemas");
}

/// EXECUTE on what a view calls: its definer or who reads it.
#[test]
fn functions_of_views_are_authorized_as_in_mysql() {
    check("functions_of_views.txt", "functions-of-views");
}

/// Roles that everybody has, and those that a login makes active.
#[test]
fn mandatory_roles_are_mysqls() {
    check("mandatory_roles.txt", "mandatory-roles");
}

/// `init_connect`, and the charset of a client that names none.
#[test]
fn what_a_login_begins_with_is_mysqls() {
    check("logins.txt", "logins");
}

/// RETAIN CURRENT PASSWORD and DISCARD OLD PASSWORD.
#[test]
fn second_passwords_are_mysqls() {
    check("second_password.txt", "second-password");
}

/// EXPLAIN tells what a view is made of only to who may know it, and so does the trace of the optimizer.
#[test]
fn views_are_explained_as_in_mysql() {
    check("explained_views.txt", "explained-views");
}

#[test]
fn traces_tell_no_more_than_explain() {
    let server = Server::start("hidden-traces");
    let mut root = server.connect();
    for sql in [
        "CREATE DATABASE d",
        "CREATE TABLE d.t (a INT PRIMARY KEY, secret INT)",
        "CREATE VIEW d.v AS SELECT a FROM d.t WHERE secret = 4711",
        "CREATE PROCEDURE d.p() SELECT COUNT(*) INTO @n FROM d.t WHERE secret = 4711",
        "CREATE USER u IDENTIFIED BY 'x'",
        "GRANT SELECT ON d.v TO u",
        "GRANT EXECUTE ON PROCEDURE d.p TO u",
    ] {
        assert!(matches!(root.query(sql), Answer::Ok { .. }), "{sql}");
    }
    let mut user = Client::connect(server.port, "u", "x").expect("u connects");
    user.query("SET optimizer_trace = 'enabled=on', optimizer_trace_offset = -10, optimizer_trace_limit = 10");
    user.query("SELECT * FROM d.v");
    user.query("CALL d.p()");
    let rows = user.query("SELECT QUERY, TRACE, INSUFFICIENT_PRIVILEGES FROM information_schema.OPTIMIZER_TRACE").rows();
    assert!(!rows.is_empty() && rows.iter().all(|row| row[2] == "1" && row[1].is_empty()), "{rows:?}");
    root.query("GRANT SELECT ON d.t TO u");
    root.query("GRANT SHOW VIEW ON d.v TO u");
    user.query("SET optimizer_trace_limit = 1, optimizer_trace_offset = -1");
    user.query("SELECT * FROM d.v");
    let rows = user.query("SELECT TRACE LIKE '%4711%', INSUFFICIENT_PRIVILEGES FROM information_schema.OPTIMIZER_TRACE").rows();
    assert_eq!(rows, [["1", "0"]]);
}
