//! What is sent of a log in memory: three files, of which the first has two transactions, the second one and the third two.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use vaquita_storage::GoOn;
use vaquita_types::gtid::{Gtid, Tag};
use vaquita_wire::binlog::{ChecksumAlgorithm, Event, FormatDescription, RawEvent};
use vaquita_wire::semi_sync::split_event;

use super::super::LogFile;
use super::super::semi_sync::SemiSyncSettings;
use super::super::source::EventCursor;
use super::start::{PURGED, SETS_TOO_LONG};
use super::*;

const SOURCE: Uuid = Uuid([7; 16]);

struct Kept {
    bytes: Vec<u8>,
    start: Place,
    gtid: Option<Gtid>,
}

struct MemoryLog {
    events: Vec<Kept>,
    files: Vec<LogFile>,
    checksum: bool,
    executed: GtidSet,
    purged: GtidSet,
    end: Mutex<Place>,
    semi_sync: SemiSync,
}

fn gtid(number: u64) -> Gtid {
    Gtid { source: SOURCE, tag: Tag::default(), number }
}

fn set(intervals: &[(u64, u64)]) -> GtidSet {
    let mut set = GtidSet::default();
    intervals.iter().for_each(|interval| set.add(SOURCE, Tag::default(), *interval));
    set
}

impl MemoryLog {
    fn new(checksum: bool) -> MemoryLog {
        let place = Place { file: 1, pos: 0 };
        let mut log = MemoryLog {
            events: Vec::new(),
            files: Vec::new(),
            checksum,
            executed: set(&[(1, 5)]),
            purged: GtidSet::default(),
            end: Mutex::new(place),
            semi_sync: SemiSync::default(),
        };
        for (file, transactions) in [(1, 1..=2), (2, 3..=3), (3, 4..=5)] {
            log.begin_file(file, transactions.start() - 1);
            transactions.for_each(|number| log.transaction(number));
            if file < 3 {
                let mut data = Vec::new();
                Rotate { position: 4, file: super::super::file_name(file + 1).as_bytes() }.encode(&mut data);
                log.push(event_type::ROTATE, &data, None);
            }
        }
        log
    }

    fn begin_file(&mut self, file: u32, before: u64) {
        *self.end.get_mut().unwrap() = Place { file, pos: 4 };
        let previous = set(&[(1, before)]);
        let name = super::super::file_name(file);
        self.files.push(LogFile {
            number: file,
            name,
            bytes: 0,
            previous: previous.clone(),
            began: file,
            servers: Servers::new(),
        });
        let mut data = Vec::new();
        let format = FormatDescription {
            server_version: b"8.4.0",
            created: file,
            post_header_lengths: &[0; 42],
            checksum: Some(if self.checksum { ChecksumAlgorithm::Crc32 } else { ChecksumAlgorithm::Off }),
        };
        format.encode(&mut data);
        if !self.checksum {
            data.extend_from_slice(&[1, 2, 3, 4]);
        }
        self.push(event_type::FORMAT_DESCRIPTION, &data, None);
        data.clear();
        previous.encode_for_all(&mut data);
        self.push(event_type::PREVIOUS_GTIDS, &data, None);
    }

    fn transaction(&mut self, number: u64) {
        self.push(event_type::GTID, &[0; 42], Some(number));
        self.push(event_type::XID, &number.to_le_bytes(), Some(number));
    }

    fn push(&mut self, event_type: u8, data: &[u8], transaction: Option<u64>) {
        let sum = if self.checksum { CHECKSUM_BYTES } else { 0 };
        let end = self.end.get_mut().unwrap();
        let length = (HEADER_BYTES + data.len() + sum) as u32;
        let flags = if event_type == event_type::FORMAT_DESCRIPTION { flags::IN_USE } else { 0 };
        let start = *end;
        end.pos += u64::from(length);
        let header = Header { timestamp: 9, event_type, server_id: 1, length, end_position: end.pos as u32, flags };
        let mut bytes = Vec::new();
        header.encode(&mut bytes);
        bytes.extend_from_slice(data);
        if let Some(file) = self.files.last_mut() {
            file.bytes = end.pos;
        }
        self.events.push(Kept { bytes, start, gtid: transaction.map(gtid) });
    }
}

impl LogSource for &'static MemoryLog {
    fn files(&self) -> Result<Vec<LogFile>> {
        Ok(self.files.clone())
    }

    fn end(&self) -> Place {
        *self.end.lock().unwrap()
    }

    fn wait_beyond(&self, seen: Place, until: Instant) -> bool {
        let beyond = self.end() > seen;
        if !beyond {
            std::thread::sleep(until.saturating_duration_since(Instant::now()));
        }
        beyond
    }

    fn watch(&self, _: &Arc<Wake>) {}

    fn semi_sync(&self) -> &SemiSync {
        &self.semi_sync
    }

    fn executed(&self) -> GtidSet {
        self.executed.clone()
    }

    fn purged(&self) -> Result<GtidSet> {
        Ok(self.purged.clone())
    }

    fn end_of_transaction(&self, _: u32, _: u64) -> Result<Option<(Place, u32)>> {
        Ok(None)
    }

    fn reader(&self, from: Place) -> Result<Box<dyn EventCursor>> {
        let log: &'static MemoryLog = self;
        let at = log.events.iter().position(|event| event.start == from);
        match at.or((from == self.end()).then_some(log.events.len())) {
            Some(at) => Ok(Box::new(Reader { log, at })),
            None => Err(Error::internal("no event begins there")),
        }
    }
}

struct Reader {
    log: &'static MemoryLog,
    at: usize,
}

impl EventCursor for Reader {
    fn next(&mut self) -> Result<Option<LogEvent<'_>>> {
        let event = self.log.events.get(self.at).filter(|event| event.start < *self.log.end.lock().unwrap());
        self.at += usize::from(event.is_some());
        Ok(event.map(|event| LogEvent {
            bytes: &event.bytes,
            start: event.start,
            checksum: self.log.checksum,
            gtid: event.gtid.as_ref(),
        }))
    }
}

/// Keeps what it is sent, a line for each event.
#[derive(Default)]
struct Peer {
    lines: Vec<String>,
    /// It ends after so many heartbeats.
    heartbeats: Option<(usize, DumpStop)>,
    sums: bool,
    /// It is semi-synchronous, and says once that it has all up to here.
    acks_from: Option<Option<Place>>,
}

impl DumpPeer for Peer {
    fn send(&mut self, pieces: &[&[u8]]) -> std::result::Result<(), DumpStop> {
        let packet = pieces.concat();
        assert_eq!(packet[0], 0);
        let mut bytes = &packet[1..];
        let mut wants_ack = false;
        if self.acks_from.is_some() {
            (wants_ack, bytes) = split_event(bytes).unwrap();
        }
        let code = bytes[4];
        let format = code == event_type::FORMAT_DESCRIPTION;
        if format {
            self.sums = bytes[bytes.len() - 5] == 1;
        }
        let artificial = bytes[FLAGS_AT] & 0x20 != 0 && !self.lines.iter().any(|line| line.starts_with("Rotate"));
        let first_sum = artificial && bytes.len() == HEADER_BYTES + 8 + 13 + 4;
        let raw = RawEvent::of_packet(bytes, format || self.sums || first_sum).unwrap();
        let name = vaquita_wire::binlog::event_name(code).unwrap();
        let event = vaquita_wire::binlog::Decoder::default().decode(&raw);
        let mut line = format!("{name} {}", raw.header.end_position);
        match event {
            Ok(Event::Rotate(rotate)) => line += &format!(" -> {}:{}", String::from_utf8_lossy(rotate.file), rotate.position),
            Ok(Event::FormatDescription(format)) => line += &format!(" created {}", format.created),
            Ok(Event::Xid(xid)) => line += &format!(" of {xid}"),
            Ok(Event::Heartbeat(beat)) => line += &format!(" {} {:?}", String::from_utf8_lossy(beat.file), beat.position),
            _ => {}
        }
        if raw.header.flags != 0 {
            line += &format!(" flags {:x}", raw.header.flags);
        }
        if raw.header.timestamp == 0 {
            line += " made";
        }
        if first_sum || self.sums {
            line += " sum";
        }
        if wants_ack {
            line += " ack";
        }
        self.lines.push(line);
        Ok(())
    }

    fn number_anew(&mut self) -> std::result::Result<(), DumpStop> {
        self.lines.push("anew".to_string());
        Ok(())
    }

    fn acks(&mut self) -> std::result::Result<Vec<Place>, DumpStop> {
        Ok(self.acks_from.iter_mut().filter_map(Option::take).collect())
    }

    fn flush(&mut self) -> std::result::Result<(), DumpStop> {
        Ok(())
    }

    fn state(&mut self, text: &'static str) {
        if text == WAITING {
            self.lines.push("waits".to_string());
        }
    }

    fn reads(&mut self, file: u32) {
        self.lines.push(format!("reads {file}"));
    }

    fn stop(&mut self) -> Option<DumpStop> {
        let (count, stop) = self.heartbeats?;
        (self.lines.iter().filter(|line| line.starts_with("Heartbeat")).count() >= count).then_some(stop)
    }
}

fn terms(checksum: ReplicaChecksum) -> DumpTerms {
    DumpTerms { server_id: 1, server_uuid: SOURCE, gtid_mode: "ON".to_string(), checksum, heartbeat: None }
}

fn by_position(file: &str, position: u64) -> DumpRequest {
    DumpRequest { file: file.as_bytes().to_vec(), position, ..DumpRequest::default() }
}

fn by_gtid(known: &[(u64, u64)]) -> DumpRequest {
    DumpRequest { position: 4, known: Some(set(known)), ..DumpRequest::default() }
}

fn leaked(log: MemoryLog) -> &'static MemoryLog {
    Box::leak(Box::new(log))
}

fn sent_of(log: &'static MemoryLog, request: &DumpRequest, terms: &DumpTerms, mut peer: Peer) -> Vec<String> {
    let end = dump(&log, request, terms, &mut peer);
    peer.lines.push(match end {
        DumpEnd::Done => "EOF".to_string(),
        DumpEnd::Gone => "gone".to_string(),
        DumpEnd::Failed(error) => format!("{} {}", error.code(), error.message()),
    });
    peer.lines
}

fn sent(request: &DumpRequest) -> Vec<String> {
    sent_of(leaked(MemoryLog::new(true)), request, &terms(ReplicaChecksum::Crc32), Peer::default())
}

fn refused(log: &'static MemoryLog, request: &DumpRequest, terms: &DumpTerms) -> String {
    sent_of(log, request, terms, Peer::default()).pop().unwrap()
}

/// All of the second file, and what the third begins with.
const SECOND_FILE: [&str; 11] = [
    "reads 2",
    "Rotate 0 -> binlog.000002:4 flags 20 made sum",
    "Format_desc 127 created 2 sum",
    "Previous_gtids 198 sum",
    "Gtid 263 sum",
    "Xid 294 of 3 sum",
    "Rotate 338 -> binlog.000003:4 sum",
    "reads 3",
    "Rotate 0 -> binlog.000003:4 flags 20 made sum",
    "Format_desc 127 created 3 sum",
    "Previous_gtids 198 sum",
];

#[test]
fn a_log_is_sent_file_by_file() {
    assert_eq!(
        sent(&by_position("binlog.000002", 4)),
        [&SECOND_FILE[..], &["Gtid 263 sum", "Xid 294 of 4 sum", "Gtid 359 sum", "Xid 390 of 5 sum", "EOF",]].concat()
    );
    let first = sent(&by_position("", 4));
    assert_eq!(first[1], "Rotate 0 -> binlog.000001:4 flags 20 made sum");
    assert_eq!(first.len(), 25);
}

#[test]
fn the_format_of_a_log_that_is_read_from_the_middle_has_no_position() {
    assert_eq!(
        sent(&by_position("./binlog.000003", 294)),
        [
            "reads 3",
            "Rotate 0 -> binlog.000003:294 flags 20 made sum",
            "Format_desc 0 created 0 sum",
            "Gtid 359 sum",
            "Xid 390 of 5 sum",
            "EOF",
        ]
    );
}

#[test]
fn transactions_that_the_replica_has_are_left_out() {
    assert_eq!(
        sent(&by_gtid(&[(1, 2), (4, 4)])),
        [&SECOND_FILE[..], &["Heartbeat 294 binlog.000003 None made sum", "Gtid 359 sum", "Xid 390 of 5 sum", "EOF",]].concat()
    );
    // All of the last file: its start is none of the server.
    assert_eq!(
        sent(&DumpRequest { heartbeat_v2: true, ..by_gtid(&[(1, 5)]) })[1..],
        [
            "Rotate 0 -> binlog.000003:4 flags 20 made sum",
            "Format_desc 127 created 0 sum",
            "Previous_gtids 198 sum",
            "Heartbeat 390 binlog.000003 Some(390) made sum",
            "EOF",
        ]
    );
}

#[test]
fn checksums_are_those_of_the_log() {
    let log = leaked(MemoryLog::new(true));
    let lines = sent_of(log, &by_position("binlog.000002", 4), &terms(ReplicaChecksum::None), Peer::default());
    assert_eq!(lines[1..3], ["Rotate 0 -> binlog.000002:4 flags 20 made", "Format_desc 127 created 2 sum"]);
    assert_eq!(lines[8], "Rotate 0 -> binlog.000003:4 flags 20 made sum");
    assert_eq!(
        refused(log, &by_position("binlog.000002", 4), &terms(ReplicaChecksum::Unknown)),
        "1236 Replica can not handle replication events with the checksum that source is configured to log; the first event \
         'binlog.000002' at 4, the last event read from './binlog.000002' at 127, the last byte read from './binlog.000002' at 127."
    );
    let log = leaked(MemoryLog::new(false));
    let lines = sent_of(log, &by_position("binlog.000003", 4), &terms(ReplicaChecksum::Unknown), Peer::default());
    assert_eq!(lines[1..4], ["Rotate 0 -> binlog.000003:4 flags 20 made", "Format_desc 127 created 3", "Previous_gtids 194"]);
}

#[test]
fn a_dump_that_waits_sends_heartbeats() {
    let log = leaked(MemoryLog::new(true));
    let terms = DumpTerms { heartbeat: Some(Duration::from_millis(5)), ..terms(ReplicaChecksum::Crc32) };
    let request = DumpRequest { waits: true, ..by_position("binlog.000003", 390) };
    for (stop, end) in [
        (DumpStop::Ended, "EOF"),
        (DumpStop::Gone, "gone"),
        (
            DumpStop::Replaced,
            "1236 A replica with the same server_uuid/server_id as this replica has connected to the source; the first event \
             'binlog.000003' at 390, the last event read from './binlog.000003' at 390, the last byte read from './binlog.000003' at 390.",
        ),
    ] {
        let peer = Peer { heartbeats: Some((2, stop)), ..Peer::default() };
        let lines = sent_of(log, &request, &terms, peer);
        assert_eq!(
            lines[2..],
            [
                "Format_desc 0 created 0 sum",
                "waits",
                "Heartbeat 390 binlog.000003 None made sum",
                "Heartbeat 390 binlog.000003 None made sum",
                end
            ]
        );
    }
}

#[test]
fn a_log_that_was_reset_ends_the_dump() {
    let log = leaked(MemoryLog::new(true));
    let request = DumpRequest { waits: true, ..by_position("binlog.000003", 390) };
    std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(50));
        *log.end.lock().unwrap() = Place { file: 1, pos: 4 };
    });
    let end = refused(log, &request, &terms(ReplicaChecksum::Crc32));
    assert!(end.starts_with("1236 could not find next log; the first event 'binlog.000003' at 390"), "{end}");
}

/// As MySQL 9.7 says it.
#[test]
fn what_cannot_be_sent_is_refused() {
    let mut log = MemoryLog::new(true);
    log.purged = set(&[(1, 2)]);
    log.files.remove(0);
    let log = leaked(log);
    let terms = terms(ReplicaChecksum::Crc32);
    let no_file = "1236 Could not find first log file name in binary log index file";
    assert_eq!(refused(log, &by_position("binlog.000001", 4), &terms), no_file);
    for position in [0, 3] {
        let text = "1236 Client requested source to start replication from position < 4";
        assert_eq!(refused(log, &by_position("binlog.000002", position), &terms), text);
    }
    let text = "1236 Client requested source to start replication from position > file size";
    assert_eq!(refused(log, &by_position("binlog.000002", 339), &terms), text);
    let cut = refused(log, &by_position("binlog.000002", 130), &terms);
    assert!(
        cut.starts_with("1236 binlog truncated in the middle of event; consider out of disk space on source; the first event")
    );
    let ahead = refused(log, &by_gtid(&[(1, 6)]), &terms);
    assert!(ahead.starts_with("1236 Replica has more GTIDs than the source has") && ahead.ends_with("GTID_EXECU"), "{ahead}");
    assert_eq!(
        refused(log, &by_gtid(&[(1, 1)]), &terms),
        format!("1236 {PURGED}The GTID set sent by the replica is '{SOURCE}:1', and the missing transactions are '{SOURCE}:2'")
    );
    let scattered: Vec<(u64, u64)> = (2..80).map(|n| (n * 2, n * 2)).collect();
    let mut known = set(&scattered);
    known.add(SOURCE, Tag::default(), (4, 4));
    let other = Uuid([8; 16]);
    let mut of_other = GtidSet::default();
    known.iter().for_each(|(_, tag, all)| all.iter().for_each(|one| of_other.add(other, tag.clone(), *one)));
    let request = DumpRequest { known: Some(of_other), position: 4, ..DumpRequest::default() };
    assert_eq!(refused(log, &request, &terms), dump_line(&format!("{PURGED}{SETS_TOO_LONG}")));
    let off = DumpTerms { gtid_mode: "OFF".to_string(), ..terms.clone() };
    assert_eq!(
        refused(log, &by_gtid(&[]), &off),
        "1236 The replication sender thread cannot start in AUTO_POSITION mode: this server has GTID_MODE = OFF instead of ON."
    );
    let named = refused(log, &by_position("binlog.000002", 4), &off);
    assert!(named.starts_with(
        "1236 Cannot replicate GTID-transaction when @@GLOBAL.GTID_MODE = OFF, at file ./binlog.000002, position 198."
    ));
}

fn dump_line(text: &str) -> String {
    format!("1236 {}", dump_error(text).message())
}

#[test]
fn a_semi_synchronous_replica_is_asked_for_acks_of_what_waits() {
    let log = leaked(MemoryLog::new(true));
    let settings = SemiSyncSettings { enabled: true, ..SemiSyncSettings::default() };
    log.semi_sync.configure(settings);
    let ended = Arc::new(AtomicUsize::new(0));
    for pos in [294, 390] {
        log.semi_sync.logged(Place { file: 3, pos }, 1);
        let told = ended.clone();
        let end = Box::new(move || {
            told.fetch_add(1, Ordering::SeqCst);
        });
        log.semi_sync.hold(GoOn { show: Box::new(|| {}), end });
    }
    let peer = || Peer { acks_from: Some(Some(Place { file: 3, pos: 294 })), ..Peer::default() };
    let request = DumpRequest { semi_sync: Some(9), ..by_position("binlog.000003", 4) };
    assert_eq!(
        sent_of(log, &request, &terms(ReplicaChecksum::Crc32), peer()),
        [
            "reads 3",
            "Rotate 0 -> binlog.000003:4 flags 20 made sum",
            "Format_desc 127 created 3 sum",
            "Previous_gtids 198 sum",
            "Gtid 263 sum",
            "Xid 294 of 4 sum ack",
            "anew",
            "Gtid 359 sum",
            "Xid 390 of 5 sum ack",
            "anew",
            "EOF",
        ]
    );
    assert_eq!(ended.load(Ordering::SeqCst), 1);
    // What it has is as good as an ack, and what is not there is none.
    let request = DumpRequest { semi_sync: Some(9), ..by_gtid(&[(1, 5)]) };
    let peer = Peer { acks_from: Some(Some(Place { file: 9, pos: 4 })), ..Peer::default() };
    sent_of(log, &request, &terms(ReplicaChecksum::Crc32), peer);
    assert_eq!((ended.load(Ordering::SeqCst), log.semi_sync.status().clients), (2, 0));
}
