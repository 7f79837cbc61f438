//! Geohashes: letters of five bits each, which halve the range of longitudes and that of latitudes in turn.

use super::Point;

const LETTERS: &[u8; 32] = b"0123456789bcdefghjkmnpqrstuvwxyz";
/// Decimal digits that a double holds.
const DIGITS_MAX: i32 = 15;

/// What is no geohash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GeohashError;

struct Range {
    low: f64,
    high: f64,
}

impl Range {
    fn middle(&self) -> f64 {
        (self.low + self.high) / 2.0
    }

    /// Keeps one half.
    fn halve(&mut self, upper: bool) {
        let middle = self.middle();
        if upper { self.low = middle } else { self.high = middle }
    }

    /// The middle with as few digits behind the point as it has within the range.
    fn rounded_middle(&self) -> f64 {
        let middle = self.middle();
        let rounded = |digits: i32| {
            let unit = 10f64.powi(digits);
            // Without a sign of zero.
            (middle * unit).round_ties_even() / unit + 0.0
        };
        (0..=DIGITS_MAX).map(rounded).find(|rounded| (self.low..=self.high).contains(rounded)).unwrap_or(middle)
    }
}

fn world() -> (Range, Range) {
    (Range { low: -180.0, high: 180.0 }, Range { low: -90.0, high: 90.0 })
}

/// At most `length_max` letters; fewer if these mean the point exactly.
pub fn encode(point: Point, length_max: usize) -> String {
    let (mut longitude, mut latitude) = world();
    let mut out = String::new();
    let mut is_longitude = true;
    while out.len() < length_max {
        let mut letter = 0;
        for _ in 0..5 {
            let (range, value) = if is_longitude { (&mut longitude, point.x) } else { (&mut latitude, point.y) };
            let upper = value >= range.middle();
            range.halve(upper);
            letter = letter << 1 | usize::from(upper);
            is_longitude = !is_longitude;
        }
        out.push(char::from(LETTERS[letter]));
        if longitude.middle() == point.x && latitude.middle() == point.y {
            break;
        }
    }
    out
}

/// The middle of the place that a geohash means.
pub fn decode(hash: &[u8]) -> Result<Point, GeohashError> {
    if hash.is_empty() {
        return Err(GeohashError);
    }
    let (mut longitude, mut latitude) = world();
    let mut is_longitude = true;
    for byte in hash {
        let letter = LETTERS.iter().position(|letter| *letter == byte.to_ascii_lowercase()).ok_or(GeohashError)?;
        for bit in (0..5).rev() {
            let range = if is_longitude { &mut longitude } else { &mut latitude };
            range.halve(letter >> bit & 1 == 1);
            is_longitude = !is_longitude;
        }
    }
    Ok(Point { x: longitude.rounded_middle(), y: latitude.rounded_middle() })
}
