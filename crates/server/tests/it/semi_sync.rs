//! Semi-synchronous replication between two servers: what a commit waits for, and what ends its wait.

use std::sync::mpsc::{self, Receiver};
use std::time::{Duration, Instant};

use crate::client::{Answer, Client};
use crate::server::{PASSWORD, Server};

/// A machine that does much else is slow; what is too late is a hang.
const LATE: Duration = Duration::from_secs(60);
/// What has not happened by then is not going to.
const SOON: Duration = Duration::from_millis(400);

fn ok(client: &mut Client, sql: &str) {
    let answer = client.query(sql);
    assert!(matches!(answer, Answer::Ok { .. }), "{sql}: {answer:?}");
}

fn value(client: &mut Client, sql: &str) -> String {
    client.query(sql).rows().remove(0).remove(0)
}

fn status(client: &mut Client, name: &str) -> String {
    client.query(&format!("SHOW STATUS LIKE 'Rpl_semi_sync_{name}'")).rows().remove(0).remove(1)
}

fn wait_for_status(client: &mut Client, name: &str, wanted: &str) {
    let began = Instant::now();
    while status(client, name) != wanted {
        assert!(began.elapsed() < LATE, "{name} is {} and not {wanted}", status(client, name));
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn wait_for(client: &mut Client, sql: &str, wanted: &str) {
    let began = Instant::now();
    while value(client, sql) != wanted {
        assert!(began.elapsed() < LATE, "{sql} is {} and not {wanted}", value(client, sql));
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// A source whose commits wait for so many replicas, with a table; they wait as long as it takes.
fn source(name: &str, replicas: usize) -> (Server, Client) {
    let server = Server::start_with(name, &["--server-id=1"]);
    let mut client = server.connect();
    for sql in ["CREATE DATABASE d", "CREATE TABLE d.t (a INT PRIMARY KEY, b INT)", "INSERT INTO d.t VALUES (1, 0), (2, 0)"] {
        ok(&mut client, sql);
    }
    let replicas = format!("rpl_semi_sync_source_wait_for_replica_count = {replicas}");
    ok(&mut client, &format!("SET PERSIST rpl_semi_sync_source_timeout = 1000000000, PERSIST {replicas}"));
    ok(&mut client, "SET PERSIST rpl_semi_sync_source_enabled = ON");
    (server, client)
}

fn follow(replica: &Server, source: &Server) {
    let mut client = replica.connect();
    ok(&mut client, "SET PERSIST rpl_semi_sync_replica_enabled = ON");
    let change = format!(
        "CHANGE REPLICATION SOURCE TO SOURCE_HOST = '127.0.0.1', SOURCE_PORT = {}, SOURCE_USER = 'root', SOURCE_PASSWORD = '{}', \
         SOURCE_SSL = 1, SOURCE_AUTO_POSITION = 1, SOURCE_CONNECT_RETRY = 1, SOURCE_RETRY_COUNT = 1000",
        source.port,
        PASSWORD.replace('\'', "''")
    );
    ok(&mut client, &change);
    ok(&mut client, "START REPLICA");
}

/// Runs a statement elsewhere; its answer comes when it is done.
fn run(server: &Server, sql: &str) -> (String, Receiver<Option<Answer>>) {
    let mut client = server.connect();
    let id = value(&mut client, "SELECT CONNECTION_ID()");
    let (tell, told) = mpsc::channel();
    let sql = sql.to_string();
    std::thread::spawn(move || tell.send(client.try_query(&sql).ok()));
    (id, told)
}

fn is_ok(told: &Receiver<Option<Answer>>) -> bool {
    matches!(told.recv_timeout(LATE).expect("an answer"), Some(Answer::Ok { .. }))
}

fn waits(told: &Receiver<Option<Answer>>) -> bool {
    told.recv_timeout(SOON).is_err()
}

#[test]
fn a_commit_waits_until_a_replica_has_it() {
    let (source_server, mut client) = source("semi-source", 1);
    let (_, told) = run(&source_server, "UPDATE d.t SET b = 1 WHERE a = 1");
    assert!(waits(&told));
    let shown = "SELECT COUNT(*) FROM performance_schema.processlist WHERE state = 'Waiting for semi-sync ACK from replica'";
    assert_eq!(value(&mut client, shown), "1");
    // Nobody sees it, however it is read.
    let seen = |client: &mut Client| {
        let reads = [
            "SELECT b FROM d.t WHERE a = 1",
            "SELECT SUM(b) FROM d.t",
            "SELECT b FROM d.t WHERE a BETWEEN 1 AND 1",
            "SELECT MAX(b) FROM d.t",
        ];
        reads.map(|sql| value(client, sql)).join(" ")
    };
    for level in ["READ UNCOMMITTED", "READ COMMITTED", "REPEATABLE READ"] {
        ok(&mut client, &format!("SET SESSION TRANSACTION ISOLATION LEVEL {level}"));
        assert_eq!(seen(&mut client), "0 0 0 0", "{level}");
        ok(&mut client, "BEGIN");
        assert_eq!(seen(&mut client), "0 0 0 0", "{level}");
        ok(&mut client, "COMMIT");
    }
    // A backup has it neither in the rows nor in the GTIDs, or waits for it.
    let (uuid, executed) = (value(&mut client, "SELECT @@server_uuid"), "SELECT @@GLOBAL.gtid_executed");
    assert_eq!(value(&mut client, executed), format!("{uuid}:1-3"));
    ok(&mut client, "SET lock_wait_timeout = 1");
    assert!(matches!(client.query("FLUSH TABLES WITH READ LOCK"), Answer::Err { code: 1205, .. }));
    // Others that change nothing of it go on, and those that do wait. So does what the log is not told, whose session would not see it.
    let (_, other) = run(&source_server, "UPDATE d.t SET b = 2 WHERE a = 1");
    let mut unlogged = source_server.connect();
    ok(&mut unlogged, "SET sql_log_bin = 0");
    let (tell, unlogged_told) = mpsc::channel();
    std::thread::spawn(move || {
        ok(&mut unlogged, "INSERT INTO d.t VALUES (3, 0)");
        tell.send(value(&mut unlogged, "SELECT COUNT(*) FROM d.t WHERE a = 3"))
    });
    assert!(unlogged_told.recv_timeout(SOON).is_err());
    ok(&mut client, "SET PERSIST sort_buffer_size = DEFAULT");
    assert!(waits(&other));
    assert_eq!([status(&mut client, "source_wait_sessions"), status(&mut client, "source_clients")], ["1", "0"]);
    let replica = Server::start_with("semi-replica", &["--server-id=2"]);
    follow(&replica, &source_server);
    assert!(is_ok(&told) && is_ok(&other));
    assert_eq!(unlogged_told.recv_timeout(LATE).expect("an answer"), "1");
    assert_eq!(seen(&mut client), "2 2 2 2");
    assert_eq!(value(&mut client, executed), format!("{uuid}:1-5"));
    ok(&mut client, "FLUSH TABLES WITH READ LOCK");
    ok(&mut client, "UNLOCK TABLES");
    let mut there = replica.connect();
    assert_eq!(value(&mut there, "SELECT b FROM d.t WHERE a = 1"), "2");
    wait_for_status(&mut there, "replica_status", "ON");
    // What is acked is applied.
    for n in 4..41 {
        ok(&mut client, &format!("INSERT INTO d.t VALUES ({n}, {n})"));
        assert_eq!(value(&mut there, &format!("SELECT COUNT(*) FROM d.t WHERE a = {n}")), "1");
    }
    ok(&mut client, "CREATE TABLE d.u (a INT)");
    assert_eq!(value(&mut there, "SELECT COUNT(*) FROM d.u"), "0");
    assert_eq!([status(&mut client, "source_no_tx"), status(&mut client, "source_yes_tx")], ["0", "40"]);
    // It stays so over starts of either.
    let replica = Server::start_in_with(replica.kill(), &["--server-id=2"]);
    ok(&mut client, "INSERT INTO d.t VALUES (100, 0)");
    assert_eq!(value(&mut replica.connect(), "SELECT COUNT(*) FROM d.t WHERE a = 100"), "1");
    ok(&mut client, "SET SESSION sql_log_bin = 0");
    ok(&mut replica.connect(), "STOP REPLICA");
    ok(&mut client, "INSERT INTO d.t VALUES (101, 0)");
    ok(&mut client, "SET SESSION sql_log_bin = 1");
    let (_, told) = run(&source_server, "INSERT INTO d.t VALUES (102, 0)");
    assert!(waits(&told));
    let (took, well, _) = source_server.terminate();
    assert!(well && took < LATE, "{took:?}");
    assert!(told.recv_timeout(LATE).expect("an end").is_none(), "nobody is told of what no replica has");
}

#[test]
fn a_wait_that_lasts_too_long_turns_it_off_until_a_replica_is_there() {
    let (server, mut client) = source("semi-timeout", 1);
    ok(&mut client, "SET GLOBAL rpl_semi_sync_source_timeout = 300");
    let began = Instant::now();
    ok(&mut client, "UPDATE d.t SET b = 1 WHERE a = 1");
    assert!((Duration::from_millis(300)..LATE).contains(&began.elapsed()), "{:?}", began.elapsed());
    ok(&mut client, "UPDATE d.t SET b = 2 WHERE a = 1");
    let shown = ["source_status", "source_no_tx", "source_no_times", "source_yes_tx"].map(|name| status(&mut client, name));
    assert_eq!(shown, ["OFF", "2", "1", "0"]);
    ok(&mut client, "SET GLOBAL rpl_semi_sync_source_timeout = 1000000000");
    let replica = Server::start_with("semi-timeout-replica", &["--server-id=2"]);
    follow(&replica, &server);
    wait_for_status(&mut client, "source_status", "ON");
    ok(&mut client, "UPDATE d.t SET b = 3 WHERE a = 1");
    assert_eq!(value(&mut replica.connect(), "SELECT b FROM d.t WHERE a = 1"), "3");
    // Without replicas it is off at once, if that is wanted.
    ok(&mut client, "SET GLOBAL rpl_semi_sync_source_wait_no_replica = OFF");
    ok(&mut replica.connect(), "STOP REPLICA");
    wait_for_status(&mut client, "source_status", "OFF");
    ok(&mut client, "UPDATE d.t SET b = 4 WHERE a = 1");
    ok(&mut replica.connect(), "START REPLICA");
    wait_for_status(&mut client, "source_status", "ON");
}

#[test]
fn nobody_hangs() {
    let (server, mut client) = source("semi-ends", 1);
    // KILL QUERY comes too late; KILL closes the connection, and what was done stays.
    let (id, told) = run(&server, "UPDATE d.t SET b = 1 WHERE a = 1");
    assert!(waits(&told));
    ok(&mut client, &format!("KILL QUERY {id}"));
    assert!(waits(&told));
    ok(&mut client, &format!("KILL {id}"));
    assert!(told.recv_timeout(LATE).expect("an end").is_none());
    // It still waits: nobody sees it, and its row is locked.
    assert_eq!(value(&mut client, "SELECT b FROM d.t WHERE a = 1"), "0");
    let (_, told) = run(&server, "UPDATE d.t SET b = 2 WHERE a = 1");
    assert!(waits(&told));
    let (_, ddl) = run(&server, "CREATE TABLE d.u (a INT)");
    assert!(waits(&ddl));
    let (_, account) = run(&server, "CREATE USER u");
    assert!(waits(&account));
    ok(&mut client, "SET GLOBAL rpl_semi_sync_source_enabled = OFF");
    assert!(is_ok(&told) && is_ok(&ddl) && is_ok(&account));
    ok(&mut client, "SET GLOBAL rpl_semi_sync_source_enabled = ON");
    // AFTER_COMMIT: the row is free.
    ok(&mut client, "SET GLOBAL rpl_semi_sync_source_wait_point = AFTER_COMMIT");
    let (_, told) = run(&server, "UPDATE d.t SET b = 3 WHERE a = 1");
    assert!(waits(&told));
    assert_eq!(value(&mut client, "SELECT b FROM d.t WHERE a = 1"), "3");
    assert_eq!(value(&mut client, "SELECT b FROM d.t WHERE a = 1 FOR UPDATE"), "3");
    // So does RESET end it, which forgets what is waited for.
    ok(&mut client, "RESET BINARY LOGS AND GTIDS");
    assert!(is_ok(&told));
}

#[test]
fn a_commit_waits_for_as_many_replicas_as_are_wanted() {
    let (server, mut client) = source("semi-two", 2);
    let replicas = [2, 3].map(|id| {
        let replica = Server::start_with(&format!("semi-two-{id}"), &[&format!("--server-id={id}")]);
        follow(&replica, &server);
        replica
    });
    wait_for_status(&mut client, "source_clients", "2");
    for n in 10..20 {
        ok(&mut client, &format!("INSERT INTO d.t VALUES ({n}, 0)"));
        for replica in &replicas {
            assert_eq!(value(&mut replica.connect(), &format!("SELECT COUNT(*) FROM d.t WHERE a = {n}")), "1");
        }
    }
    let [first, second] = replicas;
    let dir = second.kill();
    let (_, told) = run(&server, "INSERT INTO d.t VALUES (20, 0)");
    assert!(waits(&told));
    assert_eq!(value(&mut first.connect(), "SELECT COUNT(*) FROM d.t WHERE a = 20"), "1");
    let second = Server::start_in_with(dir, &["--server-id=3"]);
    assert!(is_ok(&told));
    assert_eq!(value(&mut second.connect(), "SELECT COUNT(*) FROM d.t WHERE a = 20"), "1");
}

/// Whoever is told of a commit sees it, from wherever it is read, and every read sees whole transactions.
#[test]
fn what_is_acknowledged_is_seen() {
    const THREADS: i64 = 8;
    const ROUNDS: i64 = 150;
    let (server, mut client) = source("semi-seen", 1);
    let replica = Server::start_with("semi-seen-replica", &["--server-id=2"]);
    follow(&replica, &server);
    ok(&mut client, "CREATE TABLE d.bank (id INT PRIMARY KEY, amount INT, KEY (amount))");
    ok(&mut client, "INSERT INTO d.bank VALUES (0,100),(1,100),(2,100),(3,100),(4,100),(5,100),(6,100),(7,100)");
    ok(&mut client, "CREATE TABLE d.told (thread INT, n INT, PRIMARY KEY (thread, n), KEY (n))");
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let (mut writer, mut reader) = (server.connect(), server.connect());
            scope.spawn(move || {
                for n in 0..ROUNDS {
                    ok(&mut writer, &format!("INSERT INTO d.told VALUES ({thread}, {n})"));
                    for client in [&mut reader, &mut writer] {
                        let one = format!("SELECT COUNT(*) FROM d.told WHERE thread = {thread} AND n = {n}");
                        assert_eq!(value(client, &one), "1");
                        let all = format!("SELECT COUNT(*) FROM d.told WHERE thread = {thread}");
                        assert_eq!(value(client, &all), (n + 1).to_string());
                    }
                    ok(&mut writer, "BEGIN");
                    let (from, to) = ((thread + n) % 8, (thread + 3 * n + 1) % 8);
                    let moves = [
                        format!("UPDATE d.bank SET amount = amount - 1 WHERE id = {from}"),
                        format!("UPDATE d.bank SET amount = amount + 1 WHERE id = {to}"),
                    ];
                    // One that is the victim of a deadlock is undone.
                    if moves.iter().all(|sql| matches!(writer.query(sql), Answer::Ok { .. })) {
                        writer.query("COMMIT");
                    } else {
                        ok(&mut writer, "ROLLBACK");
                    }
                    assert_eq!(value(&mut reader, "SELECT SUM(amount) FROM d.bank"), "800");
                }
            });
        }
        // Definitions change meanwhile.
        for n in 0..10 {
            ok(&mut client, &format!("ALTER TABLE d.bank ADD KEY k{n} (amount, id)"));
            assert_eq!(value(&mut client, &format!("SELECT SUM(amount) FROM d.bank FORCE INDEX (k{n})")), "800");
            ok(&mut client, &format!("ALTER TABLE d.bank DROP KEY k{n}"));
        }
    });
    assert_eq!(value(&mut replica.connect(), "SELECT SUM(amount) FROM d.bank"), "800");
    assert_eq!(value(&mut replica.connect(), "SELECT COUNT(*) FROM d.told"), (THREADS * ROUNDS).to_string());
    assert_eq!(
        client.query("CHECK TABLE d.bank, d.told").rows().iter().map(|row| row[3].as_str()).collect::<Vec<_>>(),
        ["OK", "OK"]
    );
}

/// The receiver asks anew for what was not committed, which waits in the queue already.
#[test]
fn a_connection_that_breaks_brings_nothing_twice() {
    let (server, mut client) = source("semi-again", 1);
    let replica = Server::start_with("semi-again-replica", &["--server-id=2"]);
    follow(&replica, &server);
    ok(&mut client, "CREATE TABLE d.without_key (a INT)");
    ok(&mut client, "SET GLOBAL rpl_semi_sync_source_timeout = 300");
    let (mut there, mut locks) = (replica.connect(), replica.connect());
    ok(&mut locks, "BEGIN");
    assert_eq!(value(&mut locks, "SELECT b FROM d.t WHERE a = 1 FOR UPDATE"), "0");
    ok(&mut client, "UPDATE d.t SET b = 1 WHERE a = 1");
    for n in 0..20 {
        ok(&mut client, &format!("INSERT INTO d.without_key VALUES ({n})"));
    }
    let executed = value(&mut client, "SELECT @@GLOBAL.gtid_executed");
    let received = "SELECT received_transaction_set FROM performance_schema.replication_connection_status";
    let dump = "SELECT MAX(id) FROM information_schema.processlist WHERE command LIKE 'Binlog Dump%'";
    let uuid = value(&mut client, "SELECT @@server_uuid");
    wait_for(&mut there, received, &executed);
    let waiting = |client: &mut Client| {
        let Answer::Rows { columns, rows } = client.query("SHOW REPLICA STATUS") else { panic!("rows expected") };
        let at = columns.iter().position(|name| name == "Relay_Log_Space").expect("the bytes that wait");
        String::from_utf8_lossy(rows[0][at].as_deref().expect("a number")).parse::<u64>().expect("a number")
    };
    let before = waiting(&mut there);
    let id = value(&mut client, dump);
    ok(&mut client, &format!("KILL {id}"));
    let began = Instant::now();
    while waiting(&mut there) < before * 3 / 2 {
        assert!(began.elapsed() < LATE, "what waits comes again: {before}, {}", waiting(&mut there));
        std::thread::sleep(Duration::from_millis(10));
    }
    ok(&mut locks, "ROLLBACK");
    wait_for(&mut there, "SELECT @@GLOBAL.gtid_executed", &executed);
    // What follows is behind all that came twice.
    ok(&mut client, "INSERT INTO d.without_key VALUES (20)");
    wait_for(&mut there, &format!("SELECT GTID_SUBSET('{uuid}:1-26', @@GLOBAL.gtid_executed)"), "1");
    assert_eq!(value(&mut there, "SELECT COUNT(*) FROM d.without_key"), "21");
    let mut events = there.query("SHOW BINLOG EVENTS").rows();
    events.retain(|event| event[2] == "Gtid");
    let named = events.len();
    events.sort_by(|a, b| a[5].cmp(&b[5]));
    events.dedup_by(|a, b| a[5] == b[5]);
    assert_eq!(events.len(), named, "each transaction is in the log once");
}

#[test]
fn its_plugins_are_built_in() {
    let server = Server::start("semi-plugins");
    let mut client = server.connect();
    ok(&mut client, "INSTALL PLUGIN rpl_semi_sync_source SONAME 'semisync_source.so'");
    ok(&mut client, "INSTALL PLUGIN rpl_semi_sync_replica SONAME 'semisync_replica.so'");
    for (sql, error) in [
        ("UNINSTALL PLUGIN rpl_semi_sync_source", 1619),
        ("INSTALL PLUGIN rpl_semi_sync_master SONAME 'semisync_master.so'", 1126),
        ("SET GLOBAL rpl_semi_sync_source_wait_point = 7", 1231),
        ("SET rpl_semi_sync_source_enabled = ON", 1229),
    ] {
        assert!(matches!(client.query(sql), Answer::Err { code, .. } if code == error), "{sql}");
    }
    let active =
        "SELECT COUNT(*) FROM information_schema.plugins WHERE plugin_name LIKE 'rpl_semi%' AND plugin_status = 'ACTIVE'";
    assert_eq!(value(&mut client, active), "2");
    assert_eq!(client.query("SHOW STATUS LIKE 'Rpl_semi_sync_source_%'").rows().len(), 14);
    assert_eq!(client.query("SHOW VARIABLES LIKE 'rpl_semi_sync_%'").rows().len(), 8);
}
