//! What the suites share: column types, tables and values from short texts.
#![allow(dead_code)]

use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use vaquita_storage::layout::fresh_layout;
use vaquita_storage::{
    Catalog, DdlContext, Engine, EngineHooks, EngineOptions, Interrupt, Isolation, Store, Table, Transaction, TxnOptions,
};
use vaquita_types::charset::{Collation, CollationId};
use vaquita_types::convert::{StoreContext, store};
use vaquita_types::datatype::DECIMALS_NOT_FIXED;
use vaquita_types::schema::{
    ColumnDef, ColumnDefault, ColumnId, IndexDef, IndexId, IndexKind, IndexPart, TableDef, TableId, TableOptions,
};
use vaquita_types::temporal::{Date, TimeZone};
use vaquita_types::{ColumnType, TypeKind, Value, sql_mode};

/// `decimal(10,2)`, `int unsigned`, `enum(a,b)`, `varchar(9) utf8mb4_bin`; a trailing `null` makes it nullable.
pub fn column_type(text: &str) -> (ColumnType, bool) {
    let mut words = text.split_whitespace();
    let head = words.next().expect("a type");
    let (name, arguments) = head.trim_end_matches(')').split_once('(').unwrap_or((head, ""));
    let arguments: Vec<&str> = arguments.split(',').filter(|a| !a.is_empty()).collect();
    let number = |i: usize, default: u32| arguments.get(i).and_then(|a| a.parse().ok()).unwrap_or(default);
    let mut ty = ColumnType::new(kind(name));
    ty.length = number(0, 0);
    match ty.kind {
        TypeKind::Decimal => (ty.length, ty.decimals) = (number(0, 10), number(1, 0) as u8),
        TypeKind::Float | TypeKind::Double => ty.decimals = DECIMALS_NOT_FIXED,
        TypeKind::Time | TypeKind::DateTime | TypeKind::Timestamp => ty.decimals = number(0, 0) as u8,
        TypeKind::Text => ty.length = 65_535,
        TypeKind::Blob => ty.length = 65_535,
        TypeKind::LongBlob | TypeKind::LongText => ty.length = u32::MAX,
        TypeKind::Bit => ty.length = number(0, 1),
        TypeKind::Enum | TypeKind::Set => ty.members = Some(arguments.iter().map(|a| Box::from(a.as_bytes())).collect()),
        _ => {}
    }
    let is_text = matches!(
        ty.kind,
        TypeKind::Char | TypeKind::VarChar | TypeKind::Text | TypeKind::LongText | TypeKind::Enum | TypeKind::Set
    );
    if is_text {
        ty.collation = CollationId::default();
    }
    let mut nullable = false;
    for word in words {
        match word {
            "unsigned" => ty.unsigned = true,
            "null" => nullable = true,
            name => ty.collation = Collation::by_name(name).expect("a collation").id,
        }
    }
    (ty, nullable)
}

fn kind(name: &str) -> TypeKind {
    match name {
        "tinyint" => TypeKind::TinyInt,
        "smallint" => TypeKind::SmallInt,
        "mediumint" => TypeKind::MediumInt,
        "int" => TypeKind::Int,
        "bigint" => TypeKind::BigInt,
        "decimal" => TypeKind::Decimal,
        "float" => TypeKind::Float,
        "double" => TypeKind::Double,
        "bit" => TypeKind::Bit,
        "year" => TypeKind::Year,
        "date" => TypeKind::Date,
        "time" => TypeKind::Time,
        "datetime" => TypeKind::DateTime,
        "timestamp" => TypeKind::Timestamp,
        "char" => TypeKind::Char,
        "varchar" => TypeKind::VarChar,
        "text" => TypeKind::Text,
        "longtext" => TypeKind::LongText,
        "binary" => TypeKind::Binary,
        "varbinary" => TypeKind::VarBinary,
        "blob" => TypeKind::Blob,
        "longblob" => TypeKind::LongBlob,
        "enum" => TypeKind::Enum,
        "set" => TypeKind::Set,
        "json" => TypeKind::Json,
        other => panic!("type {other}"),
    }
}

/// What a column of the type holds after an INSERT of the text; `NULL` is NULL. Escapes as in Rust.
pub fn value(text: &str, ty: &ColumnType) -> Value {
    if text == "NULL" {
        return Value::Null;
    }
    let bytes = unescape(text);
    let from = if matches!(ty.kind, TypeKind::Json) || ty.is_text() || ty.members.is_some() {
        ColumnType::varchar(1000, CollationId::default())
    } else {
        ColumnType::varbinary(1000)
    };
    let zone = TimeZone::Utc;
    let ctx = StoreContext { sql_mode: sql_mode::STRICT_TRANS_TABLES, time_zone: &zone, today: Date::ZERO };
    store(Value::from(bytes), &from, ty, &ctx).unwrap_or_else(|e| panic!("{text} into {ty:?}: {e:?}"))
}

fn unescape(text: &str) -> Vec<u8> {
    let mut out = Vec::new();
    let mut rest = text.as_bytes();
    while let Some((b, tail)) = rest.split_first() {
        rest = tail;
        if *b == b'\\' && rest.first() == Some(&b'x') {
            out.push(u8::from_str_radix(std::str::from_utf8(&rest[1..3]).unwrap(), 16).unwrap());
            rest = &rest[3..];
        } else if *b == b'\\' && rest.first() == Some(&b's') {
            out.push(b' ');
            rest = &rest[1..];
        } else {
            out.push(*b);
        }
    }
    out
}

/// A table from `name type, name type …` and index lines: `primary a`, `unique u: a, b(3) desc`, `key k: b`.
pub fn table_def(name: &str, columns: &str, indexes: &[&str]) -> TableDef {
    let mut def = TableDef {
        id: TableId(1),
        database: "db".into(),
        name: name.into(),
        schema_version: 1,
        columns: split_outside_parentheses(columns).iter().enumerate().map(|(i, text)| column_def(i as u16 + 1, text)).collect(),
        indexes: Vec::new(),
        hidden_rowid: false,
        layouts: Vec::new(),
        collation: CollationId::default(),
        options: TableOptions { engine: "InnoDB".into(), ..TableOptions::default() },
        next_column_id: ColumnId(100),
        created_us: 0,
        foreign_keys: Vec::new(),
        referenced_by: Vec::new(),
        triggers: Vec::new(),
        partitioning: None,
    };
    if !indexes.iter().any(|i| i.starts_with("primary")) {
        def.hidden_rowid = true;
        def.indexes.push(index_def(&def, 10, "primary"));
    }
    for (i, text) in indexes.iter().enumerate() {
        let index = index_def(&def, i as u32 + 11, text);
        def.indexes.push(index);
    }
    def.indexes.sort_by_key(|i| i.kind != IndexKind::Primary);
    fresh_layout(&mut def);
    def
}

pub fn column_def(id: u16, text: &str) -> ColumnDef {
    let (name, ty) = text.trim().split_once(' ').expect("name type");
    let (ty, nullable) = column_type(ty);
    ColumnDef {
        id: ColumnId(id),
        name: name.into(),
        ty,
        nullable,
        default: ColumnDefault::None,
        on_update_now: false,
        auto_increment: false,
        comment: String::new(),
        invisible: false,
        added_default: Value::Null,
        generated: None,
    }
}

/// `primary a, b`, `unique name: a`, `key name: a(3) desc`.
pub fn index_def(def: &TableDef, id: u32, text: &str) -> IndexDef {
    let (kind, rest) = text.split_once(' ').unwrap_or((text, ""));
    let (name, parts) = rest.split_once(':').unwrap_or(("PRIMARY", rest));
    let part = |text: &str| {
        let (column, descending) = match text.trim().strip_suffix(" desc") {
            Some(column) => (column, true),
            None => (text.trim(), false),
        };
        let (column, prefix) = match column.split_once('(') {
            Some((column, n)) => (column, Some(n.trim_end_matches(')').parse().expect("prefix"))),
            None => (column, None),
        };
        let position = def.column_position(column).unwrap_or_else(|| panic!("column {column}"));
        IndexPart { column: def.columns[position].id, prefix, descending }
    };
    IndexDef {
        id: IndexId(id),
        name: name.trim().into(),
        kind: match kind {
            "primary" => IndexKind::Primary,
            "unique" => IndexKind::Unique,
            "fulltext" => IndexKind::FullText,
            _ => IndexKind::Secondary,
        },
        parts: parts.split(',').filter(|p| !p.trim().is_empty()).map(part).collect(),
        comment: String::new(),
        invisible: false,
        using: None,
        generated: false,
        multi_valued: false,
        parser: Default::default(),
    }
}

fn split_outside_parentheses(text: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    let mut depth = 0;
    for c in text.chars() {
        match c {
            '(' => depth += 1,
            ')' => depth -= 1,
            _ => {}
        }
        if c == ',' && depth == 0 {
            parts.push(String::new());
        } else {
            parts.last_mut().unwrap().push(c);
        }
    }
    parts
}

pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02x}")).collect()
}

/// Compares with a golden file, or writes it if UPDATE_GOLDEN is set.
pub fn golden(file: &str, actual: &str) {
    let path = format!("{}/tests/golden/{file}", env!("CARGO_MANIFEST_DIR"));
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&path, actual).expect("golden file");
        return;
    }
    let expected = std::fs::read_to_string(&path).expect("golden file");
    for (n, (e, a)) in expected.lines().zip(actual.lines()).enumerate() {
        assert_eq!(a, e, "{file} line {}; UPDATE_GOLDEN=1 rewrites the file", n + 1);
    }
    assert_eq!(actual.lines().count(), expected.lines().count(), "{file} has another number of lines");
}

/// An engine and its catalog in a directory that goes with it.
pub struct Server {
    pub catalog: Arc<Catalog>,
    pub engine: Arc<Engine>,
    /// Before the directory goes.
    pub closed: Closed,
    pub dir: tempfile::TempDir,
}

/// Waits, when it is dropped, until nobody has the engine any more: a thread in the background may be the last.
pub struct Closed(Weak<Store>);

impl Drop for Closed {
    fn drop(&mut self) {
        let began = Instant::now();
        while self.0.strong_count() > 0 && began.elapsed() < Duration::from_secs(20) {
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

pub fn server() -> Server {
    open(tempfile::tempdir().expect("directory"))
}

pub fn open(dir: tempfile::TempDir) -> Server {
    open_with(dir, EngineOptions::default())
}

pub fn open_with(dir: tempfile::TempDir, options: EngineOptions) -> Server {
    let options = EngineOptions { block_cache_bytes: Some(8 << 20), write_buffer_bytes: Some(4 << 20), ..options };
    let engine = Engine::open(dir.path(), options, EngineHooks::default()).expect("engine");
    let catalog = Catalog::open(&engine).expect("catalog");
    let closed = Closed(Arc::downgrade(engine.store()));
    Server { catalog, engine, closed, dir }
}

/// DDL that waits five seconds for locks.
pub fn context() -> DdlContext {
    DdlContext {
        wait: Duration::from_secs(5),
        interrupt: interrupt(),
        progress: Default::default(),
        foreign_keys: Default::default(),
        note: None,
    }
}

pub fn interrupt() -> Arc<Interrupt> {
    Arc::new(Interrupt::new(1))
}

/// The table `db.t`.
pub fn table(server: &Server) -> Arc<Table> {
    server.catalog.table("db", "t").expect("catalog").expect("table")
}

/// A transaction of several statements at REPEATABLE READ.
pub fn begin(server: &Server) -> Transaction {
    let isolation = Isolation::RepeatableRead;
    let (autocommit, read_only, snapshot_isolation) = (false, false, true);
    server.engine.begin(TxnOptions { isolation, autocommit, read_only, snapshot_isolation, interrupt: interrupt() })
}
