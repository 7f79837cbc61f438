//! Binary logs recorded from MySQL and MariaDB: each event as SHOW BINLOG EVENTS describes it, each row as the server shows it, and
//! what is decoded encoded again to the same bytes.

use std::sync::Arc;

use sha1::{Digest, Sha1};
use vaquita_types::Value;
use vaquita_types::format::{write_double, write_year};

use crate::binlog::info::{Dialect, info};
use crate::binlog::table_map::column_type as ty;
use crate::binlog::*;

pub struct Recording {
    pub name: &'static str,
    pub log: &'static [u8],
    events: &'static str,
    rows: &'static str,
}

macro_rules! recordings {
    ($($name:literal,)*) => {
        pub const RECORDINGS: &[Recording] = &[$(Recording {
            name: $name,
            log: include_bytes!(concat!("binlog/", $name, ".binlog")),
            events: include_str!(concat!("binlog/", $name, ".events")),
            rows: include_str!(concat!("binlog/", $name, ".rows")),
        },)*];
    };
}

recordings! {
    "mysql-control",
    "mysql-numbers",
    "mysql-texts",
    "mysql-images",
    "mysql-compressed",
    "mysql-minimal",
    "mysql-unchecked",
    "mysql-statements",
    "mysql-keys",
    "mariadb-control",
    "mariadb-types",
    "mariadb-old_times",
    "mariadb-images",
    "mariadb-compressed",
    "mariadb-bare",
    "mariadb-statements",
}

/// Gives each event to `see`, those of a compressed transaction behind the event that holds them, with its end.
fn read(log: &[u8], piece: usize, see: &mut dyn FnMut(&RawEvent<'_>, &Event<'_>, Option<u64>)) -> Result<()> {
    let (mut reader, mut decoder) = (EventReader::of_file(), Decoder::default());
    for bytes in log.chunks(piece) {
        reader.feed(bytes);
        while let Some(raw) = reader.next_event()? {
            let event = decoder.decode(&raw)?;
            see(&raw, &event, None);
            let Event::TransactionPayload(payload) = &event else { continue };
            let (mut inner, mut unpacker) = (EventReader::of_payload(), payload.unpacker());
            while let Some(piece) = unpacker.next_piece()? {
                inner.feed(piece);
                while let Some(raw_inner) = inner.next_event()? {
                    see(&raw_inner, &decoder.decode(&raw_inner)?, Some(raw.end_position()));
                }
            }
            inner.end()?;
        }
    }
    reader.end()
}

/// As the client writes a field.
fn escaped(text: &[u8]) -> String {
    String::from_utf8_lossy(text).replace('\\', "\\\\").replace('\n', "\\n").replace('\t', "\\t")
}

#[test]
fn events_are_described_as_by_their_server() {
    for recording in RECORDINGS {
        let dialect = if recording.name.starts_with("mysql") { Dialect::MySql } else { Dialect::MariaDb };
        for piece in [1, 100, usize::MAX] {
            let mut lines = Vec::new();
            read(recording.log, piece, &mut |raw, event, outer| {
                let (at, end) = (outer.unwrap_or(raw.position), outer.unwrap_or(u64::from(raw.header.end_position)));
                let name = event_name(raw.header.event_type).unwrap();
                let info = escaped(&info(event, &raw.header, dialect));
                lines.push(format!("{at}\t{name}\t{}\t{end}\t{info}", raw.header.server_id));
            })
            .unwrap();
            let expected: Vec<&str> = recording.events.lines().collect();
            for (line, expected) in lines.iter().zip(&expected) {
                assert_eq!(line, expected, "{}", recording.name);
            }
            assert_eq!(lines.len(), expected.len(), "{}", recording.name);
        }
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02X}")).collect()
}

/// As the recording's SELECT shows a column.
fn shown(column: &Column, value: &Value) -> String {
    let mut out = Vec::new();
    let fsp = column.meta as u8;
    match value {
        Value::Null => out.extend_from_slice(b"NULL"),
        Value::Int(n) => out.extend(n.to_string().bytes()),
        Value::UInt(n) if column.column_type == ty::YEAR => write_year(&mut out, *n),
        Value::UInt(n) => out.extend(n.to_string().bytes()),
        Value::Float(n) => write_double(&mut out, *n),
        Value::Decimal(n) => out.extend(n.to_string().bytes()),
        Value::Bytes(bytes) => out.extend(hex(bytes).bytes()),
        Value::Date(date) => date.write_text(&mut out),
        Value::DateTime(datetime) => datetime.write_text(&mut out, fsp),
        Value::Time(time) => time.write_text(&mut out, fsp),
        Value::Json(json) => {
            let mut text = Vec::new();
            json.write_text(&mut text);
            out.extend(hex(&text).bytes());
        }
    }
    let text = String::from_utf8(out).unwrap();
    if text.len() > 1000 { format!("sha1:{}", hex(&Sha1::digest(text)).to_lowercase()) } else { text }
}

/// What the row has of the columns that it has; changes of a document are done to the one before.
fn shown_row(table: &TableMap, row: &Row, before: Option<&Row>) -> Vec<Option<String>> {
    let shown = |(i, cell): (usize, &Option<Cell>)| match cell {
        None => None,
        Some(Cell::Value(value)) => Some(shown(&table.columns[i], value)),
        Some(Cell::JsonDiffs(diffs)) => {
            let Some(Some(Cell::Value(Value::Json(document)))) = before.map(|row| &row[i]) else { panic!() };
            let mut document = document.clone();
            diffs.iter().for_each(|diff| diff.apply(&mut document).unwrap());
            Some(shown(&table.columns[i], &Value::Json(document)))
        }
    };
    row.iter().enumerate().map(shown).collect()
}

#[test]
fn rows_are_those_of_their_server() {
    for recording in RECORDINGS.iter().filter(|recording| !recording.rows.is_empty()) {
        let mut found = Vec::new();
        read(recording.log, usize::MAX, &mut |_, event, _| {
            let Event::Rows(rows) = event else { return };
            for change in rows.changes() {
                let change = change.unwrap();
                let kinds = if rows.kind == RowsKind::Update { ["U", "V"] } else { ["D", "W"] };
                for (kind, row) in kinds.into_iter().zip([&change.before, &change.after]) {
                    let Some(row) = row else { continue };
                    let table = String::from_utf8(rows.table.table.to_vec()).unwrap();
                    found.push((kind, table, shown_row(&rows.table, row, change.before.as_ref())));
                }
            }
        })
        .unwrap();
        // A sequence of MariaDB is a table whose row no statement wrote.
        found.retain(|(_, table, _)| table != "s");
        let expected: Vec<Vec<&str>> = recording.rows.lines().map(|line| line.split('\t').collect()).collect();
        assert_eq!(found.len(), expected.len(), "{}", recording.name);
        for ((kind, table, columns), expected) in found.iter().zip(expected) {
            assert_eq!([kind, &table[..]], expected[..2], "{}", recording.name);
            let pairs = columns.iter().zip(&expected[2..]);
            for (i, (column, expected)) in pairs.enumerate().filter(|(_, (column, _))| column.is_some()) {
                assert_eq!(column.as_deref(), Some(*expected), "{}: {kind} {table}, column {}", recording.name, i + 1);
            }
            assert!(columns.len() + 2 == expected.len() || recording.name.contains("images"));
        }
    }
}

/// The data of an event again, or nothing if no source of ours sends it.
fn encoded(event: &Event<'_>, code: u8) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    match event {
        Event::FormatDescription(format) => format.encode(&mut out),
        Event::Rotate(rotate) => rotate.encode(&mut out),
        Event::PreviousGtids(set) => set.encode(&mut out),
        Event::Gtid(gtid) if code == event_type::GTID_TAGGED => gtid.encode_tagged(&mut out),
        Event::Gtid(gtid) => gtid.encode(&mut out),
        Event::Query(query) => {
            let mut status_vars = Vec::new();
            query.status_vars().for_each(|var| var.unwrap().encode(&mut status_vars));
            Query { status_vars: &status_vars, ..query.clone() }.encode(&mut out);
        }
        Event::Xid(xid) => query::encode_xid(&mut out, *xid),
        Event::RowsQuery(statement) => query::encode_rows_query(&mut out, statement),
        Event::TableMap(map) => map.encode(&mut out),
        Event::Rows(rows) if !rows.partial => {
            let [before, after] = rows.columns();
            let mut again = Rows::begin(rows.kind, Arc::clone(&rows.table), rows.flags, &before, &after);
            again.extra = rows.extra;
            rows.changes().for_each(|change| again.push(&change.unwrap()).unwrap());
            again.encode(&mut out);
        }
        _ => return None,
    }
    Some(out)
}

/// The bits behind the last column of a bitmap, which MySQL sets or not.
fn without_padding(rows: &Rows<'_>, data: &[u8]) -> Vec<u8> {
    let mut data = data.to_vec();
    let columns = rows.table.columns.len();
    let at = 6 + 2 + 2 + rows.extra.len() + 1 + columns / 8;
    for bitmap in 0..if rows.kind == RowsKind::Update { 2 } else { 1 } {
        if !columns.is_multiple_of(8) {
            data[at + bitmap * columns.div_ceil(8)] &= (1 << (columns % 8)) - 1;
        }
    }
    data
}

#[test]
fn events_are_encoded_as_mysql_does() {
    for recording in RECORDINGS.iter().filter(|recording| recording.name.starts_with("mysql")) {
        let mut count = 0;
        read(recording.log, usize::MAX, &mut |raw, event, _| {
            let Some(mut data) = encoded(event, raw.header.event_type) else { return };
            let name = event_name(raw.header.event_type).unwrap();
            if let Event::FormatDescription(_) = event {
                data.extend_from_slice(raw.bytes.last_chunk::<4>().unwrap());
                assert_eq!(data, raw.data_with_checksum(), "{}", recording.name);
            } else if let Event::Rows(rows) = event {
                let expected = without_padding(rows, raw.data());
                assert_eq!(data, expected, "{}: {name} at {}", recording.name, raw.position);
            } else {
                assert_eq!(data, raw.data(), "{}: {name} at {}", recording.name, raw.position);
            }
            let mut header = Vec::new();
            raw.header.encode(&mut header);
            assert_eq!(header, raw.bytes[..header.len()]);
            count += 1;
        })
        .unwrap();
        assert!(count > 3);
    }
}

/// Every event that is damaged by a bit is noticed where there are checksums, and nothing panics where there are none.
#[test]
fn damage_is_noticed() {
    for recording in RECORDINGS {
        let checked = !["mysql-unchecked", "mariadb-bare"].contains(&recording.name);
        let step = recording.log.len() / 500 + 1;
        for at in (4..recording.log.len()).step_by(step) {
            let mut log = recording.log.to_vec();
            log[at] ^= 1 << (at % 8);
            let outcome = read(&log, usize::MAX, &mut |_, event, _| {
                if let Event::Rows(rows) = event {
                    rows.changes().for_each(drop);
                }
            });
            // The format description itself says whether there are checksums.
            assert!(outcome.is_err() || !checked || at < 256, "{}: byte {at}", recording.name);
            let cut = read(&recording.log[..at], usize::MAX, &mut |_, _, _| ());
            assert!(cut.is_ok() || matches!(cut, Err(BinlogError::Truncated | BinlogError::NoBinaryLog)));
        }
    }
}
