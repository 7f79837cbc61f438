//! Runs a recording against a server: a thread and a connection for each session, which runs its statements in their order.
//!
//! A session begins when it began where it was recorded, and so does each of its statements, at the recorded speed or a multiple of it. A
//! statement that is not answered in time makes those behind it late, as a client would be. Between sessions only time says what comes first.

use std::collections::HashMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use vaquita_parser::ParserOptions;
use vaquita_parser::digest::normalize;
use vaquita_replication::address::Address;
use vaquita_replication::connection::{Connection, SourceError};

use crate::recorded::{Action, Recording, Session};

/// Errors that the client makes itself: the connection is gone.
const CLIENT_ERRORS: std::ops::Range<u16> = 2000..3000;
/// How often it is looked whether a session has ended, when there are as many as may be.
const LOOK: Duration = Duration::from_millis(1);

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Speed {
    /// So many times as fast as it was recorded.
    Times(f64),
    /// Nothing waits for its time.
    Fastest,
}

impl std::str::FromStr for Speed {
    type Err = String;

    fn from_str(text: &str) -> Result<Speed, String> {
        if text.eq_ignore_ascii_case("max") {
            return Ok(Speed::Fastest);
        }
        let times =
            text.strip_suffix(['x', 'X']).unwrap_or(text).parse::<f64>().ok().filter(|times| *times > 0.0 && times.is_finite());
        times.map(Speed::Times).ok_or_else(|| "a speed is a number above 0, or max".to_string())
    }
}

/// What the runs of one kind of statement have taken.
#[derive(Clone, Debug, Default)]
pub struct Sums {
    /// Microseconds, in no order.
    pub took_us: Vec<u32>,
    pub rows: u64,
    pub errors: u64,
}

/// What came of a recording on one server.
#[derive(Clone, Debug, Default)]
pub struct Played {
    pub server: String,
    pub seconds: f64,
    /// By the statement's text without literals.
    pub kinds: HashMap<String, Sums>,
    /// Errors by number, each with a text.
    pub errors: HashMap<u16, (u64, String)>,
    /// Sessions that could not connect, or whose connection ended.
    pub lost_sessions: u64,
    /// The longest that a statement began after its time.
    pub late_us_max: u64,
}

impl Played {
    fn add(&mut self, other: Played) {
        for (kind, sums) in other.kinds {
            let known = self.kinds.entry(kind).or_default();
            known.took_us.extend(sums.took_us);
            known.rows += sums.rows;
            known.errors += sums.errors;
        }
        for (number, (count, text)) in other.errors {
            self.errors.entry(number).or_insert((0, text)).0 += count;
        }
        self.lost_sessions += other.lost_sessions;
        self.late_us_max = self.late_us_max.max(other.late_us_max);
    }
}

/// Runs everything, with at most `sessions_max` connections at a time.
pub fn play(recording: &Recording, server: &Address, speed: Speed, sessions_max: usize) -> Result<Played, SourceError> {
    // Whoever cannot connect at all learns it before a thousand sessions do.
    drop(Connection::open(&server.target())?);
    let all = Mutex::new(Played { server: server.to_string(), ..Played::default() });
    let running = AtomicUsize::new(0);
    let clock = Clock { began: Instant::now(), begin_us: recording.begin_us(), speed };
    std::thread::scope(|scope| {
        for session in &recording.sessions {
            clock.wait_for(session.actions.first().map_or(0, |first| first.at_us));
            while running.load(Ordering::Acquire) >= sessions_max.max(1) {
                std::thread::sleep(LOOK);
            }
            running.fetch_add(1, Ordering::AcqRel);
            let (all, running, clock) = (&all, &running, &clock);
            scope.spawn(move || {
                let played = play_session(session, server, clock);
                all.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).add(played);
                running.fetch_sub(1, Ordering::AcqRel);
            });
        }
    });
    let mut played = all.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner());
    played.seconds = clock.began.elapsed().as_secs_f64();
    Ok(played)
}

struct Clock {
    began: Instant,
    begin_us: u64,
    speed: Speed,
}

impl Clock {
    /// How much later than its time it is, in microseconds.
    fn wait_for(&self, at_us: u64) -> u64 {
        let Speed::Times(times) = self.speed else { return 0 };
        let due = Duration::from_micros((at_us.saturating_sub(self.begin_us) as f64 / times) as u64);
        let now = self.began.elapsed();
        if let Some(early) = due.checked_sub(now) {
            std::thread::sleep(early);
            return 0;
        }
        (now - due).as_micros() as u64
    }
}

fn play_session(session: &Session, server: &Address, clock: &Clock) -> Played {
    let mut played = Played::default();
    let mut connection = match Connection::open(&server.target()) {
        Ok(connection) => connection,
        Err(error) => {
            played.note_error(&error);
            played.lost_sessions += 1;
            return played;
        }
    };
    for recorded in &session.actions {
        let late_us = clock.wait_for(recorded.at_us);
        let done = match &recorded.action {
            Action::Use(database) => {
                connection.run(format!("USE `{}`", database.replace('`', "``")).as_bytes(), &mut |_| {}).map(drop)
            }
            Action::Statement(text) => {
                played.late_us_max = played.late_us_max.max(late_us);
                played.statement(&mut connection, text)
            }
        };
        if let Err(error) = done {
            played.note_error(&error);
            if CLIENT_ERRORS.contains(&error.number) {
                played.lost_sessions += 1;
                return played;
            }
        }
    }
    played
}

impl Played {
    fn note_error(&mut self, error: &SourceError) {
        self.errors.entry(error.number).or_insert_with(|| (0, error.text.clone())).0 += 1;
    }

    fn statement(&mut self, connection: &mut Connection, text: &[u8]) -> Result<(), SourceError> {
        let mut rows = 0;
        let began = Instant::now();
        let done = connection.run(text, &mut |_| rows += 1);
        let took_us = began.elapsed().as_micros().min(u128::from(u32::MAX)) as u32;
        let sums = self.kinds.entry(kind_of(text)).or_default();
        sums.rows += rows;
        match done {
            Ok(_) => {
                sums.took_us.push(took_us);
                Ok(())
            }
            Err(error) => {
                sums.errors += 1;
                Err(error)
            }
        }
    }
}

/// The statement's text without its literals, or its beginning if it is none.
pub fn kind_of(text: &[u8]) -> String {
    let kind = normalize(text, &ParserOptions::default());
    if kind.is_empty() { String::from_utf8_lossy(&text[..text.len().min(KIND_BYTES_MAX)]).into_owned() } else { kind }
}

const KIND_BYTES_MAX: usize = 200;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn speeds_are_read() {
        let speed = |text: &str| text.parse::<Speed>().ok();
        assert_eq!(
            [speed("2"), speed("0.5x"), speed("MAX")],
            [Some(Speed::Times(2.0)), Some(Speed::Times(0.5)), Some(Speed::Fastest)]
        );
        assert_eq!([speed("0"), speed("-1"), speed("inf"), speed("fast")], [None; 4]);
    }

    #[test]
    fn statements_that_differ_in_literals_are_of_one_kind() {
        assert_eq!(kind_of(b"SELECT * FROM t WHERE a = 1"), kind_of(b"select * from t where a = 77"));
        assert!(!kind_of(b"'").is_empty());
    }
}
