//! Geometries made from the points of one: ST_ConvexHull, ST_Simplify, ST_Centroid.

use vaquita_types::geometry::{Geometry, GeometryKind, Point, Ring, Shape};
use vaquita_types::{Error, Result, Value, errno};

use super::distance::{distance_to, point_distance};
use super::{EvalCx, FuncCall, FuncDef, any_geometry, arg, geometry_type, not_geographic, operand, value};
use super::{check_finite, point_value};
use crate::func::args::def;

pub(super) static FUNCTIONS: &[FuncDef] = &[
    def("ST_CONVEXHULL", 1, 1, any_geometry, convex_hull),
    def("ST_SIMPLIFY", 2, 2, any_geometry, simplify),
    def("ST_CENTROID", 1, 1, |_| geometry_type(GeometryKind::Point), centroid),
];

fn convex_hull(call: &FuncCall<'_>, cx: &EvalCx<'_>) -> Result<Value> {
    let function = "st_convexhull";
    let (geometry, srs) = arg!(operand(call, 0, cx, function));
    if srs.is_geographic() {
        return Err(not_geographic(&geometry, function));
    }
    if let Shape::Point(point) = geometry.shape {
        return point_value(geometry.srid, point, cx);
    }
    check_finite(&geometry, function)?;
    vaquita_types::memory::ask(2 * geometry.shape.wkb_bytes())?;
    let mut points = Vec::new();
    geometry.shape.for_each_point(&mut |p| points.push(p));
    cx.env.check_interrupt()?;
    let shape = match hull(points).as_slice() {
        [] => return Ok(Value::Null),
        [point] => Shape::Point(*point),
        [a, b] => Shape::LineString(vec![*a, *b]),
        corners => Shape::Polygon(vec![corners.iter().chain(corners.first()).copied().collect()]),
    };
    value(&Geometry::new(geometry.srid, shape), cx)
}

/// The corners, counterclockwise from the leftmost: first those below, then those above (A. M. Andrew's monotone chain, 1979).
fn hull(mut points: Vec<Point>) -> Vec<Point> {
    points.sort_unstable_by(|a, b| a.x.total_cmp(&b.x).then(a.y.total_cmp(&b.y)));
    points.dedup();
    if points.len() < 3 {
        return points;
    }
    let half = |points: &mut dyn Iterator<Item = &Point>| {
        let mut corners: Vec<Point> = Vec::new();
        for p in points {
            while let [.., a, b] = corners.as_slice()
                && vaquita_types::geometry::topology::side(*a, *b, *p) <= 0
            {
                corners.pop();
            }
            corners.push(*p);
        }
        corners.pop();
        corners
    };
    let mut corners = half(&mut points.iter());
    corners.extend(half(&mut points.iter().rev()));
    corners
}

fn simplify(call: &FuncCall<'_>, cx: &EvalCx<'_>) -> Result<Value> {
    let function = "st_simplify";
    let (geometry, srs) = arg!(operand(call, 0, cx, function));
    let distance = arg!(call.f64(1, cx));
    if distance <= 0.0 || !distance.is_finite() {
        return Err(Error::new(&errno::ER_WRONG_ARGUMENTS, &[&function]));
    }
    if srs.is_geographic() {
        let kinds = format!("{}, ...", geometry.kind().upper_name());
        return Err(Error::new(&errno::ER_NOT_IMPLEMENTED_FOR_GEOGRAPHIC_SRS, &[&function, &kinds]));
    }
    check_finite(&geometry, function)?;
    match simpler(&geometry.shape, distance, cx)? {
        Some(shape) => value(&Geometry::new(geometry.srid, shape), cx),
        None => Ok(Value::Null),
    }
}

/// `None` if nothing is left.
fn simpler(shape: &Shape, distance: f64, cx: &EvalCx<'_>) -> Result<Option<Shape>> {
    let polygon = |rings: &Vec<Ring>| -> Result<Option<Vec<Ring>>> {
        let mut kept = Vec::new();
        for (i, ring) in rings.iter().enumerate() {
            match simpler_ring(ring, i == 0, distance, cx)? {
                Some(ring) => kept.push(ring),
                None if i == 0 => return Ok(None),
                None => {}
            }
        }
        Ok(Some(kept))
    };
    Ok(match shape {
        Shape::Point(_) | Shape::MultiPoint(_) => Some(shape.clone()),
        Shape::LineString(line) => simpler_line(line, distance, cx)?.map(Shape::LineString),
        Shape::Polygon(rings) => polygon(rings)?.map(Shape::Polygon),
        Shape::MultiLineString(lines) => {
            let lines = lines.iter().map(|line| simpler_line(line, distance, cx)).collect::<Result<Vec<_>>>()?;
            let lines: Vec<_> = lines.into_iter().flatten().collect();
            (!lines.is_empty()).then_some(Shape::MultiLineString(lines))
        }
        Shape::MultiPolygon(polygons) => {
            let polygons = polygons.iter().map(polygon).collect::<Result<Vec<_>>>()?;
            let polygons: Vec<_> = polygons.into_iter().flatten().collect();
            (!polygons.is_empty()).then_some(Shape::MultiPolygon(polygons))
        }
        Shape::Collection(shapes) => {
            let mut kept = Vec::new();
            for shape in shapes {
                kept.extend(vaquita_types::stack::deeper(|| simpler(shape, distance, cx))?);
            }
            (!kept.is_empty()).then_some(Shape::Collection(kept))
        }
    })
}

/// D. H. Douglas and T. K. Peucker, 1973: of a piece whose points are all so near to the line between its ends only the ends are kept;
/// another is parted at the farthest point.
fn simpler_line(line: &[Point], distance: f64, cx: &EvalCx<'_>) -> Result<Option<Vec<Point>>> {
    let mut is_kept = vec![false; line.len()];
    let mut pieces = vec![(0, line.len() - 1)];
    while let Some((first, last)) = pieces.pop() {
        cx.env.check_interrupt()?;
        (is_kept[first], is_kept[last]) = (true, true);
        let mut farthest = (distance, None);
        for i in first + 1..last {
            let far = distance_to(line[i], (line[first], line[last]));
            if far > farthest.0 {
                farthest = (far, Some(i));
            }
        }
        if let Some(i) = farthest.1 {
            pieces.extend([(first, i), (i, last)]);
        }
    }
    let kept: Vec<Point> = line.iter().zip(is_kept).filter(|(_, kept)| *kept).map(|(p, _)| *p).collect();
    Ok(kept.iter().any(|p| Some(p) != kept.first()).then_some(kept))
}

/// From the corner that is farthest from the first one, as Boost.Geometry does; exterior rings go round counterclockwise, others clockwise.
fn simpler_ring(ring: &Ring, is_exterior: bool, distance: f64, cx: &EvalCx<'_>) -> Result<Option<Ring>> {
    let turn: f64 = ring.windows(2).map(|pair| (pair[0].x + pair[1].x) * (pair[1].y - pair[0].y)).sum();
    let mut ring = ring.clone();
    if (turn > 0.0) != is_exterior {
        ring.reverse();
    }
    let Some(first) = ring.first() else { return Ok(None) };
    let mut farthest = (0.0, 0);
    for (i, p) in ring.iter().enumerate() {
        let far = point_distance(*p, *first);
        if far > farthest.0 {
            farthest = (far, i);
        }
    }
    let open = &ring[..ring.len() - 1];
    let (before, behind) = open.split_at(farthest.1.min(open.len()));
    let turned: Ring = behind.iter().chain(before).chain(behind.first().or(before.first())).copied().collect();
    Ok(simpler_line(&turned, distance, cx)?.filter(|ring| ring.len() > 3))
}

/// Sums of what the points of a dimension weigh, in the coordinates from a first point.
#[derive(Default)]
struct Weighed {
    x: f64,
    y: f64,
    weight: f64,
}

impl Weighed {
    fn add(&mut self, x: f64, y: f64, weight: f64) {
        self.x += x * weight;
        self.y += y * weight;
        self.weight += weight;
    }
}

/// Of the parts of the highest dimension only.
fn centroid(call: &FuncCall<'_>, cx: &EvalCx<'_>) -> Result<Value> {
    let function = "st_centroid";
    let (geometry, srs) = arg!(operand(call, 0, cx, function));
    if srs.is_geographic() {
        return Err(not_geographic(&geometry, function));
    }
    let (Some(dimension), Some(origin)) = (geometry.shape.dimension(), geometry.shape.find_point(|_| true)) else {
        return Ok(Value::Null);
    };
    if let Shape::Point(point) = geometry.shape {
        return point_value(geometry.srid, point, cx);
    }
    check_finite(&geometry, function)?;
    let mut sums = [Weighed::default(), Weighed::default(), Weighed::default()];
    weigh(&geometry.shape, dimension, origin, &mut sums);
    cx.env.check_interrupt()?;
    // What has no area is taken for its lines, what has no length for its points.
    let Some(sum) = sums.iter().rev().find(|sum| sum.weight != 0.0) else { return Ok(Value::Null) };
    point_value(geometry.srid, Point::new(origin.x + sum.x / sum.weight, origin.y + sum.y / sum.weight), cx)
}

/// Adds the parts of a dimension to its sum and those below.
fn weigh(shape: &Shape, dimension: u8, origin: Point, sums: &mut [Weighed; 3]) {
    let from = |p: &Point| Point::new(p.x - origin.x, p.y - origin.y);
    let point = |p: &Point, sums: &mut [Weighed; 3]| sums[0].add(from(p).x, from(p).y, 1.0);
    let line = |line: &[Point], sums: &mut [Weighed; 3]| {
        for pair in line.windows(2) {
            let (a, b) = (from(&pair[0]), from(&pair[1]));
            sums[1].add((a.x + b.x) / 2.0, (a.y + b.y) / 2.0, point_distance(a, b));
            point(&pair[1], sums);
        }
    };
    let polygon = |rings: &[Ring], sums: &mut [Weighed; 3]| {
        for (i, ring) in rings.iter().enumerate() {
            let mut of_ring = Weighed::default();
            for pair in ring.windows(2) {
                let (a, b) = (from(&pair[0]), from(&pair[1]));
                of_ring.add((a.x + b.x) / 3.0, (a.y + b.y) / 3.0, a.x * b.y - b.x * a.y);
            }
            // An exterior ring adds, holes take away, whatever way they go round.
            let turn = if (of_ring.weight > 0.0) == (i == 0) { 1.0 } else { -1.0 };
            sums[2].x += turn * of_ring.x;
            sums[2].y += turn * of_ring.y;
            sums[2].weight += turn * of_ring.weight;
            line(ring, sums);
        }
    };
    match shape {
        Shape::Collection(shapes) => {
            vaquita_types::stack::deeper(|| shapes.iter().for_each(|shape| weigh(shape, dimension, origin, sums)));
        }
        _ if shape.dimension() != Some(dimension) => {}
        Shape::Point(p) => point(p, sums),
        Shape::MultiPoint(points) => points.iter().for_each(|p| point(p, sums)),
        Shape::LineString(points) => line(points, sums),
        Shape::MultiLineString(lines) => lines.iter().for_each(|points| line(points, sums)),
        Shape::Polygon(rings) => polygon(rings, sums),
        Shape::MultiPolygon(polygons) => polygons.iter().for_each(|rings| polygon(rings, sums)),
    }
}
