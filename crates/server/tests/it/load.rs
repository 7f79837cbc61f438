//! Files of the server and of the client: what may be read and written, and what happens when a client misbehaves.

use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use crate::client::{Answer, Client};
use crate::server::Server;

fn code(answer: &Answer) -> u16 {
    match answer {
        Answer::Err { code, .. } => *code,
        other => panic!("an error expected: {other:?}"),
    }
}

/// A directory for `secure_file_priv`, gone with the test.
struct Files(PathBuf);

impl Files {
    fn new(name: &str) -> Files {
        let dir = std::env::temp_dir().join(format!("vaquita-it-{}-files-{name}", std::process::id()));
        let _ = std::fs::remove_dir_all(&dir);
        std::fs::create_dir_all(&dir).expect("a directory");
        Files(dir.canonicalize().expect("its real name"))
    }

    fn path(&self, name: &str) -> String {
        self.0.join(name).display().to_string()
    }
}

impl Drop for Files {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[test]
fn files_of_the_server_need_a_directory() {
    let server = Server::start("no-secure-dir");
    let mut client = server.connect();
    client.query("CREATE DATABASE d");
    client.query("CREATE TABLE d.t (a INT)");
    assert_eq!(code(&client.query("LOAD DATA INFILE '/etc/passwd' INTO TABLE d.t")), 1290);
    assert_eq!(code(&client.query("SELECT 1 INTO OUTFILE '/tmp/x'")), 1290);
    assert_eq!(code(&client.query("LOAD DATA LOCAL INFILE 'x' INTO TABLE d.t")), 3948);
    assert_eq!(client.query("SELECT @@secure_file_priv, @@local_infile").rows(), [["NULL", "0"]]);
}

/// LOAD_FILE() reads what `secure_file_priv`, the FILE privilege and the file's mode allow.
#[test]
fn a_function_reads_files() {
    let files = Files::new("load-file");
    let write = |name: &str, mode: u32| {
        std::fs::write(files.path(name), b"a\0\xff").expect("a file");
        std::fs::set_permissions(files.path(name), std::fs::Permissions::from_mode(mode)).expect("its mode");
    };
    write("all", 0o644);
    write("mine", 0o600);
    let server = Server::start_with("load-file", &["--secure-file-priv", &files.path("")]);
    let mut client = server.connect();
    let read = |client: &mut Client, name: &str| client.query(&format!("SELECT HEX(LOAD_FILE('{name}'))")).rows()[0][0].clone();
    assert_eq!(read(&mut client, &files.path("all")), "6100FF");
    assert_eq!(read(&mut client, &files.path("mine")), "NULL");
    assert_eq!(read(&mut client, &files.path("none")), "NULL");
    assert_eq!(read(&mut client, &files.path("")), "NULL");
    assert_eq!(read(&mut client, "/etc/passwd"), "NULL");
}

/// A function that SET calls may change other tables, and not the one that is loaded (error 1442).
#[test]
fn a_function_does_not_change_the_loaded_table() {
    let files = Files::new("functions");
    let server = Server::start_with("load-functions", &["--secure-file-priv", &files.path("")]);
    let mut client = server.connect();
    for sql in [
        "CREATE DATABASE d",
        "USE d",
        "CREATE TABLE t (a INT, b INT)",
        "CREATE TABLE log (a INT)",
        "CREATE FUNCTION same() RETURNS INT DETERMINISTIC MODIFIES SQL DATA BEGIN INSERT INTO t VALUES (0, 0); RETURN 1; END",
        "CREATE FUNCTION other() RETURNS INT DETERMINISTIC MODIFIES SQL DATA BEGIN INSERT INTO log VALUES (0); RETURN 1; END",
    ] {
        let made = client.query(sql);
        assert!(matches!(made, Answer::Ok { .. }), "{sql}: {made:?}");
    }
    std::fs::write(files.path("rows"), "1\n2\n").expect("write");
    let load = |function: &str| format!("LOAD DATA INFILE '{}' INTO TABLE t (a) SET b = {function}()", files.path("rows"));
    assert_eq!(code(&client.query(&load("same"))), 1442);
    assert!(matches!(client.query(&load("other")), Answer::Ok { affected: 2, .. }));
    assert_eq!(client.query("SELECT COUNT(*), SUM(b), (SELECT COUNT(*) FROM log) FROM t").rows(), [["2", "2", "2"]]);
}

#[test]
fn a_table_goes_out_and_comes_back() {
    let files = Files::new("round");
    let server = Server::start_with("round", &["--secure-file-priv", &files.path("")]);
    let mut client = server.connect();
    client.query("CREATE DATABASE d");
    client.query("USE d");
    client.query("CREATE TABLE t (id INT PRIMARY KEY, s VARCHAR(50), b BLOB, n DECIMAL(8,3), d DATETIME(3))");
    client.query("INSERT INTO t VALUES (1, 'a\\tb\\nc\\\\d\"e', X'0001FF0A', -1.5, '2024-01-02 03:04:05.678'), (2, NULL, NULL, NULL, NULL), (3, '', '', 0, '1000-01-01'), (4, 'N', 'NULL', 9, NULL)");
    client.query("CREATE TABLE u LIKE t");
    for (n, clauses) in [
        "",
        "FIELDS TERMINATED BY ',' OPTIONALLY ENCLOSED BY '\"'",
        "FIELDS TERMINATED BY ',' ENCLOSED BY '\"' LINES STARTING BY '>' TERMINATED BY ';\\n'",
        "FIELDS TERMINATED BY '--' ESCAPED BY '|'",
    ]
    .iter()
    .enumerate()
    {
        let path = files.path(&format!("{n}.txt"));
        let out = client.query(&format!("SELECT * FROM t INTO OUTFILE '{path}' {clauses}"));
        assert!(matches!(out, Answer::Ok { affected: 4, .. }), "{clauses}: {out:?}");
        client.query("TRUNCATE TABLE u");
        let back = client.query(&format!("LOAD DATA INFILE '{path}' INTO TABLE u CHARACTER SET binary {clauses}"));
        assert!(matches!(back, Answer::Ok { affected: 4, warnings: 0, .. }), "{clauses}: {back:?}");
        assert_eq!(client.query("SELECT * FROM u").rows(), client.query("SELECT * FROM t").rows(), "{clauses}");
    }
    let path = files.path("0.txt");
    assert_eq!(code(&client.query(&format!("SELECT 1 INTO OUTFILE '{path}'"))), 1086);
    assert_eq!(code(&client.query("SELECT 1 INTO OUTFILE '/tmp/elsewhere'")), 1290);
    assert_eq!(code(&client.query(&format!("LOAD DATA INFILE '{}' INTO TABLE u", files.path("../x")))), 1290);
    assert_eq!(code(&client.query(&format!("LOAD DATA INFILE '{}' INTO TABLE u", files.path("none")))), 13);
    assert_eq!(code(&client.query(&format!("LOAD DATA INFILE '{}' INTO TABLE u", files.path("")))), 1085);
    // Strict mode: the first row that does not fit undoes the statement.
    std::fs::write(files.path("bad"), "7\n8\tx\ty\t1\t2024-01-01\n").expect("write");
    assert_eq!(code(&client.query(&format!("LOAD DATA INFILE '{}' INTO TABLE u", files.path("bad")))), 1261);
    assert_eq!(client.query("SELECT COUNT(*) FROM u").rows(), [["4"]]);
    client.query(&format!("SELECT b FROM t WHERE id = 1 INTO DUMPFILE '{}'", files.path("dump")));
    assert_eq!(std::fs::read(files.path("dump")).expect("the dump"), b"\x00\x01\xff\x0a");
    let two = files.path("two");
    assert_eq!(code(&client.query(&format!("SELECT id FROM t INTO DUMPFILE '{two}'"))), 1172);
    assert!(!PathBuf::from(two).exists());
    // Without FILE.
    client.query("CREATE USER u IDENTIFIED BY 'u'");
    client.query("GRANT ALL ON d.* TO u");
    let mut other = Client::connect(server.port, "u", "u").expect("connect");
    assert_eq!(code(&other.query(&format!("LOAD DATA INFILE '{path}' INTO TABLE d.u"))), 1045);
    assert_eq!(code(&other.query(&format!("SELECT 1 INTO OUTFILE '{}'", files.path("new")))), 1227);
}

/// The statement fails at once, the client sends a long file all the same, and the connection goes on.
#[test]
fn a_failed_load_reads_the_client_out() {
    let server = Server::start_with("load-local", &["--local-infile"]);
    let mut client = server.connect();
    client.query("CREATE DATABASE d");
    client.query("USE d");
    client.query("CREATE TABLE t (a INT PRIMARY KEY, b TEXT)");
    client.local_file = (0..200_000).map(|n| format!("{}\trow {n}\n", n % 199_999)).collect::<String>().into_bytes();
    assert_eq!(code(&client.query("LOAD DATA LOCAL INFILE 'f' REPLACE INTO TABLE t FIELDS TERMINATED BY ','")), 1265);
    assert_eq!(client.query("SELECT COUNT(*) FROM t").rows(), [["0"]]);
    let Answer::Ok { affected, info, .. } = client.query("LOAD DATA LOCAL INFILE 'f' INTO TABLE t") else { panic!("loaded") };
    assert_eq!((affected, &info[..]), (199_999, "Records: 200000  Deleted: 0  Skipped: 1  Warnings: 1"));
    assert_eq!(client.query("SELECT COUNT(*), MAX(a) FROM t").rows(), [["199999", "199998"]]);
}

/// What was seen in two ways; where it differs, that place is shown.
fn assert_alike(one: &str, other: &str, of: &str) {
    let differs = one.chars().zip(other.chars()).position(|(a, b)| a != b);
    let at = differs.unwrap_or(0).saturating_sub(200);
    let shown = |seen: &str| seen.chars().skip(at).take(400).collect::<String>();
    assert!(one == other, "{of}:\n{}\n{}", shown(one), shown(other));
}

/// Lines that are converted in chunks leave what lines leave that go one by one, which a format with quotes makes them do: rows, counts,
/// warnings, errors, numbers of AUTO_INCREMENT.
#[test]
fn chunks_answer_as_single_rows_do() {
    let files = Files::new("chunks");
    let server = Server::start_with("load-chunks", &["--local-infile", "--secure-file-priv", &files.path("")]);
    let mut client = server.connect();
    client.query("CREATE DATABASE d");
    client.query("USE d");
    client.query("SET time_zone = '+05:30'");
    let line = |n: u32| {
        let s = ["plain", "tab\\\tbed", "two\\\nlines", "back\\\\", "\\N", "Grüße", "x\\Ny", ""][n as usize % 8];
        format!("{n}\t{}\t{}.{:02}\t{s}\t2024-0{}-17 1{}:20:30\n", n % 1000, n % 977, n % 100, n % 9 + 1, n % 10)
    };
    let with =
        |change: &dyn Fn(u32) -> Option<String>| (1..=9000).map(|n| change(n).unwrap_or_else(|| line(n))).collect::<String>();
    let odd = |n: u32| match n % 1789 {
        3 => Some(format!("{n}\t5\n")),
        4 => Some(format!("{n}\t5\t1.00\tx\t2024-01-01\tmore\n")),
        5 => Some(format!("{n}\t99999999999\t1.00\tx\t2024-01-01\n")),
        6 => Some(format!("{n}\t\\N\t1.005\t{}\t2024-13-01\n", "long".repeat(20))),
        7 => Some(format!("{n}\tseven\t 12.5 \tx\t2024.01.01\n")),
        8 => Some("0\t1\t-3.25\tx\t0000-00-00\n".to_string()),
        _ => None,
    };
    let contents = [
        with(&|_| None),
        with(&|_| None).trim_end().to_string() + "\n9001\t1\t1\tlast\t2024-01-01",
        with(&odd),
        with(&|n| (n == 5000).then(|| line(4000))),
        with(&|n| (n % 700 == 0).then(|| line(n - 5))),
        // Neither dense nor in order.
        with(&|n| Some(line(n * 3))),
        with(&|n| Some(line(n * 7919 % 9001))),
        with(&|n| (n > 8000).then(|| format!("{n}\n"))),
    ];
    let create = "CREATE TABLE t (id INT NOT NULL AUTO_INCREMENT PRIMARY KEY, a INT NOT NULL, d DECIMAL(7,2) NOT NULL, s VARCHAR(20), t TIMESTAMP NULL, \
             e INT DEFAULT 7, KEY a (a), KEY s (s, a))";
    for (n, content) in contents.iter().enumerate() {
        std::fs::write(files.path("rows"), content).expect("write");
        client.local_file = content.clone().into_bytes();
        for (mode, kind) in [
            ("DEFAULT", "LOCAL"),
            ("DEFAULT", "LOCAL REPLACE"),
            ("DEFAULT", ""),
            ("DEFAULT", "IGNORE"),
            ("''", "REPLACE"),
            ("'NO_AUTO_VALUE_ON_ZERO'", ""),
        ] {
            client.query(&format!("SET sql_mode = {mode}"));
            let mut found = Vec::new();
            for clauses in ["", "FIELDS ENCLOSED BY '|'"] {
                client.query("SELECT LAST_INSERT_ID(0)");
                client.query(create);
                client.query("INSERT INTO t VALUES (8500, 1, 1, 'there', NULL, 1)");
                let (local, rest) = if let Some(rest) = kind.strip_prefix("LOCAL") { ("LOCAL", rest) } else { ("", kind) };
                let path = files.path("rows");
                let load =
                    format!("LOAD DATA {local} INFILE '{path}' {rest} INTO TABLE t {clauses} IGNORE 1 LINES (id, a, d, s, t)");
                let mut seen = vec![format!("{:?}", client.query(&load))];
                seen.push(format!("{:?}", client.query("SHOW WARNINGS")));
                client.query("INSERT INTO t (a, d) VALUES (-1, 0)");
                seen.push(format!("{:?}", client.query("SELECT * FROM t ORDER BY id")));
                seen.push(format!("{:?}", client.query("SELECT id FROM t FORCE INDEX (s) WHERE s > 'b' ORDER BY s, a, id")));
                let check = client.query("CHECK TABLE t").rows();
                assert_eq!(check[0][3], "OK");
                client.query("DROP TABLE t");
                found.push(seen.join("\n"));
            }
            assert_alike(&found[0], &found[1], &format!("file {n}, {kind}, {mode}"));
        }
    }
}

/// The same of an INSERT: one row with an expression sends all of them the general way.
#[test]
fn an_insert_in_blocks_answers_as_one_of_single_rows() {
    let server = Server::start("insert-blocks");
    let mut client = server.connect();
    client.query("CREATE DATABASE d");
    client.query("USE d");
    client.query("SET time_zone = '-03:00'");
    let row = |n: i32| format!("({n},{}.{:02},'s{n}','2024-05-06 07:08:{:02}')", n % 90, n.abs() % 100, n.abs() % 60);
    let with = |change: &dyn Fn(i32) -> Option<String>| (1..300).map(|n| change(n).unwrap_or_else(|| row(n))).collect::<Vec<_>>();
    let contents = [
        with(&|_| None),
        with(&|n| (n == 150).then(|| row(100))),
        with(&|n| (n == 150).then(|| "(NULL,1,'x',NULL)".into())),
        with(&|n| (n == 150).then(|| "(0,-1.5,NULL,NULL)".into())),
        with(&|n| (n % 50 == 9).then(|| format!("({n},1.005,'{}','2024/01/01')", "long".repeat(10)))),
        with(&|n| (n % 50 == 9).then(|| format!("({n},NULL,0x4142,20240102030405)"))),
        with(&|n| (n % 50 == 9).then(|| format!("({n},1e2,7,'never')"))),
        with(&|n| Some(row(300 - n))),
        with(&|n| Some(row(n * 10))),
        with(&|n| Some(row(n - 100))),
    ];
    for (n, rows) in contents.iter().enumerate() {
        for (mode, verb, end) in [
            ("DEFAULT", "INSERT", ""),
            ("DEFAULT", "INSERT IGNORE", ""),
            ("''", "INSERT", ""),
            ("''", "REPLACE", ""),
            ("''", "INSERT", "ON DUPLICATE KEY UPDATE s = 'twice'"),
        ] {
            client.query(&format!("SET sql_mode = {mode}"));
            let mut found = Vec::new();
            for last in ["(5000,1,'z',NULL)", "(5000,1,CONCAT('z',''),NULL)"] {
                client.query("SELECT LAST_INSERT_ID(0)");
                client.query(
                    "CREATE TABLE t (id INT NOT NULL AUTO_INCREMENT PRIMARY KEY, d DECIMAL(6,2) NOT NULL, s VARCHAR(20), t TIMESTAMP NULL, \
                     KEY s (s))",
                );
                client.query("INSERT INTO t VALUES (250, 1, 'there', NULL)");
                let mut seen = Vec::new();
                seen.push(format!("{:?}", client.query(&format!("{verb} INTO t VALUES {},{last} {end}", rows.join(",")))));
                seen.push(format!("{:?}", client.query("SHOW WARNINGS")));
                seen.push(format!("{:?}", client.query("SELECT LAST_INSERT_ID()")));
                client.query("INSERT INTO t (d) VALUES (0)");
                seen.push(format!("{:?}", client.query("SELECT * FROM t ORDER BY id")));
                seen.push(format!("{:?}", client.query("SELECT id FROM t FORCE INDEX (s) WHERE s > 'b' ORDER BY s, id")));
                client.query("DROP TABLE t");
                found.push(seen.join("\n"));
            }
            assert_alike(&found[0], &found[1], &format!("rows {n}, {verb} {end}, {mode}"));
        }
    }
}

/// PARTITION (p0) takes the rows that belong there: others are warnings of LOCAL, as of IGNORE, and an error else.
#[test]
fn a_load_into_partitions() {
    let files = Files::new("partitions");
    let server = Server::start_with("load-partitions", &["--local-infile", "--secure-file-priv", &files.path("")]);
    let mut client = server.connect();
    client.query("CREATE DATABASE d");
    client.query("USE d");
    client.query(
        "CREATE TABLE t (a INT PRIMARY KEY) PARTITION BY LIST (a) (PARTITION p0 VALUES IN (1), PARTITION p1 VALUES IN (2))",
    );
    client.local_file = b"1\n2\n".to_vec();
    let Answer::Ok { affected, warnings, .. } = client.query("LOAD DATA LOCAL INFILE 'f' INTO TABLE t PARTITION (p0)") else {
        panic!("loaded")
    };
    assert_eq!((affected, warnings), (1, 1));
    assert_eq!(client.query("SHOW WARNINGS").rows()[0][1], "1748");
    std::fs::write(files.path("rows"), "1\n2\n").expect("write");
    let load = |partitions: &str| format!("LOAD DATA INFILE '{}' REPLACE INTO TABLE t {partitions}", files.path("rows"));
    assert_eq!(code(&client.query(&load("PARTITION (p1)"))), 1748);
    assert_eq!(code(&client.query(&load("PARTITION (p2)"))), 1735);
    assert_eq!(client.query("SELECT a FROM t").rows(), [["1"]]);
    client.query(&load("PARTITION (p1, p0)"));
    assert_eq!(client.query("SELECT a FROM t ORDER BY a").rows(), [["1"], ["2"]]);
}

/// A client that leaves in the middle of its file, and one that sends the file and the next commands at once.
#[test]
fn clients_that_hurry() {
    let server = Server::start_with("load-hurry", &["--local-infile"]);
    let mut client = server.connect();
    client.query("CREATE DATABASE d");
    client.query("CREATE TABLE d.t (a INT)");
    let mut leaver = server.connect();
    leaver.command(b"\x03LOAD DATA LOCAL INFILE 'f' INTO TABLE d.t").expect("send");
    leaver.receive().expect("the request");
    leaver.send_raw(b"\x04\x00\x00\x02").expect("send");
    drop(leaver);
    let load = b"\x03LOAD DATA LOCAL INFILE 'f' INTO TABLE d.t";
    let mut all = Vec::new();
    for _ in 0..50 {
        all.extend_from_slice(&[load.len() as u8, 0, 0, 0]);
        all.extend_from_slice(load);
        all.extend_from_slice(b"\x04\x00\x00\x021\n2\n\x00\x00\x00\x03");
    }
    all.extend_from_slice(b"\x01\x00\x00\x00\x0e");
    client.send_raw(&all).expect("send");
    for _ in 0..50 {
        client.expect_seq(1);
        assert_eq!(client.receive().expect("the request")[0], 0xfb);
        client.expect_seq(4);
        assert_eq!(client.receive().expect("OK")[..2], [0, 2]);
    }
    client.expect_seq(1);
    assert_eq!(client.receive().expect("the ping's answer")[0], 0);
    assert_eq!(client.query("SELECT COUNT(*) FROM d.t").rows(), [["100"]]);
}

/// COM_STATISTICS gives the numbers of SHOW STATUS.
#[test]
fn statistics() {
    let server = Server::start("statistics");
    let mut client = server.connect();
    client.query("CREATE DATABASE d");
    client.query("CREATE TABLE d.t (a INT)");
    client.query("SET long_query_time = 0.01");
    client.query("SELECT SLEEP(0.02) FROM d.t RIGHT JOIN (SELECT 1) AS x ON TRUE");
    client.query("FLUSH TABLES");
    client.command(b"\x09").expect("send");
    let text = String::from_utf8(client.receive().expect("statistics")).expect("text");
    for (label, at_least) in [("Threads: ", 1), ("Questions: ", 5), ("Slow queries: ", 1), ("Opens: ", 1), ("Flush tables: ", 2)]
    {
        let number = text.split(label).nth(1).and_then(|rest| rest.split(' ').next()).expect(label);
        assert!(number.parse::<u64>().expect(label) >= at_least, "{label} in {text}");
    }
    assert!(text.contains("  Queries per second avg: "), "{text}");
}

/// Rows, and what SHOW WARNINGS says, of the statements of `golden/load_xml`. MySQL's answers are recorded by
/// `tools/record-load-xml.sh`.
#[test]
fn rows_of_xml_are_mysqls() {
    let dir = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden/load_xml");
    let read = |name: &str| std::fs::read_to_string(dir.join(name)).expect("a file");
    let server = Server::start_with("load-xml", &["--local-infile"]);
    let mut client = server.connect();
    for sql in read("tables.sql").lines() {
        client.query(sql);
    }
    let mut answers = String::new();
    for sql in read("statements.sql").lines() {
        client.local_file = read("rows.xml").into_bytes();
        client.query(sql);
        answers.push_str(&format!("> {sql}\n"));
        let mut show = |sql: &str| {
            for row in client.query(sql).rows() {
                answers.push_str(&format!("{}\n", row.join("\t")));
            }
        };
        show("show warnings");
        show("select id, name, base, deep from t");
        show("select id, name, '', '' from n");
        client.query("delete from t");
    }
    assert_eq!(answers, read("answers.txt"));
}
