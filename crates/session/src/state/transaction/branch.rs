//! The branch of a distributed transaction (XA) that the session's transaction is.
//!
//! ```text
//! (none)  -- set_branch -->  ACTIVE  -- end_branch -->  IDLE  -- prepare_branch -->  nobody's
//!                               ^---- resume_branch ----'  `-- commit_branch, rollback_branch -->  (none)
//! ACTIVE or IDLE, rolled back by a deadlock  -- end_branch, XA PREPARE -->  ROLLBACK ONLY  -- rollback_branch -->  (none)
//! ```
//! What a branch is on disk, and who ends one that is nobody's, is `vaquita_storage::xa`'s.

use vaquita_exec::context::XaEvent;
use vaquita_storage::{XaBranch, Xid};
use vaquita_types::errno::{ER_XA_RBDEADLOCK, ER_XAER_NOTA, ER_XAER_RMFAIL};
use vaquita_types::{Error, Result};

use super::SessionTransaction;

pub(super) struct Branch {
    branch: XaBranch,
    state: BranchState,
    /// A deadlock has undone its work.
    lost: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BranchState {
    Active,
    Idle,
    RollbackOnly,
}

impl BranchState {
    fn name(self) -> &'static str {
        match self {
            BranchState::Active => "ACTIVE",
            BranchState::Idle => "IDLE",
            BranchState::RollbackOnly => "ROLLBACK ONLY",
        }
    }
}

fn wrong_state(name: &str) -> Error {
    Error::new(&ER_XAER_RMFAIL, &[&name])
}

/// A part of an id: text, or hexadecimal digits if it is none.
fn shown(part: &[u8]) -> String {
    match std::str::from_utf8(part) {
        Ok(text) if !text.chars().any(char::is_control) => text.to_string(),
        _ => part.iter().fold("0x".to_string(), |text, byte| text + &format!("{byte:02x}")),
    }
}

impl SessionTransaction {
    #[inline]
    pub fn in_branch(&self) -> bool {
        self.branch.is_some()
    }

    /// Before a statement uses tables.
    #[inline]
    pub fn refuse_unless_active(&self) -> Result<()> {
        match &self.branch {
            Some(branch) if branch.state != BranchState::Active => Err(wrong_state(branch.state.name())),
            _ => Ok(()),
        }
    }

    /// Before an implicit commit.
    pub fn refuse_commit_of_branch(&self) -> Result<()> {
        self.branch.as_ref().map_or(Ok(()), |branch| Err(wrong_state(branch.state.name())))
    }

    /// Before a branch that is nobody's is ended, which is done outside of any transaction.
    pub fn refuse_unless_outside(&self) -> Result<()> {
        self.refuse_commit_of_branch()?;
        if self.open { Err(wrong_state("NON-EXISTING")) } else { Ok(()) }
    }

    /// Before XA COMMIT without ONE PHASE: a branch that is not prepared does not commit so.
    pub fn refuse_commit_in_two_phases(&self, xid: &Xid) -> Result<()> {
        self.expect_branch(&[BranchState::Idle], xid)?;
        Err(wrong_state(BranchState::Idle.name()))
    }

    pub fn owns_branch(&self, xid: &Xid) -> bool {
        self.branch.as_ref().is_some_and(|branch| branch.branch.xid == *xid)
    }

    /// Error 1399 unless the branch is in one of `states`, error 1397 if it has another id.
    pub fn expect_branch(&self, states: &[BranchState], xid: &Xid) -> Result<()> {
        match &self.branch {
            None => Err(wrong_state("NON-EXISTING")),
            Some(branch) if !states.contains(&branch.state) => Err(wrong_state(branch.state.name())),
            Some(branch) if branch.branch.xid != *xid => Err(Error::new(&ER_XAER_NOTA, &[])),
            Some(_) => Ok(()),
        }
    }

    /// The transaction that was just started is this branch.
    pub fn set_branch(&mut self, branch: XaBranch) {
        self.branch = Some(Branch { branch, state: BranchState::Active, lost: false });
    }

    /// XA START … RESUME; false if no branch is idle.
    pub fn resume_branch(&mut self, xid: &Xid) -> Result<bool> {
        let Some(branch) = self.branch.as_mut().filter(|branch| branch.state == BranchState::Idle) else { return Ok(false) };
        if branch.branch.xid != *xid {
            return Err(Error::new(&ER_XAER_NOTA, &[]));
        }
        branch.state = BranchState::Active;
        Ok(true)
    }

    pub fn end_branch(&mut self, xid: &Xid) -> Result<()> {
        self.expect_branch(&[BranchState::Active], xid)?;
        let Some(branch) = &mut self.branch else { return Ok(()) };
        if branch.lost {
            branch.state = BranchState::RollbackOnly;
            return Err(Error::new(&ER_XA_RBDEADLOCK, &[]));
        }
        branch.state = BranchState::Idle;
        Ok(())
    }

    /// The branch, as performance_schema tells it.
    pub fn xa_event(&self) -> Option<XaEvent> {
        let branch = self.branch.as_ref()?;
        let (xid, state) = (&branch.branch.xid, if branch.lost { BranchState::RollbackOnly } else { branch.state });
        Some(XaEvent { format_id: xid.format_id, gtrid: shown(&xid.gtrid), bqual: shown(&xid.bqual), state: state.name() })
    }

    /// A deadlock undid the transaction: the branch stays, to be rolled back.
    pub(super) fn lose_branch(&mut self) {
        self.storage().rollback();
        self.savepoints.clear();
        if let Some(branch) = &mut self.branch {
            branch.lost = true;
        }
    }

    /// Leaves the branch prepared, and nobody's. The transaction is over.
    pub fn prepare_branch(&mut self) -> Result<()> {
        match self.branch.take() {
            Some(branch) => self.storage().prepare_xa(branch.branch),
            None => Ok(()),
        }
    }

    /// Commits the branch in one phase; its id is free again afterwards. The transaction is over.
    pub fn commit_branch(&mut self) -> Result<()> {
        let branch = self.branch.take();
        let committed = self.storage().commit_wait();
        drop(branch);
        committed
    }

    /// The transaction is over.
    pub fn rollback_branch(&mut self) {
        self.storage().rollback();
        self.branch = None;
    }
}
