//! `cargo xtask bench memory`: resident memory of a server that is idle, that has a thousand idle connections, and whose tables
//! were filled and read.
//!
//! Every connection has run a statement. The filled figure is taken where the server was filled, without a restart.

use std::time::Duration;

use super::outcome::{Better, Outcome, Table, Target};
use super::process;
use super::server::{Kind, Server, Start};
use super::settings::Options;
use super::sysbench::call::{self, Size};

const IDLE: &str = "idle, after the start";
const FILLED: &str = "idle, after sysbench's tables were filled and read";
/// What a start leaves to be done in the background is done by then.
const SETTLE: Duration = Duration::from_secs(2);

pub fn main(args: &[String]) -> Result<(), String> {
    let mut options = Options::new("memory", args);
    let connections = options.number("--connections", 1000, 1000)?;
    let size = Size { tables: options.number("--tables", 4, 1)?, rows: options.number("--rows", 250_000, 100_000)? };
    let settings = options.finish(3, 1)?;
    let with_connections = format!("with {connections} idle connections");
    let per_connection = "a connection, KiB";
    let mut outcome = Outcome::new("Memory");
    outcome.setting(format!(
        "Resident memory (VmRSS) of the process, database empty, then {} tables of {} rows filled by sysbench and read for some \
         seconds. Buffer pool and block cache may grow to 2 GB.",
        size.tables, size.rows
    ));
    let mut resident = Table::new("Resident", "MB", Better::Less);
    resident.row(IDLE, Target::AtMost(100.0));
    resident.row(&with_connections, Target::AtMost(150.0));
    resident.row(FILLED, Target::None);
    let mut each = Table::new("Of each connection", "KiB", Better::Less);
    each.row(per_connection, Target::AtMost(20.0));
    for _ in 0..settings.runs {
        for kind in &settings.servers {
            match one_server(*kind, connections, size, &mut outcome) {
                Ok([idle, connected, filled]) => {
                    println!("{:16} {:7.1} {:7.1} {:7.1} MB", kind.title(), mb(idle), mb(connected), mb(filled));
                    for (row, bytes) in [(IDLE, idle), (with_connections.as_str(), connected), (FILLED, filled)] {
                        resident.add(row, *kind, mb(bytes));
                    }
                    each.add(per_connection, *kind, connected.saturating_sub(idle) as f64 / 1024.0 / connections.max(1) as f64);
                }
                Err(text) => outcome.fail(*kind, &text),
            }
        }
    }
    outcome.tables = vec![resident, each];
    outcome.finish(&settings)
}

fn mb(bytes: u64) -> f64 {
    bytes as f64 / 1e6
}

/// Bytes idle, with connections, filled.
fn one_server(kind: Kind, connections: u64, size: Size, outcome: &mut Outcome) -> Result<[u64; 3], String> {
    // The tables of a run before would be read at the start.
    Server::start_empty(kind, Start::default())?.stop()?;
    let server = Server::start(kind)?;
    outcome.version(kind, server.version()?);
    let resident = || {
        std::thread::sleep(SETTLE);
        process::memory_bytes(server.pid(), "VmRSS")
    };
    let idle = resident();
    let mut conns = Vec::new();
    for _ in 0..connections {
        let mut conn = server.connect()?;
        conn.expect("SELECT 1", "1")?;
        conns.push(conn);
    }
    let connected = resident();
    drop(conns);
    call::prepare(&server.login(), size)?;
    call::run(&server.login(), "oltp_read_only", size, 8, 3)?;
    let filled = resident();
    server.clean_up()?;
    Ok([idle, connected, filled])
}
