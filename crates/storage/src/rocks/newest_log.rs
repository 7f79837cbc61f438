//! A synced note of how far the log went, so that a start notices when the newest log is missing, emptied or cut off.
//!
//! Recovery takes whatever logs it finds. A log between two others shows when it is missing, by its sequence numbers
//! (`log_check`); the newest one does not. So the file `NEWEST_LOG` says: in the log with this number there was a commit with
//! this sequence number, and it was synced. It is written
//!
//! 1. with the first synced write after RocksDB has begun a new log (it tells by sealing a memtable), before the write
//!    returns, so that no log with an acknowledged commit can vanish unnoticed;
//! 2. by the housekeeper, once a round if there were commits, so that a log that lost its end shows, too.
//!
//! ```text
//! NEWEST_LOG: log 17, number 4711      start: files hold numbers up to 4000, logs go on to 4300  →  refused, names 000017.log
//! ```
//!
//! The file has two slots that are written in turn; the one with the higher number counts.
//!
//! | OFFSET | SIZE | DESCRIPTION                                   |
//! |--------|------|-----------------------------------------------|
//! | 0      | 8    | number of the log, LE                         |
//! | 8      | 8    | sequence number, LE                           |
//! | 16     | 4    | CRC-32C of the 16 bytes before, LE            |

use std::fs::{File, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::Path;

use super::log_check::sync_dir;

const NAME: &str = "NEWEST_LOG";
/// Each in a sector of its own, so that a torn write leaves the other.
const SLOT_BYTES: u64 = 4096;
const NOTE_BYTES: usize = 20;

/// A commit that was synced.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Noted {
    pub log: u64,
    pub sequence: u64,
}

impl Noted {
    fn encode(self) -> [u8; NOTE_BYTES] {
        let mut bytes = [0; NOTE_BYTES];
        bytes[..8].copy_from_slice(&self.log.to_le_bytes());
        bytes[8..16].copy_from_slice(&self.sequence.to_le_bytes());
        let crc = crc32c::crc32c(&bytes[..16]);
        bytes[16..].copy_from_slice(&crc.to_le_bytes());
        bytes
    }

    fn decode(bytes: &[u8; NOTE_BYTES]) -> Option<Noted> {
        let (log, rest) = bytes.split_first_chunk::<8>()?;
        let (sequence, crc) = rest.split_first_chunk::<8>()?;
        let noted = Noted { log: u64::from_le_bytes(*log), sequence: u64::from_le_bytes(*sequence) };
        (crc32c::crc32c(&bytes[..16]).to_le_bytes() == *crc).then_some(noted)
    }
}

/// What the file in `dir` says; `None` if there is none, or none of its slots is intact.
pub fn read(dir: &Path) -> std::io::Result<Option<Noted>> {
    match File::open(dir.join(NAME)) {
        Ok(file) => read_slots(&file).map(|slots| slots.into_iter().flatten().max_by_key(|noted| noted.sequence)),
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(e) => Err(e),
    }
}

/// The commits that are missed are given up.
pub fn forget(dir: &Path) -> std::io::Result<()> {
    match std::fs::remove_file(dir.join(NAME)) {
        Err(e) if e.kind() != std::io::ErrorKind::NotFound => Err(e),
        _ => sync_dir(dir),
    }
}

fn read_slots(file: &File) -> std::io::Result<[Option<Noted>; 2]> {
    let mut slots = [None; 2];
    for (slot, at) in slots.iter_mut().zip([0, SLOT_BYTES]) {
        let mut bytes = [0; NOTE_BYTES];
        *slot = match file.read_exact_at(&mut bytes, at) {
            Ok(()) => Noted::decode(&bytes),
            Err(e) if e.kind() == std::io::ErrorKind::UnexpectedEof => None,
            Err(e) => return Err(e),
        };
    }
    Ok(slots)
}

/// The file of a running engine.
pub struct NewestLog {
    file: File,
    next_slot: u64,
}

impl NewestLog {
    /// Opens the file, or makes one whose slots have their blocks, so that a full disk is no reason not to write them.
    pub fn open(dir: &Path) -> std::io::Result<NewestLog> {
        let path = dir.join(NAME);
        let file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path)?;
        if file.metadata()?.len() < 2 * SLOT_BYTES {
            file.write_all_at(&[0; 2 * SLOT_BYTES as usize], 0)?;
            file.sync_all()?;
            sync_dir(dir)?;
        }
        let sequences = read_slots(&file)?.map(|slot| slot.map_or(0, |noted| noted.sequence));
        Ok(NewestLog { file, next_slot: u64::from(sequences[0] > sequences[1]) })
    }

    pub fn write(&mut self, noted: Noted) -> std::io::Result<()> {
        self.file.write_all_at(&noted.encode(), self.next_slot * SLOT_BYTES)?;
        self.file.sync_data()?;
        self.next_slot = 1 - self.next_slot;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_intact_slot_counts() {
        let dir = tempfile::TempDir::new().unwrap();
        assert_eq!(read(dir.path()).unwrap(), None);
        let mut newest = NewestLog::open(dir.path()).unwrap();
        assert_eq!(read(dir.path()).unwrap(), None);
        let noted = |n: u64| Noted { log: n / 10, sequence: n };
        for n in [70, 71, 85] {
            newest.write(noted(n)).unwrap();
            assert_eq!(read(dir.path()).unwrap(), Some(noted(n)));
        }
        // The next run goes on in the older slot.
        drop(newest);
        NewestLog::open(dir.path()).unwrap().write(noted(90)).unwrap();
        let path = dir.path().join(NAME);
        let mut bytes = std::fs::read(&path).unwrap();
        let newer = usize::from(bytes[8] != 90) * SLOT_BYTES as usize;
        bytes[newer + 8] ^= 1;
        std::fs::write(&path, bytes).unwrap();
        assert_eq!(read(dir.path()).unwrap(), Some(noted(85)));
        std::fs::write(&path, "").unwrap();
        assert_eq!(read(dir.path()).unwrap(), None);
    }
}
