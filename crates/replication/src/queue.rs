//! What the receiver has read and the applier has not taken: events in the order of the source's log, bounded by their bytes.
//!
//! * QUEUE-1: what stands here and was taken by the applier since the last whole transaction is either the beginning of a transaction that the
//!   receiver still reads, or is followed by `Queued::Cut`: the applier undoes what it has begun.
//! * QUEUE-2: `rewind` empties the queue and tells the receiver to begin again behind what is applied. So an applier that failed finds its
//!   transaction again from its first event, and nothing of a transaction has to be kept for that.

use std::collections::VecDeque;
use std::net::{Shutdown, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};
use vaquita_types::gtid::{GtidSet, MariaGtid};

use crate::acks::Acks;

/// Bytes that wait at most; one event is always taken.
const BYTES_MAX: usize = 64 << 20;
/// What an event takes beside its bytes.
const EVENT_OVERHEAD: usize = 64;
/// How often is looked whether the applier still runs.
const LOOK: Duration = Duration::from_millis(100);

pub enum Queued {
    Event(SourceEvent),
    /// The rest of the transaction does not come: it begins again, or nothing follows.
    Cut,
}

/// An event as the source sent it.
pub struct SourceEvent {
    pub bytes: Vec<u8>,
    pub has_checksum: bool,
    /// The source's file that it stands in.
    pub file: Arc<str>,
    /// Transactions end with it.
    pub ends: bool,
    /// The source wants an ack when all up to it is committed.
    pub wants_ack: bool,
}

/// Behind the last whole transaction that was received.
#[derive(Clone, Debug, Default)]
pub struct ReceivedTo {
    pub file: String,
    pub pos: u64,
    pub gtids: GtidSet,
    pub domains: Vec<MariaGtid>,
}

#[derive(Default)]
struct State {
    events: VecDeque<Queued>,
    bytes: usize,
    /// Where others see `bytes`.
    told: Arc<AtomicU64>,
    /// `None`: the receiver begins behind what is applied.
    received_to: Option<ReceivedTo>,
    /// What was received since has its beginning in the queue, or the applier has it.
    is_within: bool,
    /// The receiver shall begin again.
    rewinds: bool,
    /// The applier waits for events: it has committed what it has taken, but for a transaction that has begun.
    applier_waits: bool,
    receiver_stops: bool,
    applier_stops: bool,
    /// Somebody receives, and is told to begin again.
    receives: bool,
    /// Of the receiver's connection.
    socket: Option<TcpStream>,
}

#[derive(Default)]
pub struct Queue {
    state: Mutex<State>,
    /// Something came, or the applier shall stop.
    filled: Condvar,
    /// There is room, or the receiver shall stop or begin again.
    emptied: Condvar,
    pub acks: Acks,
}

/// Why the receiver does not go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interrupted {
    Stop,
    Rewind,
}

impl State {
    /// While the state is locked: the two threads take turns in changing it, and so must what is told of it.
    fn set_bytes(&mut self, bytes: usize) {
        self.bytes = bytes;
        self.told.store(bytes as u64, Ordering::Relaxed);
    }
}

impl Queue {
    /// The bytes that wait are to be seen there.
    pub fn tell(&self, told: &Arc<AtomicU64>) {
        let mut state = self.state.lock();
        state.told = Arc::clone(told);
        let bytes = state.bytes;
        state.set_bytes(bytes);
    }

    /// The receiver begins a connection, or to read a log from elsewhere: where to.
    pub fn begin_receiving(&self, socket: Option<TcpStream>) -> Option<ReceivedTo> {
        let mut state = self.state.lock();
        state.socket = socket;
        state.receives = true;
        state.rewinds = false;
        if state.is_within {
            state.events.push_back(Queued::Cut);
            state.is_within = false;
            self.filled.notify_all();
        }
        state.received_to.clone()
    }

    pub fn end_receiving(&self) {
        let mut state = self.state.lock();
        state.socket = None;
        state.receives = false;
        if state.is_within {
            state.events.push_back(Queued::Cut);
            state.is_within = false;
        }
        self.filled.notify_all();
    }

    /// Waits for room. `received_to`: of an event that ends a transaction, or stands between two.
    pub fn push(&self, event: SourceEvent, received_to: Option<ReceivedTo>) -> Result<(), Interrupted> {
        let mut state = self.state.lock();
        let bytes = event.bytes.len() + EVENT_OVERHEAD;
        loop {
            interrupted(&state)?;
            if state.bytes == 0 || state.bytes + bytes <= BYTES_MAX {
                break;
            }
            self.emptied.wait(&mut state);
        }
        let bytes = state.bytes + bytes;
        state.set_bytes(bytes);
        state.is_within = received_to.is_none();
        if received_to.is_some() {
            state.received_to = received_to;
        }
        state.events.push_back(Queued::Event(event));
        self.filled.notify_all();
        Ok(())
    }

    /// Waits until the receiver shall stop or begin again, at most so long.
    pub fn sleep(&self, time: Duration) -> Result<(), Interrupted> {
        let until = Instant::now() + time;
        let mut state = self.state.lock();
        loop {
            interrupted(&state)?;
            if self.emptied.wait_until(&mut state, until).timed_out() {
                return interrupted(&state);
            }
        }
    }

    /// Whether the receiver may go on.
    pub fn check(&self) -> Result<(), Interrupted> {
        interrupted(&self.state.lock())
    }

    /// The next event; `None` if the applier shall stop.
    pub fn take(&self) -> Option<Queued> {
        let mut state = self.state.lock();
        loop {
            if state.applier_stops {
                return None;
            }
            if let Some(queued) = state.events.pop_front() {
                if let Queued::Event(event) = &queued {
                    let bytes = state.bytes - event.bytes.len() - EVENT_OVERHEAD;
                    state.set_bytes(bytes);
                }
                self.emptied.notify_all();
                return Some(queued);
            }
            state.applier_waits = true;
            self.emptied.notify_all();
            self.filled.wait(&mut state);
            state.applier_waits = false;
        }
    }

    /// Waits until all that was received is committed, as long as it goes on; false: it does not.
    pub fn wait_until_applied(&self, is_applied: impl Fn() -> bool) -> Result<bool, Interrupted> {
        let mut state = self.state.lock();
        loop {
            interrupted(&state)?;
            if state.events.is_empty() && state.applier_waits {
                return Ok(true);
            }
            if !is_applied() {
                return Ok(false);
            }
            self.emptied.wait_for(&mut state, LOOK);
        }
    }

    /// Whether the receiver is to begin again.
    pub fn is_rewound(&self) -> bool {
        self.state.lock().rewinds
    }

    /// Whether nothing waits.
    pub fn is_empty(&self) -> bool {
        self.state.lock().events.is_empty()
    }

    /// The applier waits for something else than events; false if it shall stop.
    pub fn applier_sleeps(&self, time: Duration) -> bool {
        let until = Instant::now() + time;
        let mut state = self.state.lock();
        while !state.applier_stops {
            if self.filled.wait_until(&mut state, until).timed_out() {
                return !state.applier_stops;
            }
        }
        false
    }

    /// The applier begins again behind what it has applied (QUEUE-2).
    pub fn rewind(&self) {
        let mut state = self.state.lock();
        state.events.clear();
        state.set_bytes(0);
        state.received_to = None;
        state.is_within = false;
        state.rewinds = state.receives;
        if let Some(socket) = state.socket.take() {
            let _ = socket.shutdown(Shutdown::Both);
        }
        self.emptied.notify_all();
    }

    /// Of each thread: whether it is to stop.
    pub fn set_stops(&self, receiver: Option<bool>, applier: Option<bool>) {
        let mut state = self.state.lock();
        state.receiver_stops = receiver.unwrap_or(state.receiver_stops);
        state.applier_stops = applier.unwrap_or(state.applier_stops);
        if state.receiver_stops
            && let Some(socket) = &state.socket
        {
            let _ = socket.shutdown(Shutdown::Both);
        }
        self.filled.notify_all();
        self.emptied.notify_all();
    }

    pub fn applier_stops(&self) -> bool {
        self.state.lock().applier_stops
    }
}

fn interrupted(state: &State) -> Result<(), Interrupted> {
    match (state.receiver_stops, state.rewinds) {
        (true, _) => Err(Interrupted::Stop),
        (_, true) => Err(Interrupted::Rewind),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(ends: bool) -> SourceEvent {
        SourceEvent { bytes: vec![0; 100], has_checksum: false, file: "log.1".into(), ends, wants_ack: false }
    }

    fn socket() -> Option<TcpStream> {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        Some(TcpStream::connect(listener.local_addr().unwrap()).unwrap())
    }

    #[test]
    fn a_transaction_that_is_cut_is_said_to_be() {
        let queue = Queue::default();
        assert!(queue.begin_receiving(socket()).is_none());
        queue.push(event(true), Some(ReceivedTo { pos: 7, ..ReceivedTo::default() })).unwrap();
        queue.push(event(false), None).unwrap();
        queue.end_receiving();
        assert!(matches!(queue.take(), Some(Queued::Event(_))));
        assert!(matches!(queue.take(), Some(Queued::Event(_))));
        assert!(matches!(queue.take(), Some(Queued::Cut)));
        assert_eq!(queue.begin_receiving(socket()).map(|to| to.pos), Some(7));
        assert!(queue.is_empty());
    }

    /// Once the receiver told what there was after its event, when the applier had taken that: a replica with nothing to do showed bytes
    /// that waited, and `vaquita attach` waited for them.
    #[test]
    fn what_waits_is_told_as_it_is() {
        let (queue, told) = (Arc::new(Queue::default()), Arc::new(AtomicU64::new(7)));
        queue.tell(&told);
        assert_eq!(told.load(Ordering::Relaxed), 0);
        queue.begin_receiving(socket());
        let applier = std::thread::spawn({
            let queue = Arc::clone(&queue);
            move || while queue.take().is_some() {}
        });
        for _ in 0..2000 {
            queue.push(event(true), Some(ReceivedTo::default())).unwrap();
        }
        assert_eq!(queue.wait_until_applied(|| true), Ok(true));
        assert_eq!(told.load(Ordering::Relaxed), 0);
        queue.set_stops(None, Some(true));
        applier.join().unwrap();
        queue.set_stops(None, Some(false));
        queue.push(event(true), None).unwrap();
        assert!(told.load(Ordering::Relaxed) > 100);
        queue.rewind();
        assert_eq!(told.load(Ordering::Relaxed), 0);
    }

    #[test]
    fn who_rewinds_receives_again_what_is_not_applied() {
        let queue = Queue::default();
        queue.begin_receiving(socket());
        queue.push(event(true), Some(ReceivedTo::default())).unwrap();
        queue.rewind();
        assert!(queue.is_empty());
        assert_eq!(queue.push(event(true), None), Err(Interrupted::Rewind));
        assert!(queue.begin_receiving(socket()).is_none());
        queue.push(event(true), None).unwrap();
        queue.set_stops(Some(true), Some(true));
        assert_eq!(queue.check(), Err(Interrupted::Stop));
        assert!(queue.take().is_none());
    }
}
