//! What a statement does to which tables and columns: the list on which authorization decides.
//!
//! The binder notes every name here when it resolves it, for every expression of every statement, so that no second
//! walk can understand a name otherwise. `UPDATE t JOIN u USING (a) SET t.b = u.b` notes t (UPDATE on b, SELECT on a) and u (SELECT
//! on a and b). Names that turn out to mean nothing are noted too: an account may not learn what exists in tables that it cannot read.
//!
//! A plan's list is made once, with the plan, and may be asked again whenever privileges have changed.

use std::cell::{Cell, RefCell};
use std::sync::Arc;

use vaquita_types::schema::{Definer, TableRef};

/// A set of actions.
pub type Actions = u8;
pub const SELECT: Actions = 1;
pub const INSERT: Actions = 2;
pub const UPDATE: Actions = 4;
pub const DELETE: Actions = 8;
/// In the FROM of an UPDATE of several tables: the one or the other must be allowed.
pub const SELECT_OR_UPDATE: Actions = 16;
pub const NOTHING: Actions = 0;

/// Whose privileges count.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub enum Whose {
    #[default]
    Session,
    /// It is read by a view.
    View(Arc<ViewRights>),
}

/// Who reads the tables of a view, and the view that the statement names.
#[derive(Debug, PartialEq, Eq)]
pub struct ViewRights {
    /// None: the session, by SQL SECURITY INVOKER.
    pub definer: Option<Definer>,
    pub database: String,
    pub name: String,
}

/// All uses of one table in a statement, by whatever aliases.
#[derive(Clone, Debug)]
pub struct TableUse {
    pub database: String,
    pub name: String,
    /// `None`: there is no such table.
    pub table: Option<TableRef>,
    pub whose: Whose,
    /// Must be allowed on the table, or on some of its columns.
    pub actions: Actions,
    /// FOR UPDATE.
    pub locks: bool,
    /// What is done to each column, by position.
    pub columns: Vec<Actions>,
    /// Done to all columns by `*` or an INSERT without a list of columns: whoever may not is told of the table.
    pub whole: Actions,
    /// A name that is no column of the table, though it might have been one, and what would have been done with it.
    pub unknown_column: Option<(String, Actions)>,
}

/// A stored function that a statement calls.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FunctionUse {
    pub database: String,
    pub name: String,
    pub whose: Whose,
}

/// The uses of a statement, in the order in which its tables were met.
#[derive(Debug, Default)]
pub struct Uses {
    tables: RefCell<Vec<TableUse>>,
    writes_file: Cell<bool>,
    functions: RefCell<Vec<FunctionUse>>,
    whose: RefCell<Whose>,
}

/// The same when the statement is bound.
#[derive(Clone, Debug, Default)]
pub struct UseList {
    pub tables: Vec<TableUse>,
    /// INTO OUTFILE and DUMPFILE.
    pub writes_file: bool,
    /// Each once.
    pub functions: Vec<FunctionUse>,
}

impl Uses {
    pub fn into_list(self) -> UseList {
        let functions = self.functions.into_inner();
        UseList { tables: self.tables.into_inner(), writes_file: self.writes_file.get(), functions }
    }

    pub(crate) fn whose(&self) -> Whose {
        self.whose.borrow().clone()
    }

    /// For what is noted from now on.
    pub(crate) fn set_whose(&self, whose: Whose) {
        self.whose.replace(whose);
    }

    /// A name that was no table's is a view's, which has these columns.
    pub(crate) fn set_table(&self, view: &TableRef) {
        let whose = self.whose();
        let mut tables = self.tables.borrow_mut();
        let of_name = |t: &&mut TableUse| t.whose == whose && t.database == view.database && t.name == view.name;
        if let Some(entry) = tables.iter_mut().filter(|t| t.table.is_none()).find(of_name) {
            entry.table = Some(view.clone());
        }
    }

    pub(crate) fn note_function(&self, database: &str, name: &str) {
        let used = FunctionUse { database: database.to_string(), name: name.to_string(), whose: self.whose() };
        let mut functions = self.functions.borrow_mut();
        if !functions.contains(&used) {
            functions.push(used);
        }
    }

    pub(crate) fn note_file(&self) {
        self.writes_file.set(true);
    }

    /// A name that is looked up as a table.
    pub(crate) fn note_name(&self, database: &str, name: &str, table: Option<&TableRef>, actions: Actions) {
        let mut tables = self.tables.borrow_mut();
        let (database, name) = table.map_or((database, name), |t| (t.database.as_str(), t.name.as_str()));
        let whose = self.whose();
        let is_known = |t: &&mut TableUse| match (&t.table, table) {
            _ if t.whose != whose => false,
            (Some(known), Some(table)) => same_table(known, table),
            (None, None) => t.database == database && t.name == name,
            _ => false,
        };
        let known = tables.iter_mut().find(is_known);
        match known {
            Some(known) => known.actions |= actions,
            None => tables.push(TableUse {
                database: database.to_string(),
                name: name.to_string(),
                table: table.cloned(),
                whose,
                actions,
                locks: false,
                columns: Vec::new(),
                whole: NOTHING,
                unknown_column: None,
            }),
        }
    }

    /// Changes the entry of a table that was met.
    pub(crate) fn of(&self, table: &TableRef, note: impl FnOnce(&mut TableUse)) {
        self.of_whose(&self.whose(), table, note);
    }

    /// As `of`, for the entry that counts for `whose`.
    pub(crate) fn of_whose(&self, whose: &Whose, table: &TableRef, note: impl FnOnce(&mut TableUse)) {
        let of_table = |t: &&mut TableUse| t.whose == *whose && t.table.as_ref().is_some_and(|known| same_table(known, table));
        if let Some(known) = self.tables.borrow_mut().iter_mut().find(of_table) {
            return note(known);
        }
        // It is noted where its name is resolved; this is for who forgets.
        let before = self.whose.replace(whose.clone());
        self.note_name(&table.database, &table.name, Some(table), NOTHING);
        self.whose.replace(before);
        if let Some(known) = self.tables.borrow_mut().iter_mut().find(of_table) {
            note(known);
        }
    }

    pub(crate) fn note_column(&self, table: &TableRef, column: usize, actions: Actions) {
        self.of(table, |entry| entry.note_column(column, actions));
    }
}

impl UseList {
    /// Some of it counts for others than the session.
    pub fn has_definers(&self) -> bool {
        self.whose().any(|whose| matches!(whose, Whose::View(_)))
    }

    /// For whom its entries count.
    pub fn whose(&self) -> impl Iterator<Item = &Whose> {
        self.tables.iter().map(|table| &table.whose).chain(self.functions.iter().map(|function| &function.whose))
    }
}

impl TableUse {
    pub(crate) fn note_column(&mut self, column: usize, actions: Actions) {
        if self.columns.len() <= column {
            let columns = self.table.as_ref().map_or(0, |table| table.columns.len());
            self.columns.resize(columns.max(column + 1), NOTHING);
        }
        self.columns[column] |= actions;
    }
}

fn same_table(a: &TableRef, b: &TableRef) -> bool {
    Arc::ptr_eq(a, b) || a.id == b.id && a.database == b.database && a.name == b.name
}
