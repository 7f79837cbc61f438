//! Ranges of keys, as bytes.

/// `[lower, upper)` in key bytes. An empty `upper` has no bound.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KeyRange {
    pub lower: Vec<u8>,
    pub upper: Vec<u8>,
}

impl KeyRange {
    /// All keys that start with `prefix`.
    pub fn prefix(prefix: &[u8]) -> KeyRange {
        KeyRange { lower: prefix.to_vec(), upper: successor(prefix) }
    }

    pub fn contains(&self, key: &[u8]) -> bool {
        self.lower.as_slice() <= key && (self.upper.is_empty() || key < self.upper.as_slice())
    }

    pub fn is_empty(&self) -> bool {
        !self.upper.is_empty() && self.lower >= self.upper
    }
}

/// The smallest key above all keys that start with `prefix`; empty if there is none.
pub fn successor(prefix: &[u8]) -> Vec<u8> {
    let end = prefix.iter().rposition(|&b| b != 0xFF).map_or(0, |at| at + 1);
    let mut key = prefix[..end].to_vec();
    if let Some(last) = key.last_mut() {
        *last += 1;
    }
    key
}
