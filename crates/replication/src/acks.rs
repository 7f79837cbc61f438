//! What a semi-synchronous replica tells its source: how far it has committed.
//!
//! The source asks for an ack with an event; the receiver leaves the wish with the event, the applier says here that all up to it is committed,
//! and the receiver, whose connection it is, sends it. It waits for the source in `poll`, from which `signal` wakes it.
//!
//! * ACK-1: what is acked was applied and committed, as durable as `innodb_flush_log_at_trx_commit` asks: there is no relay log that would keep
//!   what was only received.
//! * ACK-2: nobody waits for an ack to be sent: the applier leaves it here. A later one stands for those before it.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;

use parking_lot::Mutex;
use rustix::event::{EventfdFlags, eventfd};

/// A place of the source's log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AckedPlace {
    pub file: Arc<str>,
    pub pos: u64,
}

/// Between the applier and the receiver of a channel.
pub struct Acks {
    /// Committed and not told.
    due: Mutex<Option<AckedPlace>>,
    signal: std::io::Result<OwnedFd>,
}

impl Default for Acks {
    fn default() -> Acks {
        let signal = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK).map_err(std::io::Error::from);
        Acks { due: Mutex::default(), signal }
    }
}

impl Acks {
    /// All up to here is committed.
    pub fn committed(&self, place: AckedPlace) {
        let first = self.due.lock().replace(place).is_none();
        if let Ok(signal) = &self.signal
            && first
        {
            // It can fail only if it is readable anyway.
            let _ = rustix::io::write(signal, &1u64.to_ne_bytes());
        }
    }

    /// What is to be told now.
    pub fn take(&self) -> Option<AckedPlace> {
        let mut due = self.due.lock();
        if due.is_some()
            && let Ok(signal) = &self.signal
        {
            let _ = rustix::io::read(signal, &mut [0u8; 8]);
        }
        due.take()
    }

    /// Can be read when there is something to tell; `None`: there are no more descriptors.
    pub fn signal(&self) -> Option<BorrowedFd<'_>> {
        self.signal.as_ref().ok().map(AsFd::as_fd)
    }
}

#[cfg(test)]
mod tests {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};

    use super::*;

    #[test]
    fn a_later_ack_stands_for_those_before_it() {
        let acks = Acks::default();
        let place = |pos| AckedPlace { file: "log.1".into(), pos };
        let is_signalled = || {
            let mut fds = [PollFd::from_borrowed_fd(acks.signal().unwrap(), PollFlags::IN)];
            poll(&mut fds, Some(&Timespec { tv_sec: 0, tv_nsec: 0 })).unwrap() == 1
        };
        assert!(!is_signalled());
        acks.committed(place(4));
        acks.committed(place(9));
        assert!(is_signalled());
        assert_eq!(acks.take(), Some(place(9)));
        assert!(!is_signalled());
        assert_eq!(acks.take(), None);
    }
}
