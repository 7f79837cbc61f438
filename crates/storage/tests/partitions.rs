//! Partitions on a real engine: what is written where, what DDL of whole partitions leaves, and what a restart finds.

mod common;

use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use common::{Server, begin, context, interrupt, open, server, table, table_def};
use vaquita_storage::{Buffers, Direction, LockPolicy, Reads, ScanOptions, Written, check_table};
use vaquita_types::Value;
use vaquita_types::charset::CollationId;
use vaquita_types::schema::{
    PartitionDef, PartitionKey, PartitionMethod, PartitionValues, Partitioning, Subpartitioning, TableDef,
};

const POLICY: LockPolicy = LockPolicy::Wait(Duration::from_secs(5));

fn empty(name: &str) -> PartitionDef {
    PartitionDef::new(name.into(), PartitionValues::None)
}

/// `db.t` (id, v) with an index on v and three partitions; which one a row is in is the test's to say.
fn divided() -> Server {
    let server = server();
    server.catalog.create_database("db", CollationId::default(), &context()).expect("database");
    let mut def = table_def("t", "id int, v int null", &["primary id", "key v: v"]);
    def.partitioning = Some(Arc::new(Partitioning {
        method: PartitionMethod::Hash,
        key: PartitionKey::Expr("`id`".into()),
        listed: true,
        counted: false,
        partitions: ["p0", "p1", "p2"].map(empty).to_vec(),
        subpartitions: None,
    }));
    server.catalog.create_table(def, &context()).expect("table");
    server
}

fn insert(server: &Server, partition: usize, ids: std::ops::Range<i64>) {
    let table = table(server);
    let part = table.partition(partition).expect("partition");
    let mut txn = begin(server);
    txn.begin_statement(Reads::Many);
    for id in ids {
        let row = [Value::Int(id), Value::Int(id % 3)];
        assert_eq!(part.insert(&mut txn, &row, POLICY, &mut Buffers::default()).expect("insert"), Written::Done);
    }
    txn.end_statement();
    txn.commit_wait().expect("commit");
}

/// The first columns of a partition's rows.
fn ids(server: &Server, partition: usize) -> Vec<i64> {
    let table = table(server);
    let part = table.partition(partition).expect("partition");
    let txn = begin(server);
    let mut cursor = txn.scan(part.codec.clustered().all(), Direction::Forward, ScanOptions::default()).expect("scan");
    let mut ids = Vec::new();
    while let Some((key, value)) = cursor.next(&txn).expect("row") {
        assert_eq!(table.partition_of_key(key), Some(partition));
        match part.codec.decode_row(key, value).expect("row").first() {
            Some(Value::Int(id)) => ids.push(*id),
            other => panic!("{other:?}"),
        }
    }
    ids
}

fn assert_sound(server: &Server, rows: u64) {
    let report = check_table(&server.engine, &table(server), &mut begin(server), true, &interrupt()).expect("check");
    assert_eq!((report.rows, report.findings), (rows, Vec::<String>::new()));
    assert_eq!(table(server).row_count(&begin(server)).expect("count"), rows);
}

fn assert_reclaimed(server: &Server) {
    let began = Instant::now();
    while !server.catalog.leftovers().expect("leftovers").is_empty() {
        assert!(began.elapsed() < Duration::from_secs(20), "{:?}", server.catalog.leftovers());
        thread::sleep(Duration::from_millis(20));
    }
}

fn restart(server: Server) -> Server {
    let Server { catalog, engine, dir, .. } = server;
    catalog.close();
    drop(catalog);
    engine.shutdown().expect("shutdown");
    drop(engine);
    open(dir)
}

fn changed(server: &Server, change: impl FnOnce(&mut Vec<PartitionDef>)) {
    let old = table(server);
    let mut new: TableDef = (*old.def).clone();
    change(&mut new.partitioning_mut().expect("partitions").partitions);
    server.catalog.change_partitions(&old, new, &context()).expect("change");
}

#[test]
fn rows_are_in_their_partitions_after_a_restart() {
    let s = divided();
    insert(&s, 0, 0..5);
    insert(&s, 2, 10..13);
    assert_sound(&s, 8);
    let s = restart(s);
    assert_eq!((ids(&s, 0), ids(&s, 1), ids(&s, 2)), (vec![0, 1, 2, 3, 4], vec![], vec![10, 11, 12]));
    assert_sound(&s, 8);
    assert!(s.catalog.leftovers().expect("leftovers").is_empty());
}

#[test]
fn what_goes_is_reclaimed_and_what_stays_is_read_by_old_snapshots() {
    let s = divided();
    insert(&s, 0, 0..5);
    insert(&s, 1, 10..13);
    insert(&s, 2, 20..22);
    let mut old_snapshot = begin(&s);
    old_snapshot.begin_statement(Reads::Many);
    assert_eq!(table(&s).row_count(&old_snapshot).expect("count"), 10);
    changed(&s, |partitions| {
        partitions.remove(2);
        partitions[1] = empty("p1");
        partitions.push(empty("p3"));
    });
    let t = table(&s);
    t.partition(0).expect("p0").check_readable(&old_snapshot, 0).expect("it is as it was");
    let refused = t.partition(1).expect("p1").check_readable(&old_snapshot, 0).expect_err("it was emptied since");
    assert_eq!(refused.code(), 1412);
    drop(old_snapshot);
    assert_eq!((ids(&s, 0), ids(&s, 1), ids(&s, 2)), (vec![0, 1, 2, 3, 4], vec![], vec![]));
    insert(&s, 1, 30..31);
    assert_sound(&s, 6);
    assert_reclaimed(&s);
    let s = restart(s);
    assert_eq!((ids(&s, 0), ids(&s, 1), ids(&s, 2)), (vec![0, 1, 2, 3, 4], vec![30], vec![]));
    assert_sound(&s, 6);
}

#[test]
fn a_dropped_or_emptied_table_leaves_nothing() {
    let s = divided();
    insert(&s, 0, 0..5);
    insert(&s, 1, 10..13);
    let table = s.catalog.truncate_table(("db", "t"), &context()).expect("truncate");
    assert_eq!(table.row_count(&begin(&s)).expect("count"), 0);
    insert(&s, 2, 1..3);
    assert_sound(&s, 2);
    s.catalog.drop_tables(&[("db", "t")], &[], &context()).expect("drop");
    drop(table);
    assert_reclaimed(&s);
}

/// Storage has the subpartitions; the partitions above them are in the record, without ids.
#[test]
fn subpartitions_are_partitions_to_storage_and_are_read_back() {
    let s = server();
    s.catalog.create_database("db", CollationId::default(), &context()).expect("database");
    let mut def = table_def("t", "id int, v int null", &["primary id", "key v: v"]);
    let bound = |n: i64| PartitionValues::LessThan(vec![Some(Value::Int(n))]);
    let first = PartitionDef { comment: "first".into(), ..PartitionDef::new("p0".into(), bound(10)) };
    let by = Partitioning {
        method: PartitionMethod::Range,
        key: PartitionKey::Expr("`id`".into()),
        listed: true,
        counted: false,
        partitions: ["p0sp0", "p0sp1", "p1sp0", "p1sp1"].map(empty).to_vec(),
        subpartitions: Some(Subpartitioning {
            method: PartitionMethod::LinearHash,
            key: PartitionKey::Expr("`id`".into()),
            listed: false,
            counted: true,
            count: 2,
            partitions: vec![first, PartitionDef::new("p1".into(), bound(20))],
        }),
    };
    def.partitioning = Some(Arc::new(by.clone()));
    s.catalog.create_table(def, &context()).expect("table");
    insert(&s, 1, 0..5);
    insert(&s, 3, 10..13);
    let written = table(&s).def.partitioning.clone().expect("partitions");
    let s = restart(s);
    let read = table(&s).def.partitioning.clone().expect("partitions");
    assert_eq!(read, written);
    assert_eq!(read.subpartitions, by.subpartitions);
    assert_eq!((read.numbers_named("P1"), read.numbers_named("p0sp1"), read.numbers_named("p2")), (Some(2..4), Some(1..2), None));
    assert_eq!((ids(&s, 0), ids(&s, 1), ids(&s, 3)), (vec![], vec![0, 1, 2, 3, 4], vec![10, 11, 12]));
    changed(&s, |partitions| partitions[1] = empty("p0sp1"));
    assert_sound(&s, 3);
    assert_reclaimed(&s);
    s.catalog.drop_tables(&[("db", "t")], &[], &context()).expect("drop");
    assert_reclaimed(&s);
}
