//! The runner of golden scripts: each script is a test of its own, in every crate that has scripts.
//!
//! A script is a text in which statements (`> SELECT 1`) are followed by their answers. A suite is a folder of them and a function that
//! runs one and returns it with the answers that it got now. The test `SUITE::NAME` fails where that is not what the file says:
//!
//! ```text
//! cargo test -p vaquita-server --test scripts                     all of them
//! cargo test -p vaquita-server --test scripts -- sql::xa          one
//! VAQUITA_RECORD=own cargo test -p vaquita-plan --test scripts    writes what we answer, for suites whose answers are ours
//! VAQUITA_RECORD=127.0.0.1:13306:user:password cargo test -p vaquita-server --test scripts -- sql::xa
//!                                                                 writes what that MySQL answers, for suites that are MySQL's
//! ```
//! `sql` reads scripts of SQL statements, whoever answers them.
//! Scripts of one suite run one after the other, because they may change what is the server's; suites run beside each other.

pub mod sql;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::{Arc, Mutex, PoisonError};

use libtest_mimic::{Arguments, Failed, Trial};

/// The server whose answers are asked for.
#[derive(Clone, Debug, PartialEq)]
pub struct Target {
    pub port: u16,
    pub user: String,
    pub password: String,
}

impl Target {
    /// Of `host:port:user:password`; the host is this machine.
    pub fn parse(text: &str) -> Target {
        let parts: Vec<&str> = text.split(':').collect();
        let [_, port, user, password] = parts[..] else { panic!("VAQUITA_RECORD=host:port:user:password") };
        Target { port: port.parse().expect("port"), user: user.into(), password: password.into() }
    }
}

/// What `VAQUITA_RECORD` asks for.
#[derive(Clone, Debug, PartialEq)]
pub enum Record {
    /// Compare.
    No,
    /// Write our own answers.
    Own,
    /// Write those of a MySQL.
    Mysql(Target),
}

impl Record {
    pub fn from_env() -> Record {
        match std::env::var("VAQUITA_RECORD") {
            Err(_) => Record::No,
            Ok(text) if text == "own" => Record::Own,
            Ok(text) => Record::Mysql(Target::parse(&text)),
        }
    }

    /// The MySQL to record from.
    pub fn mysql(self) -> Option<Target> {
        match self {
            Record::Mysql(target) => Some(target),
            Record::No | Record::Own => None,
        }
    }
}

/// Whose answers a suite holds.
#[derive(Clone, Copy, PartialEq)]
pub enum Answers {
    Ours,
    Mysqls,
    /// Those of another suite, which records them; this one only compares.
    Anothers,
}

/// One script, as the function of a suite gets it.
pub struct Script {
    /// The file's name without its extension.
    pub name: String,
    pub text: String,
    /// Its answers will be written, not compared.
    pub recording: bool,
}

type Replay = dyn Fn(&Script) -> String + Send + Sync;

/// A folder of scripts.
pub struct Suite {
    name: &'static str,
    answers: Answers,
    scripts: Vec<PathBuf>,
    replay: Arc<Replay>,
}

impl Suite {
    /// The files `*.test` of `dir`. `replay` returns a script with the answers of now.
    pub fn new(
        name: &'static str,
        answers: Answers,
        dir: &Path,
        replay: impl Fn(&Script) -> String + Send + Sync + 'static,
    ) -> Suite {
        let entries = std::fs::read_dir(dir).unwrap_or_else(|e| panic!("{}: {e}", dir.display()));
        let mut scripts: Vec<PathBuf> = entries.map(|entry| entry.expect("an entry").path()).collect();
        scripts.retain(|path| path.extension().is_some_and(|extension| extension == "test"));
        scripts.sort();
        assert!(!scripts.is_empty(), "{} has no scripts", dir.display());
        Suite { name, answers, scripts, replay: Arc::new(replay) }
    }

    fn is_wanted(&self, record: &Record) -> bool {
        match record {
            Record::No => true,
            Record::Own => self.answers == Answers::Ours,
            Record::Mysql(_) => self.answers == Answers::Mysqls,
        }
    }

    fn trials(self, record: &Record) -> Vec<Trial> {
        let turn = Arc::new(Mutex::new(()));
        let recording = *record != Record::No;
        let trial = |path: PathBuf| {
            let (replay, turn) = (self.replay.clone(), turn.clone());
            let script = path.file_stem().map_or_else(String::new, |stem| stem.to_string_lossy().into_owned());
            Trial::test(format!("{}::{script}", self.name), move || {
                // A script that failed leaves the turn to the next.
                let _turn = turn.lock().unwrap_or_else(PoisonError::into_inner);
                run(&path, script, recording, &*replay)
            })
        };
        self.scripts.into_iter().map(trial).collect()
    }
}

/// The `main` of a test target with `harness = false`.
pub fn main(suites: Vec<Suite>) -> ExitCode {
    let record = Record::from_env();
    let wanted = suites.into_iter().filter(|suite| suite.is_wanted(&record));
    let suites: Vec<Vec<Trial>> = wanted.map(|suite| suite.trials(&record)).collect();
    libtest_mimic::run(&Arguments::from_args(), in_turns(suites)).exit_code()
}

/// Taken from each suite in turns, so that threads do not wait for one suite while the others have not begun.
fn in_turns(suites: Vec<Vec<Trial>>) -> Vec<Trial> {
    let mut rest: Vec<_> = suites.into_iter().map(Vec::into_iter).collect();
    let mut trials = Vec::new();
    loop {
        let before = trials.len();
        trials.extend(rest.iter_mut().filter_map(Iterator::next));
        if trials.len() == before {
            return trials;
        }
    }
}

fn run(path: &Path, name: String, recording: bool, replay: &Replay) -> Result<(), Failed> {
    let text = std::fs::read_to_string(path)?;
    let script = Script { name, text, recording };
    let now = replay(&script);
    if recording {
        return Ok(std::fs::write(path, now)?);
    }
    first_difference(&script.text, &now).map_or(Ok(()), |difference| Err(format!("{}:\n{difference}", path.display()).into()))
}

/// The statements whose answers differ, with both answers.
pub fn first_difference(expected: &str, actual: &str) -> Option<String> {
    let (expected, actual) = (blocks(expected), blocks(actual));
    let differing: Vec<String> = expected
        .iter()
        .zip(&actual)
        .filter(|(e, a)| e != a)
        .map(|(e, a)| {
            let answer: Vec<&str> = a.lines().skip(1).collect();
            format!("  {}\n  -- now:\n  {}", e.replace('\n', "\n  "), answer.join("\n  "))
        })
        .collect();
    if differing.is_empty() && expected.len() == actual.len() {
        return None;
    }
    Some(format!("{} of {} statements differ:\n{}", differing.len(), expected.len(), differing.join("\n")))
}

/// Each statement with its answer. A statement begins a line with `> `, before which may stand the name of its session.
fn blocks(text: &str) -> Vec<String> {
    let mut blocks = vec![String::new()];
    for line in text.trim_end().lines() {
        let is_statement = line.split_once("> ").is_some_and(|(session, _)| session.bytes().all(|b| b.is_ascii_alphanumeric()));
        match blocks.last_mut() {
            Some(block) if !is_statement => {
                block.push('\n');
                block.push_str(line);
            }
            _ => blocks.push(line.to_string()),
        }
    }
    blocks
}
