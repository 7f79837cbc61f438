//! Triggers over a restart, with the rights of their definers, inside one another, under KILL, when their statement starts again, and on many rows.

use std::time::Duration;

use crate::ask::{last_code, rows, run};
use crate::client::Client;
use crate::server::Server;

const ER_BAD_FIELD_ERROR: u16 = 1054;
const ER_TABLEACCESS_DENIED_ERROR: u16 = 1142;
const ER_COLUMNACCESS_DENIED_ERROR: u16 = 1143;
const ER_SPECIFIC_ACCESS_DENIED_ERROR: u16 = 1227;
const ER_QUERY_INTERRUPTED: u16 = 1317;
const ER_TRG_DOES_NOT_EXIST: u16 = 1360;
const ER_BINLOG_CREATE_ROUTINE_NEED_SUPER: u16 = 1419;
const ER_STACK_OVERRUN_NEED_MORE: u16 = 1436;
const ER_CANT_UPDATE_USED_TABLE_IN_SF_OR_TRG: u16 = 1442;
const ER_NO_SUCH_USER: u16 = 1449;

#[test]
fn triggers_are_there_after_a_restart() {
    let server = Server::start("triggers-restart");
    let mut client = server.connect();
    let create = [
        "CREATE DATABASE d",
        "USE d",
        "CREATE TABLE t (a INT, b VARCHAR(20) DEFAULT '')",
        "CREATE TABLE log (a INT)",
        "SET sql_mode = 'ANSI_QUOTES'",
        "CREATE TRIGGER second BEFORE INSERT ON t FOR EACH ROW SET NEW.\"b\" = CONCAT(NEW.b, '2')",
        "CREATE TRIGGER first BEFORE INSERT ON t FOR EACH ROW PRECEDES second SET NEW.b = CONCAT(NEW.b, '1')",
        "CREATE TRIGGER logs AFTER INSERT ON t FOR EACH ROW INSERT INTO log VALUES (NEW.a)",
        "CREATE TRIGGER gone AFTER INSERT ON t FOR EACH ROW SET @gone = 1",
        "DROP TRIGGER gone",
        "CREATE TABLE dropped (a INT)",
        "CREATE TRIGGER with_table AFTER INSERT ON dropped FOR EACH ROW SET @gone = 1",
        "DROP TABLE dropped",
        "RENAME TABLE t TO u",
    ];
    run(&mut client, &create);
    let server = Server::start_in(server.kill());
    let mut client = server.connect();
    run(&mut client, &["USE d", "INSERT INTO u (a) VALUES (5), (6)"]);
    assert_eq!(rows(&mut client, "SELECT a, b FROM u"), [["5", "12"], ["6", "12"]]);
    assert_eq!(rows(&mut client, "SELECT COUNT(*), SUM(a) FROM log"), [["2", "11"]]);
    assert_eq!(last_code(&mut client, "DROP TRIGGER gone"), ER_TRG_DOES_NOT_EXIST);
    let shown = "SELECT trigger_name, action_order, event_object_table, sql_mode FROM information_schema.triggers WHERE trigger_schema = 'd' ORDER BY 1";
    let expected = [["first", "1", "u", "ANSI_QUOTES"], ["logs", "1", "u", "ANSI_QUOTES"], ["second", "2", "u", "ANSI_QUOTES"]];
    assert_eq!(rows(&mut client, shown), expected);
    run(&mut client, &["DROP TRIGGER second", "ALTER TABLE u ADD COLUMN c INT FIRST"]);
    let server = Server::start_in(server.kill());
    let mut client = server.connect();
    run(&mut client, &["USE d", "INSERT INTO u (a) VALUES (7)"]);
    assert_eq!(rows(&mut client, "SELECT a, b FROM u WHERE a = 7"), [["7", "1"]]);
    run(&mut client, &["DROP DATABASE d", "CREATE DATABASE d", "CREATE TABLE d.u (a INT)", "INSERT INTO d.u VALUES (1)"]);
}

#[test]
fn triggers_have_the_rights_of_their_definers() {
    let server = Server::start("triggers-security");
    let mut root = server.connect();
    let create = [
        "CREATE DATABASE d",
        "USE d",
        "CREATE TABLE t (a INT, b INT)",
        "CREATE TABLE log (who VARCHAR(50), client VARCHAR(50), a INT)",
        "CREATE USER writer IDENTIFIED BY 'x'",
        "CREATE USER definer IDENTIFIED BY 'x'",
        "GRANT INSERT, SELECT ON d.t TO writer",
        "CREATE DEFINER = definer TRIGGER logs BEFORE INSERT ON t FOR EACH ROW BEGIN \
         INSERT INTO log VALUES (SUBSTRING_INDEX(CURRENT_USER(), '@', 1), SUBSTRING_INDEX(USER(), '@', 1), NEW.a); SET NEW.b = 1; END",
    ];
    run(&mut root, &create);
    let mut writer = Client::connect(server.port, "writer", "x").expect("writer connects");
    let insert = "INSERT INTO d.t (a) VALUES (1)";
    // Step by step what the definer lacks; root lacks nothing, but the trigger is not root's.
    assert_eq!(last_code(&mut writer, insert), ER_TABLEACCESS_DENIED_ERROR);
    assert_eq!(last_code(&mut root, insert), ER_TABLEACCESS_DENIED_ERROR);
    run(&mut root, &["GRANT TRIGGER ON d.t TO definer"]);
    assert_eq!(last_code(&mut writer, insert), ER_COLUMNACCESS_DENIED_ERROR);
    run(&mut root, &["GRANT SELECT (a) ON d.t TO definer"]);
    assert_eq!(last_code(&mut writer, insert), ER_COLUMNACCESS_DENIED_ERROR);
    run(&mut root, &["GRANT UPDATE (b) ON d.t TO definer"]);
    assert_eq!(last_code(&mut writer, insert), ER_TABLEACCESS_DENIED_ERROR);
    run(&mut root, &["GRANT INSERT ON d.log TO definer"]);
    assert_eq!(last_code(&mut writer, insert), 0);
    assert_eq!(rows(&mut root, "SELECT * FROM log"), [["definer", "writer", "1"]]);
    run(&mut root, &["REVOKE TRIGGER ON d.t FROM definer"]);
    assert_eq!(last_code(&mut writer, insert), ER_TABLEACCESS_DENIED_ERROR);
    // Who may see, make and drop them.
    let mut definer = Client::connect(server.port, "definer", "x").expect("definer connects");
    let seen = "SELECT COUNT(*) FROM information_schema.triggers WHERE trigger_schema = 'd'";
    assert_eq!(rows(&mut definer, seen), [["0"]]);
    assert_eq!(last_code(&mut definer, "SHOW CREATE TRIGGER d.logs"), ER_SPECIFIC_ACCESS_DENIED_ERROR);
    assert_eq!(last_code(&mut definer, "DROP TRIGGER d.logs"), ER_TABLEACCESS_DENIED_ERROR);
    let own = "CREATE TRIGGER d.own AFTER DELETE ON d.t FOR EACH ROW SET @x = 1";
    assert_eq!(last_code(&mut definer, own), ER_BINLOG_CREATE_ROUTINE_NEED_SUPER);
    run(&mut root, &["SET GLOBAL log_bin_trust_function_creators = ON"]);
    assert_eq!(last_code(&mut definer, own), ER_TABLEACCESS_DENIED_ERROR);
    run(&mut root, &["GRANT TRIGGER ON d.t TO definer"]);
    assert_eq!(rows(&mut definer, seen), [["1"]]);
    assert_eq!(last_code(&mut definer, own), 0);
    let of_root = "CREATE DEFINER = root TRIGGER d.roots AFTER DELETE ON d.t FOR EACH ROW SET @x = 1";
    assert_eq!(last_code(&mut definer, of_root), ER_SPECIFIC_ACCESS_DENIED_ERROR);
    assert_eq!(last_code(&mut definer, "DROP TRIGGER d.own"), 0);
    run(&mut root, &["DROP USER definer"]);
    assert_eq!(last_code(&mut writer, insert), ER_NO_SUCH_USER);
    assert_eq!(last_code(&mut root, insert), ER_NO_SUCH_USER);
}

#[test]
fn triggers_inside_one_another() {
    let server = Server::start("triggers-depth");
    let mut client = server.connect();
    run(&mut client, &["CREATE DATABASE d", "USE d", "SET max_sp_recursion_depth = 255", "CREATE TABLE t6 (a INT)"]);
    // Each insert goes down 200 levels before the next one.
    for n in (0..6).rev() {
        let next = n + 1;
        run(
            &mut client,
            &[
                &format!("CREATE TABLE t{n} (a INT)"),
                &format!(
                    "CREATE PROCEDURE p{n}(levels INT, a INT) BEGIN IF levels > 1 THEN CALL p{n}(levels - 1, a); \
                     ELSE INSERT INTO t{next} VALUES (a + 1); END IF; END"
                ),
                &format!("CREATE TRIGGER g{n} AFTER INSERT ON t{n} FOR EACH ROW CALL p{n}(200, NEW.a)"),
            ],
        );
    }
    run(&mut client, &["INSERT INTO t2 VALUES (1), (2)"]);
    assert_eq!(rows(&mut client, "SELECT a FROM t6"), [["5"], ["6"]]);
    assert_eq!(last_code(&mut client, "INSERT INTO t0 VALUES (1)"), ER_STACK_OVERRUN_NEED_MORE);
    assert_eq!(rows(&mut client, "SELECT (SELECT COUNT(*) FROM t0), (SELECT COUNT(*) FROM t1)"), [["0", "0"]]);
    run(&mut client, &["CREATE TRIGGER back AFTER INSERT ON t6 FOR EACH ROW INSERT INTO t5 VALUES (1)"]);
    assert_eq!(last_code(&mut client, "INSERT INTO t5 VALUES (1)"), ER_CANT_UPDATE_USED_TABLE_IN_SF_OR_TRG);
}

#[test]
fn kill_ends_a_trigger() {
    let server = Server::start("triggers-kill");
    let mut killer = server.connect();
    let create = [
        "CREATE DATABASE d",
        "USE d",
        "CREATE TABLE t (a INT)",
        "CREATE TRIGGER g BEFORE INSERT ON t FOR EACH ROW BEGIN DECLARE CONTINUE HANDLER FOR SQLEXCEPTION BEGIN END; LOOP SET NEW.a = 1; END LOOP; END",
    ];
    run(&mut killer, &create);
    let mut client = server.connect();
    let id = rows(&mut client, "SELECT CONNECTION_ID()")[0][0].clone();
    let running =
        std::thread::spawn(move || (last_code(&mut client, "INSERT INTO d.t VALUES (1)"), rows(&mut client, "SELECT 1")));
    let is_running = format!("SELECT COUNT(*) FROM information_schema.processlist WHERE id = {id} AND info LIKE 'INSERT%'");
    while rows(&mut killer, &is_running)[0][0] == "0" {
        assert!(!running.is_finished());
        std::thread::sleep(Duration::from_millis(5));
    }
    run(&mut killer, &[&format!("KILL QUERY {id}")]);
    assert_eq!(running.join().expect("a client"), (ER_QUERY_INTERRUPTED, vec![vec!["1".to_string()]]));
    assert_eq!(rows(&mut killer, "SELECT COUNT(*) FROM t"), [["0"]]);
}

/// Sessions that count in one row by a trigger meet each other's commits: their statements start again, and each row counts once.
#[test]
fn triggers_run_once_for_each_row() {
    let server = Server::start("triggers-conflicts");
    let mut root = server.connect();
    let create = [
        "CREATE DATABASE d",
        "USE d",
        "CREATE TABLE t (a INT)",
        "CREATE TABLE counter (n INT)",
        "INSERT INTO counter VALUES (0)",
        "CREATE TABLE log (id INT PRIMARY KEY AUTO_INCREMENT, a INT)",
        "CREATE TRIGGER g AFTER INSERT ON t FOR EACH ROW BEGIN UPDATE counter SET n = n + 1; INSERT INTO log (a) VALUES (NEW.a); END",
    ];
    run(&mut root, &create);
    const SESSIONS: usize = 4;
    const STATEMENTS: usize = 50;
    std::thread::scope(|scope| {
        for _ in 0..SESSIONS {
            let mut client = server.connect();
            scope.spawn(move || {
                for n in 0..STATEMENTS {
                    run(&mut client, &[&format!("INSERT INTO d.t VALUES ({n}), ({n} + 1000)")]);
                }
            });
        }
    });
    let all = (2 * SESSIONS * STATEMENTS).to_string();
    let counts = "SELECT (SELECT COUNT(*) FROM t), (SELECT n FROM counter), (SELECT COUNT(*) FROM log), (SELECT SUM(a) FROM t) = (SELECT SUM(a) FROM log)";
    assert_eq!(rows(&mut root, counts), [[all.as_str(), &all, &all, "1"]]);
}

/// A table gets and loses triggers and columns while sessions write: what runs is what the table has when the statement runs.
#[test]
fn triggers_come_and_go_under_writers() {
    let server = Server::start("triggers-ddl");
    let mut root = server.connect();
    let create = [
        "CREATE DATABASE d",
        "USE d",
        "CREATE TABLE t (a INT, seen INT NOT NULL DEFAULT 0)",
        "CREATE TABLE log (a INT)",
        "CREATE TRIGGER b BEFORE INSERT ON t FOR EACH ROW SET NEW.seen = 1",
    ];
    run(&mut root, &create);
    std::thread::scope(|scope| {
        let writers: Vec<_> = (0..2)
            .map(|_| {
                let mut client = server.connect();
                scope.spawn(move || {
                    for n in 0..300 {
                        run(&mut client, &[&format!("INSERT INTO d.t (a) VALUES ({n}), ({n})")]);
                    }
                })
            })
            .collect();
        while writers.iter().any(|writer| !writer.is_finished()) {
            run(&mut root, &["CREATE TRIGGER g AFTER INSERT ON t FOR EACH ROW INSERT INTO log VALUES (NEW.a)"]);
            run(&mut root, &["ALTER TABLE t ADD COLUMN c INT FIRST", "DROP TRIGGER g", "ALTER TABLE t DROP COLUMN c"]);
        }
    });
    assert_eq!(rows(&mut root, "SELECT COUNT(*), SUM(seen) FROM t"), [["1200", "1200"]]);
    assert_eq!(rows(&mut root, "SELECT COUNT(*) % 2 FROM log"), [["0"]]);
    run(&mut root, &["CREATE TRIGGER g AFTER INSERT ON t FOR EACH ROW SET @s = NEW.seen", "ALTER TABLE t DROP COLUMN seen"]);
    assert_eq!(last_code(&mut root, "INSERT INTO t VALUES (1)"), ER_BAD_FIELD_ERROR);
}

/// What no statement skips: rows of files, of many values, of queries, and changes of all rows.
#[test]
fn triggers_see_many_rows() {
    let server = Server::start("triggers-many");
    let mut client = server.connect();
    let create = [
        "CREATE DATABASE d",
        "USE d",
        "CREATE TABLE t (id INT PRIMARY KEY AUTO_INCREMENT, a INT NOT NULL, KEY (a))",
        "CREATE TABLE c (event VARCHAR(10) PRIMARY KEY, n INT, total BIGINT)",
        "INSERT INTO c VALUES ('insert', 0, 0), ('update', 0, 0), ('delete', 0, 0)",
        "CREATE TRIGGER i AFTER INSERT ON t FOR EACH ROW UPDATE c SET n = n + 1, total = total + NEW.a WHERE event = 'insert'",
        "CREATE TRIGGER u AFTER UPDATE ON t FOR EACH ROW UPDATE c SET n = n + 1, total = total + OLD.a WHERE event = 'update'",
        "CREATE TRIGGER x AFTER DELETE ON t FOR EACH ROW UPDATE c SET n = n + 1, total = total + OLD.a WHERE event = 'delete'",
    ];
    run(&mut client, &create);
    let values: Vec<String> = (1..=2000).map(|n| format!("({n})")).collect();
    run(&mut client, &[&format!("INSERT INTO t (a) VALUES {}", values.join(","))]);
    run(&mut client, &["INSERT INTO t (a) SELECT a FROM t", "UPDATE t SET a = a + 1", "DELETE FROM t"]);
    let counted = "SELECT n, total FROM c ORDER BY event";
    assert_eq!(rows(&mut client, counted), [["4000", "4006000"], ["4000", "4002000"], ["4000", "4002000"]]);
    assert_eq!(rows(&mut client, "SELECT COUNT(*) FROM t"), [["0"]]);
}
