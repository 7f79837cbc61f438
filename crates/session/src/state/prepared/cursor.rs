//! Cursors of prepared statements: the rows of COM_STMT_EXECUTE with CURSOR_TYPE_READ_ONLY, for COM_STMT_FETCH to take.
//!
//! As in MySQL the result is made whole when the statement runs, so a cursor outlives its transaction. Rows are kept as
//! the client's front wrote them: the first `MEMORY_BYTES_MAX` in memory, what follows in a file without a name in
//! the data directory, which ends with the cursor.
//! ```text
//! closed --execute--> open --fetch: fewer rows than asked--> closed
//!                     open --execute, COM_STMT_RESET, COM_STMT_CLOSE--> closed
//! ```

use std::collections::VecDeque;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags};
use vaquita_types::errno::{ER_ERROR_ON_READ, ER_ERROR_ON_WRITE};
use vaquita_types::{Error, Result};

/// Rows of one cursor that are kept in memory, in bytes.
const MEMORY_BYTES_MAX: usize = 1 << 20;
/// Rows are gathered in pieces of this size, in bytes; a piece has whole rows.
const PIECE_BYTES: usize = 64 << 10;

/// Rows of an open cursor, in the order in which they were pushed.
pub struct Cursor {
    dir: PathBuf,
    pieces: VecDeque<Piece>,
    /// The piece that rows are appended to.
    last: Vec<u8>,
    /// The piece that rows are taken from, and where the next one begins.
    first: Vec<u8>,
    at: usize,
    memory_bytes: usize,
    file: Option<File>,
    file_bytes: u64,
}

/// Rows, each behind its length in four bytes.
enum Piece {
    Memory(Vec<u8>),
    Spilled { offset: u64, bytes: usize },
}

impl Cursor {
    pub fn new(dir: PathBuf) -> Cursor {
        Cursor {
            dir,
            pieces: VecDeque::new(),
            last: Vec::new(),
            first: Vec::new(),
            at: 0,
            memory_bytes: 0,
            file: None,
            file_bytes: 0,
        }
    }

    pub fn push(&mut self, row: &[u8]) -> Result<()> {
        self.last.extend_from_slice(&(row.len() as u32).to_le_bytes());
        self.last.extend_from_slice(row);
        if self.last.len() < PIECE_BYTES {
            return Ok(());
        }
        let piece = std::mem::take(&mut self.last);
        if self.memory_bytes + piece.len() <= MEMORY_BYTES_MAX {
            self.memory_bytes += piece.len();
            self.pieces.push_back(Piece::Memory(piece));
            return Ok(());
        }
        let file = match &self.file {
            Some(file) => file,
            None => self.file.insert(nameless_file(&self.dir)?),
        };
        let offset = self.file_bytes;
        file.write_all_at(&piece, offset).map_err(|e| file_error(&ER_ERROR_ON_WRITE, &self.dir, &e))?;
        self.file_bytes += piece.len() as u64;
        self.pieces.push_back(Piece::Spilled { offset, bytes: piece.len() });
        Ok(())
    }

    /// The next row.
    pub fn next_row(&mut self) -> Result<Option<&[u8]>> {
        if self.at >= self.first.len() {
            self.at = 0;
            self.first = match (self.pieces.pop_front(), &self.file) {
                (Some(Piece::Memory(piece)), _) => piece,
                (Some(Piece::Spilled { offset, bytes }), Some(file)) => {
                    let mut piece = vec![0; bytes];
                    file.read_exact_at(&mut piece, offset).map_err(|e| file_error(&ER_ERROR_ON_READ, &self.dir, &e))?;
                    piece
                }
                (Some(Piece::Spilled { .. }), None) => return Err(Error::internal("a cursor has lost its file")),
                (None, _) => std::mem::take(&mut self.last),
            };
        }
        let Some((length, rest)) = self.first.get(self.at..).and_then(|rest| rest.split_first_chunk::<4>()) else {
            return Ok(None);
        };
        let length = u32::from_le_bytes(*length) as usize;
        self.at += 4 + length;
        Ok(rest.get(..length))
    }
}

fn nameless_file(dir: &Path) -> Result<File> {
    let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
    let opened = rustix::fs::open(dir, flags, Mode::RUSR | Mode::WUSR);
    opened.map(File::from).map_err(|e| file_error(&ER_ERROR_ON_WRITE, dir, &e.into()))
}

fn file_error(def: &vaquita_types::errno::ErrorDef, dir: &Path, error: &std::io::Error) -> Error {
    let number = error.raw_os_error().unwrap_or_default();
    Error::new(def, &[&dir.display(), &number, &os_text(error)])
}

/// The system's text for an error without the number that Rust puts behind it.
pub fn os_text(error: &std::io::Error) -> String {
    let text = error.to_string();
    text.split(" (os error").next().unwrap_or_default().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_come_back_in_order_from_memory_and_from_the_file() {
        let mut cursor = Cursor::new(std::env::temp_dir());
        let row = |n: usize| vec![n as u8; 1 + n * 37 % 5_000];
        for n in 0..2_000 {
            cursor.push(&row(n)).unwrap();
        }
        cursor.push(&vec![7; 3 << 20]).unwrap();
        assert!(cursor.file.is_some());
        for n in 0..2_000 {
            assert_eq!(cursor.next_row().unwrap(), Some(&row(n)[..]), "row {n}");
        }
        assert_eq!(cursor.next_row().unwrap().map(<[u8]>::len), Some(3 << 20));
        assert_eq!(cursor.next_row().unwrap(), None);
        assert_eq!(cursor.next_row().unwrap(), None);
    }
}
