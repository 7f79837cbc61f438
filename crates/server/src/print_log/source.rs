//! Reads logs from a server, as a replica does that asks by file and position ("COM_BINLOG_DUMP").
//!
//! The server sends the log from its beginning, each event in a packet behind a zero, and then, since it is asked not to wait, an end. In front of the
//! log there is a ROTATE that is in no file. What follows the named file is not asked for.

use std::io::Write;
use std::time::Duration;

use vaquita_replication::connection::{Connection, Target, error_of, is_eof};
use vaquita_wire::binlog::header::flags::ARTIFICIAL;
use vaquita_wire::binlog::{ChecksumAlgorithm, FormatDescription, RawEvent, event_type};
use vaquita_wire::codec::{put_u16, put_u32};

use super::Failure;
use super::events::{Printer, Wanted};

const COM_BINLOG_DUMP: u8 = 0x12;
const NON_BLOCK: u16 = 1;
/// Of MariaDB: statements in front of rows are sent, too.
const SEND_ANNOTATE_ROWS: u16 = 2;
const FIRST_POSITION: u32 = 4;

#[derive(clap::Args)]
pub struct SourceArguments {
    /// Read the logs from a server: its TLS is used, its certificate is not looked at.
    #[arg(long)]
    read_from_remote_server: bool,
    #[arg(long, default_value = "127.0.0.1", requires = "read_from_remote_server")]
    host: String,
    #[arg(long, default_value_t = 3306, requires = "read_from_remote_server")]
    port: u16,
    /// An account with the privilege REPLICATION SLAVE.
    #[arg(long, default_value = "root", requires = "read_from_remote_server")]
    user: String,
    /// Its password; users of the machine see what stands on a command line.
    #[arg(long, env = "MYSQL_PWD", hide_env_values = true, default_value = "", hide_default_value = true)]
    password: String,
}

/// A server that says nothing for so long is gone: it was asked not to wait for more.
const SILENCE_MAX: Duration = Duration::from_secs(60);

impl SourceArguments {
    fn target(&self) -> Target {
        Target::new((&self.host, self.port), &self.user, &self.password, SILENCE_MAX)
    }

    pub fn is_remote(&self) -> bool {
        self.read_from_remote_server
    }
}

pub fn print_all<'a>(
    source: &SourceArguments,
    files: &[String],
    wanted: impl Fn(usize) -> Wanted<'a>,
    out: &mut dyn Write,
) -> Result<(), Failure> {
    for (nth, file) in files.iter().enumerate() {
        writeln!(out, "# {file} of {}:{}. Times are UTC.", source.host, source.port)?;
        let mut connection = Connection::open(&source.target())?;
        let has_checksums = greet(&mut connection)?;
        connection.command(&dump(file, connection.is_mariadb()))?;
        print_log(&mut connection, file, has_checksums, Printer::new(wanted(nth)), out)?;
    }
    Ok(())
}

/// Says what a reader of this time understands, and asks whether the events will have checksums.
fn greet(connection: &mut Connection) -> Result<bool, Failure> {
    let checksum = connection.query("SELECT @@GLOBAL.binlog_checksum")?;
    connection
        .query("SET @master_binlog_checksum = @@GLOBAL.binlog_checksum, @source_binlog_checksum = @@GLOBAL.binlog_checksum")?;
    // MariaDB sends events as they are to who understands GTIDs.
    connection.query("SET @mariadb_slave_capability = 4")?;
    Ok(checksum.is_some_and(|algorithm| algorithm == b"CRC32"))
}

fn dump(file: &str, is_mariadb: bool) -> Vec<u8> {
    let mut command = vec![COM_BINLOG_DUMP];
    put_u32(&mut command, FIRST_POSITION);
    put_u16(&mut command, if is_mariadb { NON_BLOCK | SEND_ANNOTATE_ROWS } else { NON_BLOCK });
    // No replica: the server does not end the connection of one that has the same number.
    put_u32(&mut command, 0);
    command.extend_from_slice(file.as_bytes());
    command
}

fn print_log(
    connection: &mut Connection,
    file: &str,
    mut has_checksums: bool,
    mut printer: Printer<'_>,
    out: &mut dyn Write,
) -> Result<(), Failure> {
    loop {
        let packet = connection.packet()?;
        let event = match packet.split_first() {
            Some((0, event)) => event,
            _ if is_eof(&packet) => return Ok(()),
            _ => return Err(error_of(&packet).into()),
        };
        // The format says it for itself and for what follows.
        if let Some(format) = format_of(event) {
            has_checksums = format.checksum == Some(ChecksumAlgorithm::Crc32);
        }
        let damage = |error: &dyn std::fmt::Display| Failure::from(format!("{file}: {error}"));
        let mut raw = RawEvent::of_packet(event, has_checksums).map_err(|error| damage(&error))?;
        let rotates = raw.header.event_type == event_type::ROTATE;
        if rotates && raw.header.flags & ARTIFICIAL != 0 {
            continue;
        }
        raw.position = u64::from(raw.header.end_position).saturating_sub(raw.bytes.len() as u64);
        if raw.position >= printer.stop() {
            return Ok(());
        }
        printer.print(&raw, out)?.map_err(|error| damage(&format!("at {}: {error}", raw.position)))?;
        if rotates {
            return Ok(());
        }
    }
}

fn format_of(event: &[u8]) -> Option<FormatDescription<'_>> {
    let is_format = event.get(4) == Some(&event_type::FORMAT_DESCRIPTION);
    let data = event.get(vaquita_wire::binlog::header::HEADER_BYTES..).filter(|_| is_format)?;
    FormatDescription::decode(data).ok()
}
