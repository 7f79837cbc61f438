//! Rows that are added at the end and read from anywhere: the first ones in memory, and those for which it has no room in a file.

use std::cell::RefCell;
use std::ops::Range;
use std::rc::Rc;

use vaquita_plan::expr::Slot;
use vaquita_storage::{RowPlace, RowStore};
use vaquita_types::{Result, Value};

use super::{Chains, Execution, Frame, Kept, Rows, heap_bytes, row_bytes};

pub struct KeptRows {
    rows: Rows,
    /// Those behind the ones in memory.
    disk: Option<RowStore>,
    /// What `disk` has in memory.
    of_disk: Kept,
    bytes: Vec<u8>,
}

/// The rows of a derived table, for all that read them, and how their readers find some of them.
pub struct SharedRows {
    pub rows: KeptRows,
    lookups: RefCell<Vec<(usize, Lookup)>>,
}

/// How the readers of one place find rows. It is made when they come again.
#[derive(Clone)]
enum Lookup {
    Wanted,
    Made(Option<Rc<Chains>>),
}

impl SharedRows {
    pub fn new(rows: KeptRows) -> SharedRows {
        SharedRows { rows, lookups: RefCell::default() }
    }

    /// What `make` has made for the readers of `place`; none for the first of them, who may be the only one.
    pub fn lookup(&self, place: usize, make: impl FnOnce(&KeptRows) -> Result<Option<Rc<Chains>>>) -> Result<Option<Rc<Chains>>> {
        let known = self.lookups.borrow().iter().find(|(of, _)| *of == place).map(|(_, lookup)| lookup.clone());
        match known {
            Some(Lookup::Made(lookup)) => Ok(lookup),
            Some(Lookup::Wanted) => {
                let made = make(&self.rows)?;
                let mut lookups = self.lookups.borrow_mut();
                if let Some((_, lookup)) = lookups.iter_mut().find(|(of, _)| *of == place) {
                    *lookup = Lookup::Made(made.clone());
                }
                Ok(made)
            }
            None => {
                self.lookups.borrow_mut().push((place, Lookup::Wanted));
                Ok(None)
            }
        }
    }
}

/// Where a reader is, which reads all columns or some. It is used with the rows that it was made for.
#[derive(Default)]
pub struct KeptPlace {
    columns: Option<Range<usize>>,
    of_file: RowPlace,
    /// The row of the file that was read last.
    number: Option<usize>,
    row: Vec<Value>,
}

/// Some of the rows that a recursive common table expression has made: those that its members read now.
#[derive(Clone)]
pub struct Round {
    pub rows: Rc<RefCell<KeptRows>>,
    pub numbers: Range<usize>,
}

impl KeptPlace {
    /// Of a reader of these columns.
    pub fn of(columns: Range<usize>) -> KeptPlace {
        KeptPlace { columns: Some(columns), ..KeptPlace::default() }
    }
}

impl KeptRows {
    pub fn new(width: usize) -> KeptRows {
        KeptRows { rows: Rows::new(width), disk: None, of_disk: Kept::default(), bytes: Vec::new() }
    }

    pub fn len(&self) -> usize {
        self.rows.len() + self.disk.as_ref().map_or(0, |disk| disk.len() as usize)
    }

    /// Adds a row, whose values are moved out of `row`.
    pub fn push(&mut self, row: &mut Vec<Value>, statement: &Execution<'_>) -> Result<()> {
        let bytes_of = |row: &[Value]| row.iter().map(heap_bytes).sum::<usize>() + size_of_val(row);
        if let Some(disk) = &mut self.disk {
            statement.check_room(bytes_of(row))?;
            self.bytes.clear();
            row.drain(..).for_each(|value| row_bytes::encode(&value, &mut self.bytes));
            disk.push(&self.bytes)?;
            return self.of_disk.add(disk.kept_bytes() - self.of_disk.bytes(), statement);
        }
        if statement.is_short_of_memory(|| self.rows.kept_bytes() + bytes_of(row)) {
            self.disk = Some(statement.store.row_store());
            return self.push(row, statement);
        }
        self.rows.push(row, statement)
    }

    /// The reader's columns of row `n`.
    pub fn row<'r>(&'r self, n: usize, place: &'r mut KeptPlace) -> Result<&'r [Value]> {
        let Some(number) = n.checked_sub(self.rows.len()) else {
            let row = self.rows.row(n);
            return Ok(place.columns.clone().map_or(Some(row), |columns| row.get(columns)).unwrap_or(&[]));
        };
        let Some(disk) = &self.disk else { return Ok(&[]) };
        if place.number != Some(number) {
            place.number = None;
            place.row.clear();
            let mut bytes = disk.read(number as u64, &mut place.of_file)?;
            let columns = place.columns.clone().unwrap_or(0..usize::MAX);
            for _ in 0..columns.start {
                row_bytes::skip(&mut bytes)?;
            }
            while !bytes.is_empty() && place.row.len() < columns.len() {
                place.row.push(row_bytes::decode(&mut bytes)?);
            }
            place.number = Some(number);
        }
        Ok(&place.row)
    }

    /// Puts row `n` into slots.
    pub fn restore(&self, n: usize, place: &mut KeptPlace, frame: &mut Frame<'_>, slots: &[Slot]) -> Result<()> {
        for (value, slot) in self.row(n, place)?.iter().zip(slots) {
            frame.slots[*slot].clone_from(value);
        }
        Ok(())
    }

    /// Gives everything back.
    pub fn clear(&mut self) {
        self.rows.clear();
        self.disk = None;
        self.of_disk.clear();
    }
}
