//! Reads the rows that a full-text search has found, those of highest rank first.
//!
//! A statement that must notice rows which have come since its snapshot, or which nobody may add until it ends, goes through the whole
//! table instead: such a row is in no list.

use vaquita_plan::expr::{Expr, ExprKind};
use vaquita_storage::{Isolation, Table};
use vaquita_types::{Error, Result};

use super::TableScan;
use crate::context::Frame;
use crate::full_text::ranks;

impl TableScan<'_> {
    pub(super) fn open_ranked(&mut self, table: &Table, search: &Expr, frame: &Frame<'_>) -> Result<()> {
        let ExprKind::Match(search) = &search.kind else { return Err(Error::internal("a path of another expression")) };
        self.fetched.clear();
        self.ranked = None;
        let goes_through_all = self.lock.is_some() && {
            let txn = frame.statement.txn.borrow();
            txn.meets_newcomers() || txn.isolation() == Isolation::Serializable
        };
        if goes_through_all {
            self.ranges.push(table.codec.clustered().all());
        } else {
            self.ranked = Some((ranks(frame.statement, search, &frame.cx())?, 0));
        }
        Ok(())
    }

    /// As `advance`.
    pub(super) fn advance_ranked(&mut self, table: &Table, frame: &mut Frame<'_>) -> Result<bool> {
        loop {
            if let Some((key, row)) = self.fetched.pop() {
                (self.key, self.value) = (key, row);
                return Ok(true);
            }
            let Some((ranks, at)) = &mut self.ranked else { return Ok(false) };
            let keys: Vec<Vec<u8>> = ranks.keys_from(*at).take(self.batch_rows).map(<[u8]>::to_vec).collect();
            if keys.is_empty() {
                return Ok(false);
            }
            if self.lock_first {
                *at += 1;
                self.key = keys.into_iter().next().unwrap_or_default();
                if self.read_row(table, frame)? {
                    return Ok(true);
                }
                continue;
            }
            *at += keys.len();
            self.fetch(keys, frame)?;
        }
    }
}
