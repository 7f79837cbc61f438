//! What was done with the rows of tables: each connection counts for itself, and gives what it has to the server when it has counted many tables,
//! or ends.

use std::collections::HashMap;

use parking_lot::Mutex;
use vaquita_exec::context::{RowWork, TableSums, TableUse};
use vaquita_types::memory::{self, BLOCK_BYTES_MIN};

/// Tables, each with an index, that a connection counts before it gives them away.
const LINES_MAX: usize = 32;
/// Of the server, dropped tables included. Where there would be more, the sums begin anew.
const SERVER_LINES_MAX: usize = 100_000;
/// What a line takes, for the server's account of memory.
const LINE_BYTES: usize = 2 * size_of::<(TableUse, TableSums)>();

/// Of one connection.
#[derive(Default)]
pub struct ConnectionTables {
    lines: Vec<(TableUse, TableSums)>,
    /// The one that was counted last, which is often the next.
    last: usize,
}

impl ConnectionTables {
    /// `all` takes what is there if there is no place for another table.
    #[inline]
    pub fn add(&mut self, used: TableUse, work: RowWork, rows: u64, wait_ns: u64, all: &ServerTables) {
        let known = self.lines.get(self.last).is_some_and(|(last, _)| *last == used);
        if !known {
            self.find(used, all);
        }
        if let Some((_, sums)) = self.lines.get_mut(self.last) {
            sums.add(work, rows, wait_ns);
        }
    }

    fn find(&mut self, used: TableUse, all: &ServerTables) {
        if let Some(at) = self.lines.iter().position(|(known, _)| *known == used) {
            self.last = at;
            return;
        }
        if self.lines.len() >= LINES_MAX {
            self.give(all);
        }
        self.last = self.lines.len();
        self.lines.push((used, TableSums::default()));
    }

    pub fn give(&mut self, all: &ServerTables) {
        all.add(&self.lines);
        self.lines.clear();
    }

    pub fn forget(&mut self) {
        self.lines.clear();
    }

    pub fn lines(&self) -> &[(TableUse, TableSums)] {
        &self.lines
    }
}

#[derive(Default)]
pub struct ServerTables(Mutex<HashMap<TableUse, TableSums>>);

impl ServerTables {
    fn add(&self, lines: &[(TableUse, TableSums)]) {
        let mut all = self.0.lock();
        for (used, sums) in lines {
            if !all.contains_key(used) {
                if all.len() >= SERVER_LINES_MAX || memory::ask(BLOCK_BYTES_MIN + LINE_BYTES).is_err() {
                    memory::freed(all.len() * LINE_BYTES);
                    *all = HashMap::new();
                }
                memory::allocated(LINE_BYTES);
            }
            all.entry(*used).or_default().add_all(sums);
        }
    }

    pub fn all(&self) -> HashMap<TableUse, TableSums> {
        self.0.lock().clone()
    }

    pub fn forget(&self) {
        let mut all = self.0.lock();
        memory::freed(all.len() * LINE_BYTES);
        *all = HashMap::new();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_tables_go_to_the_server() {
        let (mut own, all) = (ConnectionTables::default(), ServerTables::default());
        for table in 0..100u32 {
            own.add(TableUse { table, index: 1 }, RowWork::Fetch, 2, 10, &all);
            own.add(TableUse { table, index: 1 }, RowWork::Insert, 1, 10, &all);
        }
        assert!(own.lines().len() <= LINES_MAX);
        own.give(&all);
        let TableSums([fetched, inserted, ..]) = all.all()[&TableUse { table: 7, index: 1 }];
        assert_eq!((fetched.count, fetched.wait_ns_max, inserted.count, all.all().len()), (2, 5, 1, 100));
    }
}
