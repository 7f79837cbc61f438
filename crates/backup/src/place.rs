//! Where backups are kept: names and their contents, written whole.

use std::fs::File;
use std::io::{Read, Write};
use std::path::Path;

use crate::{Failure, Result};

/// Says what a directory or a path in a bucket is, and which format it has.
pub const MARKER: &str = "vaquita-backups";
pub const FORMAT: &str = "1\n";
pub const LOCK: &str = "lock";

/// Something that is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Object {
    pub name: String,
    pub bytes: u64,
}

pub trait Place: Send + Sync {
    /// Begins to write; nothing has the name before `Upload::finish`.
    fn create(&self, name: &str) -> Result<Box<dyn Upload>>;

    fn open(&self, name: &str) -> Result<Box<dyn Read>>;

    /// Everything whose name begins with `prefix`, which ends with a slash, in the order of names.
    fn list(&self, prefix: &str) -> Result<Vec<Object>>;

    fn remove(&self, name: &str) -> Result<()>;

    /// What so many bytes take when they are stored.
    fn stored_bytes(&self, bytes: u64) -> u64 {
        bytes
    }

    /// Keeps others from writing or removing backups until it is dropped.
    fn lock(&self) -> Result<Box<dyn Send>>;

    /// For messages.
    fn shown(&self) -> String;
}

pub trait Upload: Write {
    /// It is complete, and survives a loss of power from here on.
    fn finish(self: Box<Self>) -> Result<()>;
}

pub fn about(path: &Path, error: &std::io::Error) -> Failure {
    format!("{}: {error}", path.display()).into()
}

pub fn sync_dir(dir: &Path) -> std::io::Result<()> {
    File::open(dir)?.sync_all()
}
