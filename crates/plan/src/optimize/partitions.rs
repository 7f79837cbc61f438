//! What a scan of a partitioned table can know of the columns that say which partition a row is in.

use std::sync::Arc;

use super::sarg::{Bound, Columns};
use crate::expr::{Expr, Slot};
use crate::logical::{Relation, Source};
use crate::tree::partition::{PartitionTerm, PartitionTermBound, ScanPartitions};

/// The partitions of a relation under conditions that are all true of the rows that are wanted.
pub(super) fn of_scan(relation: &Relation, conditions: &[&Expr]) -> Option<Arc<ScanPartitions>> {
    let (Some(partitions), Source::Base(table)) = (&relation.partitions, &relation.source) else { return None };
    let slots: Vec<Option<Slot>> = (0..relation.columns.len()).map(|c| relation.slot(c)).collect();
    let columns = Columns { table, slots: &slots };
    let mut partitions = partitions.clone();
    for term in conditions.iter().flat_map(|condition| columns.terms(condition)) {
        if !partitions.function.columns.contains(&term.column) {
            continue;
        }
        let bound = match term.bound {
            Bound::Equal(keys) => PartitionTermBound::Equal(keys),
            Bound::Low(value, inclusive) => PartitionTermBound::Low(value, inclusive),
            Bound::High(value, inclusive) => PartitionTermBound::High(value, inclusive),
            Bound::NotNull => continue,
        };
        partitions.terms.push(PartitionTerm { column: term.column, bound });
    }
    Some(Arc::new(partitions))
}
