//! Places along a line, and how far two lines are from each other point by point: ST_LineInterpolatePoint, ST_LineInterpolatePoints,
//! ST_PointAtDistance, ST_HausdorffDistance, ST_FrechetDistance. In geographic reference systems by geodesics.

use vaquita_types::geometry::geodesic::{Geodesic, metres_between, place_at};
use vaquita_types::geometry::srs::Srs;
use vaquita_types::geometry::{Geometry, Point, Shape};
use vaquita_types::{Error, Result, Value, errno};

use super::distance::point_distance;
use super::measure::{in_unit, measured};
use super::{
    EvalCx, FuncCall, FuncDef, any_geometry, arg, check_finite, check_same_srid, double, point_value, unexpected, value,
};
use crate::func::args::def;

pub(super) static FUNCTIONS: &[FuncDef] = &[
    def("ST_LINEINTERPOLATEPOINT", 2, 2, any_geometry, |c, cx| at_part(c, cx, "st_lineinterpolatepoint")),
    def("ST_LINEINTERPOLATEPOINTS", 2, 2, any_geometry, |c, cx| at_parts(c, cx, "st_lineinterpolatepoints")),
    def("ST_POINTATDISTANCE", 2, 2, any_geometry, |c, cx| at_distance(c, cx, "st_pointatdistance")),
    def("ST_HAUSDORFFDISTANCE", 2, 3, double, |c, cx| farthest(c, cx, "st_hausdorffdistance", hausdorff)),
    def("ST_FRECHETDISTANCE", 2, 3, double, |c, cx| farthest(c, cx, "st_frechetdistance", frechet)),
];

/// A line, and where along it something is asked for.
struct Along {
    srid: u32,
    line: Vec<Point>,
    srs: &'static Srs,
    at: f64,
}

impl Along {
    fn of(call: &FuncCall<'_>, cx: &EvalCx<'_>, function: &str) -> Result<Option<Along>> {
        let Some((geometry, srs)) = measured(call, 0, cx, function)? else { return Ok(None) };
        let Some(at) = call.f64(1, cx)? else { return Ok(None) };
        let Shape::LineString(_) = geometry.shape else {
            return Err(unexpected("LINESTRING", geometry.kind(), function));
        };
        check_finite(&geometry, function)?;
        match geometry.shape {
            Shape::LineString(line) => Ok(Some(Along { srid: geometry.srid, line, srs, at })),
            _ => Ok(None),
        }
    }

    fn step(&self, a: Point, b: Point) -> f64 {
        distance_of(self.srs)(a, b)
    }

    fn length(&self) -> f64 {
        self.line.windows(2).map(|pair| self.step(pair[0], pair[1])).sum()
    }

    /// The places so far from the beginning; none is farther than the next.
    fn places(&self, distances: impl Iterator<Item = f64>, cx: &EvalCx<'_>) -> Result<Vec<Point>> {
        let (mut places, mut behind) = (Vec::new(), 0.0);
        let mut segments = self.line.windows(2).map(|pair| (pair[0], pair[1])).peekable();
        for distance in distances {
            cx.env.check_interrupt()?;
            while let Some((a, b)) = segments.peek().copied() {
                let length = self.step(a, b);
                let left = distance - behind;
                if left <= length && length > 0.0 {
                    places.push(self.between(a, b, left, length));
                    break;
                }
                behind += length;
                segments.next();
            }
            // What is missing by rounding is at the end.
            if let (None, Some(last)) = (segments.peek(), self.line.last()) {
                places.push(*last);
            }
        }
        Ok(places)
    }

    fn between(&self, a: Point, b: Point, distance: f64, length: f64) -> Point {
        if self.srs.is_geographic() {
            return place_at(a, Geodesic::between(a, b).azimuth, distance);
        }
        let part = distance / length;
        Point::new(a.x + (b.x - a.x) * part, a.y + (b.y - a.y) * part)
    }

    fn point(&self, distance: f64, cx: &EvalCx<'_>) -> Result<Value> {
        let places = self.places(std::iter::once(distance), cx)?;
        places.first().map_or(Ok(Value::Null), |place| point_value(self.srid, *place, cx))
    }
}

fn distance_of(srs: &Srs) -> fn(Point, Point) -> f64 {
    if srs.is_geographic() { metres_between } else { point_distance }
}

/// Error 1690.
fn out_of_range(function: &str) -> Error {
    Error::new(&errno::ER_DATA_OUT_OF_RANGE, &[&"Distance", &function])
}

fn at_part(call: &FuncCall<'_>, cx: &EvalCx<'_>, function: &str) -> Result<Value> {
    let along = arg!(Along::of(call, cx, function));
    if !(0.0..=1.0).contains(&along.at) {
        return Err(out_of_range(function));
    }
    along.point(along.length() * along.at, cx)
}

fn at_distance(call: &FuncCall<'_>, cx: &EvalCx<'_>, function: &str) -> Result<Value> {
    let along = arg!(Along::of(call, cx, function));
    if !(0.0..=along.length()).contains(&along.at) {
        return Err(out_of_range(function));
    }
    along.point(along.at, cx)
}

/// At each multiple of a part of the line.
fn at_parts(call: &FuncCall<'_>, cx: &EvalCx<'_>, function: &str) -> Result<Value> {
    let along = arg!(Along::of(call, cx, function));
    if !(0.0..=1.0).contains(&along.at) {
        return Err(out_of_range(function));
    }
    if along.at == 0.0 {
        let start = along.line.first().copied().into_iter().collect();
        return value(&Geometry::new(along.srid, Shape::MultiPoint(start)), cx);
    }
    let (length, count) = (along.length(), (1.0 / along.at).floor());
    // The bytes of a point in a multipoint.
    crate::eval::check_value_bytes((count * 21.0) as usize, cx)?;
    let step = length * along.at;
    let places = along.places((1..=count as usize).map(|i| step * i as f64), cx)?;
    value(&Geometry::new(along.srid, Shape::MultiPoint(places)), cx)
}

/// How far apart two lists of points are.
type Apart = fn(&[Point], &[Point], fn(Point, Point) -> f64, &EvalCx<'_>) -> Result<f64>;

fn farthest(call: &FuncCall<'_>, cx: &EvalCx<'_>, function: &str, apart: Apart) -> Result<Value> {
    let (a, srs) = arg!(measured(call, 0, cx, function));
    let (b, _) = arg!(measured(call, 1, cx, function));
    check_same_srid(&a, &b, function)?;
    if a.shape.is_empty() || b.shape.is_empty() {
        return Ok(Value::Null);
    }
    check_finite(&a, function)?;
    check_finite(&b, function)?;
    let pairs = match function {
        "st_frechetdistance" => lines(&a.shape, &b.shape),
        _ => pairs(&a.shape, &b.shape),
    };
    let Some(pairs) = pairs else {
        let code = match srs.is_geographic() {
            true => &errno::ER_NOT_IMPLEMENTED_FOR_GEOGRAPHIC_SRS,
            false => &errno::ER_NOT_IMPLEMENTED_FOR_CARTESIAN_SRS,
        };
        let kinds = format!("{}, {}", a.kind().upper_name(), b.kind().upper_name());
        return Err(Error::new(code, &[&function, &kinds]));
    };
    let mut most: f64 = 0.0;
    for (a, b) in pairs {
        most = most.max(apart(a, b, distance_of(srs), cx)?);
    }
    Ok(Value::Float(arg!(in_unit(most, call, 2, srs, cx, function))))
}

type Pairs<'a> = Vec<(&'a [Point], &'a [Point])>;

fn lines<'a>(a: &'a Shape, b: &'a Shape) -> Option<Pairs<'a>> {
    match (a, b) {
        (Shape::LineString(a), Shape::LineString(b)) => Some(vec![(a.as_slice(), b.as_slice())]),
        _ => None,
    }
}

/// What is compared: points with points, each line with each. Of different types the simple one comes first.
fn pairs<'a>(a: &'a Shape, b: &'a Shape) -> Option<Pairs<'a>> {
    match (a, b) {
        (Shape::Point(p), Shape::MultiPoint(points)) | (Shape::MultiPoint(points), Shape::Point(p)) => {
            Some(vec![(std::slice::from_ref(p), points.as_slice())])
        }
        (Shape::MultiPoint(a), Shape::MultiPoint(b)) => Some(vec![(a.as_slice(), b.as_slice())]),
        (Shape::LineString(line), Shape::MultiLineString(lines)) | (Shape::MultiLineString(lines), Shape::LineString(line)) => {
            Some(lines.iter().map(|other| (line.as_slice(), other.as_slice())).collect())
        }
        (Shape::MultiLineString(a), Shape::MultiLineString(b)) => {
            Some(a.iter().flat_map(|a| b.iter().map(move |b| (a.as_slice(), b.as_slice()))).collect())
        }
        _ => lines(a, b),
    }
}

/// From the point of `a` that is farthest from all of `b`.
fn hausdorff(a: &[Point], b: &[Point], distance: fn(Point, Point) -> f64, cx: &EvalCx<'_>) -> Result<f64> {
    let mut most: f64 = 0.0;
    for p in a {
        cx.env.check_interrupt()?;
        most = most.max(b.iter().map(|q| distance(*p, *q)).fold(f64::INFINITY, f64::min));
    }
    Ok(most)
}

/// The shortest leash for two who go from point to point, each to the next or staying (T. Eiter and H. Mannila, 1994).
fn frechet(a: &[Point], b: &[Point], distance: fn(Point, Point) -> f64, cx: &EvalCx<'_>) -> Result<f64> {
    // What the leash has to be until this point of `a` and each of `b`.
    let mut leashes: Vec<f64> = vec![f64::INFINITY; b.len()];
    for (i, p) in a.iter().enumerate() {
        cx.env.check_interrupt()?;
        // Of the last point of `a` and the last of `b`.
        let mut both = if i == 0 { 0.0 } else { f64::INFINITY };
        let mut here = f64::INFINITY;
        for (leash, q) in leashes.iter_mut().zip(b) {
            let least = both.min(*leash).min(here);
            both = *leash;
            here = least.max(distance(*p, *q));
            *leash = here;
        }
    }
    Ok(leashes.last().copied().unwrap_or(0.0))
}
