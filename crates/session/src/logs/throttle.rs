//! `log_throttle_queries_not_using_indexes`: of the statements that are logged because they use no index, so many a minute are written; how many
//! were not is told by an entry of its own, before the first statement of another minute.

use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;

const WINDOW_US: u64 = 60_000_000;

#[derive(Default)]
pub struct Throttle {
    /// Without one, who is not limited looks at nothing else.
    is_open: AtomicBool,
    window: Mutex<Window>,
}

#[derive(Default)]
struct Window {
    ends_us: u64,
    rate: u64,
    seen: u64,
    suppressed: Suppressed,
}

/// What was left out in a window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Suppressed {
    pub count: u64,
    pub took_us: u64,
    pub lock_us: u64,
}

impl Throttle {
    /// What was left out is not told any more.
    pub fn reset(&self) {
        self.is_open.store(false, Ordering::Relaxed);
        *self.window.lock() = Window::default();
    }

    /// A statement has ended at `now_us` that may be logged; `is_counted`: because it uses no index. Whether it is left out, and what was left out in a
    /// window that is over.
    pub fn pass(&self, rate: u64, now_us: u64, is_counted: bool, (took_us, lock_us): (u64, u64)) -> (bool, Option<Suppressed>) {
        if rate == 0 && !self.is_open.swap(false, Ordering::Relaxed) {
            return (false, None);
        }
        let mut window = self.window.lock();
        self.is_open.store(rate > 0, Ordering::Relaxed);
        let mut over = None;
        if now_us >= window.ends_us || window.rate != rate {
            over = Some(std::mem::take(&mut window.suppressed)).filter(|suppressed| suppressed.count > 0);
            *window = Window { ends_us: now_us + WINDOW_US, rate, ..Window::default() };
        }
        if !is_counted || rate == 0 {
            return (false, over);
        }
        window.seen += 1;
        let is_suppressed = window.seen > rate;
        if is_suppressed {
            window.suppressed.count += 1;
            window.suppressed.took_us += took_us;
            window.suppressed.lock_us += lock_us;
        }
        (is_suppressed, over)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_lets_so_many_pass_and_tells_of_the_others() {
        let throttle = Throttle::default();
        let pass = |at_us: u64, is_counted: bool| throttle.pass(2, at_us, is_counted, (5, 1));
        assert_eq!([pass(0, true), pass(1, true)], [(false, None); 2]);
        assert_eq!([pass(2, true), pass(3, true)], [(true, None); 2]);
        assert_eq!(pass(4, false), (false, None));
        let told = Suppressed { count: 2, took_us: 10, lock_us: 2 };
        assert_eq!(pass(WINDOW_US, false), (false, Some(told)));
        assert_eq!(pass(WINDOW_US + 1, true), (false, None));
        // Without a limit what was left out is told at once.
        assert_eq!([pass(WINDOW_US + 2, true), pass(WINDOW_US + 3, true)], [(false, None), (true, None)]);
        let told = Suppressed { count: 1, took_us: 5, lock_us: 1 };
        assert_eq!(throttle.pass(0, WINDOW_US + 4, true, (5, 1)), (false, Some(told)));
        assert_eq!(throttle.pass(0, WINDOW_US + 5, true, (5, 1)), (false, None));
    }
}
