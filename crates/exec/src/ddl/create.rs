//! CREATE TABLE.

use vaquita_parser::ast::{self, TableElement};
use vaquita_plan::env::Level;
use vaquita_storage::{Isolation, TxnOptions};
use vaquita_types::charset::CollationId;
use vaquita_types::errno::{
    ER_BAD_DB_ERROR, ER_DUP_FIELDNAME, ER_NO_SUCH_TABLE, ER_TABLE_EXISTS_ERROR, ER_TABLE_MUST_HAVE_COLUMNS, ER_TOO_MANY_FIELDS, ER_WRONG_AUTO_KEY,
};
use vaquita_types::limits::TABLE_COLUMNS_MAX;
use vaquita_types::schema::{ColumnDef, ColumnId, IndexDef, IndexId, TableDef, TableId, TableOptions};
use vaquita_types::{Error, Result};

use super::indexes::add_index;
use super::{Ddl, check_identifier, options};

impl Ddl<'_> {
    pub fn create_table(&self, create: &ast::CreateTable) -> Result<u64> {
        let database = self.database_of(&create.name)?;
        check_identifier(&create.name.name)?;
        if create.temporary {
            return Err(Error::unsupported("CREATE TEMPORARY TABLE"));
        }
        let parent = self.catalog.database(database)?.ok_or_else(|| Error::new(&ER_BAD_DB_ERROR, &[&database]))?;
        if self.catalog.table(database, &create.name.name)?.is_some() {
            let error = Error::new(&ER_TABLE_EXISTS_ERROR, &[&create.name.name]);
            if !create.if_not_exists {
                return Err(error);
            }
            self.session.warn(Level::Note, error);
            return Ok(0);
        }
        let (def, auto_increment) = match &create.like {
            Some(like) => (self.like(database, &create.name.name, like)?, None),
            None => self.definition(database, create, parent.collation)?,
        };
        let table = self.catalog.create_table(def, &self.context)?;
        if let Some(next) = auto_increment {
            let mut txn = self.catalog.engine().begin(TxnOptions {
                isolation: Isolation::ReadCommitted,
                autocommit: true,
                read_only: false,
                snapshot_isolation: true,
                interrupt: self.context.interrupt.clone(),
            });
            txn.set_auto_increment(table.def.id, next)?;
            txn.commit_wait()?;
        }
        Ok(0)
    }

    fn like(&self, database: &str, name: &str, like: &ast::Name) -> Result<TableDef> {
        let source_database = self.database_of(like)?;
        let source = self.catalog.table(source_database, &like.name)?;
        let source = source.ok_or_else(|| Error::new(&ER_NO_SUCH_TABLE, &[&source_database, &like.name]))?;
        let mut def = (*source.def).clone();
        def.database = database.to_string();
        def.name = name.to_string();
        for index in &mut def.indexes {
            index.id = IndexId(0);
        }
        if def.hidden_rowid {
            def.indexes.remove(0);
            def.hidden_rowid = false;
        }
        Ok(def)
    }

    fn definition(&self, database: &str, create: &ast::CreateTable, parent: CollationId) -> Result<(TableDef, Option<u64>)> {
        if create.partitioning.is_some() {
            return Err(Error::unsupported("PARTITION BY"));
        }
        if create.select.is_some() {
            return Err(Error::unsupported("CREATE TABLE ... SELECT"));
        }
        let mut table_options = TableOptions { engine: "InnoDB".to_string(), ..TableOptions::default() };
        let given = options::apply(&create.options, &mut table_options, &create.name.name)?;
        let collation = given.collation(parent)?;
        let (columns, indexes) = self.elements(&create.elements, collation)?;
        let def = TableDef {
            id: TableId(0),
            database: database.to_string(),
            name: create.name.name.clone(),
            schema_version: 0,
            next_column_id: ColumnId(columns.len() as u16 + 1),
            columns,
            indexes,
            hidden_rowid: false,
            layouts: Vec::new(),
            collation,
            options: table_options,
            created_us: self.session.statement_time_us() as u64,
        };
        Ok((def, given.auto_increment))
    }

    fn elements(&self, elements: &[TableElement], collation: CollationId) -> Result<(Vec<ColumnDef>, Vec<IndexDef>)> {
        let mut columns: Vec<ColumnDef> = Vec::new();
        let mut wanted: Vec<ast::IndexDef> = Vec::new();
        for element in elements {
            match element {
                TableElement::Column(column) => {
                    let new = self.column(column, collation)?;
                    if columns.iter().any(|c| c.name.to_lowercase() == new.def.name.to_lowercase()) {
                        return Err(Error::new(&ER_DUP_FIELDNAME, &[&new.def.name]));
                    }
                    wanted.extend(attribute_indexes(&new));
                    columns.push(new.def);
                }
                TableElement::Index(index) => wanted.push(index.clone()),
                TableElement::ForeignKey(_) => return Err(Error::unsupported("FOREIGN KEY constraints")),
                TableElement::Check(_) => return Err(Error::unsupported("CHECK constraints")),
            }
        }
        if columns.is_empty() {
            return Err(Error::new(&ER_TABLE_MUST_HAVE_COLUMNS, &[]));
        }
        if columns.len() > TABLE_COLUMNS_MAX {
            return Err(Error::new(&ER_TOO_MANY_FIELDS, &[]));
        }
        let mut indexes = Vec::new();
        for index in &wanted {
            add_index(index, &mut columns, &mut indexes)?;
        }
        check_auto_increment(&columns, &indexes)?;
        // Parts name columns by position until here.
        for (position, column) in columns.iter_mut().enumerate() {
            column.id = ColumnId(position as u16 + 1);
        }
        for part in indexes.iter_mut().flat_map(|i: &mut IndexDef| i.parts.iter_mut()) {
            part.column = ColumnId(part.column.0 + 1);
        }
        Ok((columns, indexes))
    }
}

/// `id INT PRIMARY KEY` and `x INT UNIQUE` as index definitions.
pub fn attribute_indexes(new: &super::columns::NewColumn) -> Vec<ast::IndexDef> {
    let index = |kind| ast::IndexDef {
        kind,
        name: None,
        constraint: None,
        parts: vec![ast::KeyPart::Column { name: new.def.name.clone(), length: None, desc: false }],
        options: ast::IndexOptions::default(),
    };
    let mut indexes = Vec::new();
    if new.primary {
        indexes.push(index(ast::IndexKind::Primary));
    }
    if new.unique {
        indexes.push(index(ast::IndexKind::Unique));
    }
    indexes
}

/// At most one AUTO_INCREMENT column, and it leads an index. Index parts are positions here.
pub fn check_auto_increment(columns: &[ColumnDef], indexes: &[IndexDef]) -> Result<()> {
    let mut automatic = columns.iter().enumerate().filter(|(_, c)| c.auto_increment);
    let Some((position, _)) = automatic.next() else { return Ok(()) };
    let leads = indexes.iter().any(|i| i.parts.first().is_some_and(|p| usize::from(p.column.0) == position));
    if automatic.next().is_some() || !leads {
        return Err(Error::new(&ER_WRONG_AUTO_KEY, &[]));
    }
    Ok(())
}

