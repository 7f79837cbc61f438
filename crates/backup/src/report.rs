//! What is printed: tables, sizes, times, and how far a copy is.

use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};

use jiff::Timestamp;

use crate::Result;
use crate::manifest::{self, Backup};
use crate::place::Place;

const TICK: Duration = Duration::from_millis(200);

/// How many bytes of how many are done, on a terminal.
pub struct Progress {
    what: &'static str,
    bytes: u64,
    done: u64,
    began: Instant,
    shown: Option<Instant>,
    shows: bool,
}

impl Progress {
    pub fn new(what: &'static str, bytes: u64) -> Progress {
        Progress { what, bytes, done: 0, began: Instant::now(), shown: None, shows: std::io::stderr().is_terminal() }
    }

    pub fn add(&mut self, bytes: u64) {
        self.done += bytes;
        if !self.shows || self.shown.is_some_and(|shown| shown.elapsed() < TICK) {
            return;
        }
        self.shown = Some(Instant::now());
        let rate = self.done as f64 / self.began.elapsed().as_secs_f64().max(0.001);
        eprint!("\r{} {} of {}, {}/s   ", self.what, size(self.done), size(self.bytes), size(rate as u64));
        let _ = std::io::stderr().flush();
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if self.shown.is_some() {
            eprint!("\r\x1b[K");
        }
    }
}

pub fn size(bytes: u64) -> String {
    const UNITS: [&str; 5] = ["B", "KiB", "MiB", "GiB", "TiB"];
    let mut value = bytes as f64;
    let mut unit = 0;
    while value >= 1024.0 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    if unit == 0 { format!("{bytes} B") } else { format!("{value:.1} {}", UNITS[unit]) }
}

/// UTC, to the second.
pub fn shown_time(us: u64) -> String {
    let time = Timestamp::from_microsecond(us as i64).unwrap_or_default();
    time.strftime("%Y-%m-%d %H:%M:%S").to_string()
}

/// The backups of a place, as a table.
pub fn list(place: &dyn Place) -> Result<String> {
    let mut lines = vec![["backup", "taken (UTC)", "server", "size", "new", "seconds", "log"].map(String::from)];
    for id in manifest::ids(place)? {
        // One that is damaged does not hide the others.
        lines.push(match Backup::read_if_there(place, &id) {
            Ok(None) => continue,
            Ok(Some(backup)) => [
                backup.id.clone(),
                shown_time(backup.taken_us),
                backup.server_uuid.clone(),
                size(backup.bytes()),
                size(backup.new_bytes),
                format!("{:.1}", backup.seconds),
                if backup.log_file.is_empty() { "none".into() } else { format!("{}:{}", backup.log_file, backup.log_pos) },
            ],
            Err(error) => [id, error.to_string(), String::new(), String::new(), String::new(), String::new(), String::new()],
        });
    }
    Ok(table(&lines))
}

fn table<const N: usize>(lines: &[[String; N]]) -> String {
    let width = |column: usize| lines.iter().map(|line| line[column].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..N).map(width).collect();
    let mut text = String::new();
    for line in lines {
        let cells: Vec<String> = line.iter().zip(&widths).map(|(cell, width)| format!("{cell:width$}")).collect();
        text.push_str(cells.join("  ").trim_end());
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::removing::{Removing, two_backups};

    #[test]
    fn a_backup_that_is_removed_meanwhile_is_not_listed() {
        let dir = tempfile::tempdir().unwrap();
        let (inner, [first, _]) = two_backups(dir.path());
        let shown = list(&Removing { inner, backup: first, at: "a/backup.json" }).unwrap();
        let ids: Vec<&str> = shown.lines().skip(1).filter_map(|line| line.split(' ').next()).collect();
        assert_eq!(ids, ["b"]);
    }

    #[test]
    fn sizes_and_times_are_shown() {
        assert_eq!([size(0), size(1023), size(1536), size(5 << 30)], ["0 B", "1023 B", "1.5 KiB", "5.0 GiB"].map(String::from));
        assert_eq!(shown_time(1_700_000_000_123_456), "2023-11-14 22:13:20");
    }
}
