//! Options of `vaquita serve`: command line first, then `VAQUITA_*` in the environment, then the file of `--config`,
//! then the default.
//!
//! The file is TOML with the long options as keys; a key that is none is an error.
//! ```text
//! data-dir = "/var/lib/vaquita"
//! port = 3306
//! ```

use std::path::PathBuf;

use vaquita_storage::{EngineOptions, kill_points};

type Failure = Box<dyn std::error::Error + Send + Sync>;

#[derive(clap::Args)]
pub struct ServeArguments {
    /// TOML file with these options, the long names as keys.
    #[arg(long, env = "VAQUITA_CONFIG")]
    config: Option<PathBuf>,
    /// Start although the log is damaged before its end, and lose the commits behind the damage.
    #[arg(long)]
    accept_damaged_log: bool,
    /// For crash tests: NAME[:NTH] ends the process where `vaquita kill-points` names a place, `count` counts them.
    #[arg(long, env = "VAQUITA_KILL_POINT", hide = true)]
    kill_point: Option<String>,
    #[command(flatten)]
    storage_test: StorageTest,
    #[command(flatten)]
    given: Given,
}

/// Options of the storage engine that tests change; see `EngineOptions::set`.
#[derive(clap::Args)]
struct StorageTest {
    /// For tests: KEY=VALUE[,KEY=VALUE]… of the storage engine.
    #[arg(long = "storage-test-option", env = "VAQUITA_STORAGE_TEST_OPTION", hide = true, value_delimiter = ',')]
    options: Vec<String>,
}

impl StorageTest {
    fn apply(&self, engine: &mut EngineOptions) -> Result<(), Failure> {
        self.options.iter().try_for_each(|option| engine.set(option)).map_err(|e| format!("--storage-test-option: {e}").into())
    }
}

#[derive(clap::Args)]
pub struct CheckArguments {
    /// Where the data lives.
    #[arg(long, env = "VAQUITA_DATA_DIR")]
    data_dir: PathBuf,
    #[command(flatten)]
    storage_test: StorageTest,
}

impl CheckArguments {
    /// The directory, and the engine's options.
    pub fn resolve(self) -> Result<(PathBuf, EngineOptions), Failure> {
        let mut engine = EngineOptions { warm_log: false, ..EngineOptions::default() };
        self.storage_test.apply(&mut engine)?;
        Ok((self.data_dir, engine))
    }
}

#[derive(clap::Args, serde::Deserialize, Default)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct Given {
    /// Where the data lives; created if it does not exist.
    #[arg(long, env = "VAQUITA_DATA_DIR")]
    data_dir: Option<PathBuf>,
    /// TCP port [default: 3306].
    #[arg(long, env = "VAQUITA_PORT")]
    port: Option<u16>,
    /// Address to listen on [default: 127.0.0.1].
    #[arg(long, env = "VAQUITA_BIND")]
    bind: Option<String>,
    /// Address on which accounts with SERVICE_CONNECTION_ADMIN connect however many connections there are [default: none].
    #[arg(long, env = "VAQUITA_ADMIN_ADDRESS")]
    admin_address: Option<String>,
    /// TCP port there [default: 33062].
    #[arg(long, env = "VAQUITA_ADMIN_PORT")]
    admin_port: Option<u16>,
    /// Unix socket [default: vaquita.sock in the data directory].
    #[arg(long, env = "VAQUITA_SOCKET")]
    socket: Option<PathBuf>,
    /// Password of root@localhost on the first start [default: random, in client.cnf].
    #[arg(long, env = "VAQUITA_INITIAL_ROOT_PASSWORD", hide_env_values = true)]
    initial_root_password: Option<String>,
    /// Threads that run statements [default: the number of cores plus one].
    #[arg(long, env = "VAQUITA_THREADS")]
    threads: Option<usize>,
    /// Connections that are served at once; one more is refused with error 1040 [default: 12000].
    #[arg(long, env = "VAQUITA_MAX_CONNECTIONS")]
    max_connections: Option<usize>,
    /// Seconds within which a client must have logged in [default: 10].
    #[arg(long, env = "VAQUITA_CONNECT_TIMEOUT")]
    connect_timeout: Option<u64>,
    /// Refuse connections that use neither TLS nor the Unix socket [default: false].
    #[arg(long, env = "VAQUITA_REQUIRE_SECURE_TRANSPORT", num_args = 0..=1, default_missing_value = "true")]
    require_secure_transport: Option<bool>,
    /// Allow LOAD DATA LOCAL INFILE [default: false].
    #[arg(long, env = "VAQUITA_LOCAL_INFILE", num_args = 0..=1, default_missing_value = "true")]
    local_infile: Option<bool>,
    /// Directory of the files that LOAD DATA and SELECT INTO OUTFILE may use, '' for any [default: none].
    #[arg(long, env = "VAQUITA_SECURE_FILE_PRIV")]
    secure_file_priv: Option<String>,
}

/// The options with defaults filled in.
#[derive(Debug)]
pub struct ServeOptions {
    pub data_dir: PathBuf,
    pub port: u16,
    pub bind: String,
    pub admin_address: Option<String>,
    pub admin_port: u16,
    pub socket: Option<PathBuf>,
    pub initial_root_password: Option<String>,
    pub threads: Option<usize>,
    pub max_connections: usize,
    pub connect_timeout_s: u64,
    pub require_secure_transport: bool,
    pub local_infile: bool,
    pub engine: EngineOptions,
    pub secure_file_priv: Option<String>,
}

impl ServeArguments {
    pub fn resolve(self) -> Result<ServeOptions, Failure> {
        let file = match &self.config {
            Some(path) => {
                let text = std::fs::read_to_string(path).map_err(|e| format!("cannot read {}: {e}", path.display()))?;
                parse(&text).map_err(|e| format!("{}: {e}", path.display()))?
            }
            None => Given::default(),
        };
        if let Some(plan) = &self.kill_point {
            kill_points::arm(plan).map_err(|e| format!("--kill-point: {e}"))?;
        }
        let mut engine = EngineOptions { accept_damaged_log: self.accept_damaged_log, ..EngineOptions::default() };
        self.storage_test.apply(&mut engine)?;
        let given = self.given;
        let data_dir = given.data_dir.or(file.data_dir);
        Ok(ServeOptions {
            data_dir: data_dir
                .ok_or("no data directory: give --data-dir, VAQUITA_DATA_DIR or data-dir in the file of --config")?,
            port: given.port.or(file.port).unwrap_or(3306),
            bind: given.bind.or(file.bind).unwrap_or_else(|| "127.0.0.1".into()),
            admin_address: given.admin_address.or(file.admin_address).filter(|address| !address.is_empty()),
            admin_port: given.admin_port.or(file.admin_port).unwrap_or(33_062),
            socket: given.socket.or(file.socket),
            initial_root_password: given.initial_root_password.or(file.initial_root_password),
            threads: given.threads.or(file.threads).map(|threads| threads.max(1)),
            max_connections: given.max_connections.or(file.max_connections).unwrap_or(12_000),
            connect_timeout_s: given.connect_timeout.or(file.connect_timeout).unwrap_or(10),
            require_secure_transport: given.require_secure_transport.or(file.require_secure_transport).unwrap_or(false),
            local_infile: given.local_infile.or(file.local_infile).unwrap_or(false),
            engine,
            secure_file_priv: given.secure_file_priv.or(file.secure_file_priv),
        })
    }
}

/// One line about what is wrong, with the line it is in.
fn parse(text: &str) -> Result<Given, String> {
    toml::from_str(text).map_err(|e| {
        let line = e.span().map(|span| 1 + text.get(..span.start).map_or(0, |before| before.matches('\n').count()));
        format!("line {}: {}", line.unwrap_or(1), e.message().lines().next().unwrap_or_default())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_has_the_long_options_as_keys() {
        let given = parse("data-dir = '/d'\nport = 3307\nlocal-infile = true\n").unwrap();
        assert_eq!((given.port, given.local_infile), (Some(3307), Some(true)));
        assert!(parse("port = 1\nprot = 2").err().unwrap().starts_with("line 2: unknown field `prot`"));
        assert!(parse("port = 70000").err().unwrap().starts_with("line 1: "));
    }
}
