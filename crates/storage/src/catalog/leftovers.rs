//! Looks for what no definition knows: data of indexes, counters and statistics of tables that do not exist.
//!
//! CAT-2 says that an index id is in a definition or on the drop list. So after the drop list has been worked off,
//! nothing may be left; a test asks for it after each crash, and `vaquita check` on request. The data is not read through:
//! one seek per index id finds the next id that has any.

use std::collections::BTreeSet;

use vaquita_types::Result;
use vaquita_types::schema::{IndexId, TableId};

use super::{Catalog, damaged};
use crate::commit::counters;
use crate::encoding::KeyRange;
use crate::encoding::catalog::{keys, record};
use crate::encoding::ids::TEMPORARY_ID_MIN;
use crate::encoding::key::index_range;
use crate::txn::{Direction, Reads, ScanOptions};

/// What a look at the whole catalog and all ids of the data found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Leftovers {
    /// Indexes on the drop list, to be freed or being built.
    pub listed: Vec<IndexId>,
    /// Indexes with data that neither a definition nor the drop list names.
    pub indexes: Vec<IndexId>,
    /// Tables with counters or statistics and no definition.
    pub tables: Vec<TableId>,
}

impl Leftovers {
    pub fn is_empty(&self) -> bool {
        self.listed.is_empty() && self.indexes.is_empty() && self.tables.is_empty()
    }
}

impl Catalog {
    /// Sees one state of the catalog: no DDL runs meanwhile.
    pub fn leftovers(&self) -> Result<Leftovers> {
        let _ddl = self.ddl.lock();
        let mut txn = self.transaction();
        txn.begin_statement(Reads::Many);
        let (mut tables, mut indexes) = (BTreeSet::new(), BTreeSet::new());
        for (_, value) in txn.meta_scan(KeyRange::prefix(&[keys::TABLES]))? {
            let def = record::decode_table(&value).ok_or_else(|| damaged(format_args!("a table")))?;
            tables.extend(def.counter_ids());
            indexes.extend(def.index_ids());
        }
        let mut found = Leftovers::default();
        for (key, _) in txn.meta_scan(KeyRange::prefix(&[keys::DROPPED]))? {
            found.listed.extend(keys::dropped_id(&key));
        }
        indexes.extend(&found.listed);
        // Counters are read after definitions, which come first: a table that is new has none yet.
        let mut named: BTreeSet<TableId> = BTreeSet::new();
        let mut cursor = txn.scan(counters::all_keys(), Direction::Forward, ScanOptions::default())?;
        while let Some((key, _)) = cursor.next(&txn)? {
            named.extend(counters::table_of(key));
        }
        let statistics = txn.meta_scan(KeyRange::prefix(&[keys::STATISTICS]))?;
        named.extend(statistics.iter().filter_map(|(key, _)| Some(TableId(u32::from_be_bytes(*key.last_chunk()?)))));
        found.tables.extend(named.into_iter().filter(|id| id.0 < TEMPORARY_ID_MIN && !tables.contains(id)));
        let mut from = IndexId(1);
        loop {
            let range = KeyRange { lower: index_range(from).lower, upper: Vec::new() };
            let mut cursor = txn.scan(range, Direction::Forward, ScanOptions::default())?;
            let Some((key, _)) = cursor.next(&txn)? else { break };
            let id = IndexId(key.first_chunk().map_or(u32::MAX, |id| u32::from_be_bytes(*id)));
            // What follows belongs to sessions, and to nobody after a restart, which frees it.
            if id.0 >= TEMPORARY_ID_MIN {
                break;
            }
            if !indexes.contains(&id) {
                found.indexes.push(id);
            }
            let Some(next) = id.0.checked_add(1) else { break };
            from = IndexId(next);
        }
        Ok(found)
    }
}
