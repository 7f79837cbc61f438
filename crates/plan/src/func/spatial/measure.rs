//! Measures: ST_Area, ST_Length, ST_Distance in the plane and by geodesics; ST_Distance_Sphere on a sphere; ST_MakeEnvelope.
//!
//! In the plane sums and roots are taken in the order in which Boost.Geometry takes them, so that the last digits are MySQL's.

use vaquita_types::geometry::srs::Srs;
use vaquita_types::geometry::{Geometry, GeometryKind, Point, Ring, Shape, geodesic, units};
use vaquita_types::{ColumnType, Error, Result, Value, errno};

use super::distance::{distance, geodesic_distance, point_distance};
use super::{
    EvalCx, FuncCall, FuncDef, FuncType, arg, check_parameter, check_same_srid, double, geometry_type, invalid, operand,
    unexpected, value, with_srs,
};
use crate::func::args::{any_nullable, def};

pub(super) static FUNCTIONS: &[FuncDef] = &[
    def("ST_AREA", 1, 1, double, area),
    def("ST_LENGTH", 1, 2, double, length),
    def("ST_DISTANCE", 2, 3, double, distance_between),
    def("ST_DISTANCE_SPHERE", 2, 3, |a| FuncType::number(ColumnType::double(), any_nullable(a)), distance_sphere),
    def("ST_MAKEENVELOPE", 2, 2, |_| geometry_type(GeometryKind::Polygon), make_envelope),
];

/// Argument `i`, with coordinates that its reference system has.
pub(super) fn measured(
    call: &FuncCall<'_>,
    i: usize,
    cx: &EvalCx<'_>,
    function: &str,
) -> Result<Option<(Geometry, &'static Srs)>> {
    let Some((geometry, srs)) = operand(call, i, cx, function)? else { return Ok(None) };
    check_parameter(&geometry.shape, srs, function)?;
    Ok(Some((geometry, srs)))
}

/// A result beyond DOUBLE; error 1690.
fn in_range(number: f64, what: &str, function: &str) -> Result<Value> {
    if number.is_finite() {
        return Ok(Value::Float(number));
    }
    Err(Error::new(&errno::ER_DATA_OUT_OF_RANGE, &[&what, &function]))
}

fn area(call: &FuncCall<'_>, cx: &EvalCx<'_>) -> Result<Value> {
    let function = "st_area";
    let (geometry, srs) = arg!(with_srs(call, 0, cx, function));
    let polygons = match &geometry.shape {
        Shape::Polygon(rings) => std::slice::from_ref(rings),
        Shape::MultiPolygon(polygons) => polygons.as_slice(),
        _ => return Err(unexpected("POLYGON/MULTIPOLYGON", geometry.kind(), function)),
    };
    check_parameter(&geometry.shape, srs, function)?;
    let of_ring = if srs.is_geographic() { geodesic::ring_area } else { ring_area };
    let mut area = 0.0;
    for rings in polygons {
        cx.env.check_interrupt()?;
        area += polygon_area(rings, of_ring);
    }
    in_range(area, "Result", function)
}

/// The exterior ring without the others, whatever way they go.
fn polygon_area(rings: &[Ring], of_ring: fn(&[Point]) -> f64) -> f64 {
    let mut areas = rings.iter().map(|ring| of_ring(ring).abs());
    let exterior = areas.next().unwrap_or(0.0);
    exterior - areas.sum::<f64>()
}

fn ring_area(ring: &[Point]) -> f64 {
    ring.windows(2).map(|pair| (pair[0].x + pair[1].x) * (pair[0].y - pair[1].y)).sum::<f64>() / 2.0
}

/// A length in the unit of the reference system, in that of argument `i` if it is given; `None` if that is NULL.
pub(super) fn in_unit(
    length: f64,
    call: &FuncCall<'_>,
    i: usize,
    srs: &Srs,
    cx: &EvalCx<'_>,
    function: &str,
) -> Result<Option<f64>> {
    if call.len() <= i {
        return Ok(Some(length));
    }
    let Some(unit) = call.text(i, cx)? else { return Ok(None) };
    let unit = String::from_utf8_lossy(&unit);
    if srs.id == 0 {
        return Err(Error::new(&errno::ER_GEOMETRY_IN_UNKNOWN_LENGTH_UNIT, &[&function, &unit]));
    }
    let metres = units::metres_of(&unit).ok_or_else(|| Error::new(&errno::ER_UNIT_NOT_FOUND, &[&unit]))?;
    Ok(Some(length * (1.0 / metres)))
}

fn length(call: &FuncCall<'_>, cx: &EvalCx<'_>) -> Result<Value> {
    let function = "st_length";
    let (geometry, srs) = arg!(with_srs(call, 0, cx, function));
    check_parameter(&geometry.shape, srs, function)?;
    let distance = if srs.is_geographic() { geodesic::metres_between } else { point_distance };
    let of_line = |line: &Vec<Point>| line.windows(2).map(|pair| distance(pair[0], pair[1])).sum::<f64>();
    let length = match &geometry.shape {
        Shape::LineString(line) => of_line(line),
        Shape::MultiLineString(lines) => lines.iter().map(of_line).sum(),
        _ => return Ok(Value::Null),
    };
    let length = arg!(in_unit(length, call, 1, srs, cx, function));
    in_range(length, "Length", function)
}

fn distance_between(call: &FuncCall<'_>, cx: &EvalCx<'_>) -> Result<Value> {
    let function = "st_distance";
    let (a, srs) = arg!(measured(call, 0, cx, function));
    let (b, _) = arg!(measured(call, 1, cx, function));
    check_same_srid(&a, &b, function)?;
    let mut go_on = || cx.env.check_interrupt();
    let distance = match srs.is_geographic() {
        true => arg!(geodesic_distance(&a.shape, &b.shape, function, &mut go_on)),
        false => arg!(distance(&a.shape, &b.shape, &mut go_on)),
    };
    if !distance.is_finite() {
        return Err(invalid(function));
    }
    Ok(Value::Float(arg!(in_unit(distance, call, 2, srs, cx, function))))
}

/// Metres: the radius of the earth that MySQL takes in the plane.
const EARTH_RADIUS: f64 = 6_370_986.0;
/// Metres: the mean radius of WGS 84's ellipsoid.
const WGS84_RADIUS: f64 = (2.0 * 6_378_137.0 + 6_356_752.314_245_179) / 3.0;
/// A degree in radians, as the definitions of reference systems have it: less than π/180 in the last digits.
const DEFINED_DEGREE: f64 = 0.017453292519943278;

fn distance_sphere(call: &FuncCall<'_>, cx: &EvalCx<'_>) -> Result<Value> {
    let function = "st_distance_sphere";
    let (a, srs) = arg!(measured(call, 0, cx, function));
    let (b, _) = arg!(measured(call, 1, cx, function));
    let radius = match call.len() {
        2 if srs.is_geographic() => WGS84_RADIUS,
        2 => EARTH_RADIUS,
        _ => arg!(call.f64(2, cx)),
    };
    check_same_srid(&a, &b, function)?;
    let kinds = format!("{}, {}", a.kind().upper_name(), b.kind().upper_name());
    let is_of_points = |geometry: &Geometry| matches!(geometry.kind(), GeometryKind::Point | GeometryKind::MultiPoint);
    if srs.id == vaquita_types::geometry::srs::WEB_MERCATOR {
        return Err(Error::new(&errno::ER_NOT_IMPLEMENTED_FOR_PROJECTED_SRS, &[&function, &kinds]));
    }
    if !is_of_points(&a) || !is_of_points(&b) {
        let code = match srs.is_geographic() {
            true => &errno::ER_NOT_IMPLEMENTED_FOR_GEOGRAPHIC_SRS,
            false => &errno::ER_NOT_IMPLEMENTED_FOR_CARTESIAN_SRS,
        };
        return Err(Error::new(code, &[&function, &kinds]));
    }
    if radius <= 0.0 {
        return Err(Error::new(&errno::ER_NONPOSITIVE_RADIUS, &[&function]));
    }
    super::check_degrees(&a.shape, function)?;
    super::check_degrees(&b.shape, function)?;
    let points = |shape: &Shape| {
        let mut points = Vec::new();
        shape.for_each_point(&mut |p| points.push(p));
        points
    };
    let radians = match srs.is_geographic() {
        true => |degrees: f64| degrees * DEFINED_DEGREE,
        false => |degrees: f64| degrees * std::f64::consts::PI / 180.0,
    };
    let (from, to) = (points(&a.shape), points(&b.shape));
    let mut least = f64::INFINITY;
    for p in &from {
        cx.env.check_interrupt()?;
        for q in &to {
            least = least.min(haversine(*p, *q, radians));
        }
    }
    in_range(least * radius, "Distance", function)
}

/// The angle between two places, in radians.
fn haversine(a: Point, b: Point, radians: fn(f64) -> f64) -> f64 {
    let (latitude_a, latitude_b) = (radians(a.y), radians(b.y));
    let (longitude_a, longitude_b) = (radians(a.x), radians(b.x));
    let hav = |angle: f64| (angle / 2.0).sin().powi(2);
    let hav = hav(latitude_b - latitude_a) + latitude_a.cos() * latitude_b.cos() * hav(longitude_b - longitude_a);
    2.0 * hav.sqrt().asin()
}

fn make_envelope(call: &FuncCall<'_>, cx: &EvalCx<'_>) -> Result<Value> {
    let function = "st_makeenvelope";
    let (a, srs) = arg!(operand(call, 0, cx, function));
    let (b, _) = arg!(operand(call, 1, cx, function));
    let (Shape::Point(p), Shape::Point(q)) = (&a.shape, &b.shape) else {
        return Err(Error::new(&errno::ER_WRONG_ARGUMENTS, &[&function]));
    };
    check_same_srid(&a, &b, function)?;
    if srs.is_geographic() {
        let kinds = format!("{0}, {0}", a.kind().upper_name());
        return Err(Error::new(&errno::ER_NOT_IMPLEMENTED_FOR_GEOGRAPHIC_SRS, &[&function, &kinds]));
    }
    if !p.is_finite() || !q.is_finite() {
        return Err(invalid(function));
    }
    let (low, high) = (Point::new(p.x.min(q.x), p.y.min(q.y)), Point::new(p.x.max(q.x), p.y.max(q.y)));
    // MySQL forgets the SRID.
    value(&Geometry::new(0, super::parts::rectangle(low, high)), cx)
}
