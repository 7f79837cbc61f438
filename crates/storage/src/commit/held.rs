//! *publish*: locks are released and waiters completed. Of a commit that others must have, too (`Stages::holds`), later.
//!
//! A commit that waits is durable, its readers of the binary log have it, and `Recent` has its number. Its locks stay, so that nobody changes its
//! rows, nobody is told, and nobody sees it (`visible`). Nothing waits with it: the leader goes on, and whoever learns that others have the commit (`Stages::hold`) ends it on its own thread.
//!
//! KILL CONNECTION, and the end of whoever has hung up, complete the waiter at once, since nobody will read the answer. The locks stay.

use std::sync::{Arc, Weak};

use super::active::ActiveTransactions;
use super::request::{CommitRequest, CommitWaiter};
use super::stages::{GoOn, Held, Stages};
use super::visible::{HiddenId, Visible};
use crate::base::hooks::Threads;
use crate::base::sync::Mutex;
use crate::locks::{EndsWait, LockManager};

/// Ends commits.
#[derive(Clone)]
pub struct Publisher {
    pub locks: Arc<LockManager>,
    pub active: Arc<ActiveTransactions>,
    pub threads: Arc<dyn Threads>,
    pub visible: Arc<Visible>,
}

impl Publisher {
    /// The commit is over for all others.
    pub fn finish(&self, mut request: CommitRequest) {
        if let Some(owner) = &request.owner {
            self.locks.release_all(owner.id, &mut request.held);
            self.active.remove(owner.id);
        }
    }

    /// What waits of a commit that was logged.
    pub fn held(&self, stages: &dyn Stages, request: &CommitRequest, changes_data: bool) -> Held {
        let hidden = self.visible.last();
        match stages.holds() {
            // VISIBLE-2. The wait point has changed, or the log is told nothing.
            Held::Waiters if !request.log.is_empty() && hidden.is_some() => Held::LocksAndWaiters,
            held if !request.log.is_empty() && held != Held::Nothing => held,
            _ if hidden.is_none() => Held::Nothing,
            _ if !stages.waits() => {
                // Whoever has ended the waits is about to show the groups.
                hidden.into_iter().for_each(|id| self.visible.show(id));
                Held::Nothing
            }
            _ if changes_data => Held::LocksAndWaiters,
            _ => Held::Nothing,
        }
    }

    /// Ends these commits when others have them, and what was hidden before them.
    pub fn hold(&self, stages: &dyn Stages, held: Held, commits: Vec<(CommitRequest, CommitWaiter)>) {
        let hidden: Option<HiddenId> = self.visible.last();
        let (mut requests, mut waiters) = (Vec::with_capacity(commits.len()), Vec::with_capacity(commits.len()));
        for (request, waiter) in commits {
            let waiter = Arc::new(HeldWaiter(Mutex::new(Some(waiter))));
            if let Some(interrupt) = request.interrupt() {
                let weak: Weak<HeldWaiter> = Arc::downgrade(&waiter);
                interrupt.waits_with(weak);
            }
            waiters.push(waiter);
            match held {
                Held::LocksAndWaiters => requests.push(request),
                Held::Waiters | Held::Nothing => self.finish(request),
            }
        }
        let (publisher, visible) = (self.clone(), Arc::clone(&self.visible));
        let show = Box::new(move || hidden.into_iter().for_each(|id| visible.show(id)));
        let end = Box::new(move || {
            requests.into_iter().for_each(|request| publisher.finish(request));
            waiters.iter().for_each(|waiter| waiter.complete());
            publisher.threads.group_completed();
        });
        stages.hold(GoOn { show, end });
    }
}

/// The waiter of a commit that is logged: it is told once.
struct HeldWaiter(Mutex<Option<CommitWaiter>>);

impl HeldWaiter {
    fn complete(&self) {
        let waiter = self.0.lock().take();
        if let Some(waiter) = waiter {
            waiter(Ok(()));
        }
    }
}

impl EndsWait for HeldWaiter {
    fn end_wait(&self) {
        self.complete();
    }

    fn waits(&self) -> bool {
        self.0.lock().is_some()
    }
}
