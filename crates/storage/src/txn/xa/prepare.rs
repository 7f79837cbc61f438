//! The prepare of a transaction that is a branch of a distributed one; see `txn::xa`.

use vaquita_types::{Error, Result};

use super::{Prepared, Record, XaBranch};
use crate::commit::counters::CounterChange;
use crate::rocks::Family;
use crate::txn::Transaction;
use crate::txn::write_set::WriteSet;

impl Transaction {
    /// XA PREPARE: all that a commit needs is durable afterwards, and the locks stay with the branch. If it fails,
    /// the transaction is rolled back. Either way this transaction begins anew.
    pub fn prepare_xa(&mut self, branch: XaBranch) -> Result<()> {
        self.owner();
        if self.writes.spilled().is_some() {
            self.rollback();
            return Err(Error::unsupported(format_args!(
                "XA PREPARE of a transaction that wrote more than {} bytes",
                self.store.options().write_set_bytes
            )));
        }
        // Temporary tables are the session's, not the branch's: what was carried into it stays in memory, however much that is.
        let temporary = if self.carries { self.writes.split_off_temporary() } else { WriteSet::default() };
        let told = !self.writes.log().is_empty();
        if let Err(error) = self.check_disk_space().and_then(|()| self.write_branch(&branch, told)) {
            self.rollback();
            self.writes = temporary;
            return Err(error);
        }
        if let Some(owner) = self.owner.take() {
            self.store.note_prepared(owner.id);
            branch.leave(Prepared { owner, held: std::mem::take(&mut self.held), told });
        }
        self.writes = temporary;
        self.reset();
        Ok(())
    }

    fn write_branch(&mut self, branch: &XaBranch, told: bool) -> Result<()> {
        let id = self.id();
        let mut writes = Vec::with_capacity(self.writes.len() as usize);
        for family in [Family::Data, Family::Catalog] {
            writes.extend(self.writes.map(family).iter().map(|(key, write)| (family, key.to_vec(), write.map(<[u8]>::to_vec))));
        }
        let locks = self.store.locks().held(id, &self.held);
        let record = Record { told, isolation: self.options.isolation, locks, rows: self.writes.take_rows(), writes };
        // Ids that it used count as used from here on, whatever becomes of it.
        let mut counters = std::mem::take(&mut self.counters);
        counters.retain(|(_, change)| matches!(change, CounterChange::AutoIncrementUsed(_) | CounterChange::RowIdUsed(_)));
        let log = branch.store().prepare_log(self.writes.log())?;
        branch.store().write_xa_record(&branch.xid, &record, counters, log)
    }
}
