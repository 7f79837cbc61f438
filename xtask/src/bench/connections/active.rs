//! One thread that keeps every session given to it busy: epoll, one `recv` and one `send` a query.

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use rustix::buffer::spare_capacity;
use rustix::event::{Timespec, epoll};

use super::answer::{Answer, execute};
use super::{Measured, Session};
use crate::bench::stats::Histogram;
use crate::random::Random;

const EVENTS: usize = 256;
/// A server that answers nobody for so long has failed.
const ANSWER_MAX: Duration = Duration::from_secs(60);

struct Waiting {
    answer: Answer,
    sent: Instant,
}

/// Runs point selects on all sessions for `time`, and waits for the last answers.
pub fn run(sessions: &mut [Session], rows: u64, time: Duration) -> Result<Measured, String> {
    let epoll = epoll::create(epoll::CreateFlags::CLOEXEC).map_err(|e| format!("epoll: {e}"))?;
    let mut random = Random::new(sessions.len() as u64);
    let start = Instant::now();
    let end = start + time;
    let mut waiting: Vec<Waiting> = Vec::with_capacity(sessions.len());
    for (number, session) in sessions.iter_mut().enumerate() {
        let (token, flags) = (epoll::EventData::new_u64(number as u64), epoll::EventFlags::IN);
        epoll::add(&epoll, &session.stream, token, flags).map_err(|e| format!("epoll: {e}"))?;
        waiting.push(Waiting { answer: Answer::default(), sent: Instant::now() });
        ask(session, &mut random, rows)?;
    }
    let mut latency = Histogram::default();
    let mut busy = sessions.len();
    let mut events = Vec::with_capacity(EVENTS);
    let mut buffer = vec![0; 1 << 16];
    let timeout = Timespec { tv_sec: ANSWER_MAX.as_secs() as i64, tv_nsec: 0 };
    let mut last = start;
    while busy > 0 {
        events.clear();
        epoll::wait(&epoll, spare_capacity(&mut events), Some(&timeout)).map_err(|e| format!("epoll: {e}"))?;
        if events.is_empty() {
            return Err(format!("no answer on {busy} connections for {} s", ANSWER_MAX.as_secs()));
        }
        for event in &events {
            let number = { event.data }.u64() as usize;
            let (Some(session), Some(state)) = (sessions.get_mut(number), waiting.get_mut(number)) else { continue };
            if !receive(&mut session.stream, &mut state.answer, &mut buffer)? {
                continue;
            }
            last = Instant::now();
            latency.add(last - state.sent);
            if last < end {
                state.sent = last;
                ask(session, &mut random, rows)?;
            } else {
                busy -= 1;
            }
        }
    }
    for session in sessions.iter() {
        epoll::delete(&epoll, &session.stream).map_err(|e| format!("epoll: {e}"))?;
    }
    Ok(Measured { per_second: latency.count() as f64 / (last - start).as_secs_f64().max(1e-9), latency })
}

fn ask(session: &mut Session, random: &mut Random, rows: u64) -> Result<(), String> {
    let id = 1 + random.below(rows);
    // Always room for so few bytes: the answer before was read.
    session.stream.write_all(&execute(session.statement, id as u32)).map_err(|e| format!("cannot send: {e}"))
}

/// Whether the answer is whole; it must have one row.
fn receive(stream: &mut TcpStream, answer: &mut Answer, buffer: &mut [u8]) -> Result<bool, String> {
    let bytes = match stream.read(buffer) {
        Ok(0) => return Err("the server closed a connection".into()),
        Ok(count) => buffer.get(..count).unwrap_or_default(),
        Err(e) if e.kind() == ErrorKind::WouldBlock => return Ok(false),
        Err(e) => return Err(format!("cannot receive: {e}")),
    };
    match answer.feed(bytes)? {
        None => Ok(false),
        Some(1) => Ok(true),
        Some(rows) => Err(format!("{rows} rows instead of 1")),
    }
}
