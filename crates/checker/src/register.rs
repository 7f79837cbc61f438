//! Registers, written with unique values: who read what is plain, the order of the versions has to be inferred.
//!
//! What is known of the order, as pairs *earlier, later*:
//! 1. nothing comes before nil;
//! 2. who reads 3 and writes 4 has put 4 after 3;
//! 3. with real time: a write that began after another had ended comes later.
//!
//! The pairs do not have to be neighbours: between 3 and 4 there may be others, and then `T(3) -ww-> T(4)` stands for a
//! chain of `ww`, and `reader of 3 -rw-> T(4)` for one `rw` and such a chain. If the pairs of a key make a circle, it
//! is reported, and the key gives `wr` edges only.
//!
//! Versions are counted by their place in `writes`, from 1; 0 is nil.

use crate::anomaly::Kind;
use crate::graph::{Edges, WR};
use crate::history::{History, KeyId, Op, OpKind, Outcome, TxnId};
use crate::{Options, Report};

#[derive(Clone, Copy)]
pub struct Write {
    pub key: KeyId,
    pub txn: TxnId,
    pub value: i64,
    /// Not overwritten by its own transaction.
    last: bool,
}

pub struct Registers {
    /// By key and value.
    pub writes: Vec<Write>,
}

impl Registers {
    /// Marks who must have committed, as a read shows a write of his.
    pub fn index(history: &History, committed: &mut [bool]) -> Registers {
        let mut writes = Vec::new();
        for txn in history.ids() {
            let ops = history.ops(txn);
            for (at, op) in ops.iter().enumerate().filter(|(_, op)| op.kind == OpKind::Write) {
                let last = !ops[at + 1..].iter().any(|later| later.kind == OpKind::Write && later.key == op.key);
                writes.push(Write { key: op.key, txn, value: op.value, last });
            }
        }
        writes.sort_by_key(|write| (write.key, write.value));
        let registers = Registers { writes };
        for txn in history.ids().filter(|txn| history.outcome(*txn) == Outcome::Ok) {
            for op in history.ops(txn).iter().filter(|op| op.kind == OpKind::Read) {
                if let Some(write) = registers.find(op.key, op.value).and_then(|version| registers.write(version)) {
                    committed[write.txn as usize] |= history.outcome(write.txn) == Outcome::Info;
                }
            }
        }
        registers
    }

    /// The version that `value` makes.
    fn find(&self, key: KeyId, value: i64) -> Option<u32> {
        let at = self.writes.partition_point(|write| (write.key, write.value) < (key, value));
        let write = self.writes.get(at)?;
        ((write.key, write.value) == (key, value)).then_some(at as u32 + 1)
    }

    pub fn write(&self, version: u32) -> Option<&Write> {
        self.writes.get((version as usize).checked_sub(1)?)
    }

    /// The value of `key` that `txn` left.
    pub fn value_of(&self, key: KeyId, txn: TxnId) -> Option<i64> {
        let of_key = self.writes[self.writes.partition_point(|write| write.key < key)..].iter();
        of_key.take_while(|write| write.key == key).find(|write| write.txn == txn && write.last).map(|write| write.value)
    }
}

/// A version of a key: nil is one for each key.
type Version = (KeyId, u32);

#[derive(Default)]
struct Facts {
    /// Who read which version from outside.
    readers: Vec<(Version, TxnId)>,
    /// Which version is known to come after which.
    later: Vec<(Version, u32)>,
    /// Who read a version and then wrote the key.
    updates: Vec<(Version, TxnId)>,
}

pub fn analyze(
    history: &History,
    registers: &Registers,
    committed: &[bool],
    options: &Options,
    edges: &mut Edges,
    report: &mut Report,
) {
    for pair in registers.writes.windows(2) {
        if let [a, b] = pair
            && (a.key, a.value) == (b.key, b.value)
        {
            let key = history.key_name(a.key);
            report.add(Kind::DuplicateWrite, || {
                format!("{} was written to {key} twice:\n{}\n{}", a.value, history.describe(a.txn), history.describe(b.txn))
            });
        }
    }
    let mut facts = Facts::default();
    for txn in history.ids().filter(|txn| history.outcome(*txn) == Outcome::Ok) {
        read_txn(history, registers, options, txn, &mut facts, edges, report);
    }
    if options.real_time {
        real_time_order(history, registers, committed, &mut facts);
    }
    roots_after_nil(registers, committed, &mut facts);
    facts.later.sort_unstable();
    facts.later.dedup();
    facts.readers.sort_unstable();
    facts.readers.dedup();
    report_lost_updates(history, registers, &mut facts, report);
    let cyclic = cyclic_keys(history, registers, &facts, report);
    for group in facts.later.chunk_by(|a, b| a.0 == b.0) {
        let version = group[0].0;
        if cyclic.contains(&version.0) {
            continue;
        }
        let from = facts.readers.partition_point(|(other, _)| *other < version);
        let to = facts.readers.partition_point(|(other, _)| *other <= version);
        let readers: Vec<TxnId> = facts.readers[from..to].iter().map(|(_, txn)| *txn).collect();
        let mut writers: Vec<TxnId> = group.iter().filter_map(|(_, later)| registers.write(*later)).map(|w| w.txn).collect();
        writers.sort_unstable();
        writers.dedup();
        edges.fan(registers.write(version.1).map(|write| write.txn), &readers, &writers, version.0, version.1);
    }
}

/// What a transaction knows of one key: the last value, and whether it wrote it itself.
struct Seen {
    key: KeyId,
    value: Option<i64>,
    own: bool,
    first_version: Option<u32>,
}

fn read_txn(
    history: &History,
    registers: &Registers,
    options: &Options,
    txn: TxnId,
    facts: &mut Facts,
    edges: &mut Edges,
    report: &mut Report,
) {
    let mut keys: Vec<Seen> = Vec::new();
    for op in history.ops(txn) {
        let value = match op.kind {
            OpKind::Write | OpKind::Read => Some(op.value),
            OpKind::ReadNil => None,
            _ => continue,
        };
        let at = keys.iter().position(|seen| seen.key == op.key);
        if op.kind == OpKind::Write {
            let first_version = at.and_then(|at| keys[at].first_version.take());
            if let (Some(first), Some(own)) = (first_version, own_last(history, registers, txn, op.key)) {
                facts.later.push(((op.key, first), own));
                facts.updates.push(((op.key, first), txn));
            }
            let seen = Seen { key: op.key, value, own: true, first_version: None };
            match at {
                Some(at) => keys[at] = seen,
                None => keys.push(seen),
            }
            continue;
        }
        if let Some(seen) = at.map(|at| &mut keys[at]) {
            if seen.value != value {
                let kind = if seen.own { Kind::Internal } else { Kind::NonRepeatableRead };
                let known = seen.value.map_or("nil".to_string(), |value| value.to_string());
                let key = history.key_name(op.key);
                report
                    .add(kind, || format!("{key} was {known} before {} in\n{}", history.describe_op(op), history.describe(txn)));
                seen.value = value;
            } else {
                continue;
            }
            if seen.own {
                continue;
            }
        }
        let version = read(history, registers, options, txn, op, edges, report);
        if let Some(version) = version {
            facts.readers.push(((op.key, version), txn));
        }
        if at.is_none() {
            keys.push(Seen { key: op.key, value, own: false, first_version: version });
        }
    }
}

fn own_last(history: &History, registers: &Registers, txn: TxnId, key: KeyId) -> Option<u32> {
    let last = history.ops(txn).iter().rev().find(|op| op.kind == OpKind::Write && op.key == key)?;
    registers.find(key, last.value)
}

/// A read from outside: returns the version, if it is one that others can follow.
fn read(
    history: &History,
    registers: &Registers,
    options: &Options,
    txn: TxnId,
    op: &Op,
    edges: &mut Edges,
    report: &mut Report,
) -> Option<u32> {
    if op.kind == OpKind::ReadNil {
        return Some(0);
    }
    let Some(version) = registers.find(op.key, op.value) else {
        if options.closed {
            report.add(Kind::UnwrittenRead, || format!("nobody wrote {}, but\n{}", op.value, history.describe(txn)));
        }
        return None;
    };
    let write = registers.write(version)?;
    let key = history.key_name(op.key);
    let both = || format!("\n{}\n{}", history.describe(write.txn), history.describe(txn));
    if write.txn == txn {
        report.add(Kind::Internal, || format!("a read shows a later write of its own transaction:\n{}", history.describe(txn)));
        return None;
    }
    if history.outcome(write.txn) == Outcome::Fail {
        let writer = history.name(write.txn);
        report.add(Kind::G1a, || format!("{writer} wrote {key} {} and took it back:{}", op.value, both()));
        return None;
    }
    if !write.last {
        let writer = history.name(write.txn);
        report.add(Kind::G1b, || format!("{writer} overwrites its own {key} {}:{}", op.value, both()));
        edges.add(WR, write.txn, txn, op.key, version);
        return None;
    }
    edges.add(WR, write.txn, txn, op.key, version);
    Some(version)
}

/// Of each write, the next one in real time: the one that ended first of those that began after it ended.
fn real_time_order(history: &History, registers: &Registers, committed: &[bool], facts: &mut Facts) {
    let mut first = 0;
    for group in registers.writes.chunk_by(|a, b| a.key == b.key) {
        let mut writes: Vec<(u64, u64, u32)> = Vec::new();
        for (version, write) in (first as u32 + 1..).zip(group) {
            let txn = &history.txns[write.txn as usize];
            if write.last && committed[write.txn as usize] && txn.complete != u64::MAX {
                writes.push((txn.invoke, txn.complete, version));
            }
        }
        first += group.len();
        // From the last to begin to the first: `next` is the one that ends first of those seen.
        writes.sort_unstable();
        let mut ends: Vec<(u64, u32)> = vec![(u64::MAX, 0); writes.len() + 1];
        for at in (0..writes.len()).rev() {
            ends[at] = ends[at + 1].min((writes[at].1, writes[at].2));
        }
        for (_, complete, version) in &writes {
            let at = writes.partition_point(|(invoke, ..)| invoke <= complete);
            if let (end, next) = ends[at]
                && end != u64::MAX
            {
                facts.later.push(((group[0].key, *version), next));
            }
        }
    }
}

/// Writes that are not known to follow another follow nil.
fn roots_after_nil(registers: &Registers, committed: &[bool], facts: &mut Facts) {
    let mut follows = vec![false; registers.writes.len()];
    for (_, later) in &facts.later {
        follows[*later as usize - 1] = true;
    }
    for (at, write) in registers.writes.iter().enumerate() {
        if !follows[at] && write.last && committed[write.txn as usize] {
            facts.later.push(((write.key, 0), at as u32 + 1));
        }
    }
}

fn report_lost_updates(history: &History, registers: &Registers, facts: &mut Facts, report: &mut Report) {
    facts.updates.sort_unstable();
    for group in facts.updates.chunk_by(|a, b| a.0 == b.0) {
        if let [((key, version), first), (_, second), ..] = group {
            report.add(Kind::LostUpdate, || {
                let value = registers.write(*version).map_or("nil".to_string(), |write| write.value.to_string());
                let (count, key) = (group.len(), history.key_name(*key));
                let text = format!("{count} transactions read {key} as {value} and overwrote it");
                format!("{text}:\n{}\n{}", history.describe(*first), history.describe(*second))
            });
        }
    }
}

/// The keys whose pairs make a circle: what is left when versions that nothing precedes are taken away, again and again.
fn cyclic_keys(history: &History, registers: &Registers, facts: &Facts, report: &mut Report) -> Vec<KeyId> {
    let mut before = vec![0u32; registers.writes.len() + 1];
    for ((_, earlier), later) in &facts.later {
        if *earlier != 0 {
            before[*later as usize] += 1;
        }
    }
    let mut open: Vec<u32> = (1..before.len() as u32).filter(|version| before[*version as usize] == 0).collect();
    while let Some(version) = open.pop() {
        let Some(write) = registers.write(version) else { continue };
        let from = facts.later.partition_point(|(other, _)| *other < (write.key, version));
        for (_, later) in facts.later[from..].iter().take_while(|(other, _)| *other == (write.key, version)) {
            before[*later as usize] -= 1;
            if before[*later as usize] == 0 {
                open.push(*later);
            }
        }
    }
    let left = (1..before.len() as u32).filter(|version| before[*version as usize] > 0);
    let mut cyclic: Vec<KeyId> = left.filter_map(|version| registers.write(version)).map(|write| write.key).collect();
    cyclic.dedup();
    for key in &cyclic {
        report.add(Kind::CyclicVersions, || {
            let pairs = facts.later.iter().filter(|((other, earlier), _)| other == key && *earlier != 0);
            let value = |version: u32| registers.write(version).map_or(0, |write| write.value);
            let pairs: Vec<String> = pairs.take(12).map(|((_, a), b)| format!("{} before {}", value(*a), value(*b))).collect();
            format!("the versions of {} make a circle: {}", history.key_name(*key), pairs.join(", "))
        });
    }
    cyclic
}
