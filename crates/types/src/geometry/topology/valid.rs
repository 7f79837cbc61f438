//! Whether a geometry is what its type says (OGC 06-103r4, 6.1): rings that do not cross, holes inside, an interior in one piece; and whether
//! it is simple: no point twice.
//!
//! Rings are cut where they meet, as if each were a polygon of its own. They are valid if no edge is in two of them and no ring comes to a
//! node twice; if each edge lies in the rings that it has to be in, and in no others; and if the rings of a polygon that touch form no
//! circle, which would cut off a part.

use std::collections::HashMap;

use crate::Result;
use crate::geometry::{Point, Ring, Shape};
use crate::stack;

use super::arrangement::Arrangement;
use super::label::{Location, Rays};
use super::parts::Parts;
use super::relate::relate;
use super::work::Work;

/// Coordinates have to be finite.
pub fn is_valid(shape: &Shape, tolerance: f64, work: &mut Work<'_>) -> Result<bool> {
    match shape {
        Shape::Point(_) | Shape::MultiPoint(_) => Ok(true),
        Shape::LineString(line) => Ok(has_length(line)),
        Shape::MultiLineString(lines) => Ok(lines.iter().all(|line| has_length(line))),
        Shape::Polygon(rings) => are_valid(std::slice::from_ref(rings), tolerance, work),
        Shape::MultiPolygon(polygons) => are_valid(polygons, tolerance, work),
        Shape::Collection(shapes) => {
            for shape in shapes {
                if !stack::deeper(|| is_valid(shape, tolerance, work))? {
                    return Ok(false);
                }
            }
            Ok(true)
        }
    }
}

fn has_length(line: &[Point]) -> bool {
    line.iter().any(|p| Some(p) != line.first())
}

fn are_valid(polygons: &[Vec<Ring>], tolerance: f64, work: &mut Work<'_>) -> Result<bool> {
    let rings: Vec<&Ring> = polygons.iter().flatten().collect();
    // The polygon of each ring, and whether it is its exterior.
    let owners: Vec<(usize, bool)> =
        polygons.iter().enumerate().flat_map(|(p, rings)| (0..rings.len()).map(move |i| (p, i == 0))).collect();
    let mut parts = Parts::default();
    parts.polygons.extend(rings.iter().map(|ring| std::slice::from_ref(*ring)));
    let arrangement = Arrangement::new([&parts, &Parts::default()], tolerance, work)?;
    if !rings.iter().all(|ring| has_length(ring)) || arrangement.edges.iter().any(|edge| arrangement.members(edge).len() > 1) {
        return Ok(false);
    }
    Ok(is_connected(&arrangement, &owners) && is_nested(&arrangement, &owners, work)?)
}

/// No ring comes to a node twice, and those of a polygon that touch form no circle.
fn is_connected(arrangement: &Arrangement, owners: &[(usize, bool)]) -> bool {
    let ring_of = |segment: u32| arrangement.segments[segment as usize].polygon.unwrap_or(0);
    let mut visits: Vec<(u32, u32)> = arrangement.steps.iter().map(|step| (step.from, ring_of(step.segment))).collect();
    visits.sort_unstable();
    if visits.windows(2).any(|pair| pair[0] == pair[1]) {
        return false;
    }
    let mut groups = Groups((0..owners.len()).collect());
    for at_node in visits.chunk_by(|a, b| a.0 == b.0) {
        // The rings of a polygon are next to each other. Those that meet here are one group then, which none of them may be in yet.
        for own in at_node.chunk_by(|a, b| owners[a.1 as usize].0 == owners[b.1 as usize].0) {
            if !own.windows(2).all(|pair| groups.join(pair[0].1 as usize, pair[1].1 as usize)) {
                return false;
            }
        }
    }
    true
}

/// Groups that grow together: each member leads to another, one of them to itself.
struct Groups(Vec<usize>);

impl Groups {
    fn first(&mut self, mut member: usize) -> usize {
        while self.0[member] != member {
            self.0[member] = self.0[self.0[member]];
            member = self.0[member];
        }
        member
    }

    /// They were in different groups.
    fn join(&mut self, a: usize, b: usize) -> bool {
        let (a, b) = (self.first(a), self.first(b));
        self.0[a] = b;
        a != b
    }
}

/// Each edge is in the rings that it has to be in: one of a hole in its exterior ring; none in others, but in a hole of another polygon.
fn is_nested(arrangement: &Arrangement, owners: &[(usize, bool)], work: &mut Work<'_>) -> Result<bool> {
    let rays = Rays::of(arrangement, 0, work)?;
    let (mut crossed, mut depths) = (Vec::new(), HashMap::new());
    for edge in &arrangement.edges {
        let members = arrangement.members(edge);
        let Some(ring) = members.first().and_then(|segment| arrangement.segments[*segment as usize].polygon) else { continue };
        rays.cast(arrangement.middle(edge), members, &mut crossed, work)?;
        crossed.retain(|around| *around != ring);
        crossed.sort_unstable();
        depths.clear();
        for around in crossed.chunk_by(|a, b| a == b).filter(|same| same.len() % 2 == 1) {
            let (polygon, is_exterior) = owners[around[0] as usize];
            *depths.entry(polygon).or_insert(0) += if is_exterior { 1 } else { -1 };
        }
        let (polygon, is_exterior) = owners[ring as usize];
        let own = depths.remove(&polygon).unwrap_or(0);
        if own != i32::from(!is_exterior) || depths.values().any(|depth| *depth != 0) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Coordinates have to be finite.
pub fn is_simple(shape: &Shape, tolerance: f64, work: &mut Work<'_>) -> Result<bool> {
    let has_pairs = |line: &[Point]| line.windows(2).any(|pair| pair[0] == pair[1]);
    match shape {
        Shape::Point(_) => Ok(true),
        Shape::MultiPoint(points) => {
            let mut bits: Vec<_> = points.iter().map(|p| ((p.x + 0.0).to_bits(), (p.y + 0.0).to_bits())).collect();
            bits.sort_unstable();
            Ok(bits.windows(2).all(|pair| pair[0] != pair[1]))
        }
        Shape::LineString(line) => Ok(!has_pairs(line) && are_simple(shape, tolerance, work)?),
        Shape::MultiLineString(lines) => Ok(!lines.iter().any(|line| has_pairs(line)) && are_simple(shape, tolerance, work)?),
        Shape::Polygon(rings) => Ok(!rings.iter().any(|ring| has_pairs(ring))),
        Shape::MultiPolygon(polygons) => Ok(!polygons.iter().flatten().any(|ring| has_pairs(ring))),
        Shape::Collection(_) => {
            let mut leaves = Vec::new();
            add_leaves(shape, &mut leaves);
            for (i, leaf) in leaves.iter().enumerate() {
                if !is_simple(leaf, tolerance, work)? {
                    return Ok(false);
                }
                for other in &leaves[..i] {
                    work.step()?;
                    if relate(leaf, other, tolerance, work)?.dimension(Location::Interior, Location::Interior).is_some() {
                        return Ok(false);
                    }
                }
            }
            Ok(true)
        }
    }
}

fn add_leaves<'a>(shape: &'a Shape, leaves: &mut Vec<&'a Shape>) {
    match shape {
        Shape::Collection(shapes) => stack::deeper(|| shapes.iter().for_each(|shape| add_leaves(shape, leaves))),
        _ => leaves.push(shape),
    }
}

/// Lines have no edge and no node in common, and come to none twice, but for the ends of those that are not closed.
fn are_simple(shape: &Shape, tolerance: f64, work: &mut Work<'_>) -> Result<bool> {
    let arrangement = Arrangement::new([&Parts::of(shape), &Parts::default()], tolerance, work)?;
    if arrangement.edges.iter().any(|edge| arrangement.members(edge).len() > 1) {
        return Ok(false);
    }
    let chain_of = |segment: u32| arrangement.segments[segment as usize].chain;
    let mut visits = Vec::new();
    for chain in arrangement.steps.chunk_by(|a, b| chain_of(a.segment) == chain_of(b.segment)) {
        let (Some(first), Some(last)) = (chain.first(), chain.last()) else { continue };
        let is_closed = first.from == last.to;
        for (i, step) in chain.iter().enumerate() {
            work.push(&mut visits, (step.from, i == 0 && !is_closed))?;
        }
        if !is_closed {
            work.push(&mut visits, (last.to, true))?;
        }
    }
    visits.sort_unstable();
    Ok(visits.windows(2).all(|pair| pair[0].0 != pair[1].0 || pair[0].1 && pair[1].1))
}
