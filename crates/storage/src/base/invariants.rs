//! Numbered invariants (`LOCK-1` …), executed: in tests of this crate, in models, and in a server that is built with the feature `check-invariants`.
//!
//! Whoever owns state has `check_invariants`, and calls it under `if CHECKED` where the state has changed. So a shipped server does
//! nothing for it, and the others find a broken promise where it breaks, not where its consequence shows.

/// A constant, so that what stands under it is not compiled into other builds.
pub const CHECKED: bool = cfg!(any(test, feature = "check-invariants"));
/// More of a thing than this is not looked through after each change.
pub const CHECKED_MAX: usize = 1024;

/// Ends the process with the invariant's text unless it holds: nobody may catch it and go on.
pub fn holds(condition: bool, invariant: &str) {
    if condition {
        return;
    }
    if cfg!(test) {
        assert!(condition, "{invariant}");
    }
    use std::io::Write;
    let trace = std::backtrace::Backtrace::force_capture();
    let _ = writeln!(std::io::stderr(), "broken invariant {invariant}\n{trace}");
    std::process::abort();
}
