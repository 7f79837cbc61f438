//! Values for `cargo harness dump-test`: SQL literals that fit a column, made from its row in information_schema.COLUMNS.
//!
//! Half of the values lie at the edges of the type: least and greatest, zero, empty, full length, the bytes that a dump has to
//! escape. Strings are written as hexadecimal literals, so that nothing between here and the server changes them.
//! A column of a one-column key gets values that differ by row: a permutation of the row numbers, so that rows do not come
//! in the order of the key. Row and seed decide every value.

use std::fmt::Write;

use crate::random::Random;

/// Greater than the number of rows, and prime: `row * STEP % KEYS` is a permutation.
const KEYS: u64 = 16_777_259;
const STEP: u64 = 7_919_533;
/// One long value in so many rows.
const LONG_VALUES: u64 = 4000;
/// Two of them fit a statement of `max_allowed_packet`.
const LONG_BYTES_MAX: u64 = 2_500_000;

const PIECES: [&str; 30] = [
    "a",
    "B",
    "word",
    " ",
    "  ",
    "'",
    "\"",
    "`",
    "\\",
    "\\'",
    "\\0",
    "\0",
    "\n",
    "\r\n",
    "\t",
    "\u{1a}",
    "%",
    "_",
    ";",
    "--",
    "/*",
    "),(",
    "NULL",
    "é",
    "ß",
    "ñ",
    "表",
    "العربية",
    "e\u{301}",
    "😀",
];

/// A column to fill.
pub struct Column {
    pub name: String,
    data_type: String,
    unsigned: bool,
    /// Characters of a string, digits of a number, bits.
    length: u64,
    /// Digits behind the point; of a geometry its SRID.
    scale: usize,
    charset: String,
    members: u32,
    nullable: bool,
    has_default: bool,
    unique: bool,
    auto_increment: bool,
}

impl Column {
    /// From the values of `FIELDS`.
    pub fn new(fields: &[&str]) -> Option<Column> {
        let [name, data_type, column_type, charset, length, scale, nullable, key, extra, default] = fields else { return None };
        let length = length.parse().unwrap_or(0);
        Some(Column {
            name: name.to_string(),
            data_type: data_type.to_string(),
            unsigned: column_type.contains("unsigned"),
            length,
            scale: scale.parse().unwrap_or(0),
            charset: charset.to_string(),
            members: members(column_type),
            nullable: *nullable == "YES",
            has_default: *default == "1",
            unique: matches!(*key, "PRI" | "UNI"),
            auto_increment: extra.contains("auto_increment"),
        })
    }

    /// What `new` reads, of information_schema.COLUMNS.
    pub const FIELDS: &'static str = "COLUMN_NAME, DATA_TYPE, COLUMN_TYPE, IFNULL(CHARACTER_SET_NAME, 'binary'), \
        COALESCE(CHARACTER_MAXIMUM_LENGTH, NUMERIC_PRECISION, 0), COALESCE(NUMERIC_SCALE, DATETIME_PRECISION, SRS_ID, 0), \
        IS_NULLABLE, COLUMN_KEY, EXTRA, COLUMN_DEFAULT IS NOT NULL";

    /// Appends the literal of this column in row `row`.
    pub fn put(&self, out: &mut String, row: u64, random: &mut Random) {
        if self.auto_increment {
            // 0 is kept by NO_AUTO_VALUE_ON_ZERO; every tenth value is left out.
            return put(out, row + row / 10);
        }
        if self.unique {
            return self.put_distinct(out, row * STEP % KEYS, random);
        }
        if self.nullable && random.one_in(8) {
            return out.push_str("NULL");
        }
        if self.has_default && random.one_in(12) {
            return out.push_str("DEFAULT");
        }
        self.put_any(out, random);
    }

    fn put_distinct(&self, out: &mut String, key: u64, random: &mut Random) {
        match self.data_type.as_str() {
            "varchar" | "char" => {
                let mut text = format!("{key:08}-");
                text.push_str(&self.text(random, self.length.saturating_sub(9).min(12)));
                self.put_text(out, &text);
            }
            "binary" | "varbinary" => {
                let mut bytes = key.to_be_bytes().to_vec();
                bytes.extend(random_bytes(random, self.length.saturating_sub(8)));
                put_hex(out, &bytes);
            }
            "datetime" => put(
                out,
                format_args!("'2001-{:02}-{:02} {:02}:05:59.{:06}'", key % 12 + 1, key / 12 % 28 + 1, key / 336 % 24, key / 8064),
            ),
            "decimal" => put(out, format_args!("{}.{:04}", key as i64 / 10_000 - 500, key % 10_000)),
            _ => put(out, key),
        }
    }

    fn put_any(&self, out: &mut String, random: &mut Random) {
        match self.data_type.as_str() {
            "tinyint" => self.put_integer(out, 8, random),
            "smallint" => self.put_integer(out, 16, random),
            "mediumint" => self.put_integer(out, 24, random),
            "int" => self.put_integer(out, 32, random),
            "bigint" => self.put_integer(out, 64, random),
            "decimal" => self.put_decimal(out, random),
            "float" | "double" => self.put_float(out, random),
            "bit" => put(out, random_bits(random, self.length as u32)),
            // 0 is the empty string of an invalid value.
            "enum" => put(out, if random.one_in(50) { 0 } else { random.below(u64::from(self.members)) + 1 }),
            "set" => put(out, random_bits(random, self.members)),
            "year" => put(out, if random.one_in(20) { 0 } else { 1901 + random.below(255) }),
            "date" | "datetime" | "timestamp" | "time" => self.put_temporal(out, random),
            "json" => {
                let mut text = String::new();
                put_json(&mut text, random, 3);
                put(out, format_args!("CONVERT({} USING utf8mb4)", hex(text.as_bytes())));
            }
            "geometry" | "point" | "linestring" | "polygon" | "multipoint" | "multilinestring" | "multipolygon"
            | "geomcollection" => {
                let text = wkt(&self.data_type, random);
                put(out, format_args!("ST_GeomFromText('{text}', {})", self.scale));
            }
            "binary" | "varbinary" | "tinyblob" | "blob" | "mediumblob" | "longblob" => {
                let length = self.random_length(random);
                put_hex(out, &random_bytes(random, length));
            }
            _ => {
                let length = self.random_length(random);
                let text = self.text(random, length);
                self.put_text(out, &text);
            }
        }
    }

    fn put_integer(&self, out: &mut String, bits: u32, random: &mut Random) {
        if self.unsigned {
            return put(out, random_bits(random, bits));
        }
        let magnitude = random_bits(random, bits - 1) as i64;
        put(out, if random.one_in(2) { magnitude } else { -magnitude - 1 });
    }

    fn put_decimal(&self, out: &mut String, random: &mut Random) {
        let digits = self.length as usize;
        let used = if random.one_in(4) { digits } else { random.below(digits as u64 + 1) as usize };
        let nines = random.one_in(10);
        let mut text: String = (0..used).map(|_| if nines { '9' } else { (b'0' + random.below(10) as u8) as char }).collect();
        text.insert_str(0, &"0".repeat(digits - used));
        text.insert(digits - self.scale, '.');
        let sign = if self.unsigned || random.one_in(2) { "" } else { "-" };
        put(out, format_args!("{sign}{}", text.trim_end_matches('.')));
    }

    fn put_float(&self, out: &mut String, random: &mut Random) {
        let sign = if self.unsigned || random.one_in(2) { "" } else { "-" };
        // A positive number with digits before and after the point, for any (M,D).
        let plain = (random.below(1_000_000) as f64 + 1.0) / 1000.0;
        let (least, greatest) = if self.data_type == "float" { (-38, 38) } else { (-307, 308) };
        match random.below(8) {
            _ if self.scale > 0 => put(out, format_args!("{sign}{plain}")),
            0 => out.push('0'),
            1 if least == -38 => put(out, format_args!("{sign}3.40282e38")),
            1 => put(out, format_args!("{sign}1.7976931348623157e308")),
            2 if least == -38 => put(out, format_args!("{sign}1.17549e-38")),
            2 => put(out, format_args!("{sign}2.2250738585072014e-308")),
            3 | 4 => put(out, format_args!("{sign}{plain}")),
            5 => put(out, format_args!("{sign}{}", random.below(1 << 53) + 1)),
            _ => {
                let exponent = random.below((greatest - least) as u64) as i64 + least;
                put(out, format_args!("{sign}{}.{}e{exponent}", 1 + random.below(9), random.below(1 << 50)));
            }
        }
    }

    fn put_temporal(&self, out: &mut String, random: &mut Random) {
        let fraction = match random.below(4) {
            _ if self.scale == 0 => String::new(),
            0 => String::new(),
            1 => format!(".{}", &"999999"[..self.scale]),
            _ => format!(".{}", &format!("{:06}", random.below(1_000_000))[..self.scale]),
        };
        let clock = match random.below(4) {
            0 => "00:00:00".to_string(),
            1 => "23:59:59".to_string(),
            _ => format!("{:02}:{:02}:{:02}", random.below(24), random.below(60), random.below(60)),
        };
        let zero = !self.nullable && random.one_in(3);
        match self.data_type.as_str() {
            "time" => {
                let sign = if random.one_in(2) { "" } else { "-" };
                match random.below(6) {
                    0 => put(out, format_args!("'{sign}838:59:59'")),
                    1 => put(out, format_args!("'{sign}{} {clock}{fraction}'", random.below(34))),
                    _ => put(out, format_args!("'{sign}{clock}{fraction}'")),
                }
            }
            "timestamp" if zero && self.has_default && self.scale == 0 => out.push_str("'0000-00-00 00:00:00'"),
            "timestamp" => match random.below(5) {
                0 => put(out, format_args!("'1970-01-01 00:00:01{fraction}'")),
                1 => put(out, format_args!("'2038-01-19 03:14:07{fraction}'")),
                _ => put(out, format_args!("'{}-{} {clock}{fraction}'", 1971 + random.below(66), month_and_day(random))),
            },
            data_type => {
                let date = match random.below(8) {
                    0 => "1000-01-01".to_string(),
                    1 => "9999-12-31".to_string(),
                    2 => "2024-02-29".to_string(),
                    3 => format!("{:04}-{}", random.below(1000), month_and_day(random)),
                    // Only columns without NULL have zeros here, for sql_mode may forbid them.
                    _ if zero => ["0000-00-00", "2020-00-00", "2020-12-00"][random.below(3) as usize].to_string(),
                    _ => format!("{}-{}", 1900 + random.below(200), month_and_day(random)),
                };
                if data_type == "date" {
                    put(out, format_args!("'{date}'"));
                } else if date == "9999-12-31" {
                    put(out, format_args!("'{date} {clock}'"));
                } else {
                    put(out, format_args!("'{date} {clock}{fraction}'"));
                }
            }
        }
    }

    fn random_length(&self, random: &mut Random) -> u64 {
        match random.below(16) {
            0 => 0,
            1 if self.length <= 300 => self.length,
            _ if random.one_in(LONG_VALUES) => self.length.min(LONG_BYTES_MAX),
            _ => random.below(self.length.min(40)) + 1,
        }
    }

    /// At most `length` characters, and bytes, if the type counts these.
    fn text(&self, random: &mut Random, length: u64) -> String {
        let counts_bytes = self.data_type.ends_with("text");
        let mut text = String::new();
        let mut left = length;
        while left > 0 {
            if random.one_in(4) {
                let low = if self.charset == "latin1" { random.below(256) } else { random.below(0x500) };
                text.extend(char::from_u32(low as u32));
            } else {
                text.push_str(PIECES[random.below(PIECES.len() as u64) as usize]);
            }
            left = length.saturating_sub(if counts_bytes { text.len() } else { text.chars().count() } as u64);
        }
        let limit = |text: &str| if counts_bytes { text.len() } else { text.chars().count() } as u64 > length;
        while limit(&text) {
            text.pop();
        }
        text
    }

    /// `text` in the column's character set.
    fn put_text(&self, out: &mut String, text: &str) {
        if self.charset == "latin1" {
            let bytes: Vec<u8> = text.chars().map(|c| u8::try_from(u32::from(c)).unwrap_or(0xff)).collect();
            put_hex(out, &bytes);
        } else {
            put_hex(out, text.as_bytes());
        }
    }
}

/// Text of a geometry; coordinates are such that they are in range in any reference system.
fn wkt(data_type: &str, random: &mut Random) -> String {
    let mut point = || {
        let mut coordinate = || (random.below(160_001) as f64 - 80_000.0) / 1000.0;
        format!("{} {}", coordinate(), coordinate())
    };
    let (a, b, c) = (point(), point(), point());
    match data_type {
        "geometry" | "point" => format!("POINT({a})"),
        "linestring" => format!("LINESTRING({a}, {b}, {c})"),
        "polygon" => format!("POLYGON(({a}, {b}, {c}, {a}))"),
        "multipoint" => format!("MULTIPOINT({a}, {b})"),
        "multilinestring" => format!("MULTILINESTRING(({a}, {b}), ({b}, {c}))"),
        "multipolygon" => format!("MULTIPOLYGON((({a}, {b}, {c}, {a})))"),
        _ if random.one_in(4) => "GEOMETRYCOLLECTION()".to_string(),
        _ => format!("GEOMETRYCOLLECTION(POINT({a}), LINESTRING({b}, {c}))"),
    }
}

/// How many members an ENUM or a SET has.
fn members(column_type: &str) -> u32 {
    let mut quoted = false;
    let mut count = 0;
    for c in column_type.chars() {
        match c {
            '\'' => quoted = !quoted,
            ',' if !quoted => count += 1,
            _ => {}
        }
    }
    count + 1
}

/// 0, the greatest of `bits` bits, or one of random size.
fn random_bits(random: &mut Random, bits: u32) -> u64 {
    let all = u64::MAX >> (64 - bits.clamp(1, 64));
    match random.below(8) {
        0 => 0,
        1 => all,
        _ => random.next() & (all >> random.below(u64::from(bits.max(1)))),
    }
}

fn month_and_day(random: &mut Random) -> String {
    format!("{:02}-{:02}", random.below(12) + 1, random.below(28) + 1)
}

fn random_bytes(random: &mut Random, count: u64) -> Vec<u8> {
    let only_ff = random.one_in(20);
    (0..count).map(|_| if only_ff { 0xff } else { random.next() as u8 }).collect()
}

fn put_json(out: &mut String, random: &mut Random, depth: u32) {
    match random.below(if depth == 0 { 7 } else { 10 }) {
        0 => out.push_str(["null", "true", "false"][random.below(3) as usize]),
        1 => put(out, random.next() as i64),
        2 => put(out, random.next()),
        3 => put(out, random.below(1_000_000) as f64 / 1000.0),
        4 => put(out, format_args!("{}.5e{}", random.below(1000), random.below(300) as i64 - 150)),
        5 | 6 => put_json_string(out, random),
        7 => {
            out.push('[');
            for at in 0..random.below(5) {
                out.push_str(if at == 0 { "" } else { ", " });
                put_json(out, random, depth - 1);
            }
            out.push(']');
        }
        _ => {
            out.push('{');
            for at in 0..random.below(6) {
                out.push_str(if at == 0 { "" } else { "," });
                put_json_string(out, random);
                out.push(':');
                put_json(out, random, depth - 1);
            }
            out.push('}');
        }
    }
}

fn put_json_string(out: &mut String, random: &mut Random) {
    out.push('"');
    for _ in 0..random.below(5) {
        for c in PIECES[random.below(PIECES.len() as u64) as usize].chars() {
            match c {
                '"' | '\\' => out.extend(['\\', c]),
                c if c < ' ' => put(out, format_args!("\\u{:04x}", u32::from(c))),
                c => out.push(c),
            }
        }
    }
    out.push('"');
}

fn put(out: &mut String, value: impl std::fmt::Display) {
    let _ = write!(out, "{value}");
}

fn put_hex(out: &mut String, bytes: &[u8]) {
    const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
    out.push_str("x'");
    for byte in bytes {
        out.extend([DIGITS[usize::from(byte >> 4)] as char, DIGITS[usize::from(byte & 15)] as char]);
    }
    out.push('\'');
}

fn hex(bytes: &[u8]) -> String {
    let mut out = String::new();
    put_hex(&mut out, bytes);
    out
}
