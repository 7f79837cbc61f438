//! `vaquita serve`: opens everything in order, listens, and closes in the reverse order.

use std::net::{SocketAddr, TcpListener};
use std::os::fd::OwnedFd;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use rustix::net::sockopt;
use vaquita_storage::{Catalog, Engine, EngineOptions};
use vaquita_wire::auth::Plugin;
use vaquita_wire::password::{SALT_BYTES, make_caching_sha2};

use crate::accounts::{AccountRecord, Accounts};
use crate::pool::Pool;
use crate::server::{Hooks, Server, Settings};
use crate::tls::Keys;

type Failure = Box<dyn std::error::Error + Send + Sync>;

#[derive(clap::Args)]
pub struct ServeArguments {
    /// Where the data lives; created if it does not exist.
    #[arg(long, env = "VAQUITA_DATA_DIR")]
    pub data_dir: PathBuf,
    /// TCP port.
    #[arg(long, env = "VAQUITA_PORT", default_value_t = 3306)]
    pub port: u16,
    /// Address to listen on.
    #[arg(long, env = "VAQUITA_BIND", default_value = "127.0.0.1")]
    pub bind: String,
    /// Unix socket; `vaquita.sock` in the data directory if not given.
    #[arg(long, env = "VAQUITA_SOCKET")]
    pub socket: Option<PathBuf>,
    /// Password of root@localhost on the first start; random if not given.
    #[arg(long, env = "VAQUITA_INITIAL_ROOT_PASSWORD")]
    pub initial_root_password: Option<String>,
    /// Threads that run statements; the number of cores plus one if not given.
    #[arg(long, env = "VAQUITA_THREADS")]
    pub threads: Option<usize>,
}

pub fn run(arguments: ServeArguments) -> Result<(), Failure> {
    let dir = prepare_dir(&arguments.data_dir)?;
    let hooks = Arc::new(Hooks::default());
    let engine = Engine::open(&dir.join("rocksdb"), EngineOptions::default(), hooks.clone())?;
    let catalog = Catalog::open(&engine)?;
    let keys = Keys::load_or_create(&dir)?;
    let accounts = Accounts::default();
    let password = root_password(&dir, &arguments)?;
    accounts.insert(root_account(&password));
    let cores = std::thread::available_parallelism().map_or(2, usize::from);
    let pool = Pool::start(arguments.threads.unwrap_or(cores + 1))?;
    let _ = hooks.pool.set(pool.clone());
    let settings = Settings { max_connections: 12_000, connect_timeout: Duration::from_secs(10), local_infile: false };
    let server = Server::new(engine, catalog, dir.clone(), settings, pool, accounts, Some(keys));
    let tcp = TcpListener::bind((arguments.bind.as_str(), arguments.port))
        .map_err(|e| format!("cannot listen on {}:{}: {e}", arguments.bind, arguments.port))?;
    let path = arguments.socket.clone().unwrap_or_else(|| dir.join("vaquita.sock"));
    let _ = std::fs::remove_file(&path);
    let unix = UnixListener::bind(&path).map_err(|e| format!("cannot listen on {}: {e}", path.display()))?;
    listen(&server, tcp, unix)?;
    tracing::info!("ready for connections on {}:{} and {}", arguments.bind, arguments.port, path.display());
    wait_for_signal(&server)?;
    let _ = std::fs::remove_file(&path);
    server.engine.shutdown()?;
    Ok(())
}

fn prepare_dir(dir: &Path) -> Result<PathBuf, Failure> {
    if !dir.exists() {
        std::fs::DirBuilder::new().recursive(true).mode(0o700).create(dir)?;
    }
    std::fs::set_permissions(dir, std::fs::Permissions::from_mode(0o700))?;
    Ok(dir.canonicalize()?)
}

/// The password in `client.cnf`, which the first start writes.
fn root_password(dir: &Path, arguments: &ServeArguments) -> Result<String, Failure> {
    let path = dir.join("client.cnf");
    if let Ok(text) = std::fs::read_to_string(&path)
        && let Some(line) = text.lines().find_map(|l| l.strip_prefix("password="))
    {
        return Ok(line.trim_matches('"').to_string());
    }
    let random = || (0..20).map(|_| char::from(b"abcdefghijkmnpqrstuvwxyzACDEFGHJKLMNPQRSTUVWXYZ2345679"[rand::random_range(0..55)])).collect();
    let password: String = arguments.initial_root_password.clone().unwrap_or_else(random);
    let socket = arguments.socket.clone().unwrap_or_else(|| dir.join("vaquita.sock"));
    let text = format!("[client]\nuser=root\npassword=\"{password}\"\nhost=127.0.0.1\nport={}\nsocket={}\n", arguments.port, socket.display());
    let mut file = std::fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&path)?;
    std::io::Write::write_all(&mut file, text.as_bytes())?;
    file.sync_all()?;
    Ok(password)
}

fn root_account(password: &str) -> AccountRecord {
    let salt: [u8; SALT_BYTES] = std::array::from_fn(|_| rand::random_range(b'a'..=b'z'));
    AccountRecord {
        user: "root".into(),
        host: "localhost".into(),
        plugin: Plugin::CachingSha2Password,
        authentication_string: if password.is_empty() { Vec::new() } else { make_caching_sha2(password.as_bytes(), &salt) },
        locked: false,
        requires_tls: false,
    }
}

fn listen(server: &Arc<Server>, tcp: TcpListener, unix: UnixListener) -> Result<(), Failure> {
    let accepting = server.clone();
    std::thread::Builder::new().name("accept-tcp".into()).spawn(move || {
        while !accepting.stopping.load(Ordering::Relaxed) {
            match tcp.accept() {
                Ok((stream, peer)) => accept(&accepting, stream.into(), Some(peer), None),
                Err(error) => refused(&error),
            }
        }
    })?;
    let accepting = server.clone();
    std::thread::Builder::new().name("accept-unix".into()).spawn(move || {
        while !accepting.stopping.load(Ordering::Relaxed) {
            match unix.accept() {
                Ok((stream, _)) => {
                    let uid = sockopt::socket_peercred(&stream).ok().map(|c| c.uid.as_raw());
                    accept(&accepting, stream.into(), None, uid.or(Some(u32::MAX)));
                }
                Err(error) => refused(&error),
            }
        }
    })?;
    let expiring = server.clone();
    std::thread::Builder::new().name("time-outs".into()).spawn(move || {
        while !expiring.stopping.load(Ordering::Relaxed) {
            std::thread::sleep(Duration::from_secs(1));
            expiring.clients().expire(expiring.settings.connect_timeout);
        }
    })?;
    Ok(())
}

fn accept(server: &Arc<Server>, socket: OwnedFd, peer: Option<SocketAddr>, uid: Option<u32>) {
    server.accept(socket, peer, uid);
}

/// Out of descriptors, mostly: wait a little instead of spinning.
fn refused(error: &std::io::Error) {
    tracing::warn!(%error, "cannot accept a connection");
    std::thread::sleep(Duration::from_millis(50));
}

fn wait_for_signal(server: &Arc<Server>) -> Result<(), Failure> {
    let mut signals = signal_hook::iterator::Signals::new([signal_hook::consts::SIGTERM, signal_hook::consts::SIGINT])?;
    let signal = signals.forever().next();
    tracing::info!(?signal, "shutting down");
    server.stopping.store(true, Ordering::SeqCst);
    for client in server.clients().list() {
        client.kill(true);
    }
    server.pool().stop();
    Ok(())
}
