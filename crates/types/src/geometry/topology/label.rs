//! Where the nodes and edges of an arrangement are: inside, on the boundary or outside of each of the two geometries.
//!
//! The sides of an edge: from its middle a ray goes to the right, and each edge of a polygon that it crosses changes whether it is inside of
//! that polygon. Edges on which the middle is are left out; for the other side they count. Nodes take what the edges
//! say that end in them; a node without edges sends a ray of its own.

use crate::Result;
use crate::geometry::Point;

use super::arrangement::{Arrangement, Edge, SIDES};
use super::side::side;
use super::work::Work;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Location {
    Interior,
    Boundary,
    Exterior,
}

/// An edge, for one of the geometries.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct EdgeLabel {
    /// The left side, of one that goes from the lesser node to the greater, is in a polygon.
    pub left: bool,
    pub right: bool,
    pub is_line: bool,
    pub is_ring: bool,
}

impl EdgeLabel {
    pub fn location(self) -> Location {
        match (self.left, self.right) {
            // What is inside of one part of a collection is inside of the collection.
            (true, true) => Location::Interior,
            (false, false) if self.is_line => Location::Interior,
            // An edge of a ring without area is on the boundary.
            (false, false) if !self.is_ring => Location::Exterior,
            _ => Location::Boundary,
        }
    }
}

/// A node, for one of the geometries.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct NodeLabel {
    is_edge_of_area: bool,
    is_in_area: bool,
    is_line: bool,
    /// An odd number of lines end here.
    is_end: bool,
    is_single: bool,
    has_edges: bool,
}

impl NodeLabel {
    pub fn location(self) -> Location {
        match self {
            NodeLabel { is_line: true, is_end: false, .. } => Location::Interior,
            NodeLabel { is_edge_of_area: true, .. } => Location::Boundary,
            NodeLabel { is_in_area: true, .. } => Location::Interior,
            NodeLabel { is_end: true, .. } => Location::Boundary,
            NodeLabel { is_single: true, .. } => Location::Interior,
            _ => Location::Exterior,
        }
    }

    pub fn is_in_area(self) -> bool {
        self.is_in_area
    }

    pub fn is_single(self) -> bool {
        self.is_single
    }

    /// A point of the geometry that is in none of its lines and polygons.
    pub fn is_lone_point(self) -> bool {
        self.is_single && !self.is_line && !self.is_in_area && !self.is_edge_of_area
    }
}

pub(super) struct Labels {
    pub edges: Vec<[EdgeLabel; 2]>,
    pub nodes: Vec<[NodeLabel; 2]>,
}

impl Labels {
    pub fn of(arrangement: &Arrangement, work: &mut Work<'_>) -> Result<Labels> {
        let rays = [Rays::of(arrangement, 0, work)?, Rays::of(arrangement, 1, work)?];
        let mut labels = Labels { edges: Vec::new(), nodes: Vec::new() };
        let mut crossed = Vec::new();
        for edge in &arrangement.edges {
            let mut label = [EdgeLabel::default(); 2];
            for of in SIDES {
                label[of] = rays[of].label(arrangement, edge, &mut crossed, work)?;
            }
            work.push(&mut labels.edges, label)?;
        }
        for _ in &arrangement.nodes {
            work.push(&mut labels.nodes, Default::default())?;
        }
        labels.label_nodes(arrangement);
        labels.label_singles(arrangement, &rays, work)?;
        Ok(labels)
    }

    fn label_nodes(&mut self, arrangement: &Arrangement) {
        for (edge, labels) in arrangement.edges.iter().zip(&self.edges) {
            for node in [edge.nodes.0, edge.nodes.1] {
                for (node, edge) in self.nodes[node as usize].iter_mut().zip(labels) {
                    node.has_edges = true;
                    node.is_line |= edge.is_line;
                    node.is_in_area |= edge.left && edge.right;
                    node.is_edge_of_area |= edge.is_ring && !(edge.left && edge.right);
                }
            }
        }
        for (node, of) in &arrangement.ends {
            self.nodes[*node as usize][usize::from(*of)].is_end ^= true;
        }
        for (node, of) in &arrangement.singles {
            self.nodes[*node as usize][usize::from(*of)].is_single = true;
        }
    }

    fn label_singles(&mut self, arrangement: &Arrangement, rays: &[Rays; 2], work: &mut Work<'_>) -> Result<()> {
        let mut crossed = Vec::new();
        for (node, _) in &arrangement.singles {
            let labels = &mut self.nodes[*node as usize];
            for of in SIDES {
                if !labels[of].has_edges {
                    rays[of].cast(arrangement.point(*node), &[], &mut crossed, work)?;
                    labels[of].is_in_area = is_in_any(&mut crossed);
                }
            }
        }
        Ok(())
    }
}

/// A polygon is in the list an odd number of times.
fn is_in_any(crossed: &mut [u32]) -> bool {
    crossed.sort_unstable();
    crossed.chunk_by(|a, b| a == b).any(|same| same.len() % 2 == 1)
}

/// The edges of the polygons of one geometry, by strips of equal height.
pub(super) struct Rays {
    of: u8,
    edges: Vec<RingEdge>,
    low: f64,
    strips_per_unit: f64,
    /// Where the edges of a strip begin in `strip_edges`; one more than strips.
    starts: Vec<u32>,
    strip_edges: Vec<u32>,
}

/// From the lower end to the upper.
struct RingEdge {
    low: Point,
    high: Point,
    polygon: u32,
    segment: u32,
}

const STRIPS_MAX: usize = 1 << 14;
/// Edges are in so many strips at most, in the mean.
const STRIPS_PER_EDGE_MAX: usize = 8;

impl Rays {
    pub fn of(arrangement: &Arrangement, of: usize, work: &mut Work<'_>) -> Result<Rays> {
        let mut edges = Vec::new();
        for (number, segment) in arrangement.segments.iter().enumerate() {
            let (Some(polygon), true) = (segment.polygon, usize::from(segment.of) == of) else { continue };
            let (a, b) = arrangement.ends_of(*segment);
            // A level edge is crossed by no level ray.
            if a.y != b.y {
                let (low, high) = if a.y < b.y { (a, b) } else { (b, a) };
                work.push(&mut edges, RingEdge { low, high, polygon, segment: number as u32 })?;
            }
        }
        let (low, high) =
            edges.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), e| (low.min(e.low.y), high.max(e.high.y)));
        let mut rays = Rays { of: of as u8, edges, low, strips_per_unit: 0.0, starts: Vec::new(), strip_edges: Vec::new() };
        let mut count = (rays.edges.len() / 2).clamp(1, STRIPS_MAX);
        loop {
            rays.strips_per_unit = count as f64 / (high - low);
            let entries: usize = rays.edges.iter().map(|e| rays.strips(e, count).count()).sum();
            if count == 1 || entries <= rays.edges.len() * STRIPS_PER_EDGE_MAX {
                rays.fill(count, work)?;
                return Ok(rays);
            }
            count /= 2;
        }
    }

    fn strip(&self, y: f64, count: usize) -> usize {
        (((y - self.low) * self.strips_per_unit) as usize).min(count - 1)
    }

    fn strips(&self, edge: &RingEdge, count: usize) -> std::ops::RangeInclusive<usize> {
        self.strip(edge.low.y, count)..=self.strip(edge.high.y, count)
    }

    fn fill(&mut self, count: usize, work: &mut Work<'_>) -> Result<()> {
        let mut entries = Vec::new();
        for (number, edge) in self.edges.iter().enumerate() {
            for strip in self.strips(edge, count) {
                work.step()?;
                work.push(&mut entries, (strip as u32, number as u32))?;
            }
        }
        entries.sort_unstable();
        self.starts = (0..=count as u32).map(|strip| entries.partition_point(|entry| entry.0 < strip) as u32).collect();
        self.strip_edges = entries.into_iter().map(|(_, edge)| edge).collect();
        Ok(())
    }

    /// The polygons whose edges a ray from `p` to the right crosses, without the edges on these segments. What begins level with it is
    /// below it.
    pub fn cast(&self, p: Point, without: &[u32], crossed: &mut Vec<u32>, work: &mut Work<'_>) -> Result<()> {
        crossed.clear();
        let count = self.starts.len() - 1;
        let strip = self.strip(p.y, count);
        let edges = self.strip_edges.get(self.starts[strip] as usize..self.starts[strip + 1] as usize).unwrap_or_default();
        for edge in edges {
            work.step()?;
            let edge = &self.edges[*edge as usize];
            if edge.low.y <= p.y && p.y < edge.high.y && is_right_of(edge, p) && !without.contains(&edge.segment) {
                crossed.push(edge.polygon);
            }
        }
        Ok(())
    }

    fn label(&self, arrangement: &Arrangement, edge: &Edge, crossed: &mut Vec<u32>, work: &mut Work<'_>) -> Result<EdgeLabel> {
        let members = arrangement.members(edge);
        let mut label = EdgeLabel::default();
        let mine = members.iter().map(|s| arrangement.segments[*s as usize]).filter(|segment| segment.of == self.of);
        let on_rings: Vec<u32> = mine.clone().filter_map(|segment| segment.polygon).collect();
        label.is_ring = !on_rings.is_empty();
        label.is_line = mine.clone().any(|segment| segment.polygon.is_none());
        if self.edges.is_empty() {
            return Ok(label);
        }
        self.cast(arrangement.middle(edge), members, crossed, work)?;
        let on_ray = is_in_any(crossed);
        crossed.extend(&on_rings);
        let behind = is_in_any(crossed);
        let (a, b) = (arrangement.point(edge.nodes.0), arrangement.point(edge.nodes.1));
        // The ray is on the right of an edge that goes up, and above one that is level.
        let is_ray_right = if a.y == b.y { a.x > b.x } else { a.y < b.y };
        (label.left, label.right) = if is_ray_right { (behind, on_ray) } else { (on_ray, behind) };
        Ok(label)
    }
}

fn is_right_of(edge: &RingEdge, p: Point) -> bool {
    if edge.low.x.min(edge.high.x) > p.x {
        return true;
    }
    edge.low.x.max(edge.high.x) >= p.x && side(edge.low, edge.high, p) > 0
}
