//! The kinds of statement: those of the parser, each with how often it is made and what has to be put right after it.
//!
//! `Kind::of` has no arm for "others": a new kind of statement does not compile here before it has a `Kind`, and then `templates`
//! asks what it looks like.

use vaquita_parser::ast::Statement;

/// What a statement that was carried out leaves behind.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Leaves {
    /// Nothing that ROLLBACK and UNLOCK TABLES do not take back.
    Nothing,
    /// Something in the session.
    Session,
    /// Databases and tables are others.
    Objects,
    /// Accounts and privileges are others.
    Accounts,
}

macro_rules! kinds {
    ($($kind:ident $weight:literal $leaves:ident)*) => {
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Kind { $($kind),* }

        impl Kind {
            pub const ALL: &[Kind] = &[$(Kind::$kind),*];

            /// In how many of some hundred statements it comes.
            pub fn weight(self) -> u64 {
                match self { $(Kind::$kind => $weight),* }
            }

            pub fn name(self) -> &'static str {
                match self { $(Kind::$kind => stringify!($kind)),* }
            }

            pub fn leaves(self) -> Leaves {
                match self { $(Kind::$kind => Leaves::$leaves),* }
            }

            pub fn of(statement: &Statement) -> Kind {
                match statement { $(Statement::$kind { .. } => Kind::$kind),* }
            }
        }
    };
}

kinds! {
    Query 60 Nothing
    Insert 25 Nothing
    Update 25 Nothing
    Delete 15 Nothing
    LoadData 6 Nothing
    Do 4 Nothing
    Signal 1 Nothing
    GetDiagnostics 1 Nothing
    Call 1 Nothing
    Handler 3 Session
    CreateDatabase 2 Objects
    AlterDatabase 2 Objects
    DropDatabase 2 Objects
    CreateTable 14 Objects
    AlterTable 14 Objects
    DropTable 3 Objects
    RenameTable 3 Objects
    Truncate 2 Objects
    CreateIndex 2 Objects
    DropIndex 2 Objects
    CreateView 4 Objects
    DropView 2 Objects
    CreateRoutine 6 Objects
    CreateTrigger 3 Objects
    AlterRoutine 2 Objects
    CreateEvent 2 Objects
    AlterEvent 2 Objects
    DropProgram 2 Objects
    StartTransaction 1 Session
    Commit 1 Session
    Rollback 1 Session
    Savepoint 1 Nothing
    RollbackTo 1 Nothing
    ReleaseSavepoint 1 Nothing
    LockTables 5 Nothing
    UnlockTables 1 Nothing
    LockInstance 1 Session
    UnlockInstance 1 Nothing
    CloneLocal 1 Nothing
    Xa 3 Session
    Set 12 Nothing
    Use 3 Nothing
    Show 24 Nothing
    Describe 3 Nothing
    Explain 8 Nothing
    Help 1 Nothing
    Kill 4 Session
    Prepare 3 Nothing
    Execute 2 Objects
    Deallocate 1 Nothing
    TableMaintenance 6 Nothing
    Flush 5 Nothing
    Reset 2 Nothing
    PurgeLogs 2 Nothing
    Binlog 2 Nothing
    ChangeSource 3 Accounts
    ChangeFilter 2 Nothing
    StartReplica 2 Nothing
    StopReplica 1 Nothing
    ResetReplica 1 Nothing
    CreateUser 3 Accounts
    AlterUser 5 Accounts
    DropUser 2 Accounts
    RenameUser 2 Accounts
    CreateRole 2 Accounts
    DropRole 2 Accounts
    Grant 9 Accounts
    Revoke 6 Accounts
    SetRole 2 Nothing
    SetDefaultRole 2 Accounts
    AlterInstance 1 Nothing
    Shutdown 1 Nothing
    Restart 1 Nothing
    Unsupported 4 Objects
}
