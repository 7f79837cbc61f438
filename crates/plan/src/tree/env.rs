//! What a running expression may ask of the world around it.
//!
//! `EvalCx` is the row at hand plus an `Env`; the executor implements `Env` for a
//! statement of a session. All methods take `&self`: implementations use cells.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use vaquita_types::gtid::GtidSet;
use vaquita_types::temporal::TimeZone;
use vaquita_types::{ColumnType, Error, Result, Value};

use super::expr::{CompareOp, FullTextMatch, Subquery};
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
    /// Gives the rows to `f`, one after the other, as long as it wants more.
    fn each_row(&self, subquery: &Subquery, cx: &EvalCx<'_>, f: &mut dyn FnMut(&[Value]) -> Result<bool>) -> Result<()> {
        give_rows(&self.subquery(subquery, cx)?, f)
    }
    /// What looks up a value among the rows of a subquery of IN, ANY or ALL, if that gives the same as comparing it with each row.
    fn rows_of_subquery(&self, _subquery: &Subquery, _cx: &EvalCx<'_>) -> Result<Option<Arc<dyn RowsOfSubquery>>> {
        Ok(None)
    }
    /// The rank of the row with this clustered key, of those that a search finds; 0 if it is not among them.
    fn full_text_rank(&self, _search: &FullTextMatch, _key: &[u8], _cx: &EvalCx<'_>) -> Result<f32> {
        Err(Error::unsupported("MATCH here"))
    }
    /// For functions that ask the session; an error where there is none.
    fn session(&self) -> Result<&dyn AskSession> {
        Err(Error::unsupported("a function of the session here"))
    }
    /// Calls a stored function.
    fn stored_function(&self, call: &StoredCall<'_>) -> Result<Value> {
        Err(Error::unsupported(format_args!("the stored function {}.{} here", call.database, call.name)))
    }
    /// Error 1317 or 3024 once somebody has ended the statement: whatever may take long asks now and then.
    fn check_interrupt(&self) -> Result<()>;
}

/// A call of a stored function, with its arguments and their types.
pub struct StoredCall<'a> {
    pub database: &'a str,
    pub name: &'a str,
    /// User and host of the account for which it is called, if it is not the one whose statement runs.
    pub invoker: Option<(&'a str, &'a str)>,
    pub args: Vec<(Value, &'a ColumnType)>,
    /// What the plan takes its value for.
    pub ty: &'a ColumnType,
}

/// What functions ask of the session and of the server around it. It has no function's name and no argument as SQL gave it: those are
/// the business of the function (`func::ask_session`), and several may ask the same.
pub trait AskSession {
    fn database(&self) -> Option<String>;
    /// `user@host` as the client gave it.
    fn user(&self) -> &str;
    /// `user@host` of the account that it uses.
    fn account(&self) -> &str;
    fn server_version(&self) -> &str;
    /// User and host of the roles that are active.
    fn roles(&self) -> Vec<(String, String)>;
    /// All accounts with the roles that are granted to them; `None` if the session may not see them.
    fn role_grants(&self) -> Option<Vec<RoleGrants>>;
    fn connection_id(&self) -> u64;
    /// The number that performance_schema gives the thread of a connection; `None` if nobody has that connection.
    fn thread_id(&self, connection_id: u64) -> Option<u64>;
    /// Rows that the statement before changed; -1 if it gave rows.
    fn row_count(&self) -> i64;
    /// Rows that it would have found without LIMIT.
    fn found_rows(&self) -> u64;
    fn last_insert_id(&self) -> u64;
    fn give_last_insert_id(&self, id: u64);
    /// Greater than all before, also than those before a restart.
    fn unique_number(&self) -> u64;
    /// Waits; false if somebody has ended that.
    fn sleep(&self, duration: Duration) -> Result<bool>;
    /// Takes the user lock of that name, which is in lower case; false if others had it for so long. Without a time it waits for ever.
    fn lock(&self, name: &str, timeout: Option<Duration>) -> Result<bool>;
    /// `None` if nobody has the lock, false if it is another session's.
    fn unlock(&self, name: &str) -> Option<bool>;
    /// How many it had.
    fn unlock_all(&self) -> u64;
    /// The connection that has the lock.
    fn lock_owner(&self, name: &str) -> Option<u64>;
    /// What a file of the server holds, if that is at most `bytes_max`. `None`: the session may not read it.
    fn read_file(&self, name: &[u8], bytes_max: u64) -> Result<Option<FileRead>>;
    /// Waits until these transactions are executed; false if they were not for so long, or somebody has ended that.
    fn wait_for_gtids(&self, set: &GtidSet, time: Duration) -> Result<bool>;
    /// Waits until a channel has applied what its source has up to a position: how much was applied meanwhile, -1 if the time ran out.
    /// `None` if nobody applies it.
    fn wait_for_position(&self, channel: Option<&str>, place: (&str, u64), time: Duration) -> Result<Option<i64>>;
}

/// What a file holds, or that it is too long.
pub enum FileRead {
    Bytes(Vec<u8>),
    TooLong,
}

/// The roles that are granted to an account.
pub struct RoleGrants {
    pub user: String,
    pub host: String,
    /// User, host, and whether it may pass the role on.
    pub roles: Vec<(String, String, bool)>,
}

/// Gives rows to `f` as long as it wants more.
pub fn give_rows(rows: &[Vec<Value>], f: &mut dyn FnMut(&[Value]) -> Result<bool>) -> Result<()> {
    for row in rows {
        if !f(row)? {
            break;
        }
    }
    Ok(())
}

/// The rows of a subquery, one `Value` per output column.
pub type SubqueryRows = Arc<Vec<Vec<Value>>>;

/// The rows of a subquery, to be compared with, on any thread.
pub trait RowsOfSubquery: Send + Sync {
    fn is_empty(&self) -> bool;

    /// Whether `values op row` holds for some row: NULL if for none and one is unknown. `None`: it cannot be looked up.
    fn any(&self, values: &[Cow<'_, Value>], op: CompareOp, env: &dyn Env) -> Result<Option<Option<bool>>>;
}

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
#[derive(Clone, Copy, Debug)]
pub struct SeededRandom {
    pub seed1: u64,
    pub seed2: u64,
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
        self.seed1 = self.seed1.wrapping_mul(3).wrapping_add(self.seed2) % SeededRandom::MAX;
        self.seed2 = self.seed1.wrapping_add(self.seed2).wrapping_add(33) % SeededRandom::MAX;
        self.seed1 as f64 / SeededRandom::MAX as f64
    }
}
