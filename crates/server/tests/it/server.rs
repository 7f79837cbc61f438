//! Starts the built `vaquita` on a free port with a directory of its own.

use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::client::Client;

pub const PASSWORD: &str = "it's a test";
const START_S_MAX: u64 = 60;

pub struct Server {
    child: Child,
    pub dir: PathBuf,
    pub port: u16,
    keep: bool,
}

impl Server {
    /// A server on an empty directory, named after the test.
    pub fn start(name: &str) -> Server {
        let dir = std::env::temp_dir().join(format!("vaquita-it-{}-{name}", std::process::id()));
        let _ = std::fs::remove_dir_all(&dir);
        Server::start_in(dir)
    }

    /// As `start`, with more options.
    pub fn start_with(name: &str, options: &[&str]) -> Server {
        let dir = std::env::temp_dir().join(format!("vaquita-it-{}-{name}", std::process::id()));
        let _ = std::fs::remove_dir_all(&dir);
        Server::start_in_with(dir, options)
    }

    pub fn start_in(dir: PathBuf) -> Server {
        Server::start_in_with(dir, &[])
    }

    /// With more options on the command line.
    pub fn start_in_with(dir: PathBuf, options: &[&str]) -> Server {
        Server::run_in(dir, options, &[])
    }

    /// With more variables of the environment.
    pub fn start_with_env(name: &str, env: &[(&str, &PathBuf)]) -> Server {
        let dir = std::env::temp_dir().join(format!("vaquita-it-{}-{name}", std::process::id()));
        let _ = std::fs::remove_dir_all(&dir);
        Server::start_in_with_env(dir, env)
    }

    pub fn start_in_with_env(dir: PathBuf, env: &[(&str, &PathBuf)]) -> Server {
        Server::run_in(dir, &[], env)
    }

    fn run_in(dir: PathBuf, options: &[&str], env: &[(&str, &PathBuf)]) -> Server {
        // The port may be taken between here and the server's bind: then it exits, and we try another.
        for _ in 0..5 {
            let port = free_port();
            let child = Command::new(env!("CARGO_BIN_EXE_vaquita"))
                .args(["serve", "--data-dir"])
                .arg(&dir)
                .args(["--port", &port.to_string(), "--initial-root-password", PASSWORD])
                // All servers would want the same port.
                .args(options.iter().all(|option| !option.starts_with("--http")).then_some("--http=off"))
                .args(options)
                .envs(env.iter().copied())
                .stdout(Stdio::null())
                .stderr(std::fs::OpenOptions::new().create(true).append(true).open(dir.with_extension("log")).expect("log file"))
                .spawn()
                .expect("vaquita starts");
            let mut server = Server { child, dir: dir.clone(), port, keep: false };
            if server.wait_until_up() {
                return server;
            }
            server.keep = true;
        }
        panic!("vaquita did not start; see {}", dir.with_extension("log").display());
    }

    fn wait_until_up(&mut self) -> bool {
        let start = Instant::now();
        while start.elapsed() < Duration::from_secs(START_S_MAX) {
            if self.child.try_wait().expect("wait").is_some() {
                return false;
            }
            if let Ok(mut client) = Client::connect(self.port, "root", PASSWORD) {
                // Another test's server may have got the port: then ours is about to exit.
                let datadir = client.query("SELECT @@datadir").rows()[0][0].clone();
                return Path::new(&datadir) == self.dir.canonicalize().expect("a directory");
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        false
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    pub fn connect(&self) -> Client {
        Client::connect(self.port, "root", PASSWORD).expect("root connects")
    }

    /// `kill -9`; the directory stays.
    pub fn kill(mut self) -> PathBuf {
        self.keep = true;
        self.child.kill().expect("kill");
        self.child.wait().expect("wait");
        self.dir.clone()
    }

    /// SIGTERM; returns how long the server took, and whether it exited well.
    pub fn terminate(mut self) -> (Duration, bool, PathBuf) {
        self.keep = true;
        let start = Instant::now();
        let status = Command::new("sh").args(["-c", &format!("kill {}", self.child.id())]).status().expect("kill");
        assert!(status.success());
        let exit = self.child.wait().expect("wait");
        (start.elapsed(), exit.success(), self.dir.clone())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        if !self.keep && !std::thread::panicking() {
            let _ = std::fs::remove_dir_all(&self.dir);
            let _ = std::fs::remove_file(self.dir.with_extension("log"));
            let _ = std::fs::remove_dir_all(self.dir.with_extension("beside"));
        }
    }
}

pub fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").and_then(|l| l.local_addr()).expect("a free port").port()
}
