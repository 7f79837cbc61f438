//! Geometries made of text, WKB, GeoJSON, geohashes, coordinates, and other geometries.

use vaquita_types::geometry::{
    GeoJsonError, Geometry, GeometryKind, HigherDimensions, Point, Shape, decode_geohash, read_geojson, read_wkt,
};
use vaquita_types::json::Json;
use vaquita_types::{ColumnType, Error, Result, TypeKind, Value, errno};

use super::options::axis_order;
use super::{EvalCx, Expr, FuncCall, FuncDef, FuncType};
use super::{
    any_geometry, arg, check_coordinates, geometry_type, point_value, srid_argument, srs_of, unexpected, unreadable, value,
};
use crate::eval::json::document;
use crate::eval::print;
use crate::func::args::{MANY, any_nullable, def};

/// A function that reads text, for one type or any.
macro_rules! text {
    ($name:literal, $function:literal, $kind:ident) => {
        def($name, 1, 3, any_geometry, |c, cx| from_text(c, cx, $function, GeometryKind::$kind))
    };
}

macro_rules! binary {
    ($name:literal, $function:literal, $kind:ident) => {
        def($name, 1, 3, any_geometry, |c, cx| from_wkb(c, cx, $function, GeometryKind::$kind))
    };
}

pub(super) static FUNCTIONS: &[FuncDef] = &[
    text!("ST_GEOMFROMTEXT", "st_geomfromtext", Geometry),
    text!("ST_GEOMETRYFROMTEXT", "st_geometryfromtext", Geometry),
    text!("ST_POINTFROMTEXT", "st_pointfromtext", Point),
    text!("ST_LINEFROMTEXT", "st_linefromtext", LineString),
    text!("ST_LINESTRINGFROMTEXT", "st_linestringfromtext", LineString),
    text!("ST_POLYFROMTEXT", "st_polyfromtext", Polygon),
    text!("ST_POLYGONFROMTEXT", "st_polygonfromtext", Polygon),
    text!("ST_MPOINTFROMTEXT", "st_mpointfromtext", MultiPoint),
    text!("ST_MULTIPOINTFROMTEXT", "st_multipointfromtext", MultiPoint),
    text!("ST_MLINEFROMTEXT", "st_mlinefromtext", MultiLineString),
    text!("ST_MULTILINESTRINGFROMTEXT", "st_multilinestringfromtext", MultiLineString),
    text!("ST_MPOLYFROMTEXT", "st_mpolyfromtext", MultiPolygon),
    text!("ST_MULTIPOLYGONFROMTEXT", "st_multipolygonfromtext", MultiPolygon),
    text!("ST_GEOMCOLLFROMTEXT", "st_geomcollfromtext", Collection),
    text!("ST_GEOMCOLLFROMTXT", "st_geomcollfromtxt", Collection),
    text!("ST_GEOMETRYCOLLECTIONFROMTEXT", "st_geometrycollectionfromtext", Collection),
    binary!("ST_GEOMFROMWKB", "st_geomfromwkb", Geometry),
    binary!("ST_GEOMETRYFROMWKB", "st_geometryfromwkb", Geometry),
    binary!("ST_POINTFROMWKB", "st_pointfromwkb", Point),
    binary!("ST_LINEFROMWKB", "st_linefromwkb", LineString),
    binary!("ST_LINESTRINGFROMWKB", "st_linestringfromwkb", LineString),
    binary!("ST_POLYFROMWKB", "st_polyfromwkb", Polygon),
    binary!("ST_POLYGONFROMWKB", "st_polygonfromwkb", Polygon),
    binary!("ST_MPOINTFROMWKB", "st_mpointfromwkb", MultiPoint),
    binary!("ST_MULTIPOINTFROMWKB", "st_multipointfromwkb", MultiPoint),
    binary!("ST_MLINEFROMWKB", "st_mlinefromwkb", MultiLineString),
    binary!("ST_MULTILINESTRINGFROMWKB", "st_multilinestringfromwkb", MultiLineString),
    binary!("ST_MPOLYFROMWKB", "st_mpolyfromwkb", MultiPolygon),
    binary!("ST_MULTIPOLYGONFROMWKB", "st_multipolygonfromwkb", MultiPolygon),
    binary!("ST_GEOMCOLLFROMWKB", "st_geomcollfromwkb", Collection),
    binary!("ST_GEOMETRYCOLLECTIONFROMWKB", "st_geometrycollectionfromwkb", Collection),
    def("ST_GEOMFROMGEOJSON", 1, 3, any_geometry, from_geojson),
    def(
        "ST_POINTFROMGEOHASH",
        2,
        2,
        |a| Ok(FuncType { nullable: any_nullable(a), ..geometry_type(GeometryKind::Point)? }),
        point_from_geohash,
    ),
    def("ST_LATFROMGEOHASH", 1, 1, degrees, |c, cx| Ok(Value::Float(arg!(geohash(c, cx, "ST_LATFROMGEOHASH")).y))),
    def("ST_LONGFROMGEOHASH", 1, 1, degrees, |c, cx| Ok(Value::Float(arg!(geohash(c, cx, "ST_LONGFROMGEOHASH")).x))),
    def("POINT", 2, 2, |_| geometry_type(GeometryKind::Point), point),
    def("LINESTRING", 1, MANY, of_geometries, |c, cx| made_of(c, cx, "linestring")),
    def("POLYGON", 1, MANY, of_geometries, |c, cx| made_of(c, cx, "polygon")),
    def("MULTIPOINT", 1, MANY, of_geometries, |c, cx| made_of(c, cx, "multipoint")),
    def("MULTILINESTRING", 1, MANY, of_geometries, |c, cx| made_of(c, cx, "multilinestring")),
    def("MULTIPOLYGON", 1, MANY, of_geometries, |c, cx| made_of(c, cx, "multipolygon")),
    def("GEOMETRYCOLLECTION", 0, MANY, of_geometries, |c, cx| made_of(c, cx, "geometrycollection")),
];

fn degrees(args: &mut Vec<Expr>) -> Result<FuncType> {
    FuncType::number(ColumnType::double(), any_nullable(args))
}

/// What text and WKB have in common: SRID, axis order and type.
fn read(
    call: &FuncCall<'_>,
    cx: &EvalCx<'_>,
    function: &str,
    kind: GeometryKind,
    format: &str,
    read: impl Fn(&[u8]) -> Result<Shape>,
) -> Result<Value> {
    let bytes = arg!(call.text(0, cx));
    let srid = if call.len() > 1 { arg!(srid_argument(call, 1, cx, function)) } else { 0 };
    let order = arg!(axis_order(call, 2, cx, function));
    crate::eval::check_value_bytes(bytes.len(), cx)?;
    let mut shape = read(&bytes)?;
    let srs = srs_of(srid)?;
    if order.swaps(srs) {
        shape.map_points(&mut Point::swapped);
    }
    check_coordinates(&shape, srs, function)?;
    if !kind.holds(shape.kind()) {
        return Err(unexpected(format, shape.kind(), function));
    }
    value(&Geometry::new(srid, shape), cx)
}

fn from_text(call: &FuncCall<'_>, cx: &EvalCx<'_>, function: &str, kind: GeometryKind) -> Result<Value> {
    read(call, cx, function, kind, "WKT", |text| read_wkt(text).map_err(|error| unreadable(error, function)))
}

fn from_wkb(call: &FuncCall<'_>, cx: &EvalCx<'_>, function: &str, kind: GeometryKind) -> Result<Value> {
    read(call, cx, function, kind, "WKB", |wkb| Shape::from_any_wkb(wkb).map_err(|error| unreadable(error, function)))
}

const FROM_GEOJSON: &str = "st_geomfromgeojson";

fn from_geojson(call: &FuncCall<'_>, cx: &EvalCx<'_>) -> Result<Value> {
    let json = match &*call.value(0, cx)? {
        Value::Null => return Ok(Value::Null),
        Value::Bytes(_) if !call.arg_type(0).is_text() => return Err(wrong_type("geojson", FROM_GEOJSON)),
        given @ (Value::Bytes(_) | Value::Json(_)) => document(given, call.arg_type(0), 0, FROM_GEOJSON)?.unwrap_or(Json::Null),
        _ => return Err(wrong_type("geojson", FROM_GEOJSON)),
    };
    let higher = match call.len() {
        1 => HigherDimensions::Refuse,
        _ => match arg!(call.int(1, cx)) {
            1 => HigherDimensions::Refuse,
            2..=4 => HigherDimensions::Strip,
            other => return Err(Error::new(&errno::ER_WRONG_VALUE_FOR_TYPE, &[&"option", &other, &FROM_GEOJSON])),
        },
    };
    let given = if call.len() > 2 { Some(arg!(srid_argument(call, 2, cx, FROM_GEOJSON))) } else { None };
    if json == Json::Null {
        return Ok(Value::Null);
    }
    let (shape, named) = arg!(read_geojson(&json, higher).map_err(of_geojson));
    let srs = srs_of(given.or(named).unwrap_or(vaquita_types::geometry::srs::WGS84))?;
    check_coordinates(&shape, srs, FROM_GEOJSON)?;
    value(&Geometry::new(srs.id, shape), cx)
}

fn of_geojson(error: GeoJsonError) -> Error {
    let function = &FROM_GEOJSON;
    match error {
        GeoJsonError::Missing(member) => Error::new(&errno::ER_INVALID_GEOJSON_MISSING_MEMBER, &[function, &member]),
        GeoJsonError::WrongType(member, ty) => Error::new(&errno::ER_INVALID_GEOJSON_WRONG_TYPE, &[function, &member, &ty]),
        GeoJsonError::Unspecified => Error::new(&errno::ER_INVALID_GEOJSON_UNSPECIFIED, &[function]),
        GeoJsonError::Dimensions(found) => Error::new(&errno::ER_DIMENSION_UNSUPPORTED, &[function, &found, &2]),
        GeoJsonError::NestedCrs => Error::new(&errno::ER_INVALID_GEOJSON_CRS_NOT_TOP_LEVEL, &[function]),
    }
}

/// Error 3064.
pub(super) fn wrong_type(argument: &str, function: &str) -> Error {
    Error::new(&errno::ER_INCORRECT_TYPE, &[&argument, &function])
}

/// What the geohash of the first argument means.
fn geohash(call: &FuncCall<'_>, cx: &EvalCx<'_>, function: &str) -> Result<Option<Point>> {
    let ty = call.arg_type(0);
    let hash = match &*call.value(0, cx)? {
        Value::Null => return Ok(None),
        Value::Bytes(bytes) if !ty.is_geometry() && ty.kind != TypeKind::Null => bytes.clone(),
        _ => return Err(wrong_type("geohash", function)),
    };
    let point = decode_geohash(&hash);
    let shown = || String::from_utf8_lossy(&hash).into_owned();
    point.map(Some).map_err(|_| Error::new(&errno::ER_WRONG_VALUE_FOR_TYPE, &[&"geohash", &shown(), &function]))
}

fn point_from_geohash(call: &FuncCall<'_>, cx: &EvalCx<'_>) -> Result<Value> {
    let function = "st_pointfromgeohash";
    let point = arg!(geohash(call, cx, function));
    let srid = arg!(srid_argument(call, 1, cx, function));
    srs_of(srid)?;
    point_value(srid, point, cx)
}

fn point(call: &FuncCall<'_>, cx: &EvalCx<'_>) -> Result<Value> {
    let point = Point { x: arg!(call.f64(0, cx)), y: arg!(call.f64(1, cx)) };
    point_value(0, point, cx)
}

/// Error 1367 for an argument that is no geometry.
fn of_geometries(args: &mut Vec<Expr>) -> Result<FuncType> {
    for arg in args.iter() {
        if !arg.ty.is_geometry() {
            return Err(Error::new(&errno::ER_ILLEGAL_VALUE_FOR_TYPE, &[&"non geometric", &print::print_expr(arg)]));
        }
    }
    any_geometry(args)
}

/// A line of points, a polygon of lines, and so on. SRIDs are not looked at: MySQL's has 0.
fn made_of(call: &FuncCall<'_>, cx: &EvalCx<'_>, function: &str) -> Result<Value> {
    let mut shapes = Vec::with_capacity(call.len());
    for i in 0..call.len() {
        shapes.push(arg!(super::geometry(call, i, cx, function)).shape);
    }
    let shape = assemble(shapes, function).ok_or_else(|| Error::new(&errno::ER_WRONG_ARGUMENTS, &[&function]))?;
    // The bytes tell whether there are enough points, and whether rings are closed.
    let bytes = Geometry::new(0, shape).encode();
    crate::eval::check_value_bytes(bytes.len(), cx)?;
    Geometry::decode(&bytes).map_err(|error| unreadable(error, function))?;
    Ok(Value::from(bytes))
}

fn assemble(shapes: Vec<Shape>, function: &str) -> Option<Shape> {
    fn all<T>(shapes: Vec<Shape>, part: impl Fn(Shape) -> Option<T>) -> Option<Vec<T>> {
        shapes.into_iter().map(part).collect()
    }
    let point = |shape| if let Shape::Point(p) = shape { Some(p) } else { None };
    let line = |shape| if let Shape::LineString(line) = shape { Some(line) } else { None };
    let polygon = |shape| if let Shape::Polygon(rings) = shape { Some(rings) } else { None };
    Some(match function {
        "linestring" => Shape::LineString(all(shapes, point)?),
        "polygon" => Shape::Polygon(all(shapes, line)?),
        "multipoint" => Shape::MultiPoint(all(shapes, point)?),
        "multilinestring" => Shape::MultiLineString(all(shapes, line)?),
        "multipolygon" => Shape::MultiPolygon(all(shapes, polygon)?),
        _ => Shape::Collection(shapes),
    })
}
