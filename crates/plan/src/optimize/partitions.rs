//! What a scan of a partitioned table can know of the columns that say which partition a row is in.

use std::sync::Arc;

use super::sarg::{Bound, Columns};
use crate::expr::{Expr, ExprKind, Slot};
use crate::logical::{Relation, Source};
use crate::tree::partition::{PartitionTerm, PartitionTermBound, ScanPartitions};
use crate::visit;

/// Branches of an OR that are looked at each time a scan opens.
const ALTERNATIVES_MAX: usize = 64;

/// The partitions of a relation under conditions that are all true of the rows that are wanted.
pub(super) fn of_scan(relation: &Relation, conditions: &[&Expr]) -> Option<Arc<ScanPartitions>> {
    let (Some(partitions), Source::Base(table)) = (&relation.partitions, &relation.source) else { return None };
    let slots: Vec<Option<Slot>> = (0..relation.columns.len()).map(|c| relation.slot(c)).collect();
    let columns = Columns { table, slots: &slots };
    let mut partitions = partitions.clone();
    for condition in conditions {
        partitions.terms.extend(terms_of(condition, &columns, &partitions));
        let ExprKind::Or(branches) = &condition.kind else { continue };
        if branches.len() > ALTERNATIVES_MAX {
            continue;
        }
        let of_branch = |branch: &Expr| -> Vec<PartitionTerm> {
            visit::conjuncts(branch.clone()).iter().flat_map(|condition| terms_of(condition, &columns, &partitions)).collect()
        };
        let alternatives: Vec<Vec<PartitionTerm>> = branches.iter().map(of_branch).collect();
        if alternatives.iter().all(|terms| !terms.is_empty()) {
            partitions.alternatives.push(alternatives);
        }
    }
    Some(Arc::new(partitions))
}

fn terms_of(condition: &Expr, columns: &Columns<'_>, partitions: &ScanPartitions) -> Vec<PartitionTerm> {
    let decides = |column: &usize| partitions.function.columns.contains(column);
    let terms = columns.terms(condition).into_iter().filter(|term| decides(&term.column));
    let bound = |bound| match bound {
        Bound::Equal(keys) => Some(PartitionTermBound::Equal(keys)),
        Bound::Low(value, inclusive) => Some(PartitionTermBound::Low(value, inclusive)),
        Bound::High(value, inclusive) => Some(PartitionTermBound::High(value, inclusive)),
        Bound::NotNull => None,
    };
    terms.filter_map(|term| Some(PartitionTerm { column: term.column, bound: bound(term.bound)? })).collect()
}
