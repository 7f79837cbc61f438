//! `WriteMap`: writes by key, in order, quick where keys come in ascending order.
//!
//! Each index (the first four bytes of a key) has a shard of its own. A shard is a tree and a tail: a key above all others is
//! appended to the tail, which costs one comparison where the tree costs some twenty. Example: an INSERT of rows with ascending primary keys and
//! random values of an indexed column appends to the tail of one shard and fills the tree of another.
//!
//! Invariants:
//! * MAP-1: shards ascend by prefix and none is empty.
//! * MAP-2: a shard's tail ascends, and all of its tree lies below it.

use std::collections::BTreeMap;
use std::ops::Bound;

/// A value, or `None` for a deleted key.
pub type Write = Option<Box<[u8]>>;

const PREFIX_BYTES: usize = 4;

#[derive(Default)]
pub struct WriteMap {
    shards: Vec<Shard>,
    len: usize,
}

struct Shard {
    prefix: u32,
    tree: BTreeMap<Box<[u8]>, Write>,
    tail: Vec<(Box<[u8]>, Write)>,
}

/// Keys in order have prefixes in order; a key too short for a whole one is filled up with zeros.
fn prefix_of(key: &[u8]) -> u32 {
    let mut bytes = [0; PREFIX_BYTES];
    let len = key.len().min(PREFIX_BYTES);
    bytes[..len].copy_from_slice(&key[..len]);
    u32::from_be_bytes(bytes)
}

impl WriteMap {
    pub fn is_empty(&self) -> bool {
        self.shards.is_empty()
    }

    pub fn len(&self) -> usize {
        self.len
    }

    fn place(&self, prefix: u32) -> Result<usize, usize> {
        self.shards.binary_search_by_key(&prefix, |shard| shard.prefix)
    }

    pub fn get(&self, key: &[u8]) -> Option<&Write> {
        self.place(prefix_of(key)).ok().and_then(|at| self.shards[at].get(key))
    }

    /// Returns what the key had before.
    pub fn insert(&mut self, key: Box<[u8]>, write: Write) -> Option<Write> {
        let prefix = prefix_of(&key);
        let at = self.place(prefix).unwrap_or_else(|at| {
            self.shards.insert(at, Shard { prefix, tree: BTreeMap::new(), tail: Vec::new() });
            at
        });
        let before = self.shards[at].insert(key, write);
        self.len += usize::from(before.is_none());
        before
    }

    pub fn remove(&mut self, key: &[u8]) {
        let Ok(at) = self.place(prefix_of(key)) else { return };
        let shard = &mut self.shards[at];
        if shard.remove(key) {
            self.len -= 1;
        }
        if shard.is_empty() {
            self.shards.remove(at);
        }
    }

    pub fn iter(&self) -> impl Iterator<Item = (&[u8], &Write)> {
        self.shards.iter().flat_map(Shard::iter)
    }

    /// The first (backward: the last) write between the bounds.
    pub fn first_within(&self, lower: Bound<&[u8]>, upper: Bound<&[u8]>, backward: bool) -> Option<(&[u8], &Write)> {
        let prefix = |bound| match bound {
            Bound::Included(key) | Bound::Excluded(key) => Some(prefix_of(key)),
            Bound::Unbounded => None,
        };
        let start = prefix(lower).map_or(0, |p| self.shards.partition_point(|s| s.prefix < p));
        let end = prefix(upper).map_or(self.shards.len(), |p| self.shards.partition_point(|s| s.prefix <= p));
        let mut shards = self.shards.get(start..end).unwrap_or(&[]).iter();
        if backward {
            shards.rev().find_map(|shard| shard.first_within(lower, upper, true))
        } else {
            shards.find_map(|shard| shard.first_within(lower, upper, false))
        }
    }
}

impl Shard {
    fn is_empty(&self) -> bool {
        self.tree.is_empty() && self.tail.is_empty()
    }

    /// Where the key is in the tail, if it may be there.
    fn in_tail(&self, key: &[u8]) -> Option<Result<usize, usize>> {
        self.tail.first().filter(|(first, _)| **first <= *key)?;
        if self.tail.last().is_some_and(|(last, _)| **last < *key) {
            return Some(Err(self.tail.len()));
        }
        Some(self.tail.binary_search_by(|(k, _)| (**k).cmp(key)))
    }

    fn get(&self, key: &[u8]) -> Option<&Write> {
        match self.in_tail(key) {
            Some(Ok(at)) => self.tail.get(at).map(|(_, write)| write),
            Some(Err(_)) => None,
            None => self.tree.get(key),
        }
    }

    fn insert(&mut self, key: Box<[u8]>, write: Write) -> Option<Write> {
        match self.in_tail(&key) {
            Some(Ok(at)) => return Some(std::mem::replace(&mut self.tail[at].1, write)),
            Some(Err(at)) if at == self.tail.len() => {
                self.tail.push((key, write));
                return None;
            }
            // Between two keys of the tail: its order was luck.
            Some(Err(_)) => self.tree.extend(self.tail.drain(..)),
            None if self.tail.is_empty() && self.tree.last_key_value().is_none_or(|(last, _)| *last < key) => {
                self.tail.push((key, write));
                return None;
            }
            None => {}
        }
        self.tree.insert(key, write)
    }

    fn remove(&mut self, key: &[u8]) -> bool {
        match self.in_tail(key) {
            Some(Ok(at)) => {
                self.tail.remove(at);
                true
            }
            Some(Err(_)) => false,
            None => self.tree.remove(key).is_some(),
        }
    }

    fn iter(&self) -> impl Iterator<Item = (&[u8], &Write)> {
        let tail = self.tail.iter().map(|(key, write)| (key.as_ref(), write));
        self.tree.iter().map(|(key, write)| (key.as_ref(), write)).chain(tail)
    }

    fn first_within(&self, lower: Bound<&[u8]>, upper: Bound<&[u8]>, backward: bool) -> Option<(&[u8], &Write)> {
        let start = self.tail.partition_point(|(k, _)| match lower {
            Bound::Included(l) => **k < *l,
            Bound::Excluded(l) => **k <= *l,
            Bound::Unbounded => false,
        });
        let end = self.tail.partition_point(|(k, _)| match upper {
            Bound::Included(u) => **k <= *u,
            Bound::Excluded(u) => **k < *u,
            Bound::Unbounded => true,
        });
        let tail = self.tail.get(start..end).unwrap_or(&[]);
        let in_tail = if backward { tail.last() } else { tail.first() };
        let in_tail = in_tail.map(|(key, write)| (key, write));
        if self.tree.is_empty() || is_empty_range(lower, upper) || backward && in_tail.is_some() {
            return in_tail.map(|(key, write)| (key.as_ref(), write));
        }
        let mut range = self.tree.range::<[u8], _>((lower, upper));
        let in_tree = if backward { range.next_back() } else { range.next() };
        in_tree.or(in_tail).map(|(key, write)| (key.as_ref(), write))
    }
}

/// `BTreeMap::range` panics on bounds that cross.
fn is_empty_range(lower: Bound<&[u8]>, upper: Bound<&[u8]>) -> bool {
    match (lower, upper) {
        (Bound::Included(l), Bound::Included(u)) => l > u,
        (Bound::Included(l) | Bound::Excluded(l), Bound::Included(u) | Bound::Excluded(u)) => l >= u,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Keys of one to six bytes in few shards, so that tails, trees and short keys all occur.
    fn key() -> impl Strategy<Value = Vec<u8>> {
        (0u8..3, proptest::collection::vec(0u8..4, 0..3)).prop_map(|(index, rest)| {
            let mut key = vec![0, 0, 0, index];
            key.extend(rest);
            key
        })
    }

    fn bound() -> impl Strategy<Value = Bound<Vec<u8>>> {
        prop_oneof![key().prop_map(Bound::Included), key().prop_map(Bound::Excluded), Just(Bound::Unbounded)]
    }

    proptest! {
        #[test]
        fn is_an_ordered_map(
            ops in proptest::collection::vec((key(), 0u8..4), 0..60),
            ranges in proptest::collection::vec((bound(), bound()), 4),
        ) {
            let mut map = WriteMap::default();
            let mut model: BTreeMap<Vec<u8>, Write> = BTreeMap::new();
            for (key, what) in ops {
                if what == 0 {
                    map.remove(&key);
                    model.remove(&key);
                } else {
                    let write: Write = (what > 1).then(|| vec![what].into());
                    prop_assert_eq!(map.insert(key.clone().into(), write.clone()), model.insert(key.clone(), write));
                }
                prop_assert_eq!(map.get(&key), model.get(&key));
                prop_assert_eq!(map.len(), model.len());
                prop_assert!(map.iter().map(|(k, w)| (k.to_vec(), w.clone())).eq(model.clone()));
                for (lower, upper) in &ranges {
                    let (lower, upper) = (lower.as_ref().map(Vec::as_slice), upper.as_ref().map(Vec::as_slice));
                    let within: Vec<_> = match is_empty_range(lower, upper) {
                        true => Vec::new(),
                        false => model.range::<[u8], _>((lower, upper)).map(|(k, w)| (k.as_slice(), w)).collect(),
                    };
                    prop_assert_eq!(map.first_within(lower, upper, false), within.first().copied());
                    prop_assert_eq!(map.first_within(lower, upper, true), within.last().copied());
                }
            }
        }
    }
}
