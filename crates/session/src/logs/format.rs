//! The bytes of entries of the general log and the slow log, as MySQL 9.7 writes them.

use std::io::Write as _;

use vaquita_types::temporal::DateTime;

use crate::counters::{Counter, Counts};
use crate::variables::zone;

const MICROS_PER_SECOND: u64 = 1_000_000;
const SECONDS_PER_MINUTE: i64 = 60;
const MINUTES_PER_HOUR: i64 = 60;

/// A time in microseconds since 1970, in UTC (`2026-11-27T08:39:22.769393Z`) or in the machine's zone (`…393+02:00`).
pub fn put_time(out: &mut Vec<u8>, at_us: u64, in_system_zone: bool) {
    const T: usize = "2026-11-27".len();
    let Some(utc) = i64::try_from(at_us).ok().and_then(DateTime::from_unix_micros) else { return };
    let local = if in_system_zone { zone("SYSTEM").timestamp_from_utc(utc) } else { utc };
    let start = out.len();
    local.write_text(out, 6);
    if let Some(space) = out.get_mut(start + T) {
        *space = b'T';
    }
    if !in_system_zone {
        return out.push(b'Z');
    }
    let seconds = |time: DateTime| {
        let date = time.date().day_number();
        date * 86_400 + i64::from(time.hour()) * 3_600 + i64::from(time.minute()) * SECONDS_PER_MINUTE + i64::from(time.second())
    };
    let minutes = (seconds(local) - seconds(utc)).div_euclid(SECONDS_PER_MINUTE);
    let sign = if minutes < 0 { '-' } else { '+' };
    let _ = write!(out, "{sign}{:02}:{:02}", minutes.abs() / MINUTES_PER_HOUR, minutes.abs() % MINUTES_PER_HOUR);
}

/// A line of the general log.
pub struct GeneralEntry<'e> {
    pub at_us: u64,
    pub connection_id: u64,
    /// `Query`, `Connect` …
    pub command: &'e str,
    pub argument: &'e [u8],
}

impl GeneralEntry<'_> {
    pub fn put(&self, out: &mut Vec<u8>, in_system_zone: bool) {
        put_time(out, self.at_us, in_system_zone);
        let _ = write!(out, "\t{:5} {}\t", self.connection_id, self.command);
        out.extend_from_slice(self.argument);
        out.push(b'\n');
    }
}

/// What the slow log says of a statement.
pub struct SlowEntry<'e> {
    pub ended_us: u64,
    pub took_us: u64,
    pub lock_us: u64,
    pub connection_id: u64,
    pub user_host: &'e str,
    pub rows_sent: u64,
    pub rows_examined: u64,
    pub database: Option<&'e str>,
    /// What NOW() was, in seconds since 1970.
    pub timestamp_s: u64,
    /// The statement, or the name of a command.
    pub text: &'e [u8],
    pub is_command: bool,
    pub extra: Option<Extra>,
}

/// What `log_slow_extra` adds.
pub struct Extra {
    pub errno: u16,
    pub killed: u16,
    /// Of the statement.
    pub counts: Counts,
}

/// Names and counters of `log_slow_extra`; what is not counted here is 0.
const EXTRA: [(&str, Option<Counter>); 16] = [
    ("Bytes_received", Some(Counter::BytesReceived)),
    ("Bytes_sent", Some(Counter::BytesSent)),
    ("Read_first", Some(Counter::HandlerReadFirst)),
    ("Read_last", Some(Counter::HandlerReadLast)),
    ("Read_key", Some(Counter::HandlerReadKey)),
    ("Read_next", Some(Counter::HandlerReadNext)),
    ("Read_prev", Some(Counter::HandlerReadPrev)),
    ("Read_rnd", None),
    ("Read_rnd_next", Some(Counter::HandlerReadRndNext)),
    ("Sort_merge_passes", None),
    ("Sort_range_count", None),
    ("Sort_rows", Some(Counter::SortRows)),
    ("Sort_scan_count", Some(Counter::SortScan)),
    ("Created_tmp_disk_tables", None),
    ("Created_tmp_tables", Some(Counter::CreatedTmpTables)),
    ("Count_hit_tmp_table_size", None),
];

impl SlowEntry<'_> {
    /// What stands before `use`.
    pub fn put_first(&self, out: &mut Vec<u8>, in_system_zone: bool) {
        out.extend_from_slice(b"# Time: ");
        put_time(out, self.ended_us, in_system_zone);
        let seconds = |us: u64| format!("{}.{:06}", us / MICROS_PER_SECOND, us % MICROS_PER_SECOND);
        let _ = write!(
            out,
            "\n# User@Host: {}  Id: {:5}\n# Query_time: {}  Lock_time: {} Rows_sent: {}  Rows_examined: {}",
            self.user_host,
            self.connection_id,
            seconds(self.took_us),
            seconds(self.lock_us),
            self.rows_sent,
            self.rows_examined
        );
        if let Some(extra) = &self.extra {
            let _ = write!(out, " Thread_id: {} Errno: {} Killed: {}", self.connection_id, extra.errno, extra.killed);
            for (name, counter) in EXTRA {
                let _ = write!(out, " {name}: {}", counter.map_or(0, |counter| extra.counts.of(counter)));
            }
            out.extend_from_slice(b"  Start: ");
            put_time(out, self.ended_us.saturating_sub(self.took_us), in_system_zone);
            out.extend_from_slice(b" End: ");
            put_time(out, self.ended_us, in_system_zone);
        }
        out.push(b'\n');
    }

    /// What stands behind it.
    pub fn put_rest(&self, out: &mut Vec<u8>) {
        let _ = writeln!(out, "SET timestamp={};", self.timestamp_s);
        if self.is_command {
            out.extend_from_slice(b"# administrator command: ");
        }
        out.extend_from_slice(self.text);
        out.extend_from_slice(b";\n");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_written_as_iso_8601() {
        let mut out = Vec::new();
        put_time(&mut out, 1_795_768_762_769_393, false);
        assert_eq!(String::from_utf8_lossy(&out), "2026-11-27T08:39:22.769393Z");
        out.clear();
        put_time(&mut out, 1_795_768_762_769_393, true);
        let text = String::from_utf8_lossy(&out);
        assert!(text.len() == "2026-11-27T08:39:22.769393+00:00".len() && text.contains(['+', '-']), "{text}");
    }
}
