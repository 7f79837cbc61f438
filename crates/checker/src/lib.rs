//! Says which of Adya's anomalies a history of transactions shows.
//!
//! A *history* is what clients saw: transactions with their operations, what they read, how they ended. From what was
//! read follows in which order versions were written, and from that who depends on whom:
//!
//! ```text
//! ww  T2 overwrote what T1 wrote          T1: append x 1     T2: append x 2     T3: r x [1 2]    =>  T1 -ww-> T2
//! wr  T2 read what T1 wrote               T1: append x 1     T2: r x [1]                         =>  T1 -wr-> T2
//! rw  T2 overwrote what T1 read           T1: r x []         T2: append x 1                      =>  T1 -rw-> T2
//! ```
//!
//! These edges are the direct serialization graph (Adya, "Weak Consistency", 1999). A cycle in it cannot be
//! serialized, and the kinds of its edges say which anomaly it is. Inferring the order from lists that are only
//! appended to is the idea of Elle (Kingsbury and Alvaro, "Elle", VLDB 2020).
//!
//! A history's way: `edn` and `load` read a file, or a test harness fills a `history::Builder`; `list`, `register`
//! and `set` look at each object and add edges to a `graph`; `cycles` searches it; `explain` says why each edge of a
//! cycle is there; the `report` says which findings an isolation level forbids.
//!
//! It does not prove a history right: it finds what is wrong with what was observed.

#![forbid(unsafe_code)]

mod anomaly;
pub mod bank;
mod cycles;
pub mod edn;
mod explain;
mod graph;
pub mod history;
mod list;
pub mod load;
mod register;
mod report;
mod scc;
mod set;

pub use anomaly::{Kind, Level, Order};
pub use history::{Builder, History, Mop, Outcome};
pub use report::{Finding, Report, name};

/// What may be taken for granted about a history.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// A transaction that begins after another has ended comes after it.
    pub real_time: bool,
    /// The transactions of one client come in its order. Real time says this too.
    pub process: bool,
    /// The history holds every write: a value that nobody wrote comes from nowhere. Without it, such a value was
    /// written before the history begins.
    pub closed: bool,
}

impl Default for Options {
    fn default() -> Options {
        Options { real_time: true, process: true, closed: true }
    }
}

/// Every anomaly that the history shows.
pub fn check(history: &History, options: &Options) -> Report {
    let mut report = Report::default();
    let mut edges = graph::Edges::new(history.txns.len());
    // A transaction of unknown outcome has committed if any of its writes was read.
    let mut committed: Vec<bool> = history.txns.iter().map(|txn| txn.outcome == Outcome::Ok).collect();
    let lists = list::Lists::index(history, &mut committed);
    let registers = register::Registers::index(history, &mut committed);
    let sets = set::Sets::index(history, &mut committed);
    list::analyze(history, &lists, &committed, options, &mut edges, &mut report);
    register::analyze(history, &registers, &committed, options, &mut edges, &mut report);
    set::analyze(history, &sets, &committed, options, &mut edges, &mut report);
    let explainer = explain::Explainer { history, lists: &lists, registers: &registers, sets: &sets };
    cycles::search(history, edges, options, &explainer, &mut report);
    report
}
