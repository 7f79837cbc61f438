//! FLUSH, SHUTDOWN, ALTER INSTANCE and CLONE LOCAL.
//!
//! Little is cached that FLUSH could empty: accounts and tables are always current.
//! FLUSH TABLES WITH READ LOCK is `lock_tables`'.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use vaquita_parser::ast::{AlterInstance, Flush, FlushWhat, Name, Statement as Ast, TableLock, TableLockKind};
use vaquita_plan::env::Level;
use vaquita_types::errno::{
    ER_CANNOT_FIND_KEY_IN_KEYRING, ER_DA_SSL_LIBRARY_ERROR, ER_LOCK_WAIT_TIMEOUT, ER_RELOAD_KEYRING_FAILURE,
    ER_RPL_ENCRYPTION_CANNOT_ROTATE_BINLOG_MASTER_KEY, ER_SYNTAX_ERROR, ER_WARN_DEPRECATED_SYNTAX_NO_REPLACEMENT,
};
use vaquita_types::{Error, Result};

use super::Session;
use super::execute::Done;
use crate::counters::Counter;
use crate::data_dir;
use crate::logs::Log;

/// How often who waits for commits looks whether they are over.
const LOOK: Duration = Duration::from_millis(2);

impl Session {
    /// `None`: the statement is none of these.
    pub(super) fn maintain(&mut self, ast: &Ast) -> Option<Result<Done>> {
        match ast {
            Ast::Flush(flush) => Some(self.flush(flush)),
            Ast::AlterInstance(action) => Some(self.alter_instance(action)),
            Ast::Shutdown => Some(shutdown()),
            Ast::CloneLocal(dir) => Some(self.clone_local(dir)),
            _ => None,
        }
    }

    fn alter_instance(&mut self, action: &AlterInstance) -> Result<Done> {
        match action {
            AlterInstance::ReloadTls { channel, keeps_errors } => self.reload_tls(channel.as_deref(), *keeps_errors),
            // There is no keyring, and nothing is encrypted by one.
            AlterInstance::ReloadKeyring => Err(Error::new(&ER_RELOAD_KEYRING_FAILURE, &[])),
            AlterInstance::RotateInnodbMasterKey => Err(Error::new(&ER_CANNOT_FIND_KEY_IN_KEYRING, &[])),
            AlterInstance::RotateBinlogMasterKey => Err(Error::new(&ER_RPL_ENCRYPTION_CANNOT_ROTATE_BINLOG_MASTER_KEY, &[])),
            AlterInstance::RedoLog(true) => Ok(Done::nothing()),
            AlterInstance::RedoLog(false) => Err(Error::unsupported("DISABLE INNODB REDO_LOG")),
        }
    }

    /// New connections use the files that `ssl_ca`, `ssl_cert` and `ssl_key` name now. If they cannot be read, all stays as it is; with NO ROLLBACK ON ERROR that is a warning.
    fn reload_tls(&mut self, channel: Option<&str>, keeps_errors: bool) -> Result<Done> {
        // The admin address has the certificate of the other.
        if !matches!(channel, None | Some("mysql_main" | "mysql_admin")) {
            return Err(Error::new(&ER_SYNTAX_ERROR, &[]));
        }
        let server = self.server.clone();
        let Some(reload) = server.tls.get() else { return Err(Error::unsupported("TLS without a front")) };
        let mut reloaded = Ok(());
        server.blocking(&mut || reloaded = reload(&server.globals));
        match reloaded.map_err(|reason| Error::new(&ER_DA_SSL_LIBRARY_ERROR, &[&reason])) {
            Err(error) if keeps_errors => self.env.push_warning(Level::Warning, error),
            other => other?,
        }
        Ok(Done::nothing())
    }

    /// CLONE LOCAL DATA DIRECTORY: another server can begin there with what is committed now.
    fn clone_local(&mut self, dir: &[u8]) -> Result<Done> {
        let dir = PathBuf::from(OsStr::from_bytes(dir));
        let server = self.server.clone();
        let mut done = Ok(());
        server.blocking(&mut || done = data_dir::copy(&server, &dir));
        done.map(|()| Done::nothing())
    }

    /// Under the global read lock: what is in the binary log is what readers see, so that both make a backup.
    fn wait_for_commits_under_way(&mut self) -> Result<()> {
        let (server, client) = (self.server.clone(), self.client.clone());
        let until = Instant::now() + self.env.settings.metadata_lock_wait;
        let mut waited = Ok(());
        server.blocking(&mut || {
            let are_under_way = || {
                let others = server.clients().list();
                others.iter().any(|other| other.id != client.id && other.commits()) || server.engine.store().hides_commits()
            };
            while are_under_way() && waited.is_ok() {
                std::thread::sleep(LOOK);
                waited = match Instant::now() < until {
                    true => client.interrupt.check_wait(),
                    false => Err(Error::new(&ER_LOCK_WAIT_TIMEOUT, &[])),
                };
            }
        });
        if waited.is_err() {
            self.locked.release();
        }
        waited
    }

    fn flush(&mut self, flush: &Flush) -> Result<Done> {
        if matches!(flush.what, FlushWhat::Tables { .. }) {
            self.client.counters.add(Counter::FlushTables, 1);
        }
        if let FlushWhat::Tables { tables, .. } = &flush.what {
            let named = tables.iter().map(|table| Ok((self.database_of(table)?, table.name.clone())));
            let named = named.collect::<Result<Vec<_>>>()?;
            self.handlers.rewind(&named);
        }
        match &flush.what {
            FlushWhat::Tables { with_read_lock: true, tables, .. } if tables.is_empty() => {
                self.locked.lock_all_for_reading(self.env.settings.metadata_lock_wait)?;
                self.wait_for_commits_under_way().map(|()| Done::nothing())
            }
            FlushWhat::Tables { with_read_lock: true, tables, .. } => {
                self.transaction.refuse_in_read_only(&self.env.settings)?;
                let read = |table: &Name| TableLock { table: table.clone(), alias: None, kind: TableLockKind::Read };
                self.lock_tables(&tables.iter().map(read).collect::<Vec<_>>())
            }
            FlushWhat::Tables { for_export: true, .. } => Err(Error::unsupported("FLUSH TABLES FOR EXPORT")),
            FlushWhat::Tables { .. } => self.locked.refuse_flush().map(|()| Done::nothing()),
            FlushWhat::Options(options) => {
                if options.iter().any(|option| option == "PRIVILEGES") {
                    self.server.accounts().forget_digests();
                    self.server.accounts().forget_usage();
                    let deprecated = Error::new(&ER_WARN_DEPRECATED_SYNTAX_NO_REPLACEMENT, &[&"FLUSH PRIVILEGES"]);
                    self.env.push_warning(Level::Warning, deprecated);
                }
                if options.iter().any(|option| option == "STATUS") {
                    self.server.flush_status();
                }
                if options.iter().any(|option| option == "USER_RESOURCES") {
                    self.server.accounts().forget_usage();
                }
                for (log, name) in [(Log::General, "GENERAL LOGS"), (Log::Slow, "SLOW LOGS"), (Log::Audit, "LOGS")] {
                    if options.iter().any(|option| option == "LOGS" || option == name) {
                        self.reopen_log(log)?;
                    }
                }
                if options.iter().any(|option| matches!(&option[..], "LOGS" | "ERROR LOGS")) {
                    self.server.logs.reopen_error_log()?;
                }
                if options.iter().any(|option| matches!(&option[..], "LOGS" | "BINARY LOGS")) {
                    self.rotate_logs()?;
                }
                Ok(Done::nothing())
            }
        }
    }
}

impl Session {
    /// A log's file may have been renamed.
    fn reopen_log(&self, log: Log) -> Result<()> {
        let (server, mut reopened) = (self.server.clone(), Ok(()));
        server.blocking(&mut || reopened = server.logs.reopen(log, &server.globals, &server.engine));
        reopened
    }
}

/// The signal's way is the only one by which the server ends.
fn shutdown() -> Result<Done> {
    let signalled = rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::TERM);
    signalled.map(|()| Done::nothing()).map_err(|error| Error::internal(format_args!("cannot end the server: {error}")))
}
