//! Many sessions at once on one thread: epoll, a place for each, and a queue of those that may have waited in vain.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use rustix::event::{Timespec, epoll};

use super::session::{Kind, Session, World};
use super::watch::PATIENCE;

/// Who has heard nothing for so long goes on as if it had. It paces the harness, and decides nothing that is checked.
const STALL: Duration = Duration::from_millis(500);
const EVENTS: usize = 256;
/// One session in so many is good, and must get its answers.
const GOOD_ONE_IN: u64 = 40;

#[derive(Default)]
pub struct Counts {
    pub over: u64,
    pub logged_in: u64,
    pub tls: u64,
    pub compressed: u64,
    pub good: u64,
    /// The server closed first.
    pub ended_by_server: u64,
}

pub struct Herd<'a> {
    world: &'a World,
    epoll: std::os::fd::OwnedFd,
    places: Vec<Option<Session>>,
    free: Vec<usize>,
    /// Who is looked at when; in the order of time.
    looks: VecDeque<(Instant, usize, u64)>,
    buffer: Vec<u8>,
    pub counts: Counts,
    /// The connection that each session had, to find the session of a message in the server's log.
    pub connections: Vec<(u32, u64)>,
}

impl<'a> Herd<'a> {
    pub fn new(world: &'a World, at_once: usize) -> Result<Herd<'a>, String> {
        Ok(Herd {
            world,
            epoll: epoll::create(epoll::CreateFlags::CLOEXEC).map_err(|e| format!("epoll: {e}"))?,
            places: (0..at_once).map(|_| None).collect(),
            free: (0..at_once).collect(),
            looks: VecDeque::new(),
            buffer: vec![0; 1 << 16],
            counts: Counts::default(),
            connections: Vec::new(),
        })
    }

    /// Runs the sessions of these numbers, until all are over.
    pub fn run(&mut self, numbers: std::ops::Range<u64>, mut check: impl FnMut() -> Result<(), String>) -> Result<(), String> {
        self.connections.clear();
        let mut numbers = numbers;
        let mut events = Vec::with_capacity(EVENTS);
        loop {
            while let Some(place) = self.free.pop() {
                let Some(number) = numbers.next() else {
                    self.free.push(place);
                    break;
                };
                self.begin(place, number, number.is_multiple_of(GOOD_ONE_IN), None)?;
            }
            if self.free.len() == self.places.len() {
                return Ok(());
            }
            self.turn(&mut events)?;
            check()?;
        }
    }

    /// Runs one good session of each kind.
    pub fn run_good(&mut self, kinds: &[Kind]) -> Result<(), String> {
        let mut events = Vec::with_capacity(EVENTS);
        for (number, kind) in kinds.iter().enumerate() {
            let Some(place) = self.free.pop() else { return Err("no place".into()) };
            self.begin(place, number as u64, true, Some(*kind))?;
            while self.free.len() < self.places.len() {
                self.turn(&mut events)?;
            }
        }
        Ok(())
    }

    fn begin(&mut self, place: usize, number: u64, good: bool, kind: Option<Kind>) -> Result<(), String> {
        let session = Session::begin(self.world, number, good, kind).map_err(|e| format!("session {number}: {e}"))?;
        let (token, flags) = (epoll::EventData::new_u64(place as u64), epoll::EventFlags::IN);
        epoll::add(&self.epoll, &session.channel.socket, token, flags).map_err(|e| format!("epoll: {e}"))?;
        self.looks.push_back((Instant::now() + STALL, place, number));
        self.places[place] = Some(session);
        Ok(())
    }

    fn turn(&mut self, events: &mut Vec<epoll::Event>) -> Result<(), String> {
        events.clear();
        let timeout = Timespec { tv_sec: 0, tv_nsec: 5_000_000 };
        match epoll::wait(&self.epoll, rustix::buffer::spare_capacity(events), Some(&timeout)) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(e) => return Err(format!("epoll: {e}")),
        }
        for event in events.iter() {
            let place = { event.data }.u64() as usize;
            let Some(session) = self.places[place].as_mut() else { continue };
            let over = session.turn(self.world, &mut self.buffer);
            self.after(place, over)?;
        }
        let now = Instant::now();
        while let Some((due, place, number)) = self.looks.front().copied().filter(|(due, ..)| *due <= now) {
            self.looks.pop_front();
            let Some(session) = self.places[place].as_mut().filter(|session| session.number == number) else { continue };
            let mut over = false;
            if session.progress + STALL <= now {
                over = session.impatient(self.world);
                if (session.good || session.waits_for_end()) && session.begun.elapsed() > PATIENCE {
                    let what = if session.good { "a good session is not answered" } else { "a half-closed session is not ended" };
                    return Err(format!("{what}: session {number}, connection {}, {:?}", session.connection_id, session.kind));
                }
            }
            self.looks.push_back((due.max(now) + STALL, place, number));
            self.after(place, over)?;
        }
        Ok(())
    }

    /// Says what is waited for, or takes leave of a session that is over.
    fn after(&mut self, place: usize, over: bool) -> Result<(), String> {
        let Some(session) = self.places[place].as_mut() else { return Ok(()) };
        if let Some(fault) = session.fault.take() {
            return Err(format!("session {}, {:?}: {fault}", session.number, session.kind));
        }
        if !over {
            let mut flags = epoll::EventFlags::empty();
            flags.set(epoll::EventFlags::IN, session.reads());
            flags.set(epoll::EventFlags::OUT, session.channel.is_full());
            if flags != session.wants {
                session.wants = flags;
                let token = epoll::EventData::new_u64(place as u64);
                epoll::modify(&self.epoll, &session.channel.socket, token, flags).map_err(|e| format!("epoll: {e}"))?;
            }
            return Ok(());
        }
        if let Some(missed) = session.missed().filter(|_| session.good) {
            let name = self.world.traffic[session.kind.traffic].name;
            return Err(format!("good session {} of {name}, {:?}: {missed}", session.number, session.kind));
        }
        let counts = &mut self.counts;
        counts.over += 1;
        counts.logged_in += u64::from(session.logged_in);
        counts.tls += u64::from(session.kind.tls);
        counts.compressed += u64::from(session.kind.compression.is_some());
        counts.good += u64::from(session.good);
        counts.ended_by_server += u64::from(session.server_ended);
        self.connections.push((session.connection_id, session.number));
        // Closing takes it out of the set.
        self.places[place] = None;
        self.free.push(place);
        Ok(())
    }
}
