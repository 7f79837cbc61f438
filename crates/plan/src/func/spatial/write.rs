//! Geometries written as text, WKB, GeoJSON and geohashes.

use vaquita_types::geometry::srs::{self, WGS84};
use vaquita_types::geometry::{GeoJsonOptions, Geometry, Point, Shape, encode_geohash};
use vaquita_types::{ColumnType, Error, Result, TypeKind, Value, errno};

use super::options::{AxisOrder, axis_order};
use super::read::wrong_type;
use super::{EvalCx, Expr, FuncCall, FuncDef, FuncType, arg, geometry, with_srs};
use crate::env::Level;
use crate::func::args::{any_nullable, def};
use crate::typing::{COERCIBILITY_NUMERIC, NUMBER_COLLATION};

pub(super) static FUNCTIONS: &[FuncDef] = &[
    def("ST_ASTEXT", 1, 2, text_type, |c, cx| as_text(c, cx, "st_astext")),
    def("ST_ASWKT", 1, 2, text_type, |c, cx| as_text(c, cx, "st_astext")),
    def("ST_ASBINARY", 1, 2, binary_type, |c, cx| as_binary(c, cx, "st_aswkb")),
    def("ST_ASWKB", 1, 2, binary_type, |c, cx| as_binary(c, cx, "st_aswkb")),
    def(
        "ST_ASGEOJSON",
        1,
        3,
        |_| Ok(FuncType { ty: ColumnType::new(TypeKind::Json), nullable: true, coercibility: 2 }),
        as_geojson,
    ),
    def("ST_GEOHASH", 2, 3, |a| Ok(FuncType { nullable: any_nullable(a), ..FuncType::ascii(GEOHASH_LENGTH_MAX)? }), geohash),
    def("ST_GEOMETRYTYPE", 1, 1, |_| FuncType::ascii(15), geometry_type),
];

/// Characters of the longest text.
const TEXT_CHARS_MAX: u32 = 3 << 24;

fn text_type(_: &mut Vec<Expr>) -> Result<FuncType> {
    let ty = ColumnType { length: TEXT_CHARS_MAX, collation: NUMBER_COLLATION, ..ColumnType::new(TypeKind::LongText) };
    Ok(FuncType { ty, nullable: true, coercibility: COERCIBILITY_NUMERIC })
}

fn binary_type(_: &mut Vec<Expr>) -> Result<FuncType> {
    let ty = ColumnType { length: u32::MAX, ..ColumnType::new(TypeKind::LongBlob) };
    Ok(FuncType { ty, nullable: true, coercibility: 4 })
}

/// Whether the coordinates are written in the other order; of an unknown reference system nobody knows (3565).
fn is_swapped(geometry: &Geometry, order: AxisOrder, cx: &EvalCx<'_>) -> bool {
    let srs = srs::find(geometry.srid);
    if srs.is_none() {
        cx.env.warn(Level::Warning, Error::new(&errno::ER_WARN_SRS_NOT_FOUND_AXIS_ORDER, &[&geometry.srid]));
    }
    srs.is_some_and(|srs| order.swaps(srs))
}

fn as_text(call: &FuncCall<'_>, cx: &EvalCx<'_>, function: &str) -> Result<Value> {
    let geometry = arg!(geometry(call, 0, cx, function));
    let order = arg!(axis_order(call, 1, cx, function));
    let swap = is_swapped(&geometry, order, cx);
    if geometry.shape.find_point(|p| !p.is_finite()).is_some() {
        return Ok(Value::Null);
    }
    // A number of eight bytes takes up to 24 characters and what is between.
    crate::eval::check_value_bytes(geometry.shape.wkb_bytes() * 4, cx)?;
    let mut out = Vec::new();
    geometry.shape.write_wkt(swap, &mut out);
    Ok(if crate::func::string::too_long(out.len(), function, cx)? { Value::Null } else { Value::from(out) })
}

fn as_binary(call: &FuncCall<'_>, cx: &EvalCx<'_>, function: &str) -> Result<Value> {
    let mut geometry = arg!(geometry(call, 0, cx, function));
    let order = arg!(axis_order(call, 1, cx, function));
    if is_swapped(&geometry, order, cx) {
        geometry.shape.map_points(&mut Point::swapped);
    }
    let mut out = Vec::with_capacity(geometry.shape.wkb_bytes());
    geometry.shape.write_wkb(&mut out);
    Ok(Value::from(out))
}

fn geometry_type(call: &FuncCall<'_>, cx: &EvalCx<'_>) -> Result<Value> {
    Ok(Value::from(arg!(with_srs(call, 0, cx, "st_geometrytype")).0.kind().upper_name()))
}

/// What ST_AsGeoJSON's third argument asks for, a bit each.
const BOUNDING_BOX: i128 = 1;
const SHORT_CRS: i128 = 2;
const LONG_CRS: i128 = 4;

fn as_geojson(call: &FuncCall<'_>, cx: &EvalCx<'_>) -> Result<Value> {
    let function = "st_asgeojson";
    let ty = call.arg_type(0);
    if !matches!(ty.kind, TypeKind::Null) && (!ty.is_bytes() || ty.is_text()) {
        return Err(wrong_type("geometry", function));
    }
    let incorrect = |what: &str, value: i128| Error::new(&errno::ER_WRONG_VALUE_FOR_TYPE, &[&what, &value, &function]);
    let geometry = arg!(geometry(call, 0, cx, function));
    let mut options = GeoJsonOptions::default();
    if call.len() > 1 {
        let digits = arg!(call.int(1, cx));
        let digits =
            i32::try_from(digits).ok().and_then(|n| u32::try_from(n).ok()).ok_or_else(|| incorrect("max decimal digits", digits));
        options.digits_max = Some(digits?);
    }
    if call.len() > 2 {
        let bits = arg!(call.int(2, cx));
        if !(0..8).contains(&bits) {
            return Err(incorrect("options", bits));
        }
        options.bounding_box = bits & BOUNDING_BOX != 0;
        options.short_crs = bits & SHORT_CRS != 0;
        options.long_crs = bits & LONG_CRS != 0;
    }
    // Each number is a value of its own in a document.
    crate::eval::check_value_bytes(geometry.shape.wkb_bytes() * 5, cx)?;
    Ok(Value::Json(geometry.to_geojson(&options)))
}

const GEOHASH_LENGTH_MAX: u64 = 100;

fn geohash(call: &FuncCall<'_>, cx: &EvalCx<'_>) -> Result<Value> {
    let function = "st_geohash";
    let out_of_range = |what: &str| Error::new(&errno::ER_DATA_OUT_OF_RANGE, &[&what, &function]);
    let (point, length) = if call.len() == 2 {
        let geometry = match &*call.value(0, cx)? {
            Value::Null => return Ok(Value::Null),
            Value::Bytes(bytes) => Geometry::decode(bytes).ok(),
            _ => None,
        };
        let Some(Geometry { srid, shape: Shape::Point(point) }) = geometry else { return Err(wrong_type("point", function)) };
        if srid != 0 && srid != WGS84 {
            return Err(Error::new(&errno::ER_ONLY_IMPLEMENTED_FOR_SRID_0_AND_4326, &[&function]));
        }
        (point, arg!(call.int(1, cx)))
    } else {
        let (x, y) = (arg!(call.f64(0, cx)), arg!(call.f64(1, cx)));
        (Point { x, y }, arg!(call.int(2, cx)))
    };
    if !(1..=i128::from(GEOHASH_LENGTH_MAX)).contains(&length) {
        return Err(out_of_range("max geohash length"));
    }
    if !(-180.0..=180.0).contains(&point.x) {
        return Err(out_of_range("longitude"));
    }
    if !super::is_latitude(point.y) {
        return Err(out_of_range("latitude"));
    }
    Ok(Value::from(encode_geohash(point, length as usize)))
}
