//! Nanoseconds per key, per row and per column on a row of sysbench's table.
//!
//! `cargo run -p vaquita-storage --example codec_bench`

use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;

use vaquita_storage::RowCodec;
use vaquita_storage::layout::fresh_layout;
use vaquita_types::Value;
use vaquita_types::charset::CollationId;
use vaquita_types::datatype::{ColumnType, TypeKind};
use vaquita_types::schema::{
    ColumnDef, ColumnDefault, ColumnId, IndexDef, IndexId, IndexKind, IndexPart, TableDef, TableId, TableOptions,
};

const ROUNDS: u32 = 5_000_000;

fn column(id: u16, name: &str, kind: TypeKind, length: u32) -> ColumnDef {
    ColumnDef {
        id: ColumnId(id),
        name: name.into(),
        ty: ColumnType { length, collation: CollationId::default(), ..ColumnType::new(kind) },
        nullable: false,
        default: ColumnDefault::None,
        on_update_now: false,
        auto_increment: id == 1,
        comment: String::new(),
        invisible: false,
        added_default: Value::Null,
        generated: None,
    }
}

fn index(id: u32, name: &str, kind: IndexKind, column: u16) -> IndexDef {
    let part = IndexPart { column: ColumnId(column), prefix: None, descending: false };
    IndexDef {
        id: IndexId(id),
        name: name.into(),
        kind,
        parts: vec![part],
        comment: String::new(),
        invisible: false,
        using: None,
        generated: false,
        multi_valued: false,
        parser: Default::default(),
    }
}

/// sysbench's `sbtest1`.
fn sbtest() -> TableDef {
    let mut def = TableDef {
        id: TableId(1),
        database: "sbtest".into(),
        name: "sbtest1".into(),
        schema_version: 1,
        columns: vec![
            column(1, "id", TypeKind::Int, 11),
            column(2, "k", TypeKind::Int, 11),
            column(3, "c", TypeKind::Char, 120),
            column(4, "pad", TypeKind::Char, 60),
        ],
        indexes: vec![index(1, "PRIMARY", IndexKind::Primary, 1), index(2, "k_1", IndexKind::Secondary, 2)],
        hidden_rowid: false,
        layouts: Vec::new(),
        collation: CollationId::default(),
        options: TableOptions::default(),
        next_column_id: ColumnId(5),
        created_us: 0,
        foreign_keys: Vec::new(),
        referenced_by: Vec::new(),
        triggers: Vec::new(),
        partitioning: None,
    };
    fresh_layout(&mut def);
    def
}

fn measure(what: &str, mut run: impl FnMut(u32)) {
    let start = Instant::now();
    for n in 0..ROUNDS {
        run(n);
    }
    println!("{what:<40} {:6.1} ns", start.elapsed().as_nanos() as f64 / ROUNDS as f64);
}

fn main() {
    let codec = Arc::new(RowCodec::new(&sbtest()).expect("codec"));
    let digits = |n: usize| Value::from("12345678901-".repeat(10)[..n].to_string());
    let row = [Value::Int(7), Value::Int(500_000), digits(119), digits(59)];
    let (mut key, mut value, mut entry, mut rest) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    measure("primary key from one integer", |n| {
        codec.clustered().encode_value(black_box(&Value::Int(n as i64)), &mut key).expect("key");
        black_box(&key);
    });
    measure("encode a row", |_| {
        codec.encode_row(black_box(&row), &mut value).expect("row");
        black_box(&value);
    });
    measure("secondary entry", |_| {
        codec.indexes()[1].encode_entry(black_box(&row), 0, &mut entry, &mut rest).expect("entry");
        black_box(&entry);
    });
    measure("view and one string column", |_| {
        let view = codec.view(black_box(&key), black_box(&value)).expect("row");
        black_box(view.column(2).expect("column"));
    });
    measure("view and all four columns", |_| {
        let view = codec.view(black_box(&key), black_box(&value)).expect("row");
        for i in 0..4 {
            black_box(view.column(i).expect("column"));
        }
    });
    measure("decode into owned values", |_| {
        black_box(codec.decode_row(black_box(&key), black_box(&value)).expect("row"));
    });
}
