//! What the operating system says of this process.

use std::fs;

/// What `/proc/self/stat` says, in seconds and bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Stat {
    pub cpu_s: f64,
    pub threads: u64,
    /// After the start of the machine.
    pub started_s: f64,
    pub virtual_bytes: u64,
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

/// Bytes that were read from and written to disks for this process, from `/proc/self/io`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct DiskBytes {
    pub read: u64,
    pub written: u64,
}

pub fn disk_bytes() -> Option<DiskBytes> {
    let text = fs::read_to_string("/proc/self/io").ok()?;
    Some(DiskBytes { read: number_behind(&text, "read_bytes:")?, written: number_behind(&text, "write_bytes:")? })
}

/// Memory that no file holds: what counts against a limit and cannot be given back by anybody else.
pub fn anonymous_bytes() -> Option<u64> {
    let text = fs::read_to_string("/proc/self/status").ok()?;
    Some(number_behind(&text, "RssAnon:")? * 1024)
}

/// The number of the line that begins with `name`.
fn number_behind(text: &str, name: &str) -> Option<u64> {
    text.lines().find_map(|line| line.strip_prefix(name))?.split_whitespace().next()?.parse().ok()
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

    #[test]
    fn a_line_is_found_by_its_whole_name() {
        let text = "rchar: 1\nread_bytes: 4096\nwrite_bytes: 512\ncancelled_write_bytes: 7\n";
        assert_eq!(number_behind(text, "write_bytes:"), Some(512));
        assert_eq!(number_behind("RssAnon:\t  12 kB\n", "RssAnon:"), Some(12));
        assert_eq!(number_behind(text, "RssAnon:"), None);
    }
}
