//! The scheduler of events: a thread that waits for the next one, and a thread for each that runs.
//!
//! 1. `run` holds what is enabled with the time of its next run. DDL of events says so (`EventSignal::changed`), and what is new or other is read again.
//! 2. When a time has come, the run is noted before it begins (`Catalog::note_event_executed`), so that a crash in it does not run it twice. One
//!    that is the last disables the event first, and drops it behind the run unless it is ON COMPLETION PRESERVE.
//! 3. The body runs in a session of its own as the definer (`Session::run_event`). Its error goes to the server's log.
//!
//! * EVENT-1: an event of one time runs at a start that comes later; of the times of others that were missed none is made up for, as in MySQL.
//! * EVENT-2: no more than `EVENTS_AT_ONCE_MAX` run at once; the others wait until one has ended.
//! * EVENT-3: the scheduler itself waits for no lock. What is over is ended by a thread of its own, and nothing else touches it meanwhile.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, mpsc};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use parking_lot::Mutex;
use vaquita_exec::system::events::{self, EventRecord, EventStatus};
use vaquita_types::errno::{ER_DBACCESS_DENIED_ERROR, ER_NO_SUCH_USER};
use vaquita_types::limits::EVENTS_AT_ONCE_MAX;
use vaquita_types::schema::{ObjectKind, StoredObject};
use vaquita_types::{Error, Result, Value, memory, stack};

use vaquita_session::accounts::privilege;
use vaquita_session::clients::Client;
use vaquita_session::event_end;
use vaquita_session::event_times::{Next, next};
use vaquita_session::server::Server;
use vaquita_session::session::{ClientOptions, Session};
use vaquita_session::variables::{Var, registry, zone};

/// How often the scheduler looks at the clock and at `event_scheduler` at least: both may change without a word.
const LOOK: Duration = Duration::from_secs(1);
/// When what could not begin is tried again.
const RETRY_S: i64 = 10;
/// What a run asks the memory account for before it begins.
const RUN_BYTES: usize = 64 << 10;

/// Database and name as it is compared.
type Key = (String, String);

/// An event that waits for its time.
struct Waiting {
    version: u64,
    at: i64,
}

struct Scheduler {
    server: Arc<Server>,
    queue: HashMap<Key, Waiting>,
    /// What a thread ends (EVENT-3).
    ending: Arc<Mutex<HashSet<Key>>>,
}

/// The thread of the scheduler, until the server stops.
pub fn run(server: &Arc<Server>) {
    let mut scheduler = Scheduler { server: server.clone(), queue: HashMap::new(), ending: Arc::default() };
    let mut daemon: Option<Arc<Client>> = None;
    // What was there at the start.
    let mut is_stale = true;
    loop {
        let said = server.events.take();
        is_stale |= said.is_stale;
        if said.stops {
            break;
        }
        if daemon.as_ref().is_some_and(|client| client.must_close()) {
            // KILL of the scheduler turns it off.
            let _ = server.globals.set(registry().of(Var::EventScheduler), "OFF".into(), &server.engine);
        }
        if !is_on(server) {
            if let Some(client) = daemon.take() {
                server.clients().remove(client.id);
            }
            server.events.sleep(LOOK);
            continue;
        }
        let client = daemon.get_or_insert_with(|| begin_daemon(server));
        if is_stale {
            is_stale = match scheduler.read() {
                Ok(()) => false,
                Err(error) => {
                    tracing::error!("events cannot be read: {}", error.message());
                    true
                }
            };
        }
        scheduler.begin_due();
        let soonest = scheduler.queue.values().map(|waiting| waiting.at).min();
        client.set_state(if soonest.is_some() { "Waiting for next activation" } else { "Waiting on empty queue" });
        server.events.sleep(soonest.map_or(LOOK, until));
    }
    if let Some(client) = daemon {
        server.clients().remove(client.id);
    }
}

fn is_on(server: &Server) -> bool {
    matches!(server.globals.get(registry().of(Var::EventScheduler)), Value::Bytes(word) if word.eq_ignore_ascii_case(b"ON"))
}

fn now() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}

fn now_s() -> i64 {
    i64::try_from(now().as_secs()).unwrap_or(i64::MAX)
}

fn until(at: i64) -> Duration {
    let left = Duration::from_secs(u64::try_from(at).unwrap_or(0)).saturating_sub(now());
    // What is due and has found no place waits for one to end.
    if left.is_zero() { LOOK } else { left.min(LOOK) }
}

/// The scheduler in SHOW PROCESSLIST.
fn begin_daemon(server: &Arc<Server>) -> Arc<Client> {
    let client = Arc::new(Client::in_background(server.new_connection_id(), "localhost"));
    client.authenticated("event_scheduler", ("event_scheduler", "localhost"), false);
    client.begin_command("Daemon", None);
    let waked = Arc::downgrade(server);
    client.set_waker(Box::new(move || {
        if let Some(server) = waked.upgrade() {
            server.events.changed();
        }
    }));
    server.clients().add(client.clone());
    client
}

impl Scheduler {
    /// Reads the events that are new or other than before.
    fn read(&mut self) -> Result<()> {
        let names = self.server.catalog.event_names()?;
        let mut before = std::mem::take(&mut self.queue);
        for key in names {
            let known = before.remove(&key);
            if let Err(error) = self.place(&key, known) {
                tracing::error!("event {}.{} cannot be read: {}", key.0, key.1, error.message());
            }
        }
        Ok(())
    }

    /// Queues an event that is enabled, or ends it.
    fn place(&mut self, key: &Key, known: Option<Waiting>) -> Result<()> {
        let Some(object) = self.server.catalog.object(&key.0, ObjectKind::Event, &key.1)? else { return Ok(()) };
        let record = events::read(&object)?;
        if record.status != EventStatus::Enabled || self.ending.lock().contains(key) {
            return Ok(());
        }
        if let Some(known) = known.filter(|known| known.version == object.version) {
            self.queue.insert(key.clone(), known);
            return Ok(());
        }
        let executed = self.server.catalog.event_executed_s(&key.0, &key.1)?;
        let at = match next(record.times, &zone(events::zone_name(&object)), executed, now_s()) {
            Next::At(at) => at,
            // It is due to be ended.
            Next::Over => now_s(),
        };
        self.queue.insert(key.clone(), Waiting { version: object.version, at });
        Ok(())
    }

    /// Begins what is due.
    fn begin_due(&mut self) {
        let now = now_s();
        let due = self.queue.iter().filter(|(_, waiting)| waiting.at <= now);
        let mut due: Vec<(i64, Key)> = due.map(|(key, waiting)| (waiting.at, key.clone())).collect();
        due.sort();
        for (_, key) in due {
            if !self.server.events.begin(EVENTS_AT_ONCE_MAX) {
                return;
            }
            let place = Place(self.server.clone());
            match self.begin(place, &key, now) {
                Ok(Some(waiting)) => self.queue.insert(key, waiting),
                Ok(None) => self.queue.remove(&key),
                Err(error) => {
                    tracing::error!("event {}.{} cannot be run: {}", key.0, key.1, error.message());
                    let version = self.queue.get(&key).map_or(0, |waiting| waiting.version);
                    self.queue.insert(key, Waiting { version, at: now + RETRY_S })
                }
            };
        }
    }

    /// Begins a run, or the end of what is over; when the next is.
    fn begin(&self, place: Place, key: &Key, now: i64) -> Result<Option<Waiting>> {
        let server = &self.server;
        let (database, name) = (&key.0, &key.1);
        let Some(object) = server.catalog.object(database, ObjectKind::Event, name)? else { return Ok(None) };
        let record = events::read(&object)?;
        if record.status != EventStatus::Enabled || self.ending.lock().contains(key) {
            return Ok(None);
        }
        let zone = zone(events::zone_name(&object));
        let runs = next(record.times, &zone, server.catalog.event_executed_s(database, name)?, now) != Next::Over;
        let after = next(record.times, &zone, Some(now), now);
        let is_last = after == Next::Over;
        let waiting = match after {
            Next::At(at) => Some(Waiting { version: object.version, at }),
            Next::Over => None,
        };
        let ending = is_last.then(|| Ending { server: server.clone(), of: self.ending.clone(), key: key.clone() });
        let (go, told) = mpsc::channel::<()>();
        let run = move || {
            // Otherwise it could not be noted.
            if told.recv().is_ok() {
                run_event(&place.0, &object, &record, (runs, is_last));
            }
            drop(ending);
            drop(place);
        };
        let thread = std::thread::Builder::new().name("event".into()).stack_size(stack::THREAD_BYTES);
        thread.spawn(run).map_err(|error| Error::internal(format_args!("no thread for an event: {error}")))?;
        if runs {
            server.catalog.note_event_executed(database, name, now)?;
        }
        if is_last {
            self.ending.lock().insert(key.clone());
        }
        let _ = go.send(());
        Ok(waiting)
    }
}

/// One of the runs that there may be.
struct Place(Arc<Server>);

impl Drop for Place {
    fn drop(&mut self) {
        self.0.events.ended();
    }
}

/// An event that a thread ends.
struct Ending {
    server: Arc<Server>,
    of: Arc<Mutex<HashSet<Key>>>,
    key: Key,
}

impl Drop for Ending {
    fn drop(&mut self) {
        self.of.lock().remove(&self.key);
        // It may have been altered meanwhile.
        self.server.events.changed();
    }
}

/// In a thread of its own.
fn run_event(server: &Arc<Server>, object: &Arc<StoredObject>, record: &EventRecord, (runs, is_last): (bool, bool)) {
    let report =
        |error: Error| tracing::error!("event {}.{}: {} {}", object.database, object.name, error.code(), error.message());
    let connected = Connected::new(server, object);
    let disabled = if is_last { event_end::disable(server, &connected.client, object) } else { Ok(()) };
    let ran = disabled.and_then(|()| if runs { run_body(server, &connected.client, object) } else { Ok(()) });
    drop(connected);
    if let Err(error) = ran {
        report(error);
    }
    if is_last && !record.preserve {
        // A KILL of the run does not keep what is over.
        let connected = Connected::new(server, object);
        if let Err(error) = event_end::drop_event(server, &connected.client, object) {
            report(error);
        }
    }
}

/// Runs an event in a session of its own.
fn run_body(server: &Arc<Server>, client: &Arc<Client>, object: &Arc<StoredObject>) -> Result<()> {
    memory::ask(RUN_BYTES)?;
    let definer = &object.definer;
    let account = server.accounts().get(&definer.user, &definer.host);
    let account = account.ok_or_else(|| Error::new(&ER_NO_SUCH_USER, &[&definer.user, &definer.host]))?;
    let rights = server.accounts().access(&account, &account.default_roles);
    if rights.grants.on_database(&object.database) & privilege::EVENT == 0 {
        return Err(Error::new(&ER_DBACCESS_DENIED_ERROR, &[&definer.user, &definer.host, &object.database]));
    }
    let charset = object.client_collation.0;
    let mut session = Session::new(server.clone(), client.clone(), account, ClientOptions::default(), charset);
    let outcome = session.run_event(object);
    session.close();
    outcome
}

/// A connection in SHOW PROCESSLIST, also if its session panics.
struct Connected<'a> {
    server: &'a Server,
    client: Arc<Client>,
}

impl<'a> Connected<'a> {
    fn new(server: &'a Server, object: &StoredObject) -> Connected<'a> {
        let definer = &object.definer;
        let client = Arc::new(Client::in_background(server.new_connection_id(), "localhost"));
        client.authenticated(&definer.user, (&definer.user, &definer.host), false);
        client.set_database(Some(&object.database));
        client.begin_command("Connect", Some(object.text.as_str().into()));
        server.clients().add(client.clone());
        Connected { server, client }
    }
}

impl Drop for Connected<'_> {
    fn drop(&mut self) {
        self.server.clients().remove(self.client.id);
    }
}
