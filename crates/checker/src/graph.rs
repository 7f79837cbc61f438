//! The direct serialization graph: transactions, and edges that say who comes before whom and why.
//!
//! Some facts relate many to many: everyone who read the whole of a list comes before everyone whose append nobody
//! has read. Such a fact goes through an *auxiliary* node, so that it costs the sum of both sides, not the product:
//!
//! ```text
//!   reader 1 --rw--.            .--link--> writer 1
//!   reader 2 --rw-- (auxiliary) ---link--> writer 2
//! ```
//! An edge *into* an auxiliary node has the kind of the fact, the `LINK`s out of it have none. Nobody reaches himself
//! through one: who is on both sides gets edges of his own (`Edges::fan`).

use crate::history::{KeyId, TxnId};

pub const WW: u8 = 1;
pub const WR: u8 = 2;
pub const RW: u8 = 4;
/// An anti-dependency of a predicate.
pub const PREDICATE_RW: u8 = 8;
pub const PROCESS: u8 = 16;
pub const REAL_TIME: u8 = 32;
/// From an auxiliary node.
pub const LINK: u8 = 64;

pub const ANTI: u8 = RW | PREDICATE_RW;

#[derive(Clone, Copy, Debug)]
pub struct Edge {
    pub from: u32,
    pub to: u32,
    pub key: KeyId,
    /// Which version of the key, as the key's object counts versions.
    pub version: u32,
    pub kind: u8,
}

/// Edges as they are found.
pub struct Edges {
    pub node_count: usize,
    list: Vec<Edge>,
}

impl Edges {
    pub fn new(txn_count: usize) -> Edges {
        Edges { node_count: txn_count, list: Vec::new() }
    }

    /// An edge between two transactions; one to itself says nothing.
    pub fn add(&mut self, kind: u8, from: TxnId, to: TxnId, key: KeyId, version: u32) {
        if from != to {
            self.list.push(Edge { from, to, key, version, kind });
        }
    }

    pub fn auxiliary(&mut self) -> u32 {
        self.node_count += 1;
        self.node_count as u32 - 1
    }

    /// Each of `readers` (sorted) read `version`, and each of `writers` (sorted) wrote a later one; `author` wrote `version`.
    pub fn fan(&mut self, author: Option<TxnId>, readers: &[TxnId], writers: &[TxnId], key: KeyId, version: u32) {
        let sources = readers.iter().map(|reader| (RW, *reader)).chain(author.map(|author| (WW, author)));
        if writers.is_empty() {
            return;
        }
        if writers.len() == 1 || readers.len() + usize::from(author.is_some()) == 1 {
            for (kind, source) in sources {
                for writer in writers {
                    self.add(kind, source, *writer, key, version);
                }
            }
            return;
        }
        let (both, only): (Vec<TxnId>, Vec<TxnId>) =
            writers.iter().partition(|writer| readers.binary_search(writer).is_ok() || author == Some(**writer));
        let mut targets = Vec::new();
        for group in [&both, &only].into_iter().filter(|group| !group.is_empty()) {
            let node = self.auxiliary();
            for writer in group {
                self.list.push(Edge { from: node, to: *writer, key, version, kind: LINK });
            }
            targets.push((node, group.len() == both.len() && group == &both));
        }
        for (kind, source) in sources {
            let in_both = both.binary_search(&source).is_ok();
            for (node, is_both) in &targets {
                if !(in_both && *is_both) {
                    self.list.push(Edge { from: source, to: *node, key, version, kind });
                }
            }
        }
        // A ring says all of it: each comes before each other.
        for (at, source) in both.iter().enumerate() {
            let kind = if readers.binary_search(source).is_ok() { RW } else { WW };
            self.add(kind, *source, both[(at + 1) % both.len()], key, version);
        }
    }

    pub fn link(&mut self, from: u32, to: u32) {
        self.list.push(Edge { from, to, key: 0, version: 0, kind: LINK });
    }

    pub fn graph(self) -> Graph {
        let Edges { node_count, mut list } = self;
        list.sort_unstable_by_key(|edge| edge.from);
        let mut start = vec![0u32; node_count + 1];
        for edge in &list {
            start[edge.from as usize + 1] += 1;
        }
        for node in 0..node_count {
            start[node + 1] += start[node];
        }
        Graph { node_count, start, edges: list }
    }
}

/// The same, by where each edge begins.
pub struct Graph {
    pub node_count: usize,
    start: Vec<u32>,
    pub edges: Vec<Edge>,
}

impl Graph {
    /// The indexes of the edges that begin at `node`.
    pub fn out(&self, node: u32) -> std::ops::Range<usize> {
        self.start[node as usize] as usize..self.start[node as usize + 1] as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Who reaches whom through at most one auxiliary node.
    fn pairs(graph: &Graph, txn_count: usize) -> Vec<(u32, u32)> {
        let mut pairs = Vec::new();
        for edge in &graph.edges {
            if (edge.from as usize) >= txn_count {
                continue;
            }
            if (edge.to as usize) < txn_count {
                pairs.push((edge.from, edge.to));
            } else {
                pairs.extend(graph.out(edge.to).map(|at| (edge.from, graph.edges[at].to)));
            }
        }
        pairs.sort();
        pairs.dedup();
        pairs
    }

    #[test]
    fn a_fan_relates_all_but_nobody_to_himself() {
        let mut edges = Edges::new(6);
        edges.fan(Some(5), &[0, 1, 2], &[2, 3, 4], 0, 0);
        let graph = edges.graph();
        let mut expected = Vec::new();
        for from in [0, 1, 2, 5] {
            for to in [2, 3, 4] {
                if from != to {
                    expected.push((from, to));
                }
            }
        }
        expected.sort();
        assert_eq!(pairs(&graph, 6), expected);
    }
}
