//! How many rows statements read, beside MySQL: a plan that reads far more is a mistake of the optimizer that no answer shows.
//!
//! `tests/golden/reads/rows.txt` has lines `make> statement`, which make tables, and `read> statement | parameters`. Each is run three times as a
//! text, with the parameters' literals in the places of `?`, and three times prepared; rows read are the sum of `Handler_read_%` of the third
//! run, for a plan that is kept is made for other values. Behind it is what MySQL read of each, and its number of rows, for which
//! `VAQUITA_RECORD=127.0.0.1:13306:user:password cargo test -p vaquita-server --test it reads::` is. Changes are rolled back.
//!
//! A line `more: why` says that more is read here, and why. It must go when that is no longer so.

use std::fmt::Write;
use std::path::Path;

use vaquita_scripts::Record;

use crate::client::{Answer, Client};
use crate::server::Server;

/// A plan for other values is often chosen by the third run.
const RUNS: usize = 3;

/// What a plan may read beyond twice what MySQL's reads: the ends of ranges, and rows that are read to be locked.
const MORE_ALLOWED: u64 = 20;

#[derive(Debug, PartialEq)]
struct Reads {
    /// Of the statement as a text, and of the prepared one.
    text: u64,
    prepared: u64,
    rows: usize,
}

impl Reads {
    fn parse(line: &str) -> Option<Reads> {
        let mut numbers = line.split([' ', ',']).filter_map(|word| word.parse::<u64>().ok());
        let (text, prepared, rows) = (numbers.next()?, numbers.next()?, numbers.next()?);
        Some(Reads { text, prepared, rows: usize::try_from(rows).ok()? })
    }

    fn line(&self) -> String {
        format!("read {} and {}, rows {}", self.text, self.prepared, self.rows)
    }

    fn is_within(&self, mysql: &Reads) -> bool {
        let within = |own: u64, other: u64| own <= other * 2 + MORE_ALLOWED;
        within(self.text, mysql.text) && within(self.prepared, mysql.prepared)
    }
}

fn reads_of(client: &mut Client, statement: &str) -> Reads {
    let (sql, params) = statement.split_once(" | ").unwrap_or((statement, ""));
    let params: Vec<&str> = params.split(", ").filter(|param| !param.is_empty()).collect();
    let (mut text, mut parts) = (String::new(), sql.split('?'));
    text += parts.next().unwrap_or_default();
    for (part, param) in parts.zip(&params) {
        text += param;
        text += part;
    }
    let of_text = third_run(client, &text);
    prepare(client, sql, &params);
    let of_prepared = third_run(client, &execution(&params));
    assert_eq!(of_text.1, of_prepared.1, "{statement}: rows as a text and prepared");
    Reads { text: of_text.0, prepared: of_prepared.0, rows: of_text.1 }
}

fn prepare(client: &mut Client, sql: &str, params: &[&str]) {
    done(client, &format!("PREPARE s FROM '{}'", sql.replace('\'', "''")));
    for (n, param) in params.iter().enumerate() {
        done(client, &format!("SET @p{n} = {param}"));
    }
}

fn execution(params: &[&str]) -> String {
    let names: Vec<String> = (0..params.len()).map(|n| format!("@p{n}")).collect();
    if names.is_empty() { "EXECUTE s".into() } else { format!("EXECUTE s USING {}", names.join(", ")) }
}

fn done(client: &mut Client, sql: &str) -> Answer {
    match client.query(sql) {
        Answer::Err { code, text, .. } => panic!("{sql}: {code} {text}"),
        answer => answer,
    }
}

/// Rows read and given by the last of some runs.
fn third_run(client: &mut Client, sql: &str) -> (u64, usize) {
    let mut last = (0, 0);
    for _ in 0..RUNS {
        done(client, "FLUSH STATUS");
        done(client, "BEGIN");
        let rows = match done(client, sql) {
            Answer::Rows { rows, .. } => rows.len(),
            _ => 0,
        };
        let counts = done(client, "SHOW SESSION STATUS LIKE 'Handler_read%'").rows();
        last = (counts.iter().filter_map(|row| row.get(1)?.parse::<u64>().ok()).sum(), rows);
        done(client, "ROLLBACK");
    }
    last
}

/// The file with what this server reads; `judge` is told of each statement what was recorded, whether it is known to read more, and what it reads.
fn replay(client: &mut Client, script: &str, judge: &mut dyn FnMut(&str, Option<Reads>, bool, &Reads)) -> String {
    let mut out = String::new();
    let mut lines = script.lines().peekable();
    while let Some(line) = lines.next() {
        let _ = writeln!(out, "{line}");
        if let Some(sql) = line.strip_prefix("make> ") {
            done(client, sql);
        }
        let Some(statement) = line.strip_prefix("read> ") else { continue };
        let recorded = lines.next_if(|next| next.starts_with("read ")).and_then(Reads::parse);
        let more = lines.next_if(|next| next.starts_with("more: "));
        let reads = reads_of(client, statement);
        let _ = writeln!(out, "{}", reads.line());
        if let Some(more) = more {
            let _ = writeln!(out, "{more}");
        }
        judge(statement, recorded, more.is_some(), &reads);
    }
    out
}

#[test]
fn statements_read_about_as_many_rows_as_in_mysql() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/reads/rows.txt");
    let script = std::fs::read_to_string(&path).expect("read");
    if let Record::Mysql(target) = Record::from_env() {
        let mut client = Client::connect(target.port, &target.user, &target.password).expect("connect");
        let recorded = replay(&mut client, &script, &mut |_, _, _, _| {});
        done(&mut client, "DROP DATABASE rows_read");
        return std::fs::write(&path, recorded).expect("write");
    }
    let server = Server::start("reads");
    let mut wrong = String::new();
    replay(&mut server.connect(), &script, &mut |statement, recorded, known, own| {
        let Some(mysql) = recorded else { return wrong += &format!("{statement}\n  is not recorded\n") };
        let said = match (own.is_within(&mysql), known) {
            _ if own.rows != mysql.rows => "has other rows",
            (false, false) => "reads more",
            (true, true) => "no longer reads more",
            _ => return,
        };
        let _ = writeln!(wrong, "{statement}\n  {said}: here {}, in MySQL {}", own.line(), mysql.line());
    });
    assert!(wrong.is_empty(), "{wrong}");
}
