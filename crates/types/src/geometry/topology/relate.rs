//! The dimensionally extended nine-intersection matrix (OGC 06-103r4, 6.1.15): what the interiors, boundaries and exteriors of two
//! geometries have in common. It is filled by what the arrangement of both says of its nodes, edges and the sides of edges.
//!
//! ```text
//! POLYGON((0 0,4 0,4 4,0 4,0 0)) and LINESTRING(2 2,6 2)     interior  boundary  exterior
//!                                                 interior       1         0         2
//!                                                 boundary       0         -         1
//!                                                 exterior       1         0         2
//! ```

use crate::Result;
use crate::geometry::Shape;

use super::arrangement::Arrangement;
use super::label::{Labels, Location};
use super::locate::locate;
use super::parts::Parts;
use super::work::Work;

use Location::{Boundary, Exterior, Interior};

/// The dimension of what two sets of points have in common; `None` of nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Matrix {
    entries: [[Option<u8>; 3]; 3],
    /// The geometry has points that are in none of its lines and polygons.
    pub has_lone_points: [bool; 2],
}

impl Matrix {
    fn note(&mut self, a: Location, b: Location, dimension: u8) {
        let entry = &mut self.entries[a as usize][b as usize];
        *entry = (*entry).max(Some(dimension));
    }

    pub fn dimension(&self, a: Location, b: Location) -> Option<u8> {
        self.entries[a as usize][b as usize]
    }

    fn meet(&self, a: Location, b: Location) -> bool {
        self.dimension(a, b).is_some()
    }

    pub fn intersects(&self) -> bool {
        [Interior, Boundary].into_iter().any(|a| self.meet(a, Interior) || self.meet(a, Boundary))
    }

    /// The first is in the second.
    pub fn within(&self) -> bool {
        self.meet(Interior, Interior) && !self.meet(Interior, Exterior) && !self.meet(Boundary, Exterior)
    }

    pub fn contains(&self) -> bool {
        self.meet(Interior, Interior) && !self.meet(Exterior, Interior) && !self.meet(Exterior, Boundary)
    }

    pub fn equals(&self) -> bool {
        self.within() && self.contains()
    }

    pub fn touches(&self) -> bool {
        self.intersects() && !self.meet(Interior, Interior)
    }

    /// The dimensions are those of the geometries.
    pub fn crosses(&self, a: u8, b: u8) -> bool {
        match a == b {
            true => self.dimension(Interior, Interior) == Some(0),
            false if a < b => self.meet(Interior, Interior) && self.meet(Interior, Exterior),
            false => self.meet(Interior, Interior) && self.meet(Exterior, Interior),
        }
    }

    /// Both have this dimension.
    pub fn overlaps(&self, dimension: u8) -> bool {
        // Of collections, too: a line of one outside of the other's polygons is not enough.
        [(Interior, Interior), (Interior, Exterior), (Exterior, Interior)]
            .into_iter()
            .all(|(a, b)| self.dimension(a, b) == Some(dimension))
    }
}

/// Coordinates have to be finite. Points so near to a line as `tolerance` are on it.
pub fn relate(a: &Shape, b: &Shape, tolerance: f64, work: &mut Work<'_>) -> Result<Matrix> {
    if tolerance == 0.0
        && let Some(matrix) = relate_simple(a, b, work)?
    {
        return Ok(matrix);
    }
    let arrangement = Arrangement::new([&Parts::of(a), &Parts::of(b)], tolerance, work)?;
    let labels = Labels::of(&arrangement, work)?;
    let mut matrix = Matrix::default();
    matrix.note(Exterior, Exterior, 2);
    for node in &labels.nodes {
        matrix.note(node[0].location(), node[1].location(), 0);
        for (has, node) in matrix.has_lone_points.iter_mut().zip(node) {
            *has |= node.is_lone_point();
        }
    }
    let side = |is_inside: bool| if is_inside { Interior } else { Exterior };
    for [a, b] in &labels.edges {
        matrix.note(a.location(), b.location(), 1);
        matrix.note(side(a.left), side(b.left), 2);
        matrix.note(side(a.right), side(b.right), 2);
    }
    Ok(matrix)
}

/// What needs no arrangement: geometries whose rectangles do not meet, and a point with polygons. Left out are the entries that no relation
/// asks for then.
fn relate_simple(a: &Shape, b: &Shape, work: &mut Work<'_>) -> Result<Option<Matrix>> {
    if matches!(a, Shape::Collection(_)) || matches!(b, Shape::Collection(_)) {
        return Ok(None);
    }
    let mut matrix = Matrix::default();
    if let (Some((a_low, a_high)), Some((b_low, b_high))) = (a.bounds(), b.bounds())
        && (a_low.x > b_high.x || b_low.x > a_high.x || a_low.y > b_high.y || b_low.y > a_high.y)
    {
        return Ok(Some(matrix));
    }
    match (a, b) {
        (Shape::Point(p), area) => {
            let Some(location) = locate(*p, area, work)? else { return Ok(None) };
            matrix.note(Interior, location, 0);
            matrix.note(Exterior, Interior, 2);
        }
        (area, Shape::Point(p)) => {
            let Some(location) = locate(*p, area, work)? else { return Ok(None) };
            matrix.note(location, Interior, 0);
            matrix.note(Interior, Exterior, 2);
        }
        _ => return Ok(None),
    }
    Ok(Some(matrix))
}
