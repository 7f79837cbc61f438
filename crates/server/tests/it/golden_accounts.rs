//! The statements of all golden scripts, run by an account without privileges and by one with exactly those that MySQL wants.
//!
//! `tests/golden/accounts/scripts/NAME.txt` has a line for each statement of `tests/golden/sql/NAME.test`: the outcome for the stranger, the
//! outcome for the other account, what that one was granted for it (`@` is the script's database), the statement's beginning. An outcome is `ok` or the number of the
//! error; `-` for statements that take names of the whole server, which the stranger does not run. The second account plays the script, a
//! session per connection: its privileges are a role's, which is emptied before each statement. MySQL is asked what it misses, error by
//! error, when a script is recorded: `VAQUITA_GOLDEN=xa VAQUITA_RECORD=127.0.0.1:13306:user:password cargo test -p vaquita-server --test it
//! golden_scripts` for the scripts with `xa` in their names. A line that begins with `!` is the one before it as decided for Vaquita.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use crate::client::{Answer, Client};
use crate::server::{PASSWORD, Server};
use vaquita_scripts::sql::unescape;
use vaquita_scripts::{Record, Target};

const STRANGER: &str = "golden_stranger";
const PLAYER: &str = "golden_player";
const ROLE: &str = "golden_role";

/// Errors that say which privilege is missing.
const DENIED: [u16; 5] = [1044, 1045, 1142, 1143, 1227];
/// What begins or holds these takes a name that the player needs itself.
const NOT_FOR_STRANGERS: [&str; 2] = ["GET_LOCK(", "XA "];
/// The script's database in what was granted.
const OWN: &str = "@.";
const BEGINNING_CHARACTERS: usize = 70;

#[test]
fn golden_scripts_as_accounts() {
    let recorder = Record::from_env().mysql();
    let server = recorder.is_none().then(|| Server::start_with("golden-accounts", &["--local-infile"]));
    let own = |server: &Server| Target { port: server.port, user: "root".into(), password: PASSWORD.into() };
    let target = server.as_ref().map(own).or(recorder).expect("a server");
    let mut wrong = Vec::new();
    for script in chosen_scripts() {
        let file = record_of(&script);
        let recorded = std::fs::read_to_string(&file).unwrap_or_default();
        let mut play = Play::new(&target, &script);
        if server.is_none() {
            let text = play.all(&script, |play, sql, _| play.record(sql), "");
            std::fs::write(&file, with_decisions(&text, &recorded)).expect("write");
            continue;
        }
        let played = play.all(&script, |play, sql, line| play.replay(sql, line), &recorded);
        compare(&file, &recorded, &played, &mut wrong);
    }
    assert!(wrong.is_empty(), "{} differ:\n{}", wrong.len(), wrong.join("\n"));
}

/// The scripts with what VAQUITA_GOLDEN says in their names, or all.
fn chosen_scripts() -> Vec<PathBuf> {
    let folder = |name: &str| Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name);
    let part = std::env::var("VAQUITA_GOLDEN").unwrap_or_default();
    let files = ["sql", "replication"].into_iter().flat_map(|name| std::fs::read_dir(folder(name)).expect("scripts"));
    let mut scripts: Vec<PathBuf> = files.map(|entry| entry.expect("an entry").path()).collect();
    scripts.retain(|path| path.extension().is_some_and(|e| e == "test"));
    scripts.retain(|path| path.file_stem().is_some_and(|name| name.to_string_lossy().contains(&part)));
    scripts.sort();
    assert!(!scripts.is_empty(), "no script has {part} in its name");
    scripts
}

fn record_of(script: &Path) -> PathBuf {
    let name = script.with_extension("txt");
    let name = name.file_name().expect("a script's name");
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/accounts/scripts").join(name)
}

fn compare(file: &Path, recorded: &str, played: &str, wrong: &mut Vec<String>) {
    let expected = lines_of(recorded);
    let played: Vec<&str> = played.lines().collect();
    if expected.len() != played.len() {
        wrong.push(format!(
            "{}: {} lines, the script has {} statements: record it",
            file.display(),
            expected.len(),
            played.len()
        ));
    }
    for (expected, played) in expected.iter().zip(&played).filter(|(expected, played)| expected != played) {
        wrong.push(format!("{}:\n  {expected}\n  {played}", file.display()));
    }
}

/// `text` with the decisions of the file as it was, behind the lines that they are about.
fn with_decisions(text: &str, before: &str) -> String {
    // The same statement may come several times: by which time it is.
    let mut times: HashMap<&str, usize> = HashMap::new();
    let mut decided = HashMap::new();
    for (line, next) in before.lines().zip(before.lines().skip(1)).filter(|(line, _)| !line.starts_with('!')) {
        let time = times.entry(line).or_default();
        *time += 1;
        if next.starts_with('!') {
            decided.insert((line, *time), next);
        }
    }
    times.clear();
    let mut out = String::new();
    for line in text.lines() {
        let time = times.entry(line).or_default();
        *time += 1;
        for line in std::iter::once(line).chain(decided.get(&(line, *time)).copied()) {
            out += &format!("{line}\n");
        }
    }
    out
}

/// What is expected here: lines that begin with `!` in place of those before them.
fn lines_of(recorded: &str) -> Vec<&str> {
    let mut lines: Vec<&str> = Vec::new();
    for line in recorded.lines() {
        match line.strip_prefix('!') {
            Some(decided) => *lines.last_mut().expect("a line before") = decided,
            None => lines.push(line),
        }
    }
    lines
}

fn outcome(answer: &Answer) -> String {
    match answer {
        Answer::Err { code, .. } => code.to_string(),
        _ => "ok".to_string(),
    }
}

/// The sessions of one connection of the script.
struct Sessions {
    stranger: Client,
    player: Client,
    /// Of which change of the role the player knows.
    version: u64,
}

struct Play<'a> {
    target: &'a Target,
    database: String,
    root: Client,
    sessions: Vec<Sessions>,
    current: usize,
    /// What the role has, and how often that changed.
    granted: Vec<String>,
    version: u64,
}

impl Play<'_> {
    fn new<'a>(target: &'a Target, script: &Path) -> Play<'a> {
        let database = format!("golden_{}", script.file_stem().and_then(|stem| stem.to_str()).expect("a name"));
        let mut root = Client::connect(target.port, &target.user, &target.password).expect("root connects");
        for sql in [
            format!("DROP DATABASE IF EXISTS {database}"),
            format!("CREATE DATABASE {database}"),
            format!("DROP USER IF EXISTS {STRANGER}, {PLAYER}"),
            format!("DROP ROLE IF EXISTS {ROLE}"),
            format!("CREATE USER {STRANGER}, {PLAYER}"),
            format!("CREATE ROLE {ROLE}"),
            format!("GRANT {ROLE} TO {PLAYER}"),
            // So that both can enter the database.
            format!("GRANT CREATE ON {database}.golden_nothing TO {STRANGER}, {PLAYER}"),
            // What a session of the script has locked, GRANT does not wait for.
            "SET SESSION lock_wait_timeout = 1".to_string(),
        ] {
            let answer = root.query_last(&sql);
            assert!(!matches!(answer, Answer::Err { .. }), "{sql}: {answer:?}");
        }
        Play { target, database, root, sessions: Vec::new(), current: 0, granted: Vec::new(), version: 1 }
    }

    /// Runs the statements of a script; `line` gives each its line.
    fn all(&mut self, script: &Path, mut line: impl FnMut(&mut Self, &str, &str) -> String, recorded: &str) -> String {
        let text = std::fs::read_to_string(script).expect("read");
        let mut recorded = lines_of(recorded).into_iter();
        let mut out = String::new();
        self.connect(0);
        for sql in text.lines().filter_map(|line| line.strip_prefix("> ")) {
            if let Some(n) = sql.strip_prefix("connection ") {
                self.connect(n.trim().parse().expect("connection number"));
                continue;
            }
            let sessions = &mut self.sessions[self.current];
            if let Some(text) = sql.strip_prefix("file ") {
                (sessions.stranger.local_file, sessions.player.local_file) = (unescape(text), unescape(text));
                continue;
            }
            out += &line(self, sql, recorded.next().unwrap_or_default());
            out += &format!("\t{}\n", sql.chars().take(BEGINNING_CHARACTERS).collect::<String>().trim_end());
        }
        self.sessions.clear();
        self.root.query(&format!("DROP DATABASE IF EXISTS {}", self.database));
        self.root.query(&format!("DROP USER {STRANGER}, {PLAYER}"));
        self.root.query(&format!("DROP ROLE {ROLE}"));
        out
    }

    fn connect(&mut self, number: usize) {
        while self.sessions.len() <= number {
            let connect = |user| {
                let mut client = Client::connect(self.target.port, user, "").expect("connect");
                client.query(&format!("USE {}", self.database));
                client
            };
            self.sessions.push(Sessions { stranger: connect(STRANGER), player: connect(PLAYER), version: 0 });
        }
        self.current = number;
    }

    fn ask_stranger(&mut self, sql: &str) -> String {
        let taken = NOT_FOR_STRANGERS.iter().any(|word| sql.to_uppercase().contains(word));
        if taken { "-".to_string() } else { outcome(&self.sessions[self.current].stranger.query_last(sql)) }
    }

    /// Gives the role exactly `wanted`; false if that cannot be.
    fn grant(&mut self, wanted: &[String]) -> bool {
        if self.granted == wanted {
            return true;
        }
        self.version += 1;
        if !self.granted.is_empty() {
            self.root.query(&format!("REVOKE ALL PRIVILEGES, GRANT OPTION FROM {ROLE}"));
        }
        self.granted = wanted.to_vec();
        wanted.iter().all(|grant| !matches!(self.root.query(&format!("GRANT {grant} TO {ROLE}")), Answer::Err { .. }))
    }

    fn ask_player(&mut self, sql: &str) -> Answer {
        let sessions = &mut self.sessions[self.current];
        if sessions.version != self.version {
            sessions.player.query(&format!("SET ROLE {ROLE}"));
            sessions.version = self.version;
        }
        sessions.player.query_last(sql)
    }

    fn replay(&mut self, sql: &str, line: &str) -> String {
        let stranger = self.ask_stranger(sql);
        let list = line.split('\t').nth(2).unwrap_or_default();
        let own = format!("`{}`.", self.database);
        let grants: Vec<String> =
            list.split("; ").filter(|grant| !grant.is_empty()).map(|grant| grant.replace(OWN, &own)).collect();
        assert!(self.grant(&grants), "{list}: not granted, before {sql}");
        let answer = self.ask_player(sql);
        format!("{stranger}\t{}\t{list}", outcome(&answer))
    }

    /// Grants what each answer says is missing, until it is another error or success.
    fn record(&mut self, sql: &str) -> String {
        let stranger = self.ask_stranger(sql);
        let mut confirmed: Vec<String> = Vec::new();
        self.grant(&confirmed);
        let mut answer = self.ask_player(sql);
        'missing: while let Some((code, text)) = denial(&answer) {
            for alternative in self.alternatives(code, &text, sql) {
                let with: Vec<String> = confirmed.iter().cloned().chain([alternative]).collect();
                if !self.grant(&with) {
                    continue;
                }
                answer = self.ask_player(sql);
                if denial(&answer) != Some((code, text.clone())) {
                    confirmed = with;
                    continue 'missing;
                }
            }
            self.grant(&confirmed);
            break;
        }
        let own = format!("`{}`.", self.database);
        format!("{stranger}\t{}\t{}", outcome(&answer), confirmed.join("; ").replace(&own, OWN))
    }

    /// Grants that may be what an error asks for, the smallest first.
    fn alternatives(&mut self, code: u16, text: &str, sql: &str) -> Vec<String> {
        let quoted: Vec<&str> = text.split('\'').skip(1).step_by(2).collect();
        let command = text.split(" command denied").next().unwrap_or_default();
        let privileges = match command {
            "SHOW" | "ANY" => "SELECT",
            "SELECT with locking clause" => "UPDATE",
            other => other,
        };
        match (code, &quoted[..]) {
            (1044, [.., database]) => {
                let kinds = ["CREATE TEMPORARY TABLES", "LOCK TABLES", "CREATE", "DROP", "ALTER", "EVENT", "SELECT", "TRIGGER"];
                kinds.iter().map(|kind| format!("{kind} ON `{database}`.*")).collect()
            }
            (1045, _) => vec!["FILE ON *.*".to_string()],
            (1142, [.., table]) => {
                let mut grants = Vec::new();
                for name in self.names(table, sql) {
                    if ["SELECT", "INSERT", "UPDATE", "REFERENCES"].contains(&privileges) {
                        grants.extend(self.first_column(&name).map(|column| format!("{privileges} (`{column}`) ON {name}")));
                    }
                    grants.push(format!("{privileges} ON {name}"));
                    grants.push(format!("{privileges} ON {}.*", name.split('.').next().unwrap_or_default()));
                }
                grants.push(format!("{privileges} ON *.*"));
                grants
            }
            (1143, [.., column, table]) => {
                let mut grants = Vec::new();
                for name in self.names(table, sql) {
                    grants.push(format!("{privileges} (`{column}`) ON {name}"));
                    grants.push(format!("{privileges} ON {name}"));
                }
                grants.push(format!("{privileges} ON *.*"));
                grants
            }
            (1227, _) => {
                let list = text.split(" the ").nth(1).and_then(|rest| rest.split(" privilege(s)").next()).unwrap_or_default();
                let mut one_of: Vec<String> = list.split(" or ").flat_map(|part| part.split(", ")).map(str::to_string).collect();
                one_of.reverse();
                one_of.into_iter().map(|privilege| format!("{privilege} ON *.*")).collect()
            }
            _ => Vec::new(),
        }
    }

    /// The names that a table of an error may have: in each database that the statement names, and in the script's.
    fn names(&self, table: &str, sql: &str) -> Vec<String> {
        let (written, table) = table.rsplit_once('.').map_or((None, table), |(database, table)| (Some(database), table));
        let mut databases: Vec<String> = written.iter().map(|database| database.to_string()).collect();
        let parts: Vec<&str> = sql.split('.').collect();
        for part in &parts[..parts.len() - 1] {
            let word: String =
                part.trim_end_matches('`').chars().rev().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
            let word: String = word.chars().rev().collect();
            if !word.is_empty() && word.contains(|c: char| c.is_alphabetic()) && !databases.contains(&word) {
                databases.push(word);
            }
        }
        databases.insert(written.map_or(0, |_| 1), self.database.clone());
        databases.iter().map(|database| format!("`{database}`.`{table}`")).collect()
    }

    fn first_column(&mut self, name: &str) -> Option<String> {
        match self.root.query(&format!("SHOW COLUMNS FROM {name}")) {
            Answer::Rows { rows, .. } => rows.first()?.first()?.as_deref().map(|name| String::from_utf8_lossy(name).into_owned()),
            _ => None,
        }
    }
}

fn denial(answer: &Answer) -> Option<(u16, String)> {
    match answer {
        Answer::Err { code, text, .. } if DENIED.contains(code) => Some((*code, text.clone())),
        _ => None,
    }
}
