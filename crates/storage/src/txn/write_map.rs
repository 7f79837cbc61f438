//! `WriteMap`: writes by key, in order, quick where keys come in ascending order or in none.
//!
//! Each index (the first four bytes of a key) has a shard of its own. A shard is a tree and a tail: a key above all others is
//! appended to the tail, which costs one comparison and no allocation where the tree costs some twenty and two.
//!
//! Keys of which the caller knows that the map has none of them may come in any order, with a value or as deleted (`insert_new`: entries of
//! an index that is not unique). As long as nothing else happens to their shard they are kept as they come, in its *heap*, and sorted when
//! somebody reads them: mostly when they are committed. Example: an INSERT of rows with ascending primary keys and random values of an
//! indexed column appends to the tail of one shard and to the heap of another, and so does the DELETE of these rows.
//!
//! Invariants:
//! * MAP-1: shards ascend by prefix and none is empty.
//! * MAP-2: a shard's tail ascends, and all of its tree lies below it.
//! * MAP-3: a shard with a heap has neither tree nor tail; a heap has no key twice.

use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::ops::{Bound, Range};

use crate::base::invariants::{CHECKED, holds};
use crate::encoding::ids::prefix_of;

/// A value, or `None` for a deleted key.
pub type Write = Option<Box<[u8]>>;

#[derive(Default)]
pub struct WriteMap {
    shards: Vec<Shard>,
    len: usize,
}

struct Shard {
    prefix: u32,
    tree: BTreeMap<Box<[u8]>, Write>,
    tail: Tail,
    heap: Heap,
    /// Of whoever keeps the map: what it has noted of the keys appended last.
    note: Option<u64>,
}

/// Keys with their values as they came, in one buffer.
#[derive(Default)]
pub struct Heap {
    bytes: Vec<u8>,
    entries: Vec<Place>,
    /// Positions of `entries` in the order of their keys, once somebody has asked for it.
    order: OnceCell<Box<[u32]>>,
    /// Somebody had, before entries were taken back.
    was_read: bool,
}

/// Ascending keys with their values, in one buffer.
#[derive(Default)]
struct Tail {
    bytes: Vec<u8>,
    entries: Vec<Place>,
    /// A value was replaced, so that values do not lie in the order of their keys.
    mixed: bool,
    /// Bytes that are no entry's any more.
    dead: usize,
}

/// Entries of one index with their values, in one buffer: made before the map gets them, perhaps by another thread.
#[derive(Default)]
pub struct Packed {
    bytes: Vec<u8>,
    entries: Vec<Place>,
}

#[derive(Clone, Copy)]
struct Place {
    key: u32,
    key_len: u32,
    value: u32,
    /// `DELETED`, or the value's.
    value_len: u32,
}

impl Place {
    fn value_bytes(&self) -> usize {
        if self.value_len == DELETED { 0 } else { self.value_len as usize }
    }
}

const DELETED: u32 = u32::MAX;
/// Bytes of a tail that are nobody's, below which it is not written anew.
const DEAD_BYTES_MIN: usize = 64 << 10;
/// Bytes of a tail, so that places fit.
const TAIL_BYTES_MAX: usize = 1 << 31;

/// What a write did.
pub enum Inserted<'m> {
    /// The key was above all others of its index. With the shard's note.
    Appended(&'m mut Option<u64>),
    New,
    /// It had this before.
    Replaced(Write),
    /// Nothing yet: the index has a heap, which must be given up first (`settle`).
    Heaped,
}

/// Where a key known to be new went.
pub enum InsertedNew<'m> {
    /// To the heap, as the entry of this number. With the shard's note.
    Heaped(usize, &'m mut Option<u64>),
    /// Nowhere: the index has no heap, or a heap that was read. It is to be inserted like any other.
    NoHeap,
}

impl WriteMap {
    pub fn is_empty(&self) -> bool {
        self.shards.is_empty()
    }

    pub fn len(&self) -> usize {
        self.len
    }

    /// MAP-1 to MAP-3.
    pub fn check_invariants(&self) {
        holds(self.shards.is_sorted_by(|a, b| a.prefix < b.prefix), "MAP-1: shards ascend by prefix");
        for shard in &self.shards {
            shard.check_invariants();
        }
        holds(self.len == self.shards.iter().map(Shard::len).sum(), "MAP-1: the length is that of the shards");
    }

    fn place(&self, prefix: u32) -> Result<usize, usize> {
        self.shards.binary_search_by_key(&prefix, |shard| shard.prefix)
    }

    pub fn get(&self, key: &[u8]) -> Option<Option<&[u8]>> {
        self.place(prefix_of(key)).ok().and_then(|at| self.shards[at].get(key))
    }

    fn place_for(&mut self, key: &[u8]) -> usize {
        let prefix = prefix_of(key);
        self.place(prefix).unwrap_or_else(|at| {
            self.shards.insert(at, Shard::new(prefix));
            at
        })
    }

    pub fn insert(&mut self, key: &[u8], write: Option<&[u8]>) -> Inserted<'_> {
        let at = self.place_for(key);
        let inserted = self.shards[at].insert(key, write);
        self.len += usize::from(matches!(inserted, Inserted::Appended(_) | Inserted::New));
        inserted
    }

    /// Adds a key that the map does not have, if its index takes keys in any order.
    pub fn insert_new(&mut self, key: &[u8], write: Option<&[u8]>) -> InsertedNew<'_> {
        let at = self.place_for(key);
        let shard = &mut self.shards[at];
        if !shard.takes_in_any_order(key, write) {
            return InsertedNew::NoHeap;
        }
        self.len += 1;
        let number = shard.heap.push(key, write);
        InsertedNew::Heaped(number, &mut shard.note)
    }

    /// Gives up the heap of an index: its entries are in the map like any others. Returns it as it was.
    pub fn settle(&mut self, prefix: u32) -> Heap {
        let at = self.place(prefix).ok();
        at.and_then(|at| self.shards.get_mut(at)).map_or_else(Heap::default, Shard::settle)
    }

    /// The indexes that have a heap.
    pub fn heaped(&self) -> Vec<u32> {
        self.shards.iter().filter(|shard| shard.has_heap()).map(|shard| shard.prefix).collect()
    }

    /// Removes what came into the heap of an index from the entry `number` on, and the note; returns how many those were and
    /// the bytes of keys and values.
    pub fn cut_heap(&mut self, prefix: u32, number: usize) -> (usize, usize) {
        let Ok(at) = self.place(prefix) else { return (0, 0) };
        let shard = &mut self.shards[at];
        shard.note = None;
        let (keys, bytes) = shard.heap.truncate(number);
        self.len -= keys;
        if shard.is_empty() {
            self.shards.remove(at);
        }
        (keys, bytes)
    }

    /// Whether all keys of this one's index lie below it.
    pub fn is_above_all(&self, key: &[u8]) -> bool {
        self.place(prefix_of(key)).ok().and_then(|at| self.shards.get(at)).is_none_or(|shard| shard.is_below(key))
    }

    /// Adds ascending keys that are all above those of their index; `None`: there is no room for them in one piece.
    pub fn append(&mut self, entries: &Packed) -> Option<&mut Option<u64>> {
        let at = self.place_for(entries.first_key()?);
        let shard = &mut self.shards[at];
        if !shard.tail.takes(entries) {
            return None;
        }
        self.len += entries.len();
        shard.tail.append(entries);
        Some(&mut shard.note)
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

impl Packed {
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Of all keys and values.
    pub fn bytes(&self) -> usize {
        self.bytes.len()
    }

    pub fn push(&mut self, key: &[u8], value: &[u8]) {
        let at = self.bytes.len() as u32;
        self.bytes.extend_from_slice(key);
        self.bytes.extend_from_slice(value);
        let (key_len, value_len) = (key.len() as u32, value.len() as u32);
        self.entries.push(Place { key: at, key_len, value: at + key_len, value_len });
    }

    fn entry_of(&self, place: &Place) -> (&[u8], &[u8]) {
        let slice = |at: u32, len: u32| self.bytes.get(at as usize..at as usize + len as usize).unwrap_or(&[]);
        (slice(place.key, place.key_len), slice(place.value, place.value_len))
    }

    pub fn iter(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        self.entries.iter().map(|place| self.entry_of(place))
    }

    pub fn first_key(&self) -> Option<&[u8]> {
        self.entries.first().map(|place| self.entry_of(place).0)
    }

    pub fn last_key(&self) -> Option<&[u8]> {
        self.entries.last().map(|place| self.entry_of(place).0)
    }

    /// Keeps so many entries.
    pub fn truncate(&mut self, len: usize) {
        if let Some(place) = self.entries.get(len) {
            self.bytes.truncate(place.key as usize);
            self.entries.truncate(len);
        }
    }

    /// For other entries, in the same memory.
    pub fn clear(&mut self) {
        self.truncate(0);
    }
}

impl Tail {
    fn len(&self) -> usize {
        self.entries.len()
    }

    /// It has room for them, and their order goes on.
    fn takes(&self, entries: &Packed) -> bool {
        let is_above = entries.first_key().is_some_and(|first| self.last_key().is_none_or(|last| last < first));
        is_above && self.bytes.len() + entries.bytes.len() <= TAIL_BYTES_MAX
    }

    fn append(&mut self, entries: &Packed) {
        let by = self.bytes.len() as u32;
        self.bytes.extend_from_slice(&entries.bytes);
        self.entries.extend(entries.entries.iter().map(|place| Place { key: place.key + by, value: place.value + by, ..*place }));
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

    /// A value goes where the one before was, if it fits.
    fn replace(&mut self, at: usize, write: Option<&[u8]>) {
        let Some(place) = self.entries.get(at).copied() else { return };
        let room = place.value_bytes();
        let fitting = write.filter(|value| place.value_len != DELETED && value.len() <= room);
        let (value, value_len) = match fitting {
            Some(value) => {
                let from = place.value as usize;
                if let Some(bytes) = self.bytes.get_mut(from..from + value.len()) {
                    bytes.copy_from_slice(value);
                }
                self.dead += room - value.len();
                (place.value, value.len() as u32)
            }
            None => {
                self.mixed = true;
                self.dead += room;
                self.put(write)
            }
        };
        if let Some(place) = self.entries.get_mut(at) {
            (place.value, place.value_len) = (value, value_len);
        }
        self.shrink();
    }

    fn truncate(&mut self, entries: usize) {
        match self.entries.get(entries..) {
            Some([_, ..]) if entries == 0 => *self = Tail::default(),
            Some([first, ..]) if !self.mixed => {
                self.bytes.truncate(first.key as usize);
                self.dead = self.dead.min(self.bytes.len());
            }
            Some(gone) => self.dead += gone.iter().map(|place| place.key_len as usize + place.value_bytes()).sum::<usize>(),
            None => {}
        }
        self.entries.truncate(entries);
        self.shrink();
    }

    /// Writes the bytes anew where most of them are nobody's any more, as where a transaction goes back to a savepoint again and again.
    fn shrink(&mut self) {
        if self.dead < DEAD_BYTES_MIN || self.dead <= self.bytes.len() / 2 {
            return;
        }
        let mut whole = Tail::default();
        for place in &self.entries {
            let (key, write) = self.entry_of(place);
            whole.push(key, write);
        }
        *self = whole;
    }
}

impl Heap {
    fn entry(&self, number: usize) -> Option<(&[u8], Option<&[u8]>)> {
        let place = self.entries.get(number)?;
        let value = (place.value_len != DELETED).then(|| self.slice(place.value, place.value_len));
        Some((self.slice(place.key, place.key_len), value))
    }

    fn slice(&self, at: u32, len: u32) -> &[u8] {
        self.bytes.get(at as usize..at as usize + len as usize).unwrap_or(&[])
    }

    fn key(&self, number: usize) -> Option<&[u8]> {
        self.entries.get(number).map(|place| self.slice(place.key, place.key_len))
    }

    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Keys as they came.
    pub fn keys(&self, numbers: Range<usize>) -> impl Iterator<Item = &[u8]> {
        numbers.filter_map(|number| self.key(number))
    }

    fn push(&mut self, key: &[u8], write: Option<&[u8]>) -> usize {
        let (at, key_len) = (self.bytes.len() as u32, key.len() as u32);
        self.bytes.extend_from_slice(key);
        self.bytes.extend_from_slice(write.unwrap_or(&[]));
        let value_len = write.map_or(DELETED, |value| value.len() as u32);
        self.entries.push(Place { key: at, key_len, value: at + key_len, value_len });
        self.entries.len() - 1
    }

    fn truncate(&mut self, entries: usize) -> (usize, usize) {
        let (keys, bytes) = (self.len().saturating_sub(entries), self.bytes.len());
        let kept = self.entries.get(entries).map_or(bytes, |place| place.key as usize);
        self.entries.truncate(entries);
        self.bytes.truncate(kept);
        self.was_read |= self.order.take().is_some();
        (keys, bytes - kept)
    }

    fn order(&self) -> &[u32] {
        if self.len() == 1 {
            return &[0];
        }
        self.order.get_or_init(|| {
            let key = |number: u32| self.key(number as usize).unwrap_or(&[]);
            let shared = self.keys(1..self.len()).fold(key(0).len(), |shared, other| common_bytes(&key(0)[..shared], other));
            let mut heads: Vec<(u64, u32)> = (0..self.entries.len() as u32).map(|n| (head(&key(n)[shared..]), n)).collect();
            heads.sort_unstable_by(|a, b| a.0.cmp(&b.0).then_with(|| key(a.1).cmp(key(b.1))));
            if CHECKED {
                holds(heads.windows(2).all(|pair| key(pair[0].1) != key(pair[1].1)), "MAP-3: a heap has no key twice");
            }
            heads.into_iter().map(|(_, number)| number).collect()
        })
    }

    /// The entry at a position of the order.
    fn sorted(&self, at: usize) -> Option<(&[u8], Option<&[u8]>)> {
        self.entry(*self.order().get(at)? as usize)
    }

    /// Where in the order the first key is that is not below `key`, or, `above`, the first above it.
    fn seek(&self, key: &[u8], above: bool) -> usize {
        let before =
            |number: &u32| self.key(*number as usize).is_some_and(|other| if above { other <= key } else { other < key });
        self.order().partition_point(before)
    }

    /// The entries in order from a position on.
    fn from(&self, at: usize) -> impl Iterator<Item = (&[u8], Option<&[u8]>)> {
        let end = if self.entries.is_empty() { 0 } else { self.order().len() };
        (at..end).filter_map(|at| self.sorted(at))
    }
}

fn common_bytes(a: &[u8], b: &[u8]) -> usize {
    a.iter().zip(b).take_while(|(a, b)| a == b).count()
}

/// The first bytes as a number with their order; equal for some that differ.
fn head(bytes: &[u8]) -> u64 {
    let mut first = [0; 8];
    let len = bytes.len().min(8);
    first[..len].copy_from_slice(&bytes[..len]);
    u64::from_be_bytes(first)
}

impl Shard {
    fn check_invariants(&self) {
        holds(!self.is_empty(), "MAP-1: no shard is empty");
        let keys = || self.tail.from(0).map(|(key, _)| key);
        holds(keys().is_sorted_by(|a, b| a < b), "MAP-2: a tail ascends");
        let below = self.tree.last_key_value().zip(keys().next()).is_none_or(|((last, _), first)| **last < *first);
        holds(below, "MAP-2: all of the tree lies below the tail");
        holds(
            !self.has_heap() || self.tree.is_empty() && self.tail.len() == 0,
            "MAP-3: a shard with a heap has neither tree nor tail",
        );
    }

    fn new(prefix: u32) -> Shard {
        Shard { prefix, tree: BTreeMap::new(), tail: Tail::default(), heap: Heap::default(), note: None }
    }

    fn len(&self) -> usize {
        self.tree.len() + self.tail.len() + self.heap.len()
    }

    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn has_heap(&self) -> bool {
        !self.heap.entries.is_empty()
    }

    fn is_below(&self, key: &[u8]) -> bool {
        let last = self.tail.last_key().or_else(|| self.tree.last_key_value().map(|(last, _)| &**last));
        !self.has_heap() && last.is_none_or(|last| last < key)
    }

    /// A heap that is read between writes would be sorted again and again.
    fn takes_in_any_order(&self, key: &[u8], write: Option<&[u8]>) -> bool {
        let is_empty = self.tree.is_empty() && self.tail.entries.is_empty();
        let was_read = self.heap.was_read || self.heap.order.get().is_some();
        is_empty && !was_read && self.heap.bytes.len() + key.len() + write.map_or(0, <[u8]>::len) <= TAIL_BYTES_MAX
    }

    fn settle(&mut self) -> Heap {
        let heap = std::mem::take(&mut self.heap);
        self.tree.extend(heap.from(0).map(|(key, write)| (key.into(), write.map(Into::into))));
        self.note = None;
        heap
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
            None if self.has_heap() => {
                let (found, value) = self.heap.sorted(self.heap.seek(key, false))?;
                (found == key).then_some(value)
            }
            None => self.tree.get(key).map(Option::as_deref),
        }
    }

    fn insert(&mut self, key: &[u8], write: Option<&[u8]>) -> Inserted<'_> {
        if self.has_heap() {
            return Inserted::Heaped;
        }
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
        self.tree.iter().map(|(key, write)| (&**key, write.as_deref())).chain(self.tail.from(0)).chain(self.heap.from(0))
    }

    fn from<'s>(&'s self, first: &[u8]) -> impl Iterator<Item = (&'s [u8], Option<&'s [u8]>)> + use<'s> {
        let tree = self.tree.range::<[u8], _>((Bound::Included(first), Bound::Unbounded));
        let heap = self.heap.from(if self.has_heap() { self.heap.seek(first, false) } else { 0 });
        tree.map(|(key, write)| (&**key, write.as_deref())).chain(self.tail.from(self.tail.seek(first, false))).chain(heap)
    }

    fn first_within(&self, lower: Bound<&[u8]>, upper: Bound<&[u8]>, backward: bool) -> Option<(&[u8], Option<&[u8]>)> {
        if self.has_heap() {
            let (start, end) = places(lower, upper, self.heap.len(), |key, above| self.heap.seek(key, above));
            return if start < end { self.heap.sorted(if backward { end - 1 } else { start }) } else { None };
        }
        let (start, end) = places(lower, upper, self.tail.len(), |key, above| self.tail.seek(key, above));
        let in_tail = if start < end { self.tail.entry(if backward { end - 1 } else { start }) } else { None };
        if self.tree.is_empty() || is_empty_range(lower, upper) || backward && in_tail.is_some() {
            return in_tail;
        }
        let mut range = self.tree.range::<[u8], _>((lower, upper));
        let in_tree = if backward { range.next_back() } else { range.next() };
        in_tree.map(|(key, write)| (&**key, write.as_deref())).or(in_tail)
    }
}

/// The places of sorted keys that lie between the bounds; `seek` finds the first not below a key, or above it.
fn places(lower: Bound<&[u8]>, upper: Bound<&[u8]>, len: usize, seek: impl Fn(&[u8], bool) -> usize) -> (usize, usize) {
    let start = match lower {
        Bound::Included(l) => seek(l, false),
        Bound::Excluded(l) => seek(l, true),
        Bound::Unbounded => 0,
    };
    let end = match upper {
        Bound::Included(u) => seek(u, true),
        Bound::Excluded(u) => seek(u, false),
        Bound::Unbounded => len,
    };
    (start, end)
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

    /// As a transaction that updates a row and goes back to a savepoint again and again.
    #[test]
    fn what_is_replaced_takes_no_memory() {
        let mut tail = Tail::default();
        let value = |len: usize| vec![7u8; len];
        (0..10u8).for_each(|key| tail.push(&[0, 0, 0, 1, key], Some(&value(1000))));
        for round in 0..10_000usize {
            tail.replace(round % 10, Some(&value(900 + round % 200)));
            tail.push(&[0, 0, 0, 1, 10], Some(&value(1000)));
            tail.truncate(10);
        }
        assert!(tail.bytes.len() < 3 * DEAD_BYTES_MIN, "{}", tail.bytes.len());
        for (key, write) in tail.from(0) {
            assert_eq!(key.len(), 5);
            assert!(write.is_some_and(|write| (900..1100).contains(&write.len()) && write.iter().all(|byte| *byte == 7)));
        }
    }

    proptest! {
        #[test]
        fn is_an_ordered_map(
            ops in proptest::collection::vec((key(), 0u8..12, any::<bool>()), 0..60),
            ranges in proptest::collection::vec((bound(), bound()), 4),
        ) {
            let mut map = WriteMap::default();
            let mut model: BTreeMap<Vec<u8>, Write> = BTreeMap::new();
            for (key, what, looks) in ops {
                let of_index = |k: &[u8]| k.get(..4) == key.get(..4);
                match what {
                    // What an undo log takes back is in no heap any more.
                    0 => {
                        map.settle(prefix_of(&key));
                        map.remove(&key);
                        model.remove(&key);
                    }
                    1 => {
                        map.settle(prefix_of(&key));
                        let (cut, kept): (BTreeMap<_, _>, BTreeMap<_, _>) = model.into_iter().partition(|(k, _)| *k >= key && of_index(k));
                        prop_assert_eq!(map.run(&key, None).count(), cut.len());
                        prop_assert_eq!(map.cut(&key).0, cut.len());
                        model = kept;
                    }
                    2 | 3 if !model.contains_key(&key) => {
                        let heaped = model.keys().filter(|k| of_index(k)).count();
                        let write: Write = (what == 2).then(|| vec![what].into());
                        match map.insert_new(&key, write.as_deref()) {
                            InsertedNew::Heaped(number, _) => prop_assert_eq!(number, heaped),
                            InsertedNew::NoHeap => {
                                map.settle(prefix_of(&key));
                                map.insert(&key, write.as_deref());
                            }
                        }
                        model.insert(key.clone(), write);
                    }
                    4 if map.heaped().contains(&prefix_of(&key)) => {
                        prop_assert!(matches!(map.insert(&key, None), Inserted::Heaped));
                        let came: Vec<Vec<u8>> = map.settle(prefix_of(&key)).keys(1..64).map(<[u8]>::to_vec).collect();
                        prop_assert!(came.iter().all(|key| model.contains_key(key)));
                    }
                    5 if map.heaped().contains(&prefix_of(&key)) => {
                        let (cut, _) = map.cut_heap(prefix_of(&key), 1);
                        let of_index: Vec<Vec<u8>> = model.keys().filter(|k| of_index(k)).cloned().collect();
                        prop_assert_eq!(cut + 1, of_index.len());
                        for key in of_index {
                            if map.get(&key).is_none() {
                                model.remove(&key);
                            }
                        }
                    }
                    6 if map.is_above_all(&key) => {
                        prop_assert!(model.keys().filter(|k| of_index(k)).all(|k| *k < key));
                        let mut packed = Packed::default();
                        for more in [&[][..], &[0], &[0, 7], &[9]] {
                            packed.push(&[&key, more].concat(), more);
                        }
                        packed.truncate(3);
                        prop_assert!(map.append(&packed).is_some());
                        model.extend(packed.iter().map(|(key, value)| (key.to_vec(), Some(value.into()))));
                    }
                    _ => {
                        map.settle(prefix_of(&key));
                        let write: Write = (what > 2).then(|| vec![what].into());
                        let above = model.keys().filter(|k| of_index(k)).all(|k| *k < key);
                        let before = model.insert(key.clone(), write.clone());
                        match map.insert(&key, write.as_deref()) {
                            Inserted::Appended(_) => prop_assert!(above && before.is_none()),
                            Inserted::New => prop_assert!(!above && before.is_none()),
                            Inserted::Replaced(write) => prop_assert_eq!(before, Some(write)),
                            Inserted::Heaped => prop_assert!(false, "settled"),
                        }
                    }
                }
                prop_assert_eq!(map.len(), model.len());
                // A heap that was looked into is none for long.
                if !looks {
                    continue;
                }
                prop_assert_eq!(map.get(&key), model.get(&key).map(Option::as_deref));
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
