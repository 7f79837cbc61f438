//! System variables: one definition each, from which SET, `@@x`, SHOW VARIABLES and their checks derive.
//!
//! `table.txt` has name, scope, type, range, default and members of every MySQL variable, recorded from a
//! MySQL server. `live` has one row for each that acts here: where a session keeps its value, so what a change makes stale, and in prose what it does. It also gives the values
//! that are Vaquita's own. A variable that is not in `live` is kept and shown and changes nothing, or, where that would change answers, can only be set to its default (`refused` in the table).
//!
//! `check` turns what SET was given into a value of the variable, with MySQL's errors and warnings. The global values
//! are in `Globals`; a session takes them all at login, by reference, and keeps what it sets beside them.
//!
//! Example: `SET sort_buffer_size = 1` finds the `Def` of `sort_buffer_size`, `check` clamps the value to 32768 with
//! warning 1292, and the session's `Settings` keep it.
//!
//! What a change does at once, to a session or the server, is `session::set`'s and `Globals::set`'s.

mod given;
mod globals;
mod in_functions;
mod info;
mod live;
mod old_names;
mod restricted;
mod role_list;
pub mod settings;

use std::collections::HashMap;
use std::sync::LazyLock;

pub use given::{GTID_PURGED, check, deprecated_update, purged_gtids};
pub use globals::{Globals, SetBy, forget_server_uuid, server_uuid};
pub use in_functions::Stays;
pub use info::infos;
pub use live::{Fixed, Var, system_time_zone};
use restricted::Restriction;
pub use role_list::parse_roles;
pub use settings::{events_are_disabled, zone};
use vaquita_types::charset::CollationId;
use vaquita_types::{ColumnType, Value, sql_mode};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    Global,
    Both,
    Session,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    Dynamic,
    /// A session cannot set its own value.
    GlobalOnly,
    ReadOnly,
}

/// What a value of the variable changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    Acts,
    /// It is kept and shown. Nobody misses what it does in MySQL.
    None,
    /// A value that is kept without effect would give wrong answers or lose a guarantee: only the default can be set.
    Refused,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Kind {
    Bool,
    Int {
        min: i64,
        max: u64,
        block: u64,
    },
    /// A number with a fraction.
    Number {
        min: f64,
        max: f64,
    },
    Enum(Vec<&'static str>),
    /// Names separated by commas.
    Set(Vec<&'static str>),
    /// `name=on` pairs separated by commas.
    Flags(Vec<&'static str>),
    SqlMode,
    Text,
}

/// The definition of a variable. Values are `Int` 0 or 1 for `Bool`, `Int` or `UInt` for `Int`, `Float` for `Number`, else text or NULL.
#[derive(Debug)]
pub struct Def {
    pub name: &'static str,
    /// Its place in `Registry::defs`.
    pub id: usize,
    pub scope: Scope,
    pub kind: Kind,
    pub change: Change,
    pub effect: Effect,
    pub default: Value,
    pub prose: &'static str,
    /// Set for a variable that acts.
    pub var: Option<Var>,
    /// What setting a session's value needs.
    needs: Option<Restriction>,
}

const ONLY_DEFAULT: &str = "Any value but the default is refused with error 1235: it would change answers.";
const NO_EFFECT: &str = "Accepted for compatibility; has no effect.";

pub struct Registry {
    pub defs: Vec<Def>,
    by_name: HashMap<&'static str, usize>,
    live: Vec<usize>,
}

pub fn registry() -> &'static Registry {
    static REGISTRY: LazyLock<Registry> = LazyLock::new(Registry::build);
    &REGISTRY
}

impl Registry {
    fn build() -> Registry {
        let lines = include_str!("table.txt").lines().chain(live::OWN_TABLE.lines());
        let mut rows: Vec<Vec<&'static str>> = Vec::new();
        for line in lines.filter(|l| !l.is_empty() && !l.starts_with('#')) {
            let mut fields: Vec<&str> = line.split('\t').collect();
            let before = rows.iter().position(|row| row[0] == fields[0]).map(|at| rows.swap_remove(at));
            if fields.len() == FIELDS - 2 {
                // A line of Vaquita's own says nothing of what is not acted on, and of who may set it.
                fields.extend(before.map_or(["kept", ""], |row| [row[FIELDS - 2], row[FIELDS - 1]]));
            }
            if fields.len() == FIELDS {
                rows.push(fields);
            }
        }
        rows.sort_by_key(|row| row[0]);
        let defs: Vec<Def> = rows.iter().enumerate().map(|(id, row)| def(id, row)).collect();
        let by_name: HashMap<&str, usize> = defs.iter().map(|d| (d.name, d.id)).collect();
        let live = live::LIVE.iter().map(|row| by_name.get(row.name).copied().unwrap_or(0)).collect();
        Registry { defs, by_name, live }
    }

    /// By name without regard to case.
    pub fn find(&self, name: &str) -> Option<&Def> {
        let id = match self.by_name.get(name) {
            Some(id) => id,
            None => self.by_name.get(name.to_ascii_lowercase().as_str())?,
        };
        self.defs.get(*id)
    }

    pub fn of(&self, var: Var) -> &Def {
        &self.defs[self.live[var as usize]]
    }
}

/// Fields of a line of the table.
const FIELDS: usize = 11;

fn def(id: usize, row: &[&'static str]) -> Def {
    let [name, scope, kind, change, min, max, block, default, members, effect, needs] = row else {
        unreachable!("lines have {FIELDS} fields")
    };
    let scope = match *scope {
        "G" => Scope::Global,
        "B" => Scope::Both,
        _ => Scope::Session,
    };
    let change = match *change {
        "D" => Change::Dynamic,
        "g" => Change::GlobalOnly,
        _ => Change::ReadOnly,
    };
    let members: Vec<&str> = members.split('|').filter(|m| !m.is_empty()).collect();
    let kind = match *kind {
        "Boolean" => Kind::Bool,
        "Integer" => {
            Kind::Int { min: min.parse().unwrap_or(0), max: max.parse().unwrap_or(u64::MAX), block: block.parse().unwrap_or(1) }
        }
        "Numeric" => Kind::Number { min: min.parse().unwrap_or(0.0), max: max.parse().unwrap_or(f64::MAX) },
        "Enumeration" => Kind::Enum(members),
        "Set" if *name == "sql_mode" => Kind::SqlMode,
        "Set" if name.starts_with("optimizer_") => Kind::Flags(members),
        "Set" => Kind::Set(members),
        _ => Kind::Text,
    };
    let live = live::LIVE.iter().find(|live| live.name == *name);
    let (effect, prose) = match (live, *effect) {
        (Some(live), _) => (Effect::Acts, live.prose),
        (None, "refused") => (Effect::Refused, ONLY_DEFAULT),
        (None, _) => (Effect::None, NO_EFFECT),
    };
    Def {
        name,
        id,
        scope,
        default: parse_default(&kind, default),
        kind,
        change,
        effect,
        prose,
        var: live.map(|live| live.var),
        needs: Restriction::of_row(needs),
    }
}

fn parse_default(kind: &Kind, text: &str) -> Value {
    match kind {
        _ if text == "\\N" => Value::Null,
        Kind::Bool => Value::bool(matches!(text, "ON" | "1" | "YES")),
        Kind::Int { min, .. } if *min < 0 => Value::Int(text.parse().unwrap_or(0)),
        Kind::Int { .. } => Value::UInt(text.parse().unwrap_or(0)),
        Kind::Number { .. } => Value::Float(text.parse().unwrap_or(0.0)),
        _ => Value::from(text),
    }
}

impl Def {
    /// The type of `@@name` whose value is `value`.
    pub fn column_type(&self, value: &Value) -> ColumnType {
        match &self.kind {
            Kind::Bool => ColumnType { length: 1, ..ColumnType::bigint() },
            Kind::Int { min, .. } if *min < 0 => ColumnType::bigint(),
            Kind::Int { .. } => ColumnType::bigint_unsigned(),
            Kind::Number { .. } => ColumnType { decimals: 6, ..ColumnType::double() },
            _ => {
                let chars = if let Value::Bytes(bytes) = value { bytes.len() } else { 0 };
                ColumnType::varchar(u32::try_from(chars).unwrap_or(u32::MAX), CollationId::UTF8MB3_GENERAL_CI)
            }
        }
    }

    /// The value as SHOW VARIABLES prints it.
    pub fn show(&self, value: &Value) -> String {
        match (&self.kind, value) {
            (Kind::Bool, Value::Int(0)) => "OFF".to_string(),
            (Kind::Bool, _) => "ON".to_string(),
            (_, Value::Int(i)) => i.to_string(),
            (_, Value::UInt(u)) => u.to_string(),
            (_, Value::Float(f)) => format!("{f:.6}"),
            (_, Value::Bytes(bytes)) => String::from_utf8_lossy(bytes).into_owned(),
            _ => String::new(),
        }
    }
}

/// The bits of a `sql_mode` text that `check` made.
pub fn sql_mode_bits(text: &str) -> u64 {
    text.split(',').filter_map(|name| sql_mode::NAMES.iter().find(|(n, _)| *n == name)).fold(0, |bits, (_, bit)| bits | bit)
}

/// The text of `sql_mode` for its bits.
pub fn sql_mode_value(bits: u64) -> Value {
    let names: Vec<&str> = sql_mode::NAMES.iter().filter(|(_, bit)| bits & bit != 0).map(|(name, _)| *name).collect();
    names.join(",").into()
}

/// `vaquita variables`.
pub fn print_all() -> std::result::Result<(), Box<dyn std::error::Error + Send + Sync>> {
    use std::io::Write;
    let mut out = std::io::stdout().lock();
    for def in &registry().defs {
        let default = match &def.default {
            Value::Bytes(text) => String::from_utf8_lossy(text).into_owned(),
            Value::Int(n) => n.to_string(),
            Value::UInt(n) => n.to_string(),
            Value::Float(n) => n.to_string(),
            _ => String::new(),
        };
        let scope = match def.scope {
            Scope::Global => "global",
            Scope::Both => "global, session",
            Scope::Session => "session",
        };
        writeln!(out, "{} ({scope}) = {default}\n    {}", def.name, def.prose)?;
    }
    Ok(())
}
