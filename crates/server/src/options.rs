//! Options of `vaquita serve`: command line first, then `VAQUITA_*` in the environment, then the file of `--config`,
//! then the default.
//!
//! The file is TOML with the long options as keys; a key that is none is an error.
//! ```text
//! data-dir = "/var/lib/vaquita"
//! port = 3306
//! ```

use std::path::PathBuf;

type Failure = Box<dyn std::error::Error + Send + Sync>;

#[derive(clap::Args)]
pub struct ServeArguments {
    /// TOML file with these options, the long names as keys.
    #[arg(long, env = "VAQUITA_CONFIG")]
    config: Option<PathBuf>,
    /// Start although the log is damaged before its end, and lose the commits behind the damage.
    #[arg(long)]
    accept_damaged_log: bool,
    /// For tests: bytes of a memtable, at least 1 MiB.
    #[arg(long, hide = true, value_parser = clap::value_parser!(u64).range(1 << 20..1 << 32))]
    memtable_bytes: Option<u64>,
    #[command(flatten)]
    given: Given,
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
    pub socket: Option<PathBuf>,
    pub initial_root_password: Option<String>,
    pub threads: Option<usize>,
    pub max_connections: usize,
    pub connect_timeout_s: u64,
    pub require_secure_transport: bool,
    pub local_infile: bool,
    pub accept_damaged_log: bool,
    pub memtable_bytes: Option<usize>,
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
        let given = self.given;
        let data_dir = given.data_dir.or(file.data_dir);
        Ok(ServeOptions {
            data_dir: data_dir
                .ok_or("no data directory: give --data-dir, VAQUITA_DATA_DIR or data-dir in the file of --config")?,
            port: given.port.or(file.port).unwrap_or(3306),
            bind: given.bind.or(file.bind).unwrap_or_else(|| "127.0.0.1".into()),
            socket: given.socket.or(file.socket),
            initial_root_password: given.initial_root_password.or(file.initial_root_password),
            threads: given.threads.or(file.threads).map(|threads| threads.max(1)),
            max_connections: given.max_connections.or(file.max_connections).unwrap_or(12_000),
            connect_timeout_s: given.connect_timeout.or(file.connect_timeout).unwrap_or(10),
            require_secure_transport: given.require_secure_transport.or(file.require_secure_transport).unwrap_or(false),
            local_infile: given.local_infile.or(file.local_infile).unwrap_or(false),
            accept_damaged_log: self.accept_damaged_log,
            memtable_bytes: self.memtable_bytes.map(|bytes| bytes as usize),
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
