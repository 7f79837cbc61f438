//! A transaction that wrote before the server became read-only is rolled back by whatever would commit it, with error 1290, as MySQL 9.7 does.

use crate::client::{Answer, Client};
use crate::server::Server;

const ER_OPTION_PREVENTS_STATEMENT: u16 = 1290;

fn ok(client: &mut Client, sql: &str) {
    let answer = client.query(sql);
    assert!(!matches!(answer, Answer::Err { .. }), "{sql}: {answer:?}");
}

/// What `end` answers in a transaction that `begin` made before the server became read-only, and how many rows there are then.
fn ends(root: &mut Client, client: &mut Client, begin: &[&str], end: &str) -> (Option<u16>, String) {
    begin.iter().for_each(|sql| ok(client, sql));
    ok(root, "SET GLOBAL read_only = ON");
    let ended = client.query(end);
    ok(root, "SET GLOBAL read_only = OFF");
    let code = if let Answer::Err { code, .. } = ended { Some(code) } else { None };
    let rows = client.query("SELECT COUNT(*) FROM read_only.t").rows().concat().concat();
    ok(client, "ROLLBACK");
    ok(client, "SET autocommit = 1");
    ok(root, "DELETE FROM read_only.t");
    (code, rows)
}

#[test]
fn what_wrote_before_the_setting_does_not_commit() {
    let server = Server::start("read-only");
    let mut root = server.connect();
    ok(&mut root, "CREATE DATABASE read_only");
    ok(&mut root, "CREATE TABLE read_only.t (id INT PRIMARY KEY)");
    ok(&mut root, "CREATE USER u IDENTIFIED BY 'p'");
    ok(&mut root, "GRANT ALL ON read_only.* TO u");
    let mut client = Client::connect(server.port, "u", "p").expect("connect");
    ok(&mut client, "CREATE TEMPORARY TABLE read_only.own (id INT)");
    let refused = (Some(ER_OPTION_PREVENTS_STATEMENT), "0".to_string());
    let write = "INSERT INTO read_only.t VALUES (1)";
    for end in ["COMMIT", "START TRANSACTION"] {
        assert_eq!(ends(&mut root, &mut client, &["START TRANSACTION", write], end), refused, "{end}");
    }
    assert_eq!(ends(&mut root, &mut client, &["SET autocommit = 0", write], "SET autocommit = 1"), refused);
    assert_eq!(ends(&mut root, &mut client, &["XA START 'x'", write, "XA END 'x'"], "XA COMMIT 'x' ONE PHASE"), refused);
    let allowed = (None, "0".to_string());
    for own in ["INSERT INTO read_only.own VALUES (1)", "SELECT * FROM read_only.t FOR UPDATE"] {
        assert_eq!(ends(&mut root, &mut client, &["START TRANSACTION", own], "COMMIT"), allowed, "{own}");
    }
    // Not for those who administer the server.
    ok(&mut root, "SET GLOBAL read_only = ON");
    ok(&mut root, "START TRANSACTION");
    ok(&mut root, write);
    ok(&mut root, "COMMIT");
    ok(&mut root, "SET GLOBAL super_read_only = ON");
    let refused = root.query("DELETE FROM read_only.t");
    assert!(matches!(refused, Answer::Err { code: ER_OPTION_PREVENTS_STATEMENT, .. }), "{refused:?}");
}
