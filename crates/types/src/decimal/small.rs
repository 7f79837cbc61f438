//! `Small`: a decimal whose digits fit 64 bits, which nearly all do, to be calculated with in registers.

use super::{Decimal, Repr, SCALE_MAX};

/// 10^18 is the last power that fits.
const SHIFT_MAX: u8 = 18;

/// `mantissa` / 10^`scale`. Where a result does not fit there is none, and `Decimal` has to calculate it.
#[derive(Clone, Copy, Debug)]
pub struct Small {
    mantissa: i64,
    scale: u8,
}

impl Small {
    pub fn checked_add(self, other: Small) -> Option<Small> {
        let (a, b, scale) = self.aligned(other)?;
        Some(Small { mantissa: a.checked_add(b)?, scale })
    }

    pub fn checked_sub(self, other: Small) -> Option<Small> {
        let (a, b, scale) = self.aligned(other)?;
        Some(Small { mantissa: a.checked_sub(b)?, scale })
    }

    pub fn checked_mul(self, other: Small) -> Option<Small> {
        let scale = self.scale.checked_add(other.scale).filter(|scale| *scale <= SCALE_MAX)?;
        Some(Small { mantissa: self.mantissa.checked_mul(other.mantissa)?, scale })
    }

    pub fn is_negative(self) -> bool {
        self.mantissa < 0
    }

    /// Both mantissas at the larger scale.
    #[inline]
    fn aligned(self, other: Small) -> Option<(i64, i64, u8)> {
        if self.scale == other.scale {
            return Some((self.mantissa, other.mantissa, self.scale));
        }
        let scale = self.scale.max(other.scale);
        Some((self.at(scale)?, other.at(scale)?, scale))
    }

    #[inline]
    fn at(self, scale: u8) -> Option<i64> {
        match scale - self.scale {
            0 => Some(self.mantissa),
            places @ 1..=SHIFT_MAX => self.mantissa.checked_mul(10i64.pow(places.into())),
            _ => None,
        }
    }
}

impl From<i64> for Small {
    fn from(mantissa: i64) -> Small {
        Small { mantissa, scale: 0 }
    }
}

impl From<Small> for Decimal {
    fn from(small: Small) -> Decimal {
        Decimal::new(small.mantissa, small.scale)
    }
}

impl Decimal {
    #[inline]
    pub fn as_small(&self) -> Option<Small> {
        match self.0 {
            Repr::Small(mantissa, scale) => Some(Small { mantissa, scale }),
            Repr::Big(_) => None,
        }
    }
}
