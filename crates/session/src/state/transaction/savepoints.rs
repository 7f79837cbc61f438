//! The savepoints of a transaction by name, in the order in which they were set.
//!
//! A name that is set again moves to the end. Many of them count as memory of the server (`types::memory`). Each operation takes the same time however many there are, but for what it removes.

use std::collections::{BTreeMap, HashMap};

use vaquita_storage::Mark;
use vaquita_types::Result;
use vaquita_types::memory::Reserve;

/// What a savepoint takes beside its name, which is there twice: entries of two maps.
const SAVEPOINT_BYTES: usize = 256;

#[derive(Default)]
pub(super) struct Savepoints {
    /// Name in lower case (ASCII), and where the transaction was; none if it had not begun.
    by_time: BTreeMap<u64, (String, Option<Mark>)>,
    by_name: HashMap<String, u64>,
    next: u64,
    name_bytes: usize,
    reserve: Reserve,
}

impl Savepoints {
    #[inline]
    pub fn clear(&mut self) {
        // Each transaction ends so, and most have none.
        if !self.by_time.is_empty() {
            self.by_time.clear();
            self.by_name.clear();
            self.name_bytes = 0;
            self.reserve = Reserve::default();
        }
    }

    /// Error 1041 if the server has no memory for so many.
    pub fn set(&mut self, name: &str, mark: Option<Mark>) -> Result<()> {
        self.reserve.keep((self.by_time.len() + 1) * SAVEPOINT_BYTES + (self.name_bytes + name.len()) * 2)?;
        let name = name.to_ascii_lowercase();
        if let Some(before) = self.by_name.insert(name.clone(), self.next) {
            self.by_time.remove(&before);
            self.name_bytes -= name.len();
        }
        self.name_bytes += name.len();
        self.by_time.insert(self.next, (name, mark));
        self.next += 1;
        Ok(())
    }

    pub fn find(&self, name: &str) -> Option<Option<Mark>> {
        let at = self.by_name.get(&name.to_ascii_lowercase())?;
        self.by_time.get(at).map(|(_, mark)| *mark)
    }

    /// Forgets those set after `name`.
    pub fn end_after(&mut self, name: &str) {
        if let Some(at) = self.by_name.get(&name.to_ascii_lowercase()) {
            self.end_from(at + 1);
        }
    }

    /// Forgets `name` and those set after it.
    pub fn release(&mut self, name: &str) {
        if let Some(at) = self.by_name.get(&name.to_ascii_lowercase()) {
            self.end_from(*at);
        }
    }

    fn end_from(&mut self, at: u64) {
        for (name, _) in self.by_time.split_off(&at).into_values() {
            self.by_name.remove(&name);
            self.name_bytes -= name.len();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set_of(names: &[&str]) -> Savepoints {
        let mut set = Savepoints::default();
        names.iter().for_each(|name| set.set(name, None).unwrap());
        set
    }

    #[test]
    fn later_ones_end_with_an_earlier_one() {
        let mut set = set_of(&["a", "b", "C", "d"]);
        set.end_after("c");
        assert!(set.find("c").is_some() && set.find("d").is_none());
        set.release("B");
        assert!(set.find("a").is_some() && set.find("b").is_none() && set.find("c").is_none());
    }

    #[test]
    fn a_name_set_again_is_the_last() {
        let mut set = set_of(&["a", "b", "A"]);
        set.end_after("b");
        assert!(set.find("a").is_none() && set.find("b").is_some());
    }
}
