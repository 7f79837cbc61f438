//! Space that is taken while there is enough, and given back when there is none: a file that holds nothing.
//!
//! On a disk that something else filled to the last byte, RocksDB cannot open (it writes a new MANIFEST and a log), and DROP
//! TABLE cannot write its commit. Both need little, and this file keeps it for them.

use std::fs::{self, File};
use std::io::{Result, Write};
use std::path::{Path, PathBuf};

use rustix::fs::{FallocateFlags, fallocate, statvfs};

/// A MANIFEST of tens of thousands of files, OPTIONS, and the log of some thousand small commits.
const RESERVE_BYTES: u64 = 16 << 20;
/// With less free than this the reserve is given back.
const RELEASE_BYTES: u64 = 4 << 20;
const NAME: &str = "SPACE_RESERVE";
const STEP_BYTES: usize = 1 << 20;

fn path(dir: &Path) -> PathBuf {
    dir.join(NAME)
}

/// Bytes that this process may still write to the disk of `dir`.
pub fn free_bytes(dir: &Path) -> Result<u64> {
    let stat = statvfs(dir)?;
    Ok(stat.f_bavail.saturating_mul(stat.f_frsize))
}

/// Gives the reserve back if the disk is full. True if it did.
pub fn release_if_full(dir: &Path, free_bytes: u64) -> bool {
    free_bytes < RELEASE_BYTES && fs::remove_file(path(dir)).is_ok()
}

/// Takes the reserve, unless it is there or would leave less than `keep_bytes`.
pub fn take(dir: &Path, free_bytes: u64, keep_bytes: u64) -> Result<()> {
    let path = path(dir);
    if free_bytes < keep_bytes.saturating_add(RESERVE_BYTES) || fs::metadata(&path).is_ok_and(|m| m.len() == RESERVE_BYTES) {
        return Ok(());
    }
    let mut file = File::create(&path)?;
    let mut taken = fallocate(&file, FallocateFlags::empty(), 0, RESERVE_BYTES).map_err(Into::into);
    if taken.is_err() {
        // Not every file system can.
        let step = vec![0; STEP_BYTES];
        taken = (0..RESERVE_BYTES / STEP_BYTES as u64).try_for_each(|_| file.write_all(&step));
    }
    taken.and_then(|()| file.sync_all()).inspect_err(|_| {
        let _ = fs::remove_file(&path);
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reserve_is_taken_where_there_is_space_and_given_back_where_there_is_none() {
        let dir = tempfile::tempdir().unwrap();
        let there = || path(dir.path()).exists();
        take(dir.path(), RESERVE_BYTES, 1).unwrap();
        assert!(!there());
        take(dir.path(), RESERVE_BYTES * 2, 1).unwrap();
        take(dir.path(), RESERVE_BYTES * 2, 1).unwrap();
        assert_eq!(fs::metadata(path(dir.path())).unwrap().len(), RESERVE_BYTES);
        assert!(!release_if_full(dir.path(), RELEASE_BYTES) && there());
        assert!(release_if_full(dir.path(), RELEASE_BYTES - 1) && !there());
        assert!(free_bytes(dir.path()).unwrap() > 0);
    }
}
