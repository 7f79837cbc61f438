//! What is counted: statements by kind, bytes, prepared statements.
//!
//! Each session counts for itself, so that cores do not fight over a cache line. The server's count is the sum of those of its sessions,
//! the ended ones among them (`Clients::counts`).

use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;
use vaquita_parser::StatementKind;

/// Declares the counters: a name in Rust and MySQL's name.
macro_rules! counters {
    ($($(#[$doc:meta])* $counter:ident $name:literal,)*) => {
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Counter { $($(#[$doc])* $counter),* }

        const NAMES: &[&str] = &[$($name),*];
        const ALL: &[Counter] = &[$(Counter::$counter),*];
    };
}

counters! {
    Questions "Questions",
    Queries "Queries",
    SlowQueries "Slow_queries",
    BytesReceived "Bytes_received",
    BytesSent "Bytes_sent",
    /// FLUSH TABLES; MySQL counts from 1.
    FlushTables "Flush_commands",
    StmtClose "Com_stmt_close",
    StmtExecute "Com_stmt_execute",
    StmtFetch "Com_stmt_fetch",
    StmtPrepare "Com_stmt_prepare",
    StmtReset "Com_stmt_reset",
    AdminCommands "Com_admin_commands",
    CreatedTmpTables "Created_tmp_tables",
    HandlerCommit "Handler_commit",
    HandlerDelete "Handler_delete",
    HandlerReadFirst "Handler_read_first",
    HandlerReadKey "Handler_read_key",
    HandlerReadLast "Handler_read_last",
    HandlerReadNext "Handler_read_next",
    HandlerReadPrev "Handler_read_prev",
    HandlerReadRndNext "Handler_read_rnd_next",
    HandlerRollback "Handler_rollback",
    HandlerUpdate "Handler_update",
    HandlerWrite "Handler_write",
    /// Of statements that `max_execution_time` limits.
    MaxExecutionTimeSet "Max_execution_time_set",
    SelectFullJoin "Select_full_join",
    SelectFullRangeJoin "Select_full_range_join",
    SelectRange "Select_range",
    SelectScan "Select_scan",
    SortRows "Sort_rows",
    SortScan "Sort_scan",
    /// Tables that statements use are open: what is not counts for the server (`Opened_tables`).
    TableOpenCacheHits "Table_open_cache_hits",
}

/// Kinds of statements follow.
const COUNTERS: usize = NAMES.len() + StatementKind::ALL.len();

/// What one session has counted. Only the thread that serves the session writes, so an addition is a load and a store.
pub struct SessionCounters {
    counts: [AtomicU64; COUNTERS],
    /// The counts at the last FLUSH STATUS, if there was one.
    flushed: Mutex<Option<Box<Counts>>>,
}

/// Counts of a session, or their sums.
#[derive(Clone)]
pub struct Counts([u64; COUNTERS]);

impl Default for SessionCounters {
    fn default() -> SessionCounters {
        SessionCounters { counts: std::array::from_fn(|_| AtomicU64::new(0)), flushed: Mutex::new(None) }
    }
}

impl SessionCounters {
    #[inline]
    pub fn add(&self, counter: Counter, count: u64) {
        self.add_at(counter as usize, count);
    }

    #[inline]
    fn add_at(&self, at: usize, count: u64) {
        let counter = &self.counts[at];
        counter.store(counter.load(Ordering::Relaxed) + count, Ordering::Relaxed);
    }

    /// A statement is about to run.
    #[inline]
    pub fn statement(&self, kind: StatementKind) {
        self.add(Counter::Questions, 1);
        self.add(Counter::Queries, 1);
        self.add_at(NAMES.len() + kind as usize, 1);
    }

    /// Since the session began.
    pub fn all(&self) -> Counts {
        Counts(std::array::from_fn(|at| self.counts[at].load(Ordering::Relaxed)))
    }

    /// Since the last FLUSH STATUS.
    pub fn since_flush(&self) -> Counts {
        self.all().since(self.flushed.lock().as_deref())
    }

    /// FLUSH STATUS: the session's counts begin anew, the server's go on.
    pub fn flush(&self) {
        *self.flushed.lock() = Some(Box::new(self.all()));
    }
}

impl Default for Counts {
    fn default() -> Counts {
        Counts([0; COUNTERS])
    }
}

impl Counts {
    pub fn add(&mut self, other: &Counts) {
        self.0.iter_mut().zip(&other.0).for_each(|(sum, count)| *sum += count);
    }

    pub fn get(&self, counter: Counter) -> u64 {
        self.of(counter) + u64::from(counter == Counter::FlushTables)
    }

    /// As it was counted.
    pub fn of(&self, counter: Counter) -> u64 {
        self.0[counter as usize]
    }

    pub fn set(&mut self, counter: Counter, change: impl FnOnce(u64) -> u64) {
        let count = &mut self.0[counter as usize];
        *count = change(*count);
    }

    /// What has been counted since `before`; without it, all.
    pub fn since(&self, before: Option<&Counts>) -> Counts {
        let mut counts = self.clone();
        if let Some(before) = before {
            counts.0.iter_mut().zip(before.0).for_each(|(count, before)| *count = count.saturating_sub(before));
        }
        counts
    }

    /// All names and counts; several kinds of statements may have one counter. Of a session's, `server` has what is counted for all.
    pub fn list(&self, server: &Counts) -> Vec<(&'static str, u64)> {
        let mut list: Vec<(&str, u64)> = ALL
            .iter()
            .zip(NAMES)
            .map(|(counter, name)| (*name, if counter.is_of_server() { server.get(*counter) } else { self.get(*counter) }))
            .collect();
        for kind in StatementKind::ALL {
            let (name, count) = (kind.facts().counter, self.0[NAMES.len() + *kind as usize]);
            match list.iter_mut().find(|(listed, _)| *listed == name) {
                Some((_, listed)) => *listed += count,
                None => list.push((name, count)),
            }
        }
        list.retain(|(name, _)| !name.is_empty());
        list
    }
}

/// Names of what a session counts for itself.
pub fn names_of_sessions() -> Vec<&'static str> {
    let own = ALL.iter().zip(NAMES).filter(|(counter, _)| !counter.is_of_server()).map(|(_, name)| *name);
    own.chain(StatementKind::ALL.iter().map(|kind| kind.facts().counter)).collect()
}

impl Counter {
    /// MySQL has it for the whole server only.
    fn is_of_server(self) -> bool {
        matches!(self, Counter::Queries | Counter::FlushTables)
    }
}
