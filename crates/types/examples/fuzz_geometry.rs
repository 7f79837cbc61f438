//! A fuzzer of geometries for stable Rust: of the readers of the internal form, WKB, well-known text, GeoJSON and geohashes, and of the
//! relations and overlays of what was read with what was read before.
//!
//! `cargo run -p vaquita-types --example fuzz_geometry -- <seconds> [seed]`. A finding is a panic, or a geometry that is not read back as
//! it was written; the seed and the input are printed and repeat it.

mod mutation;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use vaquita_types::geometry::topology::{Overlay, Work, geographic, is_simple, is_valid, overlay, relate};
use vaquita_types::geometry::{GeoJsonOptions, Geometry, HigherDimensions, Shape, decode_geohash, read_geojson, read_wkt};
use vaquita_types::json::Json;

use mutation::{Random, mutate};

const TEXTS: [&str; 10] = [
    "POINT(1 2)",
    "LINESTRING(0 0,1 1.5,-2e3 .5)",
    "POLYGON((0 0,0 4,4 4,4 0,0 0),(1 1,2 1,2 2,1 1))",
    "MULTIPOINT((1 2),(3 4))",
    "MULTIPOINT(1 2,3 4)",
    "MULTILINESTRING((0 0,1 1),(2 2,3 3))",
    "MULTIPOLYGON(((0 0,0 1,1 1,0 0)),((5 5,6 6,5 6,5 5)))",
    "GEOMETRYCOLLECTION(GEOMETRYCOLLECTION EMPTY,POINT(1 2),GEOMETRYCOLLECTION(LINESTRING(1 1,2 2)))",
    "{\"type\":\"Feature\",\"properties\":{},\"geometry\":{\"type\":\"MultiPolygon\",\"coordinates\":[[[[0,0],[1,1],[0,1],[0,0]]]]}}",
    "{\"crs\":{\"type\":\"name\",\"properties\":{\"name\":\"EPSG:4326\"}},\"type\":\"Point\",\"coordinates\":[1,2,3]}",
];

/// Bytes that mean something to the readers.
const EDGES: &[u8] = b"(),-+.eE \"{}[]:\0\x01\x07\xff\x7f";

/// The texts, and their geometries in the internal form.
fn corpus() -> Vec<Vec<u8>> {
    let texts = TEXTS.iter().map(|text| text.as_bytes().to_vec());
    let binary = TEXTS.iter().filter_map(|text| read_wkt(text.as_bytes()).ok()).map(|shape| Geometry::new(4326, shape).encode());
    texts.chain(binary).collect()
}

/// What is read is written, and read back; NaN is not equal to itself, so bytes are compared.
fn check(geometry: &Geometry) {
    let bytes = geometry.encode();
    assert_eq!(Geometry::decode(&bytes).map(|again| again.encode()), Ok(bytes));
    if geometry.shape.find_point(|p| !p.is_finite()).is_none() {
        let mut text = Vec::new();
        geometry.shape.write_wkt(true, &mut text);
        assert!(read_wkt(&text).is_ok());
    }
    let _ = geometry.to_geojson(&GeoJsonOptions { digits_max: Some(3), bounding_box: true, short_crs: true, long_crs: false });
}

/// Whatever they are, the computations end.
fn check_pair(a: &Shape, b: &Shape) {
    if [a, b].iter().any(|shape| shape.find_point(|p| !p.is_finite()).is_some()) {
        return;
    }
    let mut go_on = || Ok(());
    let mut work = Work::new(&mut go_on);
    relate(a, b, 0.0, &mut work).expect("nothing stops it");
    for what in [Overlay::Intersection, Overlay::Union, Overlay::Difference, Overlay::SymmetricDifference] {
        let _ = overlay(a, b, what, &mut work).expect("nothing stops it");
    }
    let _ = is_valid(a, 0.0, &mut work).expect("nothing stops it");
    let _ = is_simple(a, 0.0, &mut work).expect("nothing stops it");
    if let Some([a, b]) = geographic::project(a, b)
        && [&a, &b].iter().all(|shape| shape.find_point(|p| !p.is_finite()).is_none())
    {
        relate(&a, &b, geographic::TOLERANCE, &mut work).expect("nothing stops it");
    }
}

fn run(data: &[u8], before: &mut Shape) {
    let shapes = [read_wkt(data).ok(), Shape::from_any_wkb(data).ok()];
    for shape in shapes.into_iter().flatten() {
        check_pair(&shape, before);
        check(&Geometry::new(0, shape.clone()));
        *before = shape;
    }
    if let Ok(geometry) = Geometry::decode(data) {
        check_pair(&geometry.shape, before);
        check(&geometry);
    }
    if let Ok(json) = Json::parse(data)
        && let Ok(Some((shape, srid))) = read_geojson(&json, HigherDimensions::Strip)
    {
        check(&Geometry::new(srid.unwrap_or(0), shape));
    }
    let _ = decode_geohash(data);
}

fn main() {
    let args: Vec<String> = std::env::args().collect();
    let seconds = args.get(1).and_then(|s| s.parse().ok()).unwrap_or(60);
    let seed = args.get(2).and_then(|s| s.parse().ok()).unwrap_or(u64::from(std::process::id()));
    println!("fuzz geometry: {seconds} s, seed {seed}");
    let corpus = corpus();
    let mut random = Random(seed);
    let end = Instant::now() + Duration::from_secs(seconds);
    let (mut count, mut before) = (0u64, Shape::Collection(Vec::new()));
    while Instant::now() < end {
        let data = mutate(&mut random, &corpus, EDGES);
        if catch_unwind(AssertUnwindSafe(|| run(&data, &mut before))).is_err() {
            eprintln!("finding: seed {seed}, input {data:?} after {before:?}");
            std::process::exit(1);
        }
        count += 1;
    }
    println!("{count} inputs");
}
