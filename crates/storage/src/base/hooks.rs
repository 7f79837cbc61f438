//! What the program around the storage lends it.

use std::io::Write;

/// What the server plugs into the engine.
pub trait EngineHooks: Send + Sync {
    /// Runs `wait`, which will block this thread, so that a thread pool can wake another.
    fn blocking(&self, wait: &mut dyn FnMut()) {
        wait()
    }

    /// The waiters of a group of commits have been called. Waking whoever continues them is left for
    /// here: a thread woken between two calls would take the committer's core before the next.
    fn group_completed(&self) {}

    /// The text of the statement that a session runs, for reports.
    fn statement(&self, _session_id: u64) -> Option<String> {
        None
    }

    /// Something the operator should read.
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

/// Hooks of a program that has no thread pool.
pub struct NoHooks;

impl EngineHooks for NoHooks {}
