//! What is kept over time: of each moment one number a series, made from two snapshots.
//!
//! A counter becomes a rate, so that neither a restart nor the length of a step shows in a chart; what is not counted is kept as of the later
//! snapshot. NaN is "there is none". Beside the series of the table stand the rates of statements that were not slower than each of the
//! histogram's bounds: quantiles of any span of time are made of their means, which could not be made of quantiles.

use crate::fronts::http::metrics::{BOUNDS, Snapshot};

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    /// Of a counter: how much it grew in a second.
    Rate,
    State,
}

macro_rules! series {
    ($($series:ident $name:literal $kind:ident $of:expr;)*) => {
        /// A series, by what is kept of it.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Series { $($series),* }

        /// Names stand in the file: a series that is renamed begins anew.
        const TABLE: &[(&str, Kind, fn(&Snapshot) -> f64)] = &[$(($name, Kind::$kind, $of)),*];
    };
}

series! {
    Selects "selects" Rate |s| s.selects as f64;
    Inserts "inserts" Rate |s| s.inserts as f64;
    Updates "updates" Rate |s| s.updates as f64;
    Deletes "deletes" Rate |s| s.deletes as f64;
    Timed "statements" Rate |s| s.timed as f64;
    Errors "errors" Rate |s| s.errors as f64;
    RowsExamined "rows_examined" Rate |s| s.rows_examined as f64;
    RowsSent "rows_sent" Rate |s| s.rows_sent as f64;
    RowsChanged "rows_changed" Rate |s| s.rows_changed as f64;
    Connected "connected" State |s| s.connected as f64;
    Running "running" State |s| s.running as f64;
    BytesReceived "bytes_received" Rate |s| s.bytes_received as f64;
    BytesSent "bytes_sent" Rate |s| s.bytes_sent as f64;
    Commits "commits" Rate |s| s.commits as f64;
    CommitGroups "commit_groups" Rate |s| s.commit_groups as f64;
    LogSeconds "log_seconds" Rate |s| s.log_s;
    LockWaits "lock_waits" Rate |s| s.lock_waits as f64;
    LockWaitSeconds "lock_wait_seconds" Rate |s| s.lock_wait_s;
    Deadlocks "deadlocks" Rate |s| s.deadlocks as f64;
    Cpu "cpu_seconds" Rate |s| s.cpu_s;
    Resident "resident_bytes" State |s| s.resident_bytes as f64;
    BlockCache "block_cache_bytes" State |s| s.block_cache_bytes as f64;
    RowCache "row_cache_bytes" State |s| s.row_cache_bytes as f64;
    Spans "span_bytes" State |s| s.span_bytes as f64;
    Memtables "memtable_bytes" State |s| s.memtable_bytes as f64;
    StatementMemory "statement_bytes" State |s| s.statement_bytes as f64;
    RowCacheHits "row_cache_hits" Rate |s| s.row_cache_hits as f64;
    RowCacheMisses "row_cache_misses" Rate |s| s.row_cache_misses as f64;
    SpanHits "span_hits" Rate |s| s.span_hits as f64;
    SpanMisses "span_misses" Rate |s| s.span_misses as f64;
    Data "data_bytes" State |s| s.data_bytes as f64;
    BinaryLog "binary_log_bytes" State |s| s.binary_log_bytes as f64;
    DiskFree "disk_free_bytes" State |s| s.disk_free_bytes as f64;
    DiskRead "disk_read_bytes" Rate |s| s.disk_read_bytes as f64;
    DiskWritten "disk_written_bytes" Rate |s| s.disk_written_bytes as f64;
    ToCompact "to_compact_bytes" State |s| s.compaction_pending_bytes as f64;
    Compactions "compactions" State |s| s.compactions_running as f64;
    Stalled "stalled" State |s| f64::from(u8::from(s.is_stalled));
    OldestTransaction "oldest_transaction_seconds" State |s| s.oldest_transaction_s;
    ReplicaBehind "replica_behind_seconds" State |s| s.replica_behind_s;
    BackupAge "backup_age_seconds" State |s| s.backup_age_s;
}

/// How many numbers a moment has.
pub const SERIES: usize = TABLE.len() + BOUNDS.len();

/// The names of all, in the order of the numbers.
pub fn names() -> Vec<String> {
    let bounds = BOUNDS.iter().map(|(bound, _)| format!("not_slower_than_{bound}"));
    TABLE.iter().map(|(name, ..)| (*name).to_string()).chain(bounds).collect()
}

/// The numbers of a span of time.
#[derive(Clone, Debug, PartialEq)]
pub struct Values(pub [f32; SERIES]);

impl Default for Values {
    fn default() -> Values {
        Values([f32::NAN; SERIES])
    }
}

impl Values {
    /// What happened from `before` to `after`, `seconds` later.
    pub fn between(before: &Snapshot, after: &Snapshot, seconds: f64) -> Values {
        let rate = |from: f64, to: f64| ((to - from).max(0.0) / seconds.max(f64::MIN_POSITIVE)) as f32;
        let mut values = Values::default();
        for (value, (_, kind, of)) in values.0.iter_mut().zip(TABLE) {
            *value = if *kind == Kind::Rate { rate(of(before), of(after)) } else { of(after) as f32 };
        }
        let not_slower = before.not_slower.iter().zip(&after.not_slower);
        for (value, (from, to)) in values.0[TABLE.len()..].iter_mut().zip(not_slower) {
            *value = rate(*from as f64, *to as f64);
        }
        values
    }

    pub fn is_nothing(&self) -> bool {
        self.0.iter().all(|value| value.is_nan())
    }

    pub fn get(&self, series: Series) -> f64 {
        f64::from(self.0[series as usize])
    }

    /// The mean with `other`, each for the time that it covers. What one of them has alone is as that one has it.
    pub fn mean(&self, own_ms: u32, other: &Values, other_ms: u32) -> Values {
        let part = f64::from(other_ms) / (f64::from(own_ms) + f64::from(other_ms)).max(1.0);
        Values(std::array::from_fn(|at| match (self.0[at], other.0[at]) {
            (own, other) if own.is_nan() => other,
            (own, other) if other.is_nan() => own,
            (own, other) => (f64::from(own) + (f64::from(other) - f64::from(own)) * part) as f32,
        }))
    }

    /// What a statement took that was slower than `part` of all, in seconds; NaN if there was none.
    pub fn quantile(&self, part: f64) -> f64 {
        let all = self.get(Series::Timed);
        if all.is_nan() || all <= 0.0 {
            return f64::NAN;
        }
        let wanted = all * part;
        let (mut low_s, mut below_low) = (0.0, 0.0);
        for (below, (_, high_ps)) in self.0[TABLE.len()..].iter().zip(BOUNDS) {
            let (below, high_s) = (f64::from(*below), *high_ps as f64 / 1e12);
            if below >= wanted {
                // As if they were spread evenly between the bounds.
                let between = ((wanted - below_low) / (below - below_low).max(f64::MIN_POSITIVE)).clamp(0.0, 1.0);
                return low_s + (high_s - low_s) * between;
            }
            (low_s, below_low) = (high_s, below);
        }
        low_s
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_become_rates() {
        let before = Snapshot { selects: 10, connected: 3, cpu_s: 5.0, replica_behind_s: 1.0, ..Snapshot::default() };
        let after = Snapshot { selects: 40, connected: 7, cpu_s: 5.5, replica_behind_s: f64::NAN, ..Snapshot::default() };
        let values = Values::between(&before, &after, 2.0);
        assert_eq!([Series::Selects, Series::Connected, Series::Cpu].map(|series| values.get(series)), [15.0, 7.0, 0.25]);
        assert!(values.get(Series::ReplicaBehind).is_nan());
        // A counter that begins anew, as those of a server that was restarted.
        assert_eq!(Values::between(&after, &before, 2.0).get(Series::Selects), 0.0);
    }

    #[test]
    fn means_are_for_the_time_that_is_covered() {
        let one = Values([10.0; SERIES]);
        let mut other = Values([40.0; SERIES]);
        other.0[0] = f32::NAN;
        let mean = one.mean(2000, &other, 1000);
        assert_eq!((mean.0[0], mean.0[1]), (10.0, 20.0));
        assert_eq!(other.mean(1, &one, 1).0[0], 10.0);
    }

    #[test]
    fn quantiles_are_between_the_bounds() {
        let sample = |timed: u64, from: usize| Snapshot {
            timed,
            not_slower: (0..BOUNDS.len()).map(|at| if at >= from { timed } else { 0 }).collect(),
            ..Snapshot::default()
        };
        // 100 statements between the first two bounds, 10 and 25 µs.
        let took = Values::between(&sample(0, 1), &sample(100, 1), 1.0).quantile(0.5);
        assert!((took - 17.5e-6).abs() < 1e-9, "{took}");
        assert!(Values::between(&sample(5, 1), &sample(5, 1), 1.0).quantile(0.5).is_nan());
        // The mean of both halves is the whole's quantile.
        let (quick, slow) =
            (Values::between(&sample(0, 1), &sample(100, 1), 1.0), Values::between(&sample(0, 7), &sample(100, 7), 1.0));
        let whole = quick.mean(1000, &slow, 1000);
        assert!(whole.quantile(0.49) < 26e-6 && whole.quantile(0.51) > 1e-3, "{} {}", whole.quantile(0.49), whole.quantile(0.51));
    }

    #[test]
    fn names_differ() {
        let mut all = names();
        assert_eq!(all.len(), SERIES);
        all.sort();
        all.dedup();
        assert_eq!(all.len(), SERIES);
    }
}
