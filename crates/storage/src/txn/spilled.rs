//! The commit of a transaction whose writes have spilled: they are merged into sorted files, which become part of the data in one
//! step. So a commit of any size neither passes through the log and the memtables nor holds up others while it is prepared.

use vaquita_types::{Error, Result, stack};

use super::Transaction;
use crate::base::kill_points::kill_point;
use crate::commit::records::Records;
use crate::commit::{CommitRequest, Touched};
use crate::rocks::write_error;
use crate::rocks::{Family, SortedFiles};
use crate::spill::sorted_run::SameKey;

impl Transaction {
    /// Stage *prepare* of a spilled transaction. If it fails, the transaction is still as it was.
    pub(super) fn prepare_files(&mut self) -> Result<CommitRequest> {
        self.writes.spill_rest()?;
        let mut prepared = Err(Error::internal("nothing was prepared"));
        let threads = std::sync::Arc::clone(&self.store.hooks().threads);
        threads.blocking(&mut || prepared = self.prepare_log_and_files());
        let (log, files) = prepared?;
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

    /// Both at once, as they take about as long.
    fn prepare_log_and_files(&self) -> Result<(Vec<u8>, Option<SortedFiles>)> {
        let (store, told) = (&*self.store, self.writes.log());
        let (log, files) = std::thread::scope(|scope| {
            let thread = std::thread::Builder::new().name("log".into()).stack_size(stack::THREAD_BYTES);
            let log = if told.is_empty() { None } else { thread.spawn_scoped(scope, || store.prepare_log(told)).ok() };
            let files = self.write_files();
            // A thread that was made does not panic; if it did, the process has ended.
            let log =
                log.map_or_else(|| store.prepare_log(told), |log| log.join().unwrap_or_else(|_| Err(Error::internal("no log"))));
            (log, files)
        });
        let (log, files) = (log?, files?);
        // Keys of the files that are in memtables would have to be flushed while all other commits wait.
        if files.is_some() {
            store.db().flush_memtables().map_err(write_error)?;
        }
        Ok((log, files))
    }

    fn write_files(&self) -> Result<Option<SortedFiles>> {
        let Some(spill) = self.writes.spilled() else { return Ok(None) };
        let (file, runs) = spill.runs()?;
        let files = self.store.sorted_files(file, &runs, SameKey::LastRunCounts, &self.options.interrupt)?;
        kill_point("spill.files-written");
        Ok(Some(files))
    }
}
