//! Which partition a row that is written belongs to.

use std::sync::Arc;

use vaquita_plan::bind::bind_partitions;
use vaquita_plan::partition::PartitionFunction;
use vaquita_storage::Table;
use vaquita_types::errno::{
    ER_NO_PARTITION_FOR_GIVEN_VALUE, ER_PARTITION_FUNCTION_FAILURE, ER_ROW_DOES_NOT_MATCH_GIVEN_PARTITION_SET,
};
use vaquita_types::{Error, Result, Value};

use crate::catalog::PlanCatalog;
use crate::context::Execution;

/// The partitioning function of a table that rows are written to, and the partitions that the statement names.
pub(crate) struct RowPartitions {
    function: Arc<PartitionFunction>,
    selected: Option<Arc<[usize]>>,
}

impl RowPartitions {
    pub fn of(statement: &Execution<'_>, table: &Table, selected: Option<&Arc<[usize]>>) -> Result<Option<Box<RowPartitions>>> {
        if table.def.partitioning.is_none() {
            return Ok(None);
        }
        let function = table.kept_with(|| bind_partitions(&table.def, &PlanCatalog::new(statement.catalog)))?;
        Ok(Some(Box::new(RowPartitions { function, selected: selected.cloned() })))
    }

    /// The number of a row's partition; errors 1526 and 1748.
    pub fn of_row(&self, row: &[Value]) -> Result<usize> {
        let number = self.function.partition_of(row)?;
        match &self.selected {
            Some(selected) if selected.binary_search(&number).is_err() => {
                Err(Error::new(&ER_ROW_DOES_NOT_MATCH_GIVEN_PARTITION_SET, &[]))
            }
            _ => Ok(number),
        }
    }
}

/// The number of the partition that a stored row is in.
pub(crate) fn number_of_key(table: &Table, key: &[u8]) -> Result<usize> {
    table.partition_of_key(key).ok_or_else(|| Error::new(&ER_PARTITION_FUNCTION_FAILURE, &[]))
}

/// What IGNORE makes a warning.
pub(crate) fn is_partition_error(error: &Error) -> bool {
    error.is(&ER_NO_PARTITION_FOR_GIVEN_VALUE) || error.is(&ER_ROW_DOES_NOT_MATCH_GIVEN_PARTITION_SET)
}
