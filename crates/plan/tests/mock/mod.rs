//! A catalog in memory, filled from CREATE TABLE statements.

use std::sync::Arc;

use vaquita_parser as ast;
use vaquita_plan::catalog::{Catalog as CatalogTrait, TableStatistics};
use vaquita_types::charset::CollationId;
use vaquita_types::schema::*;
use vaquita_types::{ColumnType, Result, TypeKind, Value};

#[derive(Default)]
pub struct Catalog {
    tables: Vec<TableRef>,
}

impl CatalogTrait for Catalog {
    fn table(&self, database: &str, name: &str) -> Result<Option<TableRef>> {
        Ok(self.tables.iter().find(|t| t.database == database && t.name == name).cloned())
    }

    fn database_exists(&self, database: &str) -> Result<bool> {
        Ok(database == "test")
    }

    fn statistics(&self, table: &TableDef) -> TableStatistics {
        // A comment `rows=N` sets the size, `rows=N distinct=M` also how many values indexes have.
        let mut numbers = table.options.comment.split(' ').filter_map(|word| word.split_once('=')?.1.parse().ok());
        let rows = numbers.next().unwrap_or(100_000);
        let of_index = |distinct: u64| table.indexes.iter().map(move |index| (index.id, vec![distinct; index.parts.len()]));
        TableStatistics { rows, is_exact: false, distinct: numbers.next().into_iter().flat_map(of_index).collect() }
    }
}

impl Catalog {
    pub fn create(&mut self, create: &ast::CreateTable) {
        let mut columns = Vec::new();
        let mut indexes = Vec::new();
        for element in &create.elements {
            let ast::TableElement::Column(column) = element else { continue };
            let id = ColumnId(columns.len() as u16);
            let mut def = column_def(id, column);
            for attribute in &column.attributes {
                match attribute {
                    ast::ColumnAttribute::NotNull => def.nullable = false,
                    ast::ColumnAttribute::PrimaryKey => {
                        def.nullable = false;
                        indexes.insert(0, index("PRIMARY", IndexKind::Primary, vec![(id, None, false)]));
                    }
                    ast::ColumnAttribute::UniqueKey => {
                        indexes.push(index(&column.name, IndexKind::Unique, vec![(id, None, false)]))
                    }
                    ast::ColumnAttribute::AutoIncrement => def.auto_increment = true,
                    ast::ColumnAttribute::Invisible => def.invisible = true,
                    ast::ColumnAttribute::Generated { expr, stored } => {
                        let style = ast::printer::Style { charset: None, cast_charset: None, unqualified: true };
                        let expr = ast::printer::print_expr(expr, style);
                        let (stored, in_row) = (*stored, *stored);
                        def.generated = Some(Generated { expr, stored, in_row, hidden: false, elements: None });
                    }
                    _ => {}
                }
            }
            columns.push(def);
        }
        for element in &create.elements {
            let ast::TableElement::Index(def) = element else { continue };
            let made = index_def(def, &mut columns);
            if made.kind == IndexKind::Primary { indexes.insert(0, made) } else { indexes.push(made) }
        }
        let hidden_rowid = indexes.first().is_none_or(|i| i.kind != IndexKind::Primary);
        if hidden_rowid {
            indexes.insert(0, index("GEN_CLUST_INDEX", IndexKind::Primary, Vec::new()));
        }
        for (n, i) in indexes.iter_mut().enumerate() {
            i.id = IndexId(self.tables.len() as u32 * 100 + n as u32);
        }
        let comment = create.options.iter().find_map(|o| match o {
            ast::TableOption::Comment(text) => Some(String::from_utf8_lossy(text).into_owned()),
            _ => None,
        });
        self.tables.push(Arc::new(TableDef {
            id: TableId(self.tables.len() as u32),
            database: "test".to_string(),
            name: create.name.name.clone(),
            schema_version: 1,
            next_column_id: ColumnId(columns.len() as u16),
            columns,
            indexes,
            hidden_rowid,
            layouts: Vec::new(),
            collation: CollationId::default(),
            options: TableOptions { comment: comment.unwrap_or_default(), ..TableOptions::default() },
            created_us: 0,
            foreign_keys: Vec::new(),
            referenced_by: Vec::new(),
            triggers: Vec::new(),
            partitioning: None,
        }));
    }
}

fn column_def(id: ColumnId, column: &ast::ColumnDef) -> ColumnDef {
    use ast::TypeName as T;
    let length = column.ty.length.unwrap_or(0) as u32;
    let kind = match column.ty.name {
        T::TinyInt => TypeKind::TinyInt,
        T::SmallInt => TypeKind::SmallInt,
        T::BigInt => TypeKind::BigInt,
        T::Decimal => TypeKind::Decimal,
        T::Double => TypeKind::Double,
        T::Date => TypeKind::Date,
        T::DateTime => TypeKind::DateTime,
        T::Time => TypeKind::Time,
        T::Year => TypeKind::Year,
        T::Bit => TypeKind::Bit,
        T::Json => TypeKind::Json,
        T::Float => TypeKind::Float,
        T::Char => TypeKind::Char,
        T::VarChar => TypeKind::VarChar,
        T::VarBinary => TypeKind::VarBinary,
        T::Text => TypeKind::Text,
        _ => TypeKind::Int,
    };
    let mut ty = ColumnType {
        length,
        unsigned: column.ty.unsigned,
        decimals: column.ty.scale.unwrap_or(0) as u8,
        ..ColumnType::new(kind)
    };
    if ty.is_bytes() && kind != TypeKind::VarBinary {
        ty.collation = CollationId::default();
    }
    if ty.is_integer() && length == 0 {
        ty.length = 11;
    }
    ColumnDef {
        id,
        name: column.name.clone(),
        ty,
        nullable: true,
        default: ColumnDefault::Value(Value::Null),
        on_update_now: false,
        auto_increment: false,
        comment: String::new(),
        invisible: false,
        added_default: Value::Null,
        generated: None,
    }
}

fn index_def(def: &ast::IndexDef, columns: &mut [ColumnDef]) -> IndexDef {
    let kind = match def.kind {
        ast::IndexKind::Primary => IndexKind::Primary,
        ast::IndexKind::Unique => IndexKind::Unique,
        _ => IndexKind::Secondary,
    };
    let mut parts = Vec::new();
    for part in &def.parts {
        let ast::KeyPart::Column { name, length, desc } = part else { continue };
        let column = columns.iter_mut().find(|c| c.name == *name).expect("column of an index");
        if kind == IndexKind::Primary {
            column.nullable = false;
        }
        parts.push((column.id, length.map(|p| p as u32), *desc));
    }
    let name =
        def.name.clone().unwrap_or_else(|| columns.iter().find(|c| c.id == parts[0].0).map_or(String::new(), |c| c.name.clone()));
    let made = index(if kind == IndexKind::Primary { "PRIMARY" } else { &name }, kind, parts);
    IndexDef { invisible: def.options.visible == Some(false), ..made }
}

fn index(name: &str, kind: IndexKind, parts: Vec<(ColumnId, Option<u32>, bool)>) -> IndexDef {
    let parts = parts.into_iter().map(|(column, prefix, descending)| IndexPart { column, prefix, descending }).collect();
    IndexDef {
        id: IndexId(0),
        name: name.to_string(),
        kind,
        parts,
        comment: String::new(),
        invisible: false,
        using: None,
        generated: false,
        multi_valued: false,
        parser: Default::default(),
    }
}
