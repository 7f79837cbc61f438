//! How statements are executed here: sections behind the answers, which no MySQL is asked for.
//!
//! `tests/golden/inside/*.test` are as SQL scripts, and ask for sections by their names:
//!
//! ```text
//! > sections plan locks                   behind each statement from here on
//! > UPDATE t SET v = 1 WHERE id = 5
//! ok 1 Rows matched: 1  Changed: 1  Warnings: 0
//! [plan]                                  what EXPLAIN FORMAT=TREE says of it before it runs
//!   -> Update t …
//! [locks]                                 what performance_schema.data_locks has afterwards, for all sessions of the script
//!   t  PRIMARY  RECORD  X,REC_NOT_GAP  GRANTED  5
//! ```
//! The log of a statement's commit is shown by the scripts of `crates/session`, which have the engine at hand.

use std::cell::RefCell;

use vaquita_scripts::Script;
use vaquita_scripts::sql::{self, Console, section};

use crate::client::{Answer, Client};
use crate::server::Server;
use crate::sql::printed;

/// Statements that EXPLAIN takes.
const EXPLAINED: [&str; 6] = ["SELECT", "INSERT", "UPDATE", "DELETE", "REPLACE", "WITH"];

/// What all connections of a script share.
struct Sections {
    wanted: RefCell<Vec<String>>,
    observer: RefCell<Client>,
    database: String,
}

impl Sections {
    fn wants(&self, name: &str) -> bool {
        self.wanted.borrow().iter().any(|section| section == name)
    }
}

struct Watched<'s> {
    client: Client,
    sections: &'s Sections,
}

impl Console for Watched<'_> {
    fn answer(&mut self, statement: &str) -> String {
        if let Some(names) = statement.strip_prefix("sections") {
            *self.sections.wanted.borrow_mut() = names.split_whitespace().map(str::to_string).collect();
            return String::new();
        }
        let plan = if self.sections.wants("plan") { plan(&mut self.client, statement) } else { String::new() };
        let answer = printed(&self.client.query(statement));
        let locks = if self.sections.wants("locks") { locks(self.sections) } else { String::new() };
        answer + &plan + &locks
    }

    fn set_file(&mut self, bytes: Vec<u8>) {
        self.client.local_file = bytes;
    }
}

pub fn replay(script: &Script, server: &Server) -> String {
    let database = format!("inside_{}", script.name);
    let sections = Sections { wanted: RefCell::default(), observer: RefCell::new(server.connect()), database };
    let database = &sections.database;
    sections.observer.borrow_mut().query(&format!("DROP DATABASE IF EXISTS {database}"));
    sections.observer.borrow_mut().query(&format!("CREATE DATABASE {database}"));
    let out = sql::replay(script, || {
        let mut client = server.connect();
        client.query(&format!("USE {database}"));
        Watched { client, sections: &sections }
    });
    sections.observer.borrow_mut().query(&format!("DROP DATABASE IF EXISTS {database}"));
    out
}

fn plan(client: &mut Client, sql: &str) -> String {
    if !EXPLAINED.iter().any(|verb| sql.starts_with(verb)) {
        return String::new();
    }
    match client.query(&format!("EXPLAIN FORMAT=TREE {sql}")) {
        answer @ Answer::Rows { .. } => section("plan", answer.rows().concat().iter().flat_map(|text| text.lines())),
        _ => String::new(),
    }
}

fn locks(sections: &Sections) -> String {
    let columns = "OBJECT_NAME, COALESCE(INDEX_NAME, ''), LOCK_TYPE, LOCK_MODE, LOCK_STATUS, COALESCE(LOCK_DATA, '')";
    let database = &sections.database;
    let sql = format!(
        "SELECT CONCAT_WS('  ', {columns}) FROM performance_schema.data_locks WHERE OBJECT_SCHEMA = '{database}' ORDER BY 1"
    );
    let held = sections.observer.borrow_mut().query(&sql).rows().concat();
    section("locks", held.iter().map(|lock| lock.trim_end()))
}
