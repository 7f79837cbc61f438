//! CREATE, DROP and ALTER of temporary tables: what differs from permanent ones.
//!
//! Their definitions are the session's (`storage::SessionCatalog`), and CREATE TEMPORARY TABLE … SELECT runs in the session's
//! transaction, which its rows may have to be read through: `create_temporary_from` only makes the table and the plan that fills it.

use std::sync::Arc;

use vaquita_parser::ast::{self, AlterAction, ColumnAttribute, IndexKind, TableElement, TableOption};
use vaquita_plan::node::Plan;
use vaquita_storage::Table;
use vaquita_types::errno::{
    ER_ALTER_OPERATION_NOT_SUPPORTED, ER_CANNOT_ADD_FOREIGN, ER_INNODB_NO_FT_TEMP_TABLE, ER_PARTITION_NO_TEMPORARY,
    ER_UNSUPPORT_COMPRESSED_TEMPORARY_TABLE,
};
use vaquita_types::schema::TableDef;
use vaquita_types::{Error, Result};

use super::Ddl;
use super::create::Made;

impl Ddl<'_> {
    /// CREATE TEMPORARY TABLE … SELECT: makes the table, and the plan that inserts the rows. `None`: the table is there
    /// already, and IF NOT EXISTS was said.
    pub fn create_temporary_from(&self, create: &ast::CreateTable, query: &ast::Query) -> Result<Option<Plan>> {
        let Some(Made { table, names, .. }) = self.make_table(create)? else { return Ok(None) };
        // Planned before the table hides a permanent one that the query reads.
        let plan = self.plan_fill(&table, create, query, names).inspect_err(|_| self.catalog.give_up(&table))?;
        self.catalog.add_temporary(&table);
        Ok(Some(plan))
    }

    /// The rows that MySQL counts: it copies a temporary table whatever is altered.
    pub(super) fn rows_of_temporary(&self, table: &Table) -> Result<Option<u64>> {
        if !table.def.options.temporary {
            return Ok(None);
        }
        self.transaction().row_count(table.def.id).map(Some)
    }
}

/// What a temporary table cannot have.
pub(super) fn refuse_in_create(create: &ast::CreateTable) -> Result<()> {
    for element in &create.elements {
        match element {
            TableElement::ForeignKey(_) => return Err(Error::new(&ER_CANNOT_ADD_FOREIGN, &[])),
            TableElement::Column(column) => refuse_column(column)?,
            TableElement::Index(index) => refuse_index(index)?,
            TableElement::Check(_) => {}
        }
    }
    if create.partitioning.is_some() {
        return Err(Error::new(&ER_PARTITION_NO_TEMPORARY, &[]));
    }
    refuse_options(&create.options)
}

/// The same for ALTER TABLE, and algorithms that MySQL does not use for temporary tables.
pub(super) fn refuse_in_alter(alter: &ast::AlterTable, algorithm: &str, old: &Arc<Table>) -> Result<()> {
    if !old.def.options.temporary {
        return Ok(());
    }
    for action in &alter.actions {
        match action {
            AlterAction::AddForeignKey(_) => return Err(Error::new(&ER_CANNOT_ADD_FOREIGN, &[])),
            AlterAction::AddColumn { column, .. }
            | AlterAction::ModifyColumn { column, .. }
            | AlterAction::ChangeColumn { column, .. } => refuse_column(column)?,
            AlterAction::AddIndex(index) => refuse_index(index)?,
            AlterAction::PartitionBy(_) => return Err(Error::new(&ER_PARTITION_NO_TEMPORARY, &[])),
            AlterAction::Options(options) => refuse_options(options)?,
            _ => {}
        }
    }
    if matches!(algorithm, "INSTANT" | "INPLACE") {
        let algorithm = format!("ALGORITHM={algorithm}");
        return Err(Error::new(&ER_ALTER_OPERATION_NOT_SUPPORTED, &[&algorithm, &"ALGORITHM=COPY"]));
    }
    Ok(())
}

fn refuse_column(column: &ast::ColumnDef) -> Result<()> {
    let references = column.attributes.iter().any(|a| matches!(a, ColumnAttribute::References(_)));
    if references { Err(Error::new(&ER_CANNOT_ADD_FOREIGN, &[])) } else { Ok(()) }
}

/// The same for a copy of another table's definition.
pub(super) fn refuse_indexes(def: &TableDef) -> Result<()> {
    if def.indexes.iter().any(|index| index.is_full_text()) { Err(Error::new(&ER_INNODB_NO_FT_TEMP_TABLE, &[])) } else { Ok(()) }
}

fn refuse_index(index: &ast::IndexDef) -> Result<()> {
    if index.kind == IndexKind::FullText { Err(Error::new(&ER_INNODB_NO_FT_TEMP_TABLE, &[])) } else { Ok(()) }
}

fn refuse_options(options: &[TableOption]) -> Result<()> {
    let compressed = |option: &TableOption| match option {
        TableOption::RowFormat(format) => format.eq_ignore_ascii_case("COMPRESSED"),
        TableOption::KeyBlockSize(bytes) => *bytes != 0,
        _ => false,
    };
    if options.iter().any(compressed) {
        return Err(Error::new(&ER_UNSUPPORT_COMPRESSED_TEMPORARY_TABLE, &[]));
    }
    Ok(())
}
