//! SHOW REPLICA STATUS: a channel as a row of MySQL's columns, in MySQL's order.
//!
//! There is no relay log: its file is empty and its position 0, and Relay_Log_Space is what waits in memory.

use std::sync::atomic::Ordering;

use vaquita_types::errno::ER_REPLICA_CHANNEL_DOES_NOT_EXIST;
use vaquita_types::gtid::GtidSet;
use vaquita_types::{Error, Result, Value};

use super::{
    ApplierStatus, Channel, ChannelConfig, Channels, FilterKind, ReceiverStatus, Running, ThreadError, Until, channel_name,
};

/// The rows of one channel, or of all. `executed` is the server's `gtid_executed`, `skip` is `sql_replica_skip_counter`.
pub fn status_rows(channels: &Channels, channel: Option<&[u8]>, executed: &GtidSet, skip: &Value) -> Result<Vec<Vec<Value>>> {
    let shown = match channel.map(channel_name) {
        None => channels.list(),
        Some(name) => match channels.get(&name) {
            Some(channel) => vec![channel],
            // The default channel is always there, though it may be nothing.
            None if name.is_empty() => Vec::new(),
            None => return Err(Error::new(&ER_REPLICA_CHANNEL_DOES_NOT_EXIST, &[&name])),
        },
    };
    let executed: Value = executed.to_string().into();
    Ok(shown.iter().map(|channel| row(channel, &executed, skip)).collect())
}

fn text(text: impl AsRef<str>) -> Value {
    Value::from(text.as_ref())
}

fn number(n: impl Into<u64>) -> Value {
    Value::UInt(n.into())
}

fn yes(flag: bool) -> Value {
    text(if flag { "Yes" } else { "No" })
}

fn row(channel: &Channel, executed: &Value, skip: &Value) -> Vec<Value> {
    let config = channel.config();
    let filters = channel.filters();
    let (file, pos) = channel.with_applied(|applied| (applied.file.clone(), applied.pos));
    // One after the other: a thread that reports waits for neither long.
    let receiver = channel.status.receiver.lock().clone();
    let applier = channel.status.applier.lock().clone();
    let rules = |kind: FilterKind| text(filters.rules(kind).join(","));
    let mut row = vec![
        text(&receiver.state),
        text(&config.host),
        text(&config.user),
        number(config.port),
        number(config.connect_retry_s),
        text(&receiver.file),
        number(receiver.pos),
        text(""),
        number(0u32),
        text(file),
        text(receiver.running.name()),
        yes(applier.is_running),
    ];
    row.extend(FilterKind::ALL.into_iter().filter(|kind| *kind != FilterKind::RewriteDb).map(rules));
    row.extend([number(applier.last_error.number), text(&applier.last_error.text), skip.clone(), number(pos)]);
    row.push(number(channel.status.queue_bytes.load(Ordering::Relaxed)));
    row.extend(until(&applier.until));
    row.extend(tls(&config));
    row.push(seconds_behind(&receiver, &applier));
    row.push(yes(config.tls.verify_server_cert));
    row.extend([number(receiver.last_error.number), text(&receiver.last_error.text)]);
    row.extend([number(applier.last_error.number), text(&applier.last_error.text)]);
    row.push(text(config.ignore_server_ids.iter().map(u32::to_string).collect::<Vec<_>>().join(", ")));
    row.push(number(receiver.source_server_id));
    row.push(text(receiver.source_uuid.map_or(String::new(), |uuid| uuid.to_string())));
    row.extend([text("mysql.slave_master_info"), number(config.delay_s)]);
    row.push(applier.remaining_delay_s.map_or(Value::Null, Value::UInt));
    row.push(text(&applier.state));
    row.extend([number(config.retry_count), text(&config.bind)]);
    row.extend([time(&receiver.last_error), time(&applier.last_error)]);
    row.extend([text(&config.tls.crl), text(&config.tls.crl_path)]);
    row.extend([text(receiver.received.to_string()), executed.clone(), number(config.auto_position)]);
    row.extend([rules(FilterKind::RewriteDb), text(&channel.name), text(&config.tls.version)]);
    row.extend([text(&config.public_key_path), number(config.get_public_key), text(&config.network_namespace)]);
    row
}

fn until(until: &Until) -> [Value; 3] {
    let (condition, file, pos) = match until {
        Until::Never => ("None", "", 0),
        Until::Source { file, pos } => ("Source", file.as_str(), *pos),
        Until::Relay { file, pos } => ("Relay", file.as_str(), *pos),
        Until::BeforeGtids(_) => ("SQL_BEFORE_GTIDS", "", 0),
        Until::AfterGtids(_) => ("SQL_AFTER_GTIDS", "", 0),
        Until::AfterGaps => ("SQL_AFTER_MTS_GAPS", "", 0),
    };
    [text(condition), text(file), number(pos)]
}

fn tls(config: &ChannelConfig) -> [Value; 6] {
    let tls = &config.tls;
    [yes(tls.allowed), text(&tls.ca), text(&tls.ca_path), text(&tls.cert), text(&tls.cipher), text(&tls.key)]
}

/// How far what is being applied is behind the source's clock. NULL where nobody can know: the applier stands, or it waits for a receiver
/// that is not connected.
fn seconds_behind(receiver: &ReceiverStatus, applier: &ApplierStatus) -> Value {
    match applier.source_time_s {
        _ if !applier.is_running => Value::Null,
        None if receiver.running == Running::Yes => Value::UInt(0),
        None => Value::Null,
        Some(began_s) => {
            let now_s = now_s().saturating_add_signed(receiver.clock_ahead_s);
            Value::UInt(now_s.saturating_sub(began_s))
        }
    }
}

/// Seconds_Behind_Source; `None` where nobody can know.
pub fn seconds_behind_source(channel: &Channel) -> Option<u64> {
    let receiver = channel.status.receiver.lock().clone();
    match seconds_behind(&receiver, &channel.status.applier.lock()) {
        Value::UInt(seconds) => Some(seconds),
        _ => None,
    }
}

fn now_s() -> u64 {
    std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).map_or(0, |now| now.as_secs())
}

/// `YYMMDD hh:mm:ss` in UTC; empty for no error.
fn time(error: &ThreadError) -> Value {
    if error.number == 0 {
        return text("");
    }
    let s = error.at_us / 1_000_000;
    let (year, month, day) = civil((s / 86_400) as i64);
    let of_day = s % 86_400;
    let (hour, minute, second) = (of_day / 3600, of_day / 60 % 60, of_day % 60);
    text(format!("{:02}{month:02}{day:02} {hour:02}:{minute:02}:{second:02}", year % 100))
}

/// Year, month and day of a day since 1970 (Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms").
fn civil(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let era = days.div_euclid(146_097);
    let of_era = days.rem_euclid(146_097);
    let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * of_year + 2) / 153;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    (year_of_era + era * 400 + i64::from(month <= 2), month, of_year - (153 * shifted + 2) / 5 + 1)
}
