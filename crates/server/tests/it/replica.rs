//! Replicas of a source that sends binary logs recorded from MySQL and MariaDB: what the tables have in the end is what the source said of
//! each row when it was recorded (`tools/record-binlog.py`).

use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};

use sha1::{Digest, Sha1};
use vaquita_wire::binlog::event_type;

use crate::client::{Answer, Client};
use crate::server::Server;
use crate::source::{self, Serves, events_of, recorded};

/// Recorded with row events; those of statements have no recorded rows.
const MYSQL: [&str; 8] = ["control", "numbers", "texts", "images", "compressed", "minimal", "keys", "unchecked"];
const MARIADB: [&str; 6] = ["control", "types", "old_times", "images", "compressed", "bare"];
const STATUS_FIELDS: usize = 63;
/// A machine that does much else is slow; what is too late is a hang.
const APPLY_TIMEOUT: Duration = Duration::from_secs(240);

fn logs(server: &str, files: &[&str]) -> Vec<Vec<u8>> {
    files.iter().flat_map(|file| events_of(&format!("{server}-{file}"), None)).collect()
}

/// The rows that tables have in the end, by table and id, as the source has shown them.
fn expected(server: &str, files: &[&str]) -> BTreeMap<(String, String), String> {
    let mut rows = BTreeMap::new();
    for file in files {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../wire/src/golden/binlog/{server}-{file}.rows"));
        for line in std::fs::read_to_string(path).expect("recorded").lines() {
            let mut fields = line.splitn(3, '\t');
            let (what, table, row) = (fields.next().expect("W"), fields.next().expect("a table"), fields.next().expect("a row"));
            let id = row.split('\t').next().expect("an id").to_string();
            let key = (table.to_string(), id);
            match what {
                "W" | "V" => rows.insert(key, row.to_string()),
                _ => rows.remove(&key),
            };
        }
    }
    rows
}

/// The expression by which the recording has shown a column.
fn shown(column: &str, kind: &str) -> String {
    const TEXTS: [&str; 21] = [
        "char",
        "varchar",
        "tinytext",
        "text",
        "mediumtext",
        "longtext",
        "binary",
        "varbinary",
        "tinyblob",
        "blob",
        "mediumblob",
        "longblob",
        "geometry",
        "point",
        "polygon",
        "geomcollection",
        "linestring",
        "vector",
        "inet6",
        "uuid",
        "multipoint",
    ];
    match kind {
        "enum" | "set" | "bit" => format!("`{column}`+0"),
        "float" | "double" => format!("CAST(`{column}` AS DOUBLE)"),
        "json" => format!("HEX(CAST(`{column}` AS CHAR))"),
        kind if TEXTS.contains(&kind) => format!("HEX(`{column}`)"),
        _ => format!("`{column}`"),
    }
}

/// The rows that a table has here.
fn rows_of(client: &mut Client, table: &str) -> Vec<String> {
    let columns = client
        .query(&format!(
            "SELECT column_name, data_type FROM information_schema.columns WHERE table_schema = 'binlog_golden' AND table_name = \
             '{table}' ORDER BY ordinal_position"
        ))
        .rows();
    let list: Vec<String> = columns.iter().map(|column| shown(&column[0], &column[1])).collect();
    assert!(!list.is_empty(), "{table} is not there");
    let rows = client.query(&format!("SELECT {} FROM binlog_golden.`{table}`", list.join(", "))).rows();
    let short = |field: &String| match field.len() > 1000 {
        true => {
            let digest = Sha1::digest(field.as_bytes());
            format!("sha1:{}", digest.iter().map(|byte| format!("{byte:02x}")).collect::<String>())
        }
        false => field.clone(),
    };
    rows.iter().map(|row| row.iter().map(short).collect::<Vec<_>>().join("\t")).collect()
}

fn status(client: &mut Client) -> BTreeMap<String, String> {
    let Answer::Rows { columns, mut rows } = client.query("SHOW REPLICA STATUS") else { panic!("rows expected") };
    assert!(columns.len() >= STATUS_FIELDS - 5, "{}", columns.len());
    let row = rows.pop().expect("a channel");
    let text = |value: Option<Vec<u8>>| value.map_or(String::new(), |value| String::from_utf8_lossy(&value).into_owned());
    columns.into_iter().zip(row.into_iter().map(text)).collect()
}

/// Waits until the status is as wanted.
fn wait_for(client: &mut Client, what: &str, wanted: impl Fn(&BTreeMap<String, String>) -> bool) -> BTreeMap<String, String> {
    let began = Instant::now();
    loop {
        let status = status(client);
        if wanted(&status) {
            return status;
        }
        assert!(began.elapsed() < APPLY_TIMEOUT, "{what}: {status:?}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn caught_up(status: &BTreeMap<String, String>, end: u64) -> bool {
    let stopped = status["Replica_SQL_Running"] != "Yes" || status["Last_IO_Errno"] == "13114";
    stopped || status["Exec_Source_Log_Pos"] == end.to_string()
}

fn configure(client: &mut Client, port: u16, more: &str) {
    client.query("SET GLOBAL time_zone = '+00:00'");
    let change = format!(
        "CHANGE REPLICATION SOURCE TO SOURCE_HOST = '127.0.0.1', SOURCE_PORT = {port}, SOURCE_USER = 'root', SOURCE_CONNECT_RETRY = 1{more}"
    );
    assert!(matches!(client.query(&change), Answer::Ok { .. }));
    assert!(matches!(client.query("START REPLICA"), Answer::Ok { .. }));
}

fn compare(client: &mut Client, expected: &BTreeMap<(String, String), String>) {
    let there: Vec<String> =
        client.query("SHOW TABLES FROM binlog_golden").rows().into_iter().map(|mut row| row.remove(0)).collect();
    client.query("SET time_zone = '+00:00'");
    let mut compared = 0;
    for table in there.iter().filter(|table| expected.keys().any(|(named, _)| named == *table)) {
        let mut ours = rows_of(client, table);
        let mut theirs: Vec<String> =
            expected.iter().filter(|((named, _), _)| named == table).map(|(_, row)| row.clone()).collect();
        // A column that came later was NULL in rows that were recorded before.
        let fields = |row: &str| row.matches('\t').count();
        let width = ours.first().map_or(0, |row| fields(row));
        theirs.iter_mut().for_each(|row| row.push_str(&"\tNULL".repeat(width - fields(row))));
        ours.sort();
        theirs.sort();
        for (ours, theirs) in ours.iter().zip(&theirs) {
            assert_eq!(ours, theirs, "{table}");
        }
        assert_eq!(ours.len(), theirs.len(), "{table}");
        compared += ours.len();
    }
    assert!(compared > 10, "{compared} rows were compared");
}

/// Where the last transaction of a log ends.
fn end_of(server: &str, file: &str) -> u64 {
    let mut reader = vaquita_wire::binlog::EventReader::of_file();
    reader.feed(&std::fs::read(recorded(&format!("{server}-{file}"))).expect("recorded"));
    let mut end = 0;
    while let Some(raw) = reader.next_event().expect("a log") {
        if raw.header.event_type != event_type::ROTATE {
            end = raw.end_position();
        }
    }
    end
}

#[test]
fn logs_of_mysql_are_applied() {
    let server = Server::start("replica-mysql");
    let mut client = server.connect();
    let serves = Serves { version: "9.7.4", events: logs("mysql", &MYSQL), ends: false, breaks: Vec::new() };
    let (port, asked) = source::start(serves);
    configure(&mut client, port, ", SOURCE_AUTO_POSITION = 1");
    let end = end_of("mysql", "unchecked");
    let status = wait_for(&mut client, "all is applied", |status| caught_up(status, end));
    assert_eq!(status["Last_SQL_Error"], "");
    assert_eq!(status["Last_IO_Error"], "");
    compare(&mut client, &expected("mysql", &MYSQL));
    assert!(asked.lock().expect("not poisoned").iter().any(|command| command.first() == Some(&0x15)), "it has registered itself");
    // What was executed is passed by when it comes again.
    let executed = status["Executed_Gtid_Set"].clone();
    assert!(matches!(client.query("STOP REPLICA"), Answer::Ok { .. }));
    assert!(matches!(client.query("START REPLICA"), Answer::Ok { .. }));
    let status = wait_for(&mut client, "it runs again", |status| status["Replica_IO_Running"] == "Yes");
    assert_eq!((&status["Last_SQL_Error"][..], &status["Executed_Gtid_Set"]), ("", &executed));
    compare(&mut client, &expected("mysql", &MYSQL));
}

#[test]
fn statements_of_mysql_are_applied() {
    let server = Server::start("replica-statements");
    let mut client = server.connect();
    // What clients of the replica begin with is nothing to the applier.
    for global in [
        "auto_increment_increment = 7",
        "auto_increment_offset = 3",
        "lc_time_names = 'de_DE'",
        "sql_require_primary_key = ON",
        "sql_generate_invisible_primary_key = ON",
        "transaction_read_only = ON",
    ] {
        assert!(matches!(client.query(&format!("SET GLOBAL {global}")), Answer::Ok { .. }), "{global}");
    }
    let files = ["control", "statements"];
    let serves = Serves { version: "9.7.4", events: logs("mysql", &files), ends: false, breaks: Vec::new() };
    let (port, _) = source::start(serves);
    configure(&mut client, port, ", SOURCE_AUTO_POSITION = 1");
    let end = end_of("mysql", "statements");
    let status = wait_for(&mut client, "all is applied", |status| caught_up(status, end));
    assert_eq!((&status["Last_SQL_Error"][..], &status["Last_IO_Error"][..]), ("", ""));
    let rows = client.query("SELECT COUNT(*) FROM binlog_golden.counted").rows();
    assert_ne!(rows[0][0], "0");
    let ids = client.query("SELECT MIN(id), MAX(id) - COUNT(*) FROM binlog_golden.counted").rows();
    assert_eq!(ids, [["1", "0"]]);
}

/// The events without the transactions in which one of the texts stands. Each begins with MariaDB's GTID.
fn without(events: Vec<Vec<u8>>, texts: &[&[u8]]) -> Vec<Vec<u8>> {
    const TYPE_AT: usize = 4;
    let mut transactions: Vec<Vec<Vec<u8>>> = vec![Vec::new()];
    for event in events {
        // What is between transactions stays.
        if matches!(event[TYPE_AT], event_type::MARIA_GTID | event_type::ROTATE | event_type::FORMAT_DESCRIPTION) {
            transactions.push(Vec::new());
        }
        transactions.last_mut().expect("one").push(event);
    }
    let has = |event: &[u8], text: &[u8]| event.windows(text.len()).any(|part| part == text);
    transactions.retain(|events| !events.iter().any(|event| texts.iter().any(|text| has(event, text))));
    transactions.concat()
}

#[test]
fn logs_of_mariadb_are_applied() {
    let server = Server::start("replica-mariadb");
    let mut client = server.connect();
    // What is about sequences and about types that only MariaDB has is left out.
    let events = without(
        logs("mariadb", &MARIADB),
        &[b"CREATE SEQUENCE", b"\x0dbinlog_golden\0\x01s\0", b"INET6", b"\x05texts\0", b" COMPRESSED", b"\x08squeezed\0"],
    );
    let (port, _) = source::start(Serves { version: "5.5.5-10.11.6-MariaDB", events, ends: false, breaks: Vec::new() });
    configure(&mut client, port, ", SOURCE_LOG_FILE = 'binlog.000001', SOURCE_LOG_POS = 4");
    let end = end_of("mariadb", "bare");
    let status = wait_for(&mut client, "all is applied", |status| caught_up(status, end));
    assert_eq!((&status["Last_SQL_Error"][..], &status["Last_IO_Error"][..]), ("", ""));
    compare(&mut client, &expected("mariadb", &MARIADB));
}

/// Wherever the connection breaks, nothing is lost and nothing is done twice.
#[test]
fn a_connection_that_breaks_is_made_again() {
    let server = Server::start("replica-breaks");
    let mut client = server.connect();
    let breaks: Vec<usize> = (5..60).step_by(9).collect();
    let serves = Serves { version: "9.7.4", events: logs("mysql", &MYSQL), ends: false, breaks };
    let (port, _) = source::start(serves);
    configure(&mut client, port, ", SOURCE_AUTO_POSITION = 1");
    let end = end_of("mysql", "unchecked");
    let status = wait_for(&mut client, "all is applied", |status| caught_up(status, end));
    assert_eq!(status["Last_SQL_Error"], "");
    compare(&mut client, &expected("mysql", &MYSQL));
}

/// A replica that is killed goes on where it was.
#[test]
fn a_replica_that_is_killed_goes_on() {
    let mut server = Server::start("replica-killed");
    let serves = Serves { version: "9.7.4", events: logs("mysql", &MYSQL), ends: false, breaks: Vec::new() };
    let (port, _) = source::start(serves);
    let mut client = server.connect();
    configure(&mut client, port, ", SOURCE_AUTO_POSITION = 1");
    for _ in 0..3 {
        std::thread::sleep(Duration::from_millis(30));
        server = Server::start_in(server.kill());
    }
    let mut client = server.connect();
    let end = end_of("mysql", "unchecked");
    let status = wait_for(&mut client, "all is applied", |status| caught_up(status, end));
    assert_eq!(status["Last_SQL_Error"], "");
    client.query("SET GLOBAL time_zone = '+00:00'");
    compare(&mut client, &expected("mysql", &MYSQL));
}

/// Damage stops the receiver with its name, and nothing of the transaction is applied.
#[test]
fn damage_and_conflicts_stop_the_channel() {
    let server = Server::start("replica-damage");
    let mut client = server.connect();
    let middle = std::fs::read(recorded("mysql-control")).expect("recorded").len() / 2;
    let damaged = Serves { version: "9.7.4", events: events_of("mysql-control", Some(middle)), ends: false, breaks: Vec::new() };
    let (port, _) = source::start(damaged);
    configure(&mut client, port, ", SOURCE_AUTO_POSITION = 1");
    let status = wait_for(&mut client, "it stops", |status| status["Replica_IO_Running"] == "No");
    assert_eq!(status["Last_IO_Errno"], "13121");
    assert!(status["Last_IO_Error"].contains("checksum"), "{}", status["Last_IO_Error"]);
    // A database that is there already.
    let server = Server::start("replica-conflict");
    let mut client = server.connect();
    let (port, _) =
        source::start(Serves { version: "9.7.4", events: logs("mysql", &["control"]), ends: false, breaks: Vec::new() });
    client.query("CREATE DATABASE binlog_golden");
    configure(&mut client, port, ", SOURCE_AUTO_POSITION = 1");
    let status = wait_for(&mut client, "it stops", |status| status["Replica_SQL_Running"] == "No");
    assert!(status["Last_SQL_Error"].contains("on query. Default database"), "{}", status["Last_SQL_Error"]);
    // Nothing of the source, but what the client has done here.
    let own = client.query("SELECT CONCAT(@@server_uuid, ':1')").rows()[0][0].clone();
    assert_eq!((&status["Last_SQL_Errno"][..], &status["Executed_Gtid_Set"][..]), ("1007", &own[..]));
    // Who makes room goes on.
    client.query("DROP DATABASE binlog_golden");
    client.query("START REPLICA");
    let end = end_of("mysql", "control");
    let status = wait_for(&mut client, "all is applied", |status| caught_up(status, end));
    assert_eq!(status["Last_SQL_Error"], "");
}
