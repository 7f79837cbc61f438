//! The server stays within its goal of memory: caches give back what is too much, and get it again when it is not needed any more.

/// More than the goal and one part in so many of it is too much.
const OVER_PARTS: u64 = 16;
/// What was given back is taken again when it fits with one part in so many of the goal to spare, in so many rounds behind each other.
const SPARE_PARTS: u64 = 8;
const ROUNDS_BEFORE_TAKING: u32 = 30;

#[derive(Clone, Copy, Debug)]
pub struct Memory {
    pub goal: u64,
    /// What the server has that no file holds.
    pub used: u64,
    /// Of it, what caches and memtables take.
    pub cached: u64,
}

/// Remembers what the caches had before they gave something back.
#[derive(Debug, Default)]
pub struct Limit {
    before: Option<u64>,
    rounds: u32,
}

impl Limit {
    /// The bytes that caches shall have from now on, where they have `caches` and no less than `least` is of use.
    pub fn round(&mut self, memory: Memory, caches: u64, least: u64) -> Option<u64> {
        let Memory { goal, used, cached } = memory;
        if used > goal + goal / OVER_PARTS {
            self.rounds = 0;
            // What they hold is what they can give; empty ones give nothing.
            let to = caches.min(cached).saturating_sub(used - goal).max(least.min(caches));
            if to > caches - caches / OVER_PARTS {
                return None;
            }
            self.before.get_or_insert(caches);
            return Some(to);
        }
        let before = self.before?;
        let fits = used + before.saturating_sub(caches) <= goal - goal / SPARE_PARTS;
        self.rounds = if fits { self.rounds + 1 } else { 0 };
        if self.rounds < ROUNDS_BEFORE_TAKING {
            return None;
        }
        *self = Limit::default();
        (before > caches).then_some(before)
    }

    pub fn forget(&mut self) {
        *self = Limit::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MB: u64 = 1 << 20;

    #[test]
    fn caches_give_back_what_is_too_much_and_get_it_again() {
        let mut limit = Limit::default();
        let memory = |used, cached| Memory { goal: 400 * MB, used: used * MB, cached: cached * MB };
        assert_eq!(limit.round(memory(420, 200), 200 * MB, 32 * MB), None);
        assert_eq!(limit.round(memory(460, 180), 200 * MB, 32 * MB), Some(120 * MB));
        assert_eq!(limit.round(memory(700, 120), 120 * MB, 32 * MB), Some(32 * MB));
        // What is left is not worth taking, and 200 MiB do not fit.
        assert_eq!(limit.round(memory(700, 32), 32 * MB, 32 * MB), None);
        for _ in 0..100 {
            assert_eq!(limit.round(memory(200, 32), 32 * MB, 32 * MB), None);
        }
        let taken: Vec<u64> = (0..100).filter_map(|_| limit.round(memory(150, 32), 32 * MB, 32 * MB)).collect();
        assert_eq!(taken, [200 * MB]);
    }
}
