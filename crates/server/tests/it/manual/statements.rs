//! Statements: the rows of `parser::statement_kind`, without those that a server answers with error 1235.

use vaquita_parser::statement_kind::{InXa, Prepares, StatementFacts, UnderLockTables};
use vaquita_parser::{ParserOptions, StatementKind, parse_one};

use super::{PageText, code, compare, ok};
use crate::client::Answer;
use crate::server::Server;

const ABOUT: &str = "\
Every kind of statement that is carried out. Their syntax is MySQL's; a statement of MySQL's that is not here is error 1235 with its name.

| column | |
|---|---|
| counter | counts it in `SHOW STATUS` |
| commits | *yes*: it commits the open transaction before it begins |
| PREPARE | *yes*; *SQL* is PREPARE alone, *protocol* the command of the protocol alone; *no* is error 1295 |
| READ ONLY | *no*: error 1792 in a READ ONLY transaction. What a plan changes is looked at table by table |
| read\\_only | *no*: error 1290 while `read_only` or `super_read_only` is on |
| XA | *no*: error 1399 in an XA transaction; *active*: allowed between XA START and XA END; *temporary*: error 4091 |
| LOCK TABLES | *no*: error 1192 in a session that has locked tables; a table's name: error 1100 unless that is locked |";

const UNSUPPORTED: u16 = 1235;

/// Whether a server carries the kind out, by the statements with which `statement_kinds` tries it.
fn carried_out() -> Vec<(StatementKind, bool)> {
    let server = Server::start_with("manual-statements", &["--local-infile"]);
    ok(&mut server.connect(), "CREATE DATABASE d");
    ok(&mut server.connect(), "CREATE TABLE d.t (a INT PRIMARY KEY)");
    let samples = include_str!("../../golden/statements.txt").lines().filter_map(|line| line.strip_prefix("> "));
    let outcome = |sql: &str| {
        // What a statement leaves ends with its connection.
        let mut client = server.connect();
        ok(&mut client, "USE d");
        let answer = client.query_all(sql).pop();
        let (statement, _) = parse_one(sql.as_bytes(), &ParserOptions::default()).unwrap_or_else(|e| panic!("{sql}: {e:?}"));
        (StatementKind::of(&statement), !matches!(answer, Some(Answer::Err { code: UNSUPPORTED, .. })))
    };
    // RESTART is not among them because it ends a MySQL; so does SHUTDOWN, here too.
    samples.chain(["RESTART"]).map(outcome).chain([(StatementKind::Shutdown, true)]).collect()
}

fn row(facts: &StatementFacts) -> [String; 8] {
    let refused = |is: bool| if is { "no" } else { "" }.to_string();
    let prepares = match facts.prepares {
        Prepares::Both => "yes",
        Prepares::SqlOnly => "SQL",
        Prepares::ProtocolOnly => "protocol",
        Prepares::Neither => "no",
    };
    let in_xa = match facts.in_xa {
        InXa::Allowed => "",
        InXa::WhileActive => "active",
        InXa::Refused => "no",
        InXa::RefusedAsTemporary => "temporary",
    };
    let locked = match facts.under_lock_tables {
        UnderLockTables::OwnTables => String::new(),
        UnderLockTables::Refused => "no".to_string(),
        UnderLockTables::SystemTable(name) => code(&format!("mysql.{name}")),
    };
    [
        facts.name.to_string(),
        code(facts.counter),
        if facts.commits { "yes" } else { "" }.to_string(),
        prepares.to_string(),
        refused(facts.refused_in_read_only),
        refused(facts.refused_by_read_only),
        in_xa.to_string(),
        locked,
    ]
}

#[test]
fn statements_are_those_of_the_registry() {
    let outcomes = carried_out();
    let is_carried_out = |kind: &&StatementKind| outcomes.iter().any(|(tried, done)| *tried == **kind && *done);
    let mut rows: Vec<[String; 8]> = StatementKind::ALL.iter().filter(is_carried_out).map(|kind| row(kind.facts())).collect();
    rows.retain(|[name, ..]| !name.is_empty());
    rows.sort();
    rows.dedup();
    let mut page = PageText::new("Statements", ABOUT);
    page.section("By name", "");
    page.table(["statement", "counter", "commits", "PREPARE", "READ ONLY", "read\\_only", "XA", "LOCK TABLES"], rows);
    compare("statements.md", &page.0);
}
