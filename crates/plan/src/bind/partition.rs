//! Partitioned tables: the function of one, of which the catalog has the text, and the partitions that a statement names.

use std::collections::BTreeSet;
use std::sync::Arc;

use vaquita_parser::{ParserOptions, parse_expr};
use vaquita_types::schema::{self, TableRef};
use vaquita_types::{Error, Result, errno};

use super::{Place, PlanContext, bind_over_row};
use crate::catalog::Catalog;
use crate::partition::{PartitionFunction, PartitionKey, monotonic};
use crate::visit;

/// The function of a partitioned table.
pub fn bind_partitions(table: &TableRef, catalog: &dyn Catalog) -> Result<PartitionFunction> {
    let by = table.partitioning.as_ref().ok_or_else(|| Error::internal("a table without partitions"))?;
    let second = by.subpartitions.as_ref().map(|by| bind_key(table, &by.key, catalog)).transpose()?;
    PartitionFunction::new(table, bind_key(table, &by.key, catalog)?, second)
}

fn bind_key(table: &TableRef, key: &schema::PartitionKey, catalog: &dyn Catalog) -> Result<PartitionKey> {
    Ok(match key {
        schema::PartitionKey::Expr(text) => {
            let parsed = parse_expr(text.as_bytes(), &ParserOptions::default())
                .map_err(|e| Error::internal(format_args!("partitioning function {text}: {e:?}")))?;
            let expr = bind_over_row(&parsed, table, 0, &PlanContext::new(catalog, Place::Partition))?;
            let columns = visit::unique(visit::slots(&expr));
            let monotonic = monotonic(&expr, table);
            PartitionKey::Expr { expr, columns, monotonic }
        }
        schema::PartitionKey::Columns(_) | schema::PartitionKey::PrimaryKey => {
            PartitionKey::Columns(table.columns_of_key(key).iter().filter_map(|id| table.position_of(*id)).collect())
        }
    })
}

/// The numbers of the partitions that `PARTITION (p0, p1)` names, ascending, by their names or those of subpartitions; errors 1747 and 1735.
pub fn select_partitions(table: &TableRef, names: &[String]) -> Result<Option<Arc<[usize]>>> {
    if names.is_empty() {
        return Ok(None);
    }
    let Some(by) = &table.partitioning else { return Err(Error::new(&errno::ER_PARTITION_CLAUSE_ON_NONPARTITIONED, &[])) };
    let mut numbers = BTreeSet::new();
    for name in names {
        let named = by.numbers_named(name);
        numbers.extend(named.ok_or_else(|| Error::new(&errno::ER_UNKNOWN_PARTITION, &[name, &table.name]))?);
    }
    Ok(Some(numbers.into_iter().collect()))
}
