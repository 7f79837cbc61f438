//! Files that survive a power loss: whole, or as they were before.

use std::fs::File;
use std::io::{Result, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use vaquita_storage::kill_point;

/// Writes a file of `dir` under another name, syncs it, renames it, and syncs the directory: a file of that name is
/// never empty or torn.
pub fn write(dir: &Path, name: &str, text: &str, mode: u32) -> Result<()> {
    let new = dir.join(format!("{name}.new"));
    let mut file = std::fs::OpenOptions::new().write(true).create(true).truncate(true).mode(mode).open(&new)?;
    kill_point("init.file-opened");
    file.write_all(text.as_bytes())?;
    file.sync_all()?;
    kill_point("init.file-written");
    std::fs::rename(&new, dir.join(name))?;
    sync_dir(dir)?;
    kill_point("init.file-renamed");
    Ok(())
}

/// What was created, renamed or removed in `dir` stays so.
pub fn sync_dir(dir: &Path) -> Result<()> {
    File::open(dir)?.sync_all()
}
