//! What a MariaDB is sent of a server's log. The shapes are those of MariaDB 10.11: `GTID` is the data that its events begin with.

use std::time::Duration;

use vaquita_types::gtid::Uuid;
use vaquita_wire::binlog::info::{Dialect as Shown, info};
use vaquita_wire::binlog::{Decoder, Event, RawEvent, event_name};

use super::super::super::test_source::Source;
use super::super::*;
use super::parse_gtids;

/// Events as SHOW BINLOG EVENTS of a MariaDB shows them.
struct Peer {
    source: std::sync::Arc<crate::log::BinaryLog>,
    decoder: Decoder,
    lines: Vec<String>,
    /// Of the last GTID.
    gtid: Vec<u8>,
    sums: bool,
    counted: Position,
    file: u32,
    by_position: bool,
}

impl DumpPeer for Peer {
    fn send(&mut self, pieces: &[&[u8]]) -> std::result::Result<(), DumpStop> {
        let packet = pieces.concat();
        let bytes = &packet[1..];
        let code = bytes[4];
        let is_format = code == event_type::FORMAT_DESCRIPTION;
        let raw = RawEvent::of_packet(bytes, is_format || self.sums || self.lines.is_empty()).unwrap();
        assert_eq!(raw.header.length as usize, bytes.len());
        let event = self.decoder.decode(&raw).unwrap();
        let rotated = match &event {
            Event::Rotate(rotate) => {
                self.file = crate::log::file_number(std::str::from_utf8(rotate.file).unwrap()).unwrap();
                rotate.position
            }
            Event::FormatDescription(format) => {
                assert!(format.is_mariadb());
                self.sums = format.checksum == Some(vaquita_wire::binlog::ChecksumAlgorithm::Crc32);
                0
            }
            Event::MariaGtid(_) => {
                self.gtid = raw.data().to_vec();
                0
            }
            _ => 0,
        };
        // Where it comes again when its connection breaks off between transactions.
        if matches!(event, Event::MariaGtid(_)) && self.by_position {
            self.source.reader(Place { file: self.file, pos: self.counted.0 }).unwrap();
        }
        self.counted.sent(&raw.header, rotated);
        let mut line =
            format!("{} {}", event_name(code).unwrap(), String::from_utf8_lossy(&info(&event, &raw.header, Shown::MariaDb)));
        if let Event::Xid(_) = &event {
            // Its number goes on over tests.
            line = "Xid".to_string();
        }
        if let Event::Rows(rows) = &event {
            let changes: Vec<_> = rows.changes().collect::<std::result::Result<_, _>>().unwrap();
            line = format!("{} {}", event_name(code).unwrap(), changes.len());
        }
        self.lines.push(line);
        Ok(())
    }

    fn flush(&mut self) -> std::result::Result<(), DumpStop> {
        Ok(())
    }

    fn state(&mut self, _: &'static str) {}

    fn reads(&mut self, _: u32) {}

    fn stop(&mut self) -> Option<DumpStop> {
        None
    }
}

fn read(source: &Source, request: &DumpRequest) -> (Peer, DumpEnd) {
    let terms = DumpTerms {
        server_id: 7,
        server_uuid: Uuid([1; 16]),
        gtid_mode: "ON".to_string(),
        checksum: ReplicaChecksum::Crc32,
        heartbeat: Some(Duration::from_secs(1)),
    };
    let mut peer = Peer {
        source: source.log.clone(),
        decoder: Decoder::default(),
        lines: Vec::new(),
        gtid: Vec::new(),
        sums: true,
        counted: Position(0),
        file: 0,
        by_position: request.maria.as_ref().is_some_and(|maria| maria.state.is_none()),
    };
    let end = dump(&source.log, request, &terms, &mut peer);
    (peer, end)
}

fn request(state: Option<&str>, until: Option<&str>) -> DumpRequest {
    let gtids = |text: &str| parse_gtids(text).unwrap();
    let maria = MariaRequest { state: state.map(gtids), until: until.map(gtids), annotates: true };
    DumpRequest { position: 4, maria: Some(maria), ..DumpRequest::default() }
}

fn lines(source: &Source, state: Option<&str>) -> Vec<String> {
    let (peer, end) = read(source, &request(state, None));
    assert!(matches!(end, DumpEnd::Done), "{end:?}");
    peer.lines
}

/// Of the GTID that goes before: its flags.
fn flags(source: &Source, state: &str) -> u8 {
    const FLAGS_AT: usize = 12;
    read(source, &request(Some(state), None)).0.gtid[FLAGS_AT]
}

#[test]
fn transactions_are_those_of_a_mariadb() {
    let mut source = Source::start();
    source.run("CREATE DATABASE d COLLATE utf8mb4_0900_ai_ci");
    source.run("CREATE TABLE d.t (a INT PRIMARY KEY, j JSON, v VECTOR(2))");
    assert_eq!(flags(&source, "0-7-1"), 0x29);
    source.run("SET binlog_rows_query_log_events = ON");
    source.run("INSERT INTO d.t VALUES (1, '{\"a\": [1, 2]}', NULL), (2, NULL, TO_VECTOR('[1,2]'))");
    assert_eq!(flags(&source, "0-7-2"), 0x0e);
    source.run("CREATE TABLE d.u SELECT a FROM d.t");
    assert_eq!(flags(&source, "0-7-3"), 0x28);
    source.run("CREATE USER x");
    source.run("XA START 'x', 'b', 5");
    source.run("DELETE FROM d.t WHERE a = 1");
    source.run("XA END 'x', 'b', 5");
    source.run("XA PREPARE 'x', 'b', 5");
    assert_eq!(flags(&source, "0-7-5") & !2, 0x4c);
    source.run("XA COMMIT 'x', 'b', 5");
    assert_eq!(flags(&source, "0-7-6"), 0x8d);
    let all = lines(&source, Some(""));
    let expected = include_str!("tests.txt");
    if std::env::var_os("GOLDEN_WRITE").is_some() {
        std::fs::write(concat!(env!("CARGO_MANIFEST_DIR"), "/src/log/dump/maria/tests.txt"), all.join("\n") + "\n").unwrap();
    } else {
        assert_eq!(all.join("\n") + "\n", expected);
    }
}

#[test]
fn gtids_are_found_in_any_file() {
    let mut source = Source::start();
    source.run("CREATE DATABASE d");
    source.run("CREATE TABLE d.t (a INT PRIMARY KEY)");
    for n in 3..30 {
        source.run(&format!("INSERT INTO d.t VALUES ({n})"));
        if n % 7 == 0 {
            source.log.rotate(source.server.engine.store()).unwrap();
        }
    }
    for n in 1..30 {
        let state = format!("0-7-{n}");
        let gtids: Vec<_> = lines(&source, Some(&state)).into_iter().filter(|line| line.starts_with("Gtid ")).collect();
        assert_eq!(gtids.len(), 29 - n, "{state}");
        if let Some(first) = gtids.first() {
            assert!(first.ends_with(&format!("GTID 0-7-{}", n + 1)), "{first}");
        }
    }
    let error = |source: &Source, state: &str| match read(source, &request(Some(state), None)).1 {
        DumpEnd::Failed(error) => error.message().to_string(),
        end => format!("{end:?}"),
    };
    assert!(error(&source, "0-8-5").contains("slave has diverged"));
    assert!(error(&source, "0-7-30").ends_with("GTID 0-7-30, which is not in the master's binlog"));
    assert_eq!(error(&source, "1-1-1"), "Done");
    let (peer, _) = read(&source, &request(Some("0-7-4"), Some("0-7-6")));
    assert_eq!(peer.lines.iter().filter(|line| line.starts_with("Gtid ")).count(), 2);
    assert!(peer.lines.last().unwrap().starts_with("Gtid_list"));
    source.log.purge_before(3).unwrap();
    assert!(error(&source, "0-7-3").contains("slave state is too old"));
    assert_eq!(lines(&source, Some("0-7-14")).iter().filter(|line| line.starts_with("Gtid ")).count(), 15);
    source.log.reset(source.server.engine.store(), 1).unwrap();
    source.run("INSERT INTO d.t VALUES (1)");
    assert!(lines(&source, Some("")).iter().any(|line| line.ends_with("GTID 0-7-1")));
}

/// A document as text may be longer than as MySQL stores it.
#[test]
fn positions_are_those_of_the_log() {
    let mut source = Source::start();
    source.run("CREATE DATABASE d");
    source.run("CREATE TABLE d.t (a INT PRIMARY KEY, j JSON) CHARSET utf8mb4");
    source.run("INSERT INTO d.t VALUES (1, '[10001, 20002, 30003]'), (2, '[-32768, -32767, -32766, -32765, -32764]')");
    source.run("INSERT INTO d.t SELECT 3, JSON_ARRAYAGG(n * 7919 % 30011) FROM (WITH RECURSIVE r AS (SELECT 1 n UNION ALL SELECT n + 1 FROM r WHERE n < 900) SELECT n FROM r) q");
    source.run("UPDATE d.t SET j = '[1.1e-300, 2.2250738585072014e-308]' WHERE a = 2");
    source.run("DELETE FROM d.t");
    let (peer, end) = read(&source, &request(None, None));
    assert!(matches!(end, DumpEnd::Done));
    assert_eq!(peer.counted.0, source.log.end().pos);
    assert!(peer.lines.iter().any(|line| line.starts_with("Write_rows_compressed_v1 ")), "{:#?}", peer.lines);
}
