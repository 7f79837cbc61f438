//! What a running statement has at hand: `Execution`, and what is made of it for a query block (`Frame`), for rows that are kept
//! (`Rows`, `KeptRows`) and for one of several threads (`Part`); the session and the server around it (`SessionEnv`, `ServerInfo`).
//!
//! It never knows how anything is run: operators, subqueries, changes and system tables are floors above. `query` makes a
//! `Execution` the environment of expressions, because they may ask for the rows of a subquery.
//!
//! The transaction is in a cell: a scan reads through it while the statement that drives the scan writes through it.

mod calls;
mod chains;
mod column_value;
mod frame;
mod join_table;
mod kept;
mod kept_rows;
mod key_table;
mod links;
mod measures;
mod part;
mod program;
mod ranks;
pub(crate) mod row_bytes;
mod row_log;
mod rows;
mod server;
mod setup;
mod statement_events;
mod table_uses;
mod transaction_events;

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use vaquita_plan::env::{AskSession, Env, EvalCx, Level, RowsOfSubquery, SeededRandom, SubqueryRows, VarScope};
use vaquita_plan::expr::Subquery;
use vaquita_plan::node::Node;
use vaquita_plan::settings::RunSettings;
use vaquita_storage::{Interrupt, LockMode, LockPolicy, SessionCatalog, Store, Table, Transaction};
use vaquita_types::charset::CollationId;
use vaquita_types::errno::{
    ER_CUT_VALUE_GROUP_CONCAT, ER_DATETIME_FUNCTION_OVERFLOW, ER_DIVISION_BY_ZERO, ER_INVALID_ARGUMENT_FOR_LOGARITHM,
    ER_INVALID_JSON_VALUE_FOR_CAST, ER_NO_SUCH_TABLE, ER_NUMERIC_JSON_VALUE_OUT_OF_RANGE, ER_TEMPORAL_FUNCTION_OVERFLOW,
    ER_TRUNCATED_WRONG_VALUE, ER_WARN_ALLOWED_PACKET_OVERFLOWED, ER_WARN_DATA_OUT_OF_RANGE, ER_WRONG_VALUE_FOR_TYPE,
    WARN_DATA_TRUNCATED,
};
use vaquita_types::memory::{self, Reserve};
use vaquita_types::schema::TableRef;
use vaquita_types::temporal::TimeZone;
use vaquita_types::{ColumnType, Error, Result, Value, sql_mode};

pub(crate) use chains::Chains;
pub use column_value::{already_stored, is_number, local_now, store_hex, store_in_variable, stores_days, value_of_column};
pub use frame::Frame;
pub use join_table::JoinTable;
pub use kept::Kept;
use kept::Memory;
pub(crate) use kept_rows::{KeptPlace, KeptRows, Round, SharedRows};
pub(crate) use key_table::KeyTable;
use links::ForeignKeys;
pub(crate) use links::{Links, Parent, ToChild, collations_at, columns_at};
pub(crate) use measures::Counter;
pub use measures::Measures;
pub(crate) use part::opened;
pub use part::{Part, Pieces, Turns};
pub use program::{Assignment, Functions, KeptTriggers, NewRow, NoFunctions, TriggeredRow};
pub use ranks::Ranks;
pub use row_log::{RowChange, RowCollector, RowImage, RowLog, RowLogSettings, RowLogging};
pub use rows::{Rows, heap_bytes};
pub use server::{
    ALL_OF_COLUMN, AccountInfo, DatabaseGrantInfo, GeneralLogRow, LogLine, NoServer, OptimizerTrace, ProcessInfo, ProfileInfo,
    RoutineGrantInfo, ServerInfo, SessionLockInfo, SlowLogRow, TableGrantInfo, VariableInfo, VariableScope, WarningInfo,
    thread_id,
};

pub use calls::{CALLS, Call, Calls};
pub(crate) use setup::is_yes;
pub use setup::{Observed, SETUP_ROWS_MAX, Setup, SetupRows};
pub use statement_events::{
    Bucket, Counted, DigestInfo, Forget, Histogram, PlanInfo, StatementDigest, StatementEvent, StatementEvents, StatementSample,
    StatementSums, Work, bucket_bounds,
};
pub use table_uses::{ROW_WORKS, RowWork, TableSums, TableUse};
pub use transaction_events::{
    Characteristics, ErrorSums, OwnedSums, SavepointCounts, Sums, TimeSums, TransactionEvent, TransactionState, TransactionSums,
    XaEvent,
};

/// However little memory is left, an operator may keep so much before it gives rows to the disk.
const OPERATOR_BYTES_MIN: usize = 4 << 20;
/// The part of its share that an operator keeps where most of the statement's memory is taken.
const SMALL_SHARE: usize = 16;

/// The session, as statements see it. The methods are those of `plan::env::Env` without subqueries.
pub trait SessionEnv {
    fn statement_time_us(&self) -> i64;
    fn clock_us(&self) -> i64;
    fn time_zone(&self) -> &TimeZone;
    fn sql_mode(&self) -> u64;
    fn run_settings(&self) -> &RunSettings;
    /// `collation_connection`.
    fn connection_collation(&self) -> CollationId;
    /// `default_collation_for_utf8mb4`.
    fn utf8mb4_collation(&self) -> CollationId {
        CollationId::default()
    }
    fn warn(&self, level: Level, error: Error);
    fn user_var(&self, name: &str) -> Value;
    fn set_user_var(&self, name: &str, value: Value) -> Result<()>;
    /// SELECT … INTO a variable of the stored program that runs, which takes it when the statement is over.
    fn set_program_variable(&self, _variable: usize, _value: Value, _ty: &ColumnType) {}
    fn sys_var(&self, scope: VarScope, name: &str) -> Result<Value>;
    fn random(&self) -> f64;
    fn random_bytes(&self, out: &mut [u8]);
    /// What functions ask; an error if there is nobody to ask.
    fn ask(&self) -> Result<&dyn AskSession>;
    fn check_interrupt(&self) -> Result<()>;
    /// Warnings of the running statement so far, for "Warnings: n".
    fn warning_count(&self) -> u64;
    /// `auto_increment_increment` and `auto_increment_offset`.
    fn auto_increment(&self) -> (u64, u64);
    /// The AUTO_INCREMENT value that the statement begins with, if SET insert_id gave one.
    fn take_insert_id(&self) -> Option<u64> {
        None
    }
    /// The first AUTO_INCREMENT value of a statement that has failed behind it, which LAST_INSERT_ID() tells.
    fn note_insert_id_of_failed(&self, _: u64) {}
}

/// One execution of one statement.
pub struct Execution<'a> {
    pub store: &'a Arc<Store>,
    pub catalog: &'a SessionCatalog,
    pub txn: &'a RefCell<Transaction>,
    pub params: &'a [Value],
    pub session: &'a dyn SessionEnv,
    pub interrupt: &'a Interrupt,
    /// For system tables; `NoServer` unless set.
    pub server: &'a dyn ServerInfo,
    /// `NoFunctions` unless set.
    pub functions: &'a dyn Functions,
    /// Bytes that sorts, hash tables and kept results of this statement may take.
    pub memory_bytes_max: usize,
    pub lock_wait_ms_max: u64,
    /// How long it waits for DDL on its tables.
    pub table_lock_wait: Duration,
    /// The binary log, unless the session keeps its changes from it.
    pub row_log: Option<RowLogging<'a>>,
    /// What EXPLAIN ANALYZE wants to know.
    pub measures: Option<&'a Measures>,
    pub(crate) memory: Memory,
    /// What was asked of tables.
    pub calls: Calls,
    /// What the server counts of it.
    reserve: Reserve,
    /// Scans leave out what the transaction has written.
    pub(crate) own_writes_hidden: Cell<bool>,
    /// This thread works on a part of the statement.
    pub(crate) part: Option<&'a Part<'a>>,
    /// Results of uncorrelated subqueries by `Subquery::id`.
    pub(crate) subqueries: RefCell<HashMap<usize, SubqueryRows>>,
    /// For subqueries of IN, ANY and ALL what is looked up in place of their rows, if that is possible.
    pub(crate) members: RefCell<HashMap<usize, Option<Arc<dyn RowsOfSubquery>>>>,
    /// Tables of hash joins that several threads use, by the address of the build side's node.
    pub(crate) join_tables: RefCell<HashMap<usize, Arc<JoinTable>>>,
    /// What its full-text searches have found, by `FullTextMatch::id`.
    pub(crate) searches: RefCell<HashMap<usize, Arc<Ranks>>>,
    /// The key and the row of a version that the snapshot does not show, while a condition is evaluated for it.
    pub(crate) judged_row: RefCell<Option<(Vec<u8>, Vec<u8>)>>,
    /// The last round's rows of the recursive common table expressions that are running, by id.
    pub(crate) cte_rows: RefCell<HashMap<usize, Round>>,
    /// Rows of derived tables and common table expressions that several places read, or one for each row outside, by id.
    pub(crate) shared_rows: RefCell<HashMap<usize, Rc<SharedRows>>>,
    /// What constants warned of before the first row (`query::evaluate_early`), which rows do not repeat.
    early_warnings: RefCell<Vec<String>>,
    early: Cell<bool>,
    /// What is evaluated was evaluated before, and has warned.
    quiet: Cell<bool>,
    /// The statement changes data in strict mode: what expressions warn of is an error.
    strict: Cell<bool>,
    /// So is what rows warn of that are made now (`raising`).
    raising: Cell<bool>,
    /// The first such error.
    raised: RefCell<Option<Error>>,
    /// The sequences of RAND(n), by the place of the call.
    generators: RefCell<HashMap<usize, SeededRandom>>,
    /// What changes of tables with foreign keys have found out.
    pub(crate) foreign_keys: RefCell<Option<Box<ForeignKeys>>>,
}

/// Warnings of expressions that fail a change of data in strict mode.
fn fails_strict(code: u16) -> bool {
    [
        &ER_DIVISION_BY_ZERO,
        &ER_INVALID_ARGUMENT_FOR_LOGARITHM,
        &ER_TRUNCATED_WRONG_VALUE,
        &ER_WRONG_VALUE_FOR_TYPE,
        &ER_DATETIME_FUNCTION_OVERFLOW,
        &ER_TEMPORAL_FUNCTION_OVERFLOW,
        &ER_WARN_DATA_OUT_OF_RANGE,
        &ER_CUT_VALUE_GROUP_CONCAT,
        &WARN_DATA_TRUNCATED,
        &ER_INVALID_JSON_VALUE_FOR_CAST,
        &ER_NUMERIC_JSON_VALUE_OUT_OF_RANGE,
        &ER_WARN_ALLOWED_PACKET_OVERFLOWED,
    ]
    .iter()
    .any(|def| def.code == code)
}

impl<'a> Execution<'a> {
    pub fn new(
        store: &'a Arc<Store>,
        catalog: &'a SessionCatalog,
        txn: &'a RefCell<Transaction>,
        params: &'a [Value],
        session: &'a dyn SessionEnv,
        interrupt: &'a Interrupt,
    ) -> Execution<'a> {
        Execution {
            store,
            catalog,
            txn,
            params,
            session,
            interrupt,
            server: &NoServer,
            functions: &NoFunctions,
            memory_bytes_max: store.options().statement_bytes_max,
            lock_wait_ms_max: 50_000,
            table_lock_wait: Duration::from_secs(50),
            row_log: None,
            measures: None,
            memory: Memory::default(),
            calls: Calls::default(),
            reserve: Reserve::default(),
            own_writes_hidden: Cell::new(false),
            part: None,
            subqueries: RefCell::new(HashMap::new()),
            members: RefCell::new(HashMap::new()),
            join_tables: RefCell::default(),
            searches: RefCell::default(),
            judged_row: RefCell::default(),
            cte_rows: RefCell::new(HashMap::new()),
            shared_rows: RefCell::default(),
            early_warnings: RefCell::default(),
            early: Cell::new(false),
            quiet: Cell::new(false),
            strict: Cell::new(false),
            raising: Cell::new(false),
            raised: RefCell::new(None),
            generators: RefCell::new(HashMap::new()),
            foreign_keys: RefCell::default(),
        }
    }

    /// Rows that scans have looked at.
    pub fn examined(&self) -> u64 {
        self.calls.examined()
    }

    /// SERIALIZABLE: what is read is locked, so that it stays as it is.
    pub fn locks_reads(&self) -> bool {
        self.txn.borrow().locks_reads()
    }

    /// Scans that begin before what is returned is dropped do not see the transaction's writes.
    pub(crate) fn hide_own_writes(&self) -> impl Drop + '_ {
        struct Hidden<'s>(&'s Cell<bool>);
        impl Drop for Hidden<'_> {
            fn drop(&mut self) {
                self.0.set(false);
            }
        }
        self.own_writes_hidden.set(true);
        Hidden(&self.own_writes_hidden)
    }

    /// An error in a thread that works on a part: what it asks for is not made there, and the statement then works alone (`op::parallel`).
    pub(crate) fn check_whole(&self) -> Result<()> {
        if self.part.is_some() { Err(Error::internal("for one thread only")) } else { Ok(()) }
    }

    /// The table of a hash join that was made for several threads: each of them has it, or the statement alone, once.
    pub(crate) fn join_table(&self, build: &Node) -> Option<Arc<JoinTable>> {
        let mut tables = self.join_tables.borrow_mut();
        if tables.is_empty() {
            return None;
        }
        let place = std::ptr::from_ref(build).addr();
        if self.part.is_some() { tables.get(&place).cloned() } else { tables.remove(&place) }
    }

    pub(crate) fn share_join_table(&self, build: &Node, table: Arc<JoinTable>) {
        self.join_tables.borrow_mut().insert(std::ptr::from_ref(build).addr(), table);
    }

    /// From here on, warnings of expressions are errors: `take_raised` gives the first one.
    pub fn raise_warnings(&self) {
        self.strict.set(true);
    }

    /// Warnings of the rows that `make` makes are errors in strict mode, but for those that came before the first row.
    pub(crate) fn raising<T>(&self, make: impl FnOnce() -> Result<T>) -> Result<T> {
        let before = self.raising.replace(sql_mode::is_strict(self.session.sql_mode()));
        let made = make();
        self.raising.set(before);
        made
    }

    /// Whether what is evaluated now comes before the first row.
    pub(crate) fn set_early(&self, early: bool) {
        self.early.set(early);
    }

    /// Evaluates once more what has warned already.
    pub(crate) fn quietly<T>(&self, evaluate: impl FnOnce() -> T) -> T {
        let before = self.quiet.replace(true);
        let value = evaluate();
        self.quiet.set(before);
        value
    }

    /// What an expression warns of.
    pub(crate) fn warn(&self, level: Level, error: Error) {
        if self.quiet.get() {
            return;
        }
        let fails = level == Level::Warning && fails_strict(error.code());
        if fails && self.strict.get() {
            self.raised.borrow_mut().get_or_insert(error);
        } else if self.is_repeated(&error) {
            // It has come before the first row.
        } else if fails && self.raising.get() {
            self.raised.borrow_mut().get_or_insert(error);
        } else {
            self.session.warn(level, error);
        }
    }

    /// The next number of RAND(seed) at a place.
    pub(crate) fn seeded_number(&self, site: usize, seed: u32) -> f64 {
        self.generators.borrow_mut().entry(site).or_insert_with(|| SeededRandom::new(seed)).number()
    }

    /// Notes a warning that came before the first row; true of one that has come so.
    fn is_repeated(&self, error: &Error) -> bool {
        let mut before = self.early_warnings.borrow_mut();
        if self.early.get() {
            before.push(error.message().to_string());
            return false;
        }
        !before.is_empty() && before.iter().any(|message| *message == error.message())
    }

    pub fn take_raised(&self) -> Option<Error> {
        self.raised.borrow_mut().take()
    }

    /// The context of a query block's expressions.
    pub fn cx<'b>(&'b self, frame: &'b [Value], outer: Option<&'b EvalCx<'b>>) -> EvalCx<'b> {
        EvalCx { frame, outer, params: self.params, env: self }
    }

    /// Locks a plan's table and gives the storage's handle of it; an error if DDL has changed it since
    /// the plan was made.
    pub fn open_table(&self, def: &TableRef, mode: LockMode) -> Result<Arc<Table>> {
        if let Some(part) = self.part {
            return part.table(def.id);
        }
        let table = match def.options.temporary {
            // No other session changes it.
            true => self.catalog.temporary(&def.database, &def.name),
            false => {
                let mut txn = self.txn.borrow_mut();
                let held = txn.table_lock(def.id);
                let wait = LockPolicy::Wait(self.table_lock_wait);
                let table = self.catalog.open_table(&mut txn, &def.database, &def.name, mode, wait)?;
                // LOCK TABLES came after the statement was admitted and did not see its lock.
                let writes = mode != LockMode::IS;
                if held.is_none() && self.server.is_locked_by_others(&def.database, &def.name, writes, txn.table_locks()) {
                    txn.give_back_table(def.id);
                    return Err(Error::stale_plan());
                }
                table
            }
        };
        match table {
            Some(table) if table.def.schema_version == def.schema_version && table.def.id == def.id => Ok(table),
            Some(_) => Err(Error::stale_plan()),
            None => Err(Error::new(&ER_NO_SUCH_TABLE, &[&def.database, &def.name])),
        }
    }

    pub fn lock_wait(&self) -> LockPolicy {
        LockPolicy::Wait(Duration::from_millis(self.lock_wait_ms_max))
    }

    /// Accounts for memory that is kept until the statement ends (`Kept`: until it is dropped); error 1041 when the statement has too much, or
    /// all together.
    pub fn keep_bytes(&self, bytes: usize) -> Result<()> {
        let total = self.memory.add(bytes);
        if total <= self.memory_bytes_max {
            return self.reserve.cover(total);
        }
        Err(Error::new(&vaquita_types::errno::ER_OUT_OF_RESOURCES, &[]))
    }

    /// Error 1041 where there is no room for `bytes`, which are needed for a moment.
    pub fn check_room(&self, bytes: usize) -> Result<()> {
        if bytes <= self.bytes_left() {
            return Ok(());
        }
        Err(Error::new(&vaquita_types::errno::ER_OUT_OF_RESOURCES, &[]))
    }

    /// Bytes that an operator may keep before it gives rows to the disk, if the statement keeps twice as much. It is less where the server is
    /// short of memory.
    pub fn operator_bytes_max(&self) -> usize {
        let room = memory::room().max(OPERATOR_BYTES_MIN);
        self.store.options().operator_bytes_max.min(self.memory_bytes_max / 4).min(room)
    }

    /// Bytes that the statement may still keep.
    pub fn bytes_left(&self) -> usize {
        self.memory_bytes_max.saturating_sub(self.memory.bytes())
    }

    /// An operator that keeps `own_bytes` should give rows to the disk: one that has its share, and a smaller one if many operators have left
    /// little. A part of a statement gives up instead, and the statement works alone (`parallel`).
    pub fn is_short_of_memory(&self, own_bytes: impl Fn() -> usize) -> bool {
        let limit = self.operator_bytes_max();
        let total = self.memory.bytes();
        if total <= limit * 2 || self.part.is_some() {
            return false;
        }
        let share = if total > limit * 3 { limit / SMALL_SHARE } else { limit };
        own_bytes() >= share
    }
}

/// What both environments of expressions pass on to the session.
macro_rules! forward_to_session {
    () => {
        fn statement_time_us(&self) -> i64 {
            self.session.statement_time_us()
        }

        fn clock_us(&self) -> i64 {
            self.session.clock_us()
        }

        fn time_zone(&self) -> &TimeZone {
            self.session.time_zone()
        }

        fn sql_mode(&self) -> u64 {
            self.session.sql_mode()
        }

        fn run_settings(&self) -> &RunSettings {
            self.session.run_settings()
        }

        fn user_var(&self, name: &str) -> Value {
            self.session.user_var(name)
        }

        fn set_user_var(&self, name: &str, value: Value) -> Result<()> {
            self.session.set_user_var(name, value)
        }

        fn sys_var(&self, scope: VarScope, name: &str) -> Result<Value> {
            self.session.sys_var(scope, name)
        }

        fn random(&self) -> f64 {
            self.session.random()
        }

        fn random_bytes(&self, out: &mut [u8]) {
            self.session.random_bytes(out);
        }

        fn session(&self) -> Result<&dyn vaquita_plan::env::AskSession> {
            self.session.ask()
        }
    };
}

pub(crate) use forward_to_session;

/// The environment of expressions without rows or subqueries: defaults, SET, LIMIT of SHOW ….
pub struct Constants<'a> {
    pub session: &'a dyn SessionEnv,
}

impl Constants<'_> {
    pub fn cx(&self) -> EvalCx<'_> {
        EvalCx { frame: &[], outer: None, params: &[], env: self }
    }
}

/// The environment of expressions whose values are written.
pub(crate) struct Writing<'a> {
    pub session: &'a dyn SessionEnv,
    pub strict: bool,
    /// The first warning that is an error.
    pub raised: RefCell<Option<Error>>,
}

impl Env for Writing<'_> {
    forward_to_session!();

    fn warn(&self, level: Level, error: Error) {
        if self.strict && level == Level::Warning && fails_strict(error.code()) {
            self.raised.borrow_mut().get_or_insert(error);
        } else {
            self.session.warn(level, error);
        }
    }

    fn check_interrupt(&self) -> Result<()> {
        self.session.check_interrupt()
    }

    fn subquery(&self, _: &Subquery, _: &EvalCx<'_>) -> Result<SubqueryRows> {
        Err(Error::unsupported("subqueries here"))
    }
}

impl Env for Constants<'_> {
    forward_to_session!();

    fn warn(&self, level: Level, error: Error) {
        self.session.warn(level, error);
    }

    fn check_interrupt(&self) -> Result<()> {
        self.session.check_interrupt()
    }

    fn subquery(&self, _: &Subquery, _: &EvalCx<'_>) -> Result<SubqueryRows> {
        Err(Error::unsupported("subqueries here"))
    }
}
