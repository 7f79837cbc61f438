//! What statements tell the log of rows, as text for people has it.

use vaquita_storage::LogBuffer;
use vaquita_types::Error;
use vaquita_wire::binlog::rows::rows_flags;
use vaquita_wire::binlog::text::put_rows;
use vaquita_wire::binlog::{Decoder, Event, EventReader, Query, event_type};

use super::entries::{Facts, kind};
use super::reader::gtid_event;
use super::test_source::Source;
use super::{FIRST_POS, Place};

fn start() -> Source {
    let mut source = Source::start();
    source.run("CREATE DATABASE shop");
    source.run("USE shop");
    source
}

/// The events behind a place, each with its type.
fn each_event(source: &Source, from: Place, mut each: impl FnMut(u8, Event<'_>)) {
    let mut decoder = Decoder::default();
    for mut event in source.events(from) {
        // As a log without checksums has it.
        let len = event.len() as u32;
        event[9..13].copy_from_slice(&len.to_le_bytes());
        let mut reader = EventReader::of_payload();
        reader.feed(&event);
        let raw = reader.next_event().unwrap().unwrap();
        each(raw.header.event_type, decoder.decode(&raw).unwrap());
    }
}

/// A line for each table and each row; `;` where a statement ends.
fn told(source: &Source, from: Place) -> Vec<String> {
    let mut lines = Vec::new();
    each_event(source, from, |_, event| match event {
        Event::TableMap(map) => lines.push(format!("map {}", String::from_utf8_lossy(&map.table))),
        Event::RowsQuery(text) => lines.push(String::from_utf8_lossy(text).into_owned()),
        Event::Rows(rows) => {
            let mut text = Vec::new();
            put_rows(&rows, &mut text).unwrap();
            let text = String::from_utf8(text).unwrap().replace("### ", "").replace('`', "").replace("shop.", "");
            for line in text.lines().map(str::trim) {
                let begins = ["INSERT ", "UPDATE ", "DELETE "].iter().any(|verb| line.starts_with(verb));
                match lines.last_mut().filter(|_| !begins) {
                    Some(row) => *row += &format!(" {line}"),
                    None => lines.push(line.into()),
                }
            }
            let flags = rows.flags & !rows_flags::CASCADES_FOLLOW;
            if flags & rows_flags::NO_FOREIGN_KEY_CHECKS != 0 {
                lines.push("(no foreign keys)".into());
            }
            if flags & rows_flags::STATEMENT_END != 0 {
                lines.push(";".into());
            }
        }
        Event::Xid(_) => lines.push("commit".into()),
        _ => {}
    });
    lines
}

fn assert_told(source: &Source, from: Place, expected: &[&str]) {
    assert_eq!(told(source, from), expected);
}

#[test]
fn what_is_undone_is_not_told() {
    let mut source = start();
    source.run("CREATE TABLE t (id INT PRIMARY KEY)");
    let from = source.log.end();
    source.run("BEGIN");
    source.run("INSERT INTO t VALUES (1)");
    source.run("SAVEPOINT s");
    source.run("INSERT INTO t VALUES (2)");
    source.run("ROLLBACK TO SAVEPOINT s");
    source.fails("INSERT INTO t VALUES (3), (1)");
    source.run("INSERT IGNORE INTO t VALUES (1), (4), (4)");
    source.run("COMMIT");
    source.run("BEGIN");
    source.run("INSERT INTO t VALUES (5)");
    source.run("ROLLBACK");
    assert_told(&source, from, &["map t", "INSERT INTO t SET id=1", ";", "map t", "INSERT INTO t SET id=4", ";", "commit"]);
}

#[test]
fn cascades_are_told_and_not_to_be_repeated() {
    let mut source = start();
    source.run("CREATE TABLE p (id INT PRIMARY KEY, a INT)");
    source.run(
        "CREATE TABLE c (id INT PRIMARY KEY, p INT, FOREIGN KEY (p) REFERENCES p (id) ON DELETE SET NULL ON UPDATE CASCADE)",
    );
    source.run("INSERT INTO p VALUES (1, 1), (2, 2)");
    source.run("INSERT INTO c VALUES (1, 1)");
    let from = source.log.end();
    source.run("UPDATE p SET a = 9 WHERE id = 1");
    source.run("DELETE FROM p WHERE id = 1");
    assert_told(
        &source,
        from,
        &[
            "map p",
            "UPDATE p WHERE id=1 a=1 SET id=1 a=9",
            ";",
            "commit",
            "map c",
            "UPDATE c WHERE id=1 p=1 SET id=1 p=NULL",
            "(no foreign keys)",
            ";",
            "map c",
            "map p",
            "DELETE FROM p WHERE id=1 a=9",
            "(no foreign keys)",
            ";",
            "commit",
        ],
    );
}

#[test]
fn triggers_and_their_statement_are_one_transaction() {
    let mut source = start();
    source.run("CREATE TABLE t (id INT PRIMARY KEY)");
    source.run("CREATE TABLE seen (id INT)");
    source.run("CREATE TRIGGER after_insert AFTER INSERT ON t FOR EACH ROW INSERT INTO seen VALUES (NEW.id)");
    source.run("CREATE FUNCTION written(id INT) RETURNS INT DETERMINISTIC BEGIN INSERT INTO seen VALUES (id); RETURN id; END");
    source.run("SET SESSION binlog_rows_query_log_events = ON");
    let from = source.log.end();
    source.run("INSERT INTO t VALUES (1), (2)");
    source.run("INSERT INTO t SELECT written(3)");
    assert_told(
        &source,
        from,
        &[
            "INSERT INTO t VALUES (1), (2)",
            "map t",
            "INSERT INTO t SET id=1",
            ";",
            "map t",
            "map seen",
            "INSERT INTO seen SET id=1",
            "INSERT INTO t SET id=2",
            "INSERT INTO seen SET id=2",
            ";",
            "commit",
            "INSERT INTO t SELECT written(3)",
            "map seen",
            "INSERT INTO seen SET id=3",
            ";",
            "map seen",
            "map t",
            "INSERT INTO t SET id=3",
            "INSERT INTO seen SET id=3",
            ";",
            "commit",
        ],
    );
}

#[test]
fn tables_that_come_and_go_are_not_told_and_those_that_keep_nothing_are() {
    let mut source = start();
    source.run("CREATE TEMPORARY TABLE passing (id INT)");
    source.run("CREATE TABLE nothing (id INT) ENGINE = BLACKHOLE");
    let from = source.log.end();
    source.run("INSERT INTO passing VALUES (1)");
    source.run("INSERT INTO nothing VALUES (2)");
    assert_told(&source, from, &["map nothing", "INSERT INTO nothing SET id=2", ";", "commit"]);
}

#[test]
fn a_row_that_changes_its_partition_is_updated() {
    let mut source = start();
    source.run("CREATE TABLE t (id INT PRIMARY KEY, a INT) PARTITION BY HASH (id) PARTITIONS 3");
    source.run("INSERT INTO t VALUES (1, 1)");
    let from = source.log.end();
    source.run("UPDATE t SET id = 2");
    source.run("DELETE FROM t");
    assert_told(
        &source,
        from,
        &["map t", "UPDATE t WHERE id=1 a=1 SET id=2 a=1", ";", "commit", "map t", "DELETE FROM t WHERE id=2 a=1", ";", "commit"],
    );
}

#[test]
fn times_are_in_utc_and_columns_that_are_not_stored_are_computed() {
    let mut source = start();
    source.run("SET SESSION time_zone = '+05:00'");
    source.run(
        "CREATE TABLE t (id INT PRIMARY KEY, a TIMESTAMP, h INT AS (HOUR(a)) VIRTUAL, k INT AS (id + 1) VIRTUAL, KEY ((id * 2)))",
    );
    source.run("INSERT INTO t (id, a) VALUES (1, '2020-01-01 12:00:00')");
    let from = source.log.end();
    source.run("UPDATE t SET a = '2020-01-01 06:00:00'");
    source.run("DELETE FROM t WHERE id = 1");
    let before = "id=1 a='2020-01-01 07:00:00+00:00' h=12 k=2";
    let after = "id=1 a='2020-01-01 01:00:00+00:00' h=6 k=2";
    let update = format!("UPDATE t WHERE {before} SET {after}");
    let delete = format!("DELETE FROM t WHERE {after}");
    assert_told(&source, from, &["map t", &update, ";", "commit", "map t", &delete, ";", "commit"]);
}

#[test]
fn rows_in_the_way_are_told_as_what_becomes_of_them() {
    let mut source = start();
    source.run("CREATE TABLE t (id INT PRIMARY KEY, a INT)");
    source.run("INSERT INTO t VALUES (1, 1)");
    let from = source.log.end();
    source.run("INSERT INTO t VALUES (1, 2) ON DUPLICATE KEY UPDATE a = 3");
    source.run("UPDATE t SET a = 3");
    assert_told(&source, from, &["map t", "UPDATE t WHERE id=1 a=1 SET id=1 a=3", ";", "commit"]);
    let from = source.log.end();
    source.run("CREATE TABLE u SELECT id + 1 AS id FROM t");
    let lines = told(&source, from);
    assert_eq!(lines, ["map u", "INSERT INTO u SET id=2", ";", "commit"]);
}

#[test]
fn a_large_transaction_is_whole() {
    let mut source = start();
    source.run("CREATE TABLE t (id INT PRIMARY KEY AUTO_INCREMENT, a VARCHAR(200), b BLOB)");
    source.run("INSERT INTO t (a) VALUES ('a')");
    let from = source.log.end();
    source.run("BEGIN");
    for _ in 0..15 {
        source.run("INSERT INTO t (a, b) SELECT REPEAT('x', 150), REPEAT('y', 100) FROM t");
    }
    source.run("COMMIT");
    let lines = told(&source, from);
    let count = |wanted: &str| lines.iter().filter(|line| line.starts_with(wanted)).count();
    assert_eq!([count("INSERT INTO t"), count("map t"), count(";"), count("commit")], [(1 << 15) - 1, 15, 15, 1]);
    for id in [2, 1 << 14, (1 << 15) - 1] {
        assert_eq!(count(&format!("INSERT INTO t SET id={id} ")), 1);
    }
}

/// Places and lengths of all events from the first file on, each of which ends where the next begins.
fn walk(source: &Source) -> Vec<(u32, u8, bool)> {
    let mut reader = source.log.reader(Place { file: 1, pos: 0 }).unwrap();
    let (mut all, mut next) = (Vec::new(), Place { file: 1, pos: FIRST_POS });
    while let Some(event) = reader.next_event().unwrap() {
        let number = |at: usize| u32::from_le_bytes(*event.bytes[at..].first_chunk().unwrap());
        if event.start.file != next.file {
            next = Place { file: event.start.file, pos: FIRST_POS };
        }
        assert_eq!(event.start, next);
        assert_eq!(number(9) as usize, event.bytes.len() + if event.checksum { 4 } else { 0 });
        next.pos += u64::from(number(9));
        assert_eq!(u64::from(number(13)), next.pos);
        all.push((event.start.file, event.bytes[4], event.checksum));
    }
    assert_eq!(next, source.log.end());
    all
}

#[test]
fn another_checksum_begins_another_file() {
    let mut source = start();
    source.run("CREATE TABLE t (a INT PRIMARY KEY, b LONGTEXT)");
    source.run("BEGIN");
    source.run("INSERT INTO t VALUES (1, NULL)");
    // The transaction was told under the one and is written under the other, as is a large one.
    source.run("SET GLOBAL binlog_checksum = NONE");
    source.run("COMMIT");
    source.run("INSERT INTO t VALUES (2, REPEAT('x', 6000000)), (3, REPEAT('y', 6000000))");
    source.run("SET GLOBAL binlog_checksum = CRC32");
    source.run("INSERT INTO t VALUES (4, REPEAT('z', 6000000))");
    let all = walk(&source);
    let of_file = |file: u32| all.iter().filter(|event| event.0 == file).map(|event| event.2).collect::<Vec<_>>();
    assert!(of_file(1).iter().all(|checksum| *checksum));
    assert!(of_file(2).iter().all(|checksum| !checksum));
    assert!(of_file(3).iter().all(|checksum| *checksum));
    assert_eq!(all.iter().filter(|event| event.1 == event_type::XID).count(), 3);
}

#[test]
fn what_a_replica_cannot_know_is_not_told() {
    let mut source = start();
    source.run("CREATE TEMPORARY TABLE tmp (a INT)");
    source.run("CREATE TABLE kept (a INT)");
    let from = source.log.end();
    source.run("CREATE TABLE liked LIKE tmp");
    source.run("DROP TABLE tmp, kept");
    assert_eq!(
        statements(&source, from),
        [
            "CREATE TABLE `shop`.`liked` (\n  `a` int DEFAULT NULL\n) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_0900_ai_ci",
            "DROP TABLE `shop`.`kept` /* generated by server */",
        ]
    );
}

#[test]
fn statements_of_accounts_are_told_once_and_without_passwords() {
    let mut source = start();
    let from = source.log.end();
    source.run("CREATE USER a IDENTIFIED BY 'secret', b IDENTIFIED BY 'secret'");
    source.run("CREATE ROLE r");
    source.run("ALTER USER a DEFAULT ROLE NONE");
    source.run("ALTER USER a IDENTIFIED BY 'secret', b ACCOUNT LOCK");
    source.run("SET PASSWORD FOR b = 'secret'");
    let told = statements(&source, from);
    let verbs: Vec<_> = told.iter().map(|text| text.split_whitespace().take(3).collect::<Vec<_>>().join(" ")).collect();
    assert_eq!(verbs.len(), 5, "{told:?}");
    assert!(told.iter().all(|text| !text.contains("secret")), "{told:?}");
    assert!(told[0].contains("'a'@'%'") && told[0].contains("'b'@'%'"), "{told:?}");
}

fn statements(source: &Source, from: Place) -> Vec<String> {
    let mut decoder = Decoder::default();
    let texts = source.events(from).into_iter().filter_map(|mut event| {
        let len = event.len() as u32;
        event[9..13].copy_from_slice(&len.to_le_bytes());
        let mut reader = EventReader::of_payload();
        reader.feed(&event);
        let raw = reader.next_event().unwrap().unwrap();
        match decoder.decode(&raw).unwrap() {
            Event::Query(query) => Some(String::from_utf8_lossy(&query.statement).into_owned()),
            _ => None,
        }
    });
    texts.collect()
}

/// An applier commits together what followed each other: a replica with several workers must not apply it at once.
#[test]
fn transactions_of_one_commit_wait_for_each_other() {
    let source = start();
    let from = source.log.end();
    let mut told = LogBuffer::default();
    for text in ["a", "b", "c"] {
        let query =
            Query { connection: 1, seconds: 0, error: 0, status_vars: &[], database: b"", statement: text.as_bytes().into() };
        told.push(kind::QUERY, None, |out| {
            query.encode(out);
            Ok::<_, Error>(())
        })
        .unwrap();
        told.push(kind::COMMIT, None, |out| {
            Facts::default().encode(out);
            Ok::<_, Error>(())
        })
        .unwrap();
    }
    source.server.engine.store().commit_told(&told).unwrap();
    let order: Vec<_> = source
        .events(from)
        .iter()
        .filter_map(|event| gtid_event(event[4], &event[19..]).unwrap())
        .map(|gtid| gtid.sequence_number - gtid.last_committed)
        .collect();
    assert_eq!(order, [1, 1, 1]);
}

/// Types of events, those of a compressed transaction in brackets.
fn types(source: &Source, from: Place) -> Vec<String> {
    let mut types = Vec::new();
    each_event(source, from, |code, event| {
        let name = |code: u8| vaquita_wire::binlog::event_name(code).unwrap().to_string();
        match event {
            Event::TransactionPayload(payload) => {
                let (mut unpacker, mut reader, mut inside) = (payload.unpacker(), EventReader::of_payload(), Vec::new());
                while let Some(piece) = unpacker.next_piece().unwrap() {
                    reader.feed(piece);
                }
                while let Some(raw) = reader.next_event().unwrap() {
                    inside.push(name(raw.header.event_type));
                }
                types.push(format!("[{}]", inside.join(" ")));
            }
            _ => types.push(name(code)),
        }
    });
    types
}

#[test]
fn rows_are_compressed_if_that_is_wanted() {
    let mut source = start();
    source.run("CREATE TABLE t (a INT PRIMARY KEY, b TEXT)");
    source.run("SET SESSION binlog_transaction_compression = ON, binlog_transaction_compression_level_zstd = 9");
    let from = source.log.end();
    source.run("INSERT INTO t VALUES (1, REPEAT('x', 1000)), (2, REPEAT('x', 1000))");
    source.run("BEGIN");
    source.run("UPDATE t SET b = REPEAT('y', 1000)");
    source.run("DELETE FROM t WHERE a = 1");
    source.run("COMMIT");
    source.run("CREATE TABLE u (a INT)");
    source.run("SET SESSION binlog_transaction_compression = OFF");
    source.run("DELETE FROM t");
    let expected = [
        "Gtid",
        "[Query Table_map Write_rows Xid]",
        "Gtid",
        "[Query Table_map Update_rows Table_map Delete_rows Xid]",
        "Gtid",
        "Query",
        "Gtid",
        "Query",
        "Table_map",
        "Delete_rows",
        "Xid",
    ];
    assert_eq!(types(&source, from), expected);
}
