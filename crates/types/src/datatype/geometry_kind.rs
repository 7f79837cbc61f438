//! The types of geometries.

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum GeometryKind {
    /// Any of the others: the type of a column.
    Geometry = 0,
    Point = 1,
    LineString = 2,
    Polygon = 3,
    MultiPoint = 4,
    MultiLineString = 5,
    MultiPolygon = 6,
    Collection = 7,
}

impl GeometryKind {
    /// By WKB's code, and 0 for any.
    pub fn from_code(code: u32) -> Option<GeometryKind> {
        use GeometryKind::*;
        [Geometry, Point, LineString, Polygon, MultiPoint, MultiLineString, MultiPolygon, Collection].get(code as usize).copied()
    }

    /// As SHOW CREATE TABLE writes the type.
    pub fn name(self) -> &'static str {
        match self {
            GeometryKind::Geometry => "geometry",
            GeometryKind::Point => "point",
            GeometryKind::LineString => "linestring",
            GeometryKind::Polygon => "polygon",
            GeometryKind::MultiPoint => "multipoint",
            GeometryKind::MultiLineString => "multilinestring",
            GeometryKind::MultiPolygon => "multipolygon",
            GeometryKind::Collection => "geomcollection",
        }
    }

    /// As ST_GeometryType and errors name it.
    pub fn upper_name(self) -> &'static str {
        match self {
            GeometryKind::Geometry => "GEOMETRY",
            GeometryKind::Point => "POINT",
            GeometryKind::LineString => "LINESTRING",
            GeometryKind::Polygon => "POLYGON",
            GeometryKind::MultiPoint => "MULTIPOINT",
            GeometryKind::MultiLineString => "MULTILINESTRING",
            GeometryKind::MultiPolygon => "MULTIPOLYGON",
            GeometryKind::Collection => "GEOMCOLLECTION",
        }
    }

    /// A value of type `other` may stand where this type is asked for.
    pub fn holds(self, other: GeometryKind) -> bool {
        self == GeometryKind::Geometry || self == other
    }
}
