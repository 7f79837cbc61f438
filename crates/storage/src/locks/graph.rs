//! The waits-for graph: who waits for whom now, and which waits can never end.
//!
//! From each waiting owner every owner that must go first is reached: holders of a conflicting
//! lock and conflicting requests ahead in the queue. Whoever changes a queue puts the edges of
//! its remaining waiters right, so that a cycle found is a deadlock, not a memory of one.
//! Detection runs when a wait begins, from the new waiter, and when edges change, from the waiters whose edges did: a
//! victim leaves the graph before it leaves its queue, and a wait that began in between saw no cycle.
//! Example: 1 → 2 exists and 2 starts to wait for 1. The cycle is {2, 1}; the one that wrote
//! less is the victim, and between equals the one that closed the cycle.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::SystemTime;

use super::manager::Owner;
use super::{LockMode, LockTarget};
use crate::base::hooks::Statements;
use crate::base::sync::Mutex;

/// Deadlocks that are remembered, and what is kept of each statement in them.
const DEADLOCKS_KEPT: usize = 32;
const STATEMENT_BYTES_MAX: usize = 4 << 10;

pub struct WaitGraph {
    state: Mutex<State>,
}

struct State {
    statements: Arc<dyn Statements>,
    waits: HashMap<u64, Wait>,
    /// The last ones, the oldest first.
    kept: VecDeque<Arc<Deadlock>>,
    deadlocks: u64,
}

struct Wait {
    owner: Arc<Owner>,
    blockers: Vec<u64>,
    wants: Wanted,
}

/// What a waiter asked for.
pub struct Wanted {
    pub target: LockTarget,
    pub mode: LockMode,
}

/// A deadlock that was broken, as it was when it was found.
#[derive(Clone, Debug)]
pub struct Deadlock {
    /// Counts those since start, from 1 on.
    pub number: u64,
    pub at: SystemTime,
    /// Each waits for the next one, the last for the first. The first one's wait closed the cycle.
    pub members: Vec<DeadlockMember>,
    /// The transaction whose wait was ended.
    pub victim: u64,
}

#[derive(Clone, Debug)]
pub struct DeadlockMember {
    pub txn: u64,
    pub session_id: u64,
    /// What its session was running, or its beginning.
    pub statement: Option<String>,
    pub rows_locked: u64,
    pub rows_modified: u64,
    /// What it waited for; the next member holds it, or asked for it before.
    pub target: LockTarget,
    pub mode: LockMode,
}

/// What the beginning of a wait found.
#[derive(Debug, PartialEq, Eq)]
pub enum Detected {
    Nothing,
    /// The new waiter is the victim; it is not in the graph.
    Victim,
}

impl WaitGraph {
    pub fn new(statements: Arc<dyn Statements>) -> WaitGraph {
        let state = State { statements, waits: HashMap::new(), kept: VecDeque::new(), deadlocks: 0 };
        WaitGraph { state: Mutex::new(state) }
    }

    /// Adds a wait and breaks every deadlock it closes.
    pub fn begin(&self, owner: &Arc<Owner>, wants: Wanted, blockers: Vec<u64>) -> Detected {
        let mut state = self.state.lock();
        state.waits.insert(owner.id, Wait { owner: Arc::clone(owner), blockers, wants });
        while let Some(cycle) = state.find_cycle(owner.id) {
            let victim = state.choose_victim(&cycle);
            if victim.id == owner.id {
                state.report(&cycle, victim.id);
                state.waits.remove(&victim.id);
                return Detected::Victim;
            }
            state.break_cycle(&cycle);
        }
        Detected::Nothing
    }

    /// The queue of these waiters changed. Waiters that are gone are ignored.
    pub fn update(&self, edges: impl Iterator<Item = (u64, Vec<u64>)>) {
        let mut edges = edges.peekable();
        if edges.peek().is_none() {
            return;
        }
        let mut state = self.state.lock();
        let mut changed = Vec::new();
        for (waiter, blockers) in edges {
            if let Some(wait) = state.waits.get_mut(&waiter) {
                wait.blockers = blockers;
                changed.push(waiter);
            }
        }
        for waiter in changed {
            while state.waits.contains_key(&waiter)
                && let Some(cycle) = state.find_cycle(waiter)
            {
                state.break_cycle(&cycle);
            }
        }
    }

    pub fn end(&self, waiter: u64) {
        self.state.lock().waits.remove(&waiter);
    }

    pub fn waiting_now(&self) -> usize {
        self.state.lock().waits.len()
    }

    pub fn deadlocks(&self) -> u64 {
        self.state.lock().deadlocks
    }

    pub fn latest_deadlock(&self) -> Option<Arc<Deadlock>> {
        self.state.lock().kept.back().cloned()
    }

    /// The oldest first.
    pub fn last_deadlocks(&self) -> Vec<Arc<Deadlock>> {
        self.state.lock().kept.iter().cloned().collect()
    }
}

impl State {
    /// The owners on a cycle through `start`, `start` first.
    fn find_cycle(&self, start: u64) -> Option<Vec<u64>> {
        let mut path = vec![(start, 0)];
        let mut seen = std::collections::HashSet::from([start]);
        while let Some((node, next)) = path.last_mut() {
            let edge = self.waits.get(node).and_then(|w| w.blockers.get(*next)).copied();
            *next += 1;
            match edge {
                None => {
                    path.pop();
                }
                Some(to) if to == start => return Some(path.into_iter().map(|(node, _)| node).collect()),
                Some(to) => {
                    if seen.insert(to) {
                        path.push((to, 0));
                    }
                }
            }
        }
        None
    }

    /// The one of the cycle (whose first member closed it) with the fewest writes, DDL only if there is nobody else.
    fn choose_victim(&self, cycle: &[u64]) -> Arc<Owner> {
        let owners = cycle.iter().filter_map(|id| self.waits.get(id)).map(|w| &w.owner);
        let victim = owners.min_by_key(|owner| owner.weight());
        Arc::clone(victim.expect("the members of a cycle wait"))
    }

    /// Ends the wait of the victim.
    fn break_cycle(&mut self, cycle: &[u64]) {
        let victim = self.choose_victim(cycle);
        self.report(cycle, victim.id);
        self.waits.remove(&victim.id);
        victim.abort_wait();
    }

    fn report(&mut self, cycle: &[u64], victim: u64) {
        let member = |wait: &Wait| DeadlockMember {
            txn: wait.owner.id,
            session_id: wait.owner.interrupt.session_id,
            statement: self.statements.statement(wait.owner.interrupt.session_id).map(shortened),
            rows_locked: wait.owner.rows_locked(),
            rows_modified: wait.owner.rows_modified(),
            target: wait.wants.target.clone(),
            mode: wait.wants.mode,
        };
        let members = cycle.iter().filter_map(|id| self.waits.get(id)).map(member).collect();
        self.deadlocks += 1;
        if self.kept.len() >= DEADLOCKS_KEPT {
            self.kept.pop_front();
        }
        self.kept.push_back(Arc::new(Deadlock { number: self.deadlocks, at: SystemTime::now(), members, victim }));
    }
}

fn shortened(mut statement: String) -> String {
    if statement.len() > STATEMENT_BYTES_MAX {
        statement.truncate(statement.floor_char_boundary(STATEMENT_BYTES_MAX));
        statement.push_str("...");
        statement.shrink_to_fit();
    }
    statement
}
