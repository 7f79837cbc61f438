//! `Sorter`: any number of entries of key and value, in the order of their keys; those of one key as they came.
//!
//! Entries are collected in memory; when that is full they are sorted and become a run of a file (`sorted_run`), and in the end the runs are merged.

use std::sync::Arc;

use vaquita_types::Result;

use super::scratch::Scratches;
use super::sorted_run::{BLOCK_BYTES, Merge, Run, RunFile, Ties, head_of};

/// Bytes of an entry beside key and value.
const PLACE_BYTES: usize = size_of::<Place>();

pub struct Sorter {
    scratches: Arc<Scratches>,
    buffer: SortBuffer,
    file: Option<RunFile>,
    runs: Vec<Run>,
}

/// Entries in memory.
pub struct SortBuffer {
    bytes_max: usize,
    bytes: Vec<u8>,
    places: Vec<Place>,
}

struct Place {
    /// When they are sorted: the key's first bytes behind those that all have in common, as a number that compares like them.
    head: u64,
    at: u32,
    key_len: u32,
    value_len: u32,
}

const HEAD_BYTES: usize = size_of::<u64>();

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

impl SortBuffer {
    /// It takes about `bytes_max` of memory.
    pub fn new(bytes_max: usize) -> SortBuffer {
        SortBuffer { bytes_max: bytes_max.min(u32::MAX as usize / 2), bytes: Vec::new(), places: Vec::new() }
    }

    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    pub fn len(&self) -> usize {
        self.places.len()
    }

    /// The value that was added after `n` others.
    pub fn value(&self, n: usize) -> &[u8] {
        self.places.get(n).and_then(|place| place.entry(&self.bytes).1).unwrap_or(&[])
    }

    fn kept_bytes(&self) -> usize {
        self.bytes.len() + self.places.len() * PLACE_BYTES
    }

    pub fn is_full(&self) -> bool {
        self.kept_bytes() >= self.bytes_max
    }

    pub fn add(&mut self, key: &[u8], value: &[u8]) {
        let (key_len, value_len) = (key.len() as u32, value.len() as u32);
        self.places.push(Place { head: 0, at: self.bytes.len() as u32, key_len, value_len });
        self.bytes.extend_from_slice(key);
        self.bytes.extend_from_slice(value);
    }

    fn sort(&mut self) {
        let bytes = &self.bytes;
        let first = self.places.first().map_or(0, |place| head_of(place.key(bytes)));
        let (mut different, mut shortest) = (0, HEAD_BYTES);
        for place in &self.places {
            let key = place.key(bytes);
            different |= head_of(key) ^ first;
            shortest = shortest.min(key.len());
        }
        // With so many bytes all keys begin alike: those of an index with its id.
        let common = shortest.min(different.leading_zeros() as usize / 8);
        for place in &mut self.places {
            place.head = (head_of(place.key(bytes)) << (8 * common) >> 64) as u64;
        }
        let rest = |place: &Place| place.key(bytes).get(common + HEAD_BYTES..).unwrap_or(&[]);
        self.places.sort_unstable_by(|a, b| {
            let keys = a.head.cmp(&b.head).then_with(|| rest(a).cmp(rest(b)));
            // Of keys that differ in zeros at their ends alone.
            keys.then_with(|| a.key_len.cmp(&b.key_len))
                // An entry without bytes is where the next one begins.
                .then_with(|| (a.at, a.value_len).cmp(&(b.at, b.value_len)))
        });
    }

    /// Moves the entries to the file.
    pub fn write_run(&mut self, file: &RunFile) -> Result<Run> {
        self.sort();
        let run = file.add(self.places.iter().map(|place| place.entry(&self.bytes)))?;
        self.places.clear();
        self.bytes.clear();
        Ok(run)
    }
}

/// Any number of entries as sorted runs of a file, to which others may add theirs.
pub struct SortedRuns {
    buffer: SortBuffer,
    runs: Vec<Run>,
}

impl SortedRuns {
    /// They take about `bytes_max` of memory.
    pub fn new(bytes_max: usize) -> SortedRuns {
        SortedRuns { buffer: SortBuffer::new(bytes_max), runs: Vec::new() }
    }

    pub fn add(&mut self, file: &RunFile, key: &[u8], value: &[u8]) -> Result<()> {
        if self.buffer.is_full() {
            self.runs.push(self.buffer.write_run(file)?);
        }
        self.buffer.add(key, value);
        Ok(())
    }

    pub fn finish(mut self, file: &RunFile) -> Result<Vec<Run>> {
        if !self.buffer.is_empty() {
            self.runs.push(self.buffer.write_run(file)?);
        }
        Ok(self.runs)
    }
}

impl Sorter {
    /// It takes about `bytes_max` of memory.
    pub(crate) fn new(scratches: Arc<Scratches>, bytes_max: usize) -> Sorter {
        Sorter { scratches, buffer: SortBuffer::new(bytes_max), file: None, runs: Vec::new() }
    }

    pub fn add(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        if self.buffer.is_full() {
            self.write_run()?;
        }
        self.buffer.add(key, value);
        Ok(())
    }

    fn write_run(&mut self) -> Result<()> {
        let file = match &mut self.file {
            Some(file) => file,
            none => none.insert(self.scratches.new_file()?),
        };
        self.runs.push(self.buffer.write_run(file)?);
        Ok(())
    }

    pub fn sorted(mut self) -> Result<Sorted> {
        if self.runs.is_empty() {
            self.buffer.sort();
        } else {
            self.write_run()?;
            self.buffer = SortBuffer::new(0);
        }
        let merge = match &self.file {
            Some(file) => Some(Merge::start(file, &self.runs, Ties::EarlierRunFirst)?),
            None => None,
        };
        let runs = self.file.zip(merge).map(|(file, merge)| (file, self.runs, merge));
        Ok(Sorted { buffer: self.buffer, next: 0, runs })
    }
}

/// What a `Sorter` was given, in order. It begins before the first entry.
pub struct Sorted {
    buffer: SortBuffer,
    /// The place after the one that it stands on.
    next: usize,
    runs: Option<(RunFile, Vec<Run>, Merge)>,
}

impl Sorted {
    /// Moves to the next entry; false if there is none.
    pub fn advance(&mut self) -> Result<bool> {
        match &mut self.runs {
            Some((file, runs, merge)) => merge.advance(file, runs),
            None => {
                self.next += 1;
                Ok(self.next <= self.buffer.places.len())
            }
        }
    }

    /// What it has in memory, a block of each run among it.
    pub fn kept_bytes(&self) -> usize {
        let of_runs = self.runs.as_ref().map_or(0, |(_, runs, _)| runs.iter().map(|run| run.kept_bytes() + BLOCK_BYTES).sum());
        self.buffer.kept_bytes() + of_runs
    }

    /// Before the first entry again.
    pub fn restart(self) -> Result<Sorted> {
        let runs = match self.runs {
            Some((file, runs, _)) => {
                let merge = Merge::start(&file, &runs, Ties::EarlierRunFirst)?;
                Some((file, runs, merge))
            }
            None => None,
        };
        Ok(Sorted { buffer: self.buffer, next: 0, runs })
    }

    /// Key and value of the entry that it stands on.
    pub fn entry(&self) -> (&[u8], &[u8]) {
        let (key, value) = match &self.runs {
            Some((_, _, merge)) => merge.entry(),
            None => match self.next.checked_sub(1).and_then(|at| self.buffer.places.get(at)) {
                Some(place) => place.entry(&self.buffer.bytes),
                None => (&[][..], None),
            },
        };
        (key, value.unwrap_or(&[]))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn entries_come_in_order(
            mut entries in prop::collection::vec((prop::collection::vec(0u8..3, 0..14), prop::collection::vec(any::<u8>(), 0..4)), 0..80),
            bytes_max in 1usize..5000,
        ) {
            let dir = tempfile::tempdir().unwrap();
            let scratches = Scratches::new(dir.path().join("scratch")).unwrap();
            let mut sorter = Sorter::new(Arc::new(scratches), bytes_max);
            for (key, value) in &entries {
                sorter.add(key, value).unwrap();
            }
            let mut sorted = sorter.sorted().unwrap();
            entries.sort_by(|a, b| a.0.cmp(&b.0));
            for _ in 0..2 {
                for (key, value) in &entries {
                    prop_assert!(sorted.advance().unwrap());
                    prop_assert_eq!(sorted.entry(), (&key[..], &value[..]));
                }
                prop_assert!(!sorted.advance().unwrap());
                sorted = sorted.restart().unwrap();
            }
        }
    }
}
