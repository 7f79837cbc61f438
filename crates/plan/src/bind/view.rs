//! Views: a name in FROM that stands for a query.
//!
//! A view's query is bound where its name stands, in a frame of its own that sees nothing of what is around, and what it reads counts for the
//! view's definer (`Whose`). Where MySQL merges the view its tables become tables of the block (`from::merged`); else it is run on its own.
//!
//! Its text is complete: `define_view` binds the query of CREATE VIEW, notes what each name means (`NameLog`), and prints it with
//! these meanings. `CREATE VIEW v AS SELECT * FROM t` is kept as ``select `d`.`t`.`a` AS `a` from `d`.`t` ``.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::sync::Arc;

use vaquita_parser as ast;
use vaquita_parser::printer::{Names, Style, print_view, quote_ident};
use vaquita_types::charset::CollationId;
use vaquita_types::schema::{ColumnDef, ColumnDefault, SqlSecurity, TableDef, TableId, TableOptions, TableRef};
use vaquita_types::{ColumnType, Error, Result, Value, errno, stack};

use super::from::FromPart;
use super::hints::Hinted;
use super::merging::{is_mergeable, make_optional, unordered};
use super::scope::VisibleColumn;
use super::update::table_key;
use super::{Binder, Place, PlanContext, Relation, Source};
use crate::catalog::View;
use crate::expr::{Expr, ExprKind};
use crate::func::json_warning;
use crate::logical::{Logical, Query, UsedView};
use crate::node::OutputColumn;
use crate::uses::{ViewRights, Whose};

/// What CREATE VIEW keeps of a query.
pub struct DefinedView {
    /// The complete text.
    pub text: String,
    pub output: Vec<OutputColumn>,
    /// ALGORITHM = MERGE can be kept.
    pub merges: bool,
    pub is_updatable: bool,
    /// The tables and views that its text names.
    pub tables: Vec<(String, String)>,
    /// Of hints, and of JSON as a condition.
    pub warnings: Vec<Error>,
    /// The stored functions.
    pub functions: Vec<(String, String)>,
}

/// Binds the query of a view.
pub fn define_view(
    (database, name): (&str, &str),
    query: &ast::Query,
    style: Style<'_>,
    cx: &PlanContext<'_>,
) -> Result<DefinedView> {
    let log = NameLog { view: (database.to_string(), name.to_string()), ..NameLog::default() };
    let told = RefCell::new(Vec::new());
    let tell = |warning| told.borrow_mut().push(warning);
    let cx = PlanContext { names: Some(&log), hint_warning: Some(&tell), ..*cx };
    let mut binder = Binder::new(&cx);
    if query.hinted {
        binder.read_hints(Hinted::Query(query));
    }
    let bound = binder.query(query)?;
    binder.tell_hint_warnings();
    let hints = binder.hints_of_view();
    let merges = is_mergeable(&bound, false);
    let is_updatable = is_called_updatable(&bound);
    let warnings = told.take().into_iter().chain(binder.take_early().iter().filter_map(json_warning)).collect();
    Ok(DefinedView {
        text: print_view(query, style, &log, &hints),
        output: bound.output().to_vec(),
        merges,
        is_updatable,
        tables: log.named.into_inner(),
        warnings,
        functions: log.called.into_inner(),
    })
}

/// The columns of a view. Error 1356 if it is no longer valid.
pub fn view_columns(view: &View, cx: &PlanContext<'_>) -> Result<Vec<OutputColumn>> {
    let mut binder = Binder::new(cx);
    let query = binder.outermost_view(view)?;
    let names = view.columns();
    let named = |(n, column): (usize, &OutputColumn)| OutputColumn {
        name: names.get(n).unwrap_or(&column.name).clone(),
        ..column.clone()
    };
    Ok(query.output().iter().enumerate().map(named).collect())
}

/// What the names of a query turned out to mean, by where they stand in its tree.
#[derive(Default)]
pub struct NameLog {
    /// The view that is defined.
    view: (String, String),
    columns: RefCell<HashMap<*const ast::ColumnRef, String>>,
    as_written: RefCell<HashMap<ast::ColumnRef, String>>,
    stars: RefCell<HashMap<*const ast::SelectItem, Vec<(String, String)>>>,
    databases: RefCell<HashMap<*const ast::TableFactor, String>>,
    joins: RefCell<HashMap<*const ast::JoinOn, Vec<(String, String)>>>,
    /// Queries of common table expressions that are read.
    read: RefCell<HashSet<*const ast::Query>>,
    calls: RefCell<HashSet<*const ast::FuncCall>>,
    named: RefCell<Vec<(String, String)>>,
    called: RefCell<Vec<(String, String)>>,
}

impl NameLog {
    fn note_table(&self, factor: &ast::TableFactor, database: &str, name: &str) {
        self.databases.borrow_mut().insert(factor, database.to_string());
        let named = (database.to_string(), name.to_string());
        let mut all = self.named.borrow_mut();
        if !all.contains(&named) {
            all.push(named);
        }
    }
}

impl Names for NameLog {
    fn column(&self, column: &ast::ColumnRef) -> Option<String> {
        self.columns.borrow().get(&std::ptr::from_ref(column)).cloned()
    }

    fn column_as_written(&self, column: &ast::ColumnRef) -> Option<String> {
        self.as_written.borrow().get(column).cloned()
    }

    fn star(&self, item: &ast::SelectItem) -> Option<Vec<(String, String)>> {
        self.stars.borrow().get(&std::ptr::from_ref(item)).cloned()
    }

    fn database(&self, table: &ast::TableFactor) -> Option<String> {
        self.databases.borrow().get(&std::ptr::from_ref(table)).cloned()
    }

    fn joined(&self, join: &ast::Join) -> Option<Vec<(String, String)>> {
        self.joins.borrow().get(&std::ptr::from_ref(&join.on)).cloned()
    }

    fn is_read(&self, query: &ast::Query) -> bool {
        self.read.borrow().contains(&std::ptr::from_ref(query))
    }

    fn is_stored(&self, call: &ast::FuncCall) -> bool {
        self.calls.borrow().contains(&std::ptr::from_ref(call))
    }
}

impl Binder<'_> {
    /// Where names are noted, outside of the views that the query names.
    fn log(&self) -> Option<&NameLog> {
        self.cx.names.filter(|_| self.views.is_empty())
    }

    fn text_of(&self, frame: usize, visible: VisibleColumn) -> Option<String> {
        let relation = self.frames.get(frame)?.relations.get(visible.relation)?;
        let column = quote_ident(&relation.columns.get(visible.column)?.name);
        if relation.alias.is_empty() {
            return None;
        }
        let alias = quote_ident(&relation.alias);
        let table = match (&relation.source, &relation.view) {
            (_, Some(view)) => Some(&view.def),
            (Source::Base(table), _) => Some(table),
            _ => None,
        };
        Some(match table.filter(|table| table.name == relation.alias) {
            Some(table) => format!("{}.{alias}.{column}", quote_ident(&table.database)),
            None => format!("{alias}.{column}"),
        })
    }

    pub(super) fn log_column(&self, column: &ast::ColumnRef, frame: usize, visible: VisibleColumn) {
        let Some(log) = self.log() else { return };
        if let Some(text) = self.text_of(frame, visible) {
            log.columns.borrow_mut().insert(column, text.clone());
            log.as_written.borrow_mut().insert(column.clone(), text);
        }
    }

    /// `made`: the output that a star made.
    pub(super) fn log_star(&self, item: &ast::SelectItem, made: &[(VisibleColumn, String)]) {
        let Some(log) = self.log() else { return };
        let frame = self.frames.len() - 1;
        let columns = made.iter().filter_map(|(visible, name)| Some((self.text_of(frame, *visible)?, name.clone())));
        log.stars.borrow_mut().insert(item, columns.collect());
    }

    /// `EXISTS (SELECT * …)`.
    pub(super) fn log_bare_star(&self, item: &ast::SelectItem) {
        if let Some(log) = self.log() {
            log.stars.borrow_mut().insert(item, vec![("1".to_string(), "1".to_string())]);
        }
    }

    pub(super) fn log_table(&self, factor: &ast::TableFactor, database: &str, name: &str) {
        if let Some(log) = self.log() {
            log.note_table(factor, database, name);
        }
    }

    pub(super) fn log_join(&self, on: &ast::JoinOn, pairs: &[(VisibleColumn, VisibleColumn)]) {
        let Some(log) = self.log() else { return };
        let frame = self.frames.len() - 1;
        let texts = pairs.iter().filter_map(|(a, b)| Some((self.text_of(frame, *a)?, self.text_of(frame, *b)?)));
        log.joins.borrow_mut().insert(on, texts.collect());
    }

    pub(super) fn log_read(&self, query: &ast::Query) {
        if let Some(log) = self.log() {
            log.read.borrow_mut().insert(query);
        }
    }

    pub(super) fn log_call(&self, call: &ast::FuncCall, database: &str, name: &str) {
        let Some(log) = self.log() else { return };
        log.calls.borrow_mut().insert(call);
        let called = (database.to_string(), name.to_string());
        let mut all = log.called.borrow_mut();
        if !all.contains(&called) {
            all.push(called);
        }
    }

    /// The database of functions that are called without one: a view's own in a view.
    pub(super) fn database_of_calls(&self) -> Option<&str> {
        let here = self.cx.settings.current_database.as_deref();
        self.views.last().map_or(here, |(database, _)| Some(database))
    }

    /// A view in FROM.
    pub(super) fn view(&mut self, view: Arc<View>, factor: &ast::TableFactor) -> Result<FromPart> {
        let object = Arc::clone(&view.object);
        let alias = factor.alias.as_deref().unwrap_or(&factor.name.name);
        self.log_table(factor, &object.database, &object.name);
        if !factor.partitions.is_empty() {
            return Err(Error::new(&errno::ER_PARTITION_CLAUSE_ON_NONPARTITIONED, &[]));
        }
        if let Some(name) = factor.index_hints.iter().flat_map(|hint| &hint.indexes).next() {
            return Err(Error::new(&errno::ER_KEY_DOES_NOT_EXITS, &[name, &alias]));
        }
        let target_before = self.target_in_view.take();
        let read_before = self.read_in_from.as_ref().map_or(0, Vec::len);
        self.order_of_view.clear();
        let noted_before = self.early.len();
        let mut query = if self.views.is_empty() { self.outermost_view(&view)? } else { self.view_query(&view)? };
        self.forget_json_of_view(noted_before);
        let names = view.columns();
        let columns = query
            .output()
            .iter()
            .enumerate()
            .map(|(n, column)| (names.get(n).unwrap_or(&column.name).as_str(), &column.expr.ty, column.expr.nullable));
        let def: TableRef = Arc::new(definition(&view, columns));
        self.uses()?.set_table(&def);
        let is_wanted = view.algorithm() == Some("MERGE") || self.merge_wanted(alias);
        let may_merge = view.algorithm() != Some("TEMPTABLE") && is_wanted;
        if let Some(found) = self.target_in_view.take().filter(|_| may_merge && self.merges_here(&mut query, true)) {
            if self.views.is_empty() {
                return Err(self.refuse_view_of_target(found, &object, alias));
            }
            self.target_in_view = Some(found);
        }
        self.target_in_view = self.target_in_view.or(target_before);
        if self.read_in_from.as_ref().is_some_and(|read| read.len() > read_before) {
            let is_read = !self.changing && may_merge && self.merges_here(&mut query, true);
            self.read_through_view(read_before, is_read.then(|| (Arc::clone(&object), alias)));
        }
        let merges = self.targets.is_empty() && may_merge && self.merges_here(&mut query, self.changing);
        let mut used = self.used_view(Arc::clone(&view), def.clone(), &mut query, merges);
        let first = self.frame().relations.len();
        let mut part = match merges {
            true => self.merged(query, alias, &names)?,
            false => self.materialized(query, false, false, alias, &names)?,
        };
        let Some(&relation) = part.relations.first() else { return Err(Error::internal("a view without a relation")) };
        let merged = first..if merges { relation } else { first };
        if self.checking && merges {
            self.note_conditions(&mut used, &merged, &part.tree)?;
            // The conditions of the view around it are then its own.
            part.tree = Logical::Relation(relation);
        }
        let whose = self.whose();
        let of_view = &mut self.frame().relations[relation];
        of_view.database = Some(object.database.clone());
        of_view.stands_for = (0..def.columns.len()).map(|column| Some((def.clone(), column))).collect();
        of_view.view = Some(Box::new(used));
        of_view.merged = merged;
        of_view.whose = whose;
        Ok(part)
    }

    /// The view's query may stand in this block. Its columns are then what they are here.
    fn merges_here(&self, query: &mut Query, changing: bool) -> bool {
        let is_column = |column: &OutputColumn| matches!(column.expr.kind, ExprKind::Slot(_));
        is_mergeable(query, changing)
            && match (self.optional_sides > 0, changing) {
                (false, _) => true,
                (true, true) => query.output().iter().all(is_column),
                (true, false) => make_optional(query),
            }
    }

    /// Whose privileges count for what is bound here.
    pub(super) fn whose(&self) -> Whose {
        match self.cx.place {
            Place::Statement(uses) if !self.views.is_empty() => uses.whose(),
            _ => Whose::Session,
        }
    }

    /// What the statement may do with a view, whose bound query is given.
    fn used_view(&mut self, view: Arc<View>, def: TableRef, query: &mut Query, merges: bool) -> UsedView {
        let order = std::mem::take(&mut self.order_of_view);
        let tables: Vec<&Relation> = tables_of(&query.relations).collect();
        let is_outer = tables.iter().any(|table| table.optional);
        let may = |of_view: fn(&UsedView) -> bool| {
            move |table: &&Relation| match (&table.source, &table.view) {
                (Source::Base(table), _) => !table.indexes.is_empty(),
                (_, Some(view)) => of_view(view),
                _ => false,
            }
        };
        let views = || query.relations.iter().filter_map(|relation| relation.view.as_ref());
        let used = UsedView {
            def,
            is_updatable: merges && !is_outer && tables.iter().any(may(|view| view.is_updatable)),
            is_insertable: merges && !is_outer && tables.iter().all(may(|view| view.is_insertable)),
            checks: view.object.characteristic(View::CHECK_OPTION).is_some() || views().any(|view| view.checks),
            read_inside: if self.changing { read_inside(query) } else { Vec::new() },
            conditions: Vec::new(),
            checked: Vec::new(),
            view,
        };
        // As MySQL: the order of a view that is the only table of another is that one's.
        if merges && !order.is_empty() && tables.len() == 1 && !matches!(query.block.root, Logical::Sort { .. }) {
            let root = std::mem::replace(&mut query.block.root, Logical::Empty);
            query.block.root = root.sorted(order, None);
        }
        used
    }

    /// What the rows of a merged view satisfy, and what WITH CHECK OPTION asks of new ones.
    fn note_conditions(&mut self, used: &mut UsedView, merged: &Range<usize>, tree: &Logical) -> Result<()> {
        let mut own = Vec::new();
        tree.inner_conditions(&mut own);
        own.iter().try_for_each(|condition| self.count_copies(condition, 2))?;
        let relations = &self.frame().relations[merged.clone()];
        let inner = |of: fn(&UsedView) -> &Vec<Expr>| {
            let views = relations.iter().filter_map(|relation| relation.view.as_deref());
            views.flat_map(of).cloned().collect::<Vec<_>>()
        };
        let own = || own.iter().map(|condition| (*condition).clone());
        used.conditions = own().chain(inner(|view| &view.conditions)).collect();
        used.checked = match used.view.object.characteristic(View::CHECK_OPTION) {
            Some("LOCAL") => own().chain(inner(|view| &view.checked)).collect(),
            Some(_) => used.conditions.clone(),
            None => inner(|view| &view.checked),
        };
        // Of the views in it this has all.
        for view in self.frame().relations[merged.clone()].iter_mut().filter_map(|relation| relation.view.as_mut()) {
            (view.conditions, view.checked) = Default::default();
        }
        Ok(())
    }

    /// As `view_query`, with the error that names a view which a statement names.
    fn outermost_view(&mut self, view: &View) -> Result<Query> {
        let bound = self.view_query(view);
        let is_hidden = |error: &Error| hides(error) && !self.met_itself;
        bound.map_err(|error| if is_hidden(&error) { invalid(view) } else { error })
    }

    /// The view is the one that is defined, which is not there yet.
    pub(super) fn defines(&mut self, view: &View) -> bool {
        let is_itself = self.cx.names.is_some_and(|log| (&log.view.0, &log.view.1) == (&view.object.database, &view.object.name));
        self.met_itself |= is_itself;
        is_itself
    }

    /// The bound query of a view.
    fn view_query(&mut self, view: &View) -> Result<Query> {
        let object = &view.object;
        let key = (object.database.clone(), object.name.clone());
        if self.views.contains(&key) {
            return Err(Error::new(&errno::ER_VIEW_RECURSIVE, &[&key.0, &key.1]));
        }
        let outer = self.uses()?.whose();
        let definer = match (object.security, &outer) {
            (SqlSecurity::Definer, _) => Some(object.definer.clone()),
            // The invoker of a view in another is that one's definer.
            (SqlSecurity::Invoker, Whose::View(rights)) => rights.definer.clone(),
            (SqlSecurity::Invoker, Whose::Session) => None,
        };
        let (database, name) = match &outer {
            Whose::View(rights) => (rights.database.clone(), rights.name.clone()),
            Whose::Session => key.clone(),
        };
        let inner = Whose::View(Arc::new(ViewRights { definer, database, name }));
        let hidden: Vec<bool> = self.scopes.iter().map(|s| s.hidden).collect();
        self.scopes.iter_mut().for_each(|s| s.hidden = true);
        self.views.push(key);
        self.uses()?.set_whose(inner);
        let hints = self.hints.take();
        if view.query.hinted {
            self.read_hints(Hinted::Query(&view.query));
        }
        let bound = self.query_of_view(&view.query);
        self.hints = hints;
        self.uses()?.set_whose(outer);
        self.views.pop();
        for (scope, was) in self.scopes.iter_mut().zip(hidden) {
            scope.hidden = was;
        }
        let (query, _) = bound?;
        let columns = view.columns();
        if !columns.is_empty() && columns.len() != query.output().len() {
            return Err(invalid(view));
        }
        Ok(query)
    }
}

/// The error that tells nothing of what is in a view.
pub fn invalid(view: &View) -> Error {
    Error::new(&errno::ER_VIEW_INVALID, &[&view.object.database, &view.object.name])
}

/// It is about what the view names.
fn hides(error: &Error) -> bool {
    [
        &errno::ER_BAD_FIELD_ERROR,
        &errno::ER_NO_SUCH_TABLE,
        &errno::ER_BAD_DB_ERROR,
        &errno::ER_SP_DOES_NOT_EXIST,
        &errno::ER_COLUMNACCESS_DENIED_ERROR,
        &errno::ER_TABLEACCESS_DENIED_ERROR,
        &errno::ER_PROCACCESS_DENIED_ERROR,
    ]
    .into_iter()
    .any(|hidden| error.is(hidden))
}

/// The view as a table, for those who ask what may be done with it.
fn definition<'c>(view: &View, columns: impl Iterator<Item = (&'c str, &'c ColumnType, bool)>) -> TableDef {
    let object = &view.object;
    TableDef {
        id: TableId(0),
        database: object.database.clone(),
        name: object.name.clone(),
        schema_version: object.version,
        columns: columns.map(|(name, ty, nullable)| column_of(name, ty, nullable)).collect(),
        indexes: Vec::new(),
        hidden_rowid: false,
        layouts: Vec::new(),
        collation: CollationId::default(),
        options: TableOptions::default(),
        next_column_id: Default::default(),
        created_us: object.created_us,
        foreign_keys: Vec::new(),
        referenced_by: Vec::new(),
        triggers: Vec::new(),
        partitioning: None,
    }
}

fn column_of(name: &str, ty: &ColumnType, nullable: bool) -> ColumnDef {
    ColumnDef {
        id: Default::default(),
        name: name.to_string(),
        ty: ty.clone(),
        nullable,
        default: ColumnDefault::None,
        on_update_now: false,
        auto_increment: false,
        comment: String::new(),
        invisible: false,
        added_default: Value::Null,
        generated: None,
    }
}

/// The tables and views that FROM names.
fn tables_of(relations: &[Relation]) -> impl Iterator<Item = &Relation> {
    let in_view = |at: &usize| relations.iter().any(|relation| relation.merged.contains(at));
    relations.iter().enumerate().filter(move |(at, _)| !in_view(at)).map(|(_, relation)| relation)
}

/// What information_schema says of a view, and what WITH CHECK OPTION asks.
fn is_called_updatable(query: &Query) -> bool {
    let is_updatable = |table: &Relation| match (&table.source, &table.view) {
        _ if table.optional => false,
        (Source::Base(table), _) => !table.indexes.is_empty() || !table.database.eq_ignore_ascii_case("information_schema"),
        (_, Some(view)) => view.view.object.characteristic(View::IS_UPDATABLE).is_some(),
        _ => true,
    };
    let tables: Vec<&Relation> = tables_of(&query.relations).collect();
    let reads_itself = match &tables[..] {
        [Relation { source: Source::Base(table), .. }] => {
            let key = table_key(&table.database, &table.name);
            read_inside(query).iter().any(|(other, _)| *other == key)
        }
        _ => false,
    };
    let is_column = |column: &OutputColumn| matches!(column.expr.kind, ExprKind::Slot(_));
    unordered(&query.block.root).is_joins()
        && query.output().iter().any(is_column)
        && !reads_itself
        && tables.into_iter().all(is_updatable)
}

/// The tables that subqueries of a query read.
fn read_inside(query: &Query) -> Vec<(String, String)> {
    let mut keys = Vec::new();
    for inner in query.subqueries.iter().filter_map(|(_, inner)| inner.bound()) {
        for relation in &inner.relations {
            if let Source::Base(table) = &relation.source {
                keys.push((table_key(&table.database, &table.name), relation.alias.clone()));
            }
        }
        keys.extend(stack::deeper(|| read_inside(inner)));
    }
    keys.extend(query.relations.iter().filter_map(|relation| relation.view.as_ref()).flat_map(|view| view.read_inside.clone()));
    keys
}
