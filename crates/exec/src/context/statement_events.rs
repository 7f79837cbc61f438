//! Statement events: what performance_schema tells of statements, as plain numbers. Sessions count them, and system tables ask for them
//! (`StatementEvents`).

use std::collections::HashMap;
use std::sync::Arc;

use vaquita_parser::StatementKind;

use super::table_uses::{TableSums, TableUse};
use super::transaction_events::{OwnedSums, Sums, TransactionEvent};

/// Who has counted.
pub trait StatementEvents {
    /// The lines of digests, the oldest first; before them one for the statements that found no place.
    fn digests(&self) -> Vec<DigestInfo>;
    /// The plans by which statements of digests ran, in the order of these.
    fn plans(&self) -> Vec<PlanInfo>;
    /// Sums of the server.
    fn all(&self) -> Sums;
    /// Of each connection.
    fn by_connection(&self) -> Vec<OwnedSums>;
    /// Of each account, connections that are gone included.
    fn by_account(&self) -> Vec<OwnedSums>;
    /// Of each connection the statement that runs, or the last one.
    fn current(&self) -> Vec<StatementEvent>;
    /// Of each connection the last ones that have ended.
    fn history(&self) -> Vec<StatementEvent>;
    fn transactions(&self) -> Vec<TransactionEvent>;
    fn transaction_history(&self) -> Vec<TransactionEvent>;
    /// What was done with the rows of tables since the server began.
    fn tables(&self) -> HashMap<TableUse, TableSums>;
    fn forget(&self, what: Forget);
}

/// What TRUNCATE of a table of performance_schema lets begin anew.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Forget {
    Digests,
    Kinds,
    StatementHistory,
    Transactions,
    TransactionHistory,
    Errors,
    /// Accounts without connections.
    Accounts,
    Tables,
}

/// What is counted of a statement, in the order of MySQL's columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counted {
    /// Picoseconds, as all of performance_schema's times.
    LockTime,
    Errors,
    Warnings,
    RowsAffected,
    RowsSent,
    RowsExamined,
    CreatedTmpDiskTables,
    CreatedTmpTables,
    SelectFullJoin,
    SelectFullRangeJoin,
    SelectRange,
    SelectRangeCheck,
    SelectScan,
    SortMergePasses,
    SortRange,
    SortRows,
    SortScan,
    NoIndexUsed,
    NoGoodIndexUsed,
}

const COUNTS: usize = Counted::NoGoodIndexUsed as usize + 1;

/// What one statement did, or several together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Work([u64; COUNTS]);

impl Work {
    #[inline]
    pub fn add(&mut self, what: Counted, count: u64) {
        self.0[what as usize] += count;
    }

    #[inline]
    pub fn add_all(&mut self, other: &Work) {
        self.0.iter_mut().zip(&other.0).for_each(|(sum, count)| *sum += count);
    }

    pub fn get(&self, what: Counted) -> u64 {
        self.0[what as usize]
    }

    /// In the order of the columns.
    pub fn counts(&self) -> &[u64] {
        &self.0
    }
}

/// Statements of one kind or digest together.
#[derive(Clone, Debug, Default)]
pub struct StatementSums {
    pub count: u64,
    pub wait_ns: u64,
    /// 0 as long as there was none.
    pub wait_ns_min: u64,
    pub wait_ns_max: u64,
    pub work: Work,
    pub histogram: Histogram,
}

impl StatementSums {
    /// `bucket` is that of the time.
    pub fn add(&mut self, wait_ns: u64, bucket: Bucket, work: &Work) {
        self.wait_ns_min = if self.count == 0 { wait_ns } else { self.wait_ns_min.min(wait_ns) };
        self.wait_ns_max = self.wait_ns_max.max(wait_ns);
        self.count += 1;
        self.wait_ns += wait_ns;
        self.work.add_all(work);
        self.histogram.add(bucket);
    }

    pub fn add_all(&mut self, other: &StatementSums) {
        if other.count == 0 {
            return;
        }
        self.wait_ns_min = if self.count == 0 { other.wait_ns_min } else { self.wait_ns_min.min(other.wait_ns_min) };
        self.wait_ns_max = self.wait_ns_max.max(other.wait_ns_max);
        self.count += other.count;
        self.wait_ns += other.wait_ns;
        self.work.add_all(&other.work);
        self.histogram.add_all(&other.histogram);
    }
}

/// How many statements took how long: the first bucket ends at 10 µs, 50 follow for each power of ten, the last has no end.
#[derive(Clone, Debug, Default)]
pub struct Histogram {
    /// Groups of buckets are there from the first statement in them on.
    groups: [Option<Box<[u64; GROUP]>>; BUCKETS / GROUP],
}

pub const BUCKETS: usize = 450;
const GROUP: usize = 25;
const FIRST_NS: u64 = 10_000;

impl Histogram {
    fn add(&mut self, Bucket(bucket): Bucket) {
        let group = self.groups[bucket / GROUP].get_or_insert_with(|| Box::new([0; GROUP]));
        group[bucket % GROUP] += 1;
    }

    fn add_all(&mut self, other: &Histogram) {
        for (own, group) in self.groups.iter_mut().zip(&other.groups) {
            let Some(group) = group else { continue };
            let own = own.get_or_insert_with(|| Box::new([0; GROUP]));
            own.iter_mut().zip(group.iter()).for_each(|(sum, count)| *sum += count);
        }
    }

    /// Of each bucket, the shortest first.
    pub fn counts(&self) -> impl Iterator<Item = u64> + '_ {
        self.groups.iter().flat_map(|group| (0..GROUP).map(move |at| group.as_ref().map_or(0, |group| group[at])))
    }

    /// The upper bound, in picoseconds, of the bucket in which the statement stands that is slower than `part` of all; 0 if there is none.
    pub fn quantile(&self, part: f64) -> u64 {
        let total: u64 = self.counts().sum();
        let wanted = (total as f64 * part).ceil() as u64;
        let mut below = 0;
        let found = self.counts().position(|count| {
            below += count;
            below >= wanted && below > 0
        });
        found.map_or(0, |bucket| bucket_bounds()[bucket].1)
    }
}

/// Lower and upper bounds in picoseconds, as MySQL computes them.
pub fn bucket_bounds() -> &'static [(u64, u64); BUCKETS] {
    static BOUNDS: std::sync::LazyLock<[(u64, u64); BUCKETS]> = std::sync::LazyLock::new(|| {
        const FACTOR: f64 = 1.047_128_548_050_899_6;
        let mut bounds = [(0, u64::MAX); BUCKETS];
        let mut next = (FIRST_NS * 1000) as f64;
        for at in 0..BUCKETS - 1 {
            bounds[at].1 = next as u64;
            bounds[at + 1].0 = next as u64;
            next *= FACTOR;
        }
        bounds
    });
    &BOUNDS
}

/// The bucket of a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bucket(usize);

/// Times with the same leading bits: the highest, and so many behind it.
const BITS_BEHIND: u32 = 3;

impl Bucket {
    pub fn of(wait_ns: u64) -> Bucket {
        static FIRST: std::sync::LazyLock<[u16; 64 << BITS_BEHIND]> = std::sync::LazyLock::new(|| {
            let first_of = |at: usize| {
                let (high, behind) = (at >> BITS_BEHIND, at as u64 & ((1 << BITS_BEHIND) - 1));
                let least = 1u128 << high | u128::from(behind) << high >> BITS_BEHIND;
                bucket_bounds().iter().position(|(_, high)| least * 1000 < u128::from(*high)).unwrap_or(BUCKETS - 1) as u16
            };
            std::array::from_fn(first_of)
        });
        if wait_ns < FIRST_NS {
            return Bucket(0);
        }
        let high = 63 - wait_ns.leading_zeros();
        let behind = wait_ns >> (high - BITS_BEHIND) & ((1 << BITS_BEHIND) - 1);
        let mut bucket = usize::from(FIRST[(high as usize) << BITS_BEHIND | behind as usize]);
        let wait_ps = wait_ns.saturating_mul(1000);
        let bounds = bucket_bounds();
        while bucket < BUCKETS - 1 && wait_ps >= bounds[bucket].1 {
            bucket += 1;
        }
        Bucket(bucket)
    }
}

/// A line of events_statements_summary_by_digest.
#[derive(Clone, Debug)]
pub struct DigestInfo {
    /// The database that was current, the digest and its text; `None` for those that found no place any more.
    pub digest: Option<StatementDigest>,
    pub sums: StatementSums,
    /// Microseconds since 1970.
    pub first_seen_us: u64,
    pub last_seen_us: u64,
    pub sample: Option<StatementSample>,
}

/// Statements of a digest that ran by plans of one shape.
#[derive(Clone, Debug)]
pub struct PlanInfo {
    pub digest: StatementDigest,
    pub shape: u64,
    pub count: u64,
    pub wait_ns: u64,
    pub wait_ns_max: u64,
    /// Microseconds since 1970.
    pub first_seen_us: u64,
    pub last_seen_us: u64,
    /// As EXPLAIN FORMAT=TREE shows the first of them, if it is still known.
    pub text: Option<Arc<str>>,
}

/// A statement without its literals.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StatementDigest {
    pub database: Option<Arc<str>>,
    /// Hexadecimal.
    pub digest: Arc<str>,
    pub text: Arc<str>,
}

/// One of a digest's statements.
#[derive(Clone, Debug)]
pub struct StatementSample {
    pub text: Arc<str>,
    pub seen_us: u64,
    pub wait_ns: u64,
}

/// A line of events_statements_current and its histories.
#[derive(Clone, Debug)]
pub struct StatementEvent {
    pub connection_id: u64,
    /// Among the events of this connection, from 1 on.
    pub number: u64,
    /// The last event in its course; `None` while it runs.
    pub end_number: Option<u64>,
    /// The transaction that it is part of.
    pub transaction: Option<u64>,
    /// Of the server.
    pub statement_id: u64,
    pub kind: Option<StatementKind>,
    /// Since the server was started.
    pub start_ns: u64,
    /// Until now if it still runs.
    pub wait_ns: u64,
    pub text: Option<Arc<str>>,
    pub digest: Option<StatementDigest>,
    pub database: Option<Arc<str>>,
    pub error: Option<(u16, String, String)>,
    pub work: Work,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_time_is_in_the_bucket_whose_bounds_are_around_it() {
        let bounds = bucket_bounds();
        assert_eq!(bounds[1], (10_000_000, 10_471_285));
        assert_eq!(bounds[448], (8_709_635_899_561_102, 9_120_108_393_559_408));
        let mut wait_ns = 1u64;
        while wait_ns < u64::MAX / 3000 {
            for wait_ns in [wait_ns - 1, wait_ns, wait_ns + 1] {
                let (low, high) = bounds[Bucket::of(wait_ns).0];
                assert!((low..high).contains(&(wait_ns * 1000)), "{wait_ns}");
            }
            wait_ns += wait_ns / 60 + 1;
        }
        for (low, _) in &bounds[1..] {
            let (below, above) = bounds[Bucket::of(low.div_ceil(1000)).0];
            assert!((below..above).contains(&(low.div_ceil(1000) * 1000)));
        }
    }

    #[test]
    fn quantiles_are_upper_bounds() {
        let mut sums = StatementSums::default();
        assert_eq!(sums.histogram.quantile(0.95), 0);
        for wait_ns in 0..100 {
            sums.add(1_000_000 + wait_ns, Bucket::of(1_000_000 + wait_ns), &Work::default());
        }
        sums.add(90_000_000_000, Bucket::of(90_000_000_000), &Work::default());
        assert!(sums.histogram.quantile(0.95) < 1_100_000_000);
        assert!(sums.histogram.quantile(0.999) > 90_000_000_000_000);
        assert_eq!((sums.count, sums.wait_ns_min, sums.wait_ns_max), (101, 1_000_000, 90_000_000_000));
    }
}
