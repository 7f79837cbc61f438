//! Well-known binary (OGC 06-103r4, 8.2), of two dimensions.
//!
//! | OFFSET | SIZE | DESCRIPTION                                              |
//! |--------|------|----------------------------------------------------------|
//! | 0      | 1    | byte order: 0 big endian, 1 little endian                |
//! | 1      | 4    | type: 1 point … 7 geometry collection                    |
//! | 5      |      | a point: x and y, 8 bytes each                           |
//! |        | 4    | all others: the number of elements, which follow         |
//!
//! Elements of a line are bare points, those of a polygon rings (a number of points, and the points); the elements of the multiple types
//! and of collections begin with a byte order and a type of their own. The internal form has little endian only.

use super::{GeometryKind, Point, ReadError, Ring, Shape, deeper, is_ring};
use crate::stack;

/// Which byte orders are read.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum ByteOrder {
    /// The internal form.
    Little,
    /// WKB that a client gives.
    Any,
}

const HEADER_BYTES: usize = 5;
const COUNT_BYTES: usize = 4;
const POINT_BYTES: usize = 16;

/// The type of what WKB begins with, in little endian.
pub(super) fn kind_of(wkb: &[u8]) -> Option<GeometryKind> {
    let (order, rest) = wkb.split_first()?;
    let code = u32::from_le_bytes(*rest.first_chunk::<4>()?);
    GeometryKind::from_code(code).filter(|kind| *order == 1 && *kind != GeometryKind::Geometry)
}

struct Reader<'a> {
    rest: &'a [u8],
    order: ByteOrder,
}

/// The byte order of one geometry's numbers.
#[derive(Clone, Copy)]
struct Big(bool);

impl<'a> Reader<'a> {
    fn take<const N: usize>(&mut self) -> Result<[u8; N], ReadError> {
        let (taken, rest) = self.rest.split_first_chunk::<N>().ok_or(ReadError::Malformed)?;
        self.rest = rest;
        Ok(*taken)
    }

    fn number(&mut self, big: Big) -> Result<u32, ReadError> {
        let bytes = self.take()?;
        Ok(if big.0 { u32::from_be_bytes(bytes) } else { u32::from_le_bytes(bytes) })
    }

    /// How many elements follow, each of at least so many bytes.
    fn count(&mut self, big: Big, bytes_min: usize) -> Result<usize, ReadError> {
        let count = self.number(big)? as usize;
        if count > self.rest.len() / bytes_min { Err(ReadError::Malformed) } else { Ok(count) }
    }

    fn header(&mut self) -> Result<(Big, GeometryKind), ReadError> {
        let big = match (self.take::<1>()?, self.order) {
            ([1], _) => Big(false),
            ([0], ByteOrder::Any) => Big(true),
            _ => return Err(ReadError::Malformed),
        };
        let kind = GeometryKind::from_code(self.number(big)?).filter(|kind| *kind != GeometryKind::Geometry);
        Ok((big, kind.ok_or(ReadError::Malformed)?))
    }

    fn point(&mut self, big: Big) -> Result<Point, ReadError> {
        let mut coordinate = || {
            let bytes = self.take()?;
            Ok(if big.0 { f64::from_be_bytes(bytes) } else { f64::from_le_bytes(bytes) })
        };
        Ok(Point { x: coordinate()?, y: coordinate()? })
    }

    fn points(&mut self, big: Big, count_min: usize) -> Result<Vec<Point>, ReadError> {
        let count = self.count(big, POINT_BYTES)?;
        if count < count_min {
            return Err(ReadError::Malformed);
        }
        (0..count).map(|_| self.point(big)).collect()
    }

    fn rings(&mut self, big: Big) -> Result<Vec<Ring>, ReadError> {
        let count = self.count(big, COUNT_BYTES + POINT_BYTES)?;
        if count == 0 {
            return Err(ReadError::Malformed);
        }
        let rings = (0..count).map(|_| self.points(big, 4)).collect::<Result<Vec<_>, _>>()?;
        if rings.iter().all(|ring| is_ring(ring)) { Ok(rings) } else { Err(ReadError::Malformed) }
    }

    /// The elements of a multiple type: at least one, each with a header of this type.
    fn elements<T>(
        &mut self,
        big: Big,
        kind: GeometryKind,
        read: impl Fn(&mut Self, Big) -> Result<T, ReadError>,
    ) -> Result<Vec<T>, ReadError> {
        let count = self.count(big, HEADER_BYTES + COUNT_BYTES)?;
        if count == 0 {
            return Err(ReadError::Malformed);
        }
        let element = |_| match self.header()? {
            (big, found) if found == kind => read(self, big),
            _ => Err(ReadError::Malformed),
        };
        (0..count).map(element).collect()
    }

    fn shape(&mut self, depth: usize) -> Result<Shape, ReadError> {
        let (big, kind) = self.header()?;
        Ok(match kind {
            GeometryKind::Point => Shape::Point(self.point(big)?),
            GeometryKind::LineString => Shape::LineString(self.points(big, 2)?),
            GeometryKind::Polygon => Shape::Polygon(self.rings(big)?),
            GeometryKind::MultiPoint => Shape::MultiPoint(self.elements(big, GeometryKind::Point, Reader::point)?),
            GeometryKind::MultiLineString => {
                Shape::MultiLineString(self.elements(big, GeometryKind::LineString, |r, big| r.points(big, 2))?)
            }
            GeometryKind::MultiPolygon => Shape::MultiPolygon(self.elements(big, GeometryKind::Polygon, Reader::rings)?),
            GeometryKind::Collection => {
                let depth = deeper(depth)?;
                let count = self.count(big, HEADER_BYTES + COUNT_BYTES)?;
                Shape::Collection((0..count).map(|_| stack::deeper(|| self.shape(depth))).collect::<Result<_, _>>()?)
            }
            GeometryKind::Geometry => return Err(ReadError::Malformed),
        })
    }
}

impl Shape {
    /// Reads WKB, all of it.
    pub fn from_wkb(wkb: &[u8], order: ByteOrder) -> Result<Shape, ReadError> {
        let mut reader = Reader { rest: wkb, order };
        let shape = reader.shape(0)?;
        if reader.rest.is_empty() { Ok(shape) } else { Err(ReadError::Malformed) }
    }

    /// WKB that a client gives, in either byte order.
    pub fn from_any_wkb(wkb: &[u8]) -> Result<Shape, ReadError> {
        Shape::from_wkb(wkb, ByteOrder::Any)
    }

    /// Bytes that `write_wkb` writes.
    pub fn wkb_bytes(&self) -> usize {
        let line = |points: &Vec<Point>| COUNT_BYTES + points.len() * POINT_BYTES;
        let polygon = |rings: &Vec<Ring>| COUNT_BYTES + rings.iter().map(line).sum::<usize>();
        HEADER_BYTES
            + match self {
                Shape::Point(_) => POINT_BYTES,
                Shape::LineString(points) => line(points),
                Shape::Polygon(rings) => polygon(rings),
                Shape::MultiPoint(points) => COUNT_BYTES + points.len() * (HEADER_BYTES + POINT_BYTES),
                Shape::MultiLineString(lines) => COUNT_BYTES + lines.iter().map(|l| HEADER_BYTES + line(l)).sum::<usize>(),
                Shape::MultiPolygon(polygons) => {
                    COUNT_BYTES + polygons.iter().map(|rings| HEADER_BYTES + polygon(rings)).sum::<usize>()
                }
                Shape::Collection(shapes) => COUNT_BYTES + shapes.iter().map(Shape::wkb_bytes).sum::<usize>(),
            }
    }

    /// Appends WKB in little endian.
    pub fn write_wkb(&self, out: &mut Vec<u8>) {
        write_header(self.kind(), out);
        match self {
            Shape::Point(p) => write_point(*p, out),
            Shape::LineString(points) => write_points(points, out),
            Shape::Polygon(rings) => write_lines(rings, out),
            Shape::MultiPoint(points) => {
                write_count(points.len(), out);
                for p in points {
                    write_header(GeometryKind::Point, out);
                    write_point(*p, out);
                }
            }
            Shape::MultiLineString(lines) => {
                write_count(lines.len(), out);
                for line in lines {
                    write_header(GeometryKind::LineString, out);
                    write_points(line, out);
                }
            }
            Shape::MultiPolygon(polygons) => {
                write_count(polygons.len(), out);
                for rings in polygons {
                    write_header(GeometryKind::Polygon, out);
                    write_lines(rings, out);
                }
            }
            Shape::Collection(shapes) => {
                write_count(shapes.len(), out);
                shapes.iter().for_each(|shape| stack::deeper(|| shape.write_wkb(out)));
            }
        }
    }
}

fn write_header(kind: GeometryKind, out: &mut Vec<u8>) {
    out.push(1);
    out.extend_from_slice(&(kind as u32).to_le_bytes());
}

fn write_count(count: usize, out: &mut Vec<u8>) {
    out.extend_from_slice(&(count as u32).to_le_bytes());
}

fn write_point(p: Point, out: &mut Vec<u8>) {
    out.extend_from_slice(&p.x.to_le_bytes());
    out.extend_from_slice(&p.y.to_le_bytes());
}

fn write_points(points: &[Point], out: &mut Vec<u8>) {
    write_count(points.len(), out);
    points.iter().for_each(|p| write_point(*p, out));
}

fn write_lines(lines: &[Vec<Point>], out: &mut Vec<u8>) {
    write_count(lines.len(), out);
    lines.iter().for_each(|points| write_points(points, out));
}
