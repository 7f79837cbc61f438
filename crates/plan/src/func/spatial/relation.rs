//! The relations of geometries: ST_Contains and its like, by the nine intersections of `geometry::topology`.
//!
//! A relation with what is empty is NULL, but that two are equal. ST_Touches is NULL of points only, ST_Crosses of an area with anything
//! and of anything with points, ST_Overlaps of different dimensions. Geographic ones are projected (`topology::geographic`).

use vaquita_types::geometry::srs::Srs;
use vaquita_types::geometry::topology::{Matrix, Work, geographic, relate};
use vaquita_types::geometry::{GeometryKind, Shape};
use vaquita_types::{Error, Result, Value};

use super::{EvalCx, FuncCall, FuncDef, arg, boolean, check_finite, check_parameter, check_same_srid, operand};
use crate::func::args::def;

pub(super) static FUNCTIONS: &[FuncDef] = &[
    def("ST_CONTAINS", 2, 2, boolean, |c, cx| relation(c, cx, "st_contains", |pair| Some(pair.matrix.contains()))),
    def("ST_WITHIN", 2, 2, boolean, |c, cx| relation(c, cx, "st_within", |pair| Some(pair.matrix.within()))),
    def("ST_INTERSECTS", 2, 2, boolean, |c, cx| relation(c, cx, "st_intersects", |pair| Some(pair.matrix.intersects()))),
    def("ST_DISJOINT", 2, 2, boolean, |c, cx| relation(c, cx, "st_disjoint", |pair| Some(!pair.matrix.intersects()))),
    def("ST_EQUALS", 2, 2, boolean, |c, cx| relation(c, cx, "st_equals", |pair| Some(pair.matrix.equals()))),
    def("ST_TOUCHES", 2, 2, boolean, |c, cx| relation(c, cx, "st_touches", touches)),
    def("ST_CROSSES", 2, 2, boolean, |c, cx| relation(c, cx, "st_crosses", crosses)),
    def("ST_OVERLAPS", 2, 2, boolean, |c, cx| relation(c, cx, "st_overlaps", overlaps)),
];

/// What two geometries have in common, neither of which is empty, and their dimensions.
struct Pair {
    matrix: Matrix,
    dimensions: (u8, u8),
    kinds: [GeometryKind; 2],
}

/// Points touch no points, nor does a collection that has some which are in none of its other parts.
fn touches(pair: &Pair) -> Option<bool> {
    let is_points = |i: usize| matches!(pair.kinds[i], GeometryKind::Point | GeometryKind::MultiPoint);
    let with_points = |i: usize, other: usize| is_points(i) && pair.matrix.has_lone_points[other];
    let is_null = pair.dimensions == (0, 0) || with_points(0, 1) || with_points(1, 0);
    (!is_null).then(|| pair.matrix.touches())
}

fn crosses(pair: &Pair) -> Option<bool> {
    let (a, b) = pair.dimensions;
    (a < 2 && b > 0).then(|| pair.matrix.crosses(a, b))
}

fn overlaps(pair: &Pair) -> Option<bool> {
    let (a, b) = pair.dimensions;
    (a == b).then(|| pair.matrix.overlaps(a))
}

fn relation(call: &FuncCall<'_>, cx: &EvalCx<'_>, function: &str, holds: impl Fn(&Pair) -> Option<bool>) -> Result<Value> {
    let (a, srs) = arg!(operand(call, 0, cx, function));
    let (b, other) = arg!(operand(call, 1, cx, function));
    check_parameter(&a.shape, srs, function)?;
    check_parameter(&b.shape, other, function)?;
    check_same_srid(&a, &b, function)?;
    check_finite(&a, function)?;
    check_finite(&b, function)?;
    let (Some(dimension), Some(other)) = (a.shape.dimension(), b.shape.dimension()) else {
        return Ok(match function {
            // Nothing is the same as nothing, and as nothing else.
            "st_equals" => Value::bool(a.shape.is_empty() && b.shape.is_empty()),
            _ => Value::Null,
        });
    };
    let matrix = matrix(&a.shape, &b.shape, srs, function, cx)?;
    let pair = Pair { matrix, dimensions: (dimension, other), kinds: [a.kind(), b.kind()] };
    Ok(holds(&pair).map_or(Value::Null, Value::bool))
}

fn matrix(a: &Shape, b: &Shape, srs: &Srs, function: &str, cx: &EvalCx<'_>) -> Result<Matrix> {
    let mut go_on = || cx.env.check_interrupt();
    let mut work = Work::new(&mut go_on);
    if !srs.is_geographic() {
        return relate(a, b, 0.0, &mut work);
    }
    vaquita_types::memory::ask(a.wkb_bytes() + b.wkb_bytes())?;
    let too_far = || Error::unsupported(format_args!("{function} of what is on both halves of the earth"));
    let Some([a, b]) = geographic::project(a, b) else {
        return if geographic::are_apart(a, b) { Ok(Matrix::default()) } else { Err(too_far()) };
    };
    relate(&a, &b, geographic::TOLERANCE, &mut work)
}
