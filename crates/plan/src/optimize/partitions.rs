//! What a scan of a partitioned table can know of the columns that say which partition a row is in.

use super::Want;
use super::path::Candidate;
use super::sarg::{Bound, Columns};
use crate::expr::{Expr, ExprKind, Slot};
use crate::logical::{Relation, Source, StatementFacts};
use crate::node::SortKey;
use crate::tree::partition::{PartitionTerm, PartitionTermBound, ScanPartitions};
use crate::visit;

/// Partitions that are read at the same time: each has a cursor.
const MERGED_PARTITIONS_MAX: usize = 1024;
/// Branches of an OR that are looked at each time a scan opens.
const ALTERNATIVES_MAX: usize = 64;

/// The partitions of a relation under conditions that are all true of the rows that are wanted.
pub(super) fn of_scan(relation: &Relation, conditions: &[&Expr], facts: &StatementFacts) -> Option<ScanPartitions> {
    let (Some(partitions), Source::Base(table)) = (&relation.partitions, &relation.source) else { return None };
    let slots: Vec<Option<Slot>> = (0..relation.columns.len()).map(|c| relation.slot(c)).collect();
    let columns = Columns { table, slots: &slots, facts };
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
    Some(partitions)
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

/// The wanted order can be had of partitions that are read at the same time. How they are merged does not depend on how many they are, since
/// a plan is kept for other values.
pub(super) fn may_merge(want: &Want, partitions: &ScanPartitions) -> bool {
    !want.grouping && partitions.count_max() <= MERGED_PARTITIONS_MAX
}

/// The order in which partitions are merged for a path that gives their rows in the wanted order, or an extreme of them first.
pub(super) fn merged_by(want: &Want, candidate: &Candidate, is_own: impl Fn(Slot) -> bool) -> Vec<SortKey> {
    let key = |(expr, descending): &(Expr, bool)| SortKey { expr: expr.clone(), descending: *descending };
    match (&want.extreme, candidate.extreme, candidate.ordered) {
        (Some(extreme), true, _) => vec![key(extreme)],
        // What is behind a unique key may be of other tables, and decides nothing.
        (_, _, true) => {
            let own = |(expr, _): &&(Expr, bool)| visit::slots(expr).into_iter().all(&is_own);
            want.order.iter().take_while(own).map(key).collect()
        }
        _ => Vec::new(),
    }
}
