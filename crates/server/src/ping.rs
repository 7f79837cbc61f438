//! `vaquita ping`, and the same question of the server to itself for systemd's watchdog (`notify`): does it answer?
//!
//! A login and COM_PING go the way of every client: listening socket, pool, session. A server that refuses the login has
//! answered, too: its account for root may be another's business, or all connections may be in use.

use std::time::Duration;

use vaquita_replication::address::Address;
use vaquita_replication::connection::{Connection, SourceError, error_of};

type Failure = Box<dyn std::error::Error + Send + Sync>;

/// Where the socket of the packages is.
const PACKAGED_SOCKET: &str = "/run/vaquita/vaquita.sock";
const COM_PING: u8 = 0x0E;
/// The first byte of an error packet.
const ERROR: u8 = 0xFF;
/// Errors of a client itself, as that nobody answers, have numbers from here to 2999.
const CLIENT_ERRORS: std::ops::Range<u16> = 2000..3000;

#[derive(clap::Args)]
pub struct PingArguments {
    /// The server: mysql://user[:password]@host[:port], or mysql://user@/path/of/socket [default: root at the socket].
    #[arg(value_parser = Address::parse, value_name = "ADDRESS")]
    address: Option<Address>,
    /// Its Unix socket, if no address is given.
    #[arg(long, env = "VAQUITA_SOCKET", default_value = PACKAGED_SOCKET)]
    socket: String,
    /// Seconds after which a server that says nothing is taken for dead.
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..), value_name = "SECONDS")]
    timeout: u64,
}

/// Exits with success if the server answers.
pub fn run(arguments: PingArguments) -> Result<(), Failure> {
    let own = Address { host: arguments.socket, user: "root".to_string(), ..Address::default() };
    let address = arguments.address.unwrap_or(own);
    ask(&address, Duration::from_secs(arguments.timeout)).map_err(|error| format!("{address} does not answer: {error}"))?;
    println!("{address} is alive");
    Ok(())
}

/// Whether a server answers within `limit` at each step.
pub fn ask(address: &Address, limit: Duration) -> Result<(), SourceError> {
    let mut target = address.target();
    target.silence_max = limit;
    match ping(&target) {
        Err(error) if !CLIENT_ERRORS.contains(&error.number) => Ok(()),
        outcome => outcome,
    }
}

fn ping(target: &vaquita_replication::connection::Target) -> Result<(), SourceError> {
    let mut connection = Connection::open(target)?;
    connection.command(&[COM_PING])?;
    let answer = connection.packet()?;
    if answer.first() == Some(&ERROR) { Err(error_of(&answer)) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::os::unix::net::UnixListener;

    #[test]
    fn silence_is_no_answer_and_a_refusal_is_one() {
        let dir = std::env::temp_dir().join(format!("vaquita-ping-{}", std::process::id()));
        std::fs::create_dir_all(&dir).unwrap();
        let path = dir.join("socket");
        let address = Address { host: path.display().to_string(), user: "root".to_string(), ..Address::default() };
        let limit = Duration::from_millis(50);
        assert!(ask(&address, limit).is_err(), "nobody listens");
        let listener = UnixListener::bind(&path).unwrap();
        assert!(ask(&address, limit).is_err(), "who listens and says nothing");
        let refusing = std::thread::spawn(move || {
            // The first connection is the silent one's.
            for stream in listener.incoming().take(2) {
                let _ = stream.unwrap().write_all(b"\x17\0\0\0\xff\x10\x04Too many connections");
            }
        });
        ask(&address, Duration::from_secs(20)).unwrap();
        refusing.join().unwrap();
        let _ = std::fs::remove_dir_all(&dir);
    }
}
