//! `Ranks`: what a full-text search has found, kept for the statement that searches.

use std::collections::HashMap;
use std::sync::Arc;

#[derive(Debug, Default)]
pub struct Ranks {
    by_key: HashMap<Arc<[u8]>, f32>,
    /// Clustered keys, those of highest rank first.
    ordered: Vec<Arc<[u8]>>,
}

impl Ranks {
    pub fn new(found: Vec<(Box<[u8]>, f32)>) -> Ranks {
        let mut found: Vec<(Arc<[u8]>, f32)> = found.into_iter().map(|(key, rank)| (key.into(), rank)).collect();
        found.sort_by(|a, b| b.1.total_cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        Ranks { ordered: found.iter().map(|(key, _)| Arc::clone(key)).collect(), by_key: found.into_iter().collect() }
    }

    /// 0 for a row that was not found.
    pub fn of(&self, key: &[u8]) -> f32 {
        self.by_key.get(key).copied().unwrap_or(0.0)
    }

    /// The keys in the order of their ranks, from the `at`-th on.
    pub fn keys_from(&self, at: usize) -> impl Iterator<Item = &[u8]> {
        self.ordered.iter().skip(at).map(|key| &**key)
    }
}
