//! Statements about channels of replication. Options have their names as MySQL writes them today, in whichever vocabulary they were given.

use super::account::UserName;
use super::expr::Expr;

#[derive(Clone, Debug, PartialEq)]
pub struct ChangeSource {
    pub options: Vec<SourceOption>,
    pub channel: Option<Vec<u8>>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct SourceOption {
    pub name: &'static str,
    pub value: SourceValue,
}

#[derive(Clone, Debug, PartialEq)]
pub enum SourceValue {
    Text(Vec<u8>),
    Number(u64),
    /// A number with a fraction, as written.
    Fraction(String),
    Ids(Vec<u64>),
    /// A word without quotes, in upper case; NULL, too.
    Word(String),
    Account(UserName),
}

/// START REPLICA and STOP REPLICA. Neither thread is named: both.
#[derive(Clone, Debug, PartialEq)]
pub struct RunReplica {
    pub receiver: bool,
    pub applier: bool,
    pub until: Vec<SourceOption>,
    /// USER, PASSWORD, DEFAULT_AUTH and PLUGIN_DIR.
    pub login: Vec<SourceOption>,
    pub channel: Option<Vec<u8>>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct ResetReplica {
    pub all: bool,
    pub channel: Option<Vec<u8>>,
}

/// What stands in a list behind RESET.
#[derive(Clone, Debug, PartialEq)]
pub enum ResetOption {
    BinaryLogsAndGtids {
        /// The number of the first file.
        first: Option<u64>,
    },
    Replica(ResetReplica),
    /// PERSIST, of one variable or of all.
    Persist {
        if_exists: bool,
        name: Option<String>,
    },
}

/// CHANGE REPLICATION FILTER. A kind that is given twice has the rules that are given last.
#[derive(Clone, Debug, PartialEq)]
pub struct ChangeFilter {
    pub filters: Vec<GivenFilter>,
    pub channel: Option<Vec<u8>>,
}

/// An empty list takes the rules of its kind away.
#[derive(Clone, Debug, PartialEq)]
pub enum GivenFilter {
    DoDb(Vec<String>),
    IgnoreDb(Vec<String>),
    /// Database and table.
    DoTable(Vec<(String, String)>),
    IgnoreTable(Vec<(String, String)>),
    /// `database.table` with wildcards.
    WildDoTable(Vec<Vec<u8>>),
    WildIgnoreTable(Vec<Vec<u8>>),
    /// The source's database and ours.
    RewriteDb(Vec<(String, String)>),
}

/// BINLOG: events in base64.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BinlogEvents {
    Text(Vec<u8>),
    /// MariaDB's: what does not fit into a statement is in two user variables.
    Fragments(String, String),
}

/// PURGE BINARY LOGS: the files before one, or those that were not written since.
#[derive(Clone, Debug, PartialEq)]
pub enum PurgeLogs {
    To(Vec<u8>),
    Before(Expr),
}
