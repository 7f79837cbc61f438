//! SQL scripts whose answers were recorded from a real MySQL: `tests/golden/sql/*.test`. A script runs in a database of its own;
//! `vaquita_scripts::sql` says what its lines mean.

use vaquita_scripts::sql::{self, Console, print_error, print_ok, print_row};
use vaquita_scripts::{Script, Target};

use crate::client::{Answer, Client};

impl Console for Client {
    fn answer(&mut self, statement: &str) -> String {
        self.query_all(statement).iter().map(printed).collect()
    }

    fn set_file(&mut self, bytes: Vec<u8>) {
        self.local_file = bytes;
    }
}

/// Runs the statements of a script and returns the script with the answers of `target`.
pub fn replay(script: &Script, target: &Target) -> String {
    let name = format!("golden_{}", script.name);
    let connect = || Client::connect(target.port, &target.user, &target.password).expect("connect");
    let mut owner = connect();
    owner.query(&format!("DROP DATABASE IF EXISTS {name}"));
    owner.query(&format!("CREATE DATABASE {name}"));
    let out = sql::replay(script, || {
        let mut client = connect();
        client.query(&format!("USE {name}"));
        client
    });
    owner.query(&format!("DROP DATABASE IF EXISTS {name}"));
    out
}

pub fn printed(answer: &Answer) -> String {
    match answer {
        Answer::Ok { affected, info, warnings } => print_ok(*affected, *warnings, info),
        Answer::Err { code, state, text } => print_error(*code, state, text),
        Answer::Rows { columns, rows } => {
            let names = print_row(columns.iter().map(|column| Some(column.as_bytes())));
            let rows = rows.iter().map(|row| print_row(row.iter().map(Option::as_deref)));
            std::iter::once(names).chain(rows).collect()
        }
    }
}
