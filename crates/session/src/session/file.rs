//! LOAD DATA and SELECT … INTO OUTFILE: which files they may touch, and the way of a client's file to the server.
//!
//! Files of the server lie in the directory of `secure_file_priv`: with NULL there is none, with '' it is every one that
//! the FILE privilege's owner names. A file of the client (LOCAL) comes in packets: the server asks with its name, the
//! client sends it up to an empty packet. If the statement fails, the rest is read and dropped before the error goes out.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use vaquita_exec::context::Execution;
use vaquita_exec::dml::Changed;
use vaquita_exec::file::{DumpWriter, FileFormat, FileSource, FileWriter, Transcoded, load};
use vaquita_parser::ast::{LoadData, SelectInto};
use vaquita_plan::env::Level;
use vaquita_plan::node::{LoadPlan, Plan, QueryPlan};
use vaquita_storage::{Interrupt, Reads};
use vaquita_types::charset::{Charset, CollationId};
use vaquita_types::errno::{
    ER_AMBIGUOUS_FIELD_TERM, ER_CANT_CREATE_FILE, ER_CLIENT_LOCAL_FILES_DISABLED, ER_ERROR_ON_READ, ER_FILE_EXISTS_ERROR,
    ER_OPTION_PREVENTS_STATEMENT, ER_TEXTFILE_NOT_READABLE, ER_UNKNOWN_CHARACTER_SET, ErrorDef,
};
use vaquita_types::error::Next;
use vaquita_types::{Error, Result, Value};

use super::Session;
use super::exchange::Exchange;
use super::execute::{Done, RESTARTS_MAX};
use super::program::{InUse, Tables};
use super::server_view::ServerView;
use crate::answer::{Answer, Flow};
use crate::clients::Client;
use crate::state::prepared::os_text;
use crate::variables::Var;

/// Bytes of a file that are read at once.
const READ_BYTES: u64 = 128 << 10;

/// The number and text of MySQL's own for a file that cannot be looked at.
const EE_STAT: ErrorDef =
    ErrorDef { code: 13, sqlstate: b"HY000", name: "EE_STAT", format: "Can't get stat of '%s' (OS errno %d - %s)" };

/// A LOAD DATA that is ready to read its file.
struct Ready {
    plan: LoadPlan,
    format: FileFormat,
    charset: &'static Charset,
    /// The server's file; `None` if the client has it.
    file: Option<(File, PathBuf)>,
}

impl Session {
    pub(super) fn load_data(&mut self, load: &LoadData, exchange: &mut Exchange<'_>) -> Flow {
        let ready = match self.prepare_load(load) {
            Ok(ready) => ready,
            Err(error) => return self.fail(&error, exchange),
        };
        self.client.note_change();
        self.transaction.begin_if_needed(&self.env.settings);
        self.track_plan(&Plan::Insert(ready.plan.insert.clone()));
        let loaded = self.run_load(&load.path, ready, exchange.answer);
        match self.settle().and(loaded) {
            Ok(changed) => {
                // MySQL's answer to LOAD DATA has no insert id.
                if changed.generated_id != 0 {
                    self.env.ids.set_last(changed.generated_id);
                }
                let done = Done::Ok { affected: changed.affected, last_insert_id: 0, info: changed.info };
                self.finish_statement(done, exchange)
            }
            Err(error) => {
                self.fail_statement(&error);
                self.fail(&error, exchange)
            }
        }
    }

    /// Everything that can be wrong before the file is read.
    fn prepare_load(&self, load: &LoadData) -> Result<Ready> {
        let may_ask = self.server.globals.is_on(Var::LocalInfile) && self.options.local_files || self.access.is_servers_own();
        if load.local && !may_ask {
            return Err(Error::new(&ER_CLIENT_LOCAL_FILES_DISABLED, &[]));
        }
        let format = FileFormat::new(&load.format, &self.env)?;
        let plan =
            self.with_plan_context(|context| vaquita_plan::bind::plan_load(load, load.xml || !format.is_fixed_size(), context))?;
        self.admit_at_once(&Plan::Insert(plan.insert.clone()))?;
        let name = match &load.charset {
            Some(name) => name.clone(),
            None => text(&self.env.settings.of(Var::CharacterSetDatabase)),
        };
        let charset = supported_charset(&name)?;
        let file = if load.local { None } else { Some(self.open_for_reading(&load.path)?) };
        Ok(Ready { plan, format, charset, file })
    }

    fn run_load(&mut self, name: &[u8], mut ready: Ready, answer: &mut dyn Answer) -> Result<Changed> {
        let mut restarts = 0;
        loop {
            self.transaction.storage().begin_statement(Reads::Many);
            self.transaction.storage().note_change();
            let loaded = match &mut ready.file {
                Some((file, path)) => {
                    file.seek(SeekFrom::Start(0)).map_err(|e| file_error(&ER_ERROR_ON_READ, path, &e))?;
                    let mut source = ServerFile { file, path };
                    self.load_from(&ready.plan, &ready.format, ready.charset, &mut source)
                }
                None => self.load_from_client(name, &ready, answer),
            };
            match loaded {
                Ok(changed) => {
                    self.transaction.storage().end_statement();
                    return Ok(changed);
                }
                // What the client has sent is gone.
                Err(error) if error.next() == Next::Restart && ready.file.is_some() && restarts < RESTARTS_MAX => {
                    restarts += 1;
                    self.transaction.storage().restart_statement();
                }
                Err(error) => return Err(error),
            }
        }
    }

    fn load_from(
        &self,
        plan: &LoadPlan,
        format: &FileFormat,
        charset: &'static Charset,
        source: &mut dyn FileSource,
    ) -> Result<Changed> {
        let whole = Plan::Insert(plan.insert.clone());
        let in_use = InUse { tables: Tables::Of(&whole), outer: None };
        let server = ServerView { in_use: Some(&in_use), ..self.server_view() };
        let statement = self.executing(self.prepared.values(), &server);
        let bytes_compare = charset.mbmaxlen == 1 || matches!(charset.name, "utf8mb4" | "utf8mb3");
        if bytes_compare {
            return load(plan, format, charset.default_collation, &statement, source);
        }
        let mut source = Transcoded { source, from: charset, cut: Vec::new() };
        load(plan, format, CollationId::default(), &statement, &mut source)
    }

    fn load_from_client(&self, name: &[u8], ready: &Ready, answer: &mut dyn Answer) -> Result<Changed> {
        answer.ask_for_file(name)?;
        let timeout = Duration::from_secs(seconds(&self.env.settings.of(Var::NetReadTimeout)));
        let mut source = ClientFile { answer, timeout, client: &self.client, ended: false };
        let loaded = self.load_from(&ready.plan, &ready.format, ready.charset, &mut source);
        match source.drop_rest() {
            Ok(()) => loaded,
            Err(error) => loaded.and(Err(error)),
        }
    }

    /// The rows of a query to the file of its INTO; how many there were.
    pub(super) fn write_file(&self, query: &QueryPlan, statement: &Execution<'_>) -> Result<u64> {
        let Some(into) = query.into_file.as_deref() else { return Err(Error::internal("a query without a file")) };
        let run = |sink: &mut dyn vaquita_exec::sink::RowSink| vaquita_exec::query::run(query, statement, None, sink);
        match into {
            SelectInto::Vars(_) => Err(Error::internal("variables are no file")),
            SelectInto::Dumpfile(path) => {
                let (file, path) = self.create_file(path)?;
                let mut writer = DumpWriter::new(file);
                let written = run(&mut writer).and_then(|rows| writer.finish().map(|()| rows));
                kept(written, &path)
            }
            SelectInto::Outfile { path, charset, format } => {
                let charset = charset.as_deref().map(supported_charset).transpose()?;
                let format = FileFormat::new(format, &self.env)?;
                let (file, path) = self.create_file(path)?;
                let mut writer = FileWriter::new(file, format, charset.filter(|charset| !charset.is_binary()));
                let written = run(&mut writer).and_then(|rows| writer.finish().map(|()| rows));
                if writer.is_ambiguous() {
                    self.env.push_warning(Level::Warning, Error::new(&ER_AMBIGUOUS_FIELD_TERM, &[]));
                }
                kept(written, &path)
            }
        }
    }

    /// Where a file's name leads, if `secure_file_priv` allows it; error 1290.
    fn allowed_path(&self, name: &[u8]) -> Result<PathBuf> {
        let name = PathBuf::from(String::from_utf8_lossy(name).into_owned());
        let path = if name.is_absolute() {
            name
        } else if name.components().count() > 1 {
            self.server.data_dir().join(name)
        } else {
            self.server.data_dir().join(self.env.database().unwrap_or_default()).join(name)
        };
        if self.server.is_secure_path(&path) {
            Ok(path)
        } else {
            Err(Error::new(&ER_OPTION_PREVENTS_STATEMENT, &[&"--secure-file-priv"]))
        }
    }

    /// The folder of a database in the data directory, which MySQL has and which is made here for the first file in it.
    fn makes_folder(&self, path: &Path) -> Result<bool> {
        let data_dir = self.server.data_dir();
        let folder = path.parent().filter(|folder| folder.parent() == Some(&data_dir));
        let Some(name) = folder.and_then(Path::file_name).and_then(|name| name.to_str()) else { return Ok(false) };
        let is_database = self.server.catalog.database(name)?.is_some();
        Ok(is_database && folder.is_some_and(|folder| std::fs::create_dir(folder).is_ok()))
    }

    fn open_for_reading(&self, name: &[u8]) -> Result<(File, PathBuf)> {
        let path = self.allowed_path(name)?;
        let about = std::fs::metadata(&path).map_err(|e| file_error(&EE_STAT, &path, &e))?;
        if !about.is_file() {
            return Err(Error::new(&ER_TEXTFILE_NOT_READABLE, &[&path.display()]));
        }
        let file = File::open(&path).map_err(|_| Error::new(&ER_TEXTFILE_NOT_READABLE, &[&path.display()]))?;
        Ok((file, path))
    }

    fn create_file(&self, name: &[u8]) -> Result<(File, PathBuf)> {
        let path = self.allowed_path(name)?;
        let create = || std::fs::OpenOptions::new().write(true).create_new(true).mode(0o640).open(&path);
        let created = match create() {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound && self.makes_folder(&path)? => create(),
            created => created,
        };
        match created {
            Ok(file) => Ok((file, path)),
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {
                Err(Error::new(&ER_FILE_EXISTS_ERROR, &[&path.display()]))
            }
            Err(error) => Err(file_error(&ER_CANT_CREATE_FILE, &path, &error)),
        }
    }
}

/// A statement that failed leaves no file.
fn kept(written: Result<u64>, path: &Path) -> Result<u64> {
    if written.is_err()
        && let Err(error) = std::fs::remove_file(path)
    {
        tracing::warn!(%error, path = %path.display(), "cannot remove the file of a query that failed");
    }
    written
}

struct ServerFile<'a> {
    file: &'a mut File,
    path: &'a Path,
}

impl FileSource for ServerFile<'_> {
    fn read_more(&mut self, out: &mut Vec<u8>) -> Result<bool> {
        let read = self.file.by_ref().take(READ_BYTES).read_to_end(out);
        read.map(|bytes| bytes > 0).map_err(|e| file_error(&ER_ERROR_ON_READ, self.path, &e))
    }
}

/// The file that a client sends.
struct ClientFile<'a> {
    answer: &'a mut dyn Answer,
    timeout: Duration,
    client: &'a Client,
    ended: bool,
}

impl ClientFile<'_> {
    /// Reads what the client still sends: only then can it be answered. A statement that was killed reads on too.
    fn drop_rest(&mut self) -> Result<()> {
        let mut dropped = Vec::new();
        let patient = Interrupt::new(0);
        while !self.ended && !self.answer.is_broken() {
            if self.client.must_close() {
                self.answer.give_up();
                break;
            }
            dropped.clear();
            self.ended = !self.answer.file_bytes(&mut dropped, self.timeout, &patient)?;
        }
        Ok(())
    }
}

impl FileSource for ClientFile<'_> {
    fn read_more(&mut self, out: &mut Vec<u8>) -> Result<bool> {
        if !self.ended {
            self.ended = !self.answer.file_bytes(out, self.timeout, &self.client.interrupt)?;
        }
        Ok(!self.ended)
    }
}

fn supported_charset(name: &str) -> Result<&'static Charset> {
    let charset = Charset::by_name(name).filter(|charset| charset.is_supported());
    charset.ok_or_else(|| Error::new(&ER_UNKNOWN_CHARACTER_SET, &[&name]))
}

fn text(value: &Value) -> String {
    match value {
        Value::Bytes(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        _ => String::new(),
    }
}

fn seconds(value: &Value) -> u64 {
    match value {
        Value::UInt(seconds) => *seconds,
        _ => 30,
    }
}

fn file_error(def: &ErrorDef, path: &Path, error: &std::io::Error) -> Error {
    Error::new(def, &[&path.display(), &error.raw_os_error().unwrap_or_default(), &os_text(error)])
}
