//! `storage::base` for models: primitives that a checker schedules, invariants that are checked, and kill points that nobody dies at. Hooks, options and what follows from the memory are the storage's own.

#[path = "../../../storage/src/base/hooks.rs"]
pub mod hooks;
#[path = "invariants.rs"]
pub mod invariants;
#[path = "kill_points.rs"]
pub mod kill_points;
#[path = "../../../storage/src/base/memory.rs"]
pub mod memory;
#[path = "../../../storage/src/base/options.rs"]
pub mod options;
#[path = "sync.rs"]
pub mod sync;
