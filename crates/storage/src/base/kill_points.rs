//! Named places at which a test lets the process die, as `kill -9` would, to see what a restart finds.
//!
//! `kill_point("commit.logged")` costs one relaxed load while nothing is armed. `arm("commit.logged:3")` (the server's hidden
//! `--kill-point`, or `VAQUITA_KILL_POINT`) ends the process when that place is passed for the third time; `arm("count")`
//! only counts, and `report` says how often each was passed. The end is `abort`: no destructor, no flush, no other thread
//! goes on.
//!
//! It does not cut power: what was handed to the kernel stays.

use std::collections::BTreeMap;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;

/// Every name, in the order of a server's life.
pub const ALL: &[&str] = &[
    // The first start on an empty directory.
    "init.directory",
    "init.file-opened",
    "init.file-written",
    "init.file-renamed",
    "init.client-cnf",
    "init.root",
    // Each start.
    "start.logs-checked",
    "start.opened",
    "start.threads",
    "start.catalog",
    "start.variables",
    "start.listening",
    // The log: warming, rotation, `innodb_flush_log_at_trx_commit`.
    "log.padded",
    "log.switching",
    "log.switched",
    "log.warmed",
    "log.marked",
    "log.unmarked",
    "log.synced",
    "log.noted",
    // Stages of a commit.
    "txn.auto-increment",
    "txn.row-id",
    "txn.rolled-back",
    "commit.begun",
    "commit.prepared",
    "commit.queued",
    "commit.leading",
    "commit.auto-increment",
    "commit.row-count",
    "commit.counted",
    "commit.logged",
    "commit.noted",
    "commit.released",
    "commit.handed-over",
    "group.gathered",
    "group.noted",
    "group.first-acknowledged",
    "group.acknowledged",
    "group.completed",
    // Transactions that spill, and their commit by files.
    "spill.begun",
    "spill.written",
    "spill.files-written",
    "spill.prepared",
    "ingest.counted",
    "ingest.flushed",
    "ingest.applied",
    "ingest.finished",
    // DDL.
    "ddl.locked",
    "ddl.begun",
    "ddl.database-created",
    "ddl.database-altered",
    "ddl.database-dropped",
    "ddl.definition-written",
    "ddl.definition-removed",
    "ddl.index-listed",
    "ddl.table-dropped",
    "ddl.partitions-changed",
    "ddl.exchanging",
    "ddl.auto-increment",
    "ddl.renamed-one",
    "ddl.truncated",
    "ddl.ids-written",
    "ddl.committed",
    "ddl.visible",
    "trigger.written",
    "trigger.removed",
    "alter.listed",
    "alter.published",
    "alter.batch",
    "alter.sorted",
    "alter.sorted-added",
    "alter.caught-up",
    "alter.backfilled",
    "alter.built",
    "alter.withdrawn",
    "alter.unlisted",
    "alter.auto-increment",
    "alter.validating",
    "alter.validated",
    "alter.installed",
    "alter.finished",
    "create-select.created",
    "create-select.filled",
    "create-select.committed",
    "analyze.collected",
    "analyze.written",
    "analyze.committed",
    // Accounts and persisted variables.
    "meta.written",
    "meta.committed",
    // Freeing dropped indexes.
    "reclaim.found",
    "reclaim.tombstone",
    "reclaim.files-deleted",
    "reclaim.deleted",
    "reclaim.unlisted",
    "reclaim.committed",
    // Flush and compaction: as asked for, and inside RocksDB.
    "flush.begun",
    "flush.finished",
    "compact.begun",
    "compact.finished",
    "rocks.memtable-sealed",
    "rocks.flush-begins",
    "rocks.flush-completed",
    "rocks.compaction-begins",
    "rocks.compaction-completed",
    "rocks.subcompaction-begins",
    "rocks.subcompaction-completed",
    // SIGTERM.
    "stop.statements-ended",
    "stop.catalog-closed",
    "stop.queue-empty",
    "stop.threads-ended",
    "stop.log-synced",
];

/// The word that counts and does not kill.
const COUNT: &str = "count";

struct Plan {
    /// Nothing to only count.
    kill_at: Option<(&'static str, u64)>,
    passed: Mutex<BTreeMap<&'static str, u64>>,
}

static ARMED: AtomicBool = AtomicBool::new(false);
static PLAN: OnceLock<Plan> = OnceLock::new();

/// A place where the process may be made to die.
#[inline]
pub fn kill_point(name: &'static str) {
    if ARMED.load(Ordering::Relaxed) {
        passed(name);
    }
}

/// Takes `name`, `name:nth` or `count`; once per process, before the engine is opened.
pub fn arm(plan: &str) -> Result<(), String> {
    let kill_at = if plan == COUNT { None } else { Some(parse(plan)?) };
    PLAN.set(Plan { kill_at, passed: Mutex::default() }).map_err(|_| "a kill point is armed already".to_string())?;
    ARMED.store(true, Ordering::Release);
    Ok(())
}

fn parse(plan: &str) -> Result<(&'static str, u64), String> {
    let (name, nth) = plan.split_once(':').unwrap_or((plan, "1"));
    let name = ALL.iter().find(|known| **known == name).ok_or_else(|| format!("unknown kill point {name}"))?;
    match nth.parse() {
        Ok(nth) if nth > 0 => Ok((*name, nth)),
        _ => Err(format!("not a number above 0: {nth}")),
    }
}

#[cold]
fn passed(name: &'static str) {
    let Some(plan) = PLAN.get() else { return };
    let mut passed = plan.passed.lock();
    let count = passed.entry(name).or_insert(0);
    *count += 1;
    if plan.kill_at == Some((name, *count)) {
        // The test looks for this line, to tell this death from another.
        eprintln!("kill point {name}:{count} reached");
        std::process::abort();
    }
}

/// How often each place was passed, if that is counted.
pub fn report() -> Vec<(&'static str, u64)> {
    match PLAN.get() {
        Some(plan) if plan.kill_at.is_none() => plan.passed.lock().iter().map(|(name, count)| (*name, *count)).collect(),
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::Path;

    use super::*;

    fn names_in(dir: &Path, found: &mut BTreeSet<String>) {
        for entry in std::fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                names_in(&path, found);
            } else if path.extension().is_some_and(|e| e == "rs") && !path.ends_with("kill_points.rs") {
                let text = std::fs::read_to_string(&path).unwrap();
                for call in text.split("kill_point(\"").skip(1) {
                    found.extend(call.split('"').next().map(str::to_string));
                }
            }
        }
    }

    #[test]
    fn the_list_is_what_the_sources_pass() {
        let mut found = BTreeSet::new();
        for name in ["storage", "exec", "server"] {
            names_in(&Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(name).join("src"), &mut found);
        }
        let listed: BTreeSet<String> = ALL.iter().map(|name| name.to_string()).collect();
        assert_eq!(found, listed);
        assert_eq!(listed.len(), ALL.len());
    }

    #[test]
    fn a_plan_is_a_known_name_and_a_number() {
        assert_eq!(parse("commit.logged:7"), Ok(("commit.logged", 7)));
        assert_eq!(parse("commit.logged"), Ok(("commit.logged", 1)));
        assert!(parse("commit.loged").is_err());
        assert!(parse("commit.logged:0").is_err());
    }
}
