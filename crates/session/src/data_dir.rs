//! What is in a data directory beside keys and sockets, and how another one is made of it.

use std::io::ErrorKind;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use vaquita_types::errno::{ER_CANT_CREATE_FILE, ER_DB_CREATE_EXISTS, ER_WRONG_VALUE};
use vaquita_types::{Error, Result};

use crate::server::Server;

/// The database.
pub const ROCKSDB: &str = "rocksdb";
/// A file that says that the database had contents once.
pub const INITIALIZED: &str = "initialized";
/// A file that says that the data is a copy of another server's: the next start makes a new UUID. Two servers of one UUID would give the same GTID to
/// different transactions.
pub const NEW_IDENTITY: &str = "new-identity";
/// What the metrics were in the last weeks: no part of the database, and of no copy.
pub const HISTORY: &str = "history";
/// Copies that clients are fetching, each in a directory of its own; emptied by each start.
pub const COPIES: &str = "copies";

/// CLONE LOCAL DATA DIRECTORY. Makes `dir`, which must not exist, a data directory with what is committed now; as in MySQL, directories above it are
/// made, too. Its first start makes keys of its own.
pub fn copy(server: &Server, dir: &Path) -> Result<()> {
    // What is in the data directory is the server's, which removes what it does not know.
    if !dir.is_absolute() || dir.starts_with(server.data_dir()) {
        return Err(Error::new(&ER_WRONG_VALUE, &[&"path", &dir.display()]));
    }
    if let Some(parent) = dir.parent() {
        std::fs::create_dir_all(parent).map_err(|error| file_error(dir, &error))?;
    }
    std::fs::DirBuilder::new().mode(0o700).create(dir).map_err(|error| match error.kind() {
        ErrorKind::AlreadyExists => Error::new(&ER_DB_CREATE_EXISTS, &[&dir.display()]),
        _ => file_error(dir, &error),
    })?;
    let made = server.engine.checkpoint(&dir.join(ROCKSDB)).and_then(|()| mark_as_copy(dir).map_err(|e| file_error(dir, &e)));
    made.inspect_err(|_| {
        let _ = std::fs::remove_dir_all(dir);
    })
}

/// What `dir` has in its database is of another server.
pub fn mark_as_copy(dir: &Path) -> std::io::Result<()> {
    for name in [NEW_IDENTITY, INITIALIZED] {
        std::fs::File::create(dir.join(name))?.sync_all()?;
    }
    std::fs::File::open(dir)?.sync_all()?;
    dir.parent().map_or(Ok(()), |parent| std::fs::File::open(parent)?.sync_all())
}

/// A copy for somebody who fetches it, in a directory of its own.
pub fn copy_for(server: &Server, name: &str) -> Result<PathBuf> {
    let copies = server.data_dir().join(COPIES);
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(&copies).map_err(|error| file_error(&copies, &error))?;
    let dir = copies.join(name);
    server.engine.checkpoint(&dir)?;
    Ok(dir)
}

fn file_error(path: &Path, error: &std::io::Error) -> Error {
    Error::new(&ER_CANT_CREATE_FILE, &[&path.display(), &error.raw_os_error().unwrap_or(0), error])
}
