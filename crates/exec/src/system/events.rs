//! Events: what their records say, and how information_schema and SHOW tell of them.
//!
//! | characteristic | content |
//! |---|---|
//! | `at` | of one time: seconds since 1970 |
//! | `every`, `unit` | how many of the smallest part of a unit: 65 `HOUR_MINUTE` for `'1:05'` |
//! | `starts`, `ends` | seconds since 1970 |
//! | `status` | as information_schema shows it |
//! | `preserve` | it is kept when it is over |
//! | `time zone` | the zone of the session that gave it its schedule |
//! | `originator` | `server_id` |

pub use vaquita_parser::ast::EventStatus;
use vaquita_types::charset::{charset, collation};
use vaquita_types::schema::{ObjectKind, StoredObject};
use vaquita_types::temporal::{DateTime, IntervalUnit, MICROS_PER_SECOND, TimeZone};
use vaquita_types::{Error, Result, Value, sql_mode};

use super::routines::mode_text;
use super::row::{NULL, row};
use super::{Row, SystemContext};

/// When an event runs, in seconds since 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Times {
    Once(i64),
    Every {
        /// Of the smallest part of `unit`.
        count: i64,
        unit: IntervalUnit,
        starts: i64,
        ends: Option<i64>,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EventRecord {
    pub times: Times,
    pub status: EventStatus,
    pub preserve: bool,
}

pub fn set_times(object: &mut StoredObject, times: Times) {
    let (at, every) = match times {
        Times::Once(at) => (Some(at), None),
        Times::Every { count, unit, starts, ends } => (None, Some((count, unit, starts, ends))),
    };
    object.set_characteristic("at", at.map(|at| at.to_string()));
    object.set_characteristic("every", every.map(|(count, ..)| count.to_string()));
    object.set_characteristic("unit", every.map(|(_, unit, ..)| unit.keyword().to_ascii_uppercase()));
    object.set_characteristic("starts", every.map(|(_, _, starts, _)| starts.to_string()));
    object.set_characteristic("ends", every.and_then(|(.., ends)| ends).map(|ends| ends.to_string()));
}

pub fn set_status(object: &mut StoredObject, status: EventStatus) {
    object.set_characteristic("status", Some(status.as_str().to_string()));
}

pub fn read(object: &StoredObject) -> Result<EventRecord> {
    let damaged = || Error::corrupt(format_args!("the record of event {}.{}", object.database, object.name));
    let seconds = |name: &str| object.characteristic(name).and_then(|text| text.parse::<i64>().ok());
    let times = match seconds("at") {
        Some(at) => Times::Once(at),
        None => Times::Every {
            count: seconds("every").filter(|count| *count > 0).ok_or_else(damaged)?,
            unit: object.characteristic("unit").and_then(IntervalUnit::from_keyword).ok_or_else(damaged)?,
            starts: seconds("starts").ok_or_else(damaged)?,
            ends: seconds("ends"),
        },
    };
    let status = EventStatus::ALL.into_iter().find(|status| object.characteristic("status") == Some(status.as_str()));
    Ok(EventRecord { times, status: status.ok_or_else(damaged)?, preserve: object.characteristic("preserve").is_some() })
}

pub fn zone_name(object: &StoredObject) -> &str {
    object.characteristic("time zone").unwrap_or("SYSTEM")
}

/// How many of the smallest part of a unit each of its parts is, the largest first, and what stands behind it.
fn parts(unit: IntervalUnit) -> &'static [(i64, &'static str)] {
    match unit {
        IntervalUnit::YearMonth => &[(12, "-"), (1, "")],
        IntervalUnit::DayHour => &[(24, " "), (1, "")],
        IntervalUnit::DayMinute => &[(24 * 60, " "), (60, ":"), (1, "")],
        IntervalUnit::DaySecond => &[(24 * 3600, " "), (3600, ":"), (60, ":"), (1, "")],
        IntervalUnit::HourMinute | IntervalUnit::MinuteSecond => &[(60, ":"), (1, "")],
        IntervalUnit::HourSecond => &[(3600, ":"), (60, ":"), (1, "")],
        _ => &[(1, "")],
    }
}

/// `7`, or `'1:5'` with its quotes.
fn interval_text(count: i64, unit: IntervalUnit) -> String {
    let parts = parts(unit);
    let mut rest = count;
    let mut text = String::new();
    for (size, behind) in parts {
        text += &format!("{}{behind}", rest / size);
        rest %= size;
    }
    if parts.len() > 1 { format!("'{text}'") } else { text }
}

fn local(seconds: i64, zone: &TimeZone) -> Option<DateTime> {
    zone.from_utc(DateTime::from_unix_micros(seconds.checked_mul(MICROS_PER_SECOND)?)?)
}

fn local_value(seconds: Option<i64>, zone: &TimeZone) -> Value {
    seconds.and_then(|seconds| local(seconds, zone)).map_or(NULL, Value::DateTime)
}

/// What SHOW CREATE EVENT prints.
/// With the quotes of the session, not of the event.
fn create_text(object: &StoredObject, record: &EventRecord, zone: &TimeZone, mode: u64) -> String {
    let quote = if mode & sql_mode::ANSI_QUOTES != 0 { "\"" } else { "`" };
    let quoted = |name: &str| format!("{quote}{}{quote}", name.replace(quote, &quote.repeat(2)));
    let time = |seconds: i64| local(seconds, zone).unwrap_or(DateTime::ZERO).to_string();
    let schedule = match record.times {
        Times::Once(at) => format!("AT '{}'", time(at)),
        Times::Every { count, unit, starts, ends } => {
            let every = interval_text(count, unit);
            let ends = ends.map(|ends| format!(" ENDS '{}'", time(ends))).unwrap_or_default();
            format!("EVERY {every} {} STARTS '{}'{ends}", unit.keyword().to_ascii_uppercase(), time(starts))
        }
    };
    let preserve = if record.preserve { "PRESERVE" } else { "NOT PRESERVE" };
    let comment = match object.comment.as_str() {
        "" => String::new(),
        text => format!(" COMMENT {}", super::text::quoted(text)),
    };
    let (user, host) = (quoted(&object.definer.user), quoted(&object.definer.host));
    let (name, status) = (quoted(&object.name), record.status.clause());
    format!(
        "CREATE DEFINER={user}@{host} EVENT {name} ON SCHEDULE {schedule} ON COMPLETION {preserve} {status}{comment} DO {}",
        object.text
    )
}

/// The row of SHOW CREATE EVENT.
pub fn create_row(object: &StoredObject, cx: &SystemContext<'_>) -> Result<Row> {
    let zone = cx.statement.server.time_zone(zone_name(object));
    Ok(row![
        object.name.as_str(),
        mode_text(object.sql_mode),
        zone_name(object),
        create_text(object, &read(object)?, &zone, cx.statement.session.sql_mode()),
        charset(object.client_collation).name,
        collation(object.connection_collation).name,
        collation(object.database_collation).name,
    ])
}

/// Calls `f` with each event of databases in which the session has EVENT.
fn for_each(cx: &SystemContext<'_>, mut f: impl FnMut(&StoredObject) -> Result<()>) -> Result<()> {
    for database in cx.statement.catalog.databases()?.iter().filter(|database| cx.wants_database(&database.name)) {
        cx.statement.interrupt.check()?;
        if cx.statement.server.sees_events(&database.name) {
            cx.statement.catalog.objects(&database.name, ObjectKind::Event)?.iter().try_for_each(|object| f(object))?;
        }
    }
    Ok(())
}

/// EXECUTE_AT, INTERVAL_VALUE, INTERVAL_FIELD, STARTS, ENDS.
fn schedule_cells(times: Times, zone: &TimeZone) -> [Value; 5] {
    match times {
        Times::Once(at) => [local_value(Some(at), zone), NULL, NULL, NULL, NULL],
        Times::Every { count, unit, starts, ends } => [
            NULL,
            interval_text(count, unit).into(),
            unit.keyword().to_ascii_uppercase().into(),
            local_value(Some(starts), zone),
            local_value(ends, zone),
        ],
    }
}

fn definer(object: &StoredObject) -> String {
    format!("{}@{}", object.definer.user, object.definer.host)
}

fn originator(object: &StoredObject) -> u64 {
    object.characteristic("originator").and_then(|text| text.parse().ok()).unwrap_or(0)
}

fn kind_of(times: Times) -> &'static str {
    if matches!(times, Times::Once(_)) { "ONE TIME" } else { "RECURRING" }
}

/// information_schema.EVENTS.
pub fn events(cx: &SystemContext<'_>) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for_each(cx, |object| {
        let record = read(object)?;
        let zone = cx.statement.server.time_zone(zone_name(object));
        let executed = cx.statement.catalog.event_executed_s(&object.database, &object.name)?;
        let [at, count, unit, starts, ends] = schedule_cells(record.times, &zone);
        rows.push(row![
            "def",
            object.database.as_str(),
            object.name.as_str(),
            definer(object),
            zone_name(object),
            "SQL",
            object.text.as_str(),
            kind_of(record.times),
            at,
            count,
            unit,
            mode_text(object.sql_mode),
            starts,
            ends,
            record.status.as_str(),
            if record.preserve { "PRESERVE" } else { "NOT PRESERVE" },
            cx.time(object.created_us),
            cx.time(object.altered_us),
            local_value(executed, &zone),
            object.comment.as_str(),
            Value::UInt(originator(object)),
            charset(object.client_collation).name,
            collation(object.connection_collation).name,
            collation(object.database_collation).name,
        ]);
        Ok(())
    })?;
    Ok(rows)
}

/// The rows of SHOW EVENTS in a database.
pub fn listed(database: &str, cx: &SystemContext<'_>) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for object in cx.statement.catalog.objects(database, ObjectKind::Event)? {
        let record = read(&object)?;
        let zone = cx.statement.server.time_zone(zone_name(&object));
        let [at, count, unit, starts, ends] = schedule_cells(record.times, &zone);
        rows.push(row![
            object.database.as_str(),
            object.name.as_str(),
            definer(&object),
            zone_name(&object),
            kind_of(record.times),
            at,
            count,
            unit,
            starts,
            ends,
            record.status.as_str(),
            Value::UInt(originator(&object)),
            charset(object.client_collation).name,
            collation(object.connection_collation).name,
            collation(object.database_collation).name,
        ]);
    }
    Ok(rows)
}
