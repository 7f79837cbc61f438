//! Stored programs over a restart, under KILL, as other accounts, inside one another, and as large and deep as they may be.

use std::time::Duration;

use vaquita_types::limits::PROGRAM_STEPS_MAX;

use crate::ask::{last_code, rows, run};
use crate::client::{Answer, Client};
use crate::server::Server;

const ER_OUT_OF_RESOURCES: u16 = 1041;
const ER_TABLEACCESS_DENIED_ERROR: u16 = 1142;
const ER_SP_DOES_NOT_EXIST: u16 = 1305;
const ER_OPTION_PREVENTS_STATEMENT: u16 = 1290;
const ER_QUERY_INTERRUPTED: u16 = 1317;
const ER_PROCACCESS_DENIED_ERROR: u16 = 1370;
const ER_STACK_OVERRUN_NEED_MORE: u16 = 1436;
const ER_CANT_UPDATE_USED_TABLE_IN_SF_OR_TRG: u16 = 1442;
const ER_NO_SUCH_USER: u16 = 1449;
const ER_SP_RECURSION_LIMIT: u16 = 1456;

#[test]
fn procedures_are_there_after_a_restart() {
    let server = Server::start("programs-restart");
    let mut client = server.connect();
    let create = [
        "CREATE DATABASE d",
        "USE d",
        "CREATE TABLE t (a INT)",
        "SET sql_mode = 'ANSI_QUOTES'",
        "CREATE PROCEDURE p(IN x INT, OUT y INT) COMMENT 'kept' BEGIN INSERT INTO \"t\" VALUES (x); SET y = x + 1; END",
        "CREATE PROCEDURE gone() SELECT 1",
        "DROP PROCEDURE gone",
    ];
    run(&mut client, &create);
    let server = Server::start_in(server.kill());
    let mut client = server.connect();
    run(&mut client, &["USE d", "CALL p(5, @y)", "CALL p(6, @z)"]);
    assert_eq!(rows(&mut client, "SELECT @y, @z, COUNT(*), SUM(a) FROM t"), [["6", "7", "2", "11"]]);
    assert_eq!(last_code(&mut client, "CALL gone()"), ER_SP_DOES_NOT_EXIST);
    let shown = "SELECT routine_name, routine_comment, sql_mode FROM information_schema.routines WHERE routine_schema = 'd'";
    assert_eq!(rows(&mut client, shown), [["p", "kept", "ANSI_QUOTES"]]);
    run(&mut client, &["DROP PROCEDURE p"]);
    let server = Server::start_in(server.kill());
    assert_eq!(last_code(&mut server.connect(), "CALL d.p(5, @y)"), ER_SP_DOES_NOT_EXIST);
}

/// Bodies that do not end, whatever their handlers catch.
const ENDLESS: [&str; 9] = [
    "BEGIN DECLARE CONTINUE HANDLER FOR SQLEXCEPTION BEGIN END; LOOP SET @n = 1; END LOOP; END",
    "BEGIN DECLARE x INT DEFAULT 0; WHILE 1 DO SET x = 1 - x; END WHILE; END",
    "REPEAT DO 1; UNTIL FALSE END REPEAT",
    "l: LOOP ITERATE l; END LOOP",
    "BEGIN DECLARE CONTINUE HANDLER FOR SQLEXCEPTION BEGIN END; LOOP SELECT COUNT(*) INTO @n FROM t; END LOOP; END",
    "LOOP INSERT INTO t VALUES (1); DELETE FROM t; END LOOP",
    "LOOP BEGIN DECLARE EXIT HANDLER FOR 1051 BEGIN END; DROP TABLE nowhere; END; END LOOP",
    "LOOP BEGIN DECLARE CONTINUE HANDLER FOR SQLWARNING BEGIN END; SIGNAL SQLSTATE '01000'; END; END LOOP",
    "LOOP BEGIN DECLARE c CURSOR FOR SELECT 1; OPEN c; END; END LOOP",
];

#[test]
fn kill_query_ends_endless_programs() {
    let server = Server::start("programs-kill");
    let mut killer = server.connect();
    run(&mut killer, &["CREATE DATABASE d", "USE d", "CREATE TABLE t (a INT)"]);
    for body in ENDLESS {
        run(&mut killer, &["DROP PROCEDURE IF EXISTS p", &format!("CREATE PROCEDURE p() {body}")]);
        let mut client = server.connect();
        let id = rows(&mut client, "SELECT CONNECTION_ID()")[0][0].clone();
        let running = std::thread::spawn(move || {
            let ended = last_code(&mut client, "CALL d.p()");
            (ended, rows(&mut client, "SELECT 1"))
        });
        let is_running = format!("SELECT COUNT(*) FROM information_schema.processlist WHERE id = {id} AND info LIKE 'CALL%'");
        while rows(&mut killer, &is_running)[0][0] == "0" {
            assert!(!running.is_finished(), "{body}");
            std::thread::sleep(Duration::from_millis(5));
        }
        run(&mut killer, &[&format!("KILL QUERY {id}")]);
        let (ended, after) = running.join().expect("a client");
        assert_eq!((ended, after), (ER_QUERY_INTERRUPTED, vec![vec!["1".to_string()]]), "{body}");
    }
}

#[test]
fn programs_run_as_their_definer_or_their_caller() {
    let server = Server::start("programs-security");
    let mut root = server.connect();
    let who = "SELECT SUBSTRING_INDEX(CURRENT_USER(), '@', 1), SUBSTRING_INDEX(USER(), '@', 1)";
    let fails = "BEGIN DECLARE CONTINUE HANDLER FOR 1062 SET @caught = SUBSTRING_INDEX(CURRENT_USER(), '@', 1); INSERT INTO d.t VALUES (1); SELECT * FROM nowhere; END";
    let create = [
        "CREATE DATABASE d",
        "CREATE DATABASE own",
        "CREATE TABLE d.t (a INT PRIMARY KEY)",
        "INSERT INTO d.t VALUES (1)",
        "CREATE USER u IDENTIFIED BY 'x'",
        "CREATE USER other IDENTIFIED BY 'x'",
        "GRANT EXECUTE ON d.* TO u",
        "GRANT ALL ON own.* TO u",
        &format!("CREATE PROCEDURE d.definer() BEGIN SELECT COUNT(*) FROM d.t; {who}; END"),
        &format!("CREATE PROCEDURE d.invoker() SQL SECURITY INVOKER BEGIN {who}; SELECT COUNT(*) FROM d.t; END"),
        "CREATE PROCEDURE d.both() BEGIN CALL d.invoker(); END",
        &format!("CREATE PROCEDURE d.fails() {fails}"),
        &format!("CREATE DEFINER = other PROCEDURE d.others() BEGIN {who}; SELECT COUNT(*) FROM d.t; END"),
        "CREATE PROCEDURE own.indirect() CALL d.definer()",
    ];
    run(&mut root, &create);
    let mut client = Client::connect(server.port, "u", "x").expect("u connects");
    let text = |answer: Answer| match answer {
        Answer::Err { code, .. } => vec![vec![code.to_string()]],
        Answer::Ok { .. } => Vec::new(),
        answer => answer.rows(),
    };
    let mut answers = |sql: &str| client.query_all(sql).into_iter().map(text).collect::<Vec<_>>().concat();
    let denied = ER_TABLEACCESS_DENIED_ERROR.to_string();
    assert_eq!(answers("CALL d.definer()"), [vec!["1"], vec!["root", "u"]]);
    assert_eq!(answers("CALL d.invoker()"), [vec!["u", "u"], vec![denied.as_str()]]);
    assert_eq!(answers("CALL d.both()"), [vec!["root", "u"], vec!["1"]]);
    // The definer needs EXECUTE, too.
    assert_eq!(answers("CALL d.others()"), [["1370"]]);
    run(&mut root, &["GRANT EXECUTE ON PROCEDURE d.others TO other"]);
    assert_eq!(answers("CALL d.others()"), [vec!["other", "u"], vec![denied.as_str()]]);
    assert_eq!(answers("CALL own.indirect()"), [vec!["1"], vec!["root", "u"]]);
    // An error inside leaves the session as its own account again.
    assert_eq!(answers("CALL d.fails()"), [["1146"]]);
    assert_eq!(answers("SELECT @caught, SUBSTRING_INDEX(CURRENT_USER(), '@', 1)"), [["root", "u"]]);
    assert_eq!(answers("SELECT * FROM d.t"), [[denied.as_str()]]);
    // A plan that the definer's session has made is asked for again as the caller.
    run(&mut root, &["GRANT SELECT ON d.* TO u"]);
    assert_eq!(answers("CALL d.invoker()"), [vec!["u", "u"], vec!["1"]]);
    run(&mut root, &["REVOKE SELECT ON d.* FROM u"]);
    assert_eq!(answers("CALL d.invoker()"), [vec!["u", "u"], vec![denied.as_str()]]);
    assert_eq!(answers("DROP PROCEDURE d.definer"), [[ER_PROCACCESS_DENIED_ERROR.to_string()]]);
    run(&mut root, &["DROP USER other", "REVOKE EXECUTE ON d.* FROM u"]);
    assert_eq!(answers("CALL d.definer()"), [[ER_PROCACCESS_DENIED_ERROR.to_string()]]);
    // It runs as its definer, who may not any more.
    assert_eq!(last_code(&mut root, "CALL d.others()"), ER_NO_SUCH_USER);
}

#[test]
fn programs_inside_one_another() {
    let server = Server::start("programs-depth");
    let mut client = server.connect();
    let recursive = "BEGIN DECLARE s VARCHAR(50) DEFAULT REPEAT('x', 50); DECLARE c CURSOR FOR SELECT n; OPEN c; \
                     IF n > 0 THEN CALL d.r(n - 1); ELSE SET @deep = 1; END IF; CLOSE c; END";
    let setup = ["CREATE DATABASE d", "USE d", &format!("CREATE PROCEDURE r(n INT) {recursive}")];
    run(&mut client, &setup);
    assert_eq!(last_code(&mut client, "CALL r(1)"), ER_SP_RECURSION_LIMIT);
    run(&mut client, &["SET max_sp_recursion_depth = 255", "CALL r(255)"]);
    assert_eq!(rows(&mut client, "SELECT @deep"), [["1"]]);
    assert_eq!(last_code(&mut client, "CALL r(256)"), ER_SP_RECURSION_LIMIT);
    // Each of five may be inside itself 255 times, all together not.
    for n in 0..5 {
        let next = (n + 1) % 5;
        let body = format!("BEGIN SET @n = @n + 1; IF @n < @max THEN CALL c{next}(); END IF; END");
        run(&mut client, &[&format!("CREATE PROCEDURE c{n}() {body}")]);
    }
    run(&mut client, &["SET @n = 0, @max = 1000", "CALL c0()"]);
    run(&mut client, &["SET @n = 0, @max = 5000"]);
    assert_eq!(last_code(&mut client, "CALL c0()"), ER_STACK_OVERRUN_NEED_MORE);
    assert_eq!(rows(&mut client, "SELECT @n"), [["1000"]]);
}

/// A function is ended with its statement, runs as its definer, is there after a restart, and one that calls others reaches a thousand of them.
#[test]
fn functions_run_inside_statements() {
    let server = Server::start("programs-functions");
    let mut root = server.connect();
    let create = [
        "CREATE DATABASE d",
        "USE d",
        "CREATE TABLE t (a INT PRIMARY KEY)",
        "INSERT INTO t VALUES (1), (2)",
        "CREATE USER u IDENTIFIED BY 'x'",
        "GRANT EXECUTE ON d.* TO u",
        "CREATE FUNCTION counted() RETURNS INT READS SQL DATA BEGIN DECLARE n INT; SELECT COUNT(*) INTO n FROM t; RETURN n; END",
        "CREATE FUNCTION mine() RETURNS INT READS SQL DATA SQL SECURITY INVOKER RETURN (SELECT COUNT(*) FROM t)",
        "CREATE FUNCTION who() RETURNS VARCHAR(99) NO SQL RETURN SUBSTRING_INDEX(CURRENT_USER(), '@', 1)",
        "CREATE FUNCTION endless(x INT) RETURNS INT NO SQL BEGIN DECLARE CONTINUE HANDLER FOR SQLEXCEPTION BEGIN END; WHILE 1 DO SET x = 1 - x; END WHILE; RETURN 1; END",
        "CREATE FUNCTION f0() RETURNS INT NO SQL RETURN 1",
    ];
    run(&mut root, &create);
    for n in 1..=1000 {
        let last = n - 1;
        run(&mut root, &[&format!("CREATE FUNCTION f{n}() RETURNS INT NO SQL RETURN f{last}() + 1")]);
    }
    assert_eq!(rows(&mut root, "SELECT f999()"), [["1000"]]);
    assert_eq!(last_code(&mut root, "SELECT f1000()"), ER_STACK_OVERRUN_NEED_MORE);
    let mut client = Client::connect(server.port, "u", "x").expect("u connects");
    assert_eq!(rows(&mut client, "SELECT d.counted(), d.who()"), [["2", "root"]]);
    assert_eq!(last_code(&mut client, "SELECT d.mine()"), ER_TABLEACCESS_DENIED_ERROR);
    assert_eq!(rows(&mut client, "SELECT SUBSTRING_INDEX(CURRENT_USER(), '@', 1)"), [["u"]]);
    run(&mut root, &["REVOKE EXECUTE ON d.* FROM u"]);
    assert_eq!(last_code(&mut client, "SELECT d.counted()"), ER_PROCACCESS_DENIED_ERROR);
    for sql in ["SELECT d.endless(1)", "SET @x = d.endless(0)", "UPDATE d.t SET a = d.endless(a)"] {
        let mut client = server.connect();
        let id = rows(&mut client, "SELECT CONNECTION_ID()")[0][0].clone();
        let running = std::thread::spawn(move || (last_code(&mut client, sql), rows(&mut client, "SELECT 1")));
        let is_running = format!("SELECT COUNT(*) FROM information_schema.processlist WHERE id = {id} AND info LIKE '%endless%'");
        while rows(&mut root, &is_running)[0][0] == "0" {
            assert!(!running.is_finished(), "{sql}");
            std::thread::sleep(Duration::from_millis(5));
        }
        run(&mut root, &[&format!("KILL QUERY {id}")]);
        assert_eq!(running.join().expect("a client"), (ER_QUERY_INTERRUPTED, vec![vec!["1".to_string()]]), "{sql}");
    }
    let server = Server::start_in(server.kill());
    assert_eq!(rows(&mut server.connect(), "SELECT d.counted(), d.f5()"), [["2", "6"]]);
}

/// What a function reads is what its statement reads, whatever others commit meanwhile.
#[test]
fn functions_read_the_snapshot_of_their_statement() {
    let server = Server::start("programs-snapshot");
    let mut writer = server.connect();
    let create = [
        "CREATE DATABASE d",
        "USE d",
        "CREATE TABLE t (a INT PRIMARY KEY, b INT)",
        "INSERT INTO t VALUES (1, 0), (2, 0)",
        "CREATE FUNCTION b_of(x INT) RETURNS INT READS SQL DATA BEGIN DECLARE n INT; SELECT b INTO n FROM t WHERE a = x; RETURN n; END",
    ];
    run(&mut writer, &create);
    for level in ["READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE"] {
        let mut reader = server.connect();
        run(&mut reader, &["USE d", &format!("SET SESSION TRANSACTION ISOLATION LEVEL {level}")]);
        let stop = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
        let writing = {
            let (stop, mut writer) = (stop.clone(), server.connect());
            std::thread::spawn(move || {
                while !stop.load(std::sync::atomic::Ordering::Relaxed) {
                    writer.query("UPDATE d.t SET b = b + 1");
                }
            })
        };
        for _ in 0..200 {
            for row in rows(&mut reader, "SELECT b, b_of(a), b_of(3 - a) FROM t") {
                assert!(row.iter().all(|b| *b == row[0]), "{level}: {row:?}");
            }
        }
        stop.store(true, std::sync::atomic::Ordering::Relaxed);
        writing.join().expect("a writer");
    }
}

/// Functions that change rows which others change, too: each call counts once, whatever had to run again, and stays after a crash.
#[test]
fn functions_change_data_once() {
    const CLIENTS: usize = 4;
    const CALLS: usize = 25;
    let server = Server::start("programs-changes");
    let mut root = server.connect();
    let create = [
        "CREATE DATABASE d",
        "USE d",
        "CREATE TABLE c (a INT PRIMARY KEY, n INT)",
        "INSERT INTO c VALUES (1, 0)",
        "CREATE TABLE log (id INT PRIMARY KEY AUTO_INCREMENT, n INT)",
        "CREATE FUNCTION take() RETURNS INT DETERMINISTIC MODIFIES SQL DATA BEGIN DECLARE x INT; UPDATE c SET n = n + 1; \
         SELECT n INTO x FROM c; SET @taken = x; INSERT INTO log (n) VALUES (x); RETURN x; END",
        "CREATE PROCEDURE p() BEGIN DECLARE x INT; SET x = take(); IF take() = x THEN SIGNAL SQLSTATE '45000'; END IF; END",
        "CREATE TABLE free (id INT PRIMARY KEY AUTO_INCREMENT)",
        "CREATE FUNCTION notes(x INT) RETURNS INT DETERMINISTIC MODIFIES SQL DATA BEGIN INSERT INTO free VALUES (); RETURN x; END",
        "CREATE TABLE one (a INT)",
        "INSERT INTO one VALUES (1)",
    ];
    run(&mut root, &create);
    let clients: Vec<_> = (0..CLIENTS)
        .map(|client| {
            let mut connection = server.connect();
            std::thread::spawn(move || {
                let level = ["READ COMMITTED", "REPEATABLE READ"][client % 2];
                run(&mut connection, &["USE d", &format!("SET SESSION TRANSACTION ISOLATION LEVEL {level}")]);
                for n in 0..CALLS {
                    // Nobody waits for a lock: the commits of several clients are one group.
                    assert_eq!(rows(&mut connection, &format!("SELECT notes({n}), 'x'")), [[n.to_string(), "x".to_string()]]);
                    let taken = rows(&mut connection, "SELECT take() FROM one");
                    assert_eq!(rows(&mut connection, "SELECT @taken"), taken);
                    run(&mut connection, &["SET @x = take()", "DO take()", "CALL p()"]);
                }
            })
        })
        .collect();
    clients.into_iter().for_each(|client| client.join().expect("a client"));
    let calls = (CLIENTS * CALLS * 5).to_string();
    let counted = "SELECT n, (SELECT COUNT(*) FROM d.log), (SELECT COUNT(DISTINCT n) FROM d.log) FROM d.c";
    let expected = [[calls.as_str(), &calls, &calls]];
    assert_eq!(rows(&mut root, counted), expected);
    assert_eq!(rows(&mut root, "SELECT COUNT(*) FROM d.free"), [[(CLIENTS * CALLS).to_string()]]);
    let server = Server::start_in(server.kill());
    assert_eq!(rows(&mut server.connect(), counted), expected);
}

/// A handler in a function finds the change that failed undone, and what came before it done.
#[test]
fn a_change_that_fails_in_a_function_is_undone() {
    let server = Server::start("programs-undone");
    let mut client = server.connect();
    let create = [
        "CREATE DATABASE d",
        "USE d",
        "CREATE TABLE t (a INT PRIMARY KEY, b INT)",
        "INSERT INTO t VALUES (1, 0), (2, 0), (3, 0)",
        "CREATE TABLE parent (a INT PRIMARY KEY)",
        "CREATE TABLE child (a INT PRIMARY KEY, FOREIGN KEY (a) REFERENCES parent (a) ON DELETE CASCADE)",
        "INSERT INTO parent VALUES (1), (2)",
        "INSERT INTO child VALUES (1)",
        "CREATE FUNCTION f() RETURNS INT DETERMINISTIC MODIFIES SQL DATA BEGIN \
         DECLARE CONTINUE HANDLER FOR 1062 SET @caught = @caught + 1; \
         INSERT INTO t VALUES (10, 1); INSERT INTO t VALUES (11, 1), (12, 1), (1, 1); UPDATE t SET a = a + 1 WHERE a < 3; RETURN 1; END",
        "CREATE FUNCTION removes(x INT) RETURNS INT DETERMINISTIC MODIFIES SQL DATA BEGIN DELETE FROM parent WHERE a = x; RETURN x; END",
        "SET @caught = 0",
    ];
    run(&mut client, &create);
    run(&mut client, &["SELECT f()"]);
    let all = "SELECT GROUP_CONCAT(a ORDER BY a), @caught FROM t";
    assert_eq!(rows(&mut client, all), [["1,2,3,10", "2"]]);
    // A row that a statement changes cannot go with its parent meanwhile, nor a parent that it has found.
    assert_eq!(last_code(&mut client, "UPDATE child SET a = removes(1) + 1"), ER_CANT_UPDATE_USED_TABLE_IN_SF_OR_TRG);
    assert_eq!(last_code(&mut client, "INSERT INTO child SELECT removes(2)"), ER_CANT_UPDATE_USED_TABLE_IN_SF_OR_TRG);
    run(&mut client, &["SELECT removes(1)"]);
    assert_eq!(rows(&mut client, "SELECT COUNT(*) FROM child"), [["0"]]);
}

/// A function changes what its definer may change, one with SQL SECURITY INVOKER what its caller may.
#[test]
fn functions_change_data_as_somebody() {
    let server = Server::start("programs-changes-as");
    let mut root = server.connect();
    let create = [
        "CREATE DATABASE d",
        "USE d",
        "CREATE TABLE t (a INT)",
        "CREATE USER caller IDENTIFIED BY 'x'",
        "GRANT EXECUTE ON d.* TO caller",
        "CREATE FUNCTION as_definer() RETURNS INT DETERMINISTIC MODIFIES SQL DATA BEGIN INSERT INTO t VALUES (1); RETURN ROW_COUNT(); END",
        "CREATE FUNCTION as_caller() RETURNS INT DETERMINISTIC MODIFIES SQL DATA SQL SECURITY INVOKER BEGIN INSERT INTO t VALUES (2); RETURN 1; END",
        "CREATE PROCEDURE fills() SQL SECURITY INVOKER INSERT INTO t VALUES (3)",
        "CREATE FUNCTION calls() RETURNS INT DETERMINISTIC MODIFIES SQL DATA BEGIN CALL fills(); RETURN 1; END",
    ];
    run(&mut root, &create);
    let mut caller = Client::connect(server.port, "caller", "x").expect("caller connects");
    assert_eq!(rows(&mut caller, "SELECT d.as_definer(), d.calls()"), [["1", "1"]]);
    assert_eq!(last_code(&mut caller, "SELECT d.as_caller()"), ER_TABLEACCESS_DENIED_ERROR);
    run(&mut root, &["SET GLOBAL read_only = ON"]);
    assert_eq!(last_code(&mut caller, "SELECT d.as_definer()"), ER_OPTION_PREVENTS_STATEMENT);
    run(&mut root, &["SET GLOBAL read_only = OFF", "GRANT INSERT ON d.t TO caller"]);
    run(&mut caller, &["SELECT d.as_caller()"]);
    assert_eq!(rows(&mut root, "SELECT a FROM d.t ORDER BY a"), [["1"], ["2"], ["3"]]);
}

/// What opens a level of statements, and what closes it.
const LEVELS: [(&str, &str); 7] = [
    ("BEGIN ", "; END"),
    ("IF 1 THEN ", "; END IF"),
    ("IF 0 THEN DO 1; ELSE ", "; END IF"),
    ("CASE 1 WHEN 1 THEN ", "; END CASE"),
    ("l: BEGIN DECLARE EXIT HANDLER FOR 1062 DO 1; ", "; END"),
    ("REPEAT ", "; UNTIL 1 END REPEAT"),
    ("BEGIN DECLARE CONTINUE HANDLER FOR 1051 ", "; DROP TABLE nowhere; END"),
];

#[test]
fn statements_inside_one_another() {
    let server = Server::start("programs-levels");
    let mut client = server.connect();
    run(&mut client, &["CREATE DATABASE d", "USE d"]);
    for (open, close) in LEVELS {
        for (levels, expected) in [(20, 0), (1000, 0), (50_000, ER_STACK_OVERRUN_NEED_MORE)] {
            let open: String = (0..levels).map(|n| open.replace('l', &format!("l{n}"))).collect();
            let create = format!("CREATE PROCEDURE p() {open}SET @deep = {levels}{}", close.repeat(levels));
            assert_eq!(last_code(&mut client, &create), expected, "{levels} {close}");
            if expected == 0 {
                run(&mut client, &["CALL p()", "SHOW CREATE PROCEDURE p", "DROP PROCEDURE p"]);
                assert_eq!(rows(&mut client, "SELECT @deep"), [[levels.to_string()]], "{close}");
            }
        }
    }
}

#[test]
fn programs_are_as_long_as_they_may_be() {
    let server = Server::start("programs-length");
    let mut client = server.connect();
    run(&mut client, &["CREATE DATABASE d", "USE d"]);
    let steps = |n: usize| format!("CREATE PROCEDURE p() l: BEGIN {}END", "LEAVE l; ".repeat(n));
    run(&mut client, &[&steps(PROGRAM_STEPS_MAX), "CALL p()", "DROP PROCEDURE p"]);
    assert_eq!(last_code(&mut client, &steps(PROGRAM_STEPS_MAX + 1)), ER_OUT_OF_RESOURCES);
    // Of many names none is compared with all others.
    let names: String = (0..200_000).map(|n| format!("DECLARE v{n} INT;")).collect();
    let sets: String = (0..200_000).map(|n| format!("SET v{n} = {n};")).collect();
    run(&mut client, &[&format!("CREATE PROCEDURE p() BEGIN {names}{sets} SET @sum = v1 + v199999; END"), "CALL p()"]);
    assert_eq!(rows(&mut client, "SELECT @sum"), [["200000"]]);
}
