//! Accounts: privileges as MySQL answers, passwords and hosts over restarts, limits of connections.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use vaquita_scripts::Record;

use crate::client::{Answer, Client};
use crate::server::{PASSWORD, Server, free_port};

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

/// Error 3638 for a password of before the restart.
#[test]
fn used_passwords_survive_a_restart() {
    let server = Server::start("used-passwords");
    let mut root = server.connect();
    for sql in ["CREATE USER h IDENTIFIED BY 'a' PASSWORD HISTORY 2", "ALTER USER h IDENTIFIED BY 'b'"] {
        assert!(matches!(root.query(sql), Answer::Ok { .. }), "{sql}");
    }
    let server = Server::start_in(server.kill());
    let mut root = server.connect();
    assert!(matches!(root.query("ALTER USER h IDENTIFIED BY 'a'"), Answer::Err { code: 3638, .. }));
    assert!(matches!(root.query("ALTER USER h IDENTIFIED BY 'b'"), Answer::Err { code: 3638, .. }));
    assert!(matches!(root.query("ALTER USER h IDENTIFIED BY 'c'"), Answer::Ok { .. }));
    assert!(matches!(root.query("ALTER USER h IDENTIFIED BY 'a'"), Answer::Ok { .. }));
}

/// EXECUTE and ALTER ROUTINE of who creates a routine come and go in one commit with it.
#[test]
fn privileges_of_a_routine_survive_a_crash_with_it() {
    let server = Server::start("routine-privileges");
    let mut root = server.connect();
    for sql in ["CREATE DATABASE d", "CREATE USER c IDENTIFIED BY 'x'", "GRANT CREATE ROUTINE ON d.* TO c"] {
        assert!(matches!(root.query(sql), Answer::Ok { .. }), "{sql}");
    }
    let mut creator = Client::connect(server.port, "c", "x").expect("c connects");
    for sql in ["CREATE PROCEDURE d.Kept() DO 1", "CREATE PROCEDURE d.gone() DO 1", "DROP PROCEDURE d.gone"] {
        assert!(matches!(creator.query(sql), Answer::Ok { .. }), "{sql}");
    }
    let server = Server::start_in(server.kill());
    let listed = server.connect().query("SELECT User, Routine_name, Routine_type, Proc_priv FROM mysql.procs_priv").rows();
    assert_eq!(listed, [["c", "Kept", "PROCEDURE", "Execute,Alter Routine"]]);
    let mut creator = Client::connect(server.port, "c", "x").expect("c connects");
    for sql in ["CALL d.kept()", "DROP PROCEDURE d.kept"] {
        assert!(matches!(creator.query(sql), Answer::Ok { .. }), "{sql}");
    }
    assert!(server.connect().query("SELECT * FROM mysql.procs_priv").rows().is_empty());
}

/// What a login is refused with.
fn refused(port: u16, user: &str, password: &str) -> String {
    Client::connect(port, user, password).err().expect("refused").to_string()
}

/// The last attempt that is allowed, and from then on every one, is told of the block: a right password as a wrong one.
#[test]
fn wrong_passwords_in_a_row_block_the_account() {
    let server = Server::start("blocked");
    server.connect().query("CREATE USER b IDENTIFIED BY 'b' FAILED_LOGIN_ATTEMPTS 2 PASSWORD_LOCK_TIME 3");
    let first = refused(server.port, "b", "wrong");
    assert!(first.contains("1045"), "{first}");
    let block = "3955, state: \"HY000\", text: \"Access denied for user 'b'@'localhost'. Account is blocked for 3 day(s) (3 day(s) \
                 remaining) due to 2 consecutive failed logins.\"";
    for password in ["wrong", "wrong", "b", ""] {
        let answer = refused(server.port, "b", password);
        assert!(answer.contains(block), "{password}: {answer}");
    }
    server.connect().query("ALTER USER b ACCOUNT UNLOCK");
    Client::connect(server.port, "b", "b").expect("unlocked");
    server.connect().query("ALTER USER b ACCOUNT LOCK");
    assert!(refused(server.port, "b", "wrong").contains("1045"));
    assert!(refused(server.port, "b", "b").contains("3118"));
}

#[test]
fn sessions_of_a_dropped_account_may_do_nothing_more() {
    let server = Server::start("dropped");
    let mut root = server.connect();
    for sql in ["CREATE DATABASE d", "CREATE TABLE d.t (a INT)", "CREATE ROLE r", "GRANT ALL ON *.* TO r"] {
        root.query(sql);
    }
    for (user, rights) in [("g", "ALL ON *.*"), ("d", "ALL ON d.*"), ("t", "SELECT ON d.t"), ("r1", "r")] {
        root.query(&format!("CREATE USER {user}"));
        root.query(&format!("GRANT {rights} TO {user}"));
        let mut session = Client::connect(server.port, user, "").expect("connect");
        session.query("SET ROLE ALL");
        assert_eq!(session.query("SELECT COUNT(*) FROM d.t").rows(), [["0"]], "{user}");
        let prepared = session.query("PREPARE s FROM 'SELECT COUNT(*) FROM d.t'");
        assert!(matches!(prepared, Answer::Ok { .. }));
        let statement = if user == "d" { format!("RENAME USER {user} TO other") } else { format!("DROP USER {user}") };
        root.query(&statement);
        for sql in ["SELECT COUNT(*) FROM d.t", "EXECUTE s"] {
            let answer = session.query(sql);
            assert!(matches!(answer, Answer::Err { code: 1142, .. }), "{user}: {sql}: {answer:?}");
        }
        for sql in ["CREATE USER x", "GRANT SELECT ON *.* TO g", "DROP TABLE d.t", "SET GLOBAL max_connections = 5"] {
            assert!(matches!(session.query(sql), Answer::Err { .. }), "{user}: {sql}");
        }
    }
}

/// As MySQL counts and answers.
#[test]
fn limits_of_an_account_hold() {
    let server = Server::start("limits");
    let mut root = server.connect();
    for (user, limit) in [
        ("q", "WITH MAX_QUERIES_PER_HOUR 4"),
        ("u", "WITH MAX_UPDATES_PER_HOUR 2"),
        ("c", "WITH MAX_CONNECTIONS_PER_HOUR 2"),
        ("n", "WITH MAX_USER_CONNECTIONS 1"),
        ("free", ""),
    ] {
        root.query(&format!("CREATE USER {user} {limit}"));
    }
    for sql in ["CREATE DATABASE d", "CREATE TABLE d.t (a INT)", "GRANT ALL ON d.* TO u"] {
        root.query(sql);
    }
    let limit = |answer: Answer| match answer {
        Answer::Err { code: 1226, text, .. } => text,
        other => panic!("1226 expected: {other:?}"),
    };
    let mut q = Client::connect(server.port, "q", "").expect("q");
    for sql in ["SELECT 1", "SELEC 2", "SELECT 1", "PREPARE s FROM 'SELECT 1'", "EXECUTE s"] {
        assert_eq!(matches!(q.query(sql), Answer::Err { .. }), sql == "SELEC 2", "{sql}");
    }
    for sql in ["SELECT 1", "EXECUTE s"] {
        assert_eq!(limit(q.query(sql)), "User 'q' has exceeded the 'max_questions' resource (current value: 4)");
    }
    let mut again = Client::connect(server.port, "q", "").expect("logs in, but");
    limit(again.query("SELECT 1"));
    root.query("FLUSH USER_RESOURCES");
    assert_eq!(again.query("SELECT 1").rows(), [["1"]]);

    let mut u = Client::connect(server.port, "u", "").expect("u");
    for sql in ["INSERT INTO d.t VALUES (1)", "SELECT 1", "UPDATE d.t SET a = 2", "SELECT 2"] {
        assert!(!matches!(u.query(sql), Answer::Err { .. }), "{sql}");
    }
    assert_eq!(limit(u.query("DELETE FROM d.t")), "User 'u' has exceeded the 'max_updates' resource (current value: 2)");
    assert_eq!(u.query("SELECT a FROM d.t").rows(), [["2"]]);

    for _ in 0..2 {
        Client::connect(server.port, "c", "").expect("two connections in an hour");
    }
    let third = refused(server.port, "c", "");
    assert!(third.contains("User 'c' has exceeded the 'max_connections_per_hour' resource (current value: 2)"), "{third}");

    let _one = Client::connect(server.port, "n", "").expect("one at once");
    let second = refused(server.port, "n", "");
    assert!(second.contains("User 'n' has exceeded the 'max_user_connections' resource (current value: 1)"), "{second}");
    root.query("SET GLOBAL max_user_connections = 1");
    let _free = Client::connect(server.port, "free", "").expect("one at once");
    let second = refused(server.port, "free", "");
    assert!(second.contains("1203") && second.contains("User free already has more than 'max_user_connections'"), "{second}");
}

#[test]
fn user_privileges_shows_others_to_those_who_read_the_accounts() {
    let server = Server::start("user-privileges");
    let mut root = server.connect();
    root.query("CREATE USER nop, reader");
    root.query("GRANT SELECT ON mysql.* TO reader");
    let grantees = |user: &str| {
        let mut client = Client::connect(server.port, user, "").expect("connect");
        let rows = client.query("SELECT DISTINCT grantee FROM information_schema.user_privileges ORDER BY 1").rows();
        rows.into_iter().flatten().collect::<Vec<_>>()
    };
    assert_eq!(grantees("nop"), ["'nop'@'%'"]);
    assert_eq!(grantees("reader"), ["'mysql.sys'@'localhost'", "'nop'@'%'", "'reader'@'%'", "'root'@'localhost'"]);
}

/// The owner of the server's process is root without a password; otherwise a Unix socket asks as every transport does.
#[test]
fn the_unix_socket_asks_for_passwords() {
    let server = Server::start("unix-socket");
    let path = server.dir.join("vaquita.sock");
    server.connect().query("CREATE USER sb IDENTIFIED BY 'sb'");
    let mut owner = Client::connect_unix(&path, "root", "").expect("the owner");
    assert_eq!(owner.query("SELECT CURRENT_USER()").rows(), [["root@localhost"]]);
    Client::connect_unix(&path, "root", crate::server::PASSWORD).expect("the right password");
    let mut sb = Client::connect_unix(&path, "sb", "sb").expect("another account");
    assert_eq!(sb.query("SELECT CURRENT_USER()").rows(), [["sb@%"]]);
    for (user, password) in [("root", "wrong"), ("sb", "wrong"), ("sb", ""), ("nobody", "")] {
        let answer = Client::connect_unix(&path, user, password).err().expect("refused").to_string();
        assert!(answer.contains("1045"), "{user} {password}: {answer}");
    }
}

/// What a refused or expired client is told before the connection ends.
fn last_words(stream: &mut TcpStream, limit: Duration) -> String {
    stream.set_read_timeout(Some(limit)).expect("timeout");
    let mut bytes = Vec::new();
    let _ = stream.read_to_end(&mut bytes);
    String::from_utf8_lossy(&bytes).into_owned()
}

#[test]
fn connections_beyond_the_last_are_told_so_and_the_last_is_an_administrators() {
    let server = Server::start("too-many");
    let mut root = server.connect();
    // The connection that found the server up may still be on its way out.
    let start = Instant::now();
    while root.query("SHOW STATUS LIKE 'Threads_connected'").rows()[0][1] != "1" {
        assert!(start.elapsed() < Duration::from_secs(20), "connections that were closed are still counted");
        std::thread::sleep(Duration::from_millis(5));
    }
    root.query("SET GLOBAL max_connections = 2");
    root.query("CREATE USER plain");
    let _second = server.connect();
    let error = Client::connect(server.port, "plain", "").err().expect("refused").to_string();
    assert!(error.contains("1040") && error.contains("08004"), "{error}");
    // The server may not have noticed yet that the refused one is gone.
    let start = Instant::now();
    let _administrator = loop {
        match Client::connect(server.port, "root", PASSWORD) {
            Ok(client) => break client,
            Err(error) => assert!(start.elapsed() < Duration::from_secs(20), "{error}"),
        }
    };
    let mut fourth = TcpStream::connect(("127.0.0.1", server.port)).expect("connect");
    assert!(last_words(&mut fourth, Duration::from_secs(5)).contains("Too many connections"));
}

#[test]
fn the_admin_address_is_open_when_there_are_too_many_connections() {
    let admin_port = free_port().to_string();
    let server = Server::start_with("admin", &["--admin-address", "127.0.0.1", "--admin-port", &admin_port]);
    let admin_port: u16 = admin_port.parse().expect("a port");
    let mut root = server.connect();
    assert_eq!(root.query("SELECT @@admin_address, @@admin_port").rows(), [["127.0.0.1".to_string(), admin_port.to_string()]]);
    root.query("CREATE USER plain, operator");
    root.query("GRANT SERVICE_CONNECTION_ADMIN ON *.* TO operator");
    root.query("SET GLOBAL max_connections = 1");
    let silent: Vec<_> = (0..4).map(|_| TcpStream::connect(("127.0.0.1", server.port)).expect("connect")).collect();
    let error = Client::connect(server.port, "root", PASSWORD).err().expect("refused").to_string();
    assert!(error.contains("1040"), "{error}");
    for _ in 0..2 {
        let mut operator = Client::connect(admin_port, "operator", "").expect("an administrator");
        assert_eq!(operator.query("SELECT 1").rows(), [["1"]]);
    }
    let error = Client::connect(admin_port, "plain", "").err().expect("refused").to_string();
    assert!(error.contains("1227") && error.contains("42000") && error.contains("SERVICE_CONNECTION_ADMIN"), "{error}");
    drop(silent);
}

/// A client that logs in may be silent for so long each time, not in all.
#[test]
fn connect_timeout_is_for_each_wait() {
    let server = Server::start_with("connect-timeout", &["--connect-timeout", "3"]);
    let connect = || {
        let mut socket = TcpStream::connect(("127.0.0.1", server.port)).expect("connect");
        socket.set_read_timeout(Some(Duration::from_secs(20))).expect("a time-out");
        let mut greeting = [0; 256];
        assert!(socket.read(&mut greeting).expect("a greeting") > 0);
        socket
    };
    let (mut silent, mut slow) = (connect(), connect());
    // A packet of three bytes, which is no answer to a greeting, and takes longer than three seconds.
    for bytes in [&[3, 0, 0][..], &[1, 0], &[0, 0]] {
        std::thread::sleep(Duration::from_millis(1_600));
        slow.write_all(bytes).expect("open");
    }
    let mut answer = Vec::new();
    slow.read_to_end(&mut answer).expect("an error");
    assert_eq!(answer.get(5..7), Some(&1043_u16.to_le_bytes()[..]), "{answer:?}");
    assert_eq!(silent.read(&mut [0; 16]).expect("closed"), 0);
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

/// Session variables that an account without privileges may not set, with MySQL's answers: to their values, and to DEFAULT.
/// To record again: `VAQUITA_RECORD=127.0.0.1:13306:user:password cargo test -p vaquita-server --test it restricted_session`.
#[test]
fn restricted_session_variables_are_mysqls() {
    let file = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/accounts/variables.txt");
    let recorded = Record::from_env().mysql();
    let server = recorded.is_none().then(|| Server::start("restricted-variables"));
    let (port, mut root) = match (&server, &recorded) {
        (Some(server), _) => (server.port, server.connect()),
        (None, Some(target)) => (target.port, Client::connect(target.port, &target.user, &target.password).expect("connect")),
        (None, None) => unreachable!(),
    };
    for sql in ["DROP USER IF EXISTS va_nop", "CREATE USER va_nop"] {
        root.query(sql);
    }
    let mut nop = Client::connect(port, "va_nop", "").expect("connect");
    let names: Vec<String> = nop.query("SHOW SESSION VARIABLES").rows().into_iter().map(|mut row| row.swap_remove(0)).collect();
    let mut got = Vec::new();
    for name in &names {
        for value in ["DEFAULT", &format!("@@SESSION.{name}")] {
            let sql = format!("SET SESSION {name} = {value}");
            if let Answer::Err { code: 1227, text, .. } = nop.query(&sql) {
                got.push(format!("{sql}: {text}"));
            }
        }
    }
    root.query("DROP USER va_nop");
    if recorded.is_some() {
        return std::fs::write(file, got.join("\n") + "\n").expect("write");
    }
    let text = std::fs::read_to_string(file).expect("read");
    let known = |line: &&str| line.split(' ').nth(2).is_some_and(|name| names.iter().any(|n| n == name));
    let expected: Vec<&str> = text.lines().filter(known).collect();
    assert!(expected.len() > 60, "{}", expected.len());
    assert_eq!(got, expected);
}

/// IDENTIFIED BY RANDOM PASSWORD and SET PASSWORD TO RANDOM tell what they have made, and it lets the account in.
#[test]
fn random_passwords_let_their_accounts_in() {
    let server = Server::start("random-passwords");
    let mut root = server.connect();
    let made = |root: &mut Client, sql: &str, users: &[&str], chars: usize| {
        let rows = root.query(sql).rows();
        assert_eq!(rows.iter().map(|row| row[0].as_str()).collect::<Vec<_>>(), users, "{sql}");
        for row in rows {
            assert_eq!((row[1].as_str(), row[2].len(), row[3].as_str()), ("%", chars, "1"), "{sql}");
            assert_eq!(Client::connect(server.port, &row[0], &row[2]).map(drop).map_err(|e| e.to_string()), Ok(()), "{sql}");
        }
    };
    let by = "IDENTIFIED BY RANDOM PASSWORD";
    made(
        &mut root,
        &format!("CREATE USER a {by}, b IDENTIFIED BY 'x', c IDENTIFIED WITH caching_sha2_password BY RANDOM PASSWORD"),
        &["a", "c"],
        20,
    );
    made(&mut root, &format!("CREATE USER IF NOT EXISTS a {by}, d {by}"), &["d"], 20);
    root.query("SET generated_random_password_length = 30");
    made(&mut root, &format!("ALTER USER a {by}, b {by}"), &["a", "b"], 30);
    made(&mut root, "SET PASSWORD FOR a TO RANDOM", &["a"], 30);
    root.query(&format!("PREPARE s FROM 'ALTER USER a {by}'"));
    made(&mut root, "EXECUTE s", &["a"], 30);
    let Answer::Err { code, .. } = root.query(&format!("ALTER USER a {by} REPLACE 'x'")) else { panic!("an error expected") };
    assert_eq!(code, 3893);
}

/// Each role is looked for among all accounts.
#[test]
fn many_roles_of_one_statement_end_when_it_is_killed() {
    let server = Server::start("many-roles");
    let mut busy = server.connect();
    let id = busy.query("SELECT CONNECTION_ID()").rows()[0][0].clone();
    let roles = |from: usize, to: usize| (from..to).map(|n| format!("r{n}")).collect::<Vec<_>>().join(",");
    busy.query(&format!("CREATE ROLE {}", roles(0, 5000)));
    let grant = format!("GRANT {} TO {}", roles(0, 4000), roles(4000, 5000));
    let running = std::thread::spawn(move || busy.query(&grant));
    std::thread::sleep(Duration::from_secs(2));
    server.connect().query(&format!("KILL QUERY {id}"));
    assert!(format!("{:?}", running.join().expect("an answer")).contains("code: 1317"));
}

#[test]
fn many_passwords_of_one_statement_end_when_it_is_killed() {
    let server = Server::start("many-passwords");
    let mut busy = server.connect();
    let id = busy.query("SELECT CONNECTION_ID()").rows()[0][0].clone();
    let users: Vec<String> = (0..20_000).map(|n| format!("u{n} IDENTIFIED BY 'x'")).collect();
    let running = std::thread::spawn(move || busy.query(&format!("CREATE USER {}", users.join(","))));
    std::thread::sleep(std::time::Duration::from_secs(2));
    let mut root = server.connect();
    root.query(&format!("KILL QUERY {id}"));
    assert!(format!("{:?}", running.join().expect("an answer")).contains("code: 1317"));
    assert_eq!(root.query("SELECT COUNT(*) FROM mysql.user WHERE user LIKE 'u%'").rows()[0][0], "0");
}

/// Who does not administer the server goes, and does not come in.
#[test]
fn offline_mode_is_for_administrators() {
    let server = Server::start("offline-mode");
    let mut root = server.connect();
    for sql in
        ["CREATE USER va_off IDENTIFIED BY 'x'", "CREATE USER va_on IDENTIFIED BY 'x'", "GRANT CONNECTION_ADMIN ON *.* TO va_on"]
    {
        assert!(matches!(root.query(sql), Answer::Ok { .. }), "{sql}");
    }
    let connect = |user: &str| Client::connect(server.port, user, "x");
    let (mut other, mut administrator) = (connect("va_off").expect("va_off connects"), connect("va_on").expect("va_on connects"));
    assert_eq!(lines(other.query("SELECT 1")), ["1"]);
    assert!(matches!(root.query("SET GLOBAL offline_mode = ON"), Answer::Ok { .. }));
    assert_eq!(lines(administrator.query("SELECT 1")), ["1"]);
    assert!(!matches!(other.try_query("SELECT 1"), Ok(Answer::Rows { .. })), "the connection is closed");
    let refused = connect("va_off").err().map(|error| error.to_string()).unwrap_or_default();
    assert!(refused.contains("3032"), "{refused}");
    assert_eq!(lines(connect("va_on").expect("administrators come in").query("SELECT 1")), ["1"]);
    assert!(matches!(root.query("SET GLOBAL offline_mode = OFF"), Answer::Ok { .. }));
    assert_eq!(lines(connect("va_off").expect("all come in").query("SELECT 1")), ["1"]);
}

/// A client for which `init_connect` fails does not go on; administrators can repair it.
#[test]
fn init_connect_that_fails_lets_nobody_in_but_administrators() {
    let server = Server::start("init-connect");
    let mut root = server.connect();
    for sql in ["CREATE USER va_ic IDENTIFIED BY 'x'", "SET GLOBAL init_connect = 'SET @a = 1; SELECT nothing'"] {
        assert!(matches!(root.query(sql), Answer::Ok { .. }), "{sql}");
    }
    let refused = Client::connect(server.port, "va_ic", "x").err().map(|error| error.to_string()).unwrap_or_default();
    assert!(refused.contains("1184") && refused.contains("init_connect command failed"), "{refused}");
    assert_eq!(lines(server.connect().query("SELECT @a")), ["NULL"]);
    assert!(matches!(root.query("SET GLOBAL init_connect = 'SET @a = 1'"), Answer::Ok { .. }));
    assert_eq!(lines(Client::connect(server.port, "va_ic", "x").expect("connects").query("SELECT @a")), ["1"]);
}
