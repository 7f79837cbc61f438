//! Steps of a path: from nodes to nodes.
//!
//! A node that is found has a place among those that were found from the same node, from 0, which predicates ask. A node can be found
//! twice, as in MySQL: by `//*//*` from each node above it.

use super::document::{Document, Node, NodeKind};
use super::expr::Axis;
use crate::errno::ER_OUT_OF_RESOURCES;
use crate::limits::XML_FOUND_MAX;
use crate::{Error, Result};

/// A node that a step found.
#[derive(Clone, Copy, Debug)]
pub(super) struct Found {
    pub node: u32,
    pub place: u32,
    /// In a predicate: of how many nodes it is one.
    pub size: u32,
}

/// Nodes between two looks at the interrupt.
const INTERRUPT_EVERY: u32 = 1024;

/// Walks over nodes, and looks at the interrupt meanwhile.
pub(super) struct Walk<'a> {
    document: &'a Document<'a>,
    check: &'a dyn Fn() -> Result<()>,
    seen: u32,
    found: Vec<Found>,
}

impl<'a> Walk<'a> {
    pub fn new(document: &'a Document<'a>, check: &'a dyn Fn() -> Result<()>) -> Walk<'a> {
        Walk { document, check, seen: 0, found: Vec::new() }
    }

    fn see(&mut self) -> Result<()> {
        self.seen = self.seen.wrapping_add(1);
        if self.seen.is_multiple_of(INTERRUPT_EVERY) { (self.check)() } else { Ok(()) }
    }

    fn add(&mut self, node: u32, place: u32) -> Result<()> {
        if self.found.len() >= XML_FOUND_MAX {
            return Err(Error::new(&ER_OUT_OF_RESOURCES, &[]));
        }
        self.found.push(Found { node, place, size: 0 });
        Ok(())
    }

    /// The nodes of an axis from each of `from`.
    pub fn step(mut self, from: &[Found], axis: Axis, name: Option<&[u8]>) -> Result<Vec<Found>> {
        match axis {
            Axis::Ancestor | Axis::AncestorOrSelf => self.ancestors(from, name, axis == Axis::AncestorOrSelf)?,
            Axis::Parent => self.parents(from, name)?,
            _ => {
                for start in from {
                    self.see()?;
                    match axis {
                        Axis::Child => self.children(start.node, NodeKind::Element, name)?,
                        Axis::Attribute => self.children(start.node, NodeKind::Attribute, name)?,
                        Axis::Descendant => self.descendants(start.node, false, name)?,
                        Axis::DescendantOrSelf => self.descendants(start.node, true, name)?,
                        _ => {
                            if self.is_called(start.node, name) {
                                self.add(start.node, 0)?;
                            }
                        }
                    }
                }
            }
        }
        Ok(self.found)
    }

    fn node(&self, n: u32) -> Option<&'a Node> {
        self.document.node(n)
    }

    fn is_called(&self, n: u32, name: Option<&[u8]>) -> bool {
        name.is_none_or(|name| self.node(n).is_some_and(|node| self.document.name(node) == name))
    }

    fn children(&mut self, parent: u32, kind: NodeKind, name: Option<&[u8]>) -> Result<()> {
        let Some(end) = self.node(parent).map(|node| node.end) else { return Ok(()) };
        let (mut n, mut place) = (parent + 1, 0);
        while n < end {
            self.see()?;
            let Some(node) = self.node(n) else { break };
            if node.kind == kind && self.is_called(n, name) {
                self.add(n, place)?;
                place += 1;
            }
            n = node.end;
        }
        Ok(())
    }

    fn descendants(&mut self, parent: u32, with_itself: bool, name: Option<&[u8]>) -> Result<()> {
        let Some(end) = self.node(parent).map(|node| node.end) else { return Ok(()) };
        let mut place = 0;
        for n in parent..end {
            self.see()?;
            let counts = if n == parent { with_itself } else { self.node(n).is_some_and(|node| node.kind == NodeKind::Element) };
            if counts && self.is_called(n, name) {
                self.add(n, place)?;
                place += 1;
            }
        }
        Ok(())
    }

    /// Each parent once. The document's node has none and may be one.
    fn parents(&mut self, from: &[Found], name: Option<&[u8]>) -> Result<()> {
        let mut parents = Vec::new();
        for start in from.iter().filter(|start| start.node > 0) {
            self.see()?;
            if let Some(node) = self.node(start.node)
                && self.is_called(node.parent, name)
            {
                parents.push(node.parent);
            }
        }
        self.add_once(parents, false)
    }

    /// Each ancestor once, the nearest in the first place. The document's node is none.
    fn ancestors(&mut self, from: &[Found], name: Option<&[u8]>, with_itself: bool) -> Result<()> {
        let mut ancestors = Vec::new();
        let mut seen = vec![false; self.document.nodes().len()];
        for start in from {
            if with_itself && self.is_called(start.node, name) {
                ancestors.push(start.node);
            }
            let mut at = self.node(start.node).map_or(0, |node| node.parent);
            // Whoever was seen has its ancestors behind it.
            while at > 0 && !std::mem::replace(&mut seen[at as usize], true) {
                self.see()?;
                if self.is_called(at, name) {
                    ancestors.push(at);
                }
                at = self.node(at).map_or(0, |node| node.parent);
            }
        }
        self.add_once(ancestors, true)
    }

    fn add_once(&mut self, mut nodes: Vec<u32>, last_first: bool) -> Result<()> {
        nodes.sort_unstable();
        nodes.dedup();
        let count = nodes.len() as u32;
        for (n, node) in nodes.into_iter().enumerate() {
            let place = if last_first { count - 1 - n as u32 } else { n as u32 };
            self.add(node, place)?;
        }
        Ok(())
    }

    /// Each node of several sets once, in the order of the text.
    pub fn union(mut self, sets: Vec<Vec<Found>>) -> Result<Vec<Found>> {
        self.add_once(sets.into_iter().flatten().map(|found| found.node).collect(), false)?;
        Ok(self.found)
    }

    /// The texts of nodes, each once and in the order of the document.
    pub fn texts(&mut self, from: &[Found]) -> Result<Vec<u32>> {
        let mut texts = Vec::new();
        for start in from {
            self.texts_of(start.node, &mut texts)?;
        }
        texts.sort_unstable();
        texts.dedup();
        Ok(texts)
    }

    pub fn texts_of(&mut self, parent: u32, texts: &mut Vec<u32>) -> Result<()> {
        let Some(end) = self.node(parent).map(|node| node.end) else { return Ok(()) };
        let mut n = parent + 1;
        while n < end {
            self.see()?;
            let Some(node) = self.node(n) else { break };
            if node.kind == NodeKind::Text {
                texts.push(n);
            }
            n = node.end;
        }
        Ok(())
    }
}
