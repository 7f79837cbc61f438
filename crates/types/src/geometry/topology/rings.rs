//! Polygons of the edges that have an area on their left.
//!
//! Who comes to a node goes on along the next edge to the right of the way back: between the two is the area. A way that comes to a node
//! twice is two rings. Rings that go round counterclockwise are exterior; each of the others is a hole in the smallest of these that it is in.

use crate::Result;
use crate::geometry::{Point, Ring};

use super::arrangement::Arrangement;
use super::label::Location;
use super::locate::in_polygon;
use super::side::side;
use super::work::Work;

/// An edge of the arrangement with the area on its left.
#[derive(Clone, Copy)]
pub(super) struct Directed {
    pub from: u32,
    pub to: u32,
    pub edge: u32,
}

/// `None` if edges are left over.
pub(super) fn polygons(
    arrangement: &Arrangement,
    mut border: Vec<Directed>,
    work: &mut Work<'_>,
) -> Result<Option<Vec<Vec<Ring>>>> {
    let around = |node: u32, to: u32| Direction { at: arrangement.point(node), to: arrangement.point(to) };
    border.sort_unstable_by(|a, b| a.from.cmp(&b.from).then_with(|| around(a.from, a.to).cmp(&around(b.from, b.to))));
    let mut is_used = vec![false; border.len()];
    let mut loops = Vec::new();
    for start in 0..border.len() {
        let (mut at, mut way) = (start, Vec::new());
        while !is_used[at] {
            work.step()?;
            is_used[at] = true;
            work.push(&mut way, border[at])?;
            let Directed { from, to, .. } = border[at];
            let back = around(to, from);
            let first = border.partition_point(|e| e.from < to);
            let end = border.partition_point(|e| e.from <= to);
            let after = border[first..end].partition_point(|e| around(to, e.to).cmp(&back).is_lt());
            match (first == end, after) {
                (true, _) => return Ok(None),
                (false, 0) => at = end - 1,
                (false, after) => at = first + after - 1,
            }
        }
        match way.first() {
            Some(_) if at != start => return Ok(None),
            Some(_) => split(&way, &mut loops, work)?,
            None => {}
        }
    }
    nest(loops.into_iter().map(|way| ring(arrangement, &way)).collect(), work).map(Some)
}

/// From a node to another.
struct Direction {
    at: Point,
    to: Point,
}

impl Direction {
    fn is_upper(&self) -> bool {
        self.to.y > self.at.y || self.to.y == self.at.y && self.to.x > self.at.x
    }

    /// Counterclockwise from the direction of the x axis.
    fn cmp(&self, other: &Direction) -> std::cmp::Ordering {
        other.is_upper().cmp(&self.is_upper()).then_with(|| 0.cmp(&side(self.at, self.to, other.to)))
    }
}

/// Cuts a way where it comes to a node again.
fn split(way: &[Directed], loops: &mut Vec<Vec<Directed>>, work: &mut Work<'_>) -> Result<()> {
    let mut place = std::collections::HashMap::new();
    let mut open: Vec<Directed> = Vec::new();
    for edge in way {
        work.step()?;
        place.insert(edge.from, open.len());
        open.push(*edge);
        if let Some(start) = place.get(&edge.to).copied() {
            let closed = open.split_off(start);
            closed.iter().for_each(|edge| {
                place.remove(&edge.from);
            });
            work.push(loops, closed)?;
        }
    }
    Ok(())
}

/// Nodes at which a segment was only cut are left out.
fn ring(arrangement: &Arrangement, way: &[Directed]) -> Ring {
    let segments = |edge: &Directed| arrangement.edges.get(edge.edge as usize).map_or(&[][..], |e| arrangement.members(e));
    let is_corner = |(i, edge): &(usize, &Directed)| {
        let before = &way[(i + way.len() - 1) % way.len()];
        !segments(before).iter().any(|segment| segments(edge).contains(segment))
    };
    let mut ring: Ring = way.iter().enumerate().filter(is_corner).map(|(_, edge)| arrangement.point(edge.from)).collect();
    ring.extend(ring.first().copied());
    ring
}

/// Twice the area, positive if it goes round counterclockwise.
fn double_area(ring: &Ring) -> f64 {
    let Some(first) = ring.first() else { return 0.0 };
    let cross = |pair: &[Point]| (pair[0].x - first.x) * (pair[1].y - first.y) - (pair[1].x - first.x) * (pair[0].y - first.y);
    ring.windows(2).map(cross).sum()
}

/// Gives each hole to its polygon.
fn nest(rings: Vec<Ring>, work: &mut Work<'_>) -> Result<Vec<Vec<Ring>>> {
    let with_area =
        rings.into_iter().map(|ring| (double_area(&ring), ring)).filter(|(area, ring)| *area != 0.0 && ring.len() > 3);
    let (mut shells, holes): (Vec<_>, Vec<_>) = with_area.partition(|(area, _)| *area > 0.0);
    shells.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut polygons: Vec<Vec<Ring>> = shells.into_iter().map(|(_, ring)| vec![ring]).collect();
    for (_, hole) in holes {
        let middle = Point::new(hole[0].x * 0.5 + hole[1].x * 0.5, hole[0].y * 0.5 + hole[1].y * 0.5);
        for polygon in &mut polygons {
            if in_polygon(middle, &polygon[..1], work)? == Location::Interior {
                polygon.push(hole);
                break;
            }
        }
    }
    Ok(polygons)
}
