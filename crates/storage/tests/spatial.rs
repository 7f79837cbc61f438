//! SPATIAL indexes on a real engine: entries follow rows through every operation, a window finds what meets it, and a restart finds the same.

mod common;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use common::{Server, begin, context, interrupt, open, server, table, table_def};
use proptest::prelude::*;
use vaquita_storage::{Buffers, CheckReport, Direction, Entry, LockPolicy, Reads, ScanOptions, Written, check_table};
use vaquita_types::charset::CollationId;
use vaquita_types::geometry::{Geometry, GeometryKind, Point, Shape};
use vaquita_types::schema::IndexKind;
use vaquita_types::{ColumnType, Value};

const POLICY: LockPolicy = LockPolicy::Wait(Duration::from_secs(5));
const KEYS: i64 = 12;

/// `db.t` (id, g) with a SPATIAL index on g.
fn places() -> Server {
    let server = server();
    server.catalog.create_database("db", CollationId::default(), &context()).expect("database");
    let mut def = table_def("t", "id int, g json", &["primary id"]);
    def.columns[1].ty = ColumnType::geometry(GeometryKind::Geometry, Some(0));
    for layout in &mut def.layouts {
        layout.columns.iter_mut().filter(|c| c.id == def.columns[1].id).for_each(|c| c.ty = def.columns[1].ty.clone());
    }
    let mut index = common::index_def(&def, 20, "key g: id");
    index.kind = IndexKind::Spatial;
    index.multi_valued = true;
    index.parts[0].column = def.columns[1].id;
    def.indexes.push(index);
    server.catalog.create_table(def, &context()).expect("table");
    server
}

/// Corners of a rectangle; `None`: an empty collection.
type Area = Option<(Point, Point)>;

fn geometry(area: &Area) -> Value {
    let shape = match *area {
        None => Shape::Collection(Vec::new()),
        Some((low, high)) if low == high => Shape::Point(low),
        Some((low, high)) => Shape::LineString(vec![low, high]),
    };
    Value::from(Geometry::new(0, shape).encode())
}

fn row(id: i64, area: &Area) -> Vec<Value> {
    vec![Value::Int(id), geometry(area)]
}

#[derive(Clone, Debug)]
enum Step {
    Insert(i64, Area),
    Update(i64, i64, Area),
    Delete(i64),
}

fn coordinate() -> impl Strategy<Value = f64> {
    prop_oneof![-20f64..20.0, (-4i32..4).prop_map(|n| f64::from(n) * 8.0)]
}

fn window() -> impl Strategy<Value = (Point, Point)> {
    (coordinate(), coordinate(), 0f64..6.0, 0f64..6.0, any::<bool>()).prop_map(|(x, y, width, height, is_point)| {
        let (width, height) = if is_point { (0.0, 0.0) } else { (width, height) };
        (Point::new(x, y), Point::new(x + width, y + height))
    })
}

fn area() -> impl Strategy<Value = Area> {
    prop_oneof![1 => Just(None), 8 => window().prop_map(Some)]
}

fn step() -> impl Strategy<Value = Step> {
    let id = || 0..KEYS;
    prop_oneof![
        3 => (id(), area()).prop_map(|(id, area)| Step::Insert(id, area)),
        3 => (id(), id(), area()).prop_map(|(id, to, area)| Step::Update(id, to, area)),
        1 => id().prop_map(Step::Delete),
    ]
}

type Model = BTreeMap<i64, Area>;

fn run(server: &Server, model: &mut Model, step: &Step) {
    let t = table(server);
    let mut txn = begin(server);
    txn.begin_statement(Reads::One);
    let mut b = Buffers::default();
    let key_of = |id: i64| {
        let mut key = Vec::new();
        t.codec.clustered().encode_value(&Value::Int(id), &mut key).expect("key");
        key
    };
    let mut after = model.clone();
    let (written, allowed) = match step {
        Step::Insert(id, new) => {
            let allowed = after.insert(*id, *new).is_none();
            (t.insert(&mut txn, &row(*id, new), POLICY, &mut b).expect("insert"), allowed)
        }
        Step::Update(id, to, new) => {
            let Some(old) = after.remove(id) else { return };
            let allowed = after.insert(*to, *new).is_none();
            (t.update(&mut txn, &key_of(*id), &row(*id, &old), &row(*to, new), POLICY, &mut b).expect("update"), allowed)
        }
        Step::Delete(id) => {
            let Some(old) = after.remove(id) else { return };
            assert!(t.delete(&mut txn, &key_of(*id), &row(*id, &old), POLICY, &mut b).expect("delete"));
            (Written::Done, true)
        }
    };
    assert_eq!(written == Written::Done, allowed, "{step:?} of {model:?}: {written:?}");
    txn.end_statement();
    if allowed {
        txn.commit_wait().expect("commit");
        *model = after;
    } else {
        txn.rollback();
    }
}

fn meet(a: (Point, Point), b: (Point, Point)) -> bool {
    a.0.x <= b.1.x && b.0.x <= a.1.x && a.0.y <= b.1.y && b.0.y <= a.1.y
}

/// The index is as the rows say, and each window leads to all rows that meet it.
fn check(server: &Server, model: &Model, windows: &[(Point, Point)]) {
    let t = table(server);
    let report = check_table(&server.engine, &t, &mut begin(server), false, &interrupt()).expect("check");
    assert_eq!(report, CheckReport { rows: model.len() as u64, findings: vec![] });
    let index = &t.codec.indexes()[1];
    let txn = begin(server);
    for window in windows {
        let mut found = BTreeSet::new();
        for range in index.window_ranges(*window, false) {
            let mut cursor = txn.scan(range, Direction::Forward, ScanOptions::default()).expect("scan");
            while let Some((key, value)) = cursor.next(&txn).expect("entry") {
                let mut clustered = Vec::new();
                index.clustered_key(Entry { key, value }, &mut clustered).expect("key");
                found.insert(clustered);
            }
        }
        for (id, area) in model {
            let mut key = Vec::new();
            t.codec.clustered().encode_value(&Value::Int(*id), &mut key).expect("key");
            let meets = area.is_some_and(|area| meet(area, *window));
            assert!(!meets || found.contains(&key), "{window:?} of {area:?}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn entries_follow_rows(steps in prop::collection::vec(step(), 1..60), windows in prop::collection::vec(window(), 1..8)) {
        let server = places();
        let mut model = Model::new();
        for step in &steps {
            run(&server, &mut model, step);
        }
        check(&server, &model, &windows);
        let Server { catalog, engine, dir, .. } = server;
        catalog.close();
        drop(catalog);
        engine.shutdown().expect("shutdown");
        drop(engine);
        check(&open(dir), &model, &windows);
    }
}
