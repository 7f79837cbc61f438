//! `vaquita serve`: opens everything in order, listens, and closes in the reverse order.
//!
//! 1. `prepare_dir` makes the directory (0700) and locks it: a second server on it is refused.
//! 2. Engine, catalog, accounts, keys are opened; the first start makes `root`@`localhost` and writes `client.cnf`.
//!    The HTTP front is there before them, and says meanwhile that the server starts.
//! 3. The sockets are bound; threads accept, `Front::accept` greets.
//!    A service manager is told of it (`notify`), as of the start and the end.
//! 4. SIGTERM or SIGINT: no new connections, running statements are ended, the catalog's work stops, the log is synced.
//!    After `SHUTDOWN_MS_MAX` the process ends even if a statement still runs: what was acknowledged is durable.

use std::fs::File;
use std::net::TcpListener;
use std::os::fd::OwnedFd;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::JoinHandle;
use std::time::Duration;

use rustix::net::sockopt;
use vaquita_storage::{Catalog, Engine, EngineHooks, EngineOptions, kill_point, kill_points, mark_format};
use vaquita_types::Value;

use crate::fronts::http::HttpFront;
use crate::fronts::mysql::front::{Front, Hooks, Origin};
use crate::fronts::mysql::tls::Keys;
use crate::log_files::FileWriter;
use crate::options::{ServeArguments, ServeOptions};
use crate::pool::Pool;
use crate::{backups, descriptors, durable, events, notify, tuner};
use vaquita_replication::ChannelThreads;
use vaquita_replication::log::{BinaryLog, GlobalSettings, LogStatements};
use vaquita_session::accounts::{AccountRecord, Accounts, root_account};
use vaquita_session::data_dir::{COPIES, INITIALIZED, NEW_IDENTITY, ROCKSDB};
use vaquita_session::log_lines;
use vaquita_session::server::{Server, VERSION};
use vaquita_session::variables::{Fixed, Globals, Var, forget_server_uuid, registry};

type Failure = Box<dyn std::error::Error + Send + Sync>;

/// How exactly `max_execution_time` is kept.
const DEADLINE_LOOKS_PER_SECOND: u64 = 50;
/// Of these looks one in so many is also for clients that are gone.
const LOOKS_BETWEEN_ABANDONED: u64 = 10;
/// Running statements get this long to end.
const STATEMENTS_END_MS_MAX: u64 = 2_000;
/// The whole of a shutdown.
const SHUTDOWN_MS_MAX: u64 = 4_500;
const RANDOM_PASSWORD_CHARS: usize = 20;
/// Without those that look alike.
const PASSWORD_ALPHABET: &[u8] = b"abcdefghijkmnpqrstuvwxyzACDEFGHJKLMNPQRSTUVWXYZ2345679";

pub fn run(arguments: ServeArguments) -> Result<(), Failure> {
    let options = arguments.resolve()?;
    let starting = notify::starting();
    let (dir, _lock) = prepare_dir(&options.data_dir)?;
    log_lines::follow(options.log_error_services());
    if let Some(file) = &options.log_error {
        let path = dir.join(file);
        crate::log::to_file(&path).map_err(|e| format!("cannot write to the log {}: {e}", path.display()))?;
    }
    let [tcp, admin, mariadb] = listeners(&options)?;
    let path = options.socket.clone().unwrap_or_else(|| dir.join("vaquita.sock"));
    let http = options.http.as_ref().and_then(|(bind, port)| HttpFront::start(bind, *port));
    let descriptors = descriptors::claim();
    let Opened { server, log, pool } = open(&dir, &path, &options, descriptors.engine_files_max)?;
    let keys = Keys::load_or_create(&dir, &server.globals);
    let keys = keys.map_err(|e| format!("cannot read or make the keys in {}: {e}", dir.display()))?;
    let unix = bind_unix(&path)?;
    let front = Front::new(server, pool, Some(keys), descriptors.connections_max);
    if let Some(log) = log {
        let _ = front.binary_log.set(Arc::new(log));
    }
    let scheduled = front.server.clone();
    std::thread::Builder::new().name("events".into()).spawn(move || events::run(&scheduled))?;
    let mut background = Vec::from(backups::start(&front)?);
    background.push(tuner::start(&front)?);
    let place = match tcp {
        Some(_) => format!("{}:{} and {}", options.bind, options.port, path.display()),
        None => path.display().to_string(),
    };
    listen(&front, [tcp, admin, mariadb], unix)?;
    kill_point("start.listening");
    if !is_on(&front.server, "skip_replica_start") {
        front.server.replication.start_all();
    }
    tracing::info!("ready for connections on {place}");
    if let Some(http) = &http {
        http.ready(&front);
    }
    drop(starting);
    notify::ready(&front, &path, &place)?;
    wait_for_signal()?;
    notify::stopping();
    if let Some(http) = &http {
        http.stop();
    }
    shut_down(&front, &path, &background)
}

/// Those for clients, for administrators, and for who must take the server for a MariaDB; none without networking.
fn listeners(options: &ServeOptions) -> Result<[Option<TcpListener>; 3], Failure> {
    if options.skip_networking {
        return Ok([None, None, None]);
    }
    let admin = options.admin_address.as_ref().map(|address| listen_at(address, options.admin_port)).transpose()?;
    let mariadb = options.mariadb_port.map(|port| listen_at(&options.bind, port)).transpose()?;
    Ok([Some(listen_at(&options.bind, options.port)?), admin, mariadb])
}

/// `*` is MySQL's word for all addresses: those of both protocols where the machine has both.
fn listen_at(address: &str, port: u16) -> Result<TcpListener, Failure> {
    let listener = match address {
        "*" => TcpListener::bind(("::", port)).or_else(|_| TcpListener::bind(("0.0.0.0", port))),
        address => TcpListener::bind((address, port)),
    };
    Ok(listener.map_err(|e| format!("cannot listen on {address}:{port}: {e}"))?)
}

/// A server that nobody can connect to yet.
pub struct Opened {
    pub server: Arc<Server>,
    /// Nothing without a binary log.
    pub log: Option<Arc<BinaryLog>>,
    pub pool: Arc<Pool>,
}

/// Opens everything in a directory that `prepare_dir` has locked.
pub fn open(dir: &Path, socket: &Path, options: &ServeOptions, engine_files_max: Option<u64>) -> Result<Opened, Failure> {
    let hooks = Arc::new(Hooks::default());
    let engine_options = EngineOptions { open_files_max: engine_files_max, ..options.engine.clone() };
    let mut log = None;
    let engine = Engine::open_with(&dir.join(ROCKSDB), engine_options, EngineHooks::of(hooks.clone()), |rocks, store| {
        let opened = BinaryLog::open(rocks, store)?;
        log = Some(opened.clone());
        Ok(opened)
    })
    .map_err(|e| format!("cannot open the data in {}: {e}", dir.display()))?;
    let catalog = Catalog::open(&engine)?;
    kill_point("start.catalog");
    mark_format(&catalog, VERSION)?;
    let accounts = Accounts::open(catalog.clone())?;
    let initialized = dir.join(INITIALIZED);
    if accounts.is_empty() {
        // Otherwise damage that hides everything, as to the MANIFEST, would look like a new directory.
        if initialized.exists() {
            return Err(
                format!("the database in {} has lost its contents: its MANIFEST or its log is damaged", dir.display()).into()
            );
        }
        first_start(dir, socket, options, &accounts)?;
    }
    if !initialized.exists() {
        durable::write(dir, INITIALIZED, "", 0o600).map_err(|e| format!("cannot write {}: {e}", initialized.display()))?;
    }
    become_another(dir, &catalog).map_err(|e| format!("cannot make a new server of a copy in {}: {e}", dir.display()))?;
    let pool = Pool::start(options.threads.unwrap_or(vaquita_storage::cores() + 1))?;
    let _ = hooks.pool.set(pool.clone());
    let globals = Arc::new(Globals::new(&variables(dir, socket, options, &catalog)?));
    for (def, value) in &options.imported {
        globals.set(def, value.clone(), &engine)?;
    }
    vaquita_types::memory::set_bytes_max(vaquita_session::memory::bytes_max(u64::MAX));
    globals.load(&catalog, &engine)?;
    log_lines::follow(&globals.text(Var::LogErrorServices));
    kill_point("start.variables");
    let server = Server::new(engine, catalog, globals, accounts, hooks.clone());
    let _ = hooks.server.set(Arc::downgrade(&server));
    if let Err(error) = vaquita_session::sys_schema::prepare(&server) {
        tracing::error!("the schema sys cannot be made: {}", error.message());
    }
    server.replication.load(&server.catalog)?;
    let log = log.filter(|_| options.log_bin);
    if let Some(log) = &log {
        log.begin(GlobalSettings::new(server.globals.clone()), &server.replication.executed())?;
        let _ = server.commit_log.set(log.clone());
        LogStatements::register(&server, log.clone());
    }
    ChannelThreads::register(&server);
    server.logs.start(FileWriter::start()?, &server.globals, &server.engine);
    Ok(Opened { server, log, pool })
}

/// What was left of copies goes; data that was copied from another server gets a UUID of its own.
fn become_another(dir: &Path, catalog: &Catalog) -> Result<(), Failure> {
    let (copies, is_copy) = (dir.join(COPIES), dir.join(NEW_IDENTITY));
    if copies.exists() {
        std::fs::remove_dir_all(copies)?;
    }
    if is_copy.exists() {
        forget_server_uuid(catalog)?;
        std::fs::remove_file(is_copy)?;
        durable::sync_dir(dir)?;
    }
    Ok(())
}

fn is_on(server: &Server, name: &str) -> bool {
    registry().find(name).is_some_and(|def| server.globals.get(def) == Value::Int(1))
}

/// What the command line and the machine say of system variables.
fn variables(dir: &Path, socket: &Path, options: &ServeOptions, catalog: &Catalog) -> Result<Fixed, Failure> {
    Ok(Fixed {
        version: VERSION,
        data_dir: dir.to_path_buf(),
        port: options.port,
        bind: options.bind.clone(),
        socket: socket.to_path_buf(),
        server_uuid: vaquita_session::variables::server_uuid(catalog)?,
        options: vec![
            ("admin_address", options.admin_address.as_deref().map_or(Value::Null, Value::from)),
            ("admin_port", Value::UInt(u64::from(options.admin_port))),
            ("max_connections", Value::UInt(options.max_connections as u64)),
            ("connect_timeout", Value::UInt(options.connect_timeout_s)),
            ("local_infile", Value::bool(options.local_infile)),
            ("secure_file_priv", secure_file_priv(options)?),
            ("event_scheduler", options.event_scheduler.as_str().into()),
            ("log_bin", Value::bool(options.log_bin)),
            ("server_id", Value::UInt(options.server_id)),
            ("log_error", options.log_error.as_deref().unwrap_or("stderr").into()),
            ("log_error_services", options.log_error_services().into()),
            ("require_secure_transport", Value::bool(options.require_secure_transport)),
        ],
    })
}

/// As MySQL shows it, with a slash at the end.
fn secure_file_priv(options: &ServeOptions) -> Result<Value, Failure> {
    let dir = match options.secure_file_priv.as_deref() {
        None => return Ok(Value::Null),
        Some("") => return Ok("".into()),
        Some(dir) => dir,
    };
    match Path::new(dir).canonicalize() {
        Ok(real) if real.is_dir() => Ok(format!("{}/", real.display()).into()),
        Ok(_) => Err(format!("secure-file-priv is no directory: {dir}").into()),
        Err(error) => Err(format!("cannot enter the directory of secure-file-priv, {dir}: {error}").into()),
    }
}

/// Makes the directory, and locks it for as long as the file is open.
pub fn prepare_dir(dir: &Path) -> Result<(PathBuf, File), Failure> {
    let shown = dir.display();
    if !dir.exists() {
        let made = std::fs::DirBuilder::new().recursive(true).mode(0o700).create(dir);
        made.map_err(|e| format!("cannot create the data directory {shown}: {e}"))?;
        kill_point("init.directory");
        if let Some(parent) = dir.canonicalize().ok().as_deref().and_then(Path::parent) {
            durable::sync_dir(parent).map_err(|e| format!("cannot sync {}: {e}", parent.display()))?;
        }
    }
    let dir = dir.canonicalize().map_err(|e| format!("cannot enter the data directory {shown}: {e}"))?;
    let opened = std::fs::OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(dir.join("vaquita.lock"));
    let lock = opened.map_err(|e| format!("cannot write to the data directory {shown}: {e}"))?;
    if rustix::fs::flock(&lock, rustix::fs::FlockOperation::NonBlockingLockExclusive).is_err() {
        return Err(format!("the data directory {shown} is in use by another server").into());
    }
    std::fs::set_permissions(&dir, std::fs::Permissions::from_mode(0o700))
        .map_err(|e| format!("cannot set the mode of the data directory {shown}: {e}"))?;
    Ok((dir, lock))
}

/// `root`@`localhost`, and `client.cnf` with its password for `mysql --defaults-file=`; later starts do not read it.
fn first_start(dir: &Path, socket: &Path, options: &ServeOptions, accounts: &Accounts) -> Result<(), Failure> {
    let letter = |_| char::from(PASSWORD_ALPHABET[rand::random_range(0..PASSWORD_ALPHABET.len())]);
    let random = || (0..RANDOM_PASSWORD_CHARS).map(letter).collect();
    let password = options.initial_root_password.clone().unwrap_or_else(random);
    let host = match options.bind.as_str() {
        "0.0.0.0" | "::" | "*" => "127.0.0.1",
        bind => bind,
    };
    let text = format!(
        "[client]\nuser=root\npassword=\"{}\"\nhost={host}\nport={}\nsocket={}\n",
        password.replace('\\', "\\\\"),
        options.port,
        socket.display()
    );
    let path = dir.join("client.cnf");
    durable::write(dir, "client.cnf", &text, 0o600).map_err(|e| format!("cannot write {}: {e}", path.display()))?;
    kill_point("init.client-cnf");
    accounts.change(|records| {
        let root = root_account(&password);
        let elsewhere = options.initial_root_host.iter().map(|host| AccountRecord { host: host.clone(), ..root.clone() });
        records.extend(elsewhere.chain([root.clone()]).map(Arc::new));
        Ok(())
    })?;
    kill_point("init.root");
    tracing::info!("made root@localhost; {} has its password", path.display());
    Ok(())
}

/// The directory is locked, so a socket file in it is left from before; elsewhere it may be another server's.
fn bind_unix(path: &Path) -> Result<UnixListener, Failure> {
    if std::os::unix::net::UnixStream::connect(path).is_ok() {
        return Err(format!("the socket {} is in use by another server", path.display()).into());
    }
    let _ = std::fs::remove_file(path);
    let unix = UnixListener::bind(path).map_err(|e| format!("cannot listen on {}: {e}", path.display()))?;
    // Who may connect is for accounts to say, as with MySQL's socket; the data directory itself is 0700.
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o777))?;
    Ok(unix)
}

/// Accepts clients of this machine only.
pub fn listen_locally(front: &Arc<Front>, socket: &Path) -> Result<(), Failure> {
    let unix = bind_unix(socket)?;
    listen(front, [None, None, None], unix)
}

/// `listeners`: as the function of that name makes them.
fn listen(front: &Arc<Front>, listeners: [Option<TcpListener>; 3], unix: UnixListener) -> Result<(), Failure> {
    let kinds = [
        ("accept-tcp", Origin::Tcp as fn(_) -> _),
        ("accept-admin", Origin::Admin as fn(_) -> _),
        ("accept-mariadb", Origin::MariaDb as fn(_) -> _),
    ];
    for (listener, (name, kind)) in listeners.into_iter().zip(kinds) {
        let Some(listener) = listener else { continue };
        let accepting = front.clone();
        std::thread::Builder::new().name(name.into()).spawn(move || {
            while !accepting.stopping.load(Ordering::Relaxed) {
                match listener.accept() {
                    Ok((stream, peer)) => accept(&accepting, stream.into(), kind(peer)),
                    Err(error) => refused(&error),
                }
            }
        })?;
    }
    let accepting = front.clone();
    std::thread::Builder::new().name("accept-unix".into()).spawn(move || {
        while !accepting.stopping.load(Ordering::Relaxed) {
            match unix.accept() {
                Ok((stream, _)) => {
                    let uid = sockopt::socket_peercred(&stream).ok().map(|c| c.uid.as_raw());
                    accept(&accepting, stream.into(), Origin::Unix(uid.unwrap_or(u32::MAX)));
                }
                Err(error) => refused(&error),
            }
        }
    })?;
    let expiring = front.clone();
    std::thread::Builder::new().name("time-outs".into()).spawn(move || {
        let mut log_file = String::new();
        while !expiring.stopping.load(Ordering::Relaxed) {
            for look in 0..DEADLINE_LOOKS_PER_SECOND {
                std::thread::sleep(Duration::from_millis(1000 / DEADLINE_LOOKS_PER_SECOND));
                expiring.server.clients().interrupt_overdue();
                if look % LOOKS_BETWEEN_ABANDONED == 0 {
                    expiring.server.clients().end_abandoned();
                }
            }
            expiring.server.catalog.renew_samples();
            if let Err(error) = vaquita_session::log_shown::purge_at_new_file(&expiring.server, &mut log_file) {
                tracing::warn!("old files of the binary log cannot be removed: {}", error.message());
            }
            expiring.server.clients().expire(Duration::from_secs(expiring.server.globals.number(Var::ConnectTimeout)));
        }
    })?;
    Ok(())
}

fn accept(front: &Arc<Front>, socket: OwnedFd, origin: Origin) {
    if !front.stopping.load(Ordering::Relaxed) {
        front.accept(socket, origin);
    }
}

/// Out of descriptors, mostly: wait a little instead of spinning.
fn refused(error: &std::io::Error) {
    tracing::warn!(%error, "cannot accept a connection");
    std::thread::sleep(Duration::from_millis(50));
}

fn wait_for_signal() -> Result<(), Failure> {
    let mut signals = signal_hook::iterator::Signals::new([signal_hook::consts::SIGTERM, signal_hook::consts::SIGINT])?;
    let signal = signals.forever().next();
    tracing::info!(?signal, "shutting down");
    Ok(())
}

fn shut_down(front: &Arc<Front>, socket: &Path, background: &[JoinHandle<()>]) -> Result<(), Failure> {
    std::thread::Builder::new().name("shutdown-limit".into()).spawn(|| {
        std::thread::sleep(Duration::from_millis(SHUTDOWN_MS_MAX));
        tracing::warn!("a statement did not end in time");
        std::process::exit(0);
    })?;
    let server = &front.server;
    front.stopping.store(true, Ordering::SeqCst);
    server.events.stop();
    for client in server.clients().list() {
        client.kill(true);
    }
    // Clients are gone, so nobody is told of a commit that no replica has.
    if let Some(log) = front.binary_log.get() {
        log.semi_sync().stop();
    }
    server.replication.stop_all();
    let deadline = std::time::Instant::now() + Duration::from_millis(STATEMENTS_END_MS_MAX);
    let is_busy = || !server.clients().is_empty() || !background.iter().all(JoinHandle::is_finished);
    while is_busy() && std::time::Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(5));
    }
    kill_point("stop.statements-ended");
    front.pool().stop();
    let _ = std::fs::remove_file(socket);
    server.logs.close();
    server.catalog.close();
    kill_point("stop.catalog-closed");
    server.engine.shutdown()?;
    kill_points::report().iter().for_each(|(name, count)| crate::log::line(&format!("kill point {name} passed {count} times")));
    tracing::info!("shut down");
    Ok(())
}
