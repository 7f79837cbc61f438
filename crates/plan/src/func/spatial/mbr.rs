//! The relations of minimum bounding rectangles: MBRContains and its like.
//!
//! A rectangle may be a line or a point. Its interior leaves out its edges, that of a line its ends, and that of a point is the point;
//! so all relations follow from the two intervals:
//! ```text
//! MBRContains(POLYGON 0 0 to 4 4, POINT(0 0))       0: the interiors do not meet
//! MBRCovers(POLYGON 0 0 to 4 4, POINT(0 0))         1
//! MBRContains(LINESTRING(0 0,4 0), POINT(2 0))      1
//! ```

use vaquita_types::geometry::Point;
use vaquita_types::{Result, Value};

use super::{EvalCx, FuncCall, FuncDef, arg, boolean, check_parameter, check_same_srid, invalid, operand};
use crate::func::args::def;

pub(super) static FUNCTIONS: &[FuncDef] = &[
    def("MBRCONTAINS", 2, 2, boolean, |c, cx| relation(c, cx, "mbrcontains", |a, b| a.contains(b))),
    def("MBRWITHIN", 2, 2, boolean, |c, cx| relation(c, cx, "mbrwithin", |a, b| b.contains(a))),
    def("MBRCOVERS", 2, 2, boolean, |c, cx| relation(c, cx, "mbrcovers", |a, b| a.covers(b))),
    def("MBRCOVEREDBY", 2, 2, boolean, |c, cx| relation(c, cx, "mbrcoveredby", |a, b| b.covers(a))),
    def("MBREQUALS", 2, 2, boolean, |c, cx| relation(c, cx, "mbrequals", |a, b| a.covers(b) && b.covers(a))),
    def("MBRINTERSECTS", 2, 2, boolean, |c, cx| relation(c, cx, "mbrintersects", |a, b| a.intersects(b))),
    def("MBRDISJOINT", 2, 2, boolean, |c, cx| relation(c, cx, "mbrdisjoint", |a, b| !a.intersects(b))),
    def("MBRTOUCHES", 2, 2, boolean, |c, cx| relation(c, cx, "mbrtouches", |a, b| a.intersects(b) && !a.interiors_meet(b))),
    def("MBROVERLAPS", 2, 2, boolean, |c, cx| relation(c, cx, "mbroverlaps", |a, b| a.overlaps(b))),
];

/// The coordinates of one axis, ends included.
#[derive(Clone, Copy, Debug)]
struct Interval {
    low: f64,
    high: f64,
}

impl Interval {
    fn covers(self, other: Interval) -> bool {
        self.low <= other.low && other.high <= self.high
    }

    fn intersects(self, other: Interval) -> bool {
        self.low <= other.high && other.low <= self.high
    }

    fn is_point(self) -> bool {
        self.low == self.high
    }

    /// What is left without the ends, of a point the point itself, has something in common.
    fn interiors_meet(self, other: Interval) -> bool {
        match (self.is_point(), other.is_point()) {
            (true, true) => self.low == other.low,
            _ => self.low < other.high && other.low < self.high,
        }
    }
}

#[derive(Clone, Copy, Debug)]
struct Rectangle {
    x: Interval,
    y: Interval,
}

impl Rectangle {
    fn new((low, high): (Point, Point)) -> Rectangle {
        Rectangle { x: Interval { low: low.x, high: high.x }, y: Interval { low: low.y, high: high.y } }
    }

    fn covers(self, other: Rectangle) -> bool {
        self.x.covers(other.x) && self.y.covers(other.y)
    }

    fn intersects(self, other: Rectangle) -> bool {
        self.x.intersects(other.x) && self.y.intersects(other.y)
    }

    fn interiors_meet(self, other: Rectangle) -> bool {
        self.x.interiors_meet(other.x) && self.y.interiors_meet(other.y)
    }

    fn contains(self, other: Rectangle) -> bool {
        self.covers(other) && self.interiors_meet(other)
    }

    fn overlaps(self, other: Rectangle) -> bool {
        self.interiors_meet(other) && !self.covers(other) && !other.covers(self)
    }
}

fn relation(call: &FuncCall<'_>, cx: &EvalCx<'_>, function: &str, holds: impl Fn(Rectangle, Rectangle) -> bool) -> Result<Value> {
    let (a, srs) = arg!(operand(call, 0, cx, function));
    let (b, other) = arg!(operand(call, 1, cx, function));
    check_parameter(&a.shape, srs, function)?;
    check_parameter(&b.shape, other, function)?;
    check_same_srid(&a, &b, function)?;
    if srs.is_geographic() {
        return Err(super::geographic_unsupported(function));
    }
    let is_infinite = |p: Point| !p.is_finite();
    if a.shape.find_point(is_infinite).is_some() || b.shape.find_point(is_infinite).is_some() {
        return Err(invalid(function));
    }
    Ok(match (a.shape.bounds(), b.shape.bounds()) {
        (Some(a), Some(b)) => Value::bool(holds(Rectangle::new(a), Rectangle::new(b))),
        // Nothing is the same as nothing, and as nothing else.
        (a, b) if function == "mbrequals" => Value::bool(a.is_none() && b.is_none()),
        _ => Value::Null,
    })
}
