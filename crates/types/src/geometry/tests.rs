//! Reading back what was written, and refusing what is cut, by cases and at random.

use proptest::prelude::*;

use super::*;
use crate::limits::GEOMETRY_DEPTH_MAX;

fn nested(levels: usize) -> Vec<u8> {
    let mut wkb = b"\x01\x07\0\0\0\x01\0\0\0".repeat(levels - 1);
    wkb.extend_from_slice(b"\x01\x07\0\0\0\0\0\0\0");
    wkb
}

#[test]
fn collections_end_at_a_depth() {
    assert!(Shape::from_any_wkb(&nested(GEOMETRY_DEPTH_MAX)).is_ok());
    assert_eq!(Shape::from_any_wkb(&nested(GEOMETRY_DEPTH_MAX + 1)), Err(ReadError::TooDeep));
    assert_eq!(Shape::from_any_wkb(&nested(1_000_000)), Err(ReadError::TooDeep));
    let text = |levels: usize| "GEOMETRYCOLLECTION(".repeat(levels - 1) + "GEOMETRYCOLLECTION EMPTY" + &")".repeat(levels - 1);
    assert!(read_wkt(text(GEOMETRY_DEPTH_MAX).as_bytes()).is_ok());
    assert_eq!(read_wkt(text(1_000_000).as_bytes()), Err(ReadError::TooDeep));
}

#[test]
fn counts_beyond_the_bytes_are_refused_before_anything_is_taken() {
    for kind in 2..=7u8 {
        let mut wkb = vec![1, kind, 0, 0, 0];
        wkb.extend_from_slice(&u32::MAX.to_le_bytes());
        wkb.extend_from_slice(&[0; 64]);
        assert_eq!(Shape::from_any_wkb(&wkb), Err(ReadError::Malformed));
    }
}

fn point() -> impl Strategy<Value = Point> {
    (-1e6f64..1e6, -1e6f64..1e6).prop_map(|(x, y)| Point { x, y })
}

fn ring() -> impl Strategy<Value = Ring> {
    prop::collection::vec(point(), 3..6).prop_map(|mut points| {
        points.push(points[0]);
        points
    })
}

fn shape() -> impl Strategy<Value = Shape> {
    let line = || prop::collection::vec(point(), 2..6);
    let polygon = || prop::collection::vec(ring(), 1..3);
    let leaf = prop_oneof![
        point().prop_map(Shape::Point),
        line().prop_map(Shape::LineString),
        polygon().prop_map(Shape::Polygon),
        prop::collection::vec(point(), 1..5).prop_map(Shape::MultiPoint),
        prop::collection::vec(line(), 1..4).prop_map(Shape::MultiLineString),
        prop::collection::vec(polygon(), 1..3).prop_map(Shape::MultiPolygon),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| prop::collection::vec(inner, 0..4).prop_map(Shape::Collection))
}

proptest! {
    #[test]
    fn what_is_written_is_read_back(shape in shape(), srid: u32) {
        let geometry = Geometry::new(srid, shape);
        let bytes = geometry.encode();
        prop_assert_eq!(Geometry::header(&bytes), Some((srid, geometry.kind())));
        prop_assert_eq!(&Geometry::decode(&bytes), &Ok(geometry.clone()));
        for end in 0..bytes.len() {
            prop_assert_eq!(Geometry::decode(&bytes[..end]), Err(ReadError::Malformed));
        }
        let mut text = Vec::new();
        geometry.shape.write_wkt(false, &mut text);
        prop_assert_eq!(&read_wkt(&text), &Ok(geometry.shape.clone()));
        let json = geometry.to_geojson(&GeoJsonOptions::default());
        prop_assert_eq!(read_geojson(&json, HigherDimensions::Refuse), Ok(Some((geometry.shape, None))));
    }

    #[test]
    fn any_bytes_are_read_or_refused(bytes: Vec<u8>) {
        let _ = Geometry::decode(&bytes);
        let _ = read_wkt(&bytes);
        let _ = decode_geohash(&bytes);
    }

    #[test]
    fn a_geohash_means_its_place(x in -180f64..180.0, y in -90f64..90.0) {
        let near = decode_geohash(encode_geohash(Point { x, y }, 12).as_bytes());
        prop_assert!(near.is_ok_and(|p| (p.x - x).abs() < 1e-4 && (p.y - y).abs() < 1e-4));
    }
}
