//! Foreign keys of rows that change: children find their parent, and parents their children.
//!
//! | change | before the row is written | after it |
//! |---|---|---|
//! | a child comes, or gets another parent | an S lock on the parent's key, which must be there in its latest version (1452) | |
//! | a parent goes, or gets another key | an X lock on its key; a child is in the way (1451) | children are deleted, changed or set NULL, each by this module again |
//!
//! These are locks of the *key*, beside those of rows: an update of other columns of the parent is in nobody's way. A key that was found is
//! looked for once a statement. Nothing here asks the statement's snapshot (ISO-10), but for children that change: they are rows that a
//! statement changes (ISO-3).
//!
//! Where the binary log is told, and with `enable_cascade_triggers`, the row at which a cascade begins is written last, and a cascade that comes back
//! to a row that it has gone through passes it by. With that variable the triggers of the children's tables run, BEFORE and AFTER each row, which
//! find the row as it was.
//!
//! Example: `DELETE FROM p WHERE id = 1` with a child `c` ON DELETE CASCADE locks the key 1 of p (X), waits for whoever inserts a child of it,
//! deletes the row, then scans c's index for 1, and locks and deletes each row there as `DELETE FROM c` would.

use vaquita_storage::{
    Cursor, Direction, Duplicate, Entry, IndexCodec, KeyRange, LockMode, Locked, ScanOptions, Table, Version, Written,
    reference_lock,
};
use vaquita_types::charset::{CollationId, charset, collation};
use vaquita_types::errno::{
    ER_FK_DEPTH_EXCEEDED, ER_FOREIGN_DUPLICATE_KEY_WITH_CHILD_INFO, ER_NO_REFERENCED_ROW_2, ER_ROW_IS_REFERENCED_2, ErrorDef,
};
use vaquita_types::limits::FOREIGN_KEY_DEPTH_MAX;
use vaquita_types::schema::{ColumnDef, ForeignKeyDef, QualifiedName, ReferentialAction, TableDef, TableId};
use vaquita_types::{ColumnType, Error, Result, TypeKind, Value};

use super::TableChange;
use super::stored::StoredRows;
use super::values::RowBuilder;
use crate::context::{Execution, Links, Parent, ToChild, collations_at};

/// The rows that a cascade has gone through.
pub(super) struct Chain<'c> {
    before: Option<&'c Chain<'c>>,
    table: TableId,
    /// The clustered key of the row.
    row: &'c [u8],
    /// The foreign key that led here, whose parent is written behind its children.
    key_of_parent_to_come: Option<usize>,
    depth: usize,
}

impl<'c> Chain<'c> {
    pub fn root(table: TableId, row: &'c [u8]) -> Chain<'c> {
        Chain { before: None, table, row, key_of_parent_to_come: None, depth: 0 }
    }

    fn to(&'c self, table: TableId, row: &'c [u8], key_of_parent_to_come: Option<usize>) -> Chain<'c> {
        Chain { before: Some(self), table, row, key_of_parent_to_come, depth: self.depth + 1 }
    }

    pub fn is_root(&self) -> bool {
        self.before.is_none()
    }

    pub fn key_of_parent_to_come(&self) -> Option<usize> {
        self.key_of_parent_to_come
    }

    fn has(&self, table: TableId) -> bool {
        self.table == table || self.before.is_some_and(|before| before.has(table))
    }

    fn has_row(&self, table: TableId, row: &[u8]) -> bool {
        self.table == table && self.row == row || self.before.is_some_and(|before| before.has_row(table, row))
    }
}

/// Whether it is a foreign key that fails, which IGNORE makes a warning.
pub(crate) fn is_key_error(error: &Error) -> bool {
    error.is(&ER_NO_REFERENCED_ROW_2) || error.is(&ER_ROW_IS_REFERENCED_2)
}

pub(super) fn no_index() -> Error {
    Error::internal("a foreign key without its index")
}

impl Parent {
    fn exists(&self, statement: &Execution<'_>, key: &[u8]) -> Result<bool> {
        let txn = statement.txn.borrow();
        if self.unique {
            return txn.exists(key, Version::Latest);
        }
        let mut cursor = txn.scan(KeyRange::prefix(key), Direction::Forward, latest())?;
        Ok(cursor.next(&txn)?.is_some())
    }

    /// Waits for whoever is inserting the row.
    fn wait_for(&self, statement: &Execution<'_>, key: &[u8]) -> Result<()> {
        let mut txn = statement.txn.borrow_mut();
        if !self.unique {
            return txn.lock_range(&KeyRange::prefix(key), statement.lock_wait());
        }
        txn.lock_key(key, LockMode::S, statement.lock_wait()).map(drop)
    }
}

fn latest() -> ScanOptions {
    ScanOptions { version: Version::Latest, ..ScanOptions::default() }
}

/// The key of the columns' values in an index that they lead; `None`: no row can have them. `collations` are those that the values have now.
pub(super) fn key_of(
    table: &Table,
    index: usize,
    columns: &[usize],
    values: &[&Value],
    collations: &[CollationId],
) -> Result<Option<Vec<u8>>> {
    let Some(codec) = table.codec.indexes().get(index) else { return Err(no_index()) };
    let held = |((column, value), from): ((&usize, &&Value), &CollationId)| {
        let ty = &table.def.columns.get(*column)?.ty;
        if fits(value, ty) { in_charset(value, *from, ty) } else { None }
    };
    let Some(values) = columns.iter().zip(values).zip(collations).map(held).collect::<Option<Vec<Value>>>() else {
        return Ok(None);
    };
    let mut key = Vec::new();
    // A number that the other type cannot hold.
    Ok(codec.encode_values(&values, &mut key).is_ok().then_some(key))
}

/// A text as a column of the type has it; `None` if its charset lacks a character.
fn in_charset(value: &Value, from: CollationId, ty: &ColumnType) -> Option<Value> {
    let (from, to) = (charset(from), charset(ty.collation));
    match value {
        Value::Bytes(bytes) if ty.is_text() && !std::ptr::eq(from, to) => {
            let converted = from.convert(to, bytes);
            (converted.replaced == 0).then(|| Value::bytes(&converted.bytes))
        }
        other => Some(other.clone()),
    }
}

/// The type has this value without losing any of it.
fn fits(value: &Value, ty: &ColumnType) -> bool {
    let unit = 10i64.pow(6 - u32::from(ty.decimals.min(6)));
    match value {
        Value::DateTime(time) => i64::from(time.micros()) % unit == 0,
        Value::Time(time) => time.micros_total() % unit == 0,
        Value::Bytes(bytes) if ty.kind == TypeKind::Binary => bytes.len() == ty.length as usize,
        _ => true,
    }
}

/// The values of these columns; `None` if one is NULL, which refers to nothing.
pub(super) fn values<'r>(row: &'r [Value], columns: &[usize]) -> Option<Vec<&'r Value>> {
    columns.iter().map(|column| row.get(*column).filter(|value| !value.is_null())).collect()
}

fn same(a: &[Value], b: &[Value], columns: &[usize]) -> bool {
    columns.iter().all(|column| a.get(*column) == b.get(*column))
}

/// A new or changed row has its parents; `old` is what it was. The parent of the foreign key `to_come` is not there yet.
pub(super) fn check_parents(
    statement: &Execution<'_>,
    table: &Table,
    links: &Links,
    old: Option<&[Value]>,
    new: &[Value],
    to_come: Option<usize>,
) -> Result<()> {
    for to in links.parents.iter().filter(|to| Some(to.key) != to_come) {
        // MySQL lets no row with a parent be changed while the parent's table is not there.
        if to.parent.is_some() && old.is_some_and(|old| same(old, new, &to.columns)) {
            continue;
        }
        let Some(values) = values(new, &to.columns) else { continue };
        let missing = || error(statement, &ER_NO_REFERENCED_ROW_2, &table.def, to.key, &table.def.foreign_keys[to.key].parent);
        let Some(parent) = &to.parent else { return Err(missing()) };
        let Some(key) = key_of(&parent.table, parent.index, &parent.columns, &values, &to.collations)? else {
            return Err(missing());
        };
        let mut lock = Vec::with_capacity(key.len() + 4);
        reference_lock(&key, &mut lock);
        if statement.has_found_key(&lock) {
            continue;
        }
        statement.txn.borrow_mut().lock_key(&lock, LockMode::S, statement.lock_wait())?;
        if !parent.exists(statement, &key)? {
            if parent.table.def.id == table.def.id && is_own_parent(table, parent, new, &key)? {
                continue;
            }
            parent.wait_for(statement, &key)?;
            if !parent.exists(statement, &key)? {
                return Err(missing());
            }
        }
        statement.note_found_key(lock);
    }
    Ok(())
}

/// A row that is its own parent.
fn is_own_parent(table: &Table, parent: &Parent, new: &[Value], key: &[u8]) -> Result<bool> {
    let Some(own) = values(new, &parent.columns) else { return Ok(false) };
    Ok(key_of(table, parent.index, &parent.columns, &own, &collations_at(&table.def, &parent.columns))?
        .is_some_and(|own| own == key))
}

/// Before a row goes, or becomes `new`: locks the keys that it has and will not have, and finds children that are in the way.
pub(super) fn check_children(
    statement: &Execution<'_>,
    table: &Table,
    links: &Links,
    old: &[Value],
    new: Option<&[Value]>,
    chain: &Chain<'_>,
) -> Result<()> {
    for to in &links.children {
        let Some((values, parent_key)) = to.left_key(table, old, new)? else { continue };
        let mut lock = Vec::with_capacity(parent_key.len() + 4);
        reference_lock(&parent_key, &mut lock);
        statement.txn.borrow_mut().lock_key(&lock, LockMode::X, statement.lock_wait())?;
        statement.forget_found_key(&lock);
        if to.acts(new, chain).is_none() && to.has_child(statement, &values)? {
            return Err(to.in_the_way(statement));
        }
    }
    Ok(())
}

/// After a row has gone or become `new`: what its children become.
pub(super) fn cascade(
    statement: &Execution<'_>,
    table: &Table,
    links: &Links,
    old: &[Value],
    new: Option<&[Value]>,
    chain: &Chain<'_>,
) -> Result<()> {
    for to in &links.children {
        let Some(action) = to.acts(new, chain) else { continue };
        if to.left_key(table, old, new)?.is_none() {
            continue;
        }
        let Some(values) = values(old, &to.parent_columns) else { continue };
        to.change_children(statement, table, action, &values, new, chain)?;
    }
    Ok(())
}

/// Whether a cascade changes the row, or begins with it if it becomes `new` or goes.
pub(super) fn is_of_cascade(links: &Links, old: &[Value], new: Option<&[Value]>, chain: &Chain<'_>) -> bool {
    let leads_on = |to: &ToChild| {
        let is_left = new.is_none_or(|new| !same(old, new, &to.parent_columns)) && values(old, &to.parent_columns).is_some();
        is_left && to.acts(new, chain).is_some()
    };
    !chain.is_root() || links.children.iter().any(leads_on)
}

/// The rows of a child that a cascade changes, with its triggers (`enable_cascade_triggers`) or without.
#[allow(clippy::large_enum_variant)] // one is on the stack while a cascade goes on
enum ChildRows<'a> {
    Plain(StoredRows<'a>),
    Triggered(Box<TableChange<'a>>),
}

impl ChildRows<'_> {
    fn delete(&mut self, key: &[u8], row: &[Value], chain: &Chain<'_>) -> Result<()> {
        match self {
            ChildRows::Plain(rows) => rows.delete_within(key, row, chain),
            ChildRows::Triggered(change) => change.delete_in_cascade(key, row, chain),
        }
    }

    fn update(
        &mut self,
        key: &[u8],
        row: &[Value],
        changed: &[Value],
        (columns, chain): (&[usize], &Chain<'_>),
    ) -> Result<Written> {
        match self {
            ChildRows::Plain(rows) => rows.update_within(key, row, changed, chain),
            ChildRows::Triggered(change) => change.update_in_cascade(key, row, changed, (columns, chain)),
        }
    }
}

impl ToChild {
    fn key(&self) -> &ForeignKeyDef {
        &self.child.def.foreign_keys[self.key]
    }

    /// The values and the key that no row has any more once `old` is gone or `new`, if it refers to one.
    fn left_key<'r>(&self, table: &Table, old: &'r [Value], new: Option<&[Value]>) -> Result<Option<(Vec<&'r Value>, Vec<u8>)>> {
        if new.is_some_and(|new| same(old, new, &self.parent_columns)) {
            return Ok(None);
        }
        let Some(values) = values(old, &self.parent_columns) else { return Ok(None) };
        Ok(key_of(table, self.parent_index, &self.parent_columns, &values, &self.parent_collations)?.map(|key| (values, key)))
    }

    /// Error 1451.
    fn in_the_way(&self, statement: &Execution<'_>) -> Error {
        error(statement, &ER_ROW_IS_REFERENCED_2, &self.child.def, self.key, &self.child.def.qualified_name())
    }

    /// What children become; `None`: they are in the way. An update that comes back to a table of its own cascade would never end.
    fn acts(&self, new: Option<&[Value]>, chain: &Chain<'_>) -> Option<ReferentialAction> {
        let action = if new.is_some() { self.key().on_update } else { self.key().on_delete };
        let returns = new.is_some() && chain.has(self.child.def.id);
        (action.changes_children() && !returns).then_some(action)
    }

    /// Whether a child is there, or will be when others have ended.
    fn has_child(&self, statement: &Execution<'_>, values: &[&Value]) -> Result<bool> {
        let mut found = false;
        self.for_each_child(
            statement,
            values,
            AtOnce::One,
            |key| {
                statement.txn.borrow_mut().lock_key(key, LockMode::S, statement.lock_wait())?;
                Ok(())
            },
            |_, _| {
                found = true;
                Ok(false)
            },
        )?;
        Ok(found)
    }

    fn change_children(
        &self,
        statement: &Execution<'_>,
        parent: &Table,
        action: ReferentialAction,
        values: &[&Value],
        new: Option<&[Value]>,
        chain: &Chain<'_>,
    ) -> Result<()> {
        let child = self.child.def.id;
        let fires = statement.session.run_settings().cascade_triggers;
        // As `StoredRows` has it, which has begun the cascade.
        let children_first = fires || statement.row_log.is_some();
        let to_come = (children_first && chain.is_root()).then_some(self.key);
        let mut rows = match fires && !self.child.def.triggers.is_empty() {
            true => ChildRows::Triggered(Box::new(TableChange::new(statement, &self.child, None, false)?)),
            false => ChildRows::Plain(StoredRows::new(statement, &self.child)),
        };
        let taken = |duplicate: &Duplicate| self.taken(parent, new, duplicate);
        let lock = |key: &[u8]| {
            let locked = statement.txn.borrow_mut().lock_row(key, LockMode::X, statement.lock_wait())?;
            debug_assert!(locked != Locked::Skipped);
            Ok(())
        };
        // A trigger may write more children.
        let at_once = if matches!(rows, ChildRows::Plain(_)) { AtOnce::Many } else { AtOnce::One };
        self.for_each_child(statement, values, at_once, lock, |key, row| {
            statement.interrupt.check()?;
            // It is on the way to its own children, which stand before it.
            if children_first && chain.has_row(child, key) {
                return Ok(true);
            }
            let chain = chain.to(child, key, to_come);
            if chain.depth >= FOREIGN_KEY_DEPTH_MAX {
                return Err(Error::new(&ER_FK_DEPTH_EXCEEDED, &[&FOREIGN_KEY_DEPTH_MAX]));
            }
            match (action, new) {
                (ReferentialAction::Cascade, None) => rows.delete(key, &row, &chain)?,
                _ => {
                    let changed = self.changed(statement, action, &row, new)?;
                    match rows.update(key, &row, &changed, (&self.columns, &chain))? {
                        Written::Done | Written::Skipped => {}
                        Written::Duplicate(duplicate) => return Err(taken(&duplicate)),
                    }
                }
            }
            Ok(true)
        })
    }

    /// Error 1761: the parent's new key would make two children the same.
    fn taken(&self, parent: &Table, new: Option<&[Value]>, duplicate: &Duplicate) -> Error {
        let entry = parent.key_text(self.parent_index, new.unwrap_or_default());
        let index = self.child.def.indexes.get(duplicate.index).map_or("", |index| &index.name);
        let args: [&dyn std::fmt::Display; 4] = [&parent.def.name, &entry, &self.child.def.name, &index];
        Error::new(&ER_FOREIGN_DUPLICATE_KEY_WITH_CHILD_INFO, &args)
    }

    /// A child's row with other values of the key.
    fn changed(
        &self,
        statement: &Execution<'_>,
        action: ReferentialAction,
        row: &[Value],
        new: Option<&[Value]>,
    ) -> Result<Vec<Value>> {
        let mut changed = row.to_vec();
        for ((column, parent), collation) in self.columns.iter().zip(&self.parent_columns).zip(&self.parent_collations) {
            let value = match new.and_then(|new| new.get(*parent)) {
                Some(value) if action == ReferentialAction::Cascade => {
                    let child = self.child.def.columns.get(*column).ok_or_else(no_index)?;
                    let held = in_charset(value, *collation, &child.ty).and_then(|value| held_by(&value, child));
                    held.ok_or_else(|| self.in_the_way(statement))?
                }
                _ => Value::Null,
            };
            if let Some(place) = changed.get_mut(*column) {
                *place = value;
            }
        }
        if self.child.def.has_generated_columns() {
            RowBuilder::new(statement, &self.child.def, false).generate_stored(&mut changed, row)?;
        }
        Ok(changed)
    }

    /// Calls `f` with the clustered key and the row of each child in its latest version, after `lock` of its key, as long as it says true.
    fn for_each_child(
        &self,
        statement: &Execution<'_>,
        values: &[&Value],
        at_once: AtOnce,
        lock: impl Fn(&[u8]) -> Result<()>,
        mut f: impl FnMut(&[u8], Vec<Value>) -> Result<bool>,
    ) -> Result<()> {
        let Some(prefix) = key_of(&self.child, self.index, &self.columns, values, &self.parent_collations)? else {
            return Ok(());
        };
        let Some(codec) = self.child.codec.indexes().get(self.index) else { return Err(no_index()) };
        let mut cursor = statement.txn.borrow().scan(KeyRange::prefix(&prefix), Direction::Forward, latest())?;
        let own_collations = collations_at(&self.child.def, &self.columns);
        let (mut keys, mut stored) = (Vec::new(), Vec::new());
        'children: loop {
            at_once.read(statement, codec, &mut cursor, &mut keys)?;
            if keys.is_empty() {
                break;
            }
            for key in keys.drain(..) {
                lock(&key)?;
                // It may have gone, or got another parent, before we had the lock.
                if !statement.txn.borrow().get(&key, Version::Latest, &mut stored)? {
                    continue;
                }
                let row = self.child.codec.decode_row(&key, &stored)?;
                let Some(own) = self::values(&row, &self.columns) else { continue };
                if key_of(&self.child, self.index, &self.columns, &own, &own_collations)?.is_some_and(|own| own == prefix)
                    && !f(&key, row)?
                {
                    break 'children;
                }
            }
        }
        statement.txn.borrow().finish_scan(cursor);
        Ok(())
    }
}

/// How many keys of children are read before the first of them is changed.
#[derive(Clone, Copy)]
enum AtOnce {
    One,
    /// A scan that goes on in an index that is being changed finds the changes among what it reads, and must have them sorted.
    Many,
}

/// Of keys that are read at once.
const KEY_BYTES_AT_ONCE: usize = 1 << 20;

impl AtOnce {
    /// The clustered keys of the entries that come next.
    fn read(self, statement: &Execution<'_>, codec: &IndexCodec, cursor: &mut Cursor, keys: &mut Vec<Vec<u8>>) -> Result<()> {
        let txn = statement.txn.borrow();
        let mut bytes = 0;
        while let Some((key, value)) = cursor.next(&txn)? {
            let mut clustered = Vec::new();
            codec.clustered_key(Entry { key, value }, &mut clustered)?;
            bytes += clustered.len() + size_of::<Vec<u8>>();
            keys.push(clustered);
            if matches!(self, AtOnce::One) || bytes >= KEY_BYTES_AT_ONCE {
                break;
            }
        }
        Ok(())
    }
}

/// The value of a parent's column as a child's column holds it.
fn held_by(value: &Value, column: &ColumnDef) -> Option<Value> {
    match value {
        Value::Bytes(bytes) if column.ty.is_text() => {
            let bytes = if column.ty.kind == TypeKind::Char { bytes.trim_ascii_end() } else { bytes };
            let chars = collation(column.ty.collation).charset.char_count(bytes);
            (column.ty.is_blob() || chars <= column.ty.length as usize).then(|| Value::bytes(bytes))
        }
        Value::Bytes(bytes) => (column.ty.is_blob() || bytes.len() <= column.ty.length as usize).then(|| value.clone()),
        Value::Null => column.nullable.then_some(Value::Null),
        _ => fits(value, &column.ty).then(|| value.clone()),
    }
}

/// Error 1451 or 1452 with the constraint, for accounts that may know of `other`, the table at its other end.
fn error(statement: &Execution<'_>, def: &ErrorDef, child: &TableDef, key: usize, other: &QualifiedName) -> Error {
    let known = child.foreign_keys.get(key).filter(|_| statement.server.sees(&other.database, Some(&other.name)));
    Error::new(def, &[&known.map_or(String::new(), |key| constraint_text(child, key))])
}

/// Bytes of a constraint in an error message.
const CONSTRAINT_TEXT_BYTES_MAX: usize = 192;

/// `` (`d`.`c`, CONSTRAINT `k` FOREIGN KEY (`a`) REFERENCES `p` (`b`) ON DELETE CASCADE)``. MySQL's messages double no quotes in names and know
/// no SET DEFAULT.
pub(super) fn constraint_text(child: &TableDef, key: &ForeignKeyDef) -> String {
    let own = key.columns.iter().filter_map(|id| child.columns.get(child.position_of(*id)?)).map(|column| column.name.as_str());
    let own = own.collect::<Vec<_>>().join("`, `");
    let database = if key.parent.database == child.database { String::new() } else { format!("`{}`.", key.parent.database) };
    let mut text = format!(
        " (`{}`.`{}`, CONSTRAINT `{}` FOREIGN KEY (`{own}`) REFERENCES {database}`{}` (`{}`)",
        child.database,
        child.name,
        key.name,
        key.parent.name,
        key.parent_columns.join("`, `"),
    );
    for (event, action) in [("DELETE", key.on_delete), ("UPDATE", key.on_update)] {
        if !matches!(action, ReferentialAction::NoAction | ReferentialAction::SetDefault) {
            text.push_str(&format!(" ON {event} {}", action.name()));
        }
    }
    text.push(')');
    text.truncate(text.floor_char_boundary(CONSTRAINT_TEXT_BYTES_MAX));
    text
}
