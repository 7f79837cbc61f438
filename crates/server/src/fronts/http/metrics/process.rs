//! What the operating system says of the process, under the names that clients of Prometheus use.

use std::fs;

use super::format::Metrics;
use crate::process::stat;

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
