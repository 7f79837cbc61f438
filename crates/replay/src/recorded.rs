//! What a log has: sessions, each with its statements in their order.

use std::collections::BTreeMap;

/// What a session did at a moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Its database is another from here on.
    Use(String),
    Statement(Vec<u8>),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recorded {
    /// Microseconds since 1970.
    pub at_us: u64,
    pub action: Action,
    /// How long it took where it was recorded, in microseconds, if the log says so.
    pub took_us: Option<u64>,
}

/// A session: one connection of a client, from its login to its end.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Session {
    pub actions: Vec<Recorded>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recording {
    /// In the order in which they begin.
    pub sessions: Vec<Session>,
    /// Lines and entries that say nothing that can be replayed, as those of replicas.
    pub left_out: u64,
}

impl Recording {
    pub fn statements(&self) -> usize {
        let actions = self.sessions.iter().flat_map(|session| &session.actions);
        actions.filter(|recorded| matches!(recorded.action, Action::Statement(_))).count()
    }

    pub fn begin_us(&self) -> u64 {
        self.firsts().min().unwrap_or(0)
    }

    pub fn end_us(&self) -> u64 {
        let lasts = self.sessions.iter().filter_map(|session| session.actions.last());
        lasts.map(|last| last.at_us + last.took_us.unwrap_or(0)).max().unwrap_or(0)
    }

    fn firsts(&self) -> impl Iterator<Item = u64> + '_ {
        self.sessions.iter().filter_map(|session| Some(session.actions.first()?.at_us))
    }
}

/// Puts entries into the sessions that they are of. Ids of connections come again after a restart of the server.
#[derive(Default)]
pub struct Builder {
    open: BTreeMap<u64, Session>,
    done: Vec<Session>,
    pub left_out: u64,
}

impl Builder {
    /// A new session has the id.
    pub fn begin(&mut self, id: u64) {
        self.end(id);
        self.open.insert(id, Session::default());
    }

    pub fn add(&mut self, id: u64, recorded: Recorded) {
        self.open.entry(id).or_default().actions.push(recorded);
    }

    pub fn end(&mut self, id: u64) {
        self.done.extend(self.open.remove(&id).filter(|session| !session.actions.is_empty()));
    }

    /// The server was started: nobody of before is connected any more.
    pub fn end_all(&mut self) {
        let open = std::mem::take(&mut self.open);
        self.done.extend(open.into_values().filter(|session| !session.actions.is_empty()));
    }

    pub fn finish(mut self) -> Recording {
        self.end_all();
        let mut sessions = self.done;
        sessions.sort_by_key(|session| session.actions.first().map_or(0, |first| first.at_us));
        Recording { sessions, left_out: self.left_out }
    }
}
