//! Statements that want more memory than there is: each ends with an error or a NULL, and the server lives and stays small.

use crate::client::{Answer, Client};
use crate::layers::{self, Layers};
use crate::server::Server;

/// Rows of several times the memory of a statement, which go to disk, and what comes out (MySQL 9.7 answers the same).
const ON_DISK: [(&str, &[&str]); 25] = [
    ("SELECT CONCAT(a.n, '-', b.n) g, COUNT(*) FROM r a, r b GROUP BY g ORDER BY g LIMIT 1", &["1-1", "1"]),
    (
        "SELECT COUNT(*), SUM(c), SUM(s), MAX(m), SUM(k = 2) FROM (SELECT a.n * 1000 + b.n g, COUNT(*) c, SUM(b.n) s, MAX(a.n) m, \
         COUNT(DISTINCT two.n) k FROM r a, r b, (SELECT 1 n UNION ALL SELECT 2) two WHERE a.n <= 300 GROUP BY g) d",
        &["300000", "600000", "300300000", "300", "300000"],
    ),
    (
        "SELECT COUNT(*), SUM(LENGTH(l)), MIN(l), MAX(l) FROM (SELECT a.n g, b.n h, GROUP_CONCAT(two.n ORDER BY two.n DESC) l \
         FROM (SELECT 1 n UNION ALL SELECT 2) two, r a, r b WHERE a.n <= 200 GROUP BY g, h) d",
        &["200000", "600000", "2,1", "2,1"],
    ),
    // Groups that grow after there was no room for more of them.
    (
        "SELECT COUNT(*), SUM(LENGTH(l)) FROM (SELECT (a.n * 1000 + b.n) % 20000 g, GROUP_CONCAT(REPEAT('x', 9)) l \
         FROM r a, r b GROUP BY g) d",
        &["20000", "9980000"],
    ),
    (
        "SELECT COUNT(*), SUM(JSON_LENGTH(l)) FROM (SELECT (a.n * 1000 + b.n) % 20000 g, JSON_ARRAYAGG(b.n) l FROM r a, r b GROUP BY g) d",
        &["20000", "1000000"],
    ),
    (
        "SELECT COUNT(*), SUM(k) FROM (SELECT b.n % 100 g, COUNT(DISTINCT a.n, b.n) k FROM r a, r b GROUP BY g) d",
        &["100", "1000000"],
    ),
    (
        "SELECT COUNT(*), SUM(c), SUM(g) FROM (SELECT a.n, b.n m, COUNT(*) c, GROUPING(b.n) g FROM r a, r b GROUP BY a.n, b.n WITH ROLLUP) d",
        &["1001001", "3000000", "1001"],
    ),
    (
        "SELECT COUNT(*), SUM(x), SUM(y), SUM(LENGTH(z)) FROM (SELECT DISTINCT a.n x, b.n y, REPEAT('x', 100) z FROM r a, r b) d",
        &["1000000", "500500000", "500500000", "100000000"],
    ),
    ("SELECT b.n FROM r a, r b ORDER BY REPEAT('x', 50), b.n LIMIT 900000, 1", &["901"]),
    ("SELECT COUNT(*) FROM (SELECT b.n FROM r a, r b ORDER BY a.n LIMIT 100 OFFSET 18446744073709551615) d", &["0"]),
    ("SELECT a.n, b.n FROM r a, r b WHERE a.n <= 200 ORDER BY b.n DESC, a.n LIMIT 199999, 5", &["200", "1"]),
    ("SELECT t.id, LENGTH(t.pad) FROM t, r WHERE r.n <= 100 ORDER BY r.n, t.id LIMIT 60000, 1", &["1", "900"]),
    ("SELECT b.n FROM r a, r b WHERE b.n <= 110 ORDER BY b.n, JSON_ARRAY(REPEAT('x', 200)), a.n LIMIT 100000, 1", &["101"]),
    (
        "SELECT COUNT(*), SUM(w) FROM (SELECT DISTINCT a.n, b.n x, (SELECT COUNT(*) FROM t WHERE id <= a.n) w FROM r a, r b \
         WHERE a.n <= 100 ORDER BY a.n, b.n LIMIT 1000000) d",
        &["100000", "5050000"],
    ),
    (
        "SELECT COUNT(DISTINCT a.n, b.n), COUNT(DISTINCT a.n * 1000 + b.n), SUM(DISTINCT b.n) FROM r a, r b",
        &["1000000", "1000000", "500500"],
    ),
    (
        "SELECT COUNT(*), SUM(x) FROM (SELECT a.n * 1000 + b.n x FROM r a, r b LIMIT 2000000) d \
         JOIN (SELECT a.n * 1000 + b.n y FROM r a, r b LIMIT 2000000) e ON d.x = e.y",
        &["1000000", "501000500000"],
    ),
    // Of one key alone there are more rows than memory has room for.
    (
        "SELECT COUNT(*), SUM(x) FROM (SELECT 1 k UNION ALL SELECT 1 UNION ALL SELECT 2) e LEFT JOIN \
         (SELECT 1 k, b.n x, REPEAT('x', 100) p FROM r a, r b WHERE a.n <= 200 LIMIT 1000000) d ON d.k = e.k AND LENGTH(d.p) = 100",
        &["400001", "200200000"],
    ),
    ("SELECT COUNT(*) FROM r a, r b WHERE a.n IN (SELECT c.n * d.n % 1000 FROM r c, r d)", &["999000"]),
    ("SELECT MAX(w) FROM (SELECT ROW_NUMBER() OVER (ORDER BY a.n, b.n) w FROM r a, r b) d", &["1000000"]),
    (
        "SELECT COUNT(*), SUM(s), SUM(k), SUM(l) FROM (SELECT SUM(b.n) OVER (PARTITION BY a.n) s, RANK() OVER (ORDER BY b.n) k, \
         LAG(b.n) OVER (ORDER BY a.n, b.n) l FROM r a, r b) d",
        &["1000000", "500500000000", "499501000000", "500499000"],
    ),
    ("SELECT COUNT(*) FROM (SELECT a.n, b.n m FROM r a, r b UNION SELECT b.n, a.n + 1000 FROM r a, r b) u", &["2000000"]),
    (
        "SELECT COUNT(*), SUM(n = 2) FROM (SELECT a.n, b.n m FROM r a, r b EXCEPT SELECT 1, 1 INTERSECT SELECT b.n, a.n FROM r a, r b) u",
        &["999999", "1000"],
    ),
    (
        "SELECT * FROM (WITH RECURSIVE s AS (SELECT 1 n UNION ALL SELECT n + 1 FROM s WHERE n < 1500000) SELECT COUNT(*), SUM(n) FROM s) d",
        &["1500000", "1125000750000"],
    ),
    // What was kept for one row outside is given back before the next.
    (
        "SELECT COUNT(*), SUM(x) FROM r a JOIN LATERAL (WITH RECURSIVE s AS (SELECT a.n n UNION SELECT n + 1 FROM s WHERE n < a.n + 600) \
         SELECT SUM(n) x FROM s) d ON TRUE",
        &["1000", "481100500"],
    ),
    (
        "SELECT COUNT(*), SUM(y) FROM r a JOIN LATERAL (SELECT b.n, ROW_NUMBER() OVER (ORDER BY b.n + a.n) y FROM r b) d ON TRUE",
        &["1000000", "500500000"],
    ),
];

/// NULL, with a warning.
const NO_ERROR: u16 = 0;
const ER_OUT_OF_RESOURCES: u16 = 1041;
/// What one statement may keep.
const STATEMENT_BYTES_MAX: &str = "statement-bytes-max=8388608";
/// Memory that the server may have had at most: caches, memtables and a value of some packets.
const PEAK_MIB_MAX: u64 = 2000;

/// A million rows of numbers without a table.
const ROWS: &str = "WITH RECURSIVE r AS (SELECT 1 n UNION ALL SELECT n + 1 FROM r WHERE n < 1000)";

fn ok(client: &mut Client, sql: &str) {
    let answer = client.query(sql);
    assert!(matches!(answer, Answer::Ok { .. }), "{sql}: {answer:?}");
}

/// The most that the server's process had in memory.
fn peak_mib(server: &Server) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", server.pid())).expect("the server runs");
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).expect("a peak");
    line.split_whitespace().nth(1).and_then(|kib| kib.parse::<u64>().ok()).expect("a number") / 1024
}

#[test]
fn no_statement_takes_all_memory() {
    let server = Server::start_with("memory", &["--storage-test-option", STATEMENT_BYTES_MAX]);
    let mut client = server.connect();
    ok(&mut client, "CREATE DATABASE memory");
    ok(&mut client, "USE memory");
    ok(&mut client, "CREATE TABLE t (id INT PRIMARY KEY, pad MEDIUMTEXT)");
    ok(&mut client, &format!("INSERT INTO t {ROWS} SELECT n, REPEAT('x', 900) FROM r"));
    ok(&mut client, "SET cte_max_recursion_depth = 4294967295, group_concat_max_len = 18446744073709551615");
    for (sql, expected) in ON_DISK {
        assert_eq!(client.query(&format!("{ROWS} {sql}")).rows(), [expected], "{sql}");
    }
    // Of rows in order no more are kept than the longest text can have.
    let cut = "SELECT LENGTH(l), LEFT(l, 11) FROM (SELECT GROUP_CONCAT(a.n, '-', b.n ORDER BY b.n, a.n) l FROM r a, r b) d";
    ok(&mut client, "SET group_concat_max_len = 1024");
    assert_eq!(client.query(&format!("{ROWS} {cut}")).rows(), [["1024", "1-1,2-1,3-1"]]);
    ok(&mut client, "SET group_concat_max_len = 18446744073709551615");
    let distinct = client.query(&format!("{ROWS} SELECT DISTINCT a.n, b.n FROM r b, r a WHERE a.n <= 200 ORDER BY a.n, b.n"));
    let pairs = (1..=200).flat_map(|a| (1..=1000).map(move |b| [a.to_string(), b.to_string()]));
    assert!(distinct.rows().iter().eq(pairs.collect::<Vec<_>>().iter()), "DISTINCT on disk");
    let kept = [
        "SELECT LENGTH(GROUP_CONCAT(REPEAT('x', 1000))) FROM r a, r b",
        "SELECT LENGTH(GROUP_CONCAT(DISTINCT a.n, b.n ORDER BY b.n)) FROM r a, r b",
        "SELECT LENGTH(JSON_ARRAYAGG(REPEAT('x', 1000))) FROM r a, r b",
        "SELECT COUNT(*) FROM r a, r b WHERE a.n IN (SELECT c.n * d.n FROM r c, r d)",
        "SELECT LENGTH(JSON_OBJECTAGG(CONCAT(a.n, '-', b.n), REPEAT('x', 100))) FROM r a, r b",
    ];
    let mut statements: Vec<(String, u16)> = kept.iter().map(|sql| (format!("{ROWS} {sql}"), ER_OUT_OF_RESOURCES)).collect();
    let more: [(&str, u16); 8] = [
        (
            "WITH RECURSIVE r AS (SELECT 1 n UNION SELECT n + 1 FROM r WHERE n < 100000000) SELECT COUNT(*) FROM r",
            ER_OUT_OF_RESOURCES,
        ),
        (
            "WITH RECURSIVE r AS (SELECT 1 n, JSON_ARRAY(1) j UNION ALL SELECT n + 1, JSON_ARRAY(j, j) FROM r WHERE n < 60) \
             SELECT LENGTH(j) FROM r",
            ER_OUT_OF_RESOURCES,
        ),
        ("SELECT LENGTH(REPLACE(REPEAT('a', 1000000), 'a', REPEAT('b', 1000000)))", NO_ERROR),
        ("SELECT LENGTH(EXPORT_SET(0, REPEAT('a', 60000000), REPEAT('a', 60000000)))", NO_ERROR),
        ("SELECT LENGTH(LPAD('a', 4000000000, 'b')), LENGTH(SPACE(4000000000)), LENGTH(REPEAT('a', 4000000000))", NO_ERROR),
        (
            "SELECT LENGTH(JSON_PRETTY(CAST(CONCAT(REPEAT('[', 90), REPEAT('1,', 1000000), '1', REPEAT(']', 90)) AS JSON)))",
            NO_ERROR,
        ),
        ("SELECT LENGTH(MAKE_SET(31, @x, @x, @x, @x, @x)) FROM (SELECT @x := REPEAT('a', 60000000)) d", ER_OUT_OF_RESOURCES),
        ("SELECT @a := REPEAT('a', 50000000), @b := @a, @c := @a, @d := @a, @e := @a, @f := @a", ER_OUT_OF_RESOURCES),
    ];
    statements.extend(more.map(|(sql, code)| (sql.to_string(), code)));
    for (sql, expected) in &statements {
        let answer = client.query(sql);
        let code = match &answer {
            Answer::Err { code, .. } => *code,
            Answer::Rows { rows, .. } => {
                assert!(rows.iter().flatten().all(Option::is_none), "NULL is wanted from {sql}");
                NO_ERROR
            }
            Answer::Ok { .. } => panic!("done: {sql}"),
        };
        assert_eq!(code, *expected, "{sql}: {answer:?}");
        assert_eq!(client.query("SELECT COUNT(*), SUM(LENGTH(pad)) FROM t").rows(), [["1000", "900000"]]);
        let peak = peak_mib(&server);
        assert!(peak < PEAK_MIB_MAX, "{peak} MiB after {sql}");
    }
}

/// Sixty sessions want 60 MB each, for a variable, a value that is being sent, or a packet that never comes whole: 3.6 GB. Some get it,
/// some get error 1041, short statements go on, and what is given back can be had again.
#[test]
fn sessions_together_stay_within_the_servers_memory() {
    let server = Server::start("memory-of-all");
    let mut client = server.connect();
    ok(&mut client, "SET GLOBAL global_connection_memory_limit = 1000000000");
    let mut variables: Vec<Client> = (0..20).map(|_| server.connect()).collect();
    let codes = |answers: Vec<Answer>| -> Vec<u16> {
        let code = |answer| if let Answer::Err { code, .. } = answer { code } else { NO_ERROR };
        answers.into_iter().map(code).collect()
    };
    let kept = codes(variables.iter_mut().map(|c| c.query("SET @x = REPEAT('a', 60000000)")).collect());
    assert!(kept.contains(&NO_ERROR) && kept.contains(&ER_OUT_OF_RESOURCES), "{kept:?}");
    let threads: Vec<_> = (0..20)
        .map(|_| {
            let mut client = server.connect();
            std::thread::spawn(move || client.query("SELECT CONCAT(REPEAT('a', 50000000), REPEAT('b', 10000000))"))
        })
        .collect();
    let sent = codes(threads.into_iter().map(|thread| thread.join().expect("client")).collect());
    assert!(sent.contains(&ER_OUT_OF_RESOURCES), "{sent:?}");
    drop(variables);
    let mut half_packets: Vec<Client> = (0..20).map(|_| server.connect()).collect();
    let half = vec![b'x'; 1 << 20];
    for client in &mut half_packets {
        // Three frames of 16 MiB and the beginning of a fourth. Who is refused is told so, and its connection is closed.
        for n in 0..60_u8 {
            let piece = if n % 16 == 0 { [&[0xff, 0xff, 0xff, n / 16][..], &half[1..]].concat() } else { half.clone() };
            if client.send_raw(&piece).is_err() {
                break;
            }
        }
        ok(&mut server.connect(), "DO 1");
    }
    // The same from a few kilobytes.
    ok(&mut client, "CREATE USER trusting");
    let frames: Vec<u8> = (0..4_u8)
        .flat_map(|n| [&[0xff, 0xff, 0xff, n][..], &vec![0; if n < 3 { 0xff_ffff } else { 1 << 20 }]].concat())
        .collect();
    let packed: Vec<_> = (0..20)
        .map(|n| {
            let mut client = layers::Client::connect(server.port, "trusting", Layers::ALL[1 + n % 2]);
            client.send_payload_bytes(&frames);
            client
        })
        .collect();
    ok(&mut server.connect(), "DO 1");
    let peak = peak_mib(&server);
    assert!(peak < PEAK_MIB_MAX, "{peak} MiB");
    drop((half_packets, packed));
    let start = std::time::Instant::now();
    while matches!(client.query("SET @x = REPEAT('a', 60000000)"), Answer::Err { .. }) {
        assert!(start.elapsed() < std::time::Duration::from_secs(60), "what was given back cannot be had");
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
}

/// Prepared statements, savepoints and optimizer traces are small and stay: they ask too, and who closes them gives their memory back.
#[test]
fn what_is_small_and_stays_has_an_end() {
    let server = Server::start("memory-of-small");
    let mut client = server.connect();
    ok(&mut client, "SET GLOBAL global_connection_memory_limit = 200000000");
    let refused = |answer: &Answer| matches!(answer, Answer::Err { code: ER_OUT_OF_RESOURCES, .. });
    let comment = "x".repeat(200_000);
    let prepare = |n: usize| format!("PREPARE s{n} FROM 'SELECT {n} /* {comment} */'");
    let first_refused = (0..200).find(|n| refused(&client.query(&prepare(*n)))).expect("an end of prepared statements");
    assert!(first_refused > 20, "{first_refused}");
    ok(&mut client, "BEGIN");
    let savepoint = |n: usize| format!("SAVEPOINT {n:a>60}");
    let last = (0..100_000).find(|n| refused(&client.query(&savepoint(*n)))).expect("an end of savepoints");
    assert_eq!(client.query("SELECT 1").rows(), [["1"]]);
    ok(&mut client, "COMMIT");
    for n in 0..first_refused {
        ok(&mut client, &format!("DEALLOCATE PREPARE s{n}"));
    }
    ok(&mut client, &prepare(0));
    ok(&mut client, "BEGIN");
    (0..=last).for_each(|n| ok(&mut client, &savepoint(n)));
    ok(&mut client, "COMMIT");
    ok(&mut client, "SET optimizer_trace_offset = 0, optimizer_trace_limit = 100000, optimizer_trace_max_mem_size = 4000000000");
    ok(&mut client, "SET optimizer_trace = 'enabled=on'");
    let short = "x".repeat(20_000);
    (0..15_000).for_each(|_| assert_eq!(client.query(&format!("SELECT 1 /* {short} */")).rows(), [["1"]]));
    assert!((1..first_refused / 2).any(|n| refused(&client.query(&prepare(n)))), "traces are memory of the server");
    assert!(refused(&client.query("SELECT COUNT(*) FROM information_schema.optimizer_trace")), "a copy is memory, too");
    ok(&mut client, "SET optimizer_trace = DEFAULT, optimizer_trace_offset = DEFAULT");
    ok(&mut client, &prepare(first_refused));
}
