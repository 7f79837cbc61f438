//! Backups that the server takes by itself: `vaquita_backup_place` says where to, `vaquita_backup_interval` how often.
//!
//! Two threads: one takes backups, one archives the log. What is due is decided by what the place has, so a server that was down when a backup was due takes it
//! at its start. What fails is tried again, told in the log and shown by SHOW STATUS LIKE 'Vaquita_backup%'.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use vaquita_backup::{Backup, Keep, LogArchive, Place, Source, backups, open_place, read_key, take};
use vaquita_replication::log::dump::{DumpEnd, DumpPeer, DumpRequest, DumpStop, DumpTerms, ReplicaChecksum, dump};
use vaquita_replication::log::file_number;
use vaquita_session::backup_status::BackupStatus;
use vaquita_session::binary_log::RunningDump;
use vaquita_session::variables::{Var, registry};
use vaquita_storage::now_us;
use vaquita_types::Error;
use vaquita_types::gtid::Uuid;
use vaquita_wire::copy::{About, CopiedFile};

use crate::data_copy::DataCopy;
use crate::fronts::mysql::front::Front;

type Failure = Box<dyn std::error::Error + Send + Sync>;

/// How often the clock and the settings are looked at.
const LOOK: Duration = Duration::from_millis(250);
/// What failed is tried again after so long.
const RETRY: Duration = Duration::from_secs(60);
/// What has come of the log is stored after so long.
const LOG_DELAY: Duration = Duration::from_secs(1);

/// Starts both threads, which end when the server stops: what they write is then complete, or is not there.
pub fn start(front: &Arc<Front>) -> std::io::Result<[JoinHandle<()>; 2]> {
    let taking = front.clone();
    let taking = std::thread::Builder::new().name("backups".into()).spawn(move || run(&taking, &mut Taking::default()))?;
    let archiving = front.clone();
    let archiving =
        std::thread::Builder::new().name("log archive".into()).spawn(move || run(&archiving, &mut Archiving::default()))?;
    Ok([taking, archiving])
}

/// What a thread does again and again.
trait Work {
    /// Whether there is something to do at present.
    fn is_due(&mut self, front: &Front, settings: &Settings) -> Result<bool, Failure>;

    fn work(&mut self, front: &Arc<Front>, settings: &Settings) -> Result<(), Failure>;

    fn failed(&self, front: &Front, error: &str);

    /// There is no place.
    fn rests(&mut self, _front: &Front) {}
}

/// Of the variables, as they are now.
#[derive(Clone, PartialEq, Eq)]
struct Settings {
    place: String,
    key_file: String,
    log: bool,
    interval: Duration,
    keep: usize,
}

impl Settings {
    fn of(front: &Front) -> Settings {
        let globals = &front.server.globals;
        Settings {
            place: globals.text(Var::VaquitaBackupPlace),
            key_file: globals.text(Var::VaquitaBackupKeyFile),
            log: globals.number(Var::VaquitaBackupLog) != 0,
            interval: Duration::from_secs(globals.number(Var::VaquitaBackupInterval)),
            keep: globals.number(Var::VaquitaBackupKeep) as usize,
        }
    }

    fn open(&self) -> Result<Box<dyn Place>, Failure> {
        let key = (!self.key_file.is_empty()).then(|| read_key(Path::new(&self.key_file))).transpose()?;
        open_place(&self.place, true, key)
    }
}

fn run(front: &Arc<Front>, work: &mut dyn Work) {
    let mut failed: Option<(Instant, Settings)> = None;
    while !front.stopping.load(Ordering::Relaxed) {
        std::thread::sleep(LOOK);
        let settings = Settings::of(front);
        // Whoever changes a setting does not wait for the next try.
        let waits = failed.as_ref().is_some_and(|(since, then)| *then == settings && since.elapsed() < RETRY);
        if settings.place.is_empty() {
            work.rests(front);
            continue;
        }
        if waits {
            continue;
        }
        let done = match work.is_due(front, &settings) {
            Ok(true) => work.work(front, &settings),
            Ok(false) => Ok(()),
            Err(error) => Err(error),
        };
        failed = match done {
            Ok(()) => None,
            Err(_) if front.stopping.load(Ordering::Relaxed) => return,
            Err(error) => {
                work.failed(front, &error.to_string());
                Some((Instant::now(), settings))
            }
        };
    }
}

fn status(front: &Front) -> &BackupStatus {
    &front.server.backups
}

fn shown(front: &Front, name: &str) -> String {
    registry().find(name).map_or(String::new(), |def| def.show(&front.server.global(def)))
}

/// The thread that takes backups.
#[derive(Default)]
struct Taking {
    /// The place whose newest backup is known, and when that was taken.
    known: Option<(String, u64)>,
}

impl Work for Taking {
    fn is_due(&mut self, front: &Front, settings: &Settings) -> Result<bool, Failure> {
        let last_us = match &self.known {
            Some((place, last_us)) if *place == settings.place => *last_us,
            _ => {
                let uuid = shown(front, "server_uuid");
                let of_server = |backup: &Backup| (backup.server_uuid == uuid).then_some(backup.taken_us);
                let last_us = backups(&*settings.open()?)?.iter().filter_map(of_server).max().unwrap_or(0);
                self.known = Some((settings.place.clone(), last_us));
                last_us
            }
        };
        status(front).last_us.store(last_us, Ordering::Relaxed);
        let is_due = now_us().saturating_sub(last_us) >= settings.interval.as_micros() as u64;
        status(front).overdue.store(is_due, Ordering::Relaxed);
        Ok(is_due)
    }

    fn work(&mut self, front: &Arc<Front>, settings: &Settings) -> Result<(), Failure> {
        let place = settings.open()?;
        let keep = Keep { newest: (settings.keep > 0).then_some(settings.keep), days: None };
        let backup = take(&*place, &mut Own { front, copy: None }, &keep)?;
        tracing::info!(
            "backup {} was taken to {}: {} bytes, {} of them new, {:.1} s",
            backup.id,
            settings.place,
            backup.bytes(),
            backup.new_bytes,
            backup.seconds
        );
        self.known = Some((settings.place.clone(), backup.taken_us));
        let status = status(front);
        status.last_us.store(backup.taken_us, Ordering::Relaxed);
        status.overdue.store(false, Ordering::Relaxed);
        status.last_error.lock().clear();
        status.taken.fetch_add(1, Ordering::Release);
        Ok(())
    }

    fn failed(&self, front: &Front, error: &str) {
        tracing::error!("the backup that is due was not taken: {error}");
        let status = status(front);
        *status.last_error.lock() = error.to_string();
        status.overdue.store(true, Ordering::Relaxed);
        // Last: whoever sees that one more has failed sees why.
        status.failed.fetch_add(1, Ordering::Release);
    }
}

/// This server, as what a backup is taken of.
struct Own<'f> {
    front: &'f Arc<Front>,
    copy: Option<DataCopy>,
}

impl Own<'_> {
    fn check(&self) -> Result<(), Failure> {
        if self.front.stopping.load(Ordering::Relaxed) { Err("the server stops".into()) } else { Ok(()) }
    }
}

impl Source for Own<'_> {
    fn begin(&mut self) -> Result<(About, Vec<CopiedFile>), Failure> {
        // Connections have their numbers.
        let copy = self.copy.insert(DataCopy::make(&self.front.server, "own")?);
        Ok((copy.about.clone(), copy.files.clone()))
    }

    fn read(&mut self, file: &CopiedFile, take: &mut dyn FnMut(&[u8]) -> Result<(), Failure>) -> Result<(), Failure> {
        let copy = self.copy.as_ref().ok_or("no copy has been made")?;
        let read = copy.read(&file.name, 0, &mut |piece| {
            self.check()?;
            take(piece).map_err(Broken::Failure)
        });
        read.map_err(|broken: Broken| match broken {
            Broken::Failure(error) => error,
            Broken::Error(error) => error.message().to_string().into(),
        })
    }
}

enum Broken {
    Failure(Failure),
    Error(Error),
}

impl From<Error> for Broken {
    fn from(error: Error) -> Broken {
        Broken::Error(error)
    }
}

impl From<Failure> for Broken {
    fn from(error: Failure) -> Broken {
        Broken::Failure(error)
    }
}

/// The thread that archives the log.
#[derive(Default)]
struct Archiving {
    /// What is not archived is not purged, also while the place cannot be written.
    holding: Option<Arc<RunningDump>>,
}

impl Work for Archiving {
    fn is_due(&mut self, front: &Front, settings: &Settings) -> Result<bool, Failure> {
        let archived_us = &status(front).log_archived_us;
        match settings.log {
            true if archived_us.load(Ordering::Relaxed) > 0 => {}
            // Until the first success the delay counts from here.
            true => archived_us.store(now_us(), Ordering::Relaxed),
            false => {
                archived_us.store(0, Ordering::Relaxed);
                self.rests(front);
            }
        }
        Ok(settings.log && front.binary_log.get().is_some())
    }

    fn work(&mut self, front: &Arc<Front>, settings: &Settings) -> Result<(), Failure> {
        let (Some(log), Some(files)) = (front.binary_log.get(), front.server.binary_log.get()) else { return Ok(()) };
        let files = files.files()?;
        let holding = self.holding.get_or_insert_with(|| {
            let holding = front.server.replicas.begin_dump(0, 0, String::new());
            holding.reads(files.first().map_or(0, |file| file.number));
            holding
        });
        let place = settings.open()?;
        let names: Vec<String> = files.into_iter().map(|file| file.name).collect();
        let uuid = shown(front, "server_uuid");
        let told = &mut |line: &str| tracing::warn!("archive of the binary log: {line}");
        let archive = LogArchive::go_on(&*place, &uuid, &names, true, LOG_DELAY, told)?;
        let start = archive.start();
        if let Some(file) = file_number(&start.file) {
            holding.reads(file);
        }
        let request = DumpRequest { file: start.file.into_bytes(), position: start.pos, waits: true, ..DumpRequest::default() };
        let terms = DumpTerms {
            server_id: shown(front, "server_id").parse().unwrap_or(0),
            server_uuid: Uuid::parse(uuid.as_bytes()).unwrap_or(Uuid([0; 16])),
            gtid_mode: shown(front, "gtid_mode"),
            checksum: ReplicaChecksum::Crc32,
            heartbeat: Some(LOG_DELAY),
        };
        let (looked, read_us) = (Instant::now(), now_us());
        let mut peer = Archiver { front, settings, archive, holding, failure: None, looked, read_us };
        let ended = dump(&**log, &request, &terms, &mut peer);
        if peer.failure.is_none() {
            peer.failure = peer.archive.store().err();
        }
        match (peer.failure, ended) {
            (Some(error), _) => Err(error),
            (None, DumpEnd::Failed(error)) => Err(error.message().to_string().into()),
            (None, DumpEnd::Done | DumpEnd::Gone) => Ok(()),
        }
    }

    fn failed(&self, front: &Front, error: &str) {
        tracing::error!("the binary log cannot be archived: {error}");
        *status(front).last_error.lock() = error.to_string();
    }

    fn rests(&mut self, front: &Front) {
        if let Some(holding) = self.holding.take() {
            front.server.replicas.end_dump(&holding);
        }
    }
}

/// Takes the log as a replica does.
struct Archiver<'a> {
    front: &'a Front,
    settings: &'a Settings,
    archive: LogArchive<'a>,
    holding: &'a RunningDump,
    failure: Option<Failure>,
    looked: Instant,
    /// When everything that was written had been read.
    read_us: u64,
}

impl Archiver<'_> {
    fn show(&self) {
        let status = status(self.front);
        let end = self.archive.start();
        if let Some(file) = file_number(&end.file) {
            self.holding.reads(file);
        }
        *status.log_end.lock() = format!("{}:{}", end.file, end.pos);
        if self.archive.is_stored() {
            status.log_archived_us.store(self.read_us, Ordering::Relaxed);
        }
    }
}

impl DumpPeer for Archiver<'_> {
    fn send(&mut self, pieces: &[&[u8]]) -> Result<(), DumpStop> {
        let packet = pieces.concat();
        // An event stands behind the byte of an OK packet.
        let taken = self.archive.event(packet.get(1..).unwrap_or_default());
        self.show();
        taken.map_err(|error| {
            self.failure = Some(error);
            DumpStop::Gone
        })
    }

    fn flush(&mut self) -> Result<(), DumpStop> {
        Ok(())
    }

    fn state(&mut self, text: &'static str) {
        if text.starts_with("Source has sent all") {
            // Everything that was written until now has been read.
            self.read_us = now_us();
            self.show();
        }
    }

    /// What it reads is not stored yet: `show` says what is.
    fn reads(&mut self, _file: u32) {}

    fn stop(&mut self) -> Option<DumpStop> {
        if self.front.stopping.load(Ordering::Relaxed) {
            return Some(DumpStop::Gone);
        }
        if self.looked.elapsed() < LOOK {
            return None;
        }
        self.looked = Instant::now();
        (Settings::of(self.front) != *self.settings).then_some(DumpStop::Gone)
    }
}
