//! LOCK TABLES and UNLOCK TABLES, and what other statements ask for the tables that they use. What the session holds is
//! `state::locked_tables`'; what others wait for is in `crate::table_locks`.

use std::collections::HashSet;
use std::time::Duration;

use vaquita_parser::Statement as Ast;
use vaquita_parser::ast::{AlterAction, Flush, FlushWhat, Name, PartitionAction, TableLock, TableLockKind};
use vaquita_plan::catalog::View;
use vaquita_plan::node::Plan;
use vaquita_storage::{LockMode, LockPolicy, Transaction};
use vaquita_types::errno::{ER_CANT_REOPEN_TABLE, ER_NO_DB_ERROR, ER_NO_SUCH_TABLE, ER_NONUNIQ_TABLE, ER_TABLE_NOT_LOCKED};
use vaquita_types::schema::{ObjectKind, TableId};
use vaquita_types::{Error, Result};

use super::Session;
use super::execute::Done;
use crate::state::locked_tables::LockedTables;
use crate::table_locks::{Asker, TableName, Wanted};

impl Session {
    pub(super) fn lock_tables(&mut self, locks: &[TableLock]) -> Result<Done> {
        // The global read lock stays.
        if self.locked.is_under() {
            self.unlock_tables()?;
        }
        let mut wanted: Vec<Wanted> = Vec::with_capacity(locks.len());
        let mut temporary: Vec<TableName> = Vec::new();
        for lock in locks {
            let table = self.qualified(&lock.table)?;
            if let Some(tables) = self.tables_of_view(&table)? {
                let write = lock.kind == TableLockKind::Write;
                for table in tables {
                    match wanted.iter_mut().find(|w| w.table == table) {
                        Some(other) => other.write |= write,
                        None => wanted.push(Wanted { table, write, asker: Asker::LockTables }),
                    }
                }
                continue;
            }
            if self.catalog.temporary(&table.0, &table.1).is_some() {
                if temporary.contains(&table) {
                    return Err(Error::new(&ER_CANT_REOPEN_TABLE, &[&table.1]));
                }
                temporary.push(table);
                continue;
            }
            let system = vaquita_exec::system::is_system_database(&table.0);
            if !system && self.server.catalog.table(&table.0, &table.1)?.is_none() {
                return Err(Error::new(&ER_NO_SUCH_TABLE, &[&table.0, &table.1]));
            }
            let write = lock.kind == TableLockKind::Write;
            match wanted.iter_mut().find(|w| w.table == table) {
                Some(other) => other.write |= write,
                None => wanted.push(Wanted { table, write, asker: Asker::LockTables }),
            }
        }
        if wanted.iter().any(|w| w.write) {
            self.refuse_by_read_only()?;
            self.transaction.refuse_in_read_only(&self.env.settings)?;
            self.locked.refuse_under_own_read_lock()?;
        }
        let drains = wanted.iter().map(|w| Ok(self.id_of(&w.table)?.map(|id| (id, w.write))));
        let drains: Vec<_> = drains.collect::<Result<Vec<_>>>()?.into_iter().flatten().collect();
        self.locked.lock(wanted, &drains, temporary.len(), self.env.settings.metadata_lock_wait)?;
        let drained = self.drain();
        if drained.is_err() {
            self.unlock_tables()?;
        }
        drained.map(|()| Done::nothing())
    }

    /// The tables that a view and those in it read: who locks the view locks them. `None`: it is no view.
    fn tables_of_view(&self, name: &TableName) -> Result<Option<Vec<TableName>>> {
        let view = |(database, name): &TableName| -> Result<Option<Vec<TableName>>> {
            if self.catalog.temporary(database, name).is_some() {
                return Ok(None);
            }
            Ok(self.catalog.object(database, ObjectKind::View, name)?.map(|object| View::tables(&object)))
        };
        let Some(mut waiting) = view(name)? else { return Ok(None) };
        let (mut tables, mut seen) = (Vec::new(), vec![name.clone()]);
        while let Some(next) = waiting.pop() {
            if seen.contains(&next) {
                continue;
            }
            match view(&next)? {
                Some(inner) => waiting.extend(inner),
                None if self.server.catalog.table(&next.0, &next.1)?.is_some() => tables.push(next.clone()),
                None => {}
            }
            seen.push(next);
        }
        Ok(Some(tables))
    }

    /// Waits for the transactions that were using the tables before they were locked.
    fn drain(&mut self) -> Result<()> {
        let policy = LockPolicy::Wait(self.env.settings.metadata_lock_wait);
        let txn = self.transaction.storage();
        // In a deadlock with a transaction it is that which fails, as in MySQL.
        txn.spare();
        for Wanted { table, write, .. } in self.locked.tables() {
            let mode = if *write { LockMode::X } else { LockMode::S };
            self.server.catalog.open_table(txn, &table.0, &table.1, mode, policy)?;
        }
        // Before the locks are given back: whoever gets one then finds the tables locked.
        self.locked.drained();
        txn.rollback();
        Ok(())
    }

    /// Error 1066: LOCK TABLES, or FLUSH TABLES WITH READ LOCK, names two tables of a database alike.
    pub(super) fn check_locked_names(&self, ast: &Ast) -> Result<()> {
        let given: Vec<(&Name, Option<&String>)> = match ast {
            Ast::LockTables(locks) => locks.iter().map(|lock| (&lock.table, lock.alias.as_ref())).collect(),
            Ast::Flush(Flush { what: FlushWhat::Tables { with_read_lock: true, tables, .. }, .. }) => {
                tables.iter().map(|table| (table, None)).collect()
            }
            _ => return Ok(()),
        };
        let mut names = HashSet::new();
        for (table, alias) in given {
            let name = alias.unwrap_or(&table.name);
            if !names.insert((self.qualified(table)?.0, name)) {
                return Err(Error::new(&ER_NONUNIQ_TABLE, &[name]));
            }
        }
        Ok(())
    }

    /// The end of LOCK TABLES commits only what ran under it.
    pub(super) fn unlock_tables(&mut self) -> Result<Done> {
        if self.locked.is_under() {
            self.commit_implicitly()?;
        }
        self.locked.release_tables();
        Ok(Done::nothing())
    }

    /// Before a plan runs: its tables must be free, and under LOCK TABLES ours.
    pub(super) fn admit_plan(&self, plan: &Plan) -> Result<()> {
        if self.locked.are_idle() {
            return Ok(());
        }
        let txn = self.transaction.shared().borrow();
        self.locked.admit(&wanted(plan, &txn), txn.table_locks(), self.env.settings.metadata_lock_wait)
    }

    /// Before rows of a log are put into a table: under its own LOCK TABLES the session need not have named it.
    pub(super) fn admit_change(&self, database: &str, table: &str) -> Result<()> {
        if self.locked.are_idle() {
            return Ok(());
        }
        let known = self.catalog.table(database, table)?;
        let txn = self.transaction.shared().borrow();
        let holds = known.and_then(|table| txn.table_lock(table.def.id));
        let wanted = Wanted { table: (database.to_string(), table.to_string()), write: true, asker: Asker::Statement { holds } };
        self.locked.admit_inside(&[wanted], txn.table_locks(), self.env.settings.metadata_lock_wait)
    }

    /// Before DDL runs on tables that exist; temporary ones need no lock. `LockedTables::leave` follows.
    pub(super) fn admit_ddl(&mut self, ast: &Ast) -> Result<()> {
        if self.locked.are_idle() {
            return Ok(());
        }
        let names = tables_of(ast);
        let hidden = !matches!(ast, Ast::RenameTable(_));
        let write = !matches!(ast, Ast::CreateTable(_));
        let asker = match ast {
            Ast::RenameTable(_) | Ast::DropTable { .. } | Ast::Truncate(_) => Asker::Replacer,
            Ast::CreateTable(_) => Asker::NEW,
            _ => Asker::Ddl,
        };
        let mut wanted = Vec::with_capacity(names.len());
        for name in names {
            let table = self.qualified(name)?;
            if !(hidden && self.catalog.temporary(&table.0, &table.1).is_some()) {
                wanted.push(Wanted { table, write, asker });
            }
        }
        let ids = wanted.iter().map(|w| self.id_of(&w.table)).collect::<Result<Vec<_>>>()?;
        let ids: Vec<TableId> = ids.into_iter().flatten().collect();
        self.locked.admit_ddl(&wanted, &ids, self.env.settings.metadata_lock_wait)
    }

    /// Before DDL changes a table.
    pub(super) fn admit_ddl_of(&self, database: &str, name: &str) -> Result<()> {
        if self.locked.are_idle() {
            return Ok(());
        }
        let wanted = Wanted { table: (database.to_string(), name.to_string()), write: true, asker: Asker::Ddl };
        self.locked.admit(&[wanted], &[], self.env.settings.metadata_lock_wait)
    }

    /// Of a table that there is.
    fn id_of(&self, (database, name): &TableName) -> Result<Option<TableId>> {
        Ok(self.server.catalog.table(database, name)?.map(|table| table.def.id))
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

    /// Before DDL or a change of accounts; `LockedTables::end_ddl` follows.
    pub(super) fn enter_ddl(&self, ast: Option<&Ast>) -> Result<()> {
        if let Some(Ast::CreateTable(create)) = ast
            && self.locked.is_under()
        {
            return Err(Error::new(&ER_TABLE_NOT_LOCKED, &[&create.name.name]));
        }
        self.locked.begin_ddl(self.env.settings.metadata_lock_wait)
    }

    /// Behind DDL under LOCK TABLES: renamed tables stay locked, those that are gone are not.
    pub(super) fn follow_locked_tables(&mut self, ast: &Ast) -> Result<()> {
        if !self.locked.is_under() {
            return Ok(());
        }
        let renamed: Vec<(&Name, Option<&Name>)> = match ast {
            Ast::DropTable { names, .. } => names.iter().map(|name| (name, None)).collect(),
            Ast::RenameTable(pairs) => pairs.iter().map(|(from, to)| (from, Some(to))).collect(),
            Ast::AlterTable(alter) => {
                let new = alter.actions.iter().filter_map(|action| match action {
                    AlterAction::RenameTo(to) => Some((&alter.name, Some(to))),
                    _ => None,
                });
                new.collect()
            }
            _ => return Ok(()),
        };
        for (from, to) in renamed {
            let from = self.qualified(from)?;
            if self.server.catalog.table(&from.0, &from.1)?.is_none() {
                let to = to.map(|to| self.qualified(to)).transpose()?;
                self.locked.rename(&from, to);
            }
        }
        Ok(())
    }

    pub(super) fn qualified(&self, name: &Name) -> Result<TableName> {
        let database = name.db.clone().or_else(|| self.env.database()).ok_or_else(|| Error::new(&ER_NO_DB_ERROR, &[]))?;
        Ok((database, name.name.clone()))
    }
}

fn name_of(table: &vaquita_types::schema::TableRef) -> TableName {
    (table.database.clone(), table.name.clone())
}

/// The tables that DDL names and that exist before it.
pub(super) fn tables_of(ast: &Ast) -> Vec<&Name> {
    match ast {
        Ast::AlterTable(alter) => match alter.actions.as_slice() {
            [AlterAction::Partition(PartitionAction::Exchange { table, .. })] => vec![&alter.name, table],
            _ => vec![&alter.name],
        },
        Ast::CreateIndex(create) => vec![&create.table],
        Ast::DropIndex { table, .. } | Ast::Truncate(table) => vec![table],
        Ast::DropTable { names, temporary: false, .. } => names.iter().collect(),
        Ast::RenameTable(pairs) => pairs.iter().map(|(from, _)| from).collect(),
        Ast::CreateTable(create) => create.like.iter().collect(),
        _ => Vec::new(),
    }
}

/// As `Session::admit_plan`, of a plan inside a function or a trigger: under LOCK TABLES it may use what the session has not locked.
pub(super) fn admit_inner_plan(locked: &LockedTables, plan: &Plan, txn: &Transaction, wait: Duration) -> Result<()> {
    if locked.are_idle() { Ok(()) } else { locked.admit_inside(&wanted(plan, txn), txn.table_locks(), wait) }
}

/// `txn`: the transaction that the plan runs in.
fn wanted(plan: &Plan, txn: &Transaction) -> Vec<Wanted> {
    let targets: Vec<TableName> = match plan {
        Plan::Query(query) => query.for_update.iter().map(name_of).collect(),
        Plan::Insert(insert) => vec![name_of(&insert.table)],
        Plan::Update(update) => update.targets.iter().map(|t| name_of(&t.table)).collect(),
        Plan::Delete(delete) => delete.targets.iter().map(|t| name_of(&t.table)).collect(),
    };
    let tables = plan.tables();
    let wanted = tables.iter().filter(|t| !t.indexes.is_empty() && !t.options.temporary);
    let wanted = wanted.map(|table| {
        let name = name_of(table);
        Wanted { write: targets.contains(&name), table: name, asker: Asker::Statement { holds: txn.table_lock(table.id) } }
    });
    wanted.collect()
}
