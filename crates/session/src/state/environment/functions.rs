//! Functions that ask the session or the server: CONNECTION_ID(), SLEEP(), GET_LOCK() ….

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use vaquita_exec::context::thread_id;
use vaquita_types::errno::{ER_SP_DOES_NOT_EXIST, ER_USER_LOCK_OVERLONG_NAME, ER_USER_LOCK_WRONG_NAME, ER_WRONG_ARGUMENTS};
use vaquita_types::{ColumnType, Error, Result, Value};

use super::Environment;

/// Characters of the name of a lock.
const LOCK_NAME_CHARS_MAX: usize = 64;
/// Between two looks at the interrupt of a session that sleeps.
const LOOK_MS: u64 = 20;

impl Environment {
    pub(super) fn function(&self, name: &str, args: &[Value]) -> Result<Value> {
        Ok(match (name, args) {
            ("DATABASE", _) => self.database().map_or(Value::Null, Value::from),
            ("USER", _) => self.user.as_str().into(),
            ("CURRENT_USER", _) => self.account.as_str().into(),
            ("CURRENT_ROLE", _) => "NONE".into(),
            ("CONNECTION_ID", _) => Value::UInt(self.client.id),
            ("VERSION", _) => crate::server::VERSION.into(),
            ("ICU_VERSION", _) => "77.1".into(),
            ("ROW_COUNT", _) => Value::Int(self.diagnostics.row_count()),
            ("FOUND_ROWS", _) => Value::UInt(self.diagnostics.found_rows()),
            ("LAST_INSERT_ID", []) => Value::UInt(self.ids.last()),
            ("LAST_INSERT_ID", [id]) => self.set_last_insert_id_to(id),
            ("UUID_SHORT", _) => Value::UInt(uuid_short()),
            ("SLEEP", [seconds]) => self.sleep(seconds)?,
            ("GET_LOCK", [name, timeout]) => self.get_lock(name, timeout)?,
            ("RELEASE_LOCK", [name]) => {
                let released = self.server.user_locks.release(self.client.id, &lock_name(name)?);
                released.map_or(Value::Null, Value::bool)
            }
            ("RELEASE_ALL_LOCKS", _) => Value::UInt(self.server.user_locks.release_all(self.client.id)),
            ("IS_FREE_LOCK", [name]) => Value::bool(self.server.user_locks.owner(&lock_name(name)?).is_none()),
            ("IS_USED_LOCK", [name]) => self.server.user_locks.owner(&lock_name(name)?).map_or(Value::Null, Value::UInt),
            ("PS_CURRENT_THREAD_ID", _) => Value::UInt(thread_id(self.client.id)),
            ("PS_THREAD_ID", [Value::Null]) => Value::Null,
            ("PS_THREAD_ID", [id]) => {
                let id = vaquita_types::convert::to_u64(id, &ColumnType::null()).value;
                self.server.clients().get(id).map_or(Value::Null, |_| Value::UInt(thread_id(id)))
            }
            _ => return Err(Error::new(&ER_SP_DOES_NOT_EXIST, &[&"FUNCTION", &name])),
        })
    }

    fn set_last_insert_id_to(&self, id: &Value) -> Value {
        let number = match id {
            Value::Null => 0,
            Value::Int(i) => *i as u64,
            other => vaquita_types::convert::to_u64(other, &ColumnType::null()).value,
        };
        self.ids.give_last(number);
        if id.is_null() { Value::Null } else { Value::UInt(number) }
    }

    /// SLEEP(seconds); 1 if a KILL or `max_execution_time` ends it. The statement fails where it next looks, if it does.
    fn sleep(&self, seconds: &Value) -> Result<Value> {
        let seconds = vaquita_types::convert::to_f64(seconds, &ColumnType::null()).value;
        if seconds < 0.0 || seconds.is_nan() {
            return Err(Error::new(&ER_WRONG_ARGUMENTS, &[&"sleep."]));
        }
        let Some(until) = Duration::try_from_secs_f64(seconds).ok().and_then(|d| Instant::now().checked_add(d)) else {
            return Err(Error::new(&ER_WRONG_ARGUMENTS, &[&"sleep."]));
        };
        let mut undisturbed = true;
        self.server.blocking(&mut || {
            while undisturbed && Instant::now() < until {
                std::thread::sleep(until.saturating_duration_since(Instant::now()).min(Duration::from_millis(LOOK_MS)));
                undisturbed = self.client.interrupt.check_wait().is_ok();
            }
        });
        Ok(Value::bool(!undisturbed))
    }

    fn get_lock(&self, name: &Value, timeout: &Value) -> Result<Value> {
        let name = lock_name(name)?;
        let seconds = vaquita_types::convert::to_i64(timeout, &ColumnType::null()).value;
        let timeout = u64::try_from(seconds).ok().map(Duration::from_secs);
        let locks = &self.server.user_locks;
        if locks.owner(&name).is_none_or(|owner| owner == self.client.id) || timeout == Some(Duration::ZERO) {
            return Ok(Value::bool(locks.get(self.client.id, &name, Some(Duration::ZERO), &self.client.interrupt)?));
        }
        let mut got = Ok(false);
        self.server.blocking(&mut || got = locks.get(self.client.id, &name, timeout, &self.client.interrupt));
        got.map(Value::bool)
    }
}

/// Names of locks have no case.
fn lock_name(name: &Value) -> Result<String> {
    let text = vaquita_types::convert::to_text(name, &ColumnType::null());
    let name = if name.is_null() { "NULL".to_string() } else { String::from_utf8_lossy(&text).into_owned() };
    let chars = if name == "NULL" && text.is_empty() { 0 } else { name.chars().count() };
    if chars > LOCK_NAME_CHARS_MAX {
        return Err(Error::new(&ER_USER_LOCK_OVERLONG_NAME, &[&name, &LOCK_NAME_CHARS_MAX]));
    }
    if chars == 0 {
        return Err(Error::new(&ER_USER_LOCK_WRONG_NAME, &[&name]));
    }
    Ok(name.to_lowercase())
}

/// Increasing, and different after a restart: the seconds of the first call stand above the count.
fn uuid_short() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    if NEXT.load(Ordering::Relaxed) == 0 {
        let seconds = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).map_or(0, |d| d.as_secs());
        let _ = NEXT.compare_exchange(0, 1 << 56 | (seconds & 0xFFFF_FFFF) << 24, Ordering::Relaxed, Ordering::Relaxed);
    }
    NEXT.fetch_add(1, Ordering::Relaxed)
}
