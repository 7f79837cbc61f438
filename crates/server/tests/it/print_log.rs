//! `vaquita log`: binary logs recorded from MySQL and MariaDB, from files and from a server that speaks just enough to send them.
//!
//! What it prints of each is in `tests/golden/print_log`; `VAQUITA_RECORD=own cargo test -p vaquita-server --test it print_log` writes it anew. What the events
//! and rows mean is tested where they are decoded.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use vaquita_wire::binlog::{EventReader, event_type};

use crate::source::{self, Serves, events_of, recorded};

const RECORDINGS: [&str; 7] = [
    "mysql-control",
    "mysql-numbers",
    "mysql-images",
    "mysql-compressed",
    "mysql-statements",
    "mariadb-control",
    "mariadb-types",
];

/// In the directory of the logs, so that no other path is printed.
fn log(arguments: &[&str]) -> Output {
    let dir = recorded("x");
    Command::new(env!("CARGO_BIN_EXE_vaquita"))
        .current_dir(dir.parent().expect("a directory"))
        .env_remove("MYSQL_PWD")
        .arg("log")
        .args(arguments)
        .output()
        .expect("vaquita runs")
}

fn printed(arguments: &[&str]) -> String {
    let output = log(arguments);
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("UTF-8")
}

#[test]
fn logs_are_printed() {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/print_log");
    for name in RECORDINGS {
        let text = printed(&[&format!("{name}.binlog")]);
        let golden = dir.join(format!("{name}.txt"));
        if std::env::var_os("VAQUITA_RECORD").is_some() {
            std::fs::write(&golden, &text).expect("written");
        }
        let expected = std::fs::read_to_string(&golden).expect("recorded");
        for (nth, (line, expected)) in text.lines().zip(expected.lines()).enumerate() {
            assert_eq!(line, expected, "{name}, line {}", nth + 1);
        }
        assert_eq!(text.len(), expected.len(), "{name}");
    }
}

#[test]
fn what_is_not_wanted_is_not_printed() {
    let all = printed(&["mysql-control.binlog"]);
    let source = all.lines().find_map(|line| line.strip_prefix("SET @@SESSION.GTID_NEXT= '")?.split(':').next()).expect("a GTID");
    let transactions = |text: &str| text.matches("SET @@SESSION.GTID_NEXT=").count();
    let some = printed(&["mysql-control.binlog", "--include-gtids", &format!("{source}:2-4:tag_1:1")]);
    assert_eq!(transactions(&some), 4);
    assert!(some.contains("'tagged'") && !some.contains("DROP TABLE"));
    let others = printed(&["mysql-control.binlog", "--exclude-gtids", &format!("{source}:2-4:tag_1:1")]);
    assert_eq!(transactions(&some) + transactions(&others), transactions(&all));
    let last = positions("mysql-control", event_type::GTID).pop().expect("a transaction").to_string();
    let end = printed(&["mysql-control.binlog", "--start-position", &last]);
    assert!(all.ends_with(&end.lines().skip(1).map(|line| format!("{line}\n")).collect::<String>()));
    let middle = printed(&["mysql-control.binlog", "mysql-numbers.binlog", "--start-position", &last, "--stop-position", "158"]);
    assert!(middle.starts_with(&end) && middle.len() > end.len() && !middle.contains("CREATE TABLE ints"));
    assert!(!log(&["mysql-control.binlog", "--include-gtids", "x"]).status.success());
}

#[test]
fn damage_is_named_by_file_and_position() {
    let dir = tempdir("damage");
    let whole = std::fs::read(recorded("mysql-numbers")).expect("recorded");
    let fails = |name: &str, bytes: &[u8], message: &str| {
        let file = dir.join(name);
        std::fs::write(&file, bytes).expect("written");
        let output = log(&[file.to_str().expect("UTF-8")]);
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && stderr.contains(&format!("{} {message}", file.display())), "{stderr}");
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    // The second description of a table.
    let at = positions("mysql-numbers", event_type::TABLE_MAP)[1];
    let byte = at as usize + 30;
    let mut changed = whole.clone();
    changed[byte] ^= 1;
    let shown = fails("changed", &changed, &format!("at {at}: the checksum is "));
    assert!(
        shown.contains("INSERT INTO `binlog_golden`.`ints`") && !shown.contains("`decimals`"),
        "what is in front of it is shown"
    );
    fails("cut", &whole[..byte], &format!("at {at}: the log ends inside an event"));
    fails("header", &[&whole[..at as usize], &[0; 40]].concat(), &format!("at {at}: malformed header of an event"));
    fails("text", b"no log", "at 0: this is no binary log");
    fails("empty", b"", "at 0: this is no binary log");
    fails("encrypted", b"\xfdbinxyz", "at 0: an encrypted binary log cannot be read");
    std::fs::remove_dir_all(dir).expect("removed");
}

/// Where the events of a type begin.
fn positions(name: &str, code: u8) -> Vec<u64> {
    let mut reader = EventReader::of_file();
    reader.feed(&std::fs::read(recorded(name)).expect("recorded"));
    let mut found = Vec::new();
    while let Some(raw) = reader.next_event().expect("a log") {
        if raw.header.event_type == code {
            found.push(raw.position);
        }
    }
    found
}

fn tempdir(name: &str) -> PathBuf {
    let dir = std::env::temp_dir().join(format!("vaquita-print-log-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&dir).expect("created");
    dir
}

#[test]
fn logs_are_read_from_a_server() {
    let from_file = printed(&["mysql-images.binlog"]);
    let events = events_of("mysql-images", None);
    let (port, asked) = source::start(Serves { version: "9.7.4", events, ends: true, breaks: Vec::new() });
    let port_text = port.to_string();
    let remote = |name: &str| log(&["--read-from-remote-server", "--port", &port_text, name]);
    let output = remote("binlog.000004");
    let asked = asked.lock().expect("not poisoned").clone();
    let text = String::from_utf8(output.stdout).expect("UTF-8");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(text.lines().next(), Some(&*format!("# binlog.000004 of 127.0.0.1:{port}. Times are UTC.")));
    assert!(text.lines().skip(1).eq(from_file.lines().skip(1)));
    assert_eq!(asked.last().map(|dump| &dump[..]), Some(&b"\x12\x04\0\0\0\x01\0\0\0\0\0binlog.000004"[..]));
    let gone = remote("binlog.000004");
    assert!(!gone.status.success() && String::from_utf8_lossy(&gone.stderr).contains(&format!("127.0.0.1:{port}'")));
}
