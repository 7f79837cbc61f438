//! The actions of an ALTER TABLE, applied to a copy of the definition.
//!
//! What is dropped goes first, then the other actions in their order; MODIFY, CHANGE and RENAME COLUMN name
//! columns as they were before the statement, so two columns can swap their names. Indexes come last, because
//! they name columns as they are after it: `finish` turns the parts of the kept ones into positions, checks
//! them against the new columns, adds the new ones and turns positions into ids again.

use vaquita_parser::ast::{self, AlterAction, AlterColumn, ColumnAttribute, ColumnPosition};
use vaquita_types::charset::{CollationId, charset, collation};
use vaquita_types::errno::{
    ER_BAD_DB_ERROR, ER_BAD_FIELD_ERROR, ER_CANT_DROP_FIELD_OR_KEY, ER_CANT_REMOVE_ALL_FIELDS, ER_CHECK_CONSTRAINT_NOT_FOUND,
    ER_CONSTRAINT_NOT_FOUND, ER_DEPENDENT_BY_CHECK_CONSTRAINT, ER_DUP_FIELDNAME, ER_DUP_KEYNAME, ER_FK_CANNOT_CHANGE_ENGINE,
    ER_ILLEGAL_HA, ER_KEY_DOES_NOT_EXITS, ER_MULTIPLE_CONSTRAINTS_WITH_SAME_NAME, ER_PK_INDEX_CANT_BE_INVISIBLE,
    ER_TABLE_MUST_HAVE_A_VISIBLE_COLUMN, ER_TOO_BIG_FIELDLENGTH, ER_TOO_MANY_FIELDS, ER_WRONG_NAME_FOR_INDEX, ER_WRONG_USAGE,
};
use vaquita_types::limits::{ROW_BYTES_MAX, TABLE_COLUMNS_MAX};
use vaquita_types::schema::{ColumnDef, ColumnDefault, ColumnId, IndexDef, IndexId, IndexKind, TableDef};
use vaquita_types::{Error, Result, TypeKind, Value};

use super::checks::{last_generated_check, use_column_names};
use super::create::{attribute_indexes, check_auto_increment, check_row_size, collation_given};
use super::indexes::{KeyLimit, add_index, check_parts, replaced_prefix, require_not_null, sort_indexes, warn_of_duplicates};
use super::primary_key::check_rename;
use super::{Ddl, check_identifier, engines, foreign_keys, full_text, generated, indexes, options, spatial};
use vaquita_plan::data_type::{check_charset, choose_collation, meant_collate};

pub(super) struct Edit<'a> {
    ddl: &'a Ddl<'a>,
    old: &'a TableDef,
    pub def: TableDef,
    new_indexes: Vec<ast::IndexDef>,
    new_keys: Vec<ast::ForeignKey>,
    /// How many of the new indexes stand before each new key.
    key_places: Vec<usize>,
    /// Columns declared NULL by this statement.
    null_given: Vec<ColumnId>,
    /// Dropped columns in whose place in the indexes an added one of the same name comes.
    replaced: Vec<(String, ColumnId)>,
    /// The number of the last constraint that was named after the table.
    generated_checks: u64,
    /// The AUTO_INCREMENT option.
    pub auto_increment: Option<u64>,
}

impl<'a> Edit<'a> {
    pub fn new(ddl: &'a Ddl<'a>, old: &'a TableDef) -> Edit<'a> {
        let generated_checks = last_generated_check(old);
        let (new_indexes, null_given) = (Vec::new(), Vec::new());
        let (new_keys, key_places) = (Vec::new(), Vec::new());
        let (def, replaced, auto_increment) = (old.clone(), Vec::new(), None);
        Edit { ddl, old, def, new_indexes, new_keys, key_places, null_given, replaced, generated_checks, auto_increment }
    }

    pub fn apply(&mut self, actions: &[AlterAction]) -> Result<()> {
        for action in actions {
            if let AlterAction::DropForeignKey(name) = action
                && !self.drop_foreign_key(name)
            {
                return Err(Error::new(&ER_CANT_DROP_FIELD_OR_KEY, &[name]));
            }
        }
        for action in actions {
            self.drop(action, actions)?;
        }
        self.check_once(actions)?;
        // COLLATE and CHARACTER SET say one thing, also where a comma stands between them.
        let options = actions.iter().filter_map(|action| if let AlterAction::Options(list) = action { Some(list) } else { None });
        let options: Vec<ast::TableOption> = options.flatten().cloned().collect();
        if !options.is_empty() {
            self.options(&options)?;
        }
        let conversion = self.conversion(actions)?;
        // Added columns without a charset of their own have that of the table.
        self.def.collation = conversion.unwrap_or(self.def.collation);
        for action in actions {
            self.change(action)?;
        }
        if let Some(to) = conversion {
            self.convert_charset(to)?;
        }
        for action in actions {
            if let AlterAction::RenameIndex { new, .. } = action
                && self.def.indexes.iter().filter(|index| index.name.eq_ignore_ascii_case(new)).count() > 1
            {
                return Err(Error::new(&ER_DUP_KEYNAME, &[new]));
            }
        }
        self.finish()
    }

    fn drop(&mut self, action: &AlterAction, all: &[AlterAction]) -> Result<()> {
        match action {
            AlterAction::DropColumn(name) => {
                let adds = |action: &AlterAction| matches!(action, AlterAction::AddColumn { column, .. } if column.name.eq_ignore_ascii_case(name));
                self.drop_column(name, all.iter().any(adds))
            }
            AlterAction::DropIndex(name) => self.drop_index(name),
            AlterAction::DropPrimaryKey => self.drop_index("PRIMARY"),
            AlterAction::DropCheck(name) => match self.drop_check(name) {
                true => Ok(()),
                false => Err(Error::new(&ER_CHECK_CONSTRAINT_NOT_FOUND, &[name])),
            },
            AlterAction::DropConstraint(name) => {
                let is_key = self.def.indexes.iter().any(|index| foreign_keys::is_key_constraint(index, name));
                let is_check = self.def.options.checks.iter().any(|check| check.name.eq_ignore_ascii_case(name));
                let is_foreign = self.def.foreign_keys.iter().any(|key| key.name.eq_ignore_ascii_case(name));
                if [is_key, is_check, is_foreign].iter().filter(|is| **is).count() > 1 {
                    return Err(Error::new(&ER_MULTIPLE_CONSTRAINTS_WITH_SAME_NAME, &[name, &"DROP"]));
                }
                if self.drop_check(name) || self.drop_foreign_key(name) {
                    return Ok(());
                }
                if is_key { self.drop_index(name) } else { Err(Error::new(&ER_CONSTRAINT_NOT_FOUND, &[name])) }
            }
            _ => Ok(()),
        }
    }

    fn drop_column(&mut self, name: &str, replaced: bool) -> Result<()> {
        let Some(at) = self.def.column_position(name) else {
            return Err(Error::new(&ER_CANT_DROP_FIELD_OR_KEY, &[&name]));
        };
        let id = self.def.columns[at].id;
        if self.old.has_foreign_keys() {
            self.ddl.check_dropped_column(self.old, &self.def, id, name)?;
        }
        self.def.columns.remove(at);
        if replaced {
            self.replaced.push((name.to_string(), id));
        }
        for index in &mut self.def.indexes {
            if index.parts.iter().any(|p| p.column == id) {
                index.parts.retain(|p| replaced || p.column != id);
                index.id = IndexId(0);
            }
        }
        let hidden = self.old.hidden_rowid;
        let mut first = true;
        self.def.indexes.retain(|i| !i.parts.is_empty() || std::mem::take(&mut first) && hidden && i.kind == IndexKind::Primary);
        self.def.options.collations_given.retain(|c| *c != id);
        self.leave_checks(name)
    }

    /// A constraint on this column alone goes with it; one that has other columns too is in the way.
    fn leave_checks(&mut self, column: &str) -> Result<()> {
        let uses = |text: &str, name: &str| text.contains(&format!("`{}`", name.replace('`', "``")));
        let columns = &self.def.columns;
        let shared = self
            .def
            .options
            .checks
            .iter()
            .filter(|c| uses(&c.expr, column) && columns.iter().any(|other| uses(&c.expr, &other.name)))
            .min_by_key(|c| &c.name);
        if let Some(check) = shared {
            return Err(Error::new(&ER_DEPENDENT_BY_CHECK_CONSTRAINT, &[&check.name, &column]));
        }
        self.def.options.checks.retain(|c| !uses(&c.expr, column));
        Ok(())
    }

    fn drop_index(&mut self, name: &str) -> Result<()> {
        indexes::drop_index(name, self.old, &mut self.def)
    }

    fn drop_check(&mut self, name: &str) -> bool {
        let before = self.def.options.checks.len();
        self.def.options.checks.retain(|c| !c.name.eq_ignore_ascii_case(name));
        self.def.options.checks.len() < before
    }

    fn drop_foreign_key(&mut self, name: &str) -> bool {
        let before = self.def.foreign_keys.len();
        self.def.foreign_keys.retain(|key| !key.name.eq_ignore_ascii_case(name));
        self.def.foreign_keys.len() < before
    }

    fn options(&mut self, list: &[ast::TableOption]) -> Result<()> {
        let given = options::apply(list, &mut self.def.options, (&self.def.name, false), self.ddl.session)?;
        self.def.collation = given.collation(self.def.collation, self.ddl.session.utf8mb4_collation())?;
        self.auto_increment = given.auto_increment.or(self.auto_increment);
        Ok(())
    }

    fn change(&mut self, action: &AlterAction) -> Result<()> {
        match action {
            AlterAction::AddColumn { column, position } => self.add_column(column, position),
            AlterAction::ModifyColumn { column, position } => self.redefine(&column.name, column, position),
            AlterAction::ChangeColumn { old, column, position } => self.redefine(old, column, position),
            AlterAction::AlterColumn { name, change } => self.alter_column(name, change),
            AlterAction::RenameColumn { old, new } => self.rename_column(old, new),
            AlterAction::AddIndex(index) => {
                self.new_indexes.push(index.clone());
                Ok(())
            }
            AlterAction::AlterIndexVisible { name, visible } => self.index_visible(name, *visible),
            AlterAction::RenameIndex { old, new } => self.rename_index(old, new),
            AlterAction::RenameTo(to) => {
                check_identifier(&to.name)?;
                self.def.database = self.ddl.database_of(to)?.to_string();
                self.def.name = to.name.clone();
                Ok(())
            }
            AlterAction::AddCheck(check) => self.ddl.add_check(check, None, &mut self.def, &mut self.generated_checks),
            AlterAction::AlterCheck { name, enforced } | AlterAction::AlterConstraint { name, enforced } => {
                let check = self.def.options.checks.iter_mut().find(|c| c.name.eq_ignore_ascii_case(name));
                check.ok_or_else(|| Error::new(&ER_CHECK_CONSTRAINT_NOT_FOUND, &[name]))?.enforced = *enforced;
                Ok(())
            }
            AlterAction::AddForeignKey(key) => {
                self.new_keys.push(key.clone());
                self.key_places.push(self.new_indexes.len());
                Ok(())
            }
            // The statement's whole definition is divided behind all others (`alter`, `alter_partitions`).
            AlterAction::PartitionBy(_) | AlterAction::Partition(_) => Ok(()),
            AlterAction::DiscardTablespace | AlterAction::ImportTablespace if self.old.options.engine != "InnoDB" => {
                Err(Error::new(&ER_ILLEGAL_HA, &[&self.old.name]))
            }
            AlterAction::DiscardTablespace | AlterAction::ImportTablespace => Err(Error::unsupported("tablespaces")),
            AlterAction::SecondaryLoad | AlterAction::SecondaryUnload => Err(Error::unsupported("secondary engines")),
            // Rows stand in the order of the clustered key, and keys are always enabled.
            AlterAction::OrderBy(_) | AlterAction::EnableKeys | AlterAction::DisableKeys | AlterAction::Force => Ok(()),
            AlterAction::Options(_)
            | AlterAction::ConvertCharset { .. }
            | AlterAction::DropColumn(_)
            | AlterAction::DropIndex(_)
            | AlterAction::DropPrimaryKey
            | AlterAction::DropForeignKey(_)
            | AlterAction::DropCheck(_)
            | AlterAction::DropConstraint(_) => Ok(()),
        }
    }

    fn unknown_column(&self, name: &str) -> Error {
        Error::new(&ER_BAD_FIELD_ERROR, &[&name, &self.old.name])
    }

    /// Error 1054 for a column that two clauses change: the first one takes it away.
    fn check_once(&self, actions: &[AlterAction]) -> Result<()> {
        let mut seen: Vec<String> = Vec::new();
        for action in actions {
            let name = match action {
                AlterAction::ModifyColumn { column, .. } => &column.name,
                AlterAction::ChangeColumn { old: name, .. }
                | AlterAction::AlterColumn { name, .. }
                | AlterAction::RenameColumn { old: name, .. } => name,
                _ => continue,
            };
            if seen.contains(&name.to_lowercase()) {
                return Err(self.unknown_column(name));
            }
            seen.push(name.to_lowercase());
        }
        Ok(())
    }

    /// The place of a column that is named as before the statement.
    fn place_of(&self, name: &str) -> Result<usize> {
        let id = self.old.column_position(name).and_then(|at| self.old.columns.get(at)).map(|c| c.id);
        id.and_then(|id| self.def.position_of(id)).ok_or_else(|| self.unknown_column(name))
    }

    fn insert(&mut self, column: ColumnDef, position: &ColumnPosition, otherwise: usize) -> Result<()> {
        let at = match position {
            ColumnPosition::Last => otherwise,
            ColumnPosition::First => 0,
            ColumnPosition::After(name) => self.def.column_position(name).ok_or_else(|| self.unknown_column(name))? + 1,
        };
        self.def.columns.insert(at.min(self.def.columns.len()), column);
        Ok(())
    }

    fn add_column(&mut self, column: &ast::ColumnDef, position: &ColumnPosition) -> Result<()> {
        let id = self.def.next_column_id;
        self.def.next_column_id = ColumnId(id.0.checked_add(1).ok_or_else(|| Error::new(&ER_TOO_MANY_FIELDS, &[]))?);
        let mut new = self.ddl.column(column, self.def.collation)?;
        new.def.id = id;
        for (_, dropped) in self.replaced.iter().filter(|(name, _)| name.eq_ignore_ascii_case(&column.name)) {
            let Some(before) = self.old.columns.iter().find(|column| column.id == *dropped) else { continue };
            for part in self.def.indexes.iter_mut().flat_map(|index| &mut index.parts).filter(|part| part.column == *dropped) {
                part.prefix = replaced_prefix(&before.ty, part.prefix, &new.def.ty)?;
                part.column = id;
            }
        }
        self.note_attributes(column, &new, id);
        let last = self.def.columns.len();
        self.insert(new.def, position, last)?;
        self.add_checks(column)
    }

    /// MODIFY and CHANGE.
    fn redefine(&mut self, old: &str, column: &ast::ColumnDef, position: &ColumnPosition) -> Result<()> {
        let at = self.place_of(old)?;
        check_rename(&self.def, old, &column.name)?;
        let mut new = self.ddl.column(column, self.def.collation)?;
        let before = self.def.columns.remove(at);
        new.def.id = before.id;
        // Rows of layouts that do not have the column hold this still.
        new.def.added_default = before.added_default.clone();
        generated::check_redefinition(&before, &mut new.def)?;
        self.def.options.collations_given.retain(|c| *c != before.id);
        self.note_attributes(column, &new, before.id);
        self.insert(new.def, position, at)?;
        self.add_checks(column)
    }

    fn note_attributes(&mut self, column: &ast::ColumnDef, new: &super::columns::NewColumn, id: ColumnId) {
        if collation_given(column) {
            self.def.options.collations_given.push(id);
        }
        if new.null_given && new.def.nullable {
            self.null_given.push(id);
        }
        self.new_indexes.extend(attribute_indexes(new));
        self.new_keys.extend(foreign_keys::of_column(column));
        self.key_places.resize(self.new_keys.len(), self.new_indexes.len());
    }

    fn add_checks(&mut self, column: &ast::ColumnDef) -> Result<()> {
        for attribute in &column.attributes {
            if let ColumnAttribute::Check(check) = attribute {
                self.ddl.add_check(check, Some(&column.name), &mut self.def, &mut self.generated_checks)?;
            }
        }
        Ok(())
    }

    fn alter_column(&mut self, name: &str, change: &AlterColumn) -> Result<()> {
        let at = self.place_of(name)?;
        let Some(column) = self.def.columns.get_mut(at) else { return Err(self.unknown_column(name)) };
        match change {
            AlterColumn::SetDefault(_) if column.generated.is_some() => {
                return Err(Error::new(&ER_WRONG_USAGE, &[&"DEFAULT", &"generated column"]));
            }
            AlterColumn::SetDefault(default) => {
                self.ddl.default(default, column)?;
                if !column.nullable && matches!(column.default, ColumnDefault::Value(Value::Null)) {
                    return Err(Error::new(&vaquita_types::errno::ER_INVALID_DEFAULT, &[&column.name]));
                }
            }
            AlterColumn::DropDefault => column.default = ColumnDefault::None,
            AlterColumn::SetVisible(visible) => column.invisible = !visible,
        }
        Ok(())
    }

    fn rename_column(&mut self, old: &str, new: &str) -> Result<()> {
        let at = self.place_of(old)?;
        check_rename(&self.def, old, new)?;
        check_identifier(new).map_err(|_| Error::new(&vaquita_types::errno::ER_WRONG_COLUMN_NAME, &[&new]))?;
        let quoted = format!("`{}`", old.replace('`', "``"));
        if let Some(check) = self.def.options.checks.iter().filter(|c| c.expr.contains(&quoted)).min_by_key(|c| &c.name) {
            return Err(Error::new(&ER_DEPENDENT_BY_CHECK_CONSTRAINT, &[&check.name, &old]));
        }
        if let Some(column) = self.def.columns.get_mut(at) {
            column.name = new.to_string();
        }
        Ok(())
    }

    fn index_mut(&mut self, name: &str) -> Result<&mut IndexDef> {
        let table = &self.old.name;
        let found = self.def.indexes.iter_mut().find(|i| !i.parts.is_empty() && i.name.eq_ignore_ascii_case(name));
        found.ok_or_else(|| Error::new(&ER_KEY_DOES_NOT_EXITS, &[&name, table]))
    }

    fn index_visible(&mut self, name: &str, visible: bool) -> Result<()> {
        let index = self.index_mut(name)?;
        if index.kind == IndexKind::Primary {
            return Err(Error::new(&ER_PK_INDEX_CANT_BE_INVISIBLE, &[]));
        }
        index.invisible = !visible;
        Ok(())
    }

    fn rename_index(&mut self, old: &str, new: &str) -> Result<()> {
        if let Some(name) = [old, new].into_iter().find(|n| n.eq_ignore_ascii_case("PRIMARY")) {
            return Err(Error::new(&ER_WRONG_NAME_FOR_INDEX, &[&name]));
        }
        super::check_length(new)?;
        // Several indexes are renamed at once: names are those before the statement.
        let was_it = |index: &&IndexDef| !index.parts.is_empty() && index.name.eq_ignore_ascii_case(old);
        let id = self.old.indexes.iter().find(was_it).map(|index| index.id);
        let is_it =
            |index: &&mut IndexDef| Some(index.id) == id || index.id == IndexId(0) && index.name.eq_ignore_ascii_case(old);
        let index = self.def.indexes.iter_mut().find(is_it);
        let index = index.ok_or_else(|| Error::new(&ER_KEY_DOES_NOT_EXITS, &[&old, &self.old.name]))?;
        index.name = new.to_string();
        Ok(())
    }

    /// What CONVERT TO converts to; error 1302 if another clause names another charset.
    fn conversion(&self, actions: &[AlterAction]) -> Result<Option<CollationId>> {
        let (mut seen, mut found) = (None, None);
        for action in actions {
            match action {
                AlterAction::Options(list) => {
                    for option in list {
                        let ast::TableOption::Charset(name) = option else { continue };
                        check_charset(seen, None, name)?;
                        seen = Some(name.as_str());
                    }
                }
                AlterAction::ConvertCharset { charset, collate } => {
                    if let Some(name) = charset.as_deref() {
                        check_charset(seen, None, name)?;
                        seen = Some(name);
                    }
                    found = Some(self.conversion_target(charset.as_deref(), collate.as_deref())?);
                }
                _ => {}
            }
        }
        Ok(found)
    }

    fn conversion_target(&self, charset: Option<&str>, collate: Option<&str>) -> Result<CollationId> {
        let database = &self.def.database;
        let parent = self.ddl.catalog.database(database)?.ok_or_else(|| Error::new(&ER_BAD_DB_ERROR, &[database]))?;
        let collate = meant_collate(charset, collate, self.ddl.session.utf8mb4_collation());
        let to = choose_collation(charset, collate, parent.collation)?;
        if to == CollationId::BINARY {
            return Err(Error::unsupported("CONVERT TO CHARACTER SET binary"));
        }
        Ok(to)
    }

    fn convert_charset(&mut self, to: CollationId) -> Result<()> {
        self.def.options.collations_given.clear();
        for column in &mut self.def.columns {
            convert_column(column, to, self.old.position_of(column.id).is_some())?;
        }
        Ok(())
    }

    /// Checks what depends on all columns and puts the indexes together.
    fn finish(&mut self) -> Result<()> {
        self.ddl.settle_hidden(self.old, &mut self.def)?;
        self.ddl.add_functional_columns(&mut self.new_indexes, &mut self.def)?;
        self.check_columns()?;
        let hidden = match self.def.indexes.first() {
            Some(first) if first.parts.is_empty() => Some(self.def.indexes.remove(0)),
            _ => None,
        };
        let mut indexes = std::mem::take(&mut self.def.indexes);
        for index in &mut indexes {
            spatial::check_srid(index, self.old, &self.def)?;
            for part in &mut index.parts {
                part.column = ColumnId(self.def.position_of(part.column).unwrap_or(usize::from(u16::MAX)) as u16);
            }
            check_parts(index, &self.def.columns, &KeyLimit { options: &self.def.options, session: self.ddl.session })?;
        }
        for index in &self.new_indexes {
            add_index(index, &self.def.columns, &mut indexes, &self.def.options, self.ddl.session)?;
        }
        let kept = indexes.len() - self.new_indexes.len();
        if foreign_keys::keeps_keys(&self.old.options.engine) != foreign_keys::keeps_keys(&self.def.options.engine)
            && self.old.has_foreign_keys()
        {
            return Err(Error::new(&ER_FK_CANNOT_CHANGE_ENGINE, &[]));
        }
        let missing = foreign_keys::missing_indexes(&self.new_keys, &self.def.columns, &indexes)?;
        let before = indexes.len();
        foreign_keys::drop_useless(&mut indexes, &missing, &self.def.columns);
        let kept = kept.saturating_sub(before - indexes.len());
        let mut places = Vec::new();
        for (key, index) in missing {
            add_index(&index, &self.def.columns, &mut indexes, &self.def.options, self.ddl.session)?;
            if let Some(index) = indexes.last_mut() {
                index.generated = true;
            }
            places.push(self.key_places.get(key).map_or(usize::MAX, |place| kept + place));
        }
        foreign_keys::place_generated(&mut indexes, places);
        warn_of_duplicates(&indexes, kept, (&self.def.database, &self.def.name), self.ddl.session);
        let null_given: Vec<usize> = self.null_given.iter().filter_map(|id| self.def.position_of(*id)).collect();
        require_not_null(&indexes, &mut self.def.columns, &null_given)?;
        self.fill_added_columns()?;
        full_text::check_row_number(&self.def.columns, &indexes)?;
        sort_indexes(&mut indexes, &self.def.columns);
        check_auto_increment(&self.def.columns, &indexes, &self.def.options.engine)?;
        engines::check(&self.def.options.engine, &self.def.columns, &indexes)?;
        for part in indexes.iter_mut().flat_map(|i| i.parts.iter_mut()) {
            part.column = self.def.columns.get(usize::from(part.column.0)).map_or(ColumnId(0), |c| c.id);
        }
        self.def.hidden_rowid = indexes.iter().all(|i| i.kind != IndexKind::Primary);
        if self.def.hidden_rowid {
            indexes.insert(0, hidden.unwrap_or_else(hidden_index));
        }
        generated::keep_indexed(&mut self.def.columns, &indexes)?;
        generated::check_needed(self.old, &self.def)?;
        self.def.indexes = indexes;
        if foreign_keys::keeps_keys(&self.def.options.engine) {
            let used = foreign_keys::numbers_used(self.old);
            self.ddl.add_foreign_keys(&self.new_keys, &mut self.def, used)?;
        }
        self.def.foreign_keys.iter().try_for_each(|key| foreign_keys::check_checks(&self.def, key))?;
        self.def.foreign_keys.iter().try_for_each(|key| generated::check_bases(&self.def, key))?;
        use_column_names(&mut self.def, Some(self.old));
        if self.ddl.catalog.temporary(&self.old.database, &self.old.name).is_none() {
            self.ddl.check_names_free(&self.def, Some(self.old))?;
        }
        self.ddl.check_expressions(&self.def, Some(self.old))
    }

    /// What the rows that are there have in the added columns, now that it is known which a PRIMARY KEY makes NOT NULL.
    fn fill_added_columns(&mut self) -> Result<()> {
        let (ddl, old) = (self.ddl, self.old);
        for column in self.def.columns.iter_mut().filter(|column| old.position_of(column.id).is_none()) {
            column.added_default = if column.generated.is_some() { Value::Null } else { ddl.added_default(column)? };
        }
        Ok(())
    }

    fn check_columns(&self) -> Result<()> {
        if self.def.columns.is_empty() {
            return Err(Error::new(&ER_CANT_REMOVE_ALL_FIELDS, &[]));
        }
        if self.def.columns.len() > TABLE_COLUMNS_MAX {
            return Err(Error::new(&ER_TOO_MANY_FIELDS, &[]));
        }
        if self.def.columns.iter().all(|c| c.invisible) {
            return Err(Error::new(&ER_TABLE_MUST_HAVE_A_VISIBLE_COLUMN, &[]));
        }
        check_row_size(&self.def.columns)?;
        for (n, column) in self.def.columns.iter().enumerate() {
            let name = column.name.to_lowercase();
            if self.def.columns.iter().take(n).any(|c| c.name.to_lowercase() == name) {
                return Err(Error::new(&ER_DUP_FIELDNAME, &[&column.name]));
            }
        }
        Ok(())
    }
}

/// The clustered index of a table that loses its PRIMARY KEY.
fn hidden_index() -> IndexDef {
    IndexDef {
        id: IndexId(0),
        name: "GEN_CLUST_INDEX".to_string(),
        kind: IndexKind::Primary,
        parts: Vec::new(),
        comment: String::new(),
        invisible: false,
        using: None,
        generated: false,
        multi_valued: false,
        parser: Default::default(),
    }
}

/// CONVERT TO CHARACTER SET for one column. The TEXT types of columns that have values `grow` if the same characters need more bytes.
fn convert_column(column: &mut ColumnDef, to: CollationId, grows: bool) -> Result<()> {
    let from = column.ty.collation;
    let is_labelled = matches!(column.ty.kind, TypeKind::Enum | TypeKind::Set);
    if !(column.ty.is_text() || is_labelled && from != CollationId::BINARY) {
        return Ok(());
    }
    let (before, after) = (charset(from), charset(to));
    let convert = |bytes: &[u8]| -> Box<[u8]> { before.convert(after, bytes).bytes.into_owned().into() };
    let chars_max = ROW_BYTES_MAX as u64 / u64::from(after.mbmaxlen);
    if column.ty.kind == TypeKind::VarChar && u64::from(column.ty.length) > chars_max {
        return Err(Error::new(&ER_TOO_BIG_FIELDLENGTH, &[&column.name, &chars_max]));
    }
    if grows && after.mbmaxlen > before.mbmaxlen {
        (column.ty.kind, column.ty.length) = match column.ty.kind {
            TypeKind::TinyText => (TypeKind::Text, 65_535),
            TypeKind::Text => (TypeKind::MediumText, 16_777_215),
            TypeKind::MediumText => (TypeKind::LongText, u32::MAX),
            kind => (kind, column.ty.length),
        };
    }
    if let Some(members) = &column.ty.members {
        let converted: Vec<Box<[u8]>> = members.iter().map(|label| convert(label)).collect();
        column.ty.members = Some(converted.into());
    }
    if let ColumnDefault::Value(Value::Bytes(bytes)) = &mut column.default {
        *bytes = convert(bytes);
    }
    column.ty.collation = collation(to).id;
    Ok(())
}
