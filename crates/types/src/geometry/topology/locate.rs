//! Where one point is: what most rows of a table are asked about, without an arrangement.

use crate::Result;
use crate::geometry::{Point, Ring, Shape};

use super::label::Location;
use super::side::side;
use super::work::Work;

/// `None` if the shape has parts other than polygons.
pub(super) fn locate(p: Point, shape: &Shape, work: &mut Work<'_>) -> Result<Option<Location>> {
    let polygons = match shape {
        Shape::Polygon(rings) => std::slice::from_ref(rings),
        Shape::MultiPolygon(polygons) => polygons.as_slice(),
        _ => return Ok(None),
    };
    let mut location = Location::Exterior;
    for rings in polygons {
        match in_polygon(p, rings, work)? {
            Location::Exterior => {}
            Location::Interior => return Ok(Some(Location::Interior)),
            Location::Boundary => location = Location::Boundary,
        }
    }
    Ok(Some(location))
}

/// By the edges that a ray to the right crosses.
pub(super) fn in_polygon(p: Point, rings: &[Ring], work: &mut Work<'_>) -> Result<Location> {
    let mut is_inside = false;
    for pair in rings.iter().flat_map(|ring| ring.windows(2)) {
        work.step()?;
        let (low, high) = if pair[0].y <= pair[1].y { (pair[0], pair[1]) } else { (pair[1], pair[0]) };
        if p.y < low.y || p.y > high.y || p.x > low.x.max(high.x) {
            continue;
        }
        let is_left = p.x < low.x.min(high.x);
        let on_side = if is_left { 1 } else { side(low, high, p) };
        if on_side == 0 {
            return Ok(Location::Boundary);
        }
        is_inside ^= on_side > 0 && p.y < high.y;
    }
    Ok(if is_inside { Location::Interior } else { Location::Exterior })
}
