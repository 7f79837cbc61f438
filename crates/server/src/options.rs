//! Options of `vaquita serve`: command line first, then `VAQUITA_*` in the environment, then the file of `--config`,
//! then the option file of a MySQL server (`import_config`), then the default.
//!
//! Most options set a variable; what they are, which values they take and which they have by default stands in its row.
//! The file is TOML with the long options as keys; a key that is none is an error.
//! ```text
//! data-dir = "/var/lib/vaquita"
//! port = 3306
//! ```

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use vaquita_session::variables::{Def, Kind, Var, registry};
use vaquita_storage::{EngineOptions, kill_points};
use vaquita_types::Value;

use crate::import_config::{Imported, import};

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

/// An option of `serve`, on the command line and in the file.
struct ServeOption {
    long: &'static str,
    env: &'static str,
    source: Source,
}

/// What says which values an option takes, which it has by default, and what it does.
enum Source {
    /// The row of the variable that it sets.
    Row(Var),
    /// It sets no variable.
    Own(Kind, &'static str),
}

const fn of(long: &'static str, env: &'static str, var: Var) -> ServeOption {
    ServeOption { long, env, source: Source::Row(var) }
}

const HTTP_PORT: u16 = 8306;
const HTTP_BIND: &str = "127.0.0.1";
const ANY_NUMBER: Kind = Kind::Int { min: 1, max: 65_536, block: 1 };

static OPTIONS: &[ServeOption] = &[
    of("data-dir", "VAQUITA_DATA_DIR", Var::Datadir),
    of("port", "VAQUITA_PORT", Var::Port),
    of("bind", "VAQUITA_BIND", Var::BindAddress),
    of("admin-address", "VAQUITA_ADMIN_ADDRESS", Var::AdminAddress),
    of("admin-port", "VAQUITA_ADMIN_PORT", Var::AdminPort),
    ServeOption {
        long: "mariadb-port",
        env: "VAQUITA_MARIADB_PORT",
        source: Source::Own(
            Kind::Int { min: 1, max: 65_535, block: 1 },
            "A further port, where the server greets with the version of a MariaDB: its replicas use GTIDs with nothing else [default: none].",
        ),
    },
    ServeOption {
        long: "http",
        env: "VAQUITA_HTTP",
        source: Source::Own(Kind::Bool, "Metrics and the console over HTTP and HTTPS [default: ON]."),
    },
    ServeOption {
        long: "http-port",
        env: "VAQUITA_HTTP_PORT",
        source: Source::Own(
            Kind::Int { min: 0, max: 65_535, block: 1 },
            "Their TCP port; 0 is none. If it is taken the server goes on without them [default: 8306].",
        ),
    },
    ServeOption {
        long: "http-bind",
        env: "VAQUITA_HTTP_BIND",
        source: Source::Own(
            Kind::Text,
            "Address on which they are; beyond this machine metrics need a login [default: 127.0.0.1].",
        ),
    },
    of("socket", "VAQUITA_SOCKET", Var::Socket),
    ServeOption {
        long: "initial-root-password",
        env: "VAQUITA_INITIAL_ROOT_PASSWORD",
        source: Source::Own(Kind::Text, "Password of root@localhost on the first start [default: random, in client.cnf]."),
    },
    ServeOption {
        long: "initial-root-host",
        env: "VAQUITA_INITIAL_ROOT_HOST",
        source: Source::Own(
            Kind::Text,
            "On the first start make an account root of this host too, % for all, with the same password [default: none].",
        ),
    },
    ServeOption {
        long: "import-config",
        env: "VAQUITA_IMPORT_CONFIG",
        source: Source::Own(
            Kind::Text,
            "The option file of a MySQL or MariaDB server, of which is taken over what has a meaning here; `vaquita import-config` says what that is [default: none].",
        ),
    },
    ServeOption {
        long: "ignore-settings",
        env: "VAQUITA_IGNORE_SETTINGS",
        source: Source::Own(
            Kind::Text,
            "Names of settings, divided by commas, that are not read from the file of import-config [default: none].",
        ),
    },
    ServeOption {
        long: "cache-size-max",
        env: "VAQUITA_CACHE_SIZE_MAX",
        source: Source::Own(
            Kind::Int { min: 0, max: u64::MAX, block: 1 },
            "Bytes that the caches of rows and blocks take at most [default: 40% of the memory of the machine or cgroup, which is never exceeded].",
        ),
    },
    ServeOption {
        long: "skip-networking",
        env: "VAQUITA_SKIP_NETWORKING",
        source: Source::Own(Kind::Bool, "Let nobody connect over TCP, only over the socket [default: OFF]."),
    },
    ServeOption {
        long: "threads",
        env: "VAQUITA_THREADS",
        source: Source::Own(ANY_NUMBER, "Threads that run statements [default: the number of cores plus one]."),
    },
    of("max-connections", "VAQUITA_MAX_CONNECTIONS", Var::MaxConnections),
    of("connect-timeout", "VAQUITA_CONNECT_TIMEOUT", Var::ConnectTimeout),
    of("require-secure-transport", "VAQUITA_REQUIRE_SECURE_TRANSPORT", Var::RequireSecureTransport),
    of("local-infile", "VAQUITA_LOCAL_INFILE", Var::LocalInfile),
    of("secure-file-priv", "VAQUITA_SECURE_FILE_PRIV", Var::SecureFilePriv),
    of("log-bin", "VAQUITA_LOG_BIN", Var::LogBin),
    of("server-id", "VAQUITA_SERVER_ID", Var::ServerId),
    ServeOption {
        long: "log-error",
        env: "VAQUITA_LOG_ERROR",
        source: Source::Own(
            Kind::Text,
            "The file of the server's own log, in data-dir if it has no directory [default: stderr].",
        ),
    },
    ServeOption {
        long: "log-format",
        env: "VAQUITA_LOG_FORMAT",
        source: Source::Own(
            Kind::Text,
            "How the server's own log is written: text, or json as MySQL's log_sink_json [default: text].",
        ),
    },
    of("event-scheduler", "VAQUITA_EVENT_SCHEDULER", Var::EventScheduler),
];

/// The option that sets a variable.
fn of_variable(def: &Def) -> Option<&'static str> {
    let sets = |option: &&ServeOption| matches!(option.source, Source::Row(var) if registry().of(var).id == def.id);
    OPTIONS.iter().find(sets).map(|option| option.long)
}

impl ServeOption {
    fn kind(&self) -> &Kind {
        match &self.source {
            Source::Row(var) => &registry().of(*var).kind,
            Source::Own(kind, _) => kind,
        }
    }

    fn arg(&'static self) -> clap::Arg {
        let name = self.env.strip_prefix("VAQUITA_").unwrap_or(self.env);
        let arg = clap::Arg::new(self.long).long(self.long).env(self.env).value_name(name).help(self.help());
        let arg = arg.hide_env_values(self.long.contains("password")).value_parser(|text: &str| self.checked(text));
        if *self.kind() == Kind::Bool { arg.num_args(0..=1).default_missing_value("true") } else { arg }
    }

    fn help(&self) -> String {
        match &self.source {
            Source::Own(_, prose) => prose.trim_end_matches('.').to_string(),
            Source::Row(var) => {
                let row = registry().of(*var);
                let (prose, default) = (row.prose.trim_end_matches('.'), row.show(&row.default));
                if default.is_empty() { prose.to_string() } else { format!("{prose} [default: {default}]") }
            }
        }
    }

    /// The text, if it is a value of the option.
    fn checked(&self, text: &str) -> Result<String, String> {
        match self.kind() {
            Kind::Bool if switch(text).is_none() => Err("it is on or off".to_string()),
            Kind::Int { min, max, .. } => match text.parse::<i128>() {
                Ok(number) if (i128::from(*min)..=i128::from(*max)).contains(&number) => Ok(text.to_string()),
                _ => Err(format!("it is a number from {min} to {max}")),
            },
            Kind::Enum(_) => scheduler(text).map(str::to_string).ok_or_else(|| "it is ON, OFF or DISABLED".to_string()),
            _ => Ok(text.to_string()),
        }
    }

    /// The text of a value in the file, which has the type of the option.
    fn in_file(&self, value: &toml::Value) -> Result<String, String> {
        match (self.kind(), value) {
            (Kind::Bool, toml::Value::Boolean(on)) => Ok(on.to_string()),
            (Kind::Int { .. }, toml::Value::Integer(number)) => self.checked(&number.to_string()),
            (Kind::Enum(_), toml::Value::String(text)) => self.checked(text),
            (Kind::Bool | Kind::Int { .. }, other) => Err(format!("invalid type: {}", other.type_str())),
            (_, toml::Value::String(text)) => Ok(text.clone()),
            (_, other) => Err(format!("invalid type: {}", other.type_str())),
        }
    }
}

fn switch(text: &str) -> Option<bool> {
    match text.to_ascii_lowercase().as_str() {
        "true" | "on" | "1" => Some(true),
        "false" | "off" | "0" => Some(false),
        _ => None,
    }
}

/// A value of `event_scheduler`: it alone is one of several words, and one of them is for a start only.
fn scheduler(text: &str) -> Option<&'static str> {
    match text.to_ascii_uppercase().as_str() {
        "ON" | "1" => Some("ON"),
        "OFF" | "0" => Some("OFF"),
        "DISABLED" => Some("DISABLED"),
        _ => None,
    }
}

/// Options with their texts, which are checked.
#[derive(Default)]
struct Given(BTreeMap<&'static str, String>);

impl clap::FromArgMatches for Given {
    fn from_arg_matches(matches: &clap::ArgMatches) -> Result<Given, clap::Error> {
        let given = |option: &ServeOption| matches.get_one::<String>(option.long).map(|text| (option.long, text.clone()));
        Ok(Given(OPTIONS.iter().filter_map(given).collect()))
    }

    fn update_from_arg_matches(&mut self, matches: &clap::ArgMatches) -> Result<(), clap::Error> {
        self.0.extend(Given::from_arg_matches(matches)?.0);
        Ok(())
    }
}

impl clap::Args for Given {
    fn augment_args(command: clap::Command) -> clap::Command {
        OPTIONS.iter().fold(command, |command, option| command.arg(option.arg()))
    }

    fn augment_args_for_update(command: clap::Command) -> clap::Command {
        Given::augment_args(command)
    }
}

/// The options with defaults filled in.
#[derive(Debug)]
pub struct ServeOptions {
    pub data_dir: PathBuf,
    pub port: u16,
    pub bind: String,
    /// Nobody connects over TCP.
    pub skip_networking: bool,
    /// Values of variables that an imported option file gives.
    pub imported: Vec<(&'static Def, Value)>,
    pub admin_address: Option<String>,
    pub admin_port: u16,
    pub mariadb_port: Option<u16>,
    /// Address and port of the HTTP front; none if there shall be none.
    pub http: Option<(String, u16)>,
    pub socket: Option<PathBuf>,
    pub initial_root_password: Option<String>,
    pub initial_root_host: Option<String>,
    pub threads: Option<usize>,
    pub max_connections: usize,
    pub connect_timeout_s: u64,
    pub require_secure_transport: bool,
    pub local_infile: bool,
    pub engine: EngineOptions,
    pub secure_file_priv: Option<String>,
    pub event_scheduler: String,
    pub log_bin: bool,
    pub server_id: u64,
    pub log_error: Option<String>,
    pub log_json: bool,
}

impl ServeOptions {
    /// `log_error_services` of a start.
    pub fn log_error_services(&self) -> &'static str {
        if self.log_json { "log_filter_internal; log_sink_json" } else { "log_filter_internal; log_sink_internal" }
    }
}

impl ServeArguments {
    /// For a server that nobody connects to.
    pub fn of_directory(data_dir: &Path) -> Result<ServeArguments, Failure> {
        let data_dir = data_dir.to_str().ok_or("the name of the data directory is not UTF-8")?;
        let given = [("data-dir", data_dir), ("event-scheduler", "DISABLED")].map(|(long, value)| (long, value.to_string()));
        Ok(ServeArguments {
            config: None,
            accept_damaged_log: false,
            kill_point: None,
            storage_test: StorageTest { options: Vec::new() },
            given: Given(given.into_iter().collect()),
        })
    }

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
        let mut given = file;
        given.0.extend(self.given.0);
        let imported = imported(&given)?;
        let (with_option, without): (Vec<_>, Vec<_>) =
            imported.variables.into_iter().partition(|(def, _)| of_variable(def).is_some());
        let shown = |(def, value): (&Def, Value)| of_variable(def).map(|long| (long, def.show(&value)));
        for (long, text) in imported.options.into_iter().chain(with_option.into_iter().filter_map(shown)) {
            given.0.entry(long).or_insert(text);
        }
        let own = |long: &str| given.0.get(long).cloned();
        // What is not given is as the row says.
        let text = |long: &str, var: Var| own(long).unwrap_or_else(|| registry().of(var).show(&registry().of(var).default));
        let number = |long: &str, var: Var| text(long, var).parse::<u64>().unwrap_or_default();
        let is_on = |long: &str, var: Var| switch(&text(long, var)).unwrap_or_default();
        engine.cache_bytes_max = own("cache-size-max").and_then(|bytes| bytes.parse().ok());
        Ok(ServeOptions {
            data_dir: own("data-dir")
                .map(PathBuf::from)
                .ok_or("no data directory: give --data-dir, VAQUITA_DATA_DIR or data-dir in the file of --config")?,
            port: number("port", Var::Port) as u16,
            bind: text("bind", Var::BindAddress),
            skip_networking: own("skip-networking").and_then(|text| switch(&text)).unwrap_or_default(),
            imported: without,
            admin_address: own("admin-address").filter(|address| !address.is_empty()),
            admin_port: number("admin-port", Var::AdminPort) as u16,
            mariadb_port: own("mariadb-port").and_then(|port| port.parse().ok()),
            http: http(own("http"), own("http-bind"), own("http-port")),
            socket: own("socket").map(PathBuf::from),
            initial_root_password: own("initial-root-password"),
            initial_root_host: own("initial-root-host").filter(|host| !host.is_empty() && host != "localhost"),
            threads: own("threads").and_then(|threads| threads.parse().ok()),
            max_connections: number("max-connections", Var::MaxConnections) as usize,
            connect_timeout_s: number("connect-timeout", Var::ConnectTimeout),
            require_secure_transport: is_on("require-secure-transport", Var::RequireSecureTransport),
            local_infile: is_on("local-infile", Var::LocalInfile),
            engine,
            secure_file_priv: own("secure-file-priv"),
            event_scheduler: text("event-scheduler", Var::EventScheduler),
            log_bin: is_on("log-bin", Var::LogBin),
            server_id: number("server-id", Var::ServerId),
            log_error: own("log-error").filter(|file| !file.is_empty()),
            log_json: match own("log-format").as_deref() {
                None | Some("text") => false,
                Some("json") => true,
                Some(_) => return Err("log-format: it is text or json".into()),
            },
        })
    }
}

/// What the option file of a MySQL server says, which is also told.
fn imported(given: &Given) -> Result<Imported, Failure> {
    let Some(file) = given.0.get("import-config").filter(|file| !file.is_empty()) else { return Ok(Imported::default()) };
    let ignored: Vec<String> =
        given.0.get("ignore-settings").map_or(Vec::new(), |names| names.split(',').map(str::to_string).collect());
    let imported = import(Path::new(file), &ignored)?;
    crate::log::line(imported.report.to_string().trim_end());
    match imported.refusal() {
        Some(refusal) => Err(format!("{file}: {refusal}").into()),
        None => Ok(imported),
    }
}

fn http(is_on: Option<String>, bind: Option<String>, port: Option<String>) -> Option<(String, u16)> {
    let is_on = is_on.is_none_or(|text| switch(&text) == Some(true));
    let port = port.and_then(|port| port.parse().ok()).unwrap_or(HTTP_PORT);
    (is_on && port != 0).then(|| (bind.unwrap_or_else(|| HTTP_BIND.to_string()), port))
}

/// One line about what is wrong, with the line it is in.
fn parse(text: &str) -> Result<Given, String> {
    let line_of = |at: usize| 1 + text.get(..at).map_or(0, |before| before.matches('\n').count());
    let values: BTreeMap<toml::Spanned<String>, toml::Spanned<toml::Value>> = toml::from_str(text).map_err(|e| {
        let line = e.span().map_or(1, |span| line_of(span.start));
        format!("line {line}: {}", e.message().lines().next().unwrap_or_default())
    })?;
    let mut given = Given::default();
    for (key, value) in values {
        let wrong = |what: String| format!("line {}: {what}", line_of(key.span().start));
        let option = OPTIONS.iter().find(|option| option.long == key.get_ref());
        let option = option.ok_or_else(|| wrong(format!("unknown field `{}`", key.get_ref())))?;
        let text = option.in_file(value.get_ref()).map_err(|what| wrong(format!("{}: {what}", option.long)))?;
        given.0.insert(option.long, text);
    }
    Ok(given)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_has_the_long_options_as_keys() {
        let given = parse("data-dir = '/d'\nport = 3307\nlocal-infile = true\n").unwrap();
        let text = |long: &str| given.0.get(long).map(String::as_str);
        assert_eq!((text("port"), text("local-infile"), text("bind")), (Some("3307"), Some("true"), None));
        assert!(parse("port = 1\nprot = 2").err().unwrap().starts_with("line 2: unknown field `prot`"));
        assert!(parse("\nport = 70000").err().unwrap().starts_with("line 2: port: it is a number from 0 to 65535"));
        let scheduler = |text: &str| parse(text).map(|given| given.0.get("event-scheduler").cloned());
        assert_eq!(scheduler("event-scheduler = 'disabled'"), Ok(Some("DISABLED".to_string())));
        assert_eq!(scheduler("event-scheduler = 'no'"), Err("line 1: event-scheduler: it is ON, OFF or DISABLED".to_string()));
        assert!(parse("port = '1'").err().unwrap().starts_with("line 1: port: invalid type"));
    }

    #[test]
    fn http_is_on_unless_it_is_turned_off() {
        let of = |is_on: &str, port: &str| {
            let given = |text: &str| (!text.is_empty()).then(|| text.to_string());
            http(given(is_on), None, given(port))
        };
        assert_eq!(of("", ""), Some(("127.0.0.1".to_string(), 8306)));
        assert_eq!(of("on", "80"), Some(("127.0.0.1".to_string(), 80)));
        assert_eq!([of("off", "80"), of("", "0")], [None, None]);
    }

    #[test]
    fn options_say_what_the_rows_of_their_variables_say() {
        let help = |long: &str| OPTIONS.iter().find(|option| option.long == long).map(ServeOption::help).unwrap();
        let row = registry().of(Var::MaxConnections);
        assert_eq!(help("max-connections"), format!("{} [default: 12000]", row.prose.trim_end_matches('.')));
        assert!(help("port").ends_with("[default: 3306]"));
    }
}
