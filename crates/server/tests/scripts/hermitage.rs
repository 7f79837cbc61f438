//! Hermitage: what each isolation level lets three transactions do to each other, statement by statement.
//!
//! `tests/golden/hermitage/*.test` (after Martin Kleppmann's Hermitage, whose names they keep) hold one anomaly each,
//! in sections `== LEVEL`. A section begins with rows (1, 10) and (2, 20) in `test`, and with transactions begun on the
//! connections T1, T2 and T3:
//!
//! ```text
//! T2> UPDATE test SET value = 12 WHERE id = 1
//! blocks                                         no answer comes
//! T1> COMMIT
//! ok 0
//! T2 continues                                   and now it does
//! ok 1 Rows matched: 1  Changed: 1  Warnings: 0
//! ```
//! The answers are what Vaquita's design demands, where MySQL's are weaker: they are not recorded from MySQL.
//! What `VAQUITA_RECORD=own` writes is to be reviewed as a diff.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use vaquita_scripts::Script;

use crate::client::{Answer, Client};
use crate::server::Server;
use crate::sql::printed;

/// A statement that has not answered by then waits for somebody.
const BLOCKED_AFTER: Duration = Duration::from_millis(400);
/// The same while answers are written: a busy machine must not look like a lock.
const BLOCKED_AFTER_WRITING: Duration = Duration::from_secs(2);
/// A statement that should answer has this long.
const ANSWER_MAX: Duration = Duration::from_secs(30);

/// A connection with a thread of its own, so that it may wait.
struct Session {
    statements: Option<Sender<String>>,
    answers: Receiver<Answer>,
    thread: Option<JoinHandle<()>>,
}

impl Session {
    fn start(server: &Server, database: &str, level: &str) -> Session {
        let mut client = server.connect();
        client.query(&format!("USE {database}"));
        client.query(&format!("SET SESSION TRANSACTION ISOLATION LEVEL {level}"));
        client.query("START TRANSACTION");
        let (statements, received) = channel::<String>();
        let (answered, answers) = channel();
        let thread = std::thread::spawn(move || serve(client, received, answered));
        Session { statements: Some(statements), answers, thread: Some(thread) }
    }

    fn send(&self, sql: &str) {
        self.statements.as_ref().expect("open").send(sql.to_string()).expect("the connection lives");
    }

    /// The answer, or `blocks`.
    fn wait(&self, at_most: Duration) -> String {
        self.answers.recv_timeout(at_most).map_or_else(|_| "blocks\n".to_string(), |answer| printed(&answer))
    }
}

fn serve(mut client: Client, received: Receiver<String>, answered: Sender<Answer>) {
    for sql in received {
        let answer = client.query(&sql);
        if answered.send(answer).is_err() {
            return;
        }
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.statements = None;
        // A panic of the thread has been printed, and shows as a statement without an answer.
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

pub fn replay(script: &Script, server: &Server) -> String {
    let answered = |section: &str| match section.lines().next().and_then(|line| line.strip_prefix("== ")) {
        Some(level) => replay_section(server, &script.name, level, section, script.recording),
        None => section.to_string(),
    };
    // The runner compares what follows `> `.
    sections(&script.text).into_iter().map(answered).collect()
}

/// The text before the first level, and that of each level.
fn sections(text: &str) -> Vec<&str> {
    let mut starts: Vec<usize> = text.match_indices("\n== ").map(|(at, _)| at + 1).collect();
    starts.insert(0, 0);
    starts.push(text.len());
    starts.windows(2).map(|pair| &text[pair[0]..pair[1]]).collect()
}

/// Runs a section, and returns it with the server's answers.
fn replay_section(server: &Server, name: &str, level: &str, section: &str, write: bool) -> String {
    let database = format!("hermitage_{name}");
    let mut admin = server.connect();
    for sql in [
        &format!("DROP DATABASE IF EXISTS {database}"),
        &format!("CREATE DATABASE {database}"),
        &format!("USE {database}"),
        "CREATE TABLE test (id INT PRIMARY KEY, value INT)",
        "INSERT INTO test VALUES (1, 10), (2, 20)",
    ] {
        admin.query(sql);
    }
    let names = ["T1", "T2", "T3"];
    let sessions: BTreeMap<&str, Session> =
        names.into_iter().map(|name| (name, Session::start(server, &database, level))).collect();
    let mut out = String::new();
    let mut lines = section.lines().peekable();
    while let Some(line) = lines.next() {
        let expect_block = lines.peek() == Some(&"blocks");
        let statement = line.split_once("> ").filter(|(name, _)| names.contains(name));
        let continues = line.strip_suffix(" continues").filter(|name| names.contains(name));
        let answer = match statement {
            Some((session, sql)) => {
                sessions[session].send(sql);
                Some(sessions[session].wait(match (expect_block, write) {
                    (true, _) => BLOCKED_AFTER,
                    (false, true) => BLOCKED_AFTER_WRITING,
                    (false, false) => ANSWER_MAX,
                }))
            }
            None => continues.map(|session| sessions[session].wait(if write { BLOCKED_AFTER_WRITING } else { ANSWER_MAX })),
        };
        if answer.is_some() || line.starts_with("== ") || line.starts_with('#') || line.is_empty() {
            let _ = writeln!(out, "{line}");
        }
        out.push_str(&answer.unwrap_or_default());
    }
    out
}
