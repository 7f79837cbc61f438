//! The thread pool that serves all connections: sessions park, threads don't.
//!
//! Every pool thread waits in the same epoll set. Sockets are registered edge-triggered and stay
//! registered, so a query costs one `epoll_wait`, one `recv` and one `send`, and no re-arming.
//! The thread that receives an event runs the session to completion, or until it parks (it waits
//! for its commit group); whoever resumes it pushes it onto the run queue.
//!
//! ```text
//!   IDLE    -> RUNNING          [event]           the thread that got the event owns the session
//!   RUNNING -> RUNNING_EVENT    [event]           more bytes came: the owner looks again
//!   RUNNING -> IDLE             [owner: nothing left to do]
//!   RUNNING -> PARKED           [owner: waits for a commit]
//!   PARKED  -> RUNNING          [resume, by the run queue]
//!   any     -> CLOSED           [owner only]
//! ```
//! * POOL-1: at most one thread runs a session at any time: it moved the state to RUNNING.
//! * POOL-2: an event is never lost: an edge that arrives while the session runs sets RUNNING_EVENT, and
//!   while it is parked PARKED_EVENT; the owner reads the socket again before it becomes IDLE.
//! * POOL-3: as many threads as `threads_active` neither are blocked nor run something long, while there is work.
//!   A thread that must block says so (`blocking`), and another one takes its place; so it is with a run that becomes long (`watch`),
//!   whose session then stays with threads of lower priority until it has been short once (`lane`).
//!
//! It knows nothing of the protocol or of SQL: see `Task`.

mod gate;
mod lane;
mod place;
mod turns;
mod watch;

use std::cell::RefCell;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread::Thread;
use std::time::{Duration, Instant};

use crossbeam_queue::SegQueue;
use parking_lot::Mutex;
use rustix::event::epoll;
use rustix::time::{ClockId, clock_gettime};
use vaquita_storage::helpers;
use vaquita_types::stack;

pub use gate::{Gate, park};
use lane::Lane;
use place::{Kind, Place};

/// How long a thread that ran out of work keeps asking for events before it sleeps.
/// A sleeping thread on an idle core takes 20 to 50 µs to wake in a virtual machine, longer than
/// a point select takes; one thread at most spins, and only while no other has work.
const SPIN_US_MAX: u64 = 50;
/// Spins in a row that may find nothing before they are left out, and after how many waits one is tried.
const SPIN_MISSES_MAX: u32 = 4;
const SPIN_RETRY: u32 = 64;
/// Threads that may exist because others are blocked. Each needs mappings, of which a process may have 65,530.
const THREADS_MAX: usize = 16_384;
/// CPU with which a run in the lane is long again.
const CPU_LONG: Duration = Duration::from_millis(4);
/// Threads that stay after the blocking is over, to avoid creating them again.
const THREADS_SPARE: usize = 8;
/// `data` of the wake-up descriptor's event; connection tokens count from 0.
const WAKE_TOKEN: u64 = u64::MAX;

/// What a run of a task ended with.
pub enum Ran {
    /// Everything that was received is answered.
    Idle,
    /// The task waits for something else than its socket; `Pool::resume` continues it.
    Parked,
    Closed,
}

/// What the pool runs: a connection of any front.
pub trait Task: Send + Sync + 'static {
    /// Reads, executes, answers, until there is nothing left to read or it must wait.
    fn run(self: Arc<Self>, worker: &mut Worker) -> Ran;
    fn gate(&self) -> &Gate;
    /// The peer has closed its side; the task may be running.
    fn hung_up(&self);
    /// Others have their turn: what runs long waits where it can, until it is held no more.
    fn hold(&self, held: bool);
    /// Called once, after the last run.
    fn closed(&self);
}

/// What a pool thread lends to the task that it runs.
pub struct Worker {
    pub read_buffer: Box<[u8]>,
    /// Bytes to send; reused, so that an idle connection owns no buffer.
    pub write_buffer: Vec<u8>,
}

/// Reads are done in pieces of this size; a longer command is joined in the session.
const READ_BUFFER_BYTES: usize = 64 << 10;
/// A write buffer that grew beyond this is given back after the statement.
const WRITE_BUFFER_BYTES_KEPT: usize = 256 << 10;

thread_local! {
    /// Of a pool thread.
    static PLACE: RefCell<Option<Arc<Place>>> = const { RefCell::new(None) };
}

pub struct Pool {
    epoll: OwnedFd,
    wake: OwnedFd,
    run_queue: SegQueue<Arc<dyn Task>>,
    slots: Mutex<Slots>,
    threads_active: usize,
    /// Without those of the lane.
    threads: AtomicUsize,
    blocked: AtomicUsize,
    /// Places beyond `threads_active` while many runs are long at once.
    burst: AtomicUsize,
    places: Mutex<Vec<Arc<Place>>>,
    lane: Lane<dyn Task>,
    /// The watcher's time, and whether it looks.
    tick: AtomicU64,
    watching: AtomicBool,
    watcher: OnceLock<Thread>,
    spawn_failed: AtomicBool,
    /// Threads inside `epoll_wait`.
    sleeping: AtomicUsize,
    /// The wake-up descriptor is written and nobody has read it yet.
    waking: AtomicBool,
    spinning: AtomicBool,
    /// Spins in a row that found nothing, and waits since that did without.
    misses: AtomicU32,
    stopping: AtomicBool,
}

/// Connections by token. A token's upper half counts the slot's uses, so that a late event of a closed
/// connection does not reach its successor.
struct Slots {
    entries: Vec<(u32, Option<Arc<dyn Task>>)>,
    free: Vec<u32>,
}

impl Pool {
    pub fn start(threads_active: usize) -> std::io::Result<Arc<Pool>> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        let wake = rustix::event::eventfd(0, rustix::event::EventfdFlags::CLOEXEC | rustix::event::EventfdFlags::NONBLOCK)?;
        let flags = epoll::EventFlags::IN | epoll::EventFlags::ET;
        epoll::add(&epoll, &wake, epoll::EventData::new_u64(WAKE_TOKEN), flags)?;
        let pool = Arc::new(Pool {
            epoll,
            wake,
            run_queue: SegQueue::new(),
            slots: Mutex::new(Slots { entries: Vec::new(), free: Vec::new() }),
            threads_active,
            threads: AtomicUsize::new(0),
            blocked: AtomicUsize::new(0),
            burst: AtomicUsize::new(0),
            places: Mutex::default(),
            lane: Lane::new(),
            tick: AtomicU64::new(1),
            watching: AtomicBool::new(true),
            watcher: OnceLock::new(),
            spawn_failed: AtomicBool::new(false),
            sleeping: AtomicUsize::new(0),
            waking: AtomicBool::new(false),
            misses: AtomicU32::new(0),
            spinning: AtomicBool::new(false),
            stopping: AtomicBool::new(false),
        });
        for _ in 0..threads_active {
            pool.spawn()?;
        }
        let watched = pool.clone();
        std::thread::Builder::new().name("watcher".into()).spawn(move || watched.watch())?;
        Ok(pool)
    }

    fn spawn(self: &Arc<Self>) -> std::io::Result<()> {
        self.threads.fetch_add(1, Ordering::Relaxed);
        let pool = self.clone();
        let thread = std::thread::Builder::new().name("worker".into()).stack_size(stack::THREAD_BYTES);
        thread.spawn(move || pool.work()).map(drop).inspect_err(|_| {
            self.threads.fetch_sub(1, Ordering::Relaxed);
        })
    }

    /// Registers `task` with its socket; events run it from now on.
    pub fn add(&self, task: Arc<dyn Task>, socket: impl AsFd) -> std::io::Result<()> {
        let token = {
            let mut slots = self.slots.lock();
            let index = slots.free.pop().unwrap_or(slots.entries.len() as u32);
            if index as usize == slots.entries.len() {
                slots.entries.push((0, None));
            }
            let entry = &mut slots.entries[index as usize];
            entry.0 += 1;
            entry.1 = Some(Arc::clone(&task));
            u64::from(entry.0 & 0x7fff_ffff) << 32 | u64::from(index)
        };
        task.gate().token.store(token, Ordering::Release);
        let flags = epoll::EventFlags::IN | epoll::EventFlags::RDHUP | epoll::EventFlags::ET;
        epoll::add(&self.epoll, socket, epoll::EventData::new_u64(token), flags).inspect_err(|_| {
            self.forget(token);
        })?;
        Ok(())
    }

    /// Drops the pool's reference; the kernel forgets a socket when it is closed.
    fn forget(&self, token: u64) {
        let mut slots = self.slots.lock();
        let index = token as u32;
        if let Some(entry) = slots.entries.get_mut(index as usize)
            && u64::from(entry.0 & 0x7fff_ffff) == token >> 32
            && entry.1.take().is_some()
        {
            slots.free.push(index);
        }
    }

    fn task(&self, token: u64) -> Option<Arc<dyn Task>> {
        let slots = self.slots.lock();
        let entry = slots.entries.get(token as u32 as usize)?;
        if u64::from(entry.0 & 0x7fff_ffff) != token >> 32 {
            return None;
        }
        entry.1.clone()
    }

    /// Continues a parked task on some pool thread.
    pub fn resume(&self, task: Arc<dyn Task>) {
        self.push(task);
        self.wake_sleeper();
    }

    /// As `resume`, but the caller calls `wake_sleeper` after its last task.
    pub fn push(&self, task: Arc<dyn Task>) {
        self.run_queue.push(task);
    }

    /// Runs an event's worth of work on `task` as if its socket had become readable: for KILL and time-outs.
    pub fn poke(&self, task: Arc<dyn Task>) {
        if task.gate().on_event() {
            self.resume(task);
        }
    }

    /// Wakes one sleeping thread for the run queue, unless one is being woken: it passes the wake-up on
    /// while there is more to do, so a group of commits costs its leader one system call.
    pub fn wake_sleeper(&self) {
        if self.sleeping.load(Ordering::SeqCst) > 0 && !self.waking.swap(true, Ordering::SeqCst) {
            self.wake_one();
        }
    }

    fn wake_one(&self) {
        let _ = rustix::io::write(&self.wake, &1u64.to_ne_bytes());
    }

    pub fn stop(&self) {
        self.stopping.store(true, Ordering::SeqCst);
        self.wake_one();
    }

    /// Runs `wait`, which blocks this thread, while another thread takes its place.
    pub fn blocking(self: &Arc<Self>, wait: &mut dyn FnMut()) {
        let place = PLACE.with_borrow(Clone::clone);
        // A thread that is not the pool's has no place to give, nor has one of the lane.
        let Some(place) = place else { return wait() };
        let state = place.state();
        if state.kind() != Kind::Holds {
            place.set_away(true);
            wait();
            return place.set_away(false);
        }
        self.blocked.fetch_add(1, Ordering::SeqCst);
        if !place.advance(state, Kind::Waits) {
            // The watcher was faster.
            self.blocked.fetch_sub(1, Ordering::SeqCst);
            return wait();
        }
        self.fill_places();
        wait();
        place.begin(Kind::Holds, self.tick.load(Ordering::Relaxed));
        self.blocked.fetch_sub(1, Ordering::SeqCst);
    }

    /// Threads that POOL-3 asks for.
    fn wanted(&self) -> usize {
        self.threads_active + self.blocked.load(Ordering::SeqCst) + self.burst.load(Ordering::Relaxed)
    }

    fn surplus(&self) -> bool {
        self.threads.load(Ordering::Relaxed) > self.wanted() + THREADS_SPARE
    }

    fn work(self: Arc<Self>) {
        let place = Arc::new(Place::of_this_thread());
        self.places.lock().push(place.clone());
        PLACE.set(Some(place.clone()));
        let mut worker = Worker { read_buffer: vec![0; READ_BUFFER_BYTES].into_boxed_slice(), write_buffer: Vec::new() };
        if self.serve(&place, &mut worker) == Kind::Long {
            self.serve_lane(&place, &mut worker);
        } else {
            self.threads.fetch_sub(1, Ordering::SeqCst);
        }
        self.places.lock().retain(|other| !Arc::ptr_eq(other, &place));
        if self.stopping.load(Ordering::Relaxed) {
            self.wake_one();
        }
    }

    /// Runs tasks until the thread is not needed, or has become one of the lane.
    fn serve(self: &Arc<Self>, place: &Place, worker: &mut Worker) -> Kind {
        let mut events = Vec::with_capacity(EVENTS_MAX);
        while !self.stopping.load(Ordering::Relaxed) {
            if let Some(task) = self.run_queue.pop() {
                task.gate().on_resume();
                if self.run(&task, worker, place, Kind::Holds) == Kind::Long {
                    return Kind::Long;
                }
                continue;
            }
            if self.surplus() {
                break;
            }
            self.wait(&mut events);
            for event in events.drain(..) {
                let epoll::Event { data, flags } = event;
                if data.u64() == WAKE_TOKEN {
                    self.on_wake();
                } else if let Some(task) = self.task_of_event(data.u64(), flags)
                    && self.run(&task, worker, place, Kind::Holds) == Kind::Long
                {
                    // There is one event at a time.
                    return Kind::Long;
                }
            }
        }
        Kind::Free
    }

    /// The task, if the calling thread owns it now.
    fn task_of_event(&self, token: u64, flags: epoll::EventFlags) -> Option<Arc<dyn Task>> {
        let task = self.task(token)?;
        if flags.intersects(epoll::EventFlags::RDHUP | epoll::EventFlags::HUP | epoll::EventFlags::ERR) {
            task.gate().set_hung_up();
            task.hung_up();
        }
        if !task.gate().on_event() || task.gate().is_long() && self.lane.offer(&task) {
            return None;
        }
        Some(task)
    }

    /// Runs sessions whose last statement was long.
    fn serve_lane(self: &Arc<Self>, place: &Place, worker: &mut Worker) {
        // A thread whose priority is lower serves only as long as others of its kind would have a lower one.
        let may_serve = || place.niceness() == 0 || place.niceness() == watch::NICENESS && helpers::is_short_beside();
        while !self.stopping.load(Ordering::Relaxed) && may_serve() {
            let Some(task) = self.lane.take() else { return };
            let before = clock_gettime(ClockId::ThreadCPUTime);
            self.run(&task, worker, place, Kind::Long);
            let cpu = clock_gettime(ClockId::ThreadCPUTime) - before;
            task.gate().set_long(cpu.try_into().is_ok_and(|cpu: Duration| cpu >= CPU_LONG));
        }
    }

    fn on_wake(&self) {
        let mut count = [0u8; 8];
        let _ = rustix::io::read(&self.wake, &mut count);
        // A push that saw the flag set happened before this, so the length counts it.
        self.waking.store(false, Ordering::SeqCst);
        if self.run_queue.len() > 1 {
            self.wake_sleeper();
        }
    }

    /// Runs the task as its owner until it is idle, waits for a commit, or is closed. Tells what became of the thread.
    fn run(self: &Arc<Self>, task: &Arc<dyn Task>, worker: &mut Worker, place: &Place, mut kind: Kind) -> Kind {
        place.set_task(task.gate().token.load(Ordering::Relaxed));
        loop {
            place.begin(kind, self.tick.load(Ordering::Relaxed));
            if !self.watching.load(Ordering::Relaxed) {
                self.wake_watcher();
            }
            let ran = Arc::clone(task).run(worker);
            match place.end() {
                Kind::Long if kind != Kind::Long => {
                    kind = Kind::Long;
                    task.gate().set_long(true);
                }
                Kind::Given => {
                    self.blocked.fetch_sub(1, Ordering::SeqCst);
                }
                _ if kind != Kind::Long && task.gate().is_long() => task.gate().set_long(false),
                _ => {}
            }
            worker.write_buffer.clear();
            if worker.write_buffer.capacity() > WRITE_BUFFER_BYTES_KEPT {
                worker.write_buffer = Vec::new();
            }
            match ran {
                Ran::Idle if !task.gate().release(gate::IDLE) => continue,
                Ran::Idle | Ran::Parked => return kind,
                Ran::Closed => {
                    task.gate().close();
                    self.forget(task.gate().token.load(Ordering::Acquire));
                    task.closed();
                    return kind;
                }
            }
        }
    }

    /// False after spins that found nothing, but for a try now and then: where clients wait for the
    /// disk, spinning only takes their cores.
    fn spin_pays(&self) -> bool {
        let misses = self.misses.load(Ordering::Relaxed);
        if misses < SPIN_MISSES_MAX {
            return true;
        }
        self.misses.fetch_add(1, Ordering::Relaxed).is_multiple_of(SPIN_RETRY)
    }

    /// Waits for events: spins a little if nobody else does, then sleeps.
    fn wait(&self, events: &mut Vec<epoll::Event>) {
        let zero = rustix::event::Timespec { tv_sec: 0, tv_nsec: 0 };
        if self.spin_pays() && !self.spinning.swap(true, Ordering::Acquire) {
            let start = Instant::now();
            while start.elapsed() < Duration::from_micros(SPIN_US_MAX) {
                let _ = epoll::wait(&self.epoll, rustix::buffer::spare_capacity(events), Some(&zero));
                if !events.is_empty() || !self.run_queue.is_empty() {
                    break;
                }
                // Whoever else wants this core has it.
                std::thread::yield_now();
            }
            self.spinning.store(false, Ordering::Release);
            if events.is_empty() && self.run_queue.is_empty() {
                self.misses.fetch_add(1, Ordering::Relaxed);
            } else {
                self.misses.store(0, Ordering::Relaxed);
            }
            if !events.is_empty() {
                return;
            }
        }
        self.sleeping.fetch_add(1, Ordering::SeqCst);
        // A push that saw no sleeper happened before this check, or sees this one.
        if self.run_queue.is_empty() {
            let _ = epoll::wait(&self.epoll, rustix::buffer::spare_capacity(events), None);
        }
        self.sleeping.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Events taken per `epoll_wait`. One: a thread that took two and blocked in the first, waiting for a lock that
/// the second's session holds, would wait for itself.
const EVENTS_MAX: usize = 1;
