//! CHECK TABLE: do the rows and the entries of the secondary indexes agree?
//!
//! One snapshot is read throughout. The rows are scanned once: each must decode, stand under the key
//! that its columns give, and adds the entries that it should have to a count and a sum of hashes per
//! index. Then each index is scanned and its entries are counted and summed the same way. Equal counts
//! and sums mean equal sets (a difference goes unseen with a chance of 2⁻⁶⁴); only if they differ,
//! rows and entries are looked up one by one to name the culprits. The exact row count must be the
//! number of rows. Blocks are verified by their checksums as they are read, and with `extended` all
//! files of the database are.
//!
//! Damage is a finding, not an error of the statement.

use std::hash::{DefaultHasher, Hasher};

use vaquita_types::error::Next;
use vaquita_types::{Error, Result};

use crate::catalog::table::Table;
use crate::encoding::key::{Entry, IndexCodec};
use crate::locks::Interrupt;
use crate::txn::Store;
use crate::txn::{Cursor, Direction, Keep, Reads, ScanOptions, Transaction, Version};

/// Findings after which a check stops: more would not help anybody.
const FINDINGS_MAX: usize = 20;
/// How often a scan looks whether it was killed.
const INTERRUPT_EVERY: u64 = 4096;

/// What a check saw.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CheckReport {
    pub rows: u64,
    /// Empty if the table is sound; each is a line for the client.
    pub findings: Vec<String>,
}

impl CheckReport {
    fn add(&mut self, finding: impl Into<String>) {
        if self.findings.len() < FINDINGS_MAX {
            self.findings.push(finding.into());
        }
    }

    /// Damage is reported; other errors (KILL, locks) end the statement.
    fn add_error(&mut self, e: Error) -> Result<()> {
        match e.next() {
            Next::Corrupt | Next::Io => {
                self.add(e.message());
                Ok(())
            }
            _ => Err(e),
        }
    }
}

/// Count and order-independent sum of a set of entries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Digest {
    count: u64,
    sum: u64,
}

impl Digest {
    fn add(&mut self, entry: Entry<'_>) {
        let mut hasher = DefaultHasher::new();
        hasher.write_usize(entry.key.len());
        hasher.write(entry.key);
        hasher.write(entry.value);
        self.count += 1;
        self.sum = self.sum.wrapping_add(hasher.finish());
    }
}

/// Checks a table as a transaction of its own sees it; the caller holds IS on the table.
pub fn check_table(
    store: &Store,
    table: &Table,
    txn: &mut Transaction,
    extended: bool,
    interrupt: &Interrupt,
) -> Result<CheckReport> {
    txn.begin_statement(Reads::Many);
    let mut report = CheckReport::default();
    let result = table.for_each_stored(|part| {
        let mut check = Check { table: part, txn, interrupt, report: CheckReport::default(), steps: 0 };
        let result = check.run();
        report.rows += check.report.rows;
        check.report.findings.into_iter().for_each(|finding| report.add(finding));
        result
    });
    txn.end_statement();
    result?;
    if extended && let Err(e) = store.verify_checksums() {
        report.add_error(e)?;
    }
    Ok(report)
}

struct Check<'a> {
    table: &'a Table,
    txn: &'a Transaction,
    interrupt: &'a Interrupt,
    report: CheckReport,
    steps: u64,
}

impl Check<'_> {
    fn run(&mut self) -> Result<()> {
        let expected = match self.rows() {
            Ok(expected) => expected,
            Err(e) => return self.report.add_error(e),
        };
        let counted = self.txn.row_count(self.table.def.id)?;
        if self.report.findings.is_empty() && counted != self.report.rows {
            self.report.add(format!("the table has {} rows and the row count says {counted}", self.report.rows));
        }
        for (index, expected) in self.table.codec.indexes().iter().skip(1).zip(expected) {
            match self.entries(index) {
                Ok(found) if found == expected => {}
                Ok(found) => {
                    self.report.add(format!(
                        "Index '{}' has {} entries for {} rows that do not agree",
                        index.name(),
                        found.count,
                        expected.count
                    ));
                    if let Err(e) = self.compare(index) {
                        self.report.add_error(e)?;
                    }
                }
                Err(e) => self.report.add_error(e)?,
            }
        }
        Ok(())
    }

    fn scan(&self, index: &IndexCodec) -> Result<Cursor> {
        let options = ScanOptions { keep: Keep::Nothing, spans: false, version: Version::Snapshot, ..ScanOptions::default() };
        self.txn.scan(index.all(), Direction::Forward, options)
    }

    fn step(&mut self) -> Result<()> {
        self.steps += 1;
        if self.steps.is_multiple_of(INTERRUPT_EVERY) { self.interrupt.check() } else { Ok(()) }
    }

    /// Reads all rows; the entries that they should have in each secondary index.
    fn rows(&mut self) -> Result<Vec<Digest>> {
        let (table, txn) = (self.table, self.txn);
        let clustered = table.codec.clustered();
        let mut expected = vec![Digest::default(); table.codec.indexes().len().saturating_sub(1)];
        let mut cursor = self.scan(clustered)?;
        let (mut entry_key, mut entry_value) = (Vec::new(), Vec::new());
        while let Some((key, value)) = cursor.next(txn)? {
            self.step()?;
            self.report.rows += 1;
            let row = match table.codec.decode_row(key, value) {
                Ok(row) => row,
                Err(e) => {
                    self.report.add_error(e)?;
                    continue;
                }
            };
            let row_id = clustered.row_id(Entry { key, value }).unwrap_or(0);
            clustered.encode_clustered(&row, row_id, &mut entry_key)?;
            if entry_key != key {
                self.report.add(clustered.damaged(key).message());
            }
            for (index, digest) in table.codec.indexes().iter().skip(1).zip(&mut expected) {
                index.each_entry(&row, row_id, (&mut entry_key, &mut entry_value), |key, value, _| {
                    digest.add(Entry { key, value });
                    Ok(())
                })?;
            }
        }
        Ok(expected)
    }

    /// Reads all entries of an index.
    fn entries(&mut self, index: &IndexCodec) -> Result<Digest> {
        let txn = self.txn;
        let mut found = Digest::default();
        let mut cursor = self.scan(index)?;
        while let Some((key, value)) = cursor.next(txn)? {
            self.step()?;
            let entry = Entry { key, value };
            if !index.is_well_formed(entry) {
                self.report.add(index.damaged(key).message());
            }
            found.add(entry);
        }
        Ok(found)
    }

    /// Names rows without their entry and entries without their row.
    fn compare(&mut self, index: &IndexCodec) -> Result<()> {
        let (table, txn) = (self.table, self.txn);
        let clustered = table.codec.clustered();
        let (mut entry_key, mut entry_value, mut found) = (Vec::new(), Vec::new(), Vec::new());
        let mut cursor = self.scan(clustered)?;
        while let Some((key, value)) = cursor.next(txn)? {
            self.step()?;
            let Ok(row) = table.codec.decode_row(key, value) else { continue };
            let row_id = clustered.row_id(Entry { key, value }).unwrap_or(0);
            let mut lacks = false;
            index.each_entry(&row, row_id, (&mut entry_key, &mut entry_value), |key, value, _| {
                lacks |= !txn.get(key, Version::Snapshot, &mut found)? || found != *value;
                Ok(())
            })?;
            if lacks {
                self.report.add(format!("Index '{}' has no entry for the row with key {}", index.name(), hex(key)));
            }
        }
        let mut cursor = self.scan(index)?;
        while let Some((key, value)) = cursor.next(txn)? {
            self.step()?;
            let entry = Entry { key, value };
            let row_there =
                index.clustered_key(entry, &mut entry_key).is_ok() && txn.get(&entry_key, Version::Snapshot, &mut found)?;
            if !row_there {
                self.report.add(format!("Index '{}' has an entry without a row: {}", index.name(), hex(key)));
                continue;
            }
            let Ok(row) = table.codec.decode_row(&entry_key, &found) else { continue };
            let row_id = clustered.row_id(Entry { key: &entry_key, value: &[] }).unwrap_or(0);
            let (mut right_key, mut is_right) = (Vec::new(), false);
            index.each_entry(&row, row_id, (&mut right_key, &mut entry_value), |right, _, _| {
                is_right |= right == key;
                Ok(())
            })?;
            if !is_right {
                self.report.add(format!("Index '{}' has an entry with other values than its row: {}", index.name(), hex(key)));
            }
        }
        Ok(())
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02x}")).collect()
}
