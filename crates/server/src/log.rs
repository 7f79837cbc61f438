//! Where the log goes: to stderr, if it takes a line at once, or to the file of `--log-error`. How its lines look is `log_form`'s.
//!
//! * LOG-1: who logs neither waits nor fails, whatever stderr is: a pipe that nobody reads or that is closed, a full disk, a
//!   stopped terminal. Commits and the end of the process depend on it. (A file on a file system that hangs would still hold a line up.)
//! * LOG-2: lines that were left out are counted, and the first line that is written again is preceded by their number.

use std::fs::File;
use std::io::Write;
use std::os::fd::AsFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use parking_lot::Mutex;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use tracing::{Event, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::layer::{Context, SubscriberExt};
use tracing_subscriber::util::SubscriberInitExt;

use crate::log_form::{Form, priority, text};

/// POSIX's PIPE_BUF on Linux: a pipe that is ready takes that much without blocking.
const PIECE_BYTES: usize = 4096;
/// As MySQL's: for its owner, and its group to read.
const FILE_MODE: u32 = 0o640;

/// Lines that were left out since the last that was written. Locked by who writes, since what is ready is ready for one.
static LEFT_OUT: Mutex<u64> = Mutex::new(0);

/// Panics are lines of the log like others; the standard hook would wait for stderr.
pub fn start() {
    tracing_subscriber::fmt()
        .log_internal_errors(false)
        .event_format(Form::default())
        .with_writer(Stderr)
        .finish()
        .with(Kept)
        .init();
    std::panic::set_hook(Box::new(|panic| {
        let thread = std::thread::current();
        let trace = std::backtrace::Backtrace::capture();
        let trace =
            if trace.status() == std::backtrace::BacktraceStatus::Captured { format!("\n{trace}") } else { String::new() };
        tracing::error!("thread '{}': {panic}{trace}", thread.name().unwrap_or_default());
    }));
}

/// A line on stderr that does not come from the log.
pub fn line(text: &str) {
    put(&mut std::io::stderr().lock(), format!("{text}\n").as_bytes());
}

/// The last lines stay in memory, for performance_schema.error_log.
struct Kept;

impl<S: Subscriber> Layer<S> for Kept {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        vaquita_session::log_lines::note(priority(*event.metadata().level()).0, &text(event));
    }
}

/// The file of `--log-error`, which has the log instead of stderr.
static FILE: Mutex<Option<(PathBuf, File)>> = Mutex::new(None);

/// The log goes to a file from here on, behind what it has.
pub fn to_file(path: &Path) -> std::io::Result<()> {
    let file = std::fs::OpenOptions::new().append(true).create(true).mode(FILE_MODE).open(path)?;
    *FILE.lock() = Some((path.to_path_buf(), file));
    Ok(())
}

/// FLUSH ERROR LOGS: the file may have been renamed.
pub fn reopen() -> std::io::Result<()> {
    let path = FILE.lock().as_ref().map(|(path, _)| path.clone());
    path.map_or(Ok(()), |path| to_file(&path))
}

#[derive(Clone, Copy)]
struct Stderr;

impl<'a> MakeWriter<'a> for Stderr {
    type Writer = Stderr;

    fn make_writer(&'a self) -> Stderr {
        Stderr
    }
}

impl Write for Stderr {
    fn write(&mut self, line: &[u8]) -> std::io::Result<usize> {
        match &mut *FILE.lock() {
            Some((_, file)) => put(file, line),
            None => put(&mut std::io::stderr().lock(), line),
        }
        Ok(line.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

fn put(to: &mut (impl Write + AsFd), line: &[u8]) {
    let mut left_out = LEFT_OUT.lock();
    put_counting(to, line, &mut left_out);
}

fn put_counting(to: &mut (impl Write + AsFd), line: &[u8], left_out: &mut u64) {
    if *left_out > 0 {
        let note = format!("{left_out} lines of the log were left out here\n");
        if !put_whole(to, note.as_bytes()) {
            *left_out += 1;
            return;
        }
        *left_out = 0;
    }
    if !put_whole(to, line) {
        *left_out += 1;
    }
}

fn put_whole(to: &mut (impl Write + AsFd), line: &[u8]) -> bool {
    line.chunks(PIECE_BYTES).all(|piece| takes_a_piece(to) && to.write_all(piece).is_ok())
}

fn takes_a_piece(to: &impl AsFd) -> bool {
    let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
    let mut fds = [PollFd::new(to, PollFlags::OUT)];
    poll(&mut fds, Some(&at_once)).is_ok() && fds[0].revents().contains(PollFlags::OUT)
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;

    #[test]
    fn a_pipe_that_nobody_reads_holds_nobody_up() {
        let (mut reader, mut writer) = std::io::pipe().expect("pipe");
        let line = [b"x".repeat(999), b"\n".to_vec()].concat();
        let mut left_out = 0;
        while left_out < 3 {
            put_counting(&mut writer, &line, &mut left_out);
        }
        let mut taken = vec![0; 60_000];
        reader.read_exact(&mut taken).expect("what was written");
        put_counting(&mut writer, b"last\n", &mut left_out);
        assert_eq!(left_out, 0);
        drop(writer);
        let mut rest = String::new();
        reader.read_to_string(&mut rest).expect("text");
        assert!(rest.ends_with("3 lines of the log were left out here\nlast\n"), "{rest}");
    }

    #[test]
    fn a_closed_pipe_fails_nobody() {
        let (reader, mut writer) = std::io::pipe().expect("pipe");
        drop(reader);
        let mut left_out = 0;
        put_counting(&mut writer, b"line\n", &mut left_out);
        assert_eq!(left_out, 1);
    }
}
