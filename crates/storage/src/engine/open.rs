//! A directory before and while RocksDB opens it: the logs and the MANIFEST are looked at, what the last run left is removed.

use std::path::Path;
use std::sync::Arc;

use rocksdb::Cache;
use vaquita_types::errno::{ER_CANT_CREATE_FILE, ER_CANT_LOCK, ER_GET_ERRNO};
use vaquita_types::{Error, Result};

use super::{format, space_reserve};
use crate::base::hooks::{EngineHooks, LogLevel};
use crate::base::kill_points::kill_point;
use crate::base::options::EngineOptions;
use crate::commit::stages::{RocksLog, Stages};
use crate::rocks::log_check::{self, Damage, Logs, Missing};
use crate::rocks::{Db, LogStore, RocksError, newest_log, options as rocks_options, read_error};
use crate::spill::scratch::Scratches;
use crate::txn::{Places, Store};

/// Where transactions spill to, and where the files lie that are about to be committed; emptied at each start.
const SCRATCH_DIR: &str = "scratch";
const INGEST_DIR: &str = "ingest";

/// The store, and the block cache, whose size the housekeeper changes.
pub fn open(
    dir: &Path,
    options: EngineOptions,
    hooks: EngineHooks,
    stages: impl FnOnce(RocksLog, LogStore) -> Result<Arc<dyn Stages>>,
) -> Result<(Arc<Store>, Cache)> {
    create_dir(dir).map_err(|e| io_error(dir, e))?;
    if space_reserve::release_if_full(dir, space_reserve::free_bytes(dir).unwrap_or(u64::MAX)) {
        hooks.log(LogLevel::Warning, "disk full: the reserved space is given back");
    }
    log_check::sync_logs(dir).map_err(|e| io_error(dir, e))?;
    check_manifest(dir)?;
    let logs = check_logs(dir, &options, &hooks)?;
    kill_point("start.logs-checked");
    let cache = rocks_options::block_cache(&options);
    let db = Db::open(dir, rocks_options::for_families(&options, &cache)).map_err(|e| open_error(dir, e))?;
    format::check(&db)?;
    if logs.damage.is_some() || logs.next_sequence.is_some_and(|next| next != db.latest_sequence() + 1) {
        // What could be read goes to files: the next log does not follow on, and would not be recovered with these.
        db.switch_log().map_err(read_error)?;
    }
    let scratches = Scratches::new(dir.join(SCRATCH_DIR)).map_err(|e| io_error(dir, e))?;
    let ingested = dir.join(INGEST_DIR);
    remove_dir(&ingested).map_err(|e| io_error(dir, e))?;
    kill_point("start.opened");
    let stages = stages(RocksLog::new(Arc::clone(&db)), LogStore::new(Arc::clone(&db)))?;
    Ok((Store::new(dir, options, hooks, db, stages, Places { scratches, ingested }), cache))
}

/// Makes the directory durable, too: RocksDB syncs what is in it, not its name.
fn create_dir(dir: &Path) -> std::io::Result<()> {
    if dir.is_dir() {
        return Ok(());
    }
    std::fs::create_dir_all(dir)?;
    dir.parent().filter(|parent| !parent.as_os_str().is_empty()).map_or(Ok(()), log_check::sync_dir)
}

fn remove_dir(dir: &Path) -> std::io::Result<()> {
    match std::fs::remove_dir_all(dir) {
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(()),
        done => done,
    }
}

pub fn io_error(path: &Path, e: std::io::Error) -> Error {
    Error::new(&ER_CANT_CREATE_FILE, &[&path.display(), &e.raw_os_error().unwrap_or(0), &e])
}

/// Refuses a MANIFEST that was damaged where it had been synced.
fn check_manifest(dir: &Path) -> Result<()> {
    let Some(damage) = log_check::find_manifest_damage(dir).map_err(|e| io_error(dir, e))? else { return Ok(()) };
    let text = format!(
        "The file {} is damaged at offset {}: what follows says which files hold the data, and cannot be read. Restore a backup",
        damage.file.display(),
        damage.offset
    );
    Err(Error::with_message(&ER_GET_ERRNO, text))
}

/// Refuses a log that was damaged where it had been synced; see `log_check`. Damage in what is returned is accepted.
fn check_logs(dir: &Path, options: &EngineOptions, hooks: &EngineHooks) -> Result<Logs> {
    let logs = log_check::check(dir).map_err(|e| io_error(dir, e))?;
    let text = match &logs {
        Logs { damage: Some(Damage { file, offset }), .. } => {
            format!("The log file {} is damaged at offset {offset}: commits follow it that cannot be read", file.display())
        }
        Logs { missing: Some(Missing { file, synced_to, there_to }), .. } => {
            let how = if file.exists() { "has lost its end" } else { "is missing" };
            format!(
                "The log file {} {how}: commits up to number {synced_to} were synced, those after {there_to} are not there",
                file.display()
            )
        }
        _ => return Ok(logs),
    };
    if options.accept_damaged_log || log_check::is_marked_not_synced(dir) {
        hooks.log(LogLevel::Warning, &format!("{text} and are lost"));
        newest_log::forget(dir).map_err(|e| io_error(dir, e))?;
        return Ok(logs);
    }
    let text = format!("{text}. Restore a backup, or start once with --accept-damaged-log to lose them");
    Err(Error::with_message(&ER_GET_ERRNO, text))
}

fn open_error(dir: &Path, e: RocksError) -> Error {
    if e.is_lock_held() {
        let text = format!("The data directory {} is in use by another server", dir.display());
        return Error::with_message(&ER_CANT_LOCK, text);
    }
    if e.is_corruption() {
        return Error::corrupt(format_args!("{}: {}", dir.display(), e.0));
    }
    Error::new(&ER_GET_ERRNO, &[&5, &format_args!("{}: {}", dir.display(), e.0)])
}
