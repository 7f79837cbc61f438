//! `Decimal`: MySQL's exact numeric type, up to 65 digits with a scale up to 30.
//!
//! A number is an integer mantissa and a scale (12.50 is 1250 at scale 2). Mantissas
//! that fit 64 bits, nearly all, are held inline; others are 256 bits wide in a box.
//! `text` parses and prints, `arith` calculates, `encode` has the stored form.
//!
//! Intermediate results may carry more digits than a column can, up to `DIGITS_MAX`;
//! beyond, fraction digits are cut first and then the result is an overflow.
//! Nothing here knows columns or raises warnings.

mod arith;
mod encode;
mod small;
mod text;

use std::cmp::Ordering;
use std::hash::{Hash, Hasher};
use std::sync::LazyLock;

use bnum::cast::As;
use bnum::types::{I256, I512};

pub use encode::stored_len;
pub use small::Small;
pub use text::Parsed;

/// Most digits of a DECIMAL column.
pub const PRECISION_MAX: u32 = 65;
/// Most digits after the point of a DECIMAL column.
pub const SCALE_MAX: u8 = 30;
/// Most digits of an intermediate result: what a signed 256-bit mantissa always holds.
const DIGITS_MAX: usize = 76;
/// Most digits after the point of an intermediate result (MySQL: eight groups of nine).
const SCALE_INTERNAL_MAX: u8 = 72;

#[derive(Clone)]
pub struct Decimal(Repr);

#[derive(Clone)]
enum Repr {
    Small(i64, u8),
    /// Only for mantissas that do not fit `Small`.
    Big(Box<(I256, u8)>),
}

const _: () = assert!(std::mem::size_of::<Decimal>() <= 16);

/// 10^0 … 10^153: twice `DIGITS_MAX`, the widest product.
static POW10: LazyLock<Vec<I512>> = LazyLock::new(|| {
    let mut powers = vec![I512::ONE];
    for i in 0..153 {
        powers.push(powers[i] * I512::TEN);
    }
    powers
});

fn pow10_wide(n: usize) -> I512 {
    POW10[n.min(POW10.len() - 1)]
}

fn pow10_i128(n: usize) -> Option<i128> {
    (n <= 38).then(|| 10i128.pow(n as u32))
}

impl Decimal {
    pub const ZERO: Decimal = Decimal(Repr::Small(0, 0));

    /// `mantissa` / 10^`scale`.
    pub const fn new(mantissa: i64, scale: u8) -> Decimal {
        Decimal(Repr::Small(mantissa, scale))
    }

    /// The largest number of DECIMAL(precision, scale): 999.99 for (5,2).
    pub fn max_of(precision: u32, scale: u8) -> Decimal {
        let nines = pow10_wide(precision as usize) - I512::ONE;
        Decimal::from_wide(nines, scale).unwrap_or(Decimal::ZERO)
    }

    fn from_i128(mantissa: i128, scale: u8) -> Option<Decimal> {
        match i64::try_from(mantissa) {
            Ok(m) if scale <= SCALE_INTERNAL_MAX => Some(Decimal(Repr::Small(m, scale))),
            _ => Decimal::from_wide(mantissa.as_::<I512>(), scale),
        }
    }

    /// Cuts fraction digits that do not fit; `None` if the integer part does not fit either.
    fn from_wide(mut mantissa: I512, mut scale: u8) -> Option<Decimal> {
        if scale > SCALE_INTERNAL_MAX {
            mantissa /= pow10_wide((scale - SCALE_INTERNAL_MAX) as usize);
            scale = SCALE_INTERNAL_MAX;
        }
        if let Some(small) = narrow(&mantissa) {
            return Some(Decimal(Repr::Small(small, scale)));
        }
        let digits = digits_of(&mantissa);
        if digits > DIGITS_MAX {
            let excess = digits - DIGITS_MAX;
            if excess > scale as usize {
                return None;
            }
            mantissa /= pow10_wide(excess);
            scale -= excess as u8;
        }
        Some(Decimal(Repr::Big(Box::new((mantissa.as_::<I256>(), scale)))))
    }

    pub fn scale(&self) -> u8 {
        match &self.0 {
            Repr::Small(_, scale) => *scale,
            Repr::Big(big) => big.1,
        }
    }

    /// The mantissa and scale, if the mantissa fits 64 bits.
    #[inline]
    pub fn small(&self) -> Option<(i64, u8)> {
        match self.0 {
            Repr::Small(m, scale) => Some((m, scale)),
            Repr::Big(_) => None,
        }
    }

    fn wide(&self) -> I512 {
        match &self.0 {
            Repr::Small(m, _) => (*m).as_::<I512>(),
            Repr::Big(big) => big.0.as_::<I512>(),
        }
    }

    pub fn is_zero(&self) -> bool {
        matches!(self.0, Repr::Small(0, _))
    }

    pub fn is_negative(&self) -> bool {
        match &self.0 {
            Repr::Small(m, _) => *m < 0,
            Repr::Big(big) => big.0.is_negative(),
        }
    }

    /// Digits before the point, without leading zeros (0 for 0.5).
    pub fn integer_digits(&self) -> u32 {
        let digits = match &self.0 {
            Repr::Small(m, _) => m.unsigned_abs().checked_ilog10().map_or(0, |n| n + 1),
            Repr::Big(_) => digits_of(&self.wide()) as u32,
        };
        digits.saturating_sub(self.scale() as u32)
    }

    /// Digits before and after the point, at least 1.
    pub fn precision(&self) -> u32 {
        (self.integer_digits() + self.scale() as u32).max(1)
    }

    pub fn from_u64(n: u64) -> Decimal {
        Decimal::from_i128(n as i128, 0).unwrap_or(Decimal::ZERO)
    }

    /// The shortest decimal text of `f`, as MySQL converts DOUBLE; the flag tells that it
    /// does not fit an intermediate result, and the value then is ±(65 nines). NaN is 0.
    pub fn from_f64(f: f64) -> (Decimal, bool) {
        if !f.is_finite() {
            let max = Decimal::max_of(PRECISION_MAX, 0);
            return match (f.is_nan(), f < 0.0) {
                (true, _) => (Decimal::ZERO, false),
                (_, true) => (max.neg(), true),
                _ => (max, true),
            };
        }
        let parsed = Decimal::parse(format!("{f:e}").as_bytes());
        (parsed.value, parsed.overflow)
    }

    pub fn to_f64(&self) -> f64 {
        if let Repr::Small(m, scale) = self.0
            && m.unsigned_abs() <= 1 << 53
            && scale <= 22
        {
            // Both operands are exact, so the quotient is correctly rounded.
            return m as f64 / POW10_F64[scale as usize];
        }
        self.to_string().parse().unwrap_or(0.0)
    }

    /// Rounded to an integer, half away from zero; clamped, with `true`, if it does not fit.
    pub fn to_i64(&self) -> (i64, bool) {
        let rounded = self.round(0);
        match rounded.0 {
            Repr::Small(m, _) => (m, false),
            Repr::Big(_) if self.is_negative() => (i64::MIN, true),
            Repr::Big(_) => (i64::MAX, true),
        }
    }

    /// Rounded to an integer, half away from zero; clamped, with `true`, if it does not fit.
    pub fn to_u64(&self) -> (u64, bool) {
        let rounded = self.round(0);
        match &rounded.0 {
            Repr::Small(m, _) => u64::try_from(*m).map_or((0, true), |n| (n, false)),
            Repr::Big(big) if big.0.is_negative() => (0, true),
            Repr::Big(big) if big.0 <= u64::MAX.as_::<I256>() => (big.0.as_::<u64>(), false),
            Repr::Big(_) => (u64::MAX, true),
        }
    }

    /// The value rounded into DECIMAL(precision, scale); `Err` has the clamped value.
    pub fn fit(&self, precision: u32, scale: u8) -> Result<Decimal, Decimal> {
        let rounded = self.rescale(scale);
        match rounded {
            Some(d) if d.integer_digits() + scale as u32 <= precision => Ok(d),
            _ if self.is_negative() => Err(Decimal::max_of(precision, scale).neg()),
            _ => Err(Decimal::max_of(precision, scale)),
        }
    }
}

const POW10_F64: [f64; 23] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21,
    1e22,
];

fn narrow(wide: &I512) -> Option<i64> {
    let low = (*wide).as_::<i64>();
    (low.as_::<I512>() == *wide).then_some(low)
}

/// Decimal digits of the absolute value; 0 for zero.
fn digits_of(wide: &I512) -> usize {
    let magnitude = wide.abs();
    POW10.partition_point(|p| *p <= magnitude)
}

impl From<i64> for Decimal {
    fn from(n: i64) -> Decimal {
        Decimal::new(n, 0)
    }
}

impl From<u64> for Decimal {
    fn from(n: u64) -> Decimal {
        Decimal::from_u64(n)
    }
}

impl Default for Decimal {
    fn default() -> Decimal {
        Decimal::ZERO
    }
}

impl PartialEq for Decimal {
    fn eq(&self, other: &Decimal) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Decimal {}

impl PartialOrd for Decimal {
    fn partial_cmp(&self, other: &Decimal) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Decimal {
    fn cmp(&self, other: &Decimal) -> Ordering {
        let (scale, other_scale) = (self.scale(), other.scale());
        if let (Repr::Small(a, _), Repr::Small(b, _)) = (&self.0, &other.0) {
            if scale == other_scale {
                return a.cmp(b);
            }
            let up = |m: i64, from: u8, to: u8| pow10_i128(to.saturating_sub(from) as usize)?.checked_mul(m as i128);
            if let (Some(a), Some(b)) = (up(*a, scale, other_scale), up(*b, other_scale, scale)) {
                return a.cmp(&b);
            }
        }
        let common = scale.max(other_scale);
        let a = self.wide() * pow10_wide((common - scale) as usize);
        let b = other.wide() * pow10_wide((common - other_scale) as usize);
        a.cmp(&b)
    }
}

/// Equal numbers hash alike whatever their scale (1.0 and 1.00).
impl Hash for Decimal {
    fn hash<H: Hasher>(&self, state: &mut H) {
        match &self.0 {
            Repr::Small(0, _) => (0i64, 0u8).hash(state),
            Repr::Small(m, scale) => {
                let (mut m, mut scale) = (*m, *scale);
                while scale > 0 && m % 10 == 0 {
                    m /= 10;
                    scale -= 1;
                }
                (m, scale).hash(state);
            }
            Repr::Big(big) => {
                let (mut m, mut scale) = (big.0, big.1);
                while scale > 0 && (m % I256::TEN).is_zero() {
                    m /= I256::TEN;
                    scale -= 1;
                }
                match narrow(&m.as_::<I512>()) {
                    Some(small) => (small, scale).hash(state),
                    None => (m.to_bits().digits(), scale).hash(state),
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;
