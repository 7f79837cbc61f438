//! EXPLAIN ANALYZE: how often each operator was opened, what it gave, and how long that took.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use vaquita_plan::node::Node;

/// What the operators of a plan did, by the address of the node, which stays where it is while the plan runs.
#[derive(Default)]
pub struct Measures {
    nodes: Mutex<HashMap<usize, Arc<Counter>>>,
}

/// Sums over all times that an operator was opened, on all threads that did.
#[derive(Default)]
pub struct Counter {
    pub(crate) loops: AtomicU64,
    pub(crate) rows: AtomicU64,
    /// Until the first row, or until it was clear that there is none.
    pub(crate) first_ns: AtomicU64,
    pub(crate) total_ns: AtomicU64,
}

impl Measures {
    pub(crate) fn of(&self, node: &Node) -> Arc<Counter> {
        let mut nodes = self.nodes.lock().unwrap_or_else(PoisonError::into_inner);
        nodes.entry(std::ptr::from_ref(node).addr()).or_default().clone()
    }

    /// The rows of one loop; none where the operator did not run.
    pub fn rows(&self, node: &Node) -> Option<f64> {
        let nodes = self.nodes.lock().unwrap_or_else(PoisonError::into_inner);
        let counter = nodes.get(&std::ptr::from_ref(node).addr())?;
        let loops = counter.loops.load(Ordering::Relaxed);
        (loops > 0).then(|| counter.rows.load(Ordering::Relaxed) as f64 / loops as f64)
    }

    /// As MySQL prints it: milliseconds and rows are those of one loop.
    pub fn text(&self, node: &Node) -> String {
        let nodes = self.nodes.lock().unwrap_or_else(PoisonError::into_inner);
        // What another operator does as well has none of its own.
        let Some(counter) = nodes.get(&std::ptr::from_ref(node).addr()) else { return String::new() };
        let value = |of: &AtomicU64| of.load(Ordering::Relaxed) as f64;
        let loops = value(&counter.loops);
        if loops == 0.0 {
            return " (never executed)".to_string();
        }
        let ms = |of: &AtomicU64| readable(value(of) / loops / 1e6);
        let rows = readable(value(&counter.rows) / loops);
        format!(" (actual time={}..{} rows={rows} loops={loops})", ms(&counter.first_ns), ms(&counter.total_ns))
    }
}

/// Three digits that count, and all of a number below a million; small ones as MySQL writes them, `80e-6`.
fn readable(number: f64) -> String {
    if number == 0.0 {
        return "0".to_string();
    }
    if number < 1e-3 {
        let power = ((number.log10() / 3.0).floor() * 3.0) as i32;
        return format!("{}e{power}", digits(number / 10f64.powi(power)));
    }
    if number >= 999_999.5 {
        let power = number.log10().floor() as i32;
        return format!("{}e+{power}", digits(number / 10f64.powi(power)));
    }
    digits(number)
}

fn digits(number: f64) -> String {
    let before = number.log10().floor() as i32;
    let text = format!("{number:.*}", (2 - before).max(0) as usize);
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_string(),
        false => text,
    }
}

#[cfg(test)]
mod tests {
    use super::readable;

    #[test]
    fn numbers_are_printed_as_mysql_does() {
        let cases = [
            (0.0, "0"),
            (0.000_08, "80e-6"),
            (0.000_906, "906e-6"),
            (0.006_62, "0.00662"),
            (0.067_84, "0.0678"),
            (0.5, "0.5"),
            (2.0, "2"),
            (1234.4, "1234"),
            (1_234_567.0, "1.23e+6"),
        ];
        for (number, text) in cases {
            assert_eq!(readable(number), text);
        }
    }
}
