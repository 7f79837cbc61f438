//! The logs of statements beside what MySQL writes to them (`scripts`, suite `logs`): their files and tables, what cannot be written, and the audit log.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::client::{Answer, Client};
use crate::server::Server;

/// A log is written by a thread of its own.
const WRITTEN_S_MAX: u64 = 60;

fn run(client: &mut Client, sql: &str) {
    let answer = client.query(sql);
    assert!(!matches!(answer, Answer::Err { .. }), "{sql}: {answer:?}");
}

fn error_of(client: &mut Client, sql: &str) -> (u16, String) {
    match client.query(sql) {
        Answer::Err { code, text, .. } => (code, text),
        other => panic!("{sql}: {other:?}"),
    }
}

fn value(client: &mut Client, sql: &str) -> String {
    client.query(sql).rows()[0][0].clone()
}

fn text(path: &Path) -> String {
    std::fs::read(path).map_or(String::new(), |bytes| String::from_utf8_lossy(&bytes).into_owned())
}

/// Waits until the file has what `is` wants of it.
fn wait_for(path: &Path, is: impl Fn(&str) -> bool) -> String {
    let began = Instant::now();
    loop {
        let text = text(path);
        if is(&text) {
            return text;
        }
        assert!(began.elapsed() < Duration::from_secs(WRITTEN_S_MAX), "{}:\n{text}", path.display());
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// A directory beside the server's, which goes with it.
fn beside(server: &Server) -> PathBuf {
    let dir = server.dir.with_extension("beside");
    std::fs::create_dir_all(&dir).expect("a directory");
    dir
}

#[test]
fn flush_logs_lets_files_be_renamed() {
    let server = Server::start("logs-rotate");
    let mut client = server.connect();
    let (general, old) = (server.dir.join("general.log"), server.dir.join("old.log"));
    run(&mut client, "SET GLOBAL general_log = ON");
    run(&mut client, "SELECT 'first'");
    std::fs::rename(&general, &old).expect("rename");
    run(&mut client, "SELECT 'second'");
    run(&mut client, "FLUSH GENERAL LOGS");
    run(&mut client, "SELECT 'third'");
    let new = wait_for(&general, |text| text.contains("third"));
    let old = text(&old);
    assert!(
        old.contains("first") && old.contains("second") && old.contains("FLUSH GENERAL LOGS") && !old.contains("third"),
        "{old}"
    );
    assert!(
        new.contains("mysqld, Version: ")
            && new.contains("Time                 Id Command    Argument\n")
            && !new.contains("second"),
        "{new}"
    );
}

#[test]
fn a_log_survives_a_restart_if_it_is_persisted() {
    let server = Server::start("logs-persist");
    run(&mut server.connect(), "SET PERSIST general_log = ON");
    let (_, _, dir) = server.terminate();
    let server = Server::start_in(dir);
    run(&mut server.connect(), "SELECT 'after the start'");
    wait_for(&server.dir.join("general.log"), |text| text.contains("after the start"));
}

#[test]
fn what_cannot_be_opened_is_off() {
    let server = Server::start("logs-unopened");
    let mut client = server.connect();
    for name in ["/nowhere/x.log", "", "my.cnf", "rocksdb/CURRENT", "server-key.pem"] {
        let wrong = error_of(&mut client, &format!("SET GLOBAL general_log_file = '{name}'"));
        assert_eq!(wrong, (1231, format!("Variable 'general_log_file' can't be set to the value of '{name}'")));
    }
    let gone = beside(&server).join("gone");
    std::fs::create_dir_all(&gone).expect("a directory");
    let file = gone.join("x.log");
    run(&mut client, &format!("SET GLOBAL general_log_file = '{}'", file.display()));
    std::fs::remove_dir_all(&gone).expect("remove");
    let wrong = error_of(&mut client, "SET GLOBAL general_log = ON");
    assert_eq!(wrong, (29, format!("File '{}' not found (OS errno 2 - No such file or directory)", file.display())));
    assert_eq!(value(&mut client, "SELECT @@general_log"), "0");
    let told = "SELECT COUNT(*) FROM performance_schema.error_log WHERE data LIKE 'Could not use%Turning logging off%'";
    assert_eq!(value(&mut client, told), "1");
    run(&mut client, "SELECT 1");
}

/// A file to which nothing can be appended, as on a full disk: it has as many bytes as its file system lets one have, and no blocks.
fn full_file(path: &Path) -> std::fs::File {
    let file = std::fs::File::create(path).expect("a file");
    let (mut fits, mut too_much) = (0, i64::MAX as u64);
    if file.set_len(too_much).is_err() {
        while too_much - fits > 1 {
            let middle = fits + (too_much - fits) / 2;
            if file.set_len(middle).is_ok() { fits = middle } else { too_much = middle }
        }
        file.set_len(fits).expect("a length");
    }
    file
}

#[test]
fn a_file_that_cannot_be_written_fails_no_statement() {
    let server = Server::start("logs-full");
    let mut client = server.connect();
    let path = beside(&server).join("general.log");
    run(&mut client, &format!("SET GLOBAL general_log_file = '{}'", path.display()));
    // It cannot even be begun.
    let file = full_file(&path);
    assert_eq!(error_of(&mut client, "SET GLOBAL general_log = ON").0, 29);
    file.set_len(0).expect("a length");
    run(&mut client, "SET GLOBAL general_log = ON");
    run(&mut client, "SELECT 'before'");
    wait_for(&path, |text| text.contains("before"));
    // It fills up while it is written.
    let full = full_file(&path);
    let told = |client: &mut Client, text: &str| {
        let sql = format!("SELECT COUNT(*) FROM performance_schema.error_log WHERE data LIKE '{text}'");
        let began = Instant::now();
        while value(client, &sql) == "0" {
            assert!(began.elapsed() < Duration::from_secs(WRITTEN_S_MAX), "{text}");
        }
        assert_eq!(value(client, &sql), "1");
    };
    told(&mut client, "Failed to write to%general log are lost%");
    full.set_len(0).expect("a length");
    told(&mut client, "%is written again%");
    run(&mut client, "SELECT 'behind'");
    wait_for(&path, |text| text.contains("behind"));
}

#[test]
fn tables_have_the_last_entries() {
    let server = Server::start("logs-tables");
    let mut client = server.connect();
    run(&mut client, "SET GLOBAL log_output = 'TABLE'");
    run(&mut client, "SET GLOBAL general_log = ON, GLOBAL slow_query_log = ON, SESSION long_query_time = 0");
    run(&mut client, "SELECT 'in the table', SLEEP(0.01)");
    let found =
        client.query("SELECT user_host, command_type, argument FROM mysql.general_log WHERE argument LIKE '%in the table%'");
    let row = &found.rows()[0];
    assert_eq!(row[0], "root[root] @ localhost [127.0.0.1]");
    assert_eq!([&row[1], &row[2]], ["Query", "SELECT 'in the table', SLEEP(0.01)"]);
    let found = client.query(
        "SELECT rows_sent, query_time >= '00:00:00.01', sql_text FROM mysql.slow_log WHERE sql_text LIKE '%in the table%'",
    );
    assert_eq!(found.rows()[0], ["1", "1", "SELECT 'in the table', SLEEP(0.01)"]);
    // Who is asked for a table's rows has them; TRUNCATE takes them.
    run(&mut client, "CREATE DATABASE kept");
    run(&mut client, "CREATE TABLE kept.general AS SELECT * FROM mysql.general_log");
    run(&mut client, "TRUNCATE mysql.general_log");
    assert_eq!(value(&mut client, "SELECT COUNT(*) FROM mysql.general_log WHERE argument LIKE '%in the table%'"), "1");
    run(&mut client, "SET GLOBAL log_output = 'NONE'");
    run(&mut client, "TRUNCATE mysql.general_log");
    assert_eq!(value(&mut client, "SELECT COUNT(*) FROM mysql.general_log"), "0");
    assert!(!server.dir.join("general.log").exists());
}

#[test]
fn other_accounts_set_no_logs() {
    let server = Server::start("logs-rights");
    let mut root = server.connect();
    for sql in [
        "CREATE USER plain IDENTIFIED BY 'pw', admin IDENTIFIED BY 'pw', auditor IDENTIFIED BY 'pw'",
        "GRANT SYSTEM_VARIABLES_ADMIN ON *.* TO admin",
        "GRANT SYSTEM_VARIABLES_ADMIN, AUDIT_ADMIN ON *.* TO auditor",
    ] {
        run(&mut root, sql);
    }
    let [mut plain, mut admin, mut auditor] =
        ["plain", "admin", "auditor"].map(|user| Client::connect(server.port, user, "pw").expect("connect"));
    for sql in [
        "SET GLOBAL general_log = ON",
        "SET sql_log_off = ON",
        "SET min_examined_row_limit = 5",
        "SET GLOBAL slow_query_log = ON",
    ] {
        assert_eq!(error_of(&mut plain, sql).0, 1227, "{sql}");
        run(&mut admin, sql);
    }
    let needs = (1227, "Access denied; you need (at least one of) the AUDIT_ADMIN privilege(s) for this operation".to_string());
    for sql in ["SET GLOBAL vaquita_audit_log = ON", "SET PERSIST vaquita_audit_log_events = ''"] {
        assert_eq!(error_of(&mut admin, sql), needs, "{sql}");
        run(&mut auditor, sql);
    }
}

/// The events of a log, each a JSON object.
fn events(path: &Path) -> Vec<serde_json::Value> {
    text(path).lines().map(|line| serde_json::from_str(line).unwrap_or_else(|e| panic!("{line}: {e}"))).collect()
}

fn shown(event: &serde_json::Value) -> String {
    let field = |name: &str| match &event[name] {
        serde_json::Value::String(text) => text.clone(),
        serde_json::Value::Null => String::new(),
        other => other.to_string(),
    };
    let what = ["user", "event", "class", "command", "errno", "operation", "table", "setting", "value", "text"];
    what.map(field).into_iter().filter(|text| !text.is_empty()).collect::<Vec<_>>().join(" ")
}

#[test]
fn the_audit_log_has_the_events_that_are_asked_for() {
    let server = Server::start("logs-audit");
    let mut root = server.connect();
    let file = server.dir.join("audit.log");
    for sql in [
        "CREATE DATABASE shop",
        "CREATE USER app IDENTIFIED BY 'pw', robot IDENTIFIED BY 'pw'",
        "GRANT ALL ON shop.* TO app, robot",
        "SET GLOBAL vaquita_audit_log_exclude_accounts = 'robot'",
        "SET GLOBAL vaquita_audit_log_events = 'CONNECT,QUERY_DDL,QUERY_DCL,TABLE'",
        "SET GLOBAL vaquita_audit_log = ON",
    ] {
        run(&mut root, sql);
    }
    for user in ["app", "robot"] {
        let mut client = Client::connect(server.port, user, "pw").expect("connect");
        run(&mut client, "USE shop");
        run(&mut client, &format!("CREATE TABLE {user} (id INT PRIMARY KEY)"));
        run(&mut client, &format!("INSERT INTO {user} VALUES (1)"));
        run(&mut client, &format!("SELECT * FROM {user} WHERE id = 1"));
        run(&mut client, &format!("UPDATE {user} SET id = 2 WHERE id = 1"));
        error_of(&mut client, "DROP TABLE nothing");
        client.command(b"\x01").expect("quit");
        client.wait_for_end();
    }
    assert!(Client::connect(server.port, "app", "wrong").is_err());
    run(&mut root, "ALTER USER app IDENTIFIED BY 'another'");
    run(&mut root, "SET GLOBAL vaquita_audit_log_events = 'QUERY'");
    run(&mut root, "SELECT 1");
    run(&mut root, "SET GLOBAL vaquita_audit_log = OFF");
    run(&mut root, "SELECT 2");
    let found: Vec<String> = events(&file).iter().map(shown).collect();
    assert_eq!(
        found,
        [
            "root AUDIT vaquita_audit_log ON",
            "app CONNECT Connect 0",
            "app TABLE CREATE app",
            "app QUERY QUERY_DDL Query 0 CREATE TABLE app (id INT PRIMARY KEY)",
            "app TABLE WRITE app",
            "app TABLE READ app",
            "app TABLE WRITE app",
            "app TABLE DROP nothing",
            "app QUERY QUERY_DDL Query 1051 DROP TABLE nothing",
            "app CONNECT Disconnect 0",
            "app CONNECT Connect 1045",
            "root QUERY QUERY_DCL Query 0 ALTER USER 'app'@'%' IDENTIFIED BY <secret>",
            "root AUDIT vaquita_audit_log_events QUERY",
            "root QUERY QUERY Query 0 SET GLOBAL vaquita_audit_log_events = 'QUERY'",
            "root QUERY QUERY_DML Query 0 SELECT 1",
            "root AUDIT vaquita_audit_log OFF",
        ]
    );
}

#[test]
fn the_audit_log_goes_from_file_to_file() {
    let server = Server::start("logs-audit-rotation");
    let mut root = server.connect();
    for sql in [
        "SET GLOBAL vaquita_audit_log_rotate_size = 2000, GLOBAL vaquita_audit_log_rotations = 2",
        "SET GLOBAL vaquita_audit_log_events = 'QUERY', GLOBAL vaquita_audit_log = ON",
    ] {
        run(&mut root, sql);
    }
    let files = ["audit.log", "audit.log.1", "audit.log.2"].map(|name| server.dir.join(name));
    let began = Instant::now();
    while !files.iter().all(|file| file.exists()) {
        run(&mut root, "SELECT 'a statement of some length, so that the file is full soon'");
        assert!(began.elapsed() < Duration::from_secs(WRITTEN_S_MAX));
    }
    run(&mut root, "SET GLOBAL vaquita_audit_log = OFF");
    assert!(!server.dir.join("audit.log.3").exists());
    assert!(files.iter().flat_map(|file| events(file)).all(|event| event["connection"].is_u64()));
}

#[test]
fn statements_are_refused_that_cannot_be_audited_if_that_is_asked_for() {
    let server = Server::start("logs-audit-refuse");
    let mut root = server.connect();
    let path = beside(&server).join("audit.log");
    for sql in [
        "CREATE USER app IDENTIFIED BY 'pw'",
        "SET GLOBAL vaquita_audit_log_events = 'QUERY', GLOBAL vaquita_audit_log_rotate_size = 0",
        &format!("SET GLOBAL vaquita_audit_log_file = '{}'", path.display()),
        "SET GLOBAL vaquita_audit_log = ON",
    ] {
        run(&mut root, sql);
    }
    let mut app = Client::connect(server.port, "app", "pw").expect("connect");
    let full = full_file(&path);
    let lost = "SELECT COUNT(*) FROM performance_schema.error_log WHERE data LIKE 'Failed to write to%audit log are lost%'";
    while value(&mut root, lost) == "0" {}
    run(&mut app, "SELECT 'lost'");
    run(&mut root, "SET GLOBAL vaquita_audit_log_on_failure = 'REFUSE'");
    let refused = (3164, "Aborted by Audit API ('vaquita_audit_log';1).".to_string());
    assert_eq!(error_of(&mut app, "SELECT 1"), refused);
    assert_eq!(error_of(&mut app, "DO 1"), refused);
    // Who can help may.
    run(&mut root, "SELECT 1");
    full.set_len(0).expect("a length");
    let began = Instant::now();
    while matches!(app.query("SELECT 1"), Answer::Err { .. }) {
        assert!(began.elapsed() < Duration::from_secs(WRITTEN_S_MAX));
    }
}

#[test]
fn the_servers_own_log_is_json_if_that_is_asked_for() {
    let server = Server::start_with("logs-json", &["--log-format", "json", "--log-error", "error.log"]);
    let mut root = server.connect();
    assert_eq!(value(&mut root, "SELECT @@log_error"), "error.log");
    assert_eq!(value(&mut root, "SELECT @@log_error_services"), "log_filter_internal; log_sink_json");
    let file = server.dir.join("error.log");
    let lines = events(&file);
    let ready = lines
        .iter()
        .find(|line| line["msg"].as_str().is_some_and(|text| text.starts_with("ready for connections")))
        .expect("a line");
    assert_eq!((&ready["label"], &ready["prio"], &ready["subsystem"]), (&"System".into(), &0.into(), &"Server".into()));
    assert!(ready["time"].as_str().is_some_and(|time| time.ends_with('Z')) && ready["ts"].is_u64());
    std::fs::rename(&file, server.dir.join("old-error.log")).expect("rename");
    run(&mut root, "FLUSH ERROR LOGS");
    run(&mut root, "SET GLOBAL log_error_services = DEFAULT");
    error_of(&mut root, "SET GLOBAL general_log_file = ''");
    let gone = beside(&server).join("gone");
    std::fs::create_dir_all(&gone).expect("a directory");
    run(&mut root, &format!("SET GLOBAL general_log_file = '{}/x.log'", gone.display()));
    std::fs::remove_dir_all(&gone).expect("remove");
    error_of(&mut root, "SET GLOBAL general_log = ON");
    let new = wait_for(&file, |text| text.contains("Turning logging off"));
    assert!(new.lines().all(|line| !line.starts_with('{')), "{new}");
}
