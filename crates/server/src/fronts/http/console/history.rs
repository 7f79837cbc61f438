//! The last minutes, for the charts: a ring of samples, which a thread takes while somebody is logged in.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use parking_lot::Mutex;
use vaquita_session::server::Server;

use super::super::HttpFront;
use super::super::limits::{SAMPLE_EVERY, SAMPLES_MAX};
use super::super::metrics::{self, Snapshot};

#[derive(Default)]
pub struct History {
    samples: Mutex<VecDeque<(Instant, Snapshot)>>,
    is_watched: AtomicBool,
}

impl History {
    /// Somebody has logged in.
    pub fn watch(front: &Arc<HttpFront>, server: &Arc<Server>) {
        if front.history.is_watched.swap(true, Ordering::SeqCst) {
            return;
        }
        let (watched, server) = (front.clone(), server.clone());
        let thread = std::thread::Builder::new().name("http-samples".into());
        if let Err(error) = thread.spawn(move || watched.history.take(&watched, &server)) {
            tracing::warn!("no thread for the charts of the console: {error}");
            front.history.is_watched.store(false, Ordering::SeqCst);
        }
    }

    fn take(&self, front: &HttpFront, server: &Server) {
        loop {
            while front.server().is_some() && front.logins.is_any() {
                let sample = (Instant::now(), metrics::snapshot(server));
                let mut samples = self.samples.lock();
                if samples.len() >= SAMPLES_MAX {
                    samples.pop_front();
                }
                samples.push_back(sample);
                drop(samples);
                std::thread::sleep(SAMPLE_EVERY);
            }
            self.samples.lock().clear();
            self.is_watched.store(false, Ordering::SeqCst);
            // Who has logged in meanwhile took this thread for one that goes on.
            let goes_on = front.server().is_some() && front.logins.is_any();
            if !goes_on || self.is_watched.swap(true, Ordering::SeqCst) {
                return;
            }
        }
    }

    /// The oldest first.
    pub fn samples(&self) -> Vec<(Instant, Snapshot)> {
        self.samples.lock().iter().cloned().collect()
    }
}
