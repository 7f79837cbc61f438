//! A data directory from a backup. A server can begin there only when all of it is in place and was found to be what was stored.

use std::fs::{DirBuilder, File};
use std::io::{ErrorKind, Read, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};
use vaquita_session::data_dir::{ROCKSDB, mark_as_copy};

use crate::manifest::{Backup, StoredFile, backups, hex, is_there};
use crate::place::{Place, about, sync_dir};
use crate::report::{Progress, shown_time};
use crate::{Failure, Result};

const PIECE_BYTES: usize = 1 << 20;

/// The backup with this name, or the newest one, of one server or of a time.
pub fn choose(place: &dyn Place, id: Option<&str>, server_uuid: Option<&str>, until_us: Option<u64>) -> Result<Backup> {
    if let Some(id) = id {
        return Backup::read(place, id);
    }
    let all = backups(place)?;
    let servers: std::collections::BTreeSet<&str> = all.iter().map(|backup| backup.server_uuid.as_str()).collect();
    if server_uuid.is_none() && servers.len() > 1 {
        let text = format!("{} has backups of {} servers: say which with --server or --backup", place.shown(), servers.len());
        return Err(text.into());
    }
    let fits = |backup: &&Backup| {
        server_uuid.is_none_or(|uuid| backup.server_uuid == uuid) && until_us.is_none_or(|until| backup.taken_us <= until)
    };
    let chosen = all.iter().rev().find(fits).cloned();
    chosen.ok_or_else(|| match (all.first(), until_us) {
        (Some(first), Some(_)) => format!("the first backup is of {}", shown_time(first.taken_us)).into(),
        _ => format!("{} has no backup", place.shown()).into(),
    })
}

/// A directory that becomes `dir` when it is whole. `dir` must not exist, or be empty.
pub struct NewDirectory {
    dir: PathBuf,
    making: PathBuf,
    done: bool,
}

impl NewDirectory {
    pub fn begin(dir: &Path) -> Result<NewDirectory> {
        match std::fs::read_dir(dir) {
            Ok(mut entries) => {
                if entries.next().is_some() {
                    return Err(format!("{} is not empty: nothing is overwritten", dir.display()).into());
                }
            }
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => return Err(about(dir, &error)),
        }
        let name = dir.file_name().ok_or_else(|| format!("{} is no name of a directory", dir.display()))?;
        let mut unfinished = name.to_os_string();
        unfinished.push(".unfinished");
        let making = dir.with_file_name(unfinished);
        // Of a restore that was interrupted.
        match std::fs::remove_dir_all(&making) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(about(&making, &error)),
            _ => {}
        }
        let made = DirBuilder::new().recursive(true).mode(0o700).create(making.join(ROCKSDB));
        made.map_err(|error| about(&making, &error))?;
        let making = making.canonicalize().map_err(|error| about(&making, &error))?;
        let dir = making.with_file_name(name);
        Ok(NewDirectory { dir, making, done: false })
    }

    /// What is being made.
    pub fn path(&self) -> &Path {
        &self.making
    }

    pub fn database(&self) -> PathBuf {
        self.making.join(ROCKSDB)
    }

    /// The database is in place: a server can begin with it, as one of its own.
    pub fn mark(&self) -> Result<()> {
        let database = self.database();
        sync_dir(&database).and_then(|()| mark_as_copy(&self.making)).map_err(|error| about(&database, &error))
    }

    /// It gets its name.
    pub fn finish(mut self) -> Result<()> {
        let renamed = std::fs::rename(&self.making, &self.dir).and_then(|()| self.dir.parent().map_or(Ok(()), sync_dir));
        renamed.map_err(|error| about(&self.dir, &error))?;
        self.done = true;
        Ok(())
    }
}

impl Drop for NewDirectory {
    fn drop(&mut self) {
        if !self.done {
            let _ = std::fs::remove_dir_all(&self.making);
        }
    }
}

/// Puts the files of a backup in place.
pub fn restore_files(place: &dyn Place, backup: &Backup, dir: &Path) -> Result<NewDirectory> {
    let new = NewDirectory::begin(dir)?;
    let database = new.database();
    let mut progress = Progress::new("restored", backup.bytes());
    for file in &backup.files {
        if file.name.contains('/') || file.name.starts_with('.') {
            return Err(format!("backup {}: '{}' is no name of a file", backup.id, file.name).into());
        }
        if let Err(error) = restore_file(place, file, &database.join(&file.name), &mut progress) {
            return Err(match is_there(place, &backup.id)? {
                true => error,
                false => format!("backup {} was removed while it was restored: it is too old to be kept", backup.id).into(),
            });
        }
    }
    drop(progress);
    new.mark()?;
    Ok(new)
}

fn restore_file(place: &dyn Place, file: &StoredFile, path: &Path, progress: &mut Progress) -> Result<()> {
    let mut content = place.open(&file.stored)?;
    let mut out = File::create_new(path).map_err(|error| about(path, &error))?;
    let mut hash = Sha256::new();
    let mut piece = vec![0; PIECE_BYTES];
    loop {
        let len = content.read(&mut piece).map_err(|error| -> Failure { format!("{}: {error}", file.stored).into() })?;
        if len == 0 {
            break;
        }
        hash.update(&piece[..len]);
        out.write_all(&piece[..len]).map_err(|error| about(path, &error))?;
        progress.add(len as u64);
    }
    if hex(&hash.finalize()) != file.sha256 {
        return Err(damaged(place, file));
    }
    out.sync_all().map_err(|error| about(path, &error))
}

pub fn damaged(place: &dyn Place, file: &StoredFile) -> Failure {
    format!("{}/{} is damaged: it is not what was stored", place.shown(), file.stored).into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::removing::{Removing, two_backups};

    #[test]
    fn a_restore_says_that_its_backup_was_removed() {
        let dir = tempfile::tempdir().unwrap();
        let (inner, [first, second]) = two_backups(dir.path());
        let place = Removing { inner, backup: first.clone(), at: "a/MANIFEST" };
        let error = restore_files(&place, &first, &dir.path().join("data")).err().unwrap().to_string();
        assert!(error.starts_with("backup a was removed while it was restored"), "{error}");
        restore_files(&place, &second, &dir.path().join("data")).unwrap();
    }
}
