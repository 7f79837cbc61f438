//! Random tables: columns of every type, indexes, and rows with values at the edges.
//!
//! Each table has an `id` with distinct values, so that a total order exists and single rows can be taken away when a
//! failure is made smaller. Not every table has a primary key.

use crate::random::Random;

/// What a column holds, as far as the generator cares.
#[derive(Clone, Copy, PartialEq)]
pub enum Class {
    Number,
    Text,
    Bytes,
    Date,
    Time,
    DateTime,
    Json,
}

pub struct Column {
    pub name: String,
    pub class: Class,
}

pub struct Table {
    pub name: String,
    pub columns: Vec<Column>,
    pub create: String,
    /// The INSERT of each row; row i has id i + 1.
    pub rows: Vec<String>,
    /// Its `id` is generated where an INSERT gives none.
    pub generates: bool,
}

const TYPES: &[(&str, Class)] = &[
    ("TINYINT", Class::Number),
    ("TINYINT UNSIGNED", Class::Number),
    ("SMALLINT", Class::Number),
    ("MEDIUMINT UNSIGNED", Class::Number),
    ("INT", Class::Number),
    ("INT", Class::Number),
    ("INT UNSIGNED", Class::Number),
    ("BIGINT", Class::Number),
    ("BIGINT UNSIGNED", Class::Number),
    ("BOOLEAN", Class::Number),
    ("DECIMAL(10,2)", Class::Number),
    ("DECIMAL(5,0)", Class::Number),
    ("DECIMAL(30,10)", Class::Number),
    ("FLOAT", Class::Number),
    ("DOUBLE", Class::Number),
    ("FLOAT(5,2)", Class::Number),
    ("DOUBLE(10,4)", Class::Number),
    ("BIT(8)", Class::Number),
    ("YEAR", Class::Number),
    ("CHAR(10)", Class::Text),
    ("VARCHAR(20)", Class::Text),
    ("VARCHAR(20)", Class::Text),
    ("VARCHAR(20) COLLATE utf8mb4_general_ci", Class::Text),
    ("VARCHAR(20) COLLATE utf8mb4_bin", Class::Text),
    ("VARCHAR(20) CHARACTER SET latin1", Class::Text),
    ("TEXT", Class::Text),
    ("BINARY(4)", Class::Bytes),
    ("VARBINARY(20)", Class::Bytes),
    ("BLOB", Class::Bytes),
    ("ENUM('a','B','cc')", Class::Text),
    ("SET('x','y','z')", Class::Text),
    ("DATE", Class::Date),
    ("TIME", Class::Time),
    ("TIME(3)", Class::Time),
    ("DATETIME", Class::DateTime),
    ("DATETIME(6)", Class::DateTime),
    ("TIMESTAMP", Class::DateTime),
    ("TIMESTAMP(2)", Class::DateTime),
    ("JSON", Class::Json),
];

pub fn pick<'a, T>(random: &mut Random, of: &'a [T]) -> &'a T {
    &of[random.below(of.len() as u64) as usize]
}

const NUMBERS: &[&str] = &[
    "0",
    "1",
    "1",
    "2",
    "3",
    "5",
    "-1",
    "10",
    "100",
    "127",
    "128",
    "255",
    "2024",
    "65536",
    "2147483647",
    "-2147483648",
    "9223372036854775807",
    "18446744073709551615",
    "0.5",
    "1.5",
    "-2.75",
    "99.99",
    "1e3",
    "1.5e-3",
    "123456789.123456789",
];
const TEXTS: &[&str] = &[
    "''",
    "'a'",
    "'A'",
    "'B'",
    "'abc'",
    "'ABC'",
    "'x'",
    "'x,y'",
    "'cc'",
    "'1'",
    "'12abc'",
    "'1.5'",
    "'2024-01-15'",
    "'ä'",
    "'ß'",
    "'a '",
    "'-7'",
    "'10:11:12'",
    "'日本'",
    "'100%'",
    "'a_b'",
    "'long text that is longer'",
];
const BYTES: &[&str] = &["''", "'a'", "'abc'", "x'00'", "x'61'", "x'FF00'", "x'616263'", "'1'"];
const DATES: &[&str] =
    &["'2024-01-15'", "'2024-02-29'", "'1999-12-31'", "'2000-01-01'", "'0000-00-00'", "'2023-06-30'", "20240115"];
const TIMES: &[&str] = &["'10:11:12'", "'00:00:00'", "'-01:30:00'", "'838:59:59'", "'23:59:59.999'", "101112", "'12:00'"];
const DATETIMES: &[&str] = &[
    "'2024-01-15 10:11:12'",
    "'2024-02-29 23:59:59.999999'",
    "'1999-12-31 00:00:00'",
    "'2024-01-15'",
    "'2038-01-19 03:14:07'",
    "20240115101112",
    "'2000-01-01 12:30:45.5'",
];
const JSONS: &[&str] = &["'1'", "'\"a\"'", "'[1, 2, 3]'", "'{\"a\": 1, \"b\": [true, null]}'", "'null'", "'1.5'", "'{}'"];
/// Values that are wrong for most columns.
const BAD: &[&str] = &[
    "'abc'",
    "'2024-13-45'",
    "'99999999999999999999'",
    "-1",
    "99999999999",
    "'2024-01-15x'",
    "1e40",
    "'much too long for any of the columns'",
    "x'FFFE'",
    "'25:61:61'",
    "'{'",
    "DATE'2024-01-15'",
    "TIME'10:11:12'",
    "''",
    "' 5 '",
    "'5x'",
    "TRUE",
    "DEFAULT",
];

/// A literal for a column of `class`.
pub fn literal(random: &mut Random, class: Class) -> &'static str {
    if random.one_in(8) {
        return "NULL";
    }
    let literals = match class {
        Class::Number => NUMBERS,
        Class::Text => TEXTS,
        Class::Bytes => BYTES,
        Class::Date => DATES,
        Class::Time => TIMES,
        Class::DateTime => DATETIMES,
        Class::Json => JSONS,
    };
    pick::<&'static str>(random, literals)
}

/// A literal that may or may not fit into a column of `class`.
pub fn doubtful(random: &mut Random, class: Class) -> &'static str {
    if random.one_in(3) { pick::<&'static str>(random, BAD) } else { literal(random, class) }
}

pub fn table(random: &mut Random, name: String) -> Table {
    let count = 2 + random.below(5);
    let mut columns = vec![Column { name: "id".into(), class: Class::Number }];
    let keyed = !random.one_in(4);
    let generates = keyed && random.one_in(4);
    let id = match (keyed, generates) {
        (true, true) => "id INT NOT NULL AUTO_INCREMENT PRIMARY KEY",
        (true, false) => "id INT NOT NULL PRIMARY KEY",
        (false, _) => "id INT NOT NULL",
    };
    let mut lines = vec![id.to_string()];
    let mut keys = Vec::new();
    for i in 0..count {
        let (ty, class) = *pick(random, TYPES);
        let column = format!("c{i}");
        let null = if random.one_in(5) { " NOT NULL" } else { "" };
        // An expression may not name a column that is generated.
        let before = columns.last().filter(|before| !generates || before.name != "id");
        let default = default_of(random, class, before, generates);
        lines.push(format!("{column} {ty}{null}{default}"));
        let long = ty == "TEXT" || ty == "BLOB";
        if class != Class::Json && random.one_in(3) {
            let prefix = if long { "(5)" } else { "" };
            let kind = if random.one_in(6) { "UNIQUE KEY" } else { "KEY" };
            let order = if random.one_in(5) { " DESC" } else { "" };
            keys.push(format!("{kind} k{i} ({column}{prefix}{order})"));
        }
        columns.push(Column { name: column, class });
    }
    lines.extend(keys);
    let create = format!("CREATE TABLE {name} ({})", lines.join(", "));
    let rows = (0..4 + random.below(8)).map(|i| insert(random, &name, &columns, i + 1)).collect();
    Table { name, columns, create, rows, generates }
}

/// An expression over the column before, sometimes.
fn default_of(random: &mut Random, class: Class, before: Option<&Column>, generates: bool) -> String {
    let Some(before) = before.filter(|_| random.one_in(6)) else { return String::new() };
    match (class, before.class) {
        (Class::Number, Class::Number) => format!(" DEFAULT ({} + 1)", before.name),
        (Class::Text, _) => format!(" DEFAULT (LEFT({}, 3))", before.name),
        (Class::Date, Class::Date | Class::DateTime) => format!(" DEFAULT ({} + INTERVAL 1 DAY)", before.name),
        (Class::Json, _) if !generates => " DEFAULT (JSON_ARRAY(id))".to_string(),
        _ => String::new(),
    }
}

fn insert(random: &mut Random, table: &str, columns: &[Column], id: u64) -> String {
    let values: Vec<&str> = columns.iter().skip(1).map(|column| literal(random, column.class)).collect();
    let values = values.iter().map(|v| format!(", {v}")).collect::<String>();
    format!("INSERT IGNORE INTO {table} VALUES ({id}{values})")
}
