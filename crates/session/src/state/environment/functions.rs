//! What functions such as CONNECTION_ID(), SLEEP() and GET_LOCK() ask a session (`plan::env::AskSession`).

use std::ffi::OsStr;
use std::fs::File;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use vaquita_exec::context::thread_id;
use vaquita_plan::env::{AskSession, FileRead, RoleGrants};
use vaquita_types::errno::{ER_REPLICA_MULTIPLE_CHANNELS_CMD, ER_WRONG_ARGUMENTS};
use vaquita_types::gtid::GtidSet;
use vaquita_types::{Error, Result};

use super::Environment;
use crate::replication;
use crate::server::{VERSION, VERSION_FOR_MARIADB};

/// Between two looks at the interrupt of a session that sleeps.
const LOOK_MS: u64 = 20;

/// As errors name them.
const WAIT_FOR_GTIDS: &str = "WAIT_FOR_EXECUTED_GTID_SET.";
const WAIT_FOR_POSITION: &str = "SOURCE_POS_WAIT.";

impl Environment {
    /// A file that `secure_file_priv` allows and that all accounts of the operating system may read, as MySQL asks for.
    pub fn read_server_file(&self, name: &[u8], bytes_max: u64) -> Result<Option<FileRead>> {
        const ALL_MAY_READ: u32 = 0o004;
        let path = self.server.data_dir().join(OsStr::from_bytes(name));
        if !self.server.is_secure_path(&path) {
            return Ok(None);
        }
        let Ok(about) = std::fs::metadata(&path) else { return Ok(None) };
        if !about.is_file() || about.mode() & ALL_MAY_READ == 0 {
            return Ok(None);
        }
        if about.len() > bytes_max {
            return Ok(Some(FileRead::TooLong));
        }
        vaquita_types::memory::ask(about.len() as usize)?;
        let mut bytes = Vec::with_capacity(about.len() as usize);
        let read = File::open(&path).and_then(|file| file.take(about.len()).read_to_end(&mut bytes));
        Ok(read.is_ok().then_some(FileRead::Bytes(bytes)))
    }
}

impl AskSession for Environment {
    fn database(&self) -> Option<String> {
        Environment::database(self)
    }

    fn user(&self) -> &str {
        &self.user
    }

    fn account(&self) -> &str {
        &self.account
    }

    fn server_version(&self) -> &str {
        if self.client.is_mariadb_binlog() { VERSION_FOR_MARIADB } else { VERSION }
    }

    fn roles(&self) -> Vec<(String, String)> {
        self.client.roles().names.clone()
    }

    fn role_grants(&self) -> Option<Vec<RoleGrants>> {
        self.client.roles().sees_all.then(|| self.server.accounts().role_grants())
    }

    fn connection_id(&self) -> u64 {
        self.client.id
    }

    fn thread_id(&self, connection_id: u64) -> Option<u64> {
        let known = connection_id == self.client.id || self.server.clients().get(connection_id).is_some();
        known.then(|| thread_id(connection_id))
    }

    fn row_count(&self) -> i64 {
        self.diagnostics.row_count()
    }

    fn found_rows(&self) -> u64 {
        self.diagnostics.found_rows()
    }

    fn last_insert_id(&self) -> u64 {
        self.ids.last()
    }

    fn give_last_insert_id(&self, id: u64) {
        self.ids.give_last(id);
    }

    /// The seconds of the first call stand above the count.
    fn unique_number(&self) -> u64 {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        if NEXT.load(Ordering::Relaxed) == 0 {
            let seconds = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).map_or(0, |d| d.as_secs());
            let first = 1 << 56 | (seconds & 0xFFFF_FFFF) << 24;
            let _ = NEXT.compare_exchange(0, first, Ordering::Relaxed, Ordering::Relaxed);
        }
        NEXT.fetch_add(1, Ordering::Relaxed)
    }

    fn sleep(&self, duration: Duration) -> Result<bool> {
        let until = Instant::now().checked_add(duration).ok_or_else(|| Error::new(&ER_WRONG_ARGUMENTS, &[&"sleep."]))?;
        let mut undisturbed = true;
        self.server.blocking(&mut || {
            while undisturbed && Instant::now() < until {
                std::thread::sleep(until.saturating_duration_since(Instant::now()).min(Duration::from_millis(LOOK_MS)));
                undisturbed = self.client.interrupt.check_wait().is_ok();
            }
        });
        Ok(undisturbed)
    }

    fn lock(&self, name: &str, timeout: Option<Duration>) -> Result<bool> {
        let locks = &self.server.user_locks;
        if locks.owner(name).is_none_or(|owner| owner == self.client.id) || timeout == Some(Duration::ZERO) {
            return locks.get(self.client.id, name, Some(Duration::ZERO), &self.client.interrupt);
        }
        let mut got = Ok(false);
        self.server.blocking(&mut || got = locks.get(self.client.id, name, timeout, &self.client.interrupt));
        got
    }

    fn unlock(&self, name: &str) -> Option<bool> {
        self.server.user_locks.release(self.client.id, name)
    }

    fn unlock_all(&self) -> u64 {
        self.server.user_locks.release_all(self.client.id)
    }

    fn lock_owner(&self, name: &str) -> Option<u64> {
        self.server.user_locks.owner(name)
    }

    fn read_file(&self, name: &[u8], bytes_max: u64) -> Result<Option<FileRead>> {
        if self.client.roles().reads_files { self.read_server_file(name, bytes_max) } else { Ok(None) }
    }

    fn wait_for_gtids(&self, set: &GtidSet, time: Duration) -> Result<bool> {
        let channels = &self.server.replication;
        let executed = || self.server.executed();
        if set.is_subset_of(&executed()) {
            return Ok(true);
        }
        let until = Instant::now().checked_add(time).ok_or_else(|| Error::new(&ER_WRONG_ARGUMENTS, &[&WAIT_FOR_GTIDS]))?;
        let mut are_executed = false;
        let goes_on = || self.client.interrupt.check_wait().is_ok();
        self.server.blocking(&mut || are_executed = replication::wait_for_gtids(channels, &executed, set, until, &goes_on));
        Ok(are_executed)
    }

    fn wait_for_position(&self, channel: Option<&str>, place: (&str, u64), time: Duration) -> Result<Option<i64>> {
        let channels = &self.server.replication;
        if !replication::names_log(place.0) {
            return Ok(None);
        }
        let channel = match channel {
            // As it is written: names are kept in lower case.
            Some(name) => channels.get(name),
            // In MySQL the default channel is always there.
            None if channels.list().iter().any(|channel| !channel.name.is_empty()) => {
                return Err(Error::new(&ER_REPLICA_MULTIPLE_CHANNELS_CMD, &[]));
            }
            None => channels.get(""),
        };
        let Some(channel) = channel else { return Ok(None) };
        let until = Instant::now().checked_add(time).ok_or_else(|| Error::new(&ER_WRONG_ARGUMENTS, &[&WAIT_FOR_POSITION]))?;
        let mut reached = None;
        let goes_on = || self.client.interrupt.check_wait().is_ok();
        self.server.blocking(&mut || reached = replication::wait_for_position(channels, &channel, place, until, &goes_on));
        Ok(reached)
    }
}
