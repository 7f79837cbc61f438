//! Indexes built while clients write: afterwards rows and entries agree, whatever the clients did meanwhile.

mod common;

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use common::{Server, index_def, interrupt, server, table_def};
use vaquita_storage::{
    AlterContext, Buffers, ChangedRows, DdlContext, Direction, EngineOptions, Entry, InterruptReason, Isolation, LockMode,
    LockPolicy, Locked, LogBuffer, Reads, RowChange, ScanOptions, Stage, Table, Transaction, TxnOptions, Validation, Version,
    Written, Xid, check_table,
};
use vaquita_types::charset::CollationId;
use vaquita_types::schema::{ForeignKeyDef, MatchOption, QualifiedName, ReferentialAction};
use vaquita_types::{Error, Result, Value, errno};

const POLICY: LockPolicy = LockPolicy::Wait(Duration::from_secs(20));
const CLIENTS: u64 = 4;

fn context() -> DdlContext {
    DdlContext {
        wait: Duration::from_secs(20),
        interrupt: interrupt(),
        progress: Default::default(),
        foreign_keys: Default::default(),
        note: None,
    }
}

fn begin(server: &Server, isolation: Isolation) -> Transaction {
    server.engine.begin(TxnOptions {
        isolation,
        autocommit: false,
        read_only: false,
        snapshot_isolation: true,
        interrupt: interrupt(),
    })
}

/// `t (id int primary key, v int, s varchar)` with rows 0, 2, 4 … and v = 10 · id.
fn with_rows(rows: i64) -> Server {
    with_rows_in(server(), rows)
}

fn with_rows_in(server: Server, rows: i64) -> Server {
    server.catalog.create_database("db", CollationId::default(), &context()).unwrap();
    server.catalog.create_table(table_def("t", "id int, v int null, s varchar(20)", &["primary id"]), &context()).unwrap();
    let table = server.catalog.table("db", "t").unwrap().unwrap();
    let mut txn = begin(&server, Isolation::ReadCommitted);
    for id in (0..rows).map(|n| n * 2) {
        assert_eq!(table.insert(&mut txn, &row(id, id * 10), POLICY, &mut Buffers::default()).unwrap(), Written::Done);
    }
    txn.commit_wait().unwrap();
    server
}

fn row(id: i64, v: i64) -> Vec<Value> {
    vec![Value::Int(id), Value::Int(v), Value::from(format!("every word{} word{}", v % 5, v % 3).as_str())]
}

fn open(server: &Server, txn: &mut Transaction) -> Arc<Table> {
    server.catalog.open_table(txn, "db", "t", LockMode::IX, POLICY).unwrap().unwrap()
}

/// Locks and reads a row.
fn locked(table: &Table, txn: &mut Transaction, id: i64) -> Result<Option<(Vec<u8>, Vec<Value>)>> {
    let mut key = Vec::new();
    table.codec.clustered().encode_values(&[Value::Int(id)], &mut key)?;
    if txn.lock_row(&key, LockMode::X, POLICY)? == Locked::Skipped {
        return Ok(None);
    }
    let mut value = Vec::new();
    let found = txn.get(&key, Version::Latest, &mut value)?;
    Ok(if found { Some((key.clone(), table.codec.decode_row(&key, &value)?)) } else { None })
}

/// One random change of a random row.
fn change(table: &Table, txn: &mut Transaction, random: u64, ids: i64) -> Result<()> {
    let (id, to) = ((random >> 8) as i64 % ids, (random >> 32) as i64 % 1_000_000);
    let buffers = &mut Buffers::default();
    let Some((key, old)) = locked(table, txn, id)? else {
        let _ = table.insert(txn, &row(id, to), POLICY, buffers)?;
        return Ok(());
    };
    match random % 8 {
        0 | 1 => table.delete(txn, &key, &old, POLICY, buffers).map(drop),
        2 => {
            // The clustered key moves.
            let new = vec![Value::Int((id + 1) % ids), old[1].clone(), old[2].clone()];
            table.update(txn, &key, &old, &new, POLICY, buffers).map(drop)
        }
        3 => {
            let new = vec![old[0].clone(), Value::Null, old[2].clone()];
            table.update(txn, &key, &old, &new, POLICY, buffers).map(drop)
        }
        _ => {
            let new = row(id, to);
            table.update(txn, &key, &old, &new, POLICY, buffers).map(drop)
        }
    }
}

/// A client that changes rows until told to stop, rolls back every third transaction, and statements within others.
fn write(server: &Server, seed: u64, ids: i64, stop: &AtomicBool, commits: &AtomicU64) {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut random = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    while !stop.load(Ordering::Relaxed) {
        let isolation = if random() % 2 == 0 { Isolation::RepeatableRead } else { Isolation::ReadCommitted };
        let mut txn = begin(server, isolation);
        let table = open(server, &mut txn);
        let mut done: Result<()> = Ok(());
        for _ in 0..1 + random() % 4 {
            txn.begin_statement(Reads::Many);
            done = change(&table, &mut txn, random(), ids);
            if done.is_ok() && random().is_multiple_of(5) {
                txn.rollback_statement();
            }
            txn.end_statement();
        }
        match done {
            Ok(()) if !random().is_multiple_of(3) => {
                txn.commit_wait().unwrap();
                commits.fetch_add(1, Ordering::Relaxed);
            }
            Ok(()) => txn.rollback(),
            Err(e) => {
                assert!([1213, 1205].contains(&e.code()), "{e}");
                txn.rollback();
            }
        }
    }
}

/// Ends the clients however a test ends.
struct Stop<'a>(&'a AtomicBool);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

fn add_index(server: &Server, index: &str, context: &DdlContext) -> Result<Arc<Table>> {
    let old = server.catalog.table("db", "t")?.unwrap();
    let mut new = (*old.def).clone();
    let index = index_def(&new, 0, index);
    new.indexes.push(index);
    server.catalog.alter_table(&old, new, RowChange::Keep, context).map(|(table, _)| table)
}

fn drop_indexes(server: &Server) {
    let old = server.catalog.table("db", "t").unwrap().unwrap();
    let mut new = (*old.def).clone();
    new.indexes.truncate(1);
    server.catalog.alter_table(&old, new, RowChange::Keep, &context()).unwrap();
}

fn assert_sound(server: &Server) -> u64 {
    let table = server.catalog.table("db", "t").unwrap().unwrap();
    // One snapshot, since others may be writing.
    let mut txn = begin(server, Isolation::RepeatableRead);
    let report = check_table(&server.engine, &table, &mut txn, false, &interrupt()).unwrap();
    assert_eq!(report.findings, Vec::<String>::new());
    for index in table.codec.indexes().iter().filter(|index| !index.has_many_entries()) {
        let mut cursor = txn.scan(index.all(), Direction::Forward, ScanOptions::default()).unwrap();
        let mut entries = 0;
        while cursor.next(&txn).unwrap().is_some() {
            entries += 1;
        }
        assert_eq!(entries, report.rows, "entries of {}", index.name());
    }
    report.rows
}

/// What was given up is gone once nobody can write it any more.
fn assert_reclaimed(server: &Server) {
    let began = Instant::now();
    while !server.catalog.leftovers().unwrap().is_empty() {
        assert!(began.elapsed() < Duration::from_secs(20), "{:?}", server.catalog.leftovers().unwrap());
        thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn entries_agree_whatever_clients_do_meanwhile() {
    const IDS: i64 = 6_000;
    // In memory, and sorted in many runs.
    agree_whatever_clients_do(with_rows(IDS / 2), IDS);
    let options = EngineOptions { write_set_bytes: 16 << 10, ..EngineOptions::default() };
    agree_whatever_clients_do(with_rows_in(common::open_with(tempfile::tempdir().unwrap(), options), IDS / 2), IDS);
}

fn agree_whatever_clients_do(server: Server, ids: i64) {
    let (stop, commits) = (AtomicBool::new(false), AtomicU64::new(0));
    let within = thread::scope(|scope| {
        for seed in 1..=CLIENTS {
            let (server, stop, commits) = (&server, &stop, &commits);
            scope.spawn(move || write(server, seed, ids, stop, commits));
        }
        let _stop = Stop(&stop);
        let mut within = 0;
        for round in 0..6 {
            let before = commits.load(Ordering::Relaxed);
            add_index(&server, ["key v: v", "key vs: v desc, s", "fulltext s: s"][round % 3], &context()).unwrap();
            within += commits.load(Ordering::Relaxed) - before;
            assert_sound(&server);
            drop_indexes(&server);
        }
        within
    });
    assert!(within > 0, "nobody wrote while indexes were built");
    add_index(&server, "key v: v", &context()).unwrap();
    assert!(assert_sound(&server) > 0);
    assert_reclaimed(&server);
}

/// Rows that are written while entries are sorted, by a transaction that ends late, and a build that is killed while it waits for it.
#[test]
fn a_sorted_build_waits_for_noted_rows_and_can_be_killed() {
    let server = with_rows(3_000);
    for kill in [true, false] {
        let context = context();
        let mut writer = begin(&server, Isolation::ReadCommitted);
        let table = server.catalog.table("db", "t").unwrap().unwrap();
        // Without a lock of the table, which the ALTER would wait for at its start.
        let (key, old) = locked(&table, &mut writer, 200).unwrap().unwrap();
        let alter = thread::scope(|scope| {
            let alter = scope.spawn(|| add_index(&server, "key v: v", &context));
            let began = Instant::now();
            let handle = loop {
                // The handle with the index that is built.
                let handle = server.catalog.table("db", "t").unwrap().unwrap();
                if !Arc::ptr_eq(&handle, &table) || alter.is_finished() {
                    break handle;
                }
                assert!(began.elapsed() < Duration::from_secs(10));
            };
            let new = vec![old[0].clone(), Value::Int(-5), old[2].clone()];
            let written = handle.update(&mut writer, &key, &old, &new, POLICY, &mut Buffers::default()).unwrap();
            assert_eq!(written, Written::Done);
            thread::sleep(Duration::from_millis(100));
            if kill {
                context.interrupt.raise(InterruptReason::KillQuery);
                let ended = alter.join().unwrap();
                writer.rollback();
                return ended;
            }
            writer.commit_wait().unwrap();
            alter.join().unwrap()
        });
        if kill {
            // Unless it was quicker than the writer.
            assert!(alter.is_ok() || alter.unwrap_err().code() == 1317);
        } else {
            alter.unwrap();
        }
        assert_eq!(assert_sound(&server), 3_000);
        drop_indexes(&server);
        assert_reclaimed(&server);
    }
}

#[test]
fn a_unique_index_is_built_or_fails_as_a_whole() {
    const IDS: i64 = 4_000;
    let server = with_rows(IDS / 2);
    let (stop, commits) = (AtomicBool::new(false), AtomicU64::new(0));
    thread::scope(|scope| {
        for seed in 1..=CLIENTS {
            let (server, stop, commits) = (&server, &stop, &commits);
            scope.spawn(move || write(server, seed, IDS, stop, commits));
        }
        let _stop = Stop(&stop);
        let (mut built, mut failed) = (0, 0);
        for _ in 0..8 {
            match add_index(&server, "unique u: v", &context()) {
                Ok(_) => {
                    built += 1;
                    assert_sound(&server);
                    drop_indexes(&server);
                }
                Err(e) => {
                    assert_eq!(e.code(), 1062, "{e}");
                    failed += 1;
                }
            }
        }
        assert_eq!(built + failed, 8);
    });
    assert_sound(&server);
    assert_reclaimed(&server);
}

/// Each client swaps the values of two of its own rows in a transaction, so that no value is ever there twice.
#[test]
fn values_that_move_while_entries_are_sorted_are_no_duplicates() {
    const ROWS: i64 = 8_000;
    let mut options = EngineOptions { write_set_bytes: 16 << 10, ..EngineOptions::default() };
    // Several rounds beside writers.
    options.tuning.build_batch_rows = 64;
    let server = with_rows_in(common::open_with(tempfile::tempdir().unwrap(), options), ROWS);
    let (stop, commits) = (AtomicBool::new(false), AtomicU64::new(0));
    let swap = |client: i64, random: u64| {
        let mut txn = begin(&server, Isolation::ReadCommitted);
        let table = open(&server, &mut txn);
        let per_client = ROWS / CLIENTS as i64;
        let ids =
            [random % per_client as u64, (random >> 32) % per_client as u64].map(|n| (n as i64 * CLIENTS as i64 + client) * 2);
        if ids[0] == ids[1] {
            return txn.rollback();
        }
        let [(_, first), (_, second)] = ids.map(|id| locked(&table, &mut txn, id).unwrap().unwrap());
        for (id, v) in [(ids[0], Value::Null), (ids[1], first[1].clone()), (ids[0], second[1].clone())] {
            let (key, old) = locked(&table, &mut txn, id).unwrap().unwrap();
            let new = vec![old[0].clone(), v, old[2].clone()];
            let written = table.update(&mut txn, &key, &old, &new, POLICY, &mut Buffers::default()).unwrap();
            assert_eq!(written, Written::Done);
        }
        txn.commit_wait().unwrap();
        commits.fetch_add(1, Ordering::Relaxed);
    };
    thread::scope(|scope| {
        for client in 0..CLIENTS as i64 {
            let (swap, stop) = (&swap, &stop);
            scope.spawn(move || {
                let mut random = client as u64 + 1;
                while !stop.load(Ordering::Relaxed) {
                    random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                    swap(client, random >> 3);
                }
            });
        }
        let _stop = Stop(&stop);
        let mut within = 0;
        for _ in 0..12 {
            let before = commits.load(Ordering::Relaxed);
            add_index(&server, "unique u: v", &context()).unwrap();
            within += commits.load(Ordering::Relaxed) - before;
            assert_eq!(assert_sound(&server), ROWS as u64);
            drop_indexes(&server);
        }
        assert!(within > 0, "nobody wrote while indexes were built");
    });
    assert_reclaimed(&server);
}

/// Rows that were noted before a round, by a transaction that commits during it.
#[test]
fn a_round_waits_for_the_writers_of_its_rows() {
    let mut options = EngineOptions::default();
    // More than a batch is noted, so that there is a round beside writers.
    options.tuning.build_batch_rows = 1;
    let server = with_rows_in(common::open_with(tempfile::tempdir().unwrap(), options), 3_000);
    let old = server.catalog.table("db", "t").unwrap().unwrap();
    thread::scope(|scope| {
        let alter = scope.spawn(|| add_index(&server, "unique u: v", &context()));
        let began = Instant::now();
        while Arc::ptr_eq(&server.catalog.table("db", "t").unwrap().unwrap(), &old) {
            assert!(began.elapsed() < Duration::from_secs(10));
        }
        let mut writer = begin(&server, Isolation::ReadCommitted);
        let table = open(&server, &mut writer);
        for id in [200, 202, 204] {
            let (key, old) = locked(&table, &mut writer, id).unwrap().unwrap();
            let new = vec![old[0].clone(), Value::Int(-id), old[2].clone()];
            assert_eq!(table.update(&mut writer, &key, &old, &new, POLICY, &mut Buffers::default()).unwrap(), Written::Done);
        }
        // The entries are sorted meanwhile; the ALTER cannot end before the commit.
        thread::sleep(Duration::from_millis(200));
        writer.commit_wait().unwrap();
        alter.join().unwrap().unwrap();
    });
    assert_eq!(assert_sound(&server), 3_000);
}

/// Writers change more while entries are sorted than is noted, and one of them, which has noted its row, commits when the build has gone over
/// to go through the rows.
#[test]
fn a_build_that_stops_sorting_misses_no_row_of_who_has_noted_it() {
    let mut options = EngineOptions::default();
    options.tuning.build_notes_bytes = 0;
    let server = with_rows_in(common::open_with(tempfile::tempdir().unwrap(), options), 20_000);
    for (index, next) in [("key v: v", 1), ("unique u: v", 3)] {
        let old = server.catalog.table("db", "t").unwrap().unwrap();
        thread::scope(|scope| {
            let alter = scope.spawn(|| add_index(&server, index, &context()));
            let began = Instant::now();
            while Arc::ptr_eq(&server.catalog.table("db", "t").unwrap().unwrap(), &old) {
                assert!(began.elapsed() < Duration::from_secs(10));
            }
            let mut writer = begin(&server, Isolation::ReadCommitted);
            let table = open(&server, &mut writer);
            let written = table.insert(&mut writer, &row(next, -next), POLICY, &mut Buffers::default());
            assert_eq!(written.unwrap(), Written::Done);
            thread::sleep(Duration::from_millis(300));
            writer.commit_wait().unwrap();
            alter.join().unwrap().unwrap();
        });
        assert_sound(&server);
    }
}

/// Begins to add the index while a transaction keeps the row locked, so that the build stands there.
fn while_building<T>(server: &Server, index: &str, row: i64, work: impl FnOnce() -> T) -> (Result<Arc<Table>>, T) {
    let context = context();
    let mut keeper = begin(server, Isolation::ReadCommitted);
    let table = server.catalog.table("db", "t").unwrap().unwrap();
    // Without a lock of the table, which the ALTER would wait for.
    locked(&table, &mut keeper, row).unwrap().unwrap();
    thread::scope(|scope| {
        let alter = scope.spawn(|| add_index(server, index, &context));
        let began = Instant::now();
        while context.progress.get().is_none_or(|now| now.stage != Stage::ReadingRows || now.rows_done < row as u64 / 2) {
            assert!(began.elapsed() < Duration::from_secs(10) && !alter.is_finished(), "{:?}", context.progress.get());
            thread::sleep(Duration::from_millis(1));
        }
        let out = work();
        keeper.rollback();
        (alter.join().unwrap(), out)
    })
}

/// The build waits for a row that one transaction has; another waits behind it, and then the first for the other: of the three the
/// build has written least.
#[test]
fn a_build_is_no_victim_of_a_deadlock_of_others() {
    let server = with_rows(100);
    let context = context();
    let table = server.catalog.table("db", "t").unwrap().unwrap();
    // Without locks of the table, which the ALTER would wait for.
    let [mut first, mut second] = [50, 90].map(|id| {
        let mut txn = begin(&server, Isolation::ReadCommitted);
        let (key, old) = locked(&table, &mut txn, id).unwrap().unwrap();
        let written = table.update(&mut txn, &key, &old, &row(id, 1), POLICY, &mut Buffers::default()).unwrap();
        assert_eq!(written, Written::Done);
        txn
    });
    let wait_for_waits = |count: u64| {
        let began = Instant::now();
        while server.engine.locks().stats().waiting_now < count {
            assert!(began.elapsed() < Duration::from_secs(20));
            thread::sleep(Duration::from_millis(1));
        }
    };
    let code = |result: Result<Option<(Vec<u8>, Vec<Value>)>>| result.map_or_else(|error| error.code(), |_| 0);
    thread::scope(|scope| {
        let alter = scope.spawn(|| add_index(&server, "i: v", &context));
        wait_for_waits(1);
        let of_second = scope.spawn(|| {
            let code = code(locked(&table, &mut second, 50));
            second.rollback();
            code
        });
        wait_for_waits(2);
        let of_first = code(locked(&table, &mut first, 90));
        first.rollback();
        let mut codes = [of_first, of_second.join().unwrap()];
        codes.sort_unstable();
        assert_eq!(codes, [0, 1213]);
        alter.join().unwrap().unwrap();
    });
    assert_sound(&server);
}

#[test]
fn a_duplicate_that_comes_meanwhile_fails_the_alter_and_not_the_statement() {
    let server = with_rows(100);
    for roll_back in [true, false] {
        let (alter, ()) = while_building(&server, "unique u: v", 50, || {
            let mut txn = begin(&server, Isolation::RepeatableRead);
            let table = open(&server, &mut txn);
            // 20 is the value of row 2, whose entry is there.
            let written = table.insert(&mut txn, &row(7, 20), POLICY, &mut Buffers::default()).unwrap();
            assert_eq!(written, Written::Done);
            if roll_back { txn.rollback() } else { txn.commit_wait().unwrap() }
        });
        let error = alter.unwrap_err();
        assert_eq!((error.code(), error.message()), (1062, "Duplicate entry '20' for key 't.u'"));
        assert_eq!(assert_sound(&server), if roll_back { 100 } else { 101 });
    }
    assert_reclaimed(&server);
    // The rows themselves: 7 and 2.
    assert_eq!(add_index(&server, "unique u: v", &context()).unwrap_err().message(), "Duplicate entry '20' for key 't.u'");
    let mut txn = begin(&server, Isolation::ReadCommitted);
    let table = open(&server, &mut txn);
    let (key, old) = locked(&table, &mut txn, 7).unwrap().unwrap();
    table.delete(&mut txn, &key, &old, POLICY, &mut Buffers::default()).unwrap();
    txn.commit_wait().unwrap();
    add_index(&server, "unique u: v", &context()).unwrap();
    assert_eq!(assert_sound(&server), 100);
}

#[test]
fn a_value_that_moves_between_rows_is_no_duplicate() {
    let server = with_rows(100);
    let (alter, ()) = while_building(&server, "unique u: v", 50, || {
        // Row 2, which the build has passed, and row 80, which it has not, swap values by way of NULL.
        for (id, v) in [(2, Value::Null), (80, Value::Int(20)), (2, Value::Int(800))] {
            let mut txn = begin(&server, Isolation::RepeatableRead);
            let table = open(&server, &mut txn);
            let (key, old) = locked(&table, &mut txn, id).unwrap().unwrap();
            let new = vec![old[0].clone(), v, old[2].clone()];
            assert_eq!(table.update(&mut txn, &key, &old, &new, POLICY, &mut Buffers::default()).unwrap(), Written::Done);
            txn.commit_wait().unwrap();
        }
    });
    alter.unwrap();
    assert_eq!(assert_sound(&server), 100);
}

#[test]
fn a_killed_build_leaves_the_old_table() {
    let server = with_rows(3_000);
    let context = context();
    // Of a unique index, which locks rows; the other kind follows.
    let mut keeper = begin(&server, Isolation::ReadCommitted);
    let table = server.catalog.table("db", "t").unwrap().unwrap();
    locked(&table, &mut keeper, 4_000).unwrap().unwrap();
    let mut writer = begin(&server, Isolation::ReadCommitted);
    let error = thread::scope(|scope| {
        let alter = scope.spawn(|| add_index(&server, "unique v: v", &context));
        while context.progress.get().is_none_or(|now| now.stage != Stage::ReadingRows || now.rows_done < 2_000) {
            thread::sleep(Duration::from_millis(1));
        }
        // It has written entries, and goes on after the ALTER.
        let table = open(&server, &mut writer);
        assert_eq!(table.insert(&mut writer, &row(11, 3), POLICY, &mut Buffers::default()).unwrap(), Written::Done);
        let killed = Instant::now();
        context.interrupt.raise(InterruptReason::KillQuery);
        let error = alter.join().unwrap().unwrap_err();
        assert!(killed.elapsed() < Duration::from_secs(2));
        error
    });
    assert_eq!(error.code(), 1317);
    keeper.rollback();
    // Its entries are still to come.
    thread::sleep(Duration::from_millis(100));
    assert_eq!(server.catalog.leftovers().unwrap().listed.len(), 1);
    writer.commit_wait().unwrap();
    assert_eq!(assert_sound(&server), 3_001);
    assert_reclaimed(&server);
    assert_eq!(server.catalog.table("db", "t").unwrap().unwrap().def.indexes.len(), 1);
}

#[test]
fn an_older_snapshot_does_not_read_through_the_new_index() {
    let server = with_rows(50);
    let mut old = begin(&server, Isolation::RepeatableRead);
    old.take_snapshot();
    old.begin_statement(Reads::Many);
    let table = add_index(&server, "key v: v", &context()).unwrap();
    assert!(table.check_readable(&old, 0).is_ok());
    assert_eq!(table.check_readable(&old, 1).unwrap_err().code(), 1412);
    let mut new = begin(&server, Isolation::RepeatableRead);
    new.take_snapshot();
    new.begin_statement(Reads::Many);
    assert!(table.check_readable(&new, 1).is_ok());
    // A rebuilt table, and one that was emptied, have nothing at the old snapshot.
    let rebuilt = server.catalog.truncate_table(("db", "t"), &context()).unwrap();
    assert_eq!(rebuilt.check_readable(&new, 0).unwrap_err().code(), 1412);
}

#[test]
fn readers_go_on_and_a_long_writer_holds_up_the_alter_alone() {
    let server = with_rows(50);
    let mut writer = begin(&server, Isolation::ReadCommitted);
    let table = open(&server, &mut writer);
    let _ = table.insert(&mut writer, &row(1, 1), POLICY, &mut Buffers::default()).unwrap();
    let context = context();
    thread::scope(|scope| {
        let alter = scope.spawn(|| add_index(&server, "key v: v", &context));
        while context.progress.get().is_none_or(|now| now.stage != Stage::WaitingForLock) {
            thread::yield_now();
        }
        thread::sleep(Duration::from_millis(1_200));
        let began = Instant::now();
        let mut reader = begin(&server, Isolation::ReadCommitted);
        server.catalog.open_table(&mut reader, "db", "t", LockMode::IS, POLICY).unwrap().unwrap();
        assert!(began.elapsed() < Duration::from_millis(500));
        assert!(!alter.is_finished());
        reader.rollback();
        writer.commit_wait().unwrap();
        alter.join().unwrap().unwrap();
    });
    assert_eq!(assert_sound(&server), 51);
}

/// Each reader holds the table until the next one does or waits for it.
#[test]
fn readers_without_a_gap_between_them_do_not_keep_an_alter_from_its_lock() {
    const READERS: u64 = 3;
    let server = with_rows(50);
    let (come, over) = (AtomicU64::new(0), AtomicBool::new(false));
    // Beside the statement itself.
    let reader_waits = || server.engine.store().locks().stats().waiting_now > 1;
    thread::scope(|scope| {
        for _ in 0..READERS {
            scope.spawn(|| {
                while !over.load(Ordering::Acquire) {
                    let mut txn = begin(&server, Isolation::ReadCommitted);
                    server.catalog.open_table(&mut txn, "db", "t", LockMode::IS, POLICY).unwrap().unwrap();
                    let mine = come.fetch_add(1, Ordering::AcqRel) + 1;
                    while come.load(Ordering::Acquire) == mine && !reader_waits() && !over.load(Ordering::Acquire) {
                        thread::yield_now();
                    }
                    txn.rollback();
                }
            });
        }
        server.catalog.truncate_table(("db", "t"), &context()).unwrap();
        over.store(true, Ordering::Release);
    });
}

#[test]
fn a_prepared_transaction_of_a_build_that_ended_badly_leaves_nothing() {
    let server = with_rows(50);
    let xid = Xid { format_id: 1, gtrid: b"x".to_vec(), bqual: Vec::new() };
    let (killed, ()) = while_building(&server, "unique u: v", 30, || {
        let branch = server.engine.xa_begin(xid.clone()).unwrap();
        let mut txn = begin(&server, Isolation::RepeatableRead);
        let table = open(&server, &mut txn);
        let _ = table.insert(&mut txn, &row(1, 7), POLICY, &mut Buffers::default()).unwrap();
        let _ = table.insert(&mut txn, &row(3, 20), POLICY, &mut Buffers::default()).unwrap();
        txn.prepare_xa(branch).unwrap();
    });
    let error: Error = killed.unwrap_err();
    assert_eq!(error.code(), 1062);
    let Server { catalog, engine, dir, .. } = server;
    catalog.close();
    engine.shutdown().unwrap();
    drop((catalog, engine));
    let server = common::open(dir);
    thread::sleep(Duration::from_millis(100));
    assert_eq!(server.catalog.leftovers().unwrap().listed.len(), 1);
    server.engine.xa_end(&xid, true, &LogBuffer::default()).unwrap();
    assert_reclaimed(&server);
    assert_eq!(assert_sound(&server), 52);
}

/// Writes while all rows are checked, and keeps what is said to have changed.
struct Writes<'s> {
    server: &'s Server,
    changed: RefCell<Vec<Vec<Value>>>,
    refuses: bool,
}

impl Validation for Writes<'_> {
    fn all(&self, txn: &Transaction, version: Version, new: &Table) -> Result<()> {
        assert_eq!(version, Version::Snapshot);
        let mut writer = begin(self.server, Isolation::ReadCommitted);
        let buffers = &mut Buffers::default();
        let child = open(self.server, &mut writer);
        assert_eq!(child.insert(&mut writer, &row(1, 20), POLICY, buffers)?, Written::Done);
        let (key, old) = locked(&child, &mut writer, 2)?.unwrap();
        assert_eq!(child.update(&mut writer, &key, &old, &row(3, 20), POLICY, buffers)?, Written::Done);
        let parent = self.server.catalog.open_table(&mut writer, "db", "p", LockMode::IX, POLICY)?.unwrap();
        let (key, old) = locked(&parent, &mut writer, 40)?.unwrap();
        parent.delete(&mut writer, &key, &old, POLICY, buffers)?;
        writer.commit_wait()?;
        // The snapshot is from before.
        let (mut key, mut value) = (Vec::new(), Vec::new());
        new.codec.clustered().encode_values(&[Value::Int(2)], &mut key)?;
        assert!(txn.get(&key, version, &mut value)?);
        Ok(())
    }

    fn changed(&self, before: &Transaction, new: &Table, rows: &ChangedRows) -> Result<()> {
        let parent = self.server.catalog.table("db", "p")?.unwrap();
        let mut value = Vec::new();
        for (table, n) in [(new, 0), (&*parent, 1)] {
            for key in rows.of(table.def.id) {
                assert_eq!(before.get(key, Version::Snapshot, &mut value)?, n == 1 || key.ends_with(&[2]));
                let id = table.codec.clustered().part_value(0, Entry { key, value: &[] })?.unwrap().to_value()?;
                self.changed.borrow_mut().push(vec![Value::Int(n), id]);
            }
        }
        // Nobody writes any more.
        let mut writer = begin(self.server, Isolation::ReadCommitted);
        for name in ["t", "p"] {
            let refused = self.server.catalog.open_table(&mut writer, "db", name, LockMode::IX, LockPolicy::NoWait);
            assert!(refused.is_err(), "{name}");
        }
        if self.refuses { Err(Error::new(&errno::ER_NO_REFERENCED_ROW_2, &[&""])) } else { Ok(()) }
    }
}

#[test]
fn foreign_keys_are_checked_while_others_write() {
    for refuses in [false, true] {
        let server = with_rows(10);
        server.catalog.create_table(table_def("p", "id int, v int null, s varchar(20)", &["primary id"]), &context()).unwrap();
        let mut txn = begin(&server, Isolation::ReadCommitted);
        let parent = server.catalog.open_table(&mut txn, "db", "p", LockMode::IX, POLICY).unwrap().unwrap();
        for id in (0..10).map(|n| n * 20) {
            assert_eq!(parent.insert(&mut txn, &row(id, 0), POLICY, &mut Buffers::default()).unwrap(), Written::Done);
        }
        txn.commit_wait().unwrap();
        let old = server.catalog.table("db", "t").unwrap().unwrap();
        let mut new = (*old.def).clone();
        let index = index_def(&new, 0, "v v");
        new.foreign_keys.push(ForeignKeyDef {
            name: "fk".to_string(),
            columns: vec![index.parts[0].column],
            parent: QualifiedName { database: "db".to_string(), name: "p".to_string() },
            parent_columns: vec!["id".to_string()],
            on_delete: ReferentialAction::NoAction,
            on_update: ReferentialAction::NoAction,
            match_option: MatchOption::None,
        });
        new.indexes.push(index);
        let writes = Writes { server: &server, changed: RefCell::default(), refuses };
        let ddl = context();
        let alter =
            AlterContext { auto_increment: &|_| Ok(None), lock: None, validation: Some(&writes), partition: None, ddl: &ddl };
        let altered = server.catalog.alter_table_with(&old, new, RowChange::Keep, &alter);
        assert_eq!(altered.map_or_else(|e| e.code(), |_| 0), if refuses { 1452 } else { 0 });
        let mut changed = writes.changed.take();
        changed.sort_by_key(|row| format!("{row:?}"));
        let expected = [[0, 1], [0, 2], [0, 3], [1, 40]];
        assert_eq!(changed, expected.map(|[table, id]| vec![Value::Int(table), Value::Int(id)]));
        let table = server.catalog.table("db", "t").unwrap().unwrap();
        assert_eq!(table.def.foreign_keys.len(), usize::from(!refuses));
        let parent = server.catalog.table("db", "p").unwrap().unwrap();
        assert_eq!(parent.def.referenced_by.len(), usize::from(!refuses));
        assert_eq!(assert_sound(&server), 11);
        let mut txn = begin(&server, Isolation::ReadCommitted);
        let table = open(&server, &mut txn);
        assert_eq!(table.insert(&mut txn, &row(100, 20), POLICY, &mut Buffers::default()).unwrap(), Written::Done);
        txn.commit_wait().unwrap();
        assert_sound(&server);
        assert_reclaimed(&server);
    }
}
