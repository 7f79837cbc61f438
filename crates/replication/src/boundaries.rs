//! Where transactions of a log begin and end, as far as the headers and the heads of events tell it.
//!
//! | of MySQL | of MariaDB |
//! |---|---|
//! | a GTID event (also an anonymous one) begins, and so does a statement that no GTID came before | its GTID event begins |
//! | XID, XA_PREPARE, a compressed transaction, and a statement that is no BEGIN and stands alone end | the same; with STANDALONE the next statement |
//! | COMMIT and ROLLBACK as statements end | the same |

use vaquita_types::gtid::{Gtid, MariaGtid};
use vaquita_wire::binlog::{Event, Query};

/// What names the transaction that an event belongs to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Name {
    #[default]
    None,
    Anonymous,
    Gtid(Gtid),
    Maria(MariaGtid),
}

#[derive(Clone, Debug, Default)]
pub struct Boundaries {
    /// A transaction has begun.
    within: bool,
    /// BEGIN, or MariaDB's GTID, said that a COMMIT follows.
    needs_commit: bool,
    pub name: Name,
}

/// How an event lies to transactions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lies {
    Between,
    Begins,
    Within,
    Ends,
}

/// What a statement does to a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    Begin,
    Commit,
    Rollback,
    Other,
}

/// What is written for the beginning and the end of a transaction.
pub fn step_of(query: &Query<'_>) -> Step {
    let is = |word: &[u8]| query.statement.eq_ignore_ascii_case(word);
    match () {
        () if is(b"BEGIN") => Step::Begin,
        () if is(b"COMMIT") => Step::Commit,
        () if is(b"ROLLBACK") => Step::Rollback,
        // What begins a branch ends with XA_PREPARE.
        () if query.statement.get(..8).is_some_and(|head| head.eq_ignore_ascii_case(b"XA START")) => Step::Begin,
        () => Step::Other,
    }
}

impl Boundaries {
    pub fn see(&mut self, event: &Event<'_>) -> Lies {
        match event {
            Event::Gtid(gtid) => self.begin(gtid.gtid.clone().map_or(Name::Anonymous, Name::Gtid), false),
            Event::MariaGtid(gtid) => {
                let standalone = gtid.flags & vaquita_wire::binlog::MariaGtidEvent::STANDALONE != 0;
                self.begin(Name::Maria(gtid.gtid), !standalone)
            }
            Event::Query(query) => match step_of(query) {
                Step::Begin => {
                    let begins = !self.within;
                    self.within = true;
                    self.needs_commit = true;
                    if begins { Lies::Begins } else { Lies::Within }
                }
                Step::Commit | Step::Rollback => self.end(),
                Step::Other if self.needs_commit => Lies::Within,
                Step::Other => self.end(),
            },
            Event::Xid(_) | Event::XaPrepare(_) | Event::TransactionPayload(_) => self.end(),
            Event::ExecuteLoadQuery(_) if !self.needs_commit => self.end(),
            Event::FormatDescription(_)
            | Event::Rotate(_)
            | Event::Stop
            | Event::Heartbeat(_)
            | Event::PreviousGtids(_)
            | Event::MariaGtidList(_)
            | Event::BinlogCheckpoint(_)
                if !self.within =>
            {
                Lies::Between
            }
            _ if self.within => Lies::Within,
            _ => Lies::Between,
        }
    }

    fn begin(&mut self, name: Name, needs_commit: bool) -> Lies {
        *self = Boundaries { within: true, needs_commit, name };
        Lies::Begins
    }

    fn end(&mut self) -> Lies {
        self.within = false;
        self.needs_commit = false;
        Lies::Ends
    }

    /// The name of the transaction that has ended, or is open.
    pub fn take_name(&mut self) -> Name {
        std::mem::take(&mut self.name)
    }

    pub fn is_within(&self) -> bool {
        self.within
    }
}
