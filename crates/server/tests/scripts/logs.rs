//! Commands, and what they add to the general log and the slow log, recorded from a real MySQL.
//!
//! `tests/golden/logs/*.test` hold commands, each after `> `, and behind it the new lines of both logs, without times and numbers that differ from run to
//! run: connections are `#1`, `#2` in the order in which the logs name them. A script has a database, `logs`, and an account, `logger`.
//! ```text
//! > connect logger pw logs         a connection with that user, password and database (`-` for none); `refused` is told
//! > SELECT 1                       SQL, all results of which are read
//! > prepare 0 SELECT ?             > bind 0 i5 sabc n      > close 0     as in `packets`
//! > long 0 sabc                    COM_STMT_SEND_LONG_DATA for the first parameter
//! > huge 100000                    a statement of so many bytes
//! > quit
//! ```
//! The files are where server and runner both find them: `VAQUITA_RECORD_ROOT` is what the server takes for `/`.

use std::collections::HashMap;
use std::fmt::Write;
use std::path::PathBuf;

use vaquita_scripts::sql::unescape;
use vaquita_scripts::{Record, Script, Target};

use crate::client::Client;
use crate::packets::parameters;

/// Longer lines are told by their length.
const SHOWN_BYTES_MAX: usize = 1000;

const SETTINGS: [&str; 9] = [
    "log_raw = OFF",
    "log_timestamps = UTC",
    "log_slow_extra = OFF",
    "log_slow_admin_statements = OFF",
    "log_queries_not_using_indexes = OFF",
    "log_throttle_queries_not_using_indexes = 0",
    "min_examined_row_limit = 0",
    "log_output = 'FILE'",
    "long_query_time = 10",
];

/// Both logs in a directory of their own.
struct Logs {
    admin: Client,
    /// As the runner sees it.
    dir: PathBuf,
    read: [usize; 2],
    connections: HashMap<String, usize>,
}

const FILES: [&str; 2] = ["general", "slow"];

impl Logs {
    fn start(target: &Target) -> Logs {
        let root = match Record::from_env() {
            Record::Mysql(_) => std::env::var("VAQUITA_RECORD_ROOT").unwrap_or_default(),
            _ => String::new(),
        };
        let shown = format!("{}/vaquita-logs-{}", std::env::temp_dir().display(), std::process::id());
        let dir = PathBuf::from(format!("{root}{shown}"));
        let _ = std::fs::remove_dir_all(&dir);
        std::fs::create_dir_all(&dir).expect("a directory");
        let mut admin = Client::connect(target.port, &target.user, &target.password).expect("connect");
        let mut run = |sql: &str| {
            let answer = admin.query(sql);
            assert!(!matches!(answer, crate::client::Answer::Err { .. }), "{sql}: {answer:?}");
        };
        // It stays out of both logs.
        for sql in ["SET SESSION sql_log_off = ON", "SET SESSION long_query_time = 1000000"] {
            run(sql);
        }
        for setting in SETTINGS {
            run(&format!("SET GLOBAL {setting}"));
        }
        for sql in [
            "DROP DATABASE IF EXISTS logs",
            "CREATE DATABASE logs",
            "DROP USER IF EXISTS logger",
            "CREATE USER logger IDENTIFIED BY 'pw'",
            "GRANT ALL ON *.* TO logger WITH GRANT OPTION",
            "CREATE TABLE logs.t (id INT PRIMARY KEY AUTO_INCREMENT, a VARCHAR(100), b BLOB)",
            "INSERT INTO logs.t (a) VALUES ('one'), ('two')",
        ] {
            run(sql);
        }
        run(&format!("SET GLOBAL general_log_file = '{shown}/general.log', GLOBAL slow_query_log_file = '{shown}/slow.log'"));
        run("SET GLOBAL long_query_time = 0, GLOBAL general_log = ON, GLOBAL slow_query_log = ON");
        Logs { admin, dir, read: [0; 2], connections: HashMap::new() }
    }

    /// What has been added, in the form of the scripts. Pings, which the runner sends to wait for commands without an answer, are left out; so are
    /// statements that MySQL prepares again for parameters of other types, and how many rows a command has sent: MySQL tells those of the statement before.
    fn news(&mut self) -> String {
        for log in ["GENERAL", "SLOW"] {
            self.admin.query(&format!("FLUSH {log} LOGS"));
        }
        let mut out = String::new();
        for (n, name) in FILES.into_iter().enumerate() {
            let bytes = std::fs::read(self.dir.join(format!("{name}.log"))).expect("the log");
            let text = String::from_utf8_lossy(&bytes[self.read[n]..]).into_owned();
            self.read[n] = bytes.len();
            let mut lines: Vec<String> = text.lines().filter(|line| !is_head(line)).map(str::to_string).collect();
            leave_out(&mut lines);
            for line in &lines {
                let line = self.masked(line);
                let shown = if line.len() > SHOWN_BYTES_MAX { format!("({} bytes)", line.len()) } else { line };
                let _ = writeln!(out, "{name}: {}", shown.escape_debug().to_string().replace("\\\"", "\"").replace("\\'", "'"));
            }
        }
        out
    }

    fn masked(&mut self, line: &str) -> String {
        const TIME_BYTES: usize = "2026-11-27T08:39:22.769393Z".len();
        let mut connection = |id: &str| {
            let next = self.connections.len() + 1;
            format!("#{}", self.connections.entry(id.trim().to_string()).or_insert(next))
        };
        if line.get(10..11) == Some("T") && line.get(TIME_BYTES - 1..TIME_BYTES) == Some("Z") {
            let (_, rest) = line[TIME_BYTES..].split_once('\t').unwrap_or_default();
            let (id, rest) = rest.trim_start().split_once(' ').unwrap_or_default();
            return format!("TIME\t{} {rest}", connection(id));
        }
        if line.starts_with("# Time: ") {
            return "# Time: TIME".to_string();
        }
        if let Some((user, id)) = line.strip_prefix("# User@Host: ").and_then(|rest| rest.split_once("  Id: ")) {
            return format!("# User@Host: {user}  Id: {}", connection(id));
        }
        if line.starts_with("# Query_time: ") {
            let kept = ["Rows_sent", "Errno", "Killed"];
            let words: Vec<&str> = line.split(' ').collect();
            let mut masked = words.clone();
            for (n, pair) in words.windows(2).enumerate() {
                if let Some(name) = pair[0].strip_suffix(':')
                    && !kept.contains(&name)
                {
                    masked[n + 1] = "N";
                }
            }
            return masked.join(" ");
        }
        match line.strip_prefix("SET timestamp=") {
            Some(time) if time.len() == "1795768762;".len() => "SET timestamp=T;".to_string(),
            _ => line.to_string(),
        }
    }

    fn end(mut self) {
        self.admin.query("SET GLOBAL general_log = OFF, GLOBAL slow_query_log = OFF, GLOBAL long_query_time = 10");
        for setting in SETTINGS {
            self.admin.query(&format!("SET GLOBAL {setting}"));
        }
        self.admin.query("SET GLOBAL general_log_file = DEFAULT, GLOBAL slow_query_log_file = DEFAULT");
        self.admin.query("DROP DATABASE logs");
        let _ = std::fs::remove_dir_all(&self.dir);
    }
}

fn leave_out(lines: &mut Vec<String>) {
    const COMMAND: &str = "# administrator command: ";
    while let Some(end) = lines.iter().position(|line| line == &format!("{COMMAND}Ping;")) {
        let begin = lines[..end].iter().rposition(|line| line.starts_with("# Time: ")).unwrap_or(end);
        lines.drain(begin..=end);
    }
    for n in 0..lines.len() {
        if lines[n].starts_with(COMMAND)
            && let Some(times) = lines[..n].iter_mut().rev().find(|line| line.starts_with("# Query_time: "))
            && let Some((before, behind)) = times.split_once("Rows_sent: ")
            && let Some((_, behind)) = behind.split_once(' ')
        {
            *times = format!("{before}Rows_sent: N {behind}");
        }
    }
    let is = |line: &str, command: &str| {
        line.split('\t').nth(1).is_some_and(|rest| rest.trim_start().split_once(' ').is_some_and(|(_, name)| name == command))
    };
    let mut n = 1;
    while n < lines.len() {
        if is(&lines[n], "Execute") && is(&lines[n - 1], "Prepare") {
            lines.remove(n - 1);
        } else {
            n += 1;
        }
    }
}

fn is_head(line: &str) -> bool {
    line.contains("mysqld, Version: ") && line.ends_with("started with:")
        || line.starts_with("Tcp port: ") && line.contains("  Unix socket: ")
        || line == "Time                 Id Command    Argument"
}

pub fn replay(script: &Script, target: &Target) -> String {
    let mut logs = Logs::start(target);
    let mut client: Option<Client> = None;
    let mut ids: HashMap<String, [u8; 4]> = HashMap::new();
    let mut out = String::new();
    for line in script.text.lines() {
        if line.starts_with('#') || line.is_empty() {
            let _ = writeln!(out, "{line}");
        }
        let Some(command) = line.strip_prefix("> ") else { continue };
        let _ = writeln!(out, "> {command}");
        let words: Vec<&str> = command.splitn(3, ' ').collect();
        let id_of = |name: &str| ids.get(name).copied().unwrap_or([99, 0, 0, 0]);
        if let ["connect", user, rest] = words[..] {
            let (password, database) = rest.split_once(' ').expect("a password and a database");
            let connected = match database {
                "-" => Client::connect(target.port, user, password),
                _ => Client::connect_in(target.port, user, password, database),
            };
            if connected.is_err() {
                let _ = writeln!(out, "refused");
            }
            client = connected.ok().or(client);
            out += &logs.news();
            continue;
        }
        let client = client.as_mut().expect("a connection");
        let send = |client: &mut Client, parts: &[&[u8]]| client.command(&parts.concat()).expect("send");
        match words[..] {
            ["prepare", name, sql] => {
                send(client, &[b"\x16", &unescape(sql)]);
                let answer = client.receive().expect("an answer");
                if answer[0] == 0 {
                    let id: [u8; 4] = answer[1..5].try_into().expect("an id");
                    let definitions = u16::from_le_bytes([answer[5], answer[6]]) + u16::from_le_bytes([answer[7], answer[8]]);
                    (0..definitions).for_each(|_| drop(client.receive().expect("a definition")));
                    ids.insert(name.to_string(), id);
                }
            }
            ["bind", name, values] => {
                send(client, &[b"\x17", &id_of(name), &[0, 1, 0, 0, 0], &parameters(values)]);
                read_rows(client);
            }
            ["execute", name, flags] => {
                send(client, &[b"\x17", &id_of(name), &[flags.parse().expect("flags"), 1, 0, 0, 0]]);
                read_rows(client);
            }
            ["fetch", name, rows] => {
                let rows: u32 = rows.parse().expect("rows");
                send(client, &[b"\x1c", &id_of(name), &rows.to_le_bytes()]);
                while !matches!(client.receive().expect("a row").first(), Some(0xfe | 0xff)) {}
            }
            ["reset", name] => {
                send(client, &[b"\x1a", &id_of(name)]);
                client.receive().expect("an answer");
            }
            ["close", name] => {
                send(client, &[b"\x19", &id_of(name)]);
                ping(client);
            }
            ["ping"] => ping(client),
            ["statistics"] => {
                send(client, &[b"\x09"]);
                client.receive().expect("an answer");
            }
            ["init_db", name] => {
                send(client, &[b"\x02", name.as_bytes()]);
                client.receive().expect("an answer");
            }
            ["reset_connection"] => {
                send(client, &[b"\x1f"]);
                client.receive().expect("an answer");
            }
            ["huge", bytes] => {
                let bytes: usize = bytes.parse().expect("bytes");
                client.query(&format!("SELECT '{}'", "x".repeat(bytes - "SELECT ''".len())));
            }
            ["quit"] => {
                send(client, &[b"\x01"]);
                client.wait_for_end();
            }
            _ => {
                send(client, &[b"\x03", &unescape(command)]);
                client.answer().expect("an answer");
                while client.has_more() {
                    client.answer().expect("an answer");
                }
            }
        }
        out += &logs.news();
    }
    logs.end();
    out
}

fn ping(client: &mut Client) {
    client.command(b"\x0e").expect("send");
    client.receive().expect("an answer");
}

/// The answer of a prepared statement, whatever it is.
fn read_rows(client: &mut Client) {
    let first = client.receive().expect("an answer");
    if matches!(first[0], 0 | 0xff) {
        return;
    }
    (0..first[0]).for_each(|_| drop(client.receive().expect("a column")));
    loop {
        let packet = client.receive().expect("a row");
        if packet[0] == 0xfe || packet[0] == 0xff {
            return;
        }
    }
}
