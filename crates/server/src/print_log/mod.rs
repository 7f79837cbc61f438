//! `vaquita log`: prints binary logs of MySQL and MariaDB for people to read.
//!
//! Each event has a line with its position and one with its time, server, end and type; then what it says, as SHOW BINLOG EVENTS says it; for rows
//! the changes as statements behind `###`. It is not made to be run. Logs are read from files, or from a server as a replica reads them
//! (`source`). The first damage ends it, with the file and the position.

mod events;
mod source;

use std::fs::File;
use std::io::{BufWriter, Read, Write};
use std::path::Path;

use vaquita_types::gtid::GtidSet;
use vaquita_wire::binlog::EventReader;

use events::{Printer, Wanted};

type Failure = Box<dyn std::error::Error + Send + Sync>;

/// Bytes that are read from a file at a time.
const PIECE_BYTES: usize = 1 << 16;

#[derive(clap::Args)]
pub struct LogArguments {
    /// Binary logs, in their order: files, or names of a server's.
    #[arg(required = true, value_name = "FILE")]
    files: Vec<String>,
    /// Print what begins at this position of the first log or behind it.
    #[arg(long, default_value_t = 0)]
    start_position: u64,
    /// Print nothing that begins at this position of the last log or behind it.
    #[arg(long, default_value_t = u64::MAX, hide_default_value = true)]
    stop_position: u64,
    /// Print only transactions of this set of GTIDs.
    #[arg(long, value_parser = parse_gtids)]
    include_gtids: Option<GtidSet>,
    /// Do not print transactions of this set of GTIDs.
    #[arg(long, value_parser = parse_gtids)]
    exclude_gtids: Option<GtidSet>,
    #[command(flatten)]
    source: source::SourceArguments,
}

fn parse_gtids(text: &str) -> Result<GtidSet, String> {
    GtidSet::parse(text.as_bytes()).map_err(|problem| String::from_utf8_lossy(&problem.message(text.as_bytes())).into_owned())
}

impl LogArguments {
    fn wanted(&self, nth: usize) -> Wanted<'_> {
        Wanted {
            start: if nth == 0 { self.start_position } else { 0 },
            stop: if nth + 1 == self.files.len() { self.stop_position } else { u64::MAX },
            include: self.include_gtids.as_ref(),
            exclude: self.exclude_gtids.as_ref(),
        }
    }
}

pub fn run(arguments: LogArguments) -> Result<(), Failure> {
    let mut out = BufWriter::new(std::io::stdout().lock());
    let outcome = print_all(&arguments, &mut out);
    // What could be read is shown, also when the rest could not.
    match outcome.and(out.flush().map_err(Failure::from)) {
        // Who reads has seen enough.
        Err(error) if is_broken_pipe(&error) => Ok(()),
        outcome => outcome,
    }
}

fn is_broken_pipe(error: &Failure) -> bool {
    error.downcast_ref::<std::io::Error>().is_some_and(|error| error.kind() == std::io::ErrorKind::BrokenPipe)
}

fn print_all(arguments: &LogArguments, out: &mut dyn Write) -> Result<(), Failure> {
    if arguments.source.is_remote() {
        return source::print_all(&arguments.source, &arguments.files, |nth| arguments.wanted(nth), out);
    }
    for (nth, file) in arguments.files.iter().enumerate() {
        print_file(file, Printer::new(arguments.wanted(nth)), out)?;
    }
    Ok(())
}

fn print_file(name: &str, mut printer: Printer<'_>, out: &mut dyn Write) -> Result<(), Failure> {
    let mut file = File::open(Path::new(name)).map_err(|error| format!("{name}: {error}"))?;
    writeln!(out, "# {name}. Times are UTC.")?;
    let mut reader = EventReader::of_file();
    let mut piece = vec![0; PIECE_BYTES];
    let damage = |position: u64, error: &dyn std::fmt::Display| Failure::from(format!("{name} at {position}: {error}"));
    loop {
        let len = file.read(&mut piece).map_err(|error| damage(reader.position(), &error))?;
        reader.feed(piece.get(..len).unwrap_or_default());
        loop {
            let position = reader.position();
            let Some(raw) = reader.next_event().map_err(|error| damage(position, &error))? else { break };
            if raw.position >= printer.stop() {
                return Ok(());
            }
            printer.print(&raw, out)?.map_err(|error| damage(position, &error))?;
        }
        if len == 0 {
            break;
        }
    }
    reader.end().map_err(|error| damage(reader.position(), &error))?;
    if reader.is_in_use() {
        writeln!(out, "# The log was not closed: its server still writes it, or ended without closing it.")?;
    }
    Ok(())
}
