//! What the leader of commits adds to the log: places, GTIDs, the ends and beginnings of files.
//!
//! Nothing of it counts until the batch is written that has it: a refused group is forgotten by going back to the `Writer` of before.

use vaquita_storage::{Family, Records};
use vaquita_types::Result;
use vaquita_types::gtid::{GTID_NUMBER_MAX, Gtid, GtidSet, Tag, Uuid};
use vaquita_wire::binlog::header::{CHECKSUM_BYTES, flags};
use vaquita_wire::binlog::{ChecksumAlgorithm, FormatDescription, GtidEvent, Header, Rotate, event_type};

use super::entries::{Fields, Naming, Unit, damaged, put};
use super::place::{
    Entry, Extent, FIRST_POS, LENGTH_AT, Place, Servers, checksum_bytes, extent_file_key, file_name, next_file, note_server,
    put_servers,
};
use super::semi_sync::SemiSyncSettings;

/// Of each type of event from 1, the bytes in front of its variable part, as MySQL 9.7 has them.
const POST_HEADER_LENGTHS: [u8; 42] = [
    0, 13, 0, 8, 0, 0, 0, 0, 4, 0, 4, 0, 0, 0, 99, 0, 4, 26, 8, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 10, 10, 10, 42, 42, 0, 18, 52, 0,
    10, 40, 0, 0,
];
/// The state is stored anew when the log has grown by so much, which a start reads.
const STATE_BYTES: u64 = 4 << 20;

/// What events of this server say of it, and how the log is written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LogSettings {
    pub server_uuid: Uuid,
    pub server_id: u32,
    pub server_version: String,
    /// `max_binlog_size`.
    pub file_bytes_max: u64,
    /// `binlog_checksum`.
    pub checksum: bool,
    /// `binlog_row_metadata=FULL`.
    pub full_metadata: bool,
    /// `gtid_mode` gives transactions GTIDs.
    pub names_transactions: bool,
    /// `binlog_row_event_max_size`.
    pub row_event_bytes_max: usize,
    pub semi_sync: SemiSyncSettings,
}

impl LogSettings {
    /// As events have it: 80407 of 8.4.7.
    pub fn version_number(&self) -> u32 {
        let mut numbers = self.server_version.split(|c: char| !c.is_ascii_digit()).map(|n| n.parse().unwrap_or(0));
        let mut number = || numbers.next().unwrap_or(0);
        let (major, minor, patch): (u32, u32, u32) = (number(), number(), number());
        major * 10_000 + minor * 100 + patch
    }
}

/// Where the log goes on.
#[derive(Clone, Debug, Default)]
pub struct Writer {
    pub place: Place,
    /// Events of the file have checksums.
    checksum: bool,
    /// Of the last transaction in the file.
    sequence: i64,
    /// What each transaction of the running group has to wait for.
    last_committed: i64,
    /// Where the state was stored last.
    stored_at: u64,
    /// Transactions in the log before this file, as MariaDB's numbers count them.
    before_file: u64,
    pub servers: Servers,
}

/// What is added to the batch of a group.
pub struct Group<'g> {
    pub records: &'g mut Records,
    pub settings: &'g LogSettings,
    /// With what the group adds to it.
    pub executed: &'g mut GtidSet,
    pub added: &'g mut Vec<Gtid>,
    /// Microseconds since 1970.
    pub now_us: u64,
}

impl Group<'_> {
    /// Of an event of this server's own.
    fn header(&self, event_type: u8) -> Header {
        Header {
            timestamp: (self.now_us / 1_000_000) as u32,
            event_type,
            server_id: self.settings.server_id,
            length: 0,
            end_position: 0,
            flags: 0,
        }
    }
}

impl Writer {
    /// Goes on behind `state` and the entries that followed it.
    pub fn at(place: Place, checksum: bool, sequence: i64, before_file: u64, servers: Servers) -> Writer {
        Writer { place, checksum, sequence, last_committed: sequence, stored_at: 0, before_file, servers }
    }

    /// Those before are committed: those that follow may depend on them. Another `binlog_checksum` begins another file.
    pub fn begin_group(&mut self, group: &mut Group<'_>) -> Result<()> {
        self.last_committed = self.sequence;
        if self.checksum == group.settings.checksum { Ok(()) } else { self.rotate(group) }
    }

    /// Adds a transaction. `follows`: it may depend on the one before it, as those do that an applier commits together.
    pub fn add(&mut self, unit: &Unit<'_>, follows: bool, group: &mut Group<'_>) -> Result<()> {
        let Unit { facts, .. } = unit;
        let last_committed = if follows { self.sequence } else { self.last_committed };
        self.sequence += 1;
        note_server(&mut self.servers, facts.server_id, self.before_file + self.sequence as u64);
        let gtid = match &facts.naming {
            Naming::Anonymous => None,
            Naming::Given(gtid) => Some(gtid.clone()),
            Naming::Automatic(tag) => Some(next_gtid(group.executed, group.settings.server_uuid, tag)?),
        };
        let (original_commit_us, original_version) = (facts.original_commit_us, facts.original_version);
        let mut event = GtidEvent {
            gtid,
            may_have_statements: facts.has_statements,
            last_committed,
            sequence_number: self.sequence,
            immediate_commit_micros: Some(group.now_us),
            original_commit_micros: original_commit_us.filter(|us| *us != group.now_us),
            transaction_bytes: None,
            immediate_server_version: Some(group.settings.version_number()),
            original_server_version: original_version.filter(|version| *version != group.settings.version_number()),
            commit_group_ticket: None,
        };
        let header = Header {
            timestamp: facts.timestamp,
            event_type: event_type::QUERY,
            server_id: facts.server_id,
            length: 0,
            end_position: 0,
            flags: 0,
        };
        let mut begin = Vec::new();
        if !facts.begin.is_empty() {
            put_event(&mut begin, header, |out| out.extend_from_slice(&facts.begin));
        }
        let of_events = |bytes: usize, count: u64| bytes as u64 + count * checksum_bytes(self.checksum);
        let rest = of_events(begin.len(), u64::from(!begin.is_empty())) + of_events(0, unit.count) + unit.bytes;
        // The length counts itself.
        let mut head = Vec::new();
        let mut all = rest;
        loop {
            event.transaction_bytes = Some(all);
            head.clear();
            put_gtid(&mut head, header, &event);
            let with_head = rest + of_events(head.len(), 1);
            if with_head == all {
                break;
            }
            all = with_head;
        }
        let entry = Entry {
            checksum: self.checksum,
            extent: unit.extent.map(|number| Extent { number, bytes: unit.bytes, count: unit.count }),
            gtid: event.gtid.clone(),
            ..Entry::default()
        };
        let mut value = Vec::with_capacity(64 + head.len() + begin.len() + unit.events.len());
        entry.encode_head(&mut value);
        value.extend_from_slice(&head);
        value.extend_from_slice(&begin);
        value.extend_from_slice(unit.events);
        group.records.put(Family::Log, &self.place.key(), &value);
        if let Some(extent) = unit.extent {
            group.records.put(Family::Log, &extent_file_key(self.place.file, extent), &[]);
        }
        self.place.pos += all;
        if let Some(gtid) = event.gtid {
            group.executed.add(gtid.source, gtid.tag.clone(), (gtid.number, gtid.number));
            group.added.push(gtid);
        }
        Ok(())
    }

    /// Ends the file if it is full, and stores the state if it is long ago.
    pub fn end_group(&mut self, group: &mut Group<'_>) -> Result<()> {
        if self.place.pos >= group.settings.file_bytes_max {
            return self.rotate(group);
        }
        if self.place.pos - self.stored_at >= STATE_BYTES {
            self.store_state(group);
        }
        Ok(())
    }

    /// FLUSH BINARY LOGS, or the file is full.
    pub fn rotate(&mut self, group: &mut Group<'_>) -> Result<()> {
        let next = next_file(self.place.file)?;
        let header = group.header(event_type::ROTATE);
        self.put_last(group, header, |out| Rotate { position: FIRST_POS, file: file_name(next).as_bytes() }.encode(out));
        self.begin_file(next, 0, group);
        Ok(())
    }

    /// The server stops: the file ends.
    pub fn stop(&mut self, group: &mut Group<'_>) {
        let header = group.header(event_type::STOP);
        self.put_last(group, header, |_| {});
    }

    fn put_last(&mut self, group: &mut Group<'_>, header: Header, data: impl FnOnce(&mut Vec<u8>)) {
        let mut value = Vec::new();
        Entry { checksum: self.checksum, ..Entry::default() }.encode_head(&mut value);
        let before = value.len();
        put_event(&mut value, header, data);
        group.records.put(Family::Log, &self.place.key(), &value);
        self.place.pos += (value.len() - before) as u64 + checksum_bytes(self.checksum);
    }

    /// `created`: when the server started, if this is its first file.
    pub fn begin_file(&mut self, number: u32, created: u32, group: &mut Group<'_>) {
        let servers = std::mem::take(&mut self.servers);
        let before = servers.last().map_or(0, |(_, number)| *number);
        *self = Writer::at(Place { file: number, pos: FIRST_POS }, group.settings.checksum, 0, before, servers);
        let mut value = Vec::new();
        Entry { checksum: self.checksum, servers: self.servers.clone(), ..Entry::default() }.encode_head(&mut value);
        let before = value.len();
        let format = FormatDescription {
            server_version: group.settings.server_version.as_bytes(),
            created,
            post_header_lengths: &POST_HEADER_LENGTHS,
            checksum: Some(if self.checksum { ChecksumAlgorithm::Crc32 } else { ChecksumAlgorithm::Off }),
        };
        // It has a checksum in any case, which is stored as four bytes if the others have none.
        put_event(&mut value, group.header(event_type::FORMAT_DESCRIPTION), |out| {
            format.encode(out);
            if !self.checksum {
                out.extend_from_slice(&[0; CHECKSUM_BYTES]);
            }
        });
        let previous = Header { flags: flags::IGNORABLE, ..group.header(event_type::PREVIOUS_GTIDS) };
        put_event(&mut value, previous, |out| group.executed.encode_for_all(out));
        group.records.put(Family::Log, &Place { file: number, pos: 0 }.key(), &value);
        self.place.pos += (value.len() - before) as u64 + 2 * checksum_bytes(self.checksum);
        self.store_state(group);
    }

    fn store_state(&mut self, group: &mut Group<'_>) {
        self.stored_at = self.place.pos;
        let state =
            State { place: self.place, checksum: self.checksum, sequence: self.sequence, executed: group.executed.clone() };
        group.records.put(Family::Catalog, &state_key(), &state.encode());
        let mut servers = Vec::new();
        put_servers(&mut servers, &self.servers);
        group.records.put(Family::Catalog, &servers_key(), &servers);
    }
}

fn put_gtid(out: &mut Vec<u8>, header: Header, event: &GtidEvent) {
    match &event.gtid {
        Some(gtid) if !gtid.tag.is_empty() => {
            put_event(out, Header { event_type: event_type::GTID_TAGGED, ..header }, |out| event.encode_tagged(out));
        }
        Some(_) => put_event(out, Header { event_type: event_type::GTID, ..header }, |out| event.encode(out)),
        None => put_event(out, Header { event_type: event_type::ANONYMOUS_GTID, ..header }, |out| event.encode(out)),
    }
}

/// An event, whose header gets its length.
fn put_event(out: &mut Vec<u8>, header: Header, data: impl FnOnce(&mut Vec<u8>)) {
    let start = out.len();
    header.encode(out);
    data(out);
    let length = (out.len() - start) as u32;
    out[start + LENGTH_AT..start + LENGTH_AT + 4].copy_from_slice(&length.to_le_bytes());
}

/// The number behind the last one of this server and tag.
fn next_gtid(executed: &GtidSet, source: Uuid, tag: &Tag) -> Result<Gtid> {
    let last = executed.last(source, tag).unwrap_or(0);
    if last >= GTID_NUMBER_MAX {
        return Err(vaquita_types::Error::internal("all numbers of transactions are used up"));
    }
    Ok(Gtid { source, tag: tag.clone(), number: last + 1 })
}

/// What is stored of the writer, from which a start goes on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct State {
    pub place: Place,
    pub checksum: bool,
    pub sequence: i64,
    pub executed: GtidSet,
}

pub fn state_key() -> Vec<u8> {
    vaquita_storage::meta_key(b"binlog/state")
}

/// Beside the state, and stored with it.
pub fn servers_key() -> Vec<u8> {
    vaquita_storage::meta_key(b"binlog/servers")
}

impl State {
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::new();
        put(&mut out, self.place.file.into());
        put(&mut out, self.place.pos);
        out.push(u8::from(self.checksum));
        put(&mut out, self.sequence as u64);
        self.executed.encode(&mut out);
        out
    }

    pub fn decode(value: &[u8]) -> Result<State> {
        let mut fields = Fields(value);
        let place = Place { file: fields.number()? as u32, pos: fields.number()? };
        let (checksum, sequence) = (fields.byte()? != 0, fields.number()? as i64);
        let executed = GtidSet::decode(fields.0).map_err(|_| damaged())?;
        Ok(State { place, checksum, sequence, executed })
    }
}
