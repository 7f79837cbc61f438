//! `Sorter`: any number of index entries, in order.
//!
//! Entries are collected in memory; when that is full they are sorted and become a run of a file (`run`), and in the end the runs are merged.

use vaquita_types::Result;

use crate::run::{Run, RunFile, merge};
use crate::spill::Scratches;

/// Bytes of an entry beside key and value.
const PLACE_BYTES: usize = size_of::<Place>();

pub struct Sorter<'a> {
    scratches: &'a Scratches,
    bytes_max: usize,
    bytes: Vec<u8>,
    places: Vec<Place>,
    file: Option<RunFile>,
    runs: Vec<Run>,
}

struct Place {
    /// The first bytes of the key behind the index id, as a number that compares like them.
    head: u64,
    at: u32,
    key_len: u32,
    value_len: u32,
}

/// Bytes of the index id, the same for most.
const ID_BYTES: usize = crate::key::INDEX_ID_BYTES;

impl Place {
    fn key<'b>(&self, bytes: &'b [u8]) -> &'b [u8] {
        let at = self.at as usize;
        bytes.get(at..at + self.key_len as usize).unwrap_or(&[])
    }

    fn entry<'b>(&self, bytes: &'b [u8]) -> (&'b [u8], Option<&'b [u8]>) {
        let value = self.at as usize + self.key_len as usize;
        (self.key(bytes), Some(bytes.get(value..value + self.value_len as usize).unwrap_or(&[])))
    }
}

fn head_of(key: &[u8]) -> u64 {
    let mut bytes = [0; 8];
    let rest = key.get(ID_BYTES..).unwrap_or(&[]);
    let len = rest.len().min(bytes.len());
    bytes[..len].copy_from_slice(&rest[..len]);
    u64::from_be_bytes(bytes)
}

impl<'a> Sorter<'a> {
    /// It takes about `bytes_max` of memory.
    pub fn new(scratches: &'a Scratches, bytes_max: usize) -> Sorter<'a> {
        let bytes_max = bytes_max.min(u32::MAX as usize / 2);
        Sorter { scratches, bytes_max, bytes: Vec::new(), places: Vec::new(), file: None, runs: Vec::new() }
    }

    pub fn add(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        if self.bytes.len() + self.places.len() * PLACE_BYTES >= self.bytes_max {
            self.write_run()?;
        }
        let (key_len, value_len) = (key.len() as u32, value.len() as u32);
        self.places.push(Place { head: head_of(key), at: self.bytes.len() as u32, key_len, value_len });
        self.bytes.extend_from_slice(key);
        self.bytes.extend_from_slice(value);
        Ok(())
    }

    fn sort(&mut self) {
        let bytes = &self.bytes;
        let id = |place: &Place| {
            let key = place.key(bytes);
            key.get(..ID_BYTES).unwrap_or(key)
        };
        self.places.sort_unstable_by(|a, b| {
            let ids = id(a).cmp(id(b));
            ids.then_with(|| a.head.cmp(&b.head)).then_with(|| a.key(bytes).cmp(b.key(bytes)))
        });
    }

    fn write_run(&mut self) -> Result<()> {
        self.sort();
        let file = match &mut self.file {
            Some(file) => file,
            none => none.insert(self.scratches.new_file()?),
        };
        self.runs.push(file.add(self.places.iter().map(|place| place.entry(&self.bytes)))?);
        self.places.clear();
        self.bytes.clear();
        Ok(())
    }

    /// Calls `f` with all entries in the order of their keys.
    pub fn finish(mut self, mut f: impl FnMut(&[u8], &[u8]) -> Result<()>) -> Result<()> {
        if self.runs.is_empty() {
            self.sort();
            return self
                .places
                .iter()
                .map(|place| place.entry(&self.bytes))
                .try_for_each(|(key, value)| f(key, value.unwrap_or(&[])));
        }
        self.write_run()?;
        (self.bytes, self.places) = (Vec::new(), Vec::new());
        let Some(file) = &self.file else { return Ok(()) };
        merge(file, self.runs.iter(), |key, value| f(key, value.unwrap_or(&[])))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn entries_come_in_order(
            entries in prop::collection::btree_map(prop::collection::vec(0u8..3, 0..14), prop::collection::vec(any::<u8>(), 0..4), 0..80)
                .prop_map(|map| map.into_iter().collect::<Vec<_>>()).prop_shuffle(),
            bytes_max in 1usize..5000,
        ) {
            let dir = tempfile::tempdir().unwrap();
            let scratches = Scratches::new(dir.path().join("scratch")).unwrap();
            let mut sorter = Sorter::new(&scratches, bytes_max);
            for (key, value) in &entries {
                sorter.add(key, value).unwrap();
            }
            let mut sorted = Vec::new();
            sorter.finish(|key, value| {
                sorted.push((key.to_vec(), value.to_vec()));
                Ok(())
            }).unwrap();
            prop_assert!(sorted.into_iter().eq(entries.into_iter().collect::<BTreeMap<_, _>>()));
        }
    }
}
