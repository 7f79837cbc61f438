//! What a running expression may ask of the world around it.
//!
//! `EvalCx` is the row at hand plus an `Env`; the executor implements `Env` for a
//! statement of a session. All methods take `&self`: implementations use cells.

use vaquita_types::temporal::TimeZone;
use vaquita_types::{Error, Result, Value};

use super::expr::Subquery;
use crate::settings::RunSettings;

/// Severity in SHOW WARNINGS.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    Note,
    Warning,
    Error,
}

/// The scope of a system variable reference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VarScope {
    /// `@@x`: the session's value if it has one, else the global one.
    Any,
    Session,
    Global,
}

pub trait Env {
    /// Microseconds since 1970 UTC at the statement's start: NOW() never changes within one.
    fn statement_time_us(&self) -> i64;
    /// The clock itself, for SYSDATE().
    fn clock_us(&self) -> i64;
    fn time_zone(&self) -> &TimeZone;
    /// Bits of `vaquita_types::sql_mode`.
    fn sql_mode(&self) -> u64;
    fn run_settings(&self) -> &RunSettings;
    fn warn(&self, level: Level, error: Error);
    fn user_var(&self, name: &str) -> Value;
    /// An error if variables take too much memory.
    fn set_user_var(&self, name: &str, value: Value) -> Result<()>;
    /// The value of `@@name`. What the server itself reads is typed: `run_settings`.
    fn sys_var(&self, scope: VarScope, name: &str) -> Result<Value>;
    /// A uniform number in [0, 1) for RAND().
    fn random(&self) -> f64;
    /// The next number of RAND(seed) at a place of the statement; `site` tells places apart.
    fn seeded_random(&self, _site: usize, seed: u32) -> f64 {
        SeededRandom::new(seed).number()
    }
    fn random_bytes(&self, out: &mut [u8]);
    /// Runs a subquery for the outer row in `cx`. Uncorrelated results are cached by the implementation.
    fn subquery(&self, subquery: &Subquery, cx: &EvalCx<'_>) -> Result<SubqueryRows>;
    /// Functions that ask the session or server (DATABASE, USER, CONNECTION_ID, LAST_INSERT_ID,
    /// ROW_COUNT, FOUND_ROWS, GET_LOCK, SLEEP, BENCHMARK …): by MySQL's upper-case name.
    fn session_function(&self, name: &str, args: &[Value]) -> Result<Value>;
    /// Error 1317 or 3024 once somebody has ended the statement: whatever may take long asks now and then.
    fn check_interrupt(&self) -> Result<()>;
}

/// The rows of a subquery, one `Value` per output column.
pub type SubqueryRows = std::sync::Arc<Vec<Vec<Value>>>;

/// The row at hand, the parameters and the world.
#[derive(Clone, Copy)]
pub struct EvalCx<'a> {
    /// The slots of the query block that is running.
    pub frame: &'a [Value],
    /// The context of the enclosing query block, for correlated subqueries.
    pub outer: Option<&'a EvalCx<'a>>,
    /// Values of `?`.
    pub params: &'a [Value],
    pub env: &'a dyn Env,
}

/// MySQL's two coupled linear generators (my_rnd).
#[derive(Clone, Debug)]
pub struct SeededRandom {
    seed1: u64,
    seed2: u64,
}

impl SeededRandom {
    const MAX: u64 = 0x3FFF_FFFF;

    pub fn new(n: u32) -> SeededRandom {
        SeededRandom {
            seed1: u64::from(n.wrapping_mul(0x10001).wrapping_add(55_555_555)) % SeededRandom::MAX,
            seed2: u64::from(n.wrapping_mul(0x1000_0001)) % SeededRandom::MAX,
        }
    }

    /// A number in [0, 1).
    pub fn number(&mut self) -> f64 {
        self.seed1 = (self.seed1 * 3 + self.seed2) % SeededRandom::MAX;
        self.seed2 = (self.seed1 + self.seed2 + 33) % SeededRandom::MAX;
        self.seed1 as f64 / SeededRandom::MAX as f64
    }
}
