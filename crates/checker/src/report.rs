//! What was found: a few examples of each kind in words, and how many there are.

use std::collections::BTreeMap;
use std::fmt;

use crate::anomaly::{Kind, Level, Order};

/// Examples kept of each kind; more are only counted.
pub const EXAMPLES_MAX: usize = 8;

/// One anomaly.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    pub kind: Kind,
    pub order: Order,
    /// The transactions, their operations, and why each edge is there.
    pub text: String,
}

#[derive(Clone, Debug, Default)]
pub struct Report {
    found: BTreeMap<(Kind, Order), (u64, Vec<Finding>)>,
    /// Searches that were given up, because they would have taken too long. Empty for histories without many cycles.
    pub gaps: Vec<String>,
}

/// `G-single`, or `G-single-realtime`.
pub fn name(kind: Kind, order: Order) -> String {
    let suffix = match order {
        Order::None => "",
        Order::Process => "-process",
        Order::RealTime => "-realtime",
    };
    format!("{}{suffix}", kind.name())
}

impl Report {
    /// `text` is asked for only if the example is kept.
    pub fn add(&mut self, kind: Kind, text: impl FnOnce() -> String) {
        self.add_ordered(kind, Order::None, text);
    }

    pub fn add_ordered(&mut self, kind: Kind, order: Order, text: impl FnOnce() -> String) {
        let (count, examples) = self.found.entry((kind, order)).or_default();
        *count += 1;
        if examples.len() < EXAMPLES_MAX {
            examples.push(Finding { kind, order, text: text() });
        }
    }

    pub fn has(&self, kind: Kind, order: Order) -> bool {
        self.found.contains_key(&(kind, order))
    }

    pub fn is_clean(&self) -> bool {
        self.found.is_empty()
    }

    /// The names of all that was found, sorted.
    pub fn names(&self) -> Vec<String> {
        let mut names: Vec<String> = self.found.keys().map(|(kind, order)| name(*kind, *order)).collect();
        names.sort();
        names
    }

    pub fn counts(&self) -> impl Iterator<Item = (String, u64)> + '_ {
        self.found.iter().map(|((kind, order), (count, _))| (name(*kind, *order), *count))
    }

    pub fn findings(&self) -> impl Iterator<Item = &Finding> {
        self.found.values().flat_map(|(_, examples)| examples)
    }

    /// The examples of what `level` forbids.
    pub fn forbidden(&self, level: Level) -> impl Iterator<Item = &Finding> {
        self.findings().filter(move |finding| finding.kind.forbidden_from() <= level)
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.found.is_empty() {
            writeln!(f, "no anomaly")?;
        }
        for ((kind, order), (count, examples)) in &self.found {
            writeln!(f, "{} (found {count}; forbidden from {})", name(*kind, *order), kind.forbidden_from().sql())?;
            for finding in examples {
                writeln!(f, "  {}", finding.text.trim_end().replace('\n', "\n  "))?;
            }
        }
        for gap in &self.gaps {
            writeln!(f, "not searched to the end: {gap}")?;
        }
        Ok(())
    }
}
