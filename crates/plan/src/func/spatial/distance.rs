//! The least distance of two geometries in the plane: zero if one is in the other or they cross, else that of two of their segments or
//! points. Each is compared with each. On the ellipsoid the same by geodesics.

use vaquita_types::geometry::topology::{Work, geographic, relate};
use vaquita_types::geometry::{Point, Ring, Shape, geodesic};
use vaquita_types::{Error, Result};

pub(super) fn point_distance(a: Point, b: Point) -> f64 {
    let (dx, dy) = (a.x - b.x, a.y - b.y);
    (dx * dx + dy * dy).sqrt()
}

/// What a geometry is made of. A point is a segment without length.
#[derive(Default)]
struct Pieces<'a> {
    segments: Vec<(Point, Point)>,
    polygons: Vec<&'a [Ring]>,
}

impl<'a> Pieces<'a> {
    fn of(shape: &'a Shape) -> Pieces<'a> {
        let mut pieces = Pieces::default();
        pieces.add(shape);
        pieces
    }

    fn line(&mut self, line: &[Point]) {
        self.segments.extend(line.windows(2).map(|pair| (pair[0], pair[1])));
    }

    fn polygon(&mut self, rings: &'a [Ring]) {
        self.polygons.push(rings);
        rings.iter().for_each(|ring| self.line(ring));
    }

    fn add(&mut self, shape: &'a Shape) {
        match shape {
            Shape::Point(p) => self.segments.push((*p, *p)),
            Shape::MultiPoint(points) => self.segments.extend(points.iter().map(|p| (*p, *p))),
            Shape::LineString(line) => self.line(line),
            Shape::MultiLineString(lines) => lines.iter().for_each(|line| self.line(line)),
            Shape::Polygon(rings) => self.polygon(rings),
            Shape::MultiPolygon(polygons) => polygons.iter().for_each(|rings| self.polygon(rings)),
            Shape::Collection(shapes) => shapes.iter().for_each(|shape| self.add(shape)),
        }
    }
}

/// `None` if one of them is empty.
pub(super) fn distance(a: &Shape, b: &Shape, go_on: &mut dyn FnMut() -> Result<()>) -> Result<Option<f64>> {
    let bytes = (a.wkb_bytes() + b.wkb_bytes()) * 2;
    vaquita_types::memory::ask(bytes)?;
    let (a, b) = (Pieces::of(a), Pieces::of(b));
    if a.segments.is_empty() || b.segments.is_empty() {
        return Ok(None);
    }
    if is_inside(&a, &b, go_on)? || is_inside(&b, &a, go_on)? {
        return Ok(Some(0.0));
    }
    let mut least = f64::INFINITY;
    for s in &a.segments {
        go_on()?;
        for t in &b.segments {
            least = least.min(segment_distance(*s, *t));
            if least == 0.0 {
                return Ok(Some(0.0));
            }
        }
    }
    Ok(Some(least))
}

/// Metres between geometries of a geographic reference system; `None` if one of them is empty.
pub(super) fn geodesic_distance(
    a: &Shape,
    b: &Shape,
    function: &str,
    go_on: &mut dyn FnMut() -> Result<()>,
) -> Result<Option<f64>> {
    vaquita_types::memory::ask((a.wkb_bytes() + b.wkb_bytes()) * 2)?;
    let (of_a, of_b) = (Pieces::of(a), Pieces::of(b));
    if of_a.segments.is_empty() || of_b.segments.is_empty() {
        return Ok(None);
    }
    if (a.dimension(), b.dimension()) != (Some(0), Some(0)) && !geographic::are_apart(a, b) {
        let too_far = || Error::unsupported(format_args!("{function} of what is on both halves of the earth"));
        let [a, b] = geographic::project(a, b).ok_or_else(too_far)?;
        if relate(&a, &b, geographic::TOLERANCE, &mut Work::new(go_on))?.intersects() {
            return Ok(Some(0.0));
        }
    }
    let mut least = f64::INFINITY;
    for s in &of_a.segments {
        for t in &of_b.segments {
            go_on()?;
            least = least.min(geodesic_segment_distance(*s, *t));
        }
    }
    Ok(Some(least))
}

/// Of segments that have nothing in common.
fn geodesic_segment_distance((a, b): Segment, (c, d): Segment) -> f64 {
    match (a == b, c == d) {
        (true, true) => geodesic::metres_between(a, c),
        (true, false) => geodesic::metres_to_segment(a, c, d),
        (false, true) => geodesic::metres_to_segment(c, a, b),
        (false, false) => {
            let ends = [(a, (c, d)), (b, (c, d)), (c, (a, b)), (d, (a, b))];
            ends.map(|(p, (from, to))| geodesic::metres_to_segment(p, from, to)).into_iter().fold(f64::INFINITY, f64::min)
        }
    }
}

/// A segment of `inner` begins inside of one of the polygons. What crosses an edge is found by its distance.
fn is_inside(inner: &Pieces<'_>, outer: &Pieces<'_>, go_on: &mut dyn FnMut() -> Result<()>) -> Result<bool> {
    for rings in &outer.polygons {
        for (start, _) in &inner.segments {
            go_on()?;
            if rings.first().is_some_and(|ring| is_in_ring(*start, ring))
                && !rings[1..].iter().any(|ring| is_in_ring(*start, ring))
            {
                return Ok(true);
            }
        }
    }
    Ok(false)
}

/// By the edges that a ray to the right crosses.
fn is_in_ring(p: Point, ring: &Ring) -> bool {
    let crosses = |pair: &[Point]| {
        let (a, b) = (pair[0], pair[1]);
        (a.y > p.y) != (b.y > p.y) && p.x < (b.x - a.x) * (p.y - a.y) / (b.y - a.y) + a.x
    };
    ring.windows(2).filter(|pair| crosses(pair)).count() % 2 == 1
}

type Segment = (Point, Point);

fn segment_distance(s: Segment, t: Segment) -> f64 {
    if cross(s, t) {
        return 0.0;
    }
    let ends = [distance_to(s.0, t), distance_to(s.1, t), distance_to(t.0, s), distance_to(t.1, s)];
    ends.into_iter().fold(f64::INFINITY, f64::min)
}

/// From a point to the nearest of a segment.
pub(super) fn distance_to(p: Point, (a, b): Segment) -> f64 {
    let (vx, vy) = (b.x - a.x, b.y - a.y);
    let along = (p.x - a.x) * vx + (p.y - a.y) * vy;
    if along <= 0.0 {
        return point_distance(p, a);
    }
    let whole = vx * vx + vy * vy;
    if whole <= along {
        return point_distance(p, b);
    }
    let part = along / whole;
    point_distance(p, Point::new(a.x + part * vx, a.y + part * vy))
}

/// The ends of each lie on both sides of the other.
fn cross(s: Segment, t: Segment) -> bool {
    let side = |(a, b): Segment, p: Point| (b.x - a.x) * (p.y - a.y) - (b.y - a.y) * (p.x - a.x);
    let parted = |line: Segment, (p, q): Segment| {
        let (first, second) = (side(line, p), side(line, q));
        first > 0.0 && second < 0.0 || first < 0.0 && second > 0.0
    };
    parted(s, t) && parted(t, s)
}
