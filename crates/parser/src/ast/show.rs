//! SHOW in all its forms.
//!
//! Old and new words give the same node: SHOW SLAVE STATUS and SHOW REPLICA STATUS are both
//! `Show::ReplicaStatus`, with `old_names` saying which columns the client expects.

use super::Name;
use super::account::UserName;
use super::admin::RowLimit;
use super::expr::{Expr, VarScope};
use super::query::Limit;

/// LIKE or WHERE after SHOW.
#[derive(Clone, Debug, PartialEq)]
pub enum ShowFilter {
    Like(Vec<u8>),
    Where(Expr),
}

pub type Filter = Option<ShowFilter>;

#[derive(Clone, Debug, PartialEq)]
pub enum Show {
    Databases(Filter),
    Tables {
        extended: bool,
        full: bool,
        db: Option<String>,
        filter: Filter,
    },
    TableStatus {
        db: Option<String>,
        filter: Filter,
    },
    OpenTables {
        db: Option<String>,
        filter: Filter,
    },
    Columns {
        extended: bool,
        full: bool,
        table: Name,
        filter: Filter,
    },
    Index {
        extended: bool,
        table: Name,
        filter: Option<Expr>,
    },
    Variables {
        scope: VarScope,
        filter: Filter,
    },
    Status {
        scope: VarScope,
        filter: Filter,
    },
    Processlist {
        full: bool,
    },
    Warnings(RowLimit),
    /// SHOW COUNT(*) WARNINGS
    WarningCount,
    Errors(RowLimit),
    ErrorCount,
    Engines,
    /// SHOW ENGINE name STATUS|MUTEX|LOGS; `what` in upper case. ENGINE ALL gives `ALL`.
    Engine {
        name: String,
        what: String,
    },
    Collation(Filter),
    Charset(Filter),
    Grants {
        user: Option<UserName>,
        using: Vec<UserName>,
    },
    Privileges,
    Plugins,
    Triggers {
        full: bool,
        db: Option<String>,
        filter: Filter,
    },
    Events {
        db: Option<String>,
        filter: Filter,
    },
    FunctionStatus(Filter),
    ProcedureStatus(Filter),
    FunctionCode(Name),
    ProcedureCode(Name),
    /// SHOW PROFILE: the upper-case types, FOR QUERY n, LIMIT.
    Profile {
        types: Vec<String>,
        query: Option<u64>,
        limit: Option<Limit>,
    },
    Profiles,
    BinaryLogs,
    /// SHOW BINARY LOG STATUS, SHOW MASTER STATUS.
    BinaryLogStatus,
    BinlogEvents {
        relay: bool,
        log: Option<Vec<u8>>,
        from: Option<u64>,
        limit: Option<Limit>,
        channel: Option<Vec<u8>>,
    },
    Replicas {
        old_names: bool,
    },
    ReplicaStatus {
        old_names: bool,
        channel: Option<Vec<u8>>,
    },
    CreateDatabase {
        if_not_exists: bool,
        name: String,
    },
    CreateTable(Name),
    CreateView(Name),
    CreateTrigger(Name),
    CreateProcedure(Name),
    CreateFunction(Name),
    CreateEvent(Name),
    CreateUser(UserName),
    ParseTree(String),
}
