//! ST_Buffer and ST_Buffer_Strategy: what is no farther from a geometry than a distance.
//!
//! Each segment has a rectangle beside it, each corner a wedge on its outer side, each end of a line a cap, each point a circle or square.
//! The buffer is all of these together; of a polygon only what is outside counts, and a negative distance takes away what is inside.
//!
//! A strategy is 12 bytes: its number (4, little endian), and what it was given (8, a double).

use std::f64::consts::{PI, TAU};

use vaquita_types::geometry::geodesic::place_at;
use vaquita_types::geometry::topology::{Overlay, Work, overlay};
use vaquita_types::geometry::{Geometry, Point, Ring, Shape};
use vaquita_types::{Error, Result, Value, errno, memory, stack};

use super::operand;
use super::{
    EvalCx, FuncCall, FuncDef, FuncType, any_geometry, arg, check_finite, check_parameter, invalid, not_geographic, value,
};
use crate::func::args::def;

pub(super) static FUNCTIONS: &[FuncDef] =
    &[def("ST_BUFFER", 2, 5, any_geometry, buffer), def("ST_BUFFER_STRATEGY", 1, 2, |_| FuncType::binary(16), strategy)];

/// Points of a whole circle if none are given.
const CIRCLE_POINTS: usize = 32;
/// MySQL's default of max_points_in_geometry.
const CIRCLE_POINTS_MAX: f64 = 65_536.0;

#[derive(Clone, Copy)]
enum End {
    Round(usize),
    Flat,
}

#[derive(Clone, Copy)]
enum Join {
    Round(usize),
    /// The corner is no farther away than so many times the distance.
    Miter(f64),
}

#[derive(Clone, Copy)]
enum Dot {
    Circle(usize),
    Square,
}

struct Strategies {
    end: Option<End>,
    join: Option<Join>,
    dot: Option<Dot>,
}

fn wrong_arguments(function: &str) -> Error {
    Error::new(&errno::ER_WRONG_ARGUMENTS, &[&function])
}

/// Names, whether they take a number, in the order of their numbers from 1.
const NAMES: [(&str, bool); 6] = [
    ("end_round", true),
    ("end_flat", false),
    ("join_round", true),
    ("join_miter", true),
    ("point_circle", true),
    ("point_square", false),
];

fn strategy(call: &FuncCall<'_>, cx: &EvalCx<'_>) -> Result<Value> {
    let function = "st_buffer_strategy";
    let name = arg!(call.text(0, cx));
    let number = if call.len() > 1 { Some(arg!(call.f64(1, cx))) } else { None };
    let known = NAMES.iter().position(|(known, _)| known.as_bytes().eq_ignore_ascii_case(&name));
    let code = known.ok_or_else(|| wrong_arguments(function))?;
    let number = match (NAMES[code].1, number) {
        (false, None) => 0.0,
        (true, Some(number)) if number > 0.0 => number,
        _ => return Err(wrong_arguments(function)),
    };
    if number > CIRCLE_POINTS_MAX && NAMES[code].0 != "join_miter" {
        let limit = CIRCLE_POINTS_MAX as u64;
        return Err(Error::new(&errno::ER_GIS_MAX_POINTS_IN_GEOMETRY_OVERFLOWED, &[&"points_per_circle", &limit, &function]));
    }
    let mut bytes = (code as u32 + 1).to_le_bytes().to_vec();
    bytes.extend_from_slice(&number.to_le_bytes());
    Ok(Value::from(bytes))
}

impl Strategies {
    /// `None` if one is NULL.
    fn of(call: &FuncCall<'_>, cx: &EvalCx<'_>) -> Result<Option<Strategies>> {
        let mut strategies = Strategies { end: None, join: None, dot: None };
        for i in 2..call.len() {
            let Some(bytes) = call.text(i, cx)? else { return Ok(None) };
            strategies.add(&bytes).ok_or_else(|| wrong_arguments("st_buffer"))?;
        }
        Ok(Some(strategies))
    }

    /// `None` for what is none, or the second of its group.
    fn add(&mut self, bytes: &[u8]) -> Option<()> {
        let (code, number) = bytes.split_first_chunk::<4>()?;
        let number = f64::from_le_bytes(<[u8; 8]>::try_from(number).ok()?);
        let points = |least: usize| (number.clamp(0.0, CIRCLE_POINTS_MAX) as usize).max(least);
        let is_new = match u32::from_le_bytes(*code) {
            1 => self.end.replace(End::Round(points(4))).is_none(),
            2 => self.end.replace(End::Flat).is_none(),
            3 => self.join.replace(Join::Round(points(4))).is_none(),
            4 => self.join.replace(Join::Miter(number)).is_none(),
            5 => self.dot.replace(Dot::Circle(points(3))).is_none(),
            6 => self.dot.replace(Dot::Square).is_none(),
            _ => false,
        };
        is_new.then_some(())
    }

    /// No strategy is for what the geometry has not; a collection may have all.
    fn fit(&self, shape: &Shape) -> bool {
        match shape {
            Shape::Point(_) | Shape::MultiPoint(_) => self.end.is_none() && self.join.is_none(),
            Shape::LineString(_) | Shape::MultiLineString(_) => self.dot.is_none(),
            Shape::Polygon(_) | Shape::MultiPolygon(_) => self.end.is_none() && self.dot.is_none(),
            Shape::Collection(_) => true,
        }
    }
}

fn is_of_polygons(shape: &Shape) -> bool {
    match shape {
        Shape::Collection(shapes) => stack::deeper(|| shapes.iter().all(is_of_polygons)),
        _ => shape.dimension() == Some(2),
    }
}

fn buffer(call: &FuncCall<'_>, cx: &EvalCx<'_>) -> Result<Value> {
    let function = "st_buffer";
    let (geometry, srs) = arg!(operand(call, 0, cx, function));
    let distance = arg!(call.f64(1, cx));
    check_parameter(&geometry.shape, srs, function)?;
    if distance == 0.0 || geometry.shape.is_empty() {
        return value(&geometry, cx);
    }
    let strategies = arg!(Strategies::of(call, cx));
    check_finite(&geometry, function)?;
    if srs.is_geographic() {
        let Shape::Point(center) = geometry.shape else { return Err(not_geographic(&geometry, function)) };
        if distance < 0.0 || call.len() > 2 {
            return Err(wrong_arguments(function));
        }
        return value(&Geometry::new(geometry.srid, geodesic_circle(center, distance)), cx);
    }
    if !strategies.fit(&geometry.shape) || distance < 0.0 && !is_of_polygons(&geometry.shape) || !distance.is_finite() {
        return Err(wrong_arguments(function));
    }
    let mut pieces = Pieces {
        distance: distance.abs(),
        is_inside: distance < 0.0,
        end: strategies.end.unwrap_or(End::Round(CIRCLE_POINTS)),
        join: strategies.join.unwrap_or(Join::Round(CIRCLE_POINTS)),
        dot: strategies.dot.unwrap_or(Dot::Circle(CIRCLE_POINTS)),
        pieces: Vec::new(),
        bytes: 0,
        cx,
    };
    pieces.add(&geometry.shape)?;
    let pieces = Shape::Collection(pieces.pieces.into_iter().map(|ring| Shape::Polygon(vec![ring])).collect());
    if pieces.find_point(|p| !p.is_finite()).is_some() {
        return Err(invalid(function));
    }
    let (what, of) = match (distance < 0.0, geometry.shape) {
        (true, shape) => (Overlay::Difference, shape),
        (false, shape) => (Overlay::Union, areas(shape)),
    };
    let mut go_on = || cx.env.check_interrupt();
    // What is computed twice may differ in its last digits.
    let shape = overlay(&of, &pieces, what, &mut Work::new(&mut go_on))?.ok_or_else(|| invalid(function))?;
    value(&Geometry::new(geometry.srid, shape), cx)
}

/// Without points and lines, which are inside of their buffer.
fn areas(shape: Shape) -> Shape {
    match shape {
        Shape::Collection(shapes) => Shape::Collection(stack::deeper(|| shapes.into_iter().map(areas).collect())),
        Shape::Polygon(_) | Shape::MultiPolygon(_) => shape,
        _ => Shape::Collection(Vec::new()),
    }
}

/// Clockwise from the west.
fn geodesic_circle(center: Point, metres: f64) -> Shape {
    let step = TAU / CIRCLE_POINTS as f64;
    let mut ring: Ring = (0..CIRCLE_POINTS).map(|i| place_at(center, step * i as f64 - PI / 2.0, metres)).collect();
    ring.extend(ring.first().copied());
    Shape::Polygon(vec![ring])
}

struct Pieces<'a, 'b> {
    distance: f64,
    /// Beside rings, the pieces are inside.
    is_inside: bool,
    end: End,
    join: Join,
    dot: Dot,
    pieces: Vec<Ring>,
    bytes: usize,
    cx: &'a EvalCx<'b>,
}

impl Pieces<'_, '_> {
    fn piece(&mut self, mut ring: Ring) -> Result<()> {
        self.cx.env.check_interrupt()?;
        ring.extend(ring.first().copied());
        // An arrangement takes some times as much.
        self.bytes += size_of_val(ring.as_slice()) + size_of::<Ring>();
        memory::ask(self.bytes * 8)?;
        self.pieces.push(ring);
        Ok(())
    }

    fn add(&mut self, shape: &Shape) -> Result<()> {
        match shape {
            Shape::Point(p) => self.dot(*p),
            Shape::MultiPoint(points) => points.iter().try_for_each(|p| self.dot(*p)),
            Shape::LineString(line) => self.line(line),
            Shape::MultiLineString(lines) => lines.iter().try_for_each(|line| self.line(line)),
            Shape::Polygon(rings) => self.polygon(rings),
            Shape::MultiPolygon(polygons) => polygons.iter().try_for_each(|rings| self.polygon(rings)),
            Shape::Collection(shapes) => stack::deeper(|| shapes.iter().try_for_each(|shape| self.add(shape))),
        }
    }

    /// The place at the distance in a direction.
    fn at(&self, p: Point, angle: f64) -> Point {
        Point::new(p.x + self.distance * angle.cos(), p.y + self.distance * angle.sin())
    }

    fn dot(&mut self, p: Point) -> Result<()> {
        let d = self.distance;
        let ring = match self.dot {
            Dot::Square => [(-d, -d), (d, -d), (d, d), (-d, d)].map(|(x, y)| Point::new(p.x + x, p.y + y)).to_vec(),
            Dot::Circle(count) => (0..count).map(|i| self.at(p, -TAU / count as f64 * i as f64)).collect(),
        };
        self.piece(ring)
    }

    fn line(&mut self, line: &[Point]) -> Result<()> {
        let mut line = line.to_vec();
        line.dedup();
        let ([first, second, ..], [.., before, last]) = (line.as_slice(), line.as_slice()) else {
            return line.first().map_or(Ok(()), |p| self.dot(*p));
        };
        let (first, second, before, last) = (*first, *second, *before, *last);
        for (a, b) in [(first, second), (last, before)] {
            self.cap(a, b)?;
        }
        self.beside(&line)?;
        line.reverse();
        self.beside(&line)
    }

    fn polygon(&mut self, rings: &[Ring]) -> Result<()> {
        for (i, ring) in rings.iter().enumerate() {
            let mut ring = ring.clone();
            ring.dedup();
            let turn: f64 = ring.windows(2).map(|pair| (pair[0].x + pair[1].x) * (pair[1].y - pair[0].y)).sum();
            // With the area on the left, and what is asked for on the right.
            if (turn > 0.0) != ((i == 0) != self.is_inside) {
                ring.reverse();
            }
            // The corner at which the ring closes.
            ring.extend(ring.get(1).copied());
            self.beside(&ring)?;
        }
        Ok(())
    }

    /// The angle of a segment's right side.
    fn right(a: Point, b: Point) -> f64 {
        (a.x - b.x).atan2(b.y - a.y)
    }

    fn right_of(&self, p: Point, a: Point, b: Point) -> Point {
        let (dx, dy) = (b.x - a.x, b.y - a.y);
        let part = self.distance / dx.hypot(dy);
        Point::new(p.x + dy * part, p.y - dx * part)
    }

    /// On the right of a line: a rectangle for each segment, a wedge for each corner to the left.
    fn beside(&mut self, line: &[Point]) -> Result<()> {
        for pair in line.windows(2) {
            let (a, b) = (pair[0], pair[1]);
            self.piece(vec![a, self.right_of(a, a, b), self.right_of(b, a, b), b])?;
        }
        for corner in line.windows(3) {
            let (a, b, c) = (corner[0], corner[1], corner[2]);
            let turn = (b.x - a.x) * (c.y - b.y) - (b.y - a.y) * (c.x - b.x);
            let is_back = turn == 0.0 && (b.x - a.x) * (c.x - b.x) + (b.y - a.y) * (c.y - b.y) < 0.0;
            if is_back {
                self.cap(b, a)?;
            } else if turn > 0.0 {
                self.corner(a, b, c)?;
            }
        }
        Ok(())
    }

    fn corner(&mut self, a: Point, b: Point, c: Point) -> Result<()> {
        let (from, to) = (self.right_of(b, a, b), self.right_of(b, b, c));
        let start = Self::right(a, b);
        let mut turn = Self::right(b, c) - start;
        if turn < 0.0 {
            turn += TAU;
        }
        let mut wedge = vec![b, from];
        match self.join {
            Join::Round(count) => {
                let steps = (count as f64 * turn / TAU).ceil().max(1.0);
                wedge.extend((1..steps as usize).map(|i| self.at(b, start + turn / steps * i as f64)));
            }
            Join::Miter(most) => {
                // The sum of both sides is on the line that halves the corner.
                let (x, y) = (from.x - b.x + to.x - b.x, from.y - b.y + to.y - b.y);
                let square = self.distance * self.distance;
                let whole = 2.0 * square / (x * x + y * y);
                let far = whole.min(most * self.distance / x.hypot(y));
                wedge.push(Point::new(b.x + x * far, b.y + y * far));
            }
        }
        wedge.push(to);
        self.piece(wedge)
    }

    /// At the end `p` of a line that goes on to `next`.
    fn cap(&mut self, p: Point, next: Point) -> Result<()> {
        let End::Round(count) = self.end else { return Ok(()) };
        let (step, start) = (TAU / count as f64, Self::right(next, p));
        // An odd number of points has none at the ends of the half circle.
        let (first, inner) = if count % 2 == 0 { (step, count / 2 - 1) } else { (step / 2.0, count / 2) };
        let mut ring = vec![self.right_of(p, next, p)];
        ring.extend((0..inner).map(|i| self.at(p, start + first + step * i as f64)));
        ring.push(self.right_of(p, p, next));
        self.piece(ring)
    }
}
