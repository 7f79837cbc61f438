//! `WriteMap`: writes by key, in order, quick where keys come in ascending order.
//!
//! Each index (the first four bytes of a key) has a shard of its own. A shard is a tree and a tail: a key above all others is
//! appended to the tail, which costs one comparison and no allocation where the tree costs some twenty and two. Example: an INSERT of rows
//! with ascending primary keys and random values of an indexed column appends to the tail of one shard and fills the tree of another.
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
    tail: Tail,
    /// Of whoever keeps the map: what it has noted of the keys appended last.
    note: Option<u64>,
}

/// Ascending keys with their values, in one buffer.
#[derive(Default)]
struct Tail {
    bytes: Vec<u8>,
    entries: Vec<Place>,
    /// A value was replaced, so that values do not lie in the order of their keys.
    mixed: bool,
}

#[derive(Clone, Copy)]
struct Place {
    key: u32,
    key_len: u32,
    value: u32,
    /// `DELETED`, or the value's.
    value_len: u32,
}

const DELETED: u32 = u32::MAX;
/// Bytes of a tail, so that places fit.
const TAIL_BYTES_MAX: usize = 1 << 31;

/// What a write did.
pub enum Inserted<'m> {
    /// The key was above all others of its index. With the shard's note.
    Appended(&'m mut Option<u64>),
    New,
    /// It had this before.
    Replaced(Write),
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

    pub fn get(&self, key: &[u8]) -> Option<Option<&[u8]>> {
        self.place(prefix_of(key)).ok().and_then(|at| self.shards[at].get(key))
    }

    pub fn insert(&mut self, key: &[u8], write: Option<&[u8]>) -> Inserted<'_> {
        let prefix = prefix_of(key);
        let at = self.place(prefix).unwrap_or_else(|at| {
            self.shards.insert(at, Shard { prefix, tree: BTreeMap::new(), tail: Tail::default(), note: None });
            at
        });
        let inserted = self.shards[at].insert(key, write);
        self.len += usize::from(!matches!(inserted, Inserted::Replaced(_)));
        inserted
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

    /// Removes `first` and all keys of its index above it, and the note; returns how many those were and the bytes of keys and values.
    pub fn cut(&mut self, first: &[u8]) -> (usize, usize) {
        let Ok(at) = self.place(prefix_of(first)) else { return (0, 0) };
        let shard = &mut self.shards[at];
        let (keys, bytes) = shard.cut(first);
        self.len -= keys;
        if shard.is_empty() {
            self.shards.remove(at);
        }
        (keys, bytes)
    }

    pub fn forget_notes(&mut self) {
        self.shards.iter_mut().for_each(|shard| shard.note = None);
    }

    pub fn iter(&self) -> impl Iterator<Item = (&[u8], Option<&[u8]>)> {
        self.shards.iter().flat_map(Shard::iter)
    }

    /// The writes of the index of `first` from there on, and below `end` if there is one.
    pub fn run<'m>(&'m self, first: &'m [u8], end: Option<&'m [u8]>) -> impl Iterator<Item = (&'m [u8], Option<&'m [u8]>)> {
        let shard = self.place(prefix_of(first)).ok().and_then(|at| self.shards.get(at));
        let within = shard.into_iter().flat_map(move |shard| shard.from(first));
        within.take_while(move |(key, _)| end.is_none_or(|end| *key < end))
    }

    pub fn first_key(&self) -> Option<&[u8]> {
        self.first_within(Bound::Unbounded, Bound::Unbounded, false).map(|(key, _)| key)
    }

    pub fn last_key(&self) -> Option<&[u8]> {
        self.first_within(Bound::Unbounded, Bound::Unbounded, true).map(|(key, _)| key)
    }

    /// Takes out the writes of the index `id` and of those with higher ids.
    pub fn split_off(&mut self, id: u32) -> WriteMap {
        let at = self.shards.partition_point(|shard| shard.prefix < id);
        let shards = self.shards.split_off(at);
        let len = shards.iter().map(Shard::len).sum();
        self.len -= len;
        WriteMap { shards, len }
    }

    /// Takes out the writes of one index.
    pub fn take_index(&mut self, id: u32) -> WriteMap {
        let mut taken = self.split_off(id);
        if let Some(next) = id.checked_add(1) {
            let mut rest = taken.split_off(next);
            self.shards.append(&mut rest.shards);
            self.len += rest.len;
        }
        taken
    }

    /// The first (backward: the last) write between the bounds.
    pub fn first_within(&self, lower: Bound<&[u8]>, upper: Bound<&[u8]>, backward: bool) -> Option<(&[u8], Option<&[u8]>)> {
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

impl Tail {
    fn len(&self) -> usize {
        self.entries.len()
    }

    fn slice(&self, at: u32, len: u32) -> &[u8] {
        self.bytes.get(at as usize..at as usize + len as usize).unwrap_or(&[])
    }

    fn key_of(&self, place: &Place) -> &[u8] {
        self.slice(place.key, place.key_len)
    }

    fn entry_of(&self, place: &Place) -> (&[u8], Option<&[u8]>) {
        (self.key_of(place), (place.value_len != DELETED).then(|| self.slice(place.value, place.value_len)))
    }

    fn entry(&self, at: usize) -> Option<(&[u8], Option<&[u8]>)> {
        self.entries.get(at).map(|place| self.entry_of(place))
    }

    fn last_key(&self) -> Option<&[u8]> {
        self.entries.last().map(|place| self.key_of(place))
    }

    /// The entries from `at` on.
    fn from(&self, at: usize) -> impl Iterator<Item = (&[u8], Option<&[u8]>)> {
        self.entries.get(at..).unwrap_or(&[]).iter().map(|place| self.entry_of(place))
    }

    /// Where the first key is that is not below `key`, or, `above`, the first above it.
    fn seek(&self, key: &[u8], above: bool) -> usize {
        self.entries.partition_point(|place| if above { self.key_of(place) <= key } else { self.key_of(place) < key })
    }

    fn has_room(&self, key: &[u8], write: Option<&[u8]>) -> bool {
        self.bytes.len() + key.len() + write.map_or(0, <[u8]>::len) <= TAIL_BYTES_MAX
    }

    fn put(&mut self, write: Option<&[u8]>) -> (u32, u32) {
        let at = self.bytes.len() as u32;
        let Some(value) = write else { return (at, DELETED) };
        self.bytes.extend_from_slice(value);
        (at, value.len() as u32)
    }

    fn push(&mut self, key: &[u8], write: Option<&[u8]>) {
        let at = self.bytes.len() as u32;
        self.bytes.extend_from_slice(key);
        let (value, value_len) = self.put(write);
        self.entries.push(Place { key: at, key_len: key.len() as u32, value, value_len });
    }

    fn replace(&mut self, at: usize, write: Option<&[u8]>) {
        let (value, value_len) = self.put(write);
        if let Some(place) = self.entries.get_mut(at) {
            (place.value, place.value_len) = (value, value_len);
        }
        self.mixed = true;
    }

    fn truncate(&mut self, entries: usize) {
        match self.entries.get(entries) {
            Some(_) if entries == 0 => *self = Tail::default(),
            Some(first) if !self.mixed => self.bytes.truncate(first.key as usize),
            _ => {}
        }
        self.entries.truncate(entries);
    }
}

impl Shard {
    fn len(&self) -> usize {
        self.tree.len() + self.tail.len()
    }

    fn is_empty(&self) -> bool {
        self.tree.is_empty() && self.tail.entries.is_empty()
    }

    /// Where the key is in the tail, if it may be there.
    fn in_tail(&self, key: &[u8]) -> Option<Result<usize, usize>> {
        if self.tail.last_key()? < key {
            return Some(Err(self.tail.len()));
        }
        self.tail.entry(0).filter(|(first, _)| *first <= key)?;
        Some(self.tail.entries.binary_search_by(|place| self.tail.key_of(place).cmp(key)))
    }

    fn get(&self, key: &[u8]) -> Option<Option<&[u8]>> {
        match self.in_tail(key) {
            Some(Ok(at)) => self.tail.entry(at).map(|(_, write)| write),
            Some(Err(_)) => None,
            None => self.tree.get(key).map(Option::as_deref),
        }
    }

    fn insert(&mut self, key: &[u8], write: Option<&[u8]>) -> Inserted<'_> {
        let place = self.in_tail(key);
        let above = match place {
            Some(Err(at)) => at == self.tail.len(),
            None => self.tail.entries.is_empty() && self.tree.last_key_value().is_none_or(|(last, _)| **last < *key),
            Some(Ok(_)) => false,
        };
        if !self.tail.has_room(key, write) {
            self.grow_tree();
        } else if above {
            self.tail.push(key, write);
            return Inserted::Appended(&mut self.note);
        } else if let Some(Ok(at)) = place {
            let before = self.tail.entry(at).and_then(|(_, write)| write).map(Into::into);
            self.tail.replace(at, write);
            return Inserted::Replaced(before);
        } else if place.is_some() {
            // Between two keys of the tail: its order was luck.
            self.grow_tree();
        }
        match self.tree.insert(key.into(), write.map(Into::into)) {
            Some(before) => Inserted::Replaced(before),
            None => Inserted::New,
        }
    }

    /// Moves the tail into the tree.
    fn grow_tree(&mut self) {
        let tail = std::mem::take(&mut self.tail);
        self.tree.extend(tail.from(0).map(|(key, write)| (key.into(), write.map(Into::into))));
    }

    fn remove(&mut self, key: &[u8]) -> bool {
        match self.in_tail(key) {
            Some(Ok(at)) if at + 1 == self.tail.len() => {
                self.tail.truncate(at);
                true
            }
            Some(Ok(at)) => {
                self.tail.entries.remove(at);
                true
            }
            Some(Err(_)) => false,
            None => self.tree.remove(key).is_some(),
        }
    }

    fn cut(&mut self, first: &[u8]) -> (usize, usize) {
        self.note = None;
        let sum = |(keys, bytes): (usize, usize), (key, write): (&[u8], Option<&[u8]>)| {
            (keys + 1, bytes + key.len() + write.map_or(0, <[u8]>::len))
        };
        let at = self.tail.seek(first, false);
        let of_tail = self.tail.from(at).fold((0, 0), sum);
        self.tail.truncate(at);
        // `first` may be below the whole tail.
        if self.tree.last_key_value().is_none_or(|(last, _)| **last < *first) {
            return of_tail;
        }
        let of_tree = self.tree.split_off(first);
        of_tree.iter().fold(of_tail, |sums, (key, write)| sum(sums, (key, write.as_deref())))
    }

    fn iter(&self) -> impl Iterator<Item = (&[u8], Option<&[u8]>)> {
        self.tree.iter().map(|(key, write)| (&**key, write.as_deref())).chain(self.tail.from(0))
    }

    fn from<'s>(&'s self, first: &[u8]) -> impl Iterator<Item = (&'s [u8], Option<&'s [u8]>)> + use<'s> {
        let tree = self.tree.range::<[u8], _>((Bound::Included(first), Bound::Unbounded));
        tree.map(|(key, write)| (&**key, write.as_deref())).chain(self.tail.from(self.tail.seek(first, false)))
    }

    fn first_within(&self, lower: Bound<&[u8]>, upper: Bound<&[u8]>, backward: bool) -> Option<(&[u8], Option<&[u8]>)> {
        let start = match lower {
            Bound::Included(l) => self.tail.seek(l, false),
            Bound::Excluded(l) => self.tail.seek(l, true),
            Bound::Unbounded => 0,
        };
        let end = match upper {
            Bound::Included(u) => self.tail.seek(u, true),
            Bound::Excluded(u) => self.tail.seek(u, false),
            Bound::Unbounded => self.tail.len(),
        };
        let in_tail = if start < end { self.tail.entry(if backward { end - 1 } else { start }) } else { None };
        if self.tree.is_empty() || is_empty_range(lower, upper) || backward && in_tail.is_some() {
            return in_tail;
        }
        let mut range = self.tree.range::<[u8], _>((lower, upper));
        let in_tree = if backward { range.next_back() } else { range.next() };
        in_tree.map(|(key, write)| (&**key, write.as_deref())).or(in_tail)
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
            ops in proptest::collection::vec((key(), 0u8..8), 0..60),
            ranges in proptest::collection::vec((bound(), bound()), 4),
        ) {
            let mut map = WriteMap::default();
            let mut model: BTreeMap<Vec<u8>, Write> = BTreeMap::new();
            for (key, what) in ops {
                let of_index = |k: &[u8]| k.get(..4) == key.get(..4);
                match what {
                    0 => {
                        map.remove(&key);
                        model.remove(&key);
                    }
                    1 => {
                        let (cut, kept): (BTreeMap<_, _>, BTreeMap<_, _>) = model.into_iter().partition(|(k, _)| *k >= key && of_index(k));
                        prop_assert_eq!(map.run(&key, None).count(), cut.len());
                        prop_assert_eq!(map.cut(&key).0, cut.len());
                        model = kept;
                    }
                    _ => {
                        let write: Write = (what > 2).then(|| vec![what].into());
                        let above = model.keys().filter(|k| of_index(k)).all(|k| *k < key);
                        let before = model.insert(key.clone(), write.clone());
                        match map.insert(&key, write.as_deref()) {
                            Inserted::Appended(_) => prop_assert!(above && before.is_none()),
                            Inserted::New => prop_assert!(!above && before.is_none()),
                            Inserted::Replaced(write) => prop_assert_eq!(before, Some(write)),
                        }
                    }
                }
                prop_assert_eq!(map.get(&key), model.get(&key).map(Option::as_deref));
                prop_assert_eq!(map.len(), model.len());
                prop_assert!(map.iter().map(|(k, w)| (k.to_vec(), w.map(Into::into))).eq(model.clone()));
                for (lower, upper) in &ranges {
                    let (lower, upper) = (lower.as_ref().map(Vec::as_slice), upper.as_ref().map(Vec::as_slice));
                    let within: Vec<_> = match is_empty_range(lower, upper) {
                        true => Vec::new(),
                        false => model.range::<[u8], _>((lower, upper)).map(|(k, w)| (k.as_slice(), w.as_deref())).collect(),
                    };
                    prop_assert_eq!(map.first_within(lower, upper, false), within.first().copied());
                    prop_assert_eq!(map.first_within(lower, upper, true), within.last().copied());
                }
            }
        }
    }
}
