//! What a geometry is made of: its coordinates, SRID, points, rings and elements.

use vaquita_types::geometry::srs::Srs;
use vaquita_types::geometry::{Geometry, Point, Ring, Shape};
use vaquita_types::{ColumnType, Error, Result, Value, errno};

use super::{
    EvalCx, FuncCall, FuncDef, FuncType, any_geometry, arg, boolean, check_coordinates, check_parameter, count, geometry,
    not_geographic, point_value, srid_argument, srs_of, unexpected, value, with_srs,
};
use crate::expr::Expr;
use crate::func::args::{any_nullable, def};
use crate::typing::int_of_length;

pub(super) static FUNCTIONS: &[FuncDef] = &[
    def("ST_X", 1, 2, coordinate_type, |c, cx| coordinate(c, cx, "st_x", Axis::First)),
    def("ST_Y", 1, 2, coordinate_type, |c, cx| coordinate(c, cx, "st_y", Axis::Second)),
    def("ST_LATITUDE", 1, 2, coordinate_type, |c, cx| coordinate(c, cx, "st_latitude", Axis::Latitude)),
    def("ST_LONGITUDE", 1, 2, coordinate_type, |c, cx| coordinate(c, cx, "st_longitude", Axis::Longitude)),
    def("ST_SRID", 1, 2, srid_type, srid),
    def("ST_DIMENSION", 1, 1, count, dimension),
    def("ST_ISEMPTY", 1, 1, boolean, |c, cx| Ok(Value::bool(arg!(with_srs(c, 0, cx, "st_isempty")).0.shape.is_empty()))),
    def("ST_ISCLOSED", 1, 1, boolean, is_closed),
    def("ST_ENVELOPE", 1, 1, any_geometry, envelope),
    def("ST_SWAPXY", 1, 1, any_geometry, swap_xy),
    def("ST_STARTPOINT", 1, 1, any_geometry, |c, cx| point_of_line(c, cx, "st_startpoint", |line| line.first().copied())),
    def("ST_ENDPOINT", 1, 1, any_geometry, |c, cx| point_of_line(c, cx, "st_endpoint", |line| line.last().copied())),
    def("ST_POINTN", 2, 2, any_geometry, point_n),
    def("ST_NUMPOINTS", 1, 1, count, num_points),
    def("ST_EXTERIORRING", 1, 1, any_geometry, |c, cx| ring(c, cx, "st_exteriorring", 0)),
    def("ST_INTERIORRINGN", 2, 2, any_geometry, interior_ring_n),
    def("ST_NUMINTERIORRINGS", 1, 1, count, num_interior_rings),
    def("ST_NUMINTERIORRING", 1, 1, count, num_interior_rings),
    def("ST_GEOMETRYN", 2, 2, any_geometry, geometry_n),
    def("ST_NUMGEOMETRIES", 1, 1, count, num_geometries),
];

/// With a second argument the geometry with another coordinate.
fn coordinate_type(args: &mut Vec<Expr>) -> Result<FuncType> {
    if args.len() == 1 { FuncType::number(ColumnType::double(), any_nullable(args)) } else { any_geometry(args) }
}

fn srid_type(args: &mut Vec<Expr>) -> Result<FuncType> {
    if args.len() == 1 { FuncType::number(int_of_length(10), any_nullable(args)) } else { any_geometry(args) }
}

#[derive(Clone, Copy, PartialEq)]
enum Axis {
    First,
    Second,
    Latitude,
    Longitude,
}

impl Axis {
    /// The coordinate is `x` of the point.
    fn is_x(self, srs: &Srs) -> bool {
        match self {
            Axis::First => !srs.is_latitude_first(),
            Axis::Second => srs.is_latitude_first(),
            Axis::Latitude => false,
            Axis::Longitude => true,
        }
    }
}

fn coordinate(call: &FuncCall<'_>, cx: &EvalCx<'_>, function: &str, axis: Axis) -> Result<Value> {
    let geometry = arg!(geometry(call, 0, cx, function));
    let new = if call.len() > 1 { Some(arg!(call.f64(1, cx))) } else { None };
    let srs = srs_of(geometry.srid)?;
    let Shape::Point(mut point) = geometry.shape else {
        return Err(unexpected("POINT", geometry.kind(), function));
    };
    if matches!(axis, Axis::Latitude | Axis::Longitude) && !srs.is_geographic() {
        return Err(Error::new(&errno::ER_SRS_NOT_GEOGRAPHIC, &[&function, &srs.id]));
    }
    check_parameter(&geometry.shape, srs, function)?;
    let place = if axis.is_x(srs) { &mut point.x } else { &mut point.y };
    let Some(new) = new else { return Ok(Value::Float(*place)) };
    *place = new;
    check_coordinates(&Shape::Point(point), srs, function)?;
    point_value(geometry.srid, point, cx)
}

fn srid(call: &FuncCall<'_>, cx: &EvalCx<'_>) -> Result<Value> {
    let function = "st_srid";
    let mut geometry = arg!(geometry(call, 0, cx, function));
    if call.len() == 1 {
        return Ok(Value::Int(i64::from(geometry.srid)));
    }
    geometry.srid = arg!(srid_argument(call, 1, cx, function));
    check_parameter(&geometry.shape, srs_of(geometry.srid)?, function)?;
    value(&geometry, cx)
}

fn dimension(call: &FuncCall<'_>, cx: &EvalCx<'_>) -> Result<Value> {
    let (geometry, _) = arg!(with_srs(call, 0, cx, "st_dimension"));
    Ok(geometry.shape.dimension().map_or(Value::Null, |dimension| Value::Int(i64::from(dimension))))
}

fn is_closed(call: &FuncCall<'_>, cx: &EvalCx<'_>) -> Result<Value> {
    let function = "st_isclosed";
    let (geometry, srs) = arg!(with_srs(call, 0, cx, function));
    if srs.is_geographic() && matches!(geometry.shape, Shape::LineString(_) | Shape::MultiLineString(_)) {
        return Err(not_geographic(&geometry, function));
    }
    let closed = |line: &Vec<Point>| line.first() == line.last();
    Ok(match geometry.shape {
        Shape::LineString(line) => Value::bool(closed(&line)),
        Shape::MultiLineString(lines) => Value::bool(lines.iter().all(closed)),
        _ => Value::Null,
    })
}

fn envelope(call: &FuncCall<'_>, cx: &EvalCx<'_>) -> Result<Value> {
    let function = "st_envelope";
    let (geometry, srs) = arg!(with_srs(call, 0, cx, function));
    if srs.is_geographic() {
        return Err(not_geographic(&geometry, function));
    }
    let shape = geometry.shape.bounds().map_or(Shape::Collection(Vec::new()), |(low, high)| rectangle(low, high));
    value(&Geometry::new(geometry.srid, shape), cx)
}

/// A rectangle with these corners, or the line or point that it is.
pub(super) fn rectangle(low: Point, high: Point) -> Shape {
    if low == high {
        return Shape::Point(low);
    }
    if low.x == high.x || low.y == high.y {
        return Shape::LineString(vec![low, high]);
    }
    Shape::Polygon(vec![vec![low, Point::new(high.x, low.y), high, Point::new(low.x, high.y), low]])
}

fn swap_xy(call: &FuncCall<'_>, cx: &EvalCx<'_>) -> Result<Value> {
    let (mut geometry, _) = arg!(with_srs(call, 0, cx, "st_swapxy"));
    geometry.shape.map_points(&mut Point::swapped);
    value(&geometry, cx)
}

fn point_of_line(
    call: &FuncCall<'_>,
    cx: &EvalCx<'_>,
    function: &str,
    pick: impl Fn(&[Point]) -> Option<Point>,
) -> Result<Value> {
    let (geometry, _) = arg!(with_srs(call, 0, cx, function));
    let Shape::LineString(line) = &geometry.shape else { return Ok(Value::Null) };
    pick(line).map_or(Ok(Value::Null), |point| point_value(geometry.srid, point, cx))
}

/// Argument `i`, which counts from 1, as a place; `None` if it is none.
fn place(call: &FuncCall<'_>, i: usize, cx: &EvalCx<'_>) -> Result<Option<usize>> {
    Ok(call.int(i, cx)?.and_then(|n| usize::try_from(n).ok()?.checked_sub(1)))
}

fn point_n(call: &FuncCall<'_>, cx: &EvalCx<'_>) -> Result<Value> {
    let at = place(call, 1, cx)?;
    point_of_line(call, cx, "st_pointn", |line| line.get(at?).copied())
}

fn num_points(call: &FuncCall<'_>, cx: &EvalCx<'_>) -> Result<Value> {
    Ok(match arg!(with_srs(call, 0, cx, "st_numpoints")).0.shape {
        Shape::LineString(line) => Value::Int(line.len() as i64),
        _ => Value::Null,
    })
}

fn ring(call: &FuncCall<'_>, cx: &EvalCx<'_>, function: &str, at: usize) -> Result<Value> {
    let (geometry, _) = arg!(with_srs(call, 0, cx, function));
    let Shape::Polygon(mut rings) = geometry.shape else { return Ok(Value::Null) };
    let found: Option<Ring> = rings.get_mut(at).map(std::mem::take);
    found.map_or(Ok(Value::Null), |ring| value(&Geometry::new(geometry.srid, Shape::LineString(ring)), cx))
}

fn interior_ring_n(call: &FuncCall<'_>, cx: &EvalCx<'_>) -> Result<Value> {
    let at = place(call, 1, cx)?;
    ring(call, cx, "st_interiorringn", at.map_or(usize::MAX, |at| at.saturating_add(1)))
}

fn num_interior_rings(call: &FuncCall<'_>, cx: &EvalCx<'_>) -> Result<Value> {
    Ok(match arg!(with_srs(call, 0, cx, "st_numinteriorrings")).0.shape {
        Shape::Polygon(rings) => Value::Int(rings.len() as i64 - 1),
        _ => Value::Null,
    })
}

fn geometry_n(call: &FuncCall<'_>, cx: &EvalCx<'_>) -> Result<Value> {
    let (geometry, _) = arg!(with_srs(call, 0, cx, "st_geometryn"));
    let Some(at) = place(call, 1, cx)? else { return Ok(Value::Null) };
    let shape = match geometry.shape {
        Shape::MultiPoint(points) => points.get(at).copied().map(Shape::Point),
        Shape::MultiLineString(mut lines) => lines.get_mut(at).map(std::mem::take).map(Shape::LineString),
        Shape::MultiPolygon(mut polygons) => polygons.get_mut(at).map(std::mem::take).map(Shape::Polygon),
        Shape::Collection(shapes) => shapes.into_iter().nth(at),
        _ => None,
    };
    shape.map_or(Ok(Value::Null), |shape| value(&Geometry::new(geometry.srid, shape), cx))
}

fn num_geometries(call: &FuncCall<'_>, cx: &EvalCx<'_>) -> Result<Value> {
    let count = match arg!(with_srs(call, 0, cx, "st_numgeometries")).0.shape {
        Shape::MultiPoint(points) => points.len(),
        Shape::MultiLineString(lines) => lines.len(),
        Shape::MultiPolygon(polygons) => polygons.len(),
        Shape::Collection(shapes) => shapes.len(),
        _ => return Ok(Value::Null),
    };
    Ok(Value::Int(count as i64))
}
