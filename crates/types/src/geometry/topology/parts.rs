//! What a geometry is made of, whatever its type: points, lines and polygons.

use crate::geometry::{Point, Ring, Shape};
use crate::stack;

#[derive(Default)]
pub(super) struct Parts<'a> {
    pub points: Vec<Point>,
    pub lines: Vec<&'a [Point]>,
    pub polygons: Vec<&'a [Ring]>,
}

impl<'a> Parts<'a> {
    pub fn of(shape: &'a Shape) -> Parts<'a> {
        let mut parts = Parts::default();
        parts.add(shape);
        parts
    }

    fn add(&mut self, shape: &'a Shape) {
        match shape {
            Shape::Point(p) => self.points.push(*p),
            Shape::MultiPoint(points) => self.points.extend(points),
            Shape::LineString(line) => self.line(line),
            Shape::MultiLineString(lines) => lines.iter().for_each(|line| self.line(line)),
            Shape::Polygon(rings) => self.polygons.push(rings),
            Shape::MultiPolygon(polygons) => self.polygons.extend(polygons.iter().map(|rings| rings.as_slice())),
            Shape::Collection(shapes) => stack::deeper(|| shapes.iter().for_each(|shape| self.add(shape))),
        }
    }

    /// A line without length is a point.
    fn line(&mut self, line: &'a [Point]) {
        match line {
            [first, rest @ ..] if rest.iter().all(|p| p == first) => self.points.push(*first),
            _ => self.lines.push(line),
        }
    }
}
