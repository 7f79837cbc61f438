//! Golden files of stored bytes: `types.txt` one column at a time, `rows.txt` rows with all their entries.
//!
//! The bytes are a format on disk: a difference here means that existing data no longer reads.

mod common;

use common::{column_type, golden, hex, table_def, value};
use vaquita_storage::{Entry, IndexCodec, RowCodec};
use vaquita_types::Value;
use vaquita_types::convert::to_text;
use vaquita_types::schema::TableDef;

fn input(file: &str) -> String {
    let path = format!("{}/tests/golden/{file}", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(path).expect("golden file")
}

/// `type <tab> value => row bytes, key bytes, descending key bytes [, restored]`
#[test]
fn types() {
    let mut out = String::new();
    for line in input("types.txt").lines() {
        let case = line.split(" => ").next().unwrap_or("");
        let Some((ty, text)) = case.split_once('\t') else {
            out.push_str(&format!("{line}\n"));
            continue;
        };
        out.push_str(&format!("{case} => {}\n", type_line(ty, text)));
    }
    golden("types.txt", &out);
}

fn type_line(ty: &str, text: &str) -> String {
    let (column, _) = column_type(ty);
    let value = value(text, &column);
    let key_part = if ty.starts_with("text") || ty.starts_with("blob") { "c(20)" } else { "c" };
    let indexes = [format!("key k: {key_part}"), format!("key d: {key_part} desc")];
    let indexes: Vec<&str> = if ty.starts_with("json") { vec![] } else { indexes.iter().map(String::as_str).collect() };
    let def = table_def("t", &format!("c {ty}"), &indexes);
    let codec = RowCodec::new(&def).expect("codec");
    let row = [value.clone()];
    let mut bytes = Vec::new();
    codec.encode_row(&row, &mut bytes).expect("row");
    let mut parts = vec![format!("row {}", hex(&bytes[2..]))];
    for (index, name) in codec.indexes().iter().skip(1).zip(["key", "desc"]) {
        let (mut key, mut rest) = (Vec::new(), Vec::new());
        index.encode_entry(&row, 0, &mut key, &mut rest).expect("entry");
        let end = key.len() - 8;
        parts.push(format!("{name} {}", hex(&key[4..end])));
        let restored =
            index.part_value(0, Entry { key: &key, value: &rest }).expect("part").map(|v| v.to_value().expect("value"));
        if let Some(restored) = restored {
            assert_eq!(restored, value, "{ty} {text} from its key");
        } else if name == "key" {
            parts.push("not restorable".into());
        }
    }
    let mut clustered = Vec::new();
    codec.clustered().encode_clustered(&row, 7, &mut clustered).expect("key");
    assert_eq!(codec.decode_row(&clustered, &bytes).expect("row"), row, "{ty} {text} from its row");
    parts.join(" | ")
}

/// Blocks of `table`, index lines and `row` lines, each row followed by its entries (`> …`).
#[test]
fn rows() {
    let mut out = String::new();
    let text = input("rows.txt");
    for block in text.split("\n\n") {
        let lines: Vec<&str> = block.lines().filter(|l| !l.starts_with("> ")).collect();
        let Some(columns) = lines.iter().find_map(|l| l.strip_prefix("table ")) else {
            out.push_str(&format!("{}\n\n", block.trim_end()));
            continue;
        };
        let is_index = |l: &&&str| ["primary", "unique", "key"].iter().any(|k| l.starts_with(k));
        let indexes: Vec<&str> = lines.iter().filter(is_index).copied().collect();
        let def = table_def("t", columns, &indexes);
        for line in &lines {
            out.push_str(&format!("{line}\n"));
            if let Some(row) = line.strip_prefix("row ") {
                entries(&def, row, &mut out);
            }
        }
        out.push('\n');
    }
    golden("rows.txt", &format!("{}\n", out.trim_end()));
}

fn entries(def: &TableDef, row: &str, out: &mut String) {
    let row: Vec<Value> = row.split('|').zip(&def.columns).map(|(text, c)| value(text.trim(), &c.ty)).collect();
    let codec = RowCodec::new(def).expect("codec");
    let (mut clustered, mut bytes) = (Vec::new(), Vec::new());
    codec.clustered().encode_clustered(&row, 1, &mut clustered).expect("key");
    codec.encode_row(&row, &mut bytes).expect("row");
    out.push_str(&format!("> {}: {} = {}\n", codec.clustered().name(), hex(&clustered), hex(&bytes)));
    assert_eq!(codec.decode_row(&clustered, &bytes).expect("row"), row);
    for index in codec.indexes().iter().skip(1) {
        let (mut key, mut rest) = (Vec::new(), Vec::new());
        index.encode_entry(&row, 1, &mut key, &mut rest).expect("entry");
        out.push_str(&format!("> {}: {} = {}{}\n", index.name(), hex(&key), hex(&rest), covered(def, index, &key, &rest)));
        let mut back = Vec::new();
        index.clustered_key(Entry { key: &key, value: &rest }, &mut back).expect("clustered key");
        assert_eq!(back, clustered, "clustered key from {}", index.name());
    }
}

/// The columns that an entry gives back.
fn covered(def: &TableDef, index: &IndexCodec, key: &[u8], rest: &[u8]) -> String {
    let mut columns = Vec::new();
    for (position, column) in def.columns.iter().enumerate() {
        if let Some(part) = index.restorable_part(position)
            && let Some(value) = index.part_value(part, Entry { key, value: rest }).expect("part")
        {
            let value = value.to_value().expect("value");
            let text =
                if value.is_null() { "NULL".into() } else { String::from_utf8_lossy(&to_text(&value, &column.ty)).into_owned() };
            columns.push(format!("{}={text}", column.name));
        }
    }
    if columns.is_empty() { String::new() } else { format!(" covers {}", columns.join(" ")) }
}
