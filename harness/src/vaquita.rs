//! Vaquita, or a peer that is tested in its place (`under_test`), as a process: started, waited for, stopped or killed.

use std::fs::{self, File, OpenOptions};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::client::{Answer, Client};

/// Password of root in every directory that a harness creates.
pub const PASSWORD: &str = "harness";
/// A server that does not answer by then is taken for hung.
const START_MAX: Duration = Duration::from_secs(120);
const STOP_MAX: Duration = Duration::from_secs(120);
const POLL: Duration = Duration::from_millis(2);

pub struct Vaquita {
    child: Child,
    pub port: u16,
    /// From the spawn to the first answered query.
    pub start_time: Duration,
}

/// A started process that has not answered yet.
pub struct Starting {
    child: Child,
    port: u16,
    spawned: Instant,
    log: PathBuf,
}

impl Vaquita {
    /// Starts `binary` on `dir`, waits for its first answer. Its messages are appended to `log`.
    pub fn start(binary: &Path, dir: &Path, port: u16, log: &Path) -> Result<Vaquita, String> {
        Vaquita::spawn(binary, dir, port, log)?.wait()
    }

    /// Starts `binary` on `dir`, and waits for nothing.
    pub fn spawn(binary: &Path, dir: &Path, port: u16, log: &Path) -> Result<Starting, String> {
        Vaquita::spawn_with(binary, dir, port, log, &[])
    }

    /// As `spawn`, with more options.
    pub fn spawn_with(binary: &Path, dir: &Path, port: u16, log: &Path, more: &[&str]) -> Result<Starting, String> {
        Vaquita::spawn_command(Command::new(binary), dir, port, log, more)
    }

    /// As `spawn_with`; `command` runs the binary, and takes its arguments.
    pub fn spawn_command(mut command: Command, dir: &Path, port: u16, log: &Path, more: &[&str]) -> Result<Starting, String> {
        let messages: File =
            OpenOptions::new().create(true).append(true).open(log).map_err(|e| format!("{}: {e}", log.display()))?;
        let same = messages.try_clone().map_err(|e| e.to_string())?;
        command
            .args(["serve", "--data-dir"])
            .arg(dir)
            .args(["--port", &port.to_string(), "--initial-root-password", PASSWORD])
            .args(more)
            // All servers would want the same port.
            .env("VAQUITA_HTTP", "off")
            .stdin(Stdio::null())
            .stdout(same)
            .stderr(messages);
        Starting::spawn(&mut command, port, log)
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    pub fn connect(&self) -> Result<Client, String> {
        Client::connect(self.port, "root", PASSWORD).map_err(|e| format!("cannot connect: {e}"))
    }

    pub fn has_ended(&mut self) -> bool {
        !matches!(self.child.try_wait(), Ok(None))
    }

    /// `kill -9`.
    pub fn kill(mut self) -> Result<(), String> {
        self.kill_now()
    }

    /// `kill -9` of a server that is to be replaced.
    pub fn kill_now(&mut self) -> Result<(), String> {
        self.child.kill().and_then(|()| self.child.wait()).map(|_| ()).map_err(|e| e.to_string())
    }

    /// SIGTERM, and waits for the end.
    pub fn stop(mut self) -> Result<(), String> {
        let sent = Command::new("sh").args(["-c", &format!("kill {}", self.child.id())]).status().map_err(|e| e.to_string())?;
        let start = Instant::now();
        while sent.success() && start.elapsed() < STOP_MAX {
            if let Some(status) = self.child.try_wait().map_err(|e| e.to_string())? {
                return if status.success() { Ok(()) } else { Err(format!("the server ended with {status}")) };
            }
            sleep(POLL);
        }
        Err("the server does not stop on SIGTERM".into())
    }
}

impl Drop for Vaquita {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Starting {
    /// Runs `command`, which serves on `port` and whose messages are in `log`.
    pub fn spawn(command: &mut Command, port: u16, log: &Path) -> Result<Starting, String> {
        let spawned = Instant::now();
        let child = command.spawn().map_err(|e| format!("{:?}: {e}", command.get_program()))?;
        Ok(Starting { child, port, spawned, log: log.to_path_buf() })
    }

    pub fn wait(mut self) -> Result<Vaquita, String> {
        let start_time =
            match first_answer(self.port, "root", PASSWORD, self.spawned, || matches!(self.child.try_wait(), Ok(None))) {
                Ok(time) => time,
                Err(text) => {
                    let _ = self.kill_now();
                    return Err(format!("{text}; the end of {}:\n{}", self.log.display(), last_lines(&self.log, 20)));
                }
            };
        Ok(Vaquita { child: self.child, port: self.port, start_time })
    }

    /// As `wait`; `None` if the process ended before it answered.
    pub fn answered(mut self) -> Option<Vaquita> {
        let alive = || matches!(self.child.try_wait(), Ok(None));
        let start_time = first_answer(self.port, "root", PASSWORD, self.spawned, alive).ok()?;
        Some(Vaquita { child: self.child, port: self.port, start_time })
    }

    /// `kill -9` before it answered.
    pub fn kill(mut self) -> Result<(), String> {
        self.kill_now().map_err(|e| e.to_string())
    }

    fn kill_now(&mut self) -> std::io::Result<()> {
        self.child.kill()?;
        self.child.wait().map(|_| ())
    }
}

/// Asks the server on `port` until it answers `SELECT 1`, while `alive`; returns the time since `spawned`.
pub fn first_answer(
    port: u16,
    user: &str,
    password: &str,
    spawned: Instant,
    mut alive: impl FnMut() -> bool,
) -> Result<Duration, String> {
    loop {
        let last = match Client::connect(port, user, password).and_then(|mut client| client.try_query("SELECT 1")) {
            Ok(Answer::Rows { .. }) => return Ok(spawned.elapsed()),
            Ok(other) => format!("{other:?}"),
            Err(error) => error.to_string(),
        };
        if !alive() {
            return Err("the server ended before it answered".into());
        }
        if spawned.elapsed() > START_MAX {
            return Err(format!("no answer from port {port} after {} s: {last}", START_MAX.as_secs()));
        }
        sleep(POLL);
    }
}

/// A port that nobody listens on now.
pub fn free_port() -> Result<u16, String> {
    TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr()).map(|a| a.port()).map_err(|e| e.to_string())
}

pub fn last_lines(path: &Path, count: usize) -> String {
    let text = fs::read_to_string(path).unwrap_or_default();
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(count)..].join("\n")
}
