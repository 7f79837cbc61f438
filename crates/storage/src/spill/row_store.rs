//! `RowStore`: rows that are added at the end and read from anywhere, more of them than memory has room for.
//!
//! The last ones are in memory. When these are many they become a run of a file (`sorted_run`), in which a row's key is its number.

use std::sync::Arc;

use vaquita_types::Result;

use super::scratch::Scratches;
use super::sorted_run::{Run, RunCursor, RunFile};
use super::sorter::SortBuffer;

/// What the rows in memory take at most.
const BUFFER_BYTES: usize = 1 << 20;

pub struct RowStore {
    scratches: Arc<Scratches>,
    file: Option<RunFile>,
    /// Each with the number of its first row.
    runs: Vec<(u64, Run)>,
    buffer: SortBuffer,
    len: u64,
}

/// Where a reader is. It is used with one store.
#[derive(Default)]
pub struct RowPlace {
    /// The run, if it has read any.
    run: Option<usize>,
    cursor: RunCursor,
    /// The row that it stands on.
    row: u64,
}

impl RowStore {
    pub(crate) fn new(scratches: Arc<Scratches>) -> RowStore {
        RowStore { scratches, file: None, runs: Vec::new(), buffer: SortBuffer::new(BUFFER_BYTES), len: 0 }
    }

    pub fn len(&self) -> u64 {
        self.len
    }

    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    pub fn push(&mut self, row: &[u8]) -> Result<()> {
        if self.buffer.is_full() {
            let file = match &mut self.file {
                Some(file) => file,
                none => none.insert(self.scratches.new_file()?),
            };
            let first = self.len - self.buffer.len() as u64;
            self.runs.push((first, self.buffer.write_run(file)?));
        }
        self.buffer.add(&self.len.to_be_bytes(), row);
        self.len += 1;
        Ok(())
    }

    /// What it has in memory.
    pub fn kept_bytes(&self) -> usize {
        BUFFER_BYTES + self.runs.iter().map(|(_, run)| run.kept_bytes()).sum::<usize>()
    }

    /// Row `n`; nothing if there is none.
    pub fn read<'r>(&'r self, n: u64, place: &'r mut RowPlace) -> Result<&'r [u8]> {
        let in_file = self.len - self.buffer.len() as u64;
        if n >= in_file {
            return Ok(self.buffer.value((n - in_file) as usize));
        }
        let number = self.runs.partition_point(|(first, _)| *first <= n).saturating_sub(1);
        let (Some(file), Some((_, run))) = (&self.file, self.runs.get(number)) else { return Ok(&[]) };
        if place.run != Some(number) {
            *place = RowPlace { run: Some(number), ..RowPlace::default() };
            place.cursor.seek(file, run, &n.to_be_bytes())?;
        } else if n == place.row + 1 {
            place.cursor.next(file, run)?;
        } else if n != place.row {
            place.cursor.seek(file, run, &n.to_be_bytes())?;
        }
        place.row = n;
        Ok(place.cursor.entry().1.unwrap_or(&[]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(n: u64) -> Vec<u8> {
        vec![n as u8; (n * 37 % 301) as usize]
    }

    #[test]
    fn rows_are_read_in_any_order() {
        const ROWS: u64 = 30_000;
        let dir = tempfile::tempdir().unwrap();
        let scratches = Scratches::new(dir.path().join("scratch")).unwrap();
        let mut store = RowStore::new(Arc::new(scratches));
        let (mut forward, mut anywhere) = (RowPlace::default(), RowPlace::default());
        for n in 0..ROWS {
            store.push(&row(n)).unwrap();
            let other = n * 7919 % (n + 1);
            assert_eq!(store.read(other, &mut anywhere).unwrap(), row(other));
        }
        assert!(store.runs.len() > 2);
        for n in (0..ROWS).chain((0..ROWS).rev()) {
            assert_eq!(store.read(n, &mut forward).unwrap(), row(n));
        }
        assert!(store.read(ROWS, &mut forward).unwrap().is_empty());
    }
}
