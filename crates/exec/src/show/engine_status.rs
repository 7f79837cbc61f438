//! SHOW ENGINE … STATUS: transactions, locks and the storage's own figures as one text.

use std::fmt::Write;

use vaquita_storage::LockTarget;
use vaquita_types::errno::ER_UNKNOWN_STORAGE_ENGINE;
use vaquita_types::{Error, Result, Value};

use super::{Listing, ShowContext};
use crate::system::{LockNames, SystemContext, isolation_text, mode_text};

/// Engines whose status is that of the one storage behind them.
const STORAGE_NAMES: [&str; 3] = ["InnoDB", "ROCKSDB", "ALL"];
/// Engines that have nothing to tell.
const SILENT_NAMES: [&str; 7] = ["PERFORMANCE_SCHEMA", "MyISAM", "MEMORY", "CSV", "ARCHIVE", "BLACKHOLE", "MRG_MYISAM"];

pub(super) fn engine(name: &str, what: &str, cx: &ShowContext<'_>) -> Result<Listing> {
    let is = |known: &&&str| known.eq_ignore_ascii_case(name);
    let Some(known) = STORAGE_NAMES.iter().find(is) else {
        return match SILENT_NAMES.iter().find(is) {
            Some(_) => Ok(Listing::new("ENGINE")),
            None => Err(Error::new(&ER_UNKNOWN_STORAGE_ENGINE, &[&name])),
        };
    };
    let shown = if *known == "ALL" { "InnoDB" } else { known };
    let rows = match what {
        "STATUS" => vec![vec![Value::from(shown), Value::from(""), Value::from(status_text(cx))]],
        _ => Vec::new(),
    };
    Ok(Listing::with_rows("ENGINE", rows))
}

fn status_text(cx: &ShowContext<'_>) -> String {
    let mut text = String::from("\n=====================================\n");
    let _ = writeln!(text, "{} INNODB MONITOR OUTPUT", now(cx));
    text.push_str("=====================================\n");
    let mut names = Names { cx: SystemContext::new(cx.statement), known: None };
    deadlock(&mut text, cx, &mut names);
    transactions(&mut text, cx, &mut names);
    locks(&mut text, cx);
    operations(&mut text, cx);
    commits(&mut text, cx);
    storage(&mut text, cx);
    text.push_str("----------------------------\nEND OF INNODB MONITOR OUTPUT\n============================\n");
    text
}

fn now(cx: &ShowContext<'_>) -> String {
    local_time(cx, cx.statement.session.clock_us())
}

/// In the session's time zone, to the second.
fn local_time(cx: &ShowContext<'_>, us: i64) -> String {
    let utc = vaquita_types::temporal::DateTime::from_unix_micros(us - us.rem_euclid(1_000_000));
    let local = utc.map(|utc| cx.statement.session.time_zone().timestamp_from_utc(utc));
    let mut out = Vec::new();
    if let Some(local) = local {
        local.write_text(&mut out, 0);
    }
    String::from_utf8_lossy(&out).into_owned()
}

fn heading(text: &mut String, name: &str) {
    let line = "-".repeat(name.len());
    let _ = write!(text, "{line}\n{name}\n{line}\n");
}

fn deadlock(text: &mut String, cx: &ShowContext<'_>, names: &mut Names<'_>) {
    let Some(deadlock) = cx.statement.store.locks().latest_deadlock() else { return };
    heading(text, "LATEST DETECTED DEADLOCK");
    let at_us = deadlock.at.duration_since(std::time::UNIX_EPOCH).map_or(0, |d| d.as_micros() as i64);
    let _ = writeln!(text, "{}", local_time(cx, at_us));
    let members = deadlock.members.len();
    for (n, member) in deadlock.members.iter().enumerate() {
        let number = n + 1;
        let _ = writeln!(text, "*** ({number}) TRANSACTION:");
        let _ = writeln!(
            text,
            "TRANSACTION {}, {} row lock(s), {} row(s) modified",
            member.txn, member.rows_locked, member.rows_modified
        );
        let _ = writeln!(text, "MySQL thread id {}", member.session_id);
        if let Some(statement) = &member.statement {
            let _ = writeln!(text, "{statement}");
        }
        let _ = writeln!(text, "*** ({number}) WAITING FOR THIS LOCK TO BE GRANTED:");
        let held_by = (n + 1) % members + 1;
        let what = names.describe(&member.target);
        let _ =
            writeln!(text, "{} lock on {what}, which transaction ({held_by}) has or asked for before", mode_text(member.mode));
    }
    let victim = deadlock.members.iter().position(|member| member.txn == deadlock.victim).map_or(0, |n| n + 1);
    let _ = writeln!(text, "*** WE ROLL BACK TRANSACTION ({victim})");
}

/// Names of what is locked, found out when the first one is asked for.
struct Names<'a> {
    cx: SystemContext<'a>,
    known: Option<Result<LockNames>>,
}

impl Names<'_> {
    fn describe(&mut self, target: &LockTarget) -> String {
        let known = self.known.get_or_insert_with(|| LockNames::new(&self.cx));
        let text = match known {
            Ok(names) => names.describe(&self.cx, target),
            Err(error) => Err(error.clone()),
        };
        text.unwrap_or_else(|error| format!("something unknown ({})", error.message()))
    }
}

fn transactions(text: &mut String, cx: &ShowContext<'_>, names: &mut Names<'_>) {
    heading(text, "TRANSACTIONS");
    let processes = cx.statement.server.processes();
    let transactions = cx.statement.store.active_transactions();
    let waits = if transactions.iter().any(|t| t.waiting.is_some()) { cx.statement.store.locks().dump() } else { Vec::new() };
    for txn in transactions {
        let _ = writeln!(
            text,
            "---TRANSACTION {}, ACTIVE {}{} sec, {}",
            txn.id,
            if txn.prepared { "(PREPARED) " } else { "" },
            txn.started.elapsed().as_secs(),
            isolation_text(txn.isolation)
        );
        let _ = writeln!(text, "{} row lock(s), {} row(s) modified", txn.rows_locked, txn.rows_modified);
        if txn.prepared {
            text.push_str("XA RECOVER lists it; XA COMMIT or XA ROLLBACK ends it\n");
        }
        let process = processes.iter().find(|p| p.id == txn.session_id);
        if let Some(p) = process {
            let _ = writeln!(text, "MySQL thread id {}, {} {} {}", p.id, p.host, p.user, p.state.as_deref().unwrap_or(""));
            if let Some(info) = &p.info {
                let _ = writeln!(text, "{info}");
            }
        }
        if let Some(waiting) = txn.waiting {
            let _ = writeln!(text, "LOCK WAIT {} sec", waiting.as_secs());
            for lock in waits.iter().filter(|lock| lock.txn == txn.id && !lock.granted) {
                let blockers: Vec<String> = lock.blocked_by.iter().map(u64::to_string).collect();
                let what = names.describe(&lock.target);
                let _ = writeln!(
                    text,
                    "waits for {} lock on {what}, after transaction {}",
                    mode_text(lock.mode),
                    blockers.join(", ")
                );
            }
        }
    }
}

fn locks(text: &mut String, cx: &ShowContext<'_>) {
    heading(text, "LOCKS");
    let stats = cx.statement.store.locks().stats();
    let _ = writeln!(
        text,
        "{} waits, {} waiting now, {} us waited, longest {} us",
        stats.waits, stats.waiting_now, stats.wait_us_total, stats.wait_us_max
    );
    let _ = writeln!(text, "{} deadlocks, {} timeouts", stats.deadlocks, stats.timeouts);
}

/// In MySQL's words, by which mysqld_exporter finds the numbers.
fn operations(text: &mut String, cx: &ShowContext<'_>) {
    heading(text, "ROW OPERATIONS");
    let running = cx.statement.server.processes().iter().filter(|process| process.info.is_some()).count();
    let snapshots = cx.statement.store.property("rocksdb.num-snapshots").unwrap_or_default();
    let _ = writeln!(text, "{running} queries inside InnoDB, 0 queries in queue");
    let _ = writeln!(text, "{snapshots} read views open inside InnoDB");
}

fn commits(text: &mut String, cx: &ShowContext<'_>) {
    heading(text, "COMMITS");
    let (groups, transactions) = cx.statement.store.commit_counts();
    let _ = writeln!(text, "{transactions} transactions in {groups} groups");
}

/// Properties of RocksDB with what they mean.
const PROPERTIES: &[(&str, &str)] = &[
    ("rocksdb.estimate-num-keys", "keys, estimated"),
    ("rocksdb.total-sst-files-size", "bytes in files"),
    ("rocksdb.live-sst-files-size", "bytes in files of the current version"),
    ("rocksdb.estimate-live-data-size", "bytes of live data, estimated"),
    ("rocksdb.cur-size-all-mem-tables", "bytes in memtables"),
    ("rocksdb.block-cache-capacity", "bytes of block cache"),
    ("rocksdb.block-cache-usage", "bytes in block cache"),
    ("rocksdb.estimate-pending-compaction-bytes", "bytes to compact"),
    ("rocksdb.num-running-compactions", "running compactions"),
    ("rocksdb.num-running-flushes", "running flushes"),
    ("rocksdb.actual-delayed-write-rate", "bytes/s writes are slowed to, 0 if they are not"),
    ("rocksdb.num-snapshots", "snapshots"),
];

fn storage(text: &mut String, cx: &ShowContext<'_>) {
    heading(text, "STORAGE");
    let store = cx.statement.store;
    for (property, meaning) in PROPERTIES {
        if let Some(value) = store.property(property) {
            let _ = writeln!(text, "{value} {meaning}");
        }
    }
    if let Some(stats) = store.property("rocksdb.stats") {
        text.push_str(stats.trim_end());
        text.push('\n');
    }
}
