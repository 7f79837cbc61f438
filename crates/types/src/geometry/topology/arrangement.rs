//! The lines and edges of two geometries, cut where they meet: nodes, and between them edges that meet nothing else.
//!
//! ```text
//! LINESTRING(0 0,2 2) and LINESTRING(0 2,2 0)
//!     nodes  0: 0 0   1: 2 2   2: 0 2   3: 2 0   4: 1 1
//!     edges  0-4  1-4  2-4  3-4
//! ```
//! Two segments are compared if their rectangles meet: those that begin further left are passed over from the left to the right. Whether
//! they touch or cross is decided without error (`side`); only the place where they cross is rounded. Segments that lie on each
//! other have the same nodes, and so an edge in common, which knows both.

use crate::Result;
use crate::geometry::Point;

use super::nodes::Nodes;
use super::parts::Parts;
use super::side::side_about;
use super::work::Work;

/// Which of the two geometries.
pub(super) const SIDES: [usize; 2] = [0, 1];

#[derive(Clone, Copy)]
pub(super) struct Segment {
    pub from: u32,
    pub to: u32,
    /// The geometry.
    pub of: u8,
    /// The polygon of the geometry that it is an edge of; `None` for one of a line.
    pub polygon: Option<u32>,
    /// The line or ring, of all that there are.
    pub chain: u32,
}

#[derive(Clone, Copy)]
pub(super) struct Edge {
    /// The lesser node is first.
    pub nodes: (u32, u32),
    /// Where its segments begin in `members`, and how many they are.
    members: (u32, u32),
}

/// An edge as a segment goes along it.
#[derive(Clone, Copy)]
pub(super) struct Step {
    pub segment: u32,
    pub from: u32,
    pub to: u32,
}

pub(super) struct Arrangement {
    pub nodes: Vec<Point>,
    pub segments: Vec<Segment>,
    pub edges: Vec<Edge>,
    members: Vec<u32>,
    /// All segments, in the order of lines and rings.
    pub steps: Vec<Step>,
    /// The nodes that are points of a geometry, which is the second number.
    pub singles: Vec<(u32, u8)>,
    /// The nodes at which a line begins or ends, for each of its ends.
    pub ends: Vec<(u32, u8)>,
}

impl Arrangement {
    /// Points so near to a line as `tolerance` are on it.
    pub fn new(parts: [&Parts<'_>; 2], tolerance: f64, work: &mut Work<'_>) -> Result<Arrangement> {
        let mut builder = Builder { nodes: Nodes::new(tolerance), tolerance, ..Builder::default() };
        for (of, parts) in SIDES.into_iter().zip(parts) {
            builder.take(of as u8, parts, work)?;
        }
        builder.cut(work)?;
        builder.edges(work)
    }

    /// The segments that an edge lies on.
    pub fn members(&self, edge: &Edge) -> &[u32] {
        let (start, count) = edge.members;
        self.members.get(start as usize..(start + count) as usize).unwrap_or_default()
    }

    /// The number of the edge between two nodes.
    pub fn edge_of(&self, step: &Step) -> Option<usize> {
        let nodes = (step.from.min(step.to), step.from.max(step.to));
        self.edges.binary_search_by_key(&nodes, |edge| edge.nodes).ok()
    }

    /// The ends of a segment.
    pub fn ends_of(&self, segment: Segment) -> (Point, Point) {
        (self.point(segment.from), self.point(segment.to))
    }

    pub fn point(&self, node: u32) -> Point {
        self.nodes[node as usize]
    }

    pub fn middle(&self, edge: &Edge) -> Point {
        let (a, b) = (self.point(edge.nodes.0), self.point(edge.nodes.1));
        Point::new(a.x * 0.5 + b.x * 0.5, a.y * 0.5 + b.y * 0.5)
    }
}

#[derive(Default)]
struct Builder {
    tolerance: f64,
    nodes: Nodes,
    segments: Vec<Segment>,
    chains: u32,
    singles: Vec<(u32, u8)>,
    ends: Vec<(u32, u8)>,
    /// A segment, and a node on it.
    cuts: Vec<(u32, u32)>,
}

/// What is compared with others: a segment by its number, or a single point.
struct Item {
    low: Point,
    high: Point,
    what: What,
}

#[derive(Clone, Copy)]
enum What {
    Segment(u32),
    Single(u32),
}

impl Builder {
    fn take(&mut self, of: u8, parts: &Parts<'_>, work: &mut Work<'_>) -> Result<()> {
        for p in &parts.points {
            let node = self.nodes.given(*p, work)?;
            work.push(&mut self.singles, (node, of))?;
        }
        for line in &parts.lines {
            for end in [line.first(), line.last()].into_iter().flatten() {
                let node = self.nodes.given(*end, work)?;
                work.push(&mut self.ends, (node, of))?;
            }
            self.chain(line, of, None, work)?;
        }
        for (number, rings) in parts.polygons.iter().enumerate() {
            for ring in rings.iter() {
                self.chain(ring, of, Some(number as u32), work)?;
            }
        }
        Ok(())
    }

    fn chain(&mut self, line: &[Point], of: u8, polygon: Option<u32>, work: &mut Work<'_>) -> Result<()> {
        let chain = self.chains;
        self.chains += 1;
        for pair in line.windows(2) {
            work.step()?;
            let (from, to) = (self.nodes.given(pair[0], work)?, self.nodes.given(pair[1], work)?);
            if from != to {
                work.push(&mut self.segments, Segment { from, to, of, polygon, chain })?;
            }
        }
        Ok(())
    }

    fn items(&self, work: &mut Work<'_>) -> Result<Vec<Item>> {
        let points = self.nodes.points();
        let mut items = Vec::new();
        for (number, segment) in self.segments.iter().enumerate() {
            let (a, b) = (points[segment.from as usize], points[segment.to as usize]);
            let wider = self.tolerance;
            let low = Point::new(a.x.min(b.x) - wider, a.y.min(b.y) - wider);
            let high = Point::new(a.x.max(b.x) + wider, a.y.max(b.y) + wider);
            work.push(&mut items, Item { low, high, what: What::Segment(number as u32) })?;
        }
        for (node, _) in &self.singles {
            let p = points[*node as usize];
            work.push(&mut items, Item { low: p, high: p, what: What::Single(*node) })?;
        }
        items.sort_unstable_by(|a, b| a.low.x.total_cmp(&b.low.x));
        Ok(items)
    }

    /// Finds all nodes on all segments.
    fn cut(&mut self, work: &mut Work<'_>) -> Result<()> {
        let items = self.items(work)?;
        for (i, item) in items.iter().enumerate() {
            for other in &items[i + 1..] {
                work.step()?;
                if other.low.x > item.high.x {
                    break;
                }
                if other.low.y > item.high.y || item.low.y > other.high.y {
                    continue;
                }
                match (item.what, other.what) {
                    (What::Segment(s), What::Segment(t)) => self.meet(s, t, work)?,
                    (What::Segment(s), What::Single(p)) | (What::Single(p), What::Segment(s)) => self.touch(s, p, work)?,
                    (What::Single(_), What::Single(_)) => {}
                }
            }
        }
        Ok(())
    }

    fn ends_of(&self, s: u32) -> (Point, Point) {
        let (segment, points) = (&self.segments[s as usize], self.nodes.points());
        (points[segment.from as usize], points[segment.to as usize])
    }

    /// Cuts a segment at a node that may be on it.
    fn touch(&mut self, s: u32, node: u32, work: &mut Work<'_>) -> Result<()> {
        let (a, b) = self.ends_of(s);
        let p = self.nodes.points()[node as usize];
        if is_in_rectangle(p, a, b, self.tolerance) && side_about(a, b, p, self.tolerance) == 0 {
            work.push(&mut self.cuts, (s, node))?;
        }
        Ok(())
    }

    /// Cuts two segments where they touch or cross.
    fn meet(&mut self, s: u32, t: u32, work: &mut Work<'_>) -> Result<()> {
        let ((a, b), (c, d)) = (self.ends_of(s), self.ends_of(t));
        let side = |a, b, p| side_about(a, b, p, self.tolerance);
        let of_s = (side(c, d, a), side(c, d, b));
        let of_t = (side(a, b, c), side(a, b, d));
        if of_s.0 * of_s.1 < 0 && of_t.0 * of_t.1 < 0 {
            let node = self.nodes.computed(crossing(a, b, c, d), work)?;
            work.push(&mut self.cuts, (s, node))?;
            return work.push(&mut self.cuts, (t, node));
        }
        let (on_s, on_t) = (self.segments[s as usize], self.segments[t as usize]);
        for (is_on, p, node, cut) in [
            (of_s.0 == 0, a, on_s.from, t),
            (of_s.1 == 0, b, on_s.to, t),
            (of_t.0 == 0, c, on_t.from, s),
            (of_t.1 == 0, d, on_t.to, s),
        ] {
            let (from, to) = if cut == s { (a, b) } else { (c, d) };
            if is_on && is_in_rectangle(p, from, to, self.tolerance) {
                work.push(&mut self.cuts, (cut, node))?;
            }
        }
        Ok(())
    }

    /// The pieces of all segments, each once.
    fn edges(mut self, work: &mut Work<'_>) -> Result<Arrangement> {
        let mut steps = Vec::new();
        self.cuts.sort_unstable();
        self.cuts.dedup();
        let points = self.nodes.points();
        let (mut at, mut between) = (0, Vec::new());
        for (number, segment) in self.segments.iter().enumerate() {
            let (a, b) = (points[segment.from as usize], points[segment.to as usize]);
            let (dx, dy) = (b.x - a.x, b.y - a.y);
            between.clear();
            while let Some((_, node)) = self.cuts.get(at).filter(|(s, _)| *s as usize == number) {
                let p = points[*node as usize];
                between.push(((p.x - a.x) * dx + (p.y - a.y) * dy, *node));
                at += 1;
            }
            between.sort_unstable_by(|p, q| p.0.total_cmp(&q.0));
            let inner = between.iter().map(|(_, node)| *node).filter(|node| *node != segment.from && *node != segment.to);
            let mut last = segment.from;
            for node in inner.chain([segment.to]) {
                work.step()?;
                if node != last {
                    work.push(&mut steps, Step { segment: number as u32, from: last, to: node })?;
                }
                last = node;
            }
        }
        let mut pieces = Vec::new();
        for step in &steps {
            let nodes = (step.from.min(step.to), step.from.max(step.to));
            work.push(&mut pieces, (nodes, step.segment))?;
        }
        pieces.sort_unstable();
        pieces.dedup();
        let (mut edges, mut members): (Vec<Edge>, Vec<u32>) = (Vec::new(), Vec::new());
        for same in pieces.chunk_by(|a, b| a.0 == b.0) {
            let edge = Edge { nodes: same[0].0, members: (members.len() as u32, same.len() as u32) };
            work.push(&mut edges, edge)?;
            for (_, segment) in same {
                work.push(&mut members, *segment)?;
            }
        }
        let nodes = self.nodes.into_points();
        Ok(Arrangement { nodes, segments: self.segments, edges, members, steps, singles: self.singles, ends: self.ends })
    }
}

fn is_in_rectangle(p: Point, a: Point, b: Point, tolerance: f64) -> bool {
    let within = |at: f64, a: f64, b: f64| a.min(b) - tolerance <= at && at <= a.max(b) + tolerance;
    within(p.x, a.x, b.x) && within(p.y, a.y, b.y)
}

/// Where two segments cross that do.
fn crossing(a: Point, b: Point, c: Point, d: Point) -> Point {
    let (ux, uy, vx, vy) = (b.x - a.x, b.y - a.y, d.x - c.x, d.y - c.y);
    let part = ((c.x - a.x) * vy - (c.y - a.y) * vx) / (ux * vy - uy * vx);
    // What has no number because of too large ones becomes one of the ends. The coordinate of what is level or upright is that of both.
    let within = |at: f64, (a, b): (f64, f64), (c, d): (f64, f64)| at.max(a.min(b)).max(c.min(d)).min(a.max(b)).min(c.max(d));
    Point::new(within(a.x + part * ux, (a.x, b.x), (c.x, d.x)), within(a.y + part * uy, (a.y, b.y), (c.y, d.y)))
}
