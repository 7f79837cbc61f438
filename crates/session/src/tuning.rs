//! What the tuner found, set and tried: written by the tuner, shown as tables of the schema `vaquita`, kept over restarts.
//!
//! | table | a row is |
//! |---|---|
//! | `machine` | a fact about the machine, and where it is from |
//! | `tuning` | a setting that the tuner may change, with its bounds |
//! | `tuning_log` | one change: why, what it did, whether it was kept |

use std::collections::VecDeque;

use parking_lot::Mutex;
use vaquita_storage::Catalog;
use vaquita_types::{Result, Value};

/// Changes that are kept.
const LOG_MAX: usize = 1000;
/// Keys of the catalog, with the number of the change behind.
const LOG_KEY: &str = "tuning_log/";
/// The same, with the setting's name behind.
const VALUE_KEY: &str = "tuning/";

/// A fact about the machine.
#[derive(Clone, Debug)]
pub struct Fact {
    pub name: &'static str,
    pub value: String,
    pub source: String,
}

/// A setting that the tuner may change.
#[derive(Clone, Debug)]
pub struct Tuned {
    pub name: &'static str,
    pub value: u64,
    pub lowest: u64,
    pub highest: u64,
    pub at_start: u64,
    pub derived_from: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Its effect is not known yet.
    Measuring,
    Kept,
    Undone,
    /// `vaquita_tuning` is ADVISE: nothing was changed.
    Advised,
    /// It did not depend on what it does, as when memory runs out.
    Necessary,
}

impl Outcome {
    const ALL: [(Outcome, &'static str); 5] = [
        (Outcome::Measuring, "MEASURING"),
        (Outcome::Kept, "KEPT"),
        (Outcome::Undone, "UNDONE"),
        (Outcome::Advised, "ADVISED"),
        (Outcome::Necessary, "NECESSARY"),
    ];

    pub fn name(self) -> &'static str {
        Outcome::ALL.iter().find(|(outcome, _)| *outcome == self).map_or("", |(_, name)| name)
    }

    fn of(name: &str) -> Option<Outcome> {
        Outcome::ALL.iter().find(|(_, known)| *known == name).map(|(outcome, _)| *outcome)
    }
}

/// A change, or one that was advised.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    pub id: u64,
    /// Microseconds since 1970.
    pub at_us: u64,
    pub name: String,
    pub from: u64,
    pub to: u64,
    pub reason: String,
    pub effect: Option<String>,
    pub outcome: Outcome,
}

impl Change {
    /// Fields without tabs, in the order of the columns.
    fn stored(&self) -> String {
        let effect = self.effect.as_deref().unwrap_or("");
        let Change { at_us, name, from, to, reason, outcome, .. } = self;
        format!("{at_us}\t{name}\t{from}\t{to}\t{}\t{reason}\t{effect}", outcome.name())
    }

    fn parse(id: u64, text: &str) -> Option<Change> {
        let fields: Vec<&str> = text.splitn(7, '\t').collect();
        let &[at_us, name, from, to, outcome, reason, effect] = fields.as_slice() else { return None };
        Some(Change {
            id,
            at_us: at_us.parse().ok()?,
            name: name.to_string(),
            from: from.parse().ok()?,
            to: to.parse().ok()?,
            reason: reason.to_string(),
            effect: (!effect.is_empty()).then(|| effect.to_string()),
            outcome: Outcome::of(outcome)?,
        })
    }
}

#[derive(Default)]
pub struct Tuning {
    facts: Mutex<Vec<Fact>>,
    tuned: Mutex<Vec<Tuned>>,
    log: Mutex<VecDeque<Change>>,
}

impl Tuning {
    pub fn set_facts(&self, facts: Vec<Fact>) {
        *self.facts.lock() = facts;
    }

    pub fn set_tuned(&self, tuned: Vec<Tuned>) {
        *self.tuned.lock() = tuned;
    }

    pub fn facts(&self) -> Vec<Fact> {
        self.facts.lock().clone()
    }

    pub fn tuned(&self) -> Vec<Tuned> {
        self.tuned.lock().clone()
    }

    /// The newest first.
    pub fn changes(&self) -> Vec<Change> {
        self.log.lock().iter().rev().cloned().collect()
    }

    /// What an earlier run has left. A change whose effect was being measured then is not known to be good, and its value was not stored.
    pub fn load(&self, catalog: &Catalog) -> Result<()> {
        let mut log = VecDeque::new();
        for (key, text) in catalog.meta_scan(LOG_KEY.as_bytes())? {
            let id = std::str::from_utf8(&key[LOG_KEY.len()..]).ok().and_then(|id| u64::from_str_radix(id, 16).ok());
            let change = id.and_then(|id| Change::parse(id, &String::from_utf8_lossy(&text)));
            log.extend(change.map(|change| match change.outcome {
                Outcome::Measuring => {
                    Change { outcome: Outcome::Undone, effect: Some("the server stopped before it was known".into()), ..change }
                }
                _ => change,
            }));
        }
        *self.log.lock() = log;
        Ok(())
    }

    /// Adds a change, whose number is returned, or replaces the one of its number if that is not 0.
    pub fn note(&self, mut change: Change, catalog: &Catalog) -> Result<u64> {
        let mut log = self.log.lock();
        if change.id == 0 {
            change.id = log.back().map_or(1, |last| last.id + 1);
            log.push_back(change.clone());
        } else if let Some(known) = log.iter_mut().find(|known| known.id == change.id) {
            *known = change.clone();
        }
        let over = (log.len() > LOG_MAX).then(|| log.pop_front()).flatten().map(|oldest| key_of(oldest.id));
        drop(log);
        let (key, text) = (key_of(change.id), change.stored());
        let mut writes = vec![(key.as_bytes(), Some(text.as_bytes()))];
        writes.extend(over.iter().map(|key| (key.as_bytes(), None)));
        catalog.meta_write(&writes)?;
        Ok(change.id)
    }

    /// The value that an earlier run found good, on a machine that `machine` says the same of.
    pub fn stored_value(name: &str, machine: &str, catalog: &Catalog) -> Result<Option<u64>> {
        let stored = catalog.meta_get(format!("{VALUE_KEY}{name}").as_bytes())?;
        let text = stored.map(|text| String::from_utf8_lossy(&text).into_owned()).unwrap_or_default();
        Ok(text.split_once('\t').filter(|(_, of)| *of == machine).and_then(|(value, _)| value.parse().ok()))
    }

    pub fn store_value(name: &str, value: u64, machine: &str, catalog: &Catalog) -> Result<()> {
        catalog.meta_put(format!("{VALUE_KEY}{name}").as_bytes(), format!("{value}\t{machine}").as_bytes())
    }

    /// The rows of one of its tables, none if it has no such table. Times are microseconds since 1970.
    pub(crate) fn rows(&self, table: &str) -> Option<Vec<Vec<Value>>> {
        Some(match table {
            "machine" => {
                let row = |fact: &Fact| vec![fact.name.into(), fact.value.as_str().into(), fact.source.as_str().into()];
                self.facts.lock().iter().map(row).collect()
            }
            "tuning" => {
                let row = |tuned: &Tuned| {
                    let numbers = [tuned.value, tuned.lowest, tuned.highest, tuned.at_start].map(Value::UInt);
                    [tuned.name.into()].into_iter().chain(numbers).chain([tuned.derived_from.as_str().into()]).collect()
                };
                self.tuned.lock().iter().map(row).collect()
            }
            "tuning_log" => self.log.lock().iter().map(row_of_change).collect(),
            _ => return None,
        })
    }
}

fn row_of_change(change: &Change) -> Vec<Value> {
    vec![
        Value::UInt(change.id),
        Value::UInt(change.at_us),
        change.name.as_str().into(),
        Value::UInt(change.from),
        Value::UInt(change.to),
        change.reason.as_str().into(),
        change.effect.as_deref().map_or(Value::Null, Value::from),
        change.outcome.name().into(),
    ]
}

fn key_of(id: u64) -> String {
    format!("{LOG_KEY}{id:016x}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_is_read_as_it_was_stored() {
        let change = Change {
            id: 7,
            at_us: 5,
            name: "caches".into(),
            from: 1,
            to: 2,
            reason: "blocks are read from the disk".into(),
            effect: None,
            outcome: Outcome::Measuring,
        };
        let done = Change { effect: Some("12% cheaper".into()), outcome: Outcome::Kept, ..change.clone() };
        for change in [change, done] {
            assert_eq!(Change::parse(7, &change.stored()), Some(change));
        }
        assert_eq!(Change::parse(7, "x"), None);
    }
}
