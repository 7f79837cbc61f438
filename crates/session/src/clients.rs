//! The list of connections, as SHOW PROCESSLIST, KILL and the time-outs see it.
//!
//! A session writes what it does into its `Client` at the start and end of each command; others read it
//! and raise its interrupt. Nothing here is on the session's critical path but a few stores.

use std::collections::{BTreeMap, HashMap};
use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use vaquita_exec::context::{Forget, OwnedSums, Sums, TableSums, TableUse};
use vaquita_storage::{Interrupt, InterruptReason, Progress};

use crate::account_sums::{Account, AccountSums, forget};
use crate::connection_events::ConnectionEvents;
use crate::counters::{Counts, SessionCounters};
use crate::server_counts::ServerCounts;
use crate::statement_events::{KeptLine, StatementEvents};
use crate::table_sums::ServerTables;

pub struct Client {
    pub id: u64,
    pub host: String,
    pub port: Option<u16>,
    /// The client's address; none for a Unix socket.
    pub ip: OnceLock<String>,
    pub interrupt: Arc<Interrupt>,
    /// Of the DDL statement that it runs.
    pub progress: Arc<Progress>,
    pub counters: SessionCounters,
    /// Makes its connection look at what is said here.
    waker: OnceLock<Box<dyn Fn() + Send + Sync>>,
    /// What the client told of itself at login.
    pub attributes: OnceLock<Vec<(String, String)>>,
    started: Instant,
    state: Mutex<Guarded>,
    /// Milliseconds after `started` of the last sign of life.
    touched_ms: AtomicU64,
    /// A command is running.
    busy: AtomicBool,
    /// It changes data or schema, and runs to its end without its client.
    changes: AtomicBool,
    /// A transaction of it is on its way from the admission of its commit to the end of it (`LockedTables::admit_commit`).
    commits: AtomicBool,
    authenticated: AtomicBool,
    /// It logged in with a password.
    used_password: AtomicBool,
    /// It has SYSTEM_USER: only those who have it too may end it.
    system_user: AtomicBool,
    /// It has CONNECTION_ADMIN or SUPER.
    administers: AtomicBool,
    closing: AtomicBool,
    /// It has not logged in, and nothing came for `connect_timeout`: it closes unless something has come meanwhile.
    overdue: AtomicBool,
    /// Closing because it was silent for `wait_timeout`.
    timed_out: AtomicBool,
    wait_timeout_s: AtomicU64,
    /// Milliseconds after `started` when its peer was seen to have closed its side; 0: it has not.
    hung_up_ms: AtomicU64,
    /// Milliseconds after `started` when the running SELECT has taken `max_execution_time`; 0: it may run on.
    deadline_ms: AtomicU64,
    /// The server's own: an event, or who runs events.
    in_background: bool,
    /// It has said that it goes.
    has_quit: AtomicBool,
    /// Version and cipher of its encryption, if there is any.
    pub tls: OnceLock<(String, String)>,
    /// Its statements are observed, and have a history: bits of performance_schema.threads.
    observed: AtomicU8,
}

/// A command goes on for so long after its client has closed the connection. What is short is done; what waits or computes an answer longer
/// would only hold its locks, its memory and a core. Statements that change data or schema run to their end, as in MySQL, unless they wait.
/// MySQL looks each 5 s, where it looks.
const ABANDONED: Duration = Duration::from_secs(1);

/// Its commit is durable here and not yet at replicas.
const WAITING_FOR_ACK: &str = "Waiting for semi-sync ACK from replica";

const OBSERVED: u8 = 1;
const WITH_HISTORY: u8 = 2;

#[derive(Clone, Default)]
pub struct ClientState {
    pub user: String,
    /// User and host of the account.
    pub account: Option<(String, String)>,
    pub database: Option<String>,
    pub command: &'static str,
    pub info: Option<Arc<str>>,
    pub state: &'static str,
    pub since: Option<Instant>,
    pub roles: Arc<ActiveRoles>,
}

/// The roles of a session, or of whom it runs a routine for.
#[derive(Default)]
pub struct ActiveRoles {
    pub names: Vec<(String, String)>,
    /// It may see which roles others have.
    pub sees_all: bool,
    /// It has the FILE privilege.
    pub reads_files: bool,
}

/// What a command's beginning and end change under one lock.
struct Guarded {
    state: ClientState,
    events: ConnectionEvents,
}

impl Deref for Guarded {
    type Target = ClientState;

    fn deref(&self) -> &ClientState {
        &self.state
    }
}

impl DerefMut for Guarded {
    fn deref_mut(&mut self) -> &mut ClientState {
        &mut self.state
    }
}

impl Client {
    pub fn new(id: u64, host: String, port: Option<u16>) -> Client {
        Client {
            id,
            host,
            port,
            ip: OnceLock::new(),
            interrupt: Arc::new(Interrupt::new(id)),
            progress: Arc::default(),
            counters: SessionCounters::default(),
            waker: OnceLock::new(),
            attributes: OnceLock::new(),
            started: Instant::now(),
            state: Mutex::new(Guarded {
                state: ClientState { user: "unauthenticated user".into(), command: "Connect", ..ClientState::default() },
                events: ConnectionEvents::default(),
            }),
            touched_ms: AtomicU64::new(0),
            busy: AtomicBool::new(false),
            changes: AtomicBool::new(false),
            commits: AtomicBool::new(false),
            authenticated: AtomicBool::new(false),
            used_password: AtomicBool::new(false),
            system_user: AtomicBool::new(false),
            administers: AtomicBool::new(false),
            closing: AtomicBool::new(false),
            overdue: AtomicBool::new(false),
            timed_out: AtomicBool::new(false),
            wait_timeout_s: AtomicU64::new(28_800),
            deadline_ms: AtomicU64::new(0),
            hung_up_ms: AtomicU64::new(0),
            in_background: false,
            has_quit: AtomicBool::new(false),
            tls: OnceLock::new(),
            observed: AtomicU8::new(OBSERVED | WITH_HISTORY),
        }
    }

    /// It runs no statement: what runs events.
    pub fn is_daemon(&self) -> bool {
        self.in_background && self.state.lock().command == "Daemon"
    }

    /// One that the server itself has. It is no connection and never idle too long.
    pub fn in_background(id: u64, host: &str) -> Client {
        Client { in_background: true, ..Client::new(id, host.to_string(), None) }
    }

    /// Nobody reads what it answers from here on, unless the peer has closed one direction only.
    pub fn hung_up(&self) {
        let now = (self.started.elapsed().as_millis() as u64).max(1);
        let _ = self.hung_up_ms.compare_exchange(0, now, Ordering::Relaxed, Ordering::Relaxed);
    }

    /// Ends a command that runs or waits for nobody; true if that may be to do later.
    fn end_if_abandoned(&self, now: Instant) -> bool {
        let hung_up_ms = self.hung_up_ms.load(Ordering::Relaxed);
        if hung_up_ms == 0 || self.must_close() {
            return false;
        }
        let since = now.duration_since(self.started).saturating_sub(Duration::from_millis(hung_up_ms));
        if since >= ABANDONED && self.is_busy() {
            if !self.changes.load(Ordering::Relaxed) {
                self.kill(true);
                return false;
            }
            self.interrupt.abandon();
        }
        // It closes by itself, but for what it may still find to do.
        true
    }

    pub fn touch(&self, now: Instant) {
        self.touched_ms.store(now.duration_since(self.started).as_millis() as u64, Ordering::Relaxed);
    }

    /// Logged in as `user`, with the account that fits best.
    pub fn authenticated(&self, user: &str, account: (&str, &str), used_password: bool) {
        let mut state = self.state.lock();
        state.account = Some((account.0.to_string(), account.1.to_string()));
        state.user = user.to_string();
        state.command = "Sleep";
        state.since = Some(Instant::now());
        self.used_password.store(used_password, Ordering::Relaxed);
        self.authenticated.store(true, Ordering::Relaxed);
    }

    pub fn begin_command(&self, command: &'static str, info: Option<Arc<str>>) {
        self.begin(&mut self.state.lock(), command, info);
    }

    /// The statement that runs has this text, as far as others may see it.
    pub(crate) fn show_instead(&self, text: Arc<str>) {
        let mut state = self.state.lock();
        state.events.show_instead(&text);
        state.info = Some(text);
    }

    /// A command with the text of a statement, which is an event.
    pub(crate) fn begin_statement(
        &self,
        command: &'static str,
        text: Arc<str>,
        line: Option<&Arc<KeptLine>>,
        all: &StatementEvents,
    ) {
        let mut guarded = self.state.lock();
        let now = self.begin(&mut guarded, command, Some(text.clone()));
        guarded.events.begin(now, &text, line, all);
    }

    fn begin(&self, state: &mut ClientState, command: &'static str, info: Option<Arc<str>>) -> Instant {
        let now = Instant::now();
        state.command = command;
        state.info = info;
        state.since = Some(now);
        self.changes.store(false, Ordering::Relaxed);
        self.busy.store(true, Ordering::Relaxed);
        now
    }

    pub(crate) fn with_events<R>(&self, f: impl FnOnce(&mut ConnectionEvents) -> R) -> R {
        f(&mut self.state.lock().events)
    }

    #[inline]
    pub fn observed(&self) -> (bool, bool) {
        let observed = self.observed.load(Ordering::Relaxed);
        (observed & OBSERVED != 0, observed & WITH_HISTORY != 0)
    }

    pub fn set_observed(&self, (observed, with_history): (bool, bool)) {
        let bits = if observed { OBSERVED } else { 0 } | if with_history { WITH_HISTORY } else { 0 };
        self.observed.store(bits, Ordering::Relaxed);
    }

    /// The user and the host that it came from, once it has logged in.
    fn owner(&self) -> Option<Account> {
        let state = self.state.lock();
        state.account.as_ref().map(|_| (state.user.clone(), self.host.clone()))
    }

    /// What it has counted so far.
    fn owned(&self) -> OwnedSums {
        let counts = self.counters.all();
        OwnedSums {
            connection_id: Some(self.id),
            account: self.owner(),
            connections_now: 1,
            connections: 1,
            sums: self.with_events(|events| events.sums.clone()),
            status: counts.list(&counts),
            texts: {
                let (version, cipher) = self.tls.get().cloned().unwrap_or_default();
                vec![("Ssl_cipher", cipher), ("Ssl_sessions_reused", "0".to_string()), ("Ssl_version", version)]
            },
        }
    }

    /// The command's statement changes data or schema.
    pub fn note_change(&self) {
        self.changes.store(true, Ordering::Relaxed);
    }

    /// What the command was doing is over; how long it took, which `ended` may add to its events.
    pub(crate) fn end_command(&self, ended: impl FnOnce(Duration, &mut ConnectionEvents)) -> Duration {
        let mut guarded = self.state.lock();
        let since = guarded.since.filter(|_| self.busy.load(Ordering::Relaxed));
        guarded.command = "Sleep";
        guarded.info = None;
        guarded.state.state = "";
        self.busy.store(false, Ordering::Relaxed);
        let took = since.map_or(Duration::ZERO, |since| since.elapsed());
        ended(took, &mut guarded.events);
        took
    }

    /// Before it looks whether it may commit: whoever keeps it from that sees this, or is seen.
    #[inline]
    pub fn begin_commit(&self) {
        self.commits.store(true, Ordering::SeqCst);
    }

    #[inline]
    pub fn end_commit(&self) {
        self.commits.store(false, Ordering::Release);
    }

    pub fn commits(&self) -> bool {
        self.commits.load(Ordering::SeqCst)
    }

    pub fn used_password(&self) -> bool {
        self.used_password.load(Ordering::Relaxed)
    }

    /// As it tells of itself.
    pub fn is_mariadb_binlog(&self) -> bool {
        let has = |name: &str, values: &[&str]| {
            let mut attributes = self.attributes.get().into_iter().flatten();
            attributes.any(|(known, value)| known == name && values.contains(&&value[..]))
        };
        has("_client_name", &["libmariadb"]) && has("program_name", &["mysqlbinlog", "mariadb-binlog"])
    }

    pub fn is_system_user(&self) -> bool {
        self.system_user.load(Ordering::Relaxed)
    }

    pub fn set_administers(&self, yes: bool) {
        self.administers.store(yes, Ordering::Relaxed);
    }

    pub fn set_system_user(&self, is: bool) {
        self.system_user.store(is, Ordering::Relaxed);
    }

    pub fn set_roles(&self, roles: Arc<ActiveRoles>) {
        self.state.lock().roles = roles;
    }

    pub fn roles(&self) -> Arc<ActiveRoles> {
        self.state.lock().roles.clone()
    }

    pub fn set_state(&self, text: &'static str) {
        self.state.lock().state.state = text;
    }

    pub fn set_database(&self, database: Option<&str>) {
        self.state.lock().database = database.map(str::to_string);
    }

    pub fn set_wait_timeout(&self, seconds: u64) {
        self.wait_timeout_s.store(seconds, Ordering::Relaxed);
    }

    /// The statement that starts may take `ms`; 0 is without limit.
    pub fn set_deadline(&self, ms: u64) {
        let at = if ms == 0 { 0 } else { (self.started.elapsed().as_millis() as u64).saturating_add(ms).max(1) };
        self.deadline_ms.store(at, Ordering::Relaxed);
    }

    fn interrupt_if_overdue(&self, now: Instant) -> bool {
        let deadline = self.deadline_ms.load(Ordering::Relaxed);
        if deadline != 0 && now.duration_since(self.started).as_millis() as u64 >= deadline {
            self.deadline_ms.store(0, Ordering::Relaxed);
            self.interrupt.raise(InterruptReason::Timeout);
            return true;
        }
        false
    }

    pub fn snapshot(&self) -> ClientState {
        let mut state = self.state.lock().state.clone();
        if self.is_busy() && self.interrupt.waits_for_others() {
            state.state = WAITING_FOR_ACK;
        }
        state
    }

    /// A command is running.
    pub fn is_busy(&self) -> bool {
        self.busy.load(Ordering::Relaxed)
    }

    /// The connection closes because nothing came for `wait_timeout`: error 4031.
    pub fn timed_out(&self) -> bool {
        self.timed_out.load(Ordering::Relaxed)
    }

    /// Of a client that has not logged in: the server waits for it from now on.
    pub fn waits_for_login(&self) {
        if !self.authenticated.load(Ordering::Relaxed) {
            self.touch(Instant::now());
            self.overdue.store(false, Ordering::Relaxed);
        }
    }

    pub fn is_overdue(&self) -> bool {
        self.overdue.load(Ordering::Relaxed) && !self.authenticated.load(Ordering::Relaxed)
    }

    /// COM_QUIT.
    pub fn quit(&self) {
        self.has_quit.store(true, Ordering::Relaxed);
    }

    pub fn must_close(&self) -> bool {
        self.closing.load(Ordering::Relaxed)
    }

    /// KILL QUERY and KILL CONNECTION.
    pub fn kill(&self, connection: bool) {
        if connection {
            self.closing.store(true, Ordering::SeqCst);
        }
        self.interrupt.raise(if connection { InterruptReason::KillConnection } else { InterruptReason::KillQuery });
        if connection {
            self.poke();
        }
    }

    /// How its connection is woken; set once.
    pub fn set_waker(&self, wake: Box<dyn Fn() + Send + Sync>) {
        let _ = self.waker.set(wake);
    }

    /// Makes the connection look at its state even if no bytes arrive.
    fn poke(&self) {
        if let Some(wake) = self.waker.get() {
            wake();
        }
    }

    /// `connect_timeout` is for each wait for a client that logs in, so that it does not count against the client when the server is late.
    fn expired(&self, now: Instant, connect_timeout: Duration) -> bool {
        if self.in_background {
            return false;
        }
        let idle =
            now.duration_since(self.started).saturating_sub(Duration::from_millis(self.touched_ms.load(Ordering::Relaxed)));
        if !self.authenticated.load(Ordering::Relaxed) {
            return idle > connect_timeout;
        }
        !self.busy.load(Ordering::Relaxed) && idle.as_secs() >= self.wait_timeout_s.load(Ordering::Relaxed)
    }
}

#[derive(Default)]
struct Connected {
    by_id: BTreeMap<u64, Arc<Client>>,
    /// How many of them are the server's own.
    in_background: usize,
    /// What connections have counted that are gone.
    ended: Counts,
    ended_by_account: AccountSums,
}

impl Connected {
    fn count(&self) -> usize {
        self.by_id.len() - self.in_background
    }
}

#[derive(Default)]
pub struct Clients {
    connected: Mutex<Connected>,
    /// The most there were at once.
    most: AtomicU64,
    /// Statements with a deadline that run.
    deadlines: AtomicU64,
    /// A peer has hung up whose session may not have ended yet.
    abandoned: AtomicBool,
    pub counts: ServerCounts,
    /// What connections have counted of tables and given away.
    pub(crate) tables: ServerTables,
}

impl Clients {
    pub fn add(&self, client: Arc<Client>) {
        let mut connected = self.connected.lock();
        connected.in_background += usize::from(client.in_background);
        connected.by_id.insert(client.id, client);
        if self.most.fetch_max(connected.count() as u64, Ordering::Relaxed) < connected.count() as u64 {
            self.counts.note_most();
        }
    }

    pub fn remove(&self, id: u64) {
        let mut connected = self.connected.lock();
        if let Some(client) = connected.by_id.remove(&id) {
            connected.in_background -= usize::from(client.in_background);
            if !client.authenticated.load(Ordering::Relaxed) && !client.in_background {
                self.counts.note_aborted_connect();
            } else if !client.in_background && !client.has_quit.load(Ordering::Relaxed) {
                self.counts.note_aborted_client();
            }
            client.with_events(|events| events.tables.give(&self.tables));
            // Whoever adds up (`all_sums`) may still read its own, and must not miss them.
            let (counts, sums) = (client.counters.all(), client.with_events(|events| events.sums.clone()));
            connected.ended.add(&counts);
            connected.ended_by_account.add(client.owner(), &sums, &counts);
        }
    }

    /// The most connections there were at once.
    pub fn most(&self) -> u64 {
        self.most.load(Ordering::Relaxed)
    }

    pub fn connected(&self) -> usize {
        self.connected.lock().count()
    }

    /// How many connections run a command, wait for one, and have not logged in.
    pub fn by_state(&self) -> (usize, usize, usize) {
        let (mut running, mut idle, mut logging_in) = (0, 0, 0);
        for client in self.connected.lock().by_id.values().filter(|client| !client.in_background) {
            match (client.authenticated.load(Ordering::Relaxed), client.is_busy()) {
                (false, _) => logging_in += 1,
                (true, true) => running += 1,
                (true, false) => idle += 1,
            }
        }
        (running, idle, logging_in)
    }

    /// Nothing runs any more, in the background either.
    pub fn is_empty(&self) -> bool {
        self.connected.lock().by_id.is_empty()
    }

    pub fn get(&self, id: u64) -> Option<Arc<Client>> {
        self.connected.lock().by_id.get(&id).cloned()
    }

    /// Ends the connections of those who do not administer the server.
    pub fn kill_all_but_administrators(&self) {
        let connected: Vec<Arc<Client>> = self.connected.lock().by_id.values().cloned().collect();
        let is_other = |client: &&Arc<Client>| !client.in_background && !client.administers.load(Ordering::Relaxed);
        connected.iter().filter(is_other).for_each(|client| client.kill(true));
    }

    /// Connections of an account.
    pub fn count(&self, user: &str, host: &str) -> u64 {
        let of_account = |client: &&Arc<Client>| {
            let state = client.state.lock();
            !client.in_background && !client.must_close() && state.account.as_ref().is_some_and(|(u, h)| u == user && h == host)
        };
        self.connected.lock().by_id.values().filter(of_account).count() as u64
    }

    pub fn list(&self) -> Vec<Arc<Client>> {
        self.connected.lock().by_id.values().cloned().collect()
    }

    /// What all connections have counted since the server began.
    pub fn counts(&self) -> Counts {
        let (mut counts, clients) = {
            let connected = self.connected.lock();
            (connected.ended.clone(), connected.by_id.values().cloned().collect::<Vec<_>>())
        };
        clients.iter().for_each(|client| counts.add(&client.counters.all()));
        counts
    }

    /// What statements, transactions and errors were counted of each connection.
    pub fn sums_by_connection(&self) -> Vec<OwnedSums> {
        self.list().iter().map(|client| client.owned()).collect()
    }

    /// The same of each account, connections that are gone included.
    pub fn sums_by_account(&self) -> Vec<OwnedSums> {
        let connected = self.connected.lock();
        let mut accounts = connected.ended_by_account.list();
        for client in connected.by_id.values() {
            let owned = client.owned();
            let at = accounts.iter().position(|known| known.account == owned.account).unwrap_or_else(|| {
                accounts.push(OwnedSums { account: owned.account.clone(), ..OwnedSums::default() });
                accounts.len() - 1
            });
            accounts[at].add_all(&owned);
        }
        accounts
    }

    /// The same of all.
    pub fn all_sums(&self) -> Sums {
        let (mut all, clients) = {
            let connected = self.connected.lock();
            (connected.ended_by_account.all(), connected.by_id.values().cloned().collect::<Vec<_>>())
        };
        clients.iter().for_each(|client| client.with_events(|events| all.add_all(&events.sums)));
        all
    }

    /// What was done with the rows of tables.
    pub fn table_sums(&self) -> HashMap<TableUse, TableSums> {
        let connected = self.connected.lock();
        let mut all = self.tables.all();
        let mut add = |(used, sums): &(TableUse, TableSums)| all.entry(*used).or_default().add_all(sums);
        connected.by_id.values().for_each(|client| client.with_events(|events| events.tables.lines().iter().for_each(&mut add)));
        all
    }

    /// Lets such sums begin anew.
    pub fn forget_sums(&self, what: Forget) {
        let mut connected = self.connected.lock();
        if what == Forget::Tables {
            self.tables.forget();
            connected.by_id.values().for_each(|client| client.with_events(|events| events.tables.forget()));
            return;
        }
        connected.ended_by_account.forget(what);
        connected.by_id.values().for_each(|client| client.with_events(|events| forget(&mut events.sums, what)));
    }

    /// FLUSH STATUS: the counts of each session begin anew, and the most connections at once.
    pub fn flush_status(&self) {
        let connected = self.connected.lock();
        connected.by_id.values().for_each(|client| client.counters.flush());
        self.most.store(connected.count() as u64, Ordering::Relaxed);
    }

    /// A statement with a deadline starts (`true`) or has ended.
    pub fn note_deadline(&self, starts: bool) {
        if starts {
            self.deadlines.fetch_add(1, Ordering::Relaxed);
        } else {
            self.deadlines.fetch_sub(1, Ordering::Relaxed);
        }
    }

    /// Interrupts statements that ran longer than `max_execution_time`; called often, and cheap while there is none.
    pub fn interrupt_overdue(&self) {
        if self.deadlines.load(Ordering::Relaxed) == 0 {
            return;
        }
        let now = Instant::now();
        for client in self.list() {
            if client.interrupt_if_overdue(now) {
                self.counts.note_overdue();
            }
        }
    }

    /// Some client has hung up.
    pub fn note_abandoned(&self) {
        self.abandoned.store(true, Ordering::SeqCst);
    }

    /// Ends commands whose client is gone; called often, and cheap while there is none.
    pub fn end_abandoned(&self) {
        if !self.abandoned.swap(false, Ordering::SeqCst) {
            return;
        }
        let now = Instant::now();
        for client in self.list() {
            if client.end_if_abandoned(now) {
                self.note_abandoned();
            }
        }
    }

    /// Closes connections that waited too long; called each second.
    pub fn expire(&self, connect_timeout: Duration) {
        let now = Instant::now();
        for client in self.list() {
            if !client.expired(now, connect_timeout) {
                continue;
            }
            if client.authenticated.load(Ordering::Relaxed) {
                client.timed_out.store(true, Ordering::Relaxed);
                client.closing.store(true, Ordering::SeqCst);
            } else {
                client.overdue.store(true, Ordering::Relaxed);
            }
            client.poke();
        }
    }
}
