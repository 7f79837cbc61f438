//! Relations, overlays and validity on shapes whose answers the literature gives, and on random shapes, whose answers must agree
//! with each other. What MySQL answers is in the golden scripts of the server.

use proptest::prelude::*;

use super::Location::{Boundary, Exterior, Interior};
use super::{Matrix, Overlay, Work, geographic, is_simple, is_valid, overlay, relate};
use crate::geometry::{Point, Shape, read_wkt};

fn shape(text: &str) -> Shape {
    read_wkt(text.as_bytes()).expect(text)
}

fn matrix_of(a: &Shape, b: &Shape) -> Matrix {
    relate(a, b, 0.0, &mut Work::new(&mut || Ok(()))).expect("nothing stops it")
}

/// As in the literature: nine digits, F for nothing.
fn text(matrix: &Matrix) -> String {
    let places = [Interior, Boundary, Exterior];
    let entries = places.into_iter().flat_map(|a| places.map(|b| matrix.dimension(a, b)));
    entries.map(|dimension| dimension.map_or('F', |d| char::from(b'0' + d))).collect()
}

fn check(a: &str, b: &str, expected: &str) {
    assert_eq!(text(&matrix_of(&shape(a), &shape(b))), expected, "{a} and {b}");
}

#[test]
fn nine_intersections() {
    let square = "POLYGON((0 0,4 0,4 4,0 4,0 0))";
    check(square, "LINESTRING(2 2,6 2)", "1020F1102");
    check(square, "POLYGON((2 2,6 2,6 6,2 6,2 2))", "212101212");
    check(square, "POLYGON((4 0,8 0,8 4,4 4,4 0))", "FF2F11212");
    check(square, square, "2FFF1FFF2");
    check(square, "MULTIPOINT(4 4,5 5)", "FF20F10F2");
    check("LINESTRING(0 0,4 4)", "LINESTRING(0 4,4 0)", "0F1FF0102");
    check("LINESTRING(0 0,4 0)", "LINESTRING(2 0,6 0)", "1010F0102");
    check("MULTILINESTRING((0 0,1 0),(1 0,2 0))", "POINT(1 0)", "0F1FF0FF2");
    check("MULTILINESTRING((0 0,1 0),(1 0,2 0),(1 0,1 1))", "POINT(1 0)", "FF10F0FF2");
}

/// A place that three lines go through, none of which has it as a point, and which no number is exact for.
#[test]
fn lines_through_one_place() {
    let lines = ["LINESTRING(0 0,3 1)", "LINESTRING(0 1,3 0)", "LINESTRING(1.5 -1,1.5 2)", "LINESTRING(-1 0.5,4 0.5)"];
    for a in lines {
        for b in lines {
            let all = lines.map(|line| line.trim_start_matches("LINESTRING")).join(",");
            let all = shape(&format!("MULTILINESTRING({all})"));
            let matrix = matrix_of(&shape(a), &all);
            assert!(matrix.within(), "{a}");
            assert_eq!(matrix_of(&shape(a), &shape(b)).crosses(1, 1), a != b, "{a} and {b}");
        }
    }
}

/// What is beside an edge by the last digit of a coordinate is beside it.
#[test]
fn sides_are_exact() {
    let triangle = shape("POLYGON((0 0,12 24,-30 30,0 0))");
    for (x, y) in [(0.1, 0.2), (1.0 / 3.0, 2.0 / 3.0), (1e-300, 2e-300)] {
        let at = |x: f64| matrix_of(&triangle, &Shape::Point(Point::new(x, y)));
        assert!(at(x).touches(), "{x}");
        assert!(at(x.next_down()).contains());
        assert!(!at(x.next_up()).intersects());
    }
}

#[test]
fn hugest_and_least_coordinates() {
    let texts = [
        "POLYGON((-1e308 -1e308,1e308 -1e308,1e308 1e308,-1e308 1e308,-1e308 -1e308))",
        "LINESTRING(-1.7e308 1.7e308,1.7e308 -1.7e308)",
        "POLYGON((0 0,5e-324 0,5e-324 5e-324,0 0))",
        "LINESTRING(-1e-308 0,1e-308 5e-324)",
        "POLYGON((1 1,1 1,1 1,1 1))",
        "LINESTRING(1 1,1 1)",
        "POLYGON((0 0,4 4,4 0,0 4,0 0))",
        "POLYGON((0 0,4 0,0 0,4 0,0 0))",
    ];
    for a in texts {
        for b in texts {
            matrix_of(&shape(a), &shape(b));
        }
    }
    assert!(matrix_of(&shape(texts[0]), &shape("POINT(1 1)")).contains());
}

#[test]
fn an_interrupt_ends_it() {
    let line = |turned: bool| {
        let points = (0..400).map(|i| Point::new(f64::from(i % 2) * 1000.0, f64::from(i)));
        Shape::LineString(points.map(|p| if turned { p.swapped() } else { p }).collect())
    };
    let mut asked = 0;
    let mut go_on = || {
        asked += 1;
        if asked > 3 { Err(crate::Error::internal("stop")) } else { Ok(()) }
    };
    assert!(relate(&line(false), &line(true), 0.0, &mut Work::new(&mut go_on)).is_err());
    assert_eq!(asked, 4);
}

#[test]
fn relations_of_degrees() {
    let degrees = |a: &str, b: &str| {
        let [a, b] = geographic::project(&shape(a), &shape(b)).expect("on one half of the earth");
        relate(&a, &b, geographic::TOLERANCE, &mut Work::new(&mut || Ok(()))).expect("nothing stops it")
    };
    let square = "POLYGON((0 0,10 0,10 10,0 10,0 0))";
    // The northern edge is not the parallel.
    assert!(degrees(square, "POINT(5 10.02)").contains());
    assert!(!degrees(square, "POINT(5 10.05)").intersects());
    // The southern and the western one are the equator and a meridian.
    assert!(degrees(square, "POINT(3 0)").touches());
    assert!(degrees(square, "POINT(0 7)").touches());
    let across = "POLYGON((170 -10,-170 -10,-170 10,170 10,170 -10))";
    assert!(degrees(across, "MULTIPOINT(180 0,-180 5,175 0,-171 0)").contains());
    assert!(degrees("POLYGON((0 80,120 80,-120 80,0 80))", "POINT(33 90)").contains());
    assert_eq!(geographic::project(&shape("POINT(0 0)"), &shape("POINT(180 0)")), None);
}

fn overlay_of(a: &str, b: &str, what: Overlay) -> Shape {
    overlay(&shape(a), &shape(b), what, &mut Work::new(&mut || Ok(()))).expect("nothing stops it").expect("rings close")
}

fn check_overlays(a: &str, b: &str, expected: [&str; 4]) {
    let all = [Overlay::Intersection, Overlay::Union, Overlay::Difference, Overlay::SymmetricDifference];
    for (what, expected) in all.into_iter().zip(expected) {
        let found = overlay_of(a, b, what);
        let expected = shape(expected);
        assert_eq!(found.kind(), expected.kind(), "{what:?} of {a} and {b} is {found:?}");
        assert!(found.is_empty() || matrix_of(&found, &expected).equals(), "{what:?} of {a} and {b} is {found:?}");
    }
}

#[test]
fn overlays() {
    let square = "POLYGON((0 0,4 0,4 4,0 4,0 0))";
    check_overlays(
        square,
        "POLYGON((2 2,6 2,6 6,2 6,2 2))",
        [
            "POLYGON((2 2,4 2,4 4,2 4,2 2))",
            "POLYGON((0 0,4 0,4 2,6 2,6 6,2 6,2 4,0 4,0 0))",
            "POLYGON((0 0,4 0,4 2,2 2,2 4,0 4,0 0))",
            "MULTIPOLYGON(((0 0,4 0,4 2,2 2,2 4,0 4,0 0)),((4 2,6 2,6 6,2 6,2 4,4 4,4 2)))",
        ],
    );
    // A hole that touches the exterior ring is a ring of its own.
    check_overlays(
        square,
        "POLYGON((0 0,3 1,3 3,0 0))",
        [
            "POLYGON((0 0,3 1,3 3,0 0))",
            square,
            "POLYGON((0 0,4 0,4 4,0 4,0 0),(0 0,3 1,3 3,0 0))",
            "POLYGON((0 0,4 0,4 4,0 4,0 0),(0 0,3 1,3 3,0 0))",
        ],
    );
    check_overlays(
        square,
        "LINESTRING(2 2,6 2,6 6,4 4)",
        [
            "GEOMETRYCOLLECTION(LINESTRING(2 2,4 2),POINT(4 4))",
            "GEOMETRYCOLLECTION(POLYGON((0 0,4 0,4 4,0 4,0 0)),LINESTRING(4 2,6 2,6 6,4 4))",
            square,
            "GEOMETRYCOLLECTION(POLYGON((0 0,4 0,4 4,0 4,0 0)),LINESTRING(4 2,6 2,6 6,4 4))",
        ],
    );
    check_overlays(square, square, [square, square, "GEOMETRYCOLLECTION EMPTY", "GEOMETRYCOLLECTION EMPTY"]);
}

#[test]
fn rules_of_types() {
    for (text, valid, simple) in [
        ("POLYGON((0 0,4 0,4 4,0 4,0 0),(0 0,2 1,1 2,0 0))", true, true),
        ("POLYGON((0 0,4 0,4 4,0 4,0 0),(0 0,2 1,4 4,1 2,0 0))", false, true),
        ("POLYGON((0 0,4 4,4 0,0 4,0 0))", false, true),
        ("MULTIPOLYGON(((0 0,9 0,9 9,0 9,0 0),(1 1,8 1,8 8,1 8,1 1)),((2 2,3 2,3 3,2 2)))", true, true),
        ("MULTIPOLYGON(((0 0,9 0,9 9,0 9,0 0)),((2 2,3 2,3 3,2 2)))", false, true),
        ("LINESTRING(0 0,4 4,4 0,0 4)", true, false),
        ("LINESTRING(0 0,4 4,4 0,0 0)", true, true),
        ("MULTILINESTRING((0 0,4 4),(4 4,4 0))", true, true),
        ("MULTILINESTRING((0 0,4 4),(2 2,4 0))", true, false),
    ] {
        let mut go_on = || Ok(());
        let mut work = Work::new(&mut go_on);
        assert_eq!(is_valid(&shape(text), 0.0, &mut work).expect("nothing stops it"), valid, "{text}");
        assert_eq!(is_simple(&shape(text), 0.0, &mut work).expect("nothing stops it"), simple, "{text}");
    }
}

/// Points of a small grid, so that much of what is made of them touches.
fn points(count: std::ops::Range<usize>) -> impl Strategy<Value = Vec<Point>> {
    let point = (0..6i32, 0..6i32).prop_map(|(x, y)| Point::new(f64::from(x), f64::from(y)));
    prop::collection::vec(point, count)
}

fn any_shape() -> impl Strategy<Value = Shape> {
    let ring = || {
        points(3..7).prop_map(|mut ring| {
            ring.push(ring[0]);
            ring
        })
    };
    let polygons = prop::collection::vec(prop::collection::vec(ring(), 1..3), 1..3);
    let leaf = prop_oneof![
        points(1..4).prop_map(Shape::MultiPoint),
        prop::collection::vec(points(2..6), 1..3).prop_map(Shape::MultiLineString),
        polygons.prop_map(Shape::MultiPolygon),
    ];
    prop::collection::vec(leaf, 1..3).prop_map(Shape::Collection)
}

proptest! {
    /// Valid or not, what has been put together is that in which each part is, and what was taken away is not in it.
    #[test]
    fn overlays_and_relations_agree(a in any_shape(), b in any_shape()) {
        let there = matrix_of(&a, &b);
        let back = matrix_of(&b, &a);
        for (x, y) in [Interior, Boundary, Exterior].into_iter().flat_map(|x| [Interior, Boundary, Exterior].map(|y| (x, y))) {
            prop_assert_eq!(there.dimension(x, y), back.dimension(y, x));
        }
        let overlaid = |what| overlay(&a, &b, what, &mut Work::new(&mut || Ok(()))).expect("nothing stops it");
        for what in [Overlay::Intersection, Overlay::Union, Overlay::Difference, Overlay::SymmetricDifference] {
            prop_assert!(overlaid(what).is_some());
        }
        let common = overlaid(Overlay::Intersection).is_some_and(|shape| !shape.is_empty());
        prop_assert_eq!(common, there.intersects());
    }
}
