//! What a server answers: OK, ERR, EOF, column definitions, prepare-OK, LOCAL INFILE requests and the
//! session state changes inside an OK ("Generic Response Packets", "Text Resultset", "COM_STMT_PREPARE Response").
//!
//! Functions append one payload to a `Vec<u8>`; `PacketWriter::packet` frames it. Clients announced in
//! `caps` what they read, so each function takes the negotiated flags where the bytes depend on them.
//! A result set is: `put_result_set_header`, the definitions, `put_eof` unless DEPRECATE_EOF, the rows, and
//! `put_result_set_end`. MySQL before protocol 4.1 is not spoken.

use crate::caps::{NOT_FIXED_DECIMALS, charset_id, client, mysql_type, session_track, status};
use crate::codec::{Bytes, Decoded, NULL_BYTE, put_lenenc_bytes, put_lenenc_int, put_u16, put_u32};
use crate::error::ProtocolError;

const OK_HEADER: u8 = 0x00;
const EOF_HEADER: u8 = 0xfe;
const ERR_HEADER: u8 = 0xff;
const LOCAL_INFILE_HEADER: u8 = 0xfb;
/// MYSQL_ERRMSG_SIZE: texts longer than this are cut.
pub const ERROR_TEXT_BYTES_MAX: usize = 512;

/// Contents of an OK packet.
#[derive(Clone, Copy, Debug, Default)]
pub struct OkPacket<'a> {
    pub affected_rows: u64,
    pub last_insert_id: u64,
    pub status: u16,
    pub warnings: u16,
    pub info: &'a [u8],
    /// What `put_session_*` built; sent if the client has SESSION_TRACK.
    pub session_state: &'a [u8],
}

/// An OK packet ("OK_Packet").
#[inline]
pub fn put_ok(out: &mut Vec<u8>, caps: u32, ok: &OkPacket<'_>) {
    put_ok_as(out, OK_HEADER, caps, ok);
}

fn put_ok_as(out: &mut Vec<u8>, header: u8, caps: u32, ok: &OkPacket<'_>) {
    out.push(header);
    put_lenenc_int(out, ok.affected_rows);
    put_lenenc_int(out, ok.last_insert_id);
    let tracks = caps & client::SESSION_TRACK != 0;
    let mut status = ok.status & !status::SESSION_STATE_CHANGED;
    if tracks && !ok.session_state.is_empty() {
        status |= status::SESSION_STATE_CHANGED;
    }
    put_u16(out, status);
    put_u16(out, ok.warnings);
    if tracks {
        // MySQL leaves the empty info out when nothing follows it.
        if !ok.info.is_empty() || !ok.session_state.is_empty() {
            put_lenenc_bytes(out, ok.info);
        }
        if !ok.session_state.is_empty() {
            put_lenenc_bytes(out, ok.session_state);
        }
    } else {
        // string<EOF> in the manual, but MySQL has always sent the length.
        if !ok.info.is_empty() {
            put_lenenc_bytes(out, ok.info);
        }
    }
}

/// Ends the rows of a result set: EOF, or OK with an EOF header for clients with DEPRECATE_EOF.
#[inline]
pub fn put_result_set_end(out: &mut Vec<u8>, caps: u32, ok: &OkPacket<'_>) {
    if caps & client::DEPRECATE_EOF != 0 {
        put_ok_as(out, EOF_HEADER, caps, ok);
    } else {
        put_eof(out, ok.status, ok.warnings);
    }
}

/// An EOF packet ("EOF_Packet"); after column definitions only for clients without DEPRECATE_EOF.
#[inline]
pub fn put_eof(out: &mut Vec<u8>, status: u16, warnings: u16) {
    out.push(EOF_HEADER);
    put_u16(out, warnings);
    put_u16(out, status & !status::SESSION_STATE_CHANGED);
}

/// An error packet ("ERR_Packet"). `sqlstate` has five characters. Before the handshake response is
/// read, MySQL sends errors without SQLSTATE: see `put_err_without_sqlstate`.
pub fn put_err(out: &mut Vec<u8>, errno: u16, sqlstate: &str, text: &str) {
    put_err_bytes(out, errno, sqlstate, cut_text(text));
}

/// The text is in the client's charset and shorter than `ERROR_TEXT_BYTES_MAX`.
pub fn put_err_bytes(out: &mut Vec<u8>, errno: u16, sqlstate: &str, text: &[u8]) {
    out.push(ERR_HEADER);
    put_u16(out, errno);
    out.push(b'#');
    let mut state = *b"HY000";
    if let Ok(given) = <[u8; 5]>::try_from(sqlstate.as_bytes()) {
        state = given;
    }
    out.extend_from_slice(&state);
    out.extend_from_slice(text);
}

/// The error in place of the initial handshake ("Host is blocked", "Too many connections").
pub fn put_err_without_sqlstate(out: &mut Vec<u8>, errno: u16, text: &str) {
    out.push(ERR_HEADER);
    put_u16(out, errno);
    out.extend_from_slice(cut_text(text));
}

pub fn put_protocol_error(out: &mut Vec<u8>, error: ProtocolError) {
    put_err(out, error.errno(), error.sqlstate(), &error.to_string());
}

fn cut_text(text: &str) -> &[u8] {
    let mut end = text.len().min(ERROR_TEXT_BYTES_MAX - 1);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.as_bytes().get(..end).unwrap_or_default()
}

/// One column of a result set ("Column Definition 4.1"), names in the client's character set.
#[derive(Clone, Copy, Debug, Default)]
pub struct ColumnDefinition<'a> {
    pub schema: &'a [u8],
    /// Alias of the table.
    pub table: &'a [u8],
    pub org_table: &'a [u8],
    /// Alias of the column.
    pub name: &'a [u8],
    pub org_name: &'a [u8],
    /// Collation id of the result; 63 for numbers, dates and binary strings.
    pub charset: u16,
    /// Display width in bytes.
    pub length: u32,
    pub column_type: u8,
    pub flags: u16,
    pub decimals: u8,
}

#[inline]
pub fn put_column_definition(out: &mut Vec<u8>, column: &ColumnDefinition<'_>) {
    put_lenenc_bytes(out, b"def");
    put_lenenc_bytes(out, column.schema);
    put_lenenc_bytes(out, column.table);
    put_lenenc_bytes(out, column.org_table);
    put_lenenc_bytes(out, column.name);
    put_lenenc_bytes(out, column.org_name);
    // The fixed part in one piece: its length 0x0c, then charset, length, type, flags, decimals, filler.
    let [c0, c1] = column.charset.to_le_bytes();
    let [l0, l1, l2, l3] = column.length.to_le_bytes();
    let [f0, f1] = column.flags.to_le_bytes();
    let (kind, decimals) = (column.column_type, column.decimals);
    out.extend_from_slice(&[0x0c, c0, c1, l0, l1, l2, l3, kind, f0, f1, decimals, 0, 0]);
}

/// The definition in an answer to COM_FIELD_LIST: followed by the column's default, `None` for NULL.
pub fn put_field_list_definition(out: &mut Vec<u8>, column: &ColumnDefinition<'_>, default: Option<&[u8]>) {
    put_column_definition(out, column);
    match default {
        Some(text) => put_lenenc_bytes(out, text),
        None => out.push(NULL_BYTE),
    }
}

/// Column count; with OPTIONAL_RESULTSET_METADATA behind it whether definitions follow. The manual has it the other way round, but
/// this is what MySQL sends.
#[inline]
pub fn put_result_set_header(out: &mut Vec<u8>, caps: u32, column_count: usize, metadata: bool) {
    put_lenenc_int(out, column_count as u64);
    if caps & client::OPTIONAL_RESULTSET_METADATA != 0 {
        out.push(u8::from(metadata));
    }
}

/// First packet of the answer to COM_STMT_PREPARE ("COM_STMT_PREPARE_OK").
pub fn put_prepare_ok(out: &mut Vec<u8>, caps: u32, statement_id: u32, column_count: u16, parameter_count: u16, warnings: u16) {
    out.push(OK_HEADER);
    put_u32(out, statement_id);
    put_u16(out, column_count);
    put_u16(out, parameter_count);
    out.push(0);
    put_u16(out, warnings);
    if caps & client::OPTIONAL_RESULTSET_METADATA != 0 {
        out.push(1);
    }
}

/// The definition that MySQL sends for a `?` of which it knows no more. It announces the connection's collation:
/// a caller whose connection has another one than utf8mb4's default sets `charset`.
pub fn parameter_definition() -> ColumnDefinition<'static> {
    ColumnDefinition {
        name: b"?",
        charset: charset_id::UTF8MB4_0900_AI_CI,
        length: 65_532,
        column_type: mysql_type::VAR_STRING,
        decimals: NOT_FIXED_DECIMALS,
        ..ColumnDefinition::default()
    }
}

/// Asks the client for a file ("LOCAL INFILE Request"); it sends packets up to an empty one.
pub fn put_local_infile_request(out: &mut Vec<u8>, file_name: &[u8]) {
    out.push(LOCAL_INFILE_HEADER);
    out.extend_from_slice(file_name);
}

/// SESSION_TRACK_SYSTEM_VARIABLES: one variable changed to `value`.
pub fn put_session_variable(out: &mut Vec<u8>, name: &[u8], value: &[u8]) {
    let mut data = Vec::with_capacity(name.len() + value.len() + 2);
    put_lenenc_bytes(&mut data, name);
    put_lenenc_bytes(&mut data, value);
    out.push(session_track::SYSTEM_VARIABLES);
    put_lenenc_bytes(out, &data);
}

/// SESSION_TRACK_SCHEMA: the default database is now `schema`.
pub fn put_session_schema(out: &mut Vec<u8>, schema: &[u8]) {
    put_session_text(out, session_track::SCHEMA, schema);
}

/// SESSION_TRACK_STATE_CHANGE: something in the session changed (`session_track_state_change=ON`).
pub fn put_session_state_change(out: &mut Vec<u8>) {
    out.push(session_track::STATE_CHANGE);
    put_lenenc_bytes(out, b"1");
}

/// SESSION_TRACK_TRANSACTION_CHARACTERISTICS: the statements that would restart the transaction alike.
pub fn put_session_transaction_characteristics(out: &mut Vec<u8>, statements: &[u8]) {
    put_session_text(out, session_track::TRANSACTION_CHARACTERISTICS, statements);
}

/// SESSION_TRACK_TRANSACTION_STATE: eight characters such as `T_______`.
pub fn put_session_transaction_state(out: &mut Vec<u8>, state: &[u8; 8]) {
    put_session_text(out, session_track::TRANSACTION_STATE, state);
}

/// SESSION_TRACK_GTIDS: the transactions of this statement. The byte in front is the encoding, always 0.
pub fn put_session_gtids(out: &mut Vec<u8>, gtids: &[u8]) {
    let mut data = Vec::with_capacity(gtids.len() + 10);
    data.push(0);
    put_lenenc_bytes(&mut data, gtids);
    out.push(session_track::GTIDS);
    put_lenenc_bytes(out, &data);
}

fn put_session_text(out: &mut Vec<u8>, kind: u8, text: &[u8]) {
    let mut data = Vec::with_capacity(text.len() + 9);
    put_lenenc_bytes(&mut data, text);
    out.push(kind);
    put_lenenc_bytes(out, &data);
}

/// A response as a client sees it; for tests and tools.
#[derive(Debug, PartialEq, Eq)]
pub enum Response<'a> {
    Ok {
        affected_rows: u64,
        last_insert_id: u64,
        status: u16,
        warnings: u16,
        info: &'a [u8],
        session_state: &'a [u8],
    },
    Err {
        errno: u16,
        sqlstate: &'a [u8],
        text: &'a [u8],
    },
    LocalInfile {
        file_name: &'a [u8],
    },
    /// The first packet of a result set.
    Columns(u64),
}

/// Client side: the first packet that answers a command.
pub fn decode_response<'a>(payload: &'a [u8], caps: u32) -> Decoded<Response<'a>> {
    let mut bytes = Bytes::new(payload);
    match payload.first() {
        Some(&OK_HEADER) if payload.len() >= 7 => decode_ok(payload, caps),
        Some(&ERR_HEADER) => {
            bytes.skip(1)?;
            let errno = bytes.u16()?;
            let mut sqlstate = &b"HY000"[..];
            if bytes.rest().first() == Some(&b'#') {
                bytes.skip(1)?;
                sqlstate = bytes.take(5)?;
            }
            Ok(Response::Err { errno, sqlstate, text: bytes.rest() })
        }
        Some(&LOCAL_INFILE_HEADER) => {
            bytes.skip(1)?;
            Ok(Response::LocalInfile { file_name: bytes.rest() })
        }
        _ => {
            let columns = bytes.lenenc_int()?;
            if caps & client::OPTIONAL_RESULTSET_METADATA != 0 {
                bytes.skip(1)?;
            }
            Ok(Response::Columns(columns))
        }
    }
}

/// Client side: an OK packet, also one with the header of EOF.
pub fn decode_ok<'a>(payload: &'a [u8], caps: u32) -> Decoded<Response<'a>> {
    let mut bytes = Bytes::new(payload);
    bytes.skip(1)?;
    let affected_rows = bytes.lenenc_int()?;
    let last_insert_id = bytes.lenenc_int()?;
    let status = bytes.u16()?;
    let warnings = bytes.u16()?;
    let mut info = &b""[..];
    let mut session_state = &b""[..];
    if !bytes.is_empty() {
        info = bytes.lenenc_bytes()?;
    }
    if caps & client::SESSION_TRACK != 0 && status & status::SESSION_STATE_CHANGED != 0 {
        session_state = bytes.lenenc_bytes()?;
    }
    Ok(Response::Ok { affected_rows, last_insert_id, status, warnings, info, session_state })
}
