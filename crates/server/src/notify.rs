//! What a service manager is told: systemd, or whoever else listens on the socket that NOTIFY_SOCKET names. Without that
//! variable nothing is.
//!
//! * `starting`: the start may take longer than the unit allows, as when a long log is replayed. More time is asked for as
//!   long as the process works, so that a start that hangs is still ended.
//! * `ready`: clients are served. If the unit has a watchdog (WATCHDOG_USEC), a thread asks the server as a client does
//!   (`ping`) and reports each answer. A server that lives without answering is not reported, and systemd restarts it.
//! * `stopping`: nobody waits for an answer any more.

use std::path::Path;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Weak};
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};
use sd_notify::NotifyState;
use vaquita_replication::address::Address;

use crate::fronts::mysql::front::Front;

/// How often a start looks at its progress.
const PROGRESS_LOOK: Duration = Duration::from_secs(10);
/// What it asks for then: some looks may come late on a busy machine.
const MORE_TIME: Duration = Duration::from_secs(60);
/// CPU time between two looks that is progress; the look itself takes a hundredth of it.
const PROGRESS_CPU: Duration = Duration::from_millis(2);
/// The server is asked so often while the watchdog waits: one answer may be late.
const QUESTIONS_PER_WATCHDOG: u32 = 3;

fn tell(states: &[NotifyState<'_>]) {
    if let Err(error) = sd_notify::notify(states) {
        tracing::warn!("the service manager cannot be told {states:?}: {error}");
    }
}

/// A start under way; it ends when this is dropped.
pub struct Starting(#[allow(dead_code)] Option<Sender<()>>);

pub fn starting() -> Starting {
    if std::env::var_os("NOTIFY_SOCKET").is_none() {
        return Starting(None);
    }
    tell(&[NotifyState::Status("Opening the data")]);
    let (sender, dropped) = channel();
    let watching = std::thread::Builder::new().name("start-progress".into()).spawn(move || {
        let mut before = cpu_time();
        while dropped.recv_timeout(PROGRESS_LOOK) == Err(RecvTimeoutError::Timeout) {
            let now = cpu_time();
            if now.saturating_sub(before) >= PROGRESS_CPU {
                tell(&[NotifyState::ExtendTimeoutUsec(MORE_TIME.as_micros() as u32)]);
            }
            before = now;
        }
    });
    if let Err(error) = watching {
        tracing::warn!("nobody looks at the progress of the start: {error}");
    }
    Starting(Some(sender))
}

/// What all threads of the process have computed.
fn cpu_time() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), time.tv_nsec as u32)
}

/// Clients are served at the socket.
pub fn ready(front: &Arc<Front>, socket: &Path, place: &str) -> std::io::Result<()> {
    tell(&[NotifyState::Ready, NotifyState::Status(&format!("Ready for connections on {place}"))]);
    let Some(limit) = sd_notify::watchdog_enabled() else { return Ok(()) };
    let address = Address { host: socket.display().to_string(), user: "root".to_string(), ..Address::default() };
    let front = Arc::downgrade(front);
    std::thread::Builder::new().name("watchdog".into()).spawn(move || watch(&front, &address, limit / QUESTIONS_PER_WATCHDOG))?;
    Ok(())
}

fn watch(front: &Weak<Front>, address: &Address, pause: Duration) {
    let serves = || front.upgrade().is_some_and(|front| !front.stopping.load(Ordering::Relaxed));
    while serves() {
        match crate::ping::ask(address, pause) {
            Ok(()) => tell(&[NotifyState::Watchdog]),
            Err(error) if serves() => tracing::error!("the server does not answer itself: {error}"),
            Err(_) => return,
        }
        std::thread::sleep(pause);
    }
}

pub fn stopping() {
    tell(&[NotifyState::Stopping, NotifyState::Status("Shutting down")]);
}
