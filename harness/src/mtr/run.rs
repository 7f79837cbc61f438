//! Runs a script on both servers in lockstep, and notes where they differ.
//!
//! Both get each statement, then both are read. A variable has a value for each server; conditions are MySQL's. What a script asks of
//! the machine (programs, restarts) is left out and said.

use std::collections::{BTreeSet, HashSet};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::compare::{self, Asked};
use super::files;
use super::reply::{One, Reply};
use super::script::{self, Command};
use super::side::{Outcome, Side, unquoted};

const SOURCES_DEEP_MAX: usize = 16;
const SLEEP_MAX: Duration = Duration::from_millis(500);
/// For a condition of `wait_condition.inc`; who does not meet it by then does not.
const CONDITION_MAX: Duration = Duration::from_secs(10);
/// Scripts that stop or start the server.
const RESTARTS: &[&str] = &[
    "restart_mysqld.inc",
    "restart_mysqld_no_echo.inc",
    "shutdown_mysqld.inc",
    "start_mysqld.inc",
    "stop_mysqld.inc",
    "kill_mysqld.inc",
    "kill_and_restart_mysqld.inc",
    "wait_until_connected_again.inc",
];
/// The client library's error of a connection that is gone.
const CONNECTION_LOST: u16 = 2013;

#[derive(Default)]
pub struct Count {
    pub statements: u64,
    pub differ: u64,
    /// Of `differ`: those that name what an earlier difference had named.
    pub follow: u64,
}

pub struct Difference {
    pub line: usize,
    pub kind: &'static str,
    pub follows: bool,
    pub sql: String,
    pub mysql: String,
    pub vaquita: String,
}

/// Why a script ended before its end.
pub enum End {
    /// It says that it does not fit this server or machine.
    Skip(String),
    Early(String),
}

pub struct Run<'a> {
    pub sides: &'a mut [Side; 2],
    pub suite: &'a Path,
    pub vardirs: [PathBuf; 2],
    pub deadline: Instant,
    pub count: Count,
    pub differences: Vec<Difference>,
    /// Commands that were left out.
    pub left_out: BTreeSet<String>,
    differing_names: HashSet<String>,
    warnings: bool,
    result_log: bool,
    /// Between `disable_testcase` and `enable_testcase`.
    disabled: bool,
    asked: Asked,
    line: usize,
    depth: usize,
    /// Of the file that runs.
    folder: PathBuf,
}

type Flow = Result<(), End>;

impl<'a> Run<'a> {
    pub fn new(sides: &'a mut [Side; 2], suite: &'a Path, vardirs: [PathBuf; 2], deadline: Instant) -> Run<'a> {
        Run {
            sides,
            suite,
            vardirs,
            deadline,
            count: Count::default(),
            differences: Vec::new(),
            left_out: BTreeSet::new(),
            differing_names: HashSet::new(),
            warnings: true,
            result_log: true,
            disabled: false,
            asked: Asked::default(),
            line: 0,
            depth: 0,
            folder: PathBuf::new(),
        }
    }

    pub fn file(&mut self, path: &Path) -> Flow {
        let read = std::fs::read(path).map_err(|e| e.to_string()).and_then(|bytes| script::parse(&bytes));
        let commands = read.map_err(|e| End::Early(format!("{}: {e}", path.display())))?;
        let folder = path.parent().map(Path::to_path_buf).unwrap_or_default();
        let outer = std::mem::replace(&mut self.folder, folder);
        let done = self.block(&commands);
        self.folder = outer;
        done
    }

    fn block(&mut self, commands: &[Command]) -> Flow {
        for command in commands {
            if Instant::now() > self.deadline {
                return Err(End::Early("time is over".into()));
            }
            if self.depth == 0 {
                self.line = command.line;
            }
            if !self.disabled || command.word == "enable_testcase" {
                self.command(command)?;
            }
        }
        Ok(())
    }

    fn command(&mut self, command: &Command) -> Flow {
        let text = command.text.as_str();
        match command.word.as_str() {
            "" | "query" | "query_vertical" | "query_horizontal" if command.word.is_empty() || !text.is_empty() => {
                return self.statement(text, false);
            }
            "eval" => return self.statement(text, true),
            "send" => self.send([text.into(), text.into()]),
            "send_eval" => self.send(self.expand(text)),
            "reap" => return self.reap("reap"),
            "if" if self.holds(text) => return self.block(&command.body),
            "while" => {
                while self.holds(text) {
                    self.block(&command.body)?;
                }
            }
            "let" => self.assign(text),
            "inc" | "dec" => self.step(text, if command.word == "inc" { 1 } else { -1 }),
            "expr" => self.compute(text),
            "source" => self.source(text)?,
            "connect" if !text.is_empty() => self.connect(text),
            "connection" => self.each(text, |side, name| side.go_to(name.trim())),
            "disconnect" | "dirty_close" => self.each(text, |side, name| side.disconnect(name.trim())),
            "sleep" | "real_sleep" => self.sleep(text),
            "sorted_result" | "partially_sorted_result" => self.asked.sorted = true,
            "replace_column" => {
                self.asked.columns_replaced = text.split_whitespace().step_by(2).filter_map(|n| n.parse().ok()).collect()
            }
            "replace_result" => self.asked.replaced = self.expand(text).map(|text| pairs(&text)),
            "replace_regex" | "replace_numeric_round" => self.asked.outcome_only = true,
            // `disable_warnings ER_X,… ONCE` is about the next statement.
            "enable_warnings" | "disable_warnings" if text.ends_with("ONCE") => self.asked.without_warnings = true,
            "enable_warnings" | "disable_warnings" => self.warnings = self.switch(&command.word),
            "enable_result_log" | "disable_result_log" => self.result_log = self.switch(&command.word),
            "enable_query_log" | "disable_query_log" | "enable_abort_on_error" | "disable_abort_on_error" => {
                self.switch(&command.word);
            }
            "enable_testcase" => self.disabled = false,
            "disable_testcase" => self.disabled = true,
            "skip" => return Err(End::Skip(text.into())),
            "die" => return Err(End::Early(format!("die {}", self.expand(text)[0]))),
            "exit" => return Err(End::Early("exit".into())),
            "shutdown_server" | "send_shutdown" => self.restart(),
            "connect" => self.each("", |side, _| drop(side.reconnect())),
            "reset_connection" => self.each("", |side, _| drop(side.reset())),
            "change_user" => self.change_user(text),
            word if files::is_command(word) => {
                let texts = self.expand(text);
                for (at, text) in texts.iter().enumerate() {
                    let data = self.sides[at].data_dir.clone();
                    files::run(word, text, &[&self.vardirs[at], &data]);
                }
            }
            "exec" | "execw" | "exec_in_background" | "perl" | "query_attributes" => {
                self.left_out.insert(command.word.clone());
            }
            // About what mysqltest prints.
            _ => {}
        }
        Ok(())
    }

    /// Whether `enable_X` or `disable_X` switches on. Scripts read it as mysqltest's variable `$ENABLE_X` and restore it.
    fn switch(&mut self, word: &str) -> bool {
        let on = word.starts_with("enable_");
        let name = word.trim_start_matches("enable_").trim_start_matches("disable_");
        for side in self.sides.iter_mut() {
            side.variables.insert(format!("ENABLE_{}", name.to_uppercase()), u8::from(on).to_string());
        }
        on
    }

    fn expand(&self, text: &str) -> [String; 2] {
        [self.sides[0].expand(text), self.sides[1].expand(text)]
    }

    fn each(&mut self, text: &str, act: impl Fn(&mut Side, &str)) {
        for side in self.sides.iter_mut() {
            let text = side.expand(text);
            act(side, &text);
        }
    }

    /// `let $name = value`; the environment's variables have no `$`.
    fn assign(&mut self, text: &str) {
        let Some((name, value)) = text.split_once('=') else { return };
        let name = name.trim().trim_start_matches('$');
        for side in self.sides.iter_mut() {
            let value = side.evaluate(value);
            side.variables.insert(name.into(), value);
        }
    }

    fn step(&mut self, text: &str, by: i64) {
        let name = text.trim().trim_start_matches('$');
        for side in self.sides.iter_mut() {
            let value = side.variables.get(name).map_or(0, |value| number(value)).wrapping_add(by);
            side.variables.insert(name.into(), value.to_string());
        }
    }

    /// `expr $name = a op b`
    fn compute(&mut self, text: &str) {
        let Some((name, value)) = text.split_once('=') else { return };
        for side in self.sides.iter_mut() {
            let expanded = side.expand(value);
            let parts: Vec<&str> = expanded.split_whitespace().collect();
            let [a, operator, b] = parts[..] else { continue };
            let (a, b) = (number(a), number(b));
            let result = match operator {
                "+" => a.wrapping_add(b),
                "-" => a.wrapping_sub(b),
                "*" => a.wrapping_mul(b),
                "/" => a.checked_div(b).unwrap_or(0),
                "%" => a.checked_rem(b).unwrap_or(0),
                "&" => a & b,
                "|" => a | b,
                _ => continue,
            };
            side.variables.insert(name.trim().trim_start_matches('$').into(), result.to_string());
        }
    }

    /// A condition in parentheses: a value, its negation, or two values compared; MySQL's decides.
    fn holds(&mut self, text: &str) -> bool {
        let text = text.trim();
        let text = text.strip_prefix('(').and_then(|text| text.strip_suffix(')')).unwrap_or(text).trim();
        if let Some(text) = text.strip_prefix('!') {
            return !is_true(&self.sides[0].evaluate(text));
        }
        let compared = ["==", "!=", "<=", ">=", "<", ">"].iter().find_map(|operator| {
            let (a, b) = text.split_once(operator)?;
            (text.starts_with('$') && !a.contains('`')).then_some((a, *operator, b))
        });
        let Some((a, operator, b)) = compared else { return is_true(&self.sides[0].evaluate(text)) };
        let (a, b) = (self.sides[0].evaluate(a), self.sides[0].evaluate(b));
        let (a, b) = (unquoted(&a), unquoted(&b));
        match operator {
            "==" => a.eq_ignore_ascii_case(b),
            "!=" => !a.eq_ignore_ascii_case(b),
            "<=" => number(a) <= number(b),
            ">=" => number(a) >= number(b),
            "<" => number(a) < number(b),
            _ => number(a) > number(b),
        }
    }

    fn source(&mut self, text: &str) -> Flow {
        let name = self.sides[0].expand(text);
        // A comment may stand behind it.
        let name = name.split_whitespace().next().unwrap_or_default();
        match name.trim_start_matches("include/") {
            "wait_condition.inc" | "wait_condition_or_abort.inc" => return self.wait_for_condition(),
            "wait_until_disconnected.inc" => return self.wait_until_disconnected(),
            word if RESTARTS.contains(&word) => {
                self.restart();
                return Ok(());
            }
            _ => {}
        }
        if self.depth == SOURCES_DEEP_MAX {
            return Err(End::Early(format!("{name}: files inside one another")));
        }
        let folders = [self.suite, &self.suite.join("t"), &self.folder];
        let path = folders.into_iter().map(|folder| folder.join(name)).find(|path| path.is_file());
        let path = path.ok_or_else(|| End::Early(format!("{name} is missing")))?;
        self.depth += 1;
        let done = self.file(&path);
        self.depth -= 1;
        done
    }

    /// Servers are not restarted, neither of them: that the connections are new is what of it can be compared.
    fn restart(&mut self) {
        self.left_out.insert("restart".into());
        self.each("", |side, _| drop(side.start_over()));
    }

    fn wait_until_disconnected(&mut self) -> Flow {
        let begun = Instant::now();
        while begun.elapsed() < CONDITION_MAX && self.sides.iter_mut().any(Side::is_connected) {
            std::thread::sleep(Duration::from_millis(50));
        }
        Ok(())
    }

    /// `user, password, database`: a new connection in the place of the old one.
    fn change_user(&mut self, text: &str) {
        self.each(text, |side, text| {
            let parts: Vec<&str> = text.split(',').map(unquoted).collect();
            let part = |at: usize| parts.get(at).copied().unwrap_or_default();
            drop(side.connect_as_current(part(0), part(1), part(2)));
        });
    }

    fn wait_for_condition(&mut self) -> Flow {
        for side in self.sides.iter_mut() {
            let query = side.variables.get("wait_condition").cloned().unwrap_or_default();
            let begun = Instant::now();
            let mut met = is_true(&side.value(&query));
            while !met && begun.elapsed() < CONDITION_MAX && Instant::now() < self.deadline {
                std::thread::sleep(Duration::from_millis(50));
                met = is_true(&side.value(&query));
            }
            side.variables.insert("success".into(), u8::from(met).to_string());
        }
        Ok(())
    }

    /// `(name, host, user, password, database, …)`
    fn connect(&mut self, text: &str) {
        let mut outcomes = Vec::new();
        for side in self.sides.iter_mut() {
            let text = side.expand(text);
            let text = text.trim().trim_start_matches('(').trim_end_matches(')');
            let parts: Vec<&str> = text.split(',').map(unquoted).collect();
            let part = |at: usize| parts.get(at).copied().unwrap_or_default();
            outcomes.push(side.connect(part(0), part(2), part(3), part(4)));
        }
        self.count.statements += 1;
        if let [mysql, vaquita] = &outcomes[..]
            && mysql.is_ok() != vaquita.is_ok()
        {
            self.note("connect", &format!("connect {text}"), format!("{mysql:?}"), format!("{vaquita:?}"));
        }
    }

    fn sleep(&mut self, text: &str) {
        let seconds: f64 = self.sides[0].expand(text).trim().parse().unwrap_or(0.0);
        std::thread::sleep(Duration::from_secs_f64(seconds.max(0.0)).min(SLEEP_MAX));
    }

    fn send(&mut self, sql: [String; 2]) {
        for (side, sql) in self.sides.iter_mut().zip(&sql) {
            // What is lost is seen when it is read.
            let _ = side.send(sql);
        }
    }

    fn statement(&mut self, sql: &str, variables: bool) -> Flow {
        let sql = sql.trim();
        if sql.is_empty() {
            return Ok(());
        }
        if ["shutdown", "restart"].iter().any(|word| sql.eq_ignore_ascii_case(word)) {
            self.restart();
            return Ok(());
        }
        let both = if variables { self.expand(sql) } else { [sql.into(), sql.into()] };
        let shown = both[0].clone();
        self.send(both);
        self.reap(&shown)
    }

    /// Reads both answers.
    fn reap(&mut self, sql: &str) -> Flow {
        let asked = std::mem::take(&mut self.asked);
        let outcomes = [self.sides[0].receive(), self.sides[1].receive()];
        for (side, outcome) in self.sides.iter_mut().zip(&outcomes) {
            side.ended_with(match outcome {
                Outcome::Reply(reply) => reply.error().map_or(0, |(code, _)| code),
                Outcome::Lost(_) => CONNECTION_LOST,
            });
        }
        let judged = !compare::is_of_plans(sql);
        self.count.statements += u64::from(judged);
        let (mysql, vaquita) = match outcomes {
            [Outcome::Reply(mysql), Outcome::Reply(vaquita)] => (mysql, vaquita),
            [Outcome::Lost(_), Outcome::Lost(_)] => return Ok(()),
            [Outcome::Reply(mysql), Outcome::Lost(text)] => {
                self.note("lost", sql, print(&mysql), text.clone());
                return Err(End::Early(format!("Vaquita's connection is lost: {text}")));
            }
            [Outcome::Lost(text), Outcome::Reply(vaquita)] => {
                self.note("lost", sql, text.clone(), print(&vaquita));
                return Err(End::Early(format!("MySQL's connection is lost: {text}")));
            }
        };
        if !judged {
            return Ok(());
        }
        let asked = Asked { outcome_only: asked.outcome_only || !self.result_log, ..asked };
        if let Some(kind) = compare::difference(sql, &asked, &mysql, &vaquita) {
            self.note(kind, sql, print(&mysql), print(&vaquita));
        } else if self.warnings
            && !asked.without_warnings
            && self.result_log
            && mysql.error().is_none()
            && mysql.warnings | vaquita.warnings != 0
        {
            self.compare_warnings(sql, &asked);
        } else if mysql.error().is_none() && sql.get(..4).is_some_and(|word| word.eq_ignore_ascii_case("drop")) {
            for name in compare::names(sql) {
                self.differing_names.remove(&name);
            }
        }
        Ok(())
    }

    fn compare_warnings(&mut self, sql: &str, asked: &Asked) {
        let outcomes = [self.sides[0].query("SHOW WARNINGS"), self.sides[1].query("SHOW WARNINGS")];
        if let [Outcome::Reply(mysql), Outcome::Reply(vaquita)] = outcomes
            && !compare::varies(sql)
            && compare::difference("SHOW WARNINGS", asked, &mysql, &vaquita).is_some()
        {
            self.note("warnings", sql, print(&mysql), print(&vaquita));
        }
    }

    fn note(&mut self, kind: &'static str, sql: &str, mysql: String, vaquita: String) {
        let names = compare::names(sql);
        let follows = !names.is_disjoint(&self.differing_names);
        if matches!(kind, "accepted" | "refused" | "lost") {
            self.differing_names.extend(names);
        }
        self.count.differ += 1;
        self.count.follow += u64::from(follows);
        self.differences.push(Difference { line: self.line, kind, follows, sql: sql.into(), mysql, vaquita });
    }
}

fn number(text: &str) -> i64 {
    let text = text.trim();
    let end = text.char_indices().find(|(at, c)| !c.is_ascii_digit() && (*at > 0 || *c != '-')).map_or(text.len(), |(at, _)| at);
    text[..end].parse().unwrap_or(0)
}

/// A number that is not 0, or any other text.
fn is_true(text: &str) -> bool {
    let text = text.trim();
    match text.parse::<f64>() {
        Ok(number) => number != 0.0,
        Err(_) => !text.is_empty(),
    }
}

/// `from to from to …`, each a word or quoted.
fn pairs(text: &str) -> Vec<(String, String)> {
    let mut words = Vec::new();
    let mut rest = text.trim_start();
    while let Some(first) = rest.chars().next() {
        let (word, behind) = match first {
            '\'' | '"' => rest[1..].split_once(first).unwrap_or((&rest[1..], "")),
            _ => rest.split_once(char::is_whitespace).unwrap_or((rest, "")),
        };
        words.push(word.to_string());
        rest = behind.trim_start();
    }
    words.chunks_exact(2).map(|pair| (pair[0].clone(), pair[1].clone())).collect()
}

/// An answer in a few lines.
fn print(reply: &Reply) -> String {
    let one = |one: &One| match one {
        One::Ok { affected, .. } => format!("OK, {affected} rows"),
        One::Err { code, text } => format!("ERROR {code}: {text}"),
        One::Rows { columns, rows } => {
            let lines: Vec<String> = rows.iter().take(12).map(|row| compare::line(row, &[])).collect();
            format!("{}\n    {}{}", columns.join("|"), lines.join("\n    "), if rows.len() > 12 { "\n    …" } else { "" })
        }
    };
    reply.results.iter().map(one).collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
mod tests {
    use super::{is_true, number, pairs};

    #[test]
    fn values_are_mysqltests() {
        assert_eq!(number(" 12ab"), 12);
        assert_eq!(number("-3"), -3);
        assert!(is_true("a") && is_true("1") && !is_true("0") && !is_true(""));
        assert_eq!(pairs("a 'b c' \"d\" e"), [("a".into(), "b c".into()), ("d".into(), "e".into())]);
    }
}
