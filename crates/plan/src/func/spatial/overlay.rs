//! Overlays of two geometries, by `geometry::topology`, and ST_Transform.

use vaquita_types::geometry::srs::SrsKind;
use vaquita_types::geometry::topology::{Overlay, Work, overlay};
use vaquita_types::geometry::{Geometry, Point, Shape};
use vaquita_types::{Error, Result, Value, errno};

use super::{
    EvalCx, FuncCall, FuncDef, any_geometry, arg, check_finite, check_parameter, check_same_srid, geographic_unsupported,
    invalid, operand, srs_of, value,
};
use crate::func::args::def;

pub(super) static FUNCTIONS: &[FuncDef] = &[
    def("ST_INTERSECTION", 2, 2, any_geometry, |c, cx| overlaid(c, cx, "st_intersection", Overlay::Intersection)),
    def("ST_UNION", 2, 2, any_geometry, |c, cx| overlaid(c, cx, "st_union", Overlay::Union)),
    def("ST_DIFFERENCE", 2, 2, any_geometry, |c, cx| overlaid(c, cx, "st_difference", Overlay::Difference)),
    def("ST_SYMDIFFERENCE", 2, 2, any_geometry, |c, cx| overlaid(c, cx, "st_symdifference", Overlay::SymmetricDifference)),
    def("ST_TRANSFORM", 2, 2, any_geometry, transform),
];

fn overlaid(call: &FuncCall<'_>, cx: &EvalCx<'_>, function: &str, what: Overlay) -> Result<Value> {
    let (a, srs) = arg!(operand(call, 0, cx, function));
    let (b, other) = arg!(operand(call, 1, cx, function));
    check_parameter(&a.shape, srs, function)?;
    check_parameter(&b.shape, other, function)?;
    check_same_srid(&a, &b, function)?;
    check_finite(&a, function)?;
    check_finite(&b, function)?;
    let is_of_points = |shape: &Shape| shape.dimension().is_none_or(|dimension| dimension == 0);
    // Where lines meet is not known well enough on the ellipsoid.
    if srs.is_geographic() && !(is_of_points(&a.shape) && is_of_points(&b.shape)) {
        return Err(geographic_unsupported(function));
    }
    let mut go_on = || cx.env.check_interrupt();
    let shape = overlay(&a.shape, &b.shape, what, &mut Work::new(&mut go_on))?.ok_or_else(|| invalid(function))?;
    value(&Geometry::new(a.srid, shape), cx)
}

fn transform(call: &FuncCall<'_>, cx: &EvalCx<'_>) -> Result<Value> {
    let function = "st_transform";
    let (mut geometry, from) = arg!(operand(call, 0, cx, function));
    let to = srs_of(arg!(call.int(1, cx)) as u32)?;
    check_parameter(&geometry.shape, from, function)?;
    check_finite(&geometry, function)?;
    if !geometry.shape.is_empty() && from.id != to.id {
        for (srs, code) in
            [(from, &errno::ER_TRANSFORM_SOURCE_SRS_NOT_SUPPORTED), (to, &errno::ER_TRANSFORM_TARGET_SRS_NOT_SUPPORTED)]
        {
            if srs.kind == SrsKind::Plane {
                return Err(Error::new(code, &[&srs.id]));
            }
        }
        match (from.kind, to.kind) {
            (SrsKind::Geographic, SrsKind::Projected) => {
                geometry.shape.map_points(&mut projected);
            }
            _ => geometry.shape.map_points(&mut unprojected),
        }
    }
    geometry.srid = to.id;
    value(&geometry, cx)
}

/// Metres: the radius of the sphere of the pseudo-Mercator projection.
const RADIUS: f64 = 6_378_137.0;

/// A pole is infinitely far away.
fn projected(p: Point) -> Point {
    if p.y.abs() >= super::LATITUDE_MAX {
        return Point::new(f64::INFINITY, f64::INFINITY);
    }
    let latitude = p.y.to_radians();
    Point::new(RADIUS * p.x.to_radians(), RADIUS * (std::f64::consts::FRAC_PI_4 + latitude / 2.0).tan().ln())
}

fn unprojected(p: Point) -> Point {
    let turns = |degrees: f64| degrees - 360.0 * ((degrees + 180.0) / 360.0).floor();
    let latitude = std::f64::consts::FRAC_PI_2 - 2.0 * (-p.y / RADIUS).exp().atan();
    Point::new(turns((p.x / RADIUS).to_degrees()), latitude.to_degrees())
}
