//! Stored programs as they run: read from their text once per version, and shared by all sessions.
//!
//! A routine has its steps (`vaquita_parser::ast::Program`), the types of its variables, and for each step and expression the plan that a
//! session made last, which others take if it is current for them, too (`CachedPlan::is_current`, `BoundExpr::is_current`).

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use parking_lot::Mutex;
use vaquita_exec::system::routines::read_routine;
use vaquita_exec::system::triggers::read_trigger;
use vaquita_parser::ast::{
    Characteristics, CreateRoutine, CreateTrigger, Expr, Instruction, ProgramKind, Statement as Ast, Step, TriggerTime,
};
use vaquita_plan::expr::Expr as BoundTree;
use vaquita_plan::settings::PlanSettings;
use vaquita_plan::uses::UseList;
use vaquita_types::errno::ER_BAD_FIELD_ERROR;
use vaquita_types::memory::{self, BLOCK_BYTES_MIN};
use vaquita_types::schema::{StoredObject, TableDef};
use vaquita_types::{ColumnType, Error, Result};

use crate::known_programs::KnownPrograms;
use crate::state::environment::Environment;
use crate::state::prepared::{CachedPlan, Guessed, VariableType};

/// What a routine takes for each byte of its text.
const BYTES_PER_TEXT_BYTE: usize = 32;

/// An expression of a program.
pub struct BoundExpr {
    pub expr: BoundTree,
    /// It has subqueries or calls functions.
    pub needs_statement: bool,
    pub catalog_version: u64,
    pub settings: Arc<PlanSettings>,
    pub guessed: Guessed,
    /// As those of `CachedPlan`.
    pub untrue: Box<[BoundTree]>,
    pub variables: Box<[VariableType]>,
    /// Of a CASE's operand, which has the type of its value: what it was.
    pub operand: Option<ColumnType>,
    pub uses: UseList,
    pub allowed_under: AtomicU64,
}

impl BoundExpr {
    pub fn is_current(&self, catalog_version: u64, now: &Arc<PlanSettings>, env: &Environment) -> bool {
        self.catalog_version == catalog_version
            && (Arc::ptr_eq(&self.settings, now) || self.settings == *now)
            && self.variables.iter().all(|(variable, ty)| variable.type_in(env) == *ty)
    }
}

/// A column of OLD or NEW, which is a variable of a trigger.
pub struct TriggerColumn {
    pub variable: usize,
    /// In the table.
    pub position: usize,
    pub is_new: bool,
    pub is_read: bool,
    pub is_set: bool,
    /// The trigger may give it another value.
    is_open: bool,
}

pub struct Routine {
    pub object: Arc<StoredObject>,
    pub ast: CreateRoutine,
    /// Of each variable; NULL's for those that take any value.
    pub types: Vec<ColumnType>,
    /// What a function gives; NULL's for a procedure.
    pub returns: ColumnType,
    /// The first expression of each step, and behind the last how many there are.
    pub expressions: Vec<usize>,
    pub bound: Vec<Mutex<Option<Arc<BoundExpr>>>>,
    /// Of steps that are planned statements, and behind them of cursors.
    pub plans: Vec<Mutex<Option<Arc<CachedPlan>>>>,
    /// Of a trigger: the columns of OLD and NEW that it names, in the version of the table that it was read for.
    pub row: Vec<TriggerColumn>,
    table_version: u64,
    /// It may answer with rows.
    pub gives_rows: bool,
    bytes: usize,
}

impl Drop for Routine {
    fn drop(&mut self) {
        memory::freed(self.bytes);
    }
}

impl Routine {
    pub fn read(object: &Arc<StoredObject>) -> Result<Routine> {
        memory::ask(BLOCK_BYTES_MIN + object.text.len().saturating_mul(BYTES_PER_TEXT_BYTE))?;
        Routine::new(object, read_routine(object)?)
    }

    /// Errors of types that do not exist or are too large.
    pub fn new(object: &Arc<StoredObject>, ast: CreateRoutine) -> Result<Routine> {
        let program = &ast.program;
        let types = program.variables.iter().map(|variable| match &variable.ty {
            None => Ok(ColumnType::null()),
            Some(ty) => {
                vaquita_plan::data_type::column_type(&variable.name, &ty.ty, ty.collate.as_deref(), object.database_collation)
            }
        });
        let types = types.collect::<Result<_>>()?;
        let returns = ast.returns.as_ref().map_or(Ok(ColumnType::null()), |ty| {
            vaquita_plan::data_type::column_type(&object.name, &ty.ty, ty.collate.as_deref(), object.database_collation)
        })?;
        let mut expressions = Vec::with_capacity(program.steps.len() + 1);
        let mut count = 0;
        for step in &program.steps {
            expressions.push(count);
            count += expressions_of(step);
        }
        expressions.push(count);
        let plans = program.steps.len() + program.cursors.len();
        let bytes = object.text.len() * BYTES_PER_TEXT_BYTE;
        memory::allocated(bytes);
        Ok(Routine {
            types,
            returns,
            expressions,
            bound: (0..count).map(|_| Mutex::new(None)).collect(),
            plans: (0..plans).map(|_| Mutex::new(None)).collect(),
            row: Vec::new(),
            table_version: 0,
            gives_rows: program.steps.iter().any(gives_rows),
            object: object.clone(),
            ast,
            bytes,
        })
    }

    /// A trigger of a table. Error 1054 for a column that the table does not have.
    pub fn of_trigger(object: &Arc<StoredObject>, create: CreateTrigger, table: &TableDef) -> Result<Routine> {
        let CreateTrigger { time, definer, name, mut program, body, .. } = create;
        let mut row = Vec::with_capacity(program.row_columns.len());
        for column in &program.row_columns {
            let variable = &mut program.variables[column.variable];
            let row_name = if column.is_new { "NEW" } else { "OLD" };
            let position = table.column_position(&variable.name);
            let position = position.ok_or_else(|| Error::new(&ER_BAD_FIELD_ERROR, &[&variable.name, &row_name]))?;
            variable.name.clone_from(&table.columns[position].name);
            row.push(TriggerColumn {
                variable: column.variable,
                position,
                is_new: column.is_new,
                is_read: column.is_read,
                is_set: column.is_set,
                is_open: column.is_new && time == TriggerTime::Before,
            });
        }
        let ast = CreateRoutine {
            kind: ProgramKind::Trigger,
            if_not_exists: false,
            definer,
            name,
            parameters: 0,
            parameters_text: String::new(),
            returns: None,
            characteristics: Characteristics::default(),
            program,
            body,
        };
        let mut routine = Routine::new(object, ast)?;
        for column in &row {
            routine.types[column.variable] = table.columns[column.position].ty.clone();
        }
        (routine.row, routine.table_version) = (row, table.schema_version);
        Ok(routine)
    }

    /// Whether an OUT argument may be this variable.
    pub fn may_set(&self, variable: usize) -> bool {
        !self.row.iter().any(|column| column.variable == variable && !column.is_open)
    }

    /// As errors name it.
    pub fn qualified_name(&self) -> String {
        format!("{}.{}", self.object.database, self.object.name)
    }

    pub fn is(&self, other: &Routine) -> bool {
        let key = |routine: &Routine| routine.object.kind.key_of(&routine.object.name);
        self.object.database == other.object.database && self.object.kind == other.object.kind && key(self) == key(other)
    }
}

/// The expressions that the interpreter evaluates itself.
pub fn expression(step: &Step, at: usize) -> Option<&Expr> {
    match &step.instruction {
        Instruction::Set { value, .. } => value.as_ref().filter(|_| at == 0),
        Instruction::SetUserVar { value, .. } | Instruction::Return(value) => Some(value).filter(|_| at == 0),
        Instruction::JumpUnless { condition, .. } => Some(condition).filter(|_| at == 0),
        Instruction::Run(statement) => match &**statement {
            Ast::Call { args, .. } => args.get(at),
            _ => None,
        },
        _ => None,
    }
}

fn expressions_of(step: &Step) -> usize {
    (0..).take_while(|at| expression(step, *at).is_some()).count()
}

fn gives_rows(step: &Step) -> bool {
    let Instruction::Run(statement) = &step.instruction else { return false };
    match &**statement {
        Ast::Query(query) => query.into.is_none(),
        Ast::Show(_) | Ast::Describe { .. } | Ast::Explain(_) | Ast::TableMaintenance(_) | Ast::Execute { .. } => true,
        // The routine that it calls says so.
        _ => false,
    }
}

/// The trigger as it was read before for this version of its table, or reads it.
pub fn trigger(known: &KnownPrograms, object: &Arc<StoredObject>, table: &TableDef) -> Result<Arc<Routine>> {
    let key = (object.database.clone(), object.kind, object.kind.key_of(&object.name));
    let kept = known.find(&key).and_then(|program| program.downcast::<Routine>().ok());
    let is_current = |kept: &Arc<Routine>| kept.object.version == object.version && kept.table_version == table.schema_version;
    if let Some(kept) = kept.filter(is_current) {
        return Ok(kept);
    }
    memory::ask(BLOCK_BYTES_MIN + object.text.len().saturating_mul(BYTES_PER_TEXT_BYTE))?;
    let routine = Arc::new(Routine::of_trigger(object, read_trigger(object)?, table)?);
    known.keep(key, routine.clone());
    Ok(routine)
}

/// The routine as it was read before, or reads it.
pub fn routine(known: &KnownPrograms, object: &Arc<StoredObject>) -> Result<Arc<Routine>> {
    let key = (object.database.clone(), object.kind, object.kind.key_of(&object.name));
    let kept = known.find(&key).and_then(|program| program.downcast::<Routine>().ok());
    if let Some(kept) = kept.filter(|kept| kept.object.version == object.version) {
        return Ok(kept);
    }
    let routine = Arc::new(Routine::read(object)?);
    known.keep(key, routine.clone());
    Ok(routine)
}
