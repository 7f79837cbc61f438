//! XA: the branch of a distributed transaction that this session works in, and how any session ends a prepared one.
//!
//! ```text
//! (none)  -- XA START -->  ACTIVE  -- XA END -->  IDLE  -- XA PREPARE -->  nobody's, until XA COMMIT or XA ROLLBACK
//!                             ^- XA START … RESUME -'  `-- XA COMMIT … ONE PHASE, XA ROLLBACK -->  (none)
//! ACTIVE or IDLE, rolled back by a deadlock  -- XA END, XA PREPARE -->  ROLLBACK ONLY  -- XA ROLLBACK -->  (none)
//! ```
//!
//! What a branch is on disk is `vaquita_storage::xa`'s.

use vaquita_exec::ddl::text_column;
use vaquita_parser::ast::{self, Xa};
use vaquita_plan::expr::Expr;
use vaquita_plan::node::OutputColumn;
use vaquita_storage::{XID_PART_BYTES_MAX, XaBranch, Xid};
use vaquita_types::errno::{ER_XA_RBDEADLOCK, ER_XAER_INVAL, ER_XAER_NOTA, ER_XAER_OUTSIDE, ER_XAER_RMFAIL};
use vaquita_types::{ColumnType, Error, Result, Value};

use super::Session;
use super::answer::Exchange;
use super::run::Done;

pub struct Branch {
    branch: XaBranch,
    state: State,
    /// A deadlock has undone its work.
    lost: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Active,
    Idle,
    RollbackOnly,
}

impl State {
    fn name(self) -> &'static str {
        match self {
            State::Active => "ACTIVE",
            State::Idle => "IDLE",
            State::RollbackOnly => "ROLLBACK ONLY",
        }
    }
}

fn wrong_state(name: &str) -> Error {
    Error::new(&ER_XAER_RMFAIL, &[&name])
}

impl Session {
    pub(super) fn xa(&mut self, xa: &Xa, exchange: &mut Exchange<'_>) -> Result<Done> {
        match xa {
            Xa::Start { xid, join, resume } => self.xa_start(&xid_of(xid)?, *join, *resume),
            Xa::End { suspend: true, .. } => Err(Error::new(&ER_XAER_INVAL, &[])),
            Xa::End { xid, .. } => self.xa_end(&xid_of(xid)?),
            Xa::Prepare(xid) => self.xa_prepare(&xid_of(xid)?),
            Xa::Commit { xid, one_phase } => self.xa_commit(&xid_of(xid)?, *one_phase),
            Xa::Rollback(xid) => self.xa_rollback(&xid_of(xid)?),
            Xa::Recover { convert_xid } => {
                let (columns, rows) = self.xa_recover(*convert_xid);
                self.put_rows(&columns, &rows, exchange)
            }
        }
    }

    /// Before a statement uses tables.
    pub(super) fn refuse_unless_active(&self) -> Result<()> {
        match &self.xa_branch {
            Some(branch) if branch.state != State::Active => Err(wrong_state(branch.state.name())),
            _ => Ok(()),
        }
    }

    /// Before an implicit commit.
    pub(super) fn refuse_commit_of_branch(&self) -> Result<()> {
        self.xa_branch.as_ref().map_or(Ok(()), |branch| Err(wrong_state(branch.state.name())))
    }

    pub(super) fn in_branch(&self) -> bool {
        self.xa_branch.is_some()
    }

    /// A deadlock undid the transaction: the branch stays, to be rolled back.
    pub(super) fn branch_is_lost(&mut self) {
        self.txn.get_mut().rollback();
        self.savepoints.clear();
        if let Some(branch) = &mut self.xa_branch {
            branch.lost = true;
        }
    }

    fn xa_start(&mut self, xid: &Xid, join: bool, resume: bool) -> Result<Done> {
        if let Some(branch) = self.xa_branch.as_mut().filter(|branch| resume && branch.state == State::Idle) {
            if branch.branch.xid != *xid {
                return Err(Error::new(&ER_XAER_NOTA, &[]));
            }
            branch.state = State::Active;
            return Ok(Done::nothing());
        }
        if join || resume {
            return Err(Error::new(&ER_XAER_INVAL, &[]));
        }
        self.refuse_commit_of_branch()?;
        if self.in_transaction || self.is_under_lock_tables() {
            return Err(Error::new(&ER_XAER_OUTSIDE, &[]));
        }
        let branch = self.server.engine.xa_begin(xid.clone())?;
        let done = self.start_transaction(false, None)?;
        self.xa_branch = Some(Branch { branch, state: State::Active, lost: false });
        Ok(done)
    }

    fn xa_end(&mut self, xid: &Xid) -> Result<Done> {
        let branch = self.branch_in(&[State::Active], xid)?;
        if branch.lost {
            branch.state = State::RollbackOnly;
            return Err(Error::new(&ER_XA_RBDEADLOCK, &[]));
        }
        branch.state = State::Idle;
        Ok(Done::nothing())
    }

    /// The branch of this session, in one of `states` and with this id.
    fn branch_in(&mut self, states: &[State], xid: &Xid) -> Result<&mut Branch> {
        let Some(branch) = &mut self.xa_branch else { return Err(wrong_state("NON-EXISTING")) };
        if !states.contains(&branch.state) {
            return Err(wrong_state(branch.state.name()));
        }
        if branch.branch.xid != *xid {
            return Err(Error::new(&ER_XAER_NOTA, &[]));
        }
        Ok(branch)
    }

    fn xa_prepare(&mut self, xid: &Xid) -> Result<Done> {
        self.branch_in(&[State::Idle], xid)?;
        self.wait_for_commits()?;
        let Some(branch) = self.xa_branch.take() else { return Ok(Done::nothing()) };
        let prepared = self.txn.get_mut().prepare_xa(branch.branch);
        self.transaction_over();
        prepared.map(|()| Done::nothing())
    }

    fn xa_commit(&mut self, xid: &Xid, one_phase: bool) -> Result<Done> {
        if !self.owns(xid) {
            return self.end_prepared(xid, true);
        }
        let branch = self.branch_in(&[State::Idle], xid)?;
        if !one_phase {
            let name = branch.state.name();
            return Err(wrong_state(name));
        }
        self.wait_for_commits()?;
        let branch = self.xa_branch.take();
        let committed = self.txn.get_mut().commit_wait();
        drop(branch);
        self.transaction_over();
        committed.map(|()| Done::nothing())
    }

    fn xa_rollback(&mut self, xid: &Xid) -> Result<Done> {
        if !self.owns(xid) {
            return self.end_prepared(xid, false);
        }
        self.branch_in(&[State::Idle, State::RollbackOnly], xid)?;
        self.txn.get_mut().rollback();
        self.xa_branch = None;
        self.transaction_over();
        Ok(Done::nothing())
    }

    fn owns(&self, xid: &Xid) -> bool {
        self.xa_branch.as_ref().is_some_and(|branch| branch.branch.xid == *xid)
    }

    /// Of a branch that is nobody's, from outside any transaction.
    fn end_prepared(&mut self, xid: &Xid, commit: bool) -> Result<Done> {
        self.refuse_commit_of_branch()?;
        if self.in_transaction {
            return Err(wrong_state("NON-EXISTING"));
        }
        self.admit_commit()?;
        self.server.engine.xa_end(xid, commit).map(|()| Done::nothing())
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
