//! Temporary tables: whose they are, and that nothing of them stays.

mod common;

use std::sync::Arc;
use std::time::{Duration, Instant};

use common::{Server, context, index_def, interrupt, open, server, table_def};
use vaquita_storage::{
    Buffers, Direction, Isolation, KeyRange, LockPolicy, Reads, RowChange, ScanOptions, SessionCatalog, Table, Transaction,
    TxnOptions, Version, Written, check_table,
};
use vaquita_types::Value;
use vaquita_types::charset::CollationId;
use vaquita_types::schema::TableDef;

const POLICY: LockPolicy = LockPolicy::Wait(Duration::from_secs(5));
/// Far more than the second for which dropped tables are collected.
const RECLAIMED_WITHIN: Duration = Duration::from_secs(20);

fn begin(server: &Server, read_only: bool) -> Transaction {
    server.engine.begin(TxnOptions {
        isolation: Isolation::RepeatableRead,
        autocommit: false,
        read_only,
        snapshot_isolation: true,
        interrupt: interrupt(),
    })
}

fn with_database() -> Server {
    let server = server();
    server.catalog.create_database("db", CollationId::default(), &context()).expect("database");
    server
}

fn definition(name: &str) -> TableDef {
    table_def(name, "a int, b varchar(20)", &["primary a", "key b: b"])
}

fn insert(table: &Table, txn: &mut Transaction, from: i64, to: i64) {
    for n in from..to {
        let row = [Value::Int(n), Value::from(format!("row {n}"))];
        let written = table.insert(txn, &row, POLICY, &mut Buffers::default()).expect("insert");
        assert_eq!(written, Written::Done);
    }
}

fn fill(server: &Server, table: &Table, rows: i64) {
    let mut txn = begin(server, false);
    txn.begin_statement(Reads::One);
    insert(table, &mut txn, 0, rows);
    txn.end_statement();
    txn.commit_wait().expect("commit");
}

/// Keys and counters under ids of temporary tables.
fn left_over(server: &Server) -> usize {
    let txn = begin(server, false);
    let options = ScanOptions { version: Version::Latest, ..ScanOptions::default() };
    let count = |range, wanted: fn(&[u8]) -> bool| {
        let mut cursor = txn.scan(range, Direction::Forward, options).expect("scan");
        let mut found = 0;
        while let Some((key, _)) = cursor.next(&txn).expect("next") {
            found += usize::from(wanted(key));
        }
        found
    };
    // Counters are data of index 0: kind, table id.
    count(KeyRange { lower: vec![0x80], upper: vec![0xff; 5] }, |_| true)
        + count(KeyRange { lower: vec![0; 4], upper: vec![0, 0, 0, 1] }, |key| key.get(5).is_some_and(|byte| byte & 0x80 != 0))
}

fn wait_until_nothing_is_left(server: &Server) {
    let start = Instant::now();
    while left_over(server) > 0 {
        assert!(start.elapsed() < RECLAIMED_WITHIN, "{} keys are left", left_over(server));
        std::thread::sleep(Duration::from_millis(50));
    }
}

fn rows(server: &Server, table: &Table) -> u64 {
    begin(server, false).row_count(table.def.id).expect("count")
}

fn sound(server: &Server, table: &Table) {
    let report = check_table(&server.engine, table, &mut begin(server, false), false, &interrupt()).expect("check");
    assert_eq!(report.findings, Vec::<String>::new());
}

#[test]
fn a_temporary_table_is_of_its_session_and_hides_a_permanent_one() {
    let server = with_database();
    let permanent = server.catalog.create_table(definition("t"), &context()).expect("table");
    let (one, other) = (SessionCatalog::new(server.catalog.clone()), SessionCatalog::new(server.catalog.clone()));
    let version = (one.version(), other.version());
    let temporary = one.create_temporary(definition("t")).expect("temporary");
    assert!(one.version() > version.0 && other.version() == version.1);
    let found = |session: &SessionCatalog| session.table("db", "t").expect("table").expect("a table").def.id;
    assert_eq!((found(&one), found(&other)), (temporary.def.id, permanent.def.id));
    assert_eq!(one.create_temporary(definition("t")).err().map(|e| e.code()), Some(1050));
    assert_eq!(server.catalog.tables("db").expect("tables"), ["t"]);
    fill(&server, &temporary, 10);
    assert_eq!((rows(&server, &temporary), rows(&server, &permanent)), (10, 0));
    sound(&server, &temporary);
    assert!(one.drop_temporary(("db", "t")) && !one.drop_temporary(("db", "t")));
    assert_eq!(found(&one), permanent.def.id);
}

#[test]
fn nothing_is_left_of_what_was_dropped_truncated_altered_or_forgotten() {
    let server = with_database();
    let session = SessionCatalog::new(server.catalog.clone());
    for name in ["dropped", "truncated", "altered", "forgotten"] {
        fill(&server, &session.create_temporary(definition(name)).expect("temporary"), 100);
    }
    session.drop_temporary(("db", "dropped"));
    let table = |name: &str| session.table("db", name).expect("table").expect("a table");
    let empty = session.truncate_temporary(&table("truncated")).expect("truncate");
    assert_eq!(rows(&server, &empty), 0);
    let mut wider = (*table("altered").def).clone();
    wider.indexes.push(index_def(&wider, 0, "unique u: b, a"));
    let (altered, _) = session.alter_temporary(&table("altered"), wider, RowChange::Keep, &context()).expect("alter");
    sound(&server, &altered);
    let mut negate = |mut row: Vec<Value>| {
        if let Value::Int(n) = &mut row[0] {
            *n = -*n;
        }
        Ok(row)
    };
    let same = (*altered.def).clone();
    let (copied, moved) = session.alter_temporary(&altered, same, RowChange::Map(&mut negate, None), &context()).expect("alter");
    assert_eq!((moved, rows(&server, &copied)), (100, 100));
    sound(&server, &copied);
    // Rows that a transaction still holds when the table is dropped.
    let late = session.create_temporary(definition("late")).expect("temporary");
    let mut txn = begin(&server, false);
    insert(&late, &mut txn, 0, 5);
    session.drop_temporary(("db", "late"));
    txn.commit_wait().expect("commit");
    drop(session);
    wait_until_nothing_is_left(&server);
}

#[test]
fn a_failed_alter_leaves_the_table_as_it_was() {
    let server = with_database();
    let session = SessionCatalog::new(server.catalog.clone());
    let table = session.create_temporary(table_def("t", "a int, b int", &["primary a"])).expect("temporary");
    let mut txn = begin(&server, false);
    for n in 0..3 {
        let row = [Value::Int(n), Value::Int(7)];
        assert_eq!(table.insert(&mut txn, &row, POLICY, &mut Buffers::default()).expect("insert"), Written::Done);
    }
    txn.commit_wait().expect("commit");
    let mut unique = (*table.def).clone();
    unique.indexes.push(index_def(&unique, 0, "unique u: b"));
    let error = session.alter_temporary(&table, unique, RowChange::Keep, &context()).expect_err("a duplicate");
    assert_eq!(error.code(), 1062);
    let now = session.table("db", "t").expect("table").expect("a table");
    assert!(Arc::ptr_eq(&now, &table));
    sound(&server, &table);
    drop(session);
    wait_until_nothing_is_left(&server);
}

#[test]
fn a_read_only_transaction_writes_temporary_tables_alone() {
    let server = with_database();
    let session = SessionCatalog::new(server.catalog.clone());
    let temporary = session.create_temporary(definition("t")).expect("temporary");
    let permanent = server.catalog.create_table(definition("p"), &context()).expect("table");
    let mut txn = begin(&server, true);
    insert(&temporary, &mut txn, 0, 3);
    let refused = permanent.insert(&mut txn, &[Value::Int(1), Value::from("one")], POLICY, &mut Buffers::default());
    assert_eq!(refused.err().map(|e| e.code()), Some(1792));
    txn.commit_wait().expect("commit");
    assert_eq!(rows(&server, &temporary), 3);
}

fn session_transaction(server: &Server) -> Transaction {
    let mut txn = begin(server, false);
    txn.carry_temporary();
    txn
}

#[test]
fn a_session_carries_little_in_memory() {
    let server = with_database();
    let session = SessionCatalog::new(server.catalog.clone());
    let temporary = session.create_temporary(definition("t")).expect("temporary");
    let permanent = server.catalog.create_table(definition("p"), &context()).expect("table");
    let mut txn = session_transaction(&server);
    let rows_seen = |txn: &Transaction| txn.row_count(temporary.def.id).expect("count");
    insert(&temporary, &mut txn, 0, 10);
    txn.commit_wait().expect("commit");
    assert_eq!((rows_seen(&txn), left_over(&server)), (10, 0));
    // A rollback takes only what came after, a deletion of what was carried too.
    insert(&temporary, &mut txn, 10, 12);
    let mut row = Vec::new();
    temporary.codec.clustered().encode_value(&Value::Int(3), &mut row).expect("key");
    let deleted = temporary.delete(&mut txn, &row, &[Value::Int(3), Value::from("row 3")], POLICY, &mut Buffers::default());
    assert!(deleted.expect("delete"));
    assert_eq!(rows_seen(&txn), 11);
    txn.rollback();
    assert_eq!(rows_seen(&txn), 10);
    // A commit of both stores what lasts.
    insert(&temporary, &mut txn, 10, 12);
    insert(&permanent, &mut txn, 0, 5);
    txn.commit_wait().expect("commit");
    assert_eq!((rows_seen(&txn), rows(&server, &permanent), left_over(&server)), (12, 5, 0));
    assert!(txn.exists(&row, Version::Latest).expect("exists"));
    // Others read it when it is stored.
    txn.store_carried().expect("store");
    assert_eq!((rows_seen(&txn), rows(&server, &temporary)), (12, 12));
    sound(&server, &temporary);
    session.drop_temporary(("db", "t"));
    session.release_dropped(&mut txn);
    wait_until_nothing_is_left(&server);
}

#[test]
fn a_session_stores_what_is_much() {
    let server = with_database();
    let session = SessionCatalog::new(server.catalog.clone());
    let table = session.create_temporary(table_def("t", "a int, b longtext", &["primary a"])).expect("temporary");
    let small = session.create_temporary(definition("small")).expect("temporary");
    let mut txn = session_transaction(&server);
    let long = Value::from("x".repeat(1 << 20));
    for n in 0..18 {
        let row = [Value::Int(n), long.clone()];
        assert_eq!(table.insert(&mut txn, &row, POLICY, &mut Buffers::default()).expect("insert"), Written::Done);
        txn.commit_wait().expect("commit");
        assert_eq!(txn.row_count(table.def.id).expect("count"), n as u64 + 1);
    }
    let stored = rows(&server, &table);
    assert!((10..18).contains(&stored), "{stored} rows are stored");
    insert(&small, &mut txn, 0, 3);
    txn.commit_wait().expect("commit");
    session.drop_temporary(("db", "t"));
    session.release_dropped(&mut txn);
    assert_eq!(txn.row_count(small.def.id).expect("count"), 3);
    session.drop_temporary(("db", "small"));
    session.release_dropped(&mut txn);
    wait_until_nothing_is_left(&server);
}

/// A commit of both is in the log, so that a start finds the temporary rows again.
#[test]
fn a_start_finds_nothing_of_temporary_tables() {
    let server = with_database();
    let permanent = server.catalog.create_table(definition("p"), &context()).expect("table");
    let session = SessionCatalog::new(server.catalog.clone());
    let temporary = session.create_temporary(definition("t")).expect("temporary");
    let mut txn = begin(&server, false);
    insert(&permanent, &mut txn, 0, 10);
    insert(&temporary, &mut txn, 0, 10);
    txn.commit_wait().expect("commit");
    fill(&server, &session.create_temporary(definition("u")).expect("temporary"), 10);
    assert!(left_over(&server) > 40);
    // As a crash: nobody deletes anything any more.
    let Server { catalog, engine, dir, .. } = server;
    catalog.close();
    drop((session, catalog, engine, permanent, temporary, txn));
    let server = open(dir);
    assert_eq!(left_over(&server), 0);
    let permanent = server.catalog.table("db", "p").expect("table").expect("a table");
    assert_eq!(rows(&server, &permanent), 10);
    // The first ids are given out again.
    let session = SessionCatalog::new(server.catalog.clone());
    let again = session.create_temporary(definition("t")).expect("temporary");
    assert_eq!(rows(&server, &again), 0);
    fill(&server, &again, 4);
    sound(&server, &again);
}
