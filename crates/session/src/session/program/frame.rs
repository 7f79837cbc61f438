//! A call of a stored program: its variables, open cursors and running handlers, and the plans that it has at hand.

use std::sync::Arc;

use vaquita_plan::env::Level;
use vaquita_plan::settings::PlanSettings;
use vaquita_types::memory::{BLOCK_BYTES_MIN, Reserve};
use vaquita_types::{ColumnType, Error, Result, Value};

use crate::programs::{BoundExpr, Routine};
use crate::state::prepared::CachedPlan;

pub struct Frame {
    pub routine: Arc<Routine>,
    pub values: Vec<Value>,
    pub types: Vec<ColumnType>,
    pub cursors: Vec<Option<OpenCursor>>,
    pub handlers: Vec<ActiveHandler>,
    /// Plans and expressions that were found current and allowed under `version` and `settings`.
    pub bound: Vec<Option<Arc<BoundExpr>>>,
    pub plans: Vec<Option<Arc<CachedPlan>>>,
    /// What RETURN has given.
    pub returned: Option<(Value, ColumnType)>,
    version: u64,
    settings: Arc<PlanSettings>,
    access: u64,
    /// Of the values of variables, and of what is as long as the program.
    bytes: usize,
    memory: Reserve,
}

pub struct OpenCursor {
    pub columns: Vec<ColumnType>,
    pub rows: std::vec::IntoIter<Vec<Value>>,
    pub _memory: Reserve,
}

/// A handler whose statement runs.
pub struct ActiveHandler {
    /// Its steps.
    pub steps: std::ops::RangeInclusive<usize>,
    /// Where CONTINUE goes on.
    pub resume: usize,
    pub condition: super::conditions::Raised,
    /// All of the statement that raised it, for GET STACKED DIAGNOSTICS and RESIGNAL.
    pub conditions: Vec<(Level, Error)>,
    /// How many conditions had been pushed when it began: those go with it.
    pub pushed: u64,
}

impl Frame {
    /// Error 1041 where there is no room for its variables.
    pub fn new(routine: Arc<Routine>, settings: &Arc<PlanSettings>) -> Result<Frame> {
        let bytes = routine.types.len() * (size_of::<Value>() + size_of::<ColumnType>())
            + (routine.bound.len() + routine.plans.len()) * size_of::<usize>();
        let memory = Reserve::default();
        memory.keep(bytes)?;
        Ok(Frame {
            bytes,
            memory,
            values: vec![Value::Null; routine.types.len()],
            types: routine.types.clone(),
            cursors: routine.ast.program.cursors.iter().map(|_| None).collect(),
            handlers: Vec::new(),
            bound: vec![None; routine.bound.len()],
            plans: vec![None; routine.plans.len()],
            version: 0,
            settings: settings.clone(),
            access: 0,
            returned: None,
            routine,
        })
    }

    /// As a new one of the same routine and settings.
    pub fn again(mut self) -> Result<Frame> {
        for variable in 0..self.values.len() {
            if !self.values[variable].is_null() {
                self.set(variable, Value::Null)?;
            }
        }
        self.types.clone_from(&self.routine.types);
        self.cursors.fill_with(|| None);
        self.handlers.clear();
        self.returned = None;
        Ok(self)
    }

    /// Error 1041 where there is no room for a long value.
    #[inline]
    pub fn set(&mut self, variable: usize, value: Value) -> Result<()> {
        let (more, less) = (long_bytes(&value), long_bytes(&self.values[variable]));
        if more != less {
            self.memory.keep(self.bytes + more - less)?;
            self.bytes = self.bytes + more - less;
        }
        self.values[variable] = value;
        Ok(())
    }

    /// Forgets what is at hand if anything that it depends on has changed.
    #[inline]
    pub fn look_again(&mut self, version: u64, settings: &Arc<PlanSettings>, access: u64) {
        if self.version == version && self.access == access && Arc::ptr_eq(&self.settings, settings) {
            return;
        }
        self.bound.fill(None);
        self.plans.fill(None);
        (self.version, self.access) = (version, access);
        self.settings = settings.clone();
    }
}

/// What counts of a value: nothing of a short one, nor of one that the allocator counts.
#[inline]
fn long_bytes(value: &Value) -> usize {
    const COUNTED: std::ops::Range<usize> = 256..BLOCK_BYTES_MIN;
    match value {
        Value::Bytes(bytes) if COUNTED.contains(&bytes.len()) => bytes.len(),
        _ => 0,
    }
}
