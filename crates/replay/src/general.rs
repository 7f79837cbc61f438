//! General logs.
//!
//! ```text
//! 2026-11-27T09:00:00.123456Z→    8 Connect→root@localhost on shop using TCP/IP
//! 2026-11-27T09:00:00.123789Z→    8 Query→SELECT 1
//! 261127  9:00:00→    8 Query→SELECT 1          (MariaDB; without a time where the second is the same)
//! ```
//!
//! An arrow is a tab. A line that does not begin like these belongs to the statement before. A statement that was prepared has two entries, and the second,
//! `Execute`, has its values.

use crate::recorded::{Action, Builder, Recorded};
use crate::when;

struct Entry<'t> {
    at_us: Option<u64>,
    id: u64,
    command: &'t str,
    argument: &'t [u8],
}

/// A line that begins an entry.
fn entry(line: &[u8]) -> Option<Entry<'_>> {
    let mut fields = line.splitn(3, |&byte| byte == b'\t');
    let mut time = std::str::from_utf8(fields.next()?).ok()?;
    let mut who = fields.next()?;
    let mut argument = fields.next().unwrap_or_default();
    if time.is_empty() && who.is_empty() {
        // MariaDB has two tabs where it leaves the time out.
        (who, argument) = split_tab(argument);
    }
    time = time.trim();
    let at_us = match time.split_once(' ') {
        Some((date, clock)) => Some(when::short(date, clock)?),
        None if time.is_empty() => None,
        None => Some(when::iso(time)?),
    };
    let (id, command) = std::str::from_utf8(who).ok()?.trim_start().split_once(' ')?;
    let is_command = command.starts_with(|first: char| first.is_ascii_uppercase());
    is_command.then_some(Entry { at_us, id: id.parse().ok()?, command, argument })
}

fn split_tab(bytes: &[u8]) -> (&[u8], &[u8]) {
    let at = bytes.iter().position(|&byte| byte == b'\t');
    at.map_or((bytes, &[][..]), |at| (&bytes[..at], &bytes[at + 1..]))
}

/// The lines of a server's start, which stand before its first entry.
fn is_start(line: &[u8]) -> bool {
    line.ends_with(b"started with:")
}

pub fn is_one(text: &[u8]) -> bool {
    text.split(|&byte| byte == b'\n').take(100).any(|line| entry(line).is_some())
}

pub fn read(text: &[u8], builder: &mut Builder) {
    let mut at_us = 0;
    let mut open: Option<(u64, &str, Vec<u8>)> = None;
    let mut in_head = false;
    let lines = text.strip_suffix(b"\n").unwrap_or(text).split(|&byte| byte == b'\n');
    for line in lines {
        if let Some(found) = entry(line) {
            give(at_us, open.take(), builder);
            in_head = false;
            at_us = found.at_us.unwrap_or(at_us);
            open = Some((found.id, found.command, found.argument.to_vec()));
        } else if is_start(line) {
            give(at_us, open.take(), builder);
            builder.end_all();
            in_head = true;
        } else if let Some((_, _, argument)) = open.as_mut().filter(|_| !in_head) {
            argument.push(b'\n');
            argument.extend_from_slice(line);
        }
    }
    give(at_us, open, builder);
}

fn give(at_us: u64, open: Option<(u64, &str, Vec<u8>)>, builder: &mut Builder) {
    let Some((id, command, argument)) = open else { return };
    let action = match command {
        "Connect" => {
            builder.begin(id);
            database_of_login(&argument).map(Action::Use)
        }
        "Query" | "Execute" => Some(Action::Statement(argument)),
        "Init DB" => Some(Action::Use(String::from_utf8_lossy(&argument).into_owned())),
        "Quit" => {
            builder.end(id);
            return;
        }
        // Its execution follows.
        "Prepare" | "Close stmt" => return,
        _ => {
            builder.left_out += 1;
            return;
        }
    };
    if let Some(action) = action {
        builder.add(id, Recorded { at_us, action, took_us: None });
    }
}

/// `root@localhost on shop using TCP/IP`; MariaDB has no `using`.
fn database_of_login(argument: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(argument);
    let (_, behind) = text.split_once(" on ")?;
    let database = behind.split_once(" using ").map_or(behind, |(database, _)| database).trim();
    (!database.is_empty()).then(|| database.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn statements(log: &str) -> Vec<Vec<String>> {
        let mut builder = Builder::default();
        assert!(is_one(log.as_bytes()));
        read(log.as_bytes(), &mut builder);
        let shown = |action: &Action| match action {
            Action::Use(database) => format!("USE {database}"),
            Action::Statement(text) => String::from_utf8_lossy(text).into_owned(),
        };
        let sessions = builder.finish().sessions;
        sessions.iter().map(|session| session.actions.iter().map(|recorded| shown(&recorded.action)).collect()).collect()
    }

    #[test]
    fn sessions_of_mysql_are_read() {
        let log = "/usr/sbin/mysqld, Version: 9.7.0 (x). started with:\n\
            Tcp port: 3306  Unix socket: /s\n\
            Time                 Id Command    Argument\n\
            2026-11-27T09:00:00.000001Z\t    8 Connect\troot@localhost on shop using TCP/IP\n\
            2026-11-27T09:00:00.000002Z\t    9 Connect\troot@localhost on  using Socket\n\
            2026-11-27T09:00:00.000003Z\t    8 Query\tSELECT 'a\n\
            2026 is no time\n\tb'\n\
            2026-11-27T09:00:00.000004Z\t    9 Prepare\tSELECT ?\n\
            2026-11-27T09:00:00.000005Z\t    9 Execute\tSELECT 5\n\
            2026-11-27T09:00:00.000006Z\t    8 Init DB\tother\n\
            2026-11-27T09:00:00.000007Z\t    8 Quit\t\n\
            2026-11-27T09:00:00.000008Z\t    8 Connect\troot@localhost on  using TCP/IP\n\
            2026-11-27T09:00:00.000009Z\t    8 Query\tSELECT 2\n";
        let found = statements(log);
        assert_eq!(found[0], ["USE shop", "SELECT 'a\n2026 is no time\n\tb'", "USE other"]);
        assert_eq!(found[1..], [vec!["SELECT 5"], vec!["SELECT 2"]]);
    }

    #[test]
    fn sessions_of_mariadb_are_read() {
        let log = "261127  9:00:00\t     4 Connect\troot@localhost on shop\n\
            \t\t     4 Query\tSELECT 1\n\
            261127  9:00:01\t     4 Query\tSELECT 2\n\
            \t\t     4 Quit\t\n";
        assert_eq!(statements(log), [["USE shop", "SELECT 1", "SELECT 2"]]);
    }
}
