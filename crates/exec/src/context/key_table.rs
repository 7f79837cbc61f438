//! `KeyTable`: numbers different byte keys 0, 1, 2, … in the order in which they come.
//!
//! Open addressing over 32-bit entry numbers. A key of up to 20 bytes is in its entry, so that finding it touches two places in
//! memory; longer ones lie one after the other in one buffer.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::LazyLock;

use vaquita_types::Result;

use super::{Execution, Kept};

/// Unknown to clients, who could otherwise choose keys that collide.
static SEED: LazyLock<u64> = LazyLock::new(|| RandomState::new().build_hasher().finish());

const EMPTY: u32 = u32::MAX;
const PLACES_MIN: usize = 64;
/// What an entry takes beside its key: itself and two places.
const ENTRY_BYTES: usize = size_of::<Entry>() + 2 * size_of::<u32>();

/// Half a cache line.
struct Entry {
    hash: u64,
    len: u32,
    /// The key and zeros, or first where a longer one begins in `KeyTable::bytes`.
    head: [u8; INLINE_BYTES],
}

const INLINE_BYTES: usize = 20;
const _: () = assert!(size_of::<Entry>() == 32);

pub struct KeyTable {
    seed: u64,
    bytes: Vec<u8>,
    entries: Vec<Entry>,
    places: Vec<u32>,
    kept: Kept,
}

impl Default for KeyTable {
    fn default() -> KeyTable {
        KeyTable::new()
    }
}

impl KeyTable {
    pub fn new() -> KeyTable {
        KeyTable { seed: *SEED, bytes: Vec::new(), entries: Vec::new(), places: Vec::new(), kept: Kept::default() }
    }

    pub fn key(&self, n: usize) -> &[u8] {
        self.entries.get(n).map_or(&[], |e| self.key_of(e))
    }

    fn key_of<'t>(&'t self, entry: &'t Entry) -> &'t [u8] {
        let len = entry.len as usize;
        if let Some(key) = entry.head.get(..len) {
            return key;
        }
        let start = entry.head.first_chunk().map_or(0, |start| u64::from_le_bytes(*start)) as usize;
        self.bytes.get(start..start + len).unwrap_or(&[])
    }

    pub fn len(&self) -> usize {
        self.entries.len()
    }

    pub fn kept_bytes(&self) -> usize {
        self.kept.bytes()
    }

    /// It is of `statement` now, and was of a part of it.
    pub fn adopt(&mut self, statement: &Execution<'_>) -> Result<()> {
        self.kept.adopt(statement)
    }

    pub fn clear(&mut self) {
        self.bytes.clear();
        self.entries.clear();
        self.places.clear();
        self.kept.clear();
    }

    pub fn find(&self, key: &[u8]) -> Option<usize> {
        if self.places.is_empty() {
            return None;
        }
        self.look(self.hash(key), key).ok()
    }

    /// The key's number, and whether it is new.
    pub fn insert(&mut self, key: &[u8], statement: &Execution<'_>) -> Result<(usize, bool)> {
        if self.entries.len() * 2 >= self.places.len() {
            self.grow();
        }
        let hash = self.hash(key);
        match self.look(hash, key) {
            Ok(n) => Ok((n, false)),
            Err(place) => {
                let n = self.entries.len();
                self.places[place] = n as u32;
                self.entries.push(Entry { hash, len: key.len() as u32, head: head(key, self.bytes.len()) });
                if key.len() > INLINE_BYTES {
                    self.bytes.extend_from_slice(key);
                }
                self.kept.add(key.len() + ENTRY_BYTES, statement)?;
                Ok((n, true))
            }
        }
    }

    /// The entry with this key, or the place where it would be.
    fn look(&self, hash: u64, key: &[u8]) -> std::result::Result<usize, usize> {
        let mask = self.places.len() - 1;
        let mut place = hash as usize & mask;
        let short = (key.len() <= INLINE_BYTES).then(|| head(key, 0));
        loop {
            let n = self.places[place];
            if n == EMPTY {
                return Err(place);
            }
            let entry = &self.entries[n as usize];
            let same = match &short {
                Some(head) => entry.hash == hash && entry.len as usize == key.len() && entry.head == *head,
                None => entry.hash == hash && self.key_of(entry) == key,
            };
            if same {
                return Ok(n as usize);
            }
            place = (place + 1) & mask;
        }
    }

    fn grow(&mut self) {
        let size = (self.places.len() * 2).max(PLACES_MIN);
        self.places.clear();
        self.places.resize(size, EMPTY);
        for (n, entry) in self.entries.iter().enumerate() {
            let mut place = entry.hash as usize & (size - 1);
            while self.places[place] != EMPTY {
                place = (place + 1) & (size - 1);
            }
            self.places[place] = n as u32;
        }
    }

    fn hash(&self, key: &[u8]) -> u64 {
        let mut state = self.seed ^ key.len() as u64;
        let (words, tail) = key.as_chunks::<8>();
        for word in words {
            state = mix(state ^ u64::from_le_bytes(*word));
        }
        let mut last = [0; 8];
        last[..tail.len()].copy_from_slice(tail);
        mix(mix(state ^ u64::from_le_bytes(last)) ^ self.seed)
    }
}

/// What an entry holds of a key, which begins at `start` of the buffer if it is too long.
#[inline]
fn head(key: &[u8], start: usize) -> [u8; INLINE_BYTES] {
    let mut head = [0; INLINE_BYTES];
    match head.get_mut(..key.len()) {
        Some(to) => to.copy_from_slice(key),
        None => head[..8].copy_from_slice(&(start as u64).to_le_bytes()),
    }
    head
}

fn mix(word: u64) -> u64 {
    let wide = u128::from(word ^ 0x2D35_8DCC_AA6C_78A5) * 0x9E37_79B9_7F4A_7C15;
    wide as u64 ^ (wide >> 64) as u64
}
