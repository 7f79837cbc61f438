//! The command lines of `vaquita attach`, `promote` and `demote`.

use std::path::PathBuf;

use vaquita_attach::{AttachOptions, DemoteOptions, PromoteOptions};
use vaquita_replication::address::{Address, read_defaults};

type Failure = Box<dyn std::error::Error + Send + Sync>;

/// The server that is or becomes the replica.
#[derive(clap::Args)]
struct TargetArguments {
    /// The Vaquita: mysql://user[:password]@host[:port], or mysql://user@/path/of/socket.
    #[arg(long, value_parser = Address::parse, value_name = "ADDRESS")]
    to: Option<Address>,
    /// An option file with its address, as `client.cnf` in its data directory.
    #[arg(long, value_name = "FILE", conflicts_with = "to")]
    defaults: Option<PathBuf>,
    /// Its data directory, in place of --defaults.
    #[arg(long, env = "VAQUITA_DATA_DIR", default_value = "data")]
    data_dir: PathBuf,
}

impl TargetArguments {
    fn address(self) -> Result<Address, Failure> {
        match (self.to, self.defaults) {
            (Some(address), _) => Ok(address),
            (None, Some(file)) => Ok(read_defaults(&file)?),
            (None, None) => Ok(read_defaults(&self.data_dir.join("client.cnf"))?),
        }
    }
}

/// A password that is not in the address; users of the machine see what stands on a command line.
fn with_password(mut address: Address) -> Address {
    if address.password.is_empty() {
        address.password = std::env::var("VAQUITA_SOURCE_PASSWORD").unwrap_or_default();
    }
    address
}

#[derive(clap::Args)]
pub struct AttachArguments {
    /// The source: mysql://user[:password]@host[:port]; a password may be in VAQUITA_SOURCE_PASSWORD instead.
    #[arg(value_parser = Address::parse)]
    source: Address,
    #[command(flatten)]
    target: TargetArguments,
    /// Copy and follow these only [default: all].
    #[arg(long, value_delimiter = ',')]
    databases: Vec<String>,
    /// The replication channel.
    #[arg(long, default_value = "", hide_default_value = true)]
    channel: String,
    /// Connections that copy at the same time.
    #[arg(long, default_value_t = 4)]
    workers: usize,
    /// Only compare the tables of both.
    #[arg(long)]
    verify_only: bool,
    /// Do not compare the tables at the end.
    #[arg(long)]
    no_verify: bool,
    /// Go on with a copy that was interrupted.
    #[arg(long)]
    resume: bool,
    /// Never lock tables of the source, also not those without a primary key for some milliseconds.
    #[arg(long)]
    no_lock: bool,
    /// Copy accounts, too, and follow statements about them.
    #[arg(long)]
    users: bool,
}

#[derive(clap::Args)]
pub struct PromoteArguments {
    #[command(flatten)]
    target: TargetArguments,
    #[arg(long, default_value = "", hide_default_value = true)]
    channel: String,
    /// How the source is asked and made read-only.
    #[arg(long, value_parser = Address::parse)]
    source: Option<Address>,
    /// Make the source read-only first, so that nothing is committed there that is not here.
    #[arg(long, requires = "source")]
    source_read_only: bool,
    /// Keep the channel's settings.
    #[arg(long)]
    keep_channel: bool,
    /// Seconds in which all must be applied.
    #[arg(long, default_value_t = 60)]
    wait: u64,
}

#[derive(clap::Args)]
pub struct DemoteArguments {
    /// The new source.
    #[arg(value_parser = Address::parse)]
    source: Address,
    #[command(flatten)]
    target: TargetArguments,
    #[arg(long, default_value = "", hide_default_value = true)]
    channel: String,
    /// FILE:POSITION of a source without GTIDs.
    #[arg(long, value_parser = parse_position)]
    from: Option<(String, u64)>,
}

fn parse_position(text: &str) -> Result<(String, u64), String> {
    let parts = text.rsplit_once(':').and_then(|(file, pos)| pos.parse().ok().map(|pos| (file.to_string(), pos)));
    parts.ok_or_else(|| "it is FILE:POSITION".to_string())
}

pub fn attach(arguments: AttachArguments) -> Result<(), Failure> {
    let equal = vaquita_attach::attach(&AttachOptions {
        source: with_password(arguments.source),
        target: arguments.target.address()?,
        databases: arguments.databases,
        channel: arguments.channel,
        workers: arguments.workers.max(1),
        verify_only: arguments.verify_only,
        resume: arguments.resume,
        no_lock: arguments.no_lock,
        users: arguments.users,
        no_verify: arguments.no_verify,
    })?;
    if equal { Ok(()) } else { Err("source and replica differ".into()) }
}

pub fn promote(arguments: PromoteArguments) -> Result<(), Failure> {
    vaquita_attach::promote(&PromoteOptions {
        target: arguments.target.address()?,
        channel: arguments.channel,
        source: arguments.source.map(with_password),
        source_read_only: arguments.source_read_only,
        keep_channel: arguments.keep_channel,
        wait_s: arguments.wait,
    })
}

pub fn demote(arguments: DemoteArguments) -> Result<(), Failure> {
    vaquita_attach::demote(&DemoteOptions {
        source: with_password(arguments.source),
        target: arguments.target.address()?,
        channel: arguments.channel,
        from: arguments.from,
    })
}
