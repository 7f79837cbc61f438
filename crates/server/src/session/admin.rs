//! Statements that are no plans: transactions, SET, SHOW, DDL, KILL ….

use std::cell::RefCell;

use vaquita_parser::Statement as Ast;
use vaquita_storage::DdlContext;
use vaquita_types::errno::{ER_NO_SUCH_THREAD, ER_SP_DOES_NOT_EXIST};
use vaquita_types::{Error, Result};

use super::run::Done;
use super::{Flow, MakeWaiter, Session};
use crate::connection::Output;

impl Session {
    pub(super) fn admin(&mut self, ast: &Ast, rest: &[u8], out: &mut Output<'_>, park: MakeWaiter<'_>) -> Flow {
        let done = match ast {
            Ast::Commit(_) => return self.commit_then(Done::nothing(), rest, out, park),
            Ast::Rollback(_) => {
                self.rollback_transaction();
                Ok(Done::nothing())
            }
            Ast::StartTransaction { consistent_snapshot, .. } => self.start_transaction(*consistent_snapshot),
            Ast::Savepoint(name) => self.savepoint(name),
            Ast::RollbackTo(name) => self.rollback_to(name),
            Ast::ReleaseSavepoint(name) => self.release_savepoint(name),
            Ast::Use(name) => self.use_database(name).map(|()| Done::nothing()),
            Ast::Show(_) | Ast::Describe { .. } => self.show(ast, false, !rest.is_empty(), out),
            other => self.ddl(other).unwrap_or_else(|| Err(Error::unsupported(format_args!("{other:?}")))),
        };
        match done {
            Ok(done) => self.answer_done(&done, !rest.is_empty(), out),
            Err(error) => self.error(&error, out),
        }
        Flow::Next
    }

    /// DDL commits what is open, then runs by itself. `None`: the statement is no DDL.
    fn ddl(&mut self, ast: &Ast) -> Option<Result<Done>> {
        if !vaquita_exec::ddl::is_ddl(ast) {
            return None;
        }
        if let Err(error) = self.commit_implicitly() {
            return Some(Err(error));
        }
        let database = self.state.database();
        let ddl = vaquita_exec::ddl::Ddl {
            catalog: &self.server.catalog,
            session: &self.state,
            database: database.as_deref(),
            context: DdlContext { wait: self.state.metadata_lock_wait(), interrupt: self.client.interrupt.clone() },
        };
        let done = ddl.run(ast)?.map(Done::affected);
        if let Ast::DropDatabase { name, .. } = ast
            && database.as_deref() == Some(name)
            && done.is_ok()
        {
            self.state.set_database(None, None);
        }
        Some(done)
    }

    pub(super) fn commit_implicitly(&mut self) -> Result<()> {
        self.in_transaction = false;
        self.savepoints.clear();
        self.txn.get_mut().commit_wait()
    }

    fn start_transaction(&mut self, consistent_snapshot: bool) -> Result<Done> {
        if self.in_transaction {
            self.commit_implicitly()?;
        }
        let options = vaquita_storage::TxnOptions { autocommit: false, ..self.state.txn_options(&self.client) };
        self.txn = RefCell::new(self.server.engine.begin(options));
        if consistent_snapshot {
            self.txn.get_mut().take_snapshot();
        }
        self.in_transaction = true;
        self.state.note_txn_options_used();
        Ok(Done::nothing())
    }

    fn savepoint(&mut self, name: &str) -> Result<Done> {
        if self.in_transaction {
            self.savepoints.retain(|(n, _)| !n.eq_ignore_ascii_case(name));
            let mark = self.txn.get_mut().mark();
            self.savepoints.push((name.to_string(), mark));
        }
        Ok(Done::nothing())
    }

    fn find_savepoint(&self, name: &str) -> Result<usize> {
        let found = self.savepoints.iter().rposition(|(n, _)| n.eq_ignore_ascii_case(name));
        found.ok_or_else(|| Error::new(&ER_SP_DOES_NOT_EXIST, &[&"SAVEPOINT", &name]))
    }

    fn rollback_to(&mut self, name: &str) -> Result<Done> {
        let at = self.find_savepoint(name)?;
        let mark = self.savepoints[at].1;
        self.txn.get_mut().rollback_to(&mark);
        self.savepoints.truncate(at + 1);
        Ok(Done::nothing())
    }

    fn release_savepoint(&mut self, name: &str) -> Result<Done> {
        let at = self.find_savepoint(name)?;
        self.savepoints.truncate(at);
        Ok(Done::nothing())
    }

    pub(super) fn kill(&mut self, id: u64, query_only: bool) -> Result<()> {
        let target = self.server.clients().get(id).ok_or_else(|| Error::new(&ER_NO_SUCH_THREAD, &[&id]))?;
        target.kill(!query_only);
        Ok(())
    }

    pub(super) fn field_list(&mut self, table: &[u8], _wildcard: &[u8], out: &mut Output<'_>) {
        let name = String::from_utf8_lossy(table);
        self.error(&Error::unsupported(format_args!("COM_FIELD_LIST of {name}")), out);
    }
}
