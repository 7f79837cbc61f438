//! Medians, and a histogram of latencies.

use std::time::Duration;

/// Of values in any order.
pub fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    match sorted.len() {
        0 => None,
        n if n % 2 == 1 => Some(sorted[middle]),
        _ => Some((sorted[middle - 1] + sorted[middle]) / 2.0),
    }
}

/// The lowest and the highest.
pub fn spread(values: &[f64]) -> Option<(f64, f64)> {
    let low = values.iter().copied().reduce(f64::min)?;
    Some((low, values.iter().copied().fold(low, f64::max)))
}

/// Buckets per power of two, so that a bucket is at most 1/64 wide.
const SUB: u64 = 64;
const SUB_BITS: u32 = SUB.trailing_zeros();

/// Counts durations in microseconds: exact below 64, then with an error of at most 1.6%.
#[derive(Clone, Default)]
pub struct Histogram {
    counts: Vec<u64>,
    total: u64,
    max_us: u64,
}

impl Histogram {
    pub fn add(&mut self, time: Duration) {
        self.add_us(time.as_micros() as u64);
    }

    fn add_us(&mut self, us: u64) {
        let bucket = bucket_of(us);
        if bucket >= self.counts.len() {
            self.counts.resize(bucket + 1, 0);
        }
        self.counts[bucket] += 1;
        self.total += 1;
        self.max_us = self.max_us.max(us);
    }

    pub fn merge(&mut self, other: &Histogram) {
        if other.counts.len() > self.counts.len() {
            self.counts.resize(other.counts.len(), 0);
        }
        for (own, more) in self.counts.iter_mut().zip(&other.counts) {
            *own += more;
        }
        self.total += other.total;
        self.max_us = self.max_us.max(other.max_us);
    }

    pub fn count(&self) -> u64 {
        self.total
    }

    pub fn max_ms(&self) -> f64 {
        self.max_us as f64 / 1e3
    }

    /// The smallest time in ms that this percentage of the counted ones do not exceed; 0 if nothing was counted.
    pub fn percentile_ms(&self, percent: f64) -> f64 {
        let wanted = (self.total as f64 * percent / 100.0).ceil().max(1.0) as u64;
        let mut seen = 0;
        for (bucket, count) in self.counts.iter().enumerate() {
            seen += count;
            if seen >= wanted {
                return (highest_of(bucket).min(self.max_us)) as f64 / 1e3;
            }
        }
        0.0
    }
}

fn bucket_of(us: u64) -> usize {
    if us < SUB {
        return us as usize;
    }
    let shift = us.ilog2() - SUB_BITS;
    (u64::from(shift + 1) * SUB + (us >> shift) - SUB) as usize
}

/// The highest value of a bucket.
fn highest_of(bucket: usize) -> u64 {
    let (power, sub) = (bucket as u64 / SUB, bucket as u64 % SUB);
    if power == 0 {
        return sub;
    }
    let shift = power - 1;
    ((SUB + sub + 1) << shift) - 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn median_of_even_and_odd() {
        assert_eq!(median(&[]), None);
        assert_eq!(median(&[9.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(&[2.0, 1.0]), Some(1.5));
        assert_eq!(spread(&[3.0, 1.0, 2.0]), Some((1.0, 3.0)));
        assert_eq!(spread(&[]), None);
    }

    #[test]
    fn every_value_is_in_its_bucket() {
        for us in (0..5000).chain([65_535, 65_536, 1_000_000, 3_600_000_000]) {
            let bucket = bucket_of(us);
            assert!(us <= highest_of(bucket), "{us}");
            assert!(bucket == 0 || us > highest_of(bucket - 1), "{us}");
            assert!(highest_of(bucket) as f64 <= us as f64 * 1.016 + 0.5, "{us}");
        }
    }

    #[test]
    fn percentiles() {
        let mut low = Histogram::default();
        assert_eq!(low.percentile_ms(99.9), 0.0);
        (1..=999).for_each(|us| low.add_us(us));
        let mut high = Histogram::default();
        high.add(Duration::from_millis(50));
        low.merge(&high);
        assert_eq!(low.count(), 1000);
        assert_eq!(low.max_ms(), 50.0);
        assert_eq!(low.percentile_ms(100.0), 50.0);
        for (percent, ms) in [(50.0, 0.5), (99.0, 0.99), (99.9, 0.999)] {
            let found = low.percentile_ms(percent);
            assert!((ms..=ms * 1.016).contains(&found), "{percent}: {found}");
        }
    }
}
