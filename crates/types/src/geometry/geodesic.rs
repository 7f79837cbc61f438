//! Geodesics on the ellipsoid of WGS 84. Distances and places are by formulas of the first order of its flattening, which are those of
//! MySQL: right to some metres in a thousand kilometres. Areas are right to nine digits, where MySQL's are to three to seven.
//!
//! | what                              | formula                                                                    |
//! |-----------------------------------|----------------------------------------------------------------------------|
//! | distance and azimuths of places   | H. Andoyer, with P. D. Thomas's azimuths (1970, Spheroidal Geodesics)       |
//! | a place at a distance             | P. D. Thomas, the same, first order                                        |
//! | the area beneath a geodesic       | C. F. F. Karney, Algorithms for geodesics (2013), eq. 58 to 63, 2nd order   |
//!
//! Points are degrees, with the longitude as `x`.

use super::Point;

/// Metres.
const EQUATOR_RADIUS: f64 = 6_378_137.0;
const FLATTENING: f64 = 1.0 / 298.257223563;
const POLE_RADIUS: f64 = EQUATOR_RADIUS * (1.0 - FLATTENING);

/// From a place to another: metres, and the direction at the first, in radians clockwise from north.
#[derive(Clone, Copy, Debug)]
pub struct Geodesic {
    pub metres: f64,
    pub azimuth: f64,
}

fn radians(p: Point) -> (f64, f64) {
    (p.x.to_radians(), p.y.to_radians())
}

pub fn metres_between(a: Point, b: Point) -> f64 {
    Geodesic::between(a, b).metres
}

impl Geodesic {
    pub fn between(a: Point, b: Point) -> Geodesic {
        let ((longitude_a, latitude_a), (longitude_b, latitude_b)) = (radians(a), radians(b));
        if a == b {
            return Geodesic { metres: 0.0, azimuth: 0.0 };
        }
        let ((sin_a, cos_a), (sin_b, cos_b)) = (latitude_a.sin_cos(), latitude_b.sin_cos());
        let (sin_longitude, cos_longitude) = (longitude_b - longitude_a).sin_cos();
        let cos_angle = (sin_a * sin_b + cos_a * cos_b * cos_longitude).clamp(-1.0, 1.0);
        let angle = cos_angle.acos();
        let sin_angle = angle.sin();
        let part = |dividend: f64, divisor: f64| if divisor == 0.0 { 0.0 } else { dividend / divisor };
        let h = part(angle + 3.0 * sin_angle, 1.0 - cos_angle) * (sin_a - sin_b).powi(2);
        let g = part(angle - 3.0 * sin_angle, 1.0 + cos_angle) * (sin_a + sin_b).powi(2);
        let metres = EQUATOR_RADIUS * (angle - FLATTENING / 4.0 * (h + g));
        let azimuth = (cos_b * sin_longitude).atan2(cos_a * sin_b - sin_a * cos_b * cos_longitude);
        let back = (cos_a * sin_longitude).atan2(cos_b * sin_a - sin_b * cos_a * cos_longitude);
        let u = FLATTENING / 2.0 * cos_a * cos_a * (2.0 * azimuth).sin();
        let v = FLATTENING / 2.0 * cos_b * cos_b * (2.0 * back).sin();
        let t = if sin_angle == 0.0 { 0.0 } else { angle / sin_angle };
        Geodesic { metres, azimuth: azimuth - (v * t - u) }
    }
}

/// The place so many metres from `start` in a direction.
pub fn place_at(start: Point, azimuth: f64, metres: f64) -> Point {
    if metres == 0.0 {
        return start;
    }
    let (longitude, latitude) = radians(start);
    let (sin_azimuth, cos_azimuth) = azimuth.sin_cos();
    let (sin_reduced, cos_reduced) = ((1.0 - FLATTENING) * latitude.tan()).atan().sin_cos();
    let (m, n) = (cos_reduced * sin_azimuth, cos_reduced * cos_azimuth);
    let sin_inclination = m.clamp(-1.0, 1.0).acos().sin();
    let (c1, c2) = (FLATTENING * m, FLATTENING * (1.0 - m * m) / 4.0);
    let d = 1.0 - 2.0 * c2 - c1 * m;
    let p = c2 / d;
    let cos_start = if sin_inclination == 0.0 { 1.0 } else { (sin_reduced / sin_inclination).clamp(-1.0, 1.0) };
    // The way from the northernmost place, before it or behind.
    let from_vertex = if cos_azimuth < 0.0 { -cos_start.acos() } else { cos_start.acos() };
    let angle = metres / (EQUATOR_RADIUS * d);
    let u = 2.0 * (from_vertex - angle);
    let angle = angle - 2.0 * p * (u + angle).cos() * (1.0 - 2.0 * p * u.cos()) * angle.sin();
    let (sin_angle, cos_angle) = angle.sin_cos();
    let across = (sin_angle * sin_azimuth).atan2(cos_reduced * cos_angle - sin_reduced * sin_angle * cos_azimuth);
    let sin_end = sin_reduced * cos_angle + n * sin_angle;
    let cos_end = m.hypot(n * cos_angle - sin_reduced * sin_angle);
    let end_latitude = sin_end.atan2((1.0 - FLATTENING) * cos_end);
    Point::new((longitude + across - c1 * angle).to_degrees(), end_latitude.to_degrees())
}

/// A geodesic on the auxiliary sphere, whose latitudes are the reduced ones (T. Vincenty, 1975).
struct OnSphere {
    longitude: f64,
    reduced: (f64, f64),
    /// The sine of the azimuth at the equator.
    sin_equator: f64,
    /// From the equator to both ends.
    arcs: (f64, f64),
}

impl OnSphere {
    fn of(a: Point, b: Point) -> OnSphere {
        /// Two or three are enough, but for places on opposite sides of the earth.
        const STEPS_MAX: usize = 50;
        let reduced = |p: Point| ((1.0 - FLATTENING) * p.y.to_radians().tan()).atan();
        let (reduced_a, reduced_b) = (reduced(a), reduced(b));
        let ((sin_a, cos_a), (sin_b, cos_b)) = (reduced_a.sin_cos(), reduced_b.sin_cos());
        let across = shortest((b.x - a.x).to_radians());
        let (mut longitude, mut sin_equator) = (across, 0.0);
        for _ in 0..STEPS_MAX {
            let (sin, cos) = longitude.sin_cos();
            let sin_arc = (cos_b * sin).hypot(cos_a * sin_b - sin_a * cos_b * cos);
            let cos_arc = sin_a * sin_b + cos_a * cos_b * cos;
            let arc = sin_arc.atan2(cos_arc);
            sin_equator = if sin_arc == 0.0 { 0.0 } else { cos_a * cos_b * sin / sin_arc };
            let square = 1.0 - sin_equator * sin_equator;
            let middle = if square == 0.0 { 0.0 } else { cos_arc - 2.0 * sin_a * sin_b / square };
            let c = FLATTENING / 16.0 * square * (4.0 + FLATTENING * (4.0 - 3.0 * square));
            let longer = arc + c * sin_arc * (middle + c * cos_arc * (2.0 * middle * middle - 1.0));
            let next = across + (1.0 - c) * FLATTENING * sin_equator * longer;
            let moved = (next - longitude).abs();
            longitude = next;
            if moved <= 1e-15 {
                break;
            }
        }
        let (sin, cos) = longitude.sin_cos();
        let azimuth = (cos_b * sin).atan2(cos_a * sin_b - sin_a * cos_b * cos);
        let end_azimuth = (cos_a * sin).atan2(cos_a * sin_b * cos - sin_a * cos_b);
        let arcs = (sin_a.atan2(azimuth.cos() * cos_a), sin_b.atan2(end_azimuth.cos() * cos_b));
        OnSphere { longitude, reduced: (reduced_a, reduced_b), sin_equator, arcs }
    }
}

/// Square metres between a geodesic and the equator, negative if it goes west; the sum of a ring's is its area.
fn area_beneath(a: Point, b: Point) -> f64 {
    let square_eccentricity = FLATTENING * (2.0 - FLATTENING);
    let eccentricity = square_eccentricity.sqrt();
    let square_authalic =
        EQUATOR_RADIUS * EQUATOR_RADIUS / 2.0 + POLE_RADIUS * POLE_RADIUS / 2.0 * eccentricity.atanh() / eccentricity;
    let OnSphere { longitude, reduced, sin_equator, arcs } = OnSphere::of(a, b);
    let cos_equator = (1.0 - sin_equator * sin_equator).max(0.0).sqrt();
    let k = square_eccentricity / (1.0 - square_eccentricity) * cos_equator * cos_equator;
    let epsilon = k / (2.0 * (1.0 + (1.0 + k).sqrt()) + k);
    let third = FLATTENING / (2.0 - FLATTENING);
    let coefficients = [
        2.0 / 3.0 - 4.0 / 15.0 * third + 8.0 / 105.0 * third * third
            - (1.0 / 5.0 - 16.0 / 35.0 * third) * epsilon
            - 2.0 / 105.0 * epsilon * epsilon,
        (1.0 / 45.0 - 16.0 / 315.0 * third) * epsilon - 2.0 / 105.0 * epsilon * epsilon,
        4.0 / 525.0 * epsilon * epsilon,
    ];
    let terms = |arc: f64| coefficients.iter().zip([1.0, 3.0, 5.0]).map(|(c, times)| c * (times * arc).cos()).sum::<f64>();
    let (half_a, half_b) = ((reduced.0 / 2.0).tan(), (reduced.1 / 2.0).tan());
    let excess = 2.0 * ((longitude / 2.0).tan() * (half_a + half_b)).atan2(1.0 + half_a * half_b);
    let bulge = square_eccentricity * EQUATOR_RADIUS * EQUATOR_RADIUS * cos_equator * sin_equator;
    square_authalic * excess + bulge * (terms(arcs.1) - terms(arcs.0))
}

/// The same angle, no more than half a turn.
fn shortest(angle: f64) -> f64 {
    use std::f64::consts::{PI, TAU};
    match angle {
        _ if angle > PI => angle - TAU,
        _ if angle < -PI => angle + TAU,
        _ => angle,
    }
}

/// Square metres in a ring, whatever way it goes round.
pub fn ring_area(ring: &[Point]) -> f64 {
    ring.windows(2).filter(|pair| pair[0] != pair[1]).map(|pair| area_beneath(pair[0], pair[1])).sum::<f64>().abs()
}

/// Metres from a place to the nearest of a geodesic.
pub fn metres_to_segment(p: Point, a: Point, b: Point) -> f64 {
    /// Steps in which what is left is divided by the golden ratio, down to a part in 10⁹ of the segment.
    const STEPS: usize = 44;
    const GOLDEN: f64 = 0.618_033_988_749_894_9;
    let ends = metres_between(p, a).min(metres_between(p, b));
    let line = Geodesic::between(a, b);
    if line.metres == 0.0 {
        return ends;
    }
    let at = |metres: f64| metres_between(p, place_at(a, line.azimuth, metres));
    let (mut low, mut high) = (0.0, line.metres);
    let (mut left, mut right) = (high - GOLDEN * (high - low), low + GOLDEN * (high - low));
    let (mut at_left, mut at_right) = (at(left), at(right));
    for _ in 0..STEPS {
        if at_left < at_right {
            (high, right, at_right) = (right, left, at_left);
            left = high - GOLDEN * (high - low);
            at_left = at(left);
        } else {
            (low, left, at_left) = (left, right, at_right);
            right = low + GOLDEN * (high - low);
            at_right = at(right);
        }
    }
    ends.min(at_left).min(at_right)
}
