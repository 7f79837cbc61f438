//! The points where edges begin and end, each once.
//!
//! A point that is computed, where two segments cross, is rounded: three segments through one point would give three nodes, and two that
//! lie on each other would be cut at different ones. So a computed point becomes the nearest node within the tolerance, if there is one;
//! points that were given are never moved.

use std::collections::HashMap;

use crate::geometry::Point;
use crate::{Error, Result};

use super::work::Work;

/// The tolerance as a part of the greatest coordinate: some hundred units of its last digit.
pub(super) const TOLERANCE_PART: f64 = 1.0 / (1u64 << 45) as f64;
const NONE: u32 = u32::MAX;

#[derive(Default)]
pub(super) struct Nodes {
    /// Given points so near to each other are one; 0: only those that are the same.
    tolerance: f64,
    points: Vec<Point>,
    given: HashMap<(u64, u64), u32>,
    snaps: Option<Snaps>,
}

/// Nodes by the cells of a grid, each as wide as the tolerance.
struct Snaps {
    tolerance: f64,
    first: HashMap<(i64, i64), u32>,
    /// The next node of the same cell.
    next: Vec<u32>,
}

impl Nodes {
    pub fn new(tolerance: f64) -> Nodes {
        Nodes { tolerance, ..Nodes::default() }
    }

    pub fn points(&self) -> &[Point] {
        &self.points
    }

    pub fn into_points(self) -> Vec<Point> {
        self.points
    }

    /// The node of a point of a geometry.
    pub fn given(&mut self, p: Point, work: &mut Work<'_>) -> Result<u32> {
        // Zero has no sign here.
        let p = Point::new(p.x + 0.0, p.y + 0.0);
        if self.tolerance > 0.0 {
            return self.computed(p, work);
        }
        let new = self.points.len() as u32;
        let node = *self.given.entry((p.x.to_bits(), p.y.to_bits())).or_insert(new);
        if node == new {
            work.push(&mut self.points, p)?;
        }
        Ok(node)
    }

    /// The node of a point that was computed. No point that is given may follow.
    pub fn computed(&mut self, p: Point, work: &mut Work<'_>) -> Result<u32> {
        if self.snaps.is_none() {
            self.snaps = Some(Snaps::of(&self.points, self.tolerance, work)?);
        }
        let Some(snaps) = &mut self.snaps else { return Err(Error::internal("nodes without their grid")) };
        if let Some(node) = snaps.nearest(p, &self.points, work)? {
            return Ok(node);
        }
        let node = self.points.len() as u32;
        snaps.add(node, p, work)?;
        work.push(&mut self.points, p)?;
        Ok(node)
    }
}

impl Snaps {
    fn of(points: &[Point], tolerance: f64, work: &mut Work<'_>) -> Result<Snaps> {
        let greatest = points.iter().fold(0.0, |max: f64, p| max.max(p.x.abs()).max(p.y.abs()));
        let mut snaps = Snaps { tolerance: tolerance.max(greatest * TOLERANCE_PART), first: HashMap::new(), next: Vec::new() };
        for (node, p) in points.iter().enumerate() {
            snaps.add(node as u32, *p, work)?;
        }
        Ok(snaps)
    }

    fn cell(&self, p: Point) -> (i64, i64) {
        // Beyond the numbers there are, all are in one cell.
        ((p.x / self.tolerance).floor() as i64, (p.y / self.tolerance).floor() as i64)
    }

    fn add(&mut self, node: u32, p: Point, work: &mut Work<'_>) -> Result<()> {
        let before = self.first.insert(self.cell(p), node);
        work.push(&mut self.next, before.unwrap_or(NONE))
    }

    fn nearest(&self, p: Point, points: &[Point], work: &mut Work<'_>) -> Result<Option<u32>> {
        let (x, y) = self.cell(p);
        let mut best: Option<(f64, u32)> = None;
        for (dx, dy) in (-1..=1).flat_map(|dx| (-1..=1).map(move |dy| (dx, dy))) {
            let mut node = self.first.get(&(x.saturating_add(dx), y.saturating_add(dy))).copied().unwrap_or(NONE);
            while let (Some(q), Some(next)) = (points.get(node as usize), self.next.get(node as usize)) {
                work.step()?;
                let far = (q.x - p.x).abs().max((q.y - p.y).abs());
                if far <= self.tolerance && best.is_none_or(|(least, _)| far < least) {
                    best = Some((far, node));
                }
                node = *next;
            }
        }
        Ok(best.map(|(_, node)| node))
    }
}
