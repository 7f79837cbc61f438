//! `vaquita bench replay`: what a log has is run in the sessions that it has, and told.

use std::process::Command;

use crate::client::Answer;
use crate::server::{PASSWORD, Server};

const LOG: &str = "2026-11-27T09:00:00.000001Z\t    8 Connect\troot@localhost on  using TCP/IP
2026-11-27T09:00:00.000002Z\t    9 Connect\troot@localhost on shop using TCP/IP
2026-11-27T09:00:00.000003Z\t    8 Init DB\tshop
2026-11-27T09:00:00.000004Z\t    8 Query\tINSERT INTO item VALUES (1, 'a
b')
2026-11-27T09:00:00.100005Z\t    9 Query\tCALL pair()
2026-11-27T09:00:00.100006Z\t    9 Query\tSELECT * FROM nowhere
2026-11-27T09:00:00.100007Z\t    9 Execute\tUPDATE item SET name = 'c' WHERE id = 2
2026-11-27T09:00:00.100008Z\t    8 Quit\t
";

#[test]
fn a_recording_runs_in_its_sessions() {
    let server = Server::start("replay");
    let mut client = server.connect();
    for statement in [
        "CREATE DATABASE shop",
        "CREATE TABLE shop.item (id INT PRIMARY KEY, name VARCHAR(20))",
        "INSERT INTO shop.item VALUES (2, 'b')",
        "CREATE PROCEDURE shop.pair() BEGIN SELECT 1; SELECT 2 UNION ALL SELECT 3; END",
    ] {
        assert!(matches!(client.query(statement), Answer::Ok { .. }), "{statement}");
    }
    let log = server.dir.with_extension("beside").join("general.log");
    std::fs::create_dir_all(log.parent().unwrap()).unwrap();
    std::fs::write(&log, LOG).unwrap();
    let address = format!("mysql://root@127.0.0.1:{}", server.port);
    let mut command = Command::new(env!("CARGO_BIN_EXE_vaquita"));
    command
        .args(["bench", "replay", "--to", &address, "--against", &address, "--speed", "0.9"])
        .arg(&log)
        .env("MYSQL_PWD", PASSWORD);
    let output = command.output().expect("vaquita runs");
    let text = [String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr)].concat();
    assert!(output.status.success(), "{text}");
    for part in ["2 sessions, 4 statements", "1 times error 1146", "1 times error 1062", "CALL", "0 sessions were lost"] {
        assert!(text.contains(part), "{part} is not in {text}");
    }
    // Of the procedure's two results.
    let call = text.lines().skip_while(|line| !line.starts_with("CALL")).nth(2).unwrap_or_default();
    assert_eq!(call.split_whitespace().nth(3), Some("3"), "{text}");
    let rows = client.query("SELECT name FROM shop.item ORDER BY id").rows();
    assert_eq!(rows.iter().map(|row| row[0].trim_end()).collect::<Vec<_>>(), ["a\nb", "c"]);
}
