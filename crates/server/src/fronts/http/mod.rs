//! The HTTP front: metrics for Prometheus, health, and the console for people.
//!
//! 1. `HttpFront::start` binds the port before the data is opened, so that `/readyz` can say that the server starts. One thread with a Tokio
//!    runtime accepts, speaks TLS (`connection`) and routes (`routes`). It never runs a statement: what may take long goes to `Workers`, a few
//!    threads that exist while there is work.
//! 2. A thread takes a sample of the metrics now and then, for the charts of the console (`history`).
//! 3. `/metrics` reads counters (`metrics`). Everything that the console shows it has from statements, which run in sessions of the account that
//!    is logged in (`console`): the console can show and do nothing that the account could not with SQL.
//!
//! * HTTP-1: the front knows no table, row or privilege but through `session`; it has no way around SQL.
//! * HTTP-2: what a client can make grow has a limit in `limits`: connections, bodies, sessions, waiting work, rows of a page.
//! * HTTP-3: without requests nothing runs but the thread that waits for them, and each ten seconds a sample.
//! * HTTP-4: metrics that cannot be collected, because a disk or a lock hangs, take one worker, and no statement waits for them.

mod account;
mod attempts;
mod connection;
mod console;
mod history;
mod limits;
mod metrics;
mod routes;
mod workers;

use std::net::{SocketAddr, TcpListener};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use tokio::sync::Semaphore;

use crate::fronts::mysql::front::Front;
use attempts::Attempts;
use console::Logins;
use history::History;
use metrics::Collector;
use workers::Workers;

/// What the front serves, from before the data is opened until the process ends.
pub struct HttpFront {
    /// Only this machine can connect.
    is_local: bool,
    /// The server, once it runs statements.
    front: OnceLock<Arc<Front>>,
    is_stopping: AtomicBool,
    workers: Workers,
    collector: Collector,
    /// One collects at a time (HTTP-4).
    collecting: Arc<Semaphore>,
    attempts: Attempts,
    port: u16,
    logins: Logins,
    history: History,
}

impl HttpFront {
    /// Listens; without the port the server goes on without a console.
    pub fn start(bind: &str, port: u16) -> Option<Arc<HttpFront>> {
        let started = TcpListener::bind((bind, port)).and_then(|listener| {
            let address = listener.local_addr()?;
            listener.set_nonblocking(true)?;
            let front = Arc::new(HttpFront::new(address));
            let serving = front.clone();
            let thread = std::thread::Builder::new().name("http".into());
            thread.spawn(move || connection::serve(&serving, listener))?;
            Ok((front, address))
        });
        match started {
            Ok((front, address)) => {
                tracing::info!("metrics and console on http://{address}/");
                Some(front)
            }
            Err(error) => {
                tracing::warn!("cannot listen on {bind}:{port} for HTTP, there is no console: {error}");
                None
            }
        }
    }

    fn new(address: SocketAddr) -> HttpFront {
        HttpFront {
            is_local: address.ip().is_loopback(),
            front: OnceLock::new(),
            is_stopping: AtomicBool::new(false),
            workers: Workers::default(),
            collector: Collector::default(),
            collecting: Arc::new(Semaphore::new(1)),
            attempts: Attempts::default(),
            port: address.port(),
            logins: Logins::default(),
            history: History::default(),
        }
    }

    /// From now on statements run.
    pub fn ready(self: &Arc<HttpFront>, front: &Arc<Front>) {
        let _ = self.front.set(front.clone());
        let (http, server) = (self.clone(), front.server.clone());
        let thread = std::thread::Builder::new().name("http-history".into());
        let is_over = move || http.is_stopping.load(Ordering::SeqCst);
        let http = self.clone();
        let run = move || http.history.run(&server, is_over, || http.logins.is_any());
        if let Err(error) = thread.spawn(run) {
            tracing::warn!("no thread for the history of metrics: {error}");
        }
    }

    /// No statement begins any more.
    pub fn stop(&self) {
        self.is_stopping.store(true, Ordering::SeqCst);
        self.history.wake();
    }

    /// The server, while it runs statements.
    fn server(&self) -> Option<&Arc<Front>> {
        self.front.get().filter(|_| !self.is_stopping.load(Ordering::SeqCst))
    }
}

/// Where a request came from.
#[derive(Clone)]
struct Origin {
    peer: SocketAddr,
    /// Of the client, if the connection is encrypted.
    tls: Option<vaquita_session::accounts::TlsPeer>,
}

impl Origin {
    /// As accounts name it.
    fn host(&self) -> String {
        if self.peer.ip().is_loopback() { "localhost".to_string() } else { self.peer.ip().to_string() }
    }
}
