//! Views: CREATE, ALTER and DROP VIEW, SHOW CREATE VIEW, and a view's columns.
//!
//! A view is a stored object whose text is its query with all names complete (`vaquita_plan::bind::define_view`). What else it has is among
//! the object's characteristics (`vaquita_plan::catalog::View`).

use std::sync::Arc;

use vaquita_parser::ast::{self, CheckOption, CreateView, Name, QueryBody, SelectItem};
use vaquita_parser::printer::{Style, print_complete_view, quote_ident};
use vaquita_plan::bind::{Place, PlanContext, define_view, invalid_view, view_columns};
use vaquita_plan::catalog::View;
use vaquita_plan::env::{Level, VarScope};
use vaquita_plan::uses::Uses;
use vaquita_storage::{Named, SessionCatalog};
use vaquita_types::charset::{Charset, CollationId, charset, collation};
use vaquita_types::convert::to_text;
use vaquita_types::errno::{
    ER_BAD_DB_ERROR, ER_BAD_TABLE_ERROR, ER_DUP_FIELDNAME, ER_NO_SUCH_TABLE, ER_NO_SUCH_USER, ER_TABLE_DEF_CHANGED,
    ER_TABLE_EXISTS_ERROR, ER_VIEW_NONUPD_CHECK, ER_VIEW_SELECT_CLAUSE, ER_VIEW_WRONG_LIST, ER_WARN_VIEW_MERGE,
    ER_WRONG_COLUMN_NAME, ER_WRONG_OBJECT,
};
use vaquita_types::schema::{ColumnDef, ObjectKind, SqlSecurity, StoredObject};
use vaquita_types::{ColumnType, Error, Result, Value, sql_mode};

use super::from_query::column_of;
use super::show_create::Quoting;
use super::show_partitions::requoted;
use super::{Ddl, ResultRows, check_identifier, text_column};
use crate::catalog::PlanCatalog;

/// The longest name of a character set, in the columns of SHOW CREATE VIEW.
const CHARSET_CHARS_MAX: u32 = 64;

impl Ddl<'_> {
    pub(super) fn create_view(&self, create: &CreateView) -> Result<u64> {
        self.retrying(|| self.make_view(create))
    }

    fn make_view(&self, create: &CreateView) -> Result<u64> {
        let (database, name) = (self.database_of(&create.name)?, create.name.name.as_str());
        check_identifier(name)?;
        if create.query.into.is_some() {
            return Err(Error::new(&ER_VIEW_SELECT_CLAUSE, &[&"INTO"]));
        }
        let is_table = self.catalog.permanent(database, name)?.is_some();
        let there = self.catalog.object(database, ObjectKind::View, name)?;
        if create.alter && there.is_none() && !is_table {
            return Err(Error::new(&ER_NO_SUCH_TABLE, &[&database, &name]));
        }
        // What ALTER VIEW does not say stays as it is.
        let altered = there.as_deref().filter(|_| create.alter);
        let kept = altered.map(|view| ast::UserName::Named { user: view.definer.user.clone(), host: view.definer.host.clone() });
        let (definer, is_known) = (self.definer)(create.definer.as_ref().or(kept.as_ref()))?;
        if self.catalog.database(database)?.is_none() {
            return Err(Error::new(&ER_BAD_DB_ERROR, &[&database]));
        }
        if is_table && (create.alter || create.or_replace) {
            return Err(Error::new(&ER_WRONG_OBJECT, &[&database, &name, &"VIEW"]));
        }
        let query = normalized(&create.query);
        let mut defined = (self.define_view)((database, name), &query)?;
        std::mem::take(&mut defined.warnings).into_iter().for_each(|warning| self.session.warn(Level::Warning, warning));
        let names: Vec<&str> = match create.columns.is_empty() {
            true => defined.output.iter().map(|column| column.name.as_str()).collect(),
            false => create.columns.iter().map(String::as_str).collect(),
        };
        if names.len() != defined.output.len() {
            return Err(Error::new(&ER_VIEW_WRONG_LIST, &[]));
        }
        check_names(&names)?;
        let exists = Error::new(&ER_TABLE_EXISTS_ERROR, &[&name]);
        if (is_table || there.is_some()) && !create.or_replace && !create.alter {
            if !create.if_not_exists {
                return Err(exists);
            }
            self.tell_unchanged(&[Named::TableOrView((database, name))], true)?;
            self.session.warn(Level::Note, exists);
            return Ok(0);
        }
        let security = match create.invoker {
            Some(true) => SqlSecurity::Invoker,
            Some(false) => SqlSecurity::Definer,
            None => altered.map_or(SqlSecurity::Definer, |view| view.security),
        };
        let kept = || altered.and_then(|view| view.characteristic(View::ALGORITHM)).map(str::to_string);
        let mut algorithm = create.algorithm.clone().filter(|algorithm| algorithm != "UNDEFINED").or_else(kept);
        let is_updatable = defined.is_updatable && algorithm.as_deref() != Some("TEMPTABLE");
        if create.check_option.is_some() && !is_updatable {
            return Err(Error::new(&ER_VIEW_NONUPD_CHECK, &[&database, &name]));
        }
        if algorithm.as_deref() == Some("MERGE") && !defined.merges {
            self.session.warn(Level::Warning, Error::new(&ER_WARN_VIEW_MERGE, &[]));
            algorithm = None;
        }
        let mut object = StoredObject {
            kind: ObjectKind::View,
            database: database.to_string(),
            name: name.to_string(),
            version: 0,
            security,
            sql_mode: self.session.sql_mode(),
            client_collation: self.client_collation(),
            connection_collation: self.session.connection_collation(),
            database_collation: self.catalog.database(database)?.map_or(CollationId::default(), |found| found.collation),
            created_us: 0,
            altered_us: 0,
            comment: String::new(),
            characteristics: Vec::new(),
            text: defined.text,
            definer,
        };
        object.set_characteristic(View::ALGORITHM, algorithm);
        object.set_characteristic(View::COLUMNS, (!create.columns.is_empty()).then(|| create.columns.join("\0")));
        let check = create.check_option.map(|check| if check == CheckOption::Local { "LOCAL" } else { "CASCADED" });
        object.set_characteristic(View::CHECK_OPTION, check.map(str::to_string));
        object.set_characteristic(View::IS_UPDATABLE, is_updatable.then(|| "YES".to_string()));
        note_names(&mut object, defined.tables, defined.functions);
        if !is_known {
            let unknown = Error::new(&ER_NO_SUCH_USER, &[&object.definer.user, &object.definer.host]);
            self.session.warn(Level::Note, unknown);
        }
        let made = self.catalog.create_object(object, create.or_replace || create.alter, &[], &self.context)?;
        // Another session was first, which IF NOT EXISTS then finds.
        made.map(|_| 0).ok_or_else(|| if create.if_not_exists { Error::new(&ER_TABLE_DEF_CHANGED, &[]) } else { exists })
    }

    /// What PREPARE says of the query of CREATE VIEW.
    pub fn check_view(&self, create: &CreateView) -> Result<()> {
        let database = self.database_of(&create.name)?;
        (self.define_view)((database, &create.name.name), &normalized(&create.query)).map(drop)
    }

    fn client_collation(&self) -> CollationId {
        let name = self.session.sys_var(VarScope::Session, "character_set_client").unwrap_or_default();
        let name = to_text(&name, &ColumnType::varchar(CHARSET_CHARS_MAX, CollationId::default()));
        let found = std::str::from_utf8(&name).ok().and_then(Charset::by_name);
        found.map_or(CollationId::default(), |charset| charset.default_collation)
    }

    pub(super) fn drop_views(&self, if_exists: bool, names: &[Name]) -> Result<u64> {
        self.retrying(|| self.drop_found_views(if_exists, names))
    }

    fn drop_found_views(&self, if_exists: bool, names: &[Name]) -> Result<u64> {
        let (mut views, mut definers, mut tables, mut unknown) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for name in names {
            let database = self.database_of(name)?;
            if let Some(view) = self.catalog.object(database, ObjectKind::View, &name.name)? {
                definers.push(view.definer.clone());
                views.push((database, name.name.as_str()));
            } else if self.catalog.table(database, &name.name)?.is_some() {
                tables.push(Error::new(&ER_WRONG_OBJECT, &[&database, &name.name, &"VIEW"]));
            } else {
                unknown.push(format!("{database}.{}", name.name));
            }
        }
        if !if_exists {
            if !tables.is_empty() {
                return Err(tables.remove(0));
            }
            if !unknown.is_empty() {
                return Err(Error::new(&ER_BAD_TABLE_ERROR, &[&unknown.join(",")]));
            }
        }
        definers.iter().try_for_each(self.may_change_what_is_of)?;
        let all = names.iter().map(|name| Ok((self.database_of(name)?, name.name.as_str()))).collect::<Result<Vec<_>>>()?;
        let absent: Vec<_> = all.into_iter().filter(|name| !views.contains(name)).collect();
        if views.is_empty() {
            let absent: Vec<_> = absent.iter().map(|(database, name)| Named::Object(database, ObjectKind::View, name)).collect();
            self.tell_unchanged(&absent, false)?;
        } else {
            self.catalog.drop_objects(&views, &absent, ObjectKind::View, &self.context)?;
        }
        let unknown = unknown.iter().map(|name| Error::new(&ER_BAD_TABLE_ERROR, &[name]));
        tables.into_iter().chain(unknown).for_each(|note| self.session.warn(Level::Note, note));
        Ok(0)
    }

    /// The view that a name means to this session.
    pub(super) fn view(&self, name: &Name) -> Result<Option<Arc<StoredObject>>> {
        let database = self.database_of(name)?;
        if self.catalog.temporary(database, &name.name).is_some() {
            return Ok(None);
        }
        self.catalog.object(database, ObjectKind::View, &name.name)
    }

    /// SHOW CREATE VIEW.
    pub fn show_create_view(&self, name: &Name) -> Result<ResultRows> {
        match self.view(name)? {
            Some(object) => self.shown_view(&object),
            None => {
                let database = self.database_of(name)?;
                self.table(name)?;
                Err(Error::new(&ER_WRONG_OBJECT, &[&database, &name.name, &"VIEW"]))
            }
        }
    }

    pub(super) fn shown_view(&self, object: &Arc<StoredObject>) -> Result<ResultRows> {
        let view = View::parse(object.clone())?;
        let tables = View::tables(object);
        let is_here = self.database == Some(object.database.as_str());
        let left_out = (is_here && tables.iter().all(|(database, _)| *database == object.database)).then_some(&*object.database);
        let style = Style { charset: None, cast_charset: None, unqualified: false };
        let mode = self.session.sql_mode();
        let quoting = Quoting::new(mode, true);
        let clauses = format!(
            "ALGORITHM={} DEFINER={}@{} SQL SECURITY {} ",
            view.algorithm().unwrap_or("UNDEFINED"),
            quote_ident(&object.definer.user),
            quote_ident(&object.definer.host),
            View::security_name(object),
        );
        let text = format!(
            "CREATE {}VIEW {}{} AS {}{}",
            if quoting.bare { "" } else { &clauses },
            if left_out.is_some() { String::new() } else { quote_ident(&object.database) + "." } + &quote_ident(&object.name),
            column_list(&view.columns()),
            print_complete_view(&view.query, style, left_out),
            check_option_text(object),
        );
        let text = if mode & sql_mode::ANSI_QUOTES != 0 { requoted(&text, quoting) } else { text };
        if let Err(error) = columns_of_view(self.catalog, object) {
            self.session.warn(Level::Warning, error);
        }
        if !(self.has_account)(&object.definer) {
            self.session.warn(Level::Note, Error::new(&ER_NO_SUCH_USER, &[&object.definer.user, &object.definer.host]));
        }
        let columns = vec![
            text_column("View", 64, false),
            text_column("Create View", 1024, false),
            text_column("character_set_client", CHARSET_CHARS_MAX, false),
            text_column("collation_connection", CHARSET_CHARS_MAX, false),
        ];
        let row = vec![
            Value::from(object.name.as_str()),
            Value::from(text),
            Value::from(charset(object.client_collation).name),
            Value::from(collation(object.connection_collation).name),
        ];
        Ok(ResultRows { columns, rows: vec![row] })
    }
}

fn note_names(object: &mut StoredObject, tables: Vec<(String, String)>, functions: Vec<(String, String)>) {
    let named = |names: Vec<(String, String)>| {
        let parts: Vec<String> = names.into_iter().flat_map(|(database, name)| [database, name]).collect();
        (!parts.is_empty()).then(|| parts.join("\0"))
    };
    object.set_characteristic(View::TABLES, named(tables));
    object.set_characteristic(View::FUNCTIONS, named(functions));
}

/// Makes of `draft`, which has all but the text and what follows from it, the view of a query that the server itself defines.
pub fn own_view(draft: StoredObject, query: &ast::Query, planner: &dyn vaquita_plan::catalog::Catalog) -> Result<StoredObject> {
    let uses = Uses::default();
    let style = Style { charset: None, cast_charset: Some(charset(draft.connection_collation).name), unqualified: false };
    let context = PlanContext::new(planner, Place::Statement(&uses));
    let defined = define_view((&draft.database, &draft.name), query, style, &context)?;
    let mut object = StoredObject { text: defined.text, ..draft };
    object.set_characteristic(View::IS_UPDATABLE, defined.is_updatable.then(|| "YES".to_string()));
    note_names(&mut object, defined.tables, defined.functions);
    Ok(object)
}

/// ` (`x`,`y`)`
fn column_list(names: &[String]) -> String {
    match names {
        [] => String::new(),
        names => format!(" ({})", names.iter().map(|name| quote_ident(name)).collect::<Vec<_>>().join(",")),
    }
}

fn check_option_text(object: &StoredObject) -> String {
    let check = object.characteristic(View::CHECK_OPTION);
    check.map_or(String::new(), |check| format!(" WITH {check} CHECK OPTION"))
}

/// The columns of a view as its tables are now; error 1356 if they are not such any more.
pub fn columns_of_view(catalog: &SessionCatalog, object: &Arc<StoredObject>) -> Result<Vec<ColumnDef>> {
    let view = View::parse(object.clone())?;
    let (planner, uses) = (PlanCatalog::new(catalog), Uses::default());
    let context = PlanContext::new(&planner, Place::Statement(&uses));
    let output =
        view_columns(&view, &context).map_err(|error| if error.is(&ER_NO_SUCH_TABLE) { invalid_view(&view) } else { error })?;
    output.iter().map(|output| Ok(column_of(catalog, output, false)?.0)).collect()
}

/// Error 1060 for equal names, 1166 for one that no column may have.
fn check_names(names: &[&str]) -> Result<()> {
    for (n, name) in names.iter().enumerate() {
        check_identifier(name).map_err(|_| Error::new(&ER_WRONG_COLUMN_NAME, &[name]))?;
        if names[..n].iter().any(|other| other.to_lowercase() == name.to_lowercase()) {
            return Err(Error::new(&ER_DUP_FIELDNAME, &[name]));
        }
    }
    Ok(())
}

/// The query as a view keeps it: TABLE as SELECT, and names for expressions whose text can be no name.
fn normalized(query: &ast::Query) -> ast::Query {
    let mut query = query.clone();
    normalize(&mut query.body, true);
    query
}

fn normalize(body: &mut QueryBody, first: bool) {
    if let QueryBody::Table(name) = body {
        let factor = ast::TableFactor { name: name.clone(), partitions: Vec::new(), alias: None, index_hints: Vec::new() };
        let from = vec![ast::TableRef::Table(factor)];
        let select = ast::Select { items: vec![SelectItem::Wildcard], from, has_from: true, ..ast::Select::default() };
        *body = QueryBody::Select(Box::new(select));
    }
    match body {
        QueryBody::Select(select) if first => {
            for (n, item) in select.items.iter_mut().enumerate() {
                if let SelectItem::Expr { alias: alias @ None, source_text, .. } = item
                    && check_identifier(source_text).is_err()
                {
                    *alias = Some(format!("Name_exp_{}", n + 1));
                }
            }
        }
        QueryBody::SetOp { left, right, .. } => {
            normalize(left, first);
            normalize(right, false);
        }
        QueryBody::Nested(query) => normalize(&mut query.body, first),
        QueryBody::Select(_) | QueryBody::Values(_) | QueryBody::Table(_) => {}
    }
}
