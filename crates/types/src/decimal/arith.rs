//! Decimal arithmetic: exact in 128 bits where that is enough, else in 512.
//!
//! `None` is an overflow (MySQL's error 1690) or, for division, a zero divisor; the
//! caller tells them apart by `is_zero` of the divisor.

use bnum::cast::As;
use bnum::types::{I256, I512};

use super::{Decimal, Repr, narrow, pow10_i128, pow10_wide};

#[derive(Clone, Copy, PartialEq)]
enum Rounding {
    HalfAway,
    Truncate,
    Floor,
    Ceiling,
}

/// Digits after the point that MySQL computes of a quotient of numbers with `a` and `b` such digits.
fn digits_of_quotient(a: u32, b: u32, increment: u32) -> u32 {
    const DIGITS: u32 = 9;
    let whole = |digits: u32| digits.next_multiple_of(DIGITS);
    let more = increment.saturating_sub(whole(a) - a + whole(b) - b);
    whole(whole(a) + whole(b) + more)
}

impl Decimal {
    pub fn add(&self, other: &Decimal) -> Option<Decimal> {
        if let (Some(a), Some(b)) = (self.as_small(), other.as_small())
            && let Some(sum) = a.checked_add(b)
        {
            return Some(sum.into());
        }
        if let (Repr::Small(a, s), Repr::Small(b, t)) = (&self.0, &other.0) {
            let up = |m: i64, by: u8| pow10_i128(by as usize)?.checked_mul(m as i128);
            if let (Some(a), Some(b)) = (up(*a, t.saturating_sub(*s)), up(*b, s.saturating_sub(*t)))
                && let Some(sum) = a.checked_add(b)
            {
                return Decimal::from_i128(sum, *s.max(t));
            }
        }
        let scale = self.scale().max(other.scale());
        let a = self.wide() * pow10_wide((scale - self.scale()) as usize);
        let b = other.wide() * pow10_wide((scale - other.scale()) as usize);
        Decimal::from_wide(a + b, scale)
    }

    pub fn sub(&self, other: &Decimal) -> Option<Decimal> {
        self.add(&other.neg())
    }

    /// The scale is the sum of both scales, at most 30 (further digits are cut).
    pub fn mul(&self, other: &Decimal) -> Option<Decimal> {
        let scale = self.scale() as u32 + other.scale() as u32;
        if let (Repr::Small(a, _), Repr::Small(b, _)) = (&self.0, &other.0)
            && scale <= super::SCALE_MAX as u32
        {
            return Decimal::from_i128(*a as i128 * *b as i128, scale as u8);
        }
        let product = self.wide() * other.wide();
        let kept = scale.min(super::SCALE_MAX as u32);
        Decimal::from_wide(product / pow10_wide((scale - kept) as usize), kept as u8)
    }

    /// The quotient with `increment` (div_precision_increment) more digits than `self`, at most
    /// 30, rounded half away from zero. `None` if `other` is 0. MySQL computes digits by nines and cuts behind them,
    /// so that there may be none to round by: 11 / 3 without a digit more is 3.
    pub fn div(&self, other: &Decimal, increment: u32) -> Option<Decimal> {
        if other.is_zero() {
            return None;
        }
        if self.scale() > super::SCALE_MAX || other.scale() > super::SCALE_MAX {
            // Wider fractions exist only between conversions; the shift below must fit 512 bits.
            let places = super::SCALE_MAX as i32;
            return self.round(places).div(&other.round(places), increment);
        }
        let scale = (self.scale() as u32 + increment).min(super::SCALE_MAX as u32);
        // a/10^s ÷ b/10^t at one more digit than `scale` is a·10^(scale+1+t-s) ÷ b.
        let shift = scale as i32 + 1 + other.scale() as i32 - self.scale() as i32;
        let up = shift.max(0) as usize;
        let quotient = if let (Repr::Small(a, _), Repr::Small(b, _)) = (&self.0, &other.0)
            && shift >= 0
            && let Some(numerator) = pow10_i128(up).and_then(|p| p.checked_mul(*a as i128))
        {
            Decimal::from_i128(numerator / *b as i128, scale as u8 + 1)
        } else {
            let numerator = self.wide() * pow10_wide(up) / pow10_wide((-shift).max(0) as usize);
            Decimal::from_wide(numerator / other.wide(), scale as u8 + 1)
        };
        let computed = digits_of_quotient(self.scale().into(), other.scale().into(), increment);
        Some(if computed > scale { quotient?.round(scale as i32) } else { quotient?.truncate(scale as i32) })
    }

    /// The integer part of the quotient (DIV). `None` if `other` is 0.
    pub fn int_div(&self, other: &Decimal) -> Option<Decimal> {
        if other.is_zero() {
            return None;
        }
        let scale = self.scale().max(other.scale());
        let a = self.wide() * pow10_wide((scale - self.scale()) as usize);
        let b = other.wide() * pow10_wide((scale - other.scale()) as usize);
        Decimal::from_wide(a / b, 0)
    }

    /// The remainder with the sign of the dividend and the larger scale. `None` if `other` is 0.
    pub fn rem(&self, other: &Decimal) -> Option<Decimal> {
        if other.is_zero() {
            return None;
        }
        let scale = self.scale().max(other.scale());
        let a = self.wide() * pow10_wide((scale - self.scale()) as usize);
        let b = other.wide() * pow10_wide((scale - other.scale()) as usize);
        Decimal::from_wide(a % b, scale)
    }

    pub fn neg(&self) -> Decimal {
        match &self.0 {
            Repr::Small(m, scale) => match m.checked_neg() {
                Some(n) => Decimal::new(n, *scale),
                None => Decimal(Repr::Big(Box::new((-((*m).as_::<I256>()), *scale)))),
            },
            Repr::Big(big) => match narrow(&(-self.wide())) {
                Some(small) => Decimal::new(small, big.1),
                None => Decimal(Repr::Big(Box::new((-big.0, big.1)))),
            },
        }
    }

    pub fn abs(&self) -> Decimal {
        if self.is_negative() { self.neg() } else { self.clone() }
    }

    /// ROUND(self, places): half away from zero; negative places round before the point.
    /// The result's scale is at most `places` (at least 0); it is not padded.
    pub fn round(&self, places: i32) -> Decimal {
        self.reduce(places, Rounding::HalfAway)
    }

    /// TRUNCATE(self, places).
    pub fn truncate(&self, places: i32) -> Decimal {
        self.reduce(places, Rounding::Truncate)
    }

    pub fn floor(&self) -> Decimal {
        self.reduce(0, Rounding::Floor)
    }

    pub fn ceil(&self) -> Decimal {
        self.reduce(0, Rounding::Ceiling)
    }

    /// Rounded or padded to exactly `scale` digits after the point; `None` if that is too wide.
    pub fn rescale(&self, scale: u8) -> Option<Decimal> {
        let own = self.scale();
        if own >= scale {
            return Some(if own == scale { self.clone() } else { self.round(scale as i32) });
        }
        let up = (scale - own) as usize;
        match &self.0 {
            Repr::Small(m, _) if up <= 18 => Decimal::from_i128(*m as i128 * 10i128.pow(up as u32), scale),
            _ => Decimal::from_wide(self.wide() * pow10_wide(up), scale).filter(|d| d.scale() == scale),
        }
    }

    fn reduce(&self, places: i32, rounding: Rounding) -> Decimal {
        let drop = (self.scale() as i32).saturating_sub(places);
        if drop <= 0 {
            return self.clone();
        }
        let (drop, scale) = (drop as usize, places.max(0) as u8);
        // Digits before the point that were rounded away come back as zeros.
        let back = places.saturating_neg().max(0) as usize;
        if let Repr::Small(m, _) = &self.0
            && drop <= 18
            && back == 0
        {
            let unit = 10i64.pow(drop as u32);
            let (quotient, rest) = (*m / unit, *m % unit);
            let away = match rounding {
                Rounding::HalfAway => rest.unsigned_abs() >= unit as u64 / 2,
                Rounding::Truncate => false,
                Rounding::Floor => rest < 0,
                Rounding::Ceiling => rest > 0,
            };
            return Decimal::new(quotient + if away { m.signum() } else { 0 }, scale);
        }
        if drop > super::DIGITS_MAX {
            let step = match rounding {
                Rounding::Floor if self.is_negative() => -1,
                Rounding::Ceiling if !self.is_negative() && !self.is_zero() => 1,
                _ => 0,
            };
            return Decimal::new(step, scale);
        }
        let unit = pow10_wide(drop);
        let wide = self.wide();
        let (mut quotient, rest) = (wide / unit, wide % unit);
        let away = match rounding {
            Rounding::HalfAway => rest.abs() * (I512::ONE + I512::ONE) >= unit,
            Rounding::Truncate => false,
            Rounding::Floor => rest.is_negative(),
            Rounding::Ceiling => rest.is_positive(),
        };
        if away {
            quotient += wide.signum();
        }
        Decimal::from_wide(quotient * pow10_wide(back), scale).unwrap_or_else(|| self.clone())
    }
}
