//! The uncommitted writes of a transaction, sorted, with an undo log.
//!
//! A write is a value or a tombstone; the latest one of a key counts. The undo log holds what
//! each write replaced, so that going back to a `Mark` costs what was written since. Example:
//! put k=1, mark, put k=2, delete l; rolling back to the mark removes l's tombstone and puts 1
//! back.

use std::cell::Cell;
use std::ops::Bound;

use vaquita_types::schema::TableId;

use super::write_map::{Write, WriteMap};
use crate::rocks::Family;

/// A point of a transaction's writes to return to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark(usize);

/// Bytes of a map node and of the undo entry, estimated.
const ENTRY_OVERHEAD_BYTES: usize = 96;

#[derive(Default)]
pub struct WriteSet {
    data: WriteMap,
    catalog: WriteMap,
    undo: Vec<Undo>,
    /// Net change of the row count per table; few tables, so a list.
    rows: Vec<(TableId, i64)>,
    bytes: usize,
    /// Length of the undo log at the latest mark: nothing may flow into entries before it.
    marked: Cell<usize>,
}

enum Undo {
    /// What the key had before: nothing of ours, or an earlier write.
    Write {
        family: Family,
        key: Box<[u8]>,
        before: Option<Write>,
    },
    Rows {
        table: TableId,
        delta: i64,
    },
}

impl WriteSet {
    pub fn map(&self, family: Family) -> &WriteMap {
        match family {
            Family::Data => &self.data,
            Family::Catalog => &self.catalog,
        }
    }

    fn map_mut(&mut self, family: Family) -> &mut WriteMap {
        match family {
            Family::Data => &mut self.data,
            Family::Catalog => &mut self.catalog,
        }
    }

    pub fn is_empty(&self) -> bool {
        self.data.is_empty() && self.catalog.is_empty()
    }

    /// Keys written.
    pub fn len(&self) -> usize {
        self.data.len() + self.catalog.len()
    }

    /// Bytes of memory taken, undo log included.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// The write of a key: `None` if there is none, `Some(None)` if it was deleted.
    pub fn get(&self, family: Family, key: &[u8]) -> Option<Option<&[u8]>> {
        let map = self.map(family);
        // Most statements read before they write.
        if map.is_empty() {
            return None;
        }
        map.get(key).map(|w| w.as_deref())
    }

    pub fn write(&mut self, family: Family, key: &[u8], write: Option<&[u8]>) {
        self.bytes += ENTRY_OVERHEAD_BYTES + 2 * key.len() + write.map_or(0, <[u8]>::len);
        let before = self.map_mut(family).insert(key.into(), write.map(Into::into));
        self.undo.push(Undo::Write { family, key: key.into(), before });
    }

    pub fn add_rows(&mut self, table: TableId, delta: i64) {
        self.change_rows(table, delta);
        // A bulk insert would otherwise have an undo entry per row twice over.
        let may_flow = self.undo.len() > self.marked.get();
        match self.undo.last_mut() {
            Some(Undo::Rows { table: last, delta: sum }) if *last == table && may_flow => *sum += delta,
            _ => self.undo.push(Undo::Rows { table, delta }),
        }
    }

    fn change_rows(&mut self, table: TableId, delta: i64) {
        match self.rows.iter_mut().find(|(t, _)| *t == table) {
            Some((_, sum)) => *sum += delta,
            None => self.rows.push((table, delta)),
        }
    }

    pub fn rows_delta(&self, table: TableId) -> i64 {
        self.rows.iter().find(|(t, _)| *t == table).map_or(0, |(_, delta)| *delta)
    }

    pub fn take_rows(&mut self) -> Vec<(TableId, i64)> {
        std::mem::take(&mut self.rows)
    }

    pub fn mark(&self) -> Mark {
        self.marked.set(self.undo.len());
        Mark(self.undo.len())
    }

    pub fn rollback_to(&mut self, mark: Mark) {
        while self.undo.len() > mark.0 {
            match self.undo.pop() {
                Some(Undo::Write { family, key, before }) => {
                    self.bytes = self.bytes.saturating_sub(ENTRY_OVERHEAD_BYTES + 2 * key.len());
                    match before {
                        Some(write) => drop(self.map_mut(family).insert(key, write)),
                        None => self.map_mut(family).remove(&key),
                    }
                }
                Some(Undo::Rows { table, delta }) => self.change_rows(table, -delta),
                None => break,
            }
        }
        self.marked.set(self.undo.len());
    }

    pub fn clear(&mut self) {
        if !self.undo.is_empty() {
            *self = WriteSet::default();
        }
    }

    /// The first write after `from` in the direction of a scan of `[lower, upper)`.
    pub fn following(&self, family: Family, lower: Bound<&[u8]>, upper: Bound<&[u8]>, backward: bool) -> Option<(&[u8], &Write)> {
        self.map(family).first_within(lower, upper, backward)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    #[derive(Clone, Debug)]
    enum Op {
        Put(u8, u8),
        Delete(u8),
        Rows(i64),
        Mark,
        Rollback,
    }

    fn ops() -> impl Strategy<Value = Vec<Op>> {
        let op = prop_oneof![
            4 => (0u8..12, any::<u8>()).prop_map(|(k, v)| Op::Put(k, v)),
            2 => (0u8..12).prop_map(Op::Delete),
            2 => (-3i64..4).prop_map(Op::Rows),
            1 => Just(Op::Mark),
            1 => Just(Op::Rollback),
        ];
        proptest::collection::vec(op, 0..60)
    }

    proptest! {
        #[test]
        fn a_mark_brings_back_everything(ops in ops()) {
            const TABLE: TableId = TableId(3);
            let mut set = WriteSet::default();
            let mut model: (BTreeMap<u8, Option<u8>>, i64) = Default::default();
            let mut marks = Vec::new();
            for op in ops {
                match op {
                    Op::Put(k, v) => {
                        set.write(Family::Data, &[k], Some(&[v]));
                        model.0.insert(k, Some(v));
                    }
                    Op::Delete(k) => {
                        set.write(Family::Data, &[k], None);
                        model.0.insert(k, None);
                    }
                    Op::Rows(delta) => {
                        set.add_rows(TABLE, delta);
                        model.1 += delta;
                    }
                    Op::Mark => marks.push((set.mark(), model.clone())),
                    Op::Rollback => if let Some((mark, then)) = marks.pop() {
                        set.rollback_to(mark);
                        model = then;
                    }
                }
                let now: BTreeMap<u8, Option<u8>> = set.map(Family::Data).iter().map(|(k, w)| (k[0], w.as_ref().map(|v| v[0]))).collect();
                prop_assert_eq!(&now, &model.0);
                prop_assert_eq!(set.rows_delta(TABLE), model.1);
            }
        }
    }
}
