//! What counts as executed: gtid_executed, gtid_purged that SET GLOBAL adds to, mysql.gtid_executed, and the functions that wait for it.
//! What MySQL 9.7 answers, but that without a binary log all that is executed counts as purged.

use std::time::{Duration, Instant};

use crate::client::{Answer, Client};
use crate::server::Server;

const SOURCE: &str = "11111111-2222-3333-4444-555555555555";

fn code(answer: &Answer) -> u16 {
    match answer {
        Answer::Err { code, .. } => *code,
        _ => 0,
    }
}

fn purged(client: &mut Client, given: &str) -> u16 {
    code(&client.query(&format!("SET GLOBAL gtid_purged = '{given}'")))
}

#[test]
fn gtid_purged_is_executed_and_survives() {
    let server = Server::start("gtids");
    let mut client = server.connect();
    let sets = "SELECT @@global.gtid_executed, @@global.gtid_purged";
    assert_eq!(client.query(sets).rows(), [["", ""]]);
    for (statement, error) in [
        ("SET SESSION gtid_purged = ''", 1229),
        ("SET GLOBAL gtid_executed = ''", 1238),
        ("SET GLOBAL gtid_purged = 'x'", 1231),
        ("SET GLOBAL gtid_purged = NULL", 1231),
        ("SET GLOBAL gtid_purged = DEFAULT", 1230),
        ("SET GLOBAL gtid_purged = 1", 1232),
        ("SET PERSIST gtid_purged = ''", 1238),
    ] {
        assert_eq!(code(&client.query(statement)), error, "{statement}");
    }
    assert_eq!(purged(&mut client, &format!("{SOURCE}:1-5")), 0);
    assert_eq!(purged(&mut client, &format!("+{SOURCE}:5-6")), 3546);
    assert_eq!(purged(&mut client, &format!("{SOURCE}:1-4")), 3546);
    assert_eq!(purged(&mut client, ""), 3546);
    assert_eq!(purged(&mut client, &format!("{SOURCE}:1-7")), 0);
    assert_eq!(purged(&mut client, &format!(" + {SOURCE}:9 ")), 0);
    let all = format!("{SOURCE}:1-7:9");
    let server = Server::start_in(server.kill());
    let mut client = server.connect();
    assert_eq!(client.query(sets).rows(), [[all.as_str(), all.as_str()]]);
    let rows = client.query("SELECT source_uuid, interval_start, interval_end, gtid_tag FROM mysql.gtid_executed").rows();
    assert_eq!(rows, [[SOURCE, "1", "7", ""], [SOURCE, "9", "9", ""]]);
    client.query("RESET BINARY LOGS AND GTIDS");
    assert_eq!(client.query(sets).rows(), [["", ""]]);
}

#[test]
fn waiting_for_gtids_ends_when_they_come_or_the_time_is_over() {
    let server = Server::start("gtid-waits");
    let mut client = server.connect();
    let wait = |set: &str, seconds: f64| format!("SELECT WAIT_FOR_EXECUTED_GTID_SET('{SOURCE}:{set}', {seconds})");
    assert_eq!(client.query(&wait("1", 0.05)).rows(), [["1"]]);
    let mut waiting = server.connect();
    let statement = wait("1-3", 60.0);
    let began = Instant::now();
    let waiter = std::thread::spawn(move || waiting.query(&statement).rows());
    std::thread::sleep(Duration::from_millis(200));
    assert_eq!(purged(&mut client, &format!("+{SOURCE}:1-3")), 0);
    assert_eq!(waiter.join().unwrap(), [["0"]]);
    assert!(began.elapsed() < Duration::from_secs(30));
    // KILL QUERY ends it.
    let mut waiting = server.connect();
    let id = waiting.query("SELECT CONNECTION_ID()").rows()[0][0].clone();
    let statement = wait("9", 0.0);
    let waiter = std::thread::spawn(move || waiting.query(&statement));
    std::thread::sleep(Duration::from_millis(200));
    client.query(&format!("KILL QUERY {id}"));
    assert_eq!(code(&waiter.join().unwrap()), 1317);
    // Nobody applies: NULL at once.
    assert_eq!(client.query("SELECT SOURCE_POS_WAIT('binlog.000001', 4) IS NULL").rows(), [["1"]]);
    client.query("CHANGE REPLICATION SOURCE TO SOURCE_HOST = 'a.example' FOR CHANNEL 'b'");
    assert_eq!(client.query("SELECT SOURCE_POS_WAIT('binlog.000001', 4, 60, 'b') IS NULL").rows(), [["1"]]);
    assert_eq!(code(&client.query("SELECT SOURCE_POS_WAIT('binlog.000001', 4)")), 3079);
}

#[test]
fn old_and_new_names_of_a_variable_have_one_value() {
    let server = Server::start("old-names");
    let mut client = server.connect();
    client.query("SET GLOBAL slave_net_timeout = 61");
    let warning = client.query("SHOW WARNINGS").rows();
    let text =
        "'@@slave_net_timeout' is deprecated and will be removed in a future release. Please use replica_net_timeout instead.";
    assert_eq!(warning, [["Warning", "1287", text]]);
    assert_eq!(client.query("SELECT @@replica_net_timeout, @@global.slave_net_timeout").rows(), [["61", "61"]]);
    client.query("SET PERSIST replica_net_timeout = 62");
    let server = Server::start_in(server.kill());
    let mut client = server.connect();
    assert_eq!(client.query("SELECT @@global.slave_net_timeout").rows(), [["62"]]);
    let stored = "SELECT variable_name FROM performance_schema.persisted_variables ORDER BY 1";
    assert_eq!(client.query(stored).rows(), [["replica_net_timeout"], ["slave_net_timeout"]]);
    // They are forgotten together, and without a name all variables are. What runs stays as it is.
    client.query("SET PERSIST max_error_count = 77");
    client.query("RESET PERSIST slave_net_timeout");
    assert_eq!(client.query(stored).rows(), [["max_error_count"]]);
    client.query("SET PERSIST sort_buffer_size = 524288");
    client.query("RESET PERSIST");
    assert!(client.query(stored).rows().is_empty());
    let running = "SELECT @@global.slave_net_timeout, @@global.max_error_count, @@global.sort_buffer_size";
    assert_eq!(client.query(running).rows(), [["62", "77", "524288"]]);
    let server = Server::start_in(server.kill());
    let mut client = server.connect();
    assert_eq!(client.query(running).rows(), [["60", "1024", "262144"]]);
    client.query("SET pseudo_slave_mode = 1");
    assert_eq!(client.query("SELECT @@pseudo_replica_mode").rows(), [["1"]]);
}

/// Those of clients count as those of a source do.
#[test]
fn transactions_of_clients_are_waited_for() {
    let server = Server::start("gtids-own");
    let mut client = server.connect();
    client.query("CREATE DATABASE d");
    client.query("CREATE TABLE d.t (a INT PRIMARY KEY)");
    let executed = client.query("SELECT @@GLOBAL.gtid_executed").rows()[0][0].clone();
    let wait = |client: &mut Client, set: &str, seconds: u64| {
        client.query(&format!("SELECT WAIT_FOR_EXECUTED_GTID_SET('{set}', {seconds})")).rows()[0][0].clone()
    };
    assert_eq!(wait(&mut client, &executed, 0), "0");
    let (uuid, last) = executed.rsplit_once('-').expect("two transactions");
    let next = format!("{uuid}-{}", last.parse::<u64>().expect("a number") + 1);
    std::thread::scope(|scope| {
        let waits = scope.spawn(|| wait(&mut server.connect(), &next, 600));
        client.query("INSERT INTO d.t VALUES (1)");
        assert_eq!(waits.join().expect("waits"), "0");
    });
}

/// Rows of a log wait for LOCK TABLES as those of clients do.
#[test]
fn rows_of_a_log_wait_for_locked_tables() {
    let script = std::fs::read_to_string(
        std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/replication/binlog_statement.test"),
    );
    let script = script.expect("the script");
    let events: Vec<&str> = script.lines().filter_map(|line| line.strip_prefix("> ")).filter(|line| line.len() > 100).collect();
    let [rows, format, ..] = &events[..] else { panic!("events") };
    let server = Server::start("gtids-locked");
    let (mut locker, mut client) = (server.connect(), server.connect());
    locker.query("CREATE DATABASE bl");
    locker.query("CREATE TABLE bl.t (a INT PRIMARY KEY, b VARCHAR(20), j JSON, ts TIMESTAMP(3) NULL)");
    client.query(format);
    client.query("SET lock_wait_timeout = 1");
    for lock in ["READ", "WRITE"] {
        locker.query(&format!("LOCK TABLES bl.t {lock}"));
        assert!(matches!(client.query(rows), Answer::Err { code: 1205, .. }), "{lock}");
        locker.query("UNLOCK TABLES");
        assert!(matches!(client.query(rows), Answer::Ok { .. }), "{lock}");
        client.query("DELETE FROM bl.t");
    }
}

/// The GTIDs that the last OK packet told: the text behind the type 3, a length, and the encoding 0.
fn told(client: &mut Client, sql: &str) -> String {
    client.command(&[b"\x03", sql.as_bytes()].concat()).expect("sent");
    let mut last = client.receive().expect("an answer");
    // A result set ends with its OK packet.
    while !(last[0] == 0 || last[0] == 0xfe || last[0] == 0xff) || last.len() == 1 {
        last = client.receive().expect("an answer");
    }
    let at = last.windows(4).position(|at| at[0] == 3 && at[2] == 0 && at[1] == at[3] + 2 && usize::from(at[3]) >= 38);
    at.map_or(String::new(), |at| String::from_utf8_lossy(&last[at + 4..at + 4 + usize::from(last[at + 3])]).into_owned())
}

#[test]
fn clients_are_told_the_gtids_of_their_transactions() {
    let server = Server::start("gtids-told");
    let mut client = Client::connect_tracking(server.port, "root", crate::server::PASSWORD, false).expect("connected");
    let uuid = client.query("SELECT @@server_uuid").rows()[0][0].clone();
    client.query("CREATE DATABASE d");
    client.query("USE d");
    client.query("CREATE TABLE t (a INT PRIMARY KEY)");
    client.query("CREATE PROCEDURE p() BEGIN INSERT INTO t VALUES (10); INSERT INTO t VALUES (11); END");
    client.query("CREATE PROCEDURE q() BEGIN INSERT INTO t VALUES (12); INSERT INTO t VALUES (12); END");
    let gtids = |set: &str| if set.is_empty() { String::new() } else { format!("{uuid}:{set}") };
    // As recorded from MySQL 9.7.
    for (sql, set) in [
        ("INSERT INTO t VALUES (0)", ""),
        ("SET session_track_gtids = OWN_GTID", ""),
        ("INSERT INTO t VALUES (1)", "6"),
        ("SELECT * FROM t", ""),
        ("BEGIN", ""),
        ("INSERT INTO t VALUES (2)", ""),
        ("INSERT INTO t VALUES (3)", ""),
        ("COMMIT", "7"),
        ("BEGIN", ""),
        ("SELECT 1", ""),
        ("COMMIT", ""),
        ("CALL p()", "8-9"),
        ("CALL q()", ""),
        ("DO 1", ""),
        ("CREATE TABLE u (a INT)", "11"),
        ("XA START 'a'", ""),
        ("INSERT INTO d.t VALUES (40)", ""),
        ("XA END 'a'", ""),
        ("XA PREPARE 'a'", "12"),
        ("XA COMMIT 'a'", "13"),
        ("SET session_track_gtids = ALL_GTIDS", ""),
        ("INSERT INTO t VALUES (21)", "1-14"),
        ("SELECT 1", "1-14"),
        ("BEGIN", ""),
        ("SELECT * FROM t", ""),
        ("INSERT INTO t VALUES (22)", ""),
        ("COMMIT", "1-15"),
        ("DO 1", "1-15"),
        ("SET @a = 1", "1-15"),
        ("ROLLBACK", ""),
        ("SET session_track_gtids = OFF", "1-15"),
        ("INSERT INTO t VALUES (30)", ""),
    ] {
        assert_eq!(told(&mut client, sql), gtids(set), "{sql}");
    }
}

/// Whoever carries the log out meets what was there.
#[test]
fn the_log_has_changes_of_accounts_in_their_order() {
    const ROUNDS: usize = 300;
    let server = Server::start("gtids-accounts");
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let mut client = server.connect();
            let sql = if thread % 2 == 0 { "CREATE ROLE 'it_is'" } else { "DROP ROLE 'it_is'" };
            scope.spawn(move || {
                for _ in 0..ROUNDS {
                    assert!(matches!(code(&client.query(sql)), 0 | 1396), "{sql}");
                }
            });
        }
    });
    let mut client = server.connect();
    let events = client.query("SHOW BINLOG EVENTS").rows();
    let told = events.iter().map(|event| &event[5]).filter(|text| text.contains("it_is"));
    let created: Vec<bool> = told.map(|text| text.to_ascii_uppercase().contains("CREATE ROLE")).collect();
    assert!(created.len() > 1, "both have happened");
    assert!(created.iter().enumerate().all(|(at, created)| *created == (at % 2 == 0)), "{created:?}");
}
