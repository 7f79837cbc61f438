//! The command phase, server side: what a client's packet asks for.
//!
//! `Command::decode` takes a whole payload and returns slices of it; nothing is copied. The parameters of
//! COM_STMT_EXECUTE need what the statement remembers, so they are read in a second step, `params::StatementParams::read`.
//! ```text
//! 03 "select 1"                          Query   (with CLIENT_QUERY_ATTRIBUTES: 03 00 01 "select 1")
//! 17 01000000 00 01000000 …              Execute { statement_id: 1, cursor: 0, … }
//! ```
//! Those that MySQL has removed have a name in `caps`, and are answered as MySQL answers what it does not know: error 1047. A payload that ends
//! too early is error 1835.

use crate::caps::{client, command};
use crate::codec::{Bytes, Decoded};
use crate::copy::CopyRequest;
use crate::error::ProtocolError;
use crate::handshake::{ChangeUser, decode_change_user};
use crate::params::{Execute, QueryAttribute, read_query_attributes};

/// A decoded command.
#[derive(Debug, PartialEq)]
pub enum Command<'a> {
    Quit,
    InitDb {
        database: &'a [u8],
    },
    Query(Query<'a>),
    FieldList {
        table: &'a [u8],
        wildcard: &'a [u8],
    },
    Statistics,
    Debug,
    ProcessKill {
        connection_id: u32,
    },
    Ping,
    ChangeUser(ChangeUser<'a>),
    Prepare {
        sql: &'a [u8],
    },
    Execute(Execute<'a>),
    SendLongData {
        statement_id: u32,
        parameter: u16,
        data: &'a [u8],
    },
    CloseStatement {
        statement_id: u32,
    },
    ResetStatement {
        statement_id: u32,
    },
    Fetch {
        statement_id: u32,
        rows_max: u32,
    },
    SetMultiStatements(bool),
    ResetConnection,
    RegisterReplica(RegisterReplica<'a>),
    BinlogDump(BinlogDump<'a>),
    /// COM_CLONE.
    Copy(CopyRequest<'a>),
}

/// COM_REGISTER_SLAVE: what SHOW REPLICAS shows.
#[derive(Debug, PartialEq)]
pub struct RegisterReplica<'a> {
    pub server_id: u32,
    pub host: &'a [u8],
    pub user: &'a [u8],
    pub password: &'a [u8],
    pub port: u16,
    /// 0: this server.
    pub source_id: u32,
}

/// COM_BINLOG_DUMP and COM_BINLOG_DUMP_GTID.
#[derive(Debug, PartialEq)]
pub struct BinlogDump<'a> {
    pub file: &'a [u8],
    pub position: u64,
    /// `dump_flags`
    pub flags: u16,
    pub server_id: u32,
    /// By GTID: the set that the replica has, encoded.
    pub known: Option<&'a [u8]>,
}

/// Flags of `BinlogDump`.
pub mod dump_flags {
    /// The end of the log ends the dump.
    pub const NON_BLOCK: u16 = 1;
    pub const HEARTBEAT_V2: u16 = 2;
    /// From a MariaDB the same bit asks for ANNOTATE_ROWS.
    pub const MARIA_ANNOTATES: u16 = 2;
}

/// COM_QUERY.
#[derive(Debug, PartialEq)]
pub struct Query<'a> {
    pub sql: &'a [u8],
    pub attributes: Vec<QueryAttribute>,
}

/// COM_STMT_SEND_LONG_DATA, COM_STMT_CLOSE and COM_QUIT are never answered, not even with an error.
pub fn has_no_reply(command_byte: u8) -> bool {
    matches!(command_byte, command::STMT_SEND_LONG_DATA | command::STMT_CLOSE | command::QUIT)
}

impl<'a> Command<'a> {
    /// Decodes one payload; `caps` are the negotiated flags.
    pub fn decode(payload: &'a [u8], caps: u32) -> Decoded<Command<'a>> {
        let Some((&byte, body)) = payload.split_first() else {
            return Err(ProtocolError::UnknownCommand);
        };
        let mut bytes = Bytes::new(body);
        Ok(match byte {
            command::QUERY => Command::Query(decode_query(bytes, caps)?),
            command::STMT_EXECUTE => Command::Execute(decode_execute(bytes)?),
            command::STMT_PREPARE => Command::Prepare { sql: body },
            command::PING => Command::Ping,
            command::QUIT => Command::Quit,
            command::INIT_DB => Command::InitDb { database: body },
            command::FIELD_LIST => Command::FieldList { table: bytes.nul_bytes()?, wildcard: bytes.nul_bytes_or_rest() },
            command::STATISTICS => Command::Statistics,
            command::DEBUG => Command::Debug,
            command::PROCESS_KILL => Command::ProcessKill { connection_id: bytes.u32()? },
            command::CHANGE_USER => Command::ChangeUser(decode_change_user(body, caps)?),
            command::STMT_SEND_LONG_DATA => {
                Command::SendLongData { statement_id: bytes.u32()?, parameter: bytes.u16()?, data: bytes.rest() }
            }
            command::STMT_CLOSE => Command::CloseStatement { statement_id: bytes.u32()? },
            command::STMT_RESET => Command::ResetStatement { statement_id: bytes.u32()? },
            command::STMT_FETCH => Command::Fetch { statement_id: bytes.u32()?, rows_max: bytes.u32()? },
            command::SET_OPTION => Command::SetMultiStatements(match bytes.u16()? {
                0 => true,
                1 => false,
                _ => return Err(ProtocolError::UnknownCommand),
            }),
            command::RESET_CONNECTION => Command::ResetConnection,
            command::REGISTER_REPLICA => Command::RegisterReplica(decode_register_replica(bytes)?),
            command::BINLOG_DUMP => {
                let (position, flags, server_id) = (u64::from(bytes.u32()?), bytes.u16()?, bytes.u32()?);
                Command::BinlogDump(BinlogDump { file: before_nul(bytes.rest()), position, flags, server_id, known: None })
            }
            command::BINLOG_DUMP_GTID => Command::BinlogDump(decode_dump_by_gtid(bytes)?),
            command::CLONE => Command::Copy(CopyRequest::decode(body)?),
            _ => return Err(ProtocolError::UnknownCommand),
        })
    }
}

fn decode_register_replica(mut bytes: Bytes<'_>) -> Decoded<RegisterReplica<'_>> {
    let server_id = bytes.u32()?;
    let mut text = || {
        let len = bytes.u8()?;
        bytes.take(usize::from(len))
    };
    let (host, user, password) = (text()?, text()?, text()?);
    let port = bytes.u16()?;
    // The rank of a replica, which nothing uses.
    bytes.skip(4)?;
    Ok(RegisterReplica { server_id, host, user, password, port, source_id: bytes.u32()? })
}

/// A name ends at its first NUL, as in MySQL: there are readers that send NULs for no file.
fn before_nul(name: &[u8]) -> &[u8] {
    name.split(|byte| *byte == 0).next().unwrap_or_default()
}

fn decode_dump_by_gtid(mut bytes: Bytes<'_>) -> Decoded<BinlogDump<'_>> {
    let (flags, server_id) = (bytes.u16()?, bytes.u32()?);
    let len = bytes.u32()? as usize;
    let file = before_nul(bytes.take(len)?);
    let position = bytes.u64()?;
    let len = bytes.u32()? as usize;
    Ok(BinlogDump { file, position, flags, server_id, known: Some(bytes.take(len)?) })
}

#[inline]
fn decode_query<'a>(mut bytes: Bytes<'a>, caps: u32) -> Decoded<Query<'a>> {
    let mut attributes = Vec::new();
    if caps & client::QUERY_ATTRIBUTES != 0 {
        attributes = read_query_attributes(&mut bytes)?;
    }
    Ok(Query { sql: bytes.rest(), attributes })
}

#[inline]
fn decode_execute(mut bytes: Bytes<'_>) -> Decoded<Execute<'_>> {
    let statement_id = bytes.u32()?;
    let flags = bytes.u8()?;
    // The iteration count is always 1, and MySQL does not read it.
    bytes.skip(4)?;
    Ok(Execute {
        statement_id,
        cursor: flags & !crate::caps::cursor::PARAMETER_COUNT_AVAILABLE,
        has_parameter_count: flags & crate::caps::cursor::PARAMETER_COUNT_AVAILABLE != 0,
        parameters: bytes.rest(),
    })
}
