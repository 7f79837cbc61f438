//! The spatial functions: what they take and how they fail; `vaquita_types::geometry` has the formats.
//!
//! | file       | functions                                                          |
//! |------------|--------------------------------------------------------------------|
//! | `read`     | ST_GeomFromText and its like, constructors, geohashes              |
//! | `write`    | ST_AsText, ST_AsBinary, ST_AsGeoJSON, ST_GeoHash                   |
//! | `parts`    | what a geometry is made of: coordinates, points, rings, elements   |
//! | `mbr`      | MBRContains and its like                                           |
//! | `relation` | ST_Contains and its like                                           |
//! | `measure`  | ST_Area, ST_Length, ST_Distance; `distance` for it                 |
//! | `line`     | places along a line, ST_HausdorffDistance, ST_FrechetDistance      |
//! | `derive`   | ST_ConvexHull, ST_Simplify, ST_Centroid                            |
//! | `validity` | ST_IsValid, ST_IsSimple, ST_Validate                               |
//! | `overlay`  | ST_Intersection and its like, ST_Transform                         |
//! | `buffer`   | ST_Buffer                                                          |
//! | `options`  | `axis-order`                                                       |
//!
//! An argument that is no geometry is error 3037, with the function's name as MySQL writes it. Most functions look up the reference
//! system (3548); those that read coordinates refuse what is out of range in a geographic one (3731, 3732).

mod buffer;
mod derive;
mod distance;
mod line;
mod mbr;
mod measure;
mod options;
mod overlay;
mod parts;
mod read;
mod relation;
mod validity;
mod write;

use vaquita_types::geometry::srs::{self, Srs};
use vaquita_types::geometry::{Geometry, GeometryKind, Point, ReadError, Shape};
use vaquita_types::{ColumnType, Error, Result, Value, errno};

use super::{FuncCall, FuncDef, FuncType};
use crate::env::EvalCx;
use crate::eval::arg;
use crate::expr::Expr;

/// The families of this folder.
pub(super) const FAMILIES: [&[FuncDef]; 11] = [
    read::FUNCTIONS,
    write::FUNCTIONS,
    parts::FUNCTIONS,
    mbr::FUNCTIONS,
    relation::FUNCTIONS,
    measure::FUNCTIONS,
    line::FUNCTIONS,
    derive::FUNCTIONS,
    validity::FUNCTIONS,
    overlay::FUNCTIONS,
    buffer::FUNCTIONS,
];

fn geometry_type(kind: GeometryKind) -> Result<FuncType> {
    Ok(FuncType { ty: ColumnType::geometry(kind, None), nullable: true, coercibility: 2 })
}

/// Any geometry.
fn any_geometry(_: &mut Vec<Expr>) -> Result<FuncType> {
    geometry_type(GeometryKind::Geometry)
}

fn double(_: &mut Vec<Expr>) -> Result<FuncType> {
    FuncType::number(ColumnType::double(), true)
}

/// An integer of ten digits.
fn count(_: &mut Vec<Expr>) -> Result<FuncType> {
    FuncType::number(crate::typing::int_of_length(10), true)
}

fn boolean(_: &mut Vec<Expr>) -> Result<FuncType> {
    FuncType::number(ColumnType::boolean(), true)
}

/// Error 3037.
fn invalid(function: &str) -> Error {
    Error::new(&errno::ER_GIS_INVALID_DATA, &[&function])
}

fn unreadable(error: ReadError, function: &str) -> Error {
    match error {
        ReadError::Malformed => invalid(function),
        ReadError::TooDeep => {
            let text = format!("Thread stack overrun: the geometry of function {function} is nested too deeply");
            Error::with_message(&errno::ER_STACK_OVERRUN_NEED_MORE, text)
        }
    }
}

/// Argument `i` as a geometry, of which nothing more is known; `None` if it is NULL.
fn geometry(call: &FuncCall<'_>, i: usize, cx: &EvalCx<'_>, function: &str) -> Result<Option<Geometry>> {
    match &*call.value(i, cx)? {
        Value::Null => Ok(None),
        Value::Bytes(bytes) => {
            // A geometry in memory takes about as much as its bytes.
            crate::eval::check_value_bytes(bytes.len(), cx)?;
            Geometry::decode(bytes).map(Some).map_err(|error| unreadable(error, function))
        }
        _ => Err(invalid(function)),
    }
}

/// The reference system; error 3548.
fn srs_of(srid: u32) -> Result<&'static Srs> {
    srs::find(srid).ok_or_else(|| Error::new(&errno::ER_SRS_NOT_FOUND, &[&srid]))
}

/// As `geometry`, with its reference system.
fn with_srs(call: &FuncCall<'_>, i: usize, cx: &EvalCx<'_>, function: &str) -> Result<Option<(Geometry, &'static Srs)>> {
    let Some(geometry) = geometry(call, i, cx, function)? else { return Ok(None) };
    let srs = srs_of(geometry.srid)?;
    Ok(Some((geometry, srs)))
}

/// Error 3033.
fn check_same_srid(a: &Geometry, b: &Geometry, function: &str) -> Result<()> {
    if a.srid == b.srid {
        return Ok(());
    }
    Err(Error::new(&errno::ER_GIS_DIFFERENT_SRIDS, &[&function, &a.srid, &b.srid]))
}

/// Error 3037 for coordinates that are no numbers or beyond them.
fn check_finite(geometry: &Geometry, function: &str) -> Result<()> {
    match geometry.shape.find_point(|p| !p.is_finite()) {
        Some(_) => Err(invalid(function)),
        None => Ok(()),
    }
}

/// As `with_srs`, of a function that is NULL if any argument is, even if this one is no geometry.
fn operand(call: &FuncCall<'_>, i: usize, cx: &EvalCx<'_>, function: &str) -> Result<Option<(Geometry, &'static Srs)>> {
    let error = match with_srs(call, i, cx, function) {
        Err(error) => error,
        found => return found,
    };
    for other in i + 1..call.len() {
        if matches!(*call.value(other, cx)?, Value::Null) {
            return Ok(None);
        }
    }
    Err(error)
}

/// Error 1235 for what is only done in the plane.
fn geographic_unsupported(function: &str) -> Error {
    Error::unsupported(format_args!("{function} of geographic reference systems"))
}

/// Error 3618.
fn not_geographic(geometry: &Geometry, function: &str) -> Error {
    Error::new(&errno::ER_NOT_IMPLEMENTED_FOR_GEOGRAPHIC_SRS, &[&function, &geometry.kind().upper_name()])
}

const LONGITUDE_MAX: f64 = 180.0;
const LATITUDE_MAX: f64 = 90.0;

/// MySQL takes -180 too, although its errors say otherwise.
fn is_longitude(x: f64) -> bool {
    (-LONGITUDE_MAX..=LONGITUDE_MAX).contains(&x)
}

fn is_latitude(y: f64) -> bool {
    (-LATITUDE_MAX..=LATITUDE_MAX).contains(&y)
}

/// A coordinate that is out of range, and whether it is the longitude.
fn out_of_range(shape: &Shape) -> Option<(f64, bool)> {
    let bad = shape.find_point(|p| !is_longitude(p.x) || !is_latitude(p.y))?;
    Some(if is_longitude(bad.x) { (bad.y, false) } else { (bad.x, true) })
}

/// Errors 3731 and 3732 for a geometry that was given.
fn check_parameter(shape: &Shape, srs: &Srs, function: &str) -> Result<()> {
    range_error(
        shape,
        srs,
        function,
        [&errno::ER_GEOMETRY_PARAM_LONGITUDE_OUT_OF_RANGE, &errno::ER_GEOMETRY_PARAM_LATITUDE_OUT_OF_RANGE],
        true,
    )
}

/// As `check_coordinates`, for degrees of a sphere, of which -180 is no longitude.
fn check_degrees(shape: &Shape, function: &str) -> Result<()> {
    let codes = [&errno::ER_LONGITUDE_OUT_OF_RANGE, &errno::ER_LATITUDE_OUT_OF_RANGE];
    match shape.find_point(|p| p.x == -LONGITUDE_MAX) {
        Some(p) => Err(coordinate_error(p.x, true, function, codes, false)),
        None => out_of_range(shape)
            .map_or(Ok(()), |(value, is_longitude)| Err(coordinate_error(value, is_longitude, function, codes, false))),
    }
}

/// Errors 3616 and 3617 for coordinates that are read or set.
fn check_coordinates(shape: &Shape, srs: &Srs, function: &str) -> Result<()> {
    range_error(shape, srs, function, [&errno::ER_LONGITUDE_OUT_OF_RANGE, &errno::ER_LATITUDE_OUT_OF_RANGE], false)
}

fn range_error(shape: &Shape, srs: &Srs, function: &str, codes: [&'static errno::ErrorDef; 2], name_first: bool) -> Result<()> {
    if !srs.is_geographic() {
        return Ok(());
    }
    let Some((value, is_longitude)) = out_of_range(shape) else { return Ok(()) };
    Err(coordinate_error(value, is_longitude, function, codes, name_first))
}

fn coordinate_error(
    value: f64,
    is_longitude: bool,
    function: &str,
    codes: [&'static errno::ErrorDef; 2],
    name_first: bool,
) -> Error {
    let (code, max) = if is_longitude { (codes[0], LONGITUDE_MAX) } else { (codes[1], LATITUDE_MAX) };
    let (value, low, high) = (format!("{value:.6}"), format!("{:.6}", -max), format!("{max:.6}"));
    if name_first {
        Error::new(code, &[&function, &value, &low, &high])
    } else {
        Error::new(code, &[&value, &function, &low, &high])
    }
}

/// Error 3516 if a geometry is of another type.
fn unexpected(expected: &str, found: GeometryKind, function: &str) -> Error {
    Error::new(&errno::ER_UNEXPECTED_GEOMETRY_TYPE, &[&expected, &found.upper_name(), &function])
}

/// An SRID that is given as a number; error 1690.
fn srid_argument(call: &FuncCall<'_>, i: usize, cx: &EvalCx<'_>, function: &str) -> Result<Option<u32>> {
    let Some(number) = call.int(i, cx)? else { return Ok(None) };
    match u32::try_from(number) {
        Ok(srid) => Ok(Some(srid)),
        Err(_) => Err(Error::new(&errno::ER_DATA_OUT_OF_RANGE, &[&"SRID", &function])),
    }
}

/// The value, if no limit of values is in its way.
fn value(geometry: &Geometry, cx: &EvalCx<'_>) -> Result<Value> {
    crate::eval::check_value_bytes(geometry.shape.wkb_bytes() + 4, cx)?;
    Ok(Value::from(geometry.encode()))
}

fn point_value(srid: u32, point: Point, cx: &EvalCx<'_>) -> Result<Value> {
    value(&Geometry::new(srid, Shape::Point(point)), cx)
}
