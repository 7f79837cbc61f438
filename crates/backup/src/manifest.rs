//! `backup.json`: what a backup consists of. A line of JSON, and a line with its SHA-256.

use std::io::{Read, Write};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::Result;
use crate::place::Place;

/// Of all versions that this one reads.
const FORMAT: u32 = 1;
const DIR: &str = "backups/";
const NAME: &str = "backup.json";
/// Nobody has so many files.
const BYTES_MAX: u64 = 1 << 30;

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Backup {
    pub format: u32,
    pub id: String,
    pub server_uuid: String,
    pub version: String,
    /// Microseconds since 1970: what was committed later is not in it.
    pub taken_us: u64,
    pub seconds: f64,
    /// Where the server's log stood before; what was committed while the copy was made may be in it, too.
    pub log_file: String,
    pub log_pos: u64,
    pub gtids: String,
    /// Bytes that no backup before had.
    pub new_bytes: u64,
    pub files: Vec<StoredFile>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredFile {
    /// In the database's directory.
    pub name: String,
    pub bytes: u64,
    pub sha256: String,
    /// Its name in the place.
    pub stored: String,
}

impl Backup {
    pub fn bytes(&self) -> u64 {
        self.files.iter().map(|file| file.bytes).sum()
    }

    pub fn write(&self, place: &dyn Place) -> Result<()> {
        let line = serde_json::to_string(self)?;
        let mut upload = place.create(&format!("{DIR}{}/{NAME}", self.id))?;
        write!(upload, "{line}\n{}\n", hex(&Sha256::digest(&line)))?;
        upload.finish()
    }

    pub fn read(place: &dyn Place, id: &str) -> Result<Backup> {
        let name = format!("{DIR}{id}/{NAME}");
        let mut text = String::new();
        let read = place.open(&name)?.take(BYTES_MAX).read_to_string(&mut text);
        read.map_err(|error| format!("{name} is damaged: {error}"))?;
        let (line, sum) = text.split_once('\n').ok_or_else(|| format!("{name} is damaged: it has no checksum"))?;
        if sum.trim_end() != hex(&Sha256::digest(line)) {
            return Err(format!("{name} is damaged: its checksum is wrong").into());
        }
        let backup: Backup = serde_json::from_str(line).map_err(|error| format!("{name} cannot be read: {error}"))?;
        if backup.format > FORMAT {
            return Err(format!("{name} is of a later version of Vaquita").into());
        }
        Ok(backup)
    }

    /// The backup, unless it has been removed since its name was read.
    pub fn read_if_there(place: &dyn Place, id: &str) -> Result<Option<Backup>> {
        match Backup::read(place, id) {
            Err(error) => {
                if is_there(place, id)? {
                    Err(error)
                } else {
                    Ok(None)
                }
            }
            read => read.map(Some),
        }
    }

    /// Everything of it but what other backups need as well.
    pub fn remove(&self, place: &dyn Place) -> Result<()> {
        // First that without which it is none.
        place.remove(&format!("{DIR}{}/{NAME}", self.id))?;
        place.list(&self.own())?.iter().try_for_each(|object| place.remove(&object.name))
    }

    /// Where the files of this backup alone are.
    pub fn own(&self) -> String {
        own(&self.id)
    }
}

pub fn own(id: &str) -> String {
    format!("{DIR}{id}/")
}

pub const fn format() -> u32 {
    FORMAT
}

/// Names of complete backups.
pub fn ids(place: &dyn Place) -> Result<Vec<String>> {
    let id = |name: &str| Some(name.strip_prefix(DIR)?.strip_suffix(NAME)?.strip_suffix('/')?.to_string());
    Ok(place.list(DIR)?.iter().filter_map(|object| id(&object.name)).collect())
}

/// Whether the place still has it: servers remove old backups while others read.
pub fn is_there(place: &dyn Place, id: &str) -> Result<bool> {
    Ok(ids(place)?.iter().any(|there| there == id))
}

/// Complete backups, the oldest first. One that cannot be read is an error that names it.
pub fn backups(place: &dyn Place) -> Result<Vec<Backup>> {
    let read = ids(place)?.into_iter().filter_map(|id| Backup::read_if_there(place, &id).transpose());
    let mut backups = read.collect::<Result<Vec<Backup>>>()?;
    backups.sort_by(|a, b| (a.taken_us, &a.id).cmp(&(b.taken_us, &b.id)));
    Ok(backups)
}

pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
