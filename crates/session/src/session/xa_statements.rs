//! The statements of XA. The branch of the session is `state::transaction`'s; prepared branches, which any session may end, are
//! `vaquita_storage::xa`'s.

use vaquita_exec::context::TransactionState;
use vaquita_exec::ddl::text_column;
use vaquita_parser::ast::{self, Xa};
use vaquita_plan::expr::Expr;
use vaquita_plan::node::OutputColumn;
use vaquita_storage::{LogBuffer, XID_PART_BYTES_MAX, Xid};
use vaquita_types::errno::{ER_XAER_INVAL, ER_XAER_OUTSIDE};
use vaquita_types::{ColumnType, Error, Result, Value};

use super::Session;
use super::exchange::Exchange;
use super::execute::Done;
use crate::state::transaction::BranchState;

impl Session {
    pub(super) fn xa(&mut self, xa: &Xa, exchange: &mut Exchange<'_>) -> Result<Done> {
        match xa {
            Xa::Start { xid, join, resume } => self.xa_start(&xid_of(xid)?, *join, *resume),
            Xa::End { suspend: true, .. } => Err(Error::new(&ER_XAER_INVAL, &[])),
            Xa::End { xid, .. } => self.transaction.end_branch(&xid_of(xid)?).map(|()| Done::nothing()),
            Xa::Prepare(xid) => self.xa_prepare(&xid_of(xid)?),
            Xa::Commit { xid, one_phase } => self.xa_commit(&xid_of(xid)?, *one_phase),
            Xa::Rollback(xid) => self.xa_rollback(&xid_of(xid)?),
            Xa::Recover { convert_xid } => {
                let (columns, rows) = self.xa_recover(*convert_xid);
                self.put_rows(&columns, &rows, exchange)
            }
        }
    }

    fn xa_start(&mut self, xid: &Xid, join: bool, resume: bool) -> Result<Done> {
        if resume && self.transaction.resume_branch(xid)? {
            return Ok(Done::nothing());
        }
        if join || resume {
            return Err(Error::new(&ER_XAER_INVAL, &[]));
        }
        self.transaction.refuse_commit_of_branch()?;
        if self.transaction.is_open() || self.locked.is_under() {
            return Err(Error::new(&ER_XAER_OUTSIDE, &[]));
        }
        let branch = self.server.engine.xa_begin(xid.clone())?;
        let done = self.start_transaction(false, None)?;
        self.transaction.set_branch(branch);
        Ok(done)
    }

    fn xa_prepare(&mut self, xid: &Xid) -> Result<Done> {
        self.transaction.expect_branch(&[BranchState::Idle], xid)?;
        self.wait_for_commits()?;
        self.tell_branch(xid, false)?;
        let note = self.ending_transaction(TransactionState::Committed);
        let prepared = self.transaction.prepare_branch();
        self.transaction_over(note);
        prepared.map(|()| Done::nothing())
    }

    fn xa_commit(&mut self, xid: &Xid, one_phase: bool) -> Result<Done> {
        if !self.transaction.owns_branch(xid) {
            return self.end_prepared(xid, true);
        }
        if !one_phase {
            self.transaction.refuse_commit_in_two_phases(xid)?;
        }
        self.transaction.expect_branch(&[BranchState::Idle], xid)?;
        self.wait_for_commits()?;
        self.tell_branch(xid, true)?;
        let note = self.ending_transaction(TransactionState::Committed);
        let committed = match self.admit_commit() {
            Ok(()) => self.transaction.commit_branch(),
            Err(refused) => {
                self.transaction.rollback_branch();
                Err(refused)
            }
        };
        self.transaction_over(note);
        self.client.end_commit();
        committed.map(|()| Done::nothing())
    }

    fn xa_rollback(&mut self, xid: &Xid) -> Result<Done> {
        if !self.transaction.owns_branch(xid) {
            return self.end_prepared(xid, false);
        }
        self.transaction.expect_branch(&[BranchState::Idle, BranchState::RollbackOnly], xid)?;
        let note = self.ending_transaction(TransactionState::RolledBack);
        self.transaction.rollback_branch();
        self.transaction_over(note);
        Ok(Done::nothing())
    }

    /// Of a branch that is nobody's, from outside any transaction.
    fn end_prepared(&mut self, xid: &Xid, commit: bool) -> Result<Done> {
        self.transaction.refuse_unless_outside()?;
        self.locked.admit_commit(self.env.settings.metadata_lock_wait)?;
        // A log that has not the branch cannot have its end.
        let told = match self.server.engine.xa_is_told(xid) {
            true => self.told_of_prepared(xid, commit)?,
            false => LogBuffer::default(),
        };
        let ended = self.server.engine.xa_end(xid, commit, &told);
        self.client.end_commit();
        ended.map(|()| Done::nothing())
    }

    fn xa_recover(&self, convert_xid: bool) -> (Vec<OutputColumn>, Vec<Vec<Value>>) {
        let number = |name: &str, slot| OutputColumn {
            expr: Expr::slot(slot, ColumnType::bigint(), false),
            name: name.to_string(),
            origin: None,
        };
        let columns = vec![
            number("formatID", 0),
            number("gtrid_length", 1),
            number("bqual_length", 2),
            text_column("data", (XID_PART_BYTES_MAX * 4 + 2) as u32, false),
        ];
        let row = |xid: Xid| {
            let data = [&xid.gtrid[..], &xid.bqual[..]].concat();
            let shown = match convert_xid {
                true => data.iter().fold("0x".to_string(), |text, byte| format!("{text}{byte:02X}")).into_bytes(),
                false => data,
            };
            vec![
                Value::Int(xid.format_id as i64),
                Value::Int(xid.gtrid.len() as i64),
                Value::Int(xid.bqual.len() as i64),
                Value::Bytes(shown.into()),
            ]
        };
        (columns, self.server.engine.xa_prepared().into_iter().map(row).collect())
    }
}

/// Ids that are too long are refused by the parser already.
fn xid_of(xid: &ast::Xid) -> Result<Xid> {
    if xid.gtrid.len() > XID_PART_BYTES_MAX || xid.bqual.len() > XID_PART_BYTES_MAX {
        return Err(Error::new(&ER_XAER_INVAL, &[]));
    }
    Ok(Xid { format_id: xid.format_id, gtrid: xid.gtrid.clone(), bqual: xid.bqual.clone() })
}
