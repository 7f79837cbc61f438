//! The command lines of `vaquita backup`, `backups`, `restore`, `verify`, `branch` and `clone`.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use vaquita_backup::{ArchiveOptions, Donor, Keep, Place};
use vaquita_replication::address::{Address, read_defaults};

use crate::restore::{self, Until};

type Failure = Box<dyn std::error::Error + Send + Sync>;

/// The server whose data is copied.
#[derive(clap::Args)]
struct SourceArguments {
    /// The server: mysql://user[:password]@host[:port], or mysql://user@/path/of/socket; a password may be in VAQUITA_SOURCE_PASSWORD instead.
    #[arg(long, value_parser = Address::parse, value_name = "ADDRESS")]
    from: Option<Address>,
    /// An option file with its address, as `client.cnf` in its data directory.
    #[arg(long, value_name = "FILE", conflicts_with = "from")]
    defaults: Option<PathBuf>,
}

impl SourceArguments {
    fn address(self) -> Result<Address, Failure> {
        let mut address = match (self.from, self.defaults) {
            (Some(address), _) => address,
            (None, Some(file)) => read_defaults(&file)?,
            (None, None) => {
                return Err("give the server with --from, or the client.cnf of its data directory with --defaults".into());
            }
        };
        if address.password.is_empty() {
            address.password = std::env::var("VAQUITA_SOURCE_PASSWORD").unwrap_or_default();
        }
        Ok(address)
    }
}

/// Where backups are.
#[derive(clap::Args)]
pub struct PlaceArguments {
    /// The directory of the backups.
    place: String,
    /// A file with the key of encrypted backups: 64 hexadecimal digits, as `openssl rand -hex 32` makes them.
    #[arg(long, value_name = "FILE")]
    key_file: Option<PathBuf>,
}

impl PlaceArguments {
    fn open(&self, create: bool) -> Result<Box<dyn Place>, Failure> {
        let key = self.key_file.as_deref().map(vaquita_backup::read_key).transpose()?;
        vaquita_backup::open_place(&self.place, create, key)
    }
}

#[derive(clap::Args)]
pub struct BackupArguments {
    #[command(flatten)]
    source: SourceArguments,
    #[command(flatten)]
    to: PlaceArguments,
    /// Read no more than so many bytes a second from the server; K, M and G are understood.
    #[arg(long, value_parser = parse_bytes, value_name = "BYTES")]
    limit: Option<u64>,
    /// Afterwards keep the newest so many backups of the server, and remove older ones.
    #[arg(long, value_name = "NUMBER")]
    keep: Option<usize>,
    /// Afterwards keep backups that are not older than so many days, and remove older ones.
    #[arg(long, value_name = "DAYS")]
    keep_days: Option<u64>,
    /// Archive the server's binary log, until this is ended, for restores to any moment.
    #[arg(long, conflicts_with_all = ["limit", "keep", "keep_days"])]
    log: bool,
    /// With --log: end when all of the log that is there is archived.
    #[arg(long, requires = "log")]
    once: bool,
    /// With --log: what has come is stored after so many milliseconds.
    #[arg(long, requires = "log", default_value_t = 1000, value_name = "MILLISECONDS")]
    delay: u64,
}

#[derive(clap::Args)]
pub struct RestoreArguments {
    #[command(flatten)]
    place: PlaceArguments,
    /// The new data directory; it must not exist, or be empty. With --into it is only worked in, and removed.
    #[arg(long, required_unless_present = "into")]
    data_dir: Option<PathBuf>,
    /// Bring tables back into this running server: mysql://user[:password]@host[:port], or its option file (client.cnf).
    #[arg(long, value_name = "ADDRESS")]
    into: Option<String>,
    /// With --into: this table, as DATABASE.TABLE; may be given again.
    #[arg(long, requires = "into", value_name = "TABLE")]
    table: Vec<String>,
    /// With --into: all tables of this database; may be given again.
    #[arg(long, requires = "into", value_name = "DATABASE")]
    database: Vec<String>,
    /// With --into: the database that the tables get [default: their own].
    #[arg(long = "as", requires = "into", value_name = "DATABASE")]
    rename: Option<String>,
    /// The backup [default: the newest, or with a point in time the newest before it].
    #[arg(long, value_name = "ID")]
    backup: Option<String>,
    /// The server, by its UUID, if the place has backups of several.
    #[arg(long, value_name = "UUID")]
    server: Option<String>,
    /// As it was at this time (UTC, or with an offset): 2026-11-22 10:00:00.
    #[arg(long, group = "point", value_parser = restore::parse_time, value_name = "TIME")]
    to: Option<u64>,
    /// With all up to this transaction.
    #[arg(long, group = "point", value_name = "GTID")]
    to_gtid: Option<String>,
    /// With all up to the transaction in front of this one.
    #[arg(long, group = "point", value_name = "GTID")]
    before_gtid: Option<String>,
    /// With all up to the last DROP, TRUNCATE, or DELETE without WHERE, which is shown. (A DELETE is seen if binlog_rows_query_log_events was on.)
    #[arg(long, group = "point")]
    before_statement: bool,
    /// With all that the archived log has.
    #[arg(long, group = "point")]
    to_end: bool,
}

#[derive(clap::Args)]
pub struct VerifyArguments {
    #[command(flatten)]
    place: PlaceArguments,
    /// This backup only.
    #[arg(long, value_name = "ID")]
    backup: Option<String>,
}

#[derive(clap::Args)]
pub struct BranchArguments {
    #[command(flatten)]
    source: SourceArguments,
    /// The new data directory, on the server's machine. On the file system of its data it takes no space at first.
    #[arg(long)]
    data_dir: PathBuf,
}

#[derive(clap::Args)]
pub struct CloneArguments {
    #[command(flatten)]
    source: SourceArguments,
    /// The new data directory; it must not exist, or be empty.
    #[arg(long)]
    data_dir: PathBuf,
    /// Read no more than so many bytes a second from the server; K, M and G are understood.
    #[arg(long, value_parser = parse_bytes, value_name = "BYTES")]
    limit: Option<u64>,
}

fn parse_bytes(text: &str) -> Result<u64, String> {
    let (digits, factor) = match text.char_indices().last() {
        Some((at, 'k' | 'K')) => (&text[..at], 1 << 10),
        Some((at, 'm' | 'M')) => (&text[..at], 1 << 20),
        Some((at, 'g' | 'G')) => (&text[..at], 1 << 30),
        _ => (text, 1),
    };
    let number: Option<u64> = digits.parse().ok();
    number
        .and_then(|number| number.checked_mul(factor))
        .filter(|bytes| *bytes > 0)
        .ok_or_else(|| format!("'{text}' is no number of bytes"))
}

pub fn backup(arguments: BackupArguments) -> Result<(), Failure> {
    let source = arguments.source.address()?;
    let place = arguments.to.open(true)?;
    if arguments.log {
        let options = ArchiveOptions { source, delay: Duration::from_millis(arguments.delay.max(1)), once: arguments.once };
        let stop = stop_at_signal()?;
        return vaquita_backup::archive(&*place, &options, &stop, &mut |line| crate::log::line(line));
    }
    let keep = Keep { newest: arguments.keep, days: arguments.keep_days };
    let backup = vaquita_backup::take(&*place, &mut Donor::open(&source, arguments.limit)?, &keep)?;
    println!(
        "backup {}: {} files, {} bytes, {} of them new, {:.1} s",
        backup.id,
        backup.files.len(),
        backup.bytes(),
        backup.new_bytes,
        backup.seconds
    );
    Ok(())
}

/// Set by SIGTERM and SIGINT, so that what has come is stored.
fn stop_at_signal() -> Result<Arc<AtomicBool>, Failure> {
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [signal_hook::consts::SIGTERM, signal_hook::consts::SIGINT] {
        signal_hook::flag::register(signal, stop.clone())?;
    }
    Ok(stop)
}

pub fn backups(place: &PlaceArguments) -> Result<(), Failure> {
    print!("{}", vaquita_backup::list(&*place.open(false)?)?);
    Ok(())
}

pub fn restore(arguments: RestoreArguments) -> Result<(), Failure> {
    let place = arguments.place.open(false)?;
    let until = match arguments {
        RestoreArguments { to: Some(us), .. } => Until::Time(us),
        RestoreArguments { to_gtid: Some(ref gtid), .. } => Until::WithGtid(restore::parse_gtid(gtid)?),
        RestoreArguments { before_gtid: Some(ref gtid), .. } => Until::BeforeGtid(restore::parse_gtid(gtid)?),
        RestoreArguments { before_statement: true, .. } => Until::BeforeStatement,
        RestoreArguments { to_end: true, .. } => Until::End,
        _ => Until::Backup,
    };
    let wanted = restore::Wanted { id: arguments.backup.as_deref(), server: arguments.server.as_deref(), until: &until };
    let Some(into) = &arguments.into else {
        return restore::restore(&*place, &wanted, &arguments.data_dir.unwrap_or_default());
    };
    if arguments.table.is_empty() && arguments.database.is_empty() {
        return Err("say what is to be brought back, with --table or --database".into());
    }
    let mut target = match into.starts_with("mysql://") {
        true => Address::parse(into)?,
        false => read_defaults(Path::new(into))?,
    };
    if target.password.is_empty() {
        target.password = std::env::var("VAQUITA_SOURCE_PASSWORD").unwrap_or_default();
    }
    let work = || std::env::temp_dir().join(format!("vaquita-restore-{}", std::process::id()));
    let tables = restore::Tables {
        target: &target,
        databases: &arguments.database,
        tables: &arguments.table,
        database: arguments.rename.as_deref(),
    };
    restore::restore_tables(&*place, &wanted, &arguments.data_dir.unwrap_or_else(work), &tables)
}

pub fn verify(arguments: &VerifyArguments) -> Result<(), Failure> {
    let place = arguments.place.open(false)?;
    let findings = vaquita_backup::verify(&*place, arguments.backup.as_deref())?;
    findings.iter().for_each(|finding| println!("{finding}"));
    match findings.len() {
        0 => println!("everything is there, as it was written"),
        count => return Err(format!("{count} findings in {}", place.shown()).into()),
    }
    Ok(())
}

pub fn branch(arguments: BranchArguments) -> Result<(), Failure> {
    vaquita_backup::branch(&arguments.source.address()?, &arguments.data_dir)?;
    println!(
        "made {0}; serve it beside the first server with: vaquita serve --data-dir {0} --port … --event-scheduler=OFF",
        arguments.data_dir.display()
    );
    Ok(())
}

pub fn clone(arguments: CloneArguments) -> Result<(), Failure> {
    let about = vaquita_backup::clone(&arguments.source.address()?, &arguments.data_dir, arguments.limit)?;
    println!("made {} of server {}", arguments.data_dir.display(), about.server_uuid);
    if !about.gtids.is_empty() {
        println!(
            "to make it a replica: CHANGE REPLICATION SOURCE TO SOURCE_HOST = '…', SOURCE_USER = '…', SOURCE_AUTO_POSITION = 1"
        );
    }
    Ok(())
}
