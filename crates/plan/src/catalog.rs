//! What the planner asks of the catalog.

use std::sync::Arc;

use vaquita_parser::ast::{self, Statement};
use vaquita_types::schema::{IndexId, SqlSecurity, StoredObject, TableDef, TableRef};
use vaquita_types::{ColumnType, Error, Result, Value};

use crate::choices::Choices;
use crate::expr::Expr;

pub trait Catalog {
    /// A base table or a system table (information_schema …); `None` if there is none.
    fn table(&self, database: &str, name: &str) -> Result<Option<TableRef>>;
    /// As `table`, past what hides it from the session: what a view names.
    fn permanent(&self, database: &str, name: &str) -> Result<Option<TableRef>> {
        self.table(database, name)
    }
    /// A name that is no table's.
    fn view(&self, _database: &str, _name: &str) -> Result<Option<Arc<View>>> {
        Ok(None)
    }
    /// A stored function.
    fn function(&self, _database: &str, _name: &str) -> Result<Option<StoredFunction>> {
        Ok(None)
    }
    fn database_exists(&self, database: &str) -> Result<bool>;
    fn statistics(&self, table: &TableDef) -> TableStatistics;
    /// Gives the values that these columns (positions) have in some rows of the table, of a small one in all, until no more are wanted. The
    /// first time in some seconds it costs about a millisecond.
    fn sample(&self, _table: &TableDef, _columns: &[usize], _give: &mut dyn FnMut(&[Value]) -> bool) -> Result<()> {
        Ok(())
    }
    /// The share of an index's entries that have `equal` in their first parts and are between `low` and `high` (values, inclusive or not) in the
    /// part behind; `None` if that is not known. It costs some microseconds.
    fn share_of_range(&self, _table: &TableDef, _index: usize, _range: &ValueRange<'_>) -> Option<f64> {
        None
    }
    /// The value that a constant has when the plan runs first, for estimates: one of parameters, of variables, of the time. `None`: it is not known,
    /// or no constant.
    fn known_value(&self, _constant: &Expr) -> Option<Value> {
        None
    }
    /// A condition on parameters alone is not true for the values that the plan is made for. If this is said, the plan holds only for values
    /// of which it can be said, too (`eval::is_untrue`).
    fn assumes_untrue(&self, _condition: &Expr) -> bool {
        false
    }
    /// Where the optimizer notes what it chose between, if somebody wants to know.
    fn choices(&self) -> Option<&Choices> {
        None
    }
}

/// Whether a plan was chosen by values that are others when it runs again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Guesses {
    #[default]
    None,
    Made,
    /// The values were not known yet.
    Missing,
}

/// A range of an index by values of the columns' types.
pub struct ValueRange<'a> {
    pub equal: &'a [Value],
    pub low: Option<(&'a Value, bool)>,
    pub high: Option<(&'a Value, bool)>,
}

/// What calls of a stored function must know.
#[derive(Debug)]
pub struct StoredFunction {
    pub database: String,
    pub name: String,
    pub parameters: usize,
    pub returns: ColumnType,
    /// It may change data, or call another one that does.
    pub changes: bool,
    pub deterministic: bool,
}

/// A view with its query parsed.
#[derive(Debug)]
pub struct View {
    pub object: Arc<StoredObject>,
    pub query: ast::Query,
}

impl View {
    /// What a view's record keeps beside the fields of all objects: MERGE or TEMPTABLE, LOCAL or CASCADED, the names of its columns with
    /// zero bytes between, YES or NO, and the names of its tables and stored functions in the same way.
    pub const ALGORITHM: &str = "algorithm";
    pub const CHECK_OPTION: &str = "check option";
    pub const COLUMNS: &str = "columns";
    pub const IS_UPDATABLE: &str = "is updatable";
    pub const TABLES: &str = "tables";
    pub const FUNCTIONS: &str = "functions";

    /// Databases and names of the tables and views that it names.
    pub fn tables(object: &StoredObject) -> Vec<(String, String)> {
        View::named(object, View::TABLES)
    }

    /// Those of the stored functions.
    pub fn functions(object: &StoredObject) -> Vec<(String, String)> {
        View::named(object, View::FUNCTIONS)
    }

    fn named(object: &StoredObject, of: &str) -> Vec<(String, String)> {
        let names: Vec<&str> = object.characteristic(of).map(|names| names.split('\0').collect()).unwrap_or_default();
        names.chunks_exact(2).map(|pair| (pair[0].to_string(), pair[1].to_string())).collect()
    }

    /// What information_schema and SHOW CREATE VIEW call it.
    pub fn security_name(object: &StoredObject) -> &'static str {
        match object.security {
            SqlSecurity::Definer => "DEFINER",
            SqlSecurity::Invoker => "INVOKER",
        }
    }

    pub fn parse(object: Arc<StoredObject>) -> Result<View> {
        // The text is complete: it is the same under every sql_mode.
        match vaquita_parser::parse_one(object.text.as_bytes(), &vaquita_parser::ParserOptions::default()) {
            Ok((Statement::Query(query), _)) => Ok(View { query: *query, object }),
            _ => Err(Error::internal(format_args!("the text of view {}.{}", object.database, object.name))),
        }
    }

    /// The names of its columns.
    pub fn names(&self) -> Vec<String> {
        let given = self.columns();
        if given.is_empty() { names_of(&self.query.body) } else { given }
    }

    pub fn algorithm(&self) -> Option<&str> {
        self.object.characteristic(View::ALGORITHM)
    }

    /// The list of CREATE VIEW; empty: those of its query.
    pub fn columns(&self) -> Vec<String> {
        let list = self.object.characteristic(View::COLUMNS);
        list.map(|names| names.split('\0').map(str::to_string).collect()).unwrap_or_default()
    }
}

/// The names of a complete query's columns, each of which has one.
fn names_of(body: &ast::QueryBody) -> Vec<String> {
    match body {
        ast::QueryBody::Select(select) => select
            .items
            .iter()
            .filter_map(|item| match item {
                ast::SelectItem::Expr { alias, source_text, .. } => Some(alias.as_ref().unwrap_or(source_text).clone()),
                ast::SelectItem::Wildcard | ast::SelectItem::TableWildcard(_) => None,
            })
            .collect(),
        ast::QueryBody::SetOp { left, .. } => names_of(left),
        ast::QueryBody::Nested(query) => names_of(&query.body),
        ast::QueryBody::Values(rows) => (0..rows.first().map_or(0, Vec::len)).map(|n| format!("column_{n}")).collect(),
        ast::QueryBody::Table(_) => Vec::new(),
    }
}

/// Estimates only: wrong figures make a slow plan, never a wrong result.
#[derive(Clone, Debug, Default)]
pub struct TableStatistics {
    pub rows: u64,
    /// The rows count as they are, even if they are few.
    pub is_exact: bool,
    /// For each index, the distinct values of its first part, its first two parts, ….
    pub distinct: Vec<(IndexId, Vec<u64>)>,
}
