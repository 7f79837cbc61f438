//! The log as statements show and administer it: `session::binary_log` says what they mean.

use std::sync::Arc;

use vaquita_exec::context::heap_bytes;
use vaquita_session::binary_log::{BinaryLogFiles, Look, SemiSyncStatus, ShownFile};
use vaquita_session::server::Server;
use vaquita_types::gtid::{GtidSet, MariaGtid};
use vaquita_types::{Error, Result, Value};
use vaquita_wire::binlog::header;
use vaquita_wire::binlog::info::{Dialect, info};
use vaquita_wire::binlog::{Decoder, RawEvent, event_name};

use super::dump::maria::DOMAIN;
use super::source::LogSource;
use super::{BinaryLog, FIRST_POS, LogEvent, LogFile, Place, file_name};

/// What statements do with the log of a server.
pub struct LogStatements {
    log: Arc<BinaryLog>,
    store: Arc<vaquita_storage::Store>,
}

impl LogStatements {
    /// Statements of the server find its log from here on.
    pub fn register(server: &Server, log: Arc<BinaryLog>) {
        let statements = LogStatements { log, store: Arc::clone(server.engine.store()) };
        let _ = server.binary_log.set(Arc::new(statements));
    }
}

impl BinaryLogFiles for LogStatements {
    fn files(&self) -> Result<Vec<ShownFile>> {
        let shown = |file: LogFile| ShownFile { number: file.number, name: file.name, bytes: file.bytes };
        Ok(self.log.files()?.into_iter().map(shown).collect())
    }

    fn end(&self) -> Result<(String, u64)> {
        let end = self.log.end();
        Ok((file_name(end.file), end.pos))
    }

    fn executed(&self) -> GtidSet {
        self.log.visible()
    }

    fn maria_gtids(&self) -> Vec<MariaGtid> {
        let gtid = |(server, sequence)| MariaGtid { domain: DOMAIN, server, sequence };
        self.log.servers().into_iter().map(gtid).collect()
    }

    fn purged(&self) -> Result<GtidSet> {
        self.log.purged()
    }

    fn events(&self, file: u32, from: u64, skip: u64, count: u64, look: Look<'_>) -> Result<Vec<Vec<Value>>> {
        events(&self.log, file, from, (skip, count), look)
    }

    fn rotate(&self) -> Result<()> {
        self.log.rotate(&self.store)
    }

    fn reset(&self, first: u32) -> Result<()> {
        self.log.reset(&self.store, first)
    }

    fn settings_changed(&self) {
        self.log.settings_changed();
    }

    fn semi_sync(&self) -> SemiSyncStatus {
        self.log.semi_sync.status()
    }

    fn first_since(&self, time_s: u64) -> Result<u32> {
        Ok(first_since(&self.log.files()?, time_s))
    }

    fn purge_before(&self, file: u32) -> Result<()> {
        self.log.purge_before(file)
    }
}

/// A file is not written after the next has begun.
fn first_since(files: &[LogFile], time_s: u64) -> u32 {
    let next_began = files.iter().skip(1).map(|file| u64::from(file.began));
    let older = next_began.take_while(|began| *began < time_s).count();
    files.get(older).map_or(0, |file| file.number)
}

/// Rows of SHOW BINLOG EVENTS.
fn events(log: &dyn LogSource, file: u32, from: u64, limit: (u64, u64), look: Look<'_>) -> Result<Vec<Vec<Value>>> {
    // Where no event begins there, or one that needs what stands before it, all of the file is read.
    if from > FIRST_POS
        && let Ok(rows) = events_from(log, Place { file, pos: from }, from, limit, look)
    {
        return Ok(rows);
    }
    look(0)?;
    events_from(log, Place { file, pos: FIRST_POS }, from, limit, look)
}

fn events_from(
    log: &dyn LogSource,
    start: Place,
    from: u64,
    (mut skip, count): (u64, u64),
    look: Look<'_>,
) -> Result<Vec<Vec<Value>>> {
    let name = file_name(start.file);
    let end = log.end();
    let (mut rows, mut bytes) = (Vec::new(), 0);
    if start >= end {
        return Ok(rows);
    }
    let mut decoder = Decoder::default();
    let mut cursor = log.reader(start)?;
    while (rows.len() as u64) < count {
        let Some(event) = cursor.next()? else { break };
        if event.start.file != start.file {
            break;
        }
        look(bytes)?;
        let row = row(&name, &event, &mut decoder)?;
        if event.start.pos < from {
            continue;
        }
        match skip {
            0 => {
                bytes += size_of_val(&row[..]) + row.iter().map(heap_bytes).sum::<usize>();
                rows.push(row);
            }
            _ => skip -= 1,
        }
    }
    Ok(rows)
}

fn row(name: &str, event: &LogEvent<'_>, decoder: &mut Decoder) -> Result<Vec<Value>> {
    let damaged = |_| Error::corrupt("an event of the binary log");
    let mut bytes = event.bytes.to_vec();
    if event.checksum {
        bytes.extend_from_slice(&header::checksum(event.bytes).to_le_bytes());
    }
    let raw = RawEvent::of_packet(&bytes, event.checksum).map_err(damaged)?;
    let decoded = decoder.decode(&raw).map_err(damaged)?;
    Ok(vec![
        name.into(),
        Value::UInt(event.start.pos),
        event_name(raw.header.event_type).unwrap_or("Unknown").into(),
        Value::UInt(raw.header.server_id.into()),
        Value::UInt(event.start.pos + bytes.len() as u64),
        Value::Bytes(info(&decoded, &raw.header, Dialect::MySql).into()),
    ])
}
