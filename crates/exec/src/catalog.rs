//! The planner's view of the stored catalog, with the session's temporary tables.

use std::cell::{Cell, RefCell};
use std::ops::Bound;
use std::sync::Arc;

use vaquita_parser::Statement;
use vaquita_parser::ast::{Instruction, Program};
use vaquita_plan::catalog::{Catalog as PlannerCatalog, Guesses, StoredFunction, TableStatistics, ValueRange, View};
use vaquita_plan::data_type::column_type;
use vaquita_plan::eval::{is_known_when_run, is_no_truth, is_untrue, known_value};
use vaquita_plan::expr::{Expr, ExprKind};
use vaquita_plan::visit;
use vaquita_storage::{KeyRange, SessionCatalog, Transaction, TxnOptions};
use vaquita_types::schema::{ObjectKind, StoredObject, TableDef, TableRef};
use vaquita_types::{Error, Result, Value};

use crate::context::{Constants, SessionEnv};
use crate::system::routines::read_routine;

/// It changes or locks rows, or calls what may.
fn may_change(program: &Program) -> bool {
    let changes = |statement: &Statement| match statement {
        Statement::Query(query) => !query.locks.is_empty(),
        Statement::Do(_) | Statement::Signal(_) | Statement::GetDiagnostics(_) => false,
        _ => true,
    };
    let is_stored = |name: &String| vaquita_plan::func::lookup(name).is_none();
    program.calls.iter().any(is_stored)
        || program.cursors.iter().any(changes)
        || program.steps.iter().any(|step| matches!(&step.instruction, Instruction::Run(statement) if changes(statement)))
}

/// What the record of a function says to the planner.
pub fn function_of(object: &StoredObject) -> Result<StoredFunction> {
    let create = read_routine(object)?;
    let returns = create.returns.ok_or_else(|| Error::internal("a function without a type"))?;
    let returns = column_type(&object.name, &returns.ty, returns.collate.as_deref(), object.database_collation)?;
    let (database, name) = (object.database.clone(), object.name.clone());
    let changes = may_change(&create.program);
    let deterministic = object.characteristic("deterministic").is_some();
    Ok(StoredFunction { database, name, parameters: create.parameters, returns, changes, deterministic })
}

/// An index of fewer bytes is not asked how many of them are in a range.
const RANGED_BYTES_MIN: u64 = 256 << 10;

pub struct PlanCatalog<'a> {
    catalog: &'a SessionCatalog,
    /// The session's, whose own rows count too.
    txn: Option<&'a RefCell<Transaction>>,
    run: Option<FirstRun<'a>>,
}

/// What is known of the first execution of a plan.
struct FirstRun<'a> {
    session: &'a dyn SessionEnv,
    params: &'a [Value],
    notes: &'a RunNotes,
}

/// What a plan took from the values that it was made for.
#[derive(Default)]
pub struct RunNotes {
    pub guesses: Cell<Guesses>,
    /// Conditions on parameters that are not true for them.
    pub untrue: RefCell<Vec<Expr>>,
}

/// What `RunNotes` says of these conditions can be said for these values, too.
pub fn are_untrue(conditions: &[Expr], params: &[Value], session: &dyn SessionEnv) -> bool {
    conditions.iter().all(|condition| is_untrue(condition, params, &Constants { session }))
}

impl<'a> PlanCatalog<'a> {
    pub fn new(catalog: &'a SessionCatalog) -> PlanCatalog<'a> {
        PlanCatalog { catalog, txn: None, run: None }
    }

    /// Reads what is committed.
    fn reader(&self) -> Transaction {
        self.catalog.store().begin(TxnOptions { autocommit: true, read_only: true, ..TxnOptions::default() })
    }

    pub fn within(catalog: &'a SessionCatalog, txn: &'a RefCell<Transaction>) -> PlanCatalog<'a> {
        PlanCatalog { catalog, txn: Some(txn), run: None }
    }

    /// The plan is made to run with these values of the parameters, as far as they are there. `notes` gets what it took from them.
    pub fn for_run(self, session: &'a dyn SessionEnv, params: &'a [Value], notes: &'a RunNotes) -> PlanCatalog<'a> {
        PlanCatalog { run: Some(FirstRun { session, params, notes }), ..self }
    }
}

impl PlannerCatalog for PlanCatalog<'_> {
    fn table(&self, database: &str, name: &str) -> Result<Option<TableRef>> {
        match crate::system::table(database, name) {
            Some(table) => Ok(Some(table)),
            None => Ok(self.catalog.table(database, name)?.map(|table| table.def.clone())),
        }
    }

    fn permanent(&self, database: &str, name: &str) -> Result<Option<TableRef>> {
        match crate::system::table(database, name) {
            Some(table) => Ok(Some(table)),
            None => Ok(self.catalog.permanent(database, name)?.map(|table| table.def.clone())),
        }
    }

    fn view(&self, database: &str, name: &str) -> Result<Option<Arc<View>>> {
        let object = self.catalog.object(database, ObjectKind::View, name)?;
        object.map(|object| View::parse(object).map(Arc::new)).transpose()
    }

    fn function(&self, database: &str, name: &str) -> Result<Option<StoredFunction>> {
        self.catalog.object(database, ObjectKind::Function, name)?.map(|object| function_of(&object)).transpose()
    }

    fn database_exists(&self, database: &str) -> Result<bool> {
        Ok(self.catalog.database(database)?.is_some() || crate::system::is_system_database(database))
    }

    /// The exact row count, and what ANALYZE or a sample found, scaled to it.
    fn statistics(&self, def: &TableDef) -> TableStatistics {
        let Ok(Some(table)) = self.catalog.table_of(def) else { return TableStatistics::default() };
        let txn = self.reader();
        let own = self.txn.map_or(0, |txn| table.rows_added(&txn.borrow()));
        let committed = table.row_count(&txn).unwrap_or(0);
        let rows = committed.saturating_add_signed(own);
        let Some(found) = table.statistics_for(self.catalog.store(), &txn, committed) else {
            return TableStatistics { rows, ..TableStatistics::default() };
        };
        let scale = |distinct: &u64| match (*distinct, found.rows) {
            // Nearly unique prefixes grow with the table; the others are taken as they were.
            (n, before) if n > before / 2 && before > 0 => (u128::from(n) * u128::from(rows) / u128::from(before)) as u64,
            (n, _) => n,
        };
        let distinct = found.indexes.iter().map(|index| (index.id, index.distinct.iter().map(scale).collect())).collect();
        TableStatistics { rows, is_exact: false, distinct }
    }

    fn sample(&self, def: &TableDef, columns: &[usize], give: &mut dyn FnMut(&[Value]) -> bool) -> Result<()> {
        let Some(table) = self.catalog.table_of(def)? else { return Ok(()) };
        let txn = self.reader();
        let rows = table.row_count(&txn)?;
        let mut values = vec![Value::Null; columns.len()];
        table.sample_rows(self.catalog.store(), &txn, rows, &mut |row| {
            for (value, column) in values.iter_mut().zip(columns) {
                row.value_into(*column, value)?;
            }
            Ok(give(&values))
        })
    }

    fn known_value(&self, constant: &Expr) -> Option<Value> {
        let FirstRun { session, params, notes: RunNotes { guesses, .. } } = self.run.as_ref()?;
        if !is_known_when_run(constant) {
            return None;
        }
        let is_missing = |part: &Expr| matches!(part.kind, ExprKind::Param(n) if n >= params.len());
        if visit::any(constant, &is_missing) {
            guesses.set(Guesses::Missing);
            return None;
        }
        let value = known_value(constant, params, &Constants { session: *session })?;
        if guesses.get() == Guesses::None {
            guesses.set(Guesses::Made);
        }
        Some(value)
    }

    fn assumes_untrue(&self, condition: &Expr) -> bool {
        let Some(FirstRun { notes, .. }) = &self.run else { return false };
        let is_untrue = self.known_value(condition).as_ref().is_some_and(is_no_truth);
        if is_untrue {
            notes.untrue.borrow_mut().push(condition.clone());
        }
        is_untrue
    }

    /// By the bytes that RocksDB says there are in the range.
    fn share_of_range(&self, def: &TableDef, index: usize, range: &ValueRange<'_>) -> Option<f64> {
        let table = self.catalog.table_of(def).ok()??;
        let codec = table.codec.indexes().get(index)?;
        let bound = |given: Option<(&Value, bool)>| match given {
            Some((value, true)) => Bound::Included(value.clone()),
            Some((value, false)) => Bound::Excluded(value.clone()),
            None => Bound::Unbounded,
        };
        let (low, high) = (bound(range.low), bound(range.high));
        let part = codec.range(range.equal, low.as_ref(), high.as_ref()).ok()?;
        let bytes = |range: &KeyRange| self.catalog.store().range_bytes(range).ok();
        let all = bytes(&codec.all())?;
        // Less is a few blocks, whose bytes are not told apart.
        (all >= RANGED_BYTES_MIN).then_some(bytes(&part)? as f64 / all as f64)
    }
}
