//! Room on the stack for walks over trees whose depth a client decides.
//!
//! A statement's text makes trees: syntax, plans, expressions, operators. How high they can be is bounded where their nodes are made (`limits`), and
//! whoever walks them by recursion calls `deeper` at each level. It goes on with a further piece of stack when less than `LEFT_BYTES` are left of
//! the present one, so that the depth that is allowed does not depend on the thread that happens to walk. What the compiler writes (dropping, and
//! cloning where it is derived) cannot call it: `LEFT_BYTES` is more than the highest tree takes for that. Threads that run statements
//! have `THREAD_BYTES`, so that ordinary statements never need a further piece.

use std::cell::Cell;

/// Stack of a thread that runs statements. Only what is used of it takes memory.
pub const THREAD_BYTES: usize = 8 << 20;
/// What `deeper` leaves to those who do not call it.
const LEFT_BYTES: usize = 4 << 20;
/// A further piece of stack. Only what is used of it takes memory, which is given back at its end.
const PIECE_BYTES: usize = 32 << 20;

thread_local! {
    /// The address below which fewer than `LEFT_BYTES` are left on this thread; 0: not known yet.
    static FLOOR: Cell<usize> = const { Cell::new(0) };
}

/// Runs `f` with at least `LEFT_BYTES` of stack.
#[inline]
pub fn deeper<T>(f: impl FnOnce() -> T) -> T {
    if is_low() { further(f) } else { f() }
}

/// `deeper` would take a further piece of stack.
#[inline]
pub fn is_low() -> bool {
    let floor = FLOOR.get();
    address() < floor || (floor == 0 && floor_is_near())
}

/// About where the stack is now.
#[inline]
fn address() -> usize {
    let here = 0u8;
    (&raw const here).addr()
}

#[cold]
#[inline(never)]
fn floor_is_near() -> bool {
    // Where the system does not tell, a piece is taken each time, which is slow and right.
    FLOOR.set(floor_of_piece());
    address() < FLOOR.get()
}

fn floor_of_piece() -> usize {
    let left = stacker::remaining_stack().unwrap_or(0);
    address().saturating_add(LEFT_BYTES).saturating_sub(left).max(1)
}

#[cold]
#[inline(never)]
fn further<T>(f: impl FnOnce() -> T) -> T {
    /// Puts the floor back, also if `f` panics.
    struct Before(usize);
    impl Drop for Before {
        fn drop(&mut self) {
            FLOOR.set(self.0);
        }
    }
    let _before = Before(FLOOR.get());
    stacker::grow(PIECE_BYTES, || {
        FLOOR.set(floor_of_piece());
        f()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sum(n: u64) -> u64 {
        deeper(|| {
            let used = std::hint::black_box([n; 32]);
            if n == 0 { 0 } else { used[7] - n + 1 + sum(n - 1) }
        })
    }

    #[test]
    fn recursion_goes_as_deep_as_it_is_asked_on_any_thread() {
        for bytes in [256 << 10, 2 << 20, THREAD_BYTES] {
            let thread = std::thread::Builder::new().stack_size(bytes).spawn(|| (sum(1_000_000), FLOOR.get()));
            let (sum, _) = thread.expect("a thread").join().expect("no overflow");
            assert_eq!(sum, 1_000_000);
        }
    }

    #[test]
    fn the_floor_is_put_back() {
        let thread = std::thread::Builder::new().stack_size(THREAD_BYTES).spawn(|| {
            assert!(!is_low(), "a fresh thread has room");
            let before = FLOOR.get();
            sum(100_000);
            assert_eq!(FLOOR.get(), before);
            let panicked = std::panic::catch_unwind(|| further(|| panic!("on the further piece")));
            assert!(panicked.is_err());
            assert_eq!(FLOOR.get(), before);
        });
        thread.expect("a thread").join().expect("no overflow");
    }
}
