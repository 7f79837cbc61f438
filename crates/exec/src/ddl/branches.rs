//! Partitions while DDL adds, takes and replaces them: each of the first level is a *branch* with its subpartitions.
//!
//! Example: of `(PARTITION p0 …, PARTITION p1 …)` with `SUBPARTITIONS 2`, ADD PARTITION (PARTITION p2 …) makes three branches, of which the
//! last one is without subpartitions; `set_branches` gives it p2sp0 and p2sp1.

use vaquita_types::errno::{ER_SUBPARTITION_ERROR, ER_TOO_LONG_IDENT, ER_TOO_MANY_PARTITIONS_ERROR};
use vaquita_types::limits::{IDENTIFIER_CHARS_MAX, PARTITIONS_MAX};
use vaquita_types::schema::{PartitionDef, Partitioning, TableId};
use vaquita_types::{Error, Result};

#[derive(Clone)]
pub(super) struct Branch {
    pub partition: PartitionDef,
    /// Empty: none were written.
    pub subpartitions: Vec<PartitionDef>,
}

impl Branch {
    pub fn of(partition: PartitionDef) -> Branch {
        Branch { partition, subpartitions: Vec::new() }
    }

    /// What has its rows is to be new.
    pub fn renew(&mut self) {
        forget_ids(&mut self.partition);
        self.subpartitions.iter_mut().for_each(forget_ids);
    }
}

pub(super) fn forget_ids(partition: &mut PartitionDef) {
    partition.id = TableId(0);
    partition.indexes.clear();
}

/// The branches of a partitioning.
pub(super) fn branches(by: &Partitioning) -> Vec<Branch> {
    let subpartitions = |at: usize| match &by.subpartitions {
        Some(_) => by.partitions.get(by.numbers_of(at)).unwrap_or_default().to_vec(),
        None => Vec::new(),
    };
    let first_level = by.first_level().iter().enumerate();
    first_level.map(|(at, p)| Branch { partition: p.clone(), subpartitions: subpartitions(at) }).collect()
}

/// Makes these the branches of a partitioning. Those that come without subpartitions get them with MySQL's names and the partition's
/// options. Errors 1499, 1500 and 1059.
pub(super) fn set_branches(by: &mut Partitioning, branches: Vec<Branch>) -> Result<()> {
    if branches.len().saturating_mul(by.per_first_level()) > PARTITIONS_MAX {
        return Err(Error::new(&ER_TOO_MANY_PARTITIONS_ERROR, &[]));
    }
    let Some(of) = &mut by.subpartitions else {
        if branches.iter().any(|branch| !branch.subpartitions.is_empty()) {
            return Err(Error::new(&ER_SUBPARTITION_ERROR, &[]));
        }
        by.partitions = branches.into_iter().map(|branch| branch.partition).collect();
        return Ok(());
    };
    by.partitions.clear();
    of.partitions.clear();
    for branch in branches {
        match branch.subpartitions.len() {
            0 => {
                for number in 0..of.count {
                    by.partitions.push(default_subpartition(&branch.partition, number)?);
                }
            }
            count if count == of.count => by.partitions.extend(branch.subpartitions),
            _ => return Err(Error::internal("another number of subpartitions")),
        }
        of.partitions.push(branch.partition);
    }
    Ok(())
}

fn default_subpartition(of: &PartitionDef, number: usize) -> Result<PartitionDef> {
    let name = format!("{}sp{number}", of.name);
    if name.chars().count() > IDENTIFIER_CHARS_MAX {
        // MySQL says no name here.
        return Err(Error::new(&ER_TOO_LONG_IDENT, &[&""]));
    }
    Ok(of.subpartition(name))
}
