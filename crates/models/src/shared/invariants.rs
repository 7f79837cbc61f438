//! `storage::base::invariants` for models, which check always.

pub const CHECKED: bool = true;
pub const CHECKED_MAX: usize = 1024;

pub fn holds(condition: bool, invariant: &str) {
    assert!(condition, "broken invariant {invariant}");
}
