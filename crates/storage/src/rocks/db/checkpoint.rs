//! A copy of the database as of one commit.

use std::path::Path;

use librocksdb_sys as ffi;

use super::{Db, Result, c_path, checked};

/// Bytes of logs above which memtables are flushed first: always, so that a copy has next to no log to replay.
const LOG_BYTES_FOR_FLUSH: u64 = 0;

impl Db {
    /// Makes `dir`, which must not exist, a database of all that is committed now. Files that nobody changes any more are hard links where the file
    /// system allows it; the MANIFEST and the end of the log are copied. Commits go on meanwhile.
    ///
    /// What it holds is what a crash at this moment would leave, so opening it recovers as a start does.
    pub fn checkpoint(&self, dir: &Path) -> Result<()> {
        let name = c_path(dir)?;
        // SAFETY: `db` is open, the object is destroyed here, the path is valid for the call.
        unsafe {
            let checkpoint = checked(|err| ffi::rocksdb_checkpoint_object_create(self.db, err))?;
            let made = checked(|err| ffi::rocksdb_checkpoint_create(checkpoint, name.as_ptr(), LOG_BYTES_FOR_FLUSH, err));
            ffi::rocksdb_checkpoint_object_destroy(checkpoint);
            made
        }
    }
}
