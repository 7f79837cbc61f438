//! What SET was given, as a value of the variable.
//!
//! MySQL's rules: a wrong type is error 1232, a value that is none of the variable's is 1231, an integer beyond the range is
//! clamped with warning 1292 (under STRICT_ALL_TABLES: error 1231). NULL is a value of few variables.

use vaquita_exec::ddl::options::known_engine;
use vaquita_plan::locale;
use vaquita_types::charset::{Charset, Collation, CollationId};
use vaquita_types::errno::{
    ER_GTID_MODE_CAN_ONLY_CHANGE_ONE_STEP_AT_A_TIME, ER_INVALID_DEFAULT_UTF8MB4_COLLATION, ER_SQL_MODE_MERGED,
    ER_TRUNCATED_WRONG_VALUE, ER_UNKNOWN_CHARACTER_SET, ER_UNKNOWN_COLLATION, ER_UNKNOWN_LOCALE, ER_UNKNOWN_TIME_ZONE,
    ER_WARN_DEPRECATED_COLLATION, ER_WARN_DEPRECATED_SQLMODE, ER_WARN_DEPRECATED_SYNTAX,
    ER_WARN_DEPRECATED_SYNTAX_NO_REPLACEMENT, ER_WARN_DEPRECATED_UTF8MB3_COLLATION, ER_WARN_DEPRECATED_WITH_NOTE,
    ER_WRONG_TYPE_FOR_VAR, ER_WRONG_VALUE_FOR_VAR,
};
use vaquita_types::gtid::GtidSet;
use vaquita_types::temporal::TimeZone;
use vaquita_types::{Error, Result, Value, sql_mode};

use super::role_list::parse_roles;
use super::settings::is_on;
use super::{Def, Kind, Var};

/// Its value is what has been executed, not what was set.
pub const GTID_PURGED: &str = "gtid_purged";

/// A value of the variable, and what to tell whoever gave it.
#[derive(Debug)]
pub struct Checked {
    pub value: Value,
    pub warnings: Vec<Error>,
}

impl From<Value> for Checked {
    fn from(value: Value) -> Checked {
        Checked { value, warnings: Vec::new() }
    }
}

/// The last second that a TIMESTAMP can have.
const TIMESTAMP_MAX: f64 = i32::MAX as f64;

/// `given` as a value of `def`. `now`: the present value, of which SET changes some flags only. `mode`: the session's sql_mode.
pub fn check(def: &Def, given: &Value, now: &Value, mode: u64) -> Result<Checked> {
    match (&def.kind, def.var) {
        (_, Some(var)) if is_charset(var) => check_charset(def, var, given),
        (_, Some(Var::CollationConnection | Var::CollationDatabase | Var::CollationServer)) => {
            let collation = collation_of(given, def)?;
            let charset = collation.charset.name;
            let warning = match charset {
                "utf8mb3" => Some(Error::new(&ER_WARN_DEPRECATED_UTF8MB3_COLLATION, &[&collation.name])),
                _ if Charset::is_deprecated(charset) => {
                    Some(Error::new(&ER_WARN_DEPRECATED_COLLATION, &[&collation.name, &charset, &"utf8mb4"]))
                }
                _ => None,
            };
            let updates = (def.var == Some(Var::CollationDatabase)).then(|| deprecated_update(def));
            Ok(Checked { value: collation.name.into(), warnings: warning.into_iter().chain(updates).collect() })
        }
        (_, Some(Var::DefaultCollationForUtf8mb4)) => {
            let collation = collation_of(given, def)?;
            if !matches!(collation.name, "utf8mb4_0900_ai_ci" | "utf8mb4_general_ci") {
                return Err(Error::new(&ER_INVALID_DEFAULT_UTF8MB4_COLLATION, &[&collation.name]));
            }
            Ok(Checked { value: collation.name.into(), warnings: vec![deprecated_update(def)] })
        }
        (_, Some(Var::TimeZone)) => check_time_zone(def, given),
        (_, Some(Var::LcTimeNames)) => check_locale(def, given),
        (_, None) if def.name == "lc_messages" => check_locale(def, given),
        (_, Some(Var::DefaultStorageEngine | Var::DefaultTmpStorageEngine)) => match given {
            Value::Bytes(name) => Ok(Value::from(known_engine(&String::from_utf8_lossy(name))?).into()),
            Value::Null => Err(wrong_value(def, given)),
            _ => Err(wrong_type(def)),
        },
        (Kind::Bool, Some(Var::RestrictFkOnNonStandardKey)) => {
            check_going(def, given, "Foreign key referring to non-unique or partial keys is unsafe and may break replication.")
        }
        (Kind::Bool, Some(Var::EnableCascadeTriggers)) => {
            check_going(def, given, "Triggers on child table will not fire during foreign key cascade.")
        }
        (Kind::Bool, _) => check_bool(def, given),
        (Kind::Int { min, max, block }, _) => check_int(def, given, (*min, *max, *block), mode),
        (Kind::Number { min, max }, _) => check_number(def, given, (*min, *max), mode),
        (Kind::Enum(members), _) => {
            let checked = check_enum(def, members, given)?;
            if def.name == "gtid_mode" {
                check_step(members, now, &checked.value)?;
            }
            Ok(checked)
        }
        (Kind::Set(members), _) => check_set(def, members, given),
        (Kind::Flags(members), _) => check_flags(def, members, given, now),
        (Kind::SqlMode, _) => check_sql_mode(def, given),
        (Kind::Text, _) => match given {
            Value::Bytes(set) if def.name == GTID_PURGED && purged_gtids(set).is_none() => Err(wrong_value(def, given)),
            Value::Bytes(list)
                if def.var == Some(Var::MandatoryRoles) && parse_roles(&String::from_utf8_lossy(list)).is_none() =>
            {
                Err(wrong_value(def, given))
            }
            Value::Bytes(_) => Ok(given.clone().into()),
            Value::Null if matches!(def.name, "mandatory_roles" | "init_connect" | "init_replica" | "init_slave") => {
                Ok(Value::from("").into())
            }
            Value::Null if def.default.is_null() || def.var == Some(Var::SessionTrackSystemVariables) => Ok(Value::Null.into()),
            Value::Null => Err(wrong_value(def, given)),
            _ => Err(wrong_type(def)),
        },
    }
}

/// What SET GLOBAL gtid_purged gives: a set, and whether a `+` adds it to what is there. `None`: it is none.
pub fn purged_gtids(given: &[u8]) -> Option<(GtidSet, bool)> {
    let given = given.trim_ascii();
    let (set, is_added) = given.strip_prefix(b"+").map_or((given, false), |set| (set, true));
    GtidSet::parse(set).ok().map(|set| (set, is_added))
}

/// What MySQL will not have for ever, with a note for those who turn it off.
fn check_going(def: &Def, given: &Value, note: &str) -> Result<Checked> {
    let Checked { value, .. } = check_bool(def, given)?;
    let warning = match is_on(&value) {
        true => Error::new(&ER_WARN_DEPRECATED_SYNTAX_NO_REPLACEMENT, &[&def.name]),
        false => Error::new(&ER_WARN_DEPRECATED_WITH_NOTE, &[&def.name, &note]),
    };
    Ok(Checked { value, warnings: vec![warning] })
}

/// `gtid_mode` goes from each value to its neighbours only, as all servers of a topology must follow. Without a binary log it has no
/// effect.
fn check_step(members: &[&str], now: &Value, new: &Value) -> Result<()> {
    let place =
        |value: &Value| members.iter().position(|member| text(value).is_some_and(|name| name.eq_ignore_ascii_case(member)));
    match (place(now), place(new)) {
        (Some(now), Some(new)) if now.abs_diff(new) > 1 => Err(Error::new(&ER_GTID_MODE_CAN_ONLY_CHANGE_ONE_STEP_AT_A_TIME, &[])),
        _ => Ok(()),
    }
}

/// A locale by name or number.
fn check_locale(def: &Def, given: &Value) -> Result<Checked> {
    let found = match (given, integer(given)) {
        (_, Some(number)) => usize::try_from(number).ok().and_then(locale::by_number),
        (Value::Bytes(_), _) => text(given).and_then(locale::by_name),
        (Value::Null, _) => return Err(wrong_value(def, given)),
        _ => return Err(wrong_type(def)),
    };
    let unknown = || Error::new(&ER_UNKNOWN_LOCALE, &[&shown(given)]);
    Ok(Value::from(found.ok_or_else(unknown)?.name).into())
}

fn wrong_value(def: &Def, given: &Value) -> Error {
    Error::new(&ER_WRONG_VALUE_FOR_VAR, &[&def.name, &shown(given)])
}

fn wrong_type(def: &Def) -> Error {
    Error::new(&ER_WRONG_TYPE_FOR_VAR, &[&def.name])
}

fn shown(value: &Value) -> String {
    match value {
        Value::Null => "NULL".to_string(),
        Value::Int(i) => i.to_string(),
        Value::UInt(u) => u.to_string(),
        Value::Float(f) => f.to_string(),
        Value::Bytes(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        other => {
            String::from_utf8_lossy(&vaquita_types::convert::to_text(other, &vaquita_types::ColumnType::null())).into_owned()
        }
    }
}

fn integer(value: &Value) -> Option<i128> {
    match value {
        Value::Int(i) => Some(i128::from(*i)),
        Value::UInt(u) => Some(i128::from(*u)),
        _ => None,
    }
}

fn text(value: &Value) -> Option<&str> {
    match value {
        Value::Bytes(bytes) => std::str::from_utf8(bytes).ok(),
        _ => None,
    }
}

/// The place of a member given by name or by number.
fn member(def: &Def, members: &[&str], given: &Value) -> Result<usize> {
    let found = match (given, integer(given)) {
        (_, Some(number)) => usize::try_from(number).ok().filter(|n| *n < members.len()),
        (Value::Bytes(_), _) => text(given).and_then(|t| members.iter().position(|m| m.eq_ignore_ascii_case(t))),
        (Value::Null, _) => None,
        _ => return Err(wrong_type(def)),
    };
    found.ok_or_else(|| wrong_value(def, given))
}

/// TRUE and FALSE without quotes are numbers; the texts are no values.
fn check_bool(def: &Def, given: &Value) -> Result<Checked> {
    Ok(Value::bool(member(def, &["OFF", "ON"], given)? == 1).into())
}

fn check_enum(def: &Def, members: &[&'static str], given: &Value) -> Result<Checked> {
    let at = member(def, members, given)?;
    Ok(Value::from(members[at]).into())
}

fn check_int(def: &Def, given: &Value, (min, max, block): (i64, u64, u64), mode: u64) -> Result<Checked> {
    let Some(number) = integer(given) else {
        return Err(wrong_type(def));
    };
    // The recorded maximum of a few variables is 0: they have none.
    let max = if max == 0 { u64::MAX } else { max };
    let clamped = number.clamp(i128::from(min), i128::from(max));
    let fitted = if clamped < 0 { clamped } else { clamped / i128::from(block.max(1)) * i128::from(block.max(1)) };
    let value = match min < 0 {
        true => Value::Int(i64::try_from(fitted).unwrap_or(i64::MAX)),
        false => Value::UInt(u64::try_from(fitted).unwrap_or(0)),
    };
    let warning = out_of_range(def, given, fitted != number, mode)?;
    Ok(Checked { value, warnings: warning.into_iter().collect() })
}

fn check_number(def: &Def, given: &Value, (min, max): (f64, f64), mode: u64) -> Result<Checked> {
    let number = match given {
        Value::Int(i) => *i as f64,
        Value::UInt(u) => *u as f64,
        Value::Float(f) => *f,
        Value::Decimal(d) => d.to_f64(),
        Value::Null => return Err(wrong_value(def, given)),
        _ => return Err(wrong_type(def)),
    };
    if def.var == Some(Var::Timestamp) && number > TIMESTAMP_MAX {
        return Err(wrong_value(def, given));
    }
    let max = if max == 0.0 { f64::MAX } else { max };
    let clamped = number.clamp(min, max);
    let warning = out_of_range(def, given, clamped != number, mode)?;
    Ok(Checked { value: Value::Float(clamped), warnings: warning.into_iter().collect() })
}

fn out_of_range(def: &Def, given: &Value, is: bool, mode: u64) -> Result<Option<Error>> {
    if !is {
        return Ok(None);
    }
    if mode & sql_mode::STRICT_ALL_TABLES != 0 {
        return Err(wrong_value(def, given));
    }
    Ok(Some(Error::new(&ER_TRUNCATED_WRONG_VALUE, &[&def.name, &shown(given)])))
}

fn check_set(def: &Def, members: &[&'static str], given: &Value) -> Result<Checked> {
    let mut bits = 0u64;
    match (text(given), integer(given)) {
        (Some(names), _) => {
            for name in names.split(',').map(str::trim).filter(|n| !n.is_empty()) {
                let at = members.iter().position(|m| m.eq_ignore_ascii_case(name));
                bits |= 1 << at.ok_or_else(|| wrong_value(def, &name.into()))?;
            }
        }
        (None, Some(number)) => {
            bits = u64::try_from(number).ok().filter(|n| n >> members.len() == 0).ok_or_else(|| wrong_value(def, given))?
        }
        (None, None) if given.is_null() => return Err(wrong_value(def, given)),
        _ => return Err(wrong_type(def)),
    }
    let names: Vec<&str> = members.iter().enumerate().filter(|(i, _)| bits >> i & 1 == 1).map(|(_, m)| *m).collect();
    Ok(Value::from(names.join(",")).into())
}

/// `default` or `name=on|off|default` pairs; those that are not named stay.
fn check_flags(def: &Def, members: &[&'static str], given: &Value, now: &Value) -> Result<Checked> {
    let Some(pairs) = text(given) else {
        return Err(if given.is_null() { wrong_value(def, given) } else { wrong_type(def) });
    };
    let on = |of: &Value, name: &str| text(of).is_some_and(|t| t.split(',').any(|pair| pair.strip_prefix(name) == Some("=on")));
    let mut flags: Vec<Option<bool>> = vec![None; members.len()];
    let mut takes_defaults = false;
    let mut rest = pairs;
    while !rest.is_empty() {
        let (pair, behind) = rest.split_once(',').unwrap_or((rest, ""));
        // The error names what was not read.
        let wrong = || wrong_value(def, &rest.into());
        match pair.trim() {
            "" => {}
            word if word.eq_ignore_ascii_case("default") => {
                // Those that are not named, wherever it stands; once.
                if std::mem::replace(&mut takes_defaults, true) {
                    return Err(wrong());
                }
            }
            pair => {
                let (name, state) = pair.split_once('=').ok_or_else(wrong)?;
                let at = members.iter().position(|m| m.eq_ignore_ascii_case(name)).ok_or_else(wrong)?;
                let state = match state.to_ascii_lowercase().as_str() {
                    "on" => true,
                    "off" => false,
                    "default" => on(&def.default, members[at]),
                    _ => return Err(wrong()),
                };
                if flags[at].replace(state).is_some() {
                    return Err(wrong());
                }
            }
        }
        rest = behind;
    }
    let others = if takes_defaults { &def.default } else { now };
    let flags = members.iter().zip(flags).map(|(m, state)| state.unwrap_or_else(|| on(others, m)));
    let pairs: Vec<String> = members.iter().zip(flags).map(|(m, on)| format!("{m}={}", if on { "on" } else { "off" })).collect();
    Ok(Value::from(pairs.join(",")).into())
}

/// A mode of older servers and of MariaDB, which dumps of theirs still set: it means nothing any more.
const NO_AUTO_CREATE_USER: &str = "NO_AUTO_CREATE_USER";

fn check_sql_mode(def: &Def, given: &Value) -> Result<Checked> {
    let mut warning = None;
    let mut bits = 0;
    match (text(given), integer(given)) {
        (Some(names), _) => {
            for name in names.split(',').map(str::trim_end).filter(|n| !n.is_empty()) {
                if name.eq_ignore_ascii_case(NO_AUTO_CREATE_USER) {
                    warning = Some(Error::new(&ER_WARN_DEPRECATED_SQLMODE, &[&NO_AUTO_CREATE_USER]));
                    continue;
                }
                let found = sql_mode::NAMES.iter().find(|(n, _)| n.eq_ignore_ascii_case(name));
                bits |= found.ok_or_else(|| wrong_value(def, &name.into()))?.1;
            }
        }
        (None, Some(number)) => {
            let known = sql_mode::NAMES.iter().fold(0, |all, (_, bit)| all | bit);
            bits = u64::try_from(number).ok().filter(|n| n & !known == 0).ok_or_else(|| wrong_value(def, given))?;
        }
        (None, None) if given.is_null() => return Err(wrong_value(def, given)),
        _ => return Err(wrong_type(def)),
    }
    let bits = expand(bits);
    if bits & sql_mode::PAD_CHAR_TO_FULL_LENGTH != 0 {
        return Err(Error::unsupported("sql_mode PAD_CHAR_TO_FULL_LENGTH"));
    }
    let parts = [sql_mode::NO_ZERO_DATE, sql_mode::NO_ZERO_IN_DATE, sql_mode::ERROR_FOR_DIVISION_BY_ZERO];
    let together = parts.iter().all(|part| (bits & part != 0) == sql_mode::is_strict(bits));
    if warning.is_none() && !together {
        warning = Some(Error::new(&ER_SQL_MODE_MERGED, &[]));
    }
    Ok(Checked { value: sql_mode_text(bits).into(), warnings: warning.into_iter().collect() })
}

/// ANSI and TRADITIONAL stand for other modes too.
fn expand(mut bits: u64) -> u64 {
    use sql_mode::*;
    if bits & ANSI != 0 {
        bits |= REAL_AS_FLOAT | PIPES_AS_CONCAT | ANSI_QUOTES | IGNORE_SPACE | ONLY_FULL_GROUP_BY;
    }
    if bits & TRADITIONAL != 0 {
        bits |= STRICT_TRANS_TABLES
            | STRICT_ALL_TABLES
            | NO_ZERO_IN_DATE
            | NO_ZERO_DATE
            | ERROR_FOR_DIVISION_BY_ZERO
            | NO_ENGINE_SUBSTITUTION;
    }
    bits
}

fn sql_mode_text(bits: u64) -> String {
    let names: Vec<&str> = sql_mode::NAMES.iter().filter(|(_, bit)| bits & bit != 0).map(|(name, _)| *name).collect();
    names.join(",")
}

fn check_time_zone(def: &Def, given: &Value) -> Result<Checked> {
    let name = match given {
        Value::Bytes(_) => text(given).unwrap_or_default(),
        Value::Null => return Err(wrong_value(def, given)),
        _ => return Err(wrong_type(def)),
    };
    match TimeZone::parse(name, &TimeZone::Utc) {
        // An offset is shown with two digits of hours, SYSTEM in capitals.
        Some(zone @ TimeZone::Fixed(_)) => Ok(Value::from(zone.name()).into()),
        Some(_) if name.eq_ignore_ascii_case("SYSTEM") => Ok(Value::from("SYSTEM").into()),
        Some(zone) => Ok(Value::from(zone.name()).into()),
        None => Err(Error::new(&ER_UNKNOWN_TIME_ZONE, &[&name])),
    }
}

fn is_charset(var: Var) -> bool {
    matches!(
        var,
        Var::CharacterSetClient
            | Var::CharacterSetConnection
            | Var::CharacterSetResults
            | Var::CharacterSetServer
            | Var::CharacterSetDatabase
            | Var::CharacterSetFilesystem
    )
}

fn check_charset(def: &Def, var: Var, given: &Value) -> Result<Checked> {
    if given.is_null() && var == Var::CharacterSetResults {
        return Ok(Value::Null.into());
    }
    let charset = charset_of(given, def)?;
    if var == Var::CharacterSetClient && !charset.may_be_client() {
        return Err(wrong_value(def, &charset.name.into()));
    }
    let is_old = Charset::is_deprecated(charset.name);
    let old = is_old.then(|| Error::new(&ER_WARN_DEPRECATED_SYNTAX, &[&charset.name, &"utf8mb4"]));
    let updates = (var == Var::CharacterSetDatabase).then(|| deprecated_update(def));
    Ok(Checked { value: charset.name.into(), warnings: old.into_iter().chain(updates).collect() })
}

/// Variables that clients will no longer change one day.
pub fn deprecated_update(def: &Def) -> Error {
    let text = format!("Updating '{}' is deprecated. It will be made read-only in a future release.", def.name);
    Error::with_message(&ER_WARN_DEPRECATED_SYNTAX_NO_REPLACEMENT, text)
}

/// A charset by its name or the number of a collation.
fn charset_of(given: &Value, def: &Def) -> Result<&'static Charset> {
    match (given, integer(given)) {
        (Value::Bytes(_), _) => {
            let name = text(given).unwrap_or_default();
            Charset::by_name(name).filter(|c| c.is_supported()).ok_or_else(|| Error::new(&ER_UNKNOWN_CHARACTER_SET, &[&name]))
        }
        (_, Some(number)) => {
            let unknown = |_| Error::new(&ER_UNKNOWN_CHARACTER_SET, &[&number]);
            Ok(collation_of(given, def).map_err(unknown)?.charset)
        }
        (Value::Null, _) => Err(wrong_value(def, given)),
        _ => Err(wrong_type(def)),
    }
}

/// A collation by its name or number.
fn collation_of(given: &Value, def: &Def) -> Result<&'static Collation> {
    match (given, integer(given)) {
        (Value::Bytes(_), _) => {
            let name = text(given).unwrap_or_default();
            Collation::by_name(name).ok_or_else(|| Error::new(&ER_UNKNOWN_COLLATION, &[&name]))
        }
        (_, Some(number)) => {
            let found = u16::try_from(number).ok().and_then(|id| Collation::by_id(CollationId(id)));
            found.ok_or_else(|| Error::new(&ER_UNKNOWN_COLLATION, &[&number]))
        }
        (Value::Null, _) => Err(wrong_value(def, given)),
        _ => Err(wrong_type(def)),
    }
}
