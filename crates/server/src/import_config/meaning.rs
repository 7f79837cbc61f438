//! What one setting of MySQL or MariaDB means here.
//!
//! Its name is looked up, in this order, in `special` (what becomes something else), in `meanings.txt`, among the variables and
//! in families of `meanings.txt`; a name that is found nowhere is tried without `skip_`, `disable_`, `enable_`.

use std::sync::LazyLock;

use vaquita_session::variables::{Change, Def, Effect, Kind, Scope, registry};
use vaquita_types::Value;

use super::special::special;
use super::value::{checked, switch};

/// What the report says of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    Taken,
    /// Nobody misses what it does in MySQL.
    Nothing,
    /// The server goes on without what it is for.
    Missing,
    /// The server does not go on: whoever wrote it relies on it.
    Refused,
    Unknown,
    /// A later line is about the same.
    Overridden,
    /// It is no setting of a server.
    Others,
}

/// What a line changes in the server.
#[derive(Clone, Debug)]
pub enum Does {
    Nothing,
    /// An option of `serve` that sets no variable.
    Option(&'static str, String),
    Variable(&'static Def, Value),
}

#[derive(Clone, Debug)]
pub struct Meaning {
    pub verdict: Verdict,
    pub text: String,
    pub does: Does,
    /// What a later line about the same has in common with it; none if lines add up.
    pub key: Option<String>,
}

impl Meaning {
    pub fn new(verdict: Verdict, text: impl Into<String>) -> Meaning {
        Meaning { verdict, text: text.into(), does: Does::Nothing, key: None }
    }
}

/// A row of `meanings.txt`.
struct Row {
    name: &'static str,
    harmless: &'static str,
    word: Word,
    text: &'static str,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Word {
    Nothing,
    Missing,
    Refused,
    Acts,
    Same,
    Never,
}

static ROWS: LazyLock<Vec<Row>> = LazyLock::new(|| {
    let lines = include_str!("meanings.txt").lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines.filter_map(row).collect()
});

fn row(line: &'static str) -> Option<Row> {
    let mut fields = line.split('\t');
    let (name, harmless) = (fields.next()?, fields.next()?);
    let word = match fields.next()? {
        "nothing" => Word::Nothing,
        "missing" => Word::Missing,
        "refused" => Word::Refused,
        "acts" => Word::Acts,
        "same" => Word::Same,
        "never" => Word::Never,
        _ => return None,
    };
    Some(Row { name, harmless, word, text: fields.next()? })
}

fn exact(name: &str) -> Option<&'static Row> {
    ROWS.iter().find(|row| row.name == name)
}

/// The longest family of which the name is.
fn family(name: &str) -> Option<&'static Row> {
    let fits = |row: &&Row| row.name.strip_suffix('*').is_some_and(|prefix| name.starts_with(prefix));
    ROWS.iter().filter(fits).max_by_key(|row| row.name.len())
}

/// Options of which each line adds to those before.
const ADDED_UP: [&str; 6] = [
    "plugin_load_add",
    "binlog_do_db",
    "binlog_ignore_db",
    "performance_schema_instrument",
    "early_plugin_load",
    "init_rpl_role",
];
const ADDED_UP_FAMILY: &str = "replicate_";
/// How MySQL 4 wrote settings: `set-variable = max_connections=200`.
const SET_VARIABLE: &str = "set_variable";

pub fn meaning(name: &str, value: Option<&str>) -> Meaning {
    let name = name.replace('-', "_").to_ascii_lowercase();
    if name == SET_VARIABLE
        && let Some((name, value)) = value.and_then(|value| value.split_once('='))
    {
        return meaning(name.trim(), Some(value.trim()));
    }
    let (name, is_loose) = name.strip_prefix("loose_").map_or((name.as_str(), false), |name| (name, true));
    let mut found = known(name, value).or_else(|| turned(name)).unwrap_or_else(|| Meaning::new(Verdict::Unknown, UNKNOWN));
    if found.key.is_none() && !ADDED_UP.contains(&name) && !name.starts_with(ADDED_UP_FAMILY) {
        found.key = Some(name.to_string());
    }
    if is_loose && found.verdict == Verdict::Refused {
        found.verdict = Verdict::Missing;
    }
    found
}

const UNKNOWN: &str = "no setting of MySQL or MariaDB has this name here";

/// A name that begins with what turns a switch on or off.
fn turned(name: &str) -> Option<Meaning> {
    let (rest, value) = match (name.strip_prefix("skip_").or_else(|| name.strip_prefix("disable_")), name.strip_prefix("enable_"))
    {
        (Some(rest), _) => (rest, "OFF"),
        (None, Some(rest)) => (rest, "ON"),
        (None, None) => {
            name.strip_prefix("maximum_").and_then(|rest| registry().find(rest))?;
            return Some(Meaning::new(Verdict::Missing, "SET has no limits but those of the variables"));
        }
    };
    known(rest, Some(value))
}

fn known(name: &str, value: Option<&str>) -> Option<Meaning> {
    if let Some(meaning) = special(name, value) {
        return Some(meaning);
    }
    let row = exact(name);
    let def = def_of(name);
    match row {
        Some(row) if row.word == Word::Same => {
            // The old name of a log took its file as value.
            let is_switch = def_of(row.text).is_some_and(|def| def.kind == Kind::Bool);
            let value = value.filter(|_| !is_switch || switch(value).is_some());
            return known(row.text, value).map(|meaning| Meaning { text: renamed(row.text, &meaning.text), ..meaning });
        }
        Some(row) if row.word == Word::Never => return Some(Meaning::new(Verdict::Nothing, row.text)),
        _ => {}
    }
    match def {
        Some(def) if def.effect == Effect::Acts => Some(taken(def, value, def.prose)),
        Some(def) if row.is_some_and(|row| row.word == Word::Acts) => Some(taken(def, value, row.map_or("", |row| row.text))),
        _ => match (row.or_else(|| family(name)), def) {
            (Some(row), def) => Some(told(row, def, value)),
            (None, Some(def)) => Some(kept(def, value)),
            (None, None) => None,
        },
    }
}

fn def_of(name: &str) -> Option<&'static Def> {
    registry().find(name).filter(|def| def.scope != Scope::Session)
}

fn renamed(name: &str, text: &str) -> String {
    if text.starts_with(name) { text.to_string() } else { format!("as {name}: {text}") }
}

/// A variable that acts.
pub fn taken(def: &'static Def, value: Option<&str>, prose: &str) -> Meaning {
    let (value, warning) = match checked(def, value) {
        Ok(checked) => checked,
        Err(error) => return Meaning { key: Some(def.name.to_string()), ..Meaning::new(Verdict::Refused, error) },
    };
    let shown = def.show(&value);
    let note = warning.map_or(String::new(), |warning| format!(" ({warning})"));
    let text = format!("{} = {shown}{note}. {}", def.name, sentence(prose));
    Meaning { does: Does::Variable(def, value), key: Some(def.name.to_string()), ..Meaning::new(Verdict::Taken, text) }
}

fn sentence(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or(String::new(), |first| first.to_uppercase().chain(chars).collect())
}

/// A variable that is shown and changes nothing.
fn kept(def: &'static Def, value: Option<&str>) -> Meaning {
    let Ok((value, _)) = checked(def, value) else { return Meaning::new(Verdict::Nothing, def.prose) };
    if def.effect == Effect::Refused && value != def.default {
        return Meaning { key: Some(def.name.to_string()), ..Meaning::new(Verdict::Refused, def.prose) };
    }
    Meaning { does: shown(def, value), ..Meaning::new(Verdict::Nothing, def.prose) }
}

/// What SHOW VARIABLES shows of a variable that changes nothing: what SET PERSIST could make it show.
fn shown(def: &'static Def, value: Value) -> Does {
    let can_be_set = def.change != Change::ReadOnly && def.effect == Effect::None;
    if can_be_set { Does::Variable(def, value) } else { Does::Nothing }
}

fn told(row: &Row, def: Option<&'static Def>, value: Option<&str>) -> Meaning {
    let is_harmless = !row.harmless.is_empty() && row.harmless.split('|').any(|harmless| is_same(harmless, value));
    let does = def.and_then(|def| checked(def, value).ok().map(|(value, _)| shown(def, value))).unwrap_or(Does::Nothing);
    if is_harmless {
        return Meaning { does, ..Meaning::new(Verdict::Nothing, "it is so here") };
    }
    let verdict = match row.word {
        Word::Missing => Verdict::Missing,
        Word::Refused => return Meaning::new(Verdict::Refused, row.text),
        _ => Verdict::Nothing,
    };
    let text = if row.text.is_empty() { "there is nothing for it to set" } else { row.text };
    Meaning { does, ..Meaning::new(verdict, text) }
}

/// `0` and `1` are every word that turns a switch off or on.
fn is_same(harmless: &str, value: Option<&str>) -> bool {
    match harmless {
        "0" => switch(value) == Some(false),
        "1" => switch(value) == Some(true),
        text => value.is_some_and(|value| value.eq_ignore_ascii_case(text)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_line_is_a_row_of_its_own() {
        let lines: Vec<&str> = include_str!("meanings.txt").lines().filter(|l| !l.is_empty() && !l.starts_with('#')).collect();
        let unread: Vec<&&str> = lines.iter().filter(|line| row(line).is_none()).collect();
        assert!(unread.is_empty(), "{unread:?}");
        let names: BTreeSet<&str> = ROWS.iter().map(|row| row.name).collect();
        assert_eq!(names.len(), ROWS.len(), "a name has two lines");
        for row in ROWS.iter().filter(|row| row.word == Word::Same) {
            assert!(known(row.text, Some("1")).is_some(), "{} is the same as the unknown {}", row.name, row.text);
        }
        for row in ROWS.iter().filter(|row| row.word == Word::Acts) {
            assert!(registry().find(row.name).is_some(), "{} is no variable", row.name);
        }
    }

    #[test]
    fn every_variable_of_mysql_has_a_meaning() {
        let unknown: Vec<&str> = registry()
            .defs
            .iter()
            .filter(|def| def.scope != Scope::Session)
            .map(|def| def.name)
            .filter(|name| meaning(name, Some("1")).verdict == Verdict::Unknown)
            .collect();
        assert!(unknown.is_empty(), "{unknown:?}");
    }

    #[test]
    fn names_are_written_in_many_ways() {
        let told = |name: &str, value: Option<&str>| {
            let meaning = meaning(name, value);
            (meaning.verdict, meaning.text)
        };
        assert_eq!(told("Max-Connections", Some("500")), told("max_connections", Some("500")));
        assert_eq!(told("tx-isolation", Some("SERIALIZABLE")).0, Verdict::Taken);
        assert_eq!(told("skip-symbolic-links", None).0, Verdict::Nothing);
        assert_eq!(told("skip-log-bin", None).0, Verdict::Taken);
        assert_eq!(told("disable-log-bin", None), told("skip_log_bin", None));
        assert_eq!(told("enable-local-infile", None), told("local_infile", Some("1")));
        assert_eq!(told("maximum-sort_buffer_size", Some("1M")).0, Verdict::Missing);
        assert_eq!(told("loose-validate_password_policy", Some("LOW")).0, Verdict::Missing);
        assert_eq!(told("validate_password.policy", Some("LOW")).0, Verdict::Refused);
        assert_eq!(told("loose-no_such_thing", Some("1")).0, Verdict::Unknown);
        assert_eq!(told("lower_case_table_names", Some("1")).0, Verdict::Refused);
        assert_eq!(told("lower_case_table_names", Some("0")).0, Verdict::Nothing);
        assert_eq!(told("set-variable", Some("max_connections = 200")), told("max_connections", Some("200")));
        assert_ne!(told("log_slow_queries", Some("/var/log/slow.log")).0, Verdict::Refused);
        assert_eq!(told("default-time-zone", Some("+02:00")).0, Verdict::Taken);
        assert_eq!(told("default_time_zone", Some("Atlantis/Capital")).0, Verdict::Refused);
    }
}
