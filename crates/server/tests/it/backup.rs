//! `vaquita backup`, `restore`, `verify`, `branch` and `clone`: what comes back is what was there, and nothing is written where something is.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use crate::client::{Answer, Client};
use crate::server::{PASSWORD, Server};

fn address(server: &Server, user: &str) -> String {
    let escaped = PASSWORD.replace('\'', "%27").replace(' ', "%20");
    format!("mysql://{user}:{escaped}@127.0.0.1:{}", server.port)
}

fn vaquita(arguments: &[&str]) -> (bool, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_vaquita"));
    let Output { status, stdout, stderr } = command.args(arguments).stdin(Stdio::null()).output().expect("vaquita runs");
    (status.success(), [String::from_utf8_lossy(&stdout), String::from_utf8_lossy(&stderr)].concat())
}

fn done(arguments: &[&str]) -> String {
    let (success, text) = vaquita(arguments);
    assert!(success, "{arguments:?}: {text}");
    text
}

fn refused(arguments: &[&str], why: &str) {
    let (success, text) = vaquita(arguments);
    assert!(!success && text.contains(why), "{arguments:?}: {text}");
}

fn ok(client: &mut Client, statement: &str) {
    let answer = client.query(statement);
    assert!(matches!(answer, Answer::Ok { .. }), "{statement}: {answer:?}");
}

fn value(client: &mut Client, statement: &str) -> String {
    client.query(statement).rows()[0][0].replace('\n', "")
}

/// Paths beside the data of a server, which go with the test's directory.
fn beside(server: &Server, name: &str) -> (PathBuf, String) {
    let path = server.dir.with_extension("beside").join(name);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    let text = path.to_str().unwrap().to_string();
    (path, text)
}

/// A server with one table of so many rows.
fn server(name: &str, rows: usize) -> Server {
    let server = Server::start(&format!("backup-{name}"));
    let mut client = server.connect();
    ok(&mut client, "CREATE DATABASE shop");
    ok(&mut client, "CREATE TABLE shop.item (id INT PRIMARY KEY, name VARCHAR(100), KEY (name))");
    for from in (0..rows).step_by(1000) {
        let values: Vec<String> = (from..from + 1000).map(|n| format!("({n}, CONCAT(SHA2({n}, 256), 'x'))")).collect();
        ok(&mut client, &format!("INSERT INTO shop.item VALUES {}", values.join(",")));
    }
    server
}

/// What a server on a restored directory answers.
fn of_directory(dir: &Path, statements: &[&str]) -> Vec<String> {
    let server = Server::start_in(dir.to_path_buf());
    let mut client = server.connect();
    statements.iter().map(|statement| value(&mut client, statement)).collect()
}

fn files(dir: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { found.extend(files(&path)) } else { found.push(path) }
    }
    found.sort();
    found
}

const COUNT: &str = "SELECT COUNT(*) FROM shop.item";

#[test]
fn a_backup_comes_back_and_the_next_one_has_only_what_changed() {
    let server = server("incremental", 20_000);
    let (from, (place, to)) = (address(&server, "root"), beside(&server, "place"));
    let first = done(&["backup", &to, "--from", &from]);
    let id = first.split_whitespace().nth(1).unwrap().trim_end_matches(':').to_string();
    let whole: u64 = files(&place).iter().map(|file| file.metadata().unwrap().len()).sum();
    ok(&mut server.connect(), "DELETE FROM shop.item WHERE id < 10");
    ok(&mut server.connect(), "SET PERSIST max_join_size = 12345");
    done(&["backup", &to, "--from", &from]);
    let both: u64 = files(&place).iter().map(|file| file.metadata().unwrap().len()).sum();
    assert!(both - whole < whole / 2, "{whole} and then {both} bytes");
    done(&["verify", &to]);
    let uuid = value(&mut server.connect(), "SELECT @@server_uuid");
    let ((newest, newest_dir), (older, older_dir)) = (beside(&server, "newest"), beside(&server, "older"));
    done(&["restore", &to, "--data-dir", &newest_dir]);
    // Nothing is overwritten.
    refused(&["restore", &to, "--data-dir", &newest_dir], "is not empty");
    done(&["restore", &to, "--data-dir", &older_dir, "--backup", &id]);
    let found = of_directory(&newest, &[COUNT, "SELECT @@max_join_size", "SELECT @@server_uuid"]);
    assert_eq!(found[..2], ["19990", "12345"]);
    assert_ne!(found[2], uuid, "a copy is a server of its own");
    assert_eq!(of_directory(&older, &[COUNT]), ["20000"]);
    // Of two backups one is kept, with all that it needs.
    done(&["backup", &to, "--from", &from, "--keep", "1"]);
    assert_eq!(done(&["backups", &to]).lines().count(), 2);
    refused(&["restore", &to, "--data-dir", &beside(&server, "gone").1, "--backup", &id], "is missing");
    done(&["verify", &to]);
    let (again, again_dir) = beside(&server, "again");
    done(&["restore", &to, "--data-dir", &again_dir]);
    assert_eq!(of_directory(&again, &[COUNT]), ["19990"]);
}

#[test]
fn a_restore_goes_to_a_transaction_or_before_the_statement_that_lost_the_data() {
    let server = server("point", 1000);
    let (from, to) = (address(&server, "root"), beside(&server, "place").1);
    done(&["backup", &to, "--from", &from]);
    let mut client = server.connect();
    ok(&mut client, "INSERT INTO shop.item VALUES (5000, 'five')");
    let with_five = value(&mut client, "SELECT @@gtid_executed");
    ok(&mut client, "UPDATE shop.item SET name = 'changed'");
    ok(&mut client, "DROP TABLE shop.item");
    ok(&mut client, "CREATE TABLE shop.later (id INT)");
    done(&["backup", &to, "--from", &from, "--log", "--once"]);
    let named = "SELECT CONCAT(COUNT(*), ' ', SUM(name = 'changed')) FROM shop.item";
    let gtid = with_five.replace(":1-", ":");
    let (point, point_dir) = beside(&server, "point");
    done(&["restore", &to, "--data-dir", &point_dir, "--to-gtid", &gtid]);
    assert_eq!(of_directory(&point, &[named, "SELECT @@gtid_executed"]), ["1001 0".to_string(), with_five]);
    let (before, before_dir) = beside(&server, "before");
    let told = done(&["restore", &to, "--data-dir", &before_dir, "--before-statement"]);
    assert!(told.contains("DROP TABLE"), "{told}");
    assert_eq!(of_directory(&before, &[named]), ["1001 1001"]);
    let (end, end_dir) = beside(&server, "end");
    // A later backup changes nothing for what is before it.
    done(&["backup", &to, "--from", &from]);
    done(&["restore", &to, "--data-dir", &end_dir, "--to-end"]);
    assert_eq!(of_directory(&end, &["SELECT COUNT(*) FROM shop.later"]), ["0"]);
    let (again, again_dir) = beside(&server, "again");
    done(&["restore", &to, "--data-dir", &again_dir, "--before-gtid", &gtid]);
    assert_eq!(of_directory(&again, &[COUNT]), ["1000"]);
    let none = beside(&server, "none").1;
    refused(&["restore", &to, "--data-dir", &none, "--to", "2001-01-01 00:00:00"], "the first backup is of");
    refused(&["restore", &to, "--data-dir", &none, "--to-gtid", "3E11FA47-71CA-11E1-9E33-C80AA9429562:5"], "does not have");
}

#[test]
fn a_table_comes_back_into_the_running_server() {
    let server = server("table", 3000);
    let (from, to) = (address(&server, "root"), beside(&server, "place").1);
    let mut client = server.connect();
    ok(&mut client, "CREATE TABLE shop.log (a INT, b BLOB)");
    ok(&mut client, "INSERT INTO shop.log VALUES (1, x'00FF27'), (NULL, NULL)");
    ok(&mut client, "CREATE TRIGGER shop.counts AFTER INSERT ON shop.item FOR EACH ROW SET @n = 1");
    done(&["backup", &to, "--from", &from]);
    ok(&mut client, "DELETE FROM shop.item WHERE id >= 2000");
    ok(&mut client, "DROP TABLE shop.item");
    ok(&mut client, "CREATE TABLE shop.later (a INT)");
    done(&["backup", &to, "--from", &from, "--log", "--once"]);
    let into = ["restore", &to, "--into", &from];
    let with = |more: &[&'static str]| [&into[..], more].concat();
    done(&with(&["--table", "shop.item", "--before-statement"]));
    assert_eq!(value(&mut client, COUNT), "2000");
    let created = client.query("SHOW CREATE TABLE shop.item").rows()[0][1].clone();
    assert!(created.contains("KEY `name` (`name`)"), "{created}");
    // Replicas get the rows, too.
    let logged = value(&mut client, "SELECT @@gtid_executed");
    done(&with(&["--database", "shop", "--as", "rescued"]));
    assert_ne!(value(&mut client, "SELECT @@gtid_executed"), logged);
    assert_eq!(value(&mut client, "SELECT COUNT(*) FROM rescued.item"), "3000");
    assert_eq!(value(&mut client, "SELECT GROUP_CONCAT(HEX(b)) FROM rescued.log"), "00FF27");
    refused(&with(&["--table", "shop.item"]), "nothing is overwritten");
    refused(&with(&["--table", "shop.none"]), "has no table shop.none");
    refused(&into, "--table or --database");
    assert_eq!(value(&mut client, COUNT), "2000");
}

#[test]
fn a_log_that_was_reset_is_not_taken_for_the_one_before() {
    let server = server("reset", 1000);
    let (from, to) = (address(&server, "root"), beside(&server, "place").1);
    done(&["backup", &to, "--from", &from]);
    let archive = ["backup", &to, "--from", &from, "--log", "--once"];
    let mut client = server.connect();
    ok(&mut client, "FLUSH BINARY LOGS");
    ok(&mut client, "UPDATE shop.item SET name = 'a' WHERE id = 1");
    done(&archive);
    // Files of the same names and lengths, but of another time.
    std::thread::sleep(std::time::Duration::from_millis(1100));
    ok(&mut client, "RESET BINARY LOGS AND GTIDS");
    refused(&archive, "its log was reset");
    ok(&mut client, "FLUSH BINARY LOGS");
    refused(&archive, "was its log reset");
    // Where the log before ended, an event of this one begins.
    for _ in 0..5 {
        ok(&mut client, "UPDATE shop.item SET name = CONCAT(name, 'b') WHERE id < 10");
    }
    refused(&archive, "its log was reset");
    done(&["verify", &to]);
}

#[test]
fn damage_is_found_and_named() {
    let server = server("damage", 5000);
    let (from, (place, to)) = (address(&server, "root"), beside(&server, "place"));
    done(&["backup", &to, "--from", &from]);
    done(&["backup", &to, "--from", &from, "--log", "--once"]);
    let target = beside(&server, "target").1;
    for file in files(&place).into_iter().filter(|file| file.metadata().unwrap().len() > 0) {
        let name = file.file_name().unwrap().to_str().unwrap();
        if ["vaquita-backups", "lock"].contains(&name) {
            continue;
        }
        let content = std::fs::read(&file).unwrap();
        let mut flipped = content.clone();
        flipped[content.len() / 2] ^= 4;
        std::fs::write(&file, &flipped).unwrap();
        refused(&["verify", &to], name);
        if !file.to_str().unwrap().contains("/log/") {
            refused(&["restore", &to, "--data-dir", &target], name);
        }
        std::fs::remove_file(&file).unwrap();
        let (success, text) = vaquita(&["verify", &to]);
        // Without its last line a backup is none, and the log may end anywhere.
        let may_be_unseen = name == "backup.json" || file.to_str().unwrap().contains("/log/");
        assert!(may_be_unseen || !success && text.contains(name), "{text}");
        std::fs::write(&file, &content).unwrap();
        assert!(!Path::new(&target).exists());
    }
    done(&["verify", &to]);
    refused(&["backup", server.dir.to_str().unwrap(), "--from", &from], "has something else in it");
}

#[test]
fn a_damaged_file_of_an_interrupted_backup_is_not_taken_over() {
    let server = server("interrupted", 20_000);
    let (from, (place, to)) = (address(&server, "root"), beside(&server, "place"));
    done(&["backup", &to, "--from", &from]);
    // As if it had been killed before its last line.
    let is_last_line = |file: &PathBuf| file.file_name().is_some_and(|name| name == "backup.json");
    let manifest = files(&place).into_iter().find(is_last_line).unwrap();
    let text = std::fs::read_to_string(&manifest).unwrap();
    std::fs::remove_dir_all(place.join("backups")).unwrap();
    let sorted = files(&place.join("files"));
    let largest = sorted.iter().max_by_key(|file| file.metadata().unwrap().len()).unwrap();
    let stored = largest.strip_prefix(&place).unwrap().to_str().unwrap();
    let sha256 = text.split(stored).next().unwrap().rsplit_once("\"sha256\":\"").unwrap().1.split('"').next().unwrap();
    let note = place.join("sent").join(stored);
    std::fs::create_dir_all(note.parent().unwrap()).unwrap();
    std::fs::write(&note, sha256).unwrap();
    let mut bytes = std::fs::read(largest).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    std::fs::write(largest, &bytes).unwrap();
    done(&["backup", &to, "--from", &from]);
    refused(&["verify", &to], stored);
    // What was not damaged is taken over.
    bytes[middle] ^= 1;
    std::fs::write(largest, &bytes).unwrap();
    done(&["verify", &to]);
    assert!(!place.join("sent").exists());
}

#[test]
fn what_is_encrypted_needs_its_key() {
    let server = server("sealed", 1000);
    let (from, (place, to)) = (address(&server, "root"), beside(&server, "place"));
    let (key, wrong) = (beside(&server, "key").1, beside(&server, "wrong-key").1);
    std::fs::write(&key, "ab".repeat(32)).unwrap();
    std::fs::write(&wrong, "cd".repeat(32)).unwrap();
    done(&["backup", &to, "--from", &from, "--key-file", &key]);
    done(&["backup", &to, "--from", &from, "--key-file", &key]);
    done(&["verify", &to, "--key-file", &key]);
    refused(&["verify", &to], "are encrypted");
    refused(&["verify", &to, "--key-file", &wrong], "is not the key");
    let text: Vec<u8> = files(&place).iter().flat_map(|file| std::fs::read(file).unwrap()).collect();
    assert!(!text.windows(4).any(|part| part == b"shop"), "a name can be read");
    let (restored, target) = beside(&server, "restored");
    done(&["restore", &to, "--data-dir", &target, "--key-file", &key]);
    assert_eq!(of_directory(&restored, &[COUNT]), ["1000"]);
}

#[test]
fn branches_and_clones_are_servers_of_their_own() {
    let server = server("branch", 1000);
    let from = address(&server, "root");
    let ((branch, branch_dir), (clone, clone_dir)) = (beside(&server, "branch"), beside(&server, "clone"));
    done(&["branch", "--from", &from, "--data-dir", &branch_dir]);
    done(&["clone", "--from", &from, "--data-dir", &clone_dir]);
    refused(&["branch", "--from", &from, "--data-dir", &branch_dir], "database exists");
    refused(&["clone", "--from", &from, "--data-dir", &clone_dir], "is not empty");
    ok(&mut server.connect(), "DELETE FROM shop.item");
    for dir in [&branch, &clone] {
        let copy = Server::start_in(dir.to_path_buf());
        assert_eq!(value(&mut copy.connect(), COUNT), "1000");
        ok(&mut copy.connect(), "DELETE FROM shop.item WHERE id > 10");
        assert_ne!(value(&mut copy.connect(), "SELECT @@server_uuid"), value(&mut server.connect(), "SELECT @@server_uuid"));
    }
    ok(&mut server.connect(), "INSERT INTO shop.item VALUES (1, 'one')");
    assert_eq!(value(&mut server.connect(), COUNT), "1");
    let Answer::Err { code: 1525, .. } = server.connect().query("CLONE LOCAL DATA DIRECTORY = 'here'") else {
        panic!("a relative path is taken");
    };
    let inside = server.dir.join("rocksdb/inside");
    let answer = server.connect().query(&format!("CLONE LOCAL DATA DIRECTORY = '{}'", inside.display()));
    assert!(matches!(answer, Answer::Err { code: 1525, .. }), "{answer:?}");
}

#[test]
fn copies_need_backup_admin_and_leave_nothing_behind() {
    let server = server("privilege", 1000);
    let mut root = server.connect();
    let password = PASSWORD.replace('\'', "''");
    ok(&mut root, &format!("CREATE USER anyone IDENTIFIED BY '{password}'"));
    ok(&mut root, "GRANT SELECT ON *.* TO anyone");
    let (from, to) = (address(&server, "anyone"), beside(&server, "place").1);
    refused(&["backup", &to, "--from", &from], "BACKUP_ADMIN");
    refused(&["clone", "--from", &from, "--data-dir", &beside(&server, "clone").1], "BACKUP_ADMIN");
    refused(&["branch", "--from", &from, "--data-dir", &beside(&server, "branch").1], "BACKUP_ADMIN");
    ok(&mut root, "GRANT BACKUP_ADMIN ON *.* TO anyone");
    done(&["backup", &to, "--from", &from]);
    let copies = server.dir.join("copies");
    let is_empty = || std::fs::read_dir(&copies).map_or(true, |mut entries| entries.next().is_none());
    let began = std::time::Instant::now();
    while !is_empty() {
        assert!(began.elapsed().as_secs() < 60, "the copy stays");
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    // What a crash leaves goes at the next start.
    std::fs::create_dir_all(copies.join("7")).unwrap();
    let server = Server::start_in(server.kill());
    assert!(!copies.exists());
    assert_eq!(value(&mut server.connect(), COUNT), "1000");
}

/// The value of a status variable, once it is what is wanted.
fn status_until(client: &mut Client, name: &str, wanted: impl Fn(&str) -> bool) -> String {
    let began = std::time::Instant::now();
    loop {
        let rows = client.query(&format!("SHOW GLOBAL STATUS LIKE '{name}'")).rows();
        let value = rows.first().map_or(String::new(), |row| row[1].clone());
        if wanted(&value) {
            return value;
        }
        assert!(began.elapsed().as_secs() < 60, "{name} stays {value}");
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
}

#[test]
fn a_server_backs_itself_up() {
    let server = server("scheduled", 1000);
    let (place, to) = beside(&server, "place");
    let mut client = server.connect();
    ok(&mut client, "SET PERSIST vaquita_backup_interval = 1");
    ok(&mut client, "SET PERSIST vaquita_backup_keep = 2");
    // What cannot be written is said, and tried again when the setting changes.
    ok(&mut client, &format!("SET GLOBAL vaquita_backup_place = '{}'", server.dir.join("client.cnf").display()));
    status_until(&mut client, "Vaquita_backups_failed", |value| value != "0");
    assert_eq!(status_until(&mut client, "Vaquita_backup_overdue", |_| true), "ON");
    assert_ne!(status_until(&mut client, "Vaquita_backup_last_error", |_| true), "");
    ok(&mut client, &format!("SET PERSIST vaquita_backup_place = '{to}'"));
    status_until(&mut client, "Vaquita_backups_taken", |value| value.parse::<u64>().is_ok_and(|taken| taken >= 3));
    assert_eq!(status_until(&mut client, "Vaquita_backup_last_error", |_| true), "");
    // `verify` finds nothing wrong while backups come and go.
    for _ in 0..3 {
        done(&["verify", &to]);
    }
    ok(&mut client, "SET GLOBAL vaquita_backup_interval = 100000");
    // One that was begun before is complete before another goes for it.
    let began = std::time::Instant::now();
    while done(&["backups", &to]).lines().count() != 3 {
        assert!(began.elapsed().as_secs() < 60, "two backups and a heading");
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    // The log goes there, too: also what is committed behind the last backup.
    ok(&mut client, "DELETE FROM shop.item WHERE id < 100");
    let end = client.query("SHOW BINARY LOG STATUS").rows()[0][..2].join(":");
    status_until(&mut client, "Vaquita_backup_log_end", |value| value == end);
    status_until(&mut client, "Vaquita_backup_log_delay_seconds", |value| value.parse::<u64>().is_ok_and(|delay| delay < 10));
    done(&["verify", &to]);
    let (restored, target) = beside(&server, "restored");
    done(&["restore", &to, "--data-dir", &target, "--to-end"]);
    assert_eq!(of_directory(&restored, &[COUNT]), ["900"]);
    // A start goes on with the log, and takes what is due.
    let server = Server::start_in(server.kill());
    let mut client = server.connect();
    status_until(&mut client, "Vaquita_backups_taken", |value| value != "0");
    ok(&mut client, "FLUSH BINARY LOGS");
    let end = client.query("SHOW BINARY LOG STATUS").rows()[0][..2].join(":");
    status_until(&mut client, "Vaquita_backup_log_end", |value| value == end);
    done(&["verify", &to]);
    assert!(place.join("log").exists());
}
