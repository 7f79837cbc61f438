//! The physical plan: what the executor runs and what a prepared statement keeps.
//!
//! Every node works on the frame of its query block (see `expr`): `next()` of a node means
//! "the frame now holds the next row". Materializing nodes (sort, hash build, aggregation)
//! save the listed slots and put them back. Filters sit where their slots are first filled.
//!
//! Every `QueryPlan` inside a node or an expression has a frame of its own and runs with the frame
//! of the plan that contains it as `outer`: that is depth 1 of its `ExprKind::Outer`, for derived
//! tables and the inputs of set operations as for subqueries.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use vaquita_parser::{IntoTarget, SelectInto};
use vaquita_types::schema::{IndexDef, IndexPart, TableDef, TableRef};
use vaquita_types::{ColumnType, Value};

use super::expr::{CompareAs, Expr, Slot};
use super::json_table::JsonTable;
use super::literal_values::LiteralValues;
use super::partition::ScanPartitions;

/// A query block with its output, or a UNION of such.
#[derive(Clone, Debug)]
pub struct QueryPlan {
    pub root: Node,
    /// What goes to the client, evaluated over the frame of `root`.
    pub output: Vec<OutputColumn>,
    pub header: KeptHeader,
    /// How many rows it gives, about.
    pub rows_estimate: f64,
    /// Slots of the frame.
    pub frame_width: usize,
    /// Every table that the plan reads: its `schema_version` decides whether the plan is still good.
    pub tables: Vec<TableRef>,
    /// FOR UPDATE/SHARE may apply to a node's rows.
    pub locking: bool,
    /// Tables that FOR UPDATE locks: they must be such as may be changed.
    pub for_update: Vec<TableRef>,
    /// SQL_CALC_FOUND_ROWS: FOUND_ROWS() counts the rows that a LIMIT at the root of the plan leaves out.
    pub calc_found_rows: bool,
    /// INTO @a, @b: the names of the variables that take the only row.
    pub into: Vec<IntoTarget>,
    /// INTO OUTFILE or DUMPFILE.
    pub into_file: Option<Arc<SelectInto>>,
    /// The hint MAX_EXECUTION_TIME of the statement's first SELECT; 0 is no hint.
    pub execution_ms_max: u64,
    /// Evaluated before the first row, for warnings and errors (`bind::early`).
    pub early: Vec<Expr>,
}

/// What a client is sent before the rows, which who sends it has made of the columns: the next run of the plan finds it again.
#[derive(Debug, Default)]
pub struct KeptHeader {
    has_run: AtomicBool,
    made: OnceLock<(u64, Box<[u8]>)>,
}

impl KeptHeader {
    const BYTES_MAX: usize = 2 << 10;

    /// `key`: what it depends on beside the columns.
    #[inline]
    pub fn get(&self, key: u64) -> Option<&[u8]> {
        self.made.get().filter(|(of, _)| *of == key).map(|(_, made)| &**made)
    }

    /// A plan that runs once keeps none, nor does one whose clients differ.
    pub fn keep(&self, key: u64, make: impl FnOnce() -> Vec<u8>) {
        if !self.has_run.swap(true, Ordering::Relaxed) || self.made.get().is_some() {
            return;
        }
        let made = make();
        if made.len() <= Self::BYTES_MAX {
            self.made.get_or_init(|| (key, made.into()));
        }
    }
}

impl Clone for KeptHeader {
    /// Of another plan, whose columns may become others.
    fn clone(&self) -> KeptHeader {
        KeptHeader::default()
    }
}

#[derive(Clone, Debug)]
pub struct OutputColumn {
    pub expr: Expr,
    pub name: String,
    /// For column definitions on the wire; empty for expressions.
    pub origin: Option<ColumnOrigin>,
}

#[derive(Clone, Debug, Default)]
pub struct ColumnOrigin {
    pub database: String,
    /// The alias in the query.
    pub table: String,
    pub org_table: String,
    pub org_name: String,
    /// By way of a view or a derived table that was merged.
    pub is_merged: bool,
    pub primary_key: bool,
    pub unique_key: bool,
    pub multiple_key: bool,
    /// In an index, at any place.
    pub part_key: bool,
    pub auto_increment: bool,
    pub no_default: bool,
    pub on_update_now: bool,
}

/// A derived table or common table expression that does not depend on where it is named.
#[derive(Debug)]
pub struct SharedQuery {
    /// Identifies it within the statement.
    pub id: usize,
    /// How many places name it, or two if one reads it again for each row outside.
    uses: AtomicUsize,
}

impl SharedQuery {
    pub fn new(id: usize) -> SharedQuery {
        SharedQuery { id, uses: AtomicUsize::new(0) }
    }

    pub fn add_use(&self) {
        self.uses.fetch_add(1, Ordering::Relaxed);
    }

    pub fn is_shared(&self) -> bool {
        self.uses.load(Ordering::Relaxed) > 1
    }
}

#[derive(Clone, Debug)]
pub enum Node {
    /// One row without columns: `SELECT 1`.
    One,
    /// No row: an impossible WHERE.
    Empty,
    Scan(Box<Scan>),
    /// The rows of a derived table, a CTE or a UNION, run once and kept.
    Derived {
        plan: Arc<QueryPlan>,
        slots: Vec<Slot>,
        filter: Vec<Expr>,
        correlated: bool,
        shared: Option<Arc<SharedQuery>>,
    },
    Filter {
        input: Box<Node>,
        predicate: Vec<Expr>,
    },
    /// For each row of `outer`, opens `inner` anew (its bounds may use outer slots).
    NestedLoop {
        kind: JoinKind,
        outer: Box<Node>,
        inner: Box<Node>,
        on: Vec<Expr>,
        inner_slots: Vec<Slot>,
    },
    /// Builds a hash table of `build` on its keys, probes it with each row of `probe`.
    HashJoin {
        kind: JoinKind,
        probe: Box<Node>,
        build: Box<Node>,
        probe_keys: Vec<Expr>,
        build_keys: Vec<Expr>,
        compare: Vec<CompareAs>,
        on: Vec<Expr>,
        build_slots: Vec<Slot>,
    },
    /// `saved` are the slots that anything above still reads.
    Sort {
        input: Box<Node>,
        keys: Vec<SortKey>,
        limit: Option<Limit>,
        saved: Vec<Slot>,
    },
    Limit {
        input: Box<Node>,
        limit: Limit,
    },
    /// The rows of each input in turn, which all fill the same slots.
    Append {
        inputs: Vec<Node>,
    },
    /// Groups by the keys; results go to slots. `sorted_input` streams without a hash table.
    Aggregate {
        input: Box<Node>,
        keys: Vec<(Expr, Slot)>,
        aggregates: Vec<Aggregate>,
        saved: Vec<Slot>,
        sorted_input: bool,
        rollup: bool,
    },
    /// Rows whose `keys` were not seen before.
    Distinct {
        input: Box<Node>,
        keys: Vec<Expr>,
    },
    /// Puts values that change with each evaluation into slots, for all above that reads them.
    Compute {
        input: Box<Node>,
        values: Vec<(Expr, Slot)>,
    },
    /// UNION/INTERSECT/EXCEPT: rows are evaluated to `slots`.
    SetOp {
        op: SetOpKind,
        all: bool,
        inputs: Vec<Arc<QueryPlan>>,
        slots: Vec<Slot>,
        types: Vec<ColumnType>,
    },
    /// A row list: VALUES ROW(…), ….
    Values {
        rows: Vec<Vec<Expr>>,
        slots: Vec<Slot>,
    },
    /// JSON_TABLE.
    JsonTable {
        document: Expr,
        table: Arc<JsonTable>,
    },
    /// Window functions, evaluated over sorted partitions into slots.
    Window {
        input: Box<Node>,
        windows: Vec<WindowFunction>,
        saved: Vec<Slot>,
    },
    /// One row: the exact number of rows of the table that this transaction sees.
    RowCount {
        table: TableRef,
        slot: Slot,
    },
    /// `seed`'s rows, then `recursive` run over the rows that the round before gave (as
    /// `CteRows` with the same id) until a round gives none; all rounds' rows in the end. With
    /// `distinct` (UNION DISTINCT) a row seen in any round is dropped.
    RecursiveCte {
        id: usize,
        seed: Arc<QueryPlan>,
        recursive: Vec<Arc<QueryPlan>>,
        distinct: bool,
        slots: Vec<Slot>,
        types: Vec<ColumnType>,
        filter: Vec<Expr>,
        /// Rounds end when there are as many rows.
        limit: Option<Limit>,
    },
    /// The rows of the last round of the recursive CTE `id`.
    CteRows {
        id: usize,
        slots: Vec<Slot>,
        filter: Vec<Expr>,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JoinKind {
    Inner,
    /// Rows of the first side without a match get NULL in the other side's slots.
    Left,
    /// First side rows with at least one match / with none.
    Semi,
    Anti,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SetOpKind {
    Union,
    Intersect,
    Except,
}

/// One table's rows by one access path.
#[derive(Clone, Debug)]
pub struct Scan {
    pub table: TableRef,
    /// The name in the query, for EXPLAIN and messages.
    pub alias: String,
    pub path: AccessPath,
    /// Not all entries of the path are read.
    pub skips: Option<Box<Skips>>,
    /// Column positions (in `table.columns`) to decode, and the slots they go to.
    pub columns: Vec<(usize, Slot)>,
    /// Generated columns that are computed of these, in their order.
    pub computed: Vec<Computed>,
    /// Conjuncts over slots known here.
    pub filter: Vec<Expr>,
    /// Parts of the filter are the same for all rows of a statement.
    pub folds: bool,
    pub lock: Option<RowLock>,
    /// For UPDATE, DELETE and MATCH: where the executor keeps this row's clustered key.
    pub key_slot: Option<Slot>,
    /// Estimate for EXPLAIN.
    pub rows_estimate: u64,
    /// Of a partitioned table: what is read of it.
    pub partitions: Option<Arc<ScanPartitions>>,
}

/// Of the entries of an index that are equal in its first `parts` parts, a group, only some are read.
#[derive(Clone, Debug)]
pub struct Skips {
    pub parts: usize,
    /// Those that are in this range of the parts behind. The conditions that it is made of are in the filter, too: a scan at SERIALIZABLE locks
    /// rows, and goes through all entries.
    pub within: Option<Range>,
    /// Of those, the first one.
    pub first: bool,
}

/// A generated column that rows do not hold.
#[derive(Clone, Debug)]
pub struct Computed {
    /// In `table.columns`.
    pub position: usize,
    pub slot: Slot,
    /// Over the slots of the scan; its value is still to be converted to the column's type.
    pub expr: Expr,
}

impl AccessPath {
    /// The index whose entries are read; the clustered one if the path has none of its own.
    pub fn index(&self) -> usize {
        match self {
            AccessPath::Point { index, .. } | AccessPath::Range { index, .. } => *index,
            AccessPath::Full { .. } | AccessPath::FullText { .. } | AccessPath::System | AccessPath::Union { .. } => 0,
        }
    }
}

impl Node {
    /// An aggregation of rows that come in the order of its keys: it has one group at a time.
    pub fn groups_in_order(&self) -> bool {
        matches!(self, Node::Aggregate { keys, sorted_input: true, rollup: false, .. } if !keys.is_empty())
    }
}

/// The parts of an index's entries by which ranges are found: its own, and behind those what they have of the primary key.
pub fn entry_parts(table: &TableDef, index: usize) -> Vec<&IndexPart> {
    let Some(def) = table.indexes.get(index) else { return Vec::new() };
    let mut parts: Vec<&IndexPart> = def.parts.iter().collect();
    let is_plain = !def.is_unique() && !def.is_spatial() && !def.is_full_text() && !def.multi_valued;
    if is_plain && !table.hidden_rowid && index > 0 {
        for part in &table.clustered().parts {
            if parts.iter().any(|own| own.column == part.column && own.prefix == part.prefix) {
                continue;
            }
            if part.prefix.is_some() || parts.iter().any(|own| own.column == part.column) {
                break;
            }
            parts.push(part);
        }
    }
    parts
}

impl Scan {
    pub fn reads_backward(&self) -> bool {
        matches!(self.path, AccessPath::Full { reverse: true } | AccessPath::Range { reverse: true, .. })
    }

    /// By a multi-valued or SPATIAL index, whose ranges may have several entries of a row.
    pub fn reads_elements(&self) -> bool {
        match &self.path {
            AccessPath::Range { index, .. } => self.table.indexes.get(*index).is_some_and(|index| index.multi_valued),
            _ => false,
        }
    }

    /// So many ranges of keys may lead to a row more than once. A range of a multi-valued index has one element; one of a SPATIAL index
    /// may have several cells. A row of a union may be in ranges of several indexes.
    pub fn repeats_rows(&self, ranges: usize) -> bool {
        matches!(self.path, AccessPath::Union { .. }) || self.reads_elements() && (ranges > 1 || self.reads_cells())
    }

    /// By a SPATIAL index: its ranges are windows.
    pub fn reads_cells(&self) -> bool {
        match &self.path {
            AccessPath::Range { index, .. } => self.table.indexes.get(*index).is_some_and(IndexDef::is_spatial),
            _ => false,
        }
    }
}

#[derive(Clone, Debug)]
pub enum AccessPath {
    /// All rows in clustered order.
    Full { reverse: bool },
    /// At most one row: every part of a PRIMARY or UNIQUE index (position in `table.indexes`), no NULL.
    Point { index: usize, key: Vec<Expr> },
    /// Ranges of one index in index order (of a SPATIAL one: what meets the geometry in `equal`); `covering`: all columns come from the index entry. The
    /// ranges may overlap and come in any order (`IN (2, 1, 2)`): the reader sorts and merges them.
    Range { index: usize, ranges: Vec<Range>, reverse: bool, covering: bool },
    /// The rows that ranges of several indexes lead to, each of them once; index merge by union in MySQL.
    Union { parts: Vec<(usize, Vec<Range>)> },
    /// The rows that a search finds, those of highest rank first; `search` is the `ExprKind::Match`.
    FullText { search: Box<Expr> },
    /// A system table produced by the executor: one whose `TableDef` has no index.
    System,
}

/// Bounds over an index's parts: `equal` on the first ones, then at most one low and high.
/// The expressions are constants, parameters or slots of tables read before. `low` and `high` are in
/// the order of values, also if the index part is descending. A bound that is NULL makes the
/// range empty, and a range with `high` alone, or with `not_null`, leaves out entries whose next part is NULL.
/// Values go into the key's domain through `bounds::to_key_value`.
#[derive(Clone, Debug)]
pub struct Range {
    pub equal: Vec<KeyExpr>,
    /// The part after `equal` is not NULL.
    pub not_null: bool,
    pub low: Option<(Expr, Inclusive)>,
    pub high: Option<(Expr, Inclusive)>,
}

#[derive(Clone, Debug)]
pub struct KeyExpr {
    pub expr: Expr,
    /// `<=>` or IS NULL: NULL is a value to look for, not an empty range.
    pub null_safe: bool,
}

pub type Inclusive = bool;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RowLock {
    pub exclusive: bool,
    pub wait: LockWait,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LockWait {
    Wait,
    NoWait,
    SkipLocked,
}

#[derive(Clone, Debug)]
pub struct SortKey {
    pub expr: Expr,
    pub descending: bool,
}

#[derive(Clone, Debug)]
pub struct Limit {
    pub offset: Option<Expr>,
    pub count: Option<Expr>,
}

#[derive(Clone, Debug)]
pub struct Aggregate {
    pub kind: AggregateKind,
    pub args: Vec<Expr>,
    pub distinct: bool,
    /// GROUP_CONCAT.
    pub order_by: Vec<SortKey>,
    pub separator: Option<Value>,
    pub ty: ColumnType,
    pub slot: Slot,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AggregateKind {
    CountStar,
    Count,
    Sum,
    Avg,
    Min,
    Max,
    GroupConcat,
    BitAnd,
    BitOr,
    BitXor,
    StdDevPop,
    StdDevSamp,
    VarPop,
    VarSamp,
    JsonArrayAgg,
    StCollect,
    JsonObjectAgg,
    AnyValue,
    /// GROUPING(key): the argument is the key's position.
    Grouping,
}

#[derive(Clone, Debug)]
pub struct WindowFunction {
    /// An aggregate's or window function's name in upper case.
    pub name: String,
    /// Its window's name, for messages.
    pub window: String,
    pub args: Vec<Expr>,
    pub partition_by: Vec<Expr>,
    pub order_by: Vec<SortKey>,
    pub frame: Option<WindowFrame>,
    pub ty: ColumnType,
    pub slot: Slot,
}

impl WindowFunction {
    /// The expressions of the frame's bounds.
    pub fn bounds(&self) -> impl Iterator<Item = &Expr> {
        self.frame.iter().flat_map(|frame| [&frame.start, &frame.end]).filter_map(|bound| match bound {
            FrameBound::Preceding(expr) | FrameBound::Following(expr) => Some(expr),
            _ => None,
        })
    }

    pub fn bounds_mut(&mut self) -> impl Iterator<Item = &mut Expr> {
        self.frame.iter_mut().flat_map(|frame| [&mut frame.start, &mut frame.end]).filter_map(|bound| match bound {
            FrameBound::Preceding(expr) | FrameBound::Following(expr) => Some(expr),
            _ => None,
        })
    }
}

#[derive(Clone, Debug)]
pub struct WindowFrame {
    pub rows: bool,
    pub start: FrameBound,
    pub end: FrameBound,
}

/// ROWS: a number of rows. RANGE over a number: what is added to or taken from the ORDER BY value. RANGE over
/// a date or time: the bound itself, `key - INTERVAL …` (for PRECEDING in descending order: plus).
#[derive(Clone, Debug)]
pub enum FrameBound {
    UnboundedPreceding,
    Preceding(Expr),
    CurrentRow,
    Following(Expr),
    UnboundedFollowing,
}

/// A data-changing or reading statement, ready to run.
#[derive(Clone, Debug)]
pub enum Plan {
    Query(Arc<QueryPlan>),
    Insert(Box<InsertPlan>),
    Update(Box<UpdatePlan>),
    Delete(Box<DeletePlan>),
}

#[derive(Clone, Debug)]
pub struct InsertPlan {
    pub table: TableRef,
    /// The partitions that new rows must be in, if the statement names some.
    pub partitions: Option<Arc<[usize]>>,
    /// Positions of the columns that the source gives values for.
    pub columns: Vec<usize>,
    pub source: InsertSource,
    /// Slots of the new row (all columns in order) for expressions such as generated columns,
    /// defaults and ON DUPLICATE KEY UPDATE: existing row first, then the new row, then (for a
    /// query) the query's output. Output beyond `columns` is only for ON DUPLICATE KEY UPDATE.
    pub frame_width: usize,
    /// DEFAULT (expr) of columns that are not in `columns`, over the new row's slots, computed when the others have their values.
    pub default_exprs: Vec<(usize, Expr)>,
    /// A value of `source` reads the new row: columns that have no value yet then have what they get without one.
    pub reads_row: bool,
    pub on_duplicate: Vec<Assignment>,
    pub ignore: bool,
    pub replace: bool,
    /// The view that is inserted into.
    pub through: Option<Box<ViewOrigin>>,
    /// Every table that the statement reads or changes.
    pub tables: Vec<TableRef>,
    /// As a query's.
    pub early: Vec<Expr>,
}

/// LOAD DATA: each row of a file is inserted as `insert` says, whose own source is empty.
#[derive(Clone, Debug)]
pub struct LoadPlan {
    pub insert: Box<InsertPlan>,
    /// What the fields of a row fill, in their order.
    pub targets: Vec<LoadTarget>,
    /// As they are written: the fields of LOAD XML have these names.
    pub names: Vec<String>,
    /// LOAD XML: what its rows are called, `<row>`.
    pub xml_rows: Option<Vec<u8>>,
    /// SET, over the new row's slots.
    pub set: Vec<Assignment>,
    pub ignore_lines: u64,
}

#[derive(Clone, Debug)]
pub enum LoadTarget {
    /// Column position in the table.
    Column(usize),
    /// A generated column, whose field is passed over.
    Generated(usize),
    UserVar(String),
}

#[derive(Clone, Debug)]
pub enum InsertSource {
    /// `None` is DEFAULT.
    Values(Vec<Vec<Option<Expr>>>),
    /// As wide as `columns`.
    Literals(Box<LiteralValues>),
    Query(Arc<QueryPlan>),
}

#[derive(Clone, Debug)]
pub struct Assignment {
    /// Column position in its table.
    pub column: usize,
    /// `None` is DEFAULT.
    pub value: Option<Expr>,
}

#[derive(Clone, Debug)]
pub struct UpdatePlan {
    /// Yields the rows to change; each target's `key_slot` and all its columns are in the frame.
    pub source: Node,
    pub frame_width: usize,
    pub targets: Vec<UpdateTarget>,
    pub ignore: bool,
    /// LIMIT, of a view that has no key of its table (note 1355).
    pub lacks_key: bool,
    pub tables: Vec<TableRef>,
    /// As a query's.
    pub early: Vec<Expr>,
}

#[derive(Clone, Debug)]
pub struct UpdateTarget {
    pub table: TableRef,
    /// The partitions that changed rows must be in, if the statement names some.
    pub partitions: Option<Arc<[usize]>>,
    pub key_slot: Slot,
    /// Slot of each column of the table.
    pub column_slots: Vec<Slot>,
    pub assignments: Vec<Assignment>,
    /// The view through which it is changed, if that asks something of new rows.
    pub through: Option<Box<ViewOrigin>>,
}

/// The view through which rows come, by the statement's name.
#[derive(Clone, Debug)]
pub struct ViewOrigin {
    pub database: String,
    pub name: String,
    /// It has the table's AUTO_INCREMENT column.
    pub gives_number: bool,
    pub check: Option<ViewCheck>,
}

/// WITH CHECK OPTION: what a new row must satisfy, in a frame of its own.
#[derive(Clone, Debug)]
pub struct ViewCheck {
    pub width: usize,
    pub conditions: Vec<Expr>,
    /// Positions in the table of the columns that are read, and their slots.
    pub row: Vec<(usize, Slot)>,
    /// Slots of the statement's frame with what the conditions read of other tables, and theirs.
    pub others: Vec<(Slot, Slot)>,
}

#[derive(Clone, Debug)]
pub struct DeletePlan {
    pub source: Node,
    pub frame_width: usize,
    pub targets: Vec<DeleteTarget>,
    pub ignore: bool,
    /// As an update's.
    pub lacks_key: bool,
    pub tables: Vec<TableRef>,
    /// As a query's.
    pub early: Vec<Expr>,
}

#[derive(Clone, Debug)]
pub struct DeleteTarget {
    pub table: TableRef,
    pub key_slot: Slot,
    pub column_slots: Vec<Slot>,
}
