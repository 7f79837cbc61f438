//! `loom-models [PREEMPTIONS [SECONDS]]`: every schedule of each scenario, up to a number of preemptions.
//!
//! Compiles the lock manager, the commit pipeline and the counters of `storage` with loom's primitives (`shared/sync.rs`)
//! and runs `scenarios` under all interleavings, including what the memory model lets an atomic return. A preemption is a
//! switch away from a thread that could go on; a bound of 2 or 3 finds nearly every error that small programs have. With
//! PREEMPTIONS 0 there is no bound. SECONDS ends a scenario early, which its line then says.
//!
//! loom is deterministic: a failure is repeated by the same command.

#![forbid(unsafe_code)]

/// What `shared/sync.rs` wraps.
mod backend {
    pub use loom::sync::{Condvar, Mutex, MutexGuard, RwLock, RwLockReadGuard, RwLockWriteGuard, atomic};
    pub use loom::thread;
}

#[path = "shared/base.rs"]
#[allow(dead_code)] // here and below: models use a part
mod base;
#[path = "../../storage/src/cache/mod.rs"]
#[allow(dead_code)]
mod cache;
#[path = "../../storage/src/commit/mod.rs"]
#[allow(dead_code)]
mod commit;
#[path = "shared/encoding.rs"]
#[allow(dead_code, unused_imports)]
mod encoding;
#[path = "../../storage/src/locks/mod.rs"]
#[allow(dead_code, unused_imports)]
mod locks;
#[path = "shared/rocks.rs"]
mod rocks;
mod scenarios;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Thread switches of one schedule; a scenario that needs more does not end.
const BRANCHES_MAX: usize = 20_000;

fn main() {
    let number = |n: usize| std::env::args().nth(n).and_then(|text| text.parse::<u64>().ok());
    let bound = number(1).unwrap_or(2) as usize;
    let seconds = number(2).unwrap_or(3600);
    let mut cut = 0;
    for (name, scenario) in scenarios::ALL {
        let schedules = Arc::new(AtomicU64::new(0));
        let mut builder = loom::model::Builder::new();
        builder.preemption_bound = (bound > 0).then_some(bound);
        builder.max_duration = Some(Duration::from_secs(seconds));
        builder.max_branches = BRANCHES_MAX;
        let began = Instant::now();
        println!("loom {name} …");
        let counted = Arc::clone(&schedules);
        builder.check(move || {
            counted.fetch_add(1, Ordering::Relaxed);
            scenario();
        });
        let all = began.elapsed() < Duration::from_secs(seconds);
        cut += u64::from(!all);
        let count = schedules.load(Ordering::Relaxed);
        let end = if all { "all" } else { "stopped after" };
        println!("loom {name}: {end} {count} schedules, {:.1} s", began.elapsed().as_secs_f64());
    }
    println!("loom: {} scenarios at {bound} preemptions, {cut} of them cut short", scenarios::ALL.len());
}
