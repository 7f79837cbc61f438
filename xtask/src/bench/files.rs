//! Files of generated rows: the same seed gives every server the same rows.

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use crate::paths;
use crate::random::Random;

/// Files of a benchmark, deleted with it.
pub struct Files {
    dir: PathBuf,
}

impl Files {
    pub fn new(name: &str) -> Result<Files, String> {
        let dir = paths::target_dir().join("bench").join(format!("{name}-files"));
        fs::create_dir_all(&dir).map_err(|e| format!("{}: {e}", dir.display()))?;
        Ok(Files { dir })
    }

    /// Writes what `fill` makes of each number from 1 to `rows`.
    pub fn write(&self, name: &str, rows: u64, mut fill: impl FnMut(&mut Random, u64, &mut Vec<u8>)) -> Result<PathBuf, String> {
        let path = self.dir.join(name);
        let failed = |e: std::io::Error| format!("{}: {e}", path.display());
        let mut random = Random::new(rows);
        let mut out = BufWriter::with_capacity(1 << 20, File::create(&path).map_err(failed)?);
        let mut row = Vec::new();
        for number in 1..=rows {
            row.clear();
            fill(&mut random, number, &mut row);
            out.write_all(&row).map_err(failed)?;
        }
        out.into_inner().map_err(|e| e.into_error()).and_then(|file| file.sync_all()).map_err(failed)?;
        Ok(path)
    }
}

impl Drop for Files {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.dir);
    }
}

/// Appends `count` letters.
pub fn put_letters(random: &mut Random, count: usize, out: &mut Vec<u8>) {
    let mut bits = 0;
    for i in 0..count {
        if i % 12 == 0 {
            bits = random.next();
        }
        out.push(b'a' + (bits % 26) as u8);
        bits /= 26;
    }
}

pub fn bytes_of(path: &Path) -> u64 {
    fs::metadata(path).map_or(0, |meta| meta.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_rows_each_time() {
        let files = Files::new("files-test").unwrap();
        let fill = |random: &mut Random, number: u64, out: &mut Vec<u8>| {
            out.extend_from_slice(format!("{number}\t").as_bytes());
            put_letters(random, 30, out);
            out.push(b'\n');
        };
        let (one, two) = (files.write("one", 100, fill).unwrap(), files.write("two", 100, fill).unwrap());
        let text = fs::read_to_string(one).unwrap();
        assert_eq!(text, fs::read_to_string(two).unwrap());
        assert_eq!(text.lines().count(), 100);
        assert!(text.lines().all(|line| line.split('\t').nth(1).is_some_and(|letters| letters.len() == 30)));
    }
}
