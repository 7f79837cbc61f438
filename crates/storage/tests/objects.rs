//! Stored objects: created, changed, dropped and found again after a restart.

mod common;

use std::sync::Arc;

use common::{Server, context, server, table_def};
use vaquita_storage::{Altered, Catalog, CommitNote, DdlContext, Engine, EngineHooks, EngineOptions, Named};
use vaquita_types::charset::CollationId;
use vaquita_types::errno;
use vaquita_types::schema::{Definer, ObjectKind, SqlSecurity, StoredObject};

fn object(kind: ObjectKind, name: &str, text: &str) -> StoredObject {
    StoredObject {
        kind,
        database: "db".into(),
        name: name.into(),
        version: 0,
        definer: Definer { user: "u".into(), host: "%".into() },
        security: SqlSecurity::Definer,
        sql_mode: 0,
        client_collation: CollationId::default(),
        connection_collation: CollationId::default(),
        database_collation: CollationId::default(),
        created_us: 0,
        altered_us: 0,
        comment: String::new(),
        characteristics: Vec::new(),
        text: text.into(),
    }
}

fn with_database() -> Server {
    let server = server();
    server.catalog.create_database("db", CollationId::default(), &context()).expect("database");
    server
}

fn names(catalog: &Catalog, kind: ObjectKind) -> Vec<String> {
    catalog.objects("db", kind).expect("objects").iter().map(|object| object.name.clone()).collect()
}

fn restart(server: Server) -> Server {
    let Server { catalog, engine, dir, .. } = server;
    catalog.close();
    drop(catalog);
    engine.shutdown().expect("shutdown");
    drop(engine);
    common::open(dir)
}

fn create(catalog: &Catalog, kind: ObjectKind, name: &str) -> Arc<StoredObject> {
    catalog.create_object(object(kind, name, "text"), false, &[], &context()).expect("create").expect("a new name")
}

#[test]
fn objects_are_found_again_after_a_restart() {
    let server = with_database();
    let first = create(&server.catalog, ObjectKind::Procedure, "P1");
    let second = create(&server.catalog, ObjectKind::Procedure, "a");
    create(&server.catalog, ObjectKind::Function, "p1");
    create(&server.catalog, ObjectKind::View, "v");
    create(&server.catalog, ObjectKind::View, "V");
    assert!(first.version < second.version && first.created_us > 0);
    let check = |catalog: &Catalog| {
        assert_eq!(names(catalog, ObjectKind::Procedure), ["a", "P1"]);
        assert_eq!(names(catalog, ObjectKind::View), ["V", "v"]);
        let found = catalog.object("db", ObjectKind::Procedure, "p1").expect("found");
        assert_eq!(found.as_deref(), Some(&*first));
        assert_eq!(catalog.object("db", ObjectKind::View, "w").expect("found"), None);
        assert_eq!(catalog.object("nowhere", ObjectKind::View, "v").expect("found"), None);
    };
    check(&server.catalog);
    check(&restart(server).catalog);
}

#[test]
fn a_change_gives_a_new_version() {
    let server = with_database();
    let catalog = &server.catalog;
    let old = create(catalog, ObjectKind::Procedure, "p");
    // Another spelling is the same name; the old object stays.
    assert_eq!(catalog.create_object(object(ObjectKind::Procedure, "P", "new"), false, &[], &context()).expect("create"), None);
    let before = catalog.version();
    let comment = |object: &mut StoredObject| {
        object.comment = "changed".into();
        Ok(())
    };
    let altered = catalog.alter_object(("db", ObjectKind::Procedure, "P"), comment, &context()).expect("alter");
    assert_eq!(altered, Altered::Done);
    let altered = catalog.object("db", ObjectKind::Procedure, "p").expect("found").expect("there");
    assert!(altered.version > old.version && catalog.version() > before && altered.altered_us >= altered.created_us);
    assert_eq!((&altered.comment[..], altered.created_us), ("changed", old.created_us));
    let replaced = catalog.create_object(object(ObjectKind::Procedure, "P", "new"), true, &[], &context()).expect("replace");
    assert_eq!(replaced.map(|object| (object.name.clone(), object.text.clone())), Some(("P".into(), "new".into())));
    let altered = catalog.alter_object(("db", ObjectKind::Function, "p"), comment, &context()).expect("alter");
    assert_eq!(altered, Altered::Missing);
    assert_eq!(names(&restart(server).catalog, ObjectKind::Procedure), ["P"]);
}

#[test]
fn objects_go_alone_and_with_their_database() {
    let server = with_database();
    let catalog = &server.catalog;
    for name in ["a", "b", "c"] {
        create(catalog, ObjectKind::View, name);
    }
    let dropped =
        catalog.drop_objects(&[("db", "a"), ("db", "x"), ("db", "b")], &[], ObjectKind::View, &context()).expect("drop");
    assert_eq!((dropped, names(catalog, ObjectKind::View)), (vec![1], vec!["c".to_string()]));
    assert!(!catalog.drop_object(("db", ObjectKind::Procedure, "c"), &[], &context()).expect("drop"));
    // Names that begin with the database's name are of another one.
    catalog.create_database("db2", CollationId::default(), &context()).expect("database");
    let other = StoredObject { database: "db2".into(), ..object(ObjectKind::View, "c", "text") };
    catalog.create_object(other, false, &[], &context()).expect("create").expect("new");
    catalog.drop_database("db", &context()).expect("drop");
    catalog.create_database("db", CollationId::default(), &context()).expect("database");
    assert!(names(catalog, ObjectKind::View).is_empty());
    let server = restart(server);
    assert!(names(&server.catalog, ObjectKind::View).is_empty());
    assert_eq!(server.catalog.objects("db2", ObjectKind::View).expect("objects").len(), 1);
}

/// What goes with a statement that does nothing is committed if it is still so, and else not.
#[test]
fn who_finds_nothing_to_do_looks_again() {
    let server = with_database();
    let catalog = &server.catalog;
    create(catalog, ObjectKind::View, "v");
    catalog.create_table(table_def("t", "a int", &["primary a"]), &context()).expect("table");
    let view = |name| Named::Object("db", ObjectKind::View, name);
    let cases: [(&[Named<'_>], bool, bool); 8] = [
        (&[Named::Database("db")], true, true),
        (&[Named::Database("db")], false, false),
        (&[Named::Database("x"), Named::Table(("db", "v")), Named::Table(("x", "t"))], false, true),
        (&[Named::TableOrView(("db", "v")), Named::TableOrView(("db", "t")), Named::Table(("db", "t"))], true, true),
        (&[view("v")], false, false),
        (&[view("t"), view("w")], false, true),
        (&[view("w"), view("v")], false, false),
        (&[view("w")], true, false),
    ];
    for (at, (named, there, told)) in cases.into_iter().enumerate() {
        let key = vaquita_storage::meta_key(format!("test/{at}").as_bytes());
        let note = Arc::new(CommitNote::new(key, b"noted".to_vec()));
        let version = catalog.version();
        let context = DdlContext { note: Some(note.clone()), ..context() };
        assert_eq!(catalog.tell_unchanged(named, there, &context).expect("told"), told, "{named:?}");
        assert_eq!((note.is_written(), catalog.version()), (told, version), "{named:?}");
        let stored = catalog.meta_get(format!("test/{at}").as_bytes()).expect("read");
        assert_eq!(stored.is_some(), told, "{named:?}");
    }
}

#[test]
fn when_an_event_ran_goes_with_it() {
    let server = with_database();
    let catalog = &server.catalog;
    catalog.create_database("other", CollationId::default(), &context()).expect("database");
    create(catalog, ObjectKind::Event, "E");
    create(catalog, ObjectKind::Event, "f");
    let executed = |catalog: &Catalog, database: &str, name: &str| catalog.event_executed_s(database, name).expect("a record");
    assert_eq!(executed(catalog, "db", "e"), None);
    let version = catalog.version();
    catalog.note_event_executed("db", "e", 5).expect("noted");
    catalog.note_event_executed("db", "nosuch", 5).expect("nothing to note");
    assert_eq!((executed(catalog, "db", "E"), catalog.version()), (Some(5), version));
    let rename = |object: &mut StoredObject| {
        (object.database, object.name) = ("other".into(), "G".into());
        Ok(())
    };
    let altered = |name: &str| catalog.alter_object(("db", ObjectKind::Event, name), rename, &context()).expect("alter");
    assert_eq!((altered("E"), altered("f"), altered("E")), (Altered::Done, Altered::Taken, Altered::Missing));
    let places = |catalog: &Catalog| catalog.event_names().expect("names");
    let both = [("db".to_string(), "f".to_string()), ("other".to_string(), "g".to_string())];
    assert_eq!((executed(catalog, "other", "g"), executed(catalog, "db", "e"), places(catalog)), (Some(5), None, both.to_vec()));
    let server = restart(server);
    let catalog = &server.catalog;
    assert_eq!((executed(catalog, "other", "g"), places(catalog)), (Some(5), both.to_vec()));
    catalog.drop_database("other", &context()).expect("drop");
    assert!(catalog.drop_object(("db", ObjectKind::Event, "F"), &[], &context()).expect("drop"));
    assert!(places(catalog).is_empty());
    catalog.create_database("other", CollationId::default(), &context()).expect("database");
    let again = StoredObject { database: "other".into(), ..object(ObjectKind::Event, "g", "text") };
    catalog.create_object(again, false, &[], &context()).expect("create").expect("new");
    assert_eq!(executed(catalog, "other", "g"), None);
}

#[test]
fn views_and_tables_share_their_names() {
    let server = with_database();
    let catalog = &server.catalog;
    catalog.create_table(table_def("t", "a int", &["primary a"]), &context()).expect("table");
    create(catalog, ObjectKind::View, "v");
    let taken = catalog.create_object(object(ObjectKind::View, "t", "text"), true, &[], &context()).expect_err("taken");
    assert!(taken.is(&errno::ER_TABLE_EXISTS_ERROR));
    let taken = catalog.create_table(table_def("v", "a int", &["primary a"]), &context()).expect_err("taken");
    assert!(taken.is(&errno::ER_TABLE_EXISTS_ERROR));
    let taken = catalog.rename_tables(&[(("db", "t"), ("db", "v"))], &context()).expect_err("taken");
    assert!(taken.is(&errno::ER_TABLE_EXISTS_ERROR));
    create(catalog, ObjectKind::Procedure, "t");
}

/// Nothing of it is read, so that its own server can go on with it.
#[test]
fn data_of_a_later_format_is_refused() {
    let server = common::server();
    vaquita_storage::mark_format(&server.catalog, "8.4.1-vaquita").expect("written");
    let Server { catalog, engine, dir, closed } = restart(server);
    assert_eq!(catalog.meta_get(b"data_format").expect("read"), Some(b"1 8.4.1-vaquita".to_vec()));
    catalog.meta_put(b"data_format", b"2 8.4.9-vaquita").expect("written");
    catalog.close();
    drop(catalog);
    engine.shutdown().expect("shutdown");
    drop(engine);
    drop(closed);
    let refused = Engine::open(dir.path(), EngineOptions::default(), EngineHooks::default()).err().expect("refused");
    assert!(refused.message().contains("A newer server (8.4.9-vaquita) has written this data, in format 2"), "{refused:?}");
}
