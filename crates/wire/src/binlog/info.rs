//! What an event says, in the words of SHOW BINLOG EVENTS.

use vaquita_types::charset::{Collation, CollationId, charset};
use vaquita_types::decimal::Decimal;
use vaquita_types::format::write_double;

use super::compression::PayloadCompression;
use super::rows::rows_flags;
use super::*;

/// Of an event whose header has no database: `use` is not written in front of its statement.
const SUPPRESS_USE: u16 = 0x08;
/// Which server's words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    MySql,
    MariaDb,
}

/// The bytes are those of the log, in the charset of the statement.
pub fn info(event: &Event<'_>, header: &Header, dialect: Dialect) -> Vec<u8> {
    let mut out = Vec::new();
    put_info(event, header, dialect, &mut out);
    out
}

fn put_info(event: &Event<'_>, header: &Header, dialect: Dialect, out: &mut Vec<u8>) {
    let mut text = |text: String| out.extend_from_slice(text.as_bytes());
    match event {
        Event::FormatDescription(format) => {
            text(format!("Server ver: {}, Binlog ver: 4", String::from_utf8_lossy(format.server_version)));
        }
        Event::Rotate(rotate) => {
            out.extend_from_slice(rotate.file);
            out.extend_from_slice(format!(";pos={}", rotate.position).as_bytes());
        }
        Event::Incident(incident) => {
            text(format!("#{} ({})", incident.number, incident.name()));
            if !incident.message.is_empty() {
                out.extend_from_slice(b": ");
                out.extend_from_slice(incident.message);
            }
        }
        Event::PreviousGtids(set) => text(set.to_string()),
        Event::Gtid(event) => match &event.gtid {
            Some(gtid) => text(format!("SET @@SESSION.GTID_NEXT= '{gtid}'")),
            None => text("SET @@SESSION.GTID_NEXT= 'ANONYMOUS'".to_string()),
        },
        Event::MariaGtid(event) => text(maria_gtid(event)),
        Event::MariaGtidList(list) => {
            let mut list = list.clone();
            list.sort_by_key(|gtid| gtid.domain);
            let list: Vec<String> = list.iter().map(|gtid| gtid.to_string()).collect();
            text(format!("[{}]", list.join(",")));
        }
        Event::BinlogCheckpoint(file) | Event::Heartbeat(Heartbeat { file, .. }) => out.extend_from_slice(file),
        Event::Query(query) => put_query(query, header, dialect, out),
        Event::Xid(xid) => text(format!("COMMIT /* xid={xid} */")),
        Event::XaPrepare(prepare) => match prepare.one_phase {
            true => text(format!("XA COMMIT {} ONE PHASE", xa_id(&prepare.xid))),
            false => text(format!("XA PREPARE {}", xa_id(&prepare.xid))),
        },
        Event::RowsQuery(statement) => {
            out.extend_from_slice(if dialect == Dialect::MySql { b"# " } else { b"" });
            out.extend_from_slice(statement);
        }
        Event::TableMap(map) => {
            text(format!("table_id: {} (", map.id));
            out.extend_from_slice(&map.database);
            out.push(b'.');
            out.extend_from_slice(&map.table);
            out.push(b')');
        }
        Event::Rows(rows) => text(rows_info(rows)),
        Event::TransactionPayload(payload) => {
            let name = if payload.compression == PayloadCompression::Zstd { "ZSTD" } else { "NONE" };
            text(format!("compression='{name}', decompressed_size={} bytes", payload.uncompressed_bytes));
        }
        Event::IntVar(IntVar::LastInsertId(id)) => text(format!("LAST_INSERT_ID={id}")),
        Event::IntVar(IntVar::InsertId(id)) => text(format!("INSERT_ID={id}")),
        Event::Rand(first, second) => text(format!("rand_seed1={first},rand_seed2={second}")),
        Event::UserVar(var) => put_user_var(var, dialect, out),
        Event::BeginLoadQuery(block) | Event::AppendBlock(block) => {
            text(format!(";file_id={};block_len={}", block.file, block.block.len()));
        }
        Event::DeleteFile(file) => text(format!(";file_id={file}")),
        Event::ExecuteLoadQuery(load) => {
            put_query(&load.query, header, dialect, out);
            out.extend_from_slice(format!(" ;file_id={}", load.file).as_bytes());
        }
        Event::Stop | Event::Ignored => {}
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// As XA statements write it.
pub fn xa_id(xid: &XaId<'_>) -> String {
    format!("X'{}',X'{}',{}", hex(xid.global), hex(xid.branch), xid.format)
}

fn maria_gtid(event: &MariaGtidEvent<'_>) -> String {
    let begin = match (event.flags & MariaGtidEvent::STANDALONE != 0, &event.xid) {
        (true, _) => String::new(),
        (false, Some(xid)) if event.flags & MariaGtidEvent::PREPARED_XA != 0 => format!("XA START {} ", xa_id(xid)),
        (false, _) => "BEGIN ".to_string(),
    };
    let mut text = format!("{begin}GTID {}", event.gtid);
    if event.flags_extra & MariaGtidEvent::EXTRA_START_ALTER != 0 {
        text += " START ALTER";
    }
    for (flag, name) in [(MariaGtidEvent::EXTRA_COMMIT_ALTER, "COMMIT"), (MariaGtidEvent::EXTRA_ROLLBACK_ALTER, "ROLLBACK")] {
        if event.flags_extra & flag != 0 {
            text += &format!(" {name} ALTER id={}", event.alter_sequence.unwrap_or(0));
        }
    }
    text
}

pub(super) fn put_quoted_name(name: &[u8], out: &mut Vec<u8>) {
    out.push(b'`');
    for byte in name {
        out.extend_from_slice(if *byte == b'`' { b"``" } else { std::slice::from_ref(byte) });
    }
    out.push(b'`');
}

fn put_query(query: &Query<'_>, header: &Header, dialect: Dialect, out: &mut Vec<u8>) {
    if header.flags & SUPPRESS_USE == 0 && !query.database.is_empty() {
        out.extend_from_slice(b"use ");
        put_quoted_name(query.database, out);
        out.extend_from_slice(b"; ");
    }
    out.extend_from_slice(&query.statement);
    let xid = query.status_vars().find_map(|var| match var {
        Ok(StatusVar::DdlXid(xid)) if dialect == Dialect::MySql => Some(xid),
        _ => None,
    });
    if let Some(xid) = xid {
        out.extend_from_slice(format!(" /* xid={xid} */").as_bytes());
    }
}

fn rows_info(rows: &Rows<'_>) -> String {
    let mut text = format!("table_id: {}", rows.table.id);
    let names = [
        (rows_flags::STATEMENT_END, "STMT_END_F"),
        (rows_flags::NO_FOREIGN_KEY_CHECKS, "NO_FOREIGN_KEY_CHECKS_F"),
        (rows_flags::RELAXED_UNIQUE_CHECKS, "NO_UNIQUE_KEY_CHECKS_F"),
        (rows_flags::CASCADES_FOLLOW, "USE_SQL_FOREIGN_KEY_F"),
    ];
    let named: Vec<&str> = names.iter().filter(|(flag, _)| rows.flags & flag != 0).map(|(_, name)| *name).collect();
    if !named.is_empty() {
        text += " flags: ";
        text += &named.join(" ");
    }
    text
}

fn put_user_var(var: &UserVar<'_>, dialect: Dialect, out: &mut Vec<u8>) {
    out.push(b'@');
    put_quoted_name(var.name, out);
    out.push(b'=');
    let mut text = |text: String| out.extend_from_slice(text.as_bytes());
    match var.value {
        UserVarValue::Null => text("NULL".to_string()),
        UserVarValue::Int(n) => text(n.to_string()),
        UserVarValue::UInt(n) => text(n.to_string()),
        UserVarValue::Real(n) => write_double(out, n),
        UserVarValue::Decimal { precision, scale, bytes } => {
            text(Decimal::decode(bytes, u32::from(precision), scale).map_or("???".to_string(), |n| n.to_string()));
        }
        UserVarValue::String { collation, bytes } => {
            let collation = u16::try_from(collation).ok().and_then(|id| Collation::by_id(CollationId(id)));
            let Some(collation) = collation else { return text("???".to_string()) };
            let digits = hex(bytes).to_uppercase();
            let digits = if dialect == Dialect::MySql { format!("0x{digits}") } else { format!("X'{digits}'") };
            text(format!("_{} {digits} COLLATE {}", charset(collation.id).name, collation.name));
        }
    }
}
