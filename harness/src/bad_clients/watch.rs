//! What is looked at while bad clients come and go: that a good one is answered all the time, and that nothing is left behind.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{JoinHandle, sleep};
use std::time::{Duration, Instant};

use crate::client::{Answer, Client};
use crate::vaquita::PASSWORD;

/// What should happen has happened by then, however slow the machine is; the client's own limit for an answer is the same.
pub const PATIENCE: Duration = Duration::from_secs(60);
const PAUSE: Duration = Duration::from_millis(5);
/// So often the good client logs in anew.
const LOGIN_EVERY: u64 = 10;
const QUESTION: &str = "SELECT v FROM bad_clients.good WHERE id = 1";

/// A good client in a thread of its own.
pub struct GoodClient {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct Shared {
    stop: AtomicBool,
    answers: AtomicU64,
    slowest_ms: AtomicU64,
    failure: Mutex<Option<String>>,
    /// Held while it asks.
    asking: Mutex<()>,
}

impl GoodClient {
    pub fn start(port: u16) -> Result<GoodClient, String> {
        let shared = Arc::new(Shared::default());
        let (of_thread, mut client) = (shared.clone(), connect(port)?);
        let thread = std::thread::spawn(move || {
            for round in 0u64.. {
                if of_thread.stop.load(Ordering::Relaxed) {
                    return;
                }
                let asked = Instant::now();
                let answered = of_thread.asking.lock().map_err(|e| e.to_string()).and_then(|_asking| {
                    if round.is_multiple_of(LOGIN_EVERY) { ask(&mut connect(port)?) } else { ask(&mut client) }
                });
                if let (Err(text), Ok(mut failure)) = (answered, of_thread.failure.lock()) {
                    *failure = Some(format!("a good client is not answered: {text}"));
                    return;
                }
                of_thread.answers.fetch_add(1, Ordering::Relaxed);
                of_thread.slowest_ms.fetch_max(asked.elapsed().as_millis() as u64, Ordering::Relaxed);
                sleep(PAUSE);
            }
        });
        Ok(GoodClient { shared, thread: Some(thread) })
    }

    pub fn check(&self) -> Result<(), String> {
        match self.shared.failure.lock().map_err(|e| e.to_string())?.take() {
            Some(failure) => Err(failure),
            None => Ok(()),
        }
    }

    /// Answers so far, and milliseconds of the slowest.
    pub fn answers(&self) -> (u64, u64) {
        (self.shared.answers.load(Ordering::Relaxed), self.shared.slowest_ms.load(Ordering::Relaxed))
    }

    /// Does `work` while it asks nothing.
    pub fn silent<T>(&self, work: impl FnOnce() -> Result<T, String>) -> Result<T, String> {
        let _asking = self.shared.asking.lock().map_err(|e| e.to_string())?;
        work()
    }
}

impl Drop for GoodClient {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn connect(port: u16) -> Result<Client, String> {
    Client::connect(port, "root", PASSWORD).map_err(|e| format!("no login: {e}"))
}

fn ask(client: &mut Client) -> Result<(), String> {
    match client.try_query(QUESTION) {
        Ok(Answer::Rows { rows, .. }) if rows == [[Some(b"good".to_vec())]] => Ok(()),
        other => Err(format!("{other:?}")),
    }
}

/// What a server holds when nobody does anything.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Holdings {
    /// By name, without a number behind it.
    pub threads: BTreeMap<String, u64>,
    /// Open descriptors by kind: sockets, deleted files, files by directory …
    pub descriptors: BTreeMap<String, u64>,
    pub resident_kib: u64,
}

/// Workers that the server's pool keeps for the next wait, more or less of them: a number that does not depend on that of the sessions.
const SPARE_WORKERS: u64 = 16;

impl Holdings {
    /// The engine starts its threads as it needs them.
    fn is_no_more_than(&self, before: &Holdings) -> bool {
        let spare = |name: &str| if name == "worker" { SPARE_WORKERS } else { 0 };
        let of_before = |name: &String| before.threads.get(name).copied().unwrap_or(0);
        let known = |(name, count): (&String, &u64)| name.starts_with("rocksdb") || *count <= of_before(name) + spare(name);
        self.descriptors == before.descriptors && self.threads.iter().all(known)
    }
}

pub struct Process {
    pub pid: u32,
    pub data: PathBuf,
}

impl Process {
    pub fn holdings(&self) -> Result<Holdings, String> {
        let path = format!("/proc/{}/status", self.pid);
        let status = fs::read_to_string(&path).map_err(|e| format!("{path}: {e}"))?;
        let number = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name));
            line.and_then(|rest| rest.split_whitespace().next()?.parse().ok()).ok_or(format!("{path}: no {name}"))
        };
        Ok(Holdings { threads: self.threads()?, descriptors: self.descriptors()?, resident_kib: number("VmRSS:")? })
    }

    fn threads(&self) -> Result<BTreeMap<String, u64>, String> {
        let dir = format!("/proc/{}/task", self.pid);
        let mut names = BTreeMap::new();
        for entry in fs::read_dir(&dir).map_err(|e| format!("{dir}: {e}"))? {
            // One that ends meanwhile.
            let path = entry.map_err(|e| format!("{dir}: {e}"))?.path();
            let Ok(name) = fs::read_to_string(path.join("comm")) else { continue };
            let name = name.trim_end().trim_end_matches(|c: char| c.is_ascii_digit()).trim_end();
            *names.entry(name.to_string()).or_insert(0) += 1;
        }
        Ok(names)
    }

    fn descriptors(&self) -> Result<BTreeMap<String, u64>, String> {
        let dir = format!("/proc/{}/fd", self.pid);
        let mut kinds = BTreeMap::new();
        for entry in fs::read_dir(&dir).map_err(|e| format!("{dir}: {e}"))? {
            // One that is closed meanwhile.
            let Ok(target) = fs::read_link(entry.map_err(|e| format!("{dir}: {e}"))?.path()) else { continue };
            *kinds.entry(kind(&target, &self.data)).or_insert(0) += 1;
        }
        // The engine opens and closes its files as it flushes and compacts.
        kinds.remove("engine");
        Ok(kinds)
    }

    /// Waits until only `sessions` are left, and no more threads and descriptors than in `before`.
    pub fn settle(&self, client: &mut Client, sessions: usize, before: Option<&Holdings>) -> Result<Holdings, String> {
        let began = Instant::now();
        loop {
            let left = sessions_of(client)?;
            let now = self.holdings()?;
            let same = before.is_none_or(|before| now.is_no_more_than(before));
            if left.len() == sessions && same {
                return Ok(now);
            }
            if began.elapsed() > PATIENCE {
                return Err(format!(
                    "left behind: {} sessions instead of {sessions}: {left:?}\nheld: {now:?}\nheld before: {before:?}",
                    left.len()
                ));
            }
            sleep(Duration::from_millis(20));
        }
    }
}

fn kind(target: &Path, data: &Path) -> String {
    let text = target.display().to_string();
    if text.ends_with("(deleted)") {
        return "deleted file".into();
    }
    if target.starts_with(data.join("rocksdb")) {
        return "engine".into();
    }
    text.split_once(":[").map_or(text.clone(), |(kind, _)| kind.to_string())
}

fn sessions_of(client: &mut Client) -> Result<Vec<Vec<String>>, String> {
    match client.try_query("SHOW PROCESSLIST") {
        // The event scheduler is no session.
        Ok(answer @ Answer::Rows { .. }) => {
            Ok(answer.rows().into_iter().filter(|row| row.get(4).is_none_or(|command| command != "Daemon")).collect())
        }
        other => Err(format!("SHOW PROCESSLIST: {other:?}")),
    }
}
