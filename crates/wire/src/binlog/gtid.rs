//! Events that name transactions: MySQL's GTIDs (also without a name, and with a tag) and MariaDB's.
//!
//! GTID_LOG_EVENT and ANONYMOUS_GTID_LOG_EVENT:
//!
//! | bytes  | content                                                                                           |
//! |--------|---------------------------------------------------------------------------------------------------|
//! | 1      | flags: 1 if statements may be in it, not rows alone                                                 |
//! | 16, 8  | UUID and number, both 0 if anonymous                                                              |
//! | 1      | 2: logical timestamps follow                                                                      |
//! | 8, 8   | the newest transaction that this one has to wait for; its own number in the file                  |
//! | 7      | microseconds of the commit here; the highest bit says that those of the first commit follow       |
//! | lenenc | bytes of the whole transaction in the log                                                         |
//! | 4      | version of the server here; the highest bit says that that of the first server follows            |
//! | 8      | the ticket of a commit group, if there is one                                                     |
//!
//! GTID_TAGGED_LOG_EVENT has the same in the form of `serial`, and a tag.

use vaquita_types::gtid::{Gtid, MariaGtid, Tag, Uuid};

use super::error::{BinlogError, Result};
use super::serial;
use super::statement::XaId;
use crate::codec::{Bytes, put_lenenc_int, put_u32, put_u64};

const LOGICAL_TIMESTAMPS: u8 = 2;
const MICROS_BYTES: usize = 7;
const ORIGINAL_MICROS_FOLLOW: u64 = 1 << 55;
const ORIGINAL_VERSION_FOLLOWS: u32 = 1 << 31;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GtidEvent {
    /// `None` if the transaction is anonymous.
    pub gtid: Option<Gtid>,
    pub may_have_statements: bool,
    pub last_committed: i64,
    pub sequence_number: i64,
    pub immediate_commit_micros: Option<u64>,
    /// If another than the immediate one.
    pub original_commit_micros: Option<u64>,
    pub transaction_bytes: Option<u64>,
    pub immediate_server_version: Option<u32>,
    pub original_server_version: Option<u32>,
    pub commit_group_ticket: Option<u64>,
}

fn micros(bytes: &mut Bytes<'_>) -> Result<u64> {
    let [a, b, c, d, e, f, g] = bytes.array::<MICROS_BYTES>()?;
    Ok(u64::from_le_bytes([a, b, c, d, e, f, g, 0]))
}

fn put_micros(out: &mut Vec<u8>, micros: u64) {
    out.extend_from_slice(&micros.to_le_bytes()[..MICROS_BYTES]);
}

fn gtid(source: Uuid, tag: Tag, number: i64) -> Result<Gtid> {
    let number = u64::try_from(number).ok().filter(|n| *n > 0).ok_or(BinlogError::Malformed("GTID"))?;
    Ok(Gtid { source, tag, number })
}

impl GtidEvent {
    pub fn decode(data: &[u8], anonymous: bool) -> Result<GtidEvent> {
        let mut bytes = Bytes::new(data);
        let flags = bytes.u8()?;
        let (source, number) = (Uuid(bytes.array()?), bytes.u64()? as i64);
        let gtid = if anonymous { None } else { Some(gtid(source, Tag::default(), number)?) };
        let mut event = GtidEvent { gtid, may_have_statements: flags & 1 != 0, ..GtidEvent::default() };
        // Each server since MySQL 5.6 has added something at the end.
        if bytes.is_empty() || bytes.u8()? != LOGICAL_TIMESTAMPS {
            return Ok(event);
        }
        event.last_committed = bytes.u64()? as i64;
        event.sequence_number = bytes.u64()? as i64;
        if bytes.len() >= MICROS_BYTES {
            let immediate = micros(&mut bytes)?;
            event.immediate_commit_micros = Some(immediate & !ORIGINAL_MICROS_FOLLOW);
            if immediate & ORIGINAL_MICROS_FOLLOW != 0 {
                event.original_commit_micros = Some(micros(&mut bytes)?);
            }
        }
        if !bytes.is_empty() {
            event.transaction_bytes = Some(bytes.lenenc_int()?);
        }
        if bytes.len() >= 4 {
            let immediate = bytes.u32()?;
            event.immediate_server_version = Some(immediate & !ORIGINAL_VERSION_FOLLOWS);
            if immediate & ORIGINAL_VERSION_FOLLOWS != 0 {
                event.original_server_version = Some(bytes.u32()?);
            }
        }
        if bytes.len() >= 8 {
            event.commit_group_ticket = Some(bytes.u64()?);
        }
        Ok(event)
    }

    /// As a server of this time writes it; a tag needs `encode_tagged`.
    pub fn encode(&self, out: &mut Vec<u8>) {
        out.push(u8::from(self.may_have_statements));
        out.extend_from_slice(&self.gtid.as_ref().map_or([0; 16], |gtid| gtid.source.0));
        put_u64(out, self.gtid.as_ref().map_or(0, |gtid| gtid.number));
        out.push(LOGICAL_TIMESTAMPS);
        put_u64(out, self.last_committed as u64);
        put_u64(out, self.sequence_number as u64);
        let original = self.original_commit_micros.map_or(0, |_| ORIGINAL_MICROS_FOLLOW);
        put_micros(out, self.immediate_commit_micros.unwrap_or(0) | original);
        if let Some(micros) = self.original_commit_micros {
            put_micros(out, micros);
        }
        put_lenenc_int(out, self.transaction_bytes.unwrap_or(0));
        let original = self.original_server_version.map_or(0, |_| ORIGINAL_VERSION_FOLLOWS);
        put_u32(out, self.immediate_server_version.unwrap_or(0) | original);
        if let Some(version) = self.original_server_version {
            put_u32(out, version);
        }
        if let Some(ticket) = self.commit_group_ticket {
            put_u64(out, ticket);
        }
    }

    pub fn decode_tagged(data: &[u8]) -> Result<GtidEvent> {
        let mut event = GtidEvent::default();
        let (mut source, mut tag, mut number) = (Uuid([0; 16]), Tag::default(), 0);
        let mut reader = serial::Reader::new(data, FIELDS)?;
        while let Some(field) = reader.field()? {
            match field {
                0 => event.may_have_statements = reader.unsigned()? & 1 != 0,
                1 => {
                    for byte in &mut source.0 {
                        *byte = u8::try_from(reader.unsigned()?).map_err(|_| BinlogError::Malformed("GTID"))?;
                    }
                }
                2 => number = reader.signed()?,
                3 => tag = Tag::new(reader.string()?).ok_or(BinlogError::Malformed("tag of a GTID"))?,
                4 => event.last_committed = reader.signed()?,
                5 => event.sequence_number = reader.signed()?,
                6 => event.immediate_commit_micros = Some(reader.unsigned()?),
                7 => event.original_commit_micros = Some(reader.unsigned()?),
                8 => event.transaction_bytes = Some(reader.unsigned()?),
                9 => event.immediate_server_version = Some(reader.unsigned()? as u32),
                10 => event.original_server_version = Some(reader.unsigned()? as u32),
                _ => event.commit_group_ticket = Some(reader.unsigned()?),
            }
        }
        event.gtid = Some(gtid(source, tag, number)?);
        Ok(event)
    }

    pub fn encode_tagged(&self, out: &mut Vec<u8>) {
        let mut writer = serial::Writer::default();
        writer.field(0).unsigned(u64::from(self.may_have_statements));
        if let Some(gtid) = &self.gtid {
            writer.field(1);
            gtid.source.0.iter().for_each(|byte| writer.unsigned(u64::from(*byte)));
            writer.field(2).signed(gtid.number as i64);
            writer.field(3).string(gtid.tag.as_str().as_bytes());
        }
        writer.field(4).signed(self.last_committed);
        writer.field(5).signed(self.sequence_number);
        let numbers = [
            (6, self.immediate_commit_micros),
            (7, self.original_commit_micros),
            (8, self.transaction_bytes),
            (9, self.immediate_server_version.map(u64::from)),
            (10, self.original_server_version.map(u64::from)),
            (11, self.commit_group_ticket),
        ];
        for (field, number) in numbers {
            if let Some(number) = number {
                writer.field(field).unsigned(number);
            }
        }
        writer.finish(out);
    }
}

/// Fields that `decode_tagged` knows.
const FIELDS: u64 = 12;

/// MariaDB's GTID_EVENT, which also begins the transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MariaGtidEvent<'a> {
    /// The server is that of the header.
    pub gtid: MariaGtid,
    pub flags: u8,
    pub flags_extra: u8,
    /// The same for transactions that were committed together.
    pub commit_id: Option<u64>,
    pub xid: Option<XaId<'a>>,
    /// The transaction whose START ALTER this one ends.
    pub alter_sequence: Option<u64>,
}

impl<'a> MariaGtidEvent<'a> {
    /// No COMMIT follows: one statement that commits itself.
    pub const STANDALONE: u8 = 1;
    const GROUP_COMMIT_ID: u8 = 2;
    pub const TRANSACTIONAL: u8 = 4;
    pub const ALLOW_PARALLEL: u8 = 8;
    pub const DDL: u8 = 32;
    pub const PREPARED_XA: u8 = 64;
    pub const COMPLETED_XA: u8 = 128;
    const EXTRA_MULTI_ENGINE: u8 = 1;
    pub const EXTRA_START_ALTER: u8 = 2;
    pub const EXTRA_COMMIT_ALTER: u8 = 4;
    pub const EXTRA_ROLLBACK_ALTER: u8 = 8;

    pub fn decode(data: &'a [u8], server: u32) -> Result<MariaGtidEvent<'a>> {
        let mut bytes = Bytes::new(data);
        let gtid = MariaGtid { sequence: bytes.u64()?, domain: bytes.u32()?, server };
        let flags = bytes.u8()?;
        let commit_id = if flags & Self::GROUP_COMMIT_ID != 0 { Some(bytes.u64()?) } else { None };
        let xid = match flags & (Self::PREPARED_XA | Self::COMPLETED_XA) {
            0 => None,
            _ => {
                let format = bytes.u32()?;
                let (global, branch) = (usize::from(bytes.u8()?), usize::from(bytes.u8()?));
                Some(XaId { format, global: bytes.take(global)?, branch: bytes.take(branch)? })
            }
        };
        // What is short is filled with zeros to the length that it had before there was more.
        let flags_extra = if bytes.is_empty() { 0 } else { bytes.u8()? };
        if flags_extra & Self::EXTRA_MULTI_ENGINE != 0 {
            bytes.skip(1)?;
        }
        let ends_alter = flags_extra & (Self::EXTRA_COMMIT_ALTER | Self::EXTRA_ROLLBACK_ALTER) != 0;
        let alter_sequence = if ends_alter { Some(bytes.u64()?) } else { None };
        Ok(MariaGtidEvent { gtid, flags, flags_extra, commit_id, xid, alter_sequence })
    }

    /// Without what ALTER in two phases needs.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let start = out.len();
        put_u64(out, self.gtid.sequence);
        put_u32(out, self.gtid.domain);
        let with = |flags: u8, flag: u8, on: bool| if on { flags | flag } else { flags & !flag };
        out.push(with(self.flags, Self::GROUP_COMMIT_ID, self.commit_id.is_some()));
        if let Some(id) = self.commit_id {
            put_u64(out, id);
        }
        if let Some(XaId { format, global, branch }) = self.xid {
            put_u32(out, format);
            out.extend_from_slice(&[global.len() as u8, branch.len() as u8]);
            out.extend_from_slice(global);
            out.extend_from_slice(branch);
        }
        let len = (out.len() - start).max(MARIA_GTID_BYTES_MIN);
        out.resize(start + len, 0);
    }
}

/// What is shorter is filled with zeros.
const MARIA_GTID_BYTES_MIN: usize = 19;

/// MariaDB's GTID_LIST_EVENT: the last transaction of each domain and server before this file.
pub fn decode_maria_gtid_list(data: &[u8]) -> Result<Vec<MariaGtid>> {
    const COUNT_MASK: u32 = (1 << 28) - 1;
    const GTID_BYTES: usize = 16;
    let mut bytes = Bytes::new(data);
    let count = (bytes.u32()? & COUNT_MASK) as usize;
    if bytes.len() / GTID_BYTES < count {
        return Err(BinlogError::Malformed("list of GTIDs"));
    }
    (0..count).map(|_| Ok(MariaGtid { domain: bytes.u32()?, server: bytes.u32()?, sequence: bytes.u64()? })).collect()
}

/// Without flags.
pub fn encode_maria_gtid_list(list: &[MariaGtid], out: &mut Vec<u8>) {
    put_u32(out, list.len() as u32);
    for gtid in list {
        put_u32(out, gtid.domain);
        put_u32(out, gtid.server);
        put_u64(out, gtid.sequence);
    }
}
