//! `vaquita backup`, `restore`, `verify`, `backups`, `branch` and `clone`: copies of a running server's data, and how they come back.
//!
//! A *place* has the backups of any number of servers. What never changes (RocksDB's sorted files) is there once, however many backups have it, so
//! that a backup costs what has changed since the one before:
//!
//! | in the place | what it is |
//! |---|---|
//! | `files/UUID/NAME-MARK` | a sorted file of the server with this UUID |
//! | `sent/files/…` | the SHA-256 of a file that a backup has sent which is not complete; the next one takes it over |
//! | `backups/ID/backup.json` | a complete backup: its files, their lengths and SHA-256, and where the server's log stood |
//! | `backups/ID/NAME` | files of this backup alone: RocksDB's MANIFEST and the end of its log |
//! | `log/UUID/FILE/START-END` | pieces of the server's binary log, as `mysqlbinlog` reads them when they are joined |
//!
//! Whatever is written is written whole, or is not there: a name appears when its content is synced. `backup.json` is the last of a backup.
//!
//! | module | what it does |
//! |---|---|
//! | `place` | what a place can do; `open` finds out which kind it is |
//! | `directory`, `objects`, `sealed` | a directory; a bucket; either, encrypted |
//! | `donor` | the server's side of a copy, over a connection |
//! | `manifest` | `backup.json` |
//! | `take` | a backup |
//! | `keep` | which backups stay |
//! | `restore` | a data directory from a backup |
//! | `verify` | whether everything is there, as it was written |
//! | `archive` | takes the binary log while it is written; `pieces`: what is there of it, for restores to a point in time |
//! | `copies` | `branch` and `clone` |
//! | `report` | what is printed |
//!
//! It is a client: it knows nothing of the inside of a server, and needs no access to its files.

#![forbid(unsafe_code)]

mod archive;
mod copies;
mod directory;
mod donor;
mod keep;
mod manifest;
mod objects;
mod open;
mod pieces;
mod place;
#[cfg(test)]
mod removing;
mod report;
mod restore;
mod sealed;
mod take;
mod verify;

pub use archive::{ArchiveOptions, LogArchive, archive};
pub use copies::{branch, clone};
pub use donor::{Donor, Source};
pub use keep::Keep;
pub use manifest::{Backup, backups};
pub use open::open_place;
pub use pieces::{ArchivedLog, LogStart};
pub use place::Place;
pub use report::{list, shown_time};
pub use restore::{NewDirectory, choose, restore_files};
pub use sealed::read_key;
pub use take::take;
pub use verify::verify;

pub type Failure = Box<dyn std::error::Error + Send + Sync>;
pub type Result<T> = std::result::Result<T, Failure>;
