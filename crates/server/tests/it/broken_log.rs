//! A server whose stderr takes nothing: a pipe that is closed, or full. It serves, and when its disk fails it ends, as always.

use std::io::{PipeReader, PipeWriter, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{Pid, Resource, Rlimit, prlimit};

use crate::client::{Answer, Client};
use crate::server::{PASSWORD, free_port};

const SIGABRT: i32 = 6;
/// Only a failure lasts as long.
const PATIENCE: Duration = Duration::from_secs(60);

/// The server, on which a file that becomes too long is an error and no signal.
fn start(dir: &Path, port: u16, stderr: PipeWriter) -> Child {
    Command::new("sh")
        .args(["-c", "trap '' XFSZ; exec \"$@\"", "sh", env!("CARGO_BIN_EXE_vaquita"), "serve", "--data-dir"])
        .arg(dir)
        .args(["--port", &port.to_string(), "--initial-root-password", PASSWORD])
        .env("VAQUITA_HTTP", "off")
        .stdout(Stdio::null())
        .stderr(stderr)
        .spawn()
        .expect("vaquita starts")
}

fn connect(server: &mut Child, port: u16) -> Client {
    let start = Instant::now();
    loop {
        if let Ok(client) = Client::connect(port, "root", PASSWORD) {
            return client;
        }
        assert!(server.try_wait().expect("wait").is_none(), "the server has ended");
        assert!(start.elapsed() < PATIENCE, "the server does not answer");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Writes until the log cannot be written; how the server ended.
fn end_of(name: &str, stderr: PipeWriter) -> ExitStatus {
    let dir = std::env::temp_dir().join(format!("vaquita-it-{}-{name}", std::process::id()));
    let _ = std::fs::remove_dir_all(&dir);
    let port = free_port();
    let mut server = start(&dir, port, stderr);
    let mut client = connect(&mut server, port);
    client.query("CREATE DATABASE d");
    client.query("CREATE TABLE d.t (id INT PRIMARY KEY)");
    assert!(matches!(client.query("INSERT INTO d.t VALUES (1)"), Answer::Ok { .. }));
    let limit = Rlimit { current: Some(1), maximum: None };
    prlimit(Pid::from_raw(server.id() as i32), Resource::Fsize, limit).expect("limit");
    assert!(client.try_query("INSERT INTO d.t VALUES (2)").is_err(), "nothing is acknowledged");
    let start = Instant::now();
    let status = loop {
        if let Some(status) = server.try_wait().expect("wait") {
            break status;
        }
        if start.elapsed() > PATIENCE {
            let _ = server.kill();
            panic!("the server lives on");
        }
        std::thread::sleep(Duration::from_millis(20));
    };
    let _ = std::fs::remove_dir_all(&dir);
    status
}

#[test]
fn a_failed_write_ends_a_server_whose_stderr_is_closed() {
    let (reader, writer) = std::io::pipe().expect("pipe");
    drop(reader);
    assert_eq!(end_of("log-closed", writer).signal(), Some(SIGABRT));
}

#[test]
fn a_failed_write_ends_a_server_whose_stderr_is_full() {
    let (reader, mut writer): (PipeReader, PipeWriter) = std::io::pipe().expect("pipe");
    let at_once = rustix::event::Timespec { tv_sec: 0, tv_nsec: 0 };
    while poll(&mut [PollFd::new(&writer, PollFlags::OUT)], Some(&at_once)).expect("poll") > 0 {
        writer.write_all(&[b'x'; 4096]).expect("fills");
    }
    assert_eq!(end_of("log-full", writer).signal(), Some(SIGABRT));
    drop(reader);
}
