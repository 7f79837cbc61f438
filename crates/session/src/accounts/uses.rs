//! Whether an account may do what the binder found that a statement does (`vaquita_plan::uses`): errors 1142, 1143, 1227.
//!
//! 1. Each table: what is done to it must be granted on it, or on one of its columns at least. Names that mean no table are asked like
//!    the others, so that nobody learns what exists.
//! 2. Each column: the same privilege must be granted on the table or on this column.
//!
//! Error texts name the client's host.

use std::borrow::Cow;

use vaquita_exec::context::ALL_OF_COLUMN;
use vaquita_plan::uses::{Actions, DELETE, INSERT, SELECT, SELECT_OR_UPDATE, TableUse, UPDATE, UseList, Whose};
use vaquita_types::errno::{ER_COLUMNACCESS_DENIED_ERROR, ER_SPECIFIC_ACCESS_DENIED_ERROR, ER_VIEW_NO_EXPLAIN};
use vaquita_types::schema::ObjectKind;
use vaquita_types::{Error, Result};

use super::grants::TableGrant;
use super::privilege as p;
use super::privilege::Bits;
use super::subject::Subject;

impl Subject<'_> {
    pub fn check_uses(&self, uses: &UseList) -> Result<()> {
        if uses.writes_file && !self.access.is_unlimited() {
            self.global(p::FILE, &[], "FILE")?;
        }
        self.check_uses_of(uses, &Whose::Session)
    }

    /// What counts for `whose`, which is this account.
    pub fn check_uses_of(&self, uses: &UseList, whose: &Whose) -> Result<()> {
        self.check_tables(uses, whose)?;
        let functions = uses.functions.iter().filter(|function| function.whose == *whose);
        functions
            .map(|function| (function.database.as_str(), ObjectKind::Function, function.name.as_str()))
            .try_for_each(|function| self.may_execute(function))
    }

    /// Error 1345 of who may read a view, and may not know what it is made of: that takes SHOW VIEW on each view, and SELECT on what they read, or on a
    /// column of it.
    pub fn check_explained(&self, uses: &UseList) -> Result<()> {
        if self.access.is_unlimited() || !uses.has_definers() {
            return Ok(());
        }
        let grants = &self.access.grants;
        for table in &uses.tables {
            let (database, name) = (table.database.as_str(), table.name.as_str());
            let is_view = match self.catalog {
                Some(catalog) => catalog.object(database, ObjectKind::View, name)?.is_some(),
                None => false,
            };
            let shown = !is_view || grants.on_table(database, name) & p::SHOW_VIEW != 0;
            let is_inside = matches!(table.whose, Whose::View(_)) && !reads_freely(database, name);
            let read = !is_inside || grants.on_table_or_columns(database, name) & p::SELECT != 0;
            if !(shown && read) {
                return Err(Error::new(&ER_VIEW_NO_EXPLAIN, &[]));
            }
        }
        Ok(())
    }

    fn check_tables(&self, uses: &UseList, whose: &Whose) -> Result<()> {
        let of = || uses.tables.iter().filter(|table| table.whose == *whose);
        of().try_for_each(|table| self.information_schema_is_read_only(table))?;
        if self.access.is_unlimited() {
            return Ok(());
        }
        // A session may do everything with its temporary tables.
        let asked = || of().filter(|t| t.table.as_ref().is_none_or(|def| !def.options.temporary));
        asked().try_for_each(|table| self.table_allows(table))?;
        asked().try_for_each(|table| self.columns_allow(table))
    }

    /// Nobody may change what only shows.
    fn information_schema_is_read_only(&self, table: &TableUse) -> Result<()> {
        // Whoever may do everything is told first that there is no such table.
        let asked = table.table.is_some() || !self.access.is_unlimited();
        let writes = bits(table.actions) & !p::SELECT != 0;
        if !asked || !(writes || table.locks) || !table.database.eq_ignore_ascii_case("information_schema") {
            return Ok(());
        }
        Err(match writes {
            true => self.database_denied("information_schema"),
            false => self.denied("SELECT with locking clause", &table.name.to_ascii_uppercase()),
        })
    }

    fn table_allows(&self, table: &TableUse) -> Result<()> {
        let need = bits(table.actions);
        let public = reads_freely(&table.database, &table.name);
        if public && is_of_innodb(&table.database, &table.name) {
            self.global(p::PROCESS, &[], "PROCESS")?;
        }
        let free = if public { p::SELECT } else { 0 };
        let have = self.access.grants.on_table_or_columns(&table.database, &table.name) | free;
        let missing = need & !have;
        if missing != 0 {
            return Err(self.denied(&p::names(first_asked(missing)).join(", "), &table.name));
        }
        if table.actions & SELECT_OR_UPDATE != 0 && have & (p::SELECT | p::UPDATE) == 0 {
            return Err(self.denied("SELECT", &table.name));
        }
        if table.locks && have & (p::UPDATE | p::DELETE | p::LOCK_TABLES) == 0 {
            return Err(self.denied("SELECT with locking clause", &table.name));
        }
        Ok(())
    }

    fn columns_allow(&self, table: &TableUse) -> Result<()> {
        let mut have = self.access.grants.on_table(&table.database, &table.name);
        if reads_freely(&table.database, &table.name) {
            have |= p::SELECT;
        }
        let grant = self.access.grants.table(&table.database, &table.name);
        let mut met_grant = false;
        for (position, actions) in table.columns.iter().enumerate() {
            let missing = bits(*actions) & !have;
            if missing == 0 {
                continue;
            }
            let name = table.table.as_ref().and_then(|def| def.columns.get(position)).map_or("", |column| column.name.as_str());
            let granted = grant.map_or(0, |grant| on_column(grant, name));
            met_grant |= granted != 0;
            let Some(first) = p::names(missing & !granted).first().copied() else { continue };
            // Of `*` MySQL names the column only if nothing was granted on those before it.
            return Err(if met_grant && p::bit(first).unwrap_or(0) & bits(table.whole) != 0 {
                self.denied(first, &table.name)
            } else {
                self.column_denied(first, name, &table.name)
            });
        }
        match &table.unknown_column {
            Some((column, actions)) => match p::names(bits(*actions) & !have).first() {
                Some(first) => Err(self.column_denied(first, column, &table.name)),
                None => Ok(()),
            },
            None => Ok(()),
        }
    }

    fn column_denied(&self, command: &str, column: &str, table: &str) -> Error {
        let user = &self.account.user;
        Error::new(&ER_COLUMNACCESS_DENIED_ERROR, &[&command, user, &self.client_host, &column, &table])
    }

    /// What may be done with a column, as information_schema.COLUMNS lists it; empty: it is not shown.
    pub fn column_privileges(&self, database: &str, table: &str, column: &str) -> Cow<'static, str> {
        const LISTED: [(Bits, &str); 4] =
            [(p::SELECT, "select"), (p::INSERT, "insert"), (p::UPDATE, "update"), (p::REFERENCES, "references")];
        if database.eq_ignore_ascii_case("information_schema") {
            return "select".into();
        }
        if self.access.is_unlimited() {
            return ALL_OF_COLUMN.into();
        }
        let grants = &self.access.grants;
        let on_column = grants.table(database, table).map_or(0, |grant| on_column(grant, column));
        let have = grants.on_table(database, table) | on_column;
        let listed = LISTED.iter().filter(|(bit, _)| have & bit != 0);
        listed.map(|(_, name)| *name).collect::<Vec<_>>().join(",").into()
    }

    /// One of some static privileges on `*.*`, or one of some dynamic ones.
    pub(super) fn global(&self, any_of: Bits, dynamic: &[&str], text: &str) -> Result<()> {
        let grants = &self.access.grants;
        if grants.global & any_of != 0 || dynamic.iter().any(|name| grants.dynamic.contains_key(*name)) {
            return Ok(());
        }
        Err(Error::new(&ER_SPECIFIC_ACCESS_DENIED_ERROR, &[&text]))
    }
}

/// The privileges that actions need.
fn bits(actions: Actions) -> Bits {
    let pairs = [(SELECT, p::SELECT), (INSERT, p::INSERT), (UPDATE, p::UPDATE), (DELETE, p::DELETE)];
    pairs.iter().filter(|(action, _)| actions & action != 0).fold(0, |all, (_, bit)| all | bit)
}

/// What MySQL names: what is done to the target of INSERT and UPDATE comes before what reads it too; DELETE of several tables reads first.
fn first_asked(missing: Bits) -> Bits {
    match missing {
        _ if missing & (p::INSERT | p::UPDATE) != 0 => missing & !p::SELECT,
        _ if missing & p::SELECT != 0 => p::SELECT,
        _ => missing,
    }
}

fn on_column(grant: &TableGrant, column: &str) -> Bits {
    grant.columns.iter().find(|(name, _)| name.eq_ignore_ascii_case(column)).map_or(0, |(_, bits)| *bits)
}

/// Tables that everybody may read: their rows are filtered or public.
pub(super) fn reads_freely(database: &str, table: &str) -> bool {
    const PUBLIC: [&str; 10] = [
        "global_status",
        "global_variable_attributes",
        "global_variables",
        "persisted_variables",
        "processlist",
        "session_account_connect_attrs",
        "session_status",
        "session_variables",
        "variables_info",
        "variables_metadata",
    ];
    database.eq_ignore_ascii_case("information_schema")
        || (database.eq_ignore_ascii_case("performance_schema") && PUBLIC.iter().any(|public| table.eq_ignore_ascii_case(public)))
}

/// Tables of information_schema about the engine, which need PROCESS.
fn is_of_innodb(database: &str, table: &str) -> bool {
    let innodb = table.get(..7).is_some_and(|start| start.eq_ignore_ascii_case("INNODB_"));
    database.eq_ignore_ascii_case("information_schema")
        && (table.eq_ignore_ascii_case("FILES") || innodb && !table.eq_ignore_ascii_case("INNODB_FT_DEFAULT_STOPWORD"))
}
