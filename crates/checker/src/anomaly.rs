//! The kinds of anomaly, and which of them each isolation level forbids.
//!
//! Names are Adya's where he has one, else Elle's or Jepsen's. Vaquita's levels: READ COMMITTED has a snapshot per
//! statement, and so a monotonic atomic view; REPEATABLE READ is snapshot isolation; SERIALIZABLE is strict.

/// An isolation level as Vaquita defines it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    ReadCommitted,
    RepeatableRead,
    Serializable,
}

impl Level {
    pub const ALL: [Level; 3] = [Level::ReadCommitted, Level::RepeatableRead, Level::Serializable];

    pub fn sql(self) -> &'static str {
        match self {
            Level::ReadCommitted => "READ COMMITTED",
            Level::RepeatableRead => "REPEATABLE READ",
            Level::Serializable => "SERIALIZABLE",
        }
    }

    /// RC, RR or SER.
    pub fn short(self) -> &'static str {
        match self {
            Level::ReadCommitted => "RC",
            Level::RepeatableRead => "RR",
            Level::Serializable => "SER",
        }
    }

    pub fn parse(text: &str) -> Option<Level> {
        Level::ALL.into_iter().find(|level| level.short().eq_ignore_ascii_case(text))
    }
}

/// Which order beside the dependencies a cycle needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Order {
    None,
    /// That of each client's own transactions.
    Process,
    RealTime,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// One value was appended or written twice: the history is of no use for that key.
    DuplicateWrite,
    /// A read shows one element twice.
    DuplicateElements,
    /// A read shows what nobody wrote.
    UnwrittenRead,
    /// Two reads of one list, of which neither begins with the other.
    IncompatibleOrder,
    /// What was read before each write makes a circle of versions.
    CyclicVersions,
    /// A committed append is in no later read.
    LostAppend,
    /// A transaction does not see its own writes, or sees them too early.
    Internal,
    /// A committed version was made from an aborted one.
    DirtyUpdate,
    G0,
    G1a,
    G1b,
    G1c,
    /// A later read of the same transaction lacks a write of a transaction that an earlier one has seen.
    NonMonotonicView,
    /// One statement sees a part of what another transaction did.
    TornStatement,
    NonRepeatableRead,
    LostUpdate,
    /// One anti-dependency.
    GSingle,
    /// Two transactions see two writes in opposite orders.
    LongFork,
    /// Several anti-dependencies, no two in a row.
    GNonadjacent,
    G2Item,
    /// At least one anti-dependency of a predicate.
    G2,
    /// The accounts of a read do not add up.
    WrongTotal,
    NegativeBalance,
}

impl Kind {
    pub fn name(self) -> &'static str {
        match self {
            Kind::DuplicateWrite => "duplicate-write",
            Kind::DuplicateElements => "duplicate-elements",
            Kind::UnwrittenRead => "unwritten-read",
            Kind::IncompatibleOrder => "incompatible-order",
            Kind::CyclicVersions => "cyclic-versions",
            Kind::LostAppend => "lost-append",
            Kind::Internal => "internal",
            Kind::DirtyUpdate => "dirty-update",
            Kind::G0 => "G0",
            Kind::G1a => "G1a",
            Kind::G1b => "G1b",
            Kind::G1c => "G1c",
            Kind::NonMonotonicView => "non-monotonic-view",
            Kind::TornStatement => "torn-statement",
            Kind::NonRepeatableRead => "non-repeatable-read",
            Kind::LostUpdate => "lost-update",
            Kind::GSingle => "G-single",
            Kind::LongFork => "long-fork",
            Kind::GNonadjacent => "G-nonadjacent",
            Kind::G2Item => "G2-item",
            Kind::G2 => "G2",
            Kind::WrongTotal => "wrong-total",
            Kind::NegativeBalance => "negative-balance",
        }
    }

    /// The weakest level that forbids it.
    pub fn forbidden_from(self) -> Level {
        match self {
            Kind::NonRepeatableRead
            | Kind::LostUpdate
            | Kind::GSingle
            | Kind::LongFork
            | Kind::GNonadjacent
            | Kind::WrongTotal
            | Kind::NegativeBalance => Level::RepeatableRead,
            Kind::G2Item | Kind::G2 => Level::Serializable,
            _ => Level::ReadCommitted,
        }
    }
}
