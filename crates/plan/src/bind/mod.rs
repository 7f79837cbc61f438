//! From the syntax tree to a plan: names, types, and the shape of each query block.
//!
//! `Binder` walks a statement with a stack of frames (one per query block, see `expr`) and a stack of
//! scopes (what names mean at this place). A column resolves in the innermost scope that has it: in the
//! current frame it is a `Slot`, in an enclosing one an `Outer`. The query becomes a `logical` tree, with the queries inside of it, which
//! `rewrite` and `optimize` make nodes of in walks of their own. Example: `SELECT b FROM t WHERE a = ?` makes one frame with one
//! relation, gives `b` and `a` the slots 1 and 0, and becomes a `Filter` with `[a = ?]` over that relation.
//!
//! Nothing here evaluates anything except constants, under `PlanContext::settings`.

mod aggregate;
mod columns;
mod cte;
mod delete;
mod dictionary;
mod early;
mod expr;
mod from;
mod full_text;
mod function;
mod generated;
mod group;
mod hints;
mod insert;
mod json_table;
mod json_value;
mod literal;
mod load;
mod merging;
mod order;
mod partition;
mod place;
mod query;
mod scope;
mod select;
pub mod stored;
mod subquery;
mod through_view;
mod update;
mod view;
mod window;
mod window_frame;

use std::sync::Arc;

use vaquita_parser as ast;
use vaquita_types::charset::CollationId;
use vaquita_types::limits::{BINDING_DEPTH_MAX, COPIED_NODES_MAX, IDENTIFIER_CHARS_MAX, QUERY_NESTING_MAX};
use vaquita_types::schema::{StoredObject, TableRef};
use vaquita_types::{ColumnType, Error, Result, errno, stack};

use crate::catalog::{Catalog, View};
use crate::expr::{Expr, FullTextMatch, Slot};
use crate::logical::StatementFacts;
use crate::node::{AccessPath, Node, OutputColumn, Plan, QueryPlan, SharedQuery, SortKey};
use crate::rewrite::Watch;
use crate::settings::PlanSettings;
use crate::switches::Switches;
use crate::uses::{Actions, TableUse};
use crate::visit;

pub use dictionary::is_dictionary_view;
pub use early::take_json_warnings;
pub use generated::bind_generated;
pub use hints::Hinted;
pub use load::plan_load;
pub use partition::{bind_partitions, select_partitions};
pub use place::Place;
use scope::Scope;
pub(crate) use scope::{Clause, Frame, Relation, Source};
pub use view::{DefinedView, NameLog, define_view, invalid as invalid_view, view_columns};

/// What planning may know of the session and the server.
pub struct PlanContext<'a> {
    pub catalog: &'a dyn Catalog,
    /// The table that an INSERT fills, whatever its name means: CREATE TABLE … SELECT.
    pub insert_target: Option<&'a TableRef>,
    pub settings: &'a PlanSettings,
    /// The types of `?` by position; missing ones are taken from where they stand.
    pub param_types: &'a [ColumnType],
    /// Texts that stand for `?` in patterns of LIKE, by position: the plan is made for them.
    pub patterns: &'a [Option<Box<[u8]>>],
    /// `?` are variables of a stored program.
    pub variables: bool,
    /// Types of user variables that are set.
    pub user_var_type: Option<&'a dyn Fn(&str) -> Option<ColumnType>>,
    /// Types of system variables; error 1193 for a name that is none.
    pub sys_var_type: Option<&'a dyn Fn(&str) -> Result<ColumnType>>,
    /// What to tell of the use of a system variable that will not be there for ever.
    pub sys_var_warning: Option<&'a dyn Fn(&str) -> Option<Error>>,
    /// Replace constant expressions by their values under `settings`; otherwise they stay expressions.
    pub fold: bool,
    /// An error once somebody has ended the statement.
    pub check_interrupt: Option<&'a dyn Fn() -> Result<()>>,
    pub place: Place<'a>,
    /// Is told each block's logical tree and what each rewrite makes of it.
    pub watch: Option<Watch<'a>>,
    /// Is told what the names of a view's query mean.
    pub names: Option<&'a NameLog>,
    /// Is told what is wrong with optimizer hints, and of variables that will not be there for ever.
    pub hint_warning: Option<&'a dyn Fn(Error)>,
}

impl<'a> PlanContext<'a> {
    pub fn new(catalog: &'a dyn Catalog, place: Place<'a>) -> PlanContext<'a> {
        PlanContext {
            catalog,
            insert_target: None,
            settings: const { &PlanSettings::DEFAULT },
            param_types: &[],
            patterns: &[],
            variables: false,
            user_var_type: None,
            sys_var_type: None,
            sys_var_warning: None,
            watch: None,
            names: None,
            hint_warning: None,
            fold: false,
            check_interrupt: None,
            place,
        }
    }
}

/// The plan of a query, INSERT, REPLACE, UPDATE or DELETE; error 1235 for any other statement.
pub fn plan_statement(statement: &ast::Statement, cx: &PlanContext<'_>) -> Result<Plan> {
    let mut binder = Binder::new(cx);
    let plan = match statement {
        ast::Statement::Query(query) => binder.top_query(query).map(Plan::Query),
        ast::Statement::Insert(insert) => binder.insert(insert),
        ast::Statement::Update(update) => binder.update(update),
        ast::Statement::Delete(delete) => binder.delete(delete),
        _ => Err(Error::unsupported("planning of this statement")),
    };
    binder.tell_hint_warnings();
    plan
}

/// A stand-alone expression: SET, DO, LIMIT, KILL. It sees no table.
pub fn bind_scalar(expr: &ast::Expr, cx: &PlanContext<'_>) -> Result<Expr> {
    let mut binder = Binder::new(cx);
    binder.push_frame();
    let hinted = Hinted::Scalar(expr);
    if hinted.has_hints() {
        binder.read_hints(hinted);
    }
    let mut bound = binder.in_clause(Clause::FieldList, |b| b.scalar(expr))?;
    binder.fold(&mut bound);
    binder.plan_subqueries(0, &mut bound)?;
    binder.tell_hint_warnings();
    Ok(bound)
}

/// An expression over one row of `table`, whose column at position n is slot `first_slot + n`:
/// DEFAULT (expr), CHECK, generated columns. A row is refused by those, each with an error of its own.
pub fn bind_over_row(expr: &ast::Expr, table: &TableRef, first_slot: Slot, cx: &PlanContext<'_>) -> Result<Expr> {
    let mut binder = Binder::new(cx);
    binder.push_frame();
    binder.push_row_scope(table, &table.name, first_slot, true);
    let mut bound = binder.in_clause(Clause::FieldList, |b| b.expr(expr))?;
    binder.fold(&mut bound);
    binder.plan_subqueries(0, &mut bound)?;
    Ok(bound)
}

/// As `bind_over_row`, of a part of the functional index of that name: it may be an array of values.
pub fn bind_functional(expr: &ast::Expr, table: &TableRef, index: &str, cx: &PlanContext<'_>) -> Result<Expr> {
    let ast::Expr::Cast { expr: document, ty, array: true } = expr else { return bind_over_row(expr, table, 0, cx) };
    let mut binder = Binder::new(cx);
    binder.push_frame();
    binder.push_row_scope(table, &table.name, 0, true);
    let mut bound = binder.in_clause(Clause::FieldList, |b| b.array_cast(document, ty, index))?;
    binder.fold(&mut bound);
    Ok(bound)
}

/// As `bind_over_row`, for WHERE of SHOW.
pub fn bind_where_over_row(expr: &ast::Expr, table: &TableRef, first_slot: Slot, cx: &PlanContext<'_>) -> Result<Expr> {
    let mut binder = Binder::new(cx);
    binder.push_frame();
    binder.push_row_scope(table, &table.name, first_slot, true);
    let mut bound = binder.in_clause(Clause::Where, |b| b.scalar(expr))?;
    binder.fold(&mut bound);
    binder.plan_subqueries(0, &mut bound)?;
    Ok(bound)
}

impl Plan {
    /// The columns of the result set; none for statements that change data.
    pub fn columns(&self) -> &[OutputColumn] {
        match self {
            Plan::Query(query) => &query.output,
            _ => &[],
        }
    }

    /// An UPDATE or DELETE without LIMIT that reads all rows of a table that it changes.
    pub fn changes_without_key(&self) -> bool {
        let (source, keys): (&Node, Vec<Slot>) = match self {
            Plan::Update(update) => (&update.source, update.targets.iter().map(|t| t.key_slot).collect()),
            Plan::Delete(delete) => (&delete.source, delete.targets.iter().map(|t| t.key_slot).collect()),
            _ => return false,
        };
        !matches!(source, Node::Limit { .. } | Node::Sort { limit: Some(_), .. }) && reads_all_of(source, &keys)
    }

    /// Every table that the plan depends on.
    pub fn tables(&self) -> &[TableRef] {
        match self {
            Plan::Query(query) => &query.tables,
            Plan::Insert(insert) => &insert.tables,
            Plan::Update(update) => &update.tables,
            Plan::Delete(delete) => &delete.tables,
        }
    }
}

/// A scan under `node` that fills one of `keys` has no bounds.
fn reads_all_of(node: &Node, keys: &[Slot]) -> bool {
    if let Node::Scan(scan) = node {
        let bounded = match &scan.path {
            AccessPath::Point { .. } => true,
            AccessPath::Union { .. } => true,
            AccessPath::Range { ranges, .. } => {
                ranges.iter().all(|r| !r.equal.is_empty() || r.low.is_some() || r.high.is_some() || r.not_null)
            }
            AccessPath::Full { .. } | AccessPath::FullText { .. } | AccessPath::System => false,
        };
        return !bounded && scan.key_slot.is_some_and(|slot| keys.contains(&slot));
    }
    let mut found = false;
    visit::inputs(node, &mut |input| found |= reads_all_of(input, keys));
    found
}

pub(crate) struct Binder<'a> {
    pub cx: &'a PlanContext<'a>,
    /// One per query block from the outermost to the one being bound.
    pub frames: Vec<Frame>,
    pub(crate) scopes: Vec<Scope>,
    /// Every table read so far, each once.
    pub tables: Vec<TableRef>,
    next_id: usize,
    next_shared: usize,
    /// Tables that the statement changes: reading them in a subquery is error 1093 or 1443.
    targets: Vec<Target>,
    /// What the statement does to its targets, as errors call it.
    operation: &'static str,
    /// The tables of FROM may be changed.
    changing: bool,
    /// The conditions of WITH CHECK OPTION are bound.
    checking: bool,
    /// The first of `targets` that the view which is being bound reads.
    target_in_view: Option<usize>,
    /// What subqueries in FROM of an UPDATE or DELETE read, until its targets are known.
    read_in_from: Option<Vec<ReadInFrom>>,
    /// ORDER BY of the only table of FROM, a view.
    order_of_view: Vec<SortKey>,
    /// Expressions and queries inside one another, against stack overflow.
    depth: usize,
    /// Calls of `nested`.
    steps: u64,
    /// Nodes of expressions that were copied.
    copied: usize,
    /// Queries inside one another.
    queries: u32,
    /// References to common table expressions but for the first to each.
    cte_expansions: usize,
    pub(crate) locking: bool,
    /// Tables that FOR UPDATE locks.
    pub(crate) for_update: Vec<TableRef>,
    values_row: insert::ValuesRow,
    /// Index of the frame of each reference to the working rows of the recursive CTE that is being bound.
    working_references: Vec<usize>,
    /// Relation and column that a name was last found to be, in the frame it belongs to.
    found_column: Option<(usize, scope::VisibleColumn)>,
    /// Of the INSERT … SELECT … ON DUPLICATE KEY UPDATE that is being bound.
    upsert: columns::UpsertQuery,
    /// Binding a derived table that is kept: it may read a table that the statement changes.
    reading_derived: bool,
    /// The next query that is bound is one of IN, ANY, ALL or EXISTS.
    predicate_query: bool,
    /// Binding the values of an INSERT, or what ON DUPLICATE KEY UPDATE sets instead of them.
    inserting_values: bool,
    /// Collations of the texts that were assigned to variables so far: those of what reads them behind.
    assigned: Vec<(String, CollationId)>,
    /// Aggregates inside one another.
    open_aggregates: Vec<aggregate::OpenAggregate>,
    /// What MATCH searches for.
    searches: Vec<FullTextMatch>,
    /// What is evaluated before the first row.
    early: Vec<Expr>,
    /// Database and name of each view that is being bound, from the outermost in.
    views: Vec<(String, String)>,
    /// Sides of outer joins around what is being bound that may have no row.
    optional_sides: usize,
    /// The select list of an EXISTS, whose stars mean nothing.
    bare_stars: Option<*const ast::SelectItem>,
    /// The first SELECT of the statement, whose options are the statement's.
    first_select: Option<*const ast::Select>,
    /// The view that is defined was met in its own definition.
    met_itself: bool,
    /// EARLY-2, with the block that each is of; they come behind the others.
    early_of_numbers: Vec<(usize, Expr)>,
    /// Of the statement or the view that is being bound, if it has any.
    hints: Option<Box<hints::Hints>>,
    /// Query blocks that hints were read of, in all views.
    hinted_blocks: usize,
    hint_warnings: Vec<Error>,
    /// `optimizer_switch`, as the statement has it.
    switches: Switches,
    /// What is bound is a pattern of LIKE.
    in_pattern: bool,
    facts: Arc<StatementFacts>,
}

/// Expressions, tables and queries that are bound between two looks at the interrupt.
const STEPS_BETWEEN_LOOKS: u64 = 1 << 10;

impl<'a> Binder<'a> {
    fn new(cx: &'a PlanContext<'a>) -> Binder<'a> {
        Binder {
            cx,
            frames: Vec::new(),
            scopes: Vec::new(),
            tables: Vec::new(),
            next_id: 0,
            next_shared: 0,
            targets: Vec::new(),
            searches: Vec::new(),
            open_aggregates: Vec::new(),
            first_select: None,
            operation: "",
            changing: false,
            checking: false,
            target_in_view: None,
            read_in_from: None,
            order_of_view: Vec::new(),
            depth: 0,
            steps: 0,
            copied: 0,
            queries: 0,
            cte_expansions: 0,
            locking: false,
            for_update: Vec::new(),
            values_row: None,
            working_references: Vec::new(),
            found_column: None,
            upsert: columns::UpsertQuery::default(),
            reading_derived: false,
            assigned: Vec::new(),
            predicate_query: false,
            inserting_values: false,
            early: Vec::new(),
            views: Vec::new(),
            optional_sides: 0,
            bare_stars: None,
            met_itself: false,
            early_of_numbers: Vec::new(),
            hints: None,
            hinted_blocks: 0,
            hint_warnings: Vec::new(),
            switches: cx.settings.switches,
            in_pattern: false,
            facts: Arc::new(StatementFacts { escape: cx.settings.like_escape(), ..StatementFacts::default() }),
        }
    }

    pub fn push_frame(&mut self) -> usize {
        self.frames.push(Frame::default());
        self.frames.len() - 1
    }

    /// Ends the innermost frame; what it refers to outside counts for the one around it too.
    pub fn pop_frame(&mut self) -> Result<Frame> {
        let frame = self.frames.pop().ok_or_else(|| Error::internal("no frame to leave"))?;
        if let Some(parent) = self.frames.last_mut() {
            parent.outermost = parent.outermost.min(frame.outermost);
        }
        Ok(frame)
    }

    /// The frame of the query block that is being bound.
    pub fn frame(&mut self) -> &mut Frame {
        if self.frames.is_empty() {
            self.frames.push(Frame::default());
        }
        let last = self.frames.len() - 1;
        &mut self.frames[last]
    }

    pub fn new_slot(&mut self) -> Slot {
        self.frame().new_slot()
    }

    /// An id for a subquery or a recursive CTE.
    pub fn new_id(&mut self) -> usize {
        self.next_id += 1;
        self.next_id
    }

    /// For a derived table or a CTE.
    pub fn new_shared(&mut self) -> Arc<SharedQuery> {
        self.next_shared += 1;
        Arc::new(SharedQuery::new(self.next_shared))
    }

    pub fn mode(&self, bit: u64) -> bool {
        self.cx.settings.sql_mode & bit != 0
    }

    pub fn fold(&self, expr: &mut Expr) {
        if self.cx.fold {
            crate::eval::constant_fold(expr, self.cx.settings);
        }
    }

    /// Runs `f` with names resolved (and errors named) as in `clause`.
    pub fn in_clause<T>(&mut self, clause: Clause, f: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        let before = std::mem::replace(&mut self.frame().clause, clause);
        let result = f(self);
        self.frame().clause = before;
        result
    }

    /// Runs `f` one level deeper.
    pub fn nested<T>(&mut self, f: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        if self.depth >= BINDING_DEPTH_MAX {
            return Err(Error::new(&errno::ER_STACK_OVERRUN_NEED_MORE, &[&self.depth, &BINDING_DEPTH_MAX, &1]));
        }
        self.check_copies()?;
        self.steps += 1;
        if self.steps.is_multiple_of(STEPS_BETWEEN_LOOKS) {
            self.check_interrupt()?;
        }
        self.depth += 1;
        let result = stack::deeper(|| f(self));
        self.depth -= 1;
        result
    }

    fn check_interrupt(&self) -> Result<()> {
        self.cx.check_interrupt.map_or(Ok(()), |check| check())
    }

    /// A copy of an expression that the statement has once: what repeats one again and again must not grow beyond all measure.
    pub fn copy(&mut self, expr: &Expr) -> Result<Expr> {
        self.count_copies(expr, 1)?;
        Ok(expr.clone())
    }

    /// `expr` is about to be copied so many times; error 1041 if the statement has made too many copies.
    pub fn count_copies(&mut self, expr: &Expr, times: usize) -> Result<()> {
        self.note_copies(expr, times);
        self.check_copies()
    }

    /// The same, of which the next expression that is bound tells.
    pub fn note_copies(&mut self, expr: &Expr, times: usize) {
        let nodes = if expr.is_leaf() { 1 } else { visit::size(expr) };
        self.copied += nodes.saturating_mul(times);
    }

    fn check_copies(&self) -> Result<()> {
        if self.copied > COPIED_NODES_MAX { Err(Error::new(&errno::ER_OUT_OF_RESOURCES, &[])) } else { Ok(()) }
    }

    /// Runs `f`, which binds a query inside of others; error 1473 if there are too many of them.
    pub fn in_query<T>(&mut self, f: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        if self.queries > QUERY_NESTING_MAX {
            return Err(Error::new(&errno::ER_TOO_HIGH_LEVEL_OF_NESTING_FOR_SELECT, &[]));
        }
        self.queries += 1;
        let result = f(self);
        self.queries -= 1;
        result
    }

    fn values_row(&self) -> insert::ValuesRow {
        self.values_row
    }

    fn set_values_row(&mut self, row: insert::ValuesRow) -> insert::ValuesRow {
        std::mem::replace(&mut self.values_row, row)
    }

    fn top_query(&mut self, query: &ast::Query) -> Result<Arc<QueryPlan>> {
        if query.hinted {
            self.read_hints(hints::Hinted::Query(query));
        }
        let bound = self.query(query)?;
        let mut plan = self.plan_query(bound)?;
        plan.tables = std::mem::take(&mut self.tables);
        plan.locking = self.locking;
        plan.for_update = std::mem::take(&mut self.for_update);
        plan.early = self.take_early();
        plan.execution_ms_max = execution_ms_max(&query.body);
        match &query.into {
            None => {}
            Some(ast::SelectInto::Vars(names)) if names.len() == plan.output.len() => plan.into.clone_from(names),
            Some(ast::SelectInto::Vars(_)) => return Err(Error::new(&errno::ER_WRONG_NUMBER_OF_COLUMNS_IN_SELECT, &[])),
            Some(file) => plan.into_file = Some(Arc::new(file.clone())),
        }
        Ok(Arc::new(plan))
    }

    fn note_table(&mut self, table: &TableRef) {
        if !self.tables.iter().any(|t| t.id == table.id && t.database == table.database && t.name == table.name) {
            self.tables.push(table.clone());
        }
    }

    /// Notes what the statement does with a column of a relation, if that is a table's or stands for one.
    fn note_column(&self, frame: usize, relation: usize, column: usize, actions: Actions) {
        let Place::Statement(uses) = self.cx.place else { return };
        let relation = &self.frames[frame].relations[relation];
        match (&relation.source, relation.stands_for.get(column)) {
            _ if relation.free => {}
            (_, Some(Some((table, column)))) => {
                uses.of_whose(&relation.whose, table, |entry| entry.note_column(*column, actions));
            }
            (Source::Base(table) | Source::Row(table), None) => {
                uses.of_whose(&relation.whose, table, |entry| entry.note_column(column, actions));
            }
            _ => {}
        }
    }

    /// Notes something about the table of a relation.
    fn note_table_use(&self, frame: usize, relation: usize, note: impl FnOnce(&mut TableUse)) {
        let Place::Statement(uses) = self.cx.place else { return };
        let relation = &self.frames[frame].relations[relation];
        if let Source::Base(table) | Source::Row(table) = &relation.source
            && !relation.free
            && relation.stands_for.is_empty()
        {
            uses.of_whose(&relation.whose, table, note);
        }
    }

    /// The same for a table or a view. Of a view MySQL asks for less.
    fn note_object_use(&self, frame: usize, relation: usize, note: impl FnOnce(&mut TableUse)) {
        match (self.cx.place, &self.frames[frame].relations[relation]) {
            (Place::Statement(uses), Relation { view: Some(view), whose, .. }) => uses.of_whose(whose, &view.def, note),
            _ => self.note_table_use(frame, relation, note),
        }
    }

    /// What a name means, with what is done to it; error 1046 without a database, 1049, 1146, 1109 in information_schema.
    fn table_or_view(&mut self, name: &ast::Name, actions: Actions) -> Result<Named> {
        let database = match (&name.db, self.cx.settings.current_database.as_deref()) {
            (Some(db), _) => db.as_str(),
            (None, Some(db)) => db,
            (None, None) => return Err(Error::new(&errno::ER_NO_DB_ERROR, &[])),
        };
        if let Some(long) = [database, &name.name].into_iter().find(|n| n.chars().count() > IDENTIFIER_CHARS_MAX) {
            return Err(Error::new(&errno::ER_TOO_LONG_IDENT, &[&long]));
        }
        let found = match self.views.is_empty() {
            true => self.cx.catalog.table(database, &name.name)?,
            false => self.cx.catalog.permanent(database, &name.name)?,
        };
        self.uses()?.note_name(database, &name.name, found.as_ref(), actions);
        let Some(table) = found else {
            if let Some(view) = self.cx.catalog.view(database, &name.name)?
                && !self.defines(&view)
            {
                return Ok(Named::View(view));
            }
            if !self.cx.catalog.database_exists(database)? {
                return Err(Error::new(&errno::ER_BAD_DB_ERROR, &[&database]));
            }
            return Err(if database.eq_ignore_ascii_case("information_schema") {
                Error::new(&errno::ER_UNKNOWN_TABLE, &[&name.name.to_uppercase(), &"information_schema"])
            } else {
                Error::new(&errno::ER_NO_SUCH_TABLE, &[&database, &name.name])
            });
        };
        self.note_table(&table);
        Ok(Named::Table(table))
    }
}

/// A table that a statement changes.
#[derive(Clone)]
struct Target {
    /// Its database and name (`update::table_key`).
    key: String,
    /// What the statement calls it.
    alias: String,
    /// What it is called where it stands: in FROM of the view, if there is one.
    inner_alias: String,
    /// The view of the statement through which it is changed: database and name.
    view: Option<(String, String)>,
}

/// A table that a subquery in FROM reads (`update::table_key`), and the view through which it does: that and what it is called.
struct ReadInFrom {
    key: String,
    view: Option<(Arc<StoredObject>, String)>,
}

/// What a name in FROM means.
enum Named {
    Table(TableRef),
    View(Arc<View>),
}

/// The first MAX_EXECUTION_TIME among the hints of the first SELECT.
fn execution_ms_max(body: &ast::QueryBody) -> u64 {
    match body {
        ast::QueryBody::Select(select) => {
            let limits = select.hints.iter().filter_map(|hint| match hint {
                ast::Hint::MaxExecutionTimeMs(ms) => Some(*ms),
                _ => None,
            });
            limits.into_iter().next().unwrap_or(0)
        }
        ast::QueryBody::SetOp { left, .. } => execution_ms_max(left),
        ast::QueryBody::Nested(query) => execution_ms_max(&query.body),
        ast::QueryBody::Values(_) | ast::QueryBody::Table(_) => 0,
    }
}
