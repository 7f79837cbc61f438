//! System tables about transactions and their locks.

use std::collections::HashMap;
use std::time::{Instant, UNIX_EPOCH};

use vaquita_storage::{Isolation, KeyColumn, LockInfo, LockMode, LockTarget, Transaction, TxnInfo, TxnOptions, referenced_key};
use vaquita_types::Result;
use vaquita_types::schema::{IndexId, PartitionDef, TableId};

use super::row::{NULL, row};
use super::{Row, SystemContext};
use crate::context::{SessionLockInfo, thread_id};

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
    let transactions = cx.statement.store.active_transactions();
    let processes = cx.statement.server.processes();
    let now_us = cx.statement.session.clock_us().max(0) as u64;
    let ago = |since: Instant| cx.time(now_us.saturating_sub(since.elapsed().as_micros() as u64));
    let locks = if transactions.iter().any(|t| t.waiting.is_some()) { cx.statement.store.locks().dump() } else { Vec::new() };
    let row = |txn: TxnInfo| {
        let query = processes.iter().find(|p| p.id == txn.session_id).and_then(|p| p.info.clone());
        let waits = txn.waiting.is_some();
        let wait_started = txn.waiting.map(|time| cx.time(now_us.saturating_sub(time.as_micros() as u64)));
        let requested = locks.iter().find(|lock| waits && lock.txn == txn.id && !lock.granted);
        row![
            txn.id,
            if waits { "LOCK WAIT" } else { "RUNNING" },
            ago(txn.started),
            requested.map(|lock| lock_id(txn.id, &lock.target)),
            wait_started,
            txn.rows_locked + txn.rows_modified,
            txn.session_id,
            query,
            match (waits, txn.prepared) {
                (true, _) => Some("waiting for a lock"),
                (_, true) => Some("prepared, waits for XA COMMIT or XA ROLLBACK"),
                _ => None,
            },
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
    Ok(transactions.into_iter().map(row).collect())
}

/// Tables and indexes by their ids, to say what is locked.
pub struct LockNames {
    txn: Transaction,
    tables: HashMap<TableId, (String, String)>,
    indexes: HashMap<IndexId, NamedIndex>,
}

/// The partition that an index is of.
struct NamedPartition {
    number: usize,
    name: String,
    subpartition: Option<String>,
}

struct NamedIndex {
    table: TableId,
    /// In the table's list.
    position: usize,
    partition: Option<NamedPartition>,
    name: String,
}

impl LockNames {
    pub fn new(cx: &SystemContext<'_>) -> Result<LockNames> {
        let txn = cx.statement.store.begin(TxnOptions::default());
        let mut names = LockNames { txn, tables: HashMap::new(), indexes: HashMap::new() };
        cx.for_each_table(|table| {
            let def = &table.def;
            names.tables.insert(def.id, (def.database.clone(), def.name.clone()));
            for (n, index) in def.indexes.iter().enumerate() {
                let of_partition = |(number, p): (usize, &PartitionDef)| {
                    let by = def.partitioning.as_ref()?;
                    let subpartition = by.subpartitions.is_some().then(|| p.name.clone());
                    let name = by.first_level_of(number)?.name.clone();
                    Some((*p.indexes.get(n)?, Some(NamedPartition { number, name, subpartition })))
                };
                let of_partitions = def.partitions().iter().enumerate().filter_map(of_partition);
                for (id, partition) in std::iter::once((index.id, None)).chain(of_partitions) {
                    let named = NamedIndex { table: def.id, position: n, partition, name: index.name.clone() };
                    names.indexes.insert(id, named);
                }
            }
            Ok(())
        })?;
        Ok(names)
    }

    /// Database, table, index of what is locked.
    fn of(&self, target: &LockTarget) -> (Option<&str>, Option<&str>, Option<&str>) {
        let (table, index) = match target {
            LockTarget::Table(id) => (Some(*id), None),
            LockTarget::Index(id) => {
                let found = self.indexes.get(id);
                (found.map(|f| f.table), found.map(|f| f.name.as_str()))
            }
            LockTarget::Key(key) | LockTarget::Range(key, _) => {
                let found = self.index_of(key);
                (found.map(|f| f.table), found.map(|f| f.name.as_str()))
            }
        };
        let table = table.and_then(|id| self.tables.get(&id));
        (table.map(|t| t.0.as_str()), table.map(|t| t.1.as_str()), index)
    }

    fn index_of(&self, key: &[u8]) -> Option<&NamedIndex> {
        let key = referenced_key(key).unwrap_or(key);
        let id = key.first_chunk().map(|bytes| IndexId(u32::from_be_bytes(*bytes)))?;
        self.indexes.get(&id)
    }

    /// The partition that a key, a range or an index is of.
    fn partition(&self, target: &LockTarget) -> Option<&NamedPartition> {
        let index = match target {
            LockTarget::Table(_) => None,
            LockTarget::Index(id) => self.indexes.get(id),
            LockTarget::Key(key) | LockTarget::Range(key, _) => self.index_of(key),
        };
        index?.partition.as_ref()
    }

    /// The columns and values of a key.
    fn columns(&self, cx: &SystemContext<'_>, key: &[u8]) -> Result<Vec<KeyColumn>> {
        let Some(index) = self.index_of(key) else { return Ok(Vec::new()) };
        let Some((database, name)) = self.tables.get(&index.table) else { return Ok(Vec::new()) };
        let Some(table) = cx.statement.catalog.table(database, name)? else { return Ok(Vec::new()) };
        let key = referenced_key(key).unwrap_or(key);
        match index.partition.as_ref().map(|p| p.number).filter(|number| *number < table.def.partitions().len()) {
            Some(number) => table.partition(number)?.key_columns(&self.txn, index.position, key),
            None => table.key_columns(&self.txn, index.position, key),
        }
    }

    /// `LOCK_DATA`: the values of a key.
    fn data(&self, cx: &SystemContext<'_>, target: &LockTarget) -> Result<Option<String>> {
        let values = |key: &[u8]| -> Result<String> {
            let columns = self.columns(cx, key)?;
            Ok(columns.into_iter().map(|(_, value)| value).collect::<Vec<_>>().join(", "))
        };
        Ok(match target {
            LockTarget::Table(_) | LockTarget::Index(_) => None,
            LockTarget::Key(key) => Some(values(key)?),
            LockTarget::Range(lower, upper) => Some(format!("{} .. {}", hex(lower), hex(upper))),
        })
    }

    /// For people: ``row id = 7 of table `d`.`t` (index PRIMARY)``.
    pub fn describe(&self, cx: &SystemContext<'_>, target: &LockTarget) -> Result<String> {
        let (database, table, index) = self.of(target);
        let table = match (database, table) {
            (Some(database), Some(table)) => format!("`{database}`.`{table}`"),
            _ => "that does not exist any more".to_string(),
        };
        let index = index.unwrap_or("unknown");
        Ok(match target {
            LockTarget::Table(_) => format!("table {table}"),
            LockTarget::Index(_) => format!("index {index} of table {table}"),
            LockTarget::Key(key) => {
                let columns = self.columns(cx, key)?;
                let columns: Vec<String> = columns.into_iter().map(|(name, value)| format!("{name} = {value}")).collect();
                let what = if referenced_key(key).is_some() { "key" } else { "row" };
                format!("{what} {} of table {table} (index {index})", columns.join(", "))
            }
            LockTarget::Range(lower, upper) => {
                format!("range {} .. {} of table {table} (index {index})", hex(lower), hex(upper))
            }
        })
    }
}

pub fn mode_text(mode: LockMode) -> &'static str {
    match mode {
        LockMode::IS => "IS",
        LockMode::IX => "IX",
        LockMode::S => "S",
        LockMode::X => "X",
    }
}

/// The key in hexadecimal, without the index id.
fn hex(key: &[u8]) -> String {
    key.iter().skip(size_of::<u32>()).map(|byte| format!("{byte:02x}")).collect()
}

/// Names a lock: the transaction and what it locks.
fn lock_id(txn: u64, target: &LockTarget) -> String {
    match target {
        LockTarget::Table(id) => format!("{txn}:{}", id.0),
        LockTarget::Index(id) => format!("{txn}:{:08x}", id.0),
        LockTarget::Key(key) | LockTarget::Range(key, _) => {
            format!("{txn}:{}", key.iter().map(|byte| format!("{byte:02x}")).collect::<String>())
        }
    }
}

/// The session of each active transaction.
fn sessions(cx: &SystemContext<'_>) -> HashMap<u64, u64> {
    let transactions = cx.statement.store.active_transactions().into_iter();
    transactions.filter(|txn| txn.session_id != 0).map(|txn| (txn.id, txn.session_id)).collect()
}

pub fn data_locks(cx: &SystemContext<'_>) -> Result<Vec<Row>> {
    let names = LockNames::new(cx)?;
    let sessions = sessions(cx);
    let row = |lock: LockInfo| -> Result<Row> {
        let (database, table, index) = names.of(&lock.target);
        let partition = names.partition(&lock.target);
        Ok(row![
            "INNODB",
            lock_id(lock.txn, &lock.target),
            lock.txn,
            sessions.get(&lock.txn).map(|session| thread_id(*session)),
            0u64,
            database,
            table,
            partition.map(|p| p.name.as_str()),
            partition.and_then(|p| p.subpartition.as_deref()),
            index,
            0u64,
            if matches!(lock.target, LockTarget::Table(_)) { "TABLE" } else { "RECORD" },
            match lock.target {
                // A row alone, without the gap before it.
                LockTarget::Key(_) => format!("{},REC_NOT_GAP", mode_text(lock.mode)),
                _ => mode_text(lock.mode).to_string(),
            },
            if lock.granted { "GRANTED" } else { "WAITING" },
            names.data(cx, &lock.target)?,
        ])
    };
    cx.statement.store.locks().dump().into_iter().map(row).collect()
}

/// vaquita.deadlocks: the last ones, a row for each transaction in them.
pub fn deadlocks(cx: &SystemContext<'_>) -> Result<Vec<Row>> {
    let deadlocks = cx.statement.store.locks().last_deadlocks();
    if deadlocks.is_empty() {
        return Ok(Vec::new());
    }
    let names = LockNames::new(cx)?;
    let mut rows = Vec::new();
    for deadlock in &deadlocks {
        let at_us = deadlock.at.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_micros() as u64);
        for (n, member) in deadlock.members.iter().enumerate() {
            let (database, table, index) = names.of(&member.target);
            let waits_for = deadlock.members.get((n + 1) % deadlock.members.len());
            rows.push(row![
                deadlock.number,
                cx.exact_time(at_us),
                member.txn,
                waits_for.map(|other| other.txn),
                member.session_id,
                if member.txn == deadlock.victim { "YES" } else { "NO" },
                member.rows_locked,
                member.rows_modified,
                mode_text(member.mode),
                database,
                table,
                index,
                names.data(cx, &member.target)?,
                member.statement.as_deref(),
            ]);
        }
    }
    Ok(rows)
}

pub fn data_lock_waits(cx: &SystemContext<'_>) -> Result<Vec<Row>> {
    let sessions = sessions(cx);
    let thread = |txn: u64| sessions.get(&txn).map(|session| thread_id(*session));
    let mut rows = Vec::new();
    for lock in cx.statement.store.locks().dump() {
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

/// Locks on whole tables are what MySQL calls metadata locks; sessions hold others.
pub fn metadata_locks(cx: &SystemContext<'_>) -> Result<Vec<Row>> {
    let names = LockNames::new(cx)?;
    let sessions = sessions(cx);
    let mut rows = Vec::new();
    let mut push = |lock: SessionLockInfo, session: Option<u64>| {
        rows.push(row![
            lock.object_type,
            lock.database,
            lock.name,
            NULL,
            0u64,
            lock.lock_type,
            lock.duration,
            if lock.granted { "GRANTED" } else { "PENDING" },
            NULL,
            session.map(thread_id),
            NULL,
        ]);
    };
    for lock in cx.statement.store.locks().dump() {
        if !matches!(lock.target, LockTarget::Table(_)) {
            continue;
        }
        let (database, table, _) = names.of(&lock.target);
        let info = SessionLockInfo {
            session: 0,
            object_type: "TABLE",
            database: database.map(str::to_string),
            name: table.map(str::to_string),
            lock_type: match lock.mode {
                LockMode::IS => "SHARED_READ",
                LockMode::IX => "SHARED_WRITE",
                LockMode::S => "SHARED_READ_ONLY",
                LockMode::X => "EXCLUSIVE",
            },
            duration: "TRANSACTION",
            granted: lock.granted,
        };
        push(info, sessions.get(&lock.txn).copied());
    }
    for lock in cx.statement.server.session_locks() {
        let session = lock.session;
        push(lock, Some(session));
    }
    Ok(rows)
}
