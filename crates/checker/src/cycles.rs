//! Finds cycles in the serialization graph, and says which anomaly each is.
//!
//! 1. Components of the whole graph: none in a serializable history, and then all is done in linear time.
//! 2. For dependencies alone, then with each client's order, then with real time: `ww` cycles are G0; `ww` and `wr`
//!    cycles G1c; one anti-dependency and a way back without another is G-single; several, but no two in a row, a long
//!    fork or G-nonadjacent; all others G2-item, or G2 if a predicate is among them.
//! 3. A kind that was found without an order is not searched with it again.
//!
//! Whether a kind that snapshot isolation forbids exists is decided by components, not by trying (`scc`). A component
//! gets a few examples, not all of its cycles, of which there may be exponentially many; `STEPS_MAX` bounds the search
//! for them, and a search that was cut off is said in `Report::gaps`.

use std::collections::{HashMap, HashSet};

use crate::Options;
use crate::anomaly::{Kind, Order};
use crate::explain::{Explainer, Step};
use crate::graph::{ANTI, Edges, Graph, LINK, PREDICATE_RW, PROCESS, REAL_TIME, WR, WW};
use crate::history::{History, Outcome, TxnId};
use crate::report::{EXAMPLES_MAX, Report};
use crate::scc::{NO_GROUP, View, components};

/// Edges looked at in the search for examples of one kind.
const STEPS_MAX: u64 = 100_000_000;
/// Starting points tried per component, to find a short cycle.
const TRIES_MAX: u32 = 16;

pub fn search(history: &History, mut edges: Edges, options: &Options, explainer: &Explainer, report: &mut Report) {
    if options.process {
        process_order(history, &mut edges);
    }
    if options.real_time {
        real_time_order(history, &mut edges);
    }
    let graph = edges.graph();
    let all = WW | WR | ANTI | PROCESS | REAL_TIME;
    let (groups, count) = components(&View { graph: &graph, kinds: all, product: false, groups: None });
    if count == 0 {
        return;
    }
    let nodes = graph.node_count * 2;
    let mut search = Search { graph: &graph, groups: &groups, explainer, report, paths: Paths::new(nodes), seen: HashSet::new() };
    search.phase(Order::None, 0);
    if options.process {
        search.phase(Order::Process, PROCESS);
    }
    if options.real_time {
        search.phase(Order::RealTime, PROCESS | REAL_TIME);
    }
}

/// From each transaction of a client to its next one.
fn process_order(history: &History, edges: &mut Edges) {
    let mut last: HashMap<u32, TxnId> = HashMap::new();
    for txn in history.ids() {
        let of_process = history.txns[txn as usize].process;
        if history.outcome(txn) == Outcome::Fail {
            continue;
        }
        if let Some(before) = last.insert(of_process, txn)
            && history.txns[before as usize].complete < history.txns[txn as usize].invoke
        {
            edges.add(PROCESS, before, txn, 0, 0);
        }
    }
}

/// Through a chain of auxiliary nodes, each a moment that some transactions have ended at and others began after.
fn real_time_order(history: &History, edges: &mut Edges) {
    let mut events: Vec<(u64, bool, TxnId)> = Vec::with_capacity(history.txns.len() * 2);
    for txn in history.ids().filter(|txn| history.outcome(*txn) != Outcome::Fail) {
        let times = &history.txns[txn as usize];
        events.push((times.invoke, false, txn));
        if times.complete != u64::MAX {
            events.push((times.complete, true, txn));
        }
    }
    events.sort_unstable();
    let mut moment: Option<u32> = None;
    let mut left = true;
    for (_, ended, txn) in events {
        if !ended {
            if let Some(moment) = moment {
                edges.link(moment, txn);
                left = true;
            }
            continue;
        }
        if left {
            let next = edges.auxiliary();
            if let Some(moment) = moment {
                edges.link(moment, next);
            }
            moment = Some(next);
            left = false;
        }
        if let Some(moment) = moment {
            edges.add(REAL_TIME, txn, moment, 0, 0);
        }
    }
}

/// Shortest paths, with memory that is used again.
struct Paths {
    /// The edge that led to each node, and in which search.
    parent: Vec<(u32, u32)>,
    previous: Vec<u32>,
    search: u32,
    queue: Vec<u32>,
    steps_left: u64,
}

impl Paths {
    fn new(nodes: usize) -> Paths {
        Paths { parent: vec![(0, 0); nodes], previous: vec![0; nodes], search: 0, queue: Vec::new(), steps_left: 0 }
    }

    /// The edges of a shortest path.
    fn find(&mut self, view: &View, from: u32, to: u32) -> Option<Vec<u32>> {
        self.search += 1;
        self.queue.clear();
        self.queue.push(from);
        self.parent[from as usize] = (u32::MAX, self.search);
        let mut head = 0;
        while let Some(node) = self.queue.get(head).copied() {
            head += 1;
            if node == to {
                return Some(self.trace(from, to));
            }
            for at in view.out(node) {
                self.steps_left = self.steps_left.checked_sub(1)?;
                let Some(target) = view.step(node, at) else { continue };
                if self.parent[target as usize].1 != self.search {
                    self.parent[target as usize] = (at as u32, self.search);
                    self.previous[target as usize] = node;
                    self.queue.push(target);
                }
            }
        }
        None
    }

    fn trace(&self, from: u32, to: u32) -> Vec<u32> {
        let mut edges = Vec::new();
        let mut node = to;
        while node != from {
            edges.push(self.parent[node as usize].0);
            node = self.previous[node as usize];
        }
        edges.reverse();
        edges
    }
}

struct Search<'a> {
    graph: &'a Graph,
    /// Components of the whole graph.
    groups: &'a [u32],
    explainer: &'a Explainer<'a>,
    report: &'a mut Report,
    paths: Paths,
    /// The transactions of the cycles that were reported.
    seen: HashSet<(Kind, Vec<TxnId>)>,
}

impl Search<'_> {
    fn phase(&mut self, order: Order, extra: u8) {
        let view = |kinds: u8| View { graph: self.graph, kinds: kinds | extra, product: false, groups: Some(self.groups) };
        let (writes, dependencies, all) = (view(WW), view(WW | WR), view(WW | WR | ANTI));
        let product = View { product: true, ..all };
        self.plain(Kind::G0, order, &writes, WW);
        self.plain(Kind::G1c, order, &dependencies, WR);
        let (groups, count) = components(&product);
        if count > 0 {
            self.single(order, &dependencies, &groups);
            self.nonadjacent(order, &product, &groups);
        }
        self.others(order, &all);
    }

    /// Whether the kind was found with this order or less.
    fn known(&self, kind: Kind, order: Order) -> bool {
        [Order::None, Order::Process, Order::RealTime].into_iter().filter(|o| *o < order).any(|o| self.report.has(kind, o))
    }

    /// One cycle of each component of `view`, through an edge of the kind `through`.
    fn plain(&mut self, kind: Kind, order: Order, view: &View, through: u8) {
        if self.known(kind, order) {
            return;
        }
        let (groups, count) = components(view);
        let mut best: Vec<(u32, Vec<u32>)> = vec![(0, Vec::new()); count as usize];
        self.paths.steps_left = STEPS_MAX;
        let view = View { groups: Some(&groups), ..*view };
        for (at, edge) in self.graph.edges.iter().enumerate().filter(|(_, edge)| edge.kind & through != 0) {
            let group = groups[edge.from as usize];
            if group == NO_GROUP || group != groups[edge.to as usize] {
                continue;
            }
            let (tries, cycle) = &mut best[group as usize];
            if *tries == TRIES_MAX {
                continue;
            }
            *tries += 1;
            if let Some(path) = self.paths.find(&view, edge.to, edge.from)
                && (cycle.is_empty() || path.len() + 1 < cycle.len())
            {
                *cycle = std::iter::once(at as u32).chain(path).collect();
            }
        }
        self.cut_off(kind);
        for (_, cycle) in best.iter().filter(|(_, cycle)| !cycle.is_empty()) {
            let steps = self.steps(cycle);
            self.add(kind, order, steps);
        }
    }

    fn single(&mut self, order: Order, dependencies: &View, product_groups: &[u32]) {
        if self.known(Kind::GSingle, order) {
            return;
        }
        self.paths.steps_left = STEPS_MAX;
        let mut found = 0;
        for (at, edge) in self.anti_edges(product_groups) {
            if found == EXAMPLES_MAX {
                return;
            }
            if let Some(path) = self.paths.find(dependencies, edge.1, edge.0) {
                let cycle: Vec<u32> = std::iter::once(at).chain(path).collect();
                let steps = self.steps(&cycle);
                found += usize::from(self.add(Kind::GSingle, order, steps));
            }
            if self.cut_off(Kind::GSingle) {
                return;
            }
        }
    }

    /// The anti-dependencies inside a component of the product: index, from and to.
    fn anti_edges(&self, product_groups: &[u32]) -> Vec<(u32, (u32, u32))> {
        let inside = |from: u32, to: u32| {
            let group = product_groups[(from << 1) as usize];
            group != NO_GROUP && group == product_groups[(to << 1 | 1) as usize]
        };
        let edges = self.graph.edges.iter().enumerate();
        edges
            .filter(|(_, edge)| edge.kind & ANTI != 0 && inside(edge.from, edge.to))
            .map(|(at, edge)| (at as u32, (edge.from, edge.to)))
            .collect()
    }

    /// Only where the simpler kinds are not: they have such cycles too.
    fn nonadjacent(&mut self, order: Order, product: &View, product_groups: &[u32]) {
        let simpler = [Kind::G0, Kind::G1c, Kind::GSingle, Kind::LongFork, Kind::GNonadjacent];
        if simpler.iter().any(|kind| self.known(*kind, order) || *kind <= Kind::GSingle && self.report.has(*kind, order)) {
            return;
        }
        self.paths.steps_left = STEPS_MAX;
        let view = View { groups: None, ..*product };
        let mut tried: HashSet<u32> = HashSet::new();
        for (at, (from, to)) in self.anti_edges(product_groups) {
            if !tried.insert(product_groups[(from << 1) as usize]) {
                continue;
            }
            if let Some(path) = self.paths.find(&view, to << 1 | 1, from << 1) {
                let cycle: Vec<u32> = std::iter::once(at).chain(path).collect();
                let steps = self.steps(&cycle);
                let anti = steps.iter().filter(|step| step.kind & ANTI != 0).count();
                let reads = steps.iter().filter(|step| step.kind == WR).count();
                let kind = if anti == 2 && reads == 2 && steps.len() == 4 { Kind::LongFork } else { Kind::GNonadjacent };
                self.add(kind, order, steps);
            }
            if self.cut_off(Kind::GNonadjacent) {
                return;
            }
        }
    }

    /// Cycles with two anti-dependencies in a row.
    fn others(&mut self, order: Order, all: &View) {
        let mut known = [Kind::G2Item, Kind::G2].map(|kind| self.known(kind, order));
        // Without predicates there is nothing to look for.
        known[1] |= !self.graph.edges.iter().any(|edge| edge.kind == PREDICATE_RW);
        if known == [true, true] {
            return;
        }
        let (groups, count) = components(all);
        if count == 0 {
            return;
        }
        self.paths.steps_left = STEPS_MAX;
        let view = View { groups: Some(&groups), ..*all };
        let mut found = [0; 2];
        for (at, edge) in self.graph.edges.iter().enumerate().filter(|(_, edge)| edge.kind & ANTI != 0) {
            let group = groups[edge.from as usize];
            if group == NO_GROUP || group != groups[edge.to as usize] {
                continue;
            }
            // With enough of one kind, the other is worth a short search: both are forbidden by the same level.
            if found.contains(&EXAMPLES_MAX) {
                self.paths.steps_left = self.paths.steps_left.min(STEPS_MAX / 10);
            }
            let path = self.paths.find(&view, edge.to, edge.from);
            if self.paths.steps_left == 0 {
                if found == [0, 0] {
                    self.cut_off(Kind::G2);
                }
                return;
            }
            let Some(path) = path else { continue };
            let cycle: Vec<u32> = std::iter::once(at as u32).chain(path).collect();
            let steps = self.steps(&cycle);
            let next = |at: usize| &steps[(at + 1) % steps.len()];
            let in_a_row = |(at, step): (usize, &Step)| step.kind & ANTI != 0 && next(at).kind & ANTI != 0;
            let anti = steps.iter().filter(|step| step.kind & ANTI != 0).count();
            if anti < 2 || !steps.iter().enumerate().any(in_a_row) {
                continue;
            }
            let predicate = usize::from(steps.iter().any(|step| step.kind == PREDICATE_RW));
            let kind = [Kind::G2Item, Kind::G2][predicate];
            if !known[predicate] && found[predicate] < EXAMPLES_MAX {
                found[predicate] += usize::from(self.add(kind, order, steps));
            }
            if (0..2).all(|at| known[at] || found[at] == EXAMPLES_MAX) {
                return;
            }
        }
    }

    fn cut_off(&mut self, kind: Kind) -> bool {
        let cut = self.paths.steps_left == 0;
        if cut {
            self.report.gaps.push(format!("{}, after {STEPS_MAX} steps", kind.name()));
        }
        cut
    }

    /// A cycle of edges as steps between transactions: auxiliary nodes vanish.
    fn steps(&self, cycle: &[u32]) -> Vec<Step> {
        let mut steps: Vec<Step> = Vec::new();
        for at in cycle {
            let edge = &self.graph.edges[*at as usize];
            if edge.kind != LINK {
                steps.push(Step { from: edge.from, to: edge.to, kind: edge.kind, key: edge.key, version: edge.version });
            } else if let Some(step) = steps.last_mut() {
                step.to = edge.to;
            }
        }
        steps
    }

    /// Whether it was new.
    fn add(&mut self, kind: Kind, order: Order, steps: Vec<Step>) -> bool {
        let mut txns: Vec<TxnId> = steps.iter().map(|step| step.from).collect();
        txns.sort_unstable();
        if !self.seen.insert((kind, txns)) {
            return false;
        }
        let explainer = self.explainer;
        self.report.add_ordered(kind, order, || explainer.cycle(&steps));
        true
    }
}
