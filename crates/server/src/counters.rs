//! What the server counts: statements by kind, bytes, prepared statements.
//!
//! Counts are kept in shards, by connection, so that cores do not fight over a cache line; reading adds them up.

use std::sync::atomic::{AtomicU64, Ordering};

use vaquita_parser::Statement as Ast;
use vaquita_parser::ast::Show;

/// Declares the counters: a name in Rust and MySQL's name.
macro_rules! counters {
    ($($(#[$doc:meta])* $counter:ident $name:literal,)*) => {
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Counter { $($(#[$doc])* $counter),* }

        const NAMES: &[&str] = &[$($name),*];
    };
}

counters! {
    Questions "Questions",
    Queries "Queries",
    SlowQueries "Slow_queries",
    BytesReceived "Bytes_received",
    BytesSent "Bytes_sent",
    AlterTable "Com_alter_table",
    AlterUser "Com_alter_user",
    Analyze "Com_analyze",
    Begin "Com_begin",
    Call "Com_call_procedure",
    ChangeDb "Com_change_db",
    Commit "Com_commit",
    CreateDb "Com_create_db",
    CreateIndex "Com_create_index",
    CreateTable "Com_create_table",
    CreateUser "Com_create_user",
    CreateView "Com_create_view",
    Deallocate "Com_dealloc_sql",
    Delete "Com_delete",
    Do "Com_do",
    DropDb "Com_drop_db",
    DropIndex "Com_drop_index",
    DropTable "Com_drop_table",
    DropUser "Com_drop_user",
    DropView "Com_drop_view",
    Execute "Com_execute_sql",
    Explain "Com_explain_other",
    Flush "Com_flush",
    /// FLUSH TABLES; MySQL counts from 1.
    FlushTables "Flush_commands",
    Grant "Com_grant",
    Insert "Com_insert",
    Kill "Com_kill",
    Load "Com_load",
    LockTables "Com_lock_tables",
    Prepare "Com_prepare_sql",
    ReleaseSavepoint "Com_release_savepoint",
    RenameTable "Com_rename_table",
    Revoke "Com_revoke",
    Rollback "Com_rollback",
    RollbackToSavepoint "Com_rollback_to_savepoint",
    Savepoint "Com_savepoint",
    Select "Com_select",
    SetOption "Com_set_option",
    ShowTables "Com_show_tables",
    ShowStatus "Com_show_status",
    ShowVariables "Com_show_variables",
    ShowFields "Com_show_fields",
    StmtClose "Com_stmt_close",
    StmtExecute "Com_stmt_execute",
    StmtFetch "Com_stmt_fetch",
    StmtPrepare "Com_stmt_prepare",
    StmtReset "Com_stmt_reset",
    Truncate "Com_truncate",
    UnlockTables "Com_unlock_tables",
    Update "Com_update",
    Other "Com_other",
}

const COUNTERS: usize = NAMES.len();
/// A power of two, about the number of cores of a large machine.
const SHARDS: usize = 16;

/// Alone on its cache lines.
#[repr(align(128))]
struct Shard([AtomicU64; COUNTERS]);

pub struct Counters {
    shards: [Shard; SHARDS],
}

impl Default for Counters {
    fn default() -> Counters {
        Counters { shards: std::array::from_fn(|_| Shard(std::array::from_fn(|_| AtomicU64::new(0)))) }
    }
}

impl Counters {
    #[inline]
    pub fn add(&self, connection_id: u64, counter: Counter, count: u64) {
        self.shards[connection_id as usize % SHARDS].0[counter as usize].fetch_add(count, Ordering::Relaxed);
    }

    /// A statement is about to run.
    #[inline]
    pub fn statement(&self, connection_id: u64, ast: &Ast) {
        self.add(connection_id, Counter::Questions, 1);
        self.add(connection_id, Counter::Queries, 1);
        self.add(connection_id, kind(ast), 1);
    }

    /// The sum of one.
    pub fn get(&self, counter: Counter) -> u64 {
        let sum: u64 = self.shards.iter().map(|shard| shard.0[counter as usize].load(Ordering::Relaxed)).sum();
        if counter == Counter::FlushTables { sum + 1 } else { sum }
    }

    /// All names and sums.
    pub fn list(&self) -> impl Iterator<Item = (&'static str, u64)> + '_ {
        let flushes = Counter::FlushTables as usize;
        let sum = move |at: usize| {
            u64::from(at == flushes) + self.shards.iter().map(|shard| shard.0[at].load(Ordering::Relaxed)).sum::<u64>()
        };
        NAMES.iter().enumerate().map(move |(at, name)| (*name, sum(at))).filter(|(name, _)| *name != "Com_other")
    }
}

fn kind(ast: &Ast) -> Counter {
    match ast {
        Ast::Query(_) => Counter::Select,
        Ast::Insert(_) => Counter::Insert,
        Ast::Update(_) => Counter::Update,
        Ast::Delete(_) => Counter::Delete,
        Ast::LoadData(_) => Counter::Load,
        Ast::Do(_) => Counter::Do,
        Ast::Call { .. } => Counter::Call,
        Ast::CreateDatabase { .. } => Counter::CreateDb,
        Ast::DropDatabase { .. } => Counter::DropDb,
        Ast::CreateTable(_) => Counter::CreateTable,
        Ast::AlterTable(_) => Counter::AlterTable,
        Ast::DropTable { .. } => Counter::DropTable,
        Ast::RenameTable(_) => Counter::RenameTable,
        Ast::Truncate(_) => Counter::Truncate,
        Ast::CreateIndex(_) => Counter::CreateIndex,
        Ast::DropIndex { .. } => Counter::DropIndex,
        Ast::CreateView(_) => Counter::CreateView,
        Ast::DropView { .. } => Counter::DropView,
        Ast::StartTransaction { .. } => Counter::Begin,
        Ast::Commit(_) => Counter::Commit,
        Ast::Rollback(_) => Counter::Rollback,
        Ast::Savepoint(_) => Counter::Savepoint,
        Ast::RollbackTo(_) => Counter::RollbackToSavepoint,
        Ast::ReleaseSavepoint(_) => Counter::ReleaseSavepoint,
        Ast::LockTables(_) => Counter::LockTables,
        Ast::UnlockTables => Counter::UnlockTables,
        Ast::Set(_) => Counter::SetOption,
        Ast::Use(_) => Counter::ChangeDb,
        Ast::Show(Show::Variables { .. }) => Counter::ShowVariables,
        Ast::Show(Show::Status { .. }) => Counter::ShowStatus,
        Ast::Show(Show::Tables { .. }) => Counter::ShowTables,
        Ast::Describe { .. } => Counter::ShowFields,
        Ast::Explain(_) => Counter::Explain,
        Ast::Kill { .. } => Counter::Kill,
        Ast::Prepare { .. } => Counter::Prepare,
        Ast::Execute { .. } => Counter::Execute,
        Ast::Deallocate(_) => Counter::Deallocate,
        Ast::TableMaintenance(_) => Counter::Analyze,
        Ast::Flush(_) => Counter::Flush,
        Ast::CreateUser(_) => Counter::CreateUser,
        Ast::AlterUser(_) => Counter::AlterUser,
        Ast::DropUser { .. } => Counter::DropUser,
        Ast::Grant(_) => Counter::Grant,
        Ast::Revoke(_) => Counter::Revoke,
        _ => Counter::Other,
    }
}
