//! What the threads of a channel report, and SHOW REPLICA STATUS and `performance_schema.replication_…` show.
//!
//! Plain data under two mutexes, that of the receiver and that of the applier: a thread changes its own in one short hold and nobody does
//! anything else while holding one. Nothing here is stored. Times are microseconds since 1970; 0 is none.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use parking_lot::Mutex;
use vaquita_types::Error;
use vaquita_types::gtid::{Gtid, GtidSet, MariaGtid, Uuid};

use super::Until;
use super::filter::FilterCounts;

#[derive(Default)]
pub struct ChannelStatus {
    pub receiver: Mutex<ReceiverStatus>,
    pub applier: Mutex<ApplierStatus>,
    /// What waits to be applied (Relay_Log_Space): of both threads, whose queue counts it.
    pub queue_bytes: Arc<AtomicU64>,
    pub filter_counts: FilterCounts,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Running {
    #[default]
    No,
    Connecting,
    Yes,
}

impl Running {
    pub fn name(self) -> &'static str {
        match self {
            Running::No => "No",
            Running::Connecting => "Connecting",
            Running::Yes => "Yes",
        }
    }
}

/// The error that a thread met last.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ThreadError {
    /// 0: none.
    pub number: u32,
    pub text: String,
    pub at_us: u64,
}

impl ThreadError {
    pub fn new(error: &Error, at_us: u64) -> ThreadError {
        ThreadError { number: u32::from(error.code()), text: error.message().to_string(), at_us }
    }
}

/// How a transaction is named.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum TransactionName {
    /// There is no transaction.
    #[default]
    None,
    Anonymous,
    Gtid(Gtid),
    Maria(MariaGtid),
}

impl fmt::Display for TransactionName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TransactionName::None => Ok(()),
            TransactionName::Anonymous => f.write_str("ANONYMOUS"),
            TransactionName::Gtid(gtid) => fmt::Display::fmt(gtid, f),
            TransactionName::Maria(gtid) => fmt::Display::fmt(gtid, f),
        }
    }
}

/// A transaction, and when what happened to it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TransactionTimes {
    pub name: TransactionName,
    /// Where the transaction began.
    pub original_commit_us: u64,
    /// At the source.
    pub immediate_commit_us: u64,
    /// Of receiving or applying it.
    pub start_us: u64,
    pub end_us: u64,
}

#[derive(Clone, Debug, Default)]
pub struct ReceiverStatus {
    pub running: Running,
    /// What it does just now (Replica_IO_State); empty if it does not run.
    pub state: Cow<'static, str>,
    /// Its id in `performance_schema.threads`.
    pub thread_id: Option<u64>,
    /// Read up to here, which may be further than what is applied.
    pub file: String,
    pub pos: u64,
    pub source_server_id: u32,
    pub source_uuid: Option<Uuid>,
    /// The source's clock minus ours, when the receiver connected.
    pub clock_ahead_s: i64,
    pub heartbeats: u64,
    pub last_heartbeat_us: u64,
    /// Received since the channel was configured (Retrieved_Gtid_Set).
    pub received: GtidSet,
    pub last_queued: TransactionTimes,
    pub queueing: TransactionTimes,
    pub last_error: ThreadError,
    /// The source waits for our acks.
    pub semi_sync: bool,
}

#[derive(Clone, Debug, Default)]
pub struct ApplierStatus {
    pub is_running: bool,
    /// What it does just now (Replica_SQL_Running_State).
    pub state: Cow<'static, str>,
    pub thread_id: Option<u64>,
    /// The condition of the last START REPLICA.
    pub until: Until,
    /// When the source began what is being applied, in seconds since 1970 of its clock; `None` if nothing waits.
    pub source_time_s: Option<u64>,
    /// While a transaction waits for SOURCE_DELAY.
    pub remaining_delay_s: Option<u64>,
    /// Transactions that were applied again after a deadlock or a lock wait.
    pub retries: u64,
    pub last_error: ThreadError,
    /// Those that apply, if there are several. One that is alone is told by `alone`.
    pub workers: Vec<WorkerStatus>,
    pub alone: WorkerStatus,
    /// What a coordinator has handed on last, and what it reads.
    pub last_scheduled: TransactionTimes,
    pub scheduling: TransactionTimes,
}

#[derive(Clone, Debug, Default)]
pub struct WorkerStatus {
    pub is_running: bool,
    pub thread_id: Option<u64>,
    pub last_error: ThreadError,
    pub last_applied: TransactionTimes,
    pub applying: TransactionTimes,
    pub last_applied_retries: Retries,
    pub applying_retries: Retries,
}

/// How often a transaction was tried again, and why last.
#[derive(Clone, Debug, Default)]
pub struct Retries {
    pub count: u64,
    pub last_error: ThreadError,
}
