//! CREATE TABLE, also LIKE another and from a query (`from_query` derives its columns and fills the table).

use std::cell::RefCell;
use std::collections::HashSet;
use std::sync::Arc;

use vaquita_parser::ast::{self, ColumnAttribute, TableElement, TableOption};
use vaquita_plan::bind::is_dictionary_view;
use vaquita_plan::env::Level;
use vaquita_storage::{FirstRows, Named, Table, Transaction, kill_point};
use vaquita_types::charset::{CollationId, charset};
use vaquita_types::errno::{
    ER_BAD_DB_ERROR, ER_DUP_FIELDNAME, ER_FOREIGN_KEY_WITH_ATOMIC_CREATE_SELECT, ER_NONUNIQ_TABLE, ER_PARTITION_NO_TEMPORARY,
    ER_RESERVED_TABLESPACE_NAME, ER_TABLE_DEF_CHANGED, ER_TABLE_EXISTS_ERROR, ER_TABLE_MUST_HAVE_A_VISIBLE_COLUMN,
    ER_TOO_BIG_ROWSIZE, ER_TOO_MANY_FIELDS, ER_WRONG_AUTO_KEY, ER_WRONG_OBJECT, ER_WRONG_PERFSCHEMA_USAGE,
};
use vaquita_types::limits::{ROW_BYTES_MAX, TABLE_COLUMNS_MAX};
use vaquita_types::schema::{ColumnDef, ColumnId, IndexDef, IndexId, ObjectKind, TableDef, TableId, TableOptions};
use vaquita_types::{ColumnType, Error, Result, TypeKind};

use super::checks::use_column_names;
use super::from_query::Selected;
use super::indexes::{add_index, require_not_null, sort_indexes, warn_of_duplicates};
use super::temporary::{refuse_in_create, refuse_indexes};
use super::{Ddl, Outcome, check_identifier, engines, foreign_keys, full_text, generated, options};

/// What CREATE TABLE asks for besides the definition.
struct Wanted {
    def: TableDef,
    auto_increment: Option<u64>,
}

/// A table without rows.
pub(super) struct Made {
    pub table: Arc<Table>,
    /// Of the columns that a query fills.
    pub names: Vec<String>,
    /// Has the table locked until it has filled it.
    filler: Option<Transaction>,
}

/// The columns and indexes of a definition.
#[derive(Default)]
struct Elements {
    columns: Vec<ColumnDef>,
    indexes: Vec<ast::IndexDef>,
    /// How many of them stand before each foreign key.
    key_places: Vec<usize>,
    /// Each with the column that it stands at.
    checks: Vec<(Option<String>, ast::CheckConstraint)>,
    /// Names of columns that are declared NULL, and of those with a charset or collation of their own.
    null_given: Vec<String>,
    collations_given: Vec<String>,
}

impl Ddl<'_> {
    pub fn create_table(&self, create: &ast::CreateTable) -> Result<Outcome> {
        let made = self.retrying(|| self.make_table(create))?;
        let Some(Made { table, names, filler }) = made else { return Ok(Outcome::affected(0)) };
        if create.temporary {
            self.catalog.add_temporary(&table);
        }
        let (Some(query), Some(filler)) = (&create.select, filler) else { return Ok(Outcome::affected(0)) };
        kill_point("create-select.created");
        let filler = RefCell::new(filler);
        self.fill(&table, create, query, names, &filler).inspect_err(|_| {
            self.catalog.drop_unfilled(&table, &filler.borrow(), self.context.wait);
        })
    }

    /// Makes the table, without rows; the name of a temporary table does not mean it yet. `None`: it is there, and IF NOT EXISTS was said.
    pub(super) fn make_table(&self, create: &ast::CreateTable) -> Result<Option<Made>> {
        let database = self.database_of(&create.name)?;
        check_identifier(&create.name.name)?;
        if let Some(like) = &create.like
            && (self.database_of(like)?, &like.name) == (database, &create.name.name)
        {
            return Err(Error::new(&ER_NONUNIQ_TABLE, &[&create.name.name]));
        }
        if let Some(like) = &create.like {
            self.refuse_dictionary_view(like)?;
            if self.system_table(self.database_of(like)?, &like.name)?.is_none() {
                self.table(like)?;
            }
        }
        if create.temporary {
            refuse_in_create(create)?;
        }
        let parent = self.catalog.database(database)?.ok_or_else(|| Error::new(&ER_BAD_DB_ERROR, &[&database]))?;
        let existing = match create.temporary {
            true => self.catalog.temporary(database, &create.name.name),
            false => self.catalog.permanent(database, &create.name.name)?,
        };
        let is_view = !create.temporary && self.catalog.object(database, ObjectKind::View, &create.name.name)?.is_some();
        if existing.is_some() || is_view {
            let error = Error::new(&ER_TABLE_EXISTS_ERROR, &[&create.name.name]);
            if !create.if_not_exists {
                return Err(error);
            }
            if !create.temporary && create.select.is_none() {
                self.tell_unchanged(&[Named::TableOrView((database, &create.name.name))], true)?;
            }
            self.session.warn(Level::Note, error);
            return Ok(None);
        }
        let selected = match &create.select {
            Some(query) => self.selected_columns(query)?,
            None => Selected::default(),
        };
        let names: Vec<String> = selected.columns.iter().map(|c| c.name.clone()).collect();
        let wanted = match &create.like {
            Some(like) => {
                let def = self.like(database, &create.name.name, like, create.temporary)?;
                if create.temporary && def.partitioning.is_some() {
                    return Err(Error::new(&ER_PARTITION_NO_TEMPORARY, &[]));
                }
                Wanted { def, auto_increment: None }
            }
            None => self.definition(database, create, parent.collation, selected)?,
        };
        self.require_primary_key(&wanted.def)?;
        if !create.temporary {
            self.check_waiting_children(&wanted.def)?;
            let mut filler = create.select.as_ref().map(|_| self.transaction());
            let mut later = self.filler.filter(|_| filler.is_none()).map(RefCell::borrow_mut);
            let filled_by = filler.as_mut().or(later.as_deref_mut());
            let rows = FirstRows { auto_increment: wanted.auto_increment, filled_by };
            let made = self.catalog.create_table_with(wanted.def, rows, &self.context);
            let table = made.map_err(|error| match create.if_not_exists && error.is(&ER_TABLE_EXISTS_ERROR) {
                // Another session was first, which is then found.
                true => Error::new(&ER_TABLE_DEF_CHANGED, &[]),
                false => error,
            })?;
            if let Some(later) = &mut later {
                self.catalog.finish_table(later, &table.def.database, &table.def.name)?;
            }
            return Ok(Some(Made { table, names, filler }));
        }
        refuse_indexes(&wanted.def)?;
        let table = self.catalog.new_temporary(wanted.def)?;
        if let Some(next) = wanted.auto_increment {
            let mut txn = self.transaction();
            txn.set_auto_increment(table.def.id, next)?;
            txn.commit_wait()?;
        }
        Ok(Some(Made { table, names, filler: None }))
    }

    /// Errors 1109 and 1347.
    fn refuse_dictionary_view(&self, like: &ast::Name) -> Result<()> {
        match self.system_table(self.database_of(like)?, &like.name)? {
            Some(table) if is_dictionary_view(&table.database, &table.name) => {
                Err(Error::new(&ER_WRONG_OBJECT, &[&table.database, &table.name, &"BASE TABLE"]))
            }
            _ => Ok(()),
        }
    }

    fn like(&self, database: &str, name: &str, like: &ast::Name, temporary: bool) -> Result<TableDef> {
        if let Some(table) = self.system_table(self.database_of(like)?, &like.name)? {
            return Err(match table.database.as_str() {
                "performance_schema" if !temporary => Error::new(&ER_WRONG_PERFSCHEMA_USAGE, &[]),
                "mysql" => Error::new(&ER_RESERVED_TABLESPACE_NAME, &[&name, &"mysql"]),
                _ => Error::unsupported("CREATE TABLE LIKE a system table"),
            });
        }
        let source = self.table(like)?;
        let mut def = (*source.def).clone();
        def.database = database.to_string();
        def.name = name.to_string();
        def.options.temporary = false;
        def.foreign_keys.clear();
        def.referenced_by.clear();
        def.triggers.clear();
        for index in &mut def.indexes {
            index.id = IndexId(0);
        }
        if def.hidden_rowid {
            def.indexes.remove(0);
            def.hidden_rowid = false;
        }
        for (n, check) in def.options.checks.iter_mut().enumerate() {
            check.name = format!("{name}_chk_{}", n + 1);
        }
        Ok(def)
    }

    /// The engine of a table that names none.
    fn default_engine(&self, temporary: bool) -> Result<String> {
        let settings = self.session.run_settings();
        options::known_engine(if temporary { &settings.temporary_engine } else { &settings.engine })
    }

    fn definition(&self, database: &str, create: &ast::CreateTable, parent: CollationId, selected: Selected) -> Result<Wanted> {
        let mut table_options = TableOptions { engine: self.default_engine(create.temporary)?, ..TableOptions::default() };
        let given = options::apply(&create.options, &mut table_options, (&create.name.name, true), self.session)?;
        let collation = given.collation(parent, self.session.utf8mb4_collation())?;
        let mut elements = self.elements(create, collation)?;
        merge_selected(&mut elements.columns, selected.columns)?;
        elements.collations_given.extend(selected.collations_given);
        self.generate_primary_key(&mut elements.columns, &mut elements.indexes, &table_options.engine)?;
        let keys = foreign_keys::of_elements(&create.elements);
        if !keys.is_empty() && create.select.is_some() {
            return Err(Error::new(&ER_FOREIGN_KEY_WITH_ATOMIC_CREATE_SELECT, &[]));
        }
        self.functional_columns((database, &create.name.name), &mut elements, collation)?;
        let indexes = self.put_together(&mut elements, &keys, (database, &create.name.name), &table_options)?;
        let columns = elements.columns;
        let id_of = |name: &String| columns.iter().find(|c| c.name == *name).map(|c| c.id);
        table_options.collations_given = elements.collations_given.iter().filter_map(id_of).collect();
        let mut def = TableDef {
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
            foreign_keys: Vec::new(),
            referenced_by: Vec::new(),
            triggers: Vec::new(),
            partitioning: None,
        };
        let mut generated = 0;
        for (column, check) in &elements.checks {
            self.add_check(check, column.as_deref(), &mut def, &mut generated)?;
        }
        if !create.temporary {
            self.check_names_free(&def, None)?;
        }
        if foreign_keys::keeps_keys(&def.options.engine) {
            self.add_foreign_keys(&keys, &mut def, 0)?;
        }
        use_column_names(&mut def, None);
        self.check_expressions(&def, None)?;
        if let Some(by) = &create.partitioning {
            let engine_given = create.options.iter().any(|option| matches!(option, ast::TableOption::Engine(_)));
            self.partition(by, engine_given, &mut def)?;
        }
        Ok(Wanted { def, auto_increment: given.auto_increment })
    }

    /// Columns for the expressions of indexes, which see the others.
    fn functional_columns(&self, (database, name): (&str, &str), elements: &mut Elements, collation: CollationId) -> Result<()> {
        if !elements.indexes.iter().any(|index| index.parts.iter().any(|part| matches!(part, ast::KeyPart::Expr { .. }))) {
            return Ok(());
        }
        let columns = std::mem::take(&mut elements.columns);
        let mut def = TableDef {
            id: TableId(0),
            database: database.to_string(),
            name: name.to_string(),
            schema_version: 0,
            next_column_id: ColumnId(columns.len() as u16 + 1),
            columns,
            indexes: Vec::new(),
            hidden_rowid: false,
            layouts: Vec::new(),
            collation,
            options: TableOptions::default(),
            created_us: 0,
            foreign_keys: Vec::new(),
            referenced_by: Vec::new(),
            triggers: Vec::new(),
            partitioning: None,
        };
        self.add_functional_columns(&mut elements.indexes, &mut def)?;
        elements.columns = def.columns;
        Ok(())
    }

    fn elements(&self, create: &ast::CreateTable, collation: CollationId) -> Result<Elements> {
        let mut found = Elements::default();
        let as_shown = is_as_shown(create);
        let mut names = HashSet::new();
        for element in &create.elements {
            self.session.check_interrupt()?;
            match element {
                TableElement::Column(column) => {
                    let new = self.column(column, collation)?;
                    if !names.insert(new.def.name.to_lowercase()) {
                        return Err(Error::new(&ER_DUP_FIELDNAME, &[&new.def.name]));
                    }
                    found.indexes.extend(attribute_indexes(&new));
                    let place = found.indexes.len();
                    found.key_places.extend(foreign_keys::of_column(column).map(|_| place));
                    if new.null_given && new.def.nullable {
                        found.null_given.push(new.def.name.clone());
                    }
                    let follows_table = as_shown && column.ty.charset.is_none() && new.def.ty.collation == collation;
                    if collation_given(column) && !follows_table {
                        found.collations_given.push(new.def.name.clone());
                    }
                    found.checks.extend(column.attributes.iter().filter_map(|a| match a {
                        ColumnAttribute::Check(check) => Some((Some(column.name.clone()), check.clone())),
                        _ => None,
                    }));
                    found.columns.push(new.def);
                }
                TableElement::Index(index) => found.indexes.push(index.clone()),
                TableElement::ForeignKey(_) => found.key_places.push(found.indexes.len()),
                TableElement::Check(check) => found.checks.push((None, check.clone())),
            }
        }
        Ok(found)
    }

    /// Makes the indexes and gives ids to the columns.
    fn put_together(
        &self,
        elements: &mut Elements,
        keys: &[ast::ForeignKey],
        name: (&str, &str),
        options: &TableOptions,
    ) -> Result<Vec<IndexDef>> {
        let columns = &mut elements.columns;
        if columns.iter().all(|c| c.invisible) {
            return Err(Error::new(&ER_TABLE_MUST_HAVE_A_VISIBLE_COLUMN, &[]));
        }
        if columns.len() > TABLE_COLUMNS_MAX {
            return Err(Error::new(&ER_TOO_MANY_FIELDS, &[]));
        }
        check_row_size(columns)?;
        let mut indexes = Vec::new();
        for index in &elements.indexes {
            add_index(index, columns, &mut indexes, options, self.session)?;
        }
        let mut places = Vec::new();
        for (key, index) in foreign_keys::missing_indexes(keys, columns, &indexes)? {
            add_index(&index, columns, &mut indexes, options, self.session)?;
            if let Some(index) = indexes.last_mut() {
                index.generated = true;
            }
            places.push(elements.key_places.get(key).copied().unwrap_or(usize::MAX));
        }
        foreign_keys::place_generated(&mut indexes, places);
        warn_of_duplicates(&indexes, 0, name, self.session);
        let null_given: Vec<usize> =
            elements.null_given.iter().filter_map(|name| columns.iter().position(|c| c.name == *name)).collect();
        require_not_null(&indexes, columns, &null_given)?;
        full_text::check_row_number(columns, &indexes)?;
        sort_indexes(&mut indexes, columns);
        check_auto_increment(columns, &indexes, &options.engine)?;
        engines::check(&options.engine, columns, &indexes)?;
        // Parts name columns by position until here.
        for (position, column) in columns.iter_mut().enumerate() {
            column.id = ColumnId(position as u16 + 1);
        }
        for part in indexes.iter_mut().flat_map(|i: &mut IndexDef| i.parts.iter_mut()) {
            part.column = ColumnId(part.column.0 + 1);
        }
        generated::keep_indexed(columns, &indexes)?;
        Ok(indexes)
    }
}

/// Columns of CREATE TABLE … SELECT: declared ones first, then those of the query, which keep the declaration
/// of a column with their name.
fn merge_selected(columns: &mut Vec<ColumnDef>, selected: Vec<ColumnDef>) -> Result<()> {
    let mut last: Vec<ColumnDef> = Vec::with_capacity(selected.len());
    for column in selected {
        let name = column.name.to_lowercase();
        if last.iter().any(|c| c.name.to_lowercase() == name) {
            return Err(Error::new(&ER_DUP_FIELDNAME, &[&column.name]));
        }
        let declared = columns.iter().position(|c| c.name.to_lowercase() == name);
        last.push(declared.map_or(column, |at| columns.remove(at)));
    }
    columns.append(&mut last);
    Ok(())
}

/// Error 1118 if a row, without the contents of TEXT and BLOB columns, may be longer than MySQL's limit.
pub fn check_row_size(columns: &[ColumnDef]) -> Result<()> {
    let nulls = columns.iter().filter(|c| c.nullable).count().div_ceil(8);
    let bytes: usize = columns.iter().map(|c| column_bytes(&c.ty)).sum();
    if nulls + bytes > ROW_BYTES_MAX {
        return Err(Error::new(&ER_TOO_BIG_ROWSIZE, &[&ROW_BYTES_MAX]));
    }
    Ok(())
}

/// Bytes that a column takes in MySQL's row format (manual, "Data Type Storage Requirements").
pub(super) fn column_bytes(ty: &ColumnType) -> usize {
    let char_bytes = if ty.is_text() { usize::from(charset(ty.collation).mbmaxlen) } else { 1 };
    let length = ty.length as usize;
    match ty.kind {
        TypeKind::Char | TypeKind::Binary => length * char_bytes,
        TypeKind::VarChar | TypeKind::VarBinary => {
            let bytes = length * char_bytes;
            bytes + if bytes > 255 { 2 } else { 1 }
        }
        TypeKind::TinyText | TypeKind::TinyBlob => 9,
        TypeKind::Text | TypeKind::Blob => 10,
        TypeKind::MediumText | TypeKind::MediumBlob => 11,
        TypeKind::LongText | TypeKind::LongBlob | TypeKind::Json | TypeKind::Geometry | TypeKind::Vector => 12,
        TypeKind::TinyInt | TypeKind::Year | TypeKind::Null => 1,
        TypeKind::SmallInt | TypeKind::Enum => 2,
        TypeKind::MediumInt | TypeKind::Date | TypeKind::Time => 3,
        TypeKind::Int | TypeKind::Float | TypeKind::Timestamp => 4,
        TypeKind::Decimal => length.div_ceil(2),
        TypeKind::Bit => length.div_ceil(8),
        _ => 8,
    }
}

/// CHARACTER SET or COLLATE was written at the column.
pub fn collation_given(column: &ast::ColumnDef) -> bool {
    column.ty.charset.is_some() || column.attributes.iter().any(|a| matches!(a, ColumnAttribute::Collate(_)))
}

/// Whether the statement has the form that SHOW CREATE TABLE prints. There, a COLLATE without CHARACTER SET stands at a
/// column that follows its table. MySQL takes it for the column's own and prints the table otherwise than it was dumped;
/// here a dump that is loaded and dumped again stays as it was.
fn is_as_shown(create: &ast::CreateTable) -> bool {
    let has = |wanted: fn(&TableOption) -> bool| create.options.iter().any(wanted);
    has(|o| matches!(o, TableOption::Engine(_)))
        && has(|o| matches!(o, TableOption::Charset(_)))
        && has(|o| matches!(o, TableOption::Collate(_)))
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

/// At most one AUTO_INCREMENT column, and it leads an index, or with MyISAM is in one. Index parts are positions here.
pub fn check_auto_increment(columns: &[ColumnDef], indexes: &[IndexDef], engine: &str) -> Result<()> {
    let mut automatic = columns.iter().enumerate().filter(|(_, c)| c.auto_increment);
    let Some((position, _)) = automatic.next() else { return Ok(()) };
    let parts_looked_at = if engine.eq_ignore_ascii_case("MyISAM") { usize::MAX } else { 1 };
    let has_place =
        |index: &IndexDef| index.parts.iter().take(parts_looked_at).any(|part| usize::from(part.column.0) == position);
    if automatic.next().is_some() || !indexes.iter().any(has_place) {
        return Err(Error::new(&ER_WRONG_AUTO_KEY, &[]));
    }
    Ok(())
}
