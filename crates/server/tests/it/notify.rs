//! What a service manager hears of a server: a start, answers to its watchdog, an end.

use std::os::unix::net::UnixDatagram;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use crate::client::Client;
use crate::server::{PASSWORD, Server};

/// Longer than any message takes; a test that fails waits for it.
const SILENCE_MAX: Duration = Duration::from_secs(60);

struct Manager {
    socket: UnixDatagram,
    path: PathBuf,
}

impl Manager {
    fn new(name: &str) -> Manager {
        let path = std::env::temp_dir().join(format!("vaquita-it-{}-{name}.notify", std::process::id()));
        let _ = std::fs::remove_file(&path);
        let socket = UnixDatagram::bind(&path).expect("bind");
        socket.set_read_timeout(Some(SILENCE_MAX)).expect("time-out");
        Manager { socket, path }
    }

    fn message(&self) -> String {
        let mut buffer = [0; 4096];
        let len = self.socket.recv(&mut buffer).expect("the server says something");
        String::from_utf8_lossy(&buffer[..len]).into_owned()
    }

    fn wait_for(&self, line: &str) -> Vec<String> {
        let mut seen = Vec::new();
        while !seen.iter().any(|message: &String| message.lines().any(|said| said == line)) {
            seen.push(self.message());
        }
        seen
    }
}

impl Drop for Manager {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

fn start(name: &str, manager: &Manager) -> Server {
    // Half a second: the server asks itself three times in it.
    let watchdog = PathBuf::from("500000");
    Server::start_with_env(name, &[("NOTIFY_SOCKET", &manager.path), ("WATCHDOG_USEC", &watchdog)])
}

#[test]
fn a_service_manager_is_told_of_start_watchdog_and_end() {
    let manager = Manager::new("notify");
    let server = start("notify", &manager);
    assert_eq!(manager.message(), "STATUS=Opening the data\n");
    let ready = manager.wait_for("READY=1").pop().unwrap_or_default();
    assert!(ready.contains(&format!("\nSTATUS=Ready for connections on 127.0.0.1:{} and ", server.port)), "{ready}");
    for _ in 0..3 {
        manager.wait_for("WATCHDOG=1");
    }
    let (_, exited_well, dir) = server.terminate();
    assert!(exited_well);
    let seen = manager.wait_for("STOPPING=1");
    assert!(seen.iter().any(|message| message.contains("STATUS=Shutting down")), "{seen:?}");
    std::fs::remove_dir_all(dir).expect("remove");
}

/// A thread that lives is not enough: nobody can connect to this server any more.
#[test]
fn a_server_that_does_not_answer_does_not_feed_its_watchdog() {
    let manager = Manager::new("watchdog");
    let server = start("watchdog", &manager);
    manager.wait_for("WATCHDOG=1");
    std::fs::remove_file(server.dir.join("vaquita.sock")).expect("the socket");
    // What is under way may still be told.
    manager.socket.set_read_timeout(Some(Duration::from_secs(2))).expect("time-out");
    let mut buffer = [0; 4096];
    let mut late = 0;
    while manager.socket.recv(&mut buffer).is_ok() {
        late += 1;
        assert!(late <= 2, "{late} messages of a server that nobody reaches");
    }
    assert!(Client::connect(server.port, "root", PASSWORD).is_ok(), "it lives");
}

#[test]
fn ping_says_whether_a_server_answers() {
    let server = Server::start("ping");
    let socket = server.dir.join("vaquita.sock");
    let ping = |arguments: &[&str]| {
        let output = Command::new(env!("CARGO_BIN_EXE_vaquita")).arg("ping").args(arguments).output().expect("vaquita ping");
        (output.status.success(), String::from_utf8_lossy(&output.stdout).into_owned())
    };
    assert_eq!(ping(&["--socket", &socket.display().to_string()]), (true, format!("root@{} is alive\n", socket.display())));
    let address = format!("mysql://nobody@127.0.0.1:{}", server.port);
    assert!(ping(&[&address]).0, "a server that refuses a login answers");
    server.kill();
    assert!(!ping(&[&address]).0);
    assert!(!ping(&["--socket", "/no/such/socket"]).0);
}
