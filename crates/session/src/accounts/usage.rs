//! Limits of what an account may use: MAX_QUERIES_PER_HOUR, MAX_UPDATES_PER_HOUR, MAX_CONNECTIONS_PER_HOUR, MAX_USER_CONNECTIONS.
//!
//! An account that has limits has one `Usage` for all its sessions, from its first limited login on. A count begins anew an hour after it began, with FLUSH
//! USER_RESOURCES, and with FLUSH PRIVILEGES. A session takes its limits at login, as in MySQL; one without limits has none to ask.

use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use vaquita_parser::StatementKind;
use vaquita_types::errno::{ER_TOO_MANY_USER_CONNECTIONS, ER_USER_LIMIT_REACHED};
use vaquita_types::{Error, Result};

use super::{AccountRecord, Accounts};

const HOUR: Duration = Duration::from_secs(3600);

/// What the sessions of an account did since `began`.
#[derive(Debug)]
struct Counts {
    began: Instant,
    queries: u64,
    updates: u64,
    connections: u64,
}

#[derive(Debug)]
pub struct Usage(Mutex<Counts>);

impl Usage {
    fn new() -> Usage {
        Usage(Mutex::new(Counts { began: Instant::now(), queries: 0, updates: 0, connections: 0 }))
    }

    fn with<T>(&self, f: impl FnOnce(&mut Counts) -> T) -> T {
        let mut counts = self.0.lock();
        if counts.began.elapsed() >= HOUR {
            *counts = Counts { began: Instant::now(), queries: 0, updates: 0, connections: 0 };
        }
        f(&mut counts)
    }
}

/// How many statements a session's account may run.
#[derive(Clone, Debug)]
pub struct Limits {
    usage: Arc<Usage>,
    user: String,
    /// In an hour; 0 for any number, as the next.
    queries: u64,
    updates: u64,
}

impl Limits {
    /// Counts a statement, or refuses it with error 1226.
    pub fn count(&self, kind: StatementKind) -> Result<()> {
        let changes = kind.facts().limited_as_update;
        self.usage.with(|counts| {
            use_one(&mut counts.queries, self.queries, &self.user, "max_questions")?;
            if changes { use_one(&mut counts.updates, self.updates, &self.user, "max_updates") } else { Ok(()) }
        })
    }
}

fn use_one(count: &mut u64, limit: u64, user: &str, resource: &str) -> Result<()> {
    if limit != 0 && *count >= limit {
        return Err(exceeded(user, resource, limit));
    }
    *count += 1;
    Ok(())
}

fn exceeded(user: &str, resource: &str, limit: u64) -> Error {
    Error::new(&ER_USER_LIMIT_REACHED, &[&user, &resource, &limit])
}

impl Accounts {
    /// Whether an account may have one more connection; `open` says how many it has, this one among them.
    pub fn admit(&self, account: &AccountRecord, max_user_connections: u64, open: impl FnOnce() -> u64) -> Result<()> {
        let [_, _, per_hour, at_once] = account.resources;
        if at_once == 0 && max_user_connections == 0 && per_hour == 0 {
            return Ok(());
        }
        let open = open();
        if at_once == 0 && max_user_connections != 0 && open > max_user_connections {
            return Err(Error::new(&ER_TOO_MANY_USER_CONNECTIONS, &[&account.user]));
        }
        if at_once != 0 && open > at_once {
            return Err(exceeded(&account.user, "max_user_connections", at_once));
        }
        let usage = self.usage(account);
        usage.with(|counts| use_one(&mut counts.connections, per_hour, &account.user, "max_connections_per_hour"))
    }

    /// The limits of a session that begins; `None` for an account without any.
    pub fn limits(&self, account: &AccountRecord) -> Option<Limits> {
        let [queries, updates, ..] = account.resources;
        let limited = queries != 0 || updates != 0;
        limited.then(|| Limits { usage: self.usage(account), user: account.user.clone(), queries, updates })
    }

    fn usage(&self, account: &AccountRecord) -> Arc<Usage> {
        let mut usages = self.usages.lock();
        usages.entry((account.user.clone(), account.host.clone())).or_insert_with(|| Arc::new(Usage::new())).clone()
    }

    /// FLUSH USER_RESOURCES.
    pub fn forget_usage(&self) {
        for usage in self.usages.lock().values() {
            let mut counts = usage.0.lock();
            *counts = Counts { began: Instant::now(), queries: 0, updates: 0, connections: 0 };
        }
    }
}
