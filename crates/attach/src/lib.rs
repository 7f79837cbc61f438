//! `vaquita attach`, `promote` and `demote`: makes a replica of a running MySQL, MariaDB or Vaquita, and switches over.
//!
//! Each is a client of both servers and knows neither's inside: what it does can be done by hand with statements.
//!
//! | module | what it does |
//! |---|---|
//! | `client` | statements and rows; `server`: which server it is |
//! | `table_text` | what is printed |
//! | `checks` | can this source be followed by this server |
//! | `definitions` | databases, tables, views, programs, as the source has them |
//! | `place` | where the copy stands in the source's log (COPY-n) |
//! | `keys` | tables in pieces of their primary key |
//! | `copy` | rows, by several workers |
//! | `state` | what a copy that was interrupted goes on from |
//! | `channel` | the replication channel |
//! | `verify` | checksums of both, piece by piece |
//! | `attach`, `promote` | the order of all this |
//! | `bring_back` | tables of a restored server, into a running one |
//!
//! Why the copy is consistent is said in `place` and, at length, in docs/decisions/replication.md.

#![forbid(unsafe_code)]

mod accounts;
mod attach;
mod bring_back;
mod channel;
mod checks;
mod client;
mod copy;
mod definitions;
mod keys;
mod place;
mod promote;
mod server;
mod state;
mod table_text;
mod verify;

pub use attach::{AttachOptions, attach};
pub use bring_back::{BringBack, bring_back};
pub use promote::{DemoteOptions, PromoteOptions, demote, promote};

pub type Failure = Box<dyn std::error::Error + Send + Sync>;
pub type Result<T> = std::result::Result<T, Failure>;
