//! The log for readers of MariaDB: what `@mariadb_slave_capability` 4 announces.
//!
//! ```text
//! in the log                                  sent
//! FORMAT_DESCRIPTION                          FORMAT_DESCRIPTION of a MariaDB, without a position
//! PREVIOUS_GTIDS                              GTID_LIST
//! GTID, QUERY BEGIN or XA START               GTID, which begins the transaction
//! GTID, QUERY                                 GTID (STANDALONE), QUERY
//! ROWS_QUERY                                  ANNOTATE_ROWS, for who asks for it
//! TABLE_MAP                                   with collations that MariaDB has; JSON and VECTOR are BLOBs
//! WRITE_ROWS, UPDATE_ROWS, DELETE_ROWS        those of version 1; documents as text
//! QUERY                                       with its status variables (`statement` has the text)
//! XID, XA_PREPARE, ROTATE, STOP               the same
//! ```
//! A transaction's GTID is `0-server-n`: the `server_id` in its header, and how many transactions the log has had before, with itself.
//!
//! A replica by file and position adds up the lengths of what it gets, and goes on at the end that an event's header says if that is further
//! (`Position`). So events may become shorter, and must not become longer: rows that do are compressed. Where even that is longer the dump tells
//! the position by a ROTATE behind the transaction.

mod collation;
mod position;
mod start;
mod statement;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::sync::Arc;

use vaquita_session::ParserOptions;
use vaquita_types::charset::CollationId;
use vaquita_types::gtid::MariaGtid;
use vaquita_types::{Error, Result, Value, sql_mode};
use vaquita_wire::binlog::gtid::encode_maria_gtid_list;
use vaquita_wire::binlog::header::{CHECKSUM_BYTES, HEADER_BYTES};
use vaquita_wire::binlog::rows::rows_flags;
use vaquita_wire::binlog::table_map::column_type;
use vaquita_wire::binlog::{
    Cell, ChecksumAlgorithm, FormatDescription, GtidEvent, Header, MariaGtidEvent, Query, Row, RowChange, Rows, StatusVar,
    TableMap, TransactionPayload, XaId, event_type,
};
use vaquita_wire::codec::Bytes;

use super::super::Servers;
use super::super::entries::damaged;
use super::super::place::event_bytes;
use super::super::reader::gtid_event;
use collation::{OF_DOCUMENTS, nearest_id};
pub use position::Position;
pub(super) use start::find;
pub use start::parse_gtids;
use statement::{Translated, translate};

/// The domain of all transactions.
pub const DOMAIN: u32 = 0;
/// What readers take the source for: they read events as of this version.
const SERVER_VERSION: &str = "10.11.0-MariaDB-vaquita";
/// Types of events that MariaDB 10.11 has.
const EVENT_TYPES: usize = 171;
/// Of MariaDB, the bytes in front of the variable part of an event, where there are any.
const POST_HEADER_LENGTHS: [(u8, u8); 28] = [
    (1, 56),
    (2, 13),
    (4, 8),
    (6, 18),
    (8, 4),
    (9, 4),
    (10, 4),
    (11, 4),
    (12, 18),
    (15, 228),
    (17, 4),
    (18, 26),
    (19, 8),
    (23, 8),
    (24, 8),
    (25, 8),
    (26, 2),
    (30, 10),
    (31, 10),
    (32, 10),
    (39, 10),
    (40, 10),
    (41, 10),
    (161, 4),
    (162, 19),
    (163, 4),
    (165, 13),
    (166, 8),
];
/// In the flags of a QUERY: `explicit_defaults_for_timestamp`.
const EXPLICIT_DEFAULTS: u32 = 1 << 24;
/// In MariaDB's `sql_mode`: fractions of seconds are rounded, which MySQL does unless TIME_TRUNCATE_FRACTIONAL is set.
const TIME_ROUND_FRACTIONAL: u64 = 1 << 34;
/// Of a GTID event: no USE is needed.
const SUPPRESS_USE: u16 = 8;
/// Of a TABLE_MAP, as MariaDB knows them.
const TABLE_FLAGS: u16 = 1;
const ROWS_FLAGS: u16 = rows_flags::STATEMENT_END | rows_flags::NO_FOREIGN_KEY_CHECKS | rows_flags::RELAXED_UNIQUE_CHECKS;
/// Of a list of GTIDs: START SLAVE UNTIL has been reached.
pub const UNTIL_REACHED: u32 = 1 << 28;

/// What a reader asks for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MariaRequest {
    /// By GTID: `@slave_connect_state`.
    pub state: Option<Vec<MariaGtid>>,
    /// `@slave_until_gtid`
    pub until: Option<Vec<MariaGtid>>,
    /// ANNOTATE_ROWS are wanted.
    pub annotates: bool,
}

/// Where the transaction that is being sent stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Group {
    Outside,
    Inside,
}

pub struct Dialect {
    annotates: bool,
    /// Transactions before the file.
    before_file: u64,
    servers: Servers,
    /// What the next event decides upon.
    gtid: Option<(Header, GtidEvent)>,
    group: Group,
    /// The number of the last transaction that was begun.
    pub last: u64,
    /// Of the running statement: tables whose rows are others for MariaDB, with what they are there.
    tables: HashMap<u64, (Arc<TableMap>, Arc<TableMap>)>,
    sums: bool,
    /// Events to be sent, without checksums; their headers count them.
    pub out: Vec<u8>,
}

fn unreadable(_: vaquita_wire::binlog::BinlogError) -> Error {
    damaged()
}

impl Dialect {
    pub fn new(annotates: bool) -> Dialect {
        Dialect {
            annotates,
            before_file: 0,
            servers: Servers::new(),
            gtid: None,
            group: Group::Outside,
            last: 0,
            tables: HashMap::new(),
            sums: false,
            out: Vec::new(),
        }
    }

    /// What is before the file that is read now.
    pub fn begin_file(&mut self, servers: Servers) {
        self.before_file = servers.last().map_or(0, |(_, number)| *number);
        self.servers = servers;
        (self.gtid, self.group) = (None, Group::Outside);
        self.tables.clear();
    }

    /// No transaction has begun that has not ended.
    pub fn is_between(&self) -> bool {
        self.gtid.is_none() && self.group == Group::Outside
    }

    /// The data of a format description.
    pub fn format(created: u32, sums: bool, out: &mut Vec<u8>) {
        let mut lengths = [0; EVENT_TYPES];
        let compressed = [(167, 8), (168, 8), (169, 10), (170, 10), (171, 10)];
        for (code, length) in POST_HEADER_LENGTHS.iter().chain(&compressed) {
            lengths[usize::from(*code) - 1] = *length;
        }
        let checksum = Some(if sums { ChecksumAlgorithm::Crc32 } else { ChecksumAlgorithm::Off });
        let version = SERVER_VERSION.as_bytes();
        FormatDescription { server_version: version, created, post_header_lengths: &lengths, checksum }.encode(out);
    }

    /// The data of a list of the last transactions.
    pub fn list(servers: &Servers, flags: u32, out: &mut Vec<u8>) {
        let gtid = |(server, sequence): &(u32, u64)| MariaGtid { domain: DOMAIN, server: *server, sequence: *sequence };
        let list: Vec<_> = servers.iter().map(gtid).collect();
        let start = out.len();
        encode_maria_gtid_list(&list, out);
        if let Some(count) = out.get_mut(start + 3) {
            *count |= (flags >> 24) as u8;
        }
    }

    /// An event of the log, without its checksum. What is to be sent is in `out`, and behind it, if the answer is true, the event as it is.
    pub fn event(&mut self, event: &[u8], sums: bool) -> Result<bool> {
        self.out.clear();
        self.sums = sums;
        let (head, data) = event.split_at_checked(HEADER_BYTES).ok_or_else(damaged)?;
        let header = Header::decode(&mut Bytes::new(head)).map_err(unreadable)?;
        if header.event_type == event_type::TRANSACTION_PAYLOAD {
            return self.payload(&header, data).map(|()| false);
        }
        self.one_event(&header, data)
    }

    /// What MySQL has compressed is sent as it was before: MariaDB does not read it.
    fn payload(&mut self, whole: &Header, data: &[u8]) -> Result<()> {
        let before = self.gtid.as_ref().map_or(0, |(gtid, _)| gtid.end_position);
        let mut unpacker = TransactionPayload::decode(data).map_err(unreadable)?.unpacker();
        let mut events = Vec::new();
        while let Some(piece) = unpacker.next_piece().map_err(unreadable)? {
            events.extend_from_slice(piece);
        }
        let mut rest = &events[..];
        while !rest.is_empty() {
            let (event, others) = rest.split_at(event_bytes(rest)?);
            rest = others;
            let (head, data) = event.split_at_checked(HEADER_BYTES).ok_or_else(damaged)?;
            let header = Header::decode(&mut Bytes::new(head)).map_err(unreadable)?;
            // Those in the middle have no place in the file.
            let end_position = if rest.is_empty() { whole.end_position } else { before };
            let header = Header { end_position, ..header };
            if self.one_event(&header, data)? {
                self.put(header, &[data]);
            }
        }
        Ok(())
    }

    /// True: it is to be sent as it is, behind what is put out.
    fn one_event(&mut self, header: &Header, data: &[u8]) -> Result<bool> {
        let header = *header;
        if let Some(gtid) = gtid_event(header.event_type, data)? {
            self.gtid = Some((header, gtid));
            return Ok(false);
        }
        if header.event_type == event_type::QUERY {
            return self.query(&header, data).map(|()| false);
        }
        self.begin(&header, MariaGtidEvent::TRANSACTIONAL, None);
        match header.event_type {
            event_type::PREVIOUS_GTIDS => {
                let mut list = Vec::new();
                Dialect::list(&self.servers, 0, &mut list);
                self.put(Header { event_type: event_type::MARIA_GTID_LIST, flags: 0, ..header }, &[&list]);
            }
            event_type::ROWS_QUERY if self.annotates => {
                let text = data.get(1..).unwrap_or_default();
                self.put(Header { event_type: event_type::MARIA_ANNOTATE_ROWS, flags: 0, ..header }, &[text]);
            }
            event_type::ROWS_QUERY => {}
            event_type::TABLE_MAP => self.table(&header, data)?,
            event_type::WRITE_ROWS | event_type::UPDATE_ROWS | event_type::DELETE_ROWS => self.rows(&header, data)?,
            event_type::XID | event_type::XA_PREPARE => {
                self.group = Group::Outside;
                return Ok(true);
            }
            _ => return Ok(true),
        }
        Ok(false)
    }

    fn put(&mut self, header: Header, data: &[&[u8]]) {
        let sum = if self.sums { CHECKSUM_BYTES } else { 0 };
        let bytes: usize = data.iter().map(|piece| piece.len()).sum();
        Header { length: (HEADER_BYTES + bytes + sum) as u32, ..header }.encode(&mut self.out);
        data.iter().for_each(|piece| self.out.extend_from_slice(piece));
    }

    /// Begins the transaction whose GTID waits. `end`: the last event of the log that this one stands for.
    fn begin(&mut self, end: &Header, flags: u8, xid: Option<XaId<'_>>) {
        let Some((header, gtid)) = self.gtid.take() else { return };
        self.last = self.before_file + gtid.sequence_number as u64;
        let flags = flags | MariaGtidEvent::ALLOW_PARALLEL;
        // Those that waited for the same one were committed together.
        let together = flags & (MariaGtidEvent::DDL | MariaGtidEvent::COMPLETED_XA) == 0;
        let event = MariaGtidEvent {
            gtid: MariaGtid { domain: DOMAIN, server: header.server_id, sequence: self.last },
            flags,
            flags_extra: 0,
            commit_id: together.then_some(self.before_file + gtid.last_committed as u64 + 1),
            xid,
            alter_sequence: None,
        };
        let mut data = Vec::with_capacity(64);
        event.encode(&mut data);
        let end_position = if end.event_type == event_type::QUERY { end.end_position } else { header.end_position };
        self.put(Header { event_type: event_type::MARIA_GTID, end_position, flags: SUPPRESS_USE, ..header }, &[&data]);
        let standalone = flags & MariaGtidEvent::STANDALONE != 0;
        self.group = if standalone { Group::Outside } else { Group::Inside };
    }

    fn query(&mut self, header: &Header, data: &[u8]) -> Result<()> {
        use MariaGtidEvent as E;
        let query = Query::decode(data).map_err(unreadable)?;
        let text = query.statement.as_ref();
        let is_first = self.gtid.is_some();
        let has_statements = self.gtid.as_ref().is_some_and(|(_, gtid)| gtid.may_have_statements);
        match text {
            b"BEGIN" if is_first => {
                self.begin(header, if has_statements { E::DDL } else { E::TRANSACTIONAL }, None);
                return Ok(());
            }
            b"COMMIT" | b"ROLLBACK" => {
                self.begin(&Header { event_type: 0, ..*header }, E::TRANSACTIONAL, None);
                self.group = Group::Outside;
                return self.put_query(header, &query, text);
            }
            _ => {}
        }
        let mut storage = Vec::new();
        if is_first && let Some(xid) = text.strip_prefix(b"XA START ").and_then(|text| xa_id(text, &mut storage)) {
            self.begin(header, E::TRANSACTIONAL | E::PREPARED_XA, Some(xid));
            return Ok(());
        }
        let ended = text.strip_prefix(b"XA COMMIT ").or_else(|| text.strip_prefix(b"XA ROLLBACK "));
        let of_gtid = &Header { event_type: 0, ..*header };
        if let Some(xid) = ended.and_then(|text| xa_id(text, &mut storage)).filter(|_| is_first) {
            self.begin(of_gtid, E::STANDALONE | E::TRANSACTIONAL | E::COMPLETED_XA, Some(xid));
            return self.put_query(header, &query, text);
        }
        let mode = query.status_vars().find_map(|var| match var {
            Ok(StatusVar::SqlMode(mode)) => Some(mode),
            _ => None,
        });
        let has = |flag: u64| mode.is_some_and(|mode| mode & flag != 0);
        let options = ParserOptions {
            ansi_quotes: has(sql_mode::ANSI_QUOTES),
            no_backslash_escapes: has(sql_mode::NO_BACKSLASH_ESCAPES),
            ..ParserOptions::default()
        };
        match translate(text, &options) {
            Translated::Nothing if is_first => {
                self.begin(of_gtid, E::TRANSACTIONAL, None);
                self.group = Group::Outside;
                self.put_query(header, &query, b"COMMIT")
            }
            Translated::Text(text) => {
                self.begin(of_gtid, E::STANDALONE | E::DDL, None);
                self.put_query(header, &query, &text)
            }
            Translated::AsItIs | Translated::Nothing => {
                self.begin(of_gtid, E::STANDALONE | E::DDL, None);
                self.put_query(header, &query, text)
            }
        }
    }

    fn put_query(&mut self, header: &Header, query: &Query<'_>, text: &[u8]) -> Result<()> {
        let vars = status_vars(query)?;
        let mut data = Vec::with_capacity(64 + vars.len() + text.len());
        Query { status_vars: &vars, statement: text.into(), ..query.clone() }.encode(&mut data);
        self.put(*header, &[&data]);
        Ok(())
    }

    fn table(&mut self, header: &Header, data: &[u8]) -> Result<()> {
        let table = TableMap::decode(data).map_err(unreadable)?;
        let mut there = TableMap { flags: table.flags & TABLE_FLAGS, ..table.clone() };
        for column in &mut there.columns {
            column.visible = None;
            column.collation = column.collation.map(|id| u16::try_from(id).map_or(id, |id| nearest_id(id).into()));
            let collation = match column.column_type {
                column_type::JSON => OF_DOCUMENTS,
                column_type::VECTOR => CollationId::BINARY.0.into(),
                _ => continue,
            };
            (column.column_type, column.meta) = (column_type::BLOB, 4);
            (column.collation, column.dimensions) = (Some(collation), None);
        }
        let mut encoded = Vec::with_capacity(data.len());
        there.encode(&mut encoded);
        if encoded.len() > data.len() {
            // Only who prints rows reads the rest.
            for column in &mut there.columns {
                (column.collation, column.members, column.name, column.geometry_type) = (None, None, None, None);
            }
            there.primary_key.clear();
            encoded.clear();
            there.encode(&mut encoded);
        }
        if table.columns.iter().zip(&there.columns).any(|(here, there)| here.column_type != there.column_type) {
            self.tables.insert(table.id, (Arc::new(table), Arc::new(there)));
        }
        self.put(*header, &[&encoded]);
        Ok(())
    }

    fn rows(&mut self, header: &Header, data: &[u8]) -> Result<()> {
        let (id, flags) = vaquita_wire::binlog::rows::rows_head(data).map_err(unreadable)?;
        let flags = flags & ROWS_FLAGS;
        match self.tables.get(&id).cloned() {
            Some((here, there)) => self.translated_rows(header, data, (here, there), flags)?,
            None => {
                let (ids, rest) = data.split_at_checked(6).ok_or_else(damaged)?;
                let extra = rest.get(2..4).and_then(|bytes| bytes.first_chunk()).map(|bytes| u16::from_le_bytes(*bytes));
                let rows = extra.and_then(|bytes| rest.get(2 + usize::from(bytes)..)).ok_or_else(damaged)?;
                const TO_V1: u8 = event_type::WRITE_ROWS - event_type::WRITE_ROWS_V1;
                let header = Header { event_type: header.event_type - TO_V1, ..*header };
                self.put(header, &[ids, &flags.to_le_bytes(), rows]);
            }
        }
        if flags & rows_flags::STATEMENT_END != 0 {
            self.tables.clear();
        }
        Ok(())
    }

    fn translated_rows(
        &mut self,
        header: &Header,
        data: &[u8],
        (here, there): (Arc<TableMap>, Arc<TableMap>),
        flags: u16,
    ) -> Result<()> {
        let rows = Rows::decode(header.event_type, data, here).map_err(unreadable)?;
        let [before, after] = rows.columns();
        let mut translated = Rows::begin(rows.kind, there, flags, &before, &after);
        for change in rows.changes() {
            let RowChange { before, after } = change.map_err(unreadable)?;
            let change = RowChange { before: before.map(documents_as_text), after: after.map(documents_as_text) };
            translated.push(&change).map_err(unreadable)?;
        }
        let mut encoded = Vec::with_capacity(data.len());
        translated.encode_v1(false, &mut encoded);
        let mut compressed = false;
        if encoded.len() > data.len() {
            let mut smaller = Vec::with_capacity(data.len());
            translated.encode_v1(true, &mut smaller);
            compressed = smaller.len() < encoded.len();
            if compressed {
                encoded = smaller;
            }
        }
        self.put(Header { event_type: translated.v1_code(compressed), ..*header }, &[&encoded]);
        Ok(())
    }
}

fn documents_as_text(row: Row) -> Row {
    let text = |cell| match cell {
        Cell::Value(Value::Json(document)) => Cell::Value(Value::from(document.to_string().into_bytes())),
        other => other,
    };
    row.into_iter().map(|cell| cell.map(text)).collect()
}

/// Those that MariaDB knows, as it has them.
fn status_vars(query: &Query<'_>) -> Result<Vec<u8>> {
    let (mut out, mut micros) = (Vec::with_capacity(query.status_vars.len()), None);
    for var in query.status_vars() {
        match var.map_err(unreadable)? {
            StatusVar::Flags2(flags) => StatusVar::Flags2(flags | EXPLICIT_DEFAULTS).encode(&mut out),
            StatusVar::SqlMode(mode) => {
                let rounds = if mode & sql_mode::TIME_TRUNCATE_FRACTIONAL == 0 { TIME_ROUND_FRACTIONAL } else { 0 };
                StatusVar::SqlMode(mode & !sql_mode::TIME_TRUNCATE_FRACTIONAL | rounds).encode(&mut out);
            }
            StatusVar::Charset { client, connection, server } => {
                let [client, connection, server] = [client, connection, server].map(nearest_id);
                StatusVar::Charset { client, connection, server }.encode(&mut out);
            }
            StatusVar::CharsetDatabase(id) => StatusVar::CharsetDatabase(nearest_id(id)).encode(&mut out),
            StatusVar::Microseconds(n) => micros = Some(n),
            StatusVar::UpdatedDatabases(_)
            | StatusVar::ExplicitDefaultsForTimestamp(_)
            | StatusVar::DdlXid(_)
            | StatusVar::DefaultCollationForUtf8mb4(_)
            | StatusVar::RequirePrimaryKey(_)
            | StatusVar::DefaultTableEncryption(_)
            | StatusVar::NativeForeignKeys(_) => {}
            other => other.encode(&mut out),
        }
    }
    if let Some(micros) = micros {
        StatusVar::HrNow(micros).encode(&mut out);
    }
    Ok(out)
}

/// `X'78',X'62',5`
fn xa_id<'s>(text: &[u8], storage: &'s mut Vec<u8>) -> Option<XaId<'s>> {
    let mut parts = text.splitn(3, |byte| *byte == b',');
    let mut part = || {
        let hex = parts.next()?.strip_prefix(b"X'")?.strip_suffix(b"'")?;
        storage.extend(hex.chunks(2).map_while(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()));
        Some(storage.len())
    };
    let (global, all) = (part()?, part()?);
    let format = std::str::from_utf8(parts.next()?).ok()?.trim().parse().ok()?;
    let (global, branch) = storage.get(..all)?.split_at_checked(global)?;
    (global.len() <= 64 && branch.len() <= 64).then_some(XaId { format, global, branch })
}
