//! What a statement's commit writes to the log, behind its answer.
//!
//! ```text
//! > sections log                          behind each statement from here on
//! > UPDATE t SET v = 2 WHERE id = 1
//! ok 1 Rows matched: 1  Changed: 1  Warnings: 0
//! [log]                                   one line a write, in its order: family, operation, key
//!   data     put     t PRIMARY (id = 1)
//!   data     delete  t v (v = 1, id = 1)
//!   data     put     t v (v = 2, id = 1)
//! ```
//! A commit of files shows how many writes they have. Commits of other sessions, and those in which the server reclaims indexes, are not shown; a statement that
//! commits several times has a line `commit` between them.

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use vaquita_scripts::Script;
use vaquita_scripts::sql::{self, section};
use vaquita_session::Server;
use vaquita_storage::{
    Change, CommitRequest, Content, EngineOptions, Family, LogError, Records, RocksLog, Stages, Table, TxnOptions,
};
use vaquita_types::Result;

use crate::console::{Console, Started};

/// A transaction that has written more commits files.
const WRITE_SET_BYTES: &str = "write-set-bytes=65536";

/// The kind of a catalog key.
const DROPPED_INDEX: u8 = 4;

/// One piece of a commit.
enum Piece {
    Write { family: Family, put: bool, key: Vec<u8> },
    Files { writes: u64 },
}

struct Commit {
    /// DDL and the end of a prepared branch have none.
    session: Option<u64>,
    pieces: Vec<Piece>,
}

impl Commit {
    fn new(request: &CommitRequest, pieces: impl Iterator<Item = Piece>) -> Commit {
        let session = request.owner.as_ref().map(|owner| owner.interrupt.session_id);
        Commit { session, pieces: pieces.collect() }
    }

    fn is_of(&self, session: u64) -> bool {
        self.session.map_or_else(|| !self.is_reclaim(), |own| own == session)
    }

    /// The server's own: an index that was dropped is gone.
    fn is_reclaim(&self) -> bool {
        let dropped = |piece: &Piece| matches!(piece, Piece::Write { family: Family::Catalog, put: false, key } if key.first() == Some(&DROPPED_INDEX));
        self.pieces.iter().all(dropped)
    }
}

type Seen = Arc<Mutex<Vec<Commit>>>;

/// RocksDB's log, watched.
struct WatchedLog {
    rocks: RocksLog,
    seen: Seen,
}

fn writes(records: &Records) -> impl Iterator<Item = Piece> + '_ {
    records.all_writes().map(|(family, key, value)| Piece::Write { family, put: value.is_some(), key: key.to_vec() })
}

impl Stages for WatchedLog {
    fn certify(&self, request: &CommitRequest) -> Result<()> {
        self.rocks.certify(request)
    }

    fn log(&self, change: Change<'_>, sync: bool) -> (std::result::Result<(), LogError>, u64) {
        let commits: Vec<Commit> = match (&change.content, change.commits) {
            (Content::Batch(records), [alone]) => vec![Commit::new(alone, writes(records))],
            (Content::Batch(records), group) => {
                // Counters follow the records of all commits.
                let counters = writes(records).skip(group.iter().map(|commit| writes(&commit.records).count()).sum());
                let mut counters = Some(counters);
                let own = |commit: &&CommitRequest| {
                    let counters = counters.take_if(|_| !commit.counters.is_empty());
                    Commit::new(commit, writes(&commit.records).chain(counters.into_iter().flatten()))
                };
                group.iter().map(own).collect()
            }
            (Content::Files { files, counters, records }, commits) => {
                let files = Piece::Files { writes: files.writes() };
                let pieces = std::iter::once(files).chain(writes(counters)).chain(writes(records));
                commits.first().map(|commit| Commit::new(commit, pieces)).into_iter().collect()
            }
        };
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).extend(commits);
        self.rocks.log(change, sync)
    }

    fn sync(&self) -> std::result::Result<(), LogError> {
        self.rocks.sync()
    }
}

/// A server whose log is watched.
pub struct Watched {
    pub started: Started,
    seen: Seen,
}

impl Watched {
    pub fn start() -> Watched {
        let mut options = EngineOptions::default();
        options.set(WRITE_SET_BYTES).expect("an option");
        let seen = Seen::default();
        let of_log = seen.clone();
        let started = Started::new("log", options, |rocks, _| Ok(Arc::new(WatchedLog { rocks, seen: of_log })));
        Watched { started, seen }
    }

    fn take(&self) -> Vec<Commit> {
        std::mem::take(&mut *self.seen.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// The names of indexes and tables by their ids; what is dropped keeps its name.
#[derive(Default)]
struct Names {
    indexes: HashMap<u32, (Arc<Table>, usize)>,
    tables: HashMap<u32, String>,
}

impl Names {
    fn learn(&mut self, server: &Server, database: &str) {
        for name in server.catalog.tables(database).unwrap_or_default() {
            let Ok(Some(table)) = server.catalog.table(database, &name) else { continue };
            self.tables.insert(table.def.id.0, name);
            for (n, index) in table.def.indexes.iter().enumerate() {
                self.indexes.insert(index.id.0, (table.clone(), n));
            }
        }
    }

    fn line(&self, server: &Server, piece: &Piece) -> String {
        match piece {
            Piece::Files { writes } => format!("files    {writes} writes"),
            Piece::Write { family, put, key } => {
                let (family, key) = match family {
                    Family::Data => ("data   ", self.data(server, key)),
                    Family::Catalog => ("catalog", self.catalog(key)),
                    Family::Log => ("binlog ", String::new()),
                };
                format!("{family}  {}  {key}", if *put { "put   " } else { "delete" })
            }
        }
    }

    /// A key of the data family begins with the id of an index, or with 0 if it is a counter's (`storage::commit::counters`).
    fn data(&self, server: &Server, key: &[u8]) -> String {
        let Some((id, rest)) = key.split_first_chunk::<4>() else { return "a short key".into() };
        let id = u32::from_be_bytes(*id);
        if id == 0 {
            let what = match rest.first() {
                Some(b'r') => "rows",
                Some(b'a') => "AUTO_INCREMENT",
                _ => "row ids",
            };
            return format!("{what} of {}", self.table(&rest[1..]));
        }
        let Some((table, n)) = self.indexes.get(&id) else { return "an unknown index".into() };
        let txn = server.engine.begin(TxnOptions::default());
        let columns = table.key_columns(&txn, *n, key).unwrap_or_default();
        let columns: Vec<String> = columns.into_iter().map(|(name, value)| format!("{name} = {value}")).collect();
        format!("{} {} ({})", table.def.name, table.def.indexes[*n].name, columns.join(", "))
    }

    fn table(&self, id: &[u8]) -> String {
        let id = id.first_chunk::<4>().map_or(0, |id| u32::from_be_bytes(*id));
        self.tables.get(&id).cloned().unwrap_or_else(|| "an unknown table".into())
    }

    fn index(&self, id: &[u8]) -> String {
        let id = id.first_chunk::<4>().map_or(0, |id| u32::from_be_bytes(*id));
        match self.indexes.get(&id) {
            Some((table, n)) => format!("{} {}", table.def.name, table.def.indexes[*n].name),
            None => "an unknown index".into(),
        }
    }

    /// The kinds of keys are in `storage::encoding::catalog::keys`.
    fn catalog(&self, key: &[u8]) -> String {
        let (kind, rest) = key.split_first().map_or((0, key), |(kind, rest)| (*kind, rest));
        let text = || String::from_utf8_lossy(rest).replace('\0', ".");
        match kind {
            1 => format!("database {}", text()),
            2 => format!("table {}", text()),
            3 => "next ids".into(),
            DROPPED_INDEX => format!("dropped or unfinished index {}", self.index(rest)),
            5 => format!("statistics of {}", self.table(rest)),
            6 => format!("metadata {}", text()),
            7 => {
                // The format's id, and the two parts of the branch's id behind their lengths.
                let (length, gtrid) = rest.get(8..).and_then(|parts| parts.split_first()).unwrap_or((&0, &[]));
                format!("XA branch {}", String::from_utf8_lossy(gtrid.get(..usize::from(*length)).unwrap_or_default()))
            }
            8 => format!("unfinished table {}", text()),
            _ => "a key of an unknown kind".into(),
        }
    }
}

/// What all connections of a script share.
struct Sections<'w> {
    watched: &'w Watched,
    database: String,
    shown: RefCell<bool>,
    names: RefCell<Names>,
}

struct Shown<'s, 'w> {
    console: Console,
    sections: &'s Sections<'w>,
}

impl sql::Console for Shown<'_, '_> {
    fn answer(&mut self, statement: &str) -> String {
        if let Some(names) = statement.strip_prefix("sections") {
            *self.sections.shown.borrow_mut() = names.split_whitespace().any(|name| name == "log");
            return String::new();
        }
        self.sections.watched.take();
        let answer = self.console.run(statement);
        let commits = self.sections.watched.take();
        let (server, mut names) = (&self.sections.watched.started.server, self.sections.names.borrow_mut());
        names.learn(server, &self.sections.database);
        let id = self.console.session.client.id;
        let own: Vec<Vec<String>> = commits
            .iter()
            .filter(|commit| commit.is_of(id))
            .map(|commit| commit.pieces.iter().map(|piece| names.line(server, piece)).collect())
            .collect();
        if !*self.sections.shown.borrow() || own.is_empty() {
            return answer;
        }
        let lines = own.join(&"commit".to_string());
        answer + &section("log", lines.iter().map(String::as_str))
    }

    fn set_file(&mut self, bytes: Vec<u8>) {
        self.console.set_file(bytes);
    }
}

pub fn replay(watched: &Watched, script: &Script) -> String {
    let database = format!("log_{}", script.name);
    crate::in_database(&watched.started.server, &database, |connect| {
        let sections = Sections { watched, database: database.clone(), shown: RefCell::default(), names: RefCell::default() };
        sql::replay(script, || Shown { console: connect(), sections: &sections })
    })
}
