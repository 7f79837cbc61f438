//! What the modelled sources take from `storage::engine`.

use std::collections::HashSet;
use std::fmt::Display;

use vaquita_types::Error;

use crate::rocks::RocksError;
use crate::sync::Mutex;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
#[allow(dead_code)] // numbers are made into modes, not names
pub enum FlushMode {
    EachSecond = 0,
    SyncEachCommit = 1,
    WriteEachCommit = 2,
}

#[derive(Clone, Copy, Debug)]
pub enum LogLevel {
    Error,
    Warning,
}

pub trait EngineHooks: Send + Sync {
    fn blocking(&self, wait: &mut dyn FnMut()) {
        wait()
    }

    fn group_completed(&self) {}

    fn statement(&self, _session_id: u64) -> Option<String> {
        None
    }

    fn log(&self, level: LogLevel, text: &str) {
        panic!("{level:?}: {text}");
    }
}

pub struct NoHooks;

impl EngineHooks for NoHooks {}

pub fn read_error(e: RocksError) -> Error {
    Error::internal(e.0)
}

pub fn disk_full_error(file: &dyn Display) -> Error {
    Error::internal(format!("disk full: {file}"))
}

/// The transactions that are not over.
#[derive(Default)]
pub struct ActiveTransactions(Mutex<HashSet<u64>>);

impl ActiveTransactions {
    pub fn add(&self, id: u64) {
        self.0.lock().insert(id);
    }

    pub fn remove(&self, id: u64) {
        assert!(self.0.lock().remove(&id), "transaction {id} ended twice");
    }

    pub fn len(&self) -> usize {
        self.0.lock().len()
    }
}
