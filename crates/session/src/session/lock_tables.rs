//! LOCK TABLES, UNLOCK TABLES, FLUSH TABLES WITH READ LOCK and LOCK INSTANCE FOR BACKUP of a session.
//!
//! Under LOCK TABLES a session may use only what it locked (errors 1100 and 1099). What others wait for is in
//! `crate::table_locks`.

use std::time::Duration;

use vaquita_parser::Statement as Ast;
use vaquita_parser::ast::{Name, TableLock, TableLockKind};
use vaquita_plan::node::Plan;
use vaquita_storage::{LockMode, LockPolicy};
use vaquita_types::errno::{
    ER_CANT_UPDATE_WITH_READLOCK, ER_NO_DB_ERROR, ER_NO_SUCH_TABLE, ER_TABLE_NOT_LOCKED, ER_TABLE_NOT_LOCKED_FOR_WRITE,
};
use vaquita_types::{Error, Result};

use super::Session;
use super::run::Done;
use crate::table_locks::{Patience, TableName, Wanted};

/// What LOCK TABLES of this session holds.
#[derive(Default)]
pub struct LockedTables {
    /// LOCK TABLES was given, perhaps of nothing but temporary tables, which need no lock.
    is_under: bool,
    tables: Vec<Wanted>,
    /// Successful calls that `TableLocks::unlock` gives back.
    holds: usize,
}

impl Session {
    pub(super) fn lock_tables(&mut self, locks: &[TableLock]) -> Result<Done> {
        // The global read lock stays.
        if self.is_under_lock_tables() {
            self.unlock_tables()?;
        }
        let mut wanted: Vec<Wanted> = Vec::with_capacity(locks.len());
        for lock in locks {
            let table = self.qualified(&lock.table)?;
            if self.catalog.temporary(&table.0, &table.1).is_some() {
                continue;
            }
            let system = vaquita_exec::system::is_system_database(&table.0);
            if !system && self.server.catalog.table(&table.0, &table.1)?.is_none() {
                return Err(Error::new(&ER_NO_SUCH_TABLE, &[&table.0, &table.1]));
            }
            let write = lock.kind == TableLockKind::Write;
            match wanted.iter_mut().find(|w| w.table == table) {
                Some(other) => other.write |= write,
                None => wanted.push(Wanted { table, write }),
            }
        }
        if wanted.iter().any(|w| w.write) {
            self.refuse_by_read_only()?;
            self.refuse_in_read_only()?;
            self.refuse_under_own_read_lock()?;
        }
        self.wait_for_locks(|session, patience| session.server.table_locks().lock(session.client.id, &wanted, patience))?;
        self.locked.holds += 1;
        self.locked.tables = wanted;
        self.locked.is_under = true;
        let drained = self.drain();
        if drained.is_err() {
            self.unlock_tables()?;
        }
        drained.map(|()| Done::nothing())
    }

    /// Waits for the transactions that were using the tables before they were locked.
    fn drain(&mut self) -> Result<()> {
        let policy = LockPolicy::Wait(self.state.metadata_lock_wait());
        let txn = self.txn.get_mut();
        for Wanted { table, write } in &self.locked.tables {
            let mode = if *write { LockMode::X } else { LockMode::S };
            self.server.catalog.open_table(txn, &table.0, &table.1, mode, policy)?;
        }
        txn.rollback();
        Ok(())
    }

    /// UNLOCK TABLES commits only what ran under LOCK TABLES.
    pub(super) fn unlock_tables(&mut self) -> Result<Done> {
        if self.is_under_lock_tables() {
            self.commit_implicitly()?;
        }
        self.release_table_locks();
        Ok(Done::nothing())
    }

    /// Also at the end of the session, and when a transaction starts under LOCK TABLES.
    pub(super) fn release_table_locks(&mut self) {
        if self.locked.holds > 0 {
            self.server.table_locks().unlock(self.client.id, self.locked.holds);
            self.locked = LockedTables::default();
        }
    }

    pub(super) fn is_under_lock_tables(&self) -> bool {
        self.locked.is_under
    }

    /// FLUSH TABLES closes all tables, for which each that is locked must be locked for writing.
    pub(super) fn refuse_flush(&self) -> Result<()> {
        match self.locked.tables.iter().find(|lock| !lock.write) {
            Some(lock) => Err(Error::new(&ER_TABLE_NOT_LOCKED_FOR_WRITE, &[&lock.table.1])),
            None => Ok(()),
        }
    }

    pub(super) fn flush_with_read_lock(&mut self) -> Result<Done> {
        self.wait_for_locks(|session, patience| session.server.table_locks().lock_all_for_reading(session.client.id, patience))?;
        self.locked.holds += 1;
        Ok(Done::nothing())
    }

    /// Before a plan runs: its tables must be free, and under LOCK TABLES ours.
    pub(super) fn admit_plan(&self, plan: &Plan) -> Result<()> {
        if self.server.table_locks().is_idle() {
            return Ok(());
        }
        let targets: Vec<TableName> = match plan {
            Plan::Query(query) => query.for_update.iter().map(name_of).collect(),
            Plan::Insert(insert) => vec![name_of(&insert.table)],
            Plan::Update(update) => update.targets.iter().map(|t| name_of(&t.table)).collect(),
            Plan::Delete(delete) => delete.targets.iter().map(|t| name_of(&t.table)).collect(),
        };
        let tables = plan.tables();
        let wanted = tables.iter().filter(|t| !t.indexes.is_empty() && !t.options.temporary).map(name_of);
        let wanted: Vec<Wanted> = wanted.map(|table| Wanted { write: targets.contains(&table), table }).collect();
        self.admit(&wanted)
    }

    /// Before DDL runs on tables that exist; temporary ones need no lock.
    pub(super) fn admit_ddl(&self, ast: &Ast) -> Result<()> {
        if self.server.table_locks().is_idle() {
            return Ok(());
        }
        let names = tables_of(ast);
        let hidden = !matches!(ast, Ast::RenameTable(_));
        let write = !matches!(ast, Ast::CreateTable(_));
        let mut wanted = Vec::with_capacity(names.len());
        for name in names {
            let table = self.qualified(name)?;
            if !(hidden && self.catalog.temporary(&table.0, &table.1).is_some()) {
                wanted.push(Wanted { table, write });
            }
        }
        self.admit(&wanted)
    }

    /// The statement changes nothing that other sessions can see.
    pub(super) fn changes_own_tables_only(&self, ast: &Ast) -> Result<bool> {
        if matches!(ast, Ast::RenameTable(_) | Ast::CreateTable(_)) {
            return Ok(false);
        }
        let names = tables_of(ast);
        for name in &names {
            let table = self.qualified(name)?;
            if self.catalog.temporary(&table.0, &table.1).is_none() {
                return Ok(false);
            }
        }
        Ok(!names.is_empty())
    }

    /// Before DDL or a change of accounts: nobody else has the global read lock or a backup lock. `leave_ddl` follows.
    pub(super) fn enter_ddl(&self, ast: Option<&Ast>) -> Result<()> {
        let locks = self.server.table_locks();
        if let Some(Ast::CreateTable(create)) = ast
            && self.is_under_lock_tables()
        {
            return Err(Error::new(&ER_TABLE_NOT_LOCKED, &[&create.name.name]));
        }
        self.refuse_under_own_read_lock()?;
        self.wait_for_locks(|session, patience| locks.begin_ddl(session.client.id, patience))
    }

    /// Error 1223 if FLUSH TABLES WITH READ LOCK is this session's.
    pub(super) fn refuse_under_own_read_lock(&self) -> Result<()> {
        match self.server.table_locks().holds_global(self.client.id) {
            true => Err(Error::new(&ER_CANT_UPDATE_WITH_READLOCK, &[])),
            false => Ok(()),
        }
    }

    pub(super) fn leave_ddl(&self) {
        self.server.table_locks().end_ddl(self.client.id);
    }

    /// A transaction that wrote does not commit while another session has the global read lock.
    #[inline]
    pub(super) fn wait_for_commits(&self) -> Result<()> {
        if self.txn.borrow().is_read_only() { Ok(()) } else { self.admit_commit() }
    }

    pub(super) fn admit_commit(&self) -> Result<()> {
        let locks = self.server.table_locks();
        if locks.is_idle() {
            return Ok(());
        }
        self.wait_for_locks(|session, patience| locks.admit_commit(session.client.id, patience))
    }

    pub(super) fn lock_instance(&self) -> Result<Done> {
        let locks = self.server.table_locks();
        self.wait_for_locks(|session, patience| locks.lock_for_backup(session.client.id, patience))?;
        Ok(Done::nothing())
    }

    pub(super) fn unlock_instance(&self) -> Result<Done> {
        self.server.table_locks().unlock_for_backup(self.client.id);
        Ok(Done::nothing())
    }

    fn admit(&self, wanted: &[Wanted]) -> Result<()> {
        if wanted.iter().any(|w| w.write) {
            self.refuse_under_own_read_lock()?;
        }
        if self.is_under_lock_tables() {
            let lock_of = |w: &Wanted| self.locked.tables.iter().find(|l| l.table == w.table);
            if let Some(w) = wanted.iter().find(|w| lock_of(w).is_none()) {
                return Err(Error::new(&ER_TABLE_NOT_LOCKED, &[&w.table.1]));
            }
            if let Some(w) = wanted.iter().find(|w| w.write && lock_of(w).is_some_and(|lock| !lock.write)) {
                return Err(Error::new(&ER_TABLE_NOT_LOCKED_FOR_WRITE, &[&w.table.1]));
            }
        }
        self.wait_for_locks(|session, patience| session.server.table_locks().admit(session.client.id, wanted, patience))
    }

    /// Tries at once; if that is not enough, waits while another pool thread takes this one's place.
    fn wait_for_locks(&self, mut lock: impl FnMut(&Session, &Patience<'_>) -> Result<()>) -> Result<()> {
        let interrupt = &self.client.interrupt;
        let now = Patience { wait: Duration::ZERO, interrupt };
        let mut result = lock(self, &now);
        if result.is_err() {
            let patience = Patience { wait: self.state.metadata_lock_wait(), interrupt };
            self.client.set_state("Waiting for table metadata lock");
            self.server.blocking(&mut || result = lock(self, &patience));
            self.client.set_state("");
        }
        result
    }

    fn qualified(&self, name: &Name) -> Result<TableName> {
        let database = name.db.clone().or_else(|| self.state.database()).ok_or_else(|| Error::new(&ER_NO_DB_ERROR, &[]))?;
        Ok((database, name.name.clone()))
    }
}

fn name_of(table: &vaquita_types::schema::TableRef) -> TableName {
    (table.database.clone(), table.name.clone())
}

/// The tables that DDL names and that exist before it.
fn tables_of(ast: &Ast) -> Vec<&Name> {
    match ast {
        Ast::AlterTable(alter) => vec![&alter.name],
        Ast::CreateIndex(create) => vec![&create.table],
        Ast::DropIndex { table, .. } | Ast::Truncate(table) => vec![table],
        Ast::DropTable { names, temporary: false, .. } => names.iter().collect(),
        Ast::RenameTable(pairs) => pairs.iter().map(|(from, _)| from).collect(),
        Ast::CreateTable(create) => create.like.iter().collect(),
        _ => Vec::new(),
    }
}
