//! The binary log of MySQL and MariaDB ("MySQL Internals: Replication Protocol", "The Binary Log"): its events, decoded, and those that a source
//! sends encoded.
//!
//! From bytes to rows:
//! 1. `reader` cuts a file, or the events inside a compressed transaction, into events and checks them; `header` has what all of them begin with.
//! 2. `Decoder::decode` makes an `Event` of one. It keeps the descriptions of tables until their statement ends.
//! 3. `Rows::changes` gives the rows, a change at a time, with `types::Value`s.
//!
//! | module                                        | events                                                              |
//! |-----------------------------------------------|---------------------------------------------------------------------|
//! | `control`                                     | format description, rotate, heartbeat, incident                     |
//! | `gtid`, `serial`                              | names of transactions, of both servers                              |
//! | `query`, `statement`                          | statements, and what they need                                      |
//! | `table_map`, `metadata`                       | tables of rows                                                      |
//! | `rows`, `value`, `json`, `json_diff`          | rows                                                                |
//! | `compression`                                 | compressed transactions and events                                  |
//! | `info`, `text`                                | all, as SHOW BINLOG EVENTS describes them; rows to read             |
//!
//! Nothing is trusted: what is malformed is a `BinlogError`, and what is allocated is in proportion to the event, or to what it unpacks
//! to a piece at a time. The goldens are recorded from MySQL 9.7 and MariaDB by `tools/record-binlog.py`.

pub mod compression;
pub mod control;
pub mod error;
pub mod gtid;
pub mod header;
pub mod info;
pub mod json;
pub mod json_diff;
mod metadata;
pub mod query;
pub mod reader;
pub mod rows;
mod serial;
pub mod statement;
pub mod table_map;
pub mod text;
pub mod value;

use std::collections::HashMap;
use std::sync::Arc;

use vaquita_types::gtid::{GtidSet, MariaGtid};

pub use compression::TransactionPayload;
pub use control::{ChecksumAlgorithm, FormatDescription, Heartbeat, Incident, Rotate};
pub use error::{BinlogError, Result};
pub use gtid::{GtidEvent, MariaGtidEvent};
pub use header::{Header, event_name, event_type};
pub use query::{Query, StatusVar};
pub use reader::{EventReader, RawEvent};
pub use rows::{Cell, Row, RowChange, Rows, RowsKind};
pub use statement::{ExecuteLoadQuery, IntVar, LoadBlock, UserVar, UserVarValue, XaId, XaPrepare};
pub use table_map::{Column, TableMap};

/// Tables that one statement may change: far more than MySQL lets a statement name (61), since triggers and foreign keys name further ones.
const STATEMENT_TABLES_MAX: usize = 4096;

#[derive(Debug)]
pub enum Event<'a> {
    FormatDescription(FormatDescription<'a>),
    Rotate(Rotate<'a>),
    Stop,
    Heartbeat(Heartbeat<'a>),
    Incident(Incident<'a>),
    PreviousGtids(GtidSet),
    Gtid(GtidEvent),
    MariaGtid(MariaGtidEvent<'a>),
    MariaGtidList(Vec<MariaGtid>),
    /// MariaDB: the oldest file that a recovery would read.
    BinlogCheckpoint(&'a [u8]),
    Query(Query<'a>),
    Xid(u64),
    XaPrepare(XaPrepare<'a>),
    /// The statement that the rows behind it are of, in ROWS_QUERY and MariaDB's ANNOTATE_ROWS.
    RowsQuery(&'a [u8]),
    TableMap(Arc<TableMap>),
    Rows(Rows<'a>),
    TransactionPayload(TransactionPayload<'a>),
    IntVar(IntVar),
    Rand(u64, u64),
    UserVar(UserVar<'a>),
    BeginLoadQuery(LoadBlock<'a>),
    AppendBlock(LoadBlock<'a>),
    /// The file with this number is not needed any more.
    DeleteFile(u32),
    ExecuteLoadQuery(ExecuteLoadQuery<'a>),
    /// What changes nothing: of group replication, of a flag that lets it be ignored, or the bare end of a statement.
    Ignored,
}

/// Decodes events in their order.
#[derive(Default)]
pub struct Decoder {
    tables: HashMap<u64, Arc<TableMap>>,
}

impl Decoder {
    pub fn decode<'a>(&mut self, event: &RawEvent<'a>) -> Result<Event<'a>> {
        use event_type::*;
        let (code, data) = (event.header.event_type, event.data());
        if rows::is_rows_event(code) {
            return self.rows(code, data);
        }
        Ok(match code {
            FORMAT_DESCRIPTION => Event::FormatDescription(FormatDescription::decode(event.data_with_checksum())?),
            ROTATE => Event::Rotate(Rotate::decode(data)?),
            STOP => Event::Stop,
            HEARTBEAT => Event::Heartbeat(Heartbeat::decode(data)),
            HEARTBEAT_V2 => Event::Heartbeat(Heartbeat::decode_v2(data)?),
            INCIDENT => Event::Incident(Incident::decode(data)?),
            PREVIOUS_GTIDS => Event::PreviousGtids(GtidSet::decode(data).map_err(|_| BinlogError::Malformed("set of GTIDs"))?),
            GTID => Event::Gtid(GtidEvent::decode(data, false)?),
            ANONYMOUS_GTID => Event::Gtid(GtidEvent::decode(data, true)?),
            GTID_TAGGED => Event::Gtid(GtidEvent::decode_tagged(data)?),
            QUERY => Event::Query(Query::decode(data)?),
            XID => Event::Xid(query::decode_xid(data)?),
            XA_PREPARE => Event::XaPrepare(XaPrepare::decode(data)?),
            ROWS_QUERY => Event::RowsQuery(query::decode_rows_query(data)?),
            TABLE_MAP => self.table_map(data)?,
            TRANSACTION_PAYLOAD => Event::TransactionPayload(TransactionPayload::decode(data)?),
            INTVAR => Event::IntVar(IntVar::decode(data)?),
            RAND => {
                let (first, second) = statement::decode_rand(data)?;
                Event::Rand(first, second)
            }
            USER_VAR => Event::UserVar(UserVar::decode(data)?),
            BEGIN_LOAD_QUERY => Event::BeginLoadQuery(LoadBlock::decode(data)?),
            APPEND_BLOCK => Event::AppendBlock(LoadBlock::decode(data)?),
            DELETE_FILE => Event::DeleteFile(LoadBlock::decode(data)?.file),
            EXECUTE_LOAD_QUERY => Event::ExecuteLoadQuery(ExecuteLoadQuery::decode(data)?),
            TRANSACTION_CONTEXT | VIEW_CHANGE | IGNORABLE => Event::Ignored,
            MARIA_ANNOTATE_ROWS => Event::RowsQuery(data),
            MARIA_BINLOG_CHECKPOINT => Event::BinlogCheckpoint(checkpoint_file(data)?),
            MARIA_GTID => Event::MariaGtid(MariaGtidEvent::decode(data, event.header.server_id)?),
            MARIA_GTID_LIST => Event::MariaGtidList(gtid::decode_maria_gtid_list(data)?),
            MARIA_QUERY_COMPRESSED => Event::Query(Query::decode_compressed(data)?),
            MARIA_START_ENCRYPTION => return Err(BinlogError::Unsupported("an encrypted binary log")),
            _ if event.header.is_ignorable() => Event::Ignored,
            _ => return Err(BinlogError::UnknownEvent(code)),
        })
    }

    fn table_map<'a>(&mut self, data: &[u8]) -> Result<Event<'a>> {
        if self.tables.len() >= STATEMENT_TABLES_MAX {
            return Err(BinlogError::Malformed("statement: too many tables"));
        }
        let map = Arc::new(TableMap::decode(data)?);
        self.tables.insert(map.id, map.clone());
        Ok(Event::TableMap(map))
    }

    fn rows<'a>(&mut self, code: u8, data: &'a [u8]) -> Result<Event<'a>> {
        let (id, flags) = rows::rows_head(data)?;
        let event = match self.tables.get(&id) {
            Some(table) => Event::Rows(Rows::decode(code, data, table.clone())?),
            None if id == table_map::DUMMY_TABLE_ID => Event::Ignored,
            None => return Err(BinlogError::UnknownTable(id)),
        };
        if flags & rows::rows_flags::STATEMENT_END != 0 {
            self.tables.clear();
        }
        Ok(event)
    }
}

fn checkpoint_file(data: &[u8]) -> Result<&[u8]> {
    let mut bytes = crate::codec::Bytes::new(data);
    let len = bytes.u32()? as usize;
    Ok(bytes.take(len)?)
}
