//! Prepared statements of a session, and the plans that it keeps: of statements with ids (the binary protocol), of statements with names
//! (PREPARE), and of texts that differ in literals only (`texts`). Cursors of statements are `cursor`'s.
//!
//! A statement keeps its syntax tree and its plan; the plan is made again when the catalog's version, a setting that planning depends on
//! (`PlanSettings`) or the type of a variable in it has changed. Making plans is the session's matter.
//!
//! * PREPARED-1: statements of both kinds count towards `max_prepared_stmt_count`, and their memory towards the server's, as long as they
//!   are here (`OpenStatement`).

mod cursor;
mod texts;

use std::cell::RefCell;
use std::collections::HashMap;
use std::num::NonZeroU64;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use rustc_hash::FxHashMap;
use vaquita_exec::catalog::{RunNotes, are_untrue};
use vaquita_exec::context::SessionEnv;
use vaquita_parser::{Statement as Ast, StatementKind};
use vaquita_plan::catalog::Guesses;
use vaquita_plan::expr::Expr;
use vaquita_plan::node::Plan;
use vaquita_plan::param_texts::ReadAs;
use vaquita_plan::settings::PlanSettings;
use vaquita_plan::uses::UseList;
use vaquita_types::errno::{ER_PS_NO_RECURSION, ER_STMT_HAS_NO_OPEN_CURSOR, ER_UNKNOWN_STMT_HANDLER};
use vaquita_types::{ColumnType, Error, Result, Value};

pub use cursor::{Cursor, os_text};
pub use texts::{Planner, TextPlans};

use super::environment::Environment;
use crate::statement_events::KeptLine;
use crate::statements::OpenStatement;

#[derive(Default)]
pub struct PreparedStatements {
    /// The one that runs is taken out; its place stays.
    by_id: FxHashMap<u32, Option<Box<Prepared>>>,
    /// By names in lower case.
    by_name: HashMap<String, Prepared>,
    /// Names of those of `by_name` that run now, and have no plan of their own: CALL and its like.
    running: Vec<String>,
    last_id: u32,
    /// Values of `?` of the prepared statement that runs, if it is no plan.
    values: Vec<Value>,
    /// Which of the values are binary strings, if any is; such a parameter has the charset `binary`.
    binaries: Vec<bool>,
    texts: TextPlans,
}

pub struct Prepared {
    pub text: Arc<str>,
    /// The same without passwords, as others may see it.
    pub shown: Arc<str>,
    /// Where its executions are counted.
    pub line: Arc<KeptLine>,
    /// The current database when it was prepared.
    pub database: Option<String>,
    pub ast: Arc<Ast>,
    pub kind: StatementKind,
    /// That of what it explains, for EXPLAIN.
    pub counted: StatementKind,
    /// How many `?` it has.
    pub parameters: usize,
    pub plan: Option<Arc<CachedPlan>>,
    /// What COM_STMT_FETCH takes its rows from.
    pub cursor: Option<Box<Cursor>>,
    pub open: OpenStatement,
}

pub struct CachedPlan {
    pub plan: Plan,
    /// Of the plan, for the statistics of statements.
    pub shape: Option<NonZeroU64>,
    /// Those that it was asked to give its first parameters.
    pub types: Box<[ColumnType]>,
    /// What texts for its parameters are read as; empty if all stay texts.
    pub reads: Box<[Option<ReadAs>]>,
    /// Which of the values that it was made for are binary strings, if any is.
    pub binaries: Box<[bool]>,
    /// Its parameters that are compared with texts; empty if there are none.
    pub beside_texts: Box<[bool]>,
    /// Its parameters in patterns of LIKE that an index may find rows by; empty if there are none.
    pub in_patterns: Box<[bool]>,
    /// The texts that it was made for, of these; others are as good as any.
    pub patterns: Box<[Option<Box<[u8]>>]>,
    /// Texts among the values stay texts: for others the plan is made again.
    pub of_its_values: bool,
    pub guessed: Guessed,
    /// Conditions on its parameters that are not true: for values of which one is, the plan is made again.
    pub untrue: Box<[Expr]>,
    pub catalog_version: u64,
    /// Of the session when it was made.
    pub settings: Arc<PlanSettings>,
    /// The types of variables that it was made with.
    pub variables: Box<[VariableType]>,
    pub uses: UseList,
    /// The `Access::serial` under which `uses` were allowed last.
    pub allowed_under: AtomicU64,
    /// Some of `uses` counts for definers of views.
    pub has_definers: bool,
}

/// A pattern with more bytes is not worth a plan of its own.
const PATTERN_BYTES_MAX: usize = 1 << 10;

impl CachedPlan {
    /// It would be made the same again.
    #[inline]
    pub fn is_current(&self, catalog_version: u64, env: &Environment) -> bool {
        self.is_current_under(catalog_version, &env.settings.plan, env)
    }

    /// The texts among the values that a plan is to be made for: of patterns that do not begin with any characters. It is empty if there are
    /// none.
    pub fn patterns_of(&self, values: &[Value], binaries: &[bool]) -> Box<[Option<Box<[u8]>>]> {
        if self.in_patterns.is_empty() {
            return Box::default();
        }
        let pattern = |(n, (is_in, value)): (usize, (&bool, &Value))| match value {
            Value::Bytes(text) if *is_in && text.len() <= PATTERN_BYTES_MAX && binaries.get(n) != Some(&true) => {
                text.first().filter(|first| !matches!(first, b'%' | b'_')).map(|_| text.clone())
            }
            _ => None,
        };
        let patterns: Box<[_]> = self.in_patterns.iter().zip(values).enumerate().map(pattern).collect();
        if patterns.iter().all(Option::is_none) { Box::default() } else { patterns }
    }

    /// It was made for values like these.
    #[inline]
    pub fn is_for(&self, values: &[Value], session: &dyn SessionEnv) -> bool {
        self.untrue.is_empty() || are_untrue(&self.untrue, values, session)
    }

    /// The same with other settings than the session's.
    #[inline]
    pub fn is_current_under(&self, catalog_version: u64, now: &Arc<PlanSettings>, env: &Environment) -> bool {
        self.catalog_version == catalog_version
            && (Arc::ptr_eq(&self.settings, now) || self.settings == *now)
            && self.variables.iter().all(|(variable, ty)| variable.type_in(env) == *ty)
    }
}

/// Whether a plan was chosen by values that others may come for, and how it did with the last ones.
pub struct Guessed {
    guesses: Guesses,
    examined_many: AtomicBool,
}

/// An execution that looks at so many rows takes much longer than to make a plan.
const MANY_ROWS: u64 = 2000;

impl Guessed {
    pub fn new(guesses: Guesses) -> Guessed {
        Guessed { guesses, examined_many: AtomicBool::new(false) }
    }

    #[inline]
    pub fn is_any(&self) -> bool {
        self.guesses != Guesses::None
    }

    /// An execution has looked at so many rows.
    #[inline]
    pub fn note_examined(&self, rows: u64) {
        if self.guesses != Guesses::None {
            self.examined_many.store(rows >= MANY_ROWS, Ordering::Relaxed);
        }
    }

    /// For other values another plan may be better by so much that it is worth to look.
    #[inline]
    pub fn is_outgrown(&self) -> bool {
        match self.guesses {
            Guesses::None => false,
            Guesses::Missing => true,
            Guesses::Made => self.examined_many.load(Ordering::Relaxed),
        }
    }
}

pub type VariableType = (Variable, Option<ColumnType>);

pub enum Variable {
    User(Box<str>),
    System(Box<str>),
}

impl Variable {
    pub fn type_in(&self, env: &Environment) -> Option<ColumnType> {
        match self {
            Variable::User(name) => env.user_variables.type_of(name),
            Variable::System(name) => env.sys_var_type(name).ok(),
        }
    }
}

/// What is asked for while a plan is made, and may be another when it runs.
#[derive(Default)]
pub struct PlanNotes {
    variables: RefCell<Vec<VariableType>>,
    pub run: RunNotes,
}

impl PlanNotes {
    /// The type that the variable has now.
    pub fn note(&self, variable: Variable, env: &Environment) -> Option<ColumnType> {
        let ty = variable.type_in(env);
        self.variables.borrow_mut().push((variable, ty.clone()));
        ty
    }

    /// Whether it was chosen by values, the conditions that are not true of them, and the variables.
    pub fn into_parts(self) -> (Guessed, Box<[Expr]>, Box<[VariableType]>) {
        let RunNotes { guesses, untrue } = self.run;
        (Guessed::new(guesses.get()), untrue.into_inner().into(), self.variables.into_inner().into())
    }
}

impl PreparedStatements {
    /// Keeps a statement; its id, which is never 0.
    pub fn add(&mut self, prepared: Prepared) -> u32 {
        self.last_id = self.last_id.wrapping_add(1).max(1);
        self.by_id.insert(self.last_id, Some(Box::new(prepared)));
        self.last_id
    }

    /// Takes a statement out while it runs; `put_back` follows.
    #[inline]
    pub fn take(&mut self, id: u32) -> Result<Box<Prepared>> {
        self.by_id.get_mut(&id).and_then(Option::take).ok_or_else(|| unknown(id))
    }

    #[inline]
    pub fn put_back(&mut self, id: u32, prepared: Box<Prepared>) {
        if let Some(place) = self.by_id.get_mut(&id) {
            *place = Some(prepared);
        }
    }

    /// False: there is none.
    pub fn close(&mut self, id: u32) -> bool {
        self.by_id.remove(&id).is_some()
    }

    fn prepared(&mut self, id: u32) -> Option<&mut Prepared> {
        self.by_id.get_mut(&id)?.as_deref_mut()
    }

    pub fn take_cursor(&mut self, id: u32) -> Result<Box<Cursor>> {
        let prepared = self.prepared(id).ok_or_else(|| unknown(id))?;
        prepared.cursor.take().ok_or_else(|| Error::new(&ER_STMT_HAS_NO_OPEN_CURSOR, &[&id]))
    }

    pub fn put_back_cursor(&mut self, id: u32, cursor: Box<Cursor>) {
        if let Some(prepared) = self.prepared(id) {
            prepared.cursor = Some(cursor);
        }
    }

    pub fn close_cursor(&mut self, id: u32) -> Result<()> {
        self.prepared(id).ok_or_else(|| unknown(id))?.cursor = None;
        Ok(())
    }

    /// A statement of PREPARE.
    pub fn named(&self, name: &str) -> Option<&Prepared> {
        self.by_name.get(&name.to_lowercase())
    }

    /// It runs, until `leave_named`. Error 1444: it runs already.
    pub fn enter_named(&mut self, name: &str) -> Result<()> {
        self.refuse_running(name)?;
        self.running.push(name.to_lowercase());
        Ok(())
    }

    pub fn leave_named(&mut self) {
        self.running.pop();
    }

    /// Error 1444 for a statement that runs.
    pub fn refuse_running(&self, name: &str) -> Result<()> {
        match self.running.is_empty() || !self.running.contains(&name.to_lowercase()) {
            true => Ok(()),
            false => Err(Error::new(&ER_PS_NO_RECURSION, &[])),
        }
    }

    pub fn set_named(&mut self, name: &str, prepared: Prepared) {
        self.by_name.insert(name.to_lowercase(), prepared);
    }

    /// Taken out while its plan is looked at; `set_named` puts it back.
    pub fn take_named(&mut self, name: &str) -> Option<Prepared> {
        self.by_name.remove(&name.to_lowercase())
    }

    /// False: there is none.
    pub fn close_named(&mut self, name: &str) -> bool {
        self.by_name.remove(&name.to_lowercase()).is_some()
    }

    /// All statements; plans of texts stay.
    pub fn close_all(&mut self) {
        self.by_id.clear();
        self.by_name.clear();
    }

    /// Values of `?` of the prepared statement that runs, if it is no plan.
    #[inline]
    pub fn values(&self) -> &[Value] {
        &self.values
    }

    /// Which values of the execution that begins are binary strings; which of the one around it were.
    pub fn set_binaries(&mut self, binaries: Vec<bool>) -> Vec<bool> {
        std::mem::replace(&mut self.binaries, binaries)
    }

    pub fn binaries(&self) -> &[bool] {
        &self.binaries
    }

    pub fn set_values(&mut self, values: Vec<Value>) {
        self.values = values;
    }

    pub fn take_values(&mut self) -> Vec<Value> {
        std::mem::take(&mut self.values)
    }

    /// Taken out while a text runs, and put back.
    #[inline]
    pub fn texts(&mut self) -> &mut TextPlans {
        &mut self.texts
    }
}

fn unknown(id: u32) -> Error {
    Error::new(&ER_UNKNOWN_STMT_HANDLER, &[&id, &"mysql_stmt_precheck"])
}
