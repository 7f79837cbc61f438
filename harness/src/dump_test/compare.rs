//! Compares two dumps byte for byte, but for the comments that name the server, the host and the time.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

/// Bytes shown before and after a difference.
const CONTEXT: usize = 100;
/// Lines that may differ, by how they begin.
const ABOUT_THE_SERVER: [&str; 5] =
    ["-- MySQL dump ", "-- MariaDB dump ", "-- Host: ", "-- Server version\t", "-- Dump completed on "];

/// What mysqldump of 9.7 says of a server of 8.4, between two empty comments, which are left out as well.
const OF_AN_OLD_SERVER: &[u8] = b"-- WARNING: can't read the INFORMATION_SCHEMA.libraries table.";

struct Lines {
    reader: BufReader<File>,
    line: Vec<u8>,
    number: u64,
}

impl Lines {
    fn open(path: &Path) -> Result<Lines, String> {
        let file = File::open(path).map_err(|e| format!("{}: {e}", path.display()))?;
        Ok(Lines { reader: BufReader::with_capacity(1 << 20, file), line: Vec::new(), number: 0 })
    }

    /// Reads the next line; it is empty at the end.
    fn next(&mut self) -> Result<(), String> {
        loop {
            self.line.clear();
            self.number += 1;
            self.reader.read_until(b'\n', &mut self.line).map_err(|e| e.to_string())?;
            if self.line != b"--\n" && !self.line.starts_with(OF_AN_OLD_SERVER) {
                return Ok(());
            }
        }
    }
}

/// The number of bytes if `first` and `second` are the same, else an error with the first difference.
pub fn compare(first: &Path, second: &Path) -> Result<u64, String> {
    let mut lines = [Lines::open(first)?, Lines::open(second)?];
    let mut bytes = 0;
    loop {
        for side in &mut lines {
            side.next()?;
        }
        let [a, b] = &lines;
        if a.line.is_empty() && b.line.is_empty() {
            return Ok(bytes);
        }
        bytes += a.line.len() as u64;
        let about_the_server =
            ABOUT_THE_SERVER.iter().any(|head| [a, b].iter().all(|side| side.line.starts_with(head.as_bytes())));
        if a.line != b.line && !about_the_server {
            return Err(difference(a, b));
        }
    }
}

fn difference(a: &Lines, b: &Lines) -> String {
    let at = a.line.iter().zip(&b.line).take_while(|(x, y)| x == y).count();
    let part = |line: &[u8]| {
        let shown = line.get(at.saturating_sub(CONTEXT)..line.len().min(at + CONTEXT)).unwrap_or_default();
        String::from_utf8_lossy(shown).escape_debug().to_string()
    };
    format!("line {}, byte {at}:\n  MySQL   {}\n  Vaquita {}", a.number, part(&a.line), part(&b.line))
}
