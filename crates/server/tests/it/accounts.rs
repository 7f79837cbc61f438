//! Accounts: privileges as MySQL answers, passwords and hosts over restarts, limits of connections.

use std::io::Read;
use std::net::TcpStream;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::client::{Answer, Client};
use crate::server::Server;

/// Lines of an answer as the golden file has them.
fn lines(answer: Answer) -> Vec<String> {
    match answer {
        Answer::Ok { .. } => Vec::new(),
        Answer::Err { code, state, text } => vec![format!("{code} {state} {text}")],
        rows => rows.rows().into_iter().map(|row| row.join("\t").replace('\\', "\\\\")).collect(),
    }
}

/// Each statement of the recorded file gets the recorded answer. System databases and accounts differ by server.
#[test]
fn privileges_are_checked_as_mysql_does() {
    let server = Server::start("privileges");
    let text = include_str!("../golden/accounts/privileges.txt");
    let mut root = server.connect();
    let mut lim = None;
    let mut wrong = Vec::new();
    for block in text.split("\n\n") {
        let mut rest = block.lines().filter(|line| !line.starts_with('#'));
        let Some((who, sql)) = rest.next().and_then(|line| line.split_once("> ")) else { continue };
        let expected: Vec<&str> = rest.collect();
        let client = match who {
            "root" => &mut root,
            _ => lim.get_or_insert_with(|| Client::connect(server.port, "va_lim", "x").expect("va_lim connects")),
        };
        let got = lines(client.query(sql));
        if got != expected {
            wrong.push(format!("{block}\n--- got\n{}", got.join("\n")));
        }
    }
    assert!(wrong.is_empty(), "{} differ:\n{}", wrong.len(), wrong.join("\n\n"));
}

#[test]
fn accounts_survive_a_restart_without_client_cnf() {
    let server = Server::start("accounts-restart");
    let mut root = server.connect();
    for sql in [
        "CREATE USER sb IDENTIFIED BY 'sb'",
        "GRANT ALL ON *.* TO sb WITH GRANT OPTION",
        "CREATE USER n@localhost IDENTIFIED WITH mysql_native_password BY 'n'",
    ] {
        assert!(matches!(root.query(sql), Answer::Ok { .. }), "{sql}");
    }
    assert!(matches!(root.query("CREATE USER locked IDENTIFIED BY 'x' ACCOUNT LOCK"), Answer::Ok { .. }));
    let (_, _, dir) = server.terminate();
    std::fs::remove_file(dir.join("client.cnf")).expect("client.cnf was written");
    let server = Server::start_in(dir);
    let mut sb = Client::connect(server.port, "sb", "sb").expect("sb connects");
    assert!(matches!(sb.query("CREATE DATABASE d"), Answer::Ok { .. }));
    assert_eq!(sb.query("SELECT CURRENT_USER()").rows(), [["sb@%"]]);
    Client::connect(server.port, "n", "n").expect("the native plugin works");
    let refused = Client::connect(server.port, "locked", "x").err().expect("refused").to_string();
    assert!(refused.contains("3118"), "{refused}");
    assert!(matches!(sb.query("SET PASSWORD = 'new'"), Answer::Ok { .. }));
    assert!(Client::connect(server.port, "sb", "sb").is_err());
    Client::connect(server.port, "sb", "new").expect("the new password works");
    assert!(!server.dir.join("client.cnf").exists());
}

#[test]
fn wrong_passwords_in_a_row_block_the_account() {
    let server = Server::start("blocked");
    server.connect().query("CREATE USER b IDENTIFIED BY 'b' FAILED_LOGIN_ATTEMPTS 2 PASSWORD_LOCK_TIME 3");
    for _ in 0..2 {
        assert!(Client::connect(server.port, "b", "wrong").is_err());
    }
    let refused = Client::connect(server.port, "b", "b").err().expect("refused").to_string();
    assert!(refused.contains("3955"), "{refused}");
    server.connect().query("ALTER USER b ACCOUNT UNLOCK");
    Client::connect(server.port, "b", "b").expect("unlocked");
}

/// What a refused or expired client is told before the connection ends.
fn last_words(stream: &mut TcpStream, limit: Duration) -> String {
    stream.set_read_timeout(Some(limit)).expect("timeout");
    let mut bytes = Vec::new();
    let _ = stream.read_to_end(&mut bytes);
    String::from_utf8_lossy(&bytes).into_owned()
}

#[test]
fn one_connection_too_many_is_told_so_at_once() {
    let server = Server::start("too-many");
    let mut root = server.connect();
    // The connection that found the server up may still be on its way out.
    let start = Instant::now();
    while root.query("SHOW STATUS LIKE 'Threads_connected'").rows()[0][1] != "1" {
        assert!(start.elapsed() < Duration::from_secs(20), "connections that were closed are still counted");
        std::thread::sleep(Duration::from_millis(5));
    }
    root.query("SET GLOBAL max_connections = 2");
    let _second = server.connect();
    let start = Instant::now();
    let mut third = TcpStream::connect(("127.0.0.1", server.port)).expect("connect");
    assert!(last_words(&mut third, Duration::from_secs(5)).contains("Too many connections"));
    assert!(start.elapsed() < Duration::from_secs(1));
}

#[test]
fn silence_ends_a_session_with_4031() {
    let server = Server::start("silence");
    let mut client = server.connect();
    client.query("SET wait_timeout = 1");
    std::thread::sleep(Duration::from_millis(3_500));
    // Nobody asked: the packet's number begins at 0 again.
    client.expect_seq(0);
    let packet = client.receive().expect("the last words");
    assert_eq!(packet.get(1..3), Some(&4031_u16.to_le_bytes()[..]));
}

#[test]
fn a_second_server_on_the_same_directory_is_refused() {
    let server = Server::start("twice");
    let output = Command::new(env!("CARGO_BIN_EXE_vaquita"))
        .args(["serve", "--port", "0", "--data-dir"])
        .arg(&server.dir)
        .stdout(Stdio::null())
        .output()
        .expect("runs");
    assert!(!output.status.success());
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(text.contains("is in use by another server") && text.contains(&server.dir.display().to_string()), "{text}");
    let (took, well, _) = server.terminate();
    assert!(well && took < Duration::from_secs(5));
}

#[test]
fn options_come_from_the_file_too() {
    let dir = std::env::temp_dir().join(format!("vaquita-it-{}-options", std::process::id()));
    std::fs::create_dir_all(&dir).expect("directory");
    let file = dir.join("vaquita.toml");
    std::fs::write(&file, "data-dir = '/nowhere/at/all'\nporte = 1\n").expect("write");
    let output = Command::new(env!("CARGO_BIN_EXE_vaquita")).args(["serve", "--config"]).arg(&file).output().expect("runs");
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(text.contains("line 2: unknown field `porte`"), "{text}");
    let _ = std::fs::remove_dir_all(&dir);
}
