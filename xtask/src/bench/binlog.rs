//! `cargo xtask bench binlog`: what the binary log costs those who write.
//!
//! Two Vaquitas run on the same data, one with its log and one with `--log-bin=off`, and a MySQL with its own, synced. sysbench's scripts that
//! write run on one after the other, the others stopped (SIGSTOP), again and again; a ratio is that of a turn with the log to the turn without
//! it in the same round. Then readers follow the log (COM_BINLOG_DUMP from its end, nothing but receiving) while others write.

use std::io::ErrorKind;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use super::outcome::{Better, Outcome, Table, Target};
use super::process;
use super::server::{Kind, Server};
use super::settings::{Options, Settings};
use super::sql::Conn;
use super::sysbench::call::{self, Login, Size};
use crate::client::Client;
use crate::paths;
use crate::vaquita::{self, Vaquita};

const SCRIPTS: [&str; 3] = ["oltp_update_non_index", "oltp_write_only", "oltp_insert"];
/// That which readers and bytes are measured with.
const SCRIPT: &str = SCRIPTS[0];
const READERS: [u64; 2] = [1, 8];
const READER_THREADS: u64 = 64;
const DATABASE: &str = "sbtest";
/// A reader that is told nothing for so long looks whether it is still wanted.
const READ_TIMEOUT: Duration = Duration::from_millis(200);
const COM_BINLOG_DUMP: u8 = 0x12;
/// Of the first reader; each has its own.
const FIRST_SERVER_ID: u32 = 1000;

struct Plan {
    threads: Vec<u64>,
    seconds: u64,
    size: Size,
}

/// One of the two Vaquitas.
struct Own {
    server: Vaquita,
    port: u16,
    dir: PathBuf,
}

pub fn main(args: &[String]) -> Result<(), String> {
    let mut options = Options::new("binlog", args);
    let plan = Plan {
        threads: options.numbers("--threads", &[1, 8, 64], &[8])?,
        seconds: options.number("--seconds", 10, 2)?.max(1),
        size: Size { tables: options.number("--tables", 4, 1)?, rows: options.number("--rows", 100_000, 10_000)? },
    };
    let settings = options.finish(5, 1)?;
    let mut outcome = Outcome::new("What the binary log costs");
    outcome.setting(format!(
        "{}, {} tables of {} rows, turns of {} s; rows, `binlog_row_image=FULL`, every commit and every log synced.",
        call::version()?,
        plan.size.tables,
        plan.size.rows,
        plan.seconds,
    ));
    let mut rates = Table::new("With the log", "queries/s", Better::More);
    let mut ratios = Table::new("Vaquita with its log : without it", "ratio", Better::More);
    let mut readers = Table::new("With readers : without them", "ratio", Better::More)
        .note("The readers receive everything that is written; they run on the same two cores.");
    let mut bytes = Table::new("Bytes that the disk is written for a commit", "bytes", Better::Less)
        .note("The whole disk's, flushes and compactions of the turn included.");
    measure(&settings, &plan, &mut outcome, [&mut rates, &mut ratios, &mut readers, &mut bytes])?;
    outcome.tables = vec![rates, ratios, readers, bytes];
    outcome.finish(&settings)
}

fn measure(
    settings: &Settings,
    plan: &Plan,
    outcome: &mut Outcome,
    [rates, ratios, readers, bytes]: [&mut Table; 4],
) -> Result<(), String> {
    let with_log = Own::start("binlog-on", "--log-bin=on")?;
    let without = Own::start("binlog-off", "--log-bin=off")?;
    let mysql = match settings.servers.contains(&Kind::MySql) {
        true => Some(Server::start_empty(Kind::MySql, super::server::Start::default())?),
        false => None,
    };
    outcome.version(Kind::Vaquita, with_log.connect()?.value("SELECT VERSION()")?);
    if let Some(mysql) = &mysql {
        outcome.version(Kind::MySql, mysql.version()?);
        call::prepare(&mysql.login(), plan.size)?;
        mysql.pause()?;
    }
    for own in [&with_log, &without] {
        call::prepare(&own.login(), plan.size)?;
        process::signal(own.server.pid(), "STOP")?;
    }
    for script in SCRIPTS {
        for threads in &plan.threads {
            let name = format!("{script}, {threads} clients");
            rates.row(&name, Target::Peer(2.5));
            ratios.row(&name, Target::AtLeast(0.95));
            for _ in 0..settings.runs {
                let (on, on_bytes) = with_log.turn(plan, script, *threads)?;
                let (off, off_bytes) = without.turn(plan, script, *threads)?;
                println!("{name:36} with {on:8.0}  without {off:8.0}  {:.3}", on / off);
                rates.add(&name, Kind::Vaquita, on);
                ratios.add(&name, Kind::Vaquita, on / off);
                if script == SCRIPT {
                    bytes.add(&format!("{threads} clients, with the log"), Kind::Vaquita, on_bytes);
                    bytes.add(&format!("{threads} clients, without it"), Kind::Vaquita, off_bytes);
                }
                if let Some(mysql) = &mysql {
                    mysql.resume()?;
                    let before = mysql.written_bytes()?;
                    let run = call::run(&mysql.login(), script, plan.size, *threads, plan.seconds)?;
                    rates.add(&name, Kind::MySql, run.per_second);
                    if script == SCRIPT {
                        let written = (mysql.written_bytes()? - before) as f64 / run.transactions.max(1) as f64;
                        bytes.add(&format!("{threads} clients, with the log"), Kind::MySql, written);
                    }
                    mysql.pause()?;
                }
            }
        }
    }
    for count in READERS {
        let name = format!("{count} readers, {SCRIPT}, {READER_THREADS} clients");
        readers.row(&name, Target::None);
        for _ in 0..settings.runs {
            let (alone, _) = with_log.turn(plan, SCRIPT, READER_THREADS)?;
            let (read, received) = with_log.turn_with_readers(plan, count)?;
            println!("{name:50} {read:8.0}, alone {alone:8.0}; {received} bytes received");
            readers.add(&name, Kind::Vaquita, read / alone);
        }
    }
    for own in [with_log, without] {
        own.end()?;
    }
    mysql.map_or(Ok(()), |mysql| Server::clean_up_all(vec![mysql]))
}

impl Own {
    fn start(name: &str, option: &str) -> Result<Own, String> {
        let dir = paths::target_dir().join("bench").join(name);
        let _ = std::fs::remove_dir_all(&dir);
        std::fs::create_dir_all(&dir).map_err(|e| format!("{}: {e}", dir.display()))?;
        let port = vaquita::free_port()?;
        let server = Vaquita::spawn_with(&paths::vaquita()?, &dir, port, &dir.with_extension("log"), &[option])?.wait()?;
        let own = Own { server, port, dir };
        own.connect()?.run(&format!("CREATE DATABASE {DATABASE}"))?;
        Ok(own)
    }

    fn login(&self) -> Login<'static> {
        Login { port: self.port, user: "root", password: vaquita::PASSWORD, database: DATABASE, engine: None }
    }

    fn connect(&self) -> Result<Conn, String> {
        Conn::to(self.port, "root", vaquita::PASSWORD)
    }

    /// Queries a second, and bytes written a transaction.
    fn turn(&self, plan: &Plan, script: &str, threads: u64) -> Result<(f64, f64), String> {
        process::signal(self.server.pid(), "CONT")?;
        let before = process::device_written_bytes(&self.dir)?;
        let run = call::run(&self.login(), script, plan.size, threads, plan.seconds)?;
        let written = process::device_written_bytes(&self.dir)? - before;
        process::signal(self.server.pid(), "STOP")?;
        Ok((run.per_second, written as f64 / run.transactions.max(1) as f64))
    }

    /// Queries a second while so many readers follow, and bytes that these received.
    fn turn_with_readers(&self, plan: &Plan, count: u64) -> Result<(f64, u64), String> {
        process::signal(self.server.pid(), "CONT")?;
        let status = self.connect()?.row("SHOW BINARY LOG STATUS")?;
        let (Some(file), Some(Ok(position))) = (status.first(), status.get(1).map(|text| text.parse::<u32>())) else {
            return Err(format!("SHOW BINARY LOG STATUS: {status:?}"));
        };
        let (received, left) = (AtomicU64::new(0), AtomicU64::new(0));
        let run = std::thread::scope(|scope| {
            let followers: Vec<_> = (0..count)
                .map(|n| {
                    scope.spawn({
                        let (received, left) = (&received, &left);
                        move || follow(self.port, file, position, FIRST_SERVER_ID + n as u32, received, left)
                    })
                })
                .collect();
            let run = call::run(&self.login(), SCRIPT, plan.size, READER_THREADS, plan.seconds);
            left.store(1, Ordering::Relaxed);
            for follower in followers {
                follower.join().map_err(|_| "a reader has panicked")??;
            }
            run
        })?;
        process::signal(self.server.pid(), "STOP")?;
        Ok((run.per_second, received.load(Ordering::Relaxed)))
    }

    fn end(self) -> Result<(), String> {
        process::signal(self.server.pid(), "CONT")?;
        self.server.stop()?;
        std::fs::remove_dir_all(&self.dir).map_err(|e| format!("{}: {e}", self.dir.display()))
    }
}

/// Receives the log from there on until it is told to leave.
fn follow(port: u16, file: &str, position: u32, server_id: u32, received: &AtomicU64, left: &AtomicU64) -> Result<(), String> {
    let mut client = Client::connect(port, "root", vaquita::PASSWORD).map_err(|e| e.to_string())?;
    client.query("SET @source_binlog_checksum = 'CRC32'");
    let mut dump = vec![COM_BINLOG_DUMP];
    dump.extend_from_slice(&position.to_le_bytes());
    dump.extend_from_slice(&[0, 0]);
    dump.extend_from_slice(&server_id.to_le_bytes());
    dump.extend_from_slice(file.as_bytes());
    client.set_timeout(READ_TIMEOUT).map_err(|e| e.to_string())?;
    client.command(&dump).map_err(|e| e.to_string())?;
    while left.load(Ordering::Relaxed) == 0 {
        match client.receive() {
            Ok(packet) if packet.first() == Some(&0xFF) => {
                return Err(format!("a reader: {}", String::from_utf8_lossy(packet.get(9..).unwrap_or_default())));
            }
            Ok(packet) => drop(received.fetch_add(packet.len() as u64, Ordering::Relaxed)),
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {}
            Err(error) => return Err(format!("a reader: {error}")),
        }
    }
    Ok(())
}
