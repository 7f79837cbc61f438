//! What whoever runs events is told: that events have changed, and that the server stops.

use std::time::Duration;

use parking_lot::{Condvar, Mutex};

#[derive(Default)]
pub struct EventSignal {
    state: Mutex<State>,
    wake: Condvar,
}

#[derive(Default)]
struct State {
    is_stale: bool,
    stops: bool,
    running: usize,
}

/// What has been said.
pub struct Said {
    /// Events are other than when they were read.
    pub is_stale: bool,
    pub stops: bool,
}

impl EventSignal {
    /// Events, or whether they are to run.
    pub fn changed(&self) {
        self.state.lock().is_stale = true;
        self.wake.notify_all();
    }

    /// No further event begins.
    pub fn stop(&self) {
        self.state.lock().stops = true;
        self.wake.notify_all();
    }

    /// What has been said since it was last taken.
    pub fn take(&self) -> Said {
        let mut state = self.state.lock();
        Said { is_stale: std::mem::take(&mut state.is_stale), stops: state.stops }
    }

    /// Until something is said, and no longer than `time`.
    pub fn sleep(&self, time: Duration) {
        let mut state = self.state.lock();
        if !state.stops && !state.is_stale {
            self.wake.wait_for(&mut state, time);
        }
    }

    /// Whether one more event may begin, of `most` at once; then `ended` is due.
    pub fn begin(&self, most: usize) -> bool {
        let mut state = self.state.lock();
        let may = state.running < most && !state.stops;
        state.running += usize::from(may);
        may
    }

    pub fn ended(&self) {
        self.state.lock().running -= 1;
        self.wake.notify_all();
    }
}
