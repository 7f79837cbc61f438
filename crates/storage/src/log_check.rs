//! Tells a log that was torn by a crash from one that was damaged later, before it is recovered.
//!
//! Logs are reused, so recovery has to take the first record that makes no sense for the end of
//! the log. That is right after a crash, and silently loses commits if a bit flipped in the
//! middle. The difference: after a torn end nothing of the same log follows, because each group
//! is synced before the next is written. So a log in which a later record *begins* after a bad one
//! was damaged, and the server refuses to start, naming file and offset.
//!
//! With `innodb_flush_log_at_trx_commit` 0 or 2 unsynced groups may reach the disk in any order;
//! the marker file `LOG_NOT_SYNCED` says that this was so, and a gap is then only reported.
//!
//! A log is a sequence of blocks of 32 KiB; no record header spans two (RocksDB,
//! db/log_format.h):
//!
//! | OFFSET | SIZE | DESCRIPTION                                                  |
//! |--------|------|--------------------------------------------------------------|
//! | 0      | 4    | CRC-32C of the bytes from 6 on, rotated right by 15 plus a constant |
//! | 4      | 2    | bytes of payload, u16 LE                                     |
//! | 6      | 1    | 5 whole record, 6 first, 7 middle, 8 last fragment of one    |
//! | 7      | 4    | log number, u32 LE: records of earlier uses have another     |
//! | 11     |      | payload                                                      |

use std::fs;
use std::path::{Path, PathBuf};

const BLOCK_BYTES: usize = 32 << 10;
const HEADER_BYTES: usize = 11;
const WHOLE: u8 = 5;
const FIRST: u8 = 6;
/// RocksDB's own notes, with the same header: time stamp sizes and the previous log.
const NOTES: [u8; 2] = [11, 131];
const MARKER: &str = "LOG_NOT_SYNCED";

/// Where a log stops making sense although it goes on.
#[derive(Debug, PartialEq, Eq)]
pub struct Damage {
    pub file: PathBuf,
    pub offset: usize,
}

/// Makes durable what recovery is about to read. A server that was killed between writing and syncing a log leaves a tail
/// in the page cache; if it were recovered, and followed by files and logs that are synced, a power loss would then leave
/// a hole before them.
pub fn sync_logs(dir: &Path) -> std::io::Result<()> {
    for (_, log) in logs(dir)? {
        fs::File::open(log)?.sync_all()?;
    }
    sync_dir(dir)
}

/// The first damaged log of the directory, in the order of log numbers.
pub fn find_damage(dir: &Path) -> std::io::Result<Option<Damage>> {
    for (number, file) in logs(dir)? {
        if let Some(offset) = damage_in(&fs::read(&file)?, number) {
            return Ok(Some(Damage { file, offset }));
        }
    }
    Ok(None)
}

/// In the order of their numbers.
fn logs(dir: &Path) -> std::io::Result<Vec<(u32, PathBuf)>> {
    let mut logs: Vec<(u32, PathBuf)> = Vec::new();
    for entry in fs::read_dir(dir)? {
        let path = entry?.path();
        let number = path.file_name().and_then(|n| n.to_str()).and_then(|n| n.strip_suffix(".log")).and_then(|n| n.parse().ok());
        logs.extend(number.map(|number| (number, path)));
    }
    logs.sort();
    Ok(logs)
}

/// Says that the log of this directory may have gaps that no sync promised to fill.
pub fn mark_not_synced(dir: &Path) -> std::io::Result<()> {
    fs::File::create(dir.join(MARKER))?.sync_all()?;
    sync_dir(dir)
}

/// What was created or removed in `dir` stays so.
pub fn sync_dir(dir: &Path) -> std::io::Result<()> {
    fs::File::open(dir)?.sync_all()
}

pub fn is_marked_not_synced(dir: &Path) -> bool {
    dir.join(MARKER).exists()
}

/// No log from before is needed any more.
pub fn clear_mark(dir: &Path) {
    // A mark that stays only makes the next start less strict.
    let _ = fs::remove_file(dir.join(MARKER));
}

/// The offset of the first bad record, if a record of the same log begins after it.
fn damage_in(log: &[u8], number: u32) -> Option<usize> {
    let mut at = 0;
    while let Some((_, end)) = record(log, at, number) {
        at = next_header(end);
    }
    let block_end = (at / BLOCK_BYTES + 1) * BLOCK_BYTES;
    let begins = |at: usize| record(log, at, number).filter(|(kind, _)| matches!(*kind, WHOLE | FIRST));
    let in_this_block = (at + 1..block_end.min(log.len())).any(|at| begins(at).is_some());
    (in_this_block || (block_end..log.len()).step_by(BLOCK_BYTES).any(|block| block_has_beginning(log, block, number)))
        .then_some(at)
}

/// Whether a record begins in the block, as far as its records can be followed.
fn block_has_beginning(log: &[u8], block: usize, number: u32) -> bool {
    let mut at = block;
    while let Some((kind, end)) = record(log, at, number) {
        if matches!(kind, WHOLE | FIRST) {
            return true;
        }
        at = next_header(end);
        if at >= block + BLOCK_BYTES {
            return false;
        }
    }
    false
}

/// Where the header after a record that ends at `end` is: not in a rest too short for one.
fn next_header(end: usize) -> usize {
    let rest = BLOCK_BYTES - end % BLOCK_BYTES;
    if rest < HEADER_BYTES { end + rest } else { end }
}

/// Kind and end of the intact record of log `number` at `at`.
fn record(log: &[u8], at: usize, number: u32) -> Option<(u8, usize)> {
    let header: &[u8; HEADER_BYTES] = log.get(at..)?.first_chunk()?;
    let [c0, c1, c2, c3, l0, l1, kind, n0, n1, n2, n3] = *header;
    let known = (WHOLE..=8).contains(&kind) || NOTES.contains(&kind);
    if !known || u32::from_le_bytes([n0, n1, n2, n3]) != number {
        return None;
    }
    let end = at + HEADER_BYTES + usize::from(u16::from_le_bytes([l0, l1]));
    if end > (at / BLOCK_BYTES + 1) * BLOCK_BYTES {
        return None;
    }
    let crc = crc32c::crc32c(log.get(at + 6..end)?);
    let masked = crc.rotate_right(15).wrapping_add(0xA282_EAD8);
    (masked == u32::from_le_bytes([c0, c1, c2, c3])).then_some((kind, end))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A log of records, fragmented as RocksDB does it, and where each begins.
    fn log_of(number: u32, records: &[usize]) -> (Vec<u8>, Vec<usize>) {
        let (mut log, mut begins) = (Vec::new(), Vec::new());
        for &bytes in records {
            let mut left = bytes;
            let mut first = true;
            while first || left > 0 {
                let rest = BLOCK_BYTES - log.len() % BLOCK_BYTES;
                if rest < HEADER_BYTES {
                    log.resize(log.len() + rest, 0);
                    continue;
                }
                if first {
                    begins.push(log.len());
                }
                let take = left.min(rest - HEADER_BYTES);
                let kind = match (first, take == left) {
                    (true, true) => WHOLE,
                    (true, false) => FIRST,
                    (false, false) => 7,
                    (false, true) => 8,
                };
                let at = log.len();
                log.extend([0; 4]);
                log.extend((take as u16).to_le_bytes());
                log.push(kind);
                log.extend(number.to_le_bytes());
                log.extend(vec![0x5A; take]);
                let masked = crc32c::crc32c(&log[at + 6..]).rotate_right(15).wrapping_add(0xA282_EAD8);
                log[at..at + 4].copy_from_slice(&masked.to_le_bytes());
                left -= take;
                first = false;
            }
        }
        (log, begins)
    }

    #[test]
    fn a_whole_log_and_a_torn_one_are_fine() {
        let (log, begins) = log_of(9, &[100, 40_000, 5, 70_000, 300]);
        assert_eq!(damage_in(&log, 9), None);
        assert_eq!(damage_in(&[], 9), None);
        // Torn anywhere in the last record, even with blocks of it in the wrong order.
        let last = begins[3];
        let mut torn = log[..begins[4]].to_vec();
        torn[last + 20..last + 4096].fill(0);
        assert_eq!(damage_in(&torn, 9), None);
        // Followed by what an earlier use left.
        let (old, _) = log_of(4, &[500; 300]);
        let mut reused = log.clone();
        reused.extend_from_slice(&old[log.len()..]);
        assert_eq!(damage_in(&reused, 9), None);
        reused.resize(reused.len() + 100_000, 0);
        assert_eq!(damage_in(&reused, 9), None);
    }

    #[test]
    fn a_flipped_bit_before_other_records_is_damage() {
        let (log, begins) = log_of(9, &[100, 40_000, 5, 70_000, 300]);
        for (flipped, found) in
            [(3, 0), (50, 0), (begins[1] + 4, begins[1]), (begins[2] + 12, begins[2]), (begins[3] + 100, begins[3])]
        {
            let mut bad = log.clone();
            bad[flipped] ^= 0x10;
            assert_eq!(damage_in(&bad, 9), Some(found), "bit {flipped}");
        }
        let mut bad = log;
        let last = bad.len() - 5;
        bad[last] ^= 1;
        assert_eq!(damage_in(&bad, 9), None, "nothing follows: as torn");
    }
}
