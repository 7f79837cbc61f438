//! Tables on a real engine: rows with their index entries, DDL, ALTER, CHECK and ANALYZE, and what a
//! restart finds.

mod common;

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;
use std::time::Duration;

use common::{Server, column_def, context, index_def, interrupt, open, open_with, server, table_def};
use proptest::prelude::*;
use vaquita_storage::{
    AloneMap, AlterContext, Buffers, CheckReport, Direction, EngineOptions, Entry, Isolation, LockMode, LockPolicy, NewRows,
    Reads, RowChange, ScanOptions, Table, Transaction, TxnOptions, Version, Written, check_table,
};
use vaquita_types::charset::CollationId;
use vaquita_types::schema::{ColumnId, IndexId, TableDef};
use vaquita_types::{Error, Result, Value};

const POLICY: LockPolicy = LockPolicy::Wait(Duration::from_secs(5));

impl Server {
    fn begin(&self) -> Transaction {
        self.engine.begin(TxnOptions {
            isolation: Isolation::RepeatableRead,
            autocommit: false,
            read_only: false,
            snapshot_isolation: true,
            interrupt: interrupt(),
        })
    }

    fn table(&self, name: &str) -> Arc<Table> {
        self.catalog.table("db", name).expect("catalog").expect("table")
    }

    /// A database `db` with table `t`.
    fn with_table(columns: &str, indexes: &[&str]) -> Server {
        server().and_table(columns, indexes)
    }

    fn and_table(self, columns: &str, indexes: &[&str]) -> Server {
        let server = self;
        server.catalog.create_database("db", CollationId::default(), &context()).expect("database");
        server.catalog.create_table(table_def("t", columns, indexes), &context()).expect("table");
        server
    }

    fn insert(&self, name: &str, rows: &[&[Value]]) -> Result<()> {
        let table = self.table(name);
        let mut txn = self.begin();
        txn.begin_statement(Reads::One);
        for row in rows {
            match table.insert(&mut txn, row, POLICY, &mut Buffers::default())? {
                Written::Done => {}
                Written::Duplicate(d) => return Err(table.duplicate_error(&d, row)),
                Written::Skipped => panic!("skipped"),
            }
        }
        txn.end_statement();
        txn.commit_wait()
    }

    /// All rows, in key order.
    fn rows(&self, name: &str) -> Vec<Vec<Value>> {
        let table = self.table(name);
        let txn = self.begin();
        let mut cursor = txn.scan(table.codec.clustered().all(), Direction::Forward, ScanOptions::default()).expect("scan");
        let mut rows = Vec::new();
        while let Some((key, value)) = cursor.next(&txn).expect("row") {
            rows.push(table.codec.decode_row(key, value).expect("row"));
        }
        rows
    }

    fn check(&self, name: &str) -> CheckReport {
        check_table(&self.engine, &self.table(name), &mut self.begin(), true, &interrupt()).expect("check")
    }

    fn assert_sound(&self, name: &str, rows: u64) {
        assert_eq!(self.check(name), CheckReport { rows, findings: vec![] });
    }

    fn restart(self) -> Server {
        let Server { catalog, engine, dir, .. } = self;
        catalog.close();
        drop(catalog);
        engine.shutdown().expect("shutdown");
        drop(engine);
        open(dir)
    }
}

fn int(n: i64) -> Value {
    Value::Int(n)
}

fn text(s: &str) -> Value {
    Value::from(s)
}

fn code(result: Result<impl Sized>) -> (u16, String) {
    match result {
        Ok(_) => (0, String::new()),
        Err(e) => (e.code(), e.message().to_string()),
    }
}

/// Rows of `id int, k int` with these ids, encoded.
fn new_rows(table: &Table, ids: impl Iterator<Item = i64>) -> NewRows {
    let mut new = NewRows::default();
    for id in ids {
        assert!(table.add_new(&[int(id), int(id % 7)], &mut new).expect("encode"));
        assert!(!table.add_new(&[int(id), int(0)], &mut new).expect("encode"), "keys ascend");
    }
    new
}

#[test]
fn rows_that_are_inserted_together() {
    let s = Server::with_table("id int, k int null", &["primary id", "key k: k"]);
    let t = s.table("t");
    assert!(t.takes_rows_together());
    s.insert("t", &[&[int(500), int(0)]]).expect("insert");
    let mut txn = s.begin();
    txn.begin_statement(Reads::Many);
    // One of them is there: nothing is written.
    assert!(!t.insert_rows(&mut txn, &new_rows(&t, 401..601), POLICY).expect("insert"));
    assert!(txn.is_read_only());
    assert!(t.insert_rows(&mut txn, &new_rows(&t, 1..300), POLICY).expect("insert"));
    txn.end_statement();
    txn.begin_statement(Reads::Many);
    assert!(t.insert_rows(&mut txn, &new_rows(&t, 300..400), POLICY).expect("insert"));
    // Rows of its own are in the way, or behind: they go one by one.
    assert!(!t.insert_rows(&mut txn, &new_rows(&t, 399..402), POLICY).expect("insert"));
    assert!(!t.insert_rows(&mut txn, &new_rows(&t, -5..0), POLICY).expect("insert"));
    txn.rollback_statement();
    assert_eq!(t.row_count(&txn).expect("count"), 300);
    // With gaps: locked one by one.
    assert!(t.insert_rows(&mut txn, &new_rows(&t, (700..900).step_by(2)), POLICY).expect("insert"));
    let mut other = s.begin();
    other.begin_statement(Reads::Many);
    for taken in [(1..2), (299..300), (398..399), (700..701), (898..899)] {
        let error = t.insert_rows(&mut other, &new_rows(&t, taken), LockPolicy::NoWait).expect_err("locked");
        assert_eq!(error.code(), 3572);
    }
    for free in [(601..700), (701..702), (899..1000)] {
        assert!(t.insert_rows(&mut other, &new_rows(&t, free), LockPolicy::NoWait).expect("insert"));
    }
    // Who has taken one of them, or has read the range, has it.
    let error = t.insert_rows(&mut txn, &new_rows(&t, 990..1010), LockPolicy::NoWait).expect_err("locked");
    assert_eq!(error.code(), 3572);
    let range = t.codec.clustered().range(&[], Bound::Included(&int(2000)), Bound::Unbounded).expect("range");
    other.lock_range(&range, POLICY).expect("lock");
    let error = t.insert_rows(&mut txn, &new_rows(&t, 1990..2100), LockPolicy::NoWait).expect_err("locked");
    assert_eq!(error.code(), 3572);
    other.commit_wait().expect("commit");
    txn.commit_wait().expect("commit");
    s.assert_sound("t", 1 + 299 + 100 + 99 + 1 + 101);
    // A row that our snapshot shows has gone since.
    let mut txn = s.begin();
    txn.begin_statement(Reads::Many);
    txn.take_snapshot();
    let mut other = s.begin();
    other.begin_statement(Reads::Many);
    let old = [int(500), int(0)];
    let mut key = Vec::new();
    t.codec.clustered().encode_clustered(&old, 0, &mut key).expect("key");
    other.lock_row(&key, LockMode::X, POLICY).expect("lock");
    assert!(t.delete(&mut other, &key, &old, POLICY, &mut Buffers::default()).expect("delete"));
    other.commit_wait().expect("commit");
    txn.begin_statement(Reads::Many);
    assert_eq!(t.insert_rows(&mut txn, &new_rows(&t, 480..520), POLICY).expect_err("conflict").code(), 1213);
}

#[test]
fn rows_and_entries() {
    let s = Server::with_table("id int, u varchar(10) null, k int null", &["primary id", "unique u: u", "key k: k"]);
    s.insert("t", &[&[int(1), text("a"), int(10)], &[int(2), Value::Null, int(10)], &[int(3), Value::Null, Value::Null]])
        .unwrap();
    let taken = s.insert("t", &[&[int(4), text("b"), int(1)], &[int(2), text("c"), int(1)]]);
    assert_eq!(code(taken), (1062, "Duplicate entry '2' for key 't.PRIMARY'".into()));
    let taken = s.insert("t", &[&[int(4), text("A"), int(1)]]);
    assert_eq!(code(taken), (1062, "Duplicate entry 'A' for key 't.u'".into()));
    s.assert_sound("t", 3);

    let t = s.table("t");
    let mut b = Buffers::default();
    let mut txn = s.begin();
    txn.begin_statement(Reads::One);
    let mut key = Vec::new();
    t.codec.clustered().encode_value(&int(1), &mut key).unwrap();
    let old = [int(1), text("a"), int(10)];
    // The unique value in other letters, then a move to a key that is taken, then to one that is free.
    txn.lock_row(&key, LockMode::X, POLICY).unwrap();
    let new = [int(1), text("A"), int(11)];
    assert_eq!(t.update(&mut txn, &key, &old, &new, POLICY, &mut b).unwrap(), Written::Done);
    let moved = [int(2), text("A"), int(11)];
    let Written::Duplicate(duplicate) = t.update(&mut txn, &key, &new, &moved, POLICY, &mut b).unwrap() else {
        panic!("no duplicate")
    };
    assert_eq!(duplicate.index, 0);
    let moved = [int(9), text("A"), int(11)];
    assert_eq!(t.update(&mut txn, &key, &new, &moved, POLICY, &mut b).unwrap(), Written::Done);
    txn.end_statement();
    txn.commit_wait().unwrap();
    s.assert_sound("t", 3);
    assert_eq!(s.rows("t"), [vec![int(2), Value::Null, int(10)], vec![int(3), Value::Null, Value::Null], moved.to_vec()]);

    // By the unique key to the row.
    let index = &t.codec.indexes()[1];
    let (mut entry, mut value, mut clustered) = (Vec::new(), Vec::new(), Vec::new());
    index.encode_value(&text("a"), &mut entry).unwrap();
    let read = s.begin();
    assert!(read.get(&entry, Version::Latest, &mut value).unwrap());
    index.clustered_key(Entry { key: &entry, value: &value }, &mut clustered).unwrap();
    let mut row = Vec::new();
    let view = t.get(&read, &clustered, Version::Latest, &mut row).unwrap().expect("row");
    assert_eq!(view.value(0).unwrap(), int(9));

    txn.begin_statement(Reads::One);
    txn.lock_row(&clustered, LockMode::X, POLICY).unwrap();
    assert!(t.delete(&mut txn, &clustered, &moved, POLICY, &mut b).unwrap());
    txn.end_statement();
    txn.commit_wait().unwrap();
    // A transaction keeps its engine open.
    drop((read, txn));
    s.assert_sound("t", 2);
    s.insert("t", &[&[int(1), text("a"), int(10)]]).unwrap();
    let s = s.restart();
    s.assert_sound("t", 3);
    assert_eq!(s.rows("t").len(), 3);
}

#[test]
fn rows_without_primary_key() {
    let s = Server::with_table("a int null, b varchar(10) null", &["unique a: a", "key b: b"]);
    s.insert("t", &[&[Value::Null, text("x")], &[Value::Null, text("x")], &[int(1), text("x")]]).unwrap();
    assert_eq!(code(s.insert("t", &[&[int(1), text("y")]])), (1062, "Duplicate entry '1' for key 't.a'".into()));
    s.assert_sound("t", 3);
    let s = s.restart();
    s.insert("t", &[&[int(2), text("y")]]).unwrap();
    s.assert_sound("t", 4);
    assert_eq!(s.rows("t")[3], [int(2), text("y")]);
}

#[test]
fn databases_and_tables() {
    let s = Server::with_table("id int", &["primary id"]);
    let (c, ctx) = (&s.catalog, context());
    assert_eq!(code(c.create_database("db", CollationId::default(), &ctx)).0, 1007);
    assert_eq!(code(c.create_table(table_def("t", "id int", &[]), &ctx)), (1050, "Table 't' already exists".into()));
    let elsewhere = TableDef { database: "none".into(), ..table_def("t", "id int", &[]) };
    assert_eq!(code(c.create_table(elsewhere, &ctx)), (1049, "Unknown database 'none'".into()));
    assert_eq!(
        code(c.drop_tables(&[("db", "t"), ("db", "x"), ("db", "y")], &[], &ctx)),
        (1051, "Unknown table 'db.x,db.y'".into())
    );
    assert_eq!(code(c.drop_database("none", &ctx)).0, 1008);

    c.create_table(table_def("u", "id int", &[]), &ctx).unwrap();
    s.insert("t", &[&[int(1)]]).unwrap();
    s.insert("u", &[&[int(2)], &[int(3)]]).unwrap();
    c.create_database("other", CollationId::UTF8MB4_BIN, &ctx).unwrap();
    // Swap over a third name, and move to another database.
    c.rename_tables(&[(("db", "t"), ("db", "x")), (("db", "u"), ("db", "t")), (("db", "x"), ("other", "u"))], &ctx).unwrap();
    assert_eq!(c.tables("db").unwrap(), ["t"]);
    assert_eq!(c.tables("other").unwrap(), ["u"]);
    assert_eq!(s.rows("t"), [[int(2)], [int(3)]]);
    assert_eq!(code(c.rename_tables(&[(("db", "t"), ("db", "v")), (("db", "none"), ("db", "w"))], &ctx)).0, 1146);
    assert_eq!(code(c.rename_tables(&[(("db", "t"), ("other", "u"))], &ctx)).0, 1050);
    assert_eq!(c.tables("db").unwrap(), ["t"]);

    let s = s.restart();
    assert_eq!(s.rows("t"), [[int(2)], [int(3)]]);
    let moved = s.catalog.table("other", "u").unwrap().expect("table");
    assert_eq!((moved.def.database.as_str(), moved.def.name.as_str()), ("other", "u"));
    let before = s.table("t");
    s.catalog.truncate_table(("db", "t"), &context()).unwrap();
    assert!(before.is_stale());
    assert_eq!(s.rows("t").len(), 0);
    s.assert_sound("t", 0);
    assert_eq!(s.catalog.drop_database("db", &context()).unwrap(), 1);
    assert!(s.catalog.table("db", "t").unwrap().is_none());
    let s = s.restart();
    assert_eq!(s.catalog.databases().unwrap().iter().map(|d| d.name.clone()).collect::<Vec<_>>(), ["other"]);
    assert_eq!(s.catalog.database("other").unwrap().expect("other").collation, CollationId::UTF8MB4_BIN);
}

#[test]
fn dropped_data_is_reclaimed() {
    let s = Server::with_table("id int", &["primary id"]);
    s.insert("t", &[&[int(1)], &[int(2)]]).unwrap();
    let old = s.table("t");
    s.catalog.drop_tables(&[("db", "t")], &[], &context()).unwrap();
    s.catalog.reclaim().unwrap();
    let txn = s.begin();
    let mut cursor = txn.scan(old.codec.clustered().all(), Direction::Forward, ScanOptions::default()).unwrap();
    assert!(cursor.next(&txn).unwrap().is_none());
    s.catalog.create_table(table_def("t", "id int", &["primary id"]), &context()).unwrap();
    assert!(s.table("t").def.indexes[0].id > old.def.indexes[0].id);
    s.assert_sound("t", 0);
}

#[test]
fn alter_in_an_instant() {
    let s = Server::with_table("id int, a varchar(5) null", &["primary id"]);
    s.insert("t", &[&[int(1), text("x")]]).unwrap();
    let old = s.table("t");
    let mut new = (*old.def).clone();
    let mut added = column_def(50, "b int");
    added.added_default = int(7);
    new.columns.insert(1, added);
    new.columns[2].ty.length = 50;
    new.columns[2].name = "renamed".into();
    let (table, copied) = s.catalog.alter_table(&old, new, RowChange::Keep, &context()).unwrap();
    assert_eq!((copied, table.def.layouts.len(), table.def.indexes[0].id), (0, 2, old.def.indexes[0].id));
    s.insert("t", &[&[int(2), int(8), text("longer than five")]]).unwrap();
    let expected = [[int(1), int(7), text("x")], [int(2), int(8), text("longer than five")]];
    assert_eq!(s.rows("t"), expected);
    s.assert_sound("t", 2);
    let s = s.restart();
    assert_eq!(s.rows("t"), expected);
    // The handle of before is not the table any more.
    assert_eq!(code(s.catalog.alter_table(&old, (*old.def).clone(), RowChange::Keep, &context())).0, 1412);
}

#[test]
fn alter_builds_indexes_and_copies() {
    let s = Server::with_table("id int, a int null, b varchar(10)", &["primary id", "key a: a"]);
    let rows: Vec<Vec<Value>> = (0..5000).map(|i| vec![int(i), int(i % 7), text(&format!("v{i}"))]).collect();
    s.insert("t", &rows.iter().map(Vec::as_slice).collect::<Vec<_>>()).unwrap();

    // A unique index over duplicates fails and leaves everything as it was.
    let old = s.table("t");
    let mut new = (*old.def).clone();
    new.indexes.push(index_def(&new, 0, "unique ua: a"));
    let failed = s.catalog.alter_table(&old, new, RowChange::Keep, &context());
    assert_eq!(code(failed), (1062, "Duplicate entry '0' for key 't.ua'".into()));
    s.assert_sound("t", 5000);
    s.catalog.reclaim().unwrap();

    // Two new indexes, one dropped.
    let old = s.table("t");
    let mut new = (*old.def).clone();
    new.indexes.pop();
    new.indexes.push(index_def(&new, 0, "unique ub: b"));
    new.indexes.push(index_def(&new, 0, "key ab: a desc, b(2)"));
    let (table, copied) = s.catalog.alter_table(&old, new, RowChange::Keep, &context()).unwrap();
    assert_eq!((copied, table.def.indexes[0].id), (0, old.def.indexes[0].id));
    s.assert_sound("t", 5000);

    // Another primary key, rows changed on the way.
    let old = s.table("t");
    let mut new = (*old.def).clone();
    new.indexes[0] = index_def(&new, 0, "primary b, id");
    new.columns[0].ty = common::column_type("bigint unsigned").0;
    let mut change = |mut row: Vec<Value>| {
        let Value::Int(i) = row[0] else { return Err(Error::internal("id")) };
        row[0] = Value::UInt(i as u64 + 1);
        Ok(row)
    };
    let (table, copied) = s.catalog.alter_table(&old, new, RowChange::Map(&mut change, None), &context()).unwrap();
    assert_eq!((copied, table.def.layouts.len(), table.def.id), (5000, 1, old.def.id));
    s.assert_sound("t", 5000);
    assert_eq!(s.rows("t")[0], [Value::UInt(1), int(0), text("v0")]);
    let s = s.restart();
    s.assert_sound("t", 5000);
    s.catalog.reclaim().unwrap();
    s.assert_sound("t", 5000);

    let statistics = s.catalog.analyze_table(&s.table("t"), &context()).unwrap();
    let of = |name: &str| {
        let index = s.table("t").def.index_named(name).expect("index").id;
        statistics.index(index).expect("statistics").distinct.clone()
    };
    assert_eq!((statistics.rows, of("PRIMARY"), of("ub"), of("ab")), (5000, vec![5000, 5000], vec![5000], vec![7, 1 + 7 * 9]));
    let s = s.restart();
    assert_eq!(*s.table("t").statistics().expect("kept"), *statistics);
}

/// Makes a row of another one by a function, but for one `id`.
struct Alone(fn(&mut Vec<Value>), i64);

impl Alone {
    fn each(&self, mut row: Vec<Value>) -> Result<Vec<Value>> {
        (self.0)(&mut row);
        Ok(row)
    }
}

impl AloneMap for Alone {
    fn map(&self, row: &mut [Value], new: &mut Vec<Value>) -> Result<bool> {
        *new = self.each(row.to_vec())?;
        Ok(row[0] != int(self.1))
    }
}

/// By several threads, or by one after a row that is not theirs; in many runs, with and without hidden row ids.
#[test]
fn many_rows_are_copied_in_sorted_files() {
    const ROWS: i64 = 20_000;
    let negated = |row: &mut Vec<Value>| {
        if let Value::Int(v) = row[1] {
            row[1] = int(-v);
        }
    };
    // Two rows get one key.
    let pair = |row: &mut Vec<Value>| {
        if row[0] == int(12_345) {
            row[0] = int(17);
        }
    };
    for indexes in [&["primary id", "key v: v"], &["key v: v", "key id: id"]] {
        let has_primary = indexes[0] == "primary id";
        let options = EngineOptions { write_set_bytes: 64 << 10, ..EngineOptions::default() };
        let s = open_with(tempfile::tempdir().unwrap(), options);
        s.catalog.create_database("db", CollationId::default(), &context()).unwrap();
        s.catalog.create_table(table_def("t", "id int, v int, s varchar(20)", indexes), &context()).unwrap();
        let rows: Vec<Vec<Value>> = (0..ROWS).map(|i| vec![int(i), int(i * 7 % ROWS), text(&format!("v{i}"))]).collect();
        s.insert("t", &rows.iter().map(Vec::as_slice).collect::<Vec<_>>()).unwrap();
        for refused in [-1, ROWS / 2] {
            let (old, before) = (s.table("t"), s.rows("t"));
            let alone = Alone(negated, refused);
            let mut each = |row| alone.each(row);
            let change = RowChange::Map(&mut each, Some(&alone));
            let (table, copied) = s.catalog.alter_table(&old, (*old.def).clone(), change, &context()).unwrap();
            assert_eq!(copied, ROWS as u64);
            assert_ne!(table.def.indexes[0].id, old.def.indexes[0].id);
            s.assert_sound("t", ROWS as u64);
            assert_eq!(s.rows("t"), before.into_iter().map(|row| alone.each(row).unwrap()).collect::<Vec<_>>());
        }
        // The key of the rows themselves, and of an index; by threads and by one.
        for unique in ["primary id", "unique u: id"].into_iter().filter(|unique| has_primary || *unique != "primary id") {
            for by_threads in [true, false] {
                let old = s.table("t");
                let mut new = (*old.def).clone();
                let index = index_def(&new, 0, unique);
                if unique == "primary id" {
                    new.indexes[0] = index
                } else {
                    new.indexes.push(index)
                }
                let alone = Alone(pair, -1);
                let mut each = |row| alone.each(row);
                let change = RowChange::Map(&mut each, by_threads.then_some(&alone as &dyn AloneMap));
                let key = if has_primary { "PRIMARY" } else { "u" };
                let failed = s.catalog.alter_table(&old, new, change, &context());
                assert_eq!(code(failed), (1062, format!("Duplicate entry '17' for key 't.{key}'")));
                s.assert_sound("t", ROWS as u64);
            }
        }
        // An index over rows that stay, while nobody may write.
        let old = s.table("t");
        let mut new = (*old.def).clone();
        new.indexes.push(index_def(&new, 0, "unique us: s"));
        let alter = AlterContext {
            auto_increment: &|_| Ok(None),
            lock: Some(LockMode::S),
            validation: None,
            partition: None,
            ddl: &context(),
        };
        s.catalog.alter_table_with(&old, new, RowChange::Keep, &alter).unwrap();
        s.assert_sound("t", ROWS as u64);
        let s = s.restart();
        s.assert_sound("t", ROWS as u64);
        s.catalog.reclaim().unwrap();
        s.assert_sound("t", ROWS as u64);
    }
}

/// A table that nobody has analyzed is sampled: many values and few, in one part and in two, small and large, clustered or not.
#[test]
fn tables_are_sampled() {
    let s = Server::with_table(
        "id int, few int, many int",
        &["primary id", "key few: few", "key many: many, id", "key both: few, many"],
    );
    let row = |i: i64| vec![int(i), int(i % 5), int(i / 10)];
    let known = |rows: i64| {
        let table = s.table("t");
        let found = table.statistics_for(&s.engine, &s.begin(), rows as u64)?;
        let of = |name: &str| found.index(table.def.index_named(name).expect("index").id).expect("statistics").distinct.clone();
        Some([of("PRIMARY"), of("few"), of("many"), of("both")].concat())
    };
    let insert = |rows: std::ops::Range<i64>| {
        let rows: Vec<Vec<Value>> = rows.map(row).collect();
        s.insert("t", &rows.iter().map(Vec::as_slice).collect::<Vec<_>>()).unwrap();
    };
    insert(0..999);
    assert_eq!(known(999), None, "too small");
    for (from, rows) in [(999, 4_000), (4_000, 50_000)] {
        insert(from..rows);
        let exact = [rows, 5, rows / 10, rows, 5, rows / 2];
        let estimates = known(rows).expect("a sample");
        for (estimate, exact) in estimates.iter().zip(exact) {
            let ratio = *estimate as f64 / exact as f64;
            assert!((0.5..=2.0).contains(&ratio), "{rows} rows: {estimates:?} of {exact:?}");
        }
    }
    let version = s.catalog.version();
    s.catalog.renew_samples();
    assert_eq!(s.catalog.version(), version, "nothing has changed");
    insert(50_000..110_000);
    s.catalog.renew_samples();
    assert_ne!(s.catalog.version(), version, "plans are to be made anew");
    // What ANALYZE found counts as long as it fits.
    let analyzed = s.catalog.analyze_table(&s.table("t"), &context()).unwrap();
    let known = |rows| s.table("t").statistics_for(&s.engine, &s.begin(), rows).expect("statistics");
    assert!(Arc::ptr_eq(&known(110_000), &analyzed));
    assert!(!Arc::ptr_eq(&known(300_000), &analyzed));
}

#[test]
fn check_finds_damage() {
    let s = Server::with_table("id int, k int, v varchar(9)", &["primary id", "key k: k", "unique v: v"]);
    s.insert("t", &[&[int(1), int(1), text("a")], &[int(2), int(2), text("b")], &[int(3), int(3), text("c")]]).unwrap();
    let t = s.table("t");
    let damage = |change: &dyn Fn(&mut Transaction)| {
        let mut txn = s.begin();
        txn.begin_statement(Reads::One);
        change(&mut txn);
        txn.end_statement();
        txn.commit_wait().unwrap();
        s.check("t").findings
    };
    let entry = |index: usize, row: &[Value]| {
        let (mut key, mut value) = (Vec::new(), Vec::new());
        t.codec.indexes()[index].encode_entry(row, 0, &mut key, &mut value).unwrap();
        (key, value)
    };
    let (key, value) = entry(1, &[int(1), int(1), text("a")]);
    let findings = damage(&|txn| txn.delete(&key).unwrap());
    assert!(findings.iter().any(|f| f.contains("db.t: k") && f.contains("no entry for the row")), "{findings:?}");
    let (extra, _) = entry(1, &[int(9), int(1), text("a")]);
    let findings = damage(&|txn| {
        txn.put(&key, &value).unwrap();
        txn.put(&extra, &[]).unwrap();
    });
    assert!(findings.iter().any(|f| f.contains("an entry without a row")), "{findings:?}");
    let (wrong, wrong_value) = entry(2, &[int(2), int(2), text("zz")]);
    let findings = damage(&|txn| {
        txn.delete(&extra).unwrap();
        txn.put(&wrong, &wrong_value).unwrap();
    });
    assert!(findings.iter().any(|f| f.contains("db.t: v") && f.contains("other values than its row")), "{findings:?}");
    let mut row_key = Vec::new();
    t.codec.clustered().encode_value(&int(3), &mut row_key).unwrap();
    let findings = damage(&|txn| {
        txn.delete(&wrong).unwrap();
        txn.put(&row_key, &[1, 0, 9]).unwrap();
    });
    assert!(findings.iter().any(|f| f.contains("db.t (short row")), "{findings:?}");
}

#[derive(Clone, Debug)]
enum Step {
    Insert(i64, Option<i64>, i64),
    Update(i64, i64, Option<i64>, i64),
    Delete(i64),
    Rollback,
    Commit,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let id = || 0..12i64;
    let unique = || prop::option::of(0..8i64);
    let step = prop_oneof![
        4 => (id(), unique(), 0..3i64).prop_map(|(id, u, k)| Step::Insert(id, u, k)),
        4 => (id(), id(), unique(), 0..3i64).prop_map(|(id, to, u, k)| Step::Update(id, to, u, k)),
        2 => id().prop_map(Step::Delete),
        1 => Just(Step::Rollback),
        2 => Just(Step::Commit),
    ];
    prop::collection::vec(step, 1..60)
}

type Model = BTreeMap<i64, (Option<i64>, i64)>;

fn row(id: i64, u: Option<i64>, k: i64) -> Vec<Value> {
    vec![int(id), u.map_or(Value::Null, int), int(k)]
}

/// What the table would answer: the id of the row in the way, if any.
fn in_the_way(model: &Model, from: Option<i64>, id: i64, u: Option<i64>) -> bool {
    let same_id = from != Some(id) && model.contains_key(&id);
    same_id || u.is_some() && model.iter().any(|(other, (v, _))| *v == u && Some(*other) != from)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]

    /// A table does what a map does, and stays sound, also if writes spill between those of one row.
    #[test]
    fn tables_are_maps(steps in steps(), spills in any::<bool>()) {
        let options = EngineOptions::default();
        let write_set_bytes = if spills { 400 } else { options.write_set_bytes };
        let s = open_with(tempfile::tempdir().unwrap(), EngineOptions { write_set_bytes, ..options });
        let s = s.and_table("id int, u int null, k int", &["primary id", "unique u: u", "key k: k, id desc"]);
        let t = s.table("t");
        let (mut committed, mut model) = (Model::new(), Model::new());
        let mut txn = s.begin();
        let mut b = Buffers::default();
        for step in steps {
            txn.begin_statement(Reads::One);
            let mut key = Vec::new();
            match step {
                Step::Insert(id, u, k) => {
                    let written = t.insert(&mut txn, &row(id, u, k), POLICY, &mut b).unwrap();
                    prop_assert_eq!(written == Written::Done, !in_the_way(&model, None, id, u));
                    if written == Written::Done {
                        model.insert(id, (u, k));
                    }
                }
                Step::Update(id, to, u, k) => {
                    let Some((old_u, old_k)) = model.get(&id).copied() else { continue };
                    t.codec.clustered().encode_value(&int(id), &mut key).unwrap();
                    txn.lock_row(&key, LockMode::X, POLICY).unwrap();
                    let written = t.update(&mut txn, &key, &row(id, old_u, old_k), &row(to, u, k), POLICY, &mut b).unwrap();
                    prop_assert_eq!(written == Written::Done, !in_the_way(&model, Some(id), to, u));
                    if written == Written::Done {
                        model.remove(&id);
                        model.insert(to, (u, k));
                    }
                }
                Step::Delete(id) => {
                    let Some((u, k)) = model.remove(&id) else { continue };
                    t.codec.clustered().encode_value(&int(id), &mut key).unwrap();
                    txn.lock_row(&key, LockMode::X, POLICY).unwrap();
                    prop_assert!(t.delete(&mut txn, &key, &row(id, u, k), POLICY, &mut b).unwrap());
                }
                Step::Rollback => {
                    txn.rollback();
                    model = committed.clone();
                    continue;
                }
                Step::Commit => {
                    txn.end_statement();
                    txn.commit_wait().unwrap();
                    committed = model.clone();
                    continue;
                }
            }
            txn.end_statement();
        }
        prop_assert_eq!(txn.row_count(t.def.id).unwrap(), model.len() as u64);
        // Within the transaction, by the secondary index.
        let range = t.codec.indexes()[2].range(&[int(1)], Bound::Unbounded, Bound::Unbounded).unwrap();
        let mut cursor = txn.scan(range, Direction::Forward, ScanOptions::default()).unwrap();
        let mut found = Vec::new();
        while let Some((key, value)) = cursor.next(&txn).unwrap() {
            let id = t.codec.indexes()[2].part_value(1, Entry { key, value }).unwrap().unwrap().to_value().unwrap();
            found.push(id);
        }
        let expected: Vec<Value> = model.iter().rev().filter(|(_, (_, k))| *k == 1).map(|(id, _)| int(*id)).collect();
        prop_assert_eq!(found, expected);
        txn.commit_wait().unwrap();
        let expected: Vec<Vec<Value>> = model.iter().map(|(id, (u, k))| row(*id, *u, *k)).collect();
        prop_assert_eq!(s.rows("t"), expected);
        prop_assert_eq!(s.check("t"), CheckReport { rows: model.len() as u64, findings: vec![] });
    }
}

#[test]
fn ids_are_not_the_callers() {
    let s = Server::with_table("id int", &["primary id"]);
    let t = s.table("t");
    assert!(t.def.indexes[0].id != IndexId(0) && t.def.id.0 != 0);
    let mut def = table_def("bad", "a int, b int", &[]);
    def.columns[1].id = ColumnId(1);
    assert_eq!(code(s.catalog.create_table(def, &context())).0, 1815);
}

/// The rows that have a word, and how often.
fn rows_with(server: &Server, word: &str, is_prefix: bool) -> Vec<(i64, u64)> {
    let (table, mut txn) = (server.table("t"), server.begin());
    txn.begin_statement(Reads::Many);
    let index = &table.codec.indexes()[1];
    let range = if is_prefix { index.word_prefix_range(word.as_bytes()) } else { index.word_range(word.as_bytes()) };
    let mut cursor = txn.scan(range.unwrap(), Direction::Forward, ScanOptions::default()).unwrap();
    let (mut rows, mut row_key, mut row) = (Vec::new(), Vec::new(), Vec::new());
    while let Some((key, value)) = cursor.next(&txn).unwrap() {
        let entry = Entry { key, value };
        if is_prefix && !index.begins_with(entry, word.as_bytes()).unwrap() {
            continue;
        }
        index.clustered_key(entry, &mut row_key).unwrap();
        assert!(txn.get(&row_key, Version::Snapshot, &mut row).unwrap(), "an entry without a row");
        let Value::Int(id) = table.codec.decode_row(&row_key, &row).unwrap()[0] else { panic!("an id") };
        rows.push((id, index.occurrences(entry).unwrap()));
    }
    rows
}

#[test]
fn words_follow_their_rows() {
    for collation in
        ["utf8mb4_0900_ai_ci", "utf8mb4_0900_as_cs", "utf8mb4_general_ci", "utf8mb4_bin", "utf8mb4_0900_bin", "sjis_japanese_ci"]
    {
        let columns = format!("id int, a varchar(100) {collation} null, b text {collation} null");
        let server = Server::with_table(&columns, &["primary id", "fulltext ab: a, b"]);
        let text = |text: &str| Value::from(text);
        let rows = [
            vec![Value::Int(1), text("one dog, one cat"), text("one more")],
            vec![Value::Int(2), Value::Null, text("dogs and the cats")],
            vec![Value::Int(3), text("of it"), Value::Null],
        ];
        server.insert("t", &rows.iter().map(Vec::as_slice).collect::<Vec<_>>()).unwrap();
        assert_eq!(rows_with(&server, "one", false), [(1, 3)], "{collation}");
        assert_eq!(rows_with(&server, "dog", false), [(1, 1)], "{collation}");
        assert_eq!(rows_with(&server, "dog", true), [(1, 1), (2, 1)], "{collation}");
        assert_eq!(rows_with(&server, "the", false), []);
        assert_eq!(rows_with(&server, "of", true), []);

        let (table, buffers) = (server.table("t"), &mut Buffers::default());
        let key = |id: i64| {
            let mut key = Vec::new();
            table.codec.clustered().encode_value(&Value::Int(id), &mut key).unwrap();
            key
        };
        let mut txn = server.begin();
        txn.begin_statement(Reads::Many);
        let changed =
            [vec![Value::Int(1), text("one bird"), text("more birds")], vec![Value::Int(7), Value::Null, text("dogs again")]];
        let done = table.update(&mut txn, &key(1), &rows[0], &changed[0], POLICY, buffers).unwrap();
        assert_eq!(done, Written::Done);
        // The clustered key moves.
        assert_eq!(table.update(&mut txn, &key(2), &rows[1], &changed[1], POLICY, buffers).unwrap(), Written::Done);
        txn.end_statement();
        // A statement that is taken back.
        txn.begin_statement(Reads::Many);
        assert!(table.delete(&mut txn, &key(1), &changed[0], POLICY, buffers).unwrap());
        txn.rollback_statement();
        txn.end_statement();
        txn.commit_wait().unwrap();
        drop(txn);
        assert_eq!(rows_with(&server, "one", false), [(1, 1)], "{collation}");
        assert_eq!(rows_with(&server, "dog", true), [(7, 1)], "{collation}");
        assert_eq!(rows_with(&server, "bird", true), [(1, 1), (1, 1)], "{collation}");
        assert_eq!(server.check("t").findings, Vec::<String>::new(), "{collation}");

        let server = server.restart();
        assert_eq!(rows_with(&server, "more", false), [(1, 1)], "{collation}");
        let (table, mut txn) = (server.table("t"), server.begin());
        assert!(table.delete(&mut txn, &key(1), &changed[0], POLICY, buffers).unwrap());
        txn.commit_wait().unwrap();
        assert_eq!(rows_with(&server, "one", true), [], "{collation}");
        assert_eq!(server.check("t").findings, Vec::<String>::new(), "{collation}");
    }
}
