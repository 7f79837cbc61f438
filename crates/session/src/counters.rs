//! What the server counts: statements by kind, bytes, prepared statements.
//!
//! Counts are kept in shards, by connection, so that cores do not fight over a cache line; reading adds them up.

use std::sync::atomic::{AtomicU64, Ordering};

use vaquita_parser::StatementKind;

/// Declares the counters: a name in Rust and MySQL's name.
macro_rules! counters {
    ($($(#[$doc:meta])* $counter:ident $name:literal,)*) => {
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Counter { $($(#[$doc])* $counter),* }

        const NAMES: &[&str] = &[$($name),*];
    };
}

counters! {
    Questions "Questions",
    Queries "Queries",
    SlowQueries "Slow_queries",
    BytesReceived "Bytes_received",
    BytesSent "Bytes_sent",
    /// FLUSH TABLES; MySQL counts from 1.
    FlushTables "Flush_commands",
    StmtClose "Com_stmt_close",
    StmtExecute "Com_stmt_execute",
    StmtFetch "Com_stmt_fetch",
    StmtPrepare "Com_stmt_prepare",
    StmtReset "Com_stmt_reset",
}

/// Kinds of statements follow.
const COUNTERS: usize = NAMES.len() + StatementKind::ALL.len();
/// A power of two, about the number of cores of a large machine.
const SHARDS: usize = 16;

/// Alone on its cache lines.
#[repr(align(128))]
struct Shard([AtomicU64; COUNTERS]);

pub struct Counters {
    shards: [Shard; SHARDS],
}

impl Default for Counters {
    fn default() -> Counters {
        Counters { shards: std::array::from_fn(|_| Shard(std::array::from_fn(|_| AtomicU64::new(0)))) }
    }
}

impl Counters {
    #[inline]
    pub fn add(&self, connection_id: u64, counter: Counter, count: u64) {
        self.add_at(connection_id, counter as usize, count);
    }

    #[inline]
    fn add_at(&self, connection_id: u64, at: usize, count: u64) {
        self.shards[connection_id as usize % SHARDS].0[at].fetch_add(count, Ordering::Relaxed);
    }

    /// A statement is about to run.
    #[inline]
    pub fn statement(&self, connection_id: u64, kind: StatementKind) {
        self.add(connection_id, Counter::Questions, 1);
        self.add(connection_id, Counter::Queries, 1);
        self.add_at(connection_id, NAMES.len() + kind as usize, 1);
    }

    /// The sum of one.
    pub fn get(&self, counter: Counter) -> u64 {
        self.sum(counter as usize) + u64::from(counter == Counter::FlushTables)
    }

    fn sum(&self, at: usize) -> u64 {
        self.shards.iter().map(|shard| shard.0[at].load(Ordering::Relaxed)).sum()
    }

    /// All names and sums; several kinds of statements may have one counter.
    pub fn list(&self) -> Vec<(&'static str, u64)> {
        let flushes = Counter::FlushTables as usize;
        let mut list: Vec<(&str, u64)> =
            NAMES.iter().enumerate().map(|(at, name)| (*name, self.sum(at) + u64::from(at == flushes))).collect();
        for kind in StatementKind::ALL {
            let (name, sum) = (kind.facts().counter, self.sum(NAMES.len() + *kind as usize));
            match list.iter_mut().find(|(listed, _)| *listed == name) {
                Some((_, listed)) => *listed += sum,
                None => list.push((name, sum)),
            }
        }
        list.retain(|(name, _)| !name.is_empty());
        list
    }
}
