//! What a round found, and whether the last ones are as the first.

use super::process::Sample;
use super::work::{LEVELS, Speed};

/// Memory may be this much more at the end: caches that fill, and an allocator's spare pages.
const MEMORY_GROWTH_MAX: f64 = 1.10;
/// Files come and go with compactions, threads with what blocks.
const FILES_MORE_MAX: u64 = 50;
const THREADS_MORE_MAX: u64 = 8;
/// Fewer rounds say nothing: the first is left out, of the others the first third is compared with the last.
const ROUNDS_MIN: usize = 4;

pub struct Round {
    pub minute: u64,
    pub speeds: Vec<Speed>,
    pub sample: Sample,
}

pub fn print_header() {
    println!("minute  transactions/s and CPU us each: {}  resident MB  files  threads", LEVELS.join(", "));
}

impl Round {
    pub fn print(&self) {
        let speeds: Vec<String> = self.speeds.iter().map(|s| format!("{:7.0} {:6.0}", s.per_second, s.cpu_us)).collect();
        let Sample { resident_mb, files, threads } = self.sample;
        println!("{:6}  {}  {resident_mb:6}  {files:5}  {threads:4}", self.minute, speeds.join("  "));
    }
}

pub fn judge(rounds: &[Round]) -> Result<(), String> {
    if rounds.len() < ROUNDS_MIN {
        println!("{} rounds: too few to compare", rounds.len());
        return Ok(());
    }
    let steady = &rounds[1..];
    let third = (steady.len() / 3).max(1);
    let (first, last) = (&steady[..third], &steady[steady.len() - third..]);
    for (at, level) in LEVELS.iter().enumerate() {
        let ratio = |of: &dyn Fn(&Speed) -> f64| {
            let of_round = |round: &Round| round.speeds.get(at).map_or(0.0, of);
            median(last.iter().map(of_round)) / median(first.iter().map(of_round))
        };
        println!(
            "{level}: the last {third} rounds made {:.2} of the transactions of the first {third}, one of which took {:.2} of the CPU",
            ratio(&|speed| speed.per_second),
            ratio(&|speed| speed.cpu_us)
        );
    }
    let of = |rounds: &[Round], what: fn(&Sample) -> u64| median(rounds.iter().map(|round| what(&round.sample) as f64));
    let compare = |name: &str, what: fn(&Sample) -> u64, limit: &dyn Fn(f64) -> f64| {
        let (before, after) = (of(first, what), of(last, what));
        println!("{name}: {before:.0} before, {after:.0} after");
        if after <= limit(before) { Ok(()) } else { Err(format!("{name} grew from {before:.0} to {after:.0}")) }
    };
    compare("resident MB", |s| s.resident_mb, &|before| before * MEMORY_GROWTH_MAX)?;
    compare("files", |s| s.files, &|before| before + FILES_MORE_MAX as f64)?;
    compare("threads", |s| s.threads, &|before| before + THREADS_MORE_MAX as f64)
}

fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or_default()
}
