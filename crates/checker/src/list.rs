//! Lists that transactions append to: what a read shows tells the order of all appends before it.
//!
//! Versions of a list are counted by length: version 0 is empty, version 2 of a key read as `[5 7 9]` ended with 7.
//! The longest read gives the order. Two facts need no read: an append that committed and was never read comes after
//! the longest list, and a reader of the longest list comes before it.
//!
//! A read after own appends shows these last, as nobody else can append before the transaction ends; its version is
//! the one before them.

use std::collections::HashSet;

use crate::anomaly::Kind;
use crate::graph::{Edges, RW, WR, WW};
use crate::history::{History, KeyId, Op, OpKind, Outcome, TxnId, list_text};
use crate::{Options, Report};

const UNKNOWN: u32 = u32::MAX;

#[derive(Clone, Copy)]
pub struct Append {
    pub key: KeyId,
    pub txn: TxnId,
    pub value: i64,
    /// The length of the longest list up to it, 0 if it is not in it.
    pub position: u32,
}

/// The appends of a history, and the order of each list.
pub struct Lists {
    /// By key and value.
    pub appends: Vec<Append>,
    /// Where each key's appends begin.
    starts: Vec<u32>,
    /// Of each key, the append behind each element of the longest list.
    order: Vec<Vec<u32>>,
}

impl Lists {
    /// Marks who must have committed, as a read shows an append of his.
    pub fn index(history: &History, committed: &mut [bool]) -> Lists {
        let mut appends = Vec::new();
        for txn in history.ids() {
            for op in history.ops(txn).iter().filter(|op| op.kind == OpKind::Append) {
                appends.push(Append { key: op.key, txn, value: op.value, position: 0 });
            }
        }
        appends.sort_by_key(|append| (append.key, append.value));
        let mut starts = vec![0u32; history.key_count() + 1];
        for append in &appends {
            starts[append.key as usize + 1] += 1;
        }
        for key in 0..history.key_count() {
            starts[key + 1] += starts[key];
        }
        let mut lists = Lists { appends, starts, order: Vec::new() };
        for key in 0..history.key_count() {
            let order: Vec<u32> =
                history.longest[key].iter().map(|value| lists.find(key as KeyId, *value).unwrap_or(UNKNOWN)).collect();
            for (at, index) in order.iter().enumerate() {
                if let Some(append) = lists.appends.get_mut(*index as usize)
                    && append.position == 0
                {
                    append.position = at as u32 + 1;
                    committed[append.txn as usize] |= history.outcome(append.txn) == Outcome::Info;
                }
            }
            lists.order.push(order);
        }
        lists
    }

    fn of_key(&self, key: KeyId) -> &[Append] {
        &self.appends[self.starts[key as usize] as usize..self.starts[key as usize + 1] as usize]
    }

    fn find(&self, key: KeyId, value: i64) -> Option<u32> {
        let appends = self.of_key(key);
        let at = appends.partition_point(|append| append.value < value);
        (appends.get(at)?.value == value).then(|| self.starts[key as usize] + at as u32)
    }

    fn append(&self, key: KeyId, value: i64) -> Option<&Append> {
        self.find(key, value).map(|index| &self.appends[index as usize])
    }

    /// Who appended the element that makes `version`.
    fn author(&self, key: KeyId, version: u32) -> Option<&Append> {
        let at = (version as usize).checked_sub(1)?;
        self.appends.get(*self.order[key as usize].get(at)? as usize)
    }

    /// The value that `txn` appended as the version after `version`: read, or never read.
    pub fn next_value(&self, key: KeyId, version: u32, txn: TxnId) -> Option<i64> {
        let own = self.of_key(key).iter().filter(|append| append.txn == txn);
        own.filter(|append| append.position == 0 || append.position > version)
            .min_by_key(|append| if append.position == 0 { u32::MAX } else { append.position })
            .map(|append| append.value)
    }
}

struct Analysis<'a> {
    history: &'a History,
    lists: &'a Lists,
    committed: &'a [bool],
    options: &'a Options,
    /// Of each key, the shortest version with an element of an aborted transaction.
    aborted: Vec<u32>,
    /// Of each key, the shortest version with an element that nobody wrote, or with one twice.
    spoiled: Vec<u32>,
    /// Who read the whole of the longest list.
    tails: Vec<(KeyId, TxnId)>,
    /// Who read a version, and appended to it later.
    updates: Vec<(KeyId, u32, TxnId)>,
    /// Of each key, when the last read of it began.
    last_read: Vec<u64>,
    /// Appends that reads outside the order show.
    odd: HashSet<(KeyId, i64)>,
}

pub fn analyze(history: &History, lists: &Lists, committed: &[bool], options: &Options, edges: &mut Edges, report: &mut Report) {
    let keys = history.key_count();
    let mut analysis = Analysis {
        history,
        lists,
        committed,
        options,
        aborted: vec![UNKNOWN; keys],
        spoiled: vec![UNKNOWN; keys],
        tails: Vec::new(),
        updates: Vec::new(),
        last_read: vec![0; keys],
        odd: HashSet::new(),
    };
    for pair in lists.appends.windows(2) {
        if let [a, b] = pair
            && (a.key, a.value) == (b.key, b.value)
        {
            let key = history.key_name(a.key);
            report.add(Kind::DuplicateWrite, || {
                format!("{} was appended to {key} twice:\n{}\n{}", a.value, history.describe(a.txn), history.describe(b.txn))
            });
        }
    }
    for key in 0..keys as KeyId {
        analysis.order(key, edges, report);
    }
    for txn in history.ids().filter(|txn| history.outcome(*txn) == Outcome::Ok) {
        analysis.txn(txn, edges, report);
    }
    analysis.report_lost_updates(report);
    analysis.tails(edges, report);
}

/// What a transaction has done to one key so far.
struct Seen {
    key: KeyId,
    /// The list of the last read, and how many own appends there were then.
    read: Option<(Op, usize)>,
    own: Vec<i64>,
    first_version: Option<u32>,
}

impl Analysis<'_> {
    /// Edges between the authors of the longest list.
    fn order(&mut self, key: KeyId, edges: &mut Edges, report: &mut Report) {
        let history = self.history;
        let longest = &history.longest[key as usize];
        if let Some(at) = first_duplicate(longest) {
            self.spoil(key, at);
            let name = history.key_name(key);
            report.add(Kind::DuplicateElements, || format!("{name} was read with {} twice: {}", longest[at], list_text(longest)));
        }
        let mut last: Option<(u32, TxnId)> = None;
        let mut dirty: Option<TxnId> = None;
        for at in 0..longest.len() {
            let version = at as u32 + 1;
            let Some(author) = self.lists.author(key, version).map(|append| append.txn) else {
                if self.options.closed {
                    self.spoil(key, at);
                }
                continue;
            };
            if history.outcome(author) == Outcome::Fail {
                let aborted = &mut self.aborted[key as usize];
                *aborted = (*aborted).min(version);
                dirty = Some(author);
                continue;
            }
            if let Some(dirty) = dirty.take() {
                report.add(Kind::DirtyUpdate, || {
                    let text = "a committed append follows an aborted one in";
                    format!("{text} {}:\n{}\n{}", history.key_name(key), history.describe(dirty), history.describe(author))
                });
            }
            if let Some((version, before)) = last {
                edges.add(WW, before, author, key, version);
            }
            last = Some((version, author));
        }
    }

    fn spoil(&mut self, key: KeyId, at: usize) {
        let spoiled = &mut self.spoiled[key as usize];
        *spoiled = (*spoiled).min(at as u32 + 1);
    }

    fn txn(&mut self, txn: TxnId, edges: &mut Edges, report: &mut Report) {
        let mut keys: Vec<Seen> = Vec::new();
        // Whose writes earlier reads have shown.
        let mut shown: Vec<TxnId> = Vec::new();
        for op in self.history.ops(txn) {
            if !matches!(op.kind, OpKind::Append | OpKind::ReadPrefix | OpKind::ReadOdd) {
                continue;
            }
            let at = keys.iter().position(|seen| seen.key == op.key).unwrap_or_else(|| {
                keys.push(Seen { key: op.key, read: None, own: Vec::new(), first_version: None });
                keys.len() - 1
            });
            let seen = &mut keys[at];
            if op.kind == OpKind::Append {
                if let Some(version) = seen.first_version.take() {
                    self.updates.push((op.key, version, txn));
                }
                seen.own.push(op.value);
                continue;
            }
            let last_read = &mut self.last_read[op.key as usize];
            *last_read = (*last_read).max(self.history.txns[txn as usize].invoke);
            let consistent = self.check_internal(txn, op, seen, report);
            if op.kind == OpKind::ReadOdd {
                self.odd_read(txn, op, edges, report);
            } else if consistent {
                let version = (op.value as usize - seen.own.len()) as u32;
                if seen.own.is_empty() && seen.read.is_none() {
                    seen.first_version = Some(version);
                }
                self.read(txn, op, version, &mut shown, edges, report);
            }
            seen.read = Some((*op, seen.own.len()));
        }
    }

    /// Whether a read agrees with what the transaction itself has written.
    fn check_internal(&self, txn: TxnId, op: &Op, seen: &Seen, report: &mut Report) -> bool {
        let history = self.history;
        let list = history.list(op);
        let text = || format!("{} in\n{}", history.describe_op(op), history.describe(txn));
        let base = list.len().checked_sub(seen.own.len()).filter(|base| list[*base..] == seen.own[..]);
        let Some(base) = base else {
            report.add(Kind::Internal, || format!("a read lacks own appends: {}", text()));
            return false;
        };
        let early = base.checked_sub(1).and_then(|last| self.lists.append(op.key, list[last])).is_some_and(|a| a.txn == txn);
        if early {
            report.add(Kind::Internal, || format!("a read shows a later append of its own transaction: {}", text()));
            return false;
        }
        if let Some((read, own)) = &seen.read {
            let before = history.list(read);
            let same = list.len() == before.len() + seen.own.len() - own && list.starts_with(before);
            if !same {
                report.add(Kind::NonRepeatableRead, || {
                    format!("{} was {} before: {}", history.key_name(op.key), list_text(before), text())
                });
            }
        }
        true
    }

    /// A read that is no prefix of the longest list.
    fn odd_read(&mut self, txn: TxnId, op: &Op, edges: &mut Edges, report: &mut Report) {
        let history = self.history;
        let list = history.list(op);
        let longest = &history.longest[op.key as usize];
        if let Some(at) = first_duplicate(list) {
            report.add(Kind::DuplicateElements, || format!("{} twice in\n{}", list[at], history.describe(txn)));
        } else {
            report.add(Kind::IncompatibleOrder, || {
                format!("{} is no prefix of {} in\n{}", list_text(list), list_text(longest), history.describe(txn))
            });
        }
        self.odd.extend(list.iter().map(|value| (op.key, *value)));
        for value in list {
            match self.lists.append(op.key, *value) {
                Some(append) if history.outcome(append.txn) == Outcome::Fail => {
                    report.add(Kind::G1a, || self.g1a(txn, op, append));
                    break;
                }
                None if self.options.closed => {
                    report.add(Kind::UnwrittenRead, || format!("nobody appended {value}, but\n{}", history.describe(txn)));
                    break;
                }
                _ => {}
            }
        }
        let last = list.last().and_then(|value| self.lists.append(op.key, *value));
        if let Some(author) = last.filter(|author| history.outcome(author.txn) != Outcome::Fail) {
            edges.add(WR, author.txn, txn, op.key, UNKNOWN);
        }
    }

    fn read(&mut self, txn: TxnId, op: &Op, version: u32, shown: &mut Vec<TxnId>, edges: &mut Edges, report: &mut Report) {
        let (history, lists, key) = (self.history, self.lists, op.key);
        let aborted = self.aborted[key as usize];
        if version >= aborted
            && let Some(append) = lists.author(key, aborted)
        {
            report.add(Kind::G1a, || self.g1a(txn, op, append));
        }
        if version >= self.spoiled[key as usize] && first_duplicate(history.list(op)).is_none() {
            let value = history.longest[key as usize][self.spoiled[key as usize] as usize - 1];
            report.add(Kind::UnwrittenRead, || format!("nobody appended {value}, but\n{}", history.describe(txn)));
        }
        self.check_view(txn, op, version, shown, report);
        if let Some(author) = lists.author(key, version).filter(|author| history.outcome(author.txn) != Outcome::Fail) {
            if author.txn != txn && self.has_later_append(author) {
                let name = history.name(author.txn);
                report.add(Kind::G1b, || {
                    let text = format!("appends more to {} after {}:", history.key_name(key), author.value);
                    format!("{name} {text}\n{}\n{}", history.describe(author.txn), history.describe(txn))
                });
            }
            edges.add(WR, author.txn, txn, key, version);
            if author.txn != txn && !shown.contains(&author.txn) {
                shown.push(author.txn);
            }
        }
        let length = history.longest[key as usize].len() as u32;
        let author = lists.author(key, version).map(|append| append.txn);
        // More of the same author is the same version: who read between read an intermediate one.
        let next = (version + 1..=length)
            .filter_map(|later| lists.author(key, later))
            .find(|append| Some(append.txn) != author && history.outcome(append.txn) != Outcome::Fail);
        match next {
            Some(append) => edges.add(RW, txn, append.txn, key, version),
            None => self.tails.push((key, txn)),
        }
    }

    /// Whoever is shown must be shown whole from then on.
    fn check_view(&self, txn: TxnId, op: &Op, version: u32, shown: &[TxnId], report: &mut Report) {
        let history = self.history;
        for other in shown {
            let appends = history.ops(*other).iter().filter(|theirs| theirs.kind == OpKind::Append && theirs.key == op.key);
            let missing = appends
                .filter_map(|theirs| self.lists.append(op.key, theirs.value))
                .find(|append| append.position > version || append.position == 0 && self.committed[*other as usize]);
            if let Some(append) = missing {
                report.add(Kind::NonMonotonicView, || {
                    let text = format!("{} was seen before {}", history.name(*other), history.describe_op(op));
                    let missing = format!("which lacks its append of {}", append.value);
                    format!("{text}, {missing}:\n{}\n{}", history.describe(*other), history.describe(txn))
                });
            }
        }
    }

    fn g1a(&self, txn: TxnId, op: &Op, append: &Append) -> String {
        let (history, key) = (self.history, self.history.key_name(op.key));
        let writer = history.name(append.txn);
        let text = format!("{} read {} in {key}, which {writer} appended and took back", history.name(txn), append.value);
        format!("{text}:\n{}\n{}", history.describe(append.txn), history.describe(txn))
    }

    fn has_later_append(&self, append: &Append) -> bool {
        let ops = self.history.ops(append.txn).iter();
        let last = ops.rev().find(|op| op.kind == OpKind::Append && op.key == append.key);
        last.is_some_and(|op| op.value != append.value)
    }

    fn report_lost_updates(&mut self, report: &mut Report) {
        self.updates.sort_unstable();
        let history = self.history;
        for group in self.updates.chunk_by(|a, b| (a.0, a.1) == (b.0, b.1)) {
            if let [(key, version, first), (.., second), ..] = group {
                report.add(Kind::LostUpdate, || {
                    let list = list_text(&history.longest[*key as usize][..*version as usize]);
                    let count = group.len();
                    let text = format!("{count} transactions read {} as {list} and appended to it", history.key_name(*key));
                    format!("{text}:\n{}\n{}", history.describe(*first), history.describe(*second))
                });
            }
        }
    }

    /// Committed appends that nobody has read come after all that was read.
    fn tails(&mut self, edges: &mut Edges, report: &mut Report) {
        self.tails.sort_unstable();
        self.tails.dedup();
        let history = self.history;
        for key in 0..history.key_count() as KeyId {
            let order = &self.lists.order[key as usize];
            let authors = (1..=order.len() as u32).rev().filter_map(|version| self.lists.author(key, version));
            let last = authors.map(|append| append.txn).find(|txn| history.outcome(*txn) != Outcome::Fail);
            let mut writers = Vec::new();
            for append in self.lists.of_key(key) {
                let unread = append.position == 0 && !self.odd.contains(&(key, append.value));
                if !unread || Some(append.txn) == last || !self.committed[append.txn as usize] {
                    continue;
                }
                if self.options.real_time && history.txns[append.txn as usize].complete < self.last_read[key as usize] {
                    let name = history.key_name(key);
                    report.add(Kind::LostAppend, || {
                        let text = format!("no read of {name} shows {}, though later ones were made", append.value);
                        format!("{text}: {}\n{}", list_text(&history.longest[key as usize]), history.describe(append.txn))
                    });
                } else {
                    writers.push(append.txn);
                }
            }
            writers.sort_unstable();
            writers.dedup();
            let from = self.tails.partition_point(|(other, _)| *other < key);
            let to = self.tails.partition_point(|(other, _)| *other <= key);
            let readers: Vec<TxnId> = self.tails[from..to].iter().map(|(_, txn)| *txn).collect();
            edges.fan(last, &readers, &writers, key, order.len() as u32);
        }
    }
}

/// Where an element is for the second time.
fn first_duplicate(list: &[i64]) -> Option<usize> {
    if list.windows(2).all(|pair| pair[0] < pair[1]) {
        return None;
    }
    let mut sorted: Vec<(i64, usize)> = list.iter().copied().zip(0..).collect();
    sorted.sort_unstable();
    sorted.windows(2).filter(|pair| pair[0].0 == pair[1].0).map(|pair| pair[1].1).min()
}
