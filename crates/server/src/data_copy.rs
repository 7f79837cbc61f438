//! A copy of the data as of one commit, as backups and clones take it: a directory of hard links, which goes when nobody needs it any more.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use sha2::{Digest, Sha256};
use vaquita_session::data_dir;
use vaquita_session::server::Server;
use vaquita_session::variables::registry;
use vaquita_types::errno::{ER_CANT_OPEN_FILE, ER_ERROR_ON_READ};
use vaquita_types::{Error, Result};
use vaquita_wire::copy::{About, CopiedFile, PIECE_BYTES};

/// RocksDB ends each file with its properties, which name it among all files.
const MARKED_BYTES: u64 = 64 << 10;
const MARK_BYTES: usize = 16;
/// Files that never change.
const SORTED_FILE: &str = ".sst";

pub struct DataCopy {
    dir: PathBuf,
    pub about: About,
    pub files: Vec<CopiedFile>,
}

impl Drop for DataCopy {
    fn drop(&mut self) {
        if let Err(error) = std::fs::remove_dir_all(&self.dir) {
            tracing::warn!("a copy of the data stays until the next start: {}: {error}", self.dir.display());
        }
    }
}

impl DataCopy {
    /// `name`: of its directory, which no other copy has.
    pub fn make(server: &Server, name: &str) -> Result<DataCopy> {
        let shown = |name: &str| registry().find(name).map_or(String::new(), |def| def.show(&server.global(def)));
        let (log_file, log_pos) = match server.binary_log.get() {
            Some(log) => log.end()?,
            None => (String::new(), 0),
        };
        let gtids = server.executed().to_string();
        let dir = data_dir::copy_for(server, name)?;
        let taken_us = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_micros() as u64);
        let about = About { server_uuid: shown("server_uuid"), version: shown("version"), taken_us, log_file, log_pos, gtids };
        let mut copy = DataCopy { dir, about, files: Vec::new() };
        copy.files = files(&copy.dir)?;
        Ok(copy)
    }

    /// The content of a file from there on, piece by piece.
    pub fn read<E: From<Error>>(
        &self,
        name: &str,
        mut offset: u64,
        take: &mut dyn FnMut(&[u8]) -> std::result::Result<(), E>,
    ) -> std::result::Result<(), E> {
        let known = self.files.iter().find(|file| file.name == name).ok_or_else(|| no_copy(name))?;
        let path = self.dir.join(&known.name);
        let file = File::open(&path).map_err(|error| file_error(&path, &error))?;
        let mut buffer = vec![0; PIECE_BYTES];
        while offset < known.bytes {
            let wanted = usize::try_from(known.bytes - offset).map_or(PIECE_BYTES, |left| left.min(PIECE_BYTES));
            let piece = &mut buffer[..wanted];
            file.read_exact_at(piece, offset).map_err(|error| read_error(&path, &error))?;
            offset += piece.len() as u64;
            take(piece)?;
        }
        Ok(())
    }
}

/// No copy has such a file.
pub fn no_copy(name: &str) -> Error {
    file_error(Path::new(name), &io::Error::from_raw_os_error(rustix::io::Errno::NOENT.raw_os_error()))
}

fn file_error(path: &Path, error: &io::Error) -> Error {
    Error::new(&ER_CANT_OPEN_FILE, &[&path.display(), &error.raw_os_error().unwrap_or(0), error])
}

fn read_error(path: &Path, error: &io::Error) -> Error {
    Error::new(&ER_ERROR_ON_READ, &[&path.display(), &error.raw_os_error().unwrap_or(0), error])
}

fn files(dir: &Path) -> Result<Vec<CopiedFile>> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(dir).map_err(|error| file_error(dir, &error))? {
        let path = entry.map_err(|error| file_error(dir, &error))?.path();
        let Some(name) = path.file_name().and_then(|name| name.to_str()) else { continue };
        let bytes = path.metadata().map_err(|error| file_error(&path, &error))?.len();
        let mark = if name.ends_with(SORTED_FILE) { mark(&path, bytes)? } else { Vec::new() };
        files.push(CopiedFile { name: name.to_string(), bytes, mark });
    }
    files.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(files)
}

/// Tells a file from all others of its name and length.
fn mark(path: &Path, bytes: u64) -> Result<Vec<u8>> {
    let mut end = vec![0; bytes.min(MARKED_BYTES) as usize];
    let from = bytes - end.len() as u64;
    let read = File::open(path).and_then(|file| file.read_exact_at(&mut end, from));
    read.map_err(|error| read_error(path, &error))?;
    Ok(Sha256::digest(&end)[..MARK_BYTES].to_vec())
}
