//! A fuzzer of the readers of geometries for stable Rust: the internal form, WKB, well-known text, GeoJSON and geohashes.
//!
//! `cargo run -p vaquita-types --example fuzz_geometry -- <seconds> [seed]`. A finding is a panic, or a geometry that is not read back as
//! it was written; the seed and the input are printed and repeat it.

mod mutation;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

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

fn run(data: &[u8]) {
    let shapes = [read_wkt(data).ok(), Shape::from_any_wkb(data).ok()];
    shapes.into_iter().flatten().for_each(|shape| check(&Geometry::new(0, shape)));
    if let Ok(geometry) = Geometry::decode(data) {
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
    let mut count = 0u64;
    while Instant::now() < end {
        let data = mutate(&mut random, &corpus, EDGES);
        if catch_unwind(AssertUnwindSafe(|| run(&data))).is_err() {
            eprintln!("finding: seed {seed}, input {data:?}");
            std::process::exit(1);
        }
        count += 1;
    }
    println!("{count} inputs");
}
