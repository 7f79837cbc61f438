//! What every floor may use: primitives of threads, names of kill points, options, hooks of the program around.
//!
//! | file | for |
//! |---|---|
//! | `sync` | mutexes, atomics and sizes that `crates/models` replaces |
//! | `kill_points` | places at which a test ends the process |
//! | `clock` | the clock on the wall |
//! | `hooks` | what the program around the storage lends it: threads, texts of statements, a log |
//! | `invariants` | whether numbered invariants are executed in this build |
//! | `memory` | what memory there is, and how it is shared out |
//! | `options` | what the storage is opened with |
//! | `helpers` | threads that help with one piece of work |
//!
//! It may use `vaquita-types`. It never knows RocksDB, a key, a lock or a transaction.

pub mod clock;
pub mod helpers;
pub mod hooks;
pub mod invariants;
pub mod kill_points;
pub mod memory;
pub mod options;
pub mod sync;
