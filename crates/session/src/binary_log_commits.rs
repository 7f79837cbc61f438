//! What sessions tell the binary log. How it is written is not known here.

use std::fmt;

use vaquita_exec::context::RowLog;
use vaquita_storage::{LogBuffer, Transaction};
use vaquita_types::Result;
use vaquita_types::gtid::{Gtid, GtidSet, Tag};

/// What `gtid_next` says of the next transaction.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum GtidNext {
    #[default]
    Automatic,
    /// `AUTOMATIC:tag`.
    Tagged(Tag),
    Anonymous,
    Given(Gtid),
    /// A GTID that was given is used up, and nothing was set since.
    Undefined,
}

impl GtidNext {
    /// As SET gives it. `None`: it is no GTID.
    pub fn parse(given: &str) -> Option<GtidNext> {
        let given = given.trim();
        if given.eq_ignore_ascii_case("AUTOMATIC") {
            return Some(GtidNext::Automatic);
        }
        if given.eq_ignore_ascii_case("ANONYMOUS") {
            return Some(GtidNext::Anonymous);
        }
        if let Some((kind, tag)) = given.split_once(':')
            && kind.trim().eq_ignore_ascii_case("AUTOMATIC")
        {
            return Tag::new(tag.trim().as_bytes()).filter(|tag| !tag.is_empty()).map(GtidNext::Tagged);
        }
        let set = GtidSet::parse(given.as_bytes()).ok()?;
        let mut of_sources = set.iter();
        match (of_sources.next(), of_sources.next()) {
            (Some((source, tag, [(first, last)])), None) if first == last && !given.contains(',') => {
                Some(GtidNext::Given(Gtid { source: *source, tag: tag.clone(), number: *first }))
            }
            _ => None,
        }
    }
}

impl fmt::Display for GtidNext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            GtidNext::Automatic => f.write_str("AUTOMATIC"),
            GtidNext::Tagged(tag) => write!(f, "AUTOMATIC:{}", tag.as_str()),
            GtidNext::Anonymous => f.write_str("ANONYMOUS"),
            GtidNext::Given(gtid) => write!(f, "{gtid}"),
            GtidNext::Undefined => f.write_str("NOT_YET_DETERMINED"),
        }
    }
}

/// What a statement runs under, as far as whoever carries it out again has to know.
#[derive(Clone, Debug, Default)]
pub struct LoggedContext {
    pub connection: u32,
    /// Rows are compressed, with this level of zstd.
    pub compression: Option<u8>,
    /// The GTID is to be told (`CommitLog::take_reported`).
    pub reports: bool,
    /// Microseconds since 1970, when the statement began.
    pub began_us: i64,
    pub sql_mode: u64,
    /// Collations of `character_set_client`, of the connection and of the server.
    pub charsets: [u16; 3],
    /// `default_collation_for_utf8mb4`.
    pub utf8mb4_collation: u16,
    pub auto_increment: (u64, u64),
    pub autocommit: bool,
    pub foreign_key_checks: bool,
    pub unique_checks: bool,
    /// `time_zone`, where statements need it.
    pub time_zone: Option<String>,
}

/// A statement that is logged as it is.
pub struct LoggedQuery<'q> {
    pub context: &'q LoggedContext,
    /// The current database.
    pub database: &'q str,
    pub text: &'q [u8],
    /// Databases that it changes, for who carries out several at a time.
    pub changed: &'q [String],
    /// Who becomes the definer of what it creates.
    pub invoker: Option<(&'q str, &'q str)>,
}

/// Where a transaction comes from that is carried out for another server.
#[derive(Clone, Debug)]
pub struct Origin {
    pub server_id: u32,
    /// Seconds since 1970.
    pub timestamp: u32,
    pub commit_us: Option<u64>,
    pub version: Option<u32>,
}

/// A transaction that commits.
pub struct LoggedCommit<'c> {
    pub context: &'c LoggedContext,
    pub next: &'c GtidNext,
    /// `None`: it began here.
    pub origin: Option<&'c Origin>,
    pub form: CommitForm<'c>,
}

/// How a transaction begins and ends.
pub enum CommitForm<'c> {
    Begin,
    /// One statement, which commits itself.
    Statement,
    /// XA PREPARE, or XA COMMIT … ONE PHASE, of the branch with this id as statements write it, and as it is.
    Branch {
        xid: &'c str,
        parts: (u32, &'c [u8], &'c [u8]),
        one_phase: bool,
    },
}

/// Where entries go.
pub trait LogSink {
    fn put(&mut self, kind: u8, content: &[u8]) -> Result<()>;
}

impl LogSink for Transaction {
    fn put(&mut self, kind: u8, content: &[u8]) -> Result<()> {
        self.tell_log(kind, None, |out| {
            out.extend_from_slice(content);
            Ok(())
        })
    }
}

impl LogSink for LogBuffer {
    fn put(&mut self, kind: u8, content: &[u8]) -> Result<()> {
        self.push(kind, None, |out| {
            out.extend_from_slice(content);
            Ok(())
        })
    }
}

pub trait CommitLog: Send + Sync {
    /// Files are written.
    fn is_open(&self) -> bool;

    fn rows(&self) -> &dyn RowLog;

    /// `binlog_row_metadata=FULL`.
    fn full_metadata(&self) -> bool;

    fn query(&self, sink: &mut dyn LogSink, query: &LoggedQuery<'_>) -> Result<()>;

    /// Ends a transaction, of which the sink may have nothing.
    fn commit(&self, sink: &mut dyn LogSink, commit: &LoggedCommit<'_>) -> Result<()>;

    /// The GTIDs of what a connection has committed since this was asked last, of those commits that report.
    fn take_reported(&self, connection: u64) -> GtidSet;

    /// The transaction is in the log, or counts as executed.
    fn has_executed(&self, gtid: &Gtid) -> bool;

    fn executed(&self) -> GtidSet;

    /// What is executed and not in the log any more.
    fn purged(&self) -> Result<GtidSet>;

    /// These count as executed from now on (SET GLOBAL gtid_purged).
    fn add_executed(&self, gtids: &GtidSet) -> Result<()>;
}
