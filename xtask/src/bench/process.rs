//! What Linux says of a process and of a directory: CPU time, memory, bytes written, bytes on disk, and of the machine.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

/// Linux counts CPU time in ticks of this length for user space, whatever the kernel's own.
const TICK_US: u64 = 10_000;
/// Linux counts sectors of this size, whatever the device's own.
const SECTOR_BYTES: u64 = 512;
const KILL_MS_MAX: u64 = 60_000;

/// CPU time that all threads of the process used so far, user and system, in µs.
pub fn cpu_us(pid: u32) -> Result<u64, String> {
    let path = format!("/proc/{pid}/stat");
    let text = fs::read_to_string(&path).map_err(|e| format!("{path}: {e}"))?;
    // The second field is the command in parentheses, which may contain spaces; utime and stime are the 14th and 15th.
    let fields: Vec<&str> = text.rsplit(')').next().unwrap_or("").split_whitespace().collect();
    let ticks = |i: usize| fields.get(i).and_then(|field| field.parse::<u64>().ok());
    match (ticks(11), ticks(12)) {
        (Some(user), Some(system)) => Ok((user + system) * TICK_US),
        _ => Err(format!("cannot read {path}")),
    }
}

/// `kill -SIGNAL pid`.
pub fn signal(pid: u32, signal: &str) -> Result<(), String> {
    match Command::new("sh").args(["-c", &format!("kill -{signal} {pid}")]).status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("kill -{signal} {pid}: {status}")),
        Err(e) => Err(format!("kill: {e}")),
    }
}

/// `kill -9`, and waits until all threads of the process are gone; the parent need not have noticed.
pub fn kill_and_wait(pid: u32) -> Result<(), String> {
    signal(pid, "KILL")?;
    for _ in 0..KILL_MS_MAX {
        let threads = fs::read_dir(format!("/proc/{pid}/task")).map_or(0, Iterator::count);
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        if threads == 0 || (threads == 1 && is_zombie(&stat)) {
            return Ok(());
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    Err(format!("process {pid} does not end on SIGKILL"))
}

fn is_zombie(stat: &str) -> bool {
    stat.rsplit(')').next().unwrap_or("").trim_start().starts_with('Z')
}

/// Bytes that the block device of a directory has written since the machine started, whoever wrote them. A process's
/// `write_bytes` counts a whole folio of the page cache (up to some MB) for each commit of 100 bytes to a file that is written over.
pub fn device_written_bytes(dir: &Path) -> Result<u64, String> {
    let device = fs::metadata(dir).map_err(|e| format!("{}: {e}", dir.display()))?.dev();
    // Linux's dev_t in 64 bits: 12 bits of the major number from bit 8, 8 of the minor from bit 0 and the rest of it from bit 20.
    let (major, minor) = (device >> 8 & 0xFFF, device & 0xFF | device >> 12 & 0xF_FF00);
    let path = format!("/sys/dev/block/{major}:{minor}/stat");
    let text = fs::read_to_string(&path).map_err(|e| format!("{path}: {e}; the data must be on a block device"))?;
    sectors_written(&text).map(|sectors| sectors * SECTOR_BYTES).ok_or_else(|| format!("cannot read {path}"))
}

/// The seventh field of a block device's `stat`.
fn sectors_written(stat: &str) -> Option<u64> {
    stat.split_whitespace().nth(6)?.parse().ok()
}

/// A line of /proc/PID/status in bytes: `VmRSS`, memory in use, or `VmHWM`, its highest so far.
pub fn memory_bytes(pid: u32, line: &str) -> u64 {
    let text = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    kib_of(&text, line) * 1024
}

fn kib_of(text: &str, name: &str) -> u64 {
    text.lines()
        .filter_map(|line| line.strip_prefix(name)?.strip_prefix(':'))
        .find_map(|rest| rest.split_whitespace().next()?.parse().ok())
        .unwrap_or(0)
}

/// Bytes of the files under `dir` that `wanted` picks by name.
pub fn disk_bytes(dir: &Path, wanted: &dyn Fn(&str) -> bool) -> u64 {
    let Ok(entries) = fs::read_dir(dir) else { return 0 };
    let mut bytes = 0;
    for entry in entries.flatten() {
        match entry.metadata() {
            Ok(meta) if meta.is_dir() => bytes += disk_bytes(&entry.path(), wanted),
            Ok(meta) if wanted(&entry.file_name().to_string_lossy()) => bytes += meta.len(),
            _ => {}
        }
    }
    bytes
}

/// One line on the machine: processor, cores, memory, kernel.
pub fn machine() -> String {
    let cpuinfo = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = cpuinfo
        .lines()
        .find_map(|line| line.strip_prefix("model name")?.split_once(':'))
        .map_or("unknown processor", |(_, name)| name.trim());
    let cores = std::thread::available_parallelism().map_or(0, |n| n.get());
    let memory_gib = kib_of(&fs::read_to_string("/proc/meminfo").unwrap_or_default(), "MemTotal") as f64 / (1 << 20) as f64;
    let kernel = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    format!(
        "{model}, {cores} cores, {memory_gib:.0} GiB of memory, Linux {}",
        kernel.trim().split('-').next().unwrap_or_default()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_linux_prints() {
        let stat = " 7437 97 1084 2208 4860 9 205136 8212 0 1000 1100 0 0 0 0 22 30\n";
        assert_eq!((sectors_written(stat), sectors_written("1 2 3")), (Some(205_136), None));
        assert_eq!(kib_of("VmHWM:\t   90 kB\nVmRSS:\t   12345 kB\n", "VmRSS"), 12_345);
        assert!(cpu_us(std::process::id()).is_ok());
        assert!(is_zombie("12 (a Z) b) Z 1 12 12 0") && !is_zombie("12 (Z) S 1 12 12 0") && !is_zombie(""));
    }
}
