//! `shuttle-models [SCHEDULES [SEED [ONLY]]]`: random schedules of each scenario.
//!
//! The same sources and scenarios as in `loom.rs`, on shuttle's primitives, with as many preemptions as chance brings:
//! half of the schedules choose the next thread at random, half by priorities that change at few random points (PCT;
//! Burckhardt et al., A Randomized Scheduler with Probabilistic Guarantees of Finding Bugs, 2010). SCHEDULES are shared
//! evenly among the lock manager's scenarios, and as many again among those of the commit pipeline. Atomics are
//! sequentially consistent here; weaker orders are loom's part.
//!
//! A failure prints the schedule; the same SEED repeats it.

#![forbid(unsafe_code)]

/// What `shared/sync.rs` wraps.
mod backend {
    pub use shuttle::sync::{Condvar, Mutex, MutexGuard, RwLock, RwLockReadGuard, RwLockWriteGuard, atomic};
    pub use shuttle::thread;
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

use std::time::Instant;

use shuttle::scheduler::{PctScheduler, RandomScheduler};
use shuttle::{Config, Runner};

/// Points at which PCT changes priorities.
const PCT_DEPTH: usize = 3;
const STACK_BYTES: usize = 64 << 10;

fn main() {
    let argument = |n: usize| std::env::args().nth(n);
    let number = |n: usize| argument(n).and_then(|text| text.parse::<u64>().ok());
    let schedules = number(1).unwrap_or(20_000) as usize;
    let seed = number(2).unwrap_or(1);
    let only = argument(3);
    let mut total = 0;
    for (name, scenario) in scenarios::ALL {
        if only.as_ref().is_some_and(|only| only != name) {
            continue;
        }
        let group = name.split('.').next();
        let sharing = scenarios::ALL.iter().filter(|(other, _)| other.split('.').next() == group).count();
        let each = schedules.div_ceil(2 * sharing);
        let mut config = Config::new();
        config.stack_size = STACK_BYTES;
        config.silence_warnings = true;
        let began = Instant::now();
        println!("shuttle {name}, seed {seed} …");
        let mut run = Runner::new(RandomScheduler::new_from_seed(seed, each), config.clone()).run(scenario);
        run += Runner::new(PctScheduler::new_from_seed(seed, PCT_DEPTH, each), config).run(scenario);
        println!("shuttle {name}: {run} schedules, {:.1} s", began.elapsed().as_secs_f64());
        total += run;
    }
    println!("shuttle: {total} schedules, seed {seed}");
}
