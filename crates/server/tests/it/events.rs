//! Events that run: as whom and under what, over KILL, restarts and the scheduler's switch. Each waits for the effect.

use std::time::{Duration, Instant};

use crate::ask::{code, ok, one, run};
use crate::client::{Answer, Client};
use crate::server::Server;

/// Until the query gives `wanted`, for a while.
fn wait_for(client: &mut Client, sql: &str, wanted: &str) {
    let start = Instant::now();
    let mut got = String::new();
    while start.elapsed() < Duration::from_secs(120) {
        got = client.query(sql).rows().into_iter().next().map(|row| row.join("|")).unwrap_or_default();
        if got == wanted {
            return;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    panic!("{sql}: {got}, not {wanted}");
}

const TABLE: [&str; 3] = ["CREATE DATABASE d", "USE d", "CREATE TABLE d.t (what VARCHAR(200), n INT AUTO_INCREMENT PRIMARY KEY)"];

#[test]
fn events_run_as_their_definer_under_their_settings() {
    let server = Server::start("events-run");
    let mut root = server.connect();
    run(&mut root, &TABLE);
    run(
        &mut root,
        &[
            "CREATE USER u IDENTIFIED BY 'x'",
            "GRANT EVENT ON d.* TO u",
            "GRANT INSERT ON d.t TO u",
            "SET time_zone = '+05:00', sql_mode = 'ANSI_QUOTES'",
            "CREATE DEFINER = u EVENT d.once ON SCHEDULE AT NOW() DO BEGIN SELECT 1; INSERT INTO t (what) SELECT CONCAT_WS(' ', CURRENT_USER(), DATABASE(), @@time_zone, @@sql_mode); END",
            "SET time_zone = DEFAULT, sql_mode = DEFAULT",
        ],
    );
    wait_for(&mut root, "SELECT what FROM d.t", "u@% d +05:00 ANSI_QUOTES");
    // It was not to be kept.
    wait_for(&mut root, "SELECT COUNT(*) FROM information_schema.events", "0");
    // Nothing that is granted to others helps, and its error is in the server's log only.
    run(
        &mut root,
        &[
            "CREATE DEFINER = u EVENT d.denied ON SCHEDULE AT NOW() ON COMPLETION PRESERVE DO INSERT INTO t (what) SELECT what FROM t",
            "CREATE EVENT d.kept ON SCHEDULE AT NOW() ON COMPLETION PRESERVE DO INSERT INTO t (what) VALUES ('kept')",
        ],
    );
    wait_for(
        &mut root,
        "SELECT COUNT(*) FROM information_schema.events WHERE status = 'DISABLED' AND last_executed IS NOT NULL",
        "2",
    );
    wait_for(&mut root, "SELECT GROUP_CONCAT(what ORDER BY n) FROM d.t WHERE n > 1", "kept");
    // A new time is one more run.
    ok(&mut root, "ALTER EVENT d.kept ON SCHEDULE AT NOW() + INTERVAL 1 SECOND ENABLE");
    wait_for(&mut root, "SELECT COUNT(*) FROM d.t WHERE what = 'kept'", "2");
    wait_for(&mut root, "SELECT status FROM information_schema.events WHERE event_name = 'kept'", "DISABLED");
}

#[test]
fn events_come_again_until_they_are_over() {
    let server = Server::start("events-again");
    let mut root = server.connect();
    run(&mut root, &TABLE);
    run(
        &mut root,
        &[
            "CREATE EVENT e ON SCHEDULE EVERY 1 SECOND ENDS NOW() + INTERVAL 3 SECOND DO INSERT INTO t (what) VALUES ('e')",
            "CREATE EVENT k ON SCHEDULE EVERY 1 SECOND ENDS NOW() + INTERVAL 2 SECOND ON COMPLETION PRESERVE DO INSERT INTO nowhere VALUES (1)",
            "CREATE EVENT often ON SCHEDULE EVERY 1 SECOND DO INSERT INTO t (what) VALUES ('often')",
        ],
    );
    wait_for(&mut root, "SELECT COUNT(*) > 2 FROM t WHERE what = 'often'", "1");
    ok(&mut root, "ALTER EVENT often ON SCHEDULE EVERY 1 SECOND ENDS NOW() + INTERVAL 1 SECOND");
    wait_for(&mut root, "SELECT GROUP_CONCAT(event_name, status) FROM information_schema.events", "kDISABLED");
    // A slow machine runs it less often.
    let times: u32 = one(&mut root, "SELECT COUNT(*) FROM t WHERE what = 'e'").parse().expect("a number");
    assert!(times <= 4, "{times}");
}

#[test]
fn the_scheduler_is_switched_killed_and_survives() {
    let server = Server::start("events-switch");
    let mut root = server.connect();
    run(&mut root, &TABLE);
    const SHOWN: &str =
        "SELECT COUNT(*) FROM information_schema.processlist WHERE user = 'event_scheduler' AND command = 'Daemon'";
    wait_for(&mut root, SHOWN, "1");
    ok(&mut root, "SET GLOBAL event_scheduler = OFF");
    wait_for(&mut root, SHOWN, "0");
    run(
        &mut root,
        &[
            "CREATE EVENT past ON SCHEDULE AT NOW() DO INSERT INTO t (what) VALUES ('past')",
            "CREATE EVENT far ON SCHEDULE EVERY 1 YEAR STARTS '2036-01-01' DO INSERT INTO t (what) VALUES ('far')",
            "CREATE EVENT endless ON SCHEDULE AT NOW() DO SELECT SLEEP(100000)",
            "DO SLEEP(2)",
        ],
    );
    assert_eq!(one(&mut root, "SELECT COUNT(*) FROM t"), "0");
    // A time that came while the server was down is made up for, as in MySQL.
    let server = Server::start_in(server.kill());
    let mut root = server.connect();
    wait_for(&mut root, "SELECT GROUP_CONCAT(what) FROM d.t", "past");
    const SLEEPS: &str = "SELECT id FROM information_schema.processlist WHERE info LIKE 'SELECT SLEEP(1%'";
    let start = Instant::now();
    let mut id = None;
    while id.is_none() && start.elapsed() < Duration::from_secs(120) {
        id = root.query(SLEEPS).rows().into_iter().next().map(|row| row[0].clone());
    }
    ok(&mut root, &format!("KILL {}", id.expect("the event runs")));
    wait_for(&mut root, "SELECT GROUP_CONCAT(event_name) FROM information_schema.events", "far");
    let id = one(&mut root, "SELECT id FROM information_schema.processlist WHERE user = 'event_scheduler'");
    ok(&mut root, &format!("KILL {id}"));
    wait_for(&mut root, "SELECT @@event_scheduler", "OFF");
    ok(&mut root, "SET GLOBAL event_scheduler = ON");
    wait_for(&mut root, SHOWN, "1");
    // A shutdown ends what runs.
    ok(&mut root, "CREATE EVENT d.endless ON SCHEDULE AT NOW() DO SELECT SLEEP(100000)");
    wait_for(&mut root, "SELECT COUNT(*) FROM information_schema.processlist WHERE info LIKE 'SELECT SLEEP(1%'", "1");
    let (_, clean, dir) = server.terminate();
    assert!(clean, "the server ended by itself");
    let server = Server::start_in(dir);
    wait_for(
        &mut server.connect(),
        "SELECT GROUP_CONCAT(event_name, status ORDER BY 1) FROM information_schema.events WHERE event_name = 'far'",
        "farENABLED",
    );
}

#[test]
fn events_are_those_of_their_database() {
    let server = Server::start("events-databases");
    let mut root = server.connect();
    run(&mut root, &TABLE);
    run(
        &mut root,
        &[
            "CREATE DATABASE other",
            "CREATE USER u IDENTIFIED BY 'x'",
            "GRANT EVENT ON other.* TO u",
            "CREATE EVENT d.e ON SCHEDULE AT '2036-01-01' DO SELECT 1",
        ],
    );
    let mut u = Client::connect(server.port, "u", "x").expect("u connects");
    let denied = |answer: Answer| assert_eq!(code(&answer), 1044);
    for sql in [
        "CREATE EVENT d.f ON SCHEDULE AT '2036-01-01' DO SELECT 1",
        "ALTER EVENT d.e DISABLE",
        "ALTER EVENT d.e RENAME TO other.e",
        "DROP EVENT d.e",
        "SHOW EVENTS FROM d",
        "SHOW CREATE EVENT d.e",
    ] {
        denied(u.query(sql));
    }
    assert!(u.query("SELECT * FROM information_schema.events").rows().is_empty());
    ok(&mut u, "CREATE EVENT other.e ON SCHEDULE AT '2036-01-01' DO SELECT 1");
    denied(u.query("ALTER EVENT other.e RENAME TO d.f"));
    assert_eq!(code(&root.query("ALTER EVENT d.e RENAME TO other.e")), 1537);
    ok(&mut root, "ALTER EVENT d.e RENAME TO other.f");
    let names = "SELECT CONCAT(event_schema, '.', event_name) FROM information_schema.events ORDER BY 1";
    assert_eq!(u.query(names).rows(), [["other.e"], ["other.f"]]);
    let server = Server::start_in(server.kill());
    let mut root = server.connect();
    assert_eq!(root.query(names).rows(), [["other.e"], ["other.f"]]);
    ok(&mut root, "DROP DATABASE other");
    assert!(root.query(names).rows().is_empty());
    run(
        &mut root,
        &["CREATE DATABASE other", "CREATE EVENT other.e ON SCHEDULE AT NOW() DO INSERT INTO d.t (what) VALUES ('again')"],
    );
    wait_for(&mut root, "SELECT GROUP_CONCAT(what) FROM d.t", "again");
}

#[test]
fn an_event_without_its_definer_or_its_right_tells_the_log() {
    let server = Server::start("events-definer");
    let mut root = server.connect();
    run(&mut root, &TABLE);
    run(
        &mut root,
        &[
            "SET GLOBAL event_scheduler = OFF",
            "CREATE USER gone, weak, locked PASSWORD EXPIRE ACCOUNT LOCK",
            "GRANT INSERT ON d.t TO weak",
            "GRANT EVENT, INSERT ON d.* TO locked",
            // It need not be able to log in, as in MySQL.
            "CREATE DEFINER = locked EVENT e0 ON SCHEDULE AT NOW() DO INSERT INTO t (what) VALUES ('locked')",
            "CREATE DEFINER = gone EVENT e1 ON SCHEDULE AT NOW() DO INSERT INTO t (what) VALUES ('gone')",
            "DROP USER gone",
            "CREATE DEFINER = weak EVENT e2 ON SCHEDULE AT NOW() DO INSERT INTO t (what) VALUES ('weak')",
            "CREATE EVENT e3 ON SCHEDULE AT NOW() DO SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'told'",
            "SET GLOBAL event_scheduler = ON",
        ],
    );
    wait_for(&mut root, "SELECT COUNT(*) FROM information_schema.events", "0");
    assert_eq!(root.query("SELECT what FROM t").rows(), [["locked"]]);
    let dir = std::path::PathBuf::from(one(&mut root, "SELECT @@datadir"));
    let log = std::fs::read_to_string(dir.with_extension("log")).expect("the log");
    for told in ["event d.e1: 1449", "event d.e2: 1044", "event d.e3: 1644 told"] {
        assert!(log.contains(told), "{told}: {log}");
    }
}

/// What ends events waits for a backup; what is altered meanwhile stays.
#[test]
fn the_end_of_events_waits_for_locks() {
    let server = Server::start("events-locks");
    let mut root = server.connect();
    run(&mut root, &TABLE);
    run(
        &mut root,
        &[
            "SET GLOBAL event_scheduler = OFF",
            "CREATE EVENT last ON SCHEDULE AT NOW() DO INSERT INTO t (what) VALUES ('last')",
            "CREATE EVENT kept ON SCHEDULE AT NOW() DO DO GET_LOCK('gate', 100000)",
            "CREATE EVENT often ON SCHEDULE EVERY 1 SECOND DO DO 1",
            "DO GET_LOCK('gate', 0)",
            "LOCK INSTANCE FOR BACKUP",
            "SET GLOBAL event_scheduler = ON",
        ],
    );
    // Those that go on are not kept from running.
    wait_for(
        &mut root,
        "SELECT COUNT(*) > 0 FROM information_schema.events WHERE event_name = 'often' AND last_executed > created",
        "1",
    );
    assert_eq!(
        one(&mut root, "SELECT GROUP_CONCAT(status ORDER BY event_name) FROM information_schema.events"),
        "ENABLED,ENABLED,ENABLED"
    );
    assert_eq!(one(&mut root, "SELECT COUNT(*) FROM t"), "0");
    ok(&mut root, "UNLOCK INSTANCE");
    wait_for(&mut root, "SELECT GROUP_CONCAT(what) FROM t", "last");
    wait_for(
        &mut root,
        "SELECT GROUP_CONCAT(event_name, status ORDER BY 1) FROM information_schema.events",
        "keptDISABLED,oftenENABLED",
    );
    run(
        &mut root,
        &[
            "ALTER EVENT kept ON SCHEDULE AT NOW() + INTERVAL 1 SECOND ENABLE DO INSERT INTO t (what) VALUES ('kept')",
            "DO RELEASE_LOCK('gate')",
        ],
    );
    wait_for(&mut root, "SELECT GROUP_CONCAT(what ORDER BY n) FROM t", "last,kept");
    wait_for(&mut root, "SELECT GROUP_CONCAT(event_name, status ORDER BY 1) FROM information_schema.events", "oftenENABLED");
}

#[test]
fn a_start_can_disable_the_scheduler() {
    let server = Server::start("events-disabled");
    let mut root = server.connect();
    run(&mut root, &TABLE);
    ok(&mut root, "SET PERSIST event_scheduler = ON");
    drop(root);
    let (_, clean, dir) = server.terminate();
    assert!(clean, "the server ended by itself");
    let server = Server::start_in_with(dir, &["--event-scheduler", "disabled"]);
    let mut root = server.connect();
    assert_eq!(one(&mut root, "SELECT @@event_scheduler"), "DISABLED");
    for value in ["ON", "OFF", "DEFAULT"] {
        assert_eq!(code(&root.query(&format!("SET GLOBAL event_scheduler = {value}"))), 1290);
    }
    assert_eq!(code(&root.query("SET GLOBAL event_scheduler = DISABLED")), 1231);
    // They are created all the same.
    ok(&mut root, "CREATE EVENT d.e ON SCHEDULE AT NOW() DO INSERT INTO t (what) VALUES ('e')");
    ok(&mut root, "DO SLEEP(2)");
    assert_eq!(one(&mut root, "SELECT COUNT(*) FROM d.t"), "0");
    assert_eq!(one(&mut root, "SELECT COUNT(*) FROM information_schema.processlist WHERE user = 'event_scheduler'"), "0");
    let server = Server::start_in(server.kill());
    wait_for(&mut server.connect(), "SELECT GROUP_CONCAT(what) FROM d.t", "e");
}

/// Of more events than may run at once the others wait, and run when there is room.
#[test]
fn events_at_once_have_an_end() {
    const AT_ONCE_MAX: usize = 32;
    let server = Server::start("events-at-once");
    let mut root = server.connect();
    run(&mut root, &TABLE);
    ok(&mut root, "DO GET_LOCK('gate', 0)");
    ok(&mut root, "SET GLOBAL event_scheduler = OFF");
    for n in 0..AT_ONCE_MAX + 8 {
        let body = "BEGIN DO GET_LOCK('gate', 100000); INSERT INTO t (what) VALUES ('ran'); DO RELEASE_LOCK('gate'); END";
        ok(&mut root, &format!("CREATE EVENT e{n} ON SCHEDULE AT NOW() DO {body}"));
    }
    ok(&mut root, "SET GLOBAL event_scheduler = ON");
    const RUNNING: &str = "SELECT COUNT(*) FROM information_schema.processlist WHERE info LIKE 'BEGIN DO GET_LOCK%'";
    wait_for(&mut root, RUNNING, &AT_ONCE_MAX.to_string());
    // The scheduler has looked again since.
    ok(&mut root, "DO SLEEP(3)");
    assert_eq!(one(&mut root, RUNNING), AT_ONCE_MAX.to_string());
    ok(&mut root, "DO RELEASE_LOCK('gate')");
    wait_for(&mut root, "SELECT COUNT(*) FROM d.t", &(AT_ONCE_MAX + 8).to_string());
}
