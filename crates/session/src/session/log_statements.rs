//! The binary log in a session: PURGE, RESET and FLUSH of it, and what replicas ask for besides statements.

use std::sync::Arc;

use vaquita_parser::ast::{Expr, PurgeLogs};
use vaquita_plan::env::Level;
use vaquita_types::errno::{
    ER_ACCESS_DENIED_ERROR, ER_RESET_SOURCE_TO_VALUE_OUT_OF_RANGE, ER_UNKNOWN_ERROR, ER_UNKNOWN_TARGET_BINLOG,
    ER_WARN_PURGE_LOG_IN_USE, ER_WARN_PURGE_LOG_IS_ACTIVE,
};
use vaquita_types::{Error, Result, Value, convert};

use super::Session;
use crate::binary_log::{BinaryLogFiles, RegisteredReplica, ShownFile, base_name};
use crate::log_shown::purge_expired;
use vaquita_storage::now_us;

/// MySQL's bounds of what COM_REGISTER_SLAVE tells.
const USER_BYTES_MAX: usize = 96;
const PASSWORD_BYTES_MAX: usize = 32;
/// MySQL's bound of RESET BINARY LOGS AND GTIDS TO.
const FIRST_NUMBER_MAX: u64 = 2_000_000_000;

impl Session {
    /// Reading the log needs REPLICATION SLAVE.
    pub fn may_read_the_log(&self) -> Result<()> {
        self.access.subject(None, None).may_read_the_log()
    }

    /// COM_CLONE, as CLONE LOCAL, needs BACKUP_ADMIN.
    pub fn may_back_up(&self) -> Result<()> {
        self.access.subject(None, None).may_back_up()
    }

    /// FLUSH BINARY LOGS: the next file begins.
    pub(super) fn rotate_logs(&self) -> Result<()> {
        self.with_log(|log| {
            log.rotate()?;
            purge_expired(&self.server)
        })
    }

    /// RESET BINARY LOGS AND GTIDS: nothing has been executed any more.
    pub(super) fn reset_logs(&self, first: Option<u64>) -> Result<()> {
        let first = first.unwrap_or(1);
        if !(1..=FIRST_NUMBER_MAX).contains(&first) {
            return Err(Error::new(&ER_RESET_SOURCE_TO_VALUE_OUT_OF_RANGE, &[&first, &FIRST_NUMBER_MAX]));
        }
        let server = self.server.clone();
        let mut done = Ok(());
        server.blocking(&mut || done = server.replication.forget_executed(&server.catalog));
        done?;
        self.with_log(|log| log.reset(first as u32))
    }

    /// PURGE BINARY LOGS. A file that a replica reads stays, and all behind it.
    pub(super) fn purge_logs(&mut self, purge: &PurgeLogs) -> Result<()> {
        let time_s = match purge {
            PurgeLogs::To(_) => None,
            PurgeLogs::Before(time) => Some(self.seconds(time)?),
        };
        let server = self.server.clone();
        let mut warning = None;
        self.with_log(|log| {
            let files = log.files()?;
            let to = match purge {
                PurgeLogs::To(name) => {
                    let named = |file: &&ShownFile| file.name.as_bytes() == base_name(name);
                    files.iter().find(named).ok_or_else(|| Error::new(&ER_UNKNOWN_TARGET_BINLOG, &[]))?.number
                }
                PurgeLogs::Before(_) => log.first_since(time_s.unwrap_or(0))?,
            };
            let read = server.replicas.first_read().filter(|(file, _)| *file < to);
            log.purge_before(read.map_or(to, |(file, _)| file))?;
            let name = |number: u32| {
                let file = files.iter().find(|file| file.number == number);
                format!("./{}", file.map_or("", |file| file.name.as_str()))
            };
            let before = |number: u32| files.iter().filter(|file| file.number < number).count();
            warning = match (read, time_s) {
                (Some((file, threads)), _) => {
                    let all = before(to);
                    Some(Error::new(&ER_WARN_PURGE_LOG_IN_USE, &[&name(file), &threads, &before(file), &all]))
                }
                (None, Some(time_s)) if time_s > now_us() / 1_000_000 => {
                    Some(Error::new(&ER_WARN_PURGE_LOG_IS_ACTIVE, &[&name(to)]))
                }
                _ => None,
            };
            Ok(())
        })?;
        if let Some(warning) = warning {
            self.env.push_warning(Level::Warning, warning);
        }
        Ok(())
    }

    /// Seconds since 1970 of a time; 0 of what is none.
    fn seconds(&mut self, time: &Expr) -> Result<u64> {
        let (value, ty) = self.evaluate(&Expr::func("unix_timestamp", vec![time.clone()]))?;
        Ok(if value.is_null() { 0 } else { convert::to_u64(&value, &ty).value })
    }

    /// Does something with the log, if there is one, which may block.
    fn with_log(&self, act: impl FnOnce(&dyn BinaryLogFiles) -> Result<()>) -> Result<()> {
        let Some(log) = self.server.binary_log.get().map(Arc::clone) else { return Ok(()) };
        let (mut act, mut done) = (Some(act), Ok(()));
        self.server.blocking(&mut || {
            if let Some(act) = act.take() {
                done = act(&*log);
            }
        });
        done
    }

    /// COM_REGISTER_SLAVE. Its connection and its UUID are the session's.
    pub fn register_replica(&self, replica: RegisteredReplica) -> Result<()> {
        if self.may_read_the_log().is_err() {
            // Unlike all others that need the privilege.
            let (user, host) = (&self.access.account().user, &self.access.account().host);
            let using = if self.client.used_password() { "YES" } else { "NO" };
            return Err(Error::new(&ER_ACCESS_DENIED_ERROR, &[user, host, &using]));
        }
        let refuse = |text: &str| Err(Error::with_message(&ER_UNKNOWN_ERROR, text));
        if replica.user.len() > USER_BYTES_MAX {
            return refuse("Failed to register replica: too long 'report-user'");
        }
        if replica.password.len() > PASSWORD_BYTES_MAX {
            return refuse("Failed to register replica; too long 'report-password'");
        }
        self.server.replicas.register(RegisteredReplica { connection_id: self.client.id, uuid: self.replica_uuid(), ..replica });
        Ok(())
    }

    pub fn replica_uuid(&self) -> String {
        self.replica_variable(["replica_uuid", "slave_uuid"]).unwrap_or_default()
    }

    /// The text of a user variable by which a replica tells what it is and wants: by its name or its old one.
    pub fn replica_variable(&self, names: [&str; 2]) -> Option<String> {
        let variables = &self.env.user_variables;
        names.into_iter().find_map(|name| match (variables.get(name), variables.type_of(name)) {
            (Value::Null, _) | (_, None) => None,
            (value, Some(ty)) => Some(String::from_utf8_lossy(&convert::to_text(&value, &ty)).into_owned()),
        })
    }
}
