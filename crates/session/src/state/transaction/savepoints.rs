//! The savepoints of a transaction by name, in the order in which they were set.
//!
//! A name that is set again moves to the end. Many of them count as memory of the server (`types::memory`). Each operation takes the same time however many there are, but for what it removes.
//! A function or a trigger has savepoints of its own (`InnerSavepoints`), and sees no others.

use std::collections::{BTreeMap, HashMap};

use vaquita_storage::{Mark, Part, Transaction};
use vaquita_types::errno::ER_SP_DOES_NOT_EXIST;
use vaquita_types::memory::Reserve;
use vaquita_types::{Error, Result};

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

    #[inline]
    pub fn is_empty(&self) -> bool {
        self.by_time.is_empty()
    }

    /// Error 1041 if the server has no memory for so many. Returns the mark that no name has any more, if the name had one.
    pub fn set(&mut self, name: &str, mark: Option<Mark>) -> Result<Option<Mark>> {
        self.reserve.keep((self.by_time.len() + 1) * SAVEPOINT_BYTES + (self.name_bytes + name.len()) * 2)?;
        let name = name.to_ascii_lowercase();
        let mut left = None;
        if let Some(before) = self.by_name.insert(name.clone(), self.next) {
            left = self.by_time.remove(&before).and_then(|(_, mark)| mark);
            self.name_bytes -= name.len();
            // Marks ascend, so only neighbours may have the same.
            let (older, newer) = (self.by_time.range(..before).next_back(), self.by_time.range(before..).next());
            left = left.filter(|left| [older, newer].into_iter().flatten().all(|(_, (_, mark))| mark.as_ref() != Some(left)));
        }
        self.name_bytes += name.len();
        self.by_time.insert(self.next, (name, mark));
        self.next += 1;
        Ok(left.filter(|left| Some(*left) != mark))
    }

    /// The latest mark that a name has.
    pub fn last(&self) -> Option<Mark> {
        self.by_time.values().rev().find_map(|(_, mark)| *mark)
    }

    /// Error 1305 if there is none of the name.
    pub fn find(&self, name: &str) -> Result<Option<Mark>> {
        let at = self.by_name.get(&name.to_ascii_lowercase());
        let found = at.and_then(|at| self.by_time.get(at)).map(|(_, mark)| *mark);
        found.ok_or_else(|| Error::new(&ER_SP_DOES_NOT_EXIST, &[&"SAVEPOINT", &name]))
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

/// The savepoints of a function or trigger that runs. They are of its statement's transaction, also where that ends with the statement.
#[derive(Default)]
pub struct InnerSavepoints {
    names: Savepoints,
    /// What it has done since the first.
    part: Option<Part>,
}

impl InnerSavepoints {
    pub fn set(&mut self, name: &str, txn: &mut Transaction) -> Result<()> {
        self.part.get_or_insert_with(|| txn.begin_part());
        self.names.set(name, Some(txn.savepoint())).map(drop)
    }

    pub fn rollback_to(&mut self, name: &str, txn: &mut Transaction) -> Result<()> {
        if let Some(mark) = self.names.find(name)? {
            txn.rollback_to(&mark);
        }
        self.names.end_after(name);
        Ok(())
    }

    pub fn release(&mut self, name: &str) -> Result<()> {
        self.names.find(name)?;
        self.names.release(name);
        Ok(())
    }

    /// The function has ended.
    pub fn end(self, txn: &mut Transaction) {
        if let Some(part) = self.part {
            txn.end_part(part);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set_of(names: &[&str]) -> Savepoints {
        let mut set = Savepoints::default();
        names.iter().for_each(|name| assert_eq!(set.set(name, None).unwrap(), None));
        set
    }

    #[test]
    fn later_ones_end_with_an_earlier_one() {
        let mut set = set_of(&["a", "b", "C", "d"]);
        set.end_after("c");
        assert!(set.find("c").is_ok() && set.find("d").is_err());
        set.release("B");
        assert!(set.find("a").is_ok() && set.find("b").is_err() && set.find("c").is_err());
    }

    #[test]
    fn a_name_set_again_is_the_last() {
        let mut set = set_of(&["a", "b", "A"]);
        set.end_after("b");
        assert!(set.find("a").is_err() && set.find("b").is_ok());
    }
}
