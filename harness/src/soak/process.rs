//! What the system says of the server's process.

use std::fs;

#[derive(Clone, Copy)]
pub struct Sample {
    pub resident_mb: u64,
    pub files: u64,
    pub threads: u64,
}

impl Sample {
    pub fn of(pid: u32) -> Result<Sample, String> {
        let entries = |what: &str| {
            let path = format!("/proc/{pid}/{what}");
            fs::read_dir(&path).map(|found| found.count() as u64).map_err(|e| format!("{path}: {e}"))
        };
        let path = format!("/proc/{pid}/status");
        let status = fs::read_to_string(&path).map_err(|e| format!("{path}: {e}"))?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let kb: u64 =
            line.and_then(|text| text.split_whitespace().next()?.parse().ok()).ok_or_else(|| format!("{path} has no VmRSS"))?;
        Ok(Sample { resident_mb: kb / 1024, files: entries("fd")?, threads: entries("task")? })
    }
}

/// User and system time of the process so far.
pub fn cpu_ms(pid: u32) -> Result<u64, String> {
    let path = format!("/proc/{pid}/stat");
    let text = fs::read_to_string(&path).map_err(|e| format!("{path}: {e}"))?;
    // Behind the name, which may hold spaces; a tick is 10 ms on every Linux.
    let fields: Vec<&str> = text.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
    let ticks = |at: usize| fields.get(at).and_then(|field| field.parse::<u64>().ok()).ok_or_else(|| format!("{path}: {text}"));
    Ok((ticks(11)? + ticks(12)?) * 10)
}
