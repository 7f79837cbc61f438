//! What two geometries have in common, have together, and what one has that the other has not.
//!
//! An edge of the arrangement is one of the result's area if only one of its sides is in it; from node to node these are put together to
//! rings. Lines are followed as they were given, as far as their edges are in the result and not in its area; points are those that are in
//! neither.
//!
//! ```text
//! intersection of POLYGON((0 0,4 0,4 4,0 4,0 0)) and LINESTRING(2 2,6 2,6 6,4 4)
//!     no edge has a side in the result; of the line 2 2,4 2 is in both: LINESTRING(2 2,4 2); of the nodes 4 4: POINT(4 4)
//! ```

use crate::Result;
use crate::geometry::{Point, Ring, Shape};

use super::arrangement::{Arrangement, Step};
use super::label::{EdgeLabel, Labels, Location};
use super::nodes::TOLERANCE_PART;
use super::parts::Parts;
use super::rings::{Directed, polygons};
use super::work::Work;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Overlay {
    Intersection,
    Union,
    Difference,
    SymmetricDifference,
}

impl Overlay {
    fn holds(self, a: bool, b: bool) -> bool {
        match self {
            Overlay::Intersection => a && b,
            Overlay::Union => a || b,
            Overlay::Difference => a && !b,
            Overlay::SymmetricDifference => a != b,
        }
    }

    /// Of a line or point: it is one of this geometry, or is in it.
    fn keeps(self, is_part: [bool; 2], is_in: [bool; 2]) -> bool {
        match self {
            Overlay::Intersection => is_in[0] && is_in[1],
            Overlay::Union => is_part[0] || is_part[1],
            Overlay::Difference => is_part[0] && !is_in[1],
            Overlay::SymmetricDifference => is_part[0] && !is_in[1] || is_part[1] && !is_in[0],
        }
    }
}

/// Coordinates have to be finite. `None` if rounding makes rings that do not close. Points that differ in their last digits only, as those
/// that were computed, are one.
pub fn overlay(a: &Shape, b: &Shape, what: Overlay, work: &mut Work<'_>) -> Result<Option<Shape>> {
    let mut greatest: f64 = 0.0;
    [a, b].iter().for_each(|shape| shape.for_each_point(&mut |p| greatest = greatest.max(p.x.abs()).max(p.y.abs())));
    let arrangement = Arrangement::new([&Parts::of(a), &Parts::of(b)], greatest * TOLERANCE_PART, work)?;
    let labels = Labels::of(&arrangement, work)?;
    let result = Parted { arrangement: &arrangement, labels: &labels, what };
    let Some(areas) = polygons(&arrangement, result.border(work)?, work)? else { return Ok(None) };
    let mut is_line = vec![false; arrangement.edges.len()];
    let lines = result.lines(&mut is_line, work)?;
    let points = result.points(&is_line, work)?;
    Ok(Some(together(areas, lines, points)))
}

struct Parted<'a> {
    arrangement: &'a Arrangement,
    labels: &'a Labels,
    what: Overlay,
}

impl Parted<'_> {
    /// Its left and its right side are in the result's area.
    fn sides(&self, [a, b]: [EdgeLabel; 2]) -> (bool, bool) {
        (self.what.holds(a.left, b.left), self.what.holds(a.right, b.right))
    }

    /// The edges of the area, each with the area on its left.
    fn border(&self, work: &mut Work<'_>) -> Result<Vec<Directed>> {
        let mut border = Vec::new();
        for (number, (edge, labels)) in self.arrangement.edges.iter().zip(&self.labels.edges).enumerate() {
            let (low, high) = edge.nodes;
            let (from, to) = match self.sides(*labels) {
                (true, false) => (low, high),
                (false, true) => (high, low),
                _ => continue,
            };
            work.push(&mut border, Directed { from, to, edge: number as u32 })?;
        }
        Ok(border)
    }

    fn keeps_edge(&self, labels: [EdgeLabel; 2]) -> bool {
        let is_in = labels.map(|label| label.location() != Location::Exterior);
        let is_covered = self.sides(labels) != (false, false);
        !is_covered && self.what.keeps(labels.map(|label| label.is_line), is_in)
    }

    fn lines(&self, is_line: &mut [bool], work: &mut Work<'_>) -> Result<Vec<Vec<Point>>> {
        let (mut lines, mut run): (Vec<Vec<Point>>, Vec<Step>) = (Vec::new(), Vec::new());
        // Edges of rings, which are lines of the result where two areas touch, come last.
        for of_rings in [false, true] {
            for step in &self.arrangement.steps {
                work.step()?;
                let segment = self.arrangement.segments[step.segment as usize];
                let Some(edge) = self.arrangement.edge_of(step) else { continue };
                let is_kept = segment.polygon.is_some() == of_rings && !is_line[edge] && self.keeps_edge(self.labels.edges[edge]);
                let goes_on = run.last().is_some_and(|last| {
                    last.to == step.from && self.arrangement.segments[last.segment as usize].chain == segment.chain
                });
                if !(is_kept && goes_on) {
                    self.end_line(&mut run, &mut lines, work)?;
                }
                if is_kept {
                    is_line[edge] = true;
                    run.push(*step);
                }
            }
            self.end_line(&mut run, &mut lines, work)?;
        }
        Ok(lines)
    }

    /// Nodes at which a segment was only cut are left out.
    fn end_line(&self, run: &mut Vec<Step>, lines: &mut Vec<Vec<Point>>, work: &mut Work<'_>) -> Result<()> {
        let (Some(first), Some(last)) = (run.first(), run.last()) else { return Ok(()) };
        let mut line = vec![self.arrangement.point(first.from)];
        for pair in run.windows(2).filter(|pair| pair[0].segment != pair[1].segment) {
            work.push(&mut line, self.arrangement.point(pair[1].from))?;
        }
        line.push(self.arrangement.point(last.to));
        run.clear();
        work.push(lines, line)
    }

    fn points(&self, is_line: &[bool], work: &mut Work<'_>) -> Result<Vec<Point>> {
        let mut is_covered: Vec<bool> = Vec::new();
        for labels in &self.labels.nodes {
            let in_area = labels.map(|label| label.is_in_area());
            work.push(&mut is_covered, self.what.holds(in_area[0], in_area[1]))?;
        }
        for ((edge, labels), is_line) in self.arrangement.edges.iter().zip(&self.labels.edges).zip(is_line) {
            if *is_line || self.sides(*labels) != (false, false) {
                is_covered[edge.nodes.0 as usize] = true;
                is_covered[edge.nodes.1 as usize] = true;
            }
        }
        let mut points = Vec::new();
        for ((point, labels), is_covered) in self.arrangement.nodes.iter().zip(&self.labels.nodes).zip(is_covered) {
            let is_in = labels.map(|label| label.location() != Location::Exterior);
            if !is_covered && self.what.keeps(labels.map(|label| label.is_single()), is_in) {
                work.push(&mut points, *point)?;
            }
        }
        Ok(points)
    }
}

/// One shape of the narrowest type.
fn together(mut areas: Vec<Vec<Ring>>, mut lines: Vec<Vec<Point>>, points: Vec<Point>) -> Shape {
    match (areas.len(), lines.len(), points.as_slice()) {
        (1, 0, []) => Shape::Polygon(areas.swap_remove(0)),
        (0, 1, []) => Shape::LineString(lines.swap_remove(0)),
        (0, 0, [point]) => Shape::Point(*point),
        (1.., 0, []) => Shape::MultiPolygon(areas),
        (0, 1.., []) => Shape::MultiLineString(lines),
        (0, 0, [_, ..]) => Shape::MultiPoint(points),
        _ => {
            let areas = areas.into_iter().map(Shape::Polygon);
            let lines = lines.into_iter().map(Shape::LineString);
            Shape::Collection(areas.chain(lines).chain(points.into_iter().map(Shape::Point)).collect())
        }
    }
}
