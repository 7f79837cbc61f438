//! Tables and lines that people read: columns as wide as what is in them, progress that stays on one line of a terminal.

use std::io::{IsTerminal, Write};
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// The last column is not filled up.
pub fn print_table(title: &str, head: &[&str], rows: &[Vec<String>]) {
    let mut lines = vec![head.iter().map(|text| text.to_string()).collect::<Vec<_>>()];
    lines.extend(rows.iter().cloned());
    let widths: Vec<usize> = (0..head.len())
        .map(|n| lines.iter().filter_map(|line| line.get(n)).map(|text| text.chars().count()).max().unwrap_or(0))
        .collect();
    let mut out = std::io::stdout().lock();
    // Whoever does not read any more misses nothing that is done.
    let _ = writeln!(out, "\n{title}");
    for line in &lines {
        let cells = line.iter().zip(&widths).map(|(text, width)| format!("{text:<width$}"));
        let _ = writeln!(out, "  {}", cells.collect::<Vec<_>>().join("  ").trim_end());
    }
    let _ = out.flush();
}

pub fn say(text: &str) {
    let _ = writeln!(std::io::stdout().lock(), "{text}");
}

/// How far something is, told at most so often.
pub struct Progress {
    last: Mutex<Option<Instant>>,
    is_terminal: bool,
}

const EVERY_ON_TERMINAL: Duration = Duration::from_millis(200);
const EVERY: Duration = Duration::from_secs(5);

impl Progress {
    pub fn new() -> Progress {
        Progress { last: Mutex::new(None), is_terminal: std::io::stdout().is_terminal() }
    }

    pub fn show(&self, text: impl FnOnce() -> String) {
        let Ok(mut last) = self.last.lock() else { return };
        let every = if self.is_terminal { EVERY_ON_TERMINAL } else { EVERY };
        if last.is_some_and(|last| last.elapsed() < every) {
            return;
        }
        *last = Some(Instant::now());
        let mut out = std::io::stdout().lock();
        let _ = match self.is_terminal {
            true => write!(out, "\r\x1b[K{}", text()),
            false => writeln!(out, "{}", text()),
        };
        let _ = out.flush();
    }

    /// What is printed next begins on a line of its own.
    pub fn end(&self) {
        if self.is_terminal {
            let _ = write!(std::io::stdout().lock(), "\r\x1b[K");
        }
    }
}
