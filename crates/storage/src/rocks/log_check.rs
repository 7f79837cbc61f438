//! Tells a log that was torn by a crash from one that was damaged later, before it is recovered. The MANIFEST is one, too.
//!
//! Logs are reused, so recovery has to take the first record that makes no sense for the end of
//! the log. That is right after a crash, and silently loses commits if a bit flipped in the
//! middle. The difference: after a torn end nothing of the same log follows, because each group
//! is synced before the next is written. So a log in which a later record *begins* after a bad one
//! was damaged, and the server refuses to start, naming file and offset.
//!
//! The same holds from one log to the next: the first record of a log has the sequence number that follows the last one of the log
//! before, and RocksDB goes on to it only then. If numbers are missing, the end of the earlier log was damaged. (Files that are
//! ingested take numbers, too, but never between two logs that are needed: `Db::ingest`.)
//!
//! The newest log, and the end of it, are missed by what `newest_log` has noted: commits up to a sequence number were synced, so
//! logs and files together must go that far.
//!
//! A log that the MANIFEST says is not needed any more may look like anything: it is renamed and written over for its next
//! use, and if the power fails before the directory is synced, it has its old name back and new records.
//!
//! With `innodb_flush_log_at_trx_commit` 0 or 2 unsynced groups may reach the disk in any order;
//! the marker file `LOG_NOT_SYNCED` says that this was so, and a gap is then only reported.
//!
//! The MANIFEST is synced after each record. A flipped bit in it, too, could make RocksDB take what follows for a torn end, and
//! open an older version of the database.
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
//! | 11     |      | payload: of the whole record, 8 bytes sequence number and 4 bytes count of its writes, LE, then these |
//!
//! Records of the MANIFEST have kinds 1 to 4 for 5 to 8, and no log number: their payload begins at 7.

use std::fs;
use std::path::{Path, PathBuf};

use super::manifest::NeededLogs;
use super::newest_log;

const BLOCK_BYTES: usize = 32 << 10;
/// The first kind of record, in a log that may be reused.
const WHOLE: u8 = 5;
/// By how much kinds of the MANIFEST are less.
const ONCE: u8 = 4;
/// RocksDB's own notes, with the same header: time stamp sizes and the previous log.
const NOTES: [u8; 2] = [11, 131];
const MARKER: &str = "LOG_NOT_SYNCED";

/// What the records of a file look like.
#[derive(Clone, Copy)]
enum Format {
    /// A log of this number.
    Log(u32),
    Manifest,
}

impl Format {
    fn header_bytes(self) -> usize {
        match self {
            Format::Log(_) => 11,
            Format::Manifest => 7,
        }
    }
}

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

/// Cuts what an earlier use has left behind the records of logs, in a directory that nobody has open.
pub fn cut_logs(dir: &Path) -> std::io::Result<()> {
    for (number, path) in logs(dir)? {
        let end = Content::of(&fs::read(&path)?, number).end;
        fs::OpenOptions::new().write(true).open(&path)?.set_len(end as u64)?;
    }
    Ok(())
}

/// The logs that recovery reads.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Logs {
    /// The first damage, in the order of log numbers.
    pub damage: Option<Damage>,
    /// The sequence number that follows their last record; `None` if they have none.
    pub next_sequence: Option<u64>,
    /// What was noted of the newest log, if logs and files do not go so far.
    pub missing: Option<Missing>,
}

/// Commits that were synced and are not there.
#[derive(Debug, PartialEq, Eq)]
pub struct Missing {
    /// The log that had them.
    pub file: PathBuf,
    pub synced_to: u64,
    pub there_to: u64,
}

pub fn check(dir: &Path) -> std::io::Result<Logs> {
    let needed = needed_logs(dir)?;
    let oldest = needed.as_ref().map_or(0, NeededLogs::oldest);
    let mut checked = Logs::default();
    // Where the log before ends.
    let mut before = None;
    for (number, file) in logs(dir)?.into_iter().filter(|(number, _)| u64::from(*number) >= oldest) {
        let log = fs::read(&file)?;
        let content = Content::of(&log, number);
        if let (Some(expected), Some(first), Some((file, offset))) = (checked.next_sequence, content.first, before)
            && first > expected
        {
            checked.damage.get_or_insert(Damage { file, offset });
        }
        if let Some(offset) = damage_in(&log, Format::Log(number)) {
            checked.damage.get_or_insert(Damage { file: file.clone(), offset });
        }
        checked.next_sequence = content.next.or(checked.next_sequence);
        before = Some((file, content.end));
    }
    if let (Some(needed), Some(noted)) = (needed, newest_log::read(dir)?) {
        let in_logs = checked.next_sequence.map_or(0, |next| next.saturating_sub(1));
        let there_to = in_logs.max(needed.last_sequence());
        let file = dir.join(format!("{:06}.log", noted.log));
        checked.missing = (noted.sequence > there_to).then_some(Missing { file, synced_to: noted.sequence, there_to });
    }
    Ok(checked)
}

/// What the intact records at the start of a log are about.
#[derive(Debug, PartialEq, Eq)]
struct Content {
    /// The sequence numbers of the first record and of the one that would follow the last.
    first: Option<u64>,
    next: Option<u64>,
    end: usize,
}

impl Content {
    fn of(log: &[u8], number: u32) -> Content {
        const HEAD_BYTES: usize = 12;
        let format = Format::Log(number);
        let mut content = Content { first: None, next: None, end: 0 };
        let (mut head, mut at) = (Vec::with_capacity(HEAD_BYTES), 0);
        while let Some((kind, end)) = record(log, at, format) {
            if kind.begins() {
                head.clear();
            }
            if kind != Kind::Note {
                let wanted = HEAD_BYTES - head.len();
                head.extend(log[at + format.header_bytes()..end].iter().take(wanted));
            }
            if kind.ends()
                && let Some((sequence, count)) = head.split_first_chunk::<8>()
                && let Some(count) = count.first_chunk::<4>()
            {
                let sequence = u64::from_le_bytes(*sequence);
                content.first.get_or_insert(sequence);
                content.next = Some(sequence.saturating_add(u64::from(u32::from_le_bytes(*count))));
            }
            content.end = end;
            at = next_header(end, format);
        }
        content
    }
}

/// Damage in the MANIFEST that CURRENT names. If there is none, RocksDB says so.
pub fn find_manifest_damage(dir: &Path) -> std::io::Result<Option<Damage>> {
    let Some((file, bytes)) = manifest(dir)? else { return Ok(None) };
    Ok(damage_in(&bytes, Format::Manifest).map(|offset| Damage { file, offset }))
}

fn manifest(dir: &Path) -> std::io::Result<Option<(PathBuf, Vec<u8>)>> {
    let Ok(name) = fs::read_to_string(dir.join("CURRENT")) else { return Ok(None) };
    let file = dir.join(name.trim_end());
    match fs::read(&file) {
        Ok(bytes) => Ok(Some((file, bytes))),
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(e) => Err(e),
    }
}

/// What the MANIFEST says of logs; `None` where there is none or it makes no sense.
fn needed_logs(dir: &Path) -> std::io::Result<Option<NeededLogs>> {
    let Some((_, bytes)) = manifest(dir)? else { return Ok(None) };
    let (mut needed, mut edit, mut at) = (NeededLogs::default(), Vec::new(), 0);
    while let Some((kind, end)) = record(&bytes, at, Format::Manifest) {
        if kind.begins() {
            edit.clear();
        }
        edit.extend_from_slice(bytes.get(at + Format::Manifest.header_bytes()..end).unwrap_or(&[]));
        if kind.ends() && !needed.add(&edit) {
            return Ok(None);
        }
        at = next_header(end, Format::Manifest);
    }
    Ok(Some(needed))
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
fn damage_in(log: &[u8], format: Format) -> Option<usize> {
    let mut at = 0;
    while let Some((_, end)) = record(log, at, format) {
        at = next_header(end, format);
    }
    let block_end = (at / BLOCK_BYTES + 1) * BLOCK_BYTES;
    let begins = |at: usize| record(log, at, format).is_some_and(|(kind, _)| kind.begins());
    let in_this_block = (at + 1..block_end.min(log.len())).any(begins);
    (in_this_block || (block_end..log.len()).step_by(BLOCK_BYTES).any(|block| block_has_beginning(log, block, format)))
        .then_some(at)
}

/// Whether a record begins in the block, as far as its records can be followed.
fn block_has_beginning(log: &[u8], block: usize, format: Format) -> bool {
    let mut at = block;
    while let Some((kind, end)) = record(log, at, format) {
        if kind.begins() {
            return true;
        }
        at = next_header(end, format);
        if at >= block + BLOCK_BYTES {
            return false;
        }
    }
    false
}

/// Where the header after a record that ends at `end` is: not in a rest too short for one.
fn next_header(end: usize, format: Format) -> usize {
    let rest = BLOCK_BYTES - end % BLOCK_BYTES;
    if rest < format.header_bytes() { end + rest } else { end }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Whole,
    First,
    Middle,
    Last,
    Note,
}

impl Kind {
    fn begins(self) -> bool {
        matches!(self, Kind::Whole | Kind::First)
    }

    fn ends(self) -> bool {
        matches!(self, Kind::Whole | Kind::Last)
    }
}

/// Kind and end of the intact record at `at`.
fn record(log: &[u8], at: usize, format: Format) -> Option<(Kind, usize)> {
    let [c0, c1, c2, c3, l0, l1, kind] = *log.get(at..)?.first_chunk::<7>()?;
    let whole = match format {
        Format::Log(number) => {
            let stored = log.get(at + 7..)?.first_chunk::<4>()?;
            if u32::from_le_bytes(*stored) != number {
                return None;
            }
            WHOLE
        }
        Format::Manifest => WHOLE - ONCE,
    };
    let kind = match kind.wrapping_sub(whole) {
        0 => Kind::Whole,
        1 => Kind::First,
        2 => Kind::Middle,
        3 => Kind::Last,
        _ if NOTES.contains(&kind) && matches!(format, Format::Log(_)) => Kind::Note,
        _ => return None,
    };
    let end = at + format.header_bytes() + usize::from(u16::from_le_bytes([l0, l1]));
    if end > (at / BLOCK_BYTES + 1) * BLOCK_BYTES {
        return None;
    }
    let crc = crc32c::crc32c(log.get(at + 6..end)?);
    let masked = crc.rotate_right(15).wrapping_add(0xA282_EAD8);
    (masked == u32::from_le_bytes([c0, c1, c2, c3])).then_some((kind, end))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::{Engine, EngineHooks, EngineOptions, TxnOptions};

    /// A log of records, fragmented as RocksDB does it, and where each begins.
    fn log_of(format: Format, records: &[usize]) -> (Vec<u8>, Vec<usize>) {
        let header_bytes = format.header_bytes();
        let (mut log, mut begins) = (Vec::new(), Vec::new());
        for &bytes in records {
            let mut left = bytes;
            let mut first = true;
            while first || left > 0 {
                let rest = BLOCK_BYTES - log.len() % BLOCK_BYTES;
                if rest < header_bytes {
                    log.resize(log.len() + rest, 0);
                    continue;
                }
                if first {
                    begins.push(log.len());
                }
                let take = left.min(rest - header_bytes);
                let kind = match (first, take == left) {
                    (true, true) => WHOLE,
                    (true, false) => WHOLE + 1,
                    (false, false) => WHOLE + 2,
                    (false, true) => WHOLE + 3,
                };
                let at = log.len();
                log.extend([0; 4]);
                log.extend((take as u16).to_le_bytes());
                match format {
                    Format::Log(number) => log.extend([&[kind], &number.to_le_bytes()[..]].concat()),
                    Format::Manifest => log.push(kind - ONCE),
                }
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
        let format = Format::Log(9);
        let (log, begins) = log_of(format, &[100, 40_000, 5, 70_000, 300]);
        assert_eq!(damage_in(&log, format), None);
        assert_eq!(damage_in(&[], format), None);
        // Torn anywhere in the last record, even with blocks of it in the wrong order.
        let last = begins[3];
        let mut torn = log[..begins[4]].to_vec();
        torn[last + 20..last + 4096].fill(0);
        assert_eq!(damage_in(&torn, format), None);
        // Followed by what an earlier use left.
        let (old, _) = log_of(Format::Log(4), &[500; 300]);
        let mut reused = log.clone();
        reused.extend_from_slice(&old[log.len()..]);
        assert_eq!(damage_in(&reused, format), None);
        reused.resize(reused.len() + 100_000, 0);
        assert_eq!(damage_in(&reused, format), None);
    }

    #[test]
    fn only_a_log_that_is_needed_can_be_damaged() {
        let dir = tempfile::tempdir().unwrap();
        let options = EngineOptions { warm_log: false, ..EngineOptions::default() };
        let engine = Engine::open(dir.path(), options, EngineHooks::default()).unwrap();
        let mut needed = Vec::new();
        for round in 0..3u8 {
            let mut txn = engine.begin(TxnOptions::default());
            txn.put(&[1, round], &[round]).unwrap();
            txn.commit_wait().unwrap();
            engine.flush_memtables().unwrap();
            needed.push(needed_logs(dir.path()).unwrap().unwrap().oldest());
            let known = engine.db().property("rocksdb.min-log-number-to-keep").unwrap();
            assert_eq!(known.parse(), Ok(needed[usize::from(round)]));
        }
        assert!(needed[0] < needed[2], "{needed:?}");
        drop(engine);
        let dir = dir.path();
        assert_eq!(check(dir).unwrap().damage, None);
        let oldest = needed[2] as u32;
        for (number, damaged) in [(oldest - 1, false), (oldest, true)] {
            let (mut log, begins) = log_of(Format::Log(number), &[100, 100]);
            log[20] ^= 1;
            assert_eq!(begins[0], 0);
            let file = dir.join(format!("{number:06}.log"));
            fs::write(&file, log).unwrap();
            assert_eq!(check(dir).unwrap().damage, damaged.then_some(Damage { file, offset: 0 }));
        }
    }

    #[test]
    fn a_flipped_bit_before_other_records_is_damage() {
        for format in [Format::Log(9), Format::Manifest] {
            let (log, begins) = log_of(format, &[100, 40_000, 5, 70_000, 300]);
            for (flipped, found) in
                [(3, 0), (50, 0), (begins[1] + 4, begins[1]), (begins[2] + 1, begins[2]), (begins[3] + 100, begins[3])]
            {
                let mut bad = log.clone();
                bad[flipped] ^= 0x10;
                assert_eq!(damage_in(&bad, format), Some(found), "bit {flipped}");
            }
            let mut bad = log;
            let last = bad.len() - 5;
            bad[last] ^= 1;
            assert_eq!(damage_in(&bad, format), None, "nothing follows: as torn");
        }
    }

    /// An engine whose logs have been used before.
    fn engine_with_old_logs(dir: &Path) -> Arc<Engine> {
        let options = EngineOptions { warm_log: false, ..EngineOptions::default() };
        let engine = Engine::open(dir, options, EngineHooks::default()).unwrap();
        for round in 0..4 {
            for commit in 0..20 {
                put(&engine, &[0, round, commit], 5);
            }
            engine.flush_memtables().unwrap();
        }
        engine
    }

    /// Keys of `prefix` in one commit.
    fn put(engine: &Arc<Engine>, prefix: &[u8], keys: u8) {
        let mut txn = engine.begin(TxnOptions::default());
        for key in 0..keys {
            txn.put(&[prefix, &[key]].concat(), &[key; 60]).unwrap();
        }
        txn.commit_wait().unwrap();
    }

    fn has(engine: &Arc<Engine>, key: &[u8]) -> bool {
        engine.begin(TxnOptions::default()).get(key, crate::Version::Latest, &mut Vec::new()).unwrap()
    }

    /// The files of `from` that are not in `to`.
    fn copy_files(from: &Path, to: &Path) {
        for entry in fs::read_dir(from).unwrap() {
            let entry = entry.unwrap();
            let target = to.join(entry.file_name());
            let copied = entry.file_type().and_then(|kind| match kind.is_file() && !target.exists() {
                true => fs::copy(entry.path(), &target).map(drop),
                false => Ok(()),
            });
            // A file that nothing refers to any more may be removed meanwhile.
            if let Err(error) = copied {
                assert_eq!(error.kind(), std::io::ErrorKind::NotFound);
            }
        }
    }

    #[test]
    fn the_next_sequence_number_is_that_of_the_logs() {
        let dir = tempfile::tempdir().unwrap();
        let engine = engine_with_old_logs(dir.path());
        for (round, keys) in [1, 2, 5].into_iter().enumerate() {
            put(&engine, &[1, round as u8], keys);
            let expected = Logs { damage: None, next_sequence: Some(engine.db().latest_sequence() + 1), missing: None };
            assert_eq!(check(dir.path()).unwrap(), expected);
        }
        // Records of several blocks, with heads that are cut anywhere.
        for first in BLOCK_BYTES - 60..BLOCK_BYTES {
            let (log, begins) = log_of(Format::Log(3), &[first, 30_000, 100]);
            let content = Content::of(&log, 3);
            let head = 0x5A5A_5A5A_5A5A_5A5A_u64;
            assert_eq!(content, Content { first: Some(head), next: Some(head + 0x5A5A_5A5A), end: log.len() }, "{begins:?}");
        }
    }

    fn open(dir: &Path, accept_damaged_log: bool) -> vaquita_types::Result<Arc<Engine>> {
        let options = EngineOptions { warm_log: false, accept_damaged_log, ..EngineOptions::default() };
        Engine::open(dir, options, EngineHooks::default())
    }

    /// Whatever the age of the newest log, and whether the engine was stopped or copied while it ran.
    #[test]
    fn a_newest_log_that_is_gone_is_missed() {
        for (flushes, stopped) in [(0, false), (0, true), (1, false), (2, true)] {
            let dir = tempfile::tempdir().unwrap();
            let engine = open(dir.path(), false).unwrap();
            for flush in 0..flushes {
                put(&engine, &[1, flush], 3);
                engine.flush_memtables().unwrap();
            }
            put(&engine, &[2], 1);
            let copy = tempfile::tempdir().unwrap();
            if !stopped {
                copy_files(dir.path(), copy.path());
            }
            drop(engine);
            if stopped {
                copy_files(dir.path(), copy.path());
            }
            let newest = logs(copy.path()).unwrap().pop().unwrap().1;
            let log = fs::read(&newest).unwrap();
            for damage in ["missing", "lost its end"] {
                match damage {
                    "missing" => fs::remove_file(&newest).unwrap(),
                    _ => fs::write(&newest, "").unwrap(),
                }
                let refused = open(copy.path(), false).map(drop).unwrap_err();
                let text = refused.message();
                assert!(text.contains(damage) && text.contains(newest.to_str().unwrap()), "{text}");
            }
            fs::write(&newest, &log).unwrap();
            assert!(has(&open(copy.path(), false).unwrap(), &[2, 0]));
            // Who accepts the loss is not asked again.
            let newest = logs(copy.path()).unwrap().pop().unwrap().1;
            let lost = copy_with_a_commit_and_without_its_log(copy.path(), &newest);
            open(lost.path(), false).map(drop).unwrap_err();
            open(lost.path(), true).unwrap();
            put(&open(lost.path(), false).unwrap(), &[4], 1);
            open(lost.path(), false).unwrap();
        }
    }

    fn copy_with_a_commit_and_without_its_log(from: &Path, before: &Path) -> tempfile::TempDir {
        let engine = open(from, false).unwrap();
        put(&engine, &[3], 1);
        let copy = tempfile::tempdir().unwrap();
        copy_files(from, copy.path());
        let newest = logs(copy.path()).unwrap().pop().unwrap().1;
        assert_ne!(newest.file_name(), before.file_name());
        fs::remove_file(newest).unwrap();
        copy
    }

    /// A round later a log that lost its end is missed, too, not only one that lost everything.
    #[test]
    fn the_end_of_the_newest_log_is_missed_after_a_round() {
        let dir = tempfile::tempdir().unwrap();
        let engine = open(dir.path(), false).unwrap();
        put(&engine, &[1], 3);
        let newest = logs(dir.path()).unwrap().pop().unwrap().1;
        let cut = fs::metadata(&newest).unwrap().len();
        put(&engine, &[2], 1);
        engine.db().note_newest_log(engine.db().settled_sequence()).unwrap();
        let copy = tempfile::tempdir().unwrap();
        copy_files(dir.path(), copy.path());
        let newest = copy.path().join(newest.file_name().unwrap());
        fs::OpenOptions::new().write(true).open(&newest).unwrap().set_len(cut).unwrap();
        assert!(open(copy.path(), false).map(drop).unwrap_err().message().contains("lost its end"));
    }

    /// Files take a sequence number that no log has. With a flush under way after that, the log from before and the next one are needed.
    #[test]
    fn commits_that_follow_ingested_files_are_recovered() {
        let (dir, crashed) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let engine = engine_with_old_logs(dir.path());
        put(&engine, b"before", 1);
        let files = engine.new_files().unwrap();
        let mut writer = files.writer();
        writer.add(b"files", Some(b"")).and_then(|()| writer.finish()).unwrap();
        drop(writer);
        engine.db().ingest(files).0.unwrap();
        // The memtables went before, and the log with them.
        assert_eq!(check(dir.path()).unwrap().next_sequence, None);
        copy_files(dir.path(), crashed.path());
        engine.flush_memtables().unwrap();
        let newest = logs(dir.path()).unwrap().pop().unwrap();
        put(&engine, b"after", 1);
        fs::copy(&newest.1, crashed.path().join(newest.1.file_name().unwrap())).unwrap();
        let engine = Engine::open(crashed.path(), EngineOptions::default(), EngineHooks::default()).unwrap();
        for key in [b"before\0".as_slice(), b"files", b"after\0"] {
            assert!(has(&engine, key), "{key:?}");
        }
    }

    #[test]
    fn a_log_that_lost_its_end_to_damage_is_not_passed_over() {
        let (dir, crashed) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let engine = engine_with_old_logs(dir.path());
        put(&engine, b"first", 1);
        let log = logs(dir.path()).unwrap().pop().unwrap();
        let end = Content::of(&fs::read(&log.1).unwrap(), log.0).end;
        put(&engine, b"last", 1);
        copy_files(dir.path(), crashed.path());
        engine.flush_memtables().unwrap();
        put(&engine, b"after", 1);
        copy_files(dir.path(), crashed.path());
        assert_eq!(check(crashed.path()).unwrap().damage, None);
        let file = crashed.path().join(log.1.file_name().unwrap());
        let mut bytes = fs::read(&file).unwrap();
        bytes[end + 40] ^= 1;
        fs::write(&file, bytes).unwrap();
        assert_eq!(check(crashed.path()).unwrap().damage, Some(Damage { file: file.clone(), offset: end }));
        let error = Engine::open(crashed.path(), EngineOptions::default(), EngineHooks::default()).err().unwrap();
        assert!(error.message().contains(&format!("{} is damaged at offset {end}", file.display())), "{}", error.message());
        let options = EngineOptions { accept_damaged_log: true, ..EngineOptions::default() };
        let engine = Engine::open(crashed.path(), options, EngineHooks::default()).unwrap();
        assert!(has(&engine, b"first\0") && !has(&engine, b"last\0") && !has(&engine, b"after\0"));
    }
}
