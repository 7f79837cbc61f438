//! What each kind of statement may do in which state of its session, as recorded from MySQL, and that the rows of
//! `vaquita_parser::statement_kind` say the same.
//!
//! `tests/golden/statements.txt` has statements after `> `, and below each what MySQL answers in the states of `STATES`: `ok` or the number of
//! the error, then the counters that it adds to and whether it commits the transaction that is open. A line that begins with `! ` is what
//! Vaquita answers by decision instead; of a statement that it does not carry out, which is error 1235 where nothing forbids it, nothing more is compared.
//! To record again: `VAQUITA_RECORD=127.0.0.1:13306:user:password cargo test -p vaquita-server --test it statement_kinds`.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};

use vaquita_parser::statement_kind::{InXa, Prepares, UnderLockTables};
use vaquita_parser::{ParserOptions, StatementKind, parse_one};

use crate::client::{Answer, Client};
use crate::server::{PASSWORD, Server};
use vaquita_scripts::{Record, Target};

/// A state of a session, and the statements that bring it about. `XID` is one that no session has had: a server may still be busy with
/// ending the last.
const STATES: &[(&str, &[&str])] = &[
    ("in a transaction", &["BEGIN", "INSERT INTO witness.w VALUES (1)"]),
    ("LOCK TABLES t READ", &["LOCK TABLES t READ"]),
    ("LOCK TABLES t WRITE", &["LOCK TABLES t WRITE"]),
    ("FLUSH TABLES WITH READ LOCK", &["FLUSH TABLES WITH READ LOCK"]),
    ("XA ACTIVE", &["XA START XID"]),
    ("XA IDLE", &["XA START XID", "XA END XID"]),
    ("READ ONLY transaction", &["START TRANSACTION READ ONLY"]),
    ("transaction_read_only", &["SET SESSION TRANSACTION READ ONLY"]),
    ("super_read_only", &["SET GLOBAL super_read_only = ON"]),
];

/// In the state of a session that has done nothing.
const ALONE: &str = "alone";
const IN_TRANSACTION: &str = "in a transaction";
const COUNTERS: &str = "counters";
const COMMITS: &str = "commits";
const PREPARE_SQL: &str = "PREPARE";
const PREPARE_COMMAND: &str = "COM_STMT_PREPARE";

/// MySQL 9.7.4 ends with a signal when it is asked in a session whose transactions are read-only.
fn ends_mysql(state: &str, sql: &str) -> bool {
    state == "transaction_read_only" && sql.contains("DEFAULT ROLE")
}

const UNSUPPORTED: &str = "1235";

fn path() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/statements.txt")
}

#[test]
fn statement_kinds() {
    let text = std::fs::read_to_string(path()).expect("read");
    if let Some(target) = Record::from_env().mysql() {
        let recorded = Bench::new(target).record(&text);
        std::fs::write(path(), recorded).expect("write");
        return;
    }
    let server = Server::start_with("statement_kinds", &["--local-infile"]);
    let target = Target { port: server.port, user: "root".into(), password: PASSWORD.into() };
    let wrong = Bench::new(target).compare(&text);
    assert!(wrong.is_empty(), "{} differ:\n{}", wrong.len(), wrong.join("\n"));
}

/// Each row against what was recorded of its kind's statements.
#[test]
fn statement_kinds_have_rows_of_mysql() {
    let text = std::fs::read_to_string(path()).expect("read");
    let mut wrong = Vec::new();
    let mut seen = Vec::new();
    for (sql, outcomes) in blocks(&text) {
        let (statement, _) = parse_one(sql.as_bytes(), &ParserOptions::default()).unwrap_or_else(|e| panic!("{sql}: {e:?}"));
        let (kind, facts) = (StatementKind::of(&statement), StatementKind::of(&statement).facts());
        seen.push(kind);
        let answer = |state: &str| outcomes.get(state).map_or("", String::as_str);
        let mut expect = |what: &str, row: String, recorded: String| {
            if row != recorded {
                wrong.push(format!("{sql}: the row of {kind:?} says {what} {row}, MySQL {recorded}"));
            }
        };
        let counted = StatementKind::counted(&statement).facts().counter;
        // PREPARE and its kin count also as the protocol's commands.
        let other = answer(COUNTERS).split(' ').find(|name| *name == counted).unwrap_or(answer(COUNTERS));
        expect(COUNTERS, counted.to_string(), other.to_string());
        if !ends_by_itself(kind) {
            expect(COMMITS, facts.commits.to_string(), (answer(COMMITS) == "yes").to_string());
        }
        let prepares = match (answer(PREPARE_SQL) != "1295", answer(PREPARE_COMMAND) != "1295") {
            (true, true) => Prepares::Both,
            (true, false) => Prepares::SqlOnly,
            (false, true) => Prepares::ProtocolOnly,
            (false, false) => Prepares::Neither,
        };
        expect("prepares", format!("{:?}", facts.prepares), format!("{prepares:?}"));
        let refused = |state: &str, code: &str| answer(state) == code;
        let in_xa = match (refused("XA ACTIVE", "1399"), refused("XA IDLE", "1399")) {
            _ if refused("XA ACTIVE", "4091") => InXa::RefusedAsTemporary,
            (true, _) => InXa::Refused,
            (false, true) => InXa::WhileActive,
            (false, false) => InXa::Allowed,
        };
        let locked = facts.under_lock_tables == UnderLockTables::Refused;
        expect("refused under LOCK TABLES", locked.to_string(), refused("LOCK TABLES t WRITE", "1192").to_string());
        if tables_decide(kind) {
            continue;
        }
        if !is_xa(kind) {
            expect("in_xa", format!("{:?}", facts.in_xa), format!("{in_xa:?}"));
        }
        let read_only = refused("transaction_read_only", "1792") || ends_mysql("transaction_read_only", sql);
        expect("refused_in_read_only", facts.refused_in_read_only.to_string(), read_only.to_string());
        let by_read_only = refused("super_read_only", "1290");
        expect("refused_by_read_only", facts.refused_by_read_only.to_string(), by_read_only.to_string());
    }
    for kind in StatementKind::ALL.iter().filter(|kind| !seen.contains(kind) && !UNRECORDED.contains(kind)) {
        wrong.push(format!("nothing is recorded of {kind:?}"));
    }
    assert!(wrong.is_empty(), "{} differ:\n{}", wrong.len(), wrong.join("\n"));
}

/// SHUTDOWN and RESTART end the server, SHOW PARSE_TREE is a syntax error in MySQL's releases.
const UNRECORDED: &[StatementKind] =
    &[StatementKind::Shutdown, StatementKind::Restart, StatementKind::ShowParseTree, StatementKind::Unsupported];

/// The open transaction ends because that is what the statement says.
fn ends_by_itself(kind: StatementKind) -> bool {
    matches!(kind, StatementKind::StartTransaction | StatementKind::Commit)
}

/// The tables that it uses, and how, decide where it may run.
fn tables_decide(kind: StatementKind) -> bool {
    use StatementKind::*;
    kind.is_planned() || matches!(kind, Load | Explain | LockTables | FlushTablesWithLock)
}

/// What is open decides which of these may follow.
fn is_xa(kind: StatementKind) -> bool {
    use StatementKind::*;
    matches!(kind, XaStart | XaEnd | XaPrepare | XaCommit | XaRollback)
}

/// Statements with the outcomes by state.
fn blocks(text: &str) -> Vec<(&str, BTreeMap<&str, String>)> {
    let mut found: Vec<(&str, BTreeMap<&str, String>)> = Vec::new();
    for line in text.lines() {
        if let Some(sql) = line.strip_prefix("> ") {
            found.push((sql, BTreeMap::new()));
        } else if let (Some((state, outcome)), Some((_, outcomes)), false) =
            (line.split_once(": "), found.last_mut(), line.starts_with("! "))
        {
            outcomes.insert(state, outcome.to_string());
        }
    }
    found
}

/// A server on which statements are tried.
struct Bench {
    target: Target,
    /// Prepares and looks; it never runs what is tried.
    root: Client,
    clean: bool,
    sessions: usize,
}

impl Bench {
    fn new(target: Target) -> Bench {
        let root = Client::connect(target.port, &target.user, &target.password).expect("connect");
        Bench { target, root, clean: false, sessions: 0 }
    }

    fn record(&mut self, text: &str) -> String {
        let mut out = String::new();
        for line in text.lines() {
            if line.starts_with(['#', '!']) || line.is_empty() {
                let _ = writeln!(out, "{line}");
            } else if let Some(sql) = line.strip_prefix("> ") {
                let _ = writeln!(out, "{line}");
                for (state, outcome) in self.outcomes(sql) {
                    let _ = writeln!(out, "{state}: {outcome}");
                }
            }
        }
        self.reset();
        out
    }

    fn compare(&mut self, text: &str) -> Vec<String> {
        let decided: Vec<&str> = text.lines().filter(|line| line.starts_with("! ")).collect();
        let mut wrong = Vec::new();
        for (sql, expected) in blocks(text) {
            let outcomes = self.outcomes(sql);
            if outcomes.iter().any(|(state, outcome)| *state == ALONE && outcome == UNSUPPORTED) {
                continue;
            }
            for (state, outcome) in outcomes {
                let by_decision = decided.contains(&format!("! {sql}: {state}: {outcome}").as_str());
                if expected.get(state) != Some(&outcome) && !by_decision {
                    let mysql = expected.get(state).map_or("nothing recorded", String::as_str);
                    wrong.push(format!("{sql}\n    {state}: {outcome}, MySQL: {mysql}"));
                }
            }
        }
        wrong
    }

    fn outcomes(&mut self, sql: &str) -> Vec<(&'static str, String)> {
        let mut out = Vec::new();
        let mut session = self.session(&[]);
        let before = counters(&mut session);
        out.push((ALONE, self.tried(&mut session, sql)));
        out.push((COUNTERS, counted(&before, &counters(&mut session))));
        drop(session);
        for (state, preparation) in STATES.iter().filter(|(state, _)| !ends_mysql(state, sql)) {
            let mut session = self.session(preparation);
            out.push((state, self.tried(&mut session, sql)));
            if *state == IN_TRANSACTION {
                // Another session sees the row once it is committed.
                let committed = self.root.query("SELECT COUNT(*) FROM witness.w").rows()[0][0] != "0";
                out.push((COMMITS, if committed { "yes" } else { "no" }.to_string()));
            }
            drop(session);
            self.root.query("SET GLOBAL super_read_only = OFF");
            self.root.query("SET GLOBAL read_only = OFF");
            self.root.query("DELETE FROM witness.w");
        }
        let mut session = self.session(&[]);
        let quoted = sql.replace('\\', "\\\\").replace('\'', "\\'");
        let prepared = session.query(&format!("PREPARE p FROM '{quoted}'"));
        out.push((PREPARE_SQL, outcome(&prepared)));
        let mut command = vec![0x16];
        command.extend_from_slice(sql.as_bytes());
        session.command(&command).expect("send");
        let answer = session.receive().expect("an answer");
        out.push((
            PREPARE_COMMAND,
            match answer.first() {
                Some(0xff) => u16::from_le_bytes([answer[1], answer[2]]).to_string(),
                _ => "ok".to_string(),
            },
        ));
        out
    }

    fn tried(&mut self, session: &mut Client, sql: &str) -> String {
        let answer = session.query(sql);
        self.clean &= matches!(answer, Answer::Err { .. });
        outcome(&answer)
    }

    /// A session in a state, with the tables as they are before each statement.
    fn session(&mut self, preparation: &[&str]) -> Client {
        if !self.clean {
            self.reset();
        }
        let mut session = Client::connect(self.target.port, &self.target.user, &self.target.password).expect("connect");
        session.local_file = b"9\t9\n".to_vec();
        must(&mut session, "USE kinds");
        must(&mut session, "PREPARE known FROM 'SELECT 1'");
        self.sessions += 1;
        for sql in preparation {
            must(&mut session, &sql.replace("XID", &format!("'a{}'", self.sessions)));
        }
        session
    }

    fn reset(&mut self) {
        for sql in [
            "DROP DATABASE IF EXISTS kinds",
            "DROP DATABASE IF EXISTS kinds_new",
            "DROP DATABASE IF EXISTS witness",
            "DROP USER IF EXISTS kind_u, kind_new, kind_r, kind_r_new",
            "CREATE DATABASE witness",
            "CREATE TABLE witness.w (a INT)",
            "CREATE DATABASE kinds",
            "CREATE TABLE kinds.t (id INT PRIMARY KEY, a INT, KEY k (a))",
            "CREATE TABLE kinds.u (id INT PRIMARY KEY, a INT)",
            "INSERT INTO kinds.t VALUES (1, 1), (2, 2)",
            "INSERT INTO kinds.u VALUES (1, 1), (2, 2)",
            "CREATE USER kind_u IDENTIFIED BY 'x'",
            "CREATE ROLE kind_r",
            "GRANT kind_r TO kind_u",
            "GRANT SELECT ON kinds.* TO kind_u",
        ] {
            must(&mut self.root, sql);
        }
        self.clean = true;
    }
}

fn must(client: &mut Client, sql: &str) {
    let answer = client.query(sql);
    assert!(!matches!(answer, Answer::Err { .. }), "{sql}: {answer:?}");
}

fn outcome(answer: &Answer) -> String {
    match answer {
        Answer::Err { code, .. } => code.to_string(),
        _ => "ok".to_string(),
    }
}

fn counters(session: &mut Client) -> BTreeMap<String, u64> {
    let rows = session.query("SHOW SESSION STATUS LIKE 'Com\\_%'").rows();
    rows.into_iter().map(|row| (row[0].clone(), row[1].parse().expect("a number"))).collect()
}

/// The counters that a statement between two looks added to; looking is counted by `Com_show_status`.
fn counted(before: &BTreeMap<String, u64>, after: &BTreeMap<String, u64>) -> String {
    let looked = |name: &str| u64::from(name == "Com_show_status");
    let added = |(name, count): &(&String, &u64)| **count - looked(name) != before.get(*name).copied().unwrap_or(0);
    after.iter().filter(added).map(|(name, _)| name.as_str()).collect::<Vec<_>>().join(" ")
}
