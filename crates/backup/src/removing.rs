//! For tests: a place from which a backup goes while it is read.

use std::io::{Read, Write};
use std::path::Path;

use sha2::{Digest, Sha256};

use crate::Result;
use crate::directory::Directory;
use crate::manifest::{Backup, StoredFile, format, hex};
use crate::place::{Object, Place, Upload};

pub struct Removing {
    pub inner: Directory,
    /// It goes when something is opened whose name ends so.
    pub backup: Backup,
    pub at: &'static str,
}

impl Place for Removing {
    fn create(&self, name: &str) -> Result<Box<dyn Upload>> {
        self.inner.create(name)
    }

    fn open(&self, name: &str) -> Result<Box<dyn Read>> {
        if name.ends_with(self.at) {
            self.backup.remove(&self.inner)?;
        }
        self.inner.open(name)
    }

    fn list(&self, prefix: &str) -> Result<Vec<Object>> {
        self.inner.list(prefix)
    }

    fn remove(&self, name: &str) -> Result<()> {
        self.inner.remove(name)
    }

    fn lock(&self) -> Result<Box<dyn Send>> {
        self.inner.lock()
    }

    fn shown(&self) -> String {
        self.inner.shown()
    }
}

/// A place with two backups of a file each, `a` and `b`.
pub fn two_backups(dir: &Path) -> (Directory, [Backup; 2]) {
    const CONTENT: &[u8] = b"content";
    let place = Directory::open(&dir.join("backups"), true).unwrap();
    let backup = |id: &str| {
        let stored = format!("backups/{id}/MANIFEST");
        let mut upload = place.create(&stored).unwrap();
        upload.write_all(CONTENT).unwrap();
        upload.finish().unwrap();
        let (bytes, sha256) = (CONTENT.len() as u64, hex(&Sha256::digest(CONTENT)));
        let backup = Backup {
            format: format(),
            id: id.into(),
            server_uuid: "u".into(),
            version: "1".into(),
            taken_us: 1,
            seconds: 0.0,
            log_file: String::new(),
            log_pos: 0,
            gtids: String::new(),
            new_bytes: 0,
            files: vec![StoredFile { name: "MANIFEST".into(), bytes, sha256, stored }],
        };
        backup.write(&place).unwrap();
        backup
    };
    let backups = ["a", "b"].map(backup);
    (place, backups)
}
