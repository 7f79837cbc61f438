//! The log as replicas read it (COM_REGISTER_SLAVE, COM_BINLOG_DUMP, COM_BINLOG_DUMP_GTID), and as statements show it. What MySQL 9.7 answers to the
//! same was asked of one.

use std::collections::HashMap;
use std::time::Duration;

use vaquita_types::gtid::GtidSet;
use vaquita_wire::binlog::{ChecksumAlgorithm, Event, FormatDescription, Query, RawEvent, StatusVar, event_name, event_type};

use crate::client::{Answer, Client};
use crate::server::Server;

const NON_BLOCK: u16 = 1;
const HEARTBEAT_V2: u16 = 2;

fn by_position(file: &str, position: u32, flags: u16, server: u32) -> Vec<u8> {
    [&[0x12][..], &position.to_le_bytes(), &flags.to_le_bytes(), &server.to_le_bytes(), file.as_bytes()].concat()
}

fn by_gtid(known: &str, flags: u16, server: u32) -> Vec<u8> {
    let mut set = Vec::new();
    GtidSet::parse(known.as_bytes()).expect("a set").encode(&mut set);
    let head = [&[0x1e][..], &flags.to_le_bytes(), &server.to_le_bytes(), &[0; 4], &4u64.to_le_bytes()].concat();
    [&head[..], &(set.len() as u32).to_le_bytes(), &set].concat()
}

/// What an event is: its type, and where it ends.
fn line(event: &[u8], has_checksums: &mut bool) -> String {
    if event[4] == event_type::FORMAT_DESCRIPTION {
        let format = FormatDescription::decode(&event[19..]).expect("a format");
        *has_checksums = format.checksum == Some(ChecksumAlgorithm::Crc32);
    }
    // What is made before the format is known has a checksum only for who knows it.
    let made = event[17] & 0x20 != 0;
    let raw = RawEvent::of_packet(event, *has_checksums).or_else(|error| match made {
        true => RawEvent::of_packet(event, false),
        false => Err(error),
    });
    let raw = raw.expect("an event");
    let name = event_name(raw.header.event_type).expect("a known type");
    let mut line = format!("{name} {}", raw.header.end_position);
    match vaquita_wire::binlog::Decoder::default().decode(&raw) {
        Ok(Event::Rotate(rotate)) => line += &format!(" {}", String::from_utf8_lossy(rotate.file)),
        Ok(Event::Query(query)) => line += &format!(" {}", String::from_utf8_lossy(&query.statement)),
        _ => {}
    }
    line
}

/// What is sent, until it ends: EOF, an error, or the connection is closed.
fn sent(client: &mut Client, command: &[u8]) -> Vec<String> {
    client.command(command).expect("sent");
    let (mut lines, mut has_checksums) = (Vec::new(), true);
    loop {
        let Ok(packet) = client.receive() else {
            lines.push("closed".to_string());
            return lines;
        };
        match packet[0] {
            0 => lines.push(line(&packet[1..], &mut has_checksums)),
            0xff => {
                lines.push(format!("{} {}", u16::from_le_bytes([packet[1], packet[2]]), String::from_utf8_lossy(&packet[9..])));
                return lines;
            }
            _ => {
                lines.push("EOF".to_string());
                return lines;
            }
        }
    }
}

fn reader(server: &Server) -> Client {
    let mut client = server.connect();
    client.query("SET @source_binlog_checksum = @@global.binlog_checksum");
    client
}

fn done(client: &mut Client, statement: &str) {
    let answer = client.query(statement);
    assert!(matches!(answer, Answer::Ok { .. }), "{statement}: {answer:?}");
}

fn value(client: &mut Client, query: &str) -> String {
    client.query(query).rows().into_iter().next().and_then(|row| row.into_iter().next()).expect("a value")
}

/// Names of events without positions.
fn names(lines: &[String]) -> Vec<&str> {
    lines.iter().map(|line| line.split(' ').next().expect("a name")).collect()
}

/// As a reader in Python sends it.
#[test]
fn a_name_of_nuls_is_no_name() {
    let server = Server::start("dump-nuls");
    let mut command = by_gtid("", NON_BLOCK, 9);
    command.splice(7..11, [3, 0, 0, 0, 0, 0, 0]);
    let lines = sent(&mut reader(&server), &command);
    assert_eq!(lines.first().map(String::as_str), Some("Rotate 0 binlog.000001"), "{lines:?}");
    let lines = sent(&mut reader(&server), &by_position("binlog.000001\0\0", 4, NON_BLOCK, 9));
    assert_eq!(lines.last().map(String::as_str), Some("EOF"), "{lines:?}");
}

/// The statements that the log has had since it was reset.
fn statements(client: &mut Client) -> Vec<String> {
    let rows = client.query("SHOW BINLOG EVENTS").rows();
    rows.into_iter().filter(|row| row[2] == "Query").map(|row| row[5].clone()).collect()
}

/// Which of them MySQL 9.7 has in its log was asked of one.
#[test]
fn maintenance_is_in_the_log() {
    let server = Server::start("dump-maintenance");
    let mut client = server.connect();
    done(&mut client, "CREATE DATABASE d");
    done(&mut client, "USE d");
    done(&mut client, "CREATE TABLE t (id INT PRIMARY KEY)");
    done(&mut client, "RESET BINARY LOGS AND GTIDS");
    let told = [
        "ANALYZE TABLE t",
        "ANALYZE TABLE missing",
        "OPTIMIZE TABLE t",
        "REPAIR TABLE t",
        "FLUSH TABLES",
        "FLUSH TABLES t",
        "FLUSH PRIVILEGES",
        "FLUSH STATUS",
        "FLUSH ENGINE LOGS",
    ];
    let not_told = [
        "ANALYZE NO_WRITE_TO_BINLOG TABLE t",
        "OPTIMIZE LOCAL TABLE t",
        "CHECK TABLE t",
        "CHECKSUM TABLE t",
        "FLUSH LOCAL TABLES",
        "FLUSH TABLES t WITH READ LOCK",
        "UNLOCK TABLES",
        "FLUSH TABLES WITH READ LOCK",
        "UNLOCK TABLES",
    ];
    for statement in told.iter().chain(&not_told) {
        let answer = client.query(statement);
        assert!(!matches!(answer, Answer::Err { .. }), "{statement}: {answer:?}");
    }
    assert_eq!(statements(&mut client), told.map(|statement| format!("use `d`; {statement}")));
}

/// The row at which a cascade begins is behind those that it changes, as in MySQL 9.7.
#[test]
fn a_parent_is_told_behind_its_children() {
    let server = Server::start("dump-cascade");
    let mut client = server.connect();
    done(&mut client, "CREATE DATABASE d");
    done(&mut client, "USE d");
    let key = "FOREIGN KEY (p) REFERENCES";
    done(&mut client, "CREATE TABLE p (id INT PRIMARY KEY)");
    done(&mut client, &format!("CREATE TABLE c (id INT PRIMARY KEY, p INT, {key} p (id) ON DELETE CASCADE ON UPDATE CASCADE)"));
    done(&mut client, &format!("CREATE TABLE g (id INT PRIMARY KEY, p INT, {key} c (id) ON DELETE CASCADE)"));
    done(&mut client, "INSERT INTO p VALUES (1), (2)");
    done(&mut client, "INSERT INTO c VALUES (1, 1), (3, 2)");
    done(&mut client, "INSERT INTO g VALUES (1, 1)");
    done(&mut client, "RESET BINARY LOGS AND GTIDS");
    done(&mut client, "UPDATE p SET id = 7 WHERE id = 2");
    done(&mut client, "DELETE FROM p");
    let (mut tables, mut rows) = (HashMap::new(), Vec::new());
    for row in client.query("SHOW BINLOG EVENTS").rows() {
        let words: Vec<&str> = row[5].split(' ').collect();
        match &row[2][..] {
            "Table_map" => drop(tables.insert(words[1].to_string(), words[2].to_string())),
            "Update_rows" | "Delete_rows" => rows.push(format!("{} {}", row[2], tables[words[1]])),
            _ => {}
        }
    }
    let changed = "Update_rows (d.c), Update_rows (d.p)";
    let deleted = "Delete_rows (d.c), Delete_rows (d.g), Delete_rows (d.p), Delete_rows (d.c), Delete_rows (d.p)";
    assert_eq!(rows.join(", "), format!("{changed}, {deleted}"));
}

/// A replica reads a statement in the charset that the event names.
#[test]
fn statements_are_in_the_charset_of_their_client() {
    let server = Server::start("dump-charset");
    let mut client = server.connect();
    done(&mut client, "CREATE DATABASE d");
    done(&mut client, "RESET BINARY LOGS AND GTIDS");
    done(&mut client, "SET NAMES latin1");
    client.command(b"\x03CREATE TABLE d.t\xd6 (a CHAR(2) DEFAULT _binary'\xc4')").expect("sent");
    assert!(matches!(client.answer().expect("an answer"), Answer::Ok { .. }));
    // The text is utf8mb4 though literals are latin1.
    done(&mut client, "SET NAMES utf8mb4");
    done(&mut client, "SET collation_connection = latin1_swedish_ci");
    done(&mut client, "CREATE TABLE d.ü (a INT)");
    let mut reader = reader(&server);
    reader.command(&by_position("binlog.000001", 4, NON_BLOCK, 9)).expect("sent");
    let mut found = Vec::new();
    loop {
        let packet = reader.receive().expect("an event");
        if packet[0] != 0 {
            break;
        }
        if packet[5] != event_type::QUERY {
            continue;
        }
        let raw = RawEvent::of_packet(&packet[1..], true).expect("an event");
        let query = Query::decode(raw.data()).expect("a query");
        let charset = query.status_vars().find_map(|var| match var {
            Ok(StatusVar::Charset { client, .. }) => Some(client),
            _ => None,
        });
        found.push((query.statement.into_owned(), charset));
    }
    let latin1 = b"CREATE TABLE d.t\xd6 (a CHAR(2) DEFAULT _binary'\xc4')".to_vec();
    assert_eq!(found, [(latin1, Some(8)), ("CREATE TABLE d.ü (a INT)".as_bytes().to_vec(), Some(255))]);
}

#[test]
fn the_log_is_read_by_position_and_by_gtid() {
    let server = Server::start("dump");
    let mut client = server.connect();
    done(&mut client, "RESET BINARY LOGS AND GTIDS");
    done(&mut client, "CREATE DATABASE d");
    done(&mut client, "CREATE TABLE d.t (id INT PRIMARY KEY, big LONGBLOB)");
    done(&mut client, "FLUSH BINARY LOGS");
    done(&mut client, "INSERT INTO d.t VALUES (1, NULL)");
    let uuid = value(&mut client, "SELECT @@server_uuid");
    let first = ["Rotate 0 binlog.000001".to_string(), "Format_desc 127".to_string(), "Previous_gtids 158".to_string()];
    let all = sent(&mut reader(&server), &by_position("binlog.000001", 4, NON_BLOCK, 9));
    assert_eq!(all[..3], first);
    assert!(all[4].ends_with(" CREATE DATABASE d"), "{all:?}");
    let transaction = ["Gtid", "Query", "Table_map", "Write_rows", "Xid", "EOF"];
    let file = ["Rotate", "Format_desc", "Previous_gtids"];
    let statements = ["Gtid", "Query", "Gtid", "Query", "Rotate"];
    assert_eq!(names(&all), [&file[..], &statements, &file, &transaction].concat());
    // The same to who reads from the start by GTID, and to who is no replica.
    assert_eq!(sent(&mut reader(&server), &by_gtid("", NON_BLOCK, 9)), all);
    assert_eq!(sent(&mut reader(&server), &by_position("", 4, 0, 0)), all);
    // From the middle, and what a replica lacks.
    let at = all[4].split(' ').nth(1).expect("a position").parse().expect("a number");
    let rest = sent(&mut reader(&server), &by_position("binlog.000001", at, NON_BLOCK, 9));
    assert_eq!(rest[..2], ["Rotate 0 binlog.000001", "Format_desc 0"]);
    assert_eq!(rest[2..], all[5..]);
    let lacked = sent(&mut reader(&server), &by_gtid(&format!("{uuid}:1:3"), NON_BLOCK, 9));
    assert_eq!(
        names(&lacked),
        [&file[..], &["Heartbeat", "Gtid", "Query", "Rotate"], &file, &["Heartbeat", "EOF"]].concat(),
        "{lacked:?}"
    );
    let after = sent(&mut reader(&server), &by_gtid(&format!("{uuid}:1-2"), NON_BLOCK, 9));
    assert_eq!(names(&after), [&file[..], &transaction].concat());
    // As statements show it.
    let shown = client.query("SHOW BINLOG EVENTS IN 'binlog.000001'").rows();
    let ends = |row: &Vec<String>| format!("{} {}", row[2], row[4]);
    let positions: Vec<String> = all[1..8].iter().map(|line| line.split(' ').take(2).collect::<Vec<_>>().join(" ")).collect();
    assert_eq!(shown.iter().map(ends).collect::<Vec<_>>(), positions);
    let part = client.query(&format!("SHOW BINLOG EVENTS FROM {} LIMIT 1, 2", at - 1)).rows();
    assert_eq!(part, shown[5..7]);
    let logs = client.query("SHOW BINARY LOGS").rows();
    let status = client.query("SHOW BINARY LOG STATUS").rows();
    assert_eq!(logs.iter().map(|row| &row[0][..]).collect::<Vec<_>>(), ["binlog.000001", "binlog.000002"]);
    assert_eq!(status, [[&logs[1][0][..], &logs[1][1], "", "", &format!("{uuid}:1-3")]]);

    // An event that needs several packets.
    let big = 17 << 20;
    done(&mut client, &format!("INSERT INTO d.t VALUES (2, REPEAT('x', {big}))"));
    let mut big_reader = reader(&server);
    big_reader.command(&by_gtid(&format!("{uuid}:1-3"), NON_BLOCK, 9)).expect("sent");
    let longest = std::iter::from_fn(|| big_reader.receive().ok()).map(|packet| packet.len()).max();
    assert!(longest.is_some_and(|longest| longest > big), "{longest:?}");
}

#[test]
fn a_dump_that_waits_is_fed_until_it_is_ended() {
    let server = Server::start("dump-waits");
    let mut client = server.connect();
    done(&mut client, "CREATE DATABASE d");
    let begin = |uuid: &str, flags: u16| {
        let status = server.connect().query("SHOW BINARY LOG STATUS").rows().remove(0);
        let (file, position) = (&status[0], &status[1]);
        let mut reader = reader(&server);
        done(&mut reader, &format!("SET @replica_uuid = '{uuid}', @source_heartbeat_period = 300000000"));
        let replica = [&[0x15][..], &77u32.to_le_bytes(), &[4], b"host", &[0, 0], &3307u16.to_le_bytes(), &[0; 8]].concat();
        reader.command(&replica).expect("sent");
        assert_eq!(reader.receive().expect("an answer")[0], 0);
        reader.command(&by_position(file, position.parse().expect("a number"), flags, 77)).expect("sent");
        let mut has_checksums = true;
        for expected in ["Rotate", "Format_desc", "Heartbeat"] {
            let packet = reader.receive().expect("an event");
            let line = line(&packet[1..], &mut has_checksums);
            assert_eq!(names(std::slice::from_ref(&line)), [expected]);
            if expected == "Heartbeat" {
                assert_eq!(line, format!("Heartbeat {position}"));
            }
        }
        reader
    };
    let ended = |reader: &mut Client| loop {
        let packet = reader.receive();
        match packet.as_ref().map(|packet| packet[0]) {
            Ok(0) => {}
            Ok(0xff) => break String::from_utf8_lossy(&packet.expect("a packet")[9..]).into_owned(),
            Ok(_) => break "EOF".to_string(),
            Err(_) => break "closed".to_string(),
        }
    };
    let dump_of = |client: &mut Client| {
        let query = "SELECT id, state FROM information_schema.processlist WHERE command = 'Binlog Dump'";
        let rows = client.query(query).rows();
        assert_eq!(rows.len(), 1, "{rows:?}");
        assert_eq!(rows[0][1], "Source has sent all binlog to replica; waiting for more updates");
        rows[0][0].clone()
    };
    let mut first = begin("00000000-0000-0000-0000-000000000077", 0);
    let replicas = client.query("SHOW REPLICAS").rows();
    let source = value(&mut client, "SELECT @@server_id");
    assert_eq!(replicas, [["77", "host", "3307", &source, "00000000-0000-0000-0000-000000000077"]]);
    done(&mut client, "CREATE TABLE d.t (id INT PRIMARY KEY)");
    let mut has_checksums = true;
    let fed: Vec<String> = std::iter::from_fn(|| first.receive().ok())
        .map(|packet| line(&packet[1..], &mut has_checksums))
        .filter(|line| !line.starts_with("Heartbeat"))
        .take(2)
        .collect();
    assert_eq!(names(&fed), ["Gtid", "Query"]);
    // The same replica comes again.
    let mut second = begin("00000000-0000-0000-0000-000000000077", HEARTBEAT_V2);
    let end = ended(&mut first);
    assert!(
        end.starts_with("A replica with the same server_uuid/server_id as this replica has connected to the source;"),
        "{end}"
    );
    let id = dump_of(&mut client);
    done(&mut client, &format!("KILL QUERY {id}"));
    assert_eq!(ended(&mut second), "EOF");
    second.wait_for_end();
    let mut third = begin("00000000-0000-0000-0000-000000000078", 0);
    let id = dump_of(&mut client);
    done(&mut client, &format!("KILL {id}"));
    assert_eq!(ended(&mut third), "closed");
    // A replica that goes is seen to go.
    drop(begin("00000000-0000-0000-0000-000000000079", 0));
    let gone =
        |client: &mut Client| value(client, "SELECT COUNT(*) FROM information_schema.processlist WHERE command LIKE 'Binlog%'");
    (0..300).take_while(|_| gone(&mut client) != "0").for_each(|_| std::thread::sleep(Duration::from_millis(100)));
    assert_eq!(gone(&mut client), "0");
    assert_eq!(client.query("SHOW REPLICAS").rows(), [[""; 0]; 0]);
    // A log that is sent does not hold up the end of the server.
    let mut last = begin("00000000-0000-0000-0000-000000000077", 0);
    let (took, well, _) = server.terminate();
    assert!(well && took < Duration::from_secs(60), "{took:?}");
    assert_eq!(ended(&mut last), "closed");
}

#[test]
fn what_cannot_be_read_is_refused() {
    let server = Server::start("dump-refused");
    let mut client = server.connect();
    ["CREATE DATABASE d", "FLUSH BINARY LOGS", "CREATE DATABASE e", "FLUSH LOGS"].iter().for_each(|s| done(&mut client, s));
    let uuid = value(&mut client, "SELECT @@server_uuid");
    let all = value(&mut client, "SELECT @@gtid_executed");
    let logs: Vec<String> = client.query("SHOW BINARY LOGS").rows().into_iter().map(|mut row| row.remove(0)).collect();
    let last = logs.last().expect("a log").clone();
    let error = |client: &mut Client, command: &[u8]| sent(client, command).pop().expect("an end");

    // Whoever does not say that checksums are known.
    let old = error(&mut server.connect(), &by_position(&last, 4, NON_BLOCK, 9));
    assert!(old.starts_with(
        "1236 Replica can not handle replication events with the checksum that source is configured to log; the first"
    ));
    for (file, position, text) in [
        ("binlog.999999", 4, "Could not find first log file name in binary log index file"),
        (&last, 3, "Client requested source to start replication from position < 4"),
        (&last, 1 << 20, "Client requested source to start replication from position > file size"),
    ] {
        assert_eq!(error(&mut reader(&server), &by_position(file, position, NON_BLOCK, 9)), format!("1236 {text}"));
    }
    let cut = error(&mut reader(&server), &by_position(&last, 130, NON_BLOCK, 9));
    assert!(cut.starts_with("1236 binlog truncated in the middle of event;"), "{cut}");
    let more = error(&mut reader(&server), &by_gtid(&format!("{uuid}:1-1000"), NON_BLOCK, 9));
    assert!(more.starts_with("1236 Replica has more GTIDs than the source has"), "{more}");

    let no_set = [&[0x1e][..], &[0; 6], &[0; 12], &3u32.to_le_bytes(), b"abc"].concat();
    assert_eq!(error(&mut server.connect(), &no_set), "1773 Malformed GTID set encoding.");

    done(&mut client, &format!("PURGE BINARY LOGS TO '{last}'"));
    assert_eq!(client.query("SHOW BINARY LOGS").rows().len(), 1);
    assert_eq!(value(&mut client, "SELECT @@gtid_purged"), all);
    assert_eq!(
        error(&mut reader(&server), &by_gtid("", NON_BLOCK, 9)),
        format!(
            "1236 Cannot replicate because the source purged required binary logs. Replicate the missing transactions from elsewhere, or \
             provision a new replica from backup. Consider increasing the source's binary log expiration period. The GTID set sent by the \
             replica is '', and the missing transactions are '{all}'"
        )
    );
    let refused = |client: &mut Client, statement: &str| match client.query(statement) {
        Answer::Err { code, .. } => code,
        other => panic!("{statement}: {other:?}"),
    };
    assert_eq!(refused(&mut client, "PURGE BINARY LOGS TO 'binlog.999999'"), 1373);
    assert_eq!(refused(&mut client, "SHOW BINLOG EVENTS IN 'binlog.999999'"), 1220);
    assert_eq!(refused(&mut client, "RESET BINARY LOGS AND GTIDS TO 2000000001"), 3567);

    // Privileges; the connection stays.
    done(&mut client, "CREATE USER n@'%' IDENTIFIED BY 'n'");
    let mut nobody = Client::connect(server.port, "n", "n").expect("connected");
    assert!(error(&mut nobody, &by_position("", 4, NON_BLOCK, 9)).starts_with("1227 "));
    assert!(error(&mut nobody, &[&[0x15][..], &[1, 0, 0, 0], &[0; 13]].concat()).starts_with("1045 "));
    for statement in ["PURGE BINARY LOGS BEFORE NOW()", "RESET BINARY LOGS AND GTIDS", "SHOW BINLOG EVENTS", "SHOW REPLICAS"] {
        assert_eq!(refused(&mut nobody, statement), 1227, "{statement}");
    }
    done(&mut client, "RESET BINARY LOGS AND GTIDS TO 12");
    assert_eq!(client.query("SHOW BINARY LOGS").rows()[0][0], "binlog.000012");
    assert_eq!(value(&mut client, "SELECT CONCAT(@@global.gtid_executed, @@global.gtid_purged)"), "");
}

#[test]
fn without_a_log_there_is_nothing_to_read() {
    let server = Server::start_with("dump-off", &["--log-bin=OFF"]);
    let mut client = server.connect();
    assert!(matches!(client.query("SHOW BINARY LOGS"), Answer::Err { code: 1381, .. }));
    assert_eq!(client.query("SHOW BINARY LOG STATUS").rows(), [[""; 0]; 0]);
    assert_eq!(client.query("SHOW BINLOG EVENTS").rows(), [[""; 0]; 0]);
    ["FLUSH BINARY LOGS", "PURGE BINARY LOGS TO 'x'"].iter().for_each(|statement| done(&mut client, statement));
    assert_eq!(sent(&mut reader(&server), &by_position("", 4, NON_BLOCK, 9)), ["1236 Binary log is not open"]);
}

/// What a MariaDB asks before it reads, and what it gets; `replication::log::dump::maria::tests` has the events.
#[test]
fn a_mariadb_reads_the_log_in_its_own_form() {
    let server = Server::start("mariadb-reads");
    let mut client = server.connect();
    done(&mut client, "CREATE DATABASE d");
    done(&mut client, "CREATE TABLE d.t (a INT PRIMARY KEY, j JSON)");
    done(&mut client, "INSERT INTO d.t VALUES (1, '[1, 2]')");
    let position = client.query("SELECT @@GLOBAL.gtid_domain_id, @@GLOBAL.gtid_binlog_pos, @@GLOBAL.gtid_binlog_state").rows();
    let number = position[0][1].rsplit('-').next().and_then(|n| n.parse::<u64>().ok()).expect("a GTID");
    assert_eq!(position, [["0".to_string(), format!("0-1-{number}"), format!("0-1-{number}")]]);
    let read = |state: &str| {
        let mut client = reader(&server);
        client.query("SET @mariadb_slave_capability = 4");
        client.query(&format!("SET @slave_connect_state = '{state}'"));
        // Not HEARTBEAT_V2: the same bit asks for ANNOTATE_ROWS.
        sent(&mut client, &by_position("", 4, NON_BLOCK | HEARTBEAT_V2, 99))
    };
    let names = |lines: &[String]| -> Vec<String> {
        lines.iter().map(|line| line.split(' ').next().unwrap_or_default().to_string()).collect()
    };
    let last = read(&format!("0-1-{}", number - 1));
    assert_eq!(names(&last), ["Rotate", "Format_desc", "Gtid_list", "Gtid", "Table_map", "Write_rows_v1", "Xid", "EOF"]);
    assert_eq!(last[1], "Format_desc 0");
    let before = read(&format!("0-1-{}", number - 2));
    assert_eq!(names(&before)[3..5], ["Gtid", "Query"]);
    assert_eq!(names(&before)[5..], names(&last)[3..]);
    assert_eq!(names(&read(&format!("0-1-{number}"))), ["Rotate", "Format_desc", "Gtid_list", "EOF"]);
    let ahead = read(&format!("0-1-{}", number + 1));
    assert_eq!(
        ahead,
        [format!(
            "1236 Error: connecting slave requested to start from GTID 0-1-{}, which is not in the master's binlog",
            number + 1
        )]
    );
}
