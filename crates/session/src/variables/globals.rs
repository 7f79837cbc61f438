//! The global values of all variables.
//!
//! GLB-1: a list of values is never changed once shared: SET GLOBAL makes another. A session keeps the list of its login.
//! GLB-2: `numbers` holds the integer values of variables that act, for reads without a lock.
//! GLB-3: SET PERSIST writes `variable/NAME` to the engine's metadata in the same statement; `load` reads them all at start. Before the value
//! stands who set it and when: `@` microseconds since 1970, user and host, with a line's end behind.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::{Mutex, RwLock};
use vaquita_storage::{Catalog, Engine, FlushMode};
use vaquita_types::{Result, Value};

use super::live::LIVE;
use super::settings::with_it;
use super::{Change, Def, Fixed, Var, check, events_are_disabled, registry};

pub struct Globals {
    values: RwLock<Arc<Vec<Value>>>,
    /// One change at a time.
    changing: Mutex<()>,
    numbers: [AtomicU64; Var::COUNT],
    /// How often a value was changed.
    changes: AtomicU64,
    /// By the variables' numbers, of those that somebody has set.
    set_by: Mutex<HashMap<usize, SetBy>>,
}

/// Who set a variable, and when.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SetBy {
    /// Microseconds since 1970.
    pub at_us: u64,
    pub user: String,
    pub host: String,
}

impl SetBy {
    fn stored_text(&self) -> String {
        let clean = |text: &str| text.replace(['\t', '\n'], " ");
        format!("@{}\t{}\t{}\n", self.at_us, clean(&self.user), clean(&self.host))
    }

    /// What stands before a stored value, and the value.
    fn split(text: &str) -> (Option<SetBy>, &str) {
        let Some((by, value)) = text.strip_prefix('@').and_then(|rest| rest.split_once('\n')) else { return (None, text) };
        let mut fields = by.split('\t');
        let mut next = || fields.next().unwrap_or_default().to_string();
        let (at, user, host) = (next(), next(), next());
        (at.parse().ok().map(|at_us| SetBy { at_us, user, host }), value)
    }
}

const PERSISTED: &str = "variable/";
const UUID: &[u8] = b"server_uuid";

impl Globals {
    pub fn new(fixed: &Fixed) -> Globals {
        let mut values: Vec<Value> = registry().defs.iter().map(|def| def.default.clone()).collect();
        for (name, value) in fixed.values() {
            if let Some(def) = registry().find(name) {
                values[def.id] = value;
            }
        }
        let globals = Globals {
            values: RwLock::new(Arc::new(values)),
            changing: Mutex::new(()),
            numbers: std::array::from_fn(|_| AtomicU64::new(0)),
            changes: AtomicU64::new(0),
            set_by: Mutex::default(),
        };
        for row in LIVE {
            globals.note_number(row.var, &globals.get(registry().of(row.var)));
        }
        globals
    }

    /// Reads what SET PERSIST stored; what is no value any more is left out.
    pub fn load(&self, catalog: &Catalog, engine: &Arc<Engine>) -> Result<()> {
        for (key, text) in catalog.meta_scan(PERSISTED.as_bytes())? {
            let name = String::from_utf8_lossy(key.strip_prefix(PERSISTED.as_bytes()).unwrap_or_default()).into_owned();
            let Some(def) = registry().find(&name).filter(|def| def.change != Change::ReadOnly) else { continue };
            if def.var == Some(Var::EventScheduler) && events_are_disabled(&self.get(def)) {
                continue;
            }
            let text = String::from_utf8_lossy(&text);
            let (by, value) = SetBy::split(&text);
            let given = stored_value(value);
            match check(def, &given, &def.default, 0) {
                Ok(checked) => {
                    self.set(def, checked.value, engine)?;
                    if let Some(by) = by {
                        self.note_setter(def, by);
                    }
                }
                Err(error) => tracing::warn!("the persisted value of {name} is left out: {}", error.message()),
            }
        }
        Ok(())
    }

    /// The values that a new session takes.
    pub fn all(&self) -> Arc<Vec<Value>> {
        self.values.read().clone()
    }

    pub fn get(&self, def: &Def) -> Value {
        self.values.read().get(def.id).cloned().unwrap_or_default()
    }

    /// Grows with each change of a value, for who keeps what follows from some.
    #[inline]
    pub fn changes(&self) -> u64 {
        self.changes.load(Ordering::Acquire)
    }

    /// The integer value of a variable that acts; ON is 1.
    #[inline]
    pub fn number(&self, var: Var) -> u64 {
        self.numbers[var as usize].load(Ordering::Relaxed)
    }

    /// The value of a variable that acts, as a text.
    pub fn text(&self, var: Var) -> String {
        let def = registry().of(var);
        def.show(&self.get(def))
    }

    /// Where the data lives.
    pub fn data_dir(&self) -> PathBuf {
        match self.get(registry().of(Var::Datadir)) {
            Value::Bytes(dir) => PathBuf::from(String::from_utf8_lossy(&dir).into_owned()),
            _ => PathBuf::new(),
        }
    }

    #[inline]
    pub fn is_on(&self, var: Var) -> bool {
        self.number(var) != 0
    }

    /// Changes a global value and what depends on it. `value` is checked.
    pub fn set(&self, def: &Def, value: Value, engine: &Arc<Engine>) -> Result<()> {
        let _changing = self.changing.lock();
        if def.var == Some(Var::InnodbFlushLogAtTrxCommit) {
            engine.set_flush_mode(match value {
                Value::UInt(0) => FlushMode::EachSecond,
                Value::UInt(2) => FlushMode::WriteEachCommit,
                _ => FlushMode::SyncEachCommit,
            })?;
        }
        if let (Some(Var::GlobalConnectionMemoryLimit), Value::UInt(limit)) = (def.var, &value) {
            vaquita_types::memory::set_bytes_max(crate::memory::bytes_max(*limit));
        }
        if let (Some(Var::VaquitaGoalMemory), Value::UInt(bytes)) = (def.var, &value) {
            vaquita_storage::set_goal_bytes(*bytes);
            let limit = self.number(Var::GlobalConnectionMemoryLimit);
            vaquita_types::memory::set_bytes_max(crate::memory::bytes_max(limit));
        }
        let mut values = Vec::clone(&self.values.read());
        if let Some(var) = def.var {
            self.note_number(var, &value);
            for other in follows(var, &value) {
                values[registry().of(*other).id] = value.clone();
                self.note_number(*other, &value);
            }
            if let Some((other, value)) = with_it(var, &value) {
                self.note_number(other, &value);
                values[registry().of(other).id] = value;
            }
        }
        if let Some(other) = def.other_name() {
            values[other.id] = value.clone();
        }
        values[def.id] = value;
        *self.values.write() = Arc::new(values);
        self.changes.fetch_add(1, Ordering::Release);
        Ok(())
    }

    /// Somebody has set the variable in this server, or has persisted what it has.
    pub fn note_setter(&self, def: &Def, by: SetBy) {
        let mut set_by = self.set_by.lock();
        if let Some(other) = def.other_name() {
            set_by.insert(other.id, by.clone());
        }
        set_by.insert(def.id, by);
    }

    pub fn setter(&self, def: &Def) -> Option<SetBy> {
        self.set_by.lock().get(&def.id).cloned()
    }

    fn note_number(&self, var: Var, value: &Value) {
        let number = match value {
            Value::Int(i) => *i as u64,
            Value::UInt(u) => *u,
            _ => return,
        };
        self.numbers[var as usize].store(number, Ordering::Relaxed);
    }

    /// SET PERSIST: the value of the next start; `None` is the default.
    pub fn persist(&self, def: &Def, value: Option<&Value>, by: &SetBy, catalog: &Catalog) -> Result<()> {
        let key = format!("{PERSISTED}{}", def.name);
        match value {
            Some(value) => catalog.meta_put(key.as_bytes(), (by.stored_text() + &stored_text(value)).as_bytes()),
            None => catalog.meta_delete(key.as_bytes()),
        }
    }

    /// RESET PERSIST of a variable, with its other name, or of all.
    pub fn forget_persisted(&self, name: Option<&str>, catalog: &Catalog) -> Result<()> {
        let _changing = self.changing.lock();
        self.persisted_keys(name, catalog)?.iter().try_for_each(|key| catalog.meta_delete(key))
    }

    /// Where SET PERSIST stored a variable, or all.
    pub fn persisted_keys(&self, name: Option<&str>, catalog: &Catalog) -> Result<Vec<Vec<u8>>> {
        let other = name.and_then(|name| registry().find(name)).and_then(Def::other_name).map(|other| other.name);
        let mut keys = Vec::new();
        for (key, _) in catalog.meta_scan(PERSISTED.as_bytes())? {
            let stored = key.strip_prefix(PERSISTED.as_bytes()).unwrap_or_default();
            let is_it = |name: &str| stored.eq_ignore_ascii_case(name.as_bytes());
            if name.is_none_or(is_it) || other.is_some_and(is_it) {
                keys.push(key.to_vec());
            }
        }
        Ok(keys)
    }
}

/// Names and values, as they are shown, that SET PERSIST stored.
pub fn persisted(catalog: &Catalog) -> Result<Vec<(String, String)>> {
    let mut persisted = Vec::new();
    for (key, text) in catalog.meta_scan(PERSISTED.as_bytes())? {
        let name = String::from_utf8_lossy(key.strip_prefix(PERSISTED.as_bytes()).unwrap_or_default()).into_owned();
        if let Some(def) = registry().find(&name) {
            persisted.push((name, def.show(&stored_value(SetBy::split(&String::from_utf8_lossy(&text)).1))));
        }
    }
    Ok(persisted)
}

/// The server's UUID, made on the first start.
pub fn server_uuid(catalog: &Catalog) -> Result<String> {
    if let Some(text) = catalog.meta_get(UUID)? {
        return Ok(String::from_utf8_lossy(&text).into_owned());
    }
    // RFC 9562, version 4: random but for the version and the variant.
    let mut bytes: [u8; 16] = rand::random();
    bytes[6] = bytes[6] & 0x0F | 0x40;
    bytes[8] = bytes[8] & 0x3F | 0x80;
    let hex: String = bytes.iter().map(|b| format!("{b:02x}")).collect();
    let uuid = [&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]].join("-");
    catalog.meta_put(UUID, uuid.as_bytes())?;
    Ok(uuid)
}

/// The server gets another UUID: its data was copied from another server's.
pub fn forget_server_uuid(catalog: &Catalog) -> Result<()> {
    catalog.meta_delete(UUID)
}

/// Variables that take the same value: old names, and `read_only` when `super_read_only` is turned on.
fn follows(var: Var, value: &Value) -> &'static [Var] {
    match (var, value) {
        (Var::TransactionIsolation, _) => &[Var::TxIsolation],
        (Var::TransactionReadOnly, _) => &[Var::TxReadOnly],
        (Var::TxIsolation, _) => &[Var::TransactionIsolation],
        (Var::TxReadOnly, _) => &[Var::TransactionReadOnly],
        (Var::SuperReadOnly, Value::Int(1)) => &[Var::ReadOnly],
        (Var::ReadOnly, Value::Int(0)) => &[Var::SuperReadOnly],
        _ => &[],
    }
}

/// `i:` and an integer, `f:` and a number, `s:` and text, or `n`: NULL.
fn stored_text(value: &Value) -> String {
    match value {
        Value::Int(i) => format!("i:{i}"),
        Value::UInt(u) => format!("i:{u}"),
        Value::Float(f) => format!("f:{f}"),
        Value::Bytes(bytes) => format!("s:{}", String::from_utf8_lossy(bytes)),
        _ => "n".to_string(),
    }
}

fn stored_value(text: &str) -> Value {
    match text.split_once(':') {
        Some(("i", n)) => n.parse().map(Value::Int).or_else(|_| n.parse().map(Value::UInt)).unwrap_or_default(),
        Some(("f", n)) => n.parse().map_or(Value::Null, Value::Float),
        Some(("s", s)) => s.into(),
        _ => Value::Null,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_set_a_variable_stands_before_its_value() {
        let by = SetBy { at_us: 7, user: "a\nb".to_string(), host: "localhost".to_string() };
        let text = by.stored_text() + &stored_text(&Value::from("@x\ty\nz"));
        let (read, value) = SetBy::split(&text);
        assert_eq!(read, Some(SetBy { user: "a b".to_string(), ..by }));
        assert_eq!(stored_value(value), Value::from("@x\ty\nz"));
        // As it was stored before.
        assert_eq!(SetBy::split("i:5"), (None, "i:5"));
        assert_eq!(SetBy::split("@nonsense\ni:5"), (None, "i:5"));
    }
}
