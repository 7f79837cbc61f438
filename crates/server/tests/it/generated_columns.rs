//! Generated columns over restarts, and settings that their expressions depend on.

use crate::ask::{code, ok, one};
use crate::server::Server;

/// What an index holds is found again in another time zone, because the row has it.
#[test]
fn entries_are_found_with_other_settings() {
    let server = Server::start("generated-settings");
    let mut client = server.connect();
    for sql in [
        "CREATE DATABASE d",
        "USE d",
        "CREATE TABLE t (id INT PRIMARY KEY, ts TIMESTAMP, h INT AS (HOUR(ts)), s INT AS (HOUR(ts)) STORED, v INT AS (HOUR(ts)), KEY (h))",
        "SET time_zone = '+03:00'",
        "INSERT INTO t (id, ts) VALUES (1, '2020-01-01 12:00:00'), (2, '2020-01-01 13:00:00')",
        "SET time_zone = '+05:00'",
    ] {
        ok(&mut client, sql);
    }
    assert_eq!(one(&mut client, "SELECT CONCAT_WS(',', h, s, v) FROM t WHERE id = 1"), "12,12,14");
    ok(&mut client, "UPDATE t SET ts = '2020-01-01 01:00:00' WHERE h = 12");
    assert_eq!(one(&mut client, "SELECT GROUP_CONCAT(h ORDER BY h) FROM t FORCE INDEX (h) WHERE h >= 0"), "1,13");
    ok(&mut client, "DELETE FROM t WHERE id = 2");
    assert_eq!(one(&mut client, "SELECT COUNT(*) FROM t FORCE INDEX (h) WHERE h >= 0"), "1");
    assert_eq!(one(&mut client, "CHECK TABLE t EXTENDED"), "d.t|check|status|OK");
}

#[test]
fn generated_columns_outlive_the_server() {
    let server = Server::start("generated-restart");
    let mut client = server.connect();
    for sql in [
        "CREATE DATABASE d",
        "USE d",
        "CREATE TABLE t (id INT PRIMARY KEY, a INT, v INT AS (a + 1), s INT AS (v * 2) STORED, k INT AS (a % 3), UNIQUE KEY (v, id), KEY (k))",
        "INSERT INTO t (id, a) VALUES (1, 1), (2, 2), (3, 3)",
        "ALTER TABLE t ADD w INT AS (s + k)",
        "ALTER TABLE t ADD KEY (w)",
    ] {
        ok(&mut client, sql);
    }
    let rows = "SELECT GROUP_CONCAT(CONCAT_WS(',', id, a, v, s, k, w) ORDER BY id SEPARATOR ' ') FROM t";
    let (shown, before) = (one(&mut client, "SHOW CREATE TABLE t"), one(&mut client, rows));
    assert_eq!(before, "1,1,2,4,1,5 2,2,3,6,2,8 3,3,4,8,0,8");
    let server = Server::start_in(server.kill());
    let mut client = server.connect();
    ok(&mut client, "USE d");
    assert_eq!(one(&mut client, "SHOW CREATE TABLE t"), shown);
    assert_eq!(one(&mut client, rows), before);
    assert_eq!(code(&client.query("INSERT INTO t VALUES (4, 4, 5, 10, 1, 11)")), 3105);
    ok(&mut client, "UPDATE t SET a = 30 WHERE w = 5");
    assert_eq!(one(&mut client, "SELECT GROUP_CONCAT(id ORDER BY id) FROM t WHERE w > 8"), "1");
    assert_eq!(one(&mut client, "CHECK TABLE t EXTENDED"), "d.t|check|status|OK");
}
