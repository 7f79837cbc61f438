//! The six tables of a round: skewed and correlated values, NULLs, and indexes of every shape.
//!
//! Columns are of four kinds (`Kind`), and only values of one kind are compared, so that an answer never depends on a conversion. All tables name
//! their columns alike, so that USING has something to join. What differs only by letter case is equal in the collation; answers are
//! compared without it where a plan may choose among equals. Some are generated, of which rows may hold nothing. The last table has no primary key, and rows that are the same.

use crate::diff_test::schema::pick;
use crate::random::Random;

pub const TABLES: usize = 6;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    Int,
    Dec,
    Str,
    Date,
}

pub const KINDS: [Kind; 4] = [Kind::Int, Kind::Dec, Kind::Str, Kind::Date];

const WORDS: &[&str] = &["ash", "birch", "cedar", "elm", "fir", "fig", "hazel", "larch", "lime", "oak", "pine", "yew"];
const COLUMNS: &[(&str, Kind, &str)] = &[
    ("i1", Kind::Int, "INT"),
    ("i2", Kind::Int, "INT"),
    ("i3", Kind::Int, "SMALLINT"),
    ("u1", Kind::Int, "BIGINT"),
    ("d1", Kind::Dec, "DECIMAL(8,2)"),
    ("d2", Kind::Dec, "DECIMAL(8,2)"),
    ("s1", Kind::Str, "VARCHAR(10)"),
    ("s2", Kind::Str, "VARCHAR(20)"),
    ("e1", Kind::Date, "DATE"),
    ("e2", Kind::Date, "DATE"),
];

/// Columns that are made of others: name, what they are made of, type and expression.
const GENERATED: &[(&str, &str, Kind, &str)] = &[
    ("g1", "i1", Kind::Int, "INT AS (i1 + 1)"),
    ("g2", "s1", Kind::Str, "VARCHAR(20) AS (CONCAT(s1, 'x'))"),
    ("g3", "d1", Kind::Dec, "DECIMAL(9,2) AS (d1 * 2)"),
];

/// What a query can read: a table or a view.
#[derive(Clone)]
pub struct Relation {
    pub name: String,
    pub columns: Vec<(String, Kind)>,
    /// Columns that tell its rows apart, but for rows that are the same.
    pub key: Vec<String>,
    /// Names of its indexes; none of a view.
    pub indexes: Vec<String>,
}

pub struct Table {
    pub relation: Relation,
    columns: Vec<String>,
    keys: Vec<String>,
    primary: Option<String>,
    /// Each as it stands in VALUES.
    pub rows: Vec<String>,
}

impl Table {
    pub fn create(&self, with_indexes: bool) -> String {
        let keys = self.keys.iter().filter(|_| with_indexes);
        let lines: Vec<&str> = self.columns.iter().chain(&self.primary).chain(keys).map(String::as_str).collect();
        format!("CREATE TABLE {} ({}) DEFAULT CHARSET = utf8mb4", self.relation.name, lines.join(", "))
    }

    /// INSERT statements of the rows whose numbers are given.
    pub fn inserts(&self, kept: &[usize]) -> Vec<String> {
        let insert = |rows: &[usize]| {
            let rows: Vec<&str> = rows.iter().map(|&row| self.rows[row].as_str()).collect();
            format!("INSERT INTO {} VALUES {}", self.relation.name, rows.join(", "))
        };
        kept.chunks(500).map(insert).collect()
    }
}

pub fn tables(random: &mut Random) -> Vec<Table> {
    (0..TABLES).map(|n| table(random, n)).collect()
}

fn table(random: &mut Random, n: usize) -> Table {
    let has_primary = n + 1 < TABLES;
    let chosen: Vec<_> = COLUMNS.iter().filter(|column| column.0 == "i1" || !random.one_in(4)).collect();
    let not_null: Vec<bool> = chosen.iter().map(|column| column.0 != "u1" && random.one_in(3)).collect();
    let of = chosen
        .iter()
        .zip(&not_null)
        .map(|((name, _, kind), not_null)| format!("{name} {kind}{}", if *not_null { " NOT NULL" } else { "" }));
    let mut columns: Vec<String> = ["id INT NOT NULL".to_string()].into_iter().chain(of).collect();
    let names: Vec<&str> = chosen.iter().map(|column| column.0).collect();
    let made: Vec<_> = GENERATED.iter().filter(|made| names.contains(&made.1) && random.one_in(2)).collect();
    columns.extend(made.iter().map(|made| format!("{} {}{}", made.0, made.3, if random.one_in(3) { " STORED" } else { "" })));
    let composite = not_null[0] && random.one_in(3);
    let primary =
        has_primary.then(|| if composite { "PRIMARY KEY (i1, id)".to_string() } else { "PRIMARY KEY (id)".to_string() });
    let keyed: Vec<&str> = names.iter().copied().chain(made.iter().map(|made| made.0)).collect();
    let keys = keys(random, &keyed, has_primary);
    let count = match n {
        0 => 400 + random.below(1600),
        1 => 200 + random.below(300),
        _ => 60 + random.below(200),
    };
    let nulls = 2 + random.below(20);
    let rows = (0..count).map(|row| {
        // Every row of the last table but the first may be there twice.
        let id = if has_primary { row } else { random.below(count / 2) };
        let mut own = if has_primary { random.clone() } else { Random::new(id.wrapping_mul(0x51_7cc1)) };
        let values = row_values(&mut own, id, &names, &not_null, nulls);
        if has_primary {
            *random = own;
        }
        format!("({values}{})", ", DEFAULT".repeat(made.len()))
    });
    let rows = rows.collect();
    let made = made.iter().map(|made| (made.0.to_string(), made.2));
    let given = chosen.iter().map(|(name, kind, _)| (name.to_string(), *kind));
    let all: Vec<(String, Kind)> = [("id".to_string(), Kind::Int)].into_iter().chain(given).chain(made).collect();
    let key = if has_primary { vec!["id".to_string()] } else { all.iter().map(|(name, _)| name.clone()).collect() };
    let primary_name = has_primary.then(|| "PRIMARY".to_string());
    let indexes = primary_name.into_iter().chain((0..keys.len()).map(|n| format!("k{n}"))).collect();
    let relation = Relation { name: format!("t{n}"), columns: all, key, indexes };
    Table { relation, columns, keys, primary, rows }
}

fn keys(random: &mut Random, names: &[&str], may_be_unique: bool) -> Vec<String> {
    let mut keys = Vec::new();
    for n in 0..random.below(5) {
        let mut parts: Vec<&str> = Vec::new();
        for _ in 0..=random.below(3) {
            let name = *pick(random, names);
            if !parts.contains(&name) {
                parts.push(name);
            }
        }
        let unique = may_be_unique && parts.contains(&"u1") && random.one_in(2);
        let part = |random: &mut Random, name: &str| match name {
            "s2" if !unique && random.one_in(4) => "s2(3)".to_string(),
            name if random.one_in(6) => format!("{name} DESC"),
            name => name.to_string(),
        };
        let parts: Vec<String> = parts.iter().map(|name| part(random, name)).collect();
        keys.push(format!("{}KEY k{n} ({})", if unique { "UNIQUE " } else { "" }, parts.join(", ")));
    }
    keys
}

/// The values of a row that are given. `i2`, `d2`, `s2` and `e2` follow `i1`, `d1`, `s1` and `e1`.
fn row_values(random: &mut Random, id: u64, names: &[&str], not_null: &[bool], nulls: u64) -> String {
    let skewed = |random: &mut Random, bound: u64| random.below(bound).min(random.below(bound)).min(random.below(bound));
    let i1 = skewed(random, 9);
    let d1 = skewed(random, 200);
    let word = *pick(random, WORDS);
    let day = skewed(random, 50);
    let mut out = id.to_string();
    for (name, not_null) in names.iter().zip(not_null) {
        let value = match *name {
            "i1" => i1.to_string(),
            "i2" => (i1 * 2 + random.below(3)).to_string(),
            "i3" => random.below(400).to_string(),
            // Unique where it is not NULL.
            "u1" => ((id * 7) % 20_011).to_string(),
            "d1" => quarters(d1),
            "d2" => quarters(d1 + random.below(5)),
            "s1" => format!("'{}'", cased(random, word)),
            "s2" => format!("'{}{}'", cased(random, word), random.below(6)),
            "e1" => format!("'{}'", date(day)),
            _ => format!("'{}'", date(day + random.below(4))),
        };
        let is_null = !not_null && random.one_in(nulls);
        out.push_str(", ");
        out.push_str(if is_null { "NULL" } else { &value });
    }
    out
}

fn cased(random: &mut Random, word: &str) -> String {
    if random.one_in(3) { word.to_uppercase() } else { word.to_string() }
}

fn quarters(n: u64) -> String {
    format!("{}.{:02}", n / 4, n % 4 * 25)
}

/// The day so many days after 1 January 2024.
fn date(days: u64) -> String {
    const MONTHS: [u64; 3] = [31, 29, 31];
    let mut day = days;
    for (month, length) in (1..).zip(MONTHS) {
        if day < length {
            return format!("2024-{month:02}-{:02}", day + 1);
        }
        day -= length;
    }
    "2024-12-24".to_string()
}

/// A constant that some rows have.
pub fn literal(random: &mut Random, kind: Kind) -> String {
    match kind {
        Kind::Int => match random.below(4) {
            0 => random.below(20).to_string(),
            1 => random.below(400).to_string(),
            _ => random.below(9).to_string(),
        },
        Kind::Dec => quarters(random.below(120)),
        Kind::Str => match random.below(3) {
            0 => format!("'{}{}'", pick(random, WORDS), random.below(6)),
            _ => format!("'{}'", pick(random, WORDS)),
        },
        Kind::Date => format!("DATE'{}'", date(random.below(40))),
    }
}
