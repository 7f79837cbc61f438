//! A history in little memory: reads of lists are stored as the length of a prefix of the longest list seen.
//!
//! A million transactions read two million lists; as they all are prefixes of a few thousand, storing them whole would
//! be most of the memory. A read that is no prefix of the longest is kept whole in `odd`: there are none, or the
//! history is wrong.

use std::collections::HashMap;
use std::fmt::Write;

/// Index into `History::txns`.
pub type TxnId = u32;
/// Index into `History::key_names`.
pub type KeyId = u32;

/// How a transaction ended, as far as its client knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    Ok,
    /// It certainly did not happen.
    Fail,
    /// It happened, or not, or will.
    Info,
}

/// An operation, as a client reports it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Mop {
    /// Adds a unique value to the end of a list.
    Append(KeyId, i64),
    ReadList(KeyId, Vec<i64>),
    /// Sets a register to a unique value.
    Write(KeyId, i64),
    /// `None`: never written. Of a list, it means empty.
    Read(KeyId, Option<i64>),
    /// Makes a unique element satisfy a predicate, for good.
    Add(KeyId, i64),
    /// The elements that satisfy a predicate.
    ReadSet(KeyId, Vec<i64>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpKind {
    Append,
    /// `value` is the number of elements that were read.
    ReadPrefix,
    /// `value` is an index into `odd`.
    ReadOdd,
    Write,
    Read,
    ReadNil,
    Add,
    /// `value` is where the elements begin in `elements`, and how many they are (low 24 bits).
    ReadSet,
}

#[derive(Clone, Copy, Debug)]
pub struct Op {
    pub value: i64,
    pub key: KeyId,
    pub kind: OpKind,
}

#[derive(Clone, Copy, Debug)]
pub struct Txn {
    ops_start: u32,
    ops_count: u32,
    /// What people call it: `T` and this number.
    pub label: u32,
    pub process: u32,
    /// Moments are numbers that grow; an operation that ended at 3 precedes one that began at 4.
    pub invoke: u64,
    /// `u64::MAX` if the end is unknown.
    pub complete: u64,
    pub outcome: Outcome,
}

const SET_COUNT_BITS: u32 = 24;

#[derive(Default)]
pub struct History {
    /// By the moment they began.
    pub txns: Vec<Txn>,
    ops: Vec<Op>,
    /// Of each key, the longest list that was read.
    pub longest: Vec<Vec<i64>>,
    odd: Vec<Vec<i64>>,
    elements: Vec<i64>,
    key_names: Vec<String>,
}

impl History {
    pub fn ops(&self, txn: TxnId) -> &[Op] {
        let txn = &self.txns[txn as usize];
        &self.ops[txn.ops_start as usize..(txn.ops_start + txn.ops_count) as usize]
    }

    /// What a read of a list returned.
    pub fn list(&self, op: &Op) -> &[i64] {
        match op.kind {
            OpKind::ReadPrefix => &self.longest[op.key as usize][..op.value as usize],
            OpKind::ReadOdd => &self.odd[op.value as usize],
            _ => &[],
        }
    }

    pub fn set(&self, op: &Op) -> &[i64] {
        let (start, count) = (op.value >> SET_COUNT_BITS, op.value & ((1 << SET_COUNT_BITS) - 1));
        &self.elements[start as usize..(start + count) as usize]
    }

    pub fn key_count(&self) -> usize {
        self.key_names.len()
    }

    pub fn key_name(&self, key: KeyId) -> &str {
        &self.key_names[key as usize]
    }

    pub fn ids(&self) -> impl Iterator<Item = TxnId> + use<> {
        0..self.txns.len() as TxnId
    }

    pub fn outcome(&self, txn: TxnId) -> Outcome {
        self.txns[txn as usize].outcome
    }

    pub fn name(&self, txn: TxnId) -> String {
        format!("T{}", self.txns[txn as usize].label)
    }

    /// `T7 (client 2): append x 1; r y [1 2]`.
    pub fn describe(&self, txn: TxnId) -> String {
        let Txn { process, outcome, .. } = self.txns[txn as usize];
        let outcome = match outcome {
            Outcome::Ok => "",
            Outcome::Fail => ", aborted",
            Outcome::Info => ", outcome unknown",
        };
        let ops: Vec<String> = self.ops(txn).iter().map(|op| self.describe_op(op)).collect();
        format!("{} (client {process}{outcome}): {}", self.name(txn), ops.join("; "))
    }

    pub fn describe_op(&self, op: &Op) -> String {
        let key = self.key_name(op.key);
        match op.kind {
            OpKind::Append => format!("append {key} {}", op.value),
            OpKind::ReadPrefix | OpKind::ReadOdd => format!("r {key} {}", list_text(self.list(op))),
            OpKind::Write => format!("w {key} {}", op.value),
            OpKind::Read => format!("r {key} {}", op.value),
            OpKind::ReadNil => format!("r {key} nil"),
            OpKind::Add => format!("add {key} {}", op.value),
            OpKind::ReadSet => format!("where {key} {}", list_text(self.set(op))),
        }
    }
}

/// `[1 2 3]`, or the ends of a long list.
pub fn list_text(list: &[i64]) -> String {
    const SHOWN: usize = 24;
    let mut text = String::from("[");
    let skipped = list.len().saturating_sub(SHOWN);
    if skipped > 0 {
        let _ = write!(text, "… {skipped} more … ");
    }
    let shown: Vec<String> = list[skipped..].iter().map(i64::to_string).collect();
    text + &shown.join(" ") + "]"
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Object {
    Unknown,
    List,
    Register,
    Set,
}

/// Collects transactions in any order.
#[derive(Default)]
pub struct Builder {
    history: History,
    keys: HashMap<String, KeyId>,
    objects: Vec<Object>,
    failure: Option<String>,
}

impl Builder {
    pub fn new() -> Builder {
        Builder::default()
    }

    pub fn key(&mut self, name: &str) -> KeyId {
        if let Some(key) = self.keys.get(name) {
            return *key;
        }
        let key = self.history.key_names.len() as KeyId;
        self.keys.insert(name.to_string(), key);
        self.history.key_names.push(name.to_string());
        self.history.longest.push(Vec::new());
        self.objects.push(Object::Unknown);
        key
    }

    pub fn txn_count(&self) -> usize {
        self.history.txns.len()
    }

    /// Adds a transaction. Reads of a transaction that did not commit are not evidence, and are dropped.
    pub fn push(&mut self, label: u32, process: u32, outcome: Outcome, invoke: u64, complete: Option<u64>, mops: &[Mop]) {
        let start = self.history.ops.len();
        for mop in mops {
            let read = matches!(mop, Mop::ReadList(..) | Mop::Read(..) | Mop::ReadSet(..));
            if !read || outcome == Outcome::Ok {
                let op = self.compact(mop);
                self.history.ops.push(op);
            }
        }
        if self.history.ops.len() > u32::MAX as usize || self.history.txns.len() > (u32::MAX / 4) as usize {
            self.fail("too many operations".into());
            return;
        }
        let complete = if outcome == Outcome::Info { u64::MAX } else { complete.unwrap_or(u64::MAX) };
        self.history.txns.push(Txn {
            ops_start: start as u32,
            ops_count: (self.history.ops.len() - start) as u32,
            label,
            process,
            invoke,
            complete,
            outcome,
        });
    }

    fn fail(&mut self, text: String) {
        self.failure.get_or_insert(text);
    }

    fn compact(&mut self, mop: &Mop) -> Op {
        match mop {
            Mop::Append(key, value) => self.op(OpKind::Append, *key, *value, Object::List),
            Mop::ReadList(key, list) => {
                let (kind, value) = self.compact_list(*key, list);
                self.op(kind, *key, value, Object::List)
            }
            Mop::Write(key, value) => self.op(OpKind::Write, *key, *value, Object::Register),
            Mop::Read(key, Some(value)) => self.op(OpKind::Read, *key, *value, Object::Register),
            Mop::Read(key, None) => self.op(OpKind::ReadNil, *key, 0, Object::Unknown),
            Mop::Add(key, value) => self.op(OpKind::Add, *key, *value, Object::Set),
            Mop::ReadSet(key, set) => {
                let start = self.history.elements.len() as i64;
                self.history.elements.extend_from_slice(set);
                if set.len() >> SET_COUNT_BITS != 0 {
                    self.fail("a set is too large".into());
                }
                self.op(OpKind::ReadSet, *key, (start << SET_COUNT_BITS) | set.len() as i64, Object::Set)
            }
        }
    }

    fn op(&mut self, kind: OpKind, key: KeyId, value: i64, object: Object) -> Op {
        let known = &mut self.objects[key as usize];
        if *known == Object::Unknown {
            *known = object;
        } else if object != Object::Unknown && *known != object {
            let name = self.history.key_name(key).to_string();
            self.fail(format!("key {name} is used as two kinds of object"));
        }
        Op { value, key, kind }
    }

    fn compact_list(&mut self, key: KeyId, list: &[i64]) -> (OpKind, i64) {
        let longest = &mut self.history.longest[key as usize];
        if longest.starts_with(list) {
            return (OpKind::ReadPrefix, list.len() as i64);
        }
        if list.starts_with(longest) {
            longest.extend_from_slice(&list[longest.len()..]);
            return (OpKind::ReadPrefix, list.len() as i64);
        }
        self.history.odd.push(list.to_vec());
        (OpKind::ReadOdd, self.history.odd.len() as i64 - 1)
    }

    pub fn finish(mut self) -> Result<History, String> {
        if let Some(text) = self.failure {
            return Err(text);
        }
        let history = &mut self.history;
        for op in &mut history.ops {
            if op.kind == OpKind::ReadNil && self.objects[op.key as usize] == Object::List {
                *op = Op { kind: OpKind::ReadPrefix, value: 0, ..*op };
            }
        }
        prefer_longer(history);
        history.txns.sort_by_key(|txn| txn.invoke);
        Ok(self.history)
    }
}

/// A list that came first may be shorter than an odd one that came later: then the longer one is the order.
fn prefer_longer(history: &mut History) {
    if history.odd.is_empty() {
        return;
    }
    let mut best: HashMap<KeyId, usize> = HashMap::new();
    for op in history.ops.iter().filter(|op| op.kind == OpKind::ReadOdd) {
        let length = |index: usize| history.odd[index].len();
        let index = op.value as usize;
        let known = best.get(&op.key).map_or(history.longest[op.key as usize].len(), |known| length(*known));
        if length(index) > known {
            best.insert(op.key, index);
        }
    }
    for op_index in 0..history.ops.len() {
        let op = history.ops[op_index];
        let Some(index) = best.get(&op.key) else { continue };
        let longest = &history.odd[*index];
        let list = match op.kind {
            OpKind::ReadPrefix => &history.longest[op.key as usize][..op.value as usize],
            OpKind::ReadOdd => &history.odd[op.value as usize],
            _ => continue,
        };
        if longest.starts_with(list) {
            history.ops[op_index] = Op { kind: OpKind::ReadPrefix, value: list.len() as i64, key: op.key };
        } else if op.kind == OpKind::ReadPrefix {
            let list = list.to_vec();
            history.odd.push(list);
            history.ops[op_index] = Op { kind: OpKind::ReadOdd, value: history.odd.len() as i64 - 1, key: op.key };
        }
    }
    for (key, index) in best {
        history.longest[key as usize] = history.odd[index].clone();
    }
}
