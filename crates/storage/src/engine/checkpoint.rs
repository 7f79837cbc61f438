//! A copy of the data as of one commit, beside everything else that goes on.

use std::path::Path;

use vaquita_types::errno::{ER_CANT_CREATE_FILE, ER_GET_ERRNO};
use vaquita_types::{Error, Result};

use super::Engine;
use crate::rocks::{log_check, write_error};

impl Engine {
    /// Makes `dir`, which must not exist and whose parent does, a directory that `Engine::open` opens: it holds what is committed now. Nothing waits
    /// for it but the flush of memtables. On the file system of this engine's directory it takes space only for what later changes here or there.
    pub fn checkpoint(&self, dir: &Path) -> Result<()> {
        let shown = dir.display();
        let made = self.db().checkpoint(dir).map_err(|e| match e.is_corruption() || e.is_no_space() {
            true => write_error(e),
            false => Error::new(&ER_GET_ERRNO, &[&5, &format_args!("{shown}: {}", e.0)]),
        });
        let made = made.and_then(|()| {
            sync(dir).map_err(|e| Error::new(&ER_CANT_CREATE_FILE, &[&shown, &e.raw_os_error().unwrap_or(0), &e]))
        });
        made.inspect_err(|_| {
            let _ = std::fs::remove_dir_all(dir);
        })
    }
}

/// RocksDB has copied the log with what is left in its file of an earlier use, and has not synced what it has copied.
fn sync(dir: &Path) -> std::io::Result<()> {
    log_check::cut_logs(dir)?;
    for entry in std::fs::read_dir(dir)? {
        std::fs::File::open(entry?.path())?.sync_all()?;
    }
    log_check::sync_dir(dir)?;
    dir.parent().map_or(Ok(()), log_check::sync_dir)
}
