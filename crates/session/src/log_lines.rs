//! The last lines of the server's log, for performance_schema.error_log. Whoever writes the log notes them (`note`).

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use parking_lot::Mutex;
use vaquita_exec::context::LogLine;

/// MySQL keeps 5 MB.
const LINES_MAX: usize = 1000;
const LINE_BYTES_MAX: usize = 2048;

static LINES: Mutex<VecDeque<LogLine>> = Mutex::new(VecDeque::new());

/// `priority` is `System`, `Error`, `Warning` or `Note`.
pub fn note(priority: &'static str, text: &str) {
    let at_us = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_micros() as u64);
    let text = text.get(..text.floor_char_boundary(LINE_BYTES_MAX)).unwrap_or_default().to_string();
    let mut lines = LINES.lock();
    if lines.len() >= LINES_MAX {
        lines.pop_front();
    }
    lines.push_back(LogLine { at_us, priority, text });
}

/// `log_error_services`: whether the log is written as JSON.
static IS_JSON: AtomicBool = AtomicBool::new(false);

/// The value of `log_error_services` has this effect.
pub fn follow(services: &str) {
    IS_JSON.store(services.contains("log_sink_json"), Ordering::Relaxed);
}

pub fn is_json() -> bool {
    IS_JSON.load(Ordering::Relaxed)
}

/// The oldest first.
pub fn list() -> Vec<LogLine> {
    LINES.lock().iter().cloned().collect()
}
