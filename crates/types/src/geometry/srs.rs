//! The spatial reference systems that are known.
//!
//! MySQL has some 5,000, and CREATE SPATIAL REFERENCE SYSTEM. Here are the plane without units (0), WGS 84 (4326), whose first axis is the
//! latitude, and its pseudo-Mercator projection (3857).

pub const WGS84: u32 = 4326;
pub const WEB_MERCATOR: u32 = 3857;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SrsKind {
    /// SRID 0.
    Plane,
    Geographic,
    Projected,
}

#[derive(Debug)]
pub struct Srs {
    pub id: u32,
    pub name: &'static str,
    pub organization: Option<&'static str>,
    pub definition: &'static str,
    pub description: Option<&'static str>,
    pub kind: SrsKind,
}

/// By their numbers.
pub const ALL: &[Srs] = &[
    Srs { id: 0, name: "", organization: None, definition: "", description: None, kind: SrsKind::Plane },
    Srs {
        id: WEB_MERCATOR,
        name: "WGS 84 / Pseudo-Mercator",
        organization: Some("EPSG"),
        definition: WEB_MERCATOR_DEFINITION,
        description: None,
        kind: SrsKind::Projected,
    },
    Srs {
        id: WGS84,
        name: "WGS 84",
        organization: Some("EPSG"),
        definition: WGS84_DEFINITION,
        description: None,
        kind: SrsKind::Geographic,
    },
];

pub fn find(srid: u32) -> Option<&'static Srs> {
    ALL.iter().find(|srs| srs.id == srid)
}

impl Srs {
    /// Its first axis is the latitude, which is `y` in a geometry.
    pub fn is_latitude_first(&self) -> bool {
        self.kind == SrsKind::Geographic
    }

    pub fn is_geographic(&self) -> bool {
        self.kind == SrsKind::Geographic
    }
}
const WEB_MERCATOR_DEFINITION: &str = r#"PROJCS["WGS 84 / Pseudo-Mercator",GEOGCS["WGS 84",DATUM["World Geodetic System 1984",SPHEROID["WGS 84",6378137,298.257223563,AUTHORITY["EPSG","7030"]],AUTHORITY["EPSG","6326"]],PRIMEM["Greenwich",0,AUTHORITY["EPSG","8901"]],UNIT["degree",0.017453292519943278,AUTHORITY["EPSG","9122"]],AXIS["Lat",NORTH],AXIS["Lon",EAST],AUTHORITY["EPSG","4326"]],PROJECTION["Popular Visualisation Pseudo Mercator",AUTHORITY["EPSG","1024"]],PARAMETER["Latitude of natural origin",0,AUTHORITY["EPSG","8801"]],PARAMETER["Longitude of natural origin",0,AUTHORITY["EPSG","8802"]],PARAMETER["False easting",0,AUTHORITY["EPSG","8806"]],PARAMETER["False northing",0,AUTHORITY["EPSG","8807"]],UNIT["metre",1,AUTHORITY["EPSG","9001"]],AXIS["X",EAST],AXIS["Y",NORTH],AUTHORITY["EPSG","3857"]]"#;
const WGS84_DEFINITION: &str = r#"GEOGCS["WGS 84",DATUM["World Geodetic System 1984",SPHEROID["WGS 84",6378137,298.257223563,AUTHORITY["EPSG","7030"]],AUTHORITY["EPSG","6326"]],PRIMEM["Greenwich",0,AUTHORITY["EPSG","8901"]],UNIT["degree",0.017453292519943278,AUTHORITY["EPSG","9122"]],AXIS["Lat",NORTH],AXIS["Lon",EAST],AUTHORITY["EPSG","4326"]]"#;
