//! The abstract syntax tree: what a statement says, before any name is looked up.
//!
//! Nodes are owned and hold no reference to the statement text. Identifiers are `String`s with
//! the quotes removed; string literals are bytes, because a literal may hold any bytes.
//! Example: `SELECT a+1 FROM t` is `Statement::Query(Query { body: QueryBody::Select(..), .. })`
//! whose only item has `source_text` `a+1`, the name MySQL gives to that column.
//!
//! The tree knows no catalog: a column is a name with up to two qualifiers, a function is a
//! lower-case name with arguments. It does not say whether any of them exists.

mod account;
mod admin;
mod cloning;
mod ddl;
mod dml;
mod event;
mod expr;
mod hint;
mod literal_rows;
mod partition;
mod program;
mod queries;
mod query;
mod replication;
mod show;

pub use account::*;
pub use admin::*;
pub use ddl::*;
pub use dml::*;
pub use event::*;
pub use expr::*;
pub use hint::{Hint, HintArguments, HintKind, HintStrategy, HintTable, PlanHint};
pub(crate) use hint::{OTHER_HINTS, is_hint_word};
pub use literal_rows::*;
pub use partition::*;
pub use program::*;
pub use query::*;
pub use replication::*;
pub use show::*;

/// The name of a table, view or other schema object: `name` or `db.name`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Name {
    pub db: Option<String>,
    pub name: String,
}

/// One SQL statement.
#[derive(Clone, Debug, PartialEq)]
pub enum Statement {
    /// SELECT, UNION and other set operations, VALUES, TABLE.
    Query(Box<Query>),
    Insert(Box<Insert>),
    Update(Box<Update>),
    Delete(Box<Delete>),
    LoadData(Box<LoadData>),
    Do(Vec<Expr>),
    Call {
        name: Name,
        args: Vec<Expr>,
    },
    Handler(Handler),
    /// SIGNAL and RESIGNAL.
    Signal(Box<Signal>),
    GetDiagnostics(Box<GetDiagnostics>),

    CreateDatabase {
        if_not_exists: bool,
        name: String,
        options: Vec<DatabaseOption>,
    },
    /// `name` is `None` for `ALTER DATABASE CHARACTER SET ..`: the current database.
    AlterDatabase {
        name: Option<String>,
        options: Vec<DatabaseOption>,
    },
    DropDatabase {
        if_exists: bool,
        name: String,
    },
    CreateTable(Box<CreateTable>),
    AlterTable(Box<AlterTable>),
    DropTable {
        temporary: bool,
        if_exists: bool,
        names: Vec<Name>,
    },
    RenameTable(Vec<(Name, Name)>),
    Truncate(Name),
    CreateIndex(Box<CreateIndex>),
    DropIndex {
        name: String,
        table: Name,
        algorithm: Option<String>,
        lock: Option<String>,
    },
    CreateView(Box<CreateView>),
    DropView {
        if_exists: bool,
        names: Vec<Name>,
    },
    /// CREATE PROCEDURE.
    CreateRoutine(Box<CreateRoutine>),
    CreateTrigger(Box<CreateTrigger>),
    /// ALTER PROCEDURE and FUNCTION.
    AlterRoutine(Box<AlterRoutine>),
    CreateEvent(Box<CreateEvent>),
    AlterEvent(Box<AlterEvent>),
    /// DROP PROCEDURE, FUNCTION, TRIGGER, EVENT.
    DropProgram {
        kind: ProgramKind,
        if_exists: bool,
        name: Name,
    },

    StartTransaction {
        /// `WITH CONSISTENT SNAPSHOT`.
        consistent_snapshot: bool,
        access_mode: Option<AccessMode>,
    },
    Commit(Completion),
    Rollback(Completion),
    Savepoint(String),
    RollbackTo(String),
    ReleaseSavepoint(String),
    LockTables(Vec<TableLock>),
    UnlockTables,
    LockInstance,
    UnlockInstance,
    /// CLONE LOCAL DATA DIRECTORY: where to.
    CloneLocal(Vec<u8>),
    Xa(Xa),

    Set(Vec<SetItem>),
    Use(String),
    Show(Show),
    Describe {
        table: Name,
        /// The column name or LIKE pattern of `DESC t 'pattern'`.
        column: Option<String>,
    },
    Explain(Box<Explain>),
    Help(Vec<u8>),
    Kill {
        /// `KILL QUERY`: end the statement, keep the connection.
        query_only: bool,
        id: Expr,
    },
    Prepare {
        name: String,
        source: PrepareSource,
    },
    Execute {
        name: String,
        /// User variables, without the `@`.
        using: Vec<String>,
    },
    Deallocate(String),
    TableMaintenance(TableMaintenance),
    Flush(Flush),
    Reset(Vec<ResetOption>),
    PurgeLogs(PurgeLogs),
    Binlog(BinlogEvents),
    ChangeSource(Box<ChangeSource>),
    ChangeFilter(Box<ChangeFilter>),
    StartReplica(Box<RunReplica>),
    StopReplica(Box<RunReplica>),
    ResetReplica(ResetReplica),

    CreateUser(Box<CreateUser>),
    AlterUser(Box<AlterUser>),
    DropUser {
        if_exists: bool,
        users: Vec<UserName>,
    },
    RenameUser(Vec<(UserName, UserName)>),
    CreateRole {
        if_not_exists: bool,
        roles: Vec<UserName>,
    },
    DropRole {
        if_exists: bool,
        roles: Vec<UserName>,
    },
    Grant(Box<Grant>),
    Revoke(Box<Revoke>),
    SetRole(RoleSet),
    SetDefaultRole {
        roles: RoleSet,
        users: Vec<UserName>,
    },

    Shutdown,
    AlterInstance(AlterInstance),
    Restart,
    /// Valid MySQL that this server does not carry out; `what` names it for error 1235.
    Unsupported {
        what: String,
        library: Option<Library>,
    },
}

/// What a statement would load into the server, or take out of it, where no library is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Library {
    /// INSTALL COMPONENT and UNINSTALL COMPONENT with their first URN.
    Component(String),
    NoComponent(String),
    /// INSTALL PLUGIN with its file, UNINSTALL PLUGIN with its name.
    Plugin {
        name: String,
        file: String,
    },
    NoPlugin(String),
    /// CREATE FUNCTION … SONAME with its file.
    Function(String),
}

/// What is stored in a database and runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProgramKind {
    Procedure,
    Function,
    Trigger,
    Event,
}

impl ProgramKind {
    /// As errors name it.
    pub fn as_str(self) -> &'static str {
        match self {
            ProgramKind::Procedure => "PROCEDURE",
            ProgramKind::Function => "FUNCTION",
            ProgramKind::Trigger => "TRIGGER",
            ProgramKind::Event => "EVENT",
        }
    }
}
