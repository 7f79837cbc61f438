//! The file of the history: a ring for each length of step, of records that each stand in a place of their own.
//!
//! ```text
//! OFFSET  SIZE          DESCRIPTION
//! 0       8             "VQHISTRY"
//! 8       4             version of the format
//! 12      4             CRC-32 of what follows, up to the records
//! 16      4             bytes of the names
//! 20      4             number of rings
//! 24      8 each        of each ring the length of a step in seconds, and how many steps it has
//! …       …             the names of the series, a line each
//! 8192    record each   the rings, one behind the other
//!
//! a record
//! 0       4             CRC-32 of the rest
//! 4       4             when its step begins, in seconds since 1970
//! 8       4             milliseconds of it that the numbers cover
//! 12      4 each        the numbers of the series, IEEE 754
//! ```
//! All numbers are little-endian. The record of a step stands at `begin / step % steps` of its ring: that of 12:00:10 in the ring of 10 seconds takes
//! the place of that of six hours before. A moment is added to the record of its step in each ring, whose numbers are means of what is covered. A
//! record that was torn, or that another step left, has the wrong sum or time, and is none.
//!
//! * RINGS-1: nothing is synced, and nobody waits for it: what a process has written survives its end, and of a machine's end the last half minute
//!   may be missing.
//! * RINGS-2: the file never grows.
//! * RINGS-3: a file that is none of ours, or whose head is damaged, is put aside under another name. One of another version's series keeps those
//!   that are still there.

use std::fs::{File, OpenOptions};
use std::io::{Error, ErrorKind, Result};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use super::series::{SERIES, Values, names};

const MAGIC: &[u8; 8] = b"VQHISTRY";
const VERSION: u32 = 1;
const HEAD_BYTES: usize = 8192;
/// What stands before the rings' table in the head.
const HEAD_FIXED_BYTES: usize = 24;
const SUMMED_FROM: usize = 16;
const RECORD_HEAD_BYTES: usize = 12;
const RECORD_BYTES: usize = RECORD_HEAD_BYTES + 4 * SERIES;
/// More than any file of ours has, so that a head that was made up allocates little.
const NAMES_MAX: usize = 4096;
const RINGS_MAX: usize = 16;
const STEPS_MAX: u64 = 1 << 20;

/// Steps of one length, the last of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ring {
    pub step_s: u64,
    pub steps: u64,
}

/// Six hours of 10 seconds, two days of minutes, two weeks and a day of ten minutes.
pub const RINGS: [Ring; 3] =
    [Ring { step_s: 10, steps: 2160 }, Ring { step_s: 60, steps: 2880 }, Ring { step_s: 600, steps: 2160 }];

const _: () = assert!(file_bytes() < 3 << 20, "the history is small");

const fn file_bytes() -> u64 {
    let (mut at, mut steps) = (0, 0);
    while at < RINGS.len() {
        steps += RINGS[at].steps;
        at += 1;
    }
    HEAD_BYTES as u64 + steps * RECORD_BYTES as u64
}

/// What is known of a step.
#[derive(Clone, Debug, PartialEq)]
pub struct Record {
    /// In seconds since 1970.
    pub begin_s: u64,
    pub covered_ms: u32,
    pub values: Values,
}

pub struct Rings {
    file: File,
}

impl Rings {
    /// Opens or makes the file.
    pub fn open(path: &Path) -> Result<Rings> {
        let file = OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(0o600).open(path)?;
        if file.metadata()?.len() == 0 {
            return Rings::make(file);
        }
        match Head::read(&file) {
            Ok(head) if head == Head::own() => Ok(Rings { file }),
            Ok(other) => {
                let new = beside(path, "new");
                let rings =
                    Rings::make(OpenOptions::new().read(true).write(true).create(true).truncate(true).mode(0o600).open(&new)?)?;
                rings.take(&file, &other)?;
                std::fs::rename(&new, path)?;
                Ok(rings)
            }
            Err(error) => {
                let aside = beside(path, "damaged");
                std::fs::rename(path, &aside)?;
                tracing::error!(
                    "the history of metrics is no history ({error}); it is now {}, and a new one begins",
                    aside.display()
                );
                Rings::open(path)
            }
        }
    }

    fn make(file: File) -> Result<Rings> {
        file.set_len(file_bytes())?;
        file.write_all_at(&Head::own().bytes(), 0)?;
        Ok(Rings { file })
    }

    /// Records of a file with other series or rings.
    fn take(&self, file: &File, head: &Head) -> Result<()> {
        let names = names();
        let columns: Vec<Option<usize>> = head.names.iter().map(|name| names.iter().position(|known| known == name)).collect();
        let record_bytes = RECORD_HEAD_BYTES + 4 * head.names.len();
        let mut from = HEAD_BYTES as u64;
        for ring in &head.rings {
            let own = RINGS.iter().position(|known| known.step_s == ring.step_s);
            let mut record = vec![0; record_bytes];
            for at in 0..ring.steps {
                if file.read_exact_at(&mut record, from + at * record_bytes as u64).is_err() {
                    break;
                }
                let Some((begin_s, covered_ms, numbers)) = parse(&record) else { continue };
                let mut values = Values::default();
                for (number, column) in numbers.zip(&columns) {
                    if let Some(column) = column {
                        values.0[*column] = number;
                    }
                }
                if let Some(own) = own {
                    self.put(own, &Record { begin_s, covered_ms, values })?;
                }
            }
            from += ring.steps * record_bytes as u64;
        }
        Ok(())
    }

    /// Adds what happened in `covered_ms` around `at_s`, which is in seconds since 1970.
    pub fn add(&self, at_s: u64, covered_ms: u32, values: &Values) -> Result<()> {
        for (ring, Ring { step_s, .. }) in RINGS.iter().enumerate() {
            let begin_s = at_s - at_s % step_s;
            let record = match self.at(ring, begin_s)? {
                Some(before) => Record {
                    begin_s,
                    covered_ms: before.covered_ms.saturating_add(covered_ms),
                    values: before.values.mean(before.covered_ms, values, covered_ms),
                },
                None => Record { begin_s, covered_ms, values: values.clone() },
            };
            self.put(ring, &record)?;
        }
        Ok(())
    }

    /// Records of steps that begin in `from_s..to_s`, the oldest first.
    pub fn records(&self, ring: usize, from_s: u64, to_s: u64) -> Result<Vec<Record>> {
        let Ring { step_s, steps } = RINGS[ring];
        let first = from_s.div_ceil(step_s);
        let last = to_s.div_ceil(step_s).min(first + steps);
        let mut records = Vec::new();
        let mut next = first;
        while next < last {
            // Up to the end of the ring at once.
            let count = (last - next).min(steps - next % steps);
            let mut bytes = vec![0; count as usize * RECORD_BYTES];
            self.file.read_exact_at(&mut bytes, place(ring, next * step_s))?;
            let of_steps = (next..next + count).zip(bytes.chunks_exact(RECORD_BYTES));
            records.extend(of_steps.filter_map(|(step, bytes)| record(bytes).filter(|record| record.begin_s == step * step_s)));
            next += count;
        }
        Ok(records)
    }

    fn at(&self, ring: usize, begin_s: u64) -> Result<Option<Record>> {
        let mut bytes = [0; RECORD_BYTES];
        self.file.read_exact_at(&mut bytes, place(ring, begin_s))?;
        Ok(record(&bytes).filter(|record| record.begin_s == begin_s))
    }

    fn put(&self, ring: usize, record: &Record) -> Result<()> {
        let mut bytes = [0; RECORD_BYTES];
        bytes[4..8].copy_from_slice(&(record.begin_s as u32).to_le_bytes());
        bytes[8..12].copy_from_slice(&record.covered_ms.to_le_bytes());
        for (place, number) in bytes[RECORD_HEAD_BYTES..].chunks_exact_mut(4).zip(record.values.0) {
            place.copy_from_slice(&number.to_le_bytes());
        }
        let sum = crc32fast::hash(&bytes[4..]);
        bytes[..4].copy_from_slice(&sum.to_le_bytes());
        self.file.write_all_at(&bytes, place(ring, record.begin_s))
    }
}

fn beside(path: &Path, end: &str) -> PathBuf {
    let mut name = path.as_os_str().to_os_string();
    name.push(format!(".{end}"));
    PathBuf::from(name)
}

/// Where the record of a step stands.
fn place(ring: usize, begin_s: u64) -> u64 {
    let before: u64 = RINGS[..ring].iter().map(|ring| ring.steps).sum();
    let Ring { step_s, steps } = RINGS[ring];
    HEAD_BYTES as u64 + (before + begin_s / step_s % steps) * RECORD_BYTES as u64
}

/// Begin, milliseconds and numbers of a record; `None` if it is none.
fn parse(bytes: &[u8]) -> Option<(u64, u32, impl Iterator<Item = f32>)> {
    let (sum, rest) = bytes.split_first_chunk::<4>()?;
    let (begin_s, numbers) = rest.split_first_chunk::<4>()?;
    let (covered_ms, numbers) = numbers.split_first_chunk::<4>()?;
    // A place that nobody has written has no sum.
    let is_whole = u32::from_le_bytes(*sum) == crc32fast::hash(rest);
    let numbers = numbers.as_chunks::<4>().0.iter().map(|bytes| f32::from_le_bytes(*bytes));
    is_whole.then(|| (u64::from(u32::from_le_bytes(*begin_s)), u32::from_le_bytes(*covered_ms), numbers))
}

fn record(bytes: &[u8]) -> Option<Record> {
    let (begin_s, covered_ms, numbers) = parse(bytes)?;
    let mut values = Values::default();
    values.0.iter_mut().zip(numbers).for_each(|(value, number)| *value = number);
    Some(Record { begin_s, covered_ms, values })
}

/// What a file says of itself.
#[derive(Debug, PartialEq, Eq)]
struct Head {
    rings: Vec<Ring>,
    names: Vec<String>,
}

impl Head {
    fn own() -> Head {
        Head { rings: RINGS.to_vec(), names: names() }
    }

    fn bytes(&self) -> Vec<u8> {
        let names = self.names.join("\n");
        let mut bytes = Vec::with_capacity(HEAD_BYTES);
        bytes.extend_from_slice(MAGIC);
        bytes.extend_from_slice(&VERSION.to_le_bytes());
        bytes.extend_from_slice(&[0; 4]);
        bytes.extend_from_slice(&(names.len() as u32).to_le_bytes());
        bytes.extend_from_slice(&(self.rings.len() as u32).to_le_bytes());
        for ring in &self.rings {
            bytes.extend_from_slice(&(ring.step_s as u32).to_le_bytes());
            bytes.extend_from_slice(&(ring.steps as u32).to_le_bytes());
        }
        bytes.extend_from_slice(names.as_bytes());
        bytes.resize(HEAD_BYTES, 0);
        let sum = crc32fast::hash(&bytes[SUMMED_FROM..]);
        bytes[12..16].copy_from_slice(&sum.to_le_bytes());
        bytes
    }

    fn read(file: &File) -> Result<Head> {
        let mut bytes = vec![0; HEAD_BYTES];
        file.read_exact_at(&mut bytes, 0)?;
        Head::parse(&bytes).ok_or_else(|| Error::new(ErrorKind::InvalidData, "its head is not one of ours"))
    }

    fn parse(bytes: &[u8]) -> Option<Head> {
        let number = |at: usize| Some(u32::from_le_bytes(*bytes.get(at..)?.first_chunk()?));
        let is_ours =
            bytes.starts_with(MAGIC) && number(8)? == VERSION && number(12)? == crc32fast::hash(bytes.get(SUMMED_FROM..)?);
        let (names_bytes, rings) = (number(16)? as usize, number(20)? as usize);
        if !is_ours || rings > RINGS_MAX {
            return None;
        }
        let ring = |at: usize| {
            let (step_s, steps) = (u64::from(number(at)?), u64::from(number(at + 4)?));
            (step_s > 0 && (1..=STEPS_MAX).contains(&steps)).then_some(Ring { step_s, steps })
        };
        let rings = (0..rings).map(|at| ring(HEAD_FIXED_BYTES + 8 * at)).collect::<Option<Vec<Ring>>>()?;
        let from = HEAD_FIXED_BYTES + 8 * rings.len();
        let names = std::str::from_utf8(bytes.get(from..from.checked_add(names_bytes)?)?).ok()?;
        let names: Vec<String> = names.lines().map(str::to_string).collect();
        (names.len() <= NAMES_MAX).then_some(Head { rings, names })
    }
}

#[cfg(test)]
mod tests {
    use super::super::series::Series;
    use super::*;

    /// Noon of some day.
    const NOON_S: u64 = 1_700_049_600;

    fn dir(name: &str) -> PathBuf {
        let dir = std::env::temp_dir().join(format!("vaquita-history-{}-{name}", std::process::id()));
        let _ = std::fs::remove_dir_all(&dir);
        std::fs::create_dir_all(&dir).expect("a directory");
        dir
    }

    fn all(value: f32) -> Values {
        Values([value; SERIES])
    }

    fn firsts(records: &[Record]) -> Vec<(u64, u32, f32)> {
        let rounded = |value: f32| (value * 1000.0).round() / 1000.0;
        records.iter().map(|record| (record.begin_s - NOON_S, record.covered_ms, rounded(record.values.0[0]))).collect()
    }

    #[test]
    fn a_moment_is_part_of_a_step_of_each_ring() {
        let dir = dir("steps");
        let rings = Rings::open(&dir.join("history")).expect("opens");
        for n in 0..9 {
            rings.add(NOON_S + 10 * n + 5, 10_000, &all(n as f32)).expect("writes");
        }
        // Of a step that has been written before.
        rings.add(NOON_S + 8, 10_000, &all(2.0)).expect("writes");
        let of = |ring| rings.records(ring, NOON_S, NOON_S + 86_400).expect("reads");
        assert_eq!(firsts(&of(0))[..2], [(0, 20_000, 1.0), (10, 10_000, 1.0)]);
        assert_eq!(of(0).len(), 9);
        assert_eq!(firsts(&of(1)), [(0, 70_000, 2.429), (60, 30_000, 7.0)]);
        assert_eq!(firsts(&of(2)), [(0, 100_000, 3.8)]);
        std::fs::remove_dir_all(dir).expect("removes");
    }

    #[test]
    fn rings_are_round_and_the_file_keeps_its_size() {
        let dir = dir("round");
        let path = dir.join("history");
        let rings = Rings::open(&path).expect("opens");
        let Ring { step_s, steps } = RINGS[2];
        let count = steps + 10;
        for n in 0..count {
            rings.add(NOON_S + n * step_s, 600_000, &all(n as f32)).expect("writes");
        }
        let kept = rings.records(2, NOON_S, NOON_S + count * step_s).expect("reads");
        // Asked from before its beginning, a ring has what is left.
        assert_eq!(kept.len() as u64, steps - 10);
        let last = rings.records(2, NOON_S + 10 * step_s, NOON_S + count * step_s).expect("reads");
        assert_eq!((last.len() as u64, last[0].values.0[0]), (steps, 10.0));
        assert_eq!(std::fs::metadata(&path).expect("a file").len(), file_bytes());
        // Two weeks are there.
        assert!(steps * step_s >= 14 * 86_400);
        std::fs::remove_dir_all(dir).expect("removes");
    }

    #[test]
    fn what_was_written_is_there_after_the_next_start() {
        let dir = dir("again");
        let path = dir.join("history");
        Rings::open(&path).expect("opens").add(NOON_S, 10_000, &all(7.0)).expect("writes");
        let again = Rings::open(&path).expect("opens");
        assert_eq!(firsts(&again.records(0, NOON_S, NOON_S + 10).expect("reads")), [(0, 10_000, 7.0)]);
        // A torn record is none, and the others stay.
        again.add(NOON_S + 10, 10_000, &all(8.0)).expect("writes");
        again.file.write_all_at(b"torn", place(0, NOON_S) + 20).expect("writes");
        assert_eq!(firsts(&again.records(0, NOON_S, NOON_S + 20).expect("reads")), [(10, 10_000, 8.0)]);
        std::fs::remove_dir_all(dir).expect("removes");
    }

    #[test]
    fn what_is_no_history_is_put_aside() {
        let dir = dir("aside");
        let path = dir.join("history");
        let mut damaged = Head::own().bytes();
        damaged[HEAD_FIXED_BYTES] ^= 1;
        for foreign in [b"short".to_vec(), vec![0; 100_000], damaged, [b"x".repeat(HEAD_BYTES), vec![1; 5000]].concat()] {
            std::fs::write(&path, &foreign).expect("writes");
            let rings = Rings::open(&path).expect("opens");
            rings.add(NOON_S, 1000, &all(1.0)).expect("writes");
            assert_eq!(rings.records(0, NOON_S, NOON_S + 10).expect("reads").len(), 1);
            assert_eq!(std::fs::read(dir.join("history.damaged")).expect("is aside"), foreign);
        }
        std::fs::remove_dir_all(dir).expect("removes");
    }

    #[test]
    fn series_of_another_version_are_taken_over() {
        let dir = dir("versions");
        let path = dir.join("history");
        // A version with one series that is gone, in another order, and with another ring.
        let head = Head {
            rings: vec![Ring { step_s: 5, steps: 4 }, Ring { step_s: 60, steps: 10 }],
            names: vec!["gone".to_string(), "updates".to_string(), "selects".to_string()],
        };
        let mut bytes = head.bytes();
        for step in 0..14u32 {
            let begin_s = NOON_S as u32 + 60 * step;
            let mut rest = [begin_s.to_le_bytes(), 60_000u32.to_le_bytes()].concat();
            [1.0f32, 2.0, 3.0].iter().for_each(|number| rest.extend_from_slice(&number.to_le_bytes()));
            bytes.extend_from_slice(&crc32fast::hash(&rest).to_le_bytes());
            bytes.extend_from_slice(&rest);
        }
        std::fs::write(&path, bytes).expect("writes");
        let rings = Rings::open(&path).expect("opens");
        let kept = rings.records(1, NOON_S, NOON_S + 3600).expect("reads");
        assert_eq!(kept.len(), 10);
        assert_eq!([Series::Selects, Series::Updates].map(|series| kept[0].values.get(series)), [3.0, 2.0]);
        assert!(kept[0].values.get(Series::Deletes).is_nan());
        assert_eq!(Head::read(&rings.file).expect("a head"), Head::own());
        std::fs::remove_dir_all(dir).expect("removes");
    }
}
