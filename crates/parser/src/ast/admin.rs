//! Statements about the session and the server: SET, EXPLAIN, XA, LOCK, FLUSH, maintenance.

use super::account::UserName;
use super::expr::{Expr, VarScope};
use super::query::Limit;
use super::{Name, Statement};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AccessMode {
    ReadOnly,
    ReadWrite,
}

/// `[AND [NO] CHAIN] [[NO] RELEASE]`; `None` when not written (`completion_type` decides).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Completion {
    pub chain: Option<bool>,
    pub release: Option<bool>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct TableLock {
    pub table: Name,
    pub alias: Option<String>,
    pub kind: TableLockKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TableLockKind {
    Read,
    ReadLocal,
    Write,
}

/// An XA transaction id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Xid {
    pub gtrid: Vec<u8>,
    pub bqual: Vec<u8>,
    pub format_id: u64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Xa {
    /// XA START, XA BEGIN.
    Start {
        xid: Xid,
        join: bool,
        resume: bool,
    },
    End {
        xid: Xid,
        suspend: bool,
        for_migrate: bool,
    },
    Prepare(Xid),
    Commit {
        xid: Xid,
        one_phase: bool,
    },
    Rollback(Xid),
    Recover {
        convert_xid: bool,
    },
}

/// One assignment of SET.
#[derive(Clone, Debug, PartialEq)]
pub enum SetItem {
    /// `@name = value`
    UserVar {
        name: String,
        value: Expr,
    },
    SysVar {
        scope: VarScope,
        component: Option<String>,
        /// As written: `SET autocommit = 1` cannot be told from a stored program's variable.
        name: String,
        value: SetValue,
    },
    /// SET NAMES; `charset` is `None` for DEFAULT.
    Names {
        charset: Option<String>,
        collate: Option<String>,
    },
    /// SET CHARACTER SET; `None` for DEFAULT.
    Charset(Option<String>),
    /// SET [GLOBAL|SESSION] TRANSACTION.
    Transaction {
        /// `VarScope::Default`: the next transaction only.
        scope: VarScope,
        isolation: Option<Isolation>,
        access_mode: Option<AccessMode>,
    },
    Password(SetPassword),
}

#[derive(Clone, Debug, PartialEq)]
pub enum SetValue {
    Default,
    /// A bare word such as ON, BINARY, ALL or utf8mb4 is `Expr::Column` or a string literal:
    /// ON, ALL, BINARY, ROW and SYSTEM come as string literals, other words as columns.
    Expr(Expr),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Isolation {
    ReadUncommitted,
    ReadCommitted,
    RepeatableRead,
    Serializable,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SetPassword {
    /// `None`: the current user.
    pub user: Option<UserName>,
    /// `None`: TO RANDOM.
    pub password: Option<Vec<u8>>,
    /// REPLACE 'current password'.
    pub replace: Option<Vec<u8>>,
    pub retain_current: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Explain {
    pub analyze: bool,
    /// FORMAT= as written: TRADITIONAL, JSON, TREE.
    pub format: Option<String>,
    /// INTO @var.
    pub into: Option<String>,
    /// FOR SCHEMA db.
    pub schema: Option<String>,
    pub target: ExplainTarget,
}

#[allow(clippy::large_enum_variant)] // rare, and never kept in numbers
#[derive(Clone, Debug, PartialEq)]
pub enum ExplainTarget {
    Statement {
        statement: Statement,
        /// The statement's text as written.
        text: String,
    },
    Connection(u64),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PrepareSource {
    Text(Vec<u8>),
    UserVar(String),
}

/// ALTER INSTANCE.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AlterInstance {
    ReloadTls {
        channel: Option<String>,
        /// NO ROLLBACK ON ERROR
        keeps_errors: bool,
    },
    ReloadKeyring,
    RotateInnodbMasterKey,
    RotateBinlogMasterKey,
    /// ENABLE or DISABLE INNODB REDO_LOG.
    RedoLog(bool),
}

/// ANALYZE, CHECK, CHECKSUM, OPTIMIZE, REPAIR TABLE.
#[derive(Clone, Debug, PartialEq)]
pub struct TableMaintenance {
    pub kind: MaintenanceKind,
    /// NO_WRITE_TO_BINLOG or LOCAL.
    pub no_binlog: bool,
    pub tables: Vec<Name>,
    /// FOR UPGRADE, QUICK, FAST, MEDIUM, EXTENDED, CHANGED, USE_FRM; in upper case.
    pub options: Vec<String>,
    pub histogram: Option<Histogram>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MaintenanceKind {
    Analyze,
    Check,
    Checksum,
    Optimize,
    Repair,
}

/// ANALYZE TABLE .. UPDATE|DROP HISTOGRAM ON.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Histogram {
    pub drop: bool,
    pub columns: Vec<String>,
    pub buckets: Option<u64>,
    pub data: Option<Vec<u8>>,
    /// AUTO UPDATE (true), MANUAL UPDATE (false).
    pub auto_update: Option<bool>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flush {
    pub no_binlog: bool,
    pub what: FlushWhat,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FlushWhat {
    Tables {
        /// Empty: all tables.
        tables: Vec<Name>,
        with_read_lock: bool,
        for_export: bool,
    },
    /// LOGS, BINARY LOGS, PRIVILEGES, STATUS, HOSTS, ..; in upper case.
    Options(Vec<String>),
}

/// SHOW WARNINGS and SHOW ERRORS keep their LIMIT here.
pub type RowLimit = Option<Limit>;
