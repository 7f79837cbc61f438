//! What BINLOG statements have: a format description, then tables and rows, as `mysqlbinlog` prints them.

use std::collections::HashMap;
use std::sync::{Arc, Weak};

use vaquita_exec::dml::images::{ImageChange, ImageRules, SourceTable};
use vaquita_session::replication::{EventSession, LoggedEvents, RowsKind};
use vaquita_session::server::Server;
use vaquita_types::errno::{
    ER_NO_FORMAT_DESCRIPTION_EVENT_BEFORE_BINLOG_STATEMENT, ER_ONLY_FD_AND_RBR_EVENTS_ALLOWED_IN_BINLOG_STATEMENT,
    ER_SYNTAX_ERROR,
};
use vaquita_types::{Error, Result};
use vaquita_wire::binlog as wire;
use vaquita_wire::binlog::rows::{is_rows_event, rows_flags};
use vaquita_wire::binlog::{
    BinlogError, ChecksumAlgorithm, Decoder, Event, FormatDescription, RawEvent, Rows, TableMap, event_name, event_type,
};

use crate::settings::conversions;
use crate::tables::{image_change, source_table};

/// Where the type and the length of an event stand in it.
const TYPE_AT: usize = 4;
const LENGTH_AT: usize = 9;

pub struct StatementEvents {
    server: Weak<Server>,
    /// Whether events have checksums; `None` before a format description.
    has_checksums: Option<bool>,
    decoder: Decoder,
    tables: HashMap<u64, (Arc<TableMap>, Arc<SourceTable>)>,
}

impl LoggedEvents for StatementEvents {
    fn carry_out(&mut self, session: &mut dyn EventSession, mut events: &[u8]) -> Result<()> {
        while let Some(code) = events.get(TYPE_AT) {
            check_type(*code, self.has_checksums.is_some())?;
            let length = events.get(LENGTH_AT..LENGTH_AT + 4).and_then(|bytes| bytes.try_into().ok()).map(u32::from_le_bytes);
            let length = length.filter(|length| *length > 0).ok_or_else(malformed)?;
            let (event, rest) = events.split_at_checked(length as usize).ok_or_else(malformed)?;
            self.event(session, event)?;
            events = rest;
        }
        if events.is_empty() { Ok(()) } else { Err(malformed()) }
    }
}

impl StatementEvents {
    pub fn new(server: Weak<Server>) -> StatementEvents {
        StatementEvents { server, has_checksums: None, decoder: Decoder::default(), tables: HashMap::new() }
    }

    fn event(&mut self, session: &mut dyn EventSession, bytes: &[u8]) -> Result<()> {
        let event = RawEvent::of_packet(bytes, false).map_err(damaged)?;
        if event.header.event_type == event_type::FORMAT_DESCRIPTION {
            return self.format(&event);
        }
        let event = RawEvent::of_packet(bytes, self.has_checksums == Some(true)).map_err(damaged)?;
        match self.decoder.decode(&event).map_err(damaged)? {
            Event::TableMap(map) => {
                let table = source_table(&map, &String::from_utf8_lossy(&map.database));
                self.tables.insert(map.id, (map, Arc::new(table)));
                Ok(())
            }
            Event::Rows(rows) => self.rows(session, &rows),
            _ => Ok(()),
        }
    }

    /// It says whether the others have checksums, and has one itself if they do.
    fn format(&mut self, event: &RawEvent<'_>) -> Result<()> {
        let format = FormatDescription::decode(event.data_with_checksum()).map_err(damaged)?;
        let has_checksums = format.checksum == Some(ChecksumAlgorithm::Crc32);
        RawEvent::of_packet(event.bytes, has_checksums).map_err(damaged)?;
        *self = StatementEvents { has_checksums: Some(has_checksums), ..StatementEvents::new(self.server.clone()) };
        Ok(())
    }

    fn rows(&mut self, session: &mut dyn EventSession, rows: &Rows<'_>) -> Result<()> {
        let Some((_, table)) = self.tables.get(&rows.table.id) else {
            return Err(damaged(BinlogError::UnknownTable(rows.table.id)));
        };
        let kind = match rows.kind {
            wire::RowsKind::Write => RowsKind::Come,
            wire::RowsKind::Update => RowsKind::Change,
            wire::RowsKind::Delete => RowsKind::Go,
        };
        session.admit_events(table, kind)?;
        session.check_foreign_keys(rows.flags & rows_flags::NO_FOREIGN_KEY_CHECKS == 0);
        let rules = ImageRules {
            idempotent: session.is_idempotent(),
            convergent: false,
            conversions: self.server.upgrade().map(|server| conversions(&server)).unwrap_or_default(),
            cascades_are_logged: rows.flags & rows_flags::CASCADES_FOLLOW != 0,
        };
        let changes = |take: &mut dyn FnMut(ImageChange) -> Result<()>| {
            for change in rows.changes() {
                take(image_change(change.map_err(damaged)?, table))?;
            }
            Ok(())
        };
        session.change_rows(table, rules, &changes)?;
        if rows.flags & rows_flags::STATEMENT_END != 0 {
            self.tables.clear();
        }
        Ok(())
    }
}

fn check_type(code: u8, has_format: bool) -> Result<()> {
    if code == event_type::FORMAT_DESCRIPTION {
        return Ok(());
    }
    let name = event_name(code).unwrap_or("Unknown");
    if code != event_type::TABLE_MAP && !is_rows_event(code) {
        return Err(Error::new(&ER_ONLY_FD_AND_RBR_EVENTS_ALLOWED_IN_BINLOG_STATEMENT, &[&name]));
    }
    let missing = || Error::new(&ER_NO_FORMAT_DESCRIPTION_EVENT_BEFORE_BINLOG_STATEMENT, &[&name]);
    if has_format { Ok(()) } else { Err(missing()) }
}

fn malformed() -> Error {
    Error::new(&ER_SYNTAX_ERROR, &[])
}

/// MySQL takes it for an error in the statement, too.
fn damaged(error: BinlogError) -> Error {
    tracing::debug!("an event of BINLOG: {error}");
    malformed()
}
