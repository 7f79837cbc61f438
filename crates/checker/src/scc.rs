//! Strongly connected components (Tarjan, 1972) without recursion, on the graph or on its product with one bit.
//!
//! The *product* remembers whether the last dependency was an anti-dependency (layer 1), and knows no step from there
//! along another one. A cycle in it has no two anti-dependencies in a row: it is what snapshot isolation forbids
//! (Cerone and Gotsman, 2018), found in linear time.

use crate::graph::{ANTI, Graph, LINK};

/// A part of a graph: the edges of some kinds, between nodes of one group.
#[derive(Clone, Copy)]
pub struct View<'a> {
    pub graph: &'a Graph,
    pub kinds: u8,
    pub product: bool,
    /// Edges between nodes of different groups are not there. `NO_GROUP` has no edges at all.
    pub groups: Option<&'a [u32]>,
}

pub const NO_GROUP: u32 = u32::MAX;

impl View<'_> {
    pub fn node_count(&self) -> usize {
        self.graph.node_count << u32::from(self.product)
    }

    /// The graph's node of a node of the view.
    pub fn base(&self, node: u32) -> u32 {
        if self.product { node >> 1 } else { node }
    }

    pub fn out(&self, node: u32) -> std::ops::Range<usize> {
        self.graph.out(self.base(node))
    }

    /// Where the edge `at` leads from `node`, if the view has it.
    pub fn step(&self, node: u32, at: usize) -> Option<u32> {
        let edge = &self.graph.edges[at];
        if edge.kind & (self.kinds | LINK) == 0 {
            return None;
        }
        if let Some(groups) = self.groups {
            let group = groups[edge.from as usize];
            if group == NO_GROUP || group != groups[edge.to as usize] {
                return None;
            }
        }
        if !self.product {
            return Some(edge.to);
        }
        let layer = node & 1;
        match edge.kind {
            LINK => Some(edge.to << 1 | layer),
            kind if kind & ANTI == 0 => Some(edge.to << 1),
            _ if layer == 0 => Some(edge.to << 1 | 1),
            _ => None,
        }
    }
}

/// The component of each node, `NO_GROUP` for those that are on no cycle, and how many components there are.
pub fn components(view: &View) -> (Vec<u32>, u32) {
    const NEW: u32 = 0;
    let count = view.node_count();
    let mut low = vec![NEW; count];
    let mut group = vec![NO_GROUP; count];
    let mut done = vec![false; count];
    let mut groups = 0;
    let mut next = 1;
    let mut stack: Vec<u32> = Vec::new();
    // A node, its number, and its next edge.
    let mut calls: Vec<(u32, u32, usize)> = Vec::new();
    for root in 0..count as u32 {
        if low[root as usize] != NEW {
            continue;
        }
        low[root as usize] = next;
        calls.push((root, next, view.out(root).start));
        stack.push(root);
        next += 1;
        while let Some((node, number, at)) = calls.last_mut() {
            let node = *node;
            if *at < view.out(node).end {
                let target = view.step(node, *at);
                *at += 1;
                match target {
                    Some(target) if low[target as usize] == NEW => {
                        low[target as usize] = next;
                        calls.push((target, next, view.out(target).start));
                        stack.push(target);
                        next += 1;
                    }
                    Some(target) if !done[target as usize] => low[node as usize] = low[node as usize].min(low[target as usize]),
                    _ => {}
                }
                continue;
            }
            let number = *number;
            calls.pop();
            if let Some((parent, ..)) = calls.last() {
                low[*parent as usize] = low[*parent as usize].min(low[node as usize]);
            }
            if low[node as usize] == number {
                let mut size = 0;
                while let Some(member) = stack.pop() {
                    done[member as usize] = true;
                    group[member as usize] = groups;
                    size += 1;
                    if member == node {
                        break;
                    }
                }
                // An edge from a node to itself does not exist.
                if size == 1 {
                    group[node as usize] = NO_GROUP;
                } else {
                    groups += 1;
                }
            }
        }
    }
    (group, groups)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::{Edges, RW, WW};

    fn groups(edges: &[(u8, u32, u32)], kinds: u8, product: bool) -> u32 {
        let mut list = Edges::new(8);
        for (kind, from, to) in edges {
            list.add(*kind, *from, *to, 0, 0);
        }
        let graph = list.graph();
        components(&View { graph: &graph, kinds, product, groups: None }).1
    }

    #[test]
    fn components_of_each_view() {
        let skew = [(RW, 0, 1), (RW, 1, 0)];
        assert_eq!(groups(&skew, RW, false), 1);
        assert_eq!(groups(&skew, RW, true), 0);
        let single = [(RW, 0, 1), (WW, 1, 2), (WW, 2, 0), (WW, 3, 4), (WW, 4, 3)];
        assert_eq!(groups(&single, RW | WW, false), 2);
        assert_eq!(groups(&single, WW, false), 1);
        let nonadjacent = [(RW, 0, 1), (WW, 1, 2), (RW, 2, 3), (WW, 3, 0)];
        assert_eq!(groups(&nonadjacent, RW | WW, true), 1);
    }
}
