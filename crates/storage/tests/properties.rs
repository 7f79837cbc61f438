//! Properties of keys and rows: key order is value order, everything reads back, damage is an error.

mod common;

use std::cmp::Ordering;
use std::ops::Bound;

use common::{column_def, table_def};
use proptest::prelude::*;
use vaquita_storage::layout::{add_layout, instant_change};
use vaquita_storage::{Entry, IndexCodec, RowCodec};
use vaquita_types::Value;
use vaquita_types::charset::{Charset, charset, collation};
use vaquita_types::datatype::{ColumnType, TypeKind};
use vaquita_types::decimal::Decimal;
use vaquita_types::json::Json;
use vaquita_types::schema::TableDef;
use vaquita_types::temporal::{Date, DateTime, Time};

/// Types whose order is tested; the values come from `any_value`.
const ORDERED: &[&str] = &[
    "tinyint",
    "smallint unsigned",
    "mediumint",
    "int",
    "int unsigned",
    "bigint",
    "bigint unsigned",
    "float",
    "double",
    "decimal(5,2)",
    "decimal(18,4)",
    "decimal(30,10)",
    "decimal(65,0)",
    "bit(20)",
    "year",
    "date",
    "time",
    "time(3)",
    "datetime",
    "datetime(4)",
    "timestamp(6)",
    "binary(3)",
    "varbinary(10)",
    "varchar(10) utf8mb4_bin",
    "varchar(10) utf8mb4_0900_bin",
    "varchar(10)",
    "varchar(10) utf8mb4_general_ci",
    "varchar(10) latin1_swedish_ci",
    "char(5) utf8mb4_bin",
    "blob",
];

fn any_value(ty: &ColumnType) -> BoxedStrategy<Value> {
    let unsigned_bits = |bits: u32| any::<u64>().prop_map(move |n| Value::UInt(n >> (64 - bits))).boxed();
    let signed_bits = |bits: u32| any::<i64>().prop_map(move |n| Value::Int(n >> (64 - bits))).boxed();
    let bits = match ty.kind {
        TypeKind::TinyInt => 8,
        TypeKind::SmallInt => 16,
        TypeKind::MediumInt => 24,
        TypeKind::Int => 32,
        _ => 64,
    };
    let fsp_unit = 10i64.pow(6 - ty.decimals.min(6) as u32);
    let (precision, scale) = (ty.length, ty.decimals);
    match ty.kind {
        _ if ty.is_integer() && ty.unsigned => unsigned_bits(bits),
        _ if ty.is_integer() => prop_oneof![signed_bits(bits), (-3i64..3).prop_map(Value::Int)].boxed(),
        TypeKind::Bit => unsigned_bits(ty.length),
        TypeKind::Year => prop_oneof![Just(0u64), 1901..=2155u64].prop_map(Value::UInt).boxed(),
        TypeKind::Float => {
            prop_oneof![Just(0.0f32), Just(-0.0f32), -10.0..10.0f32, any::<f32>().prop_filter("finite", |f| f.is_finite())]
                .prop_map(|f| Value::Float(f as f64))
                .boxed()
        }
        TypeKind::Double => {
            prop_oneof![Just(0.0), Just(-0.0), -10.0..10.0, any::<f64>().prop_filter("finite", |f| f.is_finite())]
                .prop_map(Value::Float)
                .boxed()
        }
        TypeKind::Decimal => ("-?[0-9]{1,65}", 0..=precision as usize)
            .prop_map(move |(digits, keep)| {
                let (sign, digits) = digits.split_at(digits.starts_with('-') as usize);
                let digits = &digits[..digits.len().min(keep.max(1))];
                let (whole, fraction) = digits.split_at(digits.len().saturating_sub(scale as usize));
                let text = format!("{sign}0{whole}.{fraction}0");
                let parsed = Decimal::parse(text.as_bytes()).value;
                Value::Decimal(parsed.fit(precision, scale).unwrap_or_else(|max| max))
            })
            .boxed(),
        TypeKind::Date => {
            (0..=9999u32, 0..=12u32, 0..=31u32).prop_map(|(y, m, d)| Value::Date(Date::new(y, m, d).unwrap())).boxed()
        }
        TypeKind::DateTime | TypeKind::Timestamp => (0..=9999u32, 0..=12u32, 0..=31u32, 0..86_400u32, 0..1_000_000i64)
            .prop_map(move |(y, m, d, s, us)| {
                let micros = (us / fsp_unit * fsp_unit) as u32;
                Value::DateTime(DateTime::new(Date::new(y, m, d).unwrap(), s / 3600, s / 60 % 60, s % 60, micros).unwrap())
            })
            .boxed(),
        TypeKind::Time => (-3_020_399_000_000i64..=3_020_399_000_000)
            .prop_map(move |us| Value::Time(Time::from_micros(us / fsp_unit * fsp_unit).unwrap()))
            .boxed(),
        TypeKind::Enum | TypeKind::Set => (0..4u64).prop_map(Value::UInt).boxed(),
        TypeKind::Json => prop_oneof![any::<i64>().prop_map(Json::Int), any::<bool>().prop_map(Json::Bool), Just(Json::Null)]
            .prop_map(Value::Json)
            .boxed(),
        TypeKind::Binary => {
            prop::collection::vec(prop_oneof![Just(0u8), any::<u8>()], ty.length as usize).prop_map(Value::from).boxed()
        }
        TypeKind::Char => "[a-c ]{0,4}[a-c]|".prop_map(Value::from).boxed(),
        _ if ty.is_text() => {
            let charset = charset(ty.collation);
            let utf8 = Charset::by_name("utf8mb4").expect("utf8mb4");
            let text = "[aAbBéz \t\u{1}ß]{0,6}".prop_map(move |s| Value::bytes(utf8.convert(charset, s.as_bytes()).bytes));
            text.boxed()
        }
        _ => prop::collection::vec(prop_oneof![Just(0u8), Just(0xFFu8), Just(0x20), any::<u8>()], 0..8)
            .prop_map(Value::from)
            .boxed(),
    }
}

fn compare(a: &Value, b: &Value, ty: &ColumnType) -> Ordering {
    match (a, b) {
        (Value::Null, Value::Null) => Ordering::Equal,
        (Value::Null, _) => Ordering::Less,
        (_, Value::Null) => Ordering::Greater,
        (Value::Int(a), Value::Int(b)) => a.cmp(b),
        (Value::UInt(a), Value::UInt(b)) => a.cmp(b),
        (Value::Float(a), Value::Float(b)) => a.partial_cmp(b).expect("no NaN"),
        (Value::Decimal(a), Value::Decimal(b)) => a.cmp(b),
        (Value::Date(a), Value::Date(b)) => a.cmp(b),
        (Value::DateTime(a), Value::DateTime(b)) => a.cmp(b),
        (Value::Time(a), Value::Time(b)) => a.cmp(b),
        (Value::Bytes(a), Value::Bytes(b)) => collation(ty.collation).compare(a, b),
        other => panic!("{other:?}"),
    }
}

/// An index, the type of its first part, and two values.
fn pair() -> impl Strategy<Value = (&'static str, ColumnType, Value, Value)> {
    prop::sample::select(ORDERED).prop_flat_map(|text| {
        let (ty, _) = common::column_type(text);
        let one = prop_oneof![1 => Just(Value::Null), 9 => any_value(&ty)];
        (Just(text), Just(ty), one.clone(), one).prop_map(|(text, ty, a, b)| (text, ty, a, b))
    })
}

fn indexes(ty: &str) -> Vec<IndexCodec> {
    let prefix = if ty == "blob" { "c(20)" } else { "c" };
    let def = table_def(
        "t",
        &format!("c {ty} null, id int"),
        &["primary id", &format!("key a: {prefix}"), &format!("key d: {prefix} desc")],
    );
    (1..3).map(|i| IndexCodec::new(&def, i).expect("index")).collect()
}

fn key(index: &IndexCodec, value: &Value) -> Vec<u8> {
    let mut out = Vec::new();
    index.encode_values(std::slice::from_ref(value), &mut out).expect("key");
    out
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4000, ..ProptestConfig::default() })]

    #[test]
    fn keys_compare_as_values((text, ty, a, b) in pair()) {
        let indexes = indexes(text);
        let order = compare(&a, &b, &ty);
        let (x, y) = (key(&indexes[0], &a), key(&indexes[0], &b));
        prop_assert_eq!(x.cmp(&y), order, "{} {:?} {:?}", text, a, b);
        prop_assert!(x == y || !x.starts_with(&y) && !y.starts_with(&x), "{} {:?} begins {:?}", text, a, b);
        prop_assert_eq!(key(&indexes[1], &a).cmp(&key(&indexes[1], &b)), order.reverse(), "{} desc {:?} {:?}", text, a, b);
    }

    #[test]
    fn ranges_hold_what_lies_between((text, ty, a, b) in pair(), inclusive in any::<bool>(), second in any::<i32>()) {
        for index in indexes(text) {
            let exact = compare(&a, &b, &ty);
            // A prefix part includes its bounds.
            let equal_is_in = inclusive || (text == "blob" && !b.is_null());
            let mut entry = Vec::new();
            index.encode_values(&[a.clone(), Value::Int(second as i64)], &mut entry).unwrap();
            let bound = if inclusive { Bound::Included(&b) } else { Bound::Excluded(&b) };
            let above = index.range(&[], bound, Bound::Unbounded).unwrap();
            let below = index.range(&[], Bound::Unbounded, bound).unwrap();
            let equal = index.range(std::slice::from_ref(&b), Bound::Unbounded, Bound::Unbounded).unwrap();
            let holds = |r: &vaquita_storage::KeyRange| r.lower <= entry && entry < r.upper;
            prop_assert_eq!(holds(&above), exact.is_gt() || exact.is_eq() && equal_is_in);
            prop_assert_eq!(holds(&below), exact.is_lt() || exact.is_eq() && equal_is_in);
            prop_assert_eq!(holds(&equal), exact.is_eq());
        }
    }
}

/// All kinds of columns, some in the key; a row of values for them.
fn wide_table() -> TableDef {
    table_def(
        "t",
        "a int, b varchar(10) utf8mb4_0900_bin, c varchar(10) null, d decimal(10,2) null, e decimal(40,5), f blob null, g json null, \
         h datetime(3) null, i time, j float null, k binary(3), l varbinary(9), m bigint unsigned null, n year, o char(5) utf8mb4_bin null, \
         p date null, q double, r enum(a,b,c) null, s set(a,b) null, t bit(9) null",
        &["primary b desc, a, k", "unique u: c, d", "key v: h, l", "key w: a desc, q"],
    )
}

fn row(def: &TableDef) -> BoxedStrategy<Vec<Value>> {
    def.columns
        .iter()
        .map(|c| {
            let value = any_value(&c.ty);
            if c.nullable { prop_oneof![2 => Just(Value::Null), 5 => value].boxed() } else { value }
        })
        .collect::<Vec<_>>()
        .boxed()
}

fn stored(codec: &RowCodec, row: &[Value]) -> (Vec<u8>, Vec<u8>) {
    let (mut key, mut value) = (Vec::new(), Vec::new());
    codec.clustered().encode_clustered(row, 0, &mut key).expect("key");
    codec.encode_row(row, &mut value).expect("row");
    (key, value)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1500, ..ProptestConfig::default() })]

    #[test]
    fn rows_read_back(row in row(&wide_table())) {
        let codec = RowCodec::new(&wide_table()).unwrap();
        let (key, value) = stored(&codec, &row);
        prop_assert_eq!(codec.decode_row(&key, &value).unwrap(), row.clone());
        for index in codec.indexes().iter().skip(1) {
            let (mut entry, mut rest, mut clustered) = (Vec::new(), Vec::new(), Vec::new());
            index.encode_entry(&row, 0, &mut entry, &mut rest).unwrap();
            index.clustered_key(Entry { key: &entry, value: &rest }, &mut clustered).unwrap();
            prop_assert_eq!(&clustered, &key, "clustered key from {}", index.name());
        }
    }

    /// Columns are added, dropped, widened and moved; rows of all ages read the same.
    #[test]
    fn old_layouts_stay_readable(rows in prop::collection::vec(row(&wide_table()), 3), drop in 2..19usize, move_to in 0..18usize) {
        let first = wide_table();
        let old = stored(&RowCodec::new(&first).unwrap(), &rows[0]);

        // c: VARCHAR(10) to VARCHAR(20); d: DECIMAL(10,2) to (20,2); q becomes nullable.
        let mut second = first.clone();
        second.columns[2].ty.length = 20;
        second.columns[16].nullable = true;
        second.columns[18].ty.members = Some([&b"a"[..], b"b", b"c", b"d", b"e", b"f", b"g", b"h", b"i"].map(Box::from).into());
        let mut added = column_def(40, "z varchar(5)");
        added.added_default = Value::from("new");
        second.columns.insert(move_to, added);
        second.indexes.retain(|i| i.name != "w");
        prop_assert!(instant_change(&first, &second).unwrap());
        add_layout(&mut second);
        let second_codec = RowCodec::new(&second).unwrap();
        let mut expected = rows[0].clone();
        expected.insert(move_to, Value::from("new"));
        prop_assert_eq!(second_codec.decode_row(&old.0, &old.1).unwrap(), expected.clone());

        // A column that is in no index goes.
        let mut third = second.clone();
        let indexed = |def: &TableDef, p: usize| def.indexes.iter().any(|i| i.parts.iter().any(|part| part.column == def.columns[p].id));
        let drop = (drop..third.columns.len()).find(|p| !indexed(&third, *p)).unwrap_or(move_to);
        if !indexed(&third, drop) {
            third.columns.remove(drop);
            prop_assert!(instant_change(&second, &third).unwrap());
            add_layout(&mut third);
            let codec = RowCodec::new(&third).unwrap();
            expected.remove(drop);
            prop_assert_eq!(codec.decode_row(&old.0, &old.1).unwrap(), expected.clone());
            let newest = stored(&codec, &expected);
            prop_assert_eq!(codec.decode_row(&newest.0, &newest.1).unwrap(), expected);
        }
    }

    /// Damaged keys and rows are errors that name the table, or other values; never a panic.
    #[test]
    fn damage_is_an_error(row in row(&wide_table()), at in any::<prop::sample::Index>(), to in any::<u8>(), cut in any::<bool>()) {
        let codec = RowCodec::new(&wide_table()).unwrap();
        let (key, value) = stored(&codec, &row);
        let damage = |bytes: &[u8]| {
            let mut bytes = bytes.to_vec();
            let at = at.index(bytes.len());
            if cut { bytes.truncate(at) } else { bytes[at] = to }
            bytes
        };
        for (k, v) in [(damage(&key), value.clone()), (key.clone(), damage(&value))] {
            if let Err(e) = codec.decode_row(&k, &v) {
                prop_assert!(e.message().contains("db.t"), "{}", e.message());
            }
        }
        for index in codec.indexes().iter().skip(1) {
            let (mut entry, mut rest, mut out) = (Vec::new(), Vec::new(), Vec::new());
            index.encode_entry(&row, 0, &mut entry, &mut rest).unwrap();
            for (k, v) in [(damage(&entry), rest.clone()), (entry.clone(), if rest.is_empty() { vec![to] } else { damage(&rest) })] {
                let entry = Entry { key: &k, value: &v };
                let _ = index.clustered_key(entry, &mut out);
                for n in 0..index.entry_parts().len() {
                    if let Err(e) = index.part_value(n, entry) {
                        prop_assert!(e.message().contains("db.t"), "{}", e.message());
                    }
                }
            }
        }
    }
}
