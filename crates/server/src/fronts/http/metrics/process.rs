//! What the operating system says of the process, under the names that clients of Prometheus use.

use std::fs;

use super::format::Metrics;

/// What `/proc/self/stat` says, in seconds and bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Stat {
    pub cpu_s: f64,
    threads: u64,
    /// After the start of the machine.
    started_s: f64,
    virtual_bytes: u64,
    pub resident_bytes: u64,
}

pub fn stat() -> Option<Stat> {
    let text = fs::read_to_string("/proc/self/stat").ok()?;
    parse(&text, rustix::param::clock_ticks_per_second() as f64, rustix::param::page_size() as u64)
}

/// Fields of proc_pid_stat(5), of which the second may have spaces.
fn parse(text: &str, ticks: f64, page_bytes: u64) -> Option<Stat> {
    let (_, behind_name) = text.rsplit_once(')')?;
    let fields: Vec<&str> = behind_name.split_whitespace().collect();
    // The third field is the first of them.
    let field = |number: usize| fields.get(number - 3)?.parse::<u64>().ok();
    Some(Stat {
        cpu_s: (field(14)? + field(15)?) as f64 / ticks,
        threads: field(20)?,
        started_s: field(22)? as f64 / ticks,
        virtual_bytes: field(23)?,
        resident_bytes: field(24)?.saturating_mul(page_bytes),
    })
}

/// Seconds since 1970 when the machine was started.
fn boot_s() -> Option<f64> {
    let text = fs::read_to_string("/proc/stat").ok()?;
    text.lines().find_map(|line| line.strip_prefix("btime "))?.trim().parse().ok()
}

pub fn put(out: &mut Metrics) {
    if let Some(stat) = stat() {
        out.counter("process_cpu_seconds", "CPU time of the process.", stat.cpu_s);
        out.gauge("process_resident_memory_bytes", "Memory that the process has.", stat.resident_bytes);
        out.gauge("process_virtual_memory_bytes", "Addresses that the process has mapped.", stat.virtual_bytes);
        out.gauge("process_threads", "Threads of the process.", stat.threads);
        if let Some(boot_s) = boot_s() {
            out.gauge("process_start_time_seconds", "When the process began, in seconds since 1970.", boot_s + stat.started_s);
        }
    }
    if let Ok(open) = fs::read_dir("/proc/self/fd") {
        out.gauge("process_open_fds", "Open file descriptors.", open.count());
    }
    if let Some(limit) = rustix::process::getrlimit(rustix::process::Resource::Nofile).current {
        out.gauge("process_max_fds", "The limit of open file descriptors.", limit);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_may_have_spaces_and_parentheses() {
        let text = "7 (a) b) S 1 2 3 4 5 6 7 8 9 10 150 50 0 0 20 0 12 0 700 4096 3 9";
        let stat = Stat { cpu_s: 2.0, threads: 12, started_s: 7.0, virtual_bytes: 4096, resident_bytes: 12_288 };
        assert_eq!(parse(text, 100.0, 4096), Some(stat));
        assert_eq!(parse("7 (a) S 1", 100.0, 4096), None);
    }
}
