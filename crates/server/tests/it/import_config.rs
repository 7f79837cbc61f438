//! A server that is started with the option file of another.

use std::path::PathBuf;
use std::process::Command;

use crate::server::Server;

const FILE: &str = "\
[mysqld]
max_connections = 77
wait_timeout = 1234
sql_mode = NO_ENGINE_SUBSTITUTION
sort_buffer_size = 1M
innodb_buffer_pool_size = 128M
character-set-server = latin1
datadir = /var/lib/mysql
port = 1
";

fn write(name: &str, text: &str) -> PathBuf {
    let path = std::env::temp_dir().join(format!("vaquita-it-{}-{name}.cnf", std::process::id()));
    std::fs::write(&path, text).expect("write");
    path
}

#[test]
fn the_option_file_of_another_server_counts_at_each_start() {
    let file = write("import", FILE);
    let options = ["--import-config", &file.display().to_string()].map(str::to_string);
    let options: Vec<&str> = options.iter().map(String::as_str).collect();
    let server = Server::start_with("import", &options);
    let asked = "SELECT @@max_connections, @@wait_timeout, @@sql_mode, @@sort_buffer_size, @@collation_server";
    assert_eq!(server.connect().query(asked).rows(), [["77", "1234", "NO_ENGINE_SUBSTITUTION", "1048576", "latin1_swedish_ci"]]);
    let log = std::fs::read_to_string(server.dir.with_extension("log")).expect("log");
    assert!(log.contains("max_connections = 77") && log.contains("datadir = /var/lib/mysql"), "{log}");
    // What SET PERSIST keeps counts before the file, and the command line before both.
    server.connect().query("SET PERSIST wait_timeout = 4321");
    let dir = server.terminate().2;
    std::fs::write(&file, FILE.replace("1M", "2M")).expect("write");
    let more: Vec<&str> = options.iter().copied().chain(["--max-connections", "88"]).collect();
    let server = Server::start_in_with(dir, &more);
    assert_eq!(server.connect().query(asked).rows(), [["88", "4321", "NO_ENGINE_SUBSTITUTION", "2097152", "latin1_swedish_ci"]]);
    std::fs::remove_file(file).expect("remove");
}

#[test]
fn a_server_does_not_start_with_what_it_would_not_do() {
    let file = write("refused", "[mysqld]\nlower_case_table_names = 1\nwait_timeout = 100\n");
    let dir = std::env::temp_dir().join(format!("vaquita-it-{}-refused", std::process::id()));
    let run = |arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_vaquita"));
        let output = command.args(arguments).output().expect("vaquita");
        (output.status.code(), String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned())
    };
    let path = file.display().to_string();
    let (code, told) = run(&["serve", "--data-dir", &dir.display().to_string(), "--import-config", &path]);
    assert_eq!(code, Some(1), "{told}");
    assert!(told.contains("--ignore-settings=lower_case_table_names"), "{told}");
    assert!(!dir.exists(), "nothing was made");
    let (code, told) = run(&["import-config", &path]);
    assert_eq!(code, Some(1), "{told}");
    let (code, told) = run(&["import-config", "--ignore-settings", "lower-case-table-names", &path]);
    assert_eq!(code, Some(0), "{told}");
    std::fs::remove_file(file).expect("remove");
}

#[test]
fn nobody_connects_over_tcp_without_networking() {
    let server = Server::start("networking");
    let dir = server.terminate().2;
    let socket = dir.join("vaquita.sock");
    let mut child = Command::new(env!("CARGO_BIN_EXE_vaquita"))
        .args(["serve", "--skip-networking", "--http=off", "--data-dir"])
        .arg(&dir)
        .spawn()
        .expect("vaquita");
    let mut client = loop {
        if let Ok(client) = crate::client::Client::connect_unix(&socket, "root", "") {
            break client;
        }
        assert!(child.try_wait().expect("wait").is_none(), "the server has ended");
        std::thread::sleep(std::time::Duration::from_millis(20));
    };
    assert_eq!(client.query("SELECT 1").rows(), [["1"]]);
    let listening = std::fs::read_to_string(format!("/proc/{}/net/tcp", child.id())).expect("tcp");
    let inodes: Vec<&str> =
        listening.lines().filter(|l| l.contains(" 0A ")).filter_map(|l| l.split_whitespace().nth(9)).collect();
    let own: Vec<String> = std::fs::read_dir(format!("/proc/{}/fd", child.id()))
        .expect("fd")
        .filter_map(|entry| std::fs::read_link(entry.ok()?.path()).ok())
        .map(|link| link.display().to_string())
        .collect();
    assert!(!inodes.iter().any(|inode| own.contains(&format!("socket:[{inode}]"))), "{own:?}");
    child.kill().expect("kill");
    child.wait().expect("wait");
    std::fs::remove_dir_all(dir).expect("remove");
}
