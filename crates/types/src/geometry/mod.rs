//! Geometries: MySQL's spatial values.
//!
//! A value of a spatial type is a string of bytes: the SRID (4 bytes, little endian), then WKB. A function reads it into a `Geometry`,
//! works on that, and writes another. Coordinates of a geographic reference system are kept with the longitude as `x`, whatever the
//! order of its axes; text and WKB have the order of the axes, unless `axis-order` says otherwise.
//!
//! | module    | holds                                                        |
//! |-----------|--------------------------------------------------------------|
//! | `wkb`     | well-known binary, and the internal form                     |
//! | `wkt`     | well-known text                                              |
//! | `geojson` | GeoJSON documents                                            |
//! | `geohash` | geohashes                                                    |
//! | `geodesic`| distances and areas on the ellipsoid                         |
//! | `srs`     | the spatial reference systems that are known                 |
//! | `units`   | units of length                                              |
//! | `topology`| where geometries are to one another                          |

pub mod geodesic;
mod geohash;
mod geojson;
pub mod srs;
pub mod topology;
pub mod units;
mod wkb;
mod wkt;

#[cfg(test)]
mod tests;

pub use geohash::{GeohashError, decode as decode_geohash, encode as encode_geohash};
pub use geojson::{GeoJsonError, GeoJsonOptions, HigherDimensions, read as read_geojson};
pub use wkt::read as read_wkt;

pub use crate::datatype::GeometryKind;
use crate::limits::GEOMETRY_DEPTH_MAX;

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    pub x: f64,
    pub y: f64,
}

impl Point {
    pub fn new(x: f64, y: f64) -> Point {
        Point { x, y }
    }

    /// The point with its coordinates exchanged.
    pub fn swapped(self) -> Point {
        Point { x: self.y, y: self.x }
    }

    pub fn is_finite(self) -> bool {
        self.x.is_finite() && self.y.is_finite()
    }
}

/// A ring is a line whose last point is its first.
pub type Ring = Vec<Point>;

#[derive(Clone, Debug, PartialEq)]
pub enum Shape {
    Point(Point),
    LineString(Vec<Point>),
    /// The exterior ring is first.
    Polygon(Vec<Ring>),
    MultiPoint(Vec<Point>),
    MultiLineString(Vec<Vec<Point>>),
    MultiPolygon(Vec<Vec<Ring>>),
    Collection(Vec<Shape>),
}

#[derive(Clone, Debug, PartialEq)]
pub struct Geometry {
    pub srid: u32,
    pub shape: Shape,
}

/// Why a text or bytes are no geometry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadError {
    Malformed,
    /// More collections inside one another than `GEOMETRY_DEPTH_MAX`.
    TooDeep,
}

impl Geometry {
    pub fn new(srid: u32, shape: Shape) -> Geometry {
        Geometry { srid, shape }
    }

    /// Reads the internal form.
    pub fn decode(bytes: &[u8]) -> Result<Geometry, ReadError> {
        let (srid, wkb) = bytes.split_first_chunk::<4>().ok_or(ReadError::Malformed)?;
        Ok(Geometry { srid: u32::from_le_bytes(*srid), shape: Shape::from_wkb(wkb, wkb::ByteOrder::Little)? })
    }

    /// The internal form.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(4 + self.shape.wkb_bytes());
        out.extend_from_slice(&self.srid.to_le_bytes());
        self.shape.write_wkb(&mut out);
        out
    }

    /// The SRID and the type of a geometry in its internal form, of which nothing more is looked at.
    pub fn header(bytes: &[u8]) -> Option<(u32, GeometryKind)> {
        let (srid, wkb) = bytes.split_first_chunk::<4>()?;
        Some((u32::from_le_bytes(*srid), wkb::kind_of(wkb)?))
    }

    pub fn kind(&self) -> GeometryKind {
        self.shape.kind()
    }
}

impl Shape {
    pub fn kind(&self) -> GeometryKind {
        match self {
            Shape::Point(_) => GeometryKind::Point,
            Shape::LineString(_) => GeometryKind::LineString,
            Shape::Polygon(_) => GeometryKind::Polygon,
            Shape::MultiPoint(_) => GeometryKind::MultiPoint,
            Shape::MultiLineString(_) => GeometryKind::MultiLineString,
            Shape::MultiPolygon(_) => GeometryKind::MultiPolygon,
            Shape::Collection(_) => GeometryKind::Collection,
        }
    }

    /// There is no point in it: only collections can be so.
    pub fn is_empty(&self) -> bool {
        match self {
            Shape::Collection(shapes) => shapes.iter().all(Shape::is_empty),
            _ => false,
        }
    }

    /// Calls `f` with each point, in order.
    pub fn for_each_point(&self, f: &mut impl FnMut(Point)) {
        match self {
            Shape::Point(p) => f(*p),
            Shape::LineString(points) | Shape::MultiPoint(points) => points.iter().for_each(|p| f(*p)),
            Shape::Polygon(lines) | Shape::MultiLineString(lines) => lines.iter().flatten().for_each(|p| f(*p)),
            Shape::MultiPolygon(polygons) => polygons.iter().flatten().flatten().for_each(|p| f(*p)),
            Shape::Collection(shapes) => shapes.iter().for_each(|shape| shape.for_each_point(f)),
        }
    }

    /// Replaces each point.
    pub fn map_points(&mut self, f: &mut impl FnMut(Point) -> Point) {
        match self {
            Shape::Point(p) => *p = f(*p),
            Shape::LineString(points) | Shape::MultiPoint(points) => points.iter_mut().for_each(|p| *p = f(*p)),
            Shape::Polygon(lines) | Shape::MultiLineString(lines) => lines.iter_mut().flatten().for_each(|p| *p = f(*p)),
            Shape::MultiPolygon(polygons) => polygons.iter_mut().flatten().flatten().for_each(|p| *p = f(*p)),
            Shape::Collection(shapes) => shapes.iter_mut().for_each(|shape| shape.map_points(f)),
        }
    }

    /// The first point that `f` finds.
    pub fn find_point(&self, f: impl Fn(Point) -> bool) -> Option<Point> {
        let mut found = None;
        self.for_each_point(&mut |p| {
            if found.is_none() && f(p) {
                found = Some(p);
            }
        });
        found
    }

    /// The lowest and the highest coordinates; `None` of what is empty.
    pub fn bounds(&self) -> Option<(Point, Point)> {
        let mut bounds: Option<(Point, Point)> = None;
        self.for_each_point(&mut |p| {
            let (low, high) = bounds.get_or_insert((p, p));
            (low.x, low.y) = (low.x.min(p.x), low.y.min(p.y));
            (high.x, high.y) = (high.x.max(p.x), high.y.max(p.y));
        });
        bounds
    }

    /// The dimension of the highest part: 0 of points, 1 of lines, 2 of polygons; `None` of what is empty.
    pub fn dimension(&self) -> Option<u8> {
        match self {
            Shape::Point(_) | Shape::MultiPoint(_) => Some(0),
            Shape::LineString(_) | Shape::MultiLineString(_) => Some(1),
            Shape::Polygon(_) | Shape::MultiPolygon(_) => Some(2),
            Shape::Collection(shapes) => shapes.iter().filter_map(Shape::dimension).max(),
        }
    }
}

/// One level below `depth`, if there may be one.
fn deeper(depth: usize) -> Result<usize, ReadError> {
    if depth >= GEOMETRY_DEPTH_MAX { Err(ReadError::TooDeep) } else { Ok(depth + 1) }
}

/// A line that ends where it begins and has enough points for a ring.
fn is_ring(points: &[Point]) -> bool {
    points.len() >= 4 && points.first() == points.last()
}
