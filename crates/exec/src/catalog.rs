//! The planner's view of the stored catalog.

use std::sync::Arc;

use vaquita_plan::catalog::{Catalog as PlannerCatalog, TableStatistics};
use vaquita_storage::Catalog;
use vaquita_types::Result;
use vaquita_types::schema::{TableDef, TableRef};

pub struct PlanCatalog<'a> {
    catalog: &'a Arc<Catalog>,
}

impl<'a> PlanCatalog<'a> {
    pub fn new(catalog: &'a Arc<Catalog>) -> PlanCatalog<'a> {
        PlanCatalog { catalog }
    }
}

impl PlannerCatalog for PlanCatalog<'_> {
    fn table(&self, database: &str, name: &str) -> Result<Option<TableRef>> {
        match crate::system::table(database, name) {
            Some(table) => Ok(Some(table)),
            None => Ok(self.catalog.table(database, name)?.map(|table| table.def.clone())),
        }
    }

    fn database_exists(&self, database: &str) -> Result<bool> {
        Ok(self.catalog.database(database)?.is_some() || crate::system::is_system_database(database))
    }

    fn statistics(&self, _table: &TableDef) -> TableStatistics {
        TableStatistics::default()
    }
}
