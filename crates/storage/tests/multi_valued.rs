//! Multi-valued indexes on a real engine: entries follow rows through every operation, unique ones refuse, and a restart finds them.

mod common;

use std::collections::BTreeMap;
use std::time::Duration;

use common::{Server, begin, context, interrupt, open, server, table, table_def};
use proptest::prelude::*;
use vaquita_storage::{Buffers, CheckReport, Direction, LockPolicy, Reads, ScanOptions, Written, check_table};
use vaquita_types::charset::CollationId;
use vaquita_types::json::Json;
use vaquita_types::schema::Generated;
use vaquita_types::{ColumnType, Value};

const POLICY: LockPolicy = LockPolicy::Wait(Duration::from_secs(5));
const KEYS: i64 = 6;

/// `db.t` (id, u, k), of which u and k are arrays of numbers: u with a unique index, k with one that has id behind it.
fn arrays() -> Server {
    let server = server();
    server.catalog.create_database("db", CollationId::default(), &context()).expect("database");
    let mut def = table_def("t", "id int, u json null, k json null", &["primary id"]);
    for column in def.columns.iter_mut().skip(1) {
        let elements = Some(ColumnType::bigint());
        column.generated = Some(Generated { expr: "x".into(), stored: false, in_row: true, hidden: true, elements });
    }
    for (n, (name, columns)) in [("unique u", vec![1]), ("key k", vec![2, 0])].into_iter().enumerate() {
        let mut index = common::index_def(&def, 20 + n as u32, &format!("{name}: id"));
        let part = index.parts[0].clone();
        let of = |column: usize| vaquita_types::schema::IndexPart { column: def.columns[column].id, ..part.clone() };
        index.parts = columns.into_iter().map(of).collect();
        index.multi_valued = true;
        def.indexes.push(index);
    }
    server.catalog.create_table(def, &context()).expect("table");
    server
}

type Items = Option<Vec<i64>>;

fn array(items: &Items) -> Value {
    let json = |items: &Vec<i64>| Value::Json(Json::array(items.iter().map(|i| Json::Int(*i)).collect()));
    items.as_ref().map_or(Value::Null, json)
}

fn row(id: i64, (u, k): &(Items, Items)) -> Vec<Value> {
    vec![Value::Int(id), array(u), array(k)]
}

#[derive(Clone, Debug)]
enum Step {
    Insert(i64, (Items, Items)),
    Update(i64, i64, (Items, Items)),
    Delete(i64),
}

fn items() -> impl Strategy<Value = Items> {
    prop_oneof![1 => Just(None), 6 => prop::collection::vec(0..8i64, 0..4).prop_map(Some)]
}

fn step() -> impl Strategy<Value = Step> {
    let id = || 0..KEYS;
    prop_oneof![
        3 => (id(), (items(), items())).prop_map(|(id, row)| Step::Insert(id, row)),
        3 => (id(), id(), (items(), items())).prop_map(|(id, to, row)| Step::Update(id, to, row)),
        1 => id().prop_map(Step::Delete),
    ]
}

type Model = BTreeMap<i64, (Items, Items)>;

/// Another row has one of the elements.
fn is_taken(model: &Model, but: Option<i64>, u: &Items) -> bool {
    let others = model.iter().filter(|(id, _)| Some(**id) != but);
    others.filter_map(|(_, (other, _))| other.as_ref()).flatten().any(|taken| u.iter().flatten().any(|item| item == taken))
}

/// What a step does to the table, and to the model if it is allowed.
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
    let (written, allowed, after) = match step {
        Step::Insert(id, new) => {
            let allowed = !model.contains_key(id) && !is_taken(model, None, &new.0);
            let written = t.insert(&mut txn, &row(*id, new), POLICY, &mut b).expect("insert");
            let mut after = model.clone();
            after.insert(*id, new.clone());
            (written, allowed, after)
        }
        Step::Update(id, to, new) => {
            let Some(old) = model.get(id) else { return };
            let allowed = (id == to || !model.contains_key(to)) && !is_taken(model, Some(*id), &new.0);
            let written = t.update(&mut txn, &key_of(*id), &row(*id, old), &row(*to, new), POLICY, &mut b).expect("update");
            let mut after = model.clone();
            after.remove(id);
            after.insert(*to, new.clone());
            (written, allowed, after)
        }
        Step::Delete(id) => {
            let Some(old) = model.get(id) else { return };
            assert!(t.delete(&mut txn, &key_of(*id), &row(*id, old), POLICY, &mut b).expect("delete"));
            let mut after = model.clone();
            after.remove(id);
            (Written::Done, true, after)
        }
    };
    assert_eq!(written == Written::Done, allowed, "{step:?} of {model:?}: {written:?}");
    txn.end_statement();
    match allowed {
        true => {
            txn.commit_wait().expect("commit");
            *model = after;
        }
        false => txn.rollback(),
    }
}

/// Each index has an entry for each different element of each row, one for NULL, and no other.
fn check(server: &Server, model: &Model) {
    let t = table(server);
    let mut txn = begin(server);
    let report = check_table(&server.engine, &t, &mut txn, false, &interrupt()).expect("check");
    assert_eq!(report, CheckReport { rows: model.len() as u64, findings: vec![] });
    let different = |items: &Items| match items {
        None => 1,
        Some(items) => items.iter().collect::<std::collections::BTreeSet<_>>().len(),
    };
    let expected: [usize; 2] = [model.values().map(|(u, _)| different(u)).sum(), model.values().map(|(_, k)| different(k)).sum()];
    let txn = begin(server);
    for (index, expected) in t.codec.indexes().iter().skip(1).zip(expected) {
        let mut cursor = txn.scan(index.all(), Direction::Forward, ScanOptions::default()).expect("scan");
        let mut found = 0;
        while cursor.next(&txn).expect("entry").is_some() {
            found += 1;
        }
        assert_eq!(found, expected, "{}", index.name());
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn entries_follow_rows(steps in prop::collection::vec(step(), 1..60)) {
        let server = arrays();
        let mut model = Model::new();
        for step in &steps {
            run(&server, &mut model, step);
        }
        check(&server, &model);
        let Server { catalog, engine, dir, .. } = server;
        catalog.close();
        drop(catalog);
        engine.shutdown().expect("shutdown");
        drop(engine);
        check(&open(dir), &model);
    }
}

#[test]
fn an_array_has_a_limit() {
    let server = arrays();
    let t = table(&server);
    let mut txn = begin(&server);
    txn.begin_statement(Reads::One);
    let long = (None, Some((0..65_537).collect::<Vec<i64>>()));
    let refused = t.insert(&mut txn, &row(1, &long), POLICY, &mut Buffers::default()).expect_err("too long");
    let text = "Exceeded max number of values per record for multi-valued index 'k' by 2 value(s).";
    assert_eq!((refused.code(), refused.message()), (3905, text));
}
