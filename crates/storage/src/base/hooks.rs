//! What the program around the storage lends it, by what it is for: threads, texts of statements, a log.
//!
//! Each part of the storage is given the hooks that it needs: the lock manager blocks threads and names statements, the commit
//! pipeline blocks and wakes threads and may have to say why the process ends, the housekeeper only writes into the log.

use std::io::Write;
use std::sync::Arc;

/// The thread pool.
pub trait Threads: Send + Sync {
    /// Runs `wait`, which will block this thread, so that a thread pool can wake another.
    fn blocking(&self, wait: &mut dyn FnMut()) {
        wait()
    }

    /// The waiters of a group of commits have been called. Waking whoever continues them is left for
    /// here: a thread woken between two calls would take the committer's core before the next.
    fn group_completed(&self) {}
}

/// The sessions, for reports.
pub trait Statements: Send + Sync {
    /// The text of the statement that a session runs.
    fn statement(&self, _session_id: u64) -> Option<String> {
        None
    }
}

/// What the operator should read.
pub trait OperatorLog: Send + Sync {
    fn log(&self, level: LogLevel, text: &str) {
        let _ = writeln!(std::io::stderr(), "[{level:?}] {text}");
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogLevel {
    Note,
    Warning,
    Error,
}

/// All of them, as an engine is opened with. The default is a program's that has neither a thread pool nor sessions.
#[derive(Clone)]
pub struct EngineHooks {
    pub threads: Arc<dyn Threads>,
    pub statements: Arc<dyn Statements>,
    pub operator_log: Arc<dyn OperatorLog>,
}

impl EngineHooks {
    /// Those of a program in which one thing is all of them.
    pub fn of<T: Threads + Statements + OperatorLog + 'static>(all: Arc<T>) -> EngineHooks {
        EngineHooks { threads: all.clone(), statements: all.clone(), operator_log: all }
    }

    pub fn log(&self, level: LogLevel, text: &str) {
        self.operator_log.log(level, text);
    }
}

impl Default for EngineHooks {
    fn default() -> EngineHooks {
        EngineHooks::of(Arc::new(NoHooks))
    }
}

struct NoHooks;

impl Threads for NoHooks {}
impl Statements for NoHooks {}
impl OperatorLog for NoHooks {}
