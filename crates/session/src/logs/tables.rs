//! The rows of `mysql.general_log` and `mysql.slow_log`: the last entries, in memory, which a restart empties.
//!
//! MySQL keeps them in files without an end. Here they are for a look at what has just happened; who wants all of it takes the files.
//!
//! * LOG-TABLES-1: the rows of a table take no more than `TABLE_BYTES_MAX`; the oldest give way. A statement's text is cut at `TEXT_BYTES_MAX`.

use std::collections::VecDeque;
use std::sync::Arc;

use parking_lot::Mutex;
use vaquita_exec::context::{GeneralLogRow, SlowLogRow};
use vaquita_types::memory;

const TABLE_BYTES_MAX: usize = 16 << 20;
const TEXT_BYTES_MAX: usize = 64 << 10;
/// What a row takes besides its text, about.
const ROW_BYTES: usize = 256;

#[derive(Default)]
pub struct LogTables {
    pub general: Ring<GeneralLogRow>,
    pub slow: Ring<SlowLogRow>,
}

pub trait LogRow {
    fn text(&self) -> &[u8];
}

impl LogRow for GeneralLogRow {
    fn text(&self) -> &[u8] {
        &self.argument
    }
}

impl LogRow for SlowLogRow {
    fn text(&self) -> &[u8] {
        &self.sql_text
    }
}

pub struct Ring<R>(Mutex<Rows<R>>);

struct Rows<R> {
    rows: VecDeque<Arc<R>>,
    bytes: usize,
}

impl<R> Default for Ring<R> {
    fn default() -> Ring<R> {
        Ring(Mutex::new(Rows { rows: VecDeque::new(), bytes: 0 }))
    }
}

impl<R: LogRow> Ring<R> {
    pub fn push(&self, row: R) {
        let bytes = bytes_of(&row);
        let mut ring = self.0.lock();
        while ring.bytes + bytes > TABLE_BYTES_MAX {
            let Some(oldest) = ring.rows.pop_front() else { return };
            let freed = bytes_of(&*oldest);
            ring.bytes -= freed;
            memory::freed(freed);
        }
        ring.bytes += bytes;
        memory::allocated(bytes);
        ring.rows.push_back(Arc::new(row));
    }

    /// The oldest first.
    pub fn list(&self) -> Vec<Arc<R>> {
        self.0.lock().rows.iter().cloned().collect()
    }

    /// TRUNCATE.
    pub fn empty(&self) {
        let mut ring = self.0.lock();
        memory::freed(std::mem::take(&mut ring.bytes));
        ring.rows.clear();
    }
}

fn bytes_of(row: &impl LogRow) -> usize {
    ROW_BYTES + row.text().len()
}

/// As much of a text as a row has.
pub fn cut(text: &[u8]) -> Box<[u8]> {
    text.get(..TEXT_BYTES_MAX).unwrap_or(text).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_give_way() {
        let ring = Ring::default();
        let row = |n: u64| GeneralLogRow {
            at_us: n,
            user_host: "".into(),
            connection_id: n,
            command: "Query",
            argument: cut(&vec![b'x'; 2 * TEXT_BYTES_MAX]),
        };
        let held = TABLE_BYTES_MAX / (TEXT_BYTES_MAX + ROW_BYTES);
        (0..2 * held as u64).for_each(|n| ring.push(row(n)));
        let rows = ring.list();
        assert_eq!((rows.len(), rows[0].at_us), (held, held as u64));
        ring.empty();
        assert!(ring.list().is_empty());
    }
}
