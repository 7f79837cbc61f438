//! The commit of a transaction whose writes have spilled: they are merged into sorted files, which become part of the data in one
//! step. So a commit of any size neither passes through the log and the memtables nor holds up others while it is prepared.

use vaquita_types::Result;

use super::Transaction;
use crate::base::kill_points::kill_point;
use crate::commit::records::Records;
use crate::commit::{CommitRequest, Touched};
use crate::rocks::write_error;
use crate::rocks::{Family, SortedFiles};

impl Transaction {
    /// Stage *prepare* of a spilled transaction. If it fails, the transaction is still as it was.
    pub(super) fn prepare_files(&mut self) -> Result<CommitRequest> {
        let log = self.store.prepare_log(self.writes.log())?;
        self.writes.spill_rest()?;
        let mut written = Ok(None);
        let threads = std::sync::Arc::clone(&self.store.hooks().threads);
        threads.blocking(&mut || written = self.write_files());
        let files = written?;
        let mut records = Records::with_capacity(0);
        for (key, write) in self.writes.map(Family::Catalog).iter() {
            records.write(Family::Catalog, key, write);
        }
        self.stored_temporary = true;
        kill_point("spill.prepared");
        Ok(CommitRequest {
            records,
            touched: Touched::Any,
            files,
            counters: self.take_counters(),
            log,
            interrupt: None,
            owner: self.owner.take(),
            held: std::mem::take(&mut self.held),
        })
    }

    fn write_files(&self) -> Result<Option<SortedFiles>> {
        let Some(spill) = self.writes.spilled() else { return Ok(None) };
        let (file, runs) = spill.runs()?;
        let files = self.store.sorted_files(file, &runs, &self.options.interrupt)?;
        kill_point("spill.files-written");
        // Keys of the files that are in memtables would have to be flushed while all other commits wait.
        self.store.db().flush_memtables().map_err(write_error)?;
        Ok(Some(files))
    }
}
