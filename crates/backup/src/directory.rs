//! A directory as a place.

use std::fs::{File, OpenOptions};
use std::io::{BufWriter, ErrorKind, Read, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::Result;
use crate::place::{FORMAT, LOCK, MARKER, Object, Place, Upload, about, sync_dir};

/// Files that are being written; what an interruption leaves there is removed by the next backup.
const UNFINISHED: &str = "unfinished";
const INTERRUPTED_AGE: Duration = Duration::from_secs(60);
const BUFFER_BYTES: usize = 1 << 20;

/// A directory of this machine, which may be a file system of another.
pub struct Directory {
    path: PathBuf,
}

impl Directory {
    pub fn open(path: &Path, create: bool) -> Result<Directory> {
        let shown = path.display();
        let marker = path.join(MARKER);
        match std::fs::read_to_string(&marker) {
            Ok(text) if text == FORMAT => {}
            Ok(text) => return Err(format!("{shown} has backups of another format: {}", text.trim_end()).into()),
            Err(error) if error.kind() == ErrorKind::NotFound && create => {
                std::fs::create_dir_all(path).map_err(|error| about(path, &error))?;
                // Another may be making the same place.
                let is_other = |entry: &std::fs::DirEntry| !entry.file_name().to_string_lossy().starts_with(MARKER);
                let mut entries = std::fs::read_dir(path).map_err(|error| about(path, &error))?;
                if entries.any(|entry| entry.is_ok_and(|entry| is_other(&entry))) && !marker.exists() {
                    return Err(format!("{shown} has something else in it: backups go to a directory of their own").into());
                }
                write_whole(path, &marker, FORMAT.as_bytes())?;
            }
            Err(error) if error.kind() == ErrorKind::NotFound => return Err(format!("{shown} has no backups").into()),
            Err(error) => return Err(about(&marker, &error)),
        }
        Ok(Directory { path: path.canonicalize().map_err(|error| about(path, &error))? })
    }

    /// What is unfinished and nobody writes.
    fn remove_interrupted(&self) {
        let entries = std::fs::read_dir(self.path.join(UNFINISHED)).into_iter().flatten().flatten();
        // One that is younger may be about to be locked.
        let is_old = |entry: &std::fs::DirEntry| {
            let changed = entry.metadata().and_then(|meta| meta.modified()).ok();
            changed.and_then(|changed| changed.elapsed().ok()).is_some_and(|age| age > INTERRUPTED_AGE)
        };
        for entry in entries.filter(is_old) {
            let is_free = File::open(entry.path())
                .is_ok_and(|file| rustix::fs::flock(&file, rustix::fs::FlockOperation::NonBlockingLockExclusive).is_ok());
            if is_free {
                let _ = std::fs::remove_file(entry.path());
            }
        }
    }

    fn path_of(&self, name: &str) -> Result<PathBuf> {
        // Names come from a server and from files of the place.
        let plain = |part: &str| !part.is_empty() && part != "." && part != ".." && !part.contains('\0');
        match name.split('/').all(plain) {
            true => Ok(self.path.join(name)),
            false => Err(format!("'{name}' is no name of a file of backups").into()),
        }
    }
}

/// A short file, whole or not at all.
fn write_whole(dir: &Path, path: &Path, content: &[u8]) -> Result<()> {
    let new = path.with_extension(format!("{:016x}", rand::random::<u64>()));
    let written = File::create(&new).and_then(|mut file| file.write_all(content).and_then(|()| file.sync_all()));
    written.and_then(|()| std::fs::rename(&new, path)).and_then(|()| sync_dir(dir)).map_err(|error| about(path, &error))
}

/// The directories of `path` below `root` exist, and their names survive.
fn make_parents(root: &Path, path: &Path) -> std::io::Result<()> {
    let Some(parent) = path.parent().filter(|parent| *parent != root && !parent.is_dir()) else { return Ok(()) };
    make_parents(root, parent)?;
    match std::fs::create_dir(parent) {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => return Err(error),
        _ => {}
    }
    parent.parent().map_or(Ok(()), sync_dir)
}

impl Place for Directory {
    fn create(&self, name: &str) -> Result<Box<dyn Upload>> {
        let path = self.path_of(name)?;
        let unfinished = self.path.join(UNFINISHED);
        let new = unfinished.join(format!("{:016x}", rand::random::<u64>()));
        let opened = make_parents(&self.path, &new)
            .and_then(|()| make_parents(&self.path, &path))
            .and_then(|()| OpenOptions::new().write(true).create_new(true).open(&new));
        let file = opened.map_err(|error| about(&path, &error))?;
        // Whoever tidies up sees that it is being written.
        let _ = rustix::fs::flock(&file, rustix::fs::FlockOperation::NonBlockingLockExclusive);
        Ok(Box::new(NewFile { file: Some(BufWriter::with_capacity(BUFFER_BYTES, file)), new, path }))
    }

    fn open(&self, name: &str) -> Result<Box<dyn Read>> {
        let path = self.path_of(name)?;
        let file = File::open(&path).map_err(|error| match error.kind() {
            ErrorKind::NotFound => format!("{} is missing", path.display()).into(),
            _ => about(&path, &error),
        });
        Ok(Box::new(file?))
    }

    fn list(&self, prefix: &str) -> Result<Vec<Object>> {
        let mut found = Vec::new();
        let dir = self.path_of(prefix.trim_end_matches('/'))?;
        collect(&dir, prefix.trim_end_matches('/'), &mut found)?;
        found.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(found)
    }

    fn remove(&self, name: &str) -> Result<()> {
        let path = self.path_of(name)?;
        match std::fs::remove_file(&path) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(about(&path, &error)),
            _ => {}
        }
        // The directory goes with its last file.
        let mut dir = path.parent();
        while let Some(parent) = dir.filter(|dir| *dir != self.path) {
            if std::fs::remove_dir(parent).is_err() {
                break;
            }
            dir = parent.parent();
        }
        Ok(())
    }

    fn lock(&self) -> Result<Box<dyn Send>> {
        let path = self.path.join(LOCK);
        let file =
            OpenOptions::new().write(true).create(true).truncate(false).open(&path).map_err(|error| about(&path, &error))?;
        if rustix::fs::flock(&file, rustix::fs::FlockOperation::NonBlockingLockExclusive).is_err() {
            return Err(format!("another backup is being written to {}", self.shown()).into());
        }
        self.remove_interrupted();
        Ok(Box::new(file))
    }

    fn shown(&self) -> String {
        self.path.display().to_string()
    }
}

fn collect(dir: &Path, prefix: &str, found: &mut Vec<Object>) -> Result<()> {
    let entries = match std::fs::read_dir(dir) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        entries => entries.map_err(|error| about(dir, &error))?,
    };
    for entry in entries {
        let entry = match entry.and_then(|entry| Ok((entry.metadata()?, entry))) {
            // It was removed meanwhile.
            Err(error) if error.kind() == ErrorKind::NotFound => continue,
            entry => entry.map_err(|error| about(dir, &error))?,
        };
        let (meta, entry) = entry;
        let file_name = entry.file_name();
        let name = format!("{prefix}/{}", file_name.to_string_lossy());
        if meta.is_dir() {
            collect(&entry.path(), &name, found)?;
        } else {
            found.push(Object { name, bytes: meta.len() });
        }
    }
    Ok(())
}

struct NewFile {
    file: Option<BufWriter<File>>,
    new: PathBuf,
    path: PathBuf,
}

impl Write for NewFile {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        match &mut self.file {
            Some(file) => file.write(bytes),
            None => Err(ErrorKind::BrokenPipe.into()),
        }
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.file.as_mut().map_or(Ok(()), Write::flush)
    }
}

impl Upload for NewFile {
    fn finish(mut self: Box<Self>) -> Result<()> {
        let finish = |file: BufWriter<File>| {
            file.into_inner().map_err(|error| error.into_error())?.sync_all()?;
            std::fs::rename(&self.new, &self.path)?;
            self.path.parent().map_or(Ok(()), sync_dir)
        };
        let done = self.file.take().map_or(Ok(()), finish);
        done.map_err(|error: std::io::Error| about(&self.path, &error))
    }
}

impl Drop for NewFile {
    fn drop(&mut self) {
        if self.file.take().is_some() {
            let _ = std::fs::remove_file(&self.new);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put(place: &dyn Place, name: &str, content: &[u8]) {
        let mut upload = place.create(name).unwrap();
        upload.write_all(content).unwrap();
        upload.finish().unwrap();
    }

    #[test]
    fn what_is_not_finished_is_not_there() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join("backups");
        let place = Directory::open(&root, true).unwrap();
        put(&place, "files/u/1.sst", b"abc");
        drop(place.create("files/u/2.sst").unwrap());
        assert_eq!(place.list("files/").unwrap(), [Object { name: "files/u/1.sst".into(), bytes: 3 }]);
        let mut text = String::new();
        place.open("files/u/1.sst").unwrap().read_to_string(&mut text).unwrap();
        assert_eq!(text, "abc");
        assert!(place.open("files/u/2.sst").err().unwrap().to_string().ends_with("2.sst is missing"));
        place.remove("files/u/1.sst").unwrap();
        assert!(!root.join("files").exists());
    }

    #[test]
    fn a_directory_with_something_else_is_no_place() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("x"), "x").unwrap();
        assert!(Directory::open(dir.path(), true).is_err());
        assert!(Directory::open(&dir.path().join("none"), false).is_err());
    }

    #[test]
    fn names_do_not_leave_the_place() {
        let dir = tempfile::tempdir().unwrap();
        let place = Directory::open(&dir.path().join("b"), true).unwrap();
        for name in ["../x", "a//b", "/etc/passwd", "a/./b", ""] {
            assert!(place.create(name).is_err(), "{name}");
        }
    }

    #[test]
    fn one_writes_at_a_time() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join("b");
        let (first, second) = (Directory::open(&root, true).unwrap(), Directory::open(&root, true).unwrap());
        let lock = first.lock().unwrap();
        assert!(second.lock().is_err());
        drop(lock);
        second.lock().unwrap();
    }
}
