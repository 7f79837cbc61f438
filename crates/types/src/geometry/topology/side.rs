//! On which side of a line a point is, without error: in most cases the rounded determinant is far enough from zero to have the right
//! sign, else its six products are added exactly (J. R. Shewchuk, "Adaptive Precision Floating-Point Arithmetic and Fast Robust Geometric
//! Predicates", 1997: two-sum, two-product, grow-expansion).

use crate::geometry::Point;

/// The rounded determinant is wrong by no more than this part of its two products: (3 + 16ε)ε with ε = 2⁻⁵³.
const ERROR_PART: f64 = 3.330_669_073_875_471_6e-16;
/// Products of larger coordinates could overflow.
const COORDINATE_MAX: f64 = 1e140;
/// A power of two, which changes no digit.
const SMALLER: f64 = 1.0 / (1u128 << 127) as f64;

/// 1 if `p` is on the left of the line from `a` to `b`, -1 on the right, 0 on it. Coordinates have to be finite.
pub fn side(a: Point, b: Point, p: Point) -> i8 {
    let (left, right) = ((a.x - p.x) * (b.y - p.y), (a.y - p.y) * (b.x - p.x));
    let determinant = left - right;
    if determinant.abs() > ERROR_PART * (left.abs() + right.abs()) {
        return sign(determinant);
    }
    exact_side(a, b, p)
}

/// As `side`; points so near to the line are on it.
pub(super) fn side_about(a: Point, b: Point, p: Point, tolerance: f64) -> i8 {
    if tolerance == 0.0 {
        return side(a, b, p);
    }
    let determinant = (a.x - p.x) * (b.y - p.y) - (a.y - p.y) * (b.x - p.x);
    let length = (b.x - a.x).hypot(b.y - a.y);
    if determinant.abs() <= tolerance * length { 0 } else { sign(determinant) }
}

fn sign(x: f64) -> i8 {
    (x > 0.0) as i8 - (x < 0.0) as i8
}

fn exact_side(a: Point, b: Point, p: Point) -> i8 {
    if [a, b, p].into_iter().any(|q| q.x.abs().max(q.y.abs()) > COORDINATE_MAX) {
        return exact_side(smaller(a), smaller(b), smaller(p));
    }
    let products = [(a.x, b.y), (-a.x, p.y), (-p.x, b.y), (-a.y, b.x), (a.y, p.x), (p.y, b.x)];
    let mut sum = Expansion::default();
    for (x, y) in products {
        let (high, low) = two_product(x, y);
        sum.add(low);
        sum.add(high);
    }
    sum.sign()
}

fn smaller(p: Point) -> Point {
    Point::new(p.x * SMALLER, p.y * SMALLER)
}

/// The rounded sum, and what is missing from it.
fn two_sum(a: f64, b: f64) -> (f64, f64) {
    let sum = a + b;
    let b_part = sum - a;
    (sum, (a - (sum - b_part)) + (b - b_part))
}

/// A number as the sum of two of 26 bits each.
fn split(a: f64) -> (f64, f64) {
    const SPLITTER: f64 = ((1u64 << 27) + 1) as f64;
    let c = SPLITTER * a;
    let high = c - (c - a);
    (high, a - high)
}

/// The rounded product, and what is missing from it.
fn two_product(a: f64, b: f64) -> (f64, f64) {
    let product = a * b;
    let ((a_high, a_low), (b_high, b_low)) = (split(a), split(b));
    let error = product - a_high * b_high - a_low * b_high - a_high * b_low;
    (product, a_low * b_low - error)
}

/// A sum of numbers none of whose bits overlap, the least first.
#[derive(Default)]
struct Expansion {
    parts: [f64; 12],
    count: usize,
}

impl Expansion {
    fn add(&mut self, number: f64) {
        let (mut carry, mut kept) = (number, 0);
        for i in 0..self.count {
            let (sum, rest) = two_sum(carry, self.parts[i]);
            carry = sum;
            if rest != 0.0 {
                self.parts[kept] = rest;
                kept += 1;
            }
        }
        if carry != 0.0 {
            self.parts[kept] = carry;
            kept += 1;
        }
        self.count = kept;
    }

    /// Of the greatest part, for it is greater than all others together.
    fn sign(&self) -> i8 {
        self.parts[..self.count].last().map_or(0, |part| sign(*part))
    }
}
