//! System tables about transactions and their locks.

use std::collections::HashMap;
use std::time::Instant;

use vaquita_storage::{Isolation, LockInfo, LockMode, LockTarget, TxnInfo};
use vaquita_types::Result;
use vaquita_types::schema::{IndexId, TableId};

use super::row::{NULL, row};
use super::server::thread_id;
use super::{Row, SystemContext};

/// The isolation level as `@@transaction_isolation` without the hyphen.
pub fn isolation_text(isolation: Isolation) -> &'static str {
    match isolation {
        Isolation::ReadUncommitted => "READ UNCOMMITTED",
        Isolation::ReadCommitted => "READ COMMITTED",
        Isolation::RepeatableRead => "REPEATABLE READ",
        Isolation::Serializable => "SERIALIZABLE",
    }
}

pub fn innodb_trx(cx: &SystemContext<'_>) -> Result<Vec<Row>> {
    let processes = cx.statement.server.processes();
    let now_us = cx.statement.session.clock_us().max(0) as u64;
    let ago = |since: Instant| cx.time(now_us.saturating_sub(since.elapsed().as_micros() as u64));
    let row = |txn: TxnInfo| {
        let query = processes.iter().find(|p| p.id == txn.session_id).and_then(|p| p.info.clone());
        let waits = txn.waiting.is_some();
        let wait_started = txn.waiting.map(|time| cx.time(now_us.saturating_sub(time.as_micros() as u64)));
        row![
            txn.id,
            if waits { "LOCK WAIT" } else { "RUNNING" },
            ago(txn.started),
            waits.then(|| txn.id.to_string()),
            wait_started,
            txn.rows_locked + txn.rows_modified,
            txn.session_id,
            query,
            if waits { Some("waiting for a lock") } else { None },
            0u64,
            0u64,
            txn.rows_locked,
            0u64,
            txn.rows_locked,
            txn.rows_modified,
            0u64,
            isolation_text(txn.isolation),
            1u64,
            1u64,
            NULL,
            0u64,
            0u64,
            0u64,
            0u64,
            NULL,
        ]
    };
    Ok(cx.statement.engine.active_transactions().into_iter().map(row).collect())
}

/// Database and table by their ids, for keys and table locks.
#[derive(Default)]
struct Names {
    tables: HashMap<TableId, (String, String)>,
    /// The table and the index.
    indexes: HashMap<IndexId, (TableId, String)>,
}

impl Names {
    fn new(cx: &SystemContext<'_>) -> Result<Names> {
        let mut names = Names::default();
        cx.for_each_table(|table| {
            let def = &table.def;
            names.tables.insert(def.id, (def.database.clone(), def.name.clone()));
            for index in &def.indexes {
                names.indexes.insert(index.id, (def.id, index.name.clone()));
            }
            Ok(())
        })?;
        Ok(names)
    }

    /// Database, table, index of what is locked.
    fn of(&self, target: &LockTarget) -> (Option<&str>, Option<&str>, Option<&str>) {
        let (table, index) = match target {
            LockTarget::Table(id) => (Some(*id), None),
            LockTarget::Key(key) | LockTarget::Range(key, _) => {
                let id = key.first_chunk().map(|bytes| IndexId(u32::from_be_bytes(*bytes)));
                let found = id.and_then(|id| self.indexes.get(&id));
                (found.map(|f| f.0), found.map(|f| f.1.as_str()))
            }
        };
        let table = table.and_then(|id| self.tables.get(&id));
        (table.map(|t| t.0.as_str()), table.map(|t| t.1.as_str()), index)
    }
}

fn mode_text(mode: LockMode) -> &'static str {
    match mode {
        LockMode::IS => "IS",
        LockMode::IX => "IX",
        LockMode::S => "S",
        LockMode::X => "X",
    }
}

/// The key in hexadecimal, without the index id.
fn lock_data(target: &LockTarget) -> Option<String> {
    let hex = |key: &[u8]| key.iter().skip(4).map(|byte| format!("{byte:02x}")).collect::<String>();
    match target {
        LockTarget::Table(_) => None,
        LockTarget::Key(key) => Some(hex(key)),
        LockTarget::Range(lower, upper) => Some(format!("{} .. {}", hex(lower), hex(upper))),
    }
}

/// Names a lock: the transaction and what it locks.
fn lock_id(txn: u64, target: &LockTarget) -> String {
    match target {
        LockTarget::Table(id) => format!("{txn}:{}", id.0),
        LockTarget::Key(key) | LockTarget::Range(key, _) => {
            format!("{txn}:{}", key.iter().map(|byte| format!("{byte:02x}")).collect::<String>())
        }
    }
}

/// The session of each active transaction.
fn sessions(cx: &SystemContext<'_>) -> HashMap<u64, u64> {
    cx.statement.engine.active_transactions().into_iter().map(|txn| (txn.id, txn.session_id)).collect()
}

pub fn data_locks(cx: &SystemContext<'_>) -> Result<Vec<Row>> {
    let names = Names::new(cx)?;
    let sessions = sessions(cx);
    let row = |lock: LockInfo| {
        let (database, table, index) = names.of(&lock.target);
        row![
            "INNODB",
            lock_id(lock.txn, &lock.target),
            lock.txn,
            sessions.get(&lock.txn).map(|session| thread_id(*session)),
            0u64,
            database,
            table,
            NULL,
            NULL,
            index,
            0u64,
            if matches!(lock.target, LockTarget::Table(_)) { "TABLE" } else { "RECORD" },
            mode_text(lock.mode),
            if lock.granted { "GRANTED" } else { "WAITING" },
            lock_data(&lock.target),
        ]
    };
    Ok(cx.statement.engine.locks().dump().into_iter().map(row).collect())
}

pub fn data_lock_waits(cx: &SystemContext<'_>) -> Result<Vec<Row>> {
    let sessions = sessions(cx);
    let thread = |txn: u64| sessions.get(&txn).map(|session| thread_id(*session));
    let mut rows = Vec::new();
    for lock in cx.statement.engine.locks().dump() {
        for &blocker in &lock.blocked_by {
            rows.push(row![
                "INNODB",
                lock_id(lock.txn, &lock.target),
                lock.txn,
                thread(lock.txn),
                0u64,
                0u64,
                lock_id(blocker, &lock.target),
                blocker,
                thread(blocker),
                0u64,
                0u64,
            ]);
        }
    }
    Ok(rows)
}

/// Locks on whole tables are what MySQL calls metadata locks.
pub fn metadata_locks(cx: &SystemContext<'_>) -> Result<Vec<Row>> {
    let names = Names::new(cx)?;
    let sessions = sessions(cx);
    let mut rows = Vec::new();
    for lock in cx.statement.engine.locks().dump() {
        if !matches!(lock.target, LockTarget::Table(_)) {
            continue;
        }
        let (database, table, _) = names.of(&lock.target);
        let kind = match lock.mode {
            LockMode::IS => "SHARED_READ",
            LockMode::IX => "SHARED_WRITE",
            LockMode::S => "SHARED_READ_ONLY",
            LockMode::X => "EXCLUSIVE",
        };
        rows.push(row![
            "TABLE",
            database,
            table,
            NULL,
            0u64,
            kind,
            "TRANSACTION",
            if lock.granted { "GRANTED" } else { "PENDING" },
            NULL,
            sessions.get(&lock.txn).map(|session| thread_id(*session)),
            NULL,
        ]);
    }
    Ok(rows)
}
