//! A table in pieces of its primary key: the conditions of a piece, columns as they are read, values as they are written.
//!
//! A piece is what is behind one key and not behind another: `(a, b) > (1, 'x') AND (a, b) <= (7, 'c')`, written so that an index is used:
//! `a >= 1 AND (a > 1 OR (a = 1 AND b > 'x'))`.
//!
//! Text is read and written in utf8mb4, which has all characters. A FLOAT is read as the DOUBLE that it is, since its own text is rounded.

use crate::client::{name, put_quoted};
use crate::definitions::{Column, Table};

/// How the values of a type are written and compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    Integer,
    Number,
    Float,
    Bit,
    Bytes,
    Geometry,
    Member,
    Json,
    Text,
    Time,
}

pub fn class(data_type: &str) -> Class {
    match data_type {
        "tinyint" | "smallint" | "mediumint" | "int" | "bigint" | "year" => Class::Integer,
        "decimal" | "double" => Class::Number,
        "float" => Class::Float,
        "bit" => Class::Bit,
        "binary" | "varbinary" | "tinyblob" | "blob" | "mediumblob" | "longblob" => Class::Bytes,
        "enum" | "set" => Class::Member,
        "json" => Class::Json,
        "date" | "time" | "datetime" | "timestamp" => Class::Time,
        "char" | "varchar" | "tinytext" | "text" | "mediumtext" | "longtext" | "inet4" | "inet6" | "uuid" => Class::Text,
        // Geometries by whatever name, VECTOR.
        _ => Class::Geometry,
    }
}

/// A key's values, none of which is NULL.
pub type Key = Vec<Vec<u8>>;

impl Column {
    pub fn class(&self) -> Class {
        class(&self.data_type)
    }

    /// The expression by which it is read.
    pub fn read(&self) -> String {
        let column = name(&self.name);
        match self.class() {
            Class::Float => format!("{column} * 1e0"),
            Class::Bit => format!("{column} + 0"),
            _ => column,
        }
    }

    /// A text that is the same on both servers for the same value.
    pub fn compared(&self) -> String {
        let column = name(&self.name);
        match self.class() {
            Class::Float => format!("{column} * 1e0"),
            Class::Bit | Class::Member => format!("{column} + 0"),
            Class::Bytes => format!("LENGTH({column}), {column}"),
            Class::Geometry => format!("HEX({column})"),
            Class::Json => format!("CAST({column} AS CHAR)"),
            Class::Text => format!("LENGTH({column}), CONVERT({column} USING utf8mb4)"),
            Class::Integer | Class::Number | Class::Time => column,
        }
    }

    pub fn put_value(&self, out: &mut Vec<u8>, value: Option<&[u8]>) {
        let Some(value) = value else { return out.extend_from_slice(b"NULL") };
        match self.class() {
            Class::Integer | Class::Number | Class::Float | Class::Bit => out.extend_from_slice(value),
            Class::Bytes | Class::Geometry => {
                out.extend_from_slice(b"_binary");
                put_quoted(out, value);
            }
            Class::Member | Class::Json | Class::Text | Class::Time => put_quoted(out, value),
        }
    }

    fn literal(&self, value: &[u8]) -> String {
        match self.class() {
            Class::Integer | Class::Number => String::from_utf8_lossy(value).into_owned(),
            Class::Bytes => value.iter().fold("x'".to_string(), |text, byte| text + &format!("{byte:02x}")) + "'",
            _ => crate::client::quoted(&String::from_utf8_lossy(value)),
        }
    }
}

impl Table {
    pub fn stored(&self) -> impl Iterator<Item = &Column> {
        self.columns.iter().filter(|column| !column.is_generated)
    }

    pub fn key_columns(&self) -> Vec<&Column> {
        self.key.iter().filter_map(|at| self.columns.get(*at)).collect()
    }

    /// Whether the order of the key is that of `>`, on both servers.
    pub fn has_pieces(&self) -> bool {
        let ordered = |column: &&Column| {
            matches!(column.class(), Class::Integer | Class::Number | Class::Bytes | Class::Text | Class::Time)
        };
        !self.key.is_empty()
            && self.key_columns().iter().all(ordered)
            && self.key.iter().all(|at| !self.columns[*at].is_generated)
    }

    /// Positions of the key's columns among those that are stored.
    pub fn key_among_stored(&self) -> Vec<usize> {
        let of = |at: &usize| self.columns.iter().take(*at).filter(|column| !column.is_generated).count();
        self.key.iter().map(of).collect()
    }

    pub fn ordered(&self) -> String {
        self.key_columns().iter().map(|column| name(&column.name)).collect::<Vec<_>>().join(", ")
    }

    /// WHERE of the piece behind `low` and up to `high`.
    pub fn between(&self, low: Option<&Key>, high: Option<&Key>) -> String {
        let mut parts: Vec<String> = Vec::new();
        parts.extend(low.map(|key| self.beside(key, '>', "")));
        parts.extend(high.map(|key| self.beside(key, '<', "=")));
        if parts.is_empty() { String::new() } else { format!(" WHERE {}", parts.join(" AND ")) }
    }

    fn beside(&self, key: &Key, sign: char, last: &str) -> String {
        let columns: Vec<(String, String)> =
            self.key_columns().iter().zip(key).map(|(column, value)| (name(&column.name), column.literal(value))).collect();
        let mut text = String::new();
        for (n, (column, value)) in columns.iter().enumerate().rev() {
            text = match n + 1 == columns.len() {
                true => format!("{column} {sign}{last} {value}"),
                false => format!("({column} {sign} {value} OR ({column} = {value} AND {text}))"),
            };
        }
        match columns.first() {
            Some((column, value)) if columns.len() > 1 => format!("{column} {sign}= {value} AND {text}"),
            _ => text,
        }
    }

    /// `a = 1 AND b = 'x'`.
    pub fn at(&self, key: &Key) -> String {
        let same = |(column, value): (&&Column, &Vec<u8>)| format!("{} = {}", name(&column.name), column.literal(value));
        self.key_columns().iter().zip(key).map(same).collect::<Vec<_>>().join(" AND ")
    }

    pub fn shown_key(&self, key: &Key) -> String {
        let shown = |(column, value): (&&Column, &Vec<u8>)| format!("{}={}", column.name, column.literal(value));
        self.key_columns().iter().zip(key).map(shown).collect::<Vec<_>>().join(", ")
    }
}

/// A key as it is kept: each value in hexadecimal, with commas between.
pub fn encode(key: &Key) -> String {
    let hex = |value: &Vec<u8>| value.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    key.iter().map(hex).collect::<Vec<_>>().join(",")
}

/// `None` for an empty text.
pub fn decode(text: &str) -> Option<Key> {
    let byte = |pair: &[u8]| std::str::from_utf8(pair).ok().and_then(|pair| u8::from_str_radix(pair, 16).ok());
    let value = |hex: &str| hex.as_bytes().chunks(2).map(byte).collect::<Option<Vec<u8>>>();
    if text.is_empty() { None } else { text.split(',').map(value).collect() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Table {
        let column = |name: &str, data_type: &str| Column {
            name: name.to_string(),
            data_type: data_type.to_string(),
            is_generated: name == "g",
        };
        Table {
            database: "d".to_string(),
            name: "t".to_string(),
            engine: "InnoDB".to_string(),
            columns: vec![column("g", "int"), column("a", "int"), column("b", "varchar"), column("c", "blob")],
            key: vec![1, 2],
            rows: 0,
            row_bytes: 0,
            is_exact: false,
        }
    }

    #[test]
    fn pieces_are_conditions() {
        let table = table();
        let (low, high) = (vec![b"1".to_vec(), b"it's".to_vec()], vec![b"7".to_vec(), b"c".to_vec()]);
        assert_eq!(
            table.between(Some(&low), Some(&high)),
            " WHERE `a` >= 1 AND (`a` > 1 OR (`a` = 1 AND `b` > 'it\\'s')) AND `a` <= 7 AND (`a` < 7 OR (`a` = 7 AND `b` <= 'c'))"
        );
        assert_eq!(table.between(None, None), "");
        assert_eq!(table.key_among_stored(), [0, 1]);
        assert!(table.has_pieces());
    }

    #[test]
    fn keys_are_kept() {
        let key = vec![b"1".to_vec(), vec![], vec![0, 0xff]];
        assert_eq!(encode(&key), "31,,00ff");
        assert_eq!(decode("31,,00ff"), Some(key));
        assert_eq!(decode(""), None);
    }
}
