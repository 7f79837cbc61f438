//! GeoJSON (RFC 7946, and `crs` of the specification of 2008), with the longitude before the latitude.
//!
//! Read are geometries, features and collections of them; what a feature has beside its geometry is left out.

use super::{Geometry, Point, Ring, Shape, is_ring};
use crate::json::{Json, JsonObject};

/// Why a document is no geometry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GeoJsonError {
    Missing(&'static str),
    /// A member, and the type that it should have.
    WrongType(&'static str, &'static str),
    Unspecified,
    /// So many coordinates of a point, where only two may be.
    Dimensions(usize),
    /// `crs` inside of the document.
    NestedCrs,
}

type Result<T> = std::result::Result<T, GeoJsonError>;

/// What is done with coordinates behind the first two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HigherDimensions {
    Refuse,
    Strip,
}

const COORDINATES: (&str, &str) = ("coordinates", "array");

/// The geometry of a document, and the SRID that its `crs` names. `None` for a feature without a geometry.
pub fn read(document: &Json, higher: HigherDimensions) -> Result<Option<(Shape, Option<u32>)>> {
    let Json::Object(object) = document else { return Err(GeoJsonError::Unspecified) };
    let mut reader = Reader { higher, srid: None, is_top: true };
    let shape = reader.object(object)?;
    Ok(shape.map(|shape| (shape, reader.srid)))
}

struct Reader {
    higher: HigherDimensions,
    srid: Option<u32>,
    is_top: bool,
}

fn member<'a>(object: &'a JsonObject, name: &'static str) -> Result<&'a Json> {
    object.get(name).ok_or(GeoJsonError::Missing(name))
}

fn array<'a>(object: &'a JsonObject, name: &'static str) -> Result<&'a [Json]> {
    match member(object, name)? {
        Json::Array(items) => Ok(items),
        _ => Err(GeoJsonError::WrongType(name, COORDINATES.1)),
    }
}

fn text<'a>(object: &'a JsonObject, name: &'static str) -> Result<&'a str> {
    match member(object, name)? {
        Json::String(text) => Ok(text),
        _ => Err(GeoJsonError::WrongType(name, "string")),
    }
}

impl Reader {
    fn object(&mut self, object: &JsonObject) -> Result<Option<Shape>> {
        let kind = text(object, "type")?;
        if let Some(crs) = object.get("crs") {
            if !self.is_top {
                return Err(GeoJsonError::NestedCrs);
            }
            self.srid = srid_of_crs(crs)?;
        }
        self.is_top = false;
        match kind {
            "Feature" => {
                member(object, "properties").and(member(object, "geometry"))?;
                match member(object, "geometry")? {
                    Json::Null => Ok(None),
                    Json::Object(geometry) => self.object(geometry),
                    _ => Err(GeoJsonError::WrongType("geometry", "object")),
                }
            }
            "FeatureCollection" => self.collection(array(object, "features")?).map(Some),
            "GeometryCollection" => self.collection(array(object, "geometries")?).map(Some),
            _ => {
                let items = array(object, COORDINATES.0)?;
                self.simple(kind, items).map(Some)
            }
        }
    }

    fn collection(&mut self, items: &[Json]) -> Result<Shape> {
        let mut shapes = Vec::with_capacity(items.len());
        for item in items {
            let Json::Object(object) = item else { return Err(GeoJsonError::WrongType("geometries", "object array")) };
            shapes.extend(self.object(object)?);
        }
        Ok(Shape::Collection(shapes))
    }

    fn simple(&self, kind: &str, items: &[Json]) -> Result<Shape> {
        Ok(match kind {
            "Point" => Shape::Point(self.point(items)?),
            "LineString" => Shape::LineString(self.line(items)?),
            "Polygon" => Shape::Polygon(self.rings(items)?),
            "MultiPoint" => Shape::MultiPoint(self.list(items, |items| self.point(items))?),
            "MultiLineString" => Shape::MultiLineString(self.list(items, |items| self.line(items))?),
            "MultiPolygon" => Shape::MultiPolygon(self.list(items, |items| self.rings(items))?),
            _ => return Err(GeoJsonError::Unspecified),
        })
    }

    /// At least one element, each an array.
    fn list<T>(&self, items: &[Json], read: impl Fn(&[Json]) -> Result<T>) -> Result<Vec<T>> {
        if items.is_empty() {
            return Err(GeoJsonError::Unspecified);
        }
        let element = |item: &Json| match item {
            Json::Array(items) => read(items),
            _ => Err(GeoJsonError::WrongType(COORDINATES.0, COORDINATES.1)),
        };
        items.iter().map(element).collect()
    }

    fn point(&self, items: &[Json]) -> Result<Point> {
        if items.len() < 2 {
            return Err(GeoJsonError::Unspecified);
        }
        let mut numbers = Vec::with_capacity(2);
        for item in items {
            let number = match item {
                Json::Int(i) => *i as f64,
                Json::UInt(u) => *u as f64,
                Json::Double(d) => *d,
                Json::Decimal(d) => d.to_f64(),
                _ => return Err(GeoJsonError::WrongType("array coordinate", "number")),
            };
            numbers.push(number);
        }
        match numbers[..] {
            [x, y] => Ok(Point { x, y }),
            [x, y, ..] if self.higher == HigherDimensions::Strip => Ok(Point { x, y }),
            _ => Err(GeoJsonError::Dimensions(numbers.len())),
        }
    }

    fn line(&self, items: &[Json]) -> Result<Vec<Point>> {
        let points = self.list(items, |items| self.point(items))?;
        if points.len() >= 2 { Ok(points) } else { Err(GeoJsonError::Unspecified) }
    }

    fn rings(&self, items: &[Json]) -> Result<Vec<Ring>> {
        let rings = self.list(items, |items| self.list(items, |items| self.point(items)))?;
        if rings.iter().all(|ring| is_ring(ring)) { Ok(rings) } else { Err(GeoJsonError::Unspecified) }
    }
}

/// Names of reference systems are these, and the SRID in decimal digits.
const CRS_PREFIXES: [&str; 2] = ["urn:ogc:def:crs:EPSG::", "EPSG:"];
const CRS_WGS84: &str = "urn:ogc:def:crs:OGC:1.3:CRS84";
const CRS_NONE: &str = "urn:ogc:def:crs:MySQL::0";

fn srid_of_crs(crs: &Json) -> Result<Option<u32>> {
    let object = match crs {
        Json::Null => return Ok(None),
        Json::Object(object) => object,
        _ => return Err(GeoJsonError::WrongType("crs", "object")),
    };
    let kind = text(object, "type")?;
    let Json::Object(properties) = member(object, "properties")? else {
        return Err(GeoJsonError::WrongType("properties", "object"));
    };
    if kind != "name" {
        return Err(GeoJsonError::Unspecified);
    }
    let name = text(properties, "name")?;
    if name == CRS_WGS84 {
        return Ok(Some(super::srs::WGS84));
    }
    if name == CRS_NONE {
        return Ok(Some(0));
    }
    let digits = CRS_PREFIXES.iter().find_map(|prefix| name.strip_prefix(prefix));
    let srid = digits.filter(|digits| digits.bytes().all(|b| b.is_ascii_digit())).and_then(|digits| digits.parse::<u32>().ok());
    srid.filter(|srid| *srid != 0).map(Some).ok_or(GeoJsonError::Unspecified)
}

/// How ST_AsGeoJSON writes.
#[derive(Clone, Copy, Debug, Default)]
pub struct GeoJsonOptions {
    /// Digits after the point; `None` for all.
    pub digits_max: Option<u32>,
    pub bounding_box: bool,
    /// `EPSG:4326`.
    pub short_crs: bool,
    /// `urn:ogc:def:crs:EPSG::4326`, also if the short form is asked for.
    pub long_crs: bool,
}

impl Geometry {
    pub fn to_geojson(&self, options: &GeoJsonOptions) -> Json {
        let json = to_object(&self.shape, options);
        let authority = if self.srid == 0 { "MySQL" } else { "EPSG" };
        let name = match () {
            () if options.long_crs => format!("urn:ogc:def:crs:{authority}::{}", self.srid),
            () if options.short_crs => format!("{authority}:{}", self.srid),
            () => return Json::object(json),
        };
        let mut json = json;
        let properties = JsonObject::from_members(vec![("name".into(), Json::string(name))]);
        let crs = vec![("type".into(), Json::string("name")), ("properties".into(), Json::object(properties))];
        json.insert("crs", Json::object(JsonObject::from_members(crs)));
        Json::object(json)
    }
}

fn to_object(shape: &Shape, options: &GeoJsonOptions) -> JsonObject {
    let point = |p: &Point| Json::array(vec![rounded(p.x, options), rounded(p.y, options)]);
    let points = |points: &Vec<Point>| Json::array(points.iter().map(point).collect());
    let lines = |lines: &Vec<Vec<Point>>| Json::array(lines.iter().map(points).collect());
    let (kind, member, value) = match shape {
        Shape::Point(p) => ("Point", COORDINATES.0, point(p)),
        Shape::LineString(line) => ("LineString", COORDINATES.0, points(line)),
        Shape::Polygon(rings) => ("Polygon", COORDINATES.0, lines(rings)),
        Shape::MultiPoint(list) => ("MultiPoint", COORDINATES.0, points(list)),
        Shape::MultiLineString(list) => ("MultiLineString", COORDINATES.0, lines(list)),
        Shape::MultiPolygon(list) => ("MultiPolygon", COORDINATES.0, Json::array(list.iter().map(lines).collect())),
        Shape::Collection(shapes) => {
            let objects = shapes.iter().map(|shape| Json::object(crate::stack::deeper(|| to_object(shape, options)))).collect();
            ("GeometryCollection", "geometries", Json::array(objects))
        }
    };
    let mut members = vec![("type".into(), Json::string(kind)), (member.into(), value)];
    if options.bounding_box
        && let Some((low, high)) = shape.bounds()
    {
        let numbers = [low.x, low.y, high.x, high.y];
        members.push(("bbox".into(), Json::array(numbers.into_iter().map(|n| rounded(n, options)).collect())));
    }
    JsonObject::from_members(members)
}

/// Rounded to an even last digit, as the FPU does.
fn rounded(number: f64, options: &GeoJsonOptions) -> Json {
    let Some(digits) = options.digits_max else { return Json::Double(number) };
    let unit = 10f64.powi(digits.min(400) as i32);
    let scaled = number * unit;
    Json::Double(if scaled.is_finite() && unit.is_finite() { scaled.round_ties_even() / unit } else { number })
}
