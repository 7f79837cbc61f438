//! The command line of `vaquita bench replay`.

use std::path::PathBuf;

use vaquita_replay::Speed;
use vaquita_replication::address::Address;

type Failure = Box<dyn std::error::Error + Send + Sync>;

#[derive(clap::Args)]
pub struct BenchArguments {
    #[command(subcommand)]
    command: Bench,
}

#[derive(clap::Subcommand)]
enum Bench {
    /// Run a recorded workload against a server, or against two, and compare how long statements take.
    Replay(ReplayArguments),
}

#[derive(clap::Args)]
struct ReplayArguments {
    /// General or slow query logs of a MySQL, a MariaDB or a Vaquita, in the order in which they were written.
    #[arg(required = true, value_name = "LOG")]
    logs: Vec<PathBuf>,
    /// The server: mysql://user[:password]@host[:port]; a password may be in MYSQL_PWD instead. Statements that write do write there.
    #[arg(long, value_parser = Address::parse, value_name = "ADDRESS")]
    to: Address,
    /// A second server, to compare with; it is run after the first.
    #[arg(long, value_parser = Address::parse, value_name = "ADDRESS")]
    against: Option<Address>,
    /// How many times as fast as it was recorded; max waits for nothing.
    #[arg(long, default_value = "1")]
    speed: Speed,
    /// Connections at a time; sessions beyond wait for one to end.
    #[arg(long, default_value_t = 1000)]
    sessions: usize,
    /// Kinds of statements that are shown.
    #[arg(long, default_value_t = 20)]
    top: usize,
}

pub fn bench(arguments: BenchArguments) -> Result<(), Failure> {
    let Bench::Replay(arguments) = arguments.command;
    let recording = vaquita_replay::read(&arguments.logs)?;
    let mut played = Vec::new();
    for mut server in [Some(arguments.to), arguments.against].into_iter().flatten() {
        if server.password.is_empty() {
            server.password = std::env::var("MYSQL_PWD").unwrap_or_default();
        }
        let done = vaquita_replay::play(&recording, &server, arguments.speed, arguments.sessions);
        played.push(done.map_err(|error| format!("{server}: {error}"))?);
    }
    print!("{}", vaquita_replay::report(&recording, &played, arguments.top));
    Ok(())
}
