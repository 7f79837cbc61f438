//! Foreign keys under many clients: whatever they do to parents and children at each level, no child is without its parent.
//!
//! A failure prints the seed; the same seed gives each client the same statements, though not the same order among clients.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use crate::ask::{code, ok, one};
use crate::client::{Answer, Client};
use crate::server::{PASSWORD, Server};

const CLIENTS: u64 = 6;
const TRANSACTIONS: u64 = 250;
/// Parents' keys: few, so that clients meet.
const KEYS: u64 = 12;

const TABLES: &[&str] = &[
    "CREATE TABLE p (id INT PRIMARY KEY, u VARCHAR(10) NOT NULL UNIQUE, v INT NOT NULL DEFAULT 0)",
    "CREATE TABLE strict (id INT PRIMARY KEY AUTO_INCREMENT, pid INT, FOREIGN KEY (pid) REFERENCES p (id))",
    "CREATE TABLE follows (id INT PRIMARY KEY AUTO_INCREMENT, pid INT, n INT NOT NULL DEFAULT 0,
        FOREIGN KEY (pid) REFERENCES p (id) ON DELETE CASCADE ON UPDATE CASCADE)",
    "CREATE TABLE forgets (id INT PRIMARY KEY AUTO_INCREMENT, u VARCHAR(10),
        FOREIGN KEY (u) REFERENCES p (u) ON DELETE SET NULL ON UPDATE CASCADE)",
    "CREATE TABLE grandchild (id INT PRIMARY KEY AUTO_INCREMENT, fid INT,
        FOREIGN KEY (fid) REFERENCES follows (id) ON DELETE CASCADE)",
    "CREATE TABLE tree (id INT PRIMARY KEY, up INT, FOREIGN KEY (up) REFERENCES tree (id) ON DELETE SET NULL)",
];

const ORPHANS: &[&str] = &[
    "SELECT COUNT(*) FROM strict c LEFT JOIN p ON p.id = c.pid WHERE c.pid IS NOT NULL AND p.id IS NULL",
    "SELECT COUNT(*) FROM follows c LEFT JOIN p ON p.id = c.pid WHERE c.pid IS NOT NULL AND p.id IS NULL",
    "SELECT COUNT(*) FROM forgets c LEFT JOIN p ON p.u = c.u WHERE c.u IS NOT NULL AND p.id IS NULL",
    "SELECT COUNT(*) FROM grandchild c LEFT JOIN follows f ON f.id = c.fid WHERE c.fid IS NOT NULL AND f.id IS NULL",
    "SELECT COUNT(*) FROM tree c LEFT JOIN tree f ON f.id = c.up WHERE c.up IS NOT NULL AND f.id IS NULL",
];

/// What clients must expect: duplicates, children in the way, missing parents, deadlocks and conflicts, waits, KILL.
const EXPECTED: &[u16] = &[1062, 1205, 1213, 1317, 1451, 1452, 1761];

struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % n
    }
}

fn statement(random: &mut Random) -> String {
    let (key, other) = (random.below(KEYS), random.below(KEYS));
    match random.below(20) {
        0..3 => format!("INSERT INTO p (id, u) VALUES ({key}, 'u{key}')"),
        3 => format!("DELETE FROM p WHERE id = {key}"),
        4 => format!("DELETE FROM p WHERE v >= {other} LIMIT 2"),
        5 => format!("UPDATE p SET id = {other} WHERE id = {key}"),
        6 => format!("UPDATE p SET u = 'U{other}' WHERE id = {key}"),
        7 => format!("UPDATE p SET v = v + 1 WHERE id = {key}"),
        8 => format!("REPLACE INTO p (id, u) VALUES ({key}, 'u{other}')"),
        9 => format!("INSERT INTO strict (pid) VALUES ({key})"),
        10 => format!("INSERT IGNORE INTO strict (pid) VALUES ({key}), ({other})"),
        11 => format!("DELETE FROM strict WHERE pid = {key}"),
        12 => format!("UPDATE strict SET pid = {other} WHERE pid = {key}"),
        13 => format!("INSERT INTO follows (pid) VALUES ({key}), ({other})"),
        14 => format!("UPDATE follows SET pid = {other}, n = n + 1 WHERE pid = {key}"),
        15 => format!("INSERT INTO forgets (u) VALUES ('U{key}')"),
        16 => format!("INSERT INTO grandchild (fid) SELECT id FROM follows WHERE pid = {key}"),
        17 => format!("INSERT INTO tree VALUES ({key}, {other})"),
        18 => format!("DELETE FROM tree WHERE id = {key}"),
        _ => format!("DELETE p, strict FROM strict JOIN p ON p.id = strict.pid WHERE p.id = {key}"),
    }
}

/// Transactions of one to three statements; some connections end in the middle of one.
fn work(server: &Server, level: &str, seed: u64) {
    let mut random = Random(seed);
    // Until nobody kills it before it has begun, which may be while it logs in.
    let connect = || loop {
        let Ok(mut client) = Client::connect(server.port, "root", PASSWORD) else { continue };
        let level = format!("SET SESSION TRANSACTION ISOLATION LEVEL {level}");
        if ["USE d", &level].iter().all(|sql| client.try_query(sql).is_ok_and(|answer| code(&answer) == 0)) {
            return client;
        }
    };
    let mut client = connect();
    for _ in 0..TRANSACTIONS {
        let statements = 1 + random.below(3);
        let mut sql = vec!["BEGIN".to_string()];
        sql.extend((0..statements).map(|_| statement(&mut random)));
        sql.push(if random.below(6) == 0 { "ROLLBACK" } else { "COMMIT" }.to_string());
        let leaves = random.below(12) == 0;
        for sql in &sql {
            if leaves && sql == "COMMIT" {
                client = connect();
                break;
            }
            match client.try_query(sql) {
                Ok(answer) => {
                    let code = code(&answer);
                    assert!(code == 0 || EXPECTED.contains(&code), "seed {seed}: {sql}: {answer:?}");
                }
                // Somebody has killed the connection.
                Err(_) => {
                    client = connect();
                    break;
                }
            }
        }
    }
}

/// Kills connections and statements of the others.
fn kill(server: &Server, seed: u64, stop: &AtomicBool) {
    let mut random = Random(seed);
    let mut client = server.connect();
    while !stop.load(Ordering::Relaxed) {
        let others = "SELECT id FROM information_schema.processlist WHERE id <> CONNECTION_ID() AND command <> 'Daemon'";
        let victims = client.query(others).rows();
        if !victims.is_empty() {
            let victim = &victims[random.below(victims.len() as u64) as usize][0];
            let what = if random.below(2) == 0 { "QUERY" } else { "CONNECTION" };
            // It may have ended.
            client.query(&format!("KILL {what} {victim}"));
        }
        thread::sleep(std::time::Duration::from_millis(20));
    }
}

fn check(client: &mut Client, what: &str) {
    for sql in ORPHANS {
        assert_eq!(one(client, sql), "0", "{what}: {sql}");
    }
    for row in client.query("CHECK TABLE p, strict, follows, forgets, grandchild, tree").rows() {
        assert_eq!(row[3], "OK", "{what}: {row:?}");
    }
}

fn run(level: &str, seed: u64) {
    let server = Server::start(&format!("foreign-keys-{}", level.to_lowercase().replace(' ', "-")));
    let mut admin = server.connect();
    ok(&mut admin, "CREATE DATABASE d");
    ok(&mut admin, "USE d");
    TABLES.iter().for_each(|sql| ok(&mut admin, sql));
    ok(&mut admin, "SET GLOBAL innodb_lock_wait_timeout = 20");
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| kill(&server, seed, &stop));
        let workers: Vec<_> = (0..CLIENTS).map(|n| (n, &server)).collect();
        let workers: Vec<_> =
            workers.into_iter().map(|(n, server)| scope.spawn(move || work(server, level, seed * 100 + n))).collect();
        let ended: Vec<_> = workers.into_iter().map(|worker| worker.join()).collect();
        stop.store(true, Ordering::Relaxed);
        assert!(ended.iter().all(|ended| ended.is_ok()), "seed {seed}");
    });
    // The one from before may have been killed.
    let mut admin = server.connect();
    ok(&mut admin, "USE d");
    check(&mut admin, &format!("{level}, seed {seed}"));
    // Something was there to be wrong.
    assert_ne!(one(&mut admin, "SELECT COUNT(*) FROM p"), "");
}

#[test]
fn no_orphans_at_read_committed() {
    run("READ COMMITTED", 1);
}

#[test]
fn no_orphans_at_repeatable_read() {
    run("REPEATABLE READ", 2);
}

#[test]
fn no_orphans_at_serializable() {
    run("SERIALIZABLE", 3);
}

/// Ends the clients however a test ends.
struct Stop<'a>(&'a AtomicBool);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Rows of `c` that stay, so that adding a key takes a while.
const LASTING_CHILDREN: u64 = 20_000;

/// Keys come and go while clients write: whenever one is there, it holds. Now and then a client leaves a child alone, which a key that is
/// being added has to find.
#[test]
fn keys_come_while_others_write() {
    let server = Server::start("foreign-keys-added");
    let mut admin = server.connect();
    ok(&mut admin, "CREATE DATABASE d");
    ok(&mut admin, "USE d");
    ok(&mut admin, "CREATE TABLE p (id INT PRIMARY KEY)");
    ok(&mut admin, "CREATE TABLE c (id INT PRIMARY KEY AUTO_INCREMENT, pid INT, KEY (pid))");
    ok(&mut admin, "INSERT INTO p VALUES (1000)");
    ok(&mut admin, "SET cte_max_recursion_depth = 100000");
    let numbers = format!("WITH RECURSIVE n AS (SELECT 1 AS v UNION ALL SELECT v + 1 FROM n WHERE v < {LASTING_CHILDREN})");
    ok(&mut admin, &format!("INSERT INTO c (pid) {numbers} SELECT 1000 FROM n"));
    let stop = AtomicBool::new(false);
    let (mut added, mut refused) = (0, 0);
    let mut attempt = |admin: &mut Client| {
        ok(admin, "DELETE FROM c WHERE pid >= 2000");
        // Parents that are missing come.
        admin.query("INSERT IGNORE INTO p SELECT DISTINCT pid FROM c");
        let answer = admin.query("ALTER TABLE c ADD CONSTRAINT cf FOREIGN KEY (pid) REFERENCES p (id)");
        if code(&answer) == 1452 {
            refused += 1;
            return;
        }
        assert_eq!(code(&answer), 0, "{answer:?}");
        added += 1;
        let orphans = "SELECT COUNT(*) FROM c LEFT JOIN p ON p.id = c.pid WHERE p.id IS NULL";
        assert_eq!(one(admin, orphans), "0");
        ok(admin, "ALTER TABLE c DROP FOREIGN KEY cf");
    };
    thread::scope(|scope| {
        for seed in 0..4 {
            let (server, stop) = (&server, &stop);
            scope.spawn(move || {
                let mut random = Random(seed);
                let mut client = server.connect();
                ok(&mut client, "USE d");
                while !stop.load(Ordering::Relaxed) {
                    let key = random.below(40);
                    let answer = client.query(&match random.below(300) {
                        0..4 => format!("DELETE FROM p WHERE id = {key}"),
                        4 => format!("INSERT INTO c (pid) VALUES ({})", 2000 + key),
                        5..100 => format!("INSERT IGNORE INTO p VALUES ({key})"),
                        100..250 => format!("INSERT INTO c (pid) SELECT id FROM p WHERE id = {key}"),
                        _ => format!("DELETE FROM c WHERE pid = {key}"),
                    });
                    assert!([0, 1205, 1213, 1451, 1452].contains(&code(&answer)), "{answer:?}");
                }
            });
        }
        let _stop = Stop(&stop);
        (0..60).for_each(|_| attempt(&mut admin));
    });
    attempt(&mut admin);
    println!("{added} keys added, {refused} refused");
    assert!(added > 0);
}

#[test]
fn keys_outlive_the_server() {
    let server = Server::start("foreign-keys-restart");
    let mut client = server.connect();
    for sql in [
        "CREATE DATABASE d",
        "USE d",
        "CREATE TABLE p (id INT PRIMARY KEY)",
        "CREATE TABLE c (id INT PRIMARY KEY, pid INT, CONSTRAINT cf FOREIGN KEY (pid) REFERENCES p (id) ON DELETE CASCADE)",
        "CREATE TABLE gone (id INT PRIMARY KEY, pid INT REFERENCES p (id))",
        "SET foreign_key_checks = 0",
        "CREATE TABLE waits (id INT PRIMARY KEY, pid INT, CONSTRAINT wf FOREIGN KEY (pid) REFERENCES later (id))",
        "INSERT INTO p VALUES (1), (2)",
        "INSERT INTO c VALUES (1, 1), (2, 2)",
        "DROP TABLE gone",
    ] {
        ok(&mut client, sql);
    }
    let before = one(&mut client, "SHOW CREATE TABLE c");
    let server = Server::start_in(server.kill());
    let mut client = server.connect();
    ok(&mut client, "USE d");
    assert_eq!(one(&mut client, "SHOW CREATE TABLE c"), before);
    assert_eq!(code(&client.query("INSERT INTO c VALUES (3, 3)")), 1452);
    assert_eq!(code(&client.query("DROP TABLE p")), 3730);
    ok(&mut client, "DELETE FROM p WHERE id = 1");
    assert_eq!(one(&mut client, "SELECT COUNT(*) FROM c"), "1");
    assert_eq!(code(&client.query("INSERT INTO waits VALUES (1, 1)")), 1452);
    ok(&mut client, "CREATE TABLE later (id INT PRIMARY KEY)");
    ok(&mut client, "INSERT INTO later VALUES (1)");
    ok(&mut client, "INSERT INTO waits VALUES (1, 1)");
    assert_eq!(code(&client.query("DELETE FROM later")), 1451);
    assert_eq!(code(&client.query("CREATE TABLE x (a INT, CONSTRAINT wf FOREIGN KEY (a) REFERENCES p (id))")), 1826);
}

/// A prepared XA transaction keeps its locks of parents over a restart.
#[test]
fn prepared_children_keep_their_parents() {
    let server = Server::start("foreign-keys-xa");
    let mut client = server.connect();
    for sql in [
        "CREATE DATABASE d",
        "USE d",
        "CREATE TABLE p (id INT PRIMARY KEY)",
        "CREATE TABLE c (id INT PRIMARY KEY, pid INT, FOREIGN KEY (pid) REFERENCES p (id))",
        "INSERT INTO p VALUES (1), (2)",
        "XA START 'x'",
        "INSERT INTO c VALUES (1, 1)",
        "XA END 'x'",
        "XA PREPARE 'x'",
    ] {
        ok(&mut client, sql);
    }
    let server = Server::start_in(server.kill());
    let mut client = server.connect();
    ok(&mut client, "USE d");
    ok(&mut client, "SET innodb_lock_wait_timeout = 1");
    ok(&mut client, "DELETE FROM p WHERE id = 2");
    assert_eq!(code(&client.query("DELETE FROM p WHERE id = 1")), 1205);
    ok(&mut client, "XA COMMIT 'x'");
    assert_eq!(code(&client.query("DELETE FROM p WHERE id = 1")), 1451);
}

/// Errors tell nobody of tables that they may not know of.
#[test]
fn errors_name_what_may_be_seen() {
    let server = Server::start("foreign-keys-seen");
    let mut root = server.connect();
    for sql in [
        "CREATE DATABASE d",
        "CREATE TABLE d.p (id INT PRIMARY KEY)",
        "CREATE TABLE d.c (id INT PRIMARY KEY, pid INT, FOREIGN KEY (pid) REFERENCES d.p (id))",
        "INSERT INTO d.p VALUES (1)",
        "INSERT INTO d.c VALUES (1, 1)",
        "CREATE USER of_child IDENTIFIED BY 'x'",
        "GRANT INSERT ON d.c TO of_child",
        "CREATE USER of_parent IDENTIFIED BY 'x'",
        "GRANT SELECT, DELETE ON d.p TO of_parent",
    ] {
        ok(&mut root, sql);
    }
    for (user, sql, expected) in [
        ("of_child", "INSERT INTO d.c VALUES (2, 2)", "Cannot add or update a child row: a foreign key constraint fails"),
        ("of_parent", "DELETE FROM d.p", "Cannot delete or update a parent row: a foreign key constraint fails"),
    ] {
        let mut client = Client::connect(server.port, user, "x").expect("logs in");
        let Answer::Err { text, .. } = client.query(sql) else { panic!("{sql} succeeds") };
        assert_eq!(text, expected);
        ok(&mut root, &format!("GRANT SELECT ON d.* TO {user}"));
        let mut client = Client::connect(server.port, user, "x").expect("logs in");
        let Answer::Err { text, .. } = client.query(sql) else { panic!("{sql} succeeds") };
        assert!(text.contains("`d`.`c`, CONSTRAINT `c_ibfk_1`"), "{text}");
    }
}

/// What IGNORE takes back of an update had given its parents other keys, which are nobody's to refer to afterwards.
#[test]
fn ignored_updates_leave_no_orphans() {
    let server = Server::start("foreign-keys-ignore");
    let mut client = server.connect();
    for sql in [
        "CREATE DATABASE d",
        "USE d",
        "SET sql_log_bin = 0",
        "CREATE TABLE p (id INT PRIMARY KEY)",
        "CREATE TABLE c1 (id INT PRIMARY KEY, pid INT, FOREIGN KEY (pid) REFERENCES p (id) ON UPDATE CASCADE)",
        "CREATE TABLE c2 (id INT PRIMARY KEY, pid INT UNIQUE, FOREIGN KEY (pid) REFERENCES p (id) ON UPDATE CASCADE)",
        "CREATE TABLE g (id INT PRIMARY KEY, pid INT, FOREIGN KEY (pid) REFERENCES c2 (pid))",
        "INSERT INTO p VALUES (1), (2)",
        "INSERT INTO c1 VALUES (1, 1), (2, 2)",
        "INSERT INTO c2 VALUES (1, 1)",
        "INSERT INTO g VALUES (1, 1)",
        "UPDATE IGNORE p, c1 SET p.id = 5, c1.pid = 5 WHERE p.id = 1 AND c1.id = 2",
    ] {
        ok(&mut client, sql);
    }
    let orphans = client.query("SELECT c1.id, c1.pid FROM c1 LEFT JOIN p ON p.id = c1.pid WHERE p.id IS NULL").rows();
    assert_eq!(orphans, [] as [Vec<String>; 0]);
}
