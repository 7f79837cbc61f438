//! What the machine is like: cores, memory, and how fast the disk under the data is.
//!
//! The disk is measured once, some seconds after a start, and again when the data lie on another one.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::fs::OFlags;
use vaquita_session::tuning::Fact;
use vaquita_storage::{Catalog, cores, goal_bytes, memory_bytes};
use vaquita_types::Result;

const FILE: &str = "disk-measure.tmp";
const DISK_KEY: &[u8] = b"machine/disk";
/// The file that is written and read.
const FILE_BYTES: u64 = 64 << 20;
const PIECE_BYTES: usize = 1 << 20;
const BLOCK_BYTES: usize = 4 << 10;
const ALIGNMENT: usize = 4 << 10;
/// How long each of syncs and reads is tried.
const TRIES: Duration = Duration::from_millis(500);
/// Nothing is measured where less than so many times the file is free.
const FREE_FILES_MIN: u64 = 16;

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Disk {
    /// The median of overwriting a block and syncing it.
    pub sync_us: f64,
    /// The median of reading a block at a random place past the page cache.
    pub read_us: f64,
    pub write_bytes_per_s: f64,
}

impl Disk {
    fn stored(&self, device: u64) -> String {
        format!("{device} {} {} {}", self.sync_us, self.read_us, self.write_bytes_per_s)
    }

    fn parse(text: &str, device: u64) -> Option<Disk> {
        let fields: Vec<&str> = text.split(' ').collect();
        let &[known, sync_us, read_us, write_bytes_per_s] = fields.as_slice() else { return None };
        let is_same = known.parse::<u64>().ok()? == device;
        let disk = Disk {
            sync_us: sync_us.parse().ok()?,
            read_us: read_us.parse().ok()?,
            write_bytes_per_s: write_bytes_per_s.parse().ok()?,
        };
        is_same.then_some(disk)
    }
}

fn device_of(dir: &Path) -> std::io::Result<u64> {
    Ok(std::fs::metadata(dir)?.dev())
}

/// As it was measured before.
pub fn known_disk(dir: &Path, catalog: &Catalog) -> Option<Disk> {
    let device = device_of(dir).ok()?;
    let stored = catalog.meta_get(DISK_KEY).ok()??;
    Disk::parse(&String::from_utf8_lossy(&stored), device)
}

/// Measures, and keeps what was found. Nothing if there is too little space.
pub fn measure_disk(dir: &Path, catalog: &Catalog) -> Result<Option<Disk>> {
    let path = dir.join(FILE);
    let measured = measured(dir, &path);
    let _ = std::fs::remove_file(&path);
    let disk = match measured {
        Ok(Some(disk)) => disk,
        Ok(None) => return Ok(None),
        Err(error) => {
            tracing::warn!("the disk cannot be measured: {error}");
            return Ok(None);
        }
    };
    if let Ok(device) = device_of(dir) {
        catalog.meta_put(DISK_KEY, disk.stored(device).as_bytes())?;
    }
    Ok(Some(disk))
}

fn measured(dir: &Path, path: &Path) -> std::io::Result<Option<Disk>> {
    let stat = rustix::fs::statvfs(dir)?;
    if stat.f_bavail.saturating_mul(stat.f_frsize) < FILE_BYTES * FREE_FILES_MIN {
        return Ok(None);
    }
    let file = open(path)?;
    let began = Instant::now();
    let piece = Aligned::new(PIECE_BYTES);
    for at in (0..FILE_BYTES).step_by(PIECE_BYTES) {
        file.write_all_at(piece.bytes(), at)?;
    }
    file.sync_data()?;
    let write_bytes_per_s = FILE_BYTES as f64 / began.elapsed().as_secs_f64();
    let mut block = Aligned::new(BLOCK_BYTES);
    let random_place = || rand::random_range(0..FILE_BYTES / BLOCK_BYTES as u64) * BLOCK_BYTES as u64;
    let sync_us = median_us(|| {
        file.write_all_at(block.bytes(), random_place())?;
        file.sync_data()
    })?;
    let read_us = median_us(|| file.read_exact_at(block.bytes_mut(), random_place()))?;
    Ok(Some(Disk { sync_us, read_us, write_bytes_per_s }))
}

/// Past the page cache where the file system can.
fn open(path: &Path) -> std::io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(true).mode(0o600);
    let direct = options.clone().custom_flags(OFlags::DIRECT.bits() as i32).open(path);
    direct.or_else(|_| options.open(path))
}

fn median_us(mut once: impl FnMut() -> std::io::Result<()>) -> std::io::Result<f64> {
    let began = Instant::now();
    let mut took = Vec::new();
    while began.elapsed() < TRIES {
        let before = Instant::now();
        once()?;
        took.push(before.elapsed().as_secs_f64() * 1e6);
    }
    took.sort_by(f64::total_cmp);
    Ok(took.get(took.len() / 2).copied().unwrap_or_default())
}

/// Bytes that begin where O_DIRECT wants them.
struct Aligned {
    bytes: Vec<u8>,
    begin: usize,
}

impl Aligned {
    fn new(len: usize) -> Aligned {
        // Not zeros, which some devices do not store.
        let bytes: Vec<u8> = (0..len + ALIGNMENT).map(|at| (at.wrapping_mul(2_654_435_761) >> 7) as u8).collect();
        let begin = bytes.as_ptr().align_offset(ALIGNMENT);
        Aligned { bytes, begin }
    }

    fn bytes(&self) -> &[u8] {
        &self.bytes[self.begin..][..self.bytes.len() - ALIGNMENT]
    }

    fn bytes_mut(&mut self) -> &mut [u8] {
        let len = self.bytes.len() - ALIGNMENT;
        &mut self.bytes[self.begin..][..len]
    }
}

/// Cores, memory and disk as the table `vaquita.machine` has them.
pub fn facts(disk: Option<&Disk>) -> Vec<Fact> {
    let fact = |name, value: String, source: &str| Fact { name, value, source: source.to_string() };
    let mut facts = vec![
        fact("cores", cores().to_string(), "the processors and the share of them that the cgroup allows"),
        fact("memory_bytes", memory_bytes().to_string(), "the machine's memory, or the least limit of its cgroups"),
        fact("goal_memory_bytes", goal_bytes().to_string(), "vaquita_goal_memory, or three quarters of memory_bytes"),
    ];
    if let Some(disk) = disk {
        let measured = "measured on the disk of the data, past the page cache";
        facts.push(fact("disk_sync_us", format!("{:.0}", disk.sync_us), measured));
        facts.push(fact("disk_read_us", format!("{:.0}", disk.read_us), measured));
        facts.push(fact("disk_write_bytes_per_second", format!("{:.0}", disk.write_bytes_per_s), measured));
    }
    facts
}

/// What tells machines apart on which other settings may be best.
pub fn fingerprint() -> String {
    format!("{} cores, {} MiB", cores(), memory_bytes() >> 20)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_disk_is_measured_and_known_afterwards() {
        let dir = std::env::temp_dir();
        let file = dir.join(format!("vaquita-{}-{FILE}", std::process::id()));
        let disk = measured(&dir, &file).unwrap().expect("there is space");
        std::fs::remove_file(file).unwrap();
        assert!(disk.sync_us > 0.0 && disk.read_us > 0.0 && disk.write_bytes_per_s > 0.0, "{disk:?}");
        assert_eq!(Disk::parse(&disk.stored(7), 7), Some(disk));
        assert_eq!([Disk::parse(&disk.stored(7), 8), Disk::parse("", 7)], [None, None]);
    }
}
