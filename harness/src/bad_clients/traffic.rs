//! Good traffic: what well-behaved clients say after the login, command by command, before anything is done to it.
//!
//! A `Unit` is what is sent without waiting: one command, or a later part of one (packets of a file, the answer to a switch of the
//! authentication). Numbers of packets and ids of statements are those that a server gives that was said nothing else before.

use vaquita_wire::packet::PacketWriter;

pub const DATABASE: &str = "bad_clients";
/// The last statement of each traffic selects it.
pub const LAST_WORDS: &str = "these are the last words";
const COM_QUIT: u8 = 1;
const COM_INIT_DB: u8 = 2;
const COM_QUERY: u8 = 3;
const COM_FIELD_LIST: u8 = 4;
const COM_STATISTICS: u8 = 9;
const COM_PROCESS_KILL: u8 = 12;
const COM_PING: u8 = 14;
const COM_CHANGE_USER: u8 = 17;
const COM_STMT_PREPARE: u8 = 22;
const COM_STMT_EXECUTE: u8 = 23;
const COM_STMT_SEND_LONG_DATA: u8 = 24;
const COM_STMT_CLOSE: u8 = 25;
const COM_STMT_RESET: u8 = 26;
const COM_SET_OPTION: u8 = 27;
const COM_STMT_FETCH: u8 = 28;
const COM_RESET_CONNECTION: u8 = 31;
const VAR_STRING: u8 = 0xfd;
const LONGLONG: u8 = 8;
const READ_ONLY_CURSOR: u8 = 1;
/// utf8mb4_0900_ai_ci.
pub const CHARSET: u8 = 255;

/// What makes the tables that the traffic is about, and the accounts.
pub const SETUP: [&str; 13] = [
    "CREATE DATABASE bad_clients",
    "USE bad_clients",
    "CREATE TABLE t (id INT PRIMARY KEY, v VARCHAR(200), KEY (v))",
    "CREATE TABLE locked (id INT PRIMARY KEY)",
    "CREATE TABLE other (id INT PRIMARY KEY, v VARCHAR(200))",
    "INSERT INTO t WITH RECURSIVE r AS (SELECT 1 n UNION ALL SELECT n + 1 FROM r WHERE n < 100) SELECT n, REPEAT(n, 20) FROM r",
    "INSERT INTO other SELECT * FROM t",
    "CREATE USER trusting",
    "CREATE USER native IDENTIFIED WITH mysql_native_password BY 'secret'",
    "CREATE USER sha2 IDENTIFIED BY 'secret'",
    "GRANT SELECT, INSERT, UPDATE, DELETE, CREATE TEMPORARY TABLES, LOCK TABLES ON bad_clients.* TO trusting",
    "GRANT SELECT, INSERT, UPDATE, DELETE, CREATE TEMPORARY TABLES, LOCK TABLES ON bad_clients.* TO native",
    "GRANT SELECT, INSERT, UPDATE, DELETE, CREATE TEMPORARY TABLES, LOCK TABLES ON bad_clients.* TO sha2",
];

#[derive(Clone)]
pub struct Unit {
    /// Packets with their headers.
    pub bytes: Vec<u8>,
    pub seq: u8,
    /// The next unit waits for an answer to this one.
    pub answered: bool,
}

pub struct Traffic {
    pub name: &'static str,
    pub units: Vec<Unit>,
    /// It is chosen once among so many others of its kind; traffic that costs the server or the client much is rare.
    pub rarity: u64,
}

impl Traffic {
    fn new(name: &'static str, rarity: u64, mut units: Vec<Unit>) -> Traffic {
        units.push(query(&format!("SELECT '{LAST_WORDS}'")));
        units.push(silent(&[COM_QUIT]));
        Traffic { name, units, rarity }
    }
}

fn unit(seq: u8, payload: &[u8], answered: bool) -> Unit {
    let mut writer = PacketWriter::new();
    writer.set_seq(seq);
    writer.packet(|out| out.extend_from_slice(payload));
    Unit { bytes: writer.bytes().to_vec(), seq, answered }
}

fn command(parts: &[&[u8]]) -> Unit {
    unit(0, &parts.concat(), true)
}

fn silent(payload: &[u8]) -> Unit {
    unit(0, payload, false)
}

fn query(sql: &str) -> Unit {
    command(&[&[COM_QUERY], sql.as_bytes()])
}

fn queries(all: &[&str]) -> Vec<Unit> {
    all.iter().map(|sql| query(sql)).collect()
}

pub fn all() -> Vec<Traffic> {
    let small = [
        (
            "queries",
            queries(&["SELECT 1", "SELECT * FROM t WHERE id < 20", "SELECT nothing", "SELECT v, COUNT(*) FROM t GROUP BY v"]),
        ),
        ("changes", changes()),
        ("locks", locks()),
        ("prepared", prepared()),
        ("cursor", cursor()),
        ("load", load()),
        ("change-user", change_user()),
        ("reset", reset()),
        ("multi-statements", multi_statements()),
        ("other-commands", other_commands()),
    ];
    let mut all: Vec<Traffic> = small.into_iter().map(|(name, units)| Traffic::new(name, 1, units)).collect();
    let waits = queries(&["SELECT SLEEP(0.02)", "SELECT GET_LOCK('bad', 0.01)", "SELECT SLEEP(0.01) FROM t LIMIT 2"]);
    all.push(Traffic::new("waits", 8, waits));
    all.push(Traffic::new("large-results", 30, queries(&["SELECT REPEAT('r', 3000000)", "SELECT a.v, b.v FROM t a, t b"])));
    let text = |bytes: usize| format!("SELECT LENGTH('{}')", "x".repeat(bytes));
    all.push(Traffic::new("large-packets", 30, queries(&[&text(70_000), &text(300_000)])));
    // More than one packet holds.
    all.push(Traffic::new("huge-packets", 4000, queries(&[&text(17 << 20)])));
    all
}

fn changes() -> Vec<Unit> {
    queries(&[
        "REPLACE INTO t VALUES (7, 'seven'), (8, 'eight')",
        "UPDATE t SET v = CONCAT('v', id) WHERE id BETWEEN 30 AND 40",
        "DELETE FROM t WHERE id = 50",
        "INSERT IGNORE INTO t VALUES (50, 'fifty')",
    ])
}

fn locks() -> Vec<Unit> {
    queries(&[
        "SET innodb_lock_wait_timeout = 1",
        "BEGIN",
        "SELECT * FROM t WHERE id = 1 FOR UPDATE SKIP LOCKED",
        "SAVEPOINT s",
        "UPDATE other SET v = 'locked' WHERE id < 5",
        "ROLLBACK TO s",
        "LOCK TABLES locked READ",
    ])
}

fn prepared() -> Vec<Unit> {
    let id = 1u32.to_le_bytes();
    let long = |text: &[u8]| silent(&[&[COM_STMT_SEND_LONG_DATA], &id[..], &[0, 0], text].concat());
    let types = [1, VAR_STRING, 0, LONGLONG, 0];
    // Two parameters, neither NULL; the first came as long data, the second is 90.
    let execute = [&[COM_STMT_EXECUTE], &id[..], &[0, 1, 0, 0, 0], &[0], &types, &90u64.to_le_bytes()].concat();
    vec![
        command(&[&[COM_STMT_PREPARE], b"SELECT CONCAT(v, ?) FROM t WHERE id > ?"]),
        long(b"a first part, "),
        long(&[b'x'; 2000]),
        command(&[&execute]),
        command(&[&[COM_STMT_RESET], &id]),
        long(b"another"),
        command(&[&execute]),
        silent(&[&[COM_STMT_CLOSE], &id[..]].concat()),
        command(&[&execute]),
    ]
}

fn cursor() -> Vec<Unit> {
    let id = 1u32.to_le_bytes();
    let fetch = command(&[&[COM_STMT_FETCH], &id, &20u32.to_le_bytes()]);
    vec![
        command(&[&[COM_STMT_PREPARE], b"SELECT a.id, a.v FROM t a JOIN t b USING (id) ORDER BY a.v"]),
        command(&[&[COM_STMT_EXECUTE], &id, &[READ_ONLY_CURSOR, 1, 0, 0, 0]]),
        fetch.clone(),
        fetch.clone(),
        command(&[&[COM_STMT_RESET], &id]),
        fetch,
    ]
}

fn load() -> Vec<Unit> {
    let rows: String = (60..70).map(|id| format!("{id}\tfrom a file\n")).collect();
    vec![
        query("LOAD DATA LOCAL INFILE 'rows' REPLACE INTO TABLE t"),
        unit(2, &rows.as_bytes()[..25], false),
        unit(3, &rows.as_bytes()[25..], false),
        unit(4, &[], true),
    ]
}

fn change_user() -> Vec<Unit> {
    let change = [&[COM_CHANGE_USER], &b"trusting\0"[..], &[0], b"bad_clients\0", &[CHARSET, 0], b"caching_sha2_password\0"];
    // The server asks for the authentication to be switched; an account without a password answers that with nothing.
    vec![query("SET @kept = 1"), command(&change), unit(2, &[], true), query("SELECT @kept")]
}

fn reset() -> Vec<Unit> {
    let mut units = queries(&[
        "CREATE TEMPORARY TABLE mine AS SELECT * FROM t",
        "SET @a = REPEAT('a', 5000), sql_mode = ''",
        "PREPARE p FROM 'SELECT ?'",
        "BEGIN",
        "INSERT INTO other VALUES (1000, 'uncommitted')",
    ]);
    units.push(command(&[&[COM_RESET_CONNECTION]]));
    units.push(query("SELECT @a, @@autocommit"));
    units
}

fn multi_statements() -> Vec<Unit> {
    queries(&["SELECT 1; SET @x = 2; SELECT @x, v FROM t LIMIT 3; DO 1", "SELECT 1; SELECT nothing; SELECT 3"])
}

fn other_commands() -> Vec<Unit> {
    vec![
        command(&[&[COM_PING]]),
        command(&[&[COM_STATISTICS]]),
        command(&[&[COM_INIT_DB], b"bad_clients"]),
        command(&[&[COM_FIELD_LIST], b"t\0%"]),
        command(&[&[COM_SET_OPTION], &[0, 0]]),
        command(&[&[COM_PROCESS_KILL], &u32::MAX.to_le_bytes()]),
        command(&[&[77], b"an unknown command"]),
    ]
}
