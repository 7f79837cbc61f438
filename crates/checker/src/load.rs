//! Histories as Jepsen and Elle write them, in EDN, and back.
//!
//! Each line is an event: `:invoke` when a client begins, `:ok`, `:fail` or `:info` (unknown) when it knows how it
//! ended. Their order is real time. The operations say what the history is about:
//!
//! | value of `:value` | meaning |
//! |---|---|
//! | `[[:append k 1] [:r k [1]]]` | a transaction on lists |
//! | `[[:w k 1] [:r k 1]]` | on registers |
//! | `[[:add p 1] [:where p #{1}]]` | on predicates (ours) |
//! | `:f :read`, `{account balance …}` | Jepsen's bank |
//! | `:f :write`, `1`; `:f :read`, `#{1 2}` | Jepsen's comments: one predicate that all rows satisfy |
//!
//! A history of reads alone is one of Jepsen's long-fork: each value was written by a transaction of its own.

use std::collections::BTreeSet;
use std::fmt::Write;

use crate::bank;
use crate::edn::{Reader, Value};
use crate::history::{Builder, History, KeyId, Mop, OpKind, Outcome};
use crate::{Options, Report, check};

pub enum Loaded {
    Txns(History),
    Bank(Vec<bank::Read>),
}

/// Reads a history and checks it.
pub fn check_edn(text: &str, options: &Options) -> Result<Report, String> {
    match load(text)? {
        Loaded::Txns(history) => Ok(check(&history, options)),
        Loaded::Bank(reads) => {
            let mut report = Report::default();
            bank::check(&reads, None, false, &mut report);
            Ok(report)
        }
    }
}

/// An invocation that has not ended.
struct Open {
    process: Option<i64>,
    function: String,
    value: Value,
    moment: u64,
    label: u32,
}

struct Loader {
    builder: Builder,
    open: Vec<Open>,
    bank: Vec<bank::Read>,
    /// Values of registers that were read, as long as nothing was written.
    values_read: BTreeSet<(KeyId, i64)>,
    writes: bool,
}

pub fn load(text: &str) -> Result<Loaded, String> {
    let mut loader =
        Loader { builder: Builder::new(), open: Vec::new(), bank: Vec::new(), values_read: BTreeSet::new(), writes: false };
    let mut reader = Reader::new(text);
    let mut moment = 0;
    while let Some(form) = reader.next()? {
        let events = match form {
            Value::Vector(events) => events,
            event => vec![event],
        };
        for event in events {
            moment += 1;
            loader.event(event, moment).map_err(|text| format!("event {moment}: {text}"))?;
        }
    }
    loader.finish()
}

impl Loader {
    fn event(&mut self, event: Value, moment: u64) -> Result<(), String> {
        let kind = event.get("type").and_then(Value::keyword).ok_or("no :type")?.to_string();
        let process = match event.get("process") {
            None | Some(Value::Nil) => None,
            Some(Value::Int(process)) => Some(*process),
            // The nemesis, which is no client.
            Some(_) => return Ok(()),
        };
        let function = event.get("f").and_then(Value::keyword).unwrap_or_default().to_string();
        let value = event.get("value").cloned().unwrap_or(Value::Nil);
        let index = event.get("index").and_then(Value::int).unwrap_or(moment as i64 - 1);
        let label = u32::try_from(index).map_err(|_| "an :index out of range")?;
        if kind == "invoke" {
            self.open.push(Open { process, function, value, moment, label });
            return Ok(());
        }
        let of_client = |open: &&Open| open.process == process && open.function == function;
        let same_value = self.open.iter().rposition(|open| of_client(&open) && process.is_none() && open.value == value);
        let begun = same_value.or_else(|| self.open.iter().rposition(|open| of_client(&open)));
        let open = begun.map(|at| self.open.remove(at));
        let invoke = open.as_ref().map_or(moment, |open| open.moment);
        let outcome = match kind.as_str() {
            "ok" => Outcome::Ok,
            "fail" => Outcome::Fail,
            "info" => Outcome::Info,
            _ => return Err(format!("an unknown :type {kind}")),
        };
        // What was attempted: the completion of a failed operation may say less.
        let value = match (outcome, open) {
            (Outcome::Ok, _) => value,
            (_, Some(open)) => open.value,
            (_, None) => value,
        };
        self.operation(label, process, &function, outcome, invoke, Some(moment), &value)
    }

    fn operation(
        &mut self,
        label: u32,
        process: Option<i64>,
        function: &str,
        outcome: Outcome,
        invoke: u64,
        complete: Option<u64>,
        value: &Value,
    ) -> Result<(), String> {
        // Who has no number is a client of his own: no order follows from it.
        let process = process.map_or(u32::MAX - label, |process| process as u32);
        let mut mops = Vec::new();
        match (function, value) {
            ("read", Value::Map(accounts)) => {
                if outcome == Outcome::Ok {
                    let balances = accounts.iter().map(|(_, balance)| balance.int().ok_or("a balance is no number"));
                    self.bank.push(bank::Read { label, process, balances: balances.collect::<Result<_, _>>()? });
                }
                return Ok(());
            }
            ("transfer", _) | (_, Value::Nil) => return Ok(()),
            ("write", Value::Int(value)) => mops.push(Mop::Add(self.builder.key("comments"), *value)),
            ("read", Value::Set(set)) => {
                let values = set.iter().map(|value| value.int().ok_or("not a number in a set"));
                mops.push(Mop::ReadSet(self.builder.key("comments"), values.collect::<Result<_, _>>()?));
            }
            (_, Value::Vector(list)) => {
                for mop in list {
                    mops.extend(self.mop(mop)?);
                }
            }
            _ => return Err(format!("an operation of an unknown kind, :f :{function}")),
        }
        self.builder.push(label, process, outcome, invoke, complete, &mops);
        Ok(())
    }

    fn mop(&mut self, mop: &Value) -> Result<Option<Mop>, String> {
        let Value::Vector(parts) = mop else { return Err("a transaction of something else than vectors".into()) };
        let [function, key, value] = parts.as_slice() else { return Err("an operation without three parts".into()) };
        let key = match key {
            Value::Int(key) => self.builder.key(&key.to_string()),
            Value::Keyword(key) | Value::Text(key) | Value::Symbol(key) => self.builder.key(key),
            _ => return Err("a key that is no number and no name".into()),
        };
        let ints = |values: &[Value]| {
            values.iter().map(|value| value.int().ok_or("an element is no number")).collect::<Result<Vec<i64>, _>>()
        };
        let mop = match (function.keyword().unwrap_or_default(), value) {
            ("append", Value::Int(value)) => Mop::Append(key, *value),
            ("w", Value::Int(value)) => Mop::Write(key, *value),
            ("add", Value::Int(value)) => Mop::Add(key, *value),
            ("r", Value::Nil) => Mop::Read(key, None),
            ("r", Value::Int(value)) => Mop::Read(key, Some(*value)),
            ("r", Value::Vector(list)) => Mop::ReadList(key, ints(list)?),
            ("where", Value::Set(set)) => Mop::ReadSet(key, ints(set)?),
            ("where", Value::Nil) => return Ok(None),
            _ => return Err("an unknown operation in a transaction".into()),
        };
        if let Mop::Read(key, Some(value)) = mop {
            self.values_read.insert((key, value));
        }
        self.writes |= matches!(mop, Mop::Append(..) | Mop::Write(..) | Mop::Add(..));
        Ok(Some(mop))
    }

    fn finish(mut self) -> Result<Loaded, String> {
        for open in std::mem::take(&mut self.open) {
            let Open { process, function, value, moment, label } = open;
            self.operation(label, process, &function, Outcome::Info, moment, None, &value)?;
        }
        if !self.bank.is_empty() {
            return Ok(Loaded::Bank(self.bank));
        }
        if !self.writes {
            for (at, (key, value)) in (0u32..).zip(self.values_read) {
                let label = 1_000_000 + at;
                self.builder.push(label, u32::MAX / 2 + at, Outcome::Info, 0, None, &[Mop::Write(key, value)]);
            }
        }
        self.builder.finish().map(Loaded::Txns)
    }
}

/// The history as EDN, which Elle reads too, but for operations on predicates.
pub fn to_edn(history: &History) -> String {
    let mut events: Vec<(u64, bool, u32)> = Vec::new();
    for txn in history.ids() {
        let times = &history.txns[txn as usize];
        events.push((times.invoke, false, txn));
        if times.complete != u64::MAX {
            events.push((times.complete, true, txn));
        }
    }
    events.sort_unstable();
    let mut text = String::new();
    for (index, (_, ended, txn)) in events.iter().enumerate() {
        let kind = match (ended, history.outcome(*txn)) {
            (false, _) => "invoke",
            (true, Outcome::Ok) => "ok",
            (true, Outcome::Fail) => "fail",
            (true, Outcome::Info) => "info",
        };
        let ops: Vec<String> = history.ops(*txn).iter().map(|op| op_edn(history, op, *ended)).collect();
        let process = history.txns[*txn as usize].process;
        let _ = writeln!(text, "{{:index {index}, :type :{kind}, :process {process}, :f :txn, :value [{}]}}", ops.join(" "));
    }
    text
}

fn op_edn(history: &History, op: &crate::history::Op, ended: bool) -> String {
    let key = history.key_name(op.key);
    let name = if key.parse::<i64>().is_ok() { key.to_string() } else { format!(":{key}") };
    let list = |list: &[i64]| list.iter().map(i64::to_string).collect::<Vec<_>>().join(" ");
    match op.kind {
        OpKind::Append => format!("[:append {name} {}]", op.value),
        OpKind::Write => format!("[:w {name} {}]", op.value),
        OpKind::Add => format!("[:add {name} {}]", op.value),
        OpKind::ReadSet if !ended => format!("[:where {name} nil]"),
        OpKind::ReadSet => format!("[:where {name} #{{{}}}]", list(history.set(op))),
        _ if !ended => format!("[:r {name} nil]"),
        OpKind::ReadPrefix | OpKind::ReadOdd => format!("[:r {name} [{}]]", list(history.list(op))),
        OpKind::Read => format!("[:r {name} {}]", op.value),
        OpKind::ReadNil => format!("[:r {name} nil]"),
    }
}
