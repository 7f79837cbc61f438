//! XA: the branches of distributed transactions by their ids, and prepared ones on disk.
//!
//! A branch belongs to a session until it is prepared (`Store::xa_begin`, `Transaction::prepare_xa`).
//! Preparing writes all that its commit needs into the catalog family, in one batch with one sync, and leaves its
//! locks here, with nobody's session (MySQL's `xa_detach_on_prepare`). Whoever ends it (`Store::xa_end`) applies the writes and
//! deletes the record in one batch, so that a crash leaves either the record or what it said. At start
//! the records are read and their locks taken again before anybody else can ask for one.
//!
//! | key (catalog family)                                                                          | value |
//! |-----------------------------------------------------------------------------------------------|-------|
//! | `07` format id (u64 BE), gtrid length (u8), gtrid, bqual length (u8), bqual, chunk (u32 BE)    | a piece of the record |
//!
//! The pieces of a record, joined, in the primitives of `encoding::catalog`:
//!
//! | what     | how                                                                                        |
//! |----------|--------------------------------------------------------------------------------------------|
//! | version  | byte 1; 2 if the binary log was told nothing of the branch                                 |
//! | isolation| byte: 0 READ UNCOMMITTED to 3 SERIALIZABLE                                                 |
//! | locks    | list of: byte 0 S or 1 X on a key, string; 2 on a table, byte mode, id; 3 S or 4 X on a range, two strings |
//! | rows     | list of: table id, signed change of the row count                                          |
//! | writes   | list of: byte family (0 data, 1 catalog), key, option of a value                            |
//!
//! * XA-1: an id names at most one branch, of a session or prepared.
//! * XA-2: a prepared branch has its record on disk and its locks in memory, until one batch ends both.

mod prepare;

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use parking_lot::Mutex;
use vaquita_types::errno::{ER_XAER_DUPID, ER_XAER_NOTA};
use vaquita_types::schema::{IndexId, TableId};
use vaquita_types::{Error, Result};

use super::Store;
use super::TxnOptions;
use crate::commit::active::Isolation;
use crate::commit::counters::CounterChange;
use crate::commit::log_buffer::LogBuffer;
use crate::commit::records::Records;
use crate::commit::{CommitRequest, Touched};
use crate::encoding::KeyRange;
use crate::encoding::catalog::primitives::{Reader, Writer};
use crate::locks::{HeldLocks, LockMode, LockTarget, Owner};
use crate::rocks::Family;

/// Catalog keys that start with this byte are prepared branches.
const KEY_PREFIX: u8 = 7;
const RECORD_VERSION: u8 = 1;
const RECORD_VERSION_UNTOLD: u8 = 2;
/// Bytes of one piece of a record: small enough for a memtable, large enough to be few.
const CHUNK_BYTES: usize = 1 << 20;
/// Bytes of each part of an id (MySQL: MAXGTRIDSIZE, MAXBQUALSIZE).
pub const XID_PART_BYTES_MAX: usize = 64;

/// The id of a branch of a distributed transaction.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Xid {
    pub format_id: u64,
    pub gtrid: Vec<u8>,
    pub bqual: Vec<u8>,
}

impl Xid {
    fn key_prefix(&self) -> Vec<u8> {
        let mut key = vec![KEY_PREFIX];
        key.extend_from_slice(&self.format_id.to_be_bytes());
        for part in [&self.gtrid, &self.bqual] {
            key.push(part.len() as u8);
            key.extend_from_slice(part);
        }
        key
    }

    fn chunk_key(&self, chunk: u32) -> Vec<u8> {
        [&self.key_prefix()[..], &chunk.to_be_bytes()[..]].concat()
    }

    fn from_key(key: &[u8]) -> Option<Xid> {
        let rest = key.strip_prefix(&[KEY_PREFIX])?;
        let (format_id, mut rest) = rest.split_first_chunk::<8>()?;
        let mut part = || {
            let (len, after) = rest.split_first()?;
            let (part, after) = after.split_at_checked(usize::from(*len))?;
            rest = after;
            Some(part.to_vec())
        };
        let (gtrid, bqual) = (part()?, part()?);
        (rest.len() == size_of::<u32>()).then(|| Xid { format_id: u64::from_be_bytes(*format_id), gtrid, bqual })
    }
}

/// What a commit needs, as it is kept on disk.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Record {
    /// The binary log has the branch, and is to be told of its end.
    pub told: bool,
    pub isolation: Isolation,
    pub locks: Vec<(LockTarget, LockMode)>,
    pub rows: Vec<(TableId, i64)>,
    pub writes: Vec<RecordWrite>,
}

/// Family, key, and the value unless it is a deletion.
pub(crate) type RecordWrite = (Family, Vec<u8>, Option<Vec<u8>>);

impl Record {
    pub fn encode(&self) -> Vec<u8> {
        let mut w = Writer::default();
        w.byte(if self.told { RECORD_VERSION } else { RECORD_VERSION_UNTOLD });
        w.byte(self.isolation as u8);
        w.list(&self.locks, |w, (target, mode)| match target {
            LockTarget::Key(key) => {
                w.byte(u8::from(*mode == LockMode::X));
                w.string(key);
            }
            LockTarget::Table(id) => {
                w.byte(2);
                w.byte(*mode as u8);
                w.int(u64::from(id.0));
            }
            LockTarget::Range(lower, upper) => {
                w.byte(if *mode == LockMode::X { 4 } else { 3 });
                w.string(lower);
                w.string(upper);
            }
            LockTarget::Index(id) => {
                w.byte(5);
                w.byte(*mode as u8);
                w.int(u64::from(id.0));
            }
        });
        w.list(&self.rows, |w, (table, delta)| {
            w.int(u64::from(table.0));
            w.signed(*delta);
        });
        w.list(&self.writes, |w, (family, key, value)| {
            w.byte(u8::from(*family == Family::Catalog));
            w.string(key);
            w.option(value.as_ref(), |w, value| w.string(value));
        });
        w.bytes
    }

    pub fn decode(bytes: &[u8]) -> Option<Record> {
        let mut r = Reader { rest: bytes };
        let told = match r.byte()? {
            RECORD_VERSION => true,
            RECORD_VERSION_UNTOLD => false,
            _ => return None,
        };
        let isolation = match r.byte()? {
            0 => Isolation::ReadUncommitted,
            1 => Isolation::ReadCommitted,
            2 => Isolation::RepeatableRead,
            3 => Isolation::Serializable,
            _ => return None,
        };
        let locks = r.list(read_lock)?;
        let rows = r.list(|r| Some((TableId(r.narrow()?), r.signed()?)))?;
        let writes = r.list(|r| {
            let family = if r.flag()? { Family::Catalog } else { Family::Data };
            Some((family, r.bytes()?.to_vec(), r.option(|r| r.bytes().map(<[u8]>::to_vec))?))
        })?;
        r.rest.is_empty().then_some(Record { told, isolation, locks, rows, writes })
    }
}

fn read_lock(r: &mut Reader<'_>) -> Option<(LockTarget, LockMode)> {
    Some(match r.byte()? {
        0 => (LockTarget::Key(r.bytes()?.to_vec()), LockMode::S),
        1 => (LockTarget::Key(r.bytes()?.to_vec()), LockMode::X),
        2 => {
            let mode = read_mode(r)?;
            (LockTarget::Table(TableId(r.narrow()?)), mode)
        }
        3 => (LockTarget::Range(r.bytes()?.to_vec(), r.bytes()?.to_vec()), LockMode::S),
        4 => (LockTarget::Range(r.bytes()?.to_vec(), r.bytes()?.to_vec()), LockMode::X),
        5 => {
            let mode = read_mode(r)?;
            (LockTarget::Index(IndexId(r.narrow()?)), mode)
        }
        _ => return None,
    })
}

fn read_mode(r: &mut Reader<'_>) -> Option<LockMode> {
    [LockMode::IS, LockMode::IX, LockMode::S, LockMode::X].get(usize::from(r.byte()?)).copied()
}

/// The branches that exist.
#[derive(Default)]
pub(crate) struct Branches {
    by_id: Mutex<BTreeMap<Xid, Branch>>,
}

enum Branch {
    /// A session works in it, or somebody is ending it.
    Taken,
    Prepared(Prepared),
}

/// The locks of a prepared branch, without a session.
pub(crate) struct Prepared {
    pub owner: Arc<Owner>,
    pub held: HeldLocks,
    /// `Record::told`.
    pub told: bool,
}

/// A branch that a session works in: its id is free again when this is dropped, unless it was prepared.
pub struct XaBranch {
    store: Arc<Store>,
    pub xid: Xid,
    prepared: bool,
}

impl XaBranch {
    pub(crate) fn store(&self) -> &Arc<Store> {
        &self.store
    }

    /// The record is on disk: from here on the branch is everybody's.
    pub(crate) fn leave(mut self, prepared: Prepared) {
        self.prepared = true;
        self.store.xa_branches().by_id.lock().insert(self.xid.clone(), Branch::Prepared(prepared));
    }
}

impl Drop for XaBranch {
    fn drop(&mut self) {
        if !self.prepared {
            self.store.xa_branches().by_id.lock().remove(&self.xid);
        }
    }
}

impl Store {
    /// XA START; error 1440 if the id is in use.
    pub fn xa_begin(self: &Arc<Store>, xid: Xid) -> Result<XaBranch> {
        let mut branches = self.xa_branches().by_id.lock();
        if branches.contains_key(&xid) {
            return Err(Error::new(&ER_XAER_DUPID, &[]));
        }
        branches.insert(xid.clone(), Branch::Taken);
        Ok(XaBranch { store: Arc::clone(self), xid, prepared: false })
    }

    /// XA RECOVER: prepared branches, in the order of their ids.
    pub fn xa_prepared(&self) -> Vec<Xid> {
        let branches = self.xa_branches().by_id.lock();
        branches.iter().filter(|(_, branch)| matches!(branch, Branch::Prepared(_))).map(|(xid, _)| xid.clone()).collect()
    }

    /// Whether the binary log was told of a prepared branch.
    pub fn xa_is_told(&self, xid: &Xid) -> bool {
        let branches = self.xa_branches().by_id.lock();
        matches!(branches.get(xid), Some(Branch::Prepared(prepared)) if prepared.told)
    }

    /// XA COMMIT or XA ROLLBACK of a prepared branch; returns when that is durable. Error 1397 if there is none.
    /// `told` is for the binary log.
    pub fn xa_end(self: &Arc<Store>, xid: &Xid, commit: bool, told: &LogBuffer) -> Result<()> {
        let log = self.prepare_log(told)?;
        let not_there = || Error::new(&ER_XAER_NOTA, &[]);
        let prepared = {
            let mut branches = self.xa_branches().by_id.lock();
            let branch = branches.get_mut(xid).ok_or_else(not_there)?;
            match std::mem::replace(branch, Branch::Taken) {
                Branch::Prepared(prepared) => prepared,
                Branch::Taken => return Err(not_there()),
            }
        };
        let (records, touched, rows) = match self.xa_ending(xid, commit) {
            Ok(ending) => ending,
            Err(error) => {
                self.xa_branches().by_id.lock().insert(xid.clone(), Branch::Prepared(prepared));
                return Err(error);
            }
        };
        let counters = rows.into_iter().map(|(table, delta)| (table, CounterChange::Rows(delta))).collect();
        // The locks stay with the branch (XA-2): a full disk may refuse the batch.
        let request = CommitRequest {
            records,
            touched: Touched::Keys(touched),
            files: None,
            counters,
            log,
            owner: None,
            held: HeldLocks::default(),
            interrupt: None,
        };
        if let Err(error) = self.submit_and_wait(request) {
            self.xa_branches().by_id.lock().insert(xid.clone(), Branch::Prepared(prepared));
            return Err(error);
        }
        let Prepared { owner, mut held, .. } = prepared;
        self.locks().release_all(owner.id, &mut held);
        self.unregister(owner.id);
        self.xa_branches().by_id.lock().remove(xid);
        Ok(())
    }

    /// The batch that ends a branch, the keys that it touches, and what it does to row counts.
    fn xa_ending(self: &Arc<Store>, xid: &Xid, commit: bool) -> Result<Ending> {
        let chunks = self.xa_chunks(&xid.key_prefix())?;
        let chunks: Vec<_> = chunks.into_iter().filter(|(key, _)| Xid::from_key(key).as_ref() == Some(xid)).collect();
        let bytes = chunks.iter().map(|(_, piece)| piece.len()).sum();
        let mut records = Records::with_capacity(bytes);
        for (key, _) in &chunks {
            records.delete(Family::Catalog, key);
        }
        let (mut touched, mut rows) = (Vec::new(), Vec::new());
        if commit {
            let joined: Vec<u8> = chunks.into_iter().flat_map(|(_, piece)| piece).collect();
            let record = Record::decode(&joined).ok_or_else(|| damaged(xid))?;
            for (family, key, value) in &record.writes {
                match value {
                    Some(value) => records.put(*family, key, value),
                    None => records.delete(*family, key),
                }
                if *family == Family::Data {
                    touched.push(crate::encoding::key_hash(key));
                }
            }
            rows = record.rows;
        }
        Ok((records, touched, rows))
    }

    fn xa_chunks(self: &Arc<Store>, prefix: &[u8]) -> Result<Vec<(Vec<u8>, Vec<u8>)>> {
        self.begin(TxnOptions::default()).meta_scan(KeyRange::prefix(prefix))
    }

    /// The indexes that prepared branches write when they commit, by the id of the branch's transaction.
    pub(crate) fn xa_written_indexes(self: &Arc<Store>) -> Result<Vec<(u64, HashSet<IndexId>)>> {
        let mut out = Vec::new();
        for xid in self.xa_prepared() {
            let chunks = self.xa_chunks(&xid.key_prefix())?;
            let pieces = chunks.into_iter().filter(|(key, _)| Xid::from_key(key).as_ref() == Some(&xid));
            let joined: Vec<u8> = pieces.flat_map(|(_, piece)| piece).collect();
            let record = Record::decode(&joined).ok_or_else(|| damaged(&xid))?;
            let data = record.writes.iter().filter(|(family, ..)| *family == Family::Data);
            let indexes = data.filter_map(|(_, key, _)| Some(IndexId(u32::from_be_bytes(*key.first_chunk()?)))).collect();
            if let Some(Branch::Prepared(prepared)) = self.xa_branches().by_id.lock().get(&xid) {
                out.push((prepared.owner.id, indexes));
            }
        }
        Ok(out)
    }

    /// At start: finds the prepared branches and takes their locks again. Nobody else has any yet.
    pub(crate) fn recover_xa(self: &Arc<Store>) -> Result<usize> {
        let mut found: BTreeMap<Xid, Vec<u8>> = BTreeMap::new();
        for (key, piece) in self.xa_chunks(&[KEY_PREFIX])? {
            let xid = Xid::from_key(&key).ok_or_else(|| Error::corrupt("the key of a prepared XA transaction"))?;
            found.entry(xid).or_default().extend_from_slice(&piece);
        }
        let count = found.len();
        for (xid, bytes) in found {
            let record = Record::decode(&bytes).ok_or_else(|| damaged(&xid))?;
            let options = TxnOptions { isolation: record.isolation, ..TxnOptions::default() };
            let owner = self.register(&options);
            let mut held = HeldLocks::default();
            self.locks().restore(&owner, &mut held, &record.locks)?;
            owner.set_rows_locked(held.len() as u64);
            owner.set_rows_modified(record.writes.len() as u64);
            self.note_prepared(owner.id);
            self.xa_branches().by_id.lock().insert(xid, Branch::Prepared(Prepared { owner, held, told: record.told }));
        }
        Ok(count)
    }

    /// Writes the record of a branch; returns when it is durable.
    pub(crate) fn write_xa_record(
        &self,
        xid: &Xid,
        record: &Record,
        counters: Vec<(TableId, CounterChange)>,
        log: Vec<u8>,
    ) -> Result<()> {
        let bytes = record.encode();
        let mut records = Records::with_capacity(bytes.len());
        for (n, piece) in bytes.chunks(CHUNK_BYTES).enumerate() {
            records.put(Family::Catalog, &xid.chunk_key(n as u32), piece);
        }
        self.submit_and_wait(CommitRequest {
            records,
            touched: Touched::Keys(Vec::new()),
            files: None,
            counters,
            log,
            owner: None,
            held: HeldLocks::default(),
            interrupt: None,
        })
    }
}

type Ending = (Records, Vec<u64>, Vec<(TableId, i64)>);

#[cold]
fn damaged(xid: &Xid) -> Error {
    Error::corrupt(format_args!("prepared XA transaction {:?}", String::from_utf8_lossy(&xid.gtrid)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_and_keys_come_back() {
        let mut record = Record {
            told: true,
            isolation: Isolation::Serializable,
            locks: vec![
                (LockTarget::Table(TableId(7)), LockMode::IX),
                (LockTarget::Key(vec![0, 0, 0, 9, 1]), LockMode::X),
                (LockTarget::Key(vec![0, 0, 0, 9, 2]), LockMode::S),
                (LockTarget::Index(IndexId(9)), LockMode::IX),
                (LockTarget::Range(vec![0, 0, 0, 9], vec![]), LockMode::S),
                (LockTarget::Range(vec![0, 0, 0, 9, 1], vec![0, 0, 0, 9, 8]), LockMode::X),
            ],
            rows: vec![(TableId(7), -3)],
            writes: vec![(Family::Data, vec![1, 2], Some(vec![3])), (Family::Data, vec![1, 3], None)],
        };
        for told in [true, false] {
            record.told = told;
            let bytes = record.encode();
            for end in 0..bytes.len() {
                assert_eq!(Record::decode(&bytes[..end]), None);
            }
            assert_eq!(Record::decode(&bytes).as_ref(), Some(&record));
        }
        let xid = Xid { format_id: 99, gtrid: b"a\0b".to_vec(), bqual: vec![] };
        assert_eq!(Xid::from_key(&xid.chunk_key(3)), Some(xid.clone()));
        assert_eq!(Xid::from_key(&xid.key_prefix()), None);
    }
}
