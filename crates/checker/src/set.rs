//! Predicates: sets of elements that begin to satisfy a condition, each at most once, and then do for ever.
//!
//! `add p 3` may be an INSERT of a row that satisfies `p`, or an UPDATE that makes it so; `where p [1 3]` is a SELECT
//! with `p` as its condition. As each element has two versions only (not there, there), every read says of every
//! element whether it came before or after: present is a `wr`, absent an anti-dependency of the predicate (Adya 4.4.1).
//! Versions are counted by their place in `adds`.
//!
//! Every read is compared with every element of its set: sets should be small.

use crate::anomaly::Kind;
use crate::graph::{Edges, PREDICATE_RW, WR};
use crate::history::{History, KeyId, Op, OpKind, Outcome, TxnId, list_text};
use crate::{Options, Report};

#[derive(Clone, Copy)]
pub struct Add {
    pub key: KeyId,
    pub txn: TxnId,
    pub value: i64,
}

pub struct Sets {
    /// By key and value.
    pub adds: Vec<Add>,
}

impl Sets {
    /// Marks who must have committed, as a read shows an element of his.
    pub fn index(history: &History, committed: &mut [bool]) -> Sets {
        let mut adds = Vec::new();
        for txn in history.ids() {
            for op in history.ops(txn).iter().filter(|op| op.kind == OpKind::Add) {
                adds.push(Add { key: op.key, txn, value: op.value });
            }
        }
        adds.sort_by_key(|add| (add.key, add.value));
        let sets = Sets { adds };
        if sets.adds.is_empty() {
            return sets;
        }
        for txn in history.ids().filter(|txn| history.outcome(*txn) == Outcome::Ok) {
            for op in history.ops(txn).iter().filter(|op| op.kind == OpKind::ReadSet) {
                for value in history.set(op) {
                    if let Some(add) = sets.find(op.key, *value).map(|at| &sets.adds[at]) {
                        committed[add.txn as usize] |= history.outcome(add.txn) == Outcome::Info;
                    }
                }
            }
        }
        sets
    }

    fn find(&self, key: KeyId, value: i64) -> Option<usize> {
        let at = self.adds.partition_point(|add| (add.key, add.value) < (key, value));
        let add = self.adds.get(at)?;
        ((add.key, add.value) == (key, value)).then_some(at)
    }

    fn of_key(&self, key: KeyId) -> impl Iterator<Item = (u32, &Add)> {
        let from = self.adds.partition_point(|add| add.key < key);
        (from as u32..).zip(self.adds[from..].iter().take_while(move |add| add.key == key))
    }
}

pub fn analyze(history: &History, sets: &Sets, committed: &[bool], options: &Options, edges: &mut Edges, report: &mut Report) {
    for pair in sets.adds.windows(2) {
        if let [a, b] = pair
            && (a.key, a.value) == (b.key, b.value)
        {
            let key = history.key_name(a.key);
            report.add(Kind::DuplicateWrite, || {
                format!("{} was added to {key} twice:\n{}\n{}", a.value, history.describe(a.txn), history.describe(b.txn))
            });
        }
    }
    for txn in history.ids().filter(|txn| history.outcome(*txn) == Outcome::Ok) {
        let ops = history.ops(txn);
        for (at, op) in ops.iter().enumerate().filter(|(_, op)| op.kind == OpKind::ReadSet) {
            let mut found = history.set(op).to_vec();
            found.sort_unstable();
            if found.windows(2).any(|pair| pair[0] == pair[1]) {
                report.add(Kind::DuplicateElements, || format!("an element is twice in\n{}", history.describe(txn)));
            }
            check_internal(history, txn, at, &found, report);
            read(history, sets, committed, options, txn, op, &found, edges, report);
        }
    }
}

/// Against what the transaction has added, and what it has read before.
fn check_internal(history: &History, txn: TxnId, at: usize, found: &[i64], report: &mut Report) {
    let ops = history.ops(txn);
    let key = ops[at].key;
    let mut own: Vec<i64> = Vec::new();
    let mut before: Option<Vec<i64>> = None;
    for op in ops[..at].iter().filter(|op| op.key == key) {
        match op.kind {
            OpKind::Add => {
                own.push(op.value);
                before.iter_mut().for_each(|set| set.push(op.value));
            }
            OpKind::ReadSet => before = Some(history.set(op).to_vec()),
            _ => {}
        }
    }
    let text = || format!("{} in\n{}", history.describe_op(&ops[at]), history.describe(txn));
    if own.iter().any(|value| found.binary_search(value).is_err()) {
        report.add(Kind::Internal, || format!("a read lacks own elements: {}", text()));
        return;
    }
    if let Some(mut before) = before {
        before.sort_unstable();
        if before != found {
            report.add(Kind::NonRepeatableRead, || format!("it was {} before: {}", list_text(&before), text()));
        }
    }
}

fn read(
    history: &History,
    sets: &Sets,
    committed: &[bool],
    options: &Options,
    txn: TxnId,
    op: &Op,
    found: &[i64],
    edges: &mut Edges,
    report: &mut Report,
) {
    let key = op.key;
    for (version, add) in sets.of_key(key) {
        let outcome = history.outcome(add.txn);
        let present = found.binary_search(&add.value).is_ok();
        if present && outcome == Outcome::Fail {
            let writer = history.name(add.txn);
            report.add(Kind::G1a, || {
                let text = format!("{writer} added {} and took it back", add.value);
                format!("{text}:\n{}\n{}", history.describe(add.txn), history.describe(txn))
            });
        } else if present {
            edges.add(WR, add.txn, txn, key, version);
        } else if committed[add.txn as usize] {
            edges.add(PREDICATE_RW, txn, add.txn, key, version);
        }
    }
    if options.closed
        && let Some(value) = found.iter().find(|value| sets.find(key, **value).is_none())
    {
        report.add(Kind::UnwrittenRead, || format!("nobody added {value}, but\n{}", history.describe(txn)));
    }
}
