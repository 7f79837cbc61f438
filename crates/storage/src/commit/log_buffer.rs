//! What a transaction tells the binary log.
//!
//! Entries whose meaning is that of whoever writes and reads them (`Stages::prepare`), in order. What was told since a mark of the
//! transaction goes with it. Large transactions keep theirs in a file without a name.
//!
//! | OFFSET | SIZE | DESCRIPTION                                   |
//! |--------|------|-----------------------------------------------|
//! | 0      | 1    | kind                                          |
//! | 1      | 4    | number of the object + 1, or 0; little-endian |
//! | 5      | 4    | bytes of content                              |
//! | 9      |      | content                                       |

use std::any::Any;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;

use vaquita_types::errno::ER_ERROR_ON_WRITE;
use vaquita_types::{Error, Result};

/// What entries refer to, as the table of a row.
pub type LogObject = Arc<dyn Any + Send + Sync>;

pub struct LogEntry<'b> {
    pub kind: u8,
    pub object: Option<&'b LogObject>,
    pub content: &'b [u8],
}

const HEAD_BYTES: usize = 9;
/// So much stays in memory.
const MEMORY_BYTES_MAX: usize = 4 << 20;
/// Bytes of the file that are read in one piece, at least.
const READ_BYTES: usize = 1 << 20;

#[derive(Default)]
pub struct LogBuffer {
    /// Entries behind those in the file.
    bytes: Vec<u8>,
    file: Option<File>,
    file_bytes: u64,
    /// None of them goes, so that numbers stay.
    objects: Vec<LogObject>,
}

impl LogBuffer {
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Bytes of all entries.
    pub fn len(&self) -> u64 {
        self.file_bytes + self.bytes.len() as u64
    }

    /// Adds an entry, whose content `write` appends. If that fails, there is none.
    pub fn push<E>(
        &mut self,
        kind: u8,
        object: Option<&LogObject>,
        write: impl FnOnce(&mut Vec<u8>) -> std::result::Result<(), E>,
    ) -> std::result::Result<(), E> {
        let number = object.map_or(0, |object| self.number_of(object));
        let start = self.bytes.len();
        self.bytes.push(kind);
        self.bytes.extend_from_slice(&number.to_le_bytes());
        self.bytes.extend_from_slice(&[0; 4]);
        if let Err(error) = write(&mut self.bytes) {
            self.bytes.truncate(start);
            return Err(error);
        }
        // Contents are bounded far below 4 GiB by max_allowed_packet.
        let len = (self.bytes.len() - start - HEAD_BYTES) as u32;
        self.bytes[start + HEAD_BYTES - 4..start + HEAD_BYTES].copy_from_slice(&len.to_le_bytes());
        Ok(())
    }

    fn number_of(&mut self, object: &LogObject) -> u32 {
        let known = self.objects.iter().rposition(|known| Arc::ptr_eq(known, object));
        let at = known.unwrap_or_else(|| {
            self.objects.push(Arc::clone(object));
            self.objects.len() - 1
        });
        at as u32 + 1
    }

    /// Forgets what was told since the buffer had this length.
    pub fn truncate(&mut self, len: u64) {
        match len.checked_sub(self.file_bytes) {
            Some(in_memory) => self.bytes.truncate(in_memory as usize),
            // What the file has behind it is written over.
            None => {
                self.bytes.clear();
                self.file_bytes = len;
            }
        }
    }

    /// Moves what is in memory to a file in `dir` if it is much.
    pub fn make_room(&mut self, dir: &Path) -> Result<()> {
        if self.bytes.len() < MEMORY_BYTES_MAX {
            return Ok(());
        }
        let written = self.write_to_file(dir);
        written.map_err(|e| Error::new(&ER_ERROR_ON_WRITE, &[&dir.display(), &e.raw_os_error().unwrap_or(0), &e]))
    }

    fn write_to_file(&mut self, dir: &Path) -> io::Result<()> {
        let file = match &self.file {
            Some(file) => file,
            None => self.file.insert(nameless_file(dir)?),
        };
        file.write_all_at(&self.bytes, self.file_bytes)?;
        self.file_bytes += self.bytes.len() as u64;
        self.bytes.clear();
        Ok(())
    }

    /// Adds the entries of another one, which are in memory.
    pub fn append(&mut self, other: &LogBuffer) -> Result<()> {
        let numbered_alike = |(n, object)| self.number_of(object) == n as u32 + 1;
        if other.file.is_none() && other.objects.iter().enumerate().all(numbered_alike) {
            self.bytes.extend_from_slice(&other.bytes);
            return Ok(());
        }
        other.for_each(|entry| {
            self.push(entry.kind, entry.object, |out| {
                out.extend_from_slice(entry.content);
                Ok(())
            })
        })
    }

    /// Gives all entries in their order.
    pub fn for_each(&self, mut take: impl FnMut(LogEntry<'_>) -> Result<()>) -> Result<()> {
        let mut piece = Vec::new();
        let mut at = 0;
        while at < self.file_bytes {
            // A piece has whole entries; one that is larger is read alone.
            let mut wanted = READ_BYTES;
            loop {
                piece.resize(wanted.min((self.file_bytes - at) as usize), 0);
                let file = self.file.as_ref().ok_or_else(|| Error::internal("entries for the log without their file"))?;
                file.read_exact_at(&mut piece, at).map_err(|e| Error::internal(format_args!("entries for the log: {e}")))?;
                match piece.first_chunk::<HEAD_BYTES>() {
                    Some(head) if HEAD_BYTES + content_len(head) > piece.len() => wanted = HEAD_BYTES + content_len(head),
                    Some(_) => break,
                    None => return Err(torn()),
                }
                if wanted as u64 > self.file_bytes - at {
                    return Err(torn());
                }
            }
            let taken = self.take_whole(&piece, &mut take)?;
            at += taken as u64;
        }
        let taken = self.take_whole(&self.bytes, &mut take)?;
        if taken == self.bytes.len() { Ok(()) } else { Err(torn()) }
    }

    /// The bytes of the entries that are complete.
    fn take_whole(&self, bytes: &[u8], take: &mut impl FnMut(LogEntry<'_>) -> Result<()>) -> Result<usize> {
        let mut rest = bytes;
        while let Some((head, after)) = rest.split_first_chunk::<HEAD_BYTES>() {
            let Some((content, after)) = after.split_at_checked(content_len(head)) else { break };
            let [kind, a, b, c, d, ..] = *head;
            let number = u32::from_le_bytes([a, b, c, d]);
            let object = match number.checked_sub(1) {
                Some(at) => Some(self.objects.get(at as usize).ok_or_else(torn)?),
                None => None,
            };
            take(LogEntry { kind, object, content })?;
            rest = after;
        }
        Ok(bytes.len() - rest.len())
    }
}

fn content_len(head: &[u8; HEAD_BYTES]) -> usize {
    let [.., a, b, c, d] = *head;
    u32::from_le_bytes([a, b, c, d]) as usize
}

#[cold]
fn torn() -> Error {
    Error::internal("an entry for the log is torn")
}

fn nameless_file(dir: &Path) -> io::Result<File> {
    static NEXT: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(0);
    std::fs::create_dir_all(dir)?;
    let path = dir.join(format!("log-{}", NEXT.fetch_add(1, std::sync::atomic::Ordering::Relaxed)));
    let file = File::options().read(true).write(true).create_new(true).open(&path)?;
    std::fs::remove_file(&path)?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn push(buffer: &mut LogBuffer, kind: u8, object: Option<&LogObject>, content: &[u8]) {
        let pushed: std::result::Result<(), Error> = buffer.push(kind, object, |out| {
            out.extend_from_slice(content);
            Ok(())
        });
        pushed.unwrap();
    }

    fn entries(buffer: &LogBuffer) -> Vec<(u8, Option<u32>, Vec<u8>)> {
        let mut out = Vec::new();
        let all = buffer.for_each(|entry| {
            let object = entry.object.and_then(|object| object.downcast_ref::<u32>().copied());
            out.push((entry.kind, object, entry.content.to_vec()));
            Ok(())
        });
        all.unwrap();
        out
    }

    #[test]
    fn entries_come_back_from_memory_and_file() {
        let dir = tempfile::tempdir().unwrap();
        let objects: [LogObject; 2] = [Arc::new(7u32), Arc::new(8u32)];
        let mut buffer = LogBuffer::default();
        let mut model = Vec::new();
        let mut lengths = Vec::new();
        for n in 0..40u32 {
            lengths.push(buffer.len());
            // Some are larger than what is read or kept in one piece.
            let content = vec![n as u8; if n % 7 == 0 { 3 << 20 } else { n as usize * 1000 }];
            let object = objects.get(n as usize % 3);
            push(&mut buffer, n as u8, object, &content);
            model.push((n as u8, object.map(|_| 7 + n % 3), content));
            buffer.make_room(dir.path()).unwrap();
        }
        assert!(entries(&buffer) == model);
        // Back to the middle of the file, and on from there.
        buffer.truncate(lengths[13]);
        model.truncate(13);
        push(&mut buffer, 99, None, b"later");
        model.push((99, None, b"later".to_vec()));
        assert!(entries(&buffer) == model);
    }

    #[test]
    fn what_fails_leaves_no_entry() {
        let mut buffer = LogBuffer::default();
        push(&mut buffer, 1, None, b"one");
        let failed = buffer.push(2, None, |out| {
            out.push(0);
            Err(())
        });
        assert_eq!(failed, Err(()));
        assert_eq!(entries(&buffer), [(1, None, b"one".to_vec())]);
    }
}
