//! `vaquita bench replay`: a recorded workload is run against one server or two, and their answers' times are compared.
//!
//! | file | for |
//! |---|---|
//! | `recorded` | what was recorded: sessions and their statements, with their times |
//! | `logs` | which kind of log a file is |
//! | `general` | general logs of MySQL, MariaDB and Vaquita |
//! | `slow` | their slow query logs |
//! | `when` | the times in these logs |
//! | `play` | a thread for each session, which runs its statements in their order |
//! | `report` | what came of it, by statement digest |
//!
//! It is a client like any other: whatever speaks MySQL's protocol can be replayed against.

mod general;
mod logs;
mod play;
mod recorded;
mod report;
mod slow;
mod when;

pub use logs::read;
pub use play::{Played, Speed, play};
pub use recorded::Recording;
pub use report::report;
