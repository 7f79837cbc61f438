//! Says in words why an edge is there, from what the transactions did.

use crate::graph::{PREDICATE_RW, PROCESS, REAL_TIME, RW, WR, WW};
use crate::history::{History, KeyId, TxnId, list_text};
use crate::list::Lists;
use crate::register::Registers;
use crate::set::Sets;

pub struct Explainer<'a> {
    pub history: &'a History,
    pub lists: &'a Lists,
    pub registers: &'a Registers,
    pub sets: &'a Sets,
}

/// A step of a cycle, between two transactions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    pub from: TxnId,
    pub to: TxnId,
    pub kind: u8,
    pub key: KeyId,
    pub version: u32,
}

pub fn kind_name(kind: u8) -> &'static str {
    match kind {
        WW => "ww",
        WR => "wr",
        RW => "rw",
        PREDICATE_RW => "rw (predicate)",
        PROCESS => "process",
        _ => "real time",
    }
}

impl Explainer<'_> {
    /// The transactions of a cycle, and each step with its reason.
    pub fn cycle(&self, steps: &[Step]) -> String {
        let mut text = String::new();
        let mut told = Vec::new();
        for step in steps {
            if !told.contains(&step.from) {
                told.push(step.from);
                text += &format!("{}\n", self.history.describe(step.from));
            }
        }
        for step in steps {
            let (from, to) = (self.history.name(step.from), self.history.name(step.to));
            text += &format!("  {from} -{}-> {to}: {}\n", kind_name(step.kind), self.reason(step));
        }
        text
    }

    fn reason(&self, step: &Step) -> String {
        let (from, to) = (self.history.name(step.from), self.history.name(step.to));
        match step.kind {
            PROCESS => format!("one client ran {from} and then {to}"),
            REAL_TIME => format!("{from} had ended when {to} began"),
            PREDICATE_RW => {
                let value = self.sets.adds.get(step.version as usize).map_or(0, |add| add.value);
                format!("{from} did not find {value} in {}, which {to} added", self.key(step))
            }
            _ if self.sets.adds.get(step.version as usize).is_some_and(|add| add.key == step.key) => {
                let value = self.sets.adds[step.version as usize].value;
                format!("{to} found {value} in {}, which {from} added", self.key(step))
            }
            _ if self.is_register(step) => self.register_reason(step),
            _ => self.list_reason(step),
        }
    }

    fn key(&self, step: &Step) -> &str {
        self.history.key_name(step.key)
    }

    fn is_register(&self, step: &Step) -> bool {
        let at = self.registers.writes.partition_point(|write| write.key < step.key);
        self.registers.writes.get(at).is_some_and(|write| write.key == step.key)
    }

    fn register_reason(&self, step: &Step) -> String {
        let (from, to, key) = (self.history.name(step.from), self.history.name(step.to), self.key(step));
        let version = self.registers.write(step.version).map_or("nil".to_string(), |write| write.value.to_string());
        let next = self.registers.value_of(step.key, step.to).map_or("?".to_string(), |value| value.to_string());
        match step.kind {
            WW => format!("{from} wrote {key} {version}, and {to} wrote {next} after it"),
            WR => format!("{to} read {key} {version}, which {from} wrote"),
            _ => format!("{from} read {key} {version}, and {to} wrote {next} after it"),
        }
    }

    fn list_reason(&self, step: &Step) -> String {
        let (from, to, key) = (self.history.name(step.from), self.history.name(step.to), self.key(step));
        let longest = &self.history.longest[step.key as usize];
        if step.kind == WR && step.version as usize > longest.len() {
            return format!("{to} read {key} with an element last that {from} appended");
        }
        let list = &longest[..step.version as usize];
        let last = list.last().map_or("nothing".to_string(), |value| value.to_string());
        let next = self.lists.next_value(step.key, step.version, step.to);
        let next_text = next.map_or("more".to_string(), |value| value.to_string());
        let unread = if next.is_some_and(|value| !longest.contains(&value)) { ", which nobody has read," } else { "" };
        match step.kind {
            WW => format!("{from} appended {last} to {key}, and {to} appended {next_text}{unread} after it"),
            WR => format!("{to} read {key} {}, whose last element {from} appended", list_text(list)),
            _ => format!("{from} read {key} {}, to which {to} appended {next_text}{unread} later", list_text(list)),
        }
    }
}
