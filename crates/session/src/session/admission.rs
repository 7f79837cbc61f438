//! Whether the state of a session and its server lets a statement run, as far as its kind decides (`vaquita_parser::statement_kind`), and the
//! implicit commit before it. What depends on the tables that it uses is `lock_tables`' and storage's.

use vaquita_parser::StatementKind;
use vaquita_parser::statement_kind::{InXa, UnderLockTables};
use vaquita_plan::node::Plan;
use vaquita_types::errno::{ER_LOCK_OR_ACTIVE_TRANSACTION, ER_OPTION_PREVENTS_STATEMENT, ER_TABLE_NOT_LOCKED, ER_XA_TEMP_TABLE};
use vaquita_types::{Error, Result};

use super::Session;
use crate::server::Server;
use crate::state::access::SessionAccess;
use crate::variables::Var;

impl Session {
    /// Asked of every statement that is no plan, in MySQL's order, before it does anything.
    pub(super) fn admit_kind(&mut self, kind: StatementKind) -> Result<()> {
        let facts = kind.facts();
        if facts.refused_by_read_only {
            self.refuse_by_read_only()?;
        }
        match facts.in_xa {
            InXa::Allowed => {}
            InXa::WhileActive => self.transaction.refuse_unless_active()?,
            InXa::Refused => self.transaction.refuse_commit_of_branch()?,
            InXa::RefusedAsTemporary if self.transaction.in_branch() => return Err(Error::new(&ER_XA_TEMP_TABLE, &[])),
            InXa::RefusedAsTemporary => {}
        }
        if facts.commits {
            self.commit_implicitly()?;
        }
        // Of the transaction that would be the statement's, if it has ended the open one.
        if facts.refused_in_read_only {
            self.transaction.refuse_in_read_only(&self.env.settings)?;
        }
        match facts.under_lock_tables {
            UnderLockTables::Refused if self.locked.is_under() => Err(Error::new(&ER_LOCK_OR_ACTIVE_TRANSACTION, &[])),
            UnderLockTables::SystemTable(table) if self.locked.is_under() => Err(Error::new(&ER_TABLE_NOT_LOCKED, &[&table])),
            _ => Ok(()),
        }
    }

    /// Asked of every plan that uses tables.
    #[inline]
    pub(super) fn admit_tables(&self, plan: &Plan) -> Result<()> {
        // Temporary tables may be changed in a read-only server.
        if self.server.globals.is_on(Var::ReadOnly) && locks_shared_tables(plan) {
            self.refuse_by_read_only()?;
        }
        if locks_shared_tables(plan) {
            self.transaction.refuse_in_read_only(&self.env.settings)?;
        }
        self.transaction.refuse_unless_active()?;
        // They are the session's, and the branch is not once it is prepared.
        if self.transaction.in_branch() && plan.tables().iter().any(|table| table.options.temporary) {
            return Err(Error::new(&ER_XA_TEMP_TABLE, &[]));
        }
        self.admit_plan(plan)
    }

    /// The same for EXPLAIN and LOAD DATA.
    pub(super) fn admit_at_once(&self, plan: &Plan) -> Result<()> {
        if plan.tables().is_empty() {
            return Ok(());
        }
        self.admit_tables(plan)
    }

    pub(super) fn refuse_by_read_only(&self) -> Result<()> {
        refuse_by_read_only(&self.server, &self.access)
    }
}

/// `super_read_only` is for every account, `read_only` not for those who administer the server.
pub(super) fn refuse_by_read_only(server: &Server, access: &SessionAccess) -> Result<()> {
    if access.is_servers_own() {
        return Ok(());
    }
    let option = match (server.globals.is_on(Var::SuperReadOnly), server.globals.is_on(Var::ReadOnly)) {
        (true, _) => "--super-read-only",
        (false, true) if !access.administers() => "--read-only",
        _ => return Ok(()),
    };
    Err(Error::new(&ER_OPTION_PREVENTS_STATEMENT, &[&option]))
}

/// Changes them, or reads them as if to change them.
fn locks_shared_tables(plan: &Plan) -> bool {
    match plan {
        Plan::Query(query) => query.for_update.iter().any(|table| !table.options.temporary),
        Plan::Insert(insert) => !insert.table.options.temporary,
        Plan::Update(update) => update.targets.iter().any(|target| !target.table.options.temporary),
        Plan::Delete(delete) => delete.targets.iter().any(|target| !target.table.options.temporary),
    }
}
