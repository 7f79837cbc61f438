//! Slow query logs.
//!
//! ```text
//! # Time: 2026-11-27T09:00:00.123456Z
//! # User@Host: root[root] @ localhost []  Id:     8
//! # Query_time: 0.000500  Lock_time: 0.000001 Rows_sent: 1  Rows_examined: 1
//! use shop;
//! SET timestamp=1795770000;
//! SELECT 1;
//! ```
//!
//! MariaDB has the id in a line of its own (`# Thread_id: 8  Schema: shop  QC_hit: No`). The time is that of the statement's end.

use std::collections::HashMap;

use crate::recorded::{Action, Builder, Recorded};
use crate::when;

const US_PER_S: f64 = 1e6;

#[derive(Default)]
struct Entry {
    id: u64,
    took_us: u64,
    database: Option<String>,
    text: Vec<u8>,
    is_in_text: bool,
}

pub fn is_one(text: &[u8]) -> bool {
    text.split(|&byte| byte == b'\n').take(100).any(|line| line.starts_with(b"# User@Host: "))
}

pub fn read(text: &[u8], builder: &mut Builder) {
    let mut end_us = 0;
    let mut databases = HashMap::new();
    let mut entry = Entry::default();
    // What stands at the file's beginning, and where the server was started.
    let mut is_outside = true;
    for line in text.split(|&byte| byte == b'\n') {
        let is_start = line.ends_with(b"started with:");
        let is_head = line.starts_with(b"# ") && is_of_head(line);
        if entry.is_in_text && (is_start || is_head) {
            give(end_us, std::mem::take(&mut entry), &mut databases, builder);
        }
        if is_start {
            is_outside = true;
            databases.clear();
            builder.end_all();
        } else if is_head {
            is_outside = false;
            let head = String::from_utf8_lossy(line);
            end_us = time_of(&head).unwrap_or(end_us);
            entry.take_head(&head);
        } else if !is_outside && (!line.is_empty() || entry.is_in_text) {
            entry.take_line(line);
        }
    }
    if entry.is_in_text {
        give(end_us, entry, &mut databases, builder);
    }
}

/// A line that begins like one of a head; a comment of a statement may begin with the sign, too.
fn is_of_head(line: &[u8]) -> bool {
    const NAMES: [&[u8]; 12] = [
        b"# Time: ",
        b"# User@Host: ",
        b"# Query_time: ",
        b"# Thread_id: ",
        b"# Schema: ",
        b"# Rows_affected: ",
        b"# Bytes_sent: ",
        b"# Tmp_table",
        b"# Full_scan: ",
        b"# Filesort: ",
        b"# Stored_routine: ",
        b"# administrator command: ",
    ];
    NAMES.iter().any(|name| line.starts_with(name))
}

fn time_of(head: &str) -> Option<u64> {
    let time = head.strip_prefix("# Time: ")?.trim();
    match time.split_once(' ') {
        Some((date, clock)) => when::short(date, clock),
        None => when::iso(time),
    }
}

/// The word behind a name.
fn behind<'t>(head: &'t str, name: &str) -> Option<&'t str> {
    head.split_once(name)?.1.split_whitespace().next()
}

impl Entry {
    fn take_head(&mut self, head: &str) {
        if let Some(id) = [" Id:", "# Thread_id:"].iter().find_map(|name| behind(head, name)?.parse().ok()) {
            self.id = id;
        }
        if let Some(seconds) = behind(head, "# Query_time:").and_then(|text| text.parse::<f64>().ok()) {
            self.took_us = (seconds * US_PER_S) as u64;
        }
        if let Some(database) = behind(head, " Schema:").filter(|name| !name.ends_with(':')) {
            self.database = Some(database.to_string());
        }
        self.is_in_text |= head.starts_with("# administrator command: ");
    }

    fn take_line(&mut self, line: &[u8]) {
        if self.text.is_empty() {
            let text = String::from_utf8_lossy(line);
            if let Some(database) = text.strip_prefix("use ").and_then(|rest| rest.strip_suffix(';')) {
                self.database = Some(database.trim_matches('`').to_string());
                return;
            }
            if text.starts_with("SET timestamp=") {
                self.is_in_text = true;
                return;
            }
        } else {
            self.text.push(b'\n');
        }
        self.is_in_text = true;
        self.text.extend_from_slice(line);
    }
}

fn give(end_us: u64, entry: Entry, databases: &mut HashMap<u64, String>, builder: &mut Builder) {
    let Entry { id, took_us, database, mut text, .. } = entry;
    while text.last().is_some_and(|last| last.is_ascii_whitespace()) {
        text.pop();
    }
    let text = text.strip_suffix(b";").unwrap_or(&text);
    // A login's end, a dump.
    if text.is_empty() || text.starts_with(b"# administrator command") {
        builder.left_out += 1;
        return;
    }
    let at_us = end_us.saturating_sub(took_us);
    if let Some(database) = database.filter(|name| databases.get(&id) != Some(name)) {
        databases.insert(id, database.clone());
        builder.add(id, Recorded { at_us, action: Action::Use(database), took_us: None });
    }
    builder.add(id, Recorded { at_us, action: Action::Statement(text.to_vec()), took_us: Some(took_us) });
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_all(log: &str) -> Vec<(String, Option<u64>)> {
        assert!(is_one(log.as_bytes()));
        let mut builder = Builder::default();
        read(log.as_bytes(), &mut builder);
        let shown = |recorded: &Recorded| match &recorded.action {
            Action::Use(database) => (format!("USE {database}"), recorded.took_us),
            Action::Statement(text) => (String::from_utf8_lossy(text).into_owned(), recorded.took_us),
        };
        builder.finish().sessions.iter().flat_map(|session| &session.actions).map(shown).collect()
    }

    #[test]
    fn statements_of_mysql_are_read() {
        let log = "/usr/sbin/mysqld, Version: 9.7.0 (x). started with:\nTcp port: 3306  Unix socket: /s\nTime                 Id Command    Argument\n\
            # Time: 2026-11-27T09:00:00.123456Z\n\
            # User@Host: root[root] @ localhost [127.0.0.1]  Id:     8\n\
            # Query_time: 0.000500  Lock_time: 0.000001 Rows_sent: 1  Rows_examined: 1\n\
            use shop;\nSET timestamp=1795770000;\nSELECT 1,\n# a comment\n2;\n\
            # Time: 2026-11-27T09:00:01.000000Z\n\
            # User@Host: root[root] @ localhost []  Id:     8\n\
            # Query_time: 0.250000  Lock_time: 0.000001 Rows_sent: 1  Rows_examined: 1\n\
            SET timestamp=1795770001;\nINSERT INTO t VALUES (';');\n\
            # Time: 2026-11-27T09:00:02.000000Z\n\
            # User@Host: root[root] @ localhost []  Id:     8\n\
            # Query_time: 0.000001  Lock_time: 0.000000 Rows_sent: 0  Rows_examined: 0\n\
            SET timestamp=1795770002;\n# administrator command: Quit;\n\
            /usr/sbin/mysqld, Version: 9.7.0 (x). started with:\nTcp port: 3306  Unix socket: /s\nTime                 Id Command    Argument\n";
        let expected =
            [("USE shop", None), ("SELECT 1,\n# a comment\n2", Some(500)), ("INSERT INTO t VALUES (';')", Some(250_000))];
        assert_eq!(read_all(log), expected.map(|(text, took)| (text.to_string(), took)));
    }

    #[test]
    fn statements_of_mariadb_are_read() {
        let log = "# Time: 261127  9:00:00\n# User@Host: root[root] @ localhost []\n# Thread_id: 8  Schema: shop  QC_hit: No\n\
            # Query_time: 0.000500  Lock_time: 0.000001  Rows_sent: 1  Rows_examined: 1\n# Rows_affected: 0  Bytes_sent: 62\n\
            SET timestamp=1795770000;\nSELECT 1;\n";
        assert_eq!(read_all(log), [("USE shop".to_string(), None), ("SELECT 1".to_string(), Some(500))]);
    }
}
