//! Geometries of degrees of longitude and latitude on a plane, where what they have in common can be looked for.
//!
//! The lines of a geographic reference system are geodesics of its ellipsoid. Here they are the sections of it with planes through its
//! center, which the gnomonic projection shows as straight lines: each point is seen from the center on the plane that touches the
//! ellipsoid in the midst of all points. Such a section is no more than a few metres from the geodesic between places a thousand kilometres
//! apart, a millimetre for ten kilometres. All points have to be on one half of the earth.

use crate::geometry::{Point, Shape};

/// (1 - f)² of the ellipsoid of WGS 84: the tangent of a latitude, times this, is that of the angle seen from the center.
const AXES_SQUARED: f64 = (1.0 - 1.0 / 298.257223563) * (1.0 - 1.0 / 298.257223563);
/// The cosine of the widest angle between a point and the midst of all.
const COSINE_MIN: f64 = 0.02;
/// Points so near to a line are on it, as a part of the earth's radius: some micrometres, what sines and cosines are rounded by.
pub const TOLERANCE: f64 = 1e-12;

type Vector = [f64; 3];

fn dot(a: Vector, b: Vector) -> f64 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

fn cross(a: Vector, b: Vector) -> Vector {
    [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
}

/// Of length one; `None` for what has hardly any.
fn unit(a: Vector) -> Option<Vector> {
    let length = dot(a, a).sqrt();
    (length > 1e-9).then(|| a.map(|x| x / length))
}

/// From the center of the earth to a place.
fn direction(p: Point) -> Vector {
    let (longitude, latitude) = (p.x.to_radians(), p.y.to_radians());
    let (across, up) = (latitude.cos(), AXES_SQUARED * latitude.sin());
    let length = across.hypot(up);
    [across / length * longitude.cos(), across / length * longitude.sin(), up / length]
}

/// The plane, by what is up, east and north where it touches.
pub struct Projection {
    up: Vector,
    east: Vector,
    north: Vector,
}

impl Projection {
    /// In the midst of these; `None` if there is none.
    pub fn of(shapes: &[&Shape]) -> Option<Projection> {
        let mut sum = [0.0; 3];
        for shape in shapes {
            shape.for_each_point(&mut |p| {
                for (total, part) in sum.iter_mut().zip(direction(p)) {
                    *total += part;
                }
            });
        }
        let up = unit(sum)?;
        let east = unit(cross([0.0, 0.0, 1.0], up)).unwrap_or([1.0, 0.0, 0.0]);
        Some(Projection { up, east, north: cross(up, east) })
    }

    /// `None` if not all of it is on this half of the earth.
    pub fn project(&self, shape: &Shape) -> Option<Shape> {
        let mut is_beyond = false;
        let mut shape = shape.clone();
        shape.map_points(&mut |p| {
            let seen = direction(p);
            let height = dot(seen, self.up);
            is_beyond |= height < COSINE_MIN;
            Point::new(dot(seen, self.east) / height, dot(seen, self.north) / height)
        });
        (!is_beyond).then_some(shape)
    }
}

/// Both on one plane; `None` if they are not on one half of the earth.
pub fn project(a: &Shape, b: &Shape) -> Option<[Shape; 2]> {
    let projection = Projection::of(&[a, b])?;
    Some([projection.project(a)?, projection.project(b)?])
}

/// One is on the half of the earth that is nearest to it, and the other wholly on the other half, as then are its lines.
pub fn are_apart(a: &Shape, b: &Shape) -> bool {
    let is_beyond = |here: &Shape, there: &Shape| {
        Projection::of(&[here]).is_some_and(|projection| {
            let height = |p: Point| dot(direction(p), projection.up);
            here.find_point(|p| height(p) < COSINE_MIN).is_none() && there.find_point(|p| height(p) >= 0.0).is_none()
        })
    };
    is_beyond(a, b) || is_beyond(b, a)
}
