//! What was told comes back: events are made of transactions and decoded again.

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;

use proptest::prelude::*;
use vaquita_exec::context::{RowChange, RowImage, RowLogSettings};
use vaquita_storage::{LogBuffer, LogObject};
use vaquita_types::charset::CollationId;
use vaquita_types::schema::{
    ColumnDef, ColumnDefault, ColumnId, IndexDef, IndexId, IndexKind, IndexPart, TableDef, TableId, TableOptions,
};
use vaquita_types::{ColumnType, Error, Result, TypeKind, Value};
use vaquita_wire::binlog::rows::rows_flags;
use vaquita_wire::binlog::{Cell, Decoder, Event, EventReader, Row, RowsKind, event_type, header};

use super::entries::{Control, Facts, Ready, kind, ready};
use super::render::{Extents, prepare_within};
use super::rows::{LoggedTable, put_statement};

fn column(id: u16, name: &str, ty: ColumnType, nullable: bool) -> ColumnDef {
    ColumnDef {
        id: ColumnId(id),
        name: name.into(),
        ty,
        nullable,
        default: if nullable { ColumnDefault::Value(Value::Null) } else { ColumnDefault::None },
        on_update_now: false,
        auto_increment: false,
        comment: String::new(),
        invisible: false,
        added_default: Value::Null,
        generated: None,
    }
}

/// `(a INT, b VARCHAR(20000) NULL, c BLOB NULL, d BIGINT UNSIGNED)`, with `d` as its key or without one.
fn table(name: &str, with_key: bool) -> TableDef {
    let varchar = ColumnType::varchar(20_000, CollationId::default());
    let columns = vec![
        column(1, "a", ColumnType::new(TypeKind::Int), false),
        column(2, "b", varchar, true),
        column(3, "c", ColumnType::new(TypeKind::Blob), true),
        column(4, "d", ColumnType { unsigned: true, ..ColumnType::new(TypeKind::BigInt) }, false),
    ];
    let index = IndexDef {
        id: IndexId(1),
        name: "PRIMARY".into(),
        kind: IndexKind::Primary,
        parts: vec![IndexPart { column: ColumnId(4), prefix: None, descending: false }],
        comment: String::new(),
        invisible: false,
        using: None,
        generated: false,
        multi_valued: false,
        parser: Default::default(),
    };
    TableDef {
        id: TableId(1),
        database: "shop".into(),
        name: name.into(),
        schema_version: 1,
        columns,
        indexes: if with_key { vec![index] } else { Vec::new() },
        hidden_rowid: !with_key,
        layouts: Vec::new(),
        collation: CollationId::default(),
        options: TableOptions::default(),
        next_column_id: ColumnId(5),
        created_us: 0,
        foreign_keys: Vec::new(),
        referenced_by: Vec::new(),
        triggers: Vec::new(),
        partitioning: None,
    }
}

/// Extents in memory, each with the pieces and their places.
#[derive(Default)]
struct Memory(RefCell<Vec<Vec<(u64, Vec<u8>)>>>);

impl Extents for Memory {
    fn begin(&self) -> Result<u64> {
        self.0.borrow_mut().push(Vec::new());
        Ok(self.0.borrow().len() as u64 - 1)
    }

    fn add(&self, extent: u64, at: u64, events: &[u8]) -> Result<()> {
        self.0.borrow_mut()[extent as usize].push((at, events.to_vec()));
        Ok(())
    }
}

#[derive(Clone, Debug)]
struct Change {
    table: usize,
    before: Option<Vec<Value>>,
    after: Option<Vec<Value>>,
    cascades: bool,
}

#[derive(Clone, Debug)]
enum Told {
    Statement { image: RowImage, checks: bool, text: Option<String>, rows: Vec<Change> },
    Query(Vec<u8>),
}

fn push(buffer: &mut LogBuffer, kind: u8, object: Option<&LogObject>, write: impl FnOnce(&mut Vec<u8>)) {
    let pushed = buffer.push(kind, object, |out| {
        write(out);
        Ok::<_, Error>(())
    });
    pushed.unwrap();
}

fn tell(transactions: &[(Facts, Vec<Told>)], tables: &[LogObject]) -> LogBuffer {
    let mut buffer = LogBuffer::default();
    for (facts, told) in transactions {
        for told in told {
            match told {
                Told::Query(data) => push(&mut buffer, kind::QUERY, None, |out| out.extend_from_slice(data)),
                Told::Statement { image, checks, text, rows } => {
                    let settings = RowLogSettings {
                        image: *image,
                        full_metadata: true,
                        foreign_key_checks: *checks,
                        unique_checks: *checks,
                    };
                    let text = text.as_ref().map(|text| text.as_bytes());
                    push(&mut buffer, kind::STATEMENT, None, |out| put_statement(text, &settings, out));
                    for row in rows {
                        let kind = match (&row.before, &row.after) {
                            (None, _) => kind::WRITE,
                            (_, None) => kind::DELETE,
                            _ => kind::UPDATE,
                        };
                        let object = &tables[row.table];
                        let table = object.downcast_ref::<LoggedTable>().unwrap();
                        let change = RowChange {
                            before: row.before.as_deref(),
                            after: row.after.as_deref(),
                            left_out: &[1, 2],
                            cascades: row.cascades,
                        };
                        push(&mut buffer, kind, Some(object), |out| table.write(&change, *image, out).unwrap());
                    }
                }
            }
        }
        push(&mut buffer, kind::COMMIT, None, |out| facts.encode(out));
    }
    buffer
}

/// What an event has of a row.
fn seen(image: RowImage, has_key: bool, change: &Change, after: bool) -> Option<Row> {
    let row = if after { change.after.as_ref()? } else { change.before.as_ref()? };
    let before = change.before.as_ref();
    let cell = |(position, value): (usize, &Value)| {
        let is_blob = position == 2;
        let is_changed = before.is_none_or(|before| before[position] != *value);
        let is_told = match (image, after) {
            (RowImage::Full, _) => true,
            (RowImage::Minimal, false) => !has_key || position == 3,
            (RowImage::NoBlob, false) => !has_key || !is_blob,
            (RowImage::Minimal, true) if before.is_none() => !matches!(position, 1 | 2) || !value.is_null(),
            (RowImage::NoBlob, true) if before.is_none() => !is_blob || !value.is_null(),
            (RowImage::Minimal, true) => is_changed,
            (RowImage::NoBlob, true) => !is_blob || is_changed,
        };
        is_told.then(|| Cell::Value(value.clone()))
    };
    Some(row.iter().enumerate().map(cell).collect())
}

/// The events of a unit, wherever they are.
fn events_of(unit: &super::entries::Unit<'_>, extents: &Memory) -> Vec<u8> {
    let Some(extent) = unit.extent else { return unit.events.to_vec() };
    assert!(unit.events.is_empty());
    let mut all = Vec::new();
    for (at, piece) in &extents.0.borrow()[extent as usize] {
        assert_eq!(*at, all.len() as u64);
        all.extend_from_slice(piece);
    }
    all
}

fn split(events: &[u8]) -> Vec<&[u8]> {
    let (mut rest, mut found) = (events, Vec::new());
    while !rest.is_empty() {
        let len = u32::from_le_bytes(*rest[9..].first_chunk().unwrap()) as usize;
        let (event, after) = rest.split_at(len);
        found.push(event);
        rest = after;
    }
    found
}

fn check(transactions: &[(Facts, Vec<Told>)], row_event_bytes_max: usize, memory_bytes_max: usize) {
    let defs = [table("keyed", true), table("keyless", false), table("other", true)];
    let logged = defs.iter().zip(1..).map(|(def, id)| Arc::new(LoggedTable::new(id, def, true)) as LogObject);
    let tables: Vec<LogObject> = logged.collect();
    let told = tell(transactions, &tables);
    let extents = Memory::default();
    let log = prepare_within(&told, row_event_bytes_max, &extents, memory_bytes_max).unwrap();
    let units: Vec<_> = ready(&log).collect::<Result<_>>().unwrap();
    assert_eq!(units.len(), transactions.len());
    for (unit, (facts, told)) in units.iter().zip(transactions) {
        let Ready::Unit(unit) = unit else { panic!("{unit:?}") };
        let has_statements = facts.has_statements || told.iter().any(|told| matches!(told, Told::Query(_)));
        assert_eq!(unit.facts, Facts { has_statements, ..facts.clone() });
        let bytes = events_of(unit, &extents);
        assert_eq!(unit.bytes, bytes.len() as u64);
        let events = split(&bytes);
        assert_eq!(unit.count, events.len() as u64);
        check_events(&events, facts, told, row_event_bytes_max);
    }
}

fn check_events(events: &[&[u8]], facts: &Facts, told: &[Told], row_event_bytes_max: usize) {
    let mut decoder = Decoder::default();
    let mut numbers: HashMap<u64, String> = HashMap::new();
    let (mut found, mut queries, mut texts) = (Vec::new(), Vec::new(), Vec::new());
    let mut group_is_open = false;
    for (n, event) in events.iter().enumerate() {
        let mut reader = EventReader::of_payload();
        reader.feed(event);
        let raw = reader.next_event().unwrap().unwrap();
        assert_eq!((raw.header.timestamp, raw.header.server_id, raw.header.end_position), (facts.timestamp, facts.server_id, 0));
        match decoder.decode(&raw).unwrap() {
            Event::TableMap(map) => {
                let name = String::from_utf8(map.table.to_vec()).unwrap();
                assert_eq!(numbers.entry(map.id).or_insert_with(|| name.clone()), &name);
            }
            Event::Rows(rows) => {
                group_is_open = rows.flags & rows_flags::STATEMENT_END == 0;
                let changes: Vec<_> = rows.changes().collect::<vaquita_wire::binlog::Result<_>>().unwrap();
                let last = changes.len();
                assert!(last == 1 || event.len() - header::HEADER_BYTES <= row_event_bytes_max);
                let name = String::from_utf8(rows.table.table.to_vec()).unwrap();
                let flags = rows.flags & !rows_flags::STATEMENT_END;
                found.extend(changes.into_iter().map(|change| (name.clone(), rows.kind, flags, change.before, change.after)));
            }
            Event::Query(query) => queries.push(query.statement.to_vec()),
            Event::RowsQuery(text) => texts.push(String::from_utf8(text.to_vec()).unwrap()),
            Event::Xid(_) => assert_eq!((n + 1, facts.begin.is_empty()), (events.len(), false)),
            event => panic!("{event:?}"),
        }
        let is_of_rows = matches!(raw.header.event_type, event_type::WRITE_ROWS..=event_type::DELETE_ROWS);
        assert!(is_of_rows || !group_is_open, "rows without an end");
    }
    assert!(!group_is_open);
    let mut expected = Vec::new();
    for told in told {
        let Told::Statement { image, checks, rows, .. } = told else { continue };
        for change in rows {
            let name = ["keyed", "keyless", "other"][change.table];
            let kind = match (&change.before, &change.after) {
                (None, _) => RowsKind::Write,
                (_, None) => RowsKind::Delete,
                _ => RowsKind::Update,
            };
            let mut flags = rows_flags::CASCADES_FOLLOW;
            if !checks {
                flags |= rows_flags::NO_FOREIGN_KEY_CHECKS | rows_flags::RELAXED_UNIQUE_CHECKS;
            }
            if change.cascades {
                flags |= rows_flags::NO_FOREIGN_KEY_CHECKS;
            }
            let has_key = change.table != 1;
            let [before, after] = [false, true].map(|after| seen(*image, has_key, change, after));
            expected.push((name.to_string(), kind, flags, before, after));
        }
    }
    assert_eq!(found, expected);
    let told_texts = told.iter().filter_map(|told| match told {
        Told::Statement { text: Some(text), rows, .. } if !rows.is_empty() => Some(text.clone()),
        _ => None,
    });
    assert_eq!(texts, told_texts.collect::<Vec<_>>());
    assert_eq!(queries.len(), told.iter().filter(|told| matches!(told, Told::Query(_))).count());
}

fn row() -> impl Strategy<Value = Vec<Value>> {
    let bytes = |max| prop_oneof![Just(Value::Null), proptest::collection::vec(any::<u8>(), 0..max).prop_map(Value::from)];
    let text = prop_oneof![Just(Value::Null), "[a-zé]{0,20}".prop_map(|text| Value::from(text.as_str()))];
    (any::<i32>(), text, bytes(300), any::<u64>()).prop_map(|(a, b, c, d)| vec![Value::Int(a.into()), b, c, Value::UInt(d)])
}

fn change() -> impl Strategy<Value = Change> {
    let rows = prop_oneof![
        row().prop_map(|after| (None, Some(after))),
        row().prop_map(|before| (Some(before), None)),
        (row(), row(), any::<[bool; 4]>()).prop_map(|(before, mut after, kept)| {
            (0..4).filter(|n| kept[*n]).for_each(|n| after[n] = before[n].clone());
            // MySQL has no image without columns, and nobody tells a row that is as it was.
            after[0] = Value::Int(if before[0] == Value::Int(1) { 2 } else { 1 });
            (Some(before), Some(after))
        }),
    ];
    (0usize..3, rows, prop::bool::weighted(0.1)).prop_map(|(table, (before, after), cascades)| Change {
        table,
        before,
        after,
        cascades,
    })
}

fn told() -> impl Strategy<Value = Told> {
    let image = prop_oneof![Just(RowImage::Full), Just(RowImage::Minimal), Just(RowImage::NoBlob)];
    let statement = (image, any::<bool>(), proptest::option::of("[a-z]{1,9}"), proptest::collection::vec(change(), 0..12))
        .prop_map(|(image, checks, text, rows)| Told::Statement { image, checks, text, rows });
    prop_oneof![9 => statement, 1 => Just(Told::Query(query(b"SAVEPOINT a")))]
}

fn query(statement: &[u8]) -> Vec<u8> {
    let mut data = Vec::new();
    let query = vaquita_wire::binlog::Query {
        connection: 1,
        seconds: 0,
        error: 0,
        status_vars: &[],
        database: b"shop",
        statement: statement.into(),
    };
    query.encode(&mut data);
    data
}

fn facts() -> impl Strategy<Value = Facts> {
    (any::<u32>(), any::<u32>(), any::<bool>()).prop_map(|(timestamp, server_id, begins)| Facts {
        timestamp,
        server_id,
        begin: if begins { query(b"BEGIN") } else { Vec::new() },
        ..Facts::default()
    })
}

proptest! {
    #[test]
    fn transactions_come_back(
        transactions in proptest::collection::vec((facts(), proptest::collection::vec(told(), 0..5)), 0..4),
        row_event_bytes_max in 1usize..2000,
        memory_bytes_max in 1usize..5000,
    ) {
        check(&transactions, row_event_bytes_max, memory_bytes_max);
    }
}

const ROW_EVENT_BYTES_MAX: usize = 8192;

fn codes(told: &LogBuffer) -> Vec<(u8, u16)> {
    let log = prepare_within(told, ROW_EVENT_BYTES_MAX, &Memory::default(), usize::MAX).unwrap();
    let mut codes = Vec::new();
    for unit in ready(&log) {
        let Ready::Unit(unit) = unit.unwrap() else { continue };
        codes.extend(split(unit.events).iter().map(|event| {
            let has_rows = matches!(event[4], event_type::WRITE_ROWS..=event_type::DELETE_ROWS);
            (event[4], if has_rows { u16::from_le_bytes([event[25], event[26]]) } else { 0 })
        }));
    }
    codes
}

#[test]
fn a_statement_has_no_more_groups_than_tables() {
    let write = |table: usize| Change {
        table,
        before: None,
        after: Some(vec![Value::Int(1), Value::Null, Value::Null, Value::UInt(2)]),
        cascades: false,
    };
    let rows = [0, 0, 1, 0, 1, 0].map(write).to_vec();
    let statement = Told::Statement { image: RowImage::Full, checks: true, text: None, rows };
    let logged = |id: u64| Arc::new(LoggedTable::new(id, &table("t", true), false)) as LogObject;
    let tables = [logged(1), logged(2)];
    let told = tell(&[(Facts { begin: vec![0], ..Facts::default() }, vec![statement])], &tables);
    use event_type::{TABLE_MAP, WRITE_ROWS, XID};
    let (goes_on, ends) = ((WRITE_ROWS, 16), (WRITE_ROWS, 17));
    let map = (TABLE_MAP, 0);
    assert_eq!(codes(&told), [map, ends, map, map, goes_on, goes_on, goes_on, ends, (XID, 0)]);
}

#[test]
fn ddl_is_a_query_and_a_branch_ends_with_its_prepare() {
    let mut told = LogBuffer::default();
    push(&mut told, kind::QUERY, None, |out| out.extend_from_slice(b"DDL"));
    push(&mut told, kind::COMMIT, None, |out| Facts::default().encode(out));
    push(&mut told, kind::QUERY, None, |out| out.extend_from_slice(b"XA END"));
    push(&mut told, kind::XA_PREPARE, None, |out| out.extend_from_slice(b"branch"));
    push(&mut told, kind::COMMIT, None, |out| Facts { begin: vec![0], ..Facts::default() }.encode(out));
    push(&mut told, kind::CONTROL, None, |out| Control::Rotate.encode(out));
    use event_type::{QUERY, XA_PREPARE};
    assert_eq!(codes(&told), [(QUERY, 0), (QUERY, 0), (XA_PREPARE, 0)]);
    // One that does not end is an error, not a transaction less.
    push(&mut told, kind::QUERY, None, |out| out.extend_from_slice(b"DDL"));
    assert!(prepare_within(&told, ROW_EVENT_BYTES_MAX, &Memory::default(), usize::MAX).is_err());
}
